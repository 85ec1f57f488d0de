"""The planar rod against its own energy, the elastica, and the theory of bars, rings and columns."""

import numpy as np
import pytest
from differences import derivative, order
from refusals import refused
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods.statics import frequencies

SOFT = dict(EA=5e3, GA=2e3, EI=1.0, rhoA=0.3, rhoI=2e-4)


def crumpled(rod: pl.PlanarRod, rng: np.random.Generator) -> np.ndarray:
    q = pl.circle(rod) if rod.closed else pl.line(rod, 0.4)
    return q + 0.1 * rod.ds * rng.standard_normal(q.size)


def force(rod: pl.PlanarRod, q: np.ndarray, u: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    F = np.zeros(q.size)
    return F, pl.forces(rod, q, np.zeros(q.size) if u is None else u, F)


DISCS = np.array([[0.1, 0.0, 0.14, 3e3], [-0.05, 0.0, 0.1, 1e3]])
RODS = {
    "closed": pl.planar_rod(9, 1.0, closed=True, kappa_0=3.0, discs=DISCS, **SOFT),
    "clockwise": pl.planar_rod(9, 1.0, closed=True, turn=-2 * np.pi, **SOFT),
    "open": pl.planar_rod(7, 1.0, kappa_0=-2.0, discs=DISCS, **SOFT),
    "clamped": pl.planar_rod(7, 1.0, held=(0.3, 0.6), **SOFT),
}


@pytest.mark.parametrize("name", RODS)
def test_forces_and_stiffness_are_derivatives_of_the_energy(name: str) -> None:
    """(6.53), (6.61) against differences of (6.52), (6.60); the stiffness against differences of the forces."""
    rod = RODS[name]
    q = crumpled(rod, np.random.default_rng(1))
    F, _ = force(rod, q)
    K = pl.stiffness(rod, q).toarray()
    slope = derivative(lambda q: sum(pl.energies(rod, q, np.zeros(q.size))), q, 1e-6)
    assert pytest.approx(-slope, abs=1e-7 * np.abs(F).max()) == F
    np.testing.assert_allclose(K, -derivative(lambda q: force(rod, q)[0], q, 1e-6).T, atol=1e-7 * K.max())


@pytest.mark.interpreted
def test_damping_conserves_momentum_and_takes_what_the_forces_take() -> None:
    """Also the angular momentum of a stretched rod, which the rate of strain of (6.79) would not conserve."""
    rod = pl.planar_rod(9, 1.0, closed=True, damping=(2.0, 0.7), **SOFT)
    still = rod._replace(c_0=0.0, c_1=0.0)
    rng = np.random.default_rng(3)
    q = crumpled(rod, rng)
    q[0::3] *= 1.3
    u = rng.standard_normal(q.size)
    F, power = force(rod, q, u)
    F -= force(still, q)[0]
    assert power == pytest.approx(-F @ u, rel=1e-12)
    assert power > 0.0
    scale = np.abs(F).max()
    assert abs(F[0::3].sum()) + abs(F[1::3].sum()) < 1e-12 * scale
    assert abs(np.sum(q[0::3] * F[1::3] - q[1::3] * F[0::3]) + F[2::3].sum()) < 1e-12 * scale
    spin = np.zeros(q.size)
    spin[0::3], spin[1::3], spin[2::3] = -7.0 * q[1::3] + 2.0, 7.0 * q[0::3], 7.0
    assert force(rod, q, spin)[1] < 1e-20 * power * 49.0 * scale


def test_cantilever_rolls_up_to_a_circle() -> None:
    """End moment 2 pi EI/L: the edges form a regular polygon, to rounding at any number of edges."""
    rod = pl.planar_rod(20, 1.0, EA=1e5, GA=4e4, EI=1.0, rhoA=1.0, held=(0.0, None))
    q = pl.line(rod)
    for part in np.linspace(0.1, 1.0, 10):
        load = np.zeros(q.size)
        load[-3] = part * 2 * np.pi
        q = pl.equilibrium(rod, q, load, fixed=(0, 1))
    np.testing.assert_allclose(q[-2:], 0.0, atol=1e-9)
    np.testing.assert_allclose(q[2::3], 2 * np.pi * (np.arange(20) + 0.5) / 20, atol=1e-9)


def elastica(load: float) -> tuple[float, float]:
    """Position of the tip of an inextensible cantilever under P L^2/EI across its axis (Bisshopp and Drucker 1945)."""

    def modulus(slope: float) -> tuple[float, float]:
        m = 0.5 * (1.0 + np.sin(slope))
        return m, np.arcsin(1.0 / np.sqrt(2.0 * m))

    def excess(slope: float) -> float:
        m, phi = modulus(slope)
        return float(ellipk(m) - ellipkinc(phi, m) - np.sqrt(load))

    slope = brentq(excess, 1e-6, 0.5 * np.pi - 1e-9)
    m, phi = modulus(slope)
    down = 1.0 - 2.0 / np.sqrt(load) * (ellipe(m) - ellipeinc(phi, m))
    return float(np.sqrt(2.0 * np.sin(slope) / load)), float(down)


@pytest.mark.interpreted
@pytest.mark.parametrize("load", [1.0, 5.0, 10.0])
def test_cantilever_under_end_load_is_the_elastica(load: float) -> None:
    """Second order in the length of an edge, and as exact as a rod with EA = GA = 1e7 EI/L^2 can be."""
    errors = []
    for N in (10, 20, 40, 80):
        rod = pl.planar_rod(N, 1.0, EA=1e7, GA=1e7, EI=1.0, rhoA=1.0, held=(0.0, None))
        q = pl.line(rod)
        for part in np.linspace(0.2, 1.0, 5):
            F = np.zeros(q.size)
            F[-1] = part * load
            q = pl.equilibrium(rod, q, F, fixed=(0, 1))
        errors.append(float(np.hypot(*(q[-2:] - elastica(load)))))
    assert errors[-1] < 1e-4
    assert order(errors) == pytest.approx(2.0, abs=0.1)


@pytest.mark.interpreted
def test_shear_and_extension_of_a_cantilever() -> None:
    """Small loads: tip P L^3/(3 EI) + P L/GA across (Timoshenko), P L/EA along, with order two."""
    errors = []
    for N in (8, 16, 32):
        rod = pl.planar_rod(N, 1.0, EA=70.0, GA=5.0, EI=1.0, rhoA=1.0, held=(0.0, None))
        F = np.zeros(pl.size(rod))
        F[-2], F[-1] = 1e-7, 1e-6
        q = pl.equilibrium(rod, pl.line(rod), F, fixed=(0, 1))
        assert q[-2] - 1.0 == pytest.approx(1e-7 / 70.0, rel=1e-3)
        errors.append(abs(q[-1] / 1e-6 - (1.0 / 3.0 + 1.0 / 5.0)))
    assert errors[-1] < 2e-3
    assert order(errors) == pytest.approx(2.0, abs=0.15)


@pytest.mark.interpreted
@pytest.mark.parametrize("GA", [200.0, 1e6])
def test_column_buckles(GA: float) -> None:
    """Pinned column of Reissner's rod: P (1 - P/EA + P/GA) = pi^2 EI/L^2 (Euler when EA, GA are large)."""
    EA, errors = 400.0, []
    exact = brentq(lambda P: P * (1.0 - P / EA + P / GA) - np.pi**2, 1.0, 15.0)
    for N in (10, 20, 40):
        rod = pl.planar_rod(N, 1.0, EA=EA, GA=GA, EI=1.0, rhoA=1.0)
        fixed = (0, 1, 3 * N + 1)

        def least(P: float, rod: pl.PlanarRod = rod, fixed: tuple[int, ...] = fixed) -> float:
            q = pl.line(rod)
            q[0::3] *= 1.0 - P / EA
            return float(frequencies(pl.stiffness(rod, q), np.ones(q.size), fixed)[0])

        errors.append(abs(brentq(least, 0.7 * exact, 1.3 * exact) - exact))
    assert errors[-1] < 1e-3 * exact
    assert order(errors) == pytest.approx(2.0, abs=0.1)


def ring_frequencies(rod: pl.PlanarRod, n: int) -> np.ndarray:
    """Three frequencies with n waves of the stress-free circular rod of (6.24), (6.30): tangential, radial, angle."""
    R = rod.N * rod.ds / (2.0 * np.pi)
    a, b, c = np.array([n, -1, 0]) / R, np.array([1, -n, -R]) / R, np.array([0, 0, n]) / R
    K = rod.EA * np.outer(a, a) + rod.GA * np.outer(b, b) + rod.EI * np.outer(c, c)
    root = np.array([rod.rhoA, rod.rhoA, rod.rhoI]) ** -0.5
    return np.sqrt(np.linalg.eigvalsh(root[:, None] * K * root))


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 5])
def test_ring_frequencies(n: int) -> None:
    """All three branches, bending, extension and shear, with order two; no stiffness against rigid motion."""
    errors = []
    for N in (24, 48, 96):
        rod = pl.planar_rod(N, 2 * np.pi, closed=True, kappa_0=1.0, EA=100.0, GA=40.0, EI=0.3, rhoA=1.0)
        found = frequencies(pl.stiffness(rod, pl.circle(rod)), pl.mass(rod))
        assert np.abs(found[:3]).max() < 1e-4
        exact = ring_frequencies(rod, n)
        errors.append(max(np.sort(np.abs(found - w))[1] / w for w in exact))  # pairs
    assert errors[-1] < (2 * np.pi * n / 96) ** 2 / 10
    assert order(errors) == pytest.approx(2.0, abs=0.1)


def spun(rod: pl.PlanarRod, Omega: float) -> tuple[np.ndarray, np.ndarray]:
    """Steady rotation about the centre: circle under the hoop tension, its velocities."""
    R_0 = rod.N * rod.ds / rod.turn
    radius = brentq(lambda r: rod.EA * (r / R_0 - 1.0) - rod.rhoA * R_0 * r * Omega**2, R_0, 1.5 * R_0)
    q = pl.circle(rod, stretch=radius / R_0)
    u = np.zeros(q.size)
    u[0::3], u[1::3], u[2::3] = -Omega * q[1::3], Omega * q[0::3], Omega
    return q, u


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3])
def test_travelling_ring_splits_its_frequencies(n: int) -> None:
    """Seen from the ring, 2 n W/(n^2+1) -+ n (n^2-1)/(n^2+1) sqrt((n^2+1) EI/(rhoA R^4) + W^2) (Bryan 1890)."""
    N, Omega = 160, 3.0
    rod = pl.planar_rod(N, 2 * np.pi, closed=True, kappa_0=1.0, EA=2e4, GA=2e4, EI=1.0, rhoA=1.0, rhoI=1e-3)
    q, u = spun(rod, Omega)
    theta = 2 * np.pi * np.arange(N) / N
    radial = 1e-4 * np.cos(n * theta)
    q[0::3] += radial * np.cos(theta)
    q[1::3] += radial * np.sin(theta)
    inverse, none = pl.inverse_mass(rod), np.zeros(q.size)
    dt, every, samples = 1e-4, 100, 700
    z = np.empty(samples, dtype=complex)
    for k in range(samples):
        turned = (q[0::3] + 1j * q[1::3]) * np.exp(-1j * (theta + Omega * dt * every * k))
        z[k] = np.mean(turned.real * np.exp(1j * n * theta))
        pl.march(rod, q, u, inverse, none, dt, every)
    # a sum of exponentials: poles of the Hankel matrices, the two strongest of them
    H = np.lib.stride_tricks.sliding_window_view(z - z.mean(), samples // 2)
    _, _, V = np.linalg.svd(H, full_matrices=False)
    poles = np.linalg.eigvals(np.linalg.lstsq(V[:2, :-1].T, V[:2, 1:].T, rcond=None)[0])
    found = np.sort(np.angle(poles) / (dt * every))
    mean, half = 2 * n * Omega / (n**2 + 1), n * (n**2 - 1) / (n**2 + 1) * np.sqrt(n**2 + 1 + Omega**2)
    np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(np.abs([mean - half, mean + half])), rtol=5e-3)
    assert found[0] * found[1] < 0.0


def test_free_flight_conserves_momentum_and_energy_to_second_order() -> None:
    rod = pl.planar_rod(24, 1.0, closed=True, kappa_0=2 * np.pi, **SOFT)
    rng = np.random.default_rng(4)
    q_0, u_0 = spun(rod, 30.0)
    m = pl.mass(rod)
    u_0 += 0.5 * rng.standard_normal(q_0.size) * np.tile([1.0, 1.0, 10.0], 24)

    def momenta(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        p = m * u
        spin = np.sum(q[0::3] * p[1::3] - q[1::3] * p[0::3]) + p[2::3].sum()
        return np.array([p[0::3].sum(), p[1::3].sum(), spin])

    drift = []
    for dt in (2e-5, 1e-5):
        q, u = q_0.copy(), u_0.copy()
        before, worst = sum(pl.energies(rod, q, u)), 0.0
        for _ in range(50):
            pl.march(rod, q, u, 1.0 / m, np.zeros(q.size), dt, round(1e-3 / dt))
            worst = max(worst, abs(sum(pl.energies(rod, q, u)) / before - 1.0))
        drift.append(worst)
        np.testing.assert_allclose(momenta(q, u), momenta(q_0, u_0), rtol=1e-9, atol=1e-10)
    assert drift[-1] < 2e-4
    assert order(drift) == pytest.approx(2.0, abs=0.4)


@pytest.mark.slow
def test_largest_step_is_two_over_the_largest_frequency() -> None:
    rod = pl.planar_rod(20, 1.0, closed=True, kappa_0=2 * np.pi, **SOFT)
    q_0 = pl.circle(rod)
    largest = 2.0 / frequencies(pl.stiffness(rod, q_0), pl.mass(rod))[-1]
    for part, stable in ((0.99, True), (1.01, False)):
        q, u = q_0.copy(), 1e-6 * np.random.default_rng(5).standard_normal(q_0.size)
        pl.march(rod, q, u, pl.inverse_mass(rod), np.zeros(q.size), part * largest, 3000)
        assert (np.abs(q - q_0).max() < 1e-3) == stable


@pytest.mark.parametrize(("change", "key"), [({"EA": 0.0}, "EA"), ({"GA": float("nan")}, "GA"), ({"N": 2}, "N"),
    ({"closed": True, "held": (0.0, None)}, "held")])  # fmt: skip
def test_bad_rods_are_refused(change: dict, key: str) -> None:
    arguments = dict(N=8, L=1.0, EA=1.0, GA=1.0, EI=1.0, rhoA=1.0) | change
    refused(key, lambda: pl.planar_rod(arguments.pop("N"), arguments.pop("L"), **arguments))
