"""Derivatives of an instance's rates by differences."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtcvt.model import Instance

__all__ = ["jacobian_by_differences"]


def jacobian_by_differences(one: Instance, steps: ArrayLike) -> NDArray[np.float64]:
    """Central differences with a step for each state; the state is as before."""
    x, columns = one.x.copy(), []
    for j, h in enumerate(np.broadcast_to(steps, x.shape)):
        rates = []
        for sign in (1.0, -1.0):
            one.x[:] = x
            one.x[j] += sign * h
            rates.append(one.derivative().copy())
        one.x[:] = x
        columns.append((rates[0] - rates[1]) / (2.0 * h))
    return np.stack(columns, axis=1)
