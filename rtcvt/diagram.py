"""Plane schematic of a gear system, drawn from the unit's own geometry: an SVG.

The convention is that of Tebaldi and Zanasi 2022, Figs. 4, 5 and 7. All axes lie in the plane. A gear is a body of
revolution about its axis that reaches out to its contact points, a contact point is a short red spring, and the
coloured arrow on each axis gives the positive direction of rotation.

Radii, and distances between contacts along an axis, are to scale. What the unit file does not say is drawn by rule:

- gears with crossing fixed axes share the pitch cone through their contact point;
- where the contact point wanders with the moving variable, the body follows its path (the cavity of a toroidal disc);
- of two gears in contact from the same side the larger is a ring, hung on a web beside it;
- a disc that would cut through another gear is cut down to its rim and hung on what the gear has beside it;
- a carrier reaches from its own axis, past what is in between, to the axes that it carries.

Lengths are in pixels from `_Layout` on, y pointing up; each axis has coordinates ``(s, r)`` along it and to its left.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from rtcvt.pog.radii import direction
from rtcvt.unitfile import Unit

__all__ = ["COLOURS", "gear_colours", "unit_diagram"]

COLOURS = ("#2b6cb0", "#c05d00", "#2f855a", "#7b4ab5", "#0f8595", "#8a5a2b", "#b83280", "#6b7a12", "#4a5568")
_INK, _SPRING, _FAINT = "#1f2933", "#d11f2a", "#7b8794"

_WIDTH, _HEIGHT = 560.0, 400.0  # what the contact points are scaled to fill
_DISC, _WEB, _SHAFT = 12.0, 6.0, 4.0  # thickness of a disc, of a web, of a shaft
_GAP = 9.0  # clearance between bodies
_CELL = 3.0  # of the grid that keeps things apart
_EPS = 1e-6

Point = tuple[float, float]
Polygon = list[Point]


class _Line(NamedTuple):
    """An axis, directed to the right or up whatever its positive direction of rotation."""

    x: float
    y: float
    dx: float
    dy: float

    def at(self, s: float, r: float) -> Point:
        return self.x + s * self.dx - r * self.dy, self.y + s * self.dy + r * self.dx

    def of(self, point: Point) -> Point:
        x, y = point[0] - self.x, point[1] - self.y
        return x * self.dx + y * self.dy, self.dx * y - self.dy * x

    def box(self, s: Point, r: Point) -> Polygon:
        return [self.at(s[0], r[0]), self.at(s[1], r[0]), self.at(s[1], r[1]), self.at(s[0], r[1])]

    def is_parallel(self, other: "_Line") -> bool:
        return abs(self.dx * other.dy - self.dy * other.dx) < _EPS

    def is_same(self, other: "_Line") -> bool:
        return self.is_parallel(other) and abs(self.of((other.x, other.y))[1]) < 0.5

    def crossing(self, other: "_Line") -> Point:
        """Where two lines cross, as ``(s, 0)`` on this one."""
        s, r = other.of((self.x, self.y))
        ds, dr = other.of((self.x + self.dx, self.y + self.dy))
        return -r / (dr - r), 0.0


@dataclass
class _Rim:
    """Where a gear reaches a contact point: station, radius (> 0) and the side of the axis."""

    s: float
    r: float
    side: float
    kind: str = "spur"  # spur, bevel, cavity, ring
    apex: float = 0.0  # bevel: station of the cone's apex
    path: list[Point] = field(default_factory=list)  # cavity: (s, r) inwards
    back: float = 1.0  # cavity: direction along the axis that leads away from the contact

    def half(self) -> Polygon:
        """Outline of one half from the axis outwards and back, radii positive."""
        if self.kind == "bevel":
            along, length = self.s - self.apex, math.hypot(self.s - self.apex, self.r)
            cut = min(15.0, 0.45 * length) / length
            small = (self.s - cut * along, self.r * (1.0 - cut))
            back = self.s + math.copysign(4.0, along)
            return [(back, 0.0), (back, self.r), (self.s, self.r), small, (small[0], 0.0)]
        if self.kind == "cavity":
            end = self.back * (max(self.back * s for s, _ in self.path) + 8.0)
            outer, inner = self.path[0], self.path[-1]
            return [(end, 0.0), (end, outer[1] + 2.0), (outer[0], outer[1] + 2.0), *self.path, (inner[0], 0.0)]
        a, b = self.s - _DISC / 2.0, self.s + _DISC / 2.0
        return [(a, 0.0), (a, self.r), (b, self.r), (b, 0.0)]


@dataclass
class _Gear:
    name: str
    line: _Line
    sign: float  # of the positive direction of rotation along the line
    colour: str
    carrier: str | None
    rims: list[_Rim] = field(default_factory=list)
    bodies: list[Polygon] = field(default_factory=list)
    links: list[Polygon] = field(default_factory=list)  # webs, plates and bars, drawn behind the bodies
    on_axis: list[Point] = field(default_factory=list)  # stations (from, to) where the gear meets its axis

    def extent(self, line: _Line) -> tuple[float, float, float, float]:
        """Smallest and largest ``s`` and ``r`` of the bodies on a line."""
        points = [line.of(p) for polygon in self.bodies for p in polygon]
        s, r = [p[0] for p in points], [p[1] for p in points]
        return min(s), max(s), min(r), max(r)


class _Grid:
    """Which cells of the plane are taken, by what."""

    def __init__(self) -> None:
        self.owners: dict[tuple[int, int], set[str]] = defaultdict(set)

    def take(self, owner: str, polygon: Polygon) -> None:
        for cell in _cells(polygon):
            self.owners[cell].add(owner)

    def others(self, polygon: Polygon, *own: str) -> set[str]:
        """Owners of more than a touch of `polygon`, apart from `own`."""
        count: dict[str, int] = defaultdict(int)
        for cell in _cells(polygon):
            for owner in self.owners.get(cell, ()):
                count[owner] += 1
        return {owner for owner, n in count.items() if n > 3 and owner not in own}

    def load(self, polygon: Polygon) -> int:
        """Number of taken cells in `polygon`."""
        return sum(cell in self.owners for cell in _cells(polygon))


def _cells(polygon: Polygon) -> Iterable[tuple[int, int]]:
    """Cells whose centre lies in a polygon."""
    xs = [p[0] for p in polygon]
    for i in range(math.floor(min(xs) / _CELL), math.ceil(max(xs) / _CELL)):
        x = (i + 0.5) * _CELL
        ys = []
        for (xa, ya), (xb, yb) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
            if (xa > x) != (xb > x):
                ys.append(ya + (x - xa) / (xb - xa) * (yb - ya))
        ys.sort()
        for low, high in zip(ys[::2], ys[1::2], strict=True):
            for j in range(math.ceil(low / _CELL - 0.5), math.floor(high / _CELL - 0.5) + 1):
                yield i, j


def gear_colours(unit: Unit) -> dict[str, str]:
    """Colour of each gear in the diagram, for use beside it."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(unit.gears)}


def unit_diagram(unit: Unit, theta: float | None = None) -> str:
    """Draw a unit.

    Parameters
    ----------
    unit : Unit
        A gear system; the geometry parameters have their default values.
    theta : float, optional
        The moving variable [rad]; by default its start.

    Returns
    -------
    str
        A standalone SVG document on a white ground.
    """
    return _Picture(_Layout(unit, theta)).svg()


class _Layout:
    """Bodies of all gears, to scale."""

    def __init__(self, unit: Unit, theta: float | None):
        self.unit = unit
        moving = unit.variables[unit.moving] if unit.moving else None
        self.theta = theta if theta is not None else moving.start if moving else 0.0
        self.values = {name: p.value for name, p in unit.parameters.items()}
        self.scale = 1.0  # [1/m] while the extent is measured
        self.scale = self._fitting_scale()
        colours = gear_colours(unit)
        self.gears: dict[str, _Gear] = {}
        for name, gear in unit.gears.items():
            line, sign = self.line(name)
            self.gears[name] = _Gear(name, line, sign, colours[name], gear.carrier)
        self.points = {name: self.point(name) for name in unit.contacts}
        for name in unit.contacts:
            self._add_rims(name)
        self.grid = _Grid()
        self._place_discs()
        for gear in self.gears.values():
            if any(g.carrier == gear.name for g in self.gears.values()):
                self._place_carrier(gear)
        for gear in self.gears.values():
            self._place_web(gear)
            if not gear.bodies and not gear.links:  # nothing to reach out to
                self._body(gear, gear.line.box((-_DISC, _DISC), (-_DISC, _DISC)))
                gear.on_axis.append((-_DISC, _DISC))

    def point(self, contact: str, theta: float | None = None) -> Point:
        """A contact point."""
        return self._evaluate(f"contacts.{contact}.point", self.unit.contacts[contact].point, theta)

    def line(self, gear: str, theta: float | None = None) -> tuple[_Line, float]:
        """A gear's axis, and the sign of its positive direction along it."""
        x, y = self._evaluate(f"gears.{gear}.axis.through", self.unit.gears[gear].axis.through, theta)
        at = self._at(theta)
        dx, dy = (float(c.evaluate(at)) for c in direction(self.unit, gear))
        sign = 1.0 if dx > _EPS or (abs(dx) <= _EPS and dy > 0.0) else -1.0
        return _Line(x, y, sign * dx, sign * dy), sign

    def is_moving(self, gear: str) -> bool:
        """Whether a gear's axis turns with the moving variable."""
        return any(self.unit.moving in c.names for c in direction(self.unit, gear))

    def _at(self, theta: float | None) -> dict[str, float]:
        return {**self.values, self.unit.moving or "": self.theta if theta is None else theta}

    def _evaluate(self, key: str, pair: tuple[str | float, str | float], theta: float | None) -> Point:
        at = self._at(theta)
        x, y = (self.scale * float(self.unit.coordinate(key, c).evaluate(at)) for c in pair)
        return x, y

    def _fitting_scale(self) -> float:
        """Pixels per metre for which all contact points, and their mirror images but for carriers, fit."""
        carriers = {g.carrier for g in self.unit.gears.values()}
        points: list[Point] = []
        for name, contact in self.unit.contacts.items():
            p = self.point(name)
            points.append(p)
            for gear in contact.between:
                line, _ = self.line(gear)
                s, r = line.of(p)
                points.append(line.at(s, 0.0 if gear in carriers else -r))
        if not points:
            points = [self.line(g)[0].at(0.0, 0.0) for g in self.unit.gears]
        width, height = (max(p[i] for p in points) - min(p[i] for p in points) for i in (0, 1))
        return min(_WIDTH / max(width, 1e-6), _HEIGHT / max(height, 1e-6), 2e4)

    def _add_rims(self, contact: str) -> None:
        """Give both gears of a contact their rim there."""
        pair = self.unit.contacts[contact].between
        point = self.points[contact]
        lines = [self.gears[g].line for g in pair]
        moving = [self.is_moving(g) for g in pair]
        parallel = lines[0].is_parallel(lines[1])
        radii = [line.of(point)[1] for line in lines]
        same_side = parallel and radii[0] * radii[1] * (lines[0].dx * lines[1].dx + lines[0].dy * lines[1].dy) > 0.0
        for i, name in enumerate(pair):
            line, other = lines[i], lines[1 - i]
            s, r = line.of(point)
            rim = _Rim(s, abs(r), math.copysign(1.0, r))
            if same_side and abs(r) > abs(radii[1 - i]):
                rim.kind = "ring"
            elif not parallel and not any(moving):
                rim.kind, rim.apex = "bevel", line.crossing(other)[0]
            elif not moving[i] and self.unit.moving:
                self._follow(rim, contact, line, other)
            self.gears[name].rims.append(rim)

    def _follow(self, rim: _Rim, contact: str, line: _Line, other: _Line) -> None:
        """Shape a rim after the path of its contact point, if it has one."""
        variable = self.unit.variables[self.unit.moving or ""]
        steps = [variable.min + (variable.max - variable.min) * k / 32 for k in range(33)]
        path = [line.of(self.point(contact, theta)) for theta in steps]
        if max(math.dist(p, path[0]) for p in path) < 1.0:
            return
        rim.kind, rim.path = "cavity", sorted(((s, abs(r)) for s, r in path), key=lambda p: -p[1])
        rim.back = math.copysign(1.0, rim.s - line.of((other.x, other.y))[0])

    def _body(self, gear: _Gear, polygon: Polygon) -> None:
        gear.bodies.append(polygon)
        self.grid.take(gear.name, polygon)

    def _link(self, gear: _Gear, polygon: Polygon) -> None:
        gear.links.append(polygon)
        self.grid.take(gear.name, polygon)

    def _place_discs(self) -> None:
        """Draw rings, then discs from the smallest to the largest, leaving only the rim of those that collide."""
        discs: list[tuple[_Gear, list[_Rim]]] = []
        for gear in self.gears.values():
            groups: dict[tuple[int, int], list[_Rim]] = defaultdict(list)
            for rim in gear.rims:
                if rim.kind == "ring":
                    self._ring(gear, rim.s, rim.r, rim.r + 8.0)
                else:
                    station = 0 if gear.carrier and rim.kind == "spur" else round(rim.s / 2.0)  # planets may be long
                    groups[station, round(rim.r / 2.0)].append(rim)
            discs += [(gear, rims) for rims in groups.values()]
        for gear, rims in sorted(discs, key=lambda d: d[1][0].r):
            rim, line = rims[0], gear.line
            inside = (rim.s - _DISC / 2.0, rim.s + _DISC / 2.0)
            sides = {r.side for r in rims} if self._carries(gear) else {1.0, -1.0}
            if rim.kind == "spur" and any(
                self.grid.others(line.box(inside, _ordered(side * 3.0, side * (rim.r - 5.0))), gear.name)
                for side in sides
            ):
                for r in rims:
                    r.kind = "rim"
                if not self._carries(gear):
                    self._ring(gear, rim.s, rim.r - 8.0, rim.r)
                continue
            stations = [r.s for r in rims]
            if max(stations) - min(stations) > 1.0:
                half = [(min(stations) - 6.0, 0.0), (min(stations) - 6.0, rim.r)]
                half += [(max(stations) + 6.0, rim.r), (max(stations) + 6.0, 0.0)]
                upper = lower = half
            else:
                upper = next((r for r in rims if r.side > 0.0), rim).half()
                lower = next((r for r in rims if r.side < 0.0), rim).half()
            outline = [line.at(s, r) for s, r in upper] + [line.at(s, -r) for s, r in reversed(lower)]
            self._body(gear, outline)
            gear.on_axis.append(_ordered(upper[0][0], upper[-1][0]))

    def _carries(self, gear: _Gear) -> bool:
        return any(g.carrier == gear.name for g in self.gears.values())

    def _ring(self, gear: _Gear, s: float, inner: float, outer: float) -> None:
        """A rim; a carrier's only on the side that is drawn."""
        for side in {r.side for r in gear.rims if abs(r.s - s) < 1.0} if self._carries(gear) else (1.0, -1.0):
            self._body(gear, gear.line.box((s - _DISC / 2.0, s + _DISC / 2.0), _ordered(side * inner, side * outer)))

    def _free_station(self, gear: _Gear, edges: Point, reaches: Sequence[float]) -> float:
        """Station nearest to `edges` where a plate from the axis out to each of `reaches` meets no other body."""
        own = (gear.name, *(g.name for g in self.gears.values() if g.carrier == gear.name))
        for k in range(120):
            for s in (edges[0] - _GAP - 3.0 * k, edges[1] + _GAP + 3.0 * k):
                boxes = [gear.line.box((s - 8.0, s + 8.0), _ordered(0.0, reach)) for reach in reaches]
                if not any(self.grid.others(box, gear.name) for box in boxes):
                    return s
        del own
        return edges[0] - _GAP

    def _place_carrier(self, gear: _Gear) -> None:
        """Link a carrier's axis to the axes that it carries."""
        line = gear.line
        for side in (1.0, -1.0):
            carried = [g for g in self.gears.values() if g.carrier == gear.name and g.bodies]
            carried = [g for g in carried if side * sum(g.extent(line)[2:]) > 0.0]
            if not carried:
                continue
            parallel = [g for g in carried if g.line.is_parallel(line)]
            crossing = [g for g in carried if not g.line.is_parallel(line)]
            rims = [r for r in gear.rims if r.side == side and r.kind in ("rim", "ring")]
            reach = max([abs(line.of((g.line.x, g.line.y))[1]) for g in parallel], default=0.0)
            bar = max([max(side * e for e in g.extent(line)[2:]) + 10.0 for g in crossing], default=0.0)
            edges = [g.extent(line) for g in carried]
            rim_reach = max([r.r + (4.0 if r.kind == "ring" else -4.0) for r in rims], default=0.0)
            if crossing and all(r.r > bar + 8.0 for r in rims):
                rim_reach = 0.0  # the rims grow out of the bar
            out = max(reach, bar, rim_reach)
            s = self._free_station(gear, (min(e[0] for e in edges), max(e[1] for e in edges)), [side * out])
            self._link(gear, line.box((s - _WEB / 2.0, s + _WEB / 2.0), _ordered(0.0, side * (out + _WEB / 2.0))))
            gear.on_axis.append((s - _WEB / 2.0, s + _WEB / 2.0))
            for g in parallel:
                low, high, *_ = g.extent(line)
                r = line.of((g.line.x, g.line.y))[1]
                near = low if s < low else high
                self._link(gear, line.box(_ordered(s, near), (r - _SHAFT / 2.0, r + _SHAFT / 2.0)))
            ends = [s]
            for g in crossing:
                level = _Line(*line.at(0.0, side * bar), line.dx, line.dy)
                pin = g.line.crossing(level)[0]
                ends.append(line.of(g.line.at(pin, 0.0))[0])
                low, high, *_ = g.extent(g.line)
                self._link(g, g.line.box(_ordered(pin, low if pin < low else high), (-_SHAFT / 2.0, _SHAFT / 2.0)))
            for rim in rims:
                inner, outer = (rim.r - 8.0, rim.r) if rim.kind == "rim" else (rim.r, rim.r + 8.0)
                level = bar if rim_reach == 0.0 else (inner + outer) / 2.0
                if rim.kind == "rim":
                    across = (rim.s - _DISC / 2.0, rim.s + _DISC / 2.0)
                    self._body(gear, line.box(across, _ordered(side * min(inner, level), side * outer)))
                if level == bar:
                    ends.append(rim.s)
                else:
                    self._link(gear, line.box(_ordered(s, rim.s), _about(side * level, _WEB)))
            if crossing:
                across = (min(ends) - _WEB / 2.0, max(ends) + _WEB / 2.0)
                self._link(gear, line.box(across, _about(side * bar, _WEB)))

    def _place_web(self, gear: _Gear) -> None:
        """Hang rims that carry nothing on a disc of their gear or on a web."""
        rims = [r for r in gear.rims if r.kind in ("ring", "rim")]
        if not rims or self._carries(gear):
            return
        line = gear.line
        reach = max(r.r + 4.0 if r.kind == "ring" else r.r - 4.0 for r in rims)
        if gear.on_axis:
            s = min((sum(span) / 2.0 for span in gear.on_axis), key=lambda s: abs(s - rims[0].s))
        else:
            edges = (min(r.s for r in rims) - _DISC / 2.0, max(r.s for r in rims) + _DISC / 2.0)
            s = self._free_station(gear, edges, (reach, -reach))
            gear.on_axis.append((s - _WEB / 2.0, s + _WEB / 2.0))
        self._link(gear, line.box((s - _WEB / 2.0, s + _WEB / 2.0), (-reach - _WEB / 2.0, reach + _WEB / 2.0)))
        for rim in rims:
            level = rim.r + 4.0 if rim.kind == "ring" else rim.r - 4.0
            for side in (1.0, -1.0):
                self._link(gear, line.box(_ordered(s, rim.s), _about(side * level, _WEB)))


def _ordered(a: float, b: float) -> Point:
    return (a, b) if a <= b else (b, a)


def _about(centre: float, width: float) -> Point:
    return centre - width / 2.0, centre + width / 2.0
