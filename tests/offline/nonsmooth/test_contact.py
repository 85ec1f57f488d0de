"""Contact with friction, checked by its laws and against Lemke, not by the proximal form that solved it."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

from rtcvt.offline.nonsmooth import contact
from rtcvt.offline.nonsmooth.contact import Rows, contact_problem, fixed_point, newton, newton_rows, work
from rtcvt.offline.nonsmooth.lcp import ConvergenceError
from rtcvt.offline.nonsmooth.lemke import lemke

pytestmark = pytest.mark.interpreted

SOLVERS = [fixed_point, newton]


def random_problem(rng, contacts, d, mu, spare=3):
    """W' M^-1 W with more velocities than rows, so that it is regular."""
    m = contacts * (1 + d)
    W = rng.normal(size=(m + spare, m))
    return contact_problem(W.T @ W / m, rng.normal(size=m), np.full(contacts, mu), np.zeros(contacts))


def assert_laws_hold(p, solution, tolerance=1e-7):
    scale = np.abs(p.c).max()
    L = solution.L.reshape(-1, 1 + p.d)
    gamma = (p.G @ solution.L + p.c).reshape(-1, 1 + p.d)
    np.testing.assert_allclose(gamma.ravel(), solution.gamma, atol=1e-12 * scale)
    assert (L[:, 0] >= p.lower).all()
    for k in range(p.mu.size):
        N = L[k, 0]
        if p.lower[k] == -np.inf or p.lower[k] + tolerance < N:
            assert abs(gamma[k, 0]) <= tolerance * scale
        assert gamma[k, 0] >= -tolerance * scale
        if p.d == 0:
            continue
        T, slip, most = L[k, 1:], gamma[k, 1:], p.mu[k] * abs(N)
        assert np.linalg.norm(T) <= most + tolerance
        speed = np.linalg.norm(slip)
        if speed > 1e-5 * scale:  # slips: on the edge of the disc, against the slip
            np.testing.assert_allclose(T, -most * slip / speed, atol=1e-5 * max(most, 1.0))


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize("d", [0, 1, 2])
@pytest.mark.parametrize("mu", [0.0, 0.2, 0.6])
def test_laws_hold_on_random_systems(solve, d, mu):
    rng = np.random.default_rng(10 * d + int(10 * mu))
    for contacts in (1, 2, 5, 12):
        for _ in range(5):
            p = random_problem(rng, contacts, d, mu)
            solution = solve(p)
            assert solution.residual <= 1e-10
            assert_laws_hold(p, solution)


@pytest.mark.parametrize("d", [1, 2])
def test_solvers_agree(d):
    """With low friction the solution is unique."""
    rng = np.random.default_rng(3)
    for contacts in (1, 3, 10, 30):
        p = random_problem(rng, contacts, d, 0.1, spare=2 * contacts)
        a, b = (solve(p, tolerance=1e-12) for solve in SOLVERS)
        np.testing.assert_allclose(a.L, b.L, atol=1e-8 * np.abs(b.L).max())
        np.testing.assert_allclose(a.gamma, b.gamma, atol=1e-9)


def test_without_friction_it_is_a_linear_complementarity_problem():
    rng = np.random.default_rng(4)
    for n in (1, 4, 20):
        p = random_problem(rng, n, 0, 0.0)
        exact = lemke(p.G, p.c).z
        for solve in SOLVERS:
            np.testing.assert_allclose(solve(p).L, exact, atol=1e-7 * np.abs(exact).max() + 1e-12)


def planar_lcp(p):
    """Planar Coulomb friction as a linear complementarity problem in (L_N, T_+, slip_-), with T = T_+ - mu L_N.

    0 <= gamma_N _|_ L_N,  0 <= slip_+ _|_ T_+,  0 <= 2 mu L_N - T_+ _|_ slip_-,  gamma_T = slip_+ - slip_-
    (Glocker and Pfeiffer 1995).
    """
    k = p.mu.size
    N, T = slice(0, None, 2), slice(1, None, 2)
    mu, eye = np.diag(p.mu), np.eye(k)
    normal, tangential = p.G[N, N] - p.G[N, T] @ mu, p.G[T, N] - p.G[T, T] @ mu
    zero = np.zeros((k, k))
    A = np.block([[normal, p.G[N, T], zero], [tangential, p.G[T, T], eye], [2.0 * mu, -eye, zero]])
    return A, np.concatenate([p.c[N], p.c[T], np.zeros(k)])


def test_planar_friction_against_lemke():
    rng = np.random.default_rng(5)
    for contacts in (1, 2, 5, 12) * 5:
        p = random_problem(rng, contacts, 1, 0.2, spare=2 * contacts)
        A, b = planar_lcp(p)
        solution = lemke(A, b)
        assert solution.status == "solved"
        L_N, T_plus = solution.z[:contacts], solution.z[contacts : 2 * contacts]
        exact = np.column_stack([L_N, T_plus - p.mu * L_N]).ravel()
        for solve in SOLVERS:
            np.testing.assert_allclose(solve(p).L, exact, atol=1e-7 * max(np.abs(exact).max(), 1.0))


@pytest.mark.parametrize("solve", SOLVERS)
def test_bilateral_contacts_pull_and_their_friction_uses_the_amount(solve):
    """A joint that is pulled apart: normal impulse -2, friction at most 0.25 * 2."""
    p = contact_problem(np.eye(2), [2.0, 3.0], [0.25], [-np.inf])
    np.testing.assert_allclose(solve(p).L, [-2.0, -0.5], atol=1e-9)


@pytest.mark.parametrize("solve", SOLVERS)
def test_lower_bound_is_kept(solve):
    p = contact_problem(np.eye(2), [0.0, 1.0], [0.5], [3.0])
    np.testing.assert_allclose(solve(p).L, [3.0, -1.0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("d", [0, 1, 2])
def test_newton_has_the_derivative_of_the_proximal_equations(d):
    """Central differences, at points where all branches occur: open, bound, stick, slip, pull."""
    rng = np.random.default_rng(8)
    p = random_problem(rng, 30, d, 0.5)
    p = replace(p, lower=rng.choice([0.0, 0.2, -np.inf], size=30))
    r, m = np.empty((30, 2)), p.c.size
    G = contact.dense_rows(p.G, d)
    contact._factors(G, d, r)
    L = rng.normal(size=m)

    def value(L):
        entries, J, F = np.zeros((m, m)), np.zeros((m, m)), np.empty(m)
        contact._linearised(G, p.c, p.mu, p.lower, d, r, L, entries, F)
        np.put_along_axis(J, G.column, entries, axis=1)
        return J, F

    J, _ = value(L)
    step = 1e-7
    difference = np.column_stack([(value(L + e)[1] - value(L - e)[1]) / (2.0 * step) for e in step * np.eye(m)])
    np.testing.assert_allclose(J, difference, atol=1e-6)


@pytest.mark.parametrize("solve", SOLVERS)
def test_constraints_that_cannot_be_met_are_an_error(solve):
    """Two joints in one place with different speeds."""
    p = contact_problem(np.ones((2, 2)), [1.0, 2.0], [0.0, 0.0], [-np.inf, -np.inf])
    with pytest.raises(ConvergenceError, match="constraints can be met"):
        solve(p, limit=50)


def test_bad_data_is_refused():
    refused("shape of G", lambda: contact_problem(np.eye(3), np.ones(2), [0.1], [0.0]))
    refused("k \\(1 \\+ d\\)", lambda: contact_problem(np.eye(5), np.ones(5), [0.1, 0.1], [0.0, 0.0]))
    refused("not negative", lambda: contact_problem(np.eye(2), np.ones(2), [-0.1], [0.0]))
    refused("finite", lambda: contact_problem(np.eye(2), [np.nan, 1.0], [0.1], [0.0]))


def chain(rng, n, d, mu):
    """A closed chain of n bodies, each in contact with a ground that its two neighbours on either side feel as well:
    the problem, and its matrix by rows."""
    m, W = n * (1 + d), np.zeros((4 * n, n * (1 + d)))
    for k in range(n):
        for o in range(-2, 3):
            j = (k + o) % n
            W[4 * j : 4 * j + 4, k * (1 + d) : (k + 1) * (1 + d)] = rng.normal(size=(4, 1 + d)) / (1 + abs(o))
    G = W.T @ W
    around = (0, -4, -3, -2, -1, 1, 2, 3, 4)
    near = [[(k + o) % n * (1 + d) + b for o in around for b in range(1 + d)] for k in range(n)]
    column = np.repeat(np.array(near), 1 + d, axis=0)
    sparse = Rows(np.full(m, column.shape[1]), column, np.take_along_axis(G, column, axis=1))
    return contact_problem(G, rng.normal(size=m), np.full(n, mu), np.zeros(n)), sparse


@pytest.mark.parametrize("d", [0, 1, 2])
@pytest.mark.parametrize(("mu", "band"), [(0.05, 60), (0.3, 60), (0.3, 1)])
def test_sparse_rows_give_what_the_dense_matrix_gives(d, mu, band):
    """With a band that is too narrow sweeps do it alone."""
    p, sparse = chain(np.random.default_rng(d), 30, d, mu)
    L, w = np.zeros(p.c.size), work(p.c.size, sparse.column.shape[1], band)
    first, steps, error = newton_rows(sparse, p.c, p.mu, p.lower, d, L, 1e-11, 100, w)
    assert first > 0.1
    assert error <= 1e-11
    assert steps < (12 if band > 1 else 30)
    np.testing.assert_allclose(L, newton(p, tolerance=1e-12).L, atol=1e-9)
    assert newton_rows(sparse, p.c, p.mu, p.lower, d, L, 1e-11, 100, w)[1] == 0
    assert (L[:: 1 + d] > 0.0).sum() in range(5, 30)
