"""Contacts of the elements with the ring set (Cebulla 2014, sections 5.1.1 and 6.1.2, eqs. 5.1, 5.2, 6.10).

The ring's neutral fibre r(s) has the unit tangent t in the direction of travel and the outward normal n; the set is
h_ring high. Saddle R_S and ear R_E of an element meet its inner and outer side:

    R_S = (t_R/2 - t_S, h_P - h_S),     g_S = (r - R_S).n - h_ring/2
    R_E = (t_R/2 - t_S, h_E - h_S),     g_E = (R_E - r).n - h_ring/2

both where r(s) is nearest: (R - r).t = 0, one Newton step per contact and time step from where it was before.

    unilateral    f_n = max(0, -k g - d g') at a closed contact (saddle, or ear), else 0      (ring-ear play)
    bilateral     f_n = -k g - d g' at the saddle, of either sign
    friction      f_t = -kappa v_t,  kappa = mu_R |f_n| / sqrt(v_t^2 + v_muR^2)               along t

with the relative velocity v_t of the surfaces, the ring's section rotation included. kappa is at most 1/(dt W):
friction stops the slip of a step at the most and never turns it round. W is the largest eigenvalue of the inverse mass
that elements and ring oppose to the friction of all contacts together. The bound acts below a slip of dt W mu_R f_n,
which is 0.03 m/s at 300 N and 1e-6 s; faster slip has Coulomb friction unchanged. A bound that is too low acts like
a larger v_muR: one of 2/3 makes push forces at half load, where the ring slips at 0.01 m/s, too large by 5 %.
Both bodies are loaded at the same point, the ring's surface: no force or moment is lost.

Held forces. In the multirate scheme (`hybrid`) elements take steps dt and the ring shorter ones h within, under the
forces of the contacts from the last dt. Chord velocities of elements then belong to a time (dt - h)/2 before those of
the ring. On a ring that turns with omega this is a normal velocity `lead` omega u.t, lead = (dt - h)/2, which the gap
rate gets; else the dampers would work on it. Springs are taken ahead by `lead`, f_n = -k g - (d + lead k) g', since a
force that is held acts late by as much and would bring energy in. Friction that takes all the slip of a step out at
once excites the ring's axial modes in its own steps: of kappa, half the bound acts at once, and the rest as a force m
that follows its law by a quarter of the bound in a step (both found by trial),

    f_t = m - min(kappa, stop/2) v_t,    m += min(1, stop/(4 rest)) (-rest v_t - m),    rest = kappa - stop/2 > 0

with stop = 1/(dt W). Both m and f_t stay within mu_R |f_n|.

Work. Friction takes f_t times the mean of the slip before and after the step, which is met in the next one. All else
that the forces take from elements and ring and the springs do not store counts with the dampers (`hybrid`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offline.pushbelt.compiled import columns, compiled, inlined
from offline.pushbelt.parameters import Belt
from offline.pushbelt.ring import INV, N_LOAD, N_RATE, N_SHAPE, Ring, mobility, point, push, velocity

__all__ = [
    "N_MEMORY",
    "Saddle",
    "Touch",
    "bilateral_energy",
    "bilateral_forces",
    "project",
    "saddle",
    "touch",
    "unilateral_energy",
    "unilateral_forces",
]

_NEAR = 5.0e-6  # [m]
_FAST = 5.0  # [m/s]; saddle and ring do not approach faster
N_MEMORY = 9  # of the last step, of saddle and ear each: friction, slip speed, energy of the spring, friction m; and
# how far [m] an open saddle is from the nearer of both contacts
_EAR = 4  # first column of the ear
_LEFT = 8


class Saddle(NamedTuple):
    """Saddle and ear of an element as the kernels want them: points in the element's frame [m], SI units."""

    N_E: int
    x: float
    y_S: float
    y_E: float
    W: float  # largest inverse mass against friction [1/kg]
    k: float
    d: float
    mu: float
    v_mu: float


class Touch(NamedTuple):
    """Scratch. k (N_E,) finite element at each saddle, its shape (N_E, 11), rate (N_E, 9) and what the saddle adds to
    its load (N_E, 9); force (N_E, 5): normal, place on the ring, deflection, force on the element; memory (N_E, 4): new
    columns of the saddle; ear (N_E,): gap of the ear [m], roughly, or inf; left (N_E,): new column.
    """

    k: NDArray[np.int64]
    shape: NDArray[np.float64]
    rate: NDArray[np.float64]
    load: NDArray[np.float64]
    force: NDArray[np.float64]
    memory: NDArray[np.float64]
    ear: NDArray[np.float64]
    left: NDArray[np.float64]


def touch(N_E: int) -> Touch:
    """Scratch for so many elements."""
    rows = columns(N_E, N_SHAPE), columns(N_E, N_RATE), columns(N_E, N_LOAD), columns(N_E, 5), columns(N_E, _EAR)
    return Touch(np.zeros(N_E, dtype=np.int64), *rows, ear=np.zeros(N_E), left=np.zeros(N_E))


def saddle(belt: Belt, R: Ring) -> Saddle:
    """Saddle and ear of the elements of a belt on its ring: points (6.10)."""
    y_S = belt.h_P - belt.h_S
    return Saddle(
        N_E=belt.N_E,
        x=0.5 * belt.t_R - belt.t_S,
        y_S=y_S,
        y_E=belt.h_E - belt.h_S,
        W=1.0 / belt.m_E + y_S**2 / belt.J_E + mobility(R, belt.N_E),
        k=belt.k_S,
        d=belt.d_S,
        mu=belt.mu_R,
        v_mu=belt.v_muR,
    )


@inlined
def _wrapped(s: float, N_B: int) -> float:
    """Arc coordinate `s` brought back into [0, N_B); 0 if it is not a number."""
    if s >= N_B:
        s -= N_B
    elif s < 0.0:
        s += N_B
    return s if 0.0 <= s < N_B else 0.0


@inlined
def _nearest(shape: Any, row: int, s: float, xi: float, N_B: int, x: float, y: float) -> Any:
    """Newton step of `project` from the place `xi` in the finite element of row `row`; results without k and xi."""
    r_x, r_y, g_x, g_y, w, _ = point(shape, row, xi)
    inv = 1.0 / np.sqrt(g_x * g_x + g_y * g_y)
    t_x = g_x * inv
    t_y = g_y * inv
    e_x = x - r_x
    e_y = y - r_y
    e_t = e_x * t_x + e_y * t_y
    return _wrapped(s + e_t * inv, N_B), e_y * t_x - e_x * t_y, e_t, w, r_x, r_y, t_x, t_y


@inlined
def project(R: Ring, shape: Any, s: float, x: float, y: float) -> Any:
    """One Newton step for the point of the ring that is nearest to (x, y), from arc coordinate `s` in [0, N_B).

    Returns
    -------
    s_new, e_n, e_t : arc coordinate in [0, N_B) [finite elements]; (x, y) - r(s) along n, along t at the old `s` [m]
    k, xi, w : finite element, place in it and deflection [m] at the old `s`
    r_x, r_y, t_x, t_y : neutral fibre and tangent there
    """
    k = int(s)
    xi = s - k
    s_new, e_n, e_t, w, r_x, r_y, t_x, t_y = _nearest(shape, k, s, xi, R.N_B, x, y)
    return s_new, e_n, e_t, k, xi, w, r_x, r_y, t_x, t_y


@inlined
def _contact(
    p: Saddle, shape: Any, rate: Any, memory: Any, dt: float, lead: float,
    i: int, o: int, h: float, gap: float, closed: bool, both: bool,
    q_x: float, q_y: float, u_x: float, u_y: float, u_p: float,
    row: int, xi: float, w: float, r_x: float, r_y: float, t_x: float, t_y: float,
) -> Any:  # fmt: skip
    """Force of one contact at the ring's surface r + h n.

    Returns f_n, the four new columns of `memory`, zero where it is open, force F_x, F_y and moment on the element, work
    of friction. `row` of shape and rate is that of its finite element; `o`: first column of `memory`; h < 0: saddle,
    > 0: ear; `both`: f_n may pull; `lead` > 0: the ring's own steps keep the force.
    """
    n_x = -t_y
    n_y = t_x
    a_x = r_x + h * n_x - q_x
    a_y = r_y + h * n_y - q_y
    v_x, v_y, omega = velocity(shape, rate, row, xi, w)
    v_x = u_x - u_p * a_y - v_x
    v_y = u_y + u_p * a_x - v_y
    side = 1.0 if h > 0.0 else -1.0  # the gap opens along side n
    gap_rate = side * (v_x * n_x + v_y * n_y + lead * omega * (u_x * t_x + u_y * t_y))
    v_t = v_x * t_x + v_y * t_y + h * omega
    lost_t = -0.5 * dt * memory[i, o] * (memory[i, o + 1] + v_t)
    f_n = -p.k * gap - (p.d + p.k * lead) * gap_rate
    f_n = f_n if closed and (both or f_n > 0.0) else 0.0
    most = p.mu * abs(f_n)
    kappa = most / np.sqrt(v_t * v_t + p.v_mu * p.v_mu)
    stop = 1.0 / (dt * p.W)
    direct = min(kappa, stop if lead == 0.0 else 0.5 * stop)
    rest = kappa - direct if lead > 0.0 else 0.0
    m = memory[i, o + 3]
    m -= min(1.0, 0.25 * stop / rest) * (rest * v_t + m)
    m = min(max(m, -most), most) if rest > 0.0 else 0.0
    f_t = min(max(m - direct * v_t, -most), most)
    F_x = side * f_n * n_x + f_t * t_x
    F_y = side * f_n * n_y + f_t * t_y
    stored = 0.5 * p.k * gap * gap if closed else 0.0
    return f_n, f_t, v_t, stored, m, F_x, F_y, a_x * F_y - a_y * F_x, lost_t


@compiled
def _rows_of(N_E: int, s_R: Any, shape: Any, rate: Any, memory: Any, stride: float, at: Touch) -> None:
    """Rows of the ring at all saddles that may be closed; others keep those of before. No load."""
    for i in range(N_E):
        if memory[i, _LEFT] > stride and at.shape[i, INV] > 0.0:
            continue
        k = int(s_R[i])
        at.k[i] = k
        for a in range(N_SHAPE):
            at.shape[i, a] = shape[k, a]
        for a in range(N_RATE):
            at.rate[i, a] = rate[k, a]
    for a in range(N_LOAD):
        for i in range(N_E):
            at.load[i, a] = 0.0


@compiled
def _saddles(
    p: Saddle, R: Ring, q: Any, u: Any, cs: Any, sn: Any, s_R: Any, at: Touch, f: Any, N: Any, memory: Any,
    dt: float, lead: float, stride: float, both: bool,
) -> Any:  # fmt: skip
    """Contacts of all saddles, their loads on the ring in `at`; returns friction's work and what the springs gained.

    `memory` is written behind the loop: columns that one loop reads and writes the compiler would have to tell apart.
    """
    h2 = R.h2
    rise = p.y_E - p.y_S
    lost_t = 0.0
    gained = 0.0
    for i in range(np.uint64(p.N_E)):
        left = memory[i, _LEFT] - stride
        apart = left > 0.0
        c = cs[i]
        s = sn[i]
        q_x = q[i, 0]
        q_y = q[i, 1]
        x = q_x + c * p.x - s * p.y_S
        y = q_y + s * p.x + c * p.y_S
        place = s_R[i]
        xi = place - int(place)
        s_new, e_n, _, w, r_x, r_y, t_x, t_y = _nearest(at.shape, i, place, xi, R.N_B, x, y)
        gap = -e_n - h2
        closed = (both or gap < 0.0) and not apart
        f_S, f_T, v_t, stored, m, F_x, F_y, M, t = _contact(
            p, at.shape, at.rate, memory, dt, lead, i, 0, -h2, gap, closed, both,
            q_x, q_y, u[i, 0], u[i, 1], u[i, 2], i, xi, w, r_x, r_y, t_x, t_y,
        )  # fmt: skip
        lost_t += t
        gained += stored - memory[i, 2]
        s_R[i] = place if apart else s_new
        # the ear's gap at the saddle's place on the ring; its own differs by less than a micrometre
        ear = e_n + rise * (c * t_x + s * t_y) - h2
        free = min(gap, ear) - _NEAR
        at.ear[i] = np.inf if apart else ear
        f[i, 0] += F_x
        f[i, 1] += F_y
        f[i, 2] += M
        at.left[i] = left if apart else (free if free > 0.0 and memory[i, 2] == 0.0 and not both else 0.0)
        at.memory[i, 0] = f_T
        at.memory[i, 1] = v_t
        at.memory[i, 2] = stored
        at.memory[i, 3] = m
        at.force[i, 0] = f_S
        at.force[i, 1] = xi
        at.force[i, 2] = w
        at.force[i, 3] = F_x
        at.force[i, 4] = F_y
    for a in range(_EAR):
        for i in range(p.N_E):
            memory[i, a] = at.memory[i, a]
    for i in range(p.N_E):
        memory[i, _LEFT] = at.left[i]
    for i in range(np.uint64(p.N_E)):
        N[i, 0] = at.force[i, 0]
        N[i, 1] = 0.0
        N[i, 2] = memory[i, 0]
    for i in range(np.uint64(p.N_E)):
        push(at.shape, at.load, i, at.force[i, 1], at.force[i, 2], -at.force[i, 3], -at.force[i, 4], -h2 * memory[i, 0])
    return lost_t, gained


@compiled
def unilateral_forces(
    p: Saddle, R: Ring, q: Any, u: Any, cs: Any, sn: Any, s_R: Any, shape: Any, rate: Any, load: Any, f: Any,
    N: Any, memory: Any, at: Touch, dt: float, lead: float,
) -> Any:  # fmt: skip
    """Saddle and ear of every element, unilateral, with friction.

    Parameters
    ----------
    p, R : Saddle, Ring
    q, u : (N_E, 3) position x, y, phi and velocity of the elements; cs, sn : (N_E) cosine and sine of phi
    s_R : (N_E) arc coordinate of the saddle's projection [finite elements]; updated
    shape, rate : (N_B, 11), (N_B, 9) of the ring
    load : (N_B, 9) loads on the ring; added to
    f : (N_E, 3) forces on the elements; added to
    N : (N_E, 3), written: normal force of the saddle, of the ear, friction on the element along the travel [N]
    memory : (N_E, N_MEMORY) of the last step; updated
    at : Touch, scratch
    dt, lead : step, and how far the forces are taken ahead [s]: 0 if the ring steps with the elements

    Returns
    -------
    float, float : work that friction took in the last step, energy that the springs gained in it [J]

    An element between saddle and ear stays open, with the row of the ring that it had, until the nearer of both could
    have been reached.
    """
    h2 = R.h2
    stride = _FAST * dt
    _rows_of(p.N_E, s_R, shape, rate, memory, stride, at)
    lost_t, gained = _saddles(p, R, q, u, cs, sn, s_R, at, f, N, memory, dt, lead, stride, False)
    for i in range(p.N_E):
        if memory[i, 2] != 0.0:
            k = at.k[i]
            for a in range(N_LOAD):
                load[k, a] += at.load[i, a]
        if at.ear[i] < _NEAR or memory[i, _EAR + 2] != 0.0:
            x = q[i, 0] + cs[i] * p.x - sn[i] * p.y_E
            y = q[i, 1] + sn[i] * p.x + cs[i] * p.y_E
            s_E, _, _, k, xi, w, r_x, r_y, t_x, t_y = project(R, shape, s_R[i], x, y)
            _, e_n, _, k, xi, w, r_x, r_y, t_x, t_y = project(R, shape, s_E, x, y)
            gap = e_n - h2
            f_n, f_t, v_t, stored, m, F_x, F_y, M, t = _contact(
                p, shape, rate, memory, dt, lead, i, _EAR, h2, gap, gap < 0.0, False,
                q[i, 0], q[i, 1], u[i, 0], u[i, 1], u[i, 2], k, xi, w, r_x, r_y, t_x, t_y,
            )  # fmt: skip
            lost_t += t
            gained += stored - memory[i, _EAR + 2]
            push(shape, load, k, xi, w, -F_x, -F_y, f_t * h2)
            f[i, 0] += F_x
            f[i, 1] += F_y
            f[i, 2] += M
            memory[i, _EAR] = f_t
            memory[i, _EAR + 1] = v_t
            memory[i, _EAR + 2] = stored
            memory[i, _EAR + 3] = m
            N[i, 1] = f_n
            N[i, 2] += f_t
    return lost_t, gained


@compiled
def bilateral_forces(
    p: Saddle, R: Ring, q: Any, u: Any, cs: Any, sn: Any, s_R: Any, shape: Any, rate: Any, load: Any, f: Any,
    N: Any, memory: Any, at: Touch, dt: float, lead: float,
) -> Any:  # fmt: skip
    """Saddle of every element, bilateral, with friction; arguments and result as `unilateral_forces`."""
    _rows_of(p.N_E, s_R, shape, rate, memory, np.inf, at)
    lost_t, gained = _saddles(p, R, q, u, cs, sn, s_R, at, f, N, memory, dt, lead, np.inf, True)
    for i in range(p.N_E):
        k = at.k[i]
        for a in range(N_LOAD):
            load[k, a] += at.load[i, a]
    return lost_t, gained


@compiled
def unilateral_energy(p: Saddle, R: Ring, q: Any, cs: Any, sn: Any, s_R: Any, shape: Any) -> float:
    """Energy stored in all saddle and ear contacts [J]."""
    energy = 0.0
    half = 0.5 * (p.y_E - p.y_S) - R.h2
    for i in range(p.N_E):
        x = q[i, 0] + cs[i] * p.x
        y = q[i, 1] + sn[i] * p.x
        _, e_n, _, _, _, _, _, _, _, _ = project(R, shape, s_R[i], x - sn[i] * p.y_S, y + cs[i] * p.y_S)
        energy += min(-e_n - R.h2, 0.0) ** 2
        if not -e_n - R.h2 > half:
            continue
        x -= sn[i] * p.y_E
        y += cs[i] * p.y_E
        s_E, _, _, _, _, _, _, _, _, _ = project(R, shape, s_R[i], x, y)
        _, e_n, _, _, _, _, _, _, _, _ = project(R, shape, s_E, x, y)
        energy += min(e_n - R.h2, 0.0) ** 2
    return 0.5 * p.k * energy


@compiled
def bilateral_energy(p: Saddle, R: Ring, q: Any, cs: Any, sn: Any, s_R: Any, shape: Any) -> float:
    """Energy stored in all bilateral saddle contacts [J]."""
    energy = 0.0
    for i in range(p.N_E):
        x = q[i, 0] + cs[i] * p.x - sn[i] * p.y_S
        y = q[i, 1] + sn[i] * p.x + cs[i] * p.y_S
        _, e_n, _, _, _, _, _, _, _, _ = project(R, shape, s_R[i], x, y)
        energy += (-e_n - R.h2) ** 2
    return 0.5 * p.k * energy
