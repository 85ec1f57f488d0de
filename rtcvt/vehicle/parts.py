"""Unit files of vehicle, driveline, driver, cycle and pump, and their real-time models.

Equations are in `longitudinal`, `driveline`, `driver`, `cycle` and `pump`.

All parameters of the kind are given in the file; a cycle has a table
of speeds instead. Bare numbers are SI, strings carry their unit.
"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rtcvt.errors import InputError
from rtcvt.files.cycle import load_cycle
from rtcvt.model import Model
from rtcvt.part import Part as AnyPart
from rtcvt.part import built, table_of
from rtcvt.table import Constants
from rtcvt.unitfile import UnitFile, own_file
from rtcvt.vehicle import cycle, driveline, driver, longitudinal, pump

KINDS: dict[str, Any] = {
    "vehicle": longitudinal,
    "driveline": driveline,
    "driver": driver,
    "cycle": cycle,
    "pump": pump,
}


class Part(AnyPart):
    """A unit file of one of these kinds."""

    kind: Literal["vehicle", "driveline", "driver", "cycle", "pump"]
    cycle: Annotated[str, Field(min_length=1)] | None = None  # a CSV file, or a shipped one


def read_part(file: UnitFile) -> Part:
    """Validate the unit file of a part.

    Raises
    ------
    InputError
        Not a valid part.
    """
    return file.parse(Part)


def build_part(part: Part, substeps: int | None = None) -> Model:
    """The real-time model of a part.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; or there is no such cycle.
    """
    kernels = KINDS[part.kind]
    if (kernels is cycle) != (part.cycle is not None):
        raise InputError(part.source, "cycle", part.cycle, "the name of a driving cycle in a part of kind 'cycle' only")
    if part.cycle is None:
        return built(part, kernels, substeps)
    table, data = table_of(part, kernels), Constants(cycle.D)
    found = load_cycle(own_file(part.folder, part.cycle, f"{part.source}: cycle") or part.cycle)
    points = np.stack([found.time, found.v, found.way])
    if found.time[-1] == found.time[-2]:  # the last interval has a length
        points = np.column_stack([points, points[:, -1] + [1.0, 0.0, found.v[-1]]])
    data[cycle.D.POINTS] = points.shape[1]
    for place, values in zip((cycle.D.TIMES, cycle.D.SPEEDS, cycle.D.WAYS), points, strict=True):
        data.table(place, values.tolist())
    return built(part, kernels, substeps, table, data, follows_time=True)
