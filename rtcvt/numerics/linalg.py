"""Small dense systems in one buffer: ``A x = b`` by LU factorisation with row exchanges (Golub and Van Loan, 3.4).

Matrices are row-major blocks of a work array, named by the index of their first entry. A singular matrix gives
Inf or NaN in the solution and never raises.

**Rings.** The matrix begins with a ring of m cells: each of their rows has entries at the cell, both its neighbours and
the columns after the ring; others are not read. The first m - 1 cells are eliminated without exchanges, which is stable
where the diagonal dominates their columns (4.1.1), the rest as a dense matrix. `m` 1: no ring.

**Followers.** Some unknowns, such as heats or distances, enter no equation but their own. Such an unknown is a
follower: all entries of its column except the diagonal are in rows of other followers. Followers are the last unknowns.
The others, the core, are solved as a dense system, then each follower by its own row, without zeros.
"""

from rtcvt.kernel import kernel


@kernel
def lu(n, w, a, pivot):
    """Factor the ``n x n`` matrix at ``w[a]`` in place; row exchanges go to ``w[pivot : pivot + n]``.

    The diagonal then has the reciprocals of the pivots, so that `lu_solve` does not divide.
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


def core_memory(n: int) -> int:
    """Size of the memory that `core_lu` needs for n unknowns."""
    return 1 + 5 * n + 3 * n * n


@kernel
def core_lu(n, h, w, a, f):
    """Factor ``I - h A`` into the `core_memory` at ``w[f]``, where the ``n x n`` matrix A is at ``w[a]``.

    The memory has the size of the core; places of all unknowns, those of the core first; pivots; scratch; the factored
    core; then of each follower the number of other unknowns in its row, 1 over its diagonal, and a place and an entry
    for each of these.
    """
    order = f + 1
    pivot = order + n
    core = pivot + n
    matrix = core + n
    first = n
    for q in range(n):
        k = n - 1 - q
        follows = 1.0
        for i in range(n):
            if w[a + i * n + k] != 0.0 and i != k and (i < k or w[core + i] == 0.0):
                follows = 0.0
                break
        w[core + k] = follows
        if follows != 0.0:
            first -= 1
            w[order + first] = k
    m = 0
    for j in range(n):
        if w[core + j] == 0.0:
            w[order + m] = j
            m += 1
    w[f] = m
    for i in range(m):
        row = a + int(w[order + i]) * n
        for j in range(m):
            w[matrix + i * m + j] = -h * w[row + int(w[order + j])]
        w[matrix + i * m + i] += 1.0
    lu(m, w, matrix, pivot)
    at = matrix + n * n
    for i in range(m, n):
        k = int(w[order + i])
        row = a + k * n
        entries = 0
        for j in range(n):
            if w[row + j] != 0.0 and j != k:
                w[at + 2 + 2 * entries] = j
                w[at + 3 + 2 * entries] = h * w[row + j]
                entries += 1
        w[at] = entries
        w[at + 1] = 1.0 / (1.0 - h * w[row + k])
        at += 2 + 2 * entries


@kernel
def core_solve(n, w, f, b):
    """Solve as `lu_solve` does, after `core_lu`."""
    m = int(w[f])
    order = f + 1
    pivot = order + n
    core = pivot + n
    matrix = core + n
    for i in range(m):
        w[core + i] = w[b + int(w[order + i])]
    lu_solve(m, w, matrix, pivot, core)
    for i in range(m):
        w[b + int(w[order + i])] = w[core + i]
    at = matrix + n * n
    for i in range(m, n):
        k = b + int(w[order + i])
        s = w[k]
        entries = int(w[at])
        for j in range(entries):
            s += w[at + 3 + 2 * j] * w[b + int(w[at + 2 + 2 * j])]
        w[k] = s * w[at + 1]
        at += 2 + 2 * entries


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
def less_columns(first, end, low, high, n, w, a, b):
    """Subtract columns `first` to `end`, times their entries of the vector at ``w[b]``, from its entries `low` to
    `high`.

    Four rows at once, since the sums of one row depend on each other.
    """
    fours = int((end - first) / 4)
    for q in range(fours):
        k = first + 4 * q
        y_0 = w[b + k]
        y_1 = w[b + k + 1]
        y_2 = w[b + k + 2]
        y_3 = w[b + k + 3]
        for i in range(low, high):
            at = a + i * n + k
            w[b + i] = w[b + i] - w[at] * y_0 - w[at + 1] * y_1 - w[at + 2] * y_2 - w[at + 3] * y_3
    for k in range(first + 4 * fours, end):
        y = w[b + k]
        for i in range(low, high):
            w[b + i] -= w[a + i * n + k] * y


@kernel
def ring_solve(m, n, w, a, pivot, b):
    """Solve as `lu_solve` does, after `ring_lu`."""
    last = m - 1
    for k in range(last, n):
        best = int(w[pivot + k])
        if best != k:
            swap = w[b + k]
            w[b + k] = w[b + best]
            w[b + best] = swap
    for k in range(1, last):
        w[b + k] -= w[a + k * n + k - 1] * w[b + k - 1]
    less_columns(0, last, last, n, n, w, a, b)
    for k in range(last, n):
        less_columns(k, k + 1, k + 1, n, n, w, a, b)
    for k in range(n - 1, last - 1, -1):
        w[b + k] *= w[a + k * n + k]
        less_columns(k, k + 1, last, k, n, w, a, b)
    less_columns(last, n, 0, last, n, w, a, b)
    for k in range(last - 1, -1, -1):
        if k + 1 < last:
            w[b + k] -= w[a + k * n + k + 1] * w[b + k + 1]
        w[b + k] *= w[a + k * n + k]
