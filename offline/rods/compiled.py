"""The decorators of the rods' kernels: sums may be contracted and reordered; NaN and Inf keep their meaning."""

from typing import Any

import numba

from rtcvt.kernel import compiler

_OPTIONS: dict[str, Any] = {"fastmath": {"contract", "reassoc", "nsz"}}

compiled = compiler(**_OPTIONS)


def inlined(function: Any) -> Any:
    """A small kernel whose machine code is put into its callers."""
    return numba.njit(function, inline="always", error_model="numpy", **_OPTIONS)
