"""``rtcvt show``."""

import json
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli import completion
from rtcvt.cli.console import Settings, assignments, for_kinds, given_to, out, show_lines
from rtcvt.kind import Kind, Shown, Task, Unit, cell, kinds, load_unit
from rtcvt.unitfile import read_toml, shipped_units


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


def _task(kind: Kind) -> Task:
    return kind.show or Task(_variables)


@for_kinds(_task)
def show(
    context: typer.Context,
    unit: Annotated[
        str | None,
        typer.Argument(
            metavar="[UNIT]", help="A TOML file, or the name of a shipped unit.", autocompletion=completion.units
        ),
    ] = None,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead, see above.")] = False,
    **own: Any,
) -> None:
    """Print a unit's sets and matrices, its variables or numbers, or list the shipped units."""
    if unit is None:
        table = Table("unit", "kind", "description", box=None)
        for kind in kinds():
            for name, path in shipped_units(*kind.names).items():
                data, _ = read_toml(path)
                table.add_row(name, data["kind"], escape(data["description"]))
        out.print(table)
        return
    loaded = load_unit(unit)
    task = _task(loaded.kind_record)
    given = given_to(task, context, {"settings": assignments(settings), **own}, "as_json")
    shown: Shown = task.run(loaded, given)
    if as_json:
        print(json.dumps(shown.data, indent=2, allow_nan=False))
    else:
        show_lines(shown.lines)
