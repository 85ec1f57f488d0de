"""Data of tests that are no Python: texts of good files, and tables of mistakes with the expected messages."""

import tomllib
from pathlib import Path

import pytest

__all__ = ["DATA", "bad", "text_of"]

DATA = Path(__file__).parent / "data"


def text_of(name: str) -> str:
    """The text of a file of ``tests/data``."""
    return (DATA / name).read_text(encoding="utf-8")


def bad(name: str, table: str) -> pytest.MarkDecorator:
    """Parametrise a test by a table of ``tests/data/bad_calls/NAME.toml``; a key that a row does not have is None."""
    found = tomllib.loads(text_of(f"bad_calls/{name}.toml"))[table]
    names = list(dict.fromkeys(key for row in found for key in row))
    return pytest.mark.parametrize(names, [tuple(row.get(n) for n in names) for row in found])
