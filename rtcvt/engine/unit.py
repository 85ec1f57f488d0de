"""Unit files of drives and their control, and their real-time models; equations in `kernels`, `control`, `electric`.

All parameters of the kind are given in the file; ``torque``, ``fuel`` and ``loss`` name tables, CSV files beside it or
shipped ones (`rtcvt.engine.grid`). Bare numbers are SI, strings carry their unit.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rtcvt.engine import control, electric, kernels
from rtcvt.engine.grid import Grid, lookup, read_grid
from rtcvt.engine.kernels import P
from rtcvt.errors import InputError
from rtcvt.html import ErrorRow, render
from rtcvt.kind import Unit
from rtcvt.model import Coupling, Model
from rtcvt.scenario import Scenario
from rtcvt.table import Constants, Table, given_values
from rtcvt.unitfile import Solver, UnitFile

__all__ = ["Engine", "build", "least_fuel", "losses", "page", "read", "tables"]

LINE_POINTS = 41  # of the line of least fuel
FileName = Annotated[str, Field(min_length=1)]
KINDS: dict[str, Any] = {"engine": kernels, "cvt_control": control, "electric_drive": electric}
TABLES = {"engine": ("torque", "fuel"), "cvt_control": ("torque", "fuel"), "electric_drive": ("loss",)}


class Engine(Unit):
    """A unit file of one of these kinds."""

    kind: Literal["engine", "cvt_control", "electric_drive"]
    torque: FileName | None = None  # table over speed and pedal
    fuel: FileName | None = None  # table over speed and torque
    loss: FileName | None = None  # table of an electric machine over speed and torque
    parameters: dict[str, float | str] = {}  # see above
    strategy: Literal["constant", "economy", "sport"] | None = None  # of the control's ratio
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    folder: Annotated[Path, Field(exclude=True)] = Path()  # in which tables are looked for


def read(file: UnitFile) -> Engine:
    """Validate the unit file of a drive or of its control.

    Raises
    ------
    InputError
        Not a valid one.
    """
    unit = file.parse(Engine)
    for key in ("torque", "fuel", "loss"):
        if (getattr(unit, key) is not None) != (key in TABLES[unit.kind]):
            allowed = (
                "the name of a table" if key in TABLES[unit.kind] else f"no such key in a unit of kind {unit.kind}"
            )
            raise InputError(unit.source, key, getattr(unit, key), allowed)
    return unit


def tables(engine: Engine, heating_value: float | None) -> tuple[Grid, Grid]:
    """Torque [N.m] over speed [rad/s] and pedal, fuel flow [kg/s] over speed and torque, checked.

    Raises
    ------
    InputError
        A table is missing, not a table, or not one of an engine that burns `heating_value` [J/kg], if this is known.
    """
    axis = ("w", "rad/s")
    source, folder = engine.source, engine.folder
    assert engine.torque is not None
    assert engine.fuel is not None
    torque = read_grid(source, "torque", folder, engine.torque, (axis, ("pedal", "1"), ("tau", "N.m")))
    fuel = read_grid(source, "fuel", folder, engine.fuel, (axis, ("tau", "N.m"), ("fuel", "kg/s")))
    for key, grid, name in (("torque", torque, engine.torque), ("fuel", fuel, engine.fuel)):
        _require(grid.a[0] > 0.0, source, key, name, "a table whose speeds are above zero")
    _require(torque.b[0] == 0.0 and torque.b[-1] == 1.0, source, "torque", engine.torque, "pedals from 0 to 1")
    _require((torque.values[:, 0] < 0.0).all(), source, "torque", engine.torque, "a torque below zero at pedal 0: drag")
    rising = (np.diff(torque.values, axis=1) >= 0.0).all()
    _require(rising, source, "torque", engine.torque, "a torque that does not fall with the pedal")
    _require(fuel.b[0] == 0.0, source, "fuel", engine.fuel, "torques from 0 on")
    enough = fuel.b[-1] >= torque.values.max()
    _require(enough, source, "fuel", engine.fuel, f"torques up to that of full load, {torque.values.max():g} N.m")
    efficient = heating_value is None or (heating_value * fuel.values > np.outer(fuel.a, fuel.b)).all()
    _require(efficient, source, "fuel", engine.fuel, "an efficiency below 1 at every point, and fuel above zero")
    return torque, fuel


def losses(drive: Engine) -> Grid:
    """Loss [W] of an electric machine over speed [rad/s] and torque [N.m], checked.

    Raises
    ------
    InputError
        The table is missing, not a table, or not one of losses from standstill and no torque on.
    """
    assert drive.loss is not None
    columns = (("w", "rad/s"), ("tau", "N.m"), ("loss", "W"))
    grid = read_grid(drive.source, "loss", drive.folder, drive.loss, columns)
    _require(grid.a[0] == 0.0 and grid.b[0] == 0.0, drive.source, "loss", drive.loss, "speeds and torques from 0 on")
    _require((grid.values >= 0.0).all(), drive.source, "loss", drive.loss, "losses that are not below zero")
    return grid


def _require(good: bool | np.bool_, source: str, key: str, value: object, allowed: str) -> None:
    if not good:
        raise InputError(source, key, value, allowed)


def least_fuel(torque: Grid, fuel: Grid) -> Grid:
    """Speed [rad/s] at which a power [W] takes least fuel; the second axis is of no use.

    It is sought over 400 speeds between the ends of the tables, and does not fall with the power.
    """
    w = np.linspace(max(torque.a[0], fuel.a[0]), min(torque.a[-1], fuel.a[-1]), 400)
    most = np.interp(w, torque.a, torque.values[:, -1])
    powers = np.linspace(0.0, float((most * w).max()), LINE_POINTS)
    best, table = [], np.array(fuel.numbers())
    for power in powers:
        able = w[power <= most * w * (1.0 + 1e-12)]
        best.append(able[np.argmin([lookup(table, 0, float(s), float(power / s)) for s in able])])
    line = np.maximum.accumulate(best)
    return Grid(powers, np.array([0.0, 1.0]), np.column_stack([line, line]))


def build(engine: Engine, fidelity: str = "rigid", substeps: int | None = None) -> Model:
    """The real-time model of an engine or of its control.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; a table is not one of an engine.
    """
    if engine.solver.method != "rosenbrock":
        raise InputError(engine.source, "solver.method", engine.solver.method, "'rosenbrock'")
    if (engine.kind == "cvt_control") != (engine.strategy is not None):
        allowed = f"one of {', '.join(control.STRATEGIES)}, in a control only"
        raise InputError(engine.source, "strategy", engine.strategy, allowed)
    kind = KINDS[engine.kind]
    table, data = Table(), Constants(kind.D)
    rows = [row for row in kind.P if not row.row.choices]
    for declared, value in given_values(engine.source, engine.parameters, rows):
        table.add("parameter", declared, value)
    for row in kind.U:
        table.add("input", row, 0.0)
    table.each("output", kind.Y)
    table.each("state", kind.X)
    internal_step = engine.solver.step / (substeps or engine.solver.substeps)
    data[kind.D.INTERNAL_STEP] = internal_step
    if kind is electric:
        data.table(electric.D.LOSS, losses(engine).numbers())
    else:
        torque, fuel = tables(engine, table.p[P.H] if kind is kernels else None)
        data.table(kind.D.TORQUE, torque.numbers())
        data.table(
            *(
                (kernels.D.FUEL, fuel.numbers())
                if kind is kernels
                else (control.D.LINE, least_fuel(torque, fuel).numbers())
            )
        )
    if engine.strategy is not None:
        table.add("parameter", control.P.STRATEGY, control.STRATEGIES.index(engine.strategy))
    return Model(
        name=engine.name,
        description=engine.description,
        fidelity="rigid",
        variables=table.variables,
        states=table.states,
        p=table.p,
        data=data.array(),
        n_work=kind.N_WORK,
        step_size=engine.solver.step,
        internal_step=internal_step,
        initialise=kind.initialise,
        derivative=kind.derivative,
        jacobian=getattr(kind, "jacobian", None),
        coupling=None if kind is control else Coupling(kind.linearise, kind.port, kind.flange, kind.piece),
        output=kind.output,
        step=kind.step,
        source=engine.text,
    )


def page(model: Model, unit: Engine, errors: Sequence[ErrorRow] | None = None) -> str:
    """The page inside the FMU: how to use the unit, its variables and equations, and its unit file."""
    equations = KINDS[unit.kind].__doc__
    return render("rtcvt.vehicle:page.html", model=model, unit=unit, errors=errors, equations=equations)
