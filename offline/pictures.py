"""Pictures in reports: one look, SVG inside the page, and long series thinned without losing a peak."""

import io
import re
from itertools import pairwise
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from numpy.typing import NDArray

__all__ = ["INK", "INTERVALS", "RC", "RIGID", "STYLE", "axes_grid", "inline_svg", "thin"]

Array = NDArray[np.float64]

RIGID = "#d11f2a"  # colour of the real-time model
INTERVALS = 600  # to which a series is thinned, two points each

STYLE = """
.verdict { border-left: 8px solid; padding: 12px 20px; margin: 20px 0; font-size: 17px; background: #f1f8f4;
  border-color: #2f855a; }
.verdict.failed { background: #fdf1f1; border-color: #c81e1e; }
.verdict b { margin-right: 10px; } .verdict ul { margin: 6px 0 0; padding-left: 20px; font-size: 15px; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0; padding: 0; }
.cards div { flex: 1 1 180px; border: 1px solid #e4e7eb; border-radius: 6px; padding: 12px 16px; }
.cards b { display: block; font-size: 23px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.cards span { display: block; color: #52606d; font-size: 13px; line-height: 1.4; }
.key { display: flex; flex-wrap: wrap; gap: 4px 26px; font-size: 13.5px; color: #3e4c59; margin: 8px 0 0; }
.key i { display: inline-block; width: 26px; height: 10px; margin-right: 8px; vertical-align: 0; }
"""

INK = "#1f2933"
RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.edgecolor": "#7b8794",
    "axes.labelcolor": "#3e4c59",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": "#e4e7eb",
    "grid.linewidth": 0.7,
    "xtick.color": "#52606d",
    "ytick.color": "#52606d",
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
    "svg.fonttype": "none",
}


def thin(time: Array, values: Array, intervals: int = INTERVALS) -> tuple[Array, Array]:
    """Smallest and largest value of each of `intervals` intervals, in their order, with first and last sample.

    Parameters
    ----------
    time, values : array, shape (n,)
        A series.
    intervals : int
        How many; a series of at most twice as many samples stays as it is.
    """
    n = len(values)
    if n <= 2 * intervals:
        return time, values
    edges = np.linspace(0, n, intervals + 1).astype(int)
    picked = {0, n - 1}
    for a, b in pairwise(edges):
        picked.add(a + int(np.argmin(values[a:b])))
        picked.add(a + int(np.argmax(values[a:b])))
    chosen = np.array(sorted(picked))
    return time[chosen], values[chosen]


def axes_grid(rows: int, columns: int, tall: float, shared: bool = True) -> tuple[Figure, NDArray[np.object_]]:
    """Panels of `tall` inches with the same margins in every figure; a single column leaves room for its keys."""
    width, height = 10.6, tall * rows + 0.6
    left, right, top, bottom = 0.75, 0.15 if columns > 1 else 1.5, 0.22, 0.45
    panel = (height - top - bottom) / rows
    picture = Figure(figsize=(width, height))
    grid = picture.subplots(rows, columns, sharex=shared, squeeze=False)
    across = 0.85 / ((width - left - right - 0.85) / columns)
    picture.subplots_adjust(left / width, bottom / height, 1.0 - right / width, 1.0 - top / height,
                            wspace=across, hspace=0.36 / (panel - 0.36))  # fmt: skip
    return picture, grid


def inline_svg(picture: Figure, prefix: str) -> str:
    """The figure as SVG for inlining: no header, no metadata, and ids that begin with `prefix`."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "rtcvt"}):
        FigureCanvasSVG(picture).print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    found = buffer.getvalue()
    found = re.sub(r"<metadata>.*?</metadata>", "", found[found.index("<svg") :], flags=re.DOTALL)
    found = re.sub(r'<g id="[^"]*"', "<g", found)
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", found)
