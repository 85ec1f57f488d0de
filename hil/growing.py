"""Files of growing recordings: names, locks, and the common part of the writers of all formats.

Marks are as in `rtcvt.files.hdf5`. After each append a mark has the number of valid rows, with the digest of the
descriptions and of these rows: in the user block of HDF5, before the data block of MDF. At the end the whole file is
sealed; in MDF the mark then includes the bytes after the rows. Only rows that a mark confirms are read, and HDF5
without a seal only after a process with a time limit has read it.
"""

import os
import struct
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import AsInputError, InputError
from rtcvt.files.hdf5 import UNREADABLE
from rtcvt.recording import is_special, put_in_place

Array = NDArray[np.float64]

WHAT = "recording"


@dataclass(frozen=True)
class Channel:
    """One signal of a recording."""

    name: str
    unit: str
    description: str = ""


@dataclass
class Claim:
    """A file that grows, locked against other runs."""

    path: Path  # its name once it is finished
    part: Path
    lock: int  # a handle, or -1 after its release
    grown: bool = False  # whether there is anything in it

    def release(self) -> None:
        """Unlock it; the temporary file of a device is removed."""
        self.forget()
        if is_special(self.path):
            self.part.unlink(missing_ok=True)

    def forget(self) -> None:
        """Leave it to another process."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


class Writer(ABC):
    """A growing file."""

    def __init__(self, claim: Claim):
        self._claim, self._part = claim, claim.part

    @abstractmethod
    def append(self, rows: Array) -> None:
        """Add samples, shape (m, 1 + number of channels), time [s] first, and hand them to the system."""

    @abstractmethod
    def finish(self, attributes: Mapping[str, Any]) -> None:
        """Note how the run ended, close the file and give it its name."""

    @abstractmethod
    def abandon(self) -> None:
        """Close the file as it is."""

    def _named(self) -> None:
        put_in_place(self._part, self._claim.path)
        self._claim.release()


def part_name(path: Path) -> Path:
    """Name of a recording until it is finished."""
    return path.with_name(f"{path.stem}.part{path.suffix}")


def claimed(path: Path) -> Claim:
    """Create an empty file to grow; the file of an earlier run is renamed."""
    if is_special(path):
        lock, name = tempfile.mkstemp(prefix="rtcvt-", suffix=path.suffix)
        return Claim(path, Path(name), lock)
    part = part_name(path)
    try:
        with suppress(FileNotFoundError):
            old = os.open(part, os.O_RDWR | os.O_CLOEXEC)
            try:
                _lock(old)
                os.rename(part, _free_name(path))
            finally:
                os.close(old)
        lock = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        _lock(lock)
    except (BlockingIOError, FileExistsError):
        raise InputError("output", "", str(path), "a file that no other run writes") from None
    except OSError as error:
        raise InputError("output", "", str(path), f"a file that can be written: {error.strerror}") from None
    return Claim(path, part, lock)


def _lock(handle: int) -> None:
    """Lock an open file until its handle is closed; HDF5 has locks of another kind, which do not meet this one."""
    with suppress(ImportError):  # not on Windows
        import fcntl

        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}.part-{k}{path.suffix}") for k in count(1))
    return next(name for name in names if not name.exists())


def write_at(handle: int, place: int, data: bytes) -> None:
    """Write all of `data`, or raise OSError: a full disk may accept a part."""
    done = 0
    while done < len(data):
        done += os.pwrite(handle, data[done:], place + done)


def undamaged(path: Path) -> AsInputError:
    """Within it, an error of reading is one of a damaged file."""
    kinds = (*UNREADABLE, ArithmeticError, subprocess.SubprocessError)
    return AsInputError(kinds, path, "", None, damaged(path).parts[3], passing=InputError)


def damaged(path: Path) -> InputError:
    """The error of a file that no mark confirms."""
    return InputError(path, "", None, f"an undamaged file of a {WHAT}; this one is another file, or was cut or changed")
