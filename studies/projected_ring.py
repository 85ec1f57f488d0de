"""A Cosserat ring of the belt, reduced by POD-Galerkin (Cebulla 2014, section 6.3, eqs. 6.125-6.132).

The equations M q'' = F of `cosserat`, with the loads of all contacts in F, are projected on a basis V (n, k), V' M V =
1 (`rods.reduction`). Two frames:

    material        q = q_0 + V a                           u = V b
    fixed in space  q = S(y) (q_0 + V a)                    u = S(y) (V b + v D Q),  Q = q_0 + V a,  v = y'

S(y) moves fields by y along the ring, D is their derivative (`rods.transport`): the ring flows through its modes. Both
are exact for trigonometric polynomials, here as Fourier coefficients; a mode of two nodes to a wave has no derivative
on the grid and is left out. The nodes are those of the full ring at all times, so contacts meet the projected contour.

Fixed in space, the kinetic energy is T = b.b/2 + v b.d + v^2 c/2 with d = V' M D Q, c = D Q.M D Q; loads F give

    b' + v' d + 2 v G b + v^2 e = V' S' F,      p' = D Q.S' F,      p = b.d + v c

(`rods.transport`, where p' = 0). A step takes q+ from the old velocities, then the terms without F over dt, by the
implicit midpoint rule, then F. Work of F is that of the mean velocity, exactly as in the full ring.

Hyper-reduction: internal forces of few edges and vertices only, `reduction.ecsw` or `deim`. Fixed in space these are
places, not pieces of the ring, as the energy of a shape does not depend on where its pieces are. Bending is not damped
then.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.ring import cosserat as rod
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.ring.ring import INV, turned
from rtcvt.offline.rods import transport
from rtcvt.offline.rods.planar import PlanarRod, mass, partial_forces
from rtcvt.offline.rods.reduction import Reduced

Array = NDArray[np.float64]


class Projected(NamedTuple):
    """A reduced ring: the fields of a ring for the belt (N_B, l, h2), the rod, its reduction, and the results of a
    step.

    flow: modes fixed in space; whole: all internal forces, else those of the reduction's edges and vertices, summed if
    they are not interpolated. Fourier series, N_B = J + 1: waves (J // 2,) [1/m]; E (J, N_B // 2 + 1) values at the
    nodes of one half, rows 1, cos, sin, cos, ... (of the other they are even or odd); hat (3, J, k), hat_0 (3, J)
    coefficients of the modes and of q_0 without the growth of gamma around the ring.
    State of the frame: a, b (k,) modal coordinates and velocities, flown (2,): y [m], v [m/s]; f (k,) modal forces of
    the internal forces if not whole. The others are scratch.
    """

    N_B: int
    l: float  # noqa: E741
    h2: float
    rod: Cosserat
    flat: PlanarRod
    R: Reduced
    flow: bool
    whole: bool
    summed: bool
    waves: Array
    E: Array
    hat: Array
    hat_0: Array
    a: Array
    b: Array
    flown: Array
    f: Array
    g: Array
    d: Array
    e: Array
    start: Array
    field: Array
    slope: Array
    turned: Array
    sampled: Array
    rates: Array
    part: Array
    even: Array
    odd: Array
    cosine: Array
    sine: Array


def flat(R: Cosserat) -> PlanarRod:
    """The rod for `rods.reduction`, with the ring's damping of strain."""
    return rod.planar(R)._replace(c_0=0.5 * R.d_axial, c_1=0.5 * R.d_shear)


def smooth(R: Cosserat, q: Array, rates: bool = False) -> Array:
    """Fields (n_s, n) without their waves of two nodes; coordinates, or periodic fields if `rates`."""
    return transport.shifted(rod.planar(R), q, np.zeros(len(q)), rates) - _shortest(R, q, rates)


def _shortest(R: Cosserat, q: Array, rates: bool) -> Array:
    sign = (-1.0) ** np.arange(R.N_B)
    grown = 0.0 if rates else R.turn * (np.arange(R.N_B) + 0.5) / R.N_B
    out = np.empty_like(q)
    for c in range(3):
        field = q[:, c::3] - (grown if c == 2 else 0.0)
        out[:, c::3] = (field @ sign / R.N_B)[:, None] * sign
    return out


def projected(R: Cosserat, reduced: Reduced, flow: bool = False, whole: bool = True) -> Projected:
    """A reduced ring from a basis.

    Parameters
    ----------
    R : Cosserat
    reduced : Reduced
        From `reduction.galerkin`, `ecsw` or `deim` of `flat(R)`.
    flow : bool
        The modes are fields fixed in space, without waves of two nodes (`smooth`).
    whole : bool
        All internal forces; else those that `reduced` evaluates.

    Raises
    ------
    InputError
        An odd number of pieces in a frame fixed in space, or more modes than the ring has coordinates.
    """
    N, k = R.N_B, reduced.V.shape[1]
    if flow and N % 2:
        raise InputError("reduced ring", "pieces", N, "an even number where modes are fixed in space")
    if k > 3 * N - 4 * flow:
        raise InputError("reduced ring", "modes", k, f"at most {3 * N - 4 * flow}")
    J, length = N - 1, N * R.l
    waves: Array = np.arange(1.0, N // 2) * (2.0 * np.pi / length)
    phase = waves[:, None] * R.l * np.arange(N)
    E = np.ones((J, N))
    E[1::2], E[2::2] = np.cos(phase), np.sin(phase)
    weight = np.full(J, 2.0 / N)
    weight[0] = 1.0 / N
    periodic = reduced.q_0.copy()
    periodic[2::3] -= R.turn * (np.arange(N) + 0.5) / N
    hat = np.array([weight[:, None] * (E @ reduced.V[c::3]) for c in range(3)])
    one = flat(R)
    if flow:
        reduced = transport.moving(one, reduced, 1.0)
    return Projected(
        N_B=N,
        l=R.l,
        h2=R.h2,
        rod=R,
        flat=one,
        R=reduced,
        flow=flow,
        whole=whole,
        summed=not whole and np.array_equal(reduced.B, reduced.V[reduced.out].T),
        waves=waves,
        E=np.ascontiguousarray(E[:, : N // 2 + 1]),
        hat=np.ascontiguousarray(hat),
        hat_0=np.array([weight * (E @ periodic[c::3]) for c in range(3)]),
        **{name: np.zeros(k) for name in ("a", "b", "f", "g", "d", "e", "start")},
        flown=np.zeros(2),
        even=np.zeros(N // 2 + 1),
        odd=np.zeros(N // 2 + 1),
        cosine=np.ones(N // 2 - 1),
        sine=np.zeros(N // 2 - 1),
        **{name: np.zeros((3, J)) for name in ("field", "slope", "turned")},
        **{name: np.zeros(3 * N) for name in ("sampled", "rates", "part")},
    )


def placed_on(P: Projected, q: Array, u: Array, way: float = 0.0) -> tuple[Array, Array]:
    """The nearest state, in the mass, that a reduced ring can have; its own state is set to it.

    Parameters
    ----------
    q, u : (N_B, 3) coordinates and velocities
    way : by which the ring has flown on since places and nodes were the same, roughly [m]

    Returns
    -------
    (N_B, 3), (N_B, 3) : coordinates and velocities
    """
    m, R, N = mass(P.flat), P.R, P.N_B
    if not P.flow:
        x = R.q_0 + R.V @ ((q.ravel() - R.q_0) * m @ R.V)
        return x.reshape(N, 3), (R.V @ (u.ravel() * m @ R.V)).reshape(N, 3)
    y = transport.followed(P.flat, q.reshape(1, -1), np.array([way]), R.q_0)
    Q = transport.shifted(P.flat, q.reshape(1, -1), y)[0]
    U = transport.shifted(P.flat, u.reshape(1, -1), y, rates=True)[0]
    P.a[:] = (Q - R.q_0) * m @ R.V
    basis = np.column_stack([R.V, R.slope + transport.derivative(P.flat, R.V @ P.a)])
    z = np.linalg.solve(basis.T @ (m[:, None] * basis), basis.T @ (m * U))
    P.b[:], P.flown[:] = z[:-1], (y[0], z[-1])
    back = transport.shifted(P.flat, (R.q_0 + R.V @ P.a)[None], -y)[0]
    return back.reshape(N, 3), transport.shifted(P.flat, (basis @ z)[None], -y, rates=True)[0].reshape(N, 3)


# --- Fourier series


@compiled
def _phase(P: Projected, y: float) -> None:
    """Cosine and sine of all waves over the way y, by the angles' sums."""
    c = np.cos(P.waves[0] * y)
    s = np.sin(P.waves[0] * y)
    P.cosine[0] = c
    P.sine[0] = s
    for w in range(1, P.waves.size):
        P.cosine[w] = P.cosine[w - 1] * c - P.sine[w - 1] * s
        P.sine[w] = P.sine[w - 1] * c + P.cosine[w - 1] * s


@compiled
def _spread(P: Projected, field: Any, out: Any) -> None:
    """out (N_B, 3) = values of the series `field` (3, J) at the nodes, further on by the way of `_phase`."""
    series = P.turned
    for k in range(3):
        for w in range(P.waves.size):
            c = P.cosine[w]
            s = P.sine[w]
            A = field[k, 2 * w + 1]
            B = field[k, 2 * w + 2]
            series[k, 2 * w + 1] = A * c + B * s
            series[k, 2 * w + 2] = B * c - A * s
    half = P.N_B // 2
    for k in range(3):
        for n in range(half + 1):
            P.even[n] = field[k, 0]
            P.odd[n] = 0.0
        for w in range(P.waves.size):
            A = series[k, 2 * w + 1]
            B = series[k, 2 * w + 2]
            for n in range(half + 1):
                P.even[n] += A * P.E[2 * w + 1, n]
                P.odd[n] += B * P.E[2 * w + 2, n]
        for n in range(half + 1):
            out[n, k] = P.even[n] + P.odd[n]
        for n in range(1, half):
            out[P.N_B - n, k] = P.even[n] - P.odd[n]


@compiled
def _gather(P: Projected, F: Any) -> None:
    """P.turned (3, J) = the adjoint of `_spread` of forces F (N_B, 3)."""
    series = P.turned
    half = P.N_B // 2
    for k in range(3):
        P.even[0] = F[0, k]
        P.even[half] = F[half, k]
        for n in range(1, half):
            P.even[n] = F[n, k] + F[P.N_B - n, k]
            P.odd[n] = F[n, k] - F[P.N_B - n, k]
        P.odd[0] = 0.0
        P.odd[half] = 0.0
        total = 0.0
        for n in range(half + 1):
            total += P.even[n]
        series[k, 0] = total
        for w in range(P.waves.size):
            A = 0.0
            B = 0.0
            for n in range(half + 1):
                A += P.even[n] * P.E[2 * w + 1, n]
                B += P.odd[n] * P.E[2 * w + 2, n]
            series[k, 2 * w + 1] = A
            series[k, 2 * w + 2] = B
    for k in range(3):
        for w in range(P.waves.size):
            c = P.cosine[w]
            s = P.sine[w]
            A = series[k, 2 * w + 1]
            B = series[k, 2 * w + 2]
            series[k, 2 * w + 1] = A * c - B * s
            series[k, 2 * w + 2] = B * c + A * s


@compiled
def _series(P: Projected, x: Any, scale: float, out: Any) -> None:
    """out (3, J) = scale out + coefficients of V x."""
    for c in range(3):
        for j in range(out.shape[1]):
            total = 0.0
            for i in range(x.size):
                total += P.hat[c, j, i] * x[i]
            out[c, j] = scale * out[c, j] + total


@compiled
def _shape_in_space(P: Projected) -> None:
    """Series of Q and of D Q at the modal coordinates."""
    for c in range(3):
        for j in range(P.field.shape[1]):
            P.field[c, j] = P.hat_0[c, j]
    _series(P, P.a, 1.0, P.field)
    for c in range(3):
        P.slope[c, 0] = P.rod.turn / (P.N_B * P.l) if c == 2 else 0.0
        for w in range(P.waves.size):
            P.slope[c, 2 * w + 1] = P.waves[w] * P.field[c, 2 * w + 2]
            P.slope[c, 2 * w + 2] = -P.waves[w] * P.field[c, 2 * w + 1]


@compiled
def _velocity_in_space(P: Projected, u: Any) -> None:
    """u (N_B, 3) = S (V b + v D Q)."""
    v = P.flown[1]
    for c in range(3):
        for j in range(P.field.shape[1]):
            P.field[c, j] = v * P.slope[c, j]
    _series(P, P.b, 1.0, P.field)
    _spread(P, P.field, u)


@compiled
def _inertia(P: Projected) -> float:
    """d and e of the module, written; returns c."""
    c = P.R.c_0
    for i in range(P.a.size):
        d = P.R.d_0[i]
        e = P.R.h_0[i]
        for j in range(P.a.size):
            d += P.R.G[i, j] * P.a[j]
            e += P.R.H[i, j] * P.a[j]
        P.d[i] = d
        P.e[i] = e
        c -= P.a[i] * (P.R.h_0[i] + e)
    return c


@compiled
def _carry(P: Projected, dt: float) -> None:
    """a, y over dt, then the velocities that no force changes: implicit midpoint rule, by three iterations."""
    k = P.a.size
    c = _inertia(P)
    p = P.flown[1] * c
    for i in range(k):
        p += P.b[i] * P.d[i]
    for i in range(k):
        P.a[i] += dt * P.b[i]
        P.start[i] = P.b[i]
    P.flown[0] += dt * P.flown[1]
    c = _inertia(P)
    square = 0.0
    for i in range(k):
        square += P.d[i] * P.d[i]
    for _ in range(3):
        v = p
        rise = 0.0
        for i in range(k):
            middle = 0.5 * (P.start[i] + P.b[i])
            P.g[i] = middle
            v -= middle * P.d[i]
            rise += P.e[i] * middle
        v /= c
        drag = 0.0
        for i in range(k):
            x = -v * v * P.e[i] - 2.0 * v * rise / c * P.d[i]
            for j in range(k):
                x -= 2.0 * v * P.R.G[i, j] * P.g[j]
            P.b[i] = x
            drag += P.d[i] * x
        for i in range(k):
            P.b[i] = P.start[i] + dt * (P.b[i] + drag / (c - square) * P.d[i])
    v = p
    for i in range(k):
        v -= P.b[i] * P.d[i]
    P.flown[1] = v / c


# --- interface of a ring for the belt


@ring_set.mass.of(Projected)
def _mass(P: Projected) -> Array:
    return np.array([P.rod.m, P.rod.m, P.rod.J])


@ring_set.move.of(Projected)
@compiled
def move(P: Projected, q: Any, u: Any, cs: Any, sn: Any, dt: float) -> None:
    """q += dt u within the modes, with cosine and sine of gamma; fixed in space also u, which turns with them."""
    if not P.flow:
        rod.move(P.rod, q, u, cs, sn, dt)
        return
    _carry(P, dt)
    _shape_in_space(P)
    y = P.flown[0]
    for k in range(P.N_B):
        u[k, 0] = q[k, 2]
    _phase(P, y)
    _spread(P, P.field, q)
    for k in range(P.N_B):
        q[k, 2] += P.rod.turn * ((k + 0.5) + y / P.l) / P.N_B
        cs[k], sn[k] = turned(cs[k], sn[k], q[k, 2] - u[k, 0])
    _velocity_in_space(P, u)


@ring_set.shape_of.of(Projected)
@compiled
def shape_of(P: Projected, q: Any, cs: Any, sn: Any, shape: Any) -> None:
    """Of the contour that the modes give: `ring_set.shape_of`."""
    rod.shape_of(P.rod, q, cs, sn, shape)


@ring_set.rate_of.of(Projected)
@compiled
def rate_of(P: Projected, u: Any, shape: Any, rate: Any) -> None:
    """Of the contour that the modes give: `ring_set.rate_of`."""
    rod.rate_of(P.rod, u, shape, rate)


@compiled
def _sample(P: Projected, q: Any) -> None:
    """Coordinates of the reduction's elements."""
    for i in range(P.R.rows.size):
        row = P.R.rows[i]
        x = q[row // 3, row % 3]
        if P.flow:
            x = P.R.q_0[row]
            for j in range(P.a.size):
                x += P.R.V_rows[i, j] * P.a[j]
        P.sampled[row] = x


@ring_set.forces.of(Projected)
@compiled
def forces(P: Projected, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, load: Any, F: Any, S: Any) -> Any:
    """As `cosserat.forces`; if not whole, F has the loads only, P.f the internal forces, S no shear and no damping."""
    if P.whole:
        return rod.forces(P.rod, q, u, cs, sn, shape, rate, load, F, S)
    R = P.R
    _sample(P, q)
    for i in range(R.rows.size):
        row = R.rows[i]
        if P.flow:
            v = P.flown[1] * R.slope[row]
            for j in range(P.a.size):
                v += R.V_rows[i, j] * P.b[j] + P.flown[1] * R.D_rows[i, j] * P.a[j]
        else:
            v = u[row // 3, row % 3]
        P.rates[row] = v
        P.part[row] = 0.0
    power = partial_forces(P.flat, P.sampled, P.rates, R.edges, R.w_e, R.vertices, R.w_v, P.part)
    rod.nodal(P.rod, shape, load, F)
    for i in range(P.f.size):
        x = 0.0
        for j in range(R.out.size):
            x += R.B[i, j] * P.part[R.out[j]]
        P.f[i] = x
    for k in range(P.N_B):
        S[k] = P.rod.EA * (1.0 / (shape[k, INV] * P.l) - 1.0)
    return power, 0.0


@ring_set.nodal.of(Projected)
@compiled
def nodal(P: Projected, shape: Any, load: Any, F: Any) -> None:
    """Generalised forces F (N_B, 3) of the loads alone, which are set to zero."""
    rod.nodal(P.rod, shape, load, F)
    for i in range(P.f.size):
        P.f[i] = 0.0


@ring_set.advance.of(Projected)
@compiled
def advance(P: Projected, F: Any, u: Any, dt: float) -> None:
    """Velocity step with the forces F (N_B, 3) and P.f, projected; u (N_B, 3)."""
    g, V = P.g, P.R.V
    for i in range(g.size):
        g[i] = P.f[i]
    if not P.flow:
        for n in range(P.N_B):
            for c in range(3):
                for i in range(g.size):
                    g[i] += V[3 * n + c, i] * F[n, c]
        for n in range(P.N_B):
            for c in range(3):
                x = 0.0
                for i in range(g.size):
                    x += V[3 * n + c, i] * g[i]
                u[n, c] += dt * x
        return
    _gather(P, F)
    along = 0.0
    for c in range(3):
        for j in range(P.turned.shape[1]):
            x = P.turned[c, j]
            along += x * P.slope[c, j]
            for i in range(g.size):
                g[i] += P.hat[c, j, i] * x
    c_d = _inertia(P)
    for i in range(g.size):
        along -= P.d[i] * g[i]
        c_d -= P.d[i] * P.d[i]
    along /= c_d
    for i in range(g.size):
        P.b[i] += dt * (g[i] - P.d[i] * along)
    P.flown[1] += dt * along
    _velocity_in_space(P, u)


@compiled
def _partial_energies(rod: Any, q: Any, edges: Any, w_e: Any, vertices: Any, w_v: Any) -> Any:
    """Strain and bending energy [J] of a few edges and vertices of a closed rod, times their weights."""
    strain = 0.0
    bending = 0.0
    for k in range(edges.size):
        i = 3 * edges[k]
        j = i + 3 if i + 3 < q.size else 0
        c = np.cos(q[i + 2])
        s = np.sin(q[i + 2])
        dx = q[j] - q[i]
        dy = q[j + 1] - q[i + 1]
        a = c * dx + s * dy - rod.ds
        b = c * dy - s * dx
        strain += 0.5 * w_e[k] * (rod.EA * a * a + rod.GA * b * b) / rod.ds
    for k in range(vertices.size):
        i = 3 * vertices[k]
        turned = q[i + 2] - q[i - 1] if i > 0 else q[2] - q[q.size - 1] + rod.turn
        bending += 0.5 * w_v[k] * rod.EI * rod.ds * (turned / rod.ds - rod.kappa_0) ** 2
    return strain, bending


@ring_set.elastic_energy.of(Projected)
@compiled
def elastic_energy(P: Projected, q: Any, cs: Any, sn: Any, shape: Any) -> Any:
    """Energy of all pieces, or the weighted one of the reduction's elements."""
    if P.summed:
        _sample(P, q)
        return _partial_energies(P.flat, P.sampled, P.R.edges, P.R.w_e, P.R.vertices, P.R.w_v)
    return rod.elastic_energy(P.rod, q, cs, sn, shape)


@ring_set.kinetic_energy.of(Projected)
@compiled
def kinetic_energy(P: Projected, u: Any) -> Any:
    """Of the contour [J]: `ring_set.kinetic_energy`."""
    return rod.kinetic_energy(P.rod, u)


@ring_set.nodes.of(Projected)
@compiled
def nodes(P: Projected, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, q_R: Any, u_R: Any) -> None:
    """Of the contour: `ring_set.nodes`."""
    rod.nodes(P.rod, q, u, cs, sn, shape, rate, q_R, u_R)
