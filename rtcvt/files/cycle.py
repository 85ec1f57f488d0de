"""Driving cycles: tables of speed over time in CSV files.

Lines that begin with ``#`` name the source of the numbers. Then follow a header with units, ``t [s],v [km/h]``, and one
line per point. Times begin at zero and rise.
"""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import TIMES, misplaced, number, read_rows, read_text
from rtcvt.unitfile import ending, is_file, own_file

LATEST = 1e9  # time of a point [s]


@dataclass(frozen=True)
class DrivingCycle:
    """Speeds over time, linear in between; two of one time are those before and after a jump."""

    name: str
    time: NDArray[np.float64]  # (n,) [s], from 0 on
    v: NDArray[np.float64]  # (n,) [m/s]
    source: str  # the comment lines of its file

    @property
    def way(self) -> NDArray[np.float64]:
        """Way to each point [m], shape (n,)."""
        return np.append(0.0, np.cumsum(0.5 * (self.v[1:] + self.v[:-1]) * np.diff(self.time)))


def shipped_cycles() -> dict[str, Path]:
    """Names and files of the driving cycles that come with the package."""
    folder = Path(str(resources.files("rtcvt"))) / "cycles"
    return {f.stem: f for f in sorted(folder.glob("*.csv"))}


def load_cycle(name: str | Path, folder: Path | None = None, by: str = "cycle") -> DrivingCycle:
    """Read a driving cycle: a CSV file, or the name of a shipped one.

    With a `folder`, the name is from a file in it, and only files in this folder are found, see `own_file`.

    Raises
    ------
    InputError
        There is no such file, or it is not a table as above.
    """
    own = Path(name) if folder is None else own_file(folder, str(name), by)
    path = own if own is not None and is_file(own) else shipped_cycles().get(str(name))
    if path is None:
        where = "" if folder is None else " in the folder of this one"
        guess = ending((folder or Path()) / name, ".csv")
        allowed = f"a CSV file{where}, or one of the shipped cycles: {', '.join(shipped_cycles())}{guess}"
        source, _, key = by.partition(": ")
        raise InputError(source, key, str(name), allowed)
    comments = [line.lstrip("# ") for line in read_text(path, True).splitlines() if line.startswith("#")]
    rows = read_rows(path)
    if not rows:
        raise InputError(path.name, "", None, "a header 't [s],v [km/h]' and at least two points")
    factors = _header(path.name, *rows[0])
    points = [_point(path.name, k, row, factors) for k, row in rows[1:]]
    if len(points) < 2:
        raise InputError(path.name, "", None, "at least two points")
    t, v = np.array(points).T
    if (wrong := 0 if t[0] != 0.0 else misplaced(t.tolist())) is not None:
        line, row = rows[1 + wrong]
        raise InputError(path.name, f"line {line}", ",".join(row), f"times that begin at 0; {TIMES}")
    return DrivingCycle(path.stem, t, v, "\n".join(comments))


def _header(source: str, line: int, row: list[str]) -> tuple[float, float]:
    """Conversion factors of the time and the speed column to SI."""
    with AsInputError(ValueError, source, f"line {line}", ",".join(row), "a header such as 't [s],v [km/h]'"):
        (first, of_time), (second, of_speed) = (cell.strip().rstrip("]").split(" [") for cell in row)
        if (first, second) != ("t", "v"):
            raise ValueError
        return quantity.to_si(f"1 {of_time}", "s"), quantity.to_si(f"1 {of_speed}", "m/s")


def _point(source: str, line: int, row: list[str], factors: tuple[float, float]) -> tuple[float, float]:
    found = [factor * number(cell) for cell, factor in zip(row, factors, strict=False)]
    if len(row) != 2 or not (abs(found[0]) <= LATEST and 0.0 <= found[1] < 1e3):
        allowed = f"a time, at most {LATEST:g} s, and a speed, not negative, below 1000 m/s"
        raise InputError(source, f"line {line}", ",".join(row), allowed)
    return found[0], found[1]
