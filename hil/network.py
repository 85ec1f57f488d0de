"""A unit's node on a network by FMI-LS-BUS, from the database and by the rules of the rig's bus
(`rtcvt.hil.can_attachment`)."""

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cantools.database.can import Message, Signal

from rtcvt.files import names
from rtcvt.fmu.native import bus as fmi
from rtcvt.hil.bus import Wire, idle, lacking, pages, reach, settings, takes
from rtcvt.hil.can_attachment import OWN, Plan, plan_of, read_database
from rtcvt.hil.dbc import BITRATE, ENCODING, HEARTBEAT, STATE, cycle_time, generate, is_fd, signal_names, size_of
from rtcvt.model import Model
from rtcvt.recording import replaced_on_success

_OF_NODE = {OWN[HEARTBEAT]: fmi.HEARTBEAT, OWN[STATE]: fmi.STATE}


def write_own_database(model: Model, path: Path) -> None:
    """Write the database that the rig would make for a unit (`rtcvt.hil.dbc`); in it the unit is the node ``RIG``."""
    tunable = [v for v in model.select("parameter") if v.tunable]
    text = generate(model.name, model.select("input"), model.select("output"), model.step_size, tunable,
                    signal_names(model.variables))  # fmt: skip
    with replaced_on_success(path) as temporary:
        temporary.write_bytes(text.encode(ENCODING))


def network_of(model: Model, dbc: Path, nodes: Sequence[str] = ()) -> fmi.Bus:
    """The network of a unit, named as its file; notes for the user are logged.

    Parameters
    ----------
    model : Model
        Signals with the names of its variables are used; a message has its cycle time in whole steps.
    dbc : Path
        The database.
    nodes : sequence of str
        Nodes of it that the unit is, see `rtcvt.hil.can_attachment.can_attachment`.

    Raises
    ------
    InputError
        The database cannot be used.
    """
    database = read_database(dbc)
    called = signal_names(model.variables)
    tunable = [v for v in model.select("parameter") if v.tunable]
    shown = {called[v.name]: v for v in model.variables}
    inputs, outputs, step = model.select("input"), model.select("output"), model.step_size
    plan = plan_of(database, called, inputs, outputs, tunable, step, nodes, shown, source=str(dbc))
    tick = math.gcd(*plan.every.values()) or cycle_time(step)
    received = [*plan.taken, *plan.rare]
    numbers = {m.frame_id: k for k, m in enumerate([*plan.given, *received])}
    sent = [f for m in plan.given for f in _sent(m, plan, numbers[m.frame_id], plan.every[m.frame_id] // tick)]
    taken = [f for m in received for f in _received(m, plan, numbers[m.frame_id])]
    said = {} if database.dbc is None else database.dbc.attributes
    rates = [int(said[key].value) if key in said and said[key].value else int(BITRATE)
             for key in ("Baudrate", "BaudrateCANFD")]  # fmt: skip
    fd = any(map(is_fd, (*plan.given, *received)))
    name = names.mapped([dbc.stem], "identifier")[dbc.stem]
    for note in plan.notes:
        logging.getLogger(__name__).warning(note)
    return fmi.Bus(name, tuple(sent), tuple(taken), tick * step, (rates[0], rates[1] if fd else 0),
                   frozenset(plan.arriving), dbc.read_bytes())  # fmt: skip


def _sent(message: Message, plan: Plan, number: int, every: int) -> list[fmi.Frame]:
    found = []
    for setting, there in pages(message, {s.name for s in message.signals} & set(plan.shown)):
        signals = [s for s in message.signals if s.name in there]
        data: dict[str, Any] = {s.name: idle(s) for s in signals}
        carried = []
        for s in signals:
            if s.name in plan.shown and s.name not in setting:
                wire = plan.wires.get((message.frame_id, s.name), Wire())
                name = plan.shown[s.name]
                carried.append(_carried(s, wire, *reach(s), 0.0, _OF_NODE.get(name, name)))
        template = bytes(message.encode(data | setting, strict=False))
        found.append(_frame(message, number, every, carried, b"", template))
    return found


def _received(message: Message, plan: Plan, number: int) -> list[fmi.Frame]:
    wanted = {*plan.arriving, *plan.tunable}
    found = []
    for setting, there in settings(message.signal_tree):
        carried = []
        for s in message.signals:
            if s.name not in there or plan.names.get(s.name) not in wanted:
                continue
            wire, low, high, half = takes(message, s, plan.wires)
            raws = [float(raw) for raw in s.choices or () if not s.is_float]
            values = [wire.factor * (raw * float(s.conversion.scale) + float(s.conversion.offset)) + wire.offset
                      for raw in raws]  # fmt: skip
            none = [raw for raw, x in zip(raws, values, strict=True)
                    if lacking(s, raw, not low - half <= x <= high + half)]  # fmt: skip
            listed = tuple(sorted(wire.items) if wire.items else none)
            carried.append(_carried(s, wire, low, high, half, plan.names[s.name], listed, bool(wire.items)))
        mask, data = bytearray(message.length), bytearray(message.length)
        for name, value in setting.items():
            _pack(mask, _bits(message.get_signal_by_name(name)), -1)
            _pack(data, _bits(message.get_signal_by_name(name)), value)
        if carried or "Alive" in there:
            found.append(_frame(message, number, 0, carried, bytes(mask), bytes(data)))
    return found


def _frame(
    message: Message, number: int, every: int, carried: Sequence[fmi.Carried], mask: bytes, data: bytes
) -> fmi.Frame:
    own: Mapping[str, Signal] = {s.name: s for s in message.signals}
    alive, echo = (_bits(own[name]) if name in own else fmi.NO_BITS for name in ("Alive", "Echo"))
    crc = own["CRC"].start // 8 if "CRC" in own else -1
    return fmi.Frame(message.frame_id, message.is_extended_frame, is_fd(message), size_of(message), message.length,
                     number, every, crc, alive, echo, tuple(carried), mask or b"\0", data or b"\0")  # fmt: skip


def _carried(
    s: Signal, wire: Wire, low: float, high: float, half: float, name: str, listed: tuple[float, ...] = (),
    items: bool = False,
) -> fmi.Carried:  # fmt: skip
    scale, offset = float(s.conversion.scale), float(s.conversion.offset)
    return fmi.Carried(_bits(s), s.is_signed and not s.is_float, s.is_float, scale, offset, float(wire.factor),
                       float(wire.offset), float(low), float(high), float(half), name, listed, items)  # fmt: skip


def _bits(signal: Signal) -> fmi.Bits:
    return signal.start, signal.length, signal.byte_order == "big_endian"


def _pack(data: bytearray, bits: fmi.Bits, raw: int) -> None:
    """Write a number as ``pack`` of ``bus.c`` does."""
    start, length, motorola = bits
    for k in range(length):
        n = 8 * (start // 8) + 7 - start % 8 + length - 1 - k
        at = 8 * (n // 8) + 7 - n % 8 if motorola else start + k
        data[at // 8] = data[at // 8] & ~(1 << at % 8) | (raw >> k & 1) << at % 8
