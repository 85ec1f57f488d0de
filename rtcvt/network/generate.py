"""Generates the kernels of a network from the kernels of its parts.

The text of `rtcvt.network.kernels` is the pattern: between its two rules there is one function for each task of a part,
which here calls the kernel of the part's kind. The resulting module is the same for all networks of these kinds; its
text is in a file too, next to the machine code of numba. The file is never read back.

The step is compiled. `initialise`, `derivative` and `output`, which run once, stay in Python between the compiled
kernels of the parts: their machine code would contain that of all parts once more.
"""

import hashlib
import linecache
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numba.core import config

from rtcvt.environment import home
from rtcvt.model import Model
from rtcvt.model import places as entries
from rtcvt.network import kernels as pattern
from rtcvt.network import places

KernelSet = tuple[tuple[str, Any], ...]  # names of tasks, and the kernel for each

_PARTS = {  # arguments of a part's kernels, and the result without one
    "initialise": ("p, data, u, x, work", "OK"),
    "derivative": ("t, x, u, p, data, dx, work", None),
    "output": ("t, x, u, p, data, y, work", None),
    "cheap_output": ("t, x, u, p, data, y, work", None),
    "step": ("t, h, x, u, p, data, y, work", "OK"),
    "linearise": ("t, x, u, p, data, dx, jac, work", None),
    "again": ("t, x, u, p, data, dx, jac, work", None),
    "port": ("k, x, u, p, data, row, column, work", "0.0"),
    "flange": ("k, x, u, p, data, work", "0.0"),
    "piece": ("x, u, p, data, work", "0.0"),
}
SLICES = {  # of which buffer of the network, and where
    "x": ("x", "X"), "dx": ("dx", "X"), "u": ("work", "IN"), "p": ("p", "P"), "data": ("data", "DATA"),
    "y": ("y", "Y"), "work": ("work", "WORK"), "jac": ("work", "JAC"),
}  # fmt: skip
_IMPORTS = """from rtcvt.model.places import end_of, entry
from rtcvt.network.layout import Part


"""


def kernel_set(model: Model, coupled: bool) -> KernelSet:
    """The kernels that a network needs of a part, with connected flanges or without."""
    owner: Any = model.coupling if coupled else model
    own = ("linearise", "port", "flange", "piece", "cheap_output") if coupled else ("step",)
    always = tuple((what, getattr(model, what)) for what in ("initialise", "derivative", "output"))
    again = (("again", owner.again or owner.linearise),) if coupled else ()
    return (*always, *((what, getattr(owner, what)) for what in own if getattr(owner, what) is not None), *again)


class Interpreted:
    """A kernel of a network as Python, between compiled kernels of the parts."""

    def __init__(self, function: Any, compiled: Any) -> None:
        self._function, self.compiled = function, compiled
        self.py_func = getattr(compiled, "py_func", function)

    def __call__(self, *arguments: Any) -> Any:
        """Call it; divisions by zero give Inf or NaN as in compiled kernels."""
        with np.errstate(all="ignore"):
            return self._function(*arguments)


@cache
def kernels_of(sets: tuple[KernelSet, ...]) -> dict[str, Any]:
    """`initialise`, `derivative`, `output` and `step` of a network by name.

    Parameters
    ----------
    sets : tuple of KernelSet
        Kernels of the parts, each once; a part names its own by the place here.
    """
    text = text_of(sets)
    named = [f"{name} {k.py_func.__module__}.{k.py_func.__qualname__}" for name, k in _given(sets).items()]
    digest = hashlib.sha256("\n".join([text, *named]).encode()).hexdigest()[:16]
    found = module_of(f"of_{digest}", text, _given(sets), "Kernels of networks of these parts: " + ", ".join(named))
    plain = interpret(sets, text)
    interpreted = ("initialise", "derivative", "output")
    return {**{name: Interpreted(plain[name], found[name]) for name in interpreted}, "step": found["step"]}


def module_of(name: str, text: str, given: Mapping[str, Any], about: str) -> dict[str, Any]:
    """What a new module of kernels has: its text calls the kernels `given` by name."""
    file = _written(f"{name}.py", text)
    module = ModuleType(f"rtcvt.network.{name}", about)
    module.__file__ = file
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    sys.modules[module.__name__] = module  # where numba looks for cached code
    vars(module).update(given)
    exec(compile(text, file, "exec"), vars(module))
    return vars(module)


def text_of(sets: Sequence[KernelSet]) -> str:
    """The pattern with the functions of these parts."""
    return text_without(pattern, "parts", "nodes", _IMPORTS + "\n\n".join(_functions(sets)) + "\n\n")


def text_without(module: ModuleType, first: str, last: str, instead: str = "") -> str:
    """Source of a module with other text between the rules of these names."""
    head, rule, rest = _text(module).partition(f"# --- {first} ---")
    return f"{head}{rule}\n{instead}{rest[rest.index(f'# --- {last} ---') :]}"


def interpret(sets: Sequence[KernelSet], text: str) -> dict[str, Any]:
    """Functions of a text of `text_of` as Python, between compiled kernels of the parts."""
    plain = {"__name__": "rtcvt.network.interpreted", **_given(sets)}
    where: dict[str, Any] = {"__name__": places.__name__}
    for source, names in ((text, plain), (_text(entries), plain), (_text(places), where)):
        exec(compile(re.sub("\n@(kernel|inlined)\n", "\n\n", source), "<network>", "exec"), names)
    plain["places"] = SimpleNamespace(**where)  # as Python, as `entry` above, in place of compiled kernels
    return plain


def _text(module: ModuleType) -> str:
    """Source of a module."""
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def _given(sets: Sequence[KernelSet]) -> dict[str, Any]:
    """The kernels of the parts as the text calls them."""
    return {f"{what}_{k}": kernel for k, chosen in enumerate(sets) for what, kernel in chosen}


def _functions(sets: Sequence[KernelSet]) -> Iterator[str]:
    """The functions between the rules."""
    for what, (arguments, default) in _PARTS.items():
        names = arguments.split(", ")
        given = ", ".join(["i", *(name for name in names if name not in ("u", "jac"))])
        lines = ["@kernel", f"def part_{what}({given}):", f'    """`{what}` of the part at i."""']
        calls = {k: what + f"_{k}" for k, chosen in enumerate(sets) if what in dict(chosen)}
        if calls:
            lines.append("    kernels = entry(i + Part.KERNELS, data)")
        for name in (name for name in names if calls and name in SLICES):
            buffer, place = SLICES[name]
            lines.append(f"    own_{name} = {buffer}[entry(i + Part.{place}, data) : end_of(i + Part.{place}, data)]")
        taken = ", ".join(f"own_{name}" if name in SLICES else name for name in names)
        for k, name in calls.items():
            call = f"{name}({taken})"
            lines += [f"    if kernels == {k}:", f"        {call if default is None else f'return {call}'}"]
        if default is not None:
            lines.append(f"    return {default}")
        yield "\n".join([*lines, ""])


def _written(name: str, text: str) -> str:
    """Write a file with this text to the first writable folder; returns its path."""
    folders = [Path(__file__).parent / "__pycache__", home() / ".cache" / "rtcvt"]
    chosen = getattr(config, "CACHE_DIR", "")
    if chosen:
        folders.insert(0, Path(chosen))
    for folder in folders:
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
        except (OSError, ValueError):
            continue
        return str(path)
    return f"<{name}>"
