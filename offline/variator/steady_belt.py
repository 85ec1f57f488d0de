"""Thrust ratio of a belt that does not stretch: Sattler's steady belt with Euler-Eytelwein arcs, vectorised.

It is the velocity model (`pushbelt.unit.velocity_model`, Cebulla 2014, section 4.1) with EA infinite. Forces
by F_O, strands less the centrifugal part m* v^2: a the slack one, a + T the other, T = 2 mu xi/cos(delta_0), mu* =
mu/sin(delta_0). The belt creeps over the same active arc Phi on both pulleys:

    Phi = |ln((a + T)/a)|/mu*
    2 tan(delta_0)      = 2 phi a + |T|/mu* - a Phi
    2 tan(delta_0) zeta = 2 (pi - phi) (a + T) + |T|/mu* - (a + T) Phi

Where the active arc is longer than the wrapped one, it counts as long as that. Speed and force cancel out: zeta depends
on ratio and torque ratio alone.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.variator.capacity import capacity

Array = NDArray[np.float64]

_BISECTIONS = 60


class SteadyBelt(NamedTuple):
    """Thrust ratio F_I/F_O, and shares of the wrapped arcs that are active on primary and secondary, each (n,)."""

    zeta: Array
    share_I: Array
    share_O: Array


def steady_belt(i: Array, xi: Array, length: float, belt: Mapping[str, float]) -> SteadyBelt:
    """The belt at ratios of the rocking edges and torque ratios (n,), with the taut path's `length` [m]."""
    phi = _angle(i, length, belt)
    mu_star, tan_d = belt["mu"] / np.sin(belt["delta_0"]), np.tan(belt["delta_0"])
    T = capacity(belt["mu"], np.cos(belt["delta_0"])) * np.asarray(xi)

    def arc(a: Array) -> Array:
        return np.asarray(np.abs(np.log((a + T) / a)) / mu_star)

    low = np.maximum(1e-6, 1e-6 - T)
    high = low + 10.0
    for _ in range(_BISECTIONS):
        a = 0.5 * (low + high)
        above = (2.0 * phi * a + np.abs(T) / mu_star - a * arc(a) > 2.0 * tan_d) & (arc(a) < 2.0 * phi)
        low, high = np.where(above, low, a), np.where(above, a, high)
    a = 0.5 * (low + high)
    wrapped = 2.0 * (np.pi - phi)
    zeta = (wrapped * (a + T) + np.abs(T) / mu_star - (a + T) * np.minimum(arc(a), wrapped)) / (2.0 * tan_d)
    return SteadyBelt(zeta, arc(a) / wrapped, arc(a) / (2.0 * phi))


def _angle(i: Array, length: float, belt: Mapping[str, float]) -> Array:
    """Half the wrapped angle of the secondary [rad]: Cebulla 2014, (4.36)."""
    phi = np.linspace(np.pi - 0.3, 0.3, 20_001)
    r_O = (length - 2.0 * belt["d_A"] * (np.sin(phi) + (np.pi - phi) * np.cos(phi))) / (2.0 * np.pi)
    r_I = r_O + belt["d_A"] * np.cos(phi)
    good = np.minimum(r_I, r_O) > 2.0 * belt["h_off"]
    ratio = ((r_O - belt["h_off"]) / (r_I - belt["h_off"]))[good]  # grows as phi falls
    falling = ratio[::-1] if ratio[0] > ratio[-1] else ratio
    angles = phi[good][::-1] if ratio[0] > ratio[-1] else phi[good]
    return np.interp(i, falling, angles)
