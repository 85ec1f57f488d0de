"""Contour of a planar rod between its grid points (Cebulla 2014, section 6.2.3, eqs. 6.90-6.100).

With the place s = (k + xi) ds, 0 <= xi < 1, positions, velocities and Jacobians share one interpolation, so that a load
at s has the same power on the contour and on the coordinates:

    r(s) = sum_n N_n(s) r_n,   v(s) = sum_n N_n(s) v_n,   J_T(s) = sum_n N_n(s) J_T,n            (6.90), (6.93), (6.98)
    N(s) = b_0(xi) C_k + b_1(xi) C_k+1 + b_2(xi) C_k+2 + b_3(xi) C_k+3

Two sets of cubics b and coefficients C are offered. `spline`: uniform cubic B-splines whose C solve the interpolation
conditions; the curve has continuous curvature, and each point depends on all vertices. `local`: cubics through two
vertices with the slope of their neighbours (Catmull and Rom 1974), C = 1; continuous tangent, four vertices a point.
Both go around a closed rod; at the ends of an open one the spline is natural and the local one extrapolates in a line.

Angles and angular velocities are linear between the mid-points of the edges, (6.92) and (6.94), constant beyond the
last. The normal is the tangent turned by 90 degrees: the Frenet normal r''/|r''| of (6.91) does not exist on a straight
strand and changes side at a turning point.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.rods.compiled import compiled
from rtcvt.offline.rods.planar import PlanarRod

Array = NDArray[np.float64]

_SPLINE = np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6.0
_LOCAL = np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]]) / 2.0


class Contour(NamedTuple):
    """Interpolation of N_v vertices: cubics b (power of xi, 4), coefficients C (N + 3, N_v), N edges of length ds."""

    b: Array
    C: Array
    N: int
    ds: float
    closed: bool


def contour(rod: PlanarRod, kind: str = "spline") -> Contour:
    """Contour of a rod, `spline` or `local`.

    Raises
    ------
    InputError
        Another kind.
    """
    if kind not in ("spline", "local"):
        raise InputError("rod", "contour", kind, "'spline' or 'local'")
    N, n = rod.N, rod.N if rod.closed else rod.N + 1
    around = np.arange(-1, N + 2)
    if rod.closed:
        C = np.eye(n)[around % n]
    else:
        C = np.eye(n)[np.clip(around, 0, N)]
        C[0, :2], C[-1, -2:] = (2.0, -1.0), (-1.0, 2.0)
    if kind == "local":
        return Contour(_LOCAL, C, N, rod.ds, rod.closed)
    rows = np.arange(n)
    A = np.diag(np.full(n, 4.0 / 6.0))
    A[rows, (rows + 1) % n] += 1.0 / 6.0
    A[rows, (rows - 1) % n] += 1.0 / 6.0
    if not rod.closed:  # natural: c_-1 = 2 c_0 - c_1
        A[0], A[-1] = 0.0, 0.0
        A[0, 0] = A[-1, -1] = 1.0
    return Contour(_SPLINE, C @ np.linalg.inv(A), N, rod.ds, rod.closed)


@compiled
def cubics(b: Any, xi: float, value: Any, slope: Any, bend: Any) -> None:
    """The four cubics at `xi`, their first and second derivatives by xi, each written to an array (4,)."""
    for j in range(4):
        value[j] = b[0, j] + xi * (b[1, j] + xi * (b[2, j] + xi * b[3, j]))
        slope[j] = b[1, j] + xi * (2.0 * b[2, j] + xi * 3.0 * b[3, j])
        bend[j] = 2.0 * b[2, j] + 6.0 * xi * b[3, j]


def weights(c: Contour, s: Array) -> tuple[Array, Array, Array]:
    """N(s), N'(s) [1/m], N''(s) [1/m^2], each (m, N_v), at places `s` (m,) [m]; a closed rod may be gone around."""
    places = np.atleast_1d(np.asarray(s, dtype=float)) / c.ds
    cell = np.floor(places).astype(np.int64)
    if not c.closed:
        cell = np.clip(cell, 0, c.N - 1)
    out = np.zeros((3, places.size, c.C.shape[1]))
    part = np.empty((3, 4))
    for i, k in enumerate(cell):
        cubics(c.b, float(places[i] - k), part[0], part[1], part[2])
        out[:, i] = part @ c.C[k % c.N : k % c.N + 4]
    return out[0], out[1] / c.ds, out[2] / c.ds**2


def place(c: Contour, q: Array, s: Array) -> tuple[Array, Array, Array]:
    """Position, unit tangent, unit normal, each (m, 2), of places `s` (m,) [m] at coordinates `q`: (6.90), (6.91)."""
    W, W1, _ = weights(c, s)
    n = c.C.shape[1]
    r = np.column_stack([q[0::3][:n], q[1::3][:n]])
    slope = W1 @ r
    t = slope / np.hypot(slope[:, 0], slope[:, 1])[:, None]
    return W @ r, t, np.column_stack([-t[:, 1], t[:, 0]])


def turn_weights(c: Contour, s: Array) -> Array:
    """Weights (m, N) of the edges' angular velocities at places `s`: (6.94), (6.99)."""
    places = np.atleast_1d(np.asarray(s, dtype=float)) / c.ds - 0.5
    if not c.closed:
        places = np.clip(places, 0.0, c.N - 1.0)
    k = np.floor(places).astype(np.int64)
    rows, xi = np.arange(places.size), places - k
    out = np.zeros((places.size, c.N))
    out[rows, k % c.N] += 1.0 - xi
    out[rows, (k + 1) % c.N if c.closed else np.minimum(k + 1, c.N - 1)] += xi
    return out


def angle_at(c: Contour, rod: PlanarRod, q: Array, s: Array) -> Array:
    """Section angles (m,) [rad] at places `s` (m,) [m], linear between edges: (6.92)."""
    places = np.atleast_1d(np.asarray(s, dtype=float)) / c.ds - 0.5
    grown = rod.turn * np.floor(places / c.N) if c.closed else 0.0
    gamma = q[2::3][: c.N]
    if not c.closed:
        return np.interp(places, np.arange(c.N), gamma)
    around = np.append(gamma, gamma[0] + rod.turn)
    return np.interp(places % c.N, np.arange(c.N + 1.0), around) + grown


def push(c: Contour, q: Array, s: float, force: tuple[float, float], moment: float = 0.0) -> Array:
    """Generalised forces (size,) of a force [N] and a moment [N m] at the place `s` [m]: J_T' F + J_R' M."""
    F = np.zeros(q.size)
    W = weights(c, np.array([s]))[0][0]
    F[0::3], F[1::3] = W * force[0], W * force[1]
    F[2::3] = turn_weights(c, np.array([s]))[0] * moment
    return F
