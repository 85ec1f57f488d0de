"""A CAN database for any unit, from its variable table.

The rig sends the unit's outputs and receives its inputs, in messages of 8 bytes:

=======  ===========  ==============================================================================
byte     signal       meaning
=======  ===========  ==============================================================================
0        CRC          CRC-8 SAE J1850 of the identifier (low byte, high byte) and bytes 1 to 7
1, low   Alive        0, 1 ... 14, 0 ...: one more in each message; 15 is never sent
1, high  Echo         `Alive` of the last good message that the sender got from the other side, or 15
2 to 7   by variable  see below
=======  ===========  ==============================================================================

One more message is the watchdog's: ``rig_heartbeat``, the steps made, of which the low 16 bits, and ``rig_state``, see
`STATES`. The heartbeat goes on only while steps are made in time, whatever else is sent.

A tunable parameter has a message of its own, which the other side sends when it wants another value.

A variable with a range takes 16 bits over it, a truth value 8 bits, any other a float of 32 bits. The cycle time is
the step, or the smallest multiple of it of at least 1 ms. A signal is called like its variable, with what C allows in
names.
"""

import re
from collections.abc import Sequence

import cantools
import numpy as np
from cantools.database.can import Database, Message

from rtcvt.model import Variable

__all__ = [
    "BITRATE",
    "FALLEN",
    "FROM_RIG",
    "HEARTBEAT",
    "MOST_LOAD",
    "OVER",
    "PARAMETERS",
    "RUNNING",
    "STATE",
    "TO_RIG",
    "WATCHDOG",
    "cycle_time",
    "generate",
    "load",
    "parse",
    "signal_name",
]

FROM_RIG, TO_RIG, PARAMETERS = 0x200, 0x100, 0x400  # identifiers count up from here
WATCHDOG = FROM_RIG - 1  # before all outputs
HEARTBEAT, STATE = "rig.heartbeat", "rig.state"
STATES = RUNNING, FALLEN, OVER = 1, 2, 3  # steps are made; outputs at their fall-back since a step is overdue; ended
RIG, OTHER = "RIG", "ECU"
PAYLOAD_BITS, FIRST_BIT = 48, 16
STEPS = 2**16 - 1
BITRATE = 500e3  # [bit/s] of a bus that says nothing else
MOST_LOAD = 0.7  # above which messages of low priority come late
LARGEST = float(np.finfo(np.float32).max)


def signal_name(variable: str) -> str:
    """What a variable is called on the bus."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", variable)
    return name if name[:1].isalpha() else f"v_{name}"


def cycle_time(step: float) -> int:
    """Steps between two sendings of a message."""
    return max(1, -(-1_000_000 // max(round(step * 1e9), 1)))


def generate(
    name: str,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    step: float,
    parameters: Sequence[Variable] = (),
) -> str:
    """Text of the database.

    Parameters
    ----------
    name : str
        Of the unit.
    inputs, outputs : sequence of Variable
        Those on the bus.
    step : float
        Of the rig [s].
    parameters : sequence of Variable
        Those that the other side may change.
    """
    unit = signal_name(name)
    messages = [
        (WATCHDOG, _watchdog(unit), []),
        *_messages(f"{unit}_out", FROM_RIG, _groups(outputs), RIG, OTHER),
        *_messages(f"{unit}_in", TO_RIG, _groups(inputs), OTHER, RIG),
        *_messages(f"{unit}_parameter", PARAMETERS, [[v] for v in parameters], OTHER, RIG),
    ]
    cycle = round(step * cycle_time(step) * 1e3)
    types = [f"SIG_VALTYPE_ {identifier} {signal} : 1;" for identifier, _, floats in messages for signal in floats]
    comments = [
        f'CM_ SG_ {identifier} {signal_name(v.name)} "{_plain(v.name)}: {_plain(v.description)}";'
        for first, groups in (
            (FROM_RIG, _groups(outputs)),
            (TO_RIG, _groups(inputs)),
            (PARAMETERS, [[v] for v in parameters]),
        )
        for identifier, group in enumerate(groups, start=first)
        for v in group
    ]
    return "\n".join(
        [
            'VERSION ""',
            "NS_ :",
            "BS_:",
            f"BU_: {RIG} {OTHER}",
            *(text for _, text, _ in messages),
            *(f'CM_ BO_ {identifier} "{_purpose(identifier)}";' for identifier, *_ in messages),
            *comments,
            'BA_DEF_ BO_ "GenMsgCycleTime" INT 0 65535;',
            'BA_DEF_DEF_ "GenMsgCycleTime" 0;',
            *(f'BA_ "GenMsgCycleTime" BO_ {i} {cycle if i < PARAMETERS else 0};' for i, *_ in messages),
            *types,
            "",
        ]
    )


def load(taken: Sequence[Message], given: Sequence[Message], step: float, bitrate: float = BITRATE) -> float:
    """Share of the bus's time that messages take, with as many stuffed bits as there may be.

    A frame of n bytes has g + 8 n + 13 + floor((g + 8 n - 1)/4) bits, g = 34, with 29 bits of identifier 54 (Davis et
    al. 2007, Controller Area Network schedulability analysis, eq. (2)).

    Parameters
    ----------
    taken, given : sequence of Message
        Those that are received, each at its cycle time, or in each cycle of the rig if it has none; and those that the
        rig sends in each of its cycles.
    step : float
        Of the rig [s].
    bitrate : float
        Of the bus [bit/s].
    """
    own = step * cycle_time(step)
    cycles = [(m, own) for m in given]
    cycles += [(m, 1e-3 * m.cycle_time if m.cycle_time else own) for m in taken]
    bits = 0.0
    for message, cycle in cycles:
        stuffed = (54 if message.is_extended_frame else 34) + 8 * message.length
        bits += (stuffed + 13 + (stuffed - 1) // 4) / cycle
    return bits / bitrate


def parse(text: str) -> Database:
    """The database of a text."""
    return cantools.database.load_string(text, "dbc")  # type: ignore[return-value]


def _groups(variables: Sequence[Variable]) -> list[list[Variable]]:
    """Variables message by message."""
    groups: list[list[Variable]] = []
    left = 0
    for v in variables:
        if _bits(v) > left:
            groups.append([])
            left = PAYLOAD_BITS
        groups[-1].append(v)
        left -= _bits(v)
    return groups


def _bits(v: Variable) -> int:
    return 8 if v.boolean else 16 if _ranged(v) else 32


def _ranged(v: Variable) -> bool:
    return v.minimum is not None and v.maximum is not None and v.minimum < v.maximum


def _messages(
    name: str, first: int, groups: Sequence[Sequence[Variable]], sender: str, receiver: str
) -> list[tuple[int, str, list[str]]]:
    """Identifier, text and signals of type float of each message."""
    found = []
    for place, group in enumerate(groups):
        lines = [f"BO_ {first + place} {name}_{place}: 8 {sender}"]
        lines.append(f' SG_ CRC : 0|8@1+ (1,0) [0|255] "" {receiver}')
        lines.append(f' SG_ Alive : 8|4@1+ (1,0) [0|14] "" {receiver}')
        lines.append(f' SG_ Echo : 12|4@1+ (1,0) [0|15] "" {receiver}')
        bit, floats = FIRST_BIT, []
        for v in group:
            signal, unit = signal_name(v.name), _plain("" if v.unit == "1" else v.unit)
            low, high, scale, offset, sign = 0.0, 0.0, 1.0, 0.0, "+"
            if v.boolean:
                high = 1.0
            elif _ranged(v):
                low, high = float(v.minimum or 0.0), float(v.maximum or 0.0)
                scale, offset = (high - low) / STEPS, low
            else:
                sign = "-"
                floats.append(signal)
                if (v.minimum, v.maximum) != (None, None):
                    low = -LARGEST if v.minimum is None else float(v.minimum)
                    high = LARGEST if v.maximum is None else float(v.maximum)
            numbers = f"({scale!r},{offset!r}) [{low!r}|{high!r}]"
            lines.append(f' SG_ {signal} : {bit}|{_bits(v)}@1{sign} {numbers} "{unit}" {receiver}')
            bit += _bits(v)
        found.append((first + place, "\n".join(lines), floats))
    return found


def _watchdog(unit: str) -> str:
    lines = [
        f"BO_ {WATCHDOG} {unit}_watchdog: 8 {RIG}",
        f' SG_ CRC : 0|8@1+ (1,0) [0|255] "" {OTHER}',
        f' SG_ Alive : 8|4@1+ (1,0) [0|14] "" {OTHER}',
        f' SG_ {signal_name(HEARTBEAT)} : 16|16@1+ (1,0) [0|65535] "" {OTHER}',
        f' SG_ {signal_name(STATE)} : 32|8@1+ (1,0) [0|{OVER}] "" {OTHER}',
    ]
    return "\n".join(lines)


def _purpose(identifier: int) -> str:
    """What a message of the generated database is for."""
    if identifier == WATCHDOG:
        return "heartbeat and state of the rig"
    if identifier >= PARAMETERS:
        return "a tunable parameter, sent when it is to change"
    return "outputs of the unit, in each cycle" if identifier >= FROM_RIG else "inputs of the unit, in each cycle"


def _plain(text: str) -> str:
    return re.sub(r'["\\\n;]', " ", text)
