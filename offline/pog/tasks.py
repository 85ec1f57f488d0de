"""The check of a gear system: its rigid model against the elastic one."""

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from rtcvt.kind import Checked, Progress
from rtcvt.model.scenario import chosen_scenario
from rtcvt.offline.pog.check import check_unit
from rtcvt.offline.pog.report import report_page
from rtcvt.pog.tasks import shared_settings
from rtcvt.pog.unit import GearSystem


def check(unit: GearSystem, given: Mapping[str, Any], progress: Progress) -> Checked:
    """The rigid model against the elastic one."""
    name = given["scenario"]
    scenarios = None if name is None else (chosen_scenario(unit, name),)
    result = check_unit(unit, given["settings"], scenarios, progress)
    lines = []
    for s in result.scenarios:
        title = f"{unit.name}, rigid against full model: {s.scenario.name}"
        table = Table("signal", "RMS error", "allowed", "largest", title=escape(title), title_justify="left")
        for e in s.errors:
            colour = "green" if e.nrms <= e.limit else "red"
            share = f"[{colour}]{e.nrms:.3%}[/]"
            table.add_row(e.name, share, f"{e.limit:.1%}", f"{e.peak:.3g} {e.unit}")
        lines.append(table)
    return Checked(report_page(result), result.figures(), lines, result.failures)


def figures(unit: GearSystem, settings: Mapping[str, float | str], progress: Progress) -> dict[str, Any] | None:
    """Figures of the check with these parameters; None if the unit has no scenario."""
    return check_unit(unit, shared_settings(unit, settings), progress=progress).figures() if unit.scenario else None
