"""Cost of units: from a host in C, native and Python backend, and both through FMPy, all in one run.

The host in C (``native_driver.c``) times every call by itself; its medians include readings of the clock, whose cost is
reported. ``loop_ns`` is the cycle of set, step and get of the same steps without that, in processor time. Both figures
are of the same trajectory, so their means agree but for the clock. ``make bench`` prints the figures; they stand in
``extra_info`` of ``--benchmark-json`` too.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy_host import measure_do_step

from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.compiler import compile_unit
from rtcvt.fmu.native.export import export_native, write_sources
from rtcvt.kernel import kernel
from rtcvt.kind import load_unit
from rtcvt.model import Model, Variable

H = 1e-3
BACKENDS = {"native": export_native, "python": export_python}
DRIVER = Path(__file__).with_name("native_driver.c")
NATIVE_CYCLE: dict[str, float] = {}  # what set, step and get of the native unit cost [ns], by fidelity


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Folder of a unit, by backend and fidelity."""
    folder = tmp_path_factory.mktemp("units")
    unit = load_unit("toroidal_kers")
    return {(backend, fidelity): Path(fmpy.extract(str(export(unit, fidelity, folder / f"{backend}_{fidelity}.fmu")),
                                                   str(folder / f"{backend}_{fidelity}")))
            for backend, export in BACKENDS.items() for fidelity in ("rigid", "full")}  # fmt: skip


@kernel
def lag_initialise(p, data, u, x, work):
    x[0] = u[0]
    return 0


@kernel
def lag_derivative(t, x, u, p, data, dx, work):
    dx[0] = u[0] - x[0]


@kernel
def lag_output(t, x, u, p, data, y, work):
    y[0] = x[0]


@kernel
def lag_step(t, h, x, u, p, data, y, work):
    if not abs(u[0]) < 1e12:
        return 2
    x[0] += h * (u[0] - x[0])
    y[0] = x[0]
    return 0


@pytest.fixture(scope="module")
def lag(tmp_path_factory):
    """Library, guid and headers of a trivial unit: one input, one state, one output, one multiplication a step."""
    model = Model(
        name="lag",
        variables=(Variable("u", "input", 0, "1", "", start=0.0), Variable("y", "output", 0, "1", "")),
        description="",
        fidelity="rigid",
        states=(Variable("x", "state", 0, "1", "nothing", nominal=1.0),),
        p=np.zeros(0),
        data=np.zeros(0),
        n_work=1,
        step_size=H,
        initialise=lag_initialise,
        derivative=lag_derivative,
        output=lag_output,
        step=lag_step,
    )
    folder = tmp_path_factory.mktemp("lag")
    guid = write_sources(model, "lag", folder / "sources")
    compile_unit(folder / "sources", folder / "lag.so", "linux64")
    return folder / "lag.so", guid, folder / "sources"


needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def driver(lag, tmp_path_factory):
    """The host in C."""
    program = tmp_path_factory.mktemp("driver") / "driver"
    options = ["-O2", "-I", str(lag[2]), str(DRIVER), "-o", str(program), "-ldl", "-lm"]
    subprocess.run(["cc", *options], check=True)
    return program


def host_in_c(
    benchmark, driver, library, guid, references, steps, rounds=3, resources="", instances=200, env=None, h=H
):
    """Run the host in C; `references` are those of inputs with their amplitudes, and of outputs."""
    inputs, outputs = references
    arguments = [library, guid, steps, h, len(inputs), *(a for pair in inputs for a in pair), len(outputs), *outputs]
    command = [str(a) for a in (driver, *arguments, resources, instances)]

    def run():
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout

    found = json.loads(benchmark.pedantic(run, rounds=rounds).splitlines()[-1])
    assert found["status"] == 0
    benchmark.extra_info.update(found)
    return found


def references_of(unit, fidelity):
    variables = list(enumerate(unit.build(fidelity).variables))
    inputs = [(k, 0.05 * (v.nominal or 1.0)) for k, v in variables if v.causality == "input"]
    return inputs, [k for k, v in variables if v.causality == "output" and not v.boolean]


def report(title, found):
    print(f"\n{title}, clock {found['clock_ns']:.0f} ns:")
    for what in ("do_step_ns", "set_and_get_ns", "cycle_ns", "loop_ns", "instantiate_ns", "reset_ns"):
        print(f"  {what:16}" + "  ".join(f"{key} {value:.0f}" for key, value in found[what].items()))


@needs_c
def test_overhead_of_the_interface(benchmark, driver, lag):
    """Set, step and get of a trivial unit."""
    found = host_in_c(benchmark, driver, *lag[:2], ([(0, 1.0)], [1]), 1_000_000)
    assert found["allocations"] == 0
    report("trivial unit, host in C", found)


@needs_c
@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_host_in_c(benchmark, driver, unpacked, fidelity, steps=100_000):  # noqa: PT028
    folder = unpacked["native", fidelity]
    (library,) = (folder / "binaries" / "linux64").iterdir()
    guid = fmpy.read_model_description(str(folder)).guid
    found = host_in_c(benchmark, driver, library, guid, references_of(load_unit("toroidal_kers"), fidelity), steps)
    assert found["allocations"] == 0
    NATIVE_CYCLE[fidelity] = found["cycle_ns"]["median"]
    report(f"{fidelity}, host in C, {steps} steps of {H * 1e3:g} ms, no allocation", found)


@needs_c
@pytest.mark.parametrize(
    ("name", "fidelity"),
    [
        ("pushbelt_cvt", "hybrid"),
        ("pushbelt_cvt", "rigid"),
        ("pushbelt_fields", "hybrid"),
        ("toroidal_kers", "rigid"),
        ("toroidal_kers", "hybrid"),
        ("toroidal_kers", "full"),
    ],
)
def test_held_inputs_from_the_same_host(benchmark, driver, tmp_path, name, fidelity, steps=20_000):  # noqa: PT028
    """Tables of pushbelts have 4.9 MB, which no instance copies."""
    unit = load_unit(name).model_copy(update={"scenario": ()})
    folder = Path(fmpy.extract(str(export_native(unit, fidelity, tmp_path / "unit.fmu")), str(tmp_path / "unit")))
    (library,) = (folder / "binaries" / "linux64").iterdir()
    guid = fmpy.read_model_description(str(folder)).guid
    inputs, outputs = references_of(unit, fidelity)
    found = host_in_c(benchmark, driver, library, guid, ([(k, 0.0) for k, _ in inputs], outputs), steps)
    assert found["allocations"] == 0
    report(f"{name} {fidelity}, host in C", found)


@needs_c
@pytest.mark.parametrize("name", ["Feedthrough", "VanDerPol"])
def test_reference_units_from_the_same_host(benchmark, driver, tmp_path, name):
    """Of Reference-FMUs, FMI 2.0, below the folder that RTCVT_REFERENCE_FMUS names; real variables, own step."""
    found = [p for p in Path(os.environ.get("RTCVT_REFERENCE_FMUS", "")).rglob(f"{name}.fmu") if is_fmi2(p)]
    if "RTCVT_REFERENCE_FMUS" not in os.environ or not found:
        pytest.skip("RTCVT_REFERENCE_FMUS names no such unit")
    folder = Path(fmpy.extract(str(found[0]), str(tmp_path / "unit")))
    description = fmpy.read_model_description(str(folder))
    library = folder / "binaries" / "linux64" / f"{description.coSimulation.modelIdentifier}.so"
    real = [v for v in description.modelVariables if v.type == "Real"]
    inputs = [(v.valueReference, 1.0) for v in real if v.causality == "input"]
    outputs = [v.valueReference for v in real if v.causality == "output"]
    h = float(description.defaultExperiment.stepSize or H)
    figures = host_in_c(benchmark, driver, library, description.guid, (inputs, outputs), 100_000, h=h)
    report(f"{name} of Reference-FMUs, host in C, steps of {1e3 * h:g} ms", figures)


def is_fmi2(path):
    return fmpy.read_model_description(str(path)).fmiVersion == "2.0"


@needs_c
@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_python_backend_from_the_same_host(benchmark, driver, unpacked, fidelity, steps=20_000):  # noqa: PT028
    """The unit needs the interpreter's shared library in the process, and its packages."""
    shared = Path(sysconfig.get_config_var("LIBDIR") or "") / (sysconfig.get_config_var("INSTSONAME") or "none")
    if not (shared.exists() and sysconfig.get_config_var("Py_ENABLE_SHARED")):
        pytest.skip("needs a Python with a shared library")
    folder = unpacked["python", fidelity]
    library = next((folder / "binaries" / "linux64").glob("*.so"))
    guid = fmpy.read_model_description(str(folder)).guid
    path = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # there it finds the environment of this one
    )
    env = {**os.environ, "LD_PRELOAD": str(shared), "PATH": path}
    resources = (folder / "resources").as_uri()
    references = references_of(load_unit("toroidal_kers"), fidelity)
    found = host_in_c(benchmark, driver, library, guid, references, steps, 1, resources, 5, env)
    ratio = found["cycle_ns"]["median"] / NATIVE_CYCLE.get(fidelity, float("nan"))
    benchmark.extra_info["python_over_native"] = ratio
    report(f"{fidelity}, Python backend, host in C: {ratio:.0f} times the native unit", found)


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_host_in_python(benchmark, unpacked, backend, fidelity):
    taken = measure_do_step(benchmark, unpacked[backend, fidelity], H)
    benchmark.extra_info["instantiate_ms"] = taken * 1e3
    median = benchmark.stats.stats.median
    print(f"\n{backend} {fidelity} through FMPy: fmi2DoStep {median * 1e6:.2f} us, "
          f"instantiation {benchmark.extra_info['instantiate_ms']:.2f} ms")  # fmt: skip
