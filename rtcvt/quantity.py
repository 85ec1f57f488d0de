"""Quantities with units in unit files, and units in model descriptions, through pint.

A bare number is in SI units; a string carries its unit (``"36 mm"``, ``"2e-2 N.m/rpm"``, ``"750 kN/m"``) and is
converted. Products are written with a dot or a star. The radian counts as dimensionless.
"""

import re
from functools import cache
from typing import Any

__all__ = ["base_exponents", "factor", "is_quantity", "si_unit", "to_si", "wanted"]

_QUANTITY = re.compile(
    r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*((?![eE][-+]?\d)(?:1/)?[A-Za-zµ%][A-Za-zµ./*^0-9 -]{0,40})?\s*"
)


KINDS = {  # what is measured in an SI unit, for messages
    "1": "a number without unit",
    "m": "a length",
    "m2": "an area",
    "rad": "an angle",
    "s": "a time",
    "kg": "a mass",
    "kg.m2": "a moment of inertia",
    "kg/m3": "a density",
    "m/s": "a speed",
    "m/s2": "an acceleration",
    "rad/s": "an angular speed",
    "N": "a force",
    "N.m": "a torque",
    "N/m": "a stiffness",
    "N.s/m": "a damping",
    "N.m/rad": "a torsional stiffness",
    "N.m.s/rad": "a torsional damping",
    "Pa": "a pressure",
    "J": "an energy",
    "W": "a power",
}


def wanted(unit: str) -> str:
    """What a quantity in `unit` is, for messages: ``a length in m``."""
    kind = KINDS.get(unit, "a quantity")
    return kind if unit == "1" else f"{kind} in {unit}"


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


def _spelled(unit: str) -> str:
    """The unit as pint reads it: ``kg.m2`` is ``kg*m**2``; ``"1"`` and ``""`` are dimensionless."""
    return "" if unit.strip() in ("", "1") else re.sub(r"(?<=[A-Za-z])(?=-?\d)", "**", unit.replace(".", "*"))


def is_quantity(text: str) -> bool:
    """Whether `text` is a number, optionally followed by something that looks like a unit."""
    match = _QUANTITY.fullmatch(text)
    return match is not None and (match[2] is None or "(" not in match[2])


def to_si(value: float | str, unit: str) -> float:
    """Value in SI units, checked against the dimension of `unit`.

    Parameters
    ----------
    value : float or str
        A number in SI units, or a string with a unit.
    unit : str
        The SI unit that is expected, e.g. ``"N.m.s/rad"``.

    Raises
    ------
    ValueError
        Not a finite quantity of that dimension; the message says what is allowed.
    """
    if isinstance(value, str):
        match = _QUANTITY.fullmatch(value)
        if match is None:
            example = "" if unit == "1" else f": a number, or a text with a unit of that kind, such as '1 {unit}'"
            raise ValueError(f"{wanted(unit)}{example}")
        number = float(match[1])
        if match[2]:
            if re.search(r"(\^|\*\*)\s*-?\d+\s*(\^|\*\*)|\d{3}", match[2]):  # towers of powers take forever
                raise ValueError(f"{wanted(unit)}, whose unit has small powers")
            try:
                quantity = _registry().Quantity(number, _spelled(match[2]))
                number = float(quantity.to(_spelled(unit)).magnitude)
            except Exception:  # pint raises a dozen kinds, tokenizer errors among them
                raise ValueError(wanted(unit) + ("" if unit == "1" else ", or in a unit of that kind")) from None
    else:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
    if not abs(number) < float("inf"):
        raise ValueError(f"{wanted(unit)}, finite")
    return number


LEAST, MOST = 1e-15, 1e15  # of the numbers that describe a machine, in SI units


def of_machine(value: float | str, unit: str) -> float:
    """Value in SI units of something that describes a machine: 0, or of a size that one can have.

    Raises
    ------
    ValueError
        See `to_si`; or below `LEAST` or above `MOST`, where sums and products are not what they should be.
    """
    number = to_si(value, unit)
    if number != 0.0 and not LEAST <= abs(number) <= MOST:
        raise ValueError(f"{wanted(unit)}, 0 or of a size between {LEAST:g} and {MOST:g}")
    return number


def factor(unit: str, other: str) -> float:
    """What a value in `unit` is multiplied by to be one in the unit `other`.

    Raises
    ------
    ValueError
        Units of different kinds, or with an offset such as degrees Celsius.
    """
    try:
        zero, one = (_registry().Quantity(v, _spelled(unit)).to(_spelled(other)).magnitude for v in (0.0, 1.0))
    except Exception:  # pint raises a dozen kinds
        raise ValueError(f"a unit of the same kind as {unit}") from None
    if zero != 0.0:
        raise ValueError(f"a unit without offset, of the same kind as {unit}")
    return float(one)


def si_unit(text: str) -> str:
    """The SI unit of the geometry parameters that a quantity string can mean: ``m``, ``rad`` or ``1``."""
    for unit in ("m", "rad"):
        try:
            to_si(text, unit)
        except ValueError:
            continue
        match = _QUANTITY.fullmatch(text)
        if match is not None and match[2]:
            return unit
    return "1"


def base_exponents(unit: str) -> dict[str, int]:
    """Exponents of kg, m, s, A, K, mol, cd and rad in a unit, as FMI's ``BaseUnit`` wants them."""
    base = _registry().Quantity(1.0, _spelled(unit)).to_base_units()
    short = {
        "kilogram": "kg",
        "meter": "m",
        "second": "s",
        "ampere": "A",
        "kelvin": "K",
        "mole": "mol",
        "candela": "cd",
        "radian": "rad",
    }
    return {short[name]: int(power) for name, power in base.unit_items() if power}
