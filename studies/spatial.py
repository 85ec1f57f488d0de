"""Studies of the spatial pushbelt: python -m studies.spatial NAME [FOLDER]

alignment    belts -1.5 to 1.5 mm out of line (MED, 74.58 N m): forces across the belt, yaw, losses; draws
             FOLDER/alignment.png, by default docs/spatial
start        transients of a spatial run with and without a run of the hybrid model before it: OD, MED, LOW
settings     the same in MED, 74.58 N m, with all six boundary settings and with tapered elements, over a revolution
disturbance  growth of a small motion across the plane, by section of the belt
rings        LOW, the spatial Cosserat rod as ring against the planar ring with lateral columns: modes, three starts
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.ring import cosserat
from rtcvt.offline.pushbelt.run import schedule
from rtcvt.offline.pushbelt.run.prepare import prepare
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.run.snapshots import SECTIONS, snapshots
from rtcvt.offline.pushbelt.run.windows import STEADY, summary
from rtcvt.offline.pushbelt.spatial import model as spatial
from rtcvt.offline.pushbelt.spatial.start import lift
from rtcvt.offline.pushbelt.unit.initial import start_state
from rtcvt.offline.pushbelt.unit.kinematics import misalignment, radius_at_one
from rtcvt.offline.pushbelt.unit.parameters import FORCE, RATE, SPEED, Boundary, belt, boundary_at, sheaves
from rtcvt.offline.pushbelt.unit.taut_path import taut_path
from rtcvt.offline.rods import spatial as spatial_rod
from studies.pushbelt import PLOT, UNIT, set_out

STEPS = 100
Array = NDArray[np.float64]


class Case:
    """A case of the unit: hybrid model and state at its start, boundary values, frames of a revolution."""

    def __init__(
        self, name: str, row: int, offset: float | None = None, taper: float | None = None, values: Array | None = None
    ) -> None:
        c = UNIT.get_case(name)
        b, self.sheaves = belt(UNIT, N_E0=c.N_E0, taper=taper), sheaves(UNIT)
        self.belt = b if offset is None else b._replace(d_align=offset)
        self.values = boundary_at(c, np.array([0.0]), row)[0] if values is None else values
        start = start_state(self.belt, self.sheaves, Boundary(*self.values), c.i_r)
        self.model, self.state, self.revolution = set_out(self.belt, self.sheaves, start)

    def before(self, frames: int) -> hybrid.Frames:
        """Run the hybrid model on."""
        out, done = hybrid.run(self.model, self.state, np.tile(self.values, (frames + 1, 1)), STEPS, n_p=2)
        assert done == frames
        return out

    def across(self, frames: int, **settings: Any) -> tuple[spatial.Frames, spatial.Model]:
        """Lift the state, and run the spatial model."""
        m = spatial.model(UNIT, self.belt, self.sheaves, **settings)
        out, done = spatial.run(m, lift(m, self.state), np.tile(self.values, (frames + 1, 1)), STEPS)
        assert done == frames, done
        return out, m


def alignment(folder: Path) -> None:
    base = Case("MED", 3)
    base.before(1)
    path, b = taut_path(base.state.q_R[None, :, :2], base.belt.d_A), base.belt
    natural = misalignment(path.r_I[0], path.r_O[0], radius_at_one(b.l_R, b.d_A), b.tan_d)
    names = ("force of the sheaves along their axes [N]", "yaw [mrad]", "z of the elements [mm]")
    figure, axes = plt.subplots(len(names), 1, figsize=(8, 9), sharex=True, layout="constrained")
    cells = np.arange(0.0, 4.0 + 1e-9, 1 / 24)
    print("misalignment [mm] wanted, found | axial force at entry, exit of the primary, secondary [N], mean and 99 %")
    print("yaw there [mrad], mean | thrust ratio | losses [W] | least room to pillar, sheave [mm] | residual of losses")
    for wanted in np.linspace(-1.5e-3, 1.5e-3, 7):
        case = Case("MED", 3, wanted - natural)
        case.before(case.revolution)
        out, _ = case.across(2 * case.revolution)
        half = slice(case.revolution, None)
        kept = hybrid.Frames(*(a[half] for a in out.planar))
        sigma = snapshots(case.model, kept, PLOT / STEPS).sigma
        force = out.flank[half, 0, :, 3] - out.flank[half, 1, :, 3]
        values = (force, 1e3 * out.q[half, :, 2], 1e3 * out.q[half, :, 0])
        where = np.digitize(sigma, cells) - 1
        count = np.bincount(where.ravel(), minlength=96)[:96]
        means = [np.bincount(where.ravel(), v.ravel(), minlength=96)[:96] / np.maximum(count, 1) for v in values]
        shown = np.abs(wanted) in (0.0, 1.5e-3) or abs(abs(wanted) - 1.5e-3) < 1e-9 or abs(wanted) < 1e-9
        if shown:
            for axis, mean in zip(axes, means, strict=True):
                axis.plot(cells[:-1] + 1 / 48, mean, label=f"{1e3 * wanted:+.1f} mm")
        ends = [(sigma >= a) & (sigma < a + 0.08) for a in (0.0, 0.92, 2.0, 2.92)]
        forces = " ".join(f"{force[e].mean():7.1f} {np.quantile(np.abs(force[e]), 0.99):6.0f}" for e in ends)
        yaws = " ".join(f"{values[1][e].mean():6.2f}" for e in ends)
        F = kept.pulley[:, :, 1].mean(axis=0)
        rest, losses, _ = hybrid.residual(kept)
        found = out.place[half].mean(axis=0)
        room = 1e3 * out.margin[half].min(axis=(0, 1))
        print(
            f"{1e3 * wanted:5.2f} {1e3 * (found[0] - found[1]):6.3f} | {forces} | {yaws} | {F[0] / F[1]:.4f} | "
            f"{losses / (PLOT * (len(kept.work) - 1)):.1f} | {room[0]:.3f} {room[1]:.3f} | {rest / losses:.1e}",
            flush=True,
        )
    for axis, name in zip(axes, names, strict=True):
        axis.set_ylabel(name)
        axis.grid(alpha=0.3)
    axes[0].legend(title="belt on the primary against the secondary", loc="lower right")
    axes[-1].set_xticks(np.arange(4) + 0.5, SECTIONS)
    for axis in axes:
        for k in range(1, 4):
            axis.axvline(k, color="0.7", lw=0.8)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "alignment.png", dpi=110)


def start(_: Path) -> None:
    print("case, revolutions before | thrust ratio by quarters of a revolution | largest flank, saddle, tension [N]")
    for name, row in (("OD", 0), ("MED", 3), ("LOW", 0)):
        for revolutions in (0, 1, 3):
            case = Case(name, row)
            case.before(1 + revolutions * case.revolution)
            out, _m = case.across(2 * case.revolution)
            flat, quarter = out.planar, case.revolution // 4
            parts = [slice(k * quarter, (k + 1) * quarter) for k in range(8)]
            ratio = " ".join(f"{(flat.pulley[p, 0, 1] / flat.pulley[p, 1, 1]).mean():.3f}" for p in parts)
            peaks = " ".join(
                f"{out.flank[p, :, :, 0].max():.0f}/{out.saddle[p, ..., 0].max():.0f}/{flat.tension[p].max():.0f}"
                for p in parts
            )
            print(f"{name:4s} {revolutions} | {ratio} | {peaks}", flush=True)


def settings(_: Path) -> None:
    case = Case("MED", 3)
    out = case.before(case.revolution)
    F_I, omega_O = out.pulley[-50:, 0, 0].mean(), out.sd[-50:, 1, 3].mean()
    end_stop, press, load = case.values[:2], case.values[2:4], case.values[5:]
    axial = {"I": (*end_stop, *press), "O": (FORCE, F_I, RATE, 0.0), "none": (FORCE, F_I, *press)}
    print(
        "end stop, secondary, revolutions before | F_I/F_O by quarters | speed ratio at the end | largest flank, saddle"
    )
    for stop, forces in axial.items():
        for shaft, given in (("torque", load), ("speed", (SPEED, omega_O)), ("tapered", load)):
            if shaft == "tapered" and stop != "I":
                continue
            for revolutions in (0, 1):
                values, taper = np.array([*forces, case.values[4], *given]), 8e-6 if shaft == "tapered" else None
                one = Case("MED", 3, taper=taper, values=values)
                one.before(1 + revolutions * one.revolution)
                wide, _m = one.across(one.revolution)
                flat, quarter = wide.planar, one.revolution // 4
                parts = [slice(k * quarter, (k + 1) * quarter) for k in range(4)]
                ratio = " ".join(f"{(flat.pulley[p, 0, 0] / flat.pulley[p, 1, 0]).mean():.3f}" for p in parts)
                peaks = " ".join(
                    f"{wide.flank[p, :, :, 0].max():.0f}/{wide.saddle[p, ..., 0].max():.0f}" for p in parts
                )
                speeds = flat.sd[-quarter:, 0, 3].mean() / flat.sd[-quarter:, 1, 3].mean()
                print(f"{stop:4s} {shaft:7s} {revolutions} | {ratio} | {speeds:.4f} | {peaks}", flush=True)


def disturbance(_: Path) -> None:
    noise = np.random.default_rng(1).standard_normal((220, 3)) * [1, 100, 100]
    case = Case("MED", 3)
    case.before(100)
    m = spatial.model(UNIT, case.belt, case.sheaves, mirrored=True)
    x = lift(m, case.state)
    x.q[:, 3:] += 1e-9 * noise
    out, _done = spatial.run(m, x, np.tile(case.values, (101, 1)), STEPS)
    one, two = (hybrid.State(*(a.copy("K") for a in case.state)) for _ in range(2))
    two.q[:] += 1e-9 * noise * [1, 0.01, 1]
    a, b = (hybrid.run(case.model, x, np.tile(case.values, (101, 1)), STEPS, n_p=2)[0] for x in (one, two))
    sigma = snapshots(case.model, out.planar, PLOT / STEPS).sigma
    print(f"time [ms] | RMS of yaw [rad] by section: {', '.join(SECTIONS)} | hybrid model: RMS of a planar difference")
    for k in (0, 1, 3, 9, 19, 39, 59, 99):
        yaw = " ".join(f"{np.sqrt((out.q[k, sigma[k].astype(int) == s, 2] ** 2).mean()):.1e}" for s in range(4))
        flat = " ".join(f"{np.sqrt(((a.q - b.q)[k, sigma[k].astype(int) == s, 2] ** 2).mean()):.1e}" for s in range(4))
        print(f"{0.1 * (k + 1):.1f} | {yaw} | {flat}")


def fastest(m: spatial.Model, q: Array, J: float) -> tuple[float, float]:
    """Fastest modes [rad/s] in the plane and across of a ring set at rest, with the rotatory inertia J [kg m^2] about
    the tangent and the normal."""
    R, L, x = m.ring, m.lateral, np.zeros(6 * m.belt.N_B)
    x[0::6], x[1::6], x[5::6] = q[:, :3].T
    rod = spatial_rod.spatial_rod(
        R.N_B, R.N_B * R.l, strain=(R.EA, R.GA, L.GA), bend=(L.GJ, L.EI, R.EI), rhoA=R.m / R.l,
        rhoI=(J / R.l, J / R.l, R.J / R.l), closed=True, turn=R.turn,
    )  # fmt: skip
    K, M = spatial_rod.stiffness(rod, x).toarray(), spatial_rod.mass_matrix(rod, x)
    found = []
    for part in ([0, 1, 5], [2, 3, 4]):  # not coupled in the plane
        at = (6 * np.arange(R.N_B)[:, None] + part).ravel()
        found.append(float(np.sqrt(eigh(K[np.ix_(at, at)], M[np.ix_(at, at)], eigvals_only=True)[-1])))
    return found[0], found[1]


def rings(_: Path) -> None:
    balanced = cosserat.balanced(belt(UNIT, N_E0=UNIT.get_case("LOW").N_E0))
    settings = schedule.Settings(model="spatial", flank_points=2, before=1.0, scheme="multirate")
    for factor in (1.0, balanced):
        made = prepare(of_ring("cosserat", factor), schedule.Run("LOW", schedule.Case("LOW"), settings, settle=1.0))
        for kind, J in (("own", made.wide.ring.m * UNIT.ring.width**2 / 12.0), ("raised", made.wide.lateral.J)):
            w = np.array(fastest(made.wide, made.state.left.q_R, J))
            print(f"rotatory factor {factor:.0f}, inertia across {kind}: {w} rad/s; explicit steps {2e6 / w} us")
    print("thrust ratio, slip [%], losses, unaccounted [W] | belt's z on primary, secondary [mm], yaw's RMS [mrad]")
    print("axial force of the primary's sheaves on the belt, of the two sheaves at the ends of the arcs [N] | room to")
    print("pillar, sheave, least [mm] | fluctuation of tension [N] | processor time of a step [us], for 0.1 s [s]")
    for name, unit in (("columns", of_ring("rcm", 1.0)), ("rod", of_ring("cosserat", balanced))):
        for seed in (1, 2, 3):
            start = schedule.Case("LOW", seed=seed)
            run = schedule.Run("LOW", start, settings, settle=2.3, plot_step=PLOT, observe=("elements",))
            with tempfile.TemporaryDirectory() as folder:
                did = simulate(unit, run, Path(folder) / "run.h5", unit.text)
                with open_run(Path(folder) / "run.h5") as file:
                    found = across(file)
                    found += [1e6 * did.step, did.step * 0.1 / float(file.attrs["step"])]
            print(name, seed, " ".join(f"{x:.5g}" for x in found), flush=True)


def of_ring(rod: str, factor: float) -> Any:
    """The unit with a kind of ring."""
    ring = UNIT.ring.model_copy(update={"rod": rod, "rotatory_factor": factor})
    return UNIT.model_copy(update={"ring": ring})


def across(file: Any) -> list[float]:
    """Figures of `rings` over the last revolution of a run, but its cost."""
    of = {key: float(values[STEADY]) for key, values in summary(file).items()}
    rows = slice(-round(float(file.attrs["revolution"]) / PLOT), None)
    yaw, flank = file["spatial/angle"][rows][..., 1], file["spatial/flank"][rows]
    primary = file["elements/position"][rows][..., 0] > 0.5 * UNIT.pulleys.d_A
    axial = np.where(primary, flank[:, 0, :, 3] - flank[:, 1, :, 3], 0.0).sum(axis=1).mean()
    return [
        of["thrust_ratio"], 100 * of["slip"], of["loss"], of["unaccounted"],
        *1e3 * file["spatial/place"][rows].mean(axis=0), 1e3 * np.sqrt((yaw**2).mean()),
        axial, *file["spatial/exit_force"][rows].mean(axis=0),
        *1e3 * file["spatial/margin"][rows].min(axis=(0, 1)), file["ring/tension"][rows].std(axis=0).mean(),
    ]  # fmt: skip


if __name__ == "__main__":
    studies = {"alignment": alignment, "start": start, "settings": settings, "disturbance": disturbance, "rings": rings}
    if len(sys.argv) < 2 or sys.argv[1] not in studies:
        sys.exit(__doc__)
    studies[sys.argv[1]](Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent.parent / "docs" / "spatial")
