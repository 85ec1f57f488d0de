"""Saddle and ear: momentum, potential, friction, works, projection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow

from rtcvt.offline.pushbelt.contact import element_ring as er
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters

N, N_B = 60, 104
DT = 1e-6
LAWS = [er.Unilateral, slow(er.Bilateral)]


@pytest.fixture(scope="module")
def p() -> er.Saddle:
    b = belt(load_parameters("pushbelt_24mm"), N_B=N_B)
    return er.saddle(b, rg.ring(b))._replace(N_E=N)


@pytest.fixture(scope="module")
def R() -> rg.Ring:
    return rg.ring(belt(load_parameters("pushbelt_24mm"), N_B=N_B))


def zeros(*shape: int) -> np.ndarray:
    """As in a run: compiled once for both."""
    return np.zeros(shape, order="F")


class Scene:
    """Elements inside a ring of radius l N_B/2 pi; gaps of the saddles are `gap` [m]."""

    def __init__(self, p: er.Saddle, R: rg.Ring, gap: np.ndarray, seed: int):
        rng = np.random.default_rng(seed)
        angle = -2 * np.pi * np.arange(N_B) / N_B
        radius = R.l * N_B / (2 * np.pi)
        self.q_R = np.asfortranarray(
            np.column_stack((radius * np.cos(angle), radius * np.sin(angle), angle - np.pi / 2, *np.zeros((2, N_B))))
        )
        self.q_R[:, :2] += 2e-5 * rng.standard_normal((N_B, 2))
        self.q_R[:, 3:] += 1e-5 * rng.standard_normal((N_B, 2))
        self.u_R = np.asfortranarray(rng.standard_normal((N_B, rg.NQ)) * [1, 1, 50, 1, 1])
        self.s_R = (np.arange(N) + 0.37) * N_B / N
        self.q, self.u = zeros(N, 3), np.asfortranarray(0.5 * rng.standard_normal((N, 3)) * [1, 1, 100])
        self.shape_of(R)
        for i in range(N):
            k = int(self.s_R[i])
            x, y, gx, gy, _, _ = rg.point(self.shape, k, self.s_R[i] - k)
            t = np.array([gx, gy]) / np.hypot(gx, gy)
            phi = np.arctan2(t[1], t[0]) + 0.02 * rng.standard_normal()
            saddle = np.array([x, y]) - (R.h2 + gap[i]) * np.array([-t[1], t[0]])
            c, s = np.cos(phi), np.sin(phi)
            self.q[i] = *(saddle - [c * p.x - s * p.y_S, s * p.x + c * p.y_S]), phi
        self.settle(p, R)

    def shape_of(self, R: rg.Ring) -> None:
        self.shape, self.rate = zeros(N_B, rg.N_SHAPE), zeros(N_B, rg.N_RATE)
        rg.shape_of(R, self.q_R, np.cos(self.q_R[:, 2]), np.sin(self.q_R[:, 2]), self.shape)
        rg.rate_of(R, self.u_R, self.shape, self.rate)
        self.cs, self.sn = np.cos(self.q[:, 2]), np.sin(self.q[:, 2])

    def settle(self, p: er.Saddle, R: rg.Ring) -> None:
        """Repeat the projection until it stands."""
        self.shape_of(R)
        for i in range(N):
            for _ in range(20):
                x = self.q[i, 0] + self.cs[i] * p.x - self.sn[i] * p.y_S
                y = self.q[i, 1] + self.sn[i] * p.x + self.cs[i] * p.y_S
                self.s_R[i] = er.project(R, self.shape, self.s_R[i], x, y)[0]

    def forces(
        self,
        law,
        p: er.Saddle,
        R: rg.Ring,
        dt: float = DT,
        steps: int = 1,
        still: bool = False,
        lead: float = 0.0,
        G: float = 1e-12,
    ):
        """Forces on elements and ring nodes (contact only), normal forces and works.

        Friction is that of the velocities of the scene: with so small a `G` it does not change them.
        """
        f, normal, memory, at = zeros(N, 3), zeros(N, 3), zeros(N, er.N_MEMORY), er.touch(N)
        u, rate = (0 * self.u, 0 * self.rate) if still else (self.u, self.rate)
        F, S, load = zeros(N_B, rg.NQ), np.zeros(N_B), zeros(N_B, rg.N_LOAD)
        rg.forces(R, self.shape, rate, load, F, S)
        own = F.copy()
        for _ in range(steps):
            f[:], load[:] = 0, 0
            s_R = self.s_R.copy()
            band, el = er.Band(R, self.shape, rate, load), Elements(self.q, u, self.cs, self.sn)
            work = er.saddle_forces(law(*p), band, el, s_R, f, normal, memory, at, dt, lead)
            er.saddle_friction(law(*p), band, u, f, normal, memory, at, G)
        rg.forces(R, self.shape, rate, load, F, S)
        return f, F - own, normal, work

    def energy(self, law, p: er.Saddle, R: rg.Ring) -> float:
        self.settle(p, R)
        band, el = er.Band(R, self.shape, self.rate, None), Elements(self.q, self.u, self.cs, self.sn)
        return er.saddle_energy(law(*p), band, el, self.s_R)


def mixed_gaps() -> np.ndarray:
    """A third closed at the saddle, a third free, a third closed at the ear."""
    return np.tile([-4e-6, 2e-4, 5.05e-4], N // 3)


@pytest.mark.parametrize("law", LAWS)
def test_momentum_and_angular_momentum_balance(law, p: er.Saddle, R: rg.Ring) -> None:
    scene = Scene(p, R, mixed_gaps(), 1)
    f, F, normal, _ = scene.forces(law, p, R)
    scale = np.abs(normal).max()
    assert np.all(np.abs(f[:, :2].sum(axis=0) + F[:, :2].sum(axis=0)) < 1e-9 * scale)
    moment = [np.sum(q[:, 0] * g[:, 1] - q[:, 1] * g[:, 0] + g[:, 2]) for q, g in ((scene.q, f), (scene.q_R, F))]
    assert abs(sum(moment)) < 1e-9 * scale * 0.1


@pytest.mark.parametrize("law", LAWS)
def test_forces_at_rest_are_the_gradient_of_the_potential(law, p: er.Saddle, R: rg.Ring) -> None:
    scene = Scene(p, R, mixed_gaps(), 2)
    f, F, normal, _ = scene.forces(law, p, R, still=True)
    assert (normal[:, 0] != 0).any()
    assert (normal[:, 1] != 0).any() == (law is er.Unilateral)
    for array, force in ((scene.q, f), (scene.q_R, F)):
        scale = np.abs(force).max(axis=0)
        for i in [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2), (7, 0), (7, 1), (7, 2), (7, 3), (7, 4), (20, 1)]:
            if i[1] >= array.shape[1]:
                continue
            keep, h = array[i], 2e-8
            energies = []
            for step in (h, -h):
                array[i] = keep + step
                energies.append(scene.energy(law, p, R))
            array[i] = keep
            assert force[i] == pytest.approx(-(energies[0] - energies[1]) / (2 * h), abs=2e-3 * scale[i[1]])
        scene.settle(p, R)


def test_open_contacts_carry_nothing(p: er.Saddle, R: rg.Ring) -> None:
    scene = Scene(p, R, np.full(N, 2.5e-4), 3)
    f, F, normal, work = scene.forces(er.Unilateral, p, R)
    assert not f.any()
    assert not normal.any()
    assert np.abs(F).max() == 0
    assert work == (0, 0, (0, 0))


def test_play_between_saddle_and_ear_is_the_clearance(p: er.Saddle, R: rg.Ring) -> None:
    play = p.y_E - p.y_S - 2 * R.h2
    for gap, at_ear in ((0.98 * play, False), (1.02 * play, True)):
        scene = Scene(p, R, np.full(N, gap), 4)
        assert ((scene.forces(er.Unilateral, p, R)[2][:, 1] > 0) == at_ear).all()


@pytest.mark.parametrize("lead", [0.0, 0.25 * DT])
@pytest.mark.parametrize("law", LAWS)
def test_friction_takes_and_is_bounded(law, lead: float, p: er.Saddle, R: rg.Ring) -> None:
    scene = Scene(p, R, mixed_gaps(), 5)
    stored = scene.energy(law, p, R)
    lost_t, lost_n, own = scene.forces(law, p, R, lead=lead)[3]
    assert lost_t == 0.0
    assert sum(own) - lost_n == pytest.approx(stored, rel=1e-3)  # new springs
    lost_t, lost_n, own = scene.forces(law, p, R, steps=2, lead=lead)[3]
    assert lost_t > 0.0
    assert sum(own) == pytest.approx(lost_t + lost_n, rel=1e-12)
    _, _, normal, _ = scene.forces(law, p, R, lead=lead)
    assert (np.abs(normal[:, 2]) <= p.mu * (np.abs(normal[:, 0]) + normal[:, 1]) + 1e-12).all()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("d", "mu"), [(0.0, 0.0), (1.0, 0.0), (0.0, 0.1)])
def test_works_are_those_of_the_forces_on_a_ring_that_turns(law, d: float, mu: float, p: er.Saddle, R: rg.Ring) -> None:
    """Over a step the forces take what the springs store, what friction takes, and the rest if there are dampers."""
    p = p._replace(d=d * p.d, mu=mu)
    scene = Scene(p, R, mixed_gaps(), 5)
    turn = 300.0
    for u, q, share in ((scene.u, scene.q, 1.1), (scene.u_R, scene.q_R, 1.0)):
        u *= 0.1
        u[:, :2] += share * turn * np.stack([q[:, 1], -q[:, 0]], axis=1)
        u[:, 2] -= turn
    f, normal, memory, at = zeros(N, 3), zeros(N, 3), zeros(N, er.N_MEMORY), er.touch(N)
    F, S, load = zeros(N_B, rg.NQ), np.zeros(N_B), zeros(N_B, rg.N_LOAD)
    power, works = [], []
    for _ in range(2):
        scene.shape_of(R)
        scene.settle(p, R)
        rg.forces(R, scene.shape, scene.rate, load, F, S)
        own = F.copy()
        f[:] = 0
        band, el = er.Band(R, scene.shape, scene.rate, load), Elements(scene.q, scene.u, scene.cs, scene.sn)
        works = er.saddle_forces(law(*p), band, el, scene.s_R, f, normal, memory, at, DT, 0.0)
        er.saddle_friction(law(*p), band, scene.u, f, normal, memory, at, 1e-12)
        rg.forces(R, scene.shape, scene.rate, load, F, S)
        power.append(np.sum(f * scene.u) + np.sum((F - own) * scene.u_R))
        scene.q += DT * scene.u
        scene.q_R += DT * scene.u_R
    taken = -DT * np.mean(power)
    lost_t, lost_n, own = works
    assert (lost_t > 0.0) == (mu > 0.0)
    assert (lost_n > 0.0) == (d > 0.0)
    assert sum(own) == pytest.approx(taken, rel=1e-2 if mu or d else 1e-3)  # the place of friction slides on


@pytest.mark.parametrize("v", [1e-4, 0.02, 2.0])
def test_friction_of_a_steady_slip_is_the_law_whatever_the_step(v: float, p: er.Saddle, R: rg.Ring) -> None:
    scene = Scene(p, R, np.full(N, -4e-6), 6)
    scene.u_R[:], scene.u[:] = 0.0, 0.0
    for i in range(N):
        k = int(scene.s_R[i])
        _, _, gx, gy, _, _ = rg.point(scene.shape, k, scene.s_R[i] - k)
        scene.u[i, :2] = v * np.array([gx, gy]) / np.hypot(gx, gy)
    scene.shape_of(R)
    for G in (1e-12, 2e-3, 2e-2):
        _, _, normal, _ = scene.forces(er.Unilateral, p, R, steps=2000, G=G)
        law = p.mu * normal[:, 0] * v / np.hypot(v, p.v_mu)
        np.testing.assert_allclose(-normal[:, 2], law, rtol=1e-9)


@settings(max_examples=300, deadline=None)
@given(G=st.floats(1e-12, 0.1), f_n=st.floats(0.0, 5e3), share=st.floats(-1.0, 1.0), v=st.floats(-30.0, 30.0))
def test_the_proximal_step_solves_its_equation_in_the_cone(G: float, f_n: float, share: float, v: float) -> None:
    p = er.Unilateral(N, 0.0, 0.0, 0.0, 0.0, 250.0, 2000.0, 1.0, 0.0, 0.05, 0.01)
    f_0 = share * p.mu * f_n
    f = er._rubbed(p, G, f_n, f_0, v)
    s = v + G * (f - f_0)
    assert abs(f) <= p.mu * f_n
    assert f == pytest.approx(-p.mu * f_n * s / np.hypot(s, p.v_mu), abs=1e-9 * p.mu * f_n + 1e-12)


def test_friction_takes_slip_out_and_never_turns_it_round(p: er.Saddle, R: rg.Ring) -> None:
    """One contact, a friction force far beyond what stops it; G is that of all contacts together."""
    b = belt(load_parameters("pushbelt_24mm"))
    rough = p._replace(mu=0.9, v_mu=1e-9, d=0.0)
    scene = Scene(p, R, np.where(np.arange(N) == 8, -4e-4, 2.5e-4), 6)
    x = scene.q[8, 0] + scene.cs[8] * p.x - scene.sn[8] * p.y_S
    y = scene.q[8, 1] + scene.sn[8] * p.x + scene.cs[8] * p.y_S
    k, xi, w, rx, ry, tx, ty = er.project(R, scene.shape, scene.s_R[8], x, y).at
    ax, ay = rx + R.h2 * ty - scene.q[8, 0], ry - R.h2 * tx - scene.q[8, 1]

    def slip(u: np.ndarray, u_R: np.ndarray) -> float:
        rate = np.zeros_like(scene.rate)
        rg.rate_of(R, u_R, scene.shape, rate)
        vx, vy, omega = rg.velocity(scene.shape, rate, k, xi, w)
        ex, ey = u[8, 0] - u[8, 2] * ay - vx, u[8, 1] + u[8, 2] * ax - vy
        return ex * tx + ey * ty - R.h2 * omega

    after = []
    for mu in (0.0, 0.9):
        f, F, _, _ = scene.forces(er.Unilateral, rough._replace(mu=mu), R, G=DT * (p.W_E + p.W_R))
        mass_R = np.array([R.m, R.m, R.J, R.m_c, R.m_c])
        after.append(slip(scene.u + DT * f / [b.m_E, b.m_E, b.J_E], scene.u_R + DT * F / mass_R))
    taken = (after[0] - after[1]) / slip(scene.u, scene.u_R)
    assert 0.4 < taken < 1.0


def test_projection_converges_to_the_nearest_point(p: er.Saddle, R: rg.Ring) -> None:
    scene = Scene(p, R, mixed_gaps(), 7)
    for i in range(0, N, 7):
        x, y = scene.q[i, :2]
        s = scene.s_R[i] + 0.3
        for _ in range(12):
            s, _, e_t, *_ = er.project(R, scene.shape, s, x, y)
        assert abs(e_t) < 1e-9


def test_arc_coordinates_wrap_and_survive_nan(p: er.Saddle, R: rg.Ring) -> None:
    scene = Scene(p, R, mixed_gaps(), 8)
    for s in (-1e-9, N_B - 1e-12, float(N_B), np.nan, np.inf):
        assert 0 <= er.project(R, scene.shape, s, *scene.q[0, :2])[0] < N_B
    assert 0 <= er.project(R, scene.shape, 3.0, np.nan, 0.0)[0] < N_B
    np.testing.assert_array_equal(er.around(np.array([-1e-18, N_B, 3.5, -0.5]), N_B), [0.0, 0.0, 3.5, N_B - 0.5])


def test_normal_mobility_is_the_largest_answer_to_normal_forces() -> None:
    """Of many places on the ring, by its own kernels; the library takes the worst of eight positions, and 5 % more."""
    R, n = rg.ring(belt(load_parameters("pushbelt_24mm"), N_B=26)), 40
    q = zeros(26, rg.NQ)
    q[:, 0] = R.l * np.arange(26)  # straight; the last piece, which closes it, is left alone
    shape, rate = zeros(26, rg.N_SHAPE), zeros(26, rg.N_RATE)
    rg.shape_of(R, q, np.cos(q[:, 2]), np.sin(q[:, 2]), shape)
    places = [(int(s), s - int(s)) for s in np.arange(n) * 26 / n + 0.4 if 1 <= s < 24]
    W, mass = np.zeros((len(places), len(places))), np.array([R.m, R.m, R.J, R.m_c, R.m_c])
    for j, (k, xi) in enumerate(places):
        load, F = zeros(26, rg.N_LOAD), zeros(26, rg.NQ)
        rg.push(shape, load, k, xi, 0.0, 0.0, 1.0, 0.0)
        rg.nodal(R, shape, load, F)
        rg.rate_of(R, F / mass, shape, rate)
        W[:, j] = [rg.velocity(shape, rate, *at, 0.0)[1] for at in places]
    np.testing.assert_allclose(W, W.T, atol=1e-9 * W.max())
    assert 0.9 * rg.normal_mobility(R, n) < np.linalg.eigvalsh(W)[-1] < rg.normal_mobility(R, n)
