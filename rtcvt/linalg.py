"""Small dense systems in one buffer: ``A x = b`` by LU factorisation with row exchanges (Golub and Van Loan, 3.4).

Matrices are row-major blocks of a work array, named by the index of their first entry. A singular matrix gives
Inf or NaN in the solution and never raises.

**Rings.** The matrix begins with a ring of m cells: each of their rows has entries at the cell, both its neighbours and
what comes behind the ring; others are not read. The first m - 1 cells are eliminated without exchanges, which is stable
where the diagonal dominates their columns (4.1.1), the rest as a dense matrix. `m` 1: no ring.
"""

from rtcvt.kernel import kernel


@kernel
def lu(n, w, a, pivot):
    """Factor the ``n x n`` matrix at ``w[a]`` in place; row exchanges go to ``w[pivot : pivot + n]``.

    The diagonal then holds the reciprocals of the pivots: the solutions that follow do not divide.
    """
    dense_lu(0, n, w, a, pivot)


@kernel
def dense_lu(first, n, w, a, pivot):
    """`lu` from column `first` on."""
    for k in range(first, n):
        row = a + k * n
        best = k
        largest = abs(w[row + k])
        for i in range(k + 1, n):
            size = abs(w[a + i * n + k])
            if size > largest:
                best = i
                largest = size
        w[pivot + k] = best
        if best != k:
            other = a + best * n
            for j in range(n):
                swap = w[row + j]
                w[row + j] = w[other + j]
                w[other + j] = swap
        inverse = 1.0 / w[row + k]
        w[row + k] = inverse
        for i in range(k + 1, n):
            lower = a + i * n
            factor = w[lower + k] * inverse
            w[lower + k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    w[lower + j] -= factor * w[row + j]


@kernel
def lu_solve(n, w, a, pivot, b):
    """Replace the vector at ``w[b]`` by ``A^-1 b``."""
    for k in range(n):
        best = int(w[pivot + k])
        if best != k:
            swap = w[b + k]
            w[b + k] = w[b + best]
            w[b + best] = swap
    for i in range(1, n):
        row = a + i * n
        s = w[b + i]
        for j in range(i):
            s -= w[row + j] * w[b + j]
        w[b + i] = s
    for i in range(n - 1, -1, -1):
        row = a + i * n
        s = w[b + i]
        for j in range(i + 1, n):
            s -= w[row + j] * w[b + j]
        w[b + i] = s * w[row + i]


@kernel
def lu_solve_transposed(n, w, a, pivot, b):
    """Replace the vector at ``w[b]`` by ``A^-T b``."""
    for i in range(n):
        s = w[b + i]
        for j in range(i):
            s -= w[a + j * n + i] * w[b + j]
        w[b + i] = s * w[a + i * n + i]
    for i in range(n - 2, -1, -1):
        s = w[b + i]
        for j in range(i + 1, n):
            s -= w[a + j * n + i] * w[b + j]
        w[b + i] = s
    for k in range(n - 1, -1, -1):
        best = int(w[pivot + k])
        if best != k:
            swap = w[b + k]
            w[b + k] = w[b + best]
            w[b + best] = swap


@kernel
def ring_lu(m, n, w, a, pivot):
    """`lu` of a matrix that begins with a ring of m cells."""
    last = m - 1
    for k in range(last):
        row = a + k * n
        inverse = 1.0 / w[row + k]
        w[row + k] = inverse
        for i in range(last - 1 if k + 1 < last else last, n):
            lower = a + (k + 1 if i < last else i) * n
            factor = w[lower + k] * inverse
            w[lower + k] = factor
            if factor != 0.0:
                if k + 1 < last:
                    w[lower + k + 1] -= factor * w[row + k + 1]
                for j in range(last, n):
                    w[lower + j] -= factor * w[row + j]
    dense_lu(last, n, w, a, pivot)


@kernel
def ring_solve(m, n, w, a, pivot, b):
    """`lu_solve` behind `ring_lu`."""
    last = m - 1
    for k in range(last, n):
        best = int(w[pivot + k])
        if best != k:
            swap = w[b + k]
            w[b + k] = w[b + best]
            w[b + best] = swap
    for i in range(1, last):
        w[b + i] -= w[a + i * n + i - 1] * w[b + i - 1]
    for i in range(last, n):
        row = a + i * n
        s = w[b + i]
        for j in range(i):
            s -= w[row + j] * w[b + j]
        w[b + i] = s
    for i in range(n - 1, -1, -1):
        row = a + i * n
        s = w[b + i]
        if i + 1 < last:
            s -= w[row + i + 1] * w[b + i + 1]
        for j in range(i + 1 if i >= last else last, n):
            s -= w[row + j] * w[b + j]
        w[b + i] = s * w[row + i]
