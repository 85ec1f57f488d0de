"""Unit files of vehicles, driveline, flywheel, driver, cycle and pump, and their real-time models.

Equations are in `longitudinal`, `tyres`, `driveline`, `dual_mass`, `driver`, `cycle` and `pump`.

All parameters of the kind are given in the file; a cycle has a table
of speeds instead. Bare numbers are SI, strings carry their unit.
"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rtcvt import quantity
from rtcvt.errors import InputError
from rtcvt.files.cycle import load_cycle
from rtcvt.model import Model
from rtcvt.part import Part as AnyPart
from rtcvt.part import built, table_of
from rtcvt.table import TINY, Constants
from rtcvt.unitfile import UnitFile
from rtcvt.vehicle import cycle, driveline, driver, dual_mass, longitudinal, pump, tyres

KINDS: dict[str, Any] = {
    "vehicle": longitudinal,
    "driveline": driveline,
    "driver": driver,
    "cycle": cycle,
    "pump": pump,
    "tyred_vehicle": tyres,
    "dual_mass_flywheel": dual_mass,
}


class Part(AnyPart):
    """A unit file of one of these kinds."""

    kind: Literal["vehicle", "driveline", "driver", "cycle", "pump", "tyred_vehicle", "dual_mass_flywheel"]
    cycle: Annotated[str, Field(min_length=1)] | None = None  # a CSV file, or a shipped one


def read_part(file: UnitFile) -> Part:
    """Validate the unit file of a part.

    Raises
    ------
    InputError
        Not a valid part.
    """
    return file.parse(Part)


DEFAULTS = {"vehicle": {"F1": 0.0}, "driveline": {"tau_0": 0.0}}  # values of parameters that files may leave out
ROAD_LOAD = (("F0", "N", "f_R"), ("F2", "N.s2/m2", "rho_cw_A"))  # keys, and the coefficients that they give


def _with_coefficients(part: Part) -> Part:
    """A vehicle with coefficients of resistance instead of F0 and F2 of a road load.

    Raises
    ------
    InputError
        Both are given, a value is out of range, or the road load is below zero at some speed.
    """
    given = dict(part.parameters)

    def value(key: str, unit: str, low: float = TINY) -> float:
        try:
            number = quantity.of_machine(given[key], unit)
        except KeyError:
            return 1.0  # `table_of` refuses it
        except ValueError as error:
            raise InputError(part.source, f"parameters.{key}", given[key], str(error)) from None
        if number < low:
            raise InputError(part.source, f"parameters.{key}", given[key], f"at least {quantity.shown(low, unit)}")
        return number

    for key, unit, coefficient in ROAD_LOAD:
        if key in given:
            if coefficient in given:
                raise InputError(part.source, f"parameters.{key}", given[key], f"either '{key}' or '{coefficient}'")
            force = value(key, unit, 0.0)
            given[coefficient] = 2.0 * force if key == "F2" else force / (value("m", "kg") * value("g", "m/s2"))
            del given[key]
    if (F1 := value("F1", "N.s/m", -np.inf)) < 0.0:
        least = 2.0 * value("f_R", "1", 0.0) * value("m", "kg") * value("g", "m/s2") * value("rho_cw_A", "kg/m", 0.0)
        if least < F1 * F1:
            allowed = f"at least {-np.sqrt(least):g} N.s/m: else the road load is below zero at some speed"
            raise InputError(part.source, "parameters.F1", given["F1"], allowed)
    return part.model_copy(update={"parameters": given})


def build_part(part: Part, substeps: int | None = None) -> Model:
    """The real-time model of a part.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; or there is no such cycle.
    """
    kernels = KINDS[part.kind]
    if part.kind in DEFAULTS:
        part = part.model_copy(update={"parameters": {**DEFAULTS[part.kind], **part.parameters}})
    if part.kind == "vehicle":
        part = _with_coefficients(part)
    if (kernels is cycle) != (part.cycle is not None):
        raise InputError(part.source, "cycle", part.cycle, "the name of a driving cycle in a part of kind 'cycle' only")
    if part.cycle is None:
        return built(part, kernels, substeps)
    table, data = table_of(part, kernels), Constants(cycle.D)
    found = load_cycle(part.cycle, part.folder, f"{part.source}: cycle")
    points = np.stack([found.time, found.v, found.way])
    if found.time[-1] == found.time[-2]:  # the last interval has a length
        points = np.column_stack([points, points[:, -1] + [1.0, 0.0, found.v[-1]]])
    data[cycle.D.POINTS] = points.shape[1]
    for place, values in zip((cycle.D.TIMES, cycle.D.SPEEDS, cycle.D.WAYS), points, strict=True):
        data.table(place, values.tolist())
    return built(part, kernels, substeps, table, data, follows_time=True)
