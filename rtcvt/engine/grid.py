"""Tables over two axes: read from CSV files, and looked up in kernels, bilinear in between.

A file has lines of comment, which begin with ``#``, a header with units such as ``w [rpm],pedal [1],tau [N.m]``, and
one line for each point of a full grid. In the constants of a unit a table is ``n_a, n_b``, the two axes, and the
values row by row. Outside an axis the value at its end is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import number, read_rows
from rtcvt.kernel import kernel
from rtcvt.model.places import entry
from rtcvt.unitfile import is_file, own_file

MAX_POINTS = 10_000


@dataclass(frozen=True)
class Grid:
    """Values over two axes, in SI units."""

    a: NDArray[np.float64]  # (n,) rising
    b: NDArray[np.float64]  # (m,) rising
    values: NDArray[np.float64]  # (n, m)

    def numbers(self) -> list[float]:
        """The table as an array for `lookup`."""
        return [len(self.a), len(self.b), *self.a.tolist(), *self.b.tolist(), *self.values.ravel().tolist()]


def _read(
    source: str, key: str, folder: Path, name: str, columns: Sequence[tuple[str, str]]
) -> tuple[str, list[tuple[int, tuple[float, ...]]]]:
    """Name of the file of a table, and its points with the numbers of their lines."""
    path = own_file(folder, name, f"{source}: {key}")
    if path is None:
        path = Path(str(resources.files("rtcvt"))) / "engine" / f"{name}.csv"
    if not is_file(path):
        shipped = sorted(f.stem for f in path.parent.glob("*.csv"))
        raise InputError(source, key, name, f"a CSV file, or one of the shipped tables: {', '.join(shipped)}")
    rows = read_rows(path)
    header = ",".join(f"{column} [{unit}]" for column, unit in columns)
    if not rows:
        raise InputError(path.name, "", None, f"a header such as '{header}' and a line for each point")
    factors = _factors(path.name, *rows[0], columns, header)
    return path.name, [(k, _point(path.name, k, row, factors)) for k, row in rows[1 : MAX_POINTS + 2]]


def read_grid(source: str, key: str, folder: Path, name: str, columns: Sequence[tuple[str, str]]) -> Grid:
    """Read a table: a CSV file in `folder`, or a shipped one.

    Parameters
    ----------
    source, key : str
        Unit file, and the key that names the table.
    folder : Path
        Folder of the unit file.
    name : str
        Name of the table.
    columns : sequence of (str, str)
        Names and units of the two axes and of the values.

    Raises
    ------
    InputError
        The file does not exist, or is not a table as above.
    """
    file, rows = _read(source, key, folder, name, columns)
    points: dict[tuple[float, float], float] = {}
    for k, (a, b, value) in rows:
        if (a, b) in points:
            raise InputError(file, f"line {k}", f"{a:g}, {b:g}", "each point once")
        points[a, b] = value
    axes = [np.array(sorted({point[i] for point in points})) for i in (0, 1)]
    if min(map(len, axes)) < 2 or len(points) != len(axes[0]) * len(axes[1]) or len(points) > MAX_POINTS:
        allowed = f"a full grid, at least 2 by 2 points and at most {MAX_POINTS}"
        raise InputError(file, "", f"{len(axes[0])} by {len(axes[1])}, {len(points)} points", allowed)
    return Grid(axes[0], axes[1], np.array([[points[a, b] for b in axes[1]] for a in axes[0]]))


def read_curves(source: str, key: str, folder: Path, name: str, columns: Sequence[tuple[str, str]]) -> tuple[Grid, ...]:
    """Read curves over one axis, as `read_grid` does: a table for each, constant along its second axis.

    Raises
    ------
    InputError
        There is no such file, or its first column does not rise.
    """
    file, rows = _read(source, key, folder, name, columns)
    found = np.array([point for _, point in rows]).reshape(-1, len(columns))
    if len(found) < 2 or not (np.diff(found[:, 0]) > 0.0).all() or len(found) > MAX_POINTS:
        raise InputError(file, "", f"{len(found)} points", f"at least 2 points, at most {MAX_POINTS}, in rising order")
    none = np.array([0.0, 1.0])
    return tuple(Grid(found[:, 0], none, np.column_stack([values, values])) for values in found.T[1:])


def _factors(
    source: str, line: int, row: list[str], columns: Sequence[tuple[str, str]], header: str
) -> tuple[tuple[float, float], ...]:
    """Factors and offsets from the units of the header to SI."""
    with AsInputError(ValueError, source, f"line {line}", ",".join(row), f"a header such as '{header}'"):
        cells = [cell.strip().rstrip("]").split(" [") for cell in row]
        if [name for name, _ in cells] != [name for name, _ in columns]:
            raise ValueError
        pairs = [(given, unit) for (_, given), (_, unit) in zip(cells, columns, strict=True)]
        zeros = [0.0 if given == unit else quantity.to_si(f"0 {given}", unit) for given, unit in pairs]
        return tuple(
            (1.0 if given == unit else quantity.to_si(f"1 {given}", unit) - zero, zero)
            for (given, unit), zero in zip(pairs, zeros, strict=True)
        )


def _point(source: str, line: int, row: list[str], factors: tuple[tuple[float, float], ...]) -> tuple[float, ...]:
    found = [factor * number(cell) + zero for cell, (factor, zero) in zip(row, factors, strict=False)]
    if len(row) != len(factors) or not all(abs(value) < 1e9 for value in found):
        count = {2: "two", 3: "three"}[len(factors)]
        raise InputError(source, f"line {line}", ",".join(row), f"{count} numbers below 1e9")
    return tuple(found)


# --- kernels ----------------------------------------------------------------------------------------------------------


@kernel
def cell(data, axis, n, value):
    """Index of the interval with a value, or of the nearest one; the axis has `n` numbers from ``data[axis]``."""
    k = 0
    for i in range(1, n - 1):
        if value >= data[axis + i]:
            k = i
    return k


@kernel
def share(data, lower, value):
    """Position of a value within the interval that begins at ``data[lower]``, limited to 0 to 1."""
    s = (value - data[lower]) / (data[lower + 1] - data[lower])
    if not s >= 0.0:  # at 0 the slope is that of the interval
        return 0.0
    return 1.0 if s > 1.0 else s


@kernel
def lookup(data, table, a, b):
    """Value of the table at ``data[table]``, bilinear, at `a` and `b`; exact at its points."""
    n = entry(table, data)
    i = cell(data, table + 2, n, a)
    return lookup_in(data, table, i, share(data, table + 2 + i, a), b)


@kernel
def lookup_in(data, table, i, s, b):
    """As `lookup`, with a known place on the first axis: interval `i` and position `s` within it, 0 to 1."""
    n = entry(table, data)
    m = entry(table + 1, data)
    j = cell(data, table + 2 + n, m, b)
    r = share(data, table + 2 + n + j, b)
    k = table + 2 + n + m + i * m + j
    low = (1.0 - r) * data[k] + r * data[k + 1]
    high = (1.0 - r) * data[k + m] + r * data[k + m + 1]
    return (1.0 - s) * low + s * high


@kernel
def slope(data, table, a, b, along):
    """Derivative of `lookup` to its argument on the first (`along` 0) or the second axis (1); zero outside of it."""
    n = entry(table, data)
    m = entry(table + 1, data)
    i = cell(data, table + 2, n, a)
    j = cell(data, table + 2 + n, m, b)
    k = table + 2 + n + m + i * m + j
    if along == 0:
        if a < data[table + 2] or a > data[table + 1 + n]:
            return 0.0
        r = share(data, table + 2 + n + j, b)
        rise = (1.0 - r) * data[k + m] + r * data[k + m + 1] - ((1.0 - r) * data[k] + r * data[k + 1])
        return rise / (data[table + 3 + i] - data[table + 2 + i])
    if b < data[table + 2 + n] or b > data[table + 1 + n + m]:
        return 0.0
    s = share(data, table + 2 + i, a)
    rise = (1.0 - s) * data[k + 1] + s * data[k + m + 1] - ((1.0 - s) * data[k] + s * data[k + m])
    return rise / (data[table + 3 + n + j] - data[table + 2 + n + j])
