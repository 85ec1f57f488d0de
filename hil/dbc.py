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

A variable with a range takes 16 bits over it, a truth value 8 bits, any other a float of 32 bits. The cycle time is
the step, or the smallest multiple of it of at least 1 ms. A signal is called like its variable, with what C allows in
names.
"""

import re
from collections.abc import Sequence

import cantools
from cantools.database.can import Database

from rtcvt.model import Variable

__all__ = ["FROM_RIG", "TO_RIG", "cycle_time", "generate", "parse", "signal_name"]

FROM_RIG, TO_RIG = 0x200, 0x100  # identifiers count up from here
RIG, OTHER = "RIG", "ECU"
PAYLOAD_BITS, FIRST_BIT = 48, 16
STEPS = 2**16 - 1


def signal_name(variable: str) -> str:
    """What a variable is called on the bus."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", variable)
    return name if name[:1].isalpha() else f"v_{name}"


def cycle_time(step: float) -> int:
    """Steps between two sendings of a message."""
    return max(1, -(-1_000_000 // max(round(step * 1e9), 1)))


def generate(name: str, inputs: Sequence[Variable], outputs: Sequence[Variable], step: float) -> str:
    """Text of the database.

    Parameters
    ----------
    name : str
        Of the unit.
    inputs, outputs : sequence of Variable
        Those on the bus.
    step : float
        Of the rig [s].
    """
    unit = signal_name(name)
    messages = [
        *_messages(f"{unit}_out", FROM_RIG, outputs, RIG, OTHER),
        *_messages(f"{unit}_in", TO_RIG, inputs, OTHER, RIG),
    ]
    cycle = round(step * cycle_time(step) * 1e3)
    types = [f"SIG_VALTYPE_ {identifier} {signal} : 1;" for identifier, _, floats in messages for signal in floats]
    comments = [
        f'CM_ SG_ {identifier} {signal_name(v.name)} "{_plain(v.name)}: {_plain(v.description)}";'
        for first, variables in ((FROM_RIG, outputs), (TO_RIG, inputs))
        for identifier, group in enumerate(_groups(variables), start=first)
        for v in group
    ]
    return "\n".join(
        [
            'VERSION ""',
            "NS_ :",
            "BS_:",
            f"BU_: {RIG} {OTHER}",
            *(text for _, text, _ in messages),
            *comments,
            'BA_DEF_ BO_ "GenMsgCycleTime" INT 0 65535;',
            'BA_DEF_DEF_ "GenMsgCycleTime" 0;',
            *(f'BA_ "GenMsgCycleTime" BO_ {identifier} {cycle};' for identifier, *_ in messages),
            *types,
            "",
        ]
    )


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
    name: str, first: int, variables: Sequence[Variable], sender: str, receiver: str
) -> list[tuple[int, str, list[str]]]:
    """Identifier, text and signals of type float of each message."""
    found = []
    for place, group in enumerate(_groups(variables)):
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
            numbers = f"({scale!r},{offset!r}) [{low!r}|{high!r}]"
            lines.append(f' SG_ {signal} : {bit}|{_bits(v)}@1{sign} {numbers} "{unit}" {receiver}')
            bit += _bits(v)
        found.append((first + place, "\n".join(lines), floats))
    return found


def _plain(text: str) -> str:
    return re.sub(r'["\\\n;]', " ", text)
