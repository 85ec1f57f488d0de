"""A fluid's Lambda_0, H and beta from a measured traction curve of two discs without spin, by least squares."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from rtcvt.offline.toroidal.ellipse import traction
from rtcvt.traction.contact import Drawing, Fluid

Array = NDArray[np.float64]


class Rig(NamedTuple):
    """Two discs of equal radius, one of them crowned [m], their largest pressure [Pa] and rolling speed [m/s]."""

    radius: float
    crown: float
    p_0: float
    u: float

    def curve(self, fluid: Fluid, creep: Array) -> Array:
        """Traction coefficients at creep over the rolling speed."""
        drawing = Drawing(self.radius, 0.5 * self.radius, 1.0 / (1.0 / self.crown + 2.0 / self.radius))
        N = (self.p_0 / drawing.ellipse(self.radius).p_0) ** 3
        return traction(drawing, fluid, self.radius, N, self.u, creep, 0.0).F / N


def calibrated(rig: Rig, creep: Array, coefficient: Array, start: Fluid) -> tuple[Fluid, Array]:
    """The fluid with these traction coefficients, and the standard deviations of ln Lambda_0, ln H and ln beta.

    A curve that was measured at one speed and pressure hardly distinguishes softening from yielding. So beta has a
    prior, 0.01 1/K within a factor of two (an assumption), and coefficients a standard deviation of a tenth of the
    largest."""

    def fluid(x: Array) -> Fluid:
        Lambda, H, beta = np.exp(x)
        return start._replace(Lambda=float(Lambda), H=float(H), beta=float(beta))

    def misses(x: Array) -> Array:
        curve = (rig.curve(fluid(x), creep) - coefficient) / (0.1 * coefficient.max())
        return np.append(curve, (x[2] - np.log(0.01)) / np.log(2.0))

    found = least_squares(misses, np.log([start.Lambda, start.H, start.beta]), diff_step=1e-4)
    return fluid(found.x), np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
