"""``rtcvt sweep``."""

import sys
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.table import Table

from rtcvt.cli import console
from rtcvt.cli.console import Json, Model, ScenarioName, Scheduler, Substeps, UnitName, command, opt
from rtcvt.errors import InputError
from rtcvt.kind import cell, load_unit

MOST_ROWS = 20  # of the table


@command
def sweep(
    unit: UnitName,
    settings: list[str] = opt("--set", default=..., metavar="KEY=VALUES"),
    output: Path = opt("-o", "--output", default=Path("sweep.nc"), metavar="FILE"),
    method: Literal["grid", "latin", "sobol", "halton"] | None = opt(),
    samples: int | None = opt(min=1),
    sensitivity: Literal["morris", "sobol"] | None = opt(),
    seed: int = opt(default=0, min=0),
    signal: list[str] | None = opt(metavar="NAME"),
    rate: str | None = opt(),
    model: Model = None,
    scenario: ScenarioName = None,
    step: str | None = opt(),
    substeps: Substeps = None,
    threads: int | None = opt(min=1, max=1024),
    scheduler: Scheduler = None,
    figures: Json = None,
) -> None:
    """Simulate a unit at many values of its parameters and inputs, on all processors.

    The file grows while the sweep runs: after Ctrl-C the same command continues. It has each output over the parameters
    (or the points of a sample), with final, min, max, mean and rms of each run, or over time with --rate. xarray reads
    it, as other tools for netCDF do. Failed points are listed at the end (exit code 1).

      rtcvt sweep toroidal_kers --set gear.d.J=0.05:0.2:7 --set control.K_theta="0.5, 1, 2" --signal "storage.*"

      rtcvt sweep car_cvt -s "first hill" --set vehicle.vehicle.m="1200 kg:1800 kg" --method sobol --samples 64

      rtcvt sweep toroidal_kers --set gear.d.J=0.02:0.03 --set gear.a.J=0.6:0.8 --sensitivity sobol --samples 64

    [bold]JSON keys:[/] unit, model, scenario, points, failures (by point, values and reason), signals: by name unit
    and, for each of the statistics, least and greatest value over all points with the values where they are;
    with --sensitivity measures: by name a number for each parameter.

    Options
    -------
    settings : Values of a parameter or an input: "1, 2, 5", or a range first:last:number, also with units and ":log";
        for a sample low:high. Repeatable.
    output : netCDF-4 file.
    method : How points are drawn; default: a grid of all values.
    samples : Number of points that are drawn.
    sensitivity : What results depend on; runs: samples times parameters + 1 or 2.
    seed : Of the points that are drawn.
    signal : Outputs that are kept, e.g. "cvt.*"; default: all.
    rate : Interval of values that are kept; default: statistics of each run.
    step : Communication step, e.g. "1 ms".
    threads : Default: one for each processor.
    """
    from rtcvt.recording import require_ending, require_writable
    from rtcvt.scenario import chosen_scenario
    from rtcvt.sweeping import Recipe, Sweep, chosen_signals, design

    loaded = load_unit(unit)
    recipe = Recipe(loaded, model, substeps)
    built = loaded.build(recipe.fidelity, substeps)  # type: ignore[arg-type]
    h = built.step_size if step is None else console.seconds("--step", step)
    every = 0 if rate is None else max(1, round(console.seconds("--rate", rate) / h))
    for option, value in (("--method", method), ("--rate", rate)):
        if sensitivity and value is not None:
            raise InputError(option, "", str(value), "nothing with --sensitivity, which draws its own points")
    drawn = "saltelli" if sensitivity == "sobol" else sensitivity or method or "grid"
    points = design(built, console.assignments(settings), drawn, samples, seed)
    swept = Sweep(built, chosen_scenario(loaded, scenario), points, chosen_signals(built, signal or ()), h, every)
    require_ending(output, (".nc",))
    require_writable(output, figures)
    began = time.perf_counter()
    try:
        with console.progress_bar() as bar:
            made = swept.run(output, threads, bar, scheduler, recipe)
    except KeyboardInterrupt:
        console.notes.print(f"interrupted; the same command continues with {output}", markup=False)
        sys.exit(130)
    took = time.perf_counter() - began
    extremes = _extremes(swept)
    measures = swept.sensitivity() if sensitivity and not swept.failures else {}
    for name, found in measures.items():
        extremes[name]["measures"] = found
    failed = {str(k): {"values": points.point(k), "reason": text} for k, text in sorted(swept.failures.items())}
    console.write_figures(figures, {"unit": built.name, "model": built.fidelity, "scenario": swept.scenario.name,
                            "points": points.points, "failures": failed, "signals": extremes})  # fmt: skip
    _print(swept, extremes)
    if sensitivity:
        from rtcvt.sweeping import SENSITIVITIES

        keys = SENSITIVITIES[drawn][1:]
        table = Table("signal", "depends on", *keys, box=None)
        for name, found in list(measures.items())[:MOST_ROWS]:
            for j, axis in enumerate(points.axes):
                table.add_row("" if j else name, axis.variable.name, *(cell(found[key][j]) for key in keys))
        console.print_whole(table)
    rate_made = made * swept.steps / took * 1e-6
    if made < points.points:
        console.out.print(f"{points.points - made} points were in {output}")
    console.out.print(f"{made} runs of {swept.steps} steps in {took:.1f} s: {rate_made:.2f} million steps a second")
    console.say(f"sweep: {output}")
    if failed:
        for k, about in list(failed.items())[:MOST_ROWS]:
            console.notes.print(f"point {k}, {about['values']}: {about['reason']}", markup=False, soft_wrap=True)
        console.notes.print(f"{len(failed)} of {points.points} points failed")
        sys.exit(1)


def _extremes(swept: Any) -> dict[str, dict[str, Any]]:
    """Least and greatest value of each statistic, and where."""
    from rtcvt.sweeping import STATISTICS

    found: dict[str, dict[str, Any]] = {}
    for k, v in enumerate(swept.signals):
        about: dict[str, Any] = {"unit": v.unit}
        for j, name in enumerate(STATISTICS if not swept.every else ()):
            values = swept.values[:, k, j]
            if np.isfinite(values).any():
                low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
                about[name] = {"least": float(values[low]), "at": swept.design.point(low),
                               "greatest": float(values[high]), "greatest_at": swept.design.point(high)}  # fmt: skip
        found[v.name] = about
    return found


def _print(swept: Any, extremes: dict[str, dict[str, Any]]) -> None:
    """Final values over all points: least and greatest."""
    title = f"{swept.model.name}, {swept.model.fidelity} model: {swept.scenario.name}, {swept.design.points} points"
    if swept.every:
        console.out.print(title)
        return
    table = Table(
        "signal", "unit", "least at the end", "with", "greatest", "with", title=title, title_justify="left", box=None
    )

    def at(values: dict[str, float]) -> str:
        return ", ".join(f"{name} = {cell(value)}" for name, value in values.items())

    for name, about in list(extremes.items())[:MOST_ROWS]:
        final = about.get("final")
        if isinstance(final, dict):
            table.add_row(
                name, str(about["unit"]), cell(final["least"]), at(final["at"]), cell(final["greatest"]),
                at(final["greatest_at"]),
            )  # fmt: skip
    console.print_whole(table)
