"""A point mass that slides along a planar rod with Coulomb friction, set-valued (Cebulla 2014, 2.31-2.51, 6.2.3).

The mass m at x stays on the contour at its place s: (x - r(s)).t = 0 gives s, the gap (x - r(s)).n is a bilateral
constraint with the force N, and the slip v_T = (v - v_rod(s)).t has the friction of Coulomb's law

    |T| <= mu |N|,   v_T = 0 or T = -mu |N| sign v_T

One half-explicit step of Moreau: half a step of positions, all forces there, velocities with

    W_N' u+ = -g_N/(4 dt),   (W_T' u+, T) of the law,   u+ = u + M^-1 (h dt + W_N P_N + W_T P_T)

then the other half. The law is solved exactly: sticking if the percussions that hold the mass lie within the cone, else
sliding against the slip that would be. A quarter of the drift of the gap is taken back each step.
"""

from typing import Any

import numpy as np

from rtcvt.offline.rods.compiled import compiled, inlined
from rtcvt.offline.rods.contour import cubics
from rtcvt.offline.rods.planar import forces

__all__ = ["slide"]


@compiled
def _foot(c: Any, q: Any, x: Any, s: float, W: Any, r: Any) -> float:
    """Place of the mass near `s`; weights W (N_v,) there and r = (x, y, t_x, t_y) of the contour."""
    value = np.empty(4)
    slope = np.empty(4)
    bend = np.empty(4)
    n_v = c.C.shape[1]
    for _ in range(3):
        k = int(np.floor(s / c.ds))
        if not c.closed:
            k = min(max(k, 0), c.N - 1)
        cubics(c.b, s / c.ds - k, value, slope, bend)
        k %= c.N
        X = 0.0
        Y = 0.0
        tx = 0.0
        ty = 0.0
        for n in range(n_v):
            w = 0.0
            w1 = 0.0
            for j in range(4):
                w += value[j] * c.C[k + j, n]
                w1 += slope[j] * c.C[k + j, n]
            W[n] = w
            X += w * q[3 * n]
            Y += w * q[3 * n + 1]
            tx += w1 * q[3 * n]
            ty += w1 * q[3 * n + 1]
        square = tx * tx + ty * ty
        s += ((x[0] - X) * tx + (x[1] - Y) * ty) / square * c.ds
    length = np.sqrt(square)
    r[0] = X
    r[1] = Y
    r[2] = tx / length
    r[3] = ty / length
    return s


@inlined
def _percussions(mu: float, c_N: float, c_T: float, G_N: float, G_T: float, G_X: float) -> Any:
    """Percussions P_N, P_T [N s] of the law, 1 if the mass sticks; c: velocities without them, G: inverse masses."""
    det = G_N * G_T - G_X * G_X
    P_N = -(G_T * c_N - G_X * c_T) / det
    P_T = -(G_N * c_T - G_X * c_N) / det
    if abs(P_T) <= mu * abs(P_N):
        return P_N, P_T, 1
    side = mu * (1.0 if P_T > 0.0 else -1.0) * (1.0 if P_N > 0.0 else -1.0)
    P_N = -c_N / (G_N + side * G_X)
    return P_N, side * P_N, 0


@compiled
def slide(
    rod: Any, c: Any, q: Any, u: Any, inverse: Any, load: Any, m: float, mu: float, state: Any, g: Any,
    dt: float, n: int,
) -> Any:  # fmt: skip
    """`n` steps of rod and mass; `q`, `u` and `state` are updated.

    Parameters
    ----------
    rod, c : PlanarRod, Contour
    q, u, inverse, load : (size,) coordinates, velocities, inverse mass, constant forces of the rod
    m, mu : mass [kg], coefficient of friction
    state : (5,) x, y [m], v_x, v_y [m/s] of the mass and its place s [m]
    g : (2,) weight of a unit mass [m/s^2]

    Returns
    -------
    float, float, float, int : work taken by friction and by damping [J], last normal force [N], steps that stuck
    """
    F = np.empty(q.size)
    W = np.empty(c.C.shape[1])
    r = np.empty(4)
    lost = 0.0
    damped = 0.0
    P_N = 0.0
    stuck = 0
    for _ in range(n):
        for i in range(q.size):
            q[i] += 0.5 * dt * u[i]
        state[0] += 0.5 * dt * state[2]
        state[1] += 0.5 * dt * state[3]
        state[4] = _foot(c, q, state, state[4], W, r)
        tx = r[2]
        ty = r[3]
        gap = ty * (r[0] - state[0]) - tx * (r[1] - state[1])
        slip = tx * state[2] + ty * state[3]
        for k in range(W.size):
            slip -= W[k] * (tx * u[3 * k] + ty * u[3 * k + 1])
        damped += dt * forces(rod, q, u, F)
        for i in range(q.size):
            u[i] += dt * inverse[i] * (F[i] + load[i])
        state[2] += dt * g[0]
        state[3] += dt * g[1]
        # relative velocity and the inverse mass that the contact feels
        vx = state[2]
        vy = state[3]
        xx = 1.0 / m
        yy = 1.0 / m
        for k in range(W.size):
            vx -= W[k] * u[3 * k]
            vy -= W[k] * u[3 * k + 1]
            xx += W[k] * W[k] * inverse[3 * k]
            yy += W[k] * W[k] * inverse[3 * k + 1]
        c_N = ty * -vx + tx * vy + 0.25 * gap / dt
        c_T = tx * vx + ty * vy
        G_N = ty * ty * xx + tx * tx * yy
        G_T = tx * tx * xx + ty * ty * yy
        G_X = tx * ty * (yy - xx)
        P_N, P_T, sticks = _percussions(mu, c_N, c_T, G_N, G_T, G_X)
        stuck += sticks
        lost -= 0.5 * P_T * (slip + c_T + G_T * P_T + G_X * P_N)
        Px = tx * P_T - ty * P_N
        Py = ty * P_T + tx * P_N
        state[2] += Px / m
        state[3] += Py / m
        for k in range(W.size):
            u[3 * k] -= W[k] * inverse[3 * k] * Px
            u[3 * k + 1] -= W[k] * inverse[3 * k + 1] * Py
        for i in range(q.size):
            q[i] += 0.5 * dt * u[i]
        state[0] += 0.5 * dt * state[2]
        state[1] += 0.5 * dt * state[3]
    return lost, damped, P_N / dt, stuck
