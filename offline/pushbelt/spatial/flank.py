"""Contact of both flanks of an element with the sheaves, six velocities each (Cebulla 2014, sections 3.2.2, 5.2.6).

A side is seen in the mirrored view of `element`; there its cone, contact points, penetration and axial law are those of
`flank`, at points that also move with z, roll and yaw. Each side has its own sheaves and its own deflection.

New velocities. N follows from penetration and approach as in `flank`; friction and the resulting velocity u+ are
solved together. In the frame of an element, with arms a and normals n of its closed points (both sides, one or two
each),

    M (u+ - u) = dt f + dt sum G' (N n + T),    T = -kappa(|v_T|) v_T,    v_T = (1 - n n')(G u+ - v_sheave)

six equations, G = (1, -[a] x), with the mean step's velocity of the sheave; Theta is diagonal in this frame, m the same
in all. As in `flank` they are the minimum of a convex function for friction that does not fall with the slip. Newton's
steps solve a symmetric positive definite system each, by L D L'; T is within mu N and exact (`FRICTION_RTOL`).
Forces and
moments on the sheaves are the opposite of those on the flanks, about all axes.

Loops run over the stretches of the belt at one pulley, without a branch inside; a side without a sheave has N = 0
there. The Newton steps process whole vectors (`flank.whole`). Where many elements are not exact after them, as in large
steps, all make three more; the remaining ones are solved one by one.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.flank import (
    DEFLECTION_REACH,
    FRICTION_RTOL,
    MAX_NEWTON_STEPS,
    VELOCITY_ATOL,
    axis,
    cone,
    face,
    find_stretches,
    whole,
)
from rtcvt.offline.pushbelt.contact.flank import energy as of_both_flanks
from rtcvt.offline.pushbelt.contact.friction import secant, tangent
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.vectors import (
    across,
    cross,
    dot,
    load,
    minus,
    mirrored,
    moved,
    plus,
    store,
    store_motion,
    straight,
    times,
    to_body,
    to_inertial,
    turned,
    turning,
)

Array = NDArray[np.float64]

_MAX_SINGLE_ELEMENTS = 6  # elements to be done one by one; for more the Newton steps of all are cheaper


@declared
class Flanks(NamedTuple):
    """Contact points on the flanks of one side, and their forces, in its view; stretches as in `flank.Flanks`."""

    points: Annotated[tuple[int, ...], ("n_p",), "1", "as many as contact points"]
    stretch: Annotated[NDArray[np.uint64], ("N_E", 2), "1", "first element of each stretch, the one after its last"]
    at: Annotated[NDArray[np.int64], ("N_E",), "1", "pulley of each stretch"]
    n_stretch: Annotated[NDArray[np.int64], (1,), "1", "number of stretches"]
    pulley: Annotated[NDArray[np.int64], ("N_E",), "1", "pulley of each element"]
    pen: Annotated[Array, ("N_E", "n_p"), "m", "axial penetration of the rigid contours, -inf out of reach"]
    r: Annotated[Array, ("N_E", "n_p"), "m", "radius on the cone"]
    w: Annotated[Array, ("N_E", "n_p"), "m", "deflection of the sheave"]
    N: Annotated[Array, ("N_E", "n_p"), "N", "normal force"]
    phi: Annotated[Array, ("N_E", "n_p", 2), "1", "cosine and sine of the azimuth"]
    arm: Annotated[Array, ("N_E", "n_p", 3), "m", "point in the element's frame"]
    P: Annotated[Array, ("N_E", "n_p", 3), "m", "point from the apex"]
    n: Annotated[Array, ("N_E", "n_p", 3), "1", "normal into the element, inertial"]
    v: Annotated[Array, ("N_E", "n_p", 6), "m/s, m/s^2", "velocity of the sheave; its change by rotation per second"]
    m: Annotated[Array, ("N_E", "n_p", 3), "1", "normal in the element's frame"]
    c: Annotated[Array, ("N_E", "n_p", 3), "m/s", "velocity of the sheave in the middle of the step, in that frame"]
    T: Annotated[Array, ("N_E", "n_p", 3), "N", "friction in that frame"]
    force: Annotated[Array, ("N_E", 4), "N", "normal, friction in the direction of travel, outwards, axial"]


def flanks(N_E: int, n_p: int) -> Flanks:
    """Empty arrays of one side: `n_p` = 1 for the simplified contact, 2 for front and rear arc."""
    return zeros(Flanks, {"N_E": N_E, "n_p": n_p})


@compiled
def contact_points(belt, sheaves, sigma, q, R, s, fl):
    """Find the contact points of one side and their penetrations.

    Parameters
    ----------
    belt, sheaves : Belt, Sheaves
    sigma : float
        1 or -1, the side.
    q, R : (N_E, 6), (N_E, 9) as in `element`
    s : (2, 4) positions of the side's sheaves: apex z [m], alpha, beta, rotation [rad], in the side's view
    fl : Flanks
        Written: stretches, pulley, and for elements near a pulley pen, r, phi, arm, P, n; else pen, N.
    """
    n_p = len(fl.points)
    tan_d = belt.tan_d
    y_E = belt.y_P - belt.h_S
    far = (belt.z_P + 2.0 * DEFLECTION_REACH) / tan_d + 2.0 * belt.t_R
    reach_I = far - s[0, 0] / tan_d
    reach_O = far - s[1, 0] / tan_d
    pulleys = fl.pulley
    for i in range(pulleys.size):
        at_O = q[i, 0] < 0.5 * belt.d_A
        X = q[i, 0] + R[i, 1] * y_E - (0.0 if at_O else belt.d_A)
        Y = q[i, 1] + R[i, 4] * y_E
        reach = (reach_O if at_O else reach_I) + sigma * q[i, 3] / tan_d
        pulleys[i] = (1 if at_O else 0) if reach > 0.0 and reach * reach > X * X + Y * Y else -1
    find_stretches(fl)
    for k in range(fl.n_stretch[0]):
        first, behind, pulley = fl.stretch[k, 0], fl.stretch[k, 1], fl.at[k]
        if pulley < 0:
            continue
        for p in range(n_p):
            for i in range(first, behind):
                _point(belt, sheaves, sigma, q, R, s, fl, pulley, i, p)
        for i in range(first, behind):
            deepest = fl.pen[i, 0] if n_p == 1 else max(fl.pen[i, 0], fl.pen[i, n_p - 1])
            pulleys[i] = pulley if deepest > -DEFLECTION_REACH else -1
    find_stretches(fl)
    for k in range(fl.n_stretch[0]):
        if fl.at[k] < 0:
            for p in range(n_p):
                for i in range(fl.stretch[k, 0], fl.stretch[k, 1]):
                    fl.pen[i, p] = -np.inf
                    fl.N[i, p] = 0.0


@inlined
def _normal(belt, a, P):
    """Height and radius on the cone, radial unit vector and normal into the element, of a point from the apex."""
    h, r, e_x, e_y, e_z = cone(P[0], P[1], P[2], a[0], a[1], a[2])
    e = e_x, e_y, e_z
    return h, r, e, moved(times(belt.sin_d, e), -belt.cos_d, a)


@inlined
def _point(belt, sheaves, sigma, q, R, s, fl, pulley, i, p):
    """Contact point `p` of element i and its penetration."""
    n_p = len(fl.points)
    a = axis(s, pulley)
    x_p = face(belt, p, n_p)
    y_p = belt.y_P - belt.h_S
    z_p = belt.z_P
    to_x = (R[i, 0], R[i, 3], sigma * R[i, 6])
    to_y = (R[i, 1], R[i, 4], sigma * R[i, 7])
    to_z = (sigma * R[i, 2], sigma * R[i, 5], R[i, 8])
    centre = (q[i, 0] - (0.0 if pulley == 1 else belt.d_A), q[i, 1], sigma * q[i, 3] - s[pulley, 0])
    front = moved(centre, x_p, to_x)
    if n_p > 1:
        # the point of the arc that is farthest in the cone, by the normal at the middle of the flank
        _, _, _, n = _normal(belt, a, moved(moved(front, y_p, to_y), z_p, to_z))
        up = -dot(n, to_y)
        out = -dot(n, to_z)
        rise = belt.r_F * (up / np.sqrt(up * up + out * out) + belt.sin_d)
        rise = min(max(rise, belt.y_F0 - belt.y_P), belt.y_F1 - belt.y_P)
        up = rise / belt.r_F - belt.sin_d
        y_p += rise
        z_p += belt.r_F * (np.sqrt(1.0 - up * up) - belt.cos_d)
    P = moved(moved(front, y_p, to_y), z_p, to_z)
    h, r, e, n = _normal(belt, a, P)
    fl.pen[i, p] = h - r * belt.tan_d if sheaves.r_min < r and r < sheaves.r_max else -np.inf
    fl.r[i, p] = r
    fl.phi[i, p, 0] = e[0]
    fl.phi[i, p, 1] = e[1]
    store((x_p, y_p, z_p), fl.arm, i, p)
    store(P, fl.P, i, p)
    store(n, fl.n, i, p)


@inlined
def _velocity(sigma, u, R, arm, i):
    """Velocity of a point of element i at `arm` in its frame, in the side's view."""
    turns = cross(turning(u, i), mirrored(sigma, arm))
    return mirrored(sigma, plus(straight(u, i), to_inertial(R, i, turns)))


@compiled
def normal_forces(belt, dt, sigma, u, R, s, sd, fl):
    """Normal forces of one side from penetration, deflection and approach speed; slip and the sheave's velocity.

    Parameters as for `flank.normal_forces`, u (N_E, 6), R (N_E, 9) as in `element`; s, sd (2, 4) of the side's sheaves.
    """
    n_p = len(fl.points)
    c = belt.c_el / (n_p * belt.cos_d)
    d = belt.d_el / (n_p * belt.cos_d * belt.cos_d)
    lag = 0.5 * dt
    for k in range(fl.n_stretch[0]):
        first, behind, pulley = fl.stretch[k, 0], fl.stretch[k, 1], fl.at[k]
        if pulley < 0:
            continue
        omega = (sd[pulley, 1], sd[pulley, 2], 0.0)
        omega = moved(omega, -sd[pulley, 3], axis(s, pulley))
        for p in range(n_p):
            for i in range(first, behind):
                sheave = cross(omega, load(fl.P, i, p))
                per_time = cross(omega, sheave)
                sheave = (sheave[0], sheave[1], sheave[2] + sd[pulley, 0])
                store(sheave, fl.v, i, p)
                fl.v[i, p, 3] = per_time[0]
                fl.v[i, p, 4] = per_time[1]
                fl.v[i, p, 5] = per_time[2]
                n = load(fl.n, i, p)
                v = minus(_velocity(sigma, u, R, load(fl.arm, i, p), i), sheave)
                sunk = fl.pen[i, p] - fl.w[i, p]
                force = c * sunk - d * dot(n, moved(v, lag, per_time))
                fl.N[i, p] = force if sunk > 0.0 and force > 0.0 else 0.0
                store(to_body(R, i, mirrored(sigma, n)), fl.m, i, p)
                store(to_body(R, i, mirrored(sigma, moved(sheave, lag, per_time))), fl.c, i, p)


@inlined
def _slip(sigma, fl, i, p, w):
    """Slip velocity v_T at a point if the step ends with the velocity w of the element, both in its frame."""
    v = plus(w[0], cross(w[1], mirrored(sigma, load(fl.arm, i, p))))
    return across(minus(v, load(fl.c, i, p)), load(fl.m, i, p))


@inlined
def _add(law, dt, sigma, fl, i, p, w, S):
    """Sums S, the lower triangle of A by rows and the residual, with the impulse of one point at the velocity w."""
    v = _slip(sigma, fl, i, p, w)
    v_x, v_y, v_z = v
    x, y, z = mirrored(sigma, load(fl.arm, i, p))
    n_x, n_y, n_z = load(fl.m, i, p)
    N = dt * fl.N[i, p]
    k, e = tangent(law, dot(v, v))
    k *= N
    e *= N
    h_x, h_y, h_z = moved(times(N, (n_x, n_y, n_z)), -k, v)
    T_xx = k - k * n_x * n_x + e * v_x * v_x
    T_xy = e * v_x * v_y - k * n_x * n_y
    T_xz = e * v_x * v_z - k * n_x * n_z
    T_yy = k - k * n_y * n_y + e * v_y * v_y
    T_yz = e * v_y * v_z - k * n_y * n_z
    T_zz = k - k * n_z * n_z + e * v_z * v_z
    # columns of T G for omega_z, omega_x, omega_y: T (-y, x, 0), T (0, -z, y), T (z, 0, -x)
    c_0 = T_xy * x - T_xx * y
    c_1 = T_yy * x - T_xy * y
    c_2 = T_yz * x - T_xz * y
    d_0 = T_xz * y - T_xy * z
    d_1 = T_yz * y - T_yy * z
    d_2 = T_zz * y - T_yz * z
    e_0 = T_xx * z - T_xz * x
    e_1 = T_xy * z - T_yz * x
    e_2 = T_xz * z - T_zz * x
    # order: x, y, omega_z, z, omega_x, omega_y
    return (
        S[0] + T_xx,
        S[1] + T_xy,
        S[2] + T_yy,
        S[3] + c_0,
        S[4] + c_1,
        S[5] + x * c_1 - y * c_0,
        S[6] + T_xz,
        S[7] + T_yz,
        S[8] + c_2,
        S[9] + T_zz,
        S[10] + d_0,
        S[11] + d_1,
        S[12] + x * d_1 - y * d_0,
        S[13] + d_2,
        S[14] + y * d_2 - z * d_1,
        S[15] + e_0,
        S[16] + e_1,
        S[17] + x * e_1 - y * e_0,
        S[18] + e_2,
        S[19] + y * e_2 - z * e_1,
        S[20] + z * e_0 - x * e_2,
        S[21] - h_x,
        S[22] - h_y,
        S[23] - x * h_y + y * h_x,
        S[24] - h_z,
        S[25] - y * h_z + z * h_y,
        S[26] - z * h_x + x * h_z,
    )


@inlined
def _solve(S):
    """A^-1 times the residual of `_add`, as velocity and angular velocity; A is positive definite: by L D L'."""
    d_0 = 1.0 / S[0]
    t_0 = S[21]
    v_10 = S[1]
    L_10 = v_10 * d_0
    d_1 = 1.0 / (S[2] - v_10 * L_10)
    t_1 = S[22] - L_10 * t_0
    v_20 = S[3]
    v_21 = S[4] - v_20 * L_10
    L_20 = v_20 * d_0
    L_21 = v_21 * d_1
    d_2 = 1.0 / (S[5] - v_20 * L_20 - v_21 * L_21)
    t_2 = S[23] - L_20 * t_0 - L_21 * t_1
    v_30 = S[6]
    v_31 = S[7] - v_30 * L_10
    v_32 = S[8] - v_30 * L_20 - v_31 * L_21
    L_30 = v_30 * d_0
    L_31 = v_31 * d_1
    L_32 = v_32 * d_2
    d_3 = 1.0 / (S[9] - v_30 * L_30 - v_31 * L_31 - v_32 * L_32)
    t_3 = S[24] - L_30 * t_0 - L_31 * t_1 - L_32 * t_2
    v_40 = S[10]
    v_41 = S[11] - v_40 * L_10
    v_42 = S[12] - v_40 * L_20 - v_41 * L_21
    v_43 = S[13] - v_40 * L_30 - v_41 * L_31 - v_42 * L_32
    L_40 = v_40 * d_0
    L_41 = v_41 * d_1
    L_42 = v_42 * d_2
    L_43 = v_43 * d_3
    d_4 = 1.0 / (S[14] - v_40 * L_40 - v_41 * L_41 - v_42 * L_42 - v_43 * L_43)
    t_4 = S[25] - L_40 * t_0 - L_41 * t_1 - L_42 * t_2 - L_43 * t_3
    v_50 = S[15]
    v_51 = S[16] - v_50 * L_10
    v_52 = S[17] - v_50 * L_20 - v_51 * L_21
    v_53 = S[18] - v_50 * L_30 - v_51 * L_31 - v_52 * L_32
    v_54 = S[19] - v_50 * L_40 - v_51 * L_41 - v_52 * L_42 - v_53 * L_43
    L_50 = v_50 * d_0
    L_51 = v_51 * d_1
    L_52 = v_52 * d_2
    L_53 = v_53 * d_3
    L_54 = v_54 * d_4
    d_5 = 1.0 / (S[20] - v_50 * L_50 - v_51 * L_51 - v_52 * L_52 - v_53 * L_53 - v_54 * L_54)
    t_5 = S[26] - L_50 * t_0 - L_51 * t_1 - L_52 * t_2 - L_53 * t_3 - L_54 * t_4
    x_5 = t_5 * d_5
    x_4 = t_4 * d_4 - L_54 * x_5
    x_3 = t_3 * d_3 - L_43 * x_4 - L_53 * x_5
    x_2 = t_2 * d_2 - L_32 * x_3 - L_42 * x_4 - L_52 * x_5
    x_1 = t_1 * d_1 - L_21 * x_2 - L_31 * x_3 - L_41 * x_4 - L_51 * x_5
    x_0 = t_0 * d_0 - L_10 * x_1 - L_20 * x_2 - L_30 * x_3 - L_40 * x_4 - L_50 * x_5
    return (x_0, x_1, x_3), (x_4, x_5, x_2)


@inlined
def _free(body, dt, old, f, R, i):
    """Velocity and angular velocity of an element without flanks after the step, in its frame."""
    v = moved(straight(old, i), dt / body.m, straight(f, i))
    return to_body(R, i, v), turned(body, dt, turning(old, i), turning(f, i))


@inlined
def _newton(body, law, dt, left, right, i, rest, w):
    """One Newton step of an element's velocity from w; `rest` that without flanks.

    Returns
    -------
    velocity, and the squared error of the impulse before the step [N^2 s^2]
    """
    m = body.m
    v = times(m, minus(w[0], rest[0]))
    o = minus(w[1], rest[1])
    mass = (m, 0.0, m, 0.0, 0.0, body.Theta_z, 0.0, 0.0, 0.0, m)
    inertia = (0.0, 0.0, 0.0, 0.0, body.Theta_x, 0.0, 0.0, 0.0, 0.0, 0.0, body.Theta_y)
    S = mass + inertia + (v[0], v[1], body.Theta_z * o[2], v[2], body.Theta_x * o[0], body.Theta_y * o[1])
    S = _add(law, dt, 1.0, left, i, 0, w, S)
    S = _add(law, dt, -1.0, right, i, 0, w, S)
    if len(left.points) == 2:
        S = _add(law, dt, 1.0, left, i, 1, w, S)
        S = _add(law, dt, -1.0, right, i, 1, w, S)
    v, o = _solve(S)
    error = S[21] * S[21] + S[22] * S[22] + S[24] * S[24]
    error += m * (S[23] ** 2 / body.Theta_z + S[25] ** 2 / body.Theta_x + S[26] ** 2 / body.Theta_y)
    return (minus(w[0], v), minus(w[1], o)), error


@inlined
def _pulled(sigma, fl, i, p, force, F):
    """Force and moment F on element i, in its frame, with a force at one point."""
    return plus(F[0], force), plus(F[1], cross(mirrored(sigma, load(fl.arm, i, p)), force))


@inlined
def _rub(law, dt, sigma, fl, i, p, w, f, steepest, stiff):
    """Friction T of one point at the velocity w, added with the normal force to the impulses f, the largest secant, and
    the sum of kappa dt [kg]."""
    v = _slip(sigma, fl, i, p, w)
    N = fl.N[i, p]
    k = secant(law, dot(v, v))
    steepest = max(steepest, k)
    k *= N
    T = times(-k, v)
    store(T, fl.T, i, p)
    return _pulled(sigma, fl, i, p, times(dt, moved(T, N, load(fl.m, i, p))), f), steepest, stiff + dt * k


@inlined
def _conclude(body, law, dt, R, left, right, i, rest, w, u):
    """Friction T of an element at the velocity w, and the velocity u that it leads to; 0 if both are one, else 1."""
    none = (0.0, 0.0, 0.0)
    f, steepest, stiff = _rub(law, dt, 1.0, left, i, 0, w, (none, none), 0.0, 0.0)
    f, steepest, stiff = _rub(law, dt, -1.0, right, i, 0, w, f, steepest, stiff)
    if len(left.points) == 2:
        f, steepest, stiff = _rub(law, dt, 1.0, left, i, 1, w, f, steepest, stiff)
        f, steepest, stiff = _rub(law, dt, -1.0, right, i, 1, w, f, steepest, stiff)
    v = moved(rest[0], 1.0 / body.m, f[0])
    o = turned(body, 1.0, rest[1], f[1])
    store_motion(to_inertial(R, i, v), o, u, i)
    missed = minus(v, w[0])
    turn = minus(o, w[1])
    error = dot(missed, missed)
    error += (body.Theta_x * turn[0] ** 2 + body.Theta_y * turn[1] ** 2 + body.Theta_z * turn[2] ** 2) / body.m
    # u leads friction back with rounding of w, kappa dt W times as large; W of a point that turns the element about x
    z = left.arm[i, 0, 2]
    W = 1.0 / body.m + z * z / body.Theta_x
    limit = max(FRICTION_RTOL / steepest, VELOCITY_ATOL * (1.0 + 0.1 * stiff * W))
    return 0.0 if error < limit * limit else 1.0


@compiled
def _guess(dt, old, R, left, first, behind, trial):
    """First guess of the velocities of elements at a pulley, in `trial`: those before the step, turned with the sheave.

    `trial` (N_E, 7): velocity in the element's frame, and whether it is not that which it leads to (`_approach`).
    """
    for i in range(first, behind):
        sheave = (left.v[i, 0, 3], left.v[i, 0, 4], left.v[i, 0, 5])
        store_motion(to_body(R, i, moved(straight(old, i), dt, sheave)), turning(old, i), trial, i)


@compiled
def _approach(body, law, dt, old, f, R, left, right, first, behind, u, trial):
    """Velocities `u` of elements at a pulley by a few Newton steps from `trial`; how many are not exact."""
    far = 0.0
    for i in range(first, behind):
        rest = _free(body, dt, old, f, R, i)
        w = (straight(trial, i), turning(trial, i))
        # written out: a loop of this length within keeps the compiler from vectorising the outer one
        w, _ = _newton(body, law, dt, left, right, i, rest, w)
        w, _ = _newton(body, law, dt, left, right, i, rest, w)
        w, _ = _newton(body, law, dt, left, right, i, rest, w)
        missed = _conclude(body, law, dt, R, left, right, i, rest, w, u)
        store_motion(w[0], w[1], trial, i)
        trial[i, 6] = missed
        far += missed
    return far


@compiled
def _settle(body, law, dt, old, f, R, left, right, i, u, trial):
    """Velocity `u` of one element, from `trial`; Newton's step is halved until it lowers the error. `trial[i, 6]`: how
    many it took."""
    rest = _free(body, dt, old, f, R, i)
    x = (straight(trial, i), turning(trial, i))
    w = x
    before = np.inf
    for n in range(MAX_NEWTON_STEPS):
        trial[i, 6] = n
        if _conclude(body, law, dt, R, left, right, i, rest, x, u) == 0.0:
            return
        ahead, error = _newton(body, law, dt, left, right, i, rest, x)
        if error < before:
            w, before = x, error
            x = ahead
        else:
            x = (times(0.5, plus(w[0], x[0])), times(0.5, plus(w[1], x[1])))


@compiled
def _work(belt, sigma, s, R, fl, u_new, u_old, rub, reaction, power):
    """Forces on side `sigma` of all elements at their new velocities; added to `rub`, `reaction`, `power`."""
    n_p = len(fl.points)
    stiffness = belt.c_el / (n_p * belt.cos_d)
    for k in range(fl.n_stretch[0]):
        first, behind, pulley = fl.stretch[k, 0], fl.stretch[k, 1], fl.at[k]
        if pulley < 0:
            for a in range(4):
                for i in range(first, behind):
                    fl.force[i, a] = 0.0
            continue
        a = axis(s, pulley)
        on_sheave = (0.0, 0.0, 0.0)
        moment = (0.0, 0.0, 0.0)
        lost_along = 0.0
        lost_across = 0.0
        lost_damper = 0.0
        for i in range(first, behind):
            normal = 0.0
            along = 0.0
            outwards = 0.0
            axial = 0.0
            friction = (0.0, 0.0, 0.0)
            turn = (0.0, 0.0, 0.0)
            for p in range(n_p):
                N = fl.N[i, p]
                n = load(fl.n, i, p)
                arm = load(fl.arm, i, p)
                in_body = load(fl.T, i, p)
                T = to_inertial(R, i, in_body)
                friction = plus(friction, T)
                turn = plus(turn, cross(mirrored(sigma, arm), in_body))
                T = mirrored(sigma, T)
                F = moved(T, N, n)
                on_sheave = minus(on_sheave, F)
                moment = plus(moment, cross(F, load(fl.P, i, p)))
                c_phi = fl.phi[i, p, 0]
                s_phi = fl.phi[i, p, 1]
                T_t = T[0] * s_phi - T[1] * c_phi
                normal += N
                along += T_t
                outwards += T[0] * c_phi + T[1] * s_phi
                axial += F[2]
                mean = plus(_velocity(sigma, u_new, R, arm, i), _velocity(sigma, u_old, R, arm, i))
                v = minus(times(0.5, mean), load(fl.v, i, p))
                taken = -T_t * (v[0] * s_phi - v[1] * c_phi)
                lost_along += taken
                lost_across -= dot(T, v) + taken
                lost_damper -= (N - stiffness * max(fl.pen[i, p] - fl.w[i, p], 0.0)) * dot(n, v)
            fl.force[i, 0] = normal
            fl.force[i, 1] = along
            fl.force[i, 2] = outwards
            fl.force[i, 3] = axial
            store_motion(plus(straight(rub, i), friction), plus(turning(rub, i), turn), rub, i)
        reaction[pulley, 0] += on_sheave[2]
        reaction[pulley, 1] += moment[0]
        reaction[pulley, 2] += moment[1]
        reaction[pulley, 3] -= dot(a, moment)
        power[pulley, 0] += lost_along
        power[pulley, 1] += lost_across
        power[pulley, 2] += lost_damper


@inlined
def _pressed(sigma, fl, i, p, F):
    """Force and moment F on element i, in its frame, with the normal force of one point."""
    return _pulled(sigma, fl, i, p, times(fl.N[i, p], load(fl.m, i, p)), F)


@compiled
def ahead(body, dt, u, f, rub, R, left, right, end):
    """Velocities `end` (N_E, 6) after the step `dt` under the forces f, the flanks' normal forces and `rub`, the
    flanks' friction of the last step; all (N_E, 6)."""
    for i in range(np.uint64(body.N_E)):
        F = _pressed(1.0, left, i, 0, ((0.0, 0.0, 0.0), turning(f, i)))
        F = _pressed(-1.0, right, i, 0, F)
        if len(left.points) == 2:
            F = _pressed(1.0, left, i, 1, F)
            F = _pressed(-1.0, right, i, 1, F)
        force = plus(plus(straight(f, i), straight(rub, i)), to_inertial(R, i, F[0]))
        v = moved(straight(u, i), dt / body.m, force)
        store_motion(v, turned(body, dt, turning(u, i), plus(F[1], turning(rub, i))), end, i)


@compiled
def velocities(belt, body, law, dt, u, f, R, s, left, right, rub, old, trial, reaction, power):
    """Replace `u` by the velocities after the step `dt`, with the forces `f` and all flank forces.

    Parameters
    ----------
    belt, body : Belt, Body
    law
        Law of friction (`friction`).
    dt : float
        Step [s].
    u, f : (N_E, 6), (N_E, 6)
        Velocities, and the forces of all other contacts, moments in the element's frame.
    R : (N_E, 9)
    s : (2, 2, 4)
        Sheave positions by side, pulley, in the view of the side.
    left, right : Flanks
        Flanks of sigma = 1 and -1, after `normal_forces`; T and force written.
    rub : (N_E, 6)
        Written: friction of the two flanks on each element, moments in its frame.
    old, trial : (N_E, 6), (N_E, 7) scratch
    reaction : (2, 2, 4)
        Written: by side and pulley the values of `flank.velocities` for one sheave, in the view of the side.
    power : (2, 3)
        Written: power lost per pulley [W], both sides, as `flank.velocities`.
    """
    for pulley in range(2):
        for a in range(4):
            reaction[0, pulley, a] = 0.0
            reaction[1, pulley, a] = 0.0
        for a in range(3):
            power[pulley, a] = 0.0
    for a in range(6):
        for i in range(body.N_E):
            old[i, a] = u[i, a]
    n = np.uint64(body.N_E)
    first = np.uint64(0)
    while first < n:
        held = left.pulley[first] >= 0 or right.pulley[first] >= 0
        behind = first + np.uint64(1)
        while behind < n and (left.pulley[behind] >= 0 or right.pulley[behind] >= 0) == held:
            behind += np.uint64(1)
        if not held:
            for i in range(first, behind):
                v = moved(straight(old, i), dt / body.m, straight(f, i))
                store_motion(v, turned(body, dt, turning(old, i), turning(f, i)), u, i)
        else:
            end = whole(first, behind, n)
            _guess(dt, old, R, left, first, end, trial)
            far = _approach(body, law, dt, old, f, R, left, right, first, end, u, trial)
            if far > _MAX_SINGLE_ELEMENTS:
                far = _approach(body, law, dt, old, f, R, left, right, first, end, u, trial)
            if far > 0.0:
                for i in range(first, behind):
                    if trial[i, 6] > 0.0:
                        _settle(body, law, dt, old, f, R, left, right, i, u, trial)
        first = behind
    for a in range(6):
        for i in range(body.N_E):
            rub[i, a] = 0.0
    _work(belt, 1.0, s[0], R, left, u, old, rub, reaction[0], power)
    _work(belt, -1.0, s[1], R, right, u, old, rub, reaction[1], power)


@compiled
def energy(belt, fl):
    """Energy stored in the flanks of one side of all elements [J]."""
    return 0.5 * of_both_flanks(belt, fl)
