"""Regression of a function over an operating point by a Gaussian process.

Data y at places x have a constant mean beta and the covariance (Rasmussen and Williams 2006, sections 2.2 and 4.2.1,
Matern with nu = 5/2, a length l_j for each coordinate)

    cov(y_m, y_n) = a^2 (1 + r + r^2/3) exp(-r) + delta_mn s^2/omega_n,   r^2 = 5 sum_j (x_mj - x_nj)^2/l_j^2

with the noise s and weights omega of the data. l, a, s maximise the evidence of the data; beta
is estimated with a flat prior. With C the covariance, e all ones and P = C^-1 - C^-1 e e' C^-1/(e' C^-1 e)

    -ln p(y) = ln det(C)/2 + y' P y/2 + const,     mean(x) = beta + k(x)' P y

Without an offset beta is zero and P = C^-1: some lengths away from data the process is zero.

Predictions of a group of data by all others, with the same l, a, s, need no other fit (section 5.4.2, for groups):

    y_g - mean_{-g}(x_g) = (P_gg)^-1 (P y)_g
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack, solve, solve_triangular
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]

STEPS = 40
CHUNK = 200  # places evaluated at a time: their matrices stay in the cache
MIN_NOISE_SHARE = 0.1  # least noise over the standard deviation of the data: below, cross-validated errors grow again
MIN_NOISE = 1e-5  # by the amplitude


@dataclass(frozen=True)
class Process:
    """A Gaussian process with its data: places (n, d), lengths (d,), and factors derived from them."""

    places: Array
    lengths: Array
    amplitude: float
    noise: float
    beta: float
    duals: Array  # P y

    def mean(self, x: Array) -> Array:
        """Expected values at places (m, d), shape (m,)."""
        parts = [
            self.beta + _covariance(_squares(part, self.places, self.lengths), self.amplitude) @ self.duals
            for part in np.array_split(x, len(x) // CHUNK + 1)
        ]
        return np.concatenate(parts)


def fit(
    x: Array,
    y: Array,
    groups: NDArray[np.int64],
    weights: Array | None = None,
    most: int = 1200,
    shortest: float = 0.018,
    offset: bool = True,
) -> tuple[Process, Array]:
    """The process of largest evidence, and the predictions of each group of the data by the others (n,).

    Parameters
    ----------
    x : (n, d) array
        Places, scaled so that a length of 1 is neither long nor short.
    y : (n,) array
        Data.
    groups : (n,) array
        Group of each of the data.
    weights : (n,) array, optional
        Weights of the data: their noise is s/sqrt(weight).
    most : int
        Data, drawn at random, from which lengths, amplitude and noise are found.
    shortest : float
        Least length.
    offset : bool
        Whether the process has an offset beta.
    """
    d = x.shape[1]
    omega = np.ones(len(y)) if weights is None else weights
    some = np.random.default_rng(0).permutation(len(y))[:most]
    scale = float(np.std(y[some]) if offset else np.sqrt(np.mean(y[some] ** 2))) or 1.0
    start = np.append(np.zeros(d), [0.0, np.log(2.0 * MIN_NOISE_SHARE)])
    found = minimize(
        lambda t: evidence(t, x[some], y[some] / scale, omega[some], offset), start, jac=True, method="L-BFGS-B",
        bounds=bounds_of(d, shortest), options={"maxiter": STEPS},
    ).x  # fmt: skip
    lengths, amplitude, noise = np.exp(found[:d]), scale * float(np.exp(found[d])), scale * float(np.exp(found[d + 1]))
    C = _covariance(_squares(x, x, lengths), amplitude)
    C[np.diag_indices(len(y))] += noise**2 / omega + (MIN_NOISE * amplitude) ** 2
    inverse, _ = _inverted(C)
    one = inverse.sum(axis=0)
    beta = float(one @ y / one.sum()) if offset else 0.0
    duals = inverse @ (y - beta)
    crossed = np.array(y, dtype=float)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        block = inverse[np.ix_(rows, rows)]
        if offset:
            block -= np.outer(one[rows], one[rows]) / one.sum()
        crossed[rows] -= solve(block, duals[rows], assume_a="pos")
    return Process(x, lengths, amplitude, noise, beta, duals), crossed


def posterior(process: Process, x: Array) -> Array:
    """Covariance (m, m) of the process at places (m, d) given its data, all with the same noise."""
    C = _covariance(_squares(process.places, process.places, process.lengths), process.amplitude)
    C[np.diag_indices(len(C))] += process.noise**2
    L = cholesky(C, lower=True, overwrite_a=True)
    known = _covariance(_squares(process.places, x, process.lengths), process.amplitude)
    part = solve_triangular(L, known, lower=True)
    return np.asarray(_covariance(_squares(x, x, process.lengths), process.amplitude) - part.T @ part)


@contextmanager
def side_by_side() -> Iterator[Callable[..., Iterator[Any]]]:
    """A `map` that works on every processor with one thread each; matrices of these sizes need longer on two."""
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def bounds_of(d: int, shortest: float = 0.018) -> list[tuple[float, float]]:
    """Bounds of ln l (d,), ln a and ln s, for data of unit standard deviation."""
    return [(np.log(shortest), 4.0)] * d + [(-4.0, 4.0), (np.log(MIN_NOISE_SHARE), 1.0)]


def evidence(t: Array, x: Array, y: Array, omega: Array, offset: bool = True) -> tuple[float, Array]:
    """-ln p(y), and its gradient to t = (ln l, ln a, ln s)."""
    return evidence_of_places(t, x, y, omega, offset)[:2]


def evidence_of_places(t: Array, x: Array, y: Array, omega: Array, offset: bool = True) -> tuple[float, Array, Array]:
    """-ln p(y), and its gradients to t = (ln l, ln a, ln s) and to the places (n, d)."""
    n, d = x.shape
    lengths, amplitude, s2 = np.exp(t[:d]), float(np.exp(t[d])), np.exp(2.0 * t[d + 1])
    apart = _squares(x, x, lengths)
    smooth, slope = _covariance(apart, amplitude), _slope(apart, amplitude)
    C = smooth.copy()
    noise = s2 / omega + (MIN_NOISE * amplitude) ** 2
    C[np.diag_indices(n)] += noise
    inverse, half_det = _inverted(C)
    one = inverse.sum(axis=0)
    duals = inverse @ (y - one @ y / one.sum() if offset else y)
    value = half_det + 0.5 * float(y @ duals)
    inverse -= np.outer(duals, duals)  # d value = tr(inverse dC)/2
    weighed = inverse * slope
    total = weighed.sum(axis=1)[:, None]
    by_place = -(total * x - weighed @ x) / lengths**2
    # sums of weights W_mn (x_m - x_n)^2, about the mean lest large numbers cancel
    about = (x - x.mean(axis=0)) / lengths
    gradient = list(np.sum(about * (total * about - weighed @ about), axis=0))
    gradient.append(float(np.sum(inverse * smooth) + (MIN_NOISE * amplitude) ** 2 * np.trace(inverse)))
    gradient.append(float(np.sum(np.diag(inverse) / omega) * s2))
    return value, np.array(gradient), by_place


def _squares(x: Array, z: Array, lengths: Array) -> Array:
    """r^2 between places (m, d) and (n, d), as |a|^2 + |b|^2 - 2 a.b about the mean of the z."""
    middle = z.mean(axis=0)
    a, b = (x - middle) / lengths, (z - middle) / lengths
    found = (-10.0 * a) @ b.T
    found += 5.0 * np.sum(a**2, axis=1)[:, None]
    found += 5.0 * np.sum(b**2, axis=1)
    return np.maximum(found, 0.0, out=found)


def _covariance(apart: Array, amplitude: float) -> Array:
    """a^2 (1 + r + r^2/3) exp(-r)."""
    r = np.sqrt(apart)
    found = apart / 3.0
    found += r
    found += 1.0
    np.negative(r, out=r)
    found *= np.exp(r, out=r)
    found *= amplitude**2
    return np.asarray(found)


def _slope(apart: Array, amplitude: float) -> Array:
    """Derivative of `_covariance` to ln l_j, by (x_j - z_j)^2/l_j^2."""
    r = np.sqrt(apart)
    return np.asarray(5.0 / 3.0 * amplitude**2 * (1.0 + r) * np.exp(-r))


def _inverted(C: Array) -> tuple[Array, float]:
    """Inverse of a covariance, which is overwritten, and half the logarithm of its determinant."""
    L = cholesky(C, lower=True, overwrite_a=True, check_finite=False)
    half_det = float(np.log(np.diag(L)).sum())
    lower = np.tril(lapack.dpotri(L, lower=1)[0])
    return lower + np.tril(lower, -1).T, half_det
