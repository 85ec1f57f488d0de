"""Systems declare themselves."""

from pathlib import Path
from typing import Any

from rtcvt.kind import Kind, Option, Task, help_texts, lazily


def _files_beside(system: Any) -> list[Path]:
    """The system's own unit files, and files that these need."""
    from rtcvt.kind import load_unit

    own = [system.folder / c.unit for c in system.components.values() if c.unit and (system.folder / c.unit).is_file()]
    fmus = [system.folder / c.fmu for c in system.components.values() if c.fmu]
    laws = [c.law for c in system.components.values() if c.law is not None]
    named = [name for law in laws for name in law.files]
    return [
        *own,
        *fmus,
        *(system.folder / name for name in named),
        *(file for unit in own for file in load_unit(unit).files_beside),
    ]


HELP = help_texts(__file__)
KIND = Kind(
    names=("system",),
    title="systems",
    read=lazily("rtcvt.network.file:read_system"),
    fidelities={"system": ""},
    build=lazily("rtcvt.network.model:build_system"),
    files_beside=_files_beside,
    map=Task(
        lazily("rtcvt.offline.system_map:map_system"),
        options=(
            Option("scenario", "That is run; default: the first.", metavar="NAME"),
            Option("shaft", "Output: speed of the shaft; default: of the engine's crank.", metavar="NAME"),
            Option("orders", "Engine orders, separated by commas; default: 0.5,1,2,4."),
            Option("points", "Of the run at which the system is linearised; default: 200.", int, minimum=1),
        ),
        help=HELP["map"],
    ),
    check=Task(lazily("rtcvt.offline.systems:check"), takes=("settings", "scenario"), help=HELP["check"]),
)
