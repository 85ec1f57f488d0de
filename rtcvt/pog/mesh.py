"""Loss of a mesh from its geometry: Niemann and Winter, *Maschinenelemente II*, 21.5; ISO/TR 14179-2.

Of the power that a contact carries, seen from its carrier, the share ``mu H_v`` is lost, with

    H_v = pi (1/z_1 + 1/z_2) (1 - eps_alpha + eps_1^2 + eps_2^2),    eps_i = z_i/(2 pi) (tan alpha_a - tan alpha),
    cos alpha_a = z_i cos alpha/(z_i + 2),    eps_alpha = eps_1 + eps_2,

for straight teeth without profile shift, alpha = 20 degrees, and z negative for a ring. This is the mean of sliding
speed times load where one or two pairs of teeth share it evenly. Where eps_i is above 1, as with most rings, the pitch
point lies where two pairs do, and ``(1 - eps_i)^2`` in that mean counts as negative. The mean coefficient of friction
follows from load, speed and oil (Schlenk; same sources), with forces in N, lengths in mm, Ra in um, eta in mPa.s::

    mu = 0.048 (F_bt/(b v_sum rho))^0.2 eta^-0.05 Ra^0.25 X_L,    F_bt = F_t/cos alpha, v_sum = 2 v sin alpha,
    1/rho = (1/r_1 + 1/r_2)/sin alpha,    F_bt/b >= 150 N/mm, 1 <= v <= 50 m/s

(the least speed is ours). The file gives the load and speed at which a contact has the efficiency of the shift table;
in a run mu follows ``(F/v)^0.2``, and the efficiency is at least 0.5.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rtcvt.pog.unit import Oil

ALPHA = math.radians(20.0)
MIN_LINE_LOAD = 150e3  # F_bt/b [N/m]
MIN_SPEED, MAX_SPEED = 1.0, 50.0  # [m/s]
LOAD_EXPONENT = 0.2  # exponent of load over speed
MIN_ETA = 0.5


def mesh_efficiency(mu: float, z_1: float, z_2: float) -> float:
    """Efficiency of a contact with coefficient of friction `mu` and numbers of teeth, that of a ring negative.

    Raises
    ------
    ValueError
        Teeth that small do not reach each other.
    """
    eps = []
    for z in (z_1, z_2):
        cosine = z * math.cos(ALPHA) / (z + 2.0) if z != -2.0 else 2.0
        if not 0.0 < cosine < 1.0:
            raise ValueError("more teeth, for a loss from the geometry")
        eps.append(z / (2.0 * math.pi) * (math.tan(math.acos(cosine)) - math.tan(ALPHA)))
    mean = 0.5 * sum(e * e + (1.0 - e) * abs(1.0 - e) for e in eps)
    return 1.0 - mu * math.pi * abs(1.0 / z_1 + 1.0 / z_2) * mean


def mesh_friction(oil: "Oil", r_1: float, r_2: float) -> float:
    """Mean coefficient of friction of a contact at pitch radii [m], that of a ring negative."""
    line = 1e-3 * max(oil.force, least_force(oil)) / (math.cos(ALPHA) * oil.width)  # [N/mm]
    v_sum = 2.0 * speed_of(oil) * math.sin(ALPHA)
    rho = 1e3 * math.sin(ALPHA) / abs(1.0 / r_1 + 1.0 / r_2)
    mu = 0.048 * (line / (v_sum * rho)) ** LOAD_EXPONENT * (1e3 * oil.viscosity) ** -0.05
    return float(mu * (1e6 * oil.roughness) ** 0.25 * oil.lubricant)


def least_force(oil: "Oil") -> float:
    """Tangential force [N] below which the friction does not follow it."""
    return MIN_LINE_LOAD * math.cos(ALPHA) * oil.width


def speed_of(oil: "Oil") -> float:
    """Speed of the file [m/s], limited to the range of the friction formula."""
    return min(max(oil.speed, MIN_SPEED), MAX_SPEED)
