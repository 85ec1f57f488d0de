"""The same bits everywhere: one scenario on the model itself and on units in machine code of five platforms.

On linux64, on win64 and win32 under wine (Debian's ``wine32:i386`` for the latter), on linux32 with a C library for it
(``libc6:i386``) and on aarch64-linux under qemu with one (``libc6-arm64-cross``), the shared library of the FMU itself
runs. Without that C library, linux32-static or aarch64-static takes its place: the unit's sources, compiled with the
same flags into a static program. A 64-bit x86 runs programs of 32 bits by itself.
"""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fmpy
import numpy as np
import pytest
from marks import slow
from tools import QEMU, SYSROOT, WINE, ZIG, absent, have

from rtcvt.fmu.native.compiler import FLAGS, FLAGS_32, PLATFORMS, SOURCES
from rtcvt.fmu.native.export import export_native, unit_variables
from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit

H = 1e-3
STEPS = {"toroidal_kers": 3000, "car_cvt": 15000, "car_automatic": 15000}  # the car stands still for 11 s
STATIC = {"linux32-static": "x86-linux-musl", "aarch64-static": "aarch64-linux-musl"}  # zig's names of the targets
UNITS = ["toroidal_kers hybrid", *map(slow, ("toroidal_kers rigid", "car_cvt system", "car_automatic system"))]
UNITS += ["toroidal_kers full"]
HOST = Path(__file__).with_name("platform_host.c")
PLATFORM_CASES = [
    pytest.param("linux64", id="linux64", marks=[pytest.mark.slow, pytest.mark.needs(*([] if ZIG else ["cc"]))]),
    pytest.param("win64", id="win64", marks=[pytest.mark.slow, pytest.mark.needs("zig", "wine")]),
    pytest.param("win32", id="win32", marks=pytest.mark.needs("zig", "wine", "wine32")),
    pytest.param("linux32", id="linux32", marks=pytest.mark.needs("zig", "x86", "i386")),
    pytest.param("linux32-static", id="linux32-static",
                 marks=[pytest.mark.slow, pytest.mark.needs("zig", "x86"),
                        pytest.mark.skipif(have("i386"), reason="the library itself can be run")]),
    pytest.param("aarch64-linux", id="aarch64-linux", marks=pytest.mark.needs("zig", "qemu", "arm")),
    pytest.param("aarch64-static", id="aarch64-static",
                 marks=[pytest.mark.needs("zig", "qemu"),
                        pytest.mark.skipif(have("arm"), reason="the library itself can be run")]),
]  # fmt: skip


@pytest.fixture(scope="module", params=UNITS)
def scenario(request):
    """Model, inputs and results: each output, state and rate after each step of the model itself."""
    unit, fidelity = request.param.split()
    model = load_unit(unit).build(fidelity)
    t = H * np.arange(STEPS[unit])
    inputs = np.tile([v.start for v in model.select("input")], (len(t), 1))
    if unit == "toroidal_kers":
        demand = 8.0 * np.sin(5.0 * t) + np.where((t > 1.0) & (t < 1.5), 90.0, 0.0) - np.where(t > 2.2, 90.0, 0.0)
        inputs[:, :2] += np.column_stack([8.0 * np.sin(3.0 * t) + 4.0 * t, demand])
    instance = model.instantiate()
    instance.initialise()
    found = []
    for row in inputs:
        instance.u[:] = row
        assert instance.step(H) != FAILED
        found.append([*instance.y, *instance.x, *instance.derivative()])
    return model, inputs, np.array(found)


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """Environment with a wine of its own, without a display and without traces in menus."""
    folder = tmp_path_factory.mktemp("wine")
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment |= {"WINEPREFIX": str(folder), "WINEARCH": "win64", "WINEDEBUG": "-all"}
    environment["WINEDLLOVERRIDES"] = "mscoree,mshtml,winemenubuilder.exe="
    started = subprocess.run([str(WINE), "wineboot", "-i"], env=environment, capture_output=True, timeout=120)
    if started.returncode != 0:
        absent("wine", started.stderr.decode(errors="replace")[-300:])
    yield environment
    server = shutil.which("wineserver")
    if server is not None:
        subprocess.run([server, "-k"], env=environment, capture_output=True, timeout=60)  # of this folder only
    shutil.rmtree(folder, ignore_errors=True)


def zig(target):
    return [sys.executable, "-m", "ziglang", "cc", "-target", target, "-fno-sanitize=undefined", "-g0"]


def prepare(case, model, folder):
    """The unit and a host for it in `folder`: the command that runs them, but for its other arguments, and the guid."""
    platforms = (case, SOURCES) if case in PLATFORMS else ()
    path = export_native(load_unit(model.name), model.fidelity, folder / "unit.fmu", platforms)
    unit = Path(fmpy.extract(str(path), str(folder / "unit")))
    if case == "aarch64-linux":  # other importers look there
        (binary,), (same,) = ((unit / "binaries" / place).iterdir() for place in (case, "linux64"))
        assert binary.read_bytes() == same.read_bytes()
    windows = case.startswith("win")
    program = folder / ("host.exe" if windows else "host")
    sources = ["-I", str(unit / "sources"), str(HOST), "-o", str(program)]
    flags = [f for f in FLAGS if f != "-shared"]  # with other ones zig would compile another C library
    flags += FLAGS_32 if "32" in case else []
    if case in STATIC:
        command = [*zig(STATIC[case]), *flags, "-static", "-DUNIT_SOURCES", *sources]
    else:
        compiler = zig(PLATFORMS[case][0]) if ZIG else ["cc"]
        command = [*compiler, *flags, *sources, *([] if windows else ["-ldl"])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    library = "-"
    if case in PLATFORMS:
        (binary,) = (unit / "binaries" / case).iterdir()
        library = f"./{binary.name}"  # wine knows no other folders by their names here
        shutil.copyfile(binary, folder / binary.name)
    runner = {"win64": [WINE], "win32": [WINE],
              "aarch64-linux": [QEMU, "-L", str(SYSROOT)], "aarch64-static": [QEMU]}  # fmt: skip
    guid = fmpy.read_model_description(str(unit)).guid
    return [*runner.get(case, []), f"./{program.name}", library, guid]


@pytest.mark.parametrize("case", PLATFORM_CASES)
def test_the_bits_are_those_of_the_model(scenario, case, tmp_path, request):
    model, inputs, expected = scenario
    environment = request.getfixturevalue("wine") if case.startswith("win") else None
    table = list(enumerate(unit_variables(model)))
    u = [k for k, (kind, _) in table if kind == "input"]
    results = [(f"b{k}" if v.boolean else str(k), v.name)
               for k, (kind, v) in table if kind in ("output", "state", "derivative")]  # fmt: skip
    (tmp_path / "inputs.bin").write_bytes(np.concatenate([[H], inputs.ravel()]).astype("<f8").tobytes())
    arguments = [len(inputs), "inputs.bin", "results.bin", len(u), *u, len(results), *(r for r, _ in results)]
    command = [*prepare(case, model, tmp_path), *map(str, arguments)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "results.bin", "<f8").reshape(expected.shape)
    same = found.view("<u8") == expected.astype("<f8").view("<u8")
    first = [(int(k), results[i][1], float(found[k, i]), float(expected[k, i])) for k, i in np.argwhere(~same)[:5]]
    assert same.all(), f"{np.count_nonzero(~same)} of {same.size} differ: step, variable, found, expected {first}"


def test_the_scenario_moves_and_saturates(scenario):
    model, _, expected = scenario
    names = [v.name for v in model.select("output")]
    assert np.isfinite(expected).all()
    assert not math.isclose(expected[0, 0], expected[-1, 0])
    if model.name == "toroidal_kers":
        assert 0.05 < expected[:, names.index("control.saturated")].mean() < 0.95
        assert np.ptp(expected[:, names.index("control.theta")]) > 0.05
    else:
        assert expected[-1, names.index("vehicle.vehicle.v")] > 0.5
