"""``rtcvt check``."""

from pathlib import Path
from typing import Any

import typer

from rtcvt.cli import console
from rtcvt.cli.console import Json, ScenarioName, Settings, UnitName, for_kinds, opt


@for_kinds(lambda kind: kind.check)
def check(
    context: typer.Context,
    unit: UnitName,
    settings: Settings = None,
    scenario: ScenarioName = None,
    report: Path = opt("-o", "--output", default=Path("report.html"), metavar="FILE"),
    figures: Json = None,
    **own: Any,
) -> None:
    """Compare a unit's real-time model with its full model and write a report.

    Exits with code 1 if a limit is exceeded.

    Options
    -------
    report : The report.
    """
    common = {"settings": console.assignments(settings), "scenario": scenario, "report": report, "figures": figures}
    result = console.write_page(unit, "check", context, common | own)
    console.say(f"report: {report}")
    console.end_with(result.failures, result.verdict)
