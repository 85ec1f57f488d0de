"""State, results and scratch of the hybrid pushbelt model: each array is declared here, once (`record`)."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.contact.element_element import CONTACTS, Joint
from rtcvt.offline.pushbelt.contact.element_ring import N_MEMORY, Touch
from rtcvt.offline.pushbelt.contact.flank import Flanks, Search, flanks, search
from rtcvt.offline.pushbelt.contact.ledger import STORES, WORKS
from rtcvt.offline.pushbelt.contact.maxwell import Maxwell, maxwell
from rtcvt.offline.pushbelt.contact.rigid import Press, press
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.ring.ring import N_LOAD, N_RATE, N_SHAPE, NQ
from rtcvt.offline.pushbelt.ring.ring_set import masses
from rtcvt.offline.pushbelt.unit.parameters import Belt, Sheaves

Array = NDArray[np.float64]

N_JOINT = len(CONTACTS)


class Model(NamedTuple):
    """Constants of a run; the laws of contact are chosen here, by their types, and compiled in.

    ring: `ring.Ring` or `cosserat.Cosserat`; saddle: `element_ring.Unilateral`, `Bilateral` or `rigid.Rigid`; friction:
    of the flanks, `friction.Coulomb` or `Stribeck`; deflection: of the sheaves, `maxwell.Coupled` or `Decoupled`;
    layers: of the ring set, `layers.Plane` or `Sliding`; load: of the secondary.
    """

    belt: Belt
    sheaves: Sheaves
    joint: Joint
    ring: Any
    saddle: Any
    friction: Any
    deflection: Any
    load: Load
    layers: Any


@declared
class State(NamedTuple):
    """State of belt and sheaves, updated in place; enough to continue a run bit by bit.

    N_E elements, N_B pieces of the ring with n coordinates each: x, y, phi, c_L, c_R of a node, or x, y, gamma of a
    Cosserat rod. Axes of 2 are the pulleys I and O.
    """

    q: Annotated[Array, ("N_E", 3), "m, m, rad", "x, y, phi of the elements' centres of gravity"]
    u: Annotated[Array, ("N_E", 3), "m/s, m/s, rad/s", "their rates"]
    q_R: Annotated[Array, ("N_B", "n"), "m, rad", "coordinates of the ring"]
    u_R: Annotated[Array, ("N_B", "n"), "m/s, rad/s", "their rates"]
    s_R: Annotated[Array, ("N_E",), "pieces", "arc coordinate of each saddle on the ring"]
    s: Annotated[Array, (2, 4), "m, rad", "sheaves: z, two tilts, rotation"]
    sd: Annotated[Array, (2, 4), "m/s, rad/s", "their rates"]
    z: Annotated[Array, (2, "n_z"), "m", "deflection of the coupled law, Fourier coefficients"]
    r: Annotated[Array, (2,), "m", "mean radius of the coupled law; 0: a new state"]
    damper: Annotated[Array, ("N_E", 6), "N, N m, m/s, rad/s", "joints in the last step: force of the dampers, twist"]
    memory: Annotated[Array, ("N_E", N_MEMORY), "SI", "saddles and ears in the last step (`element_ring`)"]
    load: Annotated[Array, (2,), "rad, rad/s", "the secondary's load: twist of its shaft, speed after it"]
    held: Annotated[Array, ("N_B", N_LOAD), "N, N m", "load of the ring from the last step (`ring.to_chords`)"]
    rub: Annotated[Array, ("N_E", 3), "N, N, N m", "friction of the flanks on each element in the last step"]
    turn: Annotated[Array, (1,), "rad/s", "round run of the ring's layers (`layers`)"]


@declared
class Frames(NamedTuple):
    """Results at n plot steps; arrays that are not described otherwise as in `State`."""

    q: Annotated[Array, ("n", "N_E", 3), "m, m, rad", "elements"]
    u: Annotated[Array, ("n", "N_E", 3), "m/s, m/s, rad/s", "elements"]
    q_R: Annotated[Array, ("n", "N_B", NQ), "m, rad", "nodes of the beam with the ring's contour (`ring_set.nodes`)"]
    u_R: Annotated[Array, ("n", "N_B", NQ), "m/s, rad/s", "their rates"]
    s_R: Annotated[Array, ("n", "N_E"), "pieces", "saddles on the ring"]
    s: Annotated[Array, ("n", 2, 4), "m, rad", "sheaves"]
    sd: Annotated[Array, ("n", 2, 4), "m/s, rad/s", "sheaves"]
    joint: Annotated[Array, ("n", "N_E", N_JOINT), "N", "between elements i and i + 1, by `element_element.CONTACTS`"]
    saddle: Annotated[Array, ("n", "N_E", 3), "N", "saddle, ear, friction on the element in the direction of travel"]
    flank: Annotated[Array, ("n", "N_E", 3), "N", "normal, longitudinal, radial force on one flank"]
    tension: Annotated[Array, ("n", "N_B"), "N", "tension of the pieces"]
    pulley: Annotated[Array, ("n", 2, 7), "N, N m", "outputs of `sheave.advance`, mean since the last frame"]
    deflection: Annotated[Array, ("n", 2, "n_z"), "m", "Fourier coefficients of the sheaves' deflection"]
    work: Annotated[Array, ("n", len(WORKS)), "J", "`ledger.WORKS` since the last frame"]
    stored: Annotated[Array, ("n", len(STORES)), "J", "`ledger.STORES`"]
    rest: Annotated[Array, ("n", 2), "J", "work of elements and ring since the last frame, neither stored nor lost"]
    active: Annotated[NDArray[np.int64], ("n", 3), "1", "closed element-element, element-ring, flank contacts"]


@declared
class ElementScratch(NamedTuple):
    """Of the elements."""

    cs: Annotated[Array, ("N_E",), "1", "cosine of phi"]
    sn: Annotated[Array, ("N_E",), "1", "sine of phi"]
    f: Annotated[Array, ("N_E", 3), "N, N, N m", "forces of all contacts but the flanks"]
    f_R: Annotated[Array, ("N_E", 3), "N, N, N m", "forces of the ring"]
    u: Annotated[Array, ("N_E", 3), "m/s, m/s, rad/s", "velocities ahead, which friction meets; then the step's mean"]


@declared
class RingScratch(NamedTuple):
    """Of the ring."""

    cs: Annotated[Array, ("N_B",), "1", "cosine of the angles"]
    sn: Annotated[Array, ("N_B",), "1", "sine of the angles"]
    shape: Annotated[Array, ("N_B", N_SHAPE), "m, rad", "of the pieces (`ring.shape_of`)"]
    rate: Annotated[Array, ("N_B", N_RATE), "m/s, rad/s", "of the pieces (`ring.rate_of`)"]
    load: Annotated[Array, ("N_B", N_LOAD), "N, N m", "on the pieces (`ring.push`)"]
    F: Annotated[Array, ("N_B", "n"), "N, N m", "generalised forces"]
    tension: Annotated[Array, ("N_B",), "N", "tension of the pieces"]
    u: Annotated[Array, ("N_B", "n"), "m/s, rad/s", "velocities before the step, then the step's mean"]
    beam: Annotated[Array, (2, "N_B", NQ), "m, rad", "coordinates and rates that a beam of this contour has"]


@declared
class JointScratch(NamedTuple):
    """Of the contacts between elements."""

    N: Annotated[Array, ("N_E", N_JOINT), "N", "contact forces"]
    pair: Annotated[Array, ("N_E", 9), "SI", "element i in the frame of i + 1 (`element_element`)"]
    wrench: Annotated[Array, ("N_E", 4), "N, N m", "force and moments of a joint (`element_element`)"]


@declared
class SaddleScratch(NamedTuple):
    """Of the contacts of elements and ring."""

    N: Annotated[Array, ("N_E", 3), "N", "saddle, ear, friction on the element in the direction of travel"]
    touch: Touch
    press: Press


@declared
class FlankScratch(NamedTuple):
    """Scratch of the contacts of elements and sheaves. `deflection` has z and r of the state: kernels use them here
    only."""

    points: Flanks
    find: Search
    deflection: Maxwell
    reaction: Annotated[Array, (2, 4), "N, N m", "on one sheave of each pulley (`flank.velocities`)"]
    loss: Annotated[Array, (2, 3), "W", "friction along, across, damper (`flank.velocities`)"]


@declared
class SheaveScratch(NamedTuple):
    """Of the sheaves."""

    out: Annotated[Array, (2, 7), "N, N m", "outputs of `sheave.advance`"]
    power: Annotated[Array, (2, 5), "W", "of `sheave.advance`"]


@declared
class Scratch(NamedTuple):
    """Arrays of a run that carry nothing from one call to the next, but for the state's in `flanks.deflection`."""

    elements: ElementScratch
    ring: RingScratch
    joints: JointScratch
    saddles: SaddleScratch
    flanks: FlankScratch
    sheaves: SheaveScratch


def state(q: Array, u: Array, q_R: Array, u_R: Array, s_R: Array, s: Array, sd: Array, n_k: int) -> State:
    """A state from positions and velocities; `n_k` harmonics of the sheaves' deflection, which starts at zero.

    Parameters
    ----------
    q, u : (N_E, 3); q_R, u_R : (N_B, 5); s_R : (N_E); s, sd : (2, 4), see `State`; copied
    """
    x = zeros(State, {"N_E": len(q), "N_B": len(q_R), "n": q_R.shape[1], "n_z": 2 * n_k + 1})
    for array, given in zip(x, (q, u, q_R, u_R, s_R, s, sd), strict=False):
        array[...] = given
    return x


def frames(m: Model, n: int) -> Frames:
    """Empty results for `n` plot steps."""
    return zeros(Frames, {"n": n, "N_E": m.belt.N_E, "N_B": m.belt.N_B, "n_z": 2 * len(m.sheaves.A) - 1})


def scratch(m: Model, x: State, n_p: int) -> Scratch:
    """Working arrays; `n_p` = 1 for the simplified flank contact, 2 for the extended one."""
    N_E = m.belt.N_E
    sizes = {"N_E": N_E, "N_B": m.belt.N_B, "n": len(masses(m.ring))}
    deflection = maxwell((x.z.shape[1] - 1) // 2, N_E * n_p)._replace(z=x.z, r=x.r)
    return zeros(
        Scratch,
        sizes,
        saddles=zeros(SaddleScratch, sizes, press=press(m.saddle, m.belt)),
        flanks=zeros(FlankScratch, sizes, points=flanks(N_E, n_p), find=search(N_E), deflection=deflection),
    )
