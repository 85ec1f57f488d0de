"""What a unit takes, by its data sheet; one with large tables has one copy of them; and nominal values."""

import ctypes
import json
import platform
import subprocess
import zipfile
from ctypes import c_void_p
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import pytest
from fmpy.validation import validate_fmu
from native_host import Hosted

from rtcvt.fmu.native.compiler import own_platform
from rtcvt.fmu.native.export import export_native, native_description, write_unit
from rtcvt.fmu.native.sheet import COUNTS, _counter, _sizes
from rtcvt.fmu.traceability import FILE
from rtcvt.kind import load_unit

pytestmark = pytest.mark.needs("cc")


@pytest.fixture(scope="module")
def model():
    return load_unit("pushbelt_cvt").build("hybrid")


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("size") / "unit.fmu"
    write_unit(model, path, [own_platform()], 1.0)
    return path


@pytest.fixture(scope="module")
def unpacked(exported):
    return Path(fmpy.extract(str(exported), str(exported.parent / "unpacked")))


@pytest.mark.slow
def test_the_file_holds_the_tables_once(exported, model):
    assert 8 * len(model.data) > 4e6
    assert exported.stat().st_size < 2e6
    assert validate_fmu(str(exported)) == []
    with zipfile.ZipFile(exported) as archive:
        assert not [name for name in archive.namelist() if name.startswith("sources/")]
        assert b"SourceFiles" not in archive.read("modelDescription.xml")


def test_sources_come_when_asked_for_and_with_small_units():
    small = load_unit("differential").build("rigid")
    for files in (["all.c"], []):
        description = native_description(small, "unit", "guid", files=files)
        assert len(description.findall(".//SourceFiles")) == 2 * len(files)


def test_a_unit_that_is_to_be_the_same_to_the_byte_has_no_measured_times(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    path = export_native(load_unit("differential"), "rigid", tmp_path / "unit.fmu", measured=True)
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("documentation/data_sheet.json"))["measured"] is None


@pytest.mark.slow
def test_instances_share_the_tables(unpacked):
    hosts = [Hosted(unpacked) for _ in range(3)]
    for host in hosts:
        assert sum(host.allocated) < 64 * 1024
        host.start().fmi.freeInstance()


@pytest.mark.slow
def test_states_have_their_nominal_values(unpacked, model):
    expected = [v.nominal for v in model.states]
    assert min(expected) > 0.0
    assert max(expected) >= 1e3  # of a force
    host = Hosted(unpacked, slave=False)
    host.start()
    found = (ctypes.c_double * len(expected))()
    host.fmi.fmi2GetNominalsOfContinuousStates(c_void_p(host.fmi.component), found, len(expected))
    assert list(found) == expected
    described = [host.variables[f"state.{v.name}"] for v in model.states]
    assert [float(v.nominal) for v in described] == expected
    host.fmi.freeInstance()


needs_counting = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="instructions are counted on Linux, x86-64"
)


@needs_counting
def test_instructions_are_counted_one_by_one(tmp_path):
    """A function in assembler with a call, two divisions, a square root and a frame of 64 bytes: 13 instructions."""
    code = "step: sub $64, %rsp; nop; divsd %xmm0, %xmm0; call inner; add $64, %rsp; xor %eax, %eax; ret; "
    code += "inner: nop; nop; sqrtsd %xmm0, %xmm1; divpd %xmm1, %xmm1; nop; ret"
    text = f'__asm__(".globl step; {code}");'
    (tmp_path / "step.c").write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "step.c", "-o", "step.so"], cwd=tmp_path, check=True)
    step = ctypes.cast(ctypes.CDLL(str(tmp_path / "step.so")).step, c_void_p).value
    found = (ctypes.c_int64 * len(COUNTS))()
    for _ in range(2):
        assert _counter()(step, None, 0.0, 1.0, ctypes.byref(found)) == 0
        assert dict(zip(COUNTS, found, strict=True)) == {
            "instructions": 13, "divisions": 2, "square_roots": 1, "frame_bytes": 64, "stack_bytes": 72
        }  # fmt: skip


@pytest.mark.parametrize("fmi", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_unit_has_a_data_sheet(tmp_path, fmi):
    """Segments against readelf's, memory against what an instance asks for; regimes of a clutch: stuck and slipping."""
    path = export_native(load_unit("clutch"), "rigid", tmp_path / "unit.fmu", fmi=fmi, measured=True)
    folder = Path(fmpy.extract(str(path), str(tmp_path / "unit")))
    found = json.loads((folder / "documentation" / "data_sheet.json").read_text())
    ElementTree.parse(folder / "documentation" / "data_sheet.html")
    assert (folder / FILE).is_file()
    (binary,) = (folder / "binaries").glob("*/*.so")
    assert found["binaries"] == {binary.parent.name: _sizes(binary)}
    listed = subprocess.run(["readelf", "-lW", binary], check=True, capture_output=True, text=True).stdout
    loads = [line.split() for line in listed.splitlines() if line.split()[:1] == ["LOAD"]]
    assert found["binaries"][binary.parent.name] == {
        "file_bytes": binary.stat().st_size,
        "flash_bytes": sum(int(row[4], 16) for row in loads),
        "static_ram_bytes": sum(int(row[5], 16) for row in loads if "W" in row[6]),
    }
    assert found["profiles"] == ([] if fmi == 2 else ["Basic CS", "Dynamics", "Optimization"])
    measured = found["measured"]
    if fmi == 2:
        (asked,) = Hosted(folder).allocated
        assert abs(measured["instance_bytes"] - asked) < 64 + len(str(folder))  # with the path of its resources
    assert 0.0 < measured["step_us"]["median"] <= measured["step_us"]["longest"]
    assert {regime["on"] for regime in measured["regimes"]} == {"clutch.stuck", ""}
    assert sum(regime["share"] for regime in measured["regimes"]) == pytest.approx(1.0)
    if platform.machine() == "x86_64":
        counts = measured["regimes"][0]["typical"]
        assert 500 < counts["instructions"] < 20_000
        assert 0 < counts["divisions"] < 0.1 * counts["instructions"]
        assert counts["frame_bytes"] < counts["stack_bytes"] < 16_384
