"""Unit files of vehicle, driveline, driver and cycle, and their real-time models; equations in `kernels`.

A part's parameters are those of its kind (`rtcvt.vehicle.layout`), all of them given in its file; a cycle has a table
of speeds instead. Bare numbers are SI, strings carry their unit.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from rtcvt.errors import InputError
from rtcvt.files.cycle import load_cycle
from rtcvt.model import Model
from rtcvt.part import Part as AnyPart
from rtcvt.part import built, internal_step, table_of
from rtcvt.table import Constants
from rtcvt.unitfile import UnitFile, own_file
from rtcvt.vehicle import kernels
from rtcvt.vehicle.layout import TABLES, D, Kind

KINDS = {kind.text: kind for kind in Kind}


class Part(AnyPart):
    """A unit file of one of these kinds."""

    kind: Literal["vehicle", "driveline", "driver", "cycle"]
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
    kind = KINDS[part.kind]
    rows = TABLES[kind]
    table = table_of(part, rows.parameters, rows.inputs, rows.outputs, rows.states)
    data = Constants(D)
    data[D.KIND] = kind
    data[D.N_X], data[D.N_U], data[D.N_Y] = (table.size(what) for what in ("state", "input", "output"))
    longest = data[D.INTERNAL_STEP] = internal_step(part, substeps)
    if (part.kind == "cycle") != (part.cycle is not None):
        raise InputError(part.source, "cycle", part.cycle, "the name of a driving cycle in a part of kind 'cycle' only")
    if part.cycle is not None:
        cycle = load_cycle(own_file(part.folder, part.cycle, f"{part.source}: cycle") or part.cycle)
        points = np.stack([cycle.time, cycle.v, cycle.way])
        if cycle.time[-1] == cycle.time[-2]:  # the last interval has a length
            points = np.column_stack([points, points[:, -1] + [1.0, 0.0, cycle.v[-1]]])
        data[D.POINTS] = points.shape[1]
        for table_of_points, values in zip((D.TIMES, D.SPEEDS, D.WAYS), points, strict=True):
            data.table(table_of_points, values.tolist())
    n_work = data.place_blocks()
    return built(part, table, kernels, data.array(), n_work, longest if part.cycle is None else None)
