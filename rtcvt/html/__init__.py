"""Pages in HTML: functions for numbers and tables, templates (jinja2) for the rest.

A page inside an FMU fills the blocks of ``unit.html``, a report those of ``page.html``; both are read as
``PACKAGE:FILE``. Everything is plain HTML that is also well-formed XML, without anything to load; only reports with
charts have scripts.
The functions return HTML: texts are escaped, cells of a table are not.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from html import escape
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.limits import ErrorRow as ErrorRow  # kinds import it from here
from rtcvt.look import COLOURS as COLOURS
from rtcvt.look import css
from rtcvt.model import Model, Variable
from rtcvt.quantity import to_si
from rtcvt.recording import revision

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# --- templates --------------------------------------------------------------------------------------------------------


def _printed(value: Any) -> Any:
    """Values in a template: HTML is unchanged; characters that XML does not allow are removed from other texts."""
    return value if isinstance(value, Markup) else _NOT_XML.sub("\ufffd", str(value))


def _source(name: str) -> str:
    package, _, file = name.partition(":")
    return (resources.files(package) / file).read_text(encoding="utf-8")


def _ready(piece: Callable[..., str]) -> Callable[..., Markup]:
    """A piece as templates call it: its HTML is not escaped again."""

    @wraps(piece)
    def call(*values: Any, **named: Any) -> Markup:
        return Markup(piece(*values, **named))

    return call


@cache
def _templates() -> Environment:
    found = Environment(
        autoescape=True, finalize=_printed, loader=FunctionLoader(_source), lstrip_blocks=True, trim_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    pieces = (block, error_table, figure, matrix, number, percent, prose, quantity, table, unit_symbol, variable_tables)
    found.globals |= {piece.__name__: _ready(piece) for piece in pieces}
    found.globals |= {"css": _ready(css), "revision": revision, "source": _ready(_source), "version": __version__}
    return found


def render(template: str, **values: Any) -> str:
    """A template, ``"PACKAGE:FILE"``, filled in."""
    return _templates().get_template(template).render(**values)


def macro(template: str, name: str) -> Callable[..., str]:
    """A macro of a template as a function."""

    def call(*values: Any, **named: Any) -> str:
        return str(getattr(_templates().get_template(template).module, name)(*values, **named))

    return call


def page(title: str, body: str, style: str = "") -> str:
    """A complete page around `body`, which is ready HTML; with scripts if it has data of charts."""
    charts = 'class="chart"' in body
    return render("rtcvt.html:page.html", title=title, body=Markup(body), style=Markup(style), charts=charts)


def unit_page(model: Model, unit: Any, errors: Sequence[ErrorRow] | None = None) -> str:
    """The page inside an FMU: how to use the unit, its variables, accuracy and unit file."""
    return render("rtcvt.html:unit.html", model=model, unit=unit, errors=errors)


# --- pieces -----------------------------------------------------------------------------------------------------------


def text(value: object) -> str:
    """Any text, escaped for XML and HTML; characters that XML does not allow are replaced."""
    return escape(_NOT_XML.sub("\ufffd", str(value)))


def number(value: float | None, digits: int = 4) -> str:
    """A number as engineers write it: plain where that is short, else with a power of ten."""
    if value is None:
        return ""
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        plain = f"{value:.{digits}g}"
        if "e" in plain:
            plain = f"{value:.0f}"
        return plain.replace("-", "−")
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if not exponent:  # Inf, NaN
        return mantissa
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    return f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def percent(value: float) -> str:
    """A share in percent with three digits, down to a thousandth of a percent."""
    return "&lt; 0.001 %" if 0.0 <= value < 1e-5 else f"{number(100.0 * value, 3)} %"


def unit_symbol(unit: str) -> str:
    """A unit with products and powers as they are printed; a dash if dimensionless."""
    if unit in ("", "1"):
        return "–"
    return text(re.sub(r"(?<=[a-z])\^?(\d)", lambda m: m[1].translate(_SUPERSCRIPTS), unit).replace(".", "·"))


def quantity(value: float | None, unit: str, shown: str | None = None, digits: int = 4) -> str:
    """A value with its unit, in unit `shown` if that is given; nothing for None."""
    if value is None:
        return ""
    if shown and shown != unit:
        value, unit = value / _factor(shown, unit), shown
    return number(value, digits) + ("" if unit in ("", "1") else f" {unit_symbol(unit)}")


@cache
def _factor(shown: str, unit: str) -> float:
    return to_si(f"1 {shown}", unit)


def prose(docstring: str) -> str:
    """A docstring as HTML: paragraphs with their code and headings, indented blocks as they are."""
    parts = []
    for block in inspect.cleandoc(docstring).split("\n\n"):
        if block.startswith("    "):
            parts.append(f"<pre>{text(textwrap.dedent(block))}</pre>\n")
            continue
        words = text(" ".join(block.split()).removesuffix("::"))
        words = re.sub(r"`{1,2}([^`]+)`{1,2}", r"<code>\1</code>", words)
        words = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", words)
        parts.append(f"<p>{words}{':' if block.endswith('::') else ''}</p>\n")
    return "".join(parts)


def figure(picture: str, caption: str) -> str:
    """An inline picture with a caption (HTML)."""
    picture = picture if 'class="picture"' in picture else f'<div class="picture">{picture}</div>'
    return f"<figure>\n{picture}\n<figcaption>{caption}</figcaption>\n</figure>\n"


_TABLE, _MATRIX, _BLOCK = (macro("rtcvt.html:pieces.html", name) for name in ("table", "matrix", "block"))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of ready HTML cells.

    Parameters
    ----------
    head : sequence of str
        Headings; without any text there is no heading.
    rows : iterable of sequence of str
        Cells; a row of one cell is the heading of a group. Columns without any content are left out.
    numbers : sequence of int
        Columns that are set flush right.
    """
    lines = list(rows)
    shown = [i for i in range(len(head)) if any(len(row) > 1 and row[i] for row in lines)] or list(range(len(head)))
    return _TABLE(head, lines, shown, numbers)


def matrix(values: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str], factor: float = 1.0) -> str:
    """A matrix of numbers, times `factor`, with its rows' and columns' names (HTML); zeros are dimmed."""
    return _MATRIX([[number(factor * v) for v in line] for line in values], rows, columns)


def block(cells: Sequence[Sequence[str]]) -> str:
    """A matrix of ready HTML cells in square brackets, for use in an equation."""
    return _BLOCK(cells)


def share_bar(share: float, good: bool) -> str:
    """A bar for a share of what is allowed, which a mark shows (HTML); where it is too short, also a factor."""
    drawn = min(max(share, 0.0), 1.25) if share == share else 1.25
    told = f' <span class="bad">{number(share, 2)} ×</span>' if share > drawn else ""
    return f'<span class="bar{"" if good else " bad"}"><i style="width:{80.0 * drawn:.1f}%"></i><b></b></span>{told}'


def error_table(rows: Sequence[ErrorRow], what: str = "RMS error") -> str:
    """Table of errors with their share of the allowed error, by scenario if there are several; `what` is their
    heading."""
    lines: list[Sequence[str]] = []
    several = len({r.scenario for r in rows}) > 1
    before = None
    for row in rows:
        if several and row.scenario != before:
            lines.append((text(row.scenario),))
            before = row.scenario
        good = row.holds
        lines.append((
            f"<code>{text(row.name)}</code>",
            percent(row.value) if good else f'<span class="bad">{percent(row.value)}</span>',
            share_bar(row.share, bool(good)),
            percent(row.limit),
            quantity(row.peak, row.unit, digits=3),
        ))  # fmt: skip
    head = ("signal", what, "share of the allowed error", "allowed", "largest error")
    return table(head, lines, (1, 3, 4))


def variable_tables(model: Model) -> str:
    """All variables by causality, inputs that a network brings apart."""
    parts, carried = [], model.bus.inputs if model.bus else ()
    groups = [(f"{kind.capitalize()}s", [v for v in model.select(kind) if v.name not in carried])
              for kind in ("input", "output", "parameter")]  # fmt: skip
    if carried:
        groups.insert(
            1, (f"Inputs from the network {text(model.bus.name)}", [model.variable(n) for n in sorted(carried)])
        )
    for title, chosen in groups:
        if not chosen:
            continue
        head = ("name", "unit", "start", "min", "max", "description")
        rows = [_variable_row(v, model) for v in chosen]
        parts.append(f"<h3>{title}</h3>\n{table(head, rows, (2, 3, 4))}")
    return "".join(parts)


def _variable_row(v: Variable, model: Model) -> Sequence[str]:
    start = v.start if v.causality != "parameter" else float(model.p[v.index])

    def cell(value: float | None) -> str:
        if value is None:
            return ""
        shown = f' <span class="muted">({quantity(value, v.unit, v.display_unit)})</span>' if v.display_unit else ""
        return number(value) + (shown if value else "")

    about = v.description if v.books is None else f"{v.description} (energy balance: {v.books.value})"
    unit = "boolean" if v.boolean else " | ".join(v.choices) if v.choices else unit_symbol(v.unit)
    return f"<code>{text(v.name)}</code>", unit, cell(start), cell(v.minimum), cell(v.maximum), text(about)
