"""Regression of a function over an operating point by a Gaussian process.

Data y at places x have a constant mean beta and the covariance (Rasmussen and Williams 2006, sections 2.2 and 4.2.1,
Matern with nu = 5/2, a length l_j for each coordinate)

    cov(y_m, y_n) = a^2 (1 + r + r^2/3) exp(-r) + delta_mn s^2/omega_n,   r^2 = 5 sum_j (x_mj - x_nj)^2/l_j^2

with the noise s and weights omega of the data. Those l, a, s are taken that make the evidence of the data largest; beta
is estimated with a flat prior. With C the covariance, e all ones and P = C^-1 - C^-1 e e' C^-1/(e' C^-1 e)

    -ln p(y) = ln det(C)/2 + y' P y/2 + const,     mean(x) = beta + k(x)' P y

Predictions of a group of data by all others, with the same l, a, s, need no other fit (section 5.4.2, for groups):

    y_g - mean_{-g}(x_g) = (P_gg)^-1 (P y)_g
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack, solve
from scipy.optimize import minimize

__all__ = ["Process", "bounds_of", "evidence", "evidence_of_places", "fit"]

Array = NDArray[np.float64]

STEPS = 40
CHUNK = 2000  # places evaluated at a time
LEAST = 0.1  # noise by the standard deviation of the data: below, cross-validated errors grow again
LEAST_NOISE = 1e-5  # by the amplitude


@dataclass(frozen=True)
class Process:
    """A Gaussian process behind its data: places (n, d), lengths (d,), and what follows from them."""

    places: Array
    lengths: Array
    amplitude: float
    noise: float
    beta: float
    duals: Array  # P y

    def mean(self, x: Array) -> Array:
        """Expected values at places (m, d), shape (m,)."""
        parts = [
            self.beta + _covariance(_squares(part, self.places, self.lengths), self.amplitude)[0] @ self.duals
            for part in np.array_split(x, len(x) // CHUNK + 1)
        ]
        return np.concatenate(parts)


def fit(
    x: Array, y: Array, groups: NDArray[np.int64], weights: Array | None = None, most: int = 1200
) -> tuple[Process, Array]:
    """The process of largest evidence, and what each group of the data is predicted to be by the others (n,).

    Parameters
    ----------
    x : (n, d) array
        Places, scaled so that a length of 1 is neither long nor short.
    y : (n,) array
        Data.
    groups : (n,) array
        Group of each of the data.
    weights : (n,) array, optional
        Of the data: their noise is s/sqrt(weight).
    most : int
        Data, drawn at random, from which lengths, amplitude and noise are found.
    """
    d = x.shape[1]
    omega = np.ones(len(y)) if weights is None else weights
    some = np.random.default_rng(0).permutation(len(y))[:most]
    scale = float(np.std(y[some])) or 1.0
    start = np.append(np.zeros(d), [0.0, np.log(2.0 * LEAST)])
    found = minimize(
        lambda t: evidence(t, x[some], y[some] / scale, omega[some]), start, jac=True, method="L-BFGS-B",
        bounds=bounds_of(d), options={"maxiter": STEPS},
    ).x  # fmt: skip
    lengths, amplitude, noise = np.exp(found[:d]), scale * float(np.exp(found[d])), scale * float(np.exp(found[d + 1]))
    C = _covariance(_squares(x, x, lengths), amplitude)[0]
    C[np.diag_indices(len(y))] += noise**2 / omega + (LEAST_NOISE * amplitude) ** 2
    inverse, _ = _inverted(C)
    one = inverse.sum(axis=0)
    beta = float(one @ y / one.sum())
    duals = inverse @ (y - beta)
    crossed = np.array(y, dtype=float)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        block = inverse[np.ix_(rows, rows)] - np.outer(one[rows], one[rows]) / one.sum()
        crossed[rows] -= solve(block, duals[rows], assume_a="pos")
    return Process(x, lengths, amplitude, noise, beta, duals), crossed


def bounds_of(d: int) -> list[tuple[float, float]]:
    """Bounds of ln l (d,), ln a and ln s, for data of unit standard deviation."""
    return [(-4.0, 4.0)] * d + [(-4.0, 4.0), (np.log(LEAST), 1.0)]


def evidence(t: Array, x: Array, y: Array, omega: Array) -> tuple[float, Array]:
    """-ln p(y), and its gradient to t = (ln l, ln a, ln s)."""
    return evidence_of_places(t, x, y, omega)[:2]


def evidence_of_places(t: Array, x: Array, y: Array, omega: Array) -> tuple[float, Array, Array]:
    """-ln p(y), and its gradients to t = (ln l, ln a, ln s) and to the places (n, d)."""
    n, d = x.shape
    lengths, amplitude, s2 = np.exp(t[:d]), float(np.exp(t[d])), np.exp(2.0 * t[d + 1])
    apart = _squares(x, x, lengths)
    C, slope = _covariance(apart, amplitude)
    smooth = C.copy()
    noise = s2 / omega + (LEAST_NOISE * amplitude) ** 2
    C[np.diag_indices(n)] += noise
    inverse, half_det = _inverted(C)
    one = inverse.sum(axis=0)
    duals = inverse @ (y - one @ y / one.sum())
    value = half_det + 0.5 * float(y @ duals)
    inverse -= np.outer(duals, duals)  # d value = tr(inverse dC)/2
    by_length = inverse * slope
    gradient, by_place = [], np.empty_like(x)
    for j in range(d):
        apart_j = x[:, j, None] - x[:, j]
        weighed = by_length * apart_j / lengths[j] ** 2
        by_place[:, j] = -weighed.sum(axis=1)
        gradient.append(0.5 * float(np.sum(weighed * apart_j)))
    gradient.append(float(np.sum(inverse * smooth) + (LEAST_NOISE * amplitude) ** 2 * np.trace(inverse)))
    gradient.append(float(np.sum(np.diag(inverse) / omega) * s2))
    return value, np.array(gradient), by_place


def _squares(x: Array, z: Array, lengths: Array) -> Array:
    """r^2 between places (m, d) and (n, d)."""
    a, b = x / lengths, z / lengths
    found = sum((a[:, j, None] - b[:, j]) ** 2 for j in range(x.shape[1]))
    return 5.0 * np.asarray(found)


def _covariance(apart: Array, amplitude: float) -> tuple[Array, Array]:
    """Covariance, and its derivative to ln l_j by (x_j - z_j)^2/l_j^2."""
    r = np.sqrt(apart)
    smooth = amplitude**2 * np.exp(-r)
    return (1.0 + r + apart / 3.0) * smooth, 5.0 / 3.0 * (1.0 + r) * smooth


def _inverted(C: Array) -> tuple[Array, float]:
    """Inverse of a covariance, which is overwritten, and half the logarithm of its determinant."""
    L = cholesky(C, lower=True, overwrite_a=True, check_finite=False)
    half_det = float(np.log(np.diag(L)).sum())
    lower = np.tril(lapack.dpotri(L, lower=1)[0])
    return lower + np.tril(lower, -1).T, half_det
