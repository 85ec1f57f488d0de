"""An FMU as a table of variables: its archive, its description, and whether it can run here.

The FMU's variables become rows of the project's variable table, so that a scenario means the same for it as for a
model. A bare number in a scenario is in the unit of the FMU's variable; an input of type Boolean is true from 0.5 on,
integers and enumerations are rounded. Strings are left at their start values.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import fmpy
import numpy as np
from fmpy.model_description import ModelDescription, ModelVariable
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.model import Variable, VariableTable
from rtcvt.scenario import parameter_value, sample_inputs
from rtcvt.unitfile import Scenario

__all__ = ["FUNCTIONS", "Fmu", "open_fmu"]

Array = NDArray[np.float64]

FUNCTIONS = {"Real": "Real", "Integer": "Integer", "Enumeration": "Integer", "Boolean": "Boolean"}  # fmi2SetXXX by type


@dataclass(frozen=True)
class Fmu:
    """An extracted FMU that fits this platform."""

    file: str  # its name, for messages
    folder: Path
    library: Path
    description: ModelDescription
    interface: VariableTable
    scalars: dict[str, ModelVariable]  # by name, those of the interface

    @property
    def unit_file(self) -> str:
        """The unit file that it carries, or an empty text."""
        path = self.folder / "resources" / "unit.toml"
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def default(self, key: str) -> float | None:
        """A value of its default experiment: ``startTime``, ``stopTime``, ``stepSize`` [s]."""
        text = getattr(self.description.defaultExperiment, key, None)
        try:
            return None if text is None else float(text)
        except ValueError:
            raise InputError(self.file, f"DefaultExperiment {key}", text, "a number") from None

    def inputs(self, scenario: Scenario, time: Array) -> Array:
        """Values of all inputs at `time` [s] as the FMU will get them, shape (len(time), n_u).

        Raises
        ------
        InputError
            The scenario does not fit the FMU.
        """
        u = sample_inputs(self.interface, scenario, time)
        for v in self.interface.select("input"):
            values = u[:, v.index]
            if v.boolean:
                values[:] = values >= 0.5
            elif self.scalars[v.name].type != "Real":
                values[:] = np.rint(values)
                _require_integer(float(values[np.argmax(np.abs(values))]), f"scenario '{scenario.name}'", v.name)
        return u

    def parameters(self, values: Mapping[str, float | str], source: str) -> dict[str, float]:
        """Parameters given as numbers or quantities, in the FMU's units.

        Raises
        ------
        InputError
            Unknown parameter, wrong unit, or out of range.
        """
        numbers = {}
        for name, value in values.items():
            full, number = parameter_value(self.interface, name, value, source)
            v = self.interface.variable(full, "parameter")
            low = -np.inf if v.minimum is None else v.minimum
            high = np.inf if v.maximum is None else v.maximum
            if not low <= number <= high:
                raise InputError(source, name, value, f"a number from {low:g} to {high:g} {v.unit}")
            if self.scalars[full].type != "Real":
                _require_integer(number, source, name)
            numbers[full] = number
        return numbers


@contextmanager
def open_fmu(path: Path) -> Iterator[Fmu]:
    """An FMU, extracted to a temporary folder that is removed on leaving.

    Raises
    ------
    InputError
        No such file, not an FMU, or one that cannot run here; the message says why.
    """
    if not path.is_file():
        raise InputError("FMU", "", str(path), "an existing FMU file")
    with TemporaryDirectory(prefix="rtcvt-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        try:
            fmpy.extract(str(path), folder)
        except Exception as error:  # from zipfile, zlib and FMPy
            raise InputError(path.name, "", None, f"not an FMU, which is a zip archive: {error}") from None
        if not (folder / "modelDescription.xml").is_file():
            raise InputError(path.name, "", None, "not an FMU: there is no modelDescription.xml in it")
        try:
            version = ElementTree.parse(folder / "modelDescription.xml").getroot().get("fmiVersion")
            if version != "2.0":
                raise InputError(path.name, "fmiVersion", version, "2.0; export the FMU for FMI 2.0")
            description = fmpy.read_model_description(str(folder), validate=False)
            interface, scalars = _interface(description, path.name)
        except InputError:
            raise
        except Exception as error:  # lxml and FMPy raise many kinds
            raise InputError(path.name, "modelDescription.xml", None, f"cannot be read: {error}") from None
        yield Fmu(path.name, folder, _library(path.name, folder, description), description, interface, scalars)


def _library(file: str, folder: Path, description: ModelDescription) -> Path:
    """The library for this platform."""
    if description.coSimulation is None:
        raise InputError(file, "modelDescription.xml", None, "for model exchange only; export it for co-simulation")
    name = description.coSimulation.modelIdentifier + fmpy.sharedLibraryExtension
    places = [folder / "binaries" / p / name for p in (fmpy.platform_tuple, fmpy.platform)]
    found = next((p for p in places if p.is_file()), None)
    if found is None:
        there = sorted(p.name for p in folder.glob("binaries/*")) + sorted(p.name for p in folder.glob("sources"))
        raise InputError(file, "binaries", ", ".join(there) or None, f"no {fmpy.platform}/{name} for this platform")
    return found


def _interface(description: ModelDescription, file: str) -> tuple[VariableTable, dict[str, ModelVariable]]:
    """Rows of the variable table, and what they were made from by name."""
    rows: list[Variable] = []
    scalars: dict[str, ModelVariable] = {}
    count = {"parameter": 0, "input": 0, "output": 0}
    for scalar in description.modelVariables:
        if scalar.causality in count and scalar.type in FUNCTIONS:
            rows.append(_row(scalar, count[scalar.causality]))
            scalars[scalar.name] = scalar
            count[scalar.causality] += 1
    return VariableTable(file, tuple(rows)), scalars


def _row(scalar: ModelVariable, index: int) -> Variable:
    """One row of the table."""

    def number(key: str) -> float | None:
        text = getattr(scalar, key) or getattr(scalar.declaredType, key, None)
        return None if text is None else float({"true": 1, "false": 0}.get(text, text))

    boolean = scalar.type == "Boolean"
    return Variable(
        name=scalar.name,
        causality=scalar.causality,
        index=index,
        unit=scalar.unit or getattr(scalar.declaredType, "unit", None) or "1",
        description=scalar.description or "",
        start=number("start") or 0.0,
        minimum=0.0 if boolean else number("min"),
        maximum=1.0 if boolean else number("max"),
        boolean=boolean,
    )


def _require_integer(number: float, source: str, key: str) -> None:
    if number != round(number) or not -(2**31) <= number < 2**31:
        raise InputError(source, key, number, "an integer of 32 bits")
