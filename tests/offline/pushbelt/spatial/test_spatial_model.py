"""The spatial model as a whole: the hybrid one where nothing tilts, momentum, energy, start out of line, bad input."""

from typing import Any

import numpy as np
import pytest
from marks import slow
from numba.core import config
from pushbelt_starts import UNIT, begun, changed

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact import flank as fk
from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.planar import model as hy
from rtcvt.offline.pushbelt.ring import ring as planar_ring
from rtcvt.offline.pushbelt.spatial import element as el
from rtcvt.offline.pushbelt.spatial import lateral as lat
from rtcvt.offline.pushbelt.spatial import model as sp
from rtcvt.offline.pushbelt.spatial import stability as st
from rtcvt.offline.pushbelt.spatial.start import lift
from rtcvt.offline.pushbelt.unit import parameters
from rtcvt.offline.pushbelt.unit.initial import start_state
from rtcvt.offline.pushbelt.unit.kinematics import misalignment, radius_at_one
from rtcvt.offline.pushbelt.unit.taut_path import taut_path

PLOT = 1e-4


def prepare(
    case: str,
    row: int,
    frames: int,
    *,
    unit: parameters.Parameters = UNIT,
    before: int = 1,
    offset: float | None = None,
    unilateral: bool = True,
    **settings: Any,
) -> tuple[hy.Model, hy.State, sp.Model, np.ndarray]:
    """Hybrid model, its state after `before` plot steps, the spatial model, and inputs of `frames` plot steps."""
    one = begun(case, row, frames, PLOT, unit=unit, **({} if offset is None else {"d_align": offset}))
    b, sh, inputs, _ = one
    m = hy.model(b, sh, unilateral=unilateral, ring=unit.ring.rod, rotatory=unit.ring.rotatory_factor)
    x = one.on(m.ring).state
    if before:
        hy.run(m, x, np.tile(inputs[0], (before + 1, 1)), 100, n_p=2)
    return m, x, sp.model(unit, b, sh, unilateral=unilateral, **settings), inputs


@pytest.mark.slow
@pytest.mark.parametrize("unilateral", [True, slow(False)])
@pytest.mark.parametrize(("case", "row"), [("MED", 3), slow("OD", 0), slow("LOW", 0)])
def test_mirrored_sheaves_keep_the_belt_in_its_plane_where_it_is_the_hybrid_model(
    case: str, row: int, unilateral: bool
) -> None:
    m, x, wide, inputs = prepare(case, row, 3, mirrored=True, unilateral=unilateral)
    y = lift(wide, x)
    one, done = hy.run(m, x, inputs, 100, n_p=2)
    two, also = sp.run(wide, y, inputs, 100)
    assert (done, also) == (3, 3)
    flat = two.planar
    assert (one.saddle[..., 0].min() < -1.0) == (not unilateral)  # a bilateral saddle pulls
    # rounding of positions of 0.2 m and angles of 7 rad, times stiffnesses of up to 1e9 N/m
    assert np.abs(flat.q - one.q).max() < 5e-10
    assert np.abs(flat.q_R - one.q_R).max() < 1e-10
    assert np.abs(flat.s - one.s).max() < 1e-13
    for name, scale in (("flank", 500), ("saddle", 100), ("tension", 1000), ("pulley", 1e4)):
        assert np.abs(getattr(flat, name) - getattr(one, name)).max() < 1e-8 * scale
    pins = one.joint[..., 3] + one.joint[..., 4]  # one of them can be closed
    assert np.abs(flat.joint[..., :3] - one.joint[..., :3]).max() < 2e-4
    assert np.abs(flat.joint[..., 3] - pins).max() < 1e-4
    assert np.abs(flat.stored - one.stored).max() < 1e-9
    # closing and opening of saddles is booked by themselves here, as a remainder there; losses are some 0.1 J
    assert np.abs(flat.work[1:] - one.work[1:]).max() < 1e-3
    # rates of roll and yaw come to 1e-8 rad/s by the iteration of the flanks' friction
    assert np.abs(two.q).max() < 1e-10
    assert np.abs(two.ring[:, 0] - two.ring[:, 1]).max() < 1e-10


def momentum(m: sp.Model, x: sp.State) -> np.ndarray:
    """Momentum and angular momentum about the origin."""
    B, R = m.body, np.zeros((m.belt.N_E, 9))
    el.frames_of(x.q, np.cos(x.q[:, 2]), np.sin(x.q[:, 2]), R)
    r, v = x.q[:, [0, 1, 3]], x.u[:, [0, 1, 3]]
    spin = x.u[:, [4, 5, 2]] * [B.Theta_x, B.Theta_y, B.Theta_z]
    p = B.m * v.sum(axis=0)
    h = (B.m * np.cross(r, v) + np.einsum("ijk,ik->ij", R.reshape(-1, 3, 3), spin)).sum(axis=0)
    for half, sigma in ((x.left, 1.0), (x.right, -1.0)):
        r = np.column_stack([half.q_R[:, :2], sigma * half.q_L[:, 0]])
        v = np.column_stack([half.u_R[:, :2], sigma * half.u_L[:, 0]])
        p += m.ring.m * v.sum(axis=0)
        h += m.ring.m * np.cross(r, v).sum(axis=0)
        h[:2] += sigma * m.lateral.J * half.u_L[:, 1:].sum(axis=0)
        h[2] += m.ring.J * half.u_R[:, 2].sum()
    return np.concatenate([p, h])


@pytest.mark.slow
def test_a_belt_that_no_sheave_touches_keeps_its_momentum() -> None:
    _, x, m, inputs = prepare("MED", 3, 2)
    y = lift(m, x)
    y.s[:, :, 0] += 0.02  # wide open
    inputs[:, [0, 2]], inputs[:, [1, 3]] = 1, 0  # and kept there
    y.u[:] += 0.05 * np.random.default_rng(1).standard_normal(y.u.shape) * [1, 1, 100, 1, 100, 100]
    before, spin = momentum(m, y), y.u[:, [4, 5, 2]].copy()
    out, done = sp.run(m, y, inputs, 100)
    assert done == 2
    assert not out.flank.any()
    assert out.joint[-1].max(axis=0)[[0, 1, 2, 4]].min() > 10
    assert out.saddle[-1, ..., :4].any(axis=(0, 1)).sum() >= 3
    change = momentum(m, y) - before
    assert np.abs(change[:3]).max() < 1e-12
    # what the elements gave each other and the rings; z of a ring is linear between nodes, its planar load is not
    given = np.abs((y.u[:, [4, 5, 2]] - spin) * [m.body.Theta_x, m.body.Theta_y, m.body.Theta_z]).sum(axis=0)
    assert np.all(np.abs(change[3:]) < 5e-4 * given)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> tuple[sp.Model, hy.State, np.ndarray]:
    """The default belt out of line, of 20 elements, as it starts, and inputs over 10 us."""
    if config.DISABLE_JIT:  # records, as kernels see them
        for name in ("books", "stocks"):
            of = getattr(ledger, name)
            monkeypatch.setattr(ledger, name, lambda table, of=of: of(table).view(np.recarray))
    c, sh = UNIT.get_case("MED"), parameters.sheaves(UNIT)
    b = parameters.belt(UNIT, N_E0=c.N_E0, N_E=20, N_B=20)._replace(d_align=1e-3)
    inputs = parameters.boundary_at(c, 5e-6 * np.arange(3), 3)
    start = start_state(b, sh, parameters.Boundary(*inputs[0]), c.i_r)
    return sp.model(UNIT, b, sh, unilateral=True), hy.state(*start[:7], n_k=len(sh.A) - 1), inputs


@pytest.mark.interpreted
@pytest.mark.parametrize("n_R", [1, 2])
def test_energy_that_is_not_accounted_for_vanishes_with_the_step(short: Any, n_R: int) -> None:
    """The scheme is of first order, so is the rest, also with two steps of the rings in each."""
    (m, x, inputs), rests = short, []
    for steps in (10, 20):
        out, done = sp.run(m, lift(m, x), inputs, steps, 5e-6 / steps, 2, n_R)
        assert done == 2
        rest, losses, _ = hy.residual(out.planar)
        rests.append(rest)
    assert out.planar.active[-1, :2].min() >= 20  # flanks and saddles
    assert np.count_nonzero(out.planar.work[1, len(hy.INPUTS) :] > 1e-3 * losses) >= 7
    assert rests[0] / rests[1] == pytest.approx(2.0, abs=0.1)
    assert abs(2.0 * rests[1] - rests[0]) < 5e-3 * n_R * losses


@pytest.mark.interpreted
@pytest.mark.parametrize("n_R", [1, 2])
def test_a_short_belt_in_the_air_keeps_its_momentum_across(short: Any, n_R: int) -> None:
    """But for what rings that step by themselves still hold; along the planes as well if they do not."""
    m, x, inputs = short
    y = lift(m, x)
    y.s[:, :, 0] += 0.02  # wide open
    inputs[:, [0, 2]], inputs[:, [1, 3]] = 1, 0  # and kept there
    y.u[:] += 0.05 * np.random.default_rng(1).standard_normal(y.u.shape) * [1, 1, 100, 1, 100, 100]
    before = momentum(m, y)[:3]
    out, done = sp.run(m, y, inputs[:2], 5, 1e-6, 2, n_R)
    assert done == 1
    assert np.abs(out.saddle[-1, ..., 3]).max() > 1.0
    change = momentum(m, y)[:3] - before
    if n_R > 1:
        held = [half.held_L[:, 0].sum() for half in (y.left, y.right)]
        change = change[2:] + 1e-6 / n_R * (held[0] - held[1])
    assert np.abs(change).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "row", "offset", "rod"),
    [slow("MED", 3, None, "rcm"), ("MED", 3, 1e-3, "rcm"), slow("OD", 0, 1e-3, "rcm"), slow("LOW", 0, None, "rcm"),
     ("LOW", 0, 1e-3, "cosserat")],
)  # fmt: skip
def test_energy_balance_between_fixed_and_loose_sheaves(case: str, row: int, offset: float | None, rod: str) -> None:
    unit = changed(ring={"rod": rod} | ({} if rod == "rcm" else {"rotatory_factor": 1134.0}))
    _, x, m, inputs = prepare(case, row, 40, before=20, offset=offset, unit=unit)
    out, done = sp.run(m, lift(m, x), inputs, 100)
    assert done == 40
    rest, losses, throughput = hy.residual(out.planar)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 2e-3 * losses
    assert np.all(out.planar.work[1:, len(hy.INPUTS) :].sum(axis=0) >= 0)
    assert out.planar.active[-1].min() > 50
    assert out.margin[..., 1].min() > 0.0


@pytest.mark.slow
def test_energy_balance_with_saddles_that_hold_the_rings() -> None:
    _, x, m, inputs = prepare("MED", 3, 40, before=20, offset=1e-3, unilateral=False)
    out, done = sp.run(m, lift(m, x), inputs, 100)
    assert done == 40
    rest, losses, throughput = hy.residual(out.planar)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 1e-2 * losses
    # all saddles hold, with either sign; no ear does
    assert np.all(out.planar.active[:, 1] == 2 * m.belt.N_E)
    assert out.saddle[..., 0].min() < -1.0
    assert not out.saddle[..., 1].any()
    f, N = np.hypot(out.saddle[..., 2], out.saddle[..., 3]), np.abs(out.saddle[..., 0])
    assert np.all(f <= m.belt.mu_R * N * (1 + 1e-9) + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "row", "offset"), [("MED", 3, 1e-3), slow("LOW", 0, None)])
def test_multirate_scheme_is_the_explicit_one_at_larger_steps(case: str, row: int, offset: float | None) -> None:
    _, x, m, inputs = prepare(case, row, 40, before=20, offset=offset)
    one, _ = sp.run(m, lift(m, x), inputs, 100)
    two, done = sp.run(m, lift(m, x), inputs, 40, 2.5e-6, 2, 2)
    assert done == 40
    rest, losses, throughput = hy.residual(two.planar)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 1e-2 * losses
    # a step and a bit behind: as long as motion has not parted, within a few newtons of forces of hundreds
    assert np.abs(two.planar.tension[0] - one.planar.tension[0]).max() < 0.012 * one.planar.tension[0].mean()
    for name in ("tension", "saddle", "flank"):
        a, b = (getattr(f.planar, name)[20:] for f in (one, two))
        mean = a.mean(axis=(0, 1))
        assert np.allclose(b.mean(axis=(0, 1)), mean, atol=0.02 * np.abs(mean).max()), name


@pytest.mark.slow
@pytest.mark.parametrize("damping", [slow(0.05), 0.2])
def test_multirate_scheme_is_the_explicit_one_at_any_damping_of_the_flanks(damping: float) -> None:
    """At the largest step that the dampers bear; above it the thrust ratio would be a seventh too large."""
    unit = changed(contacts={"flank_damping": damping})
    _, x, m, inputs = prepare("LOW", 0, 40, unit=unit, before=20)
    bound = min(2.5e-6, st.largest_step(m.belt, m.body, m.sheaves))
    values = []
    for dt, n_R in ((1e-6, 1), (bound, 2)) if damping < 0.1 else ((1e-6, 1), (bound, 2), (2.5e-6, 2)):
        steps = round(np.ceil(PLOT / dt - 1e-9))
        out, done = sp.run(m, lift(m, x), inputs, steps, PLOT / steps, 2, n_R)
        assert done == 40
        rest, _, throughput = hy.residual(out.planar)
        F = out.planar.pulley[20:, :, 1].mean(axis=0)
        assert abs(rest) < 1e-3 * throughput
        values.append([F[0] / F[1], out.planar.tension[20:].mean()])
    assert values[1] == pytest.approx(values[0], rel=2e-3)
    if damping > 0.1:
        assert bound == pytest.approx(1.95e-6, rel=0.01)
        assert values[2][0] > 1.1 * values[0][0]


@pytest.mark.slow
def test_mobility_of_the_flanks_is_the_largest_answer_to_their_normal_forces() -> None:
    """Of an element without a sheave by its own kernels, of a pressed arc with its loose sheave by its whole matrix."""
    _, x, m, _ = prepare("MED", 3, 1)
    y, b, B, s = lift(m, x), m.belt, m.body, m.sheaves
    rigid = s._replace(m=np.inf, Theta_t=np.inf)
    R, n_p = np.zeros((b.N_E, 9)), 2
    el.frames_of(y.q, np.cos(y.q[:, 2]), np.sin(y.q[:, 2]), R)
    sides = [fk.flanks(b.N_E, n_p) for _ in range(2)]
    for side, (sigma, fl) in enumerate(zip(sp.SIDES, sides, strict=True)):
        fk.contact_points(b, s, el.Side(sigma, y.q, y.u, R), y.s[side], fl)
    at = np.flatnonzero((sides[0].pulley == 0) & (sides[1].pulley == 0))
    n, rows, inverse = len(at), [], np.tile([B.m, B.m, B.m, B.Theta_x, B.Theta_y, B.Theta_z], len(at)) ** -1.0
    for sigma, fl in zip(sp.SIDES, sides, strict=True):
        for k, i in enumerate(at):
            for p in range(n_p):
                row, mirror = np.zeros(6 * n + 3), [1, 1, sigma]
                normal, arm = fl.n[i, p] * mirror, fl.arm[i, p] * mirror
                row[6 * k : 6 * k + 3] = normal
                row[6 * k + 3 : 6 * k + 6] = np.cross(arm, R[i].reshape(3, 3).T @ normal)
                if sigma > 0:  # the loose sheave of the primary
                    row[-3:] = -normal[2], *-np.cross(fl.P[i, p], normal)[:2]
                rows.append(row)
    G = np.array(rows)
    alone, whole = (
        np.linalg.eigvalsh(G * [*inverse, *more] @ G.T)[-1] for more in ((0, 0, 0), (1 / s.m, *2 * (1 / s.Theta_t,)))
    )
    assert alone < st.mobility(b, B, rigid) < 1.05 * alone
    assert whole < st.mobility(b, B, s) < 1.25 * whole
    c, d, step = b.c_el / (2 * b.cos_d), b.d_el / (2 * b.cos_d**2), st.largest_step(b, B, s)
    assert c * step**2 + 2 * d * step == pytest.approx(4 / st.mobility(b, B, s), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("compliance", "apart"), [((1.0, 1.0), 0.003), ((1.15, 0.85), 0.05)])
def test_the_belt_starts_where_the_pulleys_hold_it(compliance: tuple[float, float], apart: float) -> None:
    offset = 0.7e-3
    _, x, m, inputs = prepare("LOW", 0, 1, before=30, offset=offset)
    m = sp.model(changed(spatial={"compliance": compliance}), m.belt, m.sheaves)
    y = lift(m, x)
    b = m.belt
    path = taut_path(x.q_R[None, :, :2], b.d_A)
    r, r_1 = np.array([path.r_I[0], path.r_O[0]]), radius_at_one(b.l_R, b.d_A, offset)
    sunk = b.z_P - (r - b.h_P - 0.5 * b.h_ring + b.y_P) * b.tan_d - x.s[:, 0]
    primary, secondary = y.q[:, 0] > b.d_A + 0.01, y.q[:, 0] < -0.01
    found = y.q[primary, 3].mean() - y.q[secondary, 3].mean()
    # the belt is pressed into the fixed sheaves, which yield, a little less than the mean
    assert sunk.min() > 3e-5
    assert found == pytest.approx(misalignment(*r, r_1, b.tan_d, offset) - sunk.sum(), abs=2e-5)
    assert np.ptp(y.q[primary, 3]) == np.ptp(y.q[secondary, 3]) == 0.0
    # both flanks feel the same force, also without the tilt of the fixed sheaves; unequal ones yield unlike
    out, _ = sp.run(m, y, inputs, 1, 1e-6)
    left, right = out.flank[0, 0, :, 0], out.flank[0, 1, :, 0]
    assert np.abs(left - right).mean() < apart * left.max()
    assert left.sum() == pytest.approx(right.sum(), rel=apart)


@pytest.mark.slow
def test_rings_of_unlike_friction_have_the_tension_slip_and_loss_of_their_own() -> None:
    """LOW: the rings slide on the primary and stick on the secondary, each by its own friction. Capstan: ln of the
    tensions of the strands, less rho A v^2, is mu times the arc; slip is what the radii make it, so the loss goes
    with mu."""
    shares = np.array([1.5, 0.5])
    unit = changed(spatial={"ring_friction": shares.tolist()})
    _, x, m, inputs = prepare("LOW", 0, 160, unit=unit, before=20)
    assert [g.mu for g in m.guides] == pytest.approx(m.belt.mu_R * shares, rel=1e-12)
    assert m.guides[0]._replace(mu=0.0) == m.guides[1]._replace(mu=0.0)
    y, b = lift(m, x), m.belt
    sp.run(m, y, inputs[:61], 40, 2.5e-6, 2, 2)
    frames, power, slip = [], np.zeros(2), np.zeros(2)
    for k in range(60, 160):
        out, done = sp.run(m, y, inputs[k : k + 2], 40, 2.5e-6, 2, 2)
        assert done == 1
        frames.append(out)
        pressed = out.planar.q[0, :, 0] > b.d_A  # on the arc of the primary
        for side, half in enumerate((y.left, y.right)):
            f, v = half.memory[:, :2], half.memory[:, 2:4]
            power[side] -= np.sum((f * v)[pressed])
            slip[side] += np.abs(v[pressed & (out.saddle[0, side, :, 0] > 10.0), 0]).mean() / 100
    kept = sp.Frames(hy.Frames(*(np.concatenate(a) for a in zip(*(o.planar for o in frames), strict=True))),
                     *(np.concatenate(a) for a in zip(*(o[1:] for o in frames), strict=True)))  # fmt: skip
    # the cone of each
    force = np.hypot(kept.saddle[..., 2], kept.saddle[..., 3]).max(axis=(0, 2))
    most = b.mu_R * shares[:, None] * (kept.saddle[..., 0] + kept.saddle[..., 1]).transpose(1, 0, 2).reshape(2, -1)
    used = np.hypot(kept.saddle[..., 2], kept.saddle[..., 3]).transpose(1, 0, 2).reshape(2, -1)
    assert np.all(used <= most * (1 + 1e-9) + 1e-9)
    assert force[0] > 2.0 * force[1]
    # capstan
    x_R, y_R = kept.planar.q_R[..., 0], kept.planar.q_R[..., 1]
    middle = np.abs(x_R - 0.5 * b.d_A) < 0.2 * b.d_A
    T = np.array([[kept.tension[:, side][middle & at].mean() for at in (y_R > 0, y_R < 0)] for side in range(2)])
    v = np.hypot(kept.planar.u_R[..., 0], kept.planar.u_R[..., 1]).mean()
    path = taut_path(kept.planar.q_R[-1:, :, :2], b.d_A)
    wrap = 2.0 * (np.pi - path.phi[0])
    rise = np.log((T - 0.5 * b.rhoA * v**2)[:, 0] / (T - 0.5 * b.rhoA * v**2)[:, 1])
    assert np.abs(rise) == pytest.approx(b.mu_R * shares * wrap, rel=0.1)
    # their mean is that of one length: equal
    assert T[0].mean() == pytest.approx(T[1].mean(), rel=0.02)
    assert slip[0] == pytest.approx(slip[1], rel=0.05)
    assert power[0] / power[1] == pytest.approx(3.0, rel=0.1)
    rest, losses, throughput = hy.residual(kept.planar)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 1e-2 * losses


@pytest.mark.slow
@pytest.mark.parametrize("taper", [None, slow(8e-6)])
@pytest.mark.parametrize("mode", [parameters.TORQUE, parameters.SPEED])
@pytest.mark.parametrize("stop", ["primary", slow("secondary"), slow("none")])
def test_the_belt_starts_in_all_settings(stop: str, mode: int, taper: float | None) -> None:
    """Table 4.1 of the source, tapered elements as well: forces go on where the hybrid model had them."""
    c = UNIT.get_case("MED")
    b, sh = parameters.belt(UNIT, N_E0=c.N_E0, taper=taper), parameters.sheaves(UNIT)
    values = parameters.boundary_at(c, np.array([0.0]), 3)[0]
    steady = start_state(b, sh, parameters.Boundary(*values), c.i_r).steady
    if stop != "primary":
        values[:2] = parameters.FORCE, steady.F_CI
    if stop == "secondary":
        values[2:4] = parameters.RATE, 0.0
    if mode == parameters.SPEED:
        values[5:] = parameters.SPEED, steady.omega_O
    inputs = np.tile(values, (11, 1))
    start = start_state(b, sh, parameters.Boundary(*values), c.i_r)
    m, x = hy.model(b, sh), hy.state(*start[:7], n_k=len(sh.A) - 1)
    hy.run(m, x, inputs, 100, n_p=2)
    wide = sp.model(UNIT, b, sh)
    y = lift(wide, x)
    one, _ = hy.run(m, x, inputs, 100, n_p=2)
    two, done = sp.run(wide, y, inputs, 100)
    assert done == 10
    flat = two.planar
    assert flat.tension.mean() == pytest.approx(one.tension.mean(), rel=0.02)
    assert flat.pulley[:, :, 0].mean(axis=0) == pytest.approx(one.pulley[:, :, 0].mean(axis=0), rel=0.03)
    assert flat.flank[..., 0].max() < 1.3 * one.flank[..., 0].max()
    assert flat.sd[-1, :, 3] == pytest.approx(one.sd[-1, :, 3], rel=1e-3)


@pytest.mark.interpreted
def test_a_belt_out_of_line_starts_along_its_path_and_as_stretched_as_in_its_plane() -> None:
    """Rates of elements are those of a belt that moves on; rings slide until all pieces are longer alike, and elements
    stay where they were on them."""
    _, x, m, _ = prepare("MED", 3, 1, before=0, offset=2e-3)
    y, h = lift(m, x), 1e-8
    on, back = (lift(m, x._replace(q=x.q + step * x.u)).q for step in (h, -h))
    np.testing.assert_allclose(y.u, (on - back) / (2.0 * h), atol=1e-6)
    flat, nodes = x.q_R[:, :2], np.column_stack([y.left.q_R[:, :2], y.left.q_L[:, 0]])

    def ahead(points: np.ndarray) -> np.ndarray:
        return np.roll(points, -1, axis=0) - points

    def place(points: np.ndarray, s: np.ndarray) -> np.ndarray:
        k = s.astype(int)
        return np.asarray(points[k] + (s - k)[:, None] * ahead(points)[k])

    longer = np.linalg.norm(ahead(nodes), axis=1) - np.linalg.norm(ahead(flat), axis=1)
    assert np.ptp(longer) < 0.5 * longer.mean()
    slid = np.abs(nodes[:, :2] - flat).max()
    assert np.abs(place(nodes[:, :2], y.left.s_R) - place(flat, x.s_R)).max() < 0.1 * slid


@pytest.mark.slow
def test_a_belt_out_of_line_starts_without_a_wave_of_tension() -> None:
    """What its strands are longer by is spread over the rings; else a strand would have 600 N more than the arcs."""
    m, x, wide, inputs = prepare("MED", 3, 1, before=30, offset=2e-3)
    y = lift(wide, x)
    assert np.ptp(y.q[:, 3]) > 1.4e-3
    one, _ = hy.run(m, x, inputs, 1, 1e-6, 2)
    two, _ = sp.run(wide, y, inputs, 1, 1e-6)
    more = two.planar.tension[0] - one.tension[0]
    assert 150 < more.mean() < 350
    assert np.abs(more - more.mean()).max() < 10


@pytest.mark.slow
def test_a_resting_ring_is_in_balance_with_what_holds_it() -> None:
    _, x, m, _ = prepare("MED", 3, 1)
    L, N_B, q_R = m.lateral._replace(camber=0.3, time=0.0), m.belt.N_B, x.q_R
    cs, sn = np.cos(q_R[:, 2]), np.sin(q_R[:, 2])
    shape, rate = np.zeros((N_B, planar_ring.N_SHAPE)), np.zeros((N_B, planar_ring.N_RATE))
    planar_ring.shape_of(m.ring, q_R, cs, sn, shape)
    S, hold, place = (np.random.default_rng(3).uniform(*span, N_B) for span in ((1e3, 3e3), (1e4, 1e5), (0, 1e-3)))
    q_L = lat.resting(L, shape, cs, sn, S, hold, place)
    still, twist = np.zeros((N_B, 3)), np.zeros((N_B, 4))
    lat.stretches(L, q_L, still, np.zeros((N_B, 5)), cs, sn, twist, np.zeros((N_B, 2)))
    F_L = np.zeros((N_B, 3))
    lat.forces(L, q_L, still, shape, rate, cs, sn, twist, S, F_L, np.zeros((N_B, 5)))
    held = hold * (q_L[:, 0] - place)
    assert np.abs(held).max() > 10
    assert np.abs(F_L[:, 0] - held).max() < 1e-7
    assert np.abs(F_L[:, 1:]).max() < 1e-9


def test_what_the_spatial_model_cannot_take_is_named() -> None:
    b, sh = parameters.belt(UNIT), parameters.sheaves(UNIT)
    with pytest.raises(InputError, match="spatial"):
        sp.model(UNIT.model_copy(update={"spatial": None}), b, sh)
    with pytest.raises(InputError, match=r"ring\.width.*0\.0093"):
        sp.model(changed(ring={"width": 9.5e-3}), b, sh)
    for values in (
        {"w_P": 0.03}, {"tracking": (2.0, 1.0)}, {"tracking": (0.0, 1.0)}, {"crown": -1.0},
        {"ring_friction": (-0.1, 1.0)}, {"ring_friction": (1.0, 21.0)}, {"ring_friction": (1.0,)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"w_P|tracking|crown|ring_friction"):
            changed(spatial=values)
    with pytest.raises(InputError, match=r"spatial\.crown = 0\.5.*bilateral"):
        sp.model(changed(spatial={"crown": 0.5}), b, sh, unilateral=False)
    _, x, m, _ = prepare("MED", 3, 1, before=0, offset=6e-3)
    with pytest.raises(InputError, match=r"alignment_offset.*0\.006"):
        lift(m, x)
