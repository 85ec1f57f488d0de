"""Kinematic start: running radii from the length of the ring, and the path of its neutral fibre.

Cebulla 2014, Fig. 3.7 and (4.34)-(4.41):

    r_I = r_O + cos(phi) d_A,   l = 2 t_L + b_I + b_O,
    t_L = sin(phi) d_A,   b_I = 2 r_I (pi - phi),   b_O = 2 r_O phi.

With the ratio r_O/r_I (4.1) given, one equation for r_O remains. The thesis defines the ratio at the neutral fibre;
`offset` defines it that much further in, at the rocking edge, where speeds are equal without slip: with 24 mm class
geometry a ratio of 0.5 at the neutral fibre is 0.487 there.

Fixed and loose sheaves are on opposite sides, so each pulley moves the belt axially by tan(delta_0) times its change of
radius from that at ratio 1, (4.40): `misalignment`. A strand, 5 um longer for 1.2 mm, is assumed in line.

The path is a chain of arcs and lines with continuous tangent. The secondary pulley is at (0, 0), the primary at
(d_A, 0); the belt runs clockwise, so arcs have negative curvature. The path starts where the belt leaves the secondary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rtcvt.errors import InputError

Array = NDArray[np.float64]

UPPER, PRIMARY, LOWER, SECONDARY = 0, 1, 2, 3  # sections of the path: strand O to I, arc, strand I to O, arc


class Closure(NamedTuple):
    """Radii of the neutral fibre [m], angle phi [rad] and length of a strand t_L [m]."""

    r_I: float
    r_O: float
    phi: float
    t_L: float

    @property
    def wrap_I(self) -> float:
        """Wrapped angle of the primary pulley [rad]."""
        return 2.0 * (np.pi - self.phi)

    @property
    def wrap_O(self) -> float:
        """Wrapped angle of the secondary pulley [rad]."""
        return 2.0 * self.phi

    @property
    def length(self) -> float:
        """(4.35) [m]."""
        return 2.0 * self.t_L + self.r_I * self.wrap_I + self.r_O * self.wrap_O


def radius_at_one(length: float, d_A: float, offset: float = 0.0) -> float:
    """Radius at ratio 1 (4.40) [m]."""
    return float(0.5 * length - np.hypot(d_A, offset)) / np.pi


def misalignment(r_I: float, r_O: float, r_1: float, tan_d: float, offset: float = 0.0) -> float:
    """Axial distance of the belt's mid planes on the two pulleys [m]."""
    return offset + tan_d * (2.0 * r_1 - r_I - r_O)


def closure(length: float, d_A: float, ratio: float, offset: float = 0.0) -> Closure:
    """Running radii of a ring of this length [m].

    Parameters
    ----------
    ratio : float
        (r_O - offset)/(r_I - offset).
    offset : float
        Depth below the neutral fibre at which the ratio is defined [m].

    Raises
    ------
    InputError
        The belt cannot reach this ratio.
    """

    def at(r_O: float) -> Closure:
        r_I = offset + (r_O - offset) / ratio
        cosine = min(max((r_I - r_O) / d_A, -1.0), 1.0)
        t_L = np.sqrt((1.0 - cosine**2) * d_A**2)
        return Closure(float(r_I), float(r_O), float(np.arccos(cosine)), float(t_L))

    slope = abs(1.0 / ratio - 1.0)
    largest = offset + min(d_A / slope if slope > 0.0 else np.inf, length)
    smallest = offset + 1e-9 * d_A
    if radius_at_one(length, d_A) <= offset or (at(smallest).length - length) * (at(largest).length - length) >= 0.0:
        raise InputError("pushbelt", "i_r", ratio, f"a ratio at which a belt of {length:g} m closes")
    return at(brentq(lambda r: at(r).length - length, smallest, largest, xtol=1e-16, rtol=1e-15))


class Path(NamedTuple):
    """Chain of n arcs and lines: bounds (n + 1) of arc length [m], start points (n, 2), angles, curvatures, sections.

    The last angle and point, of index n, close the loop.
    """

    s: Array
    point: Array
    psi: Array
    kappa: Array
    section: NDArray[np.int64]

    @property
    def length(self) -> float:
        """Length of the loop [m]."""
        return float(self.s[-1])


class Points(NamedTuple):
    """Points of a path: position [m], angle of the tangent [rad], curvature [1/m] and section, each shape (m,)."""

    x: Array
    y: Array
    psi: Array
    kappa: Array
    section: NDArray[np.int64]


def chain(
    start: Sequence[float], psi: float, lengths: Sequence[float], curvatures: Sequence[float], sections: Sequence[int]
) -> Path:
    """The path that runs through arcs and lines of these lengths [m] and curvatures [1/m], tangent by construction."""
    n = len(lengths)
    s = np.concatenate([[0.0], np.cumsum(lengths)])
    angle = psi + np.concatenate([[0.0], np.cumsum(np.multiply(lengths, curvatures))])
    point = np.empty((n + 1, 2))
    point[0] = start
    for k in range(n):
        point[k + 1] = point[k] + _chord(angle[k], curvatures[k], lengths[k])
    return Path(s, point, angle, np.array(curvatures, dtype=float), np.array(sections, dtype=np.int64))


def belt_path(c: Closure, d_A: float) -> Path:
    """Upper strand, primary arc, lower strand, secondary arc."""
    t_L = d_A * np.sin(c.phi)
    return chain(
        (-c.r_O * np.cos(c.phi), c.r_O * np.sin(c.phi)),
        0.5 * np.pi - c.phi,
        (t_L, c.r_I * c.wrap_I, t_L, c.r_O * c.wrap_O),
        (0.0, -1.0 / c.r_I, 0.0, -1.0 / c.r_O),
        (UPPER, PRIMARY, LOWER, SECONDARY),
    )


def evaluate(path: Path, s: Array) -> Points:
    """Points at arc lengths `s` [m], which may go around more than once: each turn subtracts 2 pi from the angle."""
    s = np.asarray(s, dtype=float)
    turns = np.floor(s / path.length)
    local = s - turns * path.length
    k = np.clip(np.searchsorted(path.s, local, side="right") - 1, 0, len(path.kappa) - 1)
    step = local - path.s[k]
    chord = _chord(path.psi[k], path.kappa[k], step)
    psi = path.psi[k] + path.kappa[k] * step - 2.0 * np.pi * turns
    return Points(path.point[k, 0] + chord[0], path.point[k, 1] + chord[1], psi, path.kappa[k], path.section[k])


def _chord(psi: Array | float, kappa: Array | float, step: Array | float) -> Array:
    """Vector from the start of an arc to its point at `step`; a line for kappa = 0."""
    half = 0.5 * np.asarray(kappa) * step
    chord = step * np.sinc(half / np.pi)
    return np.array([chord * np.cos(psi + half), chord * np.sin(psi + half)])
