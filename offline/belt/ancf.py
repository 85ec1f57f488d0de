"""Planar ANCF cable element (Ntarladima, Pieber and Gerstmayr 2023, section 2.1, eqs. 1-8).

A node carries position and slope, q_j = (r, r'); an element of reference length L has r = S(x) q with the cubic

    S_1 = 1 - 3 xi^2 + 2 xi^3,  S_2 = L (xi - 2 xi^2 + xi^3),  S_3 = 3 xi^2 - 2 xi^3,  S_4 = L (xi^3 - xi^2),  xi = x/L

Axial strain eps = |r'| - 1 and material curvature K = r' x r'' / |r'|^2 (Gerstmayr and Irschik 2008) do the work

    -dW = sum_i w_i (EA (eps - eps_ref) + d_eps eps_t) d(eps)  +  sum_j w_j (EI K + d_K K_t) d(K)

at separate integration points, Table 1 of the paper:

    scheme   axial               bending
    a        Gauss, 5 points     Gauss, 3 points
    b        Gauss, 4 points     Gauss, 2 points
    c        Lobatto, 3 points   Gauss, 2 points

With g = r'.r', t = r'/|r'|, R = 90 degrees anticlockwise:

    eps_t = t.r'_t,   dK/dr' = k1 = -(R r'' + 2 K r')/g,   dK/dr'' = k2 = R r'/g,   K_t = k1.r'_t + k2.r''_t

The tangents below are the exact derivatives of these forces. Rows of an element's coordinates: 2a + i is direction i of
shape function a, so that coordinates 0-3 belong to its first node and 4-7 to its second.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.belt.compiled import compiled

Array = NDArray[np.float64]
Scheme = Literal["a", "b", "c"]


class Cable(NamedTuple):
    """One element's constants; all elements of a belt are equal."""

    L: float  # reference length [m]
    EA: float  # [N]
    EI: float  # [N m^2]
    d_eps: float  # [N s]
    d_K: float  # [N m^2 s]
    eps_ref: float  # strain without force
    mass: Array  # (4, 4) of the shape functions, for x as for y
    weight: Array  # (4,) gravity's share of each shape function [N], downwards
    w_end: float  # axial weight of each end [m], where the strain is the node's own; 0 without points there
    wa: Array  # (na,) axial weights of the other points [m]
    Sa: Array  # (na, 4) S' there
    wb: Array  # (nb,) bending weights [m]
    Sb: Array  # (2 nb, 4) S' and S'' there, in turn


def shape(x: Array, L: float) -> tuple[Array, Array, Array]:
    """S, S' and S'' at `x` [m], each (len(x), 4) (eqs. 2 and 3)."""
    xi = np.asarray(x, dtype=float)[:, None] / L
    one = np.ones_like(xi)
    S = np.hstack([1 - 3 * xi**2 + 2 * xi**3, L * (xi - 2 * xi**2 + xi**3), 3 * xi**2 - 2 * xi**3, L * (xi**3 - xi**2)])
    d = np.hstack([6 * (xi**2 - xi) / L, 1 - 4 * xi + 3 * xi**2, 6 * (xi - xi**2) / L, 3 * xi**2 - 2 * xi])
    dd = np.hstack(
        [(12 * xi - 6 * one) / L**2, (6 * xi - 4 * one) / L, (6 * one - 12 * xi) / L**2, (6 * xi - 2 * one) / L]
    )
    return S, d, dd


def _rule(points: Array, weights: Array, L: float) -> tuple[Array, Array]:
    return 0.5 * L * (np.asarray(points) + 1.0), 0.5 * L * np.asarray(weights)


def cable(
    L: float,
    EA: float,
    EI: float,
    mass: float,
    d_eps: float = 0.0,
    d_K: float = 0.0,
    eps_ref: float = 0.0,
    gravity: float = 0.0,
    scheme: Scheme = "c",
) -> Cable:
    """Constants of an element.

    Parameters
    ----------
    L : float
        Reference length [m].
    EA, EI, d_eps, d_K : float
        Stiffness [N], [N m^2] and viscosity [N s], [N m^2 s], per reference length.
    mass : float
        Per reference length [kg/m].
    eps_ref : float
        Axial strain at which there is no force.
    gravity : float
        Acceleration along -y [m/s^2].
    scheme : {"a", "b", "c"}
        Integration points of Table 1.
    """
    gauss = np.polynomial.legendre.leggauss
    axial = {"a": gauss(5), "b": gauss(4), "c": (np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 3.0)}[scheme]
    bending = gauss(3) if scheme == "a" else gauss(2)
    xa, wa = _rule(*axial, L)
    w_end = float(wa[0]) if scheme == "c" else 0.0
    if scheme == "c":
        xa, wa = xa[1:-1], wa[1:-1]
    xb, wb = _rule(*bending, L)
    xm, wm = _rule(*gauss(4), L)  # exact: polynomials of order six
    S = shape(xm, L)[0]
    _, d, dd = shape(xb, L)
    M, weight = mass * np.ascontiguousarray((S.T * wm) @ S), mass * gravity * (wm @ S)
    Sa, Sb = np.ascontiguousarray(shape(xa, L)[1]), np.hstack([d, dd]).reshape(-1, 4)
    return Cable(L, EA, EI, d_eps, d_K, eps_ref, M, weight, w_end, np.ascontiguousarray(wa), Sa, wb, Sb)


@compiled
def mixed(S: Any, i: int, u: Any, e: int, k: int) -> tuple[float, float]:
    """x and y at point i of the element between nodes e and k: shape functions ``S[i]`` times coordinates `u`."""
    x = S[i, 0] * u[e, 0] + S[i, 1] * u[e, 2] + S[i, 2] * u[k, 0] + S[i, 3] * u[k, 2]
    y = S[i, 0] * u[e, 1] + S[i, 1] * u[e, 3] + S[i, 2] * u[k, 1] + S[i, 3] * u[k, 3]
    return x, y


@compiled
def spread(S: Any, i: int, fx: float, fy: float, f: Any, e: int, k: int) -> None:
    """Add a force at point i to the forces `f` of nodes e and k."""
    f[e, 0] += S[i, 0] * fx
    f[e, 1] += S[i, 0] * fy
    f[e, 2] += S[i, 1] * fx
    f[e, 3] += S[i, 1] * fy
    f[k, 0] += S[i, 2] * fx
    f[k, 1] += S[i, 2] * fy
    f[k, 2] += S[i, 3] * fx
    f[k, 3] += S[i, 3] * fy


@compiled
def _axial_pull(c: Any, x: float, y: float, xt: float, yt: float) -> float:
    """Axial force by |r'|, from the slope and its rate."""
    norm = np.sqrt(x * x + y * y)
    r = 1.0 / norm
    return (c.EA * (norm - 1.0 - c.eps_ref) + c.d_eps * (x * xt + y * yt) * r) * r


@compiled
def _curvature(x: float, y: float, X: float, Y: float) -> tuple[float, float, float, float, float, float]:
    """1/g, K, k1 and k2 from r' and r''."""
    r = 1.0 / (x * x + y * y)
    K = (x * Y - y * X) * r
    return r, K, (Y - 2.0 * K * x) * r, (-X - 2.0 * K * y) * r, -y * r, x * r


@compiled
def _bending_rate(c: Any, i: int, v: Any, e: int, k: int, curved: Any) -> float:
    """Rate of K at bending point i, from `_curvature`."""
    _, _, k1x, k1y, k2x, k2y = curved
    xt, yt = mixed(c.Sb, 2 * i, v, e, k)
    Xt, Yt = mixed(c.Sb, 2 * i + 1, v, e, k)
    return k1x * xt + k1y * yt + k2x * Xt + k2y * Yt


@compiled
def _end_weight(w: float, node: int, nodes: int, elements: int) -> float:
    """Twice `w`, once at the ends of an open chain."""
    return w if elements < nodes and (node == 0 or node == elements) else 2.0 * w


@compiled
def _axial_tangent(
    c: Any, x: float, y: float, xt: float, yt: float, cv: float, w: float
) -> tuple[float, float, float, float]:
    """Derivative of the weighted N t: (EA + cv d_eps) t t' + d_eps t (r'_t - eps_t t)'/l + N (1 - t t')/l."""
    norm = np.sqrt(x * x + y * y)
    x /= norm
    y /= norm
    along = x * xt + y * yt
    T = (c.EA * (norm - 1.0 - c.eps_ref) + c.d_eps * along) / norm
    a = c.EA + cv * c.d_eps
    px = c.d_eps * (xt - along * x) / norm
    py = c.d_eps * (yt - along * y) / norm
    return (
        w * (a * x * x + x * px + T * y * y),
        w * (a * x * y + x * py - T * x * y),
        w * (a * x * y + y * px - T * x * y),
        w * (a * y * y + y * py + T * x * x),
    )


@compiled
def add_block(K: Any, m: int, n: int, w: float, A: Any) -> None:
    """Add w times the matrix A = (xx, xy, yx, yy) to the 2 x 2 block (m, n) of K."""
    K[2 * m, 2 * n] += w * A[0]
    K[2 * m, 2 * n + 1] += w * A[1]
    K[2 * m + 1, 2 * n] += w * A[2]
    K[2 * m + 1, 2 * n + 1] += w * A[3]


@compiled
def elastic_forces(c: Any, q: Any, v: Any, elements: int, f: Any) -> None:
    """Add the elastic and viscous forces to `f`.

    Parameters
    ----------
    c : Cable
    q, v : (nodes, 4) positions and slopes, and their rates; element e joins nodes e and (e + 1) % nodes
    elements : as many as nodes for a ring, one less for an open chain
    f : (nodes, 4) forces that resist: M q_tt + f = loads
    """
    if c.w_end > 0.0:
        for e in range(q.shape[0]):
            N = _end_weight(c.w_end, e, q.shape[0], elements) * _axial_pull(c, q[e, 2], q[e, 3], v[e, 2], v[e, 3])
            f[e, 2] += N * q[e, 2]
            f[e, 3] += N * q[e, 3]
    for e in range(elements):
        k = e + 1 if e + 1 < q.shape[0] else 0
        for i in range(c.wa.shape[0]):
            x, y = mixed(c.Sa, i, q, e, k)
            xt, yt = mixed(c.Sa, i, v, e, k)
            N = c.wa[i] * _axial_pull(c, x, y, xt, yt)
            spread(c.Sa, i, N * x, N * y, f, e, k)
        for i in range(c.wb.shape[0]):
            x, y = mixed(c.Sb, 2 * i, q, e, k)
            X, Y = mixed(c.Sb, 2 * i + 1, q, e, k)
            curved = _curvature(x, y, X, Y)
            _, K, k1x, k1y, k2x, k2y = curved
            M = c.EI * K
            if c.d_K > 0.0:
                M += c.d_K * _bending_rate(c, i, v, e, k, curved)
            M *= c.wb[i]
            spread(c.Sb, 2 * i, M * k1x, M * k1y, f, e, k)
            spread(c.Sb, 2 * i + 1, M * k2x, M * k2y, f, e, k)


@compiled
def elastic_tangent(c: Any, q: Any, v: Any, elements: int, cv: float, K: Any, D: Any, G: Any, N: Any) -> None:
    """Add d(forces)/d(q) + cv d(forces)/d(q_t) to blocks `D` (nodes, 4, 4) on the diagonal, set blocks (e, e + 1) in
    columns 0-3 of `G` (nodes, 4, ...) and (e + 1, e) in `N` (nodes, 4, 4). `K` (8, 8) is scratch.
    """
    if c.w_end > 0.0:
        for e in range(q.shape[0]):
            w = _end_weight(c.w_end, e, q.shape[0], elements)
            add_block(D[e], 1, 1, 1.0, _axial_tangent(c, q[e, 2], q[e, 3], v[e, 2], v[e, 3], cv, w))
    for e in range(elements):
        k = e + 1 if e + 1 < q.shape[0] else 0
        K[:] = 0.0
        for i in range(c.wa.shape[0]):
            x, y = mixed(c.Sa, i, q, e, k)
            xt, yt = mixed(c.Sa, i, v, e, k)
            A = _axial_tangent(c, x, y, xt, yt, cv, c.wa[i])
            for m in range(4):
                for n in range(4):
                    add_block(K, m, n, c.Sa[i, m] * c.Sa[i, n], A)
        for i in range(c.wb.shape[0]):
            x, y = mixed(c.Sb, 2 * i, q, e, k)
            X, Y = mixed(c.Sb, 2 * i + 1, q, e, k)
            r, kappa, k1x, k1y, k2x, k2y = _curvature(x, y, X, Y)
            # second derivatives: H = d k1/d r' (symmetric), J = d k1/d r'' = (d k2/d r')'
            H00 = (-2.0 * kappa - 4.0 * x * k1x) * r
            H01 = (-2.0 * x * k1y - 2.0 * k1x * y) * r
            H11 = (-2.0 * kappa - 4.0 * y * k1y) * r
            J00 = -2.0 * x * k2x * r
            J01 = (1.0 - 2.0 * x * k2y) * r
            J10 = (-1.0 - 2.0 * y * k2x) * r
            J11 = -2.0 * y * k2y * r
            M = c.EI * kappa
            h1x = 0.0
            h1y = 0.0
            h2x = 0.0
            h2y = 0.0
            if c.d_K > 0.0:
                xt, yt = mixed(c.Sb, 2 * i, v, e, k)
                Xt, Yt = mixed(c.Sb, 2 * i + 1, v, e, k)
                M += c.d_K * (k1x * xt + k1y * yt + k2x * Xt + k2y * Yt)
                h1x = c.d_K * (H00 * xt + H01 * yt + J00 * Xt + J01 * Yt)
                h1y = c.d_K * (H01 * xt + H11 * yt + J10 * Xt + J11 * Yt)
                h2x = c.d_K * (J00 * xt + J10 * yt)
                h2y = c.d_K * (J01 * xt + J11 * yt)
            a = c.EI + cv * c.d_K
            w = c.wb[i]
            M *= w
            for m in range(4):
                sm = c.Sb[2 * i, m]
                bm = c.Sb[2 * i + 1, m]
                ux = w * (sm * k1x + bm * k2x)
                uy = w * (sm * k1y + bm * k2y)
                for n in range(4):
                    sn = c.Sb[2 * i, n]
                    bn = c.Sb[2 * i + 1, n]
                    dx = a * (sn * k1x + bn * k2x) + sn * h1x + bn * h2x
                    dy = a * (sn * k1y + bn * k2y) + sn * h1y + bn * h2y
                    ss = M * sm * sn
                    sb = M * sm * bn
                    bs = M * bm * sn
                    K[2 * m, 2 * n] += ux * dx + ss * H00 + (sb + bs) * J00
                    K[2 * m, 2 * n + 1] += ux * dy + ss * H01 + sb * J01 + bs * J10
                    K[2 * m + 1, 2 * n] += uy * dx + ss * H01 + sb * J10 + bs * J01
                    K[2 * m + 1, 2 * n + 1] += uy * dy + ss * H11 + (sb + bs) * J11
        D[e] += K[:4, :4]
        D[k] += K[4:, 4:]
        G[e, :, :4] = K[:4, 4:]
        N[e] = K[4:, :4]


@compiled
def _stretched(c: Any, x: float, y: float, xt: float, yt: float) -> tuple[float, float]:
    """Energy and viscous power per length by the slope and its rate."""
    norm = np.sqrt(x * x + y * y)
    strain = norm - 1.0 - c.eps_ref
    rate = (x * xt + y * yt) / norm
    return 0.5 * c.EA * strain * strain, c.d_eps * rate * rate


@compiled
def elastic_energy(c: Any, q: Any, v: Any, elements: int) -> tuple[float, float, float]:
    """Energy [J] of strain and curvature, and losses by axial and bending viscosity [W], summed as the forces are."""
    V = 0.0
    axial = 0.0
    bending = 0.0
    if c.w_end > 0.0:
        for e in range(q.shape[0]):
            w = _end_weight(c.w_end, e, q.shape[0], elements)
            stored, lost = _stretched(c, q[e, 2], q[e, 3], v[e, 2], v[e, 3])
            V += w * stored
            axial += w * lost
    for e in range(elements):
        k = e + 1 if e + 1 < q.shape[0] else 0
        for i in range(c.wa.shape[0]):
            x, y = mixed(c.Sa, i, q, e, k)
            xt, yt = mixed(c.Sa, i, v, e, k)
            stored, lost = _stretched(c, x, y, xt, yt)
            V += c.wa[i] * stored
            axial += c.wa[i] * lost
        for i in range(c.wb.shape[0]):
            x, y = mixed(c.Sb, 2 * i, q, e, k)
            X, Y = mixed(c.Sb, 2 * i + 1, q, e, k)
            curved = _curvature(x, y, X, Y)
            K = curved[1]
            V += 0.5 * c.wb[i] * c.EI * K * K
            if c.d_K > 0.0:
                rate = _bending_rate(c, i, v, e, k, curved)
                bending += c.wb[i] * c.d_K * rate * rate
    return V, axial, bending


def axial_force(c: Cable, q: Array, v: Array, xi: float) -> tuple[Array, Array, Array]:
    """Axial force [N], velocity along the belt [m/s] and position [m] at xi L in the elements of a ring.

    Parameters
    ----------
    q, v : (..., n, 4) arrays
        Positions and slopes of the nodes, and their rates.

    Returns
    -------
    N, along : (..., n) arrays
    r : (..., n, 2) array
    """
    S, d, _ = shape(np.array([xi * c.L]), c.L)

    def mix(s: Array, u: Array) -> Array:
        w = np.roll(u, -1, axis=-2)
        return s[0, 0] * u[..., :2] + s[0, 1] * u[..., 2:] + s[0, 2] * w[..., :2] + s[0, 3] * w[..., 2:]

    slope, rate = mix(d, q), mix(d, v)
    norm = np.linalg.norm(slope, axis=-1)
    t = slope / norm[..., None]
    N = c.EA * (norm - 1.0 - c.eps_ref) + c.d_eps * np.sum(t * rate, axis=-1)
    return N, np.sum(t * mix(S, v), axis=-1), mix(S, q)


@compiled
def _extremes(p0: float, p1: float, d0: float, d1: float) -> tuple[float, float]:
    """Least and largest value on [0, 1] of the cubic with these ends and end slopes (eqs. 10-14)."""
    low = min(p0, p1)
    high = max(p0, p1)
    # p' = a xi^2 + 2 b xi + c
    a = 6.0 * (p0 - p1) + 3.0 * (d0 + d1)
    b = 3.0 * (p1 - p0) - 2.0 * d0 - d1
    disc = b * b - a * d0
    if disc > 0.0:
        w = -(b + np.copysign(np.sqrt(disc), b))  # the stable pair of roots w/a, d0/w
        for j in range(2):
            top = w if j == 0 else d0
            bottom = a if j == 0 else w
            if bottom != 0.0:
                z = top / bottom
                if 0.0 < z < 1.0:
                    y = 1.0 - z
                    p = y * y * (1.0 + 2.0 * z) * p0 + z * y * y * d0 + z * z * (3.0 - 2.0 * z) * p1 - z * z * y * d1
                    low = min(low, p)
                    high = max(high, p)
    return low, high


@compiled
def bounding_box(q: Any, e: int, L: float) -> tuple[float, float, float, float]:
    """Exact box (x_min, x_max, y_min, y_max) of element e's line (section 2.3)."""
    k = (e + 1) % q.shape[0]
    x0, x1 = _extremes(q[e, 0], q[k, 0], L * q[e, 2], L * q[k, 2])
    y0, y1 = _extremes(q[e, 1], q[k, 1], L * q[e, 3], L * q[k, 3])
    return x0, x1, y0, y1
