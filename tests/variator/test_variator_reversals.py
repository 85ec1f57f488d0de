"""The shipped variator under torques that turn over, and under hostile inputs: no run makes energy.

What goes in is torque times angle, and thrust times way of the sheaves, which is that of the inputs of the step.
"""

import math

import numpy as np
import pytest
from hostile_inputs import KINDS, hostile_inputs
from instances import started
from marks import slow

from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit

STEPS, TORQUE = 3000, 400.0  # [N.m]


@pytest.fixture(scope="module")
def model():
    return load_unit("pushbelt_cvt").build("rigid")


def made(model, inner, period, forces, sign):
    """Largest energy above what there was and went in [J], and what went through; inputs held for `inner` steps."""
    places = {v.name: v.index for v in model.select("output")}
    one = started(model, clamp__primary__F=forces[0], clamp__secondary__F=forces[1])
    before, start, work, through, worst = one.y.copy(), one.get("storage.E"), 0.0, 0.0, 0.0
    tan = 2.0 * math.tan(math.radians(11.0))
    for k in range(STEPS):
        torque = TORQUE if k // period % 2 else -TORQUE
        one.set("primary.tau", torque)
        one.set("secondary.tau", sign * torque)
        for _ in range(inner):
            assert one.step(1e-3) != FAILED
            mean = 0.5e-3 * (one.y + before)
            parts = [torque * mean[places["primary.w"]], sign * torque * mean[places["secondary.w"]]]
            for pulley in ("primary", "secondary"):
                way = one.y[places[f"radius.{pulley}"]] - before[places[f"radius.{pulley}"]]
                parts.append(tan * before[places[f"thrust.{pulley}"]] * way)
            work += sum(parts)
            through += sum(abs(part) for part in parts)
            worst = max(worst, one.get("storage.E") - start - work)
            before[:] = one.y
    assert np.isfinite(one.y).all()
    return worst, through


@pytest.mark.parametrize("sign", [1.0, slow(-1.0)])
@pytest.mark.parametrize("forces", [(15e3, 15e3), (0.0, 0.0), (500.0, 40e3)])
@pytest.mark.parametrize(("inner", "period"), [(1, 1), slow(1, 3000), slow(20, 7), (20, 100), slow(20, 3000)])
def test_reversals_at_any_speed_make_no_energy(model, inner, period, forces, sign):
    """It made 1e19 J where 1e15 J went through, before the balance of a step was kept."""
    worst, through = made(model, inner, period, forces, sign)
    assert worst <= 1e-6 * through


@pytest.mark.parametrize("held", [1, 20])
@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_hostile_inputs_make_no_energy(fidelity, held):
    """Clamping forces and ratio, too, and steps of 20 ms as 20 of one, between which the outputs are known."""
    model = load_unit("pushbelt_cvt").build(fidelity)
    place = {v.name: v.index for v in (*model.select("input"), *model.select("output"))}
    tan = 2.0 * math.tan(math.radians(11.0))
    for kind in KINDS:
        one = started(model)
        before, net, through, worst = one.y.copy(), 0.0, 0.0, 0.0
        for u in hostile_inputs(model, kind, 0, 1000 // held, np.random.default_rng(3)):
            one.u[:] = u
            for _ in range(held):
                assert one.step(1e-3) != FAILED
                parts = []
                for pulley in ("primary", "secondary"):
                    speed, radius = place[f"{pulley}.w"], place[f"radius.{pulley}"]
                    parts.append(0.5e-3 * u[place[f"{pulley}.tau"]] * (one.y[speed] + before[speed]))
                    parts.append(tan * one.y[place[f"thrust.{pulley}"]] * (one.y[radius] - before[radius]))
                net += one.y[place["storage.E"]] - before[place["storage.E"]] - sum(parts)
                through += sum(map(abs, parts))
                worst = max(worst, net)
                before[:] = one.y
        assert worst <= 1e-6 * through, kind
