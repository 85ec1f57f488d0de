"""Parts of a vehicle: their equations, their energy, and the driving cycles."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from differences import jacobian_by_differences
from held_inputs import simulate_held
from instances import started, stepped
from refusals import refused
from rows import DATA, cases, tables
from scipy.integrate import solve_ivp

from rtcvt.files.cycle import load_cycle
from rtcvt.kernel import FAILED, OK
from rtcvt.kind import load_unit
from rtcvt.network.held import parts_of
from rtcvt.scenario import Scenario, load_scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import shipped_units
from rtcvt.vehicle.parts import build_part

KMH = 1.0 / 3.6


def instance(name, step=1e-3, **parameters):
    part = load_unit(name)
    part = part.model_copy(update={"solver": part.solver.model_copy(update={"step": step})})
    return started(build_part(part), **parameters)


def run(name, inputs, duration, step=1e-3, parameters=None):
    scenario = Scenario(name="test", duration=duration, inputs=inputs, parameters=parameters or {})
    return simulate(build_part(load_unit(name)), scenario, step)


# --- road load --------------------------------------------------------------------------------------------------------


def test_a_road_load_as_it_is_certified():
    """F0, F1 and F2 in N and km/h; coasting to a stop as scipy integrates the same load."""
    part = load_unit("vehicle")
    given = {k: v for k, v in part.parameters.items() if k not in ("f_R", "rho_cw_A")}
    load = {"F0": "135 N", "F1": "-0.4 N/(km/h)", "F2": "0.0325 N/(km/h)2"}
    built = build_part(part.model_copy(update={"parameters": given | load}))
    coasting = Scenario(name="coast", duration=60.0, parameters={"vehicle.v_start": "120 km/h"})
    run = simulate(built, coasting)
    mass = 1400.0 + 4.0 / 0.3**2
    exact = solve_ivp(
        lambda t, v: -(135.0 - 0.4 * (3.6 * v) + 0.0325 * (3.6 * v) ** 2) / mass, (0.0, 60.0), [120.0 * KMH], rtol=1e-9
    )
    assert run["vehicle.v"][-1] == pytest.approx(exact.y[0, -1], rel=1e-6)
    assert run["force.aero"][0] + run["force.roll"][0] == pytest.approx(135.0 - 48.0 + 468.0, rel=1e-12)


# --- dual-mass flywheel -----------------------------------------------------------------------------------------------


def test_a_dual_mass_flywheel_loses_the_area_of_its_loop():
    """Twisted by +-30 N.m, friction slides over the twist less its elastic part: 4 C (phi - C/K_r) in a cycle."""
    one = instance("dual_mass_flywheel", flywheel__w_start=0.0, flywheel__c=0.0, flywheel__d=0.0)
    phi, lost = [], []
    for k in range(8000):
        torque = 30.0 * np.sin(0.5 * np.pi * (k + 0.5) * 1e-3)  # 4 s
        one.set("primary.tau", torque)
        one.set("secondary.tau", -torque)
        assert one.step(1e-3) == OK
        phi.append(one.get("flywheel.phi"))
        lost.append(one.get("loss.flywheel"))
    C, K_r, K_1 = 5.0, 30.0 * 180.0 / np.pi, 4.0 * 180.0 / np.pi
    most = max(phi[4000:])
    assert most == pytest.approx((30.0 - C) / K_1, rel=0.01)
    assert np.sum(lost[4000:]) * 1e-3 == pytest.approx(4.0 * C * (most - C / K_r), rel=0.01)


def test_a_dual_mass_flywheel_swings_as_another_integrator_says():
    """Both stages, friction that grows with speed and reverses many times."""
    one = instance("dual_mass_flywheel", 1e-4)
    J_1, J_2, end = 0.06, 0.08, np.deg2rad(25.0)
    K_1, K_2, K_r = np.array([4.0, 12.0, 30.0]) * 180.0 / np.pi

    def rates(t, x):
        w_1, w_2, phi, f = x
        C = 5.0 + 8e-5 * w_1**2
        v = w_1 - w_2
        e = f + K_r * 1e-3 * v
        F = max(-C, min(C, e))
        springs = K_1 * phi if abs(phi) < end else np.sign(phi) * (K_1 * end + K_2 * (abs(phi) - end))
        T = springs + 0.2 * v + F
        return [(150.0 - T) / J_1, (T - 20.0) / J_2, v, K_r * v if abs(e) < C else (F - f) / 1e-3]

    t = np.arange(1, 2001) * 1e-4
    w = 800.0 * np.pi / 30.0
    exact = solve_ivp(rates, (0.0, 0.2), [w, w, 0.0, 0.0], t_eval=t, rtol=1e-9, atol=1e-9, max_step=1e-4)
    one.set("primary.tau", 150.0)
    one.set("secondary.tau", -20.0)
    phi = [(one.step(1e-4), one.get("flywheel.phi"))[1] for _ in t]
    assert exact.y[2].max() > 1.2 * end
    assert np.abs(phi - exact.y[2]).max() < 1e-4 * end


# --- driving cycles ---------------------------------------------------------------------------------------------------


def test_wltc_is_that_of_the_regulation():
    """Sums of the speeds, duration, distance and top speed of each phase as UN GTR No. 15 gives them."""
    cycle = load_cycle("wltc_class_3b")
    kmh = cycle.v * 3.6
    assert len(cycle.v) == 1801
    assert np.array_equal(cycle.time, np.arange(1801.0))
    phases = [(0, 589, 11140.3, 3095, 56.5), (589, 1022, 17121.2, 4756, 76.6)]
    phases += [(1022, 1477, 25782.2, 7162, 97.4), (1477, 1800, 29714.9, 8254, 131.3)]
    for first, last, total, distance, top in phases:
        phase = kmh[first : last + 1]
        assert phase.sum() == pytest.approx(total, abs=1e-6)
        assert round(np.trapezoid(phase) / 3.6) == distance
        assert phase.max() == pytest.approx(top)
        assert phase[0] == phase[-1] == 0.0
    assert cycle.way[-1] == pytest.approx(23266, abs=1.0)


def test_nedc_is_that_of_the_regulation():
    """Times by kinds of operation of an urban cycle, top speeds and, as far as rounded speeds allow, distances."""
    cycle = load_cycle("nedc")
    t = np.arange(1181.0)
    kmh = np.round(3.6 * np.interp(t, cycle.time, cycle.v), 6)
    urban, slope = kmh[:196], np.diff(kmh[:196])
    assert np.sum((slope == 0.0) & (urban[1:] == 0.0)) == 60  # idling
    assert (np.sum(slope > 0.0), np.sum(slope < 0.0)) == (36, 25 + 9 + 2)  # 2 of the 8 in which the gear changes
    assert all(np.array_equal(kmh[195 * k : 195 * k + 196], urban) for k in range(4))
    assert (urban.max(), kmh.max(), cycle.time[-1]) == (50.0, 120.0, 1180.0)
    assert np.trapezoid(urban) / 3.6 == pytest.approx(1013, rel=2e-3)
    assert np.trapezoid(kmh[780:]) / 3.6 == pytest.approx(6955, abs=1.0)


def test_lap_keeps_the_limits_that_its_file_states():
    cycle = load_cycle("kers_lap")
    assert cycle.v[0] == cycle.v[-1] == 0.0
    assert np.abs(np.diff(cycle.v) / np.diff(cycle.time)).max() < 3.6
    assert cycle.way[-1] == pytest.approx(2 * 1750 + 250, abs=5.0)


@pytest.mark.parametrize("step", [1e-3, 0.37, 2.5])
def test_cycle_is_linear_between_its_points_and_its_distance_is_exact(step):
    cycle = load_cycle("wltc_class_3b")
    one = instance("wltc")
    n = math.ceil(40.0 / step)
    stepped(one, n, step, OK)
    fine = np.union1d(np.linspace(0.0, n * step, 100001), cycle.time[cycle.time < n * step])
    assert one.get("cycle.v") == pytest.approx(np.interp(n * step, cycle.time, cycle.v), rel=1e-9)
    assert one.get("cycle.s") == pytest.approx(np.trapezoid(np.interp(fine, cycle.time, cycle.v), fine), rel=1e-7)


def test_cycle_keeps_the_speeds_of_its_ends(tmp_path):
    (tmp_path / "ramp.csv").write_text("# ours\nt [min],v [m/s]\n0,2\n0.75,5\n1,6\n")
    (tmp_path / "ramp.toml").write_text('name = "ramp"\nkind = "cycle"\ncycle = "ramp.csv"\n')
    one = build_part(load_unit(tmp_path / "ramp.toml")).instantiate()
    one.initialise(-100.0)
    assert one.get("cycle.v") == 2.0
    for h, distance in ((50.0, 100.0), (65.0, 200.0 + 15.0 * 2.5), (85.0, 200.0 + 240.0 + 40.0 * 6.0), (9.0, 734.0)):
        assert one.step(h) == OK
        assert one.get("cycle.s") == pytest.approx(distance)
    assert one.get("cycle.v") == 6.0


def test_speeds_of_a_cycle_jump_where_two_points_have_one_time(tmp_path):
    (tmp_path / "jump.csv").write_text("t [s],v [m/s]\n0,2\n10,4\n10,6\n20,6\n20,1\n")
    (tmp_path / "jump.toml").write_text('name = "jump"\nkind = "cycle"\ncycle = "jump.csv"\n')
    one = started(build_part(load_unit(tmp_path / "jump.toml")))
    for h, speed, distance in tables("cases/vehicle.toml")["jump"]:
        assert one.step(h) == OK
        assert one.get("cycle.v") == speed
        assert one.get("cycle.s") == pytest.approx(distance)


def test_cycle_as_a_signal_of_a_scenario(tmp_path):
    file = tmp_path / "drive.toml"
    file.write_text('duration = "30 s"\n[inputs]\n"driver.v_des" = { cycle = "wltc_class_3b" }\n')
    result = simulate(build_part(load_unit("driver")), load_scenario(file), 0.5)
    cycle = load_cycle("wltc_class_3b")
    assert result["driver.v_des"] == pytest.approx(np.interp(result.time, cycle.time, cycle.v))
    file.write_text('duration = "30 s"\n[inputs]\n"driver.v_des" = { cycle = "ftp" }\n')
    refused(r"inputs\.driver\.v_des: cycle = 'ftp': .*kers_lap, nedc, wltc_class_3b", load_scenario, file)
    file.write_text('duration = "30 s"\n[inputs]\n"driver.v_des" = { cycle = "kers_lap", time = [0], value = [0] }\n')
    refused("either 'cycle' or 'time' and 'value'", load_scenario, file)


def test_a_cycle_of_a_scenario_is_a_file_in_its_folder(tmp_path, monkeypatch):
    """Of a scenario file and of a unit file; one in the working folder is not found, one outside is refused."""
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)
    file, unit = tmp_path / "own" / "drive.toml", tmp_path / "own" / "driver.toml"
    for folder, speed in (("own", 2.0), (".", 3.0)):
        Path(folder, "mine.csv").write_text(f"t [s],v [m/s]\n0,{speed}\n1,{speed}\n")
    shipped = shipped_units()["driver"].read_text() + '[[scenario]]\nname = "own"\n'
    text = 'duration = "1 s"\n[%sinputs]\n"driver.v_des" = { cycle = "%s" }\n'
    file.write_text(text % ("", "mine.csv"))
    unit.write_text(shipped + text % ("scenario.", "mine.csv"))
    for scenario in (load_scenario(file), load_unit(unit).scenario[-1]):
        assert scenario.inputs["driver.v_des"].value == ("2.0 m/s", "2.0 m/s")
    assert load_unit(unit).files_beside == [tmp_path / "own" / "mine.csv"]
    file.write_text(text % ("", "../mine.csv"))
    refused(r"v_des: cycle = '\.\./mine\.csv': a file in the folder of this one", load_scenario, file)


# --- any part ---------------------------------------------------------------------------------------------------------


# --- longitudinal vehicle ---------------------------------------------------------------------------------------------


def coasting(t, v_start, one):
    """Speed of a vehicle that rolls on, from ``m* v' = -(A + C v^2)`` [m/s]."""
    m, J_w, r_w, rho_cw_A, f_R, g = (one.get(f"vehicle.{k}") for k in ("m", "J_w", "r_w", "rho_cw_A", "f_R", "g"))
    A, C, total = f_R * m * g, 0.5 * rho_cw_A, m + J_w / r_w**2
    return math.sqrt(A / C) * math.tan(math.atan(v_start * math.sqrt(C / A)) - t * math.sqrt(A * C) / total)


def test_coast_down_follows_the_analytic_solution():
    one = instance("vehicle", vehicle__v_start=120 * KMH, vehicle__v_0=1e-4)
    for k in range(1, 61):
        assert one.step(1.0) == OK
        assert one.get("vehicle.v") == pytest.approx(coasting(k, 120 * KMH, one), rel=1e-10)


def test_step_converges_with_order_three():
    errors = []
    for h in (20.0, 10.0, 5.0):
        one = instance("vehicle", step=h, vehicle__v_start=200 * KMH, vehicle__v_0=1e-4)
        stepped(one, round(60.0 / h), h)
        errors.append(abs(one.get("vehicle.v") - coasting(60.0, 200 * KMH, one)))
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 2.7)


def test_work_against_the_grade_lifts_the_car():
    part = load_unit("vehicle")
    r = simulate(build_part(part), part.scenario[1])
    v = r["vehicle.v"]
    climbed = np.trapezoid(v * np.sin(np.arctan(r["road.slope"])), dx=r.step)
    lifted = r.step * np.sum(r["force.grade"][1:] * 0.5 * (v[:-1] + v[1:]))  # held with its input
    assert lifted == pytest.approx(1400 * 9.81 * climbed, rel=1e-4)


def weight_along(slope, m):
    """Force of the weight along the road, and the resistance of the tyres [N]."""
    return 9.81 * m * slope / math.hypot(1.0, slope), 0.01 * 9.81 * m / math.hypot(1.0, slope)


@cases
def test_brakes_and_tyres_hold_on_a_slope(m, slope, tau):
    """It comes under the vehicle at once; the brakes and tyres yield by less than a micrometre, and it rests."""
    one = instance("vehicle", step=1e-2, vehicle__m=m)
    one.set("road.slope", slope)
    one.set("brake.tau", tau)
    for _ in range(6000):
        assert one.step(1e-2) == OK
        assert abs(one.get("vehicle.s")) < 1e-6
    assert abs(one.get("vehicle.v")) < 1e-15
    assert one.get("force.brake") + one.get("force.roll") == pytest.approx(-weight_along(slope, m)[0], rel=1e-12)
    assert one.get("heat.brake") < 1e-12


@pytest.mark.parametrize("sign", [1, -1])
def test_brakes_that_do_not_hold_slide_with_all_that_they_carry(sign):
    one = instance("vehicle", road__slope=0.3 * sign, brake__tau=1000.0)
    stepped(one, 1000)
    grade, roll = weight_along(0.3, 1400.0)
    a = (grade - 1000.0 / 0.3 - roll) / (1400.0 + 4.0 / 0.09)
    assert one.get("vehicle.v") == pytest.approx(-sign * a, rel=2e-3)  # of drag and the start of sliding
    assert one.get("heat.brake") == pytest.approx(abs(one.get("vehicle.v")) * 1000.0 / 0.3, rel=1e-9)


@pytest.mark.parametrize("slope", [0.0, 0.12, -0.12])
def test_a_stop_is_one_stop_and_every_joule_of_it_is_accounted_for(slope):
    """The speed falls to zero, springs back for a moment by less than v_0 as the load moves over, and stays."""
    inputs = {"road.slope": slope, "brake.tau": 2000.0}
    r = run("vehicle", inputs, 10.0, parameters={"vehicle.v_start": 10.0})
    v, s = r["vehicle.v"], r["vehicle.s"]
    stop = int(np.argmax(v <= 2.5e-3))
    assert np.all(np.diff(v[:stop]) < 0.0)
    assert np.abs(v[stop:]).max() <= 2.5e-3
    assert np.all(np.diff(np.sign(np.diff(v[stop + 2 : stop + 20]))) <= 0)  # back once
    assert abs(s[-1] - s[stop]) < 5e-6
    assert np.all(s[stop + 100 :] == s[-1])
    way = np.diff(s)
    lost = np.sum((r["force.brake"] + r["force.roll"] + r["force.grade"])[:-1] * way)
    lost += np.trapezoid(r["force.aero"] * v, r.time)
    assert r["storage.E"][-1] + lost == pytest.approx(r["storage.E"][0], rel=1e-6)
    assert min(r[name].min() for name in ("heat.brake", "heat.roll", "storage.E")) >= 0.0


@pytest.mark.parametrize("v", [0.05, -0.05])
def test_a_brake_beyond_all_brakes_does_not_throw_the_vehicle_back(v):
    """It went from -0.05 to 0.12 m/s with 90 kN.m, as if friction were as steep beyond standstill as before."""
    one = instance("vehicle", brake__tau=9e4)
    one.x[0] = v
    assert one.step(1e-3) != FAILED
    assert abs(one.get("vehicle.v") / v) < 0.25  # it springs back, as brakes that stick do
    assert one.get("storage.E") < 0.5 * (1400.0 + 4.0 / 0.09) * v * v


def test_jacobian_is_exact_where_the_brakes_stick():
    one = instance("vehicle", brake__tau=4000.0)
    one.x[:] = 1e-4, 0.0, 3e3
    slopes = jacobian_by_differences(one, (1e-5, 1.0, 1.0))
    assert np.abs(np.linalg.eigvals(one.jacobian()) + 9.80665 / 5e-3).min() < 1e-3 * 9.80665 / 5e-3  # critically damped
    assert one.jacobian() == pytest.approx(slopes, rel=1e-6)


def test_backwards_is_the_mirror_of_forwards():
    r = {sign: run("vehicle", {"drive.tau": sign * 500.0, "axle.load": sign * -50.0}, 20.0) for sign in (1.0, -1.0)}
    for name in ("vehicle.v", "vehicle.s", "force.aero", "force.roll"):
        assert np.array_equal(r[1.0][name], -r[-1.0][name])


# --- driveline --------------------------------------------------------------------------------------------------------


def test_driveline_oscillates_as_its_spring_and_inertia_say():
    one = instance("driveline", driveline__mu=0.0, driveline__b=0.0)
    i, K, d, J = (one.get(f"driveline.{k}") for k in ("i", "K", "d", "J"))
    expected = np.roots([1.0, d / (i * i * J), K / (i * i * J)])
    assert np.sort_complex(np.linalg.eigvals(one.jacobian())) == pytest.approx(np.sort_complex(expected))


@pytest.mark.parametrize("load", [50.0, -50.0])
def test_driveline_in_steady_state_loses_what_its_losses_say(load):
    r = run("driveline", {"axle.w": 30.0, "shaft.load": load}, 5.0, parameters={"driveline.w_start": 150.0})
    i, mu, b = 5.0, 0.02, 1e-3
    w, tau = r["shaft.w"][-1], r["axle.tau"][-1]
    assert w == pytest.approx(30.0 * i, rel=1e-9)
    sigma = w / math.hypot(w, 1.0)
    assert tau * (1.0 - mu * math.copysign(sigma, tau)) / i == pytest.approx(load + b * w, rel=1e-8)
    assert r["driveline.P_loss"][-1] == pytest.approx(tau * 30.0 - load * w, rel=1e-8)
    assert r["driveline.P_loss"][-1] > 0.0


def test_what_its_losses_can_represent():
    """Efficiencies of a transaxle with its final drive, of a fit to measurements, from 1000 to 5000 rpm."""
    file = DATA / "vw_manual_transaxle_loss_fit.csv"
    a_in, a_out, b_in, b_out, c, d = np.genfromtxt(file, delimiter=",", skip_header=3, usecols=1)
    i, T, w = 3.77, np.array([20.0, 40.0, 60.0, 87.5]), np.pi / 30.0 * np.arange(1e3, 6e3, 1e3)[:, None]
    share = (b_in / i + b_out) / (w / i) + c
    tau = ((a_in * i + a_out) / i + d / w + share * T) / (1.0 + share)  # lost torque at the input
    assert 1.0 - tau[2] / T == pytest.approx([0.889, 0.933, 0.948, 0.957], abs=1e-3)
    keys = np.stack([1.0 - tau / T, 1.0 / np.broadcast_to(T, tau.shape), w / T], axis=-1)  # mu, tau_0, b

    def fitted(keys, chosen):
        found = np.linalg.lstsq(keys[..., chosen].reshape(-1, len(chosen)), (tau / T)[: len(keys)].ravel())[0]
        return found, np.abs(keys[..., chosen] @ found - (tau / T)[: len(keys)]).max()

    assert fitted(keys, [0, 2])[1] > 0.03  # of the efficiency, without a drag that does not depend on speed
    assert fitted(keys, [0, 1, 2])[1] < 0.008
    tau, keys = tau[2:], keys[2:3]  # at 3000 rpm
    (mu, tau_0), off = fitted(keys, [0, 1])
    assert off < 1e-12
    given = {"i": i, "mu": mu, "tau_0": tau_0, "b": 0.0, "w_start": w[2, 0]}
    for torque, eta in zip(T, (0.889, 0.933, 0.948, 0.957), strict=True):
        inputs = {"axle.w": w[2, 0] / i, "shaft.load": -torque}
        r = run("driveline", inputs, 2.0, parameters={f"driveline.{k}": float(v) for k, v in given.items()})
        assert -r["axle.tau"][-1] / (i * torque) == pytest.approx(eta, abs=1e-3)


# --- driver -----------------------------------------------------------------------------------------------------------


def test_driver_shares_its_demand_among_kers_drive_and_brake():
    one = instance("driver")
    random = np.random.default_rng(5)
    for _ in range(200):
        one.x[:] = random.uniform(-3000.0, 3000.0), random.uniform(-500.0, 500.0)
        for name, low, high in (("v_des", 5.0, 40.0), ("v", 5.0, 40.0), ("theta", -0.9, 0.9), ("E", 0.0, 35e3)):
            one.set(f"driver.{name}", random.uniform(low, high))
        one.outputs()
        demand = one.get("driver.K_p") * (one.get("driver.v_des") - one.get("driver.v")) + one.x[0]
        demand = min(max(demand, -4000.0), 2000.0)
        drive, brake, kers = (one.get(k) for k in ("drive.tau", "brake.tau", "kers.tau_des"))
        wanted = min(max(demand + one.x[1], -4000.0), 2000.0)
        assert drive - brake == pytest.approx(wanted, abs=1.1)  # standstill's share of the brake
        assert min(drive, brake) == 0.0
        assert abs(kers) <= 40.0
        theta, full = one.get("driver.theta"), one.get("driver.E") > 34e3
        if demand > 0.0:  # discharges unless empty
            assert kers <= 0.0
            assert kers == 0.0 or theta > -0.7
        elif theta > 0.75:  # gives back what the vehicle is getting too slow for
            assert kers < 0.0
        else:
            assert kers >= 0.0
            assert kers == 0.0 or not full


def test_driver_does_not_wind_up():
    r = run("driver", {"driver.v_des": 30.0, "driver.v": 10.0}, 100.0)
    assert np.all(r["drive.tau"][1000:] == 2000.0)
    after = run("driver", {"driver.v_des": 30.0, "driver.v": {"time": [0, 60, 60.01], "value": [10, 10, 30.5]}}, 61.0)
    assert after["drive.tau"][-1] == 0.0


@cases
def test_driver_brakes_for_a_standstill_and_against_rolling_back(v_des, v, brake):
    one = instance("driver")
    one.set("driver.v_des", v_des)
    one.set("driver.v", v)
    one.outputs()
    assert one.get("brake.tau") == pytest.approx(brake, abs=1.1)
    assert (one.get("drive.tau") > 0.0) == (v_des > 0.0)


@pytest.mark.parametrize(("slope", "back"), [(0.0, 0.0), (0.1, 1e-5), (0.3, 0.02), (-0.3, 0.0)])
def test_start_on_a_hill(slope, back):
    """The car stands, pulls away and rolls back by no more than this [m] before its drive takes over."""
    parts = parts_of(load_unit("vehicle_wltc"))
    vehicle = parts.models["vehicle"]
    variables = tuple(replace(v, start=slope) if v.name == "road.slope" else v for v in vehicle.variables)
    parts.models["vehicle"] = replace(vehicle, variables=variables)
    r = simulate_held(parts, 20.0)
    waits = r["cycle.cycle.v"] == 0.0
    assert np.all(np.abs(r["vehicle.vehicle.s"][waits]) < 1e-9)
    assert r["vehicle.vehicle.s"].min() >= -back
    assert np.abs(r["vehicle.vehicle.v"] - r["cycle.cycle.v"])[-1] < 0.1


def test_driver_keeps_the_wltc_within_the_tolerance_of_the_regulation():
    """UN GTR No. 15 allows 2 km/h; the energy at the wheels is that of the road load along the cycle."""
    r = simulate_held(parts_of(load_unit("vehicle_wltc")), step=1e-2)
    cycle, t, v = load_cycle("wltc_class_3b"), r.time, r["vehicle.vehicle.v"]
    assert np.abs(v - r["cycle.cycle.v"]).max() < 0.5 * KMH
    assert r["vehicle.vehicle.s"][-1] == pytest.approx(cycle.way[-1], rel=1e-3)
    a, b = cycle.v[:-1], cycle.v[1:]
    aero = 0.5 * 0.78 * np.sum((a**3 + a * a * b + a * b * b + b**3) / 4)  # of v^3, linear in between, 1 s each
    road_load = aero + 0.01 * 1400 * 9.81 * cycle.way[-1]
    w = r["vehicle.axle.w"]
    drive = np.sum(np.diff(t) * r["driver.drive.tau"][:-1] * 0.5 * (w[:-1] + w[1:]))
    brake = np.trapezoid(r["vehicle.force.brake"] * v, t)
    assert drive - brake == pytest.approx(road_load, rel=1e-3)
    fine = np.linspace(0.0, 1800.0, 180001)
    speed = np.interp(fine, cycle.time, cycle.v)
    force = (1400 + 4 / 0.3**2) * np.repeat(b - a, 100) + 0.5 * 0.78 * speed[1:] ** 2 + 0.01 * 1400 * 9.81
    wanted = np.sum(np.maximum(force, 0.0) * speed[1:]) * 0.01
    assert drive == pytest.approx(wanted, rel=0.01)
