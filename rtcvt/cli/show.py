"""``rtcvt show``."""

import inspect
import json
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli import completion
from rtcvt.cli.console import Settings, arg, assignments, for_kinds, given_to, opt, out, refuse_others, show_lines
from rtcvt.errors import InputError, near
from rtcvt.kind import Kind, Shown, Task, Unit, cell, kind_of_file, kinds, load_unit, names_of
from rtcvt.unitfile import is_file, read_toml, read_unit_file, shipped_units


def _variables(unit: Unit, given: dict[str, Any]) -> Shown:
    """The variables of a unit."""

    rows = unit.build().variables
    found = {v.name: {k: getattr(v, k) for k in ("causality", "unit", "start", "description")} for v in rows}
    table = Table("name", "causality", "start", "unit", "description", box=None)
    for v in rows:
        start = "" if v.start is None else cell(v.start)
        table.add_row(v.name, v.causality, start, v.unit, escape(v.description))
    article = "an" if unit.kind[0] in "aeiou" else "a"
    title = f"[bold]{unit.name}[/], {article} {unit.kind}"
    title += f": {escape(unit.description)}" if unit.description else ""
    return Shown({"unit": unit.name, "kind": unit.kind, "variables": found}, [title, table])


def _keys(name: str) -> Shown:
    """All that a unit file of a kind may hold; `name` is the kind or a unit of it, which need not be complete."""
    from rtcvt.reference import Key, parameters_of, roots, rows, tables

    known = roots()
    if name not in known:
        if name not in shipped_units() and not is_file(Path(name)):
            raise InputError("--keys", "", name, f"a unit, or one of the kinds{near(name, known)}")
        file = read_unit_file(name)
        kind_of_file(file)
        name = file.kind or ""
    if name not in known:  # one of another distribution
        raise InputError("--keys", "", name, f"a kind of which there are shipped units: {', '.join(known)}")
    record = known[name][1]
    found: dict[str, Any] = {}
    lines: list[Any] = [f'[bold]{name}[/]: keys of its unit files. Bare numbers are SI; a text has its unit: "36 mm".']
    places = tables(record)
    for each, title in places.items():
        plain = [[text.replace("`", "").replace("**", "") for text in key] for key in rows(each, places.__getitem__)]
        found[title] = {key: dict(zip(Key._fields[1:], more, strict=True)) for key, *more in plain}
        table = Table(*Key._fields, box=None)
        for key in plain:
            table.add_row(*map(escape, key))
        about = inspect.cleandoc(each.__doc__ or "").partition("\n\n")[0]
        lines += ["", f"[bold]{title or 'the file itself'}[/]: {escape(about)}", table]
    unit, parameters = parameters_of(name)
    if parameters:
        table = Table("key", "unit", f"of {unit}", "least", "most", "meaning", box=None)
        for name_of_key, v in parameters.items():
            numbers = ("" if x is None else cell(x) for x in (v.start, v.minimum, v.maximum))
            table.add_row(name_of_key, v.unit, *numbers, escape(v.description))
        lines += ["", f"[bold]parameters[/]: of the table of this name, with the values of {unit}", table]
    numbers_of = ("unit", "start", "minimum", "maximum", "description")
    shown = {key: {what: getattr(v, what) for what in numbers_of} for key, v in parameters.items()}
    return Shown({"kind": name, "tables": found, "parameters": shown}, lines)


def _task(kind: Kind) -> Task:
    return kind.show or Task(_variables)


@for_kinds(_task)
def show(
    context: typer.Context,
    unit: str | None = arg(metavar="[UNIT]", autocompletion=completion.units),
    settings: Settings = None,
    keys: bool = opt("--keys", default=False),
    as_json: bool = opt("--json", default=False),
    **own: Any,
) -> None:
    """Print a unit's sets and matrices, its variables or numbers, or list the shipped units or the keys of a kind.

    Options
    -------
    unit : A TOML file, or the name of a shipped unit; with --keys also a kind.
    keys : Print all keys of a kind's files: unit, range, default, meaning.
    as_json : Print JSON instead, see above.
    """
    if unit is None and keys:
        raise InputError("--keys", "", None, f"with a unit or one of the kinds: {names_of(kinds())}")
    if unit is None:
        table = Table("unit", "kind", "description", box=None)
        for kind in kinds():
            for name, path in shipped_units(*kind.names).items():
                data, _ = read_toml(path)
                table.add_row(name, data["kind"], escape(data["description"]))
        out.print(table)
        return
    if keys:
        refuse_others(context, {"keys", "as_json"})
        shown = _keys(unit)
    else:
        loaded = load_unit(unit)
        task = _task(loaded.kind_record)
        shown = task.run(loaded, given_to(task, context, {"settings": assignments(settings), **own}, "as_json"))
    if as_json:
        print(json.dumps(shown.data, indent=2, allow_nan=False))
    else:
        show_lines(shown.lines)
