"""Torque converter and control of an automatic box: characteristic, balance, shift table, overlap."""

from importlib import resources

import numpy as np
import pytest
from instances import started

from rtcvt.engine.shifting import wanted_gear
from rtcvt.kind import load_unit
from rtcvt.pog.radii import radii_at
from rtcvt.pog.shift import shift_table
from rtcvt.simulate import simulate

RPM = np.pi / 30.0


@pytest.fixture(scope="module")
def converter():
    return load_unit("torque_converter").build()


@pytest.fixture(scope="module")
def shifted():
    unit = load_unit("shift_control")
    return simulate(unit.build(), unit.scenario[0])


def at(model, w_p, w_t):
    one = started(model)
    one.x[:] = w_p, w_t
    one.outputs()
    return one


def test_the_converter_follows_its_table(converter):
    K = 210.0 * RPM
    for nu, k, mu in ((0.0, 1.0, 2.0), (0.5, 1.02, 1.4), (0.9, 1.5, 1.0)):
        one = at(converter, 200.0, nu * 200.0)
        assert one.get("converter.tau_p") == pytest.approx((200.0 / (k * K)) ** 2, rel=1e-3)
        assert one.get("converter.tau_t") == pytest.approx(mu * one.get("converter.tau_p"), rel=1e-12)
    coast = at(converter, 100.0, 200.0)
    assert coast.get("converter.tau_p") == coast.get("converter.tau_t")
    assert coast.get("converter.tau_p") == pytest.approx(-((200.0 / (1.02 * K)) ** 2), rel=1e-3)


def test_a_stalled_pump_turns_at_its_factor(converter):
    """``w_p = K sqrt(tau)`` with the turbine held by what it gets."""
    one = started(converter, pump__tau=80.0)
    for _ in range(3000):
        one.x[1] = 0.0
        one.step(1e-3)
        one.set("turbine.tau", -one.get("converter.tau_t"))
    assert one.get("pump.w") == pytest.approx(210.0 * RPM * np.sqrt(80.0), rel=1e-3)


def test_between_shifts_the_elements_of_the_gear_hold(shifted):
    box = load_unit("automatic_6")
    gears = shift_table(box, radii_at(box))
    every = {f"clutch.{e}" for e in box.clutches} | {f"brake.{e}" for e in box.brakes} - {"brake.F"}
    still = shifted["control.shifting"] == 0.0
    taken = shifted["control.gear"]
    assert set(taken[still]) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert np.abs(np.diff(taken)).max() == 1.0
    for g in gears[:6]:
        here = still & (taken == float(g.name))
        for element in every:
            assert (shifted[f"{element}.u"][here] == float(element.partition(".")[2] in g.elements)).all()


def test_in_a_shift_the_torque_goes_over(shifted):
    """From the first to the second gear brake C comes up to what it will carry, D goes down."""
    box = load_unit("automatic_6")
    second = shift_table(box, radii_at(box))[1]
    k = int(np.flatnonzero(shifted["control.gear"] == 2.0)[0])
    on, off = shifted["brake.C.u"][k : k + 201], shifted["brake.D.u"][k : k + 201]
    assert (np.diff(on) >= 0.0).all()
    assert (np.diff(off) <= 0.0).all()
    asked = abs(second.torques["C"]) * (1.2 * 60.0 + 25.0) / 700.0
    assert on[200] == pytest.approx(asked, rel=1e-6)
    assert off[200] == pytest.approx(0.0, abs=1e-12)
    assert (shifted["clutch.A.u"][k : k + 500] == 1.0).all()
    assert (shifted["lockup.u"][k : k + 300] == 0.0).all()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_speed_of_an_upshift_follows_the_demand_by_the_map(share):
    """From gear 1 to 2, at the demand of this share of the full one, as the shipped map has it."""
    unit = load_unit("shift_control")
    lines = (resources.files("rtcvt") / "engine" / "automatic_6_up.csv").read_text().splitlines()
    rows = np.array([line.split(",") for line in lines if line[0].isdigit()], dtype=float)
    first = rows[rows[:, 0] == 1.0]
    v = np.interp(share, first[:, 1], first[:, 2]) / 3.6
    one = started(unit.build())
    one.set("control.tau_drive", share * 2000.0)
    for factor, gear in ((0.999, 1.0), (1.001, 2.0)):
        one.set("control.w_out", factor * v / 0.316 * 3.9)
        assert wanted_gear(one.x, one.u, one.p, one.model.data) == gear
