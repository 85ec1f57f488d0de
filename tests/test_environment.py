"""What the process was started with: it works, or one message says why not; files are the same to the byte."""

import inspect
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from refusals import refused
from rows import cases, mistakes

from rtcvt import environment, interface
from rtcvt.clutch import kernels
from rtcvt.environment import docstring, home, library_that_fails, now, require_memory

SECONDS, DATE = "1700000000", (2023, 11, 14, 22, 13, 20)


def started(folder, *words, limit=None, **settings):
    """Exit code and messages of a command with settings; None takes one away."""
    there = {k: v for k, v in {**os.environ, **settings}.items() if v is not None}
    less = None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    command = [sys.executable, "-m", "rtcvt", *words]
    done = subprocess.run(command, cwd=folder, env=there, preexec_fn=less, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr


@mistakes
def test_a_setting_that_nothing_starts_with_is_one_message(tmp_path, name, value):
    code, errors = started(tmp_path, "simulate", "clutch", **{name: value})
    assert code == 2
    assert len(errors.splitlines()) == 1
    assert errors.startswith("error: ")
    assert name in errors
    assert value in errors


@pytest.mark.parametrize("megabytes", [300, 430])
def test_little_memory_is_one_message(tmp_path, megabytes):
    code, errors = started(tmp_path, "simulate", "clutch", limit=megabytes << 20)
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.startswith(f"error: ulimit -v = {megabytes << 10}")


def test_memory_of_data_counts_too(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2**28 if kind == resource.RLIMIT_DATA else -1,) * 2)
    refused("ulimit -d = 262144", require_memory)


@pytest.mark.parametrize("given", ["", "-1", "1e9", "1.5", "٣", "253402300800", "9" * 5000])
def test_a_date_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    refused("seconds since 1970", now)


@pytest.mark.parametrize("given", [None, "relative", "/proc/none", "/dev/null"])
def test_without_a_home_it_is_a_folder_of_the_user(monkeypatch, tmp_path, given):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(environment, "gettempdir", lambda: str(tmp_path))
    if given is None:
        monkeypatch.setattr(Path, "home", unknown)
    else:
        monkeypatch.setenv("HOME", given)
    assert home().parent == tmp_path
    assert home().stat().st_mode & 0o777 == 0o700
    home().chmod(0o777)
    refused("others can write", home)


@pytest.mark.parametrize("of", [kernels, interface.Unit.simulate, started], ids=["module", "method", "function"])
def test_docstrings_are_read_where_python_leaves_them_out(monkeypatch, of):
    written = inspect.cleandoc(of.__doc__)
    monkeypatch.setattr(of, "__doc__", None)
    assert inspect.cleandoc(docstring(of)) == written


def test_errors_of_the_house_are_no_library_s():
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    assert library_that_fails(caught.value) == ""


UNIT = ("export", "clutch", "--backend", "python", "--no-check", "-o", "unit.fmu")


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    """A unit from a plain process that says when it was made."""
    folder = tmp_path_factory.mktemp("plain")
    assert started(folder, *UNIT, SOURCE_DATE_EPOCH=SECONDS)[0] == 0
    return (folder / "unit.fmu").read_bytes()


@cases
def test_settings_change_no_byte_of_a_unit(tmp_path, unit, settings):
    code, errors = started(tmp_path, *UNIT, SOURCE_DATE_EPOCH=SECONDS, **settings)
    assert code == 0, errors
    assert (tmp_path / "unit.fmu").read_bytes() == unit


@pytest.mark.parametrize("words", [pytest.param("export clutch --no-check -o out.fmu", marks=pytest.mark.needs("cc")),
    pytest.param("export clutch --fmi 3 --no-check -o out.fmu", marks=pytest.mark.needs("cc")),
    pytest.param("ssp vehicle_wltc -o out.ssp", marks=pytest.mark.needs("cc")), "plot {run} -o out.svg",
    "plot {run} -o out.pdf"])  # fmt: skip
def test_a_file_of_one_date_is_the_same_to_the_byte(monkeypatch, tmp_path, words, command):
    run = tmp_path / "run.h5"
    assert command("simulate", "clutch", "-o", str(run))[0] == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", SECONDS)
    made = []
    for place in (tmp_path / "a", tmp_path / "deeper" / "b"):
        place.mkdir(parents=True)
        monkeypatch.chdir(place)
        assert command(*words.format(run=run).split())[0] == 0
        made.append(next(place.iterdir()))
    assert made[0].read_bytes() == made[1].read_bytes()
    if zipfile.is_zipfile(made[0]):
        with zipfile.ZipFile(made[0]) as archive:
            assert {member.date_time for member in archive.infolist()} == {DATE}


def test_every_module_is_in_a_package():
    """Or the wheel would not have it."""
    top = Path(__file__).parents[1]
    modules = [path for folder in ("rtcvt", "fmu", "hil", "offline") for path in (top / folder).rglob("*.py")]
    folders = {path.parent for path in modules if "__pycache__" not in path.parts}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
