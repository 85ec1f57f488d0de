"""Processes that rtcvt starts: programs, pools, clusters. None has the current folder on its module path, see
`rtcvt.module_path`; a test looks for others in the sources.

A script that imports rtcvt keeps its own module path, which pools and clusters hand on; its environment is changed only
while children of these may start.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rtcvt.errors import InputError
from rtcvt.module_path import environment

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_log = logging.getLogger("rtcvt")

PATIENCE = 30.0  # [s] time in which a command that was interrupted may write its files
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def run(
    command: Sequence[str], more: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """A program that has ended, with its output as text; `more` is added to its environment, and `options` are those of
    `subprocess.run`."""
    return subprocess.run(command, capture_output=True, text=True, env=environment() | dict(more or {}), **options)


@contextmanager
def pool(number: int) -> "Iterator[ProcessPoolExecutor]":
    """A pool of `number` new Python processes; work that has not begun at the end of the block is dropped."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with _safe_children():
        made = ProcessPoolExecutor(number, mp_context=get_context("spawn"))
        try:
            yield made
        finally:
            made.shutdown(wait=True, cancel_futures=True)


def computed(
    calls: Mapping[Any, Sequence[Any]], scheduler: str | None, workers: int | None
) -> Iterator[tuple[Any, Any, BaseException | None]]:
    """Key, result and error of calls, each a function and its arguments, as they end; see `cluster_of`.

    An error may be one of the cluster: a call is given up if the third worker dies of it.

    Raises
    ------
    InputError
        The scheduler has ended.
    """
    from distributed import as_completed

    with cluster_of(scheduler, workers) as client:
        futures = {client.submit(*call, pure=False): key for key, call in calls.items()}
        for future in as_completed(list(futures)):
            if future.cancelled():
                allowed = "one that lives as long as the runs; finished runs are kept, and the same command continues"
                raise InputError("--scheduler", "", scheduler, allowed)
            error = future.exception()
            yield futures[future], future.result() if error is None else None, error


@contextmanager
def cluster_of(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """A client of the scheduler at this address, or of a cluster of local processes that ends with it.

    The local one listens on the loopback alone, serves no pages, and accepts work only from clients with its
    certificate, which is made for it and never written: a scheduler executes code from anyone who can connect to it.

    Raises
    ------
    InputError
        No scheduler at the address, or none that trusts this client.
    """
    from dask import config
    from distributed import Client, LocalCluster
    from distributed.security import Security

    from rtcvt.files import signals_wait, temporary_folder

    if scheduler is not None:
        if not scheduler.startswith(("tls://", "wss://", "inproc://")):
            _log.warning(_OPEN, scheduler)
        try:
            client = Client(scheduler, timeout="10 s")
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise InputError("--scheduler", "", scheduler, f"address of a dask scheduler ({error}){_TLS}") from None
        with client:
            yield client
        return
    pages: dict[str, Any] = {f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")}
    with (
        temporary_folder() as scratch,
        config.set({"temporary-directory": str(scratch)} | pages),
        _safe_children(),  # workers may restart until the end
        ExitStack() as stack,
    ):
        try:
            with _deaf(), signals_wait():  # a cluster that has half started is never closed
                made = LocalCluster(
                    n_workers=workers or os.cpu_count(), threads_per_worker=1, memory_limit=0, host="127.0.0.1",
                    protocol="tls://", security=Security.temporary(), dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False}, silence_logs=logging.CRITICAL,
                )  # fmt: skip
                cluster = stack.enter_context(made)
        except (RuntimeError, OSError) as error:  # dask: "Nanny failed to start."
            raise InputError("--workers", "", workers, f"processes that the system can start: {error}") from None
        yield stack.enter_context(Client(cluster))


_TLS = "; certificates are read from dask's configuration, distributed.comm.tls"
_OPEN = (
    "%s: without TLS this scheduler executes code from anyone who can connect to it; start it, its workers and rtcvt "
    "with certificates (dask's configuration distributed.comm.tls) and give its address as tls://"
)


@contextmanager
def _deaf() -> Iterator[None]:
    """Hold Ctrl-C back until the block's end; processes that start within never get one: it is for this one alone."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows they have a group of their own
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _safe_children() -> Iterator[None]:
    """Children of this process that start within the block have no current folder on their module path."""
    names = ("PYTHONSAFEPATH", "PYTHONPATH")
    before = {name: os.environ[name] for name in names if name in os.environ}
    safe = environment()

    def change(to: Mapping[str, str]) -> None:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update({name: to[name] for name in names if name in to})

    change(safe)
    try:
        yield
    finally:
        change(before)


def watched(signals: Sequence[int]) -> None:
    """Go on in a child process, to which this one hands on these signals: code of files may never return to Python,
    which handles them. A child that a signal does not end in `PATIENCE` is killed, with all that it started, and so at
    a second signal; the exit code is that of the child, or of the signal: 130 of SIGINT, else 1."""
    if not hasattr(os, "fork"):
        return
    parent, child = os.getpid(), os.fork()
    if child == 0:
        os.setpgid(0, 0)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
        return
    with suppress(OSError):  # it has done so, or ended
        os.setpgid(child, child)
    came: list[int] = []

    def kill(number: int, frame: Any) -> None:
        del number, frame
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)

    def hand_on(number: int, frame: Any) -> None:
        came.append(number)
        if len(came) > 1:
            kill(number, frame)
        else:
            os.kill(child, number)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    signal.signal(signal.SIGALRM, kill)
    for number in signals:
        signal.signal(number, hand_on)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        why = (
            "code of a file did not return" if came else f"{signal.Signals(-code).name} in code of a file, or a library"
        )
        sys.stderr.write(f"error: {why}\n")
        code = (130 if came[0] == signal.SIGINT else 1) if came else 128 - code
    raise SystemExit(code)


def caught() -> None:
    """Call this where an interrupt was caught and a summary or the like follows: it is not raised again."""
    if hasattr(signal, "SIGALRM") and getattr(signal.getsignal(signal.SIGALRM), "__name__", "") == "_again":
        signal.setitimer(signal.ITIMER_REAL, 0.0)
