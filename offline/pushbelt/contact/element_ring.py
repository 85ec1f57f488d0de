"""Contacts of the elements with the ring set (Cebulla 2014, sections 5.1.1 and 6.1.2, eqs. 5.1, 5.2, 6.10).

The ring's neutral fibre r(s) has the unit tangent t in the direction of travel and the outward normal n; the set is
h_ring high. Saddle R_S and ear R_E of an element meet its inner and outer side:

    R_S = (t_R/2 - t_S, h_P - h_S),     g_S = (r - R_S).n - h_ring/2
    R_E = (t_R/2 - t_S, h_E - h_S),     g_E = (R_E - r).n - h_ring/2

both where r(s) is nearest: (R - r).t = 0, one Newton step per contact and time step from the last place.

    unilateral    f_n = max(0, -k g - d g') at a closed contact (saddle, or ear), else 0      (ring-ear play)
    bilateral     f_n = -k g - d g' at the saddle, of either sign
    friction      f_t = -mu_R |f_n| v_t/sqrt(v_t^2 + v_muR^2)                                 along t

with the relative velocity v_t of the surfaces, the ring's section rotation included: of a plane section, or of the
innermost and the outermost of its layers where these slide on each other (`layers`). Both bodies are loaded at the same
point, the ring's surface: no force or moment is lost.

Friction is implicit: its v_t is that at the end of the step. All closed contacts oppose it together, through the nearly
banded matrix D of their inverse masses. The step is first taken with the friction f_0 of the step before, which ends
with the slips v_0; one proximal step leads from there to f,

    s = v_0 + G (f - f_0),    f = -mu_R |f_n| s/sqrt(s^2 + v_muR^2),    G = dt (n_R W_E + W_R) >= D dt

for each contact alone, W_E and W_R the inverse mass of an element and the largest that the ring opposes. Where slip and
forces do not change, f = f_0 and s = v_0: the law is satisfied exactly, at every step size. f is in the cone at all
times.

Held forces. In the multirate scheme (`planar.model`) elements take steps dt and the ring n_R shorter ones h within,
under the forces of the contacts from the last dt. Chord velocities of elements then belong to a time (dt - h)/2 before
those of the ring. On a ring that turns with omega this is a normal velocity `lead` omega u.t, lead = (dt - h)/2, which
the gap rate includes; else the dampers would do work on it. Springs are extrapolated by `lead`, f_n = -k g - (d + lead
k) g', since a constant force acts late by as much and would add energy. Constant friction acts on the ring's axial
waves as well, which pass within dt; with elements that sway against each other it may excite them. G then contains the
element n_R times: all such pairs of waves are damped (`tests/offline/pushbelt/test_element_ring.py`).

Largest step. A point of inverse mass W under f = -k g - (d + lead k) g', constant over dt while n_R steps move it, is
stable for any n_R while

    k dt^2 + 2 d dt < 4/W

With more pieces W grows, since less of the ring is under a saddle. Beyond this step saddles excite the pieces' bending,
and its damping dissipates that energy: the works are recorded, the balance is violated. W is that of the straight, free
ring; for friction, bending and the neighbours the share `_SAFE` of this step is used (`largest_step`).

Work. The works of friction and damper are their force times the mean of the slip and of the gap's rate before and after
the step, which are evaluated in the next one; a spring that closes or opens within a step as in `element_element`.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import by_law, compiled, inlined, spliced
from rtcvt.offline.pushbelt.contact.element_element import switching
from rtcvt.offline.pushbelt.contact.elements import Elements, carried, frame_of, wrench
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.ring.ring import (
    INV,
    N_LOAD,
    N_RATE,
    N_SHAPE,
    Ring,
    X,
    normal_mobility,
    point,
    push,
    velocity,
)
from rtcvt.offline.pushbelt.ring.ring_set import mobility
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.vectors import add_columns, columns, minus, moved, set_columns, zero

Array = NDArray[np.float64]

_NEAR = 5.0e-6  # [m]
_SAFE = 0.85  # measured: 208 pieces keep their energy at 0.86 of the bound, not at 0.92; 156 at 0.90, not at 0.99
_FAST = 5.0  # [m/s]; saddle and ring do not approach faster
N_MEMORY = 11
# Columns of the memory, of saddle and, `EAR` further on, of the ear in the last step: friction, slip speed, energy of
# the spring, force of the damper, rate of the gap. The last: how far [m] an open saddle is from the nearer of the two
FRICTION, SLIP, STORED, DAMPER, RATE = range(5)
EAR, _LEFT = 5, 10
# Columns of `Touch.force`: normal force, place, deflection, force on the element, tangent, lever
NORMAL, XI, W, F_X, F_Y, T_X, T_Y, A_X, A_Y = range(9)


class Saddle(NamedTuple):
    """Saddle and ear of an element for the kernels: points in the element's frame [m], SI units."""

    N_E: int
    x: float
    y_S: float
    y_E: float
    x_mid: float  # between the pulleys
    W_E: float  # inverse mass of an element against friction [1/kg]
    W_R: float  # largest of the ring
    k: float
    d: float
    mu: float
    v_mu: float
    plane: float = 1.0  # share of the section's own rotation in that of the surface: 1, or 1/n of n layers


class Unilateral(Saddle):
    """Saddle and ear with play."""


class Bilateral(Saddle):
    """A saddle that acts on the ring in both directions."""


class Band(NamedTuple):
    """The ring as contacts see it: rows of shape and rate, loads that are added to; (N_B, 11), (N_B, 9), (N_B, 9)."""

    ring: Any
    shape: Any
    rate: Any
    load: Any


class Place(NamedTuple):
    """A place of the ring: finite element k, place xi in it, deflection w [m], neutral fibre r_x, r_y [m], tangent t_x,
    t_y."""

    k: Any
    xi: Any
    w: Any
    r_x: Any
    r_y: Any
    t_x: Any
    t_y: Any


class Foot(NamedTuple):
    """One Newton step for the place of the ring that is nearest to a point.

    s: the new arc coordinate in [0, N_B) [finite elements]; at: the place of before; e_n, e_t: the point from the fibre
    there, along n and t [m].
    """

    s: Any
    e_n: Any
    e_t: Any
    at: Place


class Step(NamedTuple):
    """dt, and the time by which forces are extrapolated [s]."""

    dt: float
    lead: float


class Gap(NamedTuple):
    """Of saddle or ear: first column of the memory, distance h of the ring's surface from the fibre (saddle: < 0) [m],
    gap [m], whether it is closed, whether the normal force may pull."""

    first: Any
    h: Any
    gap: Any
    closed: Any
    both: Any


class Met(NamedTuple):
    """A contact.

    f_n, f_t: normal force, friction [N]; v_t: slip [m/s]; stored: energy of the spring [J]; f_d: force of the damper
    [N]; rate: of the gap [m/s]; F: force and moment on the element [N, N m]; a: from its centre of gravity [m]; lost:
    works of friction and damper [J].
    """

    f_n: Any
    f_t: Any
    v_t: Any
    stored: Any
    f_d: Any
    rate: Any
    F: Any
    a: Any
    lost_t: Any
    lost_n: Any


@declared
class Touch(NamedTuple):
    """Scratch, of saddles by default."""

    k: Annotated[NDArray[np.int64], ("N_E",), "1", "finite element of the ring"]
    shape: Annotated[Array, ("N_E", N_SHAPE), "m, rad", "its row"]
    rate: Annotated[Array, ("N_E", N_RATE), "m/s, rad/s", "its row"]
    load: Annotated[Array, ("N_E", N_LOAD), "N, N m", "load of the saddle on its row"]
    force: Annotated[Array, ("N_E", 9), "SI", "normal, place, deflection, force on the element, tangent, lever"]
    memory: Annotated[Array, ("N_E", EAR), "SI", "new columns of the memory"]
    ear: Annotated[Array, ("N_E",), "m", "gap of the ear, roughly, or inf"]
    left: Annotated[Array, ("N_E",), "m", "new last column of the memory"]
    works: Annotated[Array, ("N_E", 3), "J", "of friction, of the damper, gain of the spring"]
    k_ear: Annotated[NDArray[np.int64], ("N_E",), "1", "finite element at a closed ear"]
    at_ear: Annotated[Array, ("N_E", 9), "SI", "as `force`, of a closed ear"]
    turn: Annotated[Array, (1,), "rad/s", "round run of the layers before the step"]
    pressed: Annotated[Array, ("N_E",), "N", "force that presses the layers together"]
    omega: Annotated[Array, ("N_E",), "rad/s", "rotation of the ring's section"]
    moment: Annotated[Array, ("N_E",), "N m", "of the layers' friction"]


def touch(N_E: int) -> Touch:
    """Scratch for so many elements."""
    return zeros(Touch, {"N_E": N_E})


def saddle(belt: Belt, R: Ring, sliding: int = 0) -> Saddle:
    """Saddle and ear of the elements of a belt on its ring: points (6.10); layers of a set that slide on each other."""
    y_S = belt.h_P - belt.h_S
    plane, round_run = 1.0, 0.0
    if sliding:  # all saddles together turn the layers, of inertia m_R t_L^2 (n^2 - 1)/12
        plane = 1.0 / sliding
        square = (0.5 * (sliding - 1.0)) ** 2
        round_run = belt.N_E * square * 12.0 / (belt.rhoA * belt.l_R * (sliding**2 - 1.0))
    return Saddle(
        N_E=belt.N_E,
        x=0.5 * belt.t_R - belt.t_S,
        y_S=y_S,
        y_E=belt.h_E - belt.h_S,
        x_mid=0.5 * belt.d_A,
        W_E=1.0 / belt.m_E + y_S**2 / belt.J_E,
        W_R=mobility(R, belt.N_E) + round_run,
        k=belt.k_S,
        d=belt.d_S,
        mu=belt.mu_R,
        v_mu=belt.v_muR,
        plane=plane,
    )


def largest_step(belt: Belt, R: Ring) -> float:
    """Largest stable step dt [s] of a belt with saddles on a beam, for any number of steps of the ring."""
    x = 0.5 * belt.t_R - belt.t_S
    W = normal_mobility(R, belt.N_E) + 1.0 / belt.m_E + x**2 / belt.J_E
    return _SAFE * float((np.sqrt(belt.d_S**2 + 4.0 * belt.k_S / W) - belt.d_S) / belt.k_S)


@inlined
def wrapped(s: float, N_B: int) -> float:
    """Arc coordinate `s` brought back into [0, N_B); 0 if it is not a number."""
    if s >= N_B:
        s -= N_B
    elif s < 0.0:
        s += N_B
    return s if 0.0 <= s < N_B else 0.0


def around(s: Array, N_B: int) -> Array:
    """Arc coordinates brought back into [0, N_B): numpy's remainder of a tiny negative number is N_B itself."""
    return np.asarray(np.mod(np.mod(s, N_B), N_B))


@inlined
def _nearest(shape: Any, row: int, s: float, xi: float, N_B: int, x: float, y: float) -> Foot:
    """`project` from the place `xi` in the finite element of row `row`."""
    r_x, r_y, g_x, g_y, w, _ = point(shape, row, xi)
    inv = 1.0 / np.sqrt(g_x * g_x + g_y * g_y)
    t_x = g_x * inv
    t_y = g_y * inv
    e_x = x - r_x
    e_y = y - r_y
    e_t = e_x * t_x + e_y * t_y
    at = Place(row, xi, w, r_x, r_y, t_x, t_y)
    return Foot(wrapped(s + e_t * inv, N_B), e_y * t_x - e_x * t_y, e_t, at)


@inlined
def project(R: Ring, shape: Any, s: float, x: float, y: float) -> Foot:
    """One Newton step for the point of the ring that is nearest to (x, y), from arc coordinate `s` (`wrapped`)."""
    s = wrapped(s, R.N_B)
    k = int(s)
    return _nearest(shape, k, s, s - k, R.N_B, x, y)


@inlined
def foot_of(band: Band, el: Elements, i: int, x: float, y: float, s: float) -> Foot:
    """`project` of the point (x, y) of element i."""
    centre, to_x, to_y, _ = frame_of(el, i)
    at = moved(moved(centre, x, to_x), y, to_y)
    return project(band.ring, band.shape, s, at[0], at[1])


@inlined
def shared(own: Any, beyond: bool, value: float) -> Any:
    """The sums `own` on the ring beyond the middle between the pulleys and before, with a further value."""
    return own[0] + (value if beyond else 0.0), own[1] + (0.0 if beyond else value)


@inlined
def _contact(
    p: Saddle, shape: Any, rate: Any, memory: Any, now: Step, i: int, gap: Gap, el: Elements, at: Place, turn: float
) -> Met:
    """Force of one contact of element i at the ring's surface r + h n, with the friction of the last step; `turn`:
    round run of the layers before the step [rad/s]."""
    n_x = -at.t_y
    n_y = at.t_x
    a = (at.r_x + gap.h * n_x - el.q[i, 0], at.r_y + gap.h * n_y - el.q[i, 1])
    w_x, w_y, omega = velocity(shape, rate, at.k, at.xi, at.w)
    v_x, v_y, _ = minus(carried(columns(el.u, i, 0), a), (w_x, w_y, 0.0))
    side = 1.0 if gap.h > 0.0 else -1.0  # the gap opens along side n
    gap_rate = side * (v_x * n_x + v_y * n_y + now.lead * omega * (el.u[i, 0] * at.t_x + el.u[i, 1] * at.t_y))
    v_t = v_x * at.t_x + v_y * at.t_y + gap.h * (p.plane * omega + (1.0 - p.plane) * turn)
    o = gap.first
    lost_t = -0.5 * now.dt * memory[i, o] * (memory[i, o + SLIP] + v_t)
    lost_n = -0.5 * now.dt * memory[i, o + DAMPER] * (memory[i, o + RATE] + gap_rate)
    lost_n += 0.0 if gap.both else switching(p.k, gap.gap, gap_rate, now.dt)
    f_n = -p.k * gap.gap - (p.d + p.k * now.lead) * gap_rate
    f_n = f_n if gap.closed and (gap.both or f_n > 0.0) else 0.0
    most = p.mu * abs(f_n)
    f_t = min(max(memory[i, o], -most), most)
    F_x = side * f_n * n_x + f_t * at.t_x
    F_y = side * f_n * n_y + f_t * at.t_y
    stored = 0.5 * p.k * gap.gap * gap.gap if gap.closed else 0.0
    f_d = f_n + p.k * gap.gap if gap.closed else 0.0
    return Met(f_n, f_t, v_t, stored, f_d, gap_rate, wrench(a, (F_x, F_y)), a, lost_t, lost_n)


@inlined
def _note(met: Met, at: Place, i: int, memory: Any, o: int, force: Any) -> None:
    """Write the data of a contact for the next step and friction: columns of a memory from `o` on, and `force`."""
    set_columns((met.f_t, met.v_t, met.stored), memory, i, o + FRICTION)
    memory[i, o + DAMPER] = met.f_d
    memory[i, o + RATE] = met.rate
    set_columns((met.f_n, at.xi, at.w), force, i, NORMAL)
    set_columns((met.F[0], met.F[1], at.t_x), force, i, F_X)
    set_columns((at.t_y, met.a[0], met.a[1]), force, i, T_Y)


@inlined
def proximal(most: float, G: float, v_mu: float, y: float) -> float:
    """Friction f [N] of x + `G` f = `y`, f = `most` x/sqrt(x^2 + v_mu^2), all at least 0; by Halley's method, from
    below."""
    b = G * most
    e2 = v_mu * v_mu
    x = max(y * v_mu / (v_mu + b), y - b)
    for _ in range(4):
        inverse = 1.0 / np.sqrt(x * x + e2)
        square = inverse * inverse
        rise = b * e2 * (inverse * square)
        value = x + b * (x * inverse) - y
        slope = 1.0 + rise
        x -= 2.0 * value * slope / (2.0 * slope * slope + 3.0 * value * rise * (x * square))
    return most * x / np.sqrt(x * x + e2)


@inlined
def _rubbed(p: Saddle, G: float, f_n: float, f_0: float, v: float) -> float:
    """Friction f [N] at the end of a step: f = -mu |f_n| s/sqrt(s^2 + v_mu^2) with the slip s = `v` + G (f - `f_0`)
    [m/s].

    `v` is the slip that the friction `f_0` of the step before leads to, G [s/kg] the mobility of the contact.
    """
    c = v - G * f_0
    f = proximal(p.mu * abs(f_n), G, p.v_mu, abs(c))
    return -f if c > 0.0 else f


@compiled
def _rows_of(N_E: int, s_R: Any, band: Band, memory: Any, stride: float, at: Touch) -> None:
    """Copy `shape` and `rate` of the ring to all saddles that may be closed; others keep theirs. Clear the loads."""
    for i in range(N_E):
        if memory[i, _LEFT] > stride and at.shape[i, INV] > 0.0:
            continue
        k = int(s_R[i])
        at.k[i] = k
        for a in range(N_SHAPE):
            at.shape[i, a] = band.shape[k, a]
        for a in range(N_RATE):
            at.rate[i, a] = band.rate[k, a]
    zero(at.load)


@spliced
def _load_ring(load: Any, at: Touch, i: int) -> None:
    """Add the load of the saddle of element i to its row of the ring."""
    k = at.k[i]
    for a in range(N_LOAD):
        load[k, a] += at.load[i, a]


@compiled
def _saddles(
    p: Saddle, R: Ring, el: Elements, s_R: Any, at: Touch, f: Any, N: Any, memory: Any, now: Step, stride: float,
    both: bool,
) -> Any:  # fmt: skip
    """Contacts of all saddles, their loads on the ring in `at`; returns works of friction and dampers, and these with
    the energy gain of the springs, of the two halves (a pair).

    `memory` is written after the loop, so that the compiler need not prove that columns differ.
    """
    h2 = R.h2
    rise = p.y_E - p.y_S
    turn = at.turn[0]
    lost_t = 0.0
    lost_n = 0.0
    own = (0.0, 0.0)
    for i in range(np.uint64(p.N_E)):
        left = memory[i, _LEFT] - stride
        apart = left > 0.0
        c = el.cs[i]
        s = el.sn[i]
        x = el.q[i, 0] + c * p.x - s * p.y_S
        y = el.q[i, 1] + s * p.x + c * p.y_S
        place = s_R[i]
        foot = _nearest(at.shape, i, place, place - int(place), R.N_B, x, y)
        gap = -foot.e_n - h2
        closed = (both or gap < 0.0) and not apart
        met = _contact(p, at.shape, at.rate, memory, now, i, Gap(0, -h2, gap, closed, both), el, foot.at, turn)
        at.works[i, 0] = met.lost_t
        at.works[i, 1] = 0.0 if apart else met.lost_n
        at.works[i, 2] = met.stored - memory[i, STORED]
        s_R[i] = place if apart else foot.s
        # the ear's gap at the saddle's place on the ring; its own differs by less than a micrometre
        ear = foot.e_n + rise * (c * foot.at.t_x + s * foot.at.t_y) - h2
        free = min(gap, ear) - _NEAR
        at.ear[i] = np.inf if apart else ear
        add_columns(met.F, f, i, 0)
        at.left[i] = left if apart else (free if free > 0.0 and memory[i, STORED] == 0.0 and not both else 0.0)
        _note(met, foot.at, i, at.memory, 0, at.force)
    for i in range(p.N_E):
        lost_t += at.works[i, 0]
        lost_n += at.works[i, 1]
        own = shared(own, at.shape[i, X] > p.x_mid, at.works[i, 0] + at.works[i, 1] + at.works[i, 2])
    for a in range(EAR):
        for i in range(p.N_E):
            memory[i, a] = at.memory[i, a]
    for i in range(p.N_E):
        memory[i, _LEFT] = at.left[i]
    for i in range(np.uint64(p.N_E)):
        N[i, 0] = at.force[i, NORMAL]
        N[i, 1] = 0.0
    lever = -h2 * p.plane
    for i in range(np.uint64(p.N_E)):
        push(
            at.shape, at.load, i, at.force[i, XI], at.force[i, W], -at.force[i, F_X], -at.force[i, F_Y],
            lever * memory[i, FRICTION],
        )  # fmt: skip
    return lost_t, lost_n, own


@by_law
def saddle_forces(
    law: Saddle, band: Band, el: Elements, s_R: Any, f: Any, N: Any, memory: Any, at: Touch, dt: float, lead: float
) -> Any:
    """Forces of the elements' contacts with the ring, with the friction of the last step.

    Parameters
    ----------
    law, band, el : Unilateral or Bilateral, Band, Elements
    s_R : (N_E) arc coordinate of the saddle's projection [finite elements]; updated
    f : (N_E, 3) forces on the elements; added to
    N : (N_E, 3), written but for the last: normal force of the saddle, of the ear [N]
    memory : (N_E, N_MEMORY) of the last step; updated
    at : Touch; written for `saddle_friction`
    dt, lead : step, and the time by which forces are extrapolated [s]: 0 if the ring steps with the elements

    Returns
    -------
    float, float, (float, float) : losses [J] of friction and dampers in the last step; their sum with the energy gain
        of the springs, at the primary and at the secondary
    """


@saddle_forces.of(Unilateral)
@compiled
def _unilateral(
    p: Saddle, band: Band, el: Elements, s_R: Any, f: Any, N: Any, memory: Any, at: Touch, dt: float, lead: float
) -> Any:
    """An element between saddle and ear stays open, with its old row of the ring, until the nearer of the two
    could have been reached."""
    h2 = band.ring.h2
    stride = _FAST * dt
    now = Step(dt, lead)
    _rows_of(p.N_E, s_R, band, memory, stride, at)
    lost_t, lost_n, own = _saddles(p, band.ring, el, s_R, at, f, N, memory, now, stride, False)
    for i in range(p.N_E):
        if memory[i, STORED] != 0.0:
            _load_ring(band.load, at, i)
        if at.ear[i] < _NEAR or memory[i, EAR + STORED] != 0.0:
            x = el.q[i, 0] + el.cs[i] * p.x - el.sn[i] * p.y_E
            y = el.q[i, 1] + el.sn[i] * p.x + el.cs[i] * p.y_E
            s_E = project(band.ring, band.shape, s_R[i], x, y).s
            foot = project(band.ring, band.shape, s_E, x, y)
            gap = foot.e_n - h2
            here = Gap(EAR, h2, gap, gap < 0.0, False)
            met = _contact(p, band.shape, band.rate, memory, now, i, here, el, foot.at, at.turn[0])
            lost_t += met.lost_t
            lost_n += met.lost_n
            value = met.lost_t + met.lost_n + met.stored - memory[i, EAR + STORED]
            own = shared(own, foot.at.r_x > p.x_mid, value)
            push(band.shape, band.load, foot.at.k, foot.at.xi, foot.at.w, -met.F[0], -met.F[1], met.f_t * h2 * p.plane)
            add_columns(met.F, f, i, 0)
            _note(met, foot.at, i, memory, EAR, at.at_ear)
            N[i, 1] = met.f_n
            at.k_ear[i] = foot.at.k
    return lost_t, lost_n, own


@saddle_forces.of(Bilateral)
@compiled
def _bilateral(
    p: Saddle, band: Band, el: Elements, s_R: Any, f: Any, N: Any, memory: Any, at: Touch, dt: float, lead: float
) -> Any:
    _rows_of(p.N_E, s_R, band, memory, np.inf, at)
    works = _saddles(p, band.ring, el, s_R, at, f, N, memory, Step(dt, lead), np.inf, True)
    for i in range(p.N_E):
        _load_ring(band.load, at, i)
    return works


@by_law
def saddle_friction(law: Saddle, band: Band, u: Any, f: Any, N: Any, memory: Any, at: Touch, G: float) -> None:
    """Friction of all contacts with the ring: from that of the last step, as left by `saddle_forces`, to that of this
    step.

    Parameters
    ----------
    law, band : Unilateral or Bilateral, Band
        Rates of the ring are those at the end of the step, with the friction of the last step.
    u : (N_E, 3) velocities of the elements then
    f : (N_E, 3) forces on the elements; the change by friction is added, as to the loads on the ring
    N : (N_E, 3); its last column written: friction on the element along the travel [N]
    memory : (N_E, N_MEMORY); its friction is written
    at : Touch of `saddle_forces`
    G : inverse mass times the step [s/kg]
    """


@inlined
def _rub(p: Saddle, shape: Any, rate: Any, k: int, at: Any, i: int, h: float, turn: float, u: Any, f_0: float,
         f_n: float, G: float) -> Any:  # fmt: skip
    """Friction of a contact that `at` describes by the columns of `Touch.force`, and the change on the element."""
    t_x, t_y, a = at[i, T_X], at[i, T_Y], (at[i, A_X], at[i, A_Y])
    w_x, w_y, omega = velocity(shape, rate, k, at[i, XI], at[i, W])
    v_x, v_y, _ = carried(columns(u, i, 0), a)
    v = (v_x - w_x) * t_x + (v_y - w_y) * t_y + h * (p.plane * omega + (1.0 - p.plane) * turn)
    f_t = _rubbed(p, G, f_n, f_0, v)
    return f_t, wrench(a, ((f_t - f_0) * t_x, (f_t - f_0) * t_y))


@saddle_friction.of(Unilateral, Bilateral)
@compiled
def _friction(p: Saddle, band: Band, u: Any, f: Any, N: Any, memory: Any, at: Touch, G: float) -> None:
    h2 = band.ring.h2
    turn = at.turn[0]
    for i in range(p.N_E):
        if at.force[i, NORMAL] != 0.0:
            k = at.k[i]
            for a in range(N_RATE):
                at.rate[i, a] = band.rate[k, a]
    zero(at.load)
    for i in range(np.uint64(p.N_E)):
        f_0 = at.memory[i, FRICTION]
        f_t, F = _rub(p, at.shape, at.rate, i, at.force, i, -h2, turn, u, f_0, at.force[i, NORMAL], G)
        at.force[i, F_X] = F[0]
        at.force[i, F_Y] = F[1]
        add_columns(F, f, i, 0)
        at.memory[i, SLIP] = f_t - f_0
        N[i, 2] = f_t
    for i in range(np.uint64(p.N_E)):
        M = -h2 * p.plane * at.memory[i, SLIP]
        push(at.shape, at.load, i, at.force[i, XI], at.force[i, W], -at.force[i, F_X], -at.force[i, F_Y], M)
    for i in range(p.N_E):
        memory[i, FRICTION] = N[i, 2]
        if at.force[i, NORMAL] != 0.0:
            _load_ring(band.load, at, i)
        if N[i, 1] > 0.0:
            k, on, f_0 = at.k_ear[i], at.at_ear, memory[i, EAR]
            f_t, F = _rub(p, band.shape, band.rate, k, on, i, h2, turn, u, f_0, N[i, 1], G)
            push(band.shape, band.load, k, on[i, XI], on[i, W], -F[0], -F[1], h2 * p.plane * (f_t - f_0))
            add_columns(F, f, i, 0)
            memory[i, EAR] = f_t
            N[i, 2] += f_t


@by_law
def saddle_energy(law: Saddle, band: Band, el: Elements, s_R: Any) -> Any:
    """Energy stored in all contacts with the ring [J]; arguments as for `saddle_forces`."""


@saddle_energy.of(Unilateral)
@compiled
def _unilateral_energy(p: Saddle, band: Band, el: Elements, s_R: Any) -> float:
    energy = 0.0
    half = 0.5 * (p.y_E - p.y_S) - band.ring.h2
    for i in range(p.N_E):
        gap = -foot_of(band, el, i, p.x, p.y_S, s_R[i]).e_n - band.ring.h2
        energy += min(gap, 0.0) ** 2
        if gap > half:
            foot = foot_of(band, el, i, p.x, p.y_E, foot_of(band, el, i, p.x, p.y_E, s_R[i]).s)
            energy += min(foot.e_n - band.ring.h2, 0.0) ** 2
    return 0.5 * p.k * energy


@saddle_energy.of(Bilateral)
@compiled
def _bilateral_energy(p: Saddle, band: Band, el: Elements, s_R: Any) -> float:
    energy = 0.0
    for i in range(p.N_E):
        energy += (-foot_of(band, el, i, p.x, p.y_S, s_R[i]).e_n - band.ring.h2) ** 2
    return 0.5 * p.k * energy
