"""A disk that fails, a clock that jumps: libraries to preload. Writes to regular files fail from a number of bytes on;
the wall clock is put on or back at a time."""

import os
from pathlib import Path

from archives import library

__all__ = ["build", "environment", "jumping"]


def build(folder: Path, name: str = "failing") -> Path:
    """The library: ``failing`` or ``jumping``."""
    return library(folder, name)


def environment(library: Path, below: Path, after: int, number: int) -> dict[str, str]:
    """Variables of a process whose files in `below` take `after` bytes and then give the error `number`."""
    return os.environ | {
        "LD_PRELOAD": str(library), "FAIL_BELOW": str(below), "FAIL_AFTER": str(after), "FAIL_WITH": str(number)
    }  # fmt: skip


def jumping(library: Path, when: Path, seconds: int) -> dict[str, str]:
    """Variables of a process whose wall clock jumps by `seconds` once there is a file `when`."""
    return {"LD_PRELOAD": str(library), "JUMP_WHEN": str(when), "JUMP": str(seconds)}
