"""The Python interface: units, systems, instances with your own control law, runs of full models.

A unit is loaded by the name of a shipped unit or from its file. Inputs of a simulation are given by name, each as

- a number (SI), a quantity (``"20 N.m"``) or an expression of the time (``"20*sin(2*pi*t)"``),
- a function of the time [s],
- an array (n,) with one value [SI] for each of the n communication points,
- a pair ``(time, value)`` of arrays (m,), [s] and [SI], interpolated linearly, or a table as in a unit file.

Every result is a `rtcvt.Recording`: signals by name, with their units.
"""

from __future__ import annotations  # so that help() prints the names of types

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import goes_on_with, read_json, temporary_folder
from rtcvt.kernel import FAILED, SATURATED
from rtcvt.kind import Checked, Progress, Run, Task, kinds, lazily, load_unit
from rtcvt.kind import Unit as Record
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.model import Instance as Buffers
from rtcvt.recording import Recording, Signal, require_writable
from rtcvt.scenario import Scenario, Table, apply_parameters, chosen_scenario, parameter_value
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_table, read_toml, shipped_units

if TYPE_CHECKING:
    from rtcvt.fmu.calibration import Calibration
    from rtcvt.fmu.gradient import Cost, Gradient, Parameters, Sensitivities
    from rtcvt.html import ErrorRow
    from rtcvt.numerics.linearisation import Linear
    from rtcvt.offline.variator.campaign import Campaign
    from rtcvt.offline.variator.reduction import Reduction
    from rtcvt.sweeping import Method, Values

__all__ = ["FullRun", "Input", "Instance", "Unit", "campaign", "check", "load", "read", "reduce", "sweep", "units"]

Array = NDArray[np.float64]
Quantity = float | str  # a number in SI units, or a text with a unit: "20 N.m"
_own_platform = lazily("rtcvt.fmu.native.compiler:own_platform")
_export_native = lazily("rtcvt.fmu.native.export:export_native")
_export_python = lazily("rtcvt.fmu.export:export_python")
_network_of = lazily("rtcvt.hil.network:network_of")
_export_ssp = lazily("rtcvt.fmu.ssp:export_ssp")
_require_fmu_name = lazily("rtcvt.fmu.export:require_fmu_name")
_load_plan = lazily("rtcvt.offline.variator.plan:load_plan")
_run_campaign = lazily("rtcvt.offline.variator.campaign:run_campaign")
_reduced = lazily("rtcvt.offline.variator.tasks:reduced")
_sensitivities = lazily("rtcvt.fmu.gradient:sensitivities")
_calibrate = lazily("rtcvt.fmu.calibration:calibrate")
_read_run = lazily("rtcvt.hil.recorder:read")
Input = (
    float | str | Table | Mapping[str, Any] | Callable[[float], float] | ArrayLike | tuple[ArrayLike, ArrayLike]
)  # see the module


# --- units and scenarios ----------------------------------------------------------------------------------------------


def units(*kinds: str) -> dict[str, str]:
    """Names and descriptions of the shipped units.

    Parameters
    ----------
    *kinds : str
        Kinds of machines, such as ``"gear_system"`` or ``"system"``; by default all.
    """
    return {name: str(read_toml(path)[0]["description"]) for name, path in shipped_units(*kinds).items()}


def load(name: str | Path) -> Unit:
    """Read a unit.

    Parameters
    ----------
    name : str or path
        Name of a shipped unit, or path of a unit file (TOML).

    Raises
    ------
    InputError
        The unit does not exist or is not valid; the message names file, key, value and what is allowed.
    """
    return Unit(load_unit(name))


def sweep(unit: str | Path, parameters: Mapping[str, Values], scenario: str | None = None, **options: Any) -> Any:
    """Simulate a unit at many values of its parameters and inputs: `Unit.sweep`, with its options."""
    return load(unit).sweep(parameters, scenario, **options)


def read(path: str | Path) -> Recording:
    """Read a recording: a simulation, a run on a rig (HDF5 or MDF 4), or a run of a full model.

    Parameters
    ----------
    path : str or path
        The file; ``NAME.part.SUFFIX`` of a run that was killed is accepted.

    Raises
    ------
    InputError
        The file is none of these, or it is damaged.
    """
    file = goes_on_with(Path(path))
    for kind in kinds():
        found: Recording | None = None if kind.recording is None else kind.recording(file)
        if found is not None:
            return found
    return _read_run(file)


# --- a unit -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    """A machine or a system of machines; `load` returns it.

    Attributes
    ----------
    record : rtcvt.kind.Unit
        The validated unit file.
    """

    record: Record

    def __repr__(self) -> str:
        return f"<Unit {self.name}, {self.kind}: {self.description}>"

    @property
    def name(self) -> str:
        """Name of the unit."""
        return str(self.record.name)

    @property
    def kind(self) -> str:
        """Kind of machine, as in the unit file."""
        return str(self.record.kind)

    @property
    def description(self) -> str:
        """Description in one line."""
        return str(self.record.description)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the real-time models; the first is the default."""
        return self.record.models

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios in the unit file."""
        return tuple(s.name for s in getattr(self.record, "scenario", ()))

    def variables(self, model: Fidelity | None = None) -> dict[str, Variable]:
        """Parameters, inputs and outputs of a model by name: causality, unit, start value, range, description."""
        return self.record.build(model).by_name

    def with_flanges(self, choice: Mapping[str, str]) -> Unit:
        """Return the unit with other causalities of its flanges.

        Parameters
        ----------
        choice : mapping
            Name of a flange: its input, ``"torque"`` or ``"speed"``.

        Raises
        ------
        InputError
            The flange does not exist, or its causality is fixed.
        """
        return Unit(self.record.with_flanges(choice, "flanges"))

    def instance(
        self,
        model: Fidelity | None = None,
        *,
        parameters: Mapping[str, Quantity] | None = None,
        inputs: Mapping[str, Quantity] | None = None,
        step: Quantity | None = None,
        substeps: int | None = None,
        record: bool = False,
    ) -> Instance:
        """Return a running unit, for example for your own control law.

        Parameters
        ----------
        model : {"rigid", "hybrid", "full"}, optional
            Which of `models`.
        parameters, inputs : mapping, optional
            Values by name [SI] or as quantities that replace those of the unit; inputs at the start.
        step : float or str, optional
            Communication step [s]; by default the unit's.
        substeps : int, optional
            Steps of the integrator for each step of the unit.
        record : bool
            Keep all inputs and outputs, for `Instance.result`.

        Raises
        ------
        InputError
            An unknown name, or a value that is not allowed.
        """
        built = self.record.build(model, substeps)
        return Instance(built, parameters or {}, inputs or {}, _seconds("step", step, built.step_size), record)

    def simulate(
        self,
        scenario: str | Scenario | None = None,
        *,
        inputs: Mapping[str, Input] | None = None,
        duration: Quantity | None = None,
        step: Quantity | None = None,
        parameters: Mapping[str, Quantity] | None = None,
        model: Fidelity | None = None,
        substeps: int | None = None,
        signals: Sequence[str] = (),
        rate: Quantity | None = None,
        progress: Progress | None = None,
    ) -> Recording:
        """Simulate a real-time model at a fixed communication step.

        Parameters
        ----------
        scenario : str or Scenario, optional
            One of `scenarios` by name, or a scenario file. Without it and without inputs the unit's first.
        inputs : mapping, optional
            Inputs by name (see the module); they replace those of the scenario.
        duration, step : float or str, optional
            [s]; by default those of the scenario and of the unit.
        parameters : mapping, optional
            Parameters by name, over those of the scenario.
        model : {"rigid", "hybrid", "full"}, optional
            Which of `models`; by default the first.
        substeps : int, optional
            Steps of the integrator for each step of the unit.
        signals : sequence of str
            Which are kept, ``"fuel"``, ``"cvt.*"``; by default all.
        rate : float or str, optional
            Interval [s] of values that are kept; by default the step.
        progress : callable, optional
            Called with a text, steps done and steps in all.

        Returns
        -------
        Recording
            All inputs and outputs [SI] at the communication points, and ``status`` of each step: 0, or 1 with an
            active limit.

        Raises
        ------
        InputError
            An unknown name, a value that is not allowed, or a failed step.
        """
        built = self.record.build(model, substeps)
        h = _seconds("step", step, built.step_size)
        chosen, more = self._scenario(scenario, inputs, duration)

        def tell(done: int, of: int) -> None:
            if progress is not None:
                progress(chosen.name, done, of)

        every = _steps_of(rate, h)
        return simulate(built, chosen, h, parameters, tell, more).recording().chosen(signals, every)

    def sweep(
        self,
        parameters: Mapping[str, Values],
        scenario: str | Scenario | None = None,
        *,
        method: Method = "grid",
        samples: int | None = None,
        seed: int = 0,
        signals: Sequence[str] = (),
        rate: Quantity | None = None,
        inputs: Mapping[str, Input] | None = None,
        duration: Quantity | None = None,
        step: Quantity | None = None,
        model: Fidelity | None = None,
        substeps: int | None = None,
        path: str | Path | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        scheduler: str | None = None,
    ) -> Any:
        """Simulate a real-time model at many values of its parameters and inputs, on all processors.

        Parameters
        ----------
        parameters : mapping
            Values by name of parameter or input: a sequence, ``"5 kN, 10 kN"``, or a range ``"first:last:number"``
            (``"first:last:number:log"``); for a sample ``"low:high"``. Inputs are held over the run.
        scenario : str or Scenario, optional
            As of `simulate`.
        method : {"grid", "latin", "sobol", "halton", "morris", "saltelli"}
            A grid of all values, or how `samples` points are drawn, with this `seed`. With the last two the attribute
            ``sensitivity`` of ``status`` shows what results depend on (JSON), see `rtcvt.sweeping.Sweep.sensitivity`.
        signals : sequence of str
            Outputs that are kept, ``"fuel"``, ``"cvt.*"``; by default all.
        rate : float or str, optional
            Interval [s] of values that are kept. Without it statistics are: final, min, max, mean, rms.
        inputs, duration, step, model, substeps
            As of `simulate`.
        path : path, optional
            A file (netCDF-4) that grows while the sweep runs. The same sweep continues it.
        threads : int, optional
            By default one for each processor.
        progress : callable, optional
            Called with a text, points done and points in all.
        scheduler : str, optional
            Address of a dask scheduler whose workers run the points instead.

        Returns
        -------
        xarray.Dataset
            A variable for each output, with its unit, over the parameters (or ``point``) and ``statistic`` or ``time``;
            ``status`` of each point. Points that failed are NaN; the attribute ``failures`` has the causes.

        Raises
        ------
        InputError
            An unknown name, a value that is not allowed, or a file of another sweep.
        """
        from rtcvt.sweeping import Recipe, Sweep, chosen_signals, design

        built = self.record.build(model, substeps)
        h = _seconds("step", step, built.step_size)
        chosen, more = self._scenario(scenario, inputs, duration)
        if more:
            allowed = "inputs that a scenario can hold: no functions or arrays"
            raise InputError(self.name, "inputs", ", ".join(more), allowed)
        every = 0 if rate is None else _steps_of(rate, h)
        points = design(built, parameters, method, samples, seed)
        swept = Sweep(built, chosen, points, chosen_signals(built, signals), h, every)
        recipe = Recipe(self.record, model, substeps)
        swept.run(None if path is None else Path(path), threads, progress, scheduler, recipe)
        return swept.dataset()

    def sensitivities(
        self,
        parameters: Parameters,
        scenario: str | Scenario | None = None,
        *,
        signals: Sequence[str] = (),
        inputs: Mapping[str, Input] | None = None,
        duration: Quantity | None = None,
        step: Quantity | None = None,
        model: Fidelity | None = None,
        substeps: int | None = None,
    ) -> Sensitivities:
        """Simulate a real-time model with the exact derivatives of its signals by parameters; see `rtcvt.fmu.gradient`.

        Parameters
        ----------
        parameters : sequence of str or mapping
            Parameters, or inputs that are held, by which; a mapping gives their values.
        scenario, signals, inputs, duration, step, model, substeps
            As of `simulate`; of a parameter that the scenario changes, the value at the start is used.

        Returns
        -------
        Sensitivities
            Outputs (n,) and their derivatives (n, N) in SI units. Where a regime changes, they are those of the regime
            in which the run is.

        Raises
        ------
        InputError
            An unknown name, a choice, a failed step, or no C compiler.
        """
        built = self.record.build(model, substeps)
        chosen, more = self._scenario(scenario, inputs, duration)
        h = _seconds("step", step, built.step_size)
        found: Sensitivities = _sensitivities(built, chosen, h, parameters, signals, more)
        return found

    def gradient(
        self, cost: Cost, parameters: Parameters, scenario: str | Scenario | None = None, **options: Any
    ) -> Gradient:
        """Cost of a run and its exact gradient, for an optimiser.

        Parameters
        ----------
        cost : callable
            Function of the outputs, a mapping of name to array (n,) [SI], such as
            ``lambda s: np.mean((s["shaft.w"] - 100.0)**2)``.
        parameters, scenario, options
            As of `sensitivities`; ``signals`` has what the cost uses.

        Returns
        -------
        Gradient
            The cost, and its derivatives (N,): what ``scipy.optimize.minimize(..., jac=True)`` takes.
        """
        return self.sensitivities(parameters, scenario, **options).gradient(cost)

    def calibrate(
        self,
        recording: Recording,
        parameters: Parameters,
        signals: Sequence[str],
        *,
        step: Quantity | None = None,
        model: Fidelity | None = None,
        runs: int = 20,
    ) -> Calibration:
        """Parameters with which a real-time model follows a recording: least squares with exact derivatives.

        Parameters
        ----------
        recording : Recording
            With the inputs of the unit, others keep their start values, and the `signals`, from the unit's start on.
        parameters : sequence of str or mapping
            Which; a mapping gives where the search starts, by default at the unit's values.
        signals : sequence of str
            Outputs that are compared.
        step, model
            As of `simulate`.
        runs : int
            The most.

        Returns
        -------
        Calibration
            Values, standard deviations, errors of the signals, see `rtcvt.fmu.calibration`.

        Raises
        ------
        InputError
            An unknown name, a signal that does not change, or a run that fails at the start.
        """
        built = self.record.build(model)
        found: Calibration = _calibrate(
            built, recording, parameters, signals, _seconds("step", step, built.step_size), runs
        )
        return found

    def linearise(
        self,
        at: Instance | None = None,
        model: Fidelity | None = None,
        *,
        parameters: Mapping[str, Quantity] | None = None,
        inputs: Mapping[str, Quantity] | None = None,
    ) -> Linear:
        """A, B, C, D of a real-time model, with its modes and frequency responses; see `rtcvt.numerics.linearisation`.

        Parameters
        ----------
        at : Instance, optional
            Whose present state; by default the start with these `parameters` and `inputs`.
        model, parameters, inputs
            As of `instance`.

        Raises
        ------
        InputError
            An unknown name, a value that is not allowed, or an instance of another unit.
        """
        if at is None:
            return self.instance(model, parameters=parameters, inputs=inputs).linearise()
        if at.model.source != self.record.text or model or parameters or inputs:
            raise InputError(self.name, "at", repr(at), "an instance of this unit, and nothing else")
        return at.linearise()

    def _scenario(
        self, scenario: str | Scenario | None, inputs: Mapping[str, Input] | None, duration: Quantity | None
    ) -> tuple[Scenario, dict[str, Any]]:
        """The scenario with replaced signals, and the inputs that a scenario cannot contain: functions and arrays."""
        signals, more = _split(inputs or {})
        if scenario is None and inputs is not None:
            if duration is None:
                ends = [float(np.max(s["time"])) for s in signals.values() if isinstance(s, dict) and "time" in s]
                if not ends:
                    raise InputError(self.name, "duration", None, "a time above 0 s: these inputs have no end")
                duration = max(ends)
            data: dict[str, Any] = {"name": "inputs", "duration": duration, "inputs": signals}
            return parse_table(Scenario, data, self.name), more
        base = scenario if isinstance(scenario, Scenario) else chosen_scenario(self.record, scenario)
        if duration is None and not signals:
            return base, more
        data = {"name": base.name, "duration": base.duration if duration is None else duration, "inputs": signals}
        new = parse_table(Scenario, data, self.name)
        kept = {name: s for name, s in base.inputs.items() if name not in more}
        changes: dict[str, Any] = {"duration": new.duration, "inputs": {**kept, **new.inputs}}
        return base.model_copy(update=changes), more

    def simulate_full(
        self, output: str | Path | None = None, *, progress: Progress | None = None, **options: Any
    ) -> FullRun:
        """Run the full model of a belt drive or a pushbelt, offline, into a file.

        Parameters
        ----------
        output : path, optional
            File of the run (HDF5); by default named after unit and scenario or case.
        progress : callable, optional
            Called with a text, steps done and steps in all.
        options
            Those of ``rtcvt simulate UNIT --help`` with underscores, such as ``case``, ``row``, ``duration``,
            ``elements``, ``scenario``, ``resume``.

        Raises
        ------
        InputError
            The unit has no such model, or an option or value is not allowed.
        RuntimeError
            The run ended early; its file is kept.
        """
        task = self.record.task("full")
        always = {"output": None if output is None else Path(output), "figures": None}
        given = _options(task, options, self.name) | {k: v for k, v in always.items() if k in task.takes}
        run: Run = task.run(self.record, given, progress or _silent)
        if run.failure:
            raise RuntimeError(run.failure)
        return FullRun(run.path, run.figures)

    def export_ssp(self, path: str | Path | None = None, platforms: Sequence[str] = (), ssp: Literal[1, 2] = 1) -> Path:
        """Write a system as an SSP archive, with a native unit for each component.

        Parameters
        ----------
        path : path, optional
            By default ``NAME.ssp``.
        platforms : sequence of str
            As of `export`.
        ssp : {1, 2}
            Version of SSP: 1.0, with units of FMI 2.0, or 2.0, with units of FMI 3.0.

        Raises
        ------
        InputError
            The unit is not a system, or a node joins more than two flanges.
        """
        from rtcvt.network.held import parts_of

        file = Path(f"{self.name}.ssp") if path is None else Path(path)
        return _export_ssp(parts_of(self.record), file, platforms or [_own_platform()], ssp)

    def export(
        self,
        path: str | Path | None = None,
        *,
        model: Fidelity | None = None,
        backend: Literal["native", "python"] = "native",
        platforms: Sequence[str] = (),
        parameters: Mapping[str, Quantity] | None = None,
        substeps: int | None = None,
        errors: bool | str | Path = True,
        fmi: Literal[2, 3] = 2,
        clock: float | None = None,
        xcp: bool = False,
        dbc: str | Path | None = None,
        nodes: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Path:
        """Write the unit as an FMU.

        Parameters
        ----------
        path : path, optional
            By default ``NAME.fmu``.
        model : {"rigid", "hybrid", "full"}, optional
            Which of `models`.
        backend : {"native", "python"}
            Machine code with its C sources, or a unit that runs in the importing tool's Python.
        platforms : sequence of str
            Of a native unit, e.g. ``["linux64", "win64"]``; by default this machine's.
        parameters : mapping, optional
            Start values by name.
        substeps : int, optional
            Steps of the integrator for each step of the unit.
        errors : bool or path
            Whether the page inside has the errors against the full model, which needs a check, or the figures of
            an earlier check (``rtcvt check --json``).
        fmi : {2, 3}
            Version of FMI: 2.0, or 3.0 with the native backend.
        clock : float, optional
            Interval [s] of an input clock for the set point of the controller; FMI 3.0 only.
        xcp : bool
            Whether tools may measure and calibrate in the memory of a native unit (FMI-LS-XCP).
        dbc : path, optional
            CAN database by which a native unit of FMI 3.0 is a node of a network (FMI-LS-BUS).
        nodes : sequence of str
            Nodes of this database that the unit is; by default ``RIG``, or the only one that sends its outputs.
        progress : callable, optional
            Called with a text, steps done and steps in all.

        Raises
        ------
        InputError
            A name or a value that is not allowed, no compiler for a platform, or a file that cannot be written.
        """
        built = self.record.build(model, substeps, parameters)
        file = Path(f"{self.name}.fmu") if path is None else Path(path)
        _require_fmu_name(file)
        require_writable(file)
        if platforms and backend != "native":
            raise InputError("platforms", "", platforms[0], "only with the native backend")
        if fmi == 3 and backend != "native":
            raise InputError("fmi", "", fmi, "2 with the python backend")
        if clock is not None and fmi != 3:
            raise InputError("clock", "", clock, "only with fmi = 3")
        if dbc is not None and fmi != 3:
            raise InputError("dbc", "", str(dbc), "only with fmi = 3")
        network = None if dbc is None else _network_of(built, Path(dbc), nodes)
        if xcp and backend != "native":
            raise InputError("xcp", "", True, "only with the native backend")
        rows = None
        if errors is not False:
            path_of = None if errors is True else Path(errors)
            rows = error_rows(self.record, built.fidelity, parameters or {}, path_of, progress or _silent)
        page = self.record.kind_record.page(replace(built, bus=network), self.record, rows)
        if backend == "python":
            return _export_python(self.record, built.fidelity, file, substeps, parameters, page, rows)
        targets, measured = platforms or [_own_platform()], errors is not False
        return _export_native(
            self.record, built.fidelity, file, targets, substeps, parameters, page, fmi, clock, measured, rows, xcp,
            network,
        )  # fmt: skip


def error_rows(
    unit: Record, fidelity: str, settings: Mapping[str, Quantity], path: Path | None, progress: Progress
) -> list[ErrorRow] | None:
    """The check's errors of one model of a unit's record, from a file or from a new check; None if there is nothing to
    check against."""
    kind = unit.kind_record
    if kind.errors is None:
        if path is not None:
            raise InputError(unit.name, "figures", path.name, f"none: units of kind {unit.kind} have no check's errors")
        return None
    found = None
    if path is None:
        figures = kind.figures_of.get(fidelity, kind.figures)
        if figures is not None:
            found = figures(unit, settings, progress)
        if found is None:
            return None
    else:
        found = read_json(path, "a file written by rtcvt check --json")
    try:
        about = found["unit"]
        rows: list[ErrorRow] = kind.errors(unit, fidelity, settings, found)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(path or "check", "", None, f"a file written by rtcvt check --json (no {error})") from None
    if about != unit.name:
        raise InputError(path or "check", "unit", about, f"a check of {unit.name}")
    return rows


def check(
    unit: str | Path | Unit, report: str | Path | None = None, progress: Progress | None = None, **options: Any
) -> Checked:
    """Compare the real-time model of a unit with its full model.

    Parameters
    ----------
    unit : Unit, str or path
        A unit, the name of a shipped one, or a unit file.
    report : path, optional
        File of the report (HTML); runs of a belt's full model are kept in a folder next to it.
    progress : callable, optional
        Called with a text, steps done and steps in all.
    options
        Those of ``rtcvt check UNIT --help`` with underscores; ``settings`` are parameters by name.

    Returns
    -------
    Checked
        `passed`, `failures`, `figures` (as of ``--json``) and `page`, the report.

    Raises
    ------
    InputError
        The unit has no full model, or an option does not exist.
    """
    from rtcvt.recording import write_text

    given = unit if isinstance(unit, Unit) else load(unit)
    task = given.record.task("check")
    always: dict[str, Any] = {"settings": {}, "scenario": None} | _options(task, options, given.name)
    with temporary_folder() as folder:
        path = folder / "report.html" if report is None else Path(report)
        require_writable(path)
        result: Checked = task.run(given.record, always | {"report": path, "figures": None}, progress or _silent)
        write_text(path, result.page)
    return result


# --- a unit that runs -------------------------------------------------------------------------------------------------


class Instance:
    """A running unit: set inputs, step, read outputs; `Unit.instance` returns it.

    Attributes
    ----------
    model : Model
        The model with its tables of variables and states.
    step_size : float
        Communication step [s].
    limited : bool
        Whether a limit was active, or the model extrapolated, in the last step.
    """

    def __init__(
        self,
        model: Model,
        parameters: Mapping[str, Quantity],
        inputs: Mapping[str, Quantity],
        step: float,
        record: bool,
    ):
        self.model, self.step_size, self.limited = model, step, False
        self._parameters, self._inputs = dict(parameters), dict(inputs)
        self._buffers: Buffers
        self._kept: list[tuple[float, Array, Array, Array, int]] | None = [] if record else None
        self.reset()

    def __repr__(self) -> str:
        return f"<Instance of {self.model.name}, {self.model.fidelity} model, at t = {self.t:g} s>"

    @property
    def t(self) -> float:
        """Time [s]."""
        return self._buffers.t

    def reset(self) -> None:
        """Back to the start, with the parameters and inputs that the instance was made with."""
        self._buffers = self.model.instantiate()
        apply_parameters(self._buffers, self._parameters, "parameters")
        for name, value in self._inputs.items():
            self.set(name, value)
        self._buffers.initialise()
        self.limited = False
        if self._kept is not None:
            self._kept.clear()
        self._keep(0)

    def set(self, name: str, value: Quantity) -> None:
        """Set an input or a tunable parameter to a number [SI] or a quantity, until it is set again.

        Raises
        ------
        InputError
            An unknown name, a unit of another kind, a parameter that is fixed in a run, or a value out of range.
        """
        v = self.model.variable(name, "input", "parameter")
        if v.causality == "parameter":
            self._buffers.tune(*parameter_value(self.model, name, value, self.model.name))
            return
        try:
            self._buffers.u[v.index] = quantity.to_si(value, v.unit)
        except ValueError as error:
            raise InputError(self.model.name, name, value, str(error)) from None

    def set_many(self, names: Sequence[str], values: ArrayLike) -> None:
        """Set n inputs to an array (n,) of values [SI]; if one is not valid, none is set.

        Raises
        ------
        InputError
            An unknown name, a wrong number of values, or a value that is not finite.
        """
        places = [self.model.variable(name, "input").index for name in names]
        try:
            given = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            given = np.array(np.nan)
        if not np.isfinite(given).all():
            raise InputError(self.model.name, "values", values, "finite numbers")
        if given.shape != (len(places),):
            raise InputError(self.model.name, "values", f"an array of shape {given.shape}", f"{len(places)} values")
        self._buffers.u[places] = given

    def get_many(self, names: Sequence[str]) -> Array:
        """Values (n,) of n variables [SI].

        Raises
        ------
        InputError
            An unknown name.
        """
        return np.array([self._buffers.get(name) for name in names])

    def copy(self) -> Instance:
        """Return an independent copy, which continues with the same bits; ``copy.copy`` calls this."""
        other = object.__new__(Instance)
        vars(other).update(vars(self))
        other._buffers = self._buffers.copy()
        other._parameters, other._inputs = dict(self._parameters), dict(self._inputs)
        other._kept = None if self._kept is None else list(self._kept)
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Instance:
        return self.copy()

    def linearise(self) -> Linear:
        """A, B, C, D at the present state, see `rtcvt.numerics.linearisation`."""
        from rtcvt.numerics.linearisation import linearise

        return linearise(self._buffers)

    def get(self, name: str) -> float:
        """Value of a variable [SI].

        Raises
        ------
        InputError
            An unknown name.
        """
        return self._buffers.get(name)

    __getitem__ = get
    __setitem__ = set

    def step(self, h: Quantity | None = None) -> None:
        """Advance by `h` [s], by default by `step_size`.

        Raises
        ------
        InputError
            No finite solution exists for these inputs; the instance is unchanged.
        """
        self._keep_inputs()
        status = self._buffers.step(_seconds("step", h, self.step_size))
        if status == FAILED:
            values = ", ".join(f"{v.name} = {self._buffers.u[v.index]:g}" for v in self.model.select("input"))
            allowed = f"inputs from which there is a finite solution; they were {values}"
            raise InputError(self.model.name, f"step at t = {self.t:g} s", None, allowed)
        self.limited = status == SATURATED
        self._keep(status)

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue from here with the same bits."""
        return self._buffers.get_state()

    def restore(self, state: dict[str, Any]) -> None:
        """Return to a `state` of the same model and delete later recorded points."""
        self._buffers.set_state(state)
        if self._kept is not None:
            self._kept[:] = [row for row in self._kept if row[0] <= self.t]

    def result(self) -> Recording:
        """Return the recording since the start, with parameters that changed.

        Raises
        ------
        InputError
            The instance was made without ``record=True``.
        """
        if self._kept is None:
            raise InputError(self.model.name, "record", False, "an instance made with record=True")
        time, p, u, y, status = (np.array(column) for column in zip(*self._kept, strict=True))
        columns = {"parameter": p, "input": u, "output": y}
        changed = [v for v in self.model.select("parameter") if np.ptp(p[:, v.index]) > 0.0]
        signals = {
            v.name: Signal(columns[v.causality][:, v.index], v.unit, v.description)
            for v in (*self.model.select("input"), *self.model.select("output"), *changed)
        }
        signals["status"] = Signal(status.astype(float), "1", "of the step: 0 ok, 1 a limit is active")
        about = {"unit": self.model.name, "model": self.model.fidelity, "step": self.step_size}
        return Recording(time.astype(float), signals, about, self.model.source)

    def _keep(self, status: int) -> None:
        if self._kept is not None:
            b = self._buffers
            self._kept.append((b.t, b.p.copy(), b.u.copy(), b.y.copy(), status))

    def _keep_inputs(self) -> None:
        """Record the inputs at the last point."""
        if self._kept:
            t, _, _, y, status = self._kept[-1]
            self._kept[-1] = (t, self._buffers.p.copy(), self._buffers.u.copy(), y, status)


# --- full models and reduction ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FullRun:
    """A run of a full model.

    Attributes
    ----------
    path : Path
        File of the run (HDF5).
    figures : dict
        The figures of ``rtcvt simulate --json``.
    """

    path: Path
    figures: dict[str, Any]

    def recording(self) -> Recording:
        """Read pulleys, forces and energies over time."""
        return read(self.path)

    def fields(self) -> dict[str, Signal]:
        """Fields of a pushbelt by name, (frames, places) on the grid of `rtcvt.offline.pushbelt.run.snapshots`."""
        tables = self.recording().tables
        return {name.removeprefix("fields."): tables[name] for name in tables if name.startswith("fields.")}


def campaign(
    unit: str | Path | Unit,
    plan: str | Path,
    folder: str | Path,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """Run the full model of a pushbelt over a plan of operating points and transients; see ``rtcvt campaign --help``.

    Parameters
    ----------
    unit : Unit, str or path
        A pushbelt.
    plan : str or path
        A shipped plan by name, or a TOML file.
    folder : path
        Folder of the runs; existing runs are kept.
    scheduler : str, optional
        Address of a dask scheduler; by default `workers` processes run here.
    workers : int, optional
        Number of processes; by default one for each processor.
    progress : callable, optional
        Called with a text, steps done and steps in all.

    Returns
    -------
    Campaign
        Names of the runs that are `done`, `failed` (and why) and `missing`.

    Raises
    ------
    InputError
        The plan or unit is not valid, or the folder contains runs of another one.
    """
    given = unit if isinstance(unit, Unit) else load(unit)
    if given.kind != "pushbelt":
        raise InputError(given.name, "kind", given.kind, "pushbelt")
    chosen, text = _load_plan(plan)
    record: Any = given.record
    return _run_campaign(
        record, record.text, chosen, text, Path(folder), scheduler=scheduler, workers=workers, progress=progress
    )


def reduce(folder: str | Path, output: str | Path, *, progress: Progress | None = None) -> Reduction:
    """Make a reduced model of a pushbelt variator from the runs of a campaign; see ``rtcvt reduce --help``.

    Parameters
    ----------
    folder : path
        Folder of the runs.
    output : path
        File of the reduced model (HDF5), which the key ``reduced`` of a variator's unit file names.
    progress : callable, optional
        Called with a text, steps done and steps in all.

    Returns
    -------
    Reduction
        The model, laws with their cross-validated errors, and fields with their modes.

    Raises
    ------
    InputError
        Too few runs that settle, or runs of different belts.
    """
    from rtcvt.variator.reduced.file import write_reduced

    path = Path(output)
    require_writable(path)
    found, _ = _reduced(sorted(Path(folder).glob("*.h5")), path.stem, progress=progress)
    write_reduced(found.model, path)
    return found


# --- values -----------------------------------------------------------------------------------------------------------


def _silent(text: str, done: int, of: int) -> None:
    del text, done, of


def _steps_of(rate: Quantity | None, h: float) -> int:
    """Steps of `h` [s] between two values that are kept."""
    return 1 if rate is None else max(1, round(_seconds("rate", rate, h) / h))


def _seconds(key: str, value: Quantity | None, default: float) -> float:
    if value is None:
        return default
    with AsInputError(ValueError, key, "", value, str):
        found = quantity.to_si(value, "s")
    if found <= 0.0:
        raise InputError(key, "", value, "a time above 0 s")
    return found


def _options(task: Task, given: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Options of a task by name in SI units, those that are not given at their default."""
    own = {option.name: option for option in task.options}
    for name in given:
        if name not in own and name not in task.takes:
            known = sorted({*own, *task.takes} - {"output", "figures"})
            raise InputError(source, name, None, f"not one of the options: {', '.join(known)}")
    values: dict[str, Any] = {name: given.get(name) for name in task.takes if name not in ("output", "figures")}
    for name, option in own.items():
        value = given.get(name, option.default)
        if option.unit and value is not None:
            with AsInputError(ValueError, source, name, value, str):
                value = quantity.to_si(value, option.unit)
        values[name] = value
    return values


def _split(inputs: Mapping[str, Input]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs that a scenario can hold, and functions and arrays."""
    signals: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, tuple) and len(value) == 2:
            t, x = (np.asarray(v, dtype=float) for v in value)
            signals[name] = {"time": t.ravel().tolist(), "value": x.ravel().tolist()}
        elif isinstance(value, Mapping):
            signals[name] = dict(value)
        elif callable(value) or np.ndim(value) > 0:  # type: ignore[arg-type]
            more[name] = value
        else:
            signals[name] = value.item() if isinstance(value, np.generic) else value
    return signals, more
