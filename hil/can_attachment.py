"""The rig's side of a CAN bus: outputs go out after the steps, inputs come in, each in a thread of its own.

Inputs that the scenario drives stay its own; all others come from the bus. Until the first message, and when none was
taken for the time-out, an input has its fall-back: the loop in C sees to that, whatever becomes of these threads. At
the end the fall-back outputs are sent three times, so that the other side has them even if a message gets lost.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cantools
from cantools.database.can import Database

from hil.bus import BUS_ERRORS, Node, open_bus, quantum
from hil.dbc import cycle_time, generate, parse, signal_name
from hil.importer import Fmu
from hil.loop import Command, Ending, Input
from hil.rig import Attachment, Running
from rtcvt.errors import InputError
from rtcvt.model import Variable
from rtcvt.recording import replaced_on_success
from rtcvt.unitfile import Scenario

__all__ = ["TIMEOUT", "can_attachment", "read_database"]

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
        inputs = [v for v in fmu.interface.select("input") if v.name not in (scenario.inputs if scenario else {})]
        outputs = fmu.interface.select("output")
        text = generate(fmu.description.modelName, inputs, outputs, step)
        database = parse(text) if dbc is None else read_database(dbc)
        if save is not None:
            with replaced_on_success(save) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return _attachment(channel, database, inputs, outputs, step, timeout)

    return make


def _attachment(channel: str, database: Database, inputs: list[Variable], outputs: tuple[Variable, ...],
                step: float, timeout: float) -> Attachment:  # fmt: skip
    names = {signal_name(v.name): v.name for v in (*inputs, *outputs)}
    taken = [m for m in database.messages if any(signal_name(v.name) in m.signal_tree for v in inputs)]
    given = [m for m in database.messages if any(signal_name(v.name) in m.signal_tree for v in outputs)]
    if not taken and not given:
        known = ", ".join(names)
        raise InputError("--dbc", "signals", None, f"none is called like a variable of the unit: {known}")
    arriving = {names[s.name] for m in taken for s in m.signals if s.name in names}
    quanta = {q.name: q.step for m in (*taken, *given) for q in quantum(m, names)}
    nodes: list[Node] = []

    @contextmanager
    def prepare(running: Running) -> Iterator[None]:
        every = cycle_time(step)
        faults = [f for f in running.faults if f.kind in MESSAGE_FAULTS]
        places = {v.name: v.index for v in running.inputs}
        offset = 1 + len(running.inputs)
        finished = threading.Event()

        def present() -> float:
            return float(running.loop.latest()[0]) * step

        def values() -> dict[str, float]:
            row = running.loop.latest()
            return {v.name: float(row[offset + v.index]) for v in running.outputs}

        def receive() -> None:
            while not finished.is_set():
                for name, value in node.receive(0.05).items():
                    if name in arriving:
                        running.loop.command(Command.SET_BUS, places[name], value, time.monotonic_ns())

        def send() -> None:
            sent = -every
            while not finished.is_set():
                ready, _, _ = select.select([running.loop.wake_handle], [], [], 0.02)
                if ready:
                    os.eventfd_read(running.loop.wake_handle)
                    k = int(running.loop.latest()[0])
                    if k >= sent + every and running.loop.state is Ending.RUNNING:
                        sent = k
                        node.send(values())
                node.flush()

        def guarded(work: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                try:
                    work()
                except BUS_ERRORS as error:
                    if not finished.is_set():
                        running.stop(f"the bus {channel} is gone: {error}")

            return run

        bus = open_bus(channel)
        node = Node(bus, given, taken, names, faults, present)
        nodes.append(node)
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
        about = {"channel": channel, "timeout_s": timeout, "quanta": quanta, "from_bus": sorted(arriving)}
        return about | (nodes[0].figures() if nodes else {})

    return Attachment("can", {name: Input(timeout=timeout) for name in sorted(arriving)}, True, prepare, figures)
