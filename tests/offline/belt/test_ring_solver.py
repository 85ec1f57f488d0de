"""The block-cyclic solver against scipy's sparse LU."""

import numpy as np
import pytest
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve

from rtcvt.offline.belt.ring_solver import factorise, solve

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize(("n", "m"), [(3, 0), (3, 2), (8, 1), (61, 3)])
def test_solution_is_that_of_a_sparse_solver(n, m):
    rng = np.random.default_rng(n + m)
    D = rng.normal(size=(n, 4, 4)) + 12.0 * np.eye(4)
    G = np.full((n, 4, 8 + m), np.nan)
    G[:, :, :4], G[:, :, 8:] = rng.normal(size=(n, 4, 4)), rng.normal(size=(n, 4, m))
    N = rng.normal(size=(n, 4, 4))
    F = np.full((n, 4 + m, 4), np.nan)
    F[:, 4:] = rng.normal(size=(n, m, 4))
    S = np.full((6 + m, 4 + m), np.nan)
    S[4 : 4 + m, 4:] = rng.normal(size=(m, m))
    b, c = rng.normal(size=(n, 4)), S[-1]
    c[4:] = rng.normal(size=m)

    A = lil_matrix((4 * n + m, 4 * n + m))
    for k in range(n):
        i, j = slice(4 * k, 4 * k + 4), slice(4 * ((k + 1) % n), 4 * ((k + 1) % n) + 4)
        A[i, i], A[i, j], A[j, i] = D[k], G[k, :, :4], N[k]
        if m:
            A[i, 4 * n :], A[4 * n :, i] = G[k, :, 8:], F[k, 4:]
    if m:
        A[4 * n :, 4 * n :] = S[4 : 4 + m, 4:]
    expected = spsolve(A.tocsc(), np.concatenate([b.ravel(), c[4:]]))

    factorise(D, G, N, F, S)
    solve(D, G, N, F, S, b)
    np.testing.assert_allclose(np.concatenate([b.ravel(), c[4:]]), expected, rtol=1e-9, atol=1e-11)
