"""Tapered elements: the cat's back of the strands, Cebulla 2014, section 4.2.

Elements that are thicker at the top (t_T > t_R) and touch at top and rocking edge are wedges; a row of them is a
circle. In the side view of one element the straight line through the top E_T and tangent to the rocking arc about M_R
(4.44), (4.47)-(4.49),

    a_1 cos(phi_R) + a_2 sin(phi_R) + r_R = 0,   (a_1, a_2) = M_R - E_T = (t_R - r_R - t_T, h_R - h_T),

meets the line of the rear side at the centre of the circle, |lambda_2| below its top (4.56). The neutral fibre's radius
is (4.57)

    r_st = t_T (h_T - h_R - r_R sin(phi_R)) / (t_T - t_R + r_R (1 - cos(phi_R))) - h_T + h_P + h_ring/2,

to first order (h_T - h_R) t_R/(t_T - t_R) less the height of the rocking edge below the fibre. It hardly
depends on N_E, since thickness and taper scale equally.

The circle passes through the points T_O, T_I where the straight strand would leave the pulleys (4.58)-(4.64) and cuts
the pulleys' circles there at a small angle. Common tangents (4.65)-(4.73) take the kinks out: with the vector D from
the centre of one circle to that of the next, radii r_A, r_B, and belts that run clockwise, the outward normal of the
tangent is

    n = ((r_A - r_B) D + b D_perp)/D^2,   b = sqrt(D^2 - (r_A - r_B)^2),

which is valid for all four transitions without cases. The path is longer than the straight one, (4.77).
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit.kinematics import LOWER, PRIMARY, SECONDARY, UPPER, Closure, Path, chain
from rtcvt.offline.pushbelt.unit.parameters import Belt

Array = NDArray[np.float64]


def rocking_angle(belt: Belt) -> float:
    """Angle phi_R [rad] of the contact on the rocking arc where top and rocking edge touch, (4.45), (4.49).

    The root that is 0 without taper: R cos(phi_R - delta) = -r_R with (a_1, a_2) = R (cos delta, sin delta).
    """
    a_1, a_2 = belt.t_R - belt.r_R - belt.t_T, belt.h_R - belt.h_T
    phi = np.arctan2(a_2, a_1) + np.arccos(-belt.r_R / np.hypot(a_1, a_2))
    return float(phi)


def cats_back_radius(belt: Belt) -> float:
    """Radius r_st of the neutral fibre in the strands [m], (4.57); infinite without taper."""
    phi = rocking_angle(belt)
    closing = belt.t_T - belt.t_R + 2.0 * belt.r_R * np.sin(0.5 * phi) ** 2
    if belt.t_T <= belt.t_R:
        return float("inf")
    depth = belt.t_T * (belt.h_T - belt.h_R - belt.r_R * np.sin(phi)) / closing
    return float(depth - belt.h_T + belt.h_P + 0.5 * belt.h_ring)


def cats_back_centre(geometry: Closure, d_A: float, r_st: float) -> Array:
    """Centre of the upper cat's back [m], (4.63); the lower one is its mirror image, (4.64).

    Raises
    ------
    InputError
        The circle is too small to span the strand.
    """
    direction = np.array([-np.cos(geometry.phi), np.sin(geometry.phi)])
    T_O, T_I = geometry.r_O * direction, np.array([d_A, 0.0]) + geometry.r_I * direction
    t_L = d_A * np.sin(geometry.phi)
    if 2.0 * r_st <= t_L:
        raise InputError("pushbelt", "taper", r_st, f"a taper whose cat's back has a radius above {0.5 * t_L:g} m")
    t_m = 0.5 * (T_O - T_I)
    n_m = 2.0 / t_L * np.array([-t_m[1], t_m[0]])
    return 0.5 * (T_O + T_I) + np.sqrt(r_st**2 - (0.5 * t_L) ** 2) * n_m


def tapered_path(geometry: Closure, d_A: float, r_st: float) -> Path:
    """The belt's path with cat's backs: per strand a tangent, an arc of radius `r_st` [m], a tangent."""
    upper = cats_back_centre(geometry, d_A, r_st)
    O, I = np.zeros(2), np.array([d_A, 0.0])  # noqa: E741
    circles = [(O, geometry.r_O), (upper, r_st), (I, geometry.r_I), (upper * (1.0, -1.0), r_st), (O, geometry.r_O)]
    tangents, normals = [], []
    for (A, r_A), (B, r_B) in pairwise(circles):
        D = B - A
        b = np.sqrt(D @ D - (r_A - r_B) ** 2)
        n = ((r_A - r_B) * D + b * np.array([-D[1], D[0]])) / (D @ D)
        tangents.append(float(b))
        normals.append(float(np.arctan2(n[1], n[0])))
    angle = np.unwrap([*normals, normals[0]])  # falls by 2 pi in all; the strands' share is small
    turns = -np.diff(angle)
    turns[turns < 0.0] += 2.0 * np.pi
    arcs = turns * np.array([r_st, geometry.r_I, r_st, geometry.r_O])
    start = geometry.r_O * np.cos(normals[0]), geometry.r_O * np.sin(normals[0])
    kappa_I, kappa_O, kappa_st = -1.0 / geometry.r_I, -1.0 / geometry.r_O, -1.0 / r_st
    return chain(
        start,
        normals[0] - 0.5 * np.pi,
        (tangents[0], arcs[0], tangents[1], arcs[1], tangents[2], arcs[2], tangents[3], arcs[3]),
        (0.0, kappa_st, 0.0, kappa_I, 0.0, kappa_st, 0.0, kappa_O),
        (UPPER, UPPER, UPPER, PRIMARY, LOWER, LOWER, LOWER, SECONDARY),
    )
