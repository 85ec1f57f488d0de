"""A run of a full model, from its start to an HDF5 file.

`simulate` makes model and state (`prepare`), advances phase by phase in blocks of frames, passes each block to the
observers and writes it to the journal, from which an interrupted run continues (`resume`). After the last phase the
journal becomes the file, with means over its windows:

    Run -> prepare -> blocks of frames -> observers -> journal (runfile) -> HDF5: frames, windows, profiles

Observers. Always: boundary values, sheaves, pulleys, energies, radii and crossings. ``elements``: elements and ring.
``fields``: space-fixed belt fields (`snapshots`). ``profiles``: means over the belt coordinate (`profiles`).

Kill and Ctrl-C. A killed run loses its current block, a few seconds of work at most; Ctrl-C ends it after that block.
In both cases `resume` continues PATH.partial with the same bits as an uninterrupted run (with the same program and
machine). A longer duration extends a finished run.
"""

import json
import signal
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.environment import now
from rtcvt.errors import InputError
from rtcvt.files import goes_on_with
from rtcvt.offline.pushbelt.planar.model import Frames
from rtcvt.offline.pushbelt.run.marks import FILE
from rtcvt.offline.pushbelt.run.prepare import Prepared, lengths, prepare, ring_steps, started, stepped
from rtcvt.offline.pushbelt.run.profiles import observe as observe_profiles
from rtcvt.offline.pushbelt.run.profiles import write_profiles
from rtcvt.offline.pushbelt.run.progress import Progress, clamping_of, joined
from rtcvt.offline.pushbelt.run.reading import open_run, partial_path
from rtcvt.offline.pushbelt.run.resume import attributes_of, extended, replayed
from rtcvt.offline.pushbelt.run.runfile import ACROSS, ACROSS_HEAVY, DATASETS, HEAVY, Arrays, Journal
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, LEFT, LIMIT, RUNAWAY, Branch, Point, Run
from rtcvt.offline.pushbelt.run.snapshots import exit_force, snapshots
from rtcvt.offline.pushbelt.run.windows import drifts, edge_ratio, passing
from rtcvt.offline.pushbelt.spatial import model as spatial
from rtcvt.offline.pushbelt.unit.parameters import FORCE, TORQUE, Parameters
from rtcvt.recording import is_special, new_hdf5, require_writable, revision

Array = NDArray[np.float64]

_BLOCK = 50  # frames that are written, and lost, together ...
_BLOCK_STEPS = 50_000  # ... and the largest number of their steps
RUNAWAY_LOSS = 1.0  # runaway speed loss: the secondary stands still, or has twice its speed


@dataclass(frozen=True)
class Outcome:
    """How a call of `simulate` ended.

    path: the file; done: whether it has all phases; ended: how the settling ended, of `schedule.ENDS`; frames: in the
    file; computed: frames of this call; wall: its time [s]; step: processor time of a step [s], the median over blocks.
    """

    path: Path
    done: bool
    ended: int
    frames: int
    computed: int
    wall: float
    step: float


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
    """Make a run and write its file.

    Parameters
    ----------
    parameters : Parameters
        The unit; may differ from its file.
    run : Run
        Definition of the run.
    path : Path
        HDF5 file; see `runfile`.
    text, plan : str
        Texts of the unit file and of the plan, stored in the file.
    F_I : float, optional
        Force [N] that the branches multiply, by default F_I,eq.
    resume : bool
        Continue `path` or its partial file, if it exists.
    progress : callable, optional
        Called with the name of the run, frames done and frames in all.

    Raises
    ------
    InputError
        A run that the unit or the belt does not allow, a path that cannot be written, a partial file in the way, or, to
        be resumed, a damaged file or one of another run. Nothing is written then.
    """
    made, began = prepare(parameters, run), clock.perf_counter()
    partial = partial_path(path)
    if is_special(path):
        raise InputError("output", "", str(path), "a regular file, in whose folder the run is stored until it ends")
    goes_on_with(partial)
    if resume:
        goes_on_with(path)
    require_writable(path, partial)
    attributes = attributes_of(parameters, made, F_I)
    if not partial.exists():
        head: dict[str, Any] = {"attributes": attributes, "unit_file": text, "plan": plan}
        finished = extended(path, made, head) if resume and path.exists() else []
        if finished is None:
            with open_run(path) as file:
                return Outcome(path, True, COMPLETE, len(file["time"]), 0, 0.0, np.nan)
        made = made if finished else started(made)
        head["attributes"] |= _stamp()
        Journal.create(partial, {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)}, *finished)
    elif not resume:
        raise InputError("output", "", str(partial), "no unfinished run of this name: resume it, or remove the file")
    phases = lengths(made)
    cost: list[float] = []
    with Journal(partial, write=True) as journal, _interruptible() as interrupted:
        there = replayed(journal, partial, made, attributes)
        made = made if there.frames else started(made)
        first, total = there.frames, sum(phases)
        while len(there.all_ended(run)) < len(phases):
            if interrupted():
                return Outcome(partial, False, COMPLETE, there.frames, there.frames - first,
                               clock.perf_counter() - began, _median(cost))  # fmt: skip
            if progress is not None:
                progress(run.name, min(there.frames, total), total)
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
            if ended < 0 and phase == 0 and _has_settled(made, [*there.clamping, clamping_of(record)]):
                ended = COMPLETE
            record |= {"phase": np.array(phase), "ended": np.array(ended)}
            record |= {f"state/{name}": value.copy("K") for name, value in made.arrays.items()}
            journal.add(record)
            there.take(record)
        with new_hdf5(path, FILE, "v110") as file:
            write, seen = joined(file, journal, run, there.all_ended(run), np.nan if F_I is None else F_I)
            file.attrs["step_cost"] = _median(cost)
            if "profiles" in run.observe:
                write_profiles(file, write, seen, made.model.sheaves, made.start.steady.geometry)
    partial.unlink()
    wall = clock.perf_counter() - began
    return Outcome(path, True, there.ended[0], there.frames, there.frames - first, wall, _median(cost))


def _median(cost: list[float]) -> float:
    return float(np.median(cost)) if cost else np.nan


def _holding(made: Prepared, there: Progress, F_I: float | None) -> float:
    """Force that the branches multiply [N]."""
    if F_I is not None:
        return F_I
    assert made.run.mean is not None
    return float(np.concatenate(there.clamping)[-made.clock.frames(made.run.mean) :].mean())


def _has_settled(made: Prepared, clamping: list[Array]) -> bool:
    """Whether a settling that may be longer ends here, with a revolution; `clamping`: forces on the primary [N]."""
    run, force = made.run, np.concatenate(clamping)
    longer = lengths(made)[0] <= len(force) < len(made.inputs) - 1
    if run.mean is None or len(force) % run.frames or not longer:
        return False
    mean = made.clock.frames(run.mean)
    return not drifts(force[-2 * mean : -mean].mean(), force[-mean:].mean())


def _stamp() -> dict[str, str]:
    made = now().isoformat(timespec="seconds")
    return {"rtcvt_version": __version__, "revision": revision(), "created": made}


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
        elif abs(1.0 - ratio * omega[1] / omega[0]) > RUNAWAY_LOSS:
            ended = RUNAWAY
    if ended < 0 and stop == n:
        ended = COMPLETE
    return record, ended, cost


def _observed(made: Prepared, x: Frames, inputs: Array, flank: Array | None = None) -> Arrays:
    """Results of the observers of a run in frames; `flank` of a spatial belt."""
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


def compile_steps(parameters: Parameters, run: Run) -> float:
    """Have the machine code of the steps on disk before processes start that would each make it; the processor time of
    a step [s], measured over a few frames."""
    made = prepare(parameters, run)
    _advance(made, made.inputs[:2], 0)
    return _advance(made, made.inputs[:9], 0)[2]


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
