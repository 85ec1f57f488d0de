"""Parts of a drive: units all of whose parameters stand in the file. What their kinds share: schema, model and page.

A kind's kernels are a module with the functions of `rtcvt.model`; a part that others can be coupled to has ``port``,
``flange``, ``piece`` and ``linearise`` too.
"""

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rtcvt.environment import docstring
from rtcvt.errors import InputError
from rtcvt.html import ErrorRow, render
from rtcvt.kind import Unit
from rtcvt.model import Coupling, Model
from rtcvt.scenario import Scenario
from rtcvt.table import Rows, Table, given_values
from rtcvt.unitfile import Solver


class Part(Unit):
    """Schema that the unit files of parts share."""

    parameters: dict[str, float | str] = {}  # see below
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    folder: Annotated[Path, Field(exclude=True)] = Path()  # in which files that it names are looked for


def table_of(
    part: Part, parameters: Iterable[Rows], inputs: Iterable[Rows], outputs: Iterable[Rows], states: Iterable[Rows]
) -> Table:
    """Variables of a part, from the rows of its kind and the values of its file.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; or another solver than these kernels have.
    """
    if part.solver.method != "rosenbrock":
        raise InputError(part.source, "solver.method", part.solver.method, "'rosenbrock'")
    table = Table()
    for row, value in given_values(part.source, part.parameters, parameters):
        table.add("parameter", row, value)
    for row in inputs:
        table.add("input", row, 0.0)
    table.each("output", outputs)
    table.each("state", states)
    return table


def internal_step(part: Part, substeps: int | None) -> float:
    """Largest step of the integrator [s]."""
    return part.solver.step / (substeps or part.solver.substeps)


def built(
    part: Part, table: Table, kernels: Any, data: NDArray[np.float64], n_work: int, longest: float | None
) -> Model:
    """The real-time model of a part.

    `longest` is the largest internal step [s], None where outputs follow time; `n_work` counts places of its memory.
    """
    return Model(
        name=part.name,
        description=part.description,
        fidelity="rigid",
        variables=table.variables,
        states=table.states,
        p=table.p,
        data=data,
        n_work=n_work,
        step_size=part.solver.step,
        internal_step=longest,
        initialise=kernels.initialise,
        derivative=kernels.derivative,
        jacobian=getattr(kernels, "jacobian", None),
        coupling=Coupling(kernels.linearise, kernels.port, kernels.flange, kernels.piece)
        if hasattr(kernels, "port")
        else None,
        output=kernels.output,
        step=kernels.step,
        source=part.text,
    )


def page(model: Model, part: Part, errors: Sequence[ErrorRow] | None = None) -> str:
    """The page inside the FMU: how to use the part, its variables and equations, and its unit file."""
    kernels = inspect.getmodule(getattr(model.step, "py_func", model.step))
    return render("rtcvt.html:part.html", model=model, unit=part, errors=errors, equations=docstring(kernels))
