"""Unit files of pushbelt variators: pulleys, clamping, end stops, and the reduced model that gives the laws."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError, near, too
from rtcvt.kind import Unit
from rtcvt.model import Variable
from rtcvt.scenario import Scenario
from rtcvt.table import Row
from rtcvt.unitfile import Record, Solver, UnitFile
from rtcvt.variator.layout import FLANGES, NOT_OF_KERS, UNGIVEN, KersP, P


class Ratio(Record):
    """End stops of the ratio i = r'_O/r'_I."""

    min: Annotated[float, Field(ge=0.2, le=5.0)]  # overdrive
    max: Annotated[float, Field(ge=0.2, le=5.0)]  # low


class Flanges(Record):
    """Input of a flange, torque or speed; the other one is its output."""

    primary: Literal["torque", "speed"] = "torque"  # input at the primary
    secondary: Literal["torque", "speed"] = "torque"  # input at the secondary

    def speeds(self) -> dict[str, str]:
        """The flanges whose input is a speed."""
        return {name: given for name, given in self.model_dump().items() if given == "speed"}


class Variator(Unit):
    """A unit file of kind ``variator``."""

    kind: Literal["variator"]
    reduced: Annotated[str, Field(min_length=1)]  # a reduced model, shipped or a file
    flanges: Flanges = Flanges()  # inputs at the shafts
    controller: Literal["kers"] | None = None  # of torque, between a shaft and a flywheel
    ratio: Ratio  # end stops
    fields: tuple[str, ...] = ()  # contact forces with outputs over the arc length
    cells: Literal[4, 8, 16, 32, 64] = 16  # of each section, in these outputs
    parameters: dict[str, Any]  # of pulleys, belt, clamping; see below
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    in_file: Annotated[tuple[Scenario, ...], Field(exclude=True)] = ()  # scenarios, those that do not fit among them

    def values(self) -> dict[str, float]:
        """Parameters in SI units by name, those that a file may leave out only if they are given.

        Raises
        ------
        InputError
            One is unknown, missing, no quantity of its unit, or out of range.
        """
        given = _flat(self.parameters)
        own = [place for place in P if place < P.C_I]
        if self.controller == "kers":
            own = [place for place in own if place not in NOT_OF_KERS]
        known = {place.row.name: place.row for place in (*own, *(KersP if self.controller == "kers" else ()))}
        if unknown := [name for name in given if name not in known]:
            allowed = f"not one of its parameters{near(unknown[0], known)}{too('unknown', unknown[1:])}"
            raise InputError(self.source, f"parameters.{unknown[0]}", None, allowed)
        return {name: _value(row, given[name], self.source) for name, row in known.items() if name in given}


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Entries of nested tables by dotted names."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def _value(row: Row, given: Any, source: str) -> float:
    key = f"parameters.{row.name}"
    low, high = row.minimum, row.maximum
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise InputError(source, key, given, quantity.wanted(row.unit))
    with AsInputError(ValueError, source, key, given, str):
        if row.choices:
            return Variable(row.name, "parameter", 0, row.unit, row.text, choices=row.choices).choice(given)
        value = quantity.of_machine(given, row.unit)
    if (low is not None and value < low) or (high is not None and value > high):
        least, most = quantity.shown(low or 0.0, row.unit), quantity.shown(high or 0.0, row.unit)
        allowed = f"at least {least}" if high is None else f"from {low:g} to {most}"
        raise InputError(source, key, given, allowed)
    return value


def read_variator(file: UnitFile) -> Variator:
    """Validate the unit file of a variator.

    Scenarios with other inputs at the flanges than this unit's are left out.

    Raises
    ------
    InputError
        Not a valid variator.
    """
    unit = file.parse(Variator)
    if unit.ratio.min >= unit.ratio.max:
        raise InputError(unit.source, "ratio.min", unit.ratio.min, f"below ratio.max = {unit.ratio.max:g}")
    unit.values()
    return unit.model_copy(update={"scenario": _fitting(unit.scenario, unit.flanges), "in_file": unit.scenario})


def belt_alone(unit: Variator) -> Variator:
    """The unit without the losses of bearings, seals and oil, as its full model."""
    kept = {name: value for name, value in unit.values().items() if name not in {place.row.name for place in UNGIVEN}}
    return unit.model_copy(update={"parameters": kept})


def _fitting(scenarios: tuple[Scenario, ...], flanges: Flanges) -> tuple[Scenario, ...]:
    """The scenarios that give no input which these flanges do not have."""
    gone = {f"{name}.{'tau' if name in flanges.speeds() else 'w'}" for name in FLANGES}
    return tuple(s for s in scenarios if not gone & set(s.inputs))


def with_flange_inputs(unit: Variator, choice: Mapping[str, str], source: str = "flanges") -> Variator:
    """The unit with other inputs at its flanges (``"torque"`` or ``"speed"``), and the scenarios of its file that fit.

    Raises
    ------
    InputError
        There is no such flange, or it does not have this causality.
    """
    if unit.controller is not None and choice:
        name, given = next(iter(choice.items()))
        raise InputError(source, name, given, f"no choice in a unit with the controller '{unit.controller}'")
    for name, given in choice.items():
        if name not in FLANGES:
            raise InputError(source, name, given, f"one of the flanges: {', '.join(FLANGES)}")
        if given not in ("torque", "speed"):
            raise InputError(source, name, given, "the input of this flange: torque or speed")
    flanges = unit.flanges.model_copy(update=choice)
    return unit.model_copy(update={"flanges": flanges, "scenario": _fitting(unit.in_file, flanges)})
