"""Recordings in HDF5, and as CSV: signals over time with their units, and everything needed to repeat the run.

Layout: attributes ``schema_version``, ``kind``, ``rtcvt_version``, ``revision`` (git), ``created`` (UTC) and any others
given; datasets ``time`` and ``signals/NAME``, each with ``units`` and ``description``, and ``name`` if HDF5 does not
allow it (`rtcvt.files.names`); ``unit_file`` is the text of the unit file. A file is made in memory, sealed
(`rtcvt.files.hdf5`), written under a temporary name, synchronised to the disk and then renamed, so that there is never
half of one. A device or pipe is written to and never replaced.
"""

import csv
import logging
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__, processes, quantity
from rtcvt.environment import now
from rtcvt.errors import AsInputError, InputError, near
from rtcvt.files import goes_on_with, new_beside, require_unread
from rtcvt.files.hdf5 import BLOCK, MARK, Schema, hashed, new_series, open_sealed, text_in, texts_of
from rtcvt.files.names import mapped, quoted
from rtcvt.lazily import lazily

SCHEMA_VERSION = 1
UNPACKED = 512  # values of a signal up to which packing saves less than the tables of a chunk need
SEAL = b"rtcvt recording "
HDF5 = (".h5", ".hdf5")
WRITTEN = (*HDF5, ".csv")  # endings of recordings that `Recording.save` writes
DATA = (*WRITTEN, ".nc", ".fmu", ".ssp", ".toml")  # endings of files that no page may replace
ROWS = 10_000  # of a CSV file that are written in one go
_LONGEST = 200  # [bytes] of a name; temporary names are longer


@dataclass(frozen=True)
class Signal:
    """One signal over time."""

    values: NDArray[np.float64]  # (n,)
    unit: str
    description: str = ""


@dataclass(frozen=True)
class Recording:
    """Signals over time, by name and with their units: the result of a simulation or of a run.

    ``recording["shaft.w"]`` is an array [SI]. The optional packages pandas, xarray and matplotlib come with the extra
    ``data``. A run of a full pushbelt has `tables`, too: its fields, (frames, places), and the elements and ring if it
    observed them, (frames, bodies, columns), each read from the file when it is asked for.
    """

    time: NDArray[np.float64]  # (n,) [s]
    signals: dict[str, Signal]
    attributes: dict[str, Any]
    unit_file: str
    tables: Mapping[str, Signal] = field(default_factory=dict)

    def __repr__(self) -> str:
        end = f"{self.time[-1]:g} s" if len(self.time) else "nothing"
        about = self.attributes.get("unit", "")
        return f"<Recording of {about}: {len(self.signals)} signals, {len(self.time)} points up to {end}>"

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Values of a signal (n,), or of a table [SI]."""
        return self.signal(name).values

    def require_series(self, path: Path) -> "Recording":
        """Itself, if signals are as many numbers as the time has; fields and states of full models may be tables.

        Raises
        ------
        InputError
            They are not.
        """
        for name, values in (("time", self.time), *((name, s.values) for name, s in self.signals.items())):
            series = values.shape == self.time.shape and values.ndim == 1
            table = self.time.ndim == 1 and (values.ndim > 1 or (name.startswith("state.") and values.ndim > 0))
            if not (series or table) or values.dtype.kind not in "biuf":
                found = f"{values.dtype} {values.shape}"
                raise InputError(path, name, found, f"numbers over the time, {len(np.atleast_1d(self.time))} of them")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all signals."""
        return tuple(self.signals)

    def signal(self, name: str) -> Signal:
        """A signal or table with its unit and description.

        Raises
        ------
        InputError
            There is none of that name.
        """
        found = self.signals.get(name) or self.tables.get(name)
        if found is None:
            known = near(name, [*self.signals, *self.tables])
            raise InputError("recording", name, None, f"not one of its signals{known}")
        return found

    def unit(self, name: str) -> str:
        """SI unit of a signal, ``"1"`` if it has none."""
        return self.signal(name).unit

    def chosen(self, patterns: Sequence[str] = (), every: int = 1) -> "Recording":
        """Signals whose names match one of these patterns, ``"cvt.*"``, all without patterns, at each `every`-th point.

        Raises
        ------
        InputError
            A pattern that matches none.
        """
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in self.signals):
                raise InputError("recording", "signal", pattern, f"one of its signals{near(pattern, self.signals)}")
        names = [n for n in self.signals if not patterns or any(fnmatchcase(n, p) for p in patterns)]
        kept = {name: replace(self.signals[name], values=self.signals[name].values[::every]) for name in names}
        return replace(self, time=self.time[::every], signals=kept)

    def converted(self, name: str, unit: str) -> NDArray[np.float64]:
        """Values of a signal (n,) in another unit, e.g. ``"rpm"``.

        Raises
        ------
        InputError
            No such signal, or a unit of another kind.
        """
        signal = self.signal(name)
        with AsInputError(ValueError, "recording", name, unit, f"a unit of the same kind as {signal.unit}"):
            factor, offset = quantity.conversion(signal.unit, unit)
            return factor * signal.values + offset

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with the time [s] as index and a column for each signal; ``attrs["units"]`` by name."""
        pandas = optional("pandas")
        index = pandas.Index(self.time, name="time")
        frame = pandas.DataFrame({name: s.values for name, s in self.signals.items()}, index=index)
        frame.attrs["units"] = {name: s.unit for name, s in self.signals.items()}
        return frame

    def to_xarray(self) -> Any:
        """An xarray.Dataset over the coordinate ``time``; each variable has ``units`` and ``long_name``.

        A field, the signals NAME[1] to NAME[n], is also one variable NAME over ``time`` and ``cell_n``; that of a belt
        has the coordinates ``section_n`` and ``place_n``: the middle of the cell, 0 to 1 in the first section.
        """
        xarray = optional("xarray")
        found: dict[str, Any] = {
            name: ("time", s.values, {"units": s.unit, "long_name": s.description}) for name, s in self.signals.items()
        }
        coordinates: dict[str, Any] = {"time": ("time", self.time, {"units": "s"})}
        cells: dict[str, list[Signal]] = {}
        for name, s in self.signals.items():
            if (part := re.fullmatch(r"(.+)\[(\d+)\]", name)) and int(part[2]) == len(cells.get(part[1], ())) + 1:
                cells.setdefault(part[1], []).append(s)
        for name, some in cells.items():
            dim = f"cell_{len(some)}"
            placed = [re.fullmatch(r"(.+): (.+), cell (\d+) of (\d+)", s.description) for s in some]
            about = placed[0][1] if placed[0] else some[0].description
            values = np.stack([s.values for s in some], axis=-1)
            found[name] = (("time", dim), values, {"units": some[0].unit, "long_name": about})
            coordinates[dim] = (dim, np.arange(1, len(some) + 1), {"units": "1"})
            sections = [p[2] for p in placed if p]
            if len(sections) == len(some):
                order = list(dict.fromkeys(sections))
                at = [order.index(p[2]) + (int(p[3]) - 0.5) / int(p[4]) for p in placed if p]
                coordinates[f"section_{len(some)}"] = (dim, sections)
                coordinates[f"place_{len(some)}"] = (dim, at, {"units": "1", "long_name": "sections of the belt"})
        return xarray.Dataset(found, coordinates, {k: str(v) for k, v in self.attributes.items()})

    def plot(self, *names: str, title: str = "") -> Any:
        """Draw signals over time with matplotlib, by default all; returns the axes, one for each panel."""
        pyplot = optional("matplotlib.pyplot")
        return lazily("rtcvt.hil.plot:draw_on")(pyplot.figure, self, names, title)

    def save(self, path: str | Path) -> Path:
        """Write its signals: as HDF5, which `rtcvt.read` reads back, or CSV, chosen by the ending.

        Raises
        ------
        InputError
            Another ending, or the file cannot be written.
        """
        save(Path(path), self, str(self.attributes.get("kind", "simulation")))
        return Path(path)


def optional(package: str) -> Any:
    """A package of the extra ``data``."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        name = package.partition(".")[0]
        raise ModuleNotFoundError(f"this needs {name}: pip install rtcvt[data]", name=error.name) from None


@cache
def revision() -> str:
    """Git revision of the sources, with ``-dirty`` if they were changed; ``unknown`` outside a checkout."""
    folder = Path(__file__).parents[1]
    if not (folder / ".git").exists():  # installed, perhaps within a checkout of something else
        return "unknown"
    try:
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
        done = processes.run(command, timeout=5, check=True)
        return done.stdout.strip() or "unknown"
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def is_special(path: Path) -> bool:
    """Whether it is a device or a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a finished file its name once it is on the disk; a device or pipe gets its bytes instead.

    Raises
    ------
    OSError
        It cannot be written.
    """
    if is_special(path):
        with temporary.open("rb") as file, path.open("wb") as special:
            shutil.copyfileobj(file, special)
        temporary.unlink()
        return
    with temporary.open("r+b") as file:
        os.fsync(file.fileno())
    os.replace(temporary, goes_on_with(path))


def require_writable(*paths: Path | None) -> None:
    """Refuse, before long work, output files that cannot be written; None: no file.

    Raises
    ------
    InputError
        A folder, a name that is too long, a file that was read, or one in a folder that does not exist or is not
        writable.
    """
    found = [path for path in paths if path is not None]
    for path in found:
        require_unread(path)
        if len(os.fsencode(path.name)) > _LONGEST:
            raise InputError("output", "", str(path), f"a name of at most {_LONGEST} bytes")
    given = [path.resolve() for path in found if not is_special(path)]
    if len(set(given)) < len(given):
        raise InputError("output", "", str(given[0]), "a file of its own for each output")
    for path in found:
        place = str(path) if is_special(path) else os.path.join(path.parent, "")  # which a file in its place is not
        if not os.access(place, os.W_OK) or path.is_dir():
            raise InputError("output", "", str(path), "a file in an existing, writable folder")


def require_ending(path: Path | None, endings: tuple[str, ...] = WRITTEN) -> None:
    """Refuse the name of a recording that ends otherwise; devices and pipes may have any name, None is no file.

    Raises
    ------
    InputError
        It does.
    """
    if path is not None and path.suffix.lower() not in endings and not is_special(path):
        raise InputError("output", "", str(path), f"a file name that ends in {', '.join(endings)}")


def require_page(*paths: Path | None) -> None:
    """Refuse the names of pages and figures that end as files of data do, which they would replace; None is no file.

    Raises
    ------
    InputError
        One does.
    """
    for path in paths:
        if path is not None and path.suffix.lower() in DATA and not is_special(path):
            raise InputError("output", "", str(path), f"a file name that does not end in {', '.join(DATA)}")


@contextmanager
def replaced_on_success(path: Path) -> Iterator[Path]:
    """A temporary path in the folder of `path`: renamed to `path` if the block succeeds, else removed.

    Raises
    ------
    InputError
        See `require_writable`, or the error of the system.
    """
    require_writable(path)
    with written(path):
        if is_special(path):
            handle, name = tempfile.mkstemp(suffix=path.suffix)
            temporary = Path(name)
        else:
            handle, temporary = new_beside(path)
        os.close(handle)
        try:
            yield temporary
            put_in_place(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8; see `replaced_on_success`."""
    with replaced_on_success(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Raise errors of the system while writing a file as `InputError`: disk full, no rights, a name that is too
    long."""
    with AsInputError(OSError, "output", "", str(path), lambda e: f"a file that can be written: {e.strerror or e}"):
        yield


@contextmanager
def new_hdf5(path: Path, kind: bytes, libver: str | None = None) -> Iterator[h5py.File]:
    """An HDF5 file in memory that is written to `path`, sealed as of this `kind`, if the block succeeds: HDF5 does not
    survive a full disk.

    Raises
    ------
    InputError
        The file cannot be written; no partial file remains.
    """
    require_writable(path)
    with h5py.File(path.name, "w", driver="core", backing_store=False, userblock_size=BLOCK, libver=libver) as file:
        yield file
        file.flush()
        image = file.id.get_file_image()  # without the user block
    mark = MARK.pack(kind, BLOCK + len(image), hashed(image).digest())
    with replaced_on_success(path) as temporary, temporary.open("wb") as target:
        target.write(mark.ljust(BLOCK, b"\0"))
        target.write(image)


def save(path: Path, recording: Recording, kind: str) -> None:
    """Write a recording in the format of its ending: HDF5, or CSV with a column ``NAME [UNIT]`` for each series. Names
    that a table cannot have are changed, with a message, and names that begin as a formula are quoted
    (`rtcvt.files.names`).

    Raises
    ------
    InputError
        Another ending, or the file cannot be written.
    """
    require_ending(path)
    if path.suffix.lower() != ".csv":
        write_recording(path, recording, kind)
        return
    series = {k: s for k, s in recording.signals.items() if s.values.shape == recording.time.shape}
    columns = [recording.time, *(s.values for s in series.values())]
    called = mapped(series, "csv", ("time", "t"))
    for name in (name for name in called if called[name] != name):
        logging.getLogger("rtcvt").warning("%s: %r is the column %s", path.name, name, called[name])
    with replaced_on_success(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["time [s]", *(quoted(f"{called[name]} [{s.unit}]") for name, s in series.items())])
        for k in range(0, len(recording.time), ROWS):
            rows.writerows(np.column_stack([c[k : k + ROWS] for c in columns]).tolist())


def write_recording(path: Path, recording: Recording, kind: str) -> None:
    """Write a recording; `kind` is its origin, e.g. ``simulation`` or ``real-time run``.

    Raises
    ------
    InputError
        The file cannot be written; no partial file remains.
    """
    with new_hdf5(path, SEAL) as file:
        stamp = now().isoformat(timespec="seconds")
        own = {"schema_version": SCHEMA_VERSION, "kind": kind, "rtcvt_version": __version__, "revision": revision()}
        file.attrs.update({**recording.attributes, **own, "created": stamp})
        packed = len(recording.time) > UNPACKED
        new_series(file, "time", recording.time, series_texts("time", "time", "s", "time"), packed=packed)
        group = file.create_group("signals")
        for name, called in mapped(recording.signals, "hdf5").items():
            signal = recording.signals[name]
            texts = series_texts(name, called, signal.unit, signal.description)
            new_series(group, called, signal.values, texts, packed=packed)
        file["unit_file"] = recording.unit_file
        file["unit_file"].attrs["units"] = "1"


def series_texts(name: str, called: str, unit: str, description: str) -> dict[str, str]:
    """Attributes of a signal's dataset, with the name of the signal if the dataset has another one."""
    return {"units": unit, "description": description} | ({"name": name} if called != name else {})


def signal_about(data: h5py.h5d.DatasetID, key: str) -> tuple[str, str, str]:
    """Name, unit and description of the signal in a dataset.

    Raises
    ------
    KeyError
        Unit or description are missing; and see `texts_of`.
    """
    name, unit, description = texts_of(data, "name", "units", "description")
    if unit is None or description is None:
        raise KeyError(f"{key}: units and description")
    return key if name is None else name, unit, description


def read_recording(path: Path) -> Recording:
    """Read a recording back.

    Raises
    ------
    InputError
        Damaged, or not a recording of a schema version that this release knows.
    """
    with open_sealed(path, SEAL, "recording") as file:
        return recording_in(file, path)


def recording_in(file: h5py.File, path: Path, rows: int | None = None) -> Recording:
    """Read the first `rows` of an open file, all by default.

    Raises
    ------
    InputError
        Not a recording of a schema version that this release knows.
    """
    Schema("recording", SCHEMA_VERSION, "rtcvt simulate or rtcvt run").require(file.attrs, path, kind=False)
    if "time" not in file or "signals" not in file:
        raise InputError(path, "", None, "a recording, with time and signals")
    signals = {}
    group = file["signals"].id
    for key in group:
        data = h5py.h5o.open(group, key)
        name, unit, description = signal_about(data, key.decode())
        values = np.empty(data.shape, dtype=data.dtype)
        data.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
        signals[name] = Signal(values[:rows] if values.ndim else values[()], unit, description)
    return Recording(file["time"][:rows], signals, dict(file.attrs), text_in(file, "unit_file"))
