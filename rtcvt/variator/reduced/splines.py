"""Uniform quadratic B-splines along four coordinates, each in [-1, 1]."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRAIN = 2.0**-10  # of the splines' coefficients, logarithms: a hundredth of their scatter packs well
GRAINS = (2.0**-8, 2.0**-6)  # grains of the tables of the thrust ratio, and of laws with errors of a tenth


def sites(n: int) -> Array:
    """The `n` places in [-1, 1] where `splines_through` has its values: the ends, and the middles of the cells."""
    half = 1.0 / (n - 2)
    return np.concatenate([[-1.0], np.linspace(half - 1.0, 1.0 - half, n - 2), [1.0]])


def splines(n: int, t: Array) -> Array:
    """The `n` uniform quadratic B-splines at places t (m,) in [-1, 1], shape (m, n)."""
    cell, weights = _three(n, t)
    found = np.zeros((len(cell), n))
    for k in range(3):
        found[np.arange(len(cell)), cell + k] = weights[k]
    return found


def _three(n: int, t: Array) -> tuple[NDArray[np.int64], Array]:
    """First of the splines that do not vanish at places t (m,), shape (m,), and the three, (3, m)."""
    x = 0.5 * (np.asarray(t) + 1.0) * (n - 2)
    cell = np.clip(x.astype(int), 0, n - 3)
    r = x - cell
    s = 1.0 - r
    return cell, np.array([0.5 * s**2, 0.5 + r * s, 0.5 * r**2])


def splines_through(values: Array, axes: int = 4) -> Array:
    """Coefficients of the splines that have these `values` at the `sites` along the first `axes`; of their shape."""
    c = np.asarray(values, dtype=float)
    for axis in range(axes):
        n = c.shape[axis]
        c = np.moveaxis(np.tensordot(np.linalg.inv(splines(n, sites(n))), c, (1, axis)), 0, axis)
    return np.ascontiguousarray(c)


def summed(coefficients: Array, t: Array) -> Array:
    """Sums (n, M) of splines along four coordinates with coefficients (n_1, n_2, n_3, n_4, M) at t (n, 4 or 5)."""
    total = np.empty((len(t), coefficients.shape[4]))
    for some in range(0, len(t), 64):  # points at once: each has 81 rows
        found = [_three(n, t[some : some + 64, j]) for j, n in enumerate(coefficients.shape[:4])]
        rows = coefficients[tuple(_along(axis, cell + np.arange(3)[:, None]) for axis, (cell, _) in enumerate(found))]
        weight = reduce(np.multiply, (_along(axis, three) for axis, (_, three) in enumerate(found)))
        total[some : some + 64] = (weight[..., None] * rows).reshape(len(rows), 81, -1).sum(axis=1)
    return total


def _along(axis: int, three: NDArray[Any]) -> NDArray[Any]:
    """Three of each of n points, (3, n), as (n, 3) along one of four axes after the first."""
    return np.expand_dims(three.T, [k + 1 for k in range(4) if k != axis])


def at_sites(coefficients: Array, shape: Sequence[int]) -> Array:
    """Sums of splines at all `sites` of as many splines as `shape` has along each axis, (*shape, M)."""
    c = coefficients
    for axis, n in enumerate(shape):
        c = np.moveaxis(np.tensordot(splines(c.shape[axis], sites(n)), c, (1, axis)), 0, axis)
    return c


def rising(values: Array) -> Array:
    """The nearest that do not fall along the second axis, by least squares: isotonic regression (Barlow et al. 1972).

    At j it is the largest over a <= j of the smallest over b >= j of the means from a to b.
    """
    v = np.moveaxis(values, 1, -1)
    n = v.shape[-1]
    sums = np.concatenate([np.zeros((*v.shape[:-1], 1)), np.cumsum(v, axis=-1)], axis=-1)
    found = np.full(v.shape, -np.inf)
    for a in range(n):
        means = (sums[..., a + 1 :] - sums[..., a : a + 1]) / np.arange(1, n - a + 1)
        least = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]
        found[..., a:] = np.maximum(found[..., a:], least)
    return np.moveaxis(found, -1, 1)


def single_precision(values: Array) -> Array:
    """Values as a file has them in single precision."""
    return values.astype(np.float32).astype(float)


def grained(values: Array, grain: float = GRAIN) -> Array:
    """The nearest multiples of a grain."""
    return np.asarray(np.round(values / grain) * grain)
