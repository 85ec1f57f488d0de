"""The rig's side of a CAN bus: outputs go out after the steps, inputs come in, each in a thread of its own.

Of a given database the unit's part is used: signals are found by the names of variables (`rtcvt.files.names`), values
are converted between the two units, and the rig sends only messages of its own node. Other signals in them are sent
unchanged. Each message has the cycle time of its database, or the requested one, in whole steps. Unexpected conditions
are listed in notes.

The scenario's inputs stay its own; all others come from the bus. Until the first message, and when none was accepted
for the time-out, an input has its fall-back value: the loop in C does this, independent of these threads. While a step
takes longer than the time-out the fall-back outputs are sent instead. At the end they are sent three times, in case a
message gets lost. A watchdog's heartbeat (`rtcvt.hil.dbc`) increases only while steps are made. A tunable parameter
changes with each message that has it; a value out of its range is refused and counted. The threads have the real-time
scheduler where permitted.
"""

import logging
import os
import re
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import cantools
import numpy as np
from cantools.database.can import Database, Message, Signal

from rtcvt.errors import AsInputError, InputError, near
from rtcvt.files import names, read_text, require_regular
from rtcvt.hil.bus import BUS_ERRORS, Node, Wire, idle, open_bus, pages, quantum, reach, require_usable
from rtcvt.hil.cosimulation import listed
from rtcvt.hil.dbc import (
    ENCODING,
    FALLEN,
    HEARTBEAT,
    MOST_LOAD,
    OVER,
    RIG,
    RUNNING,
    STATE,
    cycle_of,
    generate,
    is_fd,
    load,
    parse,
    signal_names,
)
from rtcvt.hil.importer import Fmu
from rtcvt.hil.loop import Command, Ending, Input
from rtcvt.hil.pacing import BUS_PRIORITY, in_threads, take_fifo
from rtcvt.hil.rig import NEVER, Attachment, Running
from rtcvt.model import Variable
from rtcvt.quantity import conversion, known_unit
from rtcvt.recording import replaced_on_success
from rtcvt.scenario import MESSAGE_FAULTS, Fault, Scenario

TIMEOUT = 0.1  # [s]
OWN = {signal: f"\0{signal}" for signal in (HEARTBEAT, STATE)}  # variables of the rig, with names that no unit has
STATEMENTS = ("BO_", "CM_", "BA_", "VAL_", "SIG_", "EV_", "BS_", "BU_", "NS_", "SGTYPE_", "ENVVAR_")  # of a DBC file
MOST_LEFT_OUT = 50  # statements


def read_database(path: Path) -> Database:
    """A database from a file.

    Raises
    ------
    InputError
        There is none, or it cannot be read.
    """
    with AsInputError(InputError, "--dbc", "", str(path), lambda e: e.parts[3]):
        require_regular(path)
    with AsInputError(
        Exception, "--dbc", "", str(path), lambda e: f"a CAN database that cantools reads: {e}", passing=InputError
    ):  # cantools raises many kinds
        if path.suffix.lower() in (".kcd", ".arxml", ".sym", ".cdd"):
            found = cantools.database.load_file(path, strict=False)
        else:
            found = _parsed(read_text(path, foreign=True))
    if not isinstance(found, Database):
        raise InputError("--dbc", "", str(path), "a database of CAN messages")
    return found


def _parsed(text: str) -> Any:
    """The database of a text. Statements that cantools cannot read are left out, a message with its signals."""
    lines, left_out = text.splitlines(), 0
    while True:
        try:
            return parse("\n".join(lines))
        except cantools.Error as error:
            found = re.search(r"Invalid syntax at line (\d+)", str(error))
            if found is None or left_out == MOST_LEFT_OUT:
                raise
            last = first = min(int(found[1]), len(lines)) - 1
            while first and not lines[first].startswith(STATEMENTS):
                first -= 1
            while last + 1 < len(lines) and not lines[last + 1].startswith(STATEMENTS):
                last += 1
            if first <= 0:
                raise
            logging.getLogger(__name__).warning("left out of the database, since it cannot be read: %s", lines[first])
            lines[first : last + 1] = [""] * (last + 1 - first)
            left_out += 1


def can_attachment(
    channel: str,
    dbc: Path | None = None,
    timeout: float = TIMEOUT,
    save: Path | None = None,
    nodes: Sequence[str] = (),
    send: Mapping[str, float | None] | None = None,
) -> Callable[[Fmu, Scenario | None, float], Attachment]:
    """Return the function that makes the attachment for a run.

    Parameters
    ----------
    channel : str
        See `rtcvt.hil.bus.open_bus`.
    dbc : Path, optional
        A database; by default one is generated, see `rtcvt.hil.dbc`. Messages of a given one are used if their signals
        have names of variables: those with outputs are sent, those with inputs are received.
    timeout : float
        Time [s] after which a value from the bus is replaced by the fall-back.
    save : Path, optional
        Where to write the generated database, for the other side.
    nodes : sequence of str
        Nodes of the database whose messages the rig sends; by default ``RIG``, or the only one that sends outputs.
    send : mapping of str to float or None, optional
        Values to send, by default all: outputs, or messages of a given database, by name or pattern (``shaft.*``), and
        their cycle time [s], None for that of the database.
    """

    def make(fmu: Fmu, scenario: Scenario | None, step: float) -> Attachment:
        inputs, outputs = _on_the_bus(fmu, scenario)
        cycles = _chosen(send or {}, [v.name for v in outputs]) if dbc is None else None
        text = database_text(fmu, scenario, step, cycles)
        database = parse(text) if dbc is None else read_database(dbc)
        outputs = tuple(v for v in outputs if cycles is None or v.name in cycles)
        if save is not None:
            with replaced_on_success(save) as temporary:
                temporary.write_bytes(text.encode(ENCODING))
        called = signal_names(fmu.interface.variables)
        constants = fmu.parameter_values({} if scenario is None else fmu.starts(scenario))
        shown = {called[v.name]: v for v in fmu.interface.variables}
        plan = plan_of(database, called, inputs, outputs, _tunable(fmu), step, nodes, shown, send if dbc else None,
                       str(dbc or "--dbc"))  # fmt: skip
        return _attachment(channel, plan, step, timeout, constants)

    return make


def database_text(
    fmu: Fmu, scenario: Scenario | None, step: float, cycles: Mapping[str, float | None] | None = None
) -> str:
    """The database that is made for a run: inputs that the scenario does not drive, outputs, or those with these cycle
    times [s], tunable parameters."""
    called = signal_names(fmu.interface.variables)
    inputs, outputs = _on_the_bus(fmu, scenario)
    leaving = [v for v in outputs if cycles is None or v.name in cycles]
    paces = {name: pace for name, pace in (cycles or {}).items() if pace is not None}
    return generate(fmu.description.modelName, inputs, leaving, step, _tunable(fmu), called, paces)


def _chosen(send: Mapping[str, float | None], known: Sequence[str]) -> dict[str, float | None]:
    """Names that patterns mean, with their cycle times; all of no pattern. Of two for one name the last one is used."""
    found: dict[str, float | None] = {}
    for pattern, cycle in send.items():
        matching = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            raise InputError("--send", "", pattern, f"a name or pattern of a value to send{near(pattern, known)}")
        found |= dict.fromkeys(matching, cycle)
    return found if send else dict.fromkeys(known)


def _tunable(fmu: Fmu) -> tuple[Variable, ...]:
    return tuple(v for v in fmu.interface.select("parameter") if v.tunable)


def _on_the_bus(fmu: Fmu, scenario: Scenario | None) -> tuple[list[Variable], tuple[Variable, ...]]:
    driven = scenario.inputs if scenario else {}
    outputs = tuple(v for v in fmu.interface.select("output") if not v.local)
    return [v for v in fmu.interface.select("input") if v.name not in driven], outputs


@dataclass(frozen=True)
class Plan:
    """Messages of a database by their meaning for the rig."""

    names: Mapping[str, str]  # of variables, by signal
    taken: list[Message]
    rare: list[Message]  # also accepted, but sent only when a parameter is to change
    given: list[Message]
    arriving: list[str]  # inputs
    tunable: list[str]  # parameters that the other side may change
    watched: frozenset[str]  # tunable parameters that are sent
    shown: Mapping[str, str]  # as `names`, of all that is sent
    every: dict[int, int]  # steps between two sendings, by identifier
    quanta: dict[str, float]
    load: float  # of the bus, 1 is all of it
    wires: dict[tuple[int, str], Wire]
    notes: list[str]  # notes for the user


def plan_of(database: Database, called: Mapping[str, str], inputs: Sequence[Variable], outputs: Sequence[Variable],
          parameters: Sequence[Variable], step: float, nodes: Sequence[str],
          shown: Mapping[str, Variable] | None = None,
          send: Mapping[str, float | None] | None = None, source: str = "--dbc") -> Plan:  # fmt: skip
    """Match the messages of a database with variables, check them, and collect notes for the user. `shown`: values that
    may be sent by signal, if there are more; `source` names the database in messages."""
    variables = {called[v.name]: v for v in (*inputs, *outputs, *parameters)}
    shown = {**(shown or {}), **variables}
    found = OWN | {signal: v.name for signal, v in variables.items()}
    received, sent, tuned = ([called[v.name] for v in group] for group in (inputs, outputs, parameters))
    taken, rare, given, notes = _match(database, source, received, sent, tuned, nodes, shown)
    given, asked = _sent(given, {signal: v.name for signal, v in shown.items()}, send)
    used = [*taken, *rare, *(m for m in given if m not in taken)]
    for key, value, allowed in _faults(used, given, found):
        raise InputError(source, key, value, allowed)
    wires, without = _wires(used, shown, {v.name for v in inputs})
    notes += [f"used without conversion, since one side has no unit: {listed(without)}"] * bool(without)
    notes += _empty_ranges(used, found) + names.changed(called, "on the bus") + _unused(database, used)
    arriving = {found[s.name] for m in (*taken, *rare) for s in m.signals if s.name in found}
    arriving -= {v.name for v in outputs} | set(OWN.values())
    quanta = {q.name: q.step for m in used for q in quantum(m, found) if q.name not in OWN.values()}
    tunable = sorted(arriving & {v.name for v in parameters})
    leaving = {s.name for m in given for s in m.signals}
    watched = frozenset(v.name for v in parameters if called[v.name] in leaving)
    inward = sorted(arriving - set(tunable))
    sending = OWN | {signal: v.name for signal, v in shown.items()}
    every = {m.frame_id: max(1, ceil((asked[m.name] or cycle_of(m, step)) / step - 1e-9)) for m in given}
    frames = [(m, every[m.frame_id] * step) for m in given for _ in pages(m, sending)]
    frames += [(m, cycle_of(m, step)) for m in taken]
    notes += _paces(given, every, asked, step) + _idle(given, sending)
    return Plan(found, taken, rare, given, inward, tunable, watched, sending, every, quanta, load(frames), wires, notes)


def _sent(
    given: Sequence[Message], shown: Mapping[str, str], send: Mapping[str, float | None] | None
) -> tuple[list[Message], dict[str, float | None]]:
    """Messages that are to be sent, and their cycle times by name: a message with a variable that is asked for, or that
    is asked for by its own name."""
    if not send:
        return list(given), dict.fromkeys(m.name for m in given)
    own = {m.name: [m.name, *(shown[s.name] for s in m.signals if s.name in shown)] for m in given}
    chosen = _chosen(send, [name for names in own.values() for name in names])
    asked: dict[str, float | None] = {}
    for message, names_of in own.items():
        paces = [chosen[name] for name in names_of if name in chosen]
        if paces:
            asked[message] = min((pace for pace in paces if pace is not None), default=None)
    for m in given:
        if not {s.name for s in m.signals}.isdisjoint(OWN):
            asked.setdefault(m.name, None)  # the watchdog
    return [m for m in given if m.name in asked], asked


def _paces(
    given: Sequence[Message], every: Mapping[int, int], asked: Mapping[str, float | None], step: float
) -> list[str]:
    """Notes on cycle times that are no multiples of the step."""
    kept = {m.name: every[m.frame_id] * step for m in given}
    wanted = {m.name: asked[m.name] or cycle_of(m, step) for m in given}
    return [f"message {name} is sent every {kept[name] * 1e3:g} ms, in whole steps, not every {of * 1e3:g} ms"
            for name, of in wanted.items() if abs(kept[name] - of) > 1e-6 * of]  # fmt: skip


def _idle(given: Sequence[Message], shown: Mapping[str, str]) -> list[str]:
    """A note on signals of sent messages that no variable has."""
    kept = [f"{m.name}.{s.name} = {idle(s):g}" for m in given for s in m.signals
            if s.name not in (*shown, "CRC", "Alive", "Echo") and not s.is_multiplexer]  # fmt: skip
    return [f"sent as start values of the database or 0, since no variable is called so: {listed(kept)}"] * bool(kept)


def _match(
    database: Database,
    source: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    parameters: Sequence[str],
    nodes: Sequence[str],
    shown: Iterable[str],
) -> tuple[list[Message], list[Message], list[Message], list[str]]:
    """Messages that the rig receives, that it receives for parameters alone, and that it sends, by the signals of
    variables, those of its own nodes with any variable among them; and notes on those that have outputs and that
    another node sends."""

    def having(signals: Iterable[str]) -> list[Message]:
        return [m for m in database.messages if not {s.name for s in m.signals}.isdisjoint(signals)]

    def is_own(message: Message) -> bool:
        return not message.senders or bool(own & set(message.senders))

    def is_of_others(message: Message) -> bool:
        return not message.senders or bool(set(message.senders) - own)

    with_inputs, with_outputs = having(inputs), having(outputs)
    if not with_inputs and not with_outputs:
        known, offered = (
            near("", (*inputs, *outputs, *parameters)),
            near("", (s.name for m in database.messages for s in m.signals)),
        )
        allowed = f"a variable of the unit{known}; this database has{offered or ' none'}"
        raise InputError(source, "signals", None, allowed)
    own = _own_nodes(database, with_outputs, with_inputs, nodes)
    taken, given = list(filter(is_of_others, with_inputs)), list(filter(is_own, with_outputs))
    rare = [m for m in having(parameters) if m not in (*with_inputs, *with_outputs) and is_of_others(m)]
    notes = [f"message {m.name} is not sent: it is of {' and '.join(m.senders)} (--node)"
             for m in with_outputs if not is_own(m)]  # fmt: skip
    if not taken and not given:
        raise InputError(source, "senders", None, f"a message for the rig; {'; '.join(notes) or 'it sends all'}")
    given += [m for m in having(shown) if m.senders and m not in (*given, *taken) and is_own(m)]
    given += [m for m in having(OWN) if m not in (*given, *taken) and is_own(m)]
    return taken, rare, given, notes


def _faults(
    used: Sequence[Message], given: Sequence[Message], found: Mapping[str, str]
) -> Iterator[tuple[str, str | None, str]]:
    """Faults of messages that the rig cannot inject: key, value and what is allowed."""
    for message in used:
        require_usable(message)
    for m in given:
        for s in m.signals:
            if s.is_multiplexer and s.name in found:
                yield f"{m.name}.{s.name}", None, "no multiplexer that is an output"
    times = Counter(m.frame_id for m in used)
    if twice := [m.name for m in used if times[m.frame_id] > 1]:
        yield "messages", ", ".join(twice), "an identifier of its own for each that is used"


def _empty_ranges(used: Sequence[Message], found: Mapping[str, str]) -> list[str]:
    """Notes on ranges whose least value is above the largest."""
    return [
        f"the range of {m.name}.{s.name}, {s.minimum:g} to {s.maximum:g}, is empty and not used"
        for m in used for s in m.signals
        if s.name in found and s.minimum is not None and s.maximum is not None and s.minimum > s.maximum
    ]  # fmt: skip


def _own_nodes(
    database: Database, given: Sequence[Message], taken: Sequence[Message], asked: Sequence[str]
) -> set[str]:
    """Nodes of the database that the rig is."""
    known = {n.name for n in database.nodes} | {s for m in database.messages for s in m.senders}
    for name in asked:
        if name not in known:
            raise InputError("--node", "", name, f"a node of the database: {', '.join(sorted(known)) or 'it has none'}")
    if asked or RIG in known:
        return set(asked) or {RIG}
    found = {s for m in given for s in m.senders} - {s for m in taken for s in m.senders}
    if len(found) > 1:
        raise InputError("--node", "", None, f"the node that the rig is: {' or '.join(sorted(found))} send outputs")
    return found


def _wires(
    used: Sequence[Message], variables: Mapping[str, Variable], inputs: set[str]
) -> tuple[dict[tuple[int, str], Wire], list[str]]:
    """By identifier and signal how values are converted and limited, and signals where only one side has a unit."""
    wires, without = {}, []
    for message in used:
        for signal in message.signals:
            v = variables.get(signal.name)
            if v is None:
                continue
            factor, offset = 1.0, 0.0
            low, high = reach(signal)
            if low > high:
                found = f"[{signal.minimum:g}|{signal.maximum:g}]"
                allowed = f"a range that its {signal.length} bits reach"
                raise InputError("--dbc", f"{message.name}.{signal.name}", found, allowed)
            units = _units(signal, v)
            if not (v.boolean or v.choices) and all(units):
                try:
                    factor, offset = conversion(units[0], v.measured)
                except ValueError as error:
                    allowed = f"{error}; the variable {v.name} is in {v.unit}"
                    raise InputError("--dbc", f"{message.name}.{signal.name}", units[0], allowed) from None
            elif not (v.boolean or v.choices) and any(units):
                without.append(f"{signal.name} [{units[0] or 'none'}, {v.name} {units[1] or 'none'}]")
            limited = v.name in inputs
            least, most = v.whole or (-float("inf"), float("inf"))
            low = -float("inf") if not limited else least if v.minimum is None else max(v.minimum, least)
            high = float("inf") if not limited else most if v.maximum is None else min(v.maximum, most)
            items = frozenset(map(float, v.items.values())) if v.choices else frozenset()
            wires[message.frame_id, signal.name] = Wire(factor, offset, low, high, items)
    return wires, without


def _units(signal: Signal, v: Variable) -> tuple[str, str]:
    """Units of a signal and of its variable, empty if there is none; a number without unit may be a count."""
    said = (signal.unit or "").strip()
    if v.unit != "1":
        return said, v.unit
    if said in ("", "1", "-"):
        return "", ""
    with suppress(ValueError):
        known_unit(said)
        return said, "1" if v.defined else ""
    return said, ""


def _unused(database: Database, used: Sequence[Message]) -> list[str]:
    """A note on messages that are odd, if there are any; nobody needs them."""
    odd = []
    for message in (m for m in database.messages if m not in used):
        try:
            message.refresh(strict=True)
        except cantools.Error:
            odd.append(message.name)
    return [f"messages of the database that are odd, and not used: {listed(odd)}"] if odd else []


class _Side:
    """The rig's side of a bus during a run."""

    def __init__(self, channel: str, plan: Plan, running: Running, timeout: float, constants: Mapping[str, float]):
        self._channel, self._plan, self._running = channel, plan, running
        self._timeout, self._constants = timeout, constants
        self._places = {v.name: v.index for v in running.inputs}
        self._parameters = {v.name: k for k, v in enumerate(running.parameters)}
        self._finished = threading.Event()
        self.overdue, self.scheduler, self.refused = 0, "the default", Counter[str]()
        faults = [f for f in running.faults if f.kind in MESSAGE_FAULTS]
        self._bus = open_bus(channel, any(map(is_fd, (*plan.given, *plan.taken, *plan.rare))))
        rare = frozenset(m.frame_id for m in plan.rare)
        taken = [*plan.taken, *plan.rare]
        self._fault_places = {f.name: k for k, f in enumerate(running.faults)}
        self.node = Node(
            self._bus, plan.given, taken, plan.names, faults, self._acting, rare, plan.wires, shown=plan.shown
        )
        running.troubles.append(self._troubles)

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve the bus in threads; on leaving the outputs are sent three times, at their fall-back."""
        try:
            with in_threads([partial(self._guarded, work) for work in (self._receive, self._send)], self._finished):
                yield
        finally:
            with suppress(Exception):  # reported before
                for _ in range(3):
                    self.node.send(self._values())
            self._bus.shutdown()

    def _acting(self, fault: Fault) -> bool:
        return self._running.loop.faults_on[self._fault_places[fault.name]]

    def _values(self, fallen: bool = False) -> dict[str, float]:
        running = self._running
        u, row, p = np.split(running.loop.latest()[1:], np.cumsum([len(running.inputs), len(running.outputs)]))
        if fallen:
            row = np.where(np.isnan(running.y_fallback), row, running.y_fallback)
        state = OVER if running.loop.state is not Ending.RUNNING else FALLEN if fallen else RUNNING
        watchdog = {OWN[HEARTBEAT]: float(running.loop.counters()["made"] % 2**16), OWN[STATE]: float(state)}
        own = dict(self._constants) | {v.name: float(x) for v, x in zip(running.parameters, p, strict=True)}
        own |= {v.name: float(u[v.index]) for v in running.inputs}
        return own | watchdog | {v.name: float(row[v.index]) for v in running.outputs}

    def _receive(self) -> None:
        while not self._finished.is_set():
            for name, value in self.node.receive(0.05).items():
                if name in self._plan.arriving:
                    self._running.loop.command(Command.SET_BUS, self._places[name], value, time.monotonic_ns())
                elif name in self._plan.tunable and not self._running.tune(self._parameters[name], value):
                    self.refused[name] += 1

    def _send(self) -> None:
        running, sent, heard, every = self._running, -1, float("inf"), self._plan.every
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
                due = {i for i, n in every.items() if sent // n < k // n}
                sent = k
                self.node.send(self._values(), due)
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
        except Exception as error:  # a thread reports every error that ends it
            what = f"{work.__name__.strip('_')} failed: {type(error).__name__}: {error}"
            self._running.stop(f"the bus {self._channel}: {what}")

    def _troubles(self) -> dict[str, int]:
        """Troubles for the live page: their numbers by name."""
        unreadable = self.node.counted().get("unreadable", 0)
        return (
            {f"{name} clamped": count for name, count in self.node.clamped.items()}
            | {f"{name} not finite": count for name, count in self.node.not_finite.items()}
            | dict(self.node.held)
            | {f"{name} refused": count for name, count in dict(self.refused).items()}
            | ({"unreadable datagrams": unreadable} if unreadable else {})
        )

    def figures(self) -> dict[str, Any]:
        about = {"overdue": self.overdue, "scheduler": self.scheduler, "refused": dict(self.refused)}
        return about | self.node.figures()


def _attachment(channel: str, plan: Plan, step: float, timeout: float, constants: Mapping[str, float]) -> Attachment:
    switched = tuple(
        Fault(name=f"{kind} messages", kind=kind, start=NEVER, duration=step,
              value=2.0 * timeout if kind == "delay" else None)
        for kind in MESSAGE_FAULTS
    )  # fmt: skip
    sides: list[_Side] = []

    @contextmanager
    def prepare(running: Running) -> Iterator[None]:
        side = _Side(channel, plan, running, timeout, constants)
        sides.append(side)
        with side.served():
            yield

    def figures() -> dict[str, Any]:
        about = {"channel": channel, "timeout_s": timeout, "quanta": plan.quanta, "from_bus": plan.arriving,
                 "tunable": plan.tunable, "load": plan.load, "overloaded": plan.load > MOST_LOAD,
                 "overdue": 0, "scheduler": "the default"}  # fmt: skip
        return about | (sides[0].figures() if sides else {})

    inputs = {name: Input(timeout=timeout) for name in plan.arriving}
    slow = [f"message {m.name} comes every {cycle_of(m, step) * 1e3:g} ms, its inputs fall back after "
            f"{timeout * 1e3:g} ms (--can-timeout)" for m in plan.taken if cycle_of(m, step) >= timeout]  # fmt: skip
    tuned = plan.watched.union(plan.tunable)
    return Attachment("can", inputs, True, prepare, figures, switched, tuned, (*plan.notes, *slow))
