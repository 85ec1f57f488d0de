"""Pictures of Matplotlib in a page: SVG that needs nothing, and its lines, bands and points as data for charts.

A page with data draws them with the library uPlot (MIT licence, ``uplot/LICENSE``; 53 kB, without dependencies, fast
with 1e5 points), which `charts.js` gives hover with units, zoom, axes that move together and names that switch lines.
Without scripts, in print, and for contours, images and drawings to scale, the picture is shown instead.
"""

import io
import json
import re
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedFormatter, FuncFormatter, LogFormatter, NullFormatter

from rtcvt.html import number, text
from rtcvt.look import NAMES

UNNAMED = re.compile(r"_(child|container)\d+|_nolegend_|")


def inline_svg(picture: Figure, prefix: str, alt: str = "") -> str:
    """The figure as SVG for inlining: no header, no metadata, and ids that begin with `prefix`.

    Readers who do not see it are told `alt`, by default what its panels are called.
    """
    for axis in (axis for ax in picture.axes for axis in (ax.xaxis, ax.yaxis)):
        if isinstance(axis.get_major_formatter(), LogFormatter):  # which writes TeX
            axis.set_major_formatter(FuncFormatter(lambda value, _: number(value, 3).removeprefix("1·")))
            axis.set_minor_formatter(NullFormatter())
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "rtcvt"}):
        FigureCanvasSVG(picture).print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    found = buffer.getvalue()
    found = re.sub(r"<metadata>.*?</metadata>", "", found[found.index("<svg") :], flags=re.DOTALL)
    found = re.sub(r'<g id="[^"]*"', "<g", found)
    found = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", found)
    called = (ax.get_title(loc="left") or ax.get_title() or ax.get_ylabel() for ax in picture.axes)
    told = alt or "; ".join(dict.fromkeys(filter(None, called))) or "picture"
    return found.replace("<svg ", f'<svg role="img" aria-label="{text(told)}" ', 1)


def with_chart(picture: Figure, svg: str) -> str:
    """The SVG of a figure that was drawn, followed by its data, if all that it shows can be a chart."""
    panels: dict[Any, dict[str, Any]] = {}
    for ax in picture.axes:
        spec = ax.get_subplotspec()
        if not ax.axison and not ax.has_data():
            continue
        if spec is None or not ax.axison or ax.get_aspect() != "auto" or ax.images or ax.texts:
            return svg
        place = (spec.rowspan.start, spec.colspan.start)
        panel = _panel(ax, place in panels)
        if panel is None:
            return svg
        if place in panels:  # a second scale, on the right
            panels[place]["lines"] += panel["lines"]
            panels[place]["right"] = panel["y"]
        else:
            panels[place] = panel
    if not panels:
        return svg
    columns = max(column for _, column in panels) + 1
    data = json.dumps({"columns": columns, "panels": [panels[k] for k in sorted(panels)]}, separators=(",", ":"))
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return f'<div class="picture">{svg}</div>\n<script type="application/json" class="chart">{data}</script>'


def _panel(ax: Axes, second: bool) -> dict[str, Any] | None:
    """Contents of axes; None if they have something that is no chart."""
    lines, rules, areas, dots = [], [], [], []
    title, free = ax.get_title(loc="left"), ax.transData
    for line in ax.lines:
        colour = _colour(line.get_color(), line.get_alpha())
        x, y = (np.asarray(v, dtype=float) for v in line.get_data(orig=False))
        if line.get_transform() != free:  # across the panel
            across = len(set(y)) == 1
            rules.append(
                {"c": colour, "w": line.get_linewidth(), "h" if across else "v": float((y if across else x)[0])}
            )
            continue
        label = "" if UNNAMED.fullmatch(str(line.get_label())) else str(line.get_label())
        before = lines[-1]["n"] if lines and line.is_dashed() else title
        told = {"n": label or before + (", dashed" if line.is_dashed() else ""), "c": colour, "w": line.get_linewidth(),
                "x": _numbers(x), "y": _numbers(y), "d": line.is_dashed(), "z": second}  # fmt: skip
        told["dots"] = line.get_linestyle() in ("None", "none", "", " ")
        told["loop"] = bool(not np.isfinite(x).all() or np.any(np.diff(x) <= 0.0))
        lines.append(told)
    for patch in ax.patches:
        path = patch.get_path().transformed(patch.get_patch_transform())
        if isinstance(patch, Rectangle) and patch.get_transform() != patch.get_patch_transform() + free:
            rows = path.vertices[:, 1]
            areas.append(_area(path.vertices, patch.get_facecolor(), patch.get_alpha(), (rows.min(), rows.max())))
        else:
            areas.append(_area(path.vertices, patch.get_facecolor(), patch.get_alpha()))
    for found in ax.collections:
        if isinstance(found, PathCollection):
            at, colours = np.asarray(found.get_offsets(), dtype=float), found.get_facecolor()
            colours = colours if len(colours) else found.get_edgecolor()
            sizes = np.sqrt(found.get_sizes()) / 2.0
            dots += [[*_numbers(p), _colour(colours[k % len(colours)], None), round(float(sizes[k % len(sizes)]), 2)]
                     for k, p in enumerate(at)]  # fmt: skip
        elif isinstance(found, PolyCollection):
            inside = None if found.get_transform() == free else (0.0, 1.0)
            areas += [_area(p.vertices, found.get_facecolor()[0], found.get_alpha(), inside) for p in found.get_paths()]
        else:
            return None
    box = ax.get_position().height * ax.figure.get_figheight() * 96.0
    return {
        "title": title, "note": ax.get_title(loc="right"), "x": ax.get_xlabel(), "y": ax.get_ylabel(),
        "xs": _numbers(ax.get_xlim()), "ys": _numbers(ax.get_ylim()), "lines": lines, "rules": rules, "areas": areas,
        "dots": dots, "log": [ax.get_xscale() == "log", ax.get_yscale() == "log"], "high": round(box),
        "ticks": [_ticks(axis) for axis in (ax.xaxis, ax.yaxis)],
    }  # fmt: skip


def _colour(colour: Any, alpha: float | None) -> str:
    """A colour as the name of its variable with its opacity, or as it is."""
    shown = to_hex(colour)
    opacity = alpha if alpha is not None else 1.0 if isinstance(colour, str) or len(colour) < 4 else float(colour[3])
    return (f"--{NAMES[shown]}" if shown in NAMES else shown) + f" {opacity:.3g}"


def _area(vertices: Any, colour: Any, alpha: float | None, inside: tuple[float, float] | None = None) -> dict[str, Any]:
    """A filled area; `inside`: the shares of the panel's height that it covers."""
    return {"c": _colour(colour, alpha), "x": _numbers(vertices[:, 0]), "y": _numbers(vertices[:, 1]), "i": inside}


def _ticks(axis: Any) -> list[Any] | None:
    """Places and texts of ticks that have names, or are on a logarithmic scale."""
    if not isinstance(axis.get_major_formatter(), FixedFormatter) and axis.get_scale() != "log":
        return None
    places = axis.get_majorticklocs()
    return [_numbers(places), axis.get_major_formatter().format_ticks(places)]


def _numbers(values: Any) -> list[float | None]:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=float)]
