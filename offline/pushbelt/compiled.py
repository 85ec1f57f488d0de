"""Decorators of the pushbelt's kernels: numba, no object mode, machine code kept on disk.

Numba's cache looks only at the file of the function itself, although the machine code of the kernels that it calls is
in it. The cache is therefore stamped with the text of the modules that have kernels or their constants: an edit of any
recompiles all.

A sum may be reordered by the compiler; the same binary gives the same bits. NaN and Inf keep their meaning. The arrays
that a kernel gets must not overlap: it is compiled so, since otherwise no loop over more than a few arrays would take
several elements at a time (SIMD).
"""

from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.compiler import Compiler
from numpy.typing import NDArray

from rtcvt.kernel import digest, stamped, unliteral

__all__ = ["columns", "compiled", "inlined", "spliced"]


class _Distinct(Compiler):
    """Numba's compiler, told that the arrays of a kernel do not overlap."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()


_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
    "pipeline_class": _Distinct,
}


_STAMP = digest(Path(__file__).parent.glob("*.py"), (b"pushbelt.compiled import",), "parameters.py")


def compiled(function: Any) -> Any:
    """A kernel that is called a few times in a step."""
    return unliteral(stamped(numba.njit(function, cache=True, **_OPTIONS), _STAMP))


def inlined(function: Any) -> Any:
    """A small kernel within a loop over contacts: its machine code is put into its callers."""
    return unliteral(stamped(numba.njit(function, cache=True, forceinline=True, **_OPTIONS), _STAMP))


def spliced(function: Any) -> Any:
    """A part of one larger kernel: compiled with its caller only, which saves compile time."""
    return numba.njit(function, inline="always", **_OPTIONS)


def columns(*shape: int) -> NDArray[np.float64]:
    """Zeros of a shape (n, ...), contiguous along n: what loops over n need to take several at a time."""
    return np.zeros(shape, order="F")
