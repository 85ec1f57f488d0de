"""Belt drives in unit files: one description for the full models and for the reduced one.

``belt`` is the belt by itself, with its pretension or its length without load; ``pulleys`` are listed in the order in
which the belt visits them, ``winding`` says whether that order goes round anticlockwise. A pulley is moved by a torque
or by a prescribed speed (``flange``), given over time by a scenario as ``NAME.tau`` or ``NAME.w``, or only by the belt;
``load`` adds a torque over speed. Angles, speeds and torques count anticlockwise. ``hybrid`` holds what the real-time
models need beside all this, ``ancf`` and ``elements`` what only one of the full models needs: contact laws and meshes.
"""

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from rtcvt.belt.geometry import BeltPath, belt_path
from rtcvt.errors import InputError
from rtcvt.scenario import Scenario
from rtcvt.unitfile import Duration, Name, Record, UnitFile, quantity_in, read_unit_file

__all__ = [
    "AncfModel",
    "Belt",
    "BeltUnit",
    "ElementModel",
    "HybridModel",
    "Load",
    "Pulley",
    "load_belt_unit",
    "read_belt_unit",
]


Length = Annotated[float, quantity_in("m", above=0.0)]
Place = Annotated[float, quantity_in("m")]
Speed = Annotated[float, quantity_in("rad/s")]
Torque = Annotated[float, quantity_in("N.m")]


class Belt(Record):
    """Elastic belt. Its line, where strain is measured, runs at half its height above the pulleys."""

    EA: Annotated[float, quantity_in("N", above=0.0)]  # axial stiffness
    EI: Annotated[float, quantity_in("N.m2", at_least=0.0)]  # bending stiffness
    mass: Annotated[float, quantity_in("kg/m", above=0.0)]  # per length without load
    damping: Annotated[float, quantity_in("N.s", at_least=0.0)] = 0.0  # of strain
    bending_damping: Annotated[float, quantity_in("N.m2.s", at_least=0.0)] = 0.0  # of curvature
    height: Annotated[float, quantity_in("m", at_least=0.0)] = 0.0  # of the section
    width: Length = 1.0  # of the section
    pretension: Annotated[float, quantity_in("N", above=0.0)] = (
        0.0  # in all spans at rest, without contact forces' share
    )
    length: Length | None = None  # without load, instead of the pretension

    @model_validator(mode="after")
    def _stretches_little(self) -> "Belt":
        if ("pretension" in self.model_fields_set) == (self.length is not None):
            raise ValueError("either 'pretension' or 'length'")
        if self.pretension >= 0.2 * self.EA:
            raise ValueError(f"a pretension below EA/5 = {0.2 * self.EA:g} N")
        return self


class Load(Record):
    """Torque on a pulley over its speed, linear between the points and beyond them."""

    w: tuple[Speed, ...] = Field(min_length=2)  # speeds, increasing
    tau: tuple[Torque, ...] = Field(min_length=2)  # torque into the pulley at these speeds

    @model_validator(mode="after")
    def _increasing(self) -> "Load":
        if len(self.w) != len(self.tau):
            raise ValueError(f"as many torques as speeds: {len(self.w)} speeds, {len(self.tau)} torques")
        if any(b <= a for a, b in pairwise(self.w)):
            raise ValueError("speeds must increase")
        return self


class Pulley(Record):
    """A pulley that turns about a fixed centre."""

    center: tuple[Place, Place]  # x and y
    radius: Length  # to the belt's inner side
    inertia: Annotated[float, quantity_in("kg.m2", above=0.0)]  # with what is fixed to it
    friction: Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)] = 0.0  # viscous, of its bearing
    side: Literal["inside", "back"] = "inside"  # of the belt that touches it
    flange: Literal["torque", "speed", "none"] = "torque"  # what goes in; none: an idler
    load: Load | None = None  # a machine on its shaft
    description: str = ""


class HybridModel(Record):
    """Friction and mesh of the real-time models (`rtcvt.belt.kernels`)."""

    mu: Annotated[float, Field(gt=0.0, le=10.0)]  # friction of belt and pulleys
    cells: Annotated[int, Field(ge=1, le=16)] = 3  # of each wrap
    substeps: Annotated[int, Field(ge=1, le=10000)] = 1  # internal steps in a step


class AncfModel(Record):
    """Contact per area and mesh of the ANCF belt (Ntarladima, Pieber and Gerstmayr 2023)."""

    k_c: Annotated[float, quantity_in("N/m3", above=0.0)]  # normal stiffness by area
    d_c: Annotated[float, quantity_in("N.s/m3", at_least=0.0)] = 0.0  # normal damping by area
    mu: Annotated[float, Field(ge=0.0, le=10.0)]  # friction
    mu_k: Annotated[float, quantity_in("N/m3", above=0.0)]  # stiffness of the bristles
    mu_v: Annotated[float, quantity_in("N.s/m3", at_least=0.0)] = 0.0  # viscosity of the bristles
    gravity: Annotated[float, quantity_in("m/s2", at_least=0.0)] = 9.81  # in the direction of -y
    hysteresis: Annotated[float, quantity_in("N.s/m4", at_least=0.0)] = 0.0  # Lankarani and Nikravesh's, beside d_c
    point_normals: bool = False  # normals of the segments' points instead of the segments'
    scheme: Literal["a", "b", "c"] = "c"  # integration points of the elements
    elements: Annotated[int, Field(ge=8, le=100000)] = 240  # of the belt
    segments: Annotated[int, Field(ge=1, le=16)] = 4  # of contact in an element
    step: Duration = 5e-5  # of the integration


class ElementModel(Record):
    """Contact per element and mesh of the belt of rigid elements (Kubas 2017)."""

    c_1: Annotated[float, quantity_in("N/m2", at_least=0.0)]  # normal stiffness, quadratic part
    c_2: Annotated[float, quantity_in("N/m", at_least=0.0)]  # normal stiffness, linear part
    b: Annotated[float, quantity_in("N.s/m", at_least=0.0)]  # normal damping
    p_max: Length  # penetration from which damping acts in full
    mu: Annotated[float, Field(ge=0.0, le=10.0)]  # friction
    dv: Annotated[float, quantity_in("m/s", above=0.0)]  # sliding speed from which friction acts in full
    gravity: Annotated[float, quantity_in("m/s2", at_least=0.0)] = 9.81  # in the direction of -y
    elements: Annotated[int, Field(ge=8, le=100000)] = 150  # of the belt
    tolerance: Annotated[float, Field(gt=0.0, lt=0.1)] = 1e-5  # of the step control, relative

    @model_validator(mode="after")
    def _stiff(self) -> "ElementModel":
        if self.c_1 == self.c_2 == 0.0:
            raise ValueError("c_1 or c_2 above 0")
        return self


class BeltUnit(Record):
    """A belt drive with its scenarios."""

    name: Name
    kind: Literal["belt"]
    description: str = ""
    winding: Literal["anticlockwise", "clockwise"] = "anticlockwise"  # direction of the belt's line around the pulleys
    belt: Belt  # its section and tension
    pulleys: dict[Name, Pulley] = Field(min_length=2)  # in the order in which the belt meets them, by name
    hybrid: HybridModel | None = None  # of the real-time models
    ancf: AncfModel | None = None  # full model: a belt of finite elements
    elements: ElementModel | None = None  # full model: a belt of rigid elements
    step: Duration = 1e-3  # of the real-time model
    scenario: tuple[Scenario, ...] = ()

    source: Annotated[str, Field(exclude=True)] = ""
    text: Annotated[str, Field(exclude=True)] = ""

    @property
    def line_radius(self) -> tuple[float, ...]:
        """Radii of the belt's line on the pulleys [m]."""
        return tuple(p.radius + 0.5 * self.belt.height for p in self.pulleys.values())

    def path(self) -> BeltPath:
        """The taut belt.

        Raises
        ------
        InputError
            There is none around these pulleys.
        """
        pulleys = list(self.pulleys.values())
        try:
            return belt_path(
                np.array([p.center for p in pulleys]),
                np.array(self.line_radius),
                np.array([p.side == "inside" for p in pulleys]),
                1 if self.winding == "anticlockwise" else -1,
            )
        except ValueError as error:
            allowed = str(error)
            for i, name in reversed(list(enumerate(self.pulleys))):
                allowed = allowed.replace(f" {i} ", f" {name} ").replace(f" {i}", f" {name}")
            raise InputError(self.source, "pulleys", list(self.pulleys), f"a belt that fits: {allowed}") from None

    def rest_length(self) -> float:
        """Length of the belt without load [m]: taut length / (1 + pretension/EA)."""
        return self.path().length / (1.0 + self.belt.pretension / self.belt.EA)


def load_belt_unit(name: str | Path) -> BeltUnit:
    """Read and validate a belt drive's file, or a shipped one.

    Raises
    ------
    InputError
        The file is missing, not TOML, not a belt drive, or describes one that cannot be built.
    """
    return read_belt_unit(read_unit_file(name))


def read_belt_unit(file: UnitFile) -> BeltUnit:
    """Validate the unit file of a belt drive.

    Raises
    ------
    InputError
        A key is missing, unknown or out of its range, or no belt fits around the pulleys.
    """
    unit, source = file.parse(BeltUnit), file.source
    taut, belt = unit.path().length, unit.belt
    if belt.length is not None:
        if not 1.0 < taut / belt.length < 1.2:
            allowed = f"a belt that is taut and stretched by less than a fifth: {taut / 1.2:g} m to {taut:g} m"
            raise InputError(source, "belt.length", belt.length, allowed)
        tight = belt.model_copy(update={"pretension": belt.EA * (taut / belt.length - 1.0)})
        unit = unit.model_copy(update={"belt": tight})
    for reserved in ("belt", "storage", "loss"):
        if reserved in unit.pulleys:
            raise InputError(source, f"pulleys.{reserved}", None, "a name that is not a group of variables")
    keys = {"torque": "tau", "speed": "w"}
    inputs = {f"{n}.{keys[p.flange]}" for n, p in unit.pulleys.items() if p.flange in keys}
    seen: set[str] = set()
    for scenario in unit.scenario:
        if scenario.name in seen:
            raise InputError(source, "scenario.name", scenario.name, "a name that is used once")
        seen.add(scenario.name)
        for key in scenario.inputs:
            if key not in inputs:
                raise InputError(source, f"scenario.inputs.{key}", key, f"one of {', '.join(sorted(inputs))}")
    return unit
