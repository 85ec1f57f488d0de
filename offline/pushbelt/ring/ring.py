"""The ring set as a planar closed beam in redundant coordinates (Cebulla 2014, section 6.1.1, eqs. 6.1-6.3).

Each finite element has the coordinates of (6.1)

    q_g = (x_L, y_L, phi_L, c_L, c_R, x_R, y_R, phi_R)

that is position and section angle of its two nodes and two deflections c_L, c_R of its own. The method (Zander) has a
second, internal set that separates large rigid motion and small deformation; (6.2) maps one to the other without
iteration. The internal set used here belongs to the chord d = r_R - r_L with direction t and normal n:

    q_i = (r_L, phi_S, lambda, theta_L, theta_R, c_L, c_R)
    lambda = |d|/l,  (cos phi_S, sin phi_S) = t = d/|d|,  theta_L = phi_L - phi_S,  theta_R = phi_R - phi_S

    r(xi)  = r_L + xi d + w(xi) n,  0 <= xi <= 1,  eta = xi (1 - xi)
    w(xi)  = eta (l (theta_L (1 - xi) - theta_R xi) + eta (a + b (1 - 2 xi)))
    a      = 128/9 (c_L + c_R),  b = 256/9 (c_L - c_R)

The first part of w is the cubic of the end slopes, the second vanishes at the nodes with its slope; c_L and c_R are
its values at the quarter points. The two parts are orthogonal in bending energy.

    eps = lambda - 1 + 1/(2 l) int (dw/dx)^2 dx                    mean stretch: one tension S per finite element
    V   = EA l eps^2 / 2 + EI / 2 int (d2w/dx2)^2 dx

and the forces are its exact derivative; damping is proportional to the rates of eps and of the curvature. The square
of the slope in eps must not be left out: on an arc of 36 mm an element of 6.4 mm is 0.13 % longer than its chord,
which is 7.8 kN of tension. It also carries the tension's stiffness against lateral load within the element.

The mass is lumped, one number for each coordinate: rhoA l on x and y, 2/105 rhoA l^3 on phi (the two cubics that meet
at the node), 0.4378 rhoA l on c (the diagonal of the consistent mass). Momentum and angular momentum of the lumped
model are conserved exactly. The lumped model is stable up to a step of l/c_0, c_0 = sqrt(EA/rhoA); the consistent mass
up to 0.58 of that, less than 1e-6 s with 104 elements.

Value of c_L and c_R: with both fixed at zero, thrust ratio, slip and peak forces of OD, MED and LOW differ by less than
they fluctuate (MED at 74.58 N m, 0.1 to 0.2 s: thrust ratio 1.52 and 1.51, 99 % of the flank forces below 506 N in the
two), at the same step and 33 us for a step in both. They make curvature and load within a finite element right at no
cost, so they stay.

A finite element is described to its users by a row of `shape` (position level) and of `rate` (velocity level);
contacts read points with `point` and `velocity` and add their loads to rows of `load` by `push`. These rows are the
whole interface between contacts and a ring: `ring_set` may have another rod.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.vectors import zero

NQ = 5  # coordinates of a node: x, y, phi, c_L, c_R
N_RATE = 9
N_LOAD = 9

# Columns of `shape`
X, Y, DX, DY, NX, NY, INV, TL, TR, A, B = range(11)
N_SHAPE = 11
# Columns of `rate`: velocity of node L, of the chord, rotation of the chord, rates of l theta_L, l theta_R, a, b
VX, VY, WX, WY, OM, RL, RR, RA, RB = range(9)
# Columns of `load`: force, force times xi, and the generalised forces of l theta_L, l theta_R, a, b, phi_S
FX, FY, HX, HY, QL, QR, QA, QB, QS = range(9)


class Ring(NamedTuple):
    """A ring set for the kernels; SI units.

    N_B finite elements of relaxed length l, axial and bending stiffness EA [N], EI [N m^2], their damping d_axial
    [N s] and d_bend [N m^2 s], the lumped masses m [kg], J [kg m^2], m_c [kg], and half the height of the set h2 [m].
    """

    N_B: int
    l: float  # noqa: E741
    EA: float
    EI: float
    d_axial: float
    d_bend: float
    m: float
    J: float
    m_c: float
    h2: float


def ring(belt: Belt) -> Ring:
    """The ring set of a belt: Cebulla 2014, (6.3), with the lumped masses of this module.

    Bending damping is at most critical in the stiffest bending mode of a finite element: more would ask for a smaller
    step than that mode does, and the more so the finer the ring.
    """
    l = belt.l_R / belt.N_B  # noqa: E741
    rhoA, EI = belt.rhoA, belt.EI
    # int N_c^2 dx / l of the deflection of c_L: 256/630 ((8/9)^2 + (16/9)^2/11)
    share_c = 256.0 / 630.0 * ((8.0 / 9.0) ** 2 + (16.0 / 9.0) ** 2 / 11.0)
    m_c = rhoA * l * share_c
    stiffest = float(np.sqrt(4.0 / 7.0 * (512.0 / 9.0) ** 2 * EI / l**3 / (2.0 * m_c)))  # c_L = -c_R
    return Ring(
        N_B=belt.N_B,
        l=l,
        EA=belt.EA,
        EI=EI,
        d_axial=belt.d_axial,
        d_bend=min(belt.d_bend, 2.0 * EI / stiffest),
        m=rhoA * l,
        J=rhoA * l**3 * 2.0 / 105.0,
        m_c=m_c,
        h2=0.5 * belt.h_ring,
    )


@inlined
def masses(R: Ring) -> Any:
    """Of the coordinates of a node [kg, kg m^2]."""
    return R.m, R.m, R.J, R.m_c, R.m_c


_TAIL = 1.0 / 71.6  # last coefficient of the series, which replaces all further ones
_SMALL = 0.15  # [rad]


@inlined
def arcsin(s: float) -> float:
    """Angle [rad] of the sine `s`: the series, exact to rounding below `_SMALL`."""
    x = s * s
    series = 1.0 / 6.0 + x * (
        3.0 / 40.0 + x * (5.0 / 112.0 + x * (35.0 / 1152.0 + x * (63.0 / 2816.0 + x * (231.0 / 13312.0 + x * _TAIL))))
    )
    return s + s * x * series


@inlined
def chord(q: Any, k: int, j: int, shape: Any) -> Any:
    """Write the columns X to INV of row k of `shape` from the nodes k and j; returns the unit tangent."""
    x, y = q[k, 0], q[k, 1]
    dx = q[j, 0] - x
    dy = q[j, 1] - y
    inv = 1.0 / np.sqrt(dx * dx + dy * dy)
    tx = dx * inv
    ty = dy * inv
    shape[k, X] = x
    shape[k, Y] = y
    shape[k, DX] = dx
    shape[k, DY] = dy
    shape[k, NX] = -ty
    shape[k, NY] = tx
    shape[k, INV] = inv
    return tx, ty


@compiled
def _chords(R: Ring, q_R: Any, cs_R: Any, sn_R: Any, first: Any, behind: Any, other: Any, shape: Any) -> float:
    """Rows `first` up to `behind` of `shape`, right nodes from `other` on (unsigned); returns the number of angles that
    are not small."""
    far = 0.0
    least = 1.0 - 0.5 * _SMALL * _SMALL
    for k in range(first, behind):
        j = k - first + other
        tx, ty = chord(q_R, k, j, shape)
        shape[k, TL] = R.l * arcsin(tx * sn_R[k] - ty * cs_R[k])
        shape[k, TR] = R.l * arcsin(tx * sn_R[j] - ty * cs_R[j])
        shape[k, A] = 128.0 / 9.0 * (q_R[k, 3] + q_R[k, 4])
        shape[k, B] = 256.0 / 9.0 * (q_R[k, 3] - q_R[k, 4])
        far += 0.0 if tx * cs_R[k] + ty * sn_R[k] > least else 1.0
        far += 0.0 if tx * cs_R[j] + ty * sn_R[j] > least else 1.0
    return far


@compiled
def shape_of(R: Ring, q_R: Any, cs_R: Any, sn_R: Any, shape: Any) -> None:
    """Map (6.2): internal coordinates of all finite elements.

    Parameters
    ----------
    R : Ring
    q_R : (N_B, 5) nodal coordinates [m, m, rad, m, m]; cs_R, sn_R : (N_B) cosine and sine of phi
    shape : (N_B, 11), written: x_L, y_L, d_x, d_y, n_x, n_y, 1/|d|, l theta_L, l theta_R, a, b
    """
    last = np.uint64(R.N_B - 1)
    far = _chords(R, q_R, cs_R, sn_R, np.uint64(0), last, np.uint64(1), shape)
    far += _chords(R, q_R, cs_R, sn_R, last, np.uint64(R.N_B), np.uint64(0), shape)
    if far == 0.0:  # where the belt lives
        return
    for k in range(R.N_B):
        j = k + 1 if k + 1 < R.N_B else 0
        tx = shape[k, NY]
        ty = -shape[k, NX]
        shape[k, TL] = R.l * np.arctan2(tx * sn_R[k] - ty * cs_R[k], tx * cs_R[k] + ty * sn_R[k])
        shape[k, TR] = R.l * np.arctan2(tx * sn_R[j] - ty * cs_R[j], tx * cs_R[j] + ty * sn_R[j])


@inlined
def chord_rate(u: Any, shape: Any, k: int, j: int, rate: Any) -> float:
    """Write the columns VX to OM of row k of `rate` from the velocities of nodes k and j; returns the last [rad/s]."""
    vx, vy = u[k, 0], u[k, 1]
    wx = u[j, 0] - vx
    wy = u[j, 1] - vy
    om = (wx * shape[k, NX] + wy * shape[k, NY]) * shape[k, INV]
    rate[k, VX] = vx
    rate[k, VY] = vy
    rate[k, WX] = wx
    rate[k, WY] = wy
    rate[k, OM] = om
    return om


@compiled
def rate_of(R: Ring, u_R: Any, shape: Any, rate: Any) -> None:
    """Rates of the internal coordinates.

    Parameters
    ----------
    R : Ring
    u_R : (N_B, 5) nodal velocities; shape : (N_B, 11) from `shape_of`
    rate : (N_B, 9), written: v_x, v_y of node L, d'_x, d'_y, phi_S', l theta_L', l theta_R', a', b'
    """
    N_B = R.N_B
    l = R.l  # noqa: E741
    for k in range(N_B):
        j = k + 1 if k + 1 < N_B else 0
        om = chord_rate(u_R, shape, k, j, rate)
        rate[k, RL] = l * (u_R[k, 2] - om)
        rate[k, RR] = l * (u_R[j, 2] - om)
        rate[k, RA] = 128.0 / 9.0 * (u_R[k, 3] + u_R[k, 4])
        rate[k, RB] = 256.0 / 9.0 * (u_R[k, 3] - u_R[k, 4])


@inlined
def _deflected(tl: float, tr: float, a: float, b: float, xi: float) -> Any:
    """w and dw/dxi at `xi` by the internal coordinates or, with their rates, the rates of these."""
    o = 1.0 - xi
    eta = xi * o
    z = o - xi
    w = eta * (tl * o - tr * xi + eta * (a + b * z))
    w1 = tl * o * (1.0 - 3.0 * xi) - tr * xi * (2.0 - 3.0 * xi) + 2.0 * eta * (a * z + b * (1.0 - 5.0 * eta))
    return w, w1


@inlined
def point(shape: Any, k: int, xi: float) -> Any:
    """Neutral fibre at `xi` of finite element `k`: x, y, dx/dxi, dy/dxi, w, dw/dxi [m]."""
    w, w1 = _deflected(shape[k, TL], shape[k, TR], shape[k, A], shape[k, B], xi)
    nx = shape[k, NX]
    ny = shape[k, NY]
    dx = shape[k, DX]
    dy = shape[k, DY]
    return shape[k, X] + xi * dx + w * nx, shape[k, Y] + xi * dy + w * ny, dx + w1 * nx, dy + w1 * ny, w, w1


@inlined
def velocity(shape: Any, rate: Any, k: int, xi: float, w: float) -> Any:
    """Velocity of the material point at `xi` of finite element `k` and rotation rate of its section.

    `w` is the deflection there, from `point`. Returns v_x, v_y [m/s], omega [rad/s].
    """
    wd, w1d = _deflected(rate[k, RL], rate[k, RR], rate[k, RA], rate[k, RB], xi)
    nx = shape[k, NX]
    ny = shape[k, NY]
    om = rate[k, OM]
    wom = w * om
    return (
        rate[k, VX] + xi * rate[k, WX] + wd * nx - wom * ny,
        rate[k, VY] + xi * rate[k, WY] + wd * ny + wom * nx,
        om + w1d * shape[k, INV],
    )


@inlined
def push(shape: Any, load: Any, k: int, xi: float, w: float, Fx: float, Fy: float, M: float) -> None:
    """Load finite element `k` at `xi` with a force [N] on the neutral fibre and a moment [N m] on the section.

    Adds the loads with the virtual power of `velocity` to row k of `load` (N_B, 9).
    """
    o = 1.0 - xi
    eta = xi * o
    z = o - xi
    nx = shape[k, NX]
    ny = shape[k, NY]
    Fn = Fx * nx + Fy * ny
    Mi = M * shape[k, INV]
    load[k, FX] += Fx
    load[k, FY] += Fy
    load[k, HX] += xi * Fx
    load[k, HY] += xi * Fy
    load[k, QL] += Fn * eta * o + Mi * o * (1.0 - 3.0 * xi)
    load[k, QR] -= Fn * eta * xi + Mi * xi * (2.0 - 3.0 * xi)
    load[k, QA] += Fn * eta * eta + Mi * 2.0 * eta * z
    load[k, QB] += Fn * eta * eta * z + Mi * 2.0 * eta * (1.0 - 5.0 * eta)
    load[k, QS] += M + w * (Fy * nx - Fx * ny)


@lru_cache(maxsize=16)
def mobility(R: Ring, n: int) -> float:
    """Largest inverse mass [1/kg] against tangential forces at `n` evenly spread places of the ring's surface.

    The largest eigenvalue of G M^-1 G' with the tangential velocities G u_R of the surface, h2 off the neutral fibre of
    the straight ring, at the worst of eight positions of the places, and 5 % more for the curved one.
    """
    weight = np.tile(masses(R), R.N_B) ** -0.5

    def surface(k: NDArray[np.int64], xi: NDArray[np.float64]) -> Any:
        o, eta, z = 1.0 - xi, xi * (1.0 - xi), 1.0 - 2.0 * xi
        slope_a = 128.0 / 9.0 * 2.0 * eta * z / R.l
        slope_b = 256.0 / 9.0 * 2.0 * eta * (1.0 - 5.0 * eta) / R.l
        left, right = o * (1.0 - 3.0 * xi), -xi * (2.0 - 3.0 * xi)
        chord = (1.0 - left - right) / R.l
        turn = np.stack([-chord, left, slope_a + slope_b, slope_a - slope_b, chord, right])
        here, next_ = NQ * k, NQ * ((k + 1) % R.N_B)
        # x of the two nodes; y, phi, c_L, c_R of the first, y, phi of the second
        columns = np.stack([here, next_, here + 1, here + 2, here + 3, here + 4, next_ + 1, next_ + 2])
        return columns, np.concatenate([[o, xi], -R.h2 * turn]) * weight[columns]

    return largest_mobility(surface, R.N_B, weight.size, n)


@lru_cache(maxsize=16)
def normal_mobility(R: Ring, n: int) -> float:
    """Largest inverse mass [1/kg] against normal forces at `n` evenly spread places of the straight ring, as
    `mobility`."""
    weight = np.tile(masses(R), R.N_B) ** -0.5

    def surface(k: NDArray[np.int64], xi: NDArray[np.float64]) -> Any:
        o, eta, z = 1.0 - xi, xi * (1.0 - xi), 1.0 - 2.0 * xi
        left, right = eta * o, -eta * xi
        a, b = 128.0 / 9.0 * eta**2, 256.0 / 9.0 * eta**2 * z
        here, next_ = NQ * k, NQ * ((k + 1) % R.N_B)
        # y, phi, c_L, c_R of the first node, y, phi of the second
        columns = np.stack([here + 1, here + 2, here + 3, here + 4, next_ + 1, next_ + 2])
        entries = np.stack([o + left + right, R.l * left, a + b, a - b, xi - left - right, R.l * right])
        return columns, entries * weight[columns]

    return largest_mobility(surface, R.N_B, weight.size, n)


def largest_mobility(surface: Callable[..., Any], N_B: int, size: int, n: int) -> float:
    """`mobility` of a ring with `size` coordinates.

    `surface` gives for places, finite element and xi (n,), columns and entries (m, n) of G M^-1/2.
    """
    start = np.random.default_rng(0).standard_normal(n)
    largest = 0.0
    for shift in np.arange(0.0, 1.0, 0.125):
        place = np.mod((np.arange(n) + shift) * (N_B / n), N_B)
        k = np.minimum(place.astype(np.int64), N_B - 1)
        columns, entries = surface(k, place - k)
        G = csr_array((entries.ravel(), (np.tile(np.arange(n), len(columns)), columns.ravel())), shape=(n, size))
        largest = max(largest, float(eigsh(G @ G.T, k=1, v0=start, tol=1e-4, return_eigenvectors=False)[0]))
    return 1.05 * largest


@compiled
def to_chords(R: Ring, shape: Any, load: Any, held: Any) -> None:
    """Add loads in the frames of the chords; `from_chords` returns them after the ring has moved.

    A load with constant direction on a turning chord would do work on the ring's rotation: it would remove part of the
    power that the belt transmits.
    """
    for k in range(R.N_B):
        c = shape[k, NY]
        s = -shape[k, NX]
        for a in (FX, HX):
            held[k, a] += load[k, a] * c + load[k, a + 1] * s
            held[k, a + 1] += load[k, a + 1] * c - load[k, a] * s
        for a in range(QL, N_LOAD):
            held[k, a] += load[k, a]


@compiled
def from_chords(R: Ring, shape: Any, held: Any, load: Any) -> None:
    """Loads of `to_chords` in the present directions of the chords."""
    for k in range(R.N_B):
        c = shape[k, NY]
        s = -shape[k, NX]
        for a in (FX, HX):
            load[k, a] = held[k, a] * c - held[k, a + 1] * s
            load[k, a + 1] = held[k, a + 1] * c + held[k, a] * s
        for a in range(QL, N_LOAD):
            load[k, a] = held[k, a]


@compiled
def forces(R: Ring, shape: Any, rate: Any, load: Any, F_R: Any, S: Any, bow: Any = None) -> Any:
    """Generalised forces of the nodes from stretch, bending, damping and the contacts' loads.

    Parameters
    ----------
    R : Ring
    shape, rate, load : (N_B, 11), (N_B, 9), (N_B, 9); `load` is read and set to zero
    F_R : (N_B, 5), written: force [N, N, N m, N, N]
    S : (N_B), written: tension of each finite element [N], damping included
    bow : (N_B, 2), optional: mean stretch by motion across the plane and its rate (`spatial.lateral.stretches`)

    Returns
    -------
    float, float : power of axial damping and of bending damping [W] at the velocities of `rate`
    """
    N_B = R.N_B
    l = R.l  # noqa: E741
    li = 1.0 / l
    EAl = R.EA
    EI1 = R.EI * li * li * li
    D1 = R.d_bend * li * li * li
    p_axial = 0.0
    p_bend = 0.0
    for k in range(N_B):
        tl = shape[k, TL]
        tr = shape[k, TR]
        a = shape[k, A]
        b = shape[k, B]
        # derivative of the mean squared slope, times l: w in metres, so each entry is a slope
        gl = (2.0 / 15.0 * tl - tr / 30.0 + a / 30.0 + b / 70.0) * li
        gr = (2.0 / 15.0 * tr - tl / 30.0 - a / 30.0 + b / 70.0) * li
        ga = ((tl - tr) / 30.0 + 2.0 / 105.0 * a) * li
        gb = ((tl + tr) / 70.0 + 2.0 / 315.0 * b) * li
        nx = shape[k, NX]
        ny = shape[k, NY]
        wl = rate[k, RL]
        wr = rate[k, RR]
        wa = rate[k, RA]
        wb = rate[k, RB]
        stretch = (1.0 / shape[k, INV] + 0.5 * (tl * gl + tr * gr + a * ga + b * gb)) * li - 1.0
        stretch_d = (rate[k, WX] * ny - rate[k, WY] * nx + wl * gl + wr * gr + wa * ga + wb * gb) * li
        if bow is not None:
            stretch += bow[k, 0]
            stretch_d += bow[k, 1]
        T = EAl * stretch + R.d_axial * stretch_d
        S[k] = T
        p_axial += R.d_axial * stretch_d * stretch_d * l
        dl = D1 * (4.0 * wl + 2.0 * wr)
        dr = D1 * (4.0 * wr + 2.0 * wl)
        da = D1 * 0.8 * wa
        db = D1 * (4.0 / 7.0) * wb
        p_bend += dl * wl + dr * wr + da * wa + db * wb
        load[k, QL] -= T * gl + EI1 * (4.0 * tl + 2.0 * tr) + dl
        load[k, QR] -= T * gr + EI1 * (4.0 * tr + 2.0 * tl) + dr
        load[k, QA] -= T * ga + EI1 * 0.8 * a + da
        load[k, QB] -= T * gb + EI1 * (4.0 / 7.0) * b + db
        load[k, HX] -= T * ny
        load[k, HY] += T * nx
    nodal(R, shape, load, F_R)
    return p_axial, p_bend


@inlined
def ends(l: float, shape: Any, load: Any, k: int) -> Any:  # noqa: E741
    """Generalised forces of row `k` of the loads: x, y, phi, c_L, c_R of its finite element, x, y, phi of the next."""
    # l theta = l (phi - phi_S)
    fl = load[k, QL] * l
    fr = load[k, QR] * l
    fa = load[k, QA]
    fb = load[k, QB]
    shear = (load[k, QS] - fl - fr) * shape[k, INV]
    right_x = load[k, HX] + shear * shape[k, NX]
    right_y = load[k, HY] + shear * shape[k, NY]
    left_x = load[k, FX] - right_x
    left_y = load[k, FY] - right_y
    f_L = 128.0 / 9.0 * fa + 256.0 / 9.0 * fb
    f_R = 128.0 / 9.0 * fa - 256.0 / 9.0 * fb
    return left_x, left_y, fl, f_L, f_R, right_x, right_y, fr


@compiled
def nodal(R: Ring, shape: Any, load: Any, F_R: Any) -> None:
    """Generalised forces F_R (N_B, 5) of the nodes from the loads of all finite elements, which are set to zero."""
    N_B = R.N_B
    l = R.l  # noqa: E741
    for k in range(N_B):
        left_x, left_y, fl, f_L, f_R, right_x, right_y, fr = ends(l, shape, load, k)
        F_R[k, 0], F_R[k, 1], F_R[k, 2], F_R[k, 3] = left_x, left_y, fl, f_L
        F_R[k, 4] = f_R
        # at the right node
        load[k, HX] = right_x
        load[k, HY] = right_y
        load[k, QR] = fr
    last = N_B - 1
    F_R[0, 0] += load[last, HX]
    F_R[0, 1] += load[last, HY]
    F_R[0, 2] += load[last, QR]
    for k in range(1, N_B):
        F_R[k, 0] += load[k - 1, HX]
        F_R[k, 1] += load[k - 1, HY]
        F_R[k, 2] += load[k - 1, QR]
    zero(load)


@compiled
def power(R: Ring, shape: Any, rate: Any, held: Any, x_mid: float) -> Any:
    """Powers [W] of loads in the frames of the chords, `held` (N_B, 9) from `to_chords`: beyond `x_mid` [m], before."""
    whole = 0.0
    beyond = 0.0
    for k in range(R.N_B):
        side = 1.0 if shape[k, X] > x_mid else 0.0
        c = shape[k, NY]
        s = -shape[k, NX]
        power = held[k, FX] * (c * rate[k, VX] + s * rate[k, VY]) + held[k, FY] * (c * rate[k, VY] - s * rate[k, VX])
        power += held[k, HX] * (c * rate[k, WX] + s * rate[k, WY]) + held[k, HY] * (c * rate[k, WY] - s * rate[k, WX])
        power += held[k, QL] * rate[k, RL] + held[k, QR] * rate[k, RR]
        power += held[k, QA] * rate[k, RA] + held[k, QB] * rate[k, RB] + held[k, QS] * rate[k, OM]
        whole += power
        beyond += side * power
    return beyond, whole - beyond


@compiled
def elastic_energy(R: Ring, shape: Any, bow: Any = None) -> Any:
    """Energy stored in stretch and in bending [J] of the finite elements of `shape` (N_B, 11); `bow` of `forces`."""
    li = 1.0 / R.l
    axial = 0.0
    bending = 0.0
    for k in range(R.N_B):
        tl = shape[k, TL]
        tr = shape[k, TR]
        a = shape[k, A]
        b = shape[k, B]
        slope2 = (
            2.0 / 15.0 * (tl * tl + tr * tr - 0.5 * tl * tr)
            + (tl - tr) * a / 15.0
            + (tl + tr) * b / 35.0
            + 2.0 / 105.0 * a * a
            + 2.0 / 315.0 * b * b
        ) * (li * li)
        stretch = li / shape[k, INV] - 1.0 + 0.5 * slope2
        if bow is not None:
            stretch += bow[k, 0]
        axial += 0.5 * R.EA * R.l * stretch * stretch
        bending += R.EI * li**3 * (2.0 * (tl * tl + tl * tr + tr * tr) + 0.4 * a * a + 2.0 / 7.0 * b * b)
    return axial, bending
