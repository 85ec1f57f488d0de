"""Flanks of the two sides: the planar law by symmetry, action and reaction, the cone, power."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from pushbelt_starts import begun

from rtcvt.offline.pushbelt.contact import flank as planar
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.contact.friction import Coulomb
from rtcvt.offline.pushbelt.spatial import element as el
from rtcvt.offline.pushbelt.spatial import flank as fk

pytestmark = pytest.mark.interpreted

BELT, SHEAVES, _, START = begun("MED", 3)
LAW = Coulomb(BELT.mu, BELT.v_mu)
N, DT = BELT.N_E, 1e-6
BODY = el.Body(N, BELT.m_E, 1.6e-7, 1.5e-7, BELT.J_E)


class Found(NamedTuple):
    u: np.ndarray
    reaction: np.ndarray
    power: np.ndarray
    left: planar.Flanks
    right: planar.Flanks
    R: np.ndarray
    before: np.ndarray
    steps: np.ndarray


def solve(
    q: np.ndarray, u: np.ndarray, f: np.ndarray, s: np.ndarray, sd: np.ndarray, n_p: int, law: Any, dt: float = DT
) -> Found:
    R, u = np.zeros((N, 9)), u.copy()
    el.frames_of(q, np.cos(q[:, 2]), np.sin(q[:, 2]), R)
    sides, find = (planar.flanks(N, n_p), planar.flanks(N, n_p)), planar.search(N, 6)
    for side, sigma in enumerate((1.0, -1.0)):
        planar.contact_points(BELT, SHEAVES, el.Side(sigma, q, u, R), s[side], sides[side])
        planar.normal_forces(BELT, dt, el.Side(sigma, q, u, R), s[side], sd[side], sides[side])
    reaction, power, before = np.zeros((2, 2, 4)), np.zeros((2, 3)), u.copy()
    step = fk.Step(BODY, law, dt, el.Side(1.0, q, u, R), f, *sides)
    fk.velocities(BELT, step, s, find, np.zeros((N, 6)), reaction, power)
    return Found(u, reaction, power, *sides, R, before, find.far)


def setting(seed: int, size: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The start, elements 5 um deep in the sheaves, disturbed across the plane."""
    rng = np.random.default_rng(seed)
    q = np.column_stack([START.q, size * rng.standard_normal((N, 3)) * [5e-6, 1e-4, 1e-4]])
    u = np.column_stack([START.u, size * rng.standard_normal((N, 3)) * [0.01, 1, 1]])
    u[:, :3] += 0.01 * rng.standard_normal((N, 3)) * [1, 1, 100]
    f = rng.standard_normal((N, 6)) * [100, 100, 0.1, 100 * size, 0.1 * size, 0.1 * size]
    s, sd = np.tile(START.s, (2, 1, 1)), np.tile(START.sd, (2, 1, 1))
    s[:, :, 0] -= 5e-6
    if size > 0:
        s[:, :, 1:3] += 1e-5 * rng.standard_normal((2, 2, 2))
        sd[:, :, :3] += rng.standard_normal((2, 2, 3)) * [1e-3, 0.1, 0.1]
    return q, u, f, s, sd


@pytest.mark.parametrize("n_p", [1, 2])
def test_symmetric_elements_move_as_the_planar_ones(n_p: int) -> None:
    q, u, f, s, sd = setting(1, 0.0)
    found = solve(q, u, f, s, sd, n_p, LAW)
    fl, flat = planar.flanks(N, n_p), u[:, :3].copy()
    reaction, power = np.zeros((2, 4)), np.zeros((2, 3))
    at = Elements(q[:, :3].copy(), flat, np.cos(q[:, 2]), np.sin(q[:, 2]))
    planar.contact_points(BELT, SHEAVES, at, s[0], fl)
    planar.normal_forces(BELT, DT, at, s[0], sd[0], fl)
    rub = np.zeros((N, 3))
    planar.velocities(BELT, LAW, DT, at, f[:, :3].copy(), s[0], fl, planar.search(N), rub, reaction, power)
    assert np.count_nonzero(fl.force[:, 0]) > 80
    np.testing.assert_allclose(found.u[:, :3], flat, rtol=1e-9, atol=1e-9)  # two iterations, each to its own end
    # to what the iteration leaves, 1e-10 of the friction, over the arms of some 8 mm
    assert np.abs(found.u[:, 3]).max() < 1e-11
    assert np.abs(found.u[:, 4:]).max() < 1e-8
    np.testing.assert_allclose(found.left.force, fl.force, rtol=1e-8, atol=1e-8 * fl.force.max())
    np.testing.assert_allclose(found.left.force, found.right.force, rtol=1e-9, atol=1e-9 * fl.force.max())
    for side in range(2):
        np.testing.assert_allclose(found.reaction[side], reaction, rtol=1e-6, atol=1e-6 * np.abs(reaction).max())
    np.testing.assert_allclose(found.power, power, rtol=1e-5, atol=1e-5 * power.max())


@pytest.mark.parametrize("n_p", [1, 2])
def test_what_elements_gain_the_sheaves_lose(n_p: int) -> None:
    """Force along the shaft and the moment about it, by pulley."""
    q, u, f, s, sd = setting(2, 1.0)
    s[:, :, 1:3] = 0.0  # the torque of `reaction` is about the shaft
    found = solve(q, u, 0 * f, s, sd, n_p, LAW)
    mass = np.array([BODY.m, BODY.m, BODY.Theta_z, BODY.m, BODY.Theta_x, BODY.Theta_y])
    impulse = mass * (found.u - found.before) / DT
    spin = np.einsum("nij,nj->ni", found.R.reshape(N, 3, 3), impulse[:, [4, 5, 2]])[:, 2]
    for pulley, x_c in ((0, BELT.d_A), (1, 0.0)):
        there = (found.left.pulley == pulley) | (found.right.pulley == pulley)
        scale = found.left.force[there, 0].sum()
        axial = impulse[there, 3].sum() + found.reaction[0, pulley, 0] - found.reaction[1, pulley, 0]
        assert abs(axial) < 1e-8 * scale
        moment = spin + (q[:, 0] - x_c) * impulse[:, 1] - q[:, 1] * impulse[:, 0]
        # torque in the direction of travel is clockwise
        assert moment[there].sum() == pytest.approx(found.reaction[:, pulley, 3].sum(), abs=1e-8 * scale)


@pytest.mark.parametrize("v_mu", [2e-3, 1e-4])
def test_friction_stays_in_the_cone(v_mu: float) -> None:
    q, u, f, s, sd = setting(3, 1.0)
    law = Coulomb(BELT.mu, v_mu)
    found = solve(q, u, f, s, sd, 2, law)
    for sigma, fl in ((1.0, found.left), (-1.0, found.right)):
        for p in range(2):
            arm = fl.arm[:, p] * [1, 1, sigma]
            c = np.cross(found.u[:, [4, 5, 2]], arm)
            v = found.u[:, [0, 1, 3]] + np.einsum("nij,nj->ni", found.R.reshape(N, 3, 3), c)
            v = v * [1, 1, sigma] - fl.v[:, p, :3] - 0.5 * DT * fl.v[:, p, 3:]
            v -= fl.n[:, p] * np.sum(fl.n[:, p] * v, axis=1)[:, None]
            closed = fl.N[:, p] > 0
            assert closed.sum() > 80
            T, v, most = fl.T[closed, p], v[closed], law.mu * fl.N[closed, p]
            assert np.all(np.linalg.norm(T, axis=1) <= most * (1 + 1e-12))
            # and is what the law says of the slip at the end of the step
            size = np.linalg.norm(v, axis=1)
            assert np.abs(np.linalg.norm(T, axis=1) - most * size / np.hypot(size, v_mu)).max() < 1e-7 * most.max()
            A = found.R.reshape(N, 3, 3)[closed]
            along = np.einsum("nij,nj->ni", A, T) * [1, 1, sigma]
            assert np.abs(np.sum(along * v, axis=1) + np.linalg.norm(T, axis=1) * size).max() < 1e-7 * most.max()


def test_elements_out_of_line_need_few_steps() -> None:
    """Flanks loaded unlike at a multirate step and the least v_mu: friction outweighs inertia 2000 times."""
    q, u, f, s, sd = setting(7, 1.0)
    q[:, 3] += np.where(q[:, 0] > 0.5 * BELT.d_A, 3e-5, -3e-5)
    s[:, :, 0] -= 2e-5
    law = Coulomb(BELT.mu, 2e-4)
    for speed in (1.0, 2.0):  # rounding grows with it
        found = solve(q, u * [speed, speed, speed, 1, 1, 1], 100 * f, s, sd * [1, 1, 1, speed], 2, law, 2.5e-6)
        assert max(fl.N.max() for fl in (found.left, found.right)) > 8000
        assert np.count_nonzero(found.steps) > 20
        assert found.steps.max() <= 80


def test_power_of_the_flanks_is_booked() -> None:
    """Change of kinetic energy = power of all forces at mean velocities; friction and damping take, never give."""
    q, u, f, s, sd = setting(4, 1.0)
    found = solve(q, u, f, s, sd, 2, LAW)
    mass = np.array([BODY.m, BODY.m, BODY.Theta_z, BODY.m, BODY.Theta_x, BODY.Theta_y])
    mean = 0.5 * (found.u + found.before)
    gain = np.sum(mass * (found.u**2 - found.before**2)) / (2 * DT) - np.sum(f * mean)
    stiffness = BELT.c_el / (2 * BELT.cos_d)
    total = 0.0
    for side, fl in enumerate((found.left, found.right)):
        for p in range(2):
            # from the sheaves' motion and the springs
            spring = stiffness * np.maximum(fl.pen[:, p] - fl.w[:, p], 0) * (fl.N[:, p] > 0)
            sigma = 1.0 - 2.0 * side
            arm = fl.arm[:, p] * [1, 1, sigma]
            v = mean[:, [0, 1, 3]] + np.einsum(
                "nij,nj->ni", found.R.reshape(N, 3, 3), np.cross(mean[:, [4, 5, 2]], arm)
            )
            v = v * [1, 1, sigma] - fl.v[:, p, :3]
            total += np.sum(spring * np.sum(fl.n[:, p] * v, axis=1))
        for pulley in range(2):
            r = found.reaction[side, pulley]
            a_x, a_y = s[side, pulley, 2], -s[side, pulley, 1]
            a_z = 1 / np.sqrt(1 + a_x**2 + a_y**2)
            rate = sd[side, pulley]
            tilt = rate[1] * r[1] + rate[2] * r[2]
            total -= rate[0] * r[0] + tilt + rate[3] * r[3]
            assert a_z == pytest.approx(1)
    assert gain == pytest.approx(total - found.power.sum(), rel=1e-6)
    assert np.all(found.power.sum(axis=0) > 0)


def test_an_element_that_is_off_the_middle_is_pressed_back() -> None:
    q, u, f, s, sd = setting(5, 0.0)
    q[:, 3] = 1e-6
    found = solve(q, u, 0 * f, s, sd, 2, LAW)
    there = found.left.force[:, 0] > 0
    assert np.all(found.left.force[there, 0] > found.right.force[there, 0])
    assert np.all(found.u[there, 3] < 0)
