"""Compiled kernels: an edit recompiles what it reaches, literals do not multiply them, compiling is told."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from llvmlite.binding import Linkage
from marks import slow
from numba.core.codegen import JITCodeLibrary
from numba.core.errors import NumbaError
from rows import tables

from rtcvt.kernel import kernel
from rtcvt.numerics.linalg import lu
from rtcvt.offline.belt.compiled import compiled as beltdrive
from rtcvt.offline.nonsmooth.compiled import compiled as nonsmooth
from rtcvt.offline.pushbelt.compiled import compiled as pushbelt

SCRIPT = "from rtcvt.numerics.elementary import cos; print(cos(0.0), cos.stats.cache_hits.total())"
MODULES = tables("cases/kernel.toml")["modules"]
# module, text, its replacement, the value of `total` after it; None: the machine code is still that of it
EDITS = tables("cases/kernel.toml")["edits"]


def total(monkeypatch):
    """The number that the caller gives when all modules are reloaded, and whether its machine code was on disk."""
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    caller, contract, _, _ = map(importlib.import_module, ("caller", "contract", "law", "other_law"))
    value = caller.total(contract.Law(1.0, 2.5), np.array([2.0, 20.0]))
    return value, caller.total.stats.cache_hits.total() == 1


@pytest.mark.parametrize("edit", [*list(EDITS)[:6], *map(slow, list(EDITS)[6:])])
def test_an_edit_recompiles_what_it_reaches_and_nothing_else(tmp_path, monkeypatch, edit):
    module, text, replacement, *value = EDITS[edit]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name, lines in MODULES.items():
        (tmp_path / f"{name}.py").write_text(lines)
    assert total(monkeypatch) == (14.0, False)
    assert total(monkeypatch) == (14.0, True)
    assert text in MODULES[module]
    (tmp_path / f"{module}.py").write_text(MODULES[module].replace(text, replacement))
    assert total(monkeypatch) == ((value[0], False) if value else (14.0, True))


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


def test_what_kernels_called_is_called_from_python_later(tmp_path, monkeypatch):
    """Also from disk, in each order: machine code is made when it is asked for."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    lines = "from rtcvt.kernel import kernel\n@kernel\ndef inner(a):\n    return a + 1.0\n"
    (tmp_path / "floors.py").write_text(lines + "@kernel\ndef outer(a):\n    return 2.0 * inner(a)\n")
    for order in (("outer",), ("outer",), ("inner", "outer"), ("inner",), ("outer", "inner")):
        monkeypatch.delitem(sys.modules, "floors", raising=False)
        floors = importlib.import_module("floors")
        assert [getattr(floors, name)(1.0) for name in order] == [{"outer": 4.0, "inner": 2.0}[n] for n in order]
    for file in tmp_path.rglob("*.nbc"):
        file.unlink()
    for order, found in ((("outer",), 0), (("inner",), 0), (("outer",), 1), (("inner",), 1)):
        monkeypatch.delitem(sys.modules, "floors", raising=False)
        floors = importlib.import_module("floors")
        assert [getattr(floors, name)(1.0) for name in order] == [{"outer": 4.0, "inner": 2.0}[n] for n in order]
        assert getattr(floors, order[0]).stats.cache_hits.total() == found


def test_functions_of_machine_code_are_its_own(monkeypatch):
    """What kernels for Python call is theirs, also by name, by which the loader knows all functions of a process."""
    before_inlining = {}

    def optimize(library):
        made = library._final_module.functions
        before_inlining[library] = [(f.name, f.linkage) for f in made if not f.is_declaration]
        return numbas(library)

    numbas = JITCodeLibrary._optimize_final_module
    monkeypatch.setattr(JITCodeLibrary, "_optimize_final_module", optimize)

    def factors(w):
        lu(2, w, 0, 8)
        lu(2, w, 4, 10)

    of_kernels, of_models = kernel(factors), nonsmooth(factors)
    given = np.array([4.0, 2.0, 1.0, 3.0, 1.0, 2.0, 4.0, 3.0, 0.0, 0.0, 0.0, 0.0])
    results = []
    for compiled in (of_kernels, of_models, lambda w: lu.py_func(2, w, 0, 8) or lu.py_func(2, w, 4, 10)):
        results.append(given.copy())
        compiled(results[-1])
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    [made] = of_kernels.overloads.values()
    inner = [name for name, linkage in before_inlining[made.library] if linkage == Linkage.internal]
    assert any("lu" in name for name in inner)
    assert all(" in " in name for name in inner)


def test_views_and_elements_count_from_the_first():
    @kernel
    def parts(n, a, b):
        inner = a[2:5]
        rest = a[n:]
        for i in range(len(inner)):
            b[i] = inner[i]
        for i in range(len(rest)):
            b[3 + i] += rest[i]
        return len(rest)

    a, b, c = np.arange(8.0), np.zeros(8), np.zeros(8)
    assert parts(4, a, b) == parts.py_func(4, a, c) == 4
    assert np.array_equal(b, c)
