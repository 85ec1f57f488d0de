"""Marks at the start of a run's file, without imports of the full model, which other recordings do not need."""

from pathlib import Path

from rtcvt.files import opened

FILE, JOURNAL = b"rtcvt run file 2", b"rtcvt run part 2"


def is_run(path: Path) -> bool:
    """Whether a file begins as one of a run does."""
    return _begin(path) in (FILE, JOURNAL)


def is_journal(path: Path) -> bool:
    """Whether a file begins as a journal does."""
    return _begin(path) == JOURNAL


def _begin(path: Path) -> bytes:
    with opened(path, None) as file:
        return file.read(len(FILE))
