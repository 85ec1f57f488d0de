"""Variables of a unit as an ASAM MCD-2 MC description (A2L, ASAP2 1.60), for tools that measure and calibrate.

Outputs and inputs are measurements, tunable parameters are characteristics; all are doubles, the lowest byte first.
They are called as on a CAN bus (`rtcvt.files.names`), with their own name as the one to be shown.
"""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from rtcvt import __version__
from rtcvt.files import names
from rtcvt.fmu.description import write_xml
from rtcvt.model import Model, Variable

LARGEST = 1.7976931348623157e308
MAX_CTO, MAX_DTO, MAX_ENTRY = 255, 1400, 248  # [bytes]
HOST, PORT = "127.0.0.1", 5555
SHT_SYMTAB, SHT_DYNSYM = 2, 11  # tables of symbols in ELF files
UNITS = {3: 1e-6, 4: 1e-5, 5: 1e-4, 6: 1e-3, 7: 1e-2, 8: 0.1, 9: 1.0}  # [s] of an event's cycle


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


def interface(port: int, step: float) -> str:
    """``IF_DATA`` of a slave on this machine whose event is a step [s]."""
    unit, count = cycle(step)
    return f"""    /begin IF_DATA XCP
      /begin PROTOCOL_LAYER 0x0101 1000 200 0 0 0 0 0 {MAX_CTO} {MAX_DTO} BYTE_ORDER_MSB_LAST ADDRESS_GRANULARITY_BYTE
      /end PROTOCOL_LAYER
      /begin DAQ DYNAMIC 0 1 0 OPTIMISATION_TYPE_DEFAULT ADDRESS_EXTENSION_FREE IDENTIFICATION_FIELD_TYPE_ABSOLUTE
        GRANULARITY_ODT_ENTRY_SIZE_DAQ_BYTE {MAX_ENTRY} NO_OVERLOAD_INDICATION PRESCALER_SUPPORTED
        /begin TIMESTAMP_SUPPORTED 1 SIZE_DWORD UNIT_1US TIMESTAMP_FIXED /end TIMESTAMP_SUPPORTED
        /begin EVENT "step" "step" 0 DAQ 0xFF {count} {unit} 0 /end EVENT
      /end DAQ
      /begin XCP_ON_TCP_IP 0x0100 {port} ADDRESS "{HOST}" /end XCP_ON_TCP_IP
    /end IF_DATA"""


def cycle(step: float) -> tuple[int, int]:
    """Unit and number of an event's cycle; the number is one byte, so that a long step is rounded."""
    unit = next((u for u, size in UNITS.items() if step / size < 255.5), max(UNITS))
    return unit, min(max(round(step / UNITS[unit]), 1), 255)


def write_access(root: Path, model: Model, identifier: str, binaries: Sequence[Path]) -> None:
    """Write the files that FMI-LS-XCP 1.0.0 (Modelica Association, 2024) requires for access of tools to a unit's
    memory.

    Parameters
    ----------
    root : Path
        The unpacked unit.
    model : Model
        Its model.
    identifier : str
        ``modelIdentifier``.
    binaries : sequence of Path
        ELF files of 64 bits that export ``memory_access``, see ``core.c``.
    """
    folder = root / "extra" / "org.fmi-standard.fmi-ls-xcp"
    rows = [v for v in model.variables if v.causality != "parameter" or v.tunable]
    places = {"parameter": 0, "input": len(model.p), "output": len(model.p) + len(model.select("input"))}
    for binary in binaries:
        base = symbol_address(binary.read_bytes(), "memory_access")
        addresses = {v.name: base + 8 * (places[v.causality] + v.index) for v in rows}
        path = folder / binary.parent.name / f"{identifier}.a2l"
        path.parent.mkdir(parents=True)
        path.write_text(a2l(model.name, rows, addresses, interface(PORT, model.step_size)), encoding="ascii")
    top = Element("fmiLayeredStandardManifest", {
        "xmlns:fmi-ls": "http://fmi-standard.org/fmi-ls-manifest",
        "fmi-ls:fmi-ls-name": "org.fmi-standard.fmi-ls-xcp",
        "fmi-ls:fmi-ls-version": "1.0.0",
        "fmi-ls:fmi-ls-description": "Layered standard based on FMI 2.0 and FMI 3.0 for describing and implementing "
        "XCP support for FMUs, which can either provide an XCP service or allow direct memory access via A2L files.",
    })  # fmt: skip
    SubElement(top, "Interface", definition=f"{identifier}.a2l", types="CoSimulation",
               supportsDirectMemoryAccess="true",
               description="Outputs, inputs and tunable parameters, exchanged before and after each step")  # fmt: skip
    write_xml(top, folder / "fmi-ls-manifest.xml")


def symbol_address(data: bytes, name: str) -> int:
    """Address of an exported symbol of an ELF file of 64 bits, from the base of the library on."""
    return next(address for found, _, _, address in symbols(data, SHT_DYNSYM) if found == name)


def symbols(data: bytes, kind: int) -> Iterator[tuple[str, int, int, int]]:
    """Name, binding, section and address of each symbol in a sort of table of an ELF file of 64 bits."""
    offset, (size, count) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + size * k) for k in range(count)]
    table = next(s for s in sections if s[1] == kind)
    texts = sections[table[6]][4]
    for at in range(table[4], table[4] + table[5], table[9]):
        text, about, _, section, address = struct.unpack_from("<IBBHQ", data, at)
        yield data[texts + text : data.index(b"\0", texts + text)].decode(), about >> 4, section, address


def _plain(text: str) -> str:
    """A text as the file may hold it."""
    return re.sub(r'["\\\x00-\x1f\x7f]', " ", text).encode("ascii", "replace").decode()
