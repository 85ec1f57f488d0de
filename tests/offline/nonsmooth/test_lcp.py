"""Three solvers of one problem: enumeration of all active sets where it is small, each other where it is not."""

import itertools

import numpy as np
import pytest
from refusals import refused

from rtcvt.offline.nonsmooth.lcp import ConvergenceError, fixed_point, newton, relaxation, residual
from rtcvt.offline.nonsmooth.lemke import lemke


def spd(rng, n):
    B = rng.normal(size=(n, n))
    return B @ B.T + 0.1 * n * np.eye(n)


def monotone(rng, n):
    S = rng.normal(size=(n, n))
    return spd(rng, n) + S - S.T


def dominant(rng, n):
    """Positive diagonal above the row sums: a P-matrix, its symmetric part mostly indefinite."""
    A = rng.normal(size=(n, n)) * np.geomspace(1.0, 30.0, n)[None, :]
    np.fill_diagonal(A, 0.0)
    np.fill_diagonal(A, 1.1 * np.abs(A).sum(axis=1) + 0.1)
    return A


def copositive(rng, n):
    """Symmetric, positive entries, indefinite: strictly copositive, not a P-matrix."""
    A = rng.uniform(0.0, 1.0, size=(n, n))
    return A + A.T + 0.1 * np.eye(n)


def enumerated(A, b):
    """All solutions with regular active sets, by trying the 2^n sets."""
    n = b.size
    found = []
    for bits in itertools.product((False, True), repeat=n):
        K = np.flatnonzero(bits)
        z = np.zeros(n)
        if K.size:
            z[K] = np.linalg.solve(A[np.ix_(K, K)], -b[K])
        if (z >= -1e-12).all() and (A @ z + b >= -1e-12).all():
            found.append(z)
    return found


def assert_solves(A, b, z, tolerance=1e-9):
    w = A @ z + b
    scale = np.abs(b).max()
    assert z.min() >= 0.0
    assert w.min() >= -tolerance * scale
    assert (np.minimum(z * np.abs(A).max(), np.abs(w)) <= tolerance * scale).all()


@pytest.mark.parametrize("matrix", [spd, monotone, dominant])
def test_solvers_find_the_one_solution_of_a_p_matrix(matrix):
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 5, 8) * 4:
        A, b = matrix(rng, n), rng.normal(size=n)
        (exact, *others) = enumerated(A, b)
        assert not others
        for solve in (lemke, newton, fixed_point):
            np.testing.assert_allclose(solve(A, b).z, exact, atol=1e-6 * np.abs(exact).max() + 1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("matrix", [spd, monotone, dominant])
def test_solvers_agree_on_larger_problems(matrix):
    rng = np.random.default_rng(2)
    for n in (20, 60, 120):
        A, b = matrix(rng, n), rng.normal(size=n)
        reference = lemke(A, b)
        assert reference.status == "solved"
        for solution in (reference, newton(A, b), fixed_point(A, b)):
            assert_solves(A, b, solution.z)
            assert solution.residual == residual(A, b, solution.z)
            np.testing.assert_allclose(solution.z, reference.z, atol=1e-6 * np.abs(reference.z).max())


@pytest.mark.slow
def test_strictly_copositive_problems_are_always_solved():
    rng = np.random.default_rng(4)
    for n in (2, 5, 10, 30) * 5:
        A, b = copositive(rng, n), rng.normal(size=n)
        assert np.linalg.eigvalsh(copositive(rng, 30))[0] < 0.0
        for solve in (lemke, fixed_point, newton):
            solution = solve(A, b)
            assert solution.status == "solved"
            assert_solves(A, b, solution.z)


INFEASIBLE = [
    (np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-1.0, -1.0])),  # w_1 + w_2 = -2
    (np.zeros((2, 2)), np.array([1.0, -1.0])),
    (np.diag([2.0, 0.0, 1.0]), np.array([1.0, -3.0, -1.0])),
]


@pytest.mark.parametrize(("A", "b"), INFEASIBLE)
def test_problem_without_solution_is_reported_by_every_solver(A, b):
    assert lemke(A, b).status == "ray"
    with pytest.raises(ConvergenceError, match="use lemke"):
        newton(A, b)
    with pytest.raises(ConvergenceError, match="lemke"):
        fixed_point(A, b, limit=1000)


@pytest.mark.slow
def test_too_few_iterations_raise_and_say_what_to_do():
    rng = np.random.default_rng(8)
    A, b = spd(rng, 30), -np.ones(30)
    with pytest.raises(ConvergenceError, match="raise limit"):
        fixed_point(A, b, limit=3)
    with pytest.raises(ConvergenceError, match="raise limit"):
        lemke(A, b, limit=3)
    with pytest.raises(ConvergenceError, match="linear systems"):
        newton(A, b, start=rng.uniform(-1, 1, 30), limit=1)


@pytest.mark.slow
def test_no_proven_factor_is_an_error_of_input():
    refused("lemke", relaxation, np.array([[0.0, 1.0], [-2.0, 0.0]]))


@pytest.mark.parametrize("solve", [lemke, newton, fixed_point])
def test_bad_data_is_refused(solve):
    refused("shape", lambda: solve(np.eye(3), np.ones(2)))
    refused("finite", lambda: solve(np.eye(2), [1.0, np.nan]))


@pytest.mark.parametrize("solve", [lemke, newton, fixed_point])
def test_a_stick_that_bends_a_cantilever_takes_it_off_a_second_stick(solve):
    """Cebulla 2014, Fig. 5.6: both contours penetrate, and the contact farther from the clamp is open."""
    a, b, EI, stick = 0.2, 0.3, 50.0, 1e-6  # [m], [m], [N.m2], [m/N]
    across = a**2 * (3.0 * b - a) / (6.0 * EI)
    C = np.array([[a**3 / (3.0 * EI) + stick, across], [across, b**3 / (3.0 * EI) + stick]])
    gap = np.array([-1e-3, -5e-4])
    found = solve(C, gap)
    assert found.z == pytest.approx([1e-3 / C[0, 0], 0.0])
    assert found.w == pytest.approx([0.0, across * 1e-3 / C[0, 0] - 5e-4], abs=1e-12)
    decoupled = solve(np.diag([stick, stick]), gap)
    assert decoupled.z == pytest.approx(-gap / stick)
