"""The explicit hybrid model: momentum, energy, repetition, and what a run that fails does."""

from typing import Any

import numpy as np
import pytest
from marks import slow
from pushbelt_starts import begun
from pushbelt_steps import stepped
from rows import cases

from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.planar import model as hy

PLOT = 1e-4
BENCH = Load(2e4, 0.6, 0.5, 1.0)


def prepare(
    case: str, frames: int, row: int = 0, *, unilateral: bool = True, coupled: bool = True, load: Load | None = None
) -> tuple[hy.Model, hy.State, np.ndarray]:
    one = begun(case, row, frames, PLOT, coupled=coupled)
    if load is not None:
        one.state.load[:] = one.inputs[0, 6] / load.K, one.state.sd[1, 3]
    return hy.model(one.belt, one.sheaves, unilateral=unilateral, coupled=coupled, load=load), one.state, one.inputs


def momentum(m: hy.Model, x: hy.State) -> np.ndarray:
    """Momentum and angular momentum about the origin of elements and ring."""
    b, R = m.belt, m.ring
    return np.array([b.m_E * x.u[:, 0].sum() + R.m * x.u_R[:, 0].sum(),
        b.m_E * x.u[:, 1].sum() + R.m * x.u_R[:, 1].sum(),
        np.sum(b.m_E * (x.q[:, 0] * x.u[:, 1] - x.q[:, 1] * x.u[:, 0]) + b.J_E * x.u[:, 2]) + np.sum(R.m * (x.q_R[:,
        0] * x.u_R[:, 1] - x.q_R[:, 1] * x.u_R[:, 0]) + R.J * x.u_R[:, 2])])  # fmt: skip


@pytest.mark.parametrize(("case", "row", "unilateral", "coupled"), [("MED", 3, True, True), ("OD-KpKs", 2, True, True),
    slow("OD", 0, True, True), slow("LOW", 0, False, True), slow("MED", 3, True, False)])  # fmt: skip
def test_energy_balance(case: str, row: int, unilateral: bool, coupled: bool) -> None:
    m, x, inputs = prepare(case, 40, row, unilateral=unilateral, coupled=coupled, load=BENCH)
    out, done = hy.run(m, x, inputs, 100)
    assert done == 40
    rest, losses, throughput = hy.residual(out)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 0.005 * losses
    assert np.all(out.work[1:, len(hy.INPUTS) :].sum(axis=0) >= 0)
    assert out.active[-1].min() > 50


@pytest.mark.parametrize(("case", "row"), [("MED", 3), slow("OD", 0), slow("LOW", 0)])
@pytest.mark.parametrize("v_mu", [slow(2e-3), 1e-4])
@pytest.mark.parametrize(("n_R", "dt"), [(1, 1e-6), (2, 2.5e-6)])
def test_flank_friction_never_leaves_the_cone(case: str, row: int, v_mu: float, n_R: int, dt: float) -> None:
    m, x, inputs = prepare(case, 4, row)
    m = m._replace(friction=m.friction._replace(v_mu=v_mu))
    w, out = hy.scratch(m, x, 1), hy.frames(m, 1)
    books, stocks = ledger.books(out.work), ledger.stocks(out.stored)
    most = 0.0
    for k in range(400):
        held = inputs[k // 100 : k // 100 + 1].repeat(2, axis=0)
        assert hy._run(m, x, w, held, np.empty(7), 1, dt, n_R, out, books, stocks, out.rest) == 1
        N, T = w.flanks.points.N[:, 0], np.linalg.norm(w.flanks.points.T[:, 0], axis=1)
        assert (T[w.flanks.points.pulley >= 0] <= m.friction.mu * N[w.flanks.points.pulley >= 0] * (1.0 + 1e-9)).all()
        most = max(most, (T[N > 10.0] / N[N > 10.0]).max())
    assert most > 0.99 * m.friction.mu


ONE = {"steps": 100, "dt": 1e-6, "n_R": 1}
STEP2 = {"steps": 40, "dt": 2.5e-6, "n_R": 2}  # the multirate scheme


@pytest.mark.parametrize(
    ("case", "row", "unilateral"), [("MED", 3, True), slow("OD-KpKs", 2, True), slow("LOW", 0, False)]
)
def test_energy_balance_of_the_multirate_scheme(case: str, row: int, unilateral: bool) -> None:
    m, x, inputs = prepare(case, 60, row, unilateral=unilateral, load=BENCH)
    out, done = hy.run(m, x, inputs, **STEP2)
    assert done == 60
    out = hy.Frames(*[a[20:] for a in out])  # the start swings
    rest, losses, throughput = hy.residual(out)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 0.02 * losses
    lost = dict(zip(hy.LOSSES, ledger.losses_of(out.work[1:]).sum(axis=0), strict=True))
    assert lost.pop("ring layer friction") == 0.0  # the section of the set stays plane
    assert min(lost.values()) > 0.0


@pytest.mark.parametrize(
    ("unilateral", "scheme", "bound"), [(True, ONE, 1e-11), slow(False, ONE, 1e-11), (True, STEP2, 1e-4)]
)
def test_a_belt_that_no_sheave_touches_keeps_its_momentum(unilateral: bool, scheme: Any, bound: float) -> None:
    m, x, inputs = prepare("MED", 2, 3, unilateral=unilateral)
    x.s[:, 0] += 0.02  # wide open
    inputs[:, [0, 2]], inputs[:, [1, 3]] = 1, 0  # and kept there
    x.u[:] += 0.05 * np.random.default_rng(1).standard_normal(x.u.shape) * [1, 1, 100]
    before = momentum(m, x)
    out, done = hy.run(m, x, inputs, **scheme)
    assert done == 2
    assert not out.flank.any()
    assert out.saddle[-1].any()
    assert out.joint[-1].any()
    # elements and ring exchange 5e-3 of it; of two rates half of the last step's part is held, and held forces turn
    scale = m.belt.m_E * np.abs(x.u[:, :2]).sum()
    assert np.all(np.abs(momentum(m, x) - before) < bound * scale * np.array([1, 1, 0.1]))


@pytest.mark.parametrize(("n_R", "numbers"), [(1, (100, 200, 400)), (2, (40, 80, 160))], ids=["explicit", "multirate"])
def test_schemes_are_of_first_order(n_R: int, numbers: tuple[int, ...]) -> None:
    """Velocities of the elements after 0.2 ms against the explicit scheme at 1.25e-7 s. Contacts close and open at
    other times: the error falls to 0.32 to 0.46 with half the step."""
    m, x, inputs = prepare("MED", 2, 2)
    hy.run(m, x, inputs, 800, 1.25e-7)
    error = []
    for steps in numbers:
        _, y, _ = prepare("MED", 2, 2)
        _, done = hy.run(m, y, inputs, steps, PLOT / steps, n_R=n_R)
        assert done == 2
        error.append(np.abs(y.u[:, :2] - x.u[:, :2]).mean())
    assert np.all(np.log2(np.divide(error[:-1], error[1:])) > 0.95)


def test_energy_error_falls_with_the_step() -> None:
    rest = []
    for steps in (100, 200, 400):
        m, x, inputs = prepare("LOW", 20)
        out, _ = hy.run(m, x, inputs, steps, PLOT / steps)
        rest.append(abs(hy.residual(out)[0]))
    assert np.all(np.log2(np.divide(rest[:-1], rest[1:])) > 0.95)


@pytest.mark.slow
@cases
def test_a_revolution_leaves_a_thousandth_of_throughput_and_a_hundredth_of_loss(case: str, row: int) -> None:
    """Both schemes, behind one revolution of the multirate one: what docs/pushbelt.md says under "Verification"."""
    m, x, inputs = prepare(case, 1, row)
    v = np.hypot(x.u[:, 0], x.u[:, 1]).mean()
    revolution = round(m.belt.N_E * m.belt.t_R / v / PLOT)

    def go(frames: int, **scheme: Any) -> hy.Frames:
        out, done = hy.run(m, x, np.broadcast_to(inputs[1], (frames + 1, 7)), **scheme)
        assert done == frames
        return out

    go(revolution, **STEP2)
    for scheme in ({"steps": 100}, STEP2):
        go(30, **scheme)
        rest, losses, throughput = hy.residual(go(revolution + 1, **scheme))
        assert abs(rest) < 1e-3 * throughput
        assert abs(rest) < 1e-2 * losses


def balanced(out: hy.Frames) -> bool:
    """The limits of the energy balance: of the whole, and of what elements and ring give each other at each pulley."""
    rest, losses, throughput = hy.residual(out)
    between = np.abs(out.rest[1:].sum(axis=0)).max()
    return bool(max(abs(rest), between) < 1e-3 * throughput and abs(rest) < 1e-2 * losses)


def uneven(forces: Any) -> Any:
    """Ring and elements: action is not reaction, by 2 %."""

    def wrong(*a: Any) -> Any:
        works = forces(*a)
        a[4][:] *= 1.02
        return works

    return wrong


def unbooked(forces: Any) -> Any:
    """Half the work of the ring's friction."""

    def wrong(*a: Any) -> Any:
        lost_t, *others = forces(*a)
        return 0.5 * lost_t, *others

    return wrong


def twisted(forces: Any) -> Any:
    """Joints: the moment on the element behind is wrong by 2 %."""

    def wrong(J: Any, q: Any, u: Any, cs: Any, sn: Any, f: Any, N: Any, damper: Any, pair: Any, wrench: Any, dt: float):
        work = forces(J, q, u, cs, sn, f, N, damper, pair, wrench, dt)
        f[:, 2] += 0.02 * wrench[:, 2]
        return work

    return wrong


def pushed(velocities: Any) -> Any:
    """The axial force on the primary's sheave is wrong by 2 %."""

    def wrong(*a: Any) -> None:
        velocities(*a)
        a[-2][0, 0] *= 1.02

    return wrong


MUTATIONS = [("saddle_forces", uneven), ("saddle_forces", unbooked), ("joint_forces", twisted), ("velocities", pushed)]


def assert_balance_fails_with(
    mutations: Any, m: hy.Model, start: hy.State, inputs: np.ndarray, frames: int, patch: Any, **scheme: Any
) -> None:
    """So many plot steps in which the groove of the primary closes by 0.05 m/s: sheaves that stand do no work."""
    move = np.repeat(inputs[-1:], frames, axis=0)
    move[:, 1] = -0.05 * np.minimum(np.arange(frames) / 8, 1.0)

    def go() -> hy.Frames:
        return stepped(m, hy.State(*[a.copy("K") for a in start]), move, **scheme)[0]

    assert balanced(go())
    for name, mutation in mutations:
        with patch.context() as wrong:
            wrong.setattr(hy, name, mutation(getattr(hy, name)))
            assert not balanced(go()), mutation.__doc__


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [slow(ONE), STEP2], ids=["explicit", "multirate"])
@pytest.mark.parametrize(("case", "row"), [("MED", 3), slow("OD-KpKs", 4), slow("LOW", 0)])
def test_energy_balance_fails_where_a_force_or_a_work_is_wrong(
    case: str, row: int, scheme: Any, monkeypatch: Any
) -> None:
    m, start, inputs = prepare(case, 20, row)
    hy.run(m, start, inputs, **STEP2)
    assert_balance_fails_with(MUTATIONS, m, start, inputs, 32, monkeypatch, **scheme)


def test_inputs_reach_the_pulleys() -> None:
    m, x, inputs = prepare("MED", 30, 3)
    inputs[:, 4] *= np.linspace(1.0, 0.99, 31)
    out, _ = hy.run(m, x, inputs, 100)
    assert out.sd[-1, 0, 3] == pytest.approx(inputs[-1, 4], rel=1e-12)
    assert out.pulley[:, 1, 1] == pytest.approx(inputs[1:, 3], rel=1e-12)
    assert out.pulley[:, 1, 3] == pytest.approx(-inputs[1:, 6], rel=1e-12)
    assert np.ptp(out.s[:, 0, 0]) == 0  # end stop at rest
    # what the clamping holds is what the flanks bear
    assert out.pulley[:, 1, 0].mean() == pytest.approx(inputs[0, 3], rel=0.02)


def test_a_run_that_diverges_ends_early() -> None:
    m, x, inputs = prepare("MED", 20, 3)
    _, done = hy.run(m, x, inputs, 20, 5e-6)
    assert done < 20


def test_state_of_nan_ends_at_once() -> None:
    m, x, inputs = prepare("MED", 2, 3)
    x.q[7] = np.nan
    x.q_R[11] = np.nan
    _, done = hy.run(m, x, inputs, 10)
    assert done == 0
