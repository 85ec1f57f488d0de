"""Scenarios: inputs over time, sampled at the communication points and held between them.

A signal is a number in SI units, a quantity (``"20 N.m"``), an expression of the time ``t`` [s]
(``"20*sin(2*pi*t/3)"``, in SI units) or a table ``{ time = [...], value = [...], interpolation = ... }`` with
``linear`` or ``smooth`` (half a cosine, so without jumps in slope) transitions, or ``previous`` (steps). Before its
first and after its last time a table keeps the first and last value.
"""

import numpy as np
from numpy.typing import NDArray

from rtcvt import expression, quantity
from rtcvt.errors import InputError
from rtcvt.model import Instance, VariableTable
from rtcvt.unitfile import Scenario, Signal, Table

__all__ = ["apply_parameters", "parameter_value", "sample_inputs"]

Array = NDArray[np.float64]


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
