"""State of the hybrid model on another mesh: the interface of the pre-integration of Cebulla 2014, section 4.3.1.

The source interpolates the ring's nodes by NURBS (4.137) and gives up, as small errors of c_L and c_R make large
forces. Here the line is that of the ring's own finite elements, on which new nodes lie at the same shares of the
material, which keeps the strain, with the c_L and c_R of that line (`initial.ring_on`). Velocities are interpolated by
closed cubic splines in the frame of the line (4.138).

An element takes its place, tilt and velocity on the frame of the line from the two old ones next to it. One old element
is as many new ones as have its room: with the distances D of the rocking edges and the thickness and rolling p(kappa),

    D/(p'(kappa) + (D - p(kappa)) N/N')    in sum N', for which gaps are widened equally

since joints as stiff as there are elements keep forces where compression per length stays. Sheaves, their deflection,
and the load stay; dampers and friction begin new.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from rtcvt.offline.pushbelt.contact.element_ring import around
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.planar.model import Model
from rtcvt.offline.pushbelt.ring import ring as beam
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.unit.initial import Start, ring_on
from rtcvt.offline.pushbelt.unit.kinematics import Path, evaluate
from rtcvt.offline.pushbelt.unit.parameters import Belt

Array = NDArray[np.float64]

PIECES = 32  # of the line of a finite element


def line_of(l: float, q_R: Array) -> tuple[Path, Array]:  # noqa: E741
    """The line of a ring of finite elements of the relaxed length `l` [m], from node 0 on, as `ring` has it; the arc
    lengths (N_B + 1,) of its nodes. q_R : (N_B, 5) as in `initial.Start`."""
    d = np.roll(q_R[:, :2], -1, axis=0) - q_R[:, :2]
    chord = np.arctan2(d[:, 1], d[:, 0])
    theta_L, theta_R = (np.angle(np.exp(1j * (phi - chord)))[:, None] for phi in (q_R[:, 2], np.roll(q_R[:, 2], -1)))
    a, b = 128.0 / 9.0 * (q_R[:, 3] + q_R[:, 4])[:, None], 256.0 / 9.0 * (q_R[:, 3] - q_R[:, 4])[:, None]
    xi = np.arange(PIECES) / PIECES
    eta, slope = xi * (1.0 - xi), 1.0 - 2.0 * xi
    cubic, bow = l * (theta_L * (1.0 - xi) - theta_R * xi), a + b * slope
    w = eta * (cubic + eta * bow)
    w_1 = slope * (cubic + 2.0 * eta * bow) - eta * (l * (theta_L + theta_R) + 2.0 * eta * b)
    psi = np.unwrap((chord[:, None] + w_1 / l).ravel())
    psi = np.append(psi, psi[0] + 2.0 * np.pi * np.round((psi[-1] - psi[0]) / (2.0 * np.pi)))
    x, y = (q_R[:, k, None] + xi * d[:, k, None] + w * n[:, None] for k, n in ((0, -np.sin(chord)), (1, np.cos(chord))))
    point = np.column_stack([x.ravel(), y.ravel()])
    point = np.vstack([point, point[:1]])
    turn = np.diff(psi)
    length = np.hypot(*np.diff(point, axis=0).T) / np.sinc(0.5 * turn / np.pi)
    s = np.concatenate([[0.0], np.cumsum(length)])
    return Path(s, point, psi, turn / length, np.zeros(length.size, dtype=np.int64)), s[::PIECES]


def on_other_mesh(m: Model, x: hybrid.State, to: Model, start: Start) -> hybrid.State:
    """A state of the model `m` as a state of the model `to` of the same belt; `start`: any start of the latter."""
    b, c = m.belt, to.belt
    sizes = (b.N_B, beam.NQ), (b.N_B, beam.NQ), (b.N_B, beam.N_SHAPE), (b.N_B, beam.N_RATE)
    q_R, u_R, shape, rate = (np.zeros(size) for size in sizes)
    cs, sn = np.cos(x.q_R[:, 2]), np.sin(x.q_R[:, 2])
    ring_set.shape_of(m.ring, x.q_R, cs, sn, shape)
    ring_set.rate_of(m.ring, x.u_R, shape, rate)
    ring_set.nodes(m.ring, x.q_R, x.u_R, cs, sn, shape, rate, q_R, u_R)
    path, at = line_of(b.l_R / b.N_B, q_R)

    def over_ring(values: Array) -> CubicSpline:
        return CubicSpline(np.arange(b.N_B + 1) / b.N_B, np.vstack([values, values[:1]]), bc_type="periodic")

    share = np.arange(c.N_B + 1) / c.N_B
    nodes = path.length * share + over_ring((at[:-1] - path.length * np.arange(b.N_B) / b.N_B)[:, None])(share)[:, 0]
    own = evaluate(path, at[:-1]).psi
    along, across = _turned(u_R[:, :2], -own).T
    speeds = over_ring(np.column_stack([along, across, u_R[:, 2]]))(share[:-1])
    q_R, u_R = ring_on(path, c.N_B, 0.0, nodes)
    u_R[:, :2], u_R[:, 2] = _turned(speeds[:, :2], evaluate(path, nodes[:-1]).psi), speeds[:, 2]

    order = np.argsort(x.s_R)
    place = np.interp(x.s_R[order], np.arange(b.N_B + 1), at)
    p = evaluate(path, place)
    local = _turned(x.q[order, :2] - np.column_stack([p.x, p.y]), -p.psi) - _seat(b)
    tilt, speed = np.angle(np.exp(1j * (x.q[order, 2] - p.psi))), _turned(x.u[order, :2], -p.psi)
    ends = np.append(place, place[0] + path.length)
    psi = evaluate(path, ends).psi
    D = np.diff(ends + b.h_off * psi)
    bend = np.diff(psi) / D
    more = (D - _pitch(b, bend)) * b.N_E / c.N_E

    def count(gap: float) -> Array:
        return np.concatenate([[0.0], np.cumsum(D / (_pitch(c, bend) + more + gap * (more > 0.0)))])

    total = count(brentq(lambda gap: count(gap)[-1] - c.N_E, -0.5 * c.t_R, 100.0 * c.t_R, xtol=1e-16))
    there = np.mod(np.interp(np.arange(c.N_E), total, ends), path.length)
    fields = np.column_stack([local, tilt, speed, x.u[order, 2]]).T
    of = np.array([np.interp(there, place, field, period=path.length) for field in fields]).T
    p = evaluate(path, there)
    q, u = np.column_stack([p.x, p.y, p.psi + of[:, 2]]), np.column_stack([_turned(of[:, 3:5], p.psi), of[:, 5]])
    q[:, :2] += _turned(of[:, :2] + _seat(c), p.psi)
    s_R = around(np.interp(there, nodes, np.arange(c.N_B + 1.0)), c.N_B)
    q_R, u_R = ring_set.placed(to.ring, start._replace(q_R=q_R, u_R=u_R, path=path))
    found = hybrid.state(q, u, q_R, u_R, s_R, x.s, x.sd, (x.z.shape[1] - 1) // 2)
    found.z[:], found.r[:], found.load[:], found.turn[:] = x.z, x.r, x.load, x.turn
    return found


def _seat(b: Belt) -> Array:
    """Centre of gravity of an element on the ring, along and across its line [m]."""
    return np.array([b.t_S - 0.5 * b.t_R, b.h_S - b.h_P - 0.5 * b.h_ring])


def _pitch(b: Belt, bend: Array) -> Array:
    """Distance of two elements' rocking edges [m] that touch, on a line that bends by `bend` [1/m] there."""
    return b.t_R + (0.5 * b.r_R - b.t_R / 12.0) * (b.t_R * bend) ** 2


def _turned(v: Array, psi: Array) -> Array:
    """Vectors (n, 2) turned by angles (n,)."""
    c, s = np.cos(psi), np.sin(psi)
    return np.column_stack([c * v[:, 0] - s * v[:, 1], s * v[:, 0] + c * v[:, 1]])
