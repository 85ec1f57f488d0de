"""Run a model over a scenario at a fixed communication step, as fast as it goes."""

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.kernel import FAILED, SATURATED
from rtcvt.model import Model
from rtcvt.scenario import apply_parameters, sample_inputs
from rtcvt.unitfile import Scenario

__all__ = ["Result", "number_of_steps", "simulate"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """Inputs and outputs of a run at its communication points; `u` is what was held from each of them on."""

    model: Model
    scenario: Scenario
    step: float  # [s]
    p: Array  # parameters, as the model orders them
    time: Array  # (n,) [s]
    u: Array  # (n, n_u)
    y: Array  # (n, n_y)
    status: NDArray[np.int8]  # (n,) of the step that led there
    step_cost: Array  # (n - 1,) wall-clock time of each step call [s]

    def __getitem__(self, name: str) -> Array:
        """Values of an input or output over time."""
        v = self.model.variable(name, "input", "output")
        return (self.u if v.causality == "input" else self.y)[:, v.index]

    def parameter(self, name: str) -> float:
        """Value that a parameter had in the run."""
        return float(self.p[self.model.variable(name, "parameter").index])

    def figures(self) -> dict[str, Any]:
        """What the run amounts to, ready for JSON: see the command's help for the keys."""
        signals = {}
        for v in self.model.select("input") + self.model.select("output"):
            values = self[v.name]
            signals[v.name] = {
                "unit": v.unit,
                "final": float(values[-1]),
                "min": float(values.min()),
                "max": float(values.max()),
                "rms": float(np.sqrt(np.mean(values**2))),
            }
        return {
            "unit": self.model.name,
            "model": self.model.fidelity,
            "scenario": self.scenario.name,
            "step_s": self.step,
            "steps": len(self.time) - 1,
            "duration_s": float(self.time[-1]),
            "saturated_share": float(np.mean(self.status[1:] == SATURATED)),
            "step_cost_us": {
                "median": float(np.median(self.step_cost) * 1e6),
                "p99": float(np.quantile(self.step_cost, 0.99) * 1e6),
            },
            "signals": signals,
        }


def number_of_steps(duration: float, step: float, source: str) -> int:
    """Communication steps in a duration [s].

    Raises
    ------
    InputError
        The step is not positive or longer than the duration, or there would be more than 1e8.
    """
    if not 0.0 < step <= duration:
        raise InputError(source, "step", step, f"a time above 0 and up to the duration, {duration:g} s")
    if duration / step > 1e8:
        raise InputError(source, "step", step, f"at most 1e8 steps; the duration is {duration:g} s")
    return round(duration / step)


def simulate(
    model: Model,
    scenario: Scenario,
    step: float | None = None,
    parameters: Mapping[str, float | str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Simulate a scenario.

    Parameters
    ----------
    model : Model
        What to run.
    scenario : Scenario
        Inputs, duration and parameters.
    step : float, optional
        Communication step [s]; by default that of the unit.
    parameters : mapping, optional
        Parameters that override those of the scenario.
    progress : callable, optional
        Called with (steps done, steps in all) about a hundred times.

    Raises
    ------
    InputError
        The scenario does not fit the model, or a step failed.
    """
    h = model.step_size if step is None else step
    n = number_of_steps(scenario.duration, h, f"scenario '{scenario.name}'")
    instance = model.instantiate()
    apply_parameters(instance, {**scenario.parameters, **(parameters or {})}, f"scenario '{scenario.name}'")
    time: Array = np.linspace(0.0, n * h, n + 1)
    u = sample_inputs(model, scenario, time)
    y = np.empty((n + 1, len(instance.y)))
    status = np.zeros(n + 1, dtype=np.int8)
    cost = np.empty(n)
    instance.u[:] = u[0]
    instance.initialise()
    y[0] = instance.y
    stride = max(1, n // 100)
    for k in range(n):
        instance.u[:] = u[k]
        began = clock.perf_counter()
        status[k + 1] = instance.step(h)
        cost[k] = clock.perf_counter() - began
        if status[k + 1] == FAILED:
            raise InputError(
                f"scenario '{scenario.name}'",
                f"step at t = {time[k]:g} s",
                None,
                f"{model.name} ({model.fidelity}) has no finite solution from here; inputs were "
                + ", ".join(f"{v.name} = {u[k, v.index]:g}" for v in model.select("input")),
            )
        y[k + 1] = instance.y
        if progress is not None and (k + 1) % stride == 0:
            progress(k + 1, n)
    return Result(model, scenario, h, instance.p, time, u, y, status, cost)
