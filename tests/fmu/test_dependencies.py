"""What depends on what: never less than derivatives say, and no more than can be told from the kernels."""

import math
from dataclasses import replace

import numpy as np
import pytest
from instances import started, stepped
from marks import slow
from rows import cases

from rtcvt.errors import InputError
from rtcvt.fmu.dependencies import dependencies
from rtcvt.fmu.translate import TranslationError
from rtcvt.kernel import FAILED, kernel
from rtcvt.kind import load_unit
from rtcvt.model import Model, Variable

pytestmark = pytest.mark.interpreted
UNITS = [
    ("toroidal_kers", "rigid"), ("toroidal_kers", "full"), ("vehicle", "rigid"), ("accessory_5pk", "rigid"),
    ("planetary", "full"), ("toroidal_variator", "full"), ("planetary", "rigid"), ("power_split_ivt", "full"),
    ("pushbelt_cvt", "hybrid"), ("pushbelt_cvt", "rigid"), ("pushbelt_kers", "hybrid"),
    ("accessory_5pk", "hybrid"), ("driveline", "rigid"), ("driver", "rigid"), ("wltc", "rigid"),
]  # fmt: skip


def changed(model, rng, points):
    """Whether a change of a state, input, parameter or time changed an output, a derivative, at random points."""
    inputs, n_x = model.select("input"), len(model.states)
    n = n_x + len(inputs) + len(model.p) + 1
    found = [np.zeros((rows, n), dtype=bool) for rows in (len(model.select("output")), n_x)]
    for point in range(points):
        one = model.instantiate()
        for v in inputs:
            one.u[v.index] = v.start + 0.3 * rng.normal() * (v.nominal or 1.0)
        try:
            one.initialise()
        except InputError:
            continue
        stepped(one, rng.integers(40), model.step_size)
        one.x[:] *= 1.0 + 1e-2 * rng.normal(size=n_x)
        before, t = (one.outputs().copy(), one.derivative()), np.array([one.t])
        buffers = (one.x, one.u, one.p, t) if point < 2 else (one.x, one.u)
        for j, (buffer, k) in enumerate((b, k) for b in buffers for k in range(len(b))):
            kept = buffer[k]
            buffer[k] += max(1e-6, 1e-3 * abs(kept))
            one.t = t[0]
            if buffer is one.p:
                model.initialise(one.p, model.data, one.u, np.empty(n_x), one.work)
            after = one.outputs().copy(), one.derivative()
            buffer[k] = kept
            if buffer is one.p:
                model.initialise(one.p, model.data, one.u, np.empty(n_x), one.work)
            for told, a, b in zip(found, before, after, strict=True):
                told[:, j] |= a != b
    return found


@pytest.mark.parametrize(("unit", "fidelity"), [*UNITS[:4], *(slow(*u) for u in UNITS[4:])])
def test_nothing_changes_that_is_not_declared(unit, fidelity):
    model = load_unit(unit).build(fidelity)
    told = dependencies(model)
    for seen, declared in zip(
        changed(model, np.random.default_rng(7), 4), (told.outputs, told.derivatives), strict=True
    ):
        for row, depends in zip(seen, declared, strict=True):
            assert set(np.flatnonzero(row)) <= depends


@cases
def test_outputs_name_few_inputs(unit, fidelity, most):
    model = load_unit(unit).build(fidelity)
    n_x = len(model.states)
    assert sum(n_x <= j < n_x + len(model.select("input")) for s in dependencies(model).outputs for j in s) <= most


def test_a_system_names_what_its_outputs_follow():
    """Nothing that changes is left out, and few inputs are named; without steps, so that none is compiled."""
    model, rng = load_unit("car_electric").build("system"), np.random.default_rng(5)
    n_x, told = len(model.states), dependencies(model).outputs
    one = started(model)
    start = one.x.copy(), one.u.copy()
    for _ in range(6):
        one.x[:], one.u[:] = (s + rng.uniform(0.1, 0.3, len(s)) for s in start)
        before = one.outputs().copy()
        for j in range(n_x + len(one.u)):
            buffer, k = (one.x, j) if j < n_x else (one.u, j - n_x)
            kept = buffer[k]
            buffer[k] += 0.01
            assert all(j in told[i] for i in np.flatnonzero(one.outputs() != before))
            buffer[k] = kept
    assert sum(n_x <= j < n_x + len(one.u) for s in told for j in s) == 9


# --- kernels of which the sets are known ------------------------------------------------------------------------------


@kernel
def initialise(p, data, u, x, work):
    x[0] = u[0] * p[0]
    x[1] = p[1]
    if not p[1] > 0.0:
        return FAILED
    return 0


@kernel
def first_above(limit, data, x):
    for i in range(2):
        if x[i] > limit:
            return data[i]
    return 0.0


@kernel
def derivative(t, x, u, p, data, dx, work):
    dx[0] = math.sqrt(abs(u[2])) if data[0] > 0.0 else x[1]
    dx[1] = 0.0 * x[0] + p[0]


@kernel
def output(t, x, u, p, data, y, work):
    y[0] = x[0] if u[0] > 1.0 else 2.0  # by a test
    y[1] = first_above(u[1], data, x)  # by the way out of a loop
    for i in range(3):
        if i == 1:
            continue
        if u[2] > 0.0:
            break
        y[2] += data[i]
    work[0] = 0.0
    for i in range(2):  # work[0] is 1.0 or as before
        if x[1] > data[i]:
            work[0] = 1.0
    at = int(work[0])
    work[1] = u[0]
    work[2] = u[1]
    y[3] = work[1 + at]  # by the place
    y[4] = data[int(x[0])]
    y[5] = work[1] if data[1] > 0.0 else work[2]  # a known test
    n = int(u[1])
    y[6] = 0.0
    for _ in range(n):
        y[6] += x[0]
    work[3] = x[0]
    y[7] = work[3]
    work[3] = u[2]  # too late


def model():
    names = [("parameter", 2), ("input", 3), ("output", 8)]
    variables = tuple(Variable(f"{c}{i}", c, i, "1", c, start=1.0) for c, n in names for i in range(n))
    states = (("x0", "1"), ("x1", "1"))
    return Model("m", variables, "m", "rigid", states, np.ones(2), np.array([1.0, 2.0, 3.0]), 4, 1e-3,
                 initialise, derivative, output, output)  # fmt: skip


X0, X1, U0, U1, U2, P0, P1 = range(7)


def test_tests_ways_out_places_and_bounds_count():
    told = dependencies(model())
    assert told.outputs == ({X0, U0}, {X0, X1, U1}, {U2}, {X1, U0, U1}, {X0}, {U0}, {X0, U1}, {X0})
    assert told.derivatives == ({U2}, {P0})


@kernel
def ambiguous(t, x, u, p, data, y, work):
    either = x if u[0] > 0.0 else u
    y[0] = either[0]


def test_an_array_that_is_one_or_another_is_refused():
    with pytest.raises(TranslationError, match="name its elements"):
        dependencies(replace(model(), output=ambiguous))


@kernel
def chained(t, x, u, p, data, y, work):
    n = int(u[0])
    for _ in range(n):
        for i in range(7):
            y[7 - i] = y[6 - i]
        y[0] = x[0]


def test_sets_grow_through_a_loop_of_any_length():
    assert dependencies(replace(model(), output=chained)).outputs == ({X0, U0},) * 8


def test_the_start_depends_on_inputs_and_parameters():
    told = dependencies(model())
    assert told.start_states == ({U0, P0}, {P1})
    assert told.start_outputs[:3] == ({U0, P0}, {U0, P0, P1, U1}, {U2})
    assert told.start_derivatives == ({U2}, {P0})
