"""Recordings in HDF5: signals over time with their units, and all that is needed to repeat the run.

Layout: attributes ``schema_version``, ``kind``, ``rtcvt_version``, ``revision`` (git), ``created`` (UTC) and any others
given; datasets ``time`` and ``signals/NAME``, each with ``units`` and ``description``; ``unit_file`` holds the text of
the unit file. A file is written under a temporary name and then renamed, so that there is never half of one.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.errors import InputError

__all__ = [
    "Recording",
    "Signal",
    "read_recording",
    "replaced_on_success",
    "require_writable",
    "revision",
    "write_recording",
]

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Signal:
    """One signal over time."""

    values: NDArray[np.float64]  # (n,)
    unit: str
    description: str = ""


@dataclass(frozen=True)
class Recording:
    """What a recording holds."""

    time: NDArray[np.float64]  # (n,) [s]
    signals: dict[str, Signal]
    attributes: dict[str, Any]
    unit_file: str


@cache
def revision() -> str:
    """Git revision of the sources, with ``-dirty`` if they were changed; ``unknown`` outside a checkout."""
    try:
        folder = Path(__file__).parent
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
        return done.stdout.strip() or "unknown"
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def require_writable(*paths: Path | None) -> None:
    """Refuse, before long work, output files that cannot be written; None stands for no file.

    Raises
    ------
    InputError
        A folder, or a file in a folder that does not exist or is not writable.
    """
    given = [path.resolve() for path in paths if path is not None]
    if len(set(given)) < len(given):
        raise InputError("output", "", str(given[0]), "a file of its own for each output")
    for path in paths:
        if path is not None and (path.is_dir() or not os.access(path.parent, os.W_OK)):
            raise InputError("output", "", str(path), "a file in an existing, writable folder")


@contextmanager
def replaced_on_success(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place if the block succeeds and is removed if it does not.

    Raises
    ------
    InputError
        See `require_writable`.
    """
    require_writable(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError("output", "", str(path), f"a file that can be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_recording(path: Path, recording: Recording, kind: str) -> None:
    """Write a recording; `kind` says what made it, e.g. ``simulation`` or ``real-time run``.

    Raises
    ------
    InputError
        The file cannot be written; nothing is left behind.
    """
    with replaced_on_success(path) as temporary, h5py.File(temporary, "w") as file:
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        file.attrs.update(
            schema_version=SCHEMA_VERSION,
            kind=kind,
            rtcvt_version=__version__,
            revision=revision(),
            created=stamp,
            **recording.attributes,
        )
        _write_series(file, "time", Signal(recording.time, "s", "time"))
        for name, signal in recording.signals.items():
            _write_series(file, f"signals/{name}", signal)
        file["unit_file"] = recording.unit_file
        file["unit_file"].attrs["units"] = "1"


def _write_series(file: h5py.File, name: str, signal: Signal) -> None:
    data = file.create_dataset(name, data=signal.values, compression="gzip", compression_opts=1, shuffle=True)
    data.attrs["units"] = signal.unit
    data.attrs["description"] = signal.description


def read_recording(path: Path) -> Recording:
    """Read a recording back.

    Raises
    ------
    InputError
        Not a recording of a schema version that this release knows.
    """
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("schema_version") != SCHEMA_VERSION or "time" not in file or "signals" not in file:
                raise InputError(
                    path,
                    "schema_version",
                    str(file.attrs.get("schema_version")),
                    f"a recording of schema version {SCHEMA_VERSION}",
                )
            signals = {
                name: Signal(data[()], str(data.attrs["units"]), str(data.attrs["description"]))
                for name, data in file["signals"].items()
            }
            text = file["unit_file"][()]
            return Recording(file["time"][()], signals, dict(file.attrs), text.decode() if text else "")
    except OSError as error:
        raise InputError(path, "", None, f"an HDF5 recording ({error})") from None
