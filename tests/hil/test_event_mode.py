"""Units of FMI 3.0 that need event mode: all their events are handled, on the grid and between its points."""

import numpy as np
import pytest
from archives import described, unit_of
from marks import slow
from refusals import refused
from rows import cases, text_of

from rtcvt.errors import InputError
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario

pytestmark = pytest.mark.needs("cc")

H = 5e-3  # communication step [s]
TICK, CROSSING = 0.013, 0.0171  # of events that are known before and of those that a step meets [s]


DESCRIPTION = text_of("fmi/eventful.xml")
MODES = ("nothing", "endless", "fails", "ends", "no_event", "no_step")


@pytest.fixture(scope="module")
def eventful(tmp_path_factory):
    return unit_of(tmp_path_factory.mktemp("eventful"), "eventful", DESCRIPTION)


def scenario(mode="nothing", duration=0.1, **more):
    return Scenario(name="t", duration=duration, parameters={"mode": MODES.index(mode)}, **more)


def steps_of(t, period, most=np.inf):
    return np.minimum(np.floor(t / period + 1e-6), most)


def test_all_events_are_handled(eventful, recorded):
    """Those in time are met exactly, or the unit refuses the step; outputs at a point are those after its events."""
    given = scenario(inputs={"u": {"time": [0.0, 0.02, 0.06], "value": [0.0, 1.0, 2.0], "interpolation": "previous"}})
    said, _, time, signals = recorded(eventful, given)
    assert said == ""
    np.testing.assert_array_equal(signals["ticks"], steps_of(time, TICK, 5))
    np.testing.assert_array_equal(signals["crossings"], steps_of(time, CROSSING))
    assert signals["jumps"][-1] == 2
    assert signals["events"][-1] == len(time) - 1 + 5 + 5  # that of the inputs at each point, ticks and crossings


def test_parameters_change_in_event_mode(eventful, recorded):
    given = Scenario(name="t", duration=0.1, tune={"mode": {"time": [0.07], "value": [MODES.index("ends")]}})
    said, terminated, time, _ = recorded(eventful, given)
    assert said == "fmi3DoStep returned without a step, to end the simulation at t = 0.07 s; it gave no message"
    assert terminated is None
    assert time[-1] == pytest.approx(0.07)


@cases
def test_events_that_fail_are_told(eventful, recorded, mode, message):
    said, terminated, _, _ = recorded(eventful, scenario(mode))
    assert said.startswith(f"fmi3DoStep returned {message}")
    assert terminated is None


def test_an_event_may_end_the_simulation(eventful, recorded):
    given = Scenario(name="t", duration=0.1, parameters={"mode": MODES.index("ends"), "at": 0.0513})
    said, terminated, time, _ = recorded(eventful, given)
    assert said == ""
    assert terminated == pytest.approx(3 * CROSSING)  # the first event from then on
    np.testing.assert_allclose(time, [*(H * np.arange(11)), 3 * CROSSING])


def test_clocks_ask_for_event_mode_and_those_that_tick_by_time_are_refused(eventful, recorded, tmp_path):
    clock = '<Clock name="tick" valueReference="20" causality="%s" intervalVariability="%s"/></ModelVariables>'
    told = described(eventful, tmp_path / "told.fmu", ("</ModelVariables>", clock % ("output", "triggered")))
    assert recorded(told, scenario())[0] == ""
    timed = clock.replace("/></", ' intervalDecimal="0.1"/></') % ("input", "constant")
    other = described(eventful, tmp_path / "timed.fmu", ("</ModelVariables>", timed.replace("constant", "fixed")))
    refused("tick = 'fixed': a clock with a constant interval", lambda: recorded(other, scenario()))
    for interval, text in (("0.012", "whole steps"), ("0", "whole steps"), ("nan", "a finite"), ("soon", "a finite")):
        odd = timed.replace("0.1", interval)
        file = described(eventful, tmp_path / f"{interval}.fmu", ("</ModelVariables>", odd))
        refused(f"tick = .*: intervalDecimal: {text}", recorded, file, scenario())


@pytest.fixture(scope="module")
def clocked(kers3, tmp_path_factory):
    """A unit whose controller ticks every 4 ms, and the same one without a clock."""
    path = tmp_path_factory.mktemp("clocked") / "clocked.fmu"
    return [export_native(load_unit("toroidal_kers"), "rigid", path, fmi=3, clock=4e-3), kers3]


@pytest.mark.parametrize("step", [slow(4e-3), 1e-3])
def test_a_constant_clock_ticks_between_steps(clocked, recorded, step):
    """What belongs to it is held between ticks: as without a clock, if the demand changes at ticks only."""
    grid = 4e-3 * np.arange(26)
    demand = {"time": [0.0, 0.1], "value": [5.0, 60.0]}
    held = {"time": grid.tolist(), "value": (5.0 + 550.0 * grid).tolist(), "interpolation": "previous"}
    found = []
    for file, tau in zip(clocked, (demand, held), strict=True):
        given = Scenario(name="t", duration=0.1, inputs={"control.tau_des": tau, "shaft.w": 110.0})
        said, _, time, signals = recorded(file, given, step)
        assert said == ""
        found.append(signals)
    assert len(time) == round(0.1 / step) + 1
    for name in ("shaft.tau", "control.tau_est", "control.theta", "storage.E"):
        np.testing.assert_allclose(found[0][name], found[1][name], rtol=1e-12)
    assert np.ptp(found[0]["control.theta"]) > 1e-3


def test_a_unit_without_event_mode_is_not_asked_for_it(eventful, recorded, tmp_path):
    with pytest.raises(InputError, match="the FMU refused"):
        recorded(described(eventful, tmp_path / "none.fmu", (' hasEventMode="true"', "")), scenario())
