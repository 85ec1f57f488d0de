"""Process of the unit and its loop: a forked one, or this one.

The memory of the loop is shared, see `rtcvt.hil.loop`, so a step costs the same in both. A failing unit harms its own
process only: after a crash, ``exit()``, ``abort()`` or a stack overflow the handler of the signal sets the outputs to
their fall-back (``native/loop.c``); a killed process, or a step that does not return, is detected here. A unit that a
stop does not reach within `GRACE`, or whose step takes longer than `patience`, is killed. Its process may use half of
the machine's memory, at most `MEMORY`; it is the first that the system kills if memory runs out, and it ends with this
process, however that ends. Processes that it forked end with the run, or by a process that watches this one; writing
over the shared memory ends the unit. A real-time thread that has not slept for `patience` and `UNWATCHED` is ended by
the system: if such threads occupy all processors, no process here could do it.
"""

import ctypes
import faulthandler
import json
import os
import resource
import select
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.hil.cosimulation import fetch_messages, quoted, start
from rtcvt.hil.importer import Fmu
from rtcvt.hil.loop import Ending, Loop
from rtcvt.hil.pacing import real_time

Array = NDArray[np.float64]

GRACE = 0.4  # [s] for a unit to return at the end of the run, and then to be freed
FREEING = 5.0  # [s] for freeing it after a run that ended by itself
UNWATCHED = 2.0  # [s] after its patience, for this process to find a unit that hangs
MEMORY = 2 * 2**30  # [bytes] that a unit may use
GIVEN_UP = "the unit was given up: "
LATE, STAYED = "a step did not return within {:g} s", "it did not return from its step when the run was to end"
WROTE = "it wrote over the memory that it shares with the rig"
KEPT = f"it was not freed within {FREEING:g} s after the run"
LEFT = 99  # exit code of a process whose unit called exit(), as in native/loop.c
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36  # <linux/prctl.h>


class Host(Protocol):
    """An initialised unit, attached to its loop."""

    calls: list[str]  # names of the calls of a step, as `Loop.failure` counts them
    handle: int  # a file that becomes readable when the unit's process ends, or -1

    def start(self) -> None:
        """Start the loop."""

    def wait(self, seconds: float) -> None:
        """Wait, at most until the loop ends; end it if the unit cannot."""

    def join(self) -> None:
        """Wait for the end of the loop, which was asked for or has come."""

    def free(self) -> None:
        """Wait until the unit is freed; after that `fate` is known."""

    @property
    def fate(self) -> str:
        """Error of the unit's process; empty if there was none."""


@contextmanager
def hosted(fmu: Fmu, starts: Mapping[str, float | str], first: Array, step: float, loop: Loop, isolated: bool,
           privileged: bool, patience: float) -> Iterator[Host]:  # fmt: skip
    """An initialised unit whose loop can be started; it is freed on leaving.

    Parameters
    ----------
    fmu, starts, first, step, loop
        See `rtcvt.hil.cosimulation.start`.
    isolated : bool
        Whether the unit gets a process of its own.
    privileged : bool
        See `rtcvt.hil.pacing.real_time`.
    patience : float
        After which a step that does not return is given up [s].

    Raises
    ------
    InputError
        The library cannot be loaded, the unit refuses initialisation or does not survive it, or an output is not finite
        after it.
    """
    if not isolated:
        unit = ExitStack()
        inside = _Inside(loop, unit.enter_context(_attached(fmu, starts, first, step, loop)), patience)
        try:
            yield inside
        finally:
            if inside.fate:
                _leave(unit, loop)
            else:
                unit.close()
        return
    outside = _Outside(loop, patience)
    try:
        outside.fork(lambda: _attached(fmu, starts, first, step, loop), privileged, fmu)
        yield outside
    finally:
        outside.end()


@contextmanager
def _attached(
    fmu: Fmu, starts: Mapping[str, float | str], first: Array, step: float, loop: Loop
) -> Iterator[list[str]]:
    """Names of the calls of a step of a unit that is started and attached."""
    with start(fmu, starts, first, step, loop) as slave:
        sets, gets, y = slave.transfers("Set"), slave.transfers("Get"), slave.y[0]
        for v in fmu.interface.select("output"):
            if not (v.local or np.isfinite(y[v.index])):
                raise InputError(fmu.file, v.name, float(y[v.index]), "a finite output after initialisation")
        tunes = slave.tunes(loop.parameters)
        loop.attach(*slave.addresses, sets, gets, first[0], y, tunes, slave.next_event)
        yield [f"fmi{fmu.fmi}DoStep", *(t.name for t in (*sets, *gets, *tunes))]
        if loop.state is Ending.FAILED:
            slave.failed(loop.failure[1])


class _Inside:
    """In this process, which the unit can end. A step that does not return is left alone with its thread."""

    handle = -1

    def __init__(self, loop: Loop, calls: list[str], patience: float):
        self.calls, self._loop, self._patience = calls, loop, patience
        self.fate = ""

    def start(self) -> None:
        self._loop.start()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)
        entered = self._loop.entered
        if entered and time.monotonic_ns() - entered > self._patience * 1e9:
            time.sleep(0.1)  # in which this process ran: the machine did not stand still
            if self._loop.entered == entered:
                self._give_up(LATE.format(self._patience))

    def join(self) -> None:
        until = time.monotonic() + GRACE
        while self._loop.state is Ending.RUNNING and time.monotonic() < until:
            time.sleep(5e-3)
        if self._loop.state is Ending.RUNNING:
            self._give_up(STAYED)
        elif not self.fate:
            self._loop.join()

    def free(self) -> None:
        pass

    def _give_up(self, why: str) -> None:
        self.fate = GIVEN_UP + why
        self._loop.abandon()


def _leave(unit: ExitStack, loop: Loop) -> None:
    """Keep memory that the thread of an abandoned unit may use, until the process ends."""
    loop.wake_handle = -1
    for kept in (unit.pop_all(), loop):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


class _Outside:
    """In a process of its own."""

    def __init__(self, loop: Loop, patience: float):
        self.calls: list[str] = []
        self.handle, self._pid, self._go, self._memory, self._heir = -1, 0, -1, 0, 0
        self._loop, self._patience, self._lock = loop, patience, threading.Lock()
        self._status: int | None = None  # as of os.waitpid
        self._given_up: str | None = None  # why it was killed; empty if that is nobody's concern

    def fork(self, unit: Any, privileged: bool, fmu: Fmu) -> None:
        """Begin the process; returns when the unit is attached."""
        (told, tell), (go, self._go) = os.pipe(), os.pipe()
        parent = os.getpid()
        self._memory = address_space()
        adopt(self._memory, True)
        self._heir = _heir(parent, self._memory)
        self._pid = os.fork()
        if not self._pid:
            os.close(told)
            os.close(self._go)
            _live(unit, self._loop, privileged, parent, tell, go, self._patience, self._memory)
        os.close(tell)
        os.close(go)
        self.handle = os.pidfd_open(self._pid)
        with open(told, "rb") as answers:
            answer = answers.read()
        try:
            said = json.loads(answer)
        except ValueError:
            self._wait_for_end(GRACE)
            log: deque[str] = deque()
            fetch_messages(log, self._loop.log, fmu)
            allowed = f"a unit that survives its initialisation; {self._ended()}{quoted(log)}"
            raise InputError(fmu.file, "instantiation", None, allowed) from None
        if "refused" in said:
            raise InputError(*said["refused"])
        if "failed" in said:
            raise RuntimeError(f"in the unit's process: {said['failed']}")
        self.calls = said["calls"]

    def start(self) -> None:
        os.write(self._go, b"!")

    def wait(self, seconds: float) -> None:
        self._ended_within(seconds)
        if self._loop.damaged and self._status is None:
            self._kill(WROTE)
        entered = self._loop.entered
        if entered and time.monotonic_ns() - entered > self._patience * 1e9 and self._stuck_in(entered):
            self._kill(LATE.format(self._patience))

    def join(self) -> None:
        until = time.monotonic() + GRACE
        while self._loop.state is Ending.RUNNING and time.monotonic() < until and not self._ended_within(5e-3):
            pass
        if self._loop.state is Ending.RUNNING:
            self._kill(STAYED)
        elif self._loop.damaged and self._status is None:
            self._kill(WROTE)

    def free(self) -> None:
        if self._loop.asked_to_stop:  # that is reason enough
            self._wait_for_end(GRACE)
        elif not self._ended_within(FREEING):
            self._kill(KEPT)

    @property
    def fate(self) -> str:
        if self._loop.damaged:
            return GIVEN_UP + WROTE
        lived = self._status in (0, None) and self._loop.state is not Ending.CRASHED
        return "" if lived or self._given_up == "" else self._ended()

    def end(self) -> None:
        """Kill the process if it is there, and give the handles back."""
        if self._pid and self._status is None:
            self._kill("")
        end_orphans(self._memory, os.getpid())
        adopt(self._memory, False)
        if self._heir:
            os.kill(self._heir, signal.SIGKILL)
            os.waitpid(self._heir, 0)
        for handle in (self.handle, self._go):
            if handle >= 0:
                os.close(handle)

    def _ended_within(self, seconds: float) -> bool:
        """Whether the process has ended by then; the loop has, too."""
        if self._status is None and select.select([self.handle], [], [], seconds)[0]:
            with self._lock:
                if self._status is None:
                    self._status = os.waitpid(self._pid, 0)[1]
                    self._loop.abandon()
        return self._status is not None

    def _stuck_in(self, entered: int) -> bool:
        """Whether the step still does not return after a while in which this process ran: the machine stood still."""
        until = time.monotonic() + 0.1
        while time.monotonic() < until and self._loop.entered == entered:
            self._ended_within(0.02)
        return self._loop.entered == entered

    def _wait_for_end(self, seconds: float) -> None:
        if not self._ended_within(seconds):
            self._kill("")

    def _kill(self, why: str) -> None:
        self._given_up = why
        os.kill(self._pid, signal.SIGKILL)
        self._ended_within(60.0)

    def _ended(self) -> str:
        if self._given_up:
            return GIVEN_UP + self._given_up
        return ending(self._status or 0, self._loop.crash)


def ending(status: int, crash: int = 0) -> str:
    """How the process of a unit ended, by the status of `os.waitpid` or the signal of a crash."""
    if crash or os.WIFSIGNALED(status):
        return f"the unit's process was ended by {signal.Signals(crash or os.WTERMSIG(status)).name}"
    code = os.WEXITSTATUS(status)
    return "the unit ended its process by exit()" if code == LEFT else f"the unit ended its process with code {code}"


def _live(unit: Any, loop: Loop, privileged: bool, parent: int, tell: int, go: int, patience: float,
          memory: int) -> None:  # fmt: skip
    """The life of the unit's process."""
    code = 1
    try:
        confine(parent, patience, memory)
        loop.guard()
        with unit() as calls, real_time(privileged) as granted:
            del granted["scheduler"]  # of this thread
            os.write(tell, json.dumps({"calls": calls}).encode())
            os.close(tell)
            if os.read(go, 1):
                with loop.watch_signals():  # a terminal's go to both processes
                    loop.start()
                    loop.join()
        code = 0
    except InputError as error:
        os.write(tell, json.dumps({"refused": error.parts}, default=str).encode())
    except BaseException:
        with suppress(OSError):
            os.write(tell, json.dumps({"failed": traceback.format_exc()}).encode())
    finally:
        ctypes.CDLL(None).fflush(None)
        os._exit(code)


def _left_to_the_rig(number: int, frame: Any) -> None:
    """Before and after the loop the rig's process handles signals."""


def confine(parent: int, patience: float, memory: int) -> None:
    """Limits of the unit's process, and its end with that of the rig."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    faulthandler.disable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as with nohup; the loop does not listen to these
            signal.signal(number, _left_to_the_rig)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    libc.prctl(_PR_SET_DUMPABLE, 0)  # writing a core lasts seconds
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    spinning = int(min((max(patience, FREEING) + UNWATCHED) * 1e6, 2**62))
    resource.setrlimit(resource.RLIMIT_RTTIME, (spinning, spinning))


def _heir(parent: int, memory: int) -> int:
    """Start a process that kills processes forked by a unit after this one was killed by SIGKILL."""
    heir = os.fork()
    if heir:
        return heir
    try:
        os.setsid()  # a signal to the group does not reach it
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for handle in map(int, os.listdir("/proc/self/fd")):  # whose end others wait for
            with suppress(OSError):
                os.close(handle)
        watched = os.pidfd_open(parent)
        if os.getppid() == parent:
            select.select([watched], [], [])
        end_orphans(memory, None)
    finally:
        os._exit(0)


def address_space() -> int:
    """Address space that a unit's process may use [bytes]. Processes that it forks have the same limit, and no other
    unit of the machine has: its last 26 bits identify the rig's process and the unit."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = taken + min(MEMORY, pages // 2) + 2**26
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    return (limit & -(2**26)) - 1 - (os.getpid() % 2**22 * 16 + next(_units) % 16)


_units = count(1)


_adopting: set[int] = set()


def adopt(memory: int, on: bool) -> None:
    """Make orphans of a unit children of this process, as long as it has units with this limit."""
    (_adopting.add if on else _adopting.discard)(memory)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(bool(_adopting)))


def end_orphans(memory: int, parent: int | None) -> None:
    """Kill processes that a unit forked: those with its limit of memory, of this parent or all."""
    until = time.monotonic() + GRACE
    while (left := _orphans(memory, parent)) and time.monotonic() < until:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _orphans(memory: int, parent: int | None) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):  # not a process, or it has ended
            above = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            if parent in (above, None) and resource.prlimit(int(folder.name), resource.RLIMIT_AS)[1] == memory:
                found.append(int(folder.name))
    return found
