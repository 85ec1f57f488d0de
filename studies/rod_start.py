"""Start of a closed rod on the path of a belt around two pulleys (Cebulla 2014, section 6.2.4, eqs. 6.101-6.124).

Vertex i is at the length i l_0 of the path, edge i + 1/2 has the path's angle at (i + 1/2) l_0: that is the result of
the case distinctions of the print, (6.101), (6.105), (6.107), (6.111), for both pulleys and strands. The spatial
rod goes from one pulley's plane to the other's along the strands, (6.102),

    z = z_O + (z_I - z_O) s/t_L,   tan beta = -z'/x',   tan gamma = y'/x' cos beta               t of (6.16), alpha = 0

Velocities are those of a rod that runs along the plane path, r' = v t, gamma' = v kappa, as (6.113)-(6.123).

Two places differ from the print. The slope of a strand is (z_I - z_O)/t_L, and x' = sin phi, so that tan beta =
(z_O - z_I)/(d_A sin^2 phi); (6.104) has d_A sin phi. The velocity against the direction of s is -v t on the primary arc
too: (6.119) has the sign of its y component turned, and does not continue (6.113).
"""

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.unit.kinematics import LOWER, UPPER, Path, evaluate

Array = NDArray[np.float64]


def planar_start(path: Path, N: int, v: float) -> tuple[Array, Array]:
    """Coordinates and velocities, each (3 N,), of a closed rod of `N` edges on `path`, running at `v` [m/s]."""
    l_0 = float(path.length / N)
    vertex, edge = (evaluate(path, np.arange(part, N + part) * l_0) for part in (0.0, 0.5))
    q, u = np.empty(3 * N), np.empty(3 * N)
    q[0::3], q[1::3], q[2::3] = vertex.x, vertex.y, edge.psi
    u[0::3], u[1::3], u[2::3] = v * np.cos(vertex.psi), v * np.sin(vertex.psi), v * edge.kappa
    return q, u


def spatial_start(path: Path, N: int, v: float, z: tuple[float, float]) -> tuple[Array, Array]:
    """Coordinates and velocities, each (6 N,), with the mid planes of primary and secondary pulley at `z` [m]."""
    q, u = np.zeros(6 * N), np.zeros(6 * N)
    flat, speed = planar_start(path, N, v)
    q[0::6], q[1::6] = flat[0::3], flat[1::3]
    u[0::6], u[1::6], u[5::6] = speed[0::3], speed[1::3], speed[2::3]
    l_0 = float(path.length / N)
    q[2::6] = np.interp(l_0 * np.arange(N), path.s, [z[1], z[0], z[0], z[1], z[1]])
    edge = evaluate(path, np.arange(0.5, N + 0.5) * l_0)
    climb = (z[0] - z[1]) / path.s[1]
    slope = climb * ((edge.section == UPPER) * 1.0 - (edge.section == LOWER))
    q[4::6] = -np.arctan2(slope, np.abs(np.cos(edge.psi))) * np.sign(np.cos(edge.psi))
    q[5::6] = edge.psi + np.arctan(np.tan(edge.psi) * np.cos(q[4::6])) - np.arctan(np.tan(edge.psi))
    return q, u
