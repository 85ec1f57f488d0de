"""Inputs that move during a step of a native unit, and the slopes of its outputs.

The oracle is the model itself: each piece of a step with the inputs held where they are in its middle, outputs with the
inputs where they have come to.
"""

import math
from ctypes import c_int, c_size_t, c_uint, c_void_p

import numpy as np
import pytest
from instances import started
from native_host import DISCARD, UNITS, H, inputs, reference, run

from rtcvt.kernel import FAILED


def set_rates(unit, rates):
    """Rates of inputs, by name."""
    unit.fmi.setRealInputDerivatives([unit.reference(n) for n in rates], [1] * len(rates), list(rates.values()))


def rates_of(model, k, scale=1.0):
    return {v.name: scale * (v.nominal or 1.0) * math.cos((2.0 + i) * k) for i, v in enumerate(model.select("input"))}


def oracle_step(model, instance, rate, h):
    """Advance an instance by `h` while its inputs move at `rate`; returns the outputs. A piece too coarse is told."""
    coarse = [v.index for v in model.select("output") if v.name.endswith("status.step_too_coarse")]
    pieces = math.ceil(h / model.step_size * (1.0 - 1e-9))
    start = instance.u.copy()
    y, any_coarse = instance.y.copy(), 0.0 * instance.y[coarse]
    for k in range(pieces):
        instance.u[:] = start + ((k + 0.5) * (h / pieces)) * rate
        t = instance.t + k * (h / pieces)
        assert model.step(t, h / pieces, instance.x, instance.u, instance.p, model.data, y, instance.work) != FAILED
        any_coarse = np.maximum(any_coarse, y[coarse])
    instance.u[:] = start + h * rate
    instance.t += h
    instance.outputs()
    discrete = [v.index for v in model.select("output") if v.boolean]
    instance.y[discrete] = y[discrete]
    instance.y[coarse] = any_coarse
    return instance.y


@pytest.mark.parametrize("h", [H, 3.5e-3, 2.5e-4])
@pytest.mark.parametrize("key", UNITS)
def test_a_step_with_moving_inputs_has_the_bits_of_its_pieces(native_host, models, key, h):
    unit, model = native_host(key).start(), models[key]
    instance = started(model)
    for k in range(60):
        rates = rates_of(model, k)
        rate = np.array([rates[v.name] for v in model.select("input")])
        set_rates(unit, rates)
        if k % 3 == 0:  # otherwise they go on from where they are
            for name, value in inputs(model, k).items():
                unit.set(name, value)
                instance.set(name, value)
        unit.step(h=h)
        oracle_step(model, instance, rate, h)
        assert unit.values() == instance.y.tolist()
        assert unit.values("input") == instance.u.tolist()
        assert unit.values("local")[: len(instance.x)] == instance.x.tolist()


def test_rates_make_smooth_inputs_of_second_order(native_host, models):
    """Held inputs are of first order: halving the step halves the error; with rates it becomes a quarter."""
    model = models["differential"]
    names = [v.name for v in model.select("input")]

    def torque(i, t):
        return 5.0 * math.sin((20.0 + 7.0 * i) * t), 5.0 * (20.0 + 7.0 * i) * math.cos((20.0 + 7.0 * i) * t)

    def final(h, moving):
        unit = native_host("differential").start()
        for k in range(round(0.064 / h)):
            signals = [torque(i, k * h) for i in range(len(names))]
            if moving:
                set_rates(unit, {n: rate for n, (_, rate) in zip(names, signals, strict=True)})
            unit.step({n: value for n, (value, _) in zip(names, signals, strict=True)}, h)
        return np.array(unit.values("local")[: len(model.states)])

    exact = final(1e-3 / 64, True)
    for moving, order in ((False, 1), (True, 2)):
        errors = [np.abs(final(h, moving) - exact).max() for h in (1e-3, 5e-4)]
        assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_reset_forgets_rates(native_host, models):
    unit = native_host("kers").start()
    set_rates(unit, rates_of(models["kers"], 1))
    unit.step()
    unit.fmi.reset()
    assert run(unit.start(), models["kers"], 0, 5) == reference(models["kers"], 5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e300])
def test_a_step_with_a_bad_rate_is_refused_and_leaves_no_trace(native_host, models, bad):
    unit, model = native_host("kers").start(), models["kers"]
    run(unit, model, 0, 10)
    before = unit.values() + unit.values("local") + unit.values("input")
    set_rates(unit, {"shaft.w": bad})
    assert f"(rate {bad:g})" in unit.refused(unit.step, None, 4 * H, status=DISCARD)
    assert unit.values() + unit.values("local") + unit.values("input") == before
    set_rates(unit, {"shaft.w": 0.0})
    assert run(unit, model, 10, 20) == reference(model, 20)[10:]


def test_a_step_of_too_many_pieces_is_refused(native_host):
    unit = native_host("kers").start()
    set_rates(unit, {"shaft.w": 1e-6})
    unit.refused(unit.step, None, 1e9, status=DISCARD)


def test_bad_arguments_are_refused_with_what_is_allowed(native_host):
    unit = native_host("kers").start()
    w, tau, J, saturated = (unit.reference(n) for n in ("shaft.w", "shaft.tau", "gear.a.J", "control.saturated"))
    put, get = unit.fmi.setRealInputDerivatives, unit.fmi.getRealOutputDerivatives
    assert "order = 2 of shaft.w: 1" in unit.refused(put, [w, w], [1, 2], [0.0, 0.0])
    assert "order = 0 of shaft.tau: 1" in unit.refused(get, [tau], [0])
    assert "order = 2 of shaft.tau: 1" in unit.refused(get, [tau], [2])
    assert "shaft.tau is no input" in unit.refused(put, [tau], [1], [0.0])
    assert "gear.a.J is no input" in unit.refused(put, [J], [1], [0.0])
    assert "shaft.w is no output" in unit.refused(get, [w], [1])
    unit.refused(get, [saturated], [1])
    raw, c, one = unit.fmi.dll, c_void_p(unit.fmi.component), (c_uint * 1)(w)
    assert raw.fmi2SetRealInputDerivatives(c, one, c_size_t(1), (c_int * 1)(1), None) == 3
    assert raw.fmi2GetRealOutputDerivatives(c, one, c_size_t(1), None, None) == 3
    exchange = native_host("kers", slave=False).start().fmi
    assert exchange.dll.fmi2SetRealInputDerivatives(c_void_p(exchange.component), None, c_size_t(0), None, None) == 3


# --- slopes of outputs ------------------------------------------------------------------------------------------------


def output_slopes(unit, model):
    names = [v.name for v in model.select("output") if not v.boolean]
    found = unit.fmi.getRealOutputDerivatives([unit.reference(n) for n in names], [1] * len(names))
    return names, np.array(found)


@pytest.mark.parametrize("key", UNITS)
def test_slopes_of_outputs_are_those_of_the_last_step(native_host, models, key):
    """Zero before it, the differences' bits after it, and about as good as to hold the output over the next step."""
    unit, model = native_host(key).start(), models[key]
    names, slopes = output_slopes(unit, model)
    assert not slopes.any()
    y, found = [[unit.get(n) for n in names]], []
    for k in range(300):
        unit.step(inputs(model, k))
        y.append([unit.get(n) for n in names])
        found.append(output_slopes(unit, model)[1])
    differences = (np.array(y)[1:] - np.array(y)[:-1]) / H
    np.testing.assert_array_equal(found, differences)
    following, guessed = differences[50:], np.array(found)[49:-1]
    moving = np.abs(following).max(axis=0) > 0.0
    error = np.sqrt(np.mean((guessed - following) ** 2, axis=0) / np.mean(following**2, axis=0), where=moving,
                    out=np.zeros(len(names)))  # fmt: skip
    assert error.max() < 1.05  # the elastic model swings within a step, which is made in parts
    if key == "kers":  # smooth
        assert error.max() < 0.02


def test_slopes_go_with_a_saved_state_and_stay_after_a_refused_step(native_host, models):
    unit, model = native_host("kers").start(), models["kers"]
    run(unit, model, 0, 7)
    _, before = output_slopes(unit, model)
    state, t = unit.fmi.getFMUstate(), unit.t
    unit.refused(unit.step, {"shaft.w": math.inf}, 4 * H, status=DISCARD)
    np.testing.assert_array_equal(output_slopes(unit, model)[1], before)
    for k in range(7, 9):
        unit.step(inputs(model, k))
    assert (output_slopes(unit, model)[1] != before).all()
    unit.fmi.setFMUstate(state)
    np.testing.assert_array_equal(output_slopes(unit, model)[1], before)
    unit.fmi.freeFMUstate(state)
    unit.t = t
