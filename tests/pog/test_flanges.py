"""Flanges whose speed is prescribed: power, equality with the torque-driven model, steady states, FMUs."""

import numpy as np
import pytest
from instances import started
from machines import flanged
from marks import slow
from refusals import refused
from rows import mistakes, text_of

from rtcvt.kind import load_unit
from rtcvt.model.coupling import coupling
from rtcvt.pog.flange import with_flanges
from rtcvt.pog.reading import read_gear_system
from rtcvt.pog.system import build_model, matrices
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_unit_file

FIDELITIES = pytest.mark.parametrize("fidelity", ["rigid", "full"])


def difference(name, port, fidelity, inputs, h, duration, softening=1.0):
    """Of the flange torque, with the speed that a torque-driven run gave, by the largest torque."""
    driven = flanged(name, {}, step=h).build(fidelity)
    scenario = Scenario(name="torque in", duration=duration, inputs=inputs)
    first = simulate(driven, scenario)
    model = flanged(name, {port: "speed"}, step=h).build(fidelity)
    instance = model.instantiate()
    instance.set(f"{port}.c", instance.get(f"{port}.c") * softening)
    instance.set(f"{port}.d", instance.get(f"{port}.d") * softening**0.5)
    instance.initialise()
    tau = np.zeros(len(first.time))
    for k in range(len(first.time) - 1):
        for v in driven.select("input"):
            if v.name != f"{port}.tau":
                instance.set(v.name, first[v.name][k])
        instance.set(f"{port}.w", 0.5 * (first[f"{port}.w"][k] + first[f"{port}.w"][k + 1]))
        assert instance.step(h) == 0
        tau[k + 1] = instance.get(f"{port}.tau")
    given = first[f"{port}.tau"]
    given = np.append(0.0, 0.5 * (given[1:] + given[:-1]))  # which jumps from one to the next where tau is read
    return np.abs(tau - given).max() / np.abs(given).max()


SMOOTH = "10*(1 - cos(12*t))"


PAIR = text_of("units/pair_with_friction.toml")


def pair(friction_a, friction_b, fidelity, **choice):
    """Two gears with the ratio 2/3; a port at each."""
    text = PAIR.replace("FRICTION_A", str(friction_a)).replace("FRICTION_B", str(friction_b))
    return build_model(with_flanges(read_gear_system(parse_unit_file(text, "pair.toml")), choice), fidelity)


@FIDELITIES
def test_steady_torque_is_that_of_friction(fidelity):
    """tau = (b_b + b_a (3/2)^2) w at the dependent gear, with 0.5 N.m at the other one."""
    instance = started(pair(1e-3, 4e-3, fidelity, output="speed"), output__w=40.0, input__tau=0.5)
    for _ in range(3000):
        assert instance.step(1e-3) == 0
    sign = np.sign(instance.get("gear.a.w") * instance.get("gear.b.w"))
    assert instance.get("output.tau") == pytest.approx((4e-3 + 1e-3 * 2.25) * 40.0 - sign * 0.5 * 1.5, rel=1e-9)
    assert instance.get("gear.b.w") == pytest.approx(40.0, rel=1e-12)
    assert instance.get("output.loss") < 1e-20


def test_default_coupling():
    """1/(4 h) with the inertia seen at the flange; the mode is damped by 21 %."""
    model = pair(0.0, 0.0, "rigid", output="speed")
    instance = model.instantiate()
    inertia = 5e-3 + 2e-3 * 2.25
    assert coupling(inertia, 1e-3) == pytest.approx((instance.get("output.c"), instance.get("output.d")), rel=1e-12)
    assert instance.get("output.c") == pytest.approx(inertia * 250.0**2, rel=1e-12)
    instance.initialise()
    poles = np.linalg.eigvals(instance.jacobian())
    (pole,) = poles[poles.imag > 0.0]
    assert -pole.real / abs(pole) == pytest.approx(0.2069, abs=1e-4)
    assert abs(pole) == pytest.approx(1.198 * 250.0, rel=1e-3)


def test_a_ramp_in_steps_gives_the_torque_of_the_acceleration():
    """w rises by 0.1 rad/s in each step; the error is below (omega_c h)^2/12 for each of the two springs."""
    instance = started(pair(0.0, 0.0, "rigid", output="speed"))
    for k in range(1000):
        instance.set("output.w", 0.1 * k)
        assert instance.step(1e-3) == 0
    error = instance.get("output.tau") / ((5e-3 + 2e-3 * 2.25) * 100.0) - 1.0
    assert abs(error) < 2.0 * 0.25**2 / 12.0


@FIDELITIES
@pytest.mark.parametrize("choice", [slow({"left": "speed"}), {"left": "speed", "right": "speed"}])
def test_a_differential_with_mixed_flanges(fidelity, choice):
    """Steady state: A1 x1 + Q1' tau = 0 for the torques and speeds that are not given."""
    unit = flanged("differential", choice)
    model = unit.build(fidelity)
    instance, rigid = model.instantiate(), build_model(unit, "rigid").instantiate()
    values = {"pinion.tau": 3.0, "left.w": 30.0, **({"right.w": 20.0} if "right" in choice else {"right.tau": -1.0})}
    for name, value in values.items():
        instance.set(name, value)
    instance.initialise()
    for _ in range(10_000):
        instance.step(1e-3)
    m = matrices(rigid)
    gears = list(unit.gears)
    left, right, pinion = (gears.index(unit.ports[n].gear) for n in ("left", "right", "pinion"))
    rest = m.Q1.T @ np.eye(len(gears))[pinion] * 3.0  # unknown: x1, torques of the prescribed flanges
    rows = [np.concatenate([m.Q1[left], [0.0, 0.0]])]
    given = [30.0]
    if "right" in choice:
        rows.append(np.concatenate([m.Q1[right], [0.0, 0.0]]))
        given.append(20.0)
    else:
        rows.append(np.array([0.0, 0.0, 0.0, 1.0]))
        given.append(-1.0)
    balance = np.column_stack([m.A1, m.Q1[left], m.Q1[right]])
    solution = np.linalg.solve(np.vstack([balance, rows]), [*-rest, *given])
    assert instance.get("left.tau") == pytest.approx(solution[2], rel=1e-6)
    assert instance.get("gear.b.w") == pytest.approx(solution[0], rel=1e-6)
    assert instance.get("right.tau") == pytest.approx(solution[3], rel=1e-6)


@FIDELITIES
def test_a_prescribed_shaft_with_a_spring_is_the_same_unit(fidelity):
    """The demand of the KERS controller acts through it as before."""
    plain, chosen = (flanged("toroidal_kers", c).build(fidelity) for c in ({}, {"shaft": "speed"}))
    assert np.array_equal(plain.p, chosen.p)
    assert plain.variables == chosen.variables


@mistakes
def test_wrong_choices(name, choice, message):
    refused(message, lambda: with_flanges(load_unit(name), choice, "--flange"))


def test_the_unit_file_may_choose_too():
    text = PAIR.replace("FRICTION_A", "0.0").replace("FRICTION_B", "0.0")
    changed = text.replace('output = "b"', 'output = { gear = "b", flange = "speed" }')
    in_file = read_gear_system(parse_unit_file(changed, "pair.toml"))
    chosen = pair(0.0, 0.0, "rigid", output="speed")
    assert np.array_equal(build_model(in_file, "rigid").p, chosen.p)
    back = build_model(with_flanges(in_file, {"output": "torque"}), "rigid")
    assert back.variables == pair(0.0, 0.0, "rigid").variables


def test_a_flange_without_inertia_is_refused():
    text = PAIR.replace("FRICTION_A", "0.0").replace("FRICTION_B", "0.0").replace("2e-3", "0").replace("5e-3", "0")
    unit = with_flanges(read_gear_system(parse_unit_file(text, "pair.toml")), {"output": "speed"})
    refused(r"pair\.toml: ports\.output\.flange = 'speed': a port that turns an inertia", build_model, unit, "rigid")


@FIDELITIES
def test_the_coupling_of_the_export_at_the_units_own_step(fidelity):
    """12 rad/s through 250 rad/s at 1 ms: 0.2 % yields, 0.5 % is of the steps; measured: 0.76 %."""
    error = difference("planetary", "carrier", fidelity, {"carrier.tau": SMOOTH}, 1e-3, 1.0)
    assert error < 0.01
