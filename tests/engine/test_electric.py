"""The electric drive: where each joule goes, its limits, its battery in closed form, its Jacobian."""

import numpy as np
import pytest

from rtcvt.kind import load_unit
from rtcvt.simulate import simulate

UNIT = load_unit("electric_drive")


@pytest.fixture(scope="module")
def model():
    return UNIT.build()


def at(model, w, tau_wheels=0.0, **parameters):
    instance = model.instantiate()
    instance.set("machine.w_start", w)
    for name, value in parameters.items():
        instance.set(name.replace("__", "."), value)
    instance.set("machine.tau_drive", max(tau_wheels, 0.0))
    instance.set("machine.tau_brake", max(-tau_wheels, 0.0))
    instance.initialise()
    return instance


def test_every_joule_is_accounted_for(model):
    run = simulate(model, UNIT.scenario[0])
    w = run["shaft.w"]
    into = 0.5e-3 * np.sum(run["shaft.tau"][:-1] * (w[1:] + w[:-1]))  # held over a step
    lost = sum(np.trapezoid(run[f"loss.{k}"], run.time) for k in ("machine", "battery", "auxiliaries"))
    stored = sum(run[name][-1] - run[name][0] for name in ("battery.E", "storage.E"))
    through = np.trapezoid(np.abs(run["battery.P"]), run.time)
    assert abs(into - lost - stored) < 1e-6 * through
    assert run["machine.tau"].min() == pytest.approx(-60.0, rel=1e-3)  # it brakes alone
    assert run["brake.tau"][-1] < 1.0


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
