"""Laws in C: functions in a file next to the one that names it::

    [components.tcu.law]
    c = "my_law.c"
    ...

with the rest of the table as in `rtcvt.law.code`, and in ``my_law.c`` one function::

    void law(double t, double h, const double *u, const double *p, const double *x, double *y, double *new)
    {
        y[0] = x[0] + 1e4;
        new[0] = x[0] + h * p[0] * (u[0] - 0.02);
    }

or the four of `rtcvt.model`, of which two return a status: 0, 1 where a limit is active, 2 where they fail::

    int initialise(const double *p, const double *u, double *x);
    void derivative(double t, const double *x, const double *u, const double *p, double *dx);
    void output(double t, const double *x, const double *u, const double *p, double *y);
    int step(double t, double h, const double *x, const double *u, const double *p, double *new, double *y);

They write all outputs `y` and all states: at the start, `x`, and after the interval h, `new`. The four have x' and
start values of their own, so without a sample time a foreign integrator can advance the states: model exchange.

A function NAME_dot for each gives exact derivatives along directions. It gets what NAME reads, then the directions of
these, then what it writes, the derivatives of what NAME writes::

    void output_dot(double t, const double *x, const double *u, const double *p,
                    double t_dot, const double *x_dot, const double *u_dot, const double *p_dot, double *y_dot);

Without them directional derivatives do not pass through the law.

Memory of its own between calls would be shared by instances. The file is compiled when it is read (extra ``native``),
and again in an exported unit, with the same flags: without contraction, so with the same bits but for functions of the
C library, which differ between platforms.
"""

import ctypes
import os
import re
from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from rtcvt.errors import InputError
from rtcvt.lazily import lazily


class Form(NamedTuple):
    """Form of a function."""

    read: tuple[str, ...]
    written: tuple[str, ...]
    status: bool = False  # it returns one

    @property
    def dot(self) -> "Form":
        """That of its derivatives."""
        return Form((*self.read, *(f"{a}_dot" for a in self.read)), tuple(f"{a}_dot" for a in self.written))

    def head(self, name: str) -> str:
        """Declaration in C."""
        given = [f"{'double ' if is_number(a) else 'const double *'}{a}" for a in self.read]
        given += [f"double *{a}" for a in self.written]
        return f"{'int' if self.status else 'void'} {name}({', '.join(given)});"


def is_number(argument: str) -> bool:
    """Whether an argument is no array."""
    return argument.removesuffix("_dot") in ("t", "h")


LAW = Form(("t", "h", "u", "p", "x"), ("y", "new"))
FOUR = {
    "initialise": Form(("p", "u"), ("x",), True), "derivative": Form(("t", "x", "u", "p"), ("dx",)),
    "output": Form(("t", "x", "u", "p"), ("y",)), "step": Form(("t", "h", "x", "u", "p"), ("new", "y"), True),
}  # fmt: skip
_shared_library = lazily("rtcvt.fmu.native.compiler:shared_library")
_external = lazily("rtcvt.fmu.translate:External")
Calls = dict[str, tuple[Form, Callable[..., Any]]]


def compiled(path: Path, text: str, sizes: dict[str, int], error: Callable[[str], InputError]) -> tuple[Calls, Any]:
    """The functions of a file by name: in Python, derivatives included, and as kernels call them.

    Raises
    ------
    InputError
        The compiler refuses the file, or a function is missing.
    """
    said = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    named = {name for name in ("law", *FOUR, *(f"{name}_dot" for name in ("law", *FOUR)))
             if re.search(rf"\b{name}\s*\(", said)}  # fmt: skip
    forms = FOUR if named & {*FOUR} and "law" not in named else {"law": LAW}
    if any(f"{name}_dot" in named for name in forms):
        forms = forms | {f"{name}_dot": form.dot for name, form in forms.items()}
    name = path.name.translate({ord(c): "_" for c in '"\\\n'})
    heads = "\n".join(form.head(of) for of, form in forms.items())
    source = f'{heads}\n#line 1 "{name}"\n{text}'
    return _linked(_shared_library(source, tuple(forms), error), source, tuple(forms.items()), tuple(sizes.items()))


@cache
def _linked(library: Path, source: str, forms: Any, sizes: Any) -> tuple[Calls, Any]:
    loaded, prefix = ctypes.CDLL(os.fspath(library)), f"rtcvt_{library.stem}_"
    calls: Calls = {}
    kernels: dict[str, Any] = {}
    for name, form in forms:
        function = getattr(loaded, name)
        function.argtypes = [ctypes.c_double if is_number(a) else ctypes.c_void_p for a in form.read + form.written]
        function.restype = ctypes.c_int if form.status else None
        calls[name] = form, _in_python(function)
        if not name.endswith("_dot"):
            symbol = prefix + name
            binding.add_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)
            made: Any = calls[name][1] if config.DISABLE_JIT else intrinsic(_calling(symbol, form))  # type: ignore[attr-defined]
            made.external = _external(prefix, source, name, form, sizes, f"{name}_dot" in dict(forms))
            kernels[name] = made
    return calls, kernels


def _in_python(function: Any) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        return function(*(a.ctypes.data if hasattr(a, "ctypes") else a for a in given))

    return call


def _calling(symbol: str, form: Form) -> Any:
    """The call of a function by its name, with the addresses of arrays."""
    result = types.int64 if form.status else types.void

    def typed(typing: Any, *kinds: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pairs = zip(signature.args, args, strict=True)
            given = [a if kind == types.float64 else make_array(kind)(context, builder, a).data for kind, a in pairs]
            made = ir.FunctionType(ir.IntType(32) if form.status else ir.VoidType(), [a.type for a in given])
            found = builder.call(cgutils.get_or_insert_function(builder.module, made, symbol), given)
            return builder.sext(found, ir.IntType(64)) if form.status else context.get_dummy_value()

        return result(*kinds), code

    names = ("typing", *form.read, *form.written)
    typed.__signature__ = Signature([Parameter(a, Parameter.POSITIONAL_OR_KEYWORD) for a in names])  # type: ignore[attr-defined]
    return typed
