"""Recordings that grow while a run goes on: HDF5 as in `rtcvt.recording`, or ASAM MDF 4; the suffix decides.

A recording grows under the name ``NAME.part.SUFFIX`` and gets its own name when it is finished, so what a killed run
leaves can be told from a complete one and can be read like it. What was appended more than one append ago is on disk
whatever happens:

- HDF5 is written in its SWMR mode, in which the file can be read at any time. It is not compressed: each append would
  leave the compressed text of an unfinished chunk behind.
- MDF: asammdf writes a file with all descriptions and no samples. Samples then follow in a data block (##DT) at the
  file's end. After each append the block's length and the number of cycles in the channel group (##CG) are put right,
  in this order, so the file is a finalised MDF 4.10 at any time. Layout of blocks: ASAM MDF 4.1.0, section 6.

The run's circumstances are attributes in HDF5 and a comment of the header, in JSON, in MDF; the unit file is the
dataset ``unit_file`` or the attachment ``unit.toml``.
"""

import errno
import json
import os
import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.errors import InputError
from rtcvt.recording import SCHEMA_VERSION, Recording, Signal, read_recording, require_writable, revision

__all__ = ["Channel", "Recorder", "open_recorder", "part_name", "read", "write"]

Array = NDArray[np.float64]

MDF_SUFFIXES = (".mf4", ".mdf")
RESERVE = 32 * 2**20  # [bytes] that HDF5 leaves free on the disk
UNFINISHED = "the recording was not finished"


@dataclass(frozen=True)
class Channel:
    """One signal of a recording."""

    name: str
    unit: str
    description: str = ""


class Recorder(Protocol):
    """A growing recording."""

    def append(self, rows: Array) -> None:
        """Add samples, shape (m, 1 + number of channels), time [s] first, and hand them to the system."""

    def finish(self, attributes: Mapping[str, Any]) -> None:
        """Note how the run ended, close the file and give it its name."""

    def abandon(self) -> None:
        """Close the file as it is."""


def part_name(path: Path) -> Path:
    """What a recording is called until it is finished."""
    return path.with_name(f"{path.stem}.part{path.suffix}")


def open_recorder(
    path: Path, channels: Sequence[Channel], kind: str, attributes: Mapping[str, Any], unit_file: str
) -> Recorder:
    """A new recording.

    Parameters
    ----------
    path : Path
        Its name once it is finished; ``.mf4`` or ``.mdf`` for MDF, any other for HDF5.
    channels : sequence of Channel
        Besides the time.
    kind : str
        What makes it, e.g. ``real-time run``.
    attributes : mapping
        Circumstances: text, numbers, truth values.
    unit_file : str
        Text of the unit file, or nothing.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    require_writable(path)
    about = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "rtcvt_version": __version__,
        "revision": revision(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **attributes,
        "completed": False,
        "message": UNFINISHED,
    }
    make = _Mdf if path.suffix.lower() in MDF_SUFFIXES else _Hdf5
    try:
        return make(path, channels, about, unit_file)
    except OSError as error:
        part_name(path).unlink(missing_ok=True)
        raise InputError("output", "", str(path), f"a file that can be written: {error.strerror or error}") from None


def write(path: Path, recording: Recording, kind: str) -> None:
    """Write a whole recording in one go, in the format of its suffix.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    channels = [Channel(name, s.unit, s.description) for name, s in recording.signals.items()]
    made = open_recorder(path, channels, kind, recording.attributes, recording.unit_file)
    try:
        made.append(np.column_stack([recording.time, *(s.values for s in recording.signals.values())]))
        made.finish(recording.attributes)
    except OSError as error:
        made.abandon()
        raise InputError("output", "", str(path), f"a file that can be written: {error.strerror or error}") from None


def read(path: Path) -> Recording:
    """Read a recording of either format, also one that a killed run left.

    Raises
    ------
    InputError
        Not a recording.
    """
    if not path.is_file():
        raise InputError("recording", "", str(path), "an existing file")
    if path.suffix.lower() in MDF_SUFFIXES:
        return _read_mdf(path)
    try:
        with h5py.File(path, "r"):
            pass
    except OSError:
        return _read_swmr(path)
    return read_recording(path)


class _Hdf5:
    def __init__(self, path: Path, channels: Sequence[Channel], about: Mapping[str, Any], unit_file: str):
        self._path, self._part = path, part_name(path)
        self._file = h5py.File(self._part, "w", libver="latest")
        try:
            self._file.attrs.update(about)
            self._file["unit_file"] = unit_file
            self._file["unit_file"].attrs["units"] = "1"
            self._data = [self._series("time", "s", "time")]
            self._data += [self._series(f"signals/{c.name}", c.unit, c.description) for c in channels]
            self._file.swmr_mode = True
        except BaseException:
            self._file.close()
            raise

    def _series(self, name: str, unit: str, description: str) -> h5py.Dataset:
        data = self._file.create_dataset(name, (0,), "f8", maxshape=(None,), chunks=(4096,))
        data.attrs["units"] = unit
        data.attrs["description"] = description
        return data

    def append(self, rows: Array) -> None:
        _require_space(self._part)
        before = len(self._data[0])
        for data, column in zip(self._data, rows.T, strict=True):
            data.resize((before + len(rows),))
            data[before:] = column
        self._file.flush()

    def finish(self, attributes: Mapping[str, Any]) -> None:
        self._file.close()
        with h5py.File(self._part, "r+") as file:  # SWMR takes no new attributes
            file.attrs.update(attributes)
        os.replace(self._part, self._path)

    def abandon(self) -> None:
        self._file.close()


class _Mdf:
    def __init__(self, path: Path, channels: Sequence[Channel], about: Mapping[str, Any], unit_file: str):
        from asammdf import MDF
        from asammdf import Signal as Samples

        self._path, self._part, self._about = path, part_name(path), dict(about)
        zero = np.zeros(1)
        signals = [Samples(zero, zero, c.unit, c.name, comment=c.description) for c in channels]
        with MDF(version="4.10") as mdf:
            mdf.append(signals, comment=str(about["kind"]), common_timebase=True)
            mdf.header.comment = json.dumps(self._about, default=str)
            if unit_file:
                mdf.attach(unit_file.encode(), file_name="unit.toml", mime="text/plain", compression=False)
            mdf.save(self._part, overwrite=True)
        self._width = 8 * (1 + len(channels))
        self._handle = os.open(self._part, os.O_RDWR)
        (group,) = self._links(64, 1)  # of the header block
        _, channel_group = self._links(group, 2)
        self._cycles_at = channel_group + 24 + 6 * 8 + 8  # after six links and the record's number
        self._block = -(-os.fstat(self._handle).st_size // 8) * 8
        self._length, self._cycles = 24, 0
        self._write(self._block, struct.pack("<4sIQQ", b"##DT", 0, 24, 0))
        self._write(self._cycles_at, struct.pack("<Q", 0))
        self._write(group + 24 + 2 * 8, struct.pack("<Q", self._block))

    def _links(self, block: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", os.pread(self._handle, 8 * count, block + 24))

    def _write(self, place: int, data: bytes) -> None:
        """All of it, or OSError: a full disk may take a part."""
        done = 0
        while done < len(data):
            done += os.pwrite(self._handle, data[done:], place + done)

    def append(self, rows: Array) -> None:
        data = np.ascontiguousarray(rows, dtype="<f8").tobytes()
        self._write(self._block + self._length, data)
        self._length += len(data)
        self._cycles += len(rows)
        self._write(self._block + 8, struct.pack("<Q", self._length))
        self._write(self._cycles_at, struct.pack("<Q", self._cycles))

    def finish(self, attributes: Mapping[str, Any]) -> None:
        root = ElementTree.Element("HDcomment")
        ElementTree.SubElement(root, "TX").text = json.dumps(self._about | dict(attributes), default=str)
        text = ElementTree.tostring(root) + b"\0"
        text += b"\0" * (-len(text) % 8)
        place = self._block + self._length
        self._write(place, struct.pack("<4sIQQ", b"##MD", 0, 24 + len(text), 0) + text)
        self._write(64 + 24 + 5 * 8, struct.pack("<Q", place))  # the header's sixth link is its comment
        os.close(self._handle)
        os.replace(self._part, self._path)

    def abandon(self) -> None:
        os.close(self._handle)


def _require_space(path: Path) -> None:
    """Refuse to go on shortly before the disk is full: HDF5 does not survive a write that fails."""
    if shutil.disk_usage(path.parent).free < RESERVE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read_swmr(path: Path) -> Recording:
    """What a killed run left: datasets may differ by one append."""
    try:
        with h5py.File(path, "r", libver="latest", swmr=True) as file:
            signals = {
                k: (v[()], str(v.attrs["units"]), str(v.attrs["description"])) for k, v in file["signals"].items()
            }
            n = min([len(file["time"]), *(len(values) for values, *_ in signals.values())])
            kept = {name: Signal(values[:n], unit, text) for name, (values, unit, text) in signals.items()}
            return Recording(file["time"][:n], kept, dict(file.attrs), file["unit_file"][()].decode())
    except (OSError, KeyError) as error:
        raise InputError(path, "", None, f"an HDF5 recording ({error})") from None


def _read_mdf(path: Path) -> Recording:
    from asammdf import MDF

    try:
        with MDF(path) as mdf:
            text = mdf.header.description
            attributes = json.loads(text) if text.startswith("{") else {"comment": text}
            found = {s.name: s for s in mdf.iter_channels(skip_master=True)}
            time = mdf.get_master(0) if mdf.groups else np.zeros(0)
            unit_file: bytes | str = b""
            for place, attachment in enumerate(mdf.attachments):
                if attachment.file_name == "unit.toml":
                    unit_file = mdf.extract_attachment(index=place)[0]
    except Exception as error:  # asammdf raises many kinds
        raise InputError(path, "", None, f"an MDF recording ({error})") from None
    signals = {name: Signal(np.asarray(s.samples, float), s.unit, s.comment or "") for name, s in found.items()
               if len(s.samples) == len(time) and np.asarray(s.samples).ndim == 1}  # fmt: skip
    return Recording(
        np.asarray(time, float), signals, attributes, unit_file.decode() if isinstance(unit_file, bytes) else unit_file
    )
