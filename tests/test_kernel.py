"""Compiled kernels: the disk cache notices a change of any kernel, literals do not multiply them, compiling is told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rtcvt
from offline.beltdrive.compiled import compiled as beltdrive
from offline.pushbelt.compiled import compiled as pushbelt
from rtcvt.kernel import kernel

SCRIPT = "from rtcvt.elementary import cos; print(cos(0.0), cos.stats.cache_hits.total())"


def test_a_changed_callee_recompiles_its_callers(tmp_path):
    source = Path(rtcvt.__file__).parent
    shutil.copytree(source, tmp_path / "rtcvt", ignore=shutil.ignore_patterns("__pycache__"))
    module = tmp_path / "rtcvt" / "linalg.py"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    def hits():
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
        value, count = done.stdout.split()
        assert value == "1.0"
        return int(count)

    assert hits() == 0
    assert hits() == 1
    module.write_text(module.read_text() + "\n# another kernel module changed\n")
    assert hits() == 0


@pytest.mark.parametrize("compiled", [kernel, beltdrive, pushbelt])
def test_a_literal_is_a_number_like_any_other(compiled):
    @compiled
    def scaled(n, a):
        return n * a[0]

    @compiled
    def both(a):
        return scaled(2, a) + scaled(3, a)

    assert both(np.array([0.5])) == 2.5
    assert len(scaled.signatures) == 1


def test_the_command_line_says_once_that_it_compiles(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        command = [sys.executable, "-c", "import rtcvt.cli\n" + SCRIPT]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
        said.append(done.stderr.count("compiling"))
    assert said == [1, 0]
