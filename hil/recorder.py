"""Recordings that grow while a run goes on: HDF5 as in `rtcvt.files.recording`, or ASAM MDF 4; the suffix decides.

A recording grows under the name ``NAME.part.SUFFIX`` and gets its own name when it is finished, so what a killed run
leaves can be told from a complete one and can be read like it; a new run keeps it as ``NAME.part-1.SUFFIX``. While it
grows it is locked against a second writer.

A process of its own writes it: HDF5 does not survive a write that fails (quota, limit, full or lost disk), and no disk
that stalls may hold up the rig. It goes on until it has written what it was given, also if the rig is killed.

- HDF5 is written in its SWMR mode, in which the file can be read at any time. It is not compressed: each append would
  leave the compressed text of an unfinished chunk behind.
- MDF: asammdf writes a file with all descriptions and no samples. Samples then follow in a data block (##DT) at the
  file's end. After each append the block's length and the number of cycles in the channel group (##CG) are put right,
  in this order, so the file is a finalised MDF 4.10 at any time. Layout of blocks: ASAM MDF 4.1.0, section 6.

Marks, as of `rtcvt.files.hdf5`. After each append a mark says how many rows count, with the digest of the descriptions
and of these rows: in the user block of HDF5, before the data block of MDF. At the end the whole file is sealed; in MDF
the mark then takes what follows the rows, too. Only what a mark confirms is read, and HDF5 that has no seal yet only
after a process with a time limit has read it.

The run's circumstances are attributes in HDF5 and a comment of the header, in JSON, in MDF; the unit file is the
dataset ``unit_file`` or the attachment ``unit.toml``.
"""

import errno
import json
import os
import queue
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__, processes
from rtcvt.environment import now
from rtcvt.errors import InputError
from rtcvt.files import goes_on_with, opened
from rtcvt.files.hdf5 import BLOCK, MARK, grow, hashed, new_series, require_bounded, seal
from rtcvt.files.names import mapped
from rtcvt.files.recording import (
    HDF5,
    SCHEMA_VERSION,
    SEAL,
    Recording,
    Signal,
    is_special,
    put_in_place,
    read_recording,
    recording_in,
    require_ending,
    require_writable,
    revision,
    series_texts,
    signal_about,
    write_recording,
)

Array = NDArray[np.float64]

MDF_SUFFIXES = (".mf4", ".mdf")
ENDINGS = (*HDF5, *MDF_SUFFIXES)
FLAGS = "of the step: 1 miss, 2 fall-back of an input, 4 fault, 8 no result, 16 inputs held"  # the rig's own column
MOST_ROWS, CHUNKS = 4096, 2**27  # of a chunk of HDF5, and bytes of the chunks of all signals together
FLUSHED = 256  # signals of HDF5 at once: in SWMR mode the time goes with the square of what has changed
UNFINISHED = "the recording was not finished"
GROWING, MDF_GROWING, MDF_DONE = b"rtcvt recording+", b"rtcvt MDF part  ", b"rtcvt MDF done  "
WHAT = "recording"
ROWS = 65536  # that are checked at once
HEADER = 64 * 2**20  # [bytes] of an MDF before its samples, at most
WAIT, PATIENCE, FINISH = 0.25, 10.0, 600.0  # [s] for one append in turn, for any append, for the end


@dataclass(frozen=True)
class Channel:
    """One signal of a recording."""

    name: str
    unit: str
    description: str = ""


class _Format(Protocol):
    """A growing file."""

    def append(self, rows: Array) -> None:
        """Add samples, shape (m, 1 + number of channels), time [s] first, and hand them to the system."""

    def finish(self, attributes: Mapping[str, Any]) -> None:
        """Note how the run ended, close the file and give it its name."""

    def abandon(self) -> None:
        """Close the file as it is."""


def part_name(path: Path) -> Path:
    """What a recording is called until it is finished."""
    return path.with_name(f"{path.stem}.part{path.suffix}")


def open_recorder(
    path: Path,
    channels: Sequence[Channel],
    kind: str,
    attributes: Mapping[str, Any],
    unit_file: str,
    rows: int | None = None,
) -> "Recorder":
    """A new recording.

    Parameters
    ----------
    path : Path
        Its name once it is finished, with one of the `ENDINGS`.
    channels : sequence of Channel
        Besides the time.
    kind : str
        What makes it, e.g. ``real-time run``.
    attributes : mapping
        Circumstances: text, numbers, truth values.
    unit_file : str
        Text of the unit file, or nothing.
    rows : int, optional
        How many there will be at most, as far as one knows.

    Raises
    ------
    InputError
        Another ending; the file cannot be written, or another run writes it.
    """
    require_ending(path, ENDINGS)
    require_writable(path)
    claim = _claim(goes_on_with(path))  # another process writes it
    about = _about(kind, attributes)
    try:
        return Recorder(claim, lambda: _format(path)(claim, channels, about, unit_file, rows), 1 + len(channels))
    except OSError as error:
        raise InputError("output", "", str(path), f"a file that can be written: {error.strerror or error}") from None


def _about(kind: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "rtcvt_version": __version__,
        "revision": revision(),
        "created": now().isoformat(timespec="seconds"),
        **attributes,
        "completed": False,
        "message": UNFINISHED,
    }


def _format(path: Path) -> "type[_Hdf5] | type[_Mdf]":
    return _Mdf if path.suffix.lower() in MDF_SUFFIXES else _Hdf5


@dataclass
class _Claim:
    """A file that grows, locked against other runs."""

    path: Path  # its name once it is finished
    part: Path
    lock: int  # a handle, or -1 after its release
    grown: bool = False  # whether there is anything in it

    def release(self) -> None:
        self.forget()
        if is_special(self.path):
            self.part.unlink(missing_ok=True)

    def forget(self) -> None:
        """Leave it to another process."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def _claim(path: Path) -> _Claim:
    """A new, empty file to grow; what an earlier run left gets another name."""
    if is_special(path):
        lock, name = tempfile.mkstemp(prefix="rtcvt-", suffix=path.suffix)
        return _Claim(path, Path(name), lock)
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
    return _Claim(path, part, lock)


def _lock(handle: int) -> None:
    """Lock an open file until its handle is closed; HDF5 has locks of another kind, which do not meet this one."""
    with suppress(ImportError):  # not on Windows
        import fcntl

        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}.part-{k}{path.suffix}") for k in count(1))
    return next(name for name in names if not name.exists())


def write(path: Path, recording: Recording, kind: str) -> None:
    """Write a whole recording in one go, in the format of its suffix.

    Raises
    ------
    InputError
        Another ending, or the file cannot be written.
    """
    require_ending(path, ENDINGS)
    require_writable(path)
    if _format(path) is _Hdf5:
        write_recording(path, recording, kind)
        return
    channels = [Channel(name, s.unit, s.description) for name, s in recording.signals.items()]
    claim = _claim(path)
    try:
        made = _Mdf(claim, channels, _about(kind, recording.attributes), recording.unit_file)
        made.append(np.column_stack([recording.time, *(s.values for s in recording.signals.values())]))
        made.finish(recording.attributes)
    except OSError as error:
        claim.release()
        claim.part.unlink(missing_ok=True)
        raise InputError("output", "", str(path), f"a file that can be written: {error.strerror or error}") from None


def read(path: Path) -> Recording:
    """Read a recording of either format, also one that a killed run left.

    Raises
    ------
    InputError
        Damaged, or not a recording.
    """
    if path.suffix.lower() == ".csv":
        raise InputError(path, "recording", path.suffix, "HDF5 or MDF 4; CSV holds signals alone, for others")
    with opened(path, None) as file:
        head = file.read(len(GROWING))
    if head.startswith(b"MDF "):
        return _read_mdf(path)
    return (_read_growing(path) if head == GROWING else read_recording(path)).require_series(path)


# --- the process


class Recorder:
    """A growing recording: its process, as the rig sees it."""

    def __init__(self, claim: _Claim, make: Callable[[], _Format], width: int):
        self._socket, other = socket.socketpair()
        self._part = claim.part
        self._sent = self._written = 0  # appends
        self._since = 0.0  # when the first of those that are not written was sent
        self._answers = b""
        self._pid = os.fork()
        if not self._pid:
            _serve(other, claim, make, width)
        other.close()
        claim.forget()
        try:
            self._answer(FINISH)
        except BaseException:
            self.abandon()
            raise

    def append(self, rows: Array) -> None:
        """Add samples, shape (m, 1 + number of channels), time [s] first; they are written soon.

        Raises
        ------
        OSError
            These or earlier ones could not be written.
        """
        if self._sent == self._written:
            self._since = time.monotonic()
        self._send(b"A", np.ascontiguousarray(rows, dtype=np.float64).tobytes())
        self._sent += 1
        until = time.monotonic() + WAIT
        while self._written < self._sent and (left := until - time.monotonic()) > 0.0:
            with suppress(TimeoutError):
                self._answer(left)
                self._written += 1
                self._since = time.monotonic()
        if self._written < self._sent and time.monotonic() - self._since > PATIENCE:
            raise OSError(errno.ETIMEDOUT, f"the disk took nothing for {PATIENCE:g} s")

    def finish(self, attributes: Mapping[str, Any]) -> None:
        """Note how the run ended, close the file and give it its name.

        Raises
        ------
        OSError
            It could not be written.
        """
        self._send(b"F", json.dumps(dict(attributes), default=_plain).encode())
        for _ in range(self._sent - self._written + 1):
            self._answer(FINISH)
        self._end(FINISH)

    def abandon(self) -> bool:
        """Close the file as it is; whether there is anything in it, else it is removed."""
        self._end(PATIENCE)
        return self._part.exists()

    def _send(self, kind: bytes, payload: bytes) -> None:
        try:
            self._socket.sendall(_FRAME.pack(kind, len(payload)) + payload)
        except OSError:  # it has ended: its last answer says why
            self._answer(WAIT)

    def _answer(self, seconds: float) -> None:
        """The next answer; OSError if it is a complaint or the end, TimeoutError if there is none."""
        until = time.monotonic() + seconds
        while b"\n" not in self._answers:
            if not select.select([self._socket], [], [], max(until - time.monotonic(), 0.0))[0]:
                raise TimeoutError
            try:
                got = self._socket.recv(4096)
            except OSError:
                got = b""
            if not got:
                raise OSError(errno.EIO, f"its process ended{self._end(WAIT)}")
            self._answers += got
        line, _, self._answers = self._answers.partition(b"\n")
        if line:
            number, text = json.loads(line)
            raise OSError(number, text)

    def _end(self, seconds: float) -> str:
        """Wait for the end of the process; how it ended, to follow another text."""
        self._socket.close()
        pid, self._pid = self._pid, 0
        until = time.monotonic() + seconds
        while pid:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return f" by {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else ""
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)  # one that waits for a lost disk ends when that answers
                return ""
            time.sleep(2e-3)
        return ""


_FRAME = struct.Struct("<cQ")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def _serve(rig: socket.socket, claim: _Claim, make: Callable[[], _Format], width: int) -> None:
    """The life of the process that writes. Never returns; HDF5 is not closed after a failure."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN)  # the rig decides; writes beyond a limit fail by EFBIG
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what h5py says when it closes what is left
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) not in (rig.fileno(), claim.lock):
                with suppress(OSError):
                    os.close(int(name))
        frames: queue.SimpleQueue[tuple[bytes, bytes]] = queue.SimpleQueue()
        made = make()
        rig.sendall(b"\n")
        threading.Thread(target=_receive, args=(rig, frames), daemon=True).start()
        while True:
            kind, payload = frames.get()
            if kind == b"A":
                made.append(np.frombuffer(payload).reshape(-1, width))
            elif kind == b"F":
                made.finish(json.loads(payload))
            else:
                made.abandon()
                if not claim.grown:
                    claim.part.unlink(missing_ok=True)
                break
            with suppress(OSError):
                rig.sendall(b"\n")
            if kind == b"F":
                break
        code = 0
    except BaseException as error:
        if is_special(claim.path) or not claim.grown:
            claim.part.unlink(missing_ok=True)
        with suppress(OSError):
            rig.sendall(json.dumps(_reason(error)).encode() + b"\n")
    finally:
        os._exit(code)


def _reason(error: BaseException) -> tuple[int, str]:
    """Number and text of an error of the system, which HDF5 quotes."""
    quoted = re.search(r"errno = (\d+)", str(error))
    number = int(quoted[1]) if quoted else getattr(error, "errno", None)
    return (number, os.strerror(number)) if number else (errno.EIO, f"{type(error).__name__}: {error}")


def _receive(rig: socket.socket, frames: "queue.SimpleQueue[tuple[bytes, bytes]]") -> None:
    """Take what the rig sends, so that it never waits for the disk."""
    with suppress(OSError), rig.makefile("rb") as file:
        while head := file.read(_FRAME.size):
            if len(head) < _FRAME.size:
                break
            kind, length = _FRAME.unpack(head)
            payload = file.read(length)
            if len(payload) < length:
                break
            frames.put((kind, payload))
    frames.put((b"", b""))


# --- formats


class _Hdf5:
    def __init__(self, claim: _Claim, channels: Sequence[Channel], about: Mapping[str, Any], unit_file: str,
                 rows: int | None = None):  # fmt: skip
        self._claim, self._part = claim, claim.part
        self._order = [0, *(1 + k for k in _sorted(channels))]
        self._chunk = max(16, min(MOST_ROWS, rows or MOST_ROWS, CHUNKS // 8 // (1 + len(channels))))
        self._digest, self._rows = _described(channels, unit_file), 0
        with h5py.File(self._part, "w", libver="latest", userblock_size=BLOCK):
            pass
        self._handle = os.open(self._part, os.O_RDWR | os.O_CLOEXEC)
        self._mark()
        self._file = h5py.File(self._part, "r+", libver="latest")
        self._file.attrs.update(about)
        self._file["unit_file"] = unit_file
        self._file["unit_file"].attrs["units"] = "1"
        self._data = [self._series(self._file, "time", Channel("time", "s", "time"))]
        called, group = mapped((c.name for c in channels), "hdf5"), self._file.create_group("signals")
        self._data += [self._series(group, called[c.name], c) for c in channels]
        self._file.swmr_mode = True

    def _series(self, group: h5py.Group, called: str, channel: Channel) -> h5py.h5d.DatasetID:
        texts = series_texts(channel.name, called, channel.unit, channel.description)
        return new_series(group, called, np.zeros(0), texts, self._chunk)

    def _mark(self) -> None:
        _write_at(self._handle, 0, MARK.pack(GROWING, self._rows, self._digest.digest()))

    def append(self, rows: Array) -> None:
        after = self._rows + len(rows)
        for k, (data, column) in enumerate(zip(self._data, rows.T, strict=True)):
            grow(data, self._rows, column)
            if k % FLUSHED == 0:
                self._file.flush()
        self._file.flush()
        self._digest.update(np.ascontiguousarray(rows[:, self._order]))
        self._rows = after
        self._mark()
        self._claim.grown = True

    def finish(self, attributes: Mapping[str, Any]) -> None:
        self._file.close()
        with h5py.File(self._part, "r+", libver="latest") as file:  # SWMR takes no new attributes
            file.attrs.update(attributes)
        os.close(self._handle)
        seal(self._part, SEAL)
        put_in_place(self._part, self._claim.path)
        self._claim.release()

    def abandon(self) -> None:
        self._file.close()
        self._claim.release()


def _sorted(channels: Sequence[Channel]) -> list[int]:
    """Places of channels in the order of their names."""
    return sorted(range(len(channels)), key=lambda k: channels[k].name)


def _described(channels: Sequence[Channel], unit_file: str) -> Any:
    """Digest of what an HDF5 file says beside its rows; channels in any order."""
    texts = sorted([c.name, c.unit, c.description] for c in channels)
    return hashed(json.dumps([texts, unit_file]).encode())


def _write_at(handle: int, place: int, data: bytes) -> None:
    """All of it, or OSError: a full disk may take a part."""
    done = 0
    while done < len(data):
        done += os.pwrite(handle, data[done:], place + done)


class _Mdf:
    def __init__(self, claim: _Claim, channels: Sequence[Channel], about: Mapping[str, Any], unit_file: str,
                 rows: int | None = None):  # fmt: skip
        from asammdf import MDF
        from asammdf import Signal as Samples

        self._claim, self._part, self._about = claim, claim.part, dict(about)
        zero = np.zeros(1)
        called = mapped((c.name for c in channels), "mdf")
        if others := {given: name for name, given in called.items() if given != name}:
            self._about["names"] = others
        signals = [Samples(zero, zero, c.unit, called[c.name], comment=c.description) for c in channels]
        with MDF(version="4.10") as mdf:
            mdf.append(signals, comment=str(about["kind"]), common_timebase=True)
            mdf.header.comment = json.dumps(self._about, default=str)
            if unit_file:
                mdf.attach(unit_file.encode(), file_name="unit.toml", mime="text/plain", compression=False)
            mdf.save(self._part, overwrite=True)
        self._width = 8 * (1 + len(channels))
        self._handle = os.open(self._part, os.O_RDWR | os.O_CLOEXEC)
        (group,) = self._links(64, 1)  # of the header block
        _, channel_group = self._links(group, 2)
        self._cycles_at = channel_group + _CYCLES
        self._mark_at = -(-os.fstat(self._handle).st_size // 8) * 8
        self._block = self._mark_at + MARK.size
        self._length, self._cycles = 24, 0
        self._write(self._block, struct.pack("<4sIQQ", b"##DT", 0, 24, 0))
        self._write(self._cycles_at, struct.pack("<Q", 0))
        self._write(group + 24 + 2 * 8, struct.pack("<Q", self._block))
        self._digest = hashed(_unchanging(os.pread(self._handle, self._mark_at, 0), self._cycles_at))
        self._mark(MDF_GROWING, self._block + self._length)

    def _links(self, block: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", os.pread(self._handle, 8 * count, block + 24))

    def _write(self, place: int, data: bytes) -> None:
        _write_at(self._handle, place, data)

    def _mark(self, kind: bytes, length: int) -> None:
        self._write(self._mark_at, MARK.pack(kind, length, self._digest.digest()))

    def append(self, rows: Array) -> None:
        data = np.ascontiguousarray(rows, dtype="<f8").tobytes()
        self._write(self._block + self._length, data)
        self._length += len(data)
        self._cycles += len(rows)
        self._write(self._block + 8, struct.pack("<Q", self._length))
        self._write(self._cycles_at, struct.pack("<Q", self._cycles))
        self._digest.update(data)
        self._mark(MDF_GROWING, self._block + self._length)
        self._claim.grown = True

    def finish(self, attributes: Mapping[str, Any]) -> None:
        root = ElementTree.Element("HDcomment")
        ElementTree.SubElement(root, "TX").text = json.dumps(self._about | dict(attributes), default=str)
        text = ElementTree.tostring(root) + b"\0"
        text += b"\0" * (-len(text) % 8)
        place = self._block + self._length
        comment = struct.pack("<4sIQQ", b"##MD", 0, 24 + len(text), 0) + text
        self._write(place, comment)
        os.ftruncate(self._handle, place + len(comment))
        self._write(_COMMENT, struct.pack("<Q", place))
        self._digest.update(comment + struct.pack("<QQQ", self._cycles, place, self._length))
        self._mark(MDF_DONE, place + len(comment))
        os.close(self._handle)
        put_in_place(self._part, self._claim.path)
        self._claim.release()

    def abandon(self) -> None:
        os.close(self._handle)
        self._claim.release()


_COMMENT = 64 + 24 + 5 * 8  # the header's sixth link is its comment
_CYCLES = 24 + 6 * 8 + 8  # in a channel group, after six links and the record's number
_WIDTH = _CYCLES + 16  # bytes of a record


def _unchanging(header: bytes, cycles_at: int) -> bytes:
    """An MDF's header without what changes while it grows."""
    found = bytearray(header)
    found[_COMMENT : _COMMENT + 8] = found[cycles_at : cycles_at + 8] = bytes(8)
    return bytes(found)


# --- reading


def confirmed_rows(path: Path) -> int:
    """Rows of a growing HDF5 recording that its mark confirms.

    Raises
    ------
    InputError
        Damaged, or none.
    """
    try:
        with opened(path, None) as raw:
            kind, n, digest = MARK.unpack(raw.read(MARK.size))
        with h5py.File(path, "r", libver="latest", swmr=True) as file:
            require_bounded(file, path)
            group = file["signals"].id if "signals" in file else ()
            signals = [(h5py.h5o.open(group, key), key.decode()) for key in group]
            about = [(Channel(*signal_about(d, key)), h5py.Dataset(d)) for d, key in signals]
            about.sort(key=lambda pair: pair[0].name)
            channels, data = [channel for channel, _ in about], [file["time"], *(d for _, d in about)]
            found = _described(channels, file["unit_file"][()].decode())
            for first in range(0, n, ROWS):
                rows = np.column_stack([d[first : min(first + ROWS, n)] for d in data])
                found.update(np.ascontiguousarray(rows, dtype=np.float64))
            if kind == GROWING and found.digest() == digest:
                return int(n)
    except (OSError, KeyError, ValueError, TypeError, AttributeError, RuntimeError, struct.error) as error:
        if isinstance(error, InputError):
            raise
    raise _damaged(path)


def _damaged(path: Path) -> InputError:
    return InputError(path, "", None, f"an undamaged file of a {WHAT}; this is none, or was cut or changed")


def _read_growing(path: Path) -> Recording:
    """What a run has written so far. HDF5 may not survive damages or never return: another process tries it before."""
    words = [sys.executable, "-P", "-c", "import sys; from pathlib import Path; from rtcvt.hil.recorder import "
             "confirmed_rows; print(confirmed_rows(Path(sys.argv[1])))", str(path)]  # fmt: skip
    try:
        seconds = 20.0 + path.stat().st_size / 20e6
        done = processes.run(words, timeout=seconds)
        if done.returncode == 0:
            with h5py.File(path, "r", libver="latest", swmr=True) as file:
                return recording_in(file, path, int(done.stdout))
    except (OSError, KeyError, ValueError, TypeError, AttributeError, RuntimeError, subprocess.TimeoutExpired) as error:
        if isinstance(error, InputError):
            raise
    raise _damaged(path)


def _mdf_rows(path: Path) -> int:
    """Rows of an MDF recording that its mark confirms."""
    with opened(path, None) as file:
        size = os.fstat(file.fileno()).st_size

        def at(place: int, form: str) -> tuple[Any, ...]:
            file.seek(place)
            return struct.unpack(form, file.read(struct.calcsize(form)))

        try:
            (group,) = at(64 + 24, "<Q")
            _, channel_group, block = at(group + 24, "<3Q")
            (width,) = at(channel_group + _WIDTH, "<I")
            (cycles,) = at(channel_group + _CYCLES, "<Q")
            kind, stop, digest = MARK.unpack(b"".join(at(block - MARK.size, f"{MARK.size}s")))
            _, _, length, _ = at(block, "<4sIQQ")
            (comment,) = at(_COMMENT, "<Q")
            if not MARK.size < block < HEADER or stop > size or width < 8:
                raise _damaged(path)
            done = kind == MDF_DONE
            last = comment if done else stop  # where the rows end
            rows = (last - block - 24) // width
            if not done and not (rows <= cycles <= (size - block - 24) // width and 24 + rows * width <= length):
                raise _damaged(path)
            file.seek(0)
            found = hashed(_unchanging(file.read(block - MARK.size), channel_group + _CYCLES))
            file.seek(block + 24)
            left = stop - block - 24
            while left > 0:
                piece = file.read(min(left, 1 << 20))
                if not piece:
                    break
                found.update(piece)
                left -= len(piece)
            if done:
                found.update(struct.pack("<QQQ", cycles, comment, length))
        except (struct.error, OSError, ValueError, OverflowError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise _damaged(path) from None
    if kind not in (MDF_GROWING, MDF_DONE) or found.digest() != digest or (done and stop != size):
        raise _damaged(path)
    return int(rows)


def _read_mdf(path: Path) -> Recording:
    n = _mdf_rows(path)
    from asammdf import MDF

    try:
        with MDF(path) as mdf:
            text = mdf.header.description
            attributes: dict[str, Any] = json.loads(text) if text.startswith("{") else {"comment": text}
            names = attributes.pop("names", {})
            found = {names.get(s.name, s.name): s for s in mdf.iter_channels(skip_master=True)}
            time = mdf.get_master(0) if mdf.groups else np.zeros(0)
            unit_file: bytes | str = b""
            for place, attachment in enumerate(mdf.attachments):
                if attachment.file_name == "unit.toml":
                    unit_file = mdf.extract_attachment(index=place)[0]
    except Exception as error:  # asammdf raises many kinds
        raise InputError(path, "", None, f"an MDF recording ({error})") from None
    signals = {name: Signal(np.asarray(s.samples, float)[:n], s.unit, s.comment or "") for name, s in found.items()
               if len(s.samples) == len(time) and np.asarray(s.samples).ndim == 1}  # fmt: skip
    return Recording(
        np.asarray(time, float)[:n],
        signals,
        attributes,
        unit_file.decode() if isinstance(unit_file, bytes) else unit_file,
    )
