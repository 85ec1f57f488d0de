"""The check of a gear system: its rigid model against the elastic one."""

from collections.abc import Mapping
from typing import Any

from rtcvt.kind import Checked, Progress
from rtcvt.offline.pog.check import check_unit, with_traction
from rtcvt.offline.pog.report import report_page
from rtcvt.offline.signal_errors import printed_errors
from rtcvt.pog.tasks import shared_settings
from rtcvt.pog.unit import GearSystem
from rtcvt.scenario import chosen_scenario


def check(unit: GearSystem, given: Mapping[str, Any], progress: Progress) -> Checked:
    """The rigid model against the elastic one."""
    name = given["scenario"]
    scenarios = None if name is None else (chosen_scenario(unit, name),)
    result = with_traction(check_unit(unit, given["settings"], scenarios, progress), progress)
    title = f"{unit.name}, rigid against full model: "
    lines = [printed_errors(title + s.scenario.name, s.errors) for s in result.scenarios]
    if result.traction:
        about = f"{unit.name}, hybrid model's traction against that integrated over the ellipse"
        lines.append(printed_errors(about, result.traction))
    for d in result.drives:
        about = f"{unit.name}, hybrid model against integrated traction, {d.time[0]:.4g} to {d.time[-1]:.4g} s: "
        lines.append(printed_errors(about + d.hybrid.scenario.name, d.errors()))
    return Checked(report_page(result), result.figures(), lines, result.failures)


def figures(unit: GearSystem, settings: Mapping[str, float | str], progress: Progress) -> dict[str, Any] | None:
    """Figures of the check with these parameters; None if the unit has no scenario."""
    return check_unit(unit, shared_settings(unit, settings), progress=progress).figures() if unit.scenario else None


def hybrid_figures(unit: GearSystem, settings: Mapping[str, float | str], progress: Progress) -> dict[str, Any] | None:
    """`figures` with those of the hybrid model."""
    if not unit.scenario:
        return None
    return with_traction(check_unit(unit, shared_settings(unit, settings), progress=progress), progress).figures()
