"""Keys of the unit files of each kind with value, default and meaning, for the site and ``rtcvt show --keys``.

Keys come from the pydantic records that read the files: the meaning of a key is the comment after its field in the
source, its unit and bounds are those of its validator. Parameters of a kind by name come from the model of a
shipped unit."""

import ast
import inspect
import io
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator
from pydantic_core import PydanticUndefined

from rtcvt.kind import Kind, kinds
from rtcvt.model import Variable
from rtcvt.part import Part
from rtcvt.unitfile import read_unit_file, shipped_units

COMMON = {
    "name": "of the unit, as in messages and files",
    "kind": "of machine",
    "description": "one line for people",
    "scenario": "inputs over time that come with the unit",
    "solver": "step of the exported unit",
}


@cache
def comments(record: type[BaseModel]) -> dict[str, str]:
    """The comment after each field of a record in its source."""
    found: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        source = textwrap.dedent(inspect.getsource(base))
        said = {
            token.start[0]: token.string[1:].strip()
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT and not token.string.startswith("# fmt")
        }
        tree = ast.parse(source).body[0]
        assert isinstance(tree, ast.ClassDef)
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.end_lineno:
                lines = range(node.lineno, node.end_lineno + 1)
                found[node.target.id] = "; ".join(said[k] for k in lines if k in said)
    return found


def meaning(record: type[BaseModel], key: str) -> str:
    """The meaning of a key; empty without a comment in the source."""
    return comments(record).get(key) or COMMON.get(key, "")


def keys(record: type[BaseModel]) -> Iterator[str]:
    """Keys of a table that a file may have."""
    return (name for name, field in record.model_fields.items() if not field.exclude)


class Key(NamedTuple):
    """A key of a table."""

    key: str
    value: str  # allowed values
    default: str
    meaning: str


Link = Callable[[type[BaseModel]], str]  # how another table is named


def _name(record: type[BaseModel]) -> str:
    return record.__name__


def rows(record: type[BaseModel], link: Link = _name) -> list[Key]:
    """The keys of one table."""
    fields = ((name, record.model_fields[name]) for name in keys(record))
    return [
        Key(f.alias or name, kind_of_value(f.annotation, f.metadata, link), _default(f), meaning(record, name))
        for name, f in fields
    ]


def roots() -> dict[str, tuple[Kind, type[BaseModel]]]:
    """The record of each kind's unit files, by the names that files give to the kind."""
    found: dict[str, tuple[Kind, type[BaseModel]]] = {}
    for kind in kinds():
        for name in kind.names:
            for unit in shipped_units(name):
                found[name] = (kind, type(kind.read(read_unit_file(unit))))
                break
    return found


def parts(annotation: Any) -> Iterator[Any]:
    """All that an annotation is made of."""
    yield annotation
    for argument in get_args(annotation):
        yield from parts(argument)


def _has_tables(annotation: Any) -> bool:
    return any(isinstance(part, type) and issubclass(part, BaseModel) for part in parts(annotation))


def tables(
    record: type[BaseModel], path: str = "", found: dict[type[BaseModel], str] | None = None
) -> dict[type[BaseModel], str]:
    """A record and the records within it, each once, with the key at which it occurs first; ``""`` for the first."""
    found = {} if found is None else found
    if record not in found:
        found[record] = path
        for name in keys(record):
            annotation = record.model_fields[name].annotation
            for part in parts(annotation):
                if isinstance(part, type) and issubclass(part, BaseModel):
                    by_name = ".NAME" if any(get_origin(p) is dict for p in parts(annotation)) else ""
                    tables(part, f"{path}.{name}{by_name}".lstrip("."), found)
    return found


def _quantity(metadata: Any) -> str:
    """Unit and bound of a validator made by `unitfile.quantity_in`."""
    for item in metadata:
        if isinstance(item, BeforeValidator):
            held = inspect.getclosurevars(item.func).nonlocals
            bound = "".join(
                f", {word} {held[key]:g}" for key, word in (("above", "above"), ("at_least", "at least"))
                if held.get(key) is not None
            )  # fmt: skip
            unit = held.get("unit", "")
            return (f"quantity in {unit}" if unit != "1" else "number") + bound
    return ""


def kind_of_value(annotation: Any, metadata: Any = (), link: Link = _name) -> str:
    """Allowed values of a key, in words."""
    said, arguments = _quantity(metadata), get_args(annotation)
    if said:
        return said
    origin = get_origin(annotation)
    if origin is not None and hasattr(annotation, "__metadata__"):
        return kind_of_value(arguments[0], annotation.__metadata__, link)
    bounds = _bounds(metadata)
    if origin is Literal:
        return " or ".join(f"`{a!r}`".replace("'", '"') for a in arguments)
    if origin in (Union, UnionType):
        words = [kind_of_value(a, (), link) for a in arguments if a is not NoneType]
        return " or ".join(dict.fromkeys(words)) + bounds
    if origin is dict:
        what = (
            "tables" if any(isinstance(p, type) and issubclass(p, BaseModel) for p in parts(arguments[1])) else "values"
        )
        return f"{what} by name: {kind_of_value(arguments[1], (), link)}"
    if origin in (tuple, list):
        if arguments[-1] is Ellipsis:
            return f"list: {kind_of_value(arguments[0], (), link)}" + bounds
        return f"list of {len(arguments)}: {kind_of_value(arguments[0], (), link)}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"table {link(annotation)}"
    names = {float: "number", int: "whole number", bool: "true or false", str: "text", Any: "value"}
    return names.get(annotation, str(getattr(annotation, "__name__", annotation))) + bounds


def _bounds(metadata: Any) -> str:
    words = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most", "pattern": "of the form"}
    words |= {"min_length": "at least", "max_length": "at most"}
    found = []
    for item in metadata:
        for part in (item, *getattr(item, "metadata", ())):
            for key, word in words.items():
                value = getattr(part, key, None)
                if value is not None and key == "pattern":
                    found.append("letters, digits and _")
                elif value is not None:
                    found.append(f"{word} {value:g}" + (" long" if "length" in key else ""))
    return "".join(f", {f}" for f in dict.fromkeys(found))


def _default(field: Any) -> str:
    if field.is_required():
        return "**required**"
    value = field.default
    if value is None or value is PydanticUndefined or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    return f"`{value!r}`".replace("'", '"') if not isinstance(value, bool) else str(value).lower()


def parameters_of(kind_name: str) -> tuple[str, dict[str, Variable]]:
    """Keys of ``[parameters]`` of a kind that has them by name in one table, and the shipped unit they are from.

    Keys that this unit leaves out are among them; no keys for other kinds.
    """
    kind, record = roots()[kind_name]
    field = record.model_fields.get("parameters")
    if kind.build is None or field is None or _has_tables(field.annotation):
        return "", {}
    name = next(iter(shipped_units(kind_name)))
    unit = kind.read(read_unit_file(name))
    by_part = issubclass(record, Part)  # `m` is short for `vehicle.m`
    return name, {v.name.partition(".")[2] if by_part else v.name: v for v in unit.build().select("parameter")}
