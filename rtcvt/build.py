"""Units of any kind: from file to record and from record to real-time model, as the kind declares it."""

from collections.abc import Mapping
from pathlib import Path

from rtcvt.errors import InputError
from rtcvt.kind import Kind, Unit, kind_named, kind_of_file, kinds, names_of
from rtcvt.model import Fidelity, Model
from rtcvt.unitfile import UnitFile, read_unit_file

__all__ = [
    "build_any",
    "choose_flanges",
    "default_fidelity",
    "fidelities",
    "files_beside",
    "load_any",
    "read_any",
    "real_time_kind",
    "speed_flanges",
]


def load_any(name: str | Path) -> Unit:
    """Read and validate a unit file, or a shipped unit, of any kind.

    Raises
    ------
    InputError
        The file is missing, not TOML, or not a valid unit.
    """
    return read_any(read_unit_file(name))


def read_any(file: UnitFile) -> Unit:
    """Validate a unit file of any kind.

    Raises
    ------
    InputError
        Not a valid unit, or of an unknown kind.
    """
    unit: Unit = kind_of_file(file).read(file)
    return unit


def real_time_kind(unit: Unit) -> Kind:
    """The kind of a unit that has a real-time model.

    Raises
    ------
    InputError
        It has none.
    """
    kind = kind_named(unit.kind)
    if kind.build is None:
        allowed = f"a kind with a real-time model: {names_of(k for k in kinds() if k.build)}"
        raise InputError(unit.source, "kind", unit.kind, allowed)
    return kind


def choose_flanges(unit: Unit, choice: Mapping[str, str], source: str) -> Unit:
    """The unit with other causalities of its flanges.

    Raises
    ------
    InputError
        There is no such flange, or no choice.
    """
    if not choice:
        return unit
    chosen: Unit = kind_named(unit.kind).choose_flanges(unit, choice, source)
    return chosen


def speed_flanges(unit: Unit) -> dict[str, str]:
    """The flanges into which a speed goes through a coupling, as a choice for `choose_flanges`."""
    return kind_named(unit.kind).speed_flanges(unit)


def files_beside(unit: Unit) -> list[Path]:
    """Files of its own folder that a unit needs: a reduced model, a driving cycle."""
    return kind_named(unit.kind).files_beside(unit)


def default_fidelity(unit: Unit) -> Fidelity:
    """The model that a unit runs if nothing else is asked of it.

    Raises
    ------
    InputError
        The unit has no real-time model.
    """
    return next(iter(real_time_kind(unit).fidelities))


def fidelities(unit: Unit) -> tuple[Fidelity, ...]:
    """The real-time models that a unit has, the default one first; none if its kind has none."""
    kind = kind_named(unit.kind)
    return tuple(f for f in kind.fidelities if kind.has(unit, f))


def build_any(unit: Unit, fidelity: Fidelity | None = None, substeps: int | None = None) -> Model:
    """The real-time model of a unit, by default of `default_fidelity`.

    Raises
    ------
    InputError
        The unit has no such model, or it cannot be built.
    """
    kind = real_time_kind(unit)
    chosen = fidelity or default_fidelity(unit)
    if chosen not in kind.fidelities:
        raise InputError(unit.source, "model", chosen, " or ".join(kind.fidelities))
    assert kind.build is not None
    model: Model = kind.build(unit, chosen, substeps)
    return model
