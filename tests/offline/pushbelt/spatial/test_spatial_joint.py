"""Spatial joints: gradient of the potential, momentum, power of dampers, and the planar law where nothing tilts."""

import numpy as np
import pytest
from scipy.optimize import brentq

from rtcvt.offline.pushbelt.contact import element_element as planar
from rtcvt.offline.pushbelt.spatial import element as el
from rtcvt.offline.pushbelt.spatial import joint as jo
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters

pytestmark = pytest.mark.interpreted

N = 120
BELT = belt(load_parameters("pushbelt_24mm"))
J = jo.joint(BELT, 8e-3)._replace(N_E=N)
P = planar.joint(BELT)._replace(N_E=N)


def scratch() -> tuple[np.ndarray, ...]:
    return np.zeros((N, jo.N_PAIR)), np.zeros((N, jo.N_WRENCH)), np.zeros((N, 12))


def wreath(rng: np.random.Generator, size: float, turn: float, across: float) -> np.ndarray:
    """Elements in a circle, rocking edges closed; moved by `size` [m], turned, and `across` times that out of plane."""
    psi = 2 * np.pi / N

    def gap(radius: float) -> float:
        d = np.array([-radius * np.sin(psi), radius * (np.cos(psi) - 1)])
        return float(planar.gaps(P, d[0], d[1], np.cos(psi), np.sin(psi))[0])

    radius, angle = brentq(gap, 0.03, 0.2), -psi * np.arange(N)
    q = np.column_stack((radius * np.cos(angle), radius * np.sin(angle), angle - np.pi / 2, np.zeros((N, 3))))
    return q + size * rng.standard_normal((N, 6)) * [1, 1, turn, across, turn * across, turn * across]


def frames(q: np.ndarray) -> np.ndarray:
    R = np.zeros((N, 9))
    el.frames_of(q, np.cos(q[:, 2]), np.sin(q[:, 2]), R)
    return R


def forces(q: np.ndarray, u: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    f, normal, damper = np.zeros((N, 6)), np.zeros((N, 6)), np.zeros((N, 12))
    jo.joint_forces(J, q, np.zeros_like(q) if u is None else u, frames(q), f, normal, damper, *scratch(), 1e-6)
    return f, normal, damper


def moved(q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Positions after `h` at velocities u, to second order."""
    out = q.copy()
    for _ in range(2):
        mid = 0.5 * (q + out)
        ca, sa, cb, sb = np.cos(mid[:, 4]), np.sin(mid[:, 4]), np.cos(mid[:, 5]), np.sin(mid[:, 5])
        turn = (u[:, 2] * ca + u[:, 5] * sa) / cb
        rate = np.column_stack([u[:, 0], u[:, 1], turn, u[:, 3], u[:, 4] + turn * sb, u[:, 5] * ca - u[:, 2] * sa])
        out = q + h * rate
    return out


def test_forces_are_the_gradient_of_the_energy() -> None:
    rng, touched = np.random.default_rng(1), np.zeros(6)
    for turn in (40.0, 300.0, 1500.0):
        q = wreath(rng, 1e-4, turn, 1.0)
        f, normal, _ = forces(q)
        touched += (normal > 0).sum(axis=0)
        for _ in range(20):
            u, h = rng.standard_normal((N, 6)) * [1, 1, 100, 1, 100, 100], 1e-10
            ahead, behind = moved(q, u, h), moved(q, u, -h)
            change = jo.joint_energy(J, ahead, frames(ahead)) - jo.joint_energy(J, behind, frames(behind))
            assert -np.sum(f * u) == pytest.approx(change / (2 * h), rel=1e-5, abs=1e-2)
    assert np.all(touched > 0)


def test_action_is_reaction() -> None:
    rng = np.random.default_rng(2)
    q = wreath(rng, 1e-4, 300.0, 1.0)
    f, normal, _ = forces(q, rng.standard_normal((N, 6)) * [0.1, 0.1, 10, 0.1, 10, 10])
    force = f[:, [0, 1, 3]]
    moment = np.einsum("nij,nj->ni", frames(q).reshape(N, 3, 3), f[:, [4, 5, 2]]) + np.cross(q[:, [0, 1, 3]], force)
    assert np.abs(force.sum(axis=0)).max() < 1e-12 * np.abs(force).sum()
    assert np.abs(moment.sum(axis=0)).max() < 1e-12 * np.abs(moment).sum()
    assert normal.sum() > 0


def test_power_of_damping_is_never_positive_and_is_that_of_the_forces() -> None:
    rng = np.random.default_rng(3)
    q, u = wreath(rng, 1e-4, 300.0, 1.0), rng.standard_normal((N, 6)) * [0.01, 0.01, 1, 0.01, 1, 1]
    f, _, damper = forces(q, u)
    rest, _, _ = forces(q)
    taken = np.sum(damper[:, :6] * damper[:, 6:])
    assert taken < 0
    assert np.sum((f - rest) * u) == pytest.approx(taken, rel=1e-9)


@pytest.mark.parametrize("turn", [40.0, 400.0])
def test_in_the_plane_it_is_the_planar_law(turn: float) -> None:
    rng = np.random.default_rng(4)
    q, u = wreath(rng, 1.5e-4, turn, 0.0), np.zeros((N, 6))
    u[:, :3] = rng.standard_normal((N, 3)) * [0.1, 0.1, 10]
    f, normal, _ = forces(q, u)
    flat, flat_normal = np.zeros((N, 3)), np.zeros((N, 6))
    p, v, cs, sn = q[:, :3].copy(), u[:, :3].copy(), np.cos(q[:, 2]), np.sin(q[:, 2])
    planar.joint_forces(P, p, v, cs, sn, flat, flat_normal, np.zeros((N, 6)), np.zeros((N, 9)), np.zeros((N, 4)), 1e-6)
    ours = np.column_stack([normal[:, 0] + normal[:, 1], normal[:, 2:4], normal[:, 4], normal[:, 5]])
    theirs = np.column_stack([flat_normal[:, :3], flat_normal[:, 3] + flat_normal[:, 4], flat_normal[:, 5]])
    apart = (flat_normal[:, 3] > 0) & (flat_normal[:, 4] > 0)  # a pin that fills the hole: the spatial law has one side
    assert not apart.any()
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * theirs.max())
    np.testing.assert_allclose(f[:, :3], flat, rtol=1e-9, atol=1e-9 * np.abs(flat).max())
    assert np.abs(f[:, 3:]).max() < 1e-11 * np.abs(flat).max()
    assert jo.joint_energy(J, q, frames(q)) == pytest.approx(planar.joint_energy(P, p, cs, sn), rel=1e-9)


def test_a_yawed_element_is_pushed_on_one_side_and_an_offset_pin_to_the_middle() -> None:
    q = wreath(np.random.default_rng(5), 0.0, 0.0, 0.0)
    q[0, 5] = 2e-3  # yaw about y moves the front at z > 0 ahead
    f, normal, _ = forces(q)
    assert normal[0, 0] > 0
    assert normal[0, 1] == 0
    assert f[0, 5] < 0
    q = wreath(np.random.default_rng(5), 0.0, 0.0, 0.0)
    q[0, 3] = 1.5e-4
    f, normal, _ = forces(q)
    assert normal[0, 4] > 0
    assert f[0, 3] < 0
    assert f[:, 3].sum() == pytest.approx(0, abs=1e-9)


def test_the_largest_step_is_that_of_neighbours_that_yaw_against_each_other() -> None:
    q, Theta_y = wreath(np.random.default_rng(5), 0.0, 0.0, 0.0), 1.5e-7
    q[:, :2] *= 1.0 - 1e-3  # pressed
    yaw = 1e-6 * (-1.0) ** np.arange(N)
    q[:, 5] = yaw
    stiffness = -(forces(q)[0][:, 5] @ yaw) / (yaw @ yaw)
    free = J._replace(d_R=0.0)
    bound = 2.0 / np.sqrt(stiffness / Theta_y)
    assert jo.largest_step(free, Theta_y) == pytest.approx(jo._BEARS * bound, rel=0.02)
    assert 0.8 < jo.largest_step(J, Theta_y) / jo.largest_step(free, Theta_y) < 1.0
