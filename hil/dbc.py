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

One more message is for a watchdog: ``rig_heartbeat``, the low 16 bits of the number of steps, and ``rig_state``, see
`STATES`. The heartbeat increases only while steps are made in time, even if other messages are sent.

A tunable parameter has a message of its own, which the other side sends to change the value.

A variable with a range has 16 bits over it if that is fine enough, see `FINEST`, a Boolean 8 bits, an integer as many
of `WIDTHS` as its range needs, any other a float of 32 bits. The cycle time is the step, or the smallest multiple of it
of at least 1 ms. A signal has the name of its variable, by the rules of `rtcvt.files.names`; names of more than 32
characters are in the attributes for them. The text is in code page 1252, as tools for these files read it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import can.util
import cantools
import numpy as np
from cantools.database.can import Database, Message

from rtcvt.files import names
from rtcvt.model import Variable

FROM_RIG, TO_RIG, PARAMETERS = 0x200, 0x100, 0x400  # identifiers count up from here
WATCHDOG = FROM_RIG - 1  # before all outputs
HEARTBEAT, STATE = "rig_heartbeat", "rig_state"
KEYWORDS = (
    "BA_", "BA_DEF_", "BA_DEF_DEF_", "BA_DEF_DEF_REL_", "BA_DEF_REL_", "BA_DEF_SGTYPE_", "BA_REL_", "BA_SGTYPE_",
    "BO_", "BO_TX_BU_", "BS_", "BU_", "BU_BO_REL_", "BU_EV_REL_", "BU_SG_REL_", "CAT_", "CAT_DEF_", "CM_",
    "ENVVAR_DATA_", "EV_", "EV_DATA_", "FILTER", "NS_", "NS_DESC_", "SG_", "SG_MUL_VAL_", "SGTYPE_", "SGTYPE_VAL_",
    "SIG_GROUP_", "SIG_TYPE_REF_", "SIG_VALTYPE_", "SIGTYPE_VALTYPE_", "VAL_", "VAL_TABLE_", "VERSION",
)  # fmt: skip
RESERVED = ("CRC", "Alive", "Echo", HEARTBEAT, STATE, *KEYWORDS)
STATES = RUNNING, FALLEN, OVER = 1, 2, 3  # steps are made; outputs at their fall-back since a step is overdue; ended
RIG, OTHER = "RIG", "ECU"
PAYLOAD_BITS, FIRST_BIT = 48, 16
STEPS = 2**16 - 1
CLASSIC = 8  # [bytes] of a message without CAN FD
BITRATE = 500e3  # [bit/s] default
MOST_LOAD = 0.7  # load of the bus above which messages of low priority come late
LARGEST, TINY = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)
FINEST, SHARE = 0.1, 1e-3  # a range is sent if its step is below this, or below this share of the nominal value
WIDTHS = (8, 16, 32, PAYLOAD_BITS)  # [bits] of integers
ENCODING = "cp1252"
_LONG = {"SG_": "SystemSignalLongSymbol", "BO_": "SystemMessageLongSymbol"}


def signal_names(variables: Sequence[Variable]) -> dict[str, str]:
    """Names of the variables of a unit on the bus, by name: for all together, so that they are unique."""
    return names.mapped((v.name for v in variables), "identifier", RESERVED)


def cycle_time(step: float) -> int:
    """Steps between two sendings of a message."""
    return max(1, -(-1_000_000 // max(round(step * 1e9), 1)))


def generate(
    name: str,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    step: float,
    parameters: Sequence[Variable] = (),
    called: Mapping[str, str] | None = None,
    cycles: Mapping[str, float] | None = None,
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
    called : mapping of str to str, optional
        `signal_names` of the unit, if it has more variables than these.
    cycles : mapping of str to float, optional
        Cycle time by output [s]; by default `cycle_time`. Those of one cycle time share messages.
    """
    unit = names.mapped([name], "identifier")[name]
    called = called or signal_names((*inputs, *outputs, *parameters))
    short = names.mapped(called.values(), "dbc", RESERVED)
    own = step * cycle_time(step)
    paces = [(cycles or {}).get(v.name, own) for v in outputs]
    leaving = [
        (group, pace)
        for pace in sorted(set(paces))
        for group in _groups([v for v, of in zip(outputs, paces, strict=True) if of == pace])
    ]
    pace_of = {FROM_RIG + k: pace for k, (_, pace) in enumerate(leaving)}
    blocks = (
        ("out", FROM_RIG, [group for group, _ in leaving], RIG, OTHER),
        ("in", TO_RIG, _groups(inputs), OTHER, RIG),
        ("parameter", PARAMETERS, [[v] for v in parameters], OTHER, RIG),
    )
    titles = {WATCHDOG: f"{unit}_watchdog"}
    titles |= {first + k: f"{unit}_{what}_{k}" for what, first, groups, *_ in blocks for k in range(len(groups))}
    brief = names.mapped(titles.values(), "dbc")
    heads = {identifier: brief[title] for identifier, title in titles.items()}
    lines = [f'CM_ BO_ {identifier} "{_purpose(identifier)}";' for identifier in heads]
    messages, types, longs = [_watchdog(heads[WATCHDOG])], [], []
    longs += [("BO_", f"{i}", title) for i, title in titles.items() if brief[title] != title]
    for _, first, groups, sender, receiver in blocks:
        for identifier, group in enumerate(groups, start=first):
            text, floats = _message(identifier, heads[identifier], group, sender, receiver,
                                    {v.name: short[called[v.name]] for v in group})  # fmt: skip
            messages.append(text)
            types += [f"SIG_VALTYPE_ {identifier} {signal} : 1;" for signal in floats]
            for v in group:
                signal = called[v.name]
                lines.append(f'CM_ SG_ {identifier} {short[signal]} "{_plain(v.name)}: {_plain(v.description)}";')
                longs += [("SG_", f"{identifier} {short[signal]}", signal)] if short[signal] != signal else []
    return "\n".join(
        [
            'VERSION ""',
            "NS_ :",
            "BS_:",
            f"BU_: {RIG} {OTHER}",
            *messages,
            *lines,
            'BA_DEF_ BO_ "GenMsgCycleTime" INT 0 65535;',
            *(f'BA_DEF_ {kind} "{attribute}" STRING ;' for kind, attribute in _LONG.items() if longs),
            'BA_DEF_DEF_ "GenMsgCycleTime" 0;',
            *(f'BA_DEF_DEF_ "{attribute}" "";' for attribute in _LONG.values() if longs),
            *(
                f'BA_ "GenMsgCycleTime" BO_ {i} {int(1e3 * pace_of.get(i, own) + 1e-6) if i < PARAMETERS else 0};'
                for i in heads
            ),
            *(f'BA_ "{_LONG[kind]}" {kind} {of} "{text}";' for kind, of, text in longs),
            *types,
            "",
        ]
    )


def cycle_of(message: Message, step: float) -> float:
    """Cycle time of a message [s]: that of its database if it has one, else that of a rig of this step [s]."""
    said = message.cycle_time
    return 1e-3 * said if isinstance(said, int | float) and said > 0 else step * cycle_time(step)


def load(frames: Iterable[tuple[Message, float]], bitrate: float = BITRATE) -> float:
    """Load of the bus by messages, with the largest possible number of stuffed bits.

    A frame of n bytes has g + 8 n + 13 + floor((g + 8 n - 1)/4) bits, g = 34, with 29 bits of identifier 54 (Davis et
    al. 2007, Controller Area Network schedulability analysis, eq. (2)). A frame of CAN FD is computed at one bit rate:
    g = 22 or 41, then 4 bits of stuff count and a CRC of 17, above 16 bytes 21, with a fixed bit before and after each
    four (ISO 11898-1).

    Parameters
    ----------
    frames : iterable of (Message, float)
        Message of each frame, and its cycle time [s].
    bitrate : float
        Bit rate of the bus [bit/s].
    """
    bits = 0.0
    for message, cycle in frames:
        size, long = size_of(message), message.is_extended_frame
        if is_fd(message):
            stuffed, checks = (41 if long else 22) + 8 * size, 4 + (17 if size <= 16 else 21)
            stuffed_later = checks + 1 + checks // 4
        else:
            stuffed, stuffed_later = (54 if long else 34) + 8 * size, 0
        bits += (stuffed + (stuffed - 1) // 4 + stuffed_later + 13) / cycle
    return bits / bitrate


def is_fd(message: Message) -> bool:
    """Whether a message needs frames of CAN FD."""
    return message.is_fd or message.length > CLASSIC


def size_of(message: Message) -> int:
    """Bytes of its frames, which in CAN FD have some lengths only."""
    return int(can.util.dlc2len(can.util.len2dlc(message.length)))


def parse(text: str, kind: str = "dbc") -> Database:
    """Parse the text of a database. Users of its messages check these."""
    return cantools.database.load_string(text, kind, strict=False)  # type: ignore[return-value]


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
    whole = _whole(v)
    return 8 if v.boolean else whole[0] if whole else 16 if _ranged(v) else 32


def _bounds(v: Variable) -> tuple[float, float]:
    """Declared bounds; infinite ones, and those that no float of 32 bits has, are none."""
    low = -np.inf if v.minimum is None or not v.minimum >= -LARGEST else float(v.minimum)
    high = np.inf if v.maximum is None or not v.maximum <= LARGEST else float(v.maximum)
    return (low, high) if low < high else (-np.inf, np.inf)


def _ranged(v: Variable) -> bool:
    low, high = _bounds(v)
    return TINY <= (high - low) / STEPS <= max(FINEST, SHARE * abs(v.nominal or 0.0))


def _whole(v: Variable) -> tuple[int, str, float, float] | None:
    """Bits, sign and range of an integer, None of any other."""
    if v.whole is None or v.boolean:
        return None
    bounds = _bounds(v)
    low, high = max(np.ceil(bounds[0]), v.whole[0]), min(np.floor(bounds[1]), v.whole[1])
    for bits in WIDTHS:
        for sign, least, most in (("+", 0, 2**bits - 1), ("-", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)):
            if least <= low and high <= most:
                return bits, sign, float(low), float(high)
    most = 2 ** (WIDTHS[-1] - 1) - 1
    return WIDTHS[-1], "-", float(max(low, -most - 1)), float(min(high, most))


def _message(
    identifier: int, name: str, group: Sequence[Variable], sender: str, receiver: str, called: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Text of a message, and its signals of type float."""
    lines = [f"BO_ {identifier} {name}: 8 {sender}"]
    lines.append(f' SG_ CRC : 0|8@1+ (1,0) [0|255] "" {receiver}')
    lines.append(f' SG_ Alive : 8|4@1+ (1,0) [0|14] "" {receiver}')
    lines.append(f' SG_ Echo : 12|4@1+ (1,0) [0|15] "" {receiver}')
    bit, floats = FIRST_BIT, []
    for v in group:
        signal, unit = called[v.name], "" if v.unit == "1" else _plain(v.unit)
        unit = unit if unit == v.unit.replace("μ", "µ") else ""  # one in other letters
        low, high, scale, offset, sign = 0.0, 0.0, 1.0, 0.0, "+"
        if v.boolean:
            high = 1.0
        elif whole := _whole(v):
            _, sign, low, high = whole
        elif _ranged(v):
            low, high = _bounds(v)
            scale, offset = (high - low) / STEPS, low
        else:
            sign = "-"
            floats.append(signal)
            if not np.isinf(bounds := _bounds(v)).all():
                low, high = (float(np.clip(b, -LARGEST, LARGEST)) for b in bounds)
        numbers = f"({scale!r},{offset!r}) [{low!r}|{high!r}]"
        lines.append(f' SG_ {signal} : {bit}|{_bits(v)}@1{sign} {numbers} "{unit}" {receiver}')
        bit += _bits(v)
    return "\n".join(lines), floats


def _watchdog(name: str) -> str:
    lines = [
        f"BO_ {WATCHDOG} {name}: 8 {RIG}",
        f' SG_ CRC : 0|8@1+ (1,0) [0|255] "" {OTHER}',
        f' SG_ Alive : 8|4@1+ (1,0) [0|14] "" {OTHER}',
        f' SG_ {HEARTBEAT} : 16|16@1+ (1,0) [0|65535] "" {OTHER}',
        f' SG_ {STATE} : 32|8@1+ (1,0) [0|{OVER}] "" {OTHER}',
    ]
    return "\n".join(lines)


def _purpose(identifier: int) -> str:
    """Purpose of a message of the generated database."""
    if identifier == WATCHDOG:
        return "heartbeat and state of the rig"
    if identifier >= PARAMETERS:
        return "a tunable parameter, sent when it is to change"
    return "outputs of the unit, in each cycle" if identifier >= FROM_RIG else "inputs of the unit, in each cycle"


def _plain(text: str) -> str:
    """A text as the file may hold it: signs that its code page has not are spelled, or question marks."""
    return re.sub(r'["\\\x00-\x1f\x7f;]', " ", text).replace("μ", "µ").encode(ENCODING, "replace").decode(ENCODING)
