"""A unit of FMI 3.0 as a node of a CAN network: FMI-LS-BUS 1.0.0 (Modelica Association, 2024), network abstraction.

Messages of a database become tables of frames for ``bus.c``. The unit has a bus terminal with ``Rx_Data`` and
``Tx_Data`` (operations of the standard in binary variables), a triggered ``Rx_Clock`` and a constant ``Tx_Clock``, and
a parameter ``BusNotifications``. What is sent does not depend on what arrives at the same time. Inputs in messages
become local variables, which no host sets during a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from rtcvt.model import Variable

HEARTBEAT, STATE = "\0heartbeat", "\0state"  # variables of the node itself
FOLDER = "extra/org.fmi-standard.fmi-ls-bus"
MIME = 'application/org.fmi-standard.fmi-ls-bus.can; version="1.0.0"'
MOST_RECEIVED, MOST_REPLIES = 8192, 2048  # [bytes] at one tick
ABOUT = {  # rows of a network: kind and description by member of its terminal
    "Rx_Clock": ("rx_clock", "ticks when operations of the network arrive"),
    "Rx_Data": ("rx_data", "operations of the network"),
    "Tx_Clock": ("tx_clock", "ticks when messages may be due"),
    "Tx_Data": ("tx_data", "operations of this node"),
    "BusNotifications": ("notifications", "the network confirms frames and tells errors and lost arbitrations"),
}
Bits = tuple[int, int, bool]  # start, length, whether it is of Motorola's order
NO_BITS: Bits = (0, 0, False)


@dataclass(frozen=True)
class Carried:
    """A signal that is a variable; see ``bus.h``, whose fields these are."""

    bits: Bits
    is_signed: bool
    is_float: bool
    scale: float
    offset: float
    factor: float
    shift: float
    low: float
    high: float
    margin: float
    variable: str
    numbers: tuple[float, ...] = ()
    items: bool = False


@dataclass(frozen=True)
class Frame:
    """A message, in one setting of its multiplexers; see ``bus.h``."""

    id: int
    extended: bool
    fd: bool
    size: int
    length: int
    message: int
    every: int
    crc: int
    alive: Bits
    echo: Bits
    carried: tuple[Carried, ...]
    mask: bytes
    data: bytes


@dataclass(frozen=True)
class Bus:
    """A network: its name, frames, interval of ticks [s], bit rates without and with CAN FD [bit/s], 0 of none, inputs
    that come from it, and the text of its database."""

    name: str
    sent: tuple[Frame, ...]
    received: tuple[Frame, ...]
    interval: float
    bitrates: tuple[int, int]
    inputs: frozenset[str]
    text: bytes

    @property
    def most_sent(self) -> int:
        """Bytes of all operations of one tick, at most."""
        return -(-(64 + MOST_REPLIES + sum(17 + f.size for f in self.sent)) // 8) * 8

    def rows(self) -> list[tuple[str, Variable]]:
        """Kind and row of the variables of its terminal."""
        starts = {"Tx_Clock": self.interval, "BusNotifications": 0.0}
        return [(kind, Variable(f"{self.name}.{member}", "state", 0, "s", text, start=starts.get(member)))
                for member, (kind, text) in ABOUT.items()]  # fmt: skip


def bus_tables(bus: Bus, rows: Sequence[tuple[str, Variable]]) -> str:
    """What ``model.c`` has for ``bus.c``; `rows` are all variables of the unit."""
    places = {v.name: k for k, (_, v) in enumerate(rows)} | {HEARTBEAT: len(rows), STATE: len(rows) + 1}
    frames = (*bus.sent, *bus.received)
    carried = [c for f in frames for c in f.carried]
    numbers = [x for c in carried for x in c.numbers]
    sizes = {"N_SENT": len(bus.sent), "N_RECEIVED": len(bus.received), "N_MESSAGES": max(f.message for f in frames) + 1,
             "MOST_RECEIVED": MOST_RECEIVED, "MOST_SENT": bus.most_sent, "MOST_REPLIES": MOST_REPLIES,
             "BITRATE": bus.bitrates[0], "BITRATE_FD": bus.bitrates[1]}  # fmt: skip
    lines = [f"enum {{ {', '.join(f'{name} = {n}' for name, n in sizes.items())} }};", '#include "bus.h"', ""]
    lines += [f"static const double TX_INTERVAL = {_c(bus.interval)}; /* [s] */"]
    lines += [f"static const double NUMBERS[] = {_c((*numbers, 0.0))};", "static const Carried CARRIED[] = {"]
    first = 0
    for c in carried:
        given = {f.name: getattr(c, f.name) for f in fields(c)}
        given |= {"variable": places[c.variable], "numbers": first, "items": len(c.numbers)}
        lines.append(f"    {_c((*given.values(), c.items))},")
        first += len(c.numbers)
    lines += ["    {.factor = 1.0},", "};"]
    first = 0
    for name, group in (("SENT", bus.sent), ("RECEIVED", bus.received)):
        lines.append(f"static const Frame {name}[] = {{")
        for f in group:
            given = {x.name: getattr(f, x.name) for x in fields(f)} | {"carried": first}
            text = [_c(x) for key, x in given.items() for x in ((x, len(f.carried)) if key == "carried" else (x,))]
            lines.append(f"    {{{', '.join(text)}}},")
            first += len(f.carried)
        lines += ["    {.id = 0},", "};"]
    return "\n".join([*lines, ""])


def _c(value: object) -> str:
    """A value as C has it."""
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).replace("inf", "INFINITY")
    assert isinstance(value, tuple | bytes)
    return f"{{{', '.join(map(_c, value))}}}"


def describe(variables: Element, bus: Bus, references: Mapping[str, int]) -> None:
    """Append the variables of the terminal to ``ModelVariables``; `references` by kind of row."""
    for member, (kind, text) in ABOUT.items():
        about = {"name": f"{bus.name}.{member}", "valueReference": str(references[kind]), "description": text}
        if kind == "notifications":
            SubElement(variables, "Boolean", about, causality="parameter", variability="fixed", start="false")
        elif kind.endswith("clock"):
            constant = {"intervalVariability": "constant", "intervalDecimal": repr(bus.interval)}
            SubElement(variables, "Clock", about | {"causality": "input"}
                       | (constant if kind == "tx_clock" else {"intervalVariability": "triggered"}))  # fmt: skip
        else:
            sent = kind == "tx_data"
            data = SubElement(variables, "Binary", about, causality="output" if sent else "input",
                              variability="discrete", initial="calculated" if sent else "exact", mimeType=MIME,
                              clocks=str(references[kind.replace("data", "clock")]),
                              maxSize=str(bus.most_sent if sent else MOST_RECEIVED))  # fmt: skip
            if not sent:
                SubElement(data, "Start", value="")


def add_terminal(listed: Element, bus: Bus) -> None:
    """Append the bus terminal to ``Terminals``."""
    kind = "org.fmi-ls-bus.network-terminal"
    top = SubElement(listed, "Terminal", name=bus.name, terminalKind=kind, matchingRule="org.fmi-ls-bus.transceiver",
                     description=f"CAN network {bus.name}")  # fmt: skip
    for member in ABOUT:
        if member == "BusNotifications":
            top = SubElement(top, "Terminal", name="Configuration", terminalKind=f"{kind}.configuration",
                             matchingRule="bus")  # fmt: skip
        SubElement(top, "TerminalMemberVariable", variableName=f"{bus.name}.{member}", memberName=member,
                   variableKind="signal")  # fmt: skip


def write_manifest(root: Path, bus: Bus) -> None:
    """Write the manifest of the layered standard, and next to the documentation the database."""
    folder = root / FOLDER
    folder.mkdir(parents=True)
    top = Element("fmiLayeredStandardManifest", {
        "xmlns:fmi-ls": "http://fmi-standard.org/fmi-ls-manifest",
        "fmi-ls:fmi-ls-name": "org.fmi-standard.fmi-ls-bus",
        "fmi-ls:fmi-ls-version": "1.0.0",
        "fmi-ls:fmi-ls-description": "Layered Standard for the simulation of bus communication on a Physical Signal "
        "Abstraction or Network Abstraction based level.",
        "isBusSimulationFMU": "false",
    })  # fmt: skip
    ElementTree.ElementTree(top).write(folder / "fmi-ls-manifest.xml", "UTF-8", xml_declaration=True)
    (root / "documentation" / f"{bus.name}.dbc").write_bytes(bus.text)
