"""Belt fields on a grid that is fixed in space, and histories of single elements over belt position.

A belt circulates: fields over the elements never repeat, fields over a place in space hardly change. The place is sigma
along the taut path (`taut_path`). Each of the four sections has `CELLS` cells of equal length, which keeps arcs and
spans in place when the ratio shifts. The arc length of a cell is that of its section at the moment, divided by `CELLS`.

Forces that act on single elements become forces per length: linear between the elements, at an element its force over
half the distance of its neighbours. The integral of that is the sum of the forces, exactly; the value of a cell is its
mean.

    g_i = 2 f_i/(s_{i+1} - s_{i-1}),    sum_i (g_i + g_{i+1}) (s_{i+1} - s_i)/2 = sum_i f_i

Fields that exist between the elements (push force, tension, offsets, slip) are interpolated linearly at the middle of
the cells.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.planar.model import Frames, Model, directions
from rtcvt.offline.pushbelt.ring.ring import N_RATE, N_SHAPE, Ring, point, rate_of, shape_of, velocity
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.unit.taut_path import place_on, taut_path

Array = NDArray[np.float64]

SECTIONS = ("primary arc", "push span", "secondary arc", "slack span")
END = 0.08  # of an arc
CELLS = 64  # per section; a cell is about as long as one of 220 elements
_PER_ELEMENT = 4  # points of the ring in a finite element

FIELDS = {  # unit and description
    "flank_normal": ("N/m", "normal force on one flank per length of belt"),
    "flank_longitudinal": ("N/m", "friction on one flank per length of belt, positive in the direction of travel"),
    "flank_radial": ("N/m", "friction on one flank per length of belt, positive outwards"),
    "push": ("N", "force between neighbouring elements"),
    "ring_normal": ("N/m", "ring on saddles less ring on ears, per length of belt"),
    "ring_friction": (
        "N/m",
        "friction of the ring on elements per length of belt, positive in the direction of travel",
    ),
    "tension": ("N", "tension of the ring"),
    "ring_offset": ("m", "neutral fibre of the ring from the taut path, positive outwards"),
    "element_offset": ("m", "elements from the taut path, zero if the saddle touches a ring that lies on the path"),
    "slip_longitudinal": ("m/s", "element against sheave in the direction of travel; zero on spans"),
    "slip_radial": ("m/s", "element against sheave outwards; zero on spans"),
    "slip_ring": ("m/s", "saddle against ring in the direction of travel"),
}


class Snapshots(NamedTuple):
    """Fields of n frames on M = 4 CELLS cells.

    sigma (n, N_E): place of each element, at its saddle; radius (n, 2): r_I, r_O of the taut path [m]; length (n, 4) of
    the sections [m]; fields: (n, M) arrays by the names of `FIELDS`.
    """

    sigma: Array
    radius: Array
    length: Array
    fields: dict[str, Array]


def line_density(s: Array, f: Array, edges: Array, length: Array) -> Array:
    """Forces of single elements at n times as forces per length, averaged over cells; conserves the sum.

    Parameters
    ----------
    s : (n, m) array
        Places [m] on loops of these `length` (n,), increasing within one turn.
    f : (n, m, k) array
        Forces [N].
    edges : (n, c + 1) array
        Edges of cells [m] that cover the loop from 0 to `length`.

    Returns
    -------
    (n, c, k) array : [N/m]
    """
    s, f = _looped(s, length[:, None]), _looped(f)
    g = np.empty_like(f)
    g[:, 1:-1] = 2.0 * f[:, 1:-1] / (s[:, 2:] - s[:, :-2])[..., None]
    g[:, 0], g[:, -1] = g[:, -4], g[:, 3]
    h = np.diff(s, axis=1)[..., None]
    total = np.zeros_like(g)
    np.cumsum(0.5 * h * (g[:, :-1] + g[:, 1:]), axis=1, out=total[:, 1:])
    row, k = _interval(s, edges, length)
    d = (edges - s[row, k])[..., None]
    integral = total[row, k] + d * (g[row, k] + 0.5 * d / h[row, k] * (g[row, k + 1] - g[row, k]))
    return np.diff(integral, axis=1) / np.diff(edges, axis=1)[..., None]


def interpolated(s: Array, f: Array, at: Array, length: Array) -> Array:
    """Values (n, m, k) at increasing places `s` (n, m) on loops, interpolated `at` (n, c); shape (n, c, k)."""
    s, f = _looped(s, length[:, None]), _looped(f)
    row, k = _interval(s, at, length)
    before = s[row, k]
    part = ((at - before) / (s[row, k + 1] - before))[..., None]
    left = f[row, k]
    return left + part * (f[row, k + 1] - left)


def _looped(a: Array, period: Array | float = 0.0) -> Array:
    """`a` (n, m, ...) with its last two entries before and its first two after it, less or more a turn."""
    return np.concatenate([a[:, -2:] - period, a, a[:, :2] + period], axis=1)


def _interval(s: Array, at: Array, length: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows, and the intervals of `s` (n, m) that hold the places `at` (n, c), by one search through all rows."""
    n, m = s.shape
    row = np.arange(n)[:, None]
    known, asked = (a / length[:, None] + 2.0 * row for a in (s, at))  # rows one after another
    k = np.searchsorted(known.ravel(), asked.ravel(), side="right").reshape(at.shape)
    return row, np.clip(k - 1 - m * row, 0, m - 2)


def push_force(joint: Array) -> Array:
    """Force between neighbours [N]: rocking edge, top and bottom, which press on the plane rear side.

    Parameters
    ----------
    joint : (..., 6) array
        Forces in the order of `element_element.CONTACTS`. Pins and holes centre the elements; their forces lie nearly
        across the belt and are left out.
    """
    return joint[..., 0] + joint[..., 1] + joint[..., 2]


def flank_slip(belt: Belt, q: Array, u: Array, s: Array, sd: Array, dt: float) -> tuple[Array, Array]:
    """Slip of the flanks' points P_R against the nearer sheave [m/s]: along the travel, and outwards.

    The cone and its axis are those of `flank`. The component across the contact is subtracted from the velocity; the
    two components of the rest in the plane of motion are returned.

    Parameters
    ----------
    q, u : (..., N_E, 3) arrays
        Elements.
    s, sd : (..., 2, 4) arrays
        Sheaves.
    dt : float
        Step [s] of the scheme: `u` are chords of the coming step, and so must be the sheaves' velocities.
    """
    y_E, x_E = belt.y_P - belt.h_S, 0.5 * belt.t_R - belt.t_S
    c, sn = np.cos(q[..., 2]), np.sin(q[..., 2])
    arm = np.stack([c * x_E - sn * y_E, sn * x_E + c * y_E], axis=-1)
    primary = q[..., 0] > 0.5 * belt.d_A

    def of_pulley(a: Array, k: int) -> Array:
        return np.where(primary, a[..., 0, k, None], a[..., 1, k, None])

    z, alpha, beta = (of_pulley(s, k) for k in range(3))
    zero = np.zeros_like(z)
    x = q[..., 0] + arm[..., 0] - np.where(primary, belt.d_A, 0.0)
    y = q[..., 1] + arm[..., 1]
    P = np.stack([x, y, belt.z_P - z], axis=-1)
    a = np.stack([beta, -alpha, zero + 1.0], axis=-1)
    a /= np.linalg.norm(a, axis=-1, keepdims=True)
    e = P - np.sum(P * a, axis=-1, keepdims=True) * a
    n = belt.sin_d * e / np.linalg.norm(e, axis=-1, keepdims=True) - belt.cos_d * a
    turn = np.stack([of_pulley(sd, 1), of_pulley(sd, 2), zero], axis=-1) - of_pulley(sd, 3)[..., None] * a
    around = np.cross(turn, P)
    sheave = around + 0.5 * dt * np.cross(turn, around)
    sheave[..., 2] += of_pulley(sd, 0)
    v = np.stack([u[..., 0] - u[..., 2] * arm[..., 1], u[..., 1] + u[..., 2] * arm[..., 0], zero], axis=-1) - sheave
    v -= np.sum(v * n, axis=-1, keepdims=True) * n
    r = np.hypot(x, y)
    return (v[..., 0] * y - v[..., 1] * x) / r, (v[..., 0] * x + v[..., 1] * y) / r


@compiled
def _ring(
    R: Ring,
    q: Any,
    u: Any,
    q_R: Any,
    u_R: Any,
    s_R: Any,
    cs: Any,
    sn: Any,
    shape: Any,
    rate: Any,
    points: Any,
    slip: Any,
) -> None:
    """Points of the neutral fibre (n, 4 N_B, 2) and slip of the saddles (n, N_E)."""
    for n in range(q.shape[0]):
        directions(q_R[n], cs, sn)
        shape_of(R, q_R[n], cs, sn, shape)
        rate_of(R, u_R[n], shape, rate)
        for k in range(R.N_B):
            for j in range(_PER_ELEMENT):
                x, y, _, _, _, _ = point(shape, k, j / _PER_ELEMENT)
                points[n, _PER_ELEMENT * k + j, 0], points[n, _PER_ELEMENT * k + j, 1] = x, y
        for i in range(q.shape[1]):
            k = min(max(int(s_R[n, i]), 0), R.N_B - 1)
            xi = s_R[n, i] - k
            x, y, t_x, t_y, w, _ = point(shape, k, xi)
            length = np.sqrt(t_x * t_x + t_y * t_y)
            t_x /= length
            t_y /= length
            v_x, v_y, omega = velocity(shape, rate, k, xi, w)
            a_x = x + R.h2 * t_y - q[n, i, 0]
            a_y = y - R.h2 * t_x - q[n, i, 1]
            v_x = u[n, i, 0] - u[n, i, 2] * a_y - v_x
            v_y = u[n, i, 1] + u[n, i, 2] * a_x - v_y
            slip[n, i] = v_x * t_x + v_y * t_y - R.h2 * omega


def snapshots(m: Model, x: Frames, dt: float) -> Snapshots:
    """Fields of all frames; `dt` is the step [s] of the scheme that made them."""
    n, N_E = x.s_R.shape
    R = m.ring
    points, slip_ring = np.empty((n, _PER_ELEMENT * R.N_B, 2)), np.empty((n, N_E))
    shape, rate = np.empty((R.N_B, N_SHAPE)), np.empty((R.N_B, N_RATE))
    _ring(R, x.q, x.u, x.q_R, x.u_R, x.s_R, np.empty(R.N_B), np.empty(R.N_B), shape, rate, points, slip_ring)
    along, outwards = flank_slip(m.belt, x.q, x.u, x.s, x.sd, dt)
    # where the neutral fibre is when the ring touches the saddle
    c, sn, y = np.cos(x.q[..., 2]), np.sin(x.q[..., 2]), m.saddle.y_S + R.h2
    fibre = x.q[..., :2] + np.stack([c * m.saddle.x - sn * y, sn * m.saddle.x + c * y], axis=-1)
    ring_normal = x.saddle[..., 0] - x.saddle[..., 1]
    forces = np.concatenate([x.flank, ring_normal[..., None], x.saddle[..., 2:]], axis=-1)
    push = push_force(x.joint)[..., None]

    path = taut_path(points, m.belt.d_A)
    length = path.lengths
    bounds = np.concatenate([np.zeros((n, 1)), np.cumsum(length, axis=1)], axis=1)
    whole = bounds[:, -1]
    cells = length / CELLS
    edges = np.zeros((n, 4 * CELLS + 1))
    edges[:, 1:] = (bounds[:, :-1, None] + cells[..., None] * np.arange(1.0, CELLS + 1.0)).reshape(n, 4 * CELLS)
    middle = 0.5 * (edges[:, 1:] + edges[:, :-1])

    sigma, offset = place_on(path, fibre)
    s, forces, push, values = _in_order(
        sigma, bounds, forces, push, np.stack([offset, along, outwards, slip_ring], axis=-1)
    )
    density = line_density(s, forces, edges, whole)
    values = interpolated(s, values, middle, whole)
    values[:, np.repeat([False, True, False, True], CELLS), 1:3] = 0.0
    between = s + 0.5 * np.diff(s, axis=1, append=s[:, :1] + whole[:, None])  # joint i: between element i and i + 1
    at, off = place_on(path, points)
    s_R, off = _in_order(at, bounds, off[..., None])
    s_T, tension = _in_order(at[:, _PER_ELEMENT // 2 :: _PER_ELEMENT], bounds, x.tension[..., None])
    fields = {
        "flank_normal": density[..., 0],
        "flank_longitudinal": density[..., 1],
        "flank_radial": density[..., 2],
        "push": interpolated(between, push, middle, whole)[..., 0],
        "ring_normal": density[..., 3],
        "ring_friction": density[..., 4],
        "tension": interpolated(s_T, tension, middle, whole)[..., 0],
        "ring_offset": interpolated(s_R, off, middle, whole)[..., 0],
        "element_offset": values[..., 0],
        "slip_longitudinal": values[..., 1],
        "slip_radial": values[..., 2],
        "slip_ring": values[..., 3],
    }
    return Snapshots(sigma, np.stack([path.r_I, path.r_O], axis=-1), length, fields)


def at_ends(sigma: Array) -> NDArray[np.bool_]:
    """Which elements are in the first, in the last `END` of the primary arc, of the secondary one: (4, ...)."""
    return np.array([(sigma >= a) & (sigma < a + END) for a in (0.0, 1.0 - END, 2.0, 3.0 - END)])


def exit_force(sigma: Array, flank: Array) -> Array:
    """Force across the belt [N] at the ends of the two arcs, mean over the elements there, (n, 2).

    Parameters
    ----------
    sigma : (n, N_E) place of the elements
    flank : (n, 2, N_E, 4) of `spatial.model.Frames`
    """
    there = at_ends(sigma)[1::2]
    axial = np.where(there, flank[:, 0, :, 3] - flank[:, 1, :, 3], 0.0)
    return np.asarray((axial.sum(axis=-1) / np.maximum(there.sum(axis=-1), 1)).T)


def revolutions(sigma: Array) -> list[slice]:
    """Whole revolutions in the places (n,) of an element over time, each from one primary entry to the next."""
    turn = np.floor(np.unwrap(sigma, period=4.0) / 4.0)
    entries = np.flatnonzero(np.diff(turn)) + 1
    return [slice(int(a), int(b)) for a, b in pairwise(entries)]


def _in_order(sigma: Array, bounds: Array, *values: Array) -> list[Array]:
    """Arc lengths of the places `sigma` (n, m), which follow each other around the path, and values, from s = 0 on."""
    n, m = sigma.shape
    row = np.arange(n)[:, None]
    section = np.minimum(sigma.astype(np.int64), 3)
    s = bounds[row, section] + (sigma - section) * (bounds[row, section + 1] - bounds[row, section])
    order = (np.argmin(sigma, axis=1)[:, None] + np.arange(m)) % m
    return [a[row, order] for a in (s, *values)]
