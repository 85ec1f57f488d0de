"""Which record and which model belong to the kind of a unit file."""

from pathlib import Path

from rtcvt.belt.model import build_belt
from rtcvt.belt.unit import BeltUnit, load_belt_unit, read_belt_unit
from rtcvt.errors import InputError
from rtcvt.model import Fidelity, Model
from rtcvt.pog.system import build_model
from rtcvt.unitfile import Unit, find_unit, load_unit, parse_toml, read_toml, read_unit
from rtcvt.vehicle.parts import KINDS, Part, build_part, load_part, read_part

__all__ = ["AnyUnit", "build_any", "default_fidelity", "load_any", "read_any"]

AnyUnit = Unit | Part | BeltUnit


def load_any(name: str | Path) -> AnyUnit:
    """Read and validate a unit file, or a shipped unit, of any kind that has a real-time model of its own.

    Raises
    ------
    InputError
        The file is missing, not TOML, not a valid unit, or of a kind that has only an offline model.
    """
    path = find_unit(str(name))
    kind = read_toml(path)[0].get("kind")
    if kind == "pushbelt":
        allowed = f"a kind with a real-time model: gear_system, belt, {', '.join(KINDS)}"
        raise InputError(path.name, "kind", kind, allowed)
    if kind == "belt":
        return load_belt_unit(path)
    return load_part(path) if kind in KINDS else load_unit(path)


def read_any(text: str, source: str) -> AnyUnit:
    """Validate the text of a unit file of any kind; `source` names it in messages.

    Raises
    ------
    InputError
        Not TOML, or not a valid unit.
    """
    data = parse_toml(text, source)
    if data.get("kind") == "belt":
        return read_belt_unit(data, text, source)
    return read_part(text, source) if data.get("kind") in KINDS else read_unit(text, source)


def default_fidelity(unit: AnyUnit) -> Fidelity:
    """The model that a unit runs if nothing else is asked of it: of belt drives hybrid, else rigid."""
    return "hybrid" if isinstance(unit, BeltUnit) else "rigid"


def build_any(unit: AnyUnit, fidelity: Fidelity | None = None, substeps: int | None = None) -> Model:
    """The real-time model of a unit, by default of `default_fidelity`.

    Raises
    ------
    InputError
        The unit has no such model, or see `build_model`, `build_belt` and `build_part`.
    """
    fidelity = fidelity or default_fidelity(unit)
    if isinstance(unit, BeltUnit):
        return build_belt(unit, fidelity, substeps)
    if isinstance(unit, Unit):
        return build_model(unit, fidelity, substeps)
    if fidelity != "rigid":
        raise InputError(unit.source, "model", fidelity, f"'rigid': a unit of kind '{unit.kind}' has one model")
    return build_part(unit, substeps)
