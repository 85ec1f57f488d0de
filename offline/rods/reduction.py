"""POD-Galerkin reduction of a planar rod, without and with hyper-reduction (Cebulla 2014, section 6.3).

The basis V (n, k) comes from snapshots of the coordinates about a reference q_0, (6.125)-(6.129), in the inner product
of the mass: V' M V = 1. With q = q_0 + V a the equations of motion (6.132) are

    a'' = V' h(q_0 + V a, V a') + V' load

q is linear in a, so they are Lagrange's equations of the energies T(V a') and V(q_0 + V a): the reduced system (6.132)
keeps its energy balance, as the cotangent lift of symplectic reduction does (Peng and Mohseni 2016), and the Verlet
step keeps it symplectic. Velocities can be added to the snapshots, divided by a frequency, as in the lift.

Instead of all n entries of h one can evaluate few:

    DEIM    h = U (S' U)^-1 S' h    S picks one entry per mode of the forces U    (Chaturantabut and Sorensen 2010)
    Q-DEIM  the same, S from a pivoted QR decomposition of U'                      (Drmac and Gugercin 2016)
    ECSW    V' h = sum_e xi_e V_e' h_e, few elements e with weights xi_e > 0       (Farhat, Chapman and Avery 2015)

Forces of DEIM are divided by the root of the mass, so that entries of different units have the weight of their
accelerations. ECSW derives from the energy sum_e xi_e V_e: it has its own energy balance, DEIM has none. An element is
here an edge (strain, damping) or a vertex (bending, contact with discs); its forces are trained on states within the
basis, where the reduced model moves.

In a frame fixed in space the closed rod flows through the grid: `transport`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve, svd

from rtcvt.errors import InputError
from rtcvt.offline.rods.compiled import compiled, inlined
from rtcvt.offline.rods.planar import PlanarRod, forces, mass, partial_forces, size, stiffness
from rtcvt.offline.variator.pod import pod

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Reduced(NamedTuple):
    """A reduced rod: the data of a step.

    q_0 (n,), V (n, k); the coordinates `rows` that the elements need and V there; `edges` and `vertices` with their
    weights; the entries `out` of the forces, and B (k, n_out) that maps them to the modes; `load` (k,). In a frame
    fixed in space: speed v [m/s] of flow at the start and the matrices of `transport`; slope (n,) is the derivative of
    q_0, D_rows that of V_rows.
    """

    q_0: Array
    V: Array
    rows: Indices
    V_rows: Array
    edges: Indices
    w_e: Array
    vertices: Indices
    w_v: Array
    out: Indices
    B: Array
    load: Array
    v: float
    G: Array
    H: Array
    h_0: Array
    d_0: Array
    c_0: float
    slope: Array
    D_rows: Array


def basis(q: Array, q_0: Array, m: Array, modes: int, u: Array | None = None, omega: float = 1.0) -> Array:
    """POD basis (n, k) of snapshots about `q_0`, orthonormal in the mass: (6.125)-(6.129).

    Parameters
    ----------
    q : (n_s, n) snapshots of the coordinates, in rows
    m : (n,) diagonal of the mass matrix
    u, omega : (n_s, n) velocities, which join as u/omega; the frequency [rad/s] that makes them as large as the others

    Raises
    ------
    InputError
        More modes than snapshots or coordinates.
    """
    X = q - q_0 if u is None else np.concatenate([q - q_0, u / omega])
    if not 0 < modes <= min(X.shape):
        raise InputError("reduction", "modes", modes, f"1 to {min(X.shape)}, the number of snapshots or coordinates")
    return np.ascontiguousarray(pod(X, m, energy=1.0, most=modes).modes.T)


def projected(V: Array, q_0: Array, m: Array, q: Array) -> Array:
    """Modal coordinates (n_s, k) of snapshots (n_s, n); velocities with q_0 = 0: (6.130) in the mass."""
    return (q - q_0) * m @ V


def lifted(R: Reduced, a: Array) -> Array:
    """Coordinates (n,) or (n_s, n) of modal coordinates (k,) or (n_s, k)."""
    return R.q_0 + a @ R.V.T


def _elements(rod: PlanarRod) -> tuple[Indices, Indices]:
    return np.arange(rod.N), np.arange(rod.N if rod.closed else rod.N + 1)


def _touched(rod: PlanarRod, edges: Indices, vertices: Indices) -> Indices:
    """Coordinates that these elements depend on and act on."""
    n = size(rod)
    i = 3 * edges
    j = np.where(i + 3 < n, i + 3, 0)
    v = 3 * vertices
    fore = v[v + 2 < n] + 2
    back = np.where(v > 0, v - 1, n - 1 if rod.closed else 2)
    return np.unique(np.concatenate([i, i + 1, i + 2, j, j + 1, v, v + 1, fore, back]))


def _assemble(
    rod: PlanarRod,
    q_0: Array,
    V: Array,
    load: Array,
    parts: tuple[Indices, Array, Indices, Array],
    out: Indices,
    B: Array,
) -> Reduced:
    edges, w_e, vertices, w_v = parts
    rows, k = _touched(rod, edges, vertices), V.shape[1]
    none = np.zeros((k, k))
    return Reduced(
        q_0=q_0.copy(), V=np.ascontiguousarray(V), rows=rows, V_rows=np.ascontiguousarray(V[rows]), edges=edges,
        w_e=w_e, vertices=vertices, w_v=w_v, out=out, B=np.ascontiguousarray(B), load=V.T @ load, v=0.0, G=none,
        H=none, h_0=np.zeros(k), d_0=np.zeros(k), c_0=1.0, slope=np.zeros(q_0.size), D_rows=np.zeros((rows.size, k)),
    )  # fmt: skip


def galerkin(rod: PlanarRod, q_0: Array, V: Array, load: Array) -> Reduced:
    """Reduced rod with all its elements, (6.132); `load` (n,) are the forces that do not change."""
    edges, vertices = _elements(rod)
    parts = edges, np.ones(edges.size), vertices, np.ones(vertices.size)
    return _assemble(rod, q_0, V, load, parts, np.arange(size(rod)), V.T)


def force_snapshots(rod: PlanarRod, q: Array) -> Array:
    """Internal and contact forces (n_s, n) at rest in states (n_s, n)."""
    F, rest = np.empty_like(q), np.zeros(q.shape[1])
    for row, state in zip(F, q, strict=True):
        forces(rod, state, rest, row)
    return F


def deim_points(U: Array) -> Indices:
    """Entries of the greedy choice of DEIM for a basis (n, m): one a column."""
    points = [int(np.abs(U[:, 0]).argmax())]
    for j in range(1, U.shape[1]):
        rest = U[:, j] - U[:, :j] @ solve(U[points, :j], U[points, j])
        points.append(int(np.abs(rest).argmax()))
    return np.array(points)


def q_deim_points(U: Array) -> Indices:
    """Entries of the pivoted QR decomposition of U' for a basis (n, m)."""
    return np.asarray(qr(U.T, mode="r", pivoting=True)[1][: U.shape[1]], dtype=np.int64)


def deim(rod: PlanarRod, q_0: Array, V: Array, load: Array, F: Array, points: int, pivoted: bool = True) -> Reduced:
    """Reduced rod with interpolated forces.

    Parameters
    ----------
    F : (n_s, n) snapshots of the forces, from `force_snapshots`
    points : number of entries that are evaluated, and of modes of the forces
    pivoted : Q-DEIM's choice of the entries instead of DEIM's

    Raises
    ------
    InputError
        More points than snapshots or coordinates.
    """
    if not 0 < points <= min(F.shape):
        raise InputError("reduction", "points", points, f"1 to {min(F.shape)}, the number of snapshots or coordinates")
    root = np.sqrt(mass(rod))
    U = svd((F / root).T, full_matrices=False)[0][:, :points]
    at = q_deim_points(U) if pivoted else deim_points(U)
    B = solve(U[at].T, U.T @ (root[:, None] * V)).T / root[at]
    vertex = at // 3
    turns = at % 3 == 2  # an angle: its edge, and the bending at both ends of it
    last = rod.N if rod.closed else rod.N + 1
    edges = np.concatenate([vertex[turns], vertex[~turns], vertex[~turns] - 1])
    vertices = np.concatenate([vertex, vertex[turns] + 1])
    edges = np.unique(edges % rod.N if rod.closed else edges[(edges >= 0) & (edges < rod.N)])
    vertices = np.unique(vertices % last)
    return _assemble(rod, q_0, V, load, (edges, np.ones(edges.size), vertices, np.ones(vertices.size)), at, B)


def element_forces(rod: PlanarRod, V: Array, q: Array) -> Array:
    """Modal forces (n_s, k, n_e) of each edge, then each vertex, at rest in states (n_s, n)."""
    edges, vertices = _elements(rod)
    none, one = np.zeros(0, dtype=np.int64), np.ones(1)
    out = np.empty((len(q), V.shape[1], edges.size + vertices.size))
    rest, F = np.zeros(size(rod)), np.zeros(size(rod))
    for s, state in enumerate(q):
        for e in range(out.shape[2]):
            F[:] = 0.0
            if e < edges.size:
                partial_forces(rod, state, rest, edges[e : e + 1], one, none, one, F)
            else:
                partial_forces(rod, state, rest, none, one, vertices[e - edges.size :][:1], one, F)
            out[s, :, e] = F @ V
    return out


def _sparse_weights(A: Array, b: Array, tolerance: float) -> Array:
    """Weights x >= 0, few of them, with |A x - b| <= tolerance |b|: Lawson and Hanson's method, stopped early."""
    x, used = np.zeros(A.shape[1]), np.zeros(A.shape[1], dtype=bool)
    while True:
        rest = b - A @ x
        gain = np.where(used, -np.inf, A.T @ rest)
        if np.linalg.norm(rest) <= tolerance * np.linalg.norm(b) or gain.max() <= 0.0:
            return x
        used[gain.argmax()] = True
        while True:
            best = np.zeros_like(x)
            best[used] = np.linalg.lstsq(A[:, used], b, rcond=None)[0]
            if best[used].min() > 0.0:
                break
            falling = used & (best <= 0.0)
            x += np.min(x[falling] / (x[falling] - best[falling])) * (best - x)
            used &= x > 1e-14 * x.max()
            x[~used] = 0.0
        x = best


def ecsw(rod: PlanarRod, q_0: Array, V: Array, load: Array, q: Array, tolerance: float) -> Reduced:
    """Reduced rod with few, weighted elements.

    Parameters
    ----------
    q : (n_s, n) states on which the weights are trained
    tolerance : of the modal forces of all these states, relative
    """
    g = element_forces(rod, V, q)
    A = g.reshape(-1, g.shape[2])
    b = A.sum(axis=1)
    if A.shape[0] > A.shape[1] + 1:  # the same least squares problem with fewer rows
        r = qr(np.column_stack([A, b]), mode="r")[0][: A.shape[1] + 1]
        A, b = r[:, :-1], r[:, -1]
    w = _sparse_weights(A, b, tolerance)
    edges, vertices = np.flatnonzero(w[: rod.N]), np.flatnonzero(w[rod.N :])
    parts = edges, w[: rod.N][edges], vertices, w[rod.N :][vertices]
    out = _touched(rod, edges, vertices)
    return _assemble(rod, q_0, V, load, parts, out, V[out].T)


def modal_stiffness(rod: PlanarRod, R: Reduced, a: Array) -> Array:
    """Stiffness (k, k) of a reduced rod at modal coordinates `a`, by differences of its forces."""
    k, h = a.size, 1e-6 * max(1.0, float(np.abs(a).max()))
    K = np.empty((k, k))
    for j in range(k):
        step = np.zeros(k)
        step[j] = h
        K[j] = (_modal(rod, R, a - step) - _modal(rod, R, a + step)) / (2.0 * h)
    return K.T


def _modal(rod: PlanarRod, R: Reduced, a: Array) -> Array:
    q, F = lifted(R, a), np.zeros(R.q_0.size)
    partial_forces(rod, q, np.zeros(q.size), R.edges, R.w_e, R.vertices, R.w_v, F)
    return np.asarray(R.B @ F[R.out])


def stable_step(rod: PlanarRod, q: Array, V: Array | None = None) -> float:
    """Largest stable Verlet step [s], 2/omega_max over states (n_s, n): of the rod, or of its projection on `V`."""
    m, largest = mass(rod), 0.0
    for state in q:
        K = stiffness(rod, state)
        reduced = K.toarray() / np.sqrt(np.outer(m, m)) if V is None else V.T @ (K @ V)
        largest = max(largest, float(np.linalg.eigvalsh(reduced)[-1]))
    return 2.0 / float(np.sqrt(largest))


@inlined
def flow(R: Any, a: Any, d: Any, e: Any) -> float:
    """Of `transport`: d = V' M D q, e = h_0 + H a, both written; returns c = D q.M D q."""
    c = R.c_0
    for i in range(a.size):
        d[i] = R.d_0[i]
        e[i] = R.h_0[i]
        for j in range(a.size):
            d[i] += R.G[i, j] * a[j]
            e[i] += R.H[i, j] * a[j]
        c -= a[i] * (R.h_0[i] + e[i])
    return c


@inlined
def accelerate(R: Any, p: float, b: Any, f: Any, d: Any, e: Any, c: float, out: Any) -> float:
    """Accelerations b' of `transport` under the modal forces f, written to `out`; returns the speed of flow."""
    v = p
    rise = 0.0
    square = 0.0
    for i in range(b.size):
        v -= b[i] * d[i]
        rise += e[i] * b[i]
        square += d[i] * d[i]
    v /= c
    drag = 0.0
    for i in range(b.size):
        x = f[i] - v * v * e[i] - 2.0 * v * rise / c * d[i]
        for j in range(b.size):
            x -= 2.0 * v * R.G[i, j] * b[j]
        out[i] = x
        drag += d[i] * x
    for i in range(b.size):
        out[i] += drag / (c - square) * d[i]
    return v


@compiled
def _march(
    rod: Any, R: Any, a: Any, b: Any, p: float, dt: float, steps: int, keep: int, a_s: Any, b_s: Any, v_s: Any
) -> None:
    n = R.q_0.size
    k = a.size
    q = R.q_0.copy()
    u = np.zeros(n)
    F = np.zeros(n)
    f = np.zeros(k)
    half = 0.5 * dt
    damped = rod.c_0 > 0.0 or rod.c_1 > 0.0
    moving = R.v != 0.0
    d = np.zeros(k)
    e = np.zeros(k)
    g = np.zeros(k)
    before = np.zeros(k)
    c = 1.0
    v = R.v
    for step in range(steps + 1):
        if step > 0:
            for i in range(k):
                a[i] += dt * b[i]
        for r in range(R.rows.size):
            x = R.q_0[R.rows[r]]
            for i in range(k):
                x += R.V_rows[r, i] * a[i]
            q[R.rows[r]] = x
            F[R.rows[r]] = 0.0
            if damped:
                x = v * R.slope[R.rows[r]]
                for i in range(k):
                    x += R.V_rows[r, i] * b[i] + v * R.D_rows[r, i] * a[i]
                u[R.rows[r]] = x
        partial_forces(rod, q, u, R.edges, R.w_e, R.vertices, R.w_v, F)
        for i in range(k):
            x = R.load[i]
            for r in range(R.out.size):
                x += R.B[i, r] * F[R.out[r]]
            f[i] = x
        if moving:
            c = flow(R, a, d, e)
        if step > 0:
            if moving:  # the implicit half of the gyroscopic forces, which change b by some 1e-3
                before[:] = b
                for _ in range(3):
                    v = accelerate(R, p, b, f, d, e, c, g)
                    for i in range(k):
                        b[i] = before[i] + half * g[i]
            else:
                for i in range(k):
                    b[i] += half * f[i]
            if keep > 0 and step % keep == 0:
                a_s[step // keep - 1] = a
                b_s[step // keep - 1] = b
                v_s[step // keep - 1] = v
        if step < steps:
            if moving:
                v = accelerate(R, p, b, f, d, e, c, g)
                for i in range(k):
                    b[i] += half * g[i]
            else:
                for i in range(k):
                    b[i] += half * f[i]


def march(
    rod: PlanarRod, R: Reduced, a: Array, b: Array, dt: float, steps: int, keep: int = 0
) -> tuple[Array, Array, Array]:
    """`steps` Verlet steps of the reduced rod.

    Parameters
    ----------
    a, b : (k,) modal coordinates and velocities, updated
    keep : every so many steps the state is kept

    Returns
    -------
    (n_s, k), (n_s, k), (n_s,) : kept modal coordinates, velocities, speeds of flow [m/s]
    """
    k, count = a.size, steps // keep if keep else 0
    d, c = R.d_0 + R.G @ a, R.c_0 - a @ (2.0 * R.h_0 + R.H @ a)
    a_s, b_s, v_s = np.zeros((count, k)), np.zeros((count, k)), np.zeros(count)
    _march(rod, R, a, b, float(b @ d + R.v * c), dt, steps, keep, a_s, b_s, v_s)
    return a_s, b_s, v_s
