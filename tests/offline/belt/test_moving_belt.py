"""Moving belt after Lorenz et al. 2014: matrices, travelling string and beam, contact forces, energy, modes."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from instances import started, stepped
from typer.testing import CliRunner

from rtcvt.belt.geometry import belt_path
from rtcvt.belt.layout import Cell, D
from rtcvt.belt.unit import MovingModel, Patch
from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.offline.belt import moving, moving_run
from rtcvt.offline.belt import moving as mb
from rtcvt.recording import read_recording
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from studies import moving_belt as sb

PATH = belt_path(np.array([[0.0, 0.0], [0.4, 0.0]]), np.array([0.1, 0.1]), np.array([True, True]))
SPAN = 0.4


def three_pulleys():
    center = np.array([[0.0, 0.0], [0.5, 0.05], [0.22, 0.3]])
    return belt_path(center, np.array([0.1, 0.06, 0.04]), np.array([True, True, True]))


# --- matrices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [3, 4, 5])
def test_splines_sum_to_one_and_their_derivatives_are_derivatives(degree):
    basis = mb.spline_basis(1.7, 20, degree)
    s = np.linspace(0.0, 1.7, 333, endpoint=False) + 1e-3
    np.testing.assert_allclose(basis.values(s, 0).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(basis.values(s + 1.7, 0), basis.values(s, 0), atol=1e-10)
    h = 1e-5
    for order in (0, 1, 2):
        slope = (basis.values(s + h, order) - basis.values(s - h, order)) / (2.0 * h)
        inside = np.min(np.abs(s[:, None] - basis.edges), axis=1) > 2.0 * h
        exact = basis.values(s, order + 1)
        np.testing.assert_allclose(slope[inside], exact[inside], atol=2e-5 * np.abs(exact).max())


def test_matrices_of_sines_in_a_span_are_their_integrals():
    """``integral of sin sin = L/2``; products with one derivative are antisymmetric, those with kappa vanish."""
    belt = mb.moving_belt(PATH, sb.sine_basis(SPAN, 5), m=1.0, EA=1e4, EI=1.0, F_0=100.0)
    k = math.pi * np.arange(1, 6) / SPAN
    np.testing.assert_allclose(belt.C[0], np.eye(5) * SPAN / 2.0, atol=1e-12)
    np.testing.assert_allclose(belt.C[2], np.diag(k**2) * SPAN / 2.0, atol=1e-8)
    np.testing.assert_allclose(belt.C[4], np.diag(k**4) * SPAN / 2.0, rtol=1e-9, atol=1e-5)
    i, j = np.meshgrid(np.arange(1, 6), np.arange(1, 6), indexing="ij")
    with np.errstate(all="ignore"):
        exact = np.where((i + j) % 2 == 1, 2.0 * i * j / (i**2 - j**2), 0.0)  # integral of sin_i sin_j'
    np.testing.assert_allclose(belt.C[1], np.where(i == j, 0.0, exact), atol=1e-11)
    for K in belt.K:
        np.testing.assert_allclose(K, 0.0, atol=1e-12)


# --- vibration of a span ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 0.97])
def test_a_travelling_string_vibrates_at_its_frequencies(share):
    """``omega_n = n pi (c^2 - v^2)/(c L)`` (Skutsch 1897), with c^2 = F/m, up to the critical speed c."""
    m, F = 0.1, 400.0
    c = math.sqrt(F / m)
    belt = mb.moving_belt(PATH, sb.sine_basis(SPAN, 80), m=m, EA=1e4, F_0=F)
    found = sb.frequencies(belt, share * c, F)[:3]
    exact = np.arange(1, 4) * math.pi * c * (1.0 - share**2) / SPAN
    np.testing.assert_allclose(found, exact, rtol=2e-5)


def beam_frequency(near, m, F, EI, v, length):
    """Root of the determinant of a pinned travelling beam next to `near`, by Newton's method in the complex plane."""

    def determinant(omega):
        k = np.roots([EI, 0.0, F - m * v * v, -2.0 * m * v * omega, -m * omega * omega])
        e = np.exp(1j * k * length)
        matrix = np.array([np.ones(4), k**2, e, k**2 * e])
        vandermonde = np.prod([k[j] - k[i] for i in range(4) for j in range(i + 1, 4)])
        return np.linalg.det(matrix) / vandermonde * np.exp(-0.5j * length * np.sum(k))

    omega = complex(near)
    for _ in range(60):
        h = 1e-6 * abs(omega)
        d = determinant(omega)
        step = d / ((determinant(omega + h) - determinant(omega - h)) / (2.0 * h))
        omega -= step
        if abs(step) < 1e-11 * abs(omega):
            break
    assert abs(omega.imag) < 1e-6 * abs(omega)
    return omega.real


@pytest.mark.parametrize("share", [0.0, 0.4, 0.8, 0.95])
def test_a_travelling_beam_vibrates_at_its_frequencies(share):
    """Against the equation ``m (w_tt + 2 v w_st + v^2 w_ss) - F w_ss + EI w_ssss = 0`` with pinned ends."""
    m, F, EI = 0.1, 400.0, 0.5
    critical = math.sqrt((F + EI * (math.pi / SPAN) ** 2) / m)
    belt = mb.moving_belt(PATH, sb.sine_basis(SPAN, 40), m=m, EA=1e4, EI=EI, F_0=F)
    found = sb.frequencies(belt, share * critical, F)[:3]
    for omega in found:
        assert omega == pytest.approx(beam_frequency(omega, m, F, EI, share * critical, SPAN), rel=1e-6)
    assert np.all(np.diff(found) > 0.0)


def test_a_travelling_beam_diverges_at_its_critical_speed():
    """``m v^2 = F + EI (pi/L)^2``: the lowest frequency falls to zero there, and is no frequency beyond."""
    m, F, EI = 0.1, 400.0, 0.5
    critical = math.sqrt((F + EI * (math.pi / SPAN) ** 2) / m)
    belt = mb.moving_belt(PATH, sb.sine_basis(SPAN, 20), m=m, EA=1e4, EI=EI, F_0=F)
    rest = sb.frequencies(belt, 0.0, F)[0]
    assert sb.frequencies(belt, (1.0 - 1e-5) * critical, F)[0] < 0.01 * rest
    assert sb.frequencies(belt, (1.0 - 1e-5) * critical, F).size == 20
    assert sb.frequencies(belt, (1.0 + 1e-5) * critical, F).size == 19


# --- contact with pulleys ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flat_belt():
    """The flat belt of two_pulley_belt, with a bending stiffness that the splines resolve."""
    path = load_unit("two_pulley_belt").path()
    return mb.moving_belt(path, mb.spline_basis(path.length, 300), m=0.8288, EA=7980.0, EI=0.02, F_0=400.0)


def inside(belt, i, layer):
    """Places on a wrap, and how far they lie from its start; without a boundary layer at both ends."""
    start, end = belt.path.arc(i)
    at = (belt.s > start + layer) & (belt.s < end - layer)
    return at, belt.s[at] - start


@pytest.mark.slow
@pytest.mark.parametrize("v", [0.0, 10.0, 18.0])
def test_contact_forces_of_two_pulleys_with_inertia(flat_belt, v):
    """Without friction ``p = (F - m v^2)/r`` on both wraps; pulleys carry ``2 (F - m v^2)``, a third at 18 m/s."""
    contact = mb.Contact(2e7)
    found = mb.steady(flat_belt, contact, v)
    F = found.tension[0]
    hub = F - 0.8288 * v * v
    for i in range(2):
        at, _ = inside(flat_belt, i, 0.08)
        np.testing.assert_allclose(found.pressure[at], hub / 0.1, rtol=2e-3)
        direction = np.array([1.0, 0.0]) if i == 0 else np.array([-1.0, 0.0])
        base, _, _ = flat_belt.path.at(flat_belt.s)
        near = np.abs(base[:, 0] - flat_belt.path.center[i, 0]) < 0.15
        outward = (flat_belt.path.center[i] - base) / np.hypot(*(flat_belt.path.center[i] - base).T)[:, None]
        load = np.sum((flat_belt.weight * found.pressure)[near] * (outward @ direction)[near])
        assert load == pytest.approx(2.0 * hub, abs=0.02 / 0.1**2)  # what is bent into the wrap: EI/r^2


@pytest.mark.slow
@pytest.mark.parametrize("v", [1.0, 12.0])
def test_contact_forces_with_friction_are_those_of_creep_theory(flat_belt, v):
    """Driving pulley: adhesion at the tight tension, then ``T - G v = (T_2 - G v) exp(mu phi)`` (Bechtel et al. 2000).

    The pressure is ``(T - G v)/r``, with ``G v = m v^2`` as the equations keep the mass per length.
    """
    mu, slack, tight = 0.5, 300.0, 520.0
    flux = 0.8288 * v * v
    length = flat_belt.path.length
    tension = np.empty_like(flat_belt.s)
    creep = math.log((tight - flux) / (slack - flux)) / mu
    for i, (into, out) in enumerate(((tight, slack), (slack, tight))):
        start, end = flat_belt.path.arc(i)
        on = (flat_belt.s >= start) & (flat_belt.s <= end)
        left = (end - flat_belt.s[on]) / 0.1  # angle before the exit
        sign = 1.0 if into > out else -1.0
        sliding = flux + (out - flux) * np.exp(sign * mu * left)
        tension[on] = np.where(left < creep, sliding, into)
        after = i
        span = (flat_belt.s > flat_belt.path.knots[2 * after]) & (flat_belt.s < flat_belt.path.knots[2 * after + 1])
        tension[span] = out
    assert creep < math.pi
    found = mb.steady(flat_belt, mb.Contact(2e7), v, tension=tension)
    for i in range(2):
        at, _ = inside(flat_belt, i, 0.04)
        smooth = np.abs((flat_belt.path.arc(i)[1] - flat_belt.s[at]) / 0.1 - creep) > 0.2
        expected = (tension[at] - flux) / 0.1
        np.testing.assert_allclose(found.pressure[at][smooth], expected[smooth], rtol=1e-2)
    assert length > 1.2


@pytest.mark.slow
def test_normal_forces_of_the_real_time_model_are_the_integral_of_the_pressure(flat_belt):
    """The tensions of the hybrid model's cells as those of the field: N of each pulley within its resolution."""
    instance = started(load_unit("two_pulley_belt").build(), belt__v_start=3.0)
    instance.set("P1.w", -30.0)
    instance.set("P2.tau", 20.0)
    stepped(instance, 3000)
    F = int(instance.model.data[D.FACES])
    N = instance.work[int(instance.model.data[D.W_CELL]) :][Cell.N :: len(Cell)][: 2 * F]
    tension = mb.tension_field(flat_belt.path, N.reshape(2, F), flat_belt.s)
    assert tension.max() == pytest.approx(instance.get("P2_P1.F"))
    normal = []
    for v, T in ((instance.get("belt.v"), tension), (0.0, np.full_like(tension, 400.0))):
        pressure = mb.steady(flat_belt, mb.Contact(2e7), v, tension=T).pressure
        for i in range(2):
            base, _, _ = flat_belt.path.at(flat_belt.s)
            near = np.hypot(*(base - flat_belt.path.center[i]).T) < 0.15
            normal.append(np.sum((flat_belt.weight * pressure)[near]))
    for i, name in enumerate(("P1", "P2")):
        at_rest = 400.0 * math.pi  # bending makes the wrap a little shorter, at rest and now
        assert normal[i] / normal[2 + i] == pytest.approx(instance.get(f"{name}.N") / at_rest, rel=0.02)


# --- energy -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contact", [None, mb.Contact(1e6)])
def test_energy_changes_by_the_work_of_the_moments(contact):
    """``dE/dt = q''(sum M (T q + R)) + v sum kappa M`` at random states without damping.

    A moving belt's contact conserves energy only as its integral does, so it is taken at standstill.
    """
    rng = np.random.default_rng(5)
    path = three_pulleys()
    belt = mb.moving_belt(path, mb.spline_basis(path.length, 40), m=0.3, EA=5e4, EI=0.05, F_0=300.0, height=4e-3)
    for _ in range(10):
        q, rate = 1e-3 * rng.normal(size=40), 0.1 * rng.normal(size=40)
        v = 10.0 * rng.normal() if contact is None else 0.0
        moments = 5.0 * rng.normal(size=3)
        acceleration, v_dot = mb.accelerations(belt, q, rate, v, moments, contact)
        h = 1e-6
        change = mb.energy(belt, q + h * rate, rate + h * acceleration, v + h * v_dot, contact)
        change -= mb.energy(belt, q - h * rate, rate - h * acceleration, v - h * v_dot, contact)
        work = rate @ (np.tensordot(moments, belt.T, 1) @ q + moments @ belt.R)
        work += v * np.sum(path.sigma / path.radius * moments)
        assert change / (2.0 * h) == pytest.approx(work, rel=1e-5, abs=2e-4)


def test_damping_takes_energy_from_a_standing_belt():
    rng = np.random.default_rng(6)
    path = three_pulleys()
    belt = mb.moving_belt(path, mb.spline_basis(path.length, 40), m=0.3, EA=5e4, EI=0.05, DA=20.0, DI=1e-3, F_0=300.0)
    contact = mb.Contact(1e6, 200.0)
    for _ in range(20):
        q, rate = 1e-3 * rng.normal(size=40), 0.1 * rng.normal(size=40)
        acceleration, v_dot = mb.accelerations(belt, q, rate, 0.0, np.zeros(3), contact)
        h = 1e-7
        change = mb.energy(belt, q + h * rate, rate + h * acceleration, h * v_dot, contact)
        change -= mb.energy(belt, q - h * rate, rate - h * acceleration, -h * v_dot, contact)
        assert change < 0.0


# --- modes of a full model --------------------------------------------------------------------------------------------


def test_lateral_displacement_does_not_depend_on_where_the_nodes_are():
    """A belt shifted along itself, its nodes anywhere: the same field in space."""
    path = three_pulleys()

    def node(s):
        base, tangent, _ = path.at(s)
        normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
        return base + (1e-3 * np.sin(2.0 * math.pi * 3.0 * s / path.length))[:, None] * normal

    fields = [sb.lateral_displacement(path, node(path.length * (np.arange(2000) + shift) / 2000.0), 100)
              for shift in (0.0, 0.37, 0.81)]  # fmt: skip
    expected = 1e-3 * np.sin(2.0 * math.pi * 3.0 * np.arange(100) / 100.0)
    for field in fields:
        np.testing.assert_allclose(field, expected, atol=2e-5)


@pytest.mark.slow
def test_modes_of_snapshots_span_them_and_give_the_same_vibration():
    """Snapshots of three shapes: three modes, orthonormal; matrices in the modes are those of the shapes."""
    rng = np.random.default_rng(9)
    path = three_pulleys()
    n = 240
    s = path.length * np.arange(n) / n
    shapes = np.stack(
        [np.sin(2.0 * math.pi * k * s / path.length + p) for k, p in ((2, 0.0), (2, 1.0), (5, 0.0))], axis=1
    )
    basis, singular = sb.pod_basis(path.length, shapes @ rng.normal(size=(3, 50)), 3)
    assert singular[3] < 1e-12 * singular[0]
    belt = mb.moving_belt(path, basis, m=0.3, EA=5e4, EI=0.05, F_0=300.0)
    np.testing.assert_allclose(belt.C[0], np.eye(3), atol=1e-6)
    at = basis.values(s, 0)
    np.testing.assert_allclose(at @ np.linalg.lstsq(at, shapes, rcond=None)[0], shapes, atol=1e-9)
    transform = np.linalg.lstsq(shapes, at, rcond=None)[0]

    def exact(points, order):
        k = 2.0 * math.pi * np.array([2, 2, 5]) / path.length
        f = (np.sin, np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a))[order]
        return (f(k * np.asarray(points)[:, None] + np.array([0.0, 1.0, 0.0])) * k**order) @ transform

    other = mb.moving_belt(path, mb.Basis(basis.edges, exact), m=0.3, EA=5e4, EI=0.05, F_0=300.0)
    for a, b in zip((*belt.C[:5], *belt.K[:3]), (*other.C[:5], *other.K[:3]), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(b).max() + 1e-9)
    np.testing.assert_allclose(sb.frequencies(belt, 20.0, 300.0), sb.frequencies(other, 20.0, 300.0), rtol=1e-5)


# --- runs of a unit ---------------------------------------------------------------------------------------------------


def three_pulley_drive(**moving):
    """The three pulleys of the tests with few functions, a soft contact and bearings without friction."""
    unit = load_unit(Path(__file__).parents[2] / "data" / "belt" / "three_pulley.toml")
    values = {"functions": 60, "k": 5e6, "d": 100.0, "step": 1.25e-4} | moving
    return unit.model_copy(update={"moving": MovingModel(**values)})


def test_a_run_up_of_three_pulleys_is_that_of_the_rigid_model():
    """Speeds within 2 % of the largest, slip below dv, energy within 1 % of the work; the belt keeps its pretension."""
    unit = three_pulley_drive(dv=0.01)
    scenario = unit.scenario[0].model_copy(update={"duration": 0.05})
    found = moving_run.simulate(moving_run.build(unit), scenario, None, lambda *_: None)
    rigid = simulate(unit.build("rigid"), scenario)
    for name in unit.pulleys:
        np.testing.assert_allclose(found[f"{name}.w"], rigid[f"{name}.w"], atol=0.02 * rigid[f"{name}.w"].max())
        assert abs(found[f"{name}.slip"]).max() < 0.01
    assert found["belt.F"] == pytest.approx(550.0, rel=0.01)
    figures = moving_run.figures(unit, scenario, found, 0.0)
    assert abs(figures["unaccounted_J"]) < 0.01 * figures["input_J"]


@pytest.mark.parametrize(("v", "d"), [(0.0, 500.0), (30.0, 1e-9)])
def test_a_plucked_span_swings_at_the_frequency_of_a_span_with_held_ends(v, d):
    """Within 1 %: the belt runs on its pulleys without friction, at 30 m/s also without damping of the contact."""
    unit = three_pulley_drive(functions=120, k=5e7, d=d)
    drive = moving_run.build(unit)
    free = replace(drive, mu=np.zeros(3), belt=replace(drive.belt, DA=0.0))
    N = 120
    y = drive.start.copy()
    y[:N] = moving.steady(free.belt, free.contact, v).q
    y[2 * N] = v
    path = free.belt.path
    span = int(np.argmax(path.span))
    start, end = path.knots[2 * span], path.knots[2 * span + 1]
    shape = np.where((free.belt.s > start) & (free.belt.s < end),
                     np.sin(math.pi * (free.belt.s - start) / (end - start)), 0.0)  # fmt: skip
    y[N : 2 * N] = np.linalg.solve(free.belt.C[0], (free.belt.weight * shape) @ free.belt.w[0]) * 0.05
    middle = moving.spline_basis(path.length, N).values(np.array([0.5 * (start + end)]), 0)
    h, swung = 5e-5, []
    for _ in range(600):
        point = moving_run.evaluate(free, y, np.zeros(3), np.zeros(3))
        y, _ = moving_run.step(free, y, point, h, np.zeros(3), np.zeros(3))
        swung.append((middle @ y[:N]).item())
    swung = np.array(swung) - np.mean(swung)
    crossing = np.flatnonzero((swung[:-1] < 0.0) & (swung[1:] >= 0.0))
    times = crossing + swung[crossing] / (swung[crossing] - swung[crossing + 1])
    measured = (len(times) - 1) / (h * (times[-1] - times[0]))
    F = free.belt.F_0 + free.belt.EA / path.length * moving.elongation(free.belt, y[:N])
    exact = sb.span_frequencies(end - start, free.belt.m, unit.belt.EI, v, F)[0] / (2.0 * math.pi)
    assert measured == pytest.approx(exact, rel=0.01)


def test_a_belt_as_fast_as_its_waves_is_refused():
    """From ``v = sqrt(T/m)`` on nothing presses the belt on its pulleys: 22 m/s for two_pulley_belt."""
    unit = load_unit("two_pulley_belt").model_copy(update={"moving": MovingModel(functions=60)})
    drive = moving_run.build(unit)
    fast = replace(drive, start=drive.start.copy())
    fast.start[:60] = moving.steady(drive.belt, drive.contact, 21.0).q
    fast.start[120:] = [-21.9, -219.0, -219.0]
    with pytest.raises(ArithmeticError, match=r"21\.\d+ m/s.*tension of 40\d\.?\d* N: inertia lifts it"):
        moving_run.simulate(fast, Scenario(name="s", duration=2e-3, inputs={"P1.w": -219.0}), None, lambda *_: None)


def test_a_tensioner_and_a_patch_are_refused():
    unit = load_unit("accessory_6pk")
    with pytest.raises(InputError, match=r"arm.*fixed pulleys|decoupler.*fixed pulleys"):
        moving_run.build(unit)
    oiled = load_unit("two_pulley_belt").model_copy(update={"patch": (Patch(stretch=(0.0, 0.1), mu_share=0.5),)})
    with pytest.raises(InputError, match="one friction of each pulley"):
        moving_run.build(oiled)


def test_the_command_runs_it_and_other_kinds_refuse_it(tmp_path, monkeypatch):
    text = (Path(__file__).resolve().parents[2] / "data" / "belt" / "three_pulley.toml").read_text()
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(text.replace("[hybrid]", "[moving]\nfunctions = 60\n\n[hybrid]"))
    words = ["simulate", "own.toml", "--model", "moving", "--duration", "4 ms", "-o", "m.h5", "--json", "m.json"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    found = json.loads(Path("m.json").read_text())
    assert found["model"] == "moving"
    assert found["functions"] == 60
    assert read_recording(Path("m.h5"))["belt.w"].shape == (5, 60)
    for unit in (["differential"], ["pushbelt_24mm", "--case", "OD"]):
        refused = CliRunner().invoke(app, ["simulate", *unit, "--model", "moving"])
        assert isinstance(refused.exception, InputError)
        assert "moving" in str(refused.exception)
