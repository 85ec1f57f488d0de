"""Check the length of a shared library by its headers: a truncated one kills the process that maps it.

It reads the headers of ELF (System V ABI, chapters 4 and 5), PE (Microsoft's PE format) and Mach-O, one or several in
a file (``mach-o/loader.h``, ``mach-o/fat.h``).
"""

import struct
from collections.abc import Iterator
from pathlib import Path

NO_BITS = 8  # type of an ELF section without bytes in the file
SEGMENT, SEGMENT_64 = 0x01, 0x19  # commands of Mach-O
MACH = {b"\xfe\xed\xfa\xce": (">", 28), b"\xce\xfa\xed\xfe": ("<", 28), b"\xfe\xed\xfa\xcf": (">", 32),
        b"\xcf\xfa\xed\xfe": ("<", 32)}  # fmt: skip
FAT = {b"\xca\xfe\xba\xbe": ">5I", b"\xca\xfe\xba\xbf": ">2I2Q2I"}  # one entry of the table


def missing(library: Path) -> str:
    """Error in the length of a library, empty if none."""
    data = library.read_bytes()
    try:
        needed = max(_ends(data))
    except ValueError as error:
        return str(error)
    except (struct.error, OverflowError):  # a header lies beyond the end, or beyond all files
        return f"it is cut off within its headers, {len(data)} bytes are there"
    return f"it is cut off: {len(data)} of {needed} bytes are there" if needed > len(data) else ""


def _ends(data: bytes) -> Iterator[int]:
    """Ends of all that the headers name [bytes]."""
    if data[:4] == b"\x7fELF":
        return _elf(data)
    if data[:2] == b"MZ":
        return _pe(data)
    if data[:4] in MACH:
        return _mach(data, 0)
    if data[:4] in FAT:
        return _fat(data)
    raise ValueError("it is no ELF, PE or Mach-O file")


def _elf(data: bytes) -> Iterator[int]:
    order, wide = ">" if data[5:6] == b"\x02" else "<", data[4:5] == b"\x02"
    word = "Q" if wide else "I"
    fields = struct.unpack_from(f"{order}3{word}I6H", data, 24)  # entry, phoff, shoff, flags, ehsize, ...
    (segments, sections), (segment_size, segment_count, section_size, section_count) = fields[1:3], fields[5:9]
    yield segments + segment_size * segment_count
    yield sections + section_size * section_count
    for k in range(segment_count):
        at = segments + k * segment_size
        offset, size = (struct.unpack_from(order + word, data, at + p)[0] for p in ((8, 32) if wide else (4, 16)))
        yield offset + size
    for k in range(section_count):
        at = sections + k * section_size
        kind, offset, size = (
            struct.unpack_from(order + form, data, at + p)[0]
            for form, p in (("I", 4), (word, 24 if wide else 16), (word, 32 if wide else 20))
        )
        yield 0 if kind == NO_BITS else offset + size


def _pe(data: bytes) -> Iterator[int]:
    (head,) = struct.unpack_from("<I", data, 60)
    if data[head : head + 4] not in (b"PE\0\0", b""):
        raise ValueError("it is no PE file")
    count, optional = struct.unpack_from("<2xH12xH", data, head + 4)
    for k in range(count):
        size, offset = struct.unpack_from("<II", data, head + 24 + optional + 40 * k + 16)
        yield offset + size


def _mach(data: bytes, start: int) -> Iterator[int]:
    order, at = MACH[data[start : start + 4]]
    count, size = struct.unpack_from(f"{order}II", data, start + 16)
    at += start
    yield at + size
    for _ in range(count):
        command, length = struct.unpack_from(f"{order}II", data, at)
        if length < 8:  # its own header
            raise ValueError(f"a load command of {length} bytes is in it, the least is 8")
        if command in (SEGMENT, SEGMENT_64):
            form, place = (f"{order}QQ", 40) if command == SEGMENT_64 else (f"{order}II", 32)
            yield start + sum(struct.unpack_from(form, data, at + place))
        at += length


def _fat(data: bytes) -> Iterator[int]:
    form = FAT[data[:4]]
    (count,) = struct.unpack_from(">I", data, 4)
    for k in range(count):
        offset, size = struct.unpack_from(form, data, 8 + k * struct.calcsize(form))[2:4]
        yield offset + size
        if data[offset : offset + 4] in MACH:
            yield from _mach(data, offset)
