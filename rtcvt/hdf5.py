"""HDF5 files that are checked before anything interprets them.

Seal. A mark says what a file is, how many of its bytes count, and their digest (BLAKE2b). In HDF5 it stands in the user
block, which other programs skip. A file that was cut, zeroed or flipped anywhere is refused by its mark alone.

Bounds. A file may be whole and still declare what nobody can hold, or point elsewhere: datasets of at most `LARGEST`
together, and no links, external or virtual datasets, are read.
"""

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from rtcvt.errors import InputError

__all__ = ["BLOCK", "MARK", "checked", "digest_of", "hashed", "open_sealed", "require_bounded", "seal"]

BLOCK = 512  # [bytes] of the user block
LARGEST = 4 * 2**30  # [bytes] of all datasets together
MARK = struct.Struct("<16sQ40s")  # what it is, bytes that count, digest
_PIECE = 1 << 20


def hashed(data: bytes = b"") -> Any:
    """A digest that has taken `data`."""
    return hashlib.blake2b(data, digest_size=40)


def digest_of(file: BinaryIO, start: int, stop: int) -> Any:
    """Digest of the bytes of a file from `start` to `stop`; None if there are fewer."""
    found, left = hashed(), stop - start
    file.seek(start)
    while left > 0:
        piece = file.read(min(left, _PIECE))
        if not piece:
            return None
        found.update(piece)
        left -= len(piece)
    return found


def checked(path: Path, file: BinaryIO, kind: bytes, start: int, what: str) -> tuple[int, Any]:
    """Number of bytes that count, and their digest, of a file whose mark fits them.

    Raises
    ------
    InputError
        It does not, or there is none of this kind; `what` says what is allowed.
    """
    file.seek(0)
    head = file.read(MARK.size)
    if len(head) == MARK.size:
        magic, length, digest = MARK.unpack(head)
        if magic == kind and start <= length <= os.fstat(file.fileno()).st_size:
            found = digest_of(file, start, length)
            if found is not None and found.digest() == digest:
                return length, found
    raise InputError(path, "", None, f"an undamaged file of a {what}; this is none, or was cut or changed")


def seal(path: Path, kind: bytes) -> None:
    """Mark an HDF5 file with a user block as finished, and have it on the disk."""
    with path.open("r+b") as file:
        length = os.fstat(file.fileno()).st_size
        mark = MARK.pack(kind, length, digest_of(file, BLOCK, length).digest())
        file.seek(0)
        file.write(mark)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def open_sealed(path: Path, kind: bytes, what: str) -> Iterator[h5py.File]:
    """A sealed file, open for reading.

    Raises
    ------
    InputError
        Not one of this kind, damaged, or beyond the bounds; and for what reading raises.
    """
    try:
        with path.open("rb") as raw:
            checked(path, raw, kind, BLOCK, what)
        with h5py.File(path, "r") as file:
            require_bounded(file, path)
            yield file
    except (OSError, KeyError, TypeError, AttributeError, ValueError, IndexError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(path, "", None, f"an HDF5 file of a {what} ({error})") from None


def require_bounded(file: h5py.File, path: Path) -> None:
    """Refuse a file whose datasets are too large together, are of no plain type, or lie elsewhere.

    Raises
    ------
    InputError
        Such a file.
    """
    total, groups = 0, [file["/"]]
    seen = {h5py.h5o.get_info(file["/"].id).addr}
    for group in groups:  # grows
        for name in group:
            key = f"{group.name.rstrip('/')}/{name}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise InputError(path, key, None, "a dataset or group of this file, no link")
            item = group[name]
            if isinstance(item, h5py.Group):
                address = h5py.h5o.get_info(item.id).addr
                if address not in seen:
                    seen.add(address)
                    groups.append(item)
                continue
            if not isinstance(item, h5py.Dataset) or item.is_virtual or item.external:
                raise InputError(path, key, None, "a dataset or group of this file")
            if item.dtype.kind not in "biufS" and h5py.check_string_dtype(item.dtype) is None:
                raise InputError(path, key, str(item.dtype), "numbers or text")
            total += int(item.size or 0) * item.dtype.itemsize
    if total > LARGEST:
        raise InputError(path, "", f"{total} bytes", f"datasets of at most {LARGEST >> 30} GiB together")
