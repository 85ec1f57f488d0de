"""Networks of two hidden layers over the scaled coordinates, with outputs that are linear in their units."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtcvt.variator.reduced.coordinates import COORDINATES

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Networks:
    """The hidden layers of M networks: weights of the coordinates and of 1, then of the first layer and of 1.

    first (M, n_1, 6), second (M, n_2, n_1 + 1).
    """

    first: Array
    second: Array

    @classmethod
    def none(cls) -> "Networks":
        """No network: the outputs are constant."""
        return cls(np.zeros((0, 0, len(COORDINATES) + 1)), np.zeros((0, 0, 1)))

    @property
    def units(self) -> int:
        """Number of units, with the constant 1 after them."""
        return self.second.shape[0] * self.second.shape[1] + 1

    def hidden(self, t: Array) -> Array:
        """Units (n, `units`) at scaled coordinates (n, 5)."""
        found = []
        for first, second in zip(self.first, self.second, strict=True):
            h = t
            for layer in (first, second):
                a = h @ layer[:, :-1].T + layer[:, -1]
                h = a / np.sqrt(1.0 + a * a)
            found.append(h)
        return np.column_stack([*found, np.ones(len(t))])
