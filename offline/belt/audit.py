"""Energy balance of the ANCF belt drive: stored energy, input, and the loss of each family of dampers.

    stored(t) - stored(0) = input - output - sum of losses + unaccounted

Nothing is a remainder. Energies are functions of the state at the end of a step. The pulleys' torques do the work
(tau_0 + tau_1)/2 (phi_1 - phi_0) in a step, as in the trapezoidal rule; losses are rates that are never negative, by
the trapezoidal rule over both ends. A slipping bristle keeps its stretch mu |f_n|/mu_k; its foot x_ref slides under its
force b, and its energy is lost when the segment leaves the sheave::

    bristle   b^2/(2 mu_k)
    friction  (b_0 + b_1)/2 (x_ref1 - x_ref0) + mu_v v_t^2,  and b_0^2/(2 mu_k) on leaving
    winding   (b_0 + b_1)/2 (h v_t - (x_cur1 - x_cur0))

`winding` is no loss and has either sign: the bristle's place x_cur moves by lengths of the belt's line without load
(eq. 24), its force acts on the surface. It falls with the length of the segments.

The unaccounted energy is the steps' own error, which falls with the square of their length. It grows where rates
alternate from step to step, and where a discontinuous iteration that did not settle leaves forces that do not belong to
the segments' state. `strayed` adds it up without regard to its sign.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.belt.ancf import elastic_energy
from rtcvt.offline.belt.compiled import compiled
from rtcvt.offline.belt.shafts import load_torque, shaft_of
from rtcvt.offline.belt.sheave import STICK, UNDEFINED, bristle_stretch, segment, segment_points
from rtcvt.offline.belt.tensioner import carrier

Array = NDArray[np.float64]

STORED = ("kinetic", "strain", "contacts", "bristles", "springs", "height")
WORKS = ("input", "output", "axial", "bending", "contact", "friction", "bearing", "load", "arm", "decoupler", "winding")
INPUT, OUTPUT, AXIAL, BENDING, CONTACT, FRICTION, BEARING, LOAD, ARM, DECOUPLER, WINDING = range(len(WORKS))

ALLOWED = 5e-3  # allowed unaccounted energy, as a share of the work put in


class Ledger(NamedTuple):
    """Account of a run."""

    stored: Array  # (6,) energies of `STORED` at the end of the last step [J]
    work: Array  # (11,) of `WORKS` since the start [J]
    power: Array  # (11,) rates of the losses at the end of the last step [W]
    ends: Array  # (m, 3) angle [rad] and speed [rad/s] where the torque acts, and torque [N m], there
    bristle: Array  # (m, n, n_s, 4) force [N], foot x_ref [m], v_t [m/s] and x_slip of each bristle, there


def ledger(sheaves: int, elements: int, segments: int) -> Ledger:
    """Memory of an account; `book` with h = 0 opens it."""
    bristle = np.zeros((sheaves, elements, segments, 4))
    bristle[..., 3] = UNDEFINED
    return Ledger(np.zeros(len(STORED)), np.zeros(len(WORKS)), np.zeros(len(WORKS)), np.zeros((sheaves, 3)), bristle)


def columns() -> list[str]:
    """Names of the signals of a run, in the order of its account."""
    return [f"energy.{name}" for name in (*(f"stored.{name}" for name in STORED), *WORKS)]


def unaccounted(energy: Array) -> Array:
    """Unaccounted energy since the first sample [J].

    Parameters
    ----------
    energy : (..., S, 17) array
        `STORED` and `WORKS` over S samples [J].
    """
    k = len(STORED)
    stored, work = energy[..., :k].sum(axis=-1), energy[..., k:]
    balance = stored - work[..., INPUT] + work[..., OUTPUT] + work[..., AXIAL:].sum(axis=-1)
    return np.asarray(balance - balance[..., :1])


def strayed(energy: Array) -> float:
    """Sum of the unaccounted energy between samples without sign, relative to the work put in; 0 without work."""
    put_in = float(energy[-1, len(STORED) + INPUT])
    return float(np.abs(np.diff(unaccounted(energy))).sum()) / put_in if put_in > 0.0 else 0.0


@compiled
def book(cable: Any, contact: Any, s: Any, x: Any, h: float, account: Any, P: Any) -> None:
    """Enter a step of length `h` that ended at `x`; with h = 0 only the data of its end for the next one.

    Parameters
    ----------
    cable, contact, s, x : Cable, Contact, Sheaves, Motion
        `contact` with its centres at `x`.
    account : Ledger
    P : (n_s + 1, N_POINT) array
        Scratch.
    """
    half = 0.5 * h
    for k in range(account.work.shape[0]):
        account.work[k] += half * account.power[k]
        account.power[k] = 0.0
    account.stored[:] = 0.0
    _belt(cable, x, account)
    _sheaves(s, x, h, account)
    _arms(s, x, account)
    _shafts(s, x, account)
    _segments(contact, x, h, account, P)
    for k in range(account.work.shape[0]):
        account.work[k] += half * account.power[k]


@compiled
def _belt(c: Any, x: Any, account: Any) -> None:
    n = x.q.shape[0]
    m = c.mass
    kinetic = 0.0
    height = 0.0
    for e in range(n):
        k = e + 1 if e + 1 < n else 0
        for b in range(2):
            v0 = x.v[e, b]
            v1 = x.v[e, 2 + b]
            v2 = x.v[k, b]
            v3 = x.v[k, 2 + b]
            kinetic += 0.5 * (m[0, 0] * v0 * v0 + m[1, 1] * v1 * v1 + m[2, 2] * v2 * v2 + m[3, 3] * v3 * v3)
            kinetic += v0 * (m[0, 1] * v1 + m[0, 2] * v2 + m[0, 3] * v3) + v1 * (m[1, 2] * v2 + m[1, 3] * v3)
            kinetic += m[2, 3] * v2 * v3
        height += c.weight[0] * x.q[e, 1] + c.weight[1] * x.q[e, 3] + c.weight[2] * x.q[k, 1] + c.weight[3] * x.q[k, 3]
    strain, axial, bending = elastic_energy(c, x.q, x.v, n)
    account.stored[0] += kinetic
    account.stored[1] += strain
    account.stored[5] += height
    account.power[AXIAL] += axial
    account.power[BENDING] += bending


@compiled
def _sheaves(s: Any, x: Any, h: float, account: Any) -> None:
    """Pulleys, their shafts' bearings and loads, and the work of the torques from outside."""
    for i in range(x.phi.shape[0]):
        account.stored[0] += 0.5 * s.I[i] * x.w[i] * x.w[i]
        ends = account.ends
        k = shaft_of(s.shafts, i)
        w = x.w[i]
        turned = x.phi[i] - ends[i, 0]
        if k >= 0:
            w = x.shafts[k, 0]
            turned = 0.5 * h * (ends[i, 1] + w)
        done = 0.5 * (ends[i, 2] + x.tau[i]) * turned
        if h > 0.0:
            account.work[INPUT] += max(done, 0.0)
            account.work[OUTPUT] += max(-done, 0.0)
        ends[i, 0] = x.phi[i]
        ends[i, 1] = w
        ends[i, 2] = x.tau[i]
        slides = w - carrier(s.arms, x.arms, i)
        account.power[BEARING] += s.d[i] * slides * slides
        account.power[LOAD] -= load_torque(s, i, w)[0] * w


@compiled
def _arms(s: Any, x: Any, account: Any) -> None:
    """J W^2/2, springs of arm, dry friction and stops, and their losses."""
    a = s.arms
    for m in range(a.J.shape[0]):
        theta = x.arms[m, 0]
        W = x.arms[m, 1]
        M = x.arms[m, 3]
        account.stored[0] += 0.5 * a.J[m] * W * W
        account.stored[4] += (0.5 * a.K[m] * theta - a.M_0[m]) * theta
        account.power[ARM] += a.C[m] * W * W
        if a.M_F[m] > 0.0:
            account.stored[4] += 0.5 * M * M / a.K_F[m]
            account.power[ARM] += M * M * abs(W) / a.M_F[m]
        for end in range(2):
            side = 1.0 if end == 1 else -1.0
            z = side * (theta - a.stops[m, end])
            if z > 0.0:
                account.stored[4] += 0.5 * a.K_S[m] * z * z
                account.power[ARM] += a.K_S[m] * z * side * W * (max(1.0 + a.C_S[m] * side * W, 0.0) - 1.0)


@compiled
def _shafts(s: Any, x: Any, account: Any) -> None:
    """Shafts after decouplers: their springs, dampers and clutches."""
    g = s.shafts
    for k in range(g.J.shape[0]):
        w = x.shafts[k, 0]
        twist = x.shafts[k, 2]
        rate = x.shafts[k, 3]
        account.stored[0] += 0.5 * g.J[k] * w * w
        account.stored[4] += 0.5 * g.K[k] * twist * twist
        slips = rate - g.sense[k] * (x.w[g.sheave[k]] - w)
        account.power[DECOUPLER] += g.C[k] * rate * rate - (g.K[k] * twist + g.C[k] * rate) * slips


@compiled
def _segments(c: Any, x: Any, h: float, account: Any, P: Any) -> None:
    """Contact springs and dampers, bristles and friction."""
    past = account.bristle
    for i in range(x.contact.shape[0]):
        period = 2.0 * np.pi * c.radius[i]
        for e in range(x.contact.shape[1]):
            touches = False
            for j in range(x.contact.shape[2]):
                if x.contact[i, e, j, 0] <= 0.0:
                    touches = True
                elif past[i, e, j, 3] != UNDEFINED:
                    if h > 0.0 and c.mu_k > 0.0:
                        account.work[FRICTION] += 0.5 * past[i, e, j, 0] ** 2 / c.mu_k
                    past[i, e, j, 3] = UNDEFINED
            if not touches:
                continue
            segment_points(c, x, i, e, P)
            for j in range(x.contact.shape[2]):
                if x.contact[i, e, j, 0] > 0.0:
                    continue
                slip = x.contact[i, e, j, 1]
                ref = x.contact[i, e, j, 2]
                _, d, nx, ny, _, _, f_t, v_n, vx, vy, _ = segment(c, x, P, i, e, j)
                g = d - c.radius[i]
                v_t = vy * nx - vx * ny - c.radius[i] * x.w[i]
                account.stored[2] += 0.5 * c.k_c * g * g
                account.power[CONTACT] += (c.d_c + c.d_h * abs(g)) * v_n * v_n
                if c.mu_k == 0.0:
                    account.power[FRICTION] += f_t * v_t
                    continue
                b = f_t
                if slip == STICK:
                    b -= c.mu_v * v_t
                    account.power[FRICTION] += c.mu_v * v_t * v_t
                account.stored[3] += 0.5 * b * b / c.mu_k
                if h > 0.0 and past[i, e, j, 3] != UNDEFINED:
                    mean = 0.5 * (past[i, e, j, 0] + b)
                    slid = bristle_stretch(ref, past[i, e, j, 1], period)
                    account.work[FRICTION] += mean * slid
                    way = 0.5 * h * (past[i, e, j, 2] + v_t)
                    account.work[WINDING] += mean * (way - slid - (b - past[i, e, j, 0]) / c.mu_k)
                past[i, e, j, 0] = b
                past[i, e, j, 1] = ref
                past[i, e, j, 2] = v_t
                past[i, e, j, 3] = slip
