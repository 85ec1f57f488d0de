"""The clutch: balance of power, sticking, slipping, capacity; its controller."""

import math

import numpy as np
import pytest
from instances import started as initialised
from instances import stepped
from machines import in_ranges, variant
from marks import slow
from refusals import refused
from scipy.integrate import solve_ivp

from rtcvt.clutch.kernels import MAX_HEAT, X
from rtcvt.kernel import OK, SATURATED
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate

CAPACITY = 0.1 * 6 * 2.0 / 3.0 * (0.08**3 - 0.06**3) / (0.08**2 - 0.06**2) * 7e3  # full, of the shipped clutch [N.m]


def started(actuation, w_a, load=0.0, step=1e-3, **parameters):
    unit = load_unit("clutch")
    unit = unit.model_copy(update={"solver": unit.solver.model_copy(update={"step": step})})
    given = {f"clutch.{key}": value for key, value in parameters.items()}
    return initialised(unit.build(), {"clutch.u": actuation, "a.w": w_a, "b.load": load} | given)


# --- equations --------------------------------------------------------------------------------------------------------


def test_faces_stick_or_carry_what_they_can():
    one, random, sticking = started(0.0, 0.0), np.random.default_rng(1), 0
    for _ in range(500):
        in_ranges("clutch", one, random)
        one.outputs()
        stuck = one.get("clutch.stuck") == 1.0
        sticking += stuck
        assert (one.get("clutch.w_slip") == 0.0) == stuck
        assert abs(one.get("a.tau")) <= one.get("clutch.C") * (1.0 + 1e-15)
        assert one.derivative()[X.Q] == one.get("loss.friction")
    assert 100 < sticking < 400


def test_capacity_is_that_of_uniform_pressure():
    """``mu z 2 pi p integral r^2 dr`` with ``p = F/A``, by a fine sum over rings."""
    r = np.linspace(0.06, 0.08, 20001)
    middle = 0.5 * (r[1:] + r[:-1])
    area = math.pi * (0.08**2 - 0.06**2)
    expected = 0.1 * 6 * np.sum(2.0 * math.pi * middle**2 * np.diff(r)) * 7e3 * 0.4 / area
    assert started(0.4, 0.0).get("clutch.C") == pytest.approx(expected, rel=1e-8)


# --- sticking and slipping --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [slow(1e-4), 1e-3, slow(5e-3)])
def test_faces_that_stick_do_not_creep(step):
    """Under a load just below the capacity not a joule of friction in a minute, and the twist is that of the spring."""
    load = 0.99 * CAPACITY * 0.5
    one = started(0.5, 100.0, step=step, b=0.0, w_start=100.0)
    for k in range(round(60.0 / step)):
        one.set("b.load", load * min(1.0, k * step))
        assert one.step(step) == OK
        assert one.get("clutch.w_slip") == 0.0
        assert one.get("clutch.stuck") == 1.0
    assert one.get("clutch.Q") == 0.0
    assert one.get("b.w") == pytest.approx(100.0, rel=1e-12)
    assert one.get("a.tau") == pytest.approx(load, rel=1e-10)
    assert one.x[0] == pytest.approx(load / one.get("clutch.K"), rel=1e-10)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_slipping_faces_bring_the_hub_up_at_their_capacity(way):
    """``w = (C - load) t/J`` until the speeds meet; the faces take ``C (integral of the slip)``."""
    C, load, J, w_a = 0.5 * CAPACITY, 40.0, 0.1, 100.0
    one = started(0.5, way * w_a, way * load, b=0.0)
    together = w_a * J / (C - load)
    n = int(0.9 * together / 1e-3)
    stepped(one, n, status=OK)
    t = n * 1e-3
    assert one.get("a.tau") == pytest.approx(way * C, rel=1e-12)
    assert one.get("b.w") == pytest.approx(way * (C - load) * t / J, rel=1e-9)
    twist = C / one.get("clutch.K") * (1.0 - math.exp(-t * one.get("clutch.K") / one.get("clutch.d")))
    heat = C * (w_a * t - 0.5 * (C - load) * t * t / J - twist)
    assert one.get("clutch.Q") == pytest.approx(heat, rel=1e-4)
    stepped(one, 1000)
    assert one.get("clutch.stuck") == 1.0
    assert one.get("b.w") == pytest.approx(way * w_a, rel=1e-9)
    assert one.get("clutch.Q") == pytest.approx(C * 0.5 * w_a * together, rel=0.01)  # but for the spring


def test_an_engagement_locks_once_and_does_not_chatter():
    found, turns = [], []
    for step in (1e-3, 1e-4):
        one, stuck, torque = started(0.5, 150.0, 40.0, step), [], []
        for _ in range(round(1.0 / step)):
            one.step(step)
            stuck.append(one.get("clutch.stuck"))
            torque.append(one.get("a.tau"))
        assert np.sum(np.diff(stuck) > 0.0) == 1
        assert np.sum(np.diff(stuck) < 0.0) == 0
        after = np.array(torque[stuck.index(1.0) :]) - one.get("a.tau")
        turns.append(np.sum(np.diff(np.sign(after[np.abs(after) > 1e-3])) != 0))
        found.append(one.get("clutch.Q"))
    assert found[0] == pytest.approx(found[1], rel=1e-3)
    assert turns[0] == pytest.approx(turns[1], abs=1)  # the hub swings on its torsion damper, 48 Hz and dying out:
    assert turns[1] == pytest.approx(math.log(108.0 / 1e-3) / 100.0 * 300.0 / math.pi, abs=2)


def test_an_open_clutch_carries_nothing():
    one = started(1.0, 100.0, w_start=100.0)
    one.set("clutch.u", 0.0)
    stepped(one, 1000)
    one.set("a.w", -300.0)
    one.step(1e-3)
    assert one.get("clutch.C") == one.get("a.tau") == one.get("loss.friction") == one.get("clutch.stuck") == 0.0
    assert one.get("b.w") == pytest.approx(100.0, rel=1e-2)


def test_an_open_clutch_at_its_start_has_the_derivatives_of_slipping():
    """At equal speeds no torque follows a speed: the damper's 20 N.m.s/rad would be those of faces that stick."""
    one = started(0.0, 100.0, w_start=100.0)
    model, row, column = one.model, np.ones(4), np.ones(4)
    direct = model.coupling.port(0, one.x, one.u, one.p, model.data, row, column, one.work)
    assert direct == 0.0
    assert (row == 0.0).all()
    assert one.get("clutch.stuck") == 0.0
    for speed in (90.0, 110.0):
        one.u[0] = speed
        one.outputs()
        assert one.get("a.tau") == 0.0


# --- controller -------------------------------------------------------------------------------------------------------


def control(inputs, duration, **parameters):
    given = {f"control.{name}": value for name, value in parameters.items()}
    scenario = Scenario(name="test", duration=duration, inputs={"control.v": 15.0} | inputs, parameters=given)
    return simulate(load_unit("clutch_control").build(), scenario)


def test_controller_closes_at_equal_speeds_and_brings_the_torque_up():
    shaft = {"a.w": {"time": [0, 1], "value": [150, 170]}, "b.w": 160.0, "control.tau": -80.0}
    r = control(shaft, 1.0)
    first = int(np.argmax(r["control.closed"]))
    assert abs(r["a.w"][first] - 160.0) < 2.0
    assert r["clutch.u"][: first - 6].max() == 0.0
    share = r["control.tau_des"] / -80.0
    assert share[:first].max() == 0.0
    assert np.diff(share[first:]).max() == pytest.approx(2e-3)  # over half a second
    assert control(shaft | {"control.v": 5.0}, 1.0)["clutch.u"].max() == 0.0
    assert control(shaft | {"control.tau": 0.5}, 1.0)["clutch.u"].max() == 0.0
    assert control(shaft | {"control.theta": -0.26}, 1.0)["clutch.u"].max() == 0.0  # empty
    assert control(shaft | {"control.theta": -0.26, "control.tau": 80.0}, 1.0)["clutch.u"].max() == 1.0


def test_controller_opens_at_the_end_of_the_ratio_and_rests():
    """At the end it opens; the demand that changes sign at once closes it again after a second, not before."""
    demand = {"time": [0, 1.5, 1.501], "value": [80, 80, -80]}
    tilt = {"time": [0, 1, 1.5, 2], "value": [0, 0, 0.25, 0.25]}
    r = control({"control.tau": demand, "control.theta": tilt}, 4.0)
    changes = np.nonzero(np.diff(r["control.closed"]))[0]
    times = r.time[changes + 1]
    assert len(times) == 3
    assert r["control.theta"][changes[1]] == pytest.approx(0.2592 - 0.0108, abs=2e-3)
    assert times[2] - times[1] == pytest.approx(1.0, abs=0.01)
    assert r["control.tau_des"][changes[1] + 1] == 0.0


def test_controller_opens_where_a_kers_at_its_limit_opposes_and_lets_an_empty_one_off():
    turns = {"time": [1.0, 1.001], "value": [-80.0, 60.0]}
    speeds = {"a.w": {"time": [1.0, 1.001], "value": [160.0, 190.0]}, "b.w": 160.0}
    inputs = speeds | {"control.tau": -80.0, "control.tau_kers": turns, "control.saturated": 1.0, "control.E": 30e3}
    matched = {"start": 1, "K_s": 0.5, "tau_s": 10.0}

    def opened(given, **parameters):
        r = control(inputs | given, 1.5, **matched, **parameters)
        return r.time[np.argmin(r["control.closed"])] if r["control.closed"].min() == 0.0 else None, r

    after, r = opened({})
    assert after == pytest.approx(1.0 + (0.3 + 5e-3) * math.log(2.0), abs=3e-3)
    assert r["control.tau_des"][-1] == -10.0  # 0.5 (160 - 190) and its limit: the hub comes up
    assert opened({"control.saturated": 0.0})[0] is opened({"control.tau_kers": -80.0})[0] is None
    assert opened({"control.tau": 80.0, "control.tau_kers": -60.0, "control.E": 0.0}, E_low=20e3)[0] is not None
    after, r = opened({}, E_low=20e3)
    assert r["control.tau_des"][1000] == pytest.approx(-40.0)
    assert after is not None
    more = {"control.tau": -3.0, "control.tau_kers": {"time": [1.0, 1.001], "value": [-3.0, -200.0]}}
    assert opened(more)[0] == pytest.approx(1.0 + (0.3 + 5e-3) * math.log(2.0), abs=3e-3)
    assert opened(more | {"control.E": 15e3}, E_low=20e3)[0] is None
    empty, r = opened({"control.E": 15e3}, E_low=20e3)
    assert empty is None
    assert r["control.tau_des"][-1] == 0.0


# --- units ------------------------------------------------------------------------------------------------------------


def test_actuation_beyond_its_range_is_limited_and_said():
    one = started(2.0, 10.0)
    assert one.step(1e-3) == SATURATED
    assert one.get("clutch.C") == pytest.approx(CAPACITY)
    refused("no finite start", started, 1.0, 0.0, r_i=0.09)


def test_heat_that_no_clutch_gets_is_limited_and_said():
    """Faces that slip for ever reached 1e12 J, which is no state, and the clutch refused all further steps."""
    one, other = started(1.0, 1000.0), started(1.0, 1000.0)
    one.x[X.Q] = MAX_HEAT - 1.0
    assert (one.step(1e-3), other.step(1e-3)) == (SATURATED, OK)
    assert one.get("clutch.Q") == MAX_HEAT
    assert other.get("clutch.Q") > 1.0
    for name in ("b.w", "a.tau", "storage.E", "loss.friction"):
        assert one.get(name) == other.get(name)


# --- temperature ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def warm():
    return variant("warm_clutch")


def test_a_warm_clutch_heats_up_as_scipy_says_and_books_all_heat(warm):
    """A launch under a load, with friction that falls with the temperature; rates by the equations of the page."""
    model, step = warm.build(), 1e-3
    run = simulate(model, Scenario(name="slip", duration=1.0, inputs={"a.w": 150.0, "b.load": 60.0, "clutch.u": 0.4}))
    p = model.instantiate()
    C_p, C_h, G, oil, air = (p.get(f"clutch.{k}") for k in ("C_p", "C_h", "G", "G_oil", "G_air"))

    def rates(t, x):
        phi, w, _, T_p, T_h = x
        C = CAPACITY * 0.4 * np.interp(T_p, [293.15, 363.15, 473.15], [1.1, 1.0, 0.7])
        phi_rate = (C - 10e3 * phi) / 20.0
        heat = C * (150.0 - w - phi_rate)
        plates = (heat - G * (T_p - T_h) - oil * (T_p - 363.15)) / C_p
        return phi_rate, (C - 1e-4 * w - 60.0) / 0.1, heat, plates, (G * (T_p - T_h) - air * (T_h - 293.15)) / C_h

    ends = int(np.argmax(run["clutch.stuck"])) - 1  # the last step of slipping alone
    assert 0.2 < run.time[ends] < 0.5
    exact = solve_ivp(rates, (0.0, run.time[ends]), [0.0, 0.0, 0.0, 363.15, 363.15], rtol=1e-10, atol=1e-10).y[:, -1]
    for name, value in (("b.w", exact[1]), ("clutch.Q", exact[2]), ("clutch.T_plates", exact[3])):
        assert run[name][ends] == pytest.approx(value, rel=1e-5), name
    assert run["clutch.T_housing"][ends] - 363.15 == pytest.approx(exact[4] - 363.15, rel=1e-4)
    given = np.trapezoid(run["heat.oil"] + run["heat.air"], dx=step)
    assert run["heat.stored"][-1] + given == pytest.approx(run["clutch.Q"][-1], rel=1e-5)


def test_hot_plates_are_said(warm):
    one = warm.build().instantiate()
    one.set("clutch.T_start", 424.0)  # above 150 degC
    for name, value in (("a.w", 100.0), ("clutch.u", 0.1), ("b.load", 50.0)):
        one.set(name, value)
    one.initialise()
    assert one.step(1e-3) == SATURATED
    assert one.get("status.hot") == 1.0


def test_a_warm_clutch_with_constant_friction_is_the_clutch(warm):
    plain = variant("warm_clutch", **{'friction = "friction.csv"': ""})
    assert not plain.files_beside
    assert [f.name for f in warm.files_beside] == ["friction.csv"]
    scenario = load_unit("clutch").scenario[0]
    a, b = (simulate(unit.build(), scenario) for unit in (plain, load_unit("clutch")))
    for name in ("b.w", "a.tau", "clutch.Q"):
        assert a[name] == pytest.approx(b[name], rel=1e-9, abs=1e-9)
