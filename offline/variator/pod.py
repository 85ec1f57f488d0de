"""Proper orthogonal decomposition of belt fields (Cebulla 2014, section 6.3; Chatterjee 2000).

Snapshots are rows here, x_n on M places with the weights w of a quadrature. The modes u_k minimise, for every number of
them, the rest of all snapshots,

    sum_n |x_n - sum_k <u_k, x_n> u_k|_w^2,    <a, b> = sum_m w_m a_m b_m,    <u_j, u_k> = delta_jk

They come from the singular value decomposition X diag(sqrt w) = A diag(sigma) V^T, u_k = v_k/sqrt(w): (6.126) to
(6.129), transposed and in this inner product. sigma_k^2 is the energy of mode k, and the error of a basis of K modes is
the sum of all further sigma^2. Nothing is subtracted beforehand: the first mode is about the mean field.

Several fields make one stacked snapshot, each divided by its root mean square over all snapshots and places, so that a
field's share of the energy does not depend on its unit.

In material coordinates (6.125) a snapshot is the vector of the degrees of freedom themselves, with unit weights.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

Array = NDArray[np.float64]


class Basis(NamedTuple):
    """Modes (K, M), orthonormal in the weights (M,); sigma (min(n, M),): all singular values, largest first."""

    modes: Array
    weights: Array
    sigma: Array


def pod(X: Array, weights: Array | None = None, energy: float = 0.999, most: int | None = None) -> Basis:
    """Basis of the snapshots `X` with a share of their energy.

    Parameters
    ----------
    X : (n, M) array
        Snapshots in rows.
    weights : (M,) array, optional
        Weights of the inner product, positive; 1 by default.
    energy : float
        Share of the sum of all sigma^2, 0 to 1.
    most : int, optional
        Largest number of modes.
    """
    w = np.ones(X.shape[1]) if weights is None else np.asarray(weights, dtype=float)
    root = np.sqrt(w)
    _, sigma, V = svd(X * root, full_matrices=False)
    for v in V:  # the sign of a singular vector is free
        v *= np.sign(v[np.argmax(np.abs(v))]) or 1.0
    K = modes_for(sigma, energy)
    return Basis(np.ascontiguousarray(V[: K if most is None else min(K, most)] / root), w, sigma)


def modes_for(sigma: Array, energy: float) -> int:
    """Number of modes that hold a share of the energy, at least one."""
    part = np.cumsum(sigma**2)
    if part[-1] == 0.0:
        return 1
    return int(np.searchsorted(part, energy * part[-1] * (1.0 - 1e-14))) + 1


def coefficients(basis: Basis, X: Array) -> Array:
    """Coefficients (n, K) of the projections of snapshots (n, M)."""
    return X @ (basis.modes * basis.weights).T


def reconstruction(basis: Basis, a: Array) -> Array:
    """Snapshots (n, M) of coefficients (n, K)."""
    return a @ basis.modes


def projection_error(basis: Basis, X: Array) -> float:
    """Norm of the error of the projections of the snapshots (n, M), relative to that of the snapshots."""
    rest = X - reconstruction(basis, coefficients(basis, X))
    return float(np.sqrt(np.sum(rest**2 * basis.weights) / np.sum(X**2 * basis.weights)))


def scales(fields: Mapping[str, Array]) -> dict[str, float]:
    """Root mean square of each field (n, M); 1 for a field that is zero."""
    return {name: float(np.sqrt(np.mean(X**2))) or 1.0 for name, X in fields.items()}


def stacked(fields: Mapping[str, Array], scale: Mapping[str, float]) -> Array:
    """Fields (n, M) one after another, each divided by its scale, in the order of `scale`."""
    return np.concatenate([fields[name] / scale[name] for name in scale], axis=1)
