"""``rtcvt sheave``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rtcvt.cli.console import Json, UnitName, for_kinds, say, write_page


@for_kinds(lambda kind: kind.sheave)
def sheave(
    context: typer.Context,
    unit: UnitName,
    report: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page.")] = Path("sheave.html"),
    figures: Json = None,
    **own: Any,
) -> None:
    """Compute the deflection of a unit's sheaves under the belt, from their drawing, and write a page."""
    write_page(unit, "sheave", context, {"report": report, "figures": figures} | own)
    say(f"page: {report}")
