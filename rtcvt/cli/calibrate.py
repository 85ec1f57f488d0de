"""``rtcvt calibrate``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rtcvt.cli import completion, console
from rtcvt.cli.console import Scheduler, UnitName, Workers, for_kinds, opt
from rtcvt.kind import Shown, load_unit


@for_kinds(lambda kind: kind.calibrate)
def calibrate(
    context: typer.Context,
    unit: UnitName,
    plan: Annotated[str, console.plan_option(completion.calibrations)],
    output: Path = opt("-o", "--output", default=..., metavar="DIR"),
    scheduler: Scheduler = None,
    workers: Workers = None,
    **own: Any,
) -> None:
    """Identify unknown parameters of a unit from printed or measured results of its machine.

    An ensemble of units with parameters from their priors gives derivatives, which lead in a few steps to the mean of
    the posterior. Results that the plan holds out are predicted, not fitted.

    DIR gets runs.jsonl, a line for each finished run, calibration.json with all figures, and set.toml, the unit with
    the mean. Ctrl-C or a kill loses the running runs: the same command continues with the missing ones.

    Options
    -------
    output : Folder of the results.
    """
    loaded = load_unit(unit)
    task = loaded.task("calibrate")
    common = {"plan": plan, "output": output, "scheduler": scheduler, "workers": workers}
    given = console.given_to(task, context, common | own, *common)
    with console.progress_bar() as bar:
        result: Shown = task.run(loaded, given, bar)
    console.show_lines(result.lines)
