"""What all commands share: the application, its consoles, options, and how text becomes numbers."""

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from rtcvt.errors import InputError

if TYPE_CHECKING:
    from rtcvt.build import AnyUnit
    from rtcvt.unitfile import Scenario

EXTRAS = {
    "matplotlib": "offline",
    "scipy": "offline",
    "distributed": "offline",
    "fmpy": "hil",
    "asammdf": "hil",
    "can": "hil",
    "cantools": "hil",
    "ziglang": "native",
}  # packages that the core does without


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="""Real-time models of gear systems, belt drives and variators.

    A [bold]unit[/] is a machine described in a TOML file, or one of those that come with rtcvt. \
From it rtcvt makes a full model and reduced ones (rigid, or hybrid where a belt creeps), simulates them, exports the \
reduced ones as FMI 2.0 units with their controllers, runs units against the clock and reports how far they are from \
the full model.

    [bold]A first round:[/]

      rtcvt show                        the units that come with rtcvt
      rtcvt show toroidal_kers          sets, radii matrix and reduced matrices
      rtcvt check toroidal_kers         full against rigid model: report.html
      rtcvt export toroidal_kers        toroidal_kers.fmu, for any FMI 2.0 tool
      rtcvt run toroidal_kers.fmu --duration 10    in real time, at a fixed step

    [bold]Belts:[/]

      rtcvt check accessory_5pk         a belt drive: full against hybrid model
      rtcvt simulate pushbelt_cvt       a pushbelt variator in real time
      rtcvt campaign --help             how such a reduced model is made

    Quantities take units, also on the command line: --set geometry.r_c="30 mm" --step "0.5 ms".
    """,
)


out = Console()


notes = Console(stderr=True)


class Fidelity(StrEnum):
    """Which model of the unit."""

    rigid = "rigid"
    full = "full"
    hybrid = "hybrid"


UnitName = Annotated[str, typer.Argument(metavar="UNIT", help="A TOML file, or the name of a shipped unit.")]


Model = Annotated[
    Fidelity | None,
    typer.Option(
        "--model",
        "-m",
        help="Gear systems: rigid (default) or full (elastic); belt drives and variators: hybrid (default) or rigid.",
    ),
]


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help='A parameter, e.g. geometry.r_c="30 mm" or gear.a.J=0.2. Repeatable.'
    ),
]


Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to FILE, see above.")]


ScenarioName = Annotated[
    str | None,
    typer.Option("--scenario", "-s", metavar="NAME|FILE", help="A scenario of the unit by name, or a scenario file."),
]


Substeps = Annotated[
    int | None, typer.Option(min=1, max=10000, help="Internal steps per unit step; default: the unit's.")
]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a command whose help is its docstring, paragraph by paragraph."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(p.split()) for p in paragraphs)
    text = text.replace("[", r"\[").replace(r"\[bold]", "[bold]").replace(r"\[/]", "[/]")  # units are no markup
    return app.command(help=text)(function)


def fail(message: str, code: int) -> NoReturn:
    notes.print("[red]error:[/] ", end="")
    notes.print(message, markup=False, highlight=False, emoji=False, soft_wrap=True)
    sys.exit(code)


def say(text: str) -> None:
    """Print a line as it is."""
    out.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)


def number(value: float) -> str:
    return "0" if value == 0 else f"{value:.5g}"


def assignments(pairs: list[str] | None, option: str = "--set") -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    for pair in pairs or []:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InputError(option, "", pair, "KEY=VALUE")
        values[key.strip()] = value.strip()
    return values


def metres(option: str, text: str | None) -> float | None:
    from rtcvt.quantity import to_si

    if text is None:
        return None
    try:
        return to_si(text, "m")
    except ValueError as error:
        raise InputError(option, "", text, str(error)) from None


def seconds(option: str, text: str) -> float:
    from rtcvt.quantity import to_si

    try:
        value = to_si(text, "s")
    except ValueError as error:
        raise InputError(option, "", text, str(error)) from None
    if value <= 0.0:
        raise InputError(option, "", text, "a time above 0 s")
    return value


def chosen_scenario(unit: "AnyUnit", name: str | None) -> "Scenario":
    from rtcvt.unitfile import get_scenario, load_scenario

    if name is None:
        if not unit.scenario:
            raise InputError(unit.source, "scenario", None, "this unit has no scenario; give a file with --scenario")
        return unit.scenario[0]
    return load_scenario(name) if name.endswith(".toml") else get_scenario(unit, name)


def kind_of(unit: str) -> str | None:
    """What the unit file says of its kind."""
    from rtcvt.unitfile import find_unit, read_toml

    kind = read_toml(find_unit(unit))[0].get("kind")
    return kind if isinstance(kind, str) else None


def refuse_given(context: typer.Context, *names: str) -> None:
    """Refuse options that this kind of unit does not take."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
            value = context.params[name]
            shown = value.value if isinstance(value, StrEnum) else value
            raise InputError(option, "", shown, f"not with {context.params['unit']}: see --help")


def write_figures(path: Path | None, figures: dict[str, Any]) -> None:
    from rtcvt.recording import replaced_on_success

    if path is not None:
        with replaced_on_success(path) as temporary:
            temporary.write_text(json.dumps(figures, indent=2, default=_plain) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not for JSON: {value!r}")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for long work, on standard error, that leaves nothing behind."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task("")
        yield lambda text, done, total: progress.update(task, description=text, completed=done, total=total)
