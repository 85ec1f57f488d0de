"""Loss torques of a pulley's shaft: rolling bearings, a seal, and the oil around its sheaves.

Torques [N.m] against the speed omega [rad/s]; ``sigma`` is the smooth sign of omega, ``nu`` the kinematic viscosity.

**Bearings** (Palmgren 1957): two equal ones share the radial load R [N] of the belt. With n in
rpm, nu in mm2/s and d_m in mm the torque of each is M_0 + M_1 [N.mm]::

    M_0 = 1e-7 f_0 max(nu n, 2000)^(2/3) d_m^3,    M_1 = f_1 R/2 d_m
    M_B = b omega + 2 (M_0 + M_1) sigma
    R   = 2 tan(delta_0) F_CO sin(phi)/phi

R is the sum of the forces in both strands along the line of the centres. Over the wrapped angle 2 phi of the secondary
the belt presses with ``2 F_CO`` on two cones, so that the mean force along it is ``tan(delta_0) F_CO/phi``; the belt
pulls at the two pulleys with the same force.

**Seal** of fluoroelastomer (ISO/TR 14179-1), d_S its shaft's diameter [m]::

    M_S = 3.737 N d_S sigma

**Oil.** Two sheaves of radius R_S are discs that run in oil with the share `dip` of their faces (both faces of a disc,
laminar after von Karman 1921, turbulent with the 1/7 power law; the larger one is used)::

    M_O = dip rho C R_S^5 omega |omega|,    C = max(3.87 Re^-1/2, 0.146 Re^-1/5),    Re = |omega| R_S^2/nu

All are odd in omega, smooth at standstill, and never push. `shaft_friction` gives their slope too, for the integrator.
"""

import math

from rtcvt.kernel import kernel
from rtcvt.numerics.elementary import power
from rtcvt.variator.layout import N_SHAFT_LOSSES, OTHER_SHAFT, OTHER_SLOPE, W_SHAFTS, D, P, Q, Y

RPM = 30.0 / math.pi  # of one rad/s
TURBULENT = (3.87 / 0.146) ** (10.0 / 3.0)  # Re at which both laws of the disc meet


@kernel
def belt_pull(phi, data, w):
    """R [N]; expects the clamping force of the secondary and `geometry`."""
    return 2.0 * data[D.TAN_D] * w[Q.F_CO] * w[Q.SIN] / phi


@kernel
def shaft_friction(side, omega, b, omega_0, p, w):
    """Torques [N.m] against `omega` [rad/s] and their slope, into ``w``; `side` 0 or 1, `omega_0` of sigma [rad/s].

    Expects the radial load in ``w[Q.PULL]``. Each torque has a row in `layout.Y`, where its power comes out.
    """
    k = side * OTHER_SHAFT
    root = math.sqrt(omega * omega + omega_0 * omega_0)
    sigma = omega / root
    rise = omega_0 * omega_0 / (root * root * root)
    d_m = p[P.D_M_I + k]
    thin = 1e6 * p[P.NU] * RPM * abs(omega)  # nu n
    M_0 = 0.2 * p[P.F_0_I + k] * d_m * d_m * d_m  # of the two bearings, over max(nu n, 2000)^(2/3)
    slope = 0.0
    if thin > 2000.0:
        if M_0 > 0.0:
            M_0 *= power(thin, 2.0 / 3.0)
            slope = 2.0 / 3.0 * M_0 / root
    else:
        M_0 *= 158.74010519681994  # 2000^(2/3)
    dry = M_0 + p[P.F_1_I + k] * d_m * w[Q.PULL]
    seal = 3.737 * p[P.D_S_I + k]
    R_S = p[P.R_S_I + k]
    Re = abs(omega) * R_S * R_S / p[P.NU]
    oil = p[P.DIP_I + k] * p[P.RHO] * R_S * R_S * R_S * R_S  # over omega
    exponent = 1.5
    if Re > TURBULENT and oil > 0.0:
        oil *= R_S * abs(omega) * 0.146 / power(Re, 0.2)
        exponent = 1.8
    else:
        oil *= 3.87 * math.sqrt(p[P.NU] * abs(omega))
    at = W_SHAFTS + side * N_SHAFT_LOSSES - Y.BEARING
    w[at + Y.BEARING] = b * omega + dry * sigma
    w[at + Y.SEAL] = seal * sigma
    w[at + Y.OIL] = oil * omega
    w[Q.DM_I + side * OTHER_SLOPE] = b + slope + (dry + seal) * rise + exponent * oil


@kernel
def shaft_torque(side, w):
    """Sum of the torques [N.m] of `shaft_friction`."""
    at = W_SHAFTS + side * N_SHAFT_LOSSES
    total = w[at]
    for k in range(1, N_SHAFT_LOSSES):
        total += w[at + k]
    return total
