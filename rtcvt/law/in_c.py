"""Laws in C: a function in a file next to the one that names it::

    [components.tcu.law]
    c = "my_law.c"
    ...

with the rest of the table as in `rtcvt.law.code`, and in ``my_law.c``::

    void law(double t, double h, const double *u, const double *p, const double *x, double *y, double *new)
    {
        y[0] = x[0] + 1e4;
        new[0] = x[0] + h * p[0] * (u[0] - 0.02);
    }

It writes all outputs `y` and all states at the next sample, `new`. Memory of its own between calls would be shared by
instances. The file is compiled when it is read (extra ``native``), and again in an exported unit, with the same flags:
without contraction, so with the same bits but for functions of the C library, which differ between platforms.
Directional derivatives do not pass through it.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from rtcvt.errors import InputError
from rtcvt.lazily import lazily

HEAD = "void law(double t, double h, const double *u, const double *p, const double *x, double *y, double *new)"
_shared_library = lazily("rtcvt.fmu.native.compiler:shared_library")
_external = lazily("rtcvt.fmu.translate:External")


def compiled(path: Path, text: str, sizes: dict[str, int], error: Callable[[str], InputError]) -> tuple[Any, Any, Any]:
    """The law of a file: as a function of Python, as one that kernels call, and as what C needs to know of it.

    Raises
    ------
    InputError
        The compiler refuses the file, or there is no such function in it.
    """
    name = path.name.translate({ord(c): "_" for c in '"\\\n'})
    source = f'{HEAD};\n#line 1 "{name}"\n{text}'
    return _linked(_shared_library(source, "law", error), source, *(sizes[name] for name in "upxy"))


@cache
def _linked(library: Path, source: str, *sizes: int) -> tuple[Any, Any, Any]:
    function = ctypes.CDLL(os.fspath(library)).law
    function.argtypes, function.restype = [ctypes.c_double] * 2 + [ctypes.c_void_p] * 5, None
    symbol = f"rtcvt_{library.stem}_law"
    binding.add_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)

    def call(t: float, h: float, *arrays: Any) -> None:
        function(t, h, *(a.ctypes.data for a in arrays))

    in_kernels = call if config.DISABLE_JIT else intrinsic(_calling(symbol))  # type: ignore[attr-defined]
    return call, in_kernels, _external(f"rtcvt_{library.stem}_", source, sizes)


def _calling(symbol: str) -> Any:
    """The call of a function by its name, with the addresses of arrays."""

    def typed(typing: Any, t: Any, h: Any, u: Any, p: Any, x: Any, y: Any, new: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pairs = zip(signature.args[2:], args[2:], strict=True)
            arrays = [make_array(kind)(context, builder, a) for kind, a in pairs]
            given = [*args[:2], *(array.data for array in arrays)]
            made = ir.FunctionType(ir.VoidType(), [a.type for a in given])
            builder.call(cgutils.get_or_insert_function(builder.module, made, symbol), given)
            return context.get_dummy_value()

        return types.void(t, h, u, p, x, y, new), code

    return typed
