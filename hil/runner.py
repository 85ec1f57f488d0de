"""A run of an FMU over a scenario, against the clock or as fast as possible, and its result.

All inputs are sampled and all memory is allocated before the first step; the recording is written after the last. A
failed step and SIGINT or SIGTERM end the run, and its results until then are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files.names import free
from rtcvt.hil.cosimulation import start, warned
from rtcvt.hil.importer import Fmu, open_fmu
from rtcvt.hil.pacing import Timing, environment, interruptible, pace, real_time
from rtcvt.model import Variable
from rtcvt.quantity import shown
from rtcvt.recording import Recording, Signal
from rtcvt.scenario import Scenario, tuned_signals
from rtcvt.simulate import limits, number_of_steps, uneven

Array = NDArray[np.float64]

MEMORY_LIMIT = 2 * 2**30  # [bytes] of recorded values
MOST_NOTES = 8  # on inputs beyond their range


@dataclass(frozen=True)
class Result:
    """Inputs and outputs of a run at its communication points, and when its n steps were made."""

    fmu: str  # the FMU's name
    guid: str
    scenario: str | None
    step: float  # [s]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    u: Array  # (n + 1, n_u), held from each point on
    y: Array  # (n + 1, n_y)
    tuned: dict[str, Signal]  # parameters that change, by name, (n + 1,)
    timing: Timing
    warnings: int  # FMI calls that returned a warning
    message: str  # why the run ended early; empty if it did not
    terminated_at: float | None  # [s] when the unit ended the simulation
    log: tuple[str, ...]  # last messages of the FMU
    environment: dict[str, str]
    unit_file: str
    notes: tuple[str, ...] = ()  # unexpected conditions

    @property
    def completed(self) -> bool:
        """Whether all steps were made, or all until the unit ended the simulation."""
        return not self.message

    @property
    def paced(self) -> bool:
        """Whether the run kept to the clock."""
        return self.timing.due is not None

    @property
    def kind(self) -> str:
        """Kind of its recording."""
        return "real-time run" if self.paced else "unpaced run"

    @property
    def time(self) -> Array:
        """Communication points [s], shape (n + 1,)."""
        time = self.step * np.arange(len(self.u), dtype=float)
        if self.terminated_at is not None:
            time[-1] = self.terminated_at
        return time

    def __getitem__(self, name: str) -> Array:
        """Values of an input or output over time."""
        return self._signals()[name].values

    def figures(self) -> dict[str, Any]:
        """Results of the run for JSON; numbers are finite or null.

        ``fmu``, ``guid``, ``scenario`` (null if inputs kept their start values), ``kind``, ``completed``, ``message``,
        ``step_s``, ``steps`` (made), ``duration_s`` (simulated), ``wall_s`` (from the first step to the end of the
        last), ``terminated_s`` (when the unit ended the simulation, else null),
        ``notes`` (unexpected conditions), ``warnings`` (FMI calls that returned a warning),
        ``misses`` (steps that ended after the next deadline;
        null if unpaced), ``step_time_us`` and ``lateness_us`` (start of a step after its deadline; null if unpaced):
        ``median``, ``p99``, ``p99_9``, ``max``; ``environment``: ``scheduler``, ``memory``, ``garbage_collector``,
        ``system``, ``cpus``, ``governor``, ``python``; ``limits``: share of the steps by output that reports that a
        limit is active; ``signals``: by name ``unit``, ``final``, ``min``, ``max``,
        ``rms``.
        """
        timing = self.timing
        steps = len(timing.began)
        return {
            "fmu": self.fmu, "guid": self.guid, "scenario": self.scenario, "kind": self.kind,
            "completed": self.completed, "message": self.message, "step_s": self.step, "steps": steps,
            "duration_s": float(self.time[-1]), "terminated_s": self.terminated_at,
            "wall_s": float(timing.ended[-1] - timing.began[0]) * 1e-9 if steps else 0.0, "notes": list(self.notes),
            "warnings": self.warnings, "misses": timing.misses, "step_time_us": _quantiles(timing.step_time),
            "lateness_us": None if timing.lateness is None else _quantiles(timing.lateness),
            "environment": self.environment, "limits": limits(self.outputs, self.y[1:]),
            "signals": {name: _summary(signal) for name, signal in self._signals().items()},
        }  # fmt: skip

    def recording(self) -> Recording:
        """All inputs and outputs, ``step_time`` and, if paced, ``lateness`` of the step that begins at each time.

        If a variable has such a name, their names begin with ``rig.``. Both are NaN at the last time, at which no step
        begins.
        """
        signals = self._signals()
        own = {"step_time": (self.timing.step_time, "duration of the step from here"),
               "lateness": (self.timing.lateness, "start of the step from here after its deadline")}  # fmt: skip
        for name, (values, text) in own.items():
            if values is not None:
                signals[free(name, signals)] = Signal(np.append(values, np.nan), "s", text)
        attributes = {
            "fmu": self.fmu, "guid": self.guid, "scenario": self.scenario or "", "step": self.step,
            "completed": self.completed, "message": self.message, **self.environment,
        }  # fmt: skip
        return Recording(self.time, signals, attributes, self.unit_file)

    def _signals(self) -> dict[str, Signal]:
        tables = ((self.inputs, self.u), (self.outputs, self.y))
        found = {v.name: Signal(table[:, v.index], v.unit, v.description) for rows, table in tables for v in rows}
        return found | self.tuned


def run(
    path: Path,
    step: float | None = None,
    duration: float | None = None,
    scenario: Scenario | None = None,
    fast: bool = False,
    record: Sequence[str] = (),
    logging: bool = True,
) -> Result:
    """Run a co-simulation FMU of FMI 2.0 or 3.0 at a fixed step.

    Parameters
    ----------
    path : Path
        The FMU.
    step : float, optional
        Communication step [s]; by default that of the FMU's default experiment.
    duration : float, optional
        By default that of the scenario, or of the FMU's default experiment [s].
    scenario : Scenario, optional
        Inputs and parameters; by default all keep their start values.
    fast : bool
        Do not wait for the clock, and leave scheduler and memory as they are.
    record : sequence of str
        Further local variables to record, see `rtcvt.hil.importer.open_fmu`.
    logging : bool
        Whether the unit's messages are logged.

    Returns
    -------
    Result
        Also if the run ended early: see `Result.completed`.

    Raises
    ------
    InputError
        No FMU that can run here, a scenario that does not fit it, no step or duration, or initialisation failed.
    """
    with open_fmu(path, record) as fmu:
        h, length, n = steps_of(step, duration, scenario, fmu)
        inputs, outputs = fmu.interface.select("input"), fmu.interface.select("output")
        if 16 * (n + 1) * (len(inputs) + len(outputs) + 2) > MEMORY_LIMIT:
            raise InputError(path.name, "step", h, f"fewer steps than {n}, whose values do not fit into 2 GiB")
        source = scenario or Scenario(name="start values", duration=n * h)
        u = fmu.inputs(source, np.linspace(0.0, n * h, n + 1))
        notes = fmu_notes(fmu, length, n, h, np.array([u.min(axis=0), u.max(axis=0)]))
        starts, changes = fmu.starts(source), fmu.changes(source, h)
        with start(fmu, starts, u, h, logging=logging) as slave:
            if changes:
                slave.schedule((k, v.name, value) for k, v, value in changes)
            with interruptible() as received, real_time(not fast) as granted:
                timing = pace(
                    slave.step, n, None if fast else h, lambda: bool(received) or slave.terminated_at is not None
                )
            points = len(timing.began) + 1
            message = slave.failure
            if received and not message and points <= n:
                message = f"{received[0]} at t = {(points - 1) * h:g} s"
            return Result(
                fmu=fmu.description.modelName, guid=fmu.description.guid,
                scenario=None if scenario is None else scenario.name, step=h, inputs=inputs, outputs=outputs,
                u=u[:points], y=slave.y[:points], tuned=tuned_signals(changes, fmu.parameter_values(starts), points),
                timing=timing, warnings=slave.warnings, message=message, terminated_at=slave.terminated_at,
                log=tuple(slave.log), environment=granted | environment(), unit_file=fmu.unit_file,
                notes=(*notes, *([] if message else warned(slave.log, slave.warnings))),
            )  # fmt: skip


def describe(environment: dict[str, str]) -> str:
    """A run's environment in one line."""
    return (
        "{system}, {cpus}, governor {governor}, Python {python}; scheduler: {scheduler}; memory: {memory}; "
        "garbage collector: {garbage_collector}".format(**environment)
    )


def steps_of(
    step: float | None, duration: float | None, scenario: Scenario | None, fmu: Fmu
) -> tuple[float, float, int]:
    """Step [s], duration [s] and number of steps of a run, as given or as in the FMU's default experiment.

    Raises
    ------
    InputError
        Step or duration is missing or out of range.
    """
    h = _given(step, fmu.default("stepSize") if step is None else None, fmu, "step")
    key = "DefaultExperiment stepSize"
    if step is None and not 0.0 < h < np.inf:
        raise InputError(fmu.file, key, h, "a finite time above 0 s; give a step (--step) in its place")
    length = _duration(duration, scenario, fmu, h)
    if step is None and h > length:
        raise InputError(fmu.file, key, h, f"a time up to the duration, {length:g} s; give a step (--step)")
    return h, length, number_of_steps(length, h, fmu.file)


def _given(value: float | None, default: float | None, fmu: Fmu, key: str) -> float:
    """A value, or its default; `InputError` if there is neither."""
    found = default if value is None else value
    if found is None:
        raise InputError(fmu.file, key, None, f"this FMU has no default: give a {key}")
    return found


def _duration(duration: float | None, scenario: Scenario | None, fmu: Fmu, h: float) -> float:
    """Duration [s] as given, or that of the scenario, or of the FMU's default experiment, for steps of h [s]."""
    key, start, stop = "DefaultExperiment", fmu.start_time, fmu.default("stopTime")
    if np.spacing(abs(start)) > 1e-3 * h > 0.0:
        raise InputError(fmu.file, f"{key} startTime", start, f"a time that a step of {h:g} s changes")
    if duration is not None or scenario is not None or stop is None:
        return _given(duration, None if scenario is None else scenario.duration, fmu, "duration")
    if not start < stop < np.inf:
        raise InputError(fmu.file, f"{key} stopTime", stop, f"a finite time after the start, {start:g} s")
    whole = round((stop - start) / h) * h if h > 0.0 else 0.0  # apart from rounding of the times
    return (
        whole if whole and abs(start + whole - stop) <= np.spacing(abs(start)) + np.spacing(abs(stop)) else stop - start
    )


def fmu_notes(fmu: Fmu, duration: float, n: int, h: float, u: Array) -> list[str]:
    """Notes on unexpected conditions of a run of n steps with extreme inputs u (2, n_u)."""
    low, high = u
    beyond = [v for v in fmu.interface.select("input") if not (v.minimum is None or v.minimum <= low[v.index]) or
              not (v.maximum is None or high[v.index] <= v.maximum)]  # fmt: skip
    notes = [
        f"beyond its range: {v.name}, {low[v.index]:g} to {shown(high[v.index], v.unit)}" for v in beyond[:MOST_NOTES]
    ]
    notes += [f"the unit's time begins at {fmu.start_time:g} s"] if fmu.start_time else []
    return [*notes, *fmu.notes, *uneven(duration, n, h)]


def _quantiles(seconds: Array) -> dict[str, float | None]:
    """Quantiles in microseconds, null of nothing."""
    if not len(seconds):
        return dict.fromkeys(("median", "p99", "p99_9", "max"))
    values = np.quantile(seconds, (0.5, 0.99, 0.999, 1.0)) * 1e6
    return dict(zip(("median", "p99", "p99_9", "max"), values.tolist(), strict=True))


def _summary(signal: Signal) -> dict[str, Any]:
    v = signal.values
    with np.errstate(all="ignore"):
        numbers = {"final": v[-1], "min": v.min(), "max": v.max(), "rms": np.sqrt(np.mean(v**2))}
    return {"unit": signal.unit} | {k: float(x) if np.isfinite(x) else None for k, x in numbers.items()}
