"""The spatial belt against the hybrid one: runs, and their comparison.

In line. Between mirrored sheaves the spatial belt is the hybrid one: over 300 steps to rounding, over two revolutions
within the hybrid's scatter. The lateral motion is rounding.

Planar phenomena. Cases of the unit with the hybrid belt, with the spatial one, and once more with the hybrid one with
steps 2.5 % smaller ("kicked"): a belt with play is chaotic, and two of its runs part within a revolution. A quantity of
`signatures` has a value in each window of two passages of the belt. With the mean of the spatial run's windows, the
mean of the four windows of the two hybrid runs, and `scatter` the range of the latter,

    agrees    |spatial - hybrid| <= scatter

The six forces are compared by their profiles over the belt coordinate: RMS of the difference over the largest of the
mean, compared with that between the hybrid runs.

Out of line, rings. Operating points, fixed by an end stop, with an assembly offset that puts the belt at a given place;
with ring tracking and without.

All runs start after a revolution of the hybrid belt, with the multirate scheme; one is repeated with the explicit one.
They must balance their energy to 1e-3 of the throughput, those without load, whose throughput is their losses, to
5e-3.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.limits import Limited, failures
from rtcvt.offline.pushbelt.checks.kept import Job, kept, key, made, make_missing, read_steady, step_times
from rtcvt.offline.pushbelt.checks.signatures import QUANTITIES
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import load_torque, prepare, start_of
from rtcvt.offline.pushbelt.run.profiles import FORCES, Steady, force
from rtcvt.offline.pushbelt.run.reading import figures, open_run
from rtcvt.offline.pushbelt.run.schedule import Case, Law, Point, Run, Settings
from rtcvt.offline.pushbelt.run.schedule import Model as Fidelity
from rtcvt.offline.pushbelt.run.snapshots import at_ends
from rtcvt.offline.pushbelt.run.windows import STEADY as LAST
from rtcvt.offline.pushbelt.run.windows import frames_of
from rtcvt.offline.pushbelt.spatial import model as spatial
from rtcvt.offline.pushbelt.spatial.start import lift
from rtcvt.offline.pushbelt.unit.kinematics import misalignment, radius_at_one
from rtcvt.offline.pushbelt.unit.load import Damper
from rtcvt.offline.pushbelt.unit.parameters import Parameters, belt, sheaves

Array = NDArray[np.float64]

PLOT, STEPS, FRAMES = 1e-4, 42, 48  # plot step [s] and its steps under a case, frames of a revolution at a point
EXPLICIT = 100  # steps of a plot step in short runs
BEFORE, TURNS = 1.0, 4.1  # revolutions of the hybrid belt, and then of the spatial one under a case
SETTLE, MEAN = 4.0, 1.0  # at a point
PLANAR: dict[str, tuple[str, int, float, Law, str]] = {  # name: case, row, taper [m], law, what it is about
    "OD": ("OD", 0, 0.0, "coupled", "overdrive without load"),
    "MED": ("MED", 3, 0.0, "coupled", "ratio 1 under load"),
    "LOW": ("LOW", 0, 0.0, "coupled", "underdrive"),
    "OD-taper": ("OD", 0, 8e-6, "coupled", "elements with a taper of 8 um"),
    "OD-decoupled": ("OD", 0, 0.0, "decoupled", "sheaves that yield under each element alone"),
    "OD-SpiRun": ("OD-SpiRun", 2, 0.0, "coupled", "spiral running"),
}
IN_LINE = ("OD", "MED", "LOW")
RATIOS = (0.5, 1.0, 2.3)
OFFSETS = (-1.5e-3, -0.75e-3, 0.0, 0.75e-3, 1.5e-3)  # of the belt on the primary against the secondary [m]
POINT = {"omega_I": 260.0, "xi": 0.5, "F_O": 12e3}
LOAD = Damper(kind="damper")  # of a unit without one, as in the plans of campaigns
ENDS = ("entry of primary", "exit of primary", "entry of secondary", "exit of secondary")
LOADED_ENERGY = 1e-3  # of the throughput, of belts that carry more than twice their losses
IDLE_ENERGY = 5e-3  # of the throughput of others, which is little more than their losses
POSITION_ATOL = 1e-9  # m or rad: positions in line after 300 steps


@dataclass(frozen=True)
class Trial:
    """A run; offset [m] of the belt that is wanted (None: as the unit has it), ring tracking."""

    name: str
    run: Run
    offset: float | None = None
    tracked: bool = True

    @property
    def weight(self) -> float:
        """Its cost, roughly, in revolutions of the hybrid belt."""
        s = self.run.settings
        return s.before + self.run.settle * (1.0 if s.model == "hybrid" else 3.6)


class Across(NamedTuple):
    """Lateral quantities of an operating point, means over its last revolution.

    place [m] of the belt on the primary against the secondary; force (4,), peak (4,) [N]: axial on the two flanks of an
    element at `ENDS`, mean and 99 %; yaw (4,) [rad] there; thrust ratio; loss [W]; efficiency; room (2, 2) [m]: by
    side, least, to pillar and to sheave; by side (2,) [N]: pillar, largest; hold, largest of tracking; press, mean of
    the saddles; rub, RMS of friction along; cells (3, 96): force [N], yaw [rad] and z [m] along the belt.
    """

    place: float
    force: Array
    peak: Array
    yaw: Array
    thrust: float
    loss: float
    efficiency: float
    room: Array
    pillar: Array
    hold: Array
    press: Array
    rub: Array
    cells: Array


class Phenomenon(NamedTuple):
    """A planar quantity: hybrid, spatial, range of the hybrid's windows."""

    group: str
    quantity: str
    unit: str
    hybrid: float
    spatial: float
    scatter: float

    @property
    def verdict(self) -> str:
        """Whether the difference is within the scatter."""
        if not np.isfinite([self.hybrid, self.spatial, self.scatter]).all():
            return "not resolved"
        return "agrees" if abs(self.spatial - self.hybrid) <= self.scatter else "differs"


@dataclass(frozen=True)
class Result:
    """All runs and their results.

    steady: by run of a case; across: by run of a point; energy: residual over throughput by run, and whether it
    carries a load; failed: runs without a result, and why; equal: largest difference in line after 300 steps by case
    [m, rad]; growth: times [s] and RMS of yaw [rad] after a small disturbance; cost: us of a step by model.
    """

    parameters: Parameters
    steady: Mapping[str, Steady]
    across: Mapping[str, Across]
    energy: Mapping[str, tuple[float, bool]]
    failed: Mapping[str, str]
    equal: Mapping[str, float]
    growth: Mapping[str, list[float]]
    cost: Mapping[str, float]

    @property
    def phenomena(self) -> tuple[Phenomenon, ...]:
        """Planar quantities of all cases, between mirrored sheaves and crosswise ones."""
        return tuple(
            p for suffix in ("mirrored", "spatial") for name in PLANAR for p in _phenomena(self.steady, name, suffix)
        )

    def profiles(self, name: str, suffix: str) -> dict[str, tuple[float, float]]:
        """Of each contact force: difference of the spatial belt's profile, and of the hybrid's among themselves."""
        runs = [f"{name}-{s}" for s in ("hybrid", "kicked", suffix)]
        if not all(r in self.steady for r in runs):
            return {}
        one, two, wide = (self.steady[r] for r in runs)
        return {name: (_apart(name, (one, two), (wide,)), _apart(name, (one,), (two,))) for name in FORCES}

    @property
    def claims(self) -> tuple[Limited, ...]:
        """Limits of quantities that are not planar: first those that fail the check, then those that are reported."""
        found = [
            Limited("in line", f"{name}: difference from the hybrid belt after 300 steps", "m, rad", d, POSITION_ATOL)
            for name, d in self.equal.items()
        ]
        found += [
            Limited("energy", name, "of the throughput", abs(e), LOADED_ENERGY if loaded else IDLE_ENERGY)
            for name, (e, loaded) in self.energy.items()
        ]

        def reported(name: str, value: float, limit: float, unit: str) -> None:
            found.append(Limited("", name, unit, value, limit, needed=False))

        if self.growth:
            yaw = self.growth["yaw"]
            reported("a small disturbance across the plane dies out: yaw", yaw[-1], yaw[0], "rad")
        held = [a for name, a in self.across.items() if "free" not in name]
        if held:
            most = max(float(a.pillar.max()) for a in held)
            reported("tracking keeps the rings off the pillars: force there", most, 0.0, "N")
            least = min(float(a.room[:, 1].min()) for a in held)
            reported("tracking keeps the rings off the sheaves: overlap", -least, 0.0, "m")
        if {"hybrid", "spatial"} <= set(self.cost):
            ratio = self.cost["spatial"] / self.cost["hybrid"]
            reported("cost of a step over the hybrid's", ratio, 3.0, "1")
            reported("cost of a step", self.cost["spatial"], 45.0, "us")
            counts = {220: "spatial", 110: "spatial, 110 elements", 432: "spatial, 432 elements"}
            x, y = np.log(list(counts)), np.log([self.cost[k] for k in counts.values()])
            reported("exponent of the cost in N_E", float(np.polyfit(x, y, 1)[0]), 1.1, "1")
        return tuple(found)

    @property
    def failures(self) -> tuple[str, ...]:
        """Violated requirements of runs."""
        lost = [f"{name}: {why}" for name, why in self.failed.items()]
        return (*lost, *failures(self.claims))

    def figures(self) -> dict[str, Any]:
        """Everything in numbers, ready for JSON: see the command's help for the keys."""
        return {
            "unit": self.parameters.name,
            "failures": list(self.failures),
            "claims": [
                {key: getattr(c, key) for key in ("about", "value", "limit", "unit", "needed", "holds")}
                for c in self.claims
            ],
            "phenomena": [p._asdict() | {"verdict": p.verdict} for p in self.phenomena],
            "profiles": {f"{n}-{s}": self.profiles(n, s) for n in PLANAR for s in ("mirrored", "spatial")},
            "across": {
                name: {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in a._asdict().items()}
                for name, a in self.across.items()
            },
            "energy": {name: e for name, (e, _) in self.energy.items()},
            "growth": dict(self.growth),
            "step_us": dict(self.cost),
        }


# --- runs


def trials(parameters: Parameters) -> Iterator[Trial]:
    """The runs of the check."""
    known = {c.name for c in parameters.case}
    for name, (case, row, taper, law, _) in PLANAR.items():
        if case not in known:
            continue
        models: dict[str, tuple[Fidelity, float]] = {"hybrid": ("hybrid", 1.0), "kicked": ("hybrid", 1.025)}
        models |= {"mirrored": ("mirrored", 1.0)} if name in IN_LINE else {}
        for suffix, (model, finer) in {**models, "spatial": ("spatial", 1.0)}.items():
            before = 0.0 if model == "hybrid" else BEFORE
            s = Settings(taper=taper or None, law=law, model=model, before=before, flank_points=2, scheme="multirate",
                         step=PLOT / round(STEPS * finer))  # fmt: skip
            settle = TURNS + BEFORE - before
            run = Run(
                f"{name}-{suffix}", Case(case, row), s, settle=settle, plot_step=PLOT, observe=("fields", "profiles")
            )
            yield Trial(run.name, run)
    for ratio in RATIOS:
        yield from (_trial(parameters, ratio, offset) for offset in OFFSETS)
        yield from (_trial(parameters, ratio, offset, tracked=False) for offset in (None, OFFSETS[-1]))
    yield _trial(parameters, 1.0, OFFSETS[-1], explicit=True)


def _trial(p: Parameters, ratio: float, offset: float | None, tracked: bool = True, explicit: bool = False) -> Trial:
    b, at = belt(p), Point(ratio, **POINT)
    geometry = start_of(b, sheaves(p), at)[0].steady.geometry
    load = (p.load or LOAD).at(p.pulleys.J, load_torque(b, 1.0, at.F_O, geometry.r_O), at.omega_I / ratio)
    scheme: dict[str, Any] = {"step": 1e-6} if explicit else {"step": PLOT / STEPS, "scheme": "multirate"}
    s = Settings(model="spatial", before=BEFORE, flank_points=2, load=load, **scheme)
    where = "natural" if offset is None else f"{1e3 * offset:+.2f}mm"
    name = f"{ratio:g}-{where}" + ("" if tracked else "-free") + ("-explicit" if explicit else "")
    observe = ("elements", "fields")
    return Trial(name, Run(name, at, s, settle=SETTLE, mean=MEAN, frames=FRAMES, observe=observe), offset, tracked)


def _unit(p: Parameters, trial: Trial) -> Parameters:
    """The unit with the offset and the tracking of a trial."""
    if trial.offset is not None:
        b = belt(p)
        assert isinstance(trial.run.start, Point)
        g = start_of(b, sheaves(p), trial.run.start)[0].steady.geometry
        wanted = trial.offset - misalignment(g.r_I, g.r_O, radius_at_one(b.l_R, b.d_A), b.tan_d)
        p = p.model_copy(update={"pulleys": p.pulleys.model_copy(update={"alignment_offset": wanted})})
    if not trial.tracked:
        assert p.spatial is not None
        p = p.model_copy(update={"spatial": p.spatial.model_copy(update={"tracking": (0.0, 0.0)})})
    return p


def verify(
    parameters: Parameters,
    folder: Path,
    chosen: Callable[[Trial], bool] = lambda trial: True,
    processes: int = 2,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Make all runs that are missing in `folder`, and evaluate them.

    Parameters
    ----------
    parameters : Parameters
        A pushbelt unit with a table `spatial`.
    folder : Path
        Folder with one HDF5 file per run, named after the run and all that determines it; made if needed.
    chosen : callable, optional
        Filter of the runs.
    processes : int
        Runs at a time.
    progress : callable, optional
        Called with (name of the run, work done, work in all).

    Raises
    ------
    InputError
        The unit has no table `spatial`.
    """
    if parameters.spatial is None:
        raise InputError(parameters.source, "spatial", None, "a table with the data of the spatial model")
    folder.mkdir(parents=True, exist_ok=True)
    found = [t for t in trials(parameters) if chosen(t)]
    files = {t.name: folder / f"{t.name}-{key(t, parameters.model_dump_json())}.h5" for t in found}
    jobs = [Job(t.name, t.name, files[t.name], t.weight, (parameters, t, files[t.name])) for t in found]
    failed = make_missing(jobs, _make, processes, progress)
    ended = [t for t in found if t.name not in failed]
    energy = {}
    for t in ended:
        with open_run(files[t.name]) as file:
            rest = figures(file)
        through, lost = (float(rest[f"residual_of_{of}"]) for of in ("throughput", "losses"))
        energy[t.name] = through, abs(lost) > 2.0 * abs(through)
    steady = {t.name: read_steady(files[t.name]) for t in ended if isinstance(t.run.start, Case)}
    across = {t.name: _across(files[t.name]) for t in ended if isinstance(t.run.start, Point)}
    sizes = {"spatial", "hybrid"} & {t.run.settings.model for t in found}
    equal, growth, cost = _short(parameters, folder, progress) if len(sizes) == 2 else ({}, {}, {})
    return Result(parameters, steady, across, energy, failed, equal, growth, cost)


def _make(parameters: Parameters, trial: Trial, file: Path) -> str:
    """Do a run; why there is no result, if so."""
    return made(_unit(parameters, trial), trial.run, file)


# --- results of runs


def _phenomena(steady: Mapping[str, Steady], name: str, suffix: str) -> list[Phenomenon]:
    runs = [f"{name}-{s}" for s in ("hybrid", "kicked", suffix)]
    if not all(r in steady for r in runs):
        return []
    flat = [w for r in runs[:2] for w in (steady[r].before, steady[r].last)]
    wide = [steady[runs[2]].before, steady[runs[2]].last]
    found = []
    for quantity, (function, unit) in QUANTITIES.items():
        values = [function(w) for w in flat]
        mean = float(np.mean([function(w) for w in wide]))
        row = Phenomenon(f"{name}-{suffix}", quantity, unit, float(np.mean(values)), mean, float(np.ptp(values)))
        found.append(row)
    return found


def mean_profile(name: str, of: tuple[Steady, ...]) -> Array:
    """Mean profile of one of `profiles.FORCES` over both windows of some runs, (4 BINS,) [N]."""
    return np.asarray(np.mean([force(name, w.profile) for s in of for w in (s.before, s.last)], axis=0))


def _apart(name: str, one: tuple[Steady, ...], two: tuple[Steady, ...]) -> float:
    """RMS difference of the mean profiles of two sets of runs over the largest value of the first."""
    a, b = mean_profile(name, one), mean_profile(name, two)
    return float(np.sqrt(np.nanmean((a - b) ** 2)) / np.nanmax(np.abs(a)))


def _across(path: Path) -> Across:
    with open_run(path) as file:
        rows = frames_of(file, LAST)
        flank, saddle = file["spatial/flank"][rows], file["spatial/saddle"][rows].astype(float)
        sigma, found = file["elements/sigma"][rows], figures(file)
        yaw, z = file["spatial/angle"][rows][..., 1], file["spatial/position"][rows]
        margin = file["spatial/margin"][rows]
        s = dict(zip(file["summary"].attrs["columns"], file["summary"][LAST], strict=True))
    force = flank[:, 0, :, 3].astype(float) - flank[:, 1, :, 3]
    ends = at_ends(sigma)
    where = np.clip((sigma * 24).astype(int), 0, 95).ravel()
    count = np.maximum(np.bincount(where, minlength=96), 1)
    cells = np.array([np.bincount(where, v.ravel(), minlength=96) / count for v in (force, yaw, z)])
    M, omega = np.array([s["M_I"], s["M_O"]]), np.array([s["omega_I"], s["omega_O"]])
    power = np.abs(M * omega)
    return Across(
        place=float(found["misalignment_m"]),
        force=np.array([force[e].mean() for e in ends]),
        peak=np.array([np.quantile(np.abs(force[e]), 0.99) for e in ends]),
        yaw=np.array([yaw[e].mean() for e in ends]),
        thrust=float(s["thrust_ratio"]),
        loss=float(s["loss"]),
        efficiency=float(power.min() / power.max()),
        room=margin.min(axis=0),
        pillar=saddle[..., 4].max(axis=(0, 2)),
        hold=np.abs(saddle[..., 5]).max(axis=(0, 2)),
        press=saddle[..., 0].mean(axis=(0, 2)),
        rub=np.sqrt((saddle[..., 2] ** 2).mean(axis=(0, 2))),
        cells=cells,
    )


# --- results of short runs


def _short(
    parameters: Parameters, folder: Path, progress: Callable[[str, int, int], None] | None
) -> tuple[dict[str, float], dict[str, list[float]], dict[str, float]]:
    """In line over 300 steps, a disturbance over 10 ms, cost of a step; kept in ``short-KEY.json``."""
    cases = [name for name in IN_LINE if name in {c.name for c in parameters.case}]
    if progress is not None:
        progress("short runs", 0, 1)

    def found_new() -> dict[str, Any]:
        return {
            "equal": {name: _in_line(parameters, name) for name in cases},
            "growth": _disturbed(parameters, cases[-1]) if cases else {},
            "cost": _cost(parameters, "MED") if "MED" in cases else {},
        }

    name = key(*map(_planar, cases), parameters.model_dump_json())
    found = kept(folder / f"short-{name}.json", "figures of short runs", found_new)
    return found["equal"], found["growth"], found["cost"]


_PAIR: tuple[Fidelity, Fidelity] = ("mirrored", "hybrid")


def _planar(name: str, model: Fidelity = "mirrored", N_E: int | None = None, steps: int = EXPLICIT) -> Trial:
    case, row, _, _, _ = PLANAR[name]
    chosen = Settings(N_E=N_E, model=model, flank_points=2, step=PLOT / steps)
    return Trial(name, Run(name, Case(case, row), chosen, settle=0.5, plot_step=PLOT))


def _beside(parameters: Parameters, name: str) -> tuple[Any, Any, Any]:
    """Prepared runs of the mirrored and the hybrid belt, and a state of the latter after 2 ms."""
    found: list[Any] = [prepare(parameters, _planar(name, model).run) for model in _PAIR]
    wide, flat = found
    hybrid.run(flat.model, flat.state, flat.inputs[:21], EXPLICIT, n_p=2)
    return wide, flat, flat.state


def _in_line(parameters: Parameters, name: str) -> float:
    """Largest difference of a position or angle after 300 steps, mirrored from hybrid."""
    wide, flat, x = _beside(parameters, name)
    y = lift(wide.wide, x)
    one, _ = hybrid.run(flat.model, x, flat.inputs[:4], EXPLICIT, n_p=2)
    two, _ = spatial.run(wide.wide, y, wide.inputs[:4], EXPLICIT)
    return float(max(np.abs(two.planar.q - one.q).max(), np.abs(two.planar.q_R - one.q_R).max(), np.abs(two.q).max()))


def _disturbed(parameters: Parameters, name: str) -> dict[str, list[float]]:
    """RMS of yaw [rad] after 1e-9 m and 1e-7 rad across the plane."""
    wide, _, x = _beside(parameters, name)
    y = lift(wide.wide, x)
    y.q[:, 3:] += 1e-9 * np.random.default_rng(1).standard_normal((len(y.q), 3)) * [1, 100, 100]
    out, _ = spatial.run(wide.wide, y, wide.inputs[:101], EXPLICIT)
    shown = (0, 2, 9, 19, 49, 99)
    return {
        "time": [PLOT * (k + 1) for k in shown],
        "yaw": [float(np.sqrt(np.mean(out.q[k, :, 2] ** 2))) for k in shown],
    }


def _cost(parameters: Parameters, name: str) -> dict[str, float]:
    """Processor time of a step [us], in turn, the smallest of seven over ten plot steps."""
    cases = {
        "hybrid": _planar(name, "hybrid"),
        "spatial": _planar(name, "spatial"),
        "spatial, 110 elements": _planar(name, "spatial", 110),
        "spatial, 432 elements": _planar(name, "spatial", 432, 2 * EXPLICIT),
    }
    times = step_times(parameters, {name: trial.run for name, trial in cases.items()}, 10)
    return {name: min(us) for name, us in times.items()}
