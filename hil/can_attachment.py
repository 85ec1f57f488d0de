"""The rig's side of a CAN bus: outputs go out after the steps, inputs come in, each in a thread of its own.

Inputs that the scenario drives stay its own; all others come from the bus. Until the first message, and when none was
taken for the time-out, an input has its fall-back: the loop in C sees to that, whatever becomes of these threads. While
a step takes longer than the time-out the fall-back outputs are sent in its place. At the end they are sent three times,
so that the other side has them even if a message gets lost. A watchdog's heartbeat (`rtcvt.hil.dbc`) goes on only while
steps are made. A tunable parameter changes with each message that has it; a value out of its range is refused and
counted. The threads have the real-time scheduler where permitted.
"""

import os
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cantools
import numpy as np
from cantools.database.can import Database, Message

from rtcvt.errors import InputError
from rtcvt.files import require_regular
from rtcvt.hil.bus import BUS_ERRORS, Node, open_bus, quantum, require_usable
from rtcvt.hil.dbc import (
    FALLEN,
    HEARTBEAT,
    MOST_LOAD,
    OVER,
    RUNNING,
    STATE,
    cycle_time,
    generate,
    load,
    parse,
    signal_name,
)
from rtcvt.hil.importer import Fmu
from rtcvt.hil.loop import Command, Ending, Input
from rtcvt.hil.pacing import BUS_PRIORITY, take_fifo
from rtcvt.hil.rig import NEVER, Attachment, Running
from rtcvt.model import Variable
from rtcvt.recording import replaced_on_success
from rtcvt.scenario import Fault, Scenario

__all__ = ["TIMEOUT", "can_attachment", "database_text", "read_database"]

TIMEOUT = 0.1  # [s]
MESSAGE_FAULTS = ("drop", "delay", "duplicate", "corrupt")


def read_database(path: Path) -> Database:
    """A database from a file.

    Raises
    ------
    InputError
        There is none, or it cannot be read.
    """
    require_regular(path)
    try:
        found = cantools.database.load_file(path)
    except Exception as error:  # cantools raises many kinds
        raise InputError("--dbc", "", str(path), f"a CAN database that cantools reads: {error}") from None
    if not isinstance(found, Database):
        raise InputError("--dbc", "", str(path), "a database of CAN messages")
    return found


def can_attachment(
    channel: str, dbc: Path | None = None, timeout: float = TIMEOUT, save: Path | None = None
) -> Callable[[Fmu, Scenario | None, float], Attachment]:
    """What makes the attachment for a run.

    Parameters
    ----------
    channel : str
        See `rtcvt.hil.bus.open_bus`.
    dbc : Path, optional
        A database; by default one is generated, see `rtcvt.hil.dbc`. Of a given one the messages count whose signals
        are called like variables: those with outputs are sent, those with inputs are received.
    timeout : float
        How long a value from the bus holds [s].
    save : Path, optional
        Where to write the generated database, for the other side.
    """

    def make(fmu: Fmu, scenario: Scenario | None, step: float) -> Attachment:
        inputs, outputs = _on_the_bus(fmu, scenario)
        text = database_text(fmu, scenario, step)
        database = parse(text) if dbc is None else read_database(dbc)
        if save is not None:
            with replaced_on_success(save) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return _attachment(channel, _plan(database, inputs, outputs, _tunable(fmu), step), step, timeout)

    return make


def database_text(fmu: Fmu, scenario: Scenario | None, step: float) -> str:
    """The database that is made for a run: inputs that the scenario does not drive, all outputs, tunable parameters."""
    return generate(fmu.description.modelName, *_on_the_bus(fmu, scenario), step, _tunable(fmu))


def _tunable(fmu: Fmu) -> tuple[Variable, ...]:
    return tuple(v for v in fmu.interface.select("parameter") if v.tunable)


def _on_the_bus(fmu: Fmu, scenario: Scenario | None) -> tuple[list[Variable], tuple[Variable, ...]]:
    driven = scenario.inputs if scenario else {}
    return [v for v in fmu.interface.select("input") if v.name not in driven], fmu.interface.select("output")


@dataclass(frozen=True)
class _Plan:
    """Which messages of a database mean what."""

    names: Mapping[str, str]  # of variables, by signal
    taken: list[Message]
    rare: list[Message]  # taken, too, but sent only when a parameter is to change
    given: list[Message]
    arriving: list[str]  # inputs
    tunable: list[str]  # parameters that the other side may change
    quanta: dict[str, float]
    load: float  # of the bus, 1 is all of it


def _plan(database: Database, inputs: Sequence[Variable], outputs: Sequence[Variable], parameters: Sequence[Variable],
          step: float) -> _Plan:  # fmt: skip
    own = {signal_name(name): name for name in (HEARTBEAT, STATE)}
    names = own | {signal_name(v.name): v.name for v in (*inputs, *outputs, *parameters)}

    def with_any(variables: Sequence[Variable]) -> list[Message]:
        return [m for m in database.messages if any(signal_name(v.name) in m.signal_tree for v in variables)]

    taken, given = with_any(inputs), with_any(outputs)
    if not taken and not given:
        known = ", ".join(name for name in names if name not in own)
        raise InputError("--dbc", "signals", None, f"none is called like a variable of the unit: {known}")
    rare = [m for m in with_any(parameters) if m not in (*taken, *given)]
    given += [m for m in database.messages if m not in given and any(name in m.signal_tree for name in own)]
    for message in (*taken, *rare, *given):
        require_usable(message)
    arriving = {names[s.name] for m in (*taken, *rare) for s in m.signals if s.name in names}
    quanta = {q.name: q.step for m in (*taken, *rare, *given) for q in quantum(m, names) if q.name not in own.values()}
    tunable = sorted(arriving & {v.name for v in parameters})
    return _Plan(names, taken, rare, given, sorted(arriving - set(tunable)), tunable, quanta, load(taken, given, step))


class _Side:
    """The rig's side of a bus during a run."""

    def __init__(self, channel: str, plan: _Plan, running: Running, step: float, timeout: float):
        self._channel, self._plan, self._running = channel, plan, running
        self._step, self._timeout, self._every = step, timeout, cycle_time(step)
        self._places = {v.name: v.index for v in running.inputs}
        self._parameters = {v.name: k for k, v in enumerate(running.parameters)}
        self._finished = threading.Event()
        self.overdue, self.scheduler, self.refused = 0, "the default", Counter[str]()
        faults = [f for f in running.faults if f.kind in MESSAGE_FAULTS]
        self._bus = open_bus(channel)
        rare = frozenset(m.frame_id for m in plan.rare)
        taken = [*plan.taken, *plan.rare]
        self.node = Node(self._bus, plan.given, taken, plan.names, faults, self._present, rare)
        running.switches.update({f.name: partial(self.node.switch, f.name) for f in faults})
        running.troubles.append(self._troubles)

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve the bus in threads; on leaving the outputs are sent three times, at their fall-back."""
        threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True) for work in (self._receive, self._send)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._finished.set()
            for thread in threads:
                thread.join()
            with suppress(Exception):  # said before
                for _ in range(3):
                    self.node.send(self._values())
            self._bus.shutdown()

    def _present(self) -> float:
        return float(self._running.loop.latest()[0]) * self._step

    def _values(self, fallen: bool = False) -> dict[str, float]:
        running = self._running
        row = running.loop.latest()[1 + len(running.inputs) :][: len(running.outputs)]
        if fallen:
            row = np.where(np.isnan(running.y_fallback), row, running.y_fallback)
        state = OVER if running.loop.state is not Ending.RUNNING else FALLEN if fallen else RUNNING
        watchdog = {HEARTBEAT: float(running.loop.counters()["made"] % 2**16), STATE: float(state)}
        return watchdog | {v.name: float(row[v.index]) for v in running.outputs}

    def _receive(self) -> None:
        while not self._finished.is_set():
            for name, value in self.node.receive(0.05).items():
                if name in self._plan.arriving:
                    self._running.loop.command(Command.SET_BUS, self._places[name], value, time.monotonic_ns())
                elif name in self._plan.tunable and not self._running.tune(self._parameters[name], value):
                    self.refused[name] += 1

    def _send(self) -> None:
        running, sent, heard = self._running, -self._every, float("inf")
        handles = [h for h in (running.loop.wake_handle, running.host.handle) if h >= 0]
        while not self._finished.is_set():
            ready, _, _ = select.select(handles, [], [], 0.02)
            if running.host.handle in ready:
                running.host.wait(0.0)
            if running.loop.state is not Ending.RUNNING:
                self.node.send(self._values())  # at their fall-back, without waiting for anything else
                return
            if running.loop.wake_handle in ready:
                os.eventfd_read(running.loop.wake_handle)
                k, heard = int(running.loop.latest()[0]), time.monotonic()
                if k >= sent + self._every:
                    sent = k
                    self.node.send(self._values())
            elif time.monotonic() - heard > self._timeout:
                self.overdue += 1
                self.node.send(self._values(fallen=True))
            self.node.flush()

    def _guarded(self, work: Callable[[], None]) -> None:
        if self._running.loop.settings.priority > 0:
            self.scheduler = take_fifo(BUS_PRIORITY)
        try:
            work()
        except BUS_ERRORS as error:
            if not self._finished.is_set():
                self._running.stop(f"the bus {self._channel} is gone: {error}")
        except Exception as error:  # a thread that ends says so, whatever ended it
            what = f"{work.__name__.strip('_')} failed: {type(error).__name__}: {error}"
            self._running.stop(f"the bus {self._channel}: {what}")

    def _troubles(self) -> dict[str, int]:
        """What a reader of the live page should know, by what it is."""
        unreadable = self.node.counted().get("unreadable", 0)
        return (
            {f"{name} clamped": count for name, count in self.node.clamped.items()}
            | {f"{name} not finite": count for name, count in self.node.not_finite.items()}
            | {f"{name} refused": count for name, count in dict(self.refused).items()}
            | ({"unreadable datagrams": unreadable} if unreadable else {})
        )

    def figures(self) -> dict[str, Any]:
        about = {"overdue": self.overdue, "scheduler": self.scheduler, "refused": dict(self.refused)}
        return about | self.node.figures()


def _attachment(channel: str, plan: _Plan, step: float, timeout: float) -> Attachment:
    switched = tuple(
        Fault(name=f"{kind} messages", kind=kind, start=NEVER, duration=step,
              value=2.0 * timeout if kind == "delay" else None)
        for kind in MESSAGE_FAULTS
    )  # fmt: skip
    sides: list[_Side] = []

    @contextmanager
    def prepare(running: Running) -> Iterator[None]:
        side = _Side(channel, plan, running, step, timeout)
        sides.append(side)
        with side.served():
            yield

    def figures() -> dict[str, Any]:
        about = {"channel": channel, "timeout_s": timeout, "quanta": plan.quanta, "from_bus": plan.arriving,
                 "tunable": plan.tunable, "load": plan.load, "overloaded": plan.load > MOST_LOAD,
                 "overdue": 0, "scheduler": "the default"}  # fmt: skip
        return about | (sides[0].figures() if sides else {})

    inputs = {name: Input(timeout=timeout) for name in plan.arriving}
    return Attachment("can", inputs, True, prepare, figures, switched, frozenset(plan.tunable))
