"""Shear over a rolling contact ellipse, by strips along the rolling direction.

Material enters at the leading edge without shear and is sheared by the creep of the surfaces,

    u dtau_x/dx' = (v_x - omega y)/c_1 and (v_x's part of spin)/c_3,    u dtau_y/dx' = v_y/c_2 + omega x/c_3,

with x' against x, and its magnitude stays below ``Lambda p`` (Johnson and Tevaarwerk 1977; the strips and c_i of steel
are Kalker's FASTSIM, 1982; those of the film add up). In units of a, b and Lambda p_0 the fields are those of four
numbers::

    J_1 = a s_x/(Lambda p_0 c_1),  J_2 = a s_y/(Lambda p_0 c_2),  J_3 = a b (omega/u)/(Lambda p_0 c_3),  k = a/b

Forces are in units of Lambda N, the moment about the normal in Lambda N b. Small creep alone gives ``F = 4 J_1/pi``.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.traction.contact import Drawing, Fluid, yielding

Array = NDArray[np.float64]

STRIPS, CELLS = 48, 64


def _grid(strips: int, cells: int) -> tuple[Array, Array, Array, Array]:
    """Places across (strips) with weights, and along by strip, from the leading edge: edges and middles of cells."""
    eta, weight = np.polynomial.legendre.leggauss(strips)
    angle = np.linspace(0.0, math.pi, cells + 1)
    half = np.sqrt(1.0 - eta**2)
    edges = half[:, None] * np.cos(angle)
    return eta, weight, edges, half


@dataclass(frozen=True)
class Shear:
    """Shear over ellipses: J arrays of shape (n,), fields (n, strips, cells + 1) in units of Lambda p_0."""

    xi: Array  # along, in units of a, by strip
    eta: Array  # across, in units of b
    tau_x: Array
    tau_y: Array
    F_x: Array  # in units of Lambda N
    F_y: Array
    M: Array  # in units of Lambda N b
    slip: Array  # work of slip in units of Lambda^2 N p_0 c u/a; of the c of the two bodies
    elastic: Array  # elastic energy lost at the trailing edge and by relaxation, in the same units


def shear(
    J_1: Array | float,
    J_2: Array | float,
    J_3: Array | float,
    k: Array | float,
    strips: int = STRIPS,
    cells: int = CELLS,
) -> Shear:
    """Shear for dimensionless creep along and across, spin and axes' ratio, each broadcast to (n,).

    The works are those of equal compliances. With these they and the power that creep and spin put in agree.
    """
    J_1, J_2, J_3, k = (np.atleast_1d(np.asarray(v, dtype=float))[:, None] for v in (J_1, J_2, J_3, k))
    n = np.broadcast_shapes(J_1.shape, J_2.shape, J_3.shape, k.shape)[0]
    eta, weight, edges, half = _grid(strips, cells)
    step = edges[:, :-1] - edges[:, 1:]
    limit = np.sqrt(np.maximum(0.0, half[:, None] ** 2 - edges**2))
    tau = np.zeros((2, n, strips, cells + 1))
    slip, elastic = np.zeros((n, strips)), np.zeros((n, strips))
    for m in range(cells):
        middle = 0.5 * (edges[:, m] + edges[:, m + 1])
        rate = ((J_1 - J_3 * eta) * step[:, m], (J_2 + J_3 * k * middle) * step[:, m])
        trial = tau[0, :, :, m] + rate[0], tau[1, :, :, m] + rate[1]
        size = np.hypot(*trial)
        share = np.minimum(1.0, limit[:, m + 1] / np.maximum(size, 1e-300))
        for i in range(2):
            tau[i, :, :, m + 1] = share * trial[i]
            slip += tau[i, :, :, m + 1] * (1.0 - share) * trial[i]
            elastic += tau[i, :, :, m + 1] * (tau[i, :, :, m + 1] - tau[i, :, :, m])
    scale = 1.5 / math.pi

    def integral(field: Array) -> Array:
        """Over the ellipse, by the trapezoidal rule along strips."""
        strip = (0.5 * (field[..., :-1] + field[..., 1:]) * step).sum(axis=-1)
        return np.asarray(scale * (strip * weight).sum(axis=-1))

    moment = k[..., None] * edges * tau[1] - eta[:, None] * tau[0]
    works = (scale * (work * weight).sum(axis=-1) for work in (slip, elastic))
    return Shear(edges, eta, tau[0], tau[1], integral(tau[0]), integral(tau[1]), integral(moment), *works)


class Traction(NamedTuple):
    """Contacts of shape (n,): forces along and across [N], moment about the normal [N.m], and further results."""

    F: Array
    F_y: Array
    M: Array
    Lambda: Array  # as warm as the film is
    dT: Array  # mean rise of the film's temperature [K]
    p_0: Array  # [Pa]
    a: Array  # [m]
    b: Array


def traction(drawing: Drawing, fluid: Fluid, r: Any, N: Any, u: Any, s: Any, omega: Any, s_y: Any = 0.0) -> Traction:
    """Traction of contacts of one roller each, their films as warm as dissipation makes them.

    Arguments are broadcast to (n,).

    Parameters
    ----------
    drawing, fluid : Drawing, Fluid
        The contact.
    r, N, u : array_like
        Radius of the disc there [m], normal force [N], rolling speed above 0 [m/s].
    s, s_y : array_like
        Creep along and across the rolling direction, over u.
    omega : array_like
        Spin [rad/s].
    """
    r, N, u, s, omega, s_y = (
        np.array(v, dtype=float) for v in np.broadcast_arrays(*map(np.atleast_1d, (r, N, u, s, omega, s_y)))
    )
    unique, where = np.unique(r, return_inverse=True)
    a, b, p_0 = np.array([drawing.ellipse(float(v)) for v in unique]).T[:, where] * np.cbrt(N)
    c_1, c_2, c_3 = np.array([yielding(fluid, *v) for v in zip(a, b, u, strict=True)]).T
    warming = np.array([fluid.warming(*v) for v in zip(u, a, strict=True)]) / (math.pi * a * b)
    Lambda, before, missed = np.full(len(r), fluid.Lambda), np.zeros(len(r)), np.full(len(r), -fluid.Lambda)
    for _ in range(30):  # secants: Lambda (1 + beta dT) rises with Lambda from 0
        by = a / (Lambda * p_0)
        found = shear(by * s / c_1, by * s_y / c_2, by * b * omega / (u * c_3), a / b)
        F, F_y, M = Lambda * N * found.F_x, Lambda * N * found.F_y, Lambda * N * b * found.M
        dT = warming * (u * (F * s + F_y * s_y) + M * omega)
        misses = Lambda * (1.0 + fluid.beta * dT) - fluid.Lambda
        if np.all(np.abs(misses) < 1e-11 * fluid.Lambda):
            break
        slope = np.where(misses == missed, 1.0, (misses - missed) / np.where(Lambda == before, 1.0, Lambda - before))
        new = np.clip(Lambda - misses / slope, 0.1 * Lambda, fluid.Lambda)
        new = np.where(np.abs(misses) < 1e-13 * fluid.Lambda, Lambda, new)
        Lambda, before, missed = new, Lambda, misses
    return Traction(F, F_y, M, Lambda, dT, p_0, a, b)


def field(drawing: Drawing, fluid: Fluid, r: Any, N: Any, u: Any, s: Any, omega: Any) -> tuple[Traction, Shear]:
    """Traction of contacts, see `traction`, with its shear over the ellipses."""
    t = traction(drawing, fluid, r, N, u, s, omega)
    c_1, _, c_3 = np.array([yielding(fluid, *v) for v in np.broadcast(t.a, t.b, u)]).T
    by = t.a / (t.Lambda * t.p_0)
    return t, shear(by * s / c_1, 0.0, by * t.b * omega / (u * c_3), t.a / t.b)
