"""Drives of tests, drawn states of real-time belt drives, and violent inputs."""

import math
from pathlib import Path

import numpy as np
from instances import started as initialised

from rtcvt.belt.layout import BeltP, Cell, D
from rtcvt.belt.unit import AncfModel, Belt, BeltUnit, Decoupler, HybridModel, Pulley
from rtcvt.kind import load_unit

SERPENTINE = Path(__file__).parent / "data" / "belt" / "serpentine.toml"
TENSIONED = SERPENTINE.with_name("tensioned.toml")
DECOUPLER = {"inertia": 3e-3, "stiffness": 20.0, "damping": 0.02, "direction": "clockwise"}  # as the drive turns


def started(unit, fidelity="hybrid", substeps=None, **parameters):
    """An instance of a unit, or of its model, initialised with parameters; ``__`` in a name stands for a dot."""
    return initialised(unit.build(fidelity, substeps) if hasattr(unit, "build") else unit, **parameters)


def triangle(sides):
    """Three equal pulleys at given distances [m], that stand; the belt of the serpentine drive."""
    a, b, c = sides
    x = (a * a + c * c - b * b) / (2.0 * a)
    centers = [(0.0, 0.0), (a, 0.0), (x, math.sqrt(c * c - x * x))]
    belt = Belt(EA=1.2e5, EI=0.03, mass=0.105, damping=15.0, height=4e-3, width=21e-3, pretension=450.0)
    pulleys = {f"p{k}": Pulley(center=q, radius=25e-3, inertia=1e-3, flange="speed") for k, q in enumerate(centers)}
    ancf = AncfModel(k_c=4e9, d_c=8e4, mu=0.9, mu_k=5e9, mu_v=3e5, gravity=0.0, elements=300, step=1e-4)
    return BeltUnit(
        name="triangle", kind="belt", belt=belt, pulleys=pulleys, ancf=ancf, hybrid=HybridModel(mu=0.9), description=""
    )


def _changed(unit, torque_driven, **changes):
    """The drive with other numbers of pulleys; `torque_driven`: its crankshaft's speed is not given."""
    changes |= {"crank": {"flange": "torque"}} if torque_driven else {}
    pulleys = {name: unit.pulleys[name].model_copy(update=update) for name, update in changes.items()}
    return unit.model_copy(update={"pulleys": unit.pulleys | pulleys})


def tensioned(torque_driven=False, plain=False, **arm):
    """The drive with an arm; `plain`: its belt does not resist bending, and its ribs do not yield."""
    unit = load_unit(TENSIONED)
    idler = unit.pulleys["idler"].arm.model_copy(update=arm)
    unit = _changed(unit, torque_driven, idler={"arm": idler})
    if plain:
        belt = unit.belt.model_copy(update={"EI": 0.0, "damping": 0.0})
        unit = unit.model_copy(update={"belt": belt, "ancf": None})
    return unit


def decoupled(torque_driven=False, pulley=4e-4, **decoupler):
    """The serpentine drive, its alternator behind a decoupler."""
    given = Decoupler(**(DECOUPLER | decoupler))
    return _changed(load_unit(SERPENTINE), torque_driven, alternator={"decoupler": given, "inertia": pulley})


def random_belt(instance, rng, place=None, speed=30.0):
    """Slack and tight cells, pulleys of either sense, any inputs; returns where the states at `place` begin."""
    p, data, n = instance.p, instance.model.data, int(instance.model.data[D.N])
    instance.u[:] = rng.normal(scale=20.0, size=instance.u.size)
    first = 0
    if not data[D.RIGID]:
        count = n * int(data[D.FACES])
        first = count + n
        tension = p[BeltP.T_0] * rng.uniform(-0.3, 3.0, size=count)
        length = instance.work[int(data[D.W_CELL]) :][Cell.LENGTH :: len(Cell)][:count]
        instance.x[:count] = length / (1.0 + tension / p[BeltP.EA])
        instance.x[count:first] = rng.normal(scale=speed, size=n)
    instance.x[first] = rng.normal(scale=10.0)
    instance.x[first + 1 :] = rng.normal(scale=20.0, size=instance.x.size - first - 1)
    return instance.x.size if place is None else int(data[place])


def violent(instance, steps, seed):
    """Steps, loads, speeds and reversals of random size, in between all torques off; statuses and energy made.

    A drive that no torque and no given speed moves has no more energy than before: the largest share by which it grew.
    """
    rng = np.random.default_rng(seed)
    speeds = np.array([v.name.endswith(".w") for v in instance.model.select("input")])
    alone = not speeds.any()
    statuses, made, energy = np.zeros(3, dtype=int), 0.0, instance.get("storage.E")
    for k in range(steps):
        if k % 20 == 0:
            kind = rng.integers(4)
            scale = 10.0 ** rng.uniform(-1.0, 3.0)
            goal = np.where(speeds, 400.0, scale) * rng.normal(size=instance.u.size)
        if kind == 0:  # off
            instance.u[~speeds] = 0.0
        elif kind == 3:  # at once
            instance.u[:] = goal
        else:
            instance.u[:] += 0.2 * (goal - instance.u)
        statuses[instance.step(1e-3)] += 1
        before, energy = energy, instance.get("storage.E")
        if alone and kind == 0:
            made = max(made, energy / before - 1.0)
        assert np.isfinite(instance.x).all()
    return statuses, made
