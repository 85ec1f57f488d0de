"""What an FMU may ask of the rig, and libraries that are cut off: on this machine's loop in C and in Python."""

import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from archives import changed
from hostile import MISDEEDS, build

from rtcvt.errors import InputError
from rtcvt.hil.extents import missing
from rtcvt.hil.importer import open_fmu
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import run_rig
from rtcvt.hil.runner import run
from rtcvt.scenario import Scenario

H = 5e-3


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    return build(tmp_path_factory.mktemp("unit"))


def scenario(misdeed="nothing", duration=0.1, text="", **parameters):
    parameters = {"mode": MISDEEDS[misdeed], "at": 0.05, **parameters}
    return Scenario(name="t", duration=duration, inputs={"u": 1.0, "text": text}, parameters=parameters)


# --- the end that a unit asks for -------------------------------------------------------------------------------------


@pytest.mark.needs("cc")
@pytest.mark.parametrize("fast", [True, False])
def test_a_unit_may_end_the_simulation(unit, fast):
    """In the step from 50 ms, 40 % of which it makes."""
    result = run(unit, H, scenario=scenario("terminates"), fast=fast)
    assert result.completed
    assert result.terminated_at == pytest.approx(0.05 + 0.4 * H)
    assert len(result.time) == len(result["y"]) == 12
    np.testing.assert_allclose(result.time[-2:], [0.05, 0.05 + 0.4 * H])
    assert result["y"][-1] == 7.0
    figures = result.figures()
    assert (figures["steps"], figures["duration_s"]) == (11, figures["terminated_s"])


@pytest.mark.needs("loop")
def test_a_unit_may_end_the_simulation_on_the_rig(unit, tmp_path):
    report = run_rig(unit, H, None, scenario("terminates"), output=tmp_path / "run.h5")
    assert report.completed
    assert report.figures["completed"]
    assert report.figures["terminated_s"] == pytest.approx(0.05 + 0.4 * H)
    kept = read(tmp_path / "run.h5")
    assert kept.attributes["completed"]
    np.testing.assert_allclose(kept.time, [*(H * np.arange(11)), 0.05 + 0.4 * H])
    assert kept.signals["y"].values[-1] == 7.0


@pytest.mark.needs("loop")
def test_a_step_that_is_refused_is_no_end(unit, tmp_path):
    report = run_rig(unit, H, None, scenario("status_7"))
    assert not report.completed
    assert report.figures["terminated_s"] is None


# --- strings ----------------------------------------------------------------------------------------------------------


@pytest.mark.needs("loop")
def test_a_string_input_takes_a_text(unit):
    """The unit's output is 7 and the length of the text."""
    assert run(unit, H, scenario=scenario(text="rückwärts"), fast=True)["y"][-1] == 7.0 + 11.0
    assert run_rig(unit, H, None, scenario(text="1e3")).figures["signals"]["y"]["final"] == 10.0


@pytest.mark.needs("cc")
@pytest.mark.parametrize("signal", [1.0, {"time": [0.0], "value": ["a"]}])
def test_what_is_no_text_is_refused(unit, signal):
    with pytest.raises(InputError, match=r"text.*one text for the whole run"):
        run(unit, H, scenario=Scenario(name="t", duration=0.1, inputs={"text": signal}), fast=True)


# --- libraries that are cut off ---------------------------------------------------------------------------------------


@pytest.mark.needs("loop")
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.02, 0.3, 0.6, 0.9, 0.999])
def test_a_library_that_is_cut_off_is_refused(unit, tmp_path, share):
    with zipfile.ZipFile(unit) as archive:
        length = int(share * archive.getinfo("binaries/linux64/hostile.so").file_size)
    cut = changed(unit, tmp_path / "cut.fmu", lambda name, data: data[:length] if name.endswith(".so") else data)
    with pytest.raises(InputError, match=r"hostile\.so: the library cannot be used here: it is (cut off|no ELF)"):
        run(cut, H, scenario=scenario(), fast=True)


def whole_elf(word):
    """ELF of one segment, one section with and one without room in the file, and the table of sections at its end."""
    wide = word == "Q"
    head, segment, section = (64, 56, 64) if wide else (52, 32, 40)
    at = head + segment + 100
    data = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9) + struct.pack("<HHI", 3, 62, 1)
    data += struct.pack(f"<3{word}I6H", 0, head, at, 0, head, segment, 1, section, 2, 0)
    start = head + segment
    data += (struct.pack("<2I6Q", 1, 5, start, 0, 0, 100, 100, 8) if wide else
             struct.pack("<8I", 1, start, 0, 0, 100, 100, 5, 8)) + bytes(100)  # fmt: skip
    for kind in (1, 8):
        data += struct.pack(f"<2I4{word}2I2{word}", 0, kind, 0, 0, start, 100 if kind == 1 else 10**6, 0, 0, 8, 0)
    return data


def whole_pe():
    data = b"MZ" + bytes(58) + struct.pack("<I", 64)
    data += b"PE\0\0" + struct.pack("<HH12xHH", 0x8664, 1, 240, 0) + bytes(240)
    return data + struct.pack("<8s4I16x", b".text", 512, 0, 512, len(data) + 40) + bytes(512)


def whole_mach(wide=True):
    command, size, form = (0x19, 72, "<16s4Q16x") if wide else (0x01, 56, "<16s4I16x")
    head = 32 if wide else 28
    data = struct.pack("<6I", 0xFEEDFACF if wide else 0xFEEDFACE, 0, 0, 6, 1, size) + bytes(head - 24)
    start = head + size
    return data + struct.pack("<II", command, size) + struct.pack(form, b"__TEXT", 0, 0, start, 300) + bytes(300)


def whole_fat():
    one = whole_mach()
    return struct.pack(">2I5I", 0xCAFEBABE, 1, 0, 0, 4096, len(one), 12).ljust(4096, b"\0") + one


@pytest.mark.parametrize(
    "data",
    [whole_elf("I"), whole_elf("Q"), whole_pe(), whole_mach(), whole_mach(wide=False), whole_fat()],
    ids=["elf32", "elf64", "pe", "mach64", "mach32", "fat"],
)
def test_a_library_is_whole_or_cut_off(tmp_path, data):
    path = tmp_path / "library"
    path.write_bytes(data)
    assert missing(path) == ""
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert missing(path), length


@pytest.mark.parametrize("place", [32, 40, 64 + 8, 64 + 32])
@pytest.mark.parametrize("value", [2**62, 2**63, 2**64 - 1])
def test_offsets_beyond_all_files_are_refused(tmp_path, place, value):
    """Of the tables of segments and sections, and of a segment with its size."""
    data = bytearray(whole_elf("Q"))
    struct.pack_into("<Q", data, place, value)
    path = tmp_path / "library"
    path.write_bytes(data)
    assert "it is cut off" in missing(path)


def test_a_load_command_without_length_is_refused(tmp_path):
    data = bytearray(whole_mach())
    struct.pack_into("<I", data, 16, 2**32 - 1)  # so many
    struct.pack_into("<I", data, 36, 0)  # of the first
    path = tmp_path / "library"
    path.write_bytes(data)
    assert "least is 8" in missing(path)


@pytest.mark.parametrize("identifier", ["../../hostile", "/tmp/hostile", "a/b", "hostile.so", "", None])
def test_a_model_identifier_is_a_name(tmp_path, identifier):
    given = "" if identifier is None else f' modelIdentifier="{identifier}"'
    path = tmp_path / "unit.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", '<fmiModelDescription fmiVersion="2.0" modelName="m" guid="g">'
                         f"<CoSimulation{given}/><ModelVariables/><ModelStructure/></fmiModelDescription>")  # fmt: skip
    with pytest.raises(InputError, match="modelIdentifier"), open_fmu(path):
        pass


def test_libraries_of_this_machine_are_whole():
    libraries = [p for p in Path(np.__file__).parents[1].rglob("*.so*") if p.is_file()][:200]
    assert libraries
    assert [missing(p) for p in libraries] == [""] * len(libraries)
