"""Files of runs: the journal of a growing run, and the HDF5 file of a finished one.

Seal. Both begin with a mark of `rtcvt.files.hdf5`, `FILE` or `JOURNAL`, and are read only after all sealed bytes have
been checked.

Journal, PATH.partial. After the mark follow the head (attributes and texts) and a record for each block of frames: its
columns, phase, how the phase ended, and the state at its end, as NPZ arrays. A block is valid once the mark includes
it, and the mark is written when the block is on the disk (fsync): bytes after the last valid block, left by a kill or a
power failure, are cut off. One process at a time has the lock of a journal. A resumed run has the bits of an
uninterrupted one.

HDF5. Attributes: ``schema_version``, ``kind``, ``rtcvt_version``, ``revision`` (git), ``created`` (UTC), ``unit``,
``run``: the `schedule.Run`, ``case``: the case, and ``parameters``: the scaled `Belt` and `Sheaves`, as JSON; ``M_O``:
load torque [N m]; ``revolution``, ``step``, ``plot_step`` [s]; ``step_cost``: processor time of a step [s];
``slipping``: in a window, or away. ``unit_file`` and ``plan`` are texts. ``ended`` has per phase how it ended,
`schedule.ENDS`. Per frame: ``time`` (that of a branch continues that of the settling), ``phase``, ``crossings`` (since
the phase's first frame), ``inputs``, the datasets of `DATASETS` (those of elements and ring if observed),
``grid/length``, ``grid/radius`` and ``fields/NAME``, which are `snapshots.Snapshots`. A spatial model has the datasets
of `ACROSS` and ``spatial/exit_force`` too, and means of the two sides in the others. Per window: see `windows`.
``profiles/*``: see `profiles`. ``checkpoint/*``: the state after the last frame. Every dataset has ``units`` and
``description``, one with several columns ``columns``, and a checksum for each chunk. Results are stored as float32,
where differences or sums matter as float64.
"""

import io
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files import goes_on_with, require_regular
from rtcvt.files.hdf5 import MARK, Schema, checked, hashed
from rtcvt.offline.pushbelt.contact.element_element import CONTACTS
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.marks import JOURNAL
from rtcvt.offline.pushbelt.run.schedule import ENDS
from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS, SECTIONS
from rtcvt.offline.pushbelt.run.windows import counted
from rtcvt.offline.pushbelt.spatial.joint import CONTACTS as EDGES
from rtcvt.offline.pushbelt.unit.parameters import Boundary
from rtcvt.recording import Recording, Signal, replaced_on_success

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

KIND, SCHEMA_VERSION = "pushbelt run", 2
SCHEMA = Schema(KIND, SCHEMA_VERSION, "rtcvt simulate UNIT -o FILE, or rtcvt campaign,")
_LENGTH = struct.Struct("<Q")


class Source(NamedTuple):
    """A part of the model's `Frames`: its field, index after the frame's, type, unit, description and columns."""

    field: str
    part: tuple[Any, ...]
    dtype: str
    unit: str
    description: str
    columns: tuple[str, ...] = ()


_EACH = slice(None)
_PULLEYS = ("primary", "secondary")
_SIDES = ("left", "right")
_XY = ("x", "y")
DATASETS = {
    "elements/position": Source("q", (_EACH, slice(2)), "f8", "m", "centres of gravity", _XY),
    "elements/angle": Source("q", (_EACH, 2), "f8", "rad", "angle of the elements"),
    "elements/velocity": Source("u", (_EACH, slice(2)), "f4", "m/s", "of the centres of gravity", _XY),
    "elements/angular_velocity": Source("u", (_EACH, 2), "f4", "rad/s", "of the elements"),
    "elements/place": Source("s_R", (), "f8", "1", "saddle on the ring, in finite elements"),
    "elements/joint": Source("joint", (), "f4", "N", "forces between element i and i + 1", CONTACTS),
    "elements/saddle": Source("saddle", (), "f4", "N", "ring on an element", ("saddle", "ear", "friction")),
    "elements/flank": Source("flank", (), "f4", "N", "on one flank", ("normal", "longitudinal", "radial")),
    "ring/position": Source("q_R", (_EACH, slice(2)), "f8", "m", "nodes on the neutral fibre", _XY),
    "ring/angle": Source("q_R", (_EACH, 2), "f8", "rad", "section at the nodes"),
    "ring/deflection": Source("q_R", (_EACH, slice(3, 5)), "f8", "m", "c_L, c_R of (6.1)", ("c_L", "c_R")),
    "ring/velocity": Source("u_R", (_EACH, slice(2)), "f4", "m/s", "of the nodes", _XY),
    "ring/angular_velocity": Source("u_R", (_EACH, 2), "f4", "rad/s", "of the sections"),
    "ring/deflection_rate": Source("u_R", (_EACH, slice(3, 5)), "f4", "m/s", "rates of c_L, c_R", ("c_L", "c_R")),
    "ring/tension": Source("tension", (), "f4", "N", "of the finite elements"),
    "sheaves/apex": Source("s", (_EACH, 0), "f8", "m", "axial position of the cone's apex", _PULLEYS),
    "sheaves/tilt": Source("s", (_EACH, slice(1, 3)), "f8", "rad", "about x and y, by pulley", _XY),
    "sheaves/rotation": Source("s", (_EACH, 3), "f8", "rad", "in the direction of travel", _PULLEYS),
    "sheaves/axial_velocity": Source("sd", (_EACH, 0), "f8", "m/s", "of one sheave", _PULLEYS),
    "sheaves/tilt_rate": Source("sd", (_EACH, slice(1, 3)), "f8", "rad/s", "about x and y, by pulley", _XY),
    "sheaves/speed": Source("sd", (_EACH, 3), "f8", "rad/s", "in the direction of travel", _PULLEYS),
    "sheaves/deflection": Source("deflection", (), "f8", "m", "Fourier coefficients, by pulley"),
    "pulleys/contact_force": Source("pulley", (_EACH, 0), "f8", "N", "axial, belt on one sheave, mean", _PULLEYS),
    "pulleys/clamping_force": Source("pulley", (_EACH, 1), "f8", "N", "or end stop's reaction, mean", _PULLEYS),
    "pulleys/belt_torque": Source("pulley", (_EACH, 2), "f8", "N.m", "belt on the shaft, mean", _PULLEYS),
    "pulleys/shaft_torque": Source("pulley", (_EACH, 3), "f8", "N.m", "from outside, driving +, mean", _PULLEYS),
    "pulleys/tilt_moment": Source("pulley", (_EACH, slice(4, 6)), "f8", "N.m", "by pulley, mean", _XY),
    "energy/work": Source(
        "work", (), "f8", "J", "inputs and losses since the frame before", hybrid.INPUTS + hybrid.LOSSES
    ),
    "energy/stored": Source("stored", (), "f8", "J", "stored energies", hybrid.STORED),
    "energy/rest": Source("rest", (), "f8", "J", "unaccounted for between elements and ring", _PULLEYS),
    "contacts": Source("active", (), "i8", "1", "closed", ("element-element", "element-ring", "flank")),
}
ACROSS = {  # of `spatial.model.Frames`
    "spatial/position": Source("q", (_EACH, 0), "f8", "m", "z of the centres of gravity"),
    "spatial/angle": Source("q", (_EACH, slice(1, 3)), "f8", "rad", "of the elements", ("roll", "yaw")),
    "spatial/velocity": Source("u", (_EACH, 0), "f4", "m/s", "of the centres of gravity along z"),
    "spatial/angular_velocity": Source("u", (_EACH, slice(1, 3)), "f4", "rad/s", "about the element's axes", _XY),
    "spatial/ring": Source(
        "ring", (), "f8", "SI", "by ring set, in its view: z [m], rotation [rad]", ("z", "Theta_x", "Theta_y")
    ),
    "spatial/joint": Source("joint", (), "f4", "N", "forces between element i and i + 1", EDGES),
    "spatial/saddle": Source(
        "saddle", (), "f4", "N", "ring on an element, by side",
        ("saddle", "ear", "friction", "lateral friction", "pillar", "tracking"),
    ),
    "spatial/flank": Source(
        "flank", (), "f4", "N", "by side", ("normal", "longitudinal", "radial", "axial")
    ),
    "spatial/apex": Source("s", (_EACH, _EACH, 0), "f8", "m", "axial position of the cone's apex, by side", _PULLEYS),
    "spatial/tilt": Source("s", (_EACH, _EACH, slice(1, 3)), "f8", "rad", "by side and pulley", _XY),
    "spatial/fixed_force": Source("pulley", (_EACH, 6), "f8", "N", "axial, belt on the fixed sheave, mean", _PULLEYS),
    "spatial/margin": Source("margin", (), "f8", "m", "least room of a ring, by side", ("to pillar", "to sheave")),
    "spatial/place": Source("place", (), "f8", "m", "mean z of the elements in contact", _PULLEYS),
}  # fmt: skip
ACROSS_HEAVY = ("q", "u", "ring", "joint", "saddle", "flank")  # of these: elements and rings
HEAVY = ("q", "u", "q_R", "u_R", "s_R", "joint", "saddle", "flank", "tension")  # of Frames: elements and ring
_OTHER: dict[str, tuple[str, str, tuple[str, ...]]] = {  # unit, description, columns of the other datasets per frame
    "inputs": ("SI", "boundary values", Boundary._fields),
    "passing": ("1", "place of the middle of the push span between the elements", ()),
    "elements/sigma": ("1", "place of the elements on the taut path, 0 to 4", ()),
    "spatial/exit_force": ("N", "axial, both sheaves on an element at the end of its arc, mean", _PULLEYS),
    "grid/length": ("m", "of the sections", SECTIONS),
    "grid/radius": ("m", "of the neutral fibre, mean over the arc", _PULLEYS),
    **{f"fields/{name}": (unit, about, ()) for name, (unit, about) in FIELDS.items()},
}


# --- seal


# --- journal


class Journal:
    """The blocks of a run that has not ended; close it, or use it in ``with``."""

    def __init__(self, path: Path, *, write: bool) -> None:
        """Open the journal; to `write`, with a lock against other processes.

        Raises
        ------
        InputError
            Damaged, no journal, or locked by another process.
        """
        self.path = path
        require_regular(goes_on_with(path) if write else path, None)
        try:
            self._file: BinaryIO = path.open("r+b" if write else "rb")
        except OSError as error:
            raise InputError(path, "", None, f"a file of an unfinished {KIND} ({error.strerror})") from None
        try:
            if write:
                self._hold()
            self._end, self._digest = checked(path, self._file, JOURNAL, MARK.size, KIND)
            if write:
                self._file.truncate(self._end)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @classmethod
    def create(cls, path: Path, *records: Mapping[str, Any]) -> None:
        """A journal with these records."""
        with replaced_on_success(path) as temporary:
            temporary.write_bytes(MARK.pack(JOURNAL, MARK.size, hashed().digest()))
            with cls(temporary, write=True) as journal:
                journal.path = path
                for record in records:
                    journal.add(record)

    def _hold(self) -> None:
        with suppress(ImportError):  # there are none on Windows
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(self.path, "", None, "a run that no other process writes") from None

    def add(self, record: Mapping[str, Any]) -> None:
        """Write a record; it is on the disk afterwards.

        Raises
        ------
        InputError
            It cannot be written; the records before stay.
        """
        buffer = io.BytesIO()
        np.savez(buffer, **record)
        payload = _LENGTH.pack(buffer.tell()) + buffer.getvalue()
        self._put(self._end, payload)
        self._digest.update(payload)
        self._end += len(payload)
        self._put(0, MARK.pack(JOURNAL, self._end, self._digest.digest()))

    def _put(self, at: int, data: bytes) -> None:
        try:
            self._file.seek(at)
            self._file.write(data)
            self._sync()
        except OSError as error:
            with suppress(OSError):  # it tries to write once more
                self._file.close()
            more = "; --resume continues the run in it" if self._end > MARK.size else ""
            allowed = f"a file that can be written: {error.strerror}{more}"
            raise InputError("output", "", str(self.path), allowed) from None

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def head(self) -> dict[str, Any]:
        """Attributes and texts."""
        found: dict[str, Any] = json.loads(bytes(next(self._records(), {"head": b""})["head"]))
        return found

    def blocks(self) -> Iterator[Arrays]:
        """All records but the head."""
        return islice(self._records(), 1, None)

    def _records(self) -> Iterator[Arrays]:
        at = MARK.size
        while at < self._end:
            self._file.seek(at)
            (length,) = _LENGTH.unpack(self._file.read(_LENGTH.size))
            with np.load(io.BytesIO(self._file.read(length)), allow_pickle=False) as data:
                if any(part.compress_type for part in data.zip.infolist()):  # may be much larger than the file
                    raise InputError(self.path, "", None, f"an undamaged file of a {KIND}")
                yield dict(data)
            at += _LENGTH.size + length


# --- HDF5


class Writer:
    """Writes datasets with their units into an HDF5 file."""

    def __init__(self, file: h5py.File) -> None:
        self._file = file

    def __call__(self, name: str, values: Any, unit: str, description: str, columns: tuple[str, ...] = ()) -> None:
        """A whole dataset."""
        text = isinstance(values, str)
        packed = {} if text or np.ndim(values) == 0 or np.size(values) == 0 else {"fletcher32": True}
        if np.size(values) > 500 and not text:
            packed |= {"compression": "gzip", "compression_opts": 1, "shuffle": True}  # type: ignore[dict-item]
        self._describe(self._file.create_dataset(name, data=values, **packed), unit, description, columns)

    def append(self, name: str, rows: NDArray[Any]) -> None:
        """Rows of a dataset per frame, made at the first."""
        if name not in self._file:
            chunk = (max(1, min(len(rows), 50)), *rows.shape[1:])
            data = self._file.create_dataset(
                name, (0, *rows.shape[1:]), rows.dtype, maxshape=(None, *rows.shape[1:]), chunks=chunk,
                compression="gzip", compression_opts=1, shuffle=True, fletcher32=True,
            )  # fmt: skip
            source = DATASETS.get(name) or ACROSS.get(name)
            self._describe(data, *(_OTHER[name] if source is None else source[3:]))
        data, n = self._file[name], len(self._file[name])
        data.resize(n + len(rows), axis=0)
        data[n:] = rows

    def _describe(self, data: h5py.Dataset, unit: str, description: str, columns: tuple[str, ...]) -> None:
        data.attrs["units"] = unit
        data.attrs["description"] = description
        if columns:
            data.attrs["columns"] = list(columns)


def join(file: h5py.File, journal: Journal, ended: list[int]) -> tuple[Writer, Arrays]:
    """Write head and frames of a journal, and its last state; `ended`: how each phase ended.

    Returns
    -------
    Writer, dict : for data derived from the frames; sums of the profiles of the settling
    """
    head, write = journal.head(), Writer(file)
    file.attrs.update(head["attributes"])
    for name, about in (("unit_file", "text of the unit file"), ("plan", "text of the plan")):
        write(name, head[name], "1", about)
    seen: dict[str, list[NDArray[Any]]] = {}
    phases: list[int] = []
    state: Arrays = {}
    for record in journal.blocks():
        phase = int(record["phase"])
        phases += [phase] * len(record["passing"])
        state = {}
        for name, rows in record.items():
            part, _, key = name.partition("/")
            if part == "state":
                state[f"checkpoint/{key}"] = rows
            elif part == "seen" and phase == 0:
                seen.setdefault(key, []).append(rows)
            elif part != "seen" and rows.ndim:
                write.append(name, rows)
    phase_of = np.array(phases, dtype=np.int8)
    time, crossings = np.empty(len(phases)), np.empty(len(phases))
    for k in np.unique(phase_of):
        rows = phase_of == k
        time[rows] = np.arange(1.0, rows.sum() + 1.0) + (np.sum(phase_of == 0) if k else 0)
        crossings[rows] = counted(file["passing"][()][rows], file.attrs["N_E"])
    write("time", time * file.attrs["plot_step"], "s", "time; that of a branch continues the settling's")
    write("phase", phase_of, "1", "0 settling, then the branches")
    write("ended", np.array(ended, dtype=np.int8), "1", "; ".join(ENDS))
    write("crossings", crossings, "1", "elements that have crossed the middle of the push span in the phase")
    cells = np.arange(4 * CELLS)
    write("grid/section", cells // CELLS, "1", "of a cell", SECTIONS)
    write("grid/fraction", (cells % CELLS + 0.5) / CELLS, "1", "of the section before the cell's middle")
    for name, a in state.items():
        write(name, a, "SI", f"{name.partition('/')[2]} of the model's State after the last frame")
    return write, {k: np.concatenate(a) for k, a in seen.items()}


def arrays_in(file: h5py.File) -> Arrays:
    """The columns per frame of a run without branches, and the state after them, as a record of a journal."""
    found = {k: file[k][()] for k in (*DATASETS, *ACROSS, *_OTHER) if k in file}
    return found | {f"state/{k}": a[()] for k, a in file["checkpoint"].items()}


def recording_of(file: h5py.File) -> Recording:
    """Sheaves, pulleys and energies of a run over time, as signals NAME.COLUMN; branches one after another."""
    signals: dict[str, Signal] = {}
    n = len(file["time"])
    across = {k: s for k, s in ACROSS.items() if k in file and s.field not in ACROSS_HEAVY}
    for name, source in (DATASETS | across).items():
        if name in DATASETS and (source.field in HEAVY or source.field == "deflection"):
            continue
        values = file[name][()].astype(float)
        values = values.reshape(n, math.prod(values.shape[1:]))
        columns = source.columns
        parts = values.shape[1] // len(columns)
        if parts > 1 and (parts == 4 or "by side" not in source.description):
            columns = tuple(f"{pulley}.{c}" for pulley in _PULLEYS for c in columns)
        if "by side" in source.description:
            columns = tuple(f"{side}.{c}" for side in _SIDES for c in columns)
        stem = name.replace("/", ".")
        signals |= {
            f"{stem}.{c}".replace(" ", "_"): Signal(v, source.unit, source.description)
            for c, v in zip(columns, values.T, strict=True)
        }
    dt = float(file.attrs["plot_step"])
    about = {k: file.attrs[k] for k in ("kind", "schema_version", "unit", "run")}
    return Recording(np.arange(1.0, n + 1.0) * dt, signals, about, file["unit_file"].asstr()[()])
