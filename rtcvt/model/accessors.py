"""Kernels that read places and sizes in the constants of a unit, made from one line each (`rtcvt.table.Places`).

A module of places is a table of them::

    gears = whole("gears", D.N_J)
    element = row("element", D.ELEMENT, Element)
    first_gear = member("first_gear", element, Element.A)

The functions below with a leading underscore are their patterns. ``AT``, ``SIZE``, ``MEMBER``, ``place`` and ``count``
are what each has of its own.
"""

from types import FunctionType
from typing import Any

from rtcvt.kernel import kernel
from rtcvt.table import Places, Rows

AT = SIZE = MEMBER = 0


def place(k, data):
    """Of the accessor."""
    return 0


def count(data):
    """Of the accessor."""
    return 0


def _whole(data):
    return int(data[AT])


def _row(k, data):
    return int(data[AT]) + SIZE * k


def _block(k, data):
    return int(data[AT]) + k * count(data)


def _listed(k, data):
    return int(data[int(data[AT]) + k])


def _member(k, data):
    return int(data[place(k, data) + MEMBER])


def _field(i, data):
    return int(data[i + MEMBER])


def _value(k, p, data):
    return p[int(data[AT]) + k]


def whole(name: str, at: Places) -> Any:
    """``name(data)``: a size, or a place in a buffer."""
    return _made(_whole, name, at, AT=at)


def row(name: str, at: Places, size: int | type[Places] | type[Rows] = 1) -> Any:
    """``name(k, data)``: place of the k-th row of a block whose place is at `at`; `size` numbers, or members, each."""
    return _made(_row, name, at, AT=at, SIZE=size if isinstance(size, int) else len(size))


def block(name: str, at: Places, count: Any) -> Any:
    """``name(k, data)``: place of the k-th row, which has ``count(data)`` numbers."""
    return _made(_block, name, at, AT=at, count=count)


def listed(name: str, at: Places) -> Any:
    """``name(k, data)``: the k-th whole number of the list in `data` whose place is at `at`."""
    return _made(_listed, name, at, AT=at)


def member(name: str, place: Any, of: Places) -> Any:
    """``name(k, data)``: a member, a whole number, of the record in `data` that begins at ``place(k, data)``."""
    return _made(_member, name, of, MEMBER=of, place=place)


def field(name: str, of: Places) -> Any:
    """``name(i, data)``: a member, a whole number, of the record in `data` that begins at i."""
    return _made(_field, name, of, MEMBER=of)


def value(name: str, at: Places) -> Any:
    """``name(k, p, data)``: the k-th of the parameters whose first one's place is at `at`."""
    return _made(_value, name, at, AT=at)


def _made(pattern: Any, name: str, at: Places, **own: Any) -> Any:
    """A copy of a pattern with its own values, in the module of its table and described by the entry that it reads."""
    numbers = {key: int(each) if isinstance(each, int) else each for key, each in own.items()}
    copied = FunctionType(pattern.__code__, {"__name__": type(at).__module__, **numbers}, name)
    copied.__qualname__, copied.__doc__ = name, f"{at.text[0].upper()}{at.text[1:]}."
    return kernel(copied)
