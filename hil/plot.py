"""A recording as a picture: signals over time, one diagram for each unit."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtcvt.errors import InputError
from rtcvt.recording import Recording, replaced_on_success

__all__ = ["draw"]

PICTURES = (".png", ".svg", ".pdf")
POINTS = 4000  # columns of a diagram: longer signals show the range in each


def draw(recording: Recording, path: Path, names: Sequence[str] | None = None, title: str = "") -> None:
    """Draw signals of a recording to a picture.

    Parameters
    ----------
    recording : Recording
        What to draw.
    path : Path
        PNG, SVG or PDF.
    names : sequence of str, optional
        Which signals; by default all.
    title : str
        Above the diagrams.

    Raises
    ------
    InputError
        No such signal, another kind of picture, or nothing to draw.
    """
    from matplotlib.figure import Figure

    if path.suffix.lower() not in PICTURES:
        raise InputError("output", "", str(path), f"a name that ends in {', '.join(PICTURES)}")
    for name in names or ():
        if name not in recording.signals:
            raise InputError("--signal", "", name, f"one of {', '.join(recording.signals)}")
    if not len(recording.time) or not recording.signals:
        raise InputError("recording", "", title, "one that holds samples")
    units: dict[str, list[str]] = {}
    for name in names or recording.signals:
        units.setdefault(recording.signals[name].unit, []).append(name)
    figure = Figure(figsize=(10, 2.2 * len(units) + 0.8), layout="constrained")
    axes = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (unit, group) in zip(axes, units.items(), strict=True):
        for name in group:
            ax.plot(*_thinned(recording.time, recording.signals[name].values), label=name, linewidth=0.9)
        ax.set_ylabel("" if unit == "1" else unit)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
        ax.grid(True, linewidth=0.3)
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(title)
    with replaced_on_success(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=110)


def _thinned(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of each of `POINTS` stretches, so that no spike is lost."""
    stretch = -(-len(time) // POINTS)
    if stretch < 3:
        return time, values
    n = len(time) // stretch * stretch
    blocks = values[:n].reshape(-1, stretch)
    ends = np.column_stack([np.fmin.reduce(blocks, axis=1), np.fmax.reduce(blocks, axis=1)]).ravel()
    return np.append(np.repeat(time[:n:stretch], 2), time[n:]), np.append(ends, values[n:])
