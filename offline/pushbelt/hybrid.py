"""Hybrid pushbelt model: planar elements and ring between spatial sheaves (Cebulla 2014, section 6.1).

The half-explicit time stepping of the source, section 2.7, eqs. (2.49)-(2.51):

    q+ = q + dt u,    active set {j: g_j(q+) <= 0},    u+ = u + M^-1 (h(u, q+) dt + W Lambda)

All contact laws here are flexible and regularised, so that Lambda = dt lambda(u, q+) is explicit, with two exceptions
that make the step independent of the steepness of friction: element-ring friction is divided by what it could do in the
step, element-sheave friction is solved with u+ for each element (`flank`). The coupled law of the sheaves needs the
positions only. Mass matrices are constant; the ring's is lumped.

A step:  positions | ring shape | element-ring | element-element | flank points, Maxwell, normal forces | new velocities
of the elements | of the ring | of the sheaves.

Stability. Stiff are the ring (l_R/N_B sqrt(rhoA/EA): 1.3e-6 s with 104 finite elements) and the joints
(2/sqrt(2 k_R/m_E + ...)). The thesis' 1e-6 s holds for 220 elements and 104 ring nodes.

Multirate scheme. The ring costs an eighth of a step and bounds it. With n_R = 2 it takes its own steps h = dt/n_R, the
elements, sheaves and all contacts dt = 2.5e-6 s. Between two evaluations of the contacts the ring keeps their loads in
the frames of its chords (`ring.to_chords`); what that asks of saddles and ears is in `element_ring`. n_R = 1 is the
explicit scheme of the source.

Energy. Forces do their work at the mean of old and new velocities, which makes the change of kinetic energy exact.
Every frame holds the energies stored at its time and the works since the frame before: inputs positive into the belt,
losses positive. What remains, inputs - losses - change of stored energy, is the error of the scheme: the work of a
spring over a step is the trapezoidal rule of its potential.
Saddles and ears work on elements and ring, each in its own steps; of what they take, that which their springs do not
store and friction does not account for counts with their dampers.

Repetition is bit-identical, also across calls: sines and cosines are turned from step to step and made anew at each
frame, which is where a call may end and another begin.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offline.pushbelt import element_element, element_ring, flank, maxwell, sheave
from offline.pushbelt import ring as ring_model
from offline.pushbelt.compiled import columns, compiled, spliced
from offline.pushbelt.element_element import Joint, joint, joint_energy, joint_forces
from offline.pushbelt.element_ring import Saddle, Touch, bilateral_forces, saddle, touch, unilateral_forces
from offline.pushbelt.flank import Flanks, contact_points, flanks, normal_forces, velocities
from offline.pushbelt.maxwell import Maxwell, newton
from offline.pushbelt.parameters import Belt, Sheaves
from offline.pushbelt.ring import Ring, advance, forces, from_chords, rate_of, ring, shape_of, to_chords, turned
from offline.pushbelt.sheave import Damper

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

INPUTS = ("clamping_I", "clamping_O", "shaft_I", "shaft_O")
LOSSES = (
    "element-element damping",
    "element-ring damping",
    "element-ring friction",
    "flank longitudinal friction",
    "flank radial friction",
    "flank damping",
    "ring axial damping",
    "ring bending damping",
    "sheave axial damping",
    "sheave tilt damping",
)
STORED = (
    "elements kinetic",
    "ring kinetic",
    "sheaves kinetic and tilt",
    "ring axial",
    "ring bending",
    "element-element",
    "element-ring",
    "flank",
    "sheave deflection",
)
N_WORK = len(INPUTS) + len(LOSSES)


class Model(NamedTuple):
    """What does not change during a run.

    unilateral: saddle and ear with play, else a bilateral saddle; coupled: elements feel the sheave's deflection under
    all others, else each feels its own stiffness only; damper: on the shaft of the secondary.
    """

    belt: Belt
    sheaves: Sheaves
    joint: Joint
    saddle: Saddle
    ring: Ring
    unilateral: bool
    coupled: bool
    damper: Damper


class State(NamedTuple):
    """State of belt and sheaves, updated in place; enough to continue a run bit by bit.

    q, u (N_E, 3) elements: x, y, phi of the centre of gravity and their rates; q_R, u_R (N_B, 5) ring nodes: x, y, phi,
    c_L, c_R; s_R (N_E) arc coordinate of each saddle on the ring [finite elements]; s, sd (2, 4) sheaves of pulley I
    and O: z, two tilts, rotation; z (2, 2 n_k + 1), r (2) deflection and mean radius of the coupled law; damper
    (N_E, 6) and memory (N_E, 9) what joints, saddles and ears need of the last step; ring (1) speed of the ring of the
    secondary's damper; held (N_B, 9) load of the ring from the last step (`ring.to_chords`). Lengths in m, angles in
    rad, SI rates. Arrays are contiguous along the elements or nodes (`compiled.columns`).
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


class Frames(NamedTuple):
    """Results at n plot steps.

    q, u (n, N_E, 3), q_R, u_R (n, N_B, 5), s_R (n, N_E), s, sd (n, 2, 4): as `State`;
    joint (n, N_E, 6): forces between element i and i + 1 [N], order `element_element.CONTACTS`;
    saddle (n, N_E, 3): saddle, ear, friction on the element in the direction of travel [N];
    flank (n, N_E, 3): normal, longitudinal, radial force on one flank [N];
    tension (n, N_B) of the finite elements [N]; pulley (n, 2, 6): outputs of `sheave.advance`, mean since the last
    frame;
    deflection (n, 2, 2 n_k + 1): Fourier coefficients of the sheaves [m];
    work (n, 14): `INPUTS` and `LOSSES` since the last frame [J]; stored (n, 9): `STORED` [J];
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
    active: NDArray[np.int64]


class Scratch(NamedTuple):
    """Arrays of a run that carry nothing from one call to the next, but `mx.z` and `mx.r`: these are the state's, and
    kernels read and write them here only."""

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


def model(
    belt: Belt, sheaves: Sheaves, *, unilateral: bool = True, coupled: bool = True, damper: Damper | None = None
) -> Model:
    """The hybrid model of a belt between sheaves; by default without a damper."""
    R = ring(belt)
    return Model(belt, sheaves, joint(belt), saddle(belt, R), R, unilateral, coupled, damper or Damper())


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
        work=np.zeros((n, N_WORK)),
        stored=np.zeros((n, len(STORED))),
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
    float, float, float : inputs - losses - change of stored energy [J]; losses [J]; throughput [J], the larger of what
        the two shafts carry
    """
    n = len(INPUTS)
    work = out.work[1:].sum(axis=0)
    stored = out.stored[-1].sum() - out.stored[0].sum()
    losses = work[n:].sum()
    return work[:n].sum() - losses - stored, losses, np.abs(work[2:n]).max()


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
        F_R=columns(N_B, ring_model.NQ),
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
        large, or clamping forces that do not hold the belt).
    """
    inputs = np.ascontiguousarray(inputs, dtype=float)
    out = frames(m, len(inputs) - 1)
    done = _run(m, x, scratch(m, x, n_p), inputs, steps, dt, n_R, out)
    return out, int(done)


@compiled
def directions(q: Any, c: Any, s: Any) -> None:
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
def move_ring(q: Any, u: Any, c: Any, s: Any, dt: float) -> None:
    for k in range(c.size):
        q[k, 0] += dt * u[k, 0]
        q[k, 1] += dt * u[k, 1]
        turn = dt * u[k, 2]
        q[k, 2] += turn
        q[k, 3] += dt * u[k, 3]
        q[k, 4] += dt * u[k, 4]
        c[k], s[k] = turned(c[k], s[k], turn)


@compiled
def advance_ring(R: Ring, shape: Any, held: Any, F_R: Any, u_R: Any, rate: Any, dt: float) -> float:
    """u_R += dt M^-1 F_R; returns the work [J] of the loads `held` at the mean velocities, whose `rate` it leaves."""
    advance(R, F_R, u_R, 0.5 * dt)
    rate_of(R, u_R, shape, rate)
    advance(R, F_R, u_R, 0.5 * dt)
    return dt * ring_model.power(R, shape, rate, held)


@spliced
def step(m: Model, x: State, w: Scratch, b: Any, dt: float, n_R: int, work: Any) -> None:
    """One step.

    Parameters
    ----------
    m, x, w : Model, State (updated), Scratch
    b : (7) boundary values; dt : step [s], n_R: of them for the ring
    work : (14) works of `INPUTS` and `LOSSES` [J]; added to
    """
    # one look at each record: every access to a field of a large record is dear to compile
    belt, sheaves, J, p, R, unilateral, coupled, shaft = m
    q, u, q_R, u_R, s_R, s, sd, _, _, damper, memory, turning, held = x
    fl, mx, cs, sn, cs_R, sn_R, shape, rate, load, f, f_R, F_R, tension, N_joint, pair = w[:15]
    wrench, N_saddle, at, reaction, loss, pulley, power = w[15:]
    move_elements(q, u, cs, sn, dt)
    h = dt / n_R
    lead = 0.5 * (dt - h)
    taken = 0.0  # from elements and ring, by the forces between them, negative
    for _ in range(n_R - 1):
        move_ring(q_R, u_R, cs_R, sn_R, h)
        shape_of(R, q_R, cs_R, sn_R, shape)
        rate_of(R, u_R, shape, rate)
        from_chords(R, shape, held, load)
        p_axial, p_bend = forces(R, shape, rate, load, F_R, tension)
        taken += advance_ring(R, shape, held, F_R, u_R, rate, h)
        work[10] += h * p_axial
        work[11] += h * p_bend
    move_ring(q_R, u_R, cs_R, sn_R, h)
    for k in range(2):
        for a in range(4):
            s[k, a] += dt * sd[k, a]
    for i in range(cs.size):
        f[i, 0] = 0.0
        f[i, 1] = 0.0
        f[i, 2] = 0.0
    shape_of(R, q_R, cs_R, sn_R, shape)
    rate_of(R, u_R, shape, rate)
    if unilateral:
        lost_t, gained = unilateral_forces(
            p, R, q, u, cs, sn, s_R, shape, rate, load, f, N_saddle, memory, at, dt, lead
        )
    else:
        lost_t, gained = bilateral_forces(p, R, q, u, cs, sn, s_R, shape, rate, load, f, N_saddle, memory, at, dt, lead)
    for a in range(3):
        for i in range(cs.size):
            f_R[i, a] = f[i, a]
    taken += 0.5 * dt * _power(f_R, u)
    lost_j = joint_forces(J, q, u, cs, sn, f, N_joint, damper, pair, wrench, dt)
    contact_points(belt, sheaves, q, cs, sn, s, fl)
    if coupled:
        newton(belt, sheaves, fl, mx, 1)
    normal_forces(belt, dt, u, s, sd, fl)
    velocities(belt, dt, u, f, s, fl, reaction, loss)
    taken += 0.5 * dt * _power(f_R, u)
    to_chords(R, shape, load, held)
    p_axial, p_bend = forces(R, shape, rate, load, F_R, tension)
    taken += advance_ring(R, shape, held, F_R, u_R, rate, h)
    sheave.advance(sheaves, shaft, b, dt, s, sd, turning, reaction, pulley, power)
    work[0] += dt * power[0, 0]
    work[1] += dt * power[1, 0]
    work[2] += dt * power[0, 1]
    work[3] += dt * power[1, 1]
    work[4] += lost_j
    work[5] -= taken + gained + lost_t
    work[6] += lost_t
    for a in range(3):
        work[7 + a] += dt * (loss[0, a] + loss[1, a])
    work[10] += h * p_axial
    work[11] += h * p_bend
    work[12] += dt * (power[0, 2] + power[1, 2])
    work[13] += dt * (power[0, 3] + power[1, 3])


@compiled
def _copy2(a: Any, b: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j]


@compiled
def _power(f: Any, u: Any) -> float:
    """Power [W] of forces on the elements, (N_E, 3)."""
    power = 0.0
    for i in range(f.shape[0]):
        power += f[i, 0] * u[i, 0] + f[i, 1] * u[i, 1] + f[i, 2] * u[i, 2]
    return power


@compiled
def frame(m: Model, x: State, w: Scratch, n: int, out: Frames) -> bool:
    """Write frame n; whether the belt is where it should be."""
    belt, sheaves, J, p, R, unilateral, coupled, _ = m
    q, u, q_R, u_R, s_R, s, sd = x[:7]
    fl, mx, cs, sn, _, _, shape, _, _, _, _, _, tension, N_joint, _, _, N_saddle, _, _, _, _, _ = w
    _copy2(q, out.q[n])
    _copy2(u, out.u[n])
    _copy2(q_R, out.q_R[n])
    _copy2(u_R, out.u_R[n])
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

    energy = out.stored[n]
    kinetic = 0.0
    for i in range(belt.N_E):
        kinetic += belt.m_E * (u[i, 0] ** 2 + u[i, 1] ** 2) + belt.J_E * u[i, 2] ** 2
    energy[0] = 0.5 * kinetic
    energy[1] = ring_model.kinetic_energy(R, u_R)
    energy[2] = sheave.energy(sheaves, s, sd)
    energy[3], energy[4] = ring_model.elastic_energy(R, shape)
    energy[5] = joint_energy(J, q, cs, sn)
    if unilateral:
        energy[6] = element_ring.unilateral_energy(p, R, q, cs, sn, s_R, shape)
    else:
        energy[6] = element_ring.bilateral_energy(p, R, q, cs, sn, s_R, shape)
    energy[7] = flank.energy(belt, fl)
    energy[8] = maxwell.energy(mx) if coupled else 0.0

    active = out.active[n]
    near = fl.pulley
    N_flank = fl.N
    reach = 2.0 * belt.d_A
    well = True
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
def _run(m: Model, x: State, w: Scratch, inputs: Any, steps: int, dt: float, n_R: int, out: Frames) -> int:
    if m.coupled and w.mx.r[0] == 0.0 and w.mx.r[1] == 0.0:  # a new state: the deflections that belong to it
        directions(x.q, w.cs, w.sn)
        contact_points(m.belt, m.sheaves, x.q, w.cs, w.sn, x.s, w.fl)
        newton(m.belt, m.sheaves, w.fl, w.mx, 20)
    b = np.zeros(7)
    share = 1.0 / steps
    mean = out.pulley
    works = out.work
    pulley = w.pulley
    for n in range(inputs.shape[0] - 1):
        directions(x.q, w.cs, w.sn)
        directions(x.q_R, w.cs_R, w.sn_R)
        work = works[n]
        for i in range(steps):
            part = (i + 1.0) * share
            for a in range(7):
                b[a] = inputs[n, a] + part * (inputs[n + 1, a] - inputs[n, a])
            step(m, x, w, b, dt, n_R, work)
            for p in range(2):
                for a in range(6):
                    mean[n, p, a] += pulley[p, a] * share
        if not frame(m, x, w, n, out):
            return n
    return inputs.shape[0] - 1
