"""The decorator of the ANCF belt's kernels.

Numba's cache on disk looks at the file of the function itself only, although the machine code of what it calls is part
of it. It is therefore stamped with the text of all modules whose kernels call each other.
"""

import hashlib
from pathlib import Path
from typing import Any

import numba

__all__ = ["compiled"]

_MODULES = ("compiled", "ancf", "ring_solver", "sheave", "motion")
# sums may be contracted and reordered; NaN and infinity keep their meaning
_RELAXED = {"contract", "reassoc", "arcp", "nsz"}


def _source_stamp() -> str:
    digest = hashlib.sha256()
    for name in _MODULES:
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest()


_STAMP = _source_stamp()


def compiled(function: Any) -> Any:
    """Compile `function` on first call and keep the machine code on disk."""
    kernel = numba.njit(function, cache=True, error_model="numpy", fastmath=_RELAXED)
    if hasattr(kernel, "_cache"):  # not with NUMBA_DISABLE_JIT
        kernel._cache._cache_file._source_stamp = _STAMP
    return kernel
