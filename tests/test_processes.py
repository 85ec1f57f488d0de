"""No process that rtcvt starts, nor its own, has the current folder on its module path."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rows import script, tables

from rtcvt import module_path

NAMES = (*tables("attacks.toml")["modules"], "concurrent", "pydantic")
STARTS = script("processes", "starts")
STOPPED = script("processes", "stopped")
SCRIPT = script("processes", "script")


@pytest.fixture
def planted(tmp_path):
    """A folder with modules that say that they ran."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("import sys\nsys.stderr.write(f'{__name__} ran')\nraise SystemExit(9)\n")
    return tmp_path


def python(folder, *words, **environment):
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert " ran" not in done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_child_runs_what_lies_in_the_current_folder(planted):
    """The command's own process, a program, a compiler, a pool and a cluster, which is all that starts any."""
    (planted / "rtcvt").write_text(STARTS)
    found = eval(python(planted, "./rtcvt", PYTHONPATH=os.pathsep.join(["", ".", "/elsewhere"])))
    assert len(found) == 5
    for path in found:
        assert not {"", ".", str(planted)} & set(path)
        assert "/elsewhere" in path


def test_a_signal_while_a_cluster_starts_leaves_nothing(tmp_path):
    (tmp_path / "script.py").write_text(STOPPED)
    home = tmp_path / "home"
    home.mkdir()
    words = [sys.executable, "script.py"]
    done = subprocess.run(words, cwd=tmp_path, env=os.environ | {"TMPDIR": str(home)}, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (1, b"error: SIGTERM\n")
    assert not list(home.iterdir())


@pytest.mark.parametrize("path", ["", f"{os.pathsep}./x/.."])
def test_a_module_of_rtcvt_runs_nothing_of_the_current_folder(planted, path):
    assert "bearing" in python(planted, "-m", "rtcvt", "show", "clutch", PYTHONPATH=path)


def test_a_script_that_imports_rtcvt_keeps_its_path(tmp_path):
    """Its pools have it, too; its other children have not, and its environment is as it was."""
    (tmp_path / "mine.py").write_text("one = 1\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    python(tmp_path, "script.py")


def test_a_folder_that_is_named_in_full_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), "./", "lib", ""]))
    assert module_path.environment()["PYTHONPATH"] == os.pathsep.join([str(tmp_path), "lib"])
    monkeypatch.setenv("PYTHONPATH", ".")
    assert "PYTHONPATH" not in module_path.environment()


STARTERS = r"subprocess\.(run|Popen|call|check_\w+|getoutput)\b|ProcessPoolExecutor\(|LocalCluster\(" \
           r"|multiprocessing\.P|os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*)\(|create_subprocess"  # fmt: skip


def test_processes_are_started_in_one_module():
    root = Path(__file__).parents[1]
    files = [f for folder in ("rtcvt", "fmu", "hil", "offline") for f in (root / folder).rglob("*.py")]
    assert [f.name for f in files if re.search(STARTERS, f.read_text(encoding="utf-8"))] == ["processes.py"]
