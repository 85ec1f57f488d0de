"""The rig against the clock: lateness, misses and rates, and what recording and bus cost.

``RTCVT_RIG_SECONDS`` sets the length of each run, by default 5 s. Ten minutes at 1 kHz with another busy process:

    RTCVT_RIG_SECONDS=600 python -m pytest benchmarks/test_rig.py --benchmark-only -s -k beside_load

The highest rate held for one minute, and the rest:

    RTCVT_RIG_SECONDS=60 python -m pytest benchmarks/test_rig.py --benchmark-only -s -k highest_rate
    python -m pytest benchmarks/test_rig.py --benchmark-only -s
"""

import os
import subprocess
import sys
import time

import pytest

from rtcvt.fmu.native.export import export_native
from rtcvt.hil.can_attachment import can_attachment
from rtcvt.hil.native.build import available
from rtcvt.hil.rig import Rig, run_rig
from rtcvt.hil.runner import run
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario

pytestmark = pytest.mark.skipif(not available(), reason="needs Linux and a C compiler")

SECONDS = float(os.environ.get("RTCVT_RIG_SECONDS", "5"))
RATES = (100, 200, 500, 1000, 2000, 5000, 10000, 20000)  # [1/s]
BUSY = "while True:\n    pass"


@pytest.fixture(scope="module")
def kers(tmp_path_factory):
    return export_native(load_unit("toroidal_kers"), "rigid", tmp_path_factory.mktemp("export") / "kers.fmu")


def scenario(seconds, **inputs):
    given = {"control.tau_des": "5*sin(t)", "shaft.w": "1000 rpm"}
    return Scenario(name="bench", duration=seconds, inputs=inputs or given)


def once(benchmark, function, **about):
    """Run once; what it returns is kept with the benchmark."""
    found = benchmark.pedantic(function, rounds=1)
    benchmark.extra_info.update({"load": os.getloadavg()[0], **about, "found": found})
    return found


def timing(figures):
    late, step = figures["lateness_us"], figures["step_time_us"]
    machine = ""
    if figures.get("late") is not None:
        machine = (f" ({figures['late']} late, longest gap us {figures['longest_gap_us']:.0f}, stolen ms "
                   f"{figures['stolen_ms']})")  # fmt: skip
    return (f"steps {figures['steps']}, misses {figures['misses']}{machine}, lost {figures['lost'] or 0}, "
            f"lateness us median {late['median']:.2f} p99 {late['p99']:.1f} p99.9 {late['p99_9']:.1f} max "
            f"{late['max']:.0f}, step us median {step['median']:.2f}")  # fmt: skip


def brief(figures):
    assert figures["completed"], figures["message"]
    keys = ("steps", "misses", "late", "longest_gap_us", "stolen_ms", "lost", "starved", "lateness_us", "step_time_us")
    return {key: figures.get(key) for key in keys}


def test_python_against_native_pacing(benchmark, kers):
    """Interleaved, in one process: three turns of each."""

    def measure():
        found = {"python": [], "native": []}
        for _ in range(3):
            found["python"].append(brief(run(kers, 1e-3, None, scenario(SECONDS / 3)).figures()))
            found["native"].append(brief(run_rig(kers, 1e-3, None, scenario(SECONDS / 3)).figures))
        return found

    for pacing, turns in once(benchmark, measure).items():
        for figures in turns:
            print(f"\n{pacing}: {timing(figures)}", end="")


def test_cost_of_isolation(benchmark, kers):
    """The unit in a process of its own and in the rig's, interleaved: three turns of each, at 1 kHz."""

    def measure():
        found = {True: [], False: []}
        for _ in range(3):
            for isolated, turns in found.items():
                rig = Rig(isolated=isolated)
                turns.append(brief(run_rig(kers, 1e-3, None, scenario(SECONDS / 3), rig).figures))
        return found

    for isolated, turns in once(benchmark, measure).items():
        for figures in turns:
            print(f"\n{'isolated' if isolated else 'together'}: {timing(figures)}", end="")


def test_cost_of_recording_and_bus(benchmark, kers, tmp_path):
    """Time of the processor for each step: of the whole process, whose loop watches the clock for 200 us of each
    step, and of the main thread, which supplies inputs and records."""
    recorded = {"HDF5": tmp_path / "run.h5", "MDF": tmp_path / "run.mf4"}
    bus = [can_attachment("virtual:bench")]

    def measure():
        found = {}
        run_rig(kers, 1e-3, None, scenario(0.5), None, tmp_path / "first.mf4")  # imports
        for name in ("alone", "HDF5", "MDF", "bus"):
            inputs = {"shaft.w": "1000 rpm"} if name == "bus" else {}
            before, before_main = time.process_time(), time.thread_time()
            report = run_rig(kers, 1e-3, None, scenario(SECONDS, **inputs), None, recorded.get(name),
                             bus if name == "bus" else ())  # fmt: skip
            costs = time.process_time() - before, time.thread_time() - before_main
            whole, main = (cost / report.figures["steps"] * 1e6 for cost in costs)
            found[name] = {"cpu_us": whole, "main_us": main, **brief(report.figures)}
        return found

    for name, figures in once(benchmark, measure).items():
        cost = f"{figures['cpu_us']:.0f} us of the processor per step, {figures['main_us']:.1f} us of the main thread"
        print(f"\n{name}: {cost}; {timing(figures)}", end="")


def test_highest_rate(benchmark, kers):
    """Rates up to the first with a miss."""

    def measure():
        found = {}
        for rate in RATES:
            found[rate] = brief(run_rig(kers, 1.0 / rate, None, scenario(SECONDS)).figures)
            if found[rate]["misses"]:
                break
        return found

    for rate, figures in once(benchmark, measure).items():
        print(f"\n{rate} Hz: {timing(figures)}", end="")


def test_beside_load(benchmark, kers, tmp_path):
    """1 kHz with a recording and another process that never sleeps."""

    def measure():
        busy = subprocess.Popen([sys.executable, "-c", BUSY])
        try:
            return brief(run_rig(kers, 1e-3, None, scenario(SECONDS), None, tmp_path / "run.mf4").figures)
        finally:
            busy.kill()
            busy.wait()

    figures = once(benchmark, measure)
    assert figures["lost"] == figures["starved"] == 0
    print(f"\nbeside load: {timing(figures)}")
