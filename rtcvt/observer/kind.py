"""Observers declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import RUNS, Kind, Task, lazily


def _files_beside(observer: Any) -> list[Path]:
    """A unit file of its own folder, and files that this needs."""
    from rtcvt.kind import load_unit

    own = observer.folder / observer.of
    return [own, *load_unit(own).files_beside] if own.is_file() else []


HELP = """
An observer of a variator follows recordings of the full model with noise: drives, and transients of the runs that the
variator is checked with. --runs follows other runs and writes their tables next to the report. Exits with code 1 if a
limit is exceeded.

[bold]JSON keys of an observer:[/] unit, failures, figures (name, value, limit: a range), recordings: name, belt,
true_friction, time_s, chi2, and by quantity rms, median, largest, within (share of errors in the band of 90 %), last
(error), last_deviation, least_deviation; step_us."""
KIND = Kind(
    names=("observer",),
    title="observers",
    read=lazily("rtcvt.observer.build:read_observer"),
    fidelities={"rigid": ""},
    build=lazily("rtcvt.observer.build:build_observer"),
    page=lazily("rtcvt.part:page"),
    files_beside=_files_beside,
    check=Task(lazily("rtcvt.offline.variator.observed:check"), options=(RUNS,), help=HELP),
)
