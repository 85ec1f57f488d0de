"""The ring set as a planar Cosserat rod (Cebulla 2014, section 6.2), in place of the beam of `ring`.

Vertices r_k and section angles gamma_k of the N_B edges between them, `rods.planar` with its strains and energies:

    d = r_k+1 - r_k,  t = (cos gamma, sin gamma),  a = t.d - l,  b = n.d                         (6.50)
    V = (EA a^2 + GA b^2)/(2 l) + EI (gamma_k - gamma_k-1)^2/(2 l)                                (6.52), (6.60)

Damping is proportional to a', b' and to the rate of curvature, (6.37). The fastest mode of the section by that of shear
and bending has no higher damping ratio than that of extension, else the step would be shorter.

Contour. It goes through the vertices; its tangent at a vertex halves the angle between the chords, and between
vertices it is the cubic of `ring` with c_L = c_R = 0: the local interpolation of section 6.2.3 with the trihedral of
the curve, (6.91). So the rows of `shape`, `rate` and `load`, and with them all contacts, are those of `ring`. Loads act
on vertices only, a moment on the section as a couple on them: on the section angle, whose inertia is small, friction
would be stiff.

Length. Strain (6.22) is that of chords. On an arc of radius r the contour is longer by l^2/(24 r^2), all around by
l^2/24 times the integral of kappa^2; the relaxed edges are shorter by this length at ratio 1.

Inertia. `rotatory` multiplies the rotatory inertia rhoA EI/EA of a layer that bends. At 1 the sections vibrate against
shear with sqrt(GA/rhoI), some thirty times faster than the ring's axial waves: the largest step is then as much
smaller. An implicit trapezoidal step of this linear part is the explicit step with the inertia rhoI + dt^2 GA/4, that
is with a raised one: at `balanced` the sections are as slow as the axial waves.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.ring import ring as beam
from rtcvt.offline.pushbelt.ring.ring import arcsin, largest_mobility
from rtcvt.offline.pushbelt.unit.kinematics import Path, evaluate
from rtcvt.offline.pushbelt.unit.parameters import Belt
from rtcvt.offline.pushbelt.vectors import zero
from rtcvt.offline.rods.planar import PlanarRod, planar_rod

Array = NDArray[np.float64]
NQ = 3  # coordinates of a vertex and the edge in front of it: x, y, gamma
NU = 0.3  # Poisson's ratio of steel
SIGMA = 5.0 / 6.0  # shear correction of a rectangle


class Cosserat(NamedTuple):
    """A ring set as a Cosserat rod; SI units.

    N_B edges of relaxed length l; stiffness EA, GA [N], EI [N m^2], damping d_axial, d_shear [N s], d_bend [N m^2 s];
    mass m [kg] of a vertex, rotatory inertia J [kg m^2] of an edge; angle `turn` once around; half the height h2 [m].
    """

    N_B: int
    l: float  # noqa: E741
    EA: float
    GA: float
    EI: float
    d_axial: float
    d_shear: float
    d_bend: float
    m: float
    J: float
    turn: float
    h2: float


def cosserat(belt: Belt, rotatory: float = 1.0) -> Cosserat:
    """The ring set of a belt as a Cosserat rod with `rotatory` times the rotatory inertia of a layer that bends."""
    r = (belt.l_R - 2.0 * belt.d_A) / (2.0 * np.pi)
    l = belt.l_R / belt.N_B  # noqa: E741
    m = belt.rhoA * l
    l *= 1.0 - l**2 / 24.0 * (2.0 * np.pi / r) / belt.l_R  # noqa: E741
    GA = SIGMA / (2.0 + 2.0 * NU) * belt.EA
    R = Cosserat(
        N_B=belt.N_B,
        l=l,
        EA=belt.EA,
        GA=GA,
        EI=belt.EI,
        d_axial=belt.d_axial,
        d_shear=0.0,
        d_bend=0.0,
        m=m,
        J=rotatory * m * belt.EI / belt.EA,
        turn=-2.0 * np.pi,
        h2=0.5 * belt.h_ring,
    )
    ratio = belt.d_axial / belt.EA * np.sqrt(belt.EA / (l * m))  # of extension, in its fastest mode
    most = 2.0 * ratio / highest_frequency(R)
    shear, bend = GA * most, 0.25 * most * highest_frequency(R) ** 2 * R.J * l
    return R._replace(d_shear=min(GA * belt.d_axial / belt.EA, shear), d_bend=min(belt.d_bend, bend))


def balanced(belt: Belt) -> float:
    """Factor of the rotatory inertia at which shear is as slow as extension: GA/rhoI = (2 c_0/l)^2."""
    R = cosserat(belt)
    return float(R.GA * R.l * R.l * R.m / (4.0 * R.EA * R.J))


def highest_frequency(R: Cosserat) -> float:
    """Largest angular frequency [rad/s] of the straight rod without tension or damping, over all waves along it."""
    half = np.sin(0.5 * np.pi * np.arange(R.N_B // 2 + 1) / (R.N_B // 2))
    across = 4.0 * R.GA / R.l * half**2 / R.m
    turn = (R.GA * R.l + 4.0 * R.EI / R.l * half**2) / R.J
    mixed = 2.0 * R.GA * half / np.sqrt(R.m * R.J)
    shear = 0.5 * (across + turn) + np.hypot(0.5 * (across - turn), mixed)
    return float(np.sqrt(max(shear.max(), 4.0 * R.EA / R.l / R.m)))


def planar(R: Cosserat) -> PlanarRod:
    """The same rod for `rods.planar`, without damping."""
    return planar_rod(
        R.N_B, R.N_B * R.l, EA=R.EA, GA=R.GA, EI=R.EI, rhoA=R.m / R.l, rhoI=R.J / R.l, closed=True, turn=R.turn
    )


def placed(R: Cosserat, path: Path, v: float) -> tuple[Array, Array]:
    """Coordinates and velocities, each (N_B, 3), on a path at `v` [m/s]: equal chords, sections at right angles."""
    s = np.linspace(0.0, path.length, R.N_B + 1)
    for _ in range(8):
        at = evaluate(path, s)
        way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(at.x), np.diff(at.y)))])
        s = np.interp(np.linspace(0.0, way[-1], R.N_B + 1), way, s)
    at = evaluate(path, s)
    dx, dy = np.diff(at.x), np.diff(at.y)
    wx, wy = np.diff(v * np.cos(at.psi)), np.diff(v * np.sin(at.psi))
    psi = np.unwrap(np.arctan2(dy, dx))
    psi += 2.0 * np.pi * np.round((at.psi[0] - psi[0]) / (2.0 * np.pi))
    q = np.column_stack([at.x[:-1], at.y[:-1], psi])
    u = np.column_stack([v * np.cos(at.psi[:-1]), v * np.sin(at.psi[:-1]), (dx * wy - dy * wx) / (dx**2 + dy**2)])
    return q, u


@inlined
def masses(R: Cosserat) -> Any:
    """Of a vertex and the edge in front of it [kg, kg m^2]."""
    return R.m, R.m, R.J


@compiled
def shape_of(R: Cosserat, q: Any, cs: Any, sn: Any, shape: Any) -> None:
    """Rows of the contour.

    Parameters
    ----------
    R : Cosserat
    q : (N_B, 3) coordinates; cs, sn : (N_B) cosine and sine of gamma, which the contour does not need
    shape : (N_B, 11), written: as `ring.shape_of`
    """
    N_B = R.N_B
    for k in range(N_B):
        beam.chord(q, k, k + 1 if k + 1 < N_B else 0, shape)
        shape[k, beam.A] = 0.0
        shape[k, beam.B] = 0.0
    for k in range(N_B):
        i = k - 1 if k > 0 else N_B - 1
        cross = shape[i, beam.NX] * shape[k, beam.NY] - shape[i, beam.NY] * shape[k, beam.NX]
        dot = shape[i, beam.NX] * shape[k, beam.NX] + shape[i, beam.NY] * shape[k, beam.NY]
        half = arcsin(cross / np.sqrt(2.0 + 2.0 * dot))  # of the angle from chord to chord
        shape[k, beam.TL] = -R.l * half
        shape[i, beam.TR] = R.l * half


@compiled
def rate_of(R: Cosserat, u: Any, shape: Any, rate: Any) -> None:
    """Rates of the contour.

    Parameters
    ----------
    R : Cosserat
    u : (N_B, 3) velocities; shape : (N_B, 11) from `shape_of`
    rate : (N_B, 9), written: as `ring.rate_of`
    """
    N_B = R.N_B
    for k in range(N_B):
        beam.chord_rate(u, shape, k, k + 1 if k + 1 < N_B else 0, rate)
        rate[k, beam.RA] = 0.0
        rate[k, beam.RB] = 0.0
    for k in range(N_B):
        i = k - 1 if k > 0 else N_B - 1
        half = 0.5 * R.l * (rate[k, beam.OM] - rate[i, beam.OM])
        rate[k, beam.RL] = -half
        rate[i, beam.RR] = half


@compiled
def forces(R: Cosserat, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, load: Any, F: Any, S: Any) -> Any:
    """Generalised forces of vertices and edges from strain, bending, damping and the contacts' loads.

    Parameters
    ----------
    R : Cosserat
    q, u : (N_B, 3) coordinates and velocities; cs, sn : (N_B) cosine and sine of gamma
    shape, rate, load : (N_B, 11), (N_B, 9), (N_B, 9); `load` is read and set to zero
    F : (N_B, 3), written: force [N, N, N m]
    S : (N_B), written: force along the section of each edge [N], damping included

    Returns
    -------
    float, float : power of the damping of strain and of bending [W]
    """
    N_B = R.N_B
    li = 1.0 / R.l
    p_strain = 0.0
    p_bend = 0.0
    for k in range(N_B):
        c = cs[k]
        s = sn[k]
        g = u[k, 2]
        along = c * shape[k, beam.DX] + s * shape[k, beam.DY]
        b = c * shape[k, beam.DY] - s * shape[k, beam.DX]
        a_d = c * rate[k, beam.WX] + s * rate[k, beam.WY] + b * g
        b_d = c * rate[k, beam.WY] - s * rate[k, beam.WX] - along * g
        T = li * (R.EA * (along - R.l) + R.d_axial * a_d)
        Q = li * (R.GA * b + R.d_shear * b_d)
        S[k] = T
        F[k, 2] = Q * along - T * b
        load[k, beam.HX] -= T * c - Q * s
        load[k, beam.HY] -= T * s + Q * c
        p_strain += li * (R.d_axial * a_d * a_d + R.d_shear * b_d * b_d)
    for k in range(N_B):  # moments at the vertices, in a column that has no coordinate here
        i = k - 1 if k > 0 else N_B - 1
        turned_by = q[k, 2] - q[i, 2] + (0.0 if k > 0 else R.turn)
        g = u[k, 2] - u[i, 2]
        load[k, beam.QA] = li * (R.EI * turned_by + R.d_bend * g)
        p_bend += li * R.d_bend * g * g
    for k in range(N_B):
        j = k + 1 if k + 1 < N_B else 0
        F[k, 2] += load[j, beam.QA] - load[k, beam.QA]
    vertices(R, shape, load, F)
    return p_strain, p_bend


@compiled
def vertices(R: Cosserat, shape: Any, load: Any, F: Any) -> None:
    """First two columns of F (N_B, 3): forces on the vertices from loads, which are set to zero."""
    N_B = R.N_B
    half = 0.5 * R.l
    for k in range(N_B):
        i = k - 1 if k > 0 else N_B - 1
        j = k + 1 if k + 1 < N_B else 0
        couple = load[k, beam.QS] + half * (load[j, beam.QL] - load[k, beam.QL] + load[i, beam.QR] - load[k, beam.QR])
        shear = couple * shape[k, beam.INV]
        load[k, beam.HX] += shear * shape[k, beam.NX]
        load[k, beam.HY] += shear * shape[k, beam.NY]
    for k in range(N_B):
        i = k - 1 if k > 0 else N_B - 1
        F[k, 0] = load[k, beam.FX] - load[k, beam.HX] + load[i, beam.HX]
        F[k, 1] = load[k, beam.FY] - load[k, beam.HY] + load[i, beam.HY]
    zero(load)


@compiled
def nodal(R: Cosserat, shape: Any, load: Any, F: Any) -> None:
    """Generalised forces F (N_B, 3) of the loads, which are set to zero."""
    vertices(R, shape, load, F)
    F[:, 2] = 0.0


@compiled
def elastic_energy(R: Cosserat, q: Any, cs: Any, sn: Any, shape: Any) -> Any:
    """Energy stored in strain and in bending [J]; arguments as for `forces`."""
    strain = 0.0
    bending = 0.0
    for k in range(R.N_B):
        a = cs[k] * shape[k, beam.DX] + sn[k] * shape[k, beam.DY] - R.l
        b = cs[k] * shape[k, beam.DY] - sn[k] * shape[k, beam.DX]
        strain += R.EA * a * a + R.GA * b * b
        turned_by = q[k, 2] - q[k - 1, 2] if k > 0 else q[0, 2] - q[R.N_B - 1, 2] + R.turn
        bending += R.EI * turned_by * turned_by
    return 0.5 * strain / R.l, 0.5 * bending / R.l


@compiled
def nodes(R: Cosserat, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, q_R: Any, u_R: Any) -> None:
    """Coordinates and velocities q_R, u_R (N_B, 5) that a `ring` of the same contour has; both written, and
    `rate`."""
    rate_of(R, u, shape, rate)
    for k in range(R.N_B):
        b = cs[k] * shape[k, beam.DY] - sn[k] * shape[k, beam.DX]
        q_R[k, 0] = q[k, 0]
        q_R[k, 1] = q[k, 1]
        q_R[k, 2] = q[k, 2] + np.arcsin(b * shape[k, beam.INV]) + shape[k, beam.TL] / R.l
        u_R[k, 0] = u[k, 0]
        u_R[k, 1] = u[k, 1]
        u_R[k, 2] = rate[k, beam.OM] + rate[k, beam.RL] / R.l
    q_R[:, 3:] = 0.0
    u_R[:, 3:] = 0.0


@lru_cache(maxsize=16)
def mobility(R: Cosserat, n: int) -> float:
    """As `ring.mobility`; sections turn with the contour."""
    weight = R.m**-0.5

    def surface(k: NDArray[np.int64], xi: Array) -> Any:
        left, right = (1.0 - xi) * (1.0 - 3.0 * xi), -xi * (2.0 - 3.0 * xi)
        turn = R.h2 / R.l * np.stack([0.5 * left, 1.0 - 0.5 * (left + right), 0.5 * right])  # of chords k - 1 to k + 1
        here = NQ * np.stack([k - 1, k, k + 1, k + 2]) % (NQ * R.N_B)
        across = [turn[0], turn[1] - turn[0], turn[2] - turn[1], -turn[2]]
        return np.concatenate([here[1:3], here + 1]), weight * np.stack([1.0 - xi, xi, *across])

    return largest_mobility(surface, R.N_B, NQ * R.N_B, n)
