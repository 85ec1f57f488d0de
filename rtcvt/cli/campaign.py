"""``rtcvt campaign``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtcvt.cli import completion, console
from rtcvt.cli.console import Scheduler, UnitName, Workers, for_kinds, opt
from rtcvt.kind import Campaigned, load_unit


@for_kinds(lambda kind: kind.campaign)
def campaign(
    context: typer.Context,
    unit: UnitName,
    plan: Annotated[str, console.plan_option(completion.plans)],
    output: Path = opt("-o", "--output", default=..., metavar="DIR"),
    scheduler: Scheduler = None,
    workers: Workers = None,
    summary: Path | None = opt("--summary", metavar="FILE.csv"),
    **own: Any,
) -> None:
    """Run the full model of a unit over a plan of operating points and transients.

    It is the first of the two steps to a reduced model: rtcvt reduce makes one from the files.

    DIR gets an HDF5 file for each finished run, NAME.failed with the reason for each failed run, and index.csv with the
    means of every run. Ctrl-C or a kill loses a few seconds of each running run: the same command continues these and
    the missing runs, and repeats the failed ones.

    Exits with code 1 if a run failed, 130 after Ctrl-C.

    Options
    -------
    output : Folder of the runs.
    summary : Write a short table of all runs to FILE.csv.
    """
    loaded = load_unit(unit)
    task = loaded.task("campaign")
    common = {"plan": plan, "output": output, "scheduler": scheduler, "workers": workers, "summary": summary}
    given = console.given_to(task, context, common | own, *common)
    with console.progress_bar() as bar:
        result: Campaigned = task.run(loaded, given, bar)
    console.show_lines(result.lines)
    for failure in result.failures:
        console.notes.print(f"[red]failed:[/] {escape(failure)}")
    if result.interrupted:
        console.notes.print(f"interrupted, {result.missing} runs are missing; the same command continues")
        sys.exit(130)
    if result.failures or result.missing:
        raise typer.Exit(1)
