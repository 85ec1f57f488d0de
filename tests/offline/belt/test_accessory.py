"""The accessory drive of an engine: its power, and the hybrid model against the ANCF belt on its scenarios."""

import numpy as np
import pytest

from rtcvt.kind import load_unit
from rtcvt.offline.belt.results import Case, result
from rtcvt.offline.belt.verification import compare
from rtcvt.simulate import simulate


@pytest.fixture(scope="module")
def unit():
    return load_unit("accessory_6pk")


def scenario(unit, name):
    return next(s for s in unit.scenario if s.name == name)


def test_what_the_drive_takes_up_to_6000_rpm(unit):
    """Some kilowatts, of which machines take most; the bearings of accessory_5pk would take 299 kW."""
    run = simulate(unit.build(), scenario(unit, "run-up"))
    last = {
        key: float(run[key][-1])
        for key in ("crank.tau", "loss.friction", "loss.load", "alternator.w", "tensioner.theta")
    }
    assert -1900.0 < last["alternator.w"] < -1500.0
    power = -200.0 * np.pi * last["crank.tau"]
    assert 2e3 < power < 6e3
    assert last["loss.friction"] < 0.2 * power
    assert last["loss.load"] > 0.6 * power
    assert abs(last["tensioner.theta"]) < np.radians(15.0)
    paper = load_unit("accessory_5pk")
    radii = paper.line_radius
    bearings = sum(p.friction * (200.0 * np.pi * radii[0] / r) ** 2
                   for p, r in zip(paper.pulleys.values(), radii, strict=True))  # fmt: skip
    assert bearings == pytest.approx(299e3, rel=5e-3)
    assert "no drive for an engine" in paper.description


def test_the_alternator_runs_on_as_the_engine_slows(unit):
    run = simulate(unit.build(), scenario(unit, "gear shift"))
    free = run["alternator.M_decoupler"] <= -0.0999
    assert free.sum() > 5
    assert (run["alternator.w"][free] < run["alternator.w_pulley"][free]).all()


def test_it_has_both_models(unit):
    assert unit.models == load_unit("accessory_5pk").models == ("hybrid", "rigid")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["idle", "run-up", "gear shift", "air conditioner"])
def test_the_hybrid_model_beside_the_ancf_belt(unit, name, tmp_path):
    case = Case(name, unit, scenario(unit, name))
    found = compare(case, result(case, tmp_path), name)
    assert [e for e in found.errors if not e.nrms <= e.limit] == []
