"""Preloaded three-pulley drive in run-up, the task of Lorenz et al. 2014: real-time models against rigid elements."""

from pathlib import Path

import numpy as np
import pytest

from rtcvt.kind import load_unit
from rtcvt.offline.belt import rigid_elements
from rtcvt.offline.belt.moving import moving_belt
from rtcvt.scenario import Table
from rtcvt.simulate import simulate
from studies.moving_belt import frequencies, lateral_displacement, pod_basis

pytestmark = pytest.mark.slow

DRIVE = Path(__file__).parents[1] / "data" / "belt" / "three_pulley.toml"
SPEEDS = ("driving.w", "fan.w", "pump.w")
TENSIONS = ("driving_fan.F", "fan_pump.F", "pump_driving.F")


def runs(mu, torque, duration):
    """Full, hybrid and rigid model, signals by name."""
    unit = load_unit(DRIVE)
    tables = {key: getattr(unit, key).model_copy(update={"mu": mu}) for key in ("hybrid", "elements")}
    unit = unit.model_copy(update=tables)
    ramp = Table(time=(0.0, 0.1), value=(0.0, torque))
    scenario = unit.scenario[0].model_copy(update={"duration": duration, "inputs": {"driving.tau": ramp}})
    full = rigid_elements.simulate(unit, scenario)
    assert full.complete
    signals = {k: s.values for k, s in rigid_elements.signals(full, unit).items()}
    return signals, *(simulate(unit.build(f), scenario) for f in ("hybrid", "rigid"))


def error(signals, run, name):
    """RMS error by the largest value."""
    return np.sqrt(np.mean((run[name] - signals[name]) ** 2)) / np.abs(signals[name]).max()


def test_a_run_up_is_that_of_the_full_model():
    """No wrap slips: within 0.3 % in speed (rigid 0.4) and 1.5 % in tension, vibration of the elements included."""
    full, hybrid, rigid = runs(0.6, 18.0, 0.3)
    for run, most in ((hybrid, 3e-3), (rigid, 4e-3)):
        assert max(error(full, run, name) for name in SPEEDS) < most
        assert max(error(full, run, name) for name in TENSIONS) < 0.015
        assert run["driving.use"].max() < 0.5
    check_modes(full)


def check_modes(full):
    """Lateral motion of the elements in space: 16 modes leave a thirtieth of a millimetre."""
    path = load_unit(DRIVE).path()
    frames = zip(full["belt.x"][100:], full["belt.y"][100:], strict=True)
    w = np.stack([lateral_displacement(path, np.stack(frame, axis=1), 300) for frame in frames], axis=1)
    assert np.abs(w).max() < 3e-3
    basis, singular = pod_basis(path.length, w, 16)
    assert np.sum(singular[:16] ** 2) > 0.99 * np.sum(singular**2)
    shapes = basis.values(path.length * np.arange(300) / 300.0, 0)
    rest = w - shapes @ np.linalg.lstsq(shapes, w, rcond=None)[0]
    assert np.sqrt(np.mean(rest**2)) < 4e-5
    belt = moving_belt(path, basis, m=0.0957, EA=1.52e5, EI=0.026, F_0=550.0)
    string = np.pi * np.sqrt(550.0 / 0.0957) / path.span.max()
    assert frequencies(belt, 4.0, 550.0)[0] == pytest.approx(string, rel=0.02)


def test_a_pulley_that_slips_does_so_in_the_hybrid_model_as_in_the_full_one():
    """More torque than the driving wrap holds: it races ahead of the belt. The rigid model knows no slip.

    What the driving pulley gains in speed is the small difference of torque and friction, so it shows each percent of
    friction, that of elements on a circle among them.
    """
    full, hybrid, rigid = runs(0.25, 40.0, 0.15)
    assert max(error(full, hybrid, name) for name in SPEEDS) < 0.02
    assert max(error(full, hybrid, name) for name in TENSIONS) < 0.01
    assert full["driving.w"][-1] > 2.0 * rigid["driving.w"][-1]
    assert error(full, rigid, "driving.w") > 0.1
    assert rigid.status.max() == 1
