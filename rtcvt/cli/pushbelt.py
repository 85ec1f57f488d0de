"""What the commands do with units of kind pushbelt."""

import json
import sys
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import fail, notes, number, out, progress_bar, say, write_figures
from rtcvt.errors import InputError


def show_pushbelt(unit: str, as_json: bool) -> None:
    """Numbers of a pushbelt as its kernels see them, and its cases."""
    from offline.pushbelt.parameters import belt, load_parameters, sheaves

    parameters = load_parameters(unit)
    groups = {"belt": belt(parameters)._asdict(), "sheaves": sheaves(parameters)._asdict()}
    if as_json:
        cases = {c.name: c.model_dump() for c in parameters.case}
        print(json.dumps({"unit": parameters.name, **groups, "cases": cases}, indent=2, allow_nan=False))
        return
    out.print(f"[bold]{parameters.name}[/], a pushbelt: {escape(parameters.description)}")
    for group, values in groups.items():
        out.print(f"\n[bold]{group}[/], SI" + (f", scaled to {values['N_E']} elements" if group == "belt" else ""))
        text = [
            f"{k} = {', '.join(number(float(x)) for x in v) if isinstance(v, tuple) else number(float(v))}"
            for k, v in values.items()
        ]
        table = Table(*[""] * 4, box=None, show_header=False)
        for i in range(0, len(text), 4):
            table.add_row(*text[i : i + 4])
        out.print(table)
    table = Table("case", "i_r", "load torques [N.m]", "description", box=None)
    for case in parameters.case:
        table.add_row(
            case.name,
            "of the speeds" if case.i_r is None else number(case.i_r),
            ", ".join(map(number, case.M_O)),
            escape(case.description),
        )
    out.print()
    out.print(table)


def simulate_pushbelt(unit: str, run: dict[str, Any], output: Path | None, figures: Path | None, resume: bool) -> None:
    """Full model of a pushbelt on one of its cases."""
    from offline.pushbelt.parameters import load_parameters
    from offline.pushbelt.runs import FAILED, INTERRUPTED, Settings, open_run, simulate
    from offline.pushbelt.runs import figures as of_run
    from rtcvt.recording import require_writable
    from rtcvt.unitfile import find_unit, read_toml

    parameters = load_parameters(unit)
    if run["case"] is None:
        raise InputError("--case", "", None, f"one of {', '.join(c.name for c in parameters.case)}")
    path = output or Path(f"{parameters.name}_{parameters.get_case(run['case']).name}.h5")
    require_writable(path, figures)
    text = read_toml(find_unit(unit))[1]
    with progress_bar() as bar:
        outcome = simulate(parameters, Settings(**run), path, text, resume=resume, progress=bar)
    with open_run(path) as file:
        found = of_run(file)
    steps = outcome.computed * round(found["plot_step"] / found["step"])
    cost = {"step_cost_us": 1e6 * outcome.step} if steps else {}
    found |= {"computed_frames": outcome.computed, "wall_s": outcome.wall} | cost
    write_figures(figures, found)
    title = f"{found['unit']}, {found['case']}: mean of the last fifth of {found['time_s']:g} s"
    table = Table("", "primary", "secondary", title=escape(title))
    for name, label in (
        ("clamping_force_N", "clamping force [N]"),
        ("speed_rad_s", "speed [rad/s]"),
        ("shaft_torque_Nm", "shaft torque [N.m]"),
        ("radius_m", "radius of the ring [m]"),
    ):
        table.add_row(escape(label), *(number(v) for v in found.get(name, ())))
    out.print(table)
    if "thrust_ratio" in found:
        out.print(f"thrust ratio {found['thrust_ratio']:.4f}, speed ratio {found['speed_ratio']:.4f}", highlight=False)
        residual = f"{found['residual_of_losses']:.1e} of the losses"
        out.print(f"energy that the scheme does not account for: {residual}", highlight=False)
    if steps:
        out.print(f"{steps} steps in {outcome.wall:.1f} s, {cost['step_cost_us']:.1f} us for each", highlight=False)
    say(f"run, {found['status']}: {path} ({path.stat().st_size / 1e6:.0f} MB)")
    if outcome.status == FAILED:
        fail(f"the belt left its place after {found['time_s']:g} s: a smaller --step, or forces that hold it", 1)
    if outcome.status == INTERRUPTED:
        notes.print("interrupted; --resume goes on")
        sys.exit(130)


def check_pushbelt(unit: str, report: Path, figures: Path | None) -> None:
    """Chapter 7 of Cebulla 2014 with the full model."""
    from collections import Counter

    from offline.pushbelt.parameters import load_parameters
    from offline.pushbelt.report import report_page
    from offline.pushbelt.verification import verify
    from offline.report import write_report
    from rtcvt.recording import require_writable

    parameters = load_parameters(unit)
    require_writable(report, figures)
    with progress_bar() as bar:
        result = verify(parameters, report.with_name(f"{report.stem}_runs"), progress=bar)
    write_report(report_page(result), report)
    write_figures(figures, result.figures())
    for verdict, count in Counter(f.verdict for f in result.findings).most_common():
        say(f"{count} signatures of {result.chapter.source}: {verdict}")
    say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]failed:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)
