"""Steps a second of processor time: sweeps in C of this model and in numba, a pool of simulations, the steps alone.

``python benchmarks/sweep_throughput.py [UNIT ...]``; compile first by running it twice.
"""

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from rtcvt import sweeping
from rtcvt.kind import load_unit
from rtcvt.model.march import address_of, march
from rtcvt.simulate import prepared, simulate
from rtcvt.sweeping import Sweep, chosen_signals, design

UNITS = {"toroidal_kers": "control.K_theta", "pushbelt_cvt": "primary.J", "car_cvt": "vehicle.vehicle.m"}
DURATION = 20.0  # s of each run


def built(name):
    """Model, and its first scenario, repeated or cut to `DURATION`."""
    unit = load_unit(name)
    return unit.build(), unit.scenario[0].model_copy(update={"duration": DURATION})


def simulated(name, parameter, value):
    """One run in a process of its own."""
    model, scenario = built(name)
    return simulate(model, scenario, parameters={parameter: value}).y[-1]


def used(who=resource.RUSAGE_SELF):
    """Processor time [s]."""
    found = resource.getrusage(who)
    return found.ru_utime + found.ru_stime


def main(names, points=64):
    """Print M steps/s and core of each unit."""
    for name in names:
        model, scenario = built(name)
        parameter = UNITS[name]
        value = float(model.p[model.by_name[parameter].index])
        values = np.linspace(0.9 * value, 1.1 * value, points).tolist()
        simulate(model, scenario.model_copy(update={"duration": 0.1}))
        each, wall = [], 0.0
        for where, least in (("in C", 0), ("in numba", np.inf)):
            sweeping.NATIVE_STEPS = least
            sweep = Sweep(
                model, scenario, design(model, {parameter: values}), chosen_signals(model, ()), model.step_size
            )
            if not least:
                sweeping._code_of(model)
            before, began = used(), time.perf_counter()
            sweep.run(threads=2)
            each.append((where, (used() - before) / points / sweep.steps))
            wall = wall or time.perf_counter() - began
        instance, _, u, _ = prepared(model, scenario, model.step_size, None, None)
        instance.u[:] = u[0]
        instance.initialise()
        instance.step(model.step_size)
        y, status, address = np.empty((2000, len(instance.y))), np.empty(2000, dtype=np.int8), address_of(instance)
        before = used()
        for k in range(0, sweep.steps - 2000, 2000):
            march(instance, address, model.step_size, u[k : k + 2000], y, status)
        alone = (used() - before) / (k + 2000)
        before = used(resource.RUSAGE_CHILDREN)
        with ProcessPoolExecutor(2) as pool:
            list(pool.map(simulated, [name] * 8, [parameter] * 8, values))
        pooled = used(resource.RUSAGE_CHILDREN) - before
        each += [("alone", alone), ("in a pool", pooled / 8 / sweep.steps)]
        print(f"{name:14}", *(f"{1e-6 / cost:6.3f} M/s {where}" for where, cost in each), f"{wall:.1f} s in C")


if __name__ == "__main__":
    main(sys.argv[1:] or UNITS)
