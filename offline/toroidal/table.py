"""Table of the tractions of a contact ellipse for real time: read by `rtcvt.traction.table`.

``python -m rtcvt.offline.toroidal.table FILE`` writes it.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.toroidal.ellipse import shear
from rtcvt.traction.table import HALF, RATIOS, SHAPE, write_table
from rtcvt.variator.reduced.splines import sites, splines_through

Array = NDArray[np.float64]

STRIPS, CELLS = 96, 160


def sampled(shape: tuple[int, int, int] = SHAPE) -> Array:
    """G and H at the `sites` along ln k, direction and size, shape (*shape, 2)."""
    t, direction, size = (0.5 * (sites(n) + 1.0) for n in shape)
    values = np.empty((*shape, 2))
    q = np.clip(size, 1e-6, 1.0 - 1e-7)  # of infinite creep
    J = HALF * np.sqrt(q / (1.0 - q))
    for i, k in enumerate(np.exp(np.log(RATIOS[0]) + np.log(RATIOS[1] / RATIOS[0]) * t)):
        arm = np.sqrt((1.0 + k * k) / 5.0)
        for j, share in enumerate(np.clip(direction, 1e-8, 1.0 - 1e-8)):
            by_creep, by_spin = np.sqrt(share), np.sqrt(1.0 - share)
            found = shear(by_creep * J, 0.0, by_spin * J / arm, k, STRIPS, CELLS)
            values[i, j, :, 0] = found.F_x / (by_creep * np.sqrt(q))
            values[i, j, :, 1] = found.M / (arm * by_spin * np.sqrt(q))
    return values


def coefficients(shape: tuple[int, int, int] = SHAPE) -> Array:
    """Coefficients of the splines through `sampled`."""
    return splines_through(sampled(shape), 3)


if __name__ == "__main__":
    write_table(coefficients(), Path(sys.argv[1]))
