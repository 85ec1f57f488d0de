"""The cable element: work, invariance, frequencies, deflection, bounding box."""

import numpy as np
import pytest
from scipy.linalg import eigh

from rtcvt.offline.belt.ancf import bounding_box, cable, elastic_energy, elastic_forces, elastic_tangent, shape

pytestmark = pytest.mark.interpreted

SCHEMES = ("a", "b", "c")


def chain(n, L, ring, seed=0):
    """A bent and stretched line of n elements, with rates."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.0, 1.8 * np.pi, n + 1)[: n if ring else n + 1]
    radius = n * L / (2 * np.pi)
    q = np.stack([radius * np.cos(angle), radius * np.sin(angle), -np.sin(angle), np.cos(angle)], axis=1)
    return q + 0.05 * radius * rng.normal(size=q.shape), rng.normal(size=q.shape)


def forces(c, q, v, elements):
    f = np.zeros_like(q)
    elastic_forces(c, q, v, elements, f)
    return f


def tangent(c, q, v, elements, cv):
    """The tangent as a dense matrix."""
    n = q.shape[0]
    D, G, N = np.zeros((n, 4, 4)), np.zeros((n, 4, 4)), np.zeros((n, 4, 4))
    elastic_tangent(c, q, v, elements, cv, np.zeros((8, 8)), D, G, N)
    K = np.zeros((4 * n, 4 * n))
    for e in range(n):
        K[4 * e : 4 * e + 4, 4 * e : 4 * e + 4] += D[e]
    for e in range(elements):
        i, j = slice(4 * e, 4 * e + 4), slice(4 * ((e + 1) % n), 4 * ((e + 1) % n) + 4)
        K[i, j] += G[e]
        K[j, i] += N[e]
    return K


def mass_matrix(c, elements):
    M = np.zeros((4 * elements + 4, 4 * elements + 4))
    for e in range(elements):
        M[4 * e : 4 * e + 8, 4 * e : 4 * e + 8] += np.kron(c.mass, np.eye(2))
    return M


@pytest.mark.parametrize("ring", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_forces_are_the_gradient_of_the_energy(scheme, ring):
    c = cable(0.3, 50.0, 0.4, 1.0, eps_ref=-0.05, scheme=scheme)
    q, _ = chain(5, 0.3, ring)
    v = np.zeros_like(q)
    f = forces(c, q, v, 5)
    for index in np.ndindex(q.shape):
        d = np.zeros_like(q)
        d[index] = 1e-6
        slope = (elastic_energy(c, q + d, v, 5)[0] - elastic_energy(c, q - d, v, 5)[0]) / 2e-6
        assert f[index] == pytest.approx(slope, rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tangent_is_the_derivative_of_the_forces(scheme):
    c = cable(0.3, 50.0, 0.4, 1.0, d_eps=0.7, d_K=0.02, eps_ref=-0.05, scheme=scheme)
    q, v = chain(4, 0.3, ring=False)
    cv = 3.0
    K = tangent(c, q, v, 4, cv)
    for j, index in enumerate(np.ndindex(q.shape)):
        d = np.zeros_like(q)
        d[index] = 1e-6
        column = (forces(c, q + d, v + cv * d, 4) - forces(c, q - d, v - cv * d, 4)).ravel() / 2e-6
        np.testing.assert_allclose(K[:, j], column, rtol=1e-6, atol=1e-6 * np.abs(K).max())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_turned_and_moved_belt_feels_the_same(scheme):
    c = cable(0.3, 50.0, 0.4, 1.0, d_eps=0.7, d_K=0.02, scheme=scheme)
    q, v = chain(6, 0.3, ring=True)
    R = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    turned = np.hstack([q[:, :2] @ R.T + [3.0, -2.0], q[:, 2:] @ R.T])
    f, g = forces(c, q, v, 6), forces(c, turned, np.hstack([v[:, :2] @ R.T, v[:, 2:] @ R.T]), 6)
    np.testing.assert_allclose(g, np.hstack([f[:, :2] @ R.T, f[:, 2:] @ R.T]), atol=1e-11)

    spin = np.stack([-q[:, 1] + 0.4, q[:, 0], -q[:, 3], q[:, 2]], axis=1)
    np.testing.assert_allclose(forces(c, q, spin, 6), forces(c, q, np.zeros_like(q), 6), atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_natural_frequencies_of_a_cantilever(scheme):
    """Bending omega_k = (beta_k)^2 sqrt(EI/(rho A l^4)), stretching (2 k - 1) pi/2 sqrt(EA/(rho A))/l."""
    n, length, EA, EI, mass = 12, 2.0, 3e4, 5.0, 0.8
    c = cable(length / n, EA, EI, mass, scheme=scheme)
    q = np.zeros((n + 1, 4))
    q[:, 0], q[:, 2] = np.linspace(0.0, length, n + 1), 1.0
    K, M = tangent(c, q, np.zeros_like(q), n, 0.0), mass_matrix(c, n)
    free = np.arange(4, 4 * n + 4)
    bending = np.concatenate([free[1::4], free[3::4]])
    stretching = np.concatenate([free[0::4], [2], free[2::4]])  # the clamp leaves the strain there free
    w = np.sqrt(eigh(K[np.ix_(bending, bending)], M[np.ix_(bending, bending)], eigvals_only=True))[:3]
    beta = np.array([1.8751040687, 4.6940911330, 7.8547574382])
    np.testing.assert_allclose(w, beta**2 * np.sqrt(EI / (mass * length**4)), rtol=2e-4)
    w = np.sqrt(np.abs(eigh(K[np.ix_(stretching, stretching)], M[np.ix_(stretching, stretching)], eigvals_only=True)))
    expected = np.pi / 2 * np.array([1.0, 3.0]) * np.sqrt(EA / mass) / length
    for value in expected:
        assert np.min(np.abs(w - value)) < 2e-3 * value


def test_small_deflection_of_a_cantilever_is_exact():
    n, length, EI = 4, 1.5, 2.0
    c = cable(length / n, 1e4, EI, 1.0)
    q = np.zeros((n + 1, 4))
    q[:, 0], q[:, 2] = np.linspace(0.0, length, n + 1), 1.0
    K = tangent(c, q, np.zeros_like(q), n, 0.0)
    free = np.concatenate([[2], np.arange(4, 4 * n + 4)])
    load = np.zeros(free.size)
    load[np.flatnonzero(free == 4 * n + 1)] = 1.0
    u = np.linalg.solve(K[np.ix_(free, free)], load)
    assert u[np.flatnonzero(free == 4 * n + 1)] == pytest.approx(length**3 / (3 * EI), rel=1e-9)


def test_mass_and_weight_add_up():
    c = cable(0.3, 1.0, 1.0, 0.8, gravity=9.81)
    assert c.mass[0, 0] + 2 * c.mass[0, 2] + c.mass[2, 2] == pytest.approx(0.24)
    assert c.weight[0] + c.weight[2] == pytest.approx(0.24 * 9.81)


def test_bounding_box_is_exact():
    rng = np.random.default_rng(1)
    L = 0.7
    S = shape(np.linspace(0.0, L, 4001), L)[0]
    for _ in range(200):
        q = rng.normal(size=(2, 4)) * [1.0, 1.0, 4.0, 4.0]
        r = S[:, [0]] * q[0, :2] + S[:, [1]] * q[0, 2:] + S[:, [2]] * q[1, :2] + S[:, [3]] * q[1, 2:]
        box = np.array(bounding_box(q, 0, L))
        expected = np.array([r[:, 0].min(), r[:, 0].max(), r[:, 1].min(), r[:, 1].max()])
        np.testing.assert_allclose(box, expected, atol=2e-6)
        assert np.all((box - expected) * [-1, 1, -1, 1] >= -1e-12)
