"""What a unit with large tables takes: one copy of them in the file and in memory; and nominal values."""

import ctypes
import zipfile
from ctypes import c_void_p
from pathlib import Path

import fmpy
import pytest
from fmpy.validation import validate_fmu
from native_host import Hosted

from rtcvt.fmu.native.export import native_description, own_platform, write_unit
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
    assert 8 * len(model.data) > 7e6
    assert exported.stat().st_size < 3e6
    assert validate_fmu(str(exported)) == []
    with zipfile.ZipFile(exported) as archive:
        assert not [name for name in archive.namelist() if name.startswith("sources/")]
        assert b"SourceFiles" not in archive.read("modelDescription.xml")


def test_sources_come_when_asked_for_and_with_small_units():
    small = load_unit("differential").build("rigid")
    for carried in (True, False):
        description = native_description(small, "unit", "guid", open_source=carried)
        assert len(description.findall(".//SourceFiles")) == 2 * carried


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
