"""Taut belt around any number of pulleys: tangent points, spans, wraps, and the curve over arc length.

A belt that runs from pulley i to pulley j along the unit vector t, with n = R t (R: 90 degrees anticlockwise), touches
both in the points p = c - sigma r n: sigma = +1 where the belt turns anticlockwise about the pulley, -1 where it turns
clockwise. With d = c_j - c_i and a = sigma_j r_j - sigma_i r_i

    d = l t + a R t,   l = sqrt(d.d - a^2),   t = (l d - a R d) / d.d

The belt leaves pulley i in the direction t_i and arrived in the direction t_(i-1); it turns there by sigma_i beta_i
with the wrap beta_i in (0, 2 pi). A simple closed curve turns by one revolution: sum sigma_i beta_i = 2 pi winding.

Arc length s counts in the order of the pulleys, from the point where the belt leaves the first: span 0, wrap of
pulley 1, span 1, ..., wrap of pulley 0.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class BeltPath:
    """A closed belt of straight spans and circular wraps.

    Attributes
    ----------
    center : (n, 2) array
        Centres of the pulleys [m].
    radius : (n,) array
        Radii of the belt's line on the pulleys [m].
    sigma : (n,) array
        +1: the belt turns anticlockwise about the pulley, -1: clockwise.
    direction : (n, 2) array
        Unit vector of the span from pulley i to pulley i + 1.
    span : (n,) array
        Lengths of these spans [m].
    wrap : (n,) array
        Wrap angles [rad], in (0, 2 pi).
    knots : (2 n + 1,) array
        Arc lengths [m] at which span 0, wrap 1, span 1, ..., wrap 0 begin, and the length at the end.
    """

    center: Array
    radius: Array
    sigma: Array
    direction: Array
    span: Array
    wrap: Array
    knots: Array

    @property
    def length(self) -> float:
        """Length of the belt [m]."""
        return float(self.knots[-1])

    def leaving(self, i: int) -> Array:
        """Point (2,) [m] at which the belt leaves pulley `i`."""
        return self.center[i] - self.sigma[i] * self.radius[i] * _normal(self.direction[i])

    def arriving(self, i: int) -> Array:
        """Point (2,) [m] at which the belt arrives at pulley `i`."""
        return self.center[i] - self.sigma[i] * self.radius[i] * _normal(self.direction[i - 1])

    def arc(self, i: int) -> tuple[float, float]:
        """Arc lengths [m] of the start and the end of the wrap of pulley `i`."""
        k = 2 * i - 1 if i > 0 else self.knots.size - 2
        return float(self.knots[k]), float(self.knots[k + 1])

    def at(self, s: Array | float) -> tuple[Array, Array, Array]:
        """Points (..., 2) [m], unit tangents (..., 2) and curvatures (...) [1/m, anticlockwise +] at arc length `s`."""
        s = np.mod(np.asarray(s, dtype=float), self.length)
        section = np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, self.knots.size - 2)
        along = s - self.knots[section]
        on_arc = section % 2 == 1
        i = np.where(on_arc, (section + 1) // 2 % self.span.size, section // 2)
        start = np.array([self.leaving(k) for k in range(self.span.size)])[i]
        line = start + along[..., None] * self.direction[i]

        turn = np.where(on_arc, self.sigma[i] * along / self.radius[i], 0.0)
        before = np.where(on_arc[..., None], self.direction[i - 1], self.direction[i])
        c, sn = np.cos(turn)[..., None], np.sin(turn)[..., None]
        tangent = c * before + sn * _normal(before)
        arc = self.center[i] - (self.sigma * self.radius)[i][..., None] * _normal(tangent)
        curvature = np.where(on_arc, self.sigma[i] / self.radius[i], 0.0)
        return np.where(on_arc[..., None], arc, line), tangent, curvature


def _normal(t: Array) -> Array:
    return np.stack([-t[..., 1], t[..., 0]], axis=-1)


def belt_path(center: Array, radius: Array, inside: Array, winding: int = 1) -> BeltPath:
    """The taut belt that visits pulleys in the order given.

    Parameters
    ----------
    center : (n, 2) array
        Centres of the pulleys [m], n >= 2.
    radius : (n,) array
        Radii of the belt's line [m].
    inside : (n,) array of bool
        True: the belt's inside touches the pulley, False: its back.
    winding : int
        +1: the order is anticlockwise round the loop, -1: clockwise.

    Raises
    ------
    ValueError
        The pulleys overlap, the belt cannot touch one of them, or it crosses itself or a pulley. The message names
        the pulleys by index.
    """
    center, radius = np.asarray(center, dtype=float), np.asarray(radius, dtype=float)
    sigma = winding * np.where(np.asarray(inside, dtype=bool), 1.0, -1.0)
    n = radius.size
    for i, j in combinations(range(n), 2):
        if np.hypot(*(center[j] - center[i])) <= radius[i] + radius[j]:
            raise ValueError(f"pulleys {i} and {j} overlap")

    direction, span = np.empty((n, 2)), np.empty(n)
    for i in range(n):
        j = (i + 1) % n
        d = center[j] - center[i]
        a = sigma[j] * radius[j] - sigma[i] * radius[i]
        span[i] = np.sqrt(d @ d - a * a)  # real: |a| <= r_i + r_j < |d|
        direction[i] = (span[i] * d - a * _normal(d)) / (d @ d)

    before = np.roll(direction, 1, axis=0)
    cross = before[:, 0] * direction[:, 1] - before[:, 1] * direction[:, 0]
    turn = np.arctan2(cross, np.sum(before * direction, axis=1))
    wrap = np.mod(sigma * turn, _TURN)
    if abs(sigma @ wrap - winding * _TURN) > 1e-6:
        loose = int(np.argmax(wrap))
        way = "anticlockwise" if winding > 0 else "clockwise"
        raise ValueError(f"the belt does not close {way} in this order: it would not touch pulley {loose}")

    sections = np.empty(2 * n)
    sections[0::2] = span
    sections[1::2] = np.roll(radius * wrap, -1)
    knots = np.concatenate([[0.0], np.cumsum(sections)])
    path = BeltPath(center, radius, sigma, direction, span, wrap, knots)
    _refuse_crossings(path)
    return path


def _refuse_crossings(path: BeltPath) -> None:
    n = path.span.size
    start = np.array([path.leaving(i) for i in range(n)])
    end = start + path.span[:, None] * path.direction
    for i in range(n):
        for k in range(n):
            if k in (i, (i + 1) % n):
                continue
            along = np.clip((path.center[k] - start[i]) @ path.direction[i], 0.0, path.span[i])
            if np.hypot(*(start[i] + along * path.direction[i] - path.center[k])) < path.radius[k]:
                raise ValueError(f"the span from pulley {i} to pulley {(i + 1) % n} runs through pulley {k}")
    for i, k in combinations(range(n), 2):
        a, b = _side(start[i], end[i], start[k]), _side(start[i], end[i], end[k])
        c, d = _side(start[k], end[k], start[i]), _side(start[k], end[k], end[i])
        if a * b < 0.0 and c * d < 0.0:
            raise ValueError(f"the spans after pulleys {i} and {k} cross")


def _side(a: Array, b: Array, p: Array) -> float:
    return float((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]))
