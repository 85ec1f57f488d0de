"""Vehicle and driveline under hostile inputs: no run makes energy.

What goes in is a torque or force of the inputs, which a step holds, times a way, and the way is the integral of a speed
that the method gives (`tests/pog/test_hostile_inputs.py` says why no other rule will do).
"""

import numpy as np
import pytest
from hostile_inputs import KINDS, hostile_inputs
from instances import started

from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.numerics.integrators import rosenbrock_integral
from rtcvt.vehicle import driveline as line
from rtcvt.vehicle import longitudinal as car
from rtcvt.vehicle.parts import build_part

H, STEPS = 1e-3, 2000


def vehicle(one, u, x, integral):
    """Work [J] of torques at the wheels and of the slope; the way is a state."""
    tau, way = u["drive.tau"] - u["axle.load"], one.x[car.X.S] - x[car.X.S]
    return [tau / one.get("vehicle.r_w") * way, -one.get("force.grade") * way]


def driveline(one, u, x, integral):
    """Work [J] at the axle, whose speed is given and whose torque is that of spring and damper, and at the shaft."""
    w = integral(line.X.W)
    twist = H * u["axle.w"] - w / one.get("driveline.i")
    through = one.get("driveline.K") * integral(line.X.PHI) + one.get("driveline.d") * twist
    return [u["axle.w"] * through, -u["shaft.load"] * w]


@pytest.mark.parametrize("held", [1, 20])
@pytest.mark.parametrize("work", [vehicle, driveline])
def test_no_run_makes_energy(work, held):
    model = build_part(load_unit(work.__name__))
    inputs, n = [v.name for v in model.select("input")], len(model.states)
    for kind in KINDS:
        one = started(model)
        k = one.work[(car if work is vehicle else line).W_K :][: 4 * n]
        start, net, through, worst = one.get("storage.E"), 0.0, 0.0, 0.0
        for row in hostile_inputs(model, kind, 0, STEPS // held, np.random.default_rng(3)):
            one.u[:] = row
            u = dict(zip(inputs, row, strict=True))
            for _ in range(held):
                x = one.x.copy()
                assert one.step(H) != FAILED
                parts = work(one, u, x, lambda i, x=x, k=k: rosenbrock_integral(i, n, H, x, k))
                net += sum(parts)
                through += sum(map(abs, parts))
                worst = max(worst, one.get("storage.E") - start - net)
        assert through > 0.0
        assert worst <= 1e-6 * through, kind


@pytest.mark.parametrize("v", [0.05, -0.05])
def test_a_brake_beyond_all_brakes_does_not_throw_the_vehicle_back(v):
    """It went from -0.05 to 0.12 m/s with 90 kN.m, as if friction were as steep beyond standstill as before."""
    one = started(build_part(load_unit("vehicle")), brake__tau=9e4)
    one.x[car.X.V] = v
    assert one.step(H) != FAILED
    assert abs(one.x[car.X.V] / v) < 0.25  # it springs back, as brakes that stick do
    assert one.get("storage.E") < 0.5 * (1400.0 + 4.0 / 0.09) * v * v
