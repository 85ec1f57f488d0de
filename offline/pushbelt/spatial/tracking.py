"""Ring tracking: a lateral force that keeps a ring set on its saddle (Cebulla 2014, section 5.1.3).

Over the offset x of the ring from the middle of the saddle the force is (5.3)-(5.11)

    0 at 0,  -L at g/2,  -F at g,   odd;   g = (w_S - w_P)/4 - w_R/2 the gap between ring and pillar, (5.3)

a monotone piecewise cubic in between (5.5)-(5.8), with the slopes (5.10), (5.11)

    d_0 = (L - F)/h,  d_1 = -L/h,  h = g/2,    y'_0 = (3 d_0 - d_1)/2,  y'_1 = 2/(1/d_0 + 1/d_1),  y'_2 = d_1

at g, g/2 and 0, and beyond g the straight line of slope y'_0, (5.9). Its potential is the integral.
"""

from typing import Any, NamedTuple

from rtcvt.offline.pushbelt.compiled import inlined


class Tracking(NamedTuple):
    """Gap g [m], forces L and F [N] at half of it and at it, slopes [N/m] at g, g/2 and 0. All zero: no tracking."""

    gap: float
    L: float
    F: float
    slope_0: float
    slope_1: float
    slope_2: float


def tracking(gap: float, L: float, F: float) -> Tracking:
    """The law through 0, -L, -F; L = F = 0: none."""
    if F == 0.0:
        return Tracking(gap, 0.0, 0.0, 0.0, 0.0, 0.0)
    h = 0.5 * gap
    d_0, d_1 = (L - F) / h, -L / h
    return Tracking(gap, L, F, 0.5 * (3.0 * d_0 - d_1), 2.0 / (1.0 / d_0 + 1.0 / d_1), d_1)


@inlined
def _cubic(s: float, h: float, y_0: float, y_1: float, m_0: float, m_1: float) -> Any:
    """Hermite cubic with values y and slopes m at 0 and h, and its integral from 0, at `s`."""
    a = (2.0 * (y_0 - y_1) + h * (m_0 + m_1)) / (h * h * h)
    b = (3.0 * (y_1 - y_0) - h * (2.0 * m_0 + m_1)) / (h * h)
    value = y_0 + s * (m_0 + s * (b + s * a))
    return value, s * (y_0 + s * (0.5 * m_0 + s * (b / 3.0 + s * 0.25 * a)))


@inlined
def _law(law: Tracking, x: float) -> Any:
    """Force and energy at |x|, with the slopes of the force over |x|."""
    h = 0.5 * law.gap
    r = abs(x)
    if law.F == 0.0:
        return 0.0, 0.0
    _, inner = _cubic(h, h, 0.0, -law.L, law.slope_2, law.slope_1)
    if r <= h:
        value, area = _cubic(r, h, 0.0, -law.L, law.slope_2, law.slope_1)
        return value, -area
    _, outer = _cubic(h, h, -law.L, -law.F, law.slope_1, law.slope_0)
    if r <= law.gap:
        value, area = _cubic(r - h, h, -law.L, -law.F, law.slope_1, law.slope_0)
        return value, -inner - area
    over = r - law.gap
    return -law.F + law.slope_0 * over, -inner - outer + over * (law.F - 0.5 * law.slope_0 * over)


@inlined
def tracking_force(law: Tracking, x: float) -> float:
    """Force [N] on the ring at the offset `x` [m]."""
    value, _ = _law(law, x)
    return value if x >= 0.0 else -value


@inlined
def tracking_energy(law: Tracking, x: float) -> float:
    """Potential [J] of `tracking_force`."""
    _, energy = _law(law, x)
    return energy
