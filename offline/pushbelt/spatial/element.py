"""An element in space: a rigid body with six freedoms (Cebulla 2014, section 3.2.1).

Columns 0 to 2 are those of the planar element, 3 to 5 the spatial ones:

    q = (x, y, phi | z, roll, yaw),    u = (v_x, v_y, omega_z | v_z, omega_x, omega_y)

The centre of gravity in the inertial frame, Cardan angles in the reversed sequence of (4.142), phi about z, then yaw
about y, then roll about x, and the angular velocity in the element's own frame (x along the travel, y outwards):

    R = R_z(phi) R_y(yaw) R_x(roll),   v = r',
    phi' = (omega_z cos roll + omega_y sin roll)/cos yaw,
    yaw' = omega_y cos roll - omega_z sin roll,   roll' = omega_x + phi' sin yaw

    m v' = F,    Theta omega' = M + (Theta omega) x omega                        Theta = diag, about the principal axes

The gyroscopic moment (Theta omega) x omega is evaluated at the mean of old and new omega, with Theta omega of the
start:

    (Theta - dt/2 H) (omega+ - omega) = dt H omega,   H a = (Theta omega) x a

H is skew, so that it does no work over a step, to rounding; the step is of first order. An element without roll and yaw
has the planar numbers to the bit.

Mirrored view. A side sigma = -1 is seen in the mirror z -> -z: z, roll, yaw, v_z, omega_x, omega_y and the entries of R
with one index z change their sign, and so do F_z, M_x, M_y. One set of kernels then computes both sides.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.elements import add_rub, arm_of, frame_of, keep, lever, shown, velocity_at
from rtcvt.offline.pushbelt.vectors import (
    cross,
    dot,
    load,
    mirrored,
    moved,
    plus,
    rotated,
    scaled,
    store,
    store_motion,
    straight,
    times,
    to_body,
    to_inertial,
    turning,
)


class Body(NamedTuple):
    """N_E equal elements: mass [kg], inertia [kg m^2] about the axes of travel (roll), height (yaw) and width (phi)."""

    N_E: int
    m: float
    Theta_x: float
    Theta_y: float
    Theta_z: float


@inlined
def masses(B: Body) -> Any:
    """Of the six freedoms [kg, kg m^2]."""
    return B.m, B.m, B.Theta_z, B.m, B.Theta_x, B.Theta_y


class Side(NamedTuple):
    """The elements from one side (`contact.elements`): sigma 1 or -1, q, u (N_E, 6), R (N_E, 9) rotation matrices."""

    sigma: float
    q: Any
    u: Any
    R: Any


@frame_of.of(Side)
@inlined
def _frame(el: Side, i: int) -> Any:
    k, q, R = el.sigma, el.q, el.R
    centre = (q[i, 0], q[i, 1], k * q[i, 3])
    return centre, (R[i, 0], R[i, 3], k * R[i, 6]), (R[i, 1], R[i, 4], k * R[i, 7]), (k * R[i, 2], k * R[i, 5], R[i, 8])


@arm_of.of(Side)
@inlined
def _arm(el: Side, own: Any, out: Any) -> Any:
    return own


@velocity_at.of(Side)
@inlined
def _velocity(el: Side, u: Any, i: int, arm: Any) -> Any:
    turns = cross(plus(turning(u, i), turning(el.u, i)), mirrored(el.sigma, arm))
    v = plus(plus(straight(u, i), straight(el.u, i)), to_inertial(el.R, i, turns))
    return mirrored(el.sigma, times(0.5, v))


@lever.of(Side)
@inlined
def _lever(el: Side, arm: Any) -> Any:
    return mirrored(el.sigma, arm)


@keep.of(Side)
@inlined
def _keep(el: Side, fl: Any, i: int, p: int, c: Any) -> None:
    store(to_body(el.R, i, mirrored(el.sigma, load(fl.n, i, p))), fl.m, i, p)
    store(to_body(el.R, i, mirrored(el.sigma, c)), fl.c, i, p)


@shown.of(Side)
@inlined
def _out(el: Side, i: int, a: Any) -> Any:
    return mirrored(el.sigma, to_inertial(el.R, i, a))


@add_rub.of(Side)
@inlined
def _rub(el: Side, i: int, F: Any, M: Any, rub: Any) -> None:
    store_motion(plus(straight(rub, i), to_inertial(el.R, i, F)), plus(turning(rub, i), M), rub, i)


@compiled
def frames_of(q: Any, cs: Any, sn: Any, R: Any) -> None:
    """Rotation matrices of all elements, row by row in `R` (N_E, 9), from q (N_E, 6) and cosine and sine of phi."""
    far = 0.0
    for i in range(cs.size):  # series, exact to rounding where the belt lives
        a = q[i, 4]
        b = q[i, 5]
        a2 = a * a
        b2 = b * b
        far += 1.0 if a2 + b2 > 0.01 else 0.0
        sa = a * (1.0 - a2 / 6.0 * (1.0 - a2 / 20.0 * (1.0 - a2 / 42.0 * (1.0 - a2 / 72.0))))
        sb = b * (1.0 - b2 / 6.0 * (1.0 - b2 / 20.0 * (1.0 - b2 / 42.0 * (1.0 - b2 / 72.0))))
        ca = 1.0 - a2 / 2.0 * (1.0 - a2 / 12.0 * (1.0 - a2 / 30.0 * (1.0 - a2 / 56.0 * (1.0 - a2 / 90.0))))
        cb = 1.0 - b2 / 2.0 * (1.0 - b2 / 12.0 * (1.0 - b2 / 30.0 * (1.0 - b2 / 56.0 * (1.0 - b2 / 90.0))))
        _matrix(R, i, cs[i], sn[i], sa, ca, sb, cb)
    if far > 0.0:
        for i in range(cs.size):
            _matrix(R, i, cs[i], sn[i], np.sin(q[i, 4]), np.cos(q[i, 4]), np.sin(q[i, 5]), np.cos(q[i, 5]))


@inlined
def _matrix(R: Any, i: int, c: float, s: float, sa: float, ca: float, sb: float, cb: float) -> None:
    """Row i of `frames_of` from cosines and sines of phi, roll, yaw."""
    R[i, 0] = c * cb
    R[i, 1] = c * sb * sa - s * ca
    R[i, 2] = c * sb * ca + s * sa
    R[i, 3] = s * cb
    R[i, 4] = s * sb * sa + c * ca
    R[i, 5] = s * sb * ca - c * sa
    R[i, 6] = -sb
    R[i, 7] = cb * sa
    R[i, 8] = cb * ca


@compiled
def move(q: Any, u: Any, cs: Any, sn: Any, R: Any, dt: float) -> None:
    """q (N_E, 6) over the step `dt` [s] at velocities u, with cosine and sine of phi, and `R` (N_E, 9) renewed."""
    for a in (0, 1, 3):
        for i in range(cs.size):
            q[i, a] += dt * u[i, a]
    for i in range(cs.size):
        # sines and cosines of roll and yaw at the start are in R
        sb = -R[i, 6]
        cb = np.sqrt(R[i, 7] * R[i, 7] + R[i, 8] * R[i, 8])
        sa = R[i, 7] / cb
        ca = R[i, 8] / cb
        rate = (u[i, 2] * ca + u[i, 5] * sa) / cb
        turn = dt * rate
        q[i, 2] += turn
        cs[i], sn[i] = rotated(cs[i], sn[i], turn)
        q[i, 4] += dt * (u[i, 4] + rate * sb)
        q[i, 5] += dt * (u[i, 5] * ca - u[i, 2] * sa)
    frames_of(q, cs, sn, R)


@compiled
def gyrate(B: Body, u: Any, dt: float) -> None:
    """Angular velocities after the gyroscopic moments of a step `dt` [s]; kinetic energy stays."""
    Theta = (B.Theta_x, B.Theta_y, B.Theta_z)
    for i in range(B.N_E):
        o = turning(u, i)
        L = scaled(Theta, o)
        b = times(dt, cross(L, o))
        # (Theta - h H) delta = dt H omega by Cramer's rule, row by row
        X, Y, Z = times(0.5 * dt, L)
        rows = (Theta[0], Z, -Y), (-Z, Theta[1], X), (Y, -X, Theta[2])
        of_b = cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])
        d = plus(plus(times(b[0], of_b[0]), times(b[1], of_b[1])), times(b[2], of_b[2]))
        u[i, 4], u[i, 5], u[i, 2] = moved(o, 1.0 / dot(rows[0], of_b[0]), d)
