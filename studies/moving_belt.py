"""The motion of a belt across its line by sines of a span and by modes of snapshots, see `moving_belt.md`."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.geometry import BeltPath, belt_path
from rtcvt.offline.belt.moving import Basis, MovingBelt, moving_belt, spline_basis

Array = NDArray[np.float64]


def sine_basis(length: float, n: int) -> Basis:
    """The lowest `n` sines of the first span of a belt, of `length` [m]: ends are held and carry no moment."""
    k = math.pi * np.arange(1, n + 1) / length

    def values(s: Array, order: int) -> Array:
        x = np.asarray(s, dtype=float)[:, None]
        shape = (np.sin, np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a))[order]
        return np.where((x >= 0.0) & (x <= length), shape(k * x) * k**order, 0.0)

    return Basis(np.linspace(0.0, length, 2 * n + 1), values)


def pod_basis(length: float, snapshots: Array, modes: int) -> tuple[Basis, Array]:
    """The modes that hold most of the snapshots (proper orthogonal decomposition), interpolated by splines.

    Parameters
    ----------
    length : float
        Of the belt [m].
    snapshots : (n, k) array
        Lateral displacement [m] at n places ``length j/n``, in space, of k instants; see `lateral_displacement`.
    modes : int
        How many, at most k and n.

    Returns
    -------
    Basis
        Orthonormal modes, ``integral of w_i w_j = delta_ij`` up to the interpolation.
    singular : (min(n, k),) array
        Singular values [m^1.5]: their squares are the modes' shares.
    """
    n = snapshots.shape[0]
    splines = spline_basis(length, n)
    left, singular, _ = np.linalg.svd(snapshots * math.sqrt(length / n), full_matrices=False)
    shapes = left[:, :modes] / math.sqrt(length / n)
    at = length * np.arange(n) / n
    middle = 2.5 * length / n  # of the first spline: places at the splines' middles are well posed
    coefficients = np.linalg.solve(splines.values(at + middle % (length / n), 0), shapes)
    shift = middle % (length / n)

    def values(s: Array, order: int) -> Array:
        return splines.values(np.asarray(s) + shift, order) @ coefficients

    return Basis(np.mod(splines.edges - shift, length), values), singular


def lateral_displacement(path: BeltPath, points: Array, n: int) -> Array:
    """Snapshot of a belt's nodes in space: w at n equal steps of the taut line, where its normal meets the belt.

    Parameters
    ----------
    path : BeltPath
        The taut line.
    points : (k, 2) array
        Points of the closed belt in its order [m], wherever along it they are.
    n : int
        Places.

    Returns
    -------
    (n,) array
        [m].

    Raises
    ------
    ValueError
        The belt does not cross a normal.
    """
    base, tangent, _ = path.at(path.length * np.arange(n) / n)
    normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
    along = np.einsum("kid,id->ik", points[:, None, :] - base[None, :, :], tangent)
    across = np.einsum("kid,id->ik", points[:, None, :] - base[None, :, :], normal)
    after_along, after_across = np.roll(along, -1, axis=1), np.roll(across, -1, axis=1)
    crosses = (along <= 0.0) & (after_along > 0.0)
    with np.errstate(all="ignore"):
        share = along / (along - after_along)
    w = np.where(crosses, across + share * (after_across - across), np.inf)
    nearest = np.argmin(np.abs(w), axis=1)
    found = w[np.arange(n), nearest]
    if not np.isfinite(found).all():
        raise ValueError(
            f"the belt does not cross the normal at s = {path.length * np.argmin(np.isfinite(found)) / n:g}"
        )
    return found


def frequencies(belt: MovingBelt, v: float, tension: float) -> Array:
    """Natural frequencies [rad/s] of small vibration at a transport speed, increasing; of the undamped belt.

    Eigenvalues of ``m q'' + 2 m v C1 q' + ((F - m v^2) C2 + EI C4) q = 0`` with constant tension. Beyond a critical
    speed the values of diverging modes are missing.
    """
    m, C = belt.m, belt.C
    N = C[0].shape[0]
    stiffness = (tension - m * v * v) * C[2] + belt.EI * C[4]
    inverse = np.linalg.inv(m * C[0])
    system = np.block([[np.zeros((N, N)), np.eye(N)], [-inverse @ stiffness, -inverse @ (2.0 * m * v * C[1])]])
    values = np.linalg.eigvals(system)
    oscillating = np.abs(values.real) < 1e-6 * np.abs(values).max()
    return np.sort(values.imag[oscillating & (values.imag > 0.0)])


@lru_cache(maxsize=64)
def _span(length: float, m: float, EI: float, sines: int) -> MovingBelt:
    """A belt of which only its first span moves."""
    radius = 0.1 * length
    path = belt_path(np.array([[0.0, 0.0], [length, 0.0]]), np.array([radius, radius]), np.array([True, True]))
    return moving_belt(path, sine_basis(length, sines), m=m, EA=1.0, EI=EI, F_0=1.0)


def span_frequencies(length: float, m: float, EI: float, v: float, tension: float, sines: int = 40) -> Array:
    """Natural frequencies [rad/s] of a span whose ends are held, increasing; see `frequencies`.

    Parameters
    ----------
    length : float
        Of the span [m].
    m, EI : float
        Mass per length [kg/m] and bending stiffness [N m^2].
    v, tension : float
        Transport speed [m/s] and tension [N].
    sines : int
        Shapes; the lowest half of the frequencies is good.
    """
    return frequencies(_span(length, m, EI, sines), v, tension)
