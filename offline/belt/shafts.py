"""Shafts after decouplers in the ANCF model, with the equations of `rtcvt.belt.decoupler`.

A shaft is connected to its sheave alone, by the torque M of spring and clutch. The trapezoidal rule gives its motion
over a step from the sheave's speed omega_1 at its end, so that it needs no row of its own in Newton's matrix::

    delta_1 = delta_0 + h/2 (delta'_0 + delta'_1),    w_1 = w_0 + h/2 (w'_0 + w'_1)
    J w'_1 = tau + tau_load(w_1) - b w_1 + s M_1
    M_1 = k delta_1 + c delta'_1 with delta'_1 = s (omega_1 - w_1) if that is at least -M_D, else -M_D
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.unit import BeltUnit
from rtcvt.offline.belt.compiled import compiled

Array = NDArray[np.float64]


class Shafts(NamedTuple):
    """Shafts after decouplers; (k,) arrays."""

    sheave: NDArray[np.int64]
    sense: Array  # 1: the sheave drives it anticlockwise, -1: clockwise
    J: Array  # [kg m^2]
    K: Array  # [N m/rad]
    C: Array  # [N m s/rad]
    M_D: Array  # [N m]


def shafts(unit: BeltUnit) -> Shafts:
    """Shafts of a unit."""
    found = unit.decouplers
    return Shafts(
        np.array(list(found), dtype=np.int64),
        np.array([1.0 if q.direction == "anticlockwise" else -1.0 for q in found.values()]),
        np.array([q.inertia for q in found.values()]),
        np.array([q.stiffness for q in found.values()]),
        np.array([q.damping for q in found.values()]),
        np.array([q.drag for q in found.values()]),
    )


@compiled
def load_torque(s: Any, i: int, w: float) -> tuple[float, float]:
    """Torque over speed of the load on sheave i or its shaft, linear between its points and beyond, and its slope."""
    n = s.loads[i]
    if n == 0:
        return 0.0, 0.0
    k = 0
    while k < n - 2 and w > s.load_w[i, k + 1]:
        k += 1
    slope = (s.load_tau[i, k + 1] - s.load_tau[i, k]) / (s.load_w[i, k + 1] - s.load_w[i, k])
    return s.load_tau[i, k] + slope * (w - s.load_w[i, k]), slope


@compiled
def shaft_of(shafts: Any, i: int) -> int:
    """Number of the shaft of sheave i after a decoupler, or -1."""
    for k in range(shafts.J.shape[0]):
        if shafts.sheave[k] == i:
            return k
    return -1


@compiled
def start_shafts(state: Any, h: float, start: Any) -> None:
    """Write the start data of a step of length h to `start` (k, 3); `state` (k, 4) is w, w', delta, delta'."""
    for k in range(state.shape[0]):
        start[k, 0] = state[k, 0] + 0.5 * h * state[k, 1]
        start[k, 1] = state[k, 2] + 0.5 * h * state[k, 3]
        start[k, 2] = 0.5 * h


@compiled
def shaft_torque(shafts: Any, state: Any, start: Any, k: int, omega: float, tau: float, slope: float) -> Any:
    """``s M`` at the end of a step and its derivative to the sheave's speed; sets the shaft's state.

    `tau` is the torque of all else at w = 0, `slope` its derivative to w.
    """
    s, J, K, C = shafts.sense[k], shafts.J[k], shafts.K[k], shafts.C[k]
    w_0, delta_0, half = start[k, 0], start[k, 1], start[k, 2]
    G = K * half + C
    D = J - half * slope + half * G
    rate = (tau + slope * w_0 + s * K * delta_0 + G * (omega - w_0)) / D
    w = w_0 + half * rate
    twist = s * (omega - w)
    M = K * delta_0 + G * twist
    by = G * (1.0 - half * G / D)
    if -shafts.M_D[k] > M:
        M = -shafts.M_D[k]
        by = 0.0
        twist = -(K * delta_0 + shafts.M_D[k]) / G
        rate = (tau + slope * w_0 + s * M) / (J - half * slope)
        w = w_0 + half * rate
    state[k, 0] = w
    state[k, 1] = rate
    state[k, 2] = delta_0 + half * twist
    state[k, 3] = twist
    return s * M, by
