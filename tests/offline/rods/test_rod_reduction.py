"""Reduction of rods: pyMOR's POD, DEIM and Q-DEIM as oracles, energy, the full rod, and what steps are stable."""

import numpy as np
import pytest
from refusals import refused

from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import reduction as rd

G = (0.0, -9.81)
EVERY, SNAPSHOTS = 5e-3, 60


@pytest.fixture(scope="module")
def swing() -> tuple[pl.PlanarRod, np.ndarray, np.ndarray, np.ndarray]:
    """A soft rod pinned at one end, released level: rod, reference, snapshots of coordinates and of velocities."""
    rod = pl.planar_rod(16, 1.0, EA=400.0, GA=120.0, EI=0.01, rhoA=0.1, rhoI=1e-5)
    q, u = pl.line(rod), np.zeros(pl.size(rod))
    q_0, Q, U = q.copy(), [], []
    for _ in range(SNAPSHOTS):
        pl.march(rod, q, u, pl.inverse_mass(rod, (0, 1)), pl.weight(rod, G), EVERY / 40, 40)
        Q.append(q.copy())
        U.append(u.copy())
    return rod, q_0, np.array(Q), np.array(U)


def run(rod: pl.PlanarRod, R: rd.Reduced, dt: float, steps: int, keep: int) -> tuple[np.ndarray, np.ndarray]:
    k = R.V.shape[1]
    a, b, _ = rd.march(rod, R, np.zeros(k), np.zeros(k), dt, steps, keep)
    return a, b


def energy(rod: pl.PlanarRod, R: rd.Reduced, a: np.ndarray, b: np.ndarray) -> float:
    q = rd.lifted(R, a)
    return sum(pl.energies(rod, q, R.V @ b)) - pl.weight(rod, G) @ (q - R.q_0)


def states(V: np.ndarray, q_0: np.ndarray, m: np.ndarray, Q: np.ndarray) -> np.ndarray:
    return q_0 + rd.projected(V, q_0, m, Q) @ V.T


def test_basis_is_that_of_pymor(swing) -> None:
    algorithms = pytest.importorskip("pymor.algorithms.pod")
    from pymor.operators.numpy import NumpyMatrixOperator
    from pymor.vectorarrays.numpy import NumpyVectorSpace

    rod, q_0, Q, _ = swing
    m = pl.mass(rod)
    V = rd.basis(Q, q_0, m, 8)
    np.testing.assert_allclose(V.T @ (m[:, None] * V), np.eye(8), atol=1e-10)
    X = NumpyVectorSpace(q_0.size).from_numpy((Q - q_0).T)
    product = NumpyMatrixOperator(np.diag(m))
    other, _ = algorithms.pod(X, product=product, modes=8, method="qr_svd")
    assert np.linalg.svd(V.T @ (m[:, None] * other.to_numpy()), compute_uv=False).min() > 1.0 - 1e-8


@pytest.mark.slow
def test_points_are_those_of_pymor(swing) -> None:
    algorithms = pytest.importorskip("pymor.algorithms.ei")
    from pymor.vectorarrays.numpy import NumpyVectorSpace

    rod, _, Q, _ = swing
    U = np.linalg.svd(rd.force_snapshots(rod, Q).T, full_matrices=False)[0][:, :12]
    space = NumpyVectorSpace(U.shape[0])
    np.testing.assert_array_equal(rd.deim_points(U), algorithms.deim(space.from_numpy(U), pod=False)[0])
    other = algorithms.qdeim(space.from_numpy(U), pod=False)[0]
    assert set(rd.q_deim_points(U)) == set(other)


def test_all_modes_are_the_full_rod(swing) -> None:
    rod, q_0, Q, _ = swing
    V = np.diag(np.sqrt(pl.inverse_mass(rod)))[:, 2:]  # a basis of all that is free
    R = rd.galerkin(rod, q_0, V, pl.weight(rod, G))
    a, _ = run(rod, R, EVERY / 40, 40 * 20, 40)
    np.testing.assert_allclose(rd.lifted(R, a), Q[:20], atol=1e-9)


@pytest.mark.slow
def test_error_falls_with_the_modes(swing) -> None:
    """And the basis leaves the pin where it is."""
    rod, q_0, Q, _ = swing
    errors = []
    for k in (8, 16, 30):
        V = rd.basis(Q, q_0, pl.mass(rod), k)
        assert np.abs(V[:2]).max() < 1e-9 * np.abs(V).max()
        R = rd.galerkin(rod, q_0, V, pl.weight(rod, G))
        a, _ = run(rod, R, EVERY / 40, 40 * SNAPSHOTS, 40)
        errors.append(np.abs(rd.lifted(R, a) - Q)[:, -2:].max())
    assert errors[2] < 0.2 * errors[1] < 0.2 * errors[0]
    assert errors[2] < 5e-3


def test_galerkin_keeps_the_energy_and_deim_does_not(swing) -> None:
    """Verlet: of order two in the step; velocities as snapshots change nothing of that. Interpolated forces: none."""
    rod, q_0, Q, U = swing
    m, load = pl.mass(rod), pl.weight(rod, G)
    for V in (rd.basis(Q, q_0, m, 12), rd.basis(Q, q_0, m, 12, U, 5.0)):
        drift = []
        for n in (40, 80):
            R = rd.galerkin(rod, q_0, V, load)
            a, b = run(rod, R, EVERY / n, n * SNAPSHOTS, n)
            kinetic = np.max(0.5 * np.sum(b * b, axis=1))
            drift.append(max(abs(energy(rod, R, x, y)) for x, y in zip(a, b, strict=True)) / kinetic)
        assert drift[1] < 2e-3
        assert drift[0] / drift[1] > 3.0
    F = rd.force_snapshots(rod, states(V, q_0, m, Q))
    a, b = run(rod, rd.deim(rod, q_0, V, load, F, 24), EVERY / 80, 80 * SNAPSHOTS, 80)
    off = max(abs(energy(rod, R, x, y)) for x, y in zip(a, b, strict=True)) / kinetic
    assert not off < 10 * drift[1]


def test_ecsw_takes_few_elements_and_keeps_its_own_energy(swing) -> None:
    rod, q_0, Q, _ = swing
    m, load = pl.mass(rod), pl.weight(rod, G)
    V = rd.basis(Q, q_0, m, 5)
    P = states(V, q_0, m, Q)
    full = rd.galerkin(rod, q_0, V, load)
    R = rd.ecsw(rod, q_0, V, load, P[::3], 1e-3)
    assert R.w_e.min() > 0.0
    assert R.edges.size + R.vertices.size < 20
    forces = np.array([[rd._modal(rod, X, a) for a in rd.projected(V, q_0, m, P)] for X in (R, full)])
    assert np.linalg.norm(forces[0] - forces[1]) < 5e-3 * np.linalg.norm(forces[1])
    a, _ = run(rod, R, EVERY / 80, 80 * SNAPSHOTS, 80)
    other, _ = run(rod, full, EVERY / 80, 80 * SNAPSHOTS, 80)
    assert np.abs(rd.lifted(R, a) - rd.lifted(full, other)).max() < 0.05
    # sum xi_e V_e by integration of its own forces along the way
    fine, rates = run(rod, R, EVERY / 80, 80 * SNAPSHOTS, 1)
    power = np.array([(rd._modal(rod, R, x) + R.load) @ y for x, y in zip(fine[::10], rates[::10], strict=True)])
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1])) * EVERY / 8])
    kinetic = 0.5 * np.sum(rates[::10] ** 2, axis=1)
    assert np.abs(kinetic - kinetic[0] - work).max() < 0.02 * kinetic.max()


@pytest.mark.slow
def test_largest_step_of_a_projection(swing) -> None:
    """2/omega_max of V' K V, which is never less than that of the rod; half of the modal stiffness by differences."""
    rod, q_0, Q, _ = swing
    V = rd.basis(Q, q_0, pl.mass(rod), 8)
    straight = pl.planar_rod(16, 1.0, EA=400.0, GA=120.0, EI=0.01, rhoA=0.1, rhoI=1e-5)
    R = rd.galerkin(straight, q_0, V, np.zeros(q_0.size))
    limit = rd.stable_step(rod, q_0[None], V)
    assert limit >= rd.stable_step(rod, q_0[None])
    K = rd.modal_stiffness(rod, R, np.zeros(8))
    assert 2.0 / np.sqrt(np.linalg.eigvalsh(0.5 * (K + K.T))[-1]) == pytest.approx(limit, rel=1e-4)
    for part, stable in ((0.98, True), (1.02, False)):
        a, b = np.zeros(8), 1e-7 * np.ones(8)
        rd.march(rod, R, a, b, part * limit, 2000)
        assert (np.abs(a).max() < 1e-5) == stable


@pytest.mark.slow
def test_too_many_modes_or_points(swing) -> None:
    rod, q_0, Q, _ = swing
    refused("modes", lambda: rd.basis(Q, q_0, pl.mass(rod), 61))
    F = rd.force_snapshots(rod, Q)
    refused("points", lambda: rd.deim(rod, q_0, rd.basis(Q, q_0, pl.mass(rod), 5), np.zeros(q_0.size), F, 0))
