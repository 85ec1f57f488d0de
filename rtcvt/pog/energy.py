"""Dissipated power of a gear system: Tebaldi and Zanasi 2022, eq. (3).

With the state ``x = [omega, F]`` the power matrix of eq. (2) gives ``x' A x = -P``,

    P = omega' B_omega omega + omega' B_delta_omega omega + (R omega)' B_K (R omega),

whose last term vanishes in the rigid model, where ``R omega = 0``. The stored energy ``x' L x / 2`` is the output
``storage.E``. Springs at the ports lie outside: power enters at the gears, ``tau omega``. Of the power ``tau w`` at a
flange with a prescribed speed the coupling (`rtcvt.coupling`) keeps the rate of its stored energy, output ``NAME.E``,
and turns ``NAME.loss`` into heat; with both, power is balanced at the flanges.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtcvt.pog.friction import friction_signs
from rtcvt.pog.radii import radii_matrix
from rtcvt.pog.unit import GearSystem

Array = NDArray[np.float64]


def dissipated_power(
    unit: GearSystem, parameters: Mapping[str, float], omega: Array, theta: Array | float = 0.0
) -> Array:
    """Power [W] that turns into heat.

    Parameters
    ----------
    unit : GearSystem
        The gear system.
    parameters : mapping
        Values by name, as in the variable table; without contact dampings ``contact.NAME.d`` the model is rigid.
    omega : array, shape (n, n_J)
        Speeds in the unit's order [rad/s].
    theta : array, shape (n,), or float
        The moving variable [rad].
    """
    gears = list(unit.gears)
    P = np.zeros(len(omega))
    for k, gear in enumerate(gears):
        P += parameters[f"gear.{gear}.b"] * omega[:, k] ** 2
    signs = friction_signs(unit)
    for name, friction in unit.frictions.items():
        i, j = (gears.index(g) for g in friction.between)
        P += parameters[f"friction.{name}.b"] * (omega[:, i] + signs[name] * omega[:, j]) ** 2
    if all(f"contact.{name}.d" in parameters for name in unit.contacts):
        values = {k: parameters[f"geometry.{k}"] for k in unit.parameters} | {unit.moving or "": theta}
        sliding = {name: np.zeros(len(omega)) for name in unit.contacts}
        for (name, gear), radius in radii_matrix(unit).items():
            sliding[name] += radius.evaluate(values, np) * omega[:, gears.index(gear)]
        for name, speed in sliding.items():
            P += parameters[f"contact.{name}.d"] * speed**2
    return P
