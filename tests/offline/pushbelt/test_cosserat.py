"""The ring set as a Cosserat rod: against `rods.planar`, virtual power and the belt's balances; largest steps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from marks import slow
from pushbelt_starts import UNIT, begun

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.planar import model as hy
from rtcvt.offline.pushbelt.ring import cosserat as co
from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.run.prepare import prepare
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.unit.parameters import belt
from rtcvt.offline.rods import planar as pl

pytestmark = pytest.mark.interpreted

BELT = belt(UNIT, N_E0=432)
Array = np.ndarray


def circle(R: co.Cosserat, rng: np.random.Generator | None = None) -> Array:
    q = pl.circle(co.planar(R), 1.0005).reshape(-1, 3)
    if rng is not None:
        q[:, :2] += 1e-5 * rng.standard_normal((R.N_B, 2))
        q[:, 2] += 0.02 * rng.standard_normal(R.N_B)
    return q


def rows(R: Any, q: Array, u: Array) -> tuple[Array, Array]:
    shape, rate = np.zeros((R.N_B, rg.N_SHAPE)), np.zeros((R.N_B, rg.N_RATE))
    ring_set.shape_of(R, q, np.cos(q[:, 2]), np.sin(q[:, 2]), shape)
    ring_set.rate_of(R, u, shape, rate)
    return shape, rate


def force(R: Any, q: Array, u: Array, load: Array | None = None) -> tuple[Array, Array, tuple[float, float]]:
    F, S = np.zeros_like(q), np.zeros(R.N_B)
    load = np.zeros((R.N_B, rg.N_LOAD)) if load is None else load
    power = ring_set.forces(R, q, u, np.cos(q[:, 2]), np.sin(q[:, 2]), *rows(R, q, u), load, F, S)
    return F, S, power


def test_forces_and_energies_are_those_of_the_planar_rod() -> None:
    R, rng = co.cosserat(BELT, 3.0), np.random.default_rng(1)
    q, u = circle(R, rng), rng.standard_normal((R.N_B, 3))
    rod, F = co.planar(R), np.zeros(3 * R.N_B)
    undamped = R._replace(d_axial=0.0, d_shear=0.0, d_bend=0.0)
    pl.forces(rod, q.ravel(), u.ravel(), F)
    np.testing.assert_allclose(force(undamped, q, u)[0].ravel(), F, atol=1e-9 * np.abs(F).max())
    strain, bending, _, kinetic = pl.energies(rod, q.ravel(), u.ravel())
    found = ring_set.elastic_energy(R, q, np.cos(q[:, 2]), np.sin(q[:, 2]), rows(R, q, u)[0])
    assert (*found, ring_set.kinetic_energy(R, u)) == pytest.approx((strain, bending, kinetic), rel=1e-10)
    damped = rod._replace(c_0=0.5 * R.d_axial, c_1=0.5 * R.d_shear)
    power = pl.forces(damped, q.ravel(), u.ravel(), F)
    F_d, _, (p_strain, _) = force(R._replace(d_bend=0.0), q, u)
    np.testing.assert_allclose(F_d.ravel(), F, atol=1e-9 * np.abs(F).max())
    assert p_strain == pytest.approx(power, rel=1e-10)


def test_damping_books_its_power_and_spares_rigid_motion() -> None:
    R, rng = co.cosserat(BELT), np.random.default_rng(2)
    q, u = circle(R, rng), rng.standard_normal((R.N_B, 3))
    F, _, power = force(R, q, u)
    assert np.sum((F - force(R, q, 0 * u)[0]) * u) == pytest.approx(-sum(power), rel=1e-9)
    rigid = np.column_stack([3.0 - 70.0 * q[:, 1], -8.0 + 70.0 * q[:, 0], np.full(R.N_B, 70.0)])
    assert sum(force(R, q, rigid)[2]) < 1e-12 * sum(power)


def beam_of(R: co.Cosserat, q: Array, u: Array) -> tuple[rg.Ring, Array, Array]:
    """The ring in redundant coordinates of the same nodes."""
    q_R, u_R = np.zeros((R.N_B, 5)), np.zeros((R.N_B, 5))
    ring_set.nodes(R, q, u, np.cos(q[:, 2]), np.sin(q[:, 2]), *rows(R, q, u), q_R, u_R)
    return rg.ring(BELT)._replace(l=R.l), q_R, u_R


@pytest.mark.parametrize("kind", ["rcm", "cosserat"])
def test_points_velocities_and_loads_belong_to_one_curve(kind: str) -> None:
    rod, rng, h = co.cosserat(BELT), np.random.default_rng(3), 1e-6
    q, u = circle(rod, rng), rng.standard_normal((rod.N_B, 3)) * [1.0, 1.0, 0.0]
    R: Any = rod
    if kind == "rcm":
        R, q, u = beam_of(rod, q, u)
        q[:, 3:] += 1e-4 * rng.standard_normal((R.N_B, 2))
        u += rng.standard_normal(u.shape)
    shape, rate = rows(R, q, u)
    load, power = np.zeros((R.N_B, rg.N_LOAD)), 0.0
    for k, xi in ((0, 0.2), (5, 0.75), (R.N_B - 1, 0.9)):
        at = rg.point(shape, k, xi)
        after, before = (np.array(rg.point(rows(R, q + s * h * u, u)[0], k, xi)) for s in (1, -1))
        v = rg.velocity(shape, rate, k, xi, at[4])
        assert np.allclose(v[:2], (after - before)[:2] / (2 * h), atol=1e-6)
        ahead, behind = (np.array(rg.point(shape, k, xi + s * h)) for s in (1, -1))
        assert np.allclose(at[2:4], (ahead - behind)[:2] / (2 * h), atol=1e-8)
        Fx, Fy, M = rng.standard_normal(3) * [1.0, 1.0, 1e-3]
        rg.push(shape, load, k, xi, at[4], Fx, Fy, M)
        power += Fx * v[0] + Fy * v[1] + M * v[2]
    held, F = load.copy(), np.zeros_like(q)
    ring_set.nodal(R, shape, load, F)
    assert np.sum(F * u) == pytest.approx(power, rel=1e-9)
    assert not load.any()
    np.testing.assert_allclose(force(R, q, u, held)[0] - force(R, q, u)[0], F, atol=1e-8)
    assert not held.any()


def test_the_rod_has_a_smooth_contour_which_is_that_of_the_beam_of_its_nodes() -> None:
    R, rng = co.cosserat(BELT), np.random.default_rng(3)
    q, u = circle(R, rng), rng.standard_normal((R.N_B, 3)) * [1.0, 1.0, 0.0]
    shape, rate = rows(R, q, u)
    ends = [np.arctan2(*rg.point(shape, k, xi)[3:1:-1]) for k, xi in ((7, 1.0), (8, 0.0))]
    assert ends[0] == pytest.approx(ends[1], abs=1e-5)  # chords stretch, slopes do not
    same, rates = rows(*beam_of(R, q, u))
    np.testing.assert_allclose(same, shape, atol=1e-12)
    np.testing.assert_allclose(rates, rate, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n", "least"), [("rcm", 110, 0.94), ("rcm", 220, 0.94), ("cosserat", 220, 0.92)])
def test_mobility_is_the_largest_answer_to_forces_on_the_surface(kind: str, n: int, least: float) -> None:
    R: Any = co.cosserat(BELT)
    q = circle(R)
    if kind == "rcm":
        R, q, _ = beam_of(R, q, 0 * q)
    shape, _ = rows(R, q, 0 * q)
    points = []
    for s in (np.arange(n) + 0.4) * R.N_B / n:
        k, xi = int(s), s - int(s)
        _, _, gx, gy, w, _ = rg.point(shape, k, xi)
        points.append((k, xi, w, *np.array([gx, gy]) / np.hypot(gx, gy)))
    W = np.zeros((n, n))
    for j, (k, xi, w, tx, ty) in enumerate(points):
        load, F = np.zeros((R.N_B, rg.N_LOAD)), np.zeros_like(q)
        rg.push(shape, load, k, xi, w, tx, ty, R.h2)
        ring_set.nodal(R, shape, load, F)
        answer = rows(R, q, F / np.array(ring_set.masses(R)))[1]
        for i, (k_i, xi_i, w_i, tx_i, ty_i) in enumerate(points):
            ax, ay, alpha = rg.velocity(shape, answer, k_i, xi_i, w_i)
            W[i, j] = ax * tx_i + ay * ty_i + alpha * R.h2
    np.testing.assert_allclose(W, W.T, atol=1e-6 * W.max())
    bound = ring_set.mobility(R, n)
    assert least * bound < np.linalg.eigvalsh(W)[-1] < bound  # of eight places of the rod the worst


@pytest.mark.parametrize(
    ("kind", "rotatory"), [slow("rcm", 1.0), slow("cosserat", 1.0), slow("cosserat", 30.0), ("cosserat", -1.0)]
)
def test_largest_step_and_the_mode_that_bounds_it(kind: str, rotatory: float) -> None:
    """Eigenvalues of the linearised ring, the formula of the straight one, and the scheme itself on both sides."""
    one = begun("MED", 3, N_B=26)
    rotatory = co.balanced(one.belt) if rotatory < 0.0 else rotatory
    R = ring_set.made(one.belt, kind, rotatory)
    q, _ = ring_set.placed(R, one.start)
    found = ring_set.spectrum(R, q)
    assert found.step == pytest.approx(ring_set.largest_step(R), rel=0.03)
    share = dict(zip(("along", "across", "rotation", "deflection"), found.share[found.bounding], strict=True))
    np.testing.assert_allclose(found.share.sum(axis=1), 1.0, atol=0.05)  # corners share their tangent
    bounding = "along" if kind == "rcm" else "rotation"
    assert share[bounding] > {"rcm": 0.85, "cosserat": 0.4 if rotatory > 100.0 else 0.95}[kind]
    if kind == "cosserat" and rotatory < 100.0:
        assert found.omega[found.bounding] == pytest.approx(np.sqrt(R.GA * R.l / R.J), rel=0.02)
    assert f"{1e6 * found.step:.3f} us" in str(found)
    assert not found.omega[3:].min() < -1e3  # none unstable but what a relaxed span does slowly
    for part, stable in ((0.97, True), (1.03, False)):
        x, u = q.copy(), 1e-6 * np.random.default_rng(4).standard_normal(q.shape)
        rest = force(R, q, 0 * q)[0]
        with np.errstate(all="ignore"):
            for _ in range(400):
                ring_set.advance(R, force(R, x, u)[0] - rest, u, part * found.step)
                x += part * found.step * u
        assert (np.abs(u).max() < 1e-3) == stable


def in_the_belt(case: str, row: int, frames: int) -> tuple[hy.Model, hy.State, Array]:
    one = begun(case, row, frames)
    m = hy.model(one.belt, one.sheaves, ring="cosserat", rotatory=co.balanced(one.belt))
    return m, one.on(m.ring).state, one.inputs


@pytest.mark.slow
@pytest.mark.parametrize(("case", "row"), [("OD", 0), ("MED", 3), ("LOW", 0)])
def test_energy_balance_in_the_belt(case: str, row: int) -> None:
    m, x, inputs = in_the_belt(case, row, 60)
    out, done = hy.run(m, x, inputs, 100)
    assert done == 60
    rest, losses, throughput = hy.residual(out)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 0.01 * losses
    assert np.abs(out.rest[1:].sum(axis=0)).max() < 0.005 * losses
    assert np.all(out.work[1:, len(hy.INPUTS) :].sum(axis=0) >= 0)


def test_the_unit_chooses_the_rod() -> None:
    unit = UNIT.model_copy(update={"ring": UNIT.ring.model_copy(update={"rod": "cosserat"})})
    run = Run("one", Case("MED", 3), Settings(scheme="multirate"), duration=1e-3, plot_step=1e-4)
    made = prepare(unit, run)
    assert isinstance(made.model.ring, co.Cosserat)
    assert made.state.q_R.shape == (104, 3)
    bound = ring_set.largest_step(made.model.ring)
    explicit = prepare(unit, replace(run, settings=Settings()))
    assert explicit.clock.step <= bound < 0.1 * prepare(UNIT, replace(run, settings=Settings())).clock.step
    with pytest.raises(InputError, match="step"):
        prepare(unit, replace(run, settings=Settings(step=1e-6)))
    wide = prepare(unit, replace(run, settings=Settings(model="spatial", flank_points=2, scheme="multirate"))).wide
    assert isinstance(wide.ring, co.Cosserat)
    assert pytest.approx(0.5 * made.model.ring.EA) == wide.ring.EA
