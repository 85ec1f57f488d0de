"""Reading of files that others wrote: regular files only, up to a largest size. Folders that are removed after a
failure.

Every file is read by `opened`, or checked by `require_regular` before a library opens it by its name. A list holds all
files that were read; this process does not overwrite them. Outputs are compared with the list by device and inode, so
links are found. Files that this process wrote or extends, such as those of its own campaign, are not on the list.
"""

import csv
import io
import json
import math
import os
import re
import secrets
import signal
import stat
import threading
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from rtcvt.errors import AsInputError, InputError

LARGEST = 16 * 2**20  # [bytes] of a text
EXTRACTED = 512 * 2**20  # [bytes] of an archive's files together
MEMBERS = 10_000  # files of an archive


Place = tuple[int, int]  # device and inode

_read: dict[Place, tuple[Path, str]] = {}  # path, and the key or option that named the file
_outputs: dict[Place, tuple[Path, str]] = {}  # outputs of the running command, and the options that name them
_own: set[Path] = set()  # files that this process wrote or extends


@contextmanager
def command_files(inputs: Iterable[tuple[str, str]], outputs: Iterable[tuple[str, str]]) -> Iterator[None]:
    """The list for a command, which begins with the files that it names, each with its option or argument.

    Raises
    ------
    InputError
        An output is an input, now or as soon as the block reads it.
    """
    for kept in (_read, _outputs, _own):
        kept.clear()
    for name, option in inputs:
        reads(Path(name), option)
    for name, option in outputs:
        require_unread(Path(name), option)
        if (place := _place(Path(name))) is not None:
            _outputs.setdefault(place, (Path(name), option))
    try:
        yield
    finally:
        _outputs.clear()


def reads(path: Path, by: str = "") -> Path:
    """Put an existing file that is about to be read on the list; `by` names the key or option. Returns the path.

    Raises
    ------
    InputError
        The file is an output of the command.
    """
    place = _place(path)
    if place is not None and path.absolute() not in _own:
        if not _read.get(place, (path, ""))[1] or _at(_read, place) is None:
            _read[place] = (path.absolute(), by)
        if (output := _at(_outputs, place)) is not None:
            require_unread(*output)
    return path


def goes_on_with(path: Path) -> Path:
    """A file of this process's own, which it may read and write over, unless an option or another file names it."""
    _own.add(path.absolute())
    place = _place(path)
    if place is not None and _read.get(place) == (path.absolute(), ""):
        del _read[place]
    return path


def require_unread(path: Path, output: str = "output") -> None:
    """Refuse an output file that is on the list of files that were read.

    Raises
    ------
    InputError
        The output was read.
    """
    place = _place(path)
    if place is not None and (found := _at(_read, place)) is not None:
        by = f" for {found[1]}" if found[1] else ""
        raise InputError(output, "", str(path), f"another file than {found[0].name}, which is read{by}")


def _place(path: Path) -> Place | None:
    """Where a regular file is, under any name."""
    with suppress(OSError, ValueError):
        found = os.stat(path)
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return None


def _at(kept: dict[Place, tuple[Path, str]], place: Place) -> tuple[Path, str] | None:
    """The entry of a place, unless its file was removed: a new file may have the same inode."""
    found = kept.get(place)
    return found if found is not None and _place(found[0]) == place else None


def opened(path: Path, largest: int | None = LARGEST) -> BinaryIO:
    """A regular file, open for reading: a pipe would wait and a device never end.

    Raises
    ------
    InputError
        There is none, it is a device, pipe or folder, larger than `largest` [bytes], or an output of the command.
    """
    reads(path)
    name = path.name or str(path)  # of '.'
    # ValueError: a zero byte in the name
    with AsInputError((OSError, ValueError), name, "", None, lambda e: f"cannot be read: {getattr(e, 'strerror', e)}"):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and (largest is None or found.st_size <= largest):
        try:
            os.read(handle, 1)  # some of /proc would wait
            os.lseek(handle, 0, os.SEEK_SET)
            return os.fdopen(handle, "rb")
        except OSError as error:
            os.close(handle)
            raise InputError(name, "", None, f"cannot be read: {error.strerror}") from None
    os.close(handle)
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise InputError(name, "", None, f"cannot be read: {what}")
    raise InputError(name, "", f"{found.st_size} bytes", f"a file of at most {(largest or 0) >> 20} MiB")


def require_regular(path: Path, largest: int | None = LARGEST) -> None:
    """Refuse every file that `opened` refuses, for a library that opens the file by its name."""
    opened(path, largest).close()


def read_bytes(path: Path) -> bytes:
    """Contents of a regular file.

    Raises
    ------
    InputError
        See `opened`.
    """
    with opened(path) as file, AsInputError(OSError, path.name, "", None, lambda e: f"cannot be read: {e.strerror}"):
        return file.read(LARGEST) or b""


def read_text(path: Path, foreign: bool = False) -> str:
    """Text of a regular file in UTF-8, with lines that end as Python's do; of one that other tools write (`foreign`)
    also in UTF-16 or code page 1252.

    Raises
    ------
    InputError
        See `opened`; or not a text.
    """
    data = read_bytes(path)
    wide = foreign and data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-16" if wide else "utf-8-sig").read()
    except UnicodeDecodeError:
        if foreign and not wide:
            return io.TextIOWrapper(io.BytesIO(data), encoding="cp1252", errors="replace").read()
        raise InputError(path.name, "", None, "not a text file in UTF-8") from None


def read_rows(path: Path, separators: str = ",") -> list[tuple[int, list[str]]]:
    """Rows of a table in a text file with the numbers of their lines, without empty lines and those that begin with
    ``#``. Of several separators it is the one by which the first two rows have as many cells, and most of them.

    Raises
    ------
    InputError
        See `read_text`; or a cell that is too long.
    """
    lines = enumerate(read_text(path, foreign=True).splitlines(), start=1)
    kept = [(k, line) for k, line in lines if line.strip() and not line.startswith("#")]

    def cells(k: int, line: str, separator: str) -> list[str]:
        with AsInputError(csv.Error, path.name, f"line {k}", None, lambda e: f"a row of a table: {e}"):
            return next(csv.reader([line], delimiter=separator))

    def fits(separator: str) -> tuple[bool, int]:
        sizes = [len(cells(*row, separator)) for row in kept[:2]]
        return sizes[0] > 1 and len(set(sizes)) == 1, sizes[0]

    separator = max(separators, key=fits) if kept and len(separators) > 1 else separators[0]
    return [(k, cells(k, line, separator)) for k, line in kept]


TIMES = "times that do not fall; two rows of one time are a jump, the values before and after it"


def misplaced(time: Sequence[float]) -> int | None:
    """Place of the first time of a table that is below the one above it, or the third of its kind; None if all fit."""
    for k in range(1, len(time)):
        if time[k] < time[k - 1] or (k > 1 and time[k] == time[k - 2]):
            return k
    return None


_NUMBER = re.compile(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*")


def number(cell: str) -> float:
    """The number in a cell, NaN if there is none, or an infinite one."""
    found = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    return found if math.isfinite(found) else math.nan


def read_json(path: Path, what: str) -> Any:
    """Contents of a JSON file; `what` names the allowed file in messages.

    Raises
    ------
    InputError
        As `read_text`, or the text is not JSON.
    """
    with AsInputError((ValueError, RecursionError), path, "", None, lambda e: f"{what} ({e})", passing=InputError):
        return json.loads(read_text(path))


@contextmanager
def opened_archive(path: Path) -> Iterator[BinaryIO]:
    """A zip archive, open for reading, whose declared sizes, which extraction never exceeds, are bounded.

    Raises
    ------
    InputError
        See `opened`; too many files, or too large ones; a file outside of its folder, or different ones of one name.
    zipfile.BadZipFile
        Not an archive.
    """
    with opened(path, EXTRACTED) as file:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
        sizes = [m.file_size for m in members]
        sums: dict[str, int] = {}
        for m in members:
            if ".." in m.filename.split("/") or m.filename.startswith("/") or {":", "\\"} & set(m.filename):
                raise InputError(path.name, "archive", m.filename, "files below its own folder")
            if sums.setdefault(m.filename, m.CRC) != m.CRC:
                raise InputError(path.name, "archive", m.filename, "one file of this name; these differ")
        if len(sizes) > MEMBERS or sum(sizes) > EXTRACTED:
            found = f"{len(sizes)} files, {sum(sizes) / 2**20:.0f} MiB"
            most = f"at most {MEMBERS} files and {EXTRACTED >> 20} MiB, extracted"
            raise InputError(path.name, "archive", found, most)
        yield file


def new_beside(path: Path) -> tuple[int, Path]:
    """Handle and path of a new file in the same folder, with the rights that the user's umask leaves.

    Raises
    ------
    OSError
        It cannot be made.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{path.suffix}")
    return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666), temporary


_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name)]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed on leaving. An exception that a signal's handler raises waits until it is there in full,
    or gone."""
    folder = None
    try:
        with signals_wait():
            folder = TemporaryDirectory(prefix="rtcvt-", ignore_cleanup_errors=True)
        yield Path(folder.name).resolve()
    finally:
        if folder is not None:
            with signals_wait():
                folder.cleanup()


@contextmanager
def signals_wait() -> Iterator[None]:
    """Handlers in Python are called at the end of the block; outside the main thread none is called anyway."""
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if callable(handler := signal.getsignal(number)):
                    before[number] = handler
                    signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)
