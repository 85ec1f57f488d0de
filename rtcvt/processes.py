"""Processes that rtcvt starts: programs, pools, clusters. None has the current folder on its module path, see
`rtcvt.module_path`; a test looks for others in the sources.

A script that imports rtcvt keeps its own module path, which pools and clusters hand on; its environment is changed only
while children of these may start.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rtcvt.module_path import environment

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

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


@contextmanager
def local_cluster(**options: Any) -> Iterator[Any]:
    """A dask cluster on this machine with these `options`, whose workers may restart until the block ends. The
    exception of a signal waits until the cluster has started, since a cluster that has half started is never closed."""
    from distributed import LocalCluster

    from rtcvt.files import signals_wait

    with _safe_children(), ExitStack() as stack:
        with signals_wait():
            cluster = stack.enter_context(LocalCluster(**options))
        yield cluster


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
