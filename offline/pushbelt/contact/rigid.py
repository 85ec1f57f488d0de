"""Rigid saddles and ears with set-valued friction: the source's own law (Cebulla 2014, 2.4, 2.7, 3.2.2, 5.1.1).

    0 <= g _|_ lambda_N >= 0,   lambda_T in -mu_R lambda_N Sign(g_T')              eqs. (2.36), (2.38), planar

with the points, gaps and slips of `element_ring`. A step is the half-explicit one of `planar.model`, eqs.
(2.49)-(2.51), with Lambda of these contacts at its end, from the proximal form and Newton's method of
`nonsmooth.contact`:

    u+ = u + M^-1 (dt h + dt T(u+) + W Lambda),     gamma = W' u+ + (g/dt, 0)
    Lambda = (L_N, L_T),    L_N = prox_[0, inf)(L_N - r gamma_N),    L_T = prox_[-mu L_N, mu L_N](L_T - r gamma_T)

Contacts. All contacts within `CLOSING_SPEED` of closing are included.
The normal law is that of the gap at the end of the step,
g + dt g_N' (Stewart and Trinkle 1996). The source has g_N' alone, for contacts with g <= 0; gaps then remain: on a
pulley velocities are chords, and those of centre of gravity and fibre, 1.9 mm apart, differ by half of (r_R - r_S)
omega^2 dt along the normal, which opens or closes a gap by 0.6 um in half a turn (209 rad/s, 1e-6 s). Penetration, as
after a start from springs, is corrected with at most the speed `CORRECTION_SPEED`. Impacts are plastic: e = 0.

Flanks are flexible, with regularised friction T solved with u+ for each element (`flank`), as in the source for
the hybrid model (6.1.2). T depends on Lambda and vice versa: Newton's method on both. Alternately

    u+, T of all elements under the present Lambda (exact), and A = d u+/d(impulse) of each there (`mobilities`),
    Lambda of the contact problem with G = W_E' A W_E + W_R' M_R^-1 W_R,

until the laws are satisfied for the exact u+, to `LAW_ATOL`.
An element's contacts interact with those of elements on the
same and on both neighbouring finite elements of the ring, since its mass is lumped: G has some ten entries in a row.

Energy. An impulse changes the kinetic energy by L (gamma- + gamma+)/2, with the velocities before and after the step at
the places of the step. This is the loss of friction and impacts, for each contact by itself, from the slips and rates
of the gaps of the two bodies and not from the rows W. Nothing is stored.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.nonsmooth.contact import Rows, Work, newton_rows, work
from rtcvt.offline.pushbelt import vectors
from rtcvt.offline.pushbelt.compiled import Contract, by_law, compiled, inlined
from rtcvt.offline.pushbelt.contact.element_ring import (
    EAR,
    Band,
    Bilateral,
    Place,
    Saddle,
    Unilateral,
    foot_of,
    saddle_energy,
    saddle_forces,
    saddle_friction,
    shared,
)
from rtcvt.offline.pushbelt.contact.elements import Elements, carried, wrench
from rtcvt.offline.pushbelt.contact.flank import mobilities, solve
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.ring.ring import Ring, X, ends, push, velocity
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.vectors import add_columns, applied, columns, copy, dot, minus, set_columns, zero

Array = NDArray[np.float64]
Index = NDArray[np.int64]

CLOSING_SPEED = 5.0  # [m/s]; a gap above what this speed covers in a step stays open
CORRECTION_SPEED = 5e-3  # [m/s]
LAW_ATOL = 1e-11  # [m/s]; largest error of a law, `nonsmooth.contact`
FAILURE_ERROR = 1e-6  # [m/s]; larger errors are a failure
MAX_CONTACT_SOLUTIONS = 40  # largest number of solutions of the contact problem in a step
MAX_NEWTON_STEPS = 60  # largest number of Newton's steps in each


class Rigid(Saddle):
    """Saddle and ear that cannot be pressed in, with Coulomb friction that is not regularised."""


@declared
class Press(NamedTuple):
    """Contact problem of a step, for at most K = 2 N_E contacts, each with a normal and a tangential row."""

    n: Annotated[Index, (1,), "1", "contacts in reach"]
    of: Annotated[Index, ("K",), "1", "element of each"]
    ear: Annotated[Index, ("K",), "1", "1: an ear"]
    k: Annotated[Index, ("K",), "1", "finite element of the ring"]
    place: Annotated[Array, ("K", 8), "SI", "xi, w, tangent, lever from the centre of gravity, gap, h of the surface"]
    E: Annotated[Array, ("K", 2, 3), "1, m", "rows W' of the element"]
    V: Annotated[Array, ("K", 2, 8), "1, m", "of the ring: x, y, phi, c_L, c_R of its piece, x, y, phi of the next"]
    head: Annotated[Index, ("N_B",), "1", "first contact of each finite element, -1: none"]
    after: Annotated[Index, ("K",), "1", "the next one there, -1: none"]
    entries: Annotated[Index, ("rows",), "1", "of each row of G (`contact.Rows`)"]
    column: Annotated[Index, ("rows", "width"), "1", "of each entry"]
    value: Annotated[Array, ("rows", "width"), "1/kg", "of each entry"]
    ring: Annotated[Array, ("rows", "width"), "1/kg", "the ring's part of it"]
    free: Annotated[Array, ("rows",), "m/s", "velocity without the element's"]
    c: Annotated[Array, ("rows",), "m/s", "of the contact problem"]
    L: Annotated[Array, ("rows",), "N s", "impulses"]
    mu: Annotated[Array, ("K",), "1", "coefficient of friction"]
    lower: Annotated[Array, ("K",), "N s", "least normal impulse"]
    A: Annotated[Array, ("elements", 6), "1/kg, 1/(kg m), 1/(kg m^2)", "`flank.mobilities`"]
    force: Annotated[Array, ("N_E", 3), "N, N, N m", "on elements without those of the flanks"]
    solver: Work
    found: Annotated[Array, (4,), "m/s, 1", "largest error that was left; steps with one; problems; Newton's steps"]


def press(law: Saddle, belt: Belt) -> Press:
    """Scratch of the law of a belt; empty if it is not `Rigid`."""
    rigid = isinstance(law, Rigid)
    N_E, N_B = (belt.N_E, belt.N_B) if rigid else (0, 0)
    K = 2 * N_E
    width = 6 * (2 * -(-N_E // max(N_B, 1)) + 4)  # contacts that one meets, with two columns each
    sizes = {"N_E": N_E, "elements": N_E, "N_B": N_B, "K": K, "rows": 2 * K, "width": width}
    return zeros(Press, sizes, mu=np.full(K, law.mu), solver=work(2 * K, width, width))


class Flank(NamedTuple):
    """Data of the elements' velocities besides the ring: belt, law of friction, contact points and search (`flank`)."""

    belt: Belt
    friction: Any
    points: Any
    find: Any


class Contact(NamedTuple):
    """A row of `Press.place`: xi, w, tangent, lever from the centre of gravity, gap, h of the surface."""

    xi: Any
    w: Any
    t_x: Any
    t_y: Any
    a_x: Any
    a_y: Any
    gap: Any
    h: Any


@inlined
def _place(P: Press, a: int) -> Contact:
    """Where contact `a` is."""
    xi, w, t_x, t_y, a_x, a_y, gap, h = P.place[a]
    return Contact(xi, w, t_x, t_y, a_x, a_y, gap, h)


@inlined
def _first(P: Press, a: int) -> int:
    """First column of the memory of contact `a`."""
    return EAR if P.ear[a] == 1 else 0


@compiled
def _add(P: Press, n: int, i: int, ear: int, at: Place, gap: float, q: Any, h: float) -> int:
    """Note a contact; returns how many there are."""
    P.of[n] = i
    P.ear[n] = ear
    P.k[n] = at.k
    set_columns((at.xi, at.w, at.t_x), P.place, n, 0)
    set_columns((at.t_y, at.r_x - h * at.t_y - q[i, 0], at.r_y + h * at.t_x - q[i, 1]), P.place, n, 3)
    P.place[n, 6], P.place[n, 7] = gap, h
    return n + 1


@compiled
def _find(p: Saddle, band: Band, el: Elements, s_R: Any, dt: float, P: Press) -> None:
    """Contacts in reach, in the order of the elements; `s_R` is updated."""
    h2 = band.ring.h2
    reach = CLOSING_SPEED * dt
    n = 0
    for i in range(p.N_E):
        s_S = s_R[i]
        foot = foot_of(band, el, i, p.x, p.y_S, s_S)
        s_R[i] = foot.s
        if -foot.e_n - h2 < reach:
            n = _add(P, n, i, 0, foot.at, -foot.e_n - h2, el.q, -h2)
        # the ear's gap at the saddle's place on the ring: its own differs by less than a micrometre
        if foot.e_n + (p.y_E - p.y_S) * (el.cs[i] * foot.at.t_x + el.sn[i] * foot.at.t_y) - h2 < 2.0 * reach:
            foot = foot_of(band, el, i, p.x, p.y_E, foot_of(band, el, i, p.x, p.y_E, s_S).s)
            if foot.e_n - h2 < reach:
                n = _add(P, n, i, 1, foot.at, foot.e_n - h2, el.q, h2)
    P.n[0] = n


@compiled
def _bodies(band: Band, dt: float, memory: Any, P: Press) -> None:
    """Rows of elements and ring, velocities of the ring without impulses, and the impulses to begin with.

    `band.load` is zero, and is so afterwards.
    """
    shape, load = band.shape, band.load
    for k in range(band.ring.N_B):
        P.head[k] = -1
    for a in range(P.n[0]):
        k = P.k[a]
        at = _place(P, a)
        side = 1.0 if at.h > 0.0 else -1.0
        P.after[a] = P.head[k]
        P.head[k] = a
        v_x, v_y, omega = velocity(shape, band.rate, k, at.xi, at.w)
        for b in range(2):
            d_x = at.t_x if b == 1 else -side * at.t_y
            d_y = at.t_y if b == 1 else side * at.t_x
            P.E[a, b, 0], P.E[a, b, 1] = d_x, d_y
            P.E[a, b, 2] = at.a_x * d_y - at.a_y * d_x
            push(shape, load, k, at.xi, at.w, -d_x, -d_y, at.h if b == 1 else 0.0)
            V = P.V[a, b]
            V[0], V[1], V[2], V[3], V[4], V[5], V[6], V[7] = ends(band.ring.l, shape, load, k)
            load[k] = 0.0
            P.free[2 * a + b] = -(v_x * d_x + v_y * d_y)
        P.free[2 * a] += at.gap / dt if at.gap > 0.0 else max(at.gap / dt, -CORRECTION_SPEED)
        P.free[2 * a + 1] += at.h * omega
        o = _first(P, a)
        P.L[2 * a] = dt * max(memory[P.of[a], o + 1], 0.0)
        P.L[2 * a + 1] = dt * memory[P.of[a], o]


@compiled
def _meet(R: Ring, P: Press, a: int, b: int, near: int) -> None:
    """The ring's part of G for the contacts `a` and `b`, `near` finite elements further on, after the entries of a."""
    for x in range(2):
        o = P.entries[2 * a + x]
        for y in range(2):
            V = P.V[a, x]
            U = P.V[b, y]
            if near == 0:
                sum_m = V[0] * U[0] + V[1] * U[1] + V[5] * U[5] + V[6] * U[6]
                G = sum_m / R.m + (V[2] * U[2] + V[7] * U[7]) / R.J + (V[3] * U[3] + V[4] * U[4]) / R.m_c
            elif near == 1:
                G = (V[5] * U[0] + V[6] * U[1]) / R.m + V[7] * U[2] / R.J
            else:
                G = (V[0] * U[5] + V[1] * U[6]) / R.m + V[2] * U[7] / R.J
            P.ring[2 * a + x, o + y] = G
            P.column[2 * a + x, o + y] = 2 * b + y
        P.entries[2 * a + x] = o + 2


@compiled
def _couple(R: Ring, P: Press) -> bool:
    """Pattern of G and the ring's part of it; False: more contacts meet than there is room for."""
    for a in range(P.n[0]):
        P.entries[2 * a] = 0
        P.entries[2 * a + 1] = 0
        _meet(R, P, a, a, 0)
        for near in range(-1, 2):
            k = P.k[a] + near
            b = P.head[k - R.N_B if k >= R.N_B else (k + R.N_B if k < 0 else k)]
            while b >= 0:
                if b != a:
                    if P.entries[2 * a] + 2 > P.ring.shape[1]:
                        return False
                    _meet(R, P, a, b, near)
                b = P.after[b]
    return True


@compiled
def _elements(u: Any, P: Press) -> None:
    """G and c about the present impulses: with the velocities `u` that these lead to, and the elements' part."""
    n = P.n[0]
    for a in range(n):
        i = P.of[a]
        A = (P.A[i, 0], P.A[i, 1], P.A[i, 2], P.A[i, 3], P.A[i, 4], P.A[i, 5])
        for x in range(2):
            e = vectors.load(P.E, a, x)
            row = 2 * a + x
            for o in range(P.entries[row]):
                P.value[row, o] = P.ring[row, o]
            g = applied(A, e)
            P.c[row] = P.free[row] + dot(e, columns(u, i, 0))
            for b in range(max(a - 1, 0), min(a + 2, n)):  # itself, or the ear next to a saddle
                if P.of[b] == i:
                    o = 0
                    while o < P.entries[row] and P.column[row, o] != 2 * b:
                        o += 2
                    if o == P.entries[row]:  # a belt that falls apart
                        continue
                    for y in range(2):
                        G = dot(g, vectors.load(P.E, b, y))
                        P.value[row, o + y] += G
                        P.c[row] -= G * P.L[2 * b + y]


@by_law
def rigid_contacts(
    law: Saddle, band: Band, el: Elements, flank: Flank, dt: float, s_R: Any, f: Any, f_R: Any, N: Any, memory: Any,
    P: Press,
) -> None:  # fmt: skip
    """Forces of rigid saddles and ears, which hold over the step; nothing for other laws.

    Parameters
    ----------
    law, flank : Rigid, Flank
    band : Band
        Rates are those at the end of the step without these contacts; loads, zero before, are added.
    el : Elements
        At the end of the step, with the velocities before it.
    dt : step [s]
    s_R : (N_E) arc coordinate of the saddle's projection [finite elements]; updated
    f, f_R : (N_E, 3) forces on the elements of all others but ring and flanks; of the ring, added to
    N : (N_E, 3), written: force of saddle, of ear, friction on the element along the travel [N]
    memory : (N_E, N_MEMORY) friction and normal force of saddle and ear, of the last step; updated
    P : Press
    """


@rigid_contacts.of(Unilateral, Bilateral)
@compiled
def _none(p, band, el, flank, dt, s_R, f, f_R, N, memory, P):
    return


@rigid_contacts.of(Rigid)
@compiled
def _rigid(p, band, el, flank, dt, s_R, f, f_R, N, memory, P):
    _find(p, band, el, s_R, dt, P)
    _bodies(band, dt, memory, P)
    n = P.n[0]
    m = 2 * n
    error = np.inf
    if _couple(band.ring, P):
        G = Rows(P.entries[:m], P.column[:m], P.value[:m])
        c, L, mu, lower = P.c[:m], P.L[:m], P.mu[:n], P.lower[:n]
        for _ in range(MAX_CONTACT_SOLUTIONS):
            copy(f, P.force)
            for a in range(n):
                for b in range(2):
                    for o in range(3):
                        P.force[P.of[a], o] += P.E[a, b, o] * L[2 * a + b] / dt
            solve(flank.belt, flank.friction, dt, el.u, P.force, flank.points, flank.find)
            mobilities(flank.belt, flank.friction, dt, flank.points, P.A)
            _elements(flank.find.u, P)
            error, steps, _ = newton_rows(G, c, mu, lower, 1, L, LAW_ATOL, MAX_NEWTON_STEPS, P.solver)
            if steps == 0:
                break
            P.found[2] += 1.0
            P.found[3] += steps
    P.found[0] = max(P.found[0], error)
    P.found[1] += 0.0 if error <= LAW_ATOL else 1.0
    _apply(p, band, f_R, N, memory, dt, P)


@compiled
def _apply(p: Saddle, band: Band, f_R: Any, N: Any, memory: Any, dt: float, P: Press) -> None:
    """Forces of the impulses on elements and ring."""
    zero(N)
    memory[:, :2] = 0.0
    memory[:, EAR : EAR + 2] = 0.0
    for a in range(P.n[0]):
        i = P.of[a]
        at = _place(P, a)
        f_n = P.L[2 * a] / dt
        f_t = P.L[2 * a + 1] / dt
        normal = f_n if at.h > 0.0 else -f_n
        F_x = f_t * at.t_x - normal * at.t_y
        F_y = f_t * at.t_y + normal * at.t_x
        add_columns(wrench((at.a_x, at.a_y), (F_x, F_y)), f_R, i, 0)
        push(band.shape, band.load, P.k[a], at.xi, at.w, -F_x, -F_y, at.h * f_t)
        o = _first(P, a)
        memory[i, o] = f_t
        memory[i, o + 1] = f_n
        N[i, P.ear[a]] = f_n
        N[i, 2] += f_t


@by_law
def rigid_work(law: Saddle, band: Band, u: Any, memory: Any, P: Press) -> Any:
    """Loss [W] of friction and impacts in rigid saddles and ears, and the pair of their sums beyond `x_mid` and before.

    Parameters
    ----------
    law : Rigid; zeros for others
    band, u : rates of the ring and velocities (N_E, 3) of the elements are means of those before and after the step
    memory, P : of `rigid_contacts`
    """


@rigid_work.of(Unilateral, Bilateral)
@compiled
def _no_work(p, band, u, memory, P):
    return 0.0, 0.0, (0.0, 0.0)


@rigid_work.of(Rigid)
@compiled
def _work(p, band, u, memory, P):
    lost_t = 0.0
    lost_n = 0.0
    own = (0.0, 0.0)
    for a in range(P.n[0]):
        i = P.of[a]
        k = P.k[a]
        at = _place(P, a)
        v_x, v_y, omega = velocity(band.shape, band.rate, k, at.xi, at.w)
        v_x, v_y, _ = minus(carried(columns(u, i, 0), (at.a_x, at.a_y)), (v_x, v_y, 0.0))
        opening = v_y * at.t_x - v_x * at.t_y
        o = _first(P, a)
        t = -memory[i, o] * (v_x * at.t_x + v_y * at.t_y + at.h * omega)
        d = -memory[i, o + 1] * (opening if at.h > 0.0 else -opening)
        lost_t += t
        lost_n += d
        own = shared(own, band.shape[k, X] > p.x_mid, t + d)
    return lost_t, lost_n, own


@saddle_forces.of(Rigid)
@compiled
def _no_forces(p, band, el, s_R, f, N, memory, at, dt, lead):
    for i in range(p.N_E):
        at.shape[i, X] = band.shape[int(s_R[i]), X]
    return 0.0, 0.0, (0.0, 0.0)


@saddle_friction.of(Rigid)
@compiled
def _no_friction(p, band, u, f, N, memory, at, G):
    return


@saddle_energy.of(Rigid)
@compiled
def _no_energy(p, band, el, s_R):
    return 0.0


SADDLE = Contract(saddle_forces, saddle_friction, saddle_energy, rigid_contacts, rigid_work)
SADDLE.register(Unilateral, Bilateral, Rigid)
