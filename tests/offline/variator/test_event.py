"""The driving event with a KERS: profile, energies of the store, torque, report."""

import math

import numpy as np
import pytest

from offline.variator.event import (
    DURATION,
    HOLD,
    RATE,
    STAND,
    STEP,
    TOP,
    pushbelt,
    run_event,
    speed,
    toroidal,
    write_report,
)


@pytest.fixture(scope="module")
def event():
    return run_event(pushbelt("hybrid"))


def test_the_profile_brakes_stands_and_launches():
    t = np.arange(0.0, DURATION, 1e-3)
    v = np.array([speed(x) for x in t])
    assert v[0] == pytest.approx(TOP)
    assert v[-1] == pytest.approx(TOP)
    standing = (t > HOLD + TOP / RATE + 0.3) & (t < HOLD + TOP / RATE + STAND - 0.3)
    assert np.all(v[standing] < 1e-9)
    assert np.abs(np.diff(v)).max() / 1e-3 == pytest.approx(RATE, rel=1e-3)


def ends(kers, start, values, flywheel, gear):
    """Speeds of the flywheel at both ends of the ratio, with the shaft at 100 rad/s."""
    found = []
    for value in values:
        one = kers.model.instantiate()
        for name, given in ((start, value), ("shaft.w", 100.0), ("shaft.w_start", 100.0)):
            one.set(name, given)
        one.initialise()
        found.append(abs(one.get(flywheel)) / gear)
    return found


def test_both_units_have_the_same_range_of_ratios():
    belt, disc = pushbelt("rigid"), toroidal()
    of_belt = ends(belt, "ratio.start", (2.4, 0.45), "flywheel.w", 3.0)
    assert of_belt == pytest.approx([150.0 / 2.4, 150.0 / 0.45], rel=1e-6)
    assert ends(disc, "control.theta_start", (disc.low, disc.high), "gear.a.w", 1.0) == pytest.approx(of_belt, rel=1e-6)


def test_energy_is_kept(event):
    losses = sum(event[f"loss.{name}"] for name in ("sliding", "belt", "bearing", "shift"))
    power = event["tau"] * event["w"] + event["clamp"] - losses
    change = event["E"][-1] - event["E"][0]
    found = event.figures()
    taken = found["taken at the shaft while braking"]
    assert np.sum(power) * STEP == pytest.approx(change, abs=1e-3 * taken)
    assert found["round-trip efficiency with actuation"] < found["round-trip efficiency"] < 1.0
    assert found["more in the store after braking"] < taken


def test_the_torque_is_followed_and_the_belt_does_not_slide(event):
    found = event.figures()
    assert found["torque error, RMS"] < 0.06 * 150.0  # most of it in the second after the clutch has closed
    braking = (event["closed"] > 0.5) & (event.time < 20.0)
    assert np.sqrt(np.mean((event["tau"] - event["tau_des"])[braking] ** 2)) < 0.025 * 150.0
    assert event["status.macro_slip"].max() == 0.0
    assert np.abs(event["v"] - event["v_des"]).max() < 0.5
    assert found["share recovered"] > 0.6
    assert not math.isnan(sum(found.values()))


def test_the_clutch_closes_once_and_what_was_stored_comes_back(event):
    for one in (event, run_event(toroidal())):
        assert np.sum(np.diff(one["closed"]) > 0.0) == 1
        assert 0.6 < one.figures()["round-trip efficiency"] < 1.0


def test_the_clutch_is_open_while_the_car_stands(event):
    standing = event["v"] < 5.0
    assert event["closed"][standing].max() == 0.0
    assert np.abs(event["tau"][standing]).max() == 0.0
    assert event["E"][standing].min() > 0.9 * event["E"].max()


def test_the_report_is_written(event, tmp_path):
    write_report([event], tmp_path / "event.html")
    text = (tmp_path / "event.html").read_text(encoding="utf-8")
    assert "round-trip efficiency" in text
    assert "data:image/png" in text
