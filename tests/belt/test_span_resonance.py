"""First transverse frequency of the spans, its damping, their swing under a moving end, orders that meet them."""

import math
from pathlib import Path

import numpy as np
import pytest
from belt_states import started
from instances import stepped

from rtcvt.belt import places
from rtcvt.belt.lateral import lateral_outputs, swing_spans
from rtcvt.belt.layout import Across, BeltP, D, Span
from rtcvt.belt.resonance import (
    bounded_swing,
    gain,
    span_damping_ratio,
    span_frequency,
    span_length,
    swing,
    wave_number,
)
from rtcvt.belt.unit import Lateral, Resonance
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from studies.moving_belt import sine_basis, span_frequencies

DATA = Path(__file__).parents[1] / "data" / "belt"
SERPENTINE, TENSIONED = DATA / "serpentine.toml", DATA / "tensioned.toml"


@pytest.fixture(scope="module")
def held():
    """A drive whose spans are held at their points of tangency."""
    unit = load_unit("two_pulley_belt")
    instance = started(unit.model_copy(update={"belt": unit.belt.model_copy(update={"EI": 0.4})}))
    at = int(instance.model.data[D.ACROSS])
    data = instance.model.data.copy()
    for j in range(2):
        data[at + len(Across) * j + Across.LONGER] = data[at + len(Across) * j + Across.DELAY] = 0.0
    return instance, data


def taut(instance, nu, T, EI):
    """Flow, mass per stretched length and speed C of the held span at ``v = nu C``."""
    stretch = 1.0 + T / instance.p[BeltP.EA]
    m = instance.p[BeltP.M] / stretch
    L = load_unit("two_pulley_belt").path().span[0]
    C = math.sqrt((T + EI * (math.pi / L) ** 2) / m)
    return nu * C / stretch, m, C, L


@pytest.mark.parametrize("nu", [0.0, 0.2, 0.5, 0.7, 0.9, 0.95])
@pytest.mark.parametrize("T", [20.0, 400.0, 2000.0])
@pytest.mark.parametrize("EI", [0.0, 0.4, 4.0])
def test_the_frequency_is_that_of_the_travelling_beam(held, nu, T, EI):
    """Lorenz et al. 2014, eq. (6), by 40 sines: 0.3 % to nu = 0.7, 0.9 % to 0.95; of a string Skutsch's to rounding."""
    instance, data = held
    data[D.EI] = EI
    q, m, C, L = taut(instance, nu, T, EI)
    found = span_frequency(0, q, T, instance.p, data, instance.work)
    if EI == 0.0:
        assert found == pytest.approx(math.pi * C * (1.0 - nu * nu) / L, rel=1e-12)
    exact = span_frequencies(L, m, EI, nu * C, T, sines=60)[0]
    assert found == pytest.approx(exact, rel=(3e-3 if nu <= 0.7 else 9e-3) if nu > 0.0 else 1e-9)


def test_there_is_no_frequency_from_the_critical_speed_on(held):
    instance, data = held
    data[D.EI] = 0.4
    q, *_ = taut(instance, 1.0, 400.0, 0.4)
    for share in (1.0 + 1e-9, 2.0):
        assert span_frequency(0, share * q, 400.0, instance.p, data, instance.work) == 0.0
    data[D.EI] = 0.0
    assert span_frequency(0, q, 0.0, instance.p, data, instance.work) == 0.0


@pytest.mark.parametrize(("nu", "within"), [(0.0, 1e-3), (0.3, 0.02), (0.6, 0.11)])
def test_bending_damps_as_in_the_moving_belt(held, nu, within):
    """Eigenvalues of eq. (6) with its terms of DI, for little bending; hinged ends damp less as it runs."""
    instance, data = held
    EI, DI, T, sines = 1e-7, 1e-6, 400.0, 60
    data[D.EI], data[D.D_I] = EI, DI
    q, m, C, L = taut(instance, nu, T, EI)
    basis = sine_basis(L, sines)
    x, g = np.polynomial.legendre.leggauss(400)
    s, weight = 0.5 * L * (x + 1.0), 0.5 * L * g
    w = [basis.values(s, order) for order in range(4)]

    def product(a, b):
        return (w[a] * weight[:, None]).T @ w[b]

    v = nu * C
    K = (T - m * v * v) * product(1, 1) + EI * product(2, 2) + DI * v * product(2, 3)
    G = 2.0 * m * v * product(0, 1) + DI * product(2, 2)
    inverse = np.linalg.inv(m * product(0, 0))
    system = np.block([[np.zeros_like(K), np.eye(sines)], [-inverse @ K, -inverse @ G]])
    values = np.linalg.eigvals(system)
    first = min((z for z in values if z.imag > 1.0), key=abs)
    omega = span_frequency(0, q, T, instance.p, data, instance.work)
    assert abs(first) == pytest.approx(omega, rel=1e-3)
    found = span_damping_ratio(0, q, T, omega, instance.p, data, instance.work)
    data[D.D_I] = 0.0
    assert found == pytest.approx(-first.real / abs(first), rel=within)


@pytest.mark.parametrize("nu", [0.0, 0.5])
@pytest.mark.parametrize("r", [0.3, 0.7, 0.95, 1.05, 1.6, 2.4])
def test_the_swing_is_that_of_the_string_with_an_end_that_moves(nu, r):
    """``m (w_tt + 2 v w_st + v^2 w_ss) = F w_ss`` with ``w(0) = cos(Omega t)``, by its characteristic roots."""
    m, F, L = 0.1, 400.0, 0.25
    c = math.sqrt(F / m)
    v, Omega = nu * c, r * math.pi * c * (1.0 - nu * nu) / L
    k = np.array([Omega / (c - v), -Omega / (c + v)])  # exp(i (Omega t + k s))
    for root in k:
        assert m * (Omega + v * root) ** 2 == pytest.approx(F * root**2)
    a = np.linalg.solve(np.array([np.ones(2), np.exp(1j * k * L)]), np.array([1.0, 0.0]))
    s = np.linspace(0.0, L, 4001)
    swing = np.abs(a[0] * np.exp(1j * k[0] * s) + a[1] * np.exp(1j * k[1] * s)).max()
    assert gain(r, 0.0) == pytest.approx(swing, rel=1e-5)


def test_at_resonance_damping_bounds_the_swing():
    """``G = 1/(pi zeta)`` for little damping; nothing comes through with much."""
    assert gain(1.0, 0.01) == pytest.approx(1.0 / (math.pi * 0.01), rel=1e-3)
    assert gain(1.0, 0.0) > 1e12
    assert gain(1e4, 1.0) == 0.0


# --- the model


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_outputs_are_those_of_tension_and_speed(fidelity):
    unit = load_unit(SERPENTINE)
    instance = started(unit, fidelity)
    instance.set("crank.w", -100.0)
    stepped(instance, 400)
    belt, path, data = unit.belt, unit.path(), instance.model.data
    names = list(unit.pulleys)
    for j, (a, b) in enumerate(zip(names, names[1:] + names[:1], strict=True)):
        T = instance.get(f"{a}_{b}.F")
        L = path.span[j] + data[int(data[D.ACROSS]) + len(Across) * j + Across.LONGER]
        m = belt.mass / (1.0 + T / belt.EA)
        exact = span_frequencies(float(L), m, belt.EI, instance.get("belt.v"), T)[0] / (2.0 * math.pi)
        assert instance.get(f"{a}_{b}.f_1") == pytest.approx(exact, rel=2e-3)


def test_an_arm_changes_the_spans_beside_it():
    unit = load_unit(TENSIONED)
    instance = started(unit)
    theta = next(k for k, v in enumerate(instance.model.states) if v.name.endswith("arm.theta"))
    (i,) = unit.arms
    for angle in (-0.1, 0.05, 0.12):
        instance.x[theta] = angle
        instance.outputs()
        expected = unit.path({i: angle}).span
        found = [span_length(j, instance.model.data, instance.work) for j in range(len(unit.pulleys))]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert abs(expected / unit.path().span - 1.0).max() > 3e-3


def test_an_order_is_told_where_it_meets_a_span():
    """The crankshaft runs up: the second order passes the spans one after the other, and swings are largest there."""
    unit = load_unit(SERPENTINE)
    watched = Resonance(orders=(2.0, 4.0), band=0.05, damping=0.01, runout=5e-5)
    unit = unit.model_copy(update={"resonance": watched})
    scenario = Scenario(name="up", duration=1.2, inputs={"crank.w": "-400*min(t, 1)"})
    run = simulate(unit.build(), scenario)
    f = abs(run["crank.w"]) / (2.0 * math.pi)
    f[1:] = f[:-1]  # inputs are held from each point on
    for span in ("alternator_pump", "pump_ac", "ac_crank"):
        r = np.stack([order * f / run[f"{span}.f_1"] for order in (2.0, 4.0)])
        nearest = np.argmin(abs(r - 1.0), axis=0)
        met = np.where(abs(r - 1.0).min(axis=0) <= 0.05, np.array([2.0, 4.0])[nearest], 0.0)
        clear = abs(abs(r - 1.0) - 0.05).min(axis=0) > 0.02
        clear[0] = False
        np.testing.assert_array_equal(run[f"{span}.order"][clear], met[clear])
        assert set(run[f"{span}.order"]) == {0.0, 2.0, 4.0}
        assert run[f"{span}.gain"].max() > 10.0
        assert run[f"{span}.gain"][0] == 1.0
        np.testing.assert_allclose(run[f"{span}.swing"], 5e-5 * run[f"{span}.gain"], rtol=1e-15)
        largest = int(np.argmax(run[f"{span}.gain"]))
        assert abs(r[:, largest] - np.round(r[:, largest])).min() < 0.01


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_orders_change_no_other_bit(fidelity):
    unit = load_unit("two_pulley_belt")
    with_orders = unit.model_copy(update={"resonance": Resonance(orders=(1.0,))})
    a, b = (simulate(u.build(fidelity), unit.scenario[0].model_copy(update={"duration": 0.1}))
            for u in (unit, with_orders))  # fmt: skip
    for v in a.model.select("output"):
        assert (a[v.name] == b[v.name]).all()


# --- spans that swing across


def swinging(nu, T=400.0, w_2=0.0, **lateral):
    """An instance of two_pulley_belt whose first span is alone: tension [N], speed by that of waves, speed of P2."""
    unit = load_unit("two_pulley_belt")
    instance = started(unit.model_copy(update={"lateral": Lateral(**lateral)}))
    data, x = instance.model.data, instance.x
    stretch = 1.0 + T / unit.belt.EA
    c = math.sqrt(T * stretch / unit.belt.mass)
    x[places.x_flow(data)] = nu * c / stretch
    x[places.x_speed(1, data)] = w_2
    for j in range(2):
        instance.work[places.span(j, data) + Span.TENSION] = T

    def run(seconds, T_of_t=None):
        found = []
        for k in range(round(seconds / 1e-3)):
            if T_of_t is not None:
                instance.work[places.span(0, data) + Span.TENSION] = T_of_t(1e-3 * (k + 1))
            beyond = swing_spans(1e-3, x, instance.p, data, instance.work)
            lateral_outputs(x, instance.p, data, instance.y, instance.work)
            found.append((instance.get("P1_P2.x"), beyond))
        return np.array(found).T

    return unit, instance, c, run


@pytest.mark.interpreted
@pytest.mark.parametrize("nu", [0.0, 0.3, 0.6])
def test_a_span_that_swings_has_the_frequency_of_the_travelling_beam(nu):
    """Within 0.5 % of 40 sines, by the crossings of a free vibration of 1 um."""
    unit, instance, c, run = swinging(nu, modes=4)
    run(1e-3)
    instance.x[places.x_lateral(0, instance.model.data) + 2] += 1e-6
    x, _ = run(0.3)
    x = x - x.mean()
    at = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    times = at + x[at] / (x[at] - x[at + 1])
    measured = 1e3 * (len(times) - 1) / (times[-1] - times[0])
    L = math.pi / wave_number(0, instance.model.data, instance.work)
    exact = span_frequencies(L, unit.belt.mass / (1.0 + 400.0 / unit.belt.EA), unit.belt.EI, nu * c, 400.0)[0]
    assert measured == pytest.approx(exact / (2.0 * math.pi), rel=5e-3)


@pytest.mark.interpreted
@pytest.mark.parametrize("r", [0.7, 1.0, 1.3])
def test_run_out_swings_a_span_as_the_string_with_an_end_that_moves(r):
    """Middle of the span within 3 % of `swing`, at resonance with 2 % of critical damping 5 %, at nu = 0.3."""
    e, zeta = 1e-6, 0.02
    _, instance, _, _ = swinging(0.3)
    T, data = 400.0, instance.model.data
    omega = span_frequency(0, instance.x[places.x_flow(data)], T, instance.p, data, instance.work)
    _, instance, _, run = swinging(0.3, w_2=r * omega, modes=5, runout={"P2": e}, damping=zeta)
    x, beyond = run(1.2)
    expected = abs(swing(0.0, e, r, 0.3, zeta)[200])
    assert np.ptp(x[800:]) / 2.0 == pytest.approx(expected, rel=0.03 if r != 1.0 else 0.05)
    assert not beyond.any()


@pytest.mark.interpreted
def test_a_pulsating_tension_swings_a_span_and_its_stretch_bounds_it():
    """Twice the first frequency, by 30 %: the swing grows, past the range of the equations (status 1), and stays."""
    _, instance, _, run = swinging(0.0, damping=0.002)
    run(1e-3)
    data = instance.model.data
    omega = span_frequency(0, 0.0, 400.0, instance.p, data, instance.work)
    instance.x[places.x_lateral(0, data) + 2] += 1e-4
    x, _ = run(1.5, lambda t: 400.0 * (1.0 + 0.3 * math.sin(2.0 * omega * t)))
    assert np.ptp(x[:50]) < 1e-3
    assert 5e-3 < np.ptp(x[-100:]) / 2.0 < 0.1
    assert np.abs(x).max() < 0.1


def test_swings_change_no_other_bit():
    """Lateral motion does not react on the drive."""
    unit = load_unit("two_pulley_belt")
    swings = unit.model_copy(update={"lateral": Lateral(modes=2, runout={"P2": 1e-4})})
    a, b = (simulate(u.build(), unit.scenario[0].model_copy(update={"duration": 0.1})) for u in (unit, swings))
    for v in a.model.select("output"):
        assert (a[v.name] == b[v.name]).all()
    assert np.abs(b["P1_P2.x"]).max() > 0.0


def test_the_swing_of_the_map_is_bounded():
    """Without damping at resonance: Kirchhoff's string, ``r^2 = 1 + hardening A^2`` with little motion of the end."""
    hardening, e, L = 1e4, 1e-6, 0.24
    assert np.abs(swing(e, 0.0, 1.0, 0.0, 1e-6)).max() > 0.26
    found = bounded_swing(e, 0.0, 1.02, 0.0, 1e-6, hardening, L)
    assert found == pytest.approx(math.sqrt((1.02**2 - 1.0) / hardening), rel=1e-6)
    below = bounded_swing(e, 0.0, 0.99999, 0.0, 1e-6, hardening, L)  # cubic: A h A^2 = 2 e/pi about resonance
    assert below == pytest.approx((2.0 * e / (math.pi * hardening)) ** (1.0 / 3.0), rel=0.06)
    assert bounded_swing(1e-9, 0.0, 0.8, 0.0, 0.01, hardening, L) == np.abs(swing(1e-9, 0.0, 0.8, 0.0, 0.01)).max()


def test_a_belt_without_mass_has_no_frequency():
    instance = started(load_unit("two_pulley_belt"))
    instance.p[BeltP.M] = 0.0
    assert instance.step(1e-3) != 2
    assert instance.get("P1_P2.f_1") == 0.0
