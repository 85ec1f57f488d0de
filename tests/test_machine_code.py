"""Machine code on disk: whatever happened to the file, a kernel is right; it is compiled again, with one message."""

import importlib
import os
import subprocess
import sys
import time

import pytest
from rows import script

from rtcvt.compiling import dispatcher, machine_code
from rtcvt.compiling.machine_code import Files

KERNELS = script("machine_code", "kernels")
IMPORT = "import kernels; assert kernels.twice(3.0) == 6.0; print(kernels.twice.stats.cache_hits.total())"


@pytest.fixture
def twice(tmp_path, monkeypatch):
    """Calls a kernel in its module imported again; whether its machine code was on disk."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(machine_code, "_told", set())

    def call():
        monkeypatch.delitem(sys.modules, "kernels", raising=False)
        importlib.invalidate_caches()
        found = importlib.import_module("kernels").twice
        assert found(3.0) == 6.0
        return found.stats.cache_hits.total() == 1

    assert not call()
    assert call()
    return call


def test_another_way_to_compile_makes_other_machine_code(twice, monkeypatch):
    monkeypatch.setattr(dispatcher, "_policy", lambda: "another")
    assert not twice()
    assert twice()


def test_a_docstring_compiles_nothing(twice, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS.replace("(a):\n", '(a):\n    """Twice a number."""\n'))
    assert twice()
    (tmp_path / "kernels.py").write_text(KERNELS.replace("2.0 * a", "a + a"))
    assert not twice()


def _bit(data):
    return data[:-40] + bytes([data[-40] ^ 4]) + data[-39:]


@pytest.mark.parametrize(
    "damage", [lambda d: b"", lambda d: d[: len(d) // 2], lambda d: bytes(len(d)), _bit, lambda d: d + b"x"],
    ids=["empty", "half", "zeros", "a bit", "longer"],
)  # fmt: skip
def test_damaged_machine_code_is_made_anew_and_told_once(twice, tmp_path, caplog, damage):
    (file,) = tmp_path.glob("__pycache__/*.nbc")
    whole = file.read_bytes()
    for _ in range(2):
        file.write_bytes(damage(whole))
        assert not twice()
        assert twice()
    assert caplog.text.count("is damaged and is compiled again") == 1


def test_machine_code_of_another_kernel_is_not_run(twice, tmp_path):
    (file,) = tmp_path.glob("__pycache__/*.nbc")
    other = Files(file.parent, "other.py311")
    other.save("a" * 64, "b" * 64, file.read_bytes()[96:])
    file.write_bytes(next(file.parent.glob("other*")).read_bytes())
    assert not twice()


def test_whole_data_that_are_no_machine_code(twice, tmp_path, monkeypatch, caplog):
    load = Files.load
    monkeypatch.setattr(Files, "load", lambda *a: b"no pickle" if load(*a) else None)
    assert not twice()
    assert "is damaged" in caplog.text


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner here")
def test_machine_code_that_others_can_write_is_not_run(twice, tmp_path, caplog):
    (file,) = tmp_path.glob("__pycache__/*.nbc")
    file.chmod(0o666)
    assert not twice()
    assert "others can write" in caplog.text
    assert twice()
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)
        assert not twice()


def test_nothing_can_be_written(twice, tmp_path, monkeypatch, caplog):
    def full(path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(machine_code, "new_beside", full)
    (file,) = tmp_path.glob("__pycache__/*.nbc")
    file.unlink()
    assert not twice()
    assert not twice()
    assert caplog.text.count("No space left on device") == 1


def test_no_folder_can_be_written(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "file").touch()
    where = {"NUMBA_CACHE_DIR": str(tmp_path / "file"), "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **where}
    )
    assert done.stdout == "0\n", done.stderr
    assert done.stderr.count("machine code cannot be kept") == 1


def test_two_processes_at_once(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    run = {"args": [sys.executable, "-c", IMPORT], "cwd": tmp_path, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(**run) for _ in range(2)]
    assert all(p.communicate()[0] in ("0\n", "1\n") and p.returncode == 0 for p in both)
    assert subprocess.run(**run).stdout == "1\n"


def test_what_a_killed_process_left_is_removed(twice, tmp_path):
    (file,) = tmp_path.glob("__pycache__/*.nbc")
    base = file.name.split(".py3")[0]
    half = file.with_name(f".{file.name}.0123abcd.nbc")
    fresh = file.with_name(f".{file.name}.0123abce.nbc")
    old = file.with_name(file.name[: -len(".nbc")].rpartition(".")[0] + ".1.nbc")  # of another form
    for path in (half, fresh, old):
        path.write_bytes(b"half")
    os.utime(half, (time.time() - 3600,) * 2)
    file.unlink()
    assert not twice()
    assert {p.name for p in file.parent.glob(f"*{base}*.nbc")} == {file.name, fresh.name}
