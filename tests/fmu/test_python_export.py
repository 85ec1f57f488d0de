"""Exporting: what goes in, what is refused, and what is left behind."""

import json
import subprocess
import sys

import fmpy
import pytest
from archives import changed
from marks import slow
from refusals import refused
from rows import mistakes, script

import rtcvt.fmu.export
from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit


@pytest.fixture(scope="module")
def unit():
    return load_unit("toroidal_kers")


def test_the_same_unit_has_the_same_guid_and_another_one_another(unit, exported, tmp_path):
    def guid(path):
        return fmpy.read_model_description(str(path)).guid

    again = export_python(unit, "rigid", tmp_path / "again.fmu", documentation="other words")
    finer = export_python(unit, "rigid", tmp_path / "finer.fmu", substeps=4)
    assert guid(again) == guid(exported["kers"])
    assert len({guid(again), guid(finer), guid(exported["kers_full"])}) == 3


def test_parameters_become_start_values(unit, tmp_path):
    path = export_python(unit, "rigid", tmp_path / "unit.fmu", parameters={"gear.a.J": 0.3})
    start = {v.name: v.start for v in fmpy.read_model_description(str(path)).modelVariables}
    assert (start["gear.a.J"], start["gear.b.J"]) == ("0.3", "0.0018")
    results = [fmpy.simulate_fmu(str(path), stop_time=0.01, apply_default_start_values=apply)["storage.E"][-1]
               for apply in (False, True)]  # fmt: skip
    default = fmpy.simulate_fmu(str(export_python(unit, "rigid", tmp_path / "default.fmu")), stop_time=0.01)
    assert results[0] == results[1] > 1.2 * default["storage.E"][-1]


def test_export_leaves_the_process_as_it_was(unit, tmp_path):
    def scripts():
        return {name: module for name, module in sys.modules.items() if name.startswith("toroidal_kers")}

    search_path, before = sys.path.copy(), scripts()
    export_python(unit, "rigid", tmp_path / "unit.fmu")
    assert sys.path == search_path
    assert scripts() == before
    assert [f.name for f in tmp_path.iterdir()] == ["unit.fmu"]


@pytest.mark.parametrize("export", [export_python, export_native])
@pytest.mark.parametrize("place", ["missing/unit.fmu", "file/unit.fmu", "folder.fmu", "unit.zip"])
def test_a_place_that_cannot_be_written_is_refused(unit, tmp_path, export, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder.fmu").mkdir()
    before = sorted(tmp_path.rglob("*"))
    refused(place, export, unit, "rigid", tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


@mistakes
def test_a_bad_parameter_is_refused(unit, tmp_path, parameters, message):
    refused(message, export_python, unit, "rigid", tmp_path / "unit.fmu", parameters=parameters)
    assert not list(tmp_path.iterdir())


def test_a_failed_export_keeps_the_file_that_was_there(unit, tmp_path, monkeypatch):
    path = tmp_path / "unit.fmu"
    path.write_bytes(b"before")

    def fail(*_):
        raise RuntimeError("no space")

    monkeypatch.setattr(rtcvt.fmu.export.FmuBuilder, "build_FMU", fail)
    with pytest.raises(RuntimeError):
        export_python(unit, "rigid", path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


RUN = script("python_export", "run")


def run(*paths, prelude=""):
    """Simulate units in a process of their own."""
    return subprocess.run([sys.executable, "-c", prelude + RUN, *map(str, paths)], capture_output=True, text=True)


def test_a_unit_of_another_version_says_what_to_install(exported, tmp_path, capfd):
    path = changed(exported["kers"], tmp_path / "old.fmu", lambda name, data: data if not name.endswith("unit.json")
                   else json.dumps({**json.loads(data), "rtcvt": "0.0.1"}).encode())  # fmt: skip
    with pytest.raises(Exception, match="instantiate"):
        fmpy.simulate_fmu(str(path), stop_time=0.01)
    assert "pip install rtcvt==0.0.1" in capfd.readouterr().err


def test_a_python_without_rtcvt_says_what_to_install(exported):
    done = run(exported["kers"], prelude="import sys; sys.modules['rtcvt.fmu'] = None\n")
    assert "pip install rtcvt==" in done.stderr


@pytest.mark.parametrize("runs", [1, slow(50)])
def test_a_process_that_ran_units_ends_well(exported, runs):
    codes = [run(exported["kers"], exported["differential"], exported["kers"]).returncode for _ in range(runs)]
    assert codes == [0] * runs
