"""Inputs that no machine gets, of seven kinds that ask of a step what it was not made for; and harsh ones."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtcvt.model import Model, Variable

__all__ = ["KINDS", "harsh_inputs", "hostile_inputs"]

Array = NDArray[np.float64]

# of the numbers k of the steps, shape (n, 1), the numbers i of the inputs, shape (m,), and a generator
KINDS: dict[str, Callable[[Array, Array, np.random.Generator], Array]] = {
    "jumps": lambda k, i, rng: rng.uniform(-1.0, 1.0, (len(k), len(i))),
    "reversals": lambda k, i, rng: (-1.0) ** (k + i),
    "slow reversals": lambda k, i, rng: (-1.0) ** (k // (100 + 37 * i)),
    "spikes": lambda k, i, rng: np.where(rng.random((len(k), len(i))) < 0.01, rng.uniform(-10.0, 10.0, k.shape), 0.0),
    "extremes": lambda k, i, rng: np.where(k < 50_000, 1.0, -1.0) * np.ones(len(i)),
    "chirp": lambda k, i, rng: np.sin(0.5e-5 * np.pi * k**2 * (1.0 + 0.1 * i)),
    "tiny": lambda k, i, rng: rng.choice([0.0, -0.0, 5e-324, 1e-300, -1e-160, 1e-12, 1.0, -1.0], (len(k), len(i))),
}


def _size(v: Variable) -> float:
    """The largest of its range, ten times its nominal value if it has none."""
    return 10.0 * (v.nominal or 1.0) if v.maximum is None else max(abs(v.minimum or 0.0), abs(v.maximum))


def hostile_inputs(model: Model, kind: str, first: int, n: int, rng: np.random.Generator) -> Array:
    """Rows `first` to ``first + n`` of inputs, shape (n, n_u); what cannot be negative is not."""
    inputs = model.select("input")
    numbers = np.arange(first, first + n, dtype=float)[:, None], np.arange(len(inputs), dtype=float)
    u = KINDS[kind](*numbers, rng) * np.array([_size(v) for v in inputs])
    for v in inputs:
        if v.minimum == 0.0:
            u[:, v.index] = abs(u[:, v.index])
    return np.ascontiguousarray(u)


def harsh_inputs(model: Model, n: int, rng: np.random.Generator) -> Array:
    """Rows of inputs, shape (n, n_u), that a machine may get: steps or ramps between random values, some reversals.

    Speeds have ramps only. What cannot be negative, clamping and ratios are not.
    """
    u, k = np.empty((n, len(model.select("input")))), np.arange(n)
    for v in model.select("input"):
        high = v.maximum if v.maximum is not None else v.nominal or 1.0
        low = v.minimum if v.minimum is not None else -high
        if v.name.startswith(("clamp.", "ratio.")):
            low, high = 0.3 * high, 2.6 * high
        at = np.sort(rng.uniform(0.0, n, rng.integers(2, 9)))
        values = rng.uniform(low, high, len(at) + 1)
        back = rng.random(len(values)) < 0.3
        values[1:] = np.where(back[1:], np.clip(-values[:-1], low, high), values[1:])
        if v.unit == "rad/s":
            values[0] = v.start or 0.0
        ramps = v.unit == "rad/s" or rng.random() < 0.5
        u[:, v.index] = np.interp(k, [0.0, *at], values) if ramps else values[np.searchsorted(at, k)]
    return u
