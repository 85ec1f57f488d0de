"""Tests that lack a tool are skipped, and fail where the tool is required."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tools
from marks import slow

TEXT = """
import pytest

@pytest.mark.needs("cc")
def test_compiles():
    pass

@pytest.mark.needs("nothing")
def test_of_nothing():
    pass
"""


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setitem(tools.TOOLS, "cc", ("a C compiler", lambda: False))


def test_a_tool_that_is_missing_skips(without, monkeypatch):
    monkeypatch.setattr(tools, "REQUIRED", {"zig"})
    with pytest.raises(pytest.skip.Exception, match=r"^needs a C compiler$"):
        tools.require(["cc"])


def test_a_required_tool_that_is_missing_or_does_not_work_fails(without, monkeypatch):
    monkeypatch.setattr(tools, "REQUIRED", {"cc"})
    with pytest.raises(pytest.fail.Exception, match=r"^needs a C compiler; RTCVT_REQUIRE names cc$"):
        tools.require(["cc"])
    with pytest.raises(pytest.fail.Exception, match=r"does not start; RTCVT_REQUIRE"):
        tools.absent("cc", "does not start")


@pytest.mark.parametrize(
    ("required", "paths", "code", "text"),
    [("", "", 1, "1 skipped, 1 error"), slow("", os.defpath, 1, "1 passed, 1 error"), slow("cc", "", 1, "2 errors"),
     slow("gcc", os.defpath, 4, "RTCVT_REQUIRE: no tool: gcc")],
)  # fmt: skip
def test_the_marker(tmp_path, required, paths, code, text):
    if paths:
        tools.require(["cc"])
    (tmp_path / "test_it.py").write_text(TEXT, encoding="utf-8")
    environment = {**os.environ, "RTCVT_REQUIRE": required, "PATH": paths}
    command = [sys.executable, "-m", "pytest", "-c", str(Path(__file__).parents[1] / "pyproject.toml"),
               f"--confcutdir={Path(__file__).parent}", "-p", "conftest", str(tmp_path / "test_it.py")]  # fmt: skip
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == code, done.stdout
    assert text in done.stdout + done.stderr
