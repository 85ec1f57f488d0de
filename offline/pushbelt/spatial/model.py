"""The spatial pushbelt: elements with six freedoms, two ring sets, four sheaves (Cebulla 2014, chapters 3 and 5).

It is the hybrid model (`planar.model`) without its symmetry, on the same mesh, with the same explicit scheme,
(2.49)-(2.51):

    q+ = q + dt u,    u+ = u + M^-1 (h(u, q+) dt + W Lambda)

A step:  positions | ring shapes | element-ring, both sides | element-element | flank points, Maxwell, normal forces of
both sides | new velocities of the rings, friction on them | of the elements | gyroscopic moments | of the sheaves.

Multirate scheme, as in `planar.model`: with n_R > 1 the rings make n_R steps in each of the others. Between two
evaluations of the contacts they keep the loads, forces and torques in the frames of their chords.

A side is the half z > 0 (left) or z < 0 (right): a ring set, its saddles, pillars and flanks, two of the four sheaves
and their deflection. The right one is seen in the mirror (`element`); the same kernels compute both.

Flanks need two points (`flank`, front and rear arc): the crowned arcs roll on the cones, and their ends keep an element
upright. With one fixed point on each side it rolls freely, and the belt leaves its place within a revolution.

Sheaves. Crosswise: a loose sheave on the left of the primary and on the right of the secondary, fixed ones opposite, at
the places that align the belt at ratio 1 but for the assembly offset (`sheave`). Mirrored: four loose ones, the hybrid
model's pulleys; then the belt stays in its plane, and the run is the hybrid one to rounding, but for the laws below.

Differences from the hybrid model's laws: friction of ring and element includes lateral slip; the ring's stretch
includes its lateral motion.

Energy as in `planar.model`, with the same ledger; the work of each spring, damper and friction is that of its own force
and velocity. Lateral bending, shear and torsion of the rings are part of bending, their motion part of the ring's.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt import loop, vectors
from rtcvt.offline.pushbelt.compiled import compiled, inlined, spliced
from rtcvt.offline.pushbelt.contact import ledger, maxwell, sheave
from rtcvt.offline.pushbelt.contact.element_ring import saddle
from rtcvt.offline.pushbelt.contact.flank import Flanks, Search, contact_points, normal_forces, search
from rtcvt.offline.pushbelt.contact.maxwell import Coupled, Maxwell, newton
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.planar.model import count_joints, directions, side_frame
from rtcvt.offline.pushbelt.planar.state import RingScratch, SheaveScratch
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.ring import N_LOAD, NQ, NX, NY, from_chords, to_chords
from rtcvt.offline.pushbelt.ring.ring_set import rate_of, shape_of
from rtcvt.offline.pushbelt.spatial import element, element_ring, flank, lateral, rod
from rtcvt.offline.pushbelt.spatial.element import Body, Side
from rtcvt.offline.pushbelt.spatial.element_ring import MEMORY, Guide, Strip, Touch
from rtcvt.offline.pushbelt.spatial.joint import CONTACTS, N_PAIR, N_WRENCH, Joint, joint, joint_energy, joint_forces
from rtcvt.offline.pushbelt.spatial.lateral import NL, Lateral
from rtcvt.offline.pushbelt.spatial.tracking import tracking
from rtcvt.offline.pushbelt.unit.parameters import Belt, Parameters, Sheaves, element_mass
from rtcvt.offline.pushbelt.vectors import add_times, copy, zero

Array = NDArray[np.float64]

SIDES = (1.0, -1.0)
N_JOINT = len(CONTACTS)


class Model(NamedTuple):
    """Constants of a run. ring (`ring_set`), lateral: of one side; guides: by side, equal but for friction; left,
    right: law of deflection of its sheaves (`maxwell`)."""

    belt: Belt
    sheaves: Sheaves
    body: Body
    joint: Joint
    ring: Any
    lateral: Lateral
    guides: tuple[Guide, Guide]
    friction: Any
    left: Any
    right: Any
    load: Load
    mirrored: bool


@declared
class Half(NamedTuple):
    """State of one side, in its view; for its ring set and its sheaves as in `planar.model.State`."""

    q_R: Annotated[Array, ("N_B", NQ), "m, rad", "coordinates of the ring"]
    u_R: Annotated[Array, ("N_B", NQ), "m/s, rad/s", "their rates"]
    q_L: Annotated[Array, ("N_B", NL), "m, rad", "lateral coordinates of the ring (`lateral`)"]
    u_L: Annotated[Array, ("N_B", NL), "m/s, rad/s", "their rates"]
    s_R: Annotated[Array, ("N_E",), "pieces", "arc coordinate of each saddle on the ring"]
    memory: Annotated[Array, ("N_E", MEMORY), "SI", "saddles and ears in the last step (`element_ring`)"]
    held: Annotated[Array, ("N_B", N_LOAD), "N, N m", "load of the ring from the last step, in the multirate scheme"]
    held_L: Annotated[Array, ("N_B", NL), "N, N m", "the same across"]
    z: Annotated[Array, (2, "n_z"), "m", "deflection of the sheaves"]
    r: Annotated[Array, (2,), "m", "mean radius of the coupled law; 0: a new state"]


@declared
class State(NamedTuple):
    """State of belt and sheaves, updated in place; enough to continue a run bit by bit."""

    q: Annotated[Array, ("N_E", 6), "m, rad", "elements, as in `element`"]
    u: Annotated[Array, ("N_E", 6), "m/s, rad/s", "elements, as in `element`"]
    s: Annotated[Array, (2, 2, 4), "m, rad", "sheaves by side and pulley"]
    sd: Annotated[Array, (2, 2, 4), "m/s, rad/s", "their rates"]
    damper: Annotated[Array, ("N_E", 12), "SI", "joints in the last step (`joint`)"]
    load: Annotated[Array, (2,), "rad, rad/s", "as in `planar.model`"]
    rub: Annotated[Array, ("N_E", 6), "N, N m", "friction of the flanks in the last step, as forces in `joint`"]
    left: Half
    right: Half


@declared
class Frames(NamedTuple):
    """Results at n plot steps: those of `planar.model.Frames`, and the lateral ones.

    planar: the mean of the sides, their sum for the ring (joint: rocking is the sum of the two edges, pin_1 the pin,
    pin_2 nothing, pin_3 the mouth; s_R: left). Axes of 2 are sides, pulleys.
    """

    planar: hybrid.Frames
    q: Annotated[Array, ("n", "N_E", 3), "m, rad", "z, roll, yaw of the elements"]
    u: Annotated[Array, ("n", "N_E", 3), "m/s, rad/s", "v_z, omega_x, omega_y"]
    ring: Annotated[Array, ("n", 2, "N_B", NL), "m, rad", "lateral coordinates of each ring set, in its view"]
    tension: Annotated[Array, ("n", 2, "N_B"), "N", "of each ring set"]
    joint: Annotated[Array, ("n", "N_E", N_JOINT), "N", "by `joint.CONTACTS`"]
    saddle: Annotated[Array, ("n", 2, "N_E", 6), "N", "by side, as in `element_ring`"]
    flank: Annotated[Array, ("n", 2, "N_E", 4), "N", "by side, in its view: normal, along, outwards, axial"]
    s: Annotated[Array, ("n", 2, 2, 4), "m, rad", "sheaves by side and pulley"]
    sd: Annotated[Array, ("n", 2, 2, 4), "m/s, rad/s", "their rates"]
    pulley: Annotated[Array, ("n", 2, 7), "N, N m", "outputs of `sheave.advance`, mean since the last frame"]
    margin: Annotated[Array, ("n", 2, 2), "m", "by side, least room of the ring to a pillar and to a sheave"]
    place: Annotated[Array, ("n", 2), "m", "by pulley, mean z of the elements that touch it"]


@declared
class Work(NamedTuple):
    """Scratch of one side."""

    fl: Flanks
    mx: Maxwell
    ring: RingScratch
    F_L: Annotated[Array, ("N_B", NL), "N, N m", "generalised forces on the ring across the plane"]
    twist: Annotated[Array, ("N_B", 4), "1/m, 1/(m s)", "of `lateral.stretches`"]
    bow: Annotated[Array, ("N_B", 2), "1, 1/s", "of `lateral.stretches`"]
    N: Annotated[Array, ("N_E", 6), "N", "forces of saddles, ears and pillars"]
    at: Touch
    ear: Touch


@declared
class Scratch(NamedTuple):
    """Scratch arrays of a run; only `mx.z` and `mx.r` of the two sides are used in the next call."""

    left: Work
    right: Work
    cs: Annotated[Array, ("N_E",), "1", "cosine of phi"]
    sn: Annotated[Array, ("N_E",), "1", "sine of phi"]
    R: Annotated[Array, ("N_E", 9), "1", "rotation matrices, row by row"]
    f: Annotated[Array, ("N_E", 6), "N, N m", "forces of all contacts but the flanks"]
    N_joint: Annotated[Array, ("N_E", N_JOINT), "N", "forces between elements"]
    end: Annotated[Array, ("N_E", 6), "m/s, rad/s", "velocities ahead, which friction meets"]
    find: Search
    pair: Annotated[Array, ("N_E", N_PAIR), "SI", "of `joint`"]
    wrench: Annotated[Array, ("N_E", N_WRENCH), "SI", "of `joint`"]
    before: Annotated[Array, ("N_E", 2 * N_JOINT), "SI", "of `joint`"]
    reaction: Annotated[Array, (2, 2, 4), "N, N m", "by side and pulley (`flank.velocities`)"]
    flank_power: Annotated[Array, (2, 3), "W", "friction along, across, damper (`flank.velocities`)"]
    sheaves: SheaveScratch


def model(
    parameters: Parameters,
    belt: Belt,
    sheaves: Sheaves,
    *,
    unilateral: bool = True,
    coupled: bool = True,
    load: Load | None = None,
    mirrored: bool = False,
) -> Model:
    """The spatial model of a belt between sheaves.

    Parameters
    ----------
    parameters : Parameters
        The unit.
    unilateral, coupled, load : as for `planar.model.model`
    mirrored : bool
        Four loose sheaves.

    Raises
    ------
    InputError
        The unit has no table `spatial`, a ring that does not fit its saddles, or crowned saddles that would pull.
    """
    more = parameters.spatial
    if more is None:
        raise InputError(parameters.source, "spatial", None, "a table with the data of the spatial model")
    if not (unilateral or more.crown == 0.0):
        raise InputError(parameters.source, "spatial.crown", more.crown, "0, a flat saddle, with the contact bilateral")
    e, r, scale = parameters.element, parameters.ring, belt.N_E0 / belt.N_E
    gap = 0.25 * (more.w_S - more.w_P) - 0.5 * r.width
    if not gap > 0.0:
        most = 0.5 * (more.w_S - more.w_P)
        raise InputError(parameters.source, "ring.width", r.width, f"a ring narrower than its saddle, {most:g} m")
    Theta = element_mass(e, belt.t_R, belt.t_T, belt.t_B).Theta
    whole = ring_set.made(belt, r.rod, r.rotatory_factor)
    names = {"EA", "GA", "EI", "d_axial", "d_shear", "d_bend", "m", "J", "m_c"}
    half = whole._replace(**{name: 0.5 * getattr(whole, name) for name in names.intersection(whole._fields)})
    across = lateral.lateral(
        N_B=belt.N_B, length=belt.l_R, width=r.width, layers=r.layers, layer_height=r.layer_height, E=r.E,
        density=r.density, time=more.lateral_time, camber=more.camber,
    )  # fmt: skip
    # friction of the two sides pushes or, in opposite directions, turns the element; `mobility` has a margin of 5 %.
    # Where the first is larger the friction's steps are those of the hybrid model
    plane, z_S = saddle(belt, whole), 0.25 * (more.w_S + more.w_P)
    turned = max(z_S**2 / Theta[1], 1.0 / belt.m_E + plane.y_S**2 / Theta[0])
    W = 2.0 * max(plane.W_E + plane.W_R, plane.W_R / 1.05 + turned)
    W_E = 2.0 * max(plane.W_E, turned)
    L, F = (scale * force for force in more.tracking)
    guide = element_ring.guide(
        belt, half, w_S=more.w_S, w_P=more.w_P, w_R=r.width, crown=more.crown, law=tracking(gap, L, F), W=W, W_E=W_E,
        k_P=scale * more.k_P, bilateral=not unilateral,
    )  # fmt: skip
    guides = guide._replace(mu=more.ring_friction[0] * guide.mu), guide._replace(mu=more.ring_friction[1] * guide.mu)
    loose, fixed = more.compliance
    left: Any = maxwell.Decoupled(sheaves) if not coupled else Coupled(sheaves)
    right = left
    if coupled and not mirrored:
        left, right = Coupled(sheaves, (loose, fixed), (1.0, 0.0)), Coupled(sheaves, (fixed, loose), (0.0, 1.0))
    body = Body(belt.N_E, belt.m_E, Theta[0], Theta[1], belt.J_E)
    return Model(
        belt, sheaves, body, joint(belt, more.z_R), half, across, guides, parameters.contacts.friction.made(), left,
        right, load or Load(), mirrored,
    )  # fmt: skip


def frames(m: Model, n: int) -> Frames:
    """Empty results for `n` plot steps."""
    return zeros(Frames, {"n": n, "N_E": m.belt.N_E, "N_B": m.belt.N_B, "n_z": 2 * len(m.sheaves.A) - 1})


def scratch(m: Model, x: State, n_p: int = 2) -> Scratch:
    """Working arrays; `n_p` = 1 for the simplified flank contact, 2 for front and rear arc."""
    sizes = {"N_E": m.belt.N_E, "N_B": m.belt.N_B, "n_p": n_p, "contacts": m.belt.N_E * n_p}
    sizes |= {"n_z": x.left.z.shape[1], "n_a": (x.left.z.shape[1] + 1) // 2, "n": NQ}
    w = zeros(Scratch, sizes, find=search(m.belt.N_E, 6))

    def of(side: Work, half: Half) -> Work:
        return side._replace(mx=side.mx._replace(z=half.z, r=half.r))

    return w._replace(left=of(w.left, x.left), right=of(w.right, x.right))


def run(
    m: Model, x: State, inputs: Array, steps: int, dt: float = 1e-6, n_p: int = 2, n_R: int = 1
) -> tuple[Frames, int]:
    """Run the explicit or the multirate scheme over plot steps.

    Parameters
    ----------
    m : Model
    x : State
        State at the start; afterwards that at the end.
    inputs, steps, dt, n_p, n_R : as for `planar.model.run`

    Returns
    -------
    Frames, int
        Results at the n plot steps, and how many are valid: fewer than n if the belt left its place.
    """
    out = frames(m, len(inputs) - 1)
    done = loop.advance(_run, m, x, scratch(m, x, n_p), inputs, steps, dt, n_R, out, out.planar)
    _rooms(m, out)
    return out, done


# Model, state and scratch are 900 numbers and addresses to hand on: functions that only pass parts of them to others
# are put into their callers.


@inlined
def _strip(m: Model, x: Half, w: Work) -> Strip:
    """One ring set as contacts see it."""
    return Strip(m.ring, w.ring.shape, w.ring.rate, w.ring.load, x.q_L, x.u_L, w.F_L)


@inlined
def _move_ring(m: Model, x: Half, w: Work, h: float) -> None:
    """One ring set moves on; shape and rates."""
    ring_set.move(m.ring, x.q_R, x.u_R, w.ring.cs, w.ring.sn, h)
    for a in range(NL):
        for k in range(m.belt.N_B):
            x.q_L[k, a] += h * x.u_L[k, a]
            w.F_L[k, a] = 0.0
    shape_of(m.ring, x.q_R, w.ring.cs, w.ring.sn, w.ring.shape)
    rate_of(m.ring, x.u_R, w.ring.shape, w.ring.rate)


@inlined
def _hold(m: Model, x: Half, w: Work) -> None:
    """Store the loads of the contacts, which are added to the constant ones."""
    to_chords(m.ring, w.ring.shape, w.ring.load, x.held)
    for k in range(m.belt.N_B):
        c = w.ring.shape[k, NY]
        s = -w.ring.shape[k, NX]
        x.held_L[k, 0] += w.F_L[k, 0]
        x.held_L[k, 1] += w.F_L[k, 1] * c + w.F_L[k, 2] * s
        x.held_L[k, 2] += w.F_L[k, 2] * c - w.F_L[k, 1] * s


@inlined
def _drift(m: Model, x: Half, w: Work, h: float) -> Any:
    """A step of one ring set alone, under its constant loads; returns the works of `_advance_ring`."""
    _move_ring(m, x, w, h)
    from_chords(m.ring, w.ring.shape, x.held, w.ring.load)
    for k in range(m.belt.N_B):
        c = w.ring.shape[k, NY]
        s = -w.ring.shape[k, NX]
        w.F_L[k, 0] = x.held_L[k, 0]
        w.F_L[k, 1] = x.held_L[k, 1] * c - x.held_L[k, 2] * s
        w.F_L[k, 2] = x.held_L[k, 2] * c + x.held_L[k, 1] * s
    return _advance_ring(m, x, w, h)


@inlined
def _touch(m: Model, guide: Guide, el: Side, x: Half, w: Work, f: Any, dt: float, n_R: int) -> Any:
    """One side moves on, and its ring touches the elements; works of `element_ring.ring_forces`."""
    h = dt / n_R
    _move_ring(m, x, w, h)
    works = element_ring.ring_forces(
        guide, _strip(m, x, w), el, x.s_R, f, w.N, x.memory, w.at, w.ear, dt, 0.5 * (dt - h)
    )
    if n_R > 1:
        zero(x.held)
        zero(x.held_L)
        _hold(m, x, w)
    return works


@inlined
def _advance_ring(m: Model, x: Half, w: Work, dt: float) -> Any:
    """New velocities of one ring set, with the friction of the last step; works [J] that axial damping and all other
    damping took."""
    p_axial, p_other = rod.forces(m.ring, m.lateral, x, w)
    ring_set.advance(m.ring, w.ring.F, x.u_R, dt)
    vectors.accelerate(lateral.masses(m.lateral), w.F_L, x.u_L, dt)
    rate_of(m.ring, x.u_R, w.ring.shape, w.ring.rate)
    return dt * p_axial, dt * p_other


@inlined
def _rub_ring(m: Model, guide: Guide, el: Side, x: Half, w: Work, f: Any, dt: float, n_R: int) -> None:
    """Friction of one ring set at the velocities of the elements at the end of the step, and the resulting change of
    those of the ring."""
    zero(w.F_L)
    G = dt * (guide.W + (n_R - 1) * guide.W_E)
    element_ring.ring_friction(guide, _strip(m, x, w), el, f, w.N, x.memory, w.at, w.ear, G)
    if n_R > 1:
        _hold(m, x, w)
    ring_set.nodal(m.ring, w.ring.shape, w.ring.load, w.ring.F)
    ring_set.advance(m.ring, w.ring.F, x.u_R, dt / n_R)
    vectors.accelerate(lateral.masses(m.lateral), w.F_L, x.u_L, dt / n_R)


@compiled
def _meet_sheaves(belt: Any, sheaves: Any, law: Any, el: Side, s: Any, sd: Any, fl: Any, mx: Any, dt: float) -> None:
    """Contact points, deflection and normal forces of one side; separate from `step`, which has too many arrays for the
    compiler's alias analysis."""
    contact_points(belt, sheaves, el, s, fl)
    newton(law, belt, fl, mx, 1)
    normal_forces(belt, dt, el, s, sd, fl)


@spliced
def step(m: Model, x: State, w: Scratch, b: Any, dt: float, n_R: int, book: Any, rest: Any) -> None:
    """One step; parameters as for `planar.model.step`. The unaccounted work `rest` is not summed."""
    belt, sheaves, body, J, _, _, guides, friction, law_left, law_right, load, mirrored = m
    q, u, s, sd, damper, turning, rub, left, right = x
    on_left, on_right, cs, sn, R, f, N_joint, end, find, pair, wrench, before, reaction, loss, pulleys = w
    element.move(q, u, cs, sn, R, dt)
    h = dt / n_R
    for _ in range(n_R - 1):
        a_left, b_left = _drift(m, left, on_left, h)
        a_right, b_right = _drift(m, right, on_right, h)
        book.ring_axial += a_left + a_right
        book.ring_bending += b_left + b_right
    for side in range(2):
        for k in range(2):
            for a in range(4):
                s[side, k, a] += dt * sd[side, k, a]
    zero(f)
    on = Side(1.0, q, u, R), Side(-1.0, q, u, R)
    t_left, n_left = _touch(m, guides[0], on[0], left, on_left, f, dt, n_R)
    t_right, n_right = _touch(m, guides[1], on[1], right, on_right, f, dt, n_R)
    lost_j = joint_forces(J, q, u, R, f, N_joint, damper, pair, wrench, before, dt)
    _meet_sheaves(belt, sheaves, law_left, on[0], s[0], sd[0], on_left.fl, on_left.mx, dt)
    _meet_sheaves(belt, sheaves, law_right, on[1], s[1], sd[1], on_right.fl, on_right.mx, dt)
    a_left, b_left = _advance_ring(m, left, on_left, h)
    a_right, b_right = _advance_ring(m, right, on_right, h)
    flank.ahead(body, dt, u, f, rub, R, on_left.fl, on_right.fl, end)
    _rub_ring(m, guides[0], Side(1.0, q, end, R), left, on_left, f, dt, n_R)
    _rub_ring(m, guides[1], Side(-1.0, q, end, R), right, on_right, f, dt, n_R)
    t = flank.Step(body, friction, dt, on[0], f, on_left.fl, on_right.fl)
    flank.velocities(belt, t, s, find, rub, reaction, loss)
    element.gyrate(body, u, dt)
    sheave.advance(sheaves, load, mirrored, b, dt, s, sd, turning, reaction, pulleys.out, pulleys.power)
    ledger.book_sheaves(book, dt, pulleys.power)
    ledger.book_flanks(book, dt, loss)
    book.element_element_damping += lost_j
    book.element_ring_damping += n_left + n_right
    book.element_ring_friction += t_left + t_right
    book.ring_axial += a_left + a_right
    book.ring_bending += b_left + b_right


@compiled
def _stocks(m: Model, x: State, w: Scratch, stock: Any) -> None:
    """Stored energies of a frame."""
    stock.elements = vectors.kinetic(element.masses(m.body), x.u)
    stock.sheaves = sheave.energy(m.sheaves, m.mirrored, x.s, x.sd)
    stock.load = sheave.load_energy(m.load, x.load)
    stock.joints = joint_energy(m.joint, x.q, w.R)
    for side in range(2):
        half = x.left if side == 0 else x.right
        work = w.left if side == 0 else w.right
        axial, other = rod.energy(m.ring, m.lateral, half, work)
        across = vectors.kinetic(lateral.masses(m.lateral), half.u_L)
        stock.ring += ring_set.kinetic_energy(m.ring, half.u_R) + across
        stock.ring_axial += axial
        stock.ring_bending += other
        el = Side(1.0 if side == 0 else -1.0, x.q, x.u, w.R)
        stock.saddles += element_ring.ring_energy(m.guides[0], _strip(m, half, work), el, half.s_R, work.at)
        stock.flanks += flank.energy(m.belt, work.fl)
    stock.deflection = 0.5 * (maxwell.energy(m.left, w.left.mx) + maxwell.energy(m.right, w.right.mx))


@compiled
def _side_frame(R: Any, x: Half, w: Work, n: int, side: int, out: Frames) -> None:
    """Write the part of one side in frame n."""
    side_frame(R, x, w.ring, w.N, w.fl, 0.5, n, out.planar)
    copy(x.q_L, out.ring[n, side])
    copy(w.N, out.saddle[n, side])
    copy(w.fl.force, out.flank[n, side])
    for k in range(x.q_R.shape[0]):
        out.tension[n, side, k] = w.ring.tension[k]


@compiled
def _frame(m: Model, x: State, w: Scratch, n: int, out: Frames, stock: Any) -> bool:
    """Write frame n; whether the belt is where it should be."""
    flat = out.planar
    copy(x.q, flat.q[n])
    copy(x.u, flat.u[n])
    copy(w.N_joint, out.joint[n])
    copy(out.pulley[n], flat.pulley[n])
    for i in range(m.belt.N_E):
        for a in range(3):
            out.q[n, i, a] = x.q[i, a + 3]
            out.u[n, i, a] = x.u[i, a + 3]
        N = w.N_joint[i]
        flat.joint[n, i, 0] = N[0] + N[1]
        flat.joint[n, i, 1] = N[2]
        flat.joint[n, i, 2] = N[3]
        flat.joint[n, i, 3] = N[4]
        flat.joint[n, i, 5] = N[5]
    count_joints(w.N_joint, flat.active[n])
    _side_frame(m.ring, x.right, w.right, n, 1, out)
    _side_frame(m.ring, x.left, w.left, n, 0, out)
    for side in range(2):
        copy(x.s[side], out.s[n, side])
        copy(x.sd[side], out.sd[n, side])
        add_times(0.5, x.s[side], flat.s[n])
        add_times(0.5, x.sd[side], flat.sd[n])
    _stocks(m, x, w, stock)
    reach = 2.0 * m.belt.d_A
    well = True
    for i in range(m.belt.N_E):
        well = well and abs(x.q[i, 0]) < reach and abs(x.q[i, 1]) < reach and abs(x.q[i, 3]) < reach
    return well


@spliced
def _settle(m: Model, x: State, w: Scratch) -> None:
    """The deflections that belong to a new state."""
    if x.left.r[0] == 0.0 and x.left.r[1] == 0.0:
        directions(x.q, w.cs, w.sn)
        element.frames_of(x.q, w.cs, w.sn, w.R)
        contact_points(m.belt, m.sheaves, Side(1.0, x.q, x.u, w.R), x.s[0], w.left.fl)
        contact_points(m.belt, m.sheaves, Side(-1.0, x.q, x.u, w.R), x.s[1], w.right.fl)
        newton(m.left, m.belt, w.left.fl, w.left.mx, 20)
        newton(m.right, m.belt, w.right.fl, w.right.mx, 20)


@spliced
def _begin(m: Model, x: State, w: Scratch) -> None:
    """Sines, cosines and rotation matrices."""
    directions(x.q, w.cs, w.sn)
    element.frames_of(x.q, w.cs, w.sn, w.R)
    directions(x.left.q_R, w.left.ring.cs, w.left.ring.sn)
    directions(x.right.q_R, w.right.ring.cs, w.right.ring.sn)


_run = loop.run_loop(_settle, _begin, step, _frame)


def _rooms(m: Model, out: Frames) -> None:
    """Room of the rings to pillars and sheaves, of first order in the angles of the elements; place of the belt."""
    g, b, flat = m.guides[0], m.belt, out.planar
    place = flat.s_R.astype(int) % b.N_B
    xi = flat.s_R - place
    x_c = np.array([b.d_A, 0.0])
    for side, sigma in enumerate(SIDES):
        z = out.ring[:, side, :, 0]
        here, ahead = (np.take_along_axis(z, k, axis=1) for k in (place, (place + 1) % b.N_B))
        pillar = sigma * (out.q[..., 0] + (g.y_S + m.ring.h2) * out.q[..., 1] - g.x * out.q[..., 2]) + g.z_P
        out.margin[:, side, 0] = np.min((1.0 - xi) * here + xi * ahead - g.half_R - pillar, axis=1)
        apex = out.s[:, side, :, 0][:, :, None]
        r = np.hypot(flat.q_R[:, None, :, 0] - x_c[:, None], flat.q_R[:, None, :, 1]) - m.ring.h2
        out.margin[:, side, 1] = np.min(apex + r * b.tan_d - z[:, None, :] - g.half_R, axis=(1, 2)) * b.cos_d
    closed = flat.flank[..., 0] > 0.0
    for pulley, there in enumerate((flat.q[..., 0] > 0.5 * b.d_A, flat.q[..., 0] <= 0.5 * b.d_A)):
        weight = (closed & there).astype(float)
        out.place[:, pulley] = (weight * out.q[..., 0]).sum(axis=1) / np.maximum(weight.sum(axis=1), 1.0)
