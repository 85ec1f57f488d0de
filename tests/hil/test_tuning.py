"""Tunable parameters that change on the rig: by scenario, bus and page; at their step, recorded, no jump."""

import itertools
import threading
import time

import numpy as np
import pytest
from refusals import refused
from rows import mistakes

from rtcvt.hil.bus import Node, open_bus
from rtcvt.hil.can_attachment import can_attachment, read_database
from rtcvt.hil.dbc import BITRATE, PARAMETERS, cycle_of, generate, load, parse
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import Attachment, run_rig
from rtcvt.hil.runner import run
from rtcvt.kind import load_unit
from rtcvt.model import Variable
from rtcvt.scenario import Scenario, load_scenario
from rtcvt.simulate import simulate

H, GAIN = 1e-3, "control.K_theta"
channels = (f"virtual:tuning{i}" for i in itertools.count())


@pytest.fixture(scope="module")
def model():
    return load_unit("toroidal_kers").build("rigid")


@pytest.fixture
def scenario(model):
    """The gain doubles at 50 ms and goes back between two steps."""
    start = model.variable(GAIN, "parameter").start
    inputs = {"shaft.w": "104.7 + 5*sin(9*t)", "control.tau_des": "8*sin(20*t)"}
    tune = {GAIN: {"time": [0.05, 0.1203], "value": [2.0 * start, start]}}
    return Scenario(name="t", duration=0.2, inputs=inputs, tune=tune)


def test_a_change_counts_from_its_step_on_and_nothing_jumps(model, scenario):
    changed = simulate(model, scenario)
    plain = simulate(model, scenario.model_copy(update={"tune": {}}))
    gain = changed.recording().signals[GAIN].values
    assert set(gain) == {plain.parameter(GAIN), 2.0 * plain.parameter(GAIN)}
    assert np.flatnonzero(np.diff(gain)).tolist() == [49, 120]
    for name in ("storage.E", "control.theta", "gear.a.w"):
        np.testing.assert_array_equal(changed[name][:51], plain[name][:51])
        assert not np.array_equal(changed[name][52:], plain[name][52:])
        jumps = np.abs(np.diff(changed[name])), np.abs(np.diff(plain[name]))
        assert jumps[0][[50, 121]].max() <= 2.5 * jumps[1].max()


@pytest.mark.needs("loop")
def test_the_rig_gives_the_bits_of_the_model(model, kers, scenario, tmp_path):
    expected = simulate(model, scenario).recording().signals
    report = run_rig(kers, H, None, scenario, output=tmp_path / "run.h5")
    assert report.completed, report.message
    kept = read(tmp_path / "run.h5").signals
    fast = run(kers, H, scenario=scenario, fast=True)
    for name in (GAIN, "shaft.tau", "control.theta", "storage.E"):
        np.testing.assert_array_equal(kept[name].values, expected[name].values)
        np.testing.assert_array_equal(fast.recording().signals[name].values, expected[name].values)
    assert report.figures["signals"][GAIN]["max"] == expected[GAIN].values.max()


@mistakes
def test_what_cannot_be_is_refused_before_the_first_step(model, kers, name, value, message):
    wrong = Scenario(name="t", duration=0.1, tune={name: {"time": [0.05], "value": [value]}})
    refused(message, simulate, model, wrong)
    refused(message, run, kers, H, scenario=wrong, fast=True)


def test_a_scenario_file_holds_changes(tmp_path):
    file = tmp_path / "change.toml"
    file.write_text('duration = "1 s"\n[tune."control.T_a"]\ntime = ["0.2 s", 0.5]\nvalue = ["3 ms", 0.004]\n')
    change = load_scenario(file).tune["control.T_a"]
    assert (change.time, change.value) == ((0.2, 0.5), ("3 ms", 0.004))
    file.write_text('duration = "1 s"\n[tune."control.T_a"]\ntime = [0.5, 0.2]\nvalue = [1, 2]\n')
    refused("times must increase", load_scenario, file)


@pytest.mark.needs("loop")
def test_the_other_side_of_a_bus_tunes(model, kers, tmp_path):
    """Each value counts from some step on, and stays."""
    dbc, channel = tmp_path / "bus.dbc", next(channels)
    scenario = Scenario(name="t", duration=30.0, inputs={"shaft.w": 104.7, "control.tau_des": 2.0})
    found, running = [], []

    def keep(now):
        class Kept:
            def __enter__(self):
                running.append(now)

            def __exit__(self, *_):
                pass

        return Kept()

    attach = [can_attachment(channel, save=dbc), lambda *_: Attachment("keep", {}, False, keep, dict)]
    work = threading.Thread(
        target=lambda: found.append(run_rig(kers, 5e-3, None, scenario, output=tmp_path / "run.h5", attach=attach))
    )
    work.start()
    while not running:
        time.sleep(0.01)
    made = read_database(dbc)
    messages = {s.name: m for m in made.messages if m.frame_id >= PARAMETERS for s in m.signals}
    assert "control_K_theta" in messages
    bus = open_bus(channel)
    partner = Node(bus, [messages["control_K_theta"]], [], {"control_K_theta": GAIN})
    for value in (0.02, 0.03):
        time.sleep(0.2)
        partner.send({GAIN: value})
    time.sleep(0.2)
    running[0].stop("enough")
    work.join()
    bus.shutdown()
    (report,) = found
    gain = read(tmp_path / "run.h5").signals[GAIN].values
    start = model.variable(GAIN, "parameter").start
    assert gain[0] == start
    np.testing.assert_allclose(sorted(set(gain) - {start}), [0.02, 0.03], rtol=1e-6)
    assert GAIN in report.figures["can"]["tunable"]
    assert report.figures["can"]["refused"] == {}


@pytest.mark.needs("loop")
def test_a_value_that_a_parameter_cannot_have_changes_nothing(model, kers, tmp_path):
    said = []

    def prepare(running):
        class Asked:
            def __enter__(self):
                place = [v.name for v in running.parameters].index("control.tau_filter")
                low = running.parameters[place].minimum
                said.extend(running.tune(place, v) for v in (-1.0, np.nan, np.inf, float(np.float32(low)), 0.003))

            def __exit__(self, *_):
                pass

        return Asked()

    names = frozenset(["control.tau_filter"])
    attach = [lambda *_: Attachment("ask", {}, False, prepare, dict, parameters=names)]
    scenario = Scenario(name="t", duration=0.05, inputs={"shaft.w": 104.7})
    report = run_rig(kers, H, None, scenario, output=tmp_path / "run.h5", attach=attach)
    assert report.completed
    assert said == [False, False, False, True, True]
    assert set(read(tmp_path / "run.h5").signals["control.tau_filter"].values) == {0.003}


def test_the_database_has_ranges_comments_and_a_load():
    """Worst frames of 8 bytes and 11 bits of identifier have 135 bits."""
    out = [Variable(f"y{i}", "output", i, "N", "force", minimum=0.0) for i in range(3)]
    given = [Variable("k", "parameter", 0, "1", "a gain", minimum=0.0, maximum=2.0, tunable=True)]
    made = parse(generate("unit", [], out, 1e-3, given))
    by_signal = {s.name: (m, s) for m in made.messages for s in m.signals if s.name not in ("CRC", "Alive", "Echo")}
    assert by_signal["y0"][1].minimum == 0.0
    assert by_signal["y0"][1].maximum > 1e38
    assert by_signal["k"][0].frame_id == PARAMETERS
    assert not by_signal["k"][0].cycle_time
    assert "a gain" in by_signal["k"][1].comment
    assert "tunable" in by_signal["k"][0].comment
    sent = [m for m in made.messages if m.frame_id < PARAMETERS]
    assert len(sent) == 4
    assert load((m, 1e-3) for m in sent) == pytest.approx(4 * 135 / 1e-3 / BITRATE)
    assert [cycle_of(m, 5e-3) for m in sent] == [1e-3] * 4  # what the database says
