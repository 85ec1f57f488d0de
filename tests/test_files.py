"""Input of others is bounded: regular files of a largest size, no control characters, archives that do not explode.
Temporary folders are not left behind."""

import os
import signal
import tempfile
import warnings
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest
from rows import mistakes

from rtcvt.errors import InputError
from rtcvt.files import LARGEST, opened_archive, read_bytes, temporary_folder
from rtcvt.files.cycle import load_cycle
from rtcvt.hil.can_attachment import read_database
from rtcvt.hil.growing_hdf5 import confirmed_rows
from rtcvt.hil.importer import open_fmu
from rtcvt.interface import error_rows
from rtcvt.kind import load_unit
from rtcvt.offline.pushbelt.run.runfile import Journal
from rtcvt.offline.variator.calibration.calibrate import _Journal
from rtcvt.offline.variator.campaign import state_of
from rtcvt.offline.variator.plan import load_plan, names_of
from rtcvt.recording import read_recording
from rtcvt.scenario import load_scenario
from rtcvt.unitfile import parse_toml, read_toml, read_unit_file

READERS = {read_toml: "toml", load_scenario: "toml", load_cycle: "csv", read_database: "dbc"}


def failed_run(path):
    """Reads why a run of a campaign failed."""
    return state_of(path.parent, names_of(load_plan("quick")[0]))


def journal(path):
    """Reads a calibration's results."""
    return _Journal(path, "key")


@pytest.mark.parametrize(("reader", "name"), [*((reader, f"x.{suffix}") for reader, suffix in READERS.items()),
    (read_recording, "x.h5"), (confirmed_rows, "x.h5"), (lambda path: Journal(path, write=True), "x.partial"),
    (failed_run, "x.failed"), (journal, "x.jsonl"),
    (lambda path: error_rows(load_unit("planetary"), "rigid", {}, path, print), "x.json")])  # fmt: skip
def test_a_pipe_is_refused_without_waiting(tmp_path, reader, name):
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(InputError):
        reader(path)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no /proc")
def test_a_file_that_says_no_only_when_it_is_read_is_refused():
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(Path("/proc/self/mem"))


@pytest.mark.parametrize("reader", [*READERS, read_unit_file])
def test_a_file_that_is_too_large_is_refused(tmp_path, reader):
    path = tmp_path / f"large.{READERS.get(reader, 'toml')}"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(InputError, match="at most 16 MiB"):
        reader(path)


@pytest.mark.parametrize("reader", READERS)
def test_a_folder_is_named(reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        reader(Path("."))
    assert "." in refused.value.parts[:1] or "'.'" in str(refused.value)


@pytest.mark.parametrize("text", [r'description = "a\u0001b"', r'[gears."a\u0000"]', r'a = [{b = "\u001b[2J"}]'])
def test_control_characters_are_refused(text):
    with pytest.raises(InputError, match="control characters"):
        parse_toml(text, "unit.toml")


def test_lines_and_accents_are_allowed():
    assert parse_toml('description = """β\n\tü"""', "unit.toml") == {"description": "β\n\tü"}


def test_an_archive_that_explodes_is_refused_before_it_is_extracted(tmp_path):
    path = tmp_path / "bomb.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("resources/zeros", bytes(2**20))
        archive.infolist()[0].file_size = 513 * 2**20  # what is declared, for a bomb takes long to make
    assert path.stat().st_size < 2**20
    with pytest.raises(InputError, match="at most 10000 files and 512 MiB"), open_fmu(path):
        pass


@mistakes
def test_an_archive_keeps_its_files_apart_and_below_its_folder(tmp_path, names, message):
    path = tmp_path / "x.fmu"
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "w") as archive:
        for k, name in enumerate(names):
            archive.writestr(name, str(k))
    with pytest.raises(InputError, match=message) if message else nullcontext(), opened_archive(path):
        pass


def test_an_archive_of_too_many_files_is_refused(tmp_path):
    path = tmp_path / "many.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(10_001):
            archive.writestr(str(k), b"")
    with pytest.raises(InputError, match="10001 files"), open_fmu(path):
        pass


def test_too_many_gears_are_refused(tmp_path):
    text = read_unit_file("planetary").text
    gear = "inertia = 1.0\naxis = { through = [0.0, 0.0], angle = 0.0 }\n"
    path = tmp_path / "many.toml"
    path.write_text(text + "".join(f"\n[gears.x{k}]\n{gear}" for k in range(10_000)))
    with pytest.raises(InputError, match=r"gears.*at most 100 items"):
        load_unit(path)


class EndedError(Exception):
    """What the handler of a signal raises."""


@pytest.mark.parametrize(("module", "name"), [(tempfile, "mkdtemp"), (os, "unlink")])
def test_a_signal_while_a_folder_is_made_or_removed_leaves_none(tmp_path, monkeypatch, module, name):
    real = getattr(module, name)

    def end(number, frame):
        raise EndedError

    def signalled(*given, **named):
        found = real(*given, **named)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, name, signalled)
    before = signal.signal(signal.SIGINT, end)
    try:
        with pytest.raises(EndedError), temporary_folder() as folder:
            (folder / "file").touch()
        assert signal.getsignal(signal.SIGINT) is end
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []
