"""Algorithm 1: the radii matrix of a gear system from its plane geometry. Tebaldi and Zanasi 2022, section 4.1.

The entry of contact ``ij`` and gear ``h`` is ``r_ij,h = S_F S_omega r_h``, eq. (6). With the directed axis of
``h`` through ``A`` along the unit vector ``d``, the effective radius and the sign "left of the axis is +" are one
cross product,

    S_omega r_h = d_x (P_y - A_y) - d_y (P_x - A_x).

Direct contact, ``h`` is ``i`` or ``j``: ``P`` is the contact point. Indirect contact, ``h`` carries ``p`` which
is ``i`` or ``j``: ``P`` is the contact point projected onto the axis of ``p``. ``S_F`` is +1 through the first
gear of the ordered pair, -1 through the second. Terms of the same gear add up. The result is an expression of the
unit's parameters and its moving variable, in `normal_form`.

Planets need not lie in one plane: the radius declared for a planet overrides the drawing, with the sign of the drawn
one. The carrier's entry then follows from the carrier turning with all its gears as one body, without slip anywhere
(Willis): ``R_ij,c = -(R_ij,i S_i + R_ij,j S_j)``, S being -1 where an axis points against the carrier's. This is valid
where the axes are parallel.
"""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import AsInputError, InputError
from rtcvt.files.expression import Expression, number
from rtcvt.pog.mesh import mesh_efficiency, mesh_friction
from rtcvt.pog.normal_form import normal_form
from rtcvt.pog.unit import Contact, GearSystem

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
        for h, radius in _contact_row(unit, name, contact).items():
            entries[name, h] = radius
    simple = {place: normal_form(r) for place, r in entries.items()}
    return {place: r for place, r in simple.items() if r.value != 0.0}


def radii_at(unit: GearSystem, values: Mapping[str, float] | None = None) -> NDArray[np.float64]:
    """``R`` [m] (contacts by gears) as numbers: at the unit's own parameters and start, or at others by short name."""
    at = unit.own_values | dict(values or {})
    rows, columns = list(unit.contacts), list(unit.gears)
    R = np.zeros((len(rows), len(columns)))
    for (contact, gear), radius in radii_matrix(unit).items():
        R[rows.index(contact), columns.index(gear)] = radius.evaluate(at)
    return R


def efficiencies(unit: GearSystem) -> dict[str, float]:
    """Efficiency of each contact, seen from its carrier; from the geometry where it gives friction and module.

    The default is the efficiency of the shift table, or 1.

    Raises
    ------
    InputError
        A gear has too few teeth.
    """
    R, gears, found = radii_at(unit), list(unit.gears), {}
    default = (unit.shift and unit.shift.efficiency) or 1.0
    for k, (name, contact) in enumerate(unit.contacts.items()):
        found[name] = default if contact.efficiency is None else contact.efficiency
        if contact.module is not None:
            one, other = contact.between
            r = [abs(float(R[k, gears.index(g)])) for g in (one, other)]
            if axis_sign(unit, one, other) * R[k, gears.index(one)] * R[k, gears.index(other)] < 0.0:
                r[r.index(max(r))] *= -1.0  # a ring
            mu = (contact.friction or 0.0) if contact.oil is None else mesh_friction(contact.oil, *r)
            with AsInputError(ValueError, unit.source, f"contacts.{name}.module", contact.module, str):
                found[name] = mesh_efficiency(mu, *(2.0 * radius / contact.module for radius in r))
    return found


def play_width(unit: GearSystem, name: str) -> float:
    """Play [m] of a contact at the pitch circle, an angle times the radius of its first gear.

    Raises
    ------
    InputError
        Neither a length nor an angle above 0.
    """
    contact, key, radius = unit.contacts[name], f"contacts.{name}.play", 1.0
    assert contact.play is not None
    try:
        width = unit.coordinate(key, contact.play)
    except InputError:
        width = unit.coordinate(key, contact.play, "rad")
        gear = list(unit.gears).index(contact.between[0])
        radius = abs(float(radii_at(unit)[list(unit.contacts).index(name), gear]))
    found = radius * width.evaluate(unit.own_values)
    if not found > 0.0:
        raise InputError(unit.source, key, contact.play, "a length or an angle above 0")
    return found


def axis_sign(unit: GearSystem, one: str, other: str) -> int:
    """1 if the axes of two gears point the same way, -1 if opposite ways, 0 if they are not parallel."""
    a, b = direction(unit, one), direction(unit, other)
    if normal_form(a[0] * b[1] - a[1] * b[0]).value != 0.0:
        return 0
    return 1 if (a[0] * b[0] + a[1] * b[1]).evaluate(unit.own_values) > 0.0 else -1


def carrier_of(unit: GearSystem, contact: Contact) -> str | None:
    """The carrier of a contact whose gears are carried by one gear or by none, all axes parallel; else None."""
    carriers = {unit.gears[g].carrier for g in contact.between} - {None}
    carrier = carriers.pop() if len(carriers) == 1 else None
    if carrier is None or carrier in contact.between or any(axis_sign(unit, g, carrier) == 0 for g in contact.between):
        return None
    return carrier


def _declared(unit: GearSystem, name: str) -> Expression | None:
    """The radius [m] that a gear declares."""
    gear = unit.gears[name]
    if gear.radius is not None:
        return unit.coordinate(f"gears.{name}.radius", gear.radius)
    return number(0.5 * gear.teeth * gear.module) if gear.teeth is not None and gear.module is not None else None


def _contact_row(unit: GearSystem, name: str, contact: Contact) -> dict[str, Expression]:
    """Entries of R in the row of a contact, by gear."""
    key = f"contacts.{name}.point"
    point = (unit.coordinate(key, contact.point[0]), unit.coordinate(key, contact.point[1]))
    common = carrier_of(unit, contact)
    counts = common is not None and any(unit.gears[g].carrier and unit.gears[g].fixed_radius for g in contact.between)
    row: dict[str, Expression] = {}
    for gear, sign in zip(contact.between, (1.0, -1.0), strict=True):
        radius = signed_distance(axis_of(unit, gear), point)
        carrier = unit.gears[gear].carrier
        declared = _declared(unit, gear) if counts and carrier else None
        if declared is not None:
            radius = number(1.0 if radius.evaluate(unit.own_values) > 0.0 else -1.0) * declared
        terms = [(gear, number(sign) * radius)]
        if counts and common is not None:
            terms.append((common, number(-sign * axis_sign(unit, gear, common)) * radius))
        elif carrier is not None:
            projected = _projection(axis_of(unit, gear), point)
            terms.append((carrier, number(sign) * signed_distance(axis_of(unit, carrier), projected)))
        for h, term in terms:
            row[h] = row.get(h, number(0.0)) + term
    return row


def check_radii(unit: GearSystem) -> None:
    """Refuse contacts on a gear's own axis, radii that a gear does not declare, and planets that do not fit.

    The radius declared for a planet need not be drawn. Its distance from the carrier's axis has to be one at all its
    contacts with gears about that axis, and two planets that touch have to reach each other, to 1e-6, or to one module
    where teeth are given (profile shift).

    A gear that touches others at two radii causes a warning, unless it is ``stepped``. Radii are those at the unit's
    own parameters, over the range of the moving variable.

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
                    given = signed_distance(axis_of(unit, gear), point).evaluate(values, np)
                except ArithmeticError:
                    continue  # infinite coordinates are reported when R is made
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
        if not _counts(unit, gear):
            _check_declared(unit, gear, radii, values)
    _check_planets(unit)


def _counts(unit: GearSystem, name: str) -> bool:
    """Whether a planet's declared radius overrides the drawing at all its contacts."""
    gear = unit.gears[name]
    touching = [c for c in unit.contacts.values() if name in c.between]
    return bool(gear.carrier and gear.fixed_radius) and all(carrier_of(unit, c) for c in touching)


def _check_planets(unit: GearSystem) -> None:
    """Distances of planets' axes from their carriers' agree, and planets that touch reach each other."""
    declared = [name for name, gear in unit.gears.items() if gear.carrier and gear.fixed_radius]
    if not declared:
        return
    at = unit.own_values
    for name in declared:
        r = _declared(unit, name)
        if r is not None and not r.evaluate(at) > 0.0:
            raise InputError(unit.source, f"gears.{name}.radius", unit.gears[name].radius, "a radius above 0 m")
    R = radii_at(unit)
    columns = list(unit.gears)
    distance: dict[str, tuple[float, str, float]] = {}  # of a planet's axis, its contact, tolerance
    planets: list[tuple[str, float]] = []  # contacts of two planets, distance of their axes
    for k, (name, contact) in enumerate(unit.contacts.items()):
        carrier = carrier_of(unit, contact)
        if carrier is None:
            continue
        apart = abs(float(R[k, columns.index(carrier)]))
        own = [g for g in contact.between if unit.gears[g].carrier]
        if len(own) == 2:
            planets.append((name, apart))
            continue
        modules = [unit.gears[g].module or 0.0 for g in contact.between]
        a, other, slack = distance.setdefault(own[0], (apart, name, max(modules)))
        slack = (1.0 + _EQUAL) * max(slack, *modules, _EQUAL * a)
        if abs(a - apart) > slack:
            allowed = (
                f"one distance from the axis of '{carrier}': contact '{other}' asks for {1e3 * a:.6g} mm, "
                f"'{name}' for {1e3 * apart:.6g}"
            )
            raise InputError(unit.source, f"gears.{own[0]}", None, allowed)
    for name, apart in planets:
        one, two = unit.contacts[name].between
        if one in distance and two in distance:
            a, b = distance[one][0], distance[two][0]
            slack = max(_EQUAL * apart, *(unit.gears[g].module or 0.0 for g in (one, two)))
            if not abs(a - b) - slack <= apart <= a + b + slack:
                allowed = (
                    f"planets that reach each other: their axes are {1e3 * apart:.6g} mm apart by their radii, "
                    f"but {1e3 * a:.6g} and {1e3 * b:.6g} mm from the carrier's"
                )
                raise InputError(unit.source, f"contacts.{name}.between", [one, two], allowed)


def _check_declared(unit: GearSystem, name: str, radii: dict[str, float], values: dict[str, Any]) -> None:
    gear, key = unit.gears[name], f"gears.{name}"
    given = _declared(unit, name)
    if given is not None:
        declared = float(np.atleast_1d(given.evaluate(values, np))[0])
        if not declared > 0.0:
            raise InputError(unit.source, f"{key}.radius", gear.radius, "a radius above 0 m")
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
        _log.warning("%s: %s: touches at two radii, %s; stepped = true allows it", unit.source, key, told)


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
        angle = unit.coordinate(f"{key}.angle", axis.angle, "rad")
        return angle.apply("cos"), angle.apply("sin")
    assert axis.direction is not None
    try:  # two lengths or two numbers
        x, y = (unit.coordinate(f"{key}.direction", c) for c in axis.direction)
    except InputError:
        x, y = (unit.coordinate(f"{key}.direction", c, "1") for c in axis.direction)
    if _is_sine_and_cosine(x, y):
        return x, y
    length = (x * x + y * y).apply("sqrt")
    if length.value == 0.0:
        raise InputError(unit.source, f"{key}.direction", list(axis.direction), "a vector that is not zero")
    return x / length, y / length


def axis_of(unit: GearSystem, gear: str) -> tuple[Vector, Vector]:
    """Point on the axis and unit vector along it."""
    key = f"gears.{gear}.axis.through"
    through = unit.gears[gear].axis.through
    return (unit.coordinate(key, through[0]), unit.coordinate(key, through[1])), direction(unit, gear)


def signed_distance(axis: tuple[Vector, Vector], point: Vector) -> Expression:
    """Distance of a point from a directed axis [m], positive on its left."""
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
