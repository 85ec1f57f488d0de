"""What holds for every shipped unit and both models."""

import numpy as np
from numba.core.runtime import _nrt_python, rtsys

from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.unitfile import shipped_units


def test_shipped_units():
    assert {
        "automatic_6",
        "differential",
        "oblique_differential",
        "toroidal_kers",
        "toroidal_variator",
        "planetary",
        "ravigneaux",
        "power_split_ivt",
    } == set(shipped_units("gear_system"))


def test_steps_do_not_allocate(model):
    instance = model.instantiate()
    instance.initialise()
    instance.step(1e-3)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats().alloc
        for _ in range(100):
            instance.step(1e-3)
        assert rtsys.get_allocation_stats().alloc - before <= 600  # numba boxes the six arrays of a call, nothing more
    finally:
        _nrt_python.memsys_disable_stats()


def test_two_instances_do_not_share_anything(model):
    a, b = model.instantiate(), model.instantiate()
    a.initialise()
    b.initialise()
    for _ in range(5):
        a.step(1e-3)
    expected = a.x.copy()
    other = b.x.copy()
    b.u[:] = 3.0
    b.step(1e-3)
    assert np.array_equal(a.x, expected)
    assert not np.array_equal(b.x, other)


def test_state_restores_the_same_bits(model):
    a = model.instantiate()
    a.initialise()
    a.u[:] = [0.3 * (v.nominal or 1.0) for v in model.select("input")]
    for _ in range(20):
        a.step(1e-3)
    saved = a.get_state()
    b = model.instantiate()
    b.initialise()
    b.set_state(saved)
    for i in (a, b):
        for _ in range(20):
            i.step(1e-3)
    assert np.array_equal(a.x, b.x)
    assert np.array_equal(a.y, b.y)
    assert a.t == b.t


def test_outputs_after_a_step_are_those_of_the_state(model):
    instance = model.instantiate()
    instance.initialise()
    for _ in range(50):
        instance.step(1e-3)
    written = instance.y.copy()
    assert np.allclose(written, instance.outputs(), rtol=1e-12, atol=1e-12)


def test_nan_in_any_input_or_state_fails_and_nothing_moves(model):
    for buffer in ("u", "x"):
        instance = model.instantiate()
        instance.initialise()
        for k in range(len(getattr(instance, buffer))):
            kept = getattr(instance, buffer)[k]
            x, y = instance.x.copy(), instance.y.copy()
            getattr(instance, buffer)[k] = np.nan
            assert instance.step(1e-3) == FAILED
            if buffer == "u":
                assert np.array_equal(instance.x, x)
            assert np.array_equal(instance.y, y)
            getattr(instance, buffer)[k] = kept


def test_a_parameter_of_nan_is_refused_at_the_start(model):
    instance = model.instantiate()
    name = model.select("parameter")[0].name
    instance.p[model.by_name[name].index] = np.nan
    assert model.initialise(instance.p, model.data, instance.u, instance.x, instance.work) == FAILED


def test_variable_table_is_complete(model):
    names = [v.name for v in model.variables]
    assert len(names) == len(set(names))
    for v in model.variables:
        assert v.unit
        assert v.description
        if v.causality != "output":
            assert v.start is not None
            assert v.minimum is None or v.minimum <= v.start
            assert v.maximum is None or v.start <= v.maximum
    for causality in ("input", "output"):
        assert [v.index for v in model.select(causality)] == list(range(len(model.select(causality))))


def test_the_unit_with_fields_is_the_variator_with_fields():
    plain, fields = (load_unit(name) for name in ("pushbelt_cvt", "pushbelt_fields"))
    assert fields.values() == plain.values()
    assert (fields.reduced, fields.ratio, fields.solver) == (plain.reduced, plain.ratio, plain.solver)
    assert (fields.fields, fields.cells) == (("flank_normal", "push", "tension"), 16)
