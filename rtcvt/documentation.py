"""Documentation of a unit's model as one self-contained HTML page, and the pieces it is made of.

The page goes into the FMU; the report of the check (`offline.report`) is set from the same pieces. Everything is plain
HTML that is also well-formed XML, without scripts and without anything to load.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.diagram import gear_colours, unit_diagram
from rtcvt.diagram import xml_text as text
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.pog.system import matrices
from rtcvt.quantity import to_si
from rtcvt.recording import revision
from rtcvt.unitfile import Unit

__all__ = [
    "ErrorRow",
    "documentation_page",
    "equations",
    "error_table",
    "figure",
    "machine",
    "matrix",
    "number",
    "page",
    "percent",
    "prose",
    "quantity",
    "schematic",
    "sets",
    "system_matrices",
    "table",
    "text",
    "unit_symbol",
]

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1f2933; font: 15px/1.55 "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 32px 64px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 21px; margin: 52px 0 12px; padding-top: 14px; border-top: 1px solid #cbd2d9; }
h3 { font-size: 16px; margin: 30px 0 8px; }
p, li { max-width: 78ch; }
p { margin: 8px 0; }
p.lead { font-size: 17px; color: #3e4c59; margin-bottom: 18px; }
code { font: 13px/1.4 Consolas, "DejaVu Sans Mono", Menlo, monospace; }
pre { background: #f5f7fa; border: 1px solid #e4e7eb; padding: 14px 16px; overflow-x: auto; }
a { color: #1d4ed8; text-decoration: none; }
nav { color: #9aa5b1; margin: 18px 0 0; }
nav a { margin-right: 18px; white-space: nowrap; }
figure { margin: 16px 0; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { color: #52606d; font-size: 13.5px; max-width: 90ch; margin-top: 6px; }
table.data { border-collapse: collapse; margin: 4px 0 12px; font-size: 14px; }
table.data th { text-align: left; font-weight: 600; color: #52606d; border-bottom: 1.5px solid #7b8794;
  padding: 4px 14px 4px 0; white-space: nowrap; vertical-align: bottom; }
table.data td { border-bottom: 1px solid #e4e7eb; padding: 4px 14px 4px 0; vertical-align: top; }
table.data .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.data tr.group td { padding-top: 16px; font-weight: 600; }
.wide { overflow-x: auto; }
.muted { color: #7b8794; }
.chip { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 7px; }
.bar { display: inline-block; position: relative; width: 150px; height: 10px; background: #e4e7eb; border-radius: 2px; }
.bar i { position: absolute; left: 0; top: 0; bottom: 0; border-radius: 2px; background: #2f855a; min-width: 1px; }
.bar.bad i { background: #c81e1e; }
.bar b { position: absolute; left: 80%; top: -3px; bottom: -3px; width: 1.5px; background: #1f2933; }
.good { color: #276749; font-weight: 600; }
.bad { color: #c81e1e; font-weight: 600; }
.equation { display: flex; align-items: center; justify-content: space-between; max-width: 780px;
  margin: 12px 0 12px 20px; font: 17px/1.5 Cambria, "STIX Two Text", "Times New Roman", "DejaVu Serif", serif; }
.equation var, .math var { font-style: italic; }
.equation .tag { color: #7b8794; padding-left: 24px; }
.math { font-family: Cambria, "STIX Two Text", "Times New Roman", "DejaVu Serif", serif; }
sub, sup { line-height: 0; font-size: 72%; }
table.matrix { display: inline-table; vertical-align: middle; border-collapse: collapse; margin: 0 4px; }
table.matrix td { padding: 1px 10px; text-align: center; white-space: nowrap; }
table.labelled { border-collapse: collapse; margin: 2px 0 10px; font-size: 14px; }
table.labelled th { font-weight: 600; color: #52606d; padding: 2px 12px; text-align: right; white-space: nowrap; }
table.labelled td { padding: 2px 12px; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.labelled td.zero { color: #b8c0c8; }
td.first, td.last { position: relative; }
td.first::before, td.last::after { content: ""; position: absolute; top: 0; bottom: 0; width: 6px;
  border: 0 solid #1f2933; }
td.first::before { left: 0; border-left-width: 1.5px; }
td.last::after { right: 0; border-right-width: 1.5px; }
tr.top td.first::before, tr.top td.last::after { border-top-width: 1.5px; }
tr.bottom td.first::before, tr.bottom td.last::after { border-bottom-width: 1.5px; }
.columns { display: flex; flex-wrap: wrap; gap: 12px 56px; align-items: flex-start; }
.columns figure { margin: 8px 0; }
.columns h3 { margin-top: 16px; }
footer { margin-top: 56px; border-top: 1px solid #cbd2d9; padding-top: 12px; color: #7b8794; font-size: 13px; }
@media print { main { max-width: none; padding: 0; } h2, h3 { break-after: avoid; } figure { break-inside: avoid; } }
"""


class ErrorRow(NamedTuple):
    """Error of one signal of the rigid model on one scenario."""

    scenario: str
    signal: str
    unit: str  # of `peak`
    nrms: float  # RMS error relative to the signal's largest value
    limit: float  # of `nrms`
    peak: float


# --- pieces


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
    kind = [' class="n"' if i in numbers else "" for i in range(len(head))]
    heading = "".join(f"<th{kind[i]}>{head[i]}</th>" for i in shown)
    body = []
    for row in lines:
        if len(row) == 1 < len(head):
            body.append(f'<tr class="group"><td colspan="{len(shown)}">{row[0]}</td></tr>')
        else:
            body.append("<tr>" + "".join(f"<td{kind[i]}>{row[i]}</td>" for i in shown) + "</tr>")
    heading = f"<thead><tr>{heading}</tr></thead>\n" if any(head) else ""
    return (
        f'<div class="wide"><table class="data">\n{heading}<tbody>\n' + "\n".join(body) + "\n</tbody></table></div>\n"
    )


def matrix(values: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str], factor: float = 1.0) -> str:
    """A matrix of numbers, times `factor`, with its rows' and columns' names (HTML); zeros are dimmed."""
    cells = [[number(factor * v) for v in line] for line in values]
    head = "<tr><th></th>" + "".join(f"<th>{c}</th>" for c in columns) + "</tr>\n"
    body = _bracketed(cells, [f"<th>{name}</th>" for name in rows])
    return f'<div class="wide"><table class="labelled">\n{head}{body}</table></div>\n'


def _bracketed(cells: Sequence[Sequence[str]], heads: Sequence[str] | None = None) -> str:
    """Rows of a table whose cells stand in square brackets, each after its head."""
    lines = []
    for i, row in enumerate(cells):
        place = " ".join(["top"] * (i == 0) + ["bottom"] * (i == len(cells) - 1))
        line = heads[i] if heads else ""
        for j, cell in enumerate(row):
            kind = " ".join(["first"] * (j == 0) + ["last"] * (j == len(row) - 1) + ["zero"] * (cell == "0"))
            line += f'<td class="{kind}">{cell}</td>'
        lines.append(f'<tr class="{place}">{line}</tr>\n')
    return "".join(lines)


def figure(picture: str, caption: str) -> str:
    """An inline picture with a caption (HTML)."""
    return f"<figure>\n{picture}\n<figcaption>{caption}</figcaption>\n</figure>\n"


def schematic(unit: Unit, values: Mapping[str, float]) -> str:
    """The unit's diagram; `values` are parameters by full name [SI]."""
    return figure(
        unit_diagram(unit, values=values), "Plane schematic. Radii and distances between contacts are to scale."
    )


def error_table(rows: Sequence[ErrorRow], what: str = "RMS error") -> str:
    """Errors with their share of what is allowed, by scenario if there is more than one; `what` they are."""
    lines: list[Sequence[str]] = []
    several = len({r.scenario for r in rows}) > 1
    before = None
    for row in rows:
        if several and row.scenario != before:
            lines.append((text(row.scenario),))
            before = row.scenario
        good = row.nrms <= row.limit
        share = min(max(row.nrms / row.limit, 0.0), 1.25) if row.nrms == row.nrms else 1.25
        lines.append((
            f"<code>{text(row.signal)}</code>",
            percent(row.nrms) if good else f'<span class="bad">{percent(row.nrms)}</span>',
            f'<span class="bar{"" if good else " bad"}"><i style="width:{80.0 * share:.1f}%"></i><b></b></span>',
            percent(row.limit),
            quantity(row.peak, row.unit, digits=3),
        ))  # fmt: skip
    head = ("signal", what, "share of what is allowed", "allowed", "largest error")
    return table(head, lines, (1, 3, 4))


def page(title: str, body: str, style: str = "") -> str:
    """A complete page around `body`."""
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}"
        f"<footer>rtcvt {text(__version__)}, revision {text(revision())}</footer>\n</main>\n</body>\n</html>\n"
    )


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


# --- sections


def machine(unit: Unit, values: Mapping[str, float] | None = None) -> str:
    """Gears, contacts, relative frictions, ports and geometry as tables.

    Parameters
    ----------
    unit : Unit
        The machine.
    values : mapping, optional
        Parameters by full name [SI] that take the place of the unit's own.
    """
    given = values or {}
    colours = gear_colours(unit)

    def gear_cell(name: str) -> str:
        return f'<span class="chip" style="background:{colours[name]}"></span><b>{text(name)}</b>'

    gears = [
        (
            gear_cell(name), text(gear.description),
            quantity(given.get(f"gear.{name}.J", gear.inertia), "kg.m2"),
            quantity(given.get(f"gear.{name}.b", gear.friction), "N.m.s/rad"),
            text(gear.carrier or ""), quantity(gear.w_max, "rad/s", "rpm"),
        )
        for name, gear in unit.gears.items()
    ]  # fmt: skip
    contacts = [
        (
            f"<b>{text(name)}</b>", f"from {text(c.between[0])} to {text(c.between[1])}",
            quantity(given.get(f"contact.{name}.K", c.stiffness), "N/m", "kN/m"),
            quantity(given.get(f"contact.{name}.d", c.damping), "N.s/m"),
            f"<code>{text(c.point[0])}</code>, <code>{text(c.point[1])}</code>",
        )
        for name, c in unit.contacts.items()
    ]  # fmt: skip
    frictions = [
        (f"<b>{text(name)}</b>", f"{text(f.between[0])} and {text(f.between[1])}",
         quantity(given.get(f"friction.{name}.b", f.coefficient), "N.m.s/rad"))
        for name, f in unit.frictions.items()
    ]  # fmt: skip
    ports = [
        (
            f"<b>{text(name)}</b>", text(port.description), gear_cell(port.gear),
            f"<code>{text(name)}.{'w' if port.speed_in else 'tau'}</code>",
            f"<code>{text(name)}.{'tau' if port.speed_in else 'w'}</code>",
            quantity(given.get(f"{name}.K", port.spring) if port.spring is not None else None, "N.m/rad"),
            quantity(port.tau_max, "N.m"),
        )
        for name, port in unit.ports.items()
    ]  # fmt: skip
    geometry = [
        (f"<code>{text(name)}</code>",
         quantity(given.get(f"geometry.{name}", p.value), p.unit, {"m": "mm", "rad": "deg"}.get(p.unit)),
         text(p.description))
        for name, p in unit.parameters.items()
    ]  # fmt: skip
    geometry += [
        (f"<code>{text(name)}</code>",
         f"{number(v.min)} … {number(v.max)} rad, at most {number(v.rate_max)} rad/s", text(v.description))
        for name, v in unit.variables.items()
    ]  # fmt: skip
    shown = (
        ("Gears", ("gear", "", "inertia", "viscous friction", "carried by", "rated speed"), gears, (2, 3, 5)),
        ("Contacts", ("contact", "positive force", "stiffness", "damping", "point (x, y)"), contacts, (2, 3)),
        ("Relative frictions", ("friction", "between", "coefficient"), frictions, (2,)),
        ("Ports", ("port", "", "gear", "in", "out", "torsional spring", "rated torque"), ports, (5, 6)),
        ("Geometry", ("name", "value", ""), geometry, (1,)),
    )
    cells = (f"<div>\n<h3>{title}</h3>\n{table(head, rows, n)}</div>\n" for title, head, rows, n in shown if rows)
    return '<div class="columns">\n' + "".join(cells) + "</div>\n"


def sets(unit: Unit) -> str:
    """The ordered sets of eq. (1)."""

    def line(index: str, names: Iterable[str]) -> str:
        listed = list(names)
        inside = ", ".join(f"<var>{text(n)}</var>" for n in listed)
        return (
            f"𝒩<sub><var>{index}</var></sub> = {{{inside}}},&#160; "
            f"<var>n</var><sub><var>{index}</var></sub> = {len(listed)}"
        )

    frictions = ("".join(f.between) for f in unit.frictions.values())
    lines = (line("J", unit.gears), line("K", unit.contacts), line("B", frictions))
    return "".join(f'<p class="math">{x}</p>\n' for x in lines)


def system_matrices(unit: Unit, model: Model, values: Mapping[str, float] | None = None) -> str:
    """R, Q1 and the reduced matrices as numbers, the moving variable at its start."""
    instance = model.instantiate()
    for name, value in (values or {}).items():
        if name in model.by_name:
            instance.p[model.by_name[name].index] = value
    start = unit.variables[unit.moving].start if unit.moving else 0.0
    m = matrices(instance, start)
    gears, contacts, independent = list(unit.gears), list(unit.contacts), list(unit.rigid.independent)
    speeds = [f"ω<sub>{text(g)}</sub>" for g in independent]
    where = f" at {'θ' if unit.moving == 'theta' else text(unit.moving)} = {number(start)} rad" if unit.moving else ""
    shown = [
        (f"<b>R</b>{where} [mm]", matrix(m.R, contacts, gears, 1e3)),
        (f"<b>Q</b><sub>1</sub>{where}", matrix(m.Q1, [f"ω<sub>{text(g)}</sub>" for g in gears], speeds)),
        (f"<b>L</b><sub>1</sub>{where} [kg·m²]", matrix(m.L1, independent, speeds)),
        (f"<b>A</b><sub>1</sub>{where} [N·m·s/rad]", matrix(m.A1, independent, speeds)),
    ]
    if unit.moving:
        shown.append((f"<b>N</b><sub>1</sub>{where} [kg·m² per rad/s]", matrix(m.N1, independent, speeds)))
    if unit.frictions:
        shown.append(("<b>B</b><sub>Δω</sub> [N·m·s/rad]", matrix(m.B_delta_omega, gears, gears)))
    cells = (f'<div>\n<h3 class="math">{head}</h3>\n{body}</div>\n' for head, body in shown)
    return '<div class="columns">\n' + "".join(cells) + "</div>\n"


def _equation(formula: str, tag: str = "") -> str:
    return f'<div class="equation"><span>{formula}</span><span class="tag">{tag}</span></div>\n'


def _block(cells: Sequence[Sequence[str]]) -> str:
    return f'<table class="matrix">{_bracketed(cells)}</table>'


def equations(unit: Unit, fidelity: Fidelity | None = None) -> str:
    """The model's equations with the numbers of Tebaldi and Zanasi 2022; both models' if no fidelity is given."""
    t = "<sup>T</sup>"
    R, J, K = "<b>R</b>", "<b>J</b>", "<b>K</b>"
    Q1, B_J, B_K = "<b>Q</b><sub>1</sub>", "<b>B</b><sub><var>J</var></sub>", "<b>B</b><sub><var>K</var></sub>"
    L1, N1, A1, B1 = (f"<b>{m}</b><sub>1</sub>" for m in "LNAB")
    x1, omega, F, tau = "<b>x</b><sub>1</sub>", "<b>ω</b>", "<b>F</b>", "<b>τ</b>"
    dx1, dQ1 = "<b>ẋ</b><sub>1</sub>", "<b>Q̇</b><sub>1</sub>"
    parts = []
    if fidelity != "rigid":
        parts.append(
            "<p>Full model: the gears' inertias, coupled by tangential springs at the contact points through the radii "
            f'matrix <span class="math">{R}</span>; the state is all speeds and all contact forces.</p>\n'
        )
        parts.append(_equation(
            _block([[J, "<b>0</b>"], ["<b>0</b>", f"{K}<sup>−1</sup>"]])
            + _block([["<b>ω̇</b>"], ["<b>Ḟ</b>"]]) + " = "
            + _block([[f"−{B_J} − {R}{t} {B_K} {R}", f"−{R}{t}"], [R, "<b>0</b>"]])
            + _block([[omega], [F]]) + " + " + _block([["<b>I</b>"], ["<b>0</b>"]]) + f" {tau}",
            "(2)",
        ))  # fmt: skip
    if fidelity != "full":
        parts.append(
            f'<p>Rigid model: with <span class="math">{K} → ∞</span> the contacts become constraints '
            f'<span class="math">{R} {omega} = 0</span>, which leave the independent speeds '
            f'<span class="math">{x1}</span>; (11) returns the contact forces.</p>\n'
        )
        parts.append(_equation(f"{omega} = {Q1} {x1}", "(8)"))
        parts.append(_equation(f"{L1} {dx1} + {N1} {x1} = {A1} {x1} + {B1} {tau}", "(9)"))
        parts.append(_equation(
            f"{L1} = {Q1}{t} {J} {Q1},&#160;&#160; {N1} = {Q1}{t} {J} {dQ1},&#160;&#160; "
            f"{A1} = −{Q1}{t} {B_J} {Q1},&#160;&#160; {B1} = {Q1}{t}",
            "(10)",
        ))  # fmt: skip
        parts.append(_equation(
            f"{F} = ({R} {J}<sup>−1</sup> {R}{t})<sup>−1</sup> {R} {J}<sup>−1</sup> "
            f"[ {tau} − ({B_J} {Q1} + {J} {dQ1}) {x1} ]",
            "(11)",
        ))  # fmt: skip
    for name, port in unit.ports.items():
        shaft, gear = text(name), text(port.gear)
        stretch = f"(<var>ω</var><sub>{shaft}</sub> − <var>ω</var><sub>{gear}</sub>)"
        if port.spring is not None:
            parts.append(f"<p>Port {shaft} is connected through a torsional spring:</p>\n")
            parts.append(_equation(f"<var>τ̇</var><sub>{shaft}</sub> = <var>K</var><sub>{shaft}</sub> {stretch}"))
        elif port.coupled:
            parts.append(
                f"<p>Port {shaft} is connected through a stiff coupling, a spring beside an equal one with a damper in "
                "series:</p>\n"
            )
            parts.append(_equation(
                f"<var>τ</var><sub>{shaft}</sub> = <var>τ</var><sub>1</sub> + <var>τ</var><sub>2</sub>,&#160;&#160; "
                f"<var>τ̇</var><sub>1</sub> = <var>c</var> {stretch},&#160;&#160; "
                f"<var>τ̇</var><sub>2</sub> = <var>c</var> {stretch} − (<var>c</var>/<var>d</var>) "
                "<var>τ</var><sub>2</sub>"
            ))  # fmt: skip
    return "".join(parts) + _controller(unit)


def _controller(unit: Unit) -> str:
    """The law that moves the geometry, in words and symbols."""
    if unit.moving is None:
        return ""
    theta = "θ" if unit.moving == "theta" else text(unit.moving)
    limits = unit.variables[unit.moving]
    bounds = (
        f'<p><span class="math"><var>{theta}</var></span> stays between {number(limits.min)} and '
        f"{number(limits.max)} rad and moves with at most {number(limits.rate_max)} rad/s; it runs into a stop "
        "with a time constant and never "
        "through it. While a limit overrides the law, <code>control.saturated</code> is true.</p>\n"
    )
    position = unit.controller.position
    if position is not None:
        law = _equation(
            f"d<var>{theta}</var>/d<var>t</var> = (<var>{theta}</var><sub>des</sub> − <var>{theta}</var>)/"
            "<var>T</var><sub>a</sub>"
        )
        return (
            f"<p>Position actuator, <code>control.time_constant</code> = <var>T</var><sub>a</sub>:</p>\n{law}{bounds}"
        )
    kers = unit.controller.kers
    if kers is None:
        return ""
    gear, shaft = text(unit.ports[kers.port].gear), text(kers.port)
    omega = f"<var>ω</var><sub>{gear}</sub>"
    law = _equation(
        f"d<var>{theta}</var>/d<var>t</var> = <var>K</var><sub>θ</sub> [ <var>τ</var><sub>des</sub> − "
        f"<var>τ</var><sub>est</sub> − <var>K</var><sub>w</sub> (<var>ω</var><sub>{shaft}</sub> − {omega}) ]"
    )
    estimate = _equation(
        f"<var>τ</var><sub>est</sub> = <var>Ė</var>/{omega} − <var>A</var>(<var>{theta}</var>) {omega},&#160;&#160; "
        f"<var>E</var> = ½ <var>J</var>(<var>{theta}</var>) {omega}<sup>2</sup>",
        "(23)",
    )
    storage = unit.gears[kers.storage].w_max
    store = (
        f"<p>Charging ends where gear {text(kers.storage)} reaches {quantity(storage, 'rad/s', 'rpm')}.</p>\n"
        if storage is not None
        else ""
    )
    return (
        f"<p>Controller: the torque into port {shaft} follows <code>control.tau_des</code> through the tilt. It is "
        "estimated from the stored energy <var>E</var> and the dissipation <var>A</var> of the rigid model; "
        f"<var>Ė</var> is <var>E</var> behind <var>s</var>/(<var>T</var> <var>s</var> + 1) with <var>T</var> = "
        f"<code>control.tau_filter</code>.</p>\n{law}{estimate}{bounds}{store}"
    )


def variable_tables(model: Model) -> str:
    """All variables by causality."""
    parts = []
    for causality in ("input", "output", "parameter"):
        chosen = model.select(causality)
        if not chosen:
            continue
        head = ("name", "unit", "start", "min", "max", "description")
        rows = [_variable_row(v, model) for v in chosen]
        parts.append(f"<h3>{causality.capitalize()}s</h3>\n{table(head, rows, (2, 3, 4))}")
    return "".join(parts)


def _variable_row(v: Variable, model: Model) -> Sequence[str]:
    start = v.start if v.causality != "parameter" else float(model.p[v.index])

    def cell(value: float | None) -> str:
        if value is None:
            return ""
        shown = f' <span class="muted">({quantity(value, v.unit, v.display_unit)})</span>' if v.display_unit else ""
        return number(value) + (shown if value else "")

    unit = "boolean" if v.boolean else unit_symbol(v.unit)
    return f"<code>{text(v.name)}</code>", unit, cell(start), cell(v.minimum), cell(v.maximum), text(v.description)


def _use(model: Model, unit: Unit) -> str:
    """What whoever puts the unit into a system has to know."""
    points = [
        f"Step: {quantity(model.step_size, 's', 'ms')}. The unit runs at this fixed step inside; a longer "
        "communication step is divided into equal ones. Inputs are held over a communication step; those of a native "
        "unit move, if the importing tool gives their derivatives.",
        "Units are SI: rad, rad/s, N·m, N, J. A torque is counted into the unit, so power into the unit is positive.",
        "Parameters are set before initialisation; the start state then follows from them and from the inputs.",
    ]
    sprung = [n for n, p in unit.ports.items() if p.speed_in]
    if sprung:
        names = ", ".join(f"<code>{text(n)}</code>" for n in sprung)
        others = "; the others take a torque and return a speed." if len(sprung) < len(unit.ports) else "."
        points.append(f"Port {names} takes a speed and returns a torque, through a spring or a stiff coupling{others}")
    else:
        points.append("Each port takes a torque and returns a speed.")
    if unit.moving:
        points.append("<code>control.saturated</code> is true after a step in which a limit overrode the controller. "
                      "The results are valid.")  # fmt: skip
    points.append(
        "A step is refused, and the state left as it was, if an input is not finite or no finite state follows."
    )
    return "<ul>\n" + "".join(f"<li>{p}</li>\n" for p in points) + "</ul>\n"


def documentation_page(model: Model, unit: Unit, errors: Sequence[ErrorRow] | None = None) -> str:
    """The page that ships inside an FMU.

    Parameters
    ----------
    model : Model
        Rigid or full model of `unit`.
    unit : Unit
        The machine.
    errors : sequence of ErrorRow, optional
        What the check of the rigid against the full model found.

    Returns
    -------
    str
        A self-contained HTML page.
    """
    values = {v.name: float(model.p[v.index]) for v in model.select("parameter")}
    kind = "Rigid model" if model.fidelity == "rigid" else "Full elastic model"
    parts = [
        f"<h1>{text(unit.name)}</h1>\n",
        f'<p class="lead">{text(unit.description)}</p>\n',
        f"<p>{kind}, {len(model.states)} states, {len(model.select('input'))} inputs, "
        f"{len(model.select('output'))} outputs, {len(model.select('parameter'))} parameters, step "
        f"{quantity(model.step_size, 's', 'ms')}.</p>\n",
        schematic(unit, values),
        "<h2>How to use it</h2>\n",
        _use(model, unit),
        "<h2>Variables</h2>\n",
        variable_tables(model),
        "<h2>Equations</h2>\n",
        "<p>D. Tebaldi and R. Zanasi, Systematic modeling of complex time-variant gear systems using a Power-Oriented "
        "approach, Control Engineering Practice, 2022, doi:10.1016/j.conengprac.2022.105420. The numbers are the "
        "paper's.</p>\n",
        equations(unit, model.fidelity),
        sets(unit),
        system_matrices(unit, model),
        "<h2>Accuracy</h2>\n",
    ]
    if errors is None:
        parts.append("<p>The rigid model of this unit was not checked against the full one.</p>\n")
    else:
        worst = max((r.nrms / r.limit for r in errors), default=0.0)
        verdict = "All errors are within their limits." if worst <= 1.0 else "Some errors exceed their limits."
        parts.append(
            "<p>Rigid against full elastic model, same inputs: RMS error of each speed and contact force, relative to "
            f"its largest value, where the elastic transient has decayed. {verdict}</p>\n" + error_table(errors)
        )
    if unit.text:
        parts.append(f"<h2>Unit file</h2>\n<pre><code>{text(unit.text)}</code></pre>\n")
    return page(f"{unit.name}: {kind.lower()}", "".join(parts))
