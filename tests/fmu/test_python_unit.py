"""A unit in Python says plainly what it refuses. What it does as native units do is in test_native.py."""

import pytest
from fmpy.fmi1 import FMICallException
from native_host import H, inputs, reference
from rows import mistakes

FATAL = 4


@pytest.fixture
def host(native_host):
    return lambda key="kers": native_host(key, "python")


@mistakes
def test_a_bad_parameter_is_refused_with_name_value_and_what_is_allowed(host, capfd, name, value, allowed):
    unit = host()
    with pytest.raises(FMICallException) as refused:
        unit.set(name, value)
    assert refused.value.status == FATAL
    reported = [text for status, _, text in unit.log if status == FATAL]
    for text in (*reported, capfd.readouterr().err):
        assert allowed in text
        assert name == "shaft.tau" or f"{name} = {value!r}" in text
    assert len(reported) == 1


def test_what_is_fixed_or_of_another_type_is_refused(host):
    unit = host().start()
    with pytest.raises(FMICallException):
        unit.set("gear.a.J", 0.2)
    assert "gear.a.J = 0.2" in unit.log[-1][2]
    assert "initialisation" in unit.log[-1][2]
    with pytest.raises(FMICallException):
        unit.get("control.saturated")
    unit.step()  # and nothing else has happened
    assert unit.get("gear.a.J") == 0.179


@pytest.mark.parametrize("damage", ["cut", "one bit", "nothing", "other unit", "no state"])
def test_a_damaged_state_is_refused_and_the_process_lives(host, damage):
    unit, other = host().start(), host("kers_full").start()
    unit.step()
    state, foreign = unit.fmi.getFMUstate(), other.fmi.getFMUstate()
    data = unit.fmi.serializeFMUstate(state)
    flipped = bytes([*data[:-40], data[-40] ^ 1, *data[-39:]])
    bad = {"cut": data[: len(data) // 2], "one bit": flipped, "nothing": b"", "no state": b"\xff" * len(data),
           "other unit": other.fmi.serializeFMUstate(foreign)}[damage]  # fmt: skip
    before = unit.values()
    for _ in range(20):  # each refusal costs the library a few references
        with pytest.raises(FMICallException):
            unit.fmi.setFMUstate(unit.fmi.deSerializeFMUstate(bad))
        assert "serialised state: a complete state of this unit" in unit.log[-1][2]
    assert unit.values() == before
    unit.step()
    unit.fmi.setFMUstate(unit.fmi.deSerializeFMUstate(data))
    assert unit.values() == before
    unit.fmi.freeFMUstate(state)
    other.fmi.freeFMUstate(foreign)


def test_units_in_one_process_do_not_disturb_each_other(host, models):
    units = [host().start(), host("differential").start(), host().start(), host("kers_full").start()]
    for k in range(10):
        units[0].step(inputs(models["kers"], k))
        units[1].step(h=H)
        units[3].step(inputs(models["kers_full"], k))
    for k in range(10):
        units[2].step(inputs(models["kers"], k))
    expected = reference(models["kers"], 10)[-1][: len(units[0].values())]
    assert units[0].values() == units[2].values() == expected
