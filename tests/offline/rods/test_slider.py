"""The slider on a rod against a block on an inclined plane, the beaded pendulum's energy, and Newton's third law."""

import numpy as np
import pytest

from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods.contour import contour
from rtcvt.offline.rods.slider import slide

G = 9.81


def inclined(angle: float, EI: float = 10.0, N: int = 10) -> tuple[pl.PlanarRod, np.ndarray]:
    rod = pl.planar_rod(N, 1.0, EA=1e4, GA=4e3, EI=EI, rhoA=1.0, rhoI=2e-3, held=(angle, None))
    return rod, pl.line(rod, angle)


@pytest.mark.parametrize("kind", ["spline", "local"])
@pytest.mark.parametrize("mu", [0.0, 0.2, 0.7])
def test_block_on_an_inclined_plane(kind: str, mu: float) -> None:
    """A rigid rod at 30 degrees: g (sin - mu cos) downhill, or it stays where it is to rounding, tan 30 = 0.58."""
    angle = np.radians(30.0)
    rod, q = inclined(angle)
    u, none = np.zeros(q.size), np.zeros(q.size)
    along = np.array([np.cos(angle), np.sin(angle)])
    state = np.array([*(0.8 * along), 0.0, 0.0, 0.8])
    steps, dt = 300, 1e-3
    lost, _, normal, stuck = slide(
        rod, contour(rod, kind), q, u, none, none, 0.5, mu, state, np.array([0.0, -G]), dt, steps
    )
    a = max(0.0, G * (np.sin(angle) - mu * np.cos(angle)))
    t = steps * dt
    assert 0.8 - state[:2] @ along == pytest.approx(0.5 * a * t**2, rel=1e-9, abs=1e-12)
    assert normal == pytest.approx(0.5 * G * np.cos(angle), rel=1e-9)
    assert lost == pytest.approx(mu * 0.5 * G * np.cos(angle) * 0.5 * a * t**2, abs=1e-10)
    assert stuck == (steps if mu > np.tan(angle) else 0)


def total(rod: pl.PlanarRod, q: np.ndarray, u: np.ndarray, load: np.ndarray, m: float, state: np.ndarray) -> float:
    return sum(pl.energies(rod, q, u)) - load @ q + m * (0.5 * (state[2] ** 2 + state[3] ** 2) + G * state[1])


def run(dt: float, mu: float, kind: str = "spline") -> tuple[float, float, float, float]:
    """Drop of the slider along a soft cantilever: change of energy, friction, damping and the last height."""
    rod, q = inclined(np.radians(-20.0))
    rod = rod._replace(c_0=1.0, c_1=0.5)
    u, load, m = np.zeros(q.size), pl.weight(rod, (0.0, -G)), 0.3
    inverse = pl.inverse_mass(rod, (0, 1))
    along = np.array([np.cos(np.radians(20.0)), -np.sin(np.radians(20.0))])
    state = np.array([*(0.2 * along), *(0.5 * along), 0.2])
    before = total(rod, q, u, load, m, state)
    args = rod, contour(rod, kind), q, u, inverse, load, m, mu, state, np.array([0.0, -G])
    lost, damped, _, _ = slide(*args, dt, round(0.4 / dt))
    assert 0.3 < state[4] < 1.0
    return before - total(rod, q, u, load, m, state), lost, damped, float(state[1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spline", "local"])
def test_energy_goes_into_friction_and_damping(kind: str) -> None:
    errors = []
    for dt in (1e-4, 5e-5, 2.5e-5):
        change, lost, damped, _ = run(dt, 0.2, kind)
        errors.append(abs(change - lost - damped))
    assert lost > 0.05 * change
    assert errors[-1] < 2e-3 * change
    assert errors[-1] < 0.7 * errors[-2]


@pytest.mark.slow
def test_without_friction_nothing_is_lost_to_it() -> None:
    change, lost, damped, _ = run(2.5e-5, 0.0)
    assert lost == pytest.approx(0.0, abs=1e-12)
    assert change == pytest.approx(damped, abs=5e-3)


@pytest.mark.slow
def test_momentum_of_rod_and_mass() -> None:
    """A free rod: what the contact gives the mass it takes from the rod."""
    rod = pl.planar_rod(10, 1.0, EA=1e4, GA=4e3, EI=10.0, rhoA=1.0, rhoI=2e-3)
    q, u, none = pl.line(rod), np.zeros(pl.size(rod)), np.zeros(pl.size(rod))
    state = np.array([0.3, 0.0, 2.0, -1.0, 0.3])
    m, M = 0.5, pl.mass(rod)
    args = rod, contour(rod), q, u, pl.inverse_mass(rod), none, m, 0.3, state, np.zeros(2)
    slide(*args, 1e-4, 1000)
    for k in range(2):
        assert m * state[2 + k] + (M * u)[k::3].sum() == pytest.approx(m * (2.0, -1.0)[k], rel=1e-10)
    assert state[4] > 0.32
