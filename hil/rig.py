"""A run of an FMU on the rig: the loop in C keeps the clock, this side supplies inputs and reads records.

The unit and its loop have a process of their own, see `rtcvt.hil.host`; between start and end only the loop's thread
calls the unit. Meanwhile this side looks at the loop 50 times a second: it samples the scenario up to two seconds
ahead, adds records to the statistics and, four times a second, to the recording. Nothing here can delay a step. It
has the real-time scheduler too, where permitted, below the loop: else a thread of the bus might wait for the
interpreter's lock while other processes keep this side from running.

A step that fails, an output that is not finite, a unit that crashes, exits or does not return, SIGINT, SIGTERM, SIGHUP,
a lost bus, a recording that cannot be written (unless the rig continues without one) and the overrun policy ``stop``
end the run. Outputs then get their fall-back values, and the recording until then is kept. Fall-back values are 0 for
torques (by their unit, a force times a length); all others keep their last value, unless the rig has values by name.
"""

import json
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files.names import free
from rtcvt.hil.cosimulation import LOG_LENGTH, fetch_messages, quoted, status_name, warned
from rtcvt.hil.growing import part_name
from rtcvt.hil.host import Host, hosted
from rtcvt.hil.importer import Fmu, open_fmu
from rtcvt.hil.loop import HEAD, Command, Ending, FaultKind, Input, Loop, Policy, Settings, bin_edges
from rtcvt.hil.pacing import BUS_PRIORITY, PRIORITY, environment, own_processor, real_time, stolen
from rtcvt.hil.recorder import FLAGS, Channel, Recorder, open_recorder
from rtcvt.hil.runner import fmu_notes, steps_of
from rtcvt.model import Variable
from rtcvt.quantity import difference, is_torque
from rtcvt.scenario import MESSAGE_FAULTS, Fault, Scenario
from rtcvt.simulate import is_limit

Array = NDArray[np.float64]

ENDED_WELL = (Ending.DONE, Ending.TERMINATED)
POLL_INTERVAL = 0.02  # [s] between two looks at the loop
WRITE_INTERVAL = 0.25  # [s] between two appends to the recording
NEVER = 1e9  # [s] when faults begin that are only to be switched
LONGEST_OVERLOAD = 3600.0  # [s]
OWN_COLUMNS = (
    ("step_time", "s", "duration of the step from here"),
    ("lateness", "s", "start of the step from here after its deadline"),
    ("flags", "1", FLAGS),
)
CHUNK = 8192  # steps of a scenario that are sampled at once
FAULTS = {
    "stuck": FaultKind.STUCK,
    "noise": FaultKind.NOISE,
    "nan": FaultKind.NAN,
    "overload": FaultKind.OVERLOAD,
    "unit_error": FaultKind.UNIT_ERROR,
} | dict.fromkeys(MESSAGE_FAULTS, FaultKind.MESSAGES)


@dataclass(frozen=True)
class Rig:
    """How a run is made."""

    policy: Policy = Policy.CATCH_UP
    cpu: int | None = None  # where the loop's thread runs; by default the last one that no other rig has
    privileged: bool = True  # real-time scheduler and locked memory, where permitted
    fallback: Mapping[str, float] = field(default_factory=dict)  # by name of input or output, in its unit
    faults: tuple[Fault, ...] = ()
    isolated: bool = True  # whether the unit has its own process
    patience: float = 5.0  # [s] after which a step that does not return is abandoned
    needs_recording: bool = True  # whether the run ends if the recording cannot be written
    logging: bool = True  # whether the unit's messages are logged


@dataclass(frozen=True)
class Running:
    """Interface of a run for attachments: the loop, the variables in its order, and a way to end the run."""

    loop: Loop
    host: Host
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]  # those that may change, see `tune`
    faults: tuple[Fault, ...]
    step: float
    y_fallback: Array  # NaN: hold
    stop: Callable[[str], None]  # with the reason
    troubles: list[Callable[[], Mapping[str, int]]]  # counts that the live page shows, put there by attachments
    listeners: list[Callable[[Array], None]] = field(default_factory=list)  # get all records, put there by attachments
    switched: list[dict[str, Any]] = field(default_factory=list)  # faults by hand: name, from_s, to_s or None

    def tune(self, place: int, value: float) -> bool:
        """Change one of `parameters` before the next step, if it may have that value."""
        v = self.parameters[place]
        try:
            number = v.checked(_at_bound(v, value), v.name)
        except InputError:
            return False
        whole = not (v.choices or v.boolean) or number == round(number)
        return whole and self.loop.command(Command.TUNE, place, number)


def _at_bound(v: Variable, value: float) -> float:
    """A value, or the bound that it missed by no more than floats of 32 bits are apart."""
    near = [b for b in (v.minimum, v.maximum) if b is not None and abs(value - b) <= 1e-6 * abs(b)]
    return near[0] if near else value


@dataclass(frozen=True)
class Attachment:
    """Something that takes part in a run, as a bus does.

    `inputs` has the names of the inputs that it supplies; `prepare` is entered before the first step and left after the
    last; then `figures` is called.
    """

    name: str
    inputs: Mapping[str, Input]
    wake: bool
    prepare: Callable[[Running], Any]  # context manager
    figures: Callable[[], dict[str, Any]]
    faults: tuple[Fault, ...] = ()  # faults that can be switched on and off
    parameters: frozenset[str] = frozenset()  # names of parameters that it may change
    notes: tuple[str, ...] = ()  # notes for the user


@dataclass(frozen=True)
class Report:
    """Results of a run on the rig."""

    fmu: str
    step: float  # [s]
    message: str  # why the run ended early; empty if it did not
    environment: dict[str, str]
    log: tuple[str, ...]
    figures: dict[str, Any]
    """Ready for JSON. ``fmu``, ``guid``, ``scenario``, ``kind``, ``completed``, ``message``, ``step_s``, ``steps``
    (made by the unit), ``duration_s`` (simulated), ``terminated_s`` (when the unit ended the simulation, else
    null), ``wall_s``, ``warnings``, ``misses``, ``late`` (of these, that the steps themselves did not cause, see
    ``native/loop.c``), ``longest_gap_us`` (between two readings of the clock while the loop watched it),
    ``woke_late_us`` (longest time by which it woke later than it asked for), ``latest`` (the largest lateness:
    ``at_s`` and ``by_steps_us``, the part caused by earlier steps), ``stolen_ms`` (of its processor's time by the
    hypervisor, in ticks of 10 ms; null where the system does not report it), ``policy``, ``skipped`` (deadlines),
    ``lost`` (records), ``starved`` (steps without new inputs), ``fallbacks`` (steps in which an input had its
    fall-back), ``step_time_us`` and ``lateness_us``: ``median``, ``p99``, ``p99_9`` (to 1/16 octave), ``max``;
    ``histograms``: ``from_us``, ``step_time``, ``lateness``; ``environment``; ``faults``: one per fault, see
    `_Statistics.faults`; ``limits``: share of the steps by output that reports an active limit;
    ``switched``: faults by hand, see `Running.switched`; ``notes``: unexpected conditions; ``signals``:
    by name ``unit``, ``final``, ``min``, ``max``, ``rms``; one entry for each attachment."""

    @property
    def completed(self) -> bool:
        """Whether all steps were made, or all until the unit ended the simulation."""
        return not self.message


def run_rig(
    path: Path,
    step: float | None = None,
    duration: float | None = None,
    scenario: Scenario | None = None,
    rig: Rig | None = None,
    output: Path | None = None,
    attach: Sequence[Callable[[Fmu, Scenario | None, float], Attachment]] = (),
    record: Sequence[str] = (),
) -> Report:
    """Run a co-simulation FMU of FMI 2.0 or 3.0 against the clock.

    Parameters
    ----------
    path : Path
        The FMU.
    step, duration : float, optional
        Step and length [s]; by default those of scenario and FMU.
    scenario : Scenario, optional
        Inputs and parameters; by default all keep their start values.
    rig : Rig, optional
        Settings of the rig.
    output : Path, optional
        Recording, see `rtcvt.hil.recorder`.
    attach : sequence of callable
        Functions of FMU, scenario and step that return an attachment.
    record : sequence of str
        Further local variables to record, see `rtcvt.hil.importer.open_fmu`.

    Raises
    ------
    InputError
        No FMU that can run here, a scenario or fault that does not fit it, initialisation failed, or the recording
        cannot be begun.
    """
    rig = rig or Rig()
    allowed = sorted(os.sched_getaffinity(0))
    if rig.cpu is not None and rig.cpu not in allowed:
        raise InputError("--cpu", "", rig.cpu, f"one of {', '.join(map(str, allowed))}")
    with open_fmu(path, record) as fmu, own_processor(rig.cpu, rig.privileged) as (cpu, shared):
        job = _job(fmu, step, duration, scenario, rig, attach, cpu)
        loop, h = job.loop, job.step
        ended: list[str] = []

        def stop(reason: str) -> None:
            ended.append(reason)
            loop.stop()

        first = next(_chunks(fmu, job.source, h, job.steps))[:1].repeat(2, axis=0)
        attributes = {"fmu": fmu.description.modelName, "guid": fmu.description.guid, "step": h,
                      "scenario": "" if scenario is None else scenario.name}  # fmt: skip
        recorded = job.inputs + job.outputs + job.parameters
        statistics = _Statistics(recorded, job.scheduled, h)
        privileged = job.rig.privileged
        try:
            with (
                hosted(fmu, job.starts, first, h, loop, job.rig.isolated, privileged, job.rig.patience) as host,
                loop.watch_signals() as came,
                real_time(privileged, BUS_PRIORITY) as granted,
            ):
                running = Running(
                    loop, host, job.inputs, job.outputs, job.parameters, job.rig.faults, h, loop.y_fallback, stop, []
                )
                del granted["scheduler"]  # of this thread; only that of the loop matters
                about = granted | environment()
                stolen_before = stolen(loop.settings.cpu)
                recorder = _recorder(output, recorded, attributes | about, fmu.unit_file, job.steps + 1)
                kept = _Kept(recorder, stop if job.rig.needs_recording else None)
                with _left_alone_if_empty(kept, output, loop):
                    _drive(job, statistics, kept, running)
                host.free()
                stolen_after = stolen(loop.settings.cpu)
                about |= _granted(loop, shared)
                log: deque[str] = deque(maxlen=LOG_LENGTH)
                fetch_messages(log, loop.log, fmu)
                message = _message(job, host, ended, tuple(log))
                injected = [f.model_dump(exclude_none=True) for f in job.scheduled] + running.switched
                kept.finish(
                    about
                    | {"completed": not message, "message": message, "faults": json.dumps(injected)}
                    | loop.counters()
                )
                if kept.failure not in message:
                    message = "; ".join(text for text in (message, kept.failure) if text)
        finally:
            loop.close()
    if came and not message:
        message = f"{came[0]} after the last step"
    lost = None if stolen_before is None or stolen_after is None else round((stolen_after - stolen_before) * 1e3)
    notes = [*job.notes, *(note for a in job.attachments for note in a.notes)]
    notes += [] if message else warned(log, loop.counters()["warnings"])
    figures = {
        "fmu": attributes["fmu"], "guid": attributes["guid"], "scenario": None if scenario is None else scenario.name,
        "kind": "real-time run", "completed": not message, "message": message, "step_s": h, **_figures(loop),
        "stolen_ms": lost, "environment": about, "faults": statistics.faults(), "switched": running.switched,
        "limits": statistics.limits(), "notes": notes, "signals": statistics.signals(),
        **{a.name: a.figures() for a in job.attachments},
    }  # fmt: skip
    return Report(str(attributes["fmu"]), h, message, about, tuple(log), figures)


@dataclass(frozen=True)
class _Job:
    """Inputs, faults and settings of a run, checked over its whole duration."""

    fmu: Fmu
    source: Scenario
    step: float  # [s]
    steps: int
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]  # that may change
    starts: Any  # see `Fmu.starts`
    attachments: tuple[Attachment, ...]
    scheduled: tuple[Fault, ...]
    rig: Rig  # with the faults of the attachments
    loop: Loop
    notes: list[str]  # notes for the user


def _job(fmu: Fmu, step: float | None, duration: float | None, scenario: Scenario | None, rig: Rig,
         attach: Sequence[Callable[[Fmu, Scenario | None, float], Attachment]], cpu: int) -> _Job:  # fmt: skip
    h, length, n = steps_of(step, duration, scenario, fmu)
    source = scenario or Scenario(name="start values", duration=n * h)
    chunks = _chunks(fmu, source, h, n)  # errors at any time are reported before the first step
    low, high = zip(*((u.min(axis=0), u.max(axis=0)) for u in chunks), strict=True)
    attachments = tuple(make(fmu, scenario, h) for make in attach)
    starts, changes = fmu.starts(source), fmu.changes(source, h)
    open_ones = {v.name for _, v, _ in changes}.union(*(a.parameters for a in attachments))
    parameters = tuple(v for v in fmu.interface.select("parameter") if v.name in open_ones)
    scheduled = rig.faults
    rig = replace(rig, faults=scheduled + tuple(f for a in attachments for f in a.faults))
    values, places = fmu.parameter_values(starts), [v.name for v in parameters]
    schedule = [(k, places.index(v.name), value) for k, v, value in changes]
    notes = fmu_notes(fmu, length, n, h, np.array([np.min(low, axis=0), np.max(high, axis=0)]))
    loop = _loop(fmu, h, n, rig, attachments, {name: values[name] for name in places}, schedule, cpu)
    inputs, outputs = fmu.interface.select("input"), fmu.interface.select("output")
    return _Job(fmu, source, h, n, inputs, outputs, parameters, starts, attachments, scheduled, rig, loop, notes)


def _figures(loop: Loop) -> dict[str, Any]:
    """Counters and times of the loop."""
    counters = loop.counters()
    steps = counters.pop("made")
    at = loop.terminated_at
    return {
        "steps": steps, "duration_s": steps * loop.settings.step if at is None else at, "terminated_s": at,
        **counters, "policy": loop.settings.policy.name.lower().replace("_", "-"), "wall_s": loop.wall,
        "longest_gap_us": loop.gap * 1e6, "woke_late_us": loop.oversleep * 1e6,
        "latest": dict(zip(("at_s", "by_steps_us"), (loop.latest_start[0], loop.latest_start[1] * 1e6), strict=True)),
        "step_time_us": _quantiles(loop.histograms[0], loop.largest[0]),
        "lateness_us": _quantiles(loop.histograms[1], loop.largest[1]), "histograms": _histograms(loop),
    }  # fmt: skip


def _loop(fmu: Fmu, h: float, n: int, rig: Rig, attachments: Sequence[Attachment], parameters: Mapping[str, float],
          changes: Sequence[tuple[int, int, float]], cpu: int) -> Loop:  # fmt: skip
    inputs, outputs = fmu.interface.select("input"), fmu.interface.select("output")
    for name in rig.fallback:
        fmu.interface.variable(name, "input", "output")
    table = {v.name: _input(v, rig) for v in inputs}
    for attachment in attachments:
        for name, given_input in attachment.inputs.items():
            own = table[fmu.interface.variable(name, "input").name]
            table[name] = Input(own.fallback, own.hold, given_input.timeout)
    y_fallback = np.array(
        [rig.fallback.get(v.name, 0.0 if is_torque(v.unit) else np.nan) for v in outputs], dtype=float
    )
    faults = [_fault(f, fmu, h, len(inputs)) for f in rig.faults]
    settings = Settings(
        fmi=fmu.fmi, step=h, n_steps=n, policy=rig.policy, priority=PRIORITY if rig.privileged else 0, cpu=cpu,
        wake=any(a.wake for a in attachments), start=fmu.start_time, checked=sum(not v.local for v in outputs),
        logging=rig.logging,
    )  # fmt: skip
    return Loop(settings, list(table.values()), y_fallback, faults, parameters, changes)


def _input(v: Variable, rig: Rig) -> Input:
    if v.name in rig.fallback:
        return Input(rig.fallback[v.name])
    return Input(0.0) if is_torque(v.unit) else Input(v.start or 0.0, hold=True)


def _fault(f: Fault, fmu: Fmu, h: float, n_u: int) -> tuple[FaultKind, int, int, int, float]:
    index, value = 0, 0.0
    if f.signal is not None:
        v = fmu.interface.variable(f.signal, "input", "output")
        index = v.index + (n_u if v.causality == "output" else 0)
        value = f.number(difference(v.measured))  # of noise
    elif f.kind == "overload":
        value = f.number("s") * 1e9
        if value > LONGEST_OVERLOAD * 1e9:
            raise InputError(f"fault '{f.name}'", "value", f.value, f"at most {LONGEST_OVERLOAD:g} s")
    first = round(f.start / h)
    return FAULTS[f.kind], index, first, first + max(round(f.duration / h), 1), value


def _chunks(fmu: Fmu, scenario: Scenario, h: float, n: int) -> Iterator[Array]:
    """Inputs at the communication points 0 to n."""
    for k in range(0, n + 1, CHUNK):
        yield fmu.inputs(scenario, h * np.arange(k, min(k + CHUNK, n + 1), dtype=float))


def _recorder(path: Path | None, variables: Sequence[Variable], attributes: Mapping[str, Any],
              unit_file: str, rows: int) -> Recorder | None:  # fmt: skip
    if path is None:
        return None
    taken = [v.name for v in variables]
    own = [Channel(free(name, taken), unit, text) for name, unit, text in OWN_COLUMNS]
    channels = [*own, *(Channel(v.name, v.unit, v.description) for v in variables)]
    return open_recorder(path, channels, "real-time run", attributes, unit_file, rows)


def _drive(job: _Job, statistics: "_Statistics", recording: "_Kept", running: Running) -> None:
    """Start the loop and serve it to its end."""
    loop = job.loop
    chunks = _chunks(job.fmu, job.source, job.step, job.steps)
    waiting = next(chunks)
    kept: list[Array] = []
    written = time.monotonic()

    def supply() -> None:
        nonlocal waiting
        while len(waiting) and (room := loop.room) > 0:
            loop.supply(waiting[:room])
            waiting = waiting[room:]
            if not len(waiting):
                waiting = next(chunks, waiting)

    def take() -> None:
        nonlocal written
        rows = loop.take()
        if len(rows):
            statistics.add(rows)
            for listen in running.listeners:
                listen(rows)
            kept.append(rows[:, 1:])
        if time.monotonic() - written >= WRITE_INTERVAL:
            written = time.monotonic()
            recording.append(kept)

    supply()
    with ExitStack() as prepared:
        for attachment in job.attachments:
            prepared.enter_context(attachment.prepare(running))
        running.host.start()
        try:
            while loop.state is Ending.RUNNING and not loop.asked_to_stop:
                take()
                supply()
                running.host.wait(POLL_INTERVAL)
        except BaseException:
            loop.stop()
            raise
        finally:
            running.host.join()
    take()
    recording.append(kept)


class _Kept:
    """The recording of a run, as long as it can be written."""

    def __init__(self, recorder: Recorder | None, stop: Callable[[str], None] | None):
        self._recorder, self._stop = recorder, stop
        self.failure = ""

    def append(self, rows: list[Array]) -> None:
        """Write rows and forget them."""
        if self._recorder is not None and rows:
            try:
                self._recorder.append(np.concatenate(rows))
            except OSError as error:
                self._failed(error)
                if self._stop is not None:
                    self._stop(self.failure)
        rows.clear()

    def finish(self, attributes: Mapping[str, Any]) -> None:
        """Give it its name."""
        if self._recorder is not None:
            try:
                self._recorder.finish(attributes)
            except OSError as error:
                self._failed(error)

    def abandon(self) -> bool:
        """Leave it as it is; whether there is anything in it."""
        recorder, self._recorder = self._recorder, None
        return recorder is not None and recorder.abandon()

    def _failed(self, error: OSError) -> None:
        left = "its rows can be read" if self.abandon() else "it is lost"
        without = "" if self._stop is not None else "; the run went on without it"
        self.failure = f"recording: {error.strerror or error}; {left}{without}"


@contextmanager
def _left_alone_if_empty(kept: _Kept, path: Path | None, loop: Loop) -> Iterator[None]:
    """Close the recording of a run that is broken off, and remove it if the run had not begun."""
    try:
        yield
    except BaseException:
        kept.abandon()
        if path is not None and not loop.counters()["made"]:
            part_name(path).unlink(missing_ok=True)
        raise


def _granted(loop: Loop, shared: bool) -> dict[str, str]:
    """Scheduler and affinity of the loop's thread, and why not better ones; `shared`: with the loop of another rig."""
    s, (scheduler, affinity) = loop.settings, loop.refused
    if s.priority == 0:
        text = "the default"
    elif scheduler:
        text = f"the default; no SCHED_FIFO: {os.strerror(scheduler)} (needs CAP_SYS_NICE or a limit 'rtprio')"
    else:
        text = f"SCHED_FIFO, priority {s.priority}"
    where = "any" if s.cpu < 0 else f"not held on {s.cpu}: {os.strerror(affinity)}" if affinity else f"held on {s.cpu}"
    where += ", which another rig has, too" if shared else ""
    return {"scheduler": text, "cpu": where, "pacing": "native"}


def _message(job: _Job, host: Host, ended: Sequence[str], log: tuple[str, ...]) -> str:
    loop = job.loop
    at = f"at t = {loop.counters()['made'] * job.step:g} s"
    tuned = zip(loop.parameters, loop.latest()[len(loop.latest()) - len(loop.parameters) :].tolist(), strict=True)
    told = quoted(log, job.starts | {name: value for name, value in tuned if value != loop.parameters[name]})
    if loop.state is Ending.FAILED and loop.failed_output is not None:
        return f"output {job.outputs[loop.failed_output].name} was not finite {at}{told}"
    if loop.state is Ending.FAILED:
        call, status = loop.failure
        made = host.calls[call] if 0 <= call < len(host.calls) else "the unit"
        value = loop.wanted.get(made.partition(" of ")[2])
        made += "" if value is None else f" = {value:g}"
        return f"{made} returned {status_name(status, loop.settings.fmi)} {at}{told}"
    if loop.state is Ending.OVERRUN:
        return f"a step ended after the next deadline {at}, and the overrun policy is 'stop'"
    said = [signal.Signals(loop.signal).name] if loop.signal and loop.state not in ENDED_WELL else []
    said += [*ended, *([host.fate] if host.fate else [])]
    if loop.state in ENDED_WELL:
        return "; ".join(said)
    return f"{'; '.join(said)} {at}{told if loop.state is Ending.CRASHED else ''}"


def _quantiles(histogram: NDArray[np.int64], largest: float) -> dict[str, float | None]:
    """Quantiles in microseconds: middles of the bins that hold them, and the exact maximum; null of nothing."""
    names = ("median", "p99", "p99_9", "max")
    total = int(histogram.sum())
    if total == 0:
        return dict.fromkeys(names)
    edges = np.append(bin_edges(), np.inf)
    places = np.searchsorted(np.cumsum(histogram), np.array([0.5, 0.99, 0.999]) * total)
    middles = np.minimum(0.5 * (edges[places] + edges[places + 1]), largest)
    return dict(zip(names, [*(middles * 1e6).tolist(), largest * 1e6], strict=True))


def _histograms(loop: Loop) -> dict[str, list[float]]:
    """The bins from the first to the last that hold anything."""
    used = np.flatnonzero(loop.histograms.sum(axis=0))
    span = slice(used[0], used[-1] + 1) if len(used) else slice(0, 0)
    edges = bin_edges()[span] * 1e6
    return {
        "from_us": edges.tolist(),
        "step_time": loop.histograms[0, span].tolist(),
        "lateness": loop.histograms[1, span].tolist(),
    }


class _Statistics:
    """Sums over the records of a run."""

    def __init__(self, variables: Sequence[Variable], faults: Sequence[Fault], h: float):
        self._variables, self._h = variables, h
        self._faults = [(f, round(f.start / h), round((f.start + f.duration) / h)) for f in faults]
        self._count = 0
        n = len(variables)
        self._final, self._min, self._max = np.full(n, np.nan), np.full(n, np.inf), np.full(n, -np.inf)
        self._squares, self._active, self._made = np.zeros(n), np.zeros(n, dtype=np.int64), 0
        self._windows = [dict.fromkeys(("steps", "misses", "fallbacks", "no_result"), 0) for _ in faults]
        self._recovered: list[float | None] = [None] * len(faults)

    def add(self, rows: Array) -> None:
        """Records, shape (m, HEAD + number of variables)."""
        values = rows[:, HEAD:]
        with np.errstate(all="ignore"):
            self._min = np.minimum(self._min, values.min(axis=0))
            self._max = np.maximum(self._max, values.max(axis=0))
            self._squares += np.sum(values**2, axis=0)
        self._final = values[-1]
        self._count += len(rows)
        rows = rows[~np.isnan(rows[:, 2])]  # the last row is the end of the run, not a step
        flags = np.nan_to_num(rows[:, 4]).clip(0, 31).astype(np.int64)  # a unit may write anywhere
        self._made += len(rows)
        self._active += np.count_nonzero(rows[:, HEAD:] > 0.0, axis=0)
        for place, (_, first, last) in enumerate(self._faults):
            inside = (rows[:, 0] >= first) & (rows[:, 0] < last)
            window = self._windows[place]
            window["steps"] += int(np.count_nonzero(inside))
            for key, bit in (("misses", 1), ("fallbacks", 2), ("no_result", 8)):
                window[key] += int(np.count_nonzero(flags[inside] & bit))
            if self._recovered[place] is None:
                well = rows[(rows[:, 0] >= last) & (flags & 15 == 0), 0]
                self._recovered[place] = (float(well[0]) - last) * self._h if len(well) else None

    def faults(self) -> list[dict[str, Any]]:
        """For each fault: its description, its steps with misses, fall-backs and without result, ``recovered_after_s``.

        The last is the time from the end of the fault to the first step without miss, fall-back and fault that had a
        result; null if there was none.
        """
        return [
            {**fault.model_dump(exclude_none=True), **window, "recovered_after_s": recovered}
            for (fault, *_), window, recovered in zip(self._faults, self._windows, self._recovered, strict=True)
        ]

    def limits(self) -> dict[str, float]:
        """Share of the steps by output that reports an active limit."""
        shares = zip(self._variables, (self._active / max(self._made, 1)).tolist(), strict=True)
        return {v.name: share for v, share in shares if share > 0.0 and is_limit(v)}

    def signals(self) -> dict[str, Any]:
        """By name: unit, and the final, smallest, largest and root mean square value, null if not finite."""
        rms = np.sqrt(self._squares / max(self._count, 1))
        columns = {"final": self._final, "min": self._min, "max": self._max, "rms": rms}
        return {
            v.name: {"unit": v.unit, **{k: float(c[i]) if np.isfinite(c[i]) else None for k, c in columns.items()}}
            for i, v in enumerate(self._variables)
        }
