"""Decouplers in the real-time model: locked and free, natural frequency, energy, steps, and what is refused."""

import tomllib

import numpy as np
import pytest
from belt_modes import hybrid_modes
from belt_states import DECOUPLER, SERPENTINE, decoupled, started
from instances import stepped

from rtcvt.belt.reading import read_belt_unit
from rtcvt.kernel import FAILED
from rtcvt.unitfile import UnitFile

# --- equations --------------------------------------------------------------------------------------------------------


def run_up(instance, w, steps=400):
    """The crankshaft to a speed within half of some steps of 1 ms."""
    for k in range(steps):
        instance.set("crank.w", w * min(2.0 * k / steps, 1.0))
        assert instance.step(1e-3) != FAILED


def test_locked_the_spring_carries_the_load():
    """M = tau_load + b w, wound up by M/k, both sides at one speed."""
    instance = started(decoupled(damping=0.3))
    instance.set("alternator.tau", 4.0)
    run_up(instance, -80.0, 1500)
    w, b = instance.get("alternator.w"), 2e-3
    assert w == pytest.approx(instance.get("alternator.w_pulley"), rel=1e-6)
    assert instance.get("alternator.M_decoupler") == pytest.approx(4.0 + b * abs(w), rel=1e-5)
    assert instance.get("alternator.twist") == pytest.approx((4.0 + b * abs(w)) / 20.0, rel=1e-5)


@pytest.mark.parametrize("drag", [0.0, 0.3])
def test_free_the_shaft_runs_on_by_itself(drag):
    """J w' = -b w - M_D, while the crankshaft stops within 20 ms; then the clutch locks the shaft no more."""
    instance = started(decoupled(drag=drag, damping=0.3))
    run_up(instance, -80.0, 1000)
    b, J = 2e-3, 3e-3
    for k in range(1, 21):
        instance.set("crank.w", -80.0 * (1.0 - k / 20.0))
        instance.step(1e-3)
    stepped(instance, 60)
    start = instance.get("alternator.w")
    stepped(instance, 300)
    assert abs(instance.get("alternator.w_pulley")) < 0.1  # swings on the belt without a bearing
    decay = np.exp(-b / J * 0.3)
    assert instance.get("alternator.w") == pytest.approx(start * decay + drag / b * (1.0 - decay), rel=1e-4)
    assert instance.get("alternator.M_decoupler") == pytest.approx(-drag, abs=1e-9)
    assert instance.get("alternator.twist") == pytest.approx(-drag / 20.0, abs=1e-6)


def test_the_shaft_swings_on_its_spring():
    """Pulley held by its inertia: sqrt(k/J)/(2 pi) and (c + b)/(2 sqrt(k J))."""
    k, J, c, b = 20.0, 3e-3, 0.02, 2e-3
    modes = hybrid_modes(decoupled(pulley=1e4))
    frequency = np.sqrt(k / J) / (2.0 * np.pi)
    found = min(modes, key=lambda m: abs(m.frequency - frequency))
    assert found.frequency == pytest.approx(frequency, rel=1e-5)
    assert found.damping == pytest.approx((c + b) / (2.0 * np.sqrt(k * J)), rel=1e-5)


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffness", [20.0, 3e3])
def test_one_millisecond_is_a_small_step(stiffness):
    """Engine order of 30 Hz, by which the clutch opens at every swing, against fifty steps in place of one."""
    ends, freed = [], 0
    for substeps in (1, 50):
        instance = started(decoupled(stiffness=stiffness, damping=0.05), substeps=substeps)
        w = []
        for k in range(600):
            t = 1e-3 * (k + 1)
            instance.set("crank.w", -90.0 * min(t / 0.2, 1.0) * (1.0 + 0.03 * np.sin(60.0 * np.pi * t)))
            instance.step(1e-3)
            w.append((instance.get("alternator.w"), instance.get("alternator.w_pulley")))
            freed += instance.get("alternator.M_decoupler") == 0.0
        ends.append(np.array(w))
    assert freed > 100
    scale = np.abs(ends[1]).max(axis=0)
    error = np.sqrt(np.mean((ends[0] - ends[1]) ** 2, axis=0)) / scale
    assert error[0] < 2e-3
    assert error[1] < 1e-2


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_may_have_one():
    data = tomllib.loads(SERPENTINE.read_text())
    data["pulleys"]["alternator"]["decoupler"] = DECOUPLER
    assert read_belt_unit(UnitFile(data, "", "drive.toml")).decouplers[2].stiffness == 20.0


def test_the_rigid_model_locks_it():
    """Its shaft's inertia turns with the pulley."""
    unit = decoupled()
    rigid = unit.build("rigid").instantiate()
    pulley = unit.pulleys["alternator"]
    assert rigid.p[rigid.model.variable("alternator.J").index] == pulley.inertia + pulley.decoupler.inertia
    assert {v.name for v in rigid.model.select("input")} == {v.name for v in unit.build().select("input")}
