"""The ring against its own energy, virtual power, and the analytic ring of Hoppe (1871)."""

import numpy as np
import pytest
from differences import derivative

from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.vectors import accelerate, kinetic

L = 0.66092
SECTION = dict(EA=5.99e6, EI=1.707e-2, rhoA=0.2591)
RADIUS = L / (2 * np.pi)


def make(N_B: int = 104, d_axial: float = 0.0, d_bend: float = 0.0, EA: float = SECTION["EA"]) -> rg.Ring:
    length = L / N_B
    rhoA = SECTION["rhoA"]
    return rg.Ring(N_B=N_B, l=length, EA=EA, EI=SECTION["EI"], d_axial=d_axial, d_bend=d_bend, m=rhoA * length,
        J=rhoA * length**3 * 2 / 105, m_c=rhoA * length * 0.4378, h2=0.925e-3)  # fmt: skip


def circle(R: rg.Ring, stretch: float = 1.0) -> np.ndarray:
    """Nodes on a circle, run through clockwise; its arcs are `stretch` times the relaxed length."""
    q = np.zeros((R.N_B, rg.NQ))
    angle = -2 * np.pi * np.arange(R.N_B) / R.N_B
    q[:, 0], q[:, 1] = RADIUS * stretch * np.cos(angle), RADIUS * stretch * np.sin(angle)
    q[:, 2] = angle - np.pi / 2
    return q


def shape(R: rg.Ring, q: np.ndarray) -> np.ndarray:
    out = np.zeros((R.N_B, rg.N_SHAPE))
    rg.shape_of(R, q, np.cos(q[:, 2]), np.sin(q[:, 2]), out)
    return out


def rate(R: rg.Ring, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    out = np.zeros((R.N_B, rg.N_RATE))
    rg.rate_of(R, u, shape(R, q), out)
    return out


def force(R: rg.Ring, q: np.ndarray, u: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    F, S = np.zeros((R.N_B, rg.NQ)), np.zeros(R.N_B)
    u = np.zeros_like(F) if u is None else u
    power = rg.forces(R, shape(R, q), rate(R, q, u), np.zeros((R.N_B, rg.N_LOAD)), F, S)
    return F, S, power


def energy(R: rg.Ring, q: np.ndarray) -> float:
    return sum(rg.elastic_energy(R, shape(R, q)))


def crumpled(R: rg.Ring, rng: np.random.Generator) -> np.ndarray:
    q = circle(R)
    q[:, :2] += 2e-4 * rng.standard_normal((R.N_B, 2))
    q[:, 2] += 0.05 * rng.standard_normal(R.N_B)
    q[:, 3:] += 1e-4 * rng.standard_normal((R.N_B, 2))
    return q


def moved(q: np.ndarray, angle: float, shift: tuple[float, float]) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    out = q.copy()
    out[:, 0] = c * q[:, 0] - s * q[:, 1] + shift[0]
    out[:, 1] = s * q[:, 0] + c * q[:, 1] + shift[1]
    out[:, 2] += angle
    return out


def test_forces_are_the_gradient_of_the_energy() -> None:
    R = make(12)
    q = crumpled(R, np.random.default_rng(1))
    F, _, _ = force(R, q)
    gradient = derivative(lambda q: energy(R, q), q, 1e-7)
    scale = np.abs(gradient).max(axis=0)
    assert np.all(np.abs(F + gradient) < 1e-6 * scale)


@pytest.mark.interpreted
def test_held_loads_turn_with_the_ring() -> None:
    """Their power at a motion that turns with the ring stays, and so do their moments."""
    R, rng = make(24), np.random.default_rng(8)
    q, angle = crumpled(R, rng), 0.7
    q2 = moved(q, angle, (0.3, -0.1))
    load = rng.standard_normal((24, rg.N_LOAD))
    held, again, turned = np.zeros_like(load), np.zeros_like(load), np.zeros_like(load)
    rg.to_chords(R, shape(R, q), load, held)
    rg.from_chords(R, shape(R, q), held, again)
    np.testing.assert_allclose(again, load, atol=1e-12)
    rg.from_chords(R, shape(R, q2), held, turned)
    c, s = np.cos(angle), np.sin(angle)
    for a in (rg.FX, rg.HX):
        np.testing.assert_allclose(turned[:, a : a + 2], load[:, a : a + 2] @ [[c, s], [-s, c]], atol=1e-9)
    np.testing.assert_array_equal(turned[:, rg.QL :], load[:, rg.QL :])


@pytest.mark.interpreted
def test_power_of_held_loads_is_that_of_the_nodes_forces() -> None:
    R, rng = make(24), np.random.default_rng(9)
    q, u = crumpled(R, rng), rng.standard_normal((24, rg.NQ))
    at, rate, load = shape(R, q), np.zeros((24, rg.N_RATE)), rng.standard_normal((24, rg.N_LOAD))
    held, own, F, S = np.zeros_like(load), np.zeros((24, rg.NQ)), np.zeros((24, rg.NQ)), np.zeros(24)
    rg.rate_of(R, u, at, rate)
    rg.to_chords(R, at, load, held)
    rg.forces(R, at, rate, np.zeros_like(load), own, S)
    rg.forces(R, at, rate, load, F, S)
    assert sum(rg.power(R, at, rate, held, 0.0)) == pytest.approx(np.sum((F - own) * u), rel=1e-9)


@pytest.mark.interpreted
def test_the_curve_joins_at_the_nodes_and_is_deflected_at_its_quarters() -> None:
    R = make(12)
    q = crumpled(R, np.random.default_rng(5))
    joined = [rg.point(shape(R, q), k, 1.0)[:2] for k in range(12)]
    assert np.allclose(joined, np.roll(q[:, :2], -1, axis=0), atol=1e-15)
    quarter, deflection = [rg.point(shape(R, q), 3, xi)[4] for xi in (0.25, 0.75)], q[3, 3:].copy()
    q[3, 3:] = 0
    assert np.allclose(np.array(quarter) - [rg.point(shape(R, q), 3, xi)[4] for xi in (0.25, 0.75)], deflection)


def hessian(R: rg.Ring, q: np.ndarray) -> np.ndarray:
    """M^-1/2 K M^-1/2 from differences of the forces."""
    mass = np.tile([R.m, R.m, R.J, R.m_c, R.m_c], R.N_B) ** -0.5
    K = -derivative(lambda q: force(R, q)[0], q, [1e-8, 1e-8, 1e-6, 1e-8, 1e-8]).reshape(q.size, q.size)
    K = mass[:, None] * K * mass
    return 0.5 * (K + K.T)


def unstressed(R: rg.Ring) -> np.ndarray:
    """The circle whose arcs carry no tension."""
    lower, upper = 0.99, 1.01
    for _ in range(60):
        middle = 0.5 * (lower + upper)
        lower, upper = (middle, upper) if force(R, circle(R, middle))[1].mean() < 0 else (lower, middle)
    return circle(R, lower)


def frequencies(N_B: int) -> np.ndarray:
    """Bending modes of 2 to 5 waves and the breathing mode, over their analytic values."""
    R = make(N_B)
    q = unstressed(R)
    omega2, modes = np.linalg.eigh(hessian(R, q))
    n = np.arange(2, 6)
    hoppe = np.sqrt(SECTION["EI"] / (SECTION["rhoA"] * RADIUS**4)) * n * (n**2 - 1) / np.sqrt(n**2 + 1)
    breathing = np.sqrt(SECTION["EA"] / SECTION["rhoA"]) / RADIUS
    radial = np.hstack((q[:, :2], np.zeros((N_B, 3)))).ravel()
    found = omega2[[3, 5, 7, 9, np.argmax(np.abs(radial @ modes))]]  # three rigid motions, then pairs
    return np.sqrt(found) / [*hoppe, breathing]


@pytest.mark.slow
def test_frequencies_of_a_circular_ring_converge() -> None:
    coarse, middle, fine = (np.abs(frequencies(N_B) - 1) for N_B in (26, 52, 104))
    assert np.all(fine[:4] < 1e-3)
    assert np.all(np.log2(coarse / middle)[:4] > 1.9)
    assert np.all(np.log2(middle / fine)[:4] > 1.9)
    assert fine[4] < 0.05  # the curve between the nodes has its own inertia: order 4, once it is above this mode
    assert middle[4] / fine[4] > 10


def swing(R: rg.Ring, q: np.ndarray, u: np.ndarray, dt: float, steps: int) -> np.ndarray:
    """Semi-implicit Euler; energy at each step with the velocity of the middle of the step."""
    energies = np.zeros(steps)
    for n in range(steps):
        old = u.copy()
        F, _, _ = force(R, q)
        accelerate(rg.masses(R), F, u, dt)
        energies[n] = energy(R, q) + kinetic(rg.masses(R), 0.5 * (old + u))
        q += dt * u
    return energies


def spin_of(R: rg.Ring, q: np.ndarray, u: np.ndarray) -> float:
    return R.m * np.sum(q[:, 0] * u[:, 1] - q[:, 1] * u[:, 0]) + R.J * u[:, 2].sum()


@pytest.mark.slow
def test_free_ring_keeps_energy_momentum_and_spin() -> None:
    drift = []
    for dt, steps in ((1e-6, 400), (5e-7, 800)):
        R = make(52)
        rng = np.random.default_rng(8)
        q, u = unstressed(R), np.zeros((52, rg.NQ))
        u[:, 0], u[:, 1], u[:, 2] = 4 - 150 * q[:, 1], 1 + 150 * q[:, 0], 150.0
        u[:, :2] += 0.3 * rng.standard_normal((52, 2))
        u[:, 3:] += 0.3 * rng.standard_normal((52, 2))
        momentum, spin = u[:, :2].sum(axis=0), spin_of(R, q, u)
        e = swing(R, q, u, dt, steps)
        assert np.allclose(u[:, :2].sum(axis=0), momentum, rtol=1e-10)
        assert spin_of(R, q, u) == pytest.approx(spin, rel=1e-9)
        drift.append(np.ptp(e))
    assert drift[1] < 1e-4 * e[0]
    assert drift[0] / drift[1] > 3.0  # second order with the velocity of the middle
