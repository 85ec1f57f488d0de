"""Contacts of the elements with the ring set (Cebulla 2014, sections 5.1.1 and 6.1.2, eqs. 5.1, 5.2, 6.10).

The ring's neutral fibre r(s) has the unit tangent t in the direction of travel and the outward normal n; the set is
h_ring high. Saddle R_S and ear R_E of an element meet its inner and outer side:

    R_S = (t_R/2 - t_S, h_P - h_S),     g_S = (r - R_S).n - h_ring/2
    R_E = (t_R/2 - t_S, h_E - h_S),     g_E = (R_E - r).n - h_ring/2

both where r(s) is nearest: (R - r).t = 0, one Newton step per contact and time step from where it was before.

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
forces do not change, f = f_0 and s = v_0: the law holds exactly, at every step size. f is in the cone at all times.

Held forces. In the multirate scheme (`planar.model`) elements take steps dt and the ring n_R shorter ones h within,
under the forces of the contacts from the last dt. Chord velocities of elements then belong to a time (dt - h)/2 before
those of the ring. On a ring that turns with omega this is a normal velocity `lead` omega u.t, lead = (dt - h)/2, which
the gap rate gets; else the dampers would work on it. Springs are taken ahead by `lead`, f_n = -k g - (d + lead k) g',
since a force that is held acts late by as much and would bring energy in. Friction that is held acts on the ring's
axial waves as well, which turn round within dt; with elements that sway against each other it may feed them. G then
counts the element n_R times: all such pairs of waves are damped (`tests/offline/pushbelt/test_element_ring.py`).

Largest step. A point of inverse mass W under f = -k g - (d + lead k) g', held over dt while n_R steps move it, is
stable for any n_R while

    k dt^2 + 2 d dt < 4/W

With more pieces W grows, since less of the ring is under a saddle. Beyond this step saddles feed the pieces' bending,
and its damping takes what they give: the works are booked, the balance is not kept. W is that of the straight, free
ring; friction, bending and the neighbours leave `_SAFE` of this step (`largest_step`).

Work. Friction and damper take their force times the mean of the slip and of the gap's rate before and after the step,
which are met in the next one; a spring that closes or opens within a step as in `element_element`.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import by_law, compiled, inlined
from rtcvt.offline.pushbelt.contact.element_element import switching
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

Array = NDArray[np.float64]

_NEAR = 5.0e-6  # [m]
_SAFE = 0.85  # measured: 208 pieces keep their energy at 0.86 of the bound, not at 0.92; 156 at 0.90, not at 0.99
_FAST = 5.0  # [m/s]; saddle and ring do not approach faster
N_MEMORY = 11  # of the last step, of saddle and ear each: friction, slip speed, energy of the spring, force of the
# damper, rate of the gap; and how far [m] an open saddle is from the nearer of both contacts
EAR = 5  # first column of the ear
_LEFT = 10


class Saddle(NamedTuple):
    """Saddle and ear of an element as the kernels want them: points in the element's frame [m], SI units."""

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
    """A saddle that holds the ring in both directions."""


@declared
class Touch(NamedTuple):
    """Scratch: of saddles, unless said otherwise."""

    k: Annotated[NDArray[np.int64], ("N_E",), "1", "finite element of the ring"]
    shape: Annotated[Array, ("N_E", N_SHAPE), "m, rad", "its row"]
    rate: Annotated[Array, ("N_E", N_RATE), "m/s, rad/s", "its row"]
    load: Annotated[Array, ("N_E", N_LOAD), "N, N m", "what the saddle adds to its row"]
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
    """Largest step dt [s] of the belt that saddles on a beam bear, whatever steps the ring takes in it."""
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


@inlined
def _nearest(shape: Any, row: int, s: float, xi: float, N_B: int, x: float, y: float) -> Any:
    """Newton step of `project` from the place `xi` in the finite element of row `row`; results without k and xi."""
    r_x, r_y, g_x, g_y, w, _ = point(shape, row, xi)
    inv = 1.0 / np.sqrt(g_x * g_x + g_y * g_y)
    t_x = g_x * inv
    t_y = g_y * inv
    e_x = x - r_x
    e_y = y - r_y
    e_t = e_x * t_x + e_y * t_y
    return wrapped(s + e_t * inv, N_B), e_y * t_x - e_x * t_y, e_t, w, r_x, r_y, t_x, t_y


@inlined
def project(R: Ring, shape: Any, s: float, x: float, y: float) -> Any:
    """One Newton step for the point of the ring that is nearest to (x, y), from arc coordinate `s` in [0, N_B).

    Returns
    -------
    s_new, e_n, e_t : arc coordinate in [0, N_B) [finite elements]; (x, y) - r(s) along n, along t at the old `s` [m]
    k, xi, w : finite element, place in it and deflection [m] at the old `s`
    r_x, r_y, t_x, t_y : neutral fibre and tangent there
    """
    k = int(s)
    xi = s - k
    s_new, e_n, e_t, w, r_x, r_y, t_x, t_y = _nearest(shape, k, s, xi, R.N_B, x, y)
    return s_new, e_n, e_t, k, xi, w, r_x, r_y, t_x, t_y


@inlined
def _contact(
    p: Saddle, shape: Any, rate: Any, memory: Any, dt: float, lead: float,
    i: int, o: int, h: float, gap: float, closed: bool, both: bool,
    q_x: float, q_y: float, u_x: float, u_y: float, u_p: float,
    row: int, xi: float, w: float, r_x: float, r_y: float, t_x: float, t_y: float, turn: float,
) -> Any:  # fmt: skip
    """Force of one contact at the ring's surface r + h n, with the friction of the last step.

    Returns f_n, the five new columns of `memory`, force F_x, F_y and moment on the element, point from its centre of
    gravity a_x, a_y, works of friction and of the damper. `row` of shape and rate is that of its finite element; `o`:
    first column of `memory`; h < 0: saddle, > 0: ear; `both`: f_n may pull; `lead` > 0: the ring's own steps keep the
    force.
    """
    n_x = -t_y
    n_y = t_x
    a_x = r_x + h * n_x - q_x
    a_y = r_y + h * n_y - q_y
    v_x, v_y, omega = velocity(shape, rate, row, xi, w)
    v_x = u_x - u_p * a_y - v_x
    v_y = u_y + u_p * a_x - v_y
    side = 1.0 if h > 0.0 else -1.0  # the gap opens along side n
    gap_rate = side * (v_x * n_x + v_y * n_y + lead * omega * (u_x * t_x + u_y * t_y))
    v_t = v_x * t_x + v_y * t_y + h * (p.plane * omega + (1.0 - p.plane) * turn)
    lost_t = -0.5 * dt * memory[i, o] * (memory[i, o + 1] + v_t)
    lost_n = -0.5 * dt * memory[i, o + 3] * (memory[i, o + 4] + gap_rate)
    lost_n += 0.0 if both else switching(p.k, gap, gap_rate, dt)
    f_n = -p.k * gap - (p.d + p.k * lead) * gap_rate
    f_n = f_n if closed and (both or f_n > 0.0) else 0.0
    most = p.mu * abs(f_n)
    f_t = min(max(memory[i, o], -most), most)
    F_x = side * f_n * n_x + f_t * t_x
    F_y = side * f_n * n_y + f_t * t_y
    stored = 0.5 * p.k * gap * gap if closed else 0.0
    f_d = f_n + p.k * gap if closed else 0.0
    return f_n, f_t, v_t, stored, f_d, gap_rate, F_x, F_y, a_x * F_y - a_y * F_x, a_x, a_y, lost_t, lost_n


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
def _rows_of(N_E: int, s_R: Any, shape: Any, rate: Any, memory: Any, stride: float, at: Touch) -> None:
    """Copy `shape` and `rate` of the ring to all saddles that may be closed; others keep theirs. Clear the loads."""
    for i in range(N_E):
        if memory[i, _LEFT] > stride and at.shape[i, INV] > 0.0:
            continue
        k = int(s_R[i])
        at.k[i] = k
        for a in range(N_SHAPE):
            at.shape[i, a] = shape[k, a]
        for a in range(N_RATE):
            at.rate[i, a] = rate[k, a]
    for a in range(N_LOAD):
        for i in range(N_E):
            at.load[i, a] = 0.0


@compiled
def _saddles(
    p: Saddle, R: Ring, q: Any, u: Any, cs: Any, sn: Any, s_R: Any, at: Touch, f: Any, N: Any, memory: Any,
    dt: float, lead: float, stride: float, both: bool,
) -> Any:  # fmt: skip
    """Contacts of all saddles, their loads on the ring in `at`; returns works of friction and dampers, and these with
    what the springs gained, of both halves.

    `memory` is written behind the loop: columns that one loop reads and writes the compiler would have to tell apart.
    """
    h2 = R.h2
    turn = at.turn[0]
    rise = p.y_E - p.y_S
    lost_t = 0.0
    lost_n = 0.0
    own_I = 0.0
    own_O = 0.0
    for i in range(np.uint64(p.N_E)):
        left = memory[i, _LEFT] - stride
        apart = left > 0.0
        c = cs[i]
        s = sn[i]
        q_x = q[i, 0]
        q_y = q[i, 1]
        x = q_x + c * p.x - s * p.y_S
        y = q_y + s * p.x + c * p.y_S
        place = s_R[i]
        xi = place - int(place)
        s_new, e_n, _, w, r_x, r_y, t_x, t_y = _nearest(at.shape, i, place, xi, R.N_B, x, y)
        gap = -e_n - h2
        closed = (both or gap < 0.0) and not apart
        f_S, f_T, v_t, stored, f_d, gap_rate, F_x, F_y, M, a_x, a_y, t, d = _contact(
            p, at.shape, at.rate, memory, dt, lead, i, 0, -h2, gap, closed, both,
            q_x, q_y, u[i, 0], u[i, 1], u[i, 2], i, xi, w, r_x, r_y, t_x, t_y, turn,
        )  # fmt: skip
        at.works[i, 0] = t
        at.works[i, 1] = 0.0 if apart else d
        at.works[i, 2] = stored - memory[i, 2]
        s_R[i] = place if apart else s_new
        # the ear's gap at the saddle's place on the ring; its own differs by less than a micrometre
        ear = e_n + rise * (c * t_x + s * t_y) - h2
        free = min(gap, ear) - _NEAR
        at.ear[i] = np.inf if apart else ear
        f[i, 0] += F_x
        f[i, 1] += F_y
        f[i, 2] += M
        at.left[i] = left if apart else (free if free > 0.0 and memory[i, 2] == 0.0 and not both else 0.0)
        at.memory[i, 0] = f_T
        at.memory[i, 1] = v_t
        at.memory[i, 2] = stored
        at.memory[i, 3] = f_d
        at.memory[i, 4] = gap_rate
        at.force[i, 0] = f_S
        at.force[i, 1] = xi
        at.force[i, 2] = w
        at.force[i, 3] = F_x
        at.force[i, 4] = F_y
        at.force[i, 5] = t_x
        at.force[i, 6] = t_y
        at.force[i, 7] = a_x
        at.force[i, 8] = a_y
    for i in range(p.N_E):
        lost_t += at.works[i, 0]
        lost_n += at.works[i, 1]
        own = at.works[i, 0] + at.works[i, 1] + at.works[i, 2]
        own_I += own if at.shape[i, X] > p.x_mid else 0.0
        own_O += 0.0 if at.shape[i, X] > p.x_mid else own
    for a in range(EAR):
        for i in range(p.N_E):
            memory[i, a] = at.memory[i, a]
    for i in range(p.N_E):
        memory[i, _LEFT] = at.left[i]
    for i in range(np.uint64(p.N_E)):
        N[i, 0] = at.force[i, 0]
        N[i, 1] = 0.0
    lever = -h2 * p.plane
    for i in range(np.uint64(p.N_E)):
        push(
            at.shape, at.load, i, at.force[i, 1], at.force[i, 2], -at.force[i, 3], -at.force[i, 4], lever * memory[i, 0]
        )
    return lost_t, lost_n, own_I, own_O


@by_law
def saddle_forces(
    law: Saddle, R: Ring, q: Any, u: Any, cs: Any, sn: Any, s_R: Any, shape: Any, rate: Any, load: Any, f: Any,
    N: Any, memory: Any, at: Touch, dt: float, lead: float,
) -> Any:  # fmt: skip
    """Forces of the elements' contacts with the ring, with the friction of the last step.

    Parameters
    ----------
    law, R : Unilateral or Bilateral, Ring
    q, u : (N_E, 3) position x, y, phi and velocity of the elements; cs, sn : (N_E) cosine and sine of phi
    s_R : (N_E) arc coordinate of the saddle's projection [finite elements]; updated
    shape, rate : (N_B, 11), (N_B, 9) of the ring
    load : (N_B, 9) loads on the ring; added to
    f : (N_E, 3) forces on the elements; added to
    N : (N_E, 3), written but for the last: normal force of the saddle, of the ear [N]
    memory : (N_E, N_MEMORY) of the last step; updated
    at : Touch; written: what `saddle_friction` needs
    dt, lead : step, and how far the forces are taken ahead [s]: 0 if the ring steps with the elements

    Returns
    -------
    float, float, float, float : works [J] that friction and dampers took in the last step; their sum with what the
        springs gained in it, at the primary and at the secondary

    """


@saddle_forces.of(Unilateral)
@compiled
def _unilateral(
    p: Saddle, R: Ring, q: Any, u: Any, cs: Any, sn: Any, s_R: Any, shape: Any, rate: Any, load: Any, f: Any,
    N: Any, memory: Any, at: Touch, dt: float, lead: float,
) -> Any:  # fmt: skip
    """An element between saddle and ear stays open, with the row of the ring that it had, until the nearer of both
    could have been reached."""
    h2 = R.h2
    stride = _FAST * dt
    _rows_of(p.N_E, s_R, shape, rate, memory, stride, at)
    lost_t, lost_n, own_I, own_O = _saddles(p, R, q, u, cs, sn, s_R, at, f, N, memory, dt, lead, stride, False)
    for i in range(p.N_E):
        if memory[i, 2] != 0.0:
            k = at.k[i]
            for a in range(N_LOAD):
                load[k, a] += at.load[i, a]
        if at.ear[i] < _NEAR or memory[i, EAR + 2] != 0.0:
            x = q[i, 0] + cs[i] * p.x - sn[i] * p.y_E
            y = q[i, 1] + sn[i] * p.x + cs[i] * p.y_E
            s_E, _, _, k, xi, w, r_x, r_y, t_x, t_y = project(R, shape, s_R[i], x, y)
            _, e_n, _, k, xi, w, r_x, r_y, t_x, t_y = project(R, shape, s_E, x, y)
            gap = e_n - h2
            f_n, f_t, v_t, stored, f_d, gap_rate, F_x, F_y, M, a_x, a_y, t, d = _contact(
                p, shape, rate, memory, dt, lead, i, EAR, h2, gap, gap < 0.0, False,
                q[i, 0], q[i, 1], u[i, 0], u[i, 1], u[i, 2], k, xi, w, r_x, r_y, t_x, t_y, at.turn[0],
            )  # fmt: skip
            lost_t += t
            lost_n += d
            own = t + d + stored - memory[i, EAR + 2]
            own_I += own if r_x > p.x_mid else 0.0
            own_O += 0.0 if r_x > p.x_mid else own
            push(shape, load, k, xi, w, -F_x, -F_y, f_t * h2 * p.plane)
            f[i, 0] += F_x
            f[i, 1] += F_y
            f[i, 2] += M
            memory[i, EAR] = f_t
            memory[i, EAR + 1] = v_t
            memory[i, EAR + 2] = stored
            memory[i, EAR + 3] = f_d
            memory[i, EAR + 4] = gap_rate
            N[i, 1] = f_n
            at.k_ear[i] = k
            at.at_ear[i, 1] = xi
            at.at_ear[i, 2] = w
            at.at_ear[i, 5] = t_x
            at.at_ear[i, 6] = t_y
            at.at_ear[i, 7] = a_x
            at.at_ear[i, 8] = a_y
    return lost_t, lost_n, own_I, own_O


@saddle_forces.of(Bilateral)
@compiled
def _bilateral(
    p: Saddle, R: Ring, q: Any, u: Any, cs: Any, sn: Any, s_R: Any, shape: Any, rate: Any, load: Any, f: Any,
    N: Any, memory: Any, at: Touch, dt: float, lead: float,
) -> Any:  # fmt: skip
    _rows_of(p.N_E, s_R, shape, rate, memory, np.inf, at)
    works = _saddles(p, R, q, u, cs, sn, s_R, at, f, N, memory, dt, lead, np.inf, True)
    for i in range(p.N_E):
        k = at.k[i]
        for a in range(N_LOAD):
            load[k, a] += at.load[i, a]
    return works


@by_law
def saddle_friction(
    law: Saddle, R: Ring, u: Any, shape: Any, rate: Any, load: Any, f: Any, N: Any, memory: Any, at: Touch, G: float
) -> None:
    """Friction of all contacts with the ring: from that of the last step, which `saddle_forces` left, to that of this.

    Parameters
    ----------
    law, R : Unilateral or Bilateral, Ring
    u, rate : (N_E, 3), (N_B, 9) velocities of the elements and rates of the ring at the end of the step, with the
        friction of the last step
    shape : (N_B, 11) of the ring
    load, f : (N_B, 9), (N_E, 3) loads on the ring, forces on the elements; what friction changes is added
    N : (N_E, 3); its last column written: friction on the element along the travel [N]
    memory : (N_E, N_MEMORY); its friction is written
    at : Touch of `saddle_forces`
    G : inverse mass times the step [s/kg]
    """


@saddle_friction.of(Unilateral, Bilateral)
@compiled
def _friction(
    p: Saddle, R: Ring, u: Any, shape: Any, rate: Any, load: Any, f: Any, N: Any, memory: Any, at: Touch, G: float
) -> None:
    h2 = R.h2
    layered = 1.0 - p.plane
    for i in range(p.N_E):
        if at.force[i, 0] != 0.0:
            k = at.k[i]
            for a in range(N_RATE):
                at.rate[i, a] = rate[k, a]
    for a in range(N_LOAD):
        for i in range(p.N_E):
            at.load[i, a] = 0.0
    for i in range(np.uint64(p.N_E)):
        t_x = at.force[i, 5]
        t_y = at.force[i, 6]
        a_x = at.force[i, 7]
        a_y = at.force[i, 8]
        v_x, v_y, omega = velocity(at.shape, at.rate, i, at.force[i, 1], at.force[i, 2])
        v = (u[i, 0] - u[i, 2] * a_y - v_x) * t_x + (u[i, 1] + u[i, 2] * a_x - v_y) * t_y - h2 * omega
        v -= h2 * layered * (at.turn[0] - omega)
        f_0 = at.memory[i, 0]
        f_t = _rubbed(p, G, at.force[i, 0], f_0, v)
        more = f_t - f_0
        at.force[i, 3] = more * t_x
        at.force[i, 4] = more * t_y
        f[i, 0] += more * t_x
        f[i, 1] += more * t_y
        f[i, 2] += more * (a_x * t_y - a_y * t_x)
        at.memory[i, 1] = more
        N[i, 2] = f_t
    for i in range(np.uint64(p.N_E)):
        M = -h2 * p.plane * at.memory[i, 1]
        push(at.shape, at.load, i, at.force[i, 1], at.force[i, 2], -at.force[i, 3], -at.force[i, 4], M)
    for i in range(p.N_E):
        memory[i, 0] = N[i, 2]
        if at.force[i, 0] != 0.0:
            k = at.k[i]
            for a in range(N_LOAD):
                load[k, a] += at.load[i, a]
        if N[i, 1] > 0.0:
            k = at.k_ear[i]
            xi, w = at.at_ear[i, 1], at.at_ear[i, 2]
            t_x, t_y = at.at_ear[i, 5], at.at_ear[i, 6]
            a_x, a_y = at.at_ear[i, 7], at.at_ear[i, 8]
            v_x, v_y, omega = velocity(shape, rate, k, xi, w)
            v = (u[i, 0] - u[i, 2] * a_y - v_x) * t_x + (u[i, 1] + u[i, 2] * a_x - v_y) * t_y + h2 * omega
            v += h2 * layered * (at.turn[0] - omega)
            f_0 = memory[i, EAR]
            f_t = _rubbed(p, G, N[i, 1], f_0, v)
            more = f_t - f_0
            push(shape, load, k, xi, w, -more * t_x, -more * t_y, h2 * p.plane * more)
            f[i, 0] += more * t_x
            f[i, 1] += more * t_y
            f[i, 2] += more * (a_x * t_y - a_y * t_x)
            memory[i, EAR] = f_t
            N[i, 2] += f_t


@by_law
def saddle_energy(law: Saddle, R: Ring, q: Any, cs: Any, sn: Any, s_R: Any, shape: Any) -> Any:
    """Energy stored in all contacts with the ring [J]; arguments as for `saddle_forces`."""


@saddle_energy.of(Unilateral)
@compiled
def _unilateral_energy(p: Saddle, R: Ring, q: Any, cs: Any, sn: Any, s_R: Any, shape: Any) -> float:
    energy = 0.0
    half = 0.5 * (p.y_E - p.y_S) - R.h2
    for i in range(p.N_E):
        x = q[i, 0] + cs[i] * p.x
        y = q[i, 1] + sn[i] * p.x
        _, e_n, _, _, _, _, _, _, _, _ = project(R, shape, s_R[i], x - sn[i] * p.y_S, y + cs[i] * p.y_S)
        energy += min(-e_n - R.h2, 0.0) ** 2
        if not -e_n - R.h2 > half:
            continue
        x -= sn[i] * p.y_E
        y += cs[i] * p.y_E
        s_E, _, _, _, _, _, _, _, _, _ = project(R, shape, s_R[i], x, y)
        _, e_n, _, _, _, _, _, _, _, _ = project(R, shape, s_E, x, y)
        energy += min(e_n - R.h2, 0.0) ** 2
    return 0.5 * p.k * energy


@saddle_energy.of(Bilateral)
@compiled
def _bilateral_energy(p: Saddle, R: Ring, q: Any, cs: Any, sn: Any, s_R: Any, shape: Any) -> float:
    energy = 0.0
    for i in range(p.N_E):
        x = q[i, 0] + cs[i] * p.x - sn[i] * p.y_S
        y = q[i, 1] + sn[i] * p.x + cs[i] * p.y_S
        _, e_n, _, _, _, _, _, _, _, _ = project(R, shape, s_R[i], x, y)
        energy += (-e_n - R.h2) ** 2
    return 0.5 * p.k * energy
