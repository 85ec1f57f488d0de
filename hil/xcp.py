"""A run measured and calibrated by ASAM MCD-1 XCP 1.1 on TCP/IP: the rig is the slave, on the loopback interface.

Its memory is the newest row of the loop, 8 bytes for each input, output and parameter that may change, from `BASE` on
(`rtcvt.fmu.a2l` describes it). Reading returns the newest values, writing a parameter changes it before the next step,
as `rtcvt.hil.rig.Running.tune` does; the answer is sent after the step. A value out of its range is refused.

Measuring is by dynamic DAQ lists, all on one event, the step. Each step is sent with its own time [us], also those
during the sending of another: they are read from the records of the loop, which reach this side 50 times a second. A
master that does not read loses samples, which are counted, and delays nobody.

There is one master at a time, and only one of this machine.
"""

import queue
import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import AsInputError
from rtcvt.fmu.a2l import HOST, MAX_CTO, MAX_DTO, MAX_ENTRY, a2l, cycle, interface
from rtcvt.hil.importer import Fmu
from rtcvt.hil.loop import HEAD
from rtcvt.hil.pacing import in_threads
from rtcvt.hil.rig import Attachment, Running
from rtcvt.recording import replaced_on_success
from rtcvt.scenario import Scenario

Array = NDArray[np.float64]
BASE = 0x10000
MOST_LISTS, MOST_ODTS = 64, 252  # packet identifiers above these are answers
MOST_WAITING = 256  # blocks of records that are not sent yet
TAKES_EFFECT = 0.2  # [s] in which a parameter that is written is in force
RESPONSE, ERROR = 0xFF, 0xFE
UNKNOWN, SYNTAX, RANGE, PROTECTED, SEQUENCE, MEMORY, SYNCH = 0x20, 0x21, 0x22, 0x23, 0x29, 0x30, 0x00
CAL, DAQ = 0x01, 0x04  # resources


class _RefusedError(Exception):
    """A command that gets an error as answer."""


def xcp_attachment(port: int, save: Path | None = None) -> Callable[[Fmu, Scenario | None, float], Attachment]:
    """Return the function that makes the attachment for a run.

    Parameters
    ----------
    port : int
        Port on which it listens.
    save : Path, optional
        Where to write the description of its memory (A2L), for the master.
    """

    def make(fmu: Fmu, scenario: Scenario | None, step: float) -> Attachment:
        del scenario
        tunable = [v for v in fmu.interface.select("parameter") if v.tunable]
        rows = [*fmu.interface.select("input"), *fmu.interface.select("output"), *tunable]
        if save is not None:
            text = a2l(fmu.description.modelName, rows, {v.name: BASE + 8 * k for k, v in enumerate(rows)},
                       interface(port, step))  # fmt: skip
            with replaced_on_success(save) as temporary:
                temporary.write_text(text, encoding="ascii")
        counts = Counter[str]()

        @contextmanager
        def prepare(running: Running) -> Iterator[None]:
            with AsInputError(OSError, "--xcp", "", port, lambda e: f"a port that is free: {e.strerror}"):
                server = socket.create_server((HOST, port))
            slave = _Slave(running, server, fmu.description.modelName, counts)
            with server, slave.served():
                yield

        return Attachment("xcp", {}, False, prepare, lambda: dict(counts), (), frozenset(v.name for v in tunable))

    return make


class _Slave:
    """The slave during a run."""

    def __init__(self, running: Running, server: socket.socket, name: str, counts: Counter[str]):
        self._running, self._server, self._name, self.counts = running, server, name, counts
        self._rows: queue.Queue[Array] = queue.Queue(MOST_WAITING)
        self._ended = threading.Event()
        self._lock = threading.Lock()  # for sending, and for the lists
        self._first = len(running.inputs) + len(running.outputs)  # place of the first parameter
        self._size = 8 * (self._first + len(running.parameters))
        self._reset(None)
        running.listeners.append(self._listen)

    def served(self) -> AbstractContextManager[None]:
        """Serve in threads."""
        return in_threads((self._serve, self._measure), self._ended)

    def _reset(self, master: socket.socket | None) -> None:
        """Forget all that a master has set."""
        with self._lock:
            self._master, self._sent, self._mta, self._text = master, 0, 0, b""  # text: to be uploaded
            self._lists: list[list[list[tuple[int, int]]]] = []  # entries (address, size) by list and table (ODT)
            self._pointer: tuple[int, int, int] | None = None
            self._every: dict[int, int] = {}  # steps between samples, by list
            self._selected: set[int] = set()
            self._measuring: set[int] = set()

    # --- commands ---------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._ended.is_set():
            if select.select([self._server], [], [], 0.1)[0]:
                with suppress(OSError), self._server.accept()[0] as master:
                    master.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    master.settimeout(2.0)  # of one that does not read
                    self._reset(master)
                    self._converse(master)
                self._reset(None)

    def _converse(self, master: socket.socket) -> None:
        waiting = b""
        while not self._ended.is_set():
            if not select.select([master], [], [], 0.1)[0]:
                continue
            got = master.recv(4096)
            if not got:
                return
            waiting += got
            while len(waiting) >= 4 and len(waiting) >= 4 + (length := int.from_bytes(waiting[:2], "little")):
                packet, waiting = waiting[4 : 4 + length], waiting[4 + length :]
                if not packet or length > MAX_CTO:
                    return
                self.counts["commands"] += 1
                try:
                    answer = bytes([RESPONSE]) + self._obey(packet[0], packet[1:])
                except _RefusedError as refused:
                    self.counts["refused"] += 1
                    answer = bytes([ERROR, refused.args[0]])
                except (struct.error, IndexError):
                    answer = bytes([ERROR, SYNTAX])
                self._send(answer)
                if packet[0] == 0xFE:  # DISCONNECT
                    return

    def _send(self, *packets: bytes) -> None:
        with self._lock:
            if self._master is not None:
                framed = []
                for packet in packets:
                    framed.append(struct.pack("<HH", len(packet), self._sent % 2**16) + packet)
                    self._sent += 1
                try:
                    self._master.sendall(b"".join(framed))
                except OSError:  # it does not read, or is gone: the stream may end in the middle of a packet
                    master, self._master = self._master, None
                    with suppress(OSError):
                        master.shutdown(socket.SHUT_RDWR)

    def _obey(self, command: int, data: bytes) -> bytes:
        """The answer to a command, after its first byte; names are those of the standard."""
        match command:
            case 0xFF:  # CONNECT
                return struct.pack("<BBBHBB", CAL | DAQ, 0x80, MAX_CTO, MAX_DTO, 1, 1)
            case 0xFE:  # DISCONNECT
                return b""
            case 0xFD:  # GET_STATUS
                return struct.pack("<BBBH", 0x40 if self._measuring else 0, 0, 0, 0)
            case 0xFC:  # SYNCH
                raise _RefusedError(SYNCH)
            case 0xFB:  # GET_COMM_MODE_INFO
                return struct.pack("<BBBBBBB", 0, 0, 0, 0, 0, 0, 0x10)
            case 0xFA:  # GET_ID
                text = self._name.encode("ascii", "replace")[: MAX_CTO - 8] if data[0] in (0, 1) else b""
                return struct.pack("<BHI", 1, 0, len(text)) + text
            case 0xF6:  # SET_MTA
                (_, _, self._mta), self._text = struct.unpack_from("<HBI", data), b""
                return b""
            case 0xF5:  # UPLOAD
                text, self._text = self._text[: data[0]], self._text[data[0] :]
                return text or self._read(data[0])
            case 0xF4:  # SHORT_UPLOAD
                size, _, _, self._mta = struct.unpack_from("<BBBI", data)
                return self._read(size)
            case 0xF0:  # DOWNLOAD
                return self._write(data[1 : 1 + data[0]], data[0])
        return self._obey_measuring(command, data)

    def _read(self, size: int) -> bytes:
        at = self._mta - BASE
        if not (at >= 0 and at + size <= self._size) or size > MAX_CTO - 1:
            raise _RefusedError(RANGE)
        self._mta += size
        return self._running.loop.latest()[1:].tobytes()[at : at + size]

    def _write(self, data: bytes, size: int) -> bytes:
        at = self._mta - BASE
        if len(data) != size or not (at >= 0 and at + size <= self._size):
            raise _RefusedError(RANGE)
        if at < 8 * self._first or at % 8 or size % 8 or not size:
            raise _RefusedError(PROTECTED)  # no parameter, or a part of one
        for k, (value,) in enumerate(struct.iter_unpack("<d", data), start=at // 8 - self._first):
            if not self._running.tune(k, value):
                raise _RefusedError(RANGE)
            until = time.monotonic() + TAKES_EFFECT
            while self._running.loop.latest()[1 + self._first + k] != value and time.monotonic() < until:
                time.sleep(5e-4)
            self.counts["written"] += 1
        self._mta += size
        return b""

    def _obey_measuring(self, command: int, data: bytes) -> bytes:
        match command:
            case 0xDA:  # GET_DAQ_PROCESSOR_INFO: dynamic, prescaler, timestamp; absolute ODT numbers
                return struct.pack("<BHHBB", 0x13, 0, 1, 0, 0)
            case 0xD9:  # GET_DAQ_RESOLUTION_INFO: stamps of 4 bytes, fixed, 1 us
                return struct.pack("<BBBBBH", 1, MAX_ENTRY, 1, 0, 0x3C, 1)
            case 0xD7:  # GET_DAQ_EVENT_INFO
                if data[1:3] != b"\0\0":
                    raise _RefusedError(RANGE)
                self._text, (unit, count) = b"step", cycle(self._running.step)
                return struct.pack("<BBBBBB", 0x04, 0xFF, len(self._text), count, unit, 0)
            case 0xDC:  # GET_DAQ_CLOCK
                return struct.pack("<BBBI", 0, 0, 0, self._stamp(float(self._running.loop.latest()[0])))
            case 0xD6 | 0xE3:  # FREE_DAQ, CLEAR_DAQ_LIST of the one that is asked for
                with self._lock:
                    self._measuring, self._selected, self._pointer = set(), set(), None
                    if command == 0xD6:
                        self._lists, self._every = [], {}
                return b""
            case 0xD5:  # ALLOC_DAQ
                (count,) = struct.unpack_from("<H", data, 1)
                if count > MOST_LISTS:
                    raise _RefusedError(MEMORY)
                self._lists = [[] for _ in range(count)]
                return b""
            case 0xD4:  # ALLOC_ODT
                number, count = struct.unpack_from("<HB", data, 1)
                if sum(map(len, self._lists)) + count > MOST_ODTS:
                    raise _RefusedError(MEMORY)
                self._list(number).extend([] for _ in range(count))
                return b""
            case 0xD3:  # ALLOC_ODT_ENTRY
                number, odt, count = struct.unpack_from("<HBB", data, 1)
                self._list(number)[odt] = [(BASE, 0)] * count
                return b""
            case 0xE2:  # SET_DAQ_PTR
                self._pointer = struct.unpack_from("<HBB", data, 1)
                return b""
            case 0xE1:  # WRITE_DAQ
                return self._place(*struct.unpack_from("<BBBI", data))
            case 0xE0:  # SET_DAQ_LIST_MODE
                _, number, event, every, _ = struct.unpack_from("<BHHBB", data)
                self._list(number)
                if event or not every:
                    raise _RefusedError(RANGE)
                self._every[number] = every
                return b""
            case 0xDE:  # START_STOP_DAQ_LIST
                mode, number = struct.unpack_from("<BH", data)
                if number >= len(self._lists):
                    raise _RefusedError(RANGE)
                with self._lock:
                    if mode == 2:
                        self._selected.add(number)
                    else:
                        self._measuring = self._measuring | {number} if mode else self._measuring - {number}
                return bytes([sum(map(len, self._lists[:number]))])
            case 0xDD:  # START_STOP_SYNCH
                with self._lock:
                    if data[0] == 0:
                        self._measuring = set()
                    elif data[0] in (1, 2):
                        chosen = self._selected
                        self._measuring = self._measuring | chosen if data[0] == 1 else self._measuring - chosen
                    if data[0] < 3:  # prepare
                        self._selected = set()
                return b""
        raise _RefusedError(UNKNOWN)

    def _list(self, number: int) -> list[list[tuple[int, int]]]:
        if number >= len(self._lists) or self._measuring:
            raise _RefusedError(SEQUENCE if self._measuring and number < len(self._lists) else RANGE)
        return self._lists[number]

    def _place(self, bit: int, size: int, extension: int, address: int) -> bytes:
        if self._pointer is None:
            raise _RefusedError(SEQUENCE)
        number, odt, entry = self._pointer
        entries = self._list(number)[odt]
        at = address - BASE
        room = MAX_DTO - 5 - sum(n for k, (_, n) in enumerate(entries) if k != entry)
        whole = 0 < size <= min(MAX_ENTRY, room) and at >= 0 and at + size <= self._size
        if bit != 0xFF or extension or not whole:
            raise _RefusedError(RANGE)
        entries[entry] = (address, size)
        self._pointer = number, odt, entry + 1
        return b""

    # --- measurement ------------------------------------------------------------------------------------------------

    def _listen(self, rows: Array) -> None:
        """Records as they come; never waits."""
        if self._measuring:
            try:
                self._rows.put_nowait(rows)
            except queue.Full:
                self.counts["lost"] += len(rows)

    def _stamp(self, k: float) -> int:
        """Time of a step [us], of which a master gets 32 bits."""
        return round(k * self._running.step * 1e6) % 2**32

    def _measure(self) -> None:
        while not self._ended.is_set() or not self._rows.empty():
            try:
                rows = self._rows.get(timeout=0.1)
            except queue.Empty:
                continue
            with self._lock:
                lists = [(n, sum(map(len, self._lists[:n])), self._lists[n]) for n in sorted(self._measuring)]
            packets = []
            for row in rows[~np.isnan(rows[:, 2])]:
                values, stamp = row[HEAD:].tobytes(), struct.pack("<I", self._stamp(row[0]))
                for number, first, tables in lists:
                    if int(row[0]) % self._every.get(number, 1) == 0:
                        self.counts["samples"] += 1
                        packets += [
                            bytes([first + k]) + (b"" if k else stamp)
                            + b"".join(values[at - BASE : at - BASE + size] for at, size in entries)
                            for k, entries in enumerate(tables)
                        ]  # fmt: skip
            if packets:
                self._send(*packets)
