"""A disk that fails: a library to preload, whose writes to regular files fail from a number of bytes on."""

import os
from pathlib import Path

from archives import library

__all__ = ["build", "environment"]


def build(folder: Path) -> Path:
    """The library."""
    return library(folder, "failing")


def environment(library: Path, below: Path, after: int, number: int) -> dict[str, str]:
    """Variables of a process whose files in `below` take `after` bytes and then give the error `number`."""
    return os.environ | {
        "LD_PRELOAD": str(library), "FAIL_BELOW": str(below), "FAIL_AFTER": str(after), "FAIL_WITH": str(number)
    }  # fmt: skip
