"""Jumps of the thrust ratio: places of fronts in the space of operating points.

Where the push force changes strands, the elements of an arc are either pressed together or apart, and the thrust ratio
changes by up to a tenth within a few hundredths of the torque ratio. Such a front is at xi = X(i, kappa, f),

    X = sum_k c_k b_k,    b = 1, h, 4 q, ln f, L, 5 kappa, 4 q L, 4 q ln f, L ln f, (ln f)^2, 5 kappa ln f
    q = (i - 1)/(i + 1),   h = q/sqrt(q^2 + 0.05^2),   L = log10(100 kappa)

and a Gaussian process (`process`) has it as the place u/sqrt(1 + u^2), u = (xi - X)/w, on which it may bend as
sharply as the data ask for. c and w of all fronts are those of the largest evidence of the data, together with the
process' own lengths, amplitude and noise; a normal prior keeps c within 0.1 and ln w within 0.7 of their start values.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rtcvt.offline.variator.process import bounds_of, evidence_of_places

Array = NDArray[np.float64]
Fronts = Array  # (n, 12): c, ln w of each

WIDTH = 0.04
STARTS = -0.25, -0.1, 0.05, 0.15  # X of the fronts
STEPS = 240
_TURN = 0.05
_MIN_KAPPA = 5e-4  # smallest distinguished kappa
_FREE = np.append(np.full(11, 0.1), 0.7)  # standard deviations of the prior


def fronts_at(fronts: Fronts, z: Array) -> Array:
    """Places (m, n) of the process at operating points (m, 4) of i, xi, kappa, f."""
    return np.array([_front(c, _basis(z), z[:, 1])[0] for c in fronts]).reshape(-1, len(z)).T


def find(places: Array, z: Array, y: Array, omega: Array) -> Fronts:
    """The fronts of data y (m,) with weights omega (m,), at operating points z (m, 4).

    places (m, d): further coordinates of the process, see `process.fit`.
    """
    start = np.zeros((len(STARTS), 12))
    start[:, 0] = STARTS
    start[:, -1] = np.log(WIDTH)
    basis = _basis(z)
    d = places.shape[1] + len(start)
    scale = float(np.std(y)) or 1.0

    def objective(t: Array) -> tuple[float, Array]:
        fronts = t[: start.size].reshape(start.shape)
        seen = [_front(c, basis, z[:, 1]) for c in fronts]
        x = np.column_stack([places, *(f for f, _ in seen)])
        value, by_t, by_x = evidence_of_places(t[start.size :], x, y / scale, omega)
        away = (fronts - start) / _FREE
        slopes = [slope.T @ by_x[:, places.shape[1] + k] for k, (_, slope) in enumerate(seen)]
        by_front = np.array(slopes) + away / _FREE
        return value + 0.5 * float(np.sum(away**2)), np.concatenate([by_front.ravel(), by_t])

    begin = np.concatenate([start.ravel(), np.zeros(d + 1), [np.log(0.2)]])
    bounds = [(None, None)] * start.size + bounds_of(d)
    found = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}).x
    return np.asarray(found[: start.size].reshape(start.shape))


def _basis(z: Array) -> Array:
    q, ln_f = (z[:, 0] - 1.0) / (z[:, 0] + 1.0), np.log(z[:, 3])
    kappa, slow = 5.0 * z[:, 2], np.log10(100.0 * np.maximum(z[:, 2], _MIN_KAPPA))
    q, h = 4.0 * q, q / np.sqrt(q**2 + _TURN**2)
    parts = (np.ones(len(z)), h, q, ln_f, slow, kappa, q * slow, q * ln_f, slow * ln_f, ln_f**2, kappa * ln_f)
    return np.column_stack(parts)


def _front(c: Array, basis: Array, xi: Array) -> tuple[Array, Array]:
    """A front's places (m,), and their derivatives with respect to its c and ln w (m, 12)."""
    w = np.exp(c[-1])
    u = (xi - basis @ c[:-1]) / w
    slope = (1.0 + u**2) ** -1.5
    return u / np.sqrt(1.0 + u**2), np.column_stack([-(slope / w)[:, None] * basis, -slope * u])
