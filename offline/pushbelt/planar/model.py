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
(2/sqrt(2 k_R/m_E + ...)). The thesis' 1e-6 s holds for 220 elements and 104 ring nodes.

Multirate scheme. The ring costs an eighth of a step and bounds it. With n_R = 2 it takes its own steps h = dt/n_R, the
elements, sheaves and all contacts dt = 2.5e-6 s. Between two evaluations of the contacts the ring keeps their loads in
the frames of its chords (`ring.to_chords`); what that asks of saddles and ears is in `element_ring`. n_R = 1 is the
explicit scheme of the source. A stiffer ring takes more steps (`ring_set.largest_step`).

Set-valued scheme. With `rigid.Rigid` saddles and ears are rigid, as the source has them, and their Lambda is found at
the end of the step; the rest is the explicit scheme.

Energy. Forces do their work at the mean of old and new velocities, which makes the change of kinetic energy exact.
Every frame holds the energies stored at its time and the works since the frame before: inputs positive into the belt,
losses positive. What remains, inputs - losses - change of stored energy, is the error of the scheme: the work of a
spring over a step is the trapezoidal rule of its potential.
Every spring, damper and friction books its own work, from its own force and its own relative velocity. What elements
and ring give each other through saddles and ears is also summed from the forces on both, for each half of the belt:
around the belt these works cancel, whatever the forces are, and an error of one would not be seen in the whole.

Repetition is bit-identical, also across calls: sines and cosines are turned from step to step and made anew at each
frame, which is where a call may end and another begin.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import columns, compiled, spliced
from rtcvt.offline.pushbelt.contact import element_element, element_ring, flank, ledger, maxwell, sheave
from rtcvt.offline.pushbelt.contact.element_element import Joint, joint, joint_energy, joint_forces
from rtcvt.offline.pushbelt.contact.element_ring import (
    Bilateral,
    Touch,
    Unilateral,
    saddle,
    saddle_energy,
    saddle_forces,
    saddle_friction,
    touch,
)
from rtcvt.offline.pushbelt.contact.flank import Flanks, ahead, contact_points, flanks, normal_forces, velocities
from rtcvt.offline.pushbelt.contact.friction import flank_friction
from rtcvt.offline.pushbelt.contact.layers import Layers, layer_friction, layer_work, layers
from rtcvt.offline.pushbelt.contact.maxwell import Coupled, Decoupled, Maxwell, newton
from rtcvt.offline.pushbelt.contact.rigid import WRONG, Press, Rigid, press, rigid_contacts, rigid_work
from rtcvt.offline.pushbelt.contact.sheave import Damper
from rtcvt.offline.pushbelt.ring import ring as ring_model
from rtcvt.offline.pushbelt.ring.ring import from_chords, to_chords, turned
from rtcvt.offline.pushbelt.ring.ring_set import (
    advance,
    coordinates,
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

__all__ = [
    "INPUTS",
    "LOSSES",
    "STORED",
    "Frames",
    "Model",
    "State",
    "frames",
    "model",
    "residual",
    "run",
    "state",
]

Array = NDArray[np.float64]

INPUTS = tuple(ledger.INPUTS.values())
LOSSES = tuple(ledger.LOSSES.values())
STORED = tuple(ledger.STORES.values())


class Model(NamedTuple):
    """What does not change during a run; the laws of contact are chosen here, by their types, and compiled in.

    ring: `ring.Ring` or `cosserat.Cosserat`; saddle: `element_ring.Unilateral`, `Bilateral` or `rigid.Rigid`; friction:
    of the flanks, `friction.Coulomb` or `Stribeck`; deflection: of the sheaves, `maxwell.Coupled` or `Decoupled`;
    damper: on the shaft of the secondary.
    """

    belt: Belt
    sheaves: Sheaves
    joint: Joint
    ring: Any
    saddle: Any
    friction: Any
    deflection: Any
    damper: Damper
    layers: Layers


class State(NamedTuple):
    """State of belt and sheaves, updated in place; enough to continue a run bit by bit.

    q, u (N_E, 3) elements: x, y, phi of the centre of gravity and their rates; q_R, u_R (N_B, n) ring: x, y, phi, c_L,
    c_R of its nodes, or x, y, gamma of a Cosserat rod; s_R (N_E) arc coordinate of each saddle on the ring [finite
    elements]; s, sd (2, 4) sheaves of pulley I and O: z, two tilts, rotation; z (2, 2 n_k + 1), r (2) deflection and
    mean radius of the coupled law; damper (N_E, 6) and memory (N_E, 11) what joints, saddles and ears need of the last
    step; ring (1) speed of the ring of the secondary's damper; held (N_B, 9) load of the ring from the last step
    (`ring.to_chords`); rub (N_E, 3) friction of the flanks on each element in it [N, N, N m]; turn (1) round run of the
    ring's layers [rad/s] (`layers`). Lengths in m, angles in rad, SI rates. Arrays are contiguous along the elements or
    nodes (`compiled.columns`).
    """

    q: Array
    u: Array
    q_R: Array
    u_R: Array
    s_R: Array
    s: Array
    sd: Array
    z: Array
    r: Array
    damper: Array
    memory: Array
    ring: Array
    held: Array
    rub: Array
    turn: Array


class Frames(NamedTuple):
    """Results at n plot steps.

    q, u (n, N_E, 3), s_R (n, N_E), s, sd (n, 2, 4): as `State`; q_R, u_R (n, N_B, 5): nodes of the ring, of a Cosserat
    rod those of the beam with its contour (`ring_set.nodes`);
    joint (n, N_E, 6): forces between element i and i + 1 [N], order `element_element.CONTACTS`;
    saddle (n, N_E, 3): saddle, ear, friction on the element in the direction of travel [N];
    flank (n, N_E, 3): normal, longitudinal, radial force on one flank [N];
    tension (n, N_B) of the finite elements [N]; pulley (n, 2, 6): outputs of `sheave.advance`, mean since the last
    frame;
    deflection (n, 2, 2 n_k + 1): Fourier coefficients of the sheaves [m];
    work (n, 15): `ledger.WORKS` since the last frame [J]; stored (n, 9): `ledger.STORES` [J];
    rest (n, 2): what elements and ring gave each other since the last frame and neither stored nor lost, at the primary
    and the secondary [J];
    active (n, 3): closed element-element, element-ring, flank contacts.
    """

    q: Array
    u: Array
    q_R: Array
    u_R: Array
    s_R: Array
    s: Array
    sd: Array
    joint: Array
    saddle: Array
    flank: Array
    tension: Array
    pulley: Array
    deflection: Array
    work: Array
    stored: Array
    rest: Array
    active: NDArray[np.int64]


class Scratch(NamedTuple):
    """Work arrays of a run. Nothing in them is kept from one call to the next.

    `mx.z` and `mx.r` are the exception: they are the arrays z and r of the state, which kernels read and write here.
    """

    fl: Flanks
    mx: Maxwell
    cs: Array
    sn: Array
    cs_R: Array
    sn_R: Array
    shape: Array
    rate: Array
    load: Array
    f: Array
    f_R: Array
    F_R: Array
    tension: Array
    N_joint: Array
    pair: Array
    wrench: Array
    N_saddle: Array
    touch: Touch
    reaction: Array
    flank_power: Array
    pulley: Array
    sheave_power: Array
    u_end: Array
    u_R0: Array
    press: Press


def model(
    belt: Belt,
    sheaves: Sheaves,
    *,
    unilateral: bool = True,
    coupled: bool = True,
    damper: Damper | None = None,
    ring: str = "rcm",
    rotatory: float = 1.0,
    rigid: bool = False,
) -> Model:
    """The hybrid model of a belt between sheaves; by default without a damper.

    Parameters
    ----------
    belt, sheaves : Belt, Sheaves
    unilateral : bool
        Saddle and ear with play, else a bilateral saddle.
    coupled : bool
        Elements feel the sheave's deflection under all others, else each feels its own stiffness only.
    damper : Damper, optional
        On the shaft of the secondary.
    ring, rotatory : str, float
        `rcm` or `cosserat`, and the factor of the latter's rotatory inertia (`cosserat`).
    rigid : bool
        Saddle and ear are rigid and their friction set-valued (`rigid`), with play, on a ring `rcm` without layers.
    """
    R = made(belt, ring, rotatory)
    law = Rigid if rigid else Unilateral if unilateral else Bilateral
    touching = law(*saddle(belt, R))
    deflection = (Coupled if coupled else Decoupled)(sheaves)
    return Model(
        belt, sheaves, joint(belt), R, touching, flank_friction(belt), deflection, damper or Damper(), layers(belt)
    )


def state(q: Array, u: Array, q_R: Array, u_R: Array, s_R: Array, s: Array, sd: Array, n_k: int) -> State:
    """A state from positions and velocities; `n_k` harmonics of the sheaves' deflection, which starts at zero.

    Parameters
    ----------
    q, u : (N_E, 3); q_R, u_R : (N_B, 5); s_R : (N_E); s, sd : (2, 4), see `State`; copied
    """
    N_E = len(q)
    return State(
        *(np.array(a, dtype=float, order="F") for a in (q, u, q_R, u_R, s_R)),  # type: ignore[misc]
        s=np.array(s, dtype=float, order="C"),
        sd=np.array(sd, dtype=float, order="C"),
        z=np.zeros((2, 2 * n_k + 1)),
        r=np.zeros(2),
        damper=columns(N_E, 6),
        memory=columns(N_E, element_ring.N_MEMORY),
        ring=np.array([sd[1, 3]]),
        held=columns(len(q_R), ring_model.N_LOAD),
        rub=columns(N_E, 3),
        turn=np.zeros(1),
    )


def frames(m: Model, n: int) -> Frames:
    """Empty results for `n` plot steps."""
    N_E, N_B = m.belt.N_E, m.belt.N_B
    return Frames(
        q=np.zeros((n, N_E, 3)),
        u=np.zeros((n, N_E, 3)),
        q_R=np.zeros((n, N_B, ring_model.NQ)),
        u_R=np.zeros((n, N_B, ring_model.NQ)),
        s_R=np.zeros((n, N_E)),
        s=np.zeros((n, 2, 4)),
        sd=np.zeros((n, 2, 4)),
        joint=np.zeros((n, N_E, len(element_element.CONTACTS))),
        saddle=np.zeros((n, N_E, 3)),
        flank=np.zeros((n, N_E, 3)),
        tension=np.zeros((n, N_B)),
        pulley=np.zeros((n, 2, 6)),
        deflection=np.zeros((n, 2, 2 * len(m.sheaves.A) - 1)),
        work=np.zeros((n, len(ledger.WORKS))),
        stored=np.zeros((n, len(ledger.STORES))),
        rest=np.zeros((n, 2)),
        active=np.zeros((n, 3), dtype=np.int64),
    )


def residual(out: Frames) -> tuple[float, float, float]:
    """Energy balance over the frames of `out`.

    Parameters
    ----------
    out : Frames
        At least two frames; the balance begins at the first.

    Returns
    -------
    float, float, float : inputs - losses - change of stored energy [J]; losses [J]; throughput [J], the largest of what
        the two shafts and the two clamping forces carry. What is unaccounted for between elements and ring is in
        `Frames.rest`, by pulley; it is part of the first.
    """
    return ledger.residual(out.work, out.stored)


def scratch(m: Model, x: State, n_p: int) -> Scratch:
    """Working arrays; `n_p` = 1 for the simplified flank contact, 2 for the extended one."""
    N_E, N_B = m.belt.N_E, m.belt.N_B
    return Scratch(
        fl=flanks(N_E, n_p),
        mx=maxwell.maxwell((x.z.shape[1] - 1) // 2, N_E * n_p)._replace(z=x.z, r=x.r),
        cs=np.zeros(N_E),
        sn=np.zeros(N_E),
        cs_R=np.zeros(N_B),
        sn_R=np.zeros(N_B),
        shape=columns(N_B, ring_model.N_SHAPE),
        rate=columns(N_B, ring_model.N_RATE),
        load=columns(N_B, ring_model.N_LOAD),
        f=columns(N_E, 3),
        f_R=columns(N_E, 3),
        F_R=columns(N_B, coordinates(m.ring)),
        tension=np.zeros(N_B),
        N_joint=columns(N_E, len(element_element.CONTACTS)),
        pair=columns(N_E, 9),
        wrench=columns(N_E, 4),
        N_saddle=columns(N_E, 3),
        touch=touch(N_E),
        reaction=np.zeros((2, 4)),
        flank_power=np.zeros((2, 3)),
        pulley=np.zeros((2, 6)),
        sheave_power=np.zeros((2, 4)),
        u_end=columns(N_E, 3),
        u_R0=columns(N_B, coordinates(m.ring)),
        press=press(m.saddle, m.belt),
    )


def run(
    m: Model, x: State, inputs: Array, steps: int, dt: float = 1e-6, n_p: int = 1, n_R: int = 1
) -> tuple[Frames, int]:
    """Run the explicit or the multirate scheme over plot steps.

    Parameters
    ----------
    m : Model
    x : State
        Start; holds the end afterwards.
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
        large, or clamping forces that do not hold the belt), or if rigid contacts were not solved (`rigid.WRONG`).
    """
    inputs = np.ascontiguousarray(inputs, dtype=float)
    out = frames(m, len(inputs) - 1)
    books, stocks = ledger.books(out.work), ledger.stocks(out.stored)
    done = _run(m, x, scratch(m, x, n_p), inputs, steps, dt, n_R, out, books, stocks)
    return out, int(done)


@compiled
def directions(q: Any, c: Any, s: Any) -> None:
    """Write cosine and sine (n,) of the angles q[:, 2] [rad]."""
    for i in range(c.size):
        c[i] = np.cos(q[i, 2])
        s[i] = np.sin(q[i, 2])


@compiled
def move_elements(q: Any, u: Any, c: Any, s: Any, dt: float) -> None:
    """q += dt u, with cosine and sine of the angle."""
    for i in range(c.size):
        q[i, 0] += dt * u[i, 0]
        q[i, 1] += dt * u[i, 1]
        turn = dt * u[i, 2]
        q[i, 2] += turn
        c[i], s[i] = turned(c[i], s[i], turn)


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
    # unpack once: attribute access on large records slows compilation
    belt, sheaves, J, R, touching, friction, deflection, shaft, bands = m
    q, u, q_R, u_R, s_R, s, sd, _, _, damper, memory, turning, held, rub, turn = x
    fl, mx, cs, sn, cs_R, sn_R, shape, rate, load, f, f_R, F_R, tension, N_joint, pair = w[:15]
    wrench, N_saddle, at, reaction, loss, pulley, power, u_end, u_R0, pressed = w[15:]
    move_elements(q, u, cs, sn, dt)
    h = dt / n_R
    lead = 0.5 * (dt - h)
    x_mid = touching.x_mid
    given_I = 0.0  # to elements and ring by the forces between them, at the primary and the secondary
    given_O = 0.0
    for _ in range(n_R - 1):
        move(R, q_R, u_R, cs_R, sn_R, h)
        shape_of(R, q_R, cs_R, sn_R, shape)
        rate_of(R, u_R, shape, rate)
        from_chords(R, shape, held, load)
        p_axial, p_bend = forces(R, q_R, u_R, cs_R, sn_R, shape, rate, load, F_R, tension)
        P_I, P_O = advance_ring(R, shape, held, F_R, u_R, rate, h, x_mid)
        given_I += h * P_I
        given_O += h * P_O
        book.ring_axial += h * p_axial
        book.ring_bending += h * p_bend
    move(R, q_R, u_R, cs_R, sn_R, h)
    for k in range(2):
        for a in range(4):
            s[k, a] += dt * sd[k, a]
    _zero(f)
    _zero(f_R)
    _zero(held)
    at.turn[0] = turn[0]
    shape_of(R, q_R, cs_R, sn_R, shape)
    rate_of(R, u_R, shape, rate)
    lost_t, lost_n, own_I, own_O = saddle_forces(
        touching, R, q, u, cs, sn, s_R, shape, rate, load, f_R, N_saddle, memory, at, dt, lead
    )
    lost_j = joint_forces(J, q, u, cs, sn, f, N_joint, damper, pair, wrench, dt)
    contact_points(belt, sheaves, q, cs, sn, s, fl)
    newton(deflection, belt, fl, mx, 1)
    normal_forces(belt, dt, u, s, sd, fl)
    # friction of saddles and ears, at the velocities to which that of the last step leads
    _copy2(u_R, u_R0)
    to_chords(R, shape, load, held)
    p_axial, p_bend = forces(R, q_R, u_R, cs_R, sn_R, shape, rate, load, F_R, tension)
    advance(R, F_R, u_R, h)
    rate_of(R, u_R, shape, rate)
    ahead(belt, dt, u, f, f_R, rub, fl, u_end)
    resist = dt * (n_R * touching.W_E + touching.W_R)
    saddle_friction(touching, R, u_end, shape, rate, load, f_R, N_saddle, memory, at, resist)
    rigid_contacts(
        touching, R, belt, friction, dt, q, u, cs, sn, s_R, shape, rate, load, f, f_R, fl, N_saddle, memory, pressed
    )
    if bands.I > 0.0:
        layer_friction(bands, touching, R, shape, rate, load, N_saddle, memory, at, turn, dt)
    to_chords(R, shape, load, held)
    nodal(R, shape, load, F_R)
    advance(R, F_R, u_R, h)
    for a in range(3):
        for i in range(cs.size):
            f[i, a] += f_R[i, a]
    _copy2(u, u_end)
    velocities(belt, friction, dt, u, f, s, fl, rub, reaction, loss)
    _middle(u, u_end)
    P_I, P_O = _powers(f_R, u_end, at, x_mid)
    given_I += dt * P_I
    given_O += dt * P_O
    _middle(u_R, u_R0)
    rate_of(R, u_R0, shape, rate)
    P_I, P_O = ring_model.power(R, shape, rate, held, x_mid)
    if bands.I > 0.0:
        lost, P_bands_I, P_bands_O = layer_work(
            touching, R, shape, rate, N_saddle, memory, at, 0.5 * (at.turn[0] + turn[0])
        )
        book.layer_friction += dt * lost
        own_I += dt * P_bands_I
        own_O += dt * P_bands_O
    rubbed, struck, P_rigid_I, P_rigid_O = rigid_work(touching, shape, rate, u_end, memory, pressed)
    lost_t += dt * rubbed
    lost_n += dt * struck
    own_I += dt * P_rigid_I
    own_O += dt * P_rigid_O
    rest[0] -= given_I + h * P_I + own_I
    rest[1] -= given_O + h * P_O + own_O
    sheave.advance(sheaves, shaft, b, dt, s, sd, turning, reaction, pulley, power)
    book.clamping_I += dt * power[0, 0]
    book.clamping_O += dt * power[1, 0]
    book.shaft_I += dt * power[0, 1]
    book.shaft_O += dt * power[1, 1]
    book.element_element_damping += lost_j
    book.element_ring_damping += lost_n
    book.element_ring_friction += lost_t
    book.flank_longitudinal += dt * (loss[0, 0] + loss[1, 0])
    book.flank_radial += dt * (loss[0, 1] + loss[1, 1])
    book.flank_damping += dt * (loss[0, 2] + loss[1, 2])
    book.ring_axial += h * p_axial
    book.ring_bending += h * p_bend
    book.sheave_axial += dt * (power[0, 2] + power[1, 2])
    book.sheave_tilt += dt * (power[0, 3] + power[1, 3])


@compiled
def _copy2(a: Any, b: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j]


@compiled
def _zero(a: Any) -> None:
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = 0.0


@compiled
def _middle(a: Any, b: Any) -> None:
    """b = (a + b)/2."""
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            b[i, j] = 0.5 * (a[i, j] + b[i, j])


@compiled
def _powers(f: Any, u: Any, at: Touch, x_mid: float) -> Any:
    """Powers [W] of the ring's forces f (N_E, 3) on the elements: on the ring beyond `x_mid` [m], and before."""
    beyond = 0.0
    before = 0.0
    for i in range(f.shape[0]):
        power = f[i, 0] * u[i, 0] + f[i, 1] * u[i, 1] + f[i, 2] * u[i, 2]
        beyond += power if at.shape[i, 0] > x_mid else 0.0
        before += 0.0 if at.shape[i, 0] > x_mid else power
    return beyond, before


@compiled
def frame(m: Model, x: State, w: Scratch, n: int, out: Frames, stock: Any) -> bool:
    """Write frame n; whether the belt is where it should be."""
    belt, sheaves, J, R, touching, _, deflection, _, bands = m
    q, u, q_R, u_R, s_R, s, sd = x[:7]
    fl, mx, cs, sn, _, _, shape, _, _, _, _, _, tension, N_joint, _, _, N_saddle, _, _, _, _, _, _, _, _ = w
    _copy2(q, out.q[n])
    _copy2(u, out.u[n])
    nodes(R, q_R, u_R, w.cs_R, w.sn_R, shape, w.rate, out.q_R[n], out.u_R[n])
    _copy2(s, out.s[n])
    _copy2(sd, out.sd[n])
    _copy2(N_joint, out.joint[n])
    _copy2(N_saddle, out.saddle[n])
    _copy2(fl.force, out.flank[n])
    _copy2(mx.z, out.deflection[n])
    places = out.s_R[n]
    for i in range(belt.N_E):
        places[i] = s_R[i]
    tensions = out.tension[n]
    for k in range(belt.N_B):
        tensions[k] = tension[k]

    kinetic = 0.0
    for i in range(belt.N_E):
        kinetic += belt.m_E * (u[i, 0] ** 2 + u[i, 1] ** 2) + belt.J_E * u[i, 2] ** 2
    stock.elements = 0.5 * kinetic
    stock.ring = kinetic_energy(R, u_R) + 0.5 * bands.I * x.turn[0] ** 2
    stock.sheaves = sheave.energy(sheaves, s, sd)
    stock.ring_axial, stock.ring_bending = elastic_energy(R, q_R, w.cs_R, w.sn_R, shape)
    stock.joints = joint_energy(J, q, cs, sn)
    stock.saddles = saddle_energy(touching, R, q, cs, sn, s_R, shape)
    stock.flanks = flank.energy(belt, fl)
    stock.deflection = maxwell.energy(deflection, mx)

    active = out.active[n]
    near = fl.pulley
    N_flank = fl.N
    reach = 2.0 * belt.d_A
    well = not w.press.found[0] > WRONG
    for i in range(belt.N_E):
        for a in range(N_joint.shape[1]):
            if N_joint[i, a] > 0.0:
                active[0] += 1
        if N_saddle[i, 0] != 0.0 or N_saddle[i, 1] != 0.0:
            active[1] += 1
        for k in range(N_flank.shape[1]):
            if near[i] >= 0 and N_flank[i, k] > 0.0:
                active[2] += 1
        well = well and abs(q[i, 0]) < reach and abs(q[i, 1]) < reach
    return well


@compiled
def _run(
    m: Model, x: State, w: Scratch, inputs: Any, steps: int, dt: float, n_R: int, out: Frames, books: Any, stocks: Any
) -> int:
    if w.mx.r[0] == 0.0 and w.mx.r[1] == 0.0:  # a new state: the deflections that belong to it
        directions(x.q, w.cs, w.sn)
        contact_points(m.belt, m.sheaves, x.q, w.cs, w.sn, x.s, w.fl)
        newton(m.deflection, m.belt, w.fl, w.mx, 20)
    b = np.zeros(7)
    share = 1.0 / steps
    mean = out.pulley
    pulley = w.pulley
    for n in range(inputs.shape[0] - 1):
        directions(x.q, w.cs, w.sn)
        directions(x.q_R, w.cs_R, w.sn_R)
        book = books[n]
        rest = out.rest[n]
        for i in range(steps):
            part = (i + 1.0) * share
            for a in range(7):
                b[a] = inputs[n, a] + part * (inputs[n + 1, a] - inputs[n, a])
            step(m, x, w, b, dt, n_R, book, rest)
            for p in range(2):
                for a in range(6):
                    mean[n, p, a] += pulley[p, a] * share
        if not frame(m, x, w, n, out, stocks[n]):
            return n
    return inputs.shape[0] - 1
