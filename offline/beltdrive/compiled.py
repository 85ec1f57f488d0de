"""The decorator of the full models' kernels.

Numba's cache on disk looks at the file of the function itself only, although the machine code of what it calls is part
of it. It is therefore stamped with the text of all modules whose kernels call each other.
"""

from pathlib import Path
from typing import Any

import numba

from rtcvt.kernel import digest, stamped, unliteral

__all__ = ["compiled"]

_MODULES = (
    "compiled", "ancf", "element_forces", "fehlberg", "motion", "ring_solver", "rosenbrock", "sheave",
)  # fmt: skip
# sums may be contracted and reordered; NaN and infinity keep their meaning
_RELAXED = {"contract", "reassoc", "arcp", "nsz"}


_STAMP = digest(Path(__file__).with_name(f"{name}.py") for name in _MODULES)


def compiled(function: Any) -> Any:
    """Compile `function` on first call and keep the machine code on disk."""
    return unliteral(stamped(numba.njit(function, cache=True, error_model="numpy", fastmath=_RELAXED), _STAMP))
