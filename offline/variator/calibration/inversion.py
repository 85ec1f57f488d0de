"""Bayesian inversion by Gauss and Newton's method with the derivatives of an ensemble.

The prior is a standard normal z, the data y = G(z) + e with e normal, of deviations sigma (covariance R). J is the
Jacobian of the model by regression over an ensemble of the prior, so noise of its runs averages out; then

    z_k+1 = C J' R^-1 (y - G(z_k) + J z_k),    C = (1 + J' R^-1 J)^-1

For a linear G this is the posterior's mean after one step, and C its covariance. Else the fixed point is where the
misfit of G, weighed by J, balances the prior.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def jacobian(z: Array, G: Array) -> Array:
    """Least-squares Jacobian (m, d) of a model over an ensemble z (d, n), G (m, n); more members than parameters."""
    dz, dG = z - z.mean(axis=1, keepdims=True), G - G.mean(axis=1, keepdims=True)
    return np.asarray(np.linalg.lstsq(dz.T, dG.T, rcond=None)[0].T)


def covariance(J: Array, sigma: Array) -> Array:
    """Covariance (d, d) of the posterior."""
    weighed = J / sigma[:, None]
    return np.asarray(np.linalg.inv(np.eye(J.shape[1]) + weighed.T @ weighed), dtype=float)


def step(z: Array, G: Array, J: Array, y: Array, sigma: Array, most: float = 2.0) -> Array:
    """The next z (d,) after a run there, G (m,); no longer than `most` standard deviations."""
    ahead = covariance(J, sigma) @ (J.T @ ((y - G + J @ z) / sigma**2))
    move = ahead - z
    return np.asarray(z + move * min(1.0, most / max(float(np.linalg.norm(move)), 1e-12)))


class Directions(NamedTuple):
    """Information of data on the parameters: vectors (d, k) by columns; gain (k,), the share of the prior's variance
    along each that the data remove."""

    vectors: Array
    gain: Array


def directions(J: Array, sigma: Array) -> Directions:
    """Directions of the parameters in the order in which data identify them.

    J' R^-1 J has the eigenvalues s; the posterior variance along an eigenvector is 1/(1 + s) of the prior's.
    """
    weighed = J / sigma[:, None]
    s, vectors = np.linalg.eigh(weighed.T @ weighed)
    s, order = np.maximum(s, 0.0), np.argsort(s)[::-1]
    return Directions(vectors[:, order], s[order] / (1.0 + s[order]))
