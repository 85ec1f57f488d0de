"""Variables of a unit as an ASAM MCD-2 MC description (A2L, ASAP2 1.60), for tools that measure and calibrate.

Outputs and inputs are measurements, tunable parameters are characteristics; all are doubles, the lowest byte first.
They are called as on a CAN bus (`rtcvt.files.names`), with their own name as the one to be shown.
"""

import re
from collections.abc import Mapping, Sequence

from rtcvt import __version__
from rtcvt.files import names
from rtcvt.model import Variable

LARGEST = 1.7976931348623157e308
MAX_CTO, MAX_DTO, MAX_ENTRY = 255, 1400, 248  # [bytes]


def a2l(name: str, variables: Sequence[Variable], addresses: Mapping[str, int], interface: str) -> str:
    """The text of a description.

    Parameters
    ----------
    name : str
        Of the unit.
    variables : sequence of Variable
        Those described: parameters are characteristics, all others measurements.
    addresses : mapping of str to int
        By name.
    interface : str
        ``IF_DATA`` of the module, or nothing.
    """
    unit = names.mapped([name], "identifier")[name]
    called = names.mapped((v.name for v in variables), "identifier")
    methods = {v.unit: f"unit_{k}" for k, v in enumerate({v.unit: v for v in variables}.values())}
    lines = [
        f'ASAP2_VERSION 1 60\n/begin PROJECT {unit} "rtcvt {__version__}"',
        f'  /begin MODULE {unit} "{_plain(name)}"',
        *([interface] if interface else []),
        '    /begin MOD_COMMON "" BYTE_ORDER MSB_LAST ALIGNMENT_FLOAT64_IEEE 8 /end MOD_COMMON',
        "    /begin RECORD_LAYOUT Double FNC_VALUES 1 FLOAT64_IEEE ROW_DIR DIRECT /end RECORD_LAYOUT",
    ]
    for text, method in methods.items():
        shown = "" if text == "1" else _plain(text)
        lines.append(f'    /begin COMPU_METHOD {method} "" IDENTICAL "%12.6" "{shown}" /end COMPU_METHOD')
    for v in variables:
        low, high = (repr(float(b)) if b is not None and abs(b) <= LARGEST else repr(worst)
                     for b, worst in ((v.minimum, -LARGEST), (v.maximum, LARGEST)))  # fmt: skip
        head, shown = f'{called[v.name]} "{_plain(v.description)}"', f"DISPLAY_IDENTIFIER {called[v.name]}"
        shown = f"DISPLAY_IDENTIFIER {v.name}" if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", v.name) else shown
        at = f"0x{addresses[v.name]:08X}"
        if v.causality == "parameter":
            lines.append(f"    /begin CHARACTERISTIC {head} VALUE {at} Double 0 {methods[v.unit]} {low} {high} {shown} "
                         "/end CHARACTERISTIC")  # fmt: skip
        else:
            lines.append(f"    /begin MEASUREMENT {head} FLOAT64_IEEE {methods[v.unit]} 0 0 {low} {high} "
                         f"ECU_ADDRESS {at} {shown} /end MEASUREMENT")  # fmt: skip
    return "\n".join([*lines, "  /end MODULE", "/end PROJECT", ""])


def _plain(text: str) -> str:
    """A text as the file may hold it."""
    return re.sub(r'["\\\x00-\x1f\x7f]', " ", text).encode("ascii", "replace").decode()
