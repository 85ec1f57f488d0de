"""Tables of variables: a row declares a variable, and its place in a buffer is its place in the table.

The rows of a buffer are an enumeration, whose members are integers with which kernels index it::

    class Y(Rows):
        V = Row("belt.v", "m/s", "speed of the belt", nominal=10.0)
        E = Row("storage.E", "J", "stored energy", 0.0, books=Books.STORED)

    y[Y.V] = ...                                   # in a kernel
    table.each("output", Y)                         # where the model is built

A row of quantities that a unit has several of has fields, ``Row("{pulley}.J", ...)``, which are filled in for each
item; its place counts from that of the first row of its item. The constants ``data`` of a unit begin with a header of
sizes and places, followed by its tables.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError, ask_about_friction, near, too
from rtcvt.model import Books, Causality, Variable

STORED, SUPPLY, POWER, LOSS, HELD_LOSS, MOTION = Books  # for `Row.books`


class Row(NamedTuple):
    """A variable of a unit, whose name and text may have fields in braces."""

    name: str
    unit: str  # SI, "1" if dimensionless
    text: str
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None  # None: the start value's absolute value
    display: str | None = None
    boolean: bool = False
    tunable: bool = False  # a parameter that may change while the unit runs
    choices: tuple[str, ...] = ()
    set_point: bool = False  # an input that a controller follows
    usual: float | None = None  # of a coefficient of friction: the largest usual value; larger ones need a confirmation
    books: Books | None = None  # of an output: its role in the energy balance
    floor: str = ""  # of a parameter: another one that it is not below

    @classmethod
    def speed(cls, name: str, text: str) -> "Row":
        """The row of an angular speed that is shown in revolutions per minute."""
        return cls(name, "rad/s", text, nominal=100.0, display="rpm")

    @classmethod
    def flag(cls, name: str, text: str) -> "Row":
        """The row of a Boolean."""
        return cls(name, "1", text, boolean=True)


TINY = 1e-9  # least value of a quantity that must be above zero
TOO_COARSE = Row(
    "status.step_too_coarse",
    "1",
    "the step is too coarse: its estimated error is above the bound even if it is made in sixteenths",
    boolean=True,
)


class Places(IntEnum):
    """Places in an array, numbered in their order; each is declared by the description of its entry.

    Places of a header are its entries. The place of a block of scratch in ``work`` also has the size of the block, as a
    function of the other entries by name.
    """

    text: str
    block: Callable[[SimpleNamespace], int] | None

    def __new__(cls, text: str, block: Callable[[SimpleNamespace], int] | None = None) -> "Places":
        """Number the next member."""
        member = int.__new__(cls, len(cls.__members__))
        member._value_ = len(cls.__members__)
        member.text, member.block = text, block
        return member


class Rows(IntEnum):
    """Rows of a buffer, numbered in their order."""

    row: Row

    def __new__(cls, *row: object, **more: object) -> "Rows":
        """Number the next member."""
        member = int.__new__(cls, len(cls.__members__))
        member._value_ = len(cls.__members__)
        member.row = Row(*row, **more)  # type: ignore[arg-type]
        return member


class Constants:
    """``data`` of a unit while it is written, and the places of its scratch."""

    def __init__(self, header: type[Places]) -> None:
        self._header = header
        self.numbers: list[float] = [0.0] * len(header)

    def __setitem__(self, entry: Places, value: float) -> None:
        self.numbers[entry] = float(value)

    def __getitem__(self, entry: Places) -> float:
        return self.numbers[entry]

    def table(self, entry: Places, numbers: Iterable[float]) -> None:
        """Append a table and note its place."""
        self[entry] = len(self.numbers)
        self.numbers += numbers

    def fill(self, multiple: int) -> None:
        """Append zeros, so that the next table begins at a multiple."""
        self.numbers += [0.0] * (-len(self.numbers) % multiple)

    def place_blocks(self) -> int:
        """Set the places of the blocks of scratch, one after another; returns the size of ``work``."""
        known = SimpleNamespace(**{entry.name: int(self[entry]) for entry in self._header})
        place = 0
        for entry in self._header:
            if entry.block is not None:
                self[entry] = place
                place += entry.block(known)
        return place

    def array(self) -> NDArray[np.float64]:
        """The constants as an array for the model."""
        return np.array(self.numbers, dtype=float)


class Table:
    """Variables of a unit while they are written, in the order of the buffers."""

    def __init__(self) -> None:
        self._rows: dict[Causality, list[Variable]] = {"parameter": [], "input": [], "output": [], "state": []}
        self._hidden: set[str] = set()

    def add(
        self,
        causality: Causality,
        row: Row | Rows,
        start: float | None = None,
        fields: Mapping[str, object] | None = None,
        nominal: float | None = None,
    ) -> int:
        """Append a variable; returns its place in its buffer.

        Parameters
        ----------
        causality : str
            Causality of the variable.
        row : Row or member of `Rows`
            Its declaration.
        start : float, optional
            Its start value [SI].
        fields : mapping, optional
            Values of the fields in name and text.
        nominal : float, optional
            Instead of the row's.
        """
        row = row.row if isinstance(row, Rows) else row
        rows = self._rows[causality]
        name, text = (part.format_map(fields or {}) for part in (row.name, row.text))
        start = None if start is None else float(start)
        nominal = nominal or row.nominal or abs(start or 0.0) or None
        rows.append(
            Variable(name, causality, len(rows), row.unit, text, start, row.minimum, row.maximum, nominal, row.display,
                     row.boolean, row.tunable, row.choices, set_point=row.set_point, books=row.books, floor=row.floor)
        )  # fmt: skip
        return len(rows) - 1

    def hide(self, row: Row | Rows, value: float) -> None:
        """Append a parameter that is no variable of this unit."""
        place = self.add("parameter", row, value)
        self._hidden.add(self._rows["parameter"][place].name)

    def take(self, v: Variable, **changed: object) -> int:
        """Append a variable of another table, with other fields; returns its place."""
        rows = self._rows[v.causality]
        rows.append(replace(v, index=len(rows), **changed))  # type: ignore[arg-type]
        return len(rows) - 1

    def each(
        self, causality: Causality, rows: Iterable[Row | Rows], items: Iterable[Mapping[str, object]] = ({},)
    ) -> int:
        """Append all rows for the first item, then for the next one; returns the place of the first variable."""
        place = self.size(causality)
        declared = tuple(rows)
        for fields in items:
            for row in declared:
                self.add(causality, row, fields=fields)
        return place

    def parameters(self, row: Row | Rows, values: Sequence[float], items: Iterable[Mapping[str, object]]) -> int:
        """Append one parameter for each item; returns the place of the first."""
        place = self.size("parameter")
        for value, fields in zip(values, items, strict=True):
            self.add("parameter", row, value, fields)
        return place

    def size(self, causality: Causality) -> int:
        """Number of variables of a causality so far."""
        return len(self._rows[causality])

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Parameters, inputs and outputs."""
        shown = (v for v in self._rows["parameter"] if v.name not in self._hidden)
        return (*shown, *self._rows["input"], *self._rows["output"])

    @property
    def states(self) -> tuple[Variable, ...]:
        """States."""
        return tuple(self._rows["state"])

    @property
    def p(self) -> NDArray[np.float64]:
        """Default parameters."""
        return np.array([v.start for v in self._rows["parameter"]], dtype=float)


def require_keys(source: str, given: Collection[str], known: Mapping[str, Row]) -> None:
    """Refuse a table ``[parameters]`` with missing or unknown keys; one message names all of them.

    Raises
    ------
    InputError
        A parameter is missing or unknown.
    """
    unknown = [key for key in given if key not in known]
    missing = [key for key in known if key not in given]
    if not (unknown or missing):
        return
    key = (unknown or missing)[0]
    if unknown:
        allowed = f"not one of its parameters{near(key, known)}"
    else:
        allowed = f"this key is required: {known[key].text} [{known[key].unit}]"
    allowed += too("unknown", unknown[1:])
    allowed += too("missing", (f"{k} [{known[k].unit}]" for k in missing if k != key))
    raise InputError(source, f"parameters.{key}", None, allowed)


def given_values(source: str, given: Mapping[str, float | str], rows: Iterable[Rows]) -> Iterator[tuple[Rows, float]]:
    """Rows and values [SI] of parameters that a unit file gives by the last part of their names, all of them.

    Raises
    ------
    InputError
        A parameter is missing, unknown, or out of range.
    """
    known = {place.row.name.partition(".")[2]: place for place in rows}
    require_keys(source, given, {key: place.row for key, place in known.items()})
    for key, place in known.items():
        row, value = place.row, given[key]
        with AsInputError(ValueError, source, f"parameters.{key}", value, str):
            number = quantity.of_machine(value, row.unit)
        if row.minimum is not None and number < row.minimum:
            raise InputError(source, f"parameters.{key}", value, f"at least {quantity.shown(row.minimum, row.unit)}")
        if row.maximum is not None and number > row.maximum:
            raise InputError(source, f"parameters.{key}", value, f"at most {quantity.shown(row.maximum, row.unit)}")
        if row.usual is not None:
            ask_about_friction(source, f"parameters.{key}", number, row.usual)
        yield place, number
