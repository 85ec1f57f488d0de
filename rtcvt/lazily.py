"""What a record names and others load: functions by name, which may need more packages than the record, and texts."""

import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from rtcvt.errors import InputError


def lazily(place: str) -> Callable[..., Any]:
    """The function at ``"module:name"``, imported when it is called."""
    module, _, name = place.partition(":")

    def call(*values: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*values, **named)

    return call


def by_option(option: str, parts: Mapping[str | None, Callable[..., Any]]) -> Callable[..., Any]:
    """A task that is another function, ``(unit, options, ...)``, for each value of one of its options.

    Raises
    ------
    InputError
        A value that is not among `parts`.
    """

    def call(unit: Any, given: Mapping[str, Any], *more: Any) -> Any:
        if given[option] not in parts:
            raise InputError(f"--{option}", "", given[option], " or ".join(value for value in parts if value))
        return parts[given[option]](unit, given, *more)

    return call


def help_texts(module: str) -> dict[str, str]:
    """Paragraphs for the help of commands, by command: ``help.toml`` in the folder of a module's file."""
    return tomllib.loads(Path(module).with_name("help.toml").read_text(encoding="utf-8"))
