"""Laws in Python: a kernel in a file next to the one that names it::

    [components.tcu.law]
    python = "my_law.py"
    sample = "10 ms"
    inputs = { slip = "1" }
    parameters = { k = { value = "500 kN/s", unit = "N/s" }, F_0 = { value = "5 kN", unit = "N" } }
    states.more = { unit = "N", start = "F_0" }
    outputs.F = { unit = "N" }

and in ``my_law.py``::

    from rtcvt.kernel import kernel

    @kernel
    def law(t, h, u, p, x, y, new):
        y[0] = x[0] + 1e4
        new[0] = x[0] + h * p[0] * (u[0] - 0.02)

``law`` writes all outputs `y` and all states at the next sample, `new`, at the time t [s] from inputs `u`, parameters
`p` and states `x`, which it does not change; h is the interval between two samples [s]. All are in SI units and in the
order of the file, which gives the start values of the states, too. It keeps to the subset of `rtcvt.kernel`, so that it
becomes C in an exported unit, with the same bits.

A file of this kind is a program, and runs only with permission: ``rtcvt --allow-code simulate ...``, or the environment
variable RTCVT_ALLOW_CODE=1. Nothing limits its time: a law that loops for ever hangs the command.
"""

import ast
import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from rtcvt.environment import ALLOW
from rtcvt.errors import InputError
from rtcvt.files import read_text
from rtcvt.kernel import kernel
from rtcvt.law import kernels
from rtcvt.law.in_c import compiled
from rtcvt.law.kernels import D
from rtcvt.lazily import lazily
from rtcvt.model.places import entry

GUARD = 8  # places behind an array that a trial watches
ARGUMENTS = ["t", "h", "u", "p", "x", "y", "new"]
_require_subset = lazily("rtcvt.fmu.translate:require_subset")


def call(t, h, u, p, x, y, new):
    """Of the file."""


@kernel
def law(t, h, u, p, x, y, new):
    """Of the file, in C."""
    call(t, h, u, p, x, y, new)


@kernel
def values(t, h, x, u, p, data, y, r):
    """Outputs at a sample."""
    n = entry(D.N_S, data)
    law(t, h, u, p, x[0:n], y, r[entry(D.RESULTS, data) : entry(D.RESULTS, data) + n])


@kernel
def following(t, h, x, u, p, data, y, new, r):
    """Outputs, and states at the next sample."""
    law(t, h, u, p, x[0 : entry(D.N_S, data)], y, new)


def kernels_of(path: Path, in_c: bool, sizes: dict[str, int], error: Callable[[str], InputError]) -> ModuleType:
    """`initialise`, `derivative`, `output` and `step` of a law in a file, in C (`rtcvt.law.in_c`) or Python.

    Parameters
    ----------
    path : Path
        The file.
    sizes : dict
        Numbers of inputs u, parameters p, states x and outputs y.
    error : callable
        Gives the error for what is allowed instead of this file.

    Raises
    ------
    InputError
        There is no permission, the file fails, it has no such kernel, or this is outside the subset, reads beyond its
        arrays or leaves something out.
    """
    if os.environ.get(ALLOW) != "1":
        raise error(f"permission to run its code: rtcvt --allow-code COMMAND, or {ALLOW}=1")
    try:
        text = read_text(path)
        if in_c:
            call, in_kernels, external = compiled(path, text, sizes, error)
            found = _around_c(in_kernels, external)
        else:
            found = _loaded(path, text)
            given = found.law
            if not hasattr(given, "py_func") or [*inspect.signature(given.py_func).parameters] != ARGUMENTS:
                raise TypeError(f"it has no kernel law({', '.join(ARGUMENTS)})")
            _require_subset(given, ["float64"] * 2 + ["constants"] * 2 + ["array"] * 3)
            _require_places(text, {**sizes, "new": sizes["x"]})
            call = given.py_func
        arrays = {name: np.zeros(n) for name, n in sizes.items()}
        room = GUARD if in_c else 0  # Python refuses such places
        written = {name: np.full(sizes[of] + room, np.inf) for name, of in (("y", "y"), ("new", "x"))}
        with np.errstate(all="ignore"):
            call(0.0, 1.0, arrays["u"], arrays["p"], arrays["x"], *written.values())
        for (name, a), of in zip(written.items(), ("y", "x"), strict=True):
            for k in range(len(a)):
                if np.isposinf(a[k]) == (k < sizes[of]):
                    does = f"does not write {name}[{k}]" if k < sizes[of] else f"writes {name}[{k}], beyond its end"
                    raise ValueError(f"it {does}")
    except InputError:
        raise
    except (Exception, SystemExit) as failure:
        raise error(f"a law: {type(failure).__name__}: {failure}") from None
    return found


def _require_places(text: str, sizes: dict[str, int]) -> None:
    """Refuse places beyond an array, and assignments to what is given, in branches that a trial does not enter, too."""
    laws = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "law"]
    for node in (node for law in laws[-1:] for node in ast.walk(law) if isinstance(node, ast.Subscript)):
        at, name = getattr(node.slice, "value", None), ast.unparse(node.value)
        if name in sizes and isinstance(at, int) and not 0 <= at < sizes[name]:
            raise IndexError(f"line {node.lineno}: {ast.unparse(node)}, but {name} has {sizes[name]}")
        if name in ("u", "p", "x") and isinstance(node.ctx, ast.Store):
            raise ValueError(f"line {node.lineno}: {ast.unparse(node)} is given; a law writes y and new")


@cache
def _loaded(path: Path, text: str) -> ModuleType:
    """The kernels around the law of a file in Python."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    theirs = ModuleType(f"rtcvt.law.file_{digest}")
    theirs.__file__ = str(path)
    sys.modules[theirs.__name__] = theirs  # where numba looks for cached code
    exec(compile(text, str(path), "exec"), vars(theirs))
    return _around(digest, {"law": vars(theirs).get("law")})


@cache
def _around_c(in_kernels: Any, external: Any) -> ModuleType:
    """The kernels around the law of a file in C."""
    found = _around(external.prefix, {"call": in_kernels})
    found.law.py_func.external = external
    return found


def _around(digest: str, given: dict[str, Any]) -> ModuleType:
    """The kernels around a law that is `given`, or calls what is."""
    own = ModuleType(f"rtcvt.law.of_{digest}")
    sys.modules[own.__name__] = own
    part = vars(own)
    part.update(given)
    names = ("law", "values", "following", "initialise", "derivative", "output", "advance", "step")
    for name in names[len(given.keys() & {"law"}) :]:
        source = globals() if name in globals() else vars(kernels)
        code = source[name].py_func.__code__
        part.update({used: source[used] for used in code.co_names if used in source and used not in (*names, *given)})
        part[name] = kernel(FunctionType(code, part, name))
    return own
