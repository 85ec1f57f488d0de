"""The page inside the FMU of a part of a vehicle."""

from collections.abc import Sequence

from rtcvt.html import ErrorRow, render
from rtcvt.model import Model
from rtcvt.vehicle import kernels
from rtcvt.vehicle.parts import Part

__all__ = ["part_page"]


def part_page(model: Model, part: Part, errors: Sequence[ErrorRow] | None = None) -> str:
    """A self-contained HTML page: how to use the part, its variables and equations, and its unit file."""
    return render("rtcvt.vehicle:page.html", model=model, unit=part, errors=errors, equations=kernels.__doc__)
