"""What the commands do with variators."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import notes, out, progress_bar, say, write_figures
from rtcvt.errors import InputError

if TYPE_CHECKING:
    from rtcvt.variator.reduced_model import ReducedModel

PLAN = "heldout"  # of the runs that no reduced model has seen


def check_variator(unit: str, report: Path, figures: Path | None, fresh: bool) -> None:
    """Hybrid and rigid model against held-out runs of the full model."""
    from offline.variator.check import check_heldout
    from offline.variator.driven import STEP, Player, RecordedLaws
    from offline.variator.heldout import condense, read_heldout, write_heldout
    from offline.variator.report import write_report
    from rtcvt.recording import require_writable
    from rtcvt.variator.build import reduced_path
    from rtcvt.variator.reduced_model import read_reduced
    from rtcvt.variator.unit import load_variator

    loaded = load_variator(unit)
    path = reduced_path(loaded)
    reduced = read_reduced(path)
    table = report.with_name(f"{report.stem}_heldout.h5") if fresh else path.with_name(f"{path.stem}_heldout.h5")
    require_writable(report, figures, *([table] if fresh else []))
    if fresh:
        heldout = condense(_runs(reduced, report.with_name(f"{report.stem}_runs")))
        write_heldout(heldout, table)
    elif table.exists():
        heldout = read_heldout(table)
    else:
        raise InputError("--fresh", "", None, f"to be given: {path.name} comes without held-out runs, {table.name}")
    J = float(heldout.parameters["sheaves"]["J"])
    models = {name: Player(loaded, name, reduced, J) for name in ("hybrid", "rigid")}
    about = {"unit": loaded.name, "reduced model": f"{path.name}, revision {reduced.attributes.get('revision', '')}"}
    with progress_bar() as bar:
        result = check_heldout(heldout, models, RecordedLaws(reduced), STEP, about, bar)
    write_report(result, report)
    write_figures(figures, result.as_numbers())
    title = f"{loaded.name} against {len(heldout.runs)} runs of the full model"
    shown = Table("", "", "hybrid", "allowed", "rigid", title=escape(title), title_justify="left")
    for f in result.figures:
        colour = {True: "green", False: "red", None: "default"}[f.reached]
        limit = "" if f.limit is None else f.show(f.limit)
        hybrid = f"[{colour}]{f.show(f.value['hybrid'])}[/]"
        shown.add_row(f.name, f.statistic, hybrid, limit, f.show(f.value["rigid"]))
    out.print(shown)
    say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]missed:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)


def _runs(reduced: "ReducedModel", folder: Path) -> list[Path]:
    """Files of the held-out runs of the full model behind `reduced`, what is missing run now."""
    from offline.pushbelt.parameters import Parameters
    from offline.variator.campaign import run_campaign
    from offline.variator.plan import load_plan
    from rtcvt.unitfile import parse_table, parse_toml

    source = f"unit file in {reduced.name}"
    parameters = parse_table(Parameters, {**parse_toml(reduced.unit_file, source), "source": source}, source)
    plan, text = load_plan(PLAN)
    with progress_bar() as bar:
        done = run_campaign(parameters, reduced.unit_file, plan, text, folder, progress=bar)
    for name, why in done.failed.items():
        notes.print(f"[red]failed:[/] {escape(name)}: {escape(why)}")
    return [folder / f"{name}.h5" for name in done.done]
