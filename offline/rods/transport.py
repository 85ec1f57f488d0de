"""The closed rod in a frame fixed in space, through which it flows (an ALE description).

A rod that has moved by the relaxed length y is described at fixed places sigma = s + y:

    r(s, t) = R(s + y, t),   gamma(s, t) = Gamma(s + y, t),   v = y'
    u = Q_t + v D Q,   L = u.M u/2 - V(Q)

D is the derivative by sigma of the trigonometric polynomial through the grid: a skew-symmetric circulant matrix, which
commutes with M. Gamma grows by `turn` once around; its D has the mean of that. The energy does not depend on y, so its
momentum p is conserved, and v follows from it (Routh). With Q = q_0 + V a, b = a' these are the equations

    b' + v' d + 2 v G b + v^2 e = V' h,   p = b.d + v c
    d = V' M D Q = d_0 + G a,   e = h_0 + H a,   c = D Q.M D Q = c_0 - 2 h_0.a - a.H a
    G = V' M D V,  H = V' M D^2 V,  h_0 = V' M D^2 q_0

Sliding of Q along itself and y are one motion: the modes V are those of snapshots that do not slide, `followed`.

In material coordinates every node visits every place, and a basis has to represent the motion along the path as well.
Here a steady run is one point.
"""

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.rods.planar import PlanarRod, mass
from rtcvt.offline.rods.reduction import Reduced

Array = NDArray[np.float64]


def _grown(rod: PlanarRod, n: int) -> Array:
    """The part of the coordinates that grows around the rod: gamma's, turn s/L."""
    out = np.zeros(n)
    out[2::3] = rod.turn * (np.arange(rod.N) + 0.5) / rod.N
    return out


def derivative(rod: PlanarRod, q: Array) -> Array:
    """D q of periodic fields (..., n) on the grid of a closed rod [1/m]."""
    wave = 2.0j * np.pi * np.fft.fftfreq(rod.N, rod.ds)
    if rod.N % 2 == 0:
        wave[rod.N // 2] = 0.0
    out = np.empty_like(q)
    for c in range(3):
        out[..., c::3] = np.fft.ifft(wave * np.fft.fft(q[..., c::3])).real
    return out


def shifted(rod: PlanarRod, q: Array, way: Array, rates: bool = False) -> Array:
    """Fields moved along the rod: those of the places s - way, by trigonometric interpolation.

    Parameters
    ----------
    q : (n_s, n) coordinates, or periodic fields such as velocities if `rates`
    way : (n_s,) [m]
    """
    wave = np.exp(-2.0j * np.pi * np.fft.fftfreq(rod.N, rod.ds) * np.asarray(way)[:, None])
    if rod.N % 2 == 0:
        wave[:, rod.N // 2] = wave[:, rod.N // 2].real
    grown = 0.0 if rates else _grown(rod, q.shape[1])
    out = np.empty_like(q)
    for c in range(3):
        out[:, c::3] = np.fft.ifft(wave * np.fft.fft((q - grown)[:, c::3])).real
    if not rates:
        out += grown
        out[:, 2::3] -= rod.turn / (rod.N * rod.ds) * np.asarray(way)[:, None]
    return out


def slope_of(rod: PlanarRod, q: Array) -> Array:
    """D q of coordinates (..., n), with gamma's mean growth."""
    out = derivative(rod, q - _grown(rod, q.shape[-1]))
    out[..., 2::3] += rod.turn / (rod.N * rod.ds)
    return out


def followed(rod: PlanarRod, q: Array, way: Array, q_0: Array) -> Array:
    """Ways (n_s,) near `way` [m] that shift snapshots (n_s, n) so that they do not slide along `q_0`.

    Solves D q_0.M (Q - q_0) = 0, the phase condition of a frame that follows the flow, by Newton's method.
    """
    along = mass(rod) * slope_of(rod, q_0)
    way = np.array(way, dtype=float)
    for _ in range(6):
        Q = shifted(rod, q, way)
        way += ((Q - q_0) @ along) / (slope_of(rod, Q) @ along)
    return way


def in_space(rod: PlanarRod, q: Array, u: Array, way: Array) -> tuple[Array, Array, Array]:
    """Fields at places fixed in space, their rates there, each (n_s, n), and the speeds of flow (n_s,).

    Parameters
    ----------
    q, u : (n_s, n) material coordinates and velocities
    way : (n_s,) by which the rod has moved on, for instance v t or `followed` [m]
    """
    Q, U = shifted(rod, q, way), shifted(rod, u, way, rates=True)
    slope = slope_of(rod, Q)
    m = mass(rod)
    v = np.sum(m * U * slope, axis=1) / np.sum(m * slope * slope, axis=1)
    return Q, U - v[:, None] * slope, v


def moving(rod: PlanarRod, R: Reduced, v: float) -> Reduced:
    """The reduced rod `R`, whose reference and modes are fields fixed in space, with the rod flowing at `v` [m/s]."""
    m = mass(rod)
    D = np.ascontiguousarray(derivative(rod, R.V.T).T)
    slope = slope_of(rod, R.q_0)
    G = R.V.T @ (m[:, None] * D)
    return R._replace(
        v=v, G=0.5 * (G - G.T), H=-D.T @ (m[:, None] * D), h_0=-D.T @ (m * slope), d_0=R.V.T @ (m * slope),
        c_0=float(slope @ (m * slope)), slope=slope, D_rows=np.ascontiguousarray(D[R.rows]),
    )  # fmt: skip
