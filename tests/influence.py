"""The sheaves' influence matrix that `contact.maxwell` never forms."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def influence_matrix(phi: ArrayLike, a: ArrayLike) -> NDArray[np.float64]:
    """Influence matrix C_sh of one sheave, Cebulla 2014, eq. (5.54).

    Parameters
    ----------
    phi : array_like, shape (n,)
        Angles of the contacts [rad].
    a : array_like, shape (n_k + 1,)
        Compliances of the harmonics, ``c_rad(r) A_k`` [m/N].

    Returns
    -------
    ndarray, shape (n, n)
        Axial deflection at contact i per axial force at contact j [m/N].
    """
    angle = np.asarray(phi, dtype=float)
    weight = np.asarray(a, dtype=float)
    harmonics = np.arange(weight.size)
    return np.cos((angle[:, None] - angle[None, :])[..., None] * harmonics) @ weight
