"""Decouplers: the ANCF belt by itself, and the hybrid model against it."""

from pathlib import Path

import numpy as np
import pytest
from belt_modes import assert_same_modes

from rtcvt.belt.unit import Decoupler
from rtcvt.kind import load_unit
from rtcvt.offline.belt.drive import build, simulate
from rtcvt.offline.belt.results import Case, result
from rtcvt.offline.belt.runs import changed
from rtcvt.offline.belt.shafts import shaft_torque, shafts, start_shafts
from rtcvt.offline.belt.verification import compare
from rtcvt.scenario import Scenario, Table

FILE = Path(__file__).parents[2] / "data" / "belt" / "serpentine.toml"


@pytest.fixture(scope="module")
def unit():
    """The serpentine drive, its alternator behind a decoupler."""
    unit = changed(load_unit(FILE), step=1e-4)
    given = Decoupler(inertia=3e-3, stiffness=20.0, damping=0.05, drag=0.2, direction="clockwise")
    own = unit.pulleys["alternator"].model_copy(update={"decoupler": given, "inertia": 4e-4})
    return unit.model_copy(update={"pulleys": unit.pulleys | {"alternator": own}})


@pytest.mark.interpreted
def test_a_shaft_swings_and_runs_on(unit):
    """Its sheave held: a damped swing from a twist; then free, -b w - M_D with the clutch open. Second order."""
    own, errors = shafts(unit), []
    J, k, c, b = 3e-3, 20.0, 0.05, 2e-3
    decay, w_d = (c + b) / (2.0 * J), np.sqrt(k / J - ((c + b) / (2.0 * J)) ** 2)
    for h in (1e-4, 5e-5):
        state, start = np.zeros((1, 4)), np.zeros((1, 3))
        state[0, 1], state[0, 2] = -k * 0.1 / J, 0.1
        for step in range(round(0.006 / h)):
            start_shafts(state, h, start)
            shaft_torque(own, state, start, 0, 0.0, 0.0, -b)
            t = h * (step + 1)
            # J w' = -b w - c w + s k delta, delta' = -s w, s = -1
            exact = np.exp(-decay * t) * (-k * 0.1 / J / w_d) * np.sin(w_d * t)
        errors.append(abs(state[0, 0] - exact))
    assert errors[0] < 1e-2 * k * 0.1 / J / w_d
    assert errors[1] < 0.3 * errors[0]
    state[0] = -50.0, 0.0, 0.0, 0.0
    for _ in range(2000):
        start_shafts(state, 5e-5, start)
        torque, by = shaft_torque(own, state, start, 0, 0.0, 0.0, -b)
    free = np.exp(-b / J * 0.1)
    assert (torque, by) == (0.2, 0.0)
    assert state[0, 0] == pytest.approx(-50.0 * free + 0.2 / b * (1.0 - free), rel=1e-3)


@pytest.mark.slow
def test_the_spring_carries_what_the_shaft_takes(unit):
    """Run-up without a load: M = b w + J w' at the end, and the belt drives the pulley by M and its own inertia."""
    ramp = Table(time=(0.0, 0.1), value=(0.0, -20.0), interpolation="smooth")
    run = simulate(build(unit, elements=60), Scenario(name="ramp", duration=0.25, inputs={"crank.w": ramp}))
    w, rate, twist, turning = run.carried[:, 0].T
    M = 20.0 * twist + 0.05 * turning
    np.testing.assert_allclose(M[1:], -(2e-3 * w + 3e-3 * rate)[1:], atol=1e-9)
    pulley = 4e-4 * np.gradient(run.turning[:, 2, 1], run.time)
    error = run.turning[:, 2, 3] + M - pulley
    assert np.sqrt(np.mean(error[2:-2] ** 2)) < 0.05 * np.abs(M).max()
    assert w[-1] == pytest.approx(run.turning[-1, 2, 1], rel=0.03)


@pytest.mark.slow
def test_modes_with_a_decoupler(unit):
    """All modes below 200 Hz, the clutch locked; one is that of the shaft on its spring. Measured: 3.3 %, 0.5 %."""
    own = assert_same_modes(unit, 0.04, 0.01)
    assert len(own) == 4
    assert own[0].frequency == pytest.approx(np.sqrt(20.0 / 3e-3) / (2.0 * np.pi), rel=0.1)


@pytest.mark.slow
def test_the_hybrid_model_beside_the_ancf_belt(unit, tmp_path):
    """A load step and a fast stop, in which the alternator runs on, and an engine order of 25 Hz (torque 5.2 %)."""
    ramp = Table(time=(0.0, 0.2, 0.4, 0.45), value=(0.0, -120.0, -120.0, -60.0), interpolation="smooth")
    load = Table(time=(0.3, 0.31), value=(0.0, 3.0))
    order = "-120*min(t/0.2, 1)*(1 + 0.02*sin(50*pi*t))"
    for name, inputs, limits in (
        ("overrun", {"crank.w": ramp, "alternator.tau": load}, (0.01, 0.03, 0.03)),
        ("order", {"crank.w": order}, (0.01, 0.03, 0.06)),
    ):
        case = Case(name, unit, Scenario(name=name, duration=0.6, inputs=inputs))
        full = result(case, tmp_path)
        assert full.series["alternator.M_decoupler"].min() == pytest.approx(-0.2, abs=1e-6)
        found = compare(case, full, name)
        for kind, limit in zip(("speed", "tension", "torque"), limits, strict=True):
            assert max(e.nrms for e in found.errors if e.kind == kind) < limit
