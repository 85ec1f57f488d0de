"""Cost of a native unit: from a host in C, and through FMPy beside the Python backend, all in one run.

The host in C (``native_driver.c``) times every call by itself; its medians include one reading of the clock, which is
reported. ``make bench`` prints the figures; they stand in ``extra_info`` of ``--benchmark-json`` too.
"""

import json
import shutil
import subprocess
from pathlib import Path

import fmpy
import pytest
from fmpy_host import measure_do_step

from fmu.export import export_python
from fmu.native.export import export_native
from rtcvt.pog.system import build_model
from rtcvt.unitfile import load_unit

H = 1e-3
BACKENDS = {"native": export_native, "python": export_python}
DRIVER = Path(__file__).with_name("native_driver.c")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Folder of a unit, by backend and fidelity."""
    folder = tmp_path_factory.mktemp("units")
    unit = load_unit("toroidal_kers")
    return {(backend, fidelity): Path(fmpy.extract(str(export(unit, fidelity, folder / f"{backend}_{fidelity}.fmu")),
                                                   str(folder / f"{backend}_{fidelity}")))
            for backend, export in BACKENDS.items() for fidelity in ("rigid", "full")}  # fmt: skip


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_host_in_c(benchmark, unpacked, tmp_path, fidelity, steps=100_000):  # noqa: PT028
    folder = unpacked["native", fidelity]
    program = tmp_path / "driver"
    options = ["-O2", "-I", str(folder / "sources"), str(DRIVER), "-o", str(program), "-ldl", "-lm"]
    subprocess.run(["cc", *options], check=True)
    (library,) = (folder / "binaries" / "linux64").iterdir()
    variables = list(enumerate(build_model(load_unit("toroidal_kers"), fidelity).variables))
    inputs = [(k, 0.05 * (v.nominal or 1.0)) for k, v in variables if v.causality == "input"]
    outputs = [k for k, v in variables if v.causality == "output" and not v.boolean]
    guid = fmpy.read_model_description(str(folder)).guid
    arguments = [library, guid, steps, H, len(inputs), *(a for pair in inputs for a in pair), len(outputs), *outputs]

    def run():
        return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, check=True).stdout

    found = json.loads(benchmark.pedantic(run, rounds=3))
    assert found["status"] == 0
    assert found["allocations"] == 0
    benchmark.extra_info.update(found)
    print(f"\n{fidelity}, host in C, {steps} steps of {H * 1e3:g} ms, no allocation, clock {found['clock_ns']:.0f} ns:")
    for what in ("do_step_ns", "set_and_get_ns", "cycle_ns", "instantiate_ns"):
        print(f"  {what:16}" + "  ".join(f"{key} {value:.0f}" for key, value in found[what].items()))


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_host_in_python(benchmark, unpacked, backend, fidelity):
    taken = measure_do_step(benchmark, unpacked[backend, fidelity], H)
    benchmark.extra_info["instantiate_ms"] = taken * 1e3
    median = benchmark.stats.stats.median
    print(f"\n{backend} {fidelity} through FMPy: fmi2DoStep {median * 1e6:.2f} us, "
          f"instantiation {benchmark.extra_info['instantiate_ms']:.2f} ms")  # fmt: skip
