"""Quantities with units in unit files, in model descriptions and at every border, through pint.

A bare number is in SI units; a string carries its unit (``"36 mm"``, ``"2e-2 N.m/rpm"``, ``"750 kN/m"``) and is
converted. Products are written with a dot or a star, powers as ``m2``, ``m^2`` or ``m²``. The radian counts as
dimensionless, with two exceptions: if the other side is in radians, ``1/min`` and ``Hz`` count revolutions, as a
tachometer does, and ``1/s`` is rad/s, as in SI; and an angle is no ratio, a ratio in % no angle: a slope is the tangent
of its angle.

`OWN` are units as engineers write them, which pint lacks or reads as something else. A model description of FMI
may define units itself: those are a `Unit`, too.
"""

import math
import re
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, NamedTuple

__all__ = [
    "Unit", "base_exponents", "base_unit", "conversion", "defined", "difference", "is_quantity", "is_torque",
    "known_unit", "shown", "si_of", "si_unit", "spelled", "to_si", "wanted",
]  # fmt: skip

_QUANTITY = re.compile(
    r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*"
    r"((?![eE][-+]?[0-9])(?:1/|/(?=(?:min|[hs])\b))?[A-Za-zµ%][A-Za-zµ_./*^0-9() -]{0,40})?\s*"
)
_SIGNS = str.maketrans({
    "μ": "µ", "·": ".", "⋅": ".", "∙": ".", "×": "*", "−": "-", "⁻": "-", "℃": "degC", "\u2126": "ohm", "\u03a9": "ohm",
    "‰": "permille", "°": "deg", "′": "arcmin", "″": "arcsec", **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)),
})  # fmt: skip
OWN = """
    newton_meter = newton * meter = Nm
    newton_meter_second = newton * meter * second = Nms
    newton_millimeter = newton * millimeter = Nmm
    newton_centimeter = newton * centimeter = Ncm
    newton_second = newton * second = Ns
    watt_second = watt * second = Ws
    revolution = 2 * pi * radian = rev = r = U = Umdr = tr
    revolutions_per_minute = revolution / minute = rpm = RPM = Upm
    metric_horsepower = 735.49875 * watt = PS
    crank_angle = degree = degCA
"""
_TERA_REVOLUTION = re.compile(r"(?<![A-Za-z])([EGMPTZacdfkmnpzµ]r|[A-Zacdfhkmnpyzµ]U|da[rU])(?![A-Za-z])")  # and others
_TURNS = ("minute", "hour", "hertz")  # units of time in which revolutions are counted


class Unit(NamedTuple):
    """A unit: a value in SI base units is ``factor * value + offset``."""

    name: str
    exponents: tuple[tuple[str, float], ...]  # of kg, m, s, A, K, mol, cd, rad, those that are not 0, sorted
    factor: float = 1.0
    offset: float = 0.0
    turns: bool = False  # counts revolutions, without an angle in its dimensions
    relative: bool = False  # for differences: without offset
    others: tuple["Unit", ...] = ()  # defined in the same description, which precede those known here

    @property
    def angle(self) -> float:
        """Exponent of rad."""
        return dict(self.exponents).get("rad", 0.0)


KINDS = {  # quantity of an SI unit, for messages
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
    """Description of a quantity in `unit` for messages: ``a length in m``."""
    kind = KINDS.get(unit, "a quantity")
    return kind if unit == "1" else f"{kind} in {unit}"


_BASE = {"kilogram": "kg", "meter": "m", "second": "s", "ampere": "A", "kelvin": "K", "mole": "mol", "candela": "cd",
         "radian": "rad"}  # fmt: skip


@cache
def _registry() -> Any:
    import pint

    found: Any = pint.UnitRegistry(on_redefinition="ignore")
    for line in OWN.strip().splitlines():
        found.define(line.strip())
    return found


def spelled(text: str) -> str:
    """A unit or quantity in the signs that are read here: ``N·m²`` as ``N.m2``, ``°C`` as ``degC``."""
    return re.sub(r"\bdeg (?=[CF]$)", "deg", re.sub("^/", "1/", text.translate(_SIGNS).strip()))


def _for_pint(unit: str) -> str:
    """The unit as pint reads it: ``kg.m2`` is ``kg*m**2``; ``"1"`` and ``""`` are dimensionless."""
    text = spelled(unit)
    if _TERA_REVOLUTION.search(text):
        raise ValueError(f"a unit that is known here, not '{text}'")
    return "" if text in ("", "1", "-") else re.sub(r"(?<=[A-Za-z)])(?=-?[0-9])", "**", text.replace(".", "*"))


@cache
def known_unit(text: str) -> Unit:
    """A unit by its text.

    Raises
    ------
    ValueError
        Not known here, or with powers that are no small integers.
    """
    text = spelled(text)
    plain = re.fullmatch(r"|-|(?:1/)?[A-Za-zµ%(][A-Za-zµ./*^0-9() -]{0,60}|1", text)
    if plain is None or re.search(r"(\^|\*\*)\s*-?\d+\s*(\^|\*\*)|\d{3}", text):  # towers of powers need forever
        raise ValueError(f"a unit that is known here, not '{text}'")
    try:
        unit = _registry().Unit(_for_pint(text))
        zero, one, two = (_registry().Quantity(v, unit).to_base_units() for v in (0.0, 1.0, 2.0))
        found = {_BASE[name]: float(power) for name, power in one.unit_items() if power}
    except Exception:  # pint raises a dozen kinds, tokenizer errors among them
        raise ValueError(f"a unit that is known here, not '{text}'") from None
    factor, offset = float(one.magnitude), float(zero.magnitude)
    if abs(offset + 2.0 * (factor - offset) - float(two.magnitude)) > 1e-9 * abs(float(two.magnitude)):
        raise ValueError(f"a unit without logarithm, not '{text}'")
    if offset:
        factor = float(f"{factor - offset:.12g}")
    turns = "rad" not in found and any(name.endswith(_TURNS) for name in dict(unit._units))
    return Unit(text, tuple(sorted(found.items())), factor, offset, turns)


def defined(name: str, exponents: dict[str, int], factor: float, offset: float) -> Unit:
    """A unit as a model description defines it. Its name shows what many descriptions leave out: that it counts
    revolutions, or that there is an angle in it.

    Raises
    ------
    ValueError
        Factor or offset are not finite, or the factor is 0.
    """
    if not (math.isfinite(factor) and math.isfinite(offset) and factor):
        raise ValueError("a unit with a finite factor, not 0, and a finite offset")
    found = tuple(sorted((base, float(n)) for base, n in exponents.items() if n))
    turns = found == (("s", -1.0),) and any(math.isclose(factor, 1.0 / n, rel_tol=1e-6) for n in (60, 3600))
    if not exponents.get("rad"):
        with suppress(ValueError):
            named = known_unit(name)
            plain = named.factor / (2.0 * math.pi) ** named.angle
            turns = turns or ((named.turns or named.angle != 0.0) and math.isclose(factor, plain, rel_tol=1e-6))
            if _plain_kind(named) == found and math.isclose(factor, named.factor, rel_tol=1e-6):
                found = named.exponents
    return Unit(spelled(name), found, factor, offset, turns)


def difference(unit: "str | Unit") -> "str | Unit":
    """The unit of differences in `unit`, which have no offset: 3 °C are 3 K."""
    with suppress(ValueError):
        return (known_unit(unit) if isinstance(unit, str) else unit)._replace(relative=True)
    return unit


def is_close(unit: Unit) -> bool:
    """Whether a unit equals, but for rounding, the unit of its name here."""
    try:
        factor, offset = conversion(known_unit(unit.name), unit._replace(name="\0", others=()))
    except ValueError:
        return False
    return math.isclose(factor, 1.0, rel_tol=1e-3) and abs(offset) <= 1e-3 * abs(unit.offset)


def _own(name: str, unit: Unit) -> Unit | None:
    """The unit that the description of `unit` defines by a name, if any. Names of units that do not occur in machines,
    such as C and kT, are free.

    Raises
    ------
    ValueError
        The name has another meaning here.
    """
    own = next((u for u in (unit, *unit.others) if spelled(u.name) == spelled(name)), None)
    if own is None or is_close(own) or not _is_of_machines(own.name):
        return own
    raise ValueError(f"a number without unit, or in another one: the description of the FMU has another {own.name}")


@cache
def _is_of_machines(name: str) -> bool:
    with suppress(ValueError):
        return _plain_kind(known_unit(name)) in {_plain_kind(known_unit(unit)) for unit in (*KINDS, "K")}
    return False


def _plain_kind(unit: Unit) -> tuple[tuple[str, float], ...]:
    return tuple((base, n) for base, n in unit.exponents if base != "rad")


def _angle_for_ratio(source: Unit, target: Unit) -> str:
    """Text of what is allowed if one of two units is an angle and the other a ratio; else empty.

    A bare number is an angle in rad.
    """
    if _plain_kind(source) or _plain_kind(target) or source.angle == target.angle:
        return ""
    if not target.angle:
        return "a number without unit or in %, not an angle (a slope is its tangent: 30 deg are 57.74 %)"
    return "" if source.factor == 1.0 else f"{wanted('rad')}, or in a unit of that kind such as deg"


def conversion(source: "str | Unit", target: "str | Unit") -> tuple[float, float]:
    """Factor and offset that convert a value in `source` to one in `target`.

    Raises
    ------
    ValueError
        Units of different kinds, or an unknown unit; the message names what is allowed.
    """
    names = [spelled(u if isinstance(u, str) else u.name) for u in (source, target)]
    if isinstance(target, Unit):
        source = _own(names[0], target) or source
    if names[0] == names[1]:
        return 1.0, 0.0
    a, b = (known_unit(u) if isinstance(u, str) else u for u in (source, target))
    if _plain_kind(a) != _plain_kind(b):
        raise ValueError(f"a unit of the same kind as {names[1]}")
    if mixed := _angle_for_ratio(a, b):
        raise ValueError(mixed)
    turn = 2.0 * math.pi
    k = 1.0
    if a.turns and b.angle:
        k = turn**b.angle
    elif b.turns and a.angle:
        k = turn**-a.angle
    factor = k * a.factor / b.factor
    if not 0.0 < abs(factor) < math.inf:
        raise ValueError(f"a unit of a size like that of {names[1]}")
    near = round(factor)
    if near and math.isclose(factor, near, rel_tol=1e-14):
        factor = float(near)
    return factor, 0.0 if a.relative or b.relative else (a.offset - b.offset) / b.factor


def base_unit(unit: "str | Unit") -> dict[str, str]:
    """Attributes of FMI's and SSP's ``BaseUnit``: exponents, and factor and offset unless 1 and 0."""
    found = known_unit(unit) if isinstance(unit, str) else unit
    about = {base: f"{n:g}" for base, n in base_exponents(unit).items()}
    about |= {} if found.factor == 1.0 else {"factor": repr(found.factor)}
    return about | ({"offset": repr(found.offset)} if found.offset else {})


def is_torque(unit: str) -> bool:
    """Whether a unit is one of torques, which has the dimension of energy: a product of a force and a length."""
    return (
        re.fullmatch(r"[kMm]?N[.* ]?[cmk]?m|(?:lbf|lb|ozf)[.* ]?(?:ft|in)|(?:ft|in)[.* _]?lbf?", spelled(unit))
        is not None
    )


def is_quantity(text: str) -> bool:
    """Whether `text` is a number, optionally followed by something that looks like a unit."""
    if _strange(text):
        return True
    match = _QUANTITY.fullmatch(spelled(text))
    return match is not None and (match[2] is None or "(" not in match[2])


def _strange(text: str) -> bool:
    """Whether it is a number with a decimal comma or groups of thousands, or in digits that are not those of ASCII."""
    digits = any(c.isdigit() and not c.isascii() for c in text if c not in "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return digits or re.match(r"\s*[-+]?[0-9]+(?:,[0-9]+\s*(?![,)0-9])|['’\s][0-9]{3}\b(?!/))", text) is not None


def to_si(value: float | str, unit: "str | Unit") -> float:
    """Convert a value to the unit of a variable, SI unless a foreign description has another one, and check its
    dimension.

    Parameters
    ----------
    value : float or str
        A number in that unit, or a string with a unit.
    unit : str or Unit
        The expected unit, e.g. ``"N.m.s/rad"``.

    Raises
    ------
    ValueError
        Not a finite quantity of that dimension; the message names what is allowed.
    """
    name = unit if isinstance(unit, str) else unit.name
    if isinstance(value, str):
        number = _read(value, unit, name)
    else:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
    if not abs(number) < float("inf"):
        raise ValueError(f"{wanted(name)}, finite")
    return number


def shown(number: float, unit: str) -> str:
    """A number with its unit for a message: ``0.5 m``, and ``0.5`` without a unit."""
    return f"{number:g}" if unit == "1" else f"{number:g} {unit}"


MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-15, 1e15  # of the numbers that describe a machine, in SI units


def of_machine(value: float | str, unit: str) -> float:
    """Value in SI units of something that describes a machine: 0, or of a size that one can have.

    Raises
    ------
    ValueError
        See `to_si`; or below `MIN_MAGNITUDE` or above `MAX_MAGNITUDE`, where sums and products lose their meaning.
    """
    number = to_si(value, unit)
    if number != 0.0 and not MIN_MAGNITUDE <= abs(number) <= MAX_MAGNITUDE:
        raise ValueError(f"{wanted(unit)}, 0 or of a size between {MIN_MAGNITUDE:g} and {MAX_MAGNITUDE:g}")
    return number


@lru_cache(maxsize=4096)
def _read(text: str, unit: "str | Unit", name: str) -> float:
    if _strange(text):
        raise ValueError(f"{wanted(name)}, in the digits 0 to 9 with a decimal point")
    match = _QUANTITY.fullmatch(spelled(text))
    if match is None:
        example = "" if name == "1" else f": a number, or a text with a unit of that kind, such as '1 {name}'"
        raise ValueError(f"{wanted(name)}{example}")
    number, given = float(match[1]), match[2]
    own = _own(given, unit) if isinstance(unit, Unit) and given else None
    if not given or spelled(given) == spelled(name):
        return number
    if re.search(r"(\^|\*\*)\s*-?\d+\s*(\^|\*\*)|\d{3}", given):
        raise ValueError(f"{wanted(name)}, whose unit has small powers")
    try:
        a, b = own or known_unit(given), unit if isinstance(unit, Unit) else known_unit(unit)
        mixed = _angle_for_ratio(a, b)
        if not mixed and (isinstance(unit, Unit) or a.turns or b.turns):
            factor, offset = conversion(given, unit)
            return factor * number + offset
        if not mixed:
            return float(_registry().Quantity(number, _for_pint(given)).to(_for_pint(name)).magnitude)
    except Exception:  # pint raises a dozen kinds
        such = " such as rpm" if name == "rad/s" else ""
        raise ValueError(wanted(name) + ("" if name == "1" else f", or in a unit of that kind{such}")) from None
    raise ValueError(mixed)


def si_unit(text: str) -> str:
    """The SI unit of the geometry parameters that a quantity string can mean: ``m``, ``rad`` or ``1``.

    Raises
    ------
    ValueError
        It is in another unit.
    """
    for unit in ("m", "rad", "1"):
        try:
            to_si(text, unit)
        except ValueError:
            continue
        match = _QUANTITY.fullmatch(spelled(text))
        if unit == "1" or (match is not None and match[2]):
            return unit
    if _strange(text):
        raise ValueError("a quantity in the digits 0 to 9 with a decimal point")
    raise ValueError("a length in m, an angle in rad, a number without unit, or one in a unit of these kinds")


def si_of(unit: "str | Unit") -> str:
    """The SI unit of what a unit measures: ``rad/s`` of ``rpm``, ``K`` of ``degC``; an SI unit that is known as it is.

    Raises
    ------
    ValueError
        The unit is unknown.
    """
    found = known_unit(unit) if isinstance(unit, str) else unit
    if found.factor == 1.0 and not (found.offset or found.turns) and (found is not unit or is_close(found)):
        return found.name or "1"
    for si in KINDS:
        if is_torque(si) == is_torque(found.name):
            with suppress(ValueError):
                conversion(unit, si)
                return si
    return ".".join(f"{base}{n:g}" if n != 1.0 else base for base, n in found.exponents)


def base_exponents(unit: "str | Unit") -> dict[str, int]:
    """Exponents of kg, m, s, A, K, mol, cd and rad in a unit, as in FMI's ``BaseUnit``."""
    found = dict((known_unit(unit) if isinstance(unit, str) else unit).exponents)
    return {base: int(found[base]) for base in _BASE.values() if base in found}
