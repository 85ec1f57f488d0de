"""Run a model over a scenario at a fixed communication step, as fast as possible.

A duration that is no multiple of the step is extended to the next multiple, with a message.
"""

import json
import math
import time as clock
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.compiling.machine_code import tell
from rtcvt.errors import InputError
from rtcvt.kernel import FAILED, SATURATED
from rtcvt.model import Instance, Model, Variable
from rtcvt.model.march import address_of, march
from rtcvt.recording import Recording, Signal
from rtcvt.scenario import Scenario, apply_parameters, parameter_changes, sample_inputs, tuned_signals

Array = NDArray[np.float64]
BLOCKS = 5_000  # in which the steps of a long run are made, each in one call
LIMITS = (
    "status.end_stop", "status.force_limited", "status.extrapolating", "status.step_too_coarse", "control.saturated",
    "control.limited.", "status.macro_slip",
)  # fmt: skip


def is_limit(v: Variable) -> bool:
    """Whether a variable reports an active limit: an output with a name from `LIMITS`."""
    return v.boolean and v.causality == "output" and any(limit in v.name for limit in LIMITS)


@dataclass(frozen=True)
class Result:
    """Inputs and outputs of a run at its communication points; row k of `u` is constant from point k to the next."""

    model: Model
    scenario: Scenario
    step: float  # [s]
    p: Array  # parameters at the start, as the model orders them
    time: Array  # (n,) [s]
    u: Array  # (n, n_u)
    y: Array  # (n, n_y)
    status: NDArray[np.int8]  # (n,) of the step that led there
    step_cost: Array  # (n - 1,) wall-clock time of each step [s], in a long run the mean of those of one call

    def __getitem__(self, name: str) -> Array:
        """Values of an input or output over time."""
        v = self.model.variable(name, "input", "output")
        return (self.u if v.causality == "input" else self.y)[:, v.index]

    def parameter(self, name: str) -> float:
        """Value that a parameter had at the start of the run."""
        return float(self.p[self.model.variable(name, "parameter").index])

    def recording(self) -> Recording:
        """The run as signals by name, with its parameters and the unit file."""
        rows = self.model.select("input") + self.model.select("output")
        signals = {v.name: Signal(self[v.name], v.unit, v.description) for v in rows}
        starts = {v.name: self.parameter(v.name) for v in self.model.select("parameter")}
        signals |= tuned_signals(parameter_changes(self.model, self.scenario, self.step), starts, len(self.time))
        signals["status"] = Signal(self.status.astype(float), "1", "of the step: 0 ok, 1 a limit is active")
        about: dict[str, Any] = {"unit": self.model.name, "model": self.model.fidelity}
        about |= {"scenario": self.scenario.name, "step": self.step}
        about["parameters"] = json.dumps(starts)
        return Recording(self.time, signals, about, self.model.source)

    def figures(self) -> dict[str, Any]:
        """Results of the run for JSON; the keys are in the help of the command."""
        return {
            "unit": self.model.name,
            "model": self.model.fidelity,
            "scenario": self.scenario.name,
            "step_s": self.step,
            "steps": len(self.time) - 1,
            "duration_s": float(self.time[-1]),
            "saturated_share": float(np.mean(self.status[1:] == SATURATED)),
            "limits": limits(self.model.select("output"), self.y[1:]),
            "step_cost_us": {
                "median": float(np.median(self.step_cost) * 1e6),
                "p99": float(np.quantile(self.step_cost, 0.99) * 1e6),
            },
            "signals": signal_figures(self.recording(), without=("status",)),
        }


def limits(variables: Iterable[Variable], y: Array) -> dict[str, float]:
    """Outputs that report an active limit (`is_limit`), with the share of rows of `y` (n, n_y) in which they are
    true."""
    shares = {v.name: float(np.mean(y[:, v.index] > 0.0)) for v in variables if is_limit(v) and len(y)}
    return {name: share for name, share in shares.items() if share > 0.0}


def signal_figures(recording: Recording, without: Collection[str] = ()) -> dict[str, Any]:
    """Unit, last value, range and root mean square of each signal."""
    return {
        name: {
            "unit": s.unit,
            "final": float(s.values[-1]),
            "min": float(s.values.min()),
            "max": float(s.values.max()),
            "rms": float(np.sqrt(s.values @ s.values / len(s.values))),
        }
        for name, s in recording.signals.items()
        if name not in without
    }


def number_of_steps(duration: float, step: float, source: str) -> int:
    """Communication steps that cover a duration [s]: one more if it is no multiple of the step, see `uneven`.

    Raises
    ------
    InputError
        The step is not positive or longer than the duration, or there would be more than 1e8.
    """
    if not 0.0 < step <= duration:
        raise InputError(source, "step", step, f"a time above 0 and up to the duration, {duration:g} s")
    if duration / step > 1e8:
        raise InputError(source, "step", step, f"at most 1e8 steps; the duration is {duration:g} s")
    n = round(duration / step)
    return n if math.isclose(n * step, duration, rel_tol=1e-9) else math.ceil(duration / step)


def uneven(duration: float, n: int, step: float) -> list[str]:
    """A note on a duration [s] that is no multiple of the step, none of one that is."""
    if math.isclose(n * step, duration, rel_tol=1e-9):
        return []
    return [f"{duration:g} s is no multiple of the step, {step:g} s: the run ends at {n * step:g} s"]


def simulate(
    model: Model,
    scenario: Scenario,
    step: float | None = None,
    parameters: Mapping[str, float | str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Result:
    """Simulate a scenario.

    Parameters
    ----------
    model : Model
        The model.
    scenario : Scenario
        Inputs, duration and parameters.
    step : float, optional
        Communication step [s]; by default that of the unit.
    parameters : mapping, optional
        Parameters that override those of the scenario.
    progress : callable, optional
        Called with (steps done, steps in all) about a hundred times.
    inputs : mapping, optional
        Inputs that replace those of the scenario: functions of the time [s], or arrays with a value for each
        communication point.

    Raises
    ------
    InputError
        The scenario does not fit the model, or a step failed. If an FMU failed, `made` of the error is the result up to
        there.
    """
    h = model.step_size if step is None else step
    instance, time, u, changes = prepared(model, scenario, h, parameters, inputs)
    n = len(time) - 1
    y = np.empty((len(instance.y), n + 1)).T  # values of a signal are contiguous, not those of a point
    status = np.zeros(n + 1, dtype=np.int8)
    cost = np.empty(n)
    p = instance.p.copy()
    shown = end = 0
    began = clock.perf_counter()
    blocks = stepped(instance, time, u, changes, h, f"scenario '{scenario.name}'", max(1, n // BLOCKS))
    try:
        for k, rows, of_rows in blocks:
            end = k + len(rows)
            cost[max(k - 1, 0) : end - 1] = (clock.perf_counter() - began) / len(rows)
            y[k:end], status[k:end] = rows, of_rows
            if progress is not None and (end - 1) * 100 >= (shown + 1) * n:
                shown = (end - 1) * 100 // n
                progress(end - 1, n)
            began = clock.perf_counter()
    except InputError as error:
        if model.foreign and end > 1:
            error.made = Result(model, scenario, h, p, time[:end], u[:end], y[:end], status[:end], cost[: end - 1])
        raise
    return Result(model, scenario, h, p, time, u, y, status, cost)


def stepped(
    instance: Instance,
    time: Array,
    u: Array,
    changes: Iterable[tuple[int, Variable, float]],
    h: float,
    source: str,
    block: int,
) -> Iterator[tuple[int, Array, NDArray[np.int8]]]:
    """Initialise and step; yields outputs (m, n_y) and status (m,) of communication points from the k-th on.

    Parameters
    ----------
    instance : Instance
        With its parameters set.
    time, u : arrays (n,), (n, n_u)
        Communication points [s], and inputs, constant from each point to the next.
    changes : iterable
        Tunable parameters that change: point, variable, value.
    h : float
        Step [s].
    source : str
        Name in messages.
    block : int
        Most points at once; each block overwrites the one before.

    Raises
    ------
    InputError
        The start is not finite, or a step failed.
    """
    model, left = instance.model, deque(changes)
    n = len(time) - 1
    instance.u[:] = u[0]
    instance.initialise()
    yield 0, instance.y[None].copy(), np.zeros(1, dtype=np.int8)
    rows, status = np.empty((block, len(instance.y))), np.empty(block, dtype=np.int8)
    k = address = 0
    while k < n:
        while left and left[0][0] <= k:
            _, v, value = left.popleft()
            instance.tune(v.name, value)
        end = min(k + (block if address else 1), n, left[0][0] if left else n)
        march(instance, address, h, u[k:end], rows[: end - k], status[: end - k])
        if FAILED in status[: end - k]:
            k += int(np.argmax(status[: end - k] == FAILED))
            raise no_solution(model, source, time[k], u[k])
        if block > 1 and k == 0:
            address = address_of(instance)
        yield k + 1, rows[: end - k], status[: end - k]
        k = end


def no_solution(model: Model, source: str, t: float, u: Array) -> InputError:
    """The error of a step that failed at `t` [s] with inputs `u`."""
    inputs = ", ".join(f"{v.name} = {u[v.index]:g}" for v in model.select("input"))
    allowed = f"{model.name} ({model.fidelity}) has no finite solution from here; inputs were {inputs}"
    return InputError(source, f"step at t = {t:g} s", None, allowed)


def require_fitting(
    model: Model, scenarios: Iterable[Scenario], parameters: Mapping[str, float | str] | None = None
) -> None:
    """Refuse scenarios that `simulate` would, before the first of several runs.

    Raises
    ------
    InputError
        A scenario does not fit the model.
    """
    for scenario in scenarios:
        prepared(model, scenario, model.step_size, parameters, None)


def prepared(
    model: Model,
    scenario: Scenario,
    h: float,
    parameters: Mapping[str, float | str] | None,
    inputs: Mapping[str, Any] | None,
) -> tuple[Instance, Array, Array, deque[tuple[int, Variable, float]]]:
    """Instance with its parameters set, communication points (n,) [s], inputs (n, n_u), changes of parameters."""
    source = f"scenario '{scenario.name}'"
    n = number_of_steps(scenario.duration, h, source)
    for note in uneven(scenario.duration, n, h):
        tell(f"{source}: {note}")
    instance = model.instantiate()
    apply_parameters(instance, {**scenario.parameters, **(parameters or {})}, source)
    time: Array = np.linspace(0.0, n * h, n + 1)
    u = sample_inputs(model, scenario, time, inputs)
    return instance, time, u, deque(parameter_changes(model, scenario, h))
