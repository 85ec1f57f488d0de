"""Recordings that grow during a run: HDF5 as in `rtcvt.recording`, or ASAM MDF 4; the suffix decides.

A recording grows under the name ``NAME.part.SUFFIX`` and gets its own name when it is finished, so the file of a killed
run differs from a complete one but can be read like it; a new run renames it to ``NAME.part-1.SUFFIX``. While it grows
it is locked against a second writer.

A separate process writes it: HDF5 does not survive a failed write (quota, limit, full or lost disk), and a disk that
stalls must not delay the rig. The process continues until it has written all received data, also if the rig is killed.

The formats are `growing_hdf5` and `growing_mdf`. The run's circumstances are attributes in HDF5 and a comment of the
header, in JSON, in MDF; the unit file is the dataset ``unit_file`` or the attachment ``unit.toml``.
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
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.environment import now
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import goes_on_with, opened
from rtcvt.hil.growing import Channel, Claim, Writer, claimed
from rtcvt.hil.growing_hdf5 import GROWING, Hdf5Writer, read_growing
from rtcvt.hil.growing_mdf import MdfWriter, read_mdf
from rtcvt.recording import (
    HDF5,
    SCHEMA_VERSION,
    Recording,
    is_special,
    read_recording,
    require_ending,
    require_writable,
    revision,
    write_recording,
)

Array = NDArray[np.float64]

MDF_SUFFIXES = (".mf4", ".mdf")
ENDINGS = (*HDF5, *MDF_SUFFIXES)
FLAGS = "of the step: 1 miss, 2 fall-back of an input, 4 fault, 8 no result, 16 inputs held"  # the rig's own column
UNFINISHED = "the recording was not finished"
WAIT, PATIENCE, FINISH = 0.25, 10.0, 600.0  # [s] for one append in turn, for any append, for the end


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
        Its final name, with one of the `ENDINGS`.
    channels : sequence of Channel
        Channels besides the time.
    kind : str
        Its origin, e.g. ``real-time run``.
    attributes : mapping
        Circumstances: texts, numbers, Booleans.
    unit_file : str
        Text of the unit file, or empty.
    rows : int, optional
        Expected largest number of rows.

    Raises
    ------
    InputError
        Another ending; the file cannot be written, or another run writes it.
    """
    require_ending(path, ENDINGS)
    require_writable(path)
    claim = claimed(goes_on_with(path))  # another process writes it
    about = _about(kind, attributes)
    with AsInputError(OSError, "output", "", str(path), lambda e: f"a file that can be written: {e.strerror or e}"):
        return Recorder(claim, lambda: _format(path)(claim, channels, about, unit_file, rows), 1 + len(channels))


def _about(kind: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION, "kind": kind, "rtcvt_version": __version__, "revision": revision(),
        "created": now().isoformat(timespec="seconds"), **attributes, "completed": False, "message": UNFINISHED,
    }  # fmt: skip


def _format(path: Path) -> "type[Hdf5Writer] | type[MdfWriter]":
    return MdfWriter if path.suffix.lower() in MDF_SUFFIXES else Hdf5Writer


def write(path: Path, recording: Recording, kind: str) -> None:
    """Write a whole recording in one go, in the format of its suffix.

    Raises
    ------
    InputError
        Another ending, or the file cannot be written.
    """
    require_ending(path, ENDINGS)
    require_writable(path)
    if _format(path) is Hdf5Writer:
        write_recording(path, recording, kind)
        return
    channels = [Channel(name, s.unit, s.description) for name, s in recording.signals.items()]
    claim = claimed(path)
    try:
        made = MdfWriter(claim, channels, _about(kind, recording.attributes), recording.unit_file)
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
        raise InputError(path, "recording", path.suffix, "HDF5 or MDF 4; CSV has signals alone, for other programs")
    with opened(path, None) as file:
        head = file.read(len(GROWING))
    if head.startswith(b"MDF "):
        return read_mdf(path)
    return (read_growing(path) if head == GROWING else read_recording(path)).require_series(path)


class Recorder:
    """A growing recording: its process, as the rig sees it."""

    def __init__(self, claim: Claim, make: Callable[[], Writer], width: int):
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
        except OSError:  # it has ended: its last answer has the cause
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


def _serve(rig: socket.socket, claim: Claim, make: Callable[[], Writer], width: int) -> None:
    """The life of the process that writes. Never returns; HDF5 is not closed after a failure."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN)  # the rig handles it; writes beyond a limit fail with EFBIG
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # messages of h5py while it closes files
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
    """Receive all data from the rig, so that it never waits for the disk."""
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
