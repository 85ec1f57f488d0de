"""Unit files of clutches and of their controllers, and their real-time models.

Equations are in `kernels`, `thermal` and `engagement`. All parameters of the kind are given in the file; those of
`thermal` make a clutch one that gets warm, and ``friction`` names a table of its factor on the coefficient of friction,
a CSV file in the same folder such as ``T [K],factor [1]``. Bare numbers are SI, strings have their unit.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from rtcvt.clutch import engagement, kernels, thermal
from rtcvt.engine.grid import read_curves
from rtcvt.errors import InputError
from rtcvt.model import Model
from rtcvt.part import Part, built, table_of
from rtcvt.table import Constants
from rtcvt.unitfile import UnitFile

KINDS: dict[str, Any] = {"clutch": kernels, "clutch_control": engagement}
WARM = {row.row.name.partition(".")[2] for row in thermal.P} - {row.row.name.partition(".")[2] for row in kernels.P}


class Clutch(Part):
    """A unit file of one of these kinds."""

    kind: Literal["clutch", "clutch_control"]
    friction: Annotated[str, Field(min_length=1)] | None = None  # table over the temperature of the plates


def read(file: UnitFile) -> Clutch:
    """Validate the unit file of a clutch or of its controller.

    Raises
    ------
    InputError
        Not a valid one.
    """
    unit = file.parse(Clutch)
    if unit.friction is not None and unit.kind != "clutch":
        raise InputError(unit.source, "friction", unit.friction, "no such key in a unit of kind clutch_control")
    return unit


def files_beside(unit: Clutch) -> list[Path]:
    """The table of friction."""
    return [unit.folder / unit.friction] if unit.friction else []


def build(unit: Clutch, fidelity: str = "rigid", substeps: int | None = None) -> Model:
    """The real-time model of a clutch or of its controller.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; or the table is not one of factors above zero.
    """
    if unit.kind == "clutch" and (unit.friction or WARM & set(unit.parameters)):
        data, numbers = Constants(thermal.D), [2.0, 2.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        if unit.friction:
            columns = (("T", "K"), ("factor", "1"))
            (factor,) = read_curves(unit.source, "friction", unit.folder, unit.friction, columns)
            if not (factor.values > 0.0).all():
                raise InputError(unit.source, "friction", unit.friction, "factors above zero")
            numbers = factor.numbers()
        data.table(thermal.D.FRICTION, numbers)
        return built(unit, thermal, substeps, table_of(unit, thermal), data)
    return built(unit, KINDS[unit.kind], substeps)
