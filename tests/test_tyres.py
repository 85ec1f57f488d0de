"""Tyres with slip: their equations, standing, and the limits that axle loads set."""

import numpy as np
import pytest
from discs import interpreted
from instances import started, stepped
from rows import cases, text_of
from scipy.integrate import solve_ivp

from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.offline.car_figures import FINEST, START, STARTED, performance, told
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_unit_file

M, L_F, L_R, H, G, R, J, SIGMA = 1400.0, 1.05, 1.55, 0.55, 9.81, 0.3, 2.0, 0.3
C, D_1, D_2, E, K_1, K_2, MU = 1.6411, 1.1739, -0.16395, 0.46403, 22.303, 0.48896, 0.4


def magic(F_z, kappa):
    """Force of an axle, and its share of that with the slip stiffness at no slip."""
    df = F_z / 8000.0 - 1.0
    D = MU * (D_1 + D_2 * df) * F_z
    B = (K_1 + K_2 * df) * F_z / (C * D)
    F = D * np.sin(C * np.arctan(B * kappa - E * (B * kappa - np.arctan(B * kappa))))
    return F, np.where(kappa == 0.0, 1.0, F / (B * C * D * np.where(kappa == 0.0, 1.0, kappa)))


def equations(t, x, load, brake):
    """Of a car that rolls forwards, beyond the speed at which the damper fades."""
    v, w, kappa, Z = x[0], x[1:3], x[3:5], x[5]
    F_z = M * G / (L_F + L_R) * np.array([L_R, L_F]) + np.array([-Z, Z])
    F, share = magic(F_z, kappa)
    pull = F.sum() - 0.39 * v * v
    travel = np.maximum(v, R * w)
    T = np.array([0.7, 0.3]) * brake + 0.01 * F_z * R
    return np.concatenate([
        [pull / M],
        (np.array([-load, 0.0]) - R * F - T) / J,
        (R * w - v - travel * kappa) / (SIGMA * np.maximum(share, 0.01)),
        [(H / (L_F + L_R) * pull - Z) / 0.1],
    ])  # fmt: skip


def test_driven_and_braked_wheels_as_integrated_by_another_code():
    """Front wheels spin on a road of 40 % friction, then all are braked to a tenth of slip."""
    ramp = ([0.0, 0.1, 0.3, 0.4], [0.0, -1400.0, -1400.0, 0.0])
    stop = ([0.5, 0.6], [0.0, 1450.0])
    inputs = {"front.load": {"time": ramp[0], "value": ramp[1]}, "brake.tau": {"time": stop[0], "value": stop[1]}}
    given = {"road.mu": MU, "vehicle.v_start": 8.0}
    scenario = Scenario(name="spin", duration=0.8, inputs=inputs, parameters=given)
    run = simulate(load_unit("vehicle_tyres").build(), scenario)
    v, w = 8.0, 8.0 / R
    x = np.array([v, w, w, 0.0, 0.0, 0.0])
    found = [x]
    for k in range(len(run.time) - 1):  # inputs are held over a step
        load, brake = run["front.load"][k], run["brake.tau"][k]
        x = solve_ivp(equations, (0.0, 1e-3), x, rtol=1e-9, atol=1e-10, args=(load, brake)).y[:, -1]
        found.append(x)
    for row, name in enumerate(("vehicle.v", "front.w", "rear.w")):
        assert run[name] == pytest.approx(np.array(found)[:, row], rel=1e-4)
    assert run["front.slip"].max() > 0.2
    assert -0.3 < run["front.slip"].min() < -0.04


def test_books_are_balanced_while_wheels_spin_lock_and_stand():
    unit = load_unit("vehicle_tyres")
    run = simulate(unit.build(), unit.scenario[0])
    middle = 0.5 * (run["front.w"][1:] + run["front.w"][:-1])
    given = -float(run["front.load"][:-1] @ middle) * run.step
    lost = sum(run[name][-1] for name in ("tyres.Q", "brakes.Q", "rolling.Q"))
    lost += np.trapezoid(run["force.aero"] * run["vehicle.v"], run.time) + run["force.grade"][-1] * run["vehicle.s"][-1]
    assert run["front.slip"].max() > 0.9
    assert run["front.slip"].min() < -0.9
    assert abs(run["vehicle.v"][-1]) < 1e-9
    assert abs(given - lost - np.ptp(run["storage.E"][[0, -1]])) < 1e-6 * given


@pytest.mark.parametrize("slope", [0.12, 0.3, -0.3])
def test_a_car_stands_on_its_tyres(slope):
    """2.9 t on 12 %, and on 30 %: it moves by the deflection of its tyres, F/(K/sigma), and stops."""
    one = started(load_unit("vehicle_tyres").build(), vehicle__m=2900.0, road__slope=slope, brake__tau=6000.0)
    stepped(one, 4000)
    alpha = np.arctan(slope)
    slips = [one.get(f"{axle}.slip") for axle in ("front", "rear")]
    assert one.get("front.F") + one.get("rear.F") == pytest.approx(2900.0 * G * np.sin(alpha), rel=1e-9)
    assert abs(one.get("vehicle.v")) < 1e-9
    assert one.get("vehicle.s") == pytest.approx(-SIGMA * np.mean(slips), rel=0.05)  # the axles' springs are alike
    before = one.get("vehicle.s")
    stepped(one, 500)
    assert abs(one.get("vehicle.s") - before) < 1e-8


def test_brakes_at_the_front_alone_do_not_hold_on_ice():
    """The front tyres reach the peak of their force, and the car slides down with locked wheels."""
    one = started(load_unit("vehicle_tyres").build(), road__slope=0.2, brake__tau=6000.0, brake__b_f=1.0, road__mu=0.2)
    stepped(one, 1000)
    assert one.get("vehicle.v") < -0.5
    assert abs(one.get("front.w")) < 1e-3
    df = one.get("front.F_z") / 8000.0 - 1.0
    assert one.get("front.F") <= 0.2 * (D_1 + D_2 * df) * one.get("front.F_z") * (1.0 + 1e-12)


@pytest.mark.parametrize("driven", ["front", "rear", "all"])
def test_the_limit_of_acceleration(driven):
    """mu g l_r/(l + mu h), mu g l_f/(l - mu h) and mu g, with a coefficient mu that does not depend on the load."""
    one = started(
        load_unit("vehicle_tyres").build(), tyre__D_2=0.0, tyre__K_2=0.0, vehicle__rho_cw_A=0.0, tyre__f_R=0.0
    )
    length = L_F + L_R
    a = {"front": D_1 * G * L_R / (length + D_1 * H), "rear": D_1 * G * L_F / (length - D_1 * H), "all": D_1 * G}[
        driven
    ]
    kappa = np.linspace(0.0, 0.3, 20001)
    B = K_1 / (C * D_1)
    best = kappa[np.argmax(np.sin(C * np.arctan(B * kappa - E * (B * kappa - np.arctan(B * kappa)))))]
    names = [v.name for v in one.model.states]
    one.x[names.index("vehicle.v")] = 10.0
    one.x[names.index("vehicle.Z")] = H / length * M * a
    for axle in ("front", "rear"):
        one.x[names.index(f"{axle}.w")] = 10.0 / R
        one.x[names.index(f"{axle}.kappa")] = best if driven in (axle, "all") else 0.0
    assert one.outputs()[one.model.by_name["vehicle.a"].index] == pytest.approx(a, rel=1e-6)
    assert one.derivative()[names.index("vehicle.Z")] == pytest.approx(0.0, abs=1e-2)


@pytest.mark.slow
def test_the_greatest_slope_for_a_start_is_that_of_sliding_front_wheels():
    system = parse_unit_file(text_of("units/front_drive.toml"), "front_drive.toml")
    found = told(
        performance(load_unit(system), {"vehicle.road.mu": MU, "driver.driver.tau_drive": 1500.0}, lambda *_: None)
    )
    slopes = np.linspace(0.0, 0.4, 4001)
    alpha = np.arctan(slopes)
    left = np.empty_like(slopes)
    for k, angle in enumerate(alpha):
        F = 0.0
        for _ in range(50):  # axle loads with the force that they allow
            F = magic((M * G * L_R * np.cos(angle) - H * F) / (L_F + L_R), 1.0)[0]
        left[k] = (F - M * G * (np.sin(angle) + 0.01 * np.cos(angle) * 0.5)) / M
    most = slopes[np.nonzero(left > STARTED / START)[0][-1]]
    assert found["start_slope"] == pytest.approx(most, abs=2.0 * FINEST)


# --- limited slip -----------------------------------------------------------------------------------------------------


@cases
def test_a_differential_with_limited_slip_shares_torque_as_in_closed_form(C_0, k, ratio, difference):
    """The slow axle gets T/2 + C, the fast one T/2 - C; at an open one the rear wheels spin up."""
    with interpreted():
        given = {"ramp.C_0": C_0, "ramp.k_drive": k, "vehicle.road.mu": 0.1, "vehicle.road.slope": 0.05}
        one = started(load_unit("all_wheel_drive").build(), given)
    for i in range(900):
        one.set("centre.pinion.tau", min(125.0, 0.25 * i))
        assert one.step(1e-3) != FAILED
    front, rear = (-one.get(f"{axle}.axle.tau") for axle in ("front", "rear"))
    assert one.get("lock.clutch.w_slip") < 0.0
    if ratio is not None:
        assert front / rear == pytest.approx(ratio, rel=0.04 if k == 0.0 else 3e-3)
    if difference:
        assert front - rear == pytest.approx(difference, rel=0.02)
    assert (one.get("rear.shaft.w") > 5.0 * one.get("front.shaft.w")) == (C_0 == k == 0.0)
