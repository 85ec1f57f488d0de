"""Bounded torques that keep relative speeds at zero where they can: a box complementarity problem, in bounded time.

For given ``A``, ``q`` and ``low <= high`` a vector ``tau`` is sought with, row by row,

    r = q - A tau,    low < tau < high: r = 0,    tau = high: r >= 0,    tau = low: r <= 0.

Coulomb's law has this form: ``r`` is the slip at the end of a step. ``A`` has a positive definite symmetric part (a
passive machine, and the compliance of each element), so there is one solution. Block principal pivoting (Judice and
Pires, *Computers and Operations Research* 21, 1994) exchanges all violated rows while their number falls, else the last
one alone, which always ends (Murty 1974).
"""

from rtcvt.kernel import kernel
from rtcvt.numerics.linalg import lu, lu_solve

MAX_SYSTEMS = 200  # systems that are solved
MAX_IDLE_EXCHANGES = 3  # exchanges of all wrong rows that need not help
ROUNDING_RTOL = 1e-12  # of the terms of a sum, that is its rounding


@kernel
def side_of(i, m, w, A, q, low, high, tau, side):
    """Where row `i` belongs by the present values: -1 at its lower bound, 1 at its upper one, 0 between."""
    if w[side + i] == 0.0:
        if w[tau + i] > w[high + i]:
            return 1.0
        return -1.0 if w[tau + i] < w[low + i] else 0.0
    if not w[low + i] < w[high + i]:
        return w[side + i]
    r = w[q + i]
    size = abs(r)
    for j in range(m):
        term = w[A + i * m + j] * w[tau + j]
        r -= term
        size += abs(term)
    return 0.0 if w[side + i] * r < -ROUNDING_RTOL * size else w[side + i]


@kernel
def boxed(m, w, A, q, low, high, tau, side, matrix, pivot):
    """Solve for ``w[tau : tau + m]``; whether that was done.

    All but `m` are places in `w`: of the matrix (row-major) and the vectors above; of sides (-1, 0, 1) from which the
    search starts and where it ends; of scratch for ``m * m + m`` and `m` numbers.
    """
    best = m + 1
    patience = MAX_IDLE_EXCHANGES
    for i in range(m):
        if not w[low + i] < w[high + i]:
            w[side + i] = 1.0
    for _ in range(MAX_SYSTEMS):
        free = 0
        for i in range(m):
            if w[side + i] != 0.0:
                w[tau + i] = w[high + i] if w[side + i] > 0.0 else w[low + i]
        for i in range(m):
            if w[side + i] == 0.0:
                w[tau + i] = w[q + i]
                for j in range(m):
                    if w[side + j] != 0.0:
                        w[tau + i] -= w[A + i * m + j] * w[tau + j]
                free += 1
        row = 0
        for i in range(m):
            if w[side + i] == 0.0:
                column = 0
                for j in range(m):
                    if w[side + j] == 0.0:
                        w[matrix + row * free + column] = w[A + i * m + j]
                        column += 1
                row += 1
        b = matrix + m * m
        row = 0
        for i in range(m):
            if w[side + i] == 0.0:
                w[b + row] = w[tau + i]
                row += 1
        lu(free, w, matrix, pivot)
        lu_solve(free, w, matrix, pivot, b)
        row = 0
        for i in range(m):
            if w[side + i] == 0.0:
                w[tau + i] = w[b + row]
                row += 1
        wrong = 0
        last = 0
        for i in range(m):
            if side_of(i, m, w, A, q, low, high, tau, side) != w[side + i]:
                wrong += 1
                last = i
        if wrong == 0:
            return True
        if wrong < best:
            best = wrong
            patience = MAX_IDLE_EXCHANGES
        else:
            patience -= 1
        if patience < 0:
            w[side + last] = side_of(last, m, w, A, q, low, high, tau, side)
        else:
            for i in range(m):
                w[pivot + i] = side_of(i, m, w, A, q, low, high, tau, side)
            for i in range(m):
                w[side + i] = w[pivot + i]
    for i in range(m):
        if not w[tau + i] < w[high + i]:
            w[tau + i] = w[high + i]
        elif w[tau + i] < w[low + i]:
            w[tau + i] = w[low + i]
    return False
