"""Belt of rigid elements joined by springs and dampers (Kubas 2017, eqs. 1-22).

Element i has the centre P_i, the angle phi_i and, with its half l'_i = l/2 (cos phi_i, sin phi_i), two ends. A joint of
no length, stiff along and in bending, holds its left end to the right end of element i - 1. With the gap
g = P_i - l'_i - (P_(i-1) + l'_(i-1)), e = g/|g|:

    F = c_wzd |g| + b_wzd (v_left,i - v_right,(i-1)).e                                                   (18, 20)
    M = c_skr (phi_i - phi_(i-1)) + b_skr (phi'_i - phi'_(i-1))                                              (19)

A pulley at P_k pushes at the centre of an element that is nearer than r_k, r = P_i - P_k, n = r/|r|, tau = Z x n:

    p = r_k - |r|,  p' = -v_i.n,  N = c_1 p^2 + c_2 p + delta(p) b p',  T = mu(v) N,  v = theta' |r| - v_i.tau  (4-17)

with delta the cubic step (10) and mu(v) = mu s (3 - s^2)/2 for s = v/dv in [-1, 1], mu sign(v) outside (Threlfall
1978). Newton's and Euler's laws (21, 22) hold for elements and pulleys. A pulley may follow a prescribed speed instead.

Departures from the print: (20) has the signs of the half-lengths so that ends meet, not centres; (12) and the moment
in (22) take the arm r, where a unit vector is printed; N is not below 0. The paper's c_wzd, b_wzd and c_skr are taken
as products with the element's length: EA, its damping and EI of the unit file.

Time integration: Runge-Kutta-Fehlberg 4(5) with local extrapolation and step-size control after Gustafsson (1991).
Dense output is of fourth order on the same stages and the next step's first one; its weights solve the order
conditions and are once continuously differentiable from step to step. Explicit steps cannot exceed about 3.7 over the
fastest rate of decay. That is 3 mu N/(2 m dv) where an element sticks: the time of a run grows as 1/dv.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from rtcvt.belt.unit import BeltUnit, ElementModel
from rtcvt.errors import InputError
from rtcvt.model import Variable, VariableTable
from rtcvt.recording import Recording, Signal, read_recording, write_recording
from rtcvt.scenario import sample_inputs
from rtcvt.unitfile import Scenario, Table

__all__ = [
    "ENERGIES",
    "Drive",
    "Feed",
    "Run",
    "Scratch",
    "at_rest",
    "integrate",
    "rates",
    "read_run",
    "scratch",
    "signals",
    "simulate",
    "span_tensions",
    "stored_energy",
    "write_run",
]

Array = NDArray[np.float64]

compiled = numba.njit(cache=True, error_model="numpy")

ENERGIES = ("input", "axial", "bending", "contact", "friction", "bearing", "load")
"""Work done on the belt drive, and what has been dissipated since the start, in the order of the state's end."""


class Drive(NamedTuple):
    """Constants of the equations; n_k pulleys."""

    n: int  # elements
    l: float  # length of an element [m]  # noqa: E741
    m: float  # [kg]
    I_z: float  # [kg m^2], (2)
    c_wzd: float  # [N/m]
    b_wzd: float  # [N s/m]
    c_skr: float  # [N m/rad]
    b_skr: float  # [N m s/rad]
    turn: float  # angle of the closed belt [rad], 2 pi or -2 pi
    g: float  # [m/s^2], against y
    c_1: float  # [N/m^2]
    c_2: float  # [N/m]
    b: float  # [N s/m]
    p_max: float  # [m]
    mu: float
    dv: float  # [m/s]
    P_k: Array  # (n_k, 2) [m]
    r_k: Array  # (n_k,) [m]
    I_k: Array  # (n_k,) [kg m^2]
    d_k: Array  # (n_k,) [N m s/rad]
    speed: NDArray[np.bool_]  # (n_k,) whether the speed is prescribed
    load_w: Array  # points of all loads, one pulley after the other [rad/s]
    load_tau: Array  # [N m]
    load_start: NDArray[np.int64]  # (n_k + 1,) where each pulley's points begin


class Feed(NamedTuple):
    """Inputs that are linear in time: torque [N m] or speed [rad/s] of each pulley."""

    t: float  # [s]
    value: Array  # (n_k,) at t
    slope: Array  # (n_k,)


class Scratch(NamedTuple):
    """Results of `rates` beside the derivative. Joint i lies between elements i - 1 and i."""

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
def _delta(p, p_max):
    """Cubic step (10)."""
    u = p / p_max
    return 1.0 if u >= 1.0 else u * u * (3.0 - 2.0 * u)


@compiled
def _friction(v, mu, dv):
    """Coefficient of friction over the speed of sliding (Fig. 4)."""
    s = v / dv
    if s >= 1.0:
        return mu
    if s <= -1.0:
        return -mu
    return 0.5 * mu * s * (3.0 - s * s)


@compiled
def _load(w, d, j):
    """Torque of the load on pulley j at speed w [N m], linear between its points and beyond them."""
    a, e = d.load_start[j], d.load_start[j + 1]
    if a == e:
        return 0.0
    i = a
    while i < e - 2 and w > d.load_w[i + 1]:
        i += 1
    slope = (d.load_tau[i + 1] - d.load_tau[i]) / (d.load_w[i + 1] - d.load_w[i])
    return d.load_tau[i] + slope * (w - d.load_w[i])


@compiled
def rates(t, y, dy, d, feed, w):
    """Time derivative of the state.

    Parameters
    ----------
    t : float
        Time [s].
    y, dy : (6 n + 2 n_k + 7,) arrays
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
        F[i] = d.c_wzd * length + d.b_wzd * stretching
        fx[i], fy[i] = F[i] * ex, F[i] * ey
        D_axial += d.b_wzd * stretching * stretching
        bend = phi[i] - phi[h] if i > 0 else phi[i] - phi[h] + d.turn
        bending = omega[i] - omega[h]
        M[i] = d.c_skr * bend + d.b_skr * bending
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
                T = _friction(v, d.mu, d.dv) * N
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


@compiled
def stored_energy(y, d):
    """Kinetic, elastic (joints), elastic (contacts) and potential energy [J] of a state."""
    n, k = d.n, d.r_k.size
    o = 3 * n + k
    kinetic, joints, contacts, height = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        h = i - 1 if i > 0 else n - 1
        a, b = y[2 * n + i], y[2 * n + h]
        gx = y[i] - y[h] - 0.5 * d.l * (np.cos(a) + np.cos(b))
        gy = y[n + i] - y[n + h] - 0.5 * d.l * (np.sin(a) + np.sin(b))
        bend = a - b if i > 0 else a - b + d.turn
        joints += 0.5 * d.c_wzd * (gx * gx + gy * gy) + 0.5 * d.c_skr * bend * bend
        kinetic += 0.5 * d.m * (y[o + i] ** 2 + y[o + n + i] ** 2) + 0.5 * d.I_z * y[o + 2 * n + i] ** 2
        height += d.m * d.g * y[n + i]
        for j in range(k):
            p = d.r_k[j] - np.sqrt((y[i] - d.P_k[j, 0]) ** 2 + (y[n + i] - d.P_k[j, 1]) ** 2)
            if p > 0.0:
                contacts += (d.c_1 * p / 3.0 + 0.5 * d.c_2) * p * p
    for j in range(k):
        kinetic += 0.5 * d.I_k[j] * y[o + 3 * n + j] ** 2
    return kinetic, joints, contacts, height


@compiled
def _step(t, h, y, k, trial, d, feed, w):
    """One step of Fehlberg's formula from k[0] = f(t, y): k, the new state in `trial`, and k[6] = f there."""
    for i in range(y.size):
        trial[i] = y[i] + h * (k[0, i] / 4.0)
    rates(t + h / 4.0, trial, k[1], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (3.0 / 32.0 * k[0, i] + 9.0 / 32.0 * k[1, i])
    rates(t + 3.0 * h / 8.0, trial, k[2], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (1932.0 * k[0, i] - 7200.0 * k[1, i] + 7296.0 * k[2, i]) / 2197.0
    rates(t + 12.0 * h / 13.0, trial, k[3], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (
            439.0 / 216.0 * k[0, i] - 8.0 * k[1, i] + 3680.0 / 513.0 * k[2, i] - 845.0 / 4104.0 * k[3, i]
        )
    rates(t + h, trial, k[4], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (
            -8.0 / 27.0 * k[0, i]
            + 2.0 * k[1, i]
            - 3544.0 / 2565.0 * k[2, i]
            + 1859.0 / 4104.0 * k[3, i]
            - 11.0 / 40.0 * k[4, i]
        )
    rates(t + 0.5 * h, trial, k[5], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (
            16.0 / 135.0 * k[0, i]
            + 6656.0 / 12825.0 * k[2, i]
            + 28561.0 / 56430.0 * k[3, i]
            - 9.0 / 50.0 * k[4, i]
            + 2.0 / 55.0 * k[5, i]
        )
    rates(t + h, trial, k[6], d, feed, w)


@compiled
def _error(h, y, trial, k, tolerance, scale):
    """Largest difference of the two formulas by what is allowed; `scale` 0 leaves a state out."""
    worst = 0.0
    for i in range(y.size):
        if scale[i] > 0.0:
            difference = h * (
                k[0, i] / 360.0
                - 128.0 / 4275.0 * k[2, i]
                - 2197.0 / 75240.0 * k[3, i]
                + k[4, i] / 50.0
                + 2.0 / 55.0 * k[5, i]
            )
            e = abs(difference) / (tolerance * (scale[i] + max(abs(y[i]), abs(trial[i]))))
            if not e < np.inf:
                return np.inf
            worst = max(worst, e)
    return worst


@compiled
def _between(u, h, y, k, out):
    """State at t + u h, 0 <= u <= 1, of fourth order."""
    b6 = 2.0 / 55.0 * u * u * (3.0 - 2.0 * u)
    b1 = u * (1.0 + u * (-19.0 / 8.0 + u * (239.0 / 108.0 - 13.0 / 18.0 * u))) + 11.0 / 144.0 * b6
    b3 = u * u * (1024.0 / 285.0 + u * (-2560.0 / 513.0 + u * 1664.0 / 855.0)) - 704.0 / 855.0 * b6
    b4 = 2197.0 * (u * u * (-1.0 / 456.0 + u * (11.0 / 2052.0 - u / 342.0)) - b6 / 2736.0)
    b5 = u * u * (2.1 + u * (-5.0 + 2.7 * u)) + 0.55 * b6
    b7 = u * u * (1.5 + u * (-4.0 + 2.5 * u))
    for i in range(y.size):
        out[i] = y[i] + h * (b1 * k[0, i] + b3 * k[2, i] + b4 * k[3, i] + b5 * k[4, i] + b6 * k[5, i] + b7 * k[6, i])


@compiled
def integrate(t, t_end, y, h, tolerance, scale, times, states, d, feed, w, k, trial):
    """Integrate to `t_end` with steps of controlled size.

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
    k, trial : (7, n_y) and (n_y,) arrays
        Memory.

    Returns
    -------
    h : float
        Size for the next step [s]; 0 if no step that is small enough was found.
    accepted, rejected : int
        Steps.
    """
    accepted, rejected, wanted = 0, 0, 0
    before = 1.0
    rates(t, y, k[0], d, feed, w)
    while t < t_end:
        last = t + 1.0001 * h >= t_end
        size = t_end - t if last else h
        if size < 1e-15 * max(abs(t_end), 1e-3) and not last:
            return 0.0, accepted, rejected
        _step(t, size, y, k, trial, d, feed, w)
        error = _error(size, y, trial, k, tolerance, scale)
        if not error <= 1.0:
            rejected += 1
            h = size * max(0.2, 0.9 * error**-0.2)
            if h < 1e-16:
                return 0.0, accepted, rejected
            continue
        accepted += 1
        error = max(error, 1e-4)
        factor = min(4.0, max(0.3, 0.9 * error**-0.14 * before**0.08))
        before = error
        h = max(h, size * factor) if last else size * factor
        following = t_end if last else t + size
        while wanted < times.size and times[wanted] <= following:
            _between((times[wanted] - t) / size, size, y, k, states[wanted])
            wanted += 1
        for i in range(y.size):
            y[i] = trial[i]
            k[0, i] = k[6, i]
        t = following
    return h, accepted, rejected


def _elements(unit: BeltUnit) -> ElementModel:
    if unit.elements is None:
        raise InputError(unit.source, "elements", None, "the table [elements] of the model of rigid elements")
    return unit.elements


def _drive(unit: BeltUnit, length: float) -> Drive:
    """Constants for elements of that length [m]."""
    e, belt = _elements(unit), unit.belt
    pulleys = list(unit.pulleys.values())
    loads = [p.load for p in pulleys]
    counts = [0 if load is None else len(load.w) for load in loads]
    m = belt.mass * length
    return Drive(
        n=e.elements,
        l=length,
        m=m,
        I_z=m * length**2 / 12.0,
        c_wzd=belt.EA / length,
        b_wzd=belt.damping / length,
        c_skr=belt.EI / length,
        b_skr=belt.bending_damping / length,
        turn=2.0 * np.pi if unit.winding == "anticlockwise" else -2.0 * np.pi,
        g=e.gravity,
        c_1=e.c_1,
        c_2=e.c_2,
        b=e.b,
        p_max=e.p_max,
        mu=e.mu,
        dv=e.dv,
        P_k=np.array([p.center for p in pulleys]),
        r_k=np.array(unit.line_radius),
        I_k=np.array([p.inertia for p in pulleys]),
        d_k=np.array([p.friction for p in pulleys]),
        speed=np.array([p.flange == "speed" for p in pulleys]),
        load_w=np.array([w for load in loads if load for w in load.w], dtype=float),
        load_tau=np.array([tau for load in loads if load for tau in load.tau], dtype=float),
        load_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


def at_rest(unit: BeltUnit) -> tuple[Drive, Array]:
    """Constants and state of the belt at rest: equilibrium without friction, free spans at the pretension.

    The elements' length follows from the pretension. The equilibrium is a zero of the forces, found by Newton's method
    with a proximal term (the belt may lie anywhere round the loop, so that the stiffness is nearly singular).

    Raises
    ------
    InputError
        The unit has no table [elements], or a pulley that no element would touch.
    ArithmeticError
        No equilibrium was found.
    """
    path, n, k = unit.path(), _elements(unit).elements, len(unit.pulleys)
    wrapped = path.radius * path.wrap
    if wrapped.min() < 2.0 * path.length / n:
        name = list(unit.pulleys)[int(np.argmin(wrapped))]
        least = int(np.ceil(2.0 * path.length / wrapped.min()))
        raise InputError(unit.source, "elements.elements", n, f"at least {least}, for two on the wrap of {name}")
    d = _drive(unit, unit.rest_length() / n)
    point, tangent, _ = path.at((np.arange(n) + 0.5) * path.length / n)
    y = np.zeros(6 * n + 2 * k + len(ENERGIES))
    y[: 3 * n] = np.concatenate([point[:, 0], point[:, 1], np.unwrap(np.arctan2(tangent[:, 1], tangent[:, 0]))])
    tension = np.inf
    for _ in range(20):
        w = _settle(d, y)
        free = ~(w.N > 0.0).any(axis=0)
        tension = float(np.mean(w.F[free & np.roll(free, 1)]))
        if abs(tension - unit.belt.pretension) <= 1e-7 * unit.belt.pretension:
            break
        d = _drive(unit, d.l + (tension - unit.belt.pretension) / d.c_wzd)
    else:
        raise ArithmeticError(f"no belt at rest was found: {tension:g} N in the spans")
    return d, y


def _settle(d: Drive, y: Array) -> Scratch:
    """Move the elements of state `y` to their equilibrium without friction; the forces there."""
    n, k = d.n, len(d.r_k)
    o = 3 * n + k
    still = d._replace(mu=0.0)
    w, dy, feed = scratch(d), np.empty_like(y), Feed(0.0, np.zeros(k), np.zeros(k))
    inertia = np.repeat([d.m, d.m, d.I_z], n)
    y[o:] = 0.0

    def force(q: Array) -> Array:
        z = y.copy()
        z[: 3 * n] = q
        rates(0.0, z, dy, still, feed, w)
        return inertia * dy[o : o + 3 * n]

    def energy(q: Array) -> float:
        z = y.copy()
        z[: 3 * n] = q
        return float(sum(stored_energy(z, d)))

    # Elements that are three or more apart share no force: their columns are differenced together.
    ring = np.arange(n)
    colour = np.where(ring < n - n % 3, ring % 3, 3 + ring % 3)
    steps = np.repeat([1e-9, 1e-9, 1e-9 / d.l], n)
    length = np.repeat([1.0, 1.0, d.l], n)
    q = y[: 3 * n].copy()
    f, shift = force(q), 1e-4 * d.c_wzd
    for _ in range(400):
        size = np.abs(f / length).max()
        if size <= 1e-9 * d.c_wzd * d.l:
            break
        entries = []
        for column in range(3):
            for same in np.unique(colour):
                of = ring[colour == same]
                e = np.zeros(3 * n)
                e[column * n + of] = steps[column * n]
                difference = (force(q + e) - force(q - e)) / (2.0 * steps[column * n])
                for row in range(3):
                    for offset in (-1, 0, 1):
                        at = row * n + (of + offset) % n
                        entries.append(np.stack([-difference[at], at, column * n + of]))
        value, i, j = np.hstack(entries)
        stiffness = sparse.csc_matrix((value, (i.astype(int), j.astype(int))), shape=(3 * n, 3 * n))
        here = energy(q)
        while True:
            step = splu((stiffness + sparse.diags(shift * length**2)).tocsc()).solve(f)
            step *= min(1.0, 0.1 * d.l / np.abs(step * length).max())
            if energy(q + step) <= here * (1.0 + 1e-14) or shift > d.c_wzd:
                break
            shift *= 4.0
        q += step
        f, shift = force(q), max(0.1 * shift, 1e-9 * d.c_wzd)
    else:
        raise ArithmeticError(f"the belt did not come to rest: {size:g} N left")
    y[: 3 * n] = q
    force(q)
    return w


@dataclass(frozen=True)
class Run:
    """States over time.

    Attributes
    ----------
    drive : Drive
        Constants.
    time : (m,) array
        [s].
    state : (m, 6 n + 2 n_k + 7) array
        See `rates`.
    complete : bool
        Whether the scenario's end was reached.
    step : float
        Size for the next step [s].
    accepted, rejected : int
        Steps.
    """

    drive: Drive
    time: Array
    state: Array
    complete: bool
    step: float
    accepted: int
    rejected: int


def simulate(
    unit: BeltUnit,
    scenario: Scenario,
    interval: float = 1e-3,
    start: Run | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Run:
    """Run a scenario from rest, or go on with a run that was interrupted.

    Inputs are linear between the times of their tables; other signals are sampled at the output times. An interrupt
    (Ctrl-C) ends the run early: what is there is returned, marked as not complete.

    Parameters
    ----------
    unit : BeltUnit
    scenario : Scenario
        Inputs ``NAME.tau`` [N m] or ``NAME.w`` [rad/s] by the pulleys' flange.
    interval : float
        Between output times [s].
    start : Run, optional
        An interrupted run of the same unit, scenario and interval.
    progress : callable, optional
        Called with the time reached and the end [s].

    Raises
    ------
    InputError
        See `at_rest` and `rtcvt.scenario.sample_inputs`.
    ArithmeticError
        No equilibrium, or no step that is small enough.
    """
    times: Array = interval * np.arange(np.floor(scenario.duration / interval + 1e-9) + 1.0, dtype=np.float64)
    knots, table = _inputs(unit, scenario, times)
    if start is None:
        d, y = at_rest(unit)
        h, accepted, rejected, done = 1e-9, 0, 0, 1
        _speeds(y, d)[d.speed] = table[0, d.speed]
        first = y[None, :]
    else:
        d, y, first = start.drive, start.state[-1].copy(), start.state
        h, accepted, rejected, done = start.step, start.accepted, start.rejected, start.time.size
    tolerance = _elements(unit).tolerance
    states = np.empty((times.size, y.size))
    states[:done] = first
    scale, w, memory, trial = _scale(d), scratch(d), np.empty((7, y.size)), np.empty_like(y)
    cuts = np.union1d(np.append(times[::10], times[-1]), knots)
    cuts = cuts[(cuts > times[done - 1]) & (cuts <= times[-1])]
    t = float(times[done - 1])
    try:
        for cut in cuts:
            i = min(int(np.searchsorted(knots, t, side="right")) - 1, knots.size - 2)
            feed = Feed(knots[i], table[i], (table[i + 1] - table[i]) / (knots[i + 1] - knots[i]))
            ahead = done + int(np.searchsorted(times[done:], cut, side="right"))
            wanted, found = times[done:ahead], states[done:ahead]
            h, yes, no = integrate(t, cut, y, h, tolerance, scale, wanted, found, d, feed, w, memory, trial)
            if h == 0.0:
                raise ArithmeticError(f"{unit.name}: no step is small enough after {t:g} s")
            t, done, accepted, rejected = float(cut), ahead, accepted + yes, rejected + no
            if progress is not None:
                progress(t, float(times[-1]))
    except KeyboardInterrupt:
        pass
    return Run(d, times[:done], states[:done], done == times.size, h, accepted, rejected)


def _speeds(y: Array, d: Drive) -> Array:
    """View of the pulleys' speeds (n_k,) [rad/s] in a state."""
    o = 3 * d.n + len(d.r_k)
    return y[o + 3 * d.n : 2 * o]


def _inputs(unit: BeltUnit, scenario: Scenario, times: Array) -> tuple[Array, Array]:
    """Times (m,) [s], m >= 2, and inputs (m, n_k) between which they are linear."""
    names = [f"{name}.{'w' if p.flange == 'speed' else 'tau'}" for name, p in unit.pulleys.items()]
    variables = tuple(
        Variable(name, "input", i, "rad/s" if name.endswith(".w") else "N.m", "", 0.0) for i, name in enumerate(names)
    )
    lines = [v for v in scenario.inputs.values() if isinstance(v, Table) and v.interpolation == "linear"]
    knots = np.unique(np.concatenate([[0.0, times[-1]], *(np.array(v.time) for v in lines)]))
    if any(isinstance(v, str | Table) and v not in lines for v in scenario.inputs.values()):
        knots = np.union1d(knots, times)
    return knots, sample_inputs(VariableTable(unit.name, variables), scenario, knots)


def _scale(d: Drive) -> Array:
    """Size of each state by which its error is judged: an element's length, a radian, 1 m/s."""
    k = len(d.r_k)
    size = np.repeat([d.l, d.l, 1.0, 1.0, 1.0, 1.0, 2.0 / d.l, 1.0, 0.0], [d.n, d.n, d.n, k, d.n, d.n, d.n, k, 7])
    size[6 * d.n + k : 6 * d.n + 2 * k] = 1.0 / d.r_k
    return size


def span_tensions(run: Run, unit: BeltUnit) -> Array:
    """Mean axial force (m, n_k) [N] of the joints in the middle half of each span; span i leaves pulley i."""
    path, d, n = unit.path(), run.drive, run.drive.n
    force = _forces(run)[0]
    x, y = run.state[:, :n], run.state[:, n : 2 * n]
    joint = 0.5 * np.stack([x + np.roll(x, 1, axis=1), y + np.roll(y, 1, axis=1)], axis=-1)
    result = np.empty((run.time.size, len(d.r_k)))
    for i, length in enumerate(path.span):
        t = path.direction[i]
        r = joint - path.leaving(i)
        along, across = r @ t, r @ np.array([-t[1], t[0]])
        inside = (abs(along / length - 0.5) < max(0.25, 1.1 * path.length / n / length)) & (
            abs(across) < 0.5 * min(d.r_k)
        )
        result[:, i] = np.sum(force * inside, axis=1) / np.sum(inside, axis=1)
    return result


def _forces(run: Run) -> tuple[Array, Array, Array]:
    """Axial forces (m, n) of the joints, normal and friction forces (m, n_k, n) on the elements [N]."""
    d = run.drive
    w, dy, none = scratch(d), np.empty(run.state.shape[1]), Feed(0.0, np.zeros(len(d.r_k)), np.zeros(len(d.r_k)))
    m = run.time.size
    F, N, T = np.empty((m, d.n)), np.empty((m, len(d.r_k), d.n)), np.empty((m, len(d.r_k), d.n))
    for i in range(m):
        rates(run.time[i], run.state[i], dy, d, none, w)
        F[i], N[i], T[i] = w.F, w.N, w.T
    return F, N, T


def signals(run: Run, unit: BeltUnit) -> dict[str, Signal]:
    """All results over time, the fields of the belt as arrays (m, n).

    Speeds and torques by pulley, ``span.A.B.F`` for the span from A to B, ``belt.F``, ``belt.x`` ... by element
    (joint i lies before element i), ``contact.NAME.N`` and ``.T`` by element, and ``energy.*``.
    """
    d = run.drive
    n, k, names = d.n, len(d.r_k), list(unit.pulleys)
    o = 3 * n + k
    F, N, T = _forces(run)
    found: dict[str, Signal] = {}
    for j, name in enumerate(names):
        found[f"{name}.w"] = Signal(run.state[:, o + 3 * n + j], "rad/s", "speed")
        found[f"{name}.theta"] = Signal(run.state[:, 3 * n + j], "rad", "angle")
        radius = np.hypot(run.state[:, :n] - d.P_k[j, 0], run.state[:, n : 2 * n] - d.P_k[j, 1])
        found[f"{name}.belt_tau"] = Signal(-np.sum(T[:, j] * radius, axis=1), "N.m", "torque of the belt on the pulley")
        found[f"contact.{name}.N"] = Signal(N[:, j], "N", "normal force on each element")
        found[f"contact.{name}.T"] = Signal(T[:, j], "N", "friction on each element, anticlockwise about the pulley")
    for j, tension in enumerate(span_tensions(run, unit).T):
        found[f"span.{names[j]}.{names[(j + 1) % k]}.F"] = Signal(tension, "N", "tension in the middle of the span")
    found["belt.F"] = Signal(F, "N", "axial force of each joint")
    for i, (name, unit_name) in enumerate(_FIELDS):
        at = i % 3 * n + i // 3 * o
        found[f"belt.{name}"] = Signal(run.state[:, at : at + n], unit_name, "of each element")
    for i, name in enumerate(ENERGIES):
        text = "work of the inputs" if i == 0 else "dissipated"
        found[f"energy.{name}"] = Signal(run.state[:, 2 * o + i], "J", text)
    stored = np.array([stored_energy(y, d) for y in run.state])
    for i, name in enumerate(("kinetic", "joints", "contacts", "height")):
        found[f"energy.{name}"] = Signal(stored[:, i], "J", "stored")
    return found


_FIELDS = (("x", "m"), ("y", "m"), ("phi", "rad"), ("vx", "m/s"), ("vy", "m/s"), ("omega", "rad/s"))


def write_run(path: Path, run: Run, unit: BeltUnit, scenario: Scenario) -> None:
    """Write a run to HDF5; `read_run` takes an interrupted one up again.

    Raises
    ------
    InputError
        The file cannot be written; nothing is left behind.
    """
    about = {
        "scenario": scenario.name,
        "partial": not run.complete,
        "element_length": run.drive.l,
        "step": run.step,
        "accepted": run.accepted,
        "rejected": run.rejected,
    }
    write_recording(path, Recording(run.time, signals(run, unit), about, unit.text), "belt of rigid elements")


def read_run(path: Path, unit: BeltUnit) -> Run:
    """The run in a file, for the unit that it was made with.

    Raises
    ------
    InputError
        Not a run of this unit.
    """
    recording = read_recording(path)
    if recording.unit_file != unit.text or "element_length" not in recording.attributes:
        raise InputError(path, "unit_file", unit.name, "a run of rigid elements of the same unit file")
    found, names, about = recording.signals, list(unit.pulleys), recording.attributes
    place = [found[f"belt.{name}"].values for name, _ in _FIELDS]
    angle = [found[f"{name}.theta"].values[:, None] for name in names]
    speed = [found[f"{name}.w"].values[:, None] for name in names]
    energy = [found[f"energy.{name}"].values[:, None] for name in ENERGIES]
    state = np.hstack([*place[:3], *angle, *place[3:], *speed, *energy])
    d = _drive(unit, float(about["element_length"]))
    step, counts = float(about["step"]), (int(about["accepted"]), int(about["rejected"]))
    return Run(d, recording.time, state, not bool(about["partial"]), step, *counts)
