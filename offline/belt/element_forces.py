"""Forces in a belt of rigid elements joined by springs and dampers (Kubas 2017, eqs. 1-22).

Element i has the centre P_i, the angle phi_i and, with its half l'_i = l/2 (cos phi_i, sin phi_i), two ends. A joint of
no length, stiff along and in bending, joins its left end to the right end of element i - 1. With the gap
g = P_i - l'_i - (P_(i-1) + l'_(i-1)), e = g/|g|:

    F = c_wzd |g|^e_wzd + b_wzd (v_left,i - v_right,(i-1)).e                                             (18, 20)
    M = c_skr (phi_i - phi_(i-1))^e_skr + b_skr (phi'_i - phi'_(i-1))                                        (19)

where a bend to either side resists alike, and below `LINEAR` both springs are linear, so that no slope is infinite.

A pulley at P_k pushes at the centre of an element that is nearer than r_k, r = P_i - P_k, n = r/|r|, tau = Z x n:

    p = r_k - |r|,  p' = -v_i.n,  N = c_1 p^2 + c_2 p + delta(p) b p',  T = mu(v) N,  v = theta' |r| - v_i.tau  (4-17)

with delta the cubic step (10) and mu(v) = mu s (3 - s^2)/2 for s = v/dv in [-1, 1], mu sign(v) outside (Threlfall
1978). Newton's and Euler's laws (21, 22) apply to elements and pulleys. A pulley may follow a prescribed speed instead.

In addition to the source: mu may depend on the sliding speed, times S(|v|) of each element at each instant, and on
patches of belt and rims (`Sliding`).
A shaft after a decoupler (`rtcvt.belt.decoupler`) is a pulley of no radius, after the others. Its angle is that of the
clutch, so that ``delta = s (theta - theta_s)``; where the clutch is open, delta relaxes at the end of a step.

Departures from the print: (20) has the signs of the half-lengths so that ends meet, not centres; (12) and the moment
in (22) use the arm r, where a unit vector is printed; N is not below 0. The paper's c_wzd, b_wzd and c_skr are read as
products with the element's length: EA, its damping and EI of the unit file (EA strain^e, EI curvature^e).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.patches import TURN
from rtcvt.offline.belt.compiled import compiled
from rtcvt.offline.belt.friction import Sliding, film, share_at
from rtcvt.offline.belt.shafts import Shafts

Array = NDArray[np.float64]

LINEAR = 1e-7  # gap [m] or bend [rad] below which a spring is linear

ENERGIES = ("input", "axial", "bending", "contact", "friction", "bearing", "load", "decoupler")
"""Work done on the belt drive, and energy dissipated since the start, in the order of the state's end."""


class Drive(NamedTuple):
    """Constants of the equations; n_k pulleys, including shafts after decouplers."""

    n: int  # elements
    l: float  # length of an element [m]  # noqa: E741
    m: float  # [kg]
    I_z: float  # [kg m^2], (2)
    c_wzd: float  # [N/m^e]
    e_wzd: float
    b_wzd: float  # [N s/m]
    c_skr: float  # [N m/rad^e]
    e_skr: float
    b_skr: float  # [N m s/rad]
    turn: float  # angle of the closed belt [rad], 2 pi or -2 pi
    g: float  # [m/s^2], against y
    c_1: float  # [N/m^2]
    c_2: float  # [N/m]
    b: float  # [N s/m]
    p_max: float  # [m]
    mu: Sliding  # (n_k,) coefficients, and their law
    dv: float  # [m/s]
    P_k: Array  # (n_k, 2) [m]
    r_k: Array  # (n_k,) [m]
    I_k: Array  # (n_k,) [kg m^2]
    d_k: Array  # (n_k,) [N m s/rad]
    speed: NDArray[np.bool_]  # (n_k,) whether the speed is prescribed
    load_w: Array  # points of all loads, one pulley after the other [rad/s]
    load_tau: Array  # [N m]
    load_start: NDArray[np.int64]  # (n_k + 1,) where each pulley's points begin
    shafts: Shafts  # the last of the pulleys


class Feed(NamedTuple):
    """Inputs that are linear in time: torque [N m] or speed [rad/s] of each pulley."""

    t: float  # [s]
    value: Array  # (n_k,) at t
    slope: Array  # (n_k,)


class Scratch(NamedTuple):
    """Results of `rates` besides the derivative. Joint i is between elements i - 1 and i."""

    c: Array  # (n,) cos phi
    s: Array  # (n,) sin phi
    F: Array  # (n,) axial force of joint i, tension positive [N]
    fx: Array  # (n,) its components [N]
    fy: Array
    M: Array  # (n,) bending moment of joint i [N m]
    N: Array  # (n_k, n) normal force on element i [N]
    T: Array  # (n_k, n) friction on element i, anticlockwise about the pulley [N]
    ax: Array  # (n,) contact force on element i [N]
    ay: Array
    tau: Array  # (n_k,) torque into the pulley from outside [N m]


def scratch(d: Drive) -> Scratch:
    """Memory for `rates`."""
    a = np.zeros((8, d.n))
    k = len(d.r_k)
    return Scratch(
        a[0], a[1], a[2], a[3], a[4], a[5], np.zeros((k, d.n)), np.zeros((k, d.n)), a[6], a[7], np.zeros(k)
    )  # fmt: skip


@compiled
def stiffness(c, e, x):
    """Secant and slope of the spring ``c x^e`` at x >= 0, and its energy."""
    if e == 1.0:
        return c, c, 0.5 * c * x * x
    linear = c * LINEAR ** (e - 1.0)
    if x < LINEAR:
        return linear, linear, 0.5 * linear * x * x
    secant = c * x ** (e - 1.0)
    start = linear * LINEAR * LINEAR * (0.5 - 1.0 / (e + 1.0))
    return secant, e * secant, secant * x * x / (e + 1.0) + start


@compiled
def _delta(p, p_max):
    """Cubic step (10)."""
    u = p / p_max
    return 1.0 if u >= 1.0 else u * u * (3.0 - 2.0 * u)


@compiled
def friction(v, j, d):
    """Coefficient of friction on pulley j over the speed of sliding (Fig. 4), and its slope [s/m]."""
    mu = d.mu.mu[j]
    s = v / d.dv
    slope = 0.0
    if s >= 1.0:
        found = mu
    elif s <= -1.0:
        found = -mu
    else:
        found, slope = 0.5 * mu * s * (3.0 - s * s), 1.5 * mu * (1.0 - s * s) / d.dv
    if d.mu.v.size > 0:
        share, by = share_at(d.mu, abs(v))
        slope = slope * share + abs(found) * by
        found *= share
    return found, slope


@compiled
def film_on(j, i, nx, ny, y, d):
    """Factor of the friction of element i on pulley j, whose normal there is (nx, ny)."""
    found = 1.0 if d.mu.belt.size == 0 else d.mu.belt[i]
    if d.mu.rims.size > 0:
        length = d.l / (TURN * d.r_k[j])
        found *= film(d.mu, j, np.arctan2(ny, nx) / TURN - 0.5 * length, length, y[3 * d.n + j] / TURN)
    return found


@compiled
def spring(m, y, d):
    """Of decoupler m: its sheave, its shaft, delta [rad], delta' and slip eta of the clutch [rad/s], and M [N m]."""
    k, c = d.shafts.K[m], d.shafts.C[m]
    j, a = d.shafts.sheave[m], d.r_k.size - d.shafts.J.size + m
    o = 3 * d.n + d.r_k.size
    delta = d.shafts.sense[m] * (y[3 * d.n + j] - y[3 * d.n + a])
    nu = d.shafts.sense[m] * (y[o + 3 * d.n + j] - y[o + 3 * d.n + a])
    rate = max(nu, -(k * delta + d.shafts.M_D[m]) / c)
    return j, a, delta, rate, rate - nu, k * delta + c * rate


@compiled
def release(before, y, h, d):
    """Let the springs of open clutches relax over a step of h [s] from state `before` to `y`, in place."""
    for m in range(d.shafts.J.size):
        j, a, _, _, slips, _ = spring(m, y, d)
        if slips > 0.0:
            rest = -d.shafts.M_D[m] / d.shafts.K[m]
            delta = rest + (spring(m, before, d)[2] - rest) * np.exp(-h * d.shafts.K[m] / d.shafts.C[m])
            y[3 * d.n + a] = y[3 * d.n + j] - d.shafts.sense[m] * delta


@compiled
def _load_part(w, d, j):
    """Number of the linear part of the load on pulley j at speed w."""
    e = d.load_start[j + 1]
    i = d.load_start[j]
    while i < e - 2 and w > d.load_w[i + 1]:
        i += 1
    return i


@compiled
def load_slope(w, d, j):
    """Slope of the load on pulley j over its speed [N m s/rad]."""
    if d.load_start[j] == d.load_start[j + 1]:
        return 0.0
    i = _load_part(w, d, j)
    return (d.load_tau[i + 1] - d.load_tau[i]) / (d.load_w[i + 1] - d.load_w[i])


@compiled
def _load(w, d, j):
    """Torque of the load on pulley j at speed w [N m], linear between its points and beyond them."""
    if d.load_start[j] == d.load_start[j + 1]:
        return 0.0
    i = _load_part(w, d, j)
    return d.load_tau[i] + load_slope(w, d, j) * (w - d.load_w[i])


@compiled
def rates(t, y, dy, d, feed, w):
    """Time derivative of the state.

    Parameters
    ----------
    t : float
        Time [s].
    y, dy : (6 n + 2 n_k + 8,) arrays
        x, y, phi of the elements, theta of the pulleys, the speeds of all these in the same order, and `ENERGIES` [J].
    d, feed, w : Drive, Feed, Scratch
        Constants, inputs, and results at this point.
    """
    n, k = d.n, d.r_k.size
    o = 3 * n + k
    x, z, phi = y[:n], y[n : 2 * n], y[2 * n : 3 * n]
    vx, vz, omega = y[o : o + n], y[o + n : o + 2 * n], y[o + 2 * n : o + 3 * n]
    dy[:o] = y[o : 2 * o]
    c, s, F, fx, fy, M = w.c, w.s, w.F, w.fx, w.fy, w.M
    half = 0.5 * d.l
    for i in range(n):
        c[i] = half * np.cos(phi[i])
        s[i] = half * np.sin(phi[i])

    D_axial = 0.0
    D_bending = 0.0
    for i in range(n):
        h = i - 1 if i > 0 else n - 1
        gx = x[i] - c[i] - x[h] - c[h]
        gy = z[i] - s[i] - z[h] - s[h]
        ux = vx[i] - vx[h] + omega[i] * s[i] + omega[h] * s[h]
        uy = vz[i] - vz[h] - omega[i] * c[i] - omega[h] * c[h]
        length = np.sqrt(gx * gx + gy * gy)
        inverse = 1.0 / max(length, 1e-300)
        ex, ey = gx * inverse, gy * inverse
        stretching = ux * ex + uy * ey
        F[i] = stiffness(d.c_wzd, d.e_wzd, length)[0] * length + d.b_wzd * stretching
        fx[i], fy[i] = F[i] * ex, F[i] * ey
        D_axial += d.b_wzd * stretching * stretching
        bend = phi[i] - phi[h] if i > 0 else phi[i] - phi[h] + d.turn
        bending = omega[i] - omega[h]
        M[i] = stiffness(d.c_skr, d.e_skr, abs(bend))[0] * bend + d.b_skr * bending
        D_bending += d.b_skr * bending * bending
        w.ax[i] = 0.0
        w.ay[i] = 0.0

    W_input = 0.0
    D_contact = 0.0
    D_friction = 0.0
    D_bearing = 0.0
    D_load = 0.0
    for j in range(k):
        px, py, r_k = d.P_k[j, 0], d.P_k[j, 1], d.r_k[j]
        w_k = y[o + 3 * n + j]
        braking = 0.0
        for i in range(n):
            w.N[j, i] = 0.0
            w.T[j, i] = 0.0
            rx, ry = x[i] - px, z[i] - py
            square = rx * rx + ry * ry
            if square < r_k * r_k and square > 0.0:
                r = np.sqrt(square)
                nx, ny = rx / r, ry / r
                p = r_k - r
                closing = -(vx[i] * nx + vz[i] * ny)
                elastic = (d.c_1 * p + d.c_2) * p
                N = max(elastic + _delta(p, d.p_max) * d.b * closing, 0.0)
                v = w_k * r - (vz[i] * nx - vx[i] * ny)
                T = friction(v, j, d)[0] * N
                if d.mu.belt.size + d.mu.rims.size > 0:
                    T *= film_on(j, i, nx, ny, y, d)
                w.N[j, i] = N
                w.T[j, i] = T
                w.ax[i] += N * nx - T * ny
                w.ay[i] += N * ny + T * nx
                braking += r * T
                D_contact += (N - elastic) * closing
                D_friction += T * v
        given = feed.value[j] + feed.slope[j] * (t - feed.t)
        load = _load(w_k, d, j)
        if d.speed[j]:
            dy[o + 3 * n + j] = feed.slope[j]
            w.tau[j] = d.I_k[j] * feed.slope[j] + braking + d.d_k[j] * w_k - load
        else:
            dy[o + 3 * n + j] = (given - braking - d.d_k[j] * w_k + load) / d.I_k[j]
            w.tau[j] = given
        W_input += w.tau[j] * w_k
        D_bearing += d.d_k[j] * w_k * w_k
        D_load -= load * w_k

    D_decoupler = 0.0
    for m in range(d.shafts.J.size):
        j, a, _, rate, slips, driven = spring(m, y, d)
        dy[o + 3 * n + j] -= d.shafts.sense[m] * driven / d.I_k[j]
        dy[o + 3 * n + a] += d.shafts.sense[m] * driven / d.I_k[a]
        D_decoupler += d.shafts.C[m] * rate * rate + d.shafts.M_D[m] * slips

    for i in range(n):
        e = i + 1 if i < n - 1 else 0
        dy[o + i] = (fx[e] - fx[i] + w.ax[i]) / d.m
        dy[o + n + i] = (fy[e] - fy[i] + w.ay[i]) / d.m - d.g
        turning = c[i] * (fy[i] + fy[e]) - s[i] * (fx[i] + fx[e])
        dy[o + 2 * n + i] = (turning + M[e] - M[i]) / d.I_z

    q = 2 * o
    dy[q] = W_input
    dy[q + 1] = D_axial
    dy[q + 2] = D_bending
    dy[q + 3] = D_contact
    dy[q + 4] = D_friction
    dy[q + 5] = D_bearing
    dy[q + 6] = D_load
    dy[q + 7] = D_decoupler


@compiled
def stored_energy(y, d):
    """Kinetic, elastic (joints), elastic (contacts), potential energy and that of decouplers [J] of a state."""
    n, k = d.n, d.r_k.size
    o = 3 * n + k
    kinetic, joints, contacts, height = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        h = i - 1 if i > 0 else n - 1
        a, b = y[2 * n + i], y[2 * n + h]
        gx = y[i] - y[h] - 0.5 * d.l * (np.cos(a) + np.cos(b))
        gy = y[n + i] - y[n + h] - 0.5 * d.l * (np.sin(a) + np.sin(b))
        bend = a - b if i > 0 else a - b + d.turn
        joints += stiffness(d.c_wzd, d.e_wzd, np.sqrt(gx * gx + gy * gy))[2]
        joints += stiffness(d.c_skr, d.e_skr, abs(bend))[2]
        kinetic += 0.5 * d.m * (y[o + i] ** 2 + y[o + n + i] ** 2) + 0.5 * d.I_z * y[o + 2 * n + i] ** 2
        height += d.m * d.g * y[n + i]
        for j in range(k):
            p = d.r_k[j] - np.sqrt((y[i] - d.P_k[j, 0]) ** 2 + (y[n + i] - d.P_k[j, 1]) ** 2)
            if p > 0.0:
                contacts += (d.c_1 * p / 3.0 + 0.5 * d.c_2) * p * p
    for j in range(k):
        kinetic += 0.5 * d.I_k[j] * y[o + 3 * n + j] ** 2
    springs = 0.0
    for m in range(d.shafts.J.size):
        springs += 0.5 * d.shafts.K[m] * spring(m, y, d)[2] ** 2
    return kinetic, joints, contacts, height, springs
