"""Parts of a vehicle declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import Kind, lazily


def _files_beside(part: Any) -> list[Path]:
    """A driving cycle of its own."""
    own: Path | None = None if part.cycle is None else part.folder / part.cycle
    return [own] if own is not None and own.is_file() else []


def _build(part: Any, fidelity: str, substeps: int | None) -> Any:
    from rtcvt.vehicle.parts import build_part

    return build_part(part, substeps)


KIND = Kind(
    names=("vehicle", "driveline", "driver", "cycle", "pump", "tyred_vehicle", "dual_mass_flywheel"),
    title="parts of a vehicle",
    read=lazily("rtcvt.vehicle.parts:read_part"),
    fidelities={"rigid": ""},
    build=_build,
    page=lazily("rtcvt.part:page"),
    files_beside=_files_beside,
)
