"""Combustion engines, and control of them with a variator, declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import Kind, lazily

__all__ = ["KIND"]


def _files_beside(engine: Any) -> list[Path]:
    """Tables of its own."""
    return [own for own in (engine.folder / engine.torque, engine.folder / engine.fuel) if own.is_file()]


KIND = Kind(
    names=("engine", "cvt_control"),
    title="engines",
    read=lazily("rtcvt.engine.unit:read"),
    fidelities={"rigid": ""},
    build=lazily("rtcvt.engine.unit:build"),
    page=lazily("rtcvt.engine.unit:page"),
    files_beside=_files_beside,
)
