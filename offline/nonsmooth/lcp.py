"""Linear complementarity problems by iteration on their proximal form.

    w = A z + b,    0 <= w _|_ z >= 0                                   Cebulla 2014, eqs. (5.25), (5.33a)
    z_i = prox(z_i - r_i w_i),  r_i > 0                                 eq. (5.33b)

In a Maxwell contact ``A`` is the influence matrix, ``b`` the rigid gaps, ``z`` the forces and ``w`` the elastic gaps.

Fixed point, eqs. (5.38)-(5.42). The source iterates on (w, z) together, so that z meets the w of the sweep before;
on a symmetric matrix this is stable for r mu_max < 1. With w eliminated, as here, the same sweep is stable for
r mu_max < 2. Factors with a proof (`relaxation`):

- A symmetric, r_i = 1 / sum_j |A_ij|: diag(1/r) - A is diagonally dominant, hence positive semi-definite, so that
  every sweep lowers z'Az/2 + b'z, and every limit is a solution (Mangasarian 1977);
- A with positive diagonal and rho(|I - D^-1 A|) < 1, r_i = 1 / A_ii: a contraction in a weighted maximum norm;
- (A + A')/2 positive definite with smallest eigenvalue mu, L = ||A||_2, r = mu / L^2: a contraction in the
  Euclidean norm, by at least sqrt(1 - mu^2 / L^2).

Newton, eqs. (5.44)-(5.48). A step solves A_KK z_K = -b_K on the rows K with z_i - r w_i > 0. After it every row has
z_i = 0 or w_i = 0, so the next K depends on signs only and r drops out: prox Newton is a method of active sets. Alone
it can cycle. Four measures, in this order:

- once the number of rows of wrong sign has not fallen for some steps, single rows are exchanged, the last one first
  (Murty 1974; Judice and Pires 1994): finite for every P-matrix, but perhaps long;
- if A_KK is singular, or `STEPS_BEFORE_PROXIMAL` steps
  were not enough: steps of the proximal point method, with A z+ + b + eps (z+ - z)
  in place of A z + b and falling eps. They converge for every solvable problem with positive semi-definite A
  (Rockafellar 1976). Once K stays, the least change of z_K that gives w_K = 0 ends them exactly;
- if that fails too (A is not semi-definite) and A is symmetric: sweeps of the fixed point, which descend, until their
  rows with z_i - r w_i > 0 are the set K of a solution; one system ends them exactly;
- else single rows again, up to the limit.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtcvt.errors import InputError
from rtcvt.offline.nonsmooth.compiled import compiled
from rtcvt.offline.nonsmooth.proximal import prox_unilateral

STEPS_BEFORE_PROXIMAL = 50  # steps after which Newton continues with an easier problem
MAX_SWEEPS = 10_000  # largest number of the fixed point's sweeps before Newton starts


class ConvergenceError(RuntimeError):
    """An iteration ended before its tolerance; the message has the residual and the remedy."""


@dataclass(frozen=True)
class LcpSolution:
    """Outcome of a solver.

    Attributes
    ----------
    z, w : ndarray, shape (n,)
        Solution. With status "ray": the last point of Lemke's path, and ``A z + b`` there; not a solution.
    status : {"solved", "ray"}
        "ray": the path ended in a ray. If A is copositive-plus, e.g. positive semi-definite, then no
        ``z >= 0`` with ``A z + b >= 0`` exists.
    iterations : int
        Pivots of Lemke, sweeps of the fixed point, linear systems of Newton.
    residual : float
        See `residual`.
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    status: Literal["solved", "ray"]
    iterations: int
    residual: float


def problem(A: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Data of a problem as contiguous float64 arrays of shape (n, n) and (n,).

    Raises
    ------
    InputError
        If shapes do not fit or a value is not finite.
    """
    A = np.ascontiguousarray(A, dtype=np.float64)
    b = np.ascontiguousarray(b, dtype=np.float64)
    if b.ndim != 1 or A.shape != (b.size, b.size):
        raise InputError("complementarity problem", "shape of A", A.shape, f"({b.size}, {b.size}) to fit b {b.shape}")
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise InputError("complementarity problem", "A, b", None, "every value must be finite")
    return A, b


def residual(A: NDArray[np.float64], b: NDArray[np.float64], z: NDArray[np.float64]) -> float:
    """Largest ``|w_i - prox(w_i - a z_i)| = |min(w_i, a z_i)|`` with ``a = max |A|``, over ``max |b|``; 0 if solved.

    The measure has no unit, and scaling A, b or z leaves it as it is.
    """
    if b.size == 0:
        return 0.0
    a, scale = float(np.abs(A).max()) or 1.0, float(np.abs(b).max()) or 1.0
    return float(np.abs(np.minimum(A @ z + b, a * z)).max()) / scale


def relaxation(A: ArrayLike) -> NDArray[np.float64]:
    """Factors r of the fixed point, shape (n,), for which convergence is proven (see above).

    Raises
    ------
    InputError
        If A is in none of the three classes.
    """
    A = np.asarray(A, dtype=np.float64)
    n = len(A)
    rows = np.abs(A).sum(axis=1)
    if np.abs(A - A.T).max(initial=0.0) <= 1e-14 * rows.max(initial=0.0):
        return 1.0 / np.where(rows > 0.0, rows, 1.0)
    diagonal = np.diag(A)
    if (diagonal > 0.0).all():
        jacobi = np.abs(np.eye(n) - A / diagonal[:, None])
        if np.abs(np.linalg.eigvals(jacobi)).max() < 1.0 - 1e-9:
            return 1.0 / diagonal
    mu = np.linalg.eigvalsh(0.5 * (A + A.T))[0]
    if mu <= 1e-12 * rows.max():
        allowed = (
            "symmetric, dominated by a positive diagonal, or with positive definite symmetric part; else use lemke"
        )
        raise InputError("fixed point", "A", None, allowed)
    return np.full(n, mu / np.linalg.norm(A, 2) ** 2)


@compiled
def _sweeps(A, b, r, z, w, tolerance, limit):
    """Sweeps on z in place until the residual, relative to max |b|, is met; returns their number."""
    n = b.size
    a = 0.0
    scale = 0.0
    for i in range(n):
        scale = max(scale, abs(b[i]))
        for j in range(n):
            a = max(a, abs(A[i, j]))
    if scale == 0.0:
        scale = 1.0
    if a == 0.0:
        a = 1.0
    for sweep in range(limit + 1):
        error = 0.0
        for i in range(n):
            s = b[i]
            for j in range(n):
                s += A[i, j] * z[j]
            w[i] = s
            e = abs(min(s, a * z[i]))
            if not e <= error:
                error = e
        if error <= tolerance * scale or not error < np.inf:
            return sweep
        if sweep < limit:
            for i in range(n):
                z[i] = prox_unilateral(z[i] - r[i] * w[i])
    return limit


def fixed_point(
    A: ArrayLike,
    b: ArrayLike,
    r: ArrayLike | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-10,
    limit: int = 1_000_000,
) -> LcpSolution:
    """Solve ``0 <= A z + b _|_ z >= 0`` by the fixed point ``z <- prox(z - r (A z + b))``, eqs. (5.38)-(5.42).

    Parameters
    ----------
    A, b : array_like, shapes (n, n) and (n,)
        Problem.
    r : array_like, shape (n,), optional
        Positive factor of each row; `relaxation` of A if absent.
    start : array_like, shape (n,), optional
        First z; eq. (5.42), ``-b_i n / tr(A)`` where b_i < 0, if absent.
    tolerance : float
        Residual to reach, see `residual`.
    limit : int
        Most sweeps.

    Raises
    ------
    InputError
        If shapes do not fit, or no factor r is known to converge.
    ConvergenceError
        If the tolerance is not reached, as when the problem has no solution.

    Notes
    -----
    The number of sweeps grows in proportion to the condition number of A.
    """
    A, b = problem(A, b)
    factors = relaxation(A) if r is None else np.ascontiguousarray(r, dtype=np.float64)
    if factors.shape != b.shape or not (factors > 0.0).all():
        raise InputError("fixed point", "r", None, f"{b.size} positive numbers")
    trace = float(np.trace(A))
    if start is not None:
        z = np.maximum(np.asarray(start, dtype=np.float64), 0.0)
        if z.shape != b.shape:
            raise InputError("fixed point", "shape of start", z.shape, f"({b.size},)")
    elif trace > 0.0:
        z = np.maximum(-b, 0.0) * b.size / trace
    else:
        z = np.zeros_like(b)
    w = np.empty_like(b)
    sweeps = _sweeps(A, b, factors, z, w, tolerance, limit)
    error = residual(A, b, z)
    if not error <= 1.01 * tolerance:
        raise ConvergenceError(
            f"fixed point: residual {error:.1e} after {sweeps} sweeps, wanted {tolerance:.1e}: "
            "raise limit or tolerance, or use newton or lemke (which decides whether a solution exists)"
        )
    return LcpSolution(z, w, "solved", sweeps, error)


def _active_set(A, b, active, limit):
    """Steps of Newton from the set `active` (changed in place).

    Returns z and the number of linear systems; z is None if a system is singular or the limit is reached.
    """
    n = b.size
    small = 1e-13
    a = float(np.abs(A).max()) or 1.0
    best, patience = n + 1, 5
    for step in range(1, limit + 1):
        z = np.zeros(n)
        K = np.flatnonzero(active)
        if K.size:
            block = A[np.ix_(K, K)]
            try:
                z[K] = np.linalg.solve(block, -b[K])
            except np.linalg.LinAlgError:
                return None, step
            # Beyond this growth the system is singular in double precision.
            if not np.abs(block).max() * np.abs(z[K]).max() * small <= np.abs(b[K]).max() * 1e-2:
                return None, step
        w = A @ z + b
        w[K] = 0.0
        level = small * (a * np.abs(z).max() + np.abs(b).max())
        wrong = np.where(active, z < -level / a, w < -level)
        count = int(np.count_nonzero(wrong))
        if count == 0:
            return np.maximum(z, 0.0), step
        if count < best:
            best, patience = count, 5
        elif patience > 0:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        active ^= wrong
    return None, limit


def _proximal_point(A, b, tolerance, limit):
    """Steps of the proximal point method; returns the last z, its residual and the number of linear systems."""
    a = float(np.abs(A).max()) or 1.0
    eps, steps, error = a, 0, np.inf
    z, active = np.zeros_like(b), b < 0.0
    while steps < limit and np.abs(z).max() * a < 1e8 * np.abs(b).max():
        before = active.copy()
        z_next, more = _active_set(
            A + eps * np.eye(b.size), b - eps * z, active, min(STEPS_BEFORE_PROXIMAL, limit - steps)
        )
        steps += more
        if z_next is None:
            if eps >= a:
                break
            eps, active = min(10.0 * eps, a), before
            continue
        z, eps = z_next, max(0.3 * eps, 1e-6 * a)
        error = residual(A, b, z)
        if error > tolerance and (active == before).all():
            K = np.flatnonzero(active)
            polished = z.copy()
            polished[K] -= np.linalg.lstsq(A[np.ix_(K, K)], (A @ z + b)[K], rcond=1e-12)[0]
            polished = np.maximum(polished, 0.0)
            steps += 1
            if residual(A, b, polished) <= tolerance:
                z, error = polished, residual(A, b, polished)
        if error <= tolerance:
            break
    return z, error, steps


def _after_descent(A, b, tolerance, limit):
    """Newton from where sweeps of the fixed point lead; returns z or None, its residual and the number of systems."""
    r, steps = relaxation(A), 0
    z, w = np.maximum(-b, 0.0) * r, np.empty_like(b)
    for coarse in (1e-3, 1e-6):
        _sweeps(A, b, r, z, w, coarse, MAX_SWEEPS)
        found, more = _active_set(A, b, z - r * (A @ z + b) > 0.0, min(STEPS_BEFORE_PROXIMAL, limit - steps))
        steps += more
        error = np.inf if found is None else residual(A, b, found)
        if error <= tolerance or steps >= limit:
            break
    return found, error, steps


def newton(
    A: ArrayLike, b: ArrayLike, start: ArrayLike | None = None, tolerance: float = 1e-10, limit: int = 10_000
) -> LcpSolution:
    """Solve ``0 <= A z + b _|_ z >= 0`` by the non-smooth Newton method in proximal form, eqs. (5.44)-(5.48).

    Parameters
    ----------
    A, b : array_like, shapes (n, n) and (n,)
        Problem. Finite for P-matrices; positive semi-definite and strictly copositive A converges if a solution exists.
    start : array_like, shape (n,), optional
        Guess of z, of which only the signs count; eq. (5.42), i.e. the rows with b_i < 0, if absent.
    tolerance : float
        Residual to reach, see `residual`.
    limit : int
        Most linear systems.

    Raises
    ------
    InputError
        If shapes do not fit.
    ConvergenceError
        If the tolerance is not reached, as when the problem has no solution.
    """
    A, b = problem(A, b)
    if start is None:
        active = b < 0.0
    else:
        active = np.asarray(start) > 0.0
        if active.shape != b.shape:
            raise InputError("newton", "shape of start", active.shape, f"({b.size},)")
    if not active.any() and (b >= 0.0).all():
        return LcpSolution(np.zeros_like(b), b.copy(), "solved", 0, 0.0)
    z, steps = _active_set(A, b, active, min(STEPS_BEFORE_PROXIMAL, limit))
    error = np.inf if z is None else residual(A, b, z)
    if error > tolerance and steps < limit:
        z, error, more = _proximal_point(A, b, tolerance, limit - steps)
        steps += more
    if error > tolerance and steps < limit and (A == A.T).all():
        z, error, more = _after_descent(A, b, tolerance, limit - steps)
        steps += more
    if error > tolerance and steps < limit:
        z, more = _active_set(A, b, b < 0.0, limit - steps)
        steps += more
        error = np.inf if z is None else residual(A, b, z)
    if z is not None and error <= tolerance:
        return LcpSolution(z, A @ z + b, "solved", steps, error)
    raise ConvergenceError(
        f"newton: residual {error:.1e} after {steps} linear systems, wanted {tolerance:.1e}: "
        "A is neither a P-matrix nor positive semi-definite, or no solution exists; use lemke, which decides it"
    )
