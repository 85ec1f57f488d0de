"""Proper orthogonal decomposition: constructed snapshots, Eckart and Young, an eigenvalue problem, a moving field."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

from rtcvt.offline.variator.pod import coefficients, modes_for, pod, projection_error, reconstruction, scales, stacked


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_constructed_snapshots_give_back_modes_and_singular_values(rng):
    """Legendre functions are orthonormal under Gauss quadrature; coefficients with known, decorrelated lengths."""
    x, w = np.polynomial.legendre.leggauss(40)
    k = np.arange(4)
    modes = np.polynomial.legendre.legvander(x, 3).T * np.sqrt(k + 0.5)[:, None]
    a, _ = np.linalg.qr(rng.normal(size=(30, 4)))
    sigma = np.array([5.0, 2.0, 0.3, 0.01])
    found = pod(a * sigma @ modes, w, energy=1.0 - 1e-12, most=4)
    assert_allclose(found.sigma[:4], sigma, rtol=1e-10)
    assert_allclose(found.sigma[4:], 0.0, atol=1e-13)
    assert_allclose(np.abs(found.modes * w @ modes.T), np.eye(4), atol=1e-10)


def test_what_is_missed_is_the_tail_of_the_singular_values(rng):
    """Eckart and Young 1936."""
    X, w = rng.normal(size=(25, 60)) * np.geomspace(1.0, 1e-3, 60), rng.uniform(0.5, 2.0, 60)
    for K in (1, 5, 20):
        basis = pod(X, w, energy=1.0, most=K)
        tail = np.sqrt(np.sum(basis.sigma[K:] ** 2) / np.sum(basis.sigma**2))
        assert_allclose(projection_error(basis, X), tail, rtol=1e-10)
        other = np.linalg.qr((rng.normal(size=(K, 60)) * np.sqrt(w)).T)[0].T / np.sqrt(w)
        assert projection_error(basis._replace(modes=other), X) > tail


def test_modes_are_those_of_the_eigenvalue_problem(rng):
    """sigma^2, u solve int sum_n x_n(s) x_n(t) u(t) dt = sigma^2 u(s)."""
    X, w = rng.normal(size=(50, 12)) @ rng.normal(size=(12, 12)), rng.uniform(0.5, 2.0, 12)
    basis = pod(X, w, energy=1.0)
    values, vectors = eigh(X.T @ X, np.diag(1.0 / w))  # u = diag(1/w) y
    assert_allclose(basis.sigma**2, values[::-1], rtol=1e-9)
    overlap = np.abs(basis.modes @ vectors[:, ::-1])
    assert_allclose(overlap, np.eye(12), atol=1e-7)


def test_a_finer_grid_with_its_quadrature_changes_nothing(rng):
    X, w = rng.normal(size=(20, 30)), rng.uniform(0.5, 2.0, 30)
    coarse, fine = pod(X, w), pod(np.repeat(X, 2, axis=1), np.repeat(0.5 * w, 2))
    assert_allclose(fine.sigma[:20], coarse.sigma[:20], rtol=1e-10)
    assert_allclose(fine.modes, np.repeat(coarse.modes, 2, axis=1), atol=1e-9)


def test_coefficients_invert_reconstruction(rng):
    basis = pod(rng.normal(size=(30, 40)), rng.uniform(0.5, 2.0, 40), energy=0.9)
    a = rng.normal(size=(5, len(basis.modes)))
    assert_allclose(coefficients(basis, reconstruction(basis, a)), a, atol=1e-12)


def test_number_of_modes_for_an_energy():
    sigma = np.sqrt([0.9, 0.09, 0.009, 0.001])
    assert [modes_for(sigma, e) for e in (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)] == [1, 1, 2, 2, 3, 4]
    assert modes_for(np.zeros(3), 0.999) == 1


def test_a_field_that_stands_in_space_has_one_mode_there_and_full_rank_on_the_belt():
    """Elements that pass under a narrow load: the same values, read at places or at elements."""
    n = 64
    place = np.arange(n) / n
    load = np.exp(-((place - 0.5) ** 2) / (2.0 * 0.02**2))
    space = np.tile(load, (n, 1))
    belt = np.stack([np.roll(load, k) for k in range(n)])
    assert len(pod(space).modes) == 1
    assert len(pod(belt).modes) > n // 4


def test_stacking_weighs_fields_alike(rng):
    fields = {
        "force": 1e4 * rng.normal(size=(8, 6)),
        "length": 1e-6 * rng.normal(size=(8, 6)),
        "none": np.zeros((8, 6)),
    }
    scale = scales(fields)
    X = stacked(fields, scale)
    assert_allclose([np.mean(x**2) for x in np.split(X, 3, axis=1)], [1.0, 1.0, 0.0])
