"""Which record and which model belong to the kind of a unit file."""

from collections.abc import Mapping
from pathlib import Path

from rtcvt.belt.model import build_belt
from rtcvt.belt.unit import BeltUnit, load_belt_unit, read_belt_unit
from rtcvt.errors import InputError
from rtcvt.model import Fidelity, Model
from rtcvt.pog.flange import with_flanges
from rtcvt.pog.system import build_model
from rtcvt.unitfile import Unit, find_unit, load_unit, parse_toml, read_toml, read_unit
from rtcvt.variator.build import build_variator
from rtcvt.variator.kers_build import build_kers
from rtcvt.variator.unit import Variator, load_variator, read_variator, with_flange_inputs
from rtcvt.vehicle.parts import KINDS, Part, build_part, load_part, read_part

__all__ = [
    "AnyUnit",
    "build_any",
    "choose_flanges",
    "default_fidelity",
    "files_beside",
    "load_any",
    "read_any",
    "speed_flanges",
]

AnyUnit = Unit | Part | BeltUnit | Variator


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
        allowed = f"a kind with a real-time model: gear_system, belt, variator, {', '.join(KINDS)}"
        raise InputError(path.name, "kind", kind, allowed)
    if kind == "belt":
        return load_belt_unit(path)
    if kind == "variator":
        return load_variator(path)
    return load_part(path) if kind in KINDS else load_unit(path)


def read_any(text: str, source: str) -> AnyUnit:
    """Validate the text of a unit file of any kind; `source` names it in messages.

    Raises
    ------
    InputError
        Not TOML, or not a valid unit.
    """
    data = parse_toml(text, source)
    kind = data.get("kind")
    if kind == "belt":
        return read_belt_unit(data, text, source)
    if kind == "variator":
        return read_variator(text, source)
    return read_part(text, source) if kind in KINDS else read_unit(text, source)


def choose_flanges(unit: AnyUnit, choice: Mapping[str, str], source: str) -> AnyUnit:
    """The unit with other causalities of its flanges, see `with_flanges` and `with_flange_inputs`.

    Raises
    ------
    InputError
        There is no such flange, or no choice.
    """
    if not choice:
        return unit
    if isinstance(unit, Unit):
        return with_flanges(unit, choice, source)
    if isinstance(unit, Variator):
        return with_flange_inputs(unit, choice, source)
    name, given = next(iter(choice.items()))
    raise InputError(source, name, given, f"no choice in a unit of kind '{unit.kind}'")


def speed_flanges(unit: AnyUnit) -> dict[str, str]:
    """The flanges into which a speed goes through a coupling, as a choice for `choose_flanges`."""
    if isinstance(unit, Unit):
        return {name: "speed" for name, port in unit.ports.items() if port.coupled}
    return unit.flanges.speeds() if isinstance(unit, Variator) else {}


def files_beside(unit: AnyUnit) -> list[Path]:
    """Files of its own folder that a unit needs: a reduced model, a driving cycle."""
    if not isinstance(unit, Part | Variator):
        return []
    name = unit.reduced if isinstance(unit, Variator) else unit.cycle
    own = unit.folder / name if name is not None else None
    return [own] if own is not None and own.is_file() else []


def default_fidelity(unit: AnyUnit) -> Fidelity:
    """The model that a unit runs if nothing else is asked of it: of belts and variators hybrid, else rigid."""
    return "hybrid" if isinstance(unit, BeltUnit | Variator) else "rigid"


def build_any(unit: AnyUnit, fidelity: Fidelity | None = None, substeps: int | None = None) -> Model:
    """The real-time model of a unit, by default of `default_fidelity`.

    Raises
    ------
    InputError
        The unit has no such model, or see `build_model`, `build_belt`, `build_variator` and `build_part`.
    """
    fidelity = fidelity or default_fidelity(unit)
    if isinstance(unit, Variator):
        build = build_variator if unit.controller is None else build_kers
        return build(unit, fidelity, substeps)
    if isinstance(unit, BeltUnit):
        return build_belt(unit, fidelity, substeps)
    if isinstance(unit, Unit):
        return build_model(unit, fidelity, substeps)
    if fidelity != "rigid":
        raise InputError(unit.source, "model", fidelity, f"'rigid': a unit of kind '{unit.kind}' has one model")
    return build_part(unit, substeps)
