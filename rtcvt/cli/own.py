"""``rtcvt own``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rtcvt.cli import completion, console
from rtcvt.cli.console import Scheduler, UnitName, Workers, for_kinds, opt, write_page
from rtcvt.kind import load_unit


@for_kinds(lambda kind: kind.own)
def own(
    context: typer.Context,
    unit: UnitName,
    output: Path = opt("-o", "--output", default=..., metavar="DIR"),
    plan: Annotated[str, console.plan_option(completion.plans)] = "quick",
    spatial: str | None = opt("--spatial", metavar="PLAN"),
    held_out: str = opt("--held-out", default="heldout", metavar="PLAN"),
    prior: str | None = opt("--prior", metavar="MODEL"),
    scheduler: Scheduler = None,
    workers: Workers = None,
    **own: Any,
) -> None:
    """Make a real-time unit and its FMU from a machine of your own, with the errors that it has.

    All steps in one command: campaign, reduce, held-out runs, unit file, check and export. After Ctrl-C or a kill the
    same command continues.

    Exits with code 1 if a run failed or errors are larger than the unit states, 130 after Ctrl-C.

    Options
    -------
    output : Folder of all results.
    spatial : Correct the laws by runs of the spatial belt.
    held_out : Plan of the runs on which errors are measured.
    prior : As of rtcvt reduce: of a similar belt.
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
        console.notes.print("interrupted; the same command continues")
        sys.exit(130)
    with console.progress_bar() as bar:
        fmu = Unit(load_unit(made)).export(made.with_suffix(".fmu"), errors=figures, progress=bar)
    console.say(f"unit: {made}, {fmu.name} ({fmu.stat().st_size / 1e3:.0f} kB); pages: check.html, reduction.html")
    console.end_with(result.failures, result.verdict)
