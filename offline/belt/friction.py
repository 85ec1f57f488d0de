"""Friction of the ANCF belt's contact: a coefficient of each sheave that may depend on the local sliding speed.

With a table over the sliding speed, the coefficient where a sheave's normal points along theta is ::

    mu_i(theta) = mu_0,i S(v_i(theta)),    v_i' = (|v_t| - v_i)/T_s

with S, T_s and the reason for the delay those of the real-time model (`rtcvt.belt.friction`). That model has a single
v_i for a wrap, the sliding speed where the belt runs off; here v_i is defined at `DIRECTIONS` directions, fixed in
space, and linear between them. |v_t| of a direction is the mean over the segments next to it, by their normal force and
their share of the direction. A direction without contact keeps its speed. v_i is constant over a step.

Patches (`rtcvt.belt.patches`) multiply the coefficient: those of the belt by segment, those of a rim by direction, of
which there are then more, with the sheave's angle at the start of the step.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.friction import T_S
from rtcvt.belt.patches import TURN, covered
from rtcvt.offline.belt.compiled import compiled

Array = NDArray[np.float64]

DIRECTIONS = 24  # about a sheave
RIM_DIRECTIONS = 120  # where a rim has a patch


class Sliding(NamedTuple):
    """Coefficients without sliding, and their change by sliding."""

    mu: Array  # (m,)
    v: Array  # (k,) speeds [m/s], increasing; empty: friction does not depend on speed
    share: Array  # (k,) of mu, there
    rims: Array = np.zeros((0, 4))  # pulley, start and length [turns], and 1 - share of each patch of a rim
    belt: Array = np.zeros(0)  # factor of mu of each segment of the belt, one element after the other; empty: 1


def sliding(mu: Any, v: Any = (), share: Any = (), *patches: Array) -> tuple[Array, Sliding]:
    """Coefficients (m, 1 or more directions) of sheaves that nothing slides on, and their law."""
    law = Sliding(*(np.array(x, dtype=np.float64) for x in (mu, v, share)), *patches)
    directions = RIM_DIRECTIONS if law.rims.size else (DIRECTIONS if law.v.size else 1)
    return np.repeat(law.mu[:, None], directions, axis=1), law


@compiled
def film(law: Any, i: int, first: float, length: float, turned: float) -> float:
    """Factor of the friction by the patches on rim i, which has turned, of a contact there; in turns."""
    found = 1.0
    for k in range(law.rims.shape[0]):
        if law.rims[k, 0] == i:
            start = law.rims[k, 1] + turned - first
            found *= 1.0 - law.rims[k, 3] * covered(start, law.rims[k, 2], length)
    return found


@compiled
def direction(B: int, nx: float, ny: float) -> tuple[int, int, float]:
    """The two of B directions next to a normal (nx, ny), and the share of the second."""
    u = (np.arctan2(ny, nx) / (2.0 * np.pi) + 0.5) * B
    k = int(np.floor(u))
    return k % B, (k + 1) % B, u - k


@compiled
def coefficient(mu: Any, law: Any, i: int, part: int, nx: float, ny: float) -> float:
    """Of sheave i where its normal is (nx, ny), on a segment of the belt."""
    found = mu[i, 0]
    if mu.shape[1] > 1:
        a, b, s = direction(mu.shape[1], nx, ny)
        found = mu[i, a] + s * (mu[i, b] - mu[i, a])
    if law.belt.size > 0:
        found *= law.belt[part]
    return found


@compiled
def share_at(law: Any, v: float) -> tuple[float, float]:
    """S at a sliding speed [m/s], linear between its points and constant beyond, and its slope [s/m]."""
    last = law.v.shape[0] - 1
    if v >= law.v[last]:
        return law.share[last], 0.0
    k = 0
    while v > law.v[k + 1]:
        k += 1
    slope = (law.share[k + 1] - law.share[k]) / (law.v[k + 1] - law.v[k])
    return law.share[k] + slope * (v - law.v[k]), slope


@compiled
def place_friction(law: Any, v: Any, phi: Any, mu: Any) -> None:
    """Set the coefficients `mu` by the speeds `v`, both (m, B), and the angles of the sheaves."""
    if law.v.shape[0] > 0 or law.rims.shape[0] > 0:
        B = v.shape[1]
        for i in range(v.shape[0]):
            for b in range(B):
                mu[i, b] = law.mu[i]
                if law.v.shape[0] > 0:
                    mu[i, b] *= share_at(law, v[i, b])[0]
                if law.rims.shape[0] > 0:
                    mu[i, b] *= film(law, i, (b - 0.5) / B - 0.5, 1.0 / B, phi[i] / TURN)


@compiled
def approach(h: float, slides: Any, v: Any) -> None:
    """Let speeds `v` (m, B) follow a step of h [s]; `slides` (m, B, 2) has sums of weights and of weighted speeds."""
    keeps = np.exp(-h / T_S)
    for i in range(v.shape[0]):
        for b in range(v.shape[1]):
            if slides[i, b, 0] > 0.0:
                now = slides[i, b, 1] / slides[i, b, 0]
                v[i, b] = now + (v[i, b] - now) * keeps
