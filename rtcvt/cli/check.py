"""``rtcvt check``."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtcvt.cli.console import Json, ScenarioName, Settings, UnitName, assignments, for_kinds, notes, say, write_page


@for_kinds(lambda kind: kind.check)
def check(
    context: typer.Context,
    unit: UnitName,
    settings: Settings = None,
    scenario: ScenarioName = None,
    report: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The report.")] = Path("report.html"),
    figures: Json = None,
    **own: Any,
) -> None:
    """Compare a unit's real-time model with its full model and write a report.

    Exits with code 1 if a limit is exceeded.
    """
    common = {"settings": assignments(settings), "scenario": scenario, "report": report, "figures": figures}
    result = write_page(unit, "check", context, common | own)
    say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]{result.verdict}:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)
