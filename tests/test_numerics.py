"""Elementary functions and small linear algebra of the kernels, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtcvt.numerics import linalg
from rtcvt.numerics.elementary import atan, cos, cube_root, exp, log, power, sin


@given(st.floats(-1e5, 1e5, exclude_min=True, exclude_max=True))
def test_sine_and_cosine(x):
    for ours, exact in ((sin(x), np.sin(x)), (cos(x), np.cos(x))):
        assert abs(ours - exact) <= 2.0 * np.spacing(max(abs(exact), 1e-300)) + 1e-21


def test_sine_and_cosine_near_multiples_of_half_pi():
    for k in range(-200, 200):
        for x in (k * np.pi / 2, np.nextafter(k * np.pi / 2, 1e9)):
            assert abs(sin(x) - np.sin(x)) <= 2.0 * np.spacing(abs(np.sin(x))) + 1e-21
            assert abs(cos(x) - np.cos(x)) <= 2.0 * np.spacing(abs(np.cos(x))) + 1e-21


@pytest.mark.parametrize("x", [np.nan, np.inf, -np.inf, 1e5, -1e300])
def test_outside_of_the_range_is_nan(x):
    assert np.isnan(sin(x))
    assert np.isnan(cos(x))


@given(st.floats(-700.0, 700.0))
def test_exponential(x):
    assert abs(exp(x) - np.exp(x)) <= 2.0 * np.spacing(np.exp(x))


def test_exponential_outside_of_its_range():
    assert exp(0.0) == 1.0
    assert exp(700.1) == exp(np.inf) == np.inf
    assert exp(-700.1) == exp(-np.inf) == 0.0
    assert np.isnan(exp(np.nan))


@given(st.floats(-660.0, 690.0), st.floats(0.7, 1.5))
def test_logarithm(exponent, near_one):
    for x in (np.exp(exponent), near_one, 2.0 ** np.floor(exponent)):
        assert abs(log(x) - np.log(x)) <= 2.0 * np.spacing(abs(np.log(x)))


@pytest.mark.parametrize("x", [np.nan, np.inf, -1.0, 0.0, 1e-300, 1e301])
def test_logarithm_outside_of_its_range(x):
    assert np.isnan(log(x))


@given(st.floats(1e-6, 1e12), st.sampled_from([0.2, 2.0 / 3.0, 1.8]))
def test_power(x, a):
    assert power(x, a) == pytest.approx(x**a, rel=2e-14)


@given(st.floats(-1e300, 1e300) | st.floats(-3.0, 3.0))
def test_arc_tangent(x):
    assert atan(x) == pytest.approx(np.arctan(x), rel=3e-16)
    assert np.isnan(atan(np.nan))


@given(st.floats(1e-290, 1e300))
def test_cube_root(x):
    assert cube_root(x) == pytest.approx(np.cbrt(x), rel=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
@pytest.mark.parametrize("seed", range(5))
def test_solution_of_linear_systems(n, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    A[0, 0] = 0.0 if n > 1 else A[0, 0]  # needs a row exchange
    w = np.concatenate([A.ravel(), np.zeros(n), b, b])
    pivot, first, second = n * n, n * n + n, n * n + 2 * n
    linalg.lu(n, w, 0, pivot)
    linalg.lu_solve(n, w, 0, pivot, first)
    linalg.lu_solve_transposed(n, w, 0, pivot, second)
    assert w[first : first + n] == pytest.approx(np.linalg.solve(A, b), rel=1e-9)
    assert w[second : second + n] == pytest.approx(np.linalg.solve(A.T, b), rel=1e-9)


def test_a_singular_matrix_gives_no_exception():
    w = np.concatenate([np.ones(4), np.zeros(2), np.array([1.0, 2.0])])
    linalg.lu(2, w, 0, 4)
    linalg.lu_solve(2, w, 0, 4, 6)
    assert not np.all(np.isfinite(w[6:8]))


def test_a_ring_with_rows_of_another_size_behind_it():
    rng = np.random.default_rng(3)
    m, n = 8, 13
    A = rng.uniform(-1.0, 1.0, size=(n, n))
    far = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    A[:m, :m] *= -np.sign(A[:m, :m]) * ((far == 1) | (far == m - 1))
    A[:m, :m] += np.diag(1e-3 - A[:m, :m].sum(axis=0))  # hardly dominant
    A[m:] *= 1e6
    b = rng.normal(size=n)
    w = np.concatenate([A.ravel(), np.zeros(n), b])
    linalg.ring_lu(m, n, w, 0, n * n)
    linalg.ring_solve(m, n, w, 0, n * n, n * n + n)
    assert w[n * n + n :] == pytest.approx(np.linalg.solve(A, b), rel=1e-9)


@pytest.mark.parametrize("followers", [0, 1, 3, 6])
def test_followers_are_left_out_of_the_dense_system(followers):
    """Nothing follows from the last state, the last but one moves it alone, and so on; the first are dense."""
    rng, n, h = np.random.default_rng(followers), 6, 0.1
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    for k in range(n - followers, n):
        A[:k, k] = 0.0
    w = np.concatenate([A.ravel(), b, np.zeros(linalg.core_memory(n))])
    linalg.core_lu(n, h, w, 0, n * n + n)
    linalg.core_solve(n, w, n * n + n, n * n)
    assert w[n * n + n] == n - followers
    assert w[n * n : n * n + n] == pytest.approx(np.linalg.solve(np.eye(n) - h * A, b), rel=1e-12)
