"""Machine code on disk: a file for each kernel and argument types, read only if undamaged and owned by this user.

The name of a file contains its key, a digest of everything that the machine code depends on. The file begins with a
digest of its contents and the key. If the file was cut, changed or exchanged, or cannot be read, the kernel is compiled
again. Files are written under a temporary name and renamed, and none refers to another: processes do not disturb each
other.
"""

import hashlib
import logging
import os
import time
from contextlib import suppress
from pathlib import Path

from rtcvt.files import new_beside

_DIGEST, _STAMP = 32, 64  # [bytes] at the beginning
_FORGOTTEN = 600.0  # [s] after which a half file is of a process that was killed
_told: set[str] = set()


def tell(what: str, *values: object) -> None:
    """Warn once in a process."""
    if what not in _told:
        _told.add(what)
        logging.getLogger("rtcvt").warning(what, *values)


class Files:
    """Machine code of one kernel.

    Parameters
    ----------
    folder, base : Path, str
        Where it lies, and how the names begin.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self.folder, self.base = folder, base

    def load(self, key: str) -> bytes | None:
        """Data saved with this key (hexadecimal); None if missing, damaged, or owned by another user."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                data = file.read()
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                tell("machine code cannot be read and is compiled again: %s", error)
            return None
        if hasattr(os, "geteuid") and (found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o002):
            tell("machine code that others can write is not used: %s", path)
            return None
        if data[:_DIGEST] != _digest(key, data[_DIGEST:]):
            self.refuse(key)
            return None
        return data[_DIGEST + _STAMP :]

    def refuse(self, key: str) -> None:
        """Report that the saved data is no machine code."""
        tell("machine code on disk is damaged and is compiled again: %s", self._path(key))

    def save(self, key: str, stamp: str, data: bytes) -> None:
        """Save `data`, and remove files with another `stamp` (hexadecimal, 64 digits)."""
        data = stamp.encode() + data
        try:
            handle, half = new_beside(self._path(key))
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_digest(key, data) + data)
                os.replace(half, self._path(key))
            except BaseException:
                half.unlink(missing_ok=True)
                raise
            self._drop_others(stamp.encode())
        except OSError as error:
            tell("machine code cannot be kept and is compiled each time: %s", error)

    def _path(self, key: str) -> Path:
        return self.folder / f"{self.base}.{key[:32]}.nbc"

    def _drop_others(self, stamp: bytes) -> None:
        for path in self.folder.glob(f"{self.base}.*"):
            with suppress(FileNotFoundError):  # another process dropped it
                with path.open("rb") as file:
                    old = file.read(_DIGEST + _STAMP)[_DIGEST:] != stamp
                if old:
                    path.unlink()
        for half in self.folder.glob(f".{self.base}.*"):
            with suppress(FileNotFoundError):
                if time.time() - half.stat().st_mtime > _FORGOTTEN:
                    half.unlink()


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST, key=key[:64].encode()).digest()
