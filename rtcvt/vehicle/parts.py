"""Unit files of vehicle, driveline, driver and cycle, and their real-time models; equations in `kernels`.

A part's parameters are those of its kind (`rtcvt.vehicle.layout`), all of them given in its file; a cycle has a table
of speeds instead. Bare numbers are SI, strings carry their unit.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rtcvt.cycle import load_cycle
from rtcvt.errors import InputError
from rtcvt.kind import Unit
from rtcvt.model import Coupling, Model
from rtcvt.scenario import Scenario
from rtcvt.table import Constants, Table, given_values
from rtcvt.unitfile import Solver, UnitFile
from rtcvt.vehicle import kernels
from rtcvt.vehicle.layout import TABLES, D, Kind

__all__ = ["KINDS", "Part", "build_part", "read_part"]


KINDS = {kind.text: kind for kind in Kind}


class Part(Unit):
    """A unit file of one of these kinds."""

    kind: Literal["vehicle", "driveline", "driver", "cycle"]
    parameters: dict[str, float | str] = {}  # see below
    cycle: Annotated[str, Field(min_length=1)] | None = None  # a CSV file, or a shipped one
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    folder: Annotated[Path, Field(exclude=True)] = Path()  # in which a cycle's file is looked for


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
    if part.solver.method != "rosenbrock":
        raise InputError(part.source, "solver.method", part.solver.method, "'rosenbrock'")
    table, data = Table(), Constants(D)
    for row, value in given_values(part.source, part.parameters, rows.parameters):
        table.add("parameter", row, value)
    for row in rows.inputs:
        table.add("input", row, 0.0)
    table.each("output", rows.outputs)
    table.each("state", rows.states)
    data[D.KIND] = kind
    data[D.N_X], data[D.N_U], data[D.N_Y] = (table.size(what) for what in ("state", "input", "output"))
    data[D.INTERNAL_STEP] = part.solver.step / (substeps or part.solver.substeps)
    if (part.kind == "cycle") != (part.cycle is not None):
        raise InputError(part.source, "cycle", part.cycle, "the name of a driving cycle in a part of kind 'cycle' only")
    if part.cycle is not None:
        own = part.folder / part.cycle
        cycle = load_cycle(own if own.is_file() else part.cycle)
        data[D.POINTS], data[D.SPACING] = len(cycle.v), cycle.spacing
        data.table(D.SPEEDS, cycle.v.tolist())
    return Model(
        name=part.name,
        description=part.description,
        fidelity="rigid",
        variables=table.variables,
        states=table.states,
        p=table.p,
        n_work=data.place_blocks(),
        data=data.array(),
        step_size=part.solver.step,
        internal_step=data[D.INTERNAL_STEP] if part.cycle is None else None,  # of a cycle outputs follow time
        initialise=kernels.initialise,
        derivative=kernels.derivative,
        jacobian=kernels.jacobian,
        coupling=Coupling(kernels.linearise, kernels.port, kernels.flange, kernels.piece),
        output=kernels.output,
        step=kernels.step,
        source=part.text,
    )
