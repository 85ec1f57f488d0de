"""Irregular speed of an engine: a mean speed w_0(t) that pulsates with the angle of the shaft,

    w = w_0 (1 + a sin(n phi)),    phi = integral of w_0 from 0 to t,

where n is the engine order, pulsations in a turn, and a their amplitude as a share of the mean speed. The angle is
integrated by three-point Gauss quadrature over the cells of a grid that begins at t = 0, so it is the same for any
times that are asked for together; a mean speed that is a polynomial up to degree 5 is integrated exactly.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELL = 1e-3  # of the grid [s]
LONGEST = 3600.0  # time up to which the angle is integrated [s]
_X = 0.5 + np.sqrt(0.15) * np.array([-1.0, 0.0, 1.0])  # Gauss points of (0, 1)
_W = np.array([5.0, 8.0, 5.0]) / 18.0


def pulsating(speed: Any, order: float, share: float, t: Any) -> Any:
    """Speed [rad/s] at `t` [s], a number or an array, from the mean speed and its pulsation.

    Raises
    ------
    ValueError
        A time above `LONGEST`.
    """
    return speed.evaluate({"t": t}, np) * (1.0 + share * np.sin(order * angle(speed, t)))


def angle(speed: Any, t: Any) -> Any:
    """Integral of a speed, an expression of ``t``, from 0 to each of `t` [s]."""
    t = np.asarray(t, dtype=float)
    if np.any(t > LONGEST):
        raise ValueError(f"engine_order up to t = {LONGEST:g} s")
    cell = np.floor(t / CELL).astype(int)
    last = int(cell.max(initial=0))
    return _at_grid(speed, 1 << last.bit_length())[cell] + _gauss(speed, cell * CELL, t)


@lru_cache(maxsize=16)
def _at_grid(speed: Any, cells: int) -> Array:
    """Angle at the points of the grid; a longer one begins with the same values."""
    t: Array = CELL * np.arange(cells + 1, dtype=np.float64)
    return np.concatenate([[0.0], np.cumsum(_gauss(speed, t[:-1], t[1:]))])


def _gauss(speed: Any, a: Array, b: Array) -> Array:
    """Integral of a speed from each of a to each of b."""
    found = np.zeros(np.shape(b))
    for x, weight in zip(_X, _W, strict=True):
        found += weight * (b - a) * speed.evaluate({"t": a + x * (b - a)}, np)
    return found
