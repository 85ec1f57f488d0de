"""The decorator of every real-time kernel, and the subset of Python that a kernel keeps to.

A kernel works on 1-D float64 arrays that its caller owns. It uses float64 and int64 scalars, loops with integer
bounds, indexing, views ``a[i:j]`` as arguments, and calls to other kernels. It never allocates, raises, recurses,
assigns to a slice or calls a library, so that the same text is compiled by numba here and can be compiled by any
C compiler elsewhere. Division by zero gives Inf or NaN as in C; ``step`` functions turn those into a status.

Numba's on-disk cache looks only at the file of the function itself, although the machine code of the kernels that
it calls is inlined. The cache is therefore stamped with the text of all kernels and of the constants (``layout``
modules) that they read: editing any of them recompiles.

Left alone, numba compiles a kernel once more for each literal that another one passes to it. Here a literal is an int64
or bool like any other.
"""

import hashlib
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numba
import numba.types
from numba.core import event

__all__ = ["FAILED", "OK", "SATURATED", "digest", "kernel", "stamped", "unliteral"]

OK = 0  # the step is valid
SATURATED = 1  # valid, but a limit is active or a table is extrapolated
FAILED = 2  # not valid; the state is as it was before


class _Notice(event.Listener):
    """Says once in a process that numba compiles, which takes up to a minute or two without a word."""

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            logging.getLogger("rtcvt").info("compiling for this machine; the machine code is kept for the next time")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Notice())


def digest(files: Iterable[Path], has: tuple[bytes, ...] = (), named: str = "") -> str:
    """Digest of the texts of those `files` that contain one of `has` or are `named` so; of all without `has`."""
    found = hashlib.sha256()
    for file in sorted(files):
        text = file.read_bytes()
        if not has or file.name == named or any(part in text for part in has):
            found.update(text)
    return found.hexdigest()


def stamped(compiled: Any, stamp: str) -> Any:
    """Tie the machine code that numba keeps on disk to `stamp`."""
    if hasattr(compiled, "_cache"):  # not with NUMBA_DISABLE_JIT
        compiled._cache._cache_file._source_stamp = stamp
    return compiled


def unliteral(compiled: Any) -> Any:
    """Let literals be numbers like any other: numba compiles once more for each, with all that is called."""
    if hasattr(compiled, "get_call_template"):  # not with NUMBA_DISABLE_JIT
        template = compiled.get_call_template
        compiled.get_call_template = lambda args, kws: template([numba.types.unliteral(a) for a in args], kws)
    return compiled


_STAMP = digest(Path(__file__).parent.rglob("*.py"), (b"@kernel",), "layout.py")


def kernel(function: Any) -> Any:
    """Compile `function` on first call, without object mode, and keep the machine code on disk."""
    return unliteral(stamped(numba.njit(function, cache=True, error_model="numpy", fastmath=False), _STAMP))
