"""Calls against the wall clock, and the privileges of the calling thread from the operating system.

Call k is due at ``deadline_k = t_0 + k h``. Deadlines are absolute: none depends on when an earlier call ended, so
lateness never adds up to drift. A call that ends after the next deadline is a *miss*. The next call then starts at once
with its own deadline, and so on until the run has caught up: no call is skipped, no deadline moves. A run that cannot
keep up shows as lateness that grows.

Waiting is ``time.sleep`` until `SPIN` before the deadline, then a busy loop. On Linux Python sleeps with
``clock_nanosleep`` to an absolute time; calling that through ctypes instead changed nothing. Lateness of an empty call
at 1 kHz [us], 10 s of each, interleaved, in a shared virtual machine with 2 cores:

==================  ======  =====  ======
scheduler, spin     median    p99   p99.9
==================  ======  =====  ======
default, none           89   1437    3794
default, 200 us        0.1    821    3539
SCHED_FIFO, none        35    170     867
SCHED_FIFO, 50 us      0.1    168    1532
SCHED_FIFO, 200 us     0.1     59    1372
==================  ======  =====  ======

The rest is caused by the host. The busy loop needs a fifth of one core at 1 kHz. Linux may stop a real-time thread that
never sleeps for 5 % of the time (``kernel.sched_rt_runtime_us``): a step should end well before the next deadline.
"""

import ctypes
import gc
import os
import platform
import signal
import socket
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

PRIORITY = 80  # of SCHED_FIFO: above the interrupt threads of a PREEMPT_RT kernel, below its watchdogs
BUS_PRIORITY = 60  # of threads that serve a bus, and of those whose interpreter lock these need
SPIN = 200e-6  # [s] busy waiting before a deadline, at most half of a step
_NAP = 100_000_000  # [ns] longest sleep without a look at whether the run is to end
_MCL_CURRENT, _MCL_ONFAULT = 1, 4  # <sys/mman.h>

Nanoseconds = NDArray[np.int64]
Seconds = NDArray[np.float64]


@dataclass(frozen=True)
class Timing:
    """When each call was due, started and ended, shape (n,) each, on the clock of ``time.perf_counter_ns`` [ns]."""

    began: Nanoseconds
    ended: Nanoseconds
    due: Nanoseconds | None  # (n + 1,) with the deadline after the last call; None if there were no deadlines

    @property
    def step_time(self) -> Seconds:
        """How long each call took [s]."""
        return 1e-9 * (self.ended - self.began).astype(float)

    @property
    def lateness(self) -> Seconds | None:
        """Start of each call after its deadline [s]."""
        return None if self.due is None else 1e-9 * (self.began - self.due[:-1]).astype(float)

    @property
    def misses(self) -> int | None:
        """Number of calls that ended after the next deadline."""
        return None if self.due is None else int(np.count_nonzero(self.ended > self.due[1:]))


def pace(
    call: Callable[[int], bool],
    n: int,
    step: float | None,
    stopped: Callable[[], bool] = lambda: False,
    clock: Callable[[], int] = time.perf_counter_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> Timing:
    """Call ``call(k)`` for k = 0 .. n - 1, each at its deadline.

    Parameters
    ----------
    call : callable
        Returns whether to go on; the call that returns False is not part of the timing.
    n : int
        Number of calls.
    step : float or None
        Time from deadline to deadline [s]; None calls without waiting.
    stopped : callable
        Asked before each call; True ends the run.
    clock, sleep : callable
        Monotonic time [ns], and sleeping for a time [s].

    Returns
    -------
    Timing
        Of the calls that were made, fewer than n if the run ended early.
    """
    period = 0.0 if step is None else step * 1e9
    spin = int(min(SPIN * 1e9, period / 2))
    began, ended = array("q", bytes(8 * n)), array("q", bytes(8 * n))  # faster to write to than numpy's
    done = 0
    start = clock() + round(period)
    for k in range(n):
        if step is not None:
            due = start + round(k * period)
            while (left := due - clock() - spin) > 0 and not stopped():
                sleep(min(left, _NAP) * 1e-9)
            while clock() < due and not stopped():
                pass
        if stopped():
            break
        began[k] = clock()
        go_on = call(k)
        ended[k] = clock()
        if not go_on:
            break
        done = k + 1
    deadlines = None if step is None else start + np.rint(np.arange(done + 1) * period).astype(np.int64)
    return Timing(np.array(began[:done], np.int64), np.array(ended[:done], np.int64), deadlines)


@contextmanager
def real_time(privileged: bool, priority: int = PRIORITY) -> Iterator[dict[str, str]]:
    """Set the best permitted conditions for a paced thread; they are reset on leaving.

    The garbage collector is off; if `privileged`, the scheduler is SCHED_FIFO and memory locked (and so resident) where
    that is permitted. Without waiting a real-time thread would only get in the way of all others.

    Yields
    ------
    dict of str
        The granted conditions, and reasons for those not granted: ``scheduler``, ``memory``, ``garbage_collector``.
    """
    with ExitStack() as undo:
        if gc.isenabled():
            undo.callback(gc.enable)
        gc.disable()
        got = {"scheduler": "the default", "memory": "not locked", "garbage_collector": "off"}
        if privileged:
            got["memory"] = _lock_memory(undo)
            got["scheduler"] = _take_scheduler(undo, priority)
        yield got


def _take_scheduler(undo: ExitStack, priority: int) -> str:
    before = (os.sched_getscheduler(0), os.sched_getparam(0)) if hasattr(os, "sched_getscheduler") else None
    got = take_fifo(priority)
    if before is not None and got.startswith("SCHED_FIFO"):
        undo.callback(os.sched_setscheduler, 0, *before)
    return got


@contextmanager
def own_processor(wanted: int | None, privileged: bool) -> Iterator[tuple[int, bool]]:
    """A processor for the loop: the one that is asked for, else the last that no other rig of this machine has, but not
    the first, which is left to those that watch over them. The last one, if there is no such; -1 for any, if there is
    but one or a held one would not help (not privileged).

    The second is whether another rig has it, too: then the steps of one wait for those of the other. A rig has its
    processor as long as it runs, however it ends: on Linux its name is an abstract socket's.
    """
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if wanted is None and (not privileged or len(allowed) < 2):
        yield -1, False
        return
    choice = allowed[:0:-1] if wanted is None else [wanted]
    with ExitStack() as held:
        free = next((cpu for cpu in choice if _claimed(cpu, held)), None)
        yield (choice[0], True) if free is None else (free, False)


def _claimed(cpu: int, held: ExitStack) -> bool:
    """Whether no other rig had a processor, which is now this one's until `held` is closed."""
    claim = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    try:
        claim.bind(f"\0rtcvt-processor-{cpu}")
    except OSError:
        return False
    return True


def take_fifo(priority: int) -> str:
    """SCHED_FIFO for the calling thread where that is permitted; returns the granted scheduler, or the reason for a
    refusal."""
    if not hasattr(os, "sched_setscheduler"):
        return f"the default; {platform.system()} has no SCHED_FIFO"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return f"the default; no SCHED_FIFO: {error.strerror} (needs CAP_SYS_NICE or a limit 'rtprio' of {priority})"
    return f"SCHED_FIFO, priority {priority}"


def _lock_memory(undo: ExitStack) -> str:
    """Lock present mappings; later ones are not locked, since they might exceed a limit during the run.

    Libraries are made resident. Other pages are locked when they are used: making all of them resident would copy pages
    that a process shares with its parent.
    """
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        lock, lock_range, unlock = libc.mlockall, libc.mlock, libc.munlockall
    except (AttributeError, OSError, TypeError):
        return f"not locked; {platform.system()} has no mlockall"
    refused = lock(_MCL_CURRENT | _MCL_ONFAULT)
    undo.callback(unlock)
    for first, size in [] if refused else _libraries():
        refused = refused or lock_range(ctypes.c_void_p(first), ctypes.c_size_t(size))
    if refused:
        return f"not locked: {os.strerror(ctypes.get_errno())} (needs CAP_IPC_LOCK or a larger limit 'memlock')"
    return "locked"


def _libraries() -> Iterator[tuple[int, int]]:
    """Addresses and sizes [bytes] of this process's mappings of libraries."""
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        addresses, rights, *_, name = line.split(maxsplit=5)
        if ".so" in name and rights.startswith("r"):
            first, end = (int(a, 16) for a in addresses.split("-"))
            yield first, end - first


@contextmanager
def in_threads(works: Iterable[Callable[[], None]], ended: Event) -> Iterator[None]:
    """Run each of these in a daemon thread; on leaving set `ended`, at which they are to return, and wait for them."""
    threads = [Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


@contextmanager
def interruptible() -> Iterator[list[str]]:
    """Turn the first SIGINT or SIGTERM into an entry of the list that is yielded; a second one acts as usual.

    No exception is raised, so none can hit a step half-way. Outside the main thread nothing is changed.
    """
    received: list[str] = []
    before: dict[int, Any] = {}

    def note(number: int, _frame: object) -> None:
        received.append(signal.Signals(number).name)
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    with suppress(ValueError):  # not in the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    try:
        yield received
    finally:
        restore()


def stolen(cpu: int = -1) -> float | None:
    """Time since boot [s] that the hypervisor withheld a processor, or all of them; None where the system does not
    report it.

    Linux counts it in ticks of 10 ms (``/proc/stat``, column 8), and only time that its hypervisor reports.
    """
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        words = next(words for words in map(str.split, lines) if words[0] == ("cpu" if cpu < 0 else f"cpu{cpu}"))
        return int(words[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, IndexError, ValueError):
        return None


def environment() -> dict[str, str]:
    """Conditions of a run's timing in a few words: ``system``, ``cpus``, ``governor``, ``python``."""
    preemption = next((word for word in platform.version().split() if word.startswith("PREEMPT")), "")
    try:
        governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text(encoding="ascii").strip()
    except OSError:
        governor = "unknown"
    return {
        "system": f"{platform.system()} {platform.release()} {preemption}".rstrip(),
        "cpus": f"{os.cpu_count()} x {platform.machine()}",
        "governor": governor,
        "python": platform.python_version(),
    }
