"""A unit run by FMPy does what the model does, and says plainly what it refuses."""

import math

import pytest
from fmpy.fmi1 import FMICallException

from rtcvt.kind import load_unit
from rtcvt.pog.system import build_model

DISCARD, FATAL = 2, 4
H = 1e-3


def inputs(k):
    t = k * H
    return 104.7 + 3.0 * math.sin(11.0 * t), 15.0 * math.sin(7.0 * t)


@pytest.fixture(scope="module")
def model():
    return build_model(load_unit("toroidal_kers"), "rigid")


def step(unit, k, h=H):
    w, tau = inputs(k)
    unit.set("shaft.w", w)
    unit.set("control.tau_des", tau)
    unit.doStep(k * H, h)


def reference(model, steps, t=0.0, **parameters):
    """Outputs of the model itself after each step."""
    instance = model.instantiate()
    for name, value in parameters.items():
        instance.set(name.replace("__", "."), value)
    instance.initialise(t)
    found = [instance.y.tolist()]
    for k in range(steps):
        for name, value in zip(("shaft.w", "control.tau_des"), inputs(k), strict=True):
            instance.set(name, value)
        instance.step(H)
        found.append(instance.y.tolist())
    return found


def test_a_unit_gives_the_same_bits_as_its_model(host, model):
    unit = host("kers").start()
    found = [unit.outputs()]
    for k in range(200):
        step(unit, k)
        found.append(unit.outputs())
    assert found == reference(model, 200)


def test_a_parameter_set_before_initialisation_acts_as_in_the_model(host, model):
    changes = {"gear__a__J": 0.3, "control__theta_start": 0.2}
    unit = host("kers").start(**changes)
    found = [unit.outputs()]
    for k in range(20):
        step(unit, k)
        found.append(unit.outputs())
    assert found == reference(model, 20, **changes)
    assert found != reference(model, 20)


def test_outputs_follow_inputs_and_parameters_during_initialisation(host):
    unit = host("kers")
    unit.setupExperiment()
    unit.enterInitializationMode()
    before = unit.get("storage.E")
    unit.set("shaft.w_start", 50.0)
    assert unit.get("gear.d.w") == pytest.approx(50.0)
    assert unit.get("storage.E") < before


def test_the_start_time_is_the_hosts(host, model):
    unit = host("kers").start(t=5.0)
    unit.doStep(5.0, H)
    assert unit.getRealStatus(2) == pytest.approx(5.0 + H)


def test_reset_starts_afresh(host, model):
    unit = host("kers").start(gear__a__J=0.3)
    for k in range(5):
        step(unit, k)
    unit.terminate()
    unit.reset()
    unit.start()
    for k in range(5):
        step(unit, k)
    assert unit.outputs() == reference(model, 5)[-1]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_step_with_a_bad_input_is_refused_and_leaves_no_trace(host, model, bad):
    unit = host("kers").start()
    for k in range(10):
        step(unit, k)
    unit.set("shaft.w", bad)
    with pytest.raises(FMICallException) as refused:
        unit.doStep(10 * H, H)
    assert refused.value.status == DISCARD
    assert unit.getRealStatus(2) == pytest.approx(10 * H)
    (message,) = (text for status, text in unit.log if status == DISCARD)
    assert f"shaft.w = {bad:g} rad/s" in message
    for k in range(10, 20):
        step(unit, k)
    assert unit.outputs() == reference(model, 20)[-1]


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("gear.a.J", -1.0, "from 0 to inf kg.m2"),
        ("gear.a.J", math.nan, "from 0 to inf kg.m2"),
        ("control.theta_start", 2.0, "from -0.9 to 0.9 rad"),
        ("shaft.w_start", math.inf, "rad/s"),
        ("shaft.tau", 1.0, "parameter or a real input"),
    ],
)
def test_a_bad_parameter_is_refused_with_name_value_and_what_is_allowed(host, capfd, name, value, allowed):
    unit = host("kers")
    with pytest.raises(FMICallException) as refused:
        unit.set(name, value)
    assert refused.value.status == FATAL
    reported = [text for status, text in unit.log if status == FATAL]
    for text in (*reported, capfd.readouterr().err):
        assert allowed in text
        assert name == "shaft.tau" or f"{name} = {value!r}" in text
    assert len(reported) == 1


def test_a_parameter_is_fixed_once_the_unit_runs(host):
    unit = host("kers").start()
    with pytest.raises(FMICallException):
        unit.set("gear.a.J", 0.2)
    assert "gear.a.J = 0.2" in unit.log[-1][1]
    assert "initialisation" in unit.log[-1][1]
    step(unit, 0)  # and nothing else has happened
    assert unit.get("gear.a.J") == 0.179


def test_a_variable_of_another_type_is_refused(host):
    unit = host("kers").start()
    with pytest.raises(FMICallException):
        unit.getReal([unit.reference["control.saturated"]])


def test_a_state_carries_over_to_another_instance(host):
    one, other = host("kers").start(gear__b__J=2.5e-3), host("kers")
    for k in range(10):
        step(one, k)
    state = one.getFMUstate()
    other.setFMUstate(other.deSerializeFMUstate(one.serializeFMUstate(state)))
    one.freeFMUstate(state)
    for k in range(10, 20):
        step(one, k)
        step(other, k)
    assert other.outputs() == one.outputs()


@pytest.mark.parametrize("damage", ["cut", "one bit", "nothing", "other unit", "no state"])
def test_a_damaged_state_is_refused_and_the_process_lives(host, damage):
    unit, other = host("kers").start(), host("kers_full").start()
    step(unit, 0)
    state, foreign = unit.getFMUstate(), other.getFMUstate()
    data = unit.serializeFMUstate(state)
    flipped = bytes([*data[:-40], data[-40] ^ 1, *data[-39:]])
    bad = {"cut": data[: len(data) // 2], "one bit": flipped, "nothing": b"", "no state": b"\xff" * len(data),
           "other unit": other.serializeFMUstate(foreign)}[damage]  # fmt: skip
    before = unit.outputs()
    for _ in range(20):  # each refusal costs the library a few references
        with pytest.raises(FMICallException):
            unit.setFMUstate(unit.deSerializeFMUstate(bad))
        assert "serialised state: one of this unit, and whole" in unit.log[-1][1]
    assert unit.outputs() == before
    step(unit, 1)
    unit.setFMUstate(unit.deSerializeFMUstate(data))
    assert unit.outputs() == before
    unit.freeFMUstate(state)
    other.freeFMUstate(foreign)


def test_units_in_one_process_do_not_disturb_each_other(host, model):
    units = [host("kers").start(), host("differential").start(), host("kers").start(), host("kers_full").start()]
    for k in range(10):
        step(units[0], k)
        units[1].doStep(k * H, H)
        step(units[3], k)
    for k in range(10):
        step(units[2], k)
    assert units[0].outputs() == units[2].outputs() == reference(model, 10)[-1]


def test_steps_of_any_length(host, model):
    unit, instance = host("kers").start(), model.instantiate()
    instance.initialise()
    t = 0.0
    for h in (1e-4, 3e-3, 1e-3, 2.5e-4):
        unit.doStep(t, h)
        instance.step(h)
        t += h
        assert unit.outputs() == instance.y.tolist()
