"""Contact of both flanks of an element with the sheaves, six velocities each (Cebulla 2014, sections 3.2.2, 5.2.6).

A side is seen in the mirrored view of `element`; there its cone, contact points, penetration and axial law are those of
`flank`, at points that also move with z, roll and yaw. Each side has its own sheaves and its own deflection.

New velocities. N follows from penetration and approach as in `flank`; friction is sought with the velocity u+ that it
leads to. In the frame of an element, with arms a and normals n of its closed points (both sides, one or two each),

    M (u+ - u) = dt f + dt sum G' (N n + T),    T = -kappa(|v_T|) v_T,    v_T = (1 - n n')(G u+ - v_sheave)

six equations, G = (1, -[a] x), with the mean step's velocity of the sheave; Theta is diagonal in this frame, m the same
in all. As in `flank` they are the minimum of a convex function for friction that does not fall with the slip. Newton's
steps solve a symmetric positive definite system each, by L D L'; T is within mu N and exact (`EXACT`). Forces and
moments on the sheaves are the opposite of those on the flanks, about all axes.

Loops run over the stretches of the belt that lie at one pulley, without a branch inside; a side that no sheave touches
has N = 0 there. The Newton steps take whole vectors (`flank.whole`). Where many elements are not exact behind them, as
in large steps, all take three more; those that still are not are done one by one.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.flank import EXACT, MOST, NEAR, ROUNDING, axis, cone, face, find_stretches, whole
from rtcvt.offline.pushbelt.contact.flank import energy as of_both_flanks
from rtcvt.offline.pushbelt.contact.friction import secant, tangent
from rtcvt.offline.pushbelt.record import declared, zeros

Array = NDArray[np.float64]

_FEW = 6  # elements to be done one by one; for more the Newton steps of all are cheaper


@declared
class Flanks(NamedTuple):
    """Contact points on the flanks of one side, and what acts there, in its view; stretches as in `flank.Flanks`."""

    points: Annotated[tuple[int, ...], ("n_p",), "1", "as many as contact points"]
    stretch: Annotated[NDArray[np.uint64], ("N_E", 2), "1", "first element of each stretch, the one behind its last"]
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
    v: Annotated[Array, ("N_E", "n_p", 6), "m/s, m/s^2", "velocity of the sheave; what its turning adds per second"]
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
    far = (belt.z_P + 2.0 * NEAR) / tan_d + 2.0 * belt.t_R
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
            pulleys[i] = pulley if deepest > -NEAR else -1
    find_stretches(fl)
    for k in range(fl.n_stretch[0]):
        if fl.at[k] < 0:
            for p in range(n_p):
                for i in range(fl.stretch[k, 0], fl.stretch[k, 1]):
                    fl.pen[i, p] = -np.inf
                    fl.N[i, p] = 0.0


@inlined
def _normal(belt, axis, X, Y, Z):
    """Height and radius on the cone, radial unit vector and normal into the element, of a point from the apex."""
    h, r, e_x, e_y, e_z = cone(X, Y, Z, axis[0], axis[1], axis[2])
    return (
        h,
        r,
        e_x,
        e_y,
        belt.sin_d * e_x - belt.cos_d * axis[0],
        belt.sin_d * e_y - belt.cos_d * axis[1],
        belt.sin_d * e_z - belt.cos_d * axis[2],
    )


@inlined
def _point(belt, sheaves, sigma, q, R, s, fl, pulley, i, p):
    """Contact point `p` of element i and its penetration."""
    n_p = len(fl.points)
    a = axis(s, pulley)
    x_p = face(belt, p, n_p)
    y_p = belt.y_P - belt.h_S
    z_p = belt.z_P
    A_02 = sigma * R[i, 2]
    A_12 = sigma * R[i, 5]
    A_21 = sigma * R[i, 7]
    o_x = q[i, 0] - (0.0 if pulley == 1 else belt.d_A) + R[i, 0] * x_p
    o_y = q[i, 1] + R[i, 3] * x_p
    o_z = sigma * (q[i, 3] + R[i, 6] * x_p) - s[pulley, 0]
    if n_p > 1:
        # the point of the arc that is farthest in the cone, by the normal at the middle of the flank
        X = o_x + R[i, 1] * y_p + A_02 * z_p
        Y = o_y + R[i, 4] * y_p + A_12 * z_p
        Z = o_z + A_21 * y_p + R[i, 8] * z_p
        _, _, _, _, n_x, n_y, n_z = _normal(belt, a, X, Y, Z)
        up = -(n_x * R[i, 1] + n_y * R[i, 4] + n_z * A_21)
        out = -(n_x * A_02 + n_y * A_12 + n_z * R[i, 8])
        rise = belt.r_F * (up / np.sqrt(up * up + out * out) + belt.sin_d)
        rise = min(max(rise, belt.y_F0 - belt.y_P), belt.y_F1 - belt.y_P)
        up = rise / belt.r_F - belt.sin_d
        y_p += rise
        z_p += belt.r_F * (np.sqrt(1.0 - up * up) - belt.cos_d)
    X = o_x + R[i, 1] * y_p + A_02 * z_p
    Y = o_y + R[i, 4] * y_p + A_12 * z_p
    Z = o_z + A_21 * y_p + R[i, 8] * z_p
    h, r, e_x, e_y, n_x, n_y, n_z = _normal(belt, a, X, Y, Z)
    fl.pen[i, p] = h - r * belt.tan_d if sheaves.r_min < r and r < sheaves.r_max else -np.inf
    fl.r[i, p] = r
    fl.phi[i, p, 0] = e_x
    fl.phi[i, p, 1] = e_y
    fl.arm[i, p, 0] = x_p
    fl.arm[i, p, 1] = y_p
    fl.arm[i, p, 2] = z_p
    fl.P[i, p, 0] = X
    fl.P[i, p, 1] = Y
    fl.P[i, p, 2] = Z
    fl.n[i, p, 0] = n_x
    fl.n[i, p, 1] = n_y
    fl.n[i, p, 2] = n_z


@inlined
def _velocity(sigma, u, R, arm_x, arm_y, arm_z, i):
    """Velocity of a point of element i, (arm) in its frame, in the side's view."""
    o_x = sigma * u[i, 4]
    o_y = sigma * u[i, 5]
    o_z = u[i, 2]
    c_x = o_y * arm_z - o_z * arm_y
    c_y = o_z * arm_x - o_x * arm_z
    c_z = o_x * arm_y - o_y * arm_x
    return (
        u[i, 0] + R[i, 0] * c_x + R[i, 1] * c_y + sigma * R[i, 2] * c_z,
        u[i, 1] + R[i, 3] * c_x + R[i, 4] * c_y + sigma * R[i, 5] * c_z,
        sigma * (u[i, 3] + R[i, 6] * c_x + R[i, 7] * c_y) + R[i, 8] * c_z,
    )


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
        a_x, a_y, a_z = axis(s, pulley)
        omega = sd[pulley, 3]
        o_x = sd[pulley, 1] - omega * a_x
        o_y = sd[pulley, 2] - omega * a_y
        o_z = -omega * a_z
        z_rate = sd[pulley, 0]
        for p in range(n_p):
            for i in range(first, behind):
                P_x = fl.P[i, p, 0]
                P_y = fl.P[i, p, 1]
                P_z = fl.P[i, p, 2]
                s_x = o_y * P_z - o_z * P_y
                s_y = o_z * P_x - o_x * P_z
                s_z = o_x * P_y - o_y * P_x
                c_x = o_y * s_z - o_z * s_y
                c_y = o_z * s_x - o_x * s_z
                c_z = o_x * s_y - o_y * s_x
                s_z += z_rate
                fl.v[i, p, 0] = s_x
                fl.v[i, p, 1] = s_y
                fl.v[i, p, 2] = s_z
                fl.v[i, p, 3] = c_x
                fl.v[i, p, 4] = c_y
                fl.v[i, p, 5] = c_z
                e_x, e_y, e_z = _velocity(sigma, u, R, fl.arm[i, p, 0], fl.arm[i, p, 1], fl.arm[i, p, 2], i)
                v_x = e_x - s_x + lag * c_x
                v_y = e_y - s_y + lag * c_y
                v_z = e_z - s_z + lag * c_z
                v_n = fl.n[i, p, 0] * v_x + fl.n[i, p, 1] * v_y + fl.n[i, p, 2] * v_z
                sunk = fl.pen[i, p] - fl.w[i, p]
                force = c * sunk - d * v_n
                fl.N[i, p] = force if sunk > 0.0 and force > 0.0 else 0.0
                g_x = fl.n[i, p, 0]
                g_y = fl.n[i, p, 1]
                g_z = sigma * fl.n[i, p, 2]
                fl.m[i, p, 0] = R[i, 0] * g_x + R[i, 3] * g_y + R[i, 6] * g_z
                fl.m[i, p, 1] = R[i, 1] * g_x + R[i, 4] * g_y + R[i, 7] * g_z
                fl.m[i, p, 2] = R[i, 2] * g_x + R[i, 5] * g_y + R[i, 8] * g_z
                s_x += lag * c_x
                s_y += lag * c_y
                s_z = sigma * (s_z + lag * c_z)
                fl.c[i, p, 0] = R[i, 0] * s_x + R[i, 3] * s_y + R[i, 6] * s_z
                fl.c[i, p, 1] = R[i, 1] * s_x + R[i, 4] * s_y + R[i, 7] * s_z
                fl.c[i, p, 2] = R[i, 2] * s_x + R[i, 5] * s_y + R[i, 8] * s_z


@inlined
def _slip(sigma, fl, i, p, w):
    """Slip velocity v_T at a point if the step ends with the velocity w of the element, both in its frame."""
    x = fl.arm[i, p, 0]
    y = fl.arm[i, p, 1]
    z = sigma * fl.arm[i, p, 2]
    n_x = fl.m[i, p, 0]
    n_y = fl.m[i, p, 1]
    n_z = fl.m[i, p, 2]
    v_x = w[0] + w[5] * z - w[2] * y - fl.c[i, p, 0]
    v_y = w[1] + w[2] * x - w[4] * z - fl.c[i, p, 1]
    v_z = w[3] + w[4] * y - w[5] * x - fl.c[i, p, 2]
    v_n = n_x * v_x + n_y * v_y + n_z * v_z
    return v_x - n_x * v_n, v_y - n_y * v_n, v_z - n_z * v_n


@inlined
def _add(law, dt, sigma, fl, i, p, w, S):
    """Sums S, the lower triangle of A by rows and the residual, with the impulse of one point at the velocity w."""
    v_x, v_y, v_z = _slip(sigma, fl, i, p, w)
    x = fl.arm[i, p, 0]
    y = fl.arm[i, p, 1]
    z = sigma * fl.arm[i, p, 2]
    n_x = fl.m[i, p, 0]
    n_y = fl.m[i, p, 1]
    n_z = fl.m[i, p, 2]
    N = dt * fl.N[i, p]
    k, e = tangent(law, v_x * v_x + v_y * v_y + v_z * v_z)
    k *= N
    e *= N
    h_x = N * n_x - k * v_x
    h_y = N * n_y - k * v_y
    h_z = N * n_z - k * v_z
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
    """A^-1 times the residual, of the sums of `_add`; A symmetric positive definite, by L D L'."""
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
    return x_0, x_1, x_2, x_3, x_4, x_5


@inlined
def _free(body, dt, old, f, R, i):
    """Velocity of an element without flanks after the step, in its frame."""
    free = dt / body.m
    x = old[i, 0] + free * f[i, 0]
    y = old[i, 1] + free * f[i, 1]
    z = old[i, 3] + free * f[i, 3]
    return (
        R[i, 0] * x + R[i, 3] * y + R[i, 6] * z,
        R[i, 1] * x + R[i, 4] * y + R[i, 7] * z,
        old[i, 2] + dt / body.Theta_z * f[i, 2],
        R[i, 2] * x + R[i, 5] * y + R[i, 8] * z,
        old[i, 4] + dt / body.Theta_x * f[i, 4],
        old[i, 5] + dt / body.Theta_y * f[i, 5],
    )


@inlined
def _newton(body, law, dt, left, right, i, rest, w):
    """One Newton step of an element's velocity from w; `rest` that without flanks.

    Returns
    -------
    velocity, and the squared error of the impulse before the step [N^2 s^2]
    """
    m = body.m
    S = (
        m,
        0.0,
        m,
        0.0,
        0.0,
        body.Theta_z,
        0.0,
        0.0,
        0.0,
        m,
        0.0,
        0.0,
        0.0,
        0.0,
        body.Theta_x,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        body.Theta_y,
        m * (w[0] - rest[0]),
        m * (w[1] - rest[1]),
        body.Theta_z * (w[2] - rest[2]),
        m * (w[3] - rest[3]),
        body.Theta_x * (w[4] - rest[4]),
        body.Theta_y * (w[5] - rest[5]),
    )
    S = _add(law, dt, 1.0, left, i, 0, w, S)
    S = _add(law, dt, -1.0, right, i, 0, w, S)
    if len(left.points) == 2:
        S = _add(law, dt, 1.0, left, i, 1, w, S)
        S = _add(law, dt, -1.0, right, i, 1, w, S)
    d_0, d_1, d_2, d_3, d_4, d_5 = _solve(S)
    error = S[21] * S[21] + S[22] * S[22] + S[24] * S[24]
    error += m * (S[23] ** 2 / body.Theta_z + S[25] ** 2 / body.Theta_x + S[26] ** 2 / body.Theta_y)
    return (w[0] - d_0, w[1] - d_1, w[2] - d_2, w[3] - d_3, w[4] - d_4, w[5] - d_5), error


@inlined
def _pulled(sigma, fl, i, p, F_x, F_y, F_z, F):
    """Force and moment F on element i, in its frame and the order of `u`, with a force at one point."""
    x = fl.arm[i, p, 0]
    y = fl.arm[i, p, 1]
    z = sigma * fl.arm[i, p, 2]
    return (
        F[0] + F_x,
        F[1] + F_y,
        F[2] + x * F_y - y * F_x,
        F[3] + F_z,
        F[4] + y * F_z - z * F_y,
        F[5] + z * F_x - x * F_z,
    )


@inlined
def _rub(law, dt, sigma, fl, i, p, w, f, steepest, stiff):
    """Friction T of one point at the velocity w, added with the normal force to the impulses f, the largest secant, and
    the sum of kappa dt [kg]."""
    v_x, v_y, v_z = _slip(sigma, fl, i, p, w)
    N = fl.N[i, p]
    k = secant(law, v_x * v_x + v_y * v_y + v_z * v_z)
    steepest = max(steepest, k)
    k *= N
    stiff += dt * k
    fl.T[i, p, 0] = -k * v_x
    fl.T[i, p, 1] = -k * v_y
    fl.T[i, p, 2] = -k * v_z
    F_x = dt * (N * fl.m[i, p, 0] - k * v_x)
    F_y = dt * (N * fl.m[i, p, 1] - k * v_y)
    F_z = dt * (N * fl.m[i, p, 2] - k * v_z)
    return _pulled(sigma, fl, i, p, F_x, F_y, F_z, f), steepest, stiff


@inlined
def _conclude(body, law, dt, R, left, right, i, rest, w, u):
    """Friction T of an element at the velocity w, and the velocity u that it leads to; 0 if both are one, else 1."""
    f, steepest, stiff = _rub(law, dt, 1.0, left, i, 0, w, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 0.0, 0.0)
    f, steepest, stiff = _rub(law, dt, -1.0, right, i, 0, w, f, steepest, stiff)
    if len(left.points) == 2:
        f, steepest, stiff = _rub(law, dt, 1.0, left, i, 1, w, f, steepest, stiff)
        f, steepest, stiff = _rub(law, dt, -1.0, right, i, 1, w, f, steepest, stiff)
    free = 1.0 / body.m
    turn_x = 1.0 / body.Theta_x
    turn_y = 1.0 / body.Theta_y
    turn_z = 1.0 / body.Theta_z
    x = rest[0] + free * f[0]
    y = rest[1] + free * f[1]
    o_z = rest[2] + turn_z * f[2]
    z = rest[3] + free * f[3]
    o_x = rest[4] + turn_x * f[4]
    o_y = rest[5] + turn_y * f[5]
    u[i, 0] = R[i, 0] * x + R[i, 1] * y + R[i, 2] * z
    u[i, 1] = R[i, 3] * x + R[i, 4] * y + R[i, 5] * z
    u[i, 3] = R[i, 6] * x + R[i, 7] * y + R[i, 8] * z
    u[i, 2] = o_z
    u[i, 4] = o_x
    u[i, 5] = o_y
    error = (x - w[0]) ** 2 + (y - w[1]) ** 2 + (z - w[3]) ** 2
    turned = body.Theta_z * (o_z - w[2]) ** 2 + body.Theta_x * (o_x - w[4]) ** 2 + body.Theta_y * (o_y - w[5]) ** 2
    # u leads friction back with rounding of w, kappa dt W times as large; W of a point that turns the element about x
    z = left.arm[i, 0, 2]
    W = free + z * z * turn_x
    limit = max(EXACT / steepest, ROUNDING * (1.0 + 0.1 * stiff * W))
    return 0.0 if error + free * turned < limit * limit else 1.0


@compiled
def _guess(dt, old, R, left, first, behind, trial):
    """First guess of the velocities of elements at a pulley, in `trial`: those before the step, turned with the sheave.

    `trial` (N_E, 7): velocity in the element's frame, and whether it is not that which it leads to (`_approach`).
    """
    for i in range(first, behind):
        x = old[i, 0] + dt * left.v[i, 0, 3]
        y = old[i, 1] + dt * left.v[i, 0, 4]
        z = old[i, 3] + dt * left.v[i, 0, 5]
        trial[i, 0] = R[i, 0] * x + R[i, 3] * y + R[i, 6] * z
        trial[i, 1] = R[i, 1] * x + R[i, 4] * y + R[i, 7] * z
        trial[i, 2] = old[i, 2]
        trial[i, 3] = R[i, 2] * x + R[i, 5] * y + R[i, 8] * z
        trial[i, 4] = old[i, 4]
        trial[i, 5] = old[i, 5]


@compiled
def _approach(body, law, dt, old, f, R, left, right, first, behind, u, trial):
    """Velocities `u` of elements at a pulley by a few Newton steps from `trial`; how many are not exact."""
    far = 0.0
    for i in range(first, behind):
        rest = _free(body, dt, old, f, R, i)
        w = (trial[i, 0], trial[i, 1], trial[i, 2], trial[i, 3], trial[i, 4], trial[i, 5])
        # written out: a loop of this length within keeps the compiler from vectorising the outer one
        w, _ = _newton(body, law, dt, left, right, i, rest, w)
        w, _ = _newton(body, law, dt, left, right, i, rest, w)
        w, _ = _newton(body, law, dt, left, right, i, rest, w)
        missed = _conclude(body, law, dt, R, left, right, i, rest, w, u)
        trial[i, 0] = w[0]
        trial[i, 1] = w[1]
        trial[i, 2] = w[2]
        trial[i, 3] = w[3]
        trial[i, 4] = w[4]
        trial[i, 5] = w[5]
        trial[i, 6] = missed
        far += missed
    return far


@compiled
def _settle(body, law, dt, old, f, R, left, right, i, u, trial):
    """Velocity `u` of one element, from `trial`; Newton's step is halved until it lowers the error. `trial[i, 6]`: how
    many it took."""
    rest = _free(body, dt, old, f, R, i)
    x = (trial[i, 0], trial[i, 1], trial[i, 2], trial[i, 3], trial[i, 4], trial[i, 5])
    w = x
    before = np.inf
    for n in range(MOST):
        trial[i, 6] = n
        if _conclude(body, law, dt, R, left, right, i, rest, x, u) == 0.0:
            return
        ahead, error = _newton(body, law, dt, left, right, i, rest, x)
        if error < before:
            w, before = x, error
            x = ahead
        else:
            x = (
                0.5 * (w[0] + x[0]),
                0.5 * (w[1] + x[1]),
                0.5 * (w[2] + x[2]),
                0.5 * (w[3] + x[3]),
                0.5 * (w[4] + x[4]),
                0.5 * (w[5] + x[5]),
            )


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
        a_x, a_y, a_z = axis(s, pulley)
        R_z = 0.0
        R_x = 0.0
        R_y = 0.0
        R_t = 0.0
        lost_along = 0.0
        lost_across = 0.0
        lost_damper = 0.0
        for i in range(first, behind):
            normal = 0.0
            along = 0.0
            outwards = 0.0
            axial = 0.0
            rub_x = 0.0
            rub_y = 0.0
            rub_z = 0.0
            turn_x = 0.0
            turn_y = 0.0
            turn_z = 0.0
            for p in range(n_p):
                N = fl.N[i, p]
                n_x = fl.n[i, p, 0]
                n_y = fl.n[i, p, 1]
                n_z = fl.n[i, p, 2]
                x = fl.arm[i, p, 0]
                y = fl.arm[i, p, 1]
                z = fl.arm[i, p, 2]
                e_x, e_y, e_z = _velocity(sigma, u_new, R, x, y, z, i)
                o_x, o_y, o_z = _velocity(sigma, u_old, R, x, y, z, i)
                s_x = fl.v[i, p, 0]
                s_y = fl.v[i, p, 1]
                s_z = fl.v[i, p, 2]
                t_x = fl.T[i, p, 0]
                t_y = fl.T[i, p, 1]
                t_z = fl.T[i, p, 2]
                T_x = R[i, 0] * t_x + R[i, 1] * t_y + R[i, 2] * t_z
                T_y = R[i, 3] * t_x + R[i, 4] * t_y + R[i, 5] * t_z
                T_z = sigma * (R[i, 6] * t_x + R[i, 7] * t_y + R[i, 8] * t_z)
                rub_x += T_x
                rub_y += T_y
                rub_z += sigma * T_z
                turn_x += y * t_z - sigma * z * t_y
                turn_y += sigma * z * t_x - x * t_z
                turn_z += x * t_y - y * t_x
                F_x = N * n_x + T_x
                F_y = N * n_y + T_y
                F_z = N * n_z + T_z
                P_x = fl.P[i, p, 0]
                P_y = fl.P[i, p, 1]
                P_z = fl.P[i, p, 2]
                M_x = P_z * F_y - P_y * F_z
                M_y = P_x * F_z - P_z * F_x
                R_z -= F_z
                R_x += M_x
                R_y += M_y
                R_t -= a_x * M_x + a_y * M_y + a_z * (P_y * F_x - P_x * F_y)
                c_phi = fl.phi[i, p, 0]
                s_phi = fl.phi[i, p, 1]
                T_t = T_x * s_phi - T_y * c_phi
                normal += N
                along += T_t
                outwards += T_x * c_phi + T_y * s_phi
                axial += F_z
                v_x = 0.5 * (e_x + o_x) - s_x
                v_y = 0.5 * (e_y + o_y) - s_y
                v_z = 0.5 * (e_z + o_z) - s_z
                v_n = n_x * v_x + n_y * v_y + n_z * v_z
                taken = -T_t * (v_x * s_phi - v_y * c_phi)
                lost_along += taken
                lost_across -= T_x * v_x + T_y * v_y + T_z * v_z + taken
                lost_damper -= (N - stiffness * max(fl.pen[i, p] - fl.w[i, p], 0.0)) * v_n
            fl.force[i, 0] = normal
            fl.force[i, 1] = along
            fl.force[i, 2] = outwards
            fl.force[i, 3] = axial
            rub[i, 0] += rub_x
            rub[i, 1] += rub_y
            rub[i, 2] += turn_z
            rub[i, 3] += rub_z
            rub[i, 4] += turn_x
            rub[i, 5] += turn_y
        reaction[pulley, 0] += R_z
        reaction[pulley, 1] += R_x
        reaction[pulley, 2] += R_y
        reaction[pulley, 3] += R_t
        power[pulley, 0] += lost_along
        power[pulley, 1] += lost_across
        power[pulley, 2] += lost_damper


@inlined
def _pressed(sigma, fl, i, p, F):
    """Force and moment F on element i, in its frame and the order of `u`, with the normal force of one point."""
    N = fl.N[i, p]
    return _pulled(sigma, fl, i, p, N * fl.m[i, p, 0], N * fl.m[i, p, 1], N * fl.m[i, p, 2], F)


@compiled
def ahead(body, dt, u, f, rub, R, left, right, end):
    """Velocities `end` (N_E, 6) after the step `dt` under the forces f, the flanks' normal forces and `rub`, the
    flanks' friction of the last step; all (N_E, 6)."""
    free = dt / body.m
    for i in range(np.uint64(body.N_E)):
        F = _pressed(1.0, left, i, 0, (0.0, 0.0, f[i, 2], 0.0, f[i, 4], f[i, 5]))
        F = _pressed(-1.0, right, i, 0, F)
        if len(left.points) == 2:
            F = _pressed(1.0, left, i, 1, F)
            F = _pressed(-1.0, right, i, 1, F)
        x, y, z = F[0], F[1], F[3]
        end[i, 0] = u[i, 0] + free * (f[i, 0] + rub[i, 0] + R[i, 0] * x + R[i, 1] * y + R[i, 2] * z)
        end[i, 1] = u[i, 1] + free * (f[i, 1] + rub[i, 1] + R[i, 3] * x + R[i, 4] * y + R[i, 5] * z)
        end[i, 3] = u[i, 3] + free * (f[i, 3] + rub[i, 3] + R[i, 6] * x + R[i, 7] * y + R[i, 8] * z)
        end[i, 2] = u[i, 2] + dt / body.Theta_z * (F[2] + rub[i, 2])
        end[i, 4] = u[i, 4] + dt / body.Theta_x * (F[4] + rub[i, 4])
        end[i, 5] = u[i, 5] + dt / body.Theta_y * (F[5] + rub[i, 5])


@compiled
def velocities(belt, body, law, dt, u, f, R, s, left, right, rub, old, trial, reaction, power):
    """Replace `u` by the velocities after the step `dt`, with the forces `f` and all flank forces.

    Parameters
    ----------
    belt, body : Belt, Body
    law
        Of friction (`friction`).
    dt : float
        Step [s].
    u, f : (N_E, 6), (N_E, 6)
        Velocities, and the forces of all other contacts, moments in the element's frame.
    R : (N_E, 9)
    s : (2, 2, 4)
        Sheave positions by side, pulley, in the view of the side.
    left, right : Flanks
        Of sigma = 1 and -1, after `normal_forces`; T and force written.
    rub : (N_E, 6)
        Written: friction of both flanks on each element, moments in its frame.
    old, trial : (N_E, 6), (N_E, 7) scratch
    reaction : (2, 2, 4)
        Written: by side and pulley what `flank.velocities` gives for one sheave, in the view of the side.
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
                u[i, 0] = old[i, 0] + dt / body.m * f[i, 0]
                u[i, 1] = old[i, 1] + dt / body.m * f[i, 1]
                u[i, 2] = old[i, 2] + dt / body.Theta_z * f[i, 2]
                u[i, 3] = old[i, 3] + dt / body.m * f[i, 3]
                u[i, 4] = old[i, 4] + dt / body.Theta_x * f[i, 4]
                u[i, 5] = old[i, 5] + dt / body.Theta_y * f[i, 5]
        else:
            end = whole(first, behind, n)
            _guess(dt, old, R, left, first, end, trial)
            far = _approach(body, law, dt, old, f, R, left, right, first, end, u, trial)
            if far > _FEW:
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
