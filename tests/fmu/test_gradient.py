"""Derivatives of runs by parameters: next to central differences, exact solutions, in optimisers."""

import dataclasses
from types import MappingProxyType

import fmpy
import numpy as np
import pytest
from flywheel import Flywheel, build
from fmpy.fmi3 import FMU3Slave
from instances import started
from machines import machines
from native_host import hosted
from refusals import refused
from rows import mistakes
from scipy.optimize import minimize

import rtcvt
from rtcvt.errors import InputError
from rtcvt.fmu.gradient import Run, sensitivities
from rtcvt.fmu.native.compiler import own_platform
from rtcvt.fmu.native.export import write_unit
from rtcvt.kind import load_unit
from rtcvt.recording import Signal
from rtcvt.scenario import Scenario
from rtcvt.simulate import prepared, simulate
from rtcvt.unitfile import parse_table

pytestmark = pytest.mark.needs("cc")

MACHINES = dict(machines())


SMALL = ["clutch rigid", "cvt_pump rigid", "driveline rigid", "electric_drive rigid", "engine rigid",
         "torque_converter rigid", "vehicle rigid"]  # fmt: skip
LARGE = [name for name in MACHINES if name not in SMALL]


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_the_derivative_of_a_step_is_the_limit_of_differences(name):
    """Along any direction of state, inputs and parameters, where differences of two sizes and on either side agree."""
    machine, rng, compared = MACHINES[name], np.random.default_rng(3), 0
    one = started(machine.model())
    model, run = one.model, Run(one, 1, np.array([v.index for v in one.model.select("output") if not v.boolean]))
    options = {f"engine.{key}" for key in ("a", "tau_k", "J_2")}  # off at zero, where they have no derivative
    fixed = [v.index for v in model.select("parameter") if v.choices or v.name in options]
    for _ in range(40):
        one.p[:] = model.p
        machine.draw(one, rng)
        base = {k: getattr(one, k).copy() for k in "pux"}
        along = {k: rng.normal(size=len(b)) * np.where(b == 0.0, 1e-3, np.abs(b)) for k, b in base.items()}
        along["p"][[*fixed, *range(len(model.select("parameter")), len(one.p))]] = 0.0

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
        room = 1e-6 * scale + 1e-14 * np.abs(at) / h  # differences have the rounding of values
        np.testing.assert_array_less(np.abs(fine - exact)[smooth], room[smooth])
    assert compared > 5 * len(exact)


@pytest.mark.parametrize("name", ["clutch", "electric_drive", "engine", "shift_control",
                                  pytest.param("two_pulley_belt rigid", marks=pytest.mark.slow),
                                  pytest.param("pushbelt_cvt rigid", marks=pytest.mark.slow)])  # fmt: skip
def test_at_kinks_a_derivative_is_between_those_of_both_sides(name):
    """Runs start at kinks: at idle, at a point of a table, at rest, with the clutch at its target."""
    unit, _, fidelity = name.partition(" ")
    record = load_unit(unit)
    model = record.build(fidelity or None)
    h, scenario = model.step_size, record.scenario[0].model_copy(update={"duration": 3.0 * model.step_size, "tune": {}})
    one, _, u, _ = prepared(model, scenario, h, None, None)
    rows = [v for v in (*model.select("parameter"), *model.select("input")) if not (v.choices or v.boolean)]
    values = {v.name: float(one.p[v.index] if v.causality == "parameter" else u[0, v.index]) for v in rows}
    found = sensitivities(model, scenario, h, values)
    outputs = [v.name for v in model.select("output") if not v.boolean]
    for k, v in enumerate(rows):
        sides, size = [], 1e-6 * (abs(values[v.name]) or v.nominal or 1.0)
        for side in (1.0, -1.0):
            try:
                moved = sensitivities(model, scenario, h, {**values, v.name: values[v.name] + side * size}).values
            except InputError:  # out of range
                continue
            sides.append(np.array([(moved[n] - found.values[n]) / (side * size) for n in outputs]))
        exact = np.array([found.derivatives[n][:, k] for n in outputs])
        if len(sides) == 2:
            noise = 1e-8 * np.abs([found.values[n] for n in outputs]) + 1e-9
            room = 1e-3 * np.abs([*sides, exact]).max(axis=0) + noise / size
            assert np.all((exact > np.minimum(*sides) - room) & (exact < np.maximum(*sides) + room)), v.name


def test_an_importer_gets_derivatives_of_an_idling_engine(tmp_path):
    """Idle speed is a point of the table of torques: along and against the speed, and backwards."""
    record = load_unit("engine")
    model = record.build()
    write_unit(model, tmp_path / "unit.fmu", [own_platform()], 1.0, fmi=3)
    folder = fmpy.extract(str(tmp_path / "unit.fmu"), str(tmp_path / "unit"))
    unit, variables = hosted(folder, FMU3Slave)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    drag, rate, w = (variables[n].valueReference for n in ("engine.drag", "der(state.engine.w)", "state.engine.w"))
    one, sides = started(model), []
    for d in (1e-4, -1e-4):
        moved = started(model)
        moved.x[:] = one.x
        moved.x[0] += d
        sides.append((moved.outputs()[model.by_name["engine.drag"].index] - one.get("engine.drag")) / d)
    found = unit.getDirectionalDerivative([drag, rate], [w], [1.0], 2)
    assert min(sides) * (1.0 - 1e-6) <= found[0] <= max(sides) * (1.0 + 1e-6)
    assert found[1] == pytest.approx(-found[0] / one.get("engine.J"), rel=1e-12)
    assert unit.getAdjointDerivative([drag, rate], [w], [1.0, 0.0], 1) == [found[0]]
    unit.freeInstance()


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


def test_a_recording_gives_the_parameters_that_made_it():
    """Of the KERS with noise: within three standard deviations; a parameter without effect has none."""
    unit, true = rtcvt.load("toroidal_kers"), {"gear.a.J": 0.21, "gear.a.b": 0.009, "control.K_theta": 6.0}
    run = unit.simulate(duration="3 s", parameters=true)
    rng, names = np.random.default_rng(4), ["shaft.tau", "gear.a.w", "control.theta"]
    for name in names:
        run[name][:] += 0.01 * np.std(run[name]) * rng.normal(size=len(run.time))
    found = unit.calibrate(run, list(true), names)
    assert found.converged
    assert found.runs <= 20
    for name, value in true.items():
        assert abs(found.values[name] - value) < 3.0 * found.deviations[name] < 0.03 * value
    assert max(found.errors.values()) < 0.011
    engine = rtcvt.load("engine")
    found = engine.calibrate(engine.simulate(duration="3 s", parameters={"engine.J": 0.18}), ["engine.J", "fuel.rho"],
                             ["crank.w"])  # fmt: skip
    assert found.values["engine.J"] == pytest.approx(0.18, rel=1e-6)
    assert found.deviations["fuel.rho"] == np.inf
    still = dataclasses.replace(run, signals={**run.signals, "shaft.tau": Signal(0.0 * run.time, "N.m", "")})
    for signals, said in (([], "at least one"), (["x"], "x: not one of"), (["shaft.tau"], "changes")):
        refused(said, unit.calibrate, still, true, signals)


@pytest.mark.filterwarnings("error")
def test_calibrate_refuses_what_is_no_recording_and_takes_any_mapping():
    unit = rtcvt.load("vehicle")
    run = unit.simulate("coast down", duration=0.1)
    for recording, runs, said in (
        ("run.h5", 3, "recording = 'run.h5'"),
        (run, 0, "runs = 0"),
        (run, 2.5, "runs = 2.5"),
    ):
        refused(f"{said}: a", unit.calibrate, recording, ["vehicle.m"], ["axle.w"], runs=runs)
    found = unit.calibrate(run, MappingProxyType({"vehicle.m": "1500 kg"}), ["axle.w"], runs=1)
    assert found.values == {"vehicle.m": pytest.approx(1500.0)}


@mistakes
def test_what_has_no_derivative_is_refused(parameters, signals, said):
    model, scenario = flywheel()
    refused(said, sensitivities, model, scenario, 1e-3, parameters, signals)


@pytest.mark.parametrize(("value", "said"), [
    ("much", "much"), (None, "None"), (np.nan, "nan"), (1j, "1j"), ([1.0], r"\[1"), (KeyError("storage"), "storage.E"),
])  # fmt: skip
def test_a_cost_that_is_no_finite_number_is_named(value, said):
    def much_energy(signals):
        if isinstance(value, Exception):
            raise value
        return value

    model, scenario = flywheel()
    found = sensitivities(model, scenario, 1e-3, ["flywheel.J"], ["storage.E"])
    refused(f"cost much_energy.*{said}", found.gradient, much_energy)
