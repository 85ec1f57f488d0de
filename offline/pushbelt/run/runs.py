"""A run of the full model, from its start to an HDF5 file.

A run is a `schedule.Run`: settings of the model, a start, phases, and what is observed. `simulate` makes model and
state, advances phase by phase in blocks of frames, lets the observers see each block and writes it into the journal,
from which a run that was stopped goes on. When the last phase has ended the journal becomes the file, with means over
its windows:

    Run -> prepare -> blocks of frames -> observers -> journal (runfile) -> HDF5: frames, windows, profiles

Observers. Always: boundary values, sheaves, pulleys, energies, radii and crossings. ``elements``: elements and ring.
``fields``: space-fixed belt fields (`snapshots`). ``profiles``: chapter 7's means over the belt coordinate
(`profiles`).

Windows. `windows.measure` gives the operating point of any window, with one speed v of the belt and one threshold of
macroscopic slip. `rtcvt simulate`, `check`, `campaign`, `reduce` and `plot` read the same file through `open_run`,
which also takes journals that still grow and campaign files of the form before.

Kill and Ctrl-C. A run that is killed loses the block that it was in, a few seconds of work at most; Ctrl-C ends it
after that block. Both leave PATH.partial, which `resume` takes up with the same bits as a run that was never stopped
(with the same program and machine). A longer duration extends a finished run.
"""

import io
import json
import signal
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, get_args

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.errors import InputError
from rtcvt.hdf5 import open_sealed, refused
from rtcvt.offline.pushbelt.contact import element_ring, ledger
from rtcvt.offline.pushbelt.contact.sheave import Damper
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.planar.model import Frames, Model
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.ring.ring import Ring, ring
from rtcvt.offline.pushbelt.run import schedule
from rtcvt.offline.pushbelt.run.profiles import observe as observe_profiles
from rtcvt.offline.pushbelt.run.profiles import write_profiles
from rtcvt.offline.pushbelt.run.runfile import (
    ACROSS,
    ACROSS_HEAVY,
    DATASETS,
    FILE,
    FORMER,
    HEAVY,
    KIND,
    SCHEMA_VERSION,
    Arrays,
    Journal,
    Writer,
    arrays_in,
    is_journal,
    join,
)
from rtcvt.offline.pushbelt.run.schedule import (
    APPROACH,
    COMPLETE,
    ENDS,
    HELD,
    KICK,
    LEFT,
    LIMIT,
    OBSERVED,
    RUNAWAY,
    Branch,
    Case,
    Clock,
    Contact,
    Law,
    Point,
    Run,
    Scheme,
    as_json,
    from_json,
)
from rtcvt.offline.pushbelt.run.snapshots import exit_force, push_force, revolutions, snapshots
from rtcvt.offline.pushbelt.run.windows import STEADY, edge_ratio, frames_of, passing, summary, write_windows
from rtcvt.offline.pushbelt.spatial import model as spatial
from rtcvt.offline.pushbelt.spatial import stability
from rtcvt.offline.pushbelt.spatial.start import lift
from rtcvt.offline.pushbelt.unit.initial import Start, start_state
from rtcvt.offline.pushbelt.unit.parameters import (
    FORCE,
    RATE,
    SPEED,
    TORQUE,
    Belt,
    Boundary,
    Parameters,
    Sheaves,
    belt,
    boundary_at,
    sheaves,
)
from rtcvt.recording import new_hdf5, require_writable, revision

__all__ = [
    "HISTORY",
    "History",
    "Outcome",
    "Prepared",
    "compile_steps",
    "element_forces",
    "element_history",
    "figures",
    "largest_step",
    "load_torque",
    "open_run",
    "partial_path",
    "prepare",
    "ring_steps",
    "run_of",
    "simulate",
    "start_of",
    "started",
    "stepped",
]

Array = NDArray[np.float64]

_BLOCK = 50  # frames that are written, and lost, together ...
_BLOCK_STEPS = 50_000  # ... and how many steps they may take
_MAX_STEPS = 1e9
LOST = 1.0  # speed loss that has run away: the secondary stands still, or is twice as fast as it should
SIDES = ("left", "right")
HISTORY = ("flank normal", "flank longitudinal", "flank radial", "push", "ring normal", "ring friction")


@dataclass(frozen=True)
class Outcome:
    """How a call ended: the file, whether all phases are there and how the settling ended, frames in the file and those
    of this call, wall-clock time [s], and processor time of a step [s], the median of the blocks."""

    path: Path
    done: bool
    ended: int
    frames: int
    computed: int
    wall: float
    step: float


class History(NamedTuple):
    """One element over one revolution: time (m,) [s], place sigma in [0, 4] (m,), forces (m, 6) [N] by `HISTORY`."""

    time: Array
    sigma: Array
    forces: Array


class Prepared(NamedTuple):
    """A run with what it starts from; inputs (frames + 1, 7) of the settling; M_O [N m] that is held; wide: the spatial
    model, if it is that which runs; `state` is its state then, `model` what observers see of it; planar: the state of
    the hybrid model that goes on before (`started`)."""

    run: Run
    model: Model
    state: hybrid.State | spatial.State
    start: Start
    clock: Clock
    inputs: Array
    M_O: float
    wide: spatial.Model | None = None
    planar: hybrid.State | None = None

    @property
    def arrays(self) -> Arrays:
        """The arrays of the state by their names in files."""
        found: Arrays = {}
        parts: Any = self.state._asdict()
        for name, value in parts.items():
            found |= {f"{name}_{k}": a for k, a in value._asdict().items()} if name in SIDES else {name: value}
        return found


class _Progress:
    """What is there of a run: `ended` by phase, frames of the phase under way, clamping forces of the settling."""

    def __init__(self) -> None:
        self.ended: list[int] = []
        self.here = 0
        self.frames = 0
        self.clamping: list[Array] = []
        self.state: Arrays = {}
        self.settled: Arrays = {}

    def take(self, record: Arrays) -> None:
        """Go on by a record of the journal."""
        n, phase, end = len(record["passing"]), int(record["phase"]), int(record["ended"])
        self.here += n
        self.frames += n
        self.state = {k.partition("/")[2]: a for k, a in record.items() if k.startswith("state/")}
        if phase == 0:
            self.clamping.append(record["pulleys/clamping_force"][:, 0])
            self.settled = self.state
        if end >= 0:
            self.ended.append(end)
            self.here = 0

    def all_ended(self, run: Run) -> list[int]:
        """How each phase ended; what never began did as the settling."""
        stopped = self.ended and self.ended[0] in (LEFT, RUNAWAY)
        missing = 1 + len(run.branches) - len(self.ended) if stopped else 0
        return self.ended + self.ended[:1] * missing


# --- start


def start_of(b: Belt, s: Sheaves, at: Point) -> tuple[Start, float]:
    """Start at an operating point, under the load that it begins with, and its load torque [N m].

    Raises
    ------
    InputError
        The belt cannot take this ratio, or would run off the sheaves.
    """
    unloaded = start_state(b, s, Boundary(RATE, 0.0, FORCE, at.F_O, at.omega_I, TORQUE, 0.0), at.ratio, b.h_off)
    M_O, begin = (
        load_torque(b, xi, at.F_O, unloaded.steady.geometry.r_O)
        for xi in (at.xi, at.xi if at.begin is None else at.begin)
    )
    return start_state(b, s, Boundary(RATE, 0.0, FORCE, at.F_O, at.omega_I, TORQUE, begin), at.ratio, b.h_off), M_O


def load_torque(b: Belt, xi: float, F_O: float, r_O: float) -> float:
    """Load torque [N m] of the torque ratio xi at the radius `r_O` of the neutral fibre."""
    return 2.0 * xi * b.mu * F_O * (r_O - b.h_off) / b.cos_d


def stepped(scheme: Scheme, ring: Any, step: float) -> Callable[..., tuple[Frames, int]]:
    """`planar.model.run` with as many steps of the ring in each `step` [s] as scheme and ring need."""
    return partial(hybrid.run, n_R=ring_steps(scheme, ring, step))


def ring_steps(scheme: Scheme, ring: Any, step: float) -> int:
    """Steps of the ring in each `step` [s]."""
    return max(2, ceil(step / ring_set.largest_step(ring))) if scheme == "multirate" else 1


def largest_step(scheme: Scheme, b: Belt) -> float:
    """Step [s] that suits a scheme."""
    finer = min(1.0, 220.0 / b.N_E, 104.0 / b.N_B)
    return min(2.5e-6 * finer, element_ring.largest_step(b, ring(b))) if scheme == "multirate" else 1e-6 * finer


def prepare(parameters: Parameters, run: Run) -> Prepared:
    """Model, start, clock and boundary values of a run.

    Raises
    ------
    InputError
        What the unit or the belt cannot do.
    """
    case = parameters.get_case(run.start.case) if isinstance(run.start, Case) else None
    s, source = run.settings, f"run {run.name}" if case is None else f"case {case.name}"
    _require(source, run, "duration", run.duration is None or 0.0 < run.duration < np.inf, "a time above 0 s")
    _require(source, run, "plot_step", run.plot_step is None or 0.0 < run.plot_step < np.inf, "a time above 0 s")
    _require(source, s, "step", s.step is None or 0.0 < s.step < np.inf, "a time above 0 s")
    _require(source, s, "N_E", s.N_E is None or 20 <= s.N_E <= 2000, "20 to 2000")
    _require(source, s, "N_B", s.N_B is None or 12 <= s.N_B <= 1000, "12 to 1000")
    _require(source, s, "taper", s.taper is None or 0.0 <= s.taper <= 1e-4, "0 to 100 um")
    for key, allowed in (("law", Law), ("contact", Contact), ("scheme", Scheme)):
        _require(source, s, key, getattr(s, key) in get_args(allowed), " or ".join(get_args(allowed)))
    if s.scheme == "set-valued":
        _require(source, s, "contact", s.contact == "unilateral", "unilateral with the scheme set-valued")
        _require(source, s, "model", s.model == "hybrid", "hybrid with the scheme set-valued")
        r, c = parameters.ring, parameters.contacts
        _require(parameters.source, r, "rod", r.rod == "rcm", "rcm with the scheme set-valued")
        _require(parameters.source, c, "mu_L", c.mu_L is None, "none with the scheme set-valued: no layers that slide")
    _require(source, s, "flank_points", s.flank_points in (1, 2), "1 or 2")
    _require(source, s, "model", s.model in get_args(schedule.Model), " or ".join(get_args(schedule.Model)))
    if s.model != "hybrid":
        _require(parameters.source, parameters.ring, "rod", parameters.ring.rod == "rcm", "rcm for the spatial model")
        if parameters.spatial is not None and s.scheme == "multirate":
            flat = "0, a flat saddle, with the multirate scheme: a ring that rolls on a crown needs the explicit one"
            _require(parameters.source, parameters.spatial, "crown", parameters.spatial.crown == 0.0, flat)
            loose = "unilateral with the spatial model's multirate scheme: pulling saddles need the explicit one"
            _require(source, s, "contact", s.contact == "unilateral", loose)
        fixed = "2 for the spatial model: about one fixed point on each flank an element would roll freely"
        _require(source, s, "flank_points", s.flank_points == 2, fixed)
    most = 0.0 if s.model == "hybrid" else 20.0
    _require(
        source, s, "before", 0.0 <= s.before <= most, "0 to 20 revolutions for the spatial model, 0 for the hybrid"
    )
    _require(source, run, "observe", set(run.observe) <= set(OBSERVED), f"some of {', '.join(OBSERVED)}")
    fits = not run.branches or (isinstance(run.start, Point) and run.mean is not None)
    _require(source, run, "branches", fits, "none, but of a point with a mean")
    b = belt(parameters, N_E=s.N_E, N_E0=s.N_E0 or (case.N_E0 if case else None), N_B=s.N_B, taper=s.taper)
    stiff, coupled = sheaves(parameters), s.law == "coupled"
    if isinstance(run.start, Point):
        start, M_O = start_of(b, stiff if coupled else stiff._replace(multiplier=0.0), run.start)
    else:
        assert case is not None
        row = run.start.row
        _require(source, run.start, "row", row == 0 or bool(case.M_O), "0, the case has one load")
        first = Boundary(*boundary_at(case, np.array([0.0]), row)[0].tolist())
        M_O = first.value_load
        if run.start.rise > 0.0:
            rises = first.mode_load != SPEED
            _require(source, run.start, "rise", rises, "0 where the secondary's speed is given")
            first = first._replace(value_load=0.0)
        start = start_state(b, stiff if coupled else stiff._replace(multiplier=0.0), first, case.i_r)
    r = parameters.ring
    m = hybrid.model(
        b, stiff, unilateral=s.contact == "unilateral", coupled=coupled,
        damper=None if s.damper is None else Damper(*s.damper), ring=r.rod, rotatory=r.rotatory_factor,
        rigid=s.scheme == "set-valued",
    )  # fmt: skip
    q_R, u_R = ring_set.placed(m.ring, start)
    start = start._replace(q_R=q_R, u_R=u_R)
    wide = None
    if s.model != "hybrid":
        wide = spatial.model(
            parameters, b, stiff, unilateral=s.contact == "unilateral", coupled=coupled, damper=m.damper,
            mirrored=s.model == "mirrored",
        )  # fmt: skip
    ticks = _clock(source, m, wide, run, start)
    if run.duration is None:
        n = ticks.frames(run.settle + (run.start.rise if isinstance(run.start, Case) else 0.0))
    else:
        total = ticks.steps * run.duration / ticks.plot_step
        _require(source, run, "duration", total <= _MAX_STEPS, f"at most {_MAX_STEPS:g} steps; these are {total:g}")
        n = _whole(run.duration / ticks.plot_step, source, run, "duration", f"a multiple of {ticks.plot_step:g} s")
    grid: Array = np.arange(n + 1.0) * ticks.plot_step
    if isinstance(run.start, Point):
        at = run.start
        inputs = np.tile([RATE, 0.0, FORCE, at.F_O, at.omega_I, TORQUE, M_O], (n + 1, 1))
        if at.begin is not None:
            inputs[:, 6] *= np.interp(np.arange(n + 1) / run.frames, (HELD, APPROACH), (at.begin / at.xi, 1.0))
    else:
        assert case is not None
        inputs = boundary_at(case, grid, run.start.row)
        if run.start.rise > 0.0:
            inputs[:, 6] *= np.minimum(1.0, grid / (run.start.rise * ticks.revolution))
    state = hybrid.state(*start[:7], n_k=len(stiff.A) - 1)
    if isinstance(run.start, Case) and run.start.seed:
        _require(source, run.start, "seed", run.start.seed > 0, "0 or more")
        state.u[:, :2] += KICK * np.random.default_rng(run.start.seed).standard_normal((b.N_E, 2))
    if wide is None:
        return Prepared(run, m, state, start, ticks, inputs, M_O)
    return Prepared(run, m, lift(wide, state), start, ticks, inputs, M_O, wide, state if s.before > 0.0 else None)


def started(made: Prepared) -> Prepared:
    """What was prepared, behind the revolutions of the hybrid model that it starts with.

    Raises
    ------
    InputError
        The belt leaves its place in them.
    """
    if made.planar is None or made.wide is None:
        return made
    s, ticks = made.run.settings, made.clock
    held = np.tile(made.inputs[0], (ticks.frames(s.before) + 1, 1))
    run = stepped(s.scheme, made.model.ring, ticks.step)
    _, valid = run(made.model, made.planar, held, ticks.steps, ticks.step, s.flank_points)
    there = valid == len(held) - 1
    _require(f"run {made.run.name}", s, "before", there, "a start at which the belt stays in its place")
    return made._replace(state=lift(made.wide, made.planar), planar=None)


def _require(source: str, of: Any, key: str, fits: bool, allowed: str) -> None:
    if not fits:
        raise InputError(source, key, getattr(of, key), allowed)


def _whole(ratio: float, source: str, of: Any, key: str, allowed: str) -> int:
    n = round(min(ratio, _MAX_STEPS))
    _require(source, of, key, n >= 1 and abs(ratio - n) <= 1e-6 * n, allowed)
    return n


def _clock(source: str, m: Model, wide: spatial.Model | None, run: Run, start: Start) -> Clock:
    b, v = m.belt, float(np.mean(np.hypot(start.u[:, 0], start.u[:, 1])))
    revolution, s = b.N_E * b.t_R / v, run.settings
    plot_step = revolution / run.frames if run.plot_step is None else run.plot_step
    bound = np.inf
    if s.scheme == "explicit" and isinstance(m.ring, Cosserat):
        bound = ring_set.largest_step(m.ring)
        _require(source, s, "step", s.step is None or s.step <= bound, f"at most {bound:.2g} s, or scheme multirate")
    if s.scheme == "multirate" and isinstance(m.ring, Ring):
        bound = element_ring.largest_step(b, m.ring)
        allowed = f"at most {bound:.2g} s: saddles on {b.N_B} pieces of the ring bear no more"
        _require(source, s, "step", s.step is None or s.step <= bound, allowed)
    if wide is not None:
        most = stability.largest_step(b, wide.body, wide.sheaves)
        allowed = f"at most {most:.3g} s: flanks with this contacts.flank_damping bear no more"
        _require(source, s, "step", s.step is None or s.step <= most, allowed)
        bound = min(bound, most)
    if run.plot_step is not None and s.step is not None:
        steps = _whole(plot_step / s.step, source, s, "step", f"a whole part of the plot step, {plot_step:g} s")
    else:
        largest = s.step or min(largest_step(s.scheme, b), bound)
        steps = int(np.ceil(plot_step / largest * (1.0 - (0.0 if s.step else 1e-9))))
    return Clock(revolution, plot_step / steps, plot_step, steps, run.longest)


# --- phases


def _lengths(made: Prepared) -> list[int]:
    """Frames of each phase, if none ends early."""
    return [len(made.inputs) - 1, *(made.clock.frames_in(b) for b in made.run.branches)]


def steps_of(made: Prepared) -> int:
    """How many steps a run has, if no phase ends early."""
    return made.clock.steps * sum(_lengths(made))


def _branch_inputs(made: Prepared, branch: Branch, F_I: float) -> Array:
    """Boundary values of a branch at its start and its frames."""
    at, ticks, n = made.run.start, made.clock, made.clock.frames_in(branch)
    assert isinstance(at, Point)
    time: Array = np.arange(n + 1.0) * ticks.plot_step / ticks.revolution
    part = np.minimum(time / branch.ramp, 1.0) if branch.ramp > 0.0 else np.ones(n + 1)
    b = np.tile([FORCE, F_I, FORCE, at.F_O, at.omega_I, TORQUE, made.M_O], (n + 1, 1))
    b[:, 1] *= 1.0 + part * (branch.y_I - 1.0)
    b[:, 3] *= 1.0 + part * (branch.y_O - 1.0)
    if at.xi != 0.0:
        b[:, 6] *= 1.0 + part * (branch.xi / at.xi - 1.0)
    return b


def _advance(made: Prepared, inputs: Array, done: int) -> tuple[Arrays, int, float]:
    """Run the next block of a phase: its record without phase and state, how the phase ended or -1, processor time."""
    run, m, x, ticks, n = made.run, made.model, made.state, made.clock, len(inputs) - 1
    stop = min(done + max(1, min(_BLOCK, _BLOCK_STEPS // ticks.steps)), n)
    if isinstance(run.start, Point):  # ratio and slip are looked at once in a revolution
        stop = min(stop, (done // run.frames + 1) * run.frames)
    began, across, flank = clock.thread_time(), {}, None
    rest = (inputs[done : stop + 1], ticks.steps, ticks.step, run.settings.flank_points)
    if made.wide is None:
        found, valid = stepped(run.settings.scheme, m.ring, ticks.step)(m, x, *rest)
    else:
        assert isinstance(x, spatial.State)
        seen, valid = spatial.run(made.wide, x, *rest, n_R=ring_steps(run.settings.scheme, m.ring, ticks.step))
        found, flank = seen.planar, seen.flank
        across = {
            name: getattr(seen, s.field)[(slice(valid), *s.part)].astype(s.dtype)
            for name, s in ACROSS.items()
            if "elements" in run.observe or s.field not in ACROSS_HEAVY
        }
    cost = (clock.thread_time() - began) / (max(valid, 1) * ticks.steps)
    kept: Any = [a[:valid] for a in found]
    frames = Frames(*kept)
    record, ended = _observed(made, frames, inputs[done + 1 : done + 1 + valid], flank) | across, -1
    if valid < stop - done:
        ended = LEFT
    elif isinstance(run.start, Point) and (stop == n or stop % run.frames == 0):
        ratio = float(edge_ratio(record["grid/radius"][-1:], m.belt._asdict())[0])
        omega = frames.sd[-1, :, 3]
        if not run.limits[0] < ratio < run.limits[1]:
            ended = LIMIT
        elif abs(1.0 - ratio * omega[1] / omega[0]) > LOST:
            ended = RUNAWAY
    if ended < 0 and stop == n:
        ended = COMPLETE
    return record, ended, cost


def _observed(made: Prepared, x: Frames, inputs: Array, flank: Array | None = None) -> Arrays:
    """What the observers of a run see in frames; `flank` of a spatial belt."""
    see = made.run.observe
    seen = snapshots(made.model, x, made.clock.step)
    record: Arrays = {
        "inputs": inputs,
        "passing": passing(seen.sigma),
        "grid/length": seen.length,
        "grid/radius": seen.radius,
    }
    if flank is not None:
        record["spatial/exit_force"] = exit_force(seen.sigma, flank[: len(seen.sigma)])
    for name, s in DATASETS.items():
        if "elements" in see or s.field not in HEAVY:
            record[name] = getattr(x, s.field)[(slice(None), *s.part)].astype(s.dtype)
    if "elements" in see:
        record["elements/sigma"] = seen.sigma
    if "fields" in see:
        record |= {f"fields/{name}": values.astype(np.float32) for name, values in seen.fields.items()}
    if "profiles" in see:
        found = observe_profiles(made.model, made.start.steady.geometry, x)
        record |= {f"seen/{name}": values for name, values in found.items()}
    return record


def simulate(
    parameters: Parameters,
    run: Run,
    path: Path,
    text: str,
    *,
    plan: str = "",
    F_I: float | None = None,
    resume: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Do a run and write its file.

    Parameters
    ----------
    parameters : Parameters
        The unit; may differ from its file.
    run : Run
        What to do.
    path : Path
        HDF5 file; see `runfile` for how it comes to be.
    text, plan : str
        Of the unit file and of the plan, which the file keeps.
    F_I : float, optional
        What the branches multiply [N], by default F_I,eq.
    resume : bool
        Go on with what is in `path` or its partial file, if there is anything.
    progress : callable, optional
        Called with the name of the run, frames done and frames in all.

    Raises
    ------
    InputError
        A run that the unit or the belt cannot do, a path that cannot be written, a partial file in the way, or, to be
        resumed, a damaged file or one of another run. Nothing is written then.
    """
    made, began = prepare(parameters, run), clock.perf_counter()
    partial = partial_path(path)
    require_writable(path, partial)
    attributes = _attributes(parameters, made, F_I)
    if not partial.exists():
        head: dict[str, Any] = {"attributes": attributes, "unit_file": text, "plan": plan}
        finished = _extended(path, made, head) if resume and path.exists() else []
        if finished is None:
            with open_run(path) as file:
                return Outcome(path, True, COMPLETE, len(file["time"]), 0, 0.0, np.nan)
        made = made if finished else started(made)
        head["attributes"] |= _stamp()
        Journal.create(partial, {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)}, *finished)
    elif not resume:
        raise InputError("output", "", str(partial), "no unfinished run of this name: resume it, or remove the file")
    lengths = _lengths(made)
    cost: list[float] = []
    with Journal(partial, write=True) as journal, _interruptible() as interrupted:
        there = _replayed(journal, partial, made, attributes)
        made = made if there.frames else started(made)
        first, total = there.frames, sum(lengths)
        while len(there.all_ended(run)) < len(lengths):
            if interrupted():
                return Outcome(partial, False, COMPLETE, there.frames, there.frames - first,
                               clock.perf_counter() - began, _median(cost))  # fmt: skip
            if progress is not None:
                progress(run.name, there.frames, total)
            phase = len(there.ended)
            if there.state:
                saved = there.settled if phase > 0 and there.here == 0 else there.state
                for name, value in made.arrays.items():
                    value[...] = saved[name]
            inputs = made.inputs
            if phase > 0:
                inputs = _branch_inputs(made, run.branches[phase - 1], _holding(made, there, F_I))
            record, ended, spent = _advance(made, inputs, there.here)
            cost.append(spent)
            record |= {"phase": np.array(phase), "ended": np.array(ended)}
            record |= {f"state/{name}": value.copy("K") for name, value in made.arrays.items()}
            journal.add(record)
            there.take(record)
        with new_hdf5(path, FILE, "v110") as file:
            write, seen = _joined(file, journal, run, there.all_ended(run), np.nan if F_I is None else F_I)
            file.attrs["step_cost"] = _median(cost)
            if "profiles" in run.observe:
                write_profiles(file, write, seen, made.model.sheaves, made.start.steady.geometry)
    partial.unlink()
    wall = clock.perf_counter() - began
    return Outcome(path, True, there.ended[0], there.frames, there.frames - first, wall, _median(cost))


def _median(cost: list[float]) -> float:
    return float(np.median(cost)) if cost else np.nan


def _holding(made: Prepared, there: _Progress, F_I: float | None) -> float:
    """Force that the branches multiply [N]."""
    if F_I is not None:
        return F_I
    assert made.run.mean is not None
    return float(np.concatenate(there.clamping)[-made.clock.frames(made.run.mean) :].mean())


def _joined(file: h5py.File, journal: Journal, run: Run, ended: list[int], F_I: float) -> tuple[Writer, Arrays]:
    """Write frames and windows of a run; returns what profiles have seen."""
    write, seen = join(file, journal, ended)
    revolution, step, plot_step = (float(file.attrs[k]) for k in ("revolution", "step", "plot_step"))
    ticks = Clock(revolution, step, plot_step, round(plot_step / step), run.longest)
    write_windows(file, write, run, ticks, F_I)
    return write, seen


def compile_steps(parameters: Parameters, run: Run) -> float:
    """Have the machine code of the steps on disk before processes start that would each make it; the processor time of
    a step [s], measured over a few frames."""
    made = prepare(parameters, run)
    _advance(made, made.inputs[:2], 0)
    return _advance(made, made.inputs[:9], 0)[2]


# --- resume


def _attributes(parameters: Parameters, made: Prepared, F_I: float | None) -> dict[str, Any]:
    """What a run is, and what a run must share to be its continuation."""
    case = parameters.get_case(made.run.start.case).model_dump_json() if isinstance(made.run.start, Case) else ""
    torque = made.inputs[0, 5] == TORQUE
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "unit": parameters.name,
        "run": as_json(made.run),
        "case": case,
        "parameters": json.dumps(
            {"belt": made.model.belt._asdict(), "sheaves": made.model.sheaves._asdict()}
            | ({"rod": made.model.ring._asdict()} if isinstance(made.model.ring, Cosserat) else {})
        ),
        "scheme": made.run.settings.scheme,
        "N_E": made.model.belt.N_E,
        "M_O": made.M_O if torque else np.nan,
        "F_I": np.nan if F_I is None else F_I,
        "step": made.clock.step,
        "plot_step": made.clock.plot_step,
        "revolution": made.clock.revolution,
    }


def _stamp() -> dict[str, str]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"rtcvt_version": __version__, "revision": revision(), "created": now}


def _require_same(path: Path, found: Any, wanted: dict[str, Any]) -> None:
    """Refuse a file of another run; the length of the settling may differ."""
    if (found.get("kind"), found.get("schema_version")) != (KIND, SCHEMA_VERSION):
        raise InputError(path, "kind, schema_version", None, f"a {KIND} begun by this release; begin it anew")
    whole = {"settle": 0.0, "duration": None}
    one, other = (asdict(replace(from_json(str(a["run"])), **whole)) for a in (found, wanted))  # type: ignore[arg-type]
    for key, value in other.items():
        if one[key] != value:
            raise InputError(path, key, None, f"that of the run to be resumed, {one[key]}")
    for key, value in wanted.items():
        if key != "run" and found[key] != value and not (value != value and np.isnan(found[key])):
            shown = key if key in ("case", "parameters") else f"{found[key]}"
            raise InputError(path, key, value if shown != key else None, f"that of the run to be resumed, {shown}")


def _extended(path: Path, made: Prepared, head: dict[str, Any]) -> list[Arrays] | None:
    """The record that continues a finished run, None if there is nothing to add."""
    with open_run(path) as file:
        _require_same(path, file.attrs, head["attributes"])
        if file["ended"][0] == LEFT:
            raise InputError(path, "ended", ENDS[LEFT], "a run whose belt has not left its place")
        done, n = int(np.sum(file["phase"][()] == 0)), len(made.inputs) - 1
        if done > n:
            raise InputError(path, "duration", made.run.duration, f"at least what is there, {file['time'][done - 1]} s")
        if done == n:
            return None
        if made.run.branches or "profiles" in made.run.observe:
            raise InputError(path, "duration", None, "that of the run: one with branches or profiles is not extended")
        head["attributes"]["created"] = str(file.attrs["created"])
        record = arrays_in(file)
        return [record | {"phase": np.array(0), "ended": np.array(-1)}]


def _replayed(journal: Journal, path: Path, made: Prepared, wanted: dict[str, Any]) -> _Progress:
    """What a journal holds of a run."""
    there = _Progress()
    _require_same(path, journal.head()["attributes"], wanted)
    for record in journal.blocks():
        there.take(record)
    if there.here > (n := len(made.inputs) - 1) and not there.ended:
        raise InputError(path, "duration", made.run.duration, f"at least what is there, {there.here} frames of {n}")
    for name, value in made.arrays.items():
        if there.state and (name not in there.state or there.state[name].shape != value.shape):
            raise InputError(path, f"checkpoint/{name}", None, "a run begun by this release; begin it anew")
    if there.ended and not made.run.branches and there.frames < len(made.inputs) - 1 and there.ended[0] == COMPLETE:
        there.ended, there.here = [], there.frames
    return there


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into the answer True; a second one interrupts at once."""
    seen: list[int] = []

    def note(number: int, frame: Any) -> None:
        del frame
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)


# --- reading


def partial_path(path: Path) -> Path:
    """Name of the journal of a run that has not ended."""
    return path.with_name(f"{path.name}.partial")


@contextmanager
def open_run(path: Path) -> Iterator[h5py.File]:
    """A file of a run, or what the journal of one that has not ended holds.

    Raises
    ------
    InputError
        Damaged, or not a run of a schema version that this release knows.
    """
    if is_journal(path):
        with refused(path, f"an unfinished {KIND}"), _grown(path) as file:
            yield file
        return
    with open_sealed(path, FILE, KIND, unmarked=True) as file:
        about = (file.attrs.get("kind"), file.attrs.get("schema_version"))
        if about not in ((KIND, SCHEMA_VERSION), FORMER):
            raise InputError(path, "kind, schema_version", str(about), f"a {KIND} of schema version {SCHEMA_VERSION}")
        yield file


def _grown(path: Path) -> h5py.File:
    """What a journal holds, in memory; -1: a phase that has not ended."""
    with Journal(path, write=False) as journal:
        about = journal.head()["attributes"]
        run, there = from_json(about["run"]), _Progress()
        for record in journal.blocks():
            there.take(record)
        file = h5py.File(io.BytesIO(), "w")
        ended = there.all_ended(run)
        _joined(file, journal, run, ended + [-1] * (1 + len(run.branches) - len(ended)), about["F_I"])
        return file


def run_of(file: h5py.File) -> Run:
    """What was run."""
    return from_json(str(file.attrs["run"]))


def element_history(file: h5py.File, element: int, revolution: int = -1) -> History:
    """The six forces on one element over a whole revolution (Cebulla 2014, Figs. 7.2-7.4), from primary entry on.

    Parameters
    ----------
    element : int
        From 0; element i + 1 is in front of i.
    revolution : int
        Counts whole revolutions in the run; -1 is the last.

    Raises
    ------
    InputError
        There is no such element or revolution.
    """
    N_E = file["elements/sigma"].shape[1]
    if not 0 <= element < N_E:
        raise InputError(file.filename, "element", element, f"0 to {N_E - 1}")
    sigma = file["elements/sigma"][:, element]
    whole = revolutions(sigma)
    if not -len(whole) <= revolution < len(whole):
        raise InputError(
            file.filename, "revolution", revolution, f"one of the {len(whole)} whole ones of element {element}"
        )
    rows = whole[revolution]
    return History(file["time"][rows], sigma[rows], element_forces(file, element, rows))


def element_forces(file: h5py.File, element: int, rows: slice = slice(None)) -> Array:
    """The six forces on one element by `HISTORY`, (m, 6) [N], over frames."""
    flank, saddle = file["elements/flank"][rows, element], file["elements/saddle"][rows, element]
    push = push_force(file["elements/joint"][rows, element])
    return np.column_stack([flank, push, saddle[:, 0] - saddle[:, 1], saddle[:, 2]])


def figures(file: h5py.File) -> dict[str, Any]:
    """Figures of a run: what it was, means over its window `steady`, and its energy balance.

    The keys carry their units. The residual of the balance is what inputs, losses and stored energies leave, relative
    to the losses and to what the shafts carried.
    """
    run, a, n = run_of(file), file.attrs, len(file["time"])
    scaled, ended = json.loads(a["parameters"])["belt"], set(file["ended"][()].tolist())
    dt = float(a["plot_step"])
    found: dict[str, Any] = {"unit": str(a["unit"]), **asdict(run.start), "duration": run.duration}
    found |= asdict(run.settings) | {k: scaled[k] for k in ("N_E", "N_B")}
    found |= {"step": float(a["step"]), "plot_step": dt, "M_O": float(a["M_O"]), "frames": n, "time_s": n * dt}
    found["status"] = "unfinished" if -1 in ended else "failed" if LEFT in ended else "complete"
    last, means = frames_of(file, STEADY), {k: float(v[STEADY]) for k, v in summary(file).items()}
    if not np.isfinite(means["duration"]):
        return found

    def mean(name: str) -> Any:
        return file[name][last].mean(axis=0)

    rest, losses, throughput = ledger.residual(file["energy/work"][()], file["energy/stored"][()])
    if "spatial/margin" in file:
        margin, z = file["spatial/margin"][last].min(axis=(0, 1)), file["spatial/place"][last].mean(axis=0)
        found |= {"misalignment_m": float(z[0] - z[1]), "ring_to_pillar_m": margin[0], "ring_to_sheave_m": margin[1]}
        found["fixed_sheave_N"] = mean("spatial/fixed_force").tolist()
        if "spatial/exit_force" in file:  # not in files of earlier releases
            found["exit_force_N"] = mean("spatial/exit_force").tolist()
    return found | {
        "mean_over_s": means["duration"],
        "ratio": means["ratio"],
        "torque_ratio": means["xi"],
        "kappa": means["kappa"],
        "slip": means["slip"],
        "belt_speed_m_s": means["v"],
        "thrust_ratio": means["thrust_ratio"],
        "clamping_force_N": [means["F_I"], means["F_O"]],
        "speed_rad_s": [means["omega_I"], means["omega_O"]],
        "shaft_torque_Nm": mean("pulleys/shaft_torque").tolist(),
        "speed_ratio": means["omega_I"] / means["omega_O"],
        "radius_m": [means["r_I"], means["r_O"]],
        "tension_N": [float(mean("fields/tension").min()), float(mean("fields/tension").max())],
        "push_N": float(mean("fields/push").max()),
        "residual_of_losses": rest / losses,
        "residual_of_throughput": rest / throughput,
    }
