"""Elements of reports: page, sections, verdict and cards; pictures as SVG and charts inside the page."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rtcvt.html import COLOURS, figure, number, page, table, text
from rtcvt.html.charts import inline_svg, with_chart
from rtcvt.limits import Limited
from rtcvt.look import GREY as GREY
from rtcvt.look import INK as INK
from rtcvt.look import RC, RIGID, legend
from rtcvt.variator.layout import SECTIONS

Array = NDArray[np.float64]

INTERVALS = 600  # to which a series is thinned, two points each

STYLE = """
.verdict { border-left: 8px solid; padding: 12px 20px; margin: 20px 0; font-size: 17px; background: var(--well);
  border-color: var(--green); }
.verdict.failed { background: var(--ill); border-color: var(--bad); }
.verdict b { margin-right: 10px; } .verdict ul { margin: 6px 0 0; padding-left: 20px; font-size: 15px; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0; padding: 0; }
.cards div { flex: 1 1 180px; border: 1px solid var(--line); border-radius: 6px; padding: 12px 16px; }
.cards b { display: block; font-size: 23px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.cards span { display: block; color: var(--soft); font-size: 13px; line-height: 1.4; }
@media (max-width: 640px) { .cards { gap: 8px; } .cards div { flex-basis: 130px; padding: 8px 12px; }
  .cards b { font-size: 19px; } }
.key { display: flex; flex-wrap: wrap; gap: 4px 26px; font-size: 13.5px; color: var(--lead); margin: 8px 0 0; }
.key i { display: inline-block; width: 26px; height: 10px; margin-right: 8px; vertical-align: 0; }
"""

# --- pages ------------------------------------------------------------------------------------------------------------


def report(title: str, lead: str, parts: Iterable[str]) -> str:
    """A complete page: title, lead, and parts of HTML."""
    return page(title, f'<h1>{text(title)}</h1>\n<p class="lead">{text(lead)}</p>\n{"".join(parts)}', STYLE)


def under(anchor: str, title: str, *parts: str, always: bool = False) -> str:
    """Parts of ready HTML under a heading; nothing if all are empty, unless `always`."""
    body = "".join(parts)
    return f'<h2 id="{anchor}">{text(title)}</h2>\n{body}' if body or always else ""


def verdict(failures: Sequence[str], passed: str, failed: str) -> str:
    """PASSED or FAILED with a sentence of ready HTML, and the failures (ready HTML) as a list."""
    if not failures:
        return f'<div class="verdict"><b class="good">PASSED</b> {passed}</div>\n'
    listed = "".join(f"<li>{failure}</li>" for failure in failures)
    return f'<div class="verdict failed"><b class="bad">FAILED</b> {failed}<ul>{listed}</ul></div>\n'


def cards(shown: Iterable[tuple[str, str]]) -> str:
    """Values (HTML) in large type, each with a description."""
    found = "".join(f"<div><b>{value}</b><span>{text(about)}</span></div>" for value, about in shown)
    return f'<div class="cards">{found}</div>\n'


def mark(good: bool | None, shown: str) -> str:
    """HTML in the colour of good or bad, or dimmed for None."""
    return f'<span class="{"muted" if good is None else "good" if good else "bad"}">{shown}</span>'


def limit_table(rows: Iterable[Limited], title: str = "") -> str:
    """Numbers with their limits as a table; `title` is the heading of the first column."""
    words = {None: "", True: "holds", False: "does not hold"}
    lines = []
    for r in rows:
        limit = "" if r.limit is None else number(r.limit)
        lines.append((text(r.about), f"{number(r.value)} {text(r.unit)}", limit, mark(r.holds, words[r.holds])))
    return table((title, "found", "at most", ""), lines, (1, 2))


def error_matrix(cases: Mapping[str, tuple[str, Sequence[Any]]], shown: Callable[[Any], str]) -> str:
    """Errors by signal and case as a table; `cases`: title and errors by anchor, `shown`: an error as HTML."""
    found = {(e.name, anchor): shown(e) for anchor, (_, errors) in cases.items() for e in errors}
    head = ("signal", *(f'<a href="#{anchor}">{text(title)}</a>' for anchor, (title, _) in cases.items()))
    names = dict.fromkeys(name for name, _ in found)
    rows = [(f"<code>{text(n)}</code>", *(found.get((n, anchor), "") for anchor in cases)) for n in names]
    return table(head, rows, range(1, len(head)))


# --- pictures ---------------------------------------------------------------------------------------------------------


@contextmanager
def drawing(
    rows: int, columns: int, tall: float, prefix: str, shared: bool = True
) -> Iterator[tuple[NDArray[np.object_], Callable[..., str]]]:
    """Panels to draw in, see `axes_grid`, and a function that makes HTML of them after drawing.

    The result is the picture as SVG, or a figure with a caption (HTML). `prefix` as for `inline_svg`.
    """
    found: list[str] = []

    def shown(caption: str = "") -> str:
        return figure(found[0], caption) if caption else found[0]

    with matplotlib.rc_context(RC):
        picture, grid = axes_grid(rows, columns, tall, shared)
        yield grid, shown
        found.append(with_chart(picture, inline_svg(picture, prefix)))


def over_sections(*panels: Axes, labels: bool = True) -> None:
    """Panels over the belt's four sections, each with the same width."""
    for ax in panels:
        ax.set_xlim(0.0, 4.0)
        ax.set_xticks([0.5, 1.5, 2.5, 3.5], SECTIONS)
        ax.tick_params(axis="x", length=0, labelbottom=labels)
        for border in (1.0, 2.0, 3.0):
            ax.axvline(border, color=GREY, lw=0.8)


def compared(ax: Axes, time: Array, full: Array, fast: Array, colour: str = COLOURS[0]) -> None:
    """A signal of the full model, coloured, and of the real-time one, red and dashed on top."""
    ax.plot(*thin(time, full), color=colour, lw=1.8)
    ax.plot(*thin(time, fast), color=RIGID, lw=1.1, ls=(0, (4, 3)))


def note_right(ax: Axes, told: str) -> None:
    """A note on the right above a panel."""
    ax.set_title(told, loc="right", fontweight="normal", color=GREY, fontsize=8.5)


def names_beside(ax: Axes) -> None:
    """Names of the curves, next to the panel; long ones in two lines."""
    made = legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8.5, handlelength=1.5)
    for name in made.get_texts():
        if len(name.get_text()) > 18:
            name.set_text(re.sub(r"^(.{8,}?[._ ])", r"\1\n", name.get_text()))


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
