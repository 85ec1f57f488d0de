"""``rtcvt map``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rtcvt.cli.console import Json, UnitName, for_kinds, given_to, progress_bar, say, show_lines, write_figures
from rtcvt.errors import InputError
from rtcvt.kind import Checked, kind_of_file, kinds, names_of
from rtcvt.unitfile import read_unit_file


@for_kinds(lambda kind: kind.map)
def map(
    context: typer.Context,
    unit: UnitName,
    report: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page.")] = Path("map.html"),
    figures: Json = None,
    **own: Any,
) -> None:
    """Run a unit's real-time model over its speeds and write a page of what it does there."""
    from rtcvt.recording import replaced_on_success, require_writable

    file = read_unit_file(unit)
    kind = kind_of_file(file)
    if kind.map is None:
        raise InputError(unit, "kind", file.kind, f"a kind with a map: {names_of(k for k in kinds() if k.map)}")
    given = given_to(kind.map, context, {"report": report, "figures": figures} | own, "report", "figures")
    loaded = kind.read(file)
    require_writable(report, figures)
    with progress_bar() as bar:
        result: Checked = kind.map.run(loaded, given, bar)
    with replaced_on_success(report) as temporary:
        temporary.write_text(result.page, encoding="utf-8")
    write_figures(figures, result.figures)
    show_lines(result.lines)
    say(f"page: {report}")
