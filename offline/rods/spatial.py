"""Spatial Cosserat rod with Cardan angles on a staggered grid (Cebulla 2014, section 6.2; Lang, Linn and Arnold 2011).

Positions r_n sit on N_v vertices, Cardan angles phi = (alpha, beta, gamma) on N edges of relaxed length ds. The
coordinates are in the order of (6.95), q = (r_0, phi_1/2, r_1, phi_3/2, ...); velocities are u = (v_n, omega_n+1/2)
with the angular velocity in the frame of the section, omega = T(phi) phi',

    A(phi) = Rx(alpha) Ry(beta) Rz(gamma) = (t, n, b)                                            (6.16)
           | cos b cos g    sin g   0 |
    T    = | -cos b sin g   cos g   0 |     b = beta, g = gamma                                  (6.28), (6.34)
           | sin b          0       1 |

An edge with d = r_n+1 - r_n has the strain and the energies

    eps   = A' d/ds - (1, 0, 0),  V_SE = ds/2 eps' diag(EA, GA_1, GA_2) eps                      (6.21), (6.24)
    D_SE  = ds eps_t' diag(c_0, c_1, c_2) eps_t                                                  (6.37)
    T_R   = ds/2 omega' diag(rhoI_0, rhoI_1, rhoI_2) omega                                       (6.36)

with the force N = A C eps and the moment d_K x C eps on its section. A vertex has the curvature of the mean angles,

    kappa = T(phi_m) (phi_n+1/2 - phi_n-1/2)/dv                                                  (6.28), (6.57), (6.58)
    V_BT  = dv/2 k' diag(GI_0, EI_1, EI_2) k,  k = kappa - kappa_0                               (6.30)

that is torsion, bending in the t-b plane, bending in the t-n plane. With alpha = beta = 0 and
z = 0 this is the rod of `planar`. Forces on coordinates are the exact derivatives; equations of motion are

    rhoA dv v' = F,   I omega' + omega x I omega = T^-T Q,   phi' = T^-1 omega

where Q are the generalised forces of the angles. They equal (6.86) with its configuration-dependent mass T' I T. A
Cardan angle beta of 90 degrees is singular. The mean angle of two sections depends on the axes: turned as a whole, a
bent rod changes its curvature by a part of second order in ds.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.vectors import cross, dot, image, minus, plus, scaled, seen, times
from rtcvt.offline.rods.compiled import compiled, inlined
from rtcvt.offline.rods.statics import newton

Array = NDArray[np.float64]
Triple = tuple[float, float, float]


class SpatialRod(NamedTuple):
    """Spatial rod for the kernels; SI units. Triples follow t, n, b.

    N edges of relaxed length ds; stiffness strain = (EA, GA_1, GA_2) [N], bend = (GI_0, EI_1, EI_2) [N m^2] of torsion,
    bending in the t-b and in the t-n plane; rhoA [kg/m], rhoI [kg m]; damping c [N s]; curvature kappa_0 [1/m] without
    load. `turn` [rad] by which gamma grows around a closed rod; `angle` (2, 3) of the ends of an open one, if `held`.
    """

    closed: bool
    N: int
    ds: float
    strain: Triple
    bend: Triple
    rhoA: float
    rhoI: Triple
    c: Triple
    kappa_0: Triple
    turn: float
    held: tuple[int, int]
    angle: Array


def spatial_rod(
    N: int,
    L: float,
    *,
    strain: Triple,
    bend: Triple,
    rhoA: float,
    rhoI: Triple,
    closed: bool = False,
    damping: Triple = (0.0, 0.0, 0.0),
    kappa_0: Triple = (0.0, 0.0, 0.0),
    turn: float = 2.0 * np.pi,
    held: tuple[Triple | None, Triple | None] = (None, None),
) -> SpatialRod:
    """A rod of relaxed length `L` [m] in `N` edges; `held` are the Cardan angles [rad] of held end sections.

    Raises
    ------
    InputError
        Fewer than three edges, or a length, stiffness or mass that is not positive.
    """
    given = {"L": (L,), "strain": strain, "bend": bend, "rhoA": (rhoA,), "rhoI": rhoI}
    for name, values in given.items():
        if not all(value > 0.0 for value in values):
            raise InputError("rod", name, values, "positive numbers")
    if N < 3:
        raise InputError("rod", "N", N, "at least 3 edges")
    if closed and held != (None, None):
        raise InputError("rod", "held", held, "free ends, as a closed rod has none")
    angle = np.array([h or (0.0, 0.0, 0.0) for h in held])
    ends = int(held[0] is not None), int(held[1] is not None)
    return SpatialRod(closed, N, L / N, strain, bend, rhoA, rhoI, damping, kappa_0, turn, ends, angle)


def size(rod: SpatialRod) -> int:
    """Number of coordinates."""
    return 6 * rod.N if rod.closed else 6 * rod.N + 3


def mass(rod: SpatialRod) -> Array:
    """Diagonal of the mass for u = (v, omega): kg on positions, kg m^2 on rotations."""
    m = np.tile(np.array([rod.rhoA, rod.rhoA, rod.rhoA, *rod.rhoI]) * rod.ds, rod.N + 1)[: size(rod)]
    if not rod.closed:
        m[:3] *= 0.5
        m[-3:] *= 0.5
    return m


def mass_matrix(rod: SpatialRod, q: Array) -> Array:
    """Mass matrix (size, size) of (6.86), for q'."""
    M = np.diag(mass(rod))
    for n in range(rod.N):
        i = 6 * n + 3
        T = np.array(_rates(q[i + 1], q[i + 2]))
        M[i : i + 3, i : i + 3] = T.T @ M[i : i + 3, i : i + 3] @ T
    return M


def embedded(q: Array) -> Array:
    """Coordinates of a spatial rod from those of a planar one, (6.45), in the plane z = 0."""
    out = np.zeros(2 * q.size - (q.size % 3) // 2)
    out[0::6], out[1::6], out[5::6] = q[0::3], q[1::3], q[2::3]
    return out


@inlined
def axes(ca: float, sa: float, cb: float, sb: float, cg: float, sg: float) -> Any:
    """Columns t, n, b of A of (6.16) by cosines and sines of alpha, beta and gamma."""
    t = (cb * cg, ca * sg + sa * sb * cg, sa * sg - ca * sb * cg)
    return t, (-cb * sg, ca * cg - sa * sb * sg, sa * cg + ca * sb * sg), (sb, -sa * cb, ca * cb)


@inlined
def turns(cb: float, sb: float, cg: float, sg: float) -> Any:
    """Rows of T of phi' -> omega in the frame of the section, by cosines and sines of beta and gamma."""
    return (cb * cg, sg, 0.0), (-cb * sg, cg, 0.0), (sb, 0.0, 1.0)


@inlined
def _rates(beta: float, gamma: float) -> Any:
    """`turns` at angles."""
    return turns(np.cos(beta), np.sin(beta), np.cos(gamma), np.sin(gamma))


@inlined
def _vector(a: Any, i: int) -> Any:
    """The vector in a from entry i on."""
    return a[i], a[i + 1], a[i + 2]


@inlined
def _add(v: Any, a: Any, i: int) -> None:
    """Add a vector to a from entry i on."""
    a[i] += v[0]
    a[i + 1] += v[1]
    a[i + 2] += v[2]


@inlined
def _edge(rod: Any, q: Any, i: int, j: int) -> Any:
    """Axes of the section of the edge from the vertex at i to that at j, its d in these axes, and its strain."""
    alpha, beta, gamma = _vector(q, i + 3)
    A = axes(np.cos(alpha), np.sin(alpha), np.cos(beta), np.sin(beta), np.cos(gamma), np.sin(gamma))
    d = seen(A, minus(_vector(q, j), _vector(q, i)))
    return A, d, (d[0] / rod.ds - 1.0, d[1] / rod.ds, d[2] / rod.ds)


@inlined
def _bent(rod: Any, q: Any, n: int) -> Any:
    """Length of vertex n, 0 at a free end, and the angles before and after it."""
    i = 6 * n + 3
    dv = rod.ds
    back, fore = _vector(rod.angle[0], 0), _vector(rod.angle[1], 0)
    if n > 0:
        back = _vector(q, i - 6)
    elif rod.closed:
        back = minus(_vector(q, q.size - 3), (0.0, 0.0, rod.turn))
    else:
        dv = 0.5 * rod.ds * rod.held[0]
    if i < q.size:
        fore = _vector(q, i)
    else:
        dv = 0.5 * rod.ds * rod.held[1]
    return dv, back, fore


@inlined
def _curvature(back: Any, fore: Any, dv: float) -> Any:
    """Rows of T at the mean angles, and kappa of (6.28)."""
    T = _rates(0.5 * (back[1] + fore[1]), 0.5 * (back[2] + fore[2]))
    return T, seen(T, times(1.0 / dv, minus(fore, back)))


@compiled
def forces(rod: Any, q: Any, u: Any, F: Any) -> float:
    """Generalised forces on the coordinates: minus the derivatives of V_SE, V_BT, D_SE.

    Parameters
    ----------
    rod : SpatialRod
    q, u : (size,) coordinates; velocities (v, omega)
    F : (size,), written: force [N] on positions, generalised moment [N m] on Cardan angles

    Returns
    -------
    float : power of the damping [W], 2 D_SE
    """
    power = 0.0
    F[:] = 0.0
    for n in range(rod.N):
        i = 6 * n
        j = i + 6 if i + 6 < q.size else 0
        A, d, strain = _edge(rod, q, i, j)
        moving = minus(seen(A, minus(_vector(u, j), _vector(u, i))), cross(_vector(u, i + 3), d))
        rate = times(1.0 / rod.ds, moving)
        damper = scaled(times(2.0, rod.c), rate)
        power += rod.ds * dot(damper, rate)
        N = plus(scaled(rod.strain, strain), damper)
        f = image(A, N)
        _add(f, F, i)
        _add(times(-1.0, f), F, j)
        _add(image(_rates(q[i + 4], q[i + 5]), cross(d, N)), F, i + 3)
    for n in range(rod.N if rod.closed else rod.N + 1):
        dv, back, fore = _bent(rod, q, n)
        if dv == 0.0:
            continue
        T, kappa = _curvature(back, fore, dv)
        N = scaled(rod.bend, minus(kappa, rod.kappa_0))
        # derivatives of kappa by the mean beta and gamma
        a = (fore[0] - back[0]) / dv
        cb = np.cos(0.5 * (back[1] + fore[1]))
        by_beta = a * (-T[2][0] * (T[1][1] * N[0] - T[0][1] * N[1]) + cb * N[2])
        by_gamma = kappa[1] * N[0] - kappa[0] * N[1]
        i = 6 * n + 3
        M = image(T, N)
        mean = times(0.5 * dv, (0.0, by_beta, by_gamma))
        if i < q.size:
            _add(times(-1.0, plus(M, mean)), F, i)
        if n > 0 or rod.closed:
            _add(minus(M, mean), F, i - 6 if n > 0 else q.size - 3)
    return power


@compiled
def energies(rod: Any, q: Any, u: Any) -> Any:
    """Strain, bending and torsion, kinetic energy [J]."""
    strain = 0.0
    bending = 0.0
    kinetic = 0.0
    for n in range(rod.N):
        i = 6 * n
        _, _, eps = _edge(rod, q, i, i + 6 if i + 6 < q.size else 0)
        omega = _vector(u, i + 3)
        strain += 0.5 * rod.ds * dot(rod.strain, scaled(eps, eps))
        kinetic += 0.5 * rod.ds * dot(rod.rhoI, scaled(omega, omega))
    for n in range(rod.N if rod.closed else rod.N + 1):
        dv, back, fore = _bent(rod, q, n)
        if dv > 0.0:
            k = minus(_curvature(back, fore, dv)[1], rod.kappa_0)
            bending += 0.5 * dv * dot(rod.bend, scaled(k, k))
        lump = 0.5 if not rod.closed and (n == 0 or n == rod.N) else 1.0
        v = _vector(u, 6 * n)
        kinetic += 0.5 * lump * rod.ds * rod.rhoA * dot(v, v)
    return strain, bending, kinetic


@compiled
def _derivative(rod: Any, q: Any, u: Any, inverse: Any, load: Any, q_t: Any, u_t: Any) -> float:
    """Rates of coordinates and velocities; power of damping [W]."""
    power = forces(rod, q, u, u_t)
    for i in range(q.size):
        u_t[i] += load[i]
    for i in range(q.size):
        q_t[i] = u[i]
        u_t[i] *= inverse[i] if i % 6 < 3 else 1.0
    for n in range(rod.N):
        i = 6 * n + 3
        (_, sg, _), (_, cg, _), (sb, _, _) = _rates(q[i + 1], q[i + 2])
        cb = np.cos(q[i + 1])
        # phi' = T^-1 omega, moment = T^-T Q
        q_t[i] = (cg * u[i] - sg * u[i + 1]) / cb
        q_t[i + 1] = sg * u[i] + cg * u[i + 1]
        q_t[i + 2] = u[i + 2] - sb * q_t[i]
        lifted = (u_t[i] - sb * u_t[i + 2]) / cb
        mx = cg * lifted + sg * u_t[i + 1]
        my = -sg * lifted + cg * u_t[i + 1]
        mz = u_t[i + 2]
        I0 = rod.rhoI[0] * rod.ds
        I1 = rod.rhoI[1] * rod.ds
        I2 = rod.rhoI[2] * rod.ds
        u_t[i] = inverse[i] * (mx - (I2 - I1) * u[i + 1] * u[i + 2])
        u_t[i + 1] = inverse[i + 1] * (my - (I0 - I2) * u[i + 2] * u[i])
        u_t[i + 2] = inverse[i + 2] * (mz - (I1 - I0) * u[i] * u[i + 1])
    return power


@compiled
def march(rod: Any, q: Any, u: Any, inverse: Any, load: Any, dt: float, steps: int) -> None:
    """`steps` steps of the classical Runge-Kutta method, stable up to dt = 2.8/omega_max.

    Parameters
    ----------
    q, u : (size,) coordinates and velocities (v, omega), updated
    inverse : (size,) inverse of `mass`, zero where held
    load : (size,) generalised forces that do not change
    """
    n = q.size
    stage_q = np.empty(n)
    stage_u = np.empty(n)
    sum_q = np.empty(n)
    sum_u = np.empty(n)
    q_t = np.empty(n)
    u_t = np.empty(n)
    for _ in range(steps):
        stage_q[:] = q
        stage_u[:] = u
        sum_q[:] = 0.0
        sum_u[:] = 0.0
        for stage in range(4):
            _derivative(rod, stage_q, stage_u, inverse, load, q_t, u_t)
            part = dt / 6.0 if stage == 0 or stage == 3 else dt / 3.0
            ahead = 0.5 * dt if stage < 2 else dt
            for i in range(n):
                sum_q[i] += part * q_t[i]
                sum_u[i] += part * u_t[i]
                stage_q[i] = q[i] + ahead * q_t[i]
                stage_u[i] = u[i] + ahead * u_t[i]
        for i in range(n):
            q[i] += sum_q[i]
            u[i] += sum_u[i]


def stiffness(rod: SpatialRod, q: Array) -> csr_array:
    """Second derivative of the potential energy at `q`, (size, size), by central differences of the forces.

    A vertex and its edge act on their neighbours only, so that every third one is moved at a time.
    """
    n, rest = q.size, np.zeros(q.size)
    nodes = -(-n // 6)
    colour = np.arange(nodes) % 3
    if nodes % 3:
        colour[-(nodes % 3) :] = 3 + np.arange(nodes % 3)
    up, down = np.empty(n), np.empty(n)
    at = np.arange(n)
    columns: list[Array] = []
    values: list[Array] = []
    for c in range(colour.max() + 1):
        moved = np.flatnonzero(colour == c)
        # the moved node that each row feels
        felt = np.full(nodes, -1)
        for shift in (-1, 0, 1):
            near = moved + shift
            near, of = (near % nodes, moved) if rod.closed else (near, moved)
            ok = (near >= 0) & (near < nodes)
            felt[near[ok]] = of[ok]
        for k in range(6):
            h = 1e-5 * (rod.ds if k < 3 else 1.0)
            i = 6 * moved + k
            change = np.zeros(n)
            change[i[i < n]] = h
            forces(rod, q + change, rest, up)
            forces(rod, q - change, rest, down)
            column = 6 * felt[at // 6] + k
            live = (felt[at // 6] >= 0) & (column < n)
            columns.append(np.where(live, column, 0))
            values.append(np.where(live, (down - up) / (2.0 * h), 0.0))
    rows = np.tile(at, len(values))
    K = csr_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=(n, n))
    return 0.5 * (K + K.T)


def equilibrium(rod: SpatialRod, q: Array, load: Array, fixed: Any = ()) -> Array:
    """Coordinates at which forces and `load` balance, by Newton's method from `q`; see `statics.newton`."""
    return newton(partial(forces, rod), partial(stiffness, rod), q, load, fixed, longest=0.5 * min(1.0, rod.N * rod.ds))
