"""Sheave pressed against a cable (Ntarladima, Pieber and Gerstmayr 2023, section 3), without friction.

The cable hangs between fixed points, free to turn there. The centre of the sheave is supported by a spring and drawn by
a force across the cable. Unknown are the cable's coordinates and the centre's y; for the contact, moving the sheave by
dy is the same as moving the cable by -dy, so that with T = 1 for all y of nodes and K_c the contact's tangent

    [K + K_c    -K_c T   ] [dq]     [f_el + f_con            ]
    [-T'K_c    k + T'K_c T] [dy] = - [k (y - y_0) - f - T'f_con]
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.belt.ancf import Cable, axial_force, cable, elastic_forces, elastic_tangent, shape
from rtcvt.offline.belt.friction import sliding
from rtcvt.offline.belt.sheave import (
    Contact,
    Pose,
    contact_forces,
    contact_tangent,
    post_newton,
    scratch,
    standing,
    touching,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SheaveOnCable:
    """Equilibrium: y of the sheave's centre [m], axial force in the middle of the cable [N], coordinates (n + 1, 4)."""

    y: float
    N: float
    q: Array


RADIUS, LENGTH = 0.35, 1.0  # of the sheave and the cable [m]
EA, EI = 200.0, 2e8 * 1e-12 / 12.0  # [N], [N m^2]: the paper's E and A with a square section
SPRING, FORCE = 1.0, -200.0  # stiffness [N/m] towards where the sheave first touches, and force [N] along y
ELEMENTS = (4, 8, 16, 32, 64)
K_C = 1e6  # contact stiffness per length [N/m^2]


def press(elements: int, segments: int) -> SheaveOnCable:
    """Equilibrium of sheave and cable.

    Parameters
    ----------
    elements, segments : int
        Even number of elements, and segments of each.

    Raises
    ------
    ArithmeticError
        Newton's method did not converge.
    """
    n, L = elements, LENGTH / elements
    c = cable(L, EA, EI, 1.0)
    S, dS, _ = shape(np.linspace(0.0, L, segments + 1), L)
    mu, law = sliding([0.0])
    con = Contact(
        np.array([[0.0, RADIUS]]), np.array([RADIUS]), np.zeros(1), S, dS, L / segments, K_C * L / segments, 0.0,
        0.0, mu, 0.0, 0.0, False, law, *standing(1),
    )  # fmt: skip
    q = np.zeros((n + 1, 4))
    q[:, 0], q[:, 2] = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, n + 1), 1.0
    state = np.zeros((1, n, segments, 3))
    fixed = np.array([0, 1, 4 * n, 4 * n + 1])
    free = np.setdiff1d(np.arange(4 * n + 5), fixed)
    for load in FORCE * np.linspace(0.1, 1.0, 10):
        y = _balance(c, con, q, state, load, free)
    N, _, _ = axial_force(c, q[None], np.zeros_like(q[None]), 0.0)
    return SheaveOnCable(y, float(N[0, n // 2]), q)


def _blocks(n: int) -> tuple[Array, Array, Array]:
    return np.zeros((n + 1, 4, 4)), np.zeros((n + 1, 4, 4)), np.zeros((n + 1, 4, 4))


def _dense(D: Array, G: Array, N: Array) -> Array:
    K = np.zeros((4 * D.shape[0], 4 * D.shape[0]))
    for k in range(D.shape[0]):
        i, j = slice(4 * k, 4 * k + 4), slice(4 * k + 4, 4 * k + 8)
        K[i, i] = D[k]
        if k + 1 < D.shape[0]:
            K[i, j], K[j, i] = G[k], N[k]
    return K


def _balance(c: Cable, con: Contact, q: Array, state: Array, load: float, free: NDArray[np.int64]) -> float:
    n, n_s = state.shape[1:3]
    zero, still = np.zeros_like(q), np.zeros(1)
    work, pairs = scratch(n_s), np.zeros((n, 2), dtype=np.int64)
    unbordered = np.array([-1], dtype=np.int64), np.zeros((n + 1, 4, 4)), np.zeros((5, 4))
    x, T = Pose(q, zero, still, still, state), np.zeros(4 * n + 4)
    T[1::4] = 1.0
    for _ in range(200):
        switching = post_newton(con, c.L, x, state, work[0])
        count = touching(state, pairs)
        f_el, f_con = np.zeros_like(q), np.zeros_like(q)
        elastic_forces(c, q, zero, n, f_el)
        contact_forces(con, x, pairs, count, work[0], f_con, np.zeros(1), np.zeros((1, 2)))
        y = con.center[0, 1]
        residual = np.append((f_el + f_con).ravel(), SPRING * (y - RADIUS) - load - f_con[:, 1].sum())
        if np.max(np.abs(residual[free])) < 1e-9 * c.EA and switching == 0.0:
            return float(y)
        D, G, N = _blocks(n)
        elastic_tangent(c, q, zero, n, 0.0, work[2], D, G, N)
        K = _dense(D, G, N)
        D, G, N = _blocks(n)
        contact_tangent(con, x, 0.0, pairs, count, unbordered[0], work, D, G, N, *unbordered[1:])
        K_c = _dense(D, G, N)
        A = np.block([[K + K_c, -(K_c @ T)[:, None]], [-(T @ K_c)[None], np.array([[SPRING + T @ K_c @ T]])]])
        d = np.zeros_like(residual)
        d[free] = np.linalg.solve(A[np.ix_(free, free)], residual[free])
        d *= min(1.0, 0.02 / np.max(np.abs(d)))
        q -= d[:-1].reshape(q.shape)
        con.center[0, 1] -= d[-1]
    raise ArithmeticError(f"no equilibrium of sheave and cable at a force of {load:g} N")


@cache
def convergence() -> tuple[dict[int, list[SheaveOnCable]], SheaveOnCable]:
    """Fig. 10: by segments the results of `ELEMENTS`, and the source's reference of 128 elements and 12 segments."""
    return {segments: [press(n, segments) for n in ELEMENTS] for segments in (1, 2, 4, 8)}, press(128, 12)
