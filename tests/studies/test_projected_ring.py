"""The reduced ring: exact shifts, energy, the full ring where the basis leaves nothing out, the belt."""

from typing import Any

import numpy as np
import pytest
from pushbelt_starts import begun

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.planar import model as hy
from rtcvt.offline.pushbelt.ring import cosserat as co
from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import reduction as rd
from rtcvt.offline.rods import transport as tr
from studies import projected_ring as pj

pytestmark = pytest.mark.slow

SMALL = begun("MED", 3, N_B=26)
Array = np.ndarray


def ring(b: Any = SMALL.belt) -> co.Cosserat:
    return co.cosserat(b, co.balanced(b))._replace(d_bend=0.0)


def path(R: co.Cosserat) -> tuple[Array, Array]:
    """Smooth coordinates on the path of MED, and the velocities of its start."""
    q, u = ring_set.placed(R, SMALL.start)
    return pj.smooth(R, q.reshape(1, -1))[0], pj.smooth(R, u.reshape(1, -1), rates=True)[0]


def complete(R: co.Cosserat, q: Array, flow: bool) -> Array:
    """All that a ring can do but waves of two nodes, and but sliding along itself if that is the frame's."""
    root = np.sqrt(pl.mass(pj.flat(R)))
    out = [np.kron((-1.0) ** np.arange(R.N_B), e) * root for e in np.eye(3)]
    out += [tr.slope_of(pj.flat(R), q) * root] if flow else []
    Q, _ = np.linalg.qr(np.column_stack(out), mode="complete")
    return np.asarray(Q[:, len(out) :] / root[:, None])


def few(R: co.Cosserat, q: Array, flow: bool, k: int = 12) -> Array:
    """Orthonormal in the mass, some of `complete` at random."""
    V = complete(R, q, flow)
    return V @ np.linalg.qr(np.random.default_rng(2).standard_normal((V.shape[1], k)))[0]


def reduced(R: co.Cosserat, flow: bool, k: int | None = None, whole: bool = True) -> pj.Projected:
    q, _ = path(R)
    V = complete(R, q, flow) if k is None else few(R, q, flow, k)
    return pj.projected(R, rd.galerkin(pj.flat(R), q, V, np.zeros(q.size)), flow, whole)


def moving(P: pj.Projected) -> tuple[Array, Array]:
    """A state with some of all modes, at its place in the ring's circulation."""
    R, rng = P.rod, np.random.default_rng(3)
    q, u = path(R)
    m = pl.mass(P.flat)
    q = q + 1e-5 * pj.smooth(R, rng.standard_normal((1, q.size)) / np.sqrt(m / m.max()), True)[0]
    u = u + 0.1 * pj.smooth(R, rng.standard_normal((1, q.size)) / np.sqrt(m / m.max()), True)[0]
    shift = np.array([-0.3 * R.l])
    q, u = tr.shifted(P.flat, q[None], shift)[0], tr.shifted(P.flat, u[None], shift, rates=True)[0]
    return pj.placed_on(P, q.reshape(-1, 3), u.reshape(-1, 3), 0.3 * R.l)


class March:
    """Steps of a ring alone under a load on every piece that turns with its chord."""

    def __init__(self, R: Any, q: Array, u: Array) -> None:
        self.R, self.q, self.u = R, np.asfortranarray(q), np.asfortranarray(u)
        self.cs, self.sn = np.cos(q[:, 2]), np.sin(q[:, 2])
        self.shape, self.rate = np.zeros((R.N_B, rg.N_SHAPE)), np.zeros((R.N_B, rg.N_RATE))
        self.load, self.F, self.S = np.zeros((R.N_B, rg.N_LOAD)), np.zeros_like(self.q), np.zeros(R.N_B)
        self.held = np.zeros((R.N_B, rg.N_LOAD))
        self.held[:, rg.FX : rg.FY + 1] = np.random.default_rng(5).standard_normal((R.N_B, 2)) * 10.0
        self.lost = 0.0

    def go(self, steps: int, dt: float) -> float:
        """Work of the loads [J]."""
        R, work = self.R, 0.0
        for _ in range(steps):
            ring_set.move(R, self.q, self.u, self.cs, self.sn, dt)
            ring_set.shape_of(R, self.q, self.cs, self.sn, self.shape)
            ring_set.rate_of(R, self.u, self.shape, self.rate)
            rg.from_chords(R, self.shape, self.held, self.load)
            power = ring_set.forces(
                R, self.q, self.u, self.cs, self.sn, self.shape, self.rate, self.load, self.F, self.S
            )
            self.lost += dt * sum(power)
            work += dt * sum(hy.advance_ring.py_func(R, self.shape, self.held, self.F, self.u, self.rate, dt, 0.0))
        return work

    def energy(self) -> float:
        ring_set.shape_of(self.R, self.q, self.cs, self.sn, self.shape)
        stored = ring_set.elastic_energy(self.R, self.q, self.cs, self.sn, self.shape)
        return float(sum(stored) + ring_set.kinetic_energy(self.R, self.u))


def test_fields_move_along_the_ring() -> None:
    """Against `transport.shifted`; the adjoint; cosine and sine follow gamma over a whole revolution."""
    P = reduced(ring(), True, 12)
    q, u = moving(P)
    Q = tr.shifted(P.flat, q.reshape(1, -1), P.flown[:1])[0]
    np.testing.assert_allclose(rd.lifted(P.R, P.a), Q, atol=1e-10)
    at = March(P, q, u)
    ring_set.move(P, at.q, at.u, at.cs, at.sn, 0.0)
    np.testing.assert_allclose(at.q, q, atol=1e-12)
    np.testing.assert_allclose(at.u, u, atol=1e-9)
    F, field, out = np.random.default_rng(1).standard_normal((P.N_B, 3)), P.field.copy(), np.zeros((P.N_B, 3))
    pj._phase(P, 0.123)
    pj._spread(P, field, out)
    pj._gather(P, F)
    assert np.sum(P.turned * field) == pytest.approx(np.sum(F * out), rel=1e-12)
    P.flown[1] = 10.0
    for _ in range(2000):
        ring_set.move(P, at.q, at.u, at.cs, at.sn, P.N_B * P.l / 10.0 / 2000)
    np.testing.assert_allclose([at.cs, at.sn], [np.cos(at.q[:, 2]), np.sin(at.q[:, 2])], atol=1e-4)


@pytest.mark.parametrize("flow", [False, True])
def test_a_basis_that_leaves_nothing_out_is_the_ring(flow: bool) -> None:
    """A damped, loaded ring over 0.1 ms: the same motion without waves of two nodes; fixed in space to order one."""
    R = ring()
    off = []
    for n in (400, 800):
        dt = 1e-4 / n
        P, whole = reduced(R, flow), reduced(R, False)
        q, u = moving(P)
        a, b = March(P, q, u), March(whole, *pj.placed_on(whole, q, u))
        a.go(n, dt), b.go(n, dt)
        assert np.ptp(b.u[:, 0]) > 1.0
        off.append(np.abs(a.u - b.u)[:, :2].max() / np.abs(b.u[:, :2]).max())
    if flow:
        assert off[1] < 2e-3
        assert off[0] / off[1] > 1.9
    else:  # the same kernels
        assert off[1] < 1e-9
        V = np.eye(3 * R.N_B) / np.sqrt(pl.mass(pj.flat(R)))
        every = pj.projected(R, rd.galerkin(pj.flat(R), path(R)[0], V, np.zeros(3 * R.N_B)))
        a, b = March(every, q, u), March(R, q, u)
        a.go(400, 1e-6), b.go(400, 1e-6)
        np.testing.assert_allclose(a.u, b.u, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("flow", "whole"), [(True, True), (False, False), (False, True), (True, False)])
def test_energy_balance_of_the_loaded_ring(flow: bool, whole: bool) -> None:
    """What is stored and lost is what the loads gave, of order one in the step; also by way of the reduction's
    elements, where the energy of a shape is that at fixed places."""
    left = []
    for n in (800, 1600):
        P = reduced(ring(), flow, 12 if flow else None, whole)
        at = March(P, *moving(P))
        before, kinetic = at.energy(), ring_set.kinetic_energy(P, at.u)
        work = at.go(n, 400e-6 / n)
        turnover = abs(work) + at.lost + abs(ring_set.kinetic_energy(P, at.u) - kinetic)
        left.append(abs(at.energy() - before + at.lost - work))
    assert left[1] < 0.01 * turnover
    assert left[0] / left[1] > 1.5


def test_the_belt_with_forty_modes() -> None:
    """MED, 10 ms behind a revolution of the full rod, a step of the ring in each of the belt: the thrust ratio within
    2 % and the tension within 1 % of the full rod's, the balance as of any ring. A basis of all that the ring can do:
    the full rod's velocities within 2 % over 0.1 ms."""
    b, sh, values, _ = begin = begun("MED", 3)
    m = hy.model(b, sh, ring="cosserat", rotatory=co.balanced(b))
    R, one = m.ring, pj.flat(m.ring)
    begin = begin.on(R)
    start, x = begin.start, begin.state

    def go(ring: Any, x: hy.State, frames: int, n_R: int) -> hy.Frames:
        out, done = hy.run(m._replace(ring=ring), x, np.tile(values, (frames + 1, 1)), 40, 2.5e-6, n_R=n_R)
        assert done == frames
        return out

    go(R, x, 574, 3)
    first, q = [a.copy("K") for a in x], []
    for _ in range(300):
        go(R, x, 1, 3)
        q.append(x.q_R.ravel().copy())
    v = float(np.hypot(*start.u_R[0, :2]))
    q_0, way = pj.smooth(R, start.q_R.reshape(1, -1))[0], v * 1e-4 * (574 + np.arange(1, 301.0))
    Q = pj.smooth(R, tr.shifted(one, np.array(q), tr.followed(one, np.array(q), way, q_0)))

    def reduced_run(V: Array, frames: int, n_R: int) -> tuple[hy.Frames, hy.State]:
        P = pj.projected(R, rd.galerkin(one, q_0, V, 0.0 * q_0), True)
        y = hy.State(*[a.copy("K") for a in first])
        y.q_R[:], y.u_R[:] = pj.placed_on(P, y.q_R, y.u_R, float(way[0]))
        return go(P, y, frames, n_R), y

    out, _ = reduced_run(rd.basis(Q, q_0, pl.mass(one), 40), 100, 1)
    full = go(R, hy.State(*[a.copy("K") for a in first]), 100, 3)
    thrust = [o.pulley[:, 0, 1].mean() / o.pulley[:, 1, 1].mean() for o in (out, full)]
    assert thrust[0] == pytest.approx(thrust[1], rel=0.02)
    assert out.tension.mean() == pytest.approx(full.tension.mean(), rel=0.01)
    rest, losses, throughput = hy.residual(out)
    assert abs(rest) < min(1e-2 * losses, 1e-3 * throughput)
    _, y = reduced_run(complete(R, q_0, True), 1, 3)
    other = hy.State(*[a.copy("K") for a in first])
    go(R, other, 1, 3)
    assert np.abs(y.u - other.u)[:, :2].max() < 0.02 * np.abs(other.u[:, :2]).max()


def test_refusals() -> None:
    R, odd = ring(), ring(SMALL.belt._replace(N_B=25))
    for bad, flow, key in ((odd, True, "pieces"), (R, True, "modes")):
        n = 3 * bad.N_B
        reduction = rd.galerkin(pj.flat(bad), path(bad)[0], np.eye(n), np.zeros(n))
        with pytest.raises(InputError, match=key):
            pj.projected(bad, reduction, flow)
