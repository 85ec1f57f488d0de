"""Derivatives by central differences, and the order of errors."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtcvt.model import Instance

Array = NDArray[np.float64]

__all__ = ["derivative", "jacobian_by_differences", "order"]


def derivative(of: Callable[[Array], ArrayLike], x: Array, step: ArrayLike) -> Array:
    """Derivative (..., x.shape) of a function by central differences with a step for each entry of `x`."""
    columns = []
    for i, h in np.ndenumerate(np.broadcast_to(step, x.shape)):
        values = []
        for sign in (1.0, -1.0):
            shifted = x.copy()
            shifted[i] += sign * h
            values.append(np.asarray(of(shifted)))
        columns.append((values[0] - values[1]) / (2.0 * h))
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *x.shape)


def order(errors: list[float]) -> float:
    """Observed order of the last halving."""
    return float(np.log2(errors[-2] / errors[-1]))


def jacobian_by_differences(one: Instance, steps: ArrayLike) -> Array:
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
