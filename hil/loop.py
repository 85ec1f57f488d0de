"""The loop of ``native/loop.c`` from Python: its memory, its rings and its counters.

All memory of the loop is allocated here, before it starts, and filled with numbers, so that its pages are resident.
Rings, values and counts are shared mappings, so the loop may run in a forked process, see `rtcvt.hil.host`; addresses
and sizes are private to each process, since a unit may write anywhere. The rings are arrays that both sides see; only
their counters go through functions of the library, whose atomic loads and stores order the accesses.
"""

import ctypes
import mmap
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import POINTER, Structure, addressof, c_char, c_double, c_int, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass, field
from enum import IntEnum
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.hil.importer import NUMBERS, Ticks
from rtcvt.hil.native.build import library

Array = NDArray[np.float64]

HEAD = 5  # columns of a record before the inputs: step number, time [s], step time [s], lateness [s], flags
BINS, MESSAGE, MESSAGES, COMMANDS = 640, 512, 20, 4096
TYPES = {key: code for code, key in enumerate((fmi, name) for fmi, names in NUMBERS.items() for name in names)}
TYPES[3, "Clock"] = len(TYPES)
RING_SECONDS = 8.0  # length of each ring: a machine may pause that long and then catch up
SMALLEST_RING, LARGEST_RING = 64, 2**18  # [rows]


class Policy(IntEnum):
    """Reaction to a step that ended after the next deadline."""

    CATCH_UP = 0  # the next step begins at once; no deadline moves
    SKIP = 1  # deadlines that have passed are skipped; simulated time is late
    STOP = 2


class Ending(IntEnum):
    """How far the loop is."""

    RUNNING = 0
    DONE = 1
    STOPPED = 2  # by a signal or by this side
    FAILED = 3  # by the unit
    OVERRUN = 4  # by the policy STOP
    CRASHED = 5  # its process ended, or was ended since a step did not
    TERMINATED = 6  # by the unit, which asked for the end of the simulation


class FaultKind(IntEnum):
    """Effect of a fault in the loop."""

    STUCK = 0
    NOISE = 1
    NAN = 2
    OVERLOAD = 3
    UNIT_ERROR = 4
    MESSAGES = 5  # of the bus: their node disturbs them, see `Loop.faults_on`


class Command(IntEnum):
    """Commands to a running loop."""

    SET_BUS = 0
    SET_LIVE = 1
    RELEASE_LIVE = 2
    FAULT_ON = 3
    FAULT_OFF = 4
    TUNE = 5


class _Change(Structure):
    _fields_ = [("step", c_int64), ("index", c_int64), ("value", c_double)]


class _Transfer(Structure):
    _fields_ = [("type", c_int32), ("call", c_int32), ("function", c_void_p), ("references", c_void_p),
                ("columns", c_void_p), ("values", c_void_p), ("count", c_int64), ("n_references", c_int64),
                ("first", c_int64), ("every", c_int64)]  # fmt: skip


class _Input(Structure):
    _fields_ = [("from_bus", c_int32), ("hold", c_int32), ("fallback", c_double), ("timeout", c_int64),
                ("bus", c_double), ("live", c_double), ("stamp", c_int64), ("is_live", c_int32),
                ("unused", c_int32)]  # fmt: skip


class _Fault(Structure):
    _fields_ = [("kind", c_int32), ("index", c_int32), ("first", c_int64), ("last", c_int64), ("value", c_double),
                ("held", c_double), ("on", c_int32), ("unused", c_int32)]  # fmt: skip


class _Command(Structure):
    _fields_ = [("kind", c_int64), ("index", c_int64), ("stamp", c_int64), ("value", c_double)]


class _Log(Structure):
    _fields_ = [("count", c_int64), ("kept", c_int64 * 2), ("order", c_int64 * (2 * MESSAGES)),
                ("status", c_int32 * (2 * MESSAGES)), ("text", c_char * MESSAGE * (2 * MESSAGES))]  # fmt: skip


class _Loop(Structure):
    _fields_ = [
        ("component", c_void_p), ("do_step", c_void_p), ("get_boolean_status", c_void_p),
        ("get_real_status", c_void_p), ("enter_event_mode", c_void_p), ("update_discrete_states", c_void_p),
        ("enter_step_mode", c_void_p), ("next_event", c_double), ("sets", c_void_p), ("gets", c_void_p),
        ("n_sets", c_int64), ("n_gets", c_int64), ("n_u", c_int64), ("n_y", c_int64),
        ("step", c_double), ("period", c_double), ("start", c_double), ("n_checked", c_int64),
        ("n_steps", c_int64), ("spin", c_int64),
        ("policy", c_int32), ("priority", c_int32), ("cpu", c_int32), ("wake", c_int32),
        ("fmi", c_int32), ("unused", c_int32),
        ("inputs", c_void_p), ("y_fallback", c_void_p), ("faults", c_void_p), ("n_faults", c_int64),
        ("tunes", c_void_p), ("n_p", c_int64), ("p", c_void_p), ("p_wanted", c_void_p), ("changes", c_void_p),
        ("n_changes", c_int64), ("changed", c_int64),
        ("supply", c_void_p), ("supply_rows", c_int64), ("records", c_void_p), ("record_rows", c_int64),
        ("u", c_void_p), ("y", c_void_p), ("before", c_void_p), ("y_before", c_void_p), ("latest", c_void_p),
        ("commands", c_void_p), ("step_times", c_void_p), ("latenesses", c_void_p), ("thread", c_uint64),
        ("stack", c_void_p), ("random", c_uint64), ("told", c_void_p),
    ]  # fmt: skip


class _Told(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("supplied", "taken", "recorded", "consumed", "ordered", "obeyed", "sequence",
                                       "asked_to_stop", "state", "made", "misses", "late", "skipped", "lost", "starved",
                                       "fallbacks", "warnings", "entered", "status", "failed_call",
                                       "failed_output", "signal_number", "crash")),
        ("terminated_at", c_double),
        *((name, c_int64) for name in ("first_began", "last_ended", "max_step_time", "max_lateness", "latest_step",
                                       "by_steps", "max_gap", "max_oversleep", "scheduler_error", "affinity_error")),
    ]  # fmt: skip


@dataclass(frozen=True)
class Transfer:
    """One call that sets inputs or gets outputs: address of a setter or getter of FMI, references and columns.

    An array of FMI 3.0 has one reference, and a column for each element.
    """

    name: str
    type: str  # in the name of the function: a key of `rtcvt.hil.importer.NUMBERS`, or Clock
    function: int
    references: NDArray[np.uint32]
    columns: Sequence[int]
    ticks: Ticks | None = None  # only then


@dataclass(frozen=True)
class Input:
    """Where an input comes from, and its value when nothing valid does."""

    fallback: float = 0.0
    hold: bool = False  # use the last value instead
    timeout: float | None = None  # [s] for which the bus's value is valid; None: not from the bus


@dataclass(frozen=True)
class Settings:
    """How the loop runs."""

    step: float  # [s]
    n_steps: int
    policy: Policy = Policy.CATCH_UP
    priority: int = 80  # of SCHED_FIFO; 0 for the default scheduler
    cpu: int = -1  # number of the processor, -1 for any
    spin: float = 200e-6  # [s] of watching the clock before a deadline, at most a quarter of the step
    wake: bool = False  # whether `Loop.wait` is used
    fmi: int = 2  # version of FMI
    start: float = 0.0  # [s] the unit's time at the start
    checked: int | None = None  # number of the first outputs that have to be finite; None: all
    logging: bool = True  # whether the unit's messages are logged


class Messages:
    """Log of a unit in shared memory: the last messages of status OK and of others, with formatted arguments.

    Attributes
    ----------
    logging : bool
        Whether messages are logged.
    logger : (int, int)
        Addresses of a logger for the unit and of its environment.
    """

    def __init__(self, fmi: int, logging: bool = True):
        self.fmi, self.logging, self._memory, self._seen = fmi, logging, _shared(_Log), [0, 0]
        c = _functions()
        log = c.loop_log if fmi == 2 else c.loop_log_of_fmi3
        self.logger = cast(int, ctypes.cast(log, c_void_p).value), addressof(self._memory) if logging else 0

    def take(self) -> list[tuple[int, str]]:
        """Status and text of those that came since the last call."""
        log, places = self._memory, list[int]()
        for ring, count in enumerate(log.kept):
            places += [ring * MESSAGES + i % MESSAGES for i in range(max(self._seen[ring], count - MESSAGES), count)]
            self._seen[ring] = count
        places.sort(key=lambda i: log.order[i])
        return [(log.status[i], log.text[i].value.decode(errors="replace").strip()) for i in places]


@dataclass
class Loop:
    """A loop with its memory. One thread supplies and consumes; any may command.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    inputs : sequence of Input
        One per input.
    y_fallback : array, shape (n_y,)
        Outputs when the unit gives none; NaN keeps the last value.
    faults : sequence of (kind, index, first, last, value)
        Faults, active in steps first <= k < last; in `index` outputs follow inputs.
    parameters : mapping of str to float
        Parameters that may change, and their start values.
    changes : sequence of (step, index, value)
        Changes of parameters before these steps, in order.
    """

    settings: Settings
    inputs: Sequence[Input]
    y_fallback: Array
    faults: Sequence[tuple[FaultKind, int, int, int, float]] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    changes: Sequence[tuple[int, int, float]] = ()
    _kept: list[Any] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._c = _functions()
        s, n_u, n_y, n_p = self.settings, len(self.inputs), len(self.y_fallback), len(self.parameters)
        self.supply_rows = self.record_rows = _ring(RING_SECONDS / s.step)
        self._loop, self._told, self.log, self._lock = _Loop(), _shared(_Told), Messages(s.fmi, s.logging), Lock()
        self._supplied = self._consumed = 0
        self.damaged = False  # whether the unit wrote over the shared memory
        if self._c.loop_size() != ctypes.sizeof(_Loop) + ctypes.sizeof(_Told):
            raise AssertionError("native/loop.c and hil/loop.py disagree on the memory of a loop")
        self._supply = _zeros(self.supply_rows, n_u)
        self._records = _zeros(self.record_rows, HEAD + n_u + n_y + n_p)
        self._supply[:], self._records[:] = 1.0, 1.0  # a write makes the page
        self._u, self._y, self._before, self._y_before = (_zeros(n) for n in (n_u, n_y, n_u, n_y))
        self._latest = _zeros(1 + n_u + n_y + n_p)
        self._p, self._p_wanted = _zeros(n_p), _zeros(n_p)
        self._p[:], self._p_wanted[:] = list(self.parameters.values()), np.nan
        self._changes = _shared(_Change * max(len(self.changes), 1))
        self._histograms = _zeros(2, BINS).view(np.int64)
        self._inputs, self._faults = _shared(_Input * max(n_u, 1)), _shared(_Fault * max(len(self.faults), 1))
        self._commands = _shared(_Command * COMMANDS)
        ctypes.memset(self._commands, 1, ctypes.sizeof(self._commands))
        for c, given in zip(self._inputs, self.inputs, strict=False):
            c.from_bus, c.hold, c.fallback = given.timeout is not None, given.hold, given.fallback
            c.timeout = 0 if given.timeout is None else round(given.timeout * 1e9)
        for f, (kind, index, first, last, value) in zip(self._faults, self.faults, strict=False):
            f.kind, f.index, f.first, f.last, f.value = int(kind), index, first, last, value
        for change, (step, index, value) in zip(self._changes, self.changes, strict=False):
            change.step, change.index, change.value = step, index, value
        self._fallback = _zeros(n_y)
        self._fallback[:] = self.y_fallback
        self.wake_handle = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK) if s.wake else -1
        period = s.step * 1e9
        loop = self._loop
        loop.step, loop.period, loop.n_steps = s.step, period, s.n_steps
        loop.spin = int(min(s.spin * 1e9, period / 4))
        loop.policy, loop.priority, loop.cpu, loop.wake = int(s.policy), s.priority, s.cpu, self.wake_handle
        loop.fmi, loop.start, loop.n_checked = s.fmi, s.start, n_y if s.checked is None else s.checked
        loop.n_u, loop.n_y, loop.n_p = n_u, n_y, n_p
        loop.n_faults, loop.n_changes = len(self.faults), len(self.changes)
        self._told.terminated_at = np.nan
        loop.told = addressof(self._told)
        loop.supply_rows, loop.record_rows, loop.random = self.supply_rows, self.record_rows, 0x9E3779B97F4A7C15
        for name, array in (("supply", self._supply), ("records", self._records), ("u", self._u), ("y", self._y),
                            ("before", self._before), ("y_before", self._y_before), ("latest", self._latest),
                            ("y_fallback", self._fallback), ("p", self._p), ("p_wanted", self._p_wanted),
                            ("step_times", self._histograms[0]), ("latenesses", self._histograms[1])):  # fmt: skip
            setattr(loop, name, array.ctypes.data)
        loop.inputs, loop.faults = addressof(self._inputs), addressof(self._faults)
        loop.commands, loop.changes = addressof(self._commands), addressof(self._changes)

    def attach(
        self, component: int, functions: Sequence[int], sets: Sequence[Transfer], gets: Sequence[Transfer],
        u: Array, y: Array, tunes: Sequence[Transfer] = (), next_event: float = np.inf
    ) -> None:  # fmt: skip
        """Attach the initialised unit.

        Parameters
        ----------
        component : int
            Address of the instance.
        functions : sequence of int
            Addresses of its ``fmi2DoStep``, ``fmi2GetBooleanStatus`` and ``fmi2GetRealStatus``, or of ``fmi3DoStep``
            and nothing, twice 0; if it needs event mode, then of ``fmi3EnterEventMode``, ``fmi3UpdateDiscreteStates``
            and ``fmi3EnterStepMode``.
        sets, gets : sequence of Transfer
            Its calls before and after a step.
        u, y : array
            Its inputs and outputs.
        tunes : sequence of Transfer
            One for each of `parameters`.
        next_event : float
            Time of the next event announced by the unit [s].
        """
        loop = self._loop
        loop.component, loop.next_event = component, next_event
        loop.do_step, loop.get_boolean_status, loop.get_real_status = functions[:3]
        events = functions[3:] or (0, 0, 0)
        loop.enter_event_mode, loop.update_discrete_states, loop.enter_step_mode = events
        loop.n_sets, loop.n_gets = len(sets), len(gets)
        loop.sets, loop.gets = self._transfers(sets, 1), self._transfers(gets, 1 + len(sets))
        self._u[:], self._y[:] = u, y
        loop.tunes = self._transfers(tunes, 1 + len(sets) + len(gets))
        self._latest[1:] = np.concatenate([u, y, self._p])

    def start(self) -> None:
        """Start the thread.

        Raises
        ------
        InputError
            The system refuses it.
        """
        error = self._c.loop_start(self._loop)
        if error:
            raise InputError("native loop", "thread", None, f"could not be started: {os.strerror(error)}")

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._c.loop_join(self._loop)

    def stop(self) -> None:
        """Ask the loop to end before its next step."""
        self._c.loop_stop(self._loop)

    @property
    def asked_to_stop(self) -> bool:
        """Whether a signal or this side asked for the end."""
        return bool(self._told.asked_to_stop)

    def abandon(self) -> None:
        """End a loop whose process is gone: outputs at their fall-back, state CRASHED."""
        self._c.loop_abandon(self._loop, 0)

    def guard(self) -> None:
        """Let crashes and ``exit()`` of this process end the loop. This cannot be undone: use a process of the loop's
        own."""
        self._c.loop_guard(self._loop)

    @contextmanager
    def watch_signals(self) -> Iterator[list[str]]:
        """Let the first SIGINT, SIGTERM or SIGHUP end the loop; a second one acts as usual.

        Yields
        ------
        list of str
            After leaving, the name of the signal that came, whether in time for the loop or not.
        """
        came: list[str] = []
        self._c.loop_watch_signals(self._loop)
        try:
            yield came
        finally:
            number = self._c.loop_leave_signals()
            came += [signal.Signals(number).name] if number else []

    @property
    def entered(self) -> int:
        """When the unit was called that has not returned, on CLOCK_MONOTONIC [ns], or 0."""
        return int(self._c.loop_entered(self._loop))

    def close(self) -> None:
        """Give the handle of `wait` back."""
        if self.wake_handle >= 0:
            os.close(self.wake_handle)

    @property
    def state(self) -> Ending:
        """How far the loop is; once it is not RUNNING, all is recorded and counted."""
        state = self._c.loop_state(self._loop)
        self.damaged = self.damaged or state not in set(Ending)
        return Ending.CRASHED if self.damaged else Ending(state)

    @property
    def room(self) -> int:
        """Number of rows that `supply` would accept now."""
        return min(max(self.supply_rows - (self._supplied - self._c.loop_taken(self._loop)), 0), self.supply_rows)

    def supply(self, rows: Array) -> None:
        """Append inputs of steps, at most `room` of them, shape (m, n_u)."""
        places = (self._supplied + np.arange(len(rows))) % self.supply_rows
        self._supply[places] = rows
        self._supplied += len(rows)
        self._c.loop_supply(self._loop, len(rows))

    def take(self) -> Array:
        """All records since the last call, shape (m, HEAD + n_u + n_y + n_p).

        There are none, and the loop is `damaged`, if data of this side have changed: the unit wrote there.
        """
        count = min(max(self._c.loop_recorded(self._loop) - self._consumed, 0), self.record_rows)
        rows = self._records[(self._consumed + np.arange(count)) % self.record_rows]
        told = self._told.supplied, self._told.consumed
        self.damaged = self.damaged or told != (self._supplied, self._consumed)
        if self.damaged:
            return rows[:0]
        self._consumed += count
        self._c.loop_consume(self._loop, count)
        return rows

    def latest(self) -> Array:
        """Number of steps begun, inputs, outputs and parameters now, shape (1 + n_u + n_y + n_p,); the caller's own."""
        row = np.empty_like(self._latest)
        self._c.loop_latest(self._loop, row.ctypes.data)
        return row

    @property
    def wanted(self) -> dict[str, float]:
        """Values by parameter that wait to be set; of a unit that has failed with one it refused, that one."""
        return {n: float(v) for n, v in zip(self.parameters, self._p_wanted, strict=True) if np.isfinite(v)}

    def command(self, kind: Command, index: int, value: float = 0.0, stamp: int = 0) -> bool:
        """Give a command; `stamp` is the time of a bus's value on CLOCK_MONOTONIC [ns]. False if too many wait."""
        with self._lock:
            return bool(self._c.loop_command(self._loop, int(kind), index, value, stamp))

    def counters(self) -> dict[str, int]:
        """Counters of the loop: steps made, misses, late (misses that the steps did not cause), skipped and so on."""
        names = ("made", "misses", "late", "skipped", "lost", "starved", "fallbacks", "warnings")
        return {name: max(int(getattr(self._told, name)), 0) for name in names}

    @property
    def histograms(self) -> NDArray[np.int64]:
        """Counts of step time and lateness, shape (2, BINS), see `bin_edges`."""
        return self._histograms.clip(0, self.settings.n_steps)

    @property
    def largest(self) -> tuple[float, float]:
        """Largest step time and lateness [s]."""
        return 1e-9 * self._told.max_step_time, 1e-9 * self._told.max_lateness

    @property
    def gap(self) -> float:
        """Longest time between two readings of the clock while the loop watched it [s]."""
        return 1e-9 * self._told.max_gap

    @property
    def oversleep(self) -> float:
        """Longest time by which the loop woke later than it asked for [s]."""
        return 1e-9 * self._told.max_oversleep

    @property
    def latest_start(self) -> tuple[float, float]:
        """Due time of the step with the largest lateness [s], and the part of it that earlier steps caused [s]."""
        return self.settings.step * self._told.latest_step, 1e-9 * self._told.by_steps

    @property
    def wall(self) -> float:
        """From the beginning of the first step to the end of the last [s]."""
        return 1e-9 * (self._told.last_ended - self._told.first_began)

    @property
    def failure(self) -> tuple[int, int]:
        """Number of the call that failed, 0 for the step, then those of `attach`, and its status."""
        return int(self._told.failed_call), int(self._told.status)

    @property
    def terminated_at(self) -> float | None:
        """When the unit ended the simulation [s], if `state` is TERMINATED."""
        return float(self._told.terminated_at) if np.isfinite(self._told.terminated_at) else None

    @property
    def faults_on(self) -> list[bool]:
        """Whether each of `faults` acts now."""
        return [bool(f.on) for f in self._faults[: len(self.faults)]]

    @property
    def failed_output(self) -> int | None:
        """Place of the output that was not finite, if that is why `state` is FAILED."""
        place = int(self._told.failed_output) - 1
        return place if 0 <= place < len(self.y_fallback) else None

    @property
    def crash(self) -> int:
        """Number of the signal of a crash, 0 of none."""
        return _signal(self._told.crash)

    @property
    def signal(self) -> int:
        """Number of the signal that ended the loop, or 0."""
        return _signal(self._told.signal_number)

    @property
    def refused(self) -> tuple[int, int]:
        """Error numbers of scheduler and affinity, 0 if they were granted."""
        told = int(self._told.scheduler_error), int(self._told.affinity_error)
        return told if all(0 <= number < 4096 for number in told) else (0, 0)

    def _transfers(self, transfers: Sequence[Transfer], first: int) -> int:
        block = (_Transfer * max(len(transfers), 1))()
        for place, (c, t) in enumerate(zip(block, transfers, strict=False)):
            columns = np.array(t.columns, dtype=np.int32)
            fmi = self.settings.fmi
            values = np.ones(max(len(columns), len(t.references)), dtype=NUMBERS[fmi].get(t.type, np.bool_))
            c.type, c.call, c.function, c.count = TYPES[fmi, t.type], first + place, t.function, len(columns)
            c.first, c.every = (0, 0) if t.ticks is None else (t.ticks.first, t.ticks.every)
            c.n_references = len(t.references)
            c.references, c.columns, c.values = t.references.ctypes.data, columns.ctypes.data, values.ctypes.data
            self._kept += [t.references, columns, values]
        self._kept.append(block)
        return addressof(block)


def _signal(number: int) -> int:
    """The number of a signal, 0 of none."""
    return number if number in signal.valid_signals() and number in list(signal.Signals) else 0


def _shared(kind: Any) -> Any:
    """A structure or array of ctypes in memory that processes share, filled with zeros."""
    return kind.from_buffer(mmap.mmap(-1, ctypes.sizeof(kind)))


def _zeros(*shape: int) -> Array:
    """An array in memory that processes share."""
    count = int(np.prod(shape))
    return np.frombuffer(mmap.mmap(-1, max(8 * count, 1)), dtype=np.float64, count=count).reshape(shape)


def bin_edges() -> Array:
    """Lower edges of the bins of a histogram [s], shape (BINS,): 16 per octave from 16 ns on."""
    b = np.arange(BINS)
    return 1e-9 * np.where(b < 16, b, (16.0 + b % 16) * 2.0 ** (b // 16 - 1))


def _ring(rows: float) -> int:
    return int(2 ** np.ceil(np.log2(min(max(rows, SMALLEST_RING), LARGEST_RING))))


def _functions() -> Any:
    c = ctypes.CDLL(str(library()))
    pointer = POINTER(_Loop)
    for name, result, *arguments in (
        ("loop_start", c_int), ("loop_join", None), ("loop_stop", None), ("loop_state", c_int64),
        ("loop_abandon", None, c_int64), ("loop_guard", None), ("loop_watch_signals", None),
        ("loop_entered", c_int64), ("loop_recorded", c_int64), ("loop_consume", None, c_int64), ("loop_taken", c_int64),
        ("loop_supply", None, c_int64), ("loop_latest", None, c_void_p),
        ("loop_command", c_int, c_int64, c_int64, c_double, c_int64),
    ):  # fmt: skip
        function = getattr(c, name)
        function.restype, function.argtypes = result, [pointer, *arguments]
    c.loop_size.restype = c_int64
    c.loop_leave_signals.restype = c_int
    return c
