"""Amplitudes of a signal at orders of an angle."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def order_amplitude(values: Array, angle: Array, order: float) -> complex:
    """Complex amplitude of a signal at an order of an angle [rad], by Hann's window, without its mean."""
    window = np.hanning(values.size + 2)[1:-1]
    mean = float(window @ values / window.sum())
    return complex(2.0 * (window @ ((values - mean) * np.exp(-1j * order * angle))) / window.sum())
