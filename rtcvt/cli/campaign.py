"""``rtcvt campaign``."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import UnitName, command, notes, number, out, progress_bar, say


@command
def campaign(
    unit: UnitName,
    plan: Annotated[
        str, typer.Option("--plan", "-p", metavar="PLAN", help="A TOML file, or the name of a plan that comes along.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder of the runs.")],
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A dask scheduler, e.g. tcp://host:8786, that runs them elsewhere."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Local processes; default: one for each processor.")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", metavar="FILE.csv", help="Write a short table of all runs to FILE.csv.")
    ] = None,
) -> None:
    """Run the full model of a pushbelt over a plan of operating points and transients.

    It is the first of the two steps to a real-time model of the variator: rtcvt reduce makes one from the files.

    Plans that come along: [bold]small[/], a dozen runs in a few minutes; [bold]pushbelt_24mm[/], the runs behind the
    shipped reduced model, two to three hours on two processors; [bold]heldout[/], runs of another seed that tell how
    good a reduced model is.

    A plan bounds ratio, speed, torque ratio and clamping force, and says how many operating points and transients are
    drawn from them. What the belt cannot do is drawn again. At each operating point the run settles with the ratio
    held, which gives the thrust ratio, slip, losses and all contact forces; then it is let go under several clamping
    forces, which gives the shift rate. Transients are ratio sweeps, torque steps and clamping steps.

    DIR gets an HDF5 file for each run when it has ended, NAME.failed with the reason for each that failed, and
    index.csv with the means of every run. Ctrl-C or a kill loses only the runs that are under way: the same command
    goes on with what is missing, and tries again what failed.

    Exits with code 1 if a run failed or its belt left its place, 130 after Ctrl-C.
    """
    from offline.pushbelt.parameters import load_parameters
    from offline.variator.campaign import INDEX, index, run_campaign, state_of, write_short
    from offline.variator.plan import load_plan
    from rtcvt.recording import require_writable
    from rtcvt.unitfile import find_unit, read_toml

    parameters, text = load_parameters(unit), read_toml(find_unit(unit))[1]
    chosen, plan_text = load_plan(plan)
    require_writable(summary)
    interrupted = False
    try:
        with progress_bar() as bar:
            result = run_campaign(
                parameters, text, chosen, plan_text, output, scheduler=scheduler, workers=workers, progress=bar
            )
    except KeyboardInterrupt:
        interrupted = True
        result = state_of(output, chosen)
    rows = list(index(output))
    if summary is not None:
        write_short(summary, rows)
    left = sorted({row.run for row in rows if row.ended == "belt left its place"})
    steady = [row for row in rows if row.window == "steady" and not row.slipping]
    if steady:
        table = Table(
            "settled, without slipping ones", "least", "largest", title=escape(f"{parameters.name}, {chosen.name}")
        )
        for key, label in (
            ("ratio", "ratio"),
            ("thrust_ratio", "thrust ratio F_I/F_O"),
            ("xi", "torque ratio"),
            ("slip", "speed loss"),
            ("loss", "loss [W]"),
            ("v", "belt speed [m/s]"),
        ):
            values = [row.values[key] for row in steady]
            table.add_row(escape(label), number(min(values)), number(max(values)))
        out.print(table)
    slipping = len({row.run for row in rows if row.slipping})
    where = output / INDEX
    say(f"{len(result.done)} runs, {slipping} of them with macroscopic slip: {where if where.exists() else output}")
    for name, reason in result.failed.items():
        notes.print(f"[red]failed:[/] {escape(name)}: {escape(reason)}")
    for name in left:
        notes.print(f"[red]failed:[/] {escape(name)}: the belt left its place in a branch")
    if interrupted:
        notes.print(f"interrupted, {len(result.missing)} runs are missing; the same command goes on")
        sys.exit(130)
    if result.failed or result.missing or left:
        raise typer.Exit(1)
