"""One run of a campaign: the full pushbelt model at an operating point, and what follows from there.

Operating point. With the radii r' at the rocking edges, where speeds and torques compare, and M_O the load torque,

    i = r'_O/r'_I,    xi = M_O cos(delta_0)/(2 mu F_O r'_O),    kappa = m* v^2/F_O.

Settling. The end stop holds the primary's groove, F_O, omega_I and M_O are given. The force of the end stop, averaged
over the last revolutions, is the clamping force F_I,eq that holds the ratio: the thrust ratio is F_I,eq/F_O. Where the
push force changes strands the belt has more than one settled state: a run may approach its own from another load, which
acts for `HELD` revolutions and goes over to that of the run until `APPROACH`.

Damper. Under a load that is given alone, belt and secondary vibrate against each other in many states, with a slip of
its own each time. A viscous damper on the shaft of the secondary (`sheave`) keeps them steady, in all phases.

Branches. The end stop is taken away. Each branch starts from the settled state and goes within its ramp to the forces
y_I F_I,eq and y_O F_O and to the load of xi, and stays there. An operating point has a branch for each of several
y_I, which give the shift rate

    x = (dr_I/dt)/(omega_I r_I)

over y_I at one operating point; a transient has one long branch. A branch that brings the ratio to its limits ends, and
so does a phase whose slip runs away, without branches if it is the settling.

Windows. A run is averaged over windows: `before` and `steady`, the last two equally long ones of the settling, and for
each branch the part behind its lead, in which the belt takes up the new state. Works are sums over the frames of a
window, forces and torques means of means, r_I and the apex have their slope by least squares.

Step. At most `step`, a whole part of a frame.

File. Attributes: `schema_version`, `kind`, `rtcvt_version`, `revision`, `created`, `unit`, ``run``: the `Run` as JSON,
``parameters``: the scaled belt and sheaves as JSON, ``scheme``, ``step`` and ``plot_step`` [s], ``revolution`` [s], the
time of one at the start, ``slipping``: in a window, or away. ``unit_file`` and ``plan`` hold the texts. Per frame:
``time``, ``phase`` (0 settling, then the branches, whose times continue that of the settling), ``crossings``,
``inputs``, the datasets of `runs.DATASETS` for sheaves, pulleys, energies and contacts, in a run with ``elements`` also
those for elements and ring, ``grid/length``, ``grid/radius`` and ``fields/NAME``. ``ended`` has per phase how it ended,
`ENDS`. Per window: ``window/first``, ``window/behind`` (frames), ``window/phase``, ``summary`` with `SUMMARY`, and
``mean/NAME``, the means of the fields. A file is written once, when its run has ended.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from offline.pushbelt import hybrid
from offline.pushbelt.hybrid import Frames, Model, State
from offline.pushbelt.initial import Start, start_state
from offline.pushbelt.parameters import FORCE, RATE, TORQUE, Belt, Boundary, Parameters, Sheaves, belt, sheaves
from offline.pushbelt.runs import DATASETS, STEPPED, Scheme
from offline.pushbelt.sheave import Damper
from offline.pushbelt.snapshots import CELLS, FIELDS, SECTIONS, Snapshots, snapshots
from offline.pushbelt.steady import passages
from rtcvt import __version__
from rtcvt.errors import InputError
from rtcvt.recording import replaced_on_success, revision

__all__ = [
    "BEFORE",
    "COMPLETE",
    "ENDS",
    "LEFT",
    "LIMIT",
    "RUNAWAY",
    "SLIPPING",
    "STEADY",
    "SUMMARY",
    "Branch",
    "Run",
    "compile_steps",
    "frames_of",
    "load_torque",
    "open_run",
    "run_of",
    "simulate",
    "start_of",
    "steps_of",
    "summary",
]

Array = NDArray[np.float64]

SCHEMA_VERSION = 1
KIND = "variator campaign run"
BEFORE, STEADY = 0, 1  # rows of the windows; branch k has row 1 + k
COMPLETE, LIMIT, LEFT, RUNAWAY = 0, 1, 2, 3
ENDS = ("complete", "limit of the ratio", "belt left its place", "slip ran away")
SLIPPING = 0.1  # speed loss: macroscopic slip ...
HELD, APPROACH = 2.0, 3.0  # revolutions
LOST = 1.0  # ... that has run away: the secondary stands still, or is twice as fast as it should


@dataclass(frozen=True)
class Branch:
    """What follows the settled state.

    y_I, y_O: clamping forces as multiples of F_I,eq and F_O; xi: load torque as a multiple of what F_O of the settled
    state can carry; ramp, lead, duration: of the change, of what no mean contains, in all [revolutions].
    """

    y_I: float
    y_O: float
    xi: float
    ramp: float
    lead: float
    duration: float


@dataclass(frozen=True)
class Run:
    """One run. Radii of `ratio` are at the rocking edges.

    omega_I [rad/s], F_O [N]; settle, mean: revolutions until the branches, and of a window; limits of the ratio;
    frames per revolution; scheme: `runs.Scheme`; step [s] bounds the step, longest [s] the branches; elements: keep
    elements and ring; N_E, N_B: None for the unit's; begin: xi from which the load comes, for xi other than 0, None: xi
    itself; damper: d_V [N m s/rad] and J_V [kg m2] on the shaft of the secondary, None: without.
    """

    name: str
    ratio: float
    omega_I: float
    xi: float
    F_O: float
    settle: float
    mean: float
    branches: tuple[Branch, ...]
    limits: tuple[float, float]
    frames: int
    step: float
    longest: float | None = None
    elements: bool = False
    N_E: int | None = None
    N_B: int | None = None
    begin: float | None = None
    damper: tuple[float, float] | None = None
    scheme: Scheme = "multirate"


class Plot(NamedTuple):
    """Time of a revolution at the start [s], step and plot step [s], steps of a plot step, longest branch [s]."""

    revolution: float
    step: float
    plot_step: float
    steps: int
    longest: float | None

    def frames(self, revolutions: float) -> int:
        """Frames in so many revolutions."""
        return max(1, round(revolutions * self.revolution / self.plot_step))

    def frames_in(self, branch: Branch) -> int:
        """Frames of a branch."""
        n = self.frames(branch.duration)
        return n if self.longest is None else max(1, min(n, int(self.longest / self.plot_step)))


class Part(NamedTuple):
    """Frames of one phase with their inputs (n, 7), and how it ended; fields on the grid."""

    frames: Frames
    seen: Snapshots
    inputs: Array
    ended: int


_EACH = slice(None)
_LOSS = {
    "loss_element_element_damping": "element-element damping",
    "loss_element_ring_damping": "element-ring damping",
    "loss_element_ring_friction": "element-ring friction",
    "loss_flank_longitudinal": "flank longitudinal friction",
    "loss_flank_radial": "flank radial friction",
    "loss_flank_damping": "flank damping",
    "loss_ring_axial": "ring axial damping",
    "loss_ring_bending": "ring bending damping",
    "loss_sheave_axial": "sheave axial damping",
    "loss_sheave_tilt": "sheave tilt damping",
}
SUMMARY: dict[str, tuple[str, str]] = {  # unit and description; means over a window
    "duration": ("s", "of the window"),
    "y": ("1", "clamping force of the primary as a multiple of F_I,eq"),
    "ratio": ("1", "i, of the radii at the rocking edges"),
    "r_I": ("m", "radius of the neutral fibre, primary"),
    "r_O": ("m", "radius of the neutral fibre, secondary"),
    "v": ("m/s", "speed of the elements: crossings of the push span times thickness at the rocking edge"),
    "omega_I": ("rad/s", "speed of the primary"),
    "omega_O": ("rad/s", "speed of the secondary"),
    "F_I": ("N", "clamping force of the primary, or force of its end stop"),
    "F_O": ("N", "clamping force of the secondary"),
    "M_I": ("N.m", "belt on the primary"),
    "M_O": ("N.m", "belt on the secondary"),
    "thrust_ratio": ("1", "F_I/F_O"),
    "xi": ("1", "torque ratio, of the belt's torque on the secondary and F_O"),
    "xi_I": ("1", "torque ratio of the primary: belt's torque there, driving +, and F_I"),
    "kappa": ("1", "m* v^2/F_O"),
    "slip": ("1", "speed loss 1 - i omega_O/omega_I"),
    "x": ("1", "shift rate (dr_I/dt)/(omega_I r_I), of the neutral fibre"),
    "x_apex": ("1", "shift rate of the primary's sheaves, -(dz_I/dt)/(tan(delta_0) omega_I r_I)"),
    "x_O": ("1", "(dr_O/dt)/(omega_I r_I), of the neutral fibre"),
    "P_I": ("W", "power into the primary shaft"),
    "P_O": ("W", "power into the secondary shaft"),
    "P_axial_I": ("W", "power of the primary's clamping force or end stop"),
    "P_axial_O": ("W", "power of the secondary's clamping force"),
    "P_stored": ("W", "growth of the stored energies"),
    "loss": ("W", "all losses"),
    **{name: ("W", kind) for name, kind in _LOSS.items()},
    "unaccounted": ("W", "inputs - losses - growth of the stored energies: error of the scheme"),
}


def start_of(b: Belt, s: Sheaves, run: Run) -> tuple[Start, float]:
    """Start of a run, under the load that it begins with, and its load torque [N m].

    Raises
    ------
    InputError
        The belt cannot take this ratio, or would run off the sheaves.
    """
    unloaded = start_state(b, s, Boundary(RATE, 0.0, FORCE, run.F_O, run.omega_I, TORQUE, 0.0), run.ratio, b.h_off)
    M_O, begin = (
        load_torque(b, xi, run.F_O, unloaded.steady.geometry.r_O)
        for xi in (run.xi, run.xi if run.begin is None else run.begin)
    )
    return start_state(b, s, Boundary(RATE, 0.0, FORCE, run.F_O, run.omega_I, TORQUE, begin), run.ratio, b.h_off), M_O


def load_torque(b: Belt, xi: float, F_O: float, r_O: float) -> float:
    """Load torque [N m] of the torque ratio xi at the radius `r_O` of the neutral fibre."""
    return 2.0 * xi * b.mu * F_O * (r_O - b.h_off) / b.cos_d


def steps_of(b: Belt, run: Run, start: Start) -> tuple[Plot, int]:
    """Step and plot step of a run, and how many steps it has."""
    v = float(np.mean(np.hypot(start.u[:, 0], start.u[:, 1])))
    revolution = b.N_E * b.t_R / v
    plot_step = revolution / run.frames
    steps = int(np.ceil(plot_step / run.step))
    plot = Plot(revolution, plot_step / steps, plot_step, steps, run.longest)
    frames = plot.frames(run.settle) + sum(plot.frames_in(k) for k in run.branches)
    return plot, steps * frames


def simulate(parameters: Parameters, run: Run, path: Path, text: str, plan: str = "", F_I: float | None = None) -> None:
    """Do a run and write its file.

    Parameters
    ----------
    text, plan : str
        Of the unit file and of the plan, which the file keeps.
    F_I : float, optional
        What the branches multiply [N], by default F_I,eq.

    Raises
    ------
    InputError
        The operating point cannot be, see `start_of`, or the file cannot be written.
    RuntimeError
        The belt left its place before it settled.
    """
    m, x, plot, M_O = _begin(parameters, run)
    held = _held(run, M_O, plot.frames(run.settle))
    if run.begin is not None:
        way = np.arange(len(held)) / run.frames
        held[:, 6] *= np.interp(way, (HELD, APPROACH), (run.begin / run.xi, 1.0))
    settled = _advance(m, x, held, plot, run)
    if settled.ended == LEFT:
        raise RuntimeError(f"the belt left its place after {len(settled.inputs) * plot.plot_step:.4g} s of settling")
    if F_I is None:
        F_I = float(settled.frames.pulley[-plot.frames(run.mean) :, 0, 1].mean())
    parts = [settled]
    for branch in run.branches:
        inputs = _inputs(branch, run, plot, F_I, M_O)[: 1 if settled.ended == RUNAWAY else None]
        parts.append(_advance(m, State(*(a.copy("K") for a in x)), inputs, plot, run))
    _write(path, parameters, run, m, plot, parts, F_I, text, plan)


def compile_steps(parameters: Parameters, run: Run) -> None:
    """Have the machine code of the steps on disk before processes start that would each make it."""
    m, x, plot, M_O = _begin(parameters, run)
    _advance(m, x, _held(run, M_O, 1), plot, run)


def _begin(parameters: Parameters, run: Run) -> tuple[Model, State, Plot, float]:
    """Model and state at the start of a run, its steps, and its load torque [N m]."""
    b, s = belt(parameters, N_E=run.N_E, N_B=run.N_B), sheaves(parameters)
    start, M_O = start_of(b, s, run)
    m = hybrid.model(b, s, damper=None if run.damper is None else Damper(*run.damper))
    return m, hybrid.state(*start[:7], n_k=len(s.A) - 1), steps_of(b, run, start)[0], M_O


def _held(run: Run, M_O: float, frames: int) -> Array:
    """Boundary values while the end stop holds the ratio."""
    return np.tile([RATE, 0.0, FORCE, run.F_O, run.omega_I, TORQUE, M_O], (frames + 1, 1))


def _inputs(branch: Branch, run: Run, plot: Plot, F_I: float, M_O: float) -> Array:
    """Boundary values of a branch at its start and its plot steps."""
    n = plot.frames_in(branch)
    time: Array = np.arange(n + 1.0) * plot.plot_step / plot.revolution
    part = np.minimum(time / branch.ramp, 1.0) if branch.ramp > 0.0 else np.ones(n + 1)
    b = np.tile([FORCE, F_I, FORCE, run.F_O, run.omega_I, TORQUE, M_O], (n + 1, 1))
    b[:, 1] *= 1.0 + part * (branch.y_I - 1.0)
    b[:, 3] *= 1.0 + part * (branch.y_O - 1.0)
    if run.xi != 0.0:
        b[:, 6] *= 1.0 + part * (branch.xi / run.xi - 1.0)
    return b


def _advance(m: Model, x: State, inputs: Array, plot: Plot, run: Run) -> Part:
    """Run one phase, a revolution at a time."""
    n = len(inputs) - 1
    frames: list[Frames] = []
    seen: list[Snapshots] = []
    done, ended = 0, COMPLETE if n > 0 else RUNAWAY
    while done < n and ended == COMPLETE:
        stop = min(done + run.frames, n)
        out, valid = STEPPED[run.scheme](m, x, inputs[done : stop + 1], plot.steps, plot.step)
        if valid < stop - done:
            ended = LEFT
        if valid > 0:
            kept: Any = [a[:valid] for a in out]
            frames.append(Frames(*kept))
            seen.append(snapshots(m, frames[-1], plot.step))
            ratio = float(_ratio(m.belt, seen[-1].radius[-1:])[0])
            omega = frames[-1].sd[-1, :, 3]
            if ended == COMPLETE and not run.limits[0] < ratio < run.limits[1]:
                ended = LIMIT
            if ended == COMPLETE and abs(1.0 - ratio * omega[1] / omega[0]) > LOST:
                ended = RUNAWAY
        done += valid
    if not frames:
        frames, seen = [hybrid.frames(m, 0)], [_nothing(m)]
    together: Any = [np.concatenate(a) for a in zip(*frames, strict=True)]
    if not run.elements:
        together = [a if k not in _HEAVY else a[:, :0] for k, a in zip(Frames._fields, together, strict=True)]
    sigma, radius, length = (np.concatenate([s[k] for s in seen]) for k in range(3))
    fields: Any = {k: np.concatenate([s.fields[k] for s in seen]).astype(np.float32) for k in FIELDS}
    return Part(Frames(*together), Snapshots(sigma, radius, length, fields), inputs[1 : done + 1], ended)


_HEAVY = ("q", "u", "q_R", "u_R", "s_R", "joint", "saddle", "flank", "tension")  # of Frames: elements and ring


def _nothing(m: Model) -> Snapshots:
    empty = np.empty((0, 4 * CELLS))
    return Snapshots(np.empty((0, m.belt.N_E)), np.empty((0, 2)), np.empty((0, 4)), dict.fromkeys(FIELDS, empty))


def _ratio(b: Belt, radius: Array) -> Array:
    return np.asarray((radius[:, 1] - b.h_off) / (radius[:, 0] - b.h_off))


# --- windows


def _windows(run: Run, plot: Plot, parts: list[Part]) -> list[tuple[int, slice]]:
    """Phase and frames within the phase of each window; empty where a branch ended too early."""
    n, mean = len(parts[0].inputs), plot.frames(run.mean)
    found = [(0, slice(max(0, n - 2 * mean), max(0, n - mean))), (0, slice(max(0, n - mean), n))]
    for k, branch in enumerate(run.branches):
        found.append((k + 1, slice(plot.frames(branch.lead), len(parts[k + 1].inputs))))
    return found


def _summary(m: Model, plot: Plot, part: Part, rows: slice, F_I: float) -> dict[str, float]:
    """`SUMMARY` over a window; NaN if it has no more than four frames."""
    b = m.belt
    n = rows.stop - rows.start
    if n <= 4 or rows.start < 1:
        return dict.fromkeys(SUMMARY, np.nan)
    f, span = part.frames, n * plot.plot_step
    time: Array = np.arange(n) * plot.plot_step
    pulley = f.pulley[rows].mean(axis=0)
    omega = f.sd[rows, :, 3].mean(axis=0)
    radius = part.seen.radius[rows].mean(axis=0)
    edge = radius - b.h_off
    i = float(_ratio(b, part.seen.radius[rows]).mean())
    crossings = passages(part.seen.sigma)
    v = float(crossings[rows.stop - 1] - crossings[rows.start - 1]) * b.t_R / span
    rates = np.polyfit(time, np.column_stack([part.seen.radius[rows], f.s[rows, 0, 0]]), 1)[0] / (omega[0] * radius[0])
    power = f.work[rows].sum(axis=0) / span
    inputs = power[: len(hybrid.INPUTS)]
    losses = power[len(hybrid.INPUTS) :]
    stored = float(f.stored[rows.stop - 1].sum() - f.stored[rows.start - 1].sum()) / span
    values = {
        "duration": span,
        "y": pulley[0, 1] / F_I,
        "ratio": i,
        "r_I": radius[0],
        "r_O": radius[1],
        "v": v,
        "omega_I": omega[0],
        "omega_O": omega[1],
        "F_I": pulley[0, 1],
        "F_O": pulley[1, 1],
        "M_I": pulley[0, 2],
        "M_O": pulley[1, 2],
        "thrust_ratio": pulley[0, 1] / pulley[1, 1],
        "xi": pulley[1, 2] * b.cos_d / (2.0 * b.mu * pulley[1, 1] * edge[1]),
        "xi_I": -pulley[0, 2] * b.cos_d / (2.0 * b.mu * pulley[0, 1] * edge[0]),
        "kappa": b.m_star * v**2 / pulley[1, 1],
        "slip": 1.0 - i * omega[1] / omega[0],
        "x": rates[0],
        "x_apex": -rates[2] / b.tan_d,
        "x_O": rates[1],
        "P_I": inputs[2],
        "P_O": inputs[3],
        "P_axial_I": inputs[0],
        "P_axial_O": inputs[1],
        "P_stored": stored,
        "loss": losses.sum(),
        **dict(zip(_LOSS, losses, strict=True)),
        "unaccounted": inputs.sum() - losses.sum() - stored,
    }
    return {name: float(values[name]) for name in SUMMARY}


# --- file


def _write(
    path: Path,
    parameters: Parameters,
    run: Run,
    m: Model,
    plot: Plot,
    parts: list[Part],
    F_I: float,
    text: str,
    plan: str,
) -> None:
    windows = _windows(run, plot, parts)
    table = [_summary(m, plot, parts[phase], rows, F_I) for phase, rows in windows]
    slip = np.array([row["slip"] for row in table])
    first = np.cumsum([0, *(len(p.inputs) for p in parts)])
    with replaced_on_success(path) as temporary, h5py.File(temporary, "w") as file:
        file.attrs.update(
            schema_version=SCHEMA_VERSION,
            kind=KIND,
            rtcvt_version=__version__,
            revision=revision(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            unit=parameters.name,
            run=json.dumps(asdict(run)),
            parameters=json.dumps({"belt": m.belt._asdict(), "sheaves": m.sheaves._asdict()}),
            scheme=run.scheme,
            step=plot.step,
            plot_step=plot.plot_step,
            revolution=plot.revolution,
            slipping=bool(np.any(np.abs(slip) > SLIPPING)) or any(p.ended == RUNAWAY for p in parts),
        )

        def write(name: str, values: Any, unit: str, description: str, columns: tuple[str, ...] = ()) -> None:
            packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if np.size(values) > 5000 else {}
            data = file.create_dataset(name, data=values, **packed)
            data.attrs["units"] = unit
            data.attrs["description"] = description
            if columns:
                data.attrs["columns"] = list(columns)

        def joined(get: Any) -> Array:
            return np.concatenate([get(p) for p in parts])

        n = [len(p.inputs) for p in parts]
        begin = [0, *([n[0]] * len(run.branches))]
        times = [(start + np.arange(1.0, k + 1.0)) * plot.plot_step for start, k in zip(begin, n, strict=True)]
        write("unit_file", text, "1", "text of the unit file")
        write("plan", plan, "1", "text of the plan")
        write("time", np.concatenate(times), "s", "time; that of each branch continues that of the settling")
        write("phase", np.repeat(np.arange(len(parts), dtype=np.int8), n), "1", "0 settling, then the branches")
        write("ended", np.array([p.ended for p in parts], dtype=np.int8), "1", "; ".join(ENDS), ())
        write("inputs", joined(lambda p: p.inputs), "SI", "boundary values", Boundary._fields)
        crossed = np.concatenate([passages(p.seen.sigma) if len(p.inputs) else np.empty(0) for p in parts])
        write("crossings", crossed, "1", "elements that have crossed the middle of the push span in the phase")
        for name, source in DATASETS.items():
            if run.elements or source.field not in _HEAVY:
                values = joined(lambda p, source=source: getattr(p.frames, source.field)[(_EACH, *source.part)])
                write(name, values.astype(source.dtype), source.unit, source.description, source.columns)
        if run.elements:
            write("elements/sigma", joined(lambda p: p.seen.sigma), "1", "place of the elements, 0 to 4")
        write("grid/length", joined(lambda p: p.seen.length), "m", "of the sections", SECTIONS)
        pulleys = ("primary", "secondary")
        write("grid/radius", joined(lambda p: p.seen.radius), "m", "of the neutral fibre, mean over the arc", pulleys)
        cells = np.arange(4 * CELLS)
        write("grid/section", cells // CELLS, "1", "of a cell", SECTIONS)
        write("grid/fraction", (cells % CELLS + 0.5) / CELLS, "1", "of the section that lies behind the cell's middle")
        for name, (unit, description) in FIELDS.items():
            values = joined(lambda p, name=name: p.seen.fields[name])
            write(f"fields/{name}", values, unit, description)
            means = [
                parts[k].seen.fields[name][rows].mean(axis=0, dtype=np.float64)
                if rows.stop > rows.start
                else np.full(4 * CELLS, np.nan)
                for k, rows in windows
            ]
            write(f"mean/{name}", np.array(means, dtype=np.float32), unit, f"{description}; mean over each window")
        write("window/phase", np.array([k for k, _ in windows]), "1", "phase of each window")
        write("window/first", np.array([first[k] + r.start for k, r in windows]), "1", "first frame")
        write("window/behind", np.array([first[k] + max(r.start, r.stop) for k, r in windows]), "1", "frame behind")
        rows = np.array([[row[name] for name in SUMMARY] for row in table])
        write("summary", rows, "SI", "means over each window", tuple(SUMMARY))
        file["summary"].attrs["column_units"] = [unit for unit, _ in SUMMARY.values()]
        file["summary"].attrs["column_descriptions"] = [about for _, about in SUMMARY.values()]


@contextmanager
def open_run(path: Path) -> Iterator[h5py.File]:
    """The file of a run.

    Raises
    ------
    InputError
        Not a run of a schema version that this release knows.
    """
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise InputError(path, "", None, f"an HDF5 file of a {KIND} ({error})") from None
    with file:
        about = (file.attrs.get("kind"), file.attrs.get("schema_version"))
        if about != (KIND, SCHEMA_VERSION):
            raise InputError(path, "kind, schema_version", str(about), f"a {KIND} of schema version {SCHEMA_VERSION}")
        yield file


def run_of(file: h5py.File) -> Run:
    """What was run."""
    data = json.loads(file.attrs["run"])
    data.pop("travel", None)  # of a scheme that earlier releases had
    branches = tuple(Branch(**k) for k in data["branches"])
    damper = data.get("damper")
    fixed = {"branches": branches, "limits": tuple(data["limits"]), "damper": None if damper is None else tuple(damper)}
    return Run(**{**data, **fixed})


def summary(file: h5py.File) -> dict[str, Array]:
    """The means over the windows by the names of `SUMMARY`; entries `BEFORE`, `STEADY`, then one for each branch."""
    table = file["summary"]
    return dict(zip(table.attrs["columns"], table[()].T, strict=True))


def frames_of(file: h5py.File, window: int) -> slice:
    """Frames of a window: `BEFORE`, `STEADY`, or 1 + number of the branch."""
    return slice(int(file["window/first"][window]), int(file["window/behind"][window]))
