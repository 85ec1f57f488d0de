"""Forces of the belt on the bearings of the pulleys' shafts in a recorded run, and their orders of element passing.

An element that touches a pulley at the azimuth phi gets from its two flanks, with the normal force N and the friction
T_t in the direction of travel and T_r outwards of one (`contact.flank`)::

    F = 2 (N sin delta_0 + T_r) (cos phi, sin phi) + 2 T_t (sin phi, -cos phi)

The bearings of the pulley get the sum of -F over its elements, which is the sum of the forces in the belt's two ends
at the wrap less what accelerates the belt. As noise they are heard at multiples of the frequency with which elements
pass (Cebulla 2014, chapter 8).
"""

import json
import math
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.orders import order_amplitude

Array = NDArray[np.float64]

ORDERS = (1, 2, 3)  # of element passing
MIN_PASSING = 3.0  # elements that pass in a window whose orders are reported


def bearing_forces(file: h5py.File, rows: slice = slice(None)) -> Array:
    """Force (n, 2, 2) [N] of the belt on the primary and the secondary pulley, by x and y, over frames.

    The secondary's axis is the origin, x points to the primary's.
    """
    belt = json.loads(file.attrs["parameters"])["belt"]
    place = file["elements/position"][rows]
    normal, along, outwards = np.moveaxis(file["elements/flank"][rows].astype(np.float64), -1, 0)
    primary = place[..., 0] > 0.5 * belt["d_A"]
    x, y = place[..., 0] - np.where(primary, belt["d_A"], 0.0), place[..., 1]
    r = np.hypot(x, y)
    push = normal * math.sin(belt["delta_0"]) + outwards
    force = -2.0 * np.stack([push * x + along * y, push * y - along * x], axis=-1) / r[..., None]
    return np.stack([np.sum(np.where(at[..., None], force, 0.0), axis=1) for at in (primary, ~primary)], axis=1)


def passing_orders(file: h5py.File, rows: slice = slice(None)) -> dict[int, list[float]]:
    """Amplitudes [N] of the bearing forces of the two pulleys by order of element passing.

    The root of the sum of squares of x and y. Orders above half the rate of frames are left out, and all where hardly
    an element passes.
    """
    crossed = np.asarray(file["crossings"][rows], dtype=np.float64)
    each = np.diff(crossed)
    if each.size == 0 or abs(crossed[-1] - crossed[0]) < MIN_PASSING:
        return {}
    force, angle, most = bearing_forces(file, rows), 2.0 * math.pi * crossed, 0.5 / np.abs(each).max()
    return {
        k: [float(np.linalg.norm([order_amplitude(force[:, i, b], angle, k) for b in range(2)])) for i in range(2)]
        for k in ORDERS
        if k <= most
    }


def bearing_figures(file: h5py.File, rows: slice) -> dict[str, Any]:
    """``bearing_N``, mean forces by pulley, x and y, and ``bearing_orders_N``, see `passing_orders`, or nothing."""
    if "elements/flank" not in file:
        return {}
    return {
        "bearing_N": bearing_forces(file, rows).mean(axis=0).tolist(),
        "bearing_orders_N": {str(k): v for k, v in passing_orders(file, rows).items()},
    }
