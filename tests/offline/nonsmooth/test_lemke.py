"""Ties, rays and degenerate paths: what is particular to pivoting."""

import numpy as np
import pytest

from rtcvt.offline.nonsmooth.lemke import lemke


def test_all_rows_tie():
    """Every row is a candidate in the first two ratio tests; z = 1/3 is the only solution.

    Without the lexicographic comparison, i.e. with the first of the rows that tie, the path goes round for ever.
    """
    A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    solution = lemke(A, -np.ones(3))
    assert solution.status == "solved"
    np.testing.assert_allclose(solution.z, 1.0 / 3.0, rtol=1e-14)


@pytest.mark.slow
def test_degenerate_solutions_with_integer_data():
    """Integer data produce exact ties at most pivots; solutions have z_i = w_i = 0 in a third of the rows."""
    rng = np.random.default_rng(1)
    for n in (3, 6, 12, 24, 48) * 8:
        B = rng.integers(-1, 2, size=(n, n)).astype(float)
        A = B @ B.T + np.diag(rng.integers(0, 2, size=n))
        kind = rng.integers(0, 3, size=n)
        z, w = (kind == 0) * 1.0, (kind == 1) * 1.0
        solution = lemke(A, w - A @ z)
        assert solution.status == "solved"
        assert solution.residual < 1e-12
        np.testing.assert_allclose(solution.w, w, atol=1e-9)


def test_a_ray_proves_that_no_feasible_point_exists():
    """Semi-definite A with A v = 0, v > 0, b'v < 0: v'(A z + b) < 0 for every z."""
    rng = np.random.default_rng(2)
    for n in (2, 4, 8, 16) * 5:
        v = rng.uniform(0.5, 1.5, size=n)
        B = rng.normal(size=(n, n))
        B -= np.outer(v, v @ B) / (v @ v)
        b = rng.normal(size=n)
        b -= v * (b @ v + 1.0) / (v @ v)
        solution = lemke(B @ B.T, b)
        assert solution.status == "ray"
        assert solution.residual > 1e-3


@pytest.mark.slow
def test_ill_conditioned_problems_are_solved_to_rounding():
    """Condition 1e6 and about 200 pivots: w is as exact as A z + b can be evaluated, which the tableau alone is not."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Q, _ = np.linalg.qr(rng.normal(size=(200, 200)))
        A, b = Q @ np.diag(np.geomspace(1.0, 1e-6, 200)) @ Q.T, rng.normal(size=200)
        solution = lemke(A, b)
        terms = (np.abs(A) @ solution.z + np.abs(b)).max() / np.abs(b).max()
        assert solution.residual <= np.finfo(float).eps * terms
