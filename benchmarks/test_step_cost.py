"""Cost of one 1 ms step: kernels of every unit, and an FMU through FMPy, and the same kernel as plain Python.

``make bench`` prints medians; each ratio of interest stands in ``extra_info`` of ``--benchmark-json`` and in the last
table. The pure-Python reference runs the very text of the kernels without numba, in the same process.
"""

import os
import subprocess
import sys

import fmpy
import pytest
from fmpy_host import measure_do_step

from rtcvt.fmu.export import export_python
from rtcvt.kind import load_unit
from rtcvt.unitfile import shipped_units

UNITS = tuple(shipped_units("gear_system"))
CASES = [(u, f) for u in (*UNITS, *shipped_units("belt")) for f in load_unit(u).models]
_python: dict[tuple[str, str], float] = {}


def python_step_seconds(unit, fidelity, steps=30):
    """Median time of a step with the kernels as plain Python, in a process of its own."""
    key = (unit, fidelity)
    if key not in _python:
        code = (
            "import statistics, time\n"
            "from rtcvt.kind import load_unit\n"
            f"i = load_unit({unit!r}).build({fidelity!r}).instantiate()\n"
            "i.initialise()\n"
            "t = []\n"
            f"for _ in range({steps}):\n"
            "    a = time.perf_counter(); i.step(1e-3); t.append(time.perf_counter() - a)\n"
            "print(statistics.median(t))\n"
        )
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        _python[key] = float(done.stdout)
    return _python[key]


def report(benchmark, unit, fidelity):
    """Note the ratio to plain Python."""
    reference = python_step_seconds(unit, fidelity)
    ratio = reference / benchmark.stats.stats.median
    benchmark.extra_info.update(python_step_us=reference * 1e6, python_over_this=ratio)
    print(f"\n{unit} {fidelity}: plain Python {reference * 1e6:.0f} us, {ratio:.0f} times this")


@pytest.mark.parametrize(("unit", "fidelity"), CASES)
def test_kernel(benchmark, unit, fidelity):
    instance = load_unit(unit).build(fidelity).instantiate()
    instance.initialise()
    instance.step(1e-3)
    benchmark(instance.step, 1e-3)
    report(benchmark, unit, fidelity)


def test_belt_that_slips(benchmark):
    """Steps of the accessory drive while its alternator is braked until the belt slips on it, again and again."""
    instance = load_unit("accessory_5pk").build().instantiate()
    instance.set("belt.v_start", 10.0)
    instance.set("alternator.mu", 0.3)
    instance.initialise()
    k = 0

    def step():
        nonlocal k
        k += 1
        instance.u[0] = -25.0
        instance.u[1] = 12.0 if k % 20 < 10 else 0.0
        instance.step(1e-3)

    benchmark(step)


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_fmu_do_step(benchmark, tmp_path, fidelity):
    path = export_python(load_unit("toroidal_kers"), fidelity, tmp_path / "k.fmu")
    measure_do_step(benchmark, fmpy.extract(str(path), str(tmp_path / "unit")))
    report(benchmark, "toroidal_kers", fidelity)
