"""Unit files of clutches and of their controllers, and their real-time models; equations in `kernels`, `engagement`.

All parameters of the kind are given in the file. Bare numbers are SI, strings carry their unit.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rtcvt.clutch import engagement, kernels
from rtcvt.errors import InputError
from rtcvt.html import ErrorRow, render
from rtcvt.kind import Unit
from rtcvt.model import Coupling, Model
from rtcvt.scenario import Scenario
from rtcvt.table import Table, given_values
from rtcvt.unitfile import Solver, UnitFile

__all__ = ["Clutch", "build", "page", "read"]


KINDS: dict[str, Any] = {"clutch": kernels, "clutch_control": engagement}


class Clutch(Unit):
    """A unit file of one of these kinds."""

    kind: Literal["clutch", "clutch_control"]
    parameters: dict[str, float | str] = {}  # see below
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()


def read(file: UnitFile) -> Clutch:
    """Validate the unit file of a clutch or of its controller.

    Raises
    ------
    InputError
        Not a valid one.
    """
    return file.parse(Clutch)


def build(unit: Clutch, fidelity: str = "rigid", substeps: int | None = None) -> Model:
    """The real-time model of a clutch or of its controller.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range.
    """
    kind = KINDS[unit.kind]
    if unit.solver.method != "rosenbrock":
        raise InputError(unit.source, "solver.method", unit.solver.method, "'rosenbrock'")
    table = Table()
    for declared, value in given_values(unit.source, unit.parameters, kind.P):
        table.add("parameter", declared, value)
    for declared in kind.U:
        table.add("input", declared, 0.0)
    table.each("output", kind.Y)
    table.each("state", kind.X)
    internal_step = unit.solver.step / (substeps or unit.solver.substeps)
    return Model(
        name=unit.name,
        description=unit.description,
        fidelity="rigid",
        variables=table.variables,
        states=table.states,
        p=table.p,
        data=np.array([internal_step]),
        n_work=kind.N_WORK,
        step_size=unit.solver.step,
        internal_step=internal_step,
        initialise=kind.initialise,
        derivative=kind.derivative,
        jacobian=getattr(kind, "jacobian", None),
        coupling=Coupling(kind.linearise, kind.port, kind.flange, kind.piece) if kind is kernels else None,
        output=kind.output,
        step=kind.step,
        source=unit.text,
    )


def page(model: Model, unit: Clutch, errors: Sequence[ErrorRow] | None = None) -> str:
    """The page inside the FMU: how to use the unit, its variables and equations, and its unit file."""
    equations = KINDS[unit.kind].__doc__
    return render("rtcvt.vehicle:page.html", model=model, unit=unit, errors=errors, equations=equations)
