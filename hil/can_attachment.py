"""The rig's side of a CAN bus: outputs go out after the steps, inputs come in, each in a thread of its own.

Inputs that the scenario drives stay its own; all others come from the bus. Until the first message, and when none was
taken for the time-out, an input has its fall-back: the loop in C sees to that, whatever becomes of these threads. While
a step takes longer than the time-out the fall-back outputs are sent in its place. At the end they are sent three times,
so that the other side has them even if a message gets lost. The threads have the real-time scheduler where permitted.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import cantools
import numpy as np
from cantools.database.can import Database

from hil.bus import BUS_ERRORS, Node, open_bus, quantum, require_usable
from hil.dbc import cycle_time, generate, parse, signal_name
from hil.importer import Fmu
from hil.loop import Command, Ending, Input
from hil.pacing import BUS_PRIORITY, take_fifo
from hil.rig import NEVER, Attachment, Running
from rtcvt.errors import InputError
from rtcvt.model import Variable
from rtcvt.recording import replaced_on_success
from rtcvt.scenario import Fault
from rtcvt.unitfile import Scenario

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
        See `hil.bus.open_bus`.
    dbc : Path, optional
        A database; by default one is generated, see `hil.dbc`. Of a given one the messages count whose signals are
        called like variables: those with outputs are sent, those with inputs are received.
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
        return _attachment(channel, database, inputs, outputs, step, timeout)

    return make


def database_text(fmu: Fmu, scenario: Scenario | None, step: float) -> str:
    """The database that is made for a run: inputs that the scenario does not drive, and all outputs."""
    return generate(fmu.description.modelName, *_on_the_bus(fmu, scenario), step)


def _on_the_bus(fmu: Fmu, scenario: Scenario | None) -> tuple[list[Variable], tuple[Variable, ...]]:
    driven = scenario.inputs if scenario else {}
    return [v for v in fmu.interface.select("input") if v.name not in driven], fmu.interface.select("output")


def _attachment(channel: str, database: Database, inputs: list[Variable], outputs: tuple[Variable, ...],
                step: float, timeout: float) -> Attachment:  # fmt: skip
    names = {signal_name(v.name): v.name for v in (*inputs, *outputs)}
    taken = [m for m in database.messages if any(signal_name(v.name) in m.signal_tree for v in inputs)]
    given = [m for m in database.messages if any(signal_name(v.name) in m.signal_tree for v in outputs)]
    for message in (*taken, *given):
        require_usable(message)
    if not taken and not given:
        known = ", ".join(names)
        raise InputError("--dbc", "signals", None, f"none is called like a variable of the unit: {known}")
    arriving = {names[s.name] for m in taken for s in m.signals if s.name in names}
    quanta = {q.name: q.step for m in (*taken, *given) for q in quantum(m, names)}
    switched = tuple(
        Fault(name=f"{kind} messages", kind=kind, start=NEVER, duration=step,
              value=2.0 * timeout if kind == "delay" else None)
        for kind in MESSAGE_FAULTS
    )  # fmt: skip
    nodes: list[Node] = []
    overdue, scheduler = [0], ["the default"]

    @contextmanager
    def prepare(running: Running) -> Iterator[None]:
        every = cycle_time(step)
        faults = [f for f in running.faults if f.kind in MESSAGE_FAULTS]
        places = {v.name: v.index for v in running.inputs}
        offset = 1 + len(running.inputs)
        finished = threading.Event()

        def present() -> float:
            return float(running.loop.latest()[0]) * step

        def values(fallen: bool = False) -> dict[str, float]:
            row = running.loop.latest()[offset:]
            if fallen:
                row = np.where(np.isnan(running.y_fallback), row, running.y_fallback)
            return {v.name: float(row[v.index]) for v in running.outputs}

        def receive() -> None:
            while not finished.is_set():
                for name, value in node.receive(0.05).items():
                    if name in arriving:
                        running.loop.command(Command.SET_BUS, places[name], value, time.monotonic_ns())

        def send() -> None:
            sent, heard = -every, float("inf")
            while not finished.is_set():
                ready, _, _ = select.select([running.loop.wake_handle], [], [], 0.02)
                if ready:
                    os.eventfd_read(running.loop.wake_handle)
                    k, heard = int(running.loop.latest()[0]), time.monotonic()
                    if k >= sent + every and running.loop.state is Ending.RUNNING:
                        sent = k
                        node.send(values())
                elif time.monotonic() - heard > timeout and running.loop.state is Ending.RUNNING:
                    overdue[0] += 1
                    node.send(values(fallen=True))
                node.flush()

        def guarded(work: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                if running.loop.settings.priority > 0:
                    scheduler[0] = take_fifo(BUS_PRIORITY)
                try:
                    work()
                except BUS_ERRORS as error:
                    if not finished.is_set():
                        running.stop(f"the bus {channel} is gone: {error}")

            return run

        bus = open_bus(channel)
        node = Node(bus, given, taken, names, faults, present)
        nodes.append(node)
        running.switches.update({f.name: partial(node.switch, f.name) for f in faults})
        threads = [threading.Thread(target=guarded(work), daemon=True) for work in (receive, send)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            finished.set()
            for thread in threads:
                thread.join()
            try:
                for _ in range(3):
                    node.send(values())
            except BUS_ERRORS:
                pass  # said before
            bus.shutdown()

    def figures() -> dict[str, Any]:
        about = {"channel": channel, "timeout_s": timeout, "quanta": quanta, "from_bus": sorted(arriving),
                 "overdue": overdue[0], "scheduler": scheduler[0]}  # fmt: skip
        return about | (nodes[0].figures() if nodes else {})

    return Attachment(
        "can", {name: Input(timeout=timeout) for name in sorted(arriving)}, True, prepare, figures, switched
    )
