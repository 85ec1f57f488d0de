"""Reading of TOML files into records: quantities, tables, messages. Nothing in a file is evaluated as code.

Bare numbers are SI, strings have their unit. Every message names the file, the key, the value and what is allowed.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from rtcvt import quantity
from rtcvt.errors import InputError, ask_about_friction, near, too
from rtcvt.files import read_text, reads


def quantity_in(
    unit: str, above: float | None = None, at_least: float | None = None, below: float | None = None
) -> BeforeValidator:
    """Validator of a quantity in `unit`, within a bound. An angle without its unit is at most a whole turn."""

    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(quantity.wanted(unit))
        number = quantity.of_machine(value, unit)
        bare = unit != "1" and _is_number(value)
        taken = f"; no unit, taken as {unit}" if bare else ""
        if above is not None and number <= above:
            raise ValueError(f"{quantity.wanted(unit)}, above {above:g}{taken}")
        if at_least is not None and number < at_least:
            raise ValueError(f"{quantity.wanted(unit)}, at least {at_least:g}{taken}")
        if below is not None and number >= below:
            limit = f"{math.degrees(below):g} deg" if unit == "rad" else f"{below:g}"
            raise ValueError(f"{quantity.wanted(unit)}, below {limit}{taken}")
        if unit == "rad" and bare and abs(number) > math.tau:
            raise ValueError(f"{quantity.wanted(unit)}, or with its unit, such as '{number:g} deg'{taken}")
        return number

    return BeforeValidator(convert)


def asked_above(usual: float) -> AfterValidator:
    """Validator of a coefficient of friction that asks about values above the `usual` ones."""

    def convert(value: float, info: ValidationInfo) -> float:
        ask_about_friction((info.context or {}).get("source", "unit"), str(info.field_name), value, usual)
        return value

    return AfterValidator(convert)


def _is_number(value: float | str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


NO_TRUTH = "a number or a text, not a truth value"


class Record(BaseModel):
    """Base of the tables of a file: no unknown keys, no changes, no infinite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """`true` is refused where a number is wanted; pydantic reads it as 1."""
        field = cls.model_fields[str(info.field_name)]
        own = any(isinstance(each, BeforeValidator) for each in field.metadata)  # its messages name what is allowed
        if not own and _holds_truth(value) and not _takes_truth(field.annotation):
            raise ValueError(NO_TRUTH)
        return value


def _holds_truth(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    return any(map(_holds_truth, value)) if isinstance(value, list | tuple) else isinstance(value, bool)


def _takes_truth(annotation: Any) -> bool:
    """Whether a field accepts Booleans, or has records, which check their own fields."""
    if parts := get_args(annotation):
        return any(part is True or part is False or _takes_truth(part) for part in parts)
    return annotation in (Any, bool, object) or (isinstance(annotation, type) and issubclass(annotation, BaseModel))


def chosen_by(key: str, *records: type[BaseModel]) -> Discriminator:
    """Discriminator of a union of tables: their `key` names the record, which has one name there, a `Literal`.

    Each member of the union has a `Tag`, the name of its class, ending in ``Table``.
    """
    classes = {get_args(r.model_fields[key].annotation)[0]: r.__name__.removesuffix("Table") for r in records}

    def tag(table: Any) -> str | None:
        name = table.get(key) if isinstance(table, dict) else getattr(table, key, None)
        return f"{classes[name]}Table" if isinstance(name, str) and name in classes else None

    names = [f'"{name}"' for name in classes]
    allowed = f"a table with {key} = {', '.join(names[:-1])} or {names[-1]}"
    return Discriminator(tag, custom_error_type=_CHOICE, custom_error_message=allowed)


_CHOICE = "choice of a table"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
AnyRecord = TypeVar("AnyRecord", bound=BaseModel)

Time = Annotated[float, quantity_in("s", at_least=0.0)]
Duration = Annotated[float, quantity_in("s", above=0.0)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


MAX_SUBSTEPS = 10_000


class Solver(Record):
    """The fixed step of the exported unit."""

    method: Literal["rosenbrock", "rk4"] = "rosenbrock"  # rosenbrock for stiff models
    step: Duration = 1e-3  # communication step of the unit
    substeps: Annotated[int, Field(ge=1, le=MAX_SUBSTEPS)] = 1  # internal steps in a step


@dataclass(frozen=True)
class UnitFile:
    """A unit file, read and parsed once."""

    data: dict[str, Any]
    text: str
    source: str  # its name in messages
    folder: Path = Path()  # in which files that it names are looked for

    @property
    def kind(self) -> str | None:
        """Kind that the file names, if any."""
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else None

    def parse(self, record: type[AnyRecord]) -> AnyRecord:
        """The file as a record; it also gets `source`, `text` and `folder` if it has these fields.

        Raises
        ------
        InputError
            A key is missing, unknown, or its value is not allowed.
        """
        about = {"source": self.source, "text": self.text, "folder": self.folder}
        own = {k: v for k, v in about.items() if k in record.model_fields}
        for key in about.keys() & self.data.keys():  # of the record, not of files
            raise InputError(self.source, key, None, f"unknown key; allowed: {', '.join(_fields(record, ()))}")
        return parse_table(record, self.data | own, self.source, self.folder)


def shipped_units(*kinds: str) -> dict[str, Path]:
    """Names and files of the units that come with the package, of these kinds or of all."""
    folder = Path(str(resources.files("rtcvt"))) / "units"
    return {f.stem: f for f in sorted(folder.glob("*.toml")) if not kinds or _kind(f) in kinds}


@cache
def _kind(path: Path) -> str:
    """Kind in the file of a shipped unit."""
    return str(read_toml(path)[0]["kind"])


def find_unit(name: str, folder: Path | None = None, by: str = "") -> Path:
    """File of a unit: a path, or the name of a shipped unit.

    With a `folder`, the name is from a file in it, and only files in this folder are found, see `own_file`.

    Raises
    ------
    InputError
        There is no such file or unit.
    """
    path = Path(name) if folder is None else own_file(folder, name, by)
    if path is not None and is_file(path):
        return path
    folder = folder or Path()
    shipped = shipped_units()
    if name in shipped:
        return shipped[name]
    guess = ending(folder / name, ".toml") or near(name, shipped)
    raise InputError("UNIT", "", name, f"a TOML file, or one of the shipped units{guess}")


def ending(path: Path, suffix: str) -> str:
    """The guess, as the end of a message, that a file was meant whose name has this ending; empty if there is none."""
    whole = path.with_name(path.name + suffix) if path.name else path
    return f"; did you mean {whole.name}?" if is_file(whole) else ""


def read_unit_file(name: str | Path) -> UnitFile:
    """Read and parse a unit file or a shipped unit.

    Raises
    ------
    InputError
        The file is missing, or not TOML.
    """
    path = find_unit(str(name))
    return parse_unit_file(read_text(path), path.name, path.parent)


def parse_unit_file(text: str, source: str, folder: Path = Path()) -> UnitFile:
    """Parse the text of a unit file.

    Raises
    ------
    InputError
        Not TOML.
    """
    return UnitFile(parse_toml(text, source), text, source, folder)


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Tables and text of a TOML file.

    Raises
    ------
    InputError
        The file cannot be read, or is not TOML.
    """
    text = read_text(path)
    return parse_toml(text, path.name), text


def is_file(path: Path) -> bool:
    """Whether there is such a file."""
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def own_file(folder: Path, name: str, by: str) -> Path | None:
    """File of this name in the folder of a unit, or None; `by` is the file and the key that name it.

    Raises
    ------
    InputError
        The path leaves the folder, so that a file of others could have any file read and packed.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        source, _, key = by.partition(": ")
        raise InputError(source, key, name, "a file in the folder of this one or below, without '..'")
    path = folder / name
    return reads(path, by) if is_file(path) else None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Tables of a text in TOML; `source` names it in messages.

    Raises
    ------
    InputError
        Not TOML, or with control characters in a name or a text.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, "", None, f"not valid TOML: {error}") from None
    except (ValueError, RecursionError):
        raise InputError(source, "", None, "not valid TOML: a number with thousands of digits, or too deep") from None
    _require_printable(data, source, "")
    return data


def _require_printable(value: Any, source: str, at: str) -> None:
    """Refuse characters that XML does not allow in names and texts."""
    if isinstance(value, str) and _CONTROL.search(value):
        raise InputError(source, at, value, "a text without control characters")
    if isinstance(value, dict):
        for key, item in value.items():
            _require_printable(key, source, at or "key")
            _require_printable(item, source, f"{at}.{key}" if at else key)
    elif isinstance(value, list):
        for item in value:
            _require_printable(item, source, at)


_PLAIN = {  # messages of pydantic in the words of TOML
    "dict_type": "a table",
    "model_type": "a table",
    "tuple_type": "a list",
    "string_type": "a text",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "an integer",
    "int_parsing": "an integer",
}


def parse_table(record: type[AnyRecord], data: Mapping[str, Any], source: str, folder: Path | None = None) -> AnyRecord:
    """Validate a table; the first error becomes an `InputError` that names file, key, value and what is allowed.

    One message names all unknown or missing keys. Files that the table names are in `folder`, without it anywhere.
    """
    try:
        return record.model_validate(data, context={"source": source, "folder": folder})
    except ValidationError as error:
        errors = error.errors(include_url=False)
        unknown = [e for e in errors if e["type"] == "extra_forbidden"]
        tables = [e for e in errors if _is_table(data, e["loc"])]
        first = [*unknown, *tables, *errors][0]
        place, kind, value = first["loc"], first["type"], first["input"]
        if NO_TRUTH in first["msg"]:
            while isinstance(value, Mapping | list | tuple):
                entries = value.items() if isinstance(value, Mapping) else enumerate(value)
                step, value = next((k, v) for k, v in entries if _holds_truth(v))
                place = (*place, step)
        shown = value if isinstance(value, str | int | float | list | tuple) else None
        if kind == "extra_forbidden":
            fields = _fields(record, place[:-1])
            guess = near(place[-1], fields).partition("; did you mean ")[2]
            allowed = f"unknown key; allowed: {', '.join(fields)}{guess and f'; did you mean {guess}'}"
            shown = None
        elif kind == "missing" and isinstance(place[-1], int):  # of a list whose length is given
            place, kind, allowed = place[:-1], "short", "a list with more values"
        elif kind == "missing":
            allowed, shown = "this key is required", None
        else:
            allowed = _PLAIN.get(kind) or first["msg"].removeprefix("Value error, ").replace("Input should", "should")
        if kind == "tuple_type" and place == ("scenario",):
            allowed += " of tables, [[scenario]]"
        if kind in ("extra_forbidden", "missing"):
            also = [e for e in errors if e["loc"] != place and not {"float", "str", "Table"} & set(e["loc"])]
            for word, of in (("unknown", "extra_forbidden"), ("missing", "missing")):
                allowed += too(word, (key_path(data, _keys(data, e["loc"])) for e in also if e["type"] == of))
        path = key_path(data, _keys(data, place))
        raise InputError(source, path, shown, allowed) from None


def _keys(data: Any, place: Sequence[int | str]) -> list[int | str]:
    """The place of an error without the names of members of a union; its last key may be missing."""
    keys: list[int | str] = []
    for k, step in enumerate(place):
        there = step in data if isinstance(data, Mapping) else _has(data, step)
        last = k == len(place) - 1 and isinstance(data, Mapping) and step not in ("[key]", "float", "str")
        if there or (last and "Table" not in str(step)):
            keys.append(step)
        data = data[step] if there else data
    return keys


def _has(data: Any, step: int | str) -> bool:
    """Whether data are a list with this entry."""
    return isinstance(data, list | tuple) and isinstance(step, int) and step < len(data)


def _is_table(data: Any, place: tuple[int | str, ...]) -> bool:
    """Whether an error is about a table, in a place where a number or a text is also allowed."""
    for step in place:
        if "Table" in str(step):
            return isinstance(data, Mapping)
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return False
    return False


def key_path(data: Any, place: Sequence[int | str]) -> str:
    """A place in nested tables as a dotted key; tables of a list that have a name go by it: ``scenario 'run up'.``"""
    path = ""
    for step in place:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            data = None
        name = data.get("name") if isinstance(data, Mapping) and isinstance(step, int) else None
        if isinstance(name, str) and len(name) < 60:
            path += f" '{name}'"
        else:
            path += f".{step}" if path else str(step)
    return path


_HEADER = re.compile(r"\s*(\[\[?)([^\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_TEXT = re.compile(r"""=\s*["'](.*?)["']""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, key: str) -> int | None:
    """Line of a file in TOML, from 1, with a key as of `key_path`, or with the nearest table around it.

    Keys are read line by line: those of inline tables count for the line on which their table begins.
    """
    wanted = key.replace(" '", ".").replace("'", "").split(".")
    lists: dict[str, tuple[int, str]] = {}  # number and name of the last table, by the name of its list
    best, line = 0, None
    table: list[str] = []
    for number, row in enumerate(text.splitlines(), 1):
        header, entry = _HEADER.match(row), _KEY.match(row)
        if header:
            table = _parts(header[2])
            if header[1] == "[[":
                lists[table[0]] = lists.get(table[0], (-1, ""))[0] + 1, ""
            here = table
        elif entry:
            here = [*table, *_parts(entry[1])]
            if here[1:] == ["name"] and table[0] in lists and (value := _TEXT.search(row)):
                lists[table[0]] = lists[table[0]][0], value[1]
        else:
            continue
        if here[0] in lists:
            count, name = lists[here[0]]
            here = [here[0], str(count) if len(wanted) > 1 and wanted[1].isdigit() else name, *here[1:]]
        at = ".".join(here).split(".")
        differ = (k for k, (a, b) in enumerate(zip(at, wanted, strict=False)) if a != b)
        shared = next(differ, min(len(at), len(wanted)))
        if shared > best and shared in (len(at), len(wanted)):
            best, line = shared, number
    return line


def _parts(key: str) -> list[str]:
    return [p.strip("\"'") for p in _PART.findall(key)]


def read_record(
    record: type[AnyRecord], path: Path, default: Mapping[str, Any], folder: Path | None = None, **fixed: Any
) -> tuple[AnyRecord, str]:
    """A TOML file with the keys of one record, and its text.

    Values of the file replace those in `default`, and `fixed` ones replace those of the file.

    Raises
    ------
    InputError
        The file cannot be read, is not TOML, or not a valid record; the error has the line of the key.
    """
    data, text = read_toml(path)
    try:
        return parse_table(record, {**default, **data, **fixed}, path.name, folder), text
    except InputError as error:
        raise located(error, text, path.name) from None


def located(error: InputError, text: str, source: str) -> InputError:
    """The error with the line of its key, if it is one of this file."""
    where, key, value, allowed = error.parts
    line = line_of(text, key) if where == source and key else None
    return error if line is None else InputError(where, key, value, f"{allowed} (line {line})")


def _members(annotation: Any) -> Iterator[Any]:
    """An annotation and all that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _members(part)


def _fields(record: Any, place: tuple[int | str, ...]) -> list[str]:
    """Keys of the table at `place` inside a record."""
    for step in place:
        if isinstance(record, type) and issubclass(record, BaseModel) and step in record.model_fields:
            record = record.model_fields[str(step)].annotation
        elif isinstance(step, str) and get_origin(record) in (Union, UnionType):
            names = step, step.removesuffix("Table")  # a class, or its tag (`chosen_by`)
            record = next(a for a in _members(record) if isinstance(a, type) and a.__name__ in names)
            continue
        elif get_args(record):
            record = get_args(record)[0 if get_origin(record) is tuple else -1]
        options = [a for a in get_args(record) if isinstance(a, type) and issubclass(a, BaseModel)]
        if get_origin(record) in (Union, UnionType) and len(options) == 1:
            record = options[0]
    return [k for k in getattr(record, "model_fields", {}) if k not in ("source", "text", "folder")]
