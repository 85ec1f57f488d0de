"""Records of arrays for kernels: an array is declared once; its zeros and its documentation follow.

A field is declared by the type of its array, its shape, its unit and its meaning::

    @declared
    class Rods(NamedTuple):
        q: Annotated[Array, ("N_R", 3), "m", "place of each rod"]

    zeros(Rods, {"N_R": 7})                       # Rods(q=zeros of the shape (7, 3))
    help(Rods)                                    # ... q (N_R, 3): place of each rod [m]

An array with a row for each element or piece, a first axis N_..., is contiguous along it, for vectorised loops over
the rows. A field that is a tuple has a length that the compiler knows.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

Record = TypeVar("Record", bound=tuple[Any, ...])


def declared(record: type[Record]) -> type[Record]:
    """Decorator of a record: its documentation is extended by its fields."""
    lines = [record.__doc__ or "", "", "Fields"]
    for name, hint in get_type_hints(record, include_extras=True).items():
        if hasattr(hint, "__metadata__"):
            shape, unit, meaning = hint.__metadata__
            lines.append(f"    {name} ({', '.join(map(str, shape))}): {meaning} [{unit}]")
        else:
            lines.append(f"    {name}: `{hint.__name__}`")
    record.__doc__ = "\n".join(lines)
    return record


def zeros(record: type[Record], sizes: Mapping[str, int], **given: Any) -> Record:
    """A record of zeros.

    Parameters
    ----------
    record : type
        Declared by `declared`; a field that is a record itself is made in the same way.
    sizes : mapping
        Values of the names in the shapes.
    **given
        Existing fields.
    """
    hints = get_type_hints(record, include_extras=True)
    return record(*(given[name] if name in given else _zeros(hint, sizes) for name, hint in hints.items()))


def _zeros(hint: Any, sizes: Mapping[str, int]) -> Any:
    """Zeros of one field."""
    if not hasattr(hint, "__metadata__"):
        return zeros(hint, sizes)
    axes = hint.__metadata__[0]
    shape = tuple(sizes[axis] if isinstance(axis, str) else axis for axis in axes)
    if get_origin(hint.__origin__) is tuple:
        return (0,) * shape[0]
    (number,) = get_args(get_args(hint.__origin__)[1])
    return np.zeros(shape, dtype=number, order="F" if str(axes[0]).startswith("N_") else "C")
