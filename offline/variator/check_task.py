"""The check of a variator: its models against held-out runs of the full one."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.kind import Checked, Progress
from rtcvt.offline.pushbelt.unit.parameters import read_parameters
from rtcvt.offline.variator.campaign import run_campaign
from rtcvt.offline.variator.check import Check, check_heldout
from rtcvt.offline.variator.driven import STEP, Player, RecordedLaws
from rtcvt.offline.variator.heldout import HeldOut, condense, read_heldout, write_heldout
from rtcvt.offline.variator.plan import load_plan
from rtcvt.offline.variator.report import report_page
from rtcvt.offline.variator.tasks import spatial_table
from rtcvt.recording import require_writable
from rtcvt.unitfile import parse_unit_file
from rtcvt.variator.build import reduced_path
from rtcvt.variator.kers_build import variator_inside
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.reduced.model import ReducedModel
from rtcvt.variator.unit import Variator

PLAN = "heldout"  # of the runs that no reduced model has seen


def check(unit: Variator, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Hybrid and rigid model against held-out runs of the full model, or against those that match ``runs``."""
    inside, report = _inside(unit), given["report"]
    path, fresh, runs = reduced_path(inside), given["fresh"], given["runs"]
    if fresh and runs is not None:
        raise InputError("--runs", "", runs, "not together with --fresh")
    table = report.with_name(f"{report.stem}_heldout.h5") if fresh else _table_of(path)
    if runs is not None:
        files = sorted(Path(runs).parent.glob(Path(runs).name))
        if not files:
            raise InputError("--runs", "", runs, "a pattern of files that are there, in quotes")
        result = _checked(inside, condense(files), progress, {"runs": runs})
    else:
        if not fresh and not table.exists():
            raise InputError("--fresh", "", None, f"to be given: {path.name} comes without held-out runs, {table.name}")
        if fresh:
            require_writable(report, given["figures"], table)
            made = _runs(read_reduced(path), report.with_name(f"{report.stem}_runs"), progress)
            write_heldout(condense(made), table)
        result = _checked(inside, read_heldout(table), progress)
    title = f"{unit.name} against {len(result.heldout.runs)} runs of the full model"
    shown = Table("", "", "hybrid", "allowed", "rigid", title=escape(title), title_justify="left")
    for f in result.figures:
        colour = {True: "green", False: "red", None: "default"}[f.reached]
        limit = "" if f.limit is None else f.show(f.limit)
        shown.add_row(f.name, f.statistic, f"[{colour}]{f.show(f.value['hybrid'])}[/]", limit, f.show(f.value["rigid"]))
    lines = [*spatial_table(result.spatial), shown]
    if result.coverage:
        within = Table("uncertainty of", "states", "errors within 1", "within 2", title_justify="left")
        for name, (states, one, two) in result.coverage.items():
            within.add_row(name, str(states), f"{one:.0%}", f"{two:.0%}")
        lines.append(within)
    return Checked(report_page(result), result.as_numbers(), lines, result.failures, "missed")


def figures(unit: Variator, settings: Mapping[str, float | str], progress: Progress) -> dict[str, Any] | None:
    """Figures of the check against the runs that come with the reduced model; None if there are none."""
    table = _table_of(reduced_path(unit))
    return _checked(_inside(unit), read_heldout(table), progress).as_numbers() if table.exists() else None


def _inside(unit: Variator) -> Variator:
    """The variator of a unit, without the controller around it."""
    return unit if unit.controller is None else variator_inside(unit)


def _table_of(reduced: Path) -> Path:
    """Held-out runs that come with a reduced model."""
    return reduced.with_name(f"{reduced.stem}_heldout.h5")


def _checked(unit: Variator, heldout: HeldOut, progress: Progress, more: dict[str, Any] | None = None) -> Check:
    path = reduced_path(unit)
    reduced = heldout.laws_of(read_reduced(path))
    J = float(heldout.parameters["sheaves"]["J"])
    models = {name: Player(unit, name, reduced, J) for name in ("hybrid", "rigid")}
    about = {"unit": unit.name, "reduced model": f"{path.name}, revision {reduced.attributes.get('revision', '')}"}
    about |= more or {}
    spatial = {key: value for key, value in reduced.errors.items() if key.startswith("spatial.")}
    return replace(check_heldout(heldout, models, RecordedLaws(reduced), STEP, about, progress), spatial=spatial)


def _runs(reduced: ReducedModel, folder: Path, progress: Progress) -> list[Path]:
    """Files of the held-out runs of the full model behind `reduced`, what is missing run now."""
    parameters = read_parameters(parse_unit_file(reduced.unit_file, f"unit file in {reduced.name}"))
    plan, text = load_plan(PLAN)
    done = run_campaign(parameters, reduced.unit_file, plan, text, folder, progress=progress)
    for name, why in done.failed.items():
        logging.getLogger("rtcvt").warning("failed: %s: %s", name, why)
    return [folder / f"{name}.h5" for name in done.done]
