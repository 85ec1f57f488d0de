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
variable RTCVT_ALLOW_CODE=1. When it is read, the file and a first call of each function, at zero, have 30 s. Nothing
limits later calls: a law that loops for ever is killed 30 s after Ctrl-C, or at a second one; in a notebook and on
Windows only the end of the process stops it.
"""

import ast
import ctypes
import hashlib
import inspect
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from rtcvt.environment import ALLOW
from rtcvt.errors import InputError
from rtcvt.files import read_text
from rtcvt.kernel import OK, kernel
from rtcvt.law import contract, kernels
from rtcvt.law.in_c import LAW, Form, compiled, is_number
from rtcvt.law.kernels import D
from rtcvt.lazily import lazily
from rtcvt.model.places import entry

TRIAL_TIME = 30.0  # of the file, and of a first call [s]
GUARD = 8  # places behind an array that a trial watches
ARGUMENTS = [*LAW.read, *LAW.written]
KERNELS = ("values", "following", "begin", "initialise", "derivative", "output", "advance", "step")
_require_subset = lazily("rtcvt.fmu.translate:require_subset")


def law(t, h, u, p, x, y, new):
    """Of the file."""


@kernel
def values(t, h, x, u, p, data, y, r):
    """Outputs at a sample."""
    n = entry(D.N_S, data)
    law(t, h, u, p, x[0:n], y, r[entry(D.RESULTS, data) : entry(D.RESULTS, data) + n])


@kernel
def following(t, h, x, u, p, data, y, new, r):
    """Outputs, and states at the next sample; returns the status."""
    law(t, h, u, p, x[0 : entry(D.N_S, data)], y, new)
    return OK


def kernels_of(path: Path, in_c: bool, sizes: dict[str, int], error: Callable[[str], InputError]) -> ModuleType:
    """`initialise`, `derivative`, `output` and `step` of a law in a file, in C (`rtcvt.law.in_c`) or Python; `contract`
    is true of four functions in C, `opaque` of C without derivatives.

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
            calls, in_kernels = compiled(path, text, sizes, error)
            found = _around_c(tuple(in_kernels.items()))
        else:
            found = _loaded(path, text)
            given = found.law
            if not hasattr(given, "py_func") or [*inspect.signature(given.py_func).parameters] != ARGUMENTS:
                raise TypeError(f"it has no kernel law({', '.join(ARGUMENTS)})")
            _require_subset(given, ["float64"] * 2 + ["constants"] * 2 + ["array"] * 3)
            _require_places(text, {**sizes, "new": sizes["x"]})
            calls = {"law": (LAW, given.py_func)}
        for name, (form, call) in calls.items():
            _try(name, form, call, {**sizes, "new": sizes["x"], "dx": sizes["x"]}, GUARD if in_c else 0)
    except InputError:
        raise
    except (Exception, SystemExit) as failure:
        raise error(f"a law: {type(failure).__name__}: {failure}") from None
    return found


def _try(name: str, form: Form, call: Callable[..., Any], sizes: dict[str, int], room: int) -> None:
    """Call a function at zero, and refuse it if it leaves a place out or writes beyond the end: in Python, without
    `room`, an error."""
    n = {a: 0 if is_number(a) else sizes[a.removesuffix("_dot")] for a in (*form.read, *form.written)}
    given = [float(a == "h") if is_number(a) else np.zeros(n[a]) for a in form.read]
    written = [np.full(n[a] + room, np.inf) for a in form.written]
    _in_time(call, *given, *written)
    for a, found in zip(form.written, written, strict=True):
        for k in range(len(found)):
            if np.isposinf(found[k]) == (k < n[a]):
                does = f"does not write {a}[{k}]" if k < n[a] else f"writes {a}[{k}], beyond its end"
                raise ValueError(f"{'it' if name == 'law' else name} {does}")


def _in_time(call: Callable[..., Any], *given: Any) -> None:
    """Call a function of the file in a thread, so that one which does not return is refused; in Python it is ended."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with np.errstate(all="ignore"):
                call(*given)
        except BaseException as failure:
            failed.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(TRIAL_TIME)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
        raise TimeoutError(f"it does not return in {TRIAL_TIME:g} s")
    for failure in failed:
        raise failure


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
    _in_time(exec, compile(text, str(path), "exec"), vars(theirs))
    return _around(digest, {"law": vars(theirs).get("law")})


@cache
def _around_c(functions: Any) -> ModuleType:
    """The kernels around the functions of a file in C."""
    given, external = dict(functions), functions[0][1].external
    four = "law" not in given
    found = _around(
        external.prefix, {f"c_{k}": v for k, v in given.items()} if four else given, contract if four else None
    )
    vars(found).update(opaque=not external.dots, contract=four)
    return found


def _around(digest: str, given: dict[str, Any], pattern: ModuleType | None = None) -> ModuleType:
    """The kernels around functions that are `given`."""
    own = ModuleType(f"rtcvt.law.of_{digest}", "A law in a file of its own.")
    sys.modules[own.__name__] = own
    part = vars(own)
    part.update(given, opaque=False, contract=False)
    first = globals() if pattern is None else vars(pattern)
    for name in KERNELS:
        source = first if hasattr(first.get(name), "py_func") else vars(kernels)
        code = source[name].py_func.__code__
        part.update({used: source[used] for used in code.co_names if used in source and used not in (*KERNELS, *given)})
        part[name] = kernel(FunctionType(code, part, name))
    return own
