import numpy as np
import pytest

from offline.pushbelt.cyclic import solve_cyclic


@pytest.mark.parametrize("n", [3, 4, 5, 104, 220])
def test_cyclic_block_solver_equals_a_dense_one(n):
    rng = np.random.default_rng(n)
    A = np.zeros((3 * n, 3 * n))
    for k in range(n):  # links between neighbours, as contacts make them, and inertias over three decades
        row = np.zeros((4, 3 * n))
        j = (k + 1) % n
        row[:, 3 * k : 3 * k + 3], row[:, 3 * j : 3 * j + 3] = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
        A += row.T @ row
        A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += np.diag(10 ** rng.uniform(-3, 0, 3))
    D, U = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    for k in range(n):
        j = (k + 1) % n
        D[k] = np.tril(A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3])
        U[k] = A[3 * k : 3 * k + 3, 3 * j : 3 * j + 3]
    b = rng.normal(size=(n, 3))
    x = b.copy()
    solve_cyclic(D, U, x, np.zeros((3, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3, 3)))
    np.testing.assert_allclose(A @ x.ravel(), b.ravel(), atol=1e-9)
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(A, b.ravel()), rtol=1e-7, atol=1e-8)
