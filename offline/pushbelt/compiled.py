"""Decorators of the pushbelt's kernels: numba, no object mode, machine code kept on disk.

Numba's cache looks only at the file of the function itself, although the machine code of the kernels that it calls is
in it. The cache is therefore stamped with the text of the modules that have kernels or their constants: an edit of any
recompiles all.

A sum may be reordered by the compiler; the same binary gives the same bits. NaN and Inf keep their meaning.
"""

from pathlib import Path
from typing import Any

import numba

from rtcvt.kernel import digest, stamped, unliteral

__all__ = ["compiled", "inlined", "spliced"]

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


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
