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
method from below goes up to the root, quadratically. With kappa known the rest is linear (`_settle`).

Rounding. The velocities, 15 m/s, are known to 2e-15 m/s, and T = -kappa v_T magnifies that: computed from them, the
slip of an element that sticks would give u+ an error of 2 h kappa/m as much, 1e-8 m/s at v_mu = 1e-6 m/s and h = 1e-4
s. Therefore the search updates the slip by its changes (`_gone`), so that its rounding error is relative to itself.

Energy. A flank that leaves a sheave faster than c (p - w)/d is open while it is still pressed in: the damper cancels
the whole elastic force, and dissipates the rest of the spring's energy.

The velocities of a step are chords of the path. On an arc a chord that ends at the present place has the radial
component v omega h/2, one that starts there has -v omega h/2: 3 mm/s at 15 m/s, 400 rad/s and 1e-6 s, more than v_mu.
Therefore the sheave's velocity is a chord as well, backward against u and forward against u+.

Contact points, normal forces and works are those of a spatial belt too, one side at a time (`elements`); its
velocities are in `spatial.flank`. Loops run over the stretches of the belt at one pulley, without a branch inside and
with columns that are contiguous in memory, so that the loops are vectorised.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.elements import (
    add_rub,
    arm_of,
    carried,
    frame_of,
    keep,
    lever,
    shown,
    velocity_at,
    wrench,
)
from rtcvt.offline.pushbelt.contact.friction import secant, tangent
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.vectors import (
    across,
    add_columns,
    applied,
    columns,
    copy,
    cross,
    dot,
    inverse_of,
    load,
    minus,
    moved,
    plus,
    scaled,
    set_columns,
    store,
    summed,
    times,
    zero,
)

Array = NDArray[np.float64]

MAX_NEWTON_STEPS = 300  # Newton steps of one element
LANES = 8  # largest number of lanes of a processor's vectors
FRICTION_RTOL = 1e-10  # error of T, in parts of N ...
VELOCITY_ATOL = 1e-13  # ... or of the velocity [m/s]
DEFLECTION_REACH = 2.0e-4  # [m]; a point outside the cone by more cannot be reached by its deflection


@declared
class Flanks(NamedTuple):
    """Contact points on one flank of every element, and their forces, in the view (`elements`).

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
    arm: Annotated[Array, ("N_E", "n_p", 3), "m", "point from the centre of gravity (`elements.arm_of`)"]
    P: Annotated[Array, ("N_E", "n_p", 3), "m", "point from the apex"]
    n: Annotated[Array, ("N_E", "n_p", 3), "1", "normal into the element"]
    v: Annotated[Array, ("N_E", "n_p", 6), "m/s, m/s^2", "velocity of the sheave; its change by rotation per second"]
    m: Annotated[Array, ("N_E", "n_p", 3), "1", "normal in the frame of solution, if it is another (`elements.keep`)"]
    c: Annotated[Array, ("N_E", "n_p", 3), "m/s", "velocity of the sheave in the middle of the step, in that frame"]
    slip: Annotated[Array, ("N_E", "n_p", 3), "m/s", "v_T after the step, in that frame"]
    T: Annotated[Array, ("N_E", "n_p", 3), "N", "friction in that frame"]
    force: Annotated[Array, ("N_E", 4), "N", "sums: normal, friction in the direction of travel, outwards; axial"]


@declared
class Search(NamedTuple):
    """Search for the velocities after the step, in n columns."""

    u: Annotated[Array, ("N_E", "n"), "m/s, rad/s", "velocities of the elements after the step"]
    trial: Annotated[Array, ("N_E", "n"), "m/s, rad/s", "where their search ended"]
    far: Annotated[Array, ("N_E",), "1", "above 0 if that was too early"]


def flanks(N_E: int, n_p: int) -> Flanks:
    """Empty contact arrays of one flank: `n_p` = 1 for the simplified contact, 2 for front and rear arc."""
    return zeros(Flanks, {"N_E": N_E, "n_p": n_p})


def search(N_E: int, n: int = 3) -> Search:
    """Scratch for the `n` velocities of an element."""
    return zeros(Search, {"N_E": N_E, "n": n})


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
def _cone(belt, P, a):
    """Height and radius on the cone, radial unit vector, and normal into the element of a point from the apex."""
    h = dot(P, a)
    e = moved(P, -h, a)
    r = np.sqrt(dot(e, e))
    e = times(1.0 / r if r > 0.0 else 0.0, e)
    return h, r, e, moved(times(belt.sin_d, e), -belt.cos_d, a)


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
def contact_points(belt, sheaves, el, s, fl):
    """Find the contact points of all elements and their penetrations.

    Parameters
    ----------
    belt, sheaves : Belt, Sheaves
    el : Elements or Side
    s : ndarray, shape (2, 4)
        Sheave positions: apex z [m], alpha, beta, rotation [rad].
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
        centre, _, up, _ = frame_of(el, i)
        at_O = centre[0] < 0.5 * belt.d_A
        x = centre[0] + up[0] * y_E - (0.0 if at_O else belt.d_A)
        y = centre[1] + up[1] * y_E
        reach = (reach_O if at_O else reach_I) + centre[2] / tan_d
        pulleys[i] = (1 if at_O else 0) if reach > 0.0 and reach * reach > x * x + y * y else -1
    find_stretches(fl)
    for k in range(fl.n_stretch[0]):
        first, behind, pulley = fl.stretch[k, 0], fl.stretch[k, 1], fl.at[k]
        if pulley < 0:
            continue
        for p in range(n_p):
            for i in range(first, behind):
                _point(belt, sheaves, el, s, fl, pulley, i, p)
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
def _point(belt, sheaves, el, s, fl, pulley, i, p):
    """Contact point `p` of element i and its penetration."""
    n_p = len(fl.points)
    a = axis(s, pulley)
    x_p = face(belt, p, n_p)
    y_p = belt.y_P - belt.h_S
    z_p = belt.z_P
    centre, to_x, to_y, to_z = frame_of(el, i)
    apex = (0.0 if pulley == 1 else belt.d_A, 0.0, s[pulley, 0])
    front = times(x_p, to_x)
    if n_p > 1:
        # the point of the arc that is farthest in the cone, by the normal at the middle of the flank
        middle = moved(moved(front, y_p, to_y), z_p, to_z)
        _, _, _, n = _cone(belt, plus(minus(centre, apex), middle), a)
        up = -dot(n, to_y)
        out = -dot(n, to_z)
        rise = belt.r_F * (up / np.sqrt(up * up + out * out) + belt.sin_d)
        rise = min(max(rise, belt.y_F0 - belt.y_P), belt.y_F1 - belt.y_P)
        up = rise / belt.r_F - belt.sin_d
        y_p += rise
        z_p += belt.r_F * (np.sqrt(1.0 - up * up) - belt.cos_d)
    arm = moved(moved(front, y_p, to_y), z_p, to_z)
    P = plus(minus(centre, apex), arm)
    h, r, e, n = _cone(belt, P, a)
    fl.pen[i, p] = h - r * belt.tan_d if sheaves.r_min < r and r < sheaves.r_max else -np.inf
    fl.r[i, p] = r
    fl.phi[i, p, 0] = e[0]
    fl.phi[i, p, 1] = e[1]
    store(arm_of(el, (x_p, y_p, z_p), arm), fl.arm, i, p)
    store(P, fl.P, i, p)
    store(n, fl.n, i, p)


@compiled
def normal_forces(belt, dt, el, s, sd, fl):
    """Normal forces of all points from penetration, deflection and approach speed.

    Parameters
    ----------
    belt : Belt
        c_el, d_el: axial stiffness [N/m] and damping [N s/m] of one flank, shared equally by its points.
    dt : float
        Step [s] that led here.
    el : Elements or Side
    s, sd : ndarray, shape (2, 4)
        Sheave positions and rates.
    fl : Flanks
        Written: N, and near a pulley v, m, c.

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
        omega = moved((sd[pulley, 1], sd[pulley, 2], 0.0), -sd[pulley, 3], axis(s, pulley))
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
                v = minus(velocity_at(el, el.u, i, load(fl.arm, i, p)), sheave)
                sunk = fl.pen[i, p] - fl.w[i, p]
                force = c * sunk - d * dot(n, moved(v, lag, per_time))
                fl.N[i, p] = force if sunk > 0.0 and force > 0.0 else 0.0
                keep(el, fl, i, p, moved(sheave, lag, per_time))


@compiled
def add_works(belt, el, s, u, fl, rub, reaction, power):
    """Sum the forces of one flank of all elements after the velocities `u` of the step's end are found.

    Parameters
    ----------
    belt, el, s, fl : as for `normal_forces`; fl.force is written
    u : ndarray, shape (N_E, n)
        Velocities after the step; those before are `el.u`.
    rub : ndarray, shape (N_E, n)
        Friction on the elements; added to.
    reaction : ndarray, shape (2, 4)
        On one sheave of each pulley the axial force [N] (positive: opens), the moments [N m] about x and y at the
        apex, and the torque [N m] about the shaft in the direction of travel; added to.
    power : ndarray, shape (2, 3)
        Power lost per pulley [W] in friction along the travel, in the remaining friction and in the damper, from the
        forces of the step and the mean of old and new velocities; added to.
    """
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
        none = (0.0, 0.0, 0.0)
        on_sheave = none
        moment = none
        lost = none
        for i in range(first, behind):
            normal = 0.0
            along = 0.0
            outwards = 0.0
            axial = 0.0
            friction = none
            turn = none
            for p in range(n_p):
                N = fl.N[i, p]
                n = load(fl.n, i, p)
                arm = load(fl.arm, i, p)
                T = load(fl.T, i, p)
                friction = plus(friction, T)
                turn = plus(turn, cross(lever(el, arm), T))
                T = shown(el, i, T)
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
                v = minus(velocity_at(el, u, i, arm), load(fl.v, i, p))
                taken = -T_t * (v[0] * s_phi - v[1] * c_phi)
                damper = N - stiffness * max(fl.pen[i, p] - fl.w[i, p], 0.0)
                lost = plus(lost, (taken, -dot(T, v) - taken, -damper * dot(n, v)))
            fl.force[i, 0] = normal
            fl.force[i, 1] = along
            fl.force[i, 2] = outwards
            fl.force[i, 3] = axial
            add_rub(el, i, friction, turn, rub)
        reaction[pulley, 0] += on_sheave[2]
        reaction[pulley, 1] += moment[0]
        reaction[pulley, 2] += moment[1]
        reaction[pulley, 3] -= dot(a, moment)
        add_columns(lost, power, pulley, 0)


@inlined
def slope(law, N, smooth, full, v, n):
    """Friction of a point with the slip v: its secant c, and minus its derivative to the velocity of the point, for
    a normal force or impulse N; `smooth`, `full` as for `_newton_step`."""
    v_x, v_y, v_z = v
    n_x, n_y, n_z = n
    S, e = tangent(law, dot(v, v) + smooth)
    c = N * S
    e *= full * N
    T_xx = c - c * n_x * n_x + e * v_x * v_x
    T_xy = e * v_x * v_y - c * n_x * n_y
    T_xz = e * v_x * v_z - c * n_x * n_z
    T_yy = c - c * n_y * n_y + e * v_y * v_y
    T_yz = e * v_y * v_z - c * n_y * n_z
    return c, (T_xx, T_xy, T_xz, T_yy, T_yz, c - c * n_z * n_z + e * v_z * v_z)


# --- velocities of planar elements


@inlined
def _masses(belt):
    """Mass of an element for its three velocities."""
    return belt.m_E, belt.m_E, belt.J_E


@inlined
def _slip_at(fl, i, p, w):
    """Slip velocity v_T of point `p` if the step ends with the velocity w of the element."""
    return across(minus(carried(w, load(fl.arm, i, p)), load(fl.c, i, p)), load(fl.n, i, p))


@inlined
def begin(belt, dt, u, f, fl, i, w):
    """Slip of an element if the step `dt` ends with its velocity w, and the missing impulse without that of friction
    [N s, N s, N m s].

    Slip is a pair, of the two points or twice of one: on its way through the loops it stays out of memory, since the
    compiler would not know that one column of an array is not another.
    """
    r = moved(scaled(_masses(belt), minus(w, columns(u, i, 0))), -dt, columns(f, i, 0))
    for p in range(len(fl.points)):
        r = moved(r, -2.0 * dt * fl.N[i, p], wrench(load(fl.arm, i, p), load(fl.n, i, p)))
    v = _slip_at(fl, i, 0, w)
    return (v, _slip_at(fl, i, 1, w) if len(fl.points) == 2 else v), r


@inlined
def _changed(fl, i, p, v, d):
    """Slip v of a point after the change d of its element's velocity."""
    return plus(v, across(carried(d, load(fl.arm, i, p)), load(fl.n, i, p)))


@inlined
def _gone(belt, fl, i, at, d):
    """Velocity, slip and missing impulse `at` of an element after the change d of its velocity."""
    w, slip, r = at
    v = _changed(fl, i, 0, slip[0], d)
    other = _changed(fl, i, 1, slip[1], d) if len(fl.points) == 2 else v
    return plus(w, d), (v, other), plus(r, scaled(_masses(belt), d))


@inlined
def _add_slope(law, h, smooth, full, fl, i, p, v, A, r):
    """The matrix A of the velocities and the impulse r, with those of point `p` with the slip v."""
    arm = load(fl.arm, i, p)
    c, K = slope(law, h * fl.N[i, p], smooth, full, v, load(fl.n, i, p))
    g_x = K[1] * arm[0] - K[0] * arm[1]
    g_y = K[3] * arm[0] - K[1] * arm[1]
    A = summed(A, (K[0], K[1], g_x, K[3], g_y, arm[0] * g_y - arm[1] * g_x))
    return A, moved(r, c, wrench(arm, v))


@inlined
def _newton_step(belt, law, dt, smooth, full, fl, i, at):
    """Change of an element's velocity by one Newton step, from its slip and the impulse of `begin`.

    `smooth` [m^2/s^2] is added to the square of the slip in the law, which regularises it more. `full` 1: Newton; 0:
    with the secant of friction in place of its slope, which always leads nearer (Kacanov).

    Returns
    -------
    the change of the three velocities, and the squared error of the impulse before the step [N^2 s^2]
    """
    _, slip, r = at
    A = (belt.m_E, 0.0, 0.0, belt.m_E, 0.0, belt.J_E)
    A, r = _add_slope(law, 2.0 * dt, smooth, full, fl, i, 0, slip[0], A, r)
    if len(fl.points) == 2:
        A, r = _add_slope(law, 2.0 * dt, smooth, full, fl, i, 1, slip[1], A, r)
    error = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] * (belt.m_E / belt.J_E)
    return times(-1.0, applied(inverse_of(A), r)), error


@inlined
def slip_of_one(belt, law, h, r, fl, i, v):
    """Square of the slip [m^2/s^2] after the step of an element with one point per flank, from its
    slip v and the impulse r of `begin`."""
    N = h * fl.N[i, 0]
    n_x, n_y, n_z = load(fl.n, i, 0)
    r_x, r_y, _ = load(fl.arm, i, 0)
    free = 1.0 / belt.m_E
    turn = 1.0 / belt.J_E
    a_x, a_y, a_z = _changed(fl, i, 0, v, (-free * r[0], -free * r[1], -turn * r[2]))
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
def _settle(belt, law, dt, u, f, fl, find, i):
    """Velocity `find.u` of one element, from `find.trial`.

    With one point per flank the secant step at the slip of `slip_of_one` is exact. With two, Newton's steps go along
    with a regularisation that shrinks to 0.8 in each: with the law itself they fail for an element that sticks at one
    point and slides at the other, or hardly sticks. In the end, where a step does not lower the error, the secant's is
    used.
    """
    trial = columns(find.trial, i, 0)
    slip, r = begin(belt, dt, u, f, fl, i, trial)
    d = (0.0, 0.0, 0.0)
    at = (d, slip, r)  # the velocity less the trial
    smooth = max(dot(slip[0], slip[0]), dot(slip[1], slip[1]))
    full = 1.0
    if len(fl.points) == 1:
        smooth = slip_of_one(belt, law, 2.0 * dt, r, fl, i, slip[0]) - smooth
        full = 0.0
    before = np.inf
    for _ in range(MAX_NEWTON_STEPS):
        if _conclude(belt, law, dt, fl, find, i, at, plus(trial, at[0])) == 0.0:
            return
        new, error = _newton_step(belt, law, dt, smooth, full, fl, i, at)
        back = smooth == 0.0 and not error < before
        if back:  # and from there by the secant
            at = _gone(belt, fl, i, at, times(-1.0, d))
            new, _ = _newton_step(belt, law, dt, 0.0, 0.0, fl, i, at)
        before = np.inf if back or smooth != 0.0 else error
        smooth = 0.64 * smooth if full == 1.0 and smooth > 0.1 * law.v_mu * law.v_mu else 0.0
        full = 1.0
        d = new
        at = _gone(belt, fl, i, at, d)


@inlined
def _rub(law, h, fl, i, p, v, r, steepest):
    """Friction `fl.T` of a point with the slip v; the impulse with it, and the largest secant."""
    S = secant(law, dot(v, v))
    N = fl.N[i, p]
    store(v, fl.slip, i, p)
    store(times(-S * N, v), fl.T, i, p)
    return moved(r, h * S * N, wrench(load(fl.arm, i, p), v)), max(steepest, S)


@inlined
def _conclude(belt, law, dt, fl, find, i, at, w):
    """Friction `fl.T` of an element that slips at its velocity w, and the velocity `find.u` that it leads to.

    Returns 0 if both velocities are the same, else 1.
    """
    _, slip, r = at
    r, steepest = _rub(law, 2.0 * dt, fl, i, 0, slip[0], r, 0.0)
    if len(fl.points) == 2:
        r, steepest = _rub(law, 2.0 * dt, fl, i, 1, slip[1], r, steepest)
    d = (r[0] / belt.m_E, r[1] / belt.m_E, r[2] / belt.J_E)
    set_columns(minus(w, d), find.u, i, 0)
    limit = max(FRICTION_RTOL / steepest, 0.1 * VELOCITY_ATOL)
    return 0.0 if d[0] * d[0] + d[1] * d[1] + d[2] * d[2] * (belt.J_E / belt.m_E) < limit * limit else 1.0


@inlined
def _on(belt, law, dt, fl, i, at):
    """`at` after a Newton step."""
    d, _ = _newton_step(belt, law, dt, 0.0, 1.0, fl, i, at)
    return _gone(belt, fl, i, at, d)


@compiled
def _approach(belt, law, dt, u, f, fl, find, first, behind):
    """Velocities `find.u` of elements at a pulley by a few Newton steps; how many are not exact, with `find.far` set.

    The first guess is the velocity before the step, turned with the sheave.
    """
    far = 0.0
    for i in range(first, behind):
        w = moved(columns(u, i, 0), dt, (fl.v[i, 0, 3], fl.v[i, 0, 4], 0.0))
        slip, r = begin(belt, dt, u, f, fl, i, w)
        # written out: a loop of this length within keeps the compiler from vectorising the outer one
        at = _on(belt, law, dt, fl, i, (w, slip, r))
        at = _on(belt, law, dt, fl, i, at)
        at = _on(belt, law, dt, fl, i, at)
        missed = _conclude(belt, law, dt, fl, find, i, at, at[0])
        set_columns(at[0], find.trial, i, 0)
        find.far[i] = missed
        far += missed
    return far


@compiled
def solve(belt, law, dt, u, f, fl, find):
    """Velocities `find.u` of all elements after the step `dt`, in balance with the friction `fl.T` of their flanks.

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
        From `contact_points` and `normal_forces`; slip, T written.
    find : Search
        Written.
    """
    free = (dt / belt.m_E, dt / belt.m_E, dt / belt.J_E)
    n = np.uint64(fl.pulley.size)
    for k in range(fl.n_stretch[0]):
        first, behind = fl.stretch[k, 0], fl.stretch[k, 1]
        if fl.at[k] < 0:
            for i in range(first, behind):
                set_columns(plus(columns(u, i, 0), scaled(free, columns(f, i, 0))), find.u, i, 0)
        elif _approach(belt, law, dt, u, f, fl, find, first, whole(first, behind, n)) > 0.0:
            for i in range(first, behind):
                if find.far[i] > 0.0:
                    _settle(belt, law, dt, u, f, fl, find, i)


@compiled
def mobilities(belt, law, dt, fl, inverse):
    """Change of the velocity of an element by an impulse while its flanks rub. Call `solve` first.

    Parameters
    ----------
    belt, law, dt, fl : as for `solve`
    inverse : ndarray, shape (N_E, 6)
        Written: entries 00, 01, 02, 11, 12, 22 of the symmetric matrix d u/d(impulse) [1/kg, 1/(kg m), 1/(kg m^2)].
    """
    for i in range(inverse.shape[0]):
        A = (belt.m_E, 0.0, 0.0, belt.m_E, 0.0, belt.J_E)
        if fl.pulley[i] >= 0:
            for p in range(len(fl.points)):
                A, _ = _add_slope(law, 2.0 * dt, 0.0, 1.0, fl, i, p, load(fl.slip, i, p), A, (0.0, 0.0, 0.0))
        A = inverse_of(A)
        set_columns((A[0], A[1], A[2]), inverse, i, 0)
        set_columns((A[3], A[4], A[5]), inverse, i, 3)


@compiled
def ahead(belt, dt, u, f, f_R, rub, fl, end):
    """Velocities `end` (N_E, 3) after the step `dt` under the forces f + f_R, the flanks' normal forces and `rub`, the
    flanks' friction of the last step; all (N_E, 3)."""
    free = (dt / belt.m_E, dt / belt.m_E, dt / belt.J_E)
    for i in range(u.shape[0]):
        F = plus(plus(columns(f, i, 0), columns(f_R, i, 0)), columns(rub, i, 0))
        for p in range(len(fl.points)):
            F = moved(F, 2.0 * fl.N[i, p], wrench(load(fl.arm, i, p), load(fl.n, i, p)))
        set_columns(plus(columns(u, i, 0), scaled(free, F)), end, i, 0)


@compiled
def velocities(belt, law, dt, el, f, s, fl, find, rub, reaction, power):
    """Replace `el.u` by the velocities after the step `dt`, with the forces `f` and all flank forces.

    Parameters
    ----------
    belt : Belt
    law
        Law of friction (`friction`).
    dt : float
        Step [s].
    el : Elements
    f : ndarray, shape (N_E, 3)
        Generalised forces of all other contacts [N, N m].
    s : ndarray, shape (2, 4)
        Sheave positions; their velocities at the contacts are in `fl`.
    fl, find : Flanks, Search
        Contact points, from `contact_points` and `normal_forces`; slip, T, force written.
    rub : ndarray, shape (N_E, 3)
        Written: friction of the two flanks on each element [N, N, N m].
    reaction, power : ndarray, shape (2, 4), (2, 3)
        Written: as `add_works` has them, power of the two flanks.
    """
    solve(belt, law, dt, el.u, f, fl, find)
    zero(rub)
    zero(reaction)
    zero(power)
    add_works(belt, el, s, find.u, fl, rub, reaction, power)
    for pulley in range(2):
        for a in range(3):
            power[pulley, a] *= 2.0
    copy(find.u, el.u)


@compiled
def energy(belt, fl):
    """Energy stored in both flanks of all planar elements, or twice that of one side [J]; the deflected sheaves are in
    `maxwell.energy`."""
    n_E, n_p = fl.pen.shape
    c = belt.c_el / n_p
    total = 0.0
    for i in range(n_E):
        for p in range(n_p):
            if fl.pulley[i] >= 0 and fl.pen[i, p] > fl.w[i, p]:
                total += c * (fl.pen[i, p] - fl.w[i, p]) ** 2
    return total
