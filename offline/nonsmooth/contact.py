"""The contact problem of one instant: impulses of all closed contacts under unilateral, bilateral and Coulomb laws.

    gamma = G L + c,   G = W' M^-1 W
    L_N = prox_[lower, inf)(L_N - r_N gamma_N)                          Cebulla 2014, eqs. (2.36b), (2.37b)
    L_T = prox_disc(mu |L_N|)(L_T - r_T gamma_T)                        eq. (2.38b)

``lower`` is 0 for a unilateral contact, minus infinity for a bilateral one, and positive in the expansion phase of
Poisson's impact law. Each contact has one normal row and d = 0, 1 or 2 tangential rows (frictionless, planar,
spatial), normal row first: row ``k (1 + d)`` is the normal of contact k.

Fixed point: Gauss-Seidel over the contacts with ``r_N = 1 / G_NN`` and ``r_T = 1 / max eig G_TT`` of the contact's own
block. Without friction it converges for every solvable problem, since G is symmetric positive semi-definite (Luo and
Tseng 1992). With friction it is a contraction for small mu only; in practice it converges far beyond.

Sparse matrices. In a chain of bodies a contact acts on its neighbours only. `Rows` stores the non-zero entries of each
row of G, or all of a dense one. Newton's systems of a chain are banded (`newton_rows`), also of a closed one: contacts
are numbered from one place alternately in the two directions, 0, n - 1, 1, n - 2, ... They are solved without exchange
of rows, since J differs from a positive definite matrix only by terms of slipping contacts,
of the order mu.

Newton: generalised Jacobian of ``L - prox(L - r gamma)``, as in eqs. (5.45)-(5.48), and with friction as in Alart and
Curnier 1991. A step that does not lower the residual is replaced by sweeps of the fixed point. Where contacts are
redundant G is singular and the impulses are not unique; the step of least norm is used then.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtcvt.errors import InputError
from rtcvt.offline.nonsmooth.compiled import compiled
from rtcvt.offline.nonsmooth.lcp import ConvergenceError
from rtcvt.offline.nonsmooth.proximal import prox_disc, prox_lower, prox_segment

Array = NDArray[np.float64]


class Rows(NamedTuple):
    """A sparse matrix G, m = k (1 + d) rows: of row i the first ``entries[i]`` of ``value[i]`` (m, w), in the columns
    ``column[i]`` (m, w). The first 1 + d are the contact's own; all rows of a contact have the same columns."""

    entries: NDArray[np.int64]
    column: NDArray[np.int64]
    value: Array


class Work(NamedTuple):
    """Scratch of `newton_rows` for at most m rows of w entries and a band of h to each side: r (m, 2), J (m, w), band
    (m, 2 h + 1), F, trial (m,)."""

    r: Array
    J: Array
    band: Array
    F: Array
    trial: Array


def work(m: int, w: int, h: int) -> Work:
    """Scratch of `newton_rows`."""
    return Work(np.zeros((m, 2)), np.zeros((m, w)), np.zeros((m, 2 * h + 1)), np.zeros(m), np.zeros(m))


def dense_rows(G: Array, d: int) -> Rows:
    """A dense matrix as `Rows`."""
    m = len(G)
    own = np.arange(m) // (1 + d) * (1 + d)
    column = (own[:, None] + np.arange(m)) % m
    return Rows(np.full(m, m), column, np.take_along_axis(G, column, axis=1))


@dataclass(frozen=True)
class ContactProblem:
    """One contact problem with k contacts of d tangential directions each, m = k (1 + d) rows.

    Attributes
    ----------
    G : ndarray, shape (m, m)
        Symmetric positive semi-definite ``W' M^-1 W`` [1/kg].
    c : ndarray, shape (m,)
        Relative velocity without impulses [m/s].
    mu : ndarray, shape (k,)
        Coefficient of friction.
    lower : ndarray, shape (k,)
        Least normal impulse, minus infinity for a bilateral contact [N s].
    d : int
        Tangential directions.
    speed : float
        Velocity that residuals are relative to [m/s].
    """

    G: Array
    c: Array
    mu: Array
    lower: Array
    d: int
    speed: float


@dataclass(frozen=True)
class ContactSolution:
    """Impulses [N s] and relative velocities [m/s], both of shape (m,), with the quality of the solution.

    `residual` is the largest ``|L - prox(L - r gamma)| / r``, a velocity, over the `speed` of the problem; `iterations`
    counts sweeps of the fixed point, or steps of Newton.
    """

    L: Array
    gamma: Array
    iterations: int
    residual: float


def contact_problem(
    G: ArrayLike, c: ArrayLike, mu: ArrayLike, lower: ArrayLike, speed: float | None = None
) -> ContactProblem:
    """Check the data of a contact problem; d follows from the sizes of `c` and `mu`.

    `speed` is the velocity that residuals are relative to, the largest ``|c|`` if absent. Name it where c may be the
    rounding error of larger velocities.

    Raises
    ------
    InputError
        If shapes do not fit, a value is not finite or a coefficient of friction is negative.
    """
    G, c, mu, lower = (np.ascontiguousarray(x, dtype=np.float64) for x in (G, c, mu, lower))
    d = c.size // max(mu.size, 1) - 1 if mu.size else 0
    if c.ndim != 1 or c.size != mu.size * (1 + d) or d not in (0, 1, 2) or lower.shape != mu.shape:
        raise InputError("contact problem", "shapes", (c.shape, mu.shape, lower.shape), "c: k (1 + d); mu, lower: k")
    if G.shape != (c.size, c.size):
        raise InputError("contact problem", "shape of G", G.shape, f"({c.size}, {c.size}) to fit c")
    if not (np.isfinite(G).all() and np.isfinite(c).all() and (lower < np.inf).all()):
        raise InputError("contact problem", "G, c, lower", None, "must be finite (lower may be minus infinity)")
    if not ((mu >= 0.0) & (mu < np.inf)).all():
        raise InputError("contact problem", "mu", mu, "must be finite and not negative")
    speed = float(np.abs(c).max(initial=0.0)) if speed is None else speed
    return ContactProblem(G, c, mu, lower, d, speed or 1.0)


@compiled
def _factors(G, d, r):
    """Factors r_N and r_T of each contact into r of shape (k, 2); 1 / max |G| where a block is zero."""
    largest = 0.0
    for k in range(r.shape[0]):
        i = k * (1 + d)
        for b in range(1 + d):
            largest = max(largest, G.value[i + b, b])
    if largest == 0.0:
        largest = 1.0
    for k in range(r.shape[0]):
        i = k * (1 + d)
        normal = G.value[i, 0]
        tangential = 0.0
        if d == 1:
            tangential = G.value[i + 1, 1]
        elif d == 2:
            a, e = G.value[i + 1, 1], G.value[i + 2, 2]
            b = G.value[i + 1, 2]
            tangential = 0.5 * (a + e) + np.hypot(0.5 * (a - e), b)
        r[k, 0] = 1.0 / (normal if normal > 1e-14 * largest else largest)
        r[k, 1] = 1.0 / (tangential if tangential > 1e-14 * largest else largest)


@compiled
def _row(G, c, L, i):
    s = c[i]
    for a in range(G.entries[i]):
        s += G.value[i, a] * L[G.column[i, a]]
    return s


@compiled
def _error(G, c, mu, lower, d, r, L):
    """Largest ``|L - prox(L - r gamma)| / r`` [m/s]."""
    worst = 0.0
    for k in range(mu.size):
        i = k * (1 + d)
        e = abs(L[i] - prox_lower(L[i] - r[k, 0] * _row(G, c, L, i), lower[k])) / r[k, 0]
        radius = mu[k] * abs(L[i])
        if d == 1:
            f = L[i + 1] - prox_segment(L[i + 1] - r[k, 1] * _row(G, c, L, i + 1), radius)
            e = max(e, abs(f) / r[k, 1])
        elif d == 2:
            x_1 = L[i + 1] - r[k, 1] * _row(G, c, L, i + 1)
            x_2 = L[i + 2] - r[k, 1] * _row(G, c, L, i + 2)
            y_1, y_2 = prox_disc(x_1, x_2, radius)
            e = max(e, np.hypot(L[i + 1] - y_1, L[i + 2] - y_2) / r[k, 1])
        if not e <= worst:
            worst = e
    return worst


@compiled
def _sweep(G, c, mu, lower, d, r, L):
    """One Gauss-Seidel sweep over the contacts, in place."""
    for k in range(mu.size):
        i = k * (1 + d)
        L[i] = prox_lower(L[i] - r[k, 0] * _row(G, c, L, i), lower[k])
        radius = mu[k] * abs(L[i])
        if d == 1:
            L[i + 1] = prox_segment(L[i + 1] - r[k, 1] * _row(G, c, L, i + 1), radius)
        elif d == 2:
            x_1 = L[i + 1] - r[k, 1] * _row(G, c, L, i + 1)
            x_2 = L[i + 2] - r[k, 1] * _row(G, c, L, i + 2)
            L[i + 1], L[i + 2] = prox_disc(x_1, x_2, radius)


@compiled
def _sweeps(G, c, mu, lower, d, r, L, level, limit):
    """Sweeps until the error [m/s] is at most `level`; returns their number and the error."""
    error = _error(G, c, mu, lower, d, r, L)
    for sweep in range(limit):
        if error <= level or not error < np.inf:
            return sweep, error
        _sweep(G, c, mu, lower, d, r, L)
        error = _error(G, c, mu, lower, d, r, L)
    return limit, error


@compiled
def _linearised(G, c, mu, lower, d, r, L, J, F):
    """Generalised Jacobian J and value F of ``L - prox(L - r gamma)``; J, with the columns of G, is zero on entry."""
    for k in range(mu.size):
        i = k * (1 + d)
        gamma = _row(G, c, L, i)
        if L[i] - r[k, 0] * gamma > lower[k]:
            F[i] = r[k, 0] * gamma
            for j in range(G.entries[i]):
                J[i, j] = r[k, 0] * G.value[i, j]
        else:
            F[i] = L[i] - lower[k]
            J[i, 0] = 1.0
        if d == 0:
            continue
        radius = mu[k] * abs(L[i])
        slope = mu[k] if L[i] >= 0.0 else -mu[k]
        g_1 = _row(G, c, L, i + 1)
        g_2 = _row(G, c, L, i + 2) if d == 2 else 0.0
        x_1 = L[i + 1] - r[k, 1] * g_1
        x_2 = L[i + 2] - r[k, 1] * g_2 if d == 2 else 0.0
        length = np.hypot(x_1, x_2)
        if length <= radius and radius > 0.0:
            for a in range(1, 1 + d):
                F[i + a] = r[k, 1] * (g_1 if a == 1 else g_2)
                for j in range(G.entries[i]):
                    J[i + a, j] = r[k, 1] * G.value[i + a, j]
            continue
        n_1 = x_1 / length if length > 0.0 else 0.0
        n_2 = x_2 / length if length > 0.0 else 0.0
        F[i + 1] = L[i + 1] - radius * n_1
        J[i + 1, 1] = 1.0
        J[i + 1, 0] = -slope * n_1
        if d == 2:
            F[i + 2] = L[i + 2] - radius * n_2
            J[i + 2, 2] = 1.0
            J[i + 2, 0] = -slope * n_2
            # The derivative of x / |x| is the projector across x, over |x|.
            share = radius / length if length > 0.0 else 0.0
            for j in range(G.entries[i]):
                at = G.column[i, j]
                dx_1 = (1.0 if at == i + 1 else 0.0) - r[k, 1] * G.value[i + 1, j]
                dx_2 = (1.0 if at == i + 2 else 0.0) - r[k, 1] * G.value[i + 2, j]
                along = n_1 * dx_1 + n_2 * dx_2
                J[i + 1, j] -= share * (dx_1 - n_1 * along)
                J[i + 2, j] -= share * (dx_2 - n_2 * along)


@compiled
def _folded(i, m, d):
    """Row `i` of m when contacts count from one place of a closed chain in both directions in turn."""
    n = m // (1 + d)
    k = i // (1 + d)
    return (2 * k if 2 * k < n else 2 * (n - 1 - k) + 1) * (1 + d) + i % (1 + d)


@compiled
def _half_width(G, m, d):
    """Half the width of the folded band."""
    most = 0
    for i in range(m):
        here = _folded(i, m, d)
        for a in range(G.entries[i]):
            most = max(most, abs(here - _folded(G.column[i, a], m, d)))
    return most


@compiled
def _solve_band(G, J, F, d, h, band, y):
    """Replace y by ``J^-1 F``, J (m, w) with the columns of G, without exchange of rows; whether it could be done."""
    m = F.size
    for i in range(m):
        row = _folded(i, m, d)
        for a in range(2 * h + 1):
            band[row, a] = 0.0
        for a in range(G.entries[i]):
            band[row, _folded(G.column[i, a], m, d) - row + h] = J[i, a]
        y[row] = F[i]
    for p in range(m):
        pivot = band[p, h]
        if not abs(pivot) > 1e-12:  # rows are of the order 1
            return False
        for q in range(p + 1, min(p + h + 1, m)):
            share = band[q, p - q + h] / pivot
            if share != 0.0:
                o = p - q + h
                for a in range(1, h + 1):
                    band[q, o + a] -= share * band[p, h + a]
                y[q] -= share * y[p]
    for p in range(m - 1, -1, -1):
        t = y[p]
        for a in range(1, min(h, m - 1 - p) + 1):
            t -= band[p, h + a] * y[p + a]
        y[p] = t / band[p, h]
    for i in range(m):
        F[i] = y[_folded(i, m, d)]
    for i in range(m):
        y[i] = F[i]
    return True


@compiled
def newton_rows(G, c, mu, lower, d, L, level, limit, w):
    """`newton` for a sparse matrix, within other kernels: no checks, no allocation.

    Parameters
    ----------
    G : Rows
    c, L : ndarray, shape (m,)
        Relative velocities without impulses [m/s], impulses [N s]: a guess, replaced.
    mu, lower : ndarray, shape (k,)
        See `ContactProblem`.
    d : int
    level : float
        Error to reach, the largest ``|L - prox(L - r gamma)| / r`` [m/s].
    limit : int
        Most steps.
    w : Work
        Scratch for these sizes.

    Returns
    -------
    float, int, float
        Error of the guess, steps, and the error that is left.
    """
    m = L.size
    r, F, trial = w.r[: mu.size], w.F[:m], w.trial[:m]
    _factors(G, d, r)
    for k in range(mu.size):
        i = k * (1 + d)
        L[i] = prox_lower(L[i], lower[k])
    error = _error(G, c, mu, lower, d, r, L)
    first = error
    h = _half_width(G, m, d)
    steps = 0
    while not error <= level and steps < limit and error < np.inf:
        steps += 1
        for i in range(m):
            for a in range(G.entries[i]):
                w.J[i, a] = 0.0
        _linearised(G, c, mu, lower, d, r, L, w.J, F)
        accepted = 2 * h + 1 <= w.band.shape[1] and _solve_band(G, w.J, F, d, h, w.band, trial)
        if accepted:
            for i in range(m):
                trial[i] = L[i] - trial[i]
            for k in range(mu.size):
                i = k * (1 + d)
                trial[i] = prox_lower(trial[i], lower[k])
            found = _error(G, c, mu, lower, d, r, trial)
            accepted = found < 0.9 * error
            if accepted:
                error = found
                for i in range(m):
                    L[i] = trial[i]
        if not accepted:
            _, error = _sweeps(G, c, mu, lower, d, r, L, level, 50)
    return first, steps, error


def _start(problem: ContactProblem, start: ArrayLike | None) -> tuple[Array, tuple[Any, ...]]:
    """First impulses, and the arguments of the kernels with factors r of shape (k, 2)."""
    r, G = np.empty((problem.mu.size, 2)), dense_rows(problem.G, problem.d)
    _factors(G, problem.d, r)
    L = np.zeros(problem.c.size) if start is None else np.array(start, dtype=np.float64)
    if L.shape != problem.c.shape:
        raise InputError("contact problem", "shape of start", L.shape, f"({problem.c.size},)")
    normal = slice(None, None, 1 + problem.d)
    L[normal] = np.maximum(L[normal], problem.lower)
    return L, (G, problem.c, problem.mu, problem.lower, problem.d, r)


def fixed_point(
    problem: ContactProblem, start: ArrayLike | None = None, tolerance: float = 1e-10, limit: int = 100_000
) -> ContactSolution:
    """Solve a contact problem by Gauss-Seidel sweeps of the proximal form.

    Parameters
    ----------
    problem : ContactProblem
        See `contact_problem`.
    start : array_like, shape (m,), optional
        First impulses, e.g. those of the step before; zero if absent [N s].
    tolerance : float
        Residual to reach, see `ContactSolution`.
    limit : int
        Most sweeps.

    Raises
    ------
    ConvergenceError
        If the tolerance is not reached.
    """
    p = problem
    L, data = _start(p, start)
    sweeps, error = _sweeps(*data, L, tolerance * p.speed, limit)
    if not error <= tolerance * p.speed:
        raise ConvergenceError(
            f"contact fixed point: residual {error / p.speed:.1e} after {sweeps} sweeps, wanted {tolerance:.1e}: "
            "use newton, raise limit or tolerance, or check that the constraints can be met and mu is not too large"
        )
    return ContactSolution(L, p.G @ L + p.c, sweeps, error / p.speed)


def newton(
    problem: ContactProblem, start: ArrayLike | None = None, tolerance: float = 1e-10, limit: int = 1000
) -> ContactSolution:
    """Solve a contact problem by the non-smooth Newton method, with sweeps of the fixed point where a step fails.

    Parameters, as in `fixed_point`; `limit` counts steps, of which one that fails costs 50 sweeps.

    Raises
    ------
    ConvergenceError
        If the tolerance is not reached.
    """
    p = problem
    L, data = _start(p, start)
    entries, J, F = np.empty_like(p.G), np.empty_like(p.G), np.empty_like(L)
    normal = slice(None, None, 1 + p.d)
    error = _error(*data, L)
    steps = 0
    while not error <= tolerance * p.speed and steps < limit and error < np.inf:
        steps += 1
        entries[:] = 0.0
        _linearised(*data, L, entries, F)
        np.put_along_axis(J, data[0].column, entries, axis=1)
        accepted = False
        for solve in (np.linalg.solve, _least):
            try:
                candidate = L - solve(J, F)
            except np.linalg.LinAlgError:
                continue
            candidate[normal] = np.maximum(candidate[normal], p.lower)
            candidate_error = _error(*data, candidate)
            if candidate_error < 0.9 * error:
                L, error, accepted = candidate, candidate_error, True
                break
        if not accepted:
            _, error = _sweeps(*data, L, tolerance * p.speed, 50)
    if not error <= tolerance * p.speed:
        raise ConvergenceError(
            f"contact newton: residual {error / p.speed:.1e} after {steps} steps, wanted {tolerance:.1e}: "
            "raise limit or tolerance, or check that the constraints can be met and mu is not too large"
        )
    return ContactSolution(L, p.G @ L + p.c, steps, error / p.speed)


def _least(J: Array, F: Array) -> Array:
    """Least-squares solution of least norm, for a singular J."""
    return np.asarray(np.linalg.lstsq(J, F, rcond=1e-11)[0], dtype=np.float64)
