"""Unit files of pushbelt variators: pulleys, clamping, end stops, and the reduced model that gives the laws."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from rtcvt import quantity
from rtcvt.errors import InputError
from rtcvt.unitfile import Name, Scenario, Solver, find_unit, parse_table, parse_toml, read_toml

__all__ = [
    "FLANGES",
    "KERS_PARAMETERS",
    "PARAMETERS",
    "Row",
    "Variator",
    "load_variator",
    "read_variator",
    "with_flange_inputs",
]

FLANGES = ("primary", "secondary")


class Row(NamedTuple):
    """A parameter, an input or an output."""

    name: str
    unit: str
    text: str
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    display: str | None = None


TINY = 1e-9  # least value of what must be above zero

PARAMETERS = (  # in the order of `layout`
    Row("primary.J", "kg.m2", "moment of inertia of the primary pulley with its shaft", TINY),
    Row("primary.b", "N.m.s/rad", "viscous friction of the primary's bearings", 0.0),
    Row("primary.w_start", "rad/s", "speed of the primary at the start", None, None, 100.0, "rpm"),
    Row("secondary.J", "kg.m2", "moment of inertia of the secondary pulley with its shaft", TINY),
    Row("secondary.b", "N.m.s/rad", "viscous friction of the secondary's bearings", 0.0),
    Row("belt.K", "N/m", "stiffness of the belt between a pulley and its middle", 1.0),
    Row("belt.d", "N.s/m", "damping of the belt, in parallel with K", 1e-3),
    Row("belt.v_0", "m/s", "speed at which friction has 71 % of its full value", 1e-4),
    Row("belt.l_point", "m", "way of the belt in which the operating point follows traction and clamping", 1e-4),
    Row("ratio.start", "1", "ratio at the start", TINY),
    Row("ratio.T", "s", "time constant with which a given ratio is reached", 1e-3),
    Row("ratio.T_stop", "s", "time constant of the approach to an end stop", 2e-3),
    Row("clamp.control", "1", "what is given: 0 forces, 1 pressures, 2 ratio and secondary force", 0.0, 2.0),
    Row("clamp.F_min", "N", "least clamping force; forces that are not far above count a little more", 1e-3),
    Row("clamp.F_max", "N", "greatest clamping force of the primary if the ratio is given", 1.0),
    Row("clamp.y_min", "1", "least F_CI/F_eq if the ratio is given", 0.1, 1.0),
    Row("clamp.y_max", "1", "greatest F_CI/F_eq if the ratio is given", 1.0, 10.0),
    Row("clamp.primary.A", "m2", "piston area of the primary", 0.0),
    Row("clamp.primary.c_w", "N.s2/rad2", "centrifugal force of the primary's oil by the square of the speed", 0.0),
    Row("clamp.primary.F_0", "N", "spring force of the primary at ratio 1"),
    Row("clamp.primary.k", "N/m", "stiffness of the primary's spring", 0.0),
    Row("clamp.secondary.A", "m2", "piston area of the secondary", 0.0),
    Row("clamp.secondary.c_w", "N.s2/rad2", "centrifugal force of the secondary's oil by the square of the speed", 0.0),
    Row("clamp.secondary.F_0", "N", "spring force of the secondary at ratio 1"),
    Row("clamp.secondary.k", "N/m", "stiffness of the secondary's spring", 0.0),
)

CYLINDERS = tuple(f"clamp.{name}.{key}" for name in FLANGES for key in ("A", "c_w", "F_0", "k"))
NOT_OF_KERS = ("primary.w_start", "ratio.T", "clamp.control", *CYLINDERS)
KERS_PARAMETERS = (  # beside those above, in the order of `kers`
    Row("shaft.i", "1", "speed of the primary by that of the shaft", TINY),
    Row("flywheel.i", "1", "speed of the flywheel by that of the secondary", TINY),
    Row("secondary.J", "kg.m2", "moment of inertia of the secondary pulley with its shaft", 0.0),
    Row("secondary.b", "N.m.s/rad", "viscous friction of the secondary's bearings", 0.0),
    Row("flywheel.J", "kg.m2", "moment of inertia of the flywheel", TINY),
    Row("flywheel.b", "N.m.s/rad", "viscous friction of the flywheel", 0.0),
    Row("shaft.K", "N.m/rad", "stiffness between shaft and primary, at the shaft", TINY),
    Row("shaft.d", "N.m.s/rad", "damping there, in series with an equal stiffness", TINY),
    Row("shaft.w_start", "rad/s", "speed of the shaft at the start", None, None, 100.0, "rpm"),
    Row("clamp.S", "1", "safety of the clamping forces against slip", 1.0),
    Row("clamp.Y", "1", "reserve of the primary's clamping force for shifting", 1.0),
    Row("clamp.F_low", "N", "least clamping force that the controller sets", 1.0),
    Row("control.T_a", "s", "time constant of the clamping forces", 1e-3),
    Row("control.T_d", "s", "time constant of the shaft's acceleration", 1e-3),
)
KERS_LAW = (  # in the order of `rtcvt.control.kers`, behind the limits of theta
    Row("control.rate_max", "rad/s", "largest rate of theta", TINY),
    Row("control.limit_time", "s", "time constant of the approach to a limit", 1e-3),
    Row("control.K_theta", "rad/(s.N.m)", "gain from torque to rate", 0.0),
    Row("control.K_w", "N.m.s/rad", "gain from speed to torque", 0.0),
    Row("control.tau_filter", "s", "time constant of the estimated torque", 1e-4),
    Row("flywheel.w_max", "rad/s", "largest speed of the flywheel", TINY, None, None, "rpm"),
    Row("control.w_0", "rad/s", "speed of the shaft below which the law fades out", 1e-3),
)


class Ratio(BaseModel):
    """End stops of the ratio i = r'_O/r'_I."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    min: Annotated[float, Field(ge=0.2, le=5.0)]
    max: Annotated[float, Field(ge=0.2, le=5.0)]


class Flanges(BaseModel):
    """What goes into a flange; the other of torque and speed comes out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    primary: Literal["torque", "speed"] = "torque"
    secondary: Literal["torque", "speed"] = "torque"

    def speeds(self) -> dict[str, str]:
        """The flanges into which a speed goes."""
        return {name: given for name, given in self.model_dump().items() if given == "speed"}


class Variator(BaseModel):
    """A unit file of kind ``variator``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: Name
    kind: Literal["variator"]
    description: str = ""
    reduced: Annotated[str, Field(min_length=1)]  # a reduced model, shipped or a file
    flanges: Flanges = Flanges()
    controller: Literal["kers"] | None = None  # of torque, between a shaft and a flywheel
    ratio: Ratio
    fields: tuple[str, ...] = ()  # contact forces that come out over the arc length
    cells: Literal[4, 8, 16, 32, 64] = 16  # of each section, in these outputs
    parameters: dict[str, Any]
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    source: Annotated[str, Field(exclude=True)] = ""  # where it was read from, for messages
    text: Annotated[str, Field(exclude=True)] = ""  # the file as it was read
    folder: Annotated[Path, Field(exclude=True)] = Path()  # in which a reduced model is looked for

    def values(self) -> dict[str, float]:
        """Parameters in SI units by name, those of belt.K and belt.d only if they are given.

        Raises
        ------
        InputError
            One is unknown, missing, no quantity of its unit, or out of range.
        """
        given = _flat(self.parameters)
        known = {row.name: row for row in PARAMETERS}
        if self.controller == "kers":
            known = {name: row for name, row in known.items() if name not in NOT_OF_KERS}
            known |= {row.name: row for row in KERS_PARAMETERS + KERS_LAW}
        for name in given:
            if name not in known:
                raise InputError(self.source, f"parameters.{name}", None, f"one of {', '.join(known)}")
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
        raise InputError(source, key, given, f"a quantity in {row.unit}")
    try:
        value = quantity.to_si(given, row.unit)
    except ValueError as error:
        raise InputError(source, key, given, str(error)) from None
    if (low is not None and value < low) or (high is not None and value > high):
        allowed = f"at least {low:g} {row.unit}" if high is None else f"from {low:g} to {high:g} {row.unit}"
        raise InputError(source, key, given, allowed)
    return value


def load_variator(name: str | Path) -> Variator:
    """Read and validate the unit file of a variator, or a shipped one.

    Raises
    ------
    InputError
        The file is missing, not TOML, or not a valid variator.
    """
    path = find_unit(str(name))
    return read_variator(read_toml(path)[1], path.name, path.parent)


def read_variator(text: str, source: str, folder: Path = Path()) -> Variator:
    """Validate the text of a variator's unit file; `source` names it in messages.

    Scenarios whose flanges take other inputs than this unit's are left out.

    Raises
    ------
    InputError
        Not TOML, or not a valid variator.
    """
    unit = _read(text, source, folder)
    return unit.model_copy(update={"scenario": _fitting(unit.scenario, unit.flanges)})


def _read(text: str, source: str, folder: Path) -> Variator:
    data = parse_toml(text, source)
    unit = parse_table(Variator, {**data, "source": source, "text": text, "folder": folder}, source)
    if unit.ratio.min >= unit.ratio.max:
        raise InputError(source, "ratio.min", unit.ratio.min, f"below ratio.max = {unit.ratio.max:g}")
    unit.values()
    return unit


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
            raise InputError(source, name, given, "what goes into this flange: torque or speed")
    flanges = unit.flanges.model_copy(update=choice)
    scenarios = _read(unit.text, unit.source, unit.folder).scenario
    return unit.model_copy(update={"flanges": flanges, "scenario": _fitting(scenarios, flanges)})
