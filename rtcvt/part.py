"""Parts of a drive: units with all parameters in the file. Common to their kinds: schema, model and page.

The tables and kernels of a kind are a module, see `rtcvt.model.frame`.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from rtcvt.environment import docstring
from rtcvt.errors import InputError
from rtcvt.html import ErrorRow, render
from rtcvt.kind import Unit
from rtcvt.model import Coupling, Model, model_of
from rtcvt.scenario import Scenario
from rtcvt.table import Constants, Table, given_values
from rtcvt.unitfile import Solver


class Part(Unit):
    """Schema that the unit files of parts share."""

    parameters: dict[str, float | str] = {}  # see below
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()


def table_of(part: Part, kernels: Any) -> Table:
    """Variables of a part, from the tables of its kind and the values of its file; those with choices are left out.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; or another solver than these kernels have.
    """
    if part.solver.method != "rosenbrock":
        raise InputError(part.source, "solver.method", part.solver.method, "'rosenbrock'")
    table = Table()
    given = [row for row in getattr(kernels, "P", ()) if not row.row.choices]
    for row, value in given_values(part.source, part.parameters, given):
        table.add("parameter", row, value)
    for row in getattr(kernels, "U", ()):
        table.add("input", row, 0.0)
    table.each("output", kernels.Y)
    table.each("state", kernels.X)
    return table


def built(
    part: Part,
    kernels: Any,
    substeps: int | None = None,
    table: Table | None = None,
    data: Constants | None = None,
    more_outputs: int = 0,
    follows_time: bool = False,
) -> Model:
    """The real-time model of a part.

    Parameters
    ----------
    part : Part
        Its unit file.
    kernels : module
        Tables and kernels of its kind, see `rtcvt.model.frame`.
    substeps : int, optional
        Internal steps in a communication step, instead of those of the file.
    table : Table, optional
        Its variables, if they are more than those of `table_of`.
    data : Constants, optional
        Constants other than the internal step, which is the first.
    more_outputs : int
        Outputs beyond those of the kind.
    follows_time : bool
        Whether outputs follow time, so that no internal step limits a communication step.

    Raises
    ------
    InputError
        As `table_of`.
    """
    table = table or table_of(part, kernels)
    numbers = np.zeros(1) if data is None else data.array()
    longest = numbers[0] = part.solver.step / (substeps or part.solver.substeps)
    coupled: list[Any] = [getattr(kernels, name, None) for name in ("linearise", "port", "flange", "piece")]
    return model_of(
        part, "rigid", table, kernels, data=numbers, n_work=kernels.N_WORK + more_outputs, step_size=part.solver.step,
        internal_step=None if follows_time else longest, coupling=Coupling(*coupled) if all(coupled) else None,
    )  # fmt: skip


def page(model: Model, part: Part, errors: Sequence[ErrorRow] | None = None) -> str:
    """The page inside the FMU: how to use the part, its variables and equations, and its unit file."""
    kernels = inspect.getmodule(getattr(model.step, "py_func", model.step))
    return render("rtcvt.html:part.html", model=model, unit=part, errors=errors, equations=docstring(kernels))
