import numpy as np
import pytest
from pydantic import TypeAdapter
from rows import cases

from rtcvt.offline.pushbelt.contact import sheave
from rtcvt.offline.pushbelt.unit.load import Loads
from rtcvt.offline.pushbelt.unit.parameters import load_parameters, sheaves

SHEAVES = sheaves(load_parameters("pushbelt_24mm"))
NONE = sheave.Load()
LOADS = [NONE, sheave.Load(d=50.0, J=0.5), sheave.Load(2e4, 0.6, 0.5, 1.0)]
FREE = SHEAVES._replace(d_z=0.0, d_t=0.0, c_t=0.0)
CLAMPED = np.array([0.0, 5000.0, 0.0, 8000.0, 200.0, 0.0, 40.0])


def run(sh, b, reaction, dt, steps, sd=None, s=None, load=NONE, turning=None):
    s = np.zeros((2, 4)) if s is None else s
    sd = np.zeros((2, 4)) if sd is None else sd
    turning = np.zeros(2) if turning is None else turning
    out, power = np.zeros((2, 7)), np.zeros((2, 5))
    history = np.empty((steps, 2, 4))
    for k in range(steps):
        s += dt * sd
        sheave.advance(sh, load, True, b, dt, (s,), (sd,), turning, (reaction,), out, power)
        history[k] = s
    return s, sd, out, power, history


def test_free_body_accelerates_with_the_difference_of_contact_and_clamping_force():
    reaction = np.zeros((2, 4))
    reaction[:, 0] = (9000.0, 7000.0)
    _, sd, out, _, _ = run(FREE, CLAMPED, reaction, 1e-6, 500)
    np.testing.assert_allclose(sd[:, 0], np.array([4000.0, -1000.0]) / SHEAVES.m * 5e-4, rtol=1e-12)
    np.testing.assert_allclose(out[:, 0], (9000.0, 7000.0))
    np.testing.assert_allclose(out[:, 1], (5000.0, 8000.0))


def test_axial_damper_gives_the_settling_speed():
    reaction = np.zeros((2, 4))
    reaction[:, 0] = 9000.0
    _, sd, _, _, _ = run(SHEAVES, CLAMPED, reaction, 1e-5, 1000)
    np.testing.assert_allclose(sd[:, 0], np.array([4000.0, 1000.0]) / SHEAVES.d_z, rtol=1e-12)


def test_end_stop_moves_each_sheave_by_half_and_carries_the_contact_force():
    b = np.array([1.0, 2e-3, 0.0, 8000.0, 200.0, 0.0, 0.0])
    reaction = np.zeros((2, 4))
    reaction[0, 0] = 9000.0
    s, _, out, _, _ = run(FREE, b, reaction, 1e-5, 101)
    assert s[0, 0] == pytest.approx(1e-3 * 1e-5 * 100)  # the first position step still had the rate zero
    assert out[0, 1] == pytest.approx(9000.0)


def test_constant_torque_spins_the_secondary_up_and_the_primary_keeps_its_speed():
    reaction = np.zeros((2, 4))
    reaction[:, 3] = (-30.0, 35.0)
    _, sd, out, _, history = run(FREE, CLAMPED, reaction, 1e-5, 1000)
    assert sd[1, 3] == pytest.approx((2 * 35.0 - 40.0) / SHEAVES.J * 1e-2)
    assert history[-1, 1, 3] == pytest.approx(0.5 * sd[1, 3] * 1e-2, rel=2e-3)
    assert sd[0, 3] == 200.0
    np.testing.assert_allclose(out[:, 2], (-60.0, 70.0))
    np.testing.assert_allclose(out[:, 3], (60.0, -40.0))


def test_prescribed_secondary_speed_returns_its_torque():
    b = CLAMPED.copy()
    b[5:] = (1.0, 150.0)
    reaction = np.zeros((2, 4))
    reaction[1, 3] = 20.0
    sd = np.zeros((2, 4))
    sd[1, 3] = 150.0
    _, sd, out, _, _ = run(FREE, b, reaction, 1e-5, 3, sd)
    assert sd[1, 3] == 150.0
    assert out[1, 3] == pytest.approx(-40.0)


def test_torque_given_to_the_primary_turns_it_and_the_secondary_keeps_its_speed():
    b = np.array([1.0, 0.0, 1.0, 0.0, 75.0, 2.0, 150.0])
    reaction, sd = np.zeros((2, 4)), np.zeros((2, 4))
    reaction[:, 0], reaction[:, 3], sd[1, 3] = (9000.0, 7000.0), (-30.0, 35.0), 150.0
    _, sd, out, power, _ = run(FREE, b, reaction, 1e-5, 1000, sd)
    assert sd[:, 3] == pytest.approx([(75.0 - 2 * 30.0) / SHEAVES.J * 1e-2, 150.0])
    assert out[:, 1] == pytest.approx([9000.0, 7000.0])  # forces of the end stops
    assert out[:, 3] == pytest.approx([75.0, -70.0])
    assert power[:, 1] == pytest.approx([75.0 * sd[0, 3], -70.0 * 150.0], rel=1e-3)


def test_tilt_swings_with_the_frequency_of_its_bearing():
    sh = FREE._replace(c_t=5e6)
    s = np.zeros((2, 4))
    s[0, 1] = 1e-3
    b = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    dt = 1e-7
    history = run(sh, b, np.zeros((2, 4)), dt, 20000, s=s)[4]
    time = dt * np.arange(1, 20001)
    np.testing.assert_allclose(history[:, 0, 1], 1e-3 * np.cos(np.sqrt(5e6 / sh.Theta_t) * time), atol=1e-5)
    np.testing.assert_array_equal(history[:, 0, 2], 0.0)


def test_spinning_sheave_precesses_at_the_two_whirl_frequencies():
    # w^2 -+ (J omega / (2 Theta_t)) w - c_t / Theta_t = 0; a circular start excites one of them
    omega, c_t = 600.0, 2e4
    sh = FREE._replace(c_t=c_t)
    g = 0.5 * sh.J * omega / sh.Theta_t
    whirl = 0.5 * g + np.sqrt(0.25 * g * g + c_t / sh.Theta_t)
    s, sd = np.zeros((2, 4)), np.zeros((2, 4))
    s[0, 1] = 1e-4
    sd[0, 2] = -1e-4 * whirl  # faster whirl, in the sense of the clockwise spin
    sd[0, 3] = omega
    b = np.array([0.0, 0.0, 0.0, 0.0, omega, 0.0, 0.0])
    dt = 1e-7
    history = run(sh, b, np.zeros((2, 4)), dt, 20000, sd, s)[4]
    time = dt * np.arange(1, 20001)
    np.testing.assert_allclose(history[:, 0, 1], 1e-4 * np.cos(whirl * time), atol=1e-6)
    np.testing.assert_allclose(history[:, 0, 2], -1e-4 * np.sin(whirl * time), atol=1e-6)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("mode", [0.0, 1.0, 2.0])
@pytest.mark.parametrize(("sides", "mirrored"), [(1, True), (2, True), (2, False)])
def test_power_balance_of_a_step_is_exact(sides, mirrored, mode, load):
    rng, alike = np.random.default_rng(11), 2 // sides
    for _ in range(20):
        s, sd = 1e-3 * rng.normal(size=(sides, 2, 4)), rng.normal(size=(sides, 2, 4))
        sd[:, :, 3] = sd[0, :, 3]
        for pulley in () if mirrored else (0, 1):  # its fixed sheave
            s[1 - pulley, pulley, 1:3] = sd[1 - pulley, pulley, :3] = 0.0
        reaction, turning = 1e3 * rng.normal(size=s.shape), rng.normal(size=2)
        b = np.array([min(mode, 1.0), 1e3 * rng.normal(), 0.0, 5e3, 100 * rng.normal(), mode, 10.0])
        old, dt = sd.copy(), 1e-5
        out, power = np.zeros((2, 7)), np.zeros((2, 5))
        before = sheave.energy(SHEAVES, mirrored, s, sd) + sheave.load_energy(load, turning)
        sheave.advance(SHEAVES, load, mirrored, b, dt, s + dt * sd, sd, turning, reaction, out, power)
        mean = 0.5 * (old + sd)
        contact = alike * np.sum(reaction * mean)
        spring = alike * SHEAVES.c_t * np.sum((s + dt * old)[..., 1:3] * mean[..., 1:3])
        work = dt * (power[:, :2].sum() - power[:, 2:].sum() + contact - spring)
        change = sheave.energy(SHEAVES, mirrored, s, sd) + sheave.load_energy(load, turning) - before
        assert change == pytest.approx(work, rel=1e-9)
        assert (power[:, 2:] >= 0.0).all()
        assert mirrored or not (sd[1, 0, :3].any() or sd[0, 1, :3].any())
        opening = sum(sd[side, 0, 0] for side in range(2)) if sides == 2 else 2.0 * sd[0, 0, 0]
        assert b[0] == 0.0 or opening == pytest.approx(b[1])  # the end stop's rate


def test_damper_lets_the_shaft_run_free_and_takes_its_vibration():
    # against a load that balances the belt: the difference of the speeds decays with d (1/J + 1/J_V)
    load = sheave.Load(d=5.0, J=0.05)
    sd, turning = np.zeros((2, 4)), np.array([0.0, 100.0])
    sd[1, 3] = 101.0
    reaction = np.zeros((2, 4))
    reaction[1, 3] = 20.0
    dt, n = 1e-6, 4000
    _, sd, out, power, _ = run(FREE, CLAMPED, reaction, dt, n, sd, load=load, turning=turning)
    J, total = SHEAVES.J, SHEAVES.J + load.J
    common = (J * 101.0 + load.J * 100.0) / total
    left = np.exp(-load.d * (1.0 / J + 1.0 / load.J) * dt * n)
    assert J * sd[1, 3] + load.J * turning[1] == pytest.approx(total * common, rel=1e-12)
    assert sd[1, 3] - turning[1] == pytest.approx(left, rel=2e-3)
    assert out[1, 3] == pytest.approx(-40.0 - load.d * (sd[1, 3] - turning[1]), rel=2e-3)
    assert power[1, 1] == pytest.approx(-40.0 * sd[1, 3], rel=1e-4)
    assert power[1, 4] == pytest.approx(load.d * (sd[1, 3] - turning[1]) ** 2, rel=4e-3)


@cases
@pytest.mark.parametrize("cut", [False, True])
def test_pulley_and_load_swing_as_two_masses(kind, cut):
    """Frequency, damping, common speed and mean torque; a shaft that is cut does not swing."""
    load = TypeAdapter(Loads).validate_python(kind).at(SHEAVES.J, 500.0, 100.0)
    W = 1.0 / SHEAVES.J + 1.0 / load.J
    omega, zeta = np.sqrt(load.K * W), kind.get("damping", 0.02 if kind["kind"] == "bench" else 0.05)
    assert 0.5 * load.d * W / omega == pytest.approx(zeta)
    dt, n, M = 2.5e-6, 8000, 40.0
    sd, turning, reaction = np.zeros((2, 4)), np.array([M / load.K, 100.0]), np.zeros((2, 4))
    sd[1, 3], reaction[1, 3] = 101.0, 0.5 * M
    of = load._replace(K=0.0, d=0.0) if cut else load
    history, mean = np.empty((n, 2)), 0.0
    for k in range(n):
        out = run(FREE, CLAMPED, reaction, dt, 1, sd, load=of, turning=turning)[2]
        history[k], mean = (sd[1, 3], turning[1]), mean + out[1, 3] / n
    t, swing = dt * np.arange(1, n + 1), omega * np.sqrt(1.0 - zeta**2)
    exact = np.exp(-zeta * omega * t) * (np.cos(swing * t) - zeta * omega / swing * np.sin(swing * t))
    assert bool(np.max(np.abs(history[:, 0] - history[:, 1] - exact)) < 2e-4) is not cut
    common = (SHEAVES.J * history[:, 0] + load.J * history[:, 1]) * W * SHEAVES.J * load.J / (SHEAVES.J + load.J) ** 2
    settled = 100.0 + SHEAVES.J / (SHEAVES.J + load.J)
    if not cut:
        np.testing.assert_allclose(common, settled, rtol=1e-11)
        gained = SHEAVES.J * (sd[1, 3] - 101.0) / (n * dt)  # what the pulley's change of speed leaves over
        assert mean == pytest.approx(-M + gained, rel=1e-9)
