"""An FMU as a table of variables: its archive, its description, and checks whether it can run here.

The FMU's variables become rows of the project's variable table, so that a scenario means the same for it as for a
model. A bare number in a scenario is in the unit of the FMU's variable, any other is converted by the FMU's definition
of the unit (factor, offset, exponents), or by its name without one. An input of type Boolean is true from 0.5 on,
integers are rounded. Enumerations accept the name or the value of an item, nothing else. A string input or parameter
has one text for a whole run; outputs that are strings are not read.

An array of FMI 3.0 becomes one variable per element, ``NAME[1]``, ``NAME[2]``, ... or ``NAME[1,1]``, ...; the last
index runs fastest. Structural parameters keep their start values. Elements of parameters do not change during a run.
Clocks, variables of a clock and binaries are ignored. Of an alias set of FMI 3.0 all outputs are read; inputs and
parameters are set by the variable's own name only.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fmpy
import numpy as np
from fmpy.model_description import ModelDescription, ModelVariable
from numpy.typing import NDArray
from pydantic import ValidationError

from rtcvt.errors import AsInputError, InputError, near
from rtcvt.files import TIMES, misplaced, number, opened_archive, read_rows, temporary_folder
from rtcvt.files.names import unquoted
from rtcvt.hil.extents import missing
from rtcvt.model import Variable, VariableTable
from rtcvt.quantity import Unit, conversion, defined, difference, is_close, known_unit, spelled
from rtcvt.scenario import Scenario, Table, origin, parameter_changes, parameter_value, sample_inputs

Array = NDArray[np.float64]

NUMBERS: dict[int, dict[str, Any]] = {  # arguments of setters, by version of FMI and type name: fmi2SetReal
    2: {"Real": np.float64, "Integer": np.int32, "Boolean": np.int32},
    3: {"Float64": np.float64, "Float32": np.float32, "Int8": np.int8, "UInt8": np.uint8, "Int16": np.int16,
        "UInt16": np.uint16, "Int32": np.int32, "UInt32": np.uint32, "Int64": np.int64, "UInt64": np.uint64,
        "Boolean": np.bool_},
}  # fmt: skip
ENUMERATION = {2: "Integer", 3: "Int64"}
MOST_ELEMENTS = 100_000  # of an array
_REFERENCE = re.compile(r"##|#([ribs])(\d{1,10})#")
_VERSION = re.compile(r"(2)\.0(?:\.\d+)?|(3)\.\d+(?:\.\d+)?(?:-\w+)?")


@dataclass(frozen=True)
class Ticks:
    """A clock that ticks before step `first` and every `every` steps from there on."""

    reference: int
    first: int
    every: int


@dataclass(frozen=True)
class Fmu:
    """An extracted FMU that fits this platform."""

    file: str  # its name, for messages
    folder: Path
    library: Path
    description: ModelDescription
    interface: VariableTable
    scalars: dict[str, ModelVariable]  # by name, those of the interface, and inputs and parameters that are strings
    notes: tuple[str, ...] = ()  # unusual contents of the description

    @property
    def fmi(self) -> int:
        """Version of FMI, 2 or 3."""
        return _major(self.description)

    def kind(self, name: str) -> str:
        """Type name in the setter of a variable, as in ``fmi3SetFloat64``."""
        return _kind(self.scalars[name], self.fmi)

    def elements(self, name: str) -> list[str]:
        """The variable, or all elements of its array."""
        of = self.owner(name)
        return [n for n in self.scalars if self.owner(n) == of]

    def owner(self, name: str) -> tuple[str, int]:
        """Name and value reference of the variable, or of the array that it is an element of."""
        scalar = self.scalars[name]
        return name.rpartition("[")[0] if scalar.dimensions else name, scalar.valueReference

    def spelled(self, message: str) -> str:
        """A message of the unit with names in place of references, in FMI 2.0 ``#r1#``, and # in place of ``##``."""
        if self.fmi != 2:
            return message
        names = self._by_reference
        return _REFERENCE.sub(lambda m: names.get((m[1], int(m[2])), m[0]) if m[1] else "#", message)

    @cached_property
    def _by_reference(self) -> dict[tuple[str, int], str]:
        """Names by the letter of their type and their reference; of an alias set the first."""
        letters = {"Real": "r", "Integer": "i", "Enumeration": "i", "Boolean": "b", "String": "s"}
        variables = reversed(self.description.modelVariables)
        return {(letters[v.type], v.valueReference): v.name for v in variables if v.type in letters}

    def clock(self, name: str) -> int | None:
        """Value reference of the clock that an input belongs to."""
        clocks = self.scalars[name].clocks
        return clocks[0].valueReference if clocks else None

    def ticks(self, step: float) -> list[Ticks]:
        """The clocks that are to tick by time, on a grid of steps [s].

        Raises
        ------
        InputError
            One is not constant, or does not tick between steps.
        """
        found = []
        for v in ElementTree.parse(self.folder / "modelDescription.xml").iterfind("ModelVariables/Clock"):
            name, variability = v.get("name", ""), v.get("intervalVariability")
            if v.get("causality") != "input" or variability == "triggered":
                continue
            if variability != "constant":
                raise InputError(self.file, name, variability, "a clock with a constant interval, or a triggered one")
            places = []
            for key in ("shiftDecimal", "intervalDecimal"):
                try:
                    time = float(v.get(key, "0"))
                    place = round(time / step)
                except (ValueError, OverflowError):
                    raise InputError(self.file, name, v.get(key), f"{key}: a finite number of seconds") from None
                if place < (key == "intervalDecimal") or abs(place * step - time) > 1e-9 * time:
                    raise InputError(self.file, name, f"{time:g} s", f"{key}: whole steps of {step:g} s, "
                                     "so that the clock ticks between steps")  # fmt: skip
                places.append(place)
            found.append(Ticks(int(v.get("valueReference", "")), *places))
        return found

    @property
    def unit_file(self) -> str:
        """The unit file that it carries, or an empty text."""
        path = self.folder / "resources" / "unit.toml"
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def default(self, key: str) -> float | None:
        """A value of its default experiment: ``startTime``, ``stopTime``, ``stepSize`` [s]."""
        text = getattr(self.description.defaultExperiment, key, None)
        with AsInputError(ValueError, self.file, f"DefaultExperiment {key}", text, "a number"):
            return None if text is None else float(text)

    @property
    def start_time(self) -> float:
        """The unit's time at the start of a run [s], which its default experiment gives."""
        found = self.default("startTime") or 0.0
        if not np.isfinite(found):
            raise InputError(self.file, "DefaultExperiment startTime", found, "a finite number")
        return found

    def inputs(self, scenario: Scenario, time: Array) -> Array:
        """Values of all inputs at `time` [s] as the FMU will get them, shape (len(time), n_u).

        Raises
        ------
        InputError
            The scenario does not fit the FMU.
        """
        numbers = {name: signal for name, signal in scenario.inputs.items() if name not in self.strings("input")}
        u = sample_inputs(self.interface, scenario.model_copy(update={"inputs": numbers}), time)
        for v in self.interface.select("input"):
            values = u[:, v.index]
            if v.boolean:
                values[:] = values >= 0.5
            elif self._whole(v.name):
                values[:] = np.rint(values)
                for extreme in (values.min(), values.max()):
                    self._require_integer(float(extreme), *origin(scenario, v.name), v.name)
        return u

    def starts(self, scenario: Scenario) -> dict[str, float | str]:
        """Values that are set before initialisation: parameters in the FMU's units, and texts of parameters and inputs.

        Raises
        ------
        InputError
            Unknown parameter, wrong unit, out of range, or no text for a string.
        """
        source = f"scenario '{scenario.name}'"
        texts: dict[str, float | str] = {}
        for causality, given in (("input", scenario.inputs), ("parameter", scenario.parameters)):
            for name in self.strings(causality) & given.keys():
                text = given[name]
                if not isinstance(text, str):
                    where = origin(scenario, name) if causality == "input" else (source, name)
                    raise InputError(*where, None, "one text for the whole run")
                texts[name] = text
        return texts | self._parameters({k: v for k, v in scenario.parameters.items() if k not in texts}, source)

    def parameter_values(self, starts: Mapping[str, float | str]) -> dict[str, float]:
        """Values of all parameters that are numbers at the start, with those of `starts`."""
        return {v.name: float(starts.get(v.name, v.start or 0.0)) for v in self.interface.select("parameter")}

    def changes(self, scenario: Scenario, step: float) -> list[tuple[int, Variable, float]]:
        """Changes of tunable parameters, see `rtcvt.scenario.parameter_changes`.

        Raises
        ------
        InputError
            Unknown or fixed parameter, wrong unit, or out of range.
        """
        found = parameter_changes(self.interface, scenario, step)
        for _, v, value in found:
            if self._whole(v.name):
                self._require_integer(value, f"scenario '{scenario.name}'", v.name)
        return found

    def _whole(self, name: str) -> bool:
        """Whether the variable is no floating-point number."""
        return not issubclass(NUMBERS[self.fmi][self.kind(name)], np.floating)

    def _require_integer(self, number: float, source: str, key: str, name: str = "") -> None:
        """Refuse values beyond the variable's type; for 64 bits, values that a double cannot represent."""
        kind = self.kind(name or key)
        least, most = _whole(kind, self.fmi) or (0, 1)
        if number != np.rint(number) or not least <= number <= most:
            bits = 8 * np.dtype(NUMBERS[self.fmi][kind]).itemsize
            unsigned = "" if least else " and no sign"
            raise InputError(source, key, number, f"an integer of {bits} bits{unsigned}")

    def strings(self, causality: str) -> set[str]:
        """Names of the inputs or parameters that are strings."""
        return {name for name, s in self.scalars.items() if s.type == "String" and s.causality == causality}

    def _parameters(self, values: Mapping[str, float | str], source: str) -> dict[str, float]:
        numbers = {}
        for name, value in values.items():
            full, number = parameter_value(self.interface, name, value, source)
            self.interface.variable(full, "parameter").checked(number, source, value)
            if self._whole(full):
                self._require_integer(number, source, full)
            numbers[full] = number
        return numbers


def inputs_from(path: Path) -> dict[str, Table]:
    """Inputs of a run from a CSV file, as signals of a scenario.

    The first line that does not begin with ``#`` has the names of the columns, each with a unit in brackets if it is
    not that of the variable: ``time [s],shaft.w [rpm],on``. The first column is the time. Separators are commas,
    semicolons or tabs. Values are linear between the times, those of integers and Booleans are constant. Two rows of
    one time are a jump, as in FMI's own tables.

    Raises
    ------
    InputError
        Not such a table; the message names the line.
    """
    (line, head), *kept = read_rows(path, ",;\t") or [(1, [""])]
    if not kept:
        raise InputError(path.name, "", None, "a line with the names of the columns, and at least one with values")
    names, units = [], []
    for cell in head:  # x[1] is an element of an array
        found = re.fullmatch(r"\s*(.*?)(?:\s*\[\s*([^\[\]]*[^\[\]\d, ][^\[\]]*)\s*\]|\s+\[\s*(?:1\s*)?\])?\s*", cell)
        names.append(unquoted(found[1] if found else cell.strip()))
        units.append((found[2] if found else None) or "")
    if not _is_time(names[0]) or len(names) < 2 or len(set(names)) < len(names):
        raise InputError(path.name, f"line {line}", ";".join(head), "columns 'time' and inputs, each once")
    columns = [f"line {line}: column '{cell.strip()}'" for cell in head]
    table = np.full((len(kept), len(names)), np.nan)
    for row, (k, cells) in zip(table, kept, strict=True):
        if len(cells) == len(names):
            row[:] = [number(cell) for cell in cells]
        if not np.isfinite(row).all():
            allowed = f"{len(names)} finite numbers, with decimal points"
            raise InputError(path.name, f"line {k}", ";".join(cells), allowed)
    with AsInputError(ValueError, path.name, columns[0], None, str):
        factor, _ = conversion(units[0] or "s", "s")
    time = tuple((factor * table[:, 0]).tolist())
    if (wrong := 0 if time[0] < 0.0 else misplaced(time)) is not None:
        k, cells = kept[wrong]
        raise InputError(path.name, f"line {k}", ";".join(cells), f"times from 0 on; {TIMES}")
    tables: dict[str, Table] = {}
    for name, unit, column, values in zip(names[1:], units[1:], columns[1:], table.T[1:], strict=True):
        try:
            table_of = Table(time=time, value=tuple(values.tolist()), unit=unit, interpolation="natural")
        except ValidationError as error:
            raise InputError(path.name, column, None, error.errors()[0]["msg"].removeprefix("Value error, ")) from None
        table_of._origin = path.name, column
        tables[name] = table_of
    return tables


def _is_time(head: str) -> bool:
    return head.partition("[")[0].strip().lower() in ("time", "t")


@contextmanager
def open_fmu(path: Path, record: Sequence[str] = (), runs: bool = True) -> Iterator[Fmu]:
    """An FMU, extracted to a temporary folder that is removed on leaving.

    Parameters
    ----------
    path : Path
        The file.
    record : sequence of str
        Names of local variables that are read like outputs; ``*`` and ``?`` stand for any characters.
    runs : bool
        Whether it is to run here; else it may lack a library for this platform.

    Raises
    ------
    InputError
        No such file, not an FMU, or one that cannot run here; the message names the cause.
    """
    if not path.is_file():
        raise InputError("FMU", "", str(path), "an existing FMU file")
    with temporary_folder() as folder:
        try:
            with opened_archive(path) as file:
                fmpy.extract(file, folder)
        except InputError:
            raise
        except OSError as error:
            raise InputError(path.name, "", str(folder), f"a folder that it fits into: {error.strerror}") from None
        except Exception as error:  # from zipfile, zlib and FMPy
            raise InputError(path.name, "", None, f"not an FMU, which is a zip archive: {error}") from None
        if not (folder / "modelDescription.xml").is_file():
            raise InputError(path.name, "", None, "not an FMU: there is no modelDescription.xml in it")
        with AsInputError(
            Exception, path.name, "modelDescription.xml", None, lambda e: f"cannot be read: {e}", passing=InputError
        ):  # lxml and FMPy raise many kinds
            differences = _require_version(folder, path.name)
            description = fmpy.read_model_description(str(folder), validate=False)
            for variable in description.modelVariables:
                variable.relativeQuantity = variable.name in differences
                if not 0 <= (reference := variable.valueReference) < 2**32:
                    raise InputError(path.name, variable.name, reference, "a value reference of 32 bits without sign")
            interface, scalars = _interface(description, path.name, record)
            interface, notes = _ranged(interface)
        library = _library(path.name, folder, description, runs)
        yield Fmu(path.name, folder, library, description, interface, scalars, notes)


def _require_version(folder: Path, file: str) -> set[str]:
    """Refuse other versions of FMI; one with a patch number is read as the version that it patches.

    Inverse display units, which FMPy does not read, are removed; the names of variables that are relative quantities
    are returned.
    """
    path = folder / "modelDescription.xml"
    tree = ElementTree.parse(path)
    version = tree.getroot().get("fmiVersion", "")
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        raise InputError(file, "fmiVersion", version, "2.0 or 3.0; export the FMU for one of them")
    inverse = [(u, d) for u in tree.iterfind("UnitDefinitions/Unit") for d in u if d.get("inverse") in ("true", "1")]
    for unit, shown in inverse:
        unit.remove(shown)
    if found[1] and version != "2.0":
        tree.getroot().set("fmiVersion", "2.0")
    if inverse or (found[1] and version != "2.0"):
        tree.write(path, "utf-8", xml_declaration=True)
    with suppress(FileNotFoundError):  # FMPy would read it
        (folder / "sources" / "buildDescription.xml").rename(folder / "buildDescription.xml")
    rows = [(v.get("name", ""), (v, *v)) for v in tree.iterfind("ModelVariables/*")]
    return {name for name, of in rows if any(e.get("relativeQuantity") in ("true", "1") for e in of)}


def _major(description: ModelDescription) -> int:
    return int(description.fmiVersion[0])


def _library(file: str, folder: Path, description: ModelDescription, runs: bool) -> Path:
    """The library for this platform; the folder of libraries if it is not to run."""
    if description.coSimulation is None:
        only = "model exchange" if description.modelExchange else "scheduled execution"
        kind = f"FMI {description.fmiVersion} for {only} only"
        raise InputError(file, "modelDescription.xml", None, f"{kind}; export the unit for co-simulation")
    identifier = description.coSimulation.modelIdentifier
    if not re.fullmatch(r"[A-Za-z_]\w*", identifier or "", re.ASCII):
        raise InputError(file, "modelIdentifier", identifier, "a C identifier, the name of the library")
    if not runs:
        return folder / "binaries"
    name = identifier + fmpy.sharedLibraryExtension
    names = (fmpy.platform_tuple, fmpy.platform)[: 1 if _major(description) == 3 else 2]
    places = [folder / "binaries" / p / name for p in names]
    found = next((p for p in places if p.is_file()), None)
    if found is None:
        there = sorted(p.name for p in folder.glob("binaries/*")) + sorted(p.name for p in folder.glob("sources"))
        raise InputError(file, "binaries", ", ".join(there) or None, f"no {names[-1]}/{name} for this platform")
    if lacking := missing(found):
        raise InputError(file, found.name, None, f"the library cannot be used here: {lacking}")
    return found


def _interface(
    description: ModelDescription, file: str, record: Sequence[str]
) -> tuple[VariableTable, dict[str, ModelVariable]]:
    """Rows of the variable table, and the FMU's variables by name."""
    rows: list[Variable] = []
    scalars: dict[str, ModelVariable] = {}
    count = {"parameter": 0, "input": 0, "output": 0}
    fmi, units = _major(description), _units(description, file)
    known = (v for v in description.modelVariables if not v.clocks or _is_ticked(v))
    own = (v for v in known if v.causality == "output" or not _is_alias(v))
    for scalar in (s for v in own for s in _elements(v)):
        if scalar.causality in count and _kind(scalar, fmi) in NUMBERS[fmi]:
            rows.append(_row(scalar, count[scalar.causality], fmi, units))
            scalars[scalar.name] = scalar
            count[scalar.causality] += 1
        elif scalar.type == "String" and not scalar.dimensions and scalar.causality in ("parameter", "input"):
            scalars[scalar.name] = scalar
    for scalar in _locals(description, file, record, fmi):
        rows.append(replace(_row(scalar, count["output"], fmi, units), causality="output", local=True))
        scalars[scalar.name] = scalar
        count["output"] += 1
    names = [v.name for v in rows]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(file, twice, None, "a name of its own for each variable")
    return VariableTable(file, tuple(rows)), scalars


def _ranged(table: VariableTable) -> tuple[VariableTable, tuple[str, ...]]:
    """The table without empty ranges, and a note on each."""
    rows, notes = [], []
    for v in table.variables:
        low, high = -np.inf if v.minimum is None else v.minimum, np.inf if v.maximum is None else v.maximum
        if not low <= high or low == np.inf or high == -np.inf:
            notes.append(f"the range of {v.name}, {low:g} to {high:g}, is empty and not used")
            v = replace(v, minimum=None, maximum=None)
        rows.append(v)
    return replace(table, variables=tuple(rows)), tuple(notes)


def _locals(description: ModelDescription, file: str, record: Sequence[str], fmi: int) -> list[ModelVariable]:
    """The local variables that are to be recorded, in the description's order."""
    if not record:
        return []
    local = [v for v in description.modelVariables if v.causality in ("local", "calculatedParameter") and not v.clocks]
    known = {s.name: s for v in local if _kind(v, fmi) in NUMBERS[fmi] for s in _elements(v)}
    chosen: set[str] = set()
    for pattern in record:
        found = {name for name in known if name == pattern or fnmatchcase(name, pattern)}
        if not found:
            raise InputError(file, f"--record {pattern}", None, f"a local variable{near(pattern, known)}")
        chosen |= found
    return [s for name, s in known.items() if name in chosen]


def _is_ticked(variable: ModelVariable) -> bool:
    """Whether the variable is an input with one clock that ticks at constant intervals."""
    clocks = [(c.causality, c.intervalVariability) for c in variable.clocks]
    return variable.causality == "input" and clocks == [("input", "constant")]


def _is_alias(variable: ModelVariable) -> bool:
    """Whether FMPy made the variable from an element Alias."""
    return any(a.name == variable.name for a in getattr(variable, "aliases", None) or ())


def _kind(scalar: ModelVariable, fmi: int) -> str:
    return ENUMERATION[fmi] if scalar.type == "Enumeration" else str(scalar.type)


def _elements(variable: ModelVariable) -> Iterator[ModelVariable]:
    """The variable, or the elements of its array with their names and start values."""
    if not variable.dimensions:
        yield variable
        return
    if (count := prod(variable.shape)) > MOST_ELEMENTS:
        raise InputError("modelDescription.xml", variable.name, count, f"at most {MOST_ELEMENTS} elements")
    starts = (variable.start or "").split()
    places = product(*(range(1, n + 1) for n in variable.shape))
    for k, place in enumerate(places):
        element = copy(variable)
        element.name = f"{variable.name}[{','.join(map(str, place))}]"
        element.start = (starts[k] if len(starts) > 1 else starts[0]) if starts else None
        yield element


def _whole(kind: str, fmi: int) -> tuple[int, int] | None:
    """Smallest and largest value of an integer's type, for 64 bits of those that a double represents; else None."""
    number = NUMBERS[fmi][kind]
    if kind == "Boolean" or issubclass(number, np.floating):
        return None
    info = np.iinfo(number)
    return max(int(info.min), -(2**53)), min(int(info.max), 2**53)


def integer_type(v: Variable) -> str:
    """The type of FMI 3.0 of an integer."""
    return next(kind for kind in NUMBERS[3] if _whole(kind, 3) == v.whole)


def _units(description: ModelDescription, file: str) -> dict[str, Unit]:
    """Units as the description defines them, by name; each with all others of the description, first those in which it
    is displayed."""
    found, displayed = dict[str, Unit](), dict[str, list[Unit]]()
    for unit in description.unitDefinitions:
        base = unit.baseUnit
        if base is None:
            continue
        exponents = {key: getattr(base, key) for key in ("kg", "m", "s", "A", "K", "mol", "cd", "rad")}
        with AsInputError(ValueError, file, f"UnitDefinitions {unit.name}", base.factor, str):
            made = defined(unit.name, exponents, base.factor, base.offset)
        if found.setdefault(unit.name, made) != made:
            raise InputError(file, f"UnitDefinitions {unit.name}", base.factor, "the same unit wherever it is defined")
        for shown in unit.displayUnits:  # shown value = factor * value + offset
            of = found[unit.name]
            with suppress(ValueError, ZeroDivisionError):
                factor = of.factor / shown.factor
                made = defined(shown.name, exponents, factor, of.offset - factor * shown.offset)
                displayed.setdefault(unit.name, []).append(made)
    others = [u for u in (*found.values(), *(u for units in displayed.values() for u in units)) if not is_close(u)]
    return {
        name: unit._replace(others=(*(u for u in displayed.get(name, ()) if not is_close(u)), *others))
        for name, unit in found.items()
    }


def _row(scalar: ModelVariable, index: int, fmi: int, units: Mapping[str, Unit]) -> Variable:
    """One row of the table."""

    def number(key: str) -> float | None:
        text = getattr(scalar, key) or getattr(scalar.declaredType, key, None)
        return None if text is None else float({"true": 1, "false": 0}.get(text, text))

    boolean = scalar.type == "Boolean"
    items = {i.name: int(i.value) for i in getattr(scalar.declaredType, "items", None) or ()}
    start = number("start")
    said = scalar.unit or getattr(scalar.declaredType, "unit", None)
    unit = said or "1"
    of_unit: str | Unit = units.get(unit, unit)
    if scalar.relativeQuantity or getattr(scalar.declaredType, "relativeQuantity", False):
        of_unit = difference(of_unit)
    if said and isinstance(of_unit, str) and (units or spelled(unit) == "1"):
        with suppress(ValueError):
            of_unit = known_unit(unit)._replace(others=next((u.others for u in units.values()), ()))
    return Variable(
        name=scalar.name, causality=scalar.causality, index=index, unit=unit, description=scalar.description or "",
        start=start if start is not None else float(next(iter(items.values()), 0)),
        minimum=0.0 if boolean else number("min"), maximum=1.0 if boolean else number("max"),
        nominal=None if boolean else number("nominal"), boolean=boolean,
        tunable=scalar.variability == "tunable" and not scalar.dimensions, choices=tuple(items),
        numbers=tuple(items.values()), whole=_whole(_kind(scalar, fmi), fmi),
        defined=None if isinstance(of_unit, str) else of_unit,
    )  # fmt: skip
