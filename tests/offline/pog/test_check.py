"""The check of rigid against full models: every shipped unit, and the check itself."""

import dataclasses

import numpy as np
import pytest
from instances import started
from recorded_checks import of_gears, recorded, worse
from refusals import refused
from rows import mistakes
from scipy.integrate import solve_ivp

from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.offline.pog.check import check_unit, elastic_modes, energy_residual
from rtcvt.offline.signal_errors import settled
from rtcvt.pog.system import build_model
from rtcvt.scenario import Scenario, get_scenario
from rtcvt.simulate import simulate


def test_every_shipped_unit_is_within_its_limits(unit):
    """Speeds within 1 %, forces within 2 %, energy accounted for, and the steps fine enough to say so."""
    result = check_unit(unit)
    assert result.passed, result.failures
    assert worse(of_gears(result), recorded(unit.name)) == []
    for s in result.scenarios:
        assert s.scenario.limits.speed <= 0.01
        assert s.scenario.limits.force <= 0.02
        assert s.discretisation < 2e-3
        assert max(s.energy_residual.values()) < 1e-3
        assert {e.name for e in s.errors} == {f"gear.{g}.w" for g in unit.gears} | {
            f"contact.{c}.F" for c in unit.contacts
        }


def test_a_limit_that_is_exceeded_fails():
    scenario = Scenario.model_validate(
        {"name": "strict", "duration": 0.5, "inputs": {"left.tau": 100.0}, "limits": {"speed": 1e-6, "force": 0.5}}
    )
    result = check_unit(load_unit("differential"), scenarios=(scenario,))
    assert not result.passed
    assert any("gear.b.w is off by" in f for f in result.failures)
    assert result.figures()["passed"] is False


def test_full_model_against_another_integrator():
    """The paper's 100 N.m step on the differential against SciPy's implicit Runge-Kutta (Radau IIA, order 5)."""
    model = build_model(load_unit("differential"), "full")
    scenario = Scenario.model_validate({"name": "step", "duration": 1.0, "inputs": {"left.tau": 100.0}})
    result = simulate(model, scenario)
    instance = started(model, left__tau=100.0)

    def f(t, x):
        instance.x[:] = x
        return instance.derivative()

    exact = solve_ivp(f, (0.0, 1.0), np.zeros(8), method="Radau", rtol=1e-9, atol=1e-9, t_eval=result.time)
    assert exact.success
    for k, name in enumerate(s.name for s in model.states):
        assert np.abs(result[name] - exact.y[k]).max() < 1e-4 * np.abs(exact.y[k]).max()


def test_modes_of_two_inertias_on_a_spring():
    """A gear pair with the pinion held by its inertia: omega^2 = K (r_a^2/J_a + r_b^2/J_b), damping d omega/(2 K)."""
    unit = load_unit("planetary")
    modes = elastic_modes(build_model(unit.without_losses(), "full"))
    J = {g: unit.gears[g].inertia for g in unit.gears}
    r_s, r_p = unit.parameters["r_s"].value, unit.parameters["r_p"].value
    R = np.array([[r_s, r_p, 0, -(r_s + r_p)], [0, r_p, -(r_s + 2 * r_p), r_s + r_p]])
    squares = np.linalg.eigvalsh(50e6 * R @ np.diag([1 / J[g] for g in "sprc"]) @ R.T)
    assert [f for f, _ in modes] == pytest.approx(np.sqrt(squares) / (2 * np.pi), rel=1e-3)
    assert [d for _, d in modes] == pytest.approx(np.sqrt(squares) * 5e3 / (2 * 50e6), rel=1e-2)


def test_energy_residual_sees_a_missing_loss():
    unit = load_unit("differential")
    result = simulate(build_model(unit, "rigid"), unit.scenario[0])
    assert energy_residual(unit, result) < 1e-6
    y = result.y.copy()
    y[:, result.model.by_name["loss.friction"].index] += 0.01 * result.parameter("gear.b.b") * result["gear.b.w"] ** 2
    assert energy_residual(unit, dataclasses.replace(result, y=y)) > 1e-3


def test_samples_near_a_change_of_the_limits_do_not_count():
    unit = load_unit("toroidal_kers")
    result = simulate(build_model(unit, "rigid"), get_scenario(unit, "infeasible demand"))
    counted = settled(1.0, result)
    changes = result.time[np.flatnonzero(np.diff(result.status[1:])) + 2]
    assert len(changes) >= 4
    for t in (0.0, *changes):
        assert not counted[(result.time >= t) & (result.time < t + 0.999)].any()
    assert counted[result.time > changes[-1] + 1.1].all()
    later = dataclasses.replace(result, status=np.roll(result.status, 300))  # a model whose limits act later
    assert (settled(1.0, result, later) == (counted & settled(1.0, later))).all()
    refused("no sample counts", settled, 59.9, result)


def test_units_without_scenarios_cannot_be_checked():
    with pytest.raises(InputError, match=r"differential\.toml: scenario: at least one \[\[scenario\]\]"):
        check_unit(load_unit("differential"), scenarios=())


@mistakes
def test_all_scenarios_are_read_before_the_first_runs(change, message):
    unit = load_unit("differential")
    late = Scenario.model_validate({"name": "late", "duration": 1.0, **change})
    ran = []
    with pytest.raises(InputError, match=message):
        check_unit(unit, scenarios=(unit.scenario[0], late), progress=lambda *about: ran.append(about))
    assert not ran
