"""What full models of belt drives are given: inputs at the flanges of pulleys, and a file in which a run continues."""

import json
from pathlib import Path
from typing import Any

from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.model import Variable, VariableTable
from rtcvt.recording import Recording, read_recording
from rtcvt.scenario import Scenario

_INPUTS = {"torque": ("tau", "N.m"), "speed": ("w", "rad/s")}  # by flange: end of the name, unit


def driven(unit: BeltUnit) -> tuple[list[int], VariableTable]:
    """Pulleys that a torque or a speed drives, and their inputs in this order."""
    found = [(i, name, *_INPUTS[p.flange]) for i, (name, p) in enumerate(unit.pulleys.items()) if p.flange in _INPUTS]
    rows = (Variable(f"{name}.{end}", "input", k, si, "", 0.0) for k, (_, name, end, si) in enumerate(found))
    return [i for i, *_ in found], VariableTable(unit.name, tuple(rows))


def recording_of(path: Path, unit: BeltUnit, scenario: Scenario, **expected: Any) -> Recording:
    """The recording of a run of this unit and scenario, whose duration may have changed, with `expected` attributes.

    Raises
    ------
    InputError
        Another file.
    """
    recording = read_recording(path)
    about = recording.attributes
    held = about | {"unit_file": recording.unit_file, "scenario": _without_duration(str(about.get("scenario", "{}")))}
    wanted = {"unit_file": unit.text, "scenario": _without_duration(scenario.model_dump_json())}
    for key, value in (wanted | expected).items():
        if key not in held or held[key] != value:
            raise InputError(path, key, None, f"a run of {unit.name} with the same unit file, scenario and mesh")
    return recording


def _without_duration(text: str) -> str:
    """A scenario as JSON text, but for its duration."""
    return json.dumps({k: v for k, v in json.loads(text).items() if k != "duration"})
