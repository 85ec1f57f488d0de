"""``rtcvt check``."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtcvt.cli.console import (
    Json,
    ScenarioName,
    Settings,
    UnitName,
    assignments,
    for_kinds,
    given_to,
    notes,
    progress_bar,
    say,
    show_lines,
    write_figures,
)
from rtcvt.errors import InputError
from rtcvt.kind import Checked, kind_of_file, kinds, names_of
from rtcvt.unitfile import read_unit_file


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
    from rtcvt.recording import replaced_on_success, require_writable

    file = read_unit_file(unit)
    kind = kind_of_file(file)
    if kind.check is None:
        allowed = f"a kind with models to compare: {names_of(k for k in kinds() if k.check)}"
        raise InputError(unit, "kind", file.kind, allowed)
    common = {"settings": assignments(settings), "scenario": scenario, "report": report, "figures": figures}
    given = given_to(kind.check, context, common | own, "report", "figures")
    loaded = kind.read(file)
    require_writable(report, figures)
    with progress_bar() as bar:
        result: Checked = kind.check.run(loaded, given, bar)
    with replaced_on_success(report) as temporary:
        temporary.write_text(result.page, encoding="utf-8")
    write_figures(figures, result.figures)
    show_lines(result.lines)
    say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]{result.verdict}:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)
