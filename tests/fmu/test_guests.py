"""FMUs with sources in C within the one unit of a system: rtcvt's own and one of others, bits, faults, refusals."""

import shutil
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from instances import stepped
from native_host import ERROR, Hosted, reference, run
from refusals import refused
from rows import DATA, mistakes, text_of

from rtcvt.environment import ALLOW
from rtcvt.errors import InputError
from rtcvt.fmu.native.compiler import FLAGS, compile_c, copy_headers
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit
from rtcvt.unitfile import parse_unit_file

pytestmark = pytest.mark.needs("loop", "cc")

TINY = DATA / "fmi" / "tiny"


def tiny(folder, *changes, without=()):
    """An FMU with sources in C and changed texts, and the binary of the original."""
    made = folder / "made"
    shutil.copytree(TINY, made, dirs_exist_ok=True)
    copy_headers(2, made)
    assert compile_c(made, [*FLAGS, "-w", "tiny.c", "lag.c"], made / "tiny.so", "linux64") == ""
    with zipfile.ZipFile(folder / "tiny.fmu", "w") as archive:
        archive.write(made / "tiny.so", "binaries/linux64/tiny.so")
        files = {"modelDescription.xml": DATA / "fmi" / "tiny.xml"}
        files |= {f"sources/{file.name}": file for file in TINY.iterdir() if file.name not in without}
        for name, file in files.items():
            text = file.read_text()
            for old, new in changes:
                text = text.replace(old, new)
            archive.writestr(name, text)


def system(text, folder):
    return load_unit(parse_unit_file(text, "mine.toml", folder))


def hosted(loaded, path, fmi=2):
    export_native(loaded, "system", path, fmi=fmi)
    return Path(fmpy.extract(str(path), str(path.with_suffix(""))))


@pytest.mark.parametrize("backend", [2, 3])
def test_a_unit_has_the_sources_and_the_bits_of_its_fmu(backend, tmp_path, monkeypatch):
    """Also in a second instance, after a reset, from a saved state, and compiled from the files that it lists."""
    monkeypatch.setenv(ALLOW, "1")
    export_native(load_unit(DATA / "units" / "foreign_law.toml"), "rigid", tmp_path / "tcu.fmu", fmi=backend)
    loaded = system(text_of("units/foreign_system.toml").replace("inputs = { on = 1 }", ""), tmp_path)
    unit, model = hosted(loaded, tmp_path / "whole.fmu"), loaded.build()
    one, other = Hosted(unit).start(), Hosted(unit).start()
    found = run(one, model, 0, 60)
    assert found == reference(model, 60, len(found[0]))
    saved, t = one.fmi.getFMUstate(), one.t
    following = run(one, model, 60, 80)
    one.fmi.setFMUstate(saved)
    one.t = t
    assert run(one, model, 60, 80) == following
    one.fmi.freeFMUstate(saved)
    one.fmi.reset()
    assert run(one.start(), model, 0, 30) == run(other, model, 0, 30) == found[:30]
    files = [f.get("name") for f in ElementTree.parse(unit / "modelDescription.xml").iter("File")]
    library = next(unit.glob("binaries/linux64/*.so"))
    assert compile_c(unit / "sources", [*FLAGS, *files, "-lm"], library, "linux64") == ""
    assert run(Hosted(unit).start(), model, 0, 30) == found[:30]


@pytest.mark.interpreted
@pytest.mark.parametrize("fmi", [2, 3])
def test_fmus_of_others_are_compiled_into_one_unit(fmi, tmp_path, monkeypatch):
    """Two of the same names, in their own units, types and steps; steps that pass over their points have pieces."""
    monkeypatch.setenv(ALLOW, "1")
    tiny(tmp_path)
    text = text_of("units/tiny_system.toml")
    loaded = system(text, tmp_path)
    unit, one = hosted(loaded, tmp_path / "tinies.fmu", fmi), loaded.build().instantiate()
    one.initialise()
    one.t = 0.0
    names = [v.name for v in one.model.select("output")]
    for step, n in ((2e-3, 8000), (0.02, 800)):
        made = fmpy.simulate_fmu(str(unit), stop_time=step * n, step_size=step, output_interval=step, output=names)
        assert len(made) == n + 1
        assert made["b.n"][-1] == 4000
        if step == 2e-3:
            fine = made
            stepped(one, 400, step)
            np.testing.assert_allclose([made[n][400] for n in names], one.y, rtol=1e-9, atol=1e-12)  # FMPy multiplies
            assert made["b.y"][-1] > 3.0
        else:
            for name in ("a.y", "a.n"):
                np.testing.assert_allclose(made[name], fine[name][::10], rtol=1e-9)


def test_a_failed_step_of_an_fmu_within_a_unit_ends_the_run_and_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW, "1")
    tiny(tmp_path)
    loaded = system(text_of("units/tiny_system.toml").replace('"cycle.cycle.v -> a.u", ', ""), tmp_path)
    one = Hosted(hosted(loaded, tmp_path / "tinies.fmu")).start()
    one.set("a.u", 60.0)
    with pytest.raises(FMICallException) as error:
        one.step(h=0.01)
    assert error.value.status == ERROR
    assert [text for _, _, text in one.log][:2] == [
        "a: u = 216 is above 200",
        "a: the FMU failed in its step at t = 0.01 s",
    ]
    assert "the simulation is over" in one.log[2][2]
    one.fmi.reset()
    one.start()
    one.step(h=0.01)


@mistakes
def test_sources_that_cannot_be_within_a_unit(changes, without, said, tmp_path, monkeypatch):
    tiny(tmp_path, *changes, without=without)
    loaded = system(text_of("units/tiny_system.toml"), tmp_path)
    with pytest.raises(InputError, match=r"components.a.fmu = 'tiny.fmu': permission to compile"):
        export_native(loaded, "system", tmp_path / "whole.fmu")
    monkeypatch.setenv(ALLOW, "1")
    refused(r"components.a.fmu = 'tiny.fmu': " + said, export_native, loaded, "system", tmp_path / "whole.fmu")
    assert not (tmp_path / "whole.fmu").exists()


@mistakes
def test_fmus_of_fmi_3_that_cannot_be_within_a_unit(file, old, new, said, tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW, "1")
    given = export_native(load_unit(DATA / "units" / "foreign_law.toml"), "rigid", tmp_path / "given.fmu", fmi=3)
    with zipfile.ZipFile(given) as archive, zipfile.ZipFile(tmp_path / "tcu.fmu", "w") as changed:
        for name in archive.namelist():
            text = archive.read(name)
            assert name != file or old.encode() in text
            changed.writestr(name, text.replace(old.encode(), new.encode()) if name == file else text)
    loaded = system(text_of("units/foreign_system.toml"), tmp_path)
    refused(f"components.tcu.fmu = 'tcu.fmu': {said}", export_native, loaded, "system", tmp_path / "whole.fmu")
