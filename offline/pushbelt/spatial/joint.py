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

In the plane these are the six contacts of `element_element`: pin is pin-hole 1 or 2, of which only one can
be closed, mouth for pin-hole 3. Points are found to rounding, so that each f is the derivative of k g^2/2.

Loops run over all joints, without a branch inside. Where the pin is near the hole its contact point is found element by
element.

The work of the dampers in a step is the mean of the gap's rate before and after it times the damper's force; that of
closing and opening is as in `element_element`.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.element_element import Joint, switching
from rtcvt.offline.pushbelt.contact.element_element import joint as planar_joint
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.vectors import (
    add_columns,
    columns,
    copy,
    cross,
    dot,
    image,
    minus,
    moved,
    plus,
    seen,
    set_columns,
    straight,
    times,
    to_body,
    to_inertial,
    turning,
)

CONTACTS = ("rocking_left", "rocking_right", "top", "bottom", "pin", "mouth")
N_CONTACTS = 6
N_PAIR, N_WRENCH = 18, 10  # columns of scratch
PLACE, AXIS_X, AXIS_Y, AXIS_Z, MOTION, TURN = range(0, N_PAIR, 3)  # first columns of the vectors in `pair`
# Columns of `wrench`: of the contacts with the rear plane the force along x and the moments about y and z, then first
# columns of force and moment of the others, and how far the lowest point of the pin's tip is in the hole
PLANE, FORCE, MOMENT, DEPTH = 0, 3, 6, 9
_PIN, _MOUTH = 4, 5
_BEARS = 0.9  # measured at MED of the source: slip is right at 0.89 of the bound, twenty times too large at 1.02
_NEAR = 5.0e-6  # [m]; a pin that is farther off is open, wherever on its circle, and does not get here in a step
_BACK = (-1.0, 0.0, 0.0)


class Point(NamedTuple):
    """A contact: gap [m], point [m] and direction of the force on i, in the frame of j."""

    gap: float
    at: Any
    e: Any


class Force(NamedTuple):
    """Force of a contact and its damper's part of it [N], rate of the gap [m/s], work [J] of the damper and of closing
    or opening, moment of the direction about the centre of j [m]."""

    f: float
    damper: float
    rate: float
    work: float
    moment: Any


def joint(belt: Belt, z_R: float) -> Joint:
    """The joints of a belt whose rocking edges touch `z_R` [m] left and right of the middle; k_R, d_R are of one."""
    whole = planar_joint(belt)
    return whole._replace(z_R=z_R, k_R=0.5 * whole.k_R, d_R=0.5 * whole.d_R)


def largest_step(J: Joint, Theta_y: float) -> float:
    """Largest step [s] of a chain that is pressed straight: neighbours yaw against each other, edge by edge.

    As `contact.element_element.largest_step`; `Theta_y` of an element about its height [kg m2].
    """
    c, d = (2.0 * a * J.z_R**2 / Theta_y for a in (J.k_R, J.d_R))
    return _BEARS * float((np.sqrt(d * d + c) - d) / c)


@inlined
def _rear(J: Joint, at: Any) -> Point:
    """The point `at` of i against the rear plane of j."""
    return Point(J.x_rear - at[0], at, _BACK)


@inlined
def _point(J: Joint, d: Any, D: Any, x: float, y: float) -> Point:
    """The point (x, y, 0) of i against the rear plane of j."""
    return _rear(J, moved(moved(d, x, D[0]), y, D[1]))


@inlined
def _rocking(J: Joint, d: Any, D: Any, z: float) -> Point:
    """The arc at `z` against the rear plane of j."""
    arc = J.r_R if D[1][0] <= 0.0 else 0.0
    h = np.sqrt(D[0][0] * D[0][0] + D[1][0] * D[1][0])
    x = J.x_R - arc + arc * D[0][0] / h
    y = J.y_R + arc * D[1][0] / h
    return _rear(J, moved(moved(moved(d, x, D[0]), y, D[1]), z, D[2]))


@inlined
def _radius(y: float, z: float) -> Any:
    """Distance from an axis along x, and direction away from it."""
    rho = np.sqrt(y * y + z * z)
    inverse = 1.0 / rho if rho > 0.0 else 0.0
    return rho, y * inverse, z * inverse


@inlined
def _pin(J: Joint, d: Any, D: Any) -> Point:
    """The pin's tip in the hole."""
    centre = moved(moved(d, J.x_P, D[0]), J.y_H, D[1])
    centre = (centre[0], centre[1] - J.y_H, centre[2])  # from the axis of the hole
    # towards the axis in the plane of the circle
    _, cosine, sine = _radius(
        D[1][1] * centre[1] + D[1][2] * centre[2], D[2][1] * centre[1] + D[2][2] * centre[2]
    )  # fmt: skip
    if cosine == 0.0 and sine == 0.0:
        cosine = 1.0
    at = centre
    for step in range(4):
        n = times(J.r_P2, plus(times(cosine, D[1]), times(sine, D[2])))
        at = plus(centre, n)
        rho, e_y, e_z = _radius(at[1], at[2])
        reach = (at[0] - J.x_rear) * J.sin_a + (rho - J.r_H1) * J.cos_a
        if step == 3 or reach < -_NEAR:
            break
        # Newton step for the largest reach along the circle
        t = times(J.r_P2, minus(times(cosine, D[2]), times(sine, D[1])))
        radial = e_y * t[1] + e_z * t[2]
        first = J.sin_a * t[0] + J.cos_a * radial
        bent = t[1] * t[1] + t[2] * t[2] - at[1] * n[1] - at[2] * n[2] - radial * radial
        second = -J.sin_a * n[0] + J.cos_a * bent / rho
        turn = -first / second if second < 0.0 else 0.0
        turn = min(max(turn, -0.5), 0.5)
        norm = 1.0 / np.sqrt(1.0 + turn * turn)
        cosine, sine = (cosine - turn * sine) * norm, (sine + turn * cosine) * norm
    rho, e_y, e_z = _radius(at[1], at[2])
    gap = (J.x_rear - at[0]) * J.sin_a - (rho - J.r_H1) * J.cos_a
    return Point(gap, (at[0], J.y_H + at[1], at[2]), (-J.sin_a, -J.cos_a * e_y, -J.cos_a * e_z))


@inlined
def _mouth(J: Joint, d: Any, D: Any) -> Point:
    """The lower edge of the hole's mouth on the pin."""
    at = (J.x_rear, J.y_H - J.r_H1, 0.0)
    far = minus(at, d)
    rho, e_y, e_z = _radius(dot(D[1], far) - J.y_H, dot(D[2], far))
    gap = (dot(D[0], far) - J.x_R) * J.sin_b + (rho - J.r_P1) * J.cos_b
    return Point(gap, at, image(D, (-J.sin_b, -J.cos_b * e_y, -J.cos_b * e_z)))


@inlined
def _contact(k: float, d: float, dt: float, c: Point, twist: Any, held: float, before: float) -> Force:
    """Force of a contact; held, before: the damper's part and the rate of the gap in the last step."""
    moment = cross(c.at, c.e)
    rate = dot(c.e, twist[0]) + dot(moment, twist[1])
    f = -k * c.gap - d * rate
    f = f if c.gap < 0.0 and f > 0.0 else 0.0
    work = switching(k, c.gap, rate, dt) - 0.5 * dt * held * (before + rate)
    return Force(f, f + k * c.gap if c.gap < 0.0 else 0.0, rate, work, moment)


@inlined
def _keep(c: Force, i: int, contact: int, N: Any, damper: Any) -> None:
    """Write the data of a contact for the next step."""
    N[i, contact] = c.f
    damper[i, contact] = c.damper
    damper[i, contact + N_CONTACTS] = c.rate


@inlined
def _relative(q: Any, R: Any, i: int, j: int) -> Any:
    """Place d of element i and its axes D in the frame of j."""
    D = (
        to_body(R, j, (R[i, 0], R[i, 3], R[i, 6])),
        to_body(R, j, (R[i, 1], R[i, 4], R[i, 7])),
        to_body(R, j, (R[i, 2], R[i, 5], R[i, 8])),
    )
    return to_body(R, j, minus(straight(q, i), straight(q, j))), D


@compiled
def _pairs(q: Any, u: Any, R: Any, first: Any, behind: Any, other: Any, pair: Any) -> None:
    """Elements i from `first` up to `behind` in the frames of j from `other` on (unsigned): d, D, twist in `pair`."""
    for i in range(first, behind):
        j = i - first + other
        d, D = _relative(q, R, i, j)
        omega = image(D, turning(u, i))
        v = to_body(R, j, minus(straight(u, i), straight(u, j)))
        set_columns(d, pair, i, PLACE)
        set_columns(D[0], pair, i, AXIS_X)
        set_columns(D[1], pair, i, AXIS_Y)
        set_columns(D[2], pair, i, AXIS_Z)
        set_columns(plus(v, cross(d, omega)), pair, i, MOTION)
        set_columns(minus(omega, turning(u, j)), pair, i, TURN)


@inlined
def _row(pair: Any, i: int) -> Any:
    """d, D and twist of joint i."""
    D = (columns(pair, i, AXIS_X), columns(pair, i, AXIS_Y), columns(pair, i, AXIS_Z))
    return columns(pair, i, PLACE), D, (columns(pair, i, MOTION), columns(pair, i, TURN))


@compiled
def _planes(J: Joint, pair: Any, old: Any, N: Any, damper: Any, wrench: Any, dt: float) -> float:
    """Contacts with the plane rear side, whose force is along x; works of dampers and switching."""
    work = 0.0
    for i in range(J.N_E):
        d, D, twist = _row(pair, i)
        left = _contact(J.k_R, J.d_R, dt, _rocking(J, d, D, J.z_R), twist, old[i, 0], old[i, 6])
        right = _contact(J.k_R, J.d_R, dt, _rocking(J, d, D, -J.z_R), twist, old[i, 1], old[i, 7])
        top = _contact(J.k_T, J.d_T, dt, _point(J, d, D, J.x_T, J.y_T), twist, old[i, 2], old[i, 8])
        bottom = _contact(J.k_B, J.d_B, dt, _point(J, d, D, J.x_B, J.y_B), twist, old[i, 3], old[i, 9])
        work += left.work + right.work + top.work + bottom.work
        _keep(left, i, 0, N, damper)
        _keep(right, i, 1, N, damper)
        _keep(top, i, 2, N, damper)
        _keep(bottom, i, 3, N, damper)
        M = plus(
            plus(times(left.f, left.moment), times(right.f, right.moment)),
            plus(times(top.f, top.moment), times(bottom.f, bottom.moment)),
        )
        set_columns((-(left.f + right.f + top.f + bottom.f), M[1], M[2]), wrench, i, PLANE)
    return work


@compiled
def _mouths(J: Joint, pair: Any, old: Any, N: Any, damper: Any, wrench: Any, dt: float) -> float:
    """Mouth of the hole on the pin, no pin in the hole, and how near that is; works of dampers and switching."""
    work = 0.0
    for i in range(J.N_E):
        d, D, twist = _row(pair, i)
        mouth = _mouth(J, d, D)
        c = _contact(J.k_PH, J.d_PH, dt, mouth, twist, old[i, _MOUTH], old[i, _MOUTH + N_CONTACTS])
        work += c.work
        _keep(c, i, _MOUTH, N, damper)
        _keep(Force(0.0, 0.0, 0.0, 0.0, _BACK), i, _PIN, N, damper)
        set_columns(times(c.f, mouth.e), wrench, i, FORCE)
        set_columns(times(c.f, c.moment), wrench, i, MOMENT)
        t = moved(moved(d, J.x_P, D[0]), J.y_H, D[1])
        rho, _, _ = _radius(t[1] - J.y_H, t[2])
        along = t[0] - J.x_rear + J.r_P2 * np.sqrt(D[1][0] * D[1][0] + D[2][0] * D[2][0])
        wrench[i, DEPTH] = along * J.sin_a + (rho + J.r_P2 - J.r_H1) * J.cos_a
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
    float : loss of the dampers in the last step, and that of closing and opening [J]
    """
    last = np.uint64(J.N_E - 1)
    _pairs(q, u, R, np.uint64(0), last, np.uint64(1), pair)
    _pairs(q, u, R, last, np.uint64(J.N_E), np.uint64(0), pair)
    copy(damper, old)
    work = _planes(J, pair, old, N, damper, wrench, dt)
    work += _mouths(J, pair, old, N, damper, wrench, dt)
    i = 0
    while True:  # not a loop over all joints, which the compiler would do for all of them
        while i < J.N_E and wrench[i, DEPTH] < -_NEAR and old[i, _PIN] == 0.0:
            i += 1
        if i >= J.N_E:
            break
        d, D, twist = _row(pair, i)
        pin = _pin(J, d, D)
        c = _contact(J.k_PH, J.d_PH, dt, pin, twist, old[i, _PIN], old[i, _PIN + N_CONTACTS])
        work += c.work
        _keep(c, i, _PIN, N, damper)
        add_columns(times(c.f, pin.e), wrench, i, FORCE)
        add_columns(times(c.f, c.moment), wrench, i, MOMENT)
        i += 1
    _hand_over(R, pair, wrench, np.uint64(0), last, np.uint64(1), f)
    _hand_over(R, pair, wrench, last, np.uint64(J.N_E), np.uint64(0), f)
    return work


@inlined
def _wrench(wrench: Any, i: int) -> Any:
    """Force and moment of all contacts of joint i at the centre of j, in its frame."""
    of_plane = columns(wrench, i, PLANE)
    F = plus(columns(wrench, i, FORCE), (of_plane[0], 0.0, 0.0))
    return F, plus(columns(wrench, i, MOMENT), (0.0, of_plane[1], of_plane[2]))


@inlined
def _load(f: Any, i: int, F: Any, M: Any) -> None:
    """Add force and moment to those of element i."""
    f[i, 0] += F[0]
    f[i, 1] += F[1]
    f[i, 3] += F[2]
    f[i, 4] += M[0]
    f[i, 5] += M[1]
    f[i, 2] += M[2]


@compiled
def _hand_over(R: Any, pair: Any, wrench: Any, first: Any, behind: Any, other: Any, f: Any) -> None:
    """Forces on the elements j in front, from `other` on, then on the elements i of the joints."""
    for i in range(first, behind):
        j = i - first + other
        F, M = _wrench(wrench, i)
        _load(f, j, times(-1.0, to_inertial(R, j, F)), times(-1.0, M))
    for i in range(first, behind):
        d, D, _ = _row(pair, i)
        F, M = _wrench(wrench, i)
        M = minus(M, cross(d, F))
        _load(f, i, to_inertial(R, i - first + other, F), seen(D, M))


@compiled
def joint_energy(J: Joint, q: Any, R: Any) -> float:
    """Energy stored in all joints [J]."""
    energy = 0.0
    for i in range(J.N_E):
        d, D = _relative(q, R, i, i + 1 if i + 1 < J.N_E else 0)
        left, right = _rocking(J, d, D, J.z_R), _rocking(J, d, D, -J.z_R)
        top, bottom = _point(J, d, D, J.x_T, J.y_T), _point(J, d, D, J.x_B, J.y_B)
        energy += J.k_R * (min(left.gap, 0.0) ** 2 + min(right.gap, 0.0) ** 2)
        energy += J.k_T * min(top.gap, 0.0) ** 2 + J.k_B * min(bottom.gap, 0.0) ** 2
        energy += J.k_PH * (min(_pin(J, d, D).gap, 0.0) ** 2 + min(_mouth(J, d, D).gap, 0.0) ** 2)
    return 0.5 * energy
