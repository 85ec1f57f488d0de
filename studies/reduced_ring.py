"""A reduced ring in the belt: python -m studies.reduced_ring [NAME ...] [-o DIR]

modes   MED: POD over the number of modes in both frames, ECSW and DEIM, against the full rod; plot
points  bases of other operating points: of OD in LOW, of ten points at an eleventh
"""

from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.ring import cosserat as co
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import reduction as rd
from rtcvt.offline.rods import transport as tr
from studies import projected_ring as pj
from studies import scaled_ring as sc
from studies.rods import FRAME, STEP, Drive, Setting, main, measured

Array = NDArray[np.float64]
WINDOW = 200  # frames that are compared


class Training(NamedTuple):
    """A settled belt with the full rod: the start of the comparison, after a revolution.

    drive, start (arrays of the state); path (n,) nodes on the taut path; q, u (n_s, n) material; Q, Q_t (n_s, n) fixed
    in space; way (n_s,) [m].
    """

    drive: Drive
    start: list[Array]
    path: Array
    q: Array
    u: Array
    Q: Array
    Q_t: Array
    way: Array


def trained(case: str, row: int, rotatory: float = -1.0, frames: int | None = None) -> Training:
    """The full belt over a revolution, and `frames` more with a snapshot at each; by default another revolution."""
    d = Drive(Setting(case, row, "cosserat", rotatory))
    path = ring_set.placed(d.m.ring, d.start)[0].ravel()
    d.go(d.revolution)
    start = [a.copy("K") for a in d.x]
    q, u = [d.x.q_R.ravel().copy()], [d.x.u_R.ravel().copy()]
    for _ in range(frames or d.revolution):
        assert d.go(1)[1] == 1
        q.append(d.x.q_R.ravel().copy())
        u.append(d.x.u_R.ravel().copy())
    flat, X, U = pj.flat(d.m.ring), np.array(q), np.array(u)
    path = pj.smooth(d.m.ring, path[None])[0]
    way = tr.followed(flat, X, d.v * FRAME * (d.revolution + np.arange(len(X))), path)
    Q, Q_t, _ = tr.in_space(flat, X, U, way)
    return Training(d, start, path, X, U, pj.smooth(d.m.ring, Q), pj.smooth(d.m.ring, Q_t, True), way)


def fast(t: Training, P: pj.Projected) -> float:
    """Largest stable step [s] of a reduced ring, from the stiffness in its modes at five states of the training."""
    R, m, best = P.R, pl.mass(P.flat), np.inf
    X, none = (t.Q, R.q_0) if P.flow else (t.q, R.q_0)
    for a in (X[:: len(X) // 4] - none) * m @ R.V:
        K = rd.modal_stiffness(P.flat, R, a)
        best = min(best, 2.0 / np.sqrt(np.abs(np.linalg.eigvals(K)).max()))
    return float(best)


def go(t: Training, ring: object, rings: int, frames: int = WINDOW) -> tuple[hybrid.Frames, int, float]:
    """Frames from the start of the training with a ring, how many are valid, processor time of a step [us]."""
    d = t.drive
    x = hybrid.State(*[a.copy("K") for a in t.start])
    if isinstance(ring, pj.Projected):
        x.q_R[:], x.u_R[:] = pj.placed_on(ring, x.q_R, x.u_R, float(t.way[0]))
    other = Drive.__new__(Drive)
    other.__dict__ |= d.__dict__ | {"m": d.m._replace(ring=ring), "x": x}
    return other.go(frames, rings)


def space(t: Training, V: Array) -> rd.Reduced:
    """Galerkin in a frame fixed in space, about the taut path."""
    return rd.galerkin(pj.flat(t.drive.m.ring), t.path, V, np.zeros(t.path.size))


def deviations(t: Training, k: int) -> Array:
    """POD basis (n, k) of the deviations of the shape from the taut path."""
    return rd.basis(t.Q - t.path, 0.0 * t.path, pl.mass(pj.flat(t.drive.m.ring)), k)


def material(t: Training, k: int) -> pj.Projected:
    R, q_0 = t.drive.m.ring, t.q.mean(axis=0)
    V = rd.basis(t.q, q_0, pl.mass(pj.flat(R)), k)
    return pj.projected(R, rd.galerkin(pj.flat(R), q_0, V, 0.0 * q_0))


def sampled(t: Training, V: Array) -> dict[str, pj.Projected]:
    """All elements at fixed places, and ECSW, Q-DEIM and DEIM in the basis; trained on states within it."""
    R, m, none, k = t.drive.m.ring, pl.mass(pj.flat(t.drive.m.ring)), 0.0 * t.path, V.shape[1]
    one = pj.flat(R)
    inside = t.path + (t.Q - t.path) * m @ V @ V.T
    F = rd.force_snapshots(one, inside)
    found = {"all": space(t, V)} | {f"ECSW {e:g}": rd.ecsw(one, t.path, V, none, inside[::20], e) for e in (1e-2, 1e-3)}
    for name, points in (("2 k", 2 * k), ("4 k", 4 * k)):
        found[f"Q-DEIM {name}"] = rd.deim(one, t.path, V, none, F, points)
    found["DEIM 4 k"] = rd.deim(one, t.path, V, none, F, 4 * k, pivoted=False)
    return {
        f"{name} ({x.edges.size} edges, {x.vertices.size} vertices)": pj.projected(R, x, True, False)
        for name, x in found.items()
    }


class Result(NamedTuple):
    """Figures and fields of a window, cost of a step [us]; None if the belt left its place."""

    figures: dict[str, float]
    fields: dict[str, Array]


def show(name: str, t: Training, base: Result, ring: object, limit: float) -> Result | None:
    """Run a ring and print the differences from the full one."""
    rings = max(1, int(np.ceil(STEP / limit)))
    if not rings <= 100:
        print(f"  {name}: step {1e6 * limit:.3g} us: not run", flush=True)
        return None
    out, done, cost = go(t, ring, rings)
    head = f"  {name}: step {1e6 * limit:.3g} us, {rings} of the ring in each, {cost:.1f} us"
    if done < WINDOW:
        print(f"{head}: left its place after {done * FRAME * 1e3:.1f} ms", flush=True)
        return None
    figures, fields = measured(t.drive.m, out)
    chord = np.hypot(*np.moveaxis(np.roll(out.q_R[..., :2], -1, axis=1) - out.q_R[..., :2], 2, 0))
    figures["fluctuation"] = float((t.drive.m.ring.EA * (chord / t.drive.m.ring.l - 1.0)).std(axis=0).mean())
    found = Result(figures, fields)
    if not base.figures:
        base.figures.update(figures)
        base.fields.update(fields)
    off = {k: np.sqrt(np.mean((f - base.fields[k]) ** 2)) / np.abs(base.fields[k]).max() for k, f in fields.items()}
    print(head)
    print("    " + ", ".join(f"{k} {v:.4g}" for k, v in figures.items()))
    print("    fields off by " + ", ".join(f"{k} {100 * v:.2f}" for k, v in off.items()) + " %", flush=True)
    return found


def full(t: Training) -> Result:
    """The full rod, printed, and from a kicked start."""
    base, R = Result({}, {}), t.drive.m.ring
    limit = ring_set.largest_step(R)
    show("full", t, base, R, limit)
    before = t.start[1].copy()
    t.start[1][:, :2] += 1e-3 * np.random.default_rng(1).standard_normal((len(before), 2))
    show("full, kicked", t, base, R, limit)
    t.start[1][:] = before
    return base


def others(t: Training) -> dict[str, tuple[object, float]]:
    """The other rings, from the same state, and the largest step of each."""
    b, layer = t.drive.m.belt, co.cosserat(t.drive.m.belt)
    return {
        "inertia of a layer": (layer, ring_set.largest_step(layer)),
        "extension and shear implicit": (sc.scaled(b, 1.06 * STEP), STEP),
    }


def costs(t: Training, rings: dict[str, tuple[object, float]]) -> None:
    """Processor time of a step, the least of five runs of 3 ms in turns."""
    least = dict.fromkeys(rings, np.inf)
    for _ in range(5):
        for name, (ring, limit) in rings.items():
            least[name] = min(least[name], go(t, ring, max(1, int(np.ceil(STEP / limit))), 30)[2])
    for name, cost in least.items():
        print(f"  {name}: {cost:.1f} us a step, {cost * 0.1 / STEP * 1e-6:.2f} s for 0.1 s")


def modes(out: Path) -> None:
    """MED: the frames, the number of modes, few elements, other ways to a larger step; their cost."""
    t = trained("MED", 3)
    R = t.drive.m.ring
    base, rows = full(t), []
    timed: dict[str, tuple[object, float]] = {"full": (R, ring_set.largest_step(R))} | others(t)
    for name, (ring, limit) in others(t).items():
        show(name, t, base, ring, limit)
    for k in (5, 10, 20, 40, 60):
        V = deviations(t, k)
        P = pj.projected(t.drive.m.ring, space(t, V), True)
        rows.append((k, fast(t, P), show(f"POD fixed in space, {k}", t, base, P, fast(t, P))))
        timed[f"POD fixed in space, {k}"] = P, fast(t, P)
        if k in (10, 20, 40):
            for name, P in sampled(t, V).items():
                show(f"{k} modes, {name}", t, base, P, fast(t, P))
                if k == 20:
                    timed[f"{k} modes, {name}"] = P, fast(t, P)
    lines = []
    for k in (10, 20, 40, 60, 100, 200):
        P = material(t, k)
        lines.append((k, fast(t, P), show(f"POD material, {k}", t, base, P, 0.95 * fast(t, P))))
    costs(t, timed)
    figure, ax = plt.subplots(1, 3, figsize=(12, 3.6))
    for label, some in (("fixed in space", rows), ("material", lines)):
        ks = [r[0] for r in some]
        for a, key in zip(ax, ("tension", "flank_normal"), strict=False):
            a.loglog(
                ks,
                [
                    np.sqrt(np.mean((r[2].fields[key] - base.fields[key]) ** 2)) / np.abs(base.fields[key]).max()
                    if r[2]
                    else np.nan
                    for r in some
                ],
                "o-",
                label=label,
            )
            a.set(xlabel="modes", ylabel=f"error of {key.replace('_', ' ')} / its largest", ylim=(1e-3, 30))
        ax[2].loglog(ks, [1e6 * r[1] for r in some], "o-", label=label)
    ax[2].axhline(1e6 * ring_set.largest_step(t.drive.m.ring), color="k", lw=0.7)
    ax[2].axhline(1e6 * STEP, color="k", lw=0.7, ls="--")
    ax[2].set(xlabel="modes", ylabel="ring's largest step [us]")
    ax[0].legend()
    figure.tight_layout()
    figure.savefig(out / "rod_reduced.svg", bbox_inches="tight")


TEN = (
    *(("MED", row) for row in (0, 1, 2, 4, 5)),
    ("OD", 0),
    ("OD-SpiRun", 1),
    ("OD-SpiRun", 3),
    ("LOW", 0),
    ("LOW-SpiRun", 2),
)


def points(out: Path) -> None:
    """Bases of other operating points: of OD in LOW, of ten points at an eleventh, MED at 74.58 N m."""
    del out
    by = {point: trained(*point) for point in (*TEN, ("MED", 3))}
    m = pl.mass(pj.flat(by["OD", 0].drive.m.ring))

    def several(k: int, *these: tuple[str, int]) -> Array:
        return rd.basis(np.concatenate([by[p].Q - by[p].path for p in these]), 0.0 * m, m, k)

    for where, kinds in (
        (("LOW", 0), {"own": [("LOW", 0)], "of OD": [("OD", 0)], "of MED": [("MED", 3)]}),
        (("MED", 3), {"own": [("MED", 3)], "of ten others": list(TEN), "of OD": [("OD", 0)], "of LOW": [("LOW", 0)]}),
    ):
        t = by[where]
        print(where)
        base = full(t)
        rest = t.Q - t.path
        for name, these in kinds.items():
            for k in (5, 10, 20, 40, 60):
                V = several(k, *these)
                missed = rest - rest * m @ V @ V.T
                share = np.sqrt(np.sum(missed**2 * m) / np.sum(rest**2 * m))
                P = pj.projected(t.drive.m.ring, space(t, V), True)
                show(f"basis {name}, {k} modes, misses {share:.3f}", t, base, P, fast(t, P))


STUDIES = {"modes": modes, "points": points}

if __name__ == "__main__":
    main(STUDIES, __doc__)
