"""Belt drives in unit files: one description for the full models and for the reduced one.

``belt`` is the belt by itself, with its pretension or its length without load; ``pulleys`` are listed in the order in
which the belt visits them, ``winding`` is the sense of that order. A pulley is moved by a torque or by a prescribed
speed (``flange``), given over time by a scenario as ``NAME.tau`` or ``NAME.w``, or only by the belt; ``load`` adds a
torque over speed. A pulley with an ``arm`` is carried by a tensioner's arm, which turns about a pivot; one with a
``decoupler`` drives its shaft by a spring and a one-way clutch. ``resonance`` names engine orders. Angles, speeds and
torques are positive anticlockwise. ``hybrid`` has the further data of the real-time models, ``ancf`` and ``elements``
those of one full model: contact laws and meshes.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from rtcvt.belt.geometry import BeltPath, belt_path
from rtcvt.errors import InputError
from rtcvt.kind import Unit
from rtcvt.scenario import Scenario
from rtcvt.unitfile import MAX_SUBSTEPS, Duration, Name, Record, asked_above, quantity_in

Length = Annotated[float, quantity_in("m", above=0.0)]
Place = Annotated[float, quantity_in("m")]
Speed = Annotated[float, quantity_in("rad/s")]
Torque = Annotated[float, quantity_in("N.m")]
Angle = Annotated[float, quantity_in("rad")]
Mu = Annotated[float, Field(gt=0.0, le=10.0), asked_above(5.0)]  # that of ribs counts their wedge


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
    length: Length | None = None  # without load, instead of the pretension: a belt from a catalogue
    type: Literal["ribbed", "flat"] = "ribbed"  # by which a drive without a full model's table has estimated contact

    @model_validator(mode="after")
    def _stretches_little(self) -> "Belt":
        if "pretension" in self.model_fields_set and self.length is not None:
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


class Arm(Record):
    """Arm of a tensioner, which carries a pulley; its angle counts anticlockwise from where the pulley is drawn."""

    pivot: tuple[Place, Place]  # x and y
    inertia: Annotated[float, quantity_in("kg.m2", above=0.0)]  # about the pivot, with the mass of the pulley
    stiffness: Annotated[float, quantity_in("N.m/rad", above=0.0)]  # of its spring
    preload: Annotated[float, quantity_in("N.m", above=0.0)] | None = None  # of the spring, at the drawn place
    damping: Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)] = 0.0  # viscous
    friction: Annotated[float, quantity_in("N.m", at_least=0.0)] = 0.0  # dry
    friction_stiffness: Annotated[float, quantity_in("N.m/rad", above=0.0)] = 500.0  # of the arm that sticks
    stops: tuple[Angle, Angle]  # angles of the end stops
    stop_stiffness: Annotated[float, quantity_in("N.m/rad", above=0.0)] = 2e4  # of an end stop that is passed
    stop_damping: Annotated[float, quantity_in("s/rad", at_least=0.0)] = 0.2  # share of the stop's torque by speed

    @model_validator(mode="after")
    def _stands_between(self) -> "Arm":
        if not self.stops[0] < 0.0 < self.stops[1]:
            raise ValueError("stops on the two sides of the drawn place: an angle below 0 and one above 0")
        return self


class Decoupler(Record):
    """A spring and a one-way clutch between a pulley and its shaft (`rtcvt.belt.decoupler`)."""

    inertia: Annotated[float, quantity_in("kg.m2", above=0.0)]  # of the shaft with its machine
    stiffness: Annotated[
        float, quantity_in("N.m/rad", above=0.0)
    ]  # stiffness of the spring, or of the clutch without one
    damping: Annotated[float, quantity_in("N.m.s/rad", above=0.0)]  # parallel to the spring
    drag: Annotated[float, quantity_in("N.m", at_least=0.0)] = 0.0  # of the clutch, as the shaft overruns
    direction: Literal["anticlockwise", "clockwise"]  # in which the pulley drives its shaft


class Pulley(Record):
    """A pulley that turns about a fixed centre, or on an arm."""

    center: tuple[Place, Place]  # x and y
    radius: Length  # to the belt's inner side
    inertia: Annotated[float, quantity_in("kg.m2", above=0.0)]  # with all masses fixed to it
    friction: Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)] = 0.0  # viscous, of its bearing
    side: Literal["inside", "back"] = "inside"  # of the belt that touches it
    flange: Literal["torque", "speed", "none"] = "torque"  # input; none: an idler
    load: Load | None = None  # a machine on its shaft
    arm: Arm | None = None  # of a tensioner
    decoupler: Decoupler | None = None  # before its shaft, which then has the friction, the load and the flange
    mu: Mu | None = None  # friction of the belt on it; default: that of the side
    description: str = ""


class Sliding(Record):
    """Friction over the sliding speed, linear between the points and constant beyond (`rtcvt.belt.friction`)."""

    v: tuple[Annotated[float, quantity_in("m/s", at_least=0.0)], ...] = Field(min_length=2)  # from 0, increasing
    share: tuple[Annotated[float, Field(gt=0.0, le=10.0)], ...] = Field(min_length=2)  # of mu, there; the first is 1

    @model_validator(mode="after")
    def _increasing(self) -> "Sliding":
        if len(self.v) != len(self.share):
            raise ValueError(f"as many shares as speeds: {len(self.v)} speeds, {len(self.share)} shares")
        if self.v[0] != 0.0 or any(b <= a for a, b in pairwise(self.v)):
            raise ValueError("speeds that begin with 0 and increase")
        if self.share[0] != 1.0:
            raise ValueError("a first share of 1: mu is that of a belt that begins to slide")
        return self


class HybridModel(Record):
    """Friction and mesh of the real-time models (`rtcvt.belt.kernels`); the full ones use the friction of the back and
    the sliding law."""

    mu: Mu  # friction of belt and pulleys
    mu_back: Mu | None = None  # of the belt's back; default: mu
    sliding: Sliding | None = None  # change of the coefficients by sliding
    cells: Annotated[int, Field(ge=1, le=16)] = 3  # of each wrap
    substeps: Annotated[int, Field(ge=1, le=MAX_SUBSTEPS)] = 1  # internal steps in a step


class AncfModel(Record):
    """Contact per area and mesh of the ANCF belt (Ntarladima, Pieber and Gerstmayr 2023)."""

    k_c: Annotated[float, quantity_in("N/m3", above=0.0)]  # normal stiffness by area
    d_c: Annotated[float, quantity_in("N.s/m3", at_least=0.0)] = 0.0  # normal damping by area
    mu: Annotated[float, Field(ge=0.0, le=10.0), asked_above(5.0)]  # friction
    mu_k: Annotated[float, quantity_in("N/m3", above=0.0)]  # stiffness of the bristles
    mu_v: Annotated[float, quantity_in("N.s/m3", at_least=0.0)] = 0.0  # viscosity of the bristles
    gravity: Annotated[float, quantity_in("m/s2", at_least=0.0)] = 9.81  # in the direction of -y
    hysteresis: Annotated[float, quantity_in("N.s/m4", at_least=0.0)] = 0.0  # Lankarani and Nikravesh's, added to d_c
    point_normals: bool = False  # contact normals by points, not by segments, to compare
    scheme: Literal["a", "b", "c"] = "c"  # of the elements' integration points, as in the paper
    elements: Annotated[int, Field(ge=8, le=100000)] = 240  # of the belt
    segments: Annotated[int, Field(ge=1, le=16)] = 4  # of contact in an element
    step: Duration = 5e-5  # of the integration


class ElementModel(Record):
    """Contact per element and mesh of the belt of rigid elements (Kubas 2017)."""

    c_1: Annotated[float, quantity_in("N/m2", at_least=0.0)]  # normal stiffness, quadratic part
    c_2: Annotated[float, quantity_in("N/m", at_least=0.0)]  # normal stiffness, linear part
    b: Annotated[float, quantity_in("N.s/m", at_least=0.0)]  # normal damping
    p_max: Length  # penetration from which damping acts in full
    mu: Annotated[float, Field(ge=0.0, le=10.0), asked_above(5.0)]  # friction
    dv: Annotated[float, quantity_in("m/s", above=0.0)]  # sliding speed from which friction acts in full
    gravity: Annotated[float, quantity_in("m/s2", at_least=0.0)] = 9.81  # in the direction of -y
    stretch_exponent: Annotated[float, Field(ge=0.2, le=5.0)] = 1.0  # e of F = EA strain^e; real-time models have 1
    bending_exponent: Annotated[float, Field(ge=0.2, le=5.0)] = 1.0  # e of M = EI curvature^e; also 1 there
    elements: Annotated[int, Field(ge=8, le=100000)] = 150  # of the belt
    method: Literal["rosenbrock", "RK45"] = "rosenbrock"  # RK45: explicit steps like the paper's, for comparison
    tolerance: Annotated[float, Field(gt=0.0, lt=0.1)] = 1e-5  # of the step control, relative

    @model_validator(mode="after")
    def _stiff(self) -> "ElementModel":
        if self.c_1 == self.c_2 == 0.0:
            raise ValueError("c_1 or c_2 above 0")
        return self


class MovingModel(Record):
    """Contact and basis of the belt that moves across its line (Lorenz and others 2014), ``--model moving``."""

    functions: Annotated[int, Field(ge=20, le=1000)] | None = None  # splines; default: by the smallest pulley
    k: Annotated[float, quantity_in("N/m2", above=0.0)] | None = None  # normal stiffness; default: [ancf] or [elements]
    d: Annotated[float, quantity_in("N.s/m2", at_least=0.0)] | None = None  # normal damping; default: as k
    dv: Annotated[float, quantity_in("m/s", above=0.0)] = 0.05  # slip from which friction acts in full
    step: Duration = 1e-4  # of the integration


Order = Annotated[float, Field(gt=0.0, le=100.0)]


class Resonance(Record):
    """Engine orders that may meet the spans as they swing across (`rtcvt.belt.resonance`)."""

    driver: Name | None = None  # pulley whose turns the orders count; default: the driving one
    orders: tuple[Order, ...] = Field(min_length=1, max_length=20)  # of the engine, as 2 for twice a turn
    band: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1  # share of a span's frequency within which an order meets it
    damping: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0  # further damping of the spans, relative to critical
    runout: Length | None = None  # amplitude with which pulleys move the spans' ends across at an order


class Lateral(Record):
    """Modes of the spans across in the hybrid model (`rtcvt.belt.lateral`)."""

    modes: Annotated[int, Field(ge=1, le=8)] = 3  # of each span
    runout: dict[Name, Annotated[float, quantity_in("m", at_least=0.0)]] = {}  # by which a pulley is eccentric
    damping: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0  # relative to critical, beyond that of ribs and bending


class Patch(Record):
    """A part of the belt, or of a pulley's rim, with another friction (`rtcvt.belt.patches`)."""

    mu_share: Annotated[float, Field(gt=0.0, le=10.0)]  # of mu, where the patch is
    stretch: tuple[Place, Place] | None = None  # of the belt: from, to; along its line, from where it leaves the first
    pulley: Name | None = None  # or of this pulley
    arc: tuple[Angle, Angle] | None = None  # its rim: from, to; anticlockwise from x, at the start

    @model_validator(mode="after")
    def _somewhere(self) -> "Patch":
        if (self.stretch is None) == (self.arc is None) or (self.pulley is None) != (self.arc is None):
            raise ValueError("either 'stretch', or 'pulley' and 'arc'")
        start, end = self.stretch or self.arc or (0.0, 0.0)
        if not start < end or (self.arc is not None and end - start > 6.2832):
            raise ValueError("an end after the start" + (", at most a turn" if self.arc is not None else ""))
        return self


class BeltUnit(Unit):
    """A belt drive with its scenarios."""

    kind: Literal["belt"]
    winding: Literal["anticlockwise", "clockwise"] = "anticlockwise"  # direction of the belt's line around the pulleys
    belt: Belt  # its section and tension
    pulleys: dict[Name, Pulley] = Field(min_length=2)  # in the order in which the belt meets them, by name
    hybrid: HybridModel | None = None  # of the real-time models
    ancf: AncfModel | None = None  # full model: a belt of finite elements
    elements: ElementModel | None = None  # full model: a belt of rigid elements
    moving: MovingModel | None = None  # full model: a belt with lateral motion and one tension
    resonance: Resonance | None = None  # engine orders that the real-time model watches
    lateral: Lateral | None = None  # spans of the hybrid model swing across
    patch: tuple[Patch, ...] = Field(default=(), max_length=8)  # of other friction, as under an oil film
    step: Duration = 1e-3  # of the real-time model
    scenario: tuple[Scenario, ...] = ()

    @property
    def line_radius(self) -> tuple[float, ...]:
        """Radii of the belt's line on the pulleys [m]."""
        return tuple(p.radius + 0.5 * self.belt.height for p in self.pulleys.values())

    @property
    def spans(self) -> tuple[str, ...]:
        """Names of the spans, ``A_B`` from A to B, each after its first pulley."""
        names = list(self.pulleys)
        return tuple(f"{a}_{b}" for a, b in zip(names, names[1:] + names[:1], strict=True))

    @property
    def arms(self) -> dict[int, Arm]:
        """Arms by the places of their pulleys."""
        return {i: p.arm for i, p in enumerate(self.pulleys.values()) if p.arm is not None}

    @property
    def decouplers(self) -> dict[int, Decoupler]:
        """Decouplers by the places of their pulleys."""
        return {i: p.decoupler for i, p in enumerate(self.pulleys.values()) if p.decoupler is not None}

    @property
    def friction(self) -> tuple[float, ...]:
        """Coefficient of each pulley in the real-time models."""
        assert self.hybrid is not None
        return self.friction_of(self.hybrid.mu)

    def friction_of(self, mu: float) -> tuple[float, ...]:
        """Coefficient of each pulley: its own, that of the belt's back if there is one, or `mu`, that of the ribs."""
        back = mu if self.hybrid is None or self.hybrid.mu_back is None else self.hybrid.mu_back
        sides = {"inside": mu, "back": back}
        return tuple(sides[p.side] if p.mu is None else p.mu for p in self.pulleys.values())

    @property
    def driver(self) -> str:
        """Pulley that drives: that of ``resonance``, or the first that a speed, else a torque moves, else the first."""
        if self.resonance is not None and self.resonance.driver is not None:
            return self.resonance.driver
        moved = [n for kind in ("speed", "torque") for n, p in self.pulleys.items() if p.flange == kind]
        return moved[0] if moved else next(iter(self.pulleys))

    def path(self, angles: Mapping[int, float] | None = None) -> BeltPath:
        """The taut belt.

        Parameters
        ----------
        angles : mapping of int to float, optional
            Angles [rad] of arms by the places of their pulleys, 0 where there is none.

        Raises
        ------
        InputError
            There is none around these pulleys.
        """
        pulleys = list(self.pulleys.values())
        try:
            return belt_path(
                np.array([place(p, (angles or {}).get(i, 0.0)) for i, p in enumerate(pulleys)]),
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


def place(pulley: Pulley, angle: float) -> tuple[float, float]:
    """Centre (x, y) [m] of a pulley whose arm has turned by `angle` [rad]."""
    if pulley.arm is None or angle == 0.0:
        return pulley.center
    (x, y), (a, b) = pulley.center, pulley.arm.pivot
    c, s = float(np.cos(angle)), float(np.sin(angle))
    return a + c * (x - a) - s * (y - b), b + s * (x - a) + c * (y - b)
