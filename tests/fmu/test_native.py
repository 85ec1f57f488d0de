"""Units in machine code: the bits of the model, the whole of FMI 2.0, and nothing that they should not need."""

import json
import math
import os
import platform
import re
import shutil
import subprocess
import zipfile
from ctypes import byref, c_double, c_size_t, c_uint, c_void_p
from pathlib import Path

import fmpy
import numpy as np
import pytest
import tools
from fmpy.build import build_platform_binary
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from fmpy.validation import validate_fmu
from instances import started
from marks import slow
from matplotlib.image import imread
from native_host import DISCARD, ERROR, UNITS, H, Hosted, inputs, reference, run
from refusals import refused
from rows import cases, mistakes, tables

import rtcvt.fmu.native.compiler
from rtcvt.errors import InputError
from rtcvt.fmu.description import model_description
from rtcvt.fmu.native.compiler import FLAGS, PLATFORMS, compile_unit, own_platform
from rtcvt.fmu.native.export import export_native, native_description, write_sources
from rtcvt.fmu.native.reference import FOLDER
from rtcvt.fmu.traceability import FILE as METADATA
from rtcvt.kind import kinds, load_unit
from rtcvt.pog.diagram import gear_colours, unit_diagram
from rtcvt.unitfile import shipped_units

LAST_TIME = 2  # fmi2LastSuccessfulTime
HERE = Path(__file__).parent
STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]

pytestmark = pytest.mark.needs("cc")


# --- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", UNITS)
def test_a_unit_is_valid(exported, exported_native, key):
    assert [validate_fmu(str(units[key])) for units in (exported, exported_native)] == [[], []]


def test_what_is_in_the_archive(exported_native):
    with zipfile.ZipFile(exported_native["kers"]) as archive:
        names = set(archive.namelist())
        assert archive.read("documentation/index.html") == b"<p>About</p>"
        assert archive.read("resources/unit.toml").decode() == load_unit("toroidal_kers").text
    sources = {f"sources/{f}" for f in ("all.c", "core.c", "fmi2.c", "kernels.c", "model.c", "model.h")}
    sources |= {f"sources/fmi2{f}.h" for f in ("Functions", "FunctionTypes", "TypesPlatform")}
    reference = {f"{FOLDER}/{f}" for f in ("fmi-ls-manifest.xml", "experiment.exp", "inputs.csv", "outputs.csv")}
    assert names == sources | reference | {
        "modelDescription.xml", "model.png", "documentation/index.html", "documentation/diagram.svg",
        "documentation/data_sheet.html", "documentation/data_sheet.json", "resources/unit.toml", METADATA,
        "binaries/linux64/toroidal_kers_rigid.so"}  # fmt: skip


def test_the_icon_is_the_diagram(unpacked_native, models):
    model = models["kers"]
    values = {v.name: float(model.p[v.index]) for v in model.select("parameter")}
    svg = (unpacked_native["kers"] / "documentation" / "diagram.svg").read_text()
    assert svg == unit_diagram(load_unit("toroidal_kers"), values=values)
    width, height = (int(x) for x in re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
    pixels = np.rint(255.0 * imread(unpacked_native["kers"] / "model.png"))
    assert pixels.shape[:2] == (height, width)
    assert (pixels[0, 0] == 255).all()  # white ground
    for colour in gear_colours(load_unit("toroidal_kers")).values():
        rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (np.abs(pixels[..., :3] - rgb).max(axis=2) <= 2).sum() > 20


def test_both_interfaces_and_all_that_they_can_do(unpacked_native):
    description = fmpy.read_model_description(str(unpacked_native["kers"]))
    for interface in (description.coSimulation, description.modelExchange):
        assert interface.modelIdentifier == "toroidal_kers_rigid"
        assert interface.canGetAndSetFMUstate
        assert interface.canSerializeFMUstate
        assert interface.providesDirectionalDerivative
        assert not interface.needsExecutionTool
        assert not interface.canBeInstantiatedOnlyOncePerProcess
    assert description.coSimulation.canInterpolateInputs
    assert description.coSimulation.maxOutputDerivativeOrder == 1
    assert description.numberOfContinuousStates == len(description.derivatives) == 4
    assert all(d.variable.name == f"der({d.variable.derivative.name})" for d in description.derivatives)
    assert description.numberOfEventIndicators == 0
    (configuration,) = description.buildConfigurations
    assert [files.sourceFiles for files in configuration.sourceFileSets] == [["all.c"]]


def test_value_references_are_those_of_the_common_description(models):
    model = models["kers_full"]
    common = model_description(model, "unit", "guid", needs_execution_tool=False)
    own = native_description(model, "unit", "guid")
    for one, other in zip(common.iter("ScalarVariable"), own.iter("ScalarVariable"), strict=False):
        assert one.attrib == other.attrib
        assert one[0].attrib == other[0].attrib
    names = [v.get("name") for v in own.iter("ScalarVariable")][len(model.variables) :]
    states = [f"state.{s.name}" for s in model.states]
    assert names == states + [f"der({name})" for name in states]


def test_the_same_unit_has_the_same_guid_and_another_one_another(exported_native, tmp_path):
    unit = load_unit("differential")
    one = fmpy.read_model_description(str(exported_native["differential"])).guid
    heavier = unit.build("rigid", parameters={f"gear.{next(iter(unit.gears))}.J": 0.3})
    models = unit.build("rigid"), unit.build("rigid", 4), heavier
    again, *others = (
        write_sources(model, "differential_rigid", tmp_path / str(k), model.source) for k, model in enumerate(models)
    )
    assert again == one
    assert len({one, *others}) == 3


def test_units_are_for_this_machine_unless_another_is_named(monkeypatch):
    for system, machine, name in tables("cases/native.toml")["machines"]:
        monkeypatch.setattr(platform, "system", lambda found=system: found)
        monkeypatch.setattr(platform, "machine", lambda found=machine: found)
        assert own_platform() == name
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    refused("platform = 'Linux riscv64': one of linux64, win64", own_platform)


@mistakes
def test_bad_options_are_refused_before_anything_is_written(tmp_path, options, message):
    refused(re.escape(message), export_native, load_unit("toroidal_kers"), "rigid", tmp_path / "unit.fmu", **options)
    assert not list(tmp_path.iterdir())


def test_without_zig_the_compiler_of_the_host_serves_and_other_platforms_ask_for_it(tmp_path, monkeypatch):
    without(monkeypatch, "ziglang")
    unit = load_unit("differential")
    with pytest.raises(InputError, match=r"platform win64: ziglang gives it: pip install rtcvt\[native\]"):
        export_native(unit, "rigid", tmp_path / "unit.fmu", platforms=["win64"])
    path = export_native(unit, "rigid", tmp_path / "unit.fmu")
    assert len(fmpy.simulate_fmu(str(path), stop_time=0.01)) > 1
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(InputError, match=r"pip install rtcvt\[native\]; or choose the python backend"):
        export_native(unit, "rigid", tmp_path / "unit.fmu")


def without(monkeypatch, package):
    """As if a package were not installed."""
    find = rtcvt.fmu.native.compiler.importlib.util.find_spec
    monkeypatch.setattr(rtcvt.fmu.native.compiler.importlib.util, "find_spec",
                        lambda name, *rest: None if name == package else find(name, *rest))  # fmt: skip


@pytest.mark.parametrize(("package", "name"), [("resvg_py", "resvg-py"), ("fmpy", "fmpy")])
def test_a_missing_package_is_named_before_anything_is_written(tmp_path, monkeypatch, package, name):
    without(monkeypatch, package)
    with pytest.raises(InputError, match=rf"{name} gives it: pip install rtcvt\[native\]"):
        export_native(load_unit("differential"), "rigid", tmp_path / "unit.fmu")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["50% a", "a & b #1", "it's (ü)", '"'])
@pytest.mark.parametrize("language", ["c", "assembler-with-cpp"])  # of the latter, as in C libraries, clang keeps files
def test_folders_may_have_any_name(tmp_path, monkeypatch, name, language):
    sources = tmp_path / name / "sources"
    sources.mkdir(parents=True)
    text = "int one(void) { return 1; }" if language == "c" else ".globl one\none: ret"
    (sources / "all.c").write_text(f"/* {tmp_path}: not in zig's cache */\n{text}\n")
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    monkeypatch.setattr(rtcvt.fmu.native.compiler, "FLAGS", [*FLAGS, "-x", language])
    compile_unit(sources, tmp_path / name / "x.so", own_platform())
    assert (tmp_path / name / "x.so").is_file()


def test_zigs_own_cache_has_a_name_that_its_linker_takes(tmp_path, monkeypatch):
    """The folder that HOME or a variable names may not: then another one, for this time."""
    seen = []

    def run(command, cwd, env, **options):
        seen.append(env.get("ZIG_GLOBAL_CACHE_DIR", ""))
        assert not seen[-1] or (cwd / seen[-1]).is_dir()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    for home in ("plain", "50%25"):
        monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / home))
        compile_unit(tmp_path, tmp_path / "x.so", own_platform())
    assert seen[0] == ""
    assert seen[1]
    assert "%" not in seen[1]
    assert not list(tmp_path.iterdir())


def test_a_failed_export_keeps_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "unit.fmu"
    path.write_bytes(b"before")
    monkeypatch.setattr(rtcvt.fmu.native.compiler, "FLAGS", ["-no-such-flag"])
    refused("the compiler failed", lambda: export_native(load_unit("differential"), "rigid", path))
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.needs("nm")
def test_the_library_needs_only_exact_functions_and_no_memory(unpacked_native):
    binary = unpacked_native["kers"] / "binaries" / "linux64" / "toroidal_kers_rigid.so"
    listed = subprocess.run(["nm", "-D", str(binary)], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in listed.splitlines()]
    undefined = {name.partition("@")[0] for kind, name in symbols if kind == "U"}
    exact = {"sqrt", "floor", "ceil"}
    assert undefined <= exact | {"memcpy", "memset", "memmove", "strcmp", "strlen", "snprintf", "vsnprintf"}
    assert all(name.startswith("fmi2") for kind, name in symbols if kind == "T")
    assert sum(kind == "T" for kind, _ in symbols) == 44


REAL_TIME = [name for kind in kinds() if kind.build is not None for name in shipped_units(*kind.names)]


@pytest.mark.parametrize(
    ("name", "fmi"), [("toroidal_kers", 2), ("vehicle", 3), *(slow(name, 3) for name in REAL_TIME)]
)
def test_the_sources_of_every_unit_compile_without_a_warning(tmp_path, name, fmi):
    unit = load_unit(name)
    for fidelity in unit.models[-1:] if fmi == 2 else unit.models:
        write_sources(unit.build(fidelity), name, tmp_path / fidelity, fmi=fmi)
        command = ["cc", *STRICT, "-fsyntax-only", str(tmp_path / fidelity / "all.c")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs("nm")
@cases
def test_units_are_linked_together_by_their_names_and_keep_nothing_outside_of_instances(
    unpacked_native, tmp_path, flags, prefix
):
    source = str(unpacked_native["kers"] / "sources" / "all.c")
    subprocess.run(["cc", "-c", "-fno-pie", *flags, source, "-o", str(tmp_path / "all.o")], check=True)
    listed = subprocess.run(["nm", str(tmp_path / "all.o")], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in listed.splitlines()]
    defined = [name for kind, name in symbols if kind == "T"]
    assert len(defined) == 44
    assert all(name.startswith(f"{prefix}fmi2") for name in defined)
    assert not [name for kind, name in symbols if kind in "bBdDC"]


@pytest.mark.needs("cmake")
def test_fmpy_compiles_the_sources_to_the_same_bits(exported_native, models, tmp_path):
    path = export_native(load_unit("differential"), "rigid", tmp_path / "unit.fmu", platforms=())
    with zipfile.ZipFile(path) as archive:
        assert not [n for n in archive.namelist() if n.startswith("binaries")]
    folder = fmpy.extract(str(path), str(tmp_path / "unit"))
    build_platform_binary(folder, all_warnings=True)
    unit = Hosted(Path(folder))
    assert run(unit.start(), models["differential"], 0, 50) == reference(models["differential"], 50)
    unit.fmi.freeInstance()


@pytest.mark.slow
@pytest.mark.needs("zig")
def test_units_of_32_bits_stand_where_each_version_of_fmi_looks(tmp_path):
    unit, names = load_unit("differential"), ("linux32", "win32")
    for fmi, linux, windows in ((2, "linux32", "win32"), (3, "x86-linux", "x86-windows")):
        path = export_native(unit, "rigid", tmp_path / f"{fmi}.fmu", platforms=names, fmi=fmi)
        with zipfile.ZipFile(path) as archive:
            library = archive.read(f"binaries/{linux}/differential_rigid.so")
            dll = archive.read(f"binaries/{windows}/differential_rigid.dll")
        assert library[:5] == b"\x7fELF\x01"
        assert library[18:20] == b"\x03\x00"  # i386
        header = int.from_bytes(dll[0x3C:0x40], "little")
        assert dll[header : header + 6] == b"PE\0\0\x4c\x01"  # i386
        for binary in (library, dll):
            assert f"\0fmi{fmi}DoStep\0".encode() in binary  # the name as it is: C's calling convention


@pytest.mark.slow
@pytest.mark.needs("zig")
def test_zig_compiles_for_all_platforms(tmp_path):
    path = export_native(load_unit("toroidal_kers"), "full", tmp_path / "unit.fmu", platforms=tuple(PLATFORMS))
    magic = {"linux64": b"\x7fELF\x02", "aarch64-linux": b"\x7fELF\x02", "linux32": b"\x7fELF\x01",
             "win64": b"MZ", "win32": b"MZ",
             "darwin64": b"\xcf\xfa\xed\xfe", "aarch64-darwin": b"\xcf\xfa\xed\xfe"}  # fmt: skip
    with zipfile.ZipFile(path) as archive:
        binaries = [n for n in archive.namelist() if n.startswith("binaries/")]
        assert sorted(n.split("/")[1] for n in binaries) == sorted(PLATFORMS)
        for name in binaries:
            binary = archive.read(name)
            assert binary.startswith(magic[name.split("/")[1]])
            assert b"/rtcvt-" not in binary  # the folder where it was made


# --- co-simulation ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["native", "python"])
def backend(request):
    return request.param


@pytest.fixture
def host(native_host, backend):
    """The KERS of either backend."""
    return lambda: native_host("kers", backend)


@pytest.fixture
def kers(models, backend):
    """``kers(steps, ...)`` is the reference of that."""
    told = None if backend == "native" else len(models["kers"].select("output"))
    return lambda steps, **parameters: reference(models["kers"], steps, told, **parameters)


@pytest.mark.parametrize("key", UNITS)
def test_a_unit_gives_the_same_bits_as_its_model(native_host, models, key):
    unit, instance = native_host(key).start(), models[key].instantiate()
    instance.initialise()
    assert unit.values() == instance.y.tolist()
    assert run(unit, models[key], 0, 500) == reference(models[key], 500)


HEAVY = {"gear.a.J": 0.3, "control.theta_start": 0.2}


@pytest.fixture(scope="module")
def heavy(tmp_path_factory) -> Path:
    """A unit with other start values."""
    folder = tmp_path_factory.mktemp("heavy")
    path = export_native(load_unit("toroidal_kers"), "rigid", folder / "unit.fmu", parameters=HEAVY)
    return Path(fmpy.extract(str(path), str(folder / "unit")))


def test_parameters_of_the_export_and_of_the_host_act_alike(host, kers, models, heavy, backend):
    changes = {name.replace(".", "__"): value for name, value in HEAVY.items()}
    found = run(host().start(**changes), models["kers"], 0, 50)
    assert found == kers(50, **changes)
    if backend == "native":
        other = Hosted(heavy)
        assert run(other.start(), models["kers"], 0, 50) == found
        other.fmi.freeInstance()


def test_steps_of_any_length(host, models):
    unit, instance = host().start(), models["kers"].instantiate()
    instance.initialise()
    for h in (1e-4, 3e-3, 1e-3, 2.5e-4):
        unit.step(h=h)
        instance.step(h)
        assert unit.values() == instance.y.tolist()


def test_outputs_follow_inputs_and_parameters_during_initialisation(host, backend):
    unit = host()
    unit.fmi.setupExperiment()
    unit.fmi.enterInitializationMode()
    before = unit.get("storage.E")
    unit.set("shaft.w_start", 50.0)
    assert unit.get("gear.d.w") == pytest.approx(50.0)
    assert backend == "python" or unit.get("state.gear.d.w") == unit.get("gear.d.w")
    assert unit.get("storage.E") < before


def test_reset_starts_afresh(host, kers, models):
    unit = host().start(gear__a__J=0.3)
    run(unit, models["kers"], 0, 5)
    unit.fmi.terminate()
    unit.fmi.reset()
    assert run(unit.start(), models["kers"], 0, 5) == kers(5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e13])
def test_a_step_with_a_bad_input_is_refused_and_leaves_no_trace(host, kers, models, bad):
    unit = host().start()
    run(unit, models["kers"], 0, 10)
    states = [name for name in unit.variables if name.startswith("state.")]
    before = unit.values() + [unit.get(name) for name in states]
    message = unit.refused(unit.step, {"shaft.w": bad}, status=DISCARD)
    assert f"shaft.w = {bad:g} rad/s, control.tau_des = " in message
    assert "0.01 s" in message
    assert unit.fmi.getRealStatus(LAST_TIME) == pytest.approx(0.01)
    unit.set("shaft.w", 100.0)
    assert unit.values() + [unit.get(name) for name in states] == before
    assert run(unit, models["kers"], 10, 20) == kers(20)[10:]


@mistakes
def test_a_step_in_the_wrong_place_is_refused(native_host, models, t, h, message):
    unit = native_host("kers")
    unit.fmi.setupExperiment(startTime=0.0, stopTime=1.0)
    unit.fmi.enterInitializationMode()
    unit.fmi.exitInitializationMode()
    assert message in unit.refused(unit.fmi.doStep, t, h)
    assert run(unit, models["kers"], 0, 5) == reference(models["kers"], 5)


def test_the_start_time_is_the_hosts(host):
    unit = host().start(t=5.0)
    unit.step()
    assert unit.fmi.getRealStatus(LAST_TIME) == pytest.approx(5.0 + H)


@mistakes
def test_a_bad_value_is_refused_with_name_value_and_what_is_allowed(native_host, models, name, value, message):
    unit = native_host("kers")
    tau = unit.reference("control.tau_des")
    assert message in unit.refused(unit.fmi.setReal, [tau, unit.reference(name)], [20.0, value])
    unit.start()
    assert unit.get("control.tau_des") == 0.0  # all or nothing
    assert run(unit, models["kers"], 0, 5) == reference(models["kers"], 5)


def test_parameters_without_a_start_state_are_refused(native_host, models):
    unit = native_host("kers")
    unit.fmi.setupExperiment()
    unit.fmi.enterInitializationMode()
    unit.set("shaft.w_start", 1e13)
    assert "no finite start state" in unit.refused(unit.fmi.exitInitializationMode)
    unit.set("shaft.w_start", models["kers"].by_name["shaft.w_start"].start)
    unit.fmi.exitInitializationMode()
    assert run(unit, models["kers"], 0, 5) == reference(models["kers"], 5)


def test_a_parameter_is_fixed_once_the_unit_runs(native_host):
    unit = native_host("kers").start()
    assert "gear.a.J = 0.2 kg.m2: a parameter is fixed" in unit.refused(unit.set, "gear.a.J", 0.2)
    assert unit.get("gear.a.J") == 0.179


def test_variables_of_another_type_are_refused(native_host):
    unit = native_host("kers").start()
    saturated, tau = unit.reference("control.saturated"), unit.reference("shaft.tau")
    for call, arguments in (
        (unit.fmi.getReal, ([saturated],)),
        (unit.fmi.getReal, ([10**6],)),
        (unit.fmi.getBoolean, ([tau],)),
        (unit.fmi.getInteger, ([tau],)),
        (unit.fmi.getString, ([tau],)),
        (unit.fmi.setBoolean, ([tau], [True])),
        (unit.fmi.setBoolean, ([saturated], [True])),
        (unit.fmi.setInteger, ([tau], [1])),
        (unit.fmi.setString, ([tau], ["1"])),
    ):
        unit.refused(call, *arguments)
    assert unit.fmi.getBoolean([saturated]) == [False]


def test_the_message_says_what_was_called_when(native_host):
    unit = native_host("kers")
    assert unit.refused(unit.fmi.doStep, 0.0, H) == "fmi2DoStep is not allowed before initialisation"


@mistakes
def test_a_wrong_instantiation_is_refused(unpacked_native, change, message):
    description = fmpy.read_model_description(str(unpacked_native["kers"]))
    options = {"guid": description.guid, "instanceName": "unit", **change}
    slave = FMU2Slave(unzipDirectory=str(unpacked_native["kers"]), modelIdentifier="toroidal_kers_rigid", **options)
    slave.instanceName = options["instanceName"]
    said = []
    callbacks = fmi2CallbackFunctions(
        logger=fmi2CallbackLoggerTYPE(lambda _, __, ___, ____, text: said.append(text.decode())),
        allocateMemory=fmi2CallbackAllocateMemoryTYPE(fmpy.calloc),
        freeMemory=fmi2CallbackFreeMemoryTYPE(fmpy.free),
        componentEnvironment=c_void_p(),
    )
    with pytest.raises(Exception, match="instantiate"):
        slave.instantiate(callbacks=callbacks)
    assert message in said[0]


def test_logging_by_category(native_host):
    unit = native_host("kers", logging=False).start()

    def heard():
        unit.log.clear()
        with pytest.raises(FMICallException):
            unit.step({"shaft.w": math.nan})
        with pytest.raises(FMICallException):
            unit.fmi.enterInitializationMode()
        return [category for _, category, _ in unit.log]

    assert heard() == ["logStatusError"]
    unit.fmi.setDebugLogging(True, ["logStatusDiscard"])
    assert heard() == ["logStatusDiscard", "logStatusError"]
    unit.fmi.setDebugLogging(False, ["logAll"])
    assert heard() == []
    unit.fmi.setDebugLogging(True, [])
    assert heard() == ["logStatusDiscard", "logStatusError"]
    assert "category = logOther" in unit.refused(unit.fmi.setDebugLogging, True, ["logOther"])


# --- saved states -----------------------------------------------------------------------------------------------------


def test_a_state_carries_over_to_another_instance_with_its_parameters(host, models):
    one, other = host().start(gear__b__J=2.5e-3), host()
    run(one, models["kers"], 0, 10)
    state = one.fmi.getFMUstate()
    copy = other.fmi.deSerializeFMUstate(one.fmi.serializeFMUstate(state))
    one.fmi.freeFMUstate(state)
    other.fmi.setFMUstate(copy)
    other.fmi.freeFMUstate(copy)
    other.t = one.t
    assert run(other, models["kers"], 10, 20) == run(one, models["kers"], 10, 20)
    assert other.get("gear.b.J") == 2.5e-3


def test_a_state_from_before_initialisation(native_host, models):
    unit = native_host("kers")
    state = unit.fmi.getFMUstate()
    run(unit.start(gear__a__J=0.3), models["kers"], 0, 5)
    unit.fmi.setFMUstate(state)
    assert run(unit.start(), models["kers"], 0, 5) == reference(models["kers"], 5)
    unit.fmi.freeFMUstate(state)


def test_damaged_states_are_refused(native_host, models):
    unit = native_host("kers").start()
    run(unit, models["kers"], 0, 5)
    state = unit.fmi.getFMUstate()
    data = unit.fmi.serializeFMUstate(state)
    unit.fmi.freeFMUstate(state)
    for at in range(0, len(data), 7):
        damaged = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        assert "the state is" in unit.refused(unit.fmi.deSerializeFMUstate, damaged)
    for size in (0, 1, len(data) - 1):
        assert f"{len(data)} bytes" in unit.refused(unit.fmi.deSerializeFMUstate, data[:size])
    assert "bytes" in unit.refused(unit.fmi.deSerializeFMUstate, data + b"\0")
    assert run(unit, models["kers"], 5, 10) == reference(models["kers"], 10)[5:]


def test_states_of_another_unit_or_interface_are_refused(native_host, heavy):
    heavier = Hosted(heavy)
    one, exchange = native_host("kers").start(), native_host("kers", slave=False)
    state = one.fmi.getFMUstate()
    data = one.fmi.serializeFMUstate(state)
    one.fmi.freeFMUstate(state)
    assert "another unit" in heavier.refused(heavier.fmi.deSerializeFMUstate, data)
    assert "other interface" in exchange.refused(exchange.fmi.deSerializeFMUstate, data)
    heavier.fmi.freeInstance()


# --- directional derivatives ------------------------------------------------------------------------------------------


def jacobian(unit, unknowns, knowns):
    z, v = [unit.reference(n) for n in unknowns], [unit.reference(n) for n in knowns]
    columns = [unit.fmi.getDirectionalDerivative(z, [one], [1.0]) for one in v]
    return np.array(columns).T


@pytest.mark.parametrize("key", UNITS)
def test_directional_derivatives_of_the_rates_are_the_jacobian(native_host, models, key):
    unit, model = native_host(key).start(), models[key]
    instance = started(model)
    states = [f"state.{s.name}" for s in model.states]
    for k in range(60):
        unit.step(inputs(model, k))
        for name, value in inputs(model, k).items():
            instance.set(name, value)
        instance.step(H)
        if k % 20 == 0:
            found = jacobian(unit, [f"der({s})" for s in states], states)
            expected = instance.jacobian()
            assert np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("key", UNITS)
def test_directional_derivatives_of_outputs_are_the_limit_of_differences(native_host, models, key):
    unit, model = native_host(key).start(), models[key]
    run(unit, model, 0, 30)
    instance = started(model)
    for k in range(30):
        for name, value in inputs(model, k).items():
            instance.set(name, value)
        instance.step(H)
    outputs = [v for v in model.select("output") if not v.boolean]
    knowns = [(f"state.{name}", instance.x, i) for i, name in enumerate(s.name for s in model.states)]
    knowns += [(v.name, instance.u, v.index) for v in model.select("input")]
    knowns += [(v.name, instance.p, v.index) for v in model.select("parameter") if not (v.boolean or v.choices)]
    exact = jacobian(unit, [v.name for v in outputs], [name for name, _, _ in knowns])
    for column, (_, buffer, i) in zip(exact.T, knowns, strict=True):
        before, h = buffer[i], 1e-4 * (abs(buffer[i]) or 1.0 if buffer is instance.p else max(1.0, abs(buffer[i])))
        sides = []
        for s in (-2, -1, 1, 2):
            buffer[i] = before + s * h
            model.initialise(instance.p, model.data, instance.u, np.empty_like(instance.x), instance.work)
            sides.append(instance.outputs()[[v.index for v in outputs]].copy())
        buffer[i] = before
        quotient = (sides[0] - 8 * sides[1] + 8 * sides[2] - sides[3]) / (12 * h)
        np.testing.assert_allclose(column, quotient, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(column).max()))


def test_directional_derivatives_while_initialising(native_host):
    unit = native_host("kers")
    unit.fmi.setupExperiment()
    unit.fmi.enterInitializationMode()
    rate = unit.fmi.getDirectionalDerivative(
        [unit.reference("der(state.shaft.tau)")], [unit.reference("shaft.w")], [1.0]
    )
    assert rate == [30e3]  # the stiffness of the port's spring
    energy, J, w = (unit.reference(name) for name in ("storage.E", "gear.d.J", "state.gear.d.w"))
    (start,) = unit.fmi.getReal([w])
    (speed,) = unit.fmi.getDirectionalDerivative([w], [J], [1.0])  # 0: the start speed is given
    assert (speed, start > 0.0) == (0.0, True)
    assert unit.fmi.getDirectionalDerivative([energy], [J], [1.0])[0] == pytest.approx(0.5 * start**2, rel=1e-12)
    for name in ("state.gear.d.w", "shaft.tau"):
        assert f"{name} is no known" in unit.refused(
            unit.fmi.getDirectionalDerivative, [unit.reference("shaft.tau")], [unit.reference(name)], [1.0]
        )
    assert "shaft.w is no unknown" in unit.refused(
        unit.fmi.getDirectionalDerivative, [unit.reference("shaft.w")], [unit.reference("shaft.w")], [1.0]
    )


# --- tunable parameters -----------------------------------------------------------------------------------------------


def test_a_native_unit_is_tuned_between_steps(native_host, models):
    unit, one = native_host("kers").start(), models["kers"].instantiate()
    one.initialise()
    for k in range(60):
        if k == 20:
            unit.set("control.K_theta", 5.0)
            one.tune("control.K_theta", 5.0)
        if k == 40:
            unit.set("gear.a.b", 0.05)
            one.tune("gear.a.b", 0.05)
        demand = 3.0 * k
        unit.set("control.tau_des", demand)
        one.set("control.tau_des", demand)
        unit.step(h=H)
        one.step(H)
        assert unit.values() == one.y.tolist()
    assert "a parameter is fixed when initialisation is over" in unit.refused(
        unit.fmi.setReal, [unit.reference("gear.a.J")], [1.0]
    )


def test_by_model_exchange_in_event_mode_only(native_host):
    unit = native_host("kers", slave=False).start()
    gain = [unit.reference("control.K_theta")]
    unit.fmi.setReal(gain, [5.0])
    assert unit.fmi.getReal(gain) == [5.0]
    unit.fmi.enterContinuousTimeMode()
    assert "fixed outside of event mode" in unit.refused(unit.fmi.setReal, gain, [6.0])
    assert unit.fmi.getReal(gain) == [5.0]


# --- model exchange ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", UNITS)
def test_an_integrator_of_the_host_arrives_where_the_steps_do(exported_native, models, key):
    model = models[key]
    torques = {v.name: 0.05 * (v.nominal or 1.0) for v in model.select("input") if v.unit == "N.m"}
    names = [v.name for v in model.select("output") if v.name.startswith("gear.")] + ["storage.E"]
    results = {
        kind: fmpy.simulate_fmu(str(exported_native[key]), fmi_type=kind, stop_time=0.2, output_interval=H,
                                output=names, start_values=torques, relative_tolerance=1e-8, **options)
        for kind, options in {"ModelExchange": {"solver": "CVode"}, "CoSimulation": {"step_size": H}}.items()
    }  # fmt: skip
    assert abs(results["CoSimulation"]["storage.E"][-1] - results["CoSimulation"]["storage.E"][0]) > 0.1
    for name in names:
        exchange, cosimulation = (results[kind][name][-1] for kind in ("ModelExchange", "CoSimulation"))
        assert exchange == pytest.approx(cosimulation, rel=1e-3, abs=1e-3)


def test_rates_and_outputs_are_those_of_the_model(native_host, models):
    unit, instance = native_host("kers", slave=False).start(), models["kers"].instantiate()
    instance.initialise()
    assert not any(unit.fmi.newDiscreteStates()[:4])
    unit.fmi.enterContinuousTimeMode()
    rng = np.random.default_rng(3)
    x, dx = (c_double * 4)(), (c_double * 4)()
    unit.fmi.getContinuousStates(x, 4)
    assert list(x) == instance.x.tolist()
    for k in range(20):
        instance.x += 1e-3 * rng.normal(size=4)
        instance.u[:] = [104.0 + 0.1 * k, 2.0]
        unit.fmi.setTime(k * H)
        unit.fmi.setContinuousStates((c_double * 4)(*instance.x), 4)
        unit.set("shaft.w", instance.u[0])
        unit.set("control.tau_des", instance.u[1])
        unit.fmi.getDerivatives(dx, 4)
        assert list(dx) == instance.derivative().tolist()
        continuous = [v.index for v in models["kers"].select("output") if not v.boolean]
        assert np.array(unit.values())[continuous].tolist() == instance.outputs()[continuous].tolist()
        discrete = [v.index for v in models["kers"].select("output") if v.boolean]
        due = np.array(unit.values())[discrete] != instance.outputs()[discrete]
        assert unit.fmi.completedIntegratorStep() == (due.any(), 0)


def test_discrete_outputs_change_at_events_only(native_host):
    unit = native_host("kers", slave=False).start()
    unit.fmi.enterContinuousTimeMode()
    saturated = unit.reference("control.saturated")
    unit.set("control.tau_des", 1e6)
    assert unit.fmi.getBoolean([saturated]) == [False]
    assert unit.fmi.completedIntegratorStep() == (1, 0)  # an event is due
    assert unit.fmi.getBoolean([saturated]) == [False]
    unit.fmi.enterEventMode()
    assert unit.fmi.getBoolean([saturated]) == [True]
    unit.fmi.enterContinuousTimeMode()
    assert unit.fmi.completedIntegratorStep() == (0, 0)


def test_null_pointers_are_refused(native_host):
    unit = native_host("kers").start()
    raw, c = unit.fmi.dll, c_void_p(unit.fmi.component)
    reference = c_uint(0)
    assert raw.fmi2GetReal(c, None, c_size_t(1), None) == ERROR
    assert raw.fmi2GetReal(c, byref(reference), c_size_t(1), None) == ERROR
    assert raw.fmi2GetReal(c, None, c_size_t(0), None) == 0
    assert raw.fmi2SetFMUstate(c, None) == ERROR
    assert raw.fmi2GetReal(None, None, c_size_t(0), None) == ERROR


# --- sanitizers and memory --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("key", ["differential", "kers", "kers_full"])
def test_random_calls_under_sanitizers(unpacked_native, tmp_path, key):
    program = tmp_path / "sequences"
    flags = ["-g", "-O1", "-Wall", "-Wextra", "-fno-sanitize-recover=all"]
    flags.append("-fsanitize=address,undefined,float-cast-overflow")
    command = ["cc", *flags, "-I", str(unpacked_native[key] / "sources"), str(HERE / "native_sequences.c"), "-o",
        str(program), "-lm"]  # fmt: skip
    if subprocess.run(command, capture_output=True).returncode != 0:
        tools.absent("sanitizers")
    for seed in ("1", "2"):
        done = subprocess.run([str(program), seed, "60000"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["live"] == 0
        assert min(found["ok"], found["discard"], found["error"]) > 500


@pytest.mark.skipif(not os.path.exists("/lib64/ld-linux-x86-64.so.2"), reason="needs glibc")
@pytest.mark.parametrize(("key", "steps"), [("kers", 20_000), slow("kers_full", 20_000)])
def test_stepping_takes_no_memory(unpacked_native, models, tmp_path, key, steps):
    """malloc, calloc and realloc of the whole process are counted while inputs are set, steps made, outputs got."""
    found = native_cost(unpacked_native[key], models[key], tmp_path, steps)
    assert (found["steps"], found["allocations"]) == (steps, 0)
    assert found["allocations_before"] > 0  # they are counted indeed


def native_cost(folder, model, tmp_path, steps):
    """Run the benchmark's host in C."""
    program = tmp_path / "driver"
    source = HERE.parents[1] / "benchmarks" / "native_driver.c"
    subprocess.run(
        ["cc", "-O2", "-I", str(folder / "sources"), str(source), "-o", str(program), "-ldl", "-lm"], check=True
    )
    (library,) = (folder / "binaries" / "linux64").iterdir()
    guid = fmpy.read_model_description(str(folder)).guid
    u = [(k, 0.05 * (v.nominal or 1.0)) for k, v in enumerate(model.variables) if v.causality == "input"]
    y = [k for k, v in enumerate(model.variables) if v.causality == "output" and not v.boolean]
    arguments = [library, guid, steps, H, len(u), *(a for pair in u for a in pair), len(y), *y]
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == 0
    return found
