"""Time stepping through impacts and friction without finding their instants.

    M(q) du = h(t, q, u) dt + W(t, q) dL,    q_dot = T(q) u              Cebulla 2014, eqs. (2.9), (2.20)

Half-explicit scheme on velocity level (Foerg 2007; Cebulla 2014, eqs. (2.49)-(2.51)), of first order:

    q+ = q + T(q) u dt
    J  = {j : g_N,j(t+, q+) <= 1e-6 dt |u|}, and all bilateral contacts; |u|: largest free velocity at the end
    u+ = u + M(q+)^-1 (h(t+, q+, u) dt + W_J(t+, q+) L+)
    (gamma_J+, L+) obeys the laws of contact and impact                  `rtcvt.offline.nonsmooth.impact`

The source has 0 instead of 1e-6 dt |u|. A contact at rest with gap zero would then be in J or not by the sign of
rounding errors, until it has fallen for a step, and bodies on each other would fall alternately. Gaps are not
corrected.

Step-size control (Huber and Ulbrich 2010, as section 2.7 reports it). A step dt is compared with two of dt/2, from
which the solution continues:

    error = max(|q - q'|, dt |u - u'|)

The scaling by dt is the variant that the source prefers: where the velocity jumps the comparison cannot converge, but
a jump moves the position by no more than dt [u]. In smooth motion the error is dt^2 |T u_dot| / 4 + O(dt^3), so the
next step follows the square root of tolerance over error, and the global error the square root of the tolerance.

Gap control, largest step. The source gives the idea only; derived here: a contact that is open at t and has
penetrated by more than the tolerance at t + dt or in between closes at the instant that linear interpolation of its
gap over the half-steps gives (exact within each half-step for gaps linear in q, since q moves along a line). If
several close, the last instant is used: the step ends there, slightly closed, and the impact is at its end, where it
does not disturb the error estimate. The size that the error allowed is used for the step after it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtcvt.errors import InputError
from rtcvt.offline.nonsmooth.impact import ImpactLaw, Restitution, newton_law
from rtcvt.offline.nonsmooth.lcp import ConvergenceError

Array = NDArray[np.float64]

GAP_RTOL = 1e-6  # share of the largest motion in a step; a smaller gap is closed


@dataclass(frozen=True)
class Contacts:
    """State of all n_c contacts, each with d = 0, 1 or 2 tangential directions.

    Attributes
    ----------
    gap : ndarray, shape (n_c,)
        Normal distance, negative if penetrated [m].
    W_N : ndarray, shape (n, n_c)
        Directions of the normal forces: ``g_N_dot = W_N' u + w[:, 0]``.
    W_T : ndarray, shape (n, n_c, d)
        Directions of friction: ``g_T_dot = W_T' u + w[:, 1:]``.
    w : ndarray, shape (n_c, 1 + d)
        Relative velocities at u = 0, from moving surroundings [m/s].
    """

    gap: Array
    W_N: Array
    W_T: Array
    w: Array


@dataclass(frozen=True)
class System:
    """Equations of motion with n velocities and n_q coordinates.

    Attributes
    ----------
    mass : callable
        ``mass(q)``: symmetric positive definite M, shape (n, n).
    force : callable
        ``force(t, q, u)``: smooth forces h, shape (n,).
    rate : callable
        ``rate(q, u)``: ``T(q) u``, shape (n_q,).
    contacts : callable
        ``contacts(t, q)``: `Contacts`, always the same ones in the same order.
    law : Restitution
        Friction, restitution and kind of each contact.
    """

    mass: Callable[[Array], Array]
    force: Callable[[float, Array, Array], Array]
    rate: Callable[[Array, Array], Array]
    contacts: Callable[[float, Array], Contacts]
    law: Restitution


@dataclass(frozen=True)
class Step:
    """State after a step.

    `gap` [m] has shape (n_c,); `impulse` [N s], of the whole step and zero where open, (n_c, 1 + d), normal first.
    `iterations` and `residual` are those of the contact problem.
    """

    t: float
    q: Array
    u: Array
    gap: Array
    impulse: Array
    iterations: int
    residual: float


@dataclass(frozen=True)
class Trajectory:
    """States at the ends of all steps, the start included: `t` (s,), `q` (s, n_q), `u` (s, n), `gap` (s, n_c).

    `impulse` (s, n_c, 1 + d) belongs to the step that ends at the row; the first row is zero. `residual` is the largest
    of all contact problems, `rejected` counts steps that were tried and repeated shorter.
    """

    t: Array
    q: Array
    u: Array
    gap: Array
    impulse: Array
    residual: float
    rejected: int


def half_explicit_step(
    system: System, t: float, q: Array, u: Array, dt: float, start: Array, law: ImpactLaw = newton_law
) -> Step:
    """One step of eqs. (2.49)-(2.51).

    Parameters
    ----------
    system : System
        Equations of motion and contacts.
    t, q, u : float, ndarrays of shapes (n_q,) and (n,)
        State before the step.
    dt : float
        Step [s].
    start : ndarray, shape (n_c, 1 + d)
        Guess of the impulses, e.g. those of the step before [N s].
    law : callable
        `newton_law`, `poisson_law` or another of their form.

    Raises
    ------
    ConvergenceError
        If the contact problem is not solved, or the velocities are not finite.
    """
    t, q = t + dt, q + dt * system.rate(q, u)
    contacts = system.contacts(t, q)
    M, h = system.mass(q), system.force(t, q, u)
    added = np.linalg.solve(M, h * dt)
    free = _finite(t, u + added)
    active = np.flatnonzero((contacts.gap <= GAP_RTOL * dt * np.abs(free).max()) | system.law.bilateral)
    impulse = np.zeros(contacts.w.shape)
    if not active.size:
        return Step(t, q, free, contacts.gap, impulse, 0, 0.0)
    W = np.concatenate([contacts.W_N[:, active, None], contacts.W_T[:, active]], axis=2).reshape(u.size, -1)
    moved = np.linalg.solve(M, W)
    G = W.T @ moved
    before = W.T @ u + contacts.w[active].ravel()
    of_active = Restitution(
        system.law.mu[active], system.law.e_N[active], system.law.e_T[active], system.law.bilateral[active]
    )
    solved = law(0.5 * (G + G.T), before, W.T @ added, of_active, start[active].ravel())
    impulse[active] = solved.L.reshape(active.size, -1)
    u = _finite(t, free + moved @ solved.L)
    return Step(t, q, u, contacts.gap, impulse, solved.iterations, solved.residual)


def _finite(t: float, u: Array) -> Array:
    if not np.isfinite(u).all():
        raise ConvergenceError(f"time stepping: velocities are not finite at t = {t:.6g} s: use shorter steps")
    return u


def _first(system: System, t: float, q: ArrayLike, u: ArrayLike) -> Step:
    q, u = np.array(q, dtype=np.float64), np.array(u, dtype=np.float64)
    contacts = system.contacts(t, q)
    k, n = contacts.gap.size, u.size
    d = contacts.W_T.shape[-1]
    shapes = contacts.W_N.shape, contacts.W_T.shape, contacts.w.shape
    if shapes != ((n, k), (n, k, d), (k, 1 + d)):
        raise InputError("system", "shapes of W_N, W_T, w", shapes, f"({n}, {k}), ({n}, {k}, d), ({k}, 1 + d)")
    law = system.law
    for name, values in (("mu", law.mu), ("e_N", law.e_N), ("e_T", law.e_T), ("bilateral", law.bilateral)):
        if values.shape != (k,):
            raise InputError("system", f"law.{name}", values.shape, f"one value per contact: shape ({k},)")
    for name, values in (("e_N", law.e_N), ("e_T", law.e_T)):
        if not ((values >= 0.0) & (values <= 1.0)).all():
            raise InputError("system", f"law.{name}", values, "must lie in [0, 1]")
    return Step(t, q, u, contacts.gap, np.zeros(contacts.w.shape), 0, 0.0)


def _trajectory(steps: list[Step], rejected: int) -> Trajectory:
    return Trajectory(
        np.array([s.t for s in steps]), np.array([s.q for s in steps]), np.array([s.u for s in steps]),
        np.array([s.gap for s in steps]), np.array([s.impulse for s in steps]), max(s.residual for s in steps),
        rejected,
    )  # fmt: skip


def integrate(
    system: System, t: float, q: ArrayLike, u: ArrayLike, end: float, steps: int, law: ImpactLaw = newton_law
) -> Trajectory:
    """Make `steps` equal steps from `t` to `end` [s] with `half_explicit_step`.

    Raises
    ------
    InputError
        If shapes or coefficients are wrong.
    ConvergenceError
        If a contact problem is not solved.
    """
    if steps < 1 or not end > t:
        raise InputError("time stepping", "t, end, steps", (t, end, steps), "t < end and at least one step")
    state = _first(system, t, q, u)
    dt = (end - t) / steps
    done = [state]
    for i in range(steps):
        state = half_explicit_step(system, t + i * dt, state.q, state.u, dt, state.impulse, law)
        done.append(state)
    return _trajectory(done, 0)


def _halves(system: System, now: Step, dt: float, law: ImpactLaw) -> tuple[Step, Step]:
    """States after dt/2 and dt; the impulse of the second is the sum of the two."""
    mid = half_explicit_step(system, now.t, now.q, now.u, 0.5 * dt, now.impulse, law)
    end = half_explicit_step(system, mid.t, mid.q, mid.u, 0.5 * dt, mid.impulse, law)
    impulse, iterations = mid.impulse + end.impulse, mid.iterations + end.iterations
    worst = max(mid.residual, end.residual)
    return mid, replace(end, t=now.t + dt, impulse=impulse, iterations=iterations, residual=worst)


def _closing(now: Step, mid: Step, end: Step, bilateral: NDArray[np.bool_], tolerance: float) -> float:
    """Share of the step at which the last contact closes; 1 if none penetrates by more than the tolerance."""
    last = 0.0
    for j in np.flatnonzero((now.gap > 0.0) & ~bilateral & (np.minimum(mid.gap, end.gap) < -tolerance)):
        a, b, c = now.gap[j], mid.gap[j], end.gap[j]
        aim = -0.5 * tolerance  # slightly closed, so that the contact is active
        share = 0.5 * (a - aim) / (a - b) if b <= aim else 0.5 + 0.5 * (b - aim) / (b - c)
        last = max(last, share)
    return last if last > 0.0 else 1.0


def integrate_controlled(
    system: System,
    t: float,
    q: ArrayLike,
    u: ArrayLike,
    end: float,
    tolerance: float,
    dt_min: float,
    dt_max: float,
    law: ImpactLaw = newton_law,
) -> Trajectory:
    """Integrate from `t` to `end` [s] with step-size and gap control.

    Parameters
    ----------
    system : System
        Equations of motion and contacts.
    t, q, u : float, array_like of shapes (n_q,) and (n,)
        Start.
    end : float
        End [s].
    tolerance : float
        Error of a step in any coordinate, and penetration that passes for just closed; one number for coordinates of
        all units, so that they should be of like size [m, rad].
    dt_min, dt_max : float
        Bounds of the step [s]. Only the last step may be shorter than dt_min.
    law : callable
        Impact law.

    Raises
    ------
    InputError
        If shapes, coefficients or bounds are wrong.
    ConvergenceError
        If the error at dt_min exceeds the tolerance, or a contact problem is not solved.
    """
    if not (end > t and tolerance > 0.0 and 0.0 < dt_min <= dt_max):
        values = (t, end, tolerance, dt_min, dt_max)
        raise InputError("time stepping", "t, end, tolerance, dt_min, dt_max", values, "t < end, 0 < dt_min <= dt_max")
    now = _first(system, t, q, u)
    done = [now]
    allowed, rejected = dt_max, 0
    while now.t < end:
        left = end - now.t
        # Of a rest just above the step two halves are made, rather than a step and a sliver.
        dt = left if allowed >= left else min(allowed, max(0.5 * left, dt_min))
        shortened = False
        while True:
            mid, fine = _halves(system, now, dt, law)
            if dt > dt_min:
                share = _closing(now, mid, fine, system.law.bilateral, tolerance)
                if share * dt < dt * (1.0 - 1e-9):
                    dt = max(share * dt, dt_min)
                    shortened = True
                    rejected += 1
                    continue
            coarse = half_explicit_step(system, now.t, now.q, now.u, dt, now.impulse, law)
            error = max(np.abs(coarse.q - fine.q).max(), dt * np.abs(coarse.u - fine.u).max()) / tolerance
            if error <= 1.0:
                break
            if dt <= dt_min:
                raise ConvergenceError(
                    f"time stepping: at t = {now.t:.6g} s the error is {error:.1e} times the tolerance at dt_min = "
                    f"{dt_min:.1e} s: lower dt_min or raise the tolerance"
                )
            dt = max(dt * max(0.2, 0.9 / np.sqrt(error)), dt_min)
            allowed, shortened = dt, False
            rejected += 1
        grown = dt * min(2.0, 0.9 / np.sqrt(max(error, 1e-12)))
        allowed = min(max(grown, allowed if shortened else 0.0, dt_min), dt_max)
        now = fine if dt < left else replace(fine, t=end)
        done.append(now)
    return _trajectory(done, rejected)
