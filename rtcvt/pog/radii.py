"""Algorithm 1: the radii matrix of a gear system from its plane geometry. Tebaldi and Zanasi 2022, section 4.1.

The entry of contact ``ij`` and gear ``h`` is ``r_ij,h = S_F S_omega r_h``, eq. (6). With the directed axis of
``h`` through ``A`` along the unit vector ``d``, the effective radius and the sign "left of the axis is +" are one
cross product,

    S_omega r_h = d_x (P_y - A_y) - d_y (P_x - A_x).

Direct contact, ``h`` is ``i`` or ``j``: ``P`` is the contact point. Indirect contact, ``h`` carries ``p`` which
is ``i`` or ``j``: ``P`` is the contact point projected onto the axis of ``p``. ``S_F`` is +1 through the first
gear of the ordered pair, -1 through the second. Terms of the same gear add up. The result is an expression of the
unit's parameters and its moving variable, in `normal_form`.
"""

import logging
from typing import Any

import numpy as np

from rtcvt.errors import InputError
from rtcvt.expression import Expression, number
from rtcvt.pog.normal_form import normal_form
from rtcvt.pog.unit import GearSystem

__all__ = ["check_radii", "direction", "radii_matrix"]

_PLACES = 33  # of the moving variable, at which radii are looked at
_EQUAL = 1e-6  # relative difference of radii that are one

_log = logging.getLogger("rtcvt")

Vector = tuple[Expression, Expression]


def radii_matrix(unit: GearSystem) -> dict[tuple[str, str], Expression]:
    """Entries of ``R`` [m] that are not identically zero, by contact and gear.

    Raises
    ------
    InputError
        An axis has no direction.
    """
    entries: dict[tuple[str, str], Expression] = {}
    for name, contact in unit.contacts.items():
        key = f"contacts.{name}.point"
        point = (unit.coordinate(key, contact.point[0]), unit.coordinate(key, contact.point[1]))
        for gear, sign in zip(contact.between, (1.0, -1.0), strict=True):
            terms = [(gear, _signed_distance(_axis(unit, gear), point))]
            carrier = unit.gears[gear].carrier
            if carrier is not None:
                projected = _projection(_axis(unit, gear), point)
                terms.append((carrier, _signed_distance(_axis(unit, carrier), projected)))
            for h, radius in terms:
                entries[name, h] = entries.get((name, h), number(0.0)) + number(sign) * radius
    simple = {place: normal_form(r) for place, r in entries.items()}
    return {place: r for place, r in simple.items() if r.value != 0.0}


def check_radii(unit: GearSystem) -> None:
    """Refuse contacts on a gear's own axis and radii that are not those that the gear declares.

    A gear that touches others at two radii is warned of, unless it is ``stepped``. Radii are taken at the unit's own
    parameters, over the range of the moving variable.

    Raises
    ------
    InputError
        A radius of zero, or another one than declared.
    """
    values: dict[str, Any] = {name: p.value for name, p in unit.parameters.items()}
    if unit.moving is not None:
        theta = unit.variables[unit.moving]
        places = np.append(theta.start, np.linspace(theta.min, theta.max, _PLACES))
        values[unit.moving] = places
    found: dict[str, dict[str, float]] = {}  # contact and radius at the start, by gear
    for name, contact in unit.contacts.items():
        key = f"contacts.{name}.point"
        point = (unit.coordinate(key, contact.point[0]), unit.coordinate(key, contact.point[1]))
        for gear in contact.between:
            with np.errstate(all="ignore"):
                try:
                    given = _signed_distance(_axis(unit, gear), point).evaluate(values, np)
                except ArithmeticError:
                    continue  # infinite coordinates are told when R is made
            r = np.atleast_1d(np.asarray(given, dtype=float))
            if not np.isfinite(r).all():
                continue
            if np.min(np.abs(r)) < 1e-9 or r.min() < 0.0 < r.max():
                where = f" at some {unit.moving} of its range" if len(r) > 1 and np.ptp(r) > 0.0 else ""
                allowed = f"a point off the axis of gear '{gear}', whose radius here is 0{where}"
                raise InputError(unit.source, key, list(contact.point), allowed)
            found.setdefault(gear, {})[name] = abs(float(r[0]))
            if np.ptp(r) > _EQUAL * np.abs(r).max() and unit.gears[gear].fixed_radius:
                raise InputError(unit.source, f"gears.{gear}", None, f"no fixed radius: that at '{name}' moves")
    for gear, radii in found.items():
        _check_declared(unit, gear, radii, values)


def _check_declared(unit: GearSystem, name: str, radii: dict[str, float], values: dict[str, Any]) -> None:
    gear, key = unit.gears[name], f"gears.{name}"
    declared = None
    if gear.radius is not None:
        declared = unit.coordinate(f"{key}.radius", gear.radius).evaluate(values, np)
        declared = float(np.atleast_1d(declared)[0])
        if not declared > 0.0:
            raise InputError(unit.source, f"{key}.radius", gear.radius, "a radius above 0 m")
    elif gear.teeth is not None and gear.module is not None:
        declared = 0.5 * gear.teeth * gear.module
    if declared is not None:
        for contact, r in radii.items():
            if abs(r - declared) > _EQUAL * declared:
                what = "radius" if gear.radius is not None else "teeth"
                value = gear.radius if gear.radius is not None else gear.teeth
                allowed = (
                    f"{1e3 * r:.6g} mm, the distance of contact '{contact}' from its axis, not {1e3 * declared:.6g}"
                )
                raise InputError(unit.source, f"{key}.{what}", value, allowed)
    elif not gear.stepped and max(radii.values()) - min(radii.values()) > _EQUAL * max(radii.values()):
        told = ", ".join(f"{1e3 * r:.4g} mm at '{contact}'" for contact, r in radii.items())
        _log.warning("%s: %s: touches at two radii, %s; stepped = true says that it shall", unit.source, key, told)


def direction(unit: GearSystem, gear: str) -> Vector:
    """Unit vector along a gear's axis.

    Raises
    ------
    InputError
        The direction is the zero vector.
    """
    axis = unit.gears[gear].axis
    key = f"gears.{gear}.axis"
    if axis.angle is not None:
        angle = unit.coordinate(f"{key}.angle", axis.angle)
        return angle.apply("cos"), angle.apply("sin")
    assert axis.direction is not None
    x = unit.coordinate(f"{key}.direction", axis.direction[0])
    y = unit.coordinate(f"{key}.direction", axis.direction[1])
    if _is_sine_and_cosine(x, y):
        return x, y
    length = (x * x + y * y).apply("sqrt")
    if length.value == 0.0:
        raise InputError(unit.source, f"{key}.direction", list(axis.direction), "a vector that is not zero")
    return x / length, y / length


def _axis(unit: GearSystem, gear: str) -> tuple[Vector, Vector]:
    """Point on the axis and unit vector along it."""
    key = f"gears.{gear}.axis.through"
    through = unit.gears[gear].axis.through
    return (unit.coordinate(key, through[0]), unit.coordinate(key, through[1])), direction(unit, gear)


def _signed_distance(axis: tuple[Vector, Vector], point: Vector) -> Expression:
    (a_x, a_y), (d_x, d_y) = axis
    return d_x * (point[1] - a_y) - d_y * (point[0] - a_x)


def _projection(axis: tuple[Vector, Vector], point: Vector) -> Vector:
    (a_x, a_y), (d_x, d_y) = axis
    s = d_x * (point[0] - a_x) + d_y * (point[1] - a_y)
    return a_x + s * d_x, a_y + s * d_y


def _is_sine_and_cosine(x: Expression, y: Expression) -> bool:
    """Whether the components are, up to their signs, sine and cosine of one angle, so that the length is 1."""
    x, y = (c.args[0] if c.op == "neg" else c for c in (x, y))
    return {x.op, y.op} == {"sin", "cos"} and x.args == y.args
