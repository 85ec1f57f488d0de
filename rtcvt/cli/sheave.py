"""``rtcvt sheave``."""

from pathlib import Path
from typing import Any

import typer

from rtcvt.cli.console import Json, UnitName, for_kinds, opt, say, write_page


@for_kinds(lambda kind: kind.sheave)
def sheave(
    context: typer.Context,
    unit: UnitName,
    report: Path = opt("-o", "--output", default=Path("sheave.html"), metavar="FILE"),
    figures: Json = None,
    **own: Any,
) -> None:
    """Compute the deflection of a unit's sheaves under the belt, from their drawing, and write a page.

    Options
    -------
    report : The page.
    """
    write_page(unit, "sheave", context, {"report": report, "figures": figures} | own)
    say(f"page: {report}")
