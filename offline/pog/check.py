"""Errors of a unit's rigid model against its full elastic model, on the unit's own scenarios.

Three runs with the same inputs, constant over each communication step: the rigid model as it runs in real time, the
full model at the same step, and the full model at a quarter of it, the reference. For every speed and contact force

    e = RMS(rigid - reference) / max|reference|,

evaluated where the elastic transient has decayed: not within `settle` of the start, nor of a time at which a limit of
the controller or a clutch becomes active or inactive. A rigid model has no elastic transient; its size is reported
separately.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.limits import ErrorRow, failures
from rtcvt.model import Model
from rtcvt.offline.signal_errors import settled, signal_errors, told
from rtcvt.offline.toroidal.check import traction_errors
from rtcvt.offline.toroidal.drive import Drive, drive
from rtcvt.pog.system import build_model
from rtcvt.pog.toroid import with_settings
from rtcvt.pog.unit import GearSystem
from rtcvt.recording import revision
from rtcvt.scenario import Scenario
from rtcvt.simulate import Result, require_fitting, simulate

Array = NDArray[np.float64]

REFINEMENT = 4  # internal steps of the reference in one of the real-time model


@dataclass(frozen=True)
class ScenarioCheck:
    """One scenario: the runs and their results."""

    scenario: Scenario
    full: Result  # the reference
    rigid: Result
    settled: NDArray[np.bool_]  # samples that count
    errors: tuple[ErrorRow, ...]
    discretisation: float  # largest normalised RMS change of the full model from its reference to the unit's step
    energy_residual: dict[str, float]  # by model: energy that is not accounted for, relative to the throughput
    step_cost: dict[str, float]  # by model: median wall-clock time of a step [us]


@dataclass(frozen=True)
class Check:
    """All scenarios of a unit."""

    unit: GearSystem
    scenarios: tuple[ScenarioCheck, ...]
    modes: tuple[tuple[float, float], ...]  # natural frequency [Hz] and damping ratio of the full model's modes
    parameters: Mapping[str, float | str]  # parameters set in addition to those of the scenarios
    traction: tuple[ErrorRow, ...] = ()  # errors of the hybrid model's table against the integrated traction
    drives: tuple[Drive, ...] = ()  # the hybrid model against integrated traction over time

    @property
    def failures(self) -> tuple[str, ...]:
        """Every limit that is exceeded, in words."""
        return failures(self.errors)

    @property
    def hybrid(self) -> list[ErrorRow]:
        """Errors of the hybrid model: of its table, and of the runs over time."""
        return [*self.traction, *(e for drive in self.drives for e in drive.errors())]

    @property
    def errors(self) -> list[ErrorRow]:
        """All that count."""
        return [*(e for s in self.scenarios for e in s.errors), *self.hybrid]

    @property
    def passed(self) -> bool:
        """Whether all errors are within their limits."""
        return not self.failures

    def figures(self) -> dict[str, Any]:
        """Everything in numbers, ready for JSON: see the command's help for the keys."""
        return {
            "unit": self.unit.name,
            "revision": revision(),
            "parameters": dict(self.parameters),
            "passed": self.passed,
            "failures": list(self.failures),
            "modes": [{"frequency_Hz": f, "damping_ratio": d} for f, d in self.modes],
            "scenarios": [
                {
                    "name": s.scenario.name,
                    "duration_s": s.scenario.duration,
                    "step_s": s.rigid.step,
                    "settled_share": float(np.mean(s.settled)),
                    "discretisation": s.discretisation,
                    "energy_residual": s.energy_residual,
                    "step_cost_us": s.step_cost,
                    "errors": [
                        {"signal": e.name, "unit": e.unit, "nrms": e.nrms, "peak": e.peak, "transient": e.transient,
                         "scale": e.scale, "limit": e.limit}
                        for e in s.errors
                    ],
                }
                for s in self.scenarios
            ],
            "traction": [told(e) for e in self.hybrid],
            "drives": [
                {"scenario": d.hybrid.scenario.name, "start_s": float(d.time[0]), "end_s": float(d.time[-1]),
                 "rigid": [told(e) for e in d.errors("rigid")]}
                for d in self.drives
            ],
        }  # fmt: skip


def with_traction(check: Check, progress: Callable[[str, int, int], None]) -> Check:
    """The check with the errors of the hybrid model, if the unit transmits by traction."""
    unit = check.unit
    if unit.traction is None:
        return check
    progress("traction over the ellipse, and by table", 0, 1)
    model = build_model(unit, "hybrid")
    settings = {k: v for k, v in check.parameters.items() if k in model.by_name or not k.startswith("contact.")}
    drives = []
    for s in check.scenarios:
        progress(f"{s.scenario.name}: traction", 0, 1)
        drives.append(drive(unit, simulate(model, s.scenario, parameters=settings), s.rigid))
    return replace(check, traction=traction_errors(unit), drives=tuple(d for d in drives if d is not None))


def check_unit(
    unit: GearSystem,
    parameters: Mapping[str, float | str] | None = None,
    scenarios: tuple[Scenario, ...] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Check:
    """Run the rigid and the full model over the unit's scenarios and compare them.

    Parameters
    ----------
    unit : GearSystem
        The unit.
    parameters : mapping, optional
        Parameters for both models, over those of the scenarios, and of the traction of the hybrid one.
    scenarios : tuple of Scenario, optional
        Scenarios instead of the unit's own.
    progress : callable, optional
        Called with (name of the run, steps done, steps in all).

    Raises
    ------
    InputError
        The unit has no scenario, a scenario does not fit it, or it has no full model.
    """
    chosen = unit.scenario if scenarios is None else scenarios
    if not chosen:
        raise InputError(unit.source, "scenario", None, "at least one [[scenario]] to check")
    unit, own = with_settings(unit, parameters or {})
    rigid = build_model(unit, "rigid")
    full = build_model(unit, "full")
    reference = build_model(unit, "full", substeps=REFINEMENT * unit.solver.substeps)
    for model in (rigid, full):
        require_fitting(model, chosen, own)
    done = tuple(_check_scenario(unit, s, rigid, full, reference, own, progress) for s in chosen)
    ideal = full if not unit.lossy else build_model(unit.without_losses(), "full")
    return Check(unit, done, elastic_modes(ideal), dict(parameters or {}))


def _check_scenario(unit: GearSystem, scenario: Scenario, rigid: Model, full: Model, reference: Model,
                    parameters: Mapping[str, float | str] | None,
                    progress: Callable[[str, int, int], None] | None) -> ScenarioCheck:  # fmt: skip
    def run(model: Model, label: str) -> Result:
        report = None if progress is None else lambda k, n: progress(f"{scenario.name}: {label}", k, n)
        return simulate(model, scenario, parameters=parameters, progress=report)

    a = run(rigid, "rigid model")
    b = run(full, "full model at the same step")
    c = run(reference, "full model, reference")
    counted = settled(scenario.settle, a, c)
    errors: list[ErrorRow] = []
    changes: list[ErrorRow] = []
    for kind, prefix, limit in (("w", "gear.", scenario.limits.speed), ("F", "contact.", scenario.limits.force)):
        names = [v.name for v in rigid.select("output") if v.name.startswith(prefix) and v.name.endswith(f".{kind}")]
        errors += signal_errors(a, c, names, limit, counted)
        changes += signal_errors(b, c, names, limit, counted)
    return ScenarioCheck(
        scenario, c, a, counted, tuple(errors), max((e.nrms for e in changes), default=0.0),
        {"rigid": energy_residual(unit, a), "full": energy_residual(unit, c)},
        {"rigid": float(np.median(a.step_cost) * 1e6), "full": float(np.median(b.step_cost) * 1e6)},
    )  # fmt: skip


def elastic_modes(model: Model) -> tuple[tuple[float, float], ...]:
    """Natural frequency [Hz] and damping ratio of the oscillations of a full model, tilt at rest at its start.

    Losses of meshes, which hold at rest, belong in no mode: see `GearSystem.without_losses`.
    """
    instance = model.instantiate()
    instance.initialise()
    n = sum(name.endswith((".w", ".F", ".tau")) for name in (s.name for s in model.states))
    poles = np.linalg.eigvals(instance.jacobian()[:n, :n])
    oscillating = poles[poles.imag > 1e-6]
    modes = [(float(abs(p)) / (2.0 * np.pi), float(-p.real / abs(p))) for p in oscillating]
    return tuple(sorted(modes))


def energy_residual(unit: GearSystem, result: Result) -> float:
    """``|E(T) - E(0) - input + losses|`` over the run, relative to the energy that went in and out and was lost.

    The powers are those of eq. (3), integrated by the trapezoidal rule over the samples; clutches count their heat.
    """
    gears = list(unit.gears)
    omega = np.stack([result[f"gear.{g}.w"] for g in gears], axis=1)
    dt = result.step

    def trapezoid(power: Array) -> Array:
        return dt * 0.5 * (power[1:] + power[:-1])

    supplied = np.zeros(len(result.time) - 1)
    for name, port in unit.ports.items():
        speed = omega[:, gears.index(port.gear)]
        if not port.speed_in:
            supplied += dt * result[f"{name}.tau"][:-1] * 0.5 * (speed[1:] + speed[:-1])
        else:
            supplied += trapezoid(result[f"{name}.tau"] * speed)
    lost = trapezoid(result["loss.friction"])
    stored = result["storage.E"]
    heat = sum(result[v.name][-1] - result[v.name][0] for v in result.model.select("output") if v.name.endswith(".Q"))
    throughput = np.sum(np.abs(supplied)) + np.sum(lost) + heat
    residual = stored[-1] - stored[0] - np.sum(supplied) + np.sum(lost) + heat
    return float(abs(residual) / max(throughput, 1e-12))
