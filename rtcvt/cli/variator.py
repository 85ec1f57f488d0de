"""What the commands do with variators."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import notes, out, progress_bar, say, write_figures
from rtcvt.errors import InputError

if TYPE_CHECKING:
    from offline.variator.check import Check
    from offline.variator.heldout import HeldOut
    from rtcvt.documentation import ErrorRow
    from rtcvt.variator.reduced_model import ReducedModel
    from rtcvt.variator.unit import Variator

PLAN = "heldout"  # of the runs that no reduced model has seen


def check_variator(unit: str, report: Path, figures: Path | None, fresh: bool, runs: str | None) -> None:
    """Hybrid and rigid model against held-out runs of the full model, or against those that match `runs`."""
    from offline.report import write_report
    from offline.variator.heldout import condense, read_heldout, write_heldout
    from offline.variator.report import report_page
    from rtcvt.recording import require_writable
    from rtcvt.variator.build import reduced_path
    from rtcvt.variator.kers_build import variator_inside
    from rtcvt.variator.reduced_model import read_reduced
    from rtcvt.variator.unit import load_variator

    loaded = load_variator(unit)
    if loaded.controller is not None:
        loaded = variator_inside(loaded)
    path = reduced_path(loaded)
    if fresh and runs is not None:
        raise InputError("--runs", "", runs, "not together with --fresh")
    table = report.with_name(f"{report.stem}_heldout.h5") if fresh else _table_of(path)
    require_writable(report, figures, *([table] if fresh else []))
    if runs is not None:
        files = sorted(Path(runs).parent.glob(Path(runs).name))
        if not files:
            raise InputError("--runs", "", runs, "a pattern of files that are there, in quotes")
        result = _checked(loaded, condense(files), {"runs": runs})
    else:
        if not fresh and not table.exists():
            raise InputError("--fresh", "", None, f"to be given: {path.name} comes without held-out runs, {table.name}")
        if fresh:
            write_heldout(condense(_runs(read_reduced(path), report.with_name(f"{report.stem}_runs"))), table)
        result = _checked(loaded, read_heldout(table))
    write_report(report_page(result), report)
    write_figures(figures, result.as_numbers())
    title = f"{loaded.name} against {len(result.heldout.runs)} runs of the full model"
    shown = Table("", "", "hybrid", "allowed", "rigid", title=escape(title), title_justify="left")
    for f in result.figures:
        colour = {True: "green", False: "red", None: "default"}[f.reached]
        limit = "" if f.limit is None else f.show(f.limit)
        shown.add_row(f.name, f.statistic, f"[{colour}]{f.show(f.value['hybrid'])}[/]", limit, f.show(f.value["rigid"]))
    out.print(shown)
    say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]missed:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)


def error_rows(unit: "Variator", fidelity: str, figures: Path | None) -> "list[ErrorRow] | None":
    """What the check says of a model, from a file or from a new check; None if there are no held-out runs."""
    from offline.variator.heldout import read_heldout
    from rtcvt.documentation import ErrorRow
    from rtcvt.variator.build import reduced_path

    found: Any
    if figures is None:
        table = _table_of(reduced_path(unit))
        if not table.exists():
            return None
        found = _checked(unit, read_heldout(table)).as_numbers()
    else:
        try:
            found = json.loads(figures.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(figures, "", None, f"a file written by rtcvt check --json ({error})") from None
    try:
        about = found["unit"]
        scenario = f"{found['runs']} held-out runs of the full model"
        rows = []
        for f in found["figures"]:
            if f["limit"] is not None and fidelity in f["worst"]:
                value, worst = float(f["value"][fidelity]), abs(float(f["worst"][fidelity]["value"]))
                row = ErrorRow(scenario, f"{f['name']}, {f['statistic']}", "%", value, float(f["limit"]), 100.0 * worst)
                rows.append(row)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(figures or "check", "", None, f"a file written by rtcvt check --json (no {error})") from None
    if about != unit.name:
        raise InputError(figures or "check", "unit", about, f"a check of {unit.name}")
    return rows


def _table_of(reduced: Path) -> Path:
    """Held-out runs that come with a reduced model."""
    return reduced.with_name(f"{reduced.stem}_heldout.h5")


def _checked(unit: "Variator", heldout: "HeldOut", more: dict[str, Any] | None = None) -> "Check":
    from offline.variator.check import check_heldout
    from offline.variator.driven import STEP, Player, RecordedLaws
    from rtcvt.variator.build import reduced_path
    from rtcvt.variator.reduced_model import read_reduced

    path = reduced_path(unit)
    reduced = read_reduced(path)
    J = float(heldout.parameters["sheaves"]["J"])
    models = {name: Player(unit, name, reduced, J) for name in ("hybrid", "rigid")}
    about = {"unit": unit.name, "reduced model": f"{path.name}, revision {reduced.attributes.get('revision', '')}"}
    about |= more or {}
    with progress_bar() as bar:
        return check_heldout(heldout, models, RecordedLaws(reduced), STEP, about, bar)


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
