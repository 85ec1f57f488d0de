"""Contact of a disc and a roller of a toroidal variator from its drawing, and the fluid between them.

The roller turns about an axis through the centre C of the cavity's circle, of radius r_0, at the distance R_C from the
disc's axis. The normal in the contact passes through C. So the roller's curvature in the rolling direction is 1/r_0,
the disc's ``-n/r`` with its radius r there and the normal's part n away from its axis, and with ``r = R_C + r_0 n``::

    kappa_x = 1/r_0 - n/r = R_C/(r_0 r),    kappa_y = 1/r_crown - 1/r_0

The fluid is elastic and plastic (Johnson and Tevaarwerk 1977, at the pressures of traction drives): it yields by a
compliance H and carries no more shear than Lambda p. H is proportional to the thickness of the film, and this to
u^(2/3) (Hamrock and Dowson 1977 have 0.67). Lambda falls as the film gets warmer, by dissipation q per area: between a
film h with conductivity k_f (Johnson and Tevaarwerk) and two bodies that pass a source of length 2 a (Archard 1959)::

    Lambda = Lambda_0/(1 + beta dT),    dT = q Theta,    Theta = h/(8 k_f) + (2/3) sqrt(2 a chi/(pi u))/k_s
"""

import math
from typing import NamedTuple

from rtcvt.traction.hertz import Ellipse, compliances, ellipse

K_STEEL, CHI_STEEL = 46.0, 1.2e-5  # conductivity [W/(m.K)] and diffusivity [m2/s] of steel


class Drawing(NamedTuple):
    """Geometry of the contact of one roller: lengths [m] as in the module's text."""

    R_C: float
    r_0: float
    r_crown: float

    def curvatures(self, r: float) -> tuple[float, float]:
        """Curvatures along and across the rolling direction where the disc's radius is r [1/m]."""
        return self.R_C / (self.r_0 * r), 1.0 / self.r_crown - 1.0 / self.r_0

    def ellipse(self, r: float, N: float = 1.0) -> Ellipse:
        """Contact ellipse at the disc's radius r [m] under N [N]."""
        return ellipse(*self.curvatures(r), N)


class Fluid(NamedTuple):
    """A traction fluid, see the module's text."""

    Lambda: float  # largest shear stress by pressure, cold [-]
    H: float  # compliance of the film at u_0 [m/Pa]
    beta: float  # of the softening [1/K]
    u_0: float = 20.9  # rolling speed of H and h [m/s]
    h: float = 0.3e-6  # thickness of the film at u_0 [m]
    k_f: float = 0.15  # conductivity of the film [W/(m.K)]

    def film(self, u: float) -> float:
        """Thickness of the film at the rolling speed u [m/s] over that at u_0."""
        return float((u / self.u_0) ** (2.0 / 3.0))

    def warming(self, u: float, a: float) -> float:
        """Theta [K.m2/W] at the rolling speed u [m/s] with the half axis a [m]."""
        surfaces = 2.0 / 3.0 * math.sqrt(2.0 * a * CHI_STEEL / (math.pi * u)) / K_STEEL
        return self.h * self.film(u) / (8.0 * self.k_f) + surfaces


SANTOTRAC_50 = Fluid(0.0780, 2.525e-14, 0.033)  # at 140 degC, `rtcvt.offline.toroidal.calibration`
LAMBDA_DEVIATION = 0.108  # relative standard deviation of its Lambda_0, of the same


def yielding(fluid: Fluid, a: float, b: float, u: float) -> tuple[float, float, float]:
    """Compliance of steel and film for creep along, across, and spin [m/Pa]."""
    one, two, three = compliances(a, b)
    film = fluid.H * fluid.film(u)
    return one + film, two + film, three + film
