"""Deflection of a sheave under a belt: its influence function, with the tilt on its guide, and the source's numbers.

An element presses with the axial force lambda and, on a flank inclined by delta_0, with lambda tan(delta_0) towards
the shaft. The deflection that it sees along the shaft is w = u_z - u_r tan(delta_0). With its force spread over the
height of its flank the deflection at (r, theta) under lambda = 1 at (r', 0) is

    w = sum_k C_k(r, r') cos k theta,     k = 0 ... n_k.

C_0 is relative to the sheave's position, which is the mean where its axial force is supported (piston, shaft), so that
force times position is work. C_1 contains the tilt on the supports. As a rigid body on their springs the sheave moves
by

    t(r, r') = l(r)' S^-1 l(r'),    S = R' K_s R,    l = R' f

(R: shift across the shaft and tilt, f: row of the flank). C_1 - t is its bending, positive semi-definite.

Cebulla 2014, eqs. (5.50) to (5.53), uses one mean radius and C_k(r, r) = c_rad(r) A_k, c_rad a polynomial, sum_k A_k
= 1. The best separable form is the first singular pair of C_k(r_i, r_i); the second is a measure of the rest.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.sheave.elasticity import Body, inertia, line, point_rows, solver, springs
from rtcvt.offline.sheave.profile import HARMONICS

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Influence:
    """Influence function of one sheave at radii `r`.

    Attributes
    ----------
    r : ndarray, shape (n,)
        Radii of the middle of an element's flank [m].
    G : ndarray, shape (K, 2, 2, n, n)
        By harmonic: radial (0) or axial (1) deflection at r_i under a unit radial or axial force at r_j [m/N].
    tilt : ndarray, shape (n, n)
        Share of a rigid body on its supports in harmonic 1, along the flank's direction [m/N].
    c_t : float
        Moment over tilt on the supports [N m/rad].
    z_t : float
        Where a force across the shaft makes no tilt [m].
    m, J : float
        Mass [kg] and moment of inertia about the shaft [kg m2].
    tan_d : float
        Tangent of the flank's angle.
    """

    r: Array
    G: Array
    tilt: Array
    c_t: float
    z_t: float
    m: float
    J: float
    tan_d: float

    @property
    def C(self) -> Array:
        """Deflection of the flank along the shaft per axial force of an element, (K, n, n) [m/N]."""
        d = np.array([-self.tan_d, 1.0])
        return np.einsum("a,kabij,b->kij", d, self.G, d)

    @property
    def at_radius(self) -> Array:
        """C_k(r, r), shape (K, n) [m/N]."""
        return np.diagonal(self.C, axis1=1, axis2=2)


def influence(body: Body, r: Array, height: float) -> Influence:
    """Influence function of a sheave.

    Parameters
    ----------
    body : Body
        Its finite elements.
    r : ndarray, shape (n,)
        Radii of the middle of an element's flank [m].
    height : float
        Of an element's flank, along the radius [m].
    """
    radial, axial = point_rows(body, r, height)
    reaction = body.profile.reaction
    held = line(body, reaction.on, reaction.span)
    rows = np.concatenate([radial, axial])
    n = len(r)
    G = np.empty((HARMONICS + 1, 2, 2, n, n))
    for k in range(HARMONICS + 1):
        load = rows.copy()
        if k == 0:
            load[n:] -= held  # a radial force has no axial resultant
        u = solver(body, k, held)(load)
        G[k] = (
            ((load if k == 0 else rows) @ u.T / (2.0 * np.pi if k == 0 else np.pi)).reshape(2, n, 2, n).swapaxes(1, 2)
        )
    R = body.rigid[1:]
    K = sum(springs(body, support) for support in body.profile.supports)
    S = np.pi * (R @ (K @ R.T))
    lever = R @ (axial - body.tan_d * radial).T
    yields = np.linalg.inv(S)
    m, J = inertia(body)
    return Influence(
        r=np.asarray(r), G=G, tilt=lever.T @ yields @ lever, c_t=1.0 / yields[1, 1],
        z_t=float(S[0, 1] / -S[0, 0]) if S[0, 0] else 0.0, m=m, J=J, tan_d=body.tan_d,
    )  # fmt: skip


class Separable(NamedTuple):
    """The source's form of an influence function."""

    a: tuple[float, ...]  # coefficients of c_rad(r) = a_0 + a_1 r + ... [m/N, 1/N, ...]
    A: tuple[float, ...]  # Fourier weights, sum 1
    left: float  # root mean square of the rest of C_k(r, r), relative to its own


def separable(r: Array, at_radius: Array, degree: int) -> Separable:
    """c_rad(r) A_k that is nearest to C_k(r, r).

    Parameters
    ----------
    r : ndarray, shape (n,)
        Radii [m].
    at_radius : ndarray, shape (K, n)
        C_k(r, r) [m/N].
    degree : int
        Of the polynomial; it is fitted with errors relative to c_rad.
    """
    left, size, right = np.linalg.svd(at_radius)
    A = left[:, 0] / left[:, 0].sum()
    c_rad = size[0] * right[0] * left[:, 0].sum()
    scale = float(np.max(r))
    powers = np.vander(r / scale, degree + 1, increasing=True)
    a = np.linalg.lstsq(powers / c_rad[:, None], np.ones_like(r), rcond=None)[0]
    fitted = np.outer(A, powers @ a)
    error = float(np.linalg.norm(at_radius - fitted) / np.linalg.norm(at_radius))
    return Separable(tuple(float(x) for x in a / scale ** np.arange(degree + 1)), tuple(map(float, A)), error)
