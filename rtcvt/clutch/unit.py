"""Unit files of clutches and of their controllers, and their real-time models; equations in `kernels`, `engagement`.

All parameters of the kind are given in the file. Bare numbers are SI, strings carry their unit.
"""

from typing import Any, Literal

from rtcvt.clutch import engagement, kernels
from rtcvt.model import Model
from rtcvt.part import Part, built
from rtcvt.unitfile import UnitFile

KINDS: dict[str, Any] = {"clutch": kernels, "clutch_control": engagement}


class Clutch(Part):
    """A unit file of one of these kinds."""

    kind: Literal["clutch", "clutch_control"]


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
    return built(unit, KINDS[unit.kind], substeps)
