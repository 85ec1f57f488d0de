"""Impact laws: known collisions, and energy on random systems."""

import numpy as np
import pytest

from rtcvt.offline.nonsmooth.impact import Restitution, energy_change, newton_law, poisson_law

LAWS = [newton_law, poisson_law]


def restitution(contacts, mu=0.0, e_N=0.0, e_T=0.0):
    return Restitution(
        np.full(contacts, mu), np.full(contacts, e_N), np.full(contacts, e_T), np.zeros(contacts, dtype=bool)
    )


def collide(law, W, M, u, material):
    """Velocities and impulses after an impact."""
    moved = np.linalg.solve(M, W)
    m = W.shape[1]
    solved = law(W.T @ moved, W.T @ u, np.zeros(m), material, np.zeros(m))
    return u + moved @ solved.L, solved.L


def chain(balls):
    """Gap directions of balls in a row."""
    return np.diff(np.eye(balls), axis=0).T


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_two_bodies(law, e):
    M, u = np.diag([2.0, 1.0]), np.array([3.0, 0.0])
    after, L = collide(law, chain(2), M, u, restitution(1, e_N=e))
    assert after[1] - after[0] == pytest.approx(3.0 * e, abs=1e-9)
    assert M.diagonal() @ after == pytest.approx(6.0, rel=1e-12)
    assert L[0] == pytest.approx(2.0 * (1.0 + e), rel=1e-9)


def test_three_equal_balls_tell_the_laws_apart():
    """One ball strikes two that touch.

    With e = 1 both laws reverse: Newton each relative velocity, (-1, 0) to (1, 0); Poisson repeats the impulses 2/3 and
    1/3 that bring all to 1/3. With e = (0, 1) Newton's second contact has no approach to reverse, while Poisson's
    returns its impulse 1/3, against which the first contact must hold with 1/6.
    """
    u = np.array([1.0, 0.0, 0.0])
    for law in LAWS:
        after, _ = collide(law, chain(3), np.eye(3), u, restitution(2, e_N=1.0))
        np.testing.assert_allclose(after, [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0], atol=1e-9)
    mixed = Restitution(np.zeros(2), np.array([0.0, 1.0]), np.zeros(2), np.zeros(2, dtype=bool))
    newton, _ = collide(newton_law, chain(3), np.eye(3), u, mixed)
    poisson, _ = collide(poisson_law, chain(3), np.eye(3), u, mixed)
    np.testing.assert_allclose(newton, [1.0 / 3.0] * 3, atol=1e-9)
    np.testing.assert_allclose(poisson, [1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0], atol=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("law", LAWS)
def test_oblique_impact_of_a_point(law):
    """Friction impulse mu L_N while the point slips on; with mu large it stops tangentially."""
    u = np.array([-2.0, 3.0])
    after, L = collide(law, np.eye(2), np.eye(2), u, restitution(1, mu=0.1, e_N=0.5))
    np.testing.assert_allclose(L, [3.0, -0.3], atol=1e-9)
    np.testing.assert_allclose(after, [1.0, 2.7], atol=1e-9)
    after, _ = collide(law, np.eye(2), np.eye(2), u, restitution(1, mu=5.0, e_N=0.5))
    np.testing.assert_allclose(after, [1.0, 0.0], atol=1e-9)


def random_impact(rng, d, contacts):
    m = contacts * (1 + d)
    n = int(rng.integers(max(2, m // 2), m + 4))  # redundant contacts included
    B = rng.normal(size=(n, n))
    return rng.normal(size=(n, m)), B @ B.T + np.eye(n), rng.normal(size=n)


@pytest.mark.parametrize("d", [0, 1, 2])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_newtons_law_never_creates_energy_with_one_coefficient(d, e):
    rng = np.random.default_rng(11 + d)
    for contacts in (1, 2, 4) * 6:
        W, M, u = random_impact(rng, d, contacts)
        after, L = collide(newton_law, W, M, u, restitution(contacts, 0.3, e, e))
        G = W.T @ np.linalg.solve(M, W)
        change = 0.5 * (after @ M @ after - u @ M @ u)
        assert change == pytest.approx(energy_change(G, W.T @ u, L), abs=1e-9)
        bound = -0.5 * (1.0 - e) / (1.0 + e) * L @ G @ L
        assert change <= bound + 1e-8 * (u @ M @ u)
        if d == 0:  # no friction: the bound is the change
            assert change == pytest.approx(bound, abs=1e-8 * (u @ M @ u))


@pytest.mark.interpreted
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_poissons_law_never_creates_energy_without_friction(e):
    rng = np.random.default_rng(12)
    for contacts in (1, 2, 4, 8) * 6:
        W, M, u = random_impact(rng, 0, contacts)
        after, _ = collide(poisson_law, W, M, u, restitution(contacts, e_N=e))
        assert after @ M @ after <= (u @ M @ u) * (1.0 + 1e-9)


@pytest.mark.interpreted
def test_unlike_coefficients_can_create_energy_and_it_is_seen():
    """Kane and Levinson's paradox: e_N = 1, e_T = 0, and friction that keeps a body from slipping back.

    Sticking asks for 0 = 1/2 - 0.8 L_N + L_T, reversal for 1 = -1 + L_N - 0.8 L_T, hence L_T = 1.1 / 0.36. The normal
    impulse does no work (its velocity is reversed); friction does L_T gamma_T / 2 > 0.
    """
    G, before = np.array([[1.0, -0.8], [-0.8, 1.0]]), np.array([-1.0, 0.5])
    L = newton_law(G, before, np.zeros(2), restitution(1, mu=2.0, e_N=1.0), np.zeros(2)).L
    assert L[1] == pytest.approx(1.1 / 0.36, rel=1e-9)
    assert energy_change(G, before, L) == pytest.approx(0.25 * 1.1 / 0.36, rel=1e-9)
