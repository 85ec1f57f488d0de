"""Unit files of gear systems.

The sections are ``parameters`` and ``variables`` (the geometry's names), ``gears``, ``contacts``, ``frictions``,
``clutches``, ``brakes``, ``rigid`` (the independent speeds), ``ports``, ``controller``, ``shift``, ``solver`` and
``[[scenario]]``. A coordinate
may be an expression of parameters and of the one moving variable.
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rtcvt import quantity
from rtcvt.errors import InputError
from rtcvt.files import expression
from rtcvt.files.expression import Expression
from rtcvt.kind import Unit
from rtcvt.scenario import Scenario
from rtcvt.traction.contact import LAMBDA_DEVIATION, SANTOTRAC_50, Fluid
from rtcvt.unitfile import Duration, Name, Record, Solver, asked_above, quantity_in

Speed = Annotated[float, quantity_in("rad/s")]
Area = Annotated[float, quantity_in("m2", above=0.0)]
Mu = Annotated[float, Field(ge=0.0, le=1.0), asked_above(0.3)]
Rating = Annotated[float, quantity_in("rad/s", above=0.0)]
Torque = Annotated[float, quantity_in("N.m", above=0.0)]
Friction = Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)]
_LOSS = 1.0  # [N.m], in place of a capacity: the torque of a mesh's loss is proportional to its force

Coordinate = str | float  # an expression of the unit's names, a quantity in m, or a number in m


class Parameter(Record):
    """A named constant of the geometry; its unit is that of its value (``"36 mm"``: m, ``"60 deg"``: rad)."""

    value: float  # number or quantity
    unit: Literal["m", "rad", "1"] = "m"  # of a bare number
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _read_unit(cls, data: Any) -> Any:
        data = data if isinstance(data, Mapping) else {"value": data}
        value, unit = data.get("value"), data.get("unit")
        if isinstance(value, str):
            given = {} if unit or re.fullmatch(r"[-+0-9.eE\s]*", value) else {"unit": quantity.si_unit(value)}
            return {**data, **given, "value": quantity.of_machine(value, given.get("unit") or unit or "m")}
        if isinstance(value, bool):
            raise ValueError("a number, or a text with a unit")
        return {**data, "value": quantity.of_machine(value, unit or "m")} if isinstance(value, int | float) else data


class Variable(Record):
    """Geometry that moves: an angle, with the limits of its actuator."""

    unit: Literal["rad"] = "rad"  # an angle
    start: Annotated[float, quantity_in("rad")] = 0.0  # at the start
    min: Annotated[float, quantity_in("rad")]  # end of the actuator's way
    max: Annotated[float, quantity_in("rad")]  # the other end
    rate_max: Annotated[float, quantity_in("rad/s", above=0.0)]  # of the actuator
    description: str = ""

    @model_validator(mode="after")
    def _ordered(self) -> "Variable":
        if not self.min <= self.start <= self.max or self.min == self.max:
            raise ValueError("min <= start <= max and min < max")
        return self


class Axis(Record):
    """A directed axis in the plane: a point on it, and either a direction vector or an angle from +x."""

    through: tuple[Coordinate, Coordinate]  # a point on it, x and y
    direction: tuple[Coordinate, Coordinate] | None = None  # vector along it, x and y
    angle: Coordinate | None = None  # from the x axis, instead of a direction

    @model_validator(mode="after")
    def _one_direction(self) -> "Axis":
        if (self.direction is None) == (self.angle is None):
            raise ValueError("an axis has either 'direction' or 'angle'")
        return self


class Gear(Record):
    """A rigid body that turns about one axis; a carried gear's axis turns with its carrier."""

    inertia: Annotated[float, quantity_in("kg.m2", at_least=0.0)]  # about its axis
    friction: Friction = 0.0  # viscous, of its bearings
    dry_friction: Torque | None = None  # dry part, of its bearings in the housing or in its carrier
    axis: Axis  # that it turns about
    carrier: str | None = None  # the gear that carries its axis
    w_max: Rating | None = None  # largest speed; a limit of the KERS controller
    radius: Coordinate | None = None  # checked at all its contacts; that of a planet overrides the drawing
    teeth: Annotated[int, Field(ge=3, le=10_000)] | None = None  # with the module, as a radius
    module: Annotated[float, quantity_in("m", above=0.0)] | None = None  # pitch diameter by teeth
    stepped: bool = False  # it has several radii
    description: str = ""

    @model_validator(mode="after")
    def _one_radius(self) -> "Gear":
        if (self.teeth is None) != (self.module is None):
            raise ValueError("teeth and module: both or neither")
        if (self.radius is not None) + (self.teeth is not None) + self.stepped > 1:
            raise ValueError("one of radius, teeth with module, and stepped = true")
        return self

    @property
    def fixed_radius(self) -> bool:
        """Whether a radius is declared."""
        return self.radius is not None or self.teeth is not None


class Oil(Record):
    """Data of the mean coefficient of friction of teeth."""

    force: Annotated[float, quantity_in("N", above=0.0)]  # tangential, at the pitch circle
    speed: Annotated[float, quantity_in("m/s", above=0.0)]  # of the pitch circle, against the carrier
    width: Annotated[float, quantity_in("m", above=0.0)]  # of the teeth
    viscosity: Annotated[float, quantity_in("Pa.s", above=0.0)]  # dynamic, of the oil as warm as it is
    roughness: Annotated[float, quantity_in("m", above=0.0)] = 0.5e-6  # Ra, mean of the two flanks
    lubricant: Annotated[float, Field(gt=0.0, le=2.0)] = 1.0  # X_L: 1 for mineral oil, 0.8 for polyalphaolefin


class Contact(Record):
    """A tangential spring at a point; a positive force goes from the first gear to the second."""

    between: tuple[str, str]  # two gears
    point: tuple[Coordinate, Coordinate]  # where they touch, x and y
    stiffness: Annotated[float, quantity_in("N/m", above=0.0)]  # tangential
    damping: Annotated[float, quantity_in("N.s/m", at_least=0.0)] = 0.0  # tangential, in parallel
    efficiency: Annotated[float, Field(ge=0.01, le=1.0)] | None = None  # seen from the carrier, in either direction
    friction: Mu | None = None  # of the teeth, instead: the loss is Niemann's
    oil: Oil | None = None  # and load, instead: of which the friction is a mean one
    module: Annotated[float, quantity_in("m", above=0.0)] | None = None  # of the teeth, for that
    play: Coordinate | None = None  # backlash at the pitch circle, or as an angle of the first gear; elastic model only
    description: str = ""

    @model_validator(mode="after")
    def _one_loss(self) -> "Contact":
        given = [way for way in (self.efficiency, self.friction, self.oil) if way is not None]
        if len(given) > 1 or (self.module is None) != (self.friction is None and self.oil is None):
            raise ValueError("either efficiency, or one of friction and oil with module")
        return self

    @property
    def lossy(self) -> bool:
        """Whether it has its own loss."""
        return any(way is not None for way in (self.efficiency, self.friction, self.oil))


class RelativeFriction(Record):
    """Viscous friction between two gears on parallel axes."""

    between: tuple[str, str]  # two gears
    coefficient: Friction  # torque by difference of speeds


class Element(Record):
    """Common keys of clutches and brakes; without a capacity the element is in the shift table only."""

    capacity: Torque | None = None  # largest torque
    one_way: Literal["forward", "backward"] | None = None  # locked direction of the first gear; without an actuation
    held: bool = False  # always closed, without an actuation
    stiffness: Annotated[float, quantity_in("N.m/rad", above=0.0)] | None = None  # torsional; stiff by default
    damping: Annotated[float, quantity_in("N.m.s/rad", above=0.0)] | None = None  # parallel to the stiffness
    description: str = ""

    @model_validator(mode="after")
    def _of_a_capacity(self) -> "Element":
        given = self.model_fields_set & {"one_way", "held", "stiffness", "damping"}
        if self.capacity is None and given:
            raise ValueError(f"{', '.join(sorted(given))} only with a capacity")
        return self

    @property
    def actuated(self) -> bool:
        """Whether it has an input for its actuation."""
        return not (self.one_way or self.held)

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest torque over the capacity; a positive one prevents forward rotation of the first gear."""
        return (-1.0 if self.one_way != "forward" else 0.0), (1.0 if self.one_way != "backward" else 0.0)


class Clutch(Element):
    """A friction clutch between two gears; a positive torque goes from the first to the second."""

    between: tuple[str, str]  # two gears on parallel axes

    @model_validator(mode="before")
    @classmethod
    def _gears_alone(cls, data: Any) -> Any:
        return {"between": data} if isinstance(data, list) else data


class Brake(Element):
    """A friction brake between a gear and the housing; a positive torque goes into the housing."""

    gear: str  # gear that it brakes

    @model_validator(mode="before")
    @classmethod
    def _gear_alone(cls, data: Any) -> Any:
        return {"gear": data} if isinstance(data, str) else data


class Rigid(Record):
    """Speeds kept in the reduced state."""

    independent: tuple[str, ...] = Field(min_length=1)  # gears, as many as there are less contacts


class Port(Record):
    """A flange: torque in and speed out, or speed in and torque out through a spring or a stiff coupling.

    A gear may have several ports; their torques add up. `spring` is a shaft of the machine with its speed as input;
    `flange` is the input without a spring.
    """

    gear: str  # that the flange is on
    flange: Literal["torque", "speed"] = "torque"  # input
    spring: Annotated[float, quantity_in("N.m/rad", above=0.0)] | None = None  # of a shaft with its speed as input
    w_start: Speed = 0.0  # speed at the start
    tau_max: Torque | None = None  # largest torque in use, for scales
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _gear_alone(cls, data: Any) -> Any:
        return {"gear": data} if isinstance(data, str) else data

    @property
    def speed_in(self) -> bool:
        """Whether the input is a speed and the output a torque."""
        return self.spring is not None or self.flange == "speed"

    @property
    def coupled(self) -> bool:
        """Whether the speed is applied through the coupling of `rtcvt.model.coupling`."""
        return self.spring is None and self.flange == "speed"


class KersController(Record):
    """The torque controller of `rtcvt.control.kers`."""

    acts_on: str  # the variable
    port: str  # the flange whose torque is controlled
    storage: str  # the gear that stores the energy; its w_max ends charging
    K_theta: Annotated[float, quantity_in("rad/(s.N.m)", at_least=0.0)]  # gain of the torque's error
    K_w: Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)]  # gain of the tilt's rate
    tau_filter: Duration  # time constant of the estimated torque
    limit_time: Duration = 0.01  # time constant of the approach to a limit


class PositionController(Record):
    """The position actuator of `rtcvt.control.position`."""

    acts_on: str  # the variable
    time_constant: Duration  # with which it follows its set point
    limit_time: Duration = 0.01  # time constant of the approach to a limit


class Controller(Record):
    """Controller of the moving variable: one of these."""

    kers: KersController | None = None  # torque controller of a KERS
    position: PositionController | None = None  # actuator that follows a set point


class Shift(Record):
    """Which elements hold in which gear of the box: `rtcvt show` prints ratios, torques and speeds."""

    input: str  # port that drives
    output: str  # port that is driven
    gears: dict[str, tuple[str, ...]] = Field(min_length=1, max_length=100)  # the closed elements, by gear
    efficiency: Annotated[float, Field(ge=0.01, le=1.0)] | None = None  # of contacts without their own


class TractionFluid(Record):
    """A traction fluid, see `rtcvt.traction.contact`: by default Santotrac 50 at 140 degC, as it was calibrated."""

    limit: Annotated[float, Field(gt=0.0, lt=0.3)] = SANTOTRAC_50.Lambda  # largest shear stress by pressure, cold
    deviation: Annotated[float, Field(ge=0.0, lt=1.0)] = LAMBDA_DEVIATION  # its relative standard deviation
    compliance: Annotated[float, quantity_in("m/Pa", above=0.0)] = SANTOTRAC_50.H  # of the film at the reference speed
    softening: Annotated[float, quantity_in("1/K", at_least=0.0)] = SANTOTRAC_50.beta  # with the film's warming
    speed: Annotated[float, quantity_in("m/s", above=0.0)] = SANTOTRAC_50.u_0  # reference
    film: Annotated[float, quantity_in("m", above=0.0)] = SANTOTRAC_50.h  # thickness at the reference speed
    conductivity: Annotated[float, quantity_in("W/(m.K)", above=0.0)] = SANTOTRAC_50.k_f  # of the film

    @property
    def fluid(self) -> Fluid:
        """With the symbols of the law."""
        return Fluid(self.limit, self.compliance, self.softening, self.speed, self.film, self.conductivity)


class Traction(Record):
    """Discs and rollers that transmit by traction, in the hybrid model."""

    contacts: tuple[str, ...] = Field(min_length=1, max_length=8)  # of a disc (first gear) and a roller (second)
    crown: Annotated[float, quantity_in("m", above=0.0)]  # radius of the roller's rim across the rolling direction
    rollers: Annotated[int, Field(ge=1, le=12)]  # in a cavity
    cavities: Annotated[int, Field(ge=1, le=4)] = 1  # side by side, with the same end load
    preload: Annotated[float, quantity_in("N", above=0.0)]  # least end load
    end_load_max: Annotated[float, quantity_in("N", above=0.0)]  # largest end load
    margin: Annotated[float, Field(ge=0.0, le=10.0)] = 1.5  # end load over that at full slip; 0: no such law
    time_constant: Duration = 0.02  # of the end load
    piston_area: Area | None = None  # of the end load's piston: the input is a pressure
    roller_piston_area: Area | None = None  # of the piston that holds a roller, with the same pressure; no margin then
    bearing_friction: Mu = 0.0015  # of the roller's bearing, by its load
    bearing_radius: Annotated[float, quantity_in("m", at_least=0.0)] = 0.0  # at which it acts
    churning: Annotated[float, quantity_in("N.m.s2/rad2", at_least=0.0)] = 0.0  # drag of a disc in oil by speed squared
    p_max: Annotated[float, quantity_in("Pa", above=0.0)] = 2.7e9  # allowed pressure
    fluid: TractionFluid = TractionFluid()  # of the contacts; by default Santotrac 50 at 140 degC

    @model_validator(mode="before")
    @classmethod
    def _law(cls, given: Any) -> Any:
        by_pistons = isinstance(given, Mapping) and given.get("roller_piston_area") is not None
        return {"margin": 0.0, **given} if by_pistons else given

    @model_validator(mode="after")
    def _loads(self) -> "Traction":
        if not self.preload < self.end_load_max:
            raise ValueError("preload < end_load_max")
        if self.roller_piston_area is not None and self.piston_area is None:
            raise ValueError("'roller_piston_area' only with 'piston_area', that of the end load")
        return self

    @property
    def by_reaction(self) -> float:
        """End load over the force that holds a roller, where both pistons have one pressure; 0 without them."""
        return (self.piston_area or 0.0) / (self.roller_piston_area or math.inf)


class GearSystem(Unit):
    """A gear system with its ports, controller and scenarios."""

    kind: Literal["gear_system"]
    parameters: dict[Name, Parameter] = {}  # constants of the geometry, by name
    variables: dict[Name, Variable] = {}  # geometry that moves, by name; one at most
    gears: dict[Name, Gear] = Field(min_length=1, max_length=100)  # by name
    contacts: dict[Name, Contact] = {}  # of gears, by name
    frictions: dict[Name, RelativeFriction] = {}  # between gears on parallel axes, by name
    clutches: dict[Name, Clutch] = {}  # between gears, by name
    brakes: dict[Name, Brake] = {}  # that hold gears, by name
    rigid: Rigid  # independent speeds of the rigid model
    ports: dict[Name, Port] = Field(min_length=1)  # flanges of the unit, by name
    controller: Controller = Controller()  # controller of the moving variable
    traction: Traction | None = None  # how contacts transmit in the hybrid model
    shift: Shift | None = None  # table of the box's gears; its efficiency is part of the models
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    @property
    def moving(self) -> str | None:
        """Name of the moving variable, or None."""
        return next(iter(self.variables), None)

    @property
    def clutched(self) -> bool:
        """Whether it has clutches or brakes."""
        return bool(self.clutches or self.brakes)

    @property
    def elements(self) -> dict[str, tuple[Element, tuple[str, str | None]]]:
        """Elements with a capacity and their two gears, None for the housing, by ``clutch.NAME`` and the like.

        Contacts with play come last.
        """
        every: dict[str, tuple[Element, tuple[str, str | None]]] = {}
        every |= {f"clutch.{name}": (c, c.between) for name, c in self.clutches.items()}
        every |= {f"brake.{name}": (b, (b.gear, None)) for name, b in self.brakes.items()}
        for name, gear in self.gears.items():
            if gear.dry_friction is not None:
                every[f"bearing.{name}"] = (Element(capacity=gear.dry_friction, held=True), (name, gear.carrier))
        found = {name: (element, pair) for name, (element, pair) in every.items() if element.capacity is not None}
        for name in self.lossy:  # at its second gear, against the carrier of the two
            one, two = self.contacts[name].between
            loss = Element(capacity=_LOSS, held=True)
            found[f"mesh.{name}"] = (loss, (two, self.gears[one].carrier or self.gears[two].carrier))
        plays = {f"play.{name}": c.between for name, c in self.contacts.items() if c.play is not None}
        return found | {name: (Element(capacity=1.0, held=True), pair) for name, pair in plays.items()}

    def without_losses(self) -> "GearSystem":
        """The same unit with meshes that lose nothing."""
        none = {"efficiency": None, "friction": None, "oil": None}
        contacts = {name: contact.model_copy(update=none) for name, contact in self.contacts.items()}
        shift = self.shift and self.shift.model_copy(update={"efficiency": None})
        return self.model_copy(update={"contacts": contacts, "shift": shift})

    @property
    def lossy(self) -> list[str]:
        """Contacts that lose: those with their own loss, and all others if the shift table has one."""
        every = self.shift is not None and self.shift.efficiency is not None
        return [name for name, contact in self.contacts.items() if every or contact.lossy]

    @property
    def own_values(self) -> dict[str, float]:
        """Parameters and the moving variable's start, by name."""
        return {n: p.value for n, p in self.parameters.items()} | {n: v.start for n, v in self.variables.items()}

    def coordinate(self, key: str, value: Coordinate, unit: Literal["m", "rad", "1"] = "m") -> Expression:
        """A coordinate in `unit` as an expression of the parameters and the moving variable.

        Raises
        ------
        InputError
            No expression or quantity of that kind, or larger than a machine.
        """
        powers = dict.fromkeys(self.variables, 0.0)
        for name, p in self.parameters.items():  # a bare number may have any unit
            powers[name] = float(p.unit == "m") if "unit" in p.model_fields_set else math.nan
        try:
            if not isinstance(value, str) or quantity.is_quantity(value):
                return expression.number(quantity.of_machine(value, unit))
            found = expression.parse(value, powers)
            power = expression.dimension(found, powers)
            if not math.isnan(power) and power != (unit == "m"):
                raise ValueError(f"{quantity.wanted(unit)}, which the units of its names do not give")
            size = 0.0
            with suppress(ArithmeticError, ValueError):  # reported when the radii are computed
                size = abs(found.evaluate(self.own_values))
            if size > quantity.MAX_MAGNITUDE:
                raise ValueError(f"{quantity.wanted(unit)}, of a size up to {quantity.MAX_MAGNITUDE:g}")
            return found
        except ValueError as error:
            told = "; in an expression, quantities with a unit are [parameters]"
            of_terms = isinstance(value, str) and quantity.is_quantity(value) and re.search(r"[*/(]", value)
            raise InputError(self.source, key, value, f"{error}{told if of_terms else ''}") from None
