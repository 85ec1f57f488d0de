"""Which record and which model belong to the kind of a unit file."""

from pathlib import Path

from rtcvt.errors import InputError
from rtcvt.model import Fidelity, Model
from rtcvt.pog.system import build_model
from rtcvt.unitfile import Unit, find_unit, load_unit, parse_toml, read_toml, read_unit
from rtcvt.vehicle.parts import KINDS, Part, build_part, load_part, read_part

__all__ = ["AnyUnit", "build_any", "load_any", "read_any"]

AnyUnit = Unit | Part


def load_any(name: str | Path) -> AnyUnit:
    """Read and validate a unit file, or a shipped unit, of any kind that has a real-time model of its own.

    Raises
    ------
    InputError
        The file is missing, not TOML, not a valid unit, or of a kind that has only an offline model.
    """
    path = find_unit(str(name))
    kind = read_toml(path)[0].get("kind")
    if kind in ("belt", "pushbelt"):
        raise InputError(path.name, "kind", kind, f"a kind with a real-time model: gear_system, {', '.join(KINDS)}")
    return load_part(path) if kind in KINDS else load_unit(path)


def read_any(text: str, source: str) -> AnyUnit:
    """Validate the text of a unit file of any kind; `source` names it in messages.

    Raises
    ------
    InputError
        Not TOML, or not a valid unit.
    """
    return read_part(text, source) if parse_toml(text, source).get("kind") in KINDS else read_unit(text, source)


def build_any(unit: AnyUnit, fidelity: Fidelity = "rigid", substeps: int | None = None) -> Model:
    """The real-time model of a unit.

    Raises
    ------
    InputError
        The unit has no such model, or see `build_model` and `build_part`.
    """
    if isinstance(unit, Unit):
        return build_model(unit, fidelity, substeps)
    if fidelity != "rigid":
        raise InputError(unit.source, "model", fidelity, f"'rigid': a unit of kind '{unit.kind}' has one model")
    return build_part(unit, substeps)
