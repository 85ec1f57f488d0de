"""Derivatives of runs by parameters: next to central differences, exact solutions, in optimisers."""

import numpy as np
import pytest
from flywheel import Flywheel, build
from instances import started
from machines import machines
from scipy.optimize import minimize

import rtcvt
from rtcvt.errors import InputError
from rtcvt.fmu.gradient import Run, sensitivities
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_table

pytestmark = pytest.mark.needs("cc")

MACHINES = dict(machines())


SMALL = ["clutch rigid", "cvt_pump rigid", "driveline rigid", "electric_drive rigid", "engine rigid",
         "torque_converter rigid", "vehicle rigid"]  # fmt: skip
LARGE = [name for name in MACHINES if name not in SMALL]


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
        scale, found = np.abs(exact) + 1e-3 * np.abs(at) + 1e-4, []
        for h in (1e-5, 5e-6):
            far, below, above, beyond = (stepped(k * h) for k in (-2, -1, 1, 2))
            found.append(
                [(far - 8.0 * below + 8.0 * above - beyond) / (12.0 * h), (above + below - 2.0 * at) / (h * h)]
            )
        (coarse, bend), (fine, bend_fine) = found  # at a kink the second differences grow as the steps fall
        smooth = (np.abs(coarse - fine) < 3e-7 * scale) & (np.abs(bend - bend_fine) * 1e-5 < 1e-6 * scale)
        compared += smooth.sum()
        np.testing.assert_array_less(np.abs(fine - exact)[smooth], 1e-6 * scale[smooth])
    assert compared > 5 * len(exact)


def flywheel(**tune):
    """A flywheel from 100 rad/s under 2 N.m; J = 0.1 kg.m2, b = 0.02 N.m.s/rad."""
    data = {"name": "rotor", "kind": "flywheel", "description": "A rotor", "solver": {"step": "1 ms"},
            "parameters": {"J": 0.1, "b": 0.02, "w_start": 100.0}}  # fmt: skip
    unit = parse_table(Flywheel, {**data, "source": "rotor", "text": ""}, "rotor")
    scenario = parse_table(
        Scenario, {"name": "run", "duration": 2.0, "inputs": {"shaft.tau": 2.0}, "tune": tune}, "run"
    )
    return build(unit), scenario


def test_derivatives_of_the_exact_solution():
    """w = tau/b + (w_0 - tau/b) exp(-b t/J): by all parameters and a held input, at every point."""
    model, scenario = flywheel()
    values = {"flywheel.J": "0.2 kg.m2", "flywheel.b": 0.04, "flywheel.w_start": 50.0, "shaft.tau": 3.0}
    found = sensitivities(model, scenario, 1e-3, values)
    t, J, b, w_0, tau = found.time, 0.2, 0.04, 50.0, 3.0
    decay, free = np.exp(-b * t / J), w_0 - tau / b
    exact = np.array([free * decay * b * t / J**2, tau / b**2 * (decay - 1.0) - free * decay * t / J, decay,
                      (1.0 - decay) / b]).T  # fmt: skip
    assert np.abs(found.values["shaft.w"] - tau / b - free * decay).max() < 1e-8
    np.testing.assert_allclose(found.derivatives["shaft.w"], exact, rtol=1e-7, atol=1e-7)
    cost, slope = found.gradient(lambda s: np.mean(s["shaft.w"] ** 2))
    w = tau / b + free * decay
    assert cost == pytest.approx(np.mean(w**2))
    np.testing.assert_allclose(slope, 2.0 * (w @ exact) / len(w), rtol=1e-7)


def test_a_parameter_that_is_tuned_counts_until_then():
    model, scenario = flywheel(**{"flywheel.b": {"time": [1.0], "value": [0.05]}})
    found = sensitivities(model, scenario, 1e-3, ["flywheel.b"], ["shaft.w"])
    assert np.array_equal(found.values["shaft.w"], simulate(model, scenario)["shaft.w"])
    by_b = found.derivatives["shaft.w"][:, 0]
    np.testing.assert_allclose(by_b[1000:], by_b[1000] * np.exp(-0.5 * (found.time[1000:] - 1.0)), rtol=1e-7)


def test_more_parameters_than_lanes_in_several_runs_of_the_same_bits():
    unit = rtcvt.load("toroidal_kers")
    names = [v.name for v in unit.variables().values() if v.causality == "parameter"][:17]
    found, alone = (unit.sensitivities(some, duration="0.2 s", signals=["gear.*"]) for some in (names, names[-1:]))
    run = unit.simulate(unit.scenarios[0], duration="0.2 s")
    for name, values in found.values.items():
        assert np.array_equal(values, run[name])
        assert np.array_equal(found.derivatives[name][:, -1], alone.derivatives[name][:, 0])


def test_an_optimiser_finds_the_gain_of_the_kers():
    """Differences of simulations end in noise near the best gain."""
    unit, demand = rtcvt.load("toroidal_kers"), rtcvt.load("toroidal_kers").simulate(duration="3 s")["control.tau_des"]
    calls = []

    def cost(gain):
        calls.append(gain)
        found = unit.gradient(lambda s: np.mean((s["shaft.tau"] - demand) ** 2), {"control.K_theta": gain[0]},
                              duration="3 s", signals=["shaft.tau"])  # fmt: skip
        return found.cost, found.gradient

    best = minimize(cost, [3.0], jac=True, method="L-BFGS-B", bounds=[(0.1, 100.0)])
    assert best.success, best.message
    assert len(calls) < 20
    assert abs(best.jac[0]) < 1e-4


@pytest.mark.parametrize(("parameters", "signals", "said"), [
    ([], [], "at least one parameter"), (["flywheel.x"], [], "flywheel.x: not one of"), (["flywheel.J"], ["z"], "z"),
    ({"shaft.tau": "3 m"}, [], "3 m"), ({"flywheel.J": -1.0}, [], "flywheel.J"), (["storage.E"], [], "storage.E"),
])  # fmt: skip
def test_what_has_no_derivative_is_refused(parameters, signals, said):
    model, scenario = flywheel()
    with pytest.raises(InputError, match=said):
        sensitivities(model, scenario, 1e-3, parameters, signals)
