"""Derivatives of runs by parameters: next to central differences, exact solutions, in optimisers."""

import numpy as np
import pytest
from instances import started
from machines import machines
from scipy.optimize import minimize

import rtcvt
from rtcvt.errors import InputError
from rtcvt.fmu.gradient import Run
from rtcvt.simulate import simulate

pytestmark = pytest.mark.needs("cc")

MACHINES = dict(machines())


SMALL = ["clutch rigid", "driveline rigid", "electric_drive rigid", "engine rigid", "torque_converter rigid",
         "vehicle rigid"]  # fmt: skip
LARGE = [name for name in MACHINES if name not in SMALL and not name.startswith(("driver", "cvt_pump"))]


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_the_derivative_of_a_step_is_the_limit_of_differences(name):
    """Along any direction of state, inputs and parameters, where differences of two sizes and of both sides agree."""
    machine, rng, compared = MACHINES[name], np.random.default_rng(3), 0
    one = started(machine.model())
    model, run = one.model, Run(one, 1, np.array([v.index for v in one.model.select("output") if not v.boolean]))
    fixed = [v.index for v in model.select("parameter") if v.choices]
    for _ in range(40):
        one.p[:] = model.p
        machine.draw(one, rng)
        base = {k: getattr(one, k).copy() for k in "pux"}
        along = {k: rng.normal(size=len(b)) * np.where(b == 0.0, 1e-3, np.abs(b)) for k, b in base.items()}
        along["p"][fixed] = 0.0
        along["p"][len(model.select("parameter")) :] = 0.0

        def stepped(share, seed=0.0, base=base, along=along):
            for k, b in base.items():
                getattr(one, k)[:] = b + share * along[k]
                getattr(run, f"{k}_dot")[: len(b), 0] = seed * along[k]
            run.prepare()
            done = run.steps(model.step_size, one.u[None])
            return np.concatenate([run.rows[0], one.x]) if done else np.full(len(run.places) + len(one.x), np.nan)

        at = stepped(0.0, 1.0)
        exact = np.concatenate([run.rows_dot[0, :, 0], run.x_dot[: len(one.x), 0]])
        scale, found = np.abs(exact) + 1e-3 * np.abs(at) + 1e-9, []
        for h in (1e-5, 3e-6):
            far, below, above, beyond = (stepped(k * h) for k in (-2, -1, 1, 2))
            bent = np.abs(above + below - 2.0 * at) > 1e-2 * h * scale
            found.append(np.where(bent, np.nan, (far - 8.0 * below + 8.0 * above - beyond) / (12.0 * h)))
        smooth = np.abs(found[0] - found[1]) < 3e-7 * scale
        compared += smooth.sum()
        assert np.all(np.abs(found[1] - exact)[smooth] < 1e-6 * scale[smooth])
    assert compared > 5 * len(exact)


def test_a_run_has_its_bits_and_its_derivatives_add_up():
    """Of a rotor with drag: w = w_0 exp(-b t/J) in the exact solution, at points and for a cost, in any unit."""
