"""Growing recordings in ASAM MDF 4.

asammdf writes a file with all descriptions and no samples. Samples then follow in a data block (##DT) at the file's
end. After each append the block's length and the number of cycles in the channel group (##CG) are put right,
in this order, so the file is a finalised MDF 4.10 at any time. Layout of blocks: ASAM MDF 4.1.0, section 6.
"""

import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import AsInputError
from rtcvt.files import opened
from rtcvt.files.hdf5 import MARK, hashed
from rtcvt.files.names import mapped
from rtcvt.hil.growing import Channel, Claim, Writer, damaged, undamaged, write_at
from rtcvt.recording import Recording, Signal

Array = NDArray[np.float64]

HEADER = 64 * 2**20  # [bytes] of an MDF before its samples, at most
MDF_GROWING, MDF_DONE = b"rtcvt MDF part  ", b"rtcvt MDF done  "


class MdfWriter(Writer):
    """An MDF file that grows; arguments as of `recorder.open_recorder`."""

    def __init__(self, claim: Claim, channels: Sequence[Channel], about: Mapping[str, Any], unit_file: str,
                 rows: int | None = None):  # fmt: skip
        from asammdf import MDF
        from asammdf import Signal as Samples

        super().__init__(claim)
        self._about = dict(about)
        zero = np.zeros(1)
        called = mapped((c.name for c in channels), "mdf")
        if others := {given: name for name, given in called.items() if given != name}:
            self._about["names"] = others
        signals = [Samples(zero, zero, c.unit, called[c.name], comment=c.description) for c in channels]
        with MDF(version="4.10") as mdf:
            mdf.append(signals, comment=str(about["kind"]), common_timebase=True)
            mdf.header.comment = json.dumps(self._about, default=str)
            if unit_file:
                mdf.attach(unit_file.encode(), file_name="unit.toml", mime="text/plain", compression=False)
            mdf.save(self._part, overwrite=True)
        self._width = 8 * (1 + len(channels))
        self._handle = os.open(self._part, os.O_RDWR | os.O_CLOEXEC)
        (group,) = self._links(64, 1)  # of the header block
        _, channel_group = self._links(group, 2)
        self._cycles_at = channel_group + _CYCLES
        self._mark_at = -(-os.fstat(self._handle).st_size // 8) * 8
        self._block = self._mark_at + MARK.size
        self._length, self._cycles = 24, 0
        self._write(self._block, struct.pack("<4sIQQ", b"##DT", 0, 24, 0))
        self._write(self._cycles_at, struct.pack("<Q", 0))
        self._write(group + 24 + 2 * 8, struct.pack("<Q", self._block))
        self._digest = hashed(_unchanging(os.pread(self._handle, self._mark_at, 0), self._cycles_at))
        self._mark(MDF_GROWING, self._block + self._length)

    def _links(self, block: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", os.pread(self._handle, 8 * count, block + 24))

    def _write(self, place: int, data: bytes) -> None:
        write_at(self._handle, place, data)

    def _mark(self, kind: bytes, length: int) -> None:
        self._write(self._mark_at, MARK.pack(kind, length, self._digest.digest()))

    def append(self, rows: Array) -> None:
        """See `Writer`."""
        data = np.ascontiguousarray(rows, dtype="<f8").tobytes()
        self._write(self._block + self._length, data)
        self._length += len(data)
        self._cycles += len(rows)
        self._write(self._block + 8, struct.pack("<Q", self._length))
        self._write(self._cycles_at, struct.pack("<Q", self._cycles))
        self._digest.update(data)
        self._mark(MDF_GROWING, self._block + self._length)
        self._claim.grown = True

    def finish(self, attributes: Mapping[str, Any]) -> None:
        """See `Writer`."""
        root = ElementTree.Element("HDcomment")
        ElementTree.SubElement(root, "TX").text = json.dumps(self._about | dict(attributes), default=str)
        text = ElementTree.tostring(root) + b"\0"
        text += b"\0" * (-len(text) % 8)
        place = self._block + self._length
        comment = struct.pack("<4sIQQ", b"##MD", 0, 24 + len(text), 0) + text
        self._write(place, comment)
        os.ftruncate(self._handle, place + len(comment))
        self._write(_COMMENT, struct.pack("<Q", place))
        self._digest.update(comment + struct.pack("<QQQ", self._cycles, place, self._length))
        self._mark(MDF_DONE, place + len(comment))
        os.close(self._handle)
        self._named()

    def abandon(self) -> None:
        """See `Writer`."""
        os.close(self._handle)
        self._claim.release()


_COMMENT = 64 + 24 + 5 * 8  # the header's sixth link is its comment
_CYCLES = 24 + 6 * 8 + 8  # in a channel group, after six links and the record's number
_WIDTH = _CYCLES + 16  # bytes of a record


def _unchanging(header: bytes, cycles_at: int) -> bytes:
    """An MDF's header without the fields that change while it grows."""
    found = bytearray(header)
    found[_COMMENT : _COMMENT + 8] = found[cycles_at : cycles_at + 8] = bytes(8)
    return bytes(found)


def _mdf_rows(path: Path) -> int:
    """Rows of an MDF recording that its mark confirms."""
    with opened(path, None) as file:
        size = os.fstat(file.fileno()).st_size

        def at(place: int, form: str) -> tuple[Any, ...]:
            file.seek(place)
            return struct.unpack(form, file.read(struct.calcsize(form)))

        with undamaged(path):
            (group,) = at(64 + 24, "<Q")
            _, channel_group, block = at(group + 24, "<3Q")
            (width,) = at(channel_group + _WIDTH, "<I")
            (cycles,) = at(channel_group + _CYCLES, "<Q")
            kind, stop, digest = MARK.unpack(b"".join(at(block - MARK.size, f"{MARK.size}s")))
            _, _, length, _ = at(block, "<4sIQQ")
            (comment,) = at(_COMMENT, "<Q")
            if not MARK.size < block < HEADER or stop > size or width < 8:
                raise damaged(path)
            done = kind == MDF_DONE
            last = comment if done else stop  # where the rows end
            rows = (last - block - 24) // width
            if not done and not (rows <= cycles <= (size - block - 24) // width and 24 + rows * width <= length):
                raise damaged(path)
            file.seek(0)
            found = hashed(_unchanging(file.read(block - MARK.size), channel_group + _CYCLES))
            file.seek(block + 24)
            left = stop - block - 24
            while left > 0:
                piece = file.read(min(left, 1 << 20))
                if not piece:
                    break
                found.update(piece)
                left -= len(piece)
            if done:
                found.update(struct.pack("<QQQ", cycles, comment, length))
    if kind not in (MDF_GROWING, MDF_DONE) or found.digest() != digest or (done and stop != size):
        raise damaged(path)
    return int(rows)


def read_mdf(path: Path) -> Recording:
    """Read an MDF recording, finished or not, as far as its mark confirms it."""
    n = _mdf_rows(path)
    from asammdf import MDF

    # asammdf raises many kinds
    with AsInputError(Exception, path, "", None, lambda e: f"an MDF recording ({e})"), MDF(path) as mdf:
        text = mdf.header.description
        attributes: dict[str, Any] = json.loads(text) if text.startswith("{") else {"comment": text}
        names = attributes.pop("names", {})
        found = {names.get(s.name, s.name): s for s in mdf.iter_channels(skip_master=True)}
        time = mdf.get_master(0) if mdf.groups else np.zeros(0)
        unit_file: bytes | str = b""
        for place, attachment in enumerate(mdf.attachments):
            if attachment.file_name == "unit.toml":
                unit_file = mdf.extract_attachment(index=place)[0]
    signals = {name: Signal(np.asarray(s.samples, float)[:n], s.unit, s.comment or "") for name, s in found.items()
               if len(s.samples) == len(time) and np.asarray(s.samples).ndim == 1}  # fmt: skip
    told = unit_file.decode() if isinstance(unit_file, bytes) else unit_file
    return Recording(np.asarray(time, float)[:n], signals, attributes, told)
