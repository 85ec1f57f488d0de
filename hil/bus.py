"""Variables on a CAN bus: messages by a database, with counter and checksum; faults can be injected.

A receiver accepts a message only if its CRC is right and its counter has increased: by 1, or by up to `LEAP` if some
were lost. A repeated counter is refused; after a larger gap the first message is refused and the next ones are accepted
(as the state machine of AUTOSAR's E2E profile 1). Refused messages are counted and change nothing, so a receiver's
time-out covers them. Messages of a given database without signals ``CRC`` and ``Alive`` are accepted without these
checks, padded ones too.

A value has the unit of its signal on the bus and that of its variable elsewhere, see `Wire`. A value beyond the range
of its signal or of its variable is clamped to it, sent or received. A value that is not finite is not sent, nor is its
message: the time-out of the other side reports that it is missing. A received value that is no number is ignored, so
the last good value is used until its time-out. Such values are: not finite; no item of an enumeration; "error" or "not
available" in the database's value table, in a dozen languages; a named value beyond the range; a number that SAE J1939
reserves (the topmost byte 0xFE or 0xFF of an unsigned signal, or the two largest numbers of a shorter one). All are
counted by signal. A message that the interface has no room for, since nobody on the bus acknowledges, is lost and
counted. Error and remote frames are ignored.

A multiplexed message is sent once for each setting of its multiplexers with a variable in it. A message of more than 8
bytes is a frame of CAN FD, at one bit rate.
"""

import errno
import heapq
import itertools
import math
import random
import re
import socket
import time
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import can
import cantools
import numpy as np
from cantools.database.can import Message, Signal

from rtcvt.errors import AsInputError, InputError
from rtcvt.hil.dbc import CLASSIC, is_fd, size_of
from rtcvt.hil.multicast import MulticastBus
from rtcvt.scenario import Fault

INTERFACES = ("virtual", "udp_multicast", "socketcan")
INTERFACES_OF_SYSTEM = Path("/sys/class/net")
ARPHRD_CAN, IFF_UP = "280", 0x1  # <net/if_arp.h>, <net/if.h>
BUS_ERRORS = (can.CanError, OSError)
NEVER_SENT = 15  # of counters that count to 14
LEAP = 3
FD_SIZE = 72  # <linux/can.h>, size of a frame of CAN FD, if the interface accepts it
MAX_MESSAGE_SIZE = 64  # [bytes] of the longest message in CAN FD
MOST_PAGES = 256  # of a multiplexed message
FLOATS = {16: 65504.0, 32: float(np.finfo(np.float32).max), 64: float(np.finfo(float).max)}  # largest, by bits
MAX_TIMES = 2**17  # number of stored round trips and gaps


def open_bus(channel: str, fd: bool = False) -> can.BusABC:
    """A bus from ``INTERFACE:CHANNEL``, e.g. ``socketcan:can0``, ``udp_multicast:239.74.163.2`` or ``virtual:rig``.

    For ``udp_multicast`` see `rtcvt.hil.multicast`. `fd`: whether it needs messages of CAN FD.

    Raises
    ------
    InputError
        Another interface, one that is not there or down, or one that cannot be opened.
    """
    interface, _, name = channel.partition(":")
    if interface not in INTERFACES or not name:
        raise InputError("--can", "", channel, f"INTERFACE:CHANNEL with one of {', '.join(INTERFACES)}")
    if interface == "socketcan":
        _require_up(name, channel, fd)
    kinds = (*BUS_ERRORS, can.CanInterfaceNotImplementedError, ValueError)
    allowed = "an interface that can be opened"
    with AsInputError(kinds, "--can", "", channel, lambda e: f"{allowed}: {e}", passing=InputError):
        if interface == "udp_multicast":
            return MulticastBus(name)
        more: dict[str, Any] = {"fd": fd} if interface == "socketcan" else {}
        return can.Bus(interface=interface, channel=name, **more)


def _require_up(name: str, channel: str, fd: bool) -> None:
    """Check an interface of the system before it is opened: later errors would only be silence."""
    if not hasattr(socket, "AF_CAN"):
        raise InputError("--can", "", channel, "another interface: this system has no SocketCAN")
    try:
        socket.socket(socket.AF_CAN, socket.SOCK_RAW, socket.CAN_RAW).close()
    except OSError as error:
        allowed = f"another interface: this system has no SocketCAN ({error.strerror}; modprobe can_raw)"
        raise InputError("--can", "", channel, allowed) from None
    there = [path for path in INTERFACES_OF_SYSTEM.glob("*") if _read(path / "type") == ARPHRD_CAN]
    names = ", ".join(sorted(path.name for path in there)) or "there is none"
    if name not in {path.name for path in there}:
        raise InputError("--can", "", channel, f"a CAN interface of this machine: {names}")
    if not int(_read(INTERFACES_OF_SYSTEM / name / "flags") or "0", 16) & IFF_UP:
        allowed = f"an interface that is up: ip link set {name} up type can bitrate 500000"
        raise InputError("--can", "", channel, allowed)
    if fd and int(_read(INTERFACES_OF_SYSTEM / name / "mtu") or "0") < FD_SIZE:
        raise InputError("--can", "", channel, f"an interface with CAN FD, for messages of more than {CLASSIC} bytes")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def crc8(identifier: int, data: bytes) -> int:
    """CRC-8 SAE J1850 (polynomial 0x1D, start and final exclusive or 0xFF) of identifier and data."""
    crc = 0xFF
    for byte in (identifier & 0xFF, (identifier >> 8) & 0xFF, *data):
        crc = _TABLE[crc ^ byte]
    return crc ^ 0xFF


def require_usable(message: Message) -> None:
    """Refuse a message of a given database that cannot be sent or guarded as `Node` does it.

    Raises
    ------
    InputError
        It is longer than 64 bytes, or than 8 with J1939's transport protocol; signals overlap, do not fit, have the
        scale 0 or are floats of another length than `FLOATS`; a multiplexer has not the values of its signals; its CRC
        is not one byte, or its counter has not 4 bits, or either is multiplexed.
    """

    def require(well: bool, key: str, value: object, allowed: str) -> None:
        if not well:
            raise InputError("--dbc", f"{message.name}{key}", value, allowed)

    signals = {s.name: s for s in message.signals}
    for s in message.signals:
        scale, offset = s.conversion.scale, s.conversion.offset
        numbers = bool(scale) and math.isfinite(scale) and math.isfinite(offset)
        require(numbers, f".{s.name}", f"({scale:g},{offset:g})", "a finite scale that is not 0, and a finite offset")
        require(s.start >= 0, f".{s.name}", f"bit {s.start}", "a signal that begins in its message")
        floats = f"a float of {', '.join(map(str, FLOATS))} bits"
        require(not s.is_float or s.length in FLOATS, f".{s.name}", f"{s.length} bits", floats)
        whole = s.conversion.scale == 1 and not s.conversion.offset and not s.is_float
        require(whole or not s.is_multiplexer, f".{s.name}", None, "a multiplexer that is an integer with scale 1")
        if s.multiplexer_signal in signals:
            low, high = _raw(signals[s.multiplexer_signal])
            for value in s.multiplexer_ids or ():
                allowed = f"a value of {s.multiplexer_signal}: {low:g} to {high:g}"
                require(low <= value <= high, f".{s.name}", f"m{value}", allowed)
    try:
        message.refresh(strict=True)
    except cantools.Error as error:
        raise InputError("--dbc", message.name, None, f"signals that fit and do not overlap: {error}") from None
    packets = message.protocol == "j1939"
    most = CLASSIC if packets else MAX_MESSAGE_SIZE
    about = f"a message of at most {most} bytes" + (", without J1939's transport protocol" if packets else "")
    require(message.length <= most, "", f"{message.length} bytes", about)
    reached = set().union(*(there for _, there in pages(message, signals)))
    require(reached == set(signals), "", None, f"at most {MOST_PAGES} settings of multiplexers")
    for name in signals.keys() & {"CRC", "Alive", "Echo"}:
        plain = not signals[name].is_multiplexer and not signals[name].multiplexer_ids
        require(plain, f".{name}", None, "a signal that is in every frame, and no multiplexer")
    if (crc := signals.get("CRC")) is not None:
        first = 7 if crc.byte_order == "big_endian" else 0
        whole = crc.length == 8 and crc.start % 8 == first
        require(whole, ".CRC", f"{crc.start}|{crc.length}", "one byte, without other signals in it")
    if (alive := signals.get("Alive")) is not None:
        whole = alive.conversion.scale == 1 and not alive.conversion.offset
        plain = alive.length == 4 and not alive.is_signed and whole
        require(plain, ".Alive", f"{alive.start}|{alive.length}", "a counter of 4 bits from 0 to 14, with scale 1")
    if (echo := signals.get("Echo")) is not None:
        plain = _raw(echo)[1] >= NEVER_SENT and echo.conversion.scale == 1 and not echo.conversion.offset
        require(plain, ".Echo", f"{echo.start}|{echo.length}", f"a counter from 0 to {NEVER_SENT}, with scale 1")


def pages(message: Message, wanted: Iterable[str]) -> list[tuple[dict[str, int], set[str]]]:
    """Settings of a message's multiplexers, each with the signals that are there then: few, but each wanted one is in
    one of them. A message that is not multiplexed has one, and it is empty."""
    every, left = settings(message.signal_tree), set(wanted) & {s.name for s in message.signals}
    chosen = []
    while left:
        best = max(every, key=lambda page: len(left & page[1]))
        if not left & best[1]:
            break
        chosen.append(best)
        left -= best[1]
    return chosen or every[:1]


def settings(tree: Sequence[Any]) -> list[tuple[dict[str, int], set[str]]]:
    """All settings of multiplexers in a tree of signals, each with its signals; at most `MOST_PAGES`."""
    found: list[tuple[dict[str, int], set[str]]] = [({}, set())]
    for node in tree:
        more: list[tuple[dict[str, int], set[str]]]
        if isinstance(node, str):
            more = [({}, {node})]
        else:
            ((name, branches),) = node.items()
            more = [
                ({name: value} | setting, {name} | there)
                for value, branch in branches.items()
                for setting, there in settings(branch)
            ]
        found = [(a | b, c | d) for a, c in found for b, d in more][:MOST_PAGES]
    return found


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte << 1) ^ (0x1D if byte & 0x80 else 0)
        table.append(byte & 0xFF)
    return tuple(table)


_TABLE = _crc_table()


_NO = r"(not?|non?|nao|ne|nicht|kein\w*|niet|ej|ikke|ei)"
_NONE = re.compile(
    r"\b(sna|n ?a|time ?out|missing|fehlt|init(ial\w*)?( \w+)?$|reserv\w*|indispon\w*|ongeldig|ogiltig|"
    r"un(avail|defin|known|bekannt|gu?lt|guelt)\w*|"
    rf"{_NO} (signal )?(avail|valid|verf|gult|guelt|belegt|signal|dat|defin|appl|dispon|beschik|till?g)\w*)\b|"
    r"недоступ|不可用|无效|無効|未定"
)
_ERROR = re.compile(
    r"(?<!\bno )(?<!\bkein )\b(err(or|eur|ore|oneo|o)?s?|invalid\w*|fault(y|s)?|fail(ed|ure)?|defe[ck]t\w*|"
    r"\w*fehler(wert)?|panne|defaut|averia|guasto|falha|fout|fel|stoe?rung|storing|chyba|blad|virhe|hata)\b(?! free)|"
    r"ошибк|неисправ|错误|故障|異常|エラー"
)


@cache
def _says(text: str) -> str:
    """Meaning of an entry of a value table that is no number, such as "error", in several languages."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", " ", unicodedata.normalize("NFKC", text)).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFD", words) if not unicodedata.combining(c)).strip()
    return "not available" if _NONE.search(plain) else "error" if _ERROR.search(plain) else ""


@dataclass(frozen=True)
class Wire:
    """How the value of a variable and that of its signal are one: ``variable = factor * signal + offset``."""

    factor: float = 1.0
    offset: float = 0.0
    low: float = -math.inf  # of the variable
    high: float = math.inf
    items: frozenset[float] = frozenset()  # of an enumeration; empty of any other


@dataclass(frozen=True)
class Quantum:
    """How a variable travels: one step of its numbers, and 0 for a float of 32 bits."""

    name: str
    step: float


def quantum(message: Message, variables: Mapping[str, str]) -> list[Quantum]:
    """Quanta of the variables in a message; `variables` gives their names by signal."""
    return [
        Quantum(variables[s.name], 0.0 if s.is_float else float(s.conversion.scale))
        for s in message.signals
        if s.name in variables
    ]


def reach(signal: Signal) -> tuple[float, float]:
    """Smallest and largest value of a signal: the range of its bits, within the range of its database, without reserved
    numbers at its ends."""
    first, last = _raw(signal)
    scale, offset = float(signal.conversion.scale), float(signal.conversion.offset)
    low, high = sorted((first * scale + offset, last * scale + offset))
    least, most = _declared(signal)
    low, high = max(low, least), min(high, most)
    none = sorted(raw * scale + offset for raw, text in (signal.choices or {}).items() if _says(str(text)))
    for value in none:
        low += abs(scale) * math.isclose(value, low)
    for value in reversed(none):
        high -= abs(scale) * math.isclose(value, high)
    return low, high


def takes(message: Message, signal: Signal, wires: Mapping[tuple[int, str], Wire]) -> tuple[Wire, float, float, float]:
    """Wire of a received signal, range of its variable, and half a step of its numbers, by which it may miss it."""
    wire = wires.get((message.frame_id, signal.name), Wire())
    low, high = sorted(wire.factor * bound + wire.offset for bound in _declared(signal))
    half = 0.5 * abs(wire.factor * float(signal.conversion.scale)) if not signal.is_float else 0.0
    return wire, max(low, wire.low), min(high, wire.high), half


def idle(signal: Signal) -> float:
    """Value that is sent for a signal without a variable: the database's start value within its bits, or 0 on the
    bus."""
    said, (low, high) = signal.raw_initial, _raw(signal)
    raw = min(max(said, low), high) if isinstance(said, int | float) and math.isfinite(said) else 0.0
    return raw * float(signal.conversion.scale) + float(signal.conversion.offset)


def _raw(signal: Signal) -> tuple[float, float]:
    """Smallest and largest number that its bits hold."""
    if signal.is_float:
        return -FLOATS[signal.length], FLOATS[signal.length]
    if signal.is_signed:
        return -(2.0 ** (signal.length - 1)), _below(2 ** (signal.length - 1))
    return 0.0, _below(2**signal.length)


def _declared(signal: Signal) -> tuple[float, float]:
    """Range that the database gives, infinite if it gives none."""
    if signal.minimum is None or signal.maximum is None or signal.minimum >= signal.maximum:
        return -math.inf, math.inf
    return float(signal.minimum), float(signal.maximum)


def lacking(signal: Signal, raw: float, beyond: bool) -> str:
    """Reason why a raw value is no number; empty if it is one. `beyond`: it is outside the range."""
    if signal.is_float:
        return ""
    choices: Mapping[int, object] = signal.choices or {}
    text = str(choices.get(int(raw), ""))
    if said := _says(text) or (text if beyond else ""):  # a named value beyond the range is no number
        return said
    if signal.is_signed or not beyond or signal.length < 2:
        return ""
    short = signal.length < 8
    top = int(raw) - (2**signal.length - 2) if short else (int(raw) >> (signal.length - 8)) - 0xFE
    return {0: "error", 1: "not available"}.get(top, "")


def _below(number: int) -> float:
    """The largest double that is an integer below a power of two."""
    return min(float(number - 1), math.nextafter(float(number), 0.0))


@dataclass
class Node:
    """One side of the bus.

    Parameters
    ----------
    bus : can.BusABC
        See `open_bus`.
    sent, received : sequence of Message
        Messages of the database.
    variables : mapping of str to str
        Name of the variable by signal.
    shown : mapping of str to str, optional
        The same for sent messages, if they have more. Signals of sent messages without a variable have the start value
        of their database, or 0 on the bus.
    faults : sequence of Fault
        Of kind ``drop``, ``delay``, ``duplicate`` and ``corrupt``.
    acting : callable
        Whether a fault is active now.
    rare : set of int
        Identifiers of received messages that have no cycle.
    wires : mapping of (int, str) to Wire
        Conversions by identifier and signal, for values that differ from those of the variable.
    """

    bus: can.BusABC
    sent: Sequence[Message]
    received: Sequence[Message]
    variables: Mapping[str, str]
    faults: Sequence[Fault] = ()
    acting: Callable[[Fault], bool] = lambda _: True
    rare: frozenset[int] = frozenset()
    wires: Mapping[tuple[int, str], Wire] = field(default_factory=dict)
    shown: Mapping[str, str] | None = None
    counts: Counter[str] = field(default_factory=Counter)
    # [s] from sending a counter to seeing its echo
    trips: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_TIMES))
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_TIMES))  # [s] between accepted messages
    clamped: Counter[str] = field(default_factory=Counter)  # values beyond their range, by signal
    not_finite: Counter[str] = field(default_factory=Counter)  # values that were not sent, by signal
    held: Counter[str] = field(default_factory=Counter)  # received values that are no numbers, with the reason

    def __post_init__(self) -> None:
        self._by_id = {m.frame_id: m for m in self.received}
        self._shown = self.variables if self.shown is None else self.shown
        self._alive: dict[int, int] = {}
        self._next = {m.frame_id: 0 for m in self.sent}
        self._names = {m.frame_id: {s.name for s in m.signals} for m in (*self.sent, *self.received)}
        self._reach = {(m.frame_id, s.name): reach(s) for m in self.sent for s in m.signals}
        self._taken = {m.frame_id: [(s, *takes(m, s, self.wires)) for s in m.signals if s.name in self.variables]
                       for m in self.received}  # fmt: skip
        self._pages = {m.frame_id: pages(m, {s.name for s in m.signals} & set(self._shown)) for m in self.sent}
        self._sent_at: dict[int, float] = {}
        self._echo = NEVER_SENT
        self._taken_at: dict[int, float] = {}
        self._random = random.Random(1)
        self._order = itertools.count()
        self._outgoing: list[tuple[float, int, can.Message]] = []
        self._incoming: list[tuple[float, int, can.Message]] = []
        for fault in self.faults:
            known = [m.name for m in (*self.sent, *self.received)]
            if fault.message is not None and fault.message not in known:
                raise InputError(f"fault '{fault.name}'", "message", fault.message, f"one of {', '.join(known)}")
        self._delays = {f.name: f.number("s") for f in self.faults if f.kind == "delay"}

    def send(self, values: Mapping[str, float], due: Container[int] | None = None) -> None:
        """Send messages, all or those with these identifiers: values by variable, each within its signal's range.

        Raises
        ------
        can.CanError, OSError
            The bus is gone.
        """
        now = time.monotonic()
        for message in self.sent:
            if due is not None and message.frame_id not in due:
                continue
            for setting, there in self._pages[message.frame_id]:
                frame = self._frame(message, setting, there, values, now)
                for at, disturbed in () if frame is None else self._disturbed(frame, message.name, now):
                    heapq.heappush(self._outgoing, (at, next(self._order), disturbed))
        self.flush()

    def _frame(
        self, message: Message, setting: Mapping[str, int], there: set[str], values: Mapping[str, float], now: float
    ) -> can.Message | None:
        """One page of a message; None if a value is not finite."""
        signals = [s for s in message.signals if s.name in there]
        own = {s.name: self._on_wire(message, s.name, values) for s in signals if s.name in self._shown}
        lost = [name for name, value in own.items() if not math.isfinite(value)]
        if lost:
            self.not_finite.update(lost)
            self.counts["not sent"] += 1
            return None
        data = {s.name: idle(s) for s in signals if s.name not in own}
        data |= setting
        for name, value in own.items():
            low, high = self._reach[message.frame_id, name]
            data[name] = min(max(value, low), high)
            if data[name] != value:
                self.clamped[name] += 1
        if "Alive" in there:
            alive = self._next[message.frame_id]
            data["Alive"] = alive
            self._next[message.frame_id] = (alive + 1) % NEVER_SENT
            if message is self.sent[0]:
                self._sent_at[alive] = now
        if "Echo" in there:
            data["Echo"] = self._echo
        frame = bytearray(message.encode(data, strict=False))
        if "CRC" in there:
            place = message.get_signal_by_name("CRC").start // 8
            frame[place] = crc8(message.frame_id, bytes(frame[:place] + frame[place + 1 :]))
        padded, extended = frame.ljust(size_of(message), b"\0"), message.is_extended_frame
        return can.Message(arbitration_id=message.frame_id, data=padded, is_extended_id=extended, is_fd=is_fd(message))

    def _on_wire(self, message: Message, signal: str, values: Mapping[str, float]) -> float:
        wire = self.wires.get((message.frame_id, signal))
        value = values[self._shown[signal]]
        return value if wire is None else (value - wire.offset) / wire.factor

    def flush(self) -> None:
        """Send the messages that are due."""
        while self._outgoing and self._outgoing[0][0] <= time.monotonic():
            frame = heapq.heappop(self._outgoing)[2]
            try:
                self.bus.send(frame)
            except can.CanOperationError as error:
                if error.error_code != errno.ENOBUFS and "buffer full" not in str(error):
                    raise
                self.counts["no room"] += 1
            else:
                self.counts["sent"] += 1

    def receive(self, timeout: float) -> dict[str, float]:
        """Values by variable of the next accepted message; empty if there is none within `timeout` [s].

        Raises
        ------
        can.CanError, OSError
            The bus is lost.
        """
        end = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            if self._incoming and self._incoming[0][0] <= now:
                values = self._take(heapq.heappop(self._incoming)[2], now)
                if values:
                    return values
                continue
            if now >= end:
                return {}
            until = min(end, self._incoming[0][0]) if self._incoming else end
            got, _ = self.bus._recv_internal(until - now)  # `recv` waits by the wall clock, which may be put back
            if got is not None and (name := self._name(got)) is not None:
                for at, disturbed in self._disturbed(got, name, time.monotonic()):
                    heapq.heappush(self._incoming, (at, next(self._order), disturbed))

    def _name(self, frame: can.Message) -> str | None:
        """Name of the received message in a frame, or None."""
        message = self._by_id.get(frame.arbitration_id)
        if message is None or frame.is_error_frame or frame.is_remote_frame:
            return None
        return message.name if message.is_extended_frame == frame.is_extended_id else None

    def counted(self) -> dict[str, int]:
        """Numbers of messages by result; the bus counts those that could not be read."""
        unreadable = getattr(self.bus, "unreadable", 0)
        return dict(self.counts) | ({"unreadable": unreadable} if unreadable else {})

    def figures(self) -> dict[str, Any]:
        """``counts`` of messages, of values ``clamped`` and ``not_finite`` by signal, ``round_trip_ms`` and ``gap_ms``:
        median and max, null of none."""
        return {
            "counts": self.counted(), "clamped": dict(self.clamped), "not_finite": dict(self.not_finite),
            "held": dict(self.held), "round_trip_ms": _summary(self.trips), "gap_ms": _summary(self.gaps),
        }  # fmt: skip

    def _take(self, frame: can.Message, now: float) -> dict[str, float]:
        message = self._by_id[frame.arbitration_id]
        self.counts["received"] += 1
        names = self._names[message.frame_id]
        data = bytes(frame.data[: message.length])  # without the padding of a sender
        if len(data) < message.length:
            self.counts["wrong length"] += 1
            return {}
        if "CRC" in names:
            place = message.get_signal_by_name("CRC").start // 8
            if data[place] != crc8(message.frame_id, data[:place] + data[place + 1 :]):
                self.counts["wrong CRC"] += 1
                return {}
        try:
            values: Any = message.decode(data, decode_choices=False, scaling=False)
        except cantools.Error:
            self.counts["unknown multiplexer"] += 1
            return {}
        if "Alive" in names and not self._goes_on(message.frame_id, int(values["Alive"])):
            return {}
        if message is self.received[0]:
            self._echo = int(values.get("Alive", NEVER_SENT))
        sent_at = self._sent_at.pop(int(values.get("Echo", NEVER_SENT)), None)
        if sent_at is not None:
            self.trips.append(now - sent_at)
        if message.frame_id in self._taken_at and message.frame_id not in self.rare:
            self.gaps.append(now - self._taken_at[message.frame_id])
        self._taken_at[message.frame_id] = now
        self.counts["taken"] += 1
        return self._values(message.frame_id, values)

    def _values(self, identifier: int, raw: Mapping[str, float]) -> dict[str, float]:
        """Values by variable, each within its range, of those that there are."""
        found = {}
        for signal, wire, low, high, half in self._taken[identifier]:
            if signal.name not in raw:  # in another page
                continue
            given = float(raw[signal.name])
            number = given * float(signal.conversion.scale) + float(signal.conversion.offset)
            value = wire.factor * number + wire.offset
            beyond = not low - half <= value <= high + half
            lack = lacking(signal, given, beyond) if math.isfinite(value) else "not finite"
            if wire.items and lack != "not finite":
                lack = "" if value in wire.items else lack or "no item"
            if lack:
                self.held[f"{signal.name} {lack}"] += 1
                continue
            if beyond:
                self.clamped[signal.name] += 1
            found[self.variables[signal.name]] = min(max(value, low), high)
        return found

    def _goes_on(self, identifier: int, alive: int) -> bool:
        before = self._alive.get(identifier)
        if alive == NEVER_SENT:
            self.counts["wrong counter"] += 1
            return False
        self._alive[identifier] = alive
        ahead = 1 if before is None else (alive - before) % NEVER_SENT
        if ahead == 0:
            self.counts["repeated"] += 1
        elif ahead > LEAP:
            self.counts["wrong counter"] += 1
        else:
            self.counts["missing"] += ahead - 1
        return 0 < ahead <= LEAP

    def _disturbed(self, frame: can.Message, name: str, now: float) -> Iterable[tuple[float, can.Message]]:
        """Frames that a fault makes of a message, with their times."""
        copies = [(now, frame)]
        for fault in self.faults:
            if not self.acting(fault) or fault.message not in (None, name) or self._random.random() >= fault.share:
                continue
            self.counts[f"fault {fault.name}"] += 1
            if fault.kind == "drop":
                copies = []
            elif fault.kind == "delay":
                copies = [(at + self._delays[fault.name], each) for at, each in copies]
            elif fault.kind == "duplicate":
                copies = copies * 2
            elif fault.kind == "corrupt":
                copies = [(at, self._corrupted(each)) for at, each in copies]
        return copies

    def _corrupted(self, frame: can.Message) -> can.Message:
        data = bytearray(frame.data)
        bit = self._random.randrange(8 * len(data))
        data[bit // 8] ^= 1 << bit % 8
        disturbed = copy(frame)
        disturbed.data = data
        return disturbed


def _summary(seconds: deque[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    return {"median": float(np.median(seconds)) * 1e3, "max": float(np.max(seconds)) * 1e3}
