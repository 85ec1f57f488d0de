"""The check of a variator: its models against held-out runs of the full one."""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.files import read_json
from rtcvt.kind import Checked, Progress
from rtcvt.offline.pushbelt.checks.cases import table as table_of_cases
from rtcvt.offline.pushbelt.unit.parameters import read_parameters
from rtcvt.offline.variator.campaign import run_campaign
from rtcvt.offline.variator.cases import cases_of
from rtcvt.offline.variator.check import LIMITS, Check, check_heldout, protocol, record_of
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

PLANS = ("heldout_spatial", "heldout")  # of the runs that no reduced model has seen
_BELTS = {"spatial": "spatial", "hybrid": "planar"}  # in words


def check(unit: Variator, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Check the shipped model against runs of the spatial belt, and the planar laws against runs of the planar belt.

    The runs are the shipped ones, or those that match ``runs``; recorded errors are pooled with theirs.
    """
    inside, report = _inside(unit), given["report"]
    path, fresh, runs, pool = reduced_path(inside), given["fresh"], given["runs"], given["pool"]
    if fresh and runs is not None:
        raise InputError("--runs", "", runs, "not together with --fresh")
    reduced, folder = read_reduced(path), report.with_name(f"{report.stem}_runs")
    new = tables_of(report) if fresh or runs is not None else {}
    require_writable(report, given["figures"], *new.values())
    if new:
        files = (
            matching(runs)
            if runs is not None
            else [f for name in PLANS for f in _runs(reduced, name, folder, progress)]
        )
        heldout = condense(files)
        for belt, table in heldout.items():
            write_heldout(table, new[belt])
    else:
        heldout = {belt: read_heldout(table) for belt, table in tables_of(path).items() if table.exists()}
    if not heldout:
        allowed = f"to be given: {path.name} comes without held-out runs, {tables_of(path)['hybrid'].name}"
        raise InputError("--fresh", "", None, allowed)
    record = recorded(inside, reduced, pool)
    found = checks(inside, heldout, reduced, record, progress, {} if runs is None else {"runs": runs})
    lines: list[Any] = [] if found[0].belt == "spatial" else [*spatial_table(reduced.errors)]
    for c in found:
        lines += _tables(unit, c)
    if known := cases_of(inside, reduced):
        lines.append(table_of_cases(known))
    figures = found[0].as_numbers() | ({"planar": found[1].as_numbers()} if found[1:] else {})
    figures |= {"model": _digest(inside, reduced), "errors": record | {c.belt: c.record for c in found}}
    failures = [f"{_BELTS[c.belt]}: {text}" for c in found for text in c.failures]
    return Checked(report_page(*found), figures, lines, failures, "missed")


def _tables(unit: Variator, c: Check) -> list[Any]:
    title = f"{unit.name} against {c.runs} runs of the {_BELTS[c.belt]} belt"
    shown = Table("", "", "hybrid", "allowed", "rigid", title=escape(title), title_justify="left")
    for f in c.figures:
        colour = {True: "green", False: "red", None: "default"}[f.reached]
        limit = "" if f.limit is None else f.show(f.limit)
        shown.add_row(f.name, f.statistic, f"[{colour}]{f.show(f.value['hybrid'])}[/]", limit, f.show(f.value["rigid"]))
    within = Table("uncertainty of", "states", "errors within 1", "within 2", title_justify="left")
    for name, (states, one, two) in c.coverage.items():
        within.add_row(name, str(states), f"{one:.0%}", f"{two:.0%}")
    parts = Table("part of the plan", *next(iter(c.strata.values()), {}), title_justify="left")
    for name, row in c.strata.items():
        parts.add_row(name, *(str(v) if key == "states" else f"{100.0 * v:.3g}" for key, v in row.items()))
    return [shown, *(t for t in (within, parts) if t.row_count)]


def figures(unit: Variator, settings: Mapping[str, float | str], progress: Progress) -> dict[str, Any] | None:
    """Figures of the check against the runs that come with the reduced model; None if there are none."""
    path = reduced_path(unit)
    tables = {belt: read_heldout(table) for belt, table in tables_of(path).items() if table.exists()}
    if not tables:
        return None
    inside, reduced = _inside(unit), read_reduced(path)
    return checks(inside, tables, reduced, recorded(inside, reduced), progress)[0].as_numbers()


def _inside(unit: Variator) -> Variator:
    """The variator of a unit, without the controller around it."""
    return unit if unit.controller is None else variator_inside(unit)


def tables_of(path: Path) -> dict[str, Path]:
    """Held-out runs that come with a reduced model or a report, by belt."""
    return {belt: path.with_name(f"{path.stem}_{plan}.h5") for belt, plan in zip(LIMITS, PLANS, strict=True)}


def matching(runs: str) -> list[Path]:
    """Files of a folder or of a pattern."""
    path = Path(runs)
    files = sorted(path.glob("[!.]*.h5") if path.is_dir() else path.parent.glob(path.name))
    if not files:
        raise InputError("--runs", "", runs, "a folder of runs, or a pattern of files that are there, in quotes")
    return files


def checks(
    unit: Variator,
    heldout: Mapping[str, HeldOut],
    reduced: ReducedModel,
    record: Mapping[str, Mapping[str, Any]],
    progress: Progress,
    more: Mapping[str, Any] | None = None,
) -> list[Check]:
    """Checks of the belts with runs: first the shipped model, then the planar laws; `record` is a result of
    `recorded`."""
    about = {"unit": unit.name, "reduced model": f"{reduced.name}, revision {reduced.attributes.get('revision', '')}"}
    about |= {"load": protocol(reduced.plan, reduced.unit_file)} | dict(more or {})
    found = []
    for belt, runs in sorted(heldout.items(), reverse=True):  # the spatial one first
        laws, J = reduced if belt == "spatial" else reduced.planar, float(runs.parameters["sheaves"]["J"])
        models = {name: Player(unit, name, laws, J) for name in ("hybrid", "rigid")}
        made = check_heldout(runs, models, RecordedLaws(laws), STEP, about, progress)
        found.append(replace(made, belt=belt, more=record.get(belt, {})))
    return found


def _digest(unit: Variator, reduced: ReducedModel) -> str:
    """Digest that identifies a unit's laws and parameters: of the numbers in the reduced model's file.

    Tables that are made of them differ by rounding between machines.
    """
    known = hashlib.sha256(repr(sorted(unit.values().items())).encode())
    r = reduced
    scales = (*(r.constants[name] for name in sorted(r.constants)), *r.shift, r.slide)
    ranges = [(c.centre, c.low, c.high) for c in r.coordinates]
    known.update(np.append(scales, ranges).tobytes())
    networks = (a for n in (r.networks, r.peak_networks) for a in (n.first, n.second))
    fields = (a for f in r.fields for a in (f.modes, f.weights, f.across))
    laws = r.thrust, r.laws, r.correction, r.falling, r.uncertainty, r.deviation, *(p.weights for p in r.peaks)
    for values in (*laws, *networks, *fields):
        known.update(np.ascontiguousarray(values, dtype=np.float32).tobytes())
    return known.hexdigest()


def recorded(unit: Variator, reduced: ReducedModel, pool: Path | None = None) -> dict[str, Any]:
    """Errors of earlier runs by belt, from `pool` or the reduced model's folder; without those of other laws.

    Raises
    ------
    InputError
        `pool` is not such a file, or of another unit or other laws.
    """
    own = reduced_path(unit)
    path = own.with_name(f"{own.stem}_errors.json") if pool is None else pool
    if not path.exists():
        return {}
    kept = read_json(path, "a file that rtcvt check --json has written")
    try:
        belts = {
            belt: {name: record_of(*both) for name, both in kept["errors"][belt].items()} for belt in kept["errors"]
        }
        same = kept["model"] == _digest(unit, reduced)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(path, "errors", None, "errors as rtcvt check --json writes them") from None
    if not same and pool is not None:
        raise InputError(path, "model", None, f"errors of {unit.name} with these laws and parameters")
    return belts if same else {}


def _runs(reduced: ReducedModel, name: str, folder: Path, progress: Progress) -> list[Path]:
    """Files of the runs of a plan of the full model of `reduced`; missing runs are made now."""
    parameters = read_parameters(parse_unit_file(reduced.unit_file, f"unit file in {reduced.name}"))
    plan, text = load_plan(name)
    folder = folder / name
    done = run_campaign(parameters, reduced.unit_file, plan, text, folder, progress=progress)
    for name, why in done.failed.items():
        logging.getLogger("rtcvt").warning("failed: %s: %s", name, why)
    return [folder / f"{name}.h5" for name in done.done]
