"""Arms of tensioners in the ANCF model: they carry sheaves, with the equations of `rtcvt.belt.arms`.

    J W' + C W + K theta - M_0 + M + M_s - F.c' - d (w - W) = 0,    c' = R (c - o)

F is the force of the belt on the sheave, c its centre, o the pivot, w its speed and d the friction of its bearing. Dry
friction M (Dahl 1968) is integrated by the trapezoidal rule, too; solved for its value at the end of the step::

    M_1 (1 + h K_F |W_1|/(2 M_F)) = M_0 + h/2 (M'_0 + K_F W_1)
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.arm_geometry import preload
from rtcvt.belt.unit import BeltUnit
from rtcvt.offline.belt.compiled import compiled

Array = NDArray[np.float64]


class Arms(NamedTuple):
    """Arms, each with one sheave; (k,) arrays, places (k, 2)."""

    sheave: NDArray[np.int64]
    pivot: Array  # (k, 2) [m]
    drawn: Array  # (k, 2) of the centre at theta = 0, from the pivot [m]
    J: Array  # [kg m^2]
    K: Array  # [N m/rad]
    M_0: Array  # [N m]
    C: Array  # [N m s/rad]
    M_F: Array  # [N m]
    K_F: Array  # [N m/rad]
    stops: Array  # (k, 2) [rad]
    K_S: Array  # [N m/rad]
    C_S: Array  # [s/rad]


def arms(unit: BeltUnit) -> Arms:
    """Arms of a unit."""
    pulleys, found = list(unit.pulleys.values()), unit.arms
    pivot = np.array([a.pivot for a in found.values()]).reshape(-1, 2)
    return Arms(
        np.array(list(found), dtype=np.int64), pivot,
        np.array([pulleys[i].center for i in found]).reshape(-1, 2) - pivot,
        np.array([a.inertia for a in found.values()]), np.array([a.stiffness for a in found.values()]),
        np.array([preload(unit, i) for i in found]), np.array([a.damping for a in found.values()]),
        np.array([a.friction for a in found.values()]), np.array([a.friction_stiffness for a in found.values()]),
        np.array([a.stops for a in found.values()]).reshape(-1, 2),
        np.array([a.stop_stiffness for a in found.values()]), np.array([a.stop_damping for a in found.values()]),
    )  # fmt: skip


@compiled
def place_arms(arms: Any, state: Any, contact: Any) -> None:
    """Set centres, their speeds and levers of the sheaves on arms in `contact`; `state` (k, 4) is theta, W, W', M."""
    for m in range(arms.J.shape[0]):
        i = arms.sheave[m]
        c = np.cos(state[m, 0])
        s = np.sin(state[m, 0])
        x = c * arms.drawn[m, 0] - s * arms.drawn[m, 1]
        y = s * arms.drawn[m, 0] + c * arms.drawn[m, 1]
        contact.center[i, 0] = arms.pivot[m, 0] + x
        contact.center[i, 1] = arms.pivot[m, 1] + y
        contact.lever[i, 0] = -y
        contact.lever[i, 1] = x
        contact.speed[i, 0] = -y * state[m, 1]
        contact.speed[i, 1] = x * state[m, 1]


@compiled
def carrier(arms: Any, state: Any, i: int) -> float:
    """Speed [rad/s] of the arm that carries sheave i, 0 if none does."""
    for m in range(arms.J.shape[0]):
        if arms.sheave[m] == i:
            return float(state[m, 1])
    return 0.0


@compiled
def start_dry(arms: Any, state: Any, h: float, dry: Any) -> None:
    """Write the start data of a step of length h to `dry` (k, 2): M_0 + h/2 M'_0 and h/2."""
    for m in range(arms.J.shape[0]):
        rate = 0.0
        if arms.M_F[m] > 0.0:
            rate = arms.K_F[m] * (state[m, 1] - abs(state[m, 1]) * state[m, 3] / arms.M_F[m])
        dry[m, 0] = state[m, 3] + 0.5 * h * rate
        dry[m, 1] = 0.5 * h


@compiled
def arm_moment(arms: Any, state: Any, dry: Any, m: int, pull: Any, contact: Any) -> float:
    """Residual of an arm's balance without its bearing; sets its dry friction."""
    W = state[m, 1]
    if arms.M_F[m] > 0.0:
        held = 1.0 + dry[m, 1] * arms.K_F[m] * abs(W) / arms.M_F[m]
        state[m, 3] = (dry[m, 0] + dry[m, 1] * arms.K_F[m] * W) / held
    i = arms.sheave[m]
    moment = arms.J[m] * state[m, 2] + arms.C[m] * W + arms.K[m] * state[m, 0] - arms.M_0[m] + state[m, 3]
    moment -= pull[i, 0] * contact.lever[i, 0] + pull[i, 1] * contact.lever[i, 1]
    for end in range(2):
        side = 1.0 if end == 1 else -1.0
        z = side * (state[m, 0] - arms.stops[m, end])
        if z > 0.0:
            moment += side * arms.K_S[m] * z * max(1.0 + arms.C_S[m] * side * W, 0.0)
    return float(moment)


@compiled
def arm_slope(arms: Any, state: Any, dry: Any, m: int, cv: float, ca: float, pull: Any, contact: Any) -> float:
    """Derivative of `arm_moment` to the angle but for the contact's; rates weighted by `cv`, accelerations by `ca`."""
    i = arms.sheave[m]
    slope = ca * arms.J[m] + cv * arms.C[m] + arms.K[m]
    # c'' = -(c - o), with lever = R (c - o)
    slope += pull[i, 0] * contact.lever[i, 1] - pull[i, 1] * contact.lever[i, 0]
    W = state[m, 1]
    if arms.M_F[m] > 0.0:
        held = 1.0 + dry[m, 1] * arms.K_F[m] * abs(W) / arms.M_F[m]
        sign = 1.0 if W > 0.0 else (-1.0 if W < 0.0 else 0.0)
        slope += arms.K_F[m] * (1.0 - sign * state[m, 3] / arms.M_F[m]) / held
    for end in range(2):
        side = 1.0 if end == 1 else -1.0
        z = side * (state[m, 0] - arms.stops[m, end])
        if z > 0.0 and 1.0 + arms.C_S[m] * side * W > 0.0:
            slope += arms.K_S[m] * (1.0 + arms.C_S[m] * side * W + z * cv * arms.C_S[m])
    return float(slope)
