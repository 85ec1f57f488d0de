"""Parameters that change while a model runs: no jump, refused as a whole. Of units: test_native.py."""

import numpy as np
import pytest
from instances import started, stepped
from marks import slow
from refusals import refused

from rtcvt.kind import load_unit

UNITS = [
    ("toroidal_kers", "rigid"), ("clutch", "rigid"), ("vehicle", "rigid"), ("toroidal_kers", "full"),
    ("planetary", "full"), ("two_pulley_belt", "hybrid"),
    ("pushbelt_cvt", "hybrid"), ("pushbelt_kers", "hybrid"), ("driveline", "rigid"), ("driver", "rigid"),
]  # fmt: skip


def tunables(model):
    return [v for v in model.select("parameter") if v.tunable]


def within(v, value):
    return min(max(value, -np.inf if v.minimum is None else v.minimum), np.inf if v.maximum is None else v.maximum)


@pytest.mark.parametrize(("unit", "fidelity"), [*UNITS[:3], *(slow(*u) for u in UNITS[3:])])
def test_states_and_stored_energy_do_not_jump(unit, fidelity):
    model = load_unit(unit).build(fidelity)
    one = started(model)
    stepped(one, 100, model.step_size)
    x, energy = one.x.copy(), [v.index for v in model.select("output") if v.name.endswith(".E")]
    before = one.outputs()[energy].copy()
    assert tunables(model)
    for v in tunables(model):
        one.tune(v.name, within(v, 1.3 * one.get(v.name) + 1e-3))
        assert np.array_equal(one.x, x)
        np.testing.assert_allclose(one.outputs()[energy], before, rtol=1e-12)
    stepped(one, 100, model.step_size)


@pytest.mark.parametrize(("unit", "fidelity"), [*UNITS[:3], *(slow(*u) for u in UNITS[3:])])
def test_a_change_counts_as_if_it_had_always_been_so(unit, fidelity):
    """Changed right after the start, then steps are those of a unit that started with it from the same state."""
    model = load_unit(unit).build(fidelity)
    for v in tunables(model):
        changed, other = model.instantiate(), model.instantiate()
        value = within(v, 1.1 * changed.get(v.name) + 1e-3)
        other.set(v.name, value)
        other.initialise()
        changed.initialise()
        changed.tune(v.name, value)
        changed.x[:] = other.x
        for _ in range(5):
            assert changed.step(model.step_size) == other.step(model.step_size)
        assert np.array_equal(changed.x, other.x), v.name
        assert np.array_equal(changed.y, other.y), v.name


def test_what_is_fixed_or_out_of_range_is_refused_and_changes_nothing():
    model = load_unit("toroidal_kers").build("rigid")
    one = started(model)
    p, work = one.p.copy(), one.work.copy()
    refused("fixed", one.tune, "gear.a.J", 1.0)
    refused(r"control\.tau_filter = -1", one.tune, "control.tau_filter", -1.0)
    assert np.array_equal(one.p, p)
    assert np.array_equal(one.work, work)
