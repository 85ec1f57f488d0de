"""The command ``calibrate`` for pushbelts."""

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from rtcvt.kind import Progress, Shown, cell
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.offline.variator.calibration.calibrate import FIGURES, SET
from rtcvt.offline.variator.calibration.calibrate import calibrate as figures_of
from rtcvt.offline.variator.calibration.plan import load_calibration


def calibrate(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Shown:
    """Identify the parameters of a plan."""
    plan, text = load_calibration(given["plan"])
    folder, workers = given["output"], given["workers"]
    found = figures_of(parameters, plan, text, folder, scheduler=given["scheduler"], workers=workers, progress=progress)
    unknown = Table("parameter", "prior 5, 50, 95 %", "posterior", "set", "variance gone", title=escape(plan.name))
    for name, p in found["parameters"].items():
        bands = _band(p["prior"]), _band(p["posterior"])
        unknown.add_row(escape(name), *bands, cell(p["set"]), f"{p['gained']:.0%}")
    results = Table("", "printed", "posterior 5, 50, 95 %", "set", "right sign")
    for title, rows in ((None, found["observables"]), ("held out", found["heldout"])):
        if title is not None:
            results.add_row(f"[bold]{title}[/]")
        for row in rows:
            printed = row["printed"] if isinstance(row["printed"], str) else cell(row["printed"])
            band = _band(row["posterior"]) if "posterior" in row else ""
            value = "" if row["set"] is None else cell(row["set"])
            results.add_row(escape(row["about"]), printed, band, value, f"{row['right']:.0%}" if "right" in row else "")
    return Shown(found, [unknown, results, escape(f"figures: {folder / FIGURES}, unit: {folder / SET}")])


def _band(values: list[float]) -> str:
    return ", ".join(map(cell, values))
