from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from rtcvt.offline.pushbelt.contact import flank
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.contact.friction import Coulomb, Stribeck, secant
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters, sheaves

pytestmark = pytest.mark.interpreted

UNIT = load_parameters("pushbelt_24mm")
BELT = belt(UNIT)
SHEAVES = sheaves(UNIT)
LAW = Coulomb(BELT.mu, BELT.v_mu)
R = 0.054


def state(seed: int, n: int = 12, tilt: float = 4e-4) -> Any:
    """Elements on both pulleys near the radius R, moving roughly with the sheaves."""
    rng = np.random.default_rng(seed)
    q, u = np.empty((n, 3)), np.empty((n, 3))
    s, sd = np.zeros((2, 4)), np.zeros((2, 4))
    s[:, 0] = BELT.z_P - R * BELT.tan_d
    s[:, 1:3] = tilt * rng.normal(size=(2, 2))
    s[:, 3] = rng.normal(size=2)
    sd[:, 0] = 1e-3 * rng.normal(size=2)
    sd[:, 1:3] = 0.1 * rng.normal(size=(2, 2))
    sd[:, 3] = (210.0, 190.0)
    for i in range(n):
        th = rng.uniform(-1.4, 1.4) + (np.pi if i % 2 else 0.0)
        e = np.array([np.cos(th), np.sin(th)])
        t = np.array([np.sin(th), -np.cos(th)])
        r = R + rng.normal(0, 5e-5) + (BELT.h_S - BELT.y_P)
        q[i, :2] = r * e + (0.0 if i % 2 else BELT.d_A, 0.0)
        q[i, 2] = th - np.pi / 2 + rng.normal(0, 5e-3)
        u[i, :2] = 200 * r * t + rng.normal(0, 0.2, 2)
        u[i, 2] = -200 + rng.normal(0, 20)
    return q, u, s, sd


def at(q: Any, u: Any = None) -> Elements:
    return Elements(q, q if u is None else u, np.cos(q[:, 2]), np.sin(q[:, 2]))


def found(n_p: int, q: Any, s: Any, b: Any = BELT) -> flank.Flanks:
    fl = flank.flanks(len(q), n_p)
    flank.contact_points(b, SHEAVES, at(q), s, fl)
    return fl


def solved(dt: float, q: Any, u: Any, f: Any, s: Any, fl: flank.Flanks, b: Any = BELT, law: Any = LAW) -> Any:
    """New velocities, reaction and power."""
    new, reaction, power = u.copy(), np.zeros((2, 4)), np.zeros((2, 3))
    flank.velocities(b, law, dt, at(q, new), f, s, fl, flank.search(len(u)), np.zeros_like(u), reaction, power)
    return new, reaction, power


def stepped(n_p: int, seed: int, dt: float = 1e-6, b: Any = BELT, law: Any = None) -> Any:
    q, u, s, sd = state(seed)
    fl = found(n_p, q, s, b)
    flank.normal_forces(b, dt, at(q, u), s, sd, fl)
    f = 100 * np.random.default_rng(seed + 1).normal(size=u.shape) * (1, 1, 1e-3)
    return q, u, s, sd, f, fl, *solved(dt, q, u, f, s, fl, b, law or Coulomb(b.mu, b.v_mu))


def slip(u: Any, s: Any, sd: Any, fl: flank.Flanks, i: int, p: int, lag: float = 0.0) -> Any:
    """Relative velocity of the contours at a point, by vector algebra."""
    k = fl.pulley[i]
    a = np.array([s[k, 2], -s[k, 1], 1.0])
    a /= np.linalg.norm(a)
    Omega = np.array([sd[k, 1], sd[k, 2], 0.0]) - sd[k, 3] * a
    turning = np.cross(Omega, fl.P[i, p])
    v_s = np.array([0, 0, sd[k, 0]]) + turning + lag * np.cross(Omega, turning)
    v_e = np.append(u[i, :2], 0.0) + np.cross([0, 0, u[i, 2]], fl.arm[i, p])
    return v_e - v_s


def points(fl: flank.Flanks) -> Any:
    return [(i, p) for i in range(len(fl.pulley)) for p in range(fl.N.shape[1]) if fl.N[i, p] > 0.0]


def test_upright_element_penetrates_the_cone_by_the_excess_of_its_width():
    q = np.array([[BELT.d_A + R + BELT.h_S - BELT.y_P, 0.0, -np.pi / 2], [-0.05, 0.02, 2.0], [0.077, 0.05, 0.0]])
    q[0, 1] = 0.5 * BELT.t_R - BELT.t_S  # P_R exactly on the x axis
    s = np.zeros((2, 4))
    s[:, 0] = BELT.z_P - R * BELT.tan_d - 7e-6
    fl = found(1, q, s)
    assert fl.pulley[0] == 0
    assert fl.pulley[2] == -1
    assert fl.pen[0, 0] == pytest.approx(7e-6, abs=1e-15)
    assert fl.r[0, 0] == pytest.approx(R)
    np.testing.assert_allclose(fl.n[0, 0], [BELT.sin_d, 0.0, -BELT.cos_d], atol=1e-12)


@pytest.mark.parametrize("n_p", [1, 2])
def test_penetration_rate_is_the_normal_approach_of_the_contours(n_p):
    # tilts are small angles: their rates and the rotation vector agree to second order
    q, u, s, sd = state(3)
    dt = 1e-7
    fl = found(n_p, q, s)
    ahead, behind = found(n_p, q + dt * u, s + dt * sd), found(n_p, q - dt * u, s - dt * sd)
    for i in range(len(q)):
        for p in range(n_p):
            rate = (ahead.pen[i, p] - behind.pen[i, p]) / (2 * dt)
            expected = -fl.n[i, p] @ slip(u, s, sd, fl, i, p) / BELT.cos_d
            assert rate == pytest.approx(expected, rel=1e-4, abs=2e-6)
            assert np.linalg.norm(fl.n[i, p]) == pytest.approx(1.0)


def test_points_of_the_crown_circles_are_the_farthest_in_the_cone():
    q, _, s, _ = state(4)
    fl = found(2, q, s)
    y_M, z_M = BELT.y_P + BELT.r_F * BELT.sin_d - BELT.h_S, BELT.z_P - BELT.r_F * BELT.cos_d
    for i in range(len(q)):
        k = fl.pulley[i]
        a = np.array([s[k, 2], -s[k, 1], 1.0])
        a /= np.linalg.norm(a)
        for p, x in enumerate((-BELT.t_S, BELT.t_R - BELT.t_S)):

            def pen(th, x=x, i=i, k=k, a=a):
                y, z = y_M + BELT.r_F * np.sin(th), z_M + BELT.r_F * np.cos(th)
                c, sn = np.cos(q[i, 2]), np.sin(q[i, 2])
                P = np.array([q[i, 0] - (0 if k else BELT.d_A) + c * x - sn * y, q[i, 1] + sn * x + c * y, z - s[k, 0]])
                h = P @ a
                return h - np.linalg.norm(P - h * a) * BELT.tan_d

            best = minimize_scalar(lambda th, pen=pen: -pen(th), bracket=(-0.2, -0.19, -0.18), tol=1e-12)
            assert fl.pen[i, p] == pytest.approx(-best.fun, abs=1e-11)
            assert fl.pen[i, p] >= pen(-BELT.delta_0) - 1e-12


def test_contact_point_of_the_circle_stays_on_the_flank():
    q, _, s, _ = state(5)
    fl = found(2, q, s, BELT._replace(r_F=50.0))  # a tilt of 0.1 mrad moves the point from end to end
    height = -fl.arm[..., 0] * np.sin(q[:, 2])[:, None] + fl.arm[..., 1] * np.cos(q[:, 2])[:, None] + BELT.h_S
    near = fl.pulley >= 0
    height = height[near]
    assert near.any()
    assert height.min() >= BELT.y_F0 - 1e-12
    assert height.max() <= BELT.y_F1 + 1e-12
    assert height.min() < 1e-3
    assert height.max() > 6.3e-3


def test_a_point_beyond_rim_or_shaft_has_no_contact():
    q, _, s, _ = state(6)
    fl = found(1, q, s)
    assert (fl.pulley >= 0).all()
    for limits in (SHEAVES._replace(r_max=R - 1e-3), SHEAVES._replace(r_min=R + 1e-3)):
        flank.contact_points(BELT, limits, at(q), s, fl)
        assert (fl.pulley == -1).all()


def friction(b: Any, v: Any, n: Any, N: float) -> Any:
    """T of the law at the relative velocity v."""
    tangential = v - n * (n @ v)
    return -N * secant(Coulomb(b.mu, b.v_mu), tangential @ tangential) * tangential


@pytest.mark.parametrize("law", [LAW, Stribeck(BELT.mu, 0.3, 0.05, BELT.v_mu)])
@pytest.mark.parametrize("v_mu", [1e-6, 2e-4, 1e-1])
def test_slip_of_one_point_is_that_of_the_whole_solve(law, v_mu):
    """From any trial velocity, far or near, and for no slip."""
    b, law, dt = BELT, law._replace(v_mu=v_mu), 2.5e-6
    _, u, _, _, f, fl, new, _, _ = stepped(1, 3, dt, b, law)
    assert len(points(fl)) >= 5
    for i, _ in points(fl):
        after = fl.slip[i, 0] @ fl.slip[i, 0]
        for trial in (u[i], new[i], new[i] + [0.1, -0.2, 30.0]):
            slip, r = flank.begin(b, dt, u, f, fl, i, tuple(trial))
            v2 = flank.slip_of_one(b, law, 2 * dt, r, fl, i, slip[0])
            assert np.sqrt(v2) == pytest.approx(np.sqrt(after), rel=1e-9, abs=1e-13)
    i, _ = points(fl)[0]
    assert flank.slip_of_one(b, law, 2 * dt, (0.0, 0.0, 0.0), fl, i, (0.0, 0.0, 0.0)) == 0.0


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), dt=st.sampled_from([1e-7, 1e-6, 1e-5, 1e-4]),
    v_mu=st.sampled_from([1e-6, 1e-5, 1e-4, 1e-3, 1e-1]), n_p=st.sampled_from([1, 2]))  # fmt: skip
def test_velocities_solve_the_implicit_system_with_spatial_coulomb_friction(seed, dt, v_mu, n_p):
    b = BELT._replace(v_mu=v_mu)
    _, u, s, sd, f, fl, new, _, _ = stepped(n_p, seed, dt, b)
    impulse, scale = dt * f, np.full(len(u), 2 * dt)
    for i, p in points(fl):
        n, r = fl.n[i, p], fl.arm[i, p]
        v, T = slip(new, s, sd, fl, i, p, 0.5 * dt), fl.T[i, p]
        assert np.linalg.norm(T) <= b.mu * fl.N[i, p] * (1.0 + 1e-9)
        assert T @ v <= 1e-12
        # slip is known to the rounding of velocities of 15 m/s, the force to what the law makes of that
        stiff = b.mu * fl.N[i, p] / np.hypot(v_mu, np.linalg.norm(v - n * (n @ v)))
        allowed = 2e-9 * (1.0 + b.mu * fl.N[i, p]) + 1e-13 * stiff
        assert np.linalg.norm(T - friction(b, v, n, fl.N[i, p])) <= allowed
        F = fl.N[i, p] * n + T
        impulse[i] += 2 * dt * np.array([F[0], F[1], r[0] * F[1] - r[1] * F[0]])
        scale[i] += 2 * dt * fl.N[i, p]
    change = np.array([b.m_E, b.m_E, b.J_E]) * (new - u)
    assert np.all(np.abs(change - impulse) <= 1e-9 * scale[:, None])


@pytest.mark.parametrize("n_p", [1, 2])
def test_sheaves_receive_the_opposite_of_the_forces_on_the_elements(n_p):
    dt = 1e-6
    q, u, s, sd, f, fl, new, reaction, _ = stepped(n_p, 8, dt)
    M = np.array([BELT.m_E, BELT.m_E, BELT.J_E])
    load = M * (new - u) / dt - f
    # virtual power of elements and of the two mirrored sheaves for any velocities
    rng = np.random.default_rng(0)
    ut, st_ = rng.normal(size=u.shape) * (1, 1, 100), rng.normal(size=(2, 4)) * (1e-2, 0.1, 0.1, 100)
    total = np.sum(load * ut) + 2 * np.sum(reaction * st_)
    contact = 0.0
    for i, p in points(fl):
        F = fl.N[i, p] * fl.n[i, p] + fl.T[i, p]
        contact += 2 * F @ slip(ut, s, st_, fl, i, p)
    assert total == pytest.approx(contact, rel=1e-9)
    # moment about each shaft, without tilt: what the elements get the shaft gives
    q, u, s, sd = state(8, tilt=0.0)
    fl = found(n_p, q, s)
    flank.normal_forces(BELT, 1e-6, at(q, u), s, sd, fl)
    new, reaction, _ = solved(dt, q, u, np.zeros_like(u), s, fl)
    load = M * (new - u) / dt
    for k in range(2):
        on = fl.pulley == k
        X = q[on, 0] - (0.0 if k else BELT.d_A)
        moment = np.sum(X * load[on, 1] - q[on, 1] * load[on, 0] + load[on, 2])
        assert moment == pytest.approx(2 * reaction[k, 3], rel=1e-8)


def test_axial_reaction_without_friction_is_the_sum_of_the_flank_forces():
    _, _, _, _, _, fl, _, reaction, power = stepped(1, 9, b=BELT._replace(mu=1e-15, d_el=0.0))
    for k in range(2):
        on = fl.pulley == k
        force = BELT.c_el * np.maximum(fl.pen[on, 0], 0.0)
        # the axis leans by less than a milliradian
        assert reaction[k, 0] == pytest.approx(force.sum(), rel=1e-3)
        np.testing.assert_allclose(fl.force[on, 0] * BELT.cos_d, force)
    np.testing.assert_allclose(power, 0.0, atol=1e-9)


def test_damper_takes_energy_and_never_pulls():
    for seed in range(40):
        _, u, s, sd, _, fl, _, _, _ = stepped(2, seed)
        for i in range(len(u)):
            for p in range(2):
                elastic = 0.5 * BELT.c_el * max(fl.pen[i, p], 0.0)
                approach = -fl.n[i, p] @ slip(u, s, sd, fl, i, p, -0.5e-6) / BELT.cos_d
                assert fl.N[i, p] >= 0.0
                assert (fl.N[i, p] * BELT.cos_d - elastic) * approach >= -1e-12 * elastic


def test_powers_and_flank_forces_are_those_of_the_point_forces():
    dt = 1e-6
    _, u, s, sd, _, fl, new, _, power = stepped(2, 10, dt)
    mean = 0.5 * (u + new)
    expected = np.zeros((2, 2))
    along = np.zeros(len(u))
    for i, p in points(fl):
        n = fl.n[i, p]
        T = fl.T[i, p]
        v = slip(mean, s, sd, fl, i, p)
        expected[fl.pulley[i], 0] -= 2 * T @ v
        expected[fl.pulley[i], 1] -= (
            2 * (fl.N[i, p] * BELT.cos_d - 0.5 * BELT.c_el * fl.pen[i, p]) * (n @ v) / BELT.cos_d
        )
        along[i] += T[:2] @ (fl.phi[i, p, 1], -fl.phi[i, p, 0])
    np.testing.assert_allclose(power[:, :2].sum(1), expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(power[:, 2], expected[:, 1], rtol=1e-9)
    np.testing.assert_allclose(fl.force[:, 1], along, rtol=1e-9, atol=1e-9)


def test_damper_takes_what_is_left_in_a_flank_that_is_let_go_while_pressed_in():
    q, u, s, sd = state(10)
    fl = found(1, q, s)
    u[:, :2] += 500.0 * fl.phi[:, 0]  # outwards, faster than c p/d
    flank.normal_forces(BELT, 1e-6, at(q, u), s, sd, fl)
    _, reaction, power = solved(1e-6, q, u, np.zeros_like(u), s, fl)
    expected = np.zeros(2)
    for i in np.flatnonzero((fl.pulley >= 0) & (fl.pen[:, 0] > 0.0)):
        opening = fl.n[i, 0] @ slip(u, s, sd, fl, i, 0) / BELT.cos_d
        expected[fl.pulley[i]] += 2 * BELT.c_el * fl.pen[i, 0] * opening
    assert not fl.N.any()
    assert not reaction.any()
    assert (expected > 0.0).all()
    np.testing.assert_allclose(power[:, 2], expected, rtol=1e-9)
    assert not power[:, :2].any()


def test_nan_state_is_no_contact():
    q, u, s, sd = state(12)
    q[3] = np.nan
    fl = found(2, q, s)
    flank.normal_forces(BELT, 1e-6, at(q, u), s, sd, fl)
    assert fl.pulley[3] == -1
    assert np.isfinite(fl.N).all()
