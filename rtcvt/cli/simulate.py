"""``rtcvt simulate``."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli import console
from rtcvt.cli.console import Json, Model, ScenarioName, Settings, Substeps, UnitName, for_kinds, opt
from rtcvt.errors import InputError
from rtcvt.files.toml_edit import edited
from rtcvt.kind import Run, Task, Unit, cell, load_unit
from rtcvt.unitfile import parse_unit_file, read_unit_file

COMMON = [
    "model", "scenario", "step", "substeps", "settings", "output", "signal", "rate", "report", "compare", "figures",
]  # fmt: skip


@for_kinds(lambda kind: kind.full)
def simulate(
    context: typer.Context,
    unit: UnitName,
    model: Model = None,
    scenario: ScenarioName = None,
    step: str | None = opt(),
    substeps: Substeps = None,
    settings: Settings = None,
    output: Path | None = opt("-o", "--output", metavar="FILE"),
    signal: list[str] | None = opt(metavar="NAME"),
    rate: str | None = opt(),
    report: Path | None = opt(metavar="FILE.html"),
    compare: list[str] | None = opt(metavar="NAME | NAME=VALUE,..."),
    figures: Json = None,
    **own: Any,
) -> None:
    """Simulate a unit over one of its scenarios, by default the first.

    With a full model that runs offline --set gives keys of the unit file, e.g. contacts.mu=0.1, which the run's file
    then holds.

    [bold]JSON keys:[/] unit, model, scenario, step_s, steps, duration_s, saturated_share (of the steps in which a limit
    was active), limits (shares by output that reports the limit), step_cost_us (median, p99), signals: by name unit,
    final, min, max, rms. Of a car with an engine or a battery also energy: fuel_l_per_100km, battery_kWh_per_100km,
    both also corrected_ for the change of the stored energy, source_J, loss_J (by name), stored_J, residual_share. With
    --compare the energy of each run by name, ideal_l_per_100km, and its figures: jerk_m_s3, vdv_m_s1_75, shifts,
    shift_time_s (median), shift_time_max_s, shift_jerk_m_s3. With --report figures also have runs at full throttle:
    time_0_100_s, top_speed_m_s, speed_on_6_percent_m_s, speed_on_12_percent_m_s, start_slope.

    Options
    -------
    step : Communication step, e.g. "1 ms"; of full models of belts the integration step. Default: the unit's.
    output : Recording: FILE.h5 or FILE.csv.
    signal : Only these in the recording, e.g. "cvt.*". Repeatable.
    rate : Interval of the recording, e.g. "10 ms"; default: the step.
    report : Of a car: a page with acceleration, top speed, comfort, energies, maps and curves.
    compare : Of a car: a run for each choice of a parameter, e.g. "strategy", or also one with each of these sets of
        values. Repeatable.
    """
    loaded = load_unit(unit)
    kind = loaded.kind_record
    full = kind.full is not None and (
        kind.build is None or (model in kind.full.models and model not in kind.fidelities)
    )
    if full and settings:  # keys of the unit file
        file = read_unit_file(unit)
        text = edited(file.text, {k: str(v) for k, v in console.assignments(settings).items()}, "--set")
        loaded = load_unit(parse_unit_file(text, f"{file.source} with --set", file.folder))
    common: dict[str, Any] = {"model": model, "scenario": scenario, "output": output, "figures": figures}
    common |= {"step": None if step is None else console.seconds("--step", step)}
    if full and kind.full is not None:
        _run_full(kind.full, loaded, console.given_to(kind.full, context, common | own, "settings"))
        return
    console.refuse_others(context, COMMON)
    common |= {"settings": console.assignments(settings), "substeps": substeps, "report": report}
    common |= {"signal": signal or (), "rate": None if rate is None else console.seconds("--rate", rate)}
    if compare:
        _compare(loaded, compare, common)
    else:
        _run(loaded, common)


def _run_full(task: Task, unit: Any, given: dict[str, Any]) -> None:
    """Full model of a unit, offline."""
    try:
        with console.progress_bar() as bar:
            run: Run = task.run(unit, given, bar)
    except ArithmeticError as error:
        console.fail(str(error), 1)
    console.write_figures(given["figures"], run.figures)
    console.show_lines(run.lines)
    console.say(f"run, {run.figures['status']}: {run.path} ({run.path.stat().st_size / 1e6:.1f} MB)")
    if run.failure:
        console.fail(run.failure, 1)
    if run.interrupted:
        console.notes.print("interrupted; --resume continues")
        sys.exit(130)


def _run(unit: Unit, given: dict[str, Any]) -> None:
    """Real-time model of a unit over a scenario."""
    from rtcvt.model.balance import balance
    from rtcvt.recording import require_ending, require_page, require_writable, save
    from rtcvt.scenario import chosen_scenario
    from rtcvt.simulate import simulate

    chosen = chosen_scenario(unit, given["scenario"])
    built = unit.build(given["model"], given["substeps"])
    output: Path | None = given["output"]
    require_ending(output)
    require_page(given["figures"], given["report"])
    require_writable(output, given["figures"], given["report"])

    def record(result: Any) -> None:
        if output is not None:
            every = 1 if given["rate"] is None else max(1, round(given["rate"] / result.step))
            save(output, result.recording().chosen(given["signal"], every), "simulation")

    try:
        with console.progress_bar() as bar:
            result = simulate(built, chosen, given["step"], given["settings"], lambda k, n: bar(chosen.name, k, n))
    except InputError as error:
        if error.made is not None and output is not None:
            record(error.made)
            console.say(f"recording up to t = {error.made.time[-1]:g} s: {output}")
        raise
    record(result)
    found = result.figures()
    energy = balance(result)
    if given["report"] is not None:
        drive = _drive_of(built.name, result, unit, given, given["settings"])
        _write_page(given["report"], [drive], unit, chosen.name)
        found["figures"] = drive.told()["figures"]
    console.write_figures(given["figures"], found if energy is None else found | {"energy": energy.figures()})
    _print_signals(f"{built.name}, {built.fidelity} model: {chosen.name}", found["signals"])
    cost = found["step_cost_us"]["median"]
    speed = result.step * 1e6 / cost
    console.out.print(f"{found['steps']} steps of {result.step:g} s, median {cost:.1f} us: {speed:.0f} times real time")
    console.say_limits(found["limits"], found["saturated_share"])
    if energy is not None:
        _print_energy({"": energy})
    if given["report"] is not None:
        _print_figures([drive])
    if output is not None:
        console.say(f"recording: {output}")


def _drive_of(label: str, run: Any, unit: Any, given: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Stored results of a run, for a report with those of runs at full throttle."""
    from rtcvt.offline.car_figures import performance
    from rtcvt.offline.cars import drive_of

    drive = drive_of(label, run, unit)
    if given["report"] is None:
        return drive
    try:
        with console.progress_bar() as bar:
            return drive.with_figures(performance(unit, settings, bar))
    except InputError as error:  # a step failed
        console.notes.print(f"no figures at full throttle: {escape(str(error))}")
        return drive


def _sets(built: Any, compare: list[str]) -> dict[str, dict[str, Any]]:
    """Values of parameters for each run, by its label."""
    runs: dict[str, dict[str, Any]] = {"as given": {}} if any("=" in text for text in compare) else {}
    for text in compare:
        values = console.assignments(text.split(","), "--compare") if "=" in text else {text: None}
        full: dict[str, Any] = {}
        for name, value in values.items():
            able = [v for v in built.select("parameter") if v.choices or value is not None]
            some = [v for v in able if v.name == name or v.name.endswith(f".{name}")]
            if len(some) != 1:
                known = ", ".join(v.name for v in some or able if some or v.choices) or "none here"
                allowed = "the name of one parameter" if value is not None else "one parameter with choices"
                raise InputError("--compare", "", name, allowed + (f": {known}" if some or value is None else ""))
            full[some[0].name] = value
            if value is None:
                runs |= {choice: {some[0].name: choice} for choice in some[0].choices}
        if None not in full.values():
            runs[text] = full
    return runs


def _compare(unit: Unit, compare: list[str], given: dict[str, Any]) -> None:
    """A run for each choice of a parameter, or each set of values, side by side."""
    from rtcvt.recording import require_page, require_writable
    from rtcvt.scenario import chosen_scenario
    from rtcvt.simulate import require_fitting, simulate

    chosen = chosen_scenario(unit, given["scenario"])
    built = unit.build(given["model"], given["substeps"])
    runs = {label: {**given["settings"], **values} for label, values in _sets(built, compare).items()}
    if given["output"] is not None:
        raise InputError("--output", "", str(given["output"]), "no recording where several runs are compared")
    require_page(given["figures"], given["report"])
    require_writable(given["figures"], given["report"])
    for settings in runs.values():
        require_fitting(built, [chosen], settings)
    drives = []
    for label, settings in runs.items():
        with console.progress_bar() as bar:
            run = simulate(built, chosen, given["step"], settings, partial(bar, label))
        drives.append(_drive_of(label, run, unit, given, settings))
    if given["report"] is not None:
        _write_page(given["report"], drives, unit, chosen.name)
    console.write_figures(given["figures"], {d.label: d.told() for d in drives})
    _print_energy({d.label: d.balance for d in drives})
    for d in drives:
        if d.ideal is not None:
            console.out.print(f"{d.label}: {d.ideal:.2f} l/100 km with an ideal variator")
    _print_figures(drives)


def _print_figures(drives: list[Any]) -> None:
    """Figures of runs, side by side."""
    table = Table("figure", *(d.label for d in drives), box=None)
    for about in dict.fromkeys(f.about for d in drives for f in d.figures):
        table.add_row(about, *(next((f.shown for f in d.figures if f.about == about), "") for d in drives))
    console.print_whole(table)


def _write_page(path: Path, drives: list[Any], unit: Any, scenario: str) -> None:
    from rtcvt.offline.cars import page
    from rtcvt.recording import write_text

    write_text(path, page(drives, unit, scenario))
    console.say(f"report: {path}")


def _print_energy(found: dict[str, Any]) -> None:
    """Balances by name, side by side."""
    told = [f"{name}{': ' if name else ''}{b.title}" for name, b in found.items()]
    heads = [word for name in found for word in (f"{name} kJ".strip(), "share")]
    table = Table("energy", *heads, title="; ".join(told), title_justify="left", box=None)

    def row(name: str, of: Any) -> None:
        cells: list[str] = []
        for b in found.values():
            joules, into = of(b), sum(b.sources.values())
            cells += [cell(joules * 1e-3), f"{joules / into:.3%}" if into else ""] if joules is not None else ["", ""]
        table.add_row(name, *cells)

    for of in ("sources", "losses"):
        for name in dict.fromkeys(name for b in found.values() for name in getattr(b, of)):
            row(name, lambda b, name=name, of=of: getattr(b, of).get(name))
    row("stored", lambda b: b.stored)
    row("not accounted for", lambda b: b.residual * sum(b.sources.values()))
    console.print_whole(table)


def _print_signals(title: str, signals: dict[str, Any]) -> None:
    table = Table("signal", "unit", "final", "min", "max", "rms", title=escape(title), title_justify="left", box=None)
    for name, signal in signals.items():
        table.add_row(name, signal["unit"], *(cell(signal[k]) for k in ("final", "min", "max", "rms")))
    console.print_whole(table)
