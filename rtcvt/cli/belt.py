"""What the commands do with units of kind belt."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import chosen_scenario, fail, notes, number, out, progress_bar, say, write_figures


def show_belt(unit: str, as_json: bool) -> None:
    """Taut belt of a drive: where it leaves each pulley, its wraps and spans."""
    from rtcvt.belt.unit import load_belt_unit

    drive = load_belt_unit(unit)
    path = drive.path()
    rows = [
        {"pulley": name, "side": pulley.side, "radius": float(path.radius[i]), "wrap": float(path.wrap[i]),
         "leaves_at": path.leaving(i).tolist(), "span": float(path.span[i])}
        for i, (name, pulley) in enumerate(drive.pulleys.items())
    ]  # fmt: skip
    found = {"unit": drive.name, "kind": drive.kind, "length": path.length, "rest_length": drive.rest_length()}
    if as_json:
        print(json.dumps({**found, "pulleys": rows}, indent=2, allow_nan=False))
        return
    out.print(f"[bold]{drive.name}[/], a belt drive: {escape(drive.description)}")
    out.print(f"belt of {path.length:.6g} m, {drive.rest_length():.6g} m without load, round {drive.winding}")
    table = Table("pulley", "side", "radius, m", "wrap, deg", "leaves at, m", "span to the next, m", box=None)
    for row in rows:
        x, y = row["leaves_at"]
        table.add_row(row["pulley"], row["side"], number(row["radius"]), f"{math.degrees(row['wrap']):.2f}",
                      f"({number(x)}, {number(y)})", number(row["span"]))  # fmt: skip
    out.print(table)


def simulate_belt(
    unit: str,
    scenario: str | None,
    change: dict[str, Any],
    duration: float | None,
    output: Path | None,
    figures: Path | None,
    resume: bool,
) -> None:
    """Full model of a belt drive over one of its scenarios."""
    from offline.beltdrive.runs import changed, full_model, simulate_full
    from offline.beltdrive.runs import figures as of_run
    from rtcvt.belt.unit import load_belt_unit
    from rtcvt.recording import require_writable

    drive = load_belt_unit(unit)
    full_model(drive)
    chosen = chosen_scenario(drive, scenario)
    if duration is not None:
        chosen = chosen.model_copy(update={"duration": duration})
    drive = changed(drive, **change)
    path = output or Path(f"{drive.name}_{chosen.name}.h5".replace(" ", "_"))
    require_writable(path, figures)
    try:
        with progress_bar() as bar:
            last = round(1e3 * chosen.duration)
            outcome = simulate_full(
                drive, chosen, path, resume=resume, progress=lambda t, _: bar(chosen.name, round(1e3 * t), last)
            )
    except ArithmeticError as error:
        fail(str(error), 1)
    found = of_run(outcome)
    write_figures(figures, found)
    title = (
        f"{drive.name}, full model ({found['model']}): {chosen.name}, mean of the last fifth of {found['time_s']:g} s"
    )
    table = Table(
        "pulley", "speed, rad/s", "torque of the belt, N.m", "tension of the span after it, N", title=escape(title)
    )
    for name, tension in zip(drive.pulleys, found["tension_N"].values(), strict=True):
        table.add_row(name, number(found["speed_rad_s"][name]), number(found["belt_torque_Nm"][name]), number(tension))
    out.print(table)
    if "unaccounted_J" in found:
        share = abs(found["unaccounted_J"]) / max(abs(found["input_J"]), 1e-300)
        out.print(f"energy that is not accounted for: {share:.1e} of the work put in", highlight=False)
    say(f"{found['computed_s']:g} s computed in {found['wall_s']:.1f} s, {found['steps']} steps in all")
    say(f"run, {found['status']}: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    if found["status"] == "partial":
        notes.print("interrupted; --resume goes on")
        sys.exit(130)


def check_belt(unit: str, mesh: dict[str, Any], report: Path, figures: Path | None) -> None:
    """The real-time model against the full one, and the full one against its source."""
    from offline.beltdrive.report import report_page
    from offline.beltdrive.runs import changed
    from offline.beltdrive.verification import verify
    from offline.report import write_report
    from rtcvt.belt.unit import load_belt_unit
    from rtcvt.recording import require_writable

    drive = changed(load_belt_unit(unit), **mesh)
    require_writable(report, figures)
    with progress_bar() as bar:
        result = verify(drive, report.with_name(f"{report.stem}_runs"), progress=bar)
    write_report(report_page(result), report)
    write_figures(figures, result.figures())
    for c in result.comparisons:
        table = Table("signal", "RMS error", "allowed", title=escape(f"{drive.name}: {c.title}"), title_justify="left")
        for e in c.errors:
            colour = "green" if e.smooth <= e.limit else "red"
            table.add_row(e.name, f"[{colour}]{e.smooth:.3%}[/]", f"{e.limit:.1%}")
        out.print(table)
    say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]failed:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)
