"""Belt drives under hostile torques: no step makes energy, however it is made.

The work of a torque that is held over a step is the torque times the angle that the pulley turns. That is the integral
of its speed: what RODAS3 gives for it as a further state (`tests/pog/test_hostile_inputs.py` says why no other will
do). Of a step that was made in parts, some of them by the implicit Euler method, the larger of both ends counts.
"""

import numpy as np
import pytest
from hostile_inputs import KINDS, hostile_inputs
from instances import started

from rtcvt.belt.layout import D
from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.numerics.integrators import rosenbrock_integral

H = 1e-3
ROUNDING = 1e-12  # share of the stored energy


class Meter:
    """Energy and work of a drive whose inputs are torques."""

    def __init__(self, model):
        self.one, n, start = model.instantiate(), len(model.states), int(model.data[int(D.W_STEP)])
        self.one.initialise()
        self.k = self.one.work[start + 3 * n : start + 7 * n]
        states = [v.name for v in model.states]
        self.ports = [(v.index, states.index(v.name.removesuffix(".tau") + ".w")) for v in model.select("input")]
        self.ways = {"rodas": 0, "parts": 0}
        self.through, self.worst = 0.0, 0.0  # [J]; `worst` of one step

    def angles(self, x):
        """That all driven pulleys turn in the step from the states `x` [rad]."""
        one, k, n = self.one, self.k, len(x)
        if np.allclose(x + (2.0 * k[:n] + k[2 * n : 3 * n] + k[3 * n :]), one.x, rtol=1e-12, atol=1e-13):
            self.ways["rodas"] += 1
            return [rosenbrock_integral(s, n, H, x, k) for _, s in self.ports]
        self.ways["parts"] += 1
        return [H * max(x[s], one.x[s], key=lambda w, u=u: one.u[u] * w) for u, s in self.ports]

    def step(self):
        one, x, stored = self.one, self.one.x.copy(), self.one.get("storage.E")
        assert one.step(H) != FAILED
        work = [one.u[u] * angle for (u, _), angle in zip(self.ports, self.angles(x), strict=True)]
        self.through += sum(map(abs, work))
        self.worst = max(self.worst, one.get("storage.E") - stored - sum(work) - ROUNDING * stored)


CASES = [
    ("two_pulley_5pk", "hybrid", 300, 1), ("two_pulley_5pk", "hybrid", 20, 20),
    pytest.param("two_pulley_5pk", "hybrid", 20_000, 1, marks=pytest.mark.slow),
    pytest.param("two_pulley_5pk", "hybrid", 1000, 20, marks=pytest.mark.slow),
    pytest.param("accessory_5pk", "hybrid", 2000, 1, marks=pytest.mark.slow),
    pytest.param("accessory_5pk", "hybrid", 200, 20, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fidelity", "rows", "held"), CASES)
def test_no_step_makes_energy(name, fidelity, rows, held):
    model, ways = load_unit(name).build(fidelity), set()
    for kind in KINDS:
        meter = Meter(model)
        for u in hostile_inputs(model, kind, 0, rows, np.random.default_rng(3)):
            meter.one.u[:] = u
            for _ in range(held):
                meter.step()
        print(f"\n{name} {kind} {held}: {meter.worst:.2g} J of {meter.through:.2g} J, steps {meter.ways}", end="")
        assert meter.worst <= 1e-6 * meter.through / (rows * held), kind
        ways |= {way for way, count in meter.ways.items() if count}
    assert ways == {"rodas", "parts"} or rows < 1000


@pytest.mark.parametrize("w", [5e3, -7e3, 1e4])
def test_a_given_speed_that_jumps_beyond_the_belts_waves_is_followed(w):
    """Steps of the implicit Euler method empty cells there, and the budget ends: the belt is held, its limits anew."""
    one = started(load_unit("two_pulley_belt").build("hybrid"))
    for speed in (0.0, w, 0.0):
        one.set("P1.w", speed)
        assert one.step(20e-3) != FAILED
