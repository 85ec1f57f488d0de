"""Drives drawn by seed around a unit: what nobody tuned anything on.

A layout has every centre moved by up to a tenth of the mean distance of neighbouring pulleys, radii times 0.85 to 1.15,
inertias times 0.6 to 1.6 and pretension times 0.85 to 1.2, each uniform; draws whose belt does not fit, or would wrap a
pulley by less than 20 degrees, are drawn again.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError

__all__ = ["layouts"]

Array = NDArray[np.float64]

_LEAST_WRAP = np.radians(20.0)


def layouts(unit: BeltUnit, seed: int) -> Iterator[BeltUnit]:
    """Drives around a unit, without end."""
    rng = np.random.default_rng(seed)
    center = np.array([p.center for p in unit.pulleys.values()])
    reach = 0.1 * float(np.mean(np.hypot(*(np.roll(center, -1, axis=0) - center).T)))
    while True:
        pulleys = {}
        for name, p in unit.pulleys.items():
            x, y = np.array(p.center) + rng.uniform(-reach, reach, 2)
            changes = {"center": (float(x), float(y)), "radius": p.radius * float(rng.uniform(0.85, 1.15))}
            pulleys[name] = p.model_copy(update=changes | {"inertia": p.inertia * float(rng.uniform(0.6, 1.6))})
        belt = unit.belt.model_copy(update={"pretension": unit.belt.pretension * float(rng.uniform(0.85, 1.2))})
        drawn = unit.model_copy(update={"pulleys": pulleys, "belt": belt})
        try:
            fits = bool(drawn.path().wrap.min() > _LEAST_WRAP)
        except InputError:
            fits = False
        if fits:
            yield drawn
