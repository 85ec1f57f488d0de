"""The explicit hybrid model: momentum, energy, repetition, and what a run that fails does."""

from typing import Any

import numpy as np
import pytest

from offline.pushbelt import hybrid as hy
from offline.pushbelt.initial import start_state
from offline.pushbelt.parameters import Boundary, belt, boundary_at, load_parameters, sheaves

PLOT = 1e-4
UNIT = load_parameters("pushbelt_24mm")


def prepare(
    case: str, frames: int, row: int = 0, *, unilateral: bool = True, coupled: bool = True
) -> tuple[hy.Model, hy.State, np.ndarray]:
    c = UNIT.get_case(case)
    b, sh = belt(UNIT, N_E0=c.N_E0), sheaves(UNIT)
    inputs = boundary_at(c, PLOT * np.arange(frames + 1), row)
    start = start_state(b, sh if coupled else sh._replace(multiplier=0.0), Boundary(*inputs[0]), c.i_r)
    state = hy.state(start.q, start.u, start.q_R, start.u_R, start.s_R, start.s, start.sd, len(sh.A) - 1)
    return hy.model(b, sh, unilateral=unilateral, coupled=coupled), state, inputs


def momentum(m: hy.Model, x: hy.State) -> np.ndarray:
    """Momentum and angular momentum about the origin of elements and ring."""
    b, R = m.belt, m.ring
    return np.array(
        [
            b.m_E * x.u[:, 0].sum() + R.m * x.u_R[:, 0].sum(),
            b.m_E * x.u[:, 1].sum() + R.m * x.u_R[:, 1].sum(),
            np.sum(b.m_E * (x.q[:, 0] * x.u[:, 1] - x.q[:, 1] * x.u[:, 0]) + b.J_E * x.u[:, 2])
            + np.sum(R.m * (x.q_R[:, 0] * x.u_R[:, 1] - x.q_R[:, 1] * x.u_R[:, 0]) + R.J * x.u_R[:, 2]),
        ]
    )


@pytest.mark.parametrize("unilateral", [True, False])
def test_a_belt_that_no_sheave_touches_keeps_its_momentum(unilateral: bool) -> None:
    m, x, inputs = prepare("MED", 2, 3, unilateral=unilateral, coupled=False)
    x.s[:, 0] += 0.02  # wide open
    inputs[:, [0, 2]], inputs[:, [1, 3]] = 1, 0  # and kept there
    x.u[:] += 0.05 * np.random.default_rng(1).standard_normal(x.u.shape) * [1, 1, 100]
    before = momentum(m, x)
    out, done = hy.run(m, x, inputs, 100)
    assert done == 2
    assert not out.flank.any()
    assert out.joint[-1].any()
    assert out.saddle[-1].any()
    scale = m.belt.m_E * np.abs(x.u[:, :2]).sum()
    assert np.all(np.abs(momentum(m, x) - before) < 1e-11 * scale * np.array([1, 1, 0.1]))


@pytest.mark.parametrize(
    ("case", "row", "unilateral", "coupled"),
    [
        ("MED", 3, True, True),
        ("OD", 0, True, True),
        ("OD-KpKs", 2, True, True),
        ("LOW", 0, False, True),
        ("MED", 3, True, False),
    ],
)
def test_energy_balance(case: str, row: int, unilateral: bool, coupled: bool) -> None:
    m, x, inputs = prepare(case, 40, row, unilateral=unilateral, coupled=coupled)
    out, done = hy.run(m, x, inputs, 100)
    assert done == 40
    rest, losses, throughput = hy.residual(out)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 0.005 * losses
    assert np.all(out.work[1:, len(hy.INPUTS) :].sum(axis=0) >= 0)
    assert out.active[-1].min() > 50


@pytest.mark.parametrize(("case", "row"), [("MED", 3), ("LOW", 0)])
def test_forces_of_the_elements_are_those_that_move_belt_and_sheaves(case: str, row: int) -> None:
    m, x, inputs = prepare(case, 30, row)
    hy.run(m, x, inputs, 100)
    b, before = m.belt, momentum(m, x)
    out, _ = hy.run(m, x, inputs[:2], 1)
    normal, along, radial = out.flank[0].T
    primary = out.q[0, :, 0] > 0.5 * b.d_A
    X, Y = out.q[0, :, 0] - np.where(primary, b.d_A, 0.0), out.q[0, :, 1]
    r = np.hypot(X, Y)
    # forces at the elements' own place and with the angle of the rigid sheave: that is what the bounds allow
    for pulley, of in enumerate((primary, ~primary)):
        axial = np.sum(normal[of] * b.cos_d - radial[of] * b.sin_d)
        torque = -2.0 * np.sum(along[of] * r[of])
        assert axial == pytest.approx(out.pulley[0, pulley, 0], rel=5e-4)
        assert torque == pytest.approx(out.pulley[0, pulley, 2], rel=5e-3)
    outwards, forwards = 2.0 * (normal * b.sin_d + radial * b.cos_d), 2.0 * along
    force = np.stack([outwards * X + forwards * Y, outwards * Y - forwards * X]) / r
    change = (momentum(m, x) - before)[:2] / 1e-6
    assert np.all(np.abs(force.sum(axis=1) - change) < 5e-3 * np.abs(force).sum(axis=1))


STEP2 = {"steps": 40, "dt": 2.5e-6, "n_R": 2}  # the multirate scheme


@pytest.mark.parametrize(("case", "row", "unilateral"), [("MED", 3, True), ("OD-KpKs", 2, True), ("LOW", 0, False)])
def test_energy_balance_of_the_multirate_scheme(case: str, row: int, unilateral: bool) -> None:
    m, x, inputs = prepare(case, 60, row, unilateral=unilateral)
    out, done = hy.run(m, x, inputs, **STEP2)
    assert done == 60
    out = hy.Frames(*[a[20:] for a in out])  # the start swings
    rest, losses, throughput = hy.residual(out)
    assert abs(rest) < 1e-3 * throughput
    assert abs(rest) < 0.02 * losses
    assert np.all(out.work[1:, len(hy.INPUTS) :].sum(axis=0) > 0.0)


def test_multirate_scheme_keeps_momentum() -> None:
    m, x, inputs = prepare("MED", 2, 3, coupled=False)
    x.s[:, 0] += 0.02  # wide open
    inputs[:, [0, 2]], inputs[:, [1, 3]] = 1, 0  # and kept there
    x.u[:] += 0.05 * np.random.default_rng(1).standard_normal(x.u.shape) * [1, 1, 100]
    before = momentum(m, x)
    out, done = hy.run(m, x, inputs, **STEP2)
    assert done == 2
    assert out.saddle[-1].any()
    # elements and ring exchange 5e-3 of it here; half of the last step's part is still held, and held forces turn
    scale = m.belt.m_E * np.abs(x.u[:, :2]).sum()
    assert np.all(np.abs(momentum(m, x) - before) < 1e-4 * scale * np.array([1, 1, 0.1]))


def test_multirate_scheme_converges_to_the_explicit_one() -> None:
    m, x, inputs = prepare("MED", 2, 2)
    hy.run(m, x, inputs, 400, 2.5e-7)
    error = []
    for steps in (40, 80, 160):
        _, y, _ = prepare("MED", 2, 2)
        _, done = hy.run(m, y, inputs, steps, PLOT / steps, n_R=2)
        assert done == 2
        error.append(np.abs(y.u[:, :2] - x.u[:, :2]).mean())
    assert error[2] < error[1] < error[0]
    assert error[0] / error[2] > 2.5  # first order, with contacts that close and open at other times


def test_energy_error_falls_with_the_step() -> None:
    rest = []
    for steps in (100, 200):
        m, x, inputs = prepare("LOW", 20)
        out, _ = hy.run(m, x, inputs, steps, PLOT / steps)
        rest.append(abs(hy.residual(out)[0]))
    assert rest[1] < rest[0]


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


@pytest.mark.parametrize("scheme", [{"steps": 50}, STEP2])
def test_repetition_is_bit_identical_also_in_pieces(scheme: dict[str, float]) -> None:
    m, x, inputs = prepare("MED", 4, 3)
    whole, _ = hy.run(m, x, inputs, **scheme)
    m, y, inputs = prepare("MED", 4, 3)
    first, _ = hy.run(m, y, inputs[:2], **scheme)
    second, _ = hy.run(m, y, inputs[1:], **scheme)
    for a, b, c in zip(whole, first, second, strict=True):
        assert np.array_equal(a, np.concatenate((b, c)))
    for a, b in zip(x, y, strict=True):
        assert np.array_equal(a, b)


def test_extended_flank_contact_runs() -> None:
    m, x, inputs = prepare("MED", 10, 3)
    out, done = hy.run(m, x, inputs, 100, n_p=2)
    assert done == 10
    assert abs(hy.residual(out)[0]) < 1e-3 * hy.residual(out)[2]


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


def mean_peaks(m: hy.Model, out: hy.Frames, field: np.ndarray) -> np.ndarray:
    """Peak over the azimuth of the time mean of `field` (n, N_E), per pulley."""
    peaks = []
    for x_p in (m.belt.d_A, 0.0):
        x, y = out.q[..., 0] - x_p, out.q[..., 1]
        on = (np.abs(x) < 0.5 * m.belt.d_A) & (np.hypot(x, y) < m.sheaves.r_max + m.belt.h_S)
        angle = np.digitize(np.arctan2(y, x * (1.0 if x_p else -1.0))[on], np.radians(np.arange(-130, 131, 5)))
        total, count = np.bincount(angle, field[on], 54), np.bincount(angle, minlength=54)
        peaks.append((total[count > 200] / count[count > 200]).max())
    return np.array(peaks)


def figures(m: hy.Model, out: hy.Frames) -> dict[str, Any]:
    """Means and peaks of a run, without its first 8 ms."""
    out = hy.Frames(*[a[80:] for a in out])
    force, speed = out.pulley[:, :, 1].mean(axis=0), out.sd[:, :, 3].mean(axis=0)
    return {
        "thrust ratio": force[0] / force[1],
        "speed ratio": speed[0] / speed[1],
        "tension": out.tension.mean(),
        "flank peaks": mean_peaks(m, out, out.flank[..., 0]),
        "push peaks": mean_peaks(m, out, out.joint[..., :3].sum(axis=-1)),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "row", "settling", "revolution"), [("OD", 0, 900, 870), ("MED", 2, 1100, 570), ("LOW", 0, 1000, 980)]
)
def test_multirate_scheme_agrees_with_the_explicit_one_within_three_percent(case, row, settling, revolution):
    """A revolution from one settled state; from the start, runs also differ by what the belt did while it settled.

    The explicit scheme at 1e-6 s is itself off by up to 3.5 %: it is taken there and at 5e-7 s. What the
    multirate scheme gives must lie within 3 % of the two or between them.
    """
    n = settling + revolution
    m, x, b = prepare(case, n, row)
    _, done = hy.run(m, x, b[: settling + 1], 100)
    assert done == settling
    found = []
    for number, n_R in ((100, 1), (200, 1), (40, 2)):
        y = hy.State(*[a.copy("K") for a in x])
        out, done = hy.run(m, y, b[settling:], number, 1e-4 / number, n_R=n_R)
        assert done == revolution
        found.append(figures(m, out))
    for name, value in found[2].items():
        if name == "push peaks" and case == "OD":  # carries no torque: its push force moves with the gaps of the chain
            continue
        both = np.stack([found[0][name], found[1][name]])
        share = 0.003 if name == "speed ratio" else 0.03
        assert np.all(value > (1.0 - share) * both.min(axis=0)), name
        assert np.all(value < (1.0 + share) * both.max(axis=0)), name
    error, losses, throughput = hy.residual(out)
    assert abs(error) < 0.05 * losses
    assert case == "OD" or abs(error) < 1e-3 * throughput  # OD carries no torque
