"""An FMU in a process of its own that this process steps one by one: a component of a system.

The process has the limits of the rig's (`rtcvt.hil.host`). Inputs and tuned parameters go to it and outputs come back
through a pipe; between `Stepped.begin` and `Stepped.end` both processes work. A crash, ``exit()``, an error or a step
that does not return within `PATIENCE` is an `InputError` here, with the messages of the FMU.
"""

import json
import os
import platform
import select
import signal
import traceback
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.hil.cosimulation import fetch_messages, quoted, start
from rtcvt.hil.host import GRACE, LATE, address_space, adopt, confine, end_orphans, ending
from rtcvt.hil.importer import Fmu, open_fmu
from rtcvt.hil.loop import Messages
from rtcvt.hil.native.build import available

Array = NDArray[np.float64]
PATIENCE = 60.0  # [s] for a step


class Stepped:
    """A running FMU.

    Parameters
    ----------
    path : Path
        The FMU.
    starts : mapping
        Parameters and texts that are set before initialisation, in the FMU's units.
    u : array, shape (n_u,)
        First inputs, in the FMU's units.
    step : float
        Communication step [s].
    tunable : sequence of str
        Parameters whose values each step gets.
    tuned : array
        Their values at the start.

    Attributes
    ----------
    y : array, shape (n_y,)
        Outputs at the last communication point.
    began : int
        Number of steps that have begun.

    Raises
    ------
    InputError
        The FMU cannot run here, refuses initialisation or does not survive it.
    """

    def __init__(
        self, path: Path, starts: Mapping[str, float | str], u: Array, step: float, tunable: Sequence[str], tuned: Array
    ) -> None:
        if platform.system() != "Linux":
            raise InputError(path.name, "", platform.system(), "Linux, where an FMU of a system has its process")
        self._step, self.began = step, 0
        with ExitStack() as stack:
            self._fmu = stack.enter_context(open_fmu(path))
            self._log = Messages(self._fmu.fmi) if available() else None
            here, there = Pipe()
            memory, parent = address_space(), os.getpid()
            adopt(memory, True)
            pid = os.fork()
            if not pid:
                here.close()
                loop: Any = None if self._log is None else SimpleNamespace(log=self._log)
                _live(
                    self._fmu, starts, np.array([u, u]), step, dict(zip(tunable, tuned, strict=True)), there, loop,
                    parent, memory,
                )  # fmt: skip
            there.close()
            self._pid, self._pipe, self._ended = pid, here, os.pidfd_open(pid)
            self._answers = select.poll()
            for handle in (here.fileno(), self._ended):
                self._answers.register(handle, select.POLLIN)
            weakref.finalize(self, _end, pid, here, self._ended, memory, stack.pop_all())
        self.y = self._answer()

    def begin(self, u: Array, tuned: Array) -> None:
        """Begin a step with these inputs and parameters, in the FMU's units."""
        with suppress(OSError):  # it has ended, as `end` will tell
            self._pipe.send_bytes(np.concatenate([u, tuned]).tobytes() or b"\0")
        self.began += 1

    def end(self) -> Array:
        """Wait for the end of the step and return the outputs.

        Raises
        ------
        InputError
            The step failed; the message has the FMU's own.
        """
        self.y = self._answer()
        return self.y

    def _answer(self) -> Array:
        if ready := dict(self._answers.poll(PATIENCE * 1e3)):
            with suppress(EOFError, OSError):
                answer = self._pipe.recv_bytes() if self._pipe.fileno() in ready else b""
                if answer[:1] == b"y":
                    return np.frombuffer(answer, dtype=float, offset=8)
                if answer:
                    raise InputError(*json.loads(answer[8:]))
            cause = ending(os.waitpid(self._pid, 0)[1])
        else:
            cause = LATE.format(PATIENCE)
        log: deque[str] = deque()
        if self._log is not None:
            fetch_messages(log, self._log, self._fmu)
        raise InputError(self._fmu.file, "", None, f"{cause}{self._when()}{quoted(log)}")

    def _when(self) -> str:
        return f" at t = {(self.began - 1) * self._step:g} s" if self.began else " in its initialisation"


def _end(pid: int, pipe: Connection, ended: int, memory: int, folder: ExitStack) -> None:
    """End the process, and what it forked; remove its folder."""
    with suppress(OSError, ValueError):
        pipe.send_bytes(b"")
    pipe.close()
    with suppress(ChildProcessError):
        if not select.select([ended], [], [], GRACE)[0]:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(ended)
    end_orphans(memory, os.getpid())
    adopt(memory, False)
    folder.close()


def _live(fmu: Fmu, starts: Mapping[str, float | str], u: Array, step: float, p: dict[str, float], pipe: Connection,
          loop: Any, parent: int, memory: int) -> None:  # fmt: skip
    """The life of the process."""
    code = 1
    try:
        confine(parent, PATIENCE, memory)
        changes: deque[tuple[int, str, float]] = deque()
        with start(fmu, starts, u, step, loop) as slave:
            slave.schedule(changes)
            y: Array | None = slave.y[0]
            k = 0
            while y is not None and slave.terminated_at is None:
                pipe.send_bytes(b"y".ljust(8) + y.tobytes())
                if not (asked := pipe.recv_bytes()):
                    break
                given = np.frombuffer(asked if len(asked) > 1 else b"", dtype=float)
                tuned = dict(zip(p, given[u.shape[1] :].tolist(), strict=True))
                changes.extend((k, name, value) for name, value in tuned.items() if value != p[name])
                p = tuned
                y, k = slave.exchange(k, given[: u.shape[1]]), k + 1
            else:
                why = slave.failure or f"the unit ended the simulation at t = {slave.terminated_at:g} s"
                _tell(pipe, (fmu.file, "", None, why))
        code = 0
    except InputError as error:
        _tell(pipe, error.parts)
    except (EOFError, ConnectionError):
        code = 0
    except BaseException:
        _tell(pipe, (fmu.file, "", None, f"in the unit's process: {traceback.format_exc()}"))
    finally:
        os._exit(code)


def _tell(pipe: Connection, parts: Sequence[Any]) -> None:
    with suppress(OSError):
        pipe.send_bytes(b"error".ljust(8) + json.dumps(parts, default=str).encode())
