"""The engine: its tables, its energy, its idle speed and its fuel cut-off."""

import csv
from importlib import resources

import numpy as np
import pytest
from instances import stepped
from refusals import refused
from rows import independent, mistakes
from scipy.integrate import solve_ivp

from rtcvt.engine.kernels import X
from rtcvt.errors import InputError
from rtcvt.kernel import OK, SATURATED
from rtcvt.kind import load_unit
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_unit_file

SHIPPED = {name: resources.files("rtcvt") / "engine" / f"gasoline_80kw_{name}.csv" for name in ("torque", "fuel")}
RPM = np.pi / 30.0


def points(name):
    """Rows of a shipped table: rpm and pedal and N.m, or rpm and N.m and g/s."""
    rows = [row for row in csv.reader(SHIPPED[name].read_text().splitlines()) if not row[0].startswith("#")]
    return np.array(rows[1:], dtype=float)


@pytest.fixture(scope="module")
def model():
    return load_unit("engine").build()


@pytest.fixture
def one(model):
    started = model.instantiate()
    started.initialise()
    return started


# --- tables -----------------------------------------------------------------------------------------------------------


def test_torques_at_the_points_of_the_table_are_those_of_the_table(one):
    """What burns in the long run is the torque of the table on top of the drag, above the idle speed."""
    drag = {rpm: -tau for rpm, pedal, tau in points("torque") if pedal == 0.0}
    for rpm, pedal, tau in points("torque"):
        one.x[:4] = rpm * RPM, 0.0, 0.0, 0.0
        one.u[:2] = 0.0, pedal
        one.outputs()
        assert one.get("engine.drag") == pytest.approx(drag[rpm], rel=1e-14)
        if rpm > 800.0:
            assert one.derivative()[X.Q] * 0.08 == pytest.approx(tau + drag[rpm], abs=1e-12)


def test_fuel_at_the_points_of_the_table_is_that_of_the_table(one):
    drag = {rpm: -tau for rpm, pedal, tau in points("torque") if pedal == 0.0}
    for rpm, tau, fuel in points("fuel"):
        one.x[:4] = rpm * RPM, tau + drag[rpm], 0.0, 0.0
        one.outputs()
        assert one.get("fuel.flow") == pytest.approx(fuel * 1e-3, rel=1e-12)
        assert one.get("engine.eta") == pytest.approx(tau * rpm * RPM / (fuel * 42.5e3), rel=1e-12)


def test_between_its_points_a_table_is_bilinear(one):
    low, high = 2000.0 * RPM, 2500.0 * RPM
    rows = {(rpm, tau): fuel * 1e-3 for rpm, tau, fuel in points("fuel")}
    for s, r in ((0.25, 0.5), (0.9, 0.1)):
        one.x[X.W] = low + s * (high - low)
        one.outputs()
        one.x[X.Q] = one.get("engine.drag") + 60.0 + 15.0 * r
        one.outputs()
        at = [[rows[rpm, tau] for tau in (60.0, 75.0)] for rpm in (2000.0, 2500.0)]
        assert one.get("fuel.flow") == pytest.approx(np.array([1 - s, s]) @ at @ [1 - r, r], rel=1e-12)


# --- energy -----------------------------------------------------------------------------------------------------------


# --- idle speed and cut-off -------------------------------------------------------------------------------------------


def test_it_keeps_its_idle_speed_under_a_load(one):
    one.set("crank.load", 10.0)
    stepped(one, 10_000, status=OK)
    assert one.get("crank.w") == pytest.approx(800.0 * RPM, rel=1e-4)
    assert one.get("engine.tau") == pytest.approx(10.0, rel=1e-3)


def test_the_fuel_is_cut_off_above_the_idle_speed_and_comes_back():
    unit = load_unit("engine")
    run = simulate(unit.build(), unit.scenario[0], 1e-3)
    t, w = run.time, run["crank.w"]
    coasting = (t > 5.5) & (w > 900.0 * RPM)
    assert coasting.sum() > 500
    assert run["fuel.flow"][coasting].max() < 1e-9
    assert w[t > 5.0].min() > 600.0 * RPM
    assert w[-1] == pytest.approx(800.0 * RPM, rel=0.01)
    assert (np.diff(run["fuel.m"]) >= 0.0).all()


def test_it_does_not_run_away_or_burn_backwards(one):
    one.set("engine.pedal", 1.0)
    stepped(one, 20_000)
    assert one.get("crank.w") < 6500.0 * RPM
    one.set("crank.load", 300.0)
    stepped(one, 5_000)
    assert one.get("crank.w") < 0.0
    assert one.get("fuel.flow") == 0.0
    assert one.get("engine.tau") > 0.0


# --- stop and start ---------------------------------------------------------------------------------------------------


def with_torques(**more):
    """The shipped engine with further parameters."""
    given = "".join(f"{key} = {value}\n" for key, value in more.items())
    text = load_unit("engine").text.replace("w_start =", f"{given}w_start =")
    return load_unit(parse_unit_file(text, "mine.toml")).build()


def recorded(one, h, until, stop):
    """Steps of h; rows of time, speed, fuel, power of the starter less losses, energy."""
    names = "crank.w", "fuel.m", "starter.P", "loss.engine", "storage.E"
    rows = [[0.0, *(one.get(name) for name in names)]]
    for k in range(round(until / h)):
        one.set("engine.stop", stop(k * h))
        assert one.step(h) == OK
        rows.append([(k + 1) * h, *(one.get(name) for name in names)])
    return np.array(rows).T


def test_it_stops_and_starts_five_times_and_keeps_the_books(one):
    """Off from 1 to 3 s of each 4 s: at rest nothing burns; each start is like the one before."""
    t, w, m, starter, lost, E = recorded(one, 1e-3, 20.0, lambda t: float(1.0 <= t % 4.0 < 3.0))
    burnt = m[-1] * one.get("fuel.H")
    assert abs(burnt + np.trapezoid(starter - lost, t) - E[-1] + E[0]) < 1e-6 * burnt
    off = (t % 4.0 > 2.5) & (t % 4.0 <= 3.0)
    assert np.abs(w[off]).max() < 1e-5
    each = off[1:].reshape(5, -1)
    for start in range(5):
        burning = m[1:].reshape(5, -1)[start][each[start]]
        assert burning[-1] == burning[0]
    runs = w[1:].reshape(5, -1)[:, -1000:]
    assert (np.abs(runs[:, -1] - 800.0 * RPM) < 5.0).all()
    assert runs[1:] == pytest.approx(np.tile(runs[1], (4, 1)), rel=1e-6)
    assert 0.2 < np.argmax(runs[1] > 700.0 * RPM) * 1e-3 < 0.6


def test_a_stop_and_a_start_are_those_of_another_integrator(one):
    """The crank slides, sticks, is turned by the starter and runs up."""
    t, w = independent("stop_start").T
    found = recorded(one, 2e-4, 4.0, lambda t: float(t < 2.5 - 1e-4))[:2, ::25]
    assert found[0] == pytest.approx(t)
    assert np.abs(found[1] - w).max() < 0.05


def test_torques_over_the_crank_angle_are_those_of_another_integrator():
    """With the angular momentum J(phi) w as its state; the mean over turns is the torque without pulsation."""
    n, a, tau_k, J_2, J, h = 2.0, 0.3, 20.0, 0.004, 0.15, 1e-4
    one = with_torques(n=n, a=a, tau_k=tau_k, J_2=J_2).instantiate()
    for name, value in (("engine.w_start", 209.0), ("engine.pedal", 0.4), ("crank.load", 40.0)):
        one.set(name, value)
    one.initialise()
    drag, part = (np.array([(rpm * RPM, tau) for rpm, pedal, tau in points("torque") if pedal == at]).T
                  for at in (0.0, 0.4))  # fmt: skip

    def inertia(phi):
        return J - J_2 * np.cos(2.0 * phi)

    def rates(t, x):
        phi, momentum, q = x
        w = momentum / inertia(phi)
        tau = q * (1.0 + a * np.cos(n * phi)) - tau_k * np.sin(n * phi) + np.interp(w, *drag) - 40.0
        return [w, tau + J_2 * np.sin(2.0 * phi) * w * w, (np.interp(w, *part) - np.interp(w, *drag) - q) / 0.08]

    exact = solve_ivp(rates, (0.0, 1.0), [0.0, inertia(0.0) * 209.0, one.x[X.Q]], rtol=1e-9, atol=1e-9,
                      t_eval=np.arange(1, 10_001) * h)  # fmt: skip
    w, phi, tau, mean = [], [], [], []
    for _ in range(10_000):
        one.step(h)
        w.append(one.get("crank.w"))
        phi.append(one.get("engine.phi"))
        tau.append(one.get("engine.tau"))
        mean.append(one.x[X.Q] - one.get("engine.drag"))
    assert np.abs(w - exact.y[1] / inertia(exact.y[0])).max() < 1e-4 * 209.0
    turns = np.searchsorted(phi, 2.0 * np.pi * np.array([20, int(phi[-1] / (2.0 * np.pi))]))
    over_turns = [np.trapezoid(of[slice(*turns)], phi[slice(*turns)]) for of in (tau, mean)]
    assert over_turns[0] == pytest.approx(over_turns[1], rel=2e-3)


@mistakes
def test_torques_that_no_engine_has_are_named(parameters, said):
    refused(said, with_torques, **parameters)


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_a_pedal_beyond_its_range_is_said(one):
    one.set("engine.pedal", 1.5)
    assert one.step(1e-3) == SATURATED


TORQUE, FUEL = (SHIPPED[name].read_text() for name in ("torque", "fuel"))


def test_a_missing_table_and_a_fuel_too_weak_are_named(tmp_path, model):
    unit = load_unit("engine").text.replace("gasoline_80kw_fuel", "diesel")
    with pytest.raises(InputError, match=r"fuel = 'diesel': .*shipped tables: .*gasoline_80kw_fuel"):
        load_unit(parse_unit_file(unit, "mine.toml", tmp_path)).build()
    one = model.instantiate()
    one.set("fuel.H", 1e6)
    refused("no finite start", one.initialise)
