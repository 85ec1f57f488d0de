"""Geometry of a tensioner's arm: lengths and directions of the neighbouring spans over the arm's angle.

The arm turns its pulley's centre c about the pivot o by theta, ``c' = R (c - o)``. A span along the unit vector t, with
n = R t, between the centres at d from each other, has ::

    d = l t + a n,   a = sigma_e r_e - sigma_s r_s,   alpha' = n.d'/l,   P' = t.d' = l' - a alpha'

(': by theta; alpha: direction of the span; s, e: its pulleys). P is the belt's length between the pulleys including the
change of the wraps as the points of tangency move, so that ``sum P`` differs from the length of the taut belt by a
constant and the tensions turn the arm by ``-sum T P'``. The second derivative is ``P'' = (n.d')^2/l + t.d''``, ``d'' =
-+(c - o)``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.geometry import BeltPath
from rtcvt.belt.unit import BeltUnit, place

Array = NDArray[np.float64]

STOP_MARGIN = 0.02  # range of the tables beyond the end stops [rad]
INTERVALS = 48  # number of intervals of the tables over the angle


class SpanOverAngle(NamedTuple):
    """A span next to a pulley on an arm, over the arm's angle."""

    span: int  # number of the pulley that it leaves
    way: Array  # P, zero at the drawn place [m]
    lever: Array  # P' [m]
    turn: Array  # alpha, zero at the drawn place [rad]
    by_angle: Array  # alpha'


def _derivatives(path: BeltPath, i: int, j: int, arm: Array) -> tuple[float, float, float]:
    """P', P'' and alpha' of span `j` for the pulley `i` at the distance `arm` (2,) from its pivot."""
    sign = 1.0 if (j + 1) % path.span.size == i else -1.0
    t = path.direction[j]
    n, rate = np.array([-t[1], t[0]]), sign * np.array([-arm[1], arm[0]])
    across = float(n @ rate)
    return float(t @ rate), across**2 / float(path.span[j]) - sign * float(t @ arm), across / float(path.span[j])


def lever(unit: BeltUnit, i: int) -> tuple[float, float]:
    """Length that the belt's way gains by the angle of the arm of pulley `i`, and its derivative [m], as drawn."""
    pulley, path = list(unit.pulleys.values())[i], unit.path()
    assert pulley.arm is not None
    arm = np.array(pulley.center) - np.array(pulley.arm.pivot)
    both = [_derivatives(path, i, j, arm) for j in ((i - 1) % path.span.size, i)]
    return sum(b[0] for b in both), sum(b[1] for b in both)


def preload(unit: BeltUnit, i: int) -> float:
    """Torque [N.m] of the spring of pulley `i`'s arm at the belt's pretension, anticlockwise."""
    return unit.belt.pretension * lever(unit, i)[0]


def bending(unit: BeltUnit, i: int) -> float:
    """Torque [N.m] of the belt's bending on the arm of pulley `i`, as drawn, anticlockwise.

    A belt that is bent around the angle beta exerts ``EI beta/(2 r)``. Without a table of the ANCF belt it is zero: the
    pretension is then that of the spans.
    """
    pulley, path = list(unit.pulleys.values())[i], unit.path()
    if unit.ancf is None or pulley.arm is None:
        return 0.0
    arm = np.array(pulley.center) - np.array(pulley.arm.pivot)
    turned = path.sigma / path.radius
    both = ((j, (j + 1) % path.span.size) for j in ((i - 1) % path.span.size, i))
    return sum(0.5 * unit.belt.EI * float(turned[e] - turned[j]) * _derivatives(path, i, j, arm)[2] for j, e in both)


def nodes(unit: BeltUnit, i: int) -> Array:
    """Angles [rad] of the tables of pulley `i`'s arm."""
    arm = unit.arms[i]
    return np.linspace(arm.stops[0] - STOP_MARGIN, arm.stops[1] + STOP_MARGIN, INTERVALS + 1)


def over_angle(unit: BeltUnit, i: int) -> list[SpanOverAngle]:
    """The spans before and after pulley `i` at the angles of `nodes`."""
    pulley, drawn = list(unit.pulleys.values())[i], unit.path()
    assert pulley.arm is not None
    found = []
    for j in ((i - 1) % drawn.span.size, i):
        rows = []
        e = (j + 1) % drawn.span.size
        a = drawn.sigma[j] * drawn.radius[j] - drawn.sigma[e] * drawn.radius[e]
        for angle in nodes(unit, i).tolist():
            path = unit.path({i: angle})
            arm = np.array(place(pulley, angle)) - np.array(pulley.arm.pivot)
            by, _, turning = _derivatives(path, i, j, arm)
            t, u = drawn.direction[j], path.direction[j]
            turn = float(np.arctan2(t[0] * u[1] - t[1] * u[0], t @ u))
            rows.append((float(path.span[j] - drawn.span[j]) + a * turn, by, turn, turning))
        found.append(SpanOverAngle(j, *np.array(rows).T))
    return found
