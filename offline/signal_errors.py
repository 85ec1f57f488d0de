"""Errors of a model's signals against those of a finer model, where the transients of the finer one have decayed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.limits import ErrorRow
from rtcvt.simulate import Result

SIGNAL_FLOOR = 0.01  # of the largest signal of a kind: below, errors are relative to this


def signal_errors(
    coarse: Result, fine: Result, names: Sequence[str], limit: float, counted: NDArray[np.bool_]
) -> list[ErrorRow]:
    """RMS errors of signals of one kind over the samples that count, relative to max|fine|.

    A signal that is nearly zero is compared with a hundredth of the largest of its kind.
    """
    largest = max((float(np.max(np.abs(fine[n]))) for n in names), default=0.0)
    rows = []
    for name in names:
        off = np.abs(coarse[name] - fine[name])
        scale = max(float(np.max(np.abs(fine[name]))), SIGNAL_FLOOR * largest, 1e-12)
        rows.append(ErrorRow(
            fine.scenario.name, name, fine.model.by_name[name].unit,
            float(np.sqrt(np.mean(off[counted] ** 2)) / scale), limit,
            peak=float(off[counted].max()), transient=float(off[~counted].max(initial=0.0)), scale=scale,
        ))  # fmt: skip
    return rows


def told(e: ErrorRow) -> dict[str, Any]:
    """An error ready for JSON."""
    keys = {"scenario": e.scenario, "signal": e.name, "unit": e.unit}
    return keys | {"nrms": e.nrms, "peak": e.peak, "limit": e.limit}


def settled(settle: float, *runs: Result) -> NDArray[np.bool_]:
    """Samples that are later than `settle` [s] after the start and after each change of limits and clutches that hold.

    A change counts in each of the runs: with errors of the models it comes earlier or later.

    Raises
    ------
    InputError
        None are left.
    """
    time = runs[0].time
    counted = time >= settle
    for run in runs:
        changed = np.diff(run.status[1:]) != 0
        for v in run.model.select("output"):
            if v.name.endswith(".stuck"):
                changed |= np.diff(run[v.name][1:]) != 0.0
        for k in np.flatnonzero(changed) + 2:
            counted &= (time < time[k]) | (time >= time[k] + settle)
    if not counted.any():
        raise InputError(f"scenario '{runs[0].scenario.name}'", "settle", settle,
                         "less time, or inputs that run into the limits less often: no sample counts")  # fmt: skip
    return counted


def printed_errors(title: str, errors: Sequence[ErrorRow]) -> Table:
    """Errors for the terminal."""
    shown = Table("signal", "RMS error", "allowed", "largest", title=escape(title), title_justify="left")
    for e in errors:
        share = f"[{'green' if e.holds else 'red'}]{e.nrms:.3%}[/]"
        shown.add_row(e.name, share, f"{e.limit:.1%}", f"{e.peak:.3g} {e.unit}")
    return shown
