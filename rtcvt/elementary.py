"""Sine and cosine in plain arithmetic: the same bits on every platform, whatever its C library.

Range reduction by multiples of pi/2 in three parts (Cody and Waite 1980), then the minimax polynomials of
fdlibm (Sun Microsystems 1993) on [-pi/4, pi/4]. The error is below 2 units in the last place for ``|x| < 1e5`` rad,
far beyond any tilt angle; outside, and for NaN, the result is NaN.
"""

import math

import numpy as np

from rtcvt.kernel import kernel

__all__ = ["cos", "sin"]

TWO_OVER_PI = 0.6366197723675814
PI_HALF_1 = 1.57079632673412561417e00  # the first 33 bits of pi/2
PI_HALF_2 = 6.07710050630396597660e-11  # the next 33 bits
PI_HALF_3 = 2.02226624879595063154e-21  # the rest


@kernel
def _sin_reduced(r):
    z = r * r
    p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
    return r + r * z * (-1.66666666666666324348e-01 + z * p)


@kernel
def _cos_reduced(r):
    z = r * r
    p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
    p = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p))
    h = 0.5 * z
    w = 1.0 - h
    return w + (((1.0 - w) - h) + z * z * p)


@kernel
def _quadrant(x, quarter_turns):
    """Sine of ``x + quarter_turns pi/2`` for ``|x| < 1e5``."""
    k = math.floor(x * TWO_OVER_PI + 0.5)
    r = ((x - k * PI_HALF_1) - k * PI_HALF_2) - k * PI_HALF_3
    q = (int(k) + quarter_turns) & 3
    if q == 0:
        return _sin_reduced(r)
    if q == 1:
        return _cos_reduced(r)
    if q == 2:
        return -_sin_reduced(r)
    return -_cos_reduced(r)


@kernel
def sin(x):
    """Sine of `x` [rad]; NaN for NaN and for ``|x| >= 1e5``."""
    if abs(x) < 1e5:
        return _quadrant(x, 0)
    return np.nan


@kernel
def cos(x):
    """Cosine of `x` [rad]; NaN for NaN and for ``|x| >= 1e5``."""
    if abs(x) < 1e5:
        return _quadrant(x, 1)
    return np.nan
