"""Contacts of the elements with one ring set in space (Cebulla 2014, sections 3.2.2 and 5.1).

One side at a time, in the mirrored view of `element`: z is positive outwards. The ring's neutral fibre has the planar
frame t, n, b = e_z and, from `lateral`, its place z_r, slope z' along the arc and the roll alpha of its section. At the
place s nearest in the plane to the element's saddle (or ear), with P the point of the saddle's line at the lateral
place z_s = z_r -+ alpha h/2 of the ring's inner (outer) surface,

    saddle   g = (r - P).n - h/2,     ear   g = (P - r).n - h/2,     m = n.R e_z/R_zz slope of the saddle's line
    pillar   g = z_r - w_R/2 - (z of the pillar's plane at r)

    crown    g = g + c^2/(2 R_c) - eta (alpha + m),   c = R_c (alpha + m),   eta = c - x

f_n = max(0, -k g - d g'). A bilateral saddle has f_n = -k g - d g' of either sign, and no ear; it is flat. The flat
saddle touches the ring at the middle of its width, as in the source, whatever its roll. A crowned saddle, of radius R_c
across the travel, touches where both slopes are equal, eta from the ring's middle and c from the saddle's, but not
beyond the edges of either: it rotates the ring's section, and the section's bending on the pulley (`lateral`) moves the
ring laterally. x is the ring's offset from the saddle's middle; `tracking` is the source's
law over it, instead of a crown. Both are chosen by numbers: R_c = 0 is flat, F = 0 without tracking.

All forces derive from their potentials: a lateral force F_z has the component -F_z z' along the ring, which slides
lengthwise past the element.

Friction acts in the surface, along t and across, with one coefficient. It is that of the slip v at the end of the step,
sought as in the planar `element_ring`: the step is first taken with the friction f_0 of the step before, and from the
slips v_0 at its end

    c = v_0 - G f_0,    s = c + G f,    f = -mu_R |f_n| s/sqrt(s^2 + v_muR^2)

one proximal step leads to f, along c and in the cone at all times. G = dt W is at least the change of the slips at a
side by one unit of friction at all its contacts within the step, in any direction.

With constant forces (`lead`, `pushbelt.element_ring`) the gap's rate and the springs are extrapolated as there.

Forces on the two bodies act at the same point. Works are recorded from each force and its own velocity, the mean of two
steps; switching as in `element_element`. Loops over all saddles are without a branch, on copies of the ring's rows;
ears and pillars, of which few are closed, follow one by one.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.element_element import switching
from rtcvt.offline.pushbelt.contact.element_ring import proximal, wrapped
from rtcvt.offline.pushbelt.contact.elements import frame_of
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.ring.ring import INV, N_LOAD, N_RATE, N_SHAPE, Ring, point, push, velocity
from rtcvt.offline.pushbelt.spatial.element import Side
from rtcvt.offline.pushbelt.spatial.tracking import Tracking, tracking_energy, tracking_force
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.vectors import (
    add,
    add_columns,
    columns,
    cross,
    dot,
    minus,
    mirrored,
    moved,
    plus,
    set_columns,
    store_motion,
    straight,
    times,
    zero,
)

Array = NDArray[np.float64]

_NEAR = 5.0e-6  # [m]
_SADDLE, _EAR = -1.0, 1.0  # the gap opens along -n, along n
# Of the last step, of saddle and ear: friction along and across, slips, damper, rate of the gap; damper, rate: of the
# pillar
MEMORY = 14
_OF_EAR, _OF_PILLAR = 6, 12
# Columns of `Touch.at`: tangent, point from the centre of gravity (three), slope and roll of the ring, Theta.n, change
# of the gap with the lateral place of the surface, place across from the ring's middle, gap, deflection
T_X, T_Y, ARM, _, _, SLOPE, ROLL, BETA, ACROSS, ETA, GAP, W = range(12)
# Columns of `Touch.seen`: next place, gap of the ear (roughly) and of the pillar, offset from the saddle's middle
PLACE, EAR, PILLAR, OFF = range(4)
# Columns of `Touch.force`: normal, friction along and across, slips, damper, rate of the gap, tracking
PRESS, RUB_T, RUB_L, V_T, V_L, DAMPER, RATE, HOLD = range(8)


class Guide(NamedTuple):
    """Saddle, ear and pillar of one side in the element's frame [m]; one ring set; SI units.

    z_S: middle of the saddle, half_S: half its width; z_P: pillar; half_R: half the ring's width; crown: radius of the
    saddle across the travel, 0: flat; W: inverse mass against friction, W_E: the part that elements have in it; k_P,
    d_P: pillar; bilateral: the saddle acts on the ring in both directions.
    """

    N_E: int
    x: float
    y_S: float
    y_E: float
    z_S: float
    half_S: float
    z_P: float
    half_R: float
    crown: float
    tracking: Tracking
    W: float
    W_E: float
    k: float
    d: float
    k_P: float
    d_P: float
    mu: float
    v_mu: float
    bilateral: bool


class Strip(NamedTuple):
    """One ring set as contacts see it: its rows (`ring`); across its plane coordinates, rates and forces (N_B, 3) of
    `lateral`, in the view of the side. Loads are added to."""

    ring: Ring
    shape: Any
    rate: Any
    load: Any
    q_L: Any
    u_L: Any
    F_L: Any


@declared
class Touch(NamedTuple):
    """Scratch of the contacts of one side, at saddles or at ears; at, seen, force by the columns above."""

    k: Annotated[NDArray[np.int64], ("N_E",), "1", "finite element of the ring"]
    xi: Annotated[Array, ("N_E",), "1", "place in it"]
    shape: Annotated[Array, ("N_E", N_SHAPE), "m, rad", "its row"]
    rate: Annotated[Array, ("N_E", N_RATE), "m/s, rad/s", "its row"]
    load: Annotated[Array, ("N_E", N_LOAD), "N, N m", "load of the contact on its row"]
    across: Annotated[Array, ("N_E", 4), "m, rad", "z of the ring, its step to the next node, Theta_x, Theta_y"]
    turning: Annotated[Array, ("N_E", 3), "m/s, rad/s", "rates of z, Theta_x, Theta_y"]
    at: Annotated[Array, ("N_E", 12), "SI", "place"]
    seen: Annotated[Array, ("N_E", 4), "SI", "motion"]
    force: Annotated[Array, ("N_E", 8), "SI", "forces"]
    works: Annotated[Array, ("N_E", 2), "J", "of friction, of damper and switching"]
    give: Annotated[Array, ("N_E", 6), "N, N m", "to the ring: F_x, F_y, moment on the section, F_z, T_x, T_y"]
    wrench: Annotated[Array, ("N_E", 6), "N, N m", "to the element, in the order of its velocities"]


def touch(N_E: int) -> Touch:
    """Scratch for so many elements."""
    return zeros(Touch, {"N_E": N_E})


def guide(
    belt: Belt, R: Ring, *, w_S: float, w_P: float, w_R: float, crown: float, law: Tracking, W: float, W_E: float,
    k_P: float, bilateral: bool = False,
) -> Guide:  # fmt: skip
    """One side's saddle, ear and pillar.

    Parameters
    ----------
    belt, R : Belt, Ring
        The belt as a whole; one ring set.
    w_S, w_P, w_R : float
        Widths of the two saddles together with the pillar, of the pillar, of one ring set [m].
    crown : float
        Radius [m], 0 for a flat saddle.
    law : Tracking
    W : float
        Largest inverse mass against friction at one side's contacts [1/kg].
    W_E : float
        The part of W that elements have.
    k_P : float
        Stiffness of the pillar [N/m]; its damping has the ratio of the saddle's.
    bilateral : bool
        A saddle that acts on the ring in both directions, without an ear.
    """
    return Guide(
        N_E=belt.N_E,
        x=0.5 * belt.t_R - belt.t_S,
        y_S=belt.h_P - belt.h_S,
        y_E=belt.h_E - belt.h_S,
        z_S=0.25 * (w_S + w_P),
        half_S=0.25 * (w_S - w_P),
        z_P=0.5 * w_P,
        half_R=0.5 * w_R,
        crown=crown,
        tracking=law,
        W=W,
        W_E=W_E,
        k=0.5 * belt.k_S,
        d=0.5 * belt.d_S,
        k_P=k_P,
        d_P=0.5 * belt.d_S * float(np.sqrt(k_P / (0.5 * belt.k_S))),
        mu=belt.mu_R,
        v_mu=belt.v_muR,
        bilateral=bilateral,
    )


# --- the ring at an element


@inlined
def _between(N_B: int, k: int, xi: float) -> Any:
    """Finite elements between whose middles `xi` of k lies, and the share of the second."""
    if xi < 0.5:
        return k - 1 if k > 0 else N_B - 1, k, xi + 0.5
    return k, k + 1 if k + 1 < N_B else 0, xi - 0.5


@inlined
def _across(a: Any, N_B: int, k: int, xi: float) -> Any:
    """Lateral coordinates or rates `a` (N_B, 3) at `xi` of finite element k: z, its step to the next node, Theta_x,
    Theta_y."""
    j = k + 1 if k + 1 < N_B else 0
    m, n, share = _between(N_B, k, xi)
    step = a[j, 0] - a[k, 0]
    return a[k, 0] + xi * step, step, a[m, 1] + share * (a[n, 1] - a[m, 1]), a[m, 2] + share * (a[n, 2] - a[m, 2])


@inlined
def _position(b: Strip, place: float, at: Touch, i: int) -> None:
    """Rows of the ring at `place`."""
    k = int(place)
    at.k[i] = k
    at.xi[i] = place - k
    for c in range(N_SHAPE):
        at.shape[i, c] = b.shape[k, c]
    z, step, turn_x, turn_y = _across(b.q_L, b.ring.N_B, k, place - k)
    at.across[i, 0], at.across[i, 1], at.across[i, 2], at.across[i, 3] = z, step, turn_x, turn_y


@inlined
def _rates(b: Strip, at: Touch, i: int) -> None:
    """Rates of the rows of the ring."""
    k = at.k[i]
    for c in range(N_RATE):
        at.rate[i, c] = b.rate[k, c]
    z, _, turn_x, turn_y = _across(b.u_L, b.ring.N_B, k, at.xi[i])
    set_columns((z, turn_x, turn_y), at.turning, i, 0)


@inlined
def _load(b: Strip, at: Touch, i: int) -> None:
    """Load the ring with the force of the contact of element i."""
    F_L = b.F_L
    k = at.k[i]
    xi = at.xi[i]
    for c in range(N_LOAD):
        b.load[k, c] += at.load[i, c]
    j = k + 1 if k + 1 < b.ring.N_B else 0
    m, n, share = _between(b.ring.N_B, k, xi)
    F_z = at.give[i, 3]
    T_x = at.give[i, 4]
    T_y = at.give[i, 5]
    F_L[k, 0] += (1.0 - xi) * F_z
    F_L[j, 0] += xi * F_z
    F_L[m, 1] += (1.0 - share) * T_x
    F_L[m, 2] += (1.0 - share) * T_y
    F_L[n, 1] += share * T_x
    F_L[n, 2] += share * T_y


@inlined
def _push(at: Touch, i: int) -> None:
    """Load of the row of element i, which is zero before, from `at.give`."""
    push(at.shape, at.load, i, at.xi[i], at.at[i, W], at.give[i, 0], at.give[i, 1], at.give[i, 2])


# --- one contact


@inlined
def _twist(el: Side, i: int) -> Any:
    """Velocity and angular velocity of element i in the inertial directions, in the view of a side."""
    _, to_x, to_y, to_z = frame_of(el, i)
    turn = plus(moved(times(el.sigma * el.u[i, 4], to_x), el.sigma * el.u[i, 5], to_y), times(el.u[i, 2], to_z))
    return mirrored(el.sigma, straight(el.u, i)), turn


@inlined
def _gap(p: Guide, side: float, h: float, e_n: float, m: float, roll: float, x: float) -> Any:
    """Gap of saddle or ear, its derivative with the lateral place of the surface, and eta."""
    if side == _EAR:
        return e_n - h, m, 0.0
    g = -e_n + h
    if p.crown == 0.0:
        return g, -m, 0.0
    lean = roll + m
    low = max(-p.half_S, x - p.half_R)
    high = min(p.half_S, x + p.half_R)
    c = p.crown * lean
    across = roll
    if c > high:
        across = roll if high == p.half_S else high / p.crown - m
        c = high
    elif c < low:
        across = roll if low == -p.half_S else low / p.crown - m
        c = low
    eta = c - x
    return g + 0.5 * c * c / p.crown - eta * lean, across, eta


@inlined
def _meet(p: Guide, R: Ring, side: float, el: Side, at: Touch, i: int) -> None:
    """Where saddle or ear of element i meets the row of the ring: `at.at`, `at.seen`."""
    centre, to_x, to_y, to_z = frame_of(el, i)
    upright = 1.0 / to_z[2]
    h = side * R.h2
    y = p.y_E if side == _EAR else p.y_S
    r_x, r_y, g_x, g_y, w, _ = point(at.shape, i, at.xi[i])
    inv = 1.0 / np.sqrt(g_x * g_x + g_y * g_y)
    t_x = g_x * inv
    t_y = g_y * inv
    n_x = -t_y
    n_y = t_x
    z_r = at.across[i, 0]
    roll = at.across[i, 2] * t_x + at.across[i, 3] * t_y
    # the point of the element's line at the lateral place of the ring's surface
    zeta = (z_r + h * roll - centre[2] - to_x[2] * p.x - to_y[2] * y) * upright
    e_x, e_y, _ = moved(moved(moved(centre, p.x, to_x), y, to_y), zeta, to_z)
    e_x -= r_x
    e_y -= r_y
    e_n = e_x * n_x + e_y * n_y
    m = (n_x * to_z[0] + n_y * to_z[1]) * upright
    g, across, eta = _gap(p, side, h, e_n, m, roll, zeta - p.z_S)
    at.at[i, T_X] = t_x
    at.at[i, T_Y] = t_y
    set_columns(minus((r_x + h * n_x, r_y + h * n_y, z_r + h * roll + eta), centre), at.at, i, ARM)
    at.at[i, SLOPE] = at.across[i, 1] * at.shape[i, INV]
    at.at[i, ROLL] = roll
    at.at[i, BETA] = at.across[i, 3] * t_x - at.across[i, 2] * t_y
    set_columns((across, eta, g), at.at, i, ACROSS)
    at.at[i, W] = w
    at.seen[i, PLACE] = wrapped(at.k[i] + at.xi[i] + (e_x * t_x + e_y * t_y) * inv, R.N_B)
    at.seen[i, EAR] = e_n + (p.y_E - p.y_S) * (to_y[0] * n_x + to_y[1] * n_y) - R.h2
    lean = to_z[0] * (r_x - centre[0]) + to_z[1] * (r_y - centre[1])
    at.seen[i, PILLAR] = z_r - p.half_R - centre[2] - (p.z_P - lean) * upright
    at.seen[i, OFF] = zeta - p.z_S


@inlined
def _slip(R: Ring, side: float, el: Side, at: Touch, i: int) -> Any:
    """Velocity of the element against the ring's surface: along, across, rate of the gap, and its change per second of
    lead by the rotation of the ring."""
    v, o = _twist(el, i)
    h = side * R.h2
    t_x = at.at[i, T_X]
    t_y = at.at[i, T_Y]
    across = at.at[i, ACROSS]
    eta = at.at[i, ETA]
    w_x, w_y, omega = velocity(at.shape, at.rate, i, at.xi[i], at.at[i, W])
    turn_x = at.turning[i, 1]
    turn_y = at.turning[i, 2]
    roll_d = turn_x * t_x + turn_y * t_y + omega * at.at[i, BETA]
    v = plus(v, cross(o, columns(at.at, i, ARM)))
    d_x, d_y, d_z = minus(v, (w_x, w_y, at.turning[i, 0] + h * roll_d))
    v_t = d_x * t_x + d_y * t_y + h * omega - eta * (turn_y * t_x - turn_x * t_y - omega * at.at[i, ROLL])
    v_n = d_y * t_x - d_x * t_y + eta * roll_d
    gap_rate = side * v_n - across * (d_z - at.at[i, SLOPE] * v_t)
    return v_t, d_z + side * across * v_n, gap_rate, side * omega * (v[0] * t_x + v[1] * t_y)


@inlined
def _press(
    p: Guide, R: Ring, side: float, el: Side, at: Touch, i: int, memory: Any, o: int, dt: float, lead: float
) -> None:
    """Force of a contact, with the friction of the last step; `o`: its first column of `memory`."""
    v_t, v_l, gap_rate, turning = _slip(R, side, el, at, i)
    gap_rate += lead * turning
    g = at.at[i, GAP]
    f_n = -p.k * g - (p.d + lead * p.k) * gap_rate
    closed = p.bilateral or g < 0.0
    f_n = f_n if p.bilateral or (g < 0.0 and f_n > 0.0) else 0.0
    f_t = memory[i, o]
    f_l = memory[i, o + 1]
    lost_t = f_t * (memory[i, o + 2] + v_t) + f_l * (memory[i, o + 3] + v_l)
    lost_n = memory[i, o + 4] * (memory[i, o + 5] + gap_rate)
    at.works[i, 0] = -0.5 * dt * lost_t
    at.works[i, 1] = (0.0 if p.bilateral else switching(p.k, g, gap_rate, dt)) - 0.5 * dt * lost_n
    most = p.mu * abs(f_n)
    held = np.sqrt(f_t * f_t + f_l * f_l)
    share = most / held if held > most else 1.0
    set_columns((f_n, share * f_t, share * f_l), at.force, i, PRESS)
    set_columns((v_t, v_l, f_n + p.k * g if closed else 0.0), at.force, i, V_T)
    at.force[i, RATE] = gap_rate


@inlined
def _remember(at: Touch, i: int, memory: Any, o: int) -> None:
    """Write the data of a contact for the next step, except its friction."""
    set_columns(columns(at.force, i, V_T), memory, i, o + 2)
    memory[i, o + 5] = at.force[i, RATE]


@inlined
def _give(R: Ring, side: float, el: Side, at: Touch, i: int, f_n: float, f_t: float, f_l: float, hold: float) -> None:
    """Forces of a contact on the element, `at.wrench`, and on the ring, `at.give`; hold: of tracking, inwards."""
    h = side * R.h2
    across = at.at[i, ACROSS]
    slope = at.at[i, SLOPE]
    eta = at.at[i, ETA]
    t_x = at.at[i, T_X]
    t_y = at.at[i, T_Y]
    # on the element, along n, b and t
    E_n = side * (f_n + across * f_l)
    E_z = f_l - across * f_n - hold
    E_t = f_t + slope * (across * f_n + hold)
    F_x = E_t * t_x - E_n * t_y
    F_y = E_n * t_x + E_t * t_y
    # on the ring, h n + eta b from the fibre
    T_t = eta * E_n - h * E_z
    T_n = -eta * E_t
    set_columns((-F_x, -F_y, h * E_t + T_t * at.at[i, BETA] - T_n * at.at[i, ROLL]), at.give, i, 0)
    set_columns((-E_z, T_t * t_x - T_n * t_y, T_t * t_y + T_n * t_x), at.give, i, 3)
    _on_element(el, columns(at.at, i, ARM), (F_x, F_y, E_z), 0.0, at, i)


@inlined
def _on_element(el: Side, arm: Any, F: Any, M: float, at: Touch, i: int) -> None:
    """`at.wrench` from a force at `arm` and a moment about b."""
    _, to_x, to_y, to_z = frame_of(el, i)
    M_x, M_y, M_z = cross(arm, F)
    turn = (M_x, M_y, M_z + M)
    o = (el.sigma * dot(to_x, turn), el.sigma * dot(to_y, turn), dot(to_z, turn))
    store_motion(mirrored(el.sigma, F), o, at.wrench, i)


@inlined
def _hand_over(b: Strip, at: Touch, i: int, f: Any) -> None:
    """Forces of one contact, `at.give` and `at.wrench`, to ring and element."""
    at.load[i] = 0.0
    _push(at, i)
    _load(b, at, i)
    add_columns(columns(at.wrench, i, 0), f, i, 0)
    add_columns(columns(at.wrench, i, 3), f, i, 3)


# --- all contacts


@compiled
def _saddles(
    p: Guide, R: Ring, el: Side, at: Touch, f: Any, N: Any, memory: Any, dt: float, lead: float
) -> Any:  # fmt: skip
    """Contacts of all saddles and tracking, their loads on the ring in `at`; works of friction and of dampers."""
    n = np.uint64(p.N_E)
    lost_t = 0.0
    lost_n = 0.0
    for i in range(n):
        _meet(p, R, _SADDLE, el, at, i)
    for i in range(n):
        at.force[i, HOLD] = tracking_force(p.tracking, at.seen[i, OFF]) / el.R[i, 8]
    for i in range(n):
        _press(p, R, _SADDLE, el, at, i, memory, 0, dt, lead)
    for i in range(n):
        f_n = at.force[i, PRESS]
        _give(R, _SADDLE, el, at, i, f_n, at.force[i, RUB_T], at.force[i, RUB_L], at.force[i, HOLD])
    zero(at.load)
    for i in range(n):
        _push(at, i)
    add(at.wrench, f)
    for i in range(n):
        lost_t += at.works[i, 0]
        lost_n += at.works[i, 1]
    for i in range(n):
        _remember(at, i, memory, 0)
    for i in range(n):
        N[i, 0] = at.force[i, PRESS]
        N[i, 1] = 0.0
        N[i, 4] = 0.0
        N[i, 5] = -at.force[i, HOLD]
    return lost_t, lost_n


@compiled
def _pillar(p: Guide, R: Ring, el: Side, at: Touch, i: int, memory: Any, dt: float, lead: float) -> Any:
    """Force of the pillar of element i on the ring [N] and works of damper and switching [J]; `at.give`, `at.wrench`.

    Across it acts in the height of the fibre, along in that of the saddle's surface.
    """
    _, _, _, to_z = frame_of(el, i)
    v, o = _twist(el, i)
    h = -R.h2
    t_x = at.at[i, T_X]
    t_y = at.at[i, T_Y]
    n_x = -t_y
    n_y = t_x
    low = minus(columns(at.at, i, ARM), (0.0, 0.0, h * at.at[i, ROLL] + at.at[i, ETA]))
    up = minus(low, (h * n_x, h * n_y, 0.0))
    slope = at.at[i, SLOPE]
    m = (n_x * to_z[0] + n_y * to_z[1]) / to_z[2]
    g = at.seen[i, PILLAR]
    w_x, w_y, omega = velocity(at.shape, at.rate, i, at.xi[i], at.at[i, W])
    v = minus(v, (w_x, w_y, at.turning[i, 0]))
    d = plus(v, cross(o, low))
    along = d[0] * t_x + d[1] * t_y + h * omega
    d = plus(v, cross(o, up))
    gap_rate = slope * along - m * (d[0] * n_x + d[1] * n_y) - d[2]
    f_n = -p.k_P * g - (p.d_P + lead * p.k_P) * gap_rate
    f_n = f_n if g < 0.0 and f_n > 0.0 else 0.0
    lost = switching(p.k_P, g, gap_rate, dt)
    lost -= 0.5 * dt * memory[i, _OF_PILLAR] * (memory[i, _OF_PILLAR + 1] + gap_rate)
    memory[i, _OF_PILLAR] = f_n + p.k_P * g if g < 0.0 else 0.0
    memory[i, _OF_PILLAR + 1] = gap_rate
    F = times(f_n, (slope * t_x - m * n_x, slope * t_y - m * n_y, -1.0))
    set_columns((-F[0], -F[1], h * slope * f_n), at.give, i, 0)
    set_columns((f_n, 0.0, 0.0), at.give, i, 3)
    _on_element(el, up, F, -h * slope * f_n, at, i)
    return f_n, lost


@compiled
def ring_forces(
    p: Guide, b: Strip, el: Side, s_R: Any, f: Any, N: Any, memory: Any, at: Touch, ear: Touch, dt: float,
    lead: float = 0.0,
) -> Any:  # fmt: skip
    """Saddle, ear and pillar of every element with the ring of one side, with the friction of the last step.

    Parameters
    ----------
    p, b, el : Guide, Strip, Side
    s_R : (N_E) arc coordinate of the saddle's projection [finite elements]; updated
    f : (N_E, 6) forces on the elements as in `joint`; added to
    N : (N_E, 6), written but for friction: saddle, ear, friction along, friction across (outwards), pillar, tracking,
        on the element [N]
    memory : (N_E, MEMORY) of the last step; updated but for friction
    at, ear : Touch of saddles and ears; written for `ring_friction`
    dt, lead : step, and the time by which forces are extrapolated [s]: 0 if the ring steps with the elements

    Returns
    -------
    float, float : loss of friction in the last step, and that of dampers and switching [J]
    """
    for i in range(p.N_E):
        _position(b, s_R[i], at, i)
        _rates(b, at, i)
    lost_t, lost_n = _saddles(p, b.ring, el, at, f, N, memory, dt, lead)
    for i in range(p.N_E):
        s_R[i] = at.seen[i, PLACE]
        _load(b, at, i)
    for i in range(p.N_E):
        if at.seen[i, PILLAR] < 0.0 or memory[i, _OF_PILLAR] != 0.0:
            N[i, 4], lost = _pillar(p, b.ring, el, at, i, memory, dt, lead)
            lost_n += lost
            _hand_over(b, at, i, f)
        ear.force[i, PRESS] = 0.0
        if p.bilateral:
            continue
        if at.seen[i, EAR] < _NEAR or memory[i, _OF_EAR] != 0.0 or memory[i, _OF_EAR + 4] != 0.0:
            # once more, for it is not where the saddle is
            _position(b, s_R[i], ear, i)
            _meet(p, b.ring, _EAR, el, ear, i)
            _position(b, ear.seen[i, PLACE], ear, i)
            _rates(b, ear, i)
            _meet(p, b.ring, _EAR, el, ear, i)
            _press(p, b.ring, _EAR, el, ear, i, memory, _OF_EAR, dt, lead)
            _remember(ear, i, memory, _OF_EAR)
            N[i, 1] = ear.force[i, PRESS]
            _give(b.ring, _EAR, el, ear, i, N[i, 1], ear.force[i, RUB_T], ear.force[i, RUB_L], 0.0)
            _hand_over(b, ear, i, f)
            lost_t += ear.works[i, 0]
            lost_n += ear.works[i, 1]
    return lost_t, lost_n


@inlined
def _rub(p: Guide, R: Ring, side: float, el: Side, at: Touch, i: int, G: float) -> None:
    """Friction of a contact, in `at.seen`, and its changes `at.give` and `at.wrench`."""
    v_t, v_l, _, _ = _slip(R, side, el, at, i)
    f_t = at.force[i, RUB_T]
    f_l = at.force[i, RUB_L]
    c_t = v_t - G * f_t
    c_l = v_l - G * f_l
    c = np.sqrt(c_t * c_t + c_l * c_l)
    f = proximal(p.mu * abs(at.force[i, PRESS]), G, p.v_mu, c)
    share = -f / c if c > 0.0 else 0.0
    at.seen[i, 0] = share * c_t
    at.seen[i, 1] = share * c_l
    _give(R, side, el, at, i, 0.0, share * c_t - f_t, share * c_l - f_l, 0.0)


@compiled
def ring_friction(
    p: Guide, b: Strip, el: Side, f: Any, N: Any, memory: Any, at: Touch, ear: Touch, G: float
) -> None:  # fmt: skip
    """Friction of all contacts of one side: from that of the last step, as left by `ring_forces`, to that of this step.

    Parameters
    ----------
    b, el : velocities of ring and elements are those at the end of the step, with the friction of the last step
    f : the change by friction is added, as to the loads of b
    N : its columns of friction are written; memory : its friction is written
    G : largest change of slips by one unit of friction [m/s/N]: dt W, in the multirate scheme with more of W_E

    Others as for `ring_forces`.
    """
    n = np.uint64(p.N_E)
    for i in range(p.N_E):
        _rates(b, at, i)
    for i in range(n):
        _rub(p, b.ring, _SADDLE, el, at, i, G)
    zero(at.load)
    for i in range(n):
        _push(at, i)
    add(at.wrench, f)
    for c in range(2):
        for i in range(n):
            memory[i, c] = at.seen[i, c]
            N[i, 2 + c] = at.seen[i, c]
            memory[i, _OF_EAR + c] = 0.0
    for i in range(p.N_E):
        if at.force[i, PRESS] != 0.0:
            _load(b, at, i)
        if ear.force[i, PRESS] > 0.0:
            _rates(b, ear, i)
            _rub(p, b.ring, _EAR, el, ear, i, G)
            _hand_over(b, ear, i, f)
            for c in range(2):
                memory[i, _OF_EAR + c] = ear.seen[i, c]
                N[i, 2 + c] += ear.seen[i, c]


@compiled
def ring_energy(p: Guide, b: Strip, el: Side, s_R: Any, at: Touch) -> float:
    """Energy stored in saddle, ear, pillar and tracking of one side [J]; arguments as for `ring_forces`."""
    energy = 0.0
    for i in range(p.N_E):
        place = s_R[i]
        for _ in range(3):
            _position(b, place, at, i)
            _meet(p, b.ring, _SADDLE, el, at, i)
            place = at.seen[i, PLACE]
        energy += 0.5 * p.k * (at.at[i, GAP] if p.bilateral else min(at.at[i, GAP], 0.0)) ** 2
        energy += 0.5 * p.k_P * min(at.seen[i, PILLAR], 0.0) ** 2 + tracking_energy(p.tracking, at.seen[i, OFF])
        if p.bilateral:
            continue
        place = s_R[i]
        for _ in range(3):
            _position(b, place, at, i)
            _meet(p, b.ring, _EAR, el, at, i)
            place = at.seen[i, PLACE]
        energy += 0.5 * p.k * min(at.at[i, GAP], 0.0) ** 2
    return energy
