"""Interface of the ring set for the belt: the beam of `ring`, the rod of `cosserat`, its modes in `projected`.

A ring has N_B pieces of relaxed length l and the half height h2. Its coordinates q, velocities u and forces F are
(N_B, n) arrays, cs and sn cosine and sine of its angles. Each piece has a row of `shape`, `rate` and `load`, the whole
interface for contacts (`ring.point`, `velocity`, `push`). The kernel is chosen by the ring's type, when the step is
compiled.

Largest step. The scheme of the belt is u+ = u + dt M^-1 F(q, u), q+ = q + dt u+. A mode with the frequency omega and
the damping ratio zeta is stable up to

    dt = 2/omega (sqrt(1 + zeta^2) - zeta)

`spectrum` has the modes of the linearised ring.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from rtcvt.offline.pushbelt import vectors
from rtcvt.offline.pushbelt.compiled import Contract, by_law, compiled
from rtcvt.offline.pushbelt.ring import cosserat as rod
from rtcvt.offline.pushbelt.ring import ring as beam
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.ring.ring import Ring
from rtcvt.offline.pushbelt.unit.initial import Start
from rtcvt.offline.pushbelt.unit.parameters import Belt

Array = NDArray[np.float64]


def made(belt: Belt, kind: str = "rcm", rotatory: float = 1.0) -> Any:
    """The ring set of a belt: `rcm`, redundant coordinates, else a Cosserat rod with its factor of rotatory inertia."""
    return beam.ring(belt) if kind == "rcm" else rod.cosserat(belt, rotatory)


@by_law
def masses(R: Any) -> Any:
    """Masses of the n coordinates of a piece [kg, kg m^2], a tuple."""


@by_law
def placed(R: Any, start: Start) -> Any:
    """Coordinates and velocities, each (N_B, n), at the start of a belt."""


@by_law
def mobility(R: Any, n: int) -> Any:
    """Largest inverse mass [1/kg] against tangential forces at `n` evenly spread places of the ring's surface."""


@by_law
def move(R: Any, q: Any, u: Any, cs: Any, sn: Any, dt: float) -> Any:
    """q += dt u, with cosine and sine of the angles."""


@by_law
def shape_of(R: Any, q: Any, cs: Any, sn: Any, shape: Any) -> Any:
    """Write the rows (N_B, 11) of `shape`, see `ring.shape_of`."""


@by_law
def rate_of(R: Any, u: Any, shape: Any, rate: Any) -> Any:
    """Write the rows (N_B, 9) of `rate`, see `ring.rate_of`."""


@by_law
def forces(R: Any, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, load: Any, F: Any, S: Any) -> Any:
    """Generalised forces of strain, bending, damping and `load`.

    Parameters
    ----------
    R : Ring or Cosserat
    q, u : (N_B, n) coordinates and velocities; cs, sn : (N_B) cosine and sine of the angles
    shape, rate, load : rows of the pieces; `load` is read and set to zero
    F : (N_B, n), written: forces [N or N m]
    S : (N_B), written: tension [N], damping included

    Returns
    -------
    float, float : power of the damping of strain and of bending [W]
    """


@by_law
def nodal(R: Any, shape: Any, load: Any, F: Any) -> Any:
    """Generalised forces F (N_B, n) of the loads alone, which are set to zero."""


@by_law
def advance(R: Any, F: Any, u: Any, dt: float) -> Any:
    """Velocity step u += dt M^-1 F."""


@by_law
def elastic_energy(R: Any, q: Any, cs: Any, sn: Any, shape: Any) -> Any:
    """Energy stored in strain and in bending [J]."""


@by_law
def nodes(R: Any, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, q_R: Any, u_R: Any) -> Any:
    """Write q_R, u_R (N_B, 5) of the beam of `ring` that has the same contour, as stored in files."""


@move.of(Ring, Cosserat)
@compiled
def _move(R: Any, q: Any, u: Any, cs: Any, sn: Any, dt: float) -> None:
    vectors.move(len(masses(R)), q, u, cs, sn, dt)


@advance.of(Ring, Cosserat)
@compiled
def _advance(R: Any, F: Any, u: Any, dt: float) -> None:
    vectors.accelerate(masses(R), F, u, dt)


@compiled
def kinetic_energy(R: Any, u: Any) -> float:
    """Kinetic energy [J] at the velocities u (N_B, n)."""
    return vectors.kinetic(masses(R), u)


# --- redundant coordinates


@placed.of(Ring)
def _placed_beam(R: Ring, start: Start) -> tuple[Array, Array]:
    return start.q_R, start.u_R


@forces.of(Ring)
@compiled
def _forces_beam(R: Ring, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, load: Any, F: Any, S: Any) -> Any:
    return beam.forces(R, shape, rate, load, F, S)


@elastic_energy.of(Ring)
@compiled
def _energy_beam(R: Ring, q: Any, cs: Any, sn: Any, shape: Any) -> Any:
    return beam.elastic_energy(R, shape)


@nodes.of(Ring)
@compiled
def _nodes_beam(R: Ring, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, q_R: Any, u_R: Any) -> None:
    for k in range(R.N_B):
        for a in range(5):
            q_R[k, a] = q[k, a]
            u_R[k, a] = u[k, a]


# --- Cosserat rod


@placed.of(Cosserat)
def _placed_rod(R: Cosserat, start: Start) -> tuple[Array, Array]:
    return rod.placed(R, start.path, float(np.hypot(*start.u_R[0, :2])))


RING = Contract(masses, placed, mobility, move, shape_of, rate_of, forces, nodal, advance, elastic_energy, nodes)
RING.adopt(Ring, beam)
RING.adopt(Cosserat, rod)
RING.register(Ring, Cosserat)


# --- linearised ring

MOTIONS = ("along", "across", "rotation", "deflection")


class Spectrum(NamedTuple):
    """Modes of a ring about a state, slowest first.

    omega (m,) angular frequencies [rad/s], negative if unstable; zeta (m,) damping ratios; share (m, 4): of the kinetic
    energy, motion along the ring, across it, rotation of nodes or sections, deflections within the pieces; step: the
    largest stable step of all modes [s]; bounding: the mode that limits it.
    """

    omega: Array
    zeta: Array
    share: Array
    step: float
    bounding: int

    def __str__(self) -> str:
        k = self.bounding
        share = ", ".join(f"{w} {s:.3f}" for w, s in zip(MOTIONS, self.share[k], strict=True) if s > 5e-4)
        return (
            f"{self.omega.size} modes; largest step {1e6 * self.step:.3f} us, bounded by {self.omega[k]:.3g} rad/s "
            f"with damping ratio {self.zeta[k]:.3f}, kinetic energy {share}"
        )


def _linear(R: Any, q: Array) -> Callable[[Array, Array], Array]:
    """Forces (N_B n,) of a ring over its coordinates and velocities."""
    shape, rate = np.zeros((R.N_B, beam.N_SHAPE)), np.zeros((R.N_B, beam.N_RATE))
    load, S = np.zeros((R.N_B, beam.N_LOAD)), np.zeros(R.N_B)

    def force(x: Array, v: Array) -> Array:
        at, u, F = x.reshape(q.shape), v.reshape(q.shape), np.zeros(q.shape)
        cs, sn = np.cos(at[:, 2]), np.sin(at[:, 2])
        shape_of(R, at, cs, sn, shape)
        rate_of(R, u, shape, rate)
        forces(R, at, u, cs, sn, shape, rate, load, F, S)
        return F.ravel()

    return force


def bounds(omega: Array, zeta: Array) -> Array:
    """Largest stable step [s] of each mode; modes that do not swing have one of 2 s."""
    return np.asarray(2.0 / np.maximum(omega, 1.0) * (np.sqrt(1.0 + zeta**2) - zeta))


def spectrum(R: Any, q: Array) -> Spectrum:
    """Modes of a ring without contacts, linearised at rest about the coordinates `q` (N_B, n).

    Damping ratios are those of the diagonal of the damping in the modes.
    """
    force, x, none = _linear(R, q), q.ravel(), np.zeros(q.size)
    root = np.tile(masses(R), R.N_B) ** -0.5
    h, unit = 1e-7, np.eye(q.size)
    K = np.array([(force(x - h * e, none) - force(x + h * e, none)) / (2.0 * h) for e in unit])
    D = np.array([(force(x, -e) - force(x, e)) / 2.0 for e in unit])
    K = root[:, None] * (0.5 * (K + K.T)) * root
    square, V = eigh(K)
    omega = np.sign(square) * np.sqrt(np.abs(square))
    half = 0.5 * np.einsum("ik,ij,jk->k", V, root[:, None] * D * root, V, optimize=True)
    zeta = np.maximum(half, 0.0) / np.maximum(np.abs(omega), 1.0)
    limit = bounds(omega, zeta)
    bounding = int(limit.argmin())
    part = V.reshape(*q.shape, -1)
    d = np.roll(q[:, :2], -1, axis=0) - np.roll(q[:, :2], 1, axis=0)
    t = d / np.linalg.norm(d, axis=1)[:, None]
    along = np.einsum("kc,kcm->km", t, part[:, :2])
    across = t[:, :1] * part[:, 1] - t[:, 1:] * part[:, 0]
    share = [np.sum(p**2, axis=0) for p in (along, across, part[:, 2])] + [np.sum(part[:, 3:] ** 2, axis=(0, 1))]
    return Spectrum(omega, zeta, np.column_stack(share), float(limit[bounding]), bounding)


def largest_step(R: Any) -> float:
    """Largest stable step [s] of the straight ring: of axial waves, and of sections against shear; of modes: theirs."""
    if "step" in R._fields:
        return float(R.step)
    axial = 2.0 * np.sqrt(R.EA / R.l / R.m)
    pairs = [(axial, 0.5 * R.d_axial / R.EA * axial)]
    if isinstance(R, Cosserat):
        fastest = rod.highest_frequency(R)
        pairs.append((fastest, 0.5 * (R.d_shear / R.GA) * fastest + 2.0 * R.d_bend / (R.l * R.J * fastest)))
    return float(bounds(*np.array(pairs).T).min())
