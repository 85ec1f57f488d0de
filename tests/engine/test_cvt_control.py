"""Control of an engine with a variator: pedal, ratio, clamping, launch."""

import math

import numpy as np
import pytest
from discs import interpreted
from instances import started, stepped
from refusals import refused

from rtcvt.engine.grid import lookup
from rtcvt.engine.unit import least_fuel, tables
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.unitfile import parse_unit_file

UNIT = load_unit("cvt_control")


@pytest.fixture(scope="module")
def model():
    return UNIT.build()


def steady(model, strategy="economy", **inputs):
    """The controller after its ratio has settled."""
    given = {"r": 0.05, "w_engine": 150.0, "w_secondary": 200.0, **inputs}
    given["strategy"] = list(model.by_name["control.strategy"].choices).index(strategy)
    return stepped(started(model, {f"control.{name}": value for name, value in given.items()}), 1)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("w", [110.0, 200.0, 412.3])
def test_the_pedal_is_that_of_the_torque(model, share, w):
    torque, _ = tables(UNIT, None)
    most = lookup(np.array(torque.numbers()), 0, w, 1.0)
    one = steady(model, w_engine=w)
    ratio = one.get("ratio.des")
    one.set("control.tau_drive", share * most * 5.0 * ratio)
    one.outputs()
    drag = -lookup(np.array(torque.numbers()), 0, w, 0.0)
    asked = share * most if share * most > drag else 2.0 * share * most - drag
    assert one.get("control.tau_des") == pytest.approx(asked, rel=1e-12)
    assert lookup(np.array(torque.numbers()), 0, w, one.get("engine.pedal")) == pytest.approx(asked, rel=1e-12)


def test_no_demand_is_no_pedal_and_too_much_is_all_of_it(model):
    assert steady(model).get("engine.pedal") == 0.0
    assert steady(model, tau_drive=1e5).get("engine.pedal") == 1.0


def test_economy_is_the_speed_of_least_fuel():
    """No speed does better than the line, beyond the grid in which it is sought; and it never falls."""
    torque, fuel = tables(UNIT, None)
    line, table = least_fuel(torque, fuel), np.array(fuel.numbers())
    assert (np.diff(line.values[:, 0]) >= 0.0).all()
    for power in (5e3, 20e3, 45e3, 70e3):
        w = np.interp(power, line.a, line.values[:, 0])
        speeds = np.linspace(65.0, 640.0, 5000)
        able = speeds[power <= np.interp(speeds, torque.a, torque.values[:, -1]) * speeds]
        best = min(lookup(table, 0, s, power / s) for s in able)
        assert lookup(table, 0, w, power / w) <= 1.01 * best


@pytest.mark.parametrize("power", [2e3, 20e3, 50e3])
def test_the_ratio_brings_the_engine_to_the_speed_of_its_strategy(model, power):
    w_s = 300.0
    runs = [steady(model, s, w_secondary=w_s, tau_drive=power * 5.0 / w_s) for s in ("economy", "sport")]
    torque, fuel = tables(UNIT, None)
    line = least_fuel(torque, fuel)
    w = np.interp(power, line.a, line.values[:, 0])
    for one, k in zip(runs, (1.0, 1.5), strict=True):
        expected = min(max(k * w, k * 1100.0 * math.pi / 30.0), 5800.0 * math.pi / 30.0)
        assert one.get("control.w_des") == pytest.approx(expected, rel=1e-12)
        assert one.get("ratio.des") == pytest.approx(min(max(expected / w_s, 0.46), 2.35), rel=1e-12)
    assert runs[1].get("ratio.des") > runs[0].get("ratio.des")
    assert steady(model, "constant", w_secondary=w_s).get("ratio.des") == 1.0


def test_a_map_of_ones_own_says_the_speed(tmp_path):
    rows = "\n".join(f"{w_s},{tau},{1000 + 0.5 * w_s + 2 * tau}" for w_s in (0, 2000, 6000) for tau in (0, 500, 2000))
    (tmp_path / "mine.csv").write_text(f"# ours\nw_s [rpm],tau_drive [N.m],w [rpm]\n{rows}\n")
    text = UNIT.text.replace('"economy"', '"map"\nmap = "mine.csv"', 1)
    mine = load_unit(parse_unit_file(text, "mine.toml", tmp_path)).build()
    one = steady(mine, "map", w_secondary=3100.0 * math.pi / 30.0, tau_drive=700.0)
    assert one.get("control.w_des") * 30.0 / math.pi == pytest.approx(1000.0 + 1550.0 + 1400.0)
    assert one.get("ratio.des") == pytest.approx(3950.0 / 3100.0)
    assert mine.by_name["control.strategy"].choices[-1] == "map"


def test_standing_and_going_back_it_is_in_low(model):
    for w_s in (0.0, -50.0):
        assert steady(model, w_secondary=w_s).get("ratio.des") == 2.35


def test_the_clamping_force_carries_the_torque_with_its_safety(model):
    """``2 mu F r/cos(alpha)`` is the capacity."""
    grip = 2.0 * 0.09 * 0.05 * math.sqrt(1.0 + 0.1944**2)
    for tau in (80.0, -80.0):
        assert grip * (steady(model, tau=tau).get("clamp.secondary.F") - 5e3) == pytest.approx(1.5 * 80.0, rel=1e-12)
    asked = steady(model, tau_drive=500.0)
    demand = 500.0 / (5.0 * asked.get("ratio.des"))
    assert grip * (asked.get("clamp.secondary.F") - 5e3) == pytest.approx(1.5 * demand, rel=1e-12)
    slow = steady(model, tau=80.0)
    slow.p[model.by_name["control.F_s"].index] = 10e3
    slow.set("control.i", slow.get("ratio.des") - 0.2)
    slow.outputs()
    assert grip * (slow.get("clamp.secondary.F") - 5e3 - 2e3) == pytest.approx(1.5 * 80.0, rel=1e-12)
    slow.set("control.i", slow.get("ratio.des") + 0.2)  # which a stronger secondary would hold
    slow.outputs()
    assert grip * (slow.get("clamp.secondary.F") - 5e3) == pytest.approx(1.5 * 80.0, rel=1e-12)
    most = np.interp(150.0, tables(UNIT, None)[0].a, tables(UNIT, None)[0].values[:, -1])
    greedy = steady(model, tau_drive=5e4)  # more than the engine can give
    assert grip * (greedy.get("clamp.secondary.F") - 5e3) == pytest.approx(1.5 * most, rel=1e-12)
    assert steady(model, tau=1e4).get("clamp.secondary.F") == 35e3
    assert steady(model, tau=10.0, r=0.0).get("clamp.secondary.F") == 35e3


def test_the_clutch_opens_before_the_engine_stalls(model):
    for rpm, u in ((800.0, 0.0), (1050.0, 0.5), (1400.0, 1.0)):
        assert steady(model, w_engine=rpm * math.pi / 30.0).get("clutch.u") == pytest.approx(u)


def test_any_finite_inputs_give_outputs_in_their_ranges(model):
    random, one = np.random.default_rng(3), model.instantiate()
    one.initialise()
    for _ in range(2000):
        one.u[:] = random.uniform(-1.0, 1.0, 6) * 10.0 ** random.uniform(-6.0, 6.0, 6)
        one.set("control.r", abs(one.get("control.r")))
        one.step(1e-3)
        for name, low, high in (("engine.pedal", 0, 1), ("clutch.u", 0, 1), ("ratio.des", 0.46, 2.35)):
            assert low <= one.get(name) <= high
        assert 5e3 <= one.get("clamp.secondary.F") <= 35e3


def test_limits_that_contradict_each_other_give_no_start():
    one = UNIT.build().instantiate()
    one.set("control.i_min", 3.0)
    refused(r"control\.i_max = '2\.35': at least control\.i_min, 3", one.initialise)
    with interpreted(), pytest.raises(InputError, match=r"control\.control\.w_1 = .*: at least control\.control\.w_0"):
        load_unit("car_cvt").build(parameters={"control.control.w_1": "500 rpm"})
