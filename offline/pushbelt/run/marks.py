"""First bytes of a run's file. They are read without imports of the full model, which other recordings do not need."""

from pathlib import Path

from rtcvt.files import opened

FILE, JOURNAL = b"rtcvt run file 2", b"rtcvt run part 2"


def is_run(path: Path) -> bool:
    """Whether a file is that of a run, finished or not.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    return _begin(path) in (FILE, JOURNAL)


def is_journal(path: Path) -> bool:
    """Whether a file is the journal of a run that has not finished; errors as of `is_run`."""
    return _begin(path) == JOURNAL


def _begin(path: Path) -> bytes:
    with opened(path, None) as file:
        return file.read(len(FILE))
