"""Functions by name, for functions that need more packages than the module that names them."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazily(place: str) -> Callable[..., Any]:
    """The function at ``"module:name"``, imported when it is called."""
    module, _, name = place.partition(":")

    def call(*values: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*values, **named)

    return call
