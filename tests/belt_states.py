"""Drawn states of real-time belt drives, and what holds in each: the Jacobian is that of the rates, power balances."""

import math

import numpy as np
from differences import jacobian_by_differences

from rtcvt.belt.layout import BeltP, Cell, D
from rtcvt.belt.unit import AncfModel, Belt, BeltUnit, HybridModel, Pulley


def started(unit, fidelity="hybrid", substeps=None, **parameters):
    """An instance of a unit, or of its model, initialised with parameters; ``__`` in a name stands for a dot."""
    instance = (unit.build(fidelity, substeps) if hasattr(unit, "build") else unit).instantiate()
    for key, value in parameters.items():
        instance.set(key.replace("__", "."), value)
    instance.initialise()
    return instance


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


def assert_jacobian(instance):
    """The Jacobian is that of central differences of the rates."""
    exact = instance.jacobian()
    found = jacobian_by_differences(instance, 1e-7 * np.maximum(np.abs(instance.x), 0.01))
    scale = np.abs(exact).max(axis=1, keepdims=True) + 1.0
    np.testing.assert_allclose(exact / scale, found / scale, atol=2e-5)


def assert_power(instance, losses, within=2e-6):
    """Power that enters is stored or lost, and no loss is negative."""
    x, dx = instance.x.copy(), instance.derivative()
    share = 1e-3 if instance.model.fidelity == "rigid" else 1e-6  # the rigid model's energy is quadratic
    step = share / np.max(np.abs(dx) / (np.abs(x) + 1e-3))
    energy = []
    for sign in (1.0, -1.0):
        instance.x[:] = x + sign * step * dx
        instance.outputs()
        energy.append(instance.get("storage.E"))
    instance.x[:] = x
    instance.outputs()
    rate, power = (energy[0] - energy[1]) / (2.0 * step), 0.0
    for v in instance.model.select("input"):
        name, _, kind = v.name.partition(".")
        speed, torque = (f"{name}.w", f"{name}.tau") if kind == "tau" else (f"{name}.w_pulley", f"{name}.tau")
        power += instance.get(speed) * instance.get(torque)
    lost = [instance.get(k) for k in losses]
    assert min(lost) >= 0.0
    rest = power - rate - sum(lost) - instance.get("loss.load")
    assert abs(rest) < within * (abs(power) + abs(rate) + sum(lost))


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
