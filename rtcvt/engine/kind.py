"""Engines, converters, their control with a variator or a gearbox, and electric drives declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import Kind, lazily


def _files_beside(engine: Any) -> list[Path]:
    """The engine's own tables and box, and files that the box needs."""
    from rtcvt.kind import load_unit

    keys = ("torque", "fuel", "loss", "battery", "up", "down", "curves", "box")
    own = [engine.folder / name for name in (getattr(engine, key) for key in keys) if name]
    own = [file for file in own if file.is_file()]
    boxes = [file for file in own if engine.box and file == engine.folder / engine.box]
    return [*own, *(file for box in boxes for file in load_unit(box).files_beside)]


KIND = Kind(
    names=("engine", "cvt_control", "shift_control", "torque_converter", "electric_drive"),
    title="engines and electric drives", read=lazily("rtcvt.engine.unit:read"), fidelities={"rigid": ""},
    build=lazily("rtcvt.engine.unit:build"), page=lazily("rtcvt.part:page"), files_beside=_files_beside,
)  # fmt: skip
