"""Rigid saddles and ears: a mass on a moving ring, the laws at every step of the belt, springs that become rigid."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from marks import slow
from pushbelt_steps import stepping
from rows import cases

from rtcvt.offline.pushbelt.contact import element_ring as er
from rtcvt.offline.pushbelt.contact import flank as fk
from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.contact import rigid as rd
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.planar import model as hy
from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.run.prepare import Prepared, prepare
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters

pytestmark = pytest.mark.interpreted

UNIT = load_parameters("pushbelt_24mm")
PLOT = 1e-4
STORES = list(ledger.STORES.values())


def made(case: str, row: int = 0, **settings: Any) -> Prepared:
    run = Run(case, Case(case, row), Settings(**settings), duration=PLOT, plot_step=PLOT)
    return prepare(UNIT, run)


class Lone:
    """One element that does not turn, on a straight strand of a ring that nothing moves; it goes along with v_0."""

    def __init__(self, dt: float, v_0: float, at: float = 0.0) -> None:
        start = made("MED", N_B=26)
        self.b = belt(UNIT, N_E0=432)._replace(N_E=1, J_E=1e6)
        self.R = start.model.ring._replace(m=1e12, J=1e12, m_c=1e12)
        self.p = rd.Rigid(*start.model.saddle)._replace(N_E=1)
        self.friction, self.dt = start.model.friction, dt
        self.q_R, self.u_R = start.state.q_R.copy("K"), np.zeros_like(start.state.u_R)
        self.shape, self.rate = np.zeros((26, rg.N_SHAPE)), np.zeros((26, rg.N_RATE))
        self.load = np.zeros((26, rg.N_LOAD))
        self.move(0.0)
        y = np.abs(self.shape[:, rg.DY] * self.shape[:, rg.INV])
        k = int(np.argmin(y + (np.abs(self.shape[:, rg.X] - 0.5 * self.b.d_A) > 0.2 * self.b.d_A)))
        x, y, g_x, g_y, *_ = rg.point(self.shape, k, 0.5)
        self.t = np.array([g_x, g_y]) / np.hypot(g_x, g_y)
        self.n = np.array([-self.t[1], self.t[0]])
        angle = np.arctan2(self.t[1], self.t[0])
        self.cs, self.sn = np.array([self.t[0]]), np.array([self.t[1]])
        place = np.array([x, y]) - (self.R.h2 + at) * self.n
        arm = self.p.x * self.t + self.p.y_S * self.n
        self.q, self.u = np.array([[*(place - arm), angle]]), np.zeros((1, 3))
        self.from_ = self.q[0, :2].copy()
        self.u_R[:, :2] = v_0 * self.t
        self.s_R, self.f = np.array([k + 0.5]), np.zeros((1, 3))
        self.N, self.memory = np.zeros((1, 3)), np.zeros((1, er.N_MEMORY))
        self.fl, self.find, self.P = fk.flanks(1, 1), fk.search(1), rd.press(self.p, self.b._replace(N_B=26))
        self.fl.stretch[0], self.fl.n_stretch[0] = (0, 1), 1

    def move(self, dt: float) -> None:
        self.q_R += dt * self.u_R
        rg.shape_of(self.R, self.q_R, np.cos(self.q_R[:, 2]), np.sin(self.q_R[:, 2]), self.shape)

    def step(self, along: float, outwards: float) -> np.ndarray:
        """One step under a force; works of friction and impacts [J]."""
        dt, before = self.dt, self.u.copy()
        self.q += dt * self.u
        self.move(dt)
        rg.rate_of(self.R, self.u_R, self.shape, self.rate)
        force, f_R = np.zeros((1, 3)), np.zeros((1, 3))
        force[0, :2] = along * self.t + outwards * self.n
        band, el = er.Band(self.R, self.shape, self.rate, self.load), Elements(self.q, self.u, self.cs, self.sn)
        flank = rd.Flank(self.b, self.friction, self.fl, self.find)
        rd.rigid_contacts(self.p, band, el, flank, dt, self.s_R, force, f_R, self.N, self.memory, self.P)
        self.load[:] = 0.0
        self.u += dt / self.b.m_E * (force + f_R) * [1, 1, 0]
        return dt * np.array(rd.rigid_work(self.p, band, 0.5 * (self.u + before), self.memory, self.P)[:2])

    @property
    def way(self) -> np.ndarray:
        """Way along and across the ring [m], and velocities."""
        moved = self.q[0, :2] - self.from_
        return np.array([moved @ self.t, moved @ self.n, self.u[0, :2] @ self.t, self.u[0, :2] @ self.n])


def stick_slip(t: np.ndarray, x_e: float, omega: float, v_0: float) -> tuple[np.ndarray, np.ndarray]:
    """Place and velocity of a mass at rest on a moving saddle, tied to a spring: it slips until it is as fast, sticks
    until the spring pulls with mu N, and swings from there on, back to the speed of the saddle once in a period."""
    t_1 = np.arcsin(v_0 / (x_e * omega)) / omega
    x_1 = x_e * (1.0 - np.cos(omega * t_1))
    t_2 = t_1 + (x_e - x_1) / v_0
    x = np.select([t < t_1, t < t_2], [x_e * (1.0 - np.cos(omega * t)), x_1 + v_0 * (t - t_1)],
                  x_e + v_0 / omega * np.sin(omega * (t - t_2)))  # fmt: skip
    v = np.select([t < t_1, t < t_2], [x_e * omega * np.sin(omega * t), v_0], v_0 * np.cos(omega * (t - t_2)))
    return x, v


def test_a_mass_on_a_moving_saddle_sticks_and_slips_as_it_should() -> None:
    """Of first order; friction holds v_0 exactly while it sticks, and takes what the moving ring gives."""
    pressed, omega, v_0, errors = 200.0, 3000.0, 0.3, []
    for dt in (4e-6, 2e-6):
        s = Lone(dt, v_0)
        x_e = s.p.mu * pressed / (s.b.m_E * omega**2)
        found, friction, lost = [], [], 0.0
        for _ in range(round(3e-3 / dt)):
            work = s.step(-s.b.m_E * omega**2 * s.way[0], pressed)
            lost += work[0]
            found.append(s.way)
            friction.append(s.N[0, 2])
            assert abs(work[1]) < 1e-12
        t = dt * np.arange(1, len(found) + 1)
        way, (x, v) = np.array(found), stick_slip(t, x_e, omega, v_0)
        assert np.abs(way[:, 1]).max() < 1e-13
        assert s.N[0, 0] == pytest.approx(pressed, rel=1e-9)
        assert np.abs(friction).max() <= s.p.mu * pressed * (1.0 + 1e-7)
        stuck = np.abs(np.array(friction)) < 0.999 * s.p.mu * pressed
        assert stuck[(x > 0.1 * x_e) & (x < 0.99 * x_e) & (t < 8e-4)].all()  # it sticks from 0.08 to 1 x_e
        assert stuck.sum() > 300 * 2e-6 / dt
        np.testing.assert_allclose(way[stuck, 2], v_0, atol=1e-9)
        errors.append([np.abs(way[:, 0] - x).max() / x_e, np.abs(way[:, 2] - v).max() / v_0])
        given = v_0 * np.sum(friction) * dt  # by the ring
        kept = 0.5 * s.b.m_E * way[-1, 2] ** 2 + 0.5 * s.b.m_E * omega**2 * way[-1, 0] ** 2
        assert given - lost == pytest.approx(kept, rel=0.02)
    assert np.max(errors[1]) < 0.02
    assert np.all(np.array(errors[1]) < 0.6 * np.array(errors[0]))


def test_an_element_falls_from_the_saddle_onto_the_ear_and_stays() -> None:
    """Free fall over the play, a plastic impact that takes the kinetic energy, and rest on the ear."""
    s = Lone(1e-6, 0.0)
    play = s.p.y_E - s.p.y_S - 2.0 * s.R.h2
    pull, lost, ways, hit = -500.0, 0.0, [], 0
    fall = np.sqrt(2.0 * play * s.b.m_E / -pull)
    for k in range(round(1.3 * fall / s.dt)):
        lost += s.step(0.0, pull)[1]
        ways.append(s.way[1])
        hit = hit or (k + 1 if s.N[0, 1] > 0.0 else 0)
        assert s.N[0, 0] == 0.0
    assert hit * s.dt == pytest.approx(fall, rel=0.01)
    assert -min(ways) == pytest.approx(play, rel=1e-6)
    assert lost == pytest.approx(-pull * play, rel=0.02)
    assert s.N[0, 1] == pytest.approx(-pull, rel=1e-9)
    assert abs(s.way[3]) < 1e-9


def test_what_is_closed_too_far_opens_slowly() -> None:
    s = Lone(1e-6, 0.0, at=-2e-6)
    for _ in range(600):
        s.step(0.0, 10.0)
        assert s.way[3] >= -rd.CORRECTION_SPEED * (1.0 + 1e-9)
    assert s.way[1] == pytest.approx(-2e-6, rel=1e-6)


@pytest.mark.parametrize(("case", "row", "settled", "steps"),
    [("MED", 3, 0, 3), slow("MED", 3, 20, 100), slow("OD", 0, 20, 100), slow("LOW", 0, 20, 100)])  # fmt: skip
def test_the_laws_hold_at_every_step(case: str, row: int, settled: int, steps: int) -> None:
    """Gap, force and cone of every contact from the state alone: where the element's point is next, and its slip."""
    start = made(case, row, scheme="multirate")
    m, x, b = start.model, start.state, start.inputs[1]
    hy.run(m, x, b[None].repeat(settled + 1, axis=0), 40, 2.5e-6, n_R=2)
    m = m._replace(saddle=rd.Rigid(*m.saddle))
    w, p, R = hy.scratch(m, x, 1), m.saddle, m.ring
    seen = {"stick": 0, "slip": 0, "open": 0}

    def look() -> None:
        shape, rate = np.zeros((R.N_B, rg.N_SHAPE)), np.zeros((R.N_B, rg.N_RATE))
        rg.shape_of(R, x.q_R, w.ring.cs, w.ring.sn, shape)
        rg.rate_of(R, x.u_R, shape, rate)
        for a in range(w.saddles.press.n[0]):
            i, ear, h = w.saddles.press.of[a], w.saddles.press.ear[a], w.saddles.press.place[a, 7]
            f_t, f_n = x.memory[i, 5 * ear], x.memory[i, 5 * ear + 1]
            y = p.y_E if ear else p.y_S
            k, xi = int(w.saddles.press.k[a]), w.saddles.press.place[a, 0]
            c, s = w.elements.cs[i], w.elements.sn[i]
            P = x.q[i, :2] + [c * p.x - s * y, s * p.x + c * y]
            r_x, r_y, g_x, g_y, dip, _ = rg.point(shape, k, xi)
            t = np.array([g_x, g_y]) / np.hypot(g_x, g_y)
            n = np.array([-t[1], t[0]])
            gap = np.sign(h) * ((P - [r_x, r_y]) @ n - h)
            v_x, v_y, omega = rg.velocity(shape, rate, k, xi, dip)
            arm = np.array([r_x, r_y]) + h * n - x.q[i, :2]
            v = x.u[i, :2] + x.u[i, 2] * np.array([-arm[1], arm[0]]) - [v_x, v_y]
            opening, slip = np.sign(h) * (v @ n), v @ t + h * omega
            least = -gap / 1e-6 if gap > 0.0 else min(-gap / 1e-6, rd.CORRECTION_SPEED)
            assert f_n >= 0.0
            assert opening - least > -1e-10
            if f_n > 1e-3:
                assert abs(opening - least) < 1e-10
            assert abs(f_t) <= p.mu * f_n * (1.0 + 1e-9) + 1e-7
            if abs(slip) > 1e-9:
                assert f_t == pytest.approx(-np.sign(slip) * p.mu * f_n, rel=1e-9, abs=1e-7)
                seen["slip"] += f_n > 0.0
            elif f_n > 0.0:
                seen["stick"] += 1
            seen["open"] += f_n == 0.0

    for _ in stepping(m, x, w, b[None].repeat(2, axis=0), steps, 1e-6):
        look()
    assert w.saddles.press.found[0] <= rd.LAW_ATOL
    assert w.saddles.press.found[1] == 0
    assert min(seen.values()) > 5 * settled


def thrust(case: str, row: int, steps: int, k: float = 1.0, v: float = 1.0, **settings: Any) -> tuple[float, Any]:
    """Thrust ratio and energy balance over 2 to 6 ms; k_S and v_muR times `k` and `v`."""
    start = made(case, row, **settings)
    p = start.model.saddle
    m = start.model._replace(saddle=p._replace(k=k * p.k, d=np.sqrt(k) * p.d, v_mu=v * p.v_mu))
    out, done = hy.run(m, start.state, start.inputs[1:].repeat(61, axis=0), steps, PLOT / steps)
    assert done == 60
    out = hy.Frames(*(a[20:] for a in out))
    force = out.pulley[:, :, 1].mean(axis=0)
    return force[0] / force[1], hy.residual(out)


@pytest.mark.slow
@cases
def test_springs_that_stiffen_and_friction_that_steepens_become_the_rigid_law(case: str, row: int, taper: Any) -> None:
    """Thrust ratio: the unit's saddles 0.6 to 1.6 % off, 16 k_S and v_muR/100 at most 0.15 %, half the step 0.1 %."""
    rigid, (rest, losses, throughput) = thrust(case, row, 100, scheme="set-valued", taper=taper)
    finer, (finer_rest, *_) = thrust(case, row, 200, scheme="set-valued", taper=taper)
    unit, _ = thrust(case, row, 100, taper=taper)
    stiff, _ = thrust(case, row, 400, 16.0, 0.01, taper=taper)
    assert abs(rest) < 2e-3 * losses
    assert abs(finer_rest) < 1e-4 * throughput
    assert finer == pytest.approx(rigid, rel=2e-3)
    assert stiff == pytest.approx(rigid, rel=2e-3)
    assert abs(unit - rigid) > 3.0 * abs(stiff - rigid)


@pytest.mark.slow
def test_a_run_is_a_file_like_any_other_and_goes_on_with_the_same_bits(tmp_path: Any) -> None:
    run = Run("LOW", Case("LOW"), Settings(scheme="set-valued"), duration=2e-3, plot_step=2e-5, observe=("fields",))
    whole, parts = tmp_path / "whole.h5", tmp_path / "parts.h5"
    simulate(UNIT, run, whole, UNIT.text)
    simulate(UNIT, replace(run, duration=1e-3), parts, UNIT.text)
    simulate(UNIT, run, parts, UNIT.text, resume=True)
    with open_run(whole) as a, open_run(parts) as b:
        assert a.attrs["scheme"] == "set-valued"
        for name in ("pulleys/clamping_force", "energy/work", "energy/rest", "fields/tension"):
            assert np.array_equal(a[name][()], b[name][()])
        assert (a["energy/stored"][:, STORES.index("element-ring")] == 0.0).all()
        assert np.abs(a["energy/rest"][()]).max() < 1e-12


@pytest.mark.slow
def test_a_run_that_diverges_ends_early_and_a_state_of_nan_at_once() -> None:
    start = made("MED", 3, scheme="set-valued")
    inputs = start.inputs[1:].repeat(21, axis=0)
    assert hy.run(start.model, start.state, inputs, 20, 5e-6)[1] < 20
    start = made("MED", 3, scheme="set-valued")
    start.state.q[7] = np.nan
    start.state.q_R[11] = np.nan
    assert hy.run(start.model, start.state, inputs, 10)[1] == 0
