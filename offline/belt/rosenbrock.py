"""Linearly implicit steps for the belt of rigid elements: Rodas3 (Sandu, Verwer, Blom, Spee, Carmichael, Potra 1997).

Where an element sticks, Threlfall's friction has the rate of decay 3 mu N/(2 m dv), which bounds explicit steps and not
these. With z = 1/(gamma h), gamma = 1/2, and M q'' = f(t, q, v) the stages are

    (z^2 M - z f_v - f_q) k_q = M (r_v + z r_q) - f_v r_q,   k_v = z k_q - r_q
    r_q = v_i + sum c_ij k_qj/h,   M r_v = f(t_i, q_i, v_i) + M sum c_ij k_vj/h + g_i h f_t
    y_i = y_0 + sum a_ij k_j,      y_1 = y_0 + 2 k_1 + k_3 + k_4,   error k_4

of third order, with an error of second, L-stable and stiffly accurate: joints' modes faster than a step decay. The
matrix is a ring of elements with a border of pulleys (`ring_solver`; its blocks have a fourth row of unity). The
energies at the end of the state follow from their rates at both ends of a step; the numerical dissipation of the steps
is in none of them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.numerics.integrators import STAGES, rosenbrock_earlier
from rtcvt.offline.belt.compiled import compiled
from rtcvt.offline.belt.element_forces import film_on, friction, load_slope, rates, release, spring, stiffness
from rtcvt.offline.belt.ring_solver import factorise, solve

Array = NDArray[np.float64]


class Matrices(NamedTuple):
    """Newton's matrix in the blocks of `ring_solver`, and f_v in blocks of its own."""

    D: Array  # (n, 4, 4)
    G: Array  # (n, 4, 8 + n_k)
    N: Array  # (n, 4, 4)
    F: Array  # (n, 4 + n_k, 4)
    S: Array  # (6 + n_k, 4 + n_k)
    V: Array  # (n, 3, 9): f_v of element i by elements i - 1, i, i + 1
    C: Array  # (n, 2, n_k): by the speeds of the pulleys
    R: Array  # (n, n_k, 2): of the pulleys' torques by v_x, v_y of element i
    P: Array  # (n_k, n_k) by the speeds of all
    B: Array  # (6, 2) scratch: the joint's gap by its six coordinates
    Q: Array  # (6, 2) scratch: force by coordinates
    U: Array  # (6, 2) scratch: force by speeds
    b: Array  # (n, 4) right-hand side
    c: Array  # (4 + n_k,) its part of the border, the last row of S


def matrices(n: int, k: int) -> Matrices:
    """Memory for n elements and k pulleys."""
    S = np.zeros((6 + k, 4 + k))
    blocks = np.zeros((n, 4, 4)), np.zeros((n, 4, 8 + k)), np.zeros((n, 4, 4)), np.zeros((n, 4 + k, 4)), S
    by_speed = np.zeros((n, 3, 9)), np.zeros((n, 2, k)), np.zeros((n, k, 2)), np.zeros((k, k))
    B, Q, U = np.zeros((3, 6, 2))
    return Matrices(*blocks, *by_speed, B, Q, U, np.zeros((n, 4)), S[-1])


@compiled
def tangent(y: Any, d: Any, z: float, W: Any) -> None:
    """Fill `W` with z^2 M - z f_v - f_q and with f_v at a state.

    Parameters
    ----------
    y : (6 n + 2 n_k + 8,) array
        State, see `element_forces.rates`.
    d : Drive
    z : float
        [1/s]
    W : Matrices
    """
    n, k = d.n, d.r_k.size
    o = 3 * n + k
    half = 0.5 * d.l
    for part in (W.D, W.G, W.N, W.F, W.V, W.C, W.R):
        part[:] = 0.0
    for i in range(n):
        W.D[i, 0, 0] = W.D[i, 1, 1] = d.m * z * z
        W.D[i, 2, 2] = d.I_z * z * z
        W.D[i, 3, 3] = 1.0
    B, Q, U = W.B, W.Q, W.U
    for i in range(n):
        h = i - 1 if i > 0 else n - 1
        ci, si = half * np.cos(y[2 * n + i]), half * np.sin(y[2 * n + i])
        ch, sh = half * np.cos(y[2 * n + h]), half * np.sin(y[2 * n + h])
        wi, wh = y[o + 2 * n + i], y[o + 2 * n + h]
        gx = y[i] - ci - y[h] - ch
        gy = y[n + i] - si - y[n + h] - sh
        ux = y[o + i] - y[o + h] + wi * si + wh * sh
        uy = y[o + n + i] - y[o + n + h] - wi * ci - wh * ch
        length = max(np.sqrt(gx * gx + gy * gy), 1e-300)
        ex, ey = gx / length, gy / length
        along = ux * ex + uy * ey
        secant, slope, _ = stiffness(d.c_wzd, d.e_wzd, length)
        fx = secant * gx + d.b_wzd * along * ex
        fy = secant * gy + d.b_wzd * along * ey
        # F by the gap: F_e/|g| + (dF_e/d|g| - F_e/|g|) e e' + b/|g| (e u' P + (u.e) P),  P = 1 - e e'
        turn = d.b_wzd / length
        px, py = ux - along * ex, uy - along * ey
        axx = secant + (slope - secant) * ex * ex + turn * (ex * px + along * (1.0 - ex * ex))
        axy = (slope - secant) * ex * ey + turn * (ex * py - along * ex * ey)
        ayx = (slope - secant) * ex * ey + turn * (ey * px - along * ex * ey)
        ayy = secant + (slope - secant) * ey * ey + turn * (ey * py + along * (1.0 - ey * ey))
        B[0, 0], B[0, 1], B[1, 0], B[1, 1], B[2, 0], B[2, 1] = -1.0, 0.0, 0.0, -1.0, sh, -ch
        B[3, 0], B[3, 1], B[4, 0], B[4, 1], B[5, 0], B[5, 1] = 1.0, 0.0, 0.0, 1.0, si, -ci
        for a in range(6):
            stretch = d.b_wzd * (ex * B[a, 0] + ey * B[a, 1])
            U[a, 0], U[a, 1] = stretch * ex, stretch * ey
            Q[a, 0] = axx * B[a, 0] + axy * B[a, 1]
            Q[a, 1] = ayx * B[a, 0] + ayy * B[a, 1]
        for a, w, c, s in ((2, wh, ch, sh), (5, wi, ci, si)):
            stretch = d.b_wzd * w * (ex * c + ey * s)
            Q[a, 0] += stretch * ex
            Q[a, 1] += stretch * ey
        for a in range(3):
            for b in range(3):
                W.D[h, a, b] += B[a, 0] * (Q[b, 0] + z * U[b, 0]) + B[a, 1] * (Q[b, 1] + z * U[b, 1])
                W.V[h, a, 3 + b] -= B[a, 0] * U[b, 0] + B[a, 1] * U[b, 1]
                W.G[h, a, b] += B[a, 0] * (Q[3 + b, 0] + z * U[3 + b, 0]) + B[a, 1] * (Q[3 + b, 1] + z * U[3 + b, 1])
                W.V[h, a, 6 + b] -= B[a, 0] * U[3 + b, 0] + B[a, 1] * U[3 + b, 1]
                W.N[h, a, b] += B[3 + a, 0] * (Q[b, 0] + z * U[b, 0]) + B[3 + a, 1] * (Q[b, 1] + z * U[b, 1])
                W.V[i, a, b] -= B[3 + a, 0] * U[b, 0] + B[3 + a, 1] * U[b, 1]
                W.D[i, a, b] += B[3 + a, 0] * (Q[3 + b, 0] + z * U[3 + b, 0])
                W.D[i, a, b] += B[3 + a, 1] * (Q[3 + b, 1] + z * U[3 + b, 1])
                W.V[i, a, 3 + b] -= B[3 + a, 0] * U[3 + b, 0] + B[3 + a, 1] * U[3 + b, 1]
        angle = y[2 * n + i] - y[2 * n + h] + (d.turn if i == 0 else 0.0)
        bend = stiffness(d.c_skr, d.e_skr, abs(angle))[1] + z * d.b_skr
        W.D[h, 2, 2] += ch * fx + sh * fy + bend
        W.D[i, 2, 2] += ci * fx + si * fy + bend
        W.G[h, 2, 2] -= bend
        W.N[h, 2, 2] -= bend
        W.V[h, 2, 5] -= d.b_skr
        W.V[h, 2, 8] += d.b_skr
        W.V[i, 2, 5] -= d.b_skr
        W.V[i, 2, 2] += d.b_skr

    for j in range(k):
        w_k, r_k = y[o + 3 * n + j], d.r_k[j]
        yields = 0.0
        if not d.speed[j]:
            yields = load_slope(w_k, d, j) - d.d_k[j]
        for i in range(n):
            rx, ry = y[i] - d.P_k[j, 0], y[n + i] - d.P_k[j, 1]
            square = rx * rx + ry * ry
            if not (square < r_k * r_k and square > 0.0):
                continue
            r = np.sqrt(square)
            nx, ny = rx / r, ry / r
            p = r_k - r
            vn = y[o + i] * nx + y[o + n + i] * ny
            vt = y[o + n + i] * nx - y[o + i] * ny
            u = p / d.p_max
            delta, growth = 1.0, 0.0
            if u < 1.0:
                delta, growth = u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) / d.p_max
            N = (d.c_1 * p + d.c_2) * p - delta * d.b * vn
            if N <= 0.0:
                continue
            v = w_k * r - vt
            mu, mu_v = friction(v, j, d)
            if d.mu.belt.size + d.mu.rims.size > 0:
                of_patch = film_on(j, i, nx, ny, y, d)
                mu, mu_v = of_patch * mu, of_patch * mu_v
            T = mu * N
            N_rn = -(2.0 * d.c_1 * p + d.c_2 - growth * d.b * vn)
            N_rt = -delta * d.b * vt / r
            N_vn = -delta * d.b
            grip = N * mu_v
            T_rn = mu * N_rn + grip * w_k
            T_rt = mu * N_rt + grip * vn / r
            T_vn = mu * N_vn
            # force along n and tau by place (r) and speed (v) along n and tau
            nn, nt = N_rn + z * N_vn, N_rt - T / r
            tn, tt = T_rn + z * T_vn, T_rt + N / r - z * grip
            W.D[i, 0, 0] -= nx * (nn * nx - nt * ny) - ny * (tn * nx - tt * ny)
            W.D[i, 0, 1] -= nx * (nn * ny + nt * nx) - ny * (tn * ny + tt * nx)
            W.D[i, 1, 0] -= ny * (nn * nx - nt * ny) + nx * (tn * nx - tt * ny)
            W.D[i, 1, 1] -= ny * (nn * ny + nt * nx) + nx * (tn * ny + tt * nx)
            W.V[i, 0, 3] += nx * N_vn * nx - ny * (T_vn * nx + grip * ny)
            W.V[i, 0, 4] += nx * N_vn * ny - ny * (T_vn * ny - grip * nx)
            W.V[i, 1, 3] += ny * N_vn * nx + nx * (T_vn * nx + grip * ny)
            W.V[i, 1, 4] += ny * N_vn * ny + nx * (T_vn * ny - grip * nx)
            W.C[i, 0, j] = -ny * grip * r
            W.C[i, 1, j] = nx * grip * r
            W.G[i, 0, 8 + j] = -z * W.C[i, 0, j]
            W.G[i, 1, 8 + j] = -z * W.C[i, 1, j]
            if not d.speed[j]:
                qn, qt = -T - r * (T_rn + z * T_vn), -r * (T_rt - z * grip)
                W.F[i, 4 + j, 0] = -(qn * nx - qt * ny)
                W.F[i, 4 + j, 1] = -(qn * ny + qt * nx)
                W.R[i, j, 0] = -r * (T_vn * nx + grip * ny)
                W.R[i, j, 1] = -r * (T_vn * ny - grip * nx)
                yields -= r * r * grip
        W.P[j] = 0.0
        W.S[4 + j, 4:] = 0.0
        W.P[j, j] = yields
        W.S[4 + j, 4 + j] = d.I_k[j] * z * z - z * yields

    for m in range(d.shafts.J.size):
        j, a, _, _, slips, _ = spring(m, y, d)
        if slips == 0.0:
            for row in (j, a):
                for column in (j, a):
                    sign = 1.0 if row == column else -1.0
                    W.P[row, column] -= sign * d.shafts.C[m]
                    W.S[4 + row, 4 + column] += sign * (d.shafts.K[m] + z * d.shafts.C[m])


@compiled
def _stage(f: Any, d: Any, z: float, W: Any, r: Any, s: Any, kick: float, feed: Any, out: Any) -> None:
    """Solve for a stage `out` (k_q, k_v): f the derivative at the stage's state, r and s the terms of past stages."""
    n, k = d.n, d.r_k.size
    o = 3 * n + k
    for i in range(n):
        h = i - 1 if i > 0 else n - 1
        e = i + 1 if i < n - 1 else 0
        for a in range(3):
            at = a * n + i
            inertia = d.I_z if a == 2 else d.m
            x = inertia * (f[o + at] + s[at] + z * (f[at] + r[at]))
            for b in range(3):
                x -= W.V[i, a, b] * (f[b * n + h] + r[b * n + h])
                x -= W.V[i, a, 3 + b] * (f[b * n + i] + r[b * n + i])
                x -= W.V[i, a, 6 + b] * (f[b * n + e] + r[b * n + e])
            if a < 2:
                for j in range(k):
                    x -= W.C[i, a, j] * (f[3 * n + j] + r[3 * n + j])
            W.b[i, a] = x
        W.b[i, 3] = 0.0
    for j in range(k):
        at = 3 * n + j
        x = d.I_k[j] * (f[o + at] + s[at] + z * (f[at] + r[at]))
        for b in range(k):
            x -= W.P[j, b] * (f[3 * n + b] + r[3 * n + b])
        if not d.speed[j]:
            x += kick * feed.slope[j]
        for i in range(n):
            x -= W.R[i, j, 0] * (f[i] + r[i]) + W.R[i, j, 1] * (f[n + i] + r[n + i])
        W.c[4 + j] = x
    solve(W.D, W.G, W.N, W.F, W.S, W.b)
    for i in range(n):
        for a in range(3):
            out[a * n + i] = W.b[i, a]
    out[3 * n : o] = W.c[4:]
    for i in range(o):
        out[o + i] = z * out[i] - f[i] - r[i]


@compiled
def step(t: float, h: float, y: Any, f: Any, k: Any, trial: Any, d: Any, feed: Any, w: Any, W: Any) -> None:
    """One step from `y`, where the derivative is `f`: the new state in `trial`, the error in k[3].

    `k` (6, n_y) is memory; the energies at the end of `trial` are not set.
    """
    m = 2 * (3 * d.n + d.r_k.size)
    o = m // 2
    z = 2.0 / h
    tangent(y, d, z, W)
    factorise(W.D, W.G, W.N, W.F, W.S)
    past, g = k[4], k[5]
    for s in range(STAGES):
        for i in range(m):
            past[i] = rosenbrock_earlier(s, k[0, i], k[1, i], k[2, i]) / h
            if s == 2:
                trial[i] = y[i] + 2.0 * k[0, i]
            elif s == 3:
                trial[i] += k[2, i]
        if s >= 2:  # the first two stages are at y
            rates(t + h, trial, g, d, feed, w)
        kick = 0.5 * h if s == 0 else (1.5 * h if s == 1 else 0.0)
        _stage(f if s < 2 else g, d, z, W, past[:o], past[o:m], kick, feed, k[s])
    for i in range(m):
        trial[i] += k[3, i]


@compiled
def integrate(t, t_end, y, h, tolerance, scale, times, states, d, feed, w, W, k, trial):
    """Integrate to `t_end` with steps of controlled size that end at each of `times`.

    Parameters
    ----------
    t, t_end : float
        Start and end [s].
    y : (n_y,) array
        State, advanced in place.
    h : float
        Size of the first step [s].
    tolerance : float
        Allowed local error of each state, relative to its `scale` plus its size.
    scale : (n_y,) array
        See `tolerance`; 0 leaves a state out of the error.
    times, states : (m,) and (m, n_y) arrays
        Times in (t, t_end] at which the state is wanted, in order, and these states.
    d, feed, w : Drive, Feed, Scratch
        See `rates`.
    W, k, trial : Matrices, (8, n_y) and (n_y,) arrays
        Memory.

    Returns
    -------
    h : float
        Size for the next step [s]; 0 if no step that is small enough was found.
    accepted, rejected : int
        Steps.
    """
    accepted, rejected, wanted = 0, 0, 0
    m = 2 * (3 * d.n + d.r_k.size)
    f, g = k[6], k[7]
    rates(t, y, f, d, feed, w)
    while t < t_end:
        target = min(t_end, times[wanted]) if wanted < times.size else t_end
        last = t + 1.0001 * h >= target
        size = target - t if last else h
        if size < 1e-12 and not last:
            return 0.0, accepted, rejected
        step(t, size, y, f, k, trial, d, feed, w, W)
        error = 0.0
        for i in range(m):
            if scale[i] > 0.0:
                e = abs(k[3, i]) / (tolerance * (scale[i] + max(abs(y[i]), abs(trial[i]))))
                if not e < np.inf:
                    error = np.inf
                    break
                error = max(error, e)
        if not error <= 1.0:
            rejected += 1
            h = size * max(0.2, 0.9 * error ** (-1.0 / 3.0))
            if h < 1e-14:
                return 0.0, accepted, rejected
            continue
        accepted += 1
        grown = size * min(4.0, 0.9 * max(error, 1e-6) ** (-1.0 / 3.0))
        h = max(h, grown) if last else grown
        t = target if last else t + size
        release(y, trial, size, d)
        rates(t, trial, g, d, feed, w)
        for i in range(m, y.size):
            trial[i] = y[i] + 0.5 * size * (f[i] + g[i])
        y[:] = trial
        f[:] = g
        while wanted < times.size and times[wanted] <= t:
            states[wanted] = y
            wanted += 1
    return h, accepted, rejected
