"""``rtcvt map``."""

from pathlib import Path
from typing import Any

import typer

from rtcvt.cli.console import Json, UnitName, for_kinds, opt, say, write_page


@for_kinds(lambda kind: kind.map)
def map(
    context: typer.Context,
    unit: UnitName,
    report: Path = opt("-o", "--output", default=Path("map.html"), metavar="FILE"),
    figures: Json = None,
    **own: Any,
) -> None:
    """Run a unit's real-time model over its speeds, or tilts and torques, and write a page with the results.

    Options
    -------
    report : The page.
    """
    write_page(unit, "map", context, {"report": report, "figures": figures} | own)
    say(f"page: {report}")
