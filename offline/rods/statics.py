"""Equilibrium and natural frequencies of a rod with given forces and stiffness.

Both rods, planar and spatial, give their forces F(q) and the second derivative K(q) of their energy. Newton's method
solves F(q) + load = 0 on the coordinates that are free; the frequencies are the roots of det(K - omega^2 M) = 0.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import spsolve

Array = NDArray[np.float64]


def newton(
    forces: Callable[[Array, Array, Array], Any],
    stiffness: Callable[[Array], Any],
    q: Array,
    load: Array,
    fixed: Any,
    longest: float,
) -> Array:
    """Coordinates at which `forces` and `load` balance, from `q` on, without those of `fixed`.

    ``forces(q, u, F)`` writes the rod's forces (n,) into F. `longest` bounds the largest change of a coordinate in one
    iteration.

    Raises
    ------
    RuntimeError
        The iteration does not come to rest; a long way needs loads in between.
    """
    q, rest, F = q.copy(), np.zeros(q.size), np.empty(q.size)
    free = np.setdiff1d(np.arange(q.size), list(fixed))
    for _ in range(100):
        forces(q, rest, F)
        step = spsolve(stiffness(q)[free][:, free].tocsc(), (F + load)[free])
        size = np.abs(step).max()
        q[free] += step * min(1.0, longest / size)
        if size < 1e-10 * longest:
            return q
    raise RuntimeError("no equilibrium within 100 iterations; apply the load in smaller steps")


def frequencies(K: Any, M: Array, fixed: Any = ()) -> Array:
    """Natural frequencies [rad/s], ascending; unstable ones are negative.

    Parameters
    ----------
    K : (n, n) stiffness, dense or sparse
    M : (n,) or (n, n) mass, diagonal or dense
    fixed : indices of coordinates that do not move
    """
    free = np.setdiff1d(np.arange(K.shape[0]), list(fixed))
    dense = (K.toarray() if hasattr(K, "toarray") else np.asarray(K))[np.ix_(free, free)]
    square = eigh(dense, np.diag(M[free]) if M.ndim == 1 else M[np.ix_(free, free)], eigvals_only=True)
    return np.sign(square) * np.sqrt(np.abs(square))
