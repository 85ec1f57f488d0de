"""What the command ``calibrate`` does with pushbelts."""

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from rtcvt.kind import Progress, Shown, cell
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.offline.variator.calibration.calibrate import FIGURES, SET
from rtcvt.offline.variator.calibration.calibrate import calibrate as figures_of
from rtcvt.offline.variator.calibration.plan import load_calibration

__all__ = ["calibrate"]


def calibrate(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Shown:
    """Identify the parameters of a plan."""
    plan, text = load_calibration(given["plan"])
    folder, workers = given["output"], given["workers"]
    found = figures_of(parameters, plan, text, folder, scheduler=given["scheduler"], workers=workers, progress=progress)
    unknown = Table("parameter", "prior 5, 50, 95 %", "posterior", "set", "variance gone", title=escape(plan.name))
    for name, p in found["parameters"].items():
        bands = _band(p["prior"]), _band(p["posterior"])
        unknown.add_row(escape(name), *bands, cell(p["set"]), f"{p['gained']:.0%}")
    results = Table("", "printed", "before, 5, 50, 95 %", "posterior", "set")
    for row in found["observables"]:
        bands = _band(row["before"]), _band(row["posterior"])
        results.add_row(escape(row["about"]), cell(row["printed"]), *bands, _cell(row["set"]))
    heldout = Table("held out", "printed", "posterior 5, 50, 95 %", "set", "right sign")
    for row in found["heldout"]:
        printed = row["printed"] if "right" in row else cell(row["printed"])
        right = f"{row['right']:.0%}" if "right" in row else ""
        heldout.add_row(escape(row["about"]), printed, _band(row["posterior"]), _cell(row["set"]), right)
    return Shown(found, [unknown, results, heldout, escape(f"figures: {folder / FIGURES}, unit: {folder / SET}")])


def _cell(value: float | None) -> str:
    return "" if value is None else cell(value)


def _band(values: list[float]) -> str:
    return ", ".join(map(cell, values))
