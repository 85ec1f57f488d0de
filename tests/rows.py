"""Data of tests that are no Python: texts of good files, tables of mistakes with their messages, tables of cases."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

__all__ = ["DATA", "cases", "independent", "mistakes", "script", "tables", "text_of"]

DATA = Path(__file__).parent / "data"


def text_of(name: str) -> str:
    """The text of a file of ``tests/data``."""
    return (DATA / name).read_text(encoding="utf-8")


def tables(name: str) -> dict:
    """The tables of a TOML file of ``tests/data``."""
    return tomllib.loads(text_of(name))


def independent(name: str) -> NDArray[np.float64]:
    """The rows of a table of ``tests/data/independent``, which `studies.independent` explains."""
    return np.loadtxt(DATA / "independent" / f"{name}.csv", delimiter=",")


def script(group: str, name: str) -> str:
    """A program of ``tests/data/scripts.toml``."""
    return tables("scripts.toml")[group][name]


def _rows(folder: str) -> Callable[[Callable], Callable]:
    """Parametrise a test by the rows of its name in ``tests/data/FOLDER/MODULE.toml``, both without ``test_``.

    The keys of the rows are the test's arguments; one that a row does not have is None. `slow` rows are marked so.
    """

    def parametrised(test: Callable) -> Callable:
        module = Path(test.__code__.co_filename).stem.removeprefix("test_")
        found = tables(f"{folder}/{module}.toml")[test.__name__.removeprefix("test_")]
        names = [key for key in dict.fromkeys(key for row in found for key in row) if key != "slow"]
        marks = {False: (), True: pytest.mark.slow}
        given = [pytest.param(*map(row.get, names), marks=marks["slow" in row]) for row in found]
        return pytest.mark.parametrize(names, given)(test)

    return parametrised


mistakes, cases = _rows("bad_calls"), _rows("cases")
