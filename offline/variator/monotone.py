"""Slip of a settled belt that falls as the clamping grows: the nearest splines that mechanics allows.

Of a settled belt (y = 1) the speed loss s may nowhere fall as the torque grows under the same force, and under load its
magnitude may nowhere grow as the clamping force grows under the same torque and speed. With g = asinh(s/e_0) and torque
ratio xi ~ 1/F_O, kappa ~ 1/F_O and f ~ F_O these are

    dg/dxi >= 0,     sign(xi) (f dg/df - xi dg/dxi - kappa dg/dkappa) <= 0 where |xi| >= `ELASTIC`

Outside the data a coordinate is clamped, so at the limits of kappa and f the same must hold without its term; not at
those of xi, near which belts slip as a whole, under large forces first. Both are linear in the splines' coefficients c.
Those along i are weights of slices that are independent of each other, so the nearest c of a slice is a quadratic
problem of some thousand numbers, ``min |c - c_0|^2/2`` with ``A c <= 0``: its dual, ``c = c_0 - A' mu`` with mu >= 0,
by the accelerated gradient method (Beck and Teboulle 2009, with the restart of O'Donoghue and Candes 2015).
"""

from itertools import product

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rtcvt.variator.reduced.coordinates import counted
from rtcvt.variator.reduced.model import ReducedModel
from rtcvt.variator.reduced.splines import splines
from rtcvt.variator.regression import SMALL_SPEED_LOSS

Array = NDArray[np.float64]

ELASTIC = 0.05  # torque ratio below which slip is elastic
MAX_SLIP = 0.12  # up to which there are data
MAX_ITERATIONS = 400
TOLERANCE = 1e-3  # of a condition, a row of norm 1, and of the difference between problem and dual
STEP = 1e-6  # of differences along a scaled coordinate
TORQUE, INERTIA, CLAMPING = range(3)  # the terms


def monotone_slip(model: ReducedModel) -> Array:
    """What to add to the coefficients (n_1, n_2, n_3, n_4) of asinh(s/e_0), as the kernels' tables have it."""
    n, laws = model.in_y, model.tables[1]
    settled = float(model.coordinates[4].scaled(1.0))
    at_rest = np.polynomial.chebyshev.chebvander(settled, n - 1)
    most = float(np.arcsinh(MAX_SLIP / SMALL_SPEED_LOSS))
    g = np.clip(laws[..., n : 2 * n] @ at_rest.ravel(), -most, most)
    shape = g.shape
    middles = np.clip((2.0 * np.arange(shape[0]) - 1.0) / (shape[0] - 2) - 1.0, -1.0, 1.0)  # of the slices along t_1
    nearest = [
        _nearest(_conditions(model, shape[1:], float(i)), part.ravel()).reshape(shape[1:])
        for i, part in zip(model.coordinates[0].unscaled(middles), g, strict=True)
    ]
    return np.stack(nearest) - g


def _conditions(model: ReducedModel, shape: tuple[int, ...], i: float) -> sp.csr_array:
    """A (conditions, coefficients) of a slice at the ratio `i`, each row of norm 1: at the ends of the cells along each
    coordinate and in their middles."""
    t = [np.linspace(-1.0, 1.0, 2 * n - 3) for n in shape]
    value = [sp.csr_array(splines(n, a)) for n, a in zip(shape, t, strict=True)]
    slope = []  # of g to ln z
    for n, a, c in zip(shape, t, model.coordinates[1:4], strict=True):
        low, high = np.maximum(a - STEP, -1.0), np.minimum(a + STEP, 1.0)
        slope.append((splines(n, high) - splines(n, low)) / (c.unscaled(high) - c.unscaled(low))[:, None])
    xi, kappa, f = (c.unscaled(a) for c, a in zip(model.coordinates[1:4], t, strict=True))
    xi = xi - counted(model.shift, np.array([[i, 0.0, 0.0, 0.0]]))[0, 1]
    load = np.sign(xi) * (np.abs(xi) >= ELASTIC)
    along = [sp.csr_array(a[:, None] * m) for a, m in zip((xi, kappa, f), slope, strict=True)]
    terms = [
        sign * _product([along[k] if k == term else value[k] for k in range(3)])
        for term, sign in ((TORQUE, -1.0), (INERTIA, -1.0), (CLAMPING, 1.0))
    ]
    ends = [np.abs(g.ravel()) == 1.0 for g in np.meshgrid(*t, indexing="ij")]
    loaded = np.repeat(load, t[1].size * t[2].size)
    rows = []
    for clamped in product((False,), (False, True), (False, True)):
        there = np.flatnonzero(np.all([e for e, c in zip(ends, clamped, strict=True) if c], axis=0) & (loaded != 0.0))
        kept = [term for term, c in zip(terms, clamped, strict=True) if not c]
        if kept:
            rows.append(sp.diags_array(loaded[there]) @ sum(kept[1:], kept[0])[there])
    n = shape[0]
    rises = sp.diags_array([np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n))
    rows.append(sp.kron(rises, sp.eye_array(shape[1] * shape[2])))
    every = sp.vstack(rows).tocsr()
    size = np.sqrt(np.asarray(every.multiply(every).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / np.where(size > 0.0, size, 1.0)) @ every)


def _product(parts: list[sp.csr_array]) -> sp.csr_array:
    return sp.csr_array(sp.kron(parts[0], sp.kron(parts[1], parts[2])))


def _nearest(A: sp.csr_array, c_0: Array) -> Array:
    """The nearest c with A c <= 0."""
    turned, wanted = A.T.tocsr(), A @ c_0
    v = np.random.default_rng(0).normal(size=A.shape[1])
    for _ in range(30):  # power method
        v = turned @ (A @ v)
        largest = float(np.linalg.norm(v))
        v /= largest
    mu, ahead, inertia = np.zeros(A.shape[0]), np.zeros(A.shape[0]), 1.0
    for k in range(MAX_ITERATIONS):
        if k % 50 == 0:
            missed = wanted - A @ (turned @ mu)
            if missed.max() < TOLERANCE and abs(mu @ missed) < TOLERANCE:
                break
        slope = wanted - A @ (turned @ ahead)
        new = np.maximum(ahead + slope / (1.02 * largest), 0.0)
        if slope @ (new - mu) < 0.0:
            inertia = 1.0
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * inertia**2))
        ahead = new + (inertia - 1.0) / faster * (new - mu)
        mu, inertia = new, faster
    return np.asarray(c_0 - turned @ mu)
