"""Cars: where each joule goes, and the page that draws it.

Compiling the step of the system takes a minute.
"""

from dataclasses import replace

import numpy as np
import pytest
from lxml import etree

from rtcvt.balance import balance
from rtcvt.errors import InputError
from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.offline.cars import drive_of, page
from rtcvt.simulate import simulate

KMH = 1.0 / 3.6


@pytest.fixture(scope="module")
def run():
    unit = load_unit("car_cvt")
    return simulate(unit.build(), unit.scenario[0])


@pytest.mark.slow
def test_the_car_follows_the_first_hill_and_its_belt_does_not_slide_as_a_whole(run):
    assert (run.status != FAILED).all()
    assert np.abs(run["cycle.cycle.v"] - run["vehicle.vehicle.v"]).max() < 2.0 * KMH
    assert run["cvt.status.macro_slip"].max() == 0.0
    assert run["engine.crank.w"].min() > 800.0 * np.pi / 30.0 * 0.99
    closed = run["clutch.clutch.stuck"] == 1.0
    assert np.abs(run["engine.crank.w"] - run["cvt.primary.w"])[closed].max() < 1.0
    assert run["clutch.clutch.stuck"][-1] == 1.0


@pytest.mark.slow
def test_every_joule_is_accounted_for(run):
    found = balance(run)
    assert abs(found.residual) < 2e-6
    assert found.sources["engine.fuel"] == pytest.approx(run["engine.fuel.m"][-1] * 42.5e6)
    assert min(found.losses.values()) >= 0.0
    litres, km = run["engine.fuel.V"][-1] * 1e3, run["vehicle.vehicle.s"][-1] * 1e-3
    assert found.litres == pytest.approx(100.0 * litres / km, rel=1e-12)


@pytest.mark.slow
def test_the_page_has_the_balance_and_an_ideal_variator_burns_less(run):
    unit = load_unit("car_cvt")
    drive = drive_of("economy", run, unit)
    assert 0.5 * drive.balance.litres < drive.ideal < drive.balance.litres
    shown = page([drive, replace(drive, label="again")], unit, "first hill")
    etree.fromstring(shown.encode())
    assert f"{drive.balance.sources['engine.fuel'] * 1e-3:.4g}" in shown
    assert shown.count("<svg") == 4  # energies, two maps, curves
    with pytest.raises(InputError, match="a system with a car and its engine"):
        drive_of("", run, load_unit("vehicle"))


@pytest.mark.slow
def test_an_automatic_car_shifts_and_accounts_for_every_joule():
    unit = load_unit("car_automatic")
    run = simulate(unit.build(), unit.scenario[1].model_copy(update={"duration": 60.0}))
    assert (run.status != FAILED).all()
    assert np.abs(run["cycle.cycle.v"] - run["vehicle.vehicle.v"]).max() < 3.0 * KMH
    assert run["control.control.gear"].max() == 4.0
    assert run["control.control.gear"][-1] == 1.0
    assert run["engine.crank.w"].max() < 3500.0 * np.pi / 30.0
    found = balance(run)
    assert abs(found.residual) < 1e-5
    assert min(found.losses.values()) > -1e-3


@pytest.mark.slow
def test_an_electric_car_gives_back_what_it_brakes():
    unit = load_unit("car_electric")
    run = simulate(unit.build(), unit.scenario[1].model_copy(update={"duration": 140.0}))
    found = balance(run)
    assert abs(found.residual) < 1e-5
    assert found.litres is None
    assert 5.0 < found.kwh < 40.0
    assert np.abs(run["cycle.cycle.v"] - run["vehicle.vehicle.v"]).max() < 2.0 * KMH
    assert run["drive.battery.P"].min() < -3e3


def test_a_car_without_fuel_has_no_balance():
    unit = load_unit("differential")
    assert balance(simulate(unit.build(), unit.scenario[0].model_copy(update={"duration": 0.1}))) is None
