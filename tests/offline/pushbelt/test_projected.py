"""The ring on modes fixed in space: exact shifts, energy, the full ring where the basis leaves nothing out, a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from marks import slow
from pushbelt_starts import UNIT, begun, changed

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.planar import model as hy
from rtcvt.offline.pushbelt.ring import cosserat as co
from rtcvt.offline.pushbelt.ring import projected as pj
from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.run.prepare import prepare, ring_steps
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import reduction as rd
from rtcvt.offline.rods import transport as tr

SMALL = begun("MED", 3, N_B=26)
Array = np.ndarray


def ring(b: Any = SMALL.belt) -> co.Cosserat:
    return co.cosserat(b, co.balanced(b))._replace(d_bend=0.0)


def path(R: co.Cosserat) -> Array:
    return pj.smooth(R, ring_set.placed(R, SMALL.start)[0].reshape(1, -1))[0]


def complete(R: co.Cosserat, q: Array) -> Array:
    """All that a ring can do but waves of two nodes and sliding along itself."""
    root = np.sqrt(pl.mass(co.planar(R)))
    out = [np.kron((-1.0) ** np.arange(R.N_B), e) * root for e in np.eye(3)] + [tr.slope_of(co.planar(R), q) * root]
    Q, _ = np.linalg.qr(np.column_stack(out), mode="complete")
    return np.asarray(Q[:, len(out) :] / root[:, None])


def reduced(k: int | None = None) -> pj.Projected:
    """A ring on all modes, or on `k` random ones."""
    R = ring()
    q, V = path(R), complete(R, path(R))
    if k is not None:
        V = V @ np.linalg.qr(np.random.default_rng(2).standard_normal((V.shape[1], k)))[0]
    return pj.projected(R, q, V, q[None])


def moving(P: pj.Projected) -> tuple[Array, Array]:
    """A state with some of all modes, at its place in the ring's circulation."""
    R, rng, flat = P.rod, np.random.default_rng(3), co.planar(P.rod)
    m = pl.mass(flat)
    q, u = path(R), pj.smooth(R, ring_set.placed(R, SMALL.start)[1].reshape(1, -1), rates=True)[0]
    q, u = (a + f * pj.smooth(R, rng.standard_normal((1, q.size)) / np.sqrt(m / m.max()), True)[0]
            for a, f in ((q, 1e-5), (u, 0.1)))  # fmt: skip
    shift = np.array([-0.3 * R.l])
    q, u = tr.shifted(flat, q[None], shift)[0], tr.shifted(flat, u[None], shift, rates=True)[0]
    return pj.placed_on(P, q.reshape(-1, 3), u.reshape(-1, 3), 0.3 * R.l)


class March:
    """Steps of a ring alone under a load on every piece that turns with its chord."""

    def __init__(self, R: Any, q: Array, u: Array) -> None:
        self.R, self.q, self.u = R, np.asfortranarray(q), np.asfortranarray(u)
        self.cs, self.sn = np.cos(q[:, 2]), np.sin(q[:, 2])
        self.shape, self.rate, self.load, self.held = (np.zeros((R.N_B, n)) for n in (11, 9, 9, 9))
        self.F, self.S, self.lost = np.zeros_like(self.q), np.zeros(R.N_B), 0.0
        self.held[:, rg.FX : rg.FY + 1] = np.random.default_rng(5).standard_normal((R.N_B, 2)) * 10.0

    def go(self, steps: int, dt: float, smoothed: bool = False) -> float:
        """Work of the loads [J]; `smoothed`: without waves of two nodes."""
        R, work, angle = self.R, 0.0, (self.cs, self.sn)
        for _ in range(steps):
            ring_set.move(R, self.q, self.u, *angle, dt)
            ring_set.shape_of(R, self.q, *angle, self.shape)
            ring_set.rate_of(R, self.u, self.shape, self.rate)
            rg.from_chords(R, self.shape, self.held, self.load)
            power = ring_set.forces(R, self.q, self.u, *angle, self.shape, self.rate, self.load, self.F, self.S)
            self.lost += dt * sum(power)
            work += dt * sum(hy.advance_ring.py_func(R, self.shape, self.held, self.F, self.u, self.rate, dt, 0.0))
            if smoothed:
                self.u[:] = pj.smooth(R, self.u.reshape(1, -1), rates=True).reshape(-1, 3)
        return work

    def energy(self) -> float:
        ring_set.shape_of(self.R, self.q, self.cs, self.sn, self.shape)
        stored = ring_set.elastic_energy(self.R, self.q, self.cs, self.sn, self.shape)
        return float(sum(stored) + ring_set.kinetic_energy(self.R, self.u))


@pytest.mark.slow
def test_fields_move_along_the_ring() -> None:
    """Against `transport.shifted`; the adjoint; cosine and sine follow gamma."""
    P = reduced(12)
    q, u = moving(P)
    Q = tr.shifted(co.planar(P.rod), q.reshape(1, -1), P.flown[:1])[0]
    np.testing.assert_allclose(rd.lifted(P.R, P.a), Q, atol=1e-10)
    at = March(P, q, u)
    ring_set.move(P, at.q, at.u, at.cs, at.sn, 0.0)
    np.testing.assert_allclose(at.q, q, atol=1e-12)
    np.testing.assert_allclose(at.u, u, atol=1e-9)
    F, out = np.random.default_rng(1).standard_normal((P.N_B, 3)), np.zeros((P.N_B, 3))
    pj._spread(P, out)
    pj._gather(P, F)
    assert np.sum(P.series[pj.TURNED] * P.series[pj.FIELD]) == pytest.approx(np.sum(F * out), rel=1e-12)
    P.flown[1] = 10.0
    for _ in range(2000):
        ring_set.move(P, at.q, at.u, at.cs, at.sn, P.N_B * P.l / 10.0 / 2000)
    np.testing.assert_allclose([at.cs, at.sn], [np.cos(at.q[:, 2]), np.sin(at.q[:, 2])], atol=1e-4)


@pytest.mark.parametrize("steps", [slow(400), pytest.param(20, marks=pytest.mark.interpreted)])
def test_modes_that_leave_nothing_out_are_the_ring(steps: int) -> None:
    """A damped, loaded ring moves as the full one without waves of two nodes, to order one in the step."""
    off = []
    for n in (steps, 2 * steps):
        P = reduced()
        q, u = moving(P)
        a, b = March(P, q.copy(), u.copy()), March(P.rod, q, u)
        dt = 2.5e-7 * steps / n
        a.go(n, dt), b.go(n, dt, smoothed=True)
        assert np.ptp(b.u[:, 0]) > 1.0
        off.append(np.abs(a.u - b.u)[:, :2].max() / np.abs(b.u[:, :2]).max())
    assert off[1] < 2e-3
    assert off[0] / off[1] > 1.9


@pytest.mark.interpreted
def test_flow_keeps_the_kinetic_energy_and_a_force_adds_its_work() -> None:
    """Far from the reference; the implicit midpoint rule, a quarter of the error with half the step."""
    drift = []
    for dt in (2e-7, 1e-7):
        P = reduced(12)
        at = March(P, *moving(P))
        P.state[:-2] *= 1000.0
        ring_set.move(P, at.q, at.u, at.cs, at.sn, 0.0)
        before = ring_set.kinetic_energy(P, at.u)
        ring_set.move(P, at.q, at.u, at.cs, at.sn, dt)
        drift.append(abs(ring_set.kinetic_energy(P, at.u) - before))
    assert drift[0] / drift[1] > 3.5
    F, u, before = np.random.default_rng(6).standard_normal((P.N_B, 3)), at.u.copy(), ring_set.kinetic_energy(P, at.u)
    ring_set.advance(P, F, at.u, 1e-3)
    work = 0.5e-3 * np.sum(F * (u + at.u))
    assert ring_set.kinetic_energy(P, at.u) - before == pytest.approx(work, rel=1e-9)


@pytest.mark.slow
def test_energy_balance_of_the_loaded_ring() -> None:
    """What is stored and lost is what the loads gave, of order one in the step."""
    left = []
    for n in (800, 1600):
        P = reduced(12)
        at = March(P, *moving(P))
        before, kinetic = at.energy(), ring_set.kinetic_energy(P, at.u)
        work = at.go(n, 400e-6 / n)
        turnover = abs(work) + at.lost + abs(ring_set.kinetic_energy(P, at.u) - kinetic)
        left.append(abs(at.energy() - before + at.lost - work))
    assert left[1] < 0.01 * turnover
    assert left[0] / left[1] > 1.5


def on_modes(folder: Path, **ring: Any) -> Any:
    ring = {"rod": "projected", "modes": 20, "snapshots": "full.h5", "rotatory_factor": 1134.0} | ring
    return UNIT.model_copy(update={"ring": UNIT.ring.model_copy(update=ring), "folder": folder})


@pytest.mark.slow
def test_a_run_on_the_modes_of_another(tmp_path: Path) -> None:
    """MED, modes of a revolution of the beam: its tension, and its axial forces to what 20 modes have of the start's
    vibration (5.5 %), over 4 ms; balance, one step of the ring in each, the same bits if the run is continued."""
    settings = Settings(scheme="multirate")
    one = Run("MED", Case("MED", 3), settings, settle=1.0, plot_step=1e-4, observe=("elements",))
    simulate(UNIT, one, tmp_path / "full.h5", UNIT.text)
    unit, run = on_modes(tmp_path), replace(one, settle=0.0, duration=4e-3)
    made = prepare(unit, run)
    assert ring_steps("multirate", made.model.ring, made.clock.step) == 1
    simulate(unit, run, tmp_path / "whole.h5", unit.text)
    simulate(unit, replace(run, duration=2e-3), tmp_path / "parts.h5", unit.text)
    simulate(unit, run, tmp_path / "parts.h5", unit.text, resume=True)
    files = [open_run(tmp_path / f"{name}.h5") for name in ("full", "whole", "parts")]
    with files[0] as full, files[1] as a, files[2] as b:
        for name in ("elements/position", "ring/tension", "energy/stored"):
            np.testing.assert_array_equal(a[name], b[name])
        for name, rtol in (("ring/tension", 0.02), ("pulleys/contact_force", 0.08)):
            assert a[name][20:40].mean() == pytest.approx(full[name][20:40].mean(), rel=rtol)
        given, lost = np.split(a["energy/work"][1:].sum(axis=0), [len(hy.INPUTS)])
        stored = a["energy/stored"][[0, -1]].sum(axis=1)
        assert abs(given.sum() - lost.sum() - stored[1] + stored[0]) < 0.02 * lost.sum()


def test_modes_are_of_a_run_of_the_same_ring(tmp_path: Path) -> None:
    for wrong in ({"rod": "projected"}, {"snapshots": "full.h5"}):
        with pytest.raises(ValueError, match="snapshots"):
            changed(ring=wrong)
    run = Run("one", Case("MED", 3), Settings(scheme="multirate"), duration=1e-3, plot_step=1e-4)
    with pytest.raises(InputError, match=r"full\.h5"):
        prepare(on_modes(tmp_path), run)
    R = ring(SMALL.belt._replace(N_B=25))
    with pytest.raises(InputError, match=r"ring\.N_B = 25"):
        pj.projected(R, np.zeros(75), np.zeros((75, 2)), np.zeros((1, 75)))
    with pytest.raises(InputError, match=r"ring\.modes = 75.*at most 74"):
        pj.projected(ring(), np.zeros(78), np.zeros((78, 75)), np.zeros((1, 78)))
