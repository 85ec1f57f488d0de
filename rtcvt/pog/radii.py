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

from rtcvt.errors import InputError
from rtcvt.expression import Expression, number
from rtcvt.pog.normal_form import normal_form
from rtcvt.unitfile import Unit

__all__ = ["direction", "radii_matrix"]

Vector = tuple[Expression, Expression]


def radii_matrix(unit: Unit) -> dict[tuple[str, str], Expression]:
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


def direction(unit: Unit, gear: str) -> Vector:
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


def _axis(unit: Unit, gear: str) -> tuple[Vector, Vector]:
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
