"""``rtcvt own``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtcvt.cli import completion
from rtcvt.cli.console import Scheduler, UnitName, Workers, for_kinds, notes, plan_option, progress_bar, say, write_page
from rtcvt.kind import load_unit


@for_kinds(lambda kind: kind.own)
def own(
    context: typer.Context,
    unit: UnitName,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder of all results.")],
    plan: Annotated[str, plan_option(completion.plans)] = "quick",
    spatial: Annotated[
        str | None, typer.Option("--spatial", metavar="PLAN", help="Correct the laws by runs of the spatial belt.")
    ] = None,
    held_out: Annotated[
        str, typer.Option("--held-out", metavar="PLAN", help="Plan of the runs on which errors are measured.")
    ] = "heldout",
    prior: Annotated[
        str | None, typer.Option("--prior", metavar="MODEL", help="As of rtcvt reduce: of a similar belt.")
    ] = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    **own: Any,
) -> None:
    """Make a real-time unit and its FMU from a machine of your own, with the errors that it has.

    All steps in one command: campaign, reduce, held-out runs, unit file, check and export. After Ctrl-C or a kill the
    same command continues.

    Exits with code 1 if a run failed or errors are larger than the unit states, 130 after Ctrl-C.
    """
    from rtcvt.interface import Unit

    name = load_unit(unit).name
    output.mkdir(parents=True, exist_ok=True)
    figures, made = output / "check.json", output / f"{name}_cvt.toml"
    common = {"plan": plan, "spatial": spatial, "held_out": held_out, "prior": prior, "output": output}
    pages = {"report": output / "check.html", "figures": figures}
    try:
        result = write_page(unit, "own", context, common | pages | {"scheduler": scheduler, "workers": workers} | own)
    except KeyboardInterrupt:
        notes.print("interrupted; the same command continues")
        sys.exit(130)
    with progress_bar() as bar:
        fmu = Unit(load_unit(made)).export(made.with_suffix(".fmu"), errors=figures, progress=bar)
    say(f"unit: {made}, {fmu.name} ({fmu.stat().st_size / 1e3:.0f} kB); pages: check.html, reduction.html")
    for failure in result.failures:
        notes.print(f"[red]{result.verdict}:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)
