"""Hybrid pushbelt model: planar elements and ring between spatial sheaves (Cebulla 2014, section 6.1).

The half-explicit time stepping of the source, section 2.7, eqs. (2.49)-(2.51):

    q+ = q + dt u,    active set {j: g_j(q+) <= 0},    u+ = u + M^-1 (h(u, q+) dt + W Lambda)

All contact laws here but `rigid` are flexible and regularised, so that Lambda = dt lambda(u, q+) is explicit, with two
exceptions that make the step independent of the steepness of friction: that of elements and ring is that of the slip at
the end of the step (`element_ring`), that of elements and sheaves is solved with u+ for each element (`flank`). The
coupled law of the sheaves needs the positions only. Mass matrices are constant; the ring's is lumped.

A step:  positions | ring shape | element-ring | element-element | flank points, Maxwell, normal forces | new velocities
of the ring, friction on it | new velocities of the elements | of the sheaves.

Stability. Stiff are the ring (l_R/N_B sqrt(rhoA/EA): 1.3e-6 s with 104 finite elements) and the joints
(2/sqrt(2 k_R/m_E + ...)). The thesis' 1e-6 s is for 220 elements and 104 ring nodes.

Multirate scheme. The ring costs an eighth of a step and limits it. With n_R = 2 it makes its own steps h = dt/n_R, the
elements, sheaves and all contacts dt = 2.5e-6 s. Between two evaluations of the contacts the ring keeps their loads in
the frames of its chords (`ring.to_chords`); the consequences for saddles and ears are in `element_ring`. n_R = 1 is the
explicit scheme of the source. A stiffer ring needs more steps (`ring_set.largest_step`).

Set-valued scheme. With `rigid.Rigid` saddles and ears are rigid, as in the source, and their Lambda is found at
the end of the step; the rest is the explicit scheme.

Energy. Forces do their work at the mean of old and new velocities, which makes the change of kinetic energy exact.
Every frame has the energies stored at its time and the works since the frame before: inputs positive into the belt,
losses positive. What remains, inputs - losses - change of stored energy, is the error of the scheme: the work of a
spring over a step is the trapezoidal rule of its potential.
Each spring, damper and friction records its own work, from its own force and its own relative velocity. The work
between elements and ring through saddles and ears is also summed from the forces on both, for each half of the belt:
around the belt these works cancel for any forces, and an error of one would not be visible in the whole.

Repetition is bit-identical, also across calls: sines and cosines are rotated from step to step and computed again at
each frame, the only place where calls begin and end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt import loop, vectors
from rtcvt.offline.pushbelt.compiled import compiled, spliced
from rtcvt.offline.pushbelt.contact import flank, ledger, maxwell, sheave
from rtcvt.offline.pushbelt.contact.element_element import Joint, joint, joint_energy, joint_forces
from rtcvt.offline.pushbelt.contact.element_ring import (
    Band,
    Bilateral,
    Touch,
    Unilateral,
    saddle,
    saddle_energy,
    saddle_forces,
    saddle_friction,
    shared,
)
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.contact.flank import ahead, contact_points, normal_forces, velocities
from rtcvt.offline.pushbelt.contact.friction import Coulomb
from rtcvt.offline.pushbelt.contact.layers import Plane, Sliding, layer_friction, layer_work
from rtcvt.offline.pushbelt.contact.maxwell import Coupled, Decoupled, newton
from rtcvt.offline.pushbelt.contact.rigid import FAILURE_ERROR, Flank, Rigid, rigid_contacts, rigid_work
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.planar.state import (
    ElementScratch,
    FlankScratch,
    Frames,
    JointScratch,
    Model,
    RingScratch,
    SaddleScratch,
    Scratch,
    SheaveScratch,
    State,
    frames,
    scratch,
    state,
)
from rtcvt.offline.pushbelt.ring import ring as ring_model
from rtcvt.offline.pushbelt.ring.ring import from_chords, to_chords
from rtcvt.offline.pushbelt.ring.ring_set import (
    advance,
    elastic_energy,
    forces,
    kinetic_energy,
    made,
    move,
    nodal,
    nodes,
    rate_of,
    shape_of,
)
from rtcvt.offline.pushbelt.unit.parameters import Belt, Sheaves
from rtcvt.offline.pushbelt.vectors import add, add_times, copy, zero

__all__ = [
    "INPUTS",
    "LOSSES",
    "STORED",
    "Frames",
    "Model",
    "Scratch",
    "State",
    "frames",
    "model",
    "residual",
    "run",
    "scratch",
    "state",
]

Array = NDArray[np.float64]

INPUTS = tuple(ledger.INPUTS.values())
LOSSES = tuple(ledger.LOSSES.values())
STORED = tuple(ledger.STORES.values())


def model(
    belt: Belt,
    sheaves: Sheaves,
    *,
    unilateral: bool = True,
    coupled: bool = True,
    friction: Any = None,
    layers: Any = None,
    load: Load | None = None,
    ring: str = "rcm",
    rotatory: float = 1.0,
    rigid: bool = False,
) -> Model:
    """The hybrid model of a belt between sheaves; by default under a torque alone.

    Parameters
    ----------
    belt, sheaves : Belt, Sheaves
    unilateral : bool
        Saddle and ear with play, else a bilateral saddle.
    coupled : bool
        Elements feel the sheave's deflection under all others, else each feels its own stiffness only.
    friction : law, optional
        Of the flanks (`friction`), by default Coulomb's with the belt's mu and v_mu.
    layers : Plane or Sliding, optional
        Of the ring set (`layers`), by default plane.
    load : Load, optional
        Of the secondary.
    ring, rotatory : str, float
        `rcm` or `cosserat`, and the factor of the latter's rotatory inertia (`cosserat`).
    rigid : bool
        Saddle and ear are rigid and their friction set-valued (`rigid`), with play, on a ring `rcm` without layers.
    """
    R = made(belt, ring, rotatory)
    law = Rigid if rigid else Unilateral if unilateral else Bilateral
    layers = layers or Plane()
    touching = law(*saddle(belt, R, layers.n if isinstance(layers, Sliding) else 0))
    deflection = (Coupled if coupled else Decoupled)(sheaves)
    friction = friction or Coulomb(belt.mu, belt.v_mu)
    return Model(belt, sheaves, joint(belt), R, touching, friction, deflection, load or Load(), layers)


def residual(out: Frames) -> tuple[float, float, float]:
    """Energy balance over the frames of `out`.

    Parameters
    ----------
    out : Frames
        At least two frames; the balance begins at the first.

    Returns
    -------
    float, float, float : inputs - losses - change of stored energy [J]; losses [J]; throughput [J], the largest of what
        the two shafts and the two clamping forces. The unaccounted work between elements and ring is in
        `Frames.rest`, by pulley; it is part of the first.
    """
    return ledger.residual(out.work, out.stored)


def run(
    m: Model, x: State, inputs: Array, steps: int, dt: float = 1e-6, n_p: int = 1, n_R: int = 1
) -> tuple[Frames, int]:
    """Run the explicit or the multirate scheme over plot steps.

    Parameters
    ----------
    m : Model
    x : State
        State at the start; afterwards that at the end.
    inputs : (n + 1, 7) array
        Boundary values (`parameters.boundary_at`) at the start and at the n plot steps, linear in between.
    steps : int
        Integration steps from one plot step to the next.
    dt : float
        Integration step [s].
    n_p : int
        Contact points per flank: 1 fixed point (simplified), 2 circles (extended).
    n_R : int
        Steps of the ring in each: 1 explicit, 2 multirate.

    Returns
    -------
    Frames, int
        Results at the n plot steps, and how many are valid: fewer than n if the belt left its place (a step that is too
        large, or clamping forces that are too small), or if rigid contacts were not solved (`rigid.FAILURE_ERROR`).
    """
    out = frames(m, len(inputs) - 1)
    return out, loop.advance(_run, m, x, scratch(m, x, n_p), inputs, steps, dt, n_R, out, out)


@compiled
def directions(q: Any, c: Any, s: Any) -> None:
    """Write cosine and sine (n,) of the angles q[:, 2] [rad]."""
    for i in range(c.size):
        c[i] = np.cos(q[i, 2])
        s[i] = np.sin(q[i, 2])


@compiled
def advance_ring(R: Any, shape: Any, held: Any, F_R: Any, u_R: Any, rate: Any, dt: float, x_mid: float) -> Any:
    """u_R += dt M^-1 F_R; returns the powers [W] of the loads `held` at the mean velocities, whose `rate` it leaves."""
    advance(R, F_R, u_R, 0.5 * dt)
    rate_of(R, u_R, shape, rate)
    advance(R, F_R, u_R, 0.5 * dt)
    return ring_model.power(R, shape, rate, held, x_mid)


@spliced
def step(m: Model, x: State, w: Scratch, b: Any, dt: float, n_R: int, book: Any, rest: Any) -> None:
    """One step.

    Parameters
    ----------
    m, x, w : Model, State (updated), Scratch
    b : (7) boundary values; dt : step [s], n_R: of them for the ring
    book, rest : record of `ledger.books`, (2) array of `Frames.rest`; added to
    """
    # each part gets the records that it needs: all of the scratch for each makes `_run` compile a quarter longer
    h = dt / n_R
    e, r, joints, c, flanks, sheaves = w
    band, el = Band(m.ring, r.shape, r.rate, r.load), Elements(x.q, x.u, e.cs, e.sn)
    vectors.move(3, x.q, x.u, e.cs, e.sn, dt)
    given = _drift(m, x, r, n_R, h, book)
    _move_ring(m, x, r, h)
    _move_sheaves(x.s, x.sd, dt)
    own = _touch_ring(m, x, band, el, e, c, dt, h, book)
    _touch_elements(m.joint, x, e, joints, dt, book)
    _touch_sheaves(m, x, el, flanks, dt)
    _advance_ring(m, x, r, h, book)
    _rub_ring(m, x, band, el, e, r, c, flanks, dt, n_R)
    _advance_elements(m, x, el, e, flanks, dt, book)
    _settle_ring(m, x, band, e, r, c, dt, h, given, own, book, rest)
    _advance_sheaves(m, x, sheaves, flanks.reaction, b, dt, book)


@spliced
def _move_ring(m: Model, x: State, w: RingScratch, h: float) -> None:
    """Positions of the ring; its shape, and its rates there."""
    move(m.ring, x.q_R, x.u_R, w.cs, w.sn, h)
    shape_of(m.ring, x.q_R, w.cs, w.sn, w.shape)
    rate_of(m.ring, x.u_R, w.shape, w.rate)


@spliced
def _drift(m: Model, x: State, w: RingScratch, n_R: int, h: float, book: Any) -> Any:
    """All steps of the ring but the last, alone, under its constant loads; returns their work [J], at the primary and
    at the secondary."""
    given_I = 0.0
    given_O = 0.0
    for _ in range(n_R - 1):
        _move_ring(m, x, w, h)
        from_chords(m.ring, w.shape, x.held, w.load)
        p_axial, p_bend = forces(m.ring, x.q_R, x.u_R, w.cs, w.sn, w.shape, w.rate, w.load, w.F, w.tension)
        P_I, P_O = advance_ring(m.ring, w.shape, x.held, w.F, x.u_R, w.rate, h, m.saddle.x_mid)
        given_I += h * P_I
        given_O += h * P_O
        book.ring_axial += h * p_axial
        book.ring_bending += h * p_bend
    return given_I, given_O


@compiled
def _move_sheaves(s: Any, sd: Any, dt: float) -> None:
    for k in range(2):
        for a in range(4):
            s[k, a] += dt * sd[k, a]


@spliced
def _touch_ring(
    m: Model, x: State, band: Band, el: Elements, e: ElementScratch, c: SaddleScratch, dt: float, h: float, book: Any
) -> Any:
    """Saddles and ears, with the friction of the last step; returns their losses and stored energies [J], at the two
    pulleys."""
    zero(e.f_R)
    zero(x.held)
    c.touch.turn[0] = x.turn[0]
    lost_t, lost_n, own = saddle_forces(m.saddle, band, el, x.s_R, e.f_R, c.N, x.memory, c.touch, dt, 0.5 * (dt - h))
    book.element_ring_friction += lost_t
    book.element_ring_damping += lost_n
    return own


@spliced
def _touch_elements(J: Joint, x: State, e: ElementScratch, c: JointScratch, dt: float, book: Any) -> None:
    """Contacts between elements."""
    zero(e.f)
    book.element_element_damping += joint_forces(J, x.q, x.u, e.cs, e.sn, e.f, c.N, x.damper, c.pair, c.wrench, dt)


@spliced
def _touch_sheaves(m: Model, x: State, el: Elements, flanks: FlankScratch, dt: float) -> None:
    """Flank points, deflection of the sheaves and normal forces."""
    contact_points(m.belt, m.sheaves, el, x.s, flanks.points)
    newton(m.deflection, m.belt, flanks.points, flanks.deflection, 1)
    normal_forces(m.belt, dt, el, x.s, x.sd, flanks.points)


@spliced
def _advance_ring(m: Model, x: State, w: RingScratch, h: float, book: Any) -> None:
    """New velocities of the ring without the change by friction of saddles and ears; the ring keeps their loads."""
    copy(x.u_R, w.u)
    to_chords(m.ring, w.shape, w.load, x.held)
    p_axial, p_bend = forces(m.ring, x.q_R, x.u_R, w.cs, w.sn, w.shape, w.rate, w.load, w.F, w.tension)
    advance(m.ring, w.F, x.u_R, h)
    rate_of(m.ring, x.u_R, w.shape, w.rate)
    book.ring_axial += h * p_axial
    book.ring_bending += h * p_bend


@spliced
def _rub_ring(
    m: Model, x: State, band: Band, el: Elements, e: ElementScratch, r: RingScratch, c: SaddleScratch,
    flanks: FlankScratch, dt: float, n_R: int,
) -> None:  # fmt: skip
    """Friction of saddles and ears, at the velocities to which that of the last step leads; rigid saddles and ears; the
    layers' friction; new velocities of the ring."""
    ahead(m.belt, dt, x.u, e.f, e.f_R, x.rub, flanks.points, e.u)
    resist = dt * (n_R * m.saddle.W_E + m.saddle.W_R)
    saddle_friction(m.saddle, band, e.u, e.f_R, c.N, x.memory, c.touch, resist)
    flank = Flank(m.belt, m.friction, flanks.points, flanks.find)
    rigid_contacts(m.saddle, band, el, flank, dt, x.s_R, e.f, e.f_R, c.N, x.memory, c.press)
    layer_friction(m.layers, m.saddle, band, c.N, x.memory, c.touch, x.turn, dt)
    to_chords(m.ring, r.shape, r.load, x.held)
    nodal(m.ring, r.shape, r.load, r.F)
    advance(m.ring, r.F, x.u_R, dt / n_R)


@spliced
def _advance_elements(
    m: Model, x: State, el: Elements, e: ElementScratch, flanks: FlankScratch, dt: float, book: Any
) -> None:
    """New velocities of the elements, with the friction of the flanks; their mean over the step."""
    points, find, _, reaction, loss = flanks
    add(e.f_R, e.f)
    copy(x.u, e.u)
    velocities(m.belt, m.friction, dt, el, e.f, x.s, points, find, x.rub, reaction, loss)
    _middle(x.u, e.u)
    ledger.book_flanks(book, dt, loss)


@spliced
def _settle_ring(
    m: Model, x: State, band: Band, e: ElementScratch, r: RingScratch, c: SaddleScratch, dt: float, h: float,
    given: Any, own: Any, book: Any, rest: Any,
) -> None:  # fmt: skip
    """Works of elements and ring on each other at their mean velocities: of `given` and these, the part that is neither
    stored nor lost, `own`."""
    E_I, E_O = _powers(e.f_R, e.u, c.touch, m.saddle.x_mid)
    _middle(x.u_R, r.u)
    rate_of(m.ring, r.u, r.shape, r.rate)
    R_I, R_O = ring_model.power(m.ring, r.shape, r.rate, x.held, m.saddle.x_mid)
    own_I, own_O = layer_work(m.layers, m.saddle, band, c.N, x.memory, c.touch, x.turn, dt, own, book)
    rubbed, struck, P = rigid_work(m.saddle, band, e.u, x.memory, c.press)
    book.element_ring_friction += dt * rubbed
    book.element_ring_damping += dt * struck
    rest[0] -= given[0] + dt * E_I + h * R_I + (own_I + dt * P[0])
    rest[1] -= given[1] + dt * E_O + h * R_O + (own_O + dt * P[1])


@spliced
def _advance_sheaves(m: Model, x: State, c: SheaveScratch, reaction: Any, b: Any, dt: float, book: Any) -> None:
    """New velocities of the sheaves."""
    sheave.advance(m.sheaves, m.load, True, b, dt, (x.s,), (x.sd,), x.load, (reaction,), c.out, c.power)
    ledger.book_sheaves(book, dt, c.power)


@compiled
def _middle(a: Any, b: Any) -> None:
    """b = (a + b)/2."""
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            b[i, j] = 0.5 * (a[i, j] + b[i, j])


@compiled
def _powers(f: Any, u: Any, at: Touch, x_mid: float) -> Any:
    """Powers [W] of the ring's forces f (N_E, 3) on the elements: on the ring beyond `x_mid` [m], and before."""
    found = (0.0, 0.0)
    for i in range(f.shape[0]):
        power = f[i, 0] * u[i, 0] + f[i, 1] * u[i, 1] + f[i, 2] * u[i, 2]
        found = shared(found, at.shape[i, 0] > x_mid, power)
    return found


@compiled
def frame(m: Model, x: State, w: Scratch, n: int, out: Frames, stock: Any) -> bool:
    """Write frame n; whether the belt is where it should be."""
    e = w.elements
    r = w.ring
    fl = w.flanks.points
    copy(x.q, out.q[n])
    copy(x.u, out.u[n])
    copy(x.s, out.s[n])
    copy(x.sd, out.sd[n])
    copy(w.joints.N, out.joint[n])
    side_frame(m.ring, x, r, w.saddles.N, fl, 1.0, n, out)
    stock.elements = vectors.kinetic((m.belt.m_E, m.belt.m_E, m.belt.J_E), x.u)
    stock.ring = kinetic_energy(m.ring, x.u_R) + 0.5 * m.layers.I * x.turn[0] ** 2
    stock.sheaves = sheave.energy(m.sheaves, True, (x.s,), (x.sd,))
    stock.load = sheave.load_energy(m.load, x.load)
    stock.ring_axial, stock.ring_bending = elastic_energy(m.ring, x.q_R, r.cs, r.sn, r.shape)
    stock.joints = joint_energy(m.joint, x.q, e.cs, e.sn)
    stock.saddles = saddle_energy(
        m.saddle, Band(m.ring, r.shape, r.rate, r.load), Elements(x.q, x.u, e.cs, e.sn), x.s_R
    )
    stock.flanks = flank.energy(m.belt, fl)
    stock.deflection = maxwell.energy(m.deflection, w.flanks.deflection)
    count_joints(w.joints.N, out.active[n])
    return _placed(x.q, 2.0 * m.belt.d_A) and not w.saddles.press.found[0] > FAILURE_ERROR


@compiled
def side_frame(R: Any, x: Any, r: RingScratch, N: Any, fl: Any, share: float, n: int, out: Frames) -> None:
    """Add the part of one side with the state x, of ring, saddles (forces N) and flanks, to frame n.

    Forces on elements by the ring and its tension are added whole, others with the side's `share`; places on the ring
    are those of the side that is added last.
    """
    nodes(R, x.q_R, x.u_R, r.cs, r.sn, r.shape, r.rate, r.beam[0], r.beam[1])
    add_times(share, r.beam[0], out.q_R[n])
    add_times(share, r.beam[1], out.u_R[n])
    add_times(1.0, N, out.saddle[n])
    add_times(share, fl.force, out.flank[n])
    add_times(share, x.z, out.deflection[n])
    for k in range(r.tension.size):
        out.tension[n, k] += r.tension[k]
    for i in range(x.s_R.size):
        out.s_R[n, i] = x.s_R[i]
    count(N, fl, out.active[n])


@compiled
def count_joints(N: Any, active: Any) -> None:
    """Add the closed contacts between elements."""
    for i in range(N.shape[0]):
        for a in range(N.shape[1]):
            if N[i, a] > 0.0:
                active[0] += 1


@compiled
def count(N: Any, fl: Any, active: Any) -> None:
    """Add the closed contacts of elements with a ring and with the sheaves of a side."""
    for i in range(N.shape[0]):
        if N[i, 0] != 0.0 or N[i, 1] != 0.0:
            active[1] += 1
        for k in range(fl.N.shape[1]):
            if fl.pulley[i] >= 0 and fl.N[i, k] > 0.0:
                active[2] += 1


@compiled
def _placed(q: Any, reach: float) -> bool:
    """Whether all elements are nearer than `reach` [m]."""
    well = True
    for i in range(q.shape[0]):
        well = well and abs(q[i, 0]) < reach and abs(q[i, 1]) < reach
    return well


@spliced
def _settle(m: Model, x: State, w: Scratch) -> None:
    """The deflections that belong to a new state."""
    e, fl, mx = w.elements, w.flanks.points, w.flanks.deflection
    if mx.r[0] == 0.0 and mx.r[1] == 0.0:
        directions(x.q, e.cs, e.sn)
        contact_points(m.belt, m.sheaves, Elements(x.q, x.u, e.cs, e.sn), x.s, fl)
        newton(m.deflection, m.belt, fl, mx, 20)


@spliced
def _begin(m: Model, x: State, w: Scratch) -> None:
    """Sines and cosines."""
    directions(x.q, w.elements.cs, w.elements.sn)
    directions(x.q_R, w.ring.cs, w.ring.sn)


_run = loop.run_loop(_settle, _begin, step, frame)
