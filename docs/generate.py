"""Pages of the site that are made from the sources: reference of the unit files, commands, modules, notebooks, gallery.

Keys of the unit files are those of `rtcvt.reference`. Nothing is run but the reading of the shipped units.
"""

import base64
import inspect
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

try:  # what only the site needs
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert
except ModuleNotFoundError:
    pass

from rtcvt import look
from rtcvt.kind import Kind, kinds
from rtcvt.reference import keys, meaning, parameters_of, roots, rows, tables
from rtcvt.unitfile import read_unit_file, shipped_units

PAGES = {  # of the API: title, modules
    "interface": ("Python interface", ("rtcvt.interface", "rtcvt.recording", "rtcvt.numerics.linearisation")),
    "models": (
        "Models and kernels",
        (
            "rtcvt.model",
            "rtcvt.kernel",
            "rtcvt.table",
            "rtcvt.numerics.integrators",
            "rtcvt.model.stepping",
            "rtcvt.model.coupling",
        ),
    ),
    "files": (
        "Files and units of measurement",
        (
            "rtcvt.unitfile",
            "rtcvt.scenario",
            "rtcvt.quantity",
            "rtcvt.files.expression",
            "rtcvt.numerics.engine_order",
            "rtcvt.files.cycle",
            "rtcvt.errors",
        ),
    ),
    "kinds": (
        "Kinds of machines",
        (
            "rtcvt.kind",
            "rtcvt.simulate",
            "rtcvt.network",
            "rtcvt.network.foreign",
            "rtcvt.law.file",
            "rtcvt.law.code",
            "rtcvt.law.in_c",
            "rtcvt.view",
        ),
    ),
    "gears": (
        "Gear systems",
        ("rtcvt.pog.radii", "rtcvt.pog.normal_form", "rtcvt.control.kers", "rtcvt.control.limits"),
    ),
    "belts": ("Belt drives", ("rtcvt.belt.geometry", "rtcvt.offline.belt.runs")),
    "variators": (
        "Variators",
        (
            "rtcvt.variator.reduced.model",
            "rtcvt.variator.reduced.file",
            "rtcvt.variator.regression",
            "rtcvt.variator.capacity",
        ),
    ),
    "pushbelt": (
        "The full pushbelt",
        (
            "rtcvt.offline.pushbelt.planar.model",
            "rtcvt.offline.pushbelt.run.schedule",
            "rtcvt.offline.pushbelt.run.simulate",
            "rtcvt.offline.pushbelt.run.reading",
            "rtcvt.offline.pushbelt.run.runfile",
            "rtcvt.offline.pushbelt.run.windows",
            "rtcvt.offline.pushbelt.run.snapshots",
            "rtcvt.offline.pushbelt.unit.kinematics",
            "rtcvt.offline.pushbelt.contact.element_element",
            "rtcvt.offline.pushbelt.contact.element_ring",
            "rtcvt.offline.pushbelt.contact.flank",
            "rtcvt.offline.pushbelt.contact.sheave",
        ),
    ),
    "nonsmooth": (
        "Non-smooth dynamics",
        tuple(
            f"rtcvt.offline.nonsmooth.{name}"
            for name in ("proximal", "lcp", "lemke", "contact", "impact", "time_stepping")
        ),
    ),
    "rods": (
        "Rods",
        tuple(
            f"rtcvt.offline.rods.{name}"
            for name in ("planar", "spatial", "statics", "contour", "reduction", "transport")
        ),
    ),
    "reduction": (
        "Reduction",
        ("rtcvt.offline.variator.pod", "rtcvt.offline.variator.fields", "rtcvt.offline.variator.process"),
    ),
}


def write_all(folder: Path, root: Path) -> None:
    """Write all generated pages under the folder of the site; `root` is that of the sources."""
    reference, gallery, notebooks = folder / "reference", folder / "gallery", folder / "examples"
    for made in (reference, gallery, notebooks):
        made.mkdir(exist_ok=True)
    _write(reference / "unit_files.md", unit_files())
    _write(reference / "commands.md", commands())
    _write(reference / "run_options.md", run_options())
    for name, (title, modules) in PAGES.items():
        _write(reference / f"api_{name}.md", api(title, modules))
    _write(gallery / "index.md", pictures(gallery))
    for name in ("CONTRIBUTING", "CHANGELOG"):
        text = (root / f"{name}.md").read_text(encoding="utf-8")
        _write(folder / f"{name.lower()}.md", text.replace("](docs/", "]("))
    for file in sorted((root / "examples").glob("*.ipynb")):
        _write(notebooks / f"{file.stem}.md", notebook(file, notebooks))


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


# --- unit files -------------------------------------------------------------------------------------------------------


def _anchor(record: type[BaseModel]) -> str:
    return f"{record.__module__}-{record.__name__}".replace(".", "-").replace("_", "-").lower()


def _linked(record: type[BaseModel]) -> str:
    return f"[{record.__name__}](#{_anchor(record)})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def unit_files() -> str:
    """The page of all keys."""
    out = [
        "# Keys of unit files\n",
        "Every key of every kind of unit file, made from the records that read them. Bare numbers are SI; text carries "
        'its unit: `"36 mm"`. A key that is not here is refused. Anything wrong is told with file, key, value and what '
        "is allowed.\n",
    ]
    done: list[type[BaseModel]] = []
    for names, (kind, record) in _by_record().items():
        out.append(f'## {kind.title.capitalize()}: `kind = "{names}"`\n')
        for table in tables(record):
            if table not in done:
                done.append(table)
                out.append(table_of(table, top=table is record))
            elif table is not record:
                out.append(f"Also the table [{table.__name__}](#{_anchor(table)}).\n")
        out += [parameters_page(name) for name in names.split('" or "')]
    lines = ["## Keys that no shipped unit uses\n", "They are absent from all, or at their default.\n"]
    lines += ["| table | key | meaning |", "|---|---|---|"]
    for table, key in unused():
        lines.append(f"| [{table.__name__}](#{_anchor(table)}) | `{key}` | {_cell(meaning(table, key))} |")
    return "\n".join([*out, *lines]) + "\n"


def _records(value: Any) -> Iterator[BaseModel]:
    """A record and all within it."""
    if isinstance(value, BaseModel):
        yield value
        value = [getattr(value, key) for key in type(value).model_fields]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _records(item)


def unused() -> list[tuple[type[BaseModel], str]]:
    """Tables and their keys that every shipped unit leaves at the default."""
    used = set()
    for kind in kinds():
        for unit in shipped_units(*kind.names):
            for record in _records(kind.read(read_unit_file(unit))):
                for table in type(record).__mro__:
                    used |= {
                        (table, key)
                        for key, field in getattr(table, "model_fields", {}).items()
                        if field.is_required() or getattr(record, key) != field.get_default(call_default_factory=True)
                    }
    known = dict.fromkeys(table for _, root in roots().values() for table in tables(root))
    return [(table, key) for table in known for key in keys(table) if (table, key) not in used]


def _by_record() -> dict[str, tuple[Kind, type[BaseModel]]]:
    """Names that share a record together."""
    found: dict[int, list[str]] = {}
    known = roots()
    for name, (_, record) in known.items():
        found.setdefault(id(record), []).append(name)
    return {'" or "'.join(names): known[names[0]] for names in found.values()}


def table_of(record: type[BaseModel], top: bool) -> str:
    """One table of a file."""
    about = inspect.cleandoc(record.__doc__ or "").replace("\n", " ")
    about = re.sub(r"``?([^`]+)``?", r"`\1`", about)
    lines = [f"({_anchor(record)})=", f"### {record.__name__}{' (the file itself)' if top else ''}\n", f"{about}\n"]
    lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key in rows(record, _linked):
        lines.append("| " + " | ".join(map(_cell, (f"`{key.key}`", *key[1:]))) + " |")
    return "\n".join(lines) + "\n"


def parameters_page(kind_name: str) -> str:
    """Parameters of the first shipped unit of a kind whose file gives them by name in one table."""
    unit, found = parameters_of(kind_name)
    if not found:
        return ""
    lines = [f'#### Parameters of `kind = "{kind_name}"`\n', f"Keys of `[parameters]`, with the values of `{unit}`.\n"]
    lines += ["| key | unit | here | meaning |", "|---|---|---|---|"]
    for key, v in found.items():
        start = "" if v.start is None else f"{float(v.start):g}"
        lines.append("| " + " | ".join(map(_cell, (f"`{key}`", v.unit, start, v.description))) + " |")
    return "\n".join(lines) + "\n"


# --- commands ---------------------------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """Help without rich's markup."""
    text = re.sub(r"(?<!\\)\[/?(?:bold)?\]", "**", text).replace("\\[", "[")
    return re.sub(r"\*\*\s*\*\*", "", text)


def commands() -> str:
    """The page of the command line."""
    import typer

    from rtcvt.cli import app

    group: Any = typer.main.get_command(app)
    out = ["# Commands\n", "What `rtcvt COMMAND --help` prints.\n"]
    for name, command in group.commands.items():
        out.append(f"## rtcvt {name}\n")
        out += [f"{_plain(p)}\n" for p in (command.help or "").split("\n\n")]
        out += ["| | |", "|---|---|"]
        for p in command.params:
            label = ", ".join(p.opts) if p.param_type_name == "option" else (p.metavar or p.name or "").upper()
            value = "" if p.param_type_name != "option" or p.is_flag else f" {p.metavar or 'VALUE'}"
            default = (
                f" Default: {p.default}."
                if p.param_type_name == "option" and p.default not in (None, False, [])
                else ""
            )
            out.append(f"| `{_cell(label + value)}` | {_cell(_plain(getattr(p, 'help', '') or ''))}{_cell(default)} |")
        out.append("")
    return "\n".join(out)


# --- options of a run -------------------------------------------------------------------------------------------------


def run_options() -> str:
    """Which options of a full pushbelt's run go together."""
    from rtcvt.offline.pushbelt.run.requirements import as_markdown

    said = "What the options of a run may be, always or with other options. A run that is not so is refused."
    return f"# Options of a full pushbelt's run\n\n{said}\n\n{as_markdown()}\n"


# --- modules ----------------------------------------------------------------------------------------------------------


def api(title: str, modules: tuple[str, ...]) -> str:
    """A page of modules, with their equations and public names."""
    out = [f"# {title}\n"]
    for name in modules:
        out += [f"## {name}\n", "```{eval-rst}", f".. automodule:: {name}", "```\n"]
    return "\n".join(out)


_SPECIAL = re.compile(r"([*|])")


def as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings as reStructuredText: indented blocks of a module are its equations, as they stand; stars are stars."""
    del app, name, obj, options
    if what != "module":
        lines[:] = [_escaped(line) for line in lines]
        return
    out: list[str] = []
    block = False
    for line in lines:
        indented = line.startswith("    ") and bool(line.strip())
        if indented and not block:
            if out and out[-1].strip():
                out.append("")
            before = next((o for o in reversed(out) if o.strip()), "")
            out += [" " * (len(before) - len(before.lstrip())) + "::", ""]
            block = True
        elif line.strip() and not indented:
            if block and out[-1].strip():
                out.append("")
            block = False
        out.append(line if block else re.sub(r"::$", ":", _escaped(line)))
    lines[:] = out


def _escaped(line: str) -> str:
    """A line whose stars, bars and trailing underscores mean nothing, outside of backticks."""
    pieces = re.split(r"(``[^`]*``|`[^`]*`)", line)
    for k in range(0, len(pieces), 2):
        pieces[k] = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", _SPECIAL.sub(r"\\\1", pieces[k]))
    return "".join(pieces)


def skipped(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what pydantic and named tuples bring along."""
    del app, what, options
    brought = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if skip or brought or name in ("model_config", "model_post_init") else None


def inline_math(translator: Any, node: Any) -> None:
    """Math within a line as MathML, which browsers draw without a network."""
    translator.body.append(convert(node.astext()))
    raise SkipNode


def display_math(translator: Any, node: Any) -> None:
    """An equation of its own, with the number that its source gives it."""
    text = node.astext()
    tag = re.search(r"\\tag\{(.+?)\}", text)
    number = f'<span class="tag">({tag[1]})</span>' if tag else ""
    drawn = convert(re.sub(r"\\tag\{.+?\}", "", text), display="block")
    translator.body.append(f'<div class="equation">{drawn}{number}</div>')
    raise SkipNode


def in_site(app: Any, document: str, source: list[str]) -> None:
    """Links of a page to files outside of the folder of the pages, as they are within the site."""
    del app, document
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.ipynb\)", r"](examples/\1.md)", source[0])
    source[0] = re.sub(r"\[([^]]*)\]\((?:\.\./)?(studies/\w+\.md)[^)]*\)", r"\1 (`\2`)", source[0])
    source[0] = source[0].replace("](../CONTRIBUTING.md)", "](contributing.md)")


def notebook(file: Path, folder: Path) -> str:
    """A notebook as a page: its texts, its code and stored outputs, whose pictures are written into `folder`. A picture
    is described by its section and the labels in the code."""
    out, heading, pictures = [], file.stem, 0
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            out.append(text)
            heading = ([line.strip("# ") for line in text.splitlines() if line.startswith("#")] or [heading])[-1]
            continue
        out.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                pictures += 1
                picture = folder / f"{file.stem}_{pictures}.png"
                picture.write_bytes(base64.b64decode(data["image/png"]))
                labels = re.findall(r"(?:title|label)\w*[=(] ?f?[\"']([^\"'{}]+)", text)
                about = "; ".join(dict.fromkeys(labels)).replace("[", "(").replace("]", ")")
                out.append(f"![{heading}{': ' if about else ''}{about}]({picture.name})")
            elif "text/html" in data:
                out.append(f'<div class="output">{"".join(data["text/html"])}</div>')
            else:
                out.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join([*out, f"The notebook is `examples/{file.name}`; it runs with the tests."]) + "\n"


# --- gallery ----------------------------------------------------------------------------------------------------------


def pictures(folder: Path) -> str:
    """The page of all shipped units, and their pictures."""
    out = ["# Gallery\n", "All units that come along, drawn from their files when this site was built.\n"]
    for kind in kinds():
        out.append(f"## {kind.title.capitalize()}\n")
        for name in shipped_units(*kind.names):
            unit = kind.read(read_unit_file(name))
            _write(folder / f"{name}.svg", picture(kind, unit))
            out += [f"### {name}\n", f"{unit.description}\n", f"![{name}]({name}.svg)\n"]
    return "\n".join(out)


def picture(kind: Kind, unit: Any) -> str:
    """A unit as SVG: its kind's own diagram, its belt, or its ports."""
    if kind.diagram is not None:
        model = unit.build()
        return kind.diagram(unit, {v.name: v.start for v in model.select("parameter")})
    if hasattr(unit, "path"):
        return _belt_drive(unit)
    if hasattr(unit, "pulleys"):
        return _pushbelt(unit)
    return _ports(unit)


_INK, _BELT, _METAL = look.INK, look.COLOURS[0], look.METAL


def _figure(width: float, height: float) -> Any:
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "rtcvt"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.subplots()
    ax.set_axis_off()
    ax.set_aspect("equal")
    return figure, ax


def _svg(figure: Any) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return look.standalone(text.getvalue())


def _belt_drive(unit: Any) -> str:
    from matplotlib.patches import Circle

    figure, ax = _figure(7.0, 4.2)
    path = unit.path()
    points, _, _ = path.at(np.linspace(0.0, path.length, 800))
    ax.plot(*points.T, color=_BELT, lw=2.2)
    for name, p in unit.pulleys.items():
        ax.add_patch(Circle(p.center, p.radius, facecolor=_METAL, edgecolor=_INK, lw=0.8))
        ax.annotate(name, p.center, ha="center", va="center", fontsize=9, color=_INK)
    return _svg(figure)


def _pushbelt(unit: Any) -> str:
    from matplotlib.patches import Circle, Polygon

    from rtcvt.offline.pushbelt.unit.kinematics import belt_path, closure, evaluate

    figure, ax = _figure(8.0, 3.6)
    d = unit.pulleys.d_A
    for i, style in ((0.5, "-"), (2.0, "--")):
        path = belt_path(closure(unit.ring.l_R, d, i), d)
        p = evaluate(path, np.linspace(0.0, path.length, 600))
        ax.plot(p.x, p.y, color=_BELT, lw=1.8, ls=style, label=f"ratio {i:g}")
    for x, name in ((0.0, "secondary"), (d, "primary")):
        ax.add_patch(Circle((x, 0.0), unit.pulleys.r_max, facecolor=look.SHADE, edgecolor=_INK, lw=0.8, zorder=0))
        ax.add_patch(Circle((x, 0.0), unit.pulleys.r_min, facecolor=_METAL, edgecolor=_INK, lw=0.8))
        ax.annotate(name, (x, 0.0), ha="center", va="center", fontsize=9)
    half = np.array([(b, y) for y, b in unit.element.outline])
    size, at = 4.0, np.array([d + unit.pulleys.r_max + 0.06, -0.025])
    whole = np.vstack([half, half[::-1] * (-1.0, 1.0)]) * size + at
    ax.add_patch(Polygon(whole, facecolor=_METAL, edgecolor=_INK, lw=0.9))
    ax.annotate("element, larger", at - (0.0, 0.012), ha="center", va="top", fontsize=9)
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    ax.autoscale_view()
    return _svg(figure)


def _ports(unit: Any) -> str:
    from matplotlib.patches import FancyBboxPatch

    model = unit.build()
    left = [v.name for v in model.select("input")]
    right = [v.name for v in model.select("output") if not v.name.startswith(("field.", "peak.", "loss."))]
    more = len(right) - 12
    right = right[:12] + ([f"and {more} more"] if more > 0 else [])
    n = max(len(left), len(right), 1)
    figure, ax = _figure(7.0, 0.32 * n + 0.5)
    ax.add_patch(FancyBboxPatch((0, -n), 8, n, boxstyle="round,pad=0.1", facecolor=look.SHADE, edgecolor=_BELT))
    ax.annotate(unit.name, (4, -0.5 * n), ha="center", va="center", fontsize=11, color=_INK, fontweight="bold")
    for side, names in ((0, left), (1, right)):
        for k, name in enumerate(names):
            y, x = -(k + 0.5) * n / len(names), 8.1 * side - 0.1 * (1 - side)
            ends = ((x - 1.2, y), (x, y)) if side == 0 else ((x, y), (x + 1.2, y))
            if not name.startswith("and "):
                ax.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "->", "color": _INK, "lw": 0.9})
            text, align = (ends[0][0] - 0.2, "right") if side == 0 else (ends[1][0] + 0.2, "left")
            ax.annotate(name, (text, y), ha=align, va="center", fontsize=9)
    ax.set_xlim(-7.5, 15.5)
    ax.set_ylim(-n - 0.4, 0.4)
    return _svg(figure)
