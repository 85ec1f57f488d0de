"""The full model and the check of belt drives, and maps over their speeds, for the commands."""

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.kind import Checked, Progress, Run, cell
from rtcvt.offline.belt import moving_run
from rtcvt.offline.belt.report import report_page
from rtcvt.offline.belt.runs import SAMPLE, changed, estimated, figures, full_model, simulate_full
from rtcvt.offline.belt.verification import verify
from rtcvt.offline.speed_map import map_page, speed_map
from rtcvt.recording import HDF5, require_ending, require_writable, write_recording
from rtcvt.scenario import Scenario, chosen_scenario
from rtcvt.simulate import uneven


def simulate(drive: BeltUnit, given: Mapping[str, Any], progress: Progress) -> Run:
    """Full model of a belt drive over one of its scenarios."""
    drive, given_table = estimated(drive)
    full_model(drive)
    chosen = _scenario(drive, given)
    drive = changed(drive, elements=given["elements"], step=given["step"])
    path = _path(given, f"{drive.name}_{chosen.name}.h5")
    last = round(1e3 * chosen.duration)
    outcome = simulate_full(
        drive, chosen, path, resume=given["resume"], progress=lambda t, _: progress(chosen.name, round(1e3 * t), last)
    )
    found = figures(outcome)
    title = f"{drive.name}, full model ({found['model']}): {chosen.name}"
    title = escape(f"{title}, mean of the last fifth of {found['time_s']:g} s")
    table = Table("pulley", "speed, rad/s", "torque of the belt, N.m", "tension of the span after it, N", title=title)
    for name, tension in zip(drive.pulleys, found["tension_N"].values(), strict=True):
        table.add_row(name, cell(found["speed_rad_s"][name]), cell(found["belt_torque_Nm"][name]), cell(tension))
    lines: list[Any] = [table]
    if given_table:
        lines.append(f"[yellow]no table \\[ancf] or \\[elements]; used:[/]\n{escape(given_table)}")
    if "unaccounted_J" in found:
        rest, work = abs(found["unaccounted_J"]), abs(found["input_J"])
        amount = f"{rest / work:.1e} of the work put in" if work else f"{rest:.1e} J"
        lines.append(f"energy that is not accounted for: {amount}")
    if outcome.run.complete:
        lines += [f"note: {note}" for note in uneven(chosen.duration, found["frames"] - 1, SAMPLE)]
    lines += [f"[yellow]{escape(w)}[/]" for w in found.get("warnings", ())]
    lines.append(f"{found['computed_s']:g} s computed in {found['wall_s']:.1f} s, {found['steps']} steps in all")
    return Run(path, found, lines, interrupted=found["status"] == "partial")


def _scenario(drive: BeltUnit, given: Mapping[str, Any]) -> Scenario:
    """The scenario that the options name, of their duration."""
    chosen = chosen_scenario(drive, given["scenario"])
    return chosen if given["duration"] is None else chosen.model_copy(update={"duration": given["duration"]})


def _path(given: Mapping[str, Any], name: str) -> Path:
    """The file of a run, by default of this name, which can be written."""
    path = given["output"] or Path(name.replace(" ", "_"))
    require_ending(path, HDF5)
    require_writable(path, given["figures"])
    return path


def simulate_moving(drive: BeltUnit, given: Mapping[str, Any], progress: Progress) -> Run:
    """Belt with lateral motion and one tension over a scenario."""
    drive, _ = estimated(drive)
    for key in ("elements", "resume"):
        if given[key]:
            raise InputError(f"--{key}", "model", "moving", "full: moving has the key functions of the table moving")
    chosen = _scenario(drive, given)
    path = _path(given, f"{drive.name}_{chosen.name}_moving.h5")
    begun = time.perf_counter()
    run = moving_run.simulate(moving_run.build(drive), chosen, given["step"], progress)
    write_recording(path, run, "belt drive, full model")
    found = moving_run.figures(drive, chosen, run, time.perf_counter() - begun)
    title = f"{drive.name}, moving belt: {chosen.name}, mean of the last fifth of {found['time_s']:g} s"
    table = Table("pulley", "speed, rad/s", "torque of the belt, N.m", "normal force, N", title=escape(title))
    for name in drive.pulleys:
        table.add_row(name, *(cell(found[k][name]) for k in ("speed_rad_s", "belt_torque_Nm", "normal_N")))
    spans = Table("span", "lateral amplitude, mm", box=None)
    for span, amplitude in found["amplitude_m"].items():
        spans.add_row(span, cell(1e3 * amplitude))
    belt = f"belt: {found['v_m_s']:.4g} m/s, tension {found['tension_N']:.4g} N"
    return Run(path, found, [table, spans, belt])


def check(drive: BeltUnit, given: Mapping[str, Any], progress: Progress) -> Checked:
    """The real-time model against the full one, and the full one against its source."""
    drive, given_table = estimated(drive)
    drive = changed(drive, elements=given["elements"], step=given["step"])
    report: Path = given["report"]
    result = verify(drive, report.with_name(f"{report.stem}_runs"), progress=progress, seed=given["seed"])
    lines: list[Any] = []
    if given_table:
        lines.append(f"[yellow]no table \\[ancf] or \\[elements]; used in both models:[/]\n{escape(given_table)}")
    for c in (*result.comparisons, *result.drawn):
        table = Table("signal", "RMS error", "allowed", title=escape(f"{drive.name}: {c.title}"), title_justify="left")
        for e in c.errors:
            colour = "green" if e.smooth <= e.limit else "red"
            table.add_row(e.name, f"[{colour}]{e.smooth:.3%}[/]", f"{e.limit:.1%}")
        lines.append(table)
    return Checked(report_page(result, given_table), result.figures(), lines, result.failures)


def map_speeds(drive: BeltUnit, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Map of a drive over the speed of its driving shaft."""
    rpm = math.pi / 30.0
    values = {"low": 700.0 * rpm, "high": 6000.0 * rpm, "time": 20.0, "share": 0.02}
    values |= {k: given[k] for k in values if given[k] is not None}

    def note(done: int, steps: int) -> None:
        progress(drive.name, done, steps)

    found = speed_map(
        drive, values["low"], values["high"], duration=values["time"], share=values["share"], progress=note
    )
    lines = Table("span", "engine order", "at, rpm", "first frequency, Hz", box=None)
    for m in found.meetings:
        lines.add_row(m.span, f"{m.order:g}", f"{m.speed / rpm:.0f}", f"{m.frequency:.1f}")
    return Checked(map_page(found), found.figures(), [lines])
