"""First transverse frequency of the spans, its damping, their swing under a moving end, orders that meet them."""

import math
from pathlib import Path

import numpy as np
import pytest
from belt_states import started

from rtcvt.belt.layout import N_ACROSS, Across, BeltP, D
from rtcvt.belt.resonance import gain, span_damping_ratio, span_frequency, span_length
from rtcvt.belt.unit import Resonance
from rtcvt.kind import load_unit
from rtcvt.offline.belt.moving import sine_basis, span_frequencies
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate

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
        data[at + N_ACROSS * j + Across.LONGER] = data[at + N_ACROSS * j + Across.DELAY] = 0.0
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
    for _ in range(400):
        instance.step(1e-3)
    belt, path, data = unit.belt, unit.path(), instance.model.data
    names = list(unit.pulleys)
    for j, (a, b) in enumerate(zip(names, names[1:] + names[:1], strict=True)):
        T = instance.get(f"{a}_{b}.F")
        L = path.span[j] + data[int(data[D.ACROSS]) + N_ACROSS * j + Across.LONGER]
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


def test_a_belt_without_mass_has_no_frequency():
    instance = started(load_unit("two_pulley_belt"))
    instance.p[BeltP.M] = 0.0
    assert instance.step(1e-3) != 2
    assert instance.get("P1_P2.f_1") == 0.0
