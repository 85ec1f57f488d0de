"""Contact of the belt's elements with sheaves (Ntarladima, Pieber and Gerstmayr 2023, sections 2.2-2.5, eqs. 9-35).

An element is n_s straight segments between the points p_k of its surface, which is the line moved by the offset o along
its left normal (o = +h/2 where the sheave lies on the left, -h/2 on the right). For the centre c, with v_s = p_1 - p_0,

    rho = (c - p_0).v_s / v_s.v_s,  cut off at 0 and 1         (15)
    n   = (p_P - c)/d,  d = |p_P - c|,  p_P = p_0 + rho v_s,   t = R n (R: 90 degrees anticlockwise)
    g   = d - r                                                 (16)
    v   = (1 - rho) v_0 + rho v_1,  v_n = v.n,  v_t = v.t - r w (17-19)

Normal force, negative in pressure, with n = 1 as in the paper's implementation:

    f_n = k_c g + (d_c + d_h |g|) v_n                           (9)

d_h = 0 is the linear law, d_c = 0 that of Lankarani and Nikravesh, with their hysteresis constant
d_h = 3 k_c (1 - e^2)/(4 v_0) for a coefficient of restitution e at the approach speed v_0. Tangential force, with the
bristle's stretch dx:

    stick   f_t = mu_v v_t + mu_k dx                            (20)
    slip    f_t = mu |f_n| x_slip                               (21, 30), x_slip the sign of the sticking force,
                                                                mu that of the sheave, see `friction`
    dx      = x_cur - x_ref, reduced to [-pi r, pi r]           (25, 26)
    x_cur   = r (angle(n) - phi) + sigma rho L_seg              (22-24), sigma = +1 where the sheave lies on the right

L_seg is the reference length; stretch is left out of (24), as in the paper. Whether a segment touches, sticks or slips
(x_slip = 0, +-1; -2 undefined) and x_ref change only after Newton's method has converged, in `post_newton`, which
returns the sum of the switching errors (28) and (29) in N.

The force f = f_n n + f_t t resists: it is the negative of the force on the belt. It is shared out as (1 - rho) f and
rho f (32) and moves to the nodes by virtual work; the sheave feels the torque r f_t (35). Normals are the segment's,
or, the paper's second option, those of the points: n_k = (p_k - c)/|p_k - c|, with f_n and f_t as before.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.belt.ancf import add_block, bounding_box, mixed, spread
from rtcvt.offline.belt.compiled import compiled
from rtcvt.offline.belt.friction import Sliding, approach, coefficient, direction, place_friction

Array = NDArray[np.float64]

STICK = 0.0
UNDEFINED = -2.0
N_POINT = 9  # x, y, v_x, v_y, tangent, |r'| and force of a point


class Contact(NamedTuple):
    """Sheaves, and the contact constants of one segment."""

    center: Array  # (m, 2) [m]
    radius: Array  # (m,) [m]
    offset: Array  # (m,) of the belt's surface from its line, along the left normal [m]
    S: Array  # (n_s + 1, 4) shape functions at the points
    dS: Array  # (n_s + 1, 4) and their slopes
    L_seg: float  # reference length [m]
    k_c: float  # [N/m]
    d_c: float  # [N s/m]
    d_h: float  # [N s/m^2]
    mu: Array  # (m, 1 or more) coefficients of friction, by direction about the sheave where sliding changes them
    mu_k: float  # [N/m]
    mu_v: float  # [N s/m]
    at_points: bool  # normals of the points instead of the segment's
    sliding: Sliding  # where mu is from
    speed: Array  # (m, 2) of the centres [m/s]
    lever: Array  # (m, 2) derivative of a centre by the angle of the arm that carries it [m]
    arm: NDArray[np.int64]  # (m,) this arm's place in the border of Newton's matrix, or -1


class Pose(NamedTuple):
    """Belt and sheaves; kernels accept this, or a `motion.Motion`, which has the same entries."""

    q: Array  # (nodes, 4) coordinates
    v: Array  # (nodes, 4) their rates
    phi: Array  # (m,) angles of the sheaves [rad]
    w: Array  # (m,) their speeds [rad/s]
    contact: Array  # (m, elements, n_s, 3) gap, x_slip and x_ref of the last post-Newton step; no force if gap > 0


def standing(m: int) -> tuple[Array, Array, NDArray[np.int64]]:
    """The last entries of a `Contact` whose m centres do not move."""
    return np.zeros((m, 2)), np.zeros((m, 2)), np.full(m, -1, dtype=np.int64)


def scratch(segments: int) -> tuple[Array, Array, Array, Array]:
    """Scratch of `contact_tangent`; its first is that of the other kernels."""
    return np.zeros((segments + 1, N_POINT)), np.zeros((segments + 1, 2, 8)), np.zeros((8, 8)), np.zeros((11, 8))


@compiled
def touching(state: Any, pairs: Any) -> int:
    """Fill `pairs` (m * elements, 2) with the sheaves and elements that touch; their number."""
    count = 0
    for i in range(state.shape[0]):
        for e in range(state.shape[1]):
            touch = False
            for j in range(state.shape[2]):
                touch = touch or state[i, e, j, 0] <= 0.0
            if touch:
                pairs[count, 0] = i
                pairs[count, 1] = e
                count += 1
    return count


@compiled
def segment_points(c: Any, x: Any, i: int, e: int, P: Any) -> None:
    """Points of element e's surface that faces sheave i: place, velocity, tangent and |r'| into `P`."""
    k = e + 1 if e + 1 < x.q.shape[0] else 0
    o = c.offset[i]
    for j in range(c.S.shape[0]):
        tx, ty = mixed(c.dS, j, x.q, e, k)
        tx_t, ty_t = mixed(c.dS, j, x.v, e, k)
        norm = np.sqrt(tx * tx + ty * ty)
        tx /= norm
        ty /= norm
        turning = o * (tx * ty_t - ty * tx_t) / norm
        X, Y = mixed(c.S, j, x.q, e, k)
        X_t, Y_t = mixed(c.S, j, x.v, e, k)
        P[j, 0] = X - o * ty
        P[j, 1] = Y + o * tx
        P[j, 2] = X_t - turning * tx
        P[j, 3] = Y_t - turning * ty
        P[j, 4] = tx
        P[j, 5] = ty
        P[j, 6] = norm


@compiled
def _locate(P: Any, j: int, cx: float, cy: float) -> tuple[float, float, float, float, float]:
    """rho, d, n and sigma of the segment from point j to j + 1."""
    sx = P[j + 1, 0] - P[j, 0]
    sy = P[j + 1, 1] - P[j, 1]
    rho = ((cx - P[j, 0]) * sx + (cy - P[j, 1]) * sy) / (sx * sx + sy * sy)
    rho = min(max(rho, 0.0), 1.0)
    nx = P[j, 0] + rho * sx - cx
    ny = P[j, 1] + rho * sy - cy
    d = np.sqrt(nx * nx + ny * ny)
    r = 1.0 / d
    nx *= r
    ny *= r
    sigma = -1.0 if sy * nx - sx * ny > 0.0 else 1.0
    return rho, d, nx, ny, sigma


@compiled
def bristle_stretch(x: float, ref: float, period: float) -> float:
    """Way from `ref` to `x`, full turns left out (eq. 26)."""
    dx = x - ref
    return dx - np.floor(dx / period + 0.5) * period


@compiled
def bristle(
    f_n: float, v_t: float, x: float, slip0: float, ref0: float, mu: float, mu_k: float, mu_v: float, period: float
) -> tuple[float, float, float]:
    """New x_slip, x_ref and the excess |f_t| - mu |f_n| of sticking (section 2.4, Fig. 5).

    `slip0` and `ref0` are those of the start of the step: sticking continues from there, slipping moves the bristle at
    its largest stretch. Its sign is that of the whole of (20), as in (21): with the sign of the stretch alone a segment
    that runs on and slides would be loaded by mu_v v_t without limit, and one that turns back would be driven on.
    """
    ref = x if slip0 == UNDEFINED else ref0
    dx = bristle_stretch(x, ref, period) if mu_k > 0.0 else v_t
    f_t = mu_v * v_t
    if mu_k > 0.0:
        f_t += mu_k * dx
    most = mu * abs(f_n)
    excess = abs(f_t) - most
    slip = STICK
    if excess > 0.0:
        slip = np.copysign(1.0, f_t)
        if mu_k > 0.0:
            ref = x - slip * most / mu_k
    return slip, ref, excess


@compiled
def _pressed(c: Any, P: Any, i: int, j: int) -> Any:
    """rho, d, n, sigma, f_n, v_n and v of segment j at sheave i."""
    rho, d, nx, ny, sigma = _locate(P, j, c.center[i, 0], c.center[i, 1])
    vx = (1.0 - rho) * P[j, 2] + rho * P[j + 1, 2] - c.speed[i, 0]
    vy = (1.0 - rho) * P[j, 3] + rho * P[j + 1, 3] - c.speed[i, 1]
    v_n = vx * nx + vy * ny
    g = d - c.radius[i]
    return rho, d, nx, ny, sigma, c.k_c * g + (c.d_c + c.d_h * abs(g)) * v_n, v_n, vx, vy


@compiled
def segment(
    c: Any, x: Any, P: Any, i: int, e: int, j: int
) -> tuple[float, float, float, float, float, float, float, float, float, float, float]:
    """rho, d, n, sigma, f_n, f_t, v_n, v, x_cur of segment j of element e at sheave i, whose points are in `P`."""
    slip = x.contact[i, e, j, 1]
    rho, d, nx, ny, sigma, f_n, v_n, vx, vy = _pressed(c, P, i, j)
    r = c.radius[i]
    place = 0.0
    if slip == 1.0 or slip == -1.0:
        f_t = coefficient(c.mu, c.sliding, i, e * (c.S.shape[0] - 1) + j, nx, ny) * abs(f_n) * slip
    else:
        f_t = c.mu_v * (vy * nx - vx * ny - r * x.w[i])
        if slip == STICK and c.mu_k > 0.0:
            place = r * (np.arctan2(ny, nx) - x.phi[i]) + sigma * rho * c.L_seg
            f_t += c.mu_k * bristle_stretch(place, x.contact[i, e, j, 2], 2.0 * np.pi * r)
    return rho, d, nx, ny, sigma, f_n, f_t, v_n, vx, vy, place


@compiled
def contact_forces(c: Any, x: Any, pairs: Any, count: int, P: Any, f: Any, torque: Any, pull: Any) -> None:
    """Add the forces of sheaves on elements to `f`, and to `torque` and `pull` the loads of the sheaves.

    Parameters
    ----------
    c : Contact
    x : Pose
    pairs, count : (..., 2) array of int64, int
        Sheave and element of each pair to look at, see `touching`.
    P : (n_s + 1, N_POINT) array
        Scratch.
    f : (nodes, 4) array
        Resisting forces.
    torque : (m,) array
        [N m]
    pull : (m, 2) array
        [N]
    """
    for at in range(count):
        i = pairs[at, 0]
        e = pairs[at, 1]
        segment_points(c, x, i, e, P)
        k = e + 1 if e + 1 < x.q.shape[0] else 0
        o = c.offset[i]
        n_s = c.S.shape[0] - 1
        P[:, 7:9] = 0.0
        for j in range(n_s):
            if x.contact[i, e, j, 0] > 0.0:
                continue
            rho, _, nx, ny, _, f_n, f_t, _, _, _, _ = segment(c, x, P, i, e, j)
            torque[i] += c.radius[i] * f_t
            if c.at_points:
                for p in range(j, j + 2):
                    u = rho if p > j else 1.0 - rho
                    mx = P[p, 0] - c.center[i, 0]
                    my = P[p, 1] - c.center[i, 1]
                    u /= np.sqrt(mx * mx + my * my)
                    P[p, 7] += u * (f_n * mx - f_t * my)
                    P[p, 8] += u * (f_n * my + f_t * mx)
            else:
                gx = f_n * nx - f_t * ny
                gy = f_n * ny + f_t * nx
                P[j, 7] += (1.0 - rho) * gx
                P[j, 8] += (1.0 - rho) * gy
                P[j + 1, 7] += rho * gx
                P[j + 1, 8] += rho * gy
        for p in range(n_s + 1):
            gx = P[p, 7]
            gy = P[p, 8]
            pull[i, 0] += gx
            pull[i, 1] += gy
            # the offset's arm: dp/dr' = -(o/l) t (R t)'
            arm = -o * (P[p, 4] * gx + P[p, 5] * gy) / P[p, 6]
            spread(c.S, p, gx, gy, f, e, k)
            spread(c.dS, p, -arm * P[p, 5], arm * P[p, 4], f, e, k)


@compiled
def contact_tangent(
    c: Any, x: Any, cv: float, pairs: Any, count: int, free: Any, W: Any, D: Any, G: Any, N: Any, F: Any, S: Any
) -> None:
    """Add the tangent of `contact_forces`, rates weighted by `cv`, to the matrix of a bordered ring.

    The blocks are those of `ring_solver`; row 4 + free[i] of its border is the torque balance of sheave i, in which
    the torque of `contact_forces` counts with a minus; free[i] < 0: no row. `W` is `scratch(n_s)`. The dependence of
    the offset's own velocity on q is left out, which Newton's method does not feel.
    """
    P, B, K, V = W
    for at in range(count):
        i = pairs[at, 0]
        e = pairs[at, 1]
        k = e + 1 if e + 1 < x.q.shape[0] else 0
        border = 4 + free[i]
        V[4:6] = 0.0
        K[:] = 0.0
        turning = _pair_tangent(c, x, i, e, cv, P, B, K, V)
        D[e] += K[:4, :4]
        D[k] += K[4:, 4:]
        G[e, :, :4] += K[:4, 4:]
        N[e] += K[4:, :4]
        if border >= 4:
            for a in range(4):
                G[e, a, 4 + border] += V[4, a]
                G[k, a, 4 + border] += V[4, 4 + a]
                F[e, border, a] -= V[5, a]
                F[k, border, a] -= V[5, 4 + a]
            S[border, border] -= turning
        if c.arm[i] >= 0:
            _arm_tangent(4 + c.arm[i], border, e, k, c.lever[i, 0], c.lever[i, 1], K, V, G, F, S)


@compiled
def _arm_tangent(
    arm: int, border: int, e: int, k: int, x: float, y: float, K: Any, V: Any, G: Any, F: Any, S: Any
) -> None:
    """Row and column of an arm that moves a centre along (x, y): as if the element moved the other way.

    The arm's balance counts the force on the sheave with a minus.
    """
    for a in range(4):
        G[e, a, 4 + arm] -= (K[a, 0] + K[a, 4]) * x + (K[a, 1] + K[a, 5]) * y
        G[k, a, 4 + arm] -= (K[4 + a, 0] + K[4 + a, 4]) * x + (K[4 + a, 1] + K[4 + a, 5]) * y
        F[e, arm, a] -= (K[0, a] + K[4, a]) * x + (K[1, a] + K[5, a]) * y
        F[k, arm, a] -= (K[0, 4 + a] + K[4, 4 + a]) * x + (K[1, 4 + a] + K[5, 4 + a]) * y
    xx = K[0, 0] + K[0, 4] + K[4, 0] + K[4, 4]
    xy = K[0, 1] + K[0, 5] + K[4, 1] + K[4, 5] + K[1, 0] + K[1, 4] + K[5, 0] + K[5, 4]
    yy = K[1, 1] + K[1, 5] + K[5, 1] + K[5, 5]
    S[arm, arm] += xx * x * x + xy * x * y + yy * y * y
    if border >= 4:
        S[arm, border] -= (V[4, 0] + V[4, 4]) * x + (V[4, 1] + V[4, 5]) * y
        S[border, arm] += (V[5, 0] + V[5, 4]) * x + (V[5, 1] + V[5, 5]) * y


@compiled
def _pair_tangent(c: Any, x: Any, i: int, e: int, cv: float, P: Any, B: Any, K: Any, V: Any) -> float:
    """Add to `K` d(f)/d(q), to V[4] d(f)/d(phi), to V[5] d(torque)/d(q); returned is d(torque)/d(phi)."""
    D, A, R, T = V[0], V[1], V[2], V[3]  # derivatives by the segment's points: d, turn of n, rho, tangent displacement
    column, row, J, F = V[4], V[5], V[6:10], V[10]
    segment_points(c, x, i, e, P)
    o = c.offset[i]
    r = c.radius[i]
    for p in range(c.S.shape[0]):
        tx = P[p, 4]
        ty = P[p, 5]
        a = o / P[p, 6]
        for m in range(4):
            s = c.S[p, m]
            b = c.dS[p, m]
            B[p, 0, 2 * m] = s + a * b * tx * ty
            B[p, 0, 2 * m + 1] = -a * b * tx * tx
            B[p, 1, 2 * m] = a * b * ty * ty
            B[p, 1, 2 * m + 1] = s - a * b * tx * ty
    turning = 0.0
    for j in range(c.S.shape[0] - 1):
        if x.contact[i, e, j, 0] > 0.0:
            continue
        slip = x.contact[i, e, j, 1]
        rho, d, nx, ny, sigma, f_n, f_t, v_n, vx, vy, _ = segment(c, x, P, i, e, j)
        ex = P[j + 1, 0] - P[j, 0]
        ey = P[j + 1, 1] - P[j, 1]
        norm = np.sqrt(ex * ex + ey * ey)
        ex /= norm
        ey /= norm
        u0 = 1.0 - rho
        D[0] = u0 * nx
        D[1] = u0 * ny
        D[2] = rho * nx
        D[3] = rho * ny
        T[0] = -u0 * ny
        T[1] = u0 * nx
        T[2] = -rho * ny
        T[3] = rho * nx
        if 0.0 < rho < 1.0:
            A[2] = sigma * nx / norm
            A[3] = sigma * ny / norm
            A[0] = -A[2]
            A[1] = -A[3]
            R[2] = -(rho * ex + d / norm * nx) / norm
            R[3] = -(rho * ey + d / norm * ny) / norm
            R[0] = -ex / norm - R[2]
            R[1] = -ey / norm - R[3]
        else:
            for m in range(4):
                A[m] = T[m] / d
                R[m] = 0.0
        jump_n = (P[j + 1, 2] - P[j, 2]) * nx + (P[j + 1, 3] - P[j, 3]) * ny
        jump_t = -(P[j + 1, 2] - P[j, 2]) * ny + (P[j + 1, 3] - P[j, 3]) * nx
        along = -vx * ny + vy * nx
        g = d - r
        kn = c.k_c + c.d_h * np.copysign(1.0, g) * v_n
        dn = c.d_c + c.d_h * abs(g)
        slipping = slip == 1.0 or slip == -1.0
        mu_k = c.mu_k if slip == STICK else 0.0
        ft_phi = 0.0 if slipping else -r * (mu_k + cv * c.mu_v)
        ft_fn = coefficient(c.mu, c.sliding, i, e * (c.S.shape[0] - 1) + j, nx, ny) * slip * np.copysign(1.0, f_n)
        for m in range(4):
            fn = kn * D[m] + dn * (cv * D[m] + jump_n * R[m] + along * A[m])
            if slipping:
                ft = ft_fn * fn
            else:
                ft = c.mu_v * (cv * T[m] + jump_t * R[m] - v_n * A[m]) + mu_k * (r * A[m] + sigma * c.L_seg * R[m])
            F[m] = ft
            if c.at_points:
                for h in range(2):
                    u = rho if h == 1 else u0
                    du = R[m] if h == 1 else -R[m]
                    mx = P[j + h, 0] - c.center[i, 0]
                    my = P[j + h, 1] - c.center[i, 1]
                    lp = np.sqrt(mx * mx + my * my)
                    mx /= lp
                    my /= lp
                    turn = 0.0
                    if m == 2 * h:
                        turn = -my / lp
                    elif m == 2 * h + 1:
                        turn = mx / lp
                    an = u * (fn - f_t * turn) + du * f_n
                    at = u * (ft + f_n * turn) + du * f_t
                    J[2 * h, m] = an * mx - at * my
                    J[2 * h + 1, m] = an * my + at * mx
            else:
                an = fn - f_t * A[m]
                at = ft + f_n * A[m]
                gx = an * nx - at * ny
                gy = an * ny + at * nx
                fx = R[m] * (f_n * nx - f_t * ny)
                fy = R[m] * (f_n * ny + f_t * nx)
                J[0, m] = u0 * gx - fx
                J[1, m] = u0 * gy - fy
                J[2, m] = rho * gx + fx
                J[3, m] = rho * gy + fy
        for b in range(8):
            z0 = B[j, 0, b]
            z1 = B[j, 1, b]
            z2 = B[j + 1, 0, b]
            z3 = B[j + 1, 1, b]
            y0 = J[0, 0] * z0 + J[0, 1] * z1 + J[0, 2] * z2 + J[0, 3] * z3
            y1 = J[1, 0] * z0 + J[1, 1] * z1 + J[1, 2] * z2 + J[1, 3] * z3
            y2 = J[2, 0] * z0 + J[2, 1] * z1 + J[2, 2] * z2 + J[2, 3] * z3
            y3 = J[3, 0] * z0 + J[3, 1] * z1 + J[3, 2] * z2 + J[3, 3] * z3
            row[b] += r * (F[0] * z0 + F[1] * z1 + F[2] * z2 + F[3] * z3)
            for a in range(8):
                K[a, b] += B[j, 0, a] * y0 + B[j, 1, a] * y1 + B[j + 1, 0, a] * y2 + B[j + 1, 1, a] * y3
        turning += r * ft_phi
        for m in range(2):
            p = j + m
            u = rho if m == 1 else u0
            mx = nx
            my = ny
            if c.at_points:
                mx = P[p, 0] - c.center[i, 0]
                my = P[p, 1] - c.center[i, 1]
                lp = np.sqrt(mx * mx + my * my)
                mx /= lp
                my /= lp
            gx = -u * ft_phi * my
            gy = u * ft_phi * mx
            for a in range(8):
                column[a] += B[p, 0, a] * gx + B[p, 1, a] * gy
            # second derivative of the offset: f.(R t) and f.t bend with the slope
            if o != 0.0:
                fx = u * (f_n * mx - f_t * my)
                fy = u * (f_n * my + f_t * mx)
                tx = P[p, 4]
                ty = P[p, 5]
                fs = o * (fx * tx + fy * ty) / (P[p, 6] * P[p, 6])
                fm = o * (fy * tx - fx * ty) / (P[p, 6] * P[p, 6])
                H01 = fm * tx * ty + fs * (tx * tx - ty * ty)
                H = (-fm * ty * ty - 2.0 * fs * tx * ty, H01, H01, -fm * tx * tx + 2.0 * fs * tx * ty)
                for a in range(4):
                    for b in range(4):
                        s = c.dS[p, a] * c.dS[p, b]
                        add_block(K, a, b, s, H)
    return turning


@compiled
def post_newton(c: Any, L: float, x: Any, start: Any, P: Any) -> float:
    """Update ``x.contact`` of all segments from the `start` of the step; sum of switching errors [N].

    Eqs. (27)-(29) and Fig. 5.
    """
    error = 0.0
    for e in range(x.contact.shape[1]):
        x0, x1, y0, y1 = bounding_box(x.q, e, L)
        for i in range(c.radius.shape[0]):
            cx = c.center[i, 0]
            cy = c.center[i, 1]
            reach = c.radius[i] + abs(c.offset[i])
            near_x = max(max(x0 - cx, cx - x1), 0.0)
            near_y = max(max(y0 - cy, cy - y1), 0.0)
            look = near_x * near_x + near_y * near_y <= reach * reach
            for j in range(c.S.shape[0] - 1):
                look = look or x.contact[i, e, j, 0] <= 0.0
            if look:
                error += _post_newton(c, x, i, e, start, P)
    return error


@compiled
def _post_newton(c: Any, x: Any, i: int, e: int, start: Any, P: Any) -> float:
    state = x.contact
    n_s = c.S.shape[0] - 1
    segment_points(c, x, i, e, P)
    error = 0.0
    for j in range(n_s):
        rho, d, nx, ny, sigma, f_n, _, vx, vy = _pressed(c, P, i, j)
        gap = d - c.radius[i]
        if (gap > 0.0) != (state[i, e, j, 0] > 0.0):
            error += abs(gap - state[i, e, j, 0]) * c.k_c
        state[i, e, j, 0] = gap
        if gap > 0.0:
            state[i, e, j, 1] = UNDEFINED
            continue
        place = c.radius[i] * (np.arctan2(ny, nx) - x.phi[i]) + sigma * rho * c.L_seg
        v_t = vy * nx - vx * ny - c.radius[i] * x.w[i]
        mu = coefficient(c.mu, c.sliding, i, e * n_s + j, nx, ny)
        slip_0, ref_0, period = start[i, e, j, 1], start[i, e, j, 2], 2.0 * np.pi * c.radius[i]
        slip, ref, excess = bristle(f_n, v_t, place, slip_0, ref_0, mu, c.mu_k, c.mu_v, period)
        if slip != state[i, e, j, 1]:
            error += abs(excess)
        state[i, e, j, 1] = slip
        state[i, e, j, 2] = ref
    return error


@compiled
def segment_forces(c: Any, x: Any, P: Any, out: Any) -> None:
    """Fill `out` (m, elements, n_s, 4): f_t and f_n [N], the bristle's stretch while sticking and the gap [m]."""
    for i in range(c.radius.shape[0]):
        for e in range(x.contact.shape[1]):
            segment_points(c, x, i, e, P)
            for j in range(c.S.shape[0] - 1):
                out[i, e, j] = 0.0
                if x.contact[i, e, j, 0] > 0.0:
                    continue
                _, d, _, _, _, f_n, f_t, _, _, _, place = segment(c, x, P, i, e, j)
                out[i, e, j, 0] = f_t
                out[i, e, j, 1] = f_n
                if x.contact[i, e, j, 1] == STICK:
                    out[i, e, j, 2] = bristle_stretch(place, x.contact[i, e, j, 2], 2.0 * np.pi * c.radius[i])
                out[i, e, j, 3] = d - c.radius[i]


@compiled
def follow_sliding(c: Any, x: Any, h: float, P: Any, slides: Any) -> None:
    """Let the sliding speeds ``x.sliding`` (m, B) [m/s] follow a step of h [s], and `c.mu` these.

    `slides` (m, B, 2) is scratch.
    """
    if c.sliding.v.shape[0] == 0:
        place_friction(c.sliding, x.sliding, x.phi, c.mu)
        return
    state = x.contact
    slides[:] = 0.0
    for i in range(state.shape[0]):
        for e in range(state.shape[1]):
            touches = False
            for j in range(state.shape[2]):
                touches = touches or state[i, e, j, 0] <= 0.0
            if not touches:
                continue
            segment_points(c, x, i, e, P)
            for j in range(state.shape[2]):
                if state[i, e, j, 0] > 0.0:
                    continue
                _, _, nx, ny, _, f_n, _, _, vx, vy, _ = segment(c, x, P, i, e, j)
                v_t = abs(vy * nx - vx * ny - c.radius[i] * x.w[i])
                a, b, s = direction(x.sliding.shape[1], nx, ny)
                weight = max(-f_n, 0.0)
                slides[i, a, 0] += (1.0 - s) * weight
                slides[i, a, 1] += (1.0 - s) * weight * v_t
                slides[i, b, 0] += s * weight
                slides[i, b, 1] += s * weight * v_t
    approach(h, slides, x.sliding)
    place_friction(c.sliding, x.sliding, x.phi, c.mu)
