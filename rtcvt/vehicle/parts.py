"""Unit files of vehicle, driveline, driver and cycle, and their real-time models; equations in `kernels`.

A part's parameters are those of its kind (`TABLES`), all of them given in its file; a cycle has a table of speeds
instead. Bare numbers are SI, strings carry their unit.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rtcvt import quantity
from rtcvt.errors import InputError
from rtcvt.model import Model, Variable
from rtcvt.unitfile import Name, Scenario, Solver, find_unit, parse_table, parse_toml, read_toml
from rtcvt.vehicle import kernels, layout
from rtcvt.vehicle.cycle import load_cycle

__all__ = ["KINDS", "TABLES", "Part", "build_part", "load_part", "read_part"]


class Row(NamedTuple):
    """A parameter, an input or an output of a kind."""

    name: str
    unit: str
    text: str
    minimum: float | None = None
    nominal: float | None = None
    display: str | None = None


class Tables(NamedTuple):
    """What the parts of a kind have in common, in the order of `layout`."""

    kind: int
    parameters: tuple[Row, ...]
    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]
    states: tuple[tuple[str, str], ...]


TINY = 1e-9  # least value of what must be above zero

TABLES = {
    "vehicle": Tables(
        layout.VEHICLE,
        (
            Row("vehicle.m", "kg", "mass", TINY),
            Row("vehicle.J_w", "kg.m2", "moment of inertia of all wheels together, with what turns with them", 0.0),
            Row("vehicle.r_w", "m", "rolling radius", TINY),
            Row("vehicle.rho_cw_A", "kg/m", "density of the air times drag area", 0.0),
            Row("vehicle.f_R", "1", "coefficient of rolling resistance", 0.0),
            Row("vehicle.g", "m/s2", "acceleration of gravity", 0.0),
            Row("vehicle.v_0", "m/s", "speed at which friction has 71 % of its full value", 1e-4),
            Row("vehicle.v_start", "m/s", "speed at the start", None, 30.0, "km/h"),
        ),
        (
            Row("axle.load", "N.m", "torque that the driveline takes at the axle", None, 1e3),
            Row("drive.tau", "N.m", "torque of the drive at the wheels", None, 1e3),
            Row("brake.tau", "N.m", "torque of the brakes at the wheels, not negative", 0.0, 1e3),
            Row("road.slope", "1", "slope of the road, tan(alpha), uphill positive", None, 0.1),
        ),
        (
            Row("axle.w", "rad/s", "speed of the wheels", None, 100.0, "rpm"),
            Row("vehicle.v", "m/s", "speed", None, 30.0, "km/h"),
            Row("vehicle.s", "m", "distance", None, 1e3, "km"),
            Row("vehicle.a", "m/s2", "acceleration", None, 1.0),
            Row("storage.E", "J", "kinetic energy", 0.0, 1e5, "kJ"),
            Row("force.aero", "N", "aerodynamic drag", None, 1e3),
            Row("force.roll", "N", "rolling resistance", None, 1e3),
            Row("force.grade", "N", "downhill force", None, 1e3),
            Row("force.brake", "N", "braking force", None, 1e3),
        ),
        (("vehicle.v", "m/s"), ("vehicle.s", "m")),
    ),
    "driveline": Tables(
        layout.DRIVELINE,
        (
            Row("driveline.i", "1", "ratio, speed of the shaft by speed of the axle", TINY),
            Row("driveline.K", "N.m/rad", "torsional stiffness of the half-shafts, at the axle", TINY),
            Row("driveline.d", "N.m.s/rad", "damping of the half-shafts, at the axle", 0.0),
            Row("driveline.J", "kg.m2", "moment of inertia of final drive and shaft, at the shaft", TINY),
            Row("driveline.b", "N.m.s/rad", "viscous friction, at the shaft", 0.0),
            Row("driveline.mu", "1", "share of the torque that the teeth lose", 0.0),
            Row("driveline.w_0", "rad/s", "speed at which that loss has 71 % of its full value", 1e-4),
            Row("driveline.w_start", "rad/s", "speed of the shaft at the start", None, 100.0, "rpm"),
        ),
        (
            Row("axle.w", "rad/s", "speed of the axle", None, 100.0, "rpm"),
            Row("shaft.load", "N.m", "torque that the unit at the shaft takes", None, 100.0),
        ),
        (
            Row("axle.tau", "N.m", "torque into the driveline at the axle", None, 1e3),
            Row("shaft.w", "rad/s", "speed of the shaft", None, 100.0, "rpm"),
            Row("storage.E", "J", "energy stored in half-shafts and final drive", 0.0, 1e3, "kJ"),
            Row("driveline.P_loss", "W", "lost power", 0.0, 1e3, "kW"),
        ),
        (("driveline.phi", "rad"), ("driveline.w", "rad/s")),
    ),
    "driver": Tables(
        layout.DRIVER,
        (
            Row("driver.K_p", "N.s", "proportional gain from speed to torque at the wheels", 0.0),
            Row("driver.K_i", "N", "integral gain from speed to torque at the wheels", 0.0),
            Row("driver.T_t", "s", "time constant that ends wind-up", 1e-3),
            Row("driver.T_f", "s", "time constant of the filter of the measured torque", 1e-3),
            Row("driver.tau_drive", "N.m", "largest torque of the drive at the wheels", 0.0),
            Row("driver.tau_brake", "N.m", "largest torque of the brakes at the wheels", 0.0),
            Row("driver.tau_kers", "N.m", "largest torque that is demanded of the KERS, at the wheels", 0.0),
            Row("driver.i", "1", "ratio between KERS and wheels", TINY),
            Row("driver.v_h", "m/s", "speed below which the vehicle counts as standing", 1e-4),
            Row("driver.T_h", "s", "time constant with which the integrator is let go at standstill", 1e-3),
            Row("driver.tau_hold", "N.m", "torque of the brakes at standstill", 0.0),
            Row("driver.theta_low", "rad", "tilt of the KERS at which it counts as empty"),
            Row("driver.theta_high", "rad", "tilt of the KERS at which it counts as full"),
            Row("driver.theta_band", "rad", "width over which the demand fades out before either", 1e-3),
            Row("driver.E_full", "J", "energy at which the KERS counts as full", 0.0),
            Row("driver.E_band", "J", "width over which the demand fades out before that", 1e-3),
        ),
        (
            Row("driver.v_des", "m/s", "speed that is wanted", None, 30.0, "km/h"),
            Row("driver.v", "m/s", "speed of the vehicle", None, 30.0, "km/h"),
            Row("driver.tau_axle", "N.m", "torque that the driveline takes at the axle, as measured", None, 1e3),
            Row("driver.theta", "rad", "tilt of the KERS", None, 1.0, "deg"),
            Row("driver.E", "J", "energy stored in the KERS", None, 1e4, "kJ"),
        ),
        (
            Row("drive.tau", "N.m", "torque of the drive at the wheels", 0.0, 1e3),
            Row("brake.tau", "N.m", "torque of the brakes at the wheels", 0.0, 1e3),
            Row("kers.tau_des", "N.m", "demanded torque into the KERS", None, 100.0),
        ),
        (("driver.z", "N.m"), ("driver.a", "N.m")),
    ),
    "cycle": Tables(
        layout.CYCLE,
        (),
        (),
        (
            Row("cycle.v", "m/s", "speed", 0.0, 30.0, "km/h"),
            Row("cycle.s", "m", "distance", 0.0, 1e3, "km"),
        ),
        (("cycle.s", "m"),),
    ),
}
KINDS = tuple(TABLES)


class Part(BaseModel):
    """A unit file of one of these kinds."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: Name
    kind: Literal["vehicle", "driveline", "driver", "cycle"]
    description: str = ""
    parameters: dict[str, float | str] = {}
    cycle: Annotated[str, Field(min_length=1)] | None = None  # a CSV file, or a shipped one
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    source: Annotated[str, Field(exclude=True)] = ""  # where it was read from, for messages
    text: Annotated[str, Field(exclude=True)] = ""  # the file as it was read
    folder: Annotated[Path, Field(exclude=True)] = Path()  # in which a cycle's file is looked for


def load_part(name: str | Path) -> Part:
    """Read and validate the unit file of a part, or a shipped part.

    Raises
    ------
    InputError
        The file is missing, not TOML, or not a valid part.
    """
    path = find_unit(str(name))
    return read_part(read_toml(path)[1], path.name, path.parent)


def read_part(text: str, source: str, folder: Path = Path()) -> Part:
    """Validate the text of a part's unit file; `source` names it in messages, a cycle's file is looked for in `folder`.

    Raises
    ------
    InputError
        Not TOML, or not a valid part.
    """
    data = parse_toml(text, source)
    return parse_table(Part, {**data, "source": source, "text": text, "folder": folder}, source)


def build_part(part: Part, substeps: int | None = None) -> Model:
    """The real-time model of a part.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; or there is no such cycle.
    """
    tables = TABLES[part.kind]
    p = [0.0] * layout.P
    p[layout.KIND] = tables.kind
    p[layout.N_X], p[layout.N_U], p[layout.N_Y] = len(tables.states), len(tables.inputs), len(tables.outputs)
    p[layout.INTERNAL_STEP] = part.solver.step / (substeps or part.solver.substeps)
    if part.solver.method != "rosenbrock":
        raise InputError(part.source, "solver.method", part.solver.method, "'rosenbrock'")
    variables = [*_parameters(part, tables, p), *_signals("input", tables.inputs), *_signals("output", tables.outputs)]
    if (part.kind == "cycle") != (part.cycle is not None):
        raise InputError(part.source, "cycle", part.cycle, "the name of a driving cycle in a part of kind 'cycle' only")
    if part.cycle is not None:
        own = part.folder / part.cycle
        cycle = load_cycle(own if own.is_file() else part.cycle)
        p[layout.POINTS], p[layout.SPACING] = len(cycle.v), cycle.spacing
        p += cycle.v.tolist()
    return Model(
        name=part.name,
        description=part.description,
        fidelity="rigid",
        variables=tuple(variables),
        states=tables.states,
        p=np.array(p),
        n_work=layout.N_WORK,
        step_size=part.solver.step,
        initialise=kernels.initialise,
        derivative=kernels.derivative,
        jacobian=kernels.jacobian,
        output=kernels.output,
        step=kernels.step,
        source=part.text,
    )


def _parameters(part: Part, tables: Tables, p: list[float]) -> Iterable[Variable]:
    """Append the parameters to `p`."""
    known = {row.name.partition(".")[2]: row for row in tables.parameters}
    for key in part.parameters:
        if key not in known:
            raise InputError(part.source, f"parameters.{key}", None, f"one of {', '.join(known) or 'none'}")
    for key, row in known.items():
        given = part.parameters.get(key)
        if given is None:
            raise InputError(part.source, f"parameters.{key}", None, f"this key is required: {row.text} [{row.unit}]")
        try:
            value = quantity.to_si(given, row.unit)
        except ValueError as error:
            raise InputError(part.source, f"parameters.{key}", given, str(error)) from None
        if row.minimum is not None and value < row.minimum:
            raise InputError(part.source, f"parameters.{key}", given, f"at least {row.minimum:g} {row.unit}")
        p.append(value)
        nominal = row.nominal or abs(value) or None
        yield Variable(
            row.name, "parameter", len(p) - 1, row.unit, row.text, value, row.minimum, None, nominal, row.display
        )


def _signals(causality: Literal["input", "output"], rows: tuple[Row, ...]) -> Iterable[Variable]:
    for k, row in enumerate(rows):
        start = 0.0 if causality == "input" else None
        yield Variable(row.name, causality, k, row.unit, row.text, start, row.minimum, None, row.nominal, row.display)
