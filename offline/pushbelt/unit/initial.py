"""State at the start (Cebulla 2014, sections 4.2.2 and 6.1.3): ring, elements, sheaves and their velocities.

Ring. Its strain is that of a uniform tension, the larger of the two strand forces of the velocity model (the strand
without push force). The running radii close a ring of that length. Nodes are at equal distances on the path; c_L and
c_R are the deviations of the path at the quarter points from the chord's cubic of `ring`: exact on arcs, lines and
across their joints, in place of the case distinctions (4.101)-(4.134).

Elements. They sit upright on the path, saddle against ring, (6.11). An element needs t_R along the rocking edges, and
on an arc a little more, see `parameters`. In the strand with the smaller longitudinal force and on the arcs the chain
is closed and compressed by the push force, the difference of the strand forces, half of it on the arcs; the remaining
room in the ring is spread evenly over the other strand. Without load, or if there is no room, it is spread evenly
all around. (Gaps all around under load cost 4 to 8 % of secondary speed until they have closed.)

Sheaves. The half groove is z = z_P - r_P tan(delta_0) less half the compression of the flanks and the mean deflection
of the sheave under an evenly spread clamping force: over a wrapped arc psi the mean of cos k(phi_i - phi_j) is
sinc(k psi/2)^2, so w = F c_rad sum A_k sinc(k psi/2)^2. The tilts are those of the same load.

Velocities. The rocking edges move everywhere at v of the velocity model, reduced to their radius on the primary; an
element on an arc turns with v/r' and its centre of gravity moves accordingly, (6.12). The ring slides on the saddles;
it has their mean speed, weighted by the wrapped arcs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit.kinematics import Closure, Path, belt_path, closure, evaluate
from rtcvt.offline.pushbelt.unit.parameters import FORCE, SPEED, Belt, Boundary, Sheaves, influence_numbers
from rtcvt.offline.pushbelt.unit.taper import cats_back_radius, tapered_path
from rtcvt.offline.pushbelt.unit.velocity_model import BeltVelocity, belt_velocity, speed_of

Array = NDArray[np.float64]


class Start(NamedTuple):
    """State at the start; SI units. Shapes: q, u (N_E, 3); q_R, u_R (N_B, 5); s_R (N_E,); s, sd (2, 4).

    Columns as the kernels have them: q = x, y, angle of the centre of gravity; q_R = x, y, phi, c_L, c_R of a node and
    the finite element in front of it; s_R = place on the ring in finite elements; s = z, two tilts, rotation.
    """

    q: Array
    u: Array
    q_R: Array
    u_R: Array
    s_R: Array
    s: Array
    sd: Array
    path: Path
    steady: BeltVelocity


def start_state(belt: Belt, sheaves: Sheaves, boundary: Boundary, ratio: float | None, depth: float = 0.0) -> Start:
    """Start of a belt under the boundary values at t = 0.

    Parameters
    ----------
    ratio : float or None
        (r_O - depth)/(r_I - depth). With both clamping forces given it is the start of the search for the ratio. None,
        if both speeds are given: omega_I/omega_O at the rocking edges (section 4.1.4), the start without load.
    depth : float
        Depth below the neutral fibre at which the ratio is defined and the velocity model's belt sticks [m]. At 0 this
        is the ratio (4.1) of the thesis. Speeds are in the ratio at the rocking edges, ``belt.h_off``: 2.25 at the
        neutral fibre is 2.33 there, which is most of the difference between the thesis's i_r = 2.25 and i_s = 2.36.

    ``sheaves._replace(multiplier=0.0)`` starts the decoupled law.

    Raises
    ------
    InputError
        The belt cannot reach this ratio, or would run off the sheaves; or there is no ratio, and a shaft is at
        standstill.
    """
    steady, path, depth = running(belt, sheaves, boundary, ratio, depth)
    geometry = steady.geometry
    v = speed_of(steady.L_upper if steady.M_O < 0.0 else steady.L_lower, steady.v0, belt.EA)
    v *= (geometry.r_I - belt.h_off) / (geometry.r_I - depth)
    omega_O = v / (geometry.r_O - belt.h_off)
    if boundary.mode_load == SPEED:
        omega_O = boundary.value_load
    saddle = belt.h_P - belt.h_R
    wraps = geometry.wrap_I / (geometry.r_I - belt.h_off) + geometry.wrap_O / (geometry.r_O - belt.h_off)
    q_R, u_R = ring_on(path, belt.N_B, v * (1.0 + saddle * wraps / (2.0 * np.pi)))
    q, u, s_R = elements_on(belt, path, v, steady.L_upper - steady.L_lower)
    s, sd = sheaves_at(belt, sheaves, geometry, steady.F_CI, steady.F_CO)
    sd[0, 3], sd[1, 3] = boundary.omega_I, omega_O
    sd[0, 0] = 0.0 if boundary.mode_I == FORCE else 0.5 * boundary.value_I
    sd[1, 0] = 0.0 if boundary.mode_O == FORCE else 0.5 * boundary.value_O
    return Start(q, u, q_R, u_R, s_R, s, sd, path, steady)


def running(
    belt: Belt, sheaves: Sheaves, boundary: Boundary, ratio: float | None, depth: float = 0.0
) -> tuple[BeltVelocity, Path, float]:
    """Steady velocity, path and depth of a start, see `start_state`."""
    if ratio is None:
        if not boundary.omega_I * boundary.value_load > 0.0:
            raise InputError("pushbelt", "i_r", None, "a ratio, unless both shafts turn the same way at the start")
        ratio, depth = boundary.omega_I / boundary.value_load, belt.h_off
    geometry = closure(belt.l_R, belt.d_A, ratio, depth)
    for _ in range(30):
        steady = belt_velocity(belt, boundary, geometry, depth)
        path = _path(belt, steady.geometry)
        length = belt.l_R * (1.0 + max(steady.L_upper, steady.L_lower) / belt.EA)
        if abs(length - path.length) < 1e-12:
            break
        found = (steady.geometry.r_O - depth) / (steady.geometry.r_I - depth)
        geometry = closure(geometry.length + length - path.length, belt.d_A, found, depth)
    for name, r in (("primary", steady.geometry.r_I), ("secondary", steady.geometry.r_O)):
        r_P = r - (belt.h_P + 0.5 * belt.h_ring - belt.y_P)
        if not sheaves.r_min < r_P < sheaves.r_max:
            limits = f"a ratio that keeps flanks between {sheaves.r_min:g} and {sheaves.r_max:g} m from the axis"
            raise InputError("pushbelt", "i_r", ratio, f"{limits}; {name}: {r_P:g} m")
    return steady, path, depth


def _path(belt: Belt, geometry: Closure) -> Path:
    r_st = cats_back_radius(belt)
    if r_st < 1e4:  # beyond, the strand is straight to 0.3 um
        return tapered_path(geometry, belt.d_A, r_st)
    return belt_path(geometry, belt.d_A)


def ring_on(path: Path, N_B: int, v: float, nodes: Array | None = None) -> tuple[Array, Array]:
    """Nodal coordinates and velocities, each (N_B, 5), of a ring that runs along the path at `v` [m/s].

    `nodes`: arc lengths (N_B + 1,) of its nodes, if their distances differ.
    """
    nodes = np.arange(N_B + 1.0) * (path.length / N_B) if nodes is None else nodes
    step = np.diff(nodes)
    p = evaluate(path, nodes)
    chord = np.array([np.diff(p.x), np.diff(p.y)])
    normal = np.array([-chord[1], chord[0]]) / np.hypot(*chord)
    psi = np.unwrap(np.arctan2(chord[1], chord[0]))
    psi += 2.0 * np.pi * np.round((p.psi[0] - psi[0]) / (2.0 * np.pi))
    theta_L, theta_R = p.psi[:-1] - psi, p.psi[1:] - psi
    q_R, u_R = np.zeros((N_B, 5)), np.zeros((N_B, 5))
    q_R[:, 0], q_R[:, 1], q_R[:, 2] = p.x[:-1], p.y[:-1], p.psi[:-1]
    for column, xi in ((3, 0.25), (4, 0.75)):
        m = evaluate(path, nodes[:-1] + xi * step)
        w = (m.x - p.x[:-1]) * normal[0] + (m.y - p.y[:-1]) * normal[1]
        cubic = xi * (1.0 - xi) * step * (theta_L * (1.0 - xi) - theta_R * xi)
        q_R[:, column] = w - cubic
    u_R[:, 0], u_R[:, 1] = v * np.cos(p.psi[:-1]), v * np.sin(p.psi[:-1])
    u_R[:, 2] = v * p.kappa[:-1]
    return q_R, u_R


def elements_on(belt: Belt, path: Path, v: float, push: float = 0.0) -> tuple[Array, Array, Array]:
    """Positions and velocities, each (N_E, 3), and places on the ring (N_E,).

    Parameters
    ----------
    v : float
        Velocity of the rocking edges [m/s].
    push : float
        Push force [N] in the lower strand; negative: its amount in the upper strand.
    """
    inner = 1.0 + path.kappa * belt.h_off  # rocking edge to neutral fibre, lengths
    share = np.array([max(0.0, -push), 0.5 * abs(push), max(0.0, push), 0.5 * abs(push)])[path.section]
    pitch = belt.t_R + (0.5 * belt.r_R - belt.t_R / 12.0) * (belt.t_R * path.kappa / inner) ** 2 - share / belt.k_R
    length = inner * np.diff(path.s)

    def surplus(gap: float, pieces: NDArray[np.bool_]) -> float:
        return float(np.sum(length / (pitch + gap * pieces))) - belt.N_E

    loose = share == 0.0
    if surplus(0.0, loose) < 0.0:  # over-full
        loose = np.ones_like(loose)
    gap = brentq(surplus, -0.5 * belt.t_R, 100.0 * belt.t_R, args=(loose,), xtol=1e-16)
    count = np.concatenate([[0.0], np.cumsum(length / (pitch + gap * loose))])
    place = np.interp(np.arange(belt.N_E) * (count[-1] / belt.N_E), count, path.s)
    p = evaluate(path, place)
    back, down = belt.t_S - 0.5 * belt.t_R, belt.h_S - belt.h_P - 0.5 * belt.h_ring
    x = back * np.cos(p.psi) - down * np.sin(p.psi)
    y = back * np.sin(p.psi) + down * np.cos(p.psi)
    speed = v / (1.0 + p.kappa * belt.h_off)
    omega = p.kappa * speed
    q = np.column_stack([p.x + x, p.y + y, p.psi])
    u = np.column_stack([speed * np.cos(p.psi) - omega * y, speed * np.sin(p.psi) + omega * x, omega])
    return q, u, place / path.length * belt.N_B


def sheaves_at(belt: Belt, sheaves: Sheaves, geometry: Closure, F_CI: float, F_CO: float) -> tuple[Array, Array]:
    """Positions and rates, each (2, 4), of the sheaves under evenly spread clamping forces [N]; rates are zero."""
    s = np.zeros((2, 4))
    depth = belt.h_P + 0.5 * belt.h_ring - belt.y_P
    pulleys = ((geometry.r_I, geometry.wrap_I, F_CI, 1.0), (geometry.r_O, geometry.wrap_O, F_CO, -1.0))
    for k, (r, wrap, F, side) in enumerate(pulleys):
        r_P = r - depth
        spread = np.sinc(np.arange(len(sheaves.a)) * wrap / (2.0 * np.pi)) ** 2
        tilt = r_P**2 / (sheaves.c_t * belt.cos_d**4)
        compliance = influence_numbers(sheaves, r_P)
        if len(compliance) > 1:
            compliance[1] = max(0.0, compliance[1] - tilt)
        in_contact = wrap * (r - belt.h_off) / belt.t_R
        sunk = F * (
            float(compliance @ spread) + tilt * np.sinc(wrap / (2.0 * np.pi)) ** 2 + 1 / (in_contact * belt.c_el)
        )
        s[k, 0] = belt.z_P - r_P * belt.tan_d - sunk
        # the load's centre lies on the far side of the pulley, where it opens the groove
        s[k, 2] = -side * F * r_P * np.sinc(wrap / (2.0 * np.pi)) / (sheaves.c_t * belt.cos_d**2)
    return s, np.zeros((2, 4))
