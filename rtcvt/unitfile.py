"""Unit files: a machine described in TOML, validated into records. Nothing in them is evaluated as code.

The sections are ``parameters`` and ``variables`` (the geometry's names), ``gears``, ``contacts``, ``frictions``,
``rigid`` (the independent speeds), ``ports``, ``controller``, ``solver`` and ``[[scenario]]``. Bare numbers are
SI, strings carry their unit; a coordinate may be an expression of parameters and of the one moving variable.
Every message names the file, the key, the value and what is allowed.
"""

import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from rtcvt import expression, quantity
from rtcvt.errors import InputError
from rtcvt.expression import Expression
from rtcvt.vehicle.cycle import load_cycle

__all__ = [
    "Axis",
    "Contact",
    "Gear",
    "KersController",
    "Parameter",
    "Port",
    "PositionController",
    "Scenario",
    "Signal",
    "Solver",
    "Unit",
    "find_unit",
    "get_scenario",
    "load_scenario",
    "load_unit",
    "parse_table",
    "parse_toml",
    "quantity_in",
    "read_toml",
    "read_unit",
    "shipped_units",
]


def quantity_in(unit: str, above: float | None = None, at_least: float | None = None) -> BeforeValidator:
    """Validator of a quantity in `unit`, within a bound."""

    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"a quantity in {unit}")
        number = quantity.to_si(value, unit)
        if above is not None and number <= above:
            raise ValueError(f"a quantity in {unit}, above {above:g}")
        if at_least is not None and number < at_least:
            raise ValueError(f"a quantity in {unit}, at least {at_least:g}")
        return number

    return BeforeValidator(convert)


Record = TypeVar("Record", bound=BaseModel)

Time = Annotated[float, quantity_in("s", at_least=0.0)]
Duration = Annotated[float, quantity_in("s", above=0.0)]
Speed = Annotated[float, quantity_in("rad/s")]
Rating = Annotated[float, quantity_in("rad/s", above=0.0)]
Torque = Annotated[float, quantity_in("N.m", above=0.0)]
Friction = Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)]
Coordinate = str | float  # an expression of the unit's names, a quantity in m, or a number in m
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Parameter(_Record):
    """A named constant of the geometry; its unit is that of its value (``"36 mm"``: m, ``"60 deg"``: rad)."""

    value: float
    unit: Literal["m", "rad", "1"] = "m"
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _read_unit(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("value"), str):
            unit = data.get("unit") or quantity.si_unit(data["value"])
            return {**data, "value": quantity.to_si(data["value"], unit), "unit": unit}
        return data


class Variable(_Record):
    """Geometry that moves: an angle, with the limits of its actuator."""

    unit: Literal["rad"] = "rad"
    start: Annotated[float, quantity_in("rad")] = 0.0
    min: Annotated[float, quantity_in("rad")]
    max: Annotated[float, quantity_in("rad")]
    rate_max: Annotated[float, quantity_in("rad/s", above=0.0)]
    description: str = ""

    @model_validator(mode="after")
    def _ordered(self) -> "Variable":
        if not self.min <= self.start <= self.max or self.min == self.max:
            raise ValueError("min <= start <= max and min < max")
        return self


class Axis(_Record):
    """A directed axis in the plane: a point on it, and either a direction vector or an angle from +x."""

    through: tuple[Coordinate, Coordinate]
    direction: tuple[Coordinate, Coordinate] | None = None
    angle: Coordinate | None = None

    @model_validator(mode="after")
    def _one_direction(self) -> "Axis":
        if (self.direction is None) == (self.angle is None):
            raise ValueError("an axis has either 'direction' or 'angle'")
        return self


class Gear(_Record):
    """A rigid body that turns about one axis; a carried gear's axis turns with its carrier."""

    inertia: Annotated[float, quantity_in("kg.m2", at_least=0.0)]
    friction: Friction = 0.0
    axis: Axis
    carrier: str | None = None
    w_max: Rating | None = None
    description: str = ""


class Contact(_Record):
    """A tangential spring at a point; a positive force goes from the first gear to the second."""

    between: tuple[str, str]
    point: tuple[Coordinate, Coordinate]
    stiffness: Annotated[float, quantity_in("N/m", above=0.0)]
    damping: Annotated[float, quantity_in("N.s/m", at_least=0.0)] = 0.0
    description: str = ""


class RelativeFriction(_Record):
    """Viscous friction between two gears on parallel axes."""

    between: tuple[str, str]
    coefficient: Friction


class Rigid(_Record):
    """Speeds kept in the reduced state."""

    independent: tuple[str, ...] = Field(min_length=1)


class Port(_Record):
    """A flange: torque in and speed out, or speed in and torque out through a spring or a stiff coupling.

    `spring` is a shaft of the machine, whose speed goes in; `flange` is what goes in where there is none.
    """

    gear: str
    flange: Literal["torque", "speed"] = "torque"
    spring: Annotated[float, quantity_in("N.m/rad", above=0.0)] | None = None
    w_start: Speed = 0.0
    tau_max: Torque | None = None
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _gear_alone(cls, data: Any) -> Any:
        return {"gear": data} if isinstance(data, str) else data

    @property
    def speed_in(self) -> bool:
        """Whether a speed goes in and a torque comes out."""
        return self.spring is not None or self.flange == "speed"

    @property
    def coupled(self) -> bool:
        """Whether the speed goes in through the coupling of `rtcvt.pog.flange`."""
        return self.spring is None and self.flange == "speed"


class KersController(_Record):
    """The torque controller of `rtcvt.control.kers`."""

    acts_on: str
    port: str
    storage: str  # the gear that stores the energy; its w_max ends charging
    K_theta: Annotated[float, quantity_in("rad/(s.N.m)", at_least=0.0)]
    K_w: Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)]
    tau_filter: Duration
    limit_time: Duration = 0.01


class PositionController(_Record):
    """The position actuator of `rtcvt.control.position`."""

    acts_on: str
    time_constant: Duration
    limit_time: Duration = 0.01


class Controller(_Record):
    """What moves the variable: one of these."""

    kers: KersController | None = None
    position: PositionController | None = None


class Solver(_Record):
    """The fixed step of the exported unit."""

    method: Literal["rosenbrock", "rk4"] = "rosenbrock"
    step: Duration = 1e-3
    substeps: Annotated[int, Field(ge=1, le=10000)] = 1


class Table(_Record):
    """A signal over time through the given points or along a driving cycle, see `rtcvt.scenario`."""

    time: tuple[Time, ...] = Field(min_length=1)
    value: tuple[str | float, ...] = Field(min_length=1)
    interpolation: Literal["linear", "smooth", "previous"] = "linear"
    cycle: str = ""  # a driving cycle instead of times and values [m/s]

    @model_validator(mode="before")
    @classmethod
    def _read_cycle(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or "cycle" not in data:
            return data
        if "time" in data or "value" in data:
            raise ValueError("either 'cycle' or 'time' and 'value'")
        cycle = load_cycle(str(data["cycle"]))
        return {**data, "time": cycle.time.tolist(), "value": [f"{v!r} m/s" for v in cycle.v.tolist()]}

    @model_validator(mode="after")
    def _increasing(self) -> "Table":
        if len(self.time) != len(self.value):
            raise ValueError(f"as many values as times: {len(self.time)} times, {len(self.value)} values")
        if any(b <= a for a, b in zip(self.time, self.time[1:], strict=False)):
            raise ValueError("times must increase")
        return self


Signal = float | str | Table  # number, or truth value of a Boolean; quantity or expression of t; table


class Limits(_Record):
    """Largest normalised RMS errors of the rigid model against the full one."""

    speed: Annotated[float, Field(gt=0)] = 0.01
    force: Annotated[float, Field(gt=0)] = 0.02


class Scenario(_Record):
    """Inputs over time. `settle` is the time that the elastic transient takes to decay, see `offline.check`."""

    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    duration: Duration
    settle: Time = 0.0
    inputs: dict[str, Signal] = {}
    parameters: dict[str, float | str] = {}
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _settles(self) -> "Scenario":
        if self.settle >= self.duration:
            raise ValueError(f"settle must be less than the duration: {self.settle:g} s, {self.duration:g} s")
        return self


class Unit(_Record):
    """A gear system with its ports, controller and scenarios."""

    name: Name
    kind: Literal["gear_system"]
    description: str = ""
    parameters: dict[Name, Parameter] = {}
    variables: dict[Name, Variable] = {}
    gears: dict[Name, Gear] = Field(min_length=1)
    contacts: dict[Name, Contact] = {}
    frictions: dict[Name, RelativeFriction] = {}
    rigid: Rigid
    ports: dict[Name, Port] = Field(min_length=1)
    controller: Controller = Controller()
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    source: Annotated[str, Field(exclude=True)] = ""  # where it was read from, for messages
    text: Annotated[str, Field(exclude=True)] = ""  # the file as it was read

    @property
    def moving(self) -> str | None:
        """Name of the moving variable, or None."""
        return next(iter(self.variables), None)

    def coordinate(self, key: str, value: Coordinate) -> Expression:
        """A coordinate [m or rad] as an expression of the parameters and the moving variable."""
        try:
            if not isinstance(value, str):
                return expression.number(value)
            if quantity.is_quantity(value):
                return expression.number(quantity.to_si(value, quantity.si_unit(value)))
            return expression.parse(value, {*self.parameters, *self.variables})
        except ValueError as error:
            raise InputError(self.source, key, value, str(error)) from None


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
    known = "; ".join(s.name for s in scenarios) or "none"
    raise InputError(unit.source, "scenario", name, f"this unit's scenarios are: {known}")


def shipped_units(kind: str = "gear_system") -> dict[str, Path]:
    """Names and files of the units of one kind that come with the package."""
    return {name: file for name, file in _shipped_files().items() if read_toml(file)[0]["kind"] == kind}


def _shipped_files() -> dict[str, Path]:
    folder = Path(str(resources.files("rtcvt"))) / "units"
    return {f.stem: f for f in sorted(folder.glob("*.toml"))}


def find_unit(name: str) -> Path:
    """File of a unit: a path, or the name of a shipped unit.

    Raises
    ------
    InputError
        There is no such file or unit.
    """
    path = Path(name)
    if _is_file(path):
        return path
    shipped = _shipped_files()
    if name in shipped:
        return shipped[name]
    raise InputError("UNIT", "", name, f"a TOML file, or one of the shipped units: {', '.join(shipped)}")


def load_unit(name: str | Path) -> Unit:
    """Read and validate a unit file or a shipped unit.

    Raises
    ------
    InputError
        The file is missing, not TOML, or not a valid unit.
    """
    path = find_unit(str(name))
    return read_unit(_read_text(path), path.name)


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Tables and text of a TOML file.

    Raises
    ------
    InputError
        The file cannot be read, or is not TOML.
    """
    text = _read_text(path)
    return parse_toml(text, path.name), text


def read_unit(text: str, source: str) -> Unit:
    """Validate the text of a unit file; `source` names it in messages.

    Raises
    ------
    InputError
        Not TOML, or not a valid unit.
    """
    unit = parse_table(Unit, {**parse_toml(text, source), "source": source, "text": text}, source)
    _check_references(unit)
    return unit


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file: the keys of one ``[[scenario]]``, at the top level."""
    path = Path(path)
    if not _is_file(path):
        raise InputError("scenario", "", str(path), "a TOML file with the keys of one [[scenario]]")
    data = parse_toml(_read_text(path), path.name)
    return parse_table(Scenario, {"name": path.stem, **data}, path.name)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(path.name, "", None, "not a text file in UTF-8") from None
    except OSError as error:
        raise InputError(path.name, "", None, f"cannot be read: {error.strerror}") from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Tables of a text in TOML; `source` names it in messages.

    Raises
    ------
    InputError
        Not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, "", None, f"not valid TOML: {error}") from None
    except (ValueError, RecursionError):
        raise InputError(source, "", None, "not valid TOML: a number with thousands of digits, or too deep") from None


_PLAIN = {  # messages of pydantic in the words of TOML
    "dict_type": "a table",
    "model_type": "a table",
    "tuple_type": "a list (scenarios are [[scenario]])",
    "string_type": "a text",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "an integer",
    "int_parsing": "an integer",
}


def parse_table(record: type[Record], data: Mapping[str, Any], source: str) -> Record:
    """Validate a table; the first error becomes an `InputError` that names file, key, value and what is allowed."""
    try:
        return record.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        unknown = [e for e in errors if e["type"] == "extra_forbidden"]
        tables = [e for e in errors if any("Table" in str(p) for p in e["loc"]) and isinstance(e["input"], dict | list)]
        first = [*unknown, *tables, *errors][0]
        place, kind, value = first["loc"], first["type"], first["input"]
        shown = value if isinstance(value, str | int | float | list | tuple) else None
        if kind == "extra_forbidden":
            allowed = f"unknown key; allowed: {', '.join(_fields(record, place[:-1]))}"
            shown = None
        elif kind == "missing":
            allowed, shown = "this key is required", None
        else:
            allowed = _PLAIN.get(kind) or first["msg"].removeprefix("Value error, ").replace("Input should", "should")
        path = ".".join(str(p) for p in place if p not in ("[key]", "float", "str") and "Table" not in str(p))
        raise InputError(source, path, shown, allowed) from None


def _fields(record: Any, place: tuple[int | str, ...]) -> list[str]:
    """Keys of the table at `place` inside a record."""
    for step in place:
        if isinstance(record, type) and issubclass(record, BaseModel) and step in record.model_fields:
            record = record.model_fields[str(step)].annotation
        elif isinstance(step, str) and get_origin(record) in (Union, UnionType):
            record = next(a for a in get_args(record) if getattr(a, "__name__", "") == step)
            continue
        elif get_args(record):
            record = get_args(record)[0 if get_origin(record) is tuple else -1]
        options = [a for a in get_args(record) if isinstance(a, type) and issubclass(a, BaseModel)]
        if get_origin(record) in (Union, UnionType) and len(options) == 1:
            record = options[0]
    return [k for k in getattr(record, "model_fields", {}) if k not in ("source", "text")]


def _check_references(unit: Unit) -> None:
    """Names that point to other sections exist and fit together."""
    gears = unit.gears

    def require(condition: bool, key: str, value: object, allowed: str) -> None:
        if not condition:
            raise InputError(unit.source, key, value, allowed)

    def is_one_of(key: str, value: str, known: Mapping[str, Any], kind: str) -> None:
        require(value in known, key, value, f"one of the {kind}: {', '.join(known) or 'none'}")

    if len(unit.variables) > 1:
        raise InputError(unit.source, "variables", list(unit.variables), "at most one moving variable")
    clash = set(unit.variables) & set(unit.parameters)
    require(not clash, "variables", next(iter(clash), None), "a name that is not also a parameter")
    for reserved in ("pi", "sin", "cos", "tan", "sqrt"):
        require(reserved not in {**unit.parameters, **unit.variables}, "parameters", reserved, "another name")
    for key, gear in gears.items():
        if gear.carrier is not None:
            at = f"gears.{key}.carrier"
            is_one_of(at, gear.carrier, gears, "gears")
            require(gear.carrier != key, at, gear.carrier, "another gear")
            require(gears[gear.carrier].carrier is None, at, gear.carrier, "a gear that is not itself carried")
    for section, couples in (("contacts", unit.contacts), ("frictions", unit.frictions)):
        for key, couple in couples.items():
            at = f"{section}.{key}.between"
            for gear_name in couple.between:
                is_one_of(at, gear_name, gears, "gears")
            require(couple.between[0] != couple.between[1], at, list(couple.between), "two different gears")
    for i, gear_name in enumerate(unit.rigid.independent):
        is_one_of("rigid.independent", gear_name, gears, "gears")
        require(gear_name not in unit.rigid.independent[:i], "rigid.independent", gear_name, "each gear once")
    driven: dict[str, str] = {}
    for key, port in unit.ports.items():
        is_one_of(f"ports.{key}.gear", port.gear, gears, "gears")
        require(port.gear not in driven, f"ports.{key}.gear", port.gear, "a gear without another port")
        require(
            key not in ("gear", "contact", "friction", "geometry", "control", "storage"),
            f"ports.{key}",
            key,
            "a name that is not a group of variables",
        )
        driven[port.gear] = key
        if port.spring is not None:
            given = port.flange if "flange" in port.model_fields_set else "speed"
            require(given == "speed", f"ports.{key}.flange", port.flange, "speed, as the port has a spring")
            require(
                port.gear in unit.rigid.independent,
                f"ports.{key}.gear",
                port.gear,
                f"a gear in rigid.independent: {', '.join(unit.rigid.independent)}",
            )
        else:
            require(port.w_start == 0.0, f"ports.{key}.w_start", port.w_start, "only with a spring")
    _check_controller(unit, require, is_one_of)
    seen: set[str] = set()
    for scenario in unit.scenario:
        require(scenario.name not in seen, "scenario.name", scenario.name, "a name that is used once")
        seen.add(scenario.name)


def _check_controller(unit: Unit, require: Callable[..., None], is_one_of: Callable[..., None]) -> None:
    kers, position = unit.controller.kers, unit.controller.position
    if unit.moving is None:
        require(kers is None and position is None, "controller", None, "only with a moving variable in [variables]")
        return
    require(
        (kers is None) != (position is None),
        "controller",
        None,
        "a moving variable needs exactly one of [controller.kers] and [controller.position]",
    )
    acting = kers or position
    assert acting is not None
    at = f"controller.{'kers' if kers else 'position'}"
    is_one_of(f"{at}.acts_on", acting.acts_on, unit.variables, "variables")
    if kers is not None:
        is_one_of(f"{at}.port", kers.port, unit.ports, "ports")
        is_one_of(f"{at}.storage", kers.storage, unit.gears, "gears")
        port = unit.ports[kers.port]
        require(port.spring is not None, f"{at}.port", kers.port, "a port with a spring")
        require(
            unit.rigid.independent == (port.gear,),
            "rigid.independent",
            list(unit.rigid.independent),
            f"the gear of the controlled port alone: {port.gear}",
        )
