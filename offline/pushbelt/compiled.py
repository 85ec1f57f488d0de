"""Decorators of the pushbelt's kernels: numba, no object mode, machine code kept on disk.

A sum may be reordered by the compiler; the same binary gives the same bits. NaN and Inf keep their meaning. The arrays
that a kernel gets must not overlap: it is compiled so, since otherwise no loop over more than a few arrays would be
vectorised (SIMD).
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rtcvt.compiling.dispatcher import InnerCompiler, KernelCompiler
from rtcvt.kernel import compiler


class _Distinct(KernelCompiler):
    """Numba's compiler, with the assumption that the arrays of a kernel do not overlap."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()


# no kernel allocates, so that none counts references to the arrays that it passes on
_OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}, "pipeline_class": _Distinct, "_nrt": False}

_CHOICE: Any = {"forceinline": True, "pipeline_class": InnerCompiler}

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

        @overload(self, jit_options=_CHOICE)
        def choose(law: Any, *args: Any) -> Any:
            kind = getattr(law, "instance_class", None)
            if kind is None:
                return None
            kernel = self._kernel_of(kind)

            def call(law: Any, *args: Any) -> Any:
                return kernel(law, *args)

            return call

    def __call__(self, law: Any, *args: Any) -> Any:
        """Result of the kernel of the law's type."""
        return self._kernel_of(type(law))(law, *args)

    def _kernel_of(self, law: type) -> Any:
        if law not in self.kernels:
            raise TypeError(f"{law.__name__} lacks {self.__name__}")  # type: ignore[attr-defined]
        return self.kernels[law]

    def of(self, *laws: type) -> Callable[[Any], Any]:
        """Decorator: the kernel of `laws`."""

        def register(kernel: Any) -> Any:
            self.kernels.update(dict.fromkeys(laws, kernel))
            return kernel

        return register


def by_law(contract: Callable[..., Any]) -> LawFunction:
    """Make a function of contact laws from its contract: a signature and a docstring, without a body."""
    return LawFunction(contract)


class Contract:
    """Requirements on a law of one contact: ``CONTRACT.register(LAW)`` follows the kernels of the law.

    Parameters
    ----------
    *functions : LawFunction
        Functions that a law must have.
    fields : tuple of str
        Parameters of a law that other modules read.
    """

    def __init__(self, *functions: LawFunction, fields: tuple[str, ...] = ()) -> None:
        self.functions = functions
        self.fields = fields

    def adopt(self, law: type, module: Any) -> None:
        """Give `law` the functions of a module whose names are those of missing ones."""
        for f in self.functions:
            name = f.__name__  # type: ignore[attr-defined]
            if law not in f.kernels and hasattr(module, name):
                f.of(law)(getattr(module, name))

    def register(self, *laws: type) -> None:
        """Hold laws to the contract.

        Raises
        ------
        TypeError
            A law lacks a function or a field: its name, and all that are asked for.
        """
        named = {f"{f.__module__.rpartition('.')[2]}.{f.__name__}": f for f in self.functions}  # type: ignore[attr-defined]
        asked = [*named, *(f"the field {name}" for name in self.fields)]
        for law in laws:
            has = [*(law in f.kernels for f in named.values()), *(hasattr(law, name) for name in self.fields)]
            lacks = [name for name, there in zip(asked, has, strict=True) if not there]
            if lacks:
                raise TypeError(f"{law.__name__} lacks {', '.join(lacks)}; this contact asks for {', '.join(asked)}")


def columns(*shape: int) -> NDArray[np.float64]:
    """Zeros of a shape (n, ...), contiguous along n, so that loops over n are vectorised."""
    return np.zeros(shape, order="F")
