"""The electric drive: where each joule goes, its limits, its battery in closed form, its Jacobian."""

import re
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from instances import started
from scipy.integrate import solve_ivp

from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_unit_file

UNIT = load_unit("electric_drive")


@pytest.fixture(scope="module")
def model():
    return UNIT.build()


def at(model, w, tau_wheels=0.0, **parameters):
    demand = {"machine.tau_drive": max(tau_wheels, 0.0), "machine.tau_brake": max(-tau_wheels, 0.0)}
    return started(model, demand, machine__w_start=w, **parameters)


def test_torque_keeps_its_limits(model):
    knee = 120e3 / 250.0
    for w, most in ((0.5 * knee, 250.0), (2.0 * knee, 125.0), (14000 * np.pi / 30, 0.0)):
        one = at(model, w, 1e5)
        assert one.get("machine.tau") == pytest.approx(most, abs=1e-9)
        assert at(model, w, -1e5).get("machine.tau") == pytest.approx(-most, abs=1e-9)
    braked = at(model, 0.5 * 300 * np.pi / 30, -4000.0)
    assert braked.get("machine.tau") == pytest.approx(-125.0)
    assert braked.get("brake.tau") == pytest.approx(4000.0 - 1250.0)
    assert at(model, 100.0, -500.0, battery__s_start=1.0).get("brake.tau") == 500.0
    assert at(model, 100.0, 500.0, battery__s_start=0.0).get("machine.tau") == 0.0


def test_battery_is_a_voltage_behind_a_resistance(model):
    one = at(model, 300.0, 1000.0)
    I, voltage = one.get("battery.I"), one.get("battery.U")  # noqa: E741
    assert voltage == pytest.approx(320.0 + 0.8 * 80.0 - 0.08 * I, rel=1e-12)
    assert voltage * I == pytest.approx(300.0 * 100.0 + one.get("loss.machine") + 300.0, rel=1e-12)
    assert one.get("loss.machine") == pytest.approx(0.08 * 100.0**2 + 0.8 * 300.0 + 5e-7 * 300.0**3 + 100.0, rel=5e-3)
    assert one.get("battery.E") == pytest.approx(140 * 3600 * (320.0 * 0.8 + 80.0 * 0.32), rel=1e-12)


# --- battery with a table and a voltage that lags ---------------------------------------------------------------------


def test_a_battery_of_cells_is_that_of_scipy_and_books_every_joule():
    """Torque for 10 s, then none, over a point of the table: voltages, charge and heat."""
    unit = load_unit("hybrid_drive")
    pull = {"time": [10, 10.001], "value": [80.0, 0.0]}
    parameters = {"machine.J": 5.0, "battery.s_start": 0.51}
    inputs = {"machine.tau_drive": pull, "shaft.tau": -0.5}
    run = simulate(unit.build(), Scenario(name="pull", duration=15.0, inputs=inputs, parameters=parameters))
    rows = files("rtcvt").joinpath("engine/hybrid_cells.csv").read_text(encoding="utf-8").splitlines()
    s, volts, ohms = np.array([row.split(",") for row in rows if row[0].isdigit()], float).T * [[1.0], [1.0], [1e-3]]
    power = run["battery.P"]

    def rates(t, x):
        U, R = np.interp(x[0], s, volts) - 0.03 * x[1], np.interp(x[0], s, ohms)
        current = 2.0 * np.interp(t, run.time, power) / (U + np.sqrt(U * U - 4.0 * R * np.interp(t, run.time, power)))
        return -current / (6.5 * 3600.0), (current - x[1]) / 10.0, R * current**2 + 0.03 * x[1] ** 2

    at = slice(None, None, 100)
    exact = solve_ivp(rates, (0.0, 15.0), [0.51, 0.0, 0.0], t_eval=run.time[at], rtol=1e-7, atol=1e-9, max_step=0.1).y
    assert run["battery.s"][at] == pytest.approx(exact[0], abs=1e-7)
    assert run["battery.s"][-1] < 0.499
    voltage = np.interp(exact[0], s, volts) - 0.03 * exact[1] - np.interp(exact[0], s, ohms) * run["battery.I"][at]
    assert run["battery.U"][at] == pytest.approx(voltage, rel=1e-5)
    assert np.trapezoid(run["loss.battery"], run.time) == pytest.approx(exact[2, -1], rel=1e-4)
    lost = sum(np.trapezoid(run[f"loss.{k}"], run.time) for k in ("machine", "battery", "auxiliaries"))
    stored = sum(run[name][-1] - run[name][0] for name in ("battery.E", "storage.E"))
    into = -0.5 * np.trapezoid(run["shaft.w"], run.time)
    assert abs(into - lost - stored) < 1e-6 * np.trapezoid(power, run.time)


def test_a_table_of_constants_is_the_battery_without_one(model):
    """Linear from U_e to U_f, one resistance, no pair."""
    cells = "s [1],U_0 [V],R [ohm]\n0,320,0.08\n1,400,0.08\n"
    with TemporaryDirectory() as folder:
        (Path(folder) / "cells.csv").write_text(cells, encoding="utf-8")
        text = UNIT.text.replace("loss =", 'battery = "cells.csv"\nloss =')
        for key in ("U_e", "U_f", "R "):
            text = re.sub(rf"(?m)^{key} *=.*$", "", text)
        same = load_unit(parse_unit_file(text, "cells.toml", Path(folder))).build()
    runs = [simulate(of, UNIT.scenario[0]) for of in (same, model)]
    for name in ("battery.U", "battery.E", "shaft.w", "loss.battery"):
        assert runs[0][name] == pytest.approx(runs[1][name], rel=1e-9, abs=1e-9)
