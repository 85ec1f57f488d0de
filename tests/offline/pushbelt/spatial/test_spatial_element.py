"""Free elements: energy kept to rounding, angular momentum to the step, order, small motion, the planar limit."""

import numpy as np
import pytest

from rtcvt.offline.pushbelt.spatial import element as el
from rtcvt.offline.pushbelt.vectors import kinetic

BODY = el.Body(1, 4e-3, 1.6e-7, 1.5e-7, 2.3e-8)


def spin(
    u: np.ndarray, time: float, steps: int, q: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q = np.zeros((1, 6)) if q is None else q.copy()
    u = u.copy()
    cs, sn, R = np.cos(q[:, 2]), np.sin(q[:, 2]), np.zeros((1, 9))
    el.frames_of(q, cs, sn, R)
    for _ in range(steps):
        el.move(q, u, cs, sn, R, time / steps)
        el.gyrate(BODY, u, time / steps)
    return q, u, R.reshape(3, 3)


def angular_momentum(u: np.ndarray, R: np.ndarray) -> np.ndarray:
    return R @ (np.array(BODY[2:]) * u[0, [4, 5, 2]])


def test_rotation_is_the_reversed_cardan_sequence() -> None:
    q = np.array([[0, 0, 0.7, 0, 0.3, -0.4], [0, 0, 0.7, 0, 0.03, -0.04]])
    R = np.zeros((2, 9))
    el.frames_of(q, np.cos(q[:, 2]), np.sin(q[:, 2]), R)
    for (_, _, g, _, a, b), found in zip(q, R, strict=True):
        Z = np.array([[np.cos(g), -np.sin(g), 0], [np.sin(g), np.cos(g), 0], [0, 0, 1]])
        Y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
        X = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
        np.testing.assert_allclose(found.reshape(3, 3), Z @ Y @ X, atol=1e-15)


def test_free_body_keeps_energy_and_in_the_limit_angular_momentum() -> None:
    u = np.array([[1.0, 2.0, 400.0, 0.5, 30.0, -50.0]])
    before, drift = kinetic(el.masses(BODY), u), []
    for steps in (1000, 2000, 4000):
        _, after, R = spin(u, 2e-3, steps)
        assert kinetic(el.masses(BODY), after) == pytest.approx(before, rel=1e-12)
        L = angular_momentum(u, np.eye(3))
        drift.append(np.linalg.norm(angular_momentum(after, R) - L) / np.linalg.norm(L))
    assert drift[-1] < 1e-3
    assert drift[0] / drift[1] == pytest.approx(2, rel=0.1)
    assert drift[1] / drift[2] == pytest.approx(2, rel=0.1)


def test_small_nutation_has_the_frequency_of_euler() -> None:
    """About the axis of the spin Omega: Omega sqrt((Theta_z - Theta_x)(Theta_z - Theta_y)/(Theta_x Theta_y))."""
    spin_rate, n = 400.0, 20000
    rate = spin_rate * np.sqrt((BODY[4] - BODY[2]) * (BODY[4] - BODY[3]) / (BODY[2] * BODY[3]))
    _, after, _ = spin(np.array([[0, 0, spin_rate, 0, 0.1, 0]]), 2 * np.pi / rate, n)
    np.testing.assert_allclose(after[0, 4:], [0.1, 0.0], atol=2e-4)


def test_planar_motion_stays_planar_to_the_bit() -> None:
    u = np.array([[3.0, -4.0, 321.0, 0.0, 0.0, 0.0]])
    q, after, R = spin(u, 1e-3, 100, np.array([[0.1, 0.2, 0.3, 0.0, 0.0, 0.0]]))
    assert np.array_equal(u, after)
    assert not q[0, 3:].any()
    assert R[2].tolist() == [0, 0, 1]
    assert R[0, 2] == R[1, 2] == 0
