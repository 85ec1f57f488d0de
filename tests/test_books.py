"""Energy balance of every shipped machine, by what its outputs say of themselves (`rtcvt.model.Books`).

At a state of its first scenario, power in at the flanges and by other ways is lost or stored; rates of what is stored,
of heats and of supplies are differences along x'.
"""

import numpy as np
import pytest

from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.model import Books
from rtcvt.simulate import simulate
from rtcvt.unitfile import shipped_units

SHARE = 1e-5  # of a state, by which it is moved


def machines():
    """Units with an output that is stored, without systems, whose flanges are inside."""
    for name in shipped_units():
        unit = load_unit(name)
        if unit.kind != "system" and "rigid" in unit.models and unit.scenario:
            model = unit.build("rigid")
            if any(v.books is Books.STORED for v in model.select("output")):
                yield name


def flange_power(one):
    """Power into the unit at all flanges [W]; a load is what goes out."""
    power = 0.0
    for v in one.model.variables:
        name, _, kind = v.name.rpartition(".")
        speed = f"{name}.w_pulley" if f"{name}.w_pulley" in one.model.by_name else f"{name}.w"
        if kind in ("tau", "load") and speed in one.model.by_name:
            power += (1.0 if kind == "tau" else -1.0) * one.get(v.name) * one.get(speed)
    return power


def booked(one, books, *units):
    """Outputs of this role and these units."""
    return [one.get(v.name) for v in one.model.select("output") if v.books is books and v.unit in units]


def rates(one):
    """Rates [W] of what is stored, of heats, and of what supplies have left."""
    x, dx, found = one.x.copy(), one.derivative(), []
    step = SHARE / np.max(np.abs(dx) / (np.abs(x) + 1e-3))
    for sign in (1.0, -1.0):
        one.x[:] = x + sign * step * dx
        one.outputs()
        burnt = sum(booked(one, Books.SUPPLY, "kg")) and sum(booked(one, Books.SUPPLY, "kg")) * one.get("fuel.H")
        found.append([sum(booked(one, Books.STORED, "J")), sum(booked(one, Books.LOSS, "J")),
                      sum(booked(one, Books.SUPPLY, "J")) - burnt])  # fmt: skip
    one.x[:] = x
    one.outputs()
    return (np.array(found[0]) - found[1]) / (2.0 * step)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", list(machines()))
def test_power_in_is_lost_or_stored(name):
    unit = load_unit(name)
    model, scenario = unit.build("rigid"), unit.scenario[0]
    steps = 60 if len(model.states) > 5 else 600
    run = simulate(model, scenario.model_copy(update={"duration": min(scenario.duration, steps * model.step_size)}))
    assert (run.status != FAILED).all()
    one = model.instantiate()
    one.p[:], one.u[:] = run.p, run.u[0]
    one.initialise()
    for k in range(len(run.time) - 1):
        one.u[:] = run.u[k]
        one.step(run.step)
    stored, heat, supply = rates(one)
    speed = (booked(one, Books.MOTION, "m/s") or [0.0])[0]
    forces = booked(one, Books.LOSS, "N") + booked(one, Books.HELD_LOSS, "N")
    terms = [flange_power(one), *booked(one, Books.POWER, "W"), -supply, -stored, -heat]
    terms += [-loss for loss in booked(one, Books.LOSS, "W")] + [-force * speed for force in forces]
    assert abs(sum(terms)) < 1e-4 * sum(map(abs, terms)), terms  # 2e-5: rounding of the energy in a battery
