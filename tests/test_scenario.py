"""Signals, simulation and recordings."""

from functools import cache

import h5py
import numpy as np
import pytest
from instances import started, stepped
from refusals import refused
from rows import cases, mistakes

from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.model import Variable, VariableTable
from rtcvt.pog.system import build_model
from rtcvt.recording import Recording, Signal, read_recording, write_recording
from rtcvt.scenario import Scenario, sample_inputs
from rtcvt.simulate import simulate

TIME = np.linspace(0.0, 4.0, 401)


@cache
def model():
    return build_model(load_unit("differential"), "rigid")


def sampled(signal):
    scenario = Scenario.model_validate({"name": "s", "duration": 4.0, "inputs": {"left.tau": signal}})
    return sample_inputs(model(), scenario, TIME)[:, model().by_name["left.tau"].index]


def test_signals():
    assert np.all(sampled(3.5) == 3.5)
    assert np.all(sampled("0.1 kN.m") == 100.0)
    assert np.allclose(sampled("20*sin(2*pi*t/4)"), 20.0 * np.sin(2.0 * np.pi * TIME / 4.0))
    table = {"time": [1.0, "2 s", 3.0], "value": [0.0, "10 N.m", 4.0]}
    assert np.allclose(sampled(table), np.interp(TIME, [1, 2, 3], [0, 10, 4]))
    steps = sampled({**table, "interpolation": "previous"})
    assert [steps[k] for k in (0, 150, 200, 299, 300, 400)] == [0.0, 0.0, 10.0, 10.0, 4.0, 4.0]
    smooth = sampled({**table, "interpolation": "smooth"})
    assert smooth[[0, 100, 150, 200, 400]] == pytest.approx([0.0, 0.0, 5.0, 10.0, 4.0])
    assert np.abs(np.diff(smooth, 2)).max() < 0.01


@cases
def test_two_points_of_one_time_are_a_jump_at_any_multiple_of_the_step(interpolation, at_half, before):
    """From its time on the value after it counts, however the multiple of the step is rounded; a time that stands twice
    has the value before it and the one after it."""
    for k in range(1, 400):
        table = {"time": [0.0, k / 100, k / 100, 5.0], "value": [0.0, 1.0, 7.0, 7.0], "interpolation": interpolation}
        found = sampled(table)
        assert found[k - 1] < 1.0
        assert (found[k:] == 7.0).all(), k
        assert found[k // 2] == pytest.approx(at_half, abs=1e-9) or k % 2
    scenario = Scenario.model_validate({"name": "s", "duration": 4.0, "inputs": {"left.tau": table}})
    both = sample_inputs(model(), scenario, np.array([0.0, 3.99, 3.99]))[:, model().by_name["left.tau"].index]
    assert both == pytest.approx([0.0, before, 7.0])


@pytest.mark.parametrize("time", [[0.0, 1.0, 0.5, 2.0], [0.0, 1.0, 1.0, 1.0]])
def test_times_that_fall_or_stand_three_times_are_refused_and_told(time):
    with pytest.raises(ValueError, match=rf"do not fall; two .* a jump.*; here {time[3 if time[2] == 1.0 else 2]:g} s"):
        sampled({"time": time, "value": [1.0, 2.0, 3.0, 4.0]})


def test_speeds_of_an_engine_are_the_same_in_parts():
    table = VariableTable("drive", (Variable("crank.w", "input", 0, "rad/s", "", start=0.0),))
    inputs = {"crank.w": "engine_order(clip(400*t, 0, 200), 2, 0.05)"}
    scenario = Scenario.model_validate({"name": "s", "duration": 4.0, "inputs": inputs})
    whole = sample_inputs(table, scenario, TIME)
    assert np.array_equal(np.concatenate([sample_inputs(table, scenario, t) for t in np.split(TIME, 401)]), whole)
    late = TIME >= 0.5
    exact = 200.0 * (1.0 + 0.05 * np.sin(2.0 * 200.0 * (TIME[late] - 0.25)))
    assert whole[late, 0] == pytest.approx(exact, abs=1e-8)


@mistakes
def test_mistakes_in_signals(signal, message):
    with pytest.raises(InputError, match=message), np.errstate(all="ignore"):
        sampled(signal)


@pytest.mark.parametrize("given", [True, {"time": [0.0, 1.0], "value": [0.0, True]}])
def test_true_is_a_value_of_booleans_alone(given):
    refused(r"inputs\.left\.tau.*not a truth value", sampled, given)
    table = VariableTable("t", (Variable("on", "input", 0, "1", "", start=0.0, boolean=True),))
    scenario = Scenario.model_validate({"name": "s", "duration": 4.0, "inputs": {"on": given}})
    assert sample_inputs(table, scenario, TIME)[-1, 0] == 1.0


@pytest.mark.parametrize("key", [{"limits": {"speed": True}}, {"duration": True}, {"name": True}])
def test_true_is_no_number_in_a_file(key):
    with pytest.raises(ValueError, match=r"truth value|a time in s"):
        Scenario.model_validate({"name": "s", "duration": 4.0} | key)


def test_a_table_of_one_late_point_is_refused():
    with pytest.raises(ValueError, match="two points or more"):
        Scenario.model_validate({"name": "s", "duration": 1.0, "inputs": {"x": {"time": [0.5], "value": [1.0]}}})


def test_unknown_names():
    scenario = Scenario.model_validate({"name": "s", "duration": 1.0, "inputs": {"left.w": 1.0}})
    refused(r"differential: left\.w: not one of its inputs: pinion\.tau, left\.tau", simulate, model(), scenario)
    scenario = Scenario.model_validate({"name": "s", "duration": 1.0, "parameters": {"gear.a.mass": 1.0}})
    refused(r"gear\.a\.mass: not one of its parameters", lambda: simulate(model(), scenario))


def test_parameters_take_units_and_bare_names():
    scenario = Scenario.model_validate({"name": "s", "duration": 0.1, "parameters": {"r_a": "40 mm", "gear.a.J": 0.1}})
    result = simulate(model(), scenario)
    assert result.parameter("geometry.r_a") == pytest.approx(0.04)
    assert result.parameter("gear.a.J") == 0.1


def test_simulation_is_the_kernel():
    scenario = load_unit("differential").scenario[0]
    result = simulate(model(), scenario)
    instance = started(model(), left__tau=100.0)
    stepped(instance, len(result.time) - 1)
    assert np.array_equal(result.y[-1], instance.y)
    figures = result.figures()
    assert figures["signals"]["left.w"]["final"] == instance.get("left.w")
    assert set(figures) == {"unit", "model", "scenario", "step_s", "steps", "duration_s", "saturated_share", "limits",
                            "step_cost_us", "signals"}  # fmt: skip


def test_the_step_of_a_long_run_that_fails_is_named():
    scenario = Scenario(name="long", duration=12.0)
    with pytest.raises(InputError, match=r"step at t = 10\.006 s.*left\.tau = 1e\+13"):
        simulate(model(), scenario, inputs={"left.tau": lambda t: 1e13 if t > 10.0055 else 0.0})


@pytest.mark.parametrize("step", [0.0, -1.0, 30.0, 1e-12, float("nan")])
def test_bad_steps(step):
    refused(r"step = ", lambda: simulate(model(), load_unit("differential").scenario[0], step))


@pytest.mark.parametrize("samples", [11, 601])  # the longer one is packed
def test_recordings_come_back(tmp_path, samples):
    path = tmp_path / "run.h5"
    values = np.linspace(0.0, 1.0, samples)
    about = {"scenario": "s", "step": 0.1}
    field = np.random.default_rng(1).normal(size=(samples, 3, 200, 4))
    signals = {"a.w": Signal(values**2, "rad/s", "speed"), "field": Signal(field, "N", "of each element")}
    write_recording(path, Recording(values, signals, about, "name = 'x'"), "test")
    back = read_recording(path)
    assert np.array_equal(back.signals["a.w"].values, values**2)
    assert np.array_equal(back.signals["field"].values, field)
    assert back.signals["a.w"].unit == "rad/s"
    assert back.unit_file == "name = 'x'"
    assert back.attributes["kind"] == "test"
    assert {"schema_version", "rtcvt_version", "revision", "created", "scenario", "step"} <= set(back.attributes)
    with h5py.File(path) as file:
        found = []
        file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        assert all("units" in file[name].attrs for name in found)
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"precious")
    with pytest.raises(TypeError):
        write_recording(path, Recording(np.zeros(2), {}, {"bad": object()}, ""), "test")
    assert path.read_bytes() == b"precious"
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
    refused(r"an undamaged file of a recording", read_recording, path)
    with pytest.raises(InputError, match=r"existing, writable folder"):
        write_recording(tmp_path / "no" / "run.h5", Recording(np.zeros(2), {}, {}, ""), "test")
