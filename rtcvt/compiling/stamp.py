"""Which machine code on disk is that of a kernel as it is now.

Numba looks only at the file of the function itself, although the machine code of the kernels that it calls is inlined.
Here the machine code is stamped with all that numba freezes in it: the bytecode and options of the kernel and of the
kernels that it reaches, constants by value, places of an enumeration, fields of records, and, for a function whose
kernel is chosen by the type of an argument, the kernels of the types that occur; and with the way in which it is
compiled (`rtcvt.compiling.dispatcher`). An edit of anything else recompiles nothing. Nothing is read when modules are
imported. The files are those of `rtcvt.compiling.machine_code`.
"""

import hashlib
import inspect
import pickle
import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from rtcvt.compiling.machine_code import Files, tell

_LIBRARIES = {"builtins", "math", "numba", "numpy", "typing"}  # their version is numba's concern
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def stamped(compiled: Any, implementation: type[CompileResultCacheImpl] = CompileResultCacheImpl) -> Any:
    """Keep the machine code of a kernel on disk, tied to all that it was made from."""
    try:
        compiled._cache = _Cache(compiled, implementation(compiled.py_func))
    except RuntimeError as error:  # no folder can be written
        tell("machine code cannot be kept and is compiled each time: %s", error)
    return compiled


class _Cache(NullCache):
    """The cache of one kernel, from which numba requests machine code."""

    def __init__(self, compiled: Any, implementation: CompileResultCacheImpl) -> None:
        self._compiled = compiled
        self._impl = implementation
        base = self._impl.filename_base
        if "<locals>" not in compiled.py_func.__qualname__:  # independent of its place in the module
            base = base.replace(f"-{compiled.py_func.__code__.co_firstlineno}.py", ".py")
        module = compiled.py_func.__module__
        if Path(compiled.py_func.__code__.co_filename).stem != module.rpartition(".")[2]:  # see `rtcvt.model.frame`
            base = f"{module}.{base.partition('.')[2]}"  # several modules have a copy of it
        self._files = Files(Path(self.cache_path), base)

    @property
    def cache_path(self) -> str:
        return str(self._impl.locator.get_cache_path())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        data = self._files.load(key)
        if data is not None:
            try:
                return self._impl.rebuild(target_context, pickle.loads(data))
            except Exception:  # of another library, for one
                self._files.refuse(key)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._impl.check_cachable(data):
            key, stamp = self._key(sig, data.codegen), _Graph(self._compiled, []).digest()
            self._files.save(key, stamp, dumps(self._impl.reduce(data)))

    def _key(self, sig: Any, codegen: Any) -> str:
        made_of = _Graph(self._compiled, sig).digest(_ADDRESS.sub("", str(sig)), repr(codegen.magic_tuple()))
        variant = getattr(self._impl, "variant", "")
        return hashlib.sha256(f"{numba.__version__} {variant} {made_of}".encode()).hexdigest()


class _Graph:
    """Kernels that a kernel calls with given argument types, and the constants frozen in them."""

    def __init__(self, compiled: Any, kinds: Any) -> None:
        self.frozen: list[str] = []
        self._seen: set[int] = set()
        self._choices: list[dict[type, Any]] = []  # kernels by the type of an argument
        self._types: list[type] = []
        for found in _of_type(kinds):
            self._add(found)
        self._add(compiled)

    def digest(self, *more: str) -> str:
        return hashlib.sha256("\n".join([*more, *self.frozen]).encode()).hexdigest()

    def _add(self, value: Any) -> None:
        """Add a value that a kernel uses, and all values that it refers to, in the order of traversal."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic, Enum)):
                self.frozen.append(repr(value))
            elif isinstance(value, np.ndarray):
                self.frozen.append(f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
            elif isinstance(value, tuple):
                waiting += [*value, type(value)] if type(value) is not tuple else value
            elif id(value) not in self._seen:
                self._seen.add(id(value))
                waiting += self._object(value)

    def _object(self, value: Any) -> Iterator[Any]:
        """Freeze a named object; yields the values that it refers to."""
        kernel = getattr(value, "py_func", None)
        if kernel is not None:
            options = {**value.targetoptions, "pipeline": value._compiler.pipeline_class}
            code, names = _frozen_code(kernel.__code__)
            self.frozen.append(f"{_name(kernel)} {sorted(map(_option, options.items()))} {code}")
            yield from _values(kernel, names)
        elif isinstance(value, type):
            self.frozen.append(f"{_name(value)} {getattr(value, '_fields', '')}")
            self._types.append(value)
            yield from getattr(value, "_field_defaults", {}).values()
            yield from (kernels[value] for kernels in self._choices if value in kernels)
        elif isinstance(kernels := getattr(value, "kernels", None), dict):
            self.frozen.append(_text(value.__class__))
            self._choices.append(kernels)
            yield from (kernels[kind] for kind in self._types if kind in kernels)
        elif isinstance(value, (FunctionType, BuiltinFunctionType)):
            self.frozen.append(_text(value))  # numba has its own implementation of it, in the same module
        else:
            self.frozen.append(_name(type(value)))


def _values(function: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """Values of the names in a kernel: globals, cells, and attributes of modules and classes."""
    scope = function.__globals__
    cells = {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)}
    owners = []
    for name in names:
        value = cells[name] if name in cells else scope.get(name, scope)
        if isinstance(value, ModuleType) or (isinstance(value, type) and issubclass(value, Enum)):
            owners.append(value)
        elif value is not scope:
            yield value
    while owners:
        owner = owners.pop()
        for name in names:
            value = getattr(owner, name, owners)
            if isinstance(value, ModuleType):
                owners.append(value)
            elif value is not owners:
                yield value


@cache
def _frozen_code(code: CodeType) -> tuple[str, tuple[str, ...]]:
    """Digest of the bytecode and constants, docstring left out, and the names in a function and its inner functions."""
    inner = [_frozen_code(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    named = not code.co_name.startswith("<") and code.co_flags & getattr(inspect, "CO_HAS_DOCSTRING", code.co_flags)
    plain = [
        sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
        for constant in code.co_consts
        if not isinstance(constant, CodeType)
    ]
    if named and plain and isinstance(plain[0], str):  # the docstring
        plain[0] = None
    parts = [code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, plain, inner]
    names = dict.fromkeys([*code.co_names, *code.co_freevars, *(name for each in inner for name in each[1])])
    return hashlib.sha256(repr(parts).encode()).hexdigest(), tuple(names)


def _of_type(kind: Any) -> Iterator[Any]:
    """Classes of records and kernels in the type, or types, of arguments."""
    if isinstance(kind, (tuple, list)):
        for each in kind:
            yield from _of_type(each)
        return
    if isinstance(kind, numba.types.Dispatcher):
        yield kind.dispatcher
    yield from filter(None, [getattr(kind, "instance_class", None)])
    yield from _of_type(tuple(getattr(kind, "types", ())))


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _option(item: tuple[str, Any]) -> str:
    name, value = item
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    return f"{name}={_name(value) if isinstance(value, type) else value}"


@cache
def _text(value: Any) -> str:
    """Name and, outside of libraries, the text of the module of a function or class."""
    module = value.__module__ or "builtins"
    if module.split(".")[0] in _LIBRARIES:
        return _name(value)
    file = inspect.getsourcefile(value)
    return f"{_name(value)} {hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ''}"
