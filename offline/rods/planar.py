"""Planar Cosserat rod on a staggered grid (Cebulla 2014, section 6.2, after Lang, Linn and Arnold 2011).

Positions r_n sit on N_v vertices, section angles gamma_n+1/2 on N edges of relaxed length ds. A closed rod has N
vertices, an open one N + 1. The order of the coordinates is that of (6.45),

    q = (x_0, y_0, gamma_1/2, x_1, y_1, gamma_3/2, ...)

An edge with d = r_n+1 - r_n, t = (cos gamma, sin gamma), n = (-sin gamma, cos gamma) has the strains

    a = t.d - ds,  b = n.d                      extension and shear, times ds                    (6.50)
    V_SE = (EA a^2 + GA b^2)/(2 ds)             GA with its shear correction sigma               (6.52)
    D_SE = (c_0 a'^2 + c_1 b'^2)/ds             dissipation; its power is 2 D_SE                 (6.37), (6.82)
    T_R  = rhoI ds gamma'^2/2                                                                    (6.74)

and a vertex with the length dv (ds, or ds/2 at an end) the curvature

    kappa = (gamma_n+1/2 - gamma_n-1/2)/dv                                                       (6.58), (6.59)
    V_BT  = EI dv (kappa - kappa_0)^2/2                                                          (6.60)
    V_G   = -rhoA dv g.r_n,   T_T = rhoA dv |r'|^2/2                                             (6.63), (6.67)

Forces are minus the exact derivatives, (6.53), (6.61), (6.66), (6.83); the mass matrix is diagonal and constant.

Three places differ from the print. The rate of strain is that of (6.37), the derivative of (6.50):
a' = t.d' + b gamma', b' = n.d' - (a + ds) gamma'. (6.79) leaves a and b out, so that a stretched rod that only turns
would be damped and lose angular momentum. The mass of an inner vertex is rhoA dv: (6.88) has half of it, the share of
one edge of (6.71). The vertex where a closed rod closes is like any other: with the two halves of (6.48) its curvature
energy would count fourfold.

Ends of an open rod are free, or their section has a fixed angle (a ghost edge of (6.48)); fixed positions have an
infinite mass, see `inverse_mass`. Around a closed rod the angle grows by `turn`, 2 pi or -2 pi.

Discs are smooth obstacles: a vertex closer to a disc's centre than its radius is pushed out with k times the depth.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtcvt.errors import InputError
from rtcvt.offline.rods.compiled import compiled, inlined
from rtcvt.offline.rods.statics import newton

Array = NDArray[np.float64]


class PlanarRod(NamedTuple):
    """Planar rod for the kernels; SI units.

    N edges of relaxed length ds; stiffness EA, GA [N], EI [N m^2]; rhoA [kg/m], rhoI [kg m]; damping c_0, c_1 [N s] of
    extension and shear; curvature kappa_0 [1/m] without load. `turn` [rad] belongs to the closed rod, `angle` [rad] to
    the ends of an open one, used where `held` is 1. `discs` (n, 4): centre x, y, radius [m], stiffness at a vertex
    [N/m].
    """

    closed: bool
    N: int
    ds: float
    EA: float
    GA: float
    EI: float
    rhoA: float
    rhoI: float
    c_0: float
    c_1: float
    kappa_0: float
    turn: float
    held: tuple[int, int]
    angle: tuple[float, float]
    discs: Array


def planar_rod(
    N: int,
    L: float,
    *,
    EA: float,
    GA: float,
    EI: float,
    rhoA: float,
    rhoI: float | None = None,
    closed: bool = False,
    damping: tuple[float, float] = (0.0, 0.0),
    kappa_0: float = 0.0,
    turn: float = 2.0 * np.pi,
    held: tuple[float | None, float | None] = (None, None),
    discs: Array | None = None,
) -> PlanarRod:
    """A rod of relaxed length `L` [m] in `N` edges.

    Parameters
    ----------
    rhoI : float, optional
        Rotatory inertia per length [kg m]; by default that of the section that bends, rhoA EI/EA.
    held : (float or None, float or None)
        Angles [rad] at which the sections of the two ends are held; None: free.
    discs : (n, 4) array, optional
        Obstacles: centre, radius [m], stiffness [N/m].

    Raises
    ------
    InputError
        Fewer than three edges, or a length, stiffness or mass that is not positive.
    """
    for name, value in {"L": L, "EA": EA, "GA": GA, "EI": EI, "rhoA": rhoA, "rhoI": rhoI}.items():
        if value is not None and not value > 0.0:
            raise InputError("rod", name, value, "a positive number")
    if N < 3:
        raise InputError("rod", "N", N, "at least 3 edges")
    if closed and held != (None, None):
        raise InputError("rod", "held", held, "free ends, as a closed rod has none")
    return PlanarRod(
        closed=closed, N=N, ds=L / N, EA=EA, GA=GA, EI=EI, rhoA=rhoA, rhoI=rhoA * EI / EA if rhoI is None else rhoI,
        c_0=damping[0], c_1=damping[1], kappa_0=kappa_0, turn=turn,
        held=(int(held[0] is not None), int(held[1] is not None)), angle=(held[0] or 0.0, held[1] or 0.0),
        discs=np.zeros((0, 4)) if discs is None else np.ascontiguousarray(discs, dtype=float),
    )  # fmt: skip


def size(rod: PlanarRod) -> int:
    """Number of coordinates."""
    return 3 * rod.N if rod.closed else 3 * rod.N + 2


def mass(rod: PlanarRod) -> Array:
    """Diagonal of the mass matrix (6.88): kg on positions, kg m^2 on angles."""
    m = np.full(size(rod), rod.rhoA * rod.ds)
    m[2::3] = rod.rhoI * rod.ds
    if not rod.closed:
        m[[0, 1, -2, -1]] *= 0.5
    return m


def inverse_mass(rod: PlanarRod, fixed: Any = ()) -> Array:
    """Inverse of the mass, zero on the coordinates `fixed`."""
    out = 1.0 / mass(rod)
    out[list(fixed)] = 0.0
    return out


def weight(rod: PlanarRod, g: tuple[float, float] = (0.0, -9.81)) -> Array:
    """Generalised forces of gravity `g` [m/s^2], (6.66)."""
    F = mass(rod)
    F[0::3] *= g[0]
    F[1::3] *= g[1]
    F[2::3] = 0.0
    return F


def line(rod: PlanarRod, angle: float = 0.0, start: tuple[float, float] = (0.0, 0.0)) -> Array:
    """Coordinates of the straight open rod."""
    q = np.zeros(size(rod))
    s = rod.ds * np.arange(rod.N + 1)
    q[0::3], q[1::3], q[2::3] = start[0] + s * np.cos(angle), start[1] + s * np.sin(angle), angle
    return q


def circle(rod: PlanarRod, stretch: float = 1.0) -> Array:
    """Coordinates of the closed rod on a circle about the origin, run through in the direction of `turn`.

    The edges are `stretch` times as long as without load; vertex 0 lies on the positive x axis.
    """
    q = np.zeros(size(rod))
    step = rod.turn / rod.N
    radius = 0.5 * rod.ds * stretch / np.sin(0.5 * abs(step))
    angle = step * np.arange(rod.N)
    q[0::3], q[1::3] = radius * np.cos(angle), radius * np.sin(angle)
    q[2::3] = angle + 0.5 * step + np.copysign(0.5 * np.pi, step)
    return q


@inlined
def _edge(rod: Any, q: Any, u: Any, n: int, w: float, F: Any) -> float:
    """Adds w times the forces of edge n, (6.53) and (6.83); returns w times the power of damping."""
    i = 3 * n
    j = i + 3 if i + 3 < q.size else 0
    c = np.cos(q[i + 2])
    s = np.sin(q[i + 2])
    dx = q[j] - q[i]
    dy = q[j + 1] - q[i + 1]
    wx = u[j] - u[i]
    wy = u[j + 1] - u[i + 1]
    h = 1.0 / rod.ds
    along = c * dx + s * dy
    b = c * dy - s * dx
    a_d = c * wx + s * wy + b * u[i + 2]
    b_d = c * wy - s * wx - along * u[i + 2]
    A = w * h * (rod.EA * (along - rod.ds) + 2.0 * rod.c_0 * a_d)
    B = w * h * (rod.GA * b + 2.0 * rod.c_1 * b_d)
    fx = A * c - B * s
    fy = A * s + B * c
    F[i] += fx
    F[i + 1] += fy
    F[j] -= fx
    F[j + 1] -= fy
    F[i + 2] -= A * b - B * along
    return 2.0 * w * h * (rod.c_0 * a_d * a_d + rod.c_1 * b_d * b_d)


@inlined
def _vertex(rod: Any, q: Any, n: int, w: float, F: Any) -> None:
    """Adds w times the forces at vertex n: bending (6.61) and discs."""
    i = 3 * n
    if n > 0 and i + 2 < q.size:
        M = w * rod.EI * ((q[i + 2] - q[i - 1]) / rod.ds - rod.kappa_0)
        F[i + 2] -= M
        F[i - 1] += M
    elif rod.closed:
        e = q.size - 1
        M = w * rod.EI * ((q[2] - q[e] + rod.turn) / rod.ds - rod.kappa_0)
        F[2] -= M
        F[e] += M
    elif n == 0:
        F[2] -= rod.held[0] * w * rod.EI * ((q[2] - rod.angle[0]) / (0.5 * rod.ds) - rod.kappa_0)
    else:
        F[i - 1] += rod.held[1] * w * rod.EI * ((rod.angle[1] - q[i - 1]) / (0.5 * rod.ds) - rod.kappa_0)
    for k in range(rod.discs.shape[0]):
        x = q[i] - rod.discs[k, 0]
        y = q[i + 1] - rod.discs[k, 1]
        r2 = x * x + y * y
        R = rod.discs[k, 2]
        if r2 < R * R:
            r = np.sqrt(r2)
            f = w * rod.discs[k, 3] * (R - r) / r
            F[i] += f * x
            F[i + 1] += f * y


@compiled
def forces(rod: Any, q: Any, u: Any, F: Any) -> float:
    """Right-hand side (6.89) without gravity.

    Parameters
    ----------
    rod : PlanarRod
    q, u : (size,) coordinates and velocities
    F : (size,), written: generalised forces [N, N, N m]

    Returns
    -------
    float : power of the damping [W], 2 D_SE
    """
    F[:] = 0.0
    power = 0.0
    for n in range(rod.N):
        power += _edge(rod, q, u, n, 1.0, F)
        _vertex(rod, q, n, 1.0, F)
    if not rod.closed:
        _vertex(rod, q, rod.N, 1.0, F)
    return power


@compiled
def partial_forces(rod: Any, q: Any, u: Any, edges: Any, w_e: Any, vertices: Any, w_v: Any, F: Any) -> float:
    """Adds to F the forces of a few edges and vertices, times their weights, for hyper-reduction.

    Returns the power of their damping [W].
    """
    power = 0.0
    for k in range(edges.size):
        power += _edge(rod, q, u, edges[k], w_e[k], F)
    for k in range(vertices.size):
        _vertex(rod, q, vertices[k], w_v[k], F)
    return power


@compiled
def energies(rod: Any, q: Any, u: Any) -> Any:
    """Strain, bending, contact with discs, kinetic energy [J]: (6.49), (6.56), (6.67) with (6.72)."""
    strain = 0.0
    bending = 0.0
    contact = 0.0
    kinetic = 0.0
    v_n = rod.N if rod.closed else rod.N + 1
    for n in range(rod.N):
        i = 3 * n
        j = i + 3 if i + 3 < q.size else 0
        c = np.cos(q[i + 2])
        s = np.sin(q[i + 2])
        dx = q[j] - q[i]
        dy = q[j + 1] - q[i + 1]
        a = c * dx + s * dy - rod.ds
        b = c * dy - s * dx
        strain += 0.5 * (rod.EA * a * a + rod.GA * b * b) / rod.ds
        kinetic += 0.5 * rod.rhoI * rod.ds * u[i + 2] ** 2
    for n in range(v_n):
        i = 3 * n
        dv = rod.ds
        live = 1.0
        if n > 0 and i + 2 < q.size:
            turned = q[i + 2] - q[i - 1]
        elif rod.closed:
            turned = q[2] - q[q.size - 1] + rod.turn
        elif n == 0:
            turned = q[2] - rod.angle[0]
            dv *= 0.5
            live = 1.0 * rod.held[0]
        else:
            turned = rod.angle[1] - q[i - 1]
            dv *= 0.5
            live = 1.0 * rod.held[1]
        bending += 0.5 * live * rod.EI * dv * (turned / dv - rod.kappa_0) ** 2
        kinetic += 0.5 * rod.rhoA * dv * (u[i] ** 2 + u[i + 1] ** 2)
        for k in range(rod.discs.shape[0]):
            r = np.sqrt((q[i] - rod.discs[k, 0]) ** 2 + (q[i + 1] - rod.discs[k, 1]) ** 2)
            contact += 0.5 * rod.discs[k, 3] * max(0.0, rod.discs[k, 2] - r) ** 2
    return strain, bending, contact, kinetic


@compiled
def march(rod: Any, q: Any, u: Any, inverse: Any, load: Any, dt: float, steps: int) -> float:
    """Störmer-Verlet: `steps` steps of M q'' = h + load; stable up to dt = 2/omega_max without damping.

    Parameters
    ----------
    q, u : (size,) coordinates and velocities, updated
    inverse : (size,) inverse of the mass, zero where fixed
    load : (size,) constant generalised forces

    Returns
    -------
    float : work of the damping [J]
    """
    F = np.zeros(q.size)
    half = 0.5 * dt
    power = forces(rod, q, u, F)
    work = 0.5 * dt * power
    for _ in range(steps):
        for i in range(q.size):
            u[i] += half * inverse[i] * (F[i] + load[i])
            q[i] += dt * u[i]
        power = forces(rod, q, u, F)
        work += dt * power
        for i in range(q.size):
            u[i] += half * inverse[i] * (F[i] + load[i])
    return work - 0.5 * dt * power


def stiffness(rod: PlanarRod, q: Array) -> csr_array:
    """Second derivative of the potential energy at `q`, (size, size): the derivative of (6.53) and (6.61)."""
    n, h = size(rod), 1.0 / rod.ds
    i = 3 * np.arange(rod.N)
    j = (i + 3) % n if rod.closed else i + 3
    c, s = np.cos(q[i + 2]), np.sin(q[i + 2])
    dx, dy = q[j] - q[i], q[j + 1] - q[i + 1]
    along, b = c * dx + s * dy, c * dy - s * dx
    a, EA, GA = along - rod.ds, rod.EA, rod.GA
    rows: list[Array] = []
    columns: list[Array] = []
    values: list[Array] = []

    def add(r: Any, k: Any, v: Any) -> None:
        rows.append(np.asarray(r).ravel())
        columns.append(np.asarray(k).ravel())
        values.append(np.broadcast_to(v, np.shape(r)).ravel())

    block = h * np.array([[EA * c * c + GA * s * s, (EA - GA) * c * s], [(EA - GA) * c * s, EA * s * s + GA * c * c]])
    toward = (EA - GA) * b, EA * a - GA * along  # along t, along n
    mixed = h * np.array([toward[0] * c - toward[1] * s, toward[0] * s + toward[1] * c])
    for k in range(2):
        for m in range(2):
            for row, column, sign in ((i, i, 1.0), (i, j, -1.0), (j, i, -1.0), (j, j, 1.0)):
                add(row + k, column + m, sign * block[k, m])
        for row, sign in ((i, -1.0), (j, 1.0)):
            add(row + k, i + 2, sign * mixed[k])
            add(i + 2, row + k, sign * mixed[k])
    add(i + 2, i + 2, h * (EA * (b * b - a * along) + GA * (along * along - b * b)))
    fore = i + 2 if rod.closed else i[1:] + 2
    back = (fore - 3) % n if rod.closed else fore - 3
    for row, column, sign in ((fore, fore, 1.0), (fore, back, -1.0), (back, fore, -1.0), (back, back, 1.0)):
        add(row, column, sign * rod.EI * h)
    for held, at in zip(rod.held, (2, n - 3), strict=True):
        add([at], [at], held * rod.EI * 2.0 * h)
    vertex = 3 * np.arange(rod.N if rod.closed else rod.N + 1)
    for X, Y, R, k_d in rod.discs:
        x, y = q[vertex] - X, q[vertex + 1] - Y
        r = np.hypot(x, y)
        touch = r < R
        v, x, y, r = vertex[touch], x[touch], y[touch], r[touch]
        normal, tangential = k_d / r**2, -k_d * (R - r) / r**3
        add(v, v, normal * x * x + tangential * y * y)
        add(v + 1, v + 1, normal * y * y + tangential * x * x)
        add(v, v + 1, (normal - tangential) * x * y)
        add(v + 1, v, (normal - tangential) * x * y)
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))


def equilibrium(rod: PlanarRod, q: Array, load: Array, fixed: Any = ()) -> Array:
    """Coordinates at which forces and `load` balance, by Newton's method from `q`; see `statics.newton`."""
    return newton(partial(forces, rod), partial(stiffness, rod), q, load, fixed, longest=0.5 * min(1.0, rod.N * rod.ds))
