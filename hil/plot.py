"""A recording as a picture: signals over time in panels.

Signals of one unit share a panel, first those of one part of the unit, then those of one kind: the same last part of
the name. Those without a unit share a panel with others of their part, or have one each, since they have nothing in
common; more than `MAX_SINGLES` of them share panels with those of their order of magnitude, since a panel costs more
time than a line. Signals with values 0 and 1 only are bars in one panel. A field, NAME[1] to NAME[n], is a map over
place and time. A panel has `MAX_LINES` lines, each with its own colour; further lines are in the next panel. Of more
than `MAX_SINGLES` signals, those that never change are left out, unless they are named. Where a recording marks an
injected fault (`flags`, 4), the time is shaded. Names are drawn as plain text, see `rtcvt.look`.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import numpy as np

from rtcvt.errors import InputError, near
from rtcvt.hil.recorder import FLAGS
from rtcvt.html import page, text
from rtcvt.look import COLOURS, HAZE, RC, SOFT, as_text, legend, standalone
from rtcvt.recording import Recording, optional, replaced_on_success

PICTURES = (".png", ".svg", ".pdf", ".html")
MAX_COLUMNS = 4000  # columns of a diagram: longer signals show the range in each
MAX_LINES = 6  # lines of a panel
FAULT = 4  # bit of `flags`: a fault is injected
_FIELD = re.compile(r"(.+)\[(\d+)\]")
_CELLS = 8  # smallest number of cells of a field
MAX_SINGLES = 20  # signals without a unit that have a panel each
MAX_HEIGHT = 250.0  # [inch] of a picture: Agg draws 2**16 pixels, and a hundred panels need 15 s


class Panel(NamedTuple):
    """Contents of a panel: lines of one unit, bars of Booleans, or a map of a field."""

    kind: str  # "lines", "bars" or "map"
    label: str
    names: list[str]


def draw(recording: Recording, path: Path, names: Sequence[str] | None = None, title: str = "") -> None:
    """Draw signals of a recording to a picture.

    Parameters
    ----------
    recording : Recording
        The recording.
    path : Path
        PNG, SVG or PDF; or HTML, a page with charts.
    names : sequence of str, optional
        Names of signals; by default all.
    title : str
        Title above the diagrams.

    Raises
    ------
    InputError
        No such signal, another kind of picture, or nothing to draw.
    """
    require_picture(path)
    figure = optional("matplotlib.figure").Figure
    with optional("matplotlib").rc_context(RC):  # ticks are made when they are drawn
        save(draw_on(figure, recording, names, title)[0].figure, path)


def require_picture(path: Path) -> None:
    """Refuse a name of another kind of file."""
    if path.suffix.lower() not in PICTURES:
        raise InputError("output", "", str(path), f"a name that ends in {', '.join(PICTURES)}")


def save(figure: Any, path: Path) -> None:
    """Write a figure; a name that is not a picture's is refused with an InputError."""
    require_picture(path)
    with replaced_on_success(path) as temporary, catch_warnings():
        filterwarnings("ignore", "Glyph")  # a sign that the font does not have is drawn as a box
        drawn, kind = BytesIO(), path.suffix[1:].lower()  # since Matplotlib's PDF does not survive a full disk
        if kind == "html":
            from rtcvt.html.charts import inline_svg, with_chart  # needs Matplotlib

            title = figure.get_suptitle()
            body = f"<h1>{text(title)}</h1>\n{with_chart(figure, inline_svg(figure, 'p'))}"
            drawn.write(page(title, body).encode())
        else:
            with optional("matplotlib").rc_context({"svg.hashsalt": "rtcvt", "svg.fonttype": "path"}):
                figure.savefig(drawn, format=kind, dpi=110)
        made = drawn.getvalue()
        temporary.write_bytes(standalone(made.decode()).encode() if kind == "svg" else made)


def panels(recording: Recording, names: Sequence[str] | None = None) -> list[Panel]:
    """The panels of a recording's signals, in the order in which they are drawn."""
    units: dict[str, list[str]] = {}
    plain: list[str] = []
    bars: list[str] = []
    fields: dict[str, list[str]] = {}
    for name in names or _changing(recording):
        signal, cell = recording.signals[name], _FIELD.fullmatch(name)
        if cell is not None:
            fields.setdefault(cell[1], []).append(name)
        elif signal.unit != "1":
            units.setdefault(signal.unit, []).append(name)
        elif np.isin(signal.values, (0.0, 1.0)).all() and re.search(r"(^|\.)(status|control|flags|stuck)\b", name):
            bars.append(name)
        else:
            plain.append(name)
    for stem, cells in list(fields.items()):
        if len(cells) < _CELLS:
            units.setdefault(recording.signals[cells[0]].unit, []).extend(fields.pop(stem))
    groups = [(unit, group) for unit, of_unit in units.items() for group in _kinds(of_unit)]
    shared: dict[object, list[str]] = {}
    stems = Counter(name.rpartition(".")[0] for name in plain)
    for name in plain:
        size = np.abs(recording.signals[name].values)
        most = np.max(size, initial=0.0, where=np.isfinite(size))
        stem = name.rpartition(".")[0]
        alike = (
            stem
            if stem and stems[stem] > 1
            else name
            if len(plain) <= MAX_SINGLES
            else float(np.ceil(np.log10(most)))
            if most
            else 0.0
        )
        shared.setdefault(alike, []).append(name)
    groups += [("1", group) for group in shared.values()]
    found = [Panel("lines", unit, g[k : k + MAX_LINES]) for unit, g in groups for k in range(0, len(g), MAX_LINES)]
    found += [Panel("bars", "", bars)] if bars else []
    number = {name: int(name[name.rindex("[") + 1 : -1]) for cells in fields.values() for name in cells}
    return found + [Panel("map", stem, sorted(cells, key=number.__getitem__)) for stem, cells in fields.items()]


def _changing(recording: Recording) -> list[str]:
    """Signals with one value at a time; of more than `MAX_SINGLES` of them those that change, if any does."""
    every = [name for name, s in recording.signals.items() if s.values.ndim == 1]
    moving = [
        n for n in every if _FIELD.fullmatch(n) or (v := recording.signals[n].values)[1:].tobytes() != v[:-1].tobytes()
    ]
    return moving if moving and len(every) > MAX_SINGLES else every


def _kinds(names: list[str]) -> list[list[str]]:
    """Signals of one unit by the part that they belong to, if it has several, or by the last part of their name."""
    if len(names) <= MAX_LINES:
        return [names]
    groups: dict[tuple[int, str], list[str]] = {}
    stems, ends = (Counter(name.rpartition(".")[k] for name in names) for k in (0, 2))
    for name in names:
        stem, _, end = name.rpartition(".")
        key = (0, stem) if stem and stems[stem] > 1 else (1, end) if ends[end] > 1 else (2, "")
        groups.setdefault(key, []).append(name)
    return [group for _, group in sorted(groups.items(), key=lambda item: item[0][0])]


def draw_on(
    new: Callable[..., Any], recording: Recording, names: Sequence[str] | None = None, title: str = ""
) -> Sequence[Any]:
    """Draw signals on a figure that `new` makes, as `draw` does; returns the axes."""
    for name in names or ():
        if name not in recording.signals:
            raise InputError("--signal", "", name, f"one of the signals{near(name, recording.signals)}")
        if recording.signals[name].values.ndim != 1:
            raise InputError("--signal", "", name, "a signal with one value at a time")
    if not len(recording.time) or not recording.signals:
        raise InputError("recording", "", title, "a recording with samples")
    shown = panels(recording, names)
    tall = {"lines": 1.6, "map": 2.2}
    heights = [1.1 if len(p.names) == 1 else tall.get(p.kind, 0.25 * len(p.names) + 0.4) for p in shown]
    if sum(heights) > MAX_HEIGHT:
        found = f"{sum(len(p.names) for p in shown)} signals in {len(shown)} panels"
        raise InputError("recording", title, found, "fewer in one picture; name them with --signal")
    from matplotlib import rc_context

    with rc_context(RC):
        return _drawn(
            new(figsize=(11, sum(heights) + 0.9), layout="constrained"), recording, shown, heights, title, bool(names)
        )


def _drawn(
    figure: Any, recording: Recording, shown: list[Panel], heights: list[float], title: str, named: bool
) -> Sequence[Any]:
    """The axes of panels on a figure."""
    axes: Sequence[Any] = figure.subplots(len(shown), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    faults = _faults(recording)
    for ax, panel in zip(axes, shown, strict=True):
        _DRAWN[panel.kind](ax, recording, panel)
        for begin, end in faults if panel.kind != "map" else ():
            ax.axvspan(begin, end, color=HAZE, alpha=0.35, lw=0, zorder=0)
    left_out = sum(s.values.ndim == 1 for s in recording.signals.values()) - sum(len(p.names) for p in shown)
    notes = ["shaded: a fault is injected"] if faults else []
    notes += [f"{left_out} signals that do not change are left out"] if left_out and not named else []
    axes[0].set_title("; ".join(notes), loc="right", fontsize="small", color=SOFT, fontweight="normal")
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(as_text(title))
    return axes


def _lines(ax: Any, recording: Recording, panel: Panel) -> None:
    single = len(panel.names) == 1
    lines = [
        ax.plot(*_thinned(recording.time, recording.signals[name].values), label=name, color=colour, linewidth=0.9)[0]
        for name, colour in zip(panel.names, COLOURS, strict=False)
    ]
    unit = recording.signals[panel.names[0]].unit
    ax.set_ylabel("" if unit == "1" else as_text(unit))
    legend(ax, lines, loc="upper left", bbox_to_anchor=(1.0, 1.1 if single else 1.0), fontsize="small",
          frameon=False)  # fmt: skip


def _bars(ax: Any, recording: Recording, panel: Panel) -> None:
    for row, (name, colour) in enumerate(zip(panel.names, COLOURS * len(panel.names), strict=False)):
        spans = _spans(recording.time, recording.signals[name].values > 0.0)
        ax.broken_barh([(begin, end - begin) for begin, end in spans], (row - 0.35, 0.7), color=colour)
    ax.set_yticks(range(len(panel.names)), [as_text(name) for name in panel.names], fontsize="small")
    ax.yaxis.tick_right()
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(panel.names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def _map(ax: Any, recording: Recording, panel: Panel) -> None:
    stride, n = -(-len(recording.time) // 1000), len(panel.names)
    values = np.stack([recording.signals[name].values[::stride] for name in panel.names])
    low, high = (float(v) for v in np.percentile(values, (0.1, 99.9)))
    signed = low < -0.02 * abs(high)
    most = max(abs(low), abs(high)) or 1.0
    image = ax.imshow(
        values, aspect="auto", origin="lower", extent=(recording.time[0], recording.time[-1], 0.5, n + 0.5),
        cmap="RdBu_r" if signed else "viridis", vmin=-most if signed else min(low, 0.0), vmax=most if signed else high,
        interpolation="nearest",
    )  # fmt: skip
    ax.grid(visible=False)
    ax.set_ylabel("cell")
    ax.set_title(as_text(panel.label), loc="left", fontsize="small")
    ax.figure.colorbar(image, ax=ax, label=as_text(recording.signals[panel.names[0]].unit), pad=0.01)


_DRAWN: dict[str, Callable[[Any, Recording, Panel], None]] = {"lines": _lines, "bars": _bars, "map": _map}


def _faults(recording: Recording) -> list[tuple[float, float]]:
    """When faults were injected."""
    flags = next((s for s in recording.signals.values() if s.description == FLAGS), None)
    return [] if flags is None else _spans(recording.time, flags.values.astype(np.int64) & FAULT > 0)


def _spans(time: np.ndarray, on: np.ndarray) -> list[tuple[float, float]]:
    """Begin and end of the intervals in which `on` is true; a value is valid until the next."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    later = np.append(time, time[-1])
    return [(float(later[a]), float(later[b])) for a, b in edges.reshape(-1, 2)]


def _thinned(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of each of `MAX_COLUMNS` stretches, so that no spike is lost."""
    stretch = -(-len(time) // MAX_COLUMNS)
    if stretch < 3:
        return time, values
    n = len(time) // stretch * stretch
    blocks = values[:n].reshape(-1, stretch)
    ends = np.column_stack([np.fmin.reduce(blocks, axis=1), np.fmax.reduce(blocks, axis=1)]).ravel()
    begin_and_middle = np.column_stack([time[:n:stretch], time[stretch // 2 : n : stretch]]).ravel()
    return np.append(begin_and_middle, time[n:]), np.append(ends, values[n:])
