"""Pictures of sweeps: lines over one parameter, maps over two, parallel coordinates of more or of a sample."""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from rtcvt.errors import InputError, near
from rtcvt.recording import optional
from rtcvt.sweeping import read_dataset

MAX_PANELS = 6  # panels


def picture(path: Path, patterns: Sequence[str] | None = None) -> Any:
    """The matplotlib Figure of a sweep's file; None if it is another file.

    Values at the end of each run are drawn, over one parameter also their range in the run.

    Raises
    ------
    InputError
        A signal that it does not have; or no package matplotlib.
    """
    if path.suffix != ".nc":
        return None
    data = read_dataset(path)
    found = [str(name) for name in data.data_vars if name != "status"]
    for pattern in patterns or ():
        if not any(fnmatchcase(name, pattern) for name in found):
            raise InputError(path, "signal", pattern, f"one of its signals{near(pattern, found)}")
    shown = [name for name in found if not patterns or any(fnmatchcase(name, p) for p in patterns)][:MAX_PANELS]
    own = data.coords if "point" in data.dims else data["status"].dims
    axes = [name for name in own if name not in ("statistic", "time", "point")]
    figure = optional("matplotlib.figure").Figure(figsize=(9.0, 2.6 * len(shown)), layout="constrained")
    if "sensitivity" in data["status"].attrs:
        _measures(data, figure, axes, shown)
    elif "time" in data.dims:
        for name, ax in zip(shown, _panels(figure, len(shown)), strict=True):
            values = data[name].values
            ax.plot(data["time"], values.reshape(-1, values.shape[-1]).T, linewidth=0.8)
            ax.set(xlabel="time [s]", ylabel=_label(data, name))
    elif len(axes) == 1 and "point" not in data.dims:
        _lines(data, figure, axes[0], shown)
    elif len(axes) == 2 and "point" not in data.dims and all(data[name].dtype.kind == "f" for name in axes):
        for name, ax in zip(shown, _panels(figure, len(shown)), strict=True):
            drawn = ax.pcolormesh(data[axes[1]], data[axes[0]], data[name].sel(statistic="final"), shading="nearest")
            ax.set(xlabel=_label(data, axes[1]), ylabel=_label(data, axes[0]))
            figure.colorbar(drawn, label=f"{_label(data, name)} at the end")
    else:
        figure.set_size_inches(9.0, 5.0)
        _parallel(data, figure, axes, shown)
    figure.suptitle(data.attrs["title"])
    return figure


def _panels(figure: Any, number: int) -> list[Any]:
    return list(figure.subplots(number, 1, squeeze=False)[:, 0])


def _label(data: Any, name: str) -> str:
    unit = data[name].attrs.get("units", "1")
    return name if unit == "1" else f"{name} [{unit}]"


def _lines(data: Any, figure: Any, axis: str, shown: Sequence[str]) -> None:
    x = data[axis].values
    for name, ax in zip(shown, _panels(figure, len(shown)), strict=True):
        of = {s: data[name].sel(statistic=s).values for s in ("final", "min", "max")}
        ax.plot(x, of["final"], marker="o", markersize=3.0, label="at the end")
        ax.fill_between(x, of["min"], of["max"], alpha=0.2, label="in the run")
        ax.set(xlabel=_label(data, axis), ylabel=_label(data, name))
    if shown:
        ax.legend()


def _measures(data: Any, figure: Any, axes: Sequence[str], shown: Sequence[str]) -> None:
    """What each signal depends on: both measures for each parameter, with intervals of 95 %."""
    found = json.loads(data["status"].attrs["sensitivity"])
    for name, ax in zip(shown, _panels(figure, len(shown)), strict=True):
        measures = [(key, of) for key, of in found.get(name, {}).items() if key in ("S1", "ST", "mu_star", "sigma")]
        for k, (key, values) in enumerate(measures):
            spread = found[name].get(f"{key}_conf")
            ax.bar(np.arange(len(axes)) + 0.4 * k - 0.2, values, 0.4, yerr=spread, label=key, capsize=2.0)
        ax.set_xticks(range(len(axes)), axes)
        ax.set_ylabel(name)
        if measures:
            ax.legend()


def _parallel(data: Any, figure: Any, axes: Sequence[str], shown: Sequence[str]) -> None:
    """Each run as a line through its parameters and results, coloured by the last result."""
    columns = {}
    shape = data["status"].shape
    for k, name in enumerate(axes):
        values = data[name].values
        numbers = values if values.dtype.kind == "f" else np.arange(len(values), dtype=float)
        grid = numbers if "point" in data.dims else numbers.reshape([-1 if j == k else 1 for j in range(len(shape))])
        columns[name] = np.broadcast_to(grid, shape).ravel()
    columns |= {name: data[name].sel(statistic="final").values.ravel() for name in shown}
    ends = {name: (np.nanmin(v), np.nanmax(v)) for name, v in columns.items()}
    scaled = np.column_stack([(v - ends[n][0]) / ((ends[n][1] - ends[n][0]) or 1.0) for n, v in columns.items()])
    ax = figure.subplots()
    colours = optional("matplotlib").colormaps["viridis"]
    for row in scaled[np.argsort(scaled[:, -1])]:
        ax.plot(row, color=colours(row[-1]) if np.isfinite(row[-1]) else "0.7", linewidth=0.8, alpha=0.7)
    ticks = [f"{_label(data, n)}\n{ends[n][0]:.4g} to {ends[n][1]:.4g}" for n in columns]
    ax.set_xticks(range(len(columns)), ticks, rotation=20, fontsize=8)
    ax.set_yticks([])
