"""Contacts between neighbouring elements in space (Cebulla 2014, section 3.2.2).

Element j = i + 1 runs in front of element i; d and D = R_j' R_i are place and rotation of i in the frame of j. Contacts
are unilateral, flexible and without friction. Each has a point p on i, a direction e and a gap g (frame of j), with

    g' = e.(a + omega x p),   f = max(0, -k g - d g') where g < 0,   force f e on i and -f e on j, both at p

rocking, left and right   e = -e_x. At z = +-z_R a circular arc of i, radius r_R, tangent to its front at the height
                          h_R and falling back below, on the rear plane x = -t_S of j. It touches at its centre plus
                          r_R times the direction of e_x in the plane of the arc, and rolls; where i leans back against
                          j the edge itself touches. Each side has half of k_R, d_R.
top, bottom               e = -e_x. Points (t_T - t_S, h_T - h_S, 0), (t_B - t_S, -h_S, 0) of i on that plane.
pin                       The circle of the pin's tip, radius r_P2 in a plane of i, within the frustum of the hole of j.
                          It touches where (p_x + t_S) sin a + rho cos a is largest along it, rho the distance of p
                          from the hole's axis, tan a = (r_H1 - r_H2)/t_H.
mouth                     Lowest point of the hole's mouth and the frustum of the pin,
                          tan b = (r_P1 - r_P2)/(t_P - t_R).

In the plane these are the six contacts of `element_element`: pin stands for pin-hole 1 and 2, of which only one can
be closed, mouth for pin-hole 3. Points are found to rounding, so that each f is the derivative of k g^2/2.

Loops run over all joints, without a branch inside; only where the pin is near the hole its place is sought one by one.

The work of the dampers in a step is the mean of the gap's rate before and after it times the damper's force; that of
closing and opening is as in `element_element`.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.element_element import switching
from rtcvt.offline.pushbelt.unit.parameters import Belt

CONTACTS = ("rocking_left", "rocking_right", "top", "bottom", "pin", "mouth")
N_CONTACTS = 6
N_PAIR, N_WRENCH = 18, 10  # columns of scratch
_NEAR = 5.0e-6  # [m]; a pin that is farther off is open, wherever on its circle, and does not get here in a step


class Joint(NamedTuple):
    """Joint of the belt: points of an element in its own frame [m], stiffness and damping of each contact; SI units."""

    N_E: int
    x_rear: float
    r_R: float
    x_R: float
    y_R: float
    z_R: float
    x_T: float
    y_T: float
    x_B: float
    y_B: float
    x_P: float  # tip of the pin
    y_H: float  # axis of pin and hole
    r_P1: float
    r_P2: float
    r_H1: float
    sin_a: float
    cos_a: float
    sin_b: float
    cos_b: float
    k_R: float  # of one side
    d_R: float
    k_T: float
    d_T: float
    k_B: float
    d_B: float
    k_PH: float
    d_PH: float


def joint(belt: Belt, z_R: float) -> Joint:
    """The joints of a belt whose rocking edges touch `z_R` [m] left and right of the middle."""
    a = np.arctan2(belt.r_H1 - belt.r_H2, belt.t_H)
    b = np.arctan2(belt.r_P1 - belt.r_P2, belt.t_P - belt.t_R)
    return Joint(
        N_E=belt.N_E,
        x_rear=-belt.t_S,
        r_R=belt.r_R,
        x_R=belt.t_R - belt.t_S,
        y_R=belt.h_R - belt.h_S,
        z_R=z_R,
        x_T=belt.t_T - belt.t_S,
        y_T=belt.h_T - belt.h_S,
        x_B=belt.t_B - belt.t_S,
        y_B=-belt.h_S,
        x_P=belt.t_P - belt.t_S,
        y_H=belt.h_H - belt.h_S,
        r_P1=belt.r_P1,
        r_P2=belt.r_P2,
        r_H1=belt.r_H1,
        sin_a=float(np.sin(a)),
        cos_a=float(np.cos(a)),
        sin_b=float(np.sin(b)),
        cos_b=float(np.cos(b)),
        k_R=0.5 * belt.k_R,
        d_R=0.5 * belt.d_R,
        k_T=belt.k_T,
        d_T=belt.d_T,
        k_B=belt.k_B,
        d_B=belt.d_B,
        k_PH=belt.k_PH,
        d_PH=belt.d_PH,
    )


@inlined
def _point(d: Any, D: Any, x: float, y: float, z: float) -> Any:
    """Point (x, y, z) of i in the frame of j."""
    return (
        d[0] + D[0] * x + D[1] * y + D[2] * z,
        d[1] + D[3] * x + D[4] * y + D[5] * z,
        d[2] + D[6] * x + D[7] * y + D[8] * z,
    )


@inlined
def _rocking(J: Joint, d: Any, D: Any, z: float) -> Any:
    """Gap and contact point of the arc at `z`."""
    arc = J.r_R if D[1] <= 0.0 else 0.0
    h = np.sqrt(D[0] * D[0] + D[1] * D[1])
    c = arc * D[0] / h
    s = arc * D[1] / h
    x, y, w = _point(d, D, J.x_R - arc + c, J.y_R + s, z)
    return J.x_rear - x, x, y, w


@inlined
def _pin(J: Joint, d: Any, D: Any) -> Any:
    """Gap, contact point and direction of the pin's tip in the hole."""
    c_x, c_y, c_z = _point(d, D, J.x_P, J.y_H, 0.0)
    # towards the axis in the plane of the circle
    cosine = D[4] * (c_y - J.y_H) + D[7] * c_z
    sine = D[5] * (c_y - J.y_H) + D[8] * c_z
    length = np.sqrt(cosine * cosine + sine * sine)
    cosine = cosine / length if length > 0.0 else 1.0
    sine = sine / length if length > 0.0 else 0.0
    r = J.r_P2
    rho = 1.0
    o_y = 0.0
    o_z = 0.0
    x = 0.0
    for step in range(4):
        y_1 = r * cosine
        z_1 = r * sine
        x = c_x + D[1] * y_1 + D[2] * z_1
        o_y = c_y - J.y_H + D[4] * y_1 + D[5] * z_1
        o_z = c_z + D[7] * y_1 + D[8] * z_1
        rho = np.sqrt(o_y * o_y + o_z * o_z)
        reach = (x - J.x_rear) * J.sin_a + (rho - J.r_H1) * J.cos_a
        if step == 3 or reach < -_NEAR:
            break
        # Newton step for the largest reach along the circle
        t_x = D[2] * y_1 - D[1] * z_1
        t_y = D[5] * y_1 - D[4] * z_1
        t_z = D[8] * y_1 - D[7] * z_1
        n_x = x - c_x
        n_y = o_y - c_y + J.y_H
        n_z = o_z - c_z
        radial = (o_y * t_y + o_z * t_z) / rho
        first = J.sin_a * t_x + J.cos_a * radial
        second = -J.sin_a * n_x + J.cos_a * ((t_y * t_y + t_z * t_z - o_y * n_y - o_z * n_z - radial * radial) / rho)
        turn = -first / second if second < 0.0 else 0.0
        turn = min(max(turn, -0.5), 0.5)
        norm = 1.0 / np.sqrt(1.0 + turn * turn)
        cosine, sine = (cosine - turn * sine) * norm, (sine + turn * cosine) * norm
    inverse = 1.0 / rho if rho > 0.0 else 0.0
    gap = (J.x_rear - x) * J.sin_a - (rho - J.r_H1) * J.cos_a
    return gap, x, J.y_H + o_y, o_z, -J.sin_a, -J.cos_a * o_y * inverse, -J.cos_a * o_z * inverse


@inlined
def _mouth(J: Joint, d: Any, D: Any) -> Any:
    """Gap, contact point and direction of the lower edge of the hole's mouth on the pin."""
    y = J.y_H - J.r_H1
    e_x = J.x_rear - d[0]
    e_y = y - d[1]
    e_z = -d[2]
    x_i = D[0] * e_x + D[3] * e_y + D[6] * e_z
    o_y = D[1] * e_x + D[4] * e_y + D[7] * e_z - J.y_H
    o_z = D[2] * e_x + D[5] * e_y + D[8] * e_z
    rho = np.sqrt(o_y * o_y + o_z * o_z)
    inverse = 1.0 / rho if rho > 0.0 else 0.0
    gap = (x_i - J.x_R) * J.sin_b + (rho - J.r_P1) * J.cos_b
    n_y = J.cos_b * o_y * inverse
    n_z = J.cos_b * o_z * inverse
    return (
        gap,
        J.x_rear,
        y,
        0.0,
        -(D[0] * J.sin_b + D[1] * n_y + D[2] * n_z),
        -(D[3] * J.sin_b + D[4] * n_y + D[5] * n_z),
        -(D[6] * J.sin_b + D[7] * n_y + D[8] * n_z),
    )


@inlined
def _contact(k: float, d: float, dt: float, g: float, p: Any, e: Any, twist: Any, held: float, before: float) -> Any:
    """Force f of a contact, its damper's part, the rate of its gap, what damper and switching took, and moments of e.

    held, before: the damper's part and the rate of the last step; moments about the centre of j.
    """
    m_x = p[1] * e[2] - p[2] * e[1]
    m_y = p[2] * e[0] - p[0] * e[2]
    m_z = p[0] * e[1] - p[1] * e[0]
    rate = e[0] * twist[0] + e[1] * twist[1] + e[2] * twist[2] + m_x * twist[3] + m_y * twist[4] + m_z * twist[5]
    f = -k * g - d * rate
    f = f if g < 0.0 and f > 0.0 else 0.0
    work = switching(k, g, rate, dt) - 0.5 * dt * held * (before + rate)
    return f, f + k * g if g < 0.0 else 0.0, rate, work, m_x, m_y, m_z


@inlined
def _relative(q: Any, R: Any, i: int, j: int) -> Any:
    """Place d and rotation D of element i in the frame of j."""
    x = q[i, 0] - q[j, 0]
    y = q[i, 1] - q[j, 1]
    z = q[i, 3] - q[j, 3]
    d = (
        R[j, 0] * x + R[j, 3] * y + R[j, 6] * z,
        R[j, 1] * x + R[j, 4] * y + R[j, 7] * z,
        R[j, 2] * x + R[j, 5] * y + R[j, 8] * z,
    )
    D = (
        R[j, 0] * R[i, 0] + R[j, 3] * R[i, 3] + R[j, 6] * R[i, 6],
        R[j, 0] * R[i, 1] + R[j, 3] * R[i, 4] + R[j, 6] * R[i, 7],
        R[j, 0] * R[i, 2] + R[j, 3] * R[i, 5] + R[j, 6] * R[i, 8],
        R[j, 1] * R[i, 0] + R[j, 4] * R[i, 3] + R[j, 7] * R[i, 6],
        R[j, 1] * R[i, 1] + R[j, 4] * R[i, 4] + R[j, 7] * R[i, 7],
        R[j, 1] * R[i, 2] + R[j, 4] * R[i, 5] + R[j, 7] * R[i, 8],
        R[j, 2] * R[i, 0] + R[j, 5] * R[i, 3] + R[j, 8] * R[i, 6],
        R[j, 2] * R[i, 1] + R[j, 5] * R[i, 4] + R[j, 8] * R[i, 7],
        R[j, 2] * R[i, 2] + R[j, 5] * R[i, 5] + R[j, 8] * R[i, 8],
    )
    return d, D


@compiled
def _pairs(q: Any, u: Any, R: Any, first: Any, behind: Any, other: Any, pair: Any) -> None:
    """Elements i from `first` to `behind` in the frames of j from `other` on (unsigned): d, D, twist in `pair`."""
    for i in range(first, behind):
        j = i - first + other
        (d_x, d_y, d_z), (D_0, D_1, D_2, D_3, D_4, D_5, D_6, D_7, D_8) = _relative(q, R, i, j)
        v_x = u[i, 0] - u[j, 0]
        v_y = u[i, 1] - u[j, 1]
        v_z = u[i, 3] - u[j, 3]
        o_x = D_0 * u[i, 4] + D_1 * u[i, 5] + D_2 * u[i, 2]
        o_y = D_3 * u[i, 4] + D_4 * u[i, 5] + D_5 * u[i, 2]
        o_z = D_6 * u[i, 4] + D_7 * u[i, 5] + D_8 * u[i, 2]
        pair[i, 0] = d_x
        pair[i, 1] = d_y
        pair[i, 2] = d_z
        pair[i, 3] = D_0
        pair[i, 4] = D_1
        pair[i, 5] = D_2
        pair[i, 6] = D_3
        pair[i, 7] = D_4
        pair[i, 8] = D_5
        pair[i, 9] = D_6
        pair[i, 10] = D_7
        pair[i, 11] = D_8
        pair[i, 12] = R[j, 0] * v_x + R[j, 3] * v_y + R[j, 6] * v_z - o_y * d_z + o_z * d_y
        pair[i, 13] = R[j, 1] * v_x + R[j, 4] * v_y + R[j, 7] * v_z - o_z * d_x + o_x * d_z
        pair[i, 14] = R[j, 2] * v_x + R[j, 5] * v_y + R[j, 8] * v_z - o_x * d_y + o_y * d_x
        pair[i, 15] = o_x - u[j, 4]
        pair[i, 16] = o_y - u[j, 5]
        pair[i, 17] = o_z - u[j, 2]


@inlined
def _row(pair: Any, i: int) -> Any:
    """d, D and twist of joint i."""
    d = (pair[i, 0], pair[i, 1], pair[i, 2])
    D = (
        pair[i, 3],
        pair[i, 4],
        pair[i, 5],
        pair[i, 6],
        pair[i, 7],
        pair[i, 8],
        pair[i, 9],
        pair[i, 10],
        pair[i, 11],
    )
    return d, D, (pair[i, 12], pair[i, 13], pair[i, 14], pair[i, 15], pair[i, 16], pair[i, 17])


@compiled
def _planes(J: Joint, pair: Any, old: Any, N: Any, damper: Any, wrench: Any, dt: float) -> float:
    """Contacts with the plane rear side, whose force is along x; works of dampers and switching."""
    work = 0.0
    back = (-1.0, 0.0, 0.0)
    for i in range(J.N_E):
        d, D, twist = _row(pair, i)
        g, x, y, z = _rocking(J, d, D, J.z_R)
        f_0, d_0, r_0, w_0, _, y_0, z_0 = _contact(J.k_R, J.d_R, dt, g, (x, y, z), back, twist, old[i, 0], old[i, 6])
        g, x, y, z = _rocking(J, d, D, -J.z_R)
        f_1, d_1, r_1, w_1, _, y_1, z_1 = _contact(J.k_R, J.d_R, dt, g, (x, y, z), back, twist, old[i, 1], old[i, 7])
        x, y, z = _point(d, D, J.x_T, J.y_T, 0.0)
        g = J.x_rear - x
        f_2, d_2, r_2, w_2, _, y_2, z_2 = _contact(J.k_T, J.d_T, dt, g, (x, y, z), back, twist, old[i, 2], old[i, 8])
        x, y, z = _point(d, D, J.x_B, J.y_B, 0.0)
        g = J.x_rear - x
        f_3, d_3, r_3, w_3, _, y_3, z_3 = _contact(J.k_B, J.d_B, dt, g, (x, y, z), back, twist, old[i, 3], old[i, 9])
        work += w_0 + w_1 + w_2 + w_3
        N[i, 0] = f_0
        N[i, 1] = f_1
        N[i, 2] = f_2
        N[i, 3] = f_3
        damper[i, 0] = d_0
        damper[i, 1] = d_1
        damper[i, 2] = d_2
        damper[i, 3] = d_3
        damper[i, 6] = r_0
        damper[i, 7] = r_1
        damper[i, 8] = r_2
        damper[i, 9] = r_3
        wrench[i, 0] = -(f_0 + f_1 + f_2 + f_3)
        wrench[i, 4] = f_0 * y_0 + f_1 * y_1 + f_2 * y_2 + f_3 * y_3
        wrench[i, 5] = f_0 * z_0 + f_1 * z_1 + f_2 * z_2 + f_3 * z_3
    return work


@compiled
def _mouths(J: Joint, pair: Any, old: Any, N: Any, damper: Any, wrench: Any, dt: float) -> float:
    """Mouth of the hole on the pin; the components of the wrench that `_planes` does not have are written."""
    work = 0.0
    for i in range(J.N_E):
        d, D, twist = _row(pair, i)
        g, x, y, z, e_x, e_y, e_z = _mouth(J, d, D)
        f, h, r, w, a, b, c = _contact(J.k_PH, J.d_PH, dt, g, (x, y, z), (e_x, e_y, e_z), twist, old[i, 5], old[i, 11])
        work += w
        N[i, 4] = 0.0
        N[i, 5] = f
        damper[i, 4] = 0.0
        damper[i, 5] = h
        damper[i, 10] = 0.0
        damper[i, 11] = r
        wrench[i, 1] = f * e_y
        wrench[i, 2] = f * e_z
        wrench[i, 3] = f * a
        # for the pins, which come one by one
        wrench[i, 6] = f * e_x
        wrench[i, 7] = f * b
        wrench[i, 8] = f * c
        # how far the lowest point of the tip is in the hole, with the axis of its circle from the axis of the hole
        t_x = d[0] + D[0] * J.x_P + D[1] * J.y_H
        t_y = d[1] + D[3] * J.x_P + D[4] * J.y_H - J.y_H
        t_z = d[2] + D[6] * J.x_P + D[7] * J.y_H
        wrench[i, 9] = (t_x - J.x_rear + J.r_P2 * np.sqrt(D[1] * D[1] + D[2] * D[2])) * J.sin_a + (
            np.sqrt(t_y * t_y + t_z * t_z) + J.r_P2 - J.r_H1
        ) * J.cos_a
    return work


@compiled
def joint_forces(
    J: Joint, q: Any, u: Any, R: Any, f: Any, N: Any, damper: Any, pair: Any, wrench: Any, old: Any, dt: float
) -> float:
    """Add the forces of all joints to `f`.

    Parameters
    ----------
    J : Joint
    q, u, R : (N_E, 6), (N_E, 6), (N_E, 9) as in `element`
    f : (N_E, 6) forces in the inertial frame and moments in the element's, in the order of `u`; added to
    N : (N_E, 6), written: contact forces between i and i + 1 [N], in the order of `CONTACTS`
    damper : (N_E, 12) of the last step: force of each damper and rate of its gap; updated
    pair, wrench, old : (N_E, N_PAIR), (N_E, N_WRENCH), (N_E, 12) scratch
    dt : step [s]

    Returns
    -------
    float : work that the dampers took in the last step, and what closing and opening took on the way here [J]
    """
    last = np.uint64(J.N_E - 1)
    _pairs(q, u, R, np.uint64(0), last, np.uint64(1), pair)
    _pairs(q, u, R, last, np.uint64(J.N_E), np.uint64(0), pair)
    for c in range(2 * N_CONTACTS):
        for i in range(J.N_E):
            old[i, c] = damper[i, c]
    work = _planes(J, pair, old, N, damper, wrench, dt)
    work += _mouths(J, pair, old, N, damper, wrench, dt)
    i = 0
    while True:  # not a loop over all joints, which the compiler would do for all of them
        while i < J.N_E and wrench[i, 9] < -_NEAR and old[i, 4] == 0.0:
            i += 1
        if i >= J.N_E:
            break
        d, D, twist = _row(pair, i)
        g, x, y, z, e_x, e_y, e_z = _pin(J, d, D)
        n, h, r, w, a, b, c = _contact(J.k_PH, J.d_PH, dt, g, (x, y, z), (e_x, e_y, e_z), twist, old[i, 4], old[i, 10])
        work += w
        N[i, 4] = n
        damper[i, 4] = h
        damper[i, 10] = r
        wrench[i, 1] += n * e_y
        wrench[i, 2] += n * e_z
        wrench[i, 3] += n * a
        wrench[i, 6] += n * e_x
        wrench[i, 7] += n * b
        wrench[i, 8] += n * c
        i += 1
    _hand_over(R, pair, wrench, np.uint64(0), last, np.uint64(1), f)
    _hand_over(R, pair, wrench, last, np.uint64(J.N_E), np.uint64(0), f)
    return work


@compiled
def _hand_over(R: Any, pair: Any, wrench: Any, first: Any, behind: Any, other: Any, f: Any) -> None:
    """Forces on the elements j in front, from `other` on, then on the elements i of the joints."""
    for i in range(first, behind):
        j = i - first + other
        F_x = wrench[i, 0] + wrench[i, 6]
        F_y = wrench[i, 1]
        F_z = wrench[i, 2]
        f[j, 0] -= R[j, 0] * F_x + R[j, 1] * F_y + R[j, 2] * F_z
        f[j, 1] -= R[j, 3] * F_x + R[j, 4] * F_y + R[j, 5] * F_z
        f[j, 3] -= R[j, 6] * F_x + R[j, 7] * F_y + R[j, 8] * F_z
        f[j, 4] -= wrench[i, 3]
        f[j, 5] -= wrench[i, 4] + wrench[i, 7]
        f[j, 2] -= wrench[i, 5] + wrench[i, 8]
    for i in range(first, behind):
        j = i - first + other
        F_x = wrench[i, 0] + wrench[i, 6]
        F_y = wrench[i, 1]
        F_z = wrench[i, 2]
        f[i, 0] += R[j, 0] * F_x + R[j, 1] * F_y + R[j, 2] * F_z
        f[i, 1] += R[j, 3] * F_x + R[j, 4] * F_y + R[j, 5] * F_z
        f[i, 3] += R[j, 6] * F_x + R[j, 7] * F_y + R[j, 8] * F_z
        M_x = wrench[i, 3] - pair[i, 1] * F_z + pair[i, 2] * F_y
        M_y = wrench[i, 4] + wrench[i, 7] - pair[i, 2] * F_x + pair[i, 0] * F_z
        M_z = wrench[i, 5] + wrench[i, 8] - pair[i, 0] * F_y + pair[i, 1] * F_x
        f[i, 4] += pair[i, 3] * M_x + pair[i, 6] * M_y + pair[i, 9] * M_z
        f[i, 5] += pair[i, 4] * M_x + pair[i, 7] * M_y + pair[i, 10] * M_z
        f[i, 2] += pair[i, 5] * M_x + pair[i, 8] * M_y + pair[i, 11] * M_z


@compiled
def joint_energy(J: Joint, q: Any, R: Any) -> float:
    """Energy stored in all joints [J]."""
    energy = 0.0
    for i in range(J.N_E):
        j = i + 1 if i + 1 < J.N_E else 0
        d, D = _relative(q, R, i, j)
        left = _rocking(J, d, D, J.z_R)
        right = _rocking(J, d, D, -J.z_R)
        energy += J.k_R * (min(left[0], 0.0) ** 2 + min(right[0], 0.0) ** 2)
        energy += J.k_T * min(J.x_rear - _point(d, D, J.x_T, J.y_T, 0.0)[0], 0.0) ** 2
        energy += J.k_B * min(J.x_rear - _point(d, D, J.x_B, J.y_B, 0.0)[0], 0.0) ** 2
        energy += J.k_PH * (min(_pin(J, d, D)[0], 0.0) ** 2 + min(_mouth(J, d, D)[0], 0.0) ** 2)
    return 0.5 * energy
