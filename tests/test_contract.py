"""What holds of every machine: shipped units in each fidelity, and variants with other flanges, springs and laws.

Power in at the flanges and by other ways is lost or stored, by what outputs say of themselves (`rtcvt.model.Books`);
the Jacobian is that of the rates; a step is total. Kernels do without memory management, so that none allocates; units
in C have their bits (`tests/fmu/test_native.py`, `test_translate.py`).
"""

from functools import cache

import numpy as np
import pytest
from instances import started, stepped
from machines import flanges, machines, outer_springs
from refusals import refuses_and_keeps_its_state

from rtcvt.kernel import FAILED
from rtcvt.kind import kinds, load_unit
from rtcvt.model import Books
from rtcvt.simulate import simulate
from rtcvt.unitfile import shipped_units

pytestmark = pytest.mark.interpreted

MACHINES = dict(machines())
SHIPPED = [(name, f) for kind in kinds() if kind.build for name in shipped_units(*kind.names)
           for f in load_unit(name).models if f != "system"]  # fmt: skip
GIVES = {"loss.load", "force.grade"}  # losses that may give power


@cache
def shipped(name, fidelity):
    return load_unit(name).build(fidelity)


@pytest.fixture(params=SHIPPED, ids=" ".join)
def model(request):
    """Of every shipped unit with a real-time model; systems: `tests/network`."""
    return shipped(*request.param)


@pytest.fixture
def one(model):
    return started(model)


# --- equations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, m in MACHINES.items() if "variator" not in name])
def test_the_jacobian_is_that_of_the_rates(name):
    """But where the rates have a kink within the differences."""
    machine, rng, compared = MACHINES[name], np.random.default_rng(7), 0
    one = started(machine.model())
    for _ in range(5):
        machine.draw(one, rng)
        exact, x = one.jacobian(), one.x.copy()
        steps = (1e-7 if machine.share < 1e-5 else 1e-6) * np.maximum(np.abs(x), 1e-2 * (1.0 + np.abs(x)))
        scale = 2e-5 * np.maximum((np.abs(exact) * np.maximum(np.abs(x), 1.0)).max(axis=1), 1e-3)
        for j, h in enumerate(steps):
            rates, pieces = [], []
            for sign in (1.0, -1.0):
                one.x[j] = x[j] + sign * h
                rates.append(one.derivative())
                piece = one.model.coupling and one.model.coupling.piece
                pieces.append(piece and piece(one.x, one.u, one.p, one.model.data, one.work))
            one.x[j] = x[j]
            if pieces[0] == pieces[1]:
                off = np.abs((rates[0] - rates[1]) / (2.0 * h) - exact[:, j]) * max(abs(x[j]), 1.0)
                assert np.all(off <= scale + 1e-5 * np.abs(exact[:, j])), (j, off / scale)
                compared += 1
    assert compared > 2 * len(one.x)


def power_in(one):
    """At all flanges [W]: a load goes out."""
    by_name = one.model.by_name
    return sum(
        sign * one.get(gives) * one.get(pulley if (pulley := f"{given}_pulley") in by_name else given)
        for given, gives, sign in flanges(one.model)
    )


def booked(one, books, *units):
    """Outputs of this role and these units."""
    return [one.get(v.name) for v in one.model.select("output") if v.books is books and v.unit in units]


def stock(one):
    """What is stored, what has become heat, and what supplies have given [J]."""
    parts = booked(one, Books.STORED, "J"), booked(one, Books.LOSS, "J"), booked(one, Books.SUPPLY, "J")
    burnt = sum(mass * one.get("fuel.H") for mass in booked(one, Books.SUPPLY, "kg"))
    return np.array([*map(sum, parts), outer_springs(one) - burnt])


def assert_balance(one, share, within):
    """Power in is stored or lost at this state, with rates of what is stored by differences along x'."""
    x, dx, rates = one.x.copy(), one.derivative(), np.zeros(4)
    nominal = [v.nominal or 1.0 for v in one.model.states]
    step = share / np.max(np.abs(dx) / np.maximum(np.abs(x), nominal), initial=1e-9)
    for place, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
        one.x[:] = x + place * step * dx
        one.outputs()
        rates += weight / (12.0 * step) * stock(one)
    one.x[:] = x
    one.outputs()
    speed = (booked(one, Books.MOTION, "m/s") or [0.0])[0]
    losses = {v.name: one.get(v.name) for v in one.model.select("output") if (v.books, v.unit) == (Books.LOSS, "W")}
    for v in one.model.select("output"):
        if v.books in (Books.LOSS, Books.HELD_LOSS) and v.unit == "N":  # the heat is less what brakes and tyres store
            heat = v.name.replace("force", "heat")
            losses[v.name] = one.get(heat) if heat in one.model.by_name else one.get(v.name) * speed
    terms = [power_in(one), *booked(one, Books.POWER, "W"), *-rates, *(-loss for loss in losses.values())]
    size, rounding = sum(map(abs, terms)), 1e-15 * np.abs(stock(one)).max() / step
    assert abs(sum(terms)) <= within * size + rounding + 1e-9, terms
    assert min((loss for name, loss in losses.items() if name not in GIVES), default=0.0) >= -1e-12 * size, losses


STORING = [name for name, m in MACHINES.items() if any(v.books is Books.STORED for v in m.model().variables)]


@pytest.mark.parametrize("name", STORING)
def test_power_in_is_stored_or_lost_at_any_state(name):
    machine, rng = MACHINES[name], np.random.default_rng(11)
    one = started(machine.model())
    within = 1e-7 if machine.share > 1e-5 else 2e-6 if name.startswith(("tensioned", "decoupled")) else 2e-5
    for _ in range(60):
        machine.draw(one, rng)
        assert_balance(one, machine.share, within)


@pytest.mark.parametrize("name", [n for n in dict(SHIPPED) if load_unit(n).scenario
                                  and any(v.books is Books.STORED for v in shipped(n, "rigid").variables)])  # fmt: skip
def test_power_in_is_stored_or_lost_in_a_scenario(name):
    """Rounding of the energy in a battery is 2e-5."""
    model, scenario = shipped(name, "rigid"), load_unit(name).scenario[0]
    steps = 30 if len(model.states) > 3 else 600
    run = simulate(model, scenario.model_copy(update={"duration": min(scenario.duration, steps * model.step_size)}))
    assert (run.status != FAILED).all()
    one = model.instantiate()
    one.p[:], one.u[:] = run.p, run.u[0]
    one.initialise()
    for k in range(len(run.time) - 1):
        one.u[:] = run.u[k]
        one.step(run.step)
    assert_balance(one, 1e-5, 1e-4)


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_step_refuses_what_it_cannot_make_and_keeps_the_state(one, bad):
    stepped(one, 3)
    refuses_and_keeps_its_state(one, bad)


@pytest.mark.parametrize(("name", "fidelity"), [(n, f) for n, f in SHIPPED if load_unit(n).kind != "belt"])
def test_any_numbers_leave_finite_states_and_outputs(name, fidelity):
    """Belts: `tests/belt`, violent torques."""
    one, rng = shipped(name, fidelity).instantiate(), np.random.default_rng(5)
    one.initialise()
    for _ in range(10):
        for buffer in (one.u, one.x):
            buffer[:] = rng.uniform(-1.0, 1.0, len(buffer)) * 10.0 ** rng.uniform(-6.0, 6.0, len(buffer))
        if one.step(10.0 ** rng.uniform(-5.0, -2.0)) != FAILED:
            assert np.isfinite(one.x).all()
            assert np.isfinite(one.y).all()


def test_two_instances_share_nothing_and_a_state_restores_the_bits(model):
    one, other = model.instantiate(), model.instantiate()
    for each in (one, other):
        each.initialise()
    stepped(one, 3)
    np.testing.assert_allclose(one.y.copy(), one.outputs(), rtol=1e-12, atol=1e-12)
    one.u[:] = [0.3 * (v.nominal or 1.0) for v in model.select("input")]
    one.step(1e-3)
    saved = one.get_state()
    other.set_state(saved)
    other.step(1e-3)
    assert one.get_state() == saved
    one.step(1e-3)
    assert str(one.get_state()) == str(other.get_state())


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped_units("gear_system"))
def test_a_parameter_of_nan_is_refused_at_the_start(name):
    model = shipped(name, "full")
    one = model.instantiate()
    one.p[0] = np.nan
    assert model.initialise(one.p, model.data, one.u, one.x, one.work) == FAILED


def test_the_table_of_variables_is_complete(model):
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
