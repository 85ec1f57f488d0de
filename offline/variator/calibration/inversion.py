"""Bayesian inversion by an ensemble: Kalman steps with inflated noise (ES-MDA).

Emerick and Reynolds, "Ensemble smoother with multiple data assimilation", Computers and Geosciences 55 (2013). The
prior is a standard normal z, the data y = G(z) + e with e normal, of covariance R. An ensemble z_j of the prior goes
through K steps, each with the noise alpha R, alpha = K:

    z_j <- z_j + C_zy (C_yy + alpha R)^-1 (y + sqrt(alpha) e_j - G(z_j)),    e_j from R

with the covariances C of the ensemble. For a linear G and many members it ends in a sample of the posterior; for
another G it is an approximation, whose spread shrinks too far if the members are few.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Directions", "assimilate", "directions"]

Array = NDArray[np.float64]


def assimilate(z: Array, G: Array, y: Array, sigma: Array, alpha: float | Array, rng: np.random.Generator) -> Array:
    """One step of an ensemble.

    Parameters
    ----------
    z : (d, n) array
        Members.
    G : (m, n) array
        What the model makes of them.
    y, sigma : (m,) array
        Data and the standard deviations of their errors.
    alpha : float or (m,) array
        Factor on the variances: the number of steps in all. Over all steps the sum of 1/alpha is 1.
    rng : Generator
        Perturbs the data.

    Returns
    -------
    (d, n) array
        The members moved.
    """
    n = z.shape[1]
    dz, dG = z - z.mean(axis=1, keepdims=True), G - G.mean(axis=1, keepdims=True)
    inflated = np.sqrt(alpha) * sigma
    noise = inflated[:, None] * rng.standard_normal(G.shape)
    C_yy = dG @ dG.T / (n - 1) + np.diag(inflated**2)
    return np.asarray(z + dz @ dG.T / (n - 1) @ np.linalg.solve(C_yy, y[:, None] + noise - G))


class Directions(NamedTuple):
    """What data say of the parameters: vectors (d, k) by columns; gain (k,), the share of the prior's variance along
    each that the data take away."""

    vectors: Array
    gain: Array


def directions(z: Array, G: Array, sigma: Array) -> Directions:
    """Directions of the parameters in the order in which data identify them, by the model's regression on an ensemble.

    With the Jacobian J of the least-squares fit, J' R^-1 J has the eigenvalues s; the posterior variance along an
    eigenvector is 1/(1 + s) of the prior's. Parameters as for `assimilate`; more members than parameters.
    """
    dz, dG = z - z.mean(axis=1, keepdims=True), G - G.mean(axis=1, keepdims=True)
    J = np.linalg.lstsq(dz.T, dG.T, rcond=None)[0].T / sigma[:, None]
    s, vectors = np.linalg.eigh(J.T @ J)
    order = np.argsort(s)[::-1]
    return Directions(vectors[:, order], s[order] / (1.0 + s[order]))
