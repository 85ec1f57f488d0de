"""Common to all commands: the application, its consoles and options, and the conversion of text to numbers.

Kinds of units declare options and help of their own (`rtcvt.kind.Task`); a command `for_kinds` has the options of all
kinds, and accepts those of the unit's kind.
"""

import inspect
import json
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from typer.core import TyperCommand

from rtcvt.cli import completion
from rtcvt.environment import docstring
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import command_files
from rtcvt.kind import Checked, Kind, Option, Task, kinds, load_unit

_PACKAGES = {  # that the core does without, by the extra that brings them
    "offline": "matplotlib scipy skfem cryptography distributed",
    "hil": "fmpy asammdf can cantools",
    "native": "ziglang",
}
EXTRAS = {package: extra for extra, names in _PACKAGES.items() for package in names.split()}


app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich")


out = Console()


notes = Console(stderr=True)
WRITTEN = frozenset({"--output", "--json", "--report", "--save-dbc", "--summary"})  # options that name outputs
PROGRESS_INTERVAL = 30.0  # s between lines of progress where there is no terminal


UnitName = Annotated[
    str,
    typer.Argument(metavar="UNIT", help="A TOML file, or the name of a shipped unit.", autocompletion=completion.units),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A dask scheduler, e.g. tls://host:8786, for the runs. It executes code from anyone who "
        "reaches it, unless it has certificates: dask's configuration distributed.comm.tls.",
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, max=1024, help="Local processes; default: one for each processor.")]


def plan_option(completed: Callable[[str], Iterable[str]]) -> Any:
    """The option ``--plan``, which completes names of plans."""
    return typer.Option(
        "--plan", "-p", metavar="PLAN", help="A TOML file, or the name of a shipped plan.",
        autocompletion=completed,
    )  # fmt: skip


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _models() -> str:
    """Which models there are, by kind."""
    titles: dict[str, list[str]] = {}
    for kind in kinds():
        named = [name + (f" ({word})" if word else "") for name, word in kind.fidelities.items()]
        if len(named) > 1:
            named[0] += " (default)"
            titles.setdefault(" or ".join(named), []).append(kind.title)
    text = "; ".join(f"{_listed(who)}: {models}" for models, who in titles.items())
    text += "; pushbelts: full (default) or theory"
    return f"{text[0].upper()}{text[1:]}."


Fidelity = Literal["rigid", "full", "moving", "hybrid", "system", "theory"]
Model = Annotated[Fidelity | None, typer.Option("--model", "-m", help=_models())]


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help='A parameter, e.g. geometry.r_c="30 mm" or gear.a.J=0.2. Repeatable.',
        autocompletion=completion.parameters,
    ),
]


Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to FILE, see above.")]


ScenarioName = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        "-s",
        metavar="NAME|FILE",
        help="A scenario of the unit by name, or a scenario file.",
        autocompletion=completion.scenarios,
    ),
]


Substeps = Annotated[
    int | None, typer.Option(min=1, max=10000, help="Internal steps per unit step; default: the unit's.")
]


def opt(*flags: str, default: Any = None, **more: Any) -> Any:
    """The default of a parameter that is an option of a command, see `typer.Option`."""
    return typer.Option(default, *flags, **more)


def arg(default: Any = None, **more: Any) -> Any:
    """The default of a parameter that is an argument of a command, see `typer.Argument`."""
    return typer.Argument(default, **more)


def command(function: Callable[..., None], more: Iterable[str] = ()) -> Callable[..., None]:
    """Register a command; its help is its docstring and the paragraphs `more`.

    The help of an option is in the section "Options" of the docstring, unless commands share it.
    """
    about, _, options = inspect.cleandoc(docstring(function)).partition("\n\nOptions\n-------\n")
    parameters = inspect.signature(function).parameters
    for name, told in re.findall(r"^(\w+) : (.+(?:\n .+)*)", options, re.MULTILINE):
        parameters[name].default.help = _help(told)
    return app.command(help="\n\n".join(map(_help, "\n\n".join([about, *more]).split("\n\n"))), cls=_Command)(function)


def _help(text: str) -> str:
    """A paragraph in one line; units in brackets are no markup."""
    return " ".join(text.split()).replace("[", r"\[").replace(r"\[bold]", "[bold]").replace(r"\[/]", "[/]")


class _Command(TyperCommand):
    """A command that does not overwrite the files that it reads."""

    def invoke(self, context: Any) -> Any:
        """Run it, with its files on the list of `rtcvt.files`."""
        files: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
        for option in self.params:
            given = context.params.get(option.name or "")
            names = [str(v) for v in (given if isinstance(given, list) else [given]) if isinstance(v, str | Path)]
            files[not WRITTEN.isdisjoint(option.opts)] += [(name, option.opts[0]) for name in names]
        with command_files(files[False], files[True]):
            return super().invoke(context)


def for_kinds(task_of: Callable[[Kind], Task | None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command with the options and the help that kinds declare for it; the function gets these options by
    name."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        tasks = {kind: task for kind in kinds() if (task := task_of(kind)) is not None}
        takers: dict[str, list[str]] = {}
        options: dict[str, Option] = {}
        for kind, task in tasks.items():
            for option in task.options:
                if options.setdefault(option.name, option) != option:
                    raise ValueError(f"two kinds declare different options '{option.name}'")
                takers.setdefault(option.name, []).append(kind.title)
        signature = inspect.signature(function)
        common = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        own = [_parameter(option, f"Options of {_listed(takers[name])}") for name, option in options.items()]
        own.sort(key=lambda p: len(takers[p.name]))
        function.__signature__ = signature.replace(parameters=common + own)  # type: ignore[attr-defined]
        return command(function, (task.help for task in tasks.values() if task.help))

    return register


def _parameter(option: Option, panel: str) -> inspect.Parameter:
    """An option of a kind as a parameter that typer reads."""
    about = typer.Option(help=option.help, metavar=option.metavar, min=option.minimum, rich_help_panel=panel)
    declared = f"--{option.name.replace('_', '-')}"
    about.param_decls = (declared,)
    kept: Any = list[str] if option.pairs else option.type
    annotation = Annotated[kept if option.default is not None else kept | None, about]  # type: ignore[valid-type]
    place = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, place, default=option.default, annotation=annotation)


def given_to(task: Task, context: typer.Context, values: Mapping[str, Any], *always: str) -> dict[str, Any]:
    """Options of a task among `values`, in SI units, and those that it `always` gets; no other must be given.

    Raises
    ------
    InputError
        Another option is on the command line, or a value is not a quantity.
    """
    refuse_others(context, {*always, *task.takes, *(option.name for option in task.options)})
    given = {name: values[name] for name in (*always, *task.takes) if name in values}
    for option in task.options:
        value = values[option.name]
        if option.pairs:
            value = assignments(value, _flag(option.name))
        elif option.unit and value is not None:
            value = in_unit(_flag(option.name), value, option.unit)
        given[option.name] = value
    return given


def refuse_others(context: typer.Context, taken: Collection[str]) -> None:
    """Refuse options on the command line that this kind of unit does not have, other than those in `taken`."""
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        if name not in taken and name != "unit" and source is not None and source.name == "COMMANDLINE":
            raise InputError(_flag(name), "", value, f"not with {context.params['unit']}: see --help")


def _flag(name: str) -> str:
    return {"settings": "--set", "figures": "--json", "report": "--output"}.get(name, f"--{name.replace('_', '-')}")


def fail(message: str, code: int) -> NoReturn:
    """Print an error and exit with this code."""
    notes.print("[red]error:[/] ", end="")
    notes.print(message, markup=False, highlight=False, emoji=False, soft_wrap=True)
    sys.exit(code)


def say(text: str) -> None:
    """Print a line as it is."""
    out.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)


def say_limits(limits: Mapping[str, float], saturated: float = 0.0) -> None:
    """Print the share of a run's steps with an active limit, and the outputs that report it; nothing without limits."""
    which = ", ".join(f"{name} {share:.1%}" for name, share in limits.items())
    if saturated > 0.0:
        say(f"a limit was active in {saturated:.1%} of the steps{which and f': {which}'}")
    elif which:
        say(f"limits were active, by share of the steps: {which}")


def print_whole(table: Table) -> None:
    """Print a table without cutting anything off: lines wrap where the terminal is too narrow."""
    measured = Measurement.get(out, out.options.update(width=1000), table)
    wide = Console(file=out.file, width=max(measured.maximum, out.width), highlight=False, soft_wrap=True)
    wide.print(table)


def assignments(pairs: list[str] | None, option: str = "--set") -> dict[str, float | str]:
    """Texts ``KEY=VALUE`` of an option as a dictionary; `InputError` if one has another form."""
    values: dict[str, float | str] = {}
    for pair in pairs or []:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InputError(option, "", pair, "KEY=VALUE")
        if key.strip() in values:
            raise InputError(option, "", pair, f"each key once; {key.strip()} is also {values[key.strip()]!r}")
        values[key.strip()] = value.strip()
    return values


def in_unit(option: str, text: str, unit: str) -> float:
    """A quantity [SI]; a time is above zero."""
    from rtcvt.quantity import to_si

    with AsInputError(ValueError, option, "", text, str):
        value = to_si(text, unit)
    if unit == "s" and value <= 0.0:
        raise InputError(option, "", text, "a time above 0 s")
    return value


def seconds(option: str, text: str) -> float:
    """A time above zero [s]."""
    return in_unit(option, text, "s")


def write_page(unit: str, command: str, context: typer.Context, values: Mapping[str, Any]) -> Checked:
    """Run a kind's task that makes a page; write the page and its figures, and print its lines.

    `values` are the command's options by name, with `report` and `figures`.
    """
    from rtcvt.recording import require_page, require_writable, write_text

    loaded = load_unit(unit)
    task = loaded.task(command)
    given = given_to(task, context, values, "report", "figures")
    require_page(values["report"], values["figures"])
    require_writable(values["report"], values["figures"])
    try:
        with progress_bar() as bar:
            made: Checked = task.run(loaded, given, bar)
    except ArithmeticError as error:
        fail(str(error), 1)
    write_text(values["report"], made.page)
    write_figures(values["figures"], made.figures)
    show_lines(made.lines)
    return made


def show_lines(lines: Iterable[Any]) -> None:
    """Print text with markup, and whole tables."""
    for line in lines:
        if isinstance(line, Table):
            print_whole(line)
        else:
            out.print(line, highlight=False)


def end_with(failures: Collection[str], verdict: str = "failed") -> None:
    """Print failures, if there are any, and exit with 1."""
    for failure in failures:
        notes.print(f"[red]{verdict}:[/] {escape(failure)}")
    if failures:
        raise typer.Exit(1)


def write_figures(path: Path | None, figures: dict[str, Any]) -> None:
    """Write figures as JSON, if there is a path; numbers of numpy become plain ones."""
    from rtcvt.recording import write_text

    if path is not None:
        write_text(path, json.dumps(figures, indent=2, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not for JSON: {value!r}")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Progress of long work, on standard error: a bar that is removed at the end; in a file a line at intervals."""
    if not notes.is_terminal:
        yield _in_lines(time.monotonic)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task("")
        yield lambda text, done, total: progress.update(task, description=text, completed=done, total=total)


def _in_lines(clock: Callable[[], float]) -> Callable[[str, int, int], None]:
    said = clock()

    def tell(text: str, done: int, total: int) -> None:
        nonlocal said
        if clock() - said >= PROGRESS_INTERVAL:
            said = clock()
            notes.print(f"{text}, {100 * done // max(total, 1)} %", markup=False, highlight=False, soft_wrap=True)

    return tell
