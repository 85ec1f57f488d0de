"""``rtcvt check``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.belt import check_belt
from rtcvt.cli.console import (
    Json,
    ScenarioName,
    Settings,
    UnitName,
    assignments,
    chosen_scenario,
    command,
    kind_of,
    notes,
    out,
    progress_bar,
    refuse_given,
    say,
    seconds,
    write_figures,
)
from rtcvt.cli.pushbelt import check_pushbelt
from rtcvt.cli.variator import check_variator
from rtcvt.errors import InputError


@command
def check(
    context: typer.Context,
    unit: UnitName,
    settings: Settings = None,
    scenario: ScenarioName = None,
    report: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The report.")] = Path("report.html"),
    figures: Json = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Variators: run the full model anew, in a folder beside the report.")
    ] = False,
    runs: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Variators: against these runs of a campaign, e.g. 'runs/sweep-*.h5'."),
    ] = None,
    elements: Annotated[int | None, typer.Option(min=1, help="Mesh of a belt drive; default: the unit's.")] = None,
    step: Annotated[str | None, typer.Option(help="Of a belt drive's ANCF model; default: the unit's.")] = None,
) -> None:
    """Compare a unit's real-time model with its full model and write a report.

    Of a gear system the rigid model is compared with the elastic one on the unit's scenarios.

    Exits with code 1 if an error exceeds the limit that the unit's scenario sets.

    [bold]JSON keys:[/] unit, revision, parameters (as set), passed, failures, modes (frequency_Hz, damping_ratio of
    the full model), scenarios: name, duration_s, step_s, settled_share (of the samples that count), discretisation
    (change of the full model from a quarter of the step to the step), energy_residual (rigid, full), step_cost_us
    (rigid, full), errors: signal, unit, nrms (RMS error by the largest value), limit (of nrms), peak, transient,
    scale [in the signal's unit].

    A unit of kind pushbelt is checked against chapter 7 of Cebulla 2014 instead: some sixty runs of the full model,
    about ten minutes on two processors. They are kept in a folder beside the report, so that a stopped check goes on
    where it was. Friction of the flanks is regularised below 0.1 mm/s in these runs, whatever v_mu the unit has. Exits
    with code 1 if energy or momentum of a run do not balance; what differs from the source is in the report.

    A unit of kind belt is checked on its scenarios and two changed belts: its real-time model against the full one, of
    which one second takes about 30 s (rigid elements) or 10 s (ANCF, 240 elements) of processor time. Of shipped drives
    the report also shows the source's figures and numbers; two_pulley_belt adds its parameter studies. Runs are kept as
    for a pushbelt. Exits with code 1 if a speed is off by more than 1 %, a tension or torque by more than 3 %.

    [bold]JSON keys of a belt:[/] unit, revision, full_model, passed, failures, load_cases: name, duration_s,
    full_wall_s, step_us (real-time), errors: signal, kind, nrms, smooth (of means over the passage of an element, held
    against the limit), ripple (of the full model), scale, limit; studies: by what they change the values at the end;
    source: section, about, printed, ours, agrees.

    [bold]JSON keys of a pushbelt:[/] unit, source, failures, unsteady (runs), discretisation (of the thrust ratio, by
    case), signatures: section, about, quantity, runs, expected, value, u (its change from the revolution before), unit,
    verdict; runs: thrust_ratio, drift, torque_N_m, slip, endplay_m (rocking edge, top), energy_J (unaccounted, lost,
    throughput), balance (of each pulley: force, torque, moments), step_us; step_us (smallest, spread).

    A variator's hybrid and rigid model are compared with runs of the full model that its reduced model has not seen:
    operating points, force steps, transients. A table of these runs comes with the reduced model; --fresh makes them
    anew, about 20 minutes on two processors, kept in a folder beside the report and resumed. --runs takes others, such
    as the transients of a campaign, on which choices may be made. Exits with code 1 if the hybrid model exceeds a
    limit; of what its error consists is in the report.

    [bold]JSON keys of a variator:[/] unit, runs (how many), unsettled (names), failures, figures: name, statistic,
    limit, value (by model), parts (of the hybrid model's error), worst (by model: run, value), within (how many runs
    keep the limit, of how many), reached, cause; settled: by run and by model or part, thrust_ratio, slip, efficiency,
    loss [W], others.
    """
    if kind_of(unit) != "variator" and (fresh or runs is not None):
        raise InputError("--fresh" if fresh else "--runs", "", runs, "only with a variator")
    if kind_of(unit) == "belt":
        refuse_given(context, "settings", "scenario")
        mesh = {"elements": elements, "step": None if step is None else seconds("--step", step)}
        check_belt(unit, mesh, report, figures)
        return
    refuse_given(context, "elements", "step")
    if kind_of(unit) == "pushbelt":
        if settings or scenario is not None:
            option = "--set" if settings else "--scenario"
            raise InputError(option, "", settings or scenario, "no unit of kind pushbelt")
        check_pushbelt(unit, report, figures)
        return
    if kind_of(unit) == "variator":
        if settings or scenario is not None:
            option = "--set" if settings else "--scenario"
            raise InputError(option, "", settings or scenario, "no unit of kind variator")
        check_variator(unit, report, figures, fresh, runs)
        return
    from offline.check import check_unit
    from offline.report import report_page, write_report
    from rtcvt.recording import require_writable
    from rtcvt.unitfile import load_unit

    if kind_of(unit) not in (None, "gear_system"):
        raise InputError(
            unit, "kind", kind_of(unit), "a kind with models to compare: gear_system, belt, pushbelt or variator"
        )
    loaded = load_unit(unit)
    chosen = None if scenario is None else (chosen_scenario(loaded, scenario),)
    require_writable(report, figures)
    with progress_bar() as bar:
        result = check_unit(loaded, assignments(settings), chosen, bar)
    write_report(report_page(result), report)
    write_figures(figures, result.figures())
    for s in result.scenarios:
        title = f"{loaded.name}, rigid against full model: {s.scenario.name}"
        table = Table("signal", "RMS error", "allowed", "largest", title=escape(title), title_justify="left")
        for e in s.errors:
            colour = "green" if e.nrms <= e.limit else "red"
            share = f"[{colour}]{e.nrms:.3%}[/]"
            table.add_row(e.name, share, f"{e.limit:.1%}", f"{e.peak:.3g} {e.unit}")
        out.print(table)
    say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]failed:[/] {escape(failure)}")
    if not result.passed:
        raise typer.Exit(1)
