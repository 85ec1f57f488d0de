"""Scenarios: inputs over time, sampled at the communication points and held between them.

A signal is a number in SI units, a quantity (``"20 N.m"``), an expression of the time ``t`` [s]
(``"20*sin(2*pi*t/3)"``, in SI units) or a table ``{ time = [...], value = [...], interpolation = ... }`` with
``linear`` or ``smooth`` (half a cosine, so without jumps in slope) transitions, or ``previous`` (steps). Before its
first and after its last time a table keeps the first and last value.

A scenario file may also hold faults, one table ``[fault.NAME]`` each, that a rig injects while it runs the scenario.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rtcvt import expression, quantity
from rtcvt.errors import InputError
from rtcvt.model import Instance, VariableTable
from rtcvt.unitfile import Scenario, Signal, Table, Time, load_scenario, parse_table, read_toml

__all__ = ["Fault", "apply_parameters", "load_faults", "parameter_value", "sample_inputs"]

Array = NDArray[np.float64]


class Fault(BaseModel):
    """What goes wrong from `start` on for `duration` [s].

    Of a signal: ``stuck`` at the value that it had, ``noise`` of standard deviation `value`, ``nan``. Of the unit:
    ``overload``, each step takes `value` longer, and ``unit_error``, no step is made and outputs take their fall-back.
    Of messages on the bus, those named `message` or all: ``drop``, ``delay`` by `value`, ``duplicate``, ``corrupt``,
    each hitting a message with probability `share`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

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

    def number(self, unit: str) -> float:
        """`value` in a unit, 0 if there is none.

        Raises
        ------
        InputError
            It has another unit, or is negative.
        """
        try:
            found = 0.0 if self.value is None else quantity.to_si(self.value, unit)
        except ValueError as error:
            raise InputError(f"fault '{self.name}'", "value", self.value, str(error)) from None
        if found < 0.0:
            raise InputError(f"fault '{self.name}'", "value", self.value, f"not negative, in {unit}")
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
    scenario = parse_table(Scenario, {"name": path.stem, **data}, path.name)
    return scenario, tuple(parse_table(Fault, {**f, "name": name}, f"{path.name}: fault.{name}")
                           for name, f in faults.items())  # fmt: skip


def sample_inputs(model: VariableTable, scenario: Scenario, time: Array) -> Array:
    """Values of all inputs [SI] at `time` [s], shape (len(time), n_u); inputs without a signal keep their start.

    Raises
    ------
    InputError
        An input that the model does not have, or a signal that is not valid.
    """
    inputs = model.select("input")
    u = np.array([[v.start for v in inputs]], dtype=float).repeat(len(time), axis=0)
    for name, signal in scenario.inputs.items():
        variable = model.variable(name, "input")
        try:
            u[:, variable.index] = _sample(signal, variable.unit, time)
        except ValueError as error:
            raise InputError(f"scenario '{scenario.name}'", f"inputs.{name}", _shown(signal), str(error)) from None
    if not np.all(np.isfinite(u)):
        k, i = np.argwhere(~np.isfinite(u))[0]
        raise InputError(
            f"scenario '{scenario.name}'",
            f"inputs.{inputs[i].name}",
            float(u[k, i]),
            f"a finite value at every time; this is at t = {time[k]:g} s",
        )
    return u


def apply_parameters(instance: Instance, values: dict[str, float | str], source: str) -> None:
    """Set parameters from quantities, by full name or by the bare name of a geometry parameter.

    Raises
    ------
    InputError
        Unknown parameter, wrong unit, or out of range.
    """
    for name, value in values.items():
        full, number = parameter_value(instance.model, name, value, source)
        instance.set(full, number)


def parameter_value(model: VariableTable, name: str, value: float | str, source: str) -> tuple[str, float]:
    """Full name and SI value of a parameter given as ``name`` and a number or quantity."""
    full = name if name in model.by_name else f"geometry.{name}"
    if full not in model.by_name:
        full = name
    variable = model.variable(full, "parameter")
    try:
        return full, quantity.to_si(value, variable.unit)
    except ValueError as error:
        raise InputError(source, name, value, str(error)) from None


def _sample(signal: Signal, unit: str, time: Array) -> Array:
    if isinstance(signal, Table):
        return _interpolate(signal, [quantity.to_si(v, unit) for v in signal.value], time)
    if isinstance(signal, str) and not quantity.is_quantity(signal):
        try:
            with np.errstate(all="ignore"):
                value = expression.parse(signal, {"t"}).evaluate({"t": time}, np)
        except ArithmeticError:
            raise ValueError("a finite value at every time") from None
        return np.broadcast_to(np.asarray(value, dtype=float), time.shape)
    return np.full(time.shape, quantity.to_si(signal, unit))


def _interpolate(table: Table, values: list[float], time: Array) -> Array:
    t, v = np.array(table.time), np.array(values)
    if table.interpolation == "linear" or len(t) == 1:
        return np.interp(time, t, v)
    k = np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 1)
    if table.interpolation == "previous":
        return v[k]
    following = np.minimum(k + 1, len(t) - 1)
    span = np.where(following > k, t[following] - t[k], 1.0)
    s = np.clip((time - t[k]) / span, 0.0, 1.0)
    return v[k] + (v[following] - v[k]) * 0.5 * (1.0 - np.cos(np.pi * s))


def _shown(signal: Signal) -> object:
    return list(signal.value) if isinstance(signal, Table) else signal
