"""Contacts between neighbouring elements (Cebulla 2014, sections 3.2.2 and 6.1.2, eqs. 6.4-6.9).

Element j = i + 1 runs in front of element i. Six contacts, all unilateral, flexible and without friction, in the
frame of j, where the rear side is the line x = -t_S:

    rocking edge   arc of i (radius r_R, tangent to its front at the height h_R, falling back below), rear side of j
    top, bottom    point of i at (t_T - t_S, h_T - h_S), (t_B - t_S, -h_S), and rear side of j
    pin-hole 1, 2  E_1, E_2 = (t_P - t_S, h_H - h_S +- r_P2), tip of the pin of i, and hole of j above, below
    pin-hole 3     E_3 = (-t_S, h_H - h_S - r_H1), mouth of the hole of j, and pin of i below

    n_1 = (-sin a, -cos a), n_2 = (-sin a, cos a), tan a = (r_H1 - r_H2)/t_H       normals (6.5), (6.6) of the hole
    n_3 = (sin b, -cos b),  tan b = (r_P1 - r_P2)/(t_P - t_R)                      normal (6.7) of the pin

    f = max(0, -k g - d g')   if g < 0, else 0

Between elements that lean forward (phi_j < phi_i, in the arcs) the arc touches at its centre plus r_R x_j and rolls; if
they lean backward (cat's back) the edge itself touches, and the top. The radius must shrink with N_E/N_E0 and the taper
t_R - t_B grow with N_E0/N_E, as in `parameters.belt`: a belt of fewer elements leans more at each joint, and
with unscaled values it rolls off too far or jams at the bottom.

The work of damping in a step is the wrench of a joint's dampers times dt and the mean of its twist before and
after the step. The twist after the step is evaluated in the next one, at a place moved by u dt.

Closing and opening. The work of a spring is the trapezoidal rule of its force, which is its potential while it stays
closed. A contact that closes within a step, from the gap g_0 > 0 to g < 0, needs k |g| g_0/2 more than it stores, one
that opens gives that much more back (`switching`). Contacts close faster than they open: the rest, of second order in
the step, is a loss, and is added to that of the dampers.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.vectors import add_columns, columns, dot, plus, set_columns

_BEARS = 1.07  # measured at LOW of the source: slip is right at 1.07 of the bound, a point off at 1.14
CONTACTS = ("rocking", "top", "bottom", "pin_1", "pin_2", "pin_3")


class Joint(NamedTuple):
    """One joint of the belt for the kernels: points of an element in its own frame [m], SI units."""

    N_E: int
    x_rear: float  # rear side
    r_R: float
    x_R: float  # rocking edge
    y_R: float
    x_T: float
    y_T: float
    x_B: float
    y_B: float
    x_P: float  # tip of the pin
    y_P1: float  # above and below
    y_P2: float
    y_H1: float  # mouth of the hole, on the rear side
    y_H2: float
    sin_a: float
    cos_a: float
    x_L: float  # base of the pin, below
    y_L: float
    sin_b: float
    cos_b: float
    k_R: float
    d_R: float
    k_T: float
    d_T: float
    k_B: float
    d_B: float
    k_PH: float
    d_PH: float
    z_R: float  # in space: half the distance of the two rocking edges
    y_H: float  # axis of pin and hole
    r_P1: float
    r_P2: float
    r_H1: float


_SAME = ("N_E", "r_R", "r_P1", "r_P2", "r_H1", "k_R", "d_R", "k_T", "d_T", "k_B", "d_B", "k_PH", "d_PH")  # as in `Belt`


def joint(belt: Belt) -> Joint:
    """The joints of a belt: points and normals (6.4)-(6.9)."""
    a = np.arctan2(belt.r_H1 - belt.r_H2, belt.t_H)
    b = np.arctan2(belt.r_P1 - belt.r_P2, belt.t_P - belt.t_R)
    y_H = belt.h_H - belt.h_S
    return Joint(
        **{name: getattr(belt, name) for name in _SAME},
        x_rear=-belt.t_S,
        x_R=belt.t_R - belt.t_S,
        x_L=belt.t_R - belt.t_S,
        y_R=belt.h_R - belt.h_S,
        z_R=0.0,
        x_T=belt.t_T - belt.t_S,
        y_T=belt.h_T - belt.h_S,
        x_B=belt.t_B - belt.t_S,
        y_B=-belt.h_S,
        x_P=belt.t_P - belt.t_S,
        y_H=y_H,
        y_P1=y_H + belt.r_P2,
        y_P2=y_H - belt.r_P2,
        y_H1=y_H + belt.r_H1,
        y_H2=y_H - belt.r_H1,
        y_L=y_H - belt.r_P1,
        sin_a=float(np.sin(a)),
        cos_a=float(np.cos(a)),
        sin_b=float(np.sin(b)),
        cos_b=float(np.cos(b)),
    )


def largest_step(belt: Belt) -> float:
    """Largest step [s] of a chain that is pressed straight: neighbours swing against each other on rocking edges and
    tops, or bottoms.

    A mode with the spring c and the damper d, both by its mass, is stable while c dt^2 + 2 d dt < 1.
    """
    found = []
    for of, y in (("T", belt.h_T), ("B", 0.0)):
        arms = np.array([[belt.m_E**-0.5, (h - belt.h_S) * belt.J_E**-0.5] for h in (belt.h_R, y)])
        c, d = (arms.T * [getattr(belt, f"{k}_R"), getattr(belt, f"{k}_{of}")] @ arms for k in "kd")
        mode = np.linalg.eigh(c)[1][:, -1]
        k, damped = mode @ c @ mode, mode @ d @ mode
        found.append(float((np.sqrt(damped**2 + k) - damped) / k))
    return _BEARS * min(found)


@inlined
def switching(k: float, g: float, rate: float, dt: float) -> float:
    """Energy [J] put into a spring k without being stored if it came to the gap `g` through zero within the step `dt`.

    Positive when it closes, negative when it opens; `rate` of the gap on the way.
    """
    before = g - dt * rate
    return 0.5 * k * abs(g) * before if before * g < 0.0 else 0.0


@inlined
def gaps(J: Joint, dx: float, dy: float, c: float, s: float) -> Any:
    """Gaps and contact points of one joint in the frame of j.

    Parameters
    ----------
    J : Joint
    dx, dy : centre of i in the frame of j [m]
    c, s : cosine and sine of phi_i - phi_j

    Returns
    -------
    g_R, g_T, g_B, g_1, g_2, g_3 : gaps [m], negative when closed
    y_R, y_T, y_B : height of the three contact points on the rear side of j [m]
    x_1, y_1, x_2, y_2 : tip of the pin [m]
    """
    arc = J.r_R if s >= 0.0 else 0.0
    x = J.x_R - arc
    g_R = J.x_rear - (dx + c * x - s * J.y_R + arc)
    y_R = dy + s * x + c * J.y_R
    g_T = J.x_rear - (dx + c * J.x_T - s * J.y_T)
    y_T = dy + s * J.x_T + c * J.y_T
    g_B = J.x_rear - (dx + c * J.x_B - s * J.y_B)
    y_B = dy + s * J.x_B + c * J.y_B
    xc = dx + c * J.x_P
    yc = dy + s * J.x_P
    x_1 = xc - s * J.y_P1
    y_1 = yc + c * J.y_P1
    x_2 = xc - s * J.y_P2
    y_2 = yc + c * J.y_P2
    g_1 = -(x_1 - J.x_rear) * J.sin_a - (y_1 - J.y_H1) * J.cos_a
    g_2 = -(x_2 - J.x_rear) * J.sin_a + (y_2 - J.y_H2) * J.cos_a
    # the mouth of the hole, seen from i
    ex = J.x_rear - dx
    ey = J.y_H2 - dy
    g_3 = (c * ex + s * ey - J.x_L) * J.sin_b - (c * ey - s * ex - J.y_L) * J.cos_b
    return g_R, g_T, g_B, g_1, g_2, g_3, y_R, y_T, y_B, x_1, y_1, x_2, y_2


@inlined
def _contact(k: float, d: float, g: float, rate: float, dt: float) -> Any:
    """Force of a contact [N], its damper's part of it, and the loss by closing or opening within the step [J]."""
    f = -k * g - d * rate
    f = f if g < 0.0 and f > 0.0 else 0.0
    return f, f + k * g if g < 0.0 else 0.0, switching(k, g, rate, dt)


@inlined
def relative(q: Any, cs: Any, sn: Any, i: int, j: int) -> Any:
    """Centre of element i in the frame of j [m], cosine and sine of phi_i - phi_j."""
    rx = q[i, 0] - q[j, 0]
    ry = q[i, 1] - q[j, 1]
    dx, dy = cs[j] * rx + sn[j] * ry, cs[j] * ry - sn[j] * rx
    return dx, dy, cs[i] * cs[j] + sn[i] * sn[j], sn[i] * cs[j] - cs[i] * sn[j]


@compiled
def _pairs(q: Any, u: Any, cs: Any, sn: Any, first: Any, behind: Any, other: Any, pair: Any) -> None:
    """Elements i from `first` up to `behind` in the frames of j from `other` on (unsigned): rows of `pair`.

    The twist of i against j is such that its velocity at the point p of the frame of j is (ax - om p_y, ay + om p_x).
    """
    for i in range(first, behind):
        j = i - first + other
        dx, dy, c, s = relative(q, cs, sn, i, j)
        cj, sj = cs[j], sn[j]
        vx = u[i, 0] - u[j, 0]
        vy = u[i, 1] - u[j, 1]
        wi = u[i, 2]
        pair[i, 0], pair[i, 1], pair[i, 2], pair[i, 3] = dx, dy, c, s
        pair[i, 4] = cj * vx + sj * vy + wi * dy
        pair[i, 5] = cj * vy - sj * vx - wi * dx
        pair[i, 6] = wi - u[j, 2]
        pair[i, 7], pair[i, 8] = cj, sj


@compiled
def joint_forces(
    J: Joint, q: Any, u: Any, cs: Any, sn: Any, f: Any, N: Any, damper: Any, pair: Any, wrench: Any, dt: float
) -> float:
    """Add the forces of all joints to `f`.

    Parameters
    ----------
    J : Joint
    q, u : (N_E, 3) position x, y, phi and velocity of the elements; cs, sn : (N_E) cosine and sine of phi
    f : (N_E, 3) force [N, N, N m] in the inertial frame, moment about the centre of gravity; added to
    N : (N_E, 6), written: contact forces between i and i + 1 [N], in the order of `CONTACTS`
    damper : (N_E, 6) of the last step: force and moment of a joint's dampers and their twist, both at the
        centre of j in its frame; updated
    pair, wrench : (N_E, 9), (N_E, 4) scratch
    dt : step [s]

    Returns
    -------
    float : loss of the dampers in the last step, and that of closing and opening [J]
    """
    last = J.N_E - 1
    _pairs(q, u, cs, sn, np.uint64(0), np.uint64(last), np.uint64(1), pair)
    _pairs(q, u, cs, sn, np.uint64(last), np.uint64(J.N_E), np.uint64(0), pair)
    work = _wrenches(J, N, damper, pair, wrench, dt)
    add_columns((-wrench[last, 0], -wrench[last, 1], -wrench[last, 3]), f, 0, 0)
    for i in range(1, J.N_E):
        add_columns((-wrench[i - 1, 0], -wrench[i - 1, 1], -wrench[i - 1, 3]), f, i, 0)
    for i in range(J.N_E):
        add_columns(columns(wrench, i, 0), f, i, 0)
    return work


@inlined
def _total(J: Joint, n_3: Any, y: Any, arm: Any, f: Any) -> Any:
    """Force and moment at the centre of j of the forces f of all contacts; n_3, y, arm as in `_wrenches`."""
    F_x = -(f[0] + f[1] + f[2]) - J.sin_a * (f[3] + f[4]) - n_3[0] * f[5]
    F_y = J.cos_a * (f[4] - f[3]) - n_3[1] * f[5]
    return F_x, F_y, dot(y, (f[0], f[1], f[2])) + dot(arm, (f[3], f[4], f[5]))


@compiled
def _wrenches(J: Joint, N: Any, damper: Any, pair: Any, wrench: Any, dt: float) -> float:
    """From `pair` the forces N, dampers, and the wrench: force and moments on i and, reversed, on i + 1; see
    `joint_forces`, of which it is the middle part."""
    work = 0.0
    half = 0.5 * dt
    for i in range(J.N_E):
        dx, dy, c, s = pair[i, 0], pair[i, 1], pair[i, 2], pair[i, 3]
        ax, ay, om = pair[i, 4], pair[i, 5], pair[i, 6]
        g_R, g_T, g_B, g_1, g_2, g_3, y_R, y_T, y_B, x_1, y_1, x_2, y_2 = gaps(J, dx, dy, c, s)
        n_3 = (c * J.sin_b + s * J.cos_b, s * J.sin_b - c * J.cos_b)
        arm_1 = J.sin_a * y_1 - J.cos_a * x_1
        arm_2 = J.sin_a * y_2 + J.cos_a * x_2
        arm_3 = n_3[0] * J.y_H2 - n_3[1] * J.x_rear
        f_R, d_R, w_R = _contact(J.k_R, J.d_R, g_R, om * y_R - ax, dt)
        f_T, d_T, w_T = _contact(J.k_T, J.d_T, g_T, om * y_T - ax, dt)
        f_B, d_B, w_B = _contact(J.k_B, J.d_B, g_B, om * y_B - ax, dt)
        f_1, d_1, w_1 = _contact(J.k_PH, J.d_PH, g_1, arm_1 * om - J.sin_a * ax - J.cos_a * ay, dt)
        f_2, d_2, w_2 = _contact(J.k_PH, J.d_PH, g_2, arm_2 * om - J.sin_a * ax + J.cos_a * ay, dt)
        f_3, d_3, w_3 = _contact(J.k_PH, J.d_PH, g_3, arm_3 * om - n_3[0] * ax - n_3[1] * ay, dt)
        twist = (ax, ay, om)
        lost = half * dot(columns(damper, i, 0), plus(columns(damper, i, 3), twist))
        work += w_R + w_T + w_B + w_1 + w_2 + w_3 - lost
        set_columns((f_R, f_T, f_B), N, i, 0)
        set_columns((f_1, f_2, f_3), N, i, 3)
        y, arm = (y_R, y_T, y_B), (arm_1, arm_2, arm_3)
        set_columns(_total(J, n_3, y, arm, (d_R, d_T, d_B, d_1, d_2, d_3)), damper, i, 0)
        set_columns(twist, damper, i, 3)
        Fx, Fy, M = _total(J, n_3, y, arm, (f_R, f_T, f_B, f_1, f_2, f_3))
        cj, sj = pair[i, 7], pair[i, 8]
        set_columns((cj * Fx - sj * Fy, sj * Fx + cj * Fy, M - dx * Fy + dy * Fx), wrench, i, 0)
        wrench[i, 3] = M
    return work


@compiled
def joint_energy(J: Joint, q: Any, cs: Any, sn: Any) -> float:
    """Energy stored in all joints [J] at positions q (N_E, 3)."""
    energy = 0.0
    for i in range(J.N_E):
        j = i + 1 if i + 1 < J.N_E else 0
        dx, dy, c, s = relative(q, cs, sn, i, j)
        g = gaps(J, dx, dy, c, s)
        energy += J.k_R * min(g[0], 0.0) ** 2 + J.k_T * min(g[1], 0.0) ** 2 + J.k_B * min(g[2], 0.0) ** 2
        energy += J.k_PH * (min(g[3], 0.0) ** 2 + min(g[4], 0.0) ** 2 + min(g[5], 0.0) ** 2)
    return 0.5 * energy
