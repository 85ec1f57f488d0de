"""The loop in C gives the bits of the model, counts what it must, follows its policy, and falls back when it should."""

import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import faults
import numpy as np
import pytest
from marks import slow
from refusals import refused
from rows import mistakes, script

from rtcvt.cli.console import say_limits
from rtcvt.errors import InputError
from rtcvt.hil.can_attachment import can_attachment
from rtcvt.hil.growing import part_name
from rtcvt.hil.loop import HEAD, Command, Ending, FaultKind, Input, Loop, Policy, Settings, Transfer, bin_edges
from rtcvt.hil.pacing import own_processor
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import Rig, run_rig
from rtcvt.hil.runner import run
from rtcvt.kind import load_unit
from rtcvt.scenario import Fault, Scenario, load_faults
from rtcvt.simulate import simulate

pytestmark = pytest.mark.needs("loop")

H = 1e-3
STEP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int)
ASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
MOVE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_double)
)


class Adder:
    """A unit y += u in Python behind the addresses of C functions."""

    def __init__(self):
        self.u, self.y, self.status, self.times = 0.0, 0.0, 0, []
        self._functions = STEP(self.step), ASK(lambda *_: 2), MOVE(self.set), MOVE(self.get)
        step, ask, self.set_at, self.get_at = (ctypes.cast(f, ctypes.c_void_p).value for f in self._functions)
        self.functions = step, ask, ask

    def step(self, _component, t, _h, _go):
        self.times.append(t)
        self.y += self.u
        return self.status

    def set(self, _component, _references, _count, values):
        self.u = values[0]
        return 0

    def get(self, _component, _references, _count, values):
        values[0] = self.y
        return 0


def adding(n, unit, step=H, given=Input(), fallback=np.nan, faults=(), policy=Policy.CATCH_UP):  # noqa: B008
    loop = Loop(Settings(step, n, policy, priority=0), [given], np.array([fallback]), faults)
    reference = np.zeros(1, dtype=np.uint32)
    one = [Transfer(name, "Real", at, reference, [0]) for name, at in (("set", unit.set_at), ("get", unit.get_at))]
    loop.attach(0, unit.functions, one[:1], one[1:], np.zeros(1), np.zeros(1))
    return loop


def finished(loop):
    loop.start()
    while loop.state is Ending.RUNNING:
        time.sleep(2e-3)
    loop.join()
    return loop.take()


def test_rows_go_in_and_out_in_order():
    unit = Adder()
    loop = adding(50, unit)
    u = np.arange(51.0)
    loop.supply(u[:, None])
    rows = finished(loop)
    np.testing.assert_array_equal(rows[:, 0], np.arange(51))
    np.testing.assert_allclose(rows[:, 1], H * np.arange(51), rtol=1e-15)
    np.testing.assert_array_equal(rows[:, HEAD], u)
    np.testing.assert_array_equal(rows[:, HEAD + 1], np.concatenate([[0.0], np.cumsum(u)[:-1]]))
    np.testing.assert_allclose(unit.times, H * np.arange(50), rtol=1e-15)
    assert np.isnan(rows[-1, 2])
    assert (rows[:-1, 3] >= 0.0).all()
    assert loop.histograms.sum(axis=1).tolist() == [50, 50]
    assert loop.wall > 0.045
    np.testing.assert_array_equal(loop.latest(), [50.0, 50.0, np.sum(u[:-1])])


def test_inputs_that_do_not_come_are_held_and_counted():
    unit = Adder()
    loop = adding(20, unit)
    loop.supply(np.array([[3.0]] * 5))
    rows = finished(loop)
    assert rows[:, HEAD].tolist() == [3.0] * 21
    assert loop.counters()["starved"] == 16
    assert (rows[5:20, 4].astype(int) & 16 > 0).all()


def test_a_loop_that_nobody_serves_for_seconds_misses_nothing():
    """So is one whose machine stood still: it makes all steps that were due at once, before Python looks."""
    loop = adding(3000, Adder(), step=1e-3)
    u = np.arange(3001.0)
    loop.supply(u[: loop.room, None])
    loop.start()
    loop.join()
    np.testing.assert_array_equal(loop.take()[:, HEAD], u)
    assert (loop.counters()["starved"], loop.counters()["lost"]) == (0, 0)


def test_records_that_are_not_taken_are_lost_and_counted():
    loop = adding(9000, Adder(), step=5e-5)
    loop.record_rows = loop._loop.record_rows = 64
    loop.supply(np.zeros((loop.room, 1)))
    rows = finished(loop)
    assert loop.counters()["lost"] == 9001 - 64
    np.testing.assert_array_equal(rows[:, 0], np.arange(64))


def test_a_value_from_the_bus_holds_until_its_time_out():
    loop = adding(400, Adder(), given=Input(-7.0, timeout=0.05))
    loop.supply(np.zeros((401, 1)))
    stamp = time.monotonic_ns() + 100_000_000
    loop.command(Command.SET_BUS, 0, 5.0, stamp)
    rows = finished(loop)
    began = 1e-9 * (loop._told.first_began - stamp) + rows[:-1, 1] + rows[:-1, 3] - rows[0, 3]  # of steps [s]
    held = began < 0.05
    assert 0 < np.count_nonzero(held) < 400
    np.testing.assert_array_equal(rows[:-1, HEAD], np.where(held, 5.0, -7.0))
    assert loop.counters()["fallbacks"] == 401 - np.count_nonzero(held)


def test_live_values_override_and_go_again():
    loop = adding(300, Adder())
    loop.supply(np.ones((301, 1)))
    loop.start()
    time.sleep(0.05)
    loop.command(Command.SET_LIVE, 0, 9.0)
    time.sleep(0.05)
    loop.command(Command.RELEASE_LIVE, 0)
    loop.join()
    values = loop.take()[:, HEAD]
    assert values[0] == values[-1] == 1.0
    assert set(values) == {1.0, 9.0}
    assert np.count_nonzero(np.diff(values)) == 2


@pytest.mark.parametrize("status", [2, 3, -1, 6])
def test_a_unit_that_fails_ends_the_loop_with_outputs_at_their_fall_back(status):
    unit = Adder()
    unit.status = status
    loop = adding(20, unit, fallback=-1.0)
    loop.supply(np.ones((21, 1)))
    rows = finished(loop)
    assert loop.state is Ending.FAILED
    assert loop.failure == (0, status)
    assert len(rows) == 1
    assert rows[0, HEAD + 1] == 0.0
    assert loop.latest()[-1] == -1.0


def test_a_stopped_loop_has_outputs_at_their_fall_back():
    loop = adding(10_000, Adder(), fallback=-1.0)
    loop.supply(np.ones((1000, 1)))
    loop.start()
    time.sleep(0.02)
    loop.stop()
    loop.join()
    assert loop.state is Ending.STOPPED
    assert loop.take()[-1, HEAD + 1] > 0.0
    assert loop.latest()[-1] == -1.0


def test_faults_of_signals():
    faults = [(FaultKind.STUCK, 0, 10, 20, 0.0), (FaultKind.NAN, 0, 30, 40, 0.0), (FaultKind.NOISE, 1, 100, 1100, 0.5)]
    unit = Adder()
    loop = adding(1200, unit, step=2e-4, given=Input(-3.0), faults=faults)
    u = np.arange(1201.0)
    loop.supply(u[:, None])
    rows = finished(loop)
    expected = u.copy()
    expected[10:20], expected[30:40] = 10.0, -3.0
    np.testing.assert_array_equal(rows[:, HEAD], expected)
    y = np.concatenate([[0.0], np.cumsum(expected)[:-1]])
    noise = rows[:, HEAD + 1] - y
    assert not noise[:101].any()
    assert not noise[1101:].any()
    assert np.std(noise[101:1101]) == pytest.approx(0.5, rel=0.1)
    assert abs(np.mean(noise[101:1101])) < 0.06
    flags = rows[:, 4].astype(int)
    np.testing.assert_array_equal(np.flatnonzero(flags & 2), np.arange(30, 40))


def test_a_unit_error_holds_time_and_outputs_fall_back():
    unit = Adder()
    loop = adding(30, unit, fallback=-5.0, faults=[(FaultKind.UNIT_ERROR, 0, 10, 15, 0.0)])
    loop.supply(np.ones((31, 1)))
    rows = finished(loop)
    y = rows[:, HEAD + 1]
    np.testing.assert_array_equal(y, [*range(11), *[-5.0] * 5, *range(11, 26)])
    assert loop.counters()["made"] == 25
    np.testing.assert_allclose(np.diff(unit.times), H, rtol=1e-9)


@pytest.mark.alone
@pytest.mark.parametrize("policy", Policy)
def test_what_follows_an_overrun(policy):
    loop = adding(100, Adder(), policy=policy, step=5e-3, faults=[(FaultKind.OVERLOAD, 0, 20, 21, 42e6)])
    loop.supply(np.ones((101, 1)))
    rows = finished(loop)
    counters = loop.counters()
    assert counters["misses"] >= 1
    if policy is Policy.STOP:
        assert loop.state is Ending.OVERRUN
        assert counters["misses"] == 1
        assert len(rows) <= 22
        return
    assert loop.state is Ending.DONE
    assert len(rows) == 101
    if policy is Policy.SKIP:
        assert counters["skipped"] >= 8
        assert loop.wall + rows[0, 3] >= 0.005 * (99 + counters["skipped"]) - 1e-9
    else:
        assert counters["skipped"] == 0
        assert rows[21, 3] > 0.03  # late by what the overload took


@pytest.mark.alone
def test_misses_of_long_steps_are_not_the_machines():
    """An overload takes 42 ms and the step itself is late for none of it; what follows is late since it was long."""
    loop = adding(60, Adder(), step=5e-3, faults=[(FaultKind.OVERLOAD, 0, 20, 21, 42e6)])
    loop.supply(np.ones((61, 1)))
    finished(loop)
    counters = loop.counters()
    assert counters["misses"] - counters["late"] >= 7
    assert loop.gap > 0.0
    at, by_steps = loop.latest_start
    assert at == pytest.approx(21 * 5e-3)
    assert 0.036 < by_steps <= loop.largest[1] + 1e-6
    assert loop.oversleep > 0.0


def test_a_run_says_which_limits_were_active_as_a_simulation_does(kers, tmp_path, capsys):
    """40 N.m are more than the KERS can give for long."""
    given = Scenario(name="t", duration=3.0, inputs={"shaft.w": "1000 rpm", "control.tau_des": "clip(40*t, 0, 40)"})
    expected = simulate(load_unit("toroidal_kers").build("rigid"), given, 5e-3).figures()["limits"]
    assert 0.1 < expected["control.saturated"] < 1.0
    ways = run_rig(kers, 5e-3, None, given).figures, run(kers, 5e-3, scenario=given, fast=True).figures()
    for figures in ways:
        assert figures["limits"] == {k: pytest.approx(v, abs=0.004) for k, v in expected.items()}
    say_limits(ways[0]["limits"])
    assert "control.saturated" in capsys.readouterr().out


STOPPED = script("rig", "stopped")


@pytest.mark.slow
@pytest.mark.alone
def test_misses_of_a_machine_that_stands_still_are_not_the_units(kers, tmp_path):
    """SIGSTOP does to the processes what a hypervisor does to the machine.

    One that hits the unit's own step cannot be told from a step that is slow: the misses behind it are the unit's.
    """
    words = [sys.executable, "-c", STOPPED, str(kers)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    for _ in range(20):
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGCONT)
    found = json.loads(process.communicate()[0])
    took, count = np.array(found["histograms"]["from_us"]) / 2e3, np.array(found["histograms"]["step_time"])  # in steps
    hit = (np.ceil(took * 17 / 16) * count)[took > 1.0].sum()
    assert found["misses"] > 100
    assert found["late"] > 0.95 * (found["misses"] - hit)
    assert found["stolen_ms"] is None or found["stolen_ms"] >= 0


def test_bins_hold_what_they_say():
    edges = bin_edges()
    assert (np.diff(edges) > 0).all()
    assert edges[16] == pytest.approx(16e-9)
    assert edges[-1] > 600.0
    np.testing.assert_array_less(np.diff(edges[16:]) / edges[16:-1], 1 / 16 + 1e-12)


def test_an_exported_unit_runs_like_its_model(kers, tmp_path):
    from rtcvt.pog.system import build_model
    from rtcvt.simulate import simulate

    unit = load_unit("toroidal_kers")
    trial = unit.scenario[0].model_copy(update={"duration": 0.3})
    report = run_rig(kers, scenario=trial, output=tmp_path / "run.h5")
    expected = simulate(build_model(unit, "rigid"), trial)
    kept = read(tmp_path / "run.h5")
    for name in ("shaft.w", "control.tau_des", "shaft.tau", "state.theta"):
        if name in kept.signals:
            np.testing.assert_array_equal(kept.signals[name].values, expected[name], err_msg=name)
    assert report.completed
    assert report.figures["lost"] == report.figures["starved"] == 0
    assert kept.unit_file == unit.text
    assert kept.attributes["pacing"] == "native"
    json.dumps(report.figures, allow_nan=False)


def test_a_unit_in_python_runs_too(probe, tmp_path):
    trial = Scenario(name="trial", duration=0.05, inputs={"tau": 2.0, "count": 3.0, "on": 1.0})
    report = run_rig(probe, H, scenario=trial, output=tmp_path / "run.mf4")
    kept = read(tmp_path / "run.mf4")
    np.testing.assert_allclose(np.diff(kept.signals["impulse"].values), 2e-3, rtol=1e-12)
    assert kept.signals["impulse"].unit == "kg.m2"
    assert kept.signals["next_count"].values[-1] == 4.0
    assert kept.signals["off"].values.tolist() == [1.0] + [0.0] * 50
    assert report.completed


def test_sigint_ends_after_the_step_it_came_in(probe):
    before = signal.getsignal(signal.SIGINT)
    report = run_rig(probe, H, scenario=Scenario(name="t", duration=0.01, parameters={"interrupt_at": 0.0035}))
    assert report.message == "SIGINT at t = 0.005 s"
    assert signal.getsignal(signal.SIGINT) is before


def test_faults_come_from_the_scenario_file_and_are_reported(kers, tmp_path):
    file = tmp_path / "faults.toml"
    file.write_text(
        'duration = "0.5 s"\n[inputs]\n"control.tau_des" = 1.0\n'
        '[fault.sensor]\nkind = "stuck"\nsignal = "shaft.tau"\nstart = "0.1 s"\nduration = "50 ms"\n'
        '[fault.lost]\nkind = "nan"\nsignal = "control.tau_des"\nstart = "0.2 s"\nduration = "50 ms"\n'
        '[fault.dead]\nkind = "unit_error"\nstart = "0.3 s"\nduration = "50 ms"\n'
    )
    scenario, faults = load_faults(file)
    report = run_rig(kers, scenario=scenario, rig=Rig(faults=faults), output=tmp_path / "run.h5")
    kept = read(tmp_path / "run.h5").signals
    assert len(set(kept["shaft.tau"].values[102:151])) == 1
    assert (kept["control.tau_des"].values[200:250] == 0.0).all()
    assert (kept["shaft.tau"].values[301:351] == 0.0).all()
    assert np.isfinite(kept["shaft.tau"].values).all()
    assert report.completed
    sensor, lost, dead = report.figures["faults"]
    assert max(f["recovered_after_s"] for f in (sensor, lost, dead)) < 0.05  # each by itself: the next begins 50 ms on
    assert (sensor["steps"], lost["fallbacks"], dead["no_result"]) == (50, 50, 50)
    assert report.figures["steps"] == 450


@mistakes
def test_faults_that_are_not_valid_are_refused(tmp_path, lines, message):
    file = tmp_path / "s.toml"
    file.write_text(f'duration = "1 s"\n[fault.a]\n{lines}\n')
    refused(message, load_faults, file)


def test_a_fault_of_a_signal_that_is_not_there_is_refused(probe):
    fault = Fault(name="a", kind="stuck", signal="torque", start=0.0, duration=1.0)
    refused(r"torque: .*tau", lambda: run_rig(probe, H, 0.01, rig=Rig(faults=(fault,))))


def test_a_cpu_that_is_not_there_is_refused(probe):
    refused("--cpu = 4096: one of", lambda: run_rig(probe, H, 0.01, rig=Rig(cpu=4096)))


def run_command(*words: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "rtcvt", "run", *words], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment)  # fmt: skip


def wait_for_growth(path: Path) -> None:
    """Until the recording holds something."""
    for _ in range(600):
        if part_name(path).exists():
            try:
                if len(read(part_name(path)).time) > 100:
                    return
            except InputError:
                pass
        time.sleep(0.1)
    raise AssertionError("no recording")


def last_began(recording) -> float:
    """When the last recorded step began, after the run's first deadline [s]: a loaded machine makes steps late."""
    return recording.time[-1] + recording.signals["lateness"].values[-1]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["h5", "mf4"])
def test_sigkill_loses_at_most_a_second(kers, tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    kept_here = os.environ | {"TMPDIR": str(tmp_path)}  # the unit's folder, which nobody removes
    process = run_command(str(kers), "--duration", "60", "-o", str(path), environment=kept_here)
    wait_for_growth(path)
    known = last_began(read(part_name(path)))
    before = time.monotonic()  # then steps were at least as far as the file had been
    time.sleep(2.0)
    ran = time.monotonic() - before
    process.kill()
    process.communicate()
    kept = read(part_name(path))
    assert last_began(kept) > known + ran - 1.0
    np.testing.assert_allclose(np.diff(kept.time), H, rtol=1e-6)


@pytest.mark.needs("cc")
@pytest.mark.parametrize(
    ("suffix", "policy", "number"),
    [slow("h5", "stop", errno.ENOSPC), slow("mf4", "stop", errno.EIO), ("h5", "continue", errno.EIO),
     slow("mf4", "continue", errno.EDQUOT)],
)  # fmt: skip
def test_a_disk_that_fails_is_survived_as_configured(kers, tmp_path, suffix, policy, number):
    folder, figures = tmp_path / "disk", tmp_path / "run.json"
    folder.mkdir()
    path = folder / f"run.{suffix}"
    environment = faults.environment(faults.build(tmp_path), folder, 400_000 if suffix == "h5" else 120_000, number)
    words = ["--duration", "1", "-o", str(path), "--json", str(figures), "--on-recording-error", policy]
    process = run_command(str(kers), *words, environment=environment)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Traceback" not in errors
    found = json.loads(figures.read_text())
    assert not found["completed"]
    assert found["message"].startswith(f"recording: {os.strerror(number)}; its rows can be read")
    assert ("the run went on without it" in found["message"]) == (policy == "continue")
    assert (found["steps"] == 1000) == (policy == "continue")
    assert list(folder.iterdir()) == [part_name(path)]
    assert len(read(part_name(path)).time) > 100


def test_what_fails_before_the_first_step_leaves_no_file(kers, tmp_path):
    with pytest.raises(InputError, match="--can"):
        run_rig(kers, duration=1.0, output=tmp_path / "run.mf4", attach=[can_attachment("socketcan:nowhere7")])
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_that_is_refused_is_done_without():
    loop = adding(10, Adder())
    loop._loop.priority = 200
    loop.supply(np.zeros((11, 1)))
    assert len(finished(loop)) == 11
    assert loop.refused[0] != 0


def test_a_report_says_whether_another_rig_has_its_processor(probe):
    cpu = sorted(os.sched_getaffinity(0))[-1]
    with own_processor(cpu, True):  # as that of another rig, or shared with one
        assert "which another rig has, too" in run_rig(probe, H, 0.01, rig=Rig(cpu=cpu)).environment["cpu"]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs privileges to give up")
def test_missing_privileges_are_said(kers, tmp_path):
    words = ["run", str(kers), "--duration", "0.2", "--json", str(tmp_path / "run.json")]
    command = ["setpriv", "--bounding-set=-sys_nice,-ipc_lock", sys.executable, "-m", "rtcvt", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    about = json.loads((tmp_path / "run.json").read_text())["environment"]
    assert "no SCHED_FIFO: Operation not permitted (needs CAP_SYS_NICE" in about["scheduler"]
    assert about["memory"] == "locked" or "needs CAP_IPC_LOCK" in about["memory"]
