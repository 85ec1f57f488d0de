"""Scenarios: inputs over time, sampled at the communication points and held between them.

A signal is a number in SI units, a quantity (``"20 N.m"``), an expression of the time ``t`` [s]
(``"20*sin(2*pi*t/3)"`` or ``"clip(40*t, 0, 20)"``, in SI units; `rtcvt.files.expression`) or a table
``{ time = [...], value = [...], interpolation = ... }`` with ``linear`` or ``smooth`` (half a cosine, so without jumps
in slope) transitions, ``previous`` (steps), or ``natural`` (linear, steps of integers and truth values). Two points of
one time are a jump: the first value counts up to this time, the second from it on. Before its first and after its last
time a table keeps the first and last value. A speed [rad/s] may pulsate as that of a
crankshaft does: ``"engine_order(clip(400*t, 0, 200), 2, 0.05)"`` has a second engine order of 5 % of the mean speed
(`rtcvt.numerics.engine_order`).

Tunable parameters may change while a scenario runs: ``[tune."control.K_theta"]`` has ``time`` and ``value``, the values
from these times on. States stay as they are.

A scenario file may also hold faults, one table ``[fault.NAME]`` each, that a rig injects while it runs the scenario.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError, near
from rtcvt.files import TIMES, expression, misplaced
from rtcvt.files.cycle import load_cycle
from rtcvt.unitfile import Duration, Record, Time, is_file, parse_table, read_record, read_toml

if TYPE_CHECKING:
    from rtcvt.model import Instance, Variable, VariableTable
    from rtcvt.recording import Signal as Recorded

Array = NDArray[np.float64]

ROUNDING = 1e-14  # relative, of a time that is a multiple of the step


class Table(Record):
    """A signal over time through the given points or along a driving cycle."""

    time: tuple[Time, ...] = Field(min_length=1)  # not falling; two of one time are a jump
    value: tuple[str | bool | float, ...] = Field(min_length=1)  # at these times
    interpolation: Literal["linear", "smooth", "previous", "natural"] = "linear"  # between the points
    unit: str = ""  # of values without one; by default that of the variable
    cycle: str = ""  # a driving cycle instead of times and values [m/s]
    _origin: tuple[str, str] | None = PrivateAttr(None)  # file and column that it was read from

    @property
    def jumps(self) -> list[float]:
        """Times at which it has two points."""
        return [a for a, b in pairwise(self.time) if a == b]

    @model_validator(mode="before")
    @classmethod
    def _read_cycle(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping) or "cycle" not in data:
            return data
        if "time" in data or "value" in data:
            raise ValueError("either 'cycle' or 'time' and 'value'")
        if not isinstance(data["cycle"], str):
            raise ValueError(f"a shipped cycle or a CSV file of this folder as a text, not {data['cycle']!r}")
        cycle = load_cycle(data["cycle"], (info.context or {}).get("folder"))
        return {**data, "time": cycle.time.tolist(), "value": [f"{v!r} m/s" for v in cycle.v.tolist()]}

    @model_validator(mode="after")
    def _ordered(self) -> "Table":
        _require_points(self.time, self.value)
        if (k := misplaced(self.time)) is not None:
            raise ValueError(f"{TIMES}; here {self.time[k]:g} s follows {self.time[k - 1]:g} s")
        if len(self.time) == 1 and self.time[0] > 0.0:
            raise ValueError("two points or more, or a number: before its first time a table has its first value")
        return self


def _require_points(time: Sequence[float], value: Sequence[object]) -> None:
    if len(time) != len(value):
        raise ValueError(f"as many values as times: {len(time)} times, {len(value)} values")


class Change(Record):
    """Values of a tunable parameter over time."""

    time: tuple[Time, ...] = Field(min_length=1)  # increasing
    value: tuple[str | bool | float, ...] = Field(min_length=1)  # from these times on

    @model_validator(mode="after")
    def _increasing(self) -> "Change":
        _require_points(self.time, self.value)
        if any(b <= a for a, b in pairwise(self.time)):
            raise ValueError("times must increase")
        return self


Signal = bool | float | str | Table  # number, or truth value of a Boolean; quantity or expression of t; table


class Limits(Record):
    """Largest normalised RMS errors of the rigid model against the full one."""

    speed: Annotated[float, Field(gt=0)] = 0.01  # of speeds, 0.01 is 1 %
    force: Annotated[float, Field(gt=0)] = 0.02  # of forces and torques


class Scenario(Record):
    """Inputs over time. `settle` is the time in which the elastic transient decays, see `rtcvt.offline.pog.check`."""

    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    duration: Duration  # of the scenario
    settle: Time = 0.0  # how long the elastic transient decays
    inputs: dict[str, Signal] = {}  # signals, by name of the input
    parameters: dict[str, bool | float | str] = {}  # other values of parameters, by name
    tune: dict[str, Change] = {}  # changes of tunable parameters, by name
    limits: Limits = Limits()  # of the check

    @model_validator(mode="after")
    def _settles(self) -> "Scenario":
        if self.settle >= self.duration:
            raise ValueError(f"settle must be less than the duration: {self.settle:g} s, {self.duration:g} s")
        return self


def get_scenario(unit: Any, name: str) -> Scenario:
    """One of the own scenarios of a unit of any kind.

    Raises
    ------
    InputError
        It has no such scenario.
    """
    scenarios: tuple[Scenario, ...] = tuple(unit.scenario)
    for s in scenarios:
        if s.name == name:
            return s
    names = [s.name for s in scenarios]
    guess = near(name, names).partition("; did you mean ")[2]
    known = "; ".join(names) or "none"
    allowed = f"this unit's scenarios are: {known}{guess and f'; did you mean {guess}'}"
    raise InputError(unit.source, "scenario", name, allowed)


def chosen_scenario(unit: Any, name: str | None) -> Scenario:
    """A scenario of a unit by its name, or of a file that ends in ``.toml``; without a name the unit's first.

    Raises
    ------
    InputError
        There is none.
    """
    if name is None:
        if not unit.scenario:
            inputs = near("", (v.name for v in unit.build().select("input")))
            allowed = "this unit has none: write a table [[scenario]] with name, duration and inputs into its file, or "
            allowed += f"a file with these keys for --scenario FILE.toml. Inputs{inputs or ': none'}"
            raise InputError(unit.source, "scenario", None, allowed)
        first: Scenario = unit.scenario[0]
        return first
    return load_scenario(name) if name.endswith(".toml") else get_scenario(unit, name)


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file: the keys of one ``[[scenario]]``, at the top level."""
    path = Path(path)
    if not is_file(path):
        raise InputError("scenario", "", str(path), "a TOML file with the keys of one [[scenario]]")
    return read_record(Scenario, path, {"name": path.stem}, path.parent)[0]


MESSAGE_FAULTS = ("drop", "delay", "duplicate", "corrupt")


class Fault(Record):
    """A fault from `start` on for `duration` [s].

    Of a signal: ``stuck`` at its last value, ``noise`` of standard deviation `value`, ``nan``. Of the unit:
    ``overload``, each step lasts `value` longer, and ``unit_error``, no step is made and outputs have their fall-back
    values. Of messages on the bus, those named `message` or all: ``drop``, ``delay`` by `value`, ``duplicate``,
    ``corrupt``, each applied to a message with probability `share`.
    """

    name: str
    kind: Literal["stuck", "noise", "nan", "overload", "unit_error", "drop", "delay", "duplicate", "corrupt"]
    start: Time
    duration: Time
    signal: str | None = None
    message: str | None = None
    value: float | str | None = None
    share: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "Fault":
        if (self.signal is not None) != (self.kind in ("stuck", "noise", "nan")):
            raise ValueError("a signal is needed for stuck, noise and nan, and only for them")
        if (self.value is not None) != (self.kind in ("noise", "overload", "delay")):
            raise ValueError("a value is needed for noise, overload and delay, and only for them")
        if self.message is not None and self.kind not in ("drop", "delay", "duplicate", "corrupt"):
            raise ValueError("a message only for drop, delay, duplicate and corrupt")
        return self

    def number(self, unit: str | quantity.Unit) -> float:
        """`value` in a unit, 0 if there is none.

        Raises
        ------
        InputError
            It has another unit, or is negative.
        """
        name = unit if isinstance(unit, str) else unit.name
        with AsInputError(ValueError, f"fault '{self.name}'", "value", self.value, str):
            found = 0.0 if self.value is None else quantity.to_si(self.value, unit)
        if found < 0.0:
            raise InputError(f"fault '{self.name}'", "value", self.value, f"not negative, in {name}")
        return found


def load_faults(path: Path) -> tuple[Scenario, tuple[Fault, ...]]:
    """A scenario file and its faults.

    Raises
    ------
    InputError
        Not a valid scenario file, or a fault that is not valid.
    """
    if not path.is_file():
        return load_scenario(path), ()
    data, _ = read_toml(path)
    faults = data.pop("fault", {})
    if not isinstance(faults, dict) or not all(isinstance(f, dict) for f in faults.values()):
        raise InputError(path.name, "fault", faults, "tables [fault.NAME]")
    scenario = parse_table(Scenario, {"name": path.stem, **data}, path.name, path.parent)
    return scenario, tuple(parse_table(Fault, {**f, "name": name}, f"{path.name}: fault.{name}")
                           for name, f in faults.items())  # fmt: skip


def sample_inputs(
    model: "VariableTable", scenario: Scenario, time: Array, more: Mapping[str, Any] | None = None
) -> Array:
    """Values of all inputs [SI] at `time` [s], shape (len(time), n_u); inputs without a signal keep their start.

    At a jump an input has the value after it; where a time occurs twice, the value before the jump comes first. `more`
    has signals that replace those of the scenario: functions of the time, or arrays of a value for each time (the last
    value, after which nothing follows, may be missing).

    Raises
    ------
    InputError
        An input that the model does not have, or a signal that is not valid.
    """
    inputs = model.select("input")
    u = np.array([[v.start for v in inputs]], dtype=float).repeat(len(time), axis=0)
    for name, signal in scenario.inputs.items():
        from_file = isinstance(signal, Table) and signal._origin is not None
        try:
            variable = model.variable(name, "input")
            u[:, variable.index] = _sample(signal, variable, time)
        except ValueError as error:
            if isinstance(error, InputError) and not from_file:
                raise
            raise InputError(*origin(scenario, name), None if from_file else _shown(signal), str(error)) from None
    for name, given in (more or {}).items():
        u[:, model.variable(name, "input").index] = _values(name, given, time)
    if not np.all(np.isfinite(u)):
        k, i = np.argwhere(~np.isfinite(u))[0]
        allowed = f"a finite value at every time; this is at t = {time[k]:g} s"
        raise InputError(*origin(scenario, inputs[i].name), float(u[k, i]), allowed)
    for variable in (v for v in inputs if v.choices):
        values, first = np.unique(u[:, variable.index], return_index=True)
        for value, k in zip(values.tolist(), first, strict=True):
            try:
                variable.choice(value)
            except ValueError as error:
                allowed = f"{error} at every time; this is at t = {time[k]:g} s"
                raise InputError(*origin(scenario, variable.name), value, allowed) from None
    return u


def origin(scenario: Scenario, name: str) -> tuple[str, str]:
    """Where an input is given, for messages: the column of a file, or the key of a scenario."""
    signal = scenario.inputs.get(name)
    return (isinstance(signal, Table) and signal._origin) or (f"scenario '{scenario.name}'", f"inputs.{name}")


def apply_parameters(instance: "Instance", values: Mapping[str, float | str], source: str) -> None:
    """Set parameters from quantities, by full name or by the bare name of a geometry parameter.

    Raises
    ------
    InputError
        Unknown parameter, wrong unit, or out of range.
    """
    for name, value in values.items():
        full, number = parameter_value(instance.model, name, value, source)
        instance.set(full, number)


def parameter_value(model: "VariableTable", name: str, value: float | str, source: str) -> tuple[str, float]:
    """Full name and SI value of a parameter given as ``name`` and a number or quantity."""
    full = name if name in model.by_name else f"geometry.{name}"
    if full not in model.by_name:
        full = name
    variable = model.variable(full, "parameter")
    with AsInputError(ValueError, source, name, value, str):
        return full, _number(value, variable)


def parameter_changes(model: "VariableTable", scenario: Scenario, step: float) -> list[tuple[int, "Variable", float]]:
    """Changes of tunable parameters in a scenario: number of the step before which it changes, variable, new value
    [SI].

    A change takes effect at the first communication point that is not before its time.

    Raises
    ------
    InputError
        Unknown or fixed parameter, wrong unit, or out of range.
    """
    source = f"scenario '{scenario.name}'"
    found = []
    for name, change in scenario.tune.items():
        for time, given in zip(change.time, change.value, strict=True):
            full, number = parameter_value(model, name, given, source)
            v = model.by_name[full]
            if not v.tunable:
                raise InputError(source, f"tune.{name}", given, "a tunable parameter; this one is fixed during a run")
            found.append((ceil(time / step - 1e-9), v, v.checked(number, source, given)))
    return sorted(found, key=lambda change: change[0])


def tuned_signals(
    changes: "Sequence[tuple[int, Variable, float]]", starts: Mapping[str, float], n: int
) -> "dict[str, Recorded]":
    """Values of the parameters that change at n communication points, as of `parameter_changes`."""
    from rtcvt.recording import Signal as Recorded

    found: dict[str, Recorded] = {}
    for k, v, value in changes:
        if v.name not in found:
            found[v.name] = Recorded(np.full(n, starts[v.name]), v.unit, v.description)
        found[v.name].values[k:] = value
    return found


def _sample(signal: Signal, variable: "Variable", time: Array) -> Array:
    unit = variable.unit
    if isinstance(signal, Table):
        held = signal.interpolation == "natural" and bool(variable.boolean or variable.choices or variable.whole)
        return _interpolate(signal, _numbers(signal, variable), time, held)
    if isinstance(signal, str) and signal not in variable.choices and not quantity.is_quantity(signal):
        try:
            with np.errstate(all="ignore"):
                value = expression.parse_signal(signal, unit).evaluate({"t": time}, np)
        except ArithmeticError:
            raise ValueError("a finite value at every time") from None
        return np.broadcast_to(np.asarray(value, dtype=float), time.shape)
    return np.full(time.shape, _number(signal, variable))


def _numbers(table: Table, variable: "Variable") -> list[float]:
    if not table.unit or variable.choices:
        return [_number(v, variable) for v in table.value]
    factor, offset = quantity.conversion(table.unit, variable.measured)
    return [factor * v + offset if isinstance(v, float) else _number(v, variable) for v in table.value]


def _number(value: float | str, variable: "Variable") -> float:
    """SI value of a quantity, value of an enumeration's item, or of a Boolean."""
    if isinstance(value, bool) and not variable.boolean:
        raise ValueError("a number or a quantity, not a truth value")
    return variable.choice(value) if variable.choices else quantity.to_si(value, variable.measured)


def _values(name: str, given: Any, time: Array) -> Array:
    """A function or an array at each time."""
    if callable(given):
        return np.array([float(given(t)) for t in time.tolist()])
    values = np.asarray(given, dtype=float)
    n = len(time)
    if values.shape not in ((n,), (n - 1,)):
        allowed = f"a value for each of the {n} communication points, or a pair (time, value)"
        raise InputError("inputs", name, f"an array of shape {values.shape}", allowed)
    return np.append(values, values[-1:])[:n]


def _interpolate(table: Table, values: list[float], time: Array, held: bool) -> Array:
    t, v = np.array(table.time), np.array(values)
    before = np.append(time[1:] == time[:-1], False)  # the first of two equal times
    near = ROUNDING * np.abs(time)
    k = np.where(before, np.searchsorted(t, time - near), np.searchsorted(t, time + near, side="right")) - 1
    k = np.maximum(k, 0)
    if held or table.interpolation == "previous":
        return v[k]
    following = np.minimum(k + 1, len(t) - 1)
    length = t[following] - t[k]
    past, span = np.clip(time - t[k], 0.0, length), np.where(length > 0.0, length, 1.0)
    if table.interpolation == "smooth":
        return v[k] + (v[following] - v[k]) * 0.5 * (1.0 - np.cos(np.pi * (past / span)))
    return (v[following] - v[k]) / span * past + v[k]


def _shown(signal: Signal) -> object:
    return list(signal.value) if isinstance(signal, Table) else signal
