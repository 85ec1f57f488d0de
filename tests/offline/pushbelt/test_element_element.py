"""Joints of the belt: forces from the gaps' potential, momentum, play and rolling by geometry."""

import numpy as np
import pytest
from differences import derivative
from scipy.optimize import brentq

from rtcvt.offline.pushbelt.contact import element_element as ee
from rtcvt.offline.pushbelt.unit.parameters import Belt, belt, load_parameters

N = 100

pytestmark = pytest.mark.interpreted


@pytest.fixture(scope="module")
def b() -> Belt:
    return belt(load_parameters("pushbelt_24mm"))


@pytest.fixture(scope="module")
def J(b: Belt) -> ee.Joint:
    return ee.joint(b)._replace(N_E=N)


def wreath(J: ee.Joint, rng: np.random.Generator, size: float, gap: float = 0.0, turn: float = 40.0) -> np.ndarray:
    """Elements in a circle, run through clockwise, rocking edges `gap` apart; then moved by `size`, turned by more."""
    psi = 2 * np.pi / N

    def rocking_gap(radius: float) -> float:
        d = np.array([-radius * np.sin(psi), radius * (np.cos(psi) - 1)])
        return ee.gaps(J, d[0], d[1], np.cos(psi), np.sin(psi))[0]

    radius = brentq(lambda r: rocking_gap(r) - gap, 0.25e-3 * N, 1e-3 * N)
    angle = -psi * np.arange(N)
    q = np.column_stack((radius * np.cos(angle), radius * np.sin(angle), angle - np.pi / 2))
    return q + size * rng.standard_normal((N, 3)) * [1, 1, turn]


def scratch() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((N, 9)), np.zeros((N, 4))


def forces(J: ee.Joint, q: np.ndarray, u: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    f, normal, damper = np.zeros((N, 3)), np.zeros((N, 6)), np.zeros((N, 6))
    u = np.zeros_like(q) if u is None else u
    ee.joint_forces(J, q, u, np.cos(q[:, 2]), np.sin(q[:, 2]), f, normal, damper, *scratch(), 1e-6)
    return f, normal, damper


def energy(J: ee.Joint, q: np.ndarray) -> float:
    return ee.joint_energy(J, q, np.cos(q[:, 2]), np.sin(q[:, 2]))


def test_every_contact_force_is_the_gradient_of_its_potential(J: ee.Joint) -> None:
    rng = np.random.default_rng(1)
    touched = np.zeros(6)
    for turn in (40.0, 400.0):
        q = wreath(J, rng, 1.5e-4, turn=turn)
        f, normal, _ = forces(J, q)
        touched += (normal > 0).sum(axis=0)
        gradient = derivative(lambda q: energy(J, q), q, 1e-9)
        assert np.all(np.abs(f + gradient) < 1e-4 * np.abs(gradient).max(axis=0))
    assert np.all(touched > 0)


def test_forces_on_both_elements_balance(J: ee.Joint) -> None:
    rng = np.random.default_rng(2)
    q = wreath(J, rng, 1.5e-4)
    f, normal, _ = forces(J, q, 0.1 * rng.standard_normal(q.shape))
    scale = normal.max()
    assert np.all(np.abs(f[:, :2].sum(axis=0)) < 1e-12 * scale)
    assert abs(np.sum(q[:, 0] * f[:, 1] - q[:, 1] * f[:, 0] + f[:, 2])) < 1e-12 * scale * N * J.x_R


def test_open_joints_carry_nothing(J: ee.Joint) -> None:
    rng = np.random.default_rng(3)
    f, normal, _ = forces(J, wreath(J, rng, 0.0, gap=1e-6), rng.standard_normal((N, 3)))
    assert not f.any()
    assert not normal.any()


def test_dampers_take_the_power_of_the_relative_velocity(J: ee.Joint) -> None:
    rng = np.random.default_rng(4)
    q, u = wreath(J, rng, 1.5e-4), 1e-3 * rng.standard_normal((N, 3))
    f, normal, _ = forces(J, q, u)
    f0, normal0, _ = forces(J, q)
    assert np.array_equal(normal > 0, normal0 > 0)
    power = np.sum((f - f0) * u)
    assert power < 0
    state = np.zeros((N, 3)), np.zeros((N, 6)), np.zeros((N, 6))
    cs, sn = np.cos(q[:, 2]), np.sin(q[:, 2])
    assert ee.joint_forces(J, q, u, cs, sn, *state, *scratch(), 1e-6) == 0
    assert ee.joint_forces(J, q, u, cs, sn, *state, *scratch(), 1e-6) == pytest.approx(-power * 1e-6, rel=1e-9)


def test_no_contact_pulls(J: ee.Joint) -> None:
    rng = np.random.default_rng(5)
    _, normal, _ = forces(J, wreath(J, rng, 1.5e-4), 5 * rng.standard_normal((N, 3)))
    assert normal.min() == 0
    assert normal.max() > 0


def test_play_of_the_pin_is_the_clearance(J: ee.Joint, b: Belt) -> None:
    """Upright neighbours in touch: the hole at the depth of the tip lets the pin move up and down."""
    c = np.hypot(1.0, (b.r_H1 - b.r_H2) / b.t_H)
    depth = b.t_P - b.t_R
    clearance = (b.r_H1 - depth * (b.r_H1 - b.r_H2) / b.t_H) - b.r_P2
    pitch = b.t_R

    def closed(dy: float) -> np.ndarray:
        return np.array(ee.gaps(J, -pitch, dy, 1.0, 0.0)[3:6]) < 0

    for dy in np.linspace(-2, 2, 81) * clearance:
        pin_up, pin_down, mouth = closed(dy)
        assert pin_up == (dy > clearance)
        assert pin_down == (dy < -clearance)
        assert mouth == (dy < -(b.r_H1 - b.r_P1))
    assert c > 1


def test_elements_roll_on_the_arc_without_slip(J: ee.Joint, b: Belt) -> None:
    """Roll i on the rear side of j by psi: the centre of the arc stays r_R away, the edge moves down by r_R psi."""
    for psi in np.linspace(0, 0.12, 13):
        c, s = np.cos(psi), np.sin(psi)
        # no slip: touching point runs down the rear side of j as far as along the arc of i
        centre = np.array([J.x_rear - J.r_R, J.y_R])
        arm = np.array([J.x_R - J.r_R, J.y_R])
        d = centre - [c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]]
        d[1] -= J.r_R * psi
        g = ee.gaps(J, d[0], d[1], c, s)
        assert g[0] == pytest.approx(0, abs=1e-15)
        assert g[6] == pytest.approx(J.y_R - J.r_R * psi, abs=1e-15)
        assert g[1] > 0 or psi == 0
    # the edges spread by r_R psi^2/2 along the rear side's normal
    edge = d[0] + c * J.x_R - s * J.y_R
    assert J.x_rear - edge == pytest.approx(J.r_R * psi**2 / 2, rel=0.01)


def test_arc_and_edge_meet(J: ee.Joint) -> None:
    d = -(J.x_R - J.x_rear)
    over, under = (ee.gaps(J, d, 0.0, np.cos(p), np.sin(p)) for p in (1e-9, -1e-9))
    assert over[0] == pytest.approx(under[0], abs=1e-10)
    assert over[6] == pytest.approx(under[6], abs=1e-10)


@pytest.mark.parametrize("start", [0.1, 0.1003, 0.1042])
def test_switching_closes_the_energy_balance_of_a_mass_that_bounces_off_a_spring(start: float) -> None:
    k, dt, gap, rate = 1e3, 1e-2, start, -1.0
    taken = 0.0
    for _ in range(60):
        gap += dt * rate
        taken += ee.switching(k, gap, rate, dt)
        rate += dt * max(0.0, -k * gap)
    assert gap > 0.0
    assert rate > 0.0
    assert abs(rate - 1.0) > 1e-6
    assert 0.5 * rate**2 + taken == pytest.approx(0.5, rel=1e-12)


def test_the_largest_step_is_that_of_neighbours_that_swing_against_each_other(b: Belt, J: ee.Joint) -> None:
    """A chain pressed straight, its elements to and fro in turn; stiffness from the potential of a pair."""

    def potential(q: np.ndarray) -> float:
        (x, y, phi), (x_j, y_j, phi_j) = q
        d, c, s = (x - x_j, y - y_j), np.cos(phi_j), np.sin(phi_j)
        seen = ee.gaps(J, c * d[0] + s * d[1], c * d[1] - s * d[0], np.cos(phi - phi_j), np.sin(phi - phi_j))
        return 0.5 * sum(k * min(g, 0.0) ** 2 for k, g in zip((J.k_R, J.k_T, J.k_B), seen, strict=False))

    straight = np.array([[0.0, 0.0, 0.0], [b.t_R - 1e-6, 0.0, 0.0]])
    K = np.array([
        derivative(lambda q, k=k: derivative(potential, q, 1e-8)[k // 3, k % 3], straight, 1e-8).ravel()
        for k in range(6)
    ]).reshape(2, 3, 2, 3)  # fmt: skip
    swing = K[0, :, 0] + K[1, :, 1] - K[0, :, 1] - K[1, :, 0]
    M = np.array([b.m_E, b.m_E, b.J_E])
    omega = np.sqrt(np.linalg.eigvals(swing / M[:, None]).real.max())
    free = b._replace(d_R=0.0, d_T=0.0, d_B=0.0)
    assert ee.largest_step(free) == pytest.approx(ee._BEARS * 2.0 / omega, rel=0.02)
    assert 0.8 < ee.largest_step(b) / ee.largest_step(free) < 1.0


def test_elements_that_turn_as_one_body_do_not_move_against_each_other(J: ee.Joint) -> None:
    q, omega, pair = wreath(J, np.random.default_rng(5), 1e-4), 300.0, np.zeros((N, 9))
    u = omega * np.column_stack([-q[:, 1], q[:, 0], np.ones(N)])
    ee._pairs(q, u, np.cos(q[:, 2]), np.sin(q[:, 2]), 1, 4, 0, pair)
    np.testing.assert_allclose(pair[1:4, 4:7], 0.0, atol=1e-9 * omega)
    assert np.abs(pair[1:4, :2]).max() > 1e-3
