"""Decorators of the pushbelt's kernels: numba, no object mode, machine code kept on disk.

A sum may be reordered by the compiler; the same binary gives the same bits. NaN and Inf keep their meaning. The arrays
that a kernel gets must not overlap: it is compiled so, since otherwise no loop over more than a few arrays would take
several elements at a time (SIMD).
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rtcvt.dispatcher import KernelCompiler
from rtcvt.kernel import compiler

__all__ = ["LawFunction", "by_law", "columns", "compiled", "inlined", "spliced"]


class _Distinct(KernelCompiler):
    """Numba's compiler, told that the arrays of a kernel do not overlap."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()


_OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}, "pipeline_class": _Distinct}

compiled = compiler(**_OPTIONS)  # a kernel that is called a few times in a step
# a small one within a loop: its code is put into its callers
inlined = compiler(forceinline=True, **_OPTIONS)


def spliced(function: Any) -> Any:
    """A part of one larger kernel: compiled with its caller only, which saves compile time."""
    return numba.njit(function, inline="always", error_model="numpy", **_OPTIONS)


class LawFunction:
    """A function of contact laws: which kernel runs depends on the type of the first argument, when it is compiled.

    A law is a `NamedTuple` of its parameters; ``@FUNCTION.of(LAW)`` above a kernel makes it that of the law.
    """

    def __init__(self, contract: Callable[..., Any]) -> None:
        self.kernels: dict[type, Any] = {}
        update_wrapper(self, contract)

        @overload(self, jit_options={"forceinline": True})
        def choose(law: Any, *args: Any) -> Any:
            kernel = self.kernels.get(getattr(law, "instance_class", None))  # type: ignore[arg-type]
            if kernel is None:
                return None

            def call(law: Any, *args: Any) -> Any:
                return kernel(law, *args)

            return call

    def __call__(self, law: Any, *args: Any) -> Any:
        """What the kernel of the law's type gives."""
        return self.kernels[type(law)](law, *args)

    def of(self, *laws: type) -> Callable[[Any], Any]:
        """Decorator: the kernel of `laws`."""

        def register(kernel: Any) -> Any:
            self.kernels.update(dict.fromkeys(laws, kernel))
            return kernel

        return register


def by_law(contract: Callable[..., Any]) -> LawFunction:
    """Make a function of contact laws from its contract: a signature and a docstring, without a body."""
    return LawFunction(contract)


def columns(*shape: int) -> NDArray[np.float64]:
    """Zeros of a shape (n, ...), contiguous along n: what loops over n need to take several at a time."""
    return np.zeros(shape, order="F")
