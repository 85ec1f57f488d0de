"""``rtcvt simulate``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import (
    Fidelity,
    Json,
    Model,
    ScenarioName,
    Settings,
    Substeps,
    UnitName,
    assignments,
    fail,
    for_kinds,
    given_to,
    notes,
    out,
    print_whole,
    progress_bar,
    refuse_others,
    say,
    seconds,
    show_lines,
    write_figures,
)
from rtcvt.kind import Run, Task, Unit, cell, load_unit

COMMON = ("model", "scenario", "step", "substeps", "settings", "output", "figures")


@for_kinds(lambda kind: kind.full)
def simulate(
    context: typer.Context,
    unit: UnitName,
    model: Model = None,
    scenario: ScenarioName = None,
    step: Annotated[
        str | None,
        typer.Option(
            help='Communication step, e.g. "1 ms"; of full models of belts the integration step. Default: the unit\'s.'
        ),
    ] = None,
    substeps: Substeps = None,
    settings: Settings = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Recording (HDF5).")] = None,
    figures: Json = None,
    **own: Any,
) -> None:
    """Simulate a unit over one of its scenarios, by default the first.

    [bold]JSON keys:[/] unit, model, scenario, step_s, steps, duration_s, saturated_share (of the steps in which a limit
    was active), limits (shares by the output that says so), step_cost_us (median, p99), signals: by name unit, final,
    min, max, rms. Of a car with an engine also energy: fuel_l_per_100km, source_J, loss_J (by name), stored_J,
    residual_share.
    """
    loaded = load_unit(unit)
    kind = loaded.kind_record
    common: dict[str, Any] = {
        "model": model.value if model else None,
        "scenario": scenario,
        "output": output,
        "figures": figures,
    }
    common |= {"step": None if step is None else seconds("--step", step)}
    if kind.full is not None and (kind.build is None or (model is Fidelity.full and model not in kind.fidelities)):
        _run_full(kind.full, loaded, given_to(kind.full, context, common | own))
        return
    refuse_others(context, COMMON)
    _run(loaded, common | {"settings": assignments(settings), "substeps": substeps})


def _run_full(task: Task, unit: Any, given: dict[str, Any]) -> None:
    """Full model of a unit, offline."""
    try:
        with progress_bar() as bar:
            run: Run = task.run(unit, given, bar)
    except ArithmeticError as error:
        fail(str(error), 1)
    write_figures(given["figures"], run.figures)
    show_lines(run.lines)
    say(f"run, {run.figures['status']}: {run.path} ({run.path.stat().st_size / 1e6:.1f} MB)")
    if run.failure:
        fail(run.failure, 1)
    if run.interrupted:
        notes.print("interrupted; --resume goes on")
        sys.exit(130)


def _run(unit: Unit, given: dict[str, Any]) -> None:
    """Real-time model of a unit over a scenario."""
    from rtcvt.balance import balance
    from rtcvt.recording import require_writable, write_recording
    from rtcvt.scenario import chosen_scenario
    from rtcvt.simulate import simulate, uneven

    chosen = chosen_scenario(unit, given["scenario"])
    built = unit.build(given["model"], given["substeps"])
    output: Path | None = given["output"]
    require_writable(output, given["figures"])
    with progress_bar() as bar:
        result = simulate(built, chosen, given["step"], given["settings"], lambda k, n: bar(chosen.name, k, n))
    if output is not None:
        write_recording(output, result.recording(), "simulation")
    found = result.figures()
    energy = balance(result)
    write_figures(given["figures"], found if energy is None else found | {"energy": energy.figures()})
    _print_signals(f"{built.name}, {built.fidelity} model: {chosen.name}", found["signals"])
    cost = found["step_cost_us"]["median"]
    speed = result.step * 1e6 / cost
    out.print(f"{found['steps']} steps of {result.step:g} s, median {cost:.1f} us: {speed:.0f} times real time")
    for note in uneven(chosen.duration, found["steps"], result.step):
        say(f"note: {note}")
    if found["saturated_share"] > 0:
        which = ", ".join(f"{name} {share:.1%}" for name, share in found["limits"].items())
        out.print(f"a limit was active in {found['saturated_share']:.1%} of the steps{which and f': {which}'}")
    if energy is not None:
        _print_energy(energy)
    if output is not None:
        say(f"recording: {output}")


def _print_energy(energy: Any) -> None:
    into = sum(energy.sources.values())
    table = Table("energy", "kJ", "share", title=f"{energy.litres:.2f} l/100 km", title_justify="left", box=None)
    for name, joules in (*energy.sources.items(), *energy.losses.items(), ("stored", energy.stored)):
        table.add_row(name, cell(joules * 1e-3), f"{joules / into:.3%}" if into else "")
    table.add_row("not accounted for", cell(energy.residual * into * 1e-3), f"{energy.residual:.1e}")
    print_whole(table)


def _print_signals(title: str, signals: dict[str, Any]) -> None:
    table = Table("signal", "unit", "final", "min", "max", "rms", title=escape(title), title_justify="left", box=None)
    for name, signal in signals.items():
        table.add_row(name, signal["unit"], *(cell(signal[k]) for k in ("final", "min", "max", "rms")))
    print_whole(table)
