"""Compiled kernels: the disk cache notices a change of any kernel, literals do not multiply them, compiling is told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

import rtcvt
from rtcvt.kernel import kernel
from rtcvt.offline.beltdrive.compiled import compiled as beltdrive
from rtcvt.offline.nonsmooth.compiled import compiled as nonsmooth
from rtcvt.offline.pushbelt.compiled import compiled as pushbelt

SCRIPT = "from rtcvt.elementary import cos; print(cos(0.0), cos.stats.cache_hits.total())"
CONTACT = """
import numpy as np
from rtcvt.offline.nonsmooth.contact import contact_problem, fixed_point, _sweeps as kernel
found = fixed_point(contact_problem(np.eye(2), np.array([-1.0, 0.5]), np.array([0.2]), np.zeros(1)))
print(found.L[1], kernel.stats.cache_hits.total())
"""


def copied(tmp_path, *packages):
    """Copies of packages that a fresh interpreter imports before the installed ones, and its environment."""
    for package in packages:
        source = Path(package.__file__).parent
        shutil.copytree(
            source, tmp_path.joinpath(*package.__name__.split(".")), ignore=shutil.ignore_patterns("__pycache__")
        )
    return {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}


def ran(script, environment, tmp_path):
    """The two numbers that a script prints: a result, and how often its kernel came from disk."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    value, hits = done.stdout.split()
    return float(value), int(hits)


def test_a_changed_callee_recompiles_its_callers(tmp_path):
    environment = copied(tmp_path, rtcvt)
    module = tmp_path / "rtcvt" / "linalg.py"
    assert ran(SCRIPT, environment, tmp_path) == (1.0, 0)
    assert ran(SCRIPT, environment, tmp_path) == (1.0, 1)
    module.write_text(module.read_text() + "\n# another kernel module changed\n")
    assert ran(SCRIPT, environment, tmp_path) == (1.0, 0)


def test_a_changed_law_of_friction_never_runs_as_it_was(tmp_path):
    environment = copied(tmp_path, rtcvt, rtcvt.offline)
    module = tmp_path / "rtcvt" / "offline" / "nonsmooth" / "proximal.py"
    law, _ = ran(CONTACT, environment, tmp_path)
    assert law == pytest.approx(-0.2)  # friction coefficient times the normal impulse
    assert ran(CONTACT, environment, tmp_path) == (law, 1)
    text = module.read_text()
    assert "        return -radius\n" in text
    module.write_text(text.replace("        return -radius\n", "        return -0.5 * radius\n"))
    changed, hits = ran(CONTACT, environment, tmp_path)
    assert (changed, hits) == (pytest.approx(-0.1), 0)


@pytest.mark.parametrize("compiled", [kernel, beltdrive, nonsmooth, pushbelt])
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


def test_a_kernel_that_allocates_does_not_compile():
    @kernel
    def allocates(n):
        return np.empty(n)[0]

    with pytest.raises(NumbaError):
        allocates(3)
