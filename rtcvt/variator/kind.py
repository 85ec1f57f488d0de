"""Variators declare themselves."""

import logging
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from rtcvt.errors import ask
from rtcvt.kind import RUNS, Kind, Option, Task, help_texts, lazily
from rtcvt.quantity import to_si


def _files_beside(unit: Any) -> list[Path]:
    """A reduced model of its own."""
    own: Path = unit.folder / unit.reduced
    return [own] if own.is_file() else []


def _build(unit: Any, fidelity: Any, substeps: int | None) -> Any:
    """Build the model; its limits of validity are printed once."""
    from rtcvt.variator.build import build_variator, reduced_path
    from rtcvt.variator.kers_build import build_kers
    from rtcvt.variator.reduced.file import read_reduced

    laws = read_reduced(reduced_path(unit))
    model = (build_variator if unit.controller is None else build_kers)(unit, fidelity, substeps, laws)
    beyond = laws.beyond(unit.ratio.min, unit.ratio.max)
    if beyond:
        _tell("%s: ratio: %s", unit.source, beyond)
    pulleys = tomllib.loads(laws.unit_file).get("pulleys", {})
    for key, of_belt in _OF_BELT.items():
        value, there = unit.values().get(key, 0.0), to_si(pulleys.get(of_belt, 0.0), "m")
        if value and abs(value - there) > 0.02 * abs(value):
            told = f"the belt of the reduced model has pulleys.{of_belt} = {there:.6g} m; is this of another one?"
            ask(unit.source, f"parameters.{key}", value, told)
    return model


_OF_BELT = {
    "belt.offset": "alignment_offset",
    "primary.sheave.R": "r_max",
    "secondary.sheave.R": "r_max",
}  # parameters of the unit that its belt's file has too
_tell = cache(logging.getLogger("rtcvt").warning)

HELP = help_texts(__file__)
KIND = Kind(
    names=("variator",),
    title="variators",
    read=lazily("rtcvt.variator.unit:read_variator"),
    fidelities={"hybrid": "", "rigid": ""},
    build=_build,
    page=lazily("rtcvt.variator.page:variator_page"),
    diagram=lazily("rtcvt.variator.diagram:variator_diagram"),
    choose_flanges=lazily("rtcvt.variator.unit:with_flange_inputs"),
    speed_flanges=lambda unit: unit.flanges.speeds(),
    files_beside=_files_beside,
    check=Task(
        lazily("rtcvt.offline.variator.check_task:check"),
        options=(
            Option("fresh", "Repeat the runs of the full model, in a folder next to the report.", bool, False),
            RUNS,
            Option(
                "pool", "Together with the errors in this file, which --json has written.", Path, metavar="FILE.json"
            ),
        ),
        help=HELP["check"],
    ),
    view=lazily("rtcvt.offline.variator.scene:scene"),
    figures=lazily("rtcvt.offline.variator.check_task:figures"),
    errors=lazily("rtcvt.variator.page:errors"),
    evidence=lazily("rtcvt.variator.page:evidence"),
)
