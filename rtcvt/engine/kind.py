"""Combustion engines, control of them with a variator, and electric drives declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import Kind, lazily

__all__ = ["KIND"]


def _files_beside(engine: Any) -> list[Path]:
    """Tables of its own."""
    named = [engine.folder / name for name in (engine.torque, engine.fuel, engine.loss) if name]
    return [own for own in named if own.is_file()]


KIND = Kind(
    names=("engine", "cvt_control", "electric_drive"),
    title="engines and electric drives",
    read=lazily("rtcvt.engine.unit:read"),
    fidelities={"rigid": ""},
    build=lazily("rtcvt.engine.unit:build"),
    page=lazily("rtcvt.engine.unit:page"),
    files_beside=_files_beside,
)
