"""Observers declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import RUNS, Kind, Task, help_texts, lazily


def _files_beside(observer: Any) -> list[Path]:
    """A unit file of its own folder, and files that this needs."""
    from rtcvt.kind import load_unit

    own = observer.folder / observer.of
    return [own, *load_unit(own).files_beside] if own.is_file() else []


KIND = Kind(
    names=("observer",),
    title="observers",
    read=lazily("rtcvt.observer.build:read_observer"),
    fidelities={"rigid": ""},
    build=lazily("rtcvt.observer.build:build_observer"),
    page=lazily("rtcvt.part:page"),
    files_beside=_files_beside,
    check=Task(lazily("rtcvt.offline.variator.observed:check"), options=(RUNS,), help=help_texts(__file__)["check"]),
)
