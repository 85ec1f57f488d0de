"""Ring sets on the elements in space: gradient, action and reaction, the planar law, tracking, crown, pillar."""

from typing import NamedTuple

import numpy as np
import pytest
from marks import slow
from pushbelt_starts import begun

from rtcvt.offline.pushbelt.contact import element_ring as planar
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.ring import ring as ring_model
from rtcvt.offline.pushbelt.spatial import element as el
from rtcvt.offline.pushbelt.spatial import element_ring as er
from rtcvt.offline.pushbelt.spatial.tracking import Tracking, tracking, tracking_energy, tracking_force

pytestmark = pytest.mark.interpreted

BELT, _, _, START = begun("OD", 0)
RING = ring_model.ring(BELT)  # of the two sets: forces scale, the kinematics are the same
N_E, N_B = BELT.N_E, BELT.N_B
GAP = 3e-4
W = 3.0e4


def guide(crown: float = 0.0, law: Tracking | None = None, bilateral: bool = False) -> er.Guide:
    widths = {"w_S": 23.2e-3, "w_P": 4.6e-3, "w_R": 8.7e-3}
    law = law or tracking(GAP, 0.0, 0.0)
    return er.guide(
        BELT, RING, **widths, crown=crown, law=law, W=W, W_E=0.5 * W, k_P=1e7, bilateral=bilateral
    )  # fmt: skip


class Bodies(NamedTuple):
    q: np.ndarray
    u: np.ndarray
    q_R: np.ndarray
    u_R: np.ndarray
    q_L: np.ndarray
    u_L: np.ndarray


def bodies(seed: int, size: float) -> Bodies:
    """The start, disturbed by `size` across the plane; elements 4 um into the ring."""
    rng = np.random.default_rng(seed)
    q = np.column_stack([START.q, size * rng.standard_normal((N_E, 3)) * [2e-4, 1e-2, 1e-2]])
    q[:, 0] -= 4e-6 * np.sin(q[:, 2])
    q[:, 1] += 4e-6 * np.cos(q[:, 2])
    u = np.column_stack([START.u, size * rng.standard_normal((N_E, 3)) * [0.1, 10, 10]])
    wave = 2 * np.pi * np.arange(N_B)[:, None] / N_B * rng.integers(1, 9, 3) + rng.uniform(0, 6, 3)
    q_L = size * np.sin(wave) * [4e-4, 1e-2, 1e-2]
    q_L[:, 0] += 6.95e-3
    return Bodies(q, u, START.q_R, START.u_R, q_L, size * rng.standard_normal((N_B, 3)) * [0.1, 10, 10])


class Found(NamedTuple):
    f: np.ndarray
    F_R: np.ndarray
    F_L: np.ndarray
    N: np.ndarray
    memory: np.ndarray
    energy: float


def evaluate(p: er.Guide, x: Bodies, sigma: float = 1.0, dt: float = 1e-6) -> Found:
    cs_R, sn_R = np.cos(x.q_R[:, 2]), np.sin(x.q_R[:, 2])
    shape, rate = np.zeros((N_B, ring_model.N_SHAPE)), np.zeros((N_B, ring_model.N_RATE))
    ring_model.shape_of(RING, x.q_R, cs_R, sn_R, shape)
    ring_model.rate_of(RING, x.u_R, shape, rate)
    R_E = np.zeros((N_E, 9))
    el.frames_of(x.q, np.cos(x.q[:, 2]), np.sin(x.q[:, 2]), R_E)
    s_R, memory, at, ear = START.s_R.copy(), np.zeros((N_E, er.MEMORY)), er.touch(N_E), er.touch(N_E)
    side = el.Side(sigma, x.q, x.u, R_E)
    for _ in range(4):  # until the projection is exact
        f, N, load, F_L = np.zeros((N_E, 6)), np.zeros((N_E, 6)), np.zeros((N_B, 9)), np.zeros((N_B, 3))
        memory[:] = 0.0
        strip = er.Strip(RING, shape, rate, load, x.q_L, x.u_L, F_L)
        er.ring_forces(p, strip, side, s_R, f, N, memory, at, ear, dt)
        er.ring_friction(p, strip, side, f, N, memory, at, ear, dt * p.W)
    F_R, none = np.zeros((N_B, 5)), RING._replace(EA=0.0, EI=0.0, d_axial=0.0, d_bend=0.0)
    ring_model.forces(none, shape, rate, load, F_R, np.zeros(N_B))
    return Found(f, F_R, F_L, N, memory, er.ring_energy(p, strip, side, s_R, at))


def moved(x: Bodies, h: float) -> Bodies:
    q, u = x.q.copy(), x.u
    for _ in range(2):
        mid = 0.5 * (x.q + q)
        ca, sa, cb, sb = np.cos(mid[:, 4]), np.sin(mid[:, 4]), np.cos(mid[:, 5]), np.sin(mid[:, 5])
        turn = (u[:, 2] * ca + u[:, 5] * sa) / cb
        rate = np.column_stack([u[:, 0], u[:, 1], turn, u[:, 3], u[:, 4] + turn * sb, u[:, 5] * ca - u[:, 2] * sa])
        q = x.q + h * rate
    return x._replace(q=q, q_R=x.q_R + h * x.u_R, q_L=x.q_L + h * x.u_L)


LAWS = {"flat": guide(), "tracking": guide(law=tracking(GAP, 5.0, 100.0)), "crown": guide(crown=0.3),
    "bilateral": guide(bilateral=True)}  # fmt: skip


@pytest.mark.parametrize(("name", "k_P", "bound"), [slow("flat", 0.0, 2e-3), ("tracking", 0.0, 2e-3),
    slow("crown", 0.0, 2e-2), slow("flat", 1e7, 2e-2), slow("bilateral", 0.0, 2e-3)])  # fmt: skip
def test_forces_are_the_gradient_of_the_energy(name: str, k_P: float, bound: float) -> None:
    """But for terms of second order in angles of 0.01: roll that changes along the ring, yaw of the ring's edge."""
    p = LAWS[name]._replace(mu=0.0, d=0.0, d_P=0.0, k_P=k_P)
    rng = np.random.default_rng(1)
    x, touched = bodies(1, 1.0), np.zeros(6)
    for _ in range(3):
        x = x._replace(
            u=rng.standard_normal((N_E, 6)) * [1, 1, 100, 1, 100, 100],
            u_R=rng.standard_normal((N_B, 5)) * [1, 1, 100, 0.1, 0.1],
            u_L=rng.standard_normal((N_B, 3)) * [1, 100, 100],
        )
        found, h = evaluate(p, x), 1e-9
        power = np.sum(found.f * x.u) + np.sum(found.F_R * x.u_R) + np.sum(found.F_L * x.u_L)
        change = (evaluate(p, moved(x, h)).energy - evaluate(p, moved(x, -h)).energy) / (2 * h)
        scale = np.sqrt(np.sum((found.f * x.u) ** 2) + np.sum((found.F_R * x.u_R) ** 2))
        assert power == pytest.approx(-change, abs=bound * scale)
        touched += np.abs(found.N).sum(axis=0)
    assert touched[0] > 0
    assert (touched[4] > 0) == (k_P > 0)
    assert (touched[5] > 0) == (name == "tracking")


@pytest.mark.parametrize("sigma", [1.0, -1.0])
@pytest.mark.parametrize("name", LAWS)
def test_action_is_reaction(name: str, sigma: float) -> None:
    x = bodies(2, 1.0)
    found = evaluate(LAWS[name], x, sigma)
    force = np.column_stack([found.f[:, :2], found.f[:, 3]])
    on_ring = np.array([*found.F_R[:, :2].sum(axis=0), sigma * found.F_L[:, 0].sum()])
    assert np.abs(force.sum(axis=0) + on_ring).max() < 1e-10 * np.abs(force).sum()
    R_E = np.zeros((N_E, 9))
    el.frames_of(x.q, np.cos(x.q[:, 2]), np.sin(x.q[:, 2]), R_E)
    moment = np.einsum("nij,nj->ni", R_E.reshape(N_E, 3, 3), found.f[:, [4, 5, 2]])
    moment += np.cross(x.q[:, [0, 1, 3]], force)
    z, F_z = sigma * x.q_L[:, 0], sigma * found.F_L[:, 0]
    F_x, F_y = found.F_R[:, 0], found.F_R[:, 1]
    theta, T = sigma * x.q_L[:, 1:], sigma * found.F_L[:, 1:]
    ring = np.array([np.sum(x.q_R[:, 1] * F_z - z * F_y + T[:, 0]), np.sum(z * F_x - x.q_R[:, 0] * F_z + T[:, 1]),
        np.sum(x.q_R[:,
        0] * F_y - x.q_R[:, 1] * F_x + found.F_R[:, 2] + theta[:, 0] * T[:, 1] - theta[:, 1] * T[:, 0])])  # fmt: skip
    # about z all is exact; about x and y the nodes' arms on an arc are those of the chord
    scale = np.abs(moment).sum(axis=0)
    assert abs(moment[:, 2].sum() + ring[2]) < 1e-9 * scale[2] + 1e-6
    assert np.abs(moment[:, :2].sum(axis=0) + ring[:2]).max() < 2e-3 * scale.max()


@pytest.mark.parametrize("kind", [planar.Unilateral, planar.Bilateral])
def test_in_the_plane_it_is_the_planar_law_without_friction_for_half_of_the_element(kind: type) -> None:
    x, both = bodies(3, 0.0), kind is planar.Bilateral
    if both:  # so that some saddles pull
        x.q[::2, :2] += 8e-6 * np.column_stack([np.sin(x.q[::2, 2]), -np.cos(x.q[::2, 2])])
    p = guide(law=tracking(GAP, 5.0, 100.0), crown=0.0 if both else 0.3, bilateral=both)._replace(mu=0.0)
    found = evaluate(p, x)
    cs, sn, cs_R, sn_R = np.cos(x.q[:, 2]), np.sin(x.q[:, 2]), np.cos(x.q_R[:, 2]), np.sin(x.q_R[:, 2])
    shape, rate = np.zeros((N_B, 11)), np.zeros((N_B, 9))
    ring_model.shape_of(RING, x.q_R, cs_R, sn_R, shape)
    ring_model.rate_of(RING, x.u_R, shape, rate)
    flat = planar.saddle(BELT, RING)._replace(k=p.k, d=p.d, mu=0.0)
    s_R = START.s_R.copy()
    at = planar.touch(N_E)
    for _ in range(4):
        f, N, load = np.zeros((N_E, 3)), np.zeros((N_E, 3)), np.zeros((N_B, 9))
        band, el = planar.Band(RING, shape, rate, load), Elements(x.q[:, :3].copy(), x.u[:, :3].copy(), cs, sn)
        memory = np.zeros((N_E, planar.N_MEMORY))
        planar.saddle_forces(kind(*flat), band, el, s_R, f, N, memory, at, 1e-6, 0.0)
    F_R, none = np.zeros((N_B, 5)), RING._replace(EA=0.0, EI=0.0, d_axial=0.0, d_bend=0.0)
    ring_model.forces(none, shape, rate, load, F_R, np.zeros(N_B))
    assert np.count_nonzero(N[:, 0]) > 100
    assert (N[:, 0].min() < -1.0) == both
    np.testing.assert_allclose(found.N[:, :3], N, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.f[:, :3], f, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.F_R, F_R, rtol=1e-8, atol=1e-8)
    assert not found.N[:, 3:].any()


@pytest.mark.parametrize("name", ["flat", "bilateral"])
def test_friction_takes_energy_and_stays_in_the_cone_along_and_across(name: str) -> None:
    x = bodies(4, 1.0)
    found = evaluate(LAWS[name], x, dt=1e-9)  # no bound
    f_t, f_l, v_t, v_l = found.memory[:, :4].T
    assert np.sum(f_t * v_t + f_l * v_l) < 0
    assert np.all(np.hypot(f_t, f_l) <= BELT.mu_R * np.abs(found.N[:, 0]) * (1 + 1e-12))
    assert np.abs(found.N[:, 3]).max() > 1


def test_tracking_law_of_the_source() -> None:
    """Table 5.1, (5.10), (5.11), monotone, once differentiable; the potential's derivative is the force."""
    law = tracking(GAP, 5.0, 100.0)
    points = [(0.0, 0.0), (0.5 * GAP, -5.0), (GAP, -100.0), (-0.5 * GAP, 5.0), (-GAP, 100.0)]
    for x, y in points:
        assert tracking_force(law, x) == pytest.approx(y, abs=1e-12)
    h = 0.5 * GAP
    d_0, d_1 = (5.0 - 100.0) / h, -5.0 / h
    assert law[3:] == pytest.approx(((3 * d_0 - d_1) / 2, 2 / (1 / d_0 + 1 / d_1), d_1))
    x = np.linspace(-1.5 * GAP, 1.5 * GAP, 3001)
    force = np.array([tracking_force(law, a) for a in x])
    energy = np.array([tracking_energy(law, a) for a in x])
    assert np.all(np.diff(force) < 0)
    assert np.abs(np.diff(force, 2)).max() < 2e-3 * np.abs(np.diff(force)).max() * 20
    np.testing.assert_allclose(-np.gradient(energy, x)[1:-1], force[1:-1], atol=0.02)
    assert force[-1] == pytest.approx(-100.0 + law.slope_0 * 0.5 * GAP)
    from scipy.interpolate import PchipInterpolator

    inside = np.abs(x) < h
    pchip = PchipInterpolator(np.array([p[0] for p in sorted(points)]), np.array([p[1] for p in sorted(points)]))
    np.testing.assert_allclose(force[inside], pchip(x[inside]), atol=1e-9)


def test_tracking_with_twice_the_force_at_the_pillar_is_a_bilateral_pillar() -> None:
    """(5.1): a spring to the saddle's middle in both directions, here of k_P = 1e7 N/m."""
    law = tracking(GAP, 0.5e7 * GAP, 1e7 * GAP)
    for x in np.linspace(-2.0 * GAP, 2.0 * GAP, 9):
        assert tracking_force(law, x) == pytest.approx(-1e7 * x)
        assert tracking_energy(law, x) == pytest.approx(0.5e7 * x**2)


def test_a_ring_off_the_middle_is_pushed_back_by_tracking_and_rolled_by_the_crown() -> None:
    x = bodies(5, 0.0)
    x.q_L[:, 0] += 1e-4
    assert evaluate(LAWS["tracking"], x).F_L[:, 0].sum() < 0
    rolled = evaluate(LAWS["crown"]._replace(mu=0.0), x)
    assert np.abs(rolled.F_L[:, 0]).max() < 1e-9
    # the contact lies inwards of the ring's middle: the ring rolls outwards, down the crown
    t = np.column_stack([np.cos(x.q_R[:, 2]), np.sin(x.q_R[:, 2])])
    assert np.sum(rolled.F_L[:, 1:] * t) > 0
    x.q_L[:, 0] -= 1e-4 + GAP + 2e-5
    assert evaluate(LAWS["flat"], x).N[:, 4].min() > 0
