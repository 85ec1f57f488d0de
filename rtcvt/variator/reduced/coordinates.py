"""The operating point of a reduced model: its coordinates, and how they are scaled for splines and networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.variator.reduced.splines import sites

Array = NDArray[np.float64]

COORDINATES = ("i", "xi", "kappa", "f", "y")
MAPS = ("bilinear", "sigmoid")


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of the operating point: its map and centre (`regression`), and the range of the data."""

    name: str
    map: str  # "bilinear" or "sigmoid"
    centre: float
    low: float
    high: float

    def mapped(self, z: Any) -> Array:
        """g(z), not clamped."""
        z = np.asarray(z, dtype=float)
        if self.map == "bilinear":
            return np.asarray((z - self.centre) / (z + self.centre))
        return np.asarray(z / np.sqrt(z**2 + self.centre**2))

    def scaled(self, z: Any) -> Array:
        """t in [-1, 1], clamped."""
        low, high = self.mapped(self.low), self.mapped(self.high)
        return np.asarray(2.0 * (self.mapped(np.clip(z, self.low, self.high)) - low) / (high - low) - 1.0)

    def unscaled(self, t: Any) -> Array:
        """z at t in [-1, 1]."""
        low, high = float(self.mapped(self.low)), float(self.mapped(self.high))
        g = low + 0.5 * (t + 1.0) * (high - low)
        if self.map == "bilinear":
            return np.asarray(self.centre * (1.0 + g) / (1.0 - g))
        return np.asarray(self.centre * g / np.sqrt(1.0 - g**2))


def counted(shift: tuple[float, float], z: Array) -> Array:
    """Operating points (n, 4 or 5) with the torque ratio less its value at which the push force changes strands."""
    z = np.array(z, dtype=float)
    q = (z[:, 0] - 1.0) / (z[:, 0] + 1.0)
    z[:, 1] -= shift[0] * q / np.sqrt(q**2 + shift[1] ** 2)
    return z


def scaled(coordinates: Sequence[Coordinate], shift: tuple[float, float], z: Array) -> Array:
    """Scaled coordinates t (n, k) in [-1, 1] of operating points (n, d), for the k `coordinates`."""
    z = counted(shift, z)
    return np.column_stack([c.scaled(z[:, j]) for j, c in enumerate(coordinates)])


def unscaled(coordinates: Sequence[Coordinate], shift: tuple[float, float], t: Array) -> Array:
    """Operating points (n, 4) at scaled coordinates t (n, 4)."""
    z = np.column_stack([c.unscaled(a) for c, a in zip(coordinates, t.T, strict=False)])
    z[:, 1] -= counted(shift, z * [1.0, 0.0, 1.0, 1.0])[:, 1]
    return z


def grid_of(coordinates: Sequence[Coordinate], shift: tuple[float, float], shape: Sequence[int]) -> Array:
    """Operating points (n, 4) at the sites of splines of these numbers; n is the product of `shape`."""
    grid = np.stack([a.ravel() for a in np.meshgrid(*(sites(n) for n in shape), indexing="ij")], axis=1)
    return unscaled(coordinates, shift, grid)


def nodes(y: Coordinate, n: int) -> Array:
    """`n` nodes (n,) in [-1, 1] for polynomials in y; one of them is that of y = 1, where the laws are interpolated."""
    t = np.cos(np.pi * np.arange(n) / max(n - 1, 1))[::-1].copy()
    one = float(y.scaled(1.0))
    t[np.argmin(np.abs(t - one))] = one
    return t
