"""Small dense systems in one buffer: ``A x = b`` by LU factorisation with row exchanges (Golub and Van Loan, 3.4).

Matrices are row-major blocks of a work array, named by the index of their first entry. A singular matrix gives
Inf or NaN in the solution and never raises.
"""

from rtcvt.kernel import kernel

__all__ = ["lu", "lu_solve", "lu_solve_transposed"]


@kernel
def lu(n, w, a, pivot):
    """Factor the ``n x n`` matrix at ``w[a]`` in place; row exchanges go to ``w[pivot : pivot + n]``."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(w[a + i * n + k]) > abs(w[a + best * n + k]):
                best = i
        w[pivot + k] = best
        if best != k:
            for j in range(n):
                swap = w[a + k * n + j]
                w[a + k * n + j] = w[a + best * n + j]
                w[a + best * n + j] = swap
        for i in range(k + 1, n):
            factor = w[a + i * n + k] / w[a + k * n + k]
            w[a + i * n + k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    w[a + i * n + j] -= factor * w[a + k * n + j]


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
        for j in range(i):
            w[b + i] -= w[a + i * n + j] * w[b + j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            w[b + i] -= w[a + i * n + j] * w[b + j]
        w[b + i] /= w[a + i * n + i]


@kernel
def lu_solve_transposed(n, w, a, pivot, b):
    """Replace the vector at ``w[b]`` by ``A^-T b``."""
    for i in range(n):
        for j in range(i):
            w[b + i] -= w[a + j * n + i] * w[b + j]
        w[b + i] /= w[a + i * n + i]
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            w[b + i] -= w[a + j * n + i] * w[b + j]
    for k in range(n - 1, -1, -1):
        best = int(w[pivot + k])
        if best != k:
            swap = w[b + k]
            w[b + k] = w[b + best]
            w[b + best] = swap
