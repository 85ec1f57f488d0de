"""A unit may crash, exit, hang or take all memory: the rig lives, the bus gets the fall-back, the recording its end."""

import itertools
import json
import signal
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hostile import DEADLY, MISDEEDS, OVERLOAD, build, scenario_file
from hostile import command as hostile_command
from marks import slow
from refusals import refused
from rows import mistakes

from rtcvt.errors import InputError
from rtcvt.hil import host
from rtcvt.hil.bus import open_bus
from rtcvt.hil.can_attachment import can_attachment
from rtcvt.hil.dbc import FALLEN, OVER, RUNNING, WATCHDOG
from rtcvt.hil.growing import part_name
from rtcvt.hil.pacing import BUS_PRIORITY, take_fifo
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import Rig, run_rig
from rtcvt.scenario import Fault, Scenario

pytestmark = [pytest.mark.needs("loop", "cc"), pytest.mark.alone]

H = 5e-3
channels = (f"virtual:host{i}" for i in itertools.count())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return build(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """For temporary files; nothing may be left in it."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    monkeypatch.setenv("TMPDIR", str(made))
    yield made
    assert list(made.iterdir()) == []


class Ear:
    """What is heard on a bus: when [s], and the bytes after those that guard the message."""

    def __init__(self, channel):
        self.bus, self.heard, self.ended = open_bus(channel), [], threading.Event()
        self.thread = threading.Thread(target=self.listen)

    def listen(self):
        take_fifo(BUS_PRIORITY)  # where permitted: who listens has a processor
        while not self.ended.is_set():
            got = self.bus.recv(0.05)
            if got is not None:
                self.heard.append((time.monotonic(), got.arbitration_id, bytes(got.data[2:])))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.1)
        self.ended.set()
        self.thread.join()
        self.bus.shutdown()


def scenario(misdeed, duration=1.0, at=0.3, **more):
    return Scenario(
        name="t", duration=duration, inputs={"u": 1.0}, parameters={"mode": MISDEEDS[misdeed], "at": at}, **more
    )


def torques(ear):
    """Times [s] and values [N.m] of the output."""
    found = [(t, np.frombuffer(data[:4], "<f4")[0]) for t, identifier, data in ear.heard if identifier == 0x200]
    return np.array(found).T


@pytest.mark.parametrize("misdeed", ["segfault", "exit", "memory"])  # of others: attacks.misdeeds
def test_a_unit_that_dies_leaves_the_rig_alive(hostile, folder, tmp_path, monkeypatch, misdeed):
    monkeypatch.setattr("rtcvt.hil.host.MEMORY", 2**28)
    channel = next(channels)
    with Ear(channel) as ear:
        began = time.monotonic()
        report = run_rig(hostile, H, None, scenario(misdeed), None, tmp_path / "run.h5", [can_attachment(channel)])
        took = time.monotonic() - began
    assert DEADLY[misdeed] in report.message
    assert report.message.startswith("the unit")
    assert " at t = 0.3 s" in report.message
    assert report.figures["steps"] == 60
    assert not report.completed
    assert took < 30.0  # with its start; it does not wait for a unit that is gone
    json.dumps(report.figures, allow_nan=False)
    kept = read(tmp_path / "run.h5")
    assert kept.attributes["message"] == report.message
    assert kept.signals["y"].values.tolist() == [0.0] + [7.0] * 60
    when, torque = torques(ear)
    fallen = np.flatnonzero(torque == 0.0)
    fallen = fallen[fallen > 30]  # the first message may be that of the start
    assert len(fallen) >= 4
    assert (torque[fallen[0] :] == 0.0).all()
    slow = (
        0.3 if misdeed in ("memory", "killed", "exit_at_once") else 0.0
    )  # until the process is gone, or out of memory
    assert when[fallen[0]] - when[fallen[0] - 1] < 3 * H + slow
    assert not part_name(tmp_path / "run.h5").exists()


@pytest.mark.parametrize(("misdeed", "bus"), [("random", True), ("ones", False)])
def test_a_unit_that_writes_over_shared_memory_leaves_the_rig_alive(hostile, folder, tmp_path, misdeed, bus):
    attachments = [can_attachment(next(channels))] if bus else []
    report = run_rig(hostile, H, None, scenario(misdeed), None, tmp_path / "run.h5", attachments)
    assert not report.completed
    assert "wrote over the memory" in report.message
    json.dumps(report.figures, allow_nan=False)
    assert report.figures["step_time_us"].keys() == report.figures["lateness_us"].keys()
    assert len(read(tmp_path / "run.h5").time) <= 62


@pytest.mark.parametrize("misdeed", [slow("forks"), "leaves"])
def test_what_a_unit_forks_ends_with_the_run(hostile, folder, tmp_path, misdeed):
    stays = subprocess.Popen(["sleep", "60"], start_new_session=True)  # of this process, not of the unit
    try:
        run_rig(hostile, H, None, scenario(misdeed, duration=0.5), None, tmp_path / "run.h5")
        assert not _holding(folder)
        assert stays.poll() is None
    finally:
        stays.kill()
        stays.wait()


def _holding(folder):
    """Processes that have the unit's library, which was extracted there."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"{folder}/" in (process / "maps").read_text():
                found.append(int(process.name))
        except OSError:
            pass
    return found


def test_the_heartbeat_stands_still_while_no_step_is_made(hostile, folder, tmp_path):
    """The fall-back outputs are sent all the same: who watches the heartbeat knows."""
    channel = next(channels)
    with Ear(channel) as ear:
        run_rig(hostile, H, None, scenario("hang", 10.0), Rig(patience=1.0), None, [can_attachment(channel)])
    found = [(t, *struct.unpack("<HB", data[:3])) for t, identifier, data in ear.heard if identifier == WATCHDOG]
    when, beat, state = np.array(found).T
    running = state == RUNNING
    fallen = (state == FALLEN) & (np.arange(len(state)) > np.flatnonzero(running)[-1])  # not when a step was late
    assert set(np.diff(beat[running])) <= {0.0, 1.0, 2.0, 3.0}  # a reader is not always in time
    assert beat[running][-1] == 60
    assert len(beat[fallen]) > 10
    assert (beat[fallen] == 60).all()
    assert when[fallen][-1] - when[fallen][0] > 0.5
    assert (state[-3:] == OVER).all()
    assert (torques(ear)[1][-3:] == 0.0).all()


def test_a_unit_that_hangs_is_given_up(hostile, folder, tmp_path):
    channel = next(channels)
    with Ear(channel) as ear:
        report = run_rig(
            hostile, H, None, scenario("hang", 10.0), Rig(patience=0.8), tmp_path / "run.mf4", [can_attachment(channel)]
        )
    assert (
        report.message == "the unit was given up: a step did not return within 0.8 s at t = 0.3 s; it gave no message"
    )
    assert len(read(tmp_path / "run.mf4").time) == 61
    when, torque = torques(ear)
    silent = when[30:][torque[30:] == 0.0]
    assert silent[0] - when[30:][torque[30:] != 0.0][-1] < 0.3  # the time-out of the bus is 0.1 s


def test_the_system_ends_a_unit_that_hangs_while_nobody_can_look_after_it(hostile, folder, tmp_path, monkeypatch):
    """As when units that hang hold all processors with a higher priority than the rig has."""
    if "no SCHED_FIFO" in run_rig(hostile, H, 0.05).environment["scheduler"]:
        pytest.skip("no real-time scheduler here")
    monkeypatch.setattr(host._Outside, "wait", lambda self, seconds: self._ended_within(seconds))
    monkeypatch.setattr(host, "UNWATCHED", 1.0 - host.FREEING)  # after a second
    report = run_rig(hostile, H, None, scenario("hang", 10.0), Rig(patience=0.5), tmp_path / "run.h5")
    assert report.message == "the unit's process was ended by SIGKILL at t = 0.3 s; it gave no message"
    assert read(tmp_path / "run.h5").signals["y"].values[-1] == 7.0
    # a loop that is behind all the time is no such unit
    overload = Fault(name="slow", kind="overload", start=0.0, duration=10.0, value=6e-3)
    assert run_rig(hostile, H, 1.3, rig=Rig(patience=0.5, faults=(overload,))).completed


@mistakes
def test_a_result_that_is_none_is_a_failure(hostile, folder, tmp_path, misdeed, message):
    report = run_rig(hostile, H, None, scenario(misdeed), None, tmp_path / "run.h5")
    assert report.message.startswith(message)
    assert np.isfinite(read(tmp_path / "run.h5").signals["y"].values).all()


def test_a_unit_that_does_not_survive_its_initialisation_is_refused(hostile, folder, tmp_path):
    with pytest.raises(InputError, match=r"hostile\.fmu: instantiation: a unit that survives .*SIGSEGV"):
        run_rig(hostile, H, None, scenario("at_start"), None, tmp_path / "run.h5")
    assert not (tmp_path / "run.h5").exists()


def test_a_unit_that_crashes_when_it_is_freed_is_told(hostile, folder, tmp_path):
    report = run_rig(hostile, H, None, scenario("at_end", 0.1), None, tmp_path / "run.h5")
    assert report.message == "the unit's process was ended by SIGSEGV"
    assert len(read(tmp_path / "run.h5").time) == 21


def test_a_unit_that_hangs_when_it_is_freed_is_told(hostile, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(host, "FREEING", 1.0)
    report = run_rig(hostile, H, None, scenario("hang_at_end", 0.1), None, tmp_path / "run.h5")
    assert report.message == "the unit was given up: it was not freed within 5 s after the run"
    assert not report.completed
    assert len(read(tmp_path / "run.h5").time) == 21


def test_all_processes_end_with_the_rigs(hostile, tmp_path, monkeypatch):
    """Those of unit, recording and heir, and what the unit forked."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # of the unit's folder, which nobody removes
    process = command(hostile, tmp_path, scenario_file(tmp_path, "forks"))

    def children():
        found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return {int(child) for child in found} | set(_holding(tmp_path))

    for _ in range(600):
        if len(children()) >= 3 + 6:  # and sometimes the rig's own, which has the library, too
            break
        time.sleep(0.05)
    ours = children()
    assert len(ours) >= 3 + 6
    wait_for(part_name(tmp_path / "run.h5"))
    process.kill()
    process.wait()
    for _ in range(100):
        if not any(Path(f"/proc/{child}").exists() for child in ours):
            break
        time.sleep(0.05)
    assert not any(Path(f"/proc/{child}").exists() for child in ours)


def command(fmu, folder, scenario, *words):
    return hostile_command(fmu, scenario, folder / "run.h5", "--json", str(folder / "run.json"), *words)


def wait_for(path):
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"no {path.name}")


def test_the_command_fails_and_writes_its_figures(hostile, folder, tmp_path, command):
    words = ("--scenario", str(scenario_file(tmp_path, "segfault")), "--json", str(tmp_path / "run.json"))
    code, _, errors = command("run", str(hostile), *words)
    assert code == 1
    assert "error:" in errors
    assert not json.loads((tmp_path / "run.json").read_text())["completed"]


STATES = {"running": signal.SIGINT, "sleep": signal.SIGTERM, "overload": signal.SIGHUP}


@pytest.mark.parametrize(
    ("state", "number"),
    [*STATES.items()],  # of others: attacks.signals
)
def test_signals_end_the_run_within_a_second(hostile, folder, tmp_path, number, state):
    """In a step, in one that does not return and in an overload; the recording is finished, the figures are written."""
    file = scenario_file(tmp_path, "sleep" if state == "sleep" else "nothing", fault=OVERLOAD * (state == "overload"))
    process = command(hostile, tmp_path, file, "--patience", "50 s")
    wait_for(part_name(tmp_path / "run.h5"))
    time.sleep(0.8)
    process.send_signal(number)
    sent = time.monotonic()
    wait_for(tmp_path / "run.h5")
    took = time.monotonic() - sent
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 1)
    assert number.name in errors
    assert took < 1.0
    said = json.loads((tmp_path / "run.json").read_text())["message"]
    assert said.startswith(number.name)
    assert ("was given up" in said) == (state == "sleep")
    assert read(tmp_path / "run.h5").attributes["message"] == said


@pytest.mark.parametrize("ended_by", [slow("patience"), "signal"])
def test_a_unit_that_hangs_in_this_process_is_given_up(hostile, folder, tmp_path, ended_by):
    """The recording is finished, the figures are written, the command ends."""
    file = scenario_file(tmp_path, "sleep")
    process = command(
        hostile, tmp_path, file, "--no-isolate", "--patience", "1 s" if ended_by == "patience" else "50 s"
    )
    if ended_by == "signal":
        wait_for(part_name(tmp_path / "run.h5"))
        time.sleep(0.8)
        process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    said = json.loads((tmp_path / "run.json").read_text())["message"]
    assert "the unit was given up: " in said
    assert said.startswith("SIGTERM") == (ended_by == "signal")
    kept = read(tmp_path / "run.h5")
    assert kept.attributes["message"] == said
    assert kept.signals["y"].values.tolist() == [0.0] + [7.0] * 60
    assert not part_name(tmp_path / "run.h5").exists()


def test_a_signal_that_is_ignored_does_not_end_the_run(hostile, folder, tmp_path):
    """A run that was begun with nohup goes on when its terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = command(hostile, tmp_path, scenario_file(tmp_path, "nothing", 2))
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_for(part_name(tmp_path / "run.h5"))
    time.sleep(0.5)
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert read(tmp_path / "run.h5").attributes["completed"]


def test_an_overload_that_nobody_can_wait_for_is_refused(hostile, folder):
    fault = Fault(name="f", kind="overload", value=1e300, start=0.1, duration=0.1)
    refused(r"fault 'f': value = .*: at most 3600 s", lambda: run_rig(hostile, H, 1.0, rig=Rig(faults=(fault,))))


def test_a_unit_in_this_process_does_the_same_steps(hostile, folder, tmp_path):
    for isolated in (True, False):
        run_rig(hostile, H, None, scenario("nothing", 0.1), Rig(isolated=isolated), tmp_path / f"{isolated}.h5")
    one, two = (read(tmp_path / f"{isolated}.h5").signals for isolated in (True, False))
    np.testing.assert_array_equal(one["y"].values, two["y"].values)
