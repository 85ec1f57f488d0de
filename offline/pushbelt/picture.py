"""A run of the full model as one picture: forces and motion over the belt, and the pulleys over time.

The first six diagrams are those of Cebulla 2014, Figs. 7.2 to 7.4: contact forces of an element over the belt
coordinate, primary arc to slack span, each section with the same width. Lines are means over the last window, or over
each window of a run with branches; grey is one element on its last way round. A field is a force per length of belt;
times the thickness t_R it is the force on an element. A spatial belt also has its elements' roll, yaw and place out of
the plane, which its misalignment makes. Friction along the belt is that on the pulley, as in the source.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.html import COLOURS
from rtcvt.look import AS_TEXT, FAINT, GREY, as_text
from rtcvt.offline.pictures import over_sections
from rtcvt.offline.pushbelt.run.reading import element_forces, element_history, figures, open_run, run_of
from rtcvt.offline.pushbelt.run.snapshots import CELLS, SECTIONS
from rtcvt.offline.pushbelt.run.windows import STEADY, belt_of, edge_ratio

Array = NDArray[np.float64]

_PLACE = (np.arange(4 * CELLS) + 0.5) / CELLS
_FORCES = (  # field, title, sign, column of `HISTORY`
    ("flank_normal", "element-pulley, normal", 1.0, 0),
    ("push", "element-element, normal", 1.0, 3),
    ("flank_longitudinal", "element-pulley, longitudinal friction", -1.0, 1),
    ("ring_normal", "element-ring, normal", 1.0, 4),
    ("flank_radial", "element-pulley, radial friction", 1.0, 2),
    ("ring_friction", "element-ring, longitudinal friction", 1.0, 5),
)
_MOTION = (
    ("tension of the ring", "N", 1.0, {"tension": ""}),
    ("off the taut path", "µm", 1e6, {"ring_offset": "ring", "element_offset": "elements"}),
    (
        "slip",
        "mm/s",
        1e3,
        {"slip_longitudinal": "flank, along", "slip_radial": "flank, outwards", "slip_ring": "saddle on ring"},
    ),
)


def picture(path: Path) -> Figure:
    """The picture of a run's file, also of one that still grows.

    Raises
    ------
    InputError
        A damaged file, or one without frames.
    """
    with open_run(path) as file:
        if len(file["time"]) < 2:
            raise InputError(path, "", None, "a run with two frames or more")
        return _drawn(file)


def _drawn(file: h5py.File) -> Figure:
    fields = f"fields/{_FORCES[0][0]}" in file
    across = "spatial/angle" in file and "elements/sigma" in file
    rows = (7 if fields else 2) + across
    figure = Figure(figsize=(11.0, 2.0 * rows + 0.7), layout="constrained")
    grid = figure.subplots(rows, 2, squeeze=False)
    if fields:
        windows = _windows(file)
        for ax, (name, title, sign, column) in zip(grid[:3].ravel(), _FORCES, strict=True):
            _force(ax, file, windows, name, sign, column)
            ax.set_title(title, loc="left", fontsize=9.5, fontweight="bold")
        grid[0, 1].legend(fontsize=8, frameon=False)
        for ax, (title, unit, size, names) in zip(grid[3:5].ravel(), _MOTION, strict=False):
            _along(ax, f"{title} [{unit}]")
            for k, (name, label) in enumerate(names.items()):
                ax.plot(_PLACE, size * windows[-1][1](name), color=COLOURS[k], lw=1.3, label=label)
            if len(names) > 1:
                ax.legend(fontsize=8, frameon=False, ncols=len(names))
        _map(figure, grid[4, 1], file)
    if across:
        _across(file, *grid[-3])
    _times(file, grid[-2:])
    return _titled(figure, file)


def _titled(figure: Figure, file: h5py.File) -> Figure:
    found = figures(file)
    about = f"{found['unit']}, {run_of(file).name}, {found['scheme']} scheme"
    if "ratio" in found:
        about += f": ratio {found['ratio']:.3f}, thrust ratio {found['thrust_ratio']:.3f}, slip {found['slip']:.2%}"
    with rc_context(AS_TEXT):
        figure.suptitle(as_text(f"{about} ({found['status']})"), fontsize=11)
    return figure


def _windows(file: h5py.File) -> list[tuple[str, Any]]:
    """Windows as their label and a function that gives the mean of a field (cells,)."""
    found: list[tuple[str, Any]] = []
    branches = run_of(file).branches
    for k in range(STEADY, len(file["window/first"])):
        first, behind = int(file["window/first"][k]), int(file["window/behind"][k])
        if behind > first and len(found) < len(COLOURS):
            label = "mean" if not branches else "settled" if k == STEADY else f"y = {branches[k - 2].y_I:.3g}"
            found.append((label, lambda name, k=k: file[f"mean/{name}"][k].astype(float)))
    if found:
        return found
    last = max(1, len(file["time"]) // 5)
    return [("mean", lambda name: file[f"fields/{name}"][-last:].mean(axis=0).astype(float))]


def _along(ax: Axes, label: str) -> None:
    over_sections(ax)
    ax.axhline(0.0, color=GREY, lw=0.8)
    ax.set_ylabel(label)


def _force(ax: Axes, file: h5py.File, windows: list[tuple[str, Any]], name: str, sign: float, column: int) -> None:
    """A contact force of one element over the belt [N]."""
    _along(ax, "N")
    if "elements/sigma" in file:
        sigma, forces = _one_element(file)
        cut = np.flatnonzero(np.diff(sigma) < -0.5) + 1
        one = np.insert(sign * forces[:, column], cut, np.nan)
        ax.plot(np.insert(sigma, cut, np.nan), one, color=FAINT, lw=0.7, label="one element", zorder=1)
    size = sign * (1.0 if name == "push" else belt_of(file)["t_R"])
    for k, (label, mean) in enumerate(windows):
        ax.plot(_PLACE, size * mean(name), color=COLOURS[k], lw=1.5, label=label)


def _one_element(file: h5py.File) -> tuple[Array, Array]:
    """Place and forces of an element on its last whole way round, or for all the time there is."""
    try:
        found = element_history(file, 0)
        return found.sigma, found.forces
    except InputError:
        return file["elements/sigma"][:, 0], element_forces(file, 0)


def _map(figure: Figure, ax: Axes, file: h5py.File) -> None:
    """The flank normal force over belt and time."""
    time, field = file["time"][()], file["fields/flank_normal"]
    stride = -(-len(time) // 800)
    values = field[::stride].astype(float).T * belt_of(file)["t_R"]
    image = ax.imshow(
        values, aspect="auto", origin="lower", cmap="viridis", extent=(time[0], time[-1], 0.0, 4.0),
        vmin=0.0, vmax=float(np.percentile(values, 99.8)) or 1.0, interpolation="nearest",
    )  # fmt: skip
    ax.set_yticks([0.5, 1.5, 2.5, 3.5], SECTIONS)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("time [s]")
    figure.colorbar(image, ax=ax, label="element-pulley, normal [N]", pad=0.01)


def _across(file: h5py.File, angles: Axes, place: Axes) -> None:
    """Roll, yaw and place out of the plane of each element at the end of a run of a spatial belt."""
    order = np.argsort(file["elements/sigma"][-1])
    sigma = file["elements/sigma"][-1][order]
    _along(angles, "at the end [mrad]")
    for k, name in enumerate(("roll", "yaw")):
        angles.plot(sigma, 1e3 * file["spatial/angle"][-1][order, k], color=COLOURS[k], lw=1.0, label=name)
    angles.legend(fontsize=8, frameon=False, ncols=2)
    _along(place, "out of the plane at the end [mm]")
    place.plot(sigma, 1e3 * file["spatial/position"][-1][order], color=COLOURS[2], lw=1.0)


def _times(file: h5py.File, grid: Any) -> None:
    """Pulleys over time."""
    time, speed = file["time"][()], file["sheaves/speed"][()]
    ratio = edge_ratio(file["grid/radius"][()], belt_of(file))
    pairs = (
        ("clamping force [kN]", 1e-3 * file["pulleys/clamping_force"][()]),
        ("shaft torque [N.m]", file["pulleys/shaft_torque"][()]),
        ("speed [rad/s]", speed),
    )
    for ax, (label, values) in zip(grid.ravel(), pairs, strict=False):
        for k, name in enumerate(("primary", "secondary")):
            ax.plot(time, values[:, k], color=COLOURS[k], lw=1.0, label=name)
        ax.set_ylabel(label)
    grid.ravel()[0].legend(fontsize=8, frameon=False)
    last = grid.ravel()[3]
    last.plot(time, ratio, color=COLOURS[2], lw=1.0)
    last.ticklabel_format(axis="y", useOffset=False)
    last.set_ylabel("ratio", color=COLOURS[2])
    slip = last.twinx()
    slip.plot(time, 100.0 * (1.0 - ratio * speed[:, 1] / speed[:, 0]), color=COLOURS[3], lw=0.7)
    slip.set_ylabel("slip [%]", color=COLOURS[3])
    phase = file["phase"][()]
    for ax in grid.ravel():
        ax.grid(True, lw=0.3)
        ax.set_xlim(time[0], time[-1])
        for begin in time[np.flatnonzero(np.diff(phase))]:
            ax.axvline(begin, color=GREY, lw=0.8, ls=(0, (4, 3)))
    for ax in grid[-1]:
        ax.set_xlabel("time [s]; dashed: a branch begins" if phase.any() else "time [s]")
