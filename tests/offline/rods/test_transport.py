"""The rod in a frame fixed in space: exact shifts, the spun ring at rest, its vibrations, conserved momentum."""

import numpy as np
import pytest
from marks import slow

from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import reduction as rd
from rtcvt.offline.rods import transport as tr

pytestmark = pytest.mark.interpreted

N, OMEGA = 64, 3.0


def ring() -> pl.PlanarRod:
    return pl.planar_rod(N, 2 * np.pi, closed=True, kappa_0=1.0, EA=2e3, GA=2e3, EI=1.0, rhoA=1.0, rhoI=1e-2)


def spun(stretch: float, wave: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rotating circle with `wave` of an inextensible mode of two waves."""
    rod = ring()
    q, u = pl.circle(rod, stretch), np.zeros(pl.size(rod))
    u[0::3], u[1::3], u[2::3] = -OMEGA * q[1::3], OMEGA * q[0::3], OMEGA
    s = 2 * np.pi * np.arange(N) / N
    out, along = wave * np.cos(2 * s), -0.5 * wave * np.sin(2 * s)
    q[0::3] += out * np.cos(s) - along * np.sin(s)
    q[1::3] += out * np.sin(s) + along * np.cos(s)
    q[2::3] += 1.5 * wave * np.sin(2 * s + 2 * np.pi / N)
    return q, u


def test_derivative_and_shift() -> None:
    """Exact on trigonometric polynomials; a shift by whole edges renumbers, gamma without what it turns."""
    rod, rng = ring(), np.random.default_rng(1)
    s = rod.ds * np.arange(N)
    field = np.zeros((2, 3 * N))
    field[0, 0::3], field[1, 2::3] = np.cos(3 * s), np.sin(5 * s)
    np.testing.assert_allclose(tr.derivative(rod, field)[0, 0::3], -3 * np.sin(3 * s), atol=1e-11)
    moved = tr.shifted(rod, field, np.array([0.1, 0.2]), rates=True)
    np.testing.assert_allclose(moved[0, 0::3], np.cos(3 * (s - 0.1)), atol=1e-12)
    np.testing.assert_allclose(moved[1, 2::3], np.sin(5 * (s - 0.2)), atol=1e-12)
    q = pl.circle(rod) + 0.1 * rng.standard_normal(3 * N)
    whole = tr.shifted(rod, q[None], np.array([3 * rod.ds]))[0]
    np.testing.assert_allclose(whole[0::3], np.roll(q[0::3], 3), atol=1e-12)
    expected = np.roll(q[2::3], 3)
    expected[:3] -= rod.turn
    np.testing.assert_allclose(whole[2::3], expected, atol=1e-12)
    D = tr.derivative(rod, np.eye(3 * N))
    np.testing.assert_allclose(D, -D.T, atol=1e-11)


def recorded(wave: float, n: int) -> tuple[np.ndarray, ...]:
    """Full run of n times 10 ms; snapshots in space, their rates, the speeds, the material ones."""
    rod, stretch = ring(), 1.0 + OMEGA**2 / 2e3 / (1.0 - OMEGA**2 / 2e3)
    q, u = spun(stretch, wave)
    Q, U = [q.copy()], [u.copy()]
    for _ in range(n):
        pl.march(rod, q, u, pl.inverse_mass(rod), np.zeros(q.size), 2e-4, 50)
        Q.append(q.copy())
        U.append(u.copy())
    material, way = np.array(Q), OMEGA * 1e-2 * np.arange(n + 1)
    way = tr.followed(rod, material, way, tr.shifted(rod, material, way)[0])
    return *tr.in_space(rod, material, np.array(U), way), material


def test_a_steady_run_is_one_point() -> None:
    Q, rates, v, material = recorded(0.0, 50)
    assert np.abs(Q - Q[0]).max() < 1e-3
    assert np.abs(rates).max() < 0.05
    np.testing.assert_allclose(v, OMEGA, rtol=1e-3)
    assert np.abs(material - material[0]).max() > 1.0


@pytest.mark.parametrize(("wave", "bound", "n"), [slow(0.01, 0.02, 300), slow(0.03, 0.08, 300), (0.03, 0.08, 20)])
def test_vibrations_of_a_travelling_ring(wave: float, bound: float, n: int) -> None:
    """Against the full rod in material coordinates, ten modes; the momentum of the flow and the energy are kept."""
    rod, m = ring(), pl.mass(ring())
    Q, rates, v, _ = recorded(wave, n)
    q_0 = Q.mean(axis=0)
    V = rd.basis(Q, q_0, m, 10)
    R = tr.moving(rod, rd.galerkin(rod, q_0, V, np.zeros(q_0.size)), float(v[0]))
    a, b = rd.projected(V, q_0, m, Q[:1])[0], rd.projected(V, np.zeros(1), m, rates[:1])[0]
    a_s, b_s, v_s = rd.march(rod, R, a, b, 2e-4, 50 * n, 50)
    motion = np.sqrt(np.mean((Q - q_0) ** 2 * m))
    assert np.sqrt(np.mean((rd.lifted(R, a_s) - Q[1:]) ** 2 * m)) < bound * motion
    X = rd.lifted(R, a_s)
    u = b_s @ V.T + v_s[:, None] * tr.slope_of(rod, X)
    total = [sum(pl.energies(rod, x, y)) for x, y in zip(X, u, strict=True)]
    assert np.ptp(total) < 1e-4 * total[0]
    momentum = np.sum(m * u * tr.slope_of(rod, X), axis=1)
    assert np.ptp(momentum) < 1e-6 * momentum[0]
