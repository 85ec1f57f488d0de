"""The ring set as a Cosserat rod on a few modes that are fixed in space (Cebulla 2014, section 6.3, (6.125)-(6.132)).

The equations M q'' = F of `cosserat`, with the loads of all contacts in F, are projected on a basis V (n, k), V' M V =
1, through which the ring flows:

    q = S(y) (q_0 + V a),    u = S(y) (V b + v D Q),    Q = q_0 + V a,    v = y'

S(y) moves fields by y along the ring, D is their derivative (`rods.transport`): both on Fourier coefficients, without
the wave of two nodes. The nodes are those of the full ring at all times, so contacts meet the projected contour. With
d = V' M D Q, c = D Q.M D Q the kinetic energy is T = b.b/2 + v b.d + v^2 c/2; loads F give

    b' + v' d + 2 v G b + v^2 e = V' S' F,      p' = D Q.S' F,      p = b.d + v c

A step takes q+ from the old velocities, then the terms without F by the implicit midpoint rule, then F. Work of F is
that of the mean velocity, as in the full ring.

Internal forces are those of all edges. DEIM and ECSW (`rods.reduction`) save less of them than the projection costs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.ring import cosserat as rod
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.unit.initial import Start
from rtcvt.offline.pushbelt.vectors import rotated
from rtcvt.offline.rods import reduction, transport
from rtcvt.offline.rods.planar import mass
from rtcvt.offline.rods.reduction import Reduced, accelerate, flow

Array = NDArray[np.float64]
FIELD, SLOPE, TURNED = range(3)  # of `Projected.series`: a field, D Q, the field moved by the way of the ring


class Projected(NamedTuple):
    """A ring on modes fixed in space: the fields of a ring for the belt (N_B, l, h2), the rod, its reduction in the
    moving frame, and its largest step [s].

    state (2 k + 2,): modal coordinates a and velocities b, which are views of it, and flown: y [m], v [m/s]. Fourier
    series, J = N_B - 1 coefficients of 1, cos, sin, cos, ...: waves (J // 2,) [1/m], E (J, N_B) their values at the
    nodes, hat (3, J, k) modes, hat_0 (3, J) q_0 without the growth of gamma. The others are scratch.
    """

    N_B: int
    l: float  # noqa: E741
    h2: float
    rod: Cosserat
    R: Reduced
    step: float
    state: Array
    a: Array
    b: Array
    flown: Array
    waves: Array
    E: Array
    hat: Array
    hat_0: Array
    series: Array
    phase: Array
    g: Array
    d: Array
    e: Array
    start: Array
    none: Array


def smooth(R: Cosserat, q: Array, rates: bool = False) -> Array:
    """Fields (n_s, n) without their waves of two nodes; coordinates, or periodic fields if `rates`."""
    sign, out = (-1.0) ** np.arange(R.N_B), q.copy()
    out[:, 2::3] -= 0.0 if rates else R.turn * (np.arange(R.N_B) + 0.5) / R.N_B
    wave = np.einsum("sic,i->sc", out.reshape(len(q), R.N_B, 3), sign) / R.N_B
    return np.asarray(q - (wave[:, None] * sign[:, None]).reshape(q.shape))


def projected(R: Cosserat, q_0: Array, V: Array, states: Array) -> Projected:
    """A ring on modes.

    Parameters
    ----------
    R : Cosserat
    q_0, V : (n,) coordinates and (n, k) modes, orthonormal in the mass, without waves of two nodes (`smooth`)
    states : (n_s, n) coordinates at which the step must be stable

    Raises
    ------
    InputError
        An odd number of pieces, or more modes than the ring has coordinates.
    """
    N, k, J = R.N_B, V.shape[1], R.N_B - 1
    if N % 2:
        raise InputError("pushbelt", "ring.N_B", N, "an even number for ring.rod = projected")
    if k > 3 * N - 4:
        raise InputError("pushbelt", "ring.modes", k, f"at most {3 * N - 4}")
    flat = rod.planar(R)
    waves: Array = np.arange(1.0, N // 2) * (2.0 * np.pi / (N * R.l))
    E = np.ones((J, N))
    E[1::2], E[2::2] = (f(waves[:, None] * R.l * np.arange(N)) for f in (np.cos, np.sin))
    weight = np.where(np.arange(J) > 0, 2.0, 1.0)[:, None] / N
    periodic = q_0.copy()
    periodic[2::3] -= R.turn * (np.arange(N) + 0.5) / N
    state = np.zeros(2 * k + 2)
    return Projected(
        N_B=N,
        l=R.l,
        h2=R.h2,
        rod=R,
        R=transport.moving(flat, reduction.galerkin(flat, q_0, V, np.zeros(q_0.size)), 1.0),
        step=0.9 * reduction.stable_step(flat, states, V),
        state=state,
        a=state[:k],
        b=state[k : 2 * k],
        flown=state[2 * k :],
        waves=waves,
        E=E,
        hat=np.array([weight * (E @ V[c::3]) for c in range(3)]),
        hat_0=np.array([weight[:, 0] * (E @ periodic[c::3]) for c in range(3)]),
        series=np.zeros((3, 3, J)),
        phase=np.zeros((2, waves.size)),
        **{name: np.zeros(k) for name in ("g", "d", "e", "start", "none")},
    )


def placed_on(P: Projected, q: Array, u: Array, way: float = 0.0) -> tuple[Array, Array]:
    """The nearest state, in the mass, to coordinates and velocities q, u (N_B, 3) of a ring that has flown on by `way`
    [m], roughly: what modes can have of q and u. The ring's own state is set to it."""
    flat, R = rod.planar(P.rod), P.R
    m = mass(flat)
    y = transport.followed(flat, q.reshape(1, -1), np.array([way]), R.q_0)
    Q = transport.shifted(flat, q.reshape(1, -1), y)[0]
    U = transport.shifted(flat, u.reshape(1, -1), y, rates=True)[0]
    P.a[:] = (Q - R.q_0) * m @ R.V
    basis = np.column_stack([R.V, R.slope + transport.derivative(flat, R.V @ P.a)])
    z = np.linalg.solve(basis.T @ (m[:, None] * basis), basis.T @ (m * U))
    P.b[:], P.flown[:] = z[:-1], (y[0], z[-1])
    back = transport.shifted(flat, (R.q_0 + R.V @ P.a)[None], -y)[0]
    rates = transport.shifted(flat, (basis @ z)[None], -y, rates=True)[0]
    return back.reshape(-1, 3), rates.reshape(-1, 3)


# --- Fourier series


@compiled
def _spread(P: Projected, out: Any) -> None:
    """out (N_B, 3) = values of the series FIELD at the nodes, further on by the way of `phase`."""
    for k in range(3):
        for n in range(P.N_B):
            out[n, k] = P.series[FIELD, k, 0]
        for w in range(P.waves.size):
            A = P.series[FIELD, k, 2 * w + 1]
            B = P.series[FIELD, k, 2 * w + 2]
            along = A * P.phase[0, w] + B * P.phase[1, w]
            across = B * P.phase[0, w] - A * P.phase[1, w]
            for n in range(P.N_B):
                out[n, k] += along * P.E[2 * w + 1, n] + across * P.E[2 * w + 2, n]


@compiled
def _gather(P: Projected, F: Any) -> None:
    """Series TURNED = the adjoint of `_spread` of forces F (N_B, 3)."""
    for k in range(3):
        for j in range(P.E.shape[0]):
            total = 0.0
            for n in range(P.N_B):
                total += F[n, k] * P.E[j, n]
            P.series[TURNED, k, j] = total
        for w in range(P.waves.size):
            A = P.series[TURNED, k, 2 * w + 1]
            B = P.series[TURNED, k, 2 * w + 2]
            P.series[TURNED, k, 2 * w + 1] = A * P.phase[0, w] - B * P.phase[1, w]
            P.series[TURNED, k, 2 * w + 2] = B * P.phase[0, w] + A * P.phase[1, w]


@inlined
def _modal(P: Projected, x: Any, c: int, j: int) -> float:
    """Coefficient j of column c of V x."""
    total = 0.0
    for i in range(x.size):
        total += P.hat[c, j, i] * x[i]
    return total


@compiled
def _velocity(P: Projected, u: Any) -> None:
    """u (N_B, 3) = S (V b + v D Q)."""
    for c in range(3):
        for j in range(P.E.shape[0]):
            P.series[FIELD, c, j] = P.flown[1] * P.series[SLOPE, c, j] + _modal(P, P.b, c, j)
    _spread(P, u)


@compiled
def _carry(P: Projected, dt: float) -> None:
    """a, y over dt, then the velocities that no force changes: implicit midpoint rule, by three iterations."""
    p = P.flown[1] * flow(P.R, P.a, P.d, P.e)
    for i in range(P.a.size):
        p += P.b[i] * P.d[i]
        P.a[i] += dt * P.b[i]
        P.start[i] = P.b[i]
        P.none[i] = 0.0
    P.flown[0] += dt * P.flown[1]
    c = flow(P.R, P.a, P.d, P.e)
    for _ in range(3):
        for i in range(P.a.size):
            P.b[i] = 0.5 * (P.start[i] + P.b[i])
        accelerate(P.R, p, P.b, P.none, P.d, P.e, c, P.g)
        for i in range(P.a.size):
            P.b[i] = P.start[i] + dt * P.g[i]
    for i in range(P.a.size):
        p -= P.b[i] * P.d[i]
    P.flown[1] = p / c


# --- interface of a ring for the belt


@ring_set.placed.of(Projected)
def _placed(P: Projected, start: Start) -> tuple[Array, Array]:
    return placed_on(P, *ring_set.placed(P.rod, start))


@ring_set.mobility.of(Projected)
def _mobility(P: Projected, n: int) -> float:
    return rod.mobility(P.rod, n)


@ring_set.move.of(Projected)
@compiled
def move(P: Projected, q: Any, u: Any, cs: Any, sn: Any, dt: float) -> None:
    """q += dt u within the modes, with cosine and sine of gamma; also u, which turns with them."""
    _carry(P, dt)
    y = P.flown[0]
    for w in range(P.waves.size):
        P.phase[0, w] = np.cos(P.waves[w] * y)
        P.phase[1, w] = np.sin(P.waves[w] * y)
    for c in range(3):
        for j in range(P.E.shape[0]):
            P.series[FIELD, c, j] = P.hat_0[c, j] + _modal(P, P.a, c, j)
        P.series[SLOPE, c, 0] = P.rod.turn / (P.N_B * P.l) if c == 2 else 0.0
        for w in range(P.waves.size):
            P.series[SLOPE, c, 2 * w + 1] = P.waves[w] * P.series[FIELD, c, 2 * w + 2]
            P.series[SLOPE, c, 2 * w + 2] = -P.waves[w] * P.series[FIELD, c, 2 * w + 1]
    for k in range(P.N_B):
        u[k, 0] = q[k, 2]
    _spread(P, q)
    for k in range(P.N_B):
        q[k, 2] += P.rod.turn * ((k + 0.5) + y / P.l) / P.N_B
        cs[k], sn[k] = rotated(cs[k], sn[k], q[k, 2] - u[k, 0])
    _velocity(P, u)


@ring_set.advance.of(Projected)
@compiled
def advance(P: Projected, F: Any, u: Any, dt: float) -> None:
    """Velocity step with the forces F (N_B, 3), projected; u (N_B, 3)."""
    _gather(P, F)
    along = 0.0
    free = flow(P.R, P.a, P.d, P.e)
    for i in range(P.g.size):
        P.g[i] = 0.0
    for c in range(3):
        for j in range(P.E.shape[0]):
            x = P.series[TURNED, c, j]
            along += x * P.series[SLOPE, c, j]
            for i in range(P.g.size):
                P.g[i] += P.hat[c, j, i] * x
    for i in range(P.g.size):
        along -= P.d[i] * P.g[i]
        free -= P.d[i] * P.d[i]
    along /= free
    for i in range(P.g.size):
        P.b[i] += dt * (P.g[i] - P.d[i] * along)
    P.flown[1] += dt * along
    _velocity(P, u)


def _as_rod(kernel: Any) -> Any:
    """The kernel of the rod, for the contour that the modes give."""

    @inlined
    def through(P: Any, *args: Any) -> Any:
        return kernel(P.rod, *args)

    return through


for _kernel in (
    rod.masses, rod.shape_of, rod.rate_of, rod.forces, rod.nodal, rod.elastic_energy, rod.nodes
):  # fmt: skip
    getattr(ring_set, _kernel.__name__).of(Projected)(_as_rod(_kernel))
ring_set.RING.register(Projected)
