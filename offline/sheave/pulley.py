"""The sheaves of a pulley from their drawings: influence numbers for the belt models, and a picture.

A pulley of the hybrid belt has two mirrored sheaves; they represent one loose and one fixed sheave and yield as the
mean of the two. Its law has C_k(r, r) of the harmonics as polynomials in the radius r of the rocking edges, where the
belt models count their contacts; an element presses evenly over the height of its flank, whose middle lies further in.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.sheave.elasticity import body
from rtcvt.offline.sheave.influence import Influence, Separable, influence, separable
from rtcvt.offline.sheave.mesh import mesh
from rtcvt.offline.sheave.profile import Drawing

Array = NDArray[np.float64]

DEGREE = 4  # of the polynomials: they leave less than the finite elements' own error
RADII = 10  # at which the influence function is computed


class Flank(NamedTuple):
    """Where an element presses: flank's angle [rad], its height and the depth of its middle below the rocking edge [m],
    smallest and largest radius of the rocking edges [m]."""

    delta_0: float
    height: float
    depth: float
    r_min: float
    r_max: float


class Drawn(NamedTuple):
    """Influence of drawn sheaves.

    `r` (n,) are radii of the rocking edges [m]; `a` the polynomials of C_k(r, r), the constant first, by harmonic
    [m/N, 1/N, ...]; `separable` the source's form; `compliance` of the loose and the fixed sheave over their mean.
    """

    r: Array
    loose: Influence
    fixed: Influence
    a: tuple[tuple[float, ...], ...]
    separable: Separable
    compliance: tuple[float, float]

    @property
    def mean(self) -> Array:
        """C_k(r, r), mean of the two sheaves, all harmonics, (K, n) [m/N]."""
        return 0.5 * (self.loose.at_radius + self.fixed.at_radius)


@lru_cache(maxsize=8)
def drawn(drawing: Drawing, flank: Flank) -> Drawn:
    """Influence numbers of drawn sheaves under the elements of a belt."""
    r = np.linspace(flank.r_min, flank.r_max, RADII)
    tan_d = float(np.tan(flank.delta_0))
    loose, fixed = (
        influence(body(p, mesh(p, tan_d, drawing.mesh), tan_d), r - flank.depth, flank.height)
        for p in (drawing.loose, drawing.fixed)
    )
    mean = 0.5 * (loose.at_radius + fixed.at_radius)
    scale = float(r.max())
    powers = np.vander(r / scale, DEGREE + 1, increasing=True)
    taken = mean[: drawing.harmonics + 1]
    fits = [np.linalg.lstsq(powers / c[:, None], np.ones_like(c), rcond=None)[0] for c in taken]
    a = [tuple(map(float, fit / scale ** np.arange(DEGREE + 1))) for fit in fits]
    total = mean.sum()
    compliance = (float(loose.at_radius.sum() / total), float(fixed.at_radius.sum() / total))
    return Drawn(r, loose, fixed, tuple(a), separable(r, taken, DEGREE), compliance)
