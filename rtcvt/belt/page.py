"""The page inside the FMU of a belt drive."""

import math
from collections.abc import Sequence

from rtcvt.belt import kernels
from rtcvt.belt.unit import BeltUnit
from rtcvt.environment import docstring
from rtcvt.html import ErrorRow, number, quantity, render, text
from rtcvt.model import Model


def belt_page(model: Model, unit: BeltUnit, errors: Sequence[ErrorRow] | None = None) -> str:
    """A self-contained HTML page: how to use the drive, its geometry, variables and equations, and its unit file."""
    path = unit.path()
    rows = [
        (f"<b>{text(name)}</b>", text(pulley.description), pulley.side, quantity(float(path.radius[i]), "m", "mm"),
         f"{number(math.degrees(path.wrap[i]))} °", quantity(float(path.span[i]), "m", "mm"))
        for i, (name, pulley) in enumerate(unit.pulleys.items())
    ]  # fmt: skip
    return render(
        "rtcvt.belt:page.html", model=model, unit=unit, errors=errors,
        worst=max((r.share for r in errors or ()), default=0.0), pulleys=rows, length=path.length,
        equations=docstring(kernels),
    )  # fmt: skip
