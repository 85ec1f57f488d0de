"""Hertz's contact of two smooth bodies, and their compliance in rolling by Kalker's linear theory.

With the curvatures kappa_x along the rolling direction and kappa_y across, each the sum of those of the two bodies, and
q <= 1 the ratio of the axes of the ellipse, e^2 = 1 - q^2, K and E the complete elliptic integrals of modulus e
(Johnson, *Contact Mechanics*, 1985, section 4.2)::

    kappa_short/kappa_long = (E/q^2 - K)/(K - E)
    c^3 = 3 N R_e/(4 E*) F_1^3,    R_e = 1/sqrt(kappa_x kappa_y),    c^2 = a b,    p_0 = 3 N/(2 pi a b)
    F_1^3 = 4 q^(3/2)/(pi e^2) sqrt((E/q^2 - K)(K - E))

The shorter axis lies where the curvature is larger. a is the half axis along the rolling direction, b across it. All
lengths and p_0 are proportional to the cube root of N.
"""

import math
from typing import NamedTuple

import numpy as np

E_STAR = 206e9 / (1.0 - 0.3**2) / 2.0  # [Pa], steel on steel
G_STEEL = 206e9 / 2.6  # shear modulus [Pa]

# Kalker 1967, Poisson's ratio 0.25: g = shorter over longer axis; C_11, C_22, C_23 for a <= b, then for a >= b
_G = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_ACROSS = (
    (3.31, 3.37, 3.44, 3.53, 3.62, 3.72, 3.81, 3.91, 4.01, 4.12),
    (2.52, 2.63, 2.75, 2.88, 3.01, 3.14, 3.28, 3.41, 3.54, 3.67),
    (0.473, 0.603, 0.715, 0.823, 0.929, 1.03, 1.14, 1.25, 1.36, 1.47),
)
_ALONG = (
    (11.7, 7.78, 6.34, 5.57, 5.10, 4.78, 4.54, 4.36, 4.22, 4.12),
    (12.8, 8.14, 6.40, 5.48, 4.90, 4.50, 4.21, 3.99, 3.81, 3.67),
    (14.6, 6.63, 4.32, 3.24, 2.62, 2.23, 1.95, 1.75, 1.59, 1.47),
)


class Ellipse(NamedTuple):
    """Half axes along and across the rolling direction [m] and the largest pressure [Pa]."""

    a: float
    b: float
    p_0: float


def elliptic_integrals(q: float) -> tuple[float, float]:
    """Complete elliptic integrals K and E of the modulus sqrt(1 - q^2), by arithmetic-geometric means."""
    a, b, power, total = 1.0, q, 0.5, 0.5 * (1.0 - q * q)
    while abs(a - b) > 1e-15 * a:
        a, b, c = 0.5 * (a + b), math.sqrt(a * b), 0.5 * (a - b)
        power *= 2.0
        total += power * c * c
    K = math.pi / (a + b)
    return K, K * (1.0 - total)


def _brackets(q: float) -> tuple[float, float]:
    """(E/q^2 - K)/e^2 and (K - E)/e^2; pi/4 each for a circle."""
    e2 = 1.0 - q * q
    if e2 < 1e-5:  # to first order, where both differences vanish
        return math.pi / 4.0 * (1.0 + 9.0 / 8.0 * e2), math.pi / 4.0 * (1.0 + 3.0 / 8.0 * e2)
    K, E = elliptic_integrals(q)
    return (E / (q * q) - K) / e2, (K - E) / e2


def ellipse(kappa_x: float, kappa_y: float, N: float = 1.0) -> Ellipse:
    """Contact ellipse of steel bodies with curvatures [1/m] above 0 under the normal force N [N]."""
    short, long = max(kappa_x, kappa_y), min(kappa_x, kappa_y)
    low, high = math.log(1e-5), 0.0
    for _ in range(60):  # the ratio of curvatures falls with q
        middle = 0.5 * (low + high)
        one, other = _brackets(math.exp(middle))
        low, high = (middle, high) if one / other > short / long else (low, middle)
    q = math.exp(0.5 * (low + high))
    one, other = _brackets(q)
    F_1 = 4.0 / math.pi * q**1.5 * math.sqrt(one * other)
    c = (0.75 * N / (E_STAR * math.sqrt(short * long)) * F_1) ** (1.0 / 3.0)
    minor, major = c * math.sqrt(q), c / math.sqrt(q)
    a, b = (minor, major) if kappa_x >= kappa_y else (major, minor)
    return Ellipse(a, b, 1.5 * N / (math.pi * a * b))


def kalker(k: float) -> tuple[float, float, float]:
    """Kalker's creepage coefficients C_11, C_22 and C_23 for k = a/b, interpolated in the axes' ratio."""
    rows, g = (_ACROSS, k) if k <= 1.0 else (_ALONG, 1.0 / k)
    x = np.log(_G)  # smooth on both sides, and beyond the table as at its end
    c_11, c_22, c_23 = (math.exp(float(np.interp(math.log(g), x, np.log(row)))) for row in rows)
    return c_11, c_22, c_23


def compliances(a: float, b: float) -> tuple[float, float, float]:
    """L_1, L_2 and L_3 [m/Pa]: surface displacement by shear stress for creep along, across and spin (Kalker 1982).

    With them the simplified theory has the forces of the linear theory at small creep.
    """
    c_11, c_22, c_23 = kalker(a / b)
    third = math.pi * a * math.sqrt(a / b) / (4.0 * G_STEEL * c_23)
    return 8.0 * a / (3.0 * G_STEEL * c_11), 8.0 * a / (3.0 * G_STEEL * c_22), third
