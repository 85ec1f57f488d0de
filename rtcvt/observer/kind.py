"""Observers declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import Kind, lazily


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
)
