"""Studies of the rods: python -m studies.rods [NAME ...] [-o DIR]

spectrum  natural frequencies of the pushbelt's ring, as it is and as a Cosserat rod, and the largest stable step
rubber    swinging rubber rod: POD-Galerkin, Q-DEIM, ECSW over the number of modes; plot of error and step
ring      ring around two pulleys without elements: raised rotatory inertia, POD in material and in space-fixed frame
belt      the pushbelt with either ring in OD, MED and LOW: figures, fields, largest steps, cost; plot of fields
share     cost of a step of either ring within a step of the belt
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.ring import cosserat as co
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.run.snapshots import snapshots
from rtcvt.offline.pushbelt.unit.initial import ring_on, start_state
from rtcvt.offline.pushbelt.unit.kinematics import Path as Course
from rtcvt.offline.pushbelt.unit.kinematics import belt_path, closure
from rtcvt.offline.pushbelt.unit.parameters import Boundary, belt, boundary_at, load_parameters, sheaves
from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import reduction as rd
from rtcvt.offline.rods import transport as tr
from rtcvt.offline.rods.statics import frequencies
from studies.pushbelt import PLOT as FRAME
from studies.pushbelt import peaks, set_out
from studies.rod_start import planar_start

Array = NDArray[np.float64]
BELT = belt(load_parameters("pushbelt_24mm"), N_E0=432)
SHEAR = 5.0 / 6.0 / 2.6  # sigma G/E of a rectangle of steel
TENSION = 3000.0  # [N] of the ring at the start


def course(ratio: float) -> tuple[Course, Array]:
    """Path of the stretched ring and its two discs of 1e6 N/m at a vertex."""
    c = closure(BELT.l_R * (1.0 + TENSION / BELT.EA), BELT.d_A, ratio)
    return belt_path(c, BELT.d_A), np.array([[0.0, 0.0, c.r_O, 1e6], [BELT.d_A, 0.0, c.r_I, 1e6]])


def cosserat(discs: Array | None = None, rhoI: float | None = None) -> pl.PlanarRod:
    """The pushbelt's ring; rotatory inertia of a layer that bends unless given."""
    stiffness = dict(EA=BELT.EA, GA=SHEAR * BELT.EA, EI=BELT.EI, rhoA=BELT.rhoA, rhoI=rhoI)
    return pl.planar_rod(BELT.N_B, BELT.l_R, closed=True, turn=-2.0 * np.pi, discs=discs, **stiffness)


def balanced(rod: pl.PlanarRod) -> float:
    """Rotatory inertia at which shear is no faster than extension: sqrt(GA/rhoI + ...) = 2 c_0/ds."""
    return rod.GA / (4.0 * rod.EA / rod.rhoA / rod.ds**2)


def spectrum(out: Path) -> None:
    path, _ = course(1.0)
    q, _ = ring_on(path, BELT.N_B, 0.0)
    rows = {"redundant coordinates": ring_set.spectrum(ring_set.made(BELT), q).omega}
    thin = cosserat()
    start, _ = planar_start(path, BELT.N_B, 0.0)
    rods = {
        "Cosserat, inertia of a layer": thin,
        "Cosserat, bending of (6.3) as printed": thin._replace(EI=10 * thin.EI, rhoI=10 * thin.rhoI),
        "Cosserat, inertia of the whole set": thin._replace(rhoI=thin.rhoA * BELT.h_ring**2 / 12.0),
        "Cosserat, inertia raised to balance": thin._replace(rhoI=balanced(thin)),
    }
    rows |= {name: frequencies(pl.stiffness(r, start), pl.mass(r)) for name, r in rods.items()}
    figure, ax = plt.subplots(figsize=(7, 4))
    for name, w in rows.items():
        print(f"{name}: {w.size} modes, largest {w[-1]:.3g} rad/s, largest step {2e6 / w[-1]:.3f} us")
        ax.semilogy(np.abs(w[3:]), label=name)
    w, V = np.linalg.eigh(pl.stiffness(thin, start).toarray() / np.sqrt(np.outer(pl.mass(thin), pl.mass(thin))))
    part = V[2::3, -1] @ V[2::3, -1]
    print(f"fastest mode of the rod: {part:.4f} of its kinetic energy is the rotation of sections")
    at = np.searchsorted(w, 0.25 * w[-1])
    print(f"without that branch of {w.size - at}: {np.sqrt(w[at - 1]):.3g} rad/s, {2e6 / np.sqrt(w[at - 1]):.3f} us")
    ax.set(xlabel="mode", ylabel="natural frequency [rad/s]")
    ax.legend(fontsize=8)
    figure.savefig(out / "rod_spectrum.svg", bbox_inches="tight")


def timed(
    rod: pl.PlanarRod, R: rd.Reduced, a: Array, b: Array, dt: float, steps: int, keep: int
) -> tuple[Array, float]:
    """Kept modal coordinates and cost of a step [us], the least of three."""
    cost = np.inf
    for _ in range(3):
        begin = time.perf_counter()
        kept, _, _ = rd.march(rod, R, a.copy(), b.copy(), dt, steps, keep)
        cost = min(cost, (time.perf_counter() - begin) / steps * 1e6)
    return kept, cost


def rubber(out: Path) -> None:
    """Lang, Linn and Arnold 2011: pinned, released level, 0.9 s; error is that of the tip, relative to the length."""
    A = np.pi * 2.5e-5
    rod = pl.planar_rod(40, 1.0, EA=5e6 * A, GA=1.5e6 * A, EI=5e6 * np.pi / 4.0 * 6.25e-10, rhoA=1100.0 * A)
    q_0, m, load = pl.line(rod), pl.mass(rod), pl.weight(rod)
    q, u, n, every = q_0.copy(), np.zeros(q_0.size), 180, 5e-3
    Q = np.empty((n, q.size))
    begin = time.perf_counter()
    for k in range(n):
        pl.march(rod, q, u, pl.inverse_mass(rod, (0, 1)), load, every / 80, 80)
        Q[k] = q
    cost = (time.perf_counter() - begin) / (80 * n) * 1e6
    full = rd.stable_step(rod, Q[::10])
    print(f"full: {q.size} coordinates, largest step {full * 1e6:.1f} us, {cost:.2f} us a step")
    modes, results = (3, 5, 8, 10, 12, 15, 20, 30, 40), []
    for k in modes:
        V = rd.basis(Q, q_0, m, k)
        P = q_0 + rd.projected(V, q_0, m, Q) @ V.T
        limit = rd.stable_step(rod, P[::5], V)
        steps = int(np.ceil(every / min(0.8 * limit, 5e-4)))
        F = rd.force_snapshots(rod, P)
        models = {"Galerkin": rd.galerkin(rod, q_0, V, load), "ECSW": rd.ecsw(rod, q_0, V, load, P[::10], 1e-3)}
        models |= {f"Q-DEIM, {i} k points": rd.deim(rod, q_0, V, load, F, i * k) for i in (2, 4) if i * k <= q.size}
        for name, R in models.items():
            kept, cost = timed(rod, R, np.zeros(k), np.zeros(k), every / steps, n * steps, steps)
            error = float(np.abs(rd.lifted(R, kept) - Q)[:, -2:].max())
            results.append((k, name, limit, error))
            print(
                f"k = {k:2d} {name:16s} {R.edges.size:3d} edges {R.vertices.size:3d} vertices  "
                f"step {limit * 1e6:7.1f} us ({limit / full:5.2f})  error {error:.4f}  {cost:6.2f} us a step"
            )
    figure, ax = plt.subplots(1, 2, figsize=(10, 3.6))
    for name in ("Galerkin", "ECSW", "Q-DEIM, 4 k points"):
        one = [r for r in results if r[1] == name]
        ax[0].semilogy([r[0] for r in one], [min(r[3], 10.0) for r in one], "o-", label=name)
    one = [r for r in results if r[1] == "Galerkin"]
    ax[1].semilogy([r[0] for r in one], [r[2] / full for r in one], "o-")
    ax[0].set(xlabel="modes", ylabel="largest error of the tip / length")
    ax[1].set(xlabel="modes", ylabel="largest stable step / that of the full rod")
    ax[0].legend()
    figure.savefig(out / "rod_rubber.svg", bbox_inches="tight")


class Record(NamedTuple):
    """Snapshots (n_s, n) of coordinates and velocities, in material coordinates and fixed in space; ways, speeds."""

    q: Array
    u: Array
    Q: Array
    Q_t: Array
    way: Array
    v: Array


EVERY = 4e-5  # [s] between snapshots


def plucked(rod: pl.PlanarRod, path: Course, v: float, kick: float) -> tuple[Array, Array]:
    """State of the running ring, settled under light damping, with both strands given a lateral half sine [m/s]."""
    q, u = planar_start(path, rod.N, v)
    damped = rod._replace(c_0=0.15, c_1=1e-3)
    dt = 0.6 * rd.stable_step(rod, q[None])
    pl.march(damped, q, u, pl.inverse_mass(rod), np.zeros(q.size), dt, round(0.01 / dt))
    x, (x_0, x_1) = q[0::3], path.point[:2, 0]
    wave = np.where((x > x_0) & (x < x_1), np.sin(np.pi * (x - x_0) / (x_1 - x_0)), 0.0)
    angle = q[2::3] - 0.5 * rod.turn / rod.N
    u[0::3] -= kick * wave * np.sin(angle)
    u[1::3] += kick * wave * np.cos(angle)
    # sections at right angles to their edges, at rest against them: no fast vibration of shear, for any inertia
    d, w = (np.column_stack([np.roll(x[0::3], -1) - x[0::3], np.roll(x[1::3], -1) - x[1::3]]) for x in (q, u))
    turned = np.arctan2(d[:, 1], d[:, 0]) - q[2::3]
    q[2::3] += np.remainder(turned + np.pi, 2.0 * np.pi) - np.pi
    u[2::3] = (d[:, 0] * w[:, 1] - d[:, 1] * w[:, 0]) / np.sum(d * d, axis=1)
    return q, u


def record(rod: pl.PlanarRod, q: Array, u: Array, n: int, dt: float, v: float) -> tuple[Record, float]:
    """Run of `n` snapshots from a state that is left alone, and the cost of a step [us]."""
    q, u, steps = q.copy(), u.copy(), int(np.ceil(EVERY / dt))
    qs, us, inverse, none = [q.copy()], [u.copy()], pl.inverse_mass(rod), np.zeros(q.size)
    begin = time.perf_counter()
    for _ in range(n):
        pl.march(rod, q, u, inverse, none, EVERY / steps, steps)
        qs.append(q.copy())
        us.append(u.copy())
    cost = (time.perf_counter() - begin) / (n * steps) * 1e6
    Q, U = np.array(qs), np.array(us)
    way = v * EVERY * np.arange(n + 1.0)
    mean = tr.shifted(rod, Q, way)[0]
    for _ in range(3):
        way = tr.followed(rod, Q, way, mean)
        fixed, rates, speed = tr.in_space(rod, Q, U, way)
        mean = fixed.mean(axis=0)
    return Record(Q, U, fixed, rates, way, speed), cost


def ring(out: Path) -> None:
    """Strands plucked at 0.3 m/s at 10 m/s, 16 ms; error is that of the shape, relative to its own motion."""
    n, v = 400, 10.0
    path, discs = course(1.0)
    rod = cosserat(discs)
    q, u = plucked(rod, path, v, 0.3)
    m = pl.mass(rod)
    full = rd.stable_step(rod, q[None])
    true, cost = record(rod, q, u, n, 0.8 * full, v)
    mean = true.Q.mean(axis=0)
    norm = np.sqrt(np.mean((true.Q - mean)[:, 0::3] ** 2 + (true.Q - mean)[:, 1::3] ** 2))

    def error(Q: Array) -> tuple[float, float]:
        Q = tr.shifted(rod, Q, tr.followed(rod, Q, np.zeros(len(Q)), mean))
        with np.errstate(all="ignore"):
            off = (Q - true.Q[-len(Q) :])[:, 0::3] ** 2 + (Q - true.Q[-len(Q) :])[:, 1::3] ** 2
            each = np.sqrt(off.mean(axis=1)) / norm
        return float(each[: n // 10].mean()), float(each.mean())

    print(f"full: largest step {full * 1e6:.3f} us, {cost:.2f} us a step; motion {norm * 1e6:.0f} um rms")
    for steps, label in ((0.4 * full, "half the step"),):
        print(f"full, {label}: error {error(record(rod, q, u, n, steps, v)[0].Q)}")
    for factor in (0.01, 0.1, 1.0, 4.0):
        heavy = rod._replace(rhoI=factor * balanced(rod))
        limit = rd.stable_step(heavy, q[None])
        other, cost = record(heavy, q, u, n, 0.8 * limit, v)
        first, all_ = error(other.Q)
        print(
            f"rotatory inertia x {heavy.rhoI / rod.rhoI:6.0f}: step {limit * 1e6:.3f} us ({limit / full:.1f}), "
            f"error {first:.4f} in the first tenth, {all_:.4f} in all, {cost:.2f} us a step"
        )
    for frame, X, Y in (("fixed in space", true.Q, true.Q_t), ("material", true.q, true.u)):
        x_0 = X.mean(axis=0)
        for k in (5, 10, 20, 40, 60, 100):
            V = rd.basis(X, x_0, m, k)
            a, b = rd.projected(V, x_0, m, X[:1])[0], rd.projected(V, np.zeros(1), m, Y[:1])[0]
            limit = rd.stable_step(rod, x_0 + rd.projected(V, x_0, m, X[::50]) @ V.T, V)
            R = rd.galerkin(rod, x_0, V, np.zeros(x_0.size))
            if frame != "material":
                R = tr.moving(rod, R, float(true.v[0]))
            steps = int(np.ceil(EVERY / min(0.8 * limit, 4e-6)))
            kept, cost = timed(rod, R, a, b, EVERY / steps, n * steps if limit > 1e-7 else steps * 40, steps)
            back = rd.lifted(R, kept)
            if frame == "material":
                back = tr.shifted(rod, back, true.way[1 : len(back) + 1])
            missed = np.sqrt(np.mean((x_0 + rd.projected(V, x_0, m, X) @ V.T - X)[:, 0::3] ** 2 * 2)) / norm
            finite = np.isfinite(back).all()
            first, all_ = error(np.concatenate([back, true.Q[len(back) + 1 :]])) if finite else (np.nan, np.nan)
            print(
                f"POD {frame}, k = {k:3d}: step {limit * 1e6:.3f} us ({limit / full:.1f}), projection {missed:.3f}, "
                f"error {first:.3f} in the first tenth, {all_:.3f} in all, {cost:.2f} us a step",
                flush=True,
            )


# --- in the belt


class Setting(NamedTuple):
    """A case of the belt with one of the rings: kind, factor of rotatory inertia, pieces."""

    case: str
    row: int
    kind: str = "rcm"
    rotatory: float = 1.0
    N_B: int = 104


STEP = 2.5e-6  # [s]


class Drive:
    """The belt of a setting, settled over a revolution by the multirate scheme; `kick` [m/s] at the elements."""

    def __init__(self, s: Setting, kick: int = 0) -> None:
        unit = load_parameters("pushbelt_24mm")
        case = unit.get_case(s.case)
        b, self.sheaves = belt(unit, N_E0=case.N_E0, N_B=s.N_B), sheaves(unit)
        self.values = boundary_at(case, np.array([0.0, 1.0]), s.row)
        self.start = start_state(b, self.sheaves, Boundary(*self.values[0]), case.i_r)
        rotatory = co.balanced(b) if s.rotatory < 0.0 else s.rotatory
        self.m, self.x, self.revolution = set_out(b, self.sheaves, self.start, ring=s.kind, rotatory=rotatory)
        self.v = float(np.hypot(*self.start.u[:, :2].T).mean())
        if kick:
            self.x.u[:, :2] += 1e-3 * np.random.default_rng(kick).standard_normal((b.N_E, 2))

    def go(self, frames: int, rings: int | None = None) -> tuple[hybrid.Frames, int, float]:
        """Frames, how many are valid, and processor time [us] of a step."""
        begin, n = time.thread_time(), round(FRAME / STEP)
        steps = rings or max(2, int(np.ceil(STEP / ring_set.largest_step(self.m.ring))))
        inputs = np.broadcast_to(self.values[1], (frames + 1, 7))
        out, done = hybrid.run(self.m, self.x, inputs, n, STEP, n_R=steps)
        return out, done, (time.thread_time() - begin) / (frames * n) * 1e6


def figures_of(d: Drive, frames: int) -> tuple[dict[str, float], dict[str, Array], float]:
    """Figures and mean fields over `frames` frames after the first revolution, and the cost of a step [us]."""
    d.go(d.revolution)
    out, done, cost = d.go(frames)
    assert done == frames
    return *measured(d.m, out), cost


def measured(m: hybrid.Model, out: hybrid.Frames) -> tuple[dict[str, float], dict[str, Array]]:
    """Figures and mean fields of frames."""
    force, rest = out.pulley[:, :, 1].mean(axis=0), hybrid.residual(out)
    found = {
        "thrust": force[0] / force[1],
        "tension": out.tension.mean(),
        "fluctuation": out.tension.std(axis=0).mean(),
    }
    push = out.joint[..., :3].sum(axis=-1)
    for name, f in (("flank", out.flank[..., 0]), ("push", push), ("saddle", out.saddle[..., 0])):
        found |= {f"{name} {p}": value for p, value in zip("IO", peaks(m, out, f), strict=True)}
    found["longitudinal friction"] = out.work[1:, list(hybrid.ledger.WORKS).index("flank longitudinal friction")].sum()
    found["losses"] = rest[1]
    found["rest/losses"] = rest[0] / rest[1]
    fields = snapshots(m, out, STEP).fields
    return found, {k: fields[k].mean(axis=0) for k in ("tension", "push", "flank_normal", "ring_normal")}


RINGS = {
    "rcm": Setting("", 0),
    "rcm, kicked": Setting("", 0),
    "cosserat, balanced": Setting("", 0, "cosserat", -1.0),
    "cosserat, balanced, 208": Setting("", 0, "cosserat", -1.0, 208),
    "cosserat, layer": Setting("", 0, "cosserat"),
}


def in_belt(out: Path) -> None:
    """Each ring in MED, LOW and OD over 20 ms after a revolution; the beam also from a kicked start."""
    cases = (("MED", 3), ("LOW", 0), ("OD", 0))
    base: dict[str, dict[str, Array]] = {}
    figure, axes = plt.subplots(2, len(cases), figsize=(12, 6), sharex=True)
    for name, setting in RINGS.items():
        for column, (case, row) in enumerate(cases):
            d = Drive(setting._replace(case=case, row=row), kick=int("kicked" in name))
            if column == 0 and "kicked" not in name:
                print(f"{name}: {ring_set.spectrum(d.m.ring, d.x.q_R)}")
            found, fields, cost = figures_of(d, 200)
            first = base.setdefault(case, fields)
            off = {k: np.sqrt(np.mean((f - first[k]) ** 2)) / np.abs(first[k]).max() for k, f in fields.items()}
            print(f"{case} {name}: " + ", ".join(f"{k} {v:.4g}" for k, v in found.items()))
            shown = ", ".join(f"{k} {v:.3f}" for k, v in off.items())
            print(f"    {cost:.1f} us a step; fields off by {shown}", flush=True)
            for ax, field in zip(axes[:, column], ("tension", "flank_normal"), strict=True):
                ax.plot(np.linspace(0.0, 4.0, fields[field].size), fields[field], label=name, lw=1)
                ax.set(title=f"{case}: {field}")
    axes[0, 0].legend(fontsize=7)
    figure.savefig(out / "rod_belt.svg", bbox_inches="tight")


def share(out: Path) -> None:
    """Cost of a step of the ring within the belt's step: MED over numbers of the ring's steps, the least of five."""
    del out
    for kind, rotatory in (("rcm", 1.0), ("cosserat", -1.0)):
        d, numbers = Drive(Setting("MED", 3, kind, rotatory)), np.array([3, 6, 12])
        d.go(20)
        cost = [min(d.go(10, n)[2] for _ in range(5)) for n in numbers]
        one = np.polyfit(numbers, cost, 1)[0]
        whole = cost[0] - one * (numbers[0] - 2)
        print(f"{kind}: {one:.2f} us a step of the ring; two of them are {2 * one / whole:.1%} of {whole:.1f} us")


STUDIES = {"spectrum": spectrum, "rubber": rubber, "ring": ring, "belt": in_belt, "share": share}


def main(studies: dict[str, Callable[[Path], None]], about: str | None) -> None:
    """The command of a file of studies: those that are named, or all."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(studies))
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR", help="folder of the plots")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(studies):
        parser.error(f"{', '.join(sorted(unknown))}: one of {', '.join(studies)}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or studies:
        print(f"-- {name}")
        studies[name](arguments.output)


if __name__ == "__main__":
    main(STUDIES, __doc__)
