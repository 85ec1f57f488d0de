"""Growing recordings in HDF5.

They are written in SWMR mode, in which the file can be read at any time. It is not compressed: each append would leave
unused compressed data of an unfinished chunk.

"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import processes
from rtcvt.files import opened
from rtcvt.files.hdf5 import BLOCK, MARK, grow, hashed, new_series, require_bounded, seal
from rtcvt.files.names import mapped
from rtcvt.hil.growing import Channel, Claim, Writer, damaged, undamaged, write_at
from rtcvt.recording import SEAL, Recording, recording_in, series_texts, signal_about

Array = NDArray[np.float64]

GROWING = b"rtcvt recording+"
MOST_ROWS, CHUNKS = 4096, 2**27  # of a chunk of HDF5, and bytes of the chunks of all signals together
MAX_FLUSHED = 256  # signals of HDF5 at once: in SWMR mode the time grows with the square of the number of changes
ROWS = 65536  # number of rows that are checked at once


class Hdf5Writer(Writer):
    """An HDF5 file that grows; arguments as of `recorder.open_recorder`."""

    def __init__(self, claim: Claim, channels: Sequence[Channel], about: Mapping[str, Any], unit_file: str,
                 rows: int | None = None):  # fmt: skip
        super().__init__(claim)
        self._order = [0, *(1 + k for k in _sorted(channels))]
        self._chunk = max(16, min(MOST_ROWS, rows or MOST_ROWS, CHUNKS // 8 // (1 + len(channels))))
        self._digest, self._rows = _described(channels, unit_file), 0
        with h5py.File(self._part, "w", libver="latest", userblock_size=BLOCK):
            pass
        self._handle = os.open(self._part, os.O_RDWR | os.O_CLOEXEC)
        self._mark()
        self._file = h5py.File(self._part, "r+", libver="latest")
        self._file.attrs.update(about)
        self._file["unit_file"] = unit_file
        self._file["unit_file"].attrs["units"] = "1"
        self._data = [self._series(self._file, "time", Channel("time", "s", "time"))]
        called, group = mapped((c.name for c in channels), "hdf5"), self._file.create_group("signals")
        self._data += [self._series(group, called[c.name], c) for c in channels]
        self._file.swmr_mode = True

    def _series(self, group: h5py.Group, called: str, channel: Channel) -> h5py.h5d.DatasetID:
        texts = series_texts(channel.name, called, channel.unit, channel.description)
        return new_series(group, called, np.zeros(0), texts, self._chunk)

    def _mark(self) -> None:
        write_at(self._handle, 0, MARK.pack(GROWING, self._rows, self._digest.digest()))

    def append(self, rows: Array) -> None:
        """See `Writer`."""
        after = self._rows + len(rows)
        for k, (data, column) in enumerate(zip(self._data, rows.T, strict=True)):
            grow(data, self._rows, column)
            if k % MAX_FLUSHED == 0:
                self._file.flush()
        self._file.flush()
        self._digest.update(np.ascontiguousarray(rows[:, self._order]))
        self._rows = after
        self._mark()
        self._claim.grown = True

    def finish(self, attributes: Mapping[str, Any]) -> None:
        """See `Writer`."""
        self._file.close()
        with h5py.File(self._part, "r+", libver="latest") as file:  # SWMR allows no new attributes
            file.attrs.update(attributes)
        os.close(self._handle)
        seal(self._part, SEAL)
        self._named()

    def abandon(self) -> None:
        """See `Writer`."""
        self._file.close()
        self._claim.release()


def _sorted(channels: Sequence[Channel]) -> list[int]:
    """Places of channels in the order of their names."""
    return sorted(range(len(channels)), key=lambda k: channels[k].name)


def _described(channels: Sequence[Channel], unit_file: str) -> Any:
    """Digest of an HDF5 file's descriptions without its rows; channels in any order."""
    texts = sorted([c.name, c.unit, c.description] for c in channels)
    return hashed(json.dumps([texts, unit_file]).encode())


def confirmed_rows(path: Path) -> int:
    """Rows of a growing HDF5 recording that its mark confirms.

    Raises
    ------
    InputError
        Damaged, or none.
    """
    with undamaged(path):
        with opened(path, None) as raw:
            kind, n, digest = MARK.unpack(raw.read(MARK.size))
        with h5py.File(path, "r", libver="latest", swmr=True) as file:
            require_bounded(file, path)
            group = file["signals"].id if "signals" in file else ()
            signals = [(h5py.h5o.open(group, key), key.decode()) for key in group]
            about = [(Channel(*signal_about(d, key)), h5py.Dataset(d)) for d, key in signals]
            about.sort(key=lambda pair: pair[0].name)
            channels, data = [channel for channel, _ in about], [file["time"], *(d for _, d in about)]
            found = _described(channels, file["unit_file"][()].decode())
            for first in range(0, n, ROWS):
                rows = np.column_stack([d[first : min(first + ROWS, n)] for d in data])
                found.update(np.ascontiguousarray(rows, dtype=np.float64))
            if kind == GROWING and found.digest() == digest:
                return int(n)
    raise damaged(path)


def read_growing(path: Path) -> Recording:
    """Read the rows that a run has written so far. HDF5 may crash or hang on damaged files: another process tries
    first."""
    words = [sys.executable, "-P", "-c", "import sys; from pathlib import Path; from rtcvt.hil.growing_hdf5 import "
             "confirmed_rows; print(confirmed_rows(Path(sys.argv[1])))", str(path)]  # fmt: skip
    with undamaged(path):
        seconds = 20.0 + path.stat().st_size / 20e6
        done = processes.run(words, timeout=seconds)
        if done.returncode == 0:
            with h5py.File(path, "r", libver="latest", swmr=True) as file:
                return recording_in(file, path, int(done.stdout))
    raise damaged(path)
