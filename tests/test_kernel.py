"""The disk cache of compiled kernels notices a change of any kernel, not only of the one that is called."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import rtcvt

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
