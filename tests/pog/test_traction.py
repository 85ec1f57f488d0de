"""Hybrid model of gear systems: contacts that transmit by traction, their Jacobian, power, limits and end load."""

import numpy as np
import pytest
from instances import started, stepped
from refusals import refused
from rows import cases, mistakes

from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.pog.reading import read_gear_system
from rtcvt.pog.spin import traction_contacts
from rtcvt.unitfile import parse_unit_file

pytestmark = pytest.mark.interpreted


def kers(**changes):
    unit = load_unit("toroidal_kers")
    instance = started(unit.build("hybrid"), changes)
    return unit, instance


def held(**changes):
    """The variator whose end load has the pressure of the pistons that hold its rollers."""
    instance = started(load_unit("toroidal_variator").build("hybrid"), changes)
    return instance


def outputs(instance):
    return {v.name: instance.get(v.name) for v in instance.model.select("output")}


@cases
def test_jacobian_is_that_of_the_rates(direction, asked, pistons):
    instance = held() if pistons else kers()[1]
    x = instance.x.copy()
    x[:4] *= direction * np.array([1.01, 0.99, 1.004, 1.0])
    x[4:7], x[-1] = (500.0, 10.0, 0.4), 9000.0
    if not pistons:
        x[7] = 100.0
    instance.u[:] = direction * 105.0, 0.41 if pistons else 5.0, asked
    instance.x[:] = x
    exact = instance.jacobian().copy()

    def rates(at):
        instance.x[:] = at
        return np.array(instance.derivative())

    h = 1e-6 * np.maximum(1.0, np.abs(x))
    found = np.stack([(rates(x + d) - rates(x - d)) / (2.0 * d.max()) for d in np.diag(h)], axis=1)
    misses = np.abs(exact - found).max(axis=1) / np.maximum(1e-9, np.abs(found).max(axis=1))
    assert misses.max() < 1e-5, misses


def run(instance, h, duration, demand):
    rows = []
    for k in range(round(duration / h)):
        instance.set("control.tau_des", demand(k * h))
        assert instance.step(h) != FAILED
        y = outputs(instance)
        rows.append((y["shaft.tau"] * y["gear.d.w"], y["loss.friction"], y["storage.E"], y["gear.a.w"]))
    return np.array(rows), y


def test_power_creep_and_the_margin_of_the_end_load():
    """20 N.m into the store: what goes in is stored or lost, and the loads follow what is transmitted."""
    _, instance = kers()
    rows, y = run(instance, 1e-3, 0.4, lambda t: 0.45 + 19.55 * min(1.0, max(0.0, t - 0.02) / 0.2))
    power, lost, stored, _ = rows.T
    through = 1e-3 * np.sum(np.abs(power))
    balance = stored[-1] - stored[0] - 1e-3 * np.sum(0.5 * ((power - lost)[1:] + (power - lost)[:-1]))
    assert abs(balance) < 1e-4 * through
    losses = y["loss.creep"] + y["loss.spin"] + y["loss.roller_bearings"] + y["loss.churning"]
    assert 0.0 < losses < y["loss.friction"]
    assert 0.90 < y["traction.efficiency"] < 0.95
    assert 0.005 < y["contact.bc.creep"] < 0.04
    asked = 1.5 * 3 * np.cos(y["control.theta"]) * abs(y["contact.bc.F"]) / 6 / 0.078  # of a fluid as cold as it can be
    assert 0.9 * asked < y["traction.end_load"] < 1.5 * asked
    assert 0.2 < min(y["contact.bc.margin"], y["contact.ac.margin"]) < 0.5
    assert y["control.tau_est"] == pytest.approx(y["shaft.tau"], abs=0.5)
    assert not y["status.macro_slip"]


def test_the_law_is_evaluated_again_where_only_the_fluid_changes():
    _, instance = kers()
    run(instance, 1e-3, 0.05, lambda t: 5.0)
    instance.tune("traction.limit", 0.05)
    _, other = kers(**{"traction.limit": 0.05})
    other.x[:], other.u[:] = instance.x, instance.u
    np.testing.assert_array_equal(instance.outputs(), other.outputs())
    np.testing.assert_array_equal(instance.jacobian(), other.jacobian())


def test_the_shafts_spring_bounds_the_gain_of_the_torque_controller():
    """With creep a fast tilt drives the oscillation of the shaft, which elastic contacts damp at any gain."""
    for fidelity, stable in (("full", (True, True)), ("hybrid", (True, False))):
        instance = load_unit("toroidal_kers").build(fidelity).instantiate()
        instance.set("control.theta_start", -0.4)
        instance.set("control.K_theta", 0.2)
        instance.set("control.tau_des", 1.0)
        instance.initialise()
        stepped(instance, 150)
        found = []
        for gain in (0.2, 10.0):
            instance.tune("control.K_theta", gain)
            modes = np.linalg.eigvals(instance.jacobian())
            found.append(bool(modes[np.abs(np.abs(modes.imag) - 1070.0) < 100.0].real.max() < 0.0))
        assert tuple(found) == stable, fidelity


def test_order():
    """The error falls with at least the square of the step, while an actuator tilts the rollers under a held load."""
    ends = []
    for h in (4e-3, 2e-3, 1e-3):
        unit = load_unit("toroidal_variator")
        solver = unit.solver.model_copy(update={"step": h})
        instance = unit.model_copy(update={"solver": solver}).build("hybrid").instantiate()
        for name, value in (("traction.preload", 2e4), ("traction.margin", 0.0), ("control.theta_des", 0.2)):
            instance.set(name, value)
        instance.initialise()
        stepped(instance, round(0.12 / h), h)
        ends.append(instance.get("gear.a.w"))
    one, two = np.abs(np.diff(ends))
    assert two < one / 3.5


def test_too_small_a_load_slips_and_recovers():
    _, instance = kers()
    instance.tune("traction.margin", 0.0)
    _, y = run(instance, 1e-3, 0.05, lambda t: 20.0)
    assert y["status.macro_slip"]
    assert y["shaft.tau"] < 10.0
    instance.set("traction.end_load_min", 1.8e4)
    _, y = run(instance, 1e-3, 0.1, lambda t: 5.0)
    assert not y["status.macro_slip"]
    assert y["traction.end_load"] == pytest.approx(1.8e4, rel=0.02)


def test_pistons_that_hold_the_rollers_give_the_end_load():
    """One pressure p: p A_r = F_bc + F_ac of a roller, F_e = p A_e, A_e/A_r = 75/2.25; or more, where it is given."""
    slow = {"control.theta_des": 0.9, "control.theta_start": -0.1, "control.time_constant": 1.0}
    instance = held(**{"shaft.w": 105.0, **slow})
    stepped(instance, 200)
    y = outputs(instance)
    reaction = abs(y["contact.bc.F"] + y["contact.ac.F"]) / 6
    assert reaction * 75.0 / 2.25 > 2.5e3  # above the preload
    assert y["traction.end_load"] == pytest.approx(reaction * 75.0 / 2.25, rel=0.1)  # 20 ms behind
    for t in ("bc", "ac"):
        assert abs(y[f"contact.{t}.mu"]) == pytest.approx(3 * np.cos(y["control.theta"]) * 2.25 / 75.0 / 2.0, rel=0.1)
    assert y["traction.pressure"] == pytest.approx(y["traction.end_load"] / 75e-4)
    instance.set("traction.pressure_min", 2e6)
    stepped(instance, 200)
    assert instance.get("traction.end_load") == pytest.approx(2e6 * 75e-4, rel=1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e11, -1e11])
def test_any_load_is_refused_or_bounded(value):
    _, instance = kers()
    instance.set("traction.end_load_min", 1e4)
    instance.step(1e-3)
    instance.u[2] = value
    instance.step(1e-3)
    assert np.all(np.isfinite(instance.x))


def test_a_pressure_above_the_allowed_is_told():
    _, instance = kers(**{"traction.p_max": 1.5e9})
    instance.set("traction.end_load_min", 1.8e4)
    _, y = run(instance, 1e-3, 0.1, lambda t: 1.0)
    assert y["status.over_pressure"] == (max(y["contact.bc.p_max"], y["contact.ac.p_max"]) > 1.5e9) == 1.0
    instance.tune("traction.p_max", 4e9)
    instance.outputs()
    assert instance.get("status.over_pressure") == 0.0


@pytest.mark.parametrize("theta", [-0.5, 0.0, 0.37])
def test_spin_of_a_half_toroid(theta):
    """Rolling without slip: sin(alpha + theta) - (R_C/r_0 - cos(alpha + theta))/tan(alpha) of the disc's speed."""
    unit, alpha = load_unit("half_toroidal_variator"), np.radians(60.0)
    for spin, tilt in zip(traction_contacts(unit), (theta, -theta), strict=True):
        r, r_c, S, S_c = spin.at(unit, theta)
        assert abs(r) == pytest.approx(0.065 - 0.04 * np.cos(alpha + tilt), rel=1e-12)
        assert abs(r_c) == pytest.approx(0.04 * np.sin(alpha), rel=1e-12)
        sigma = np.sin(alpha + tilt) - (0.065 / 0.04 - np.cos(alpha + tilt)) / np.tan(alpha)
        assert abs(S - S_c * r / r_c) == pytest.approx(abs(sigma), rel=1e-12)
        assert pytest.approx(np.sin(alpha + tilt), rel=1e-12) == S  # the end load's part that is normal force


TEXT = load_unit("toroidal_kers").text


@mistakes
def test_what_is_no_toroid_is_refused(old, new, told):
    refused(told, lambda: read_gear_system(parse_unit_file(TEXT.replace(old, new), "toroid.toml")))


def test_a_unit_without_traction_has_no_hybrid_model():
    unit = load_unit("differential")
    assert "hybrid" not in unit.models
    refused("no 'traction'", unit.build, "hybrid")
