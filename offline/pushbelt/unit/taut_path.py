"""The taut path of a belt, two circles and their tangents, with the radii that the ring has at the moment.

    r_p = mean of |r - c_p| over the wrapped angle of pulley p,    cos(phi) = (r_I - r_O)/d_A
    lengths:  2 (pi - phi) r_I,  d_A sin(phi),  2 phi r_O,  d_A sin(phi)            (Cebulla 2014, Fig. 3.7)

A point belongs to the place nearest to it on this path. Its coordinate sigma in [0, 4) is the number of the section,
in the order of travel from the entry of the primary pulley, plus the fraction of the section that is passed:

    0 primary arc,  1 push span (from primary to secondary pulley),  2 secondary arc,  3 slack span

named for torque from primary to secondary; in overrun the push force is in section 3. Curves parallel to the path have
the same sigma.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class TautPath(NamedTuple):
    """Taut paths of the neutral fibre at n times, each (n,): radii r_I, r_O [m] and angle phi [rad]; d_A [m]."""

    r_I: Array
    r_O: Array
    phi: Array
    d_A: float

    @property
    def lengths(self) -> Array:
        """Lengths of the four sections [m], shape (n, 4)."""
        span = self.d_A * np.sin(self.phi)
        return np.stack([2.0 * (np.pi - self.phi) * self.r_I, span, 2.0 * self.phi * self.r_O, span], axis=-1)


def taut_path(points: Array, d_A: float) -> TautPath:
    """The taut paths of a ring at n times.

    Parameters
    ----------
    points : (n, m, 2) array
        Points of the neutral fibre in the order of travel [m]; secondary pulley at (0, 0), primary at (d_A, 0).
    """
    x, y = points[..., 0], points[..., 1]
    primary = x > 0.5 * d_A
    polar: list[Any] = []
    for of_pulley, X, Y in ((primary, x - d_A, y), (~primary, -x, -y)):  # angle 0 is in the middle of the arc
        angle, radius = np.arctan2(Y, X), np.hypot(X, Y)
        ahead = np.roll(angle, -1, axis=-1), np.roll(radius, -1, axis=-1)
        polar.append((angle, radius, *ahead, of_pulley & np.roll(of_pulley, -1, axis=-1)))
    r_I, r_O = (np.where(p[4], p[1], np.inf).min(axis=-1) for p in polar)
    for _ in range(4):  # an error of phi moves the means by the little that the ring differs from the path at its ends
        phi = _angle(r_I, r_O, d_A)
        r_I, r_O = _mean_radius(np.pi - phi, *polar[0]), _mean_radius(phi, *polar[1])
    return TautPath(r_I, r_O, _angle(r_I, r_O, d_A), d_A)


def _angle(r_I: Array, r_O: Array, d_A: float) -> Array:
    return np.arccos(np.clip((r_I - r_O) / d_A, -1.0, 1.0))


def _mean_radius(half: Array, angle: Array, radius: Array, angle_1: Array, radius_1: Array, used: Array) -> Array:
    """Mean over the angles within `half` (n,) of radii that are linear between points (n, m) and the next ones."""
    limit = half[:, None]
    a, b = np.clip(angle, -limit, limit), np.clip(angle_1, -limit, limit)
    slope = (radius_1 - radius) / np.where(used, angle_1 - angle, 1.0)
    middle = radius + slope * (0.5 * (a + b) - angle)
    return np.sum(np.where(used, middle * (a - b), 0.0), axis=-1) / (2.0 * half)


def place_on(path: TautPath, points: Array) -> tuple[Array, Array]:
    """Places sigma in [0, 4) of points (n, m, 2) [m], and their distance from the path [m], positive outwards."""
    x, y = points[..., 0], points[..., 1]
    r_I, r_O, phi = (a[:, None] for a in (path.r_I, path.r_O, path.phi))
    sin, cos = np.sin(phi), np.cos(phi)
    span = path.d_A * sin
    upper = y > 0.0
    along = np.where(upper, x * sin + y * cos, (path.d_A - x) * sin + y * cos) / span
    from_I = np.where(upper, along > 1.0, along < 0.0)
    from_O = np.where(upper, along < 0.0, along > 1.0)
    sigma = np.where(upper, 3.0, 1.0) + along
    sigma = np.where(from_I, 0.5 - 0.5 * np.arctan2(y, x - path.d_A) / (np.pi - phi), sigma)
    sigma = np.where(from_O, 2.5 - 0.5 * np.arctan2(-y, -x) / phi, sigma)
    offset = np.abs(y) * sin - x * cos - r_O
    offset = np.where(from_I, np.hypot(x - path.d_A, y) - r_I, offset)
    offset = np.where(from_O, np.hypot(x, y) - r_O, offset)
    return sigma % 4.0, offset
