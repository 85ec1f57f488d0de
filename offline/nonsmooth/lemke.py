"""Lemke's algorithm: linear complementarity problems by pivoting, exact after finitely many steps.

    w = A z + b,    0 <= w _|_ z >= 0                                   Cebulla 2014, eq. (5.25)
    w = A z + d z_0 + b,  d = (1, ..., 1)'                              eq. (5.31)

The path starts at the z_0 that makes every w non-negative. Each pivot lets the complement of the variable that left
the basis enter it, until z_0 leaves (solved) or nothing blocks the entering variable (a ray). If A is
copositive-plus, e.g. positive semi-definite, a ray means that no z >= 0 has A z + b >= 0; a strictly copositive
matrix or a P-matrix never ends in a ray (Cottle, Pang and Stone 1992, section 4.4).

Ties, eq. (5.32). The tableau ``[B^-1 b | B^-1]`` keeps its rows lexicographically positive: of the rows that tie in
the ratio of the first column, the one with the lexicographically smallest row of ``B^-1``, divided by the pivot,
leaves. No basis then repeats. If z_0 is among the rows that tie it leaves, since that ends the path. For ties the
source refers to Yamane and Nakamura 2008; the rule here is the one of Cottle, Pang and Stone 1992, section 4.9.

Accuracy. The tableau serves to find the final basis only. z is then solved from ``A_KK z_K = -b_K``.
"""

import numpy as np
from numpy.typing import ArrayLike

from rtcvt.offline.nonsmooth.compiled import compiled
from rtcvt.offline.nonsmooth.lcp import ConvergenceError, LcpSolution, problem, residual

_SOLVED, _RAY, _LIMIT = 0, 1, 2


@compiled
def _exchange(T, row, column):
    """Make `column` a unit vector with its one in `row`."""
    n, m = T.shape
    pivot = T[row, column]
    for j in range(m):
        T[row, j] /= pivot
    for i in range(n):
        factor = T[i, column]
        if i != row and factor != 0.0:
            for j in range(m):
                T[i, j] -= factor * T[row, j]
            T[i, column] = 0.0


@compiled
def _leaving(T, basis, column, tie):
    """Row that leaves the basis when `column` enters it; -1 if none blocks."""
    n = T.shape[0]
    rhs = 2 * n + 1
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(T[i, column]))
    least = np.inf
    for i in range(n):
        if T[i, column] > tie * largest:
            least = min(least, max(T[i, rhs], 0.0) / T[i, column])
    if least == np.inf:
        return -1
    chosen = -1
    for i in range(n):
        pivot = T[i, column]
        if pivot <= tie * largest or max(T[i, rhs], 0.0) / pivot > least + tie * (1.0 + least):
            continue
        if basis[i] == 2 * n:
            return i
        if chosen < 0:
            chosen = i
            continue
        for j in range(n):
            difference = T[i, j] / pivot - T[chosen, j] / T[chosen, column]
            if abs(difference) > tie * (1.0 + abs(T[i, j] / pivot)):
                if difference < 0.0:
                    chosen = i
                break
    return chosen


@compiled
def _path(T, basis, limit):
    """Follow the path on the tableau ``[I | -A | -d | b]``; returns status and number of pivots.

    Columns 0..n-1 belong to w, n..2n-1 to z, 2n to z_0, 2n + 1 is the right-hand side.
    """
    n = T.shape[0]
    rhs = 2 * n + 1
    tie = 1e-12
    row = 0
    for i in range(n):
        basis[i] = i
        if T[i, rhs] <= T[row, rhs]:  # of equal rows the last: this start is lexicographically positive
            row = i
    _exchange(T, row, 2 * n)
    left = basis[row]
    basis[row] = 2 * n
    for pivots in range(1, limit + 1):
        entering = left + n if left < n else left - n
        row = _leaving(T, basis, entering, tie)
        if row < 0:
            return _RAY, pivots
        _exchange(T, row, entering)
        left = basis[row]
        basis[row] = entering
        if left == 2 * n:
            return _SOLVED, pivots + 1
    return _LIMIT, limit


def lemke(A: ArrayLike, b: ArrayLike, tolerance: float = 1e-8, limit: int | None = None) -> LcpSolution:
    """Solve ``0 <= A z + b _|_ z >= 0`` by Lemke's algorithm with the lexicographic rule for ties.

    Parameters
    ----------
    A, b : array_like, shapes (n, n) and (n,)
        Problem.
    tolerance : float
        Largest residual that passes for solved, see `rtcvt.offline.nonsmooth.lcp.residual`. Pivoting ends at rounding
        errors, so this is a guard and not a target.
    limit : int, optional
        Most pivots; ``50 n + 100`` if absent. Typical problems need one to two per row.

    Returns
    -------
    LcpSolution
        With status "ray" if the path ends in a ray: check the status before using z.

    Raises
    ------
    InputError
        If shapes do not fit or a value is not finite.
    ConvergenceError
        If the limit is reached, or rounding errors spoil the solution.
    """
    A, b = problem(A, b)
    n = b.size
    if (b >= 0.0).all():
        return LcpSolution(np.zeros(n), b.copy(), "solved", 0, 0.0)
    limit = 50 * n + 100 if limit is None else limit
    size, scale = float(np.abs(A).max()) or 1.0, float(np.abs(b).max())
    T = np.zeros((n, 2 * n + 2))
    T[:, :n] = np.eye(n)
    T[:, n : 2 * n] = A / -size
    T[:, 2 * n] = -1.0
    T[:, 2 * n + 1] = b / scale
    basis = np.empty(n, dtype=np.int64)
    status, pivots = _path(T, basis, limit)
    if status == _LIMIT:
        raise ConvergenceError(
            f"lemke: no end after {pivots} pivots on {n} rows: raise limit, or scale rows and columns of A to like size"
        )
    z = np.zeros(n)
    of_z = (basis >= n) & (basis < 2 * n)
    z[basis[of_z] - n] = np.maximum(T[of_z, 2 * n + 1], 0.0) * (scale / size)
    error = residual(A, b, z)
    if status == _RAY:
        return LcpSolution(z, A @ z + b, "ray", pivots, error)
    K = np.sort(basis[of_z] - n)
    try:
        again = np.zeros(n)
        again[K] = np.maximum(np.linalg.solve(A[np.ix_(K, K)], -b[K]), 0.0)
        again_error = residual(A, b, again)
        if again_error < error:
            z, error = again, again_error
    except np.linalg.LinAlgError:
        pass  # the tableau's own values remain, with their residual
    if not error <= tolerance:
        raise ConvergenceError(
            f"lemke: residual {error:.1e} after {pivots} pivots, wanted {tolerance:.1e}: "
            "A is nearly singular on the contact set; scale its rows and columns, or use newton"
        )
    return LcpSolution(z, A @ z + b, "solved", pivots, error)
