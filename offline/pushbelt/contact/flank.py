"""Contact of the element flanks with the sheaves: frustum, axial law, regularised spatial friction.

Sheave (its mirror image is not modelled): a cone with the apex at (x_p, y_p, z) and the axis a ~ (beta, -alpha, 1).
For a point at P from the apex, with h = P.a, r = |P - h a| and e_r the radial unit vector,

    p = h - r tan(delta_0),   n = sin(delta_0) e_r - cos(delta_0) a

are the axial penetration and the normal that points into the element. The apex is also the centre of the tilt, so
that a material point of the sheave moves with z' e_z + (alpha', beta', 0) x P - omega a x P; omega counts in the
direction of travel, which is clockwise.

Points. Simplified contact: the point P_R fixed on each flank, in the middle of the element's thickness. Extended
contact: a circle of radius r_F in each of the planes of the front and rear face, tangent to the flank at the height
of P_R (Cebulla 2014, Fig. 6.4). Along a circle with the centre M the penetration is concave; it is largest at
P = M + r_F d, where the unit vector d in the plane of the circle is opposite to n. For a planar belt n hardly
changes along the flank, so that n at P_R gives d: the error of the penetration is of second order in the change of n,
about r_F (x / r)^4, x the distance of the face from the middle. d is limited to the flank.

Forces on the element, per flank, from the axial force F = c (p - w) + d p' of a closed contact, F >= 0:

    N = F / cos(delta_0),   T = -kappa v_T,   kappa of the law of friction (`friction`),   v_T = (1 - n n') v

with the relative velocity v of the contours and the deflection w of the sheave (`maxwell`; 0: decoupled law). The
damper is parallel to the element and the sheave, which keeps its power (F - c (p - w)) p' non-negative.

Velocity update. N follows from the positions, T and the resulting velocity u+ are solved together,

    M (u+ - u) = h f + 2 h sum G' (N n + T),    T = -kappa(|v_T|) v_T,    v_T = (1 - n n')(G u+ - v_sheave),

three equations per element; the axial forces of its two flanks cancel. For friction that does not fall with the slip
they are the minimum of a convex function, so that there is one solution. T is within mu N, friction removes energy,
at every step size, and the solution is exact (`FRICTION_RTOL`).
The sheave receives the opposite of the force on one flank.

With one point per flank the slip speed v is one scalar equation. With the slip a without friction, B = (1 - n n') G
M^-1 G' (1 - n n'), which has two eigenvalues b_j in the tangent plane, and the parts a_j of a along their eigenvectors,

    v_T = (1 + k B)^-1 a,    k = 2 h N kappa(v)/N:    sum (a_j/(v + 2 h N b_j (kappa v)/N))^2 = 1.

Its left side to the power -1/2 is concave and rises with v for friction that rises and is concave, so that Newton's
method from below goes up to the root, quadratically. With kappa known the rest is linear (`settle`).

Rounding. The velocities, 15 m/s, are known to 2e-15 m/s, and T = -kappa v_T magnifies that: computed from them, the
slip of an element that sticks would give u+ an error of 2 h kappa/m as much, 1e-8 m/s at v_mu = 1e-6 m/s and h = 1e-4
s. Therefore the search updates the slip by its changes (`change`), so that its rounding error is relative to itself.

Energy. A flank that leaves a sheave faster than c (p - w)/d is open while it is still pressed in: the damper cancels
the whole elastic force, and dissipates the rest of the spring's energy.

The velocities of a step are chords of the path. On an arc a chord that ends at the present place has the radial
component v omega h/2, one that starts there has -v omega h/2: 3 mm/s at 15 m/s, 400 rad/s and 1e-6 s, more than v_mu.
Therefore the sheave's velocity is a chord as well, backward against u and forward against u+.

Loops run over the stretches of the belt at one pulley, without a branch inside and with columns that are
contiguous in memory, so that the loops are vectorised.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.friction import secant, tangent
from rtcvt.offline.pushbelt.record import declared, zeros

Array = NDArray[np.float64]

MAX_NEWTON_STEPS = 300  # Newton steps of one element
LANES = 8  # largest number of lanes of a processor's vectors
FRICTION_RTOL = 1e-10  # error of T, in parts of N ...
VELOCITY_ATOL = 1e-13  # ... or of the velocity [m/s]
DEFLECTION_REACH = 2.0e-4  # [m]; a point outside the cone by more cannot be reached by its deflection


@declared
class Flanks(NamedTuple):
    """Contact points on one flank of every element, and their forces; in the inertial frame.

    Stretches are runs of elements at the same pulley: primary 0, secondary 1, -1 far from both. Their ends are
    unsigned, so that no index counts from the end of an array.
    """

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
    arm: Annotated[Array, ("N_E", "n_p", 2), "m", "point from the centre of gravity"]
    P: Annotated[Array, ("N_E", "n_p", 3), "m", "point from the apex"]
    n: Annotated[Array, ("N_E", "n_p", 3), "1", "normal into the element"]
    v: Annotated[Array, ("N_E", "n_p", 6), "m/s, m/s^2", "velocity of the sheave; its change by rotation per second"]
    slip: Annotated[Array, ("N_E", "n_p", 3), "m/s", "v_T after the step"]
    T: Annotated[Array, ("N_E", "n_p", 3), "N", "friction"]
    u: Annotated[Array, ("N_E", 3), "m/s, m/s, rad/s", "velocities of the elements after the step"]
    trial: Annotated[Array, ("N_E", 3), "m/s, m/s, rad/s", "where their search ended"]
    far: Annotated[Array, ("N_E",), "1", "1 if that was too early"]
    force: Annotated[Array, ("N_E", 3), "N", "sums per flank: normal, friction in the direction of travel, outwards"]


def flanks(N_E: int, n_p: int) -> Flanks:
    """Empty contact arrays: `n_p` = 1 for the simplified contact, 2 for the extended one."""
    return zeros(Flanks, {"N_E": N_E, "n_p": n_p})


@compiled
def face(belt, p, n_p):
    """Distance of point `p` in front of the centre of gravity: middle of the element, or its rear and front face."""
    if n_p == 1:
        return 0.5 * belt.t_R - belt.t_S
    if p == 0:
        return -belt.t_S
    below = max(0.0, belt.h_R - belt.y_P) / belt.h_R
    return belt.t_R - below * (belt.t_R - belt.t_B) - belt.t_S


@inlined
def axis(s, pulley):
    """Unit vector of the sheave's axis."""
    a_x = s[pulley, 2]
    a_y = -s[pulley, 1]
    a_z = 1.0 / np.sqrt(1.0 + a_x * a_x + a_y * a_y)
    return a_x * a_z, a_y * a_z, a_z


@inlined
def cone(X, Y, Z, a_x, a_y, a_z):
    """Height h along the axis, radius r and radial unit vector of a point from the apex."""
    h = X * a_x + Y * a_y + Z * a_z
    e_x = X - h * a_x
    e_y = Y - h * a_y
    e_z = Z - h * a_z
    r = np.sqrt(e_x * e_x + e_y * e_y + e_z * e_z)
    inverse = 1.0 / r if r > 0.0 else 0.0
    return h, r, e_x * inverse, e_y * inverse, e_z * inverse


@inlined
def find_stretches(fl):
    """Stretches of the belt whose elements have the same `fl.pulley`."""
    count = -1
    last = -2
    for i in range(fl.pulley.size):
        if fl.pulley[i] != last:
            last = fl.pulley[i]
            count += 1
            fl.stretch[count, 0] = i
            fl.at[count] = last
        fl.stretch[count, 1] = i + 1
    fl.n_stretch[0] = count + 1


@inlined
def whole(first, behind, n):
    """End of a stretch of elements, extended to a whole number of SIMD vectors of `LANES` elements; n is the last.

    The added elements are no error: on a span N = 0, and those of the next stretch are solved again. Remaining
    elements, one by one, would need as long as two or three vectors.
    """
    lanes = np.uint64(LANES)
    return min(first + (behind - first + lanes - np.uint64(1)) // lanes * lanes, n)


@compiled
def contact_points(belt, sheaves, q, cs, sn, s, fl):
    """Find the contact points of all elements and their penetrations.

    Parameters
    ----------
    belt, sheaves : Belt, Sheaves
    q : ndarray, shape (N_E, 3)
        Positions x, y [m] and angle [rad] of the elements; `cs`, `sn`, shape (N_E,), hold its cosine and sine.
    s : ndarray, shape (2, 4)
        Sheave positions: apex z [m], alpha, beta, rotation [rad].
    fl : Flanks
        Written: stretches, pulley, and for elements near a pulley pen, r, phi, arm, P, n.
    """
    n_p = len(fl.points)
    tan_d = belt.tan_d
    cos_d = belt.cos_d
    sin_d = belt.sin_d
    y_E = belt.y_P - belt.h_S
    pulleys = fl.pulley
    stretch = fl.stretch
    at = fl.at
    reach_I = (belt.z_P - s[0, 0]) / tan_d + belt.t_R + 2.0 * DEFLECTION_REACH / tan_d
    reach_O = (belt.z_P - s[1, 0]) / tan_d + belt.t_R + 2.0 * DEFLECTION_REACH / tan_d
    near_I = reach_I * reach_I if reach_I > 0.0 else 0.0
    near_O = reach_O * reach_O if reach_O > 0.0 else 0.0
    for i in range(pulleys.size):
        x_O = q[i, 0] - sn[i] * y_E
        x_I = x_O - belt.d_A
        y = q[i, 1] + cs[i] * y_E
        at_O = q[i, 0] < 0.5 * belt.d_A
        reached = x_O * x_O + y * y < near_O if at_O else x_I * x_I + y * y < near_I
        pulleys[i] = (1 if at_O else 0) if reached else -1
    find_stretches(fl)

    for k in range(fl.n_stretch[0]):
        first, behind, pulley = stretch[k, 0], stretch[k, 1], at[k]
        if pulley < 0:
            for p in range(n_p):
                for i in range(first, behind):
                    fl.pen[i, p] = -np.inf
                    fl.N[i, p] = 0.0
            continue
        a_x, a_y, a_z = axis(s, pulley)
        x_c = 0.0 if pulley == 1 else belt.d_A
        Z_P = belt.z_P - s[pulley, 0]
        for p in range(n_p):
            x_E = face(belt, p, n_p)
            for i in range(first, behind):
                Z = Z_P
                y_p = y_E
                if n_p > 1:
                    # the circle's point farthest into the cone, for the normal at P_R
                    X = q[i, 0] - x_c + cs[i] * x_E - sn[i] * y_E
                    Y = q[i, 1] + sn[i] * x_E + cs[i] * y_E
                    h, r, e_x, e_y, e_z = cone(X, Y, Z, a_x, a_y, a_z)
                    up = sn[i] * (sin_d * e_x - cos_d * a_x) - cs[i] * (sin_d * e_y - cos_d * a_y)
                    out = cos_d * a_z - sin_d * e_z
                    rise = belt.r_F * (up / np.sqrt(up * up + out * out) + sin_d)
                    rise = min(max(rise, belt.y_F0 - belt.y_P), belt.y_F1 - belt.y_P)
                    up = rise / belt.r_F - sin_d
                    y_p = y_E + rise
                    Z = Z_P + belt.r_F * (np.sqrt(1.0 - up * up) - cos_d)
                r_x = cs[i] * x_E - sn[i] * y_p
                r_y = sn[i] * x_E + cs[i] * y_p
                X = q[i, 0] - x_c + r_x
                Y = q[i, 1] + r_y
                h, r, e_x, e_y, e_z = cone(X, Y, Z, a_x, a_y, a_z)
                fl.pen[i, p] = h - r * tan_d if sheaves.r_min < r and r < sheaves.r_max else -np.inf
                fl.r[i, p] = r
                fl.phi[i, p, 0], fl.phi[i, p, 1] = e_x, e_y
                fl.arm[i, p, 0], fl.arm[i, p, 1] = r_x, r_y
                fl.P[i, p, 0], fl.P[i, p, 1], fl.P[i, p, 2] = X, Y, Z
                fl.n[i, p, 0] = sin_d * e_x - cos_d * a_x
                fl.n[i, p, 1] = sin_d * e_y - cos_d * a_y
                fl.n[i, p, 2] = sin_d * e_z - cos_d * a_z
        for i in range(first, behind):
            deepest = fl.pen[i, 0] if n_p == 1 else max(fl.pen[i, 0], fl.pen[i, n_p - 1])
            pulleys[i] = pulley if deepest > -DEFLECTION_REACH else -1
        for p in range(n_p):
            for i in range(first, behind):
                fl.pen[i, p] = fl.pen[i, p] if pulleys[i] >= 0 else -np.inf


@compiled
def normal_forces(belt, dt, u, s, sd, fl):
    """Normal forces of all points from penetration, deflection and approach speed.

    Parameters
    ----------
    belt : Belt
        c_el, d_el: axial stiffness [N/m] and damping [N s/m] of one flank, shared equally by its points.
    dt : float
        Step [s] that led here.
    u : ndarray, shape (N_E, 3)
        Velocities [m/s, rad/s].
    s, sd : ndarray, shape (2, 4)
        Sheave positions and rates.
    fl : Flanks
        Written: N, and near a pulley v.

    Over a step a point of the sheave moves on a chord, as the elements do; its velocity is that of the middle of the
    step, Omega x P +- h/2 Omega x (Omega x P).
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
                P_x, P_y, P_z = fl.P[i, p, 0], fl.P[i, p, 1], fl.P[i, p, 2]
                s_x = o_y * P_z - o_z * P_y
                s_y = o_z * P_x - o_x * P_z
                s_z = o_x * P_y - o_y * P_x
                c_x = o_y * s_z - o_z * s_y
                c_y = o_z * s_x - o_x * s_z
                c_z = o_x * s_y - o_y * s_x
                s_z += z_rate
                fl.v[i, p, 0], fl.v[i, p, 1], fl.v[i, p, 2] = s_x, s_y, s_z
                fl.v[i, p, 3], fl.v[i, p, 4], fl.v[i, p, 5] = c_x, c_y, c_z
                v_x = u[i, 0] - u[i, 2] * fl.arm[i, p, 1] - s_x + lag * c_x
                v_y = u[i, 1] + u[i, 2] * fl.arm[i, p, 0] - s_y + lag * c_y
                v_z = lag * c_z - s_z
                v_n = fl.n[i, p, 0] * v_x + fl.n[i, p, 1] * v_y + fl.n[i, p, 2] * v_z
                sunk = fl.pen[i, p] - fl.w[i, p]
                force = c * sunk - d * v_n
                fl.N[i, p] = force if sunk > 0.0 and force > 0.0 else 0.0


@inlined
def slip_at(fl, lag, i, p, w_0, w_1, w_2):
    """Slip velocity v_T of point `p` of an element at its velocity w_0, w_1, w_2, `lag` before the end of the step."""
    n_x, n_y, n_z = fl.n[i, p, 0], fl.n[i, p, 1], fl.n[i, p, 2]
    v_x = w_0 - w_2 * fl.arm[i, p, 1] - fl.v[i, p, 0] - lag * fl.v[i, p, 3]
    v_y = w_1 + w_2 * fl.arm[i, p, 0] - fl.v[i, p, 1] - lag * fl.v[i, p, 4]
    v_z = -fl.v[i, p, 2] - lag * fl.v[i, p, 5]
    v_n = n_x * v_x + n_y * v_y + n_z * v_z
    return v_x - n_x * v_n, v_y - n_y * v_n, v_z - n_z * v_n


@inlined
def begin(belt, dt, u, f, fl, i, w_0, w_1, w_2):
    """Slip of an element if the step `dt` ends with its velocity w_0, w_1, w_2, and the missing impulse without that of
    friction [N s, N s, N m s].

    Slip is a pair, of the two points or twice of one: on its way through the loops it stays out of memory, since the
    compiler would not know that one column of an array is not another.
    """
    lag = 0.5 * dt
    h = 2.0 * dt
    r_0 = belt.m_E * (w_0 - u[i, 0]) - dt * f[i, 0]
    r_1 = belt.m_E * (w_1 - u[i, 1]) - dt * f[i, 1]
    r_2 = belt.J_E * (w_2 - u[i, 2]) - dt * f[i, 2]
    for p in range(len(fl.points)):
        n_x, n_y = fl.n[i, p, 0], fl.n[i, p, 1]
        N = h * fl.N[i, p]
        r_0 -= N * n_x
        r_1 -= N * n_y
        r_2 -= N * (fl.arm[i, p, 0] * n_y - fl.arm[i, p, 1] * n_x)
    v = slip_at(fl, lag, i, 0, w_0, w_1, w_2)
    other = slip_at(fl, lag, i, 1, w_0, w_1, w_2) if len(fl.points) == 2 else v
    return (v, other), r_0, r_1, r_2


@inlined
def changed_at(fl, i, p, v, d_0, d_1, d_2):
    """Slip v of a point after the change d_0, d_1, d_2 of its element's velocity."""
    n_x, n_y = fl.n[i, p, 0], fl.n[i, p, 1]
    d_x = d_0 - d_2 * fl.arm[i, p, 1]
    d_y = d_1 + d_2 * fl.arm[i, p, 0]
    d_n = n_x * d_x + n_y * d_y
    return v[0] + (d_x - n_x * d_n), v[1] + (d_y - n_y * d_n), v[2] - fl.n[i, p, 2] * d_n


@inlined
def change(fl, i, slip, d_0, d_1, d_2):
    """The slip of an element after the change d_0, d_1, d_2 of its velocity."""
    v = changed_at(fl, i, 0, slip[0], d_0, d_1, d_2)
    return v, changed_at(fl, i, 1, slip[1], d_0, d_1, d_2) if len(fl.points) == 2 else v


@inlined
def slope(law, h, smooth, full, fl, i, p, v):
    """Friction of point `p` of an element over its velocity: secant c of the impulse, and minus the derivative of the
    impulse to the velocity of the point (K_xx, K_xy, K_yy) and to the rotation (g_x, g_y); see `newton_step`."""
    v_x, v_y, v_z = v
    r_x, r_y = fl.arm[i, p, 0], fl.arm[i, p, 1]
    n_x, n_y = fl.n[i, p, 0], fl.n[i, p, 1]
    N = h * fl.N[i, p]
    S, e = tangent(law, v_x * v_x + v_y * v_y + v_z * v_z + smooth)
    c = N * S
    e *= full * N
    K_xx = c - c * n_x * n_x + e * v_x * v_x
    K_xy = e * v_x * v_y - c * n_x * n_y
    K_yy = c - c * n_y * n_y + e * v_y * v_y
    return c, K_xx, K_xy, K_yy, K_xy * r_x - K_xx * r_y, K_yy * r_x - K_xy * r_y


@inlined
def add_slope(law, h, smooth, full, fl, i, p, v, S):
    """Entries 00, 01, 02, 11, 12, 22 of the matrix and the impulse in the sums S, with those of point `p`."""
    r_x, r_y = fl.arm[i, p, 0], fl.arm[i, p, 1]
    c, K_xx, K_xy, K_yy, g_x, g_y = slope(law, h, smooth, full, fl, i, p, v)
    return (
        S[0] + K_xx,
        S[1] + K_xy,
        S[2] + g_x,
        S[3] + K_yy,
        S[4] + g_y,
        S[5] + (r_x * g_y - r_y * g_x),
        S[6] + c * v[0],
        S[7] + c * v[1],
        S[8] + c * (r_x * v[1] - r_y * v[0]),
    )


@inlined
def newton_step(belt, law, dt, smooth, full, r_0, r_1, r_2, fl, i, slip):
    """Change of an element's velocity by one Newton step, from its slip and the impulse r_0, r_1, r_2 of `begin`.

    `smooth` [m^2/s^2] is added to the square of the slip in the law, which regularises it more. `full` 1: Newton; 0:
    with the secant of friction in place of its slope, which always leads nearer (Kacanov).

    Returns
    -------
    the change of the three velocities, and the squared error of the impulse before the step [N^2 s^2]
    """
    h = 2.0 * dt
    S = (belt.m_E, 0.0, 0.0, belt.m_E, 0.0, belt.J_E, r_0, r_1, r_2)
    S = add_slope(law, h, smooth, full, fl, i, 0, slip[0], S)
    if len(fl.points) == 2:
        S = add_slope(law, h, smooth, full, fl, i, 1, slip[1], S)
    A_00, A_01, A_02, A_11, A_12, A_22, r_0, r_1, r_2 = S
    C_00 = A_11 * A_22 - A_12 * A_12
    C_01 = A_02 * A_12 - A_01 * A_22
    C_02 = A_01 * A_12 - A_02 * A_11
    C_12 = A_01 * A_02 - A_00 * A_12
    inverse = -1.0 / (A_00 * C_00 + A_01 * C_01 + A_02 * C_02)
    d_0 = inverse * (C_00 * r_0 + C_01 * r_1 + C_02 * r_2)
    d_1 = inverse * (C_01 * r_0 + (A_00 * A_22 - A_02 * A_02) * r_1 + C_12 * r_2)
    d_2 = inverse * (C_02 * r_0 + C_12 * r_1 + (A_00 * A_11 - A_01 * A_01) * r_2)
    error = r_0 * r_0 + r_1 * r_1 + r_2 * r_2 * (belt.m_E / belt.J_E)
    return d_0, d_1, d_2, error


@inlined
def slip_of_one(belt, law, h, r_0, r_1, r_2, fl, i, v):
    """Square of the slip [m^2/s^2] after the step of an element with one point per flank, from its
    slip v and the impulse of `begin`."""
    N = h * fl.N[i, 0]
    n_x, n_y, n_z = fl.n[i, 0, 0], fl.n[i, 0, 1], fl.n[i, 0, 2]
    r_x, r_y = fl.arm[i, 0, 0], fl.arm[i, 0, 1]
    free = 1.0 / belt.m_E
    turn = 1.0 / belt.J_E
    d_x = -free * r_0 + turn * r_2 * r_y
    d_y = -free * r_1 - turn * r_2 * r_x
    d_n = n_x * d_x + n_y * d_y
    a_x = v[0] + d_x - n_x * d_n
    a_y = v[1] + d_y - n_y * d_n
    a_z = v[2] - n_z * d_n
    # eigenvalues of B by its trace and the product of the two, parts of a along its eigenvectors by a.a and a.B a
    a_r = a_y * r_x - a_x * r_y
    n_r = n_y * r_x - n_x * r_y
    reach = r_x * r_x + r_y * r_y
    middle = 0.5 * (free * (1.0 + n_z * n_z) + turn * (reach - n_r * n_r))
    apart = np.sqrt(max(middle * middle - n_z * n_z * free * (free + turn * reach), 0.0))
    k_1 = N * (middle + apart)
    k_2 = N * (middle - apart)
    total = a_x * a_x + a_y * a_y + a_z * a_z
    along = free * (a_x * a_x + a_y * a_y) + turn * a_r * a_r
    part_1 = 0.5 * (along - (middle - apart) * total) / apart if apart > 1e-9 * middle else total
    part_1 = min(max(part_1, 0.0), total)
    part_2 = total - part_1
    S, e = tangent(law, 0.0)
    v = np.sqrt(part_1 / (1.0 + k_1 * S) ** 2 + part_2 / (1.0 + k_2 * S) ** 2)
    if v == 0.0:
        return 0.0
    for _ in range(MAX_NEWTON_STEPS):
        S, e = tangent(law, v * v)
        rise = S + v * v * e
        x_1 = v + k_1 * S * v
        x_2 = v + k_2 * S * v
        w_1 = part_1 / (x_1 * x_1)
        w_2 = part_2 / (x_2 * x_2)
        w = w_1 + w_2
        step = w * (np.sqrt(w) - 1.0) / (w_1 * (1.0 + k_1 * rise) / x_1 + w_2 * (1.0 + k_2 * rise) / x_2)
        v += step
        if not abs(step) > 1e-14 * v:
            break
    return v * v


@compiled
def settle(belt, law, dt, u, f, fl, i):
    """Velocity `fl.u` of one element, from `fl.trial`.

    With one point per flank the secant step at the slip of `slip_of_one` is exact. With two, Newton's steps go along
    with a regularisation that shrinks to 0.8 in each: with the law itself they fail for an element that sticks at one
    point and slides at the other, or hardly sticks. In the end, where a step does not lower the error, the secant's is
    used.
    """
    x_0, x_1, x_2 = fl.trial[i, 0], fl.trial[i, 1], fl.trial[i, 2]
    slip, r_0, r_1, r_2 = begin(belt, dt, u, f, fl, i, x_0, x_1, x_2)
    y_0, y_1, y_2 = 0.0, 0.0, 0.0  # velocity less the trial
    d_0, d_1, d_2 = 0.0, 0.0, 0.0
    smooth = max(square(slip[0]), square(slip[1]))
    full = 1.0
    if len(fl.points) == 1:
        smooth = slip_of_one(belt, law, 2.0 * dt, r_0, r_1, r_2, fl, i, slip[0]) - smooth
        full = 0.0
    before = np.inf
    for _ in range(MAX_NEWTON_STEPS):
        if conclude(belt, law, dt, r_0, r_1, r_2, fl, i, slip, x_0 + y_0, x_1 + y_1, x_2 + y_2) == 0.0:
            return
        n_0, n_1, n_2, error = newton_step(belt, law, dt, smooth, full, r_0, r_1, r_2, fl, i, slip)
        back = smooth == 0.0 and not error < before
        if back:  # and from there by the secant
            slip = change(fl, i, slip, -d_0, -d_1, -d_2)
            y_0, y_1, y_2 = y_0 - d_0, y_1 - d_1, y_2 - d_2
            r_0, r_1, r_2 = r_0 - belt.m_E * d_0, r_1 - belt.m_E * d_1, r_2 - belt.J_E * d_2
            n_0, n_1, n_2, _ = newton_step(belt, law, dt, 0.0, 0.0, r_0, r_1, r_2, fl, i, slip)
        before = np.inf if back or smooth != 0.0 else error
        smooth = 0.64 * smooth if full == 1.0 and smooth > 0.1 * law.v_mu * law.v_mu else 0.0
        full = 1.0
        d_0, d_1, d_2 = n_0, n_1, n_2
        slip = change(fl, i, slip, d_0, d_1, d_2)
        y_0, y_1, y_2 = y_0 + d_0, y_1 + d_1, y_2 + d_2
        r_0, r_1, r_2 = r_0 + belt.m_E * d_0, r_1 + belt.m_E * d_1, r_2 + belt.J_E * d_2


@inlined
def square(v):
    """v.v of a slip."""
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


@inlined
def rub(law, h, fl, i, p, v, r_0, r_1, r_2, steepest):
    """Friction `fl.T` of a point with the slip v; the impulse with it, and the largest secant."""
    v_x, v_y, v_z = v
    S = secant(law, v_x * v_x + v_y * v_y + v_z * v_z)
    steepest = max(steepest, S)
    S *= fl.N[i, p]
    fl.slip[i, p, 0], fl.slip[i, p, 1], fl.slip[i, p, 2] = v_x, v_y, v_z
    fl.T[i, p, 0] = -S * v_x
    fl.T[i, p, 1] = -S * v_y
    fl.T[i, p, 2] = -S * v_z
    r_2 += h * S * (fl.arm[i, p, 0] * v_y - fl.arm[i, p, 1] * v_x)
    return r_0 + h * S * v_x, r_1 + h * S * v_y, r_2, steepest


@inlined
def conclude(belt, law, dt, r_0, r_1, r_2, fl, i, slip, w_0, w_1, w_2):
    """Friction `fl.T` of an element that slips at its velocity w_0, w_1, w_2, and the velocity `fl.u` that it leads to.

    Returns 0 if both velocities are the same, else 1.
    """
    h = 2.0 * dt
    r_0, r_1, r_2, steepest = rub(law, h, fl, i, 0, slip[0], r_0, r_1, r_2, 0.0)
    if len(fl.points) == 2:
        r_0, r_1, r_2, steepest = rub(law, h, fl, i, 1, slip[1], r_0, r_1, r_2, steepest)
    d_0 = r_0 / belt.m_E
    d_1 = r_1 / belt.m_E
    d_2 = r_2 / belt.J_E
    fl.u[i, 0] = w_0 - d_0
    fl.u[i, 1] = w_1 - d_1
    fl.u[i, 2] = w_2 - d_2
    limit = max(FRICTION_RTOL / steepest, 0.1 * VELOCITY_ATOL)
    return 0.0 if d_0 * d_0 + d_1 * d_1 + d_2 * d_2 * (belt.J_E / belt.m_E) < limit * limit else 1.0


@compiled
def approach(belt, law, dt, u, f, fl, first, behind):
    """Velocities `fl.u` of elements at a pulley by a few Newton steps; how many are not exact, with `fl.far` set.

    The first guess is the velocity before the step, turned with the sheave.
    """
    far = 0.0
    m = belt.m_E
    J = belt.J_E
    for i in range(first, behind):
        w_0 = u[i, 0] + dt * fl.v[i, 0, 3]
        w_1 = u[i, 1] + dt * fl.v[i, 0, 4]
        w_2 = u[i, 2]
        slip, r_0, r_1, r_2 = begin(belt, dt, u, f, fl, i, w_0, w_1, w_2)
        # written out: a loop of this length within keeps the compiler from vectorising the outer one
        d_0, d_1, d_2, _ = newton_step(belt, law, dt, 0.0, 1.0, r_0, r_1, r_2, fl, i, slip)
        slip = change(fl, i, slip, d_0, d_1, d_2)
        w_0, w_1, w_2, r_0, r_1, r_2 = w_0 + d_0, w_1 + d_1, w_2 + d_2, r_0 + m * d_0, r_1 + m * d_1, r_2 + J * d_2
        d_0, d_1, d_2, _ = newton_step(belt, law, dt, 0.0, 1.0, r_0, r_1, r_2, fl, i, slip)
        slip = change(fl, i, slip, d_0, d_1, d_2)
        w_0, w_1, w_2, r_0, r_1, r_2 = w_0 + d_0, w_1 + d_1, w_2 + d_2, r_0 + m * d_0, r_1 + m * d_1, r_2 + J * d_2
        d_0, d_1, d_2, _ = newton_step(belt, law, dt, 0.0, 1.0, r_0, r_1, r_2, fl, i, slip)
        slip = change(fl, i, slip, d_0, d_1, d_2)
        w_0, w_1, w_2, r_0, r_1, r_2 = w_0 + d_0, w_1 + d_1, w_2 + d_2, r_0 + m * d_0, r_1 + m * d_1, r_2 + J * d_2
        missed = conclude(belt, law, dt, r_0, r_1, r_2, fl, i, slip, w_0, w_1, w_2)
        fl.trial[i, 0], fl.trial[i, 1], fl.trial[i, 2] = w_0, w_1, w_2
        fl.far[i] = missed
        far += missed
    return far


@compiled
def solve(belt, law, dt, u, f, fl):
    """Velocities `fl.u` of all elements after the step `dt`, in balance with the friction `fl.T` of their flanks.

    Parameters
    ----------
    belt : Belt
    law
        Of friction (`friction`).
    dt : float
        Step [s].
    u, f : ndarray, shape (N_E, 3)
        Velocities before the step, and the generalised forces of all other contacts [N, N m].
    fl : Flanks
        From `contact_points` and `normal_forces`; u, T written.
    """
    free = dt / belt.m_E
    turn = dt / belt.J_E
    n = np.uint64(fl.pulley.size)
    for k in range(fl.n_stretch[0]):
        first, behind = fl.stretch[k, 0], fl.stretch[k, 1]
        if fl.at[k] < 0:
            for i in range(first, behind):
                fl.u[i, 0] = u[i, 0] + free * f[i, 0]
                fl.u[i, 1] = u[i, 1] + free * f[i, 1]
                fl.u[i, 2] = u[i, 2] + turn * f[i, 2]
        elif approach(belt, law, dt, u, f, fl, first, whole(first, behind, n)) > 0.0:
            for i in range(first, behind):
                if fl.far[i] > 0.0:
                    settle(belt, law, dt, u, f, fl, i)


@compiled
def mobilities(belt, law, dt, fl, inverse):
    """Change of the velocity of an element by an impulse while its flanks rub. Call `solve` first.

    Parameters
    ----------
    belt, law, dt, fl : as for `solve`
    inverse : ndarray, shape (N_E, 6)
        Written: entries 00, 01, 02, 11, 12, 22 of the symmetric matrix d u/d(impulse) [1/kg, 1/(kg m), 1/(kg m^2)].
    """
    h = 2.0 * dt
    for i in range(inverse.shape[0]):
        A_00 = belt.m_E
        A_11 = belt.m_E
        A_22 = belt.J_E
        A_01 = 0.0
        A_02 = 0.0
        A_12 = 0.0
        if fl.pulley[i] >= 0:
            for p in range(len(fl.points)):
                v = (fl.slip[i, p, 0], fl.slip[i, p, 1], fl.slip[i, p, 2])
                _, K_xx, K_xy, K_yy, g_x, g_y = slope(law, h, 0.0, 1.0, fl, i, p, v)
                A_00 += K_xx
                A_01 += K_xy
                A_11 += K_yy
                A_02 += g_x
                A_12 += g_y
                A_22 += fl.arm[i, p, 0] * g_y - fl.arm[i, p, 1] * g_x
        C_00 = A_11 * A_22 - A_12 * A_12
        C_01 = A_02 * A_12 - A_01 * A_22
        C_02 = A_01 * A_12 - A_02 * A_11
        one = 1.0 / (A_00 * C_00 + A_01 * C_01 + A_02 * C_02)
        inverse[i, 0] = one * C_00
        inverse[i, 1] = one * C_01
        inverse[i, 2] = one * C_02
        inverse[i, 3] = one * (A_00 * A_22 - A_02 * A_02)
        inverse[i, 4] = one * (A_01 * A_02 - A_00 * A_12)
        inverse[i, 5] = one * (A_00 * A_11 - A_01 * A_01)


@compiled
def ahead(belt, dt, u, f, f_R, rub, fl, end):
    """Velocities `end` (N_E, 3) after the step `dt` under the forces f + f_R, the flanks' normal forces and `rub`, the
    flanks' friction of the last step; all (N_E, 3)."""
    free = dt / belt.m_E
    turn = dt / belt.J_E
    for i in range(u.shape[0]):
        f_0 = f[i, 0] + f_R[i, 0] + rub[i, 0]
        f_1 = f[i, 1] + f_R[i, 1] + rub[i, 1]
        f_2 = f[i, 2] + f_R[i, 2] + rub[i, 2]
        for p in range(len(fl.points)):
            F_x = 2.0 * fl.N[i, p] * fl.n[i, p, 0]
            F_y = 2.0 * fl.N[i, p] * fl.n[i, p, 1]
            f_0 += F_x
            f_1 += F_y
            f_2 += fl.arm[i, p, 0] * F_y - fl.arm[i, p, 1] * F_x
        end[i, 0] = u[i, 0] + free * f_0
        end[i, 1] = u[i, 1] + free * f_1
        end[i, 2] = u[i, 2] + turn * f_2


@compiled
def velocities(belt, law, dt, u, f, s, fl, rub, reaction, power):
    """Replace `u` by the velocities after the step `dt`, with the forces `f` and all flank forces.

    Parameters
    ----------
    belt : Belt
    law
        Law of friction (`friction`).
    dt : float
        Step [s].
    u, f : ndarray, shape (N_E, 3)
        Velocities, and the generalised forces of all other contacts [N, N m].
    s : ndarray, shape (2, 4)
        Sheave positions; their velocities at the contacts are in `fl`.
    fl : Flanks
        Contact points, from `contact_points` and `normal_forces`; u, T, force written.
    rub : ndarray, shape (N_E, 3)
        Written: friction of the two flanks on each element [N, N, N m].
    reaction : ndarray, shape (2, 4)
        Written: on one sheave of each pulley the axial force [N] (positive: opens), the moments [N m] about x and y
        at the apex, and the torque [N m] about the shaft in the direction of travel.
    power : ndarray, shape (2, 3)
        Written: power lost per pulley [W], both flanks, in friction along the travel, in the remaining friction and
        in the damper, from the forces of the step and the mean of old and new velocities.
    """
    solve(belt, law, dt, u, f, fl)
    n_p = len(fl.points)
    stiffness = belt.c_el / (n_p * belt.cos_d)
    for pulley in range(2):
        for a in range(4):
            reaction[pulley, a] = 0.0
        for a in range(3):
            power[pulley, a] = 0.0
    for k in range(fl.n_stretch[0]):
        first, behind, pulley = fl.stretch[k, 0], fl.stretch[k, 1], fl.at[k]
        if pulley < 0:
            for i in range(first, behind):
                u[i, 0] = fl.u[i, 0]
                u[i, 1] = fl.u[i, 1]
                u[i, 2] = fl.u[i, 2]
                fl.force[i, 0], fl.force[i, 1], fl.force[i, 2] = 0.0, 0.0, 0.0
                rub[i, 0], rub[i, 1], rub[i, 2] = 0.0, 0.0, 0.0
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
            u_0, u_1, u_2 = u[i, 0], u[i, 1], u[i, 2]
            w_0, w_1, w_2 = fl.u[i, 0], fl.u[i, 1], fl.u[i, 2]
            m_0 = 0.5 * (u_0 + w_0)
            m_1 = 0.5 * (u_1 + w_1)
            m_2 = 0.5 * (u_2 + w_2)
            normal = 0.0
            along = 0.0
            outwards = 0.0
            rub_x = 0.0
            rub_y = 0.0
            rub_p = 0.0
            for p in range(n_p):
                N = fl.N[i, p]
                n_x, n_y, n_z = fl.n[i, p, 0], fl.n[i, p, 1], fl.n[i, p, 2]
                P_x, P_y, P_z = fl.P[i, p, 0], fl.P[i, p, 1], fl.P[i, p, 2]
                s_z = fl.v[i, p, 2]
                T_x, T_y, T_z = fl.T[i, p, 0], fl.T[i, p, 1], fl.T[i, p, 2]
                F_x = N * n_x + T_x
                F_y = N * n_y + T_y
                F_z = N * n_z + T_z
                M_x = P_z * F_y - P_y * F_z
                M_y = P_x * F_z - P_z * F_x
                R_z -= F_z
                R_x += M_x
                R_y += M_y
                R_t -= a_x * M_x + a_y * M_y + a_z * (P_y * F_x - P_x * F_y)
                c_phi, s_phi = fl.phi[i, p, 0], fl.phi[i, p, 1]
                T_t = T_x * s_phi - T_y * c_phi
                rub_x += 2.0 * T_x
                rub_y += 2.0 * T_y
                rub_p += 2.0 * (fl.arm[i, p, 0] * T_y - fl.arm[i, p, 1] * T_x)
                normal += N
                along += T_t
                outwards += T_x * c_phi + T_y * s_phi
                m_x = m_0 - m_2 * fl.arm[i, p, 1] - fl.v[i, p, 0]
                m_y = m_1 + m_2 * fl.arm[i, p, 0] - fl.v[i, p, 1]
                m_n = n_x * m_x + n_y * m_y - n_z * s_z
                taken = -2.0 * T_t * (m_x * s_phi - m_y * c_phi)
                lost_along += taken
                lost_across -= 2.0 * (T_x * m_x + T_y * m_y - T_z * s_z) + taken
                lost_damper -= 2.0 * (N - stiffness * max(fl.pen[i, p] - fl.w[i, p], 0.0)) * m_n
            u[i, 0], u[i, 1], u[i, 2] = w_0, w_1, w_2
            fl.force[i, 0], fl.force[i, 1], fl.force[i, 2] = normal, along, outwards
            rub[i, 0], rub[i, 1], rub[i, 2] = rub_x, rub_y, rub_p
        reaction[pulley, 0] += R_z
        reaction[pulley, 1] += R_x
        reaction[pulley, 2] += R_y
        reaction[pulley, 3] += R_t
        power[pulley, 0] += lost_along
        power[pulley, 1] += lost_across
        power[pulley, 2] += lost_damper


@compiled
def energy(belt, fl):
    """Energy stored in both flanks of all elements [J]; the deflected sheaves are in `maxwell.energy`."""
    n_E, n_p = fl.pen.shape
    c = belt.c_el / n_p
    total = 0.0
    for i in range(n_E):
        for p in range(n_p):
            if fl.pulley[i] >= 0 and fl.pen[i, p] > fl.w[i, p]:
                total += c * (fl.pen[i, p] - fl.w[i, p]) ** 2
    return total
