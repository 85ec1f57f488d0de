"""Lateral motion of a moving belt: Lorenz and others 2014, eqs. (1)-(7); derived in the study moving_belt.

The belt deviates from its taut line x_0(s) by w along the normal n, ``x = x_0 + w n``, with ``w = q^T w(s)`` in any
basis of periodic functions, and moves along this line at the transport speed v. With the line's curvature kappa(s)::

    m (C0 q.. + C1 q v. + 2 v C1 q. + v^2 (K0 - C2 q)) - F (K0 - C2 q)
        + EI (K2 + C4 q) + DI (C4 q. + v (C5 q - K3)) = sum_i M_i (T_i q + R_i) + integral of w p cos

    m (v. (L_0 - 2 K0^T q + q^T C2 q) - 2 v q.^T (K0 - C2 q) + q..^T C1 q) = sum_i kappa_i M_i + integral of p sin

where ``F = F_0 + (EA DL + DA DL.)/L_0`` with the elongation ``DL = q^T C2 q/2 - K0^T q``, M_i is the moment that pulley
i transfers to the belt, and p the pressure of the pulleys [N/m]. In place of one F a tension F(s) may be given, as that
of the real-time model (`tension_field`): then ``F (K0 - C2 q)`` is the integral of
``F(s) (kappa w - (w' w'^T + kappa^2 w w^T) q)``.

Matrices are integrals along the belt by Gauss' rule between the ends of spans and wraps and the edges of the basis.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from rtcvt.belt.geometry import BeltPath

Array = NDArray[np.float64]

MAX_ITERATIONS = 60


@dataclass(frozen=True)
class Basis:
    """Functions of arc length with their first three derivatives.

    Attributes
    ----------
    edges : (k,) array
        Arc lengths [m] between which the functions are smooth.
    values : callable
        ``values(s, order)`` is the derivative of that order at `s` (n,), shape (n, N) [1/m^order].
    """

    edges: Array
    values: Callable[[Array, int], Array]


def spline_basis(length: float, n: int, degree: int = 4) -> Basis:
    """Periodic B-splines on `n` equal intervals of a closed belt.

    Parameters
    ----------
    length : float
        Of the belt [m].
    n : int
        Intervals, and functions; more than `degree` of them.
    degree : int
        p, at least 3 as third derivatives are needed.
    """
    if degree < 3 or n <= degree:
        raise ValueError(f"a degree of at least 3 and more functions than that: degree {degree}, {n} functions")
    h, first = length / n, BSpline.basis_element(np.arange(degree + 2.0))

    def values(s: Array, order: int) -> Array:
        x = np.mod(np.asarray(s, dtype=float)[:, None] / h - np.arange(n), n)
        return np.where(x < degree + 1, first.derivative(order)(x), 0.0) / h**order

    return Basis(h * np.arange(n + 1, dtype=np.float64), values)


@dataclass(frozen=True)
class MovingBelt:
    """Matrices of eqs. (6) and (7), and the data of their integrals.

    Attributes
    ----------
    m, EA, EI, DA, DI, F_0 : float
        Mass per length [kg/m], stiffness [N] and [N m^2], damping [N s] and [N m^2 s], tension of the taut line [N].
    C, K : lists of (N, N) and (N,) arrays
        C0 to C5 and K0 to K3. C3 and K1 complete the series; the equations do not need them.
    T : (n, N, N) array
        Moment to lateral force of each pulley, along the belt's own tangent [1/m].
    R : (n, N) array
        The same of the taut line, of the moment that friction at the belt's surface exerts about its line [1/m].
    s, weight, kappa : (k,) arrays
        Places [m], weights [m] and curvatures [1/m] of the quadrature.
    w : (4, k, N) array
        Basis there, with three derivatives.
    base, tangent : (k, 2) arrays
        Points [m] and unit tangents of the taut line there.
    """

    path: BeltPath
    m: float
    EA: float
    EI: float
    DA: float
    DI: float
    F_0: float
    C: tuple[Array, ...]
    K: tuple[Array, ...]
    T: Array
    R: Array
    s: Array
    weight: Array
    kappa: Array
    w: Array
    base: Array
    tangent: Array


def moving_belt(
    path: BeltPath,
    basis: Basis,
    *,
    m: float,
    EA: float,
    EI: float = 0.0,
    DA: float = 0.0,
    DI: float = 0.0,
    F_0: float,
    height: float = 0.0,
) -> MovingBelt:
    """Integrate the matrices.

    Parameters
    ----------
    path : BeltPath
        Taut line.
    basis : Basis
        Of the lateral displacement.
    m, EA, EI, DA, DI, F_0
        See `MovingBelt`; per length of the taut line.
    height : float
        Of the belt [m]: friction acts at half of it from the belt's line.
    """
    edges = np.unique(np.concatenate([path.knots, basis.edges]))
    edges = edges[(edges >= 0.0) & (edges <= path.length)]
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-12 * path.length])]
    x, g = np.polynomial.legendre.leggauss(6)  # exact for splines of degree 5
    half = 0.5 * np.diff(edges)
    s = (half[:, None] * (x + 1.0) + edges[:-1, None]).ravel()
    weight = (half[:, None] * g).ravel()
    base, tangent, kappa = path.at(s)
    w = np.stack([basis.values(s, order) for order in range(4)])

    def product(a: int, b: int, f: Array | float = 1.0) -> Array:
        return (w[a] * (weight * f)[:, None]).T @ w[b]

    C = (product(0, 0), product(0, 1), product(1, 1) + product(0, 0, kappa**2), product(1, 2), product(2, 2),
         product(2, 3))  # fmt: skip
    K = tuple((weight * kappa) @ w[order] for order in range(4))
    T, R = [], []
    for i in range(path.span.size):
        start, end = path.arc(i)
        share = np.where((s > start) & (s < end), 1.0 / (end - start), 0.0)
        T.append(path.sigma[i] / path.radius[i] * product(0, 1, share))
        R.append(-0.5 * height / path.radius[i] * ((weight * share) @ w[1]))
    return MovingBelt(path, m, EA, EI, DA, DI, F_0, C, K, np.array(T), np.array(R), s, weight, kappa, w, base, tangent)


def elongation(belt: MovingBelt, q: Array) -> float:
    """DL [m], by Green's strain."""
    return float(0.5 * q @ belt.C[2] @ q - belt.K[0] @ q)


@dataclass(frozen=True)
class Contact:
    """Elastic and viscous contact of the belt with its pulleys: ``p = k d + c d'`` at the depth d, not negative."""

    k: float  # [N/m^2]
    c: float = 0.0  # [N s/m^2]


def depth_in_pulleys(belt: MovingBelt, q: Array) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Depth [m] in the nearest pulley (k,), cosine and sine of its push with normal and tangent of the line, pulley."""
    base, tangent = belt.base, belt.tangent
    normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
    x = base + (belt.w[0] @ q)[:, None] * normal
    away = x[None] - belt.path.center[:, None]
    distance = np.hypot(away[..., 0], away[..., 1])
    depth = belt.path.radius[:, None] - distance
    i = np.argmax(depth, axis=0)
    at = np.arange(belt.s.size)
    push = away[i, at] / distance[i, at][:, None]
    return depth[i, at], np.sum(push * normal, axis=1), np.sum(push * tangent, axis=1), i


def _tension_force(belt: MovingBelt, excess: float | Array, q: Array) -> tuple[Array, Array]:
    """``excess (K0 - C2 q)`` with an excess of each place or one of all, and its derivative to q, the excess held."""
    if np.ndim(excess) == 0:
        return excess * (belt.K[0] - belt.C[2] @ q), -float(excess) * belt.C[2]
    weight = belt.weight * excess
    K = (weight * belt.kappa) @ belt.w[0]
    C = (belt.w[1] * weight[:, None]).T @ belt.w[1] + (belt.w[0] * (weight * belt.kappa**2)[:, None]).T @ belt.w[0]
    return K - C @ q, -C


def tension_field(path: BeltPath, tensions: Array, s: Array) -> Array:
    """Tension [N] at arc lengths `s` [m] from that of the hybrid model's cells.

    Parameters
    ----------
    tensions : (n, F) array
        Tension of span j, then of the cells of the next pulley's wrap [N], j = 0, ..., n - 1; see `rtcvt.belt.layout`.
        Each of the F faces of a wrap has an equal share of it, along which the tension changes from one cell's to the
        next's.
    """
    n, faces = tensions.shape
    at, value = [], []
    for j in range(n):
        start, end = path.knots[2 * j], path.knots[2 * j + 1]
        after = path.knots[2 * j + 2]
        at += [start, *(end + (after - end) * k / faces for k in range(faces))]
        value += [tensions[j, 0], *tensions[j]]
    return np.interp(np.mod(s, path.length), [*at, path.length], [*value, tensions[0, 0]])


@dataclass(frozen=True)
class Steady:
    """Steady motion: coordinates (N,) [m], pressure at the places of the quadrature (k,) [N/m], tension there [N]."""

    q: Array
    pressure: Array
    tension: Array


def steady(
    belt: MovingBelt, contact: Contact, v: float = 0.0, tension: Array | None = None, moments: Array | None = None
) -> Steady:
    """Shape and contact pressure at a constant transport speed, by Newton's method on eq. (6).

    Parameters
    ----------
    v : float
        Transport speed [m/s].
    tension : (k,) array, optional
        Of each place of the quadrature [N], instead of the one that follows from the belt's elongation.
    moments : (n,) array, optional
        From the pulleys to the belt [N m].

    Raises
    ------
    ArithmeticError
        No steady motion was found.
    """
    N = belt.C[0].shape[0]
    q = np.zeros(N)
    m, stiff = belt.m, belt.EI * belt.C[4] + belt.DI * v * belt.C[5]
    constant = belt.EI * belt.K[2] - belt.DI * v * belt.K[3]
    if moments is not None:
        stiff = stiff - np.tensordot(moments, belt.T, 1)
        constant = constant - moments @ belt.R
    touching = belt.kappa != 0.0
    for _ in range(MAX_ITERATIONS):
        F = belt.F_0 + belt.EA / belt.path.length * elongation(belt, q) if tension is None else tension
        force, slope = _tension_force(belt, m * v * v - F, q)
        if tension is None:
            gradient = belt.C[2] @ q - belt.K[0]
            slope = slope + belt.EA / belt.path.length * np.outer(gradient, gradient)
        depth, cosine, *_ = depth_in_pulleys(belt, q)
        pressure = np.where(touching, contact.k * depth, 0.0)
        pushed = (belt.weight * pressure * cosine) @ belt.w[0]
        yielding = belt.weight * np.where(touching, contact.k * cosine**2, 0.0)
        residual = force + constant + stiff @ q - pushed
        step = np.linalg.solve(slope + stiff + (belt.w[0] * yielding[:, None]).T @ belt.w[0], -residual)
        q = q + step
        before, touching = touching, depth_in_pulleys(belt, q)[0] > 0.0
        if np.array_equal(before, touching) and np.abs(belt.w[0] @ step).max() < 1e-13:
            depth = depth_in_pulleys(belt, q)[0]
            F = belt.F_0 + belt.EA / belt.path.length * elongation(belt, q) if tension is None else tension
            return Steady(q, np.where(depth > 0.0, contact.k * depth, 0.0), np.broadcast_to(F, belt.s.shape))
    raise ArithmeticError(f"no steady motion of the belt at {v:g} m/s after {MAX_ITERATIONS} iterations")


def contact_pressure(
    belt: MovingBelt, contact: Contact, q: Array, rate: Array, v: float, depth: Array, cosine: Array, sine: Array
) -> tuple[Array, Array]:
    """Pressure [N/m] at the places of the quadrature, and the rate of the depth [m/s]; see `depth_in_pulleys`."""
    w = belt.w[0] @ q
    approach = -(belt.w[0] @ rate + v * (belt.w[1] @ q)) * cosine - v * (1.0 - belt.kappa * w) * sine
    return np.where(depth > 0.0, np.maximum(contact.k * depth + contact.c * approach, 0.0), 0.0), approach


def accelerations(
    belt: MovingBelt, q: Array, rate: Array, v: float, moments: Array, contact: Contact | None = None
) -> tuple[Array, float]:
    """``q''`` (N,) [m/s^2] and ``v'`` [m/s^2] of eqs. (6) and (7).

    The bending damping of (6) acts on q alone; along the belt it would need a line without jumps of curvature.
    """
    m, C, K = belt.m, belt.C, belt.K
    gradient = C[2] @ q - K[0]
    F = belt.F_0 + (belt.EA * elongation(belt, q) + belt.DA * float(gradient @ rate)) / belt.path.length
    lateral = -m * (2.0 * v * C[1] @ rate - v * v * gradient) - F * gradient
    lateral -= belt.EI * (K[2] + C[4] @ q) + belt.DI * (C[4] @ rate + v * (C[5] @ q - K[3]))
    lateral += np.tensordot(moments, belt.T, 1) @ q + moments @ belt.R
    along = -2.0 * m * v * float(rate @ gradient)
    along += float(np.sum(belt.path.sigma / belt.path.radius * moments))
    if contact is not None:
        depth, cosine, sine, _ = depth_in_pulleys(belt, q)
        pressure, _ = contact_pressure(belt, contact, q, rate, v, depth, cosine, sine)
        lateral += (belt.weight * pressure * cosine) @ belt.w[0]
        push = cosine * (belt.w[1] @ q) + sine * (1.0 - belt.kappa * (belt.w[0] @ q))
        along += float(np.sum(belt.weight * pressure * push))
    N = q.size
    mass = np.empty((N + 1, N + 1))
    mass[:N, :N] = m * C[0]
    mass[:N, N] = mass[N, :N] = m * C[1] @ q
    mass[N, N] = m * (belt.path.length - 2.0 * K[0] @ q + q @ C[2] @ q)
    found = np.linalg.solve(mass, np.append(lateral, along))
    return found[:N], float(found[N])


def energy(belt: MovingBelt, q: Array, rate: Array, v: float, contact: Contact | None = None) -> float:
    """Kinetic and potential energy [J], that of the tension F_0 of the taut line included."""
    m, C, K = belt.m, belt.C, belt.K
    L_0, DL = belt.path.length, elongation(belt, q)
    kinetic = rate @ C[0] @ rate + 2.0 * v * (rate @ C[1] @ q) + v * v * (L_0 - 2.0 * K[0] @ q + q @ C[2] @ q)
    bent = belt.kappa + belt.w[2] @ q
    potential = belt.F_0 * DL + 0.5 * belt.EA * DL * DL / L_0 + 0.5 * belt.EI * np.sum(belt.weight * bent * bent)
    if contact is not None:
        depth = np.maximum(depth_in_pulleys(belt, q)[0], 0.0)
        potential += 0.5 * contact.k * np.sum(belt.weight * depth * depth)
    return float(0.5 * m * kinetic + potential)
