"""The decorator of every real-time kernel, and the subset of Python that a kernel keeps to.

A kernel works on 1-D float64 arrays that its caller owns. It uses float64 and int64 scalars, loops with integer
bounds, indexing, views ``a[i:j]`` as arguments, and calls to other kernels. It never allocates, raises, recurses,
assigns to a slice or calls a library, so that the same text is compiled by numba here and can be compiled by any
C compiler elsewhere. Division by zero gives Inf or NaN as in C; ``step`` functions turn those into a status.

Numba's on-disk cache looks only at the file of the function itself, although the machine code of the kernels that
it calls is inlined. The cache is therefore stamped with the text of all kernels and of the constants (``layout``
modules) that they read: editing any of them recompiles.
"""

import hashlib
from pathlib import Path
from typing import Any

import numba

__all__ = ["FAILED", "OK", "SATURATED", "kernel"]

OK = 0  # the step is valid
SATURATED = 1  # valid, but a limit is active or a table is extrapolated
FAILED = 2  # not valid; the state is as it was before


def _source_stamp() -> str:
    """Digest of every module of the package that has kernels or their constants."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        text = file.read_bytes()
        if b"@kernel" in text or file.name == "layout.py":
            digest.update(text)
    return digest.hexdigest()


_STAMP = _source_stamp()


def kernel(function: Any) -> Any:
    """Compile `function` on first call, without object mode, and keep the machine code on disk."""
    compiled = numba.njit(function, cache=True, error_model="numpy", fastmath=False)
    if hasattr(compiled, "_cache"):  # not with NUMBA_DISABLE_JIT
        compiled._cache._cache_file._source_stamp = _STAMP
    return compiled
