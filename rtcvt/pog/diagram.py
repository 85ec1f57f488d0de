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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from rtcvt import html
from rtcvt.html import COLOURS
from rtcvt.pog.radii import direction
from rtcvt.pog.unit import GearSystem

_INK, _SPRING, _FAINT = "#1f2933", "#d11f2a", "#7b8794"

_WIDTH, _HEIGHT = 560.0, 400.0  # what the contact points are scaled to fill
_DISC, _WEB, _SHAFT = 12.0, 6.0, 4.0  # thickness of a disc, of a web, of a shaft
_RIM = 8.0  # height of a ring, and of what is left of a disc cut down to its rim
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
        r = other.of((self.x, self.y))[1]
        dr = other.of((self.x + self.dx, self.y + self.dy))[1]
        return -r / (dr - r), 0.0


@dataclass
class _Rim:
    """Where a gear reaches a contact point: station, radius (> 0) and the side of the axis."""

    s: float
    r: float
    side: float
    kind: str = "spur"  # spur, bevel, cavity, ring; rim, if it was cut down to that
    apex: float = 0.0  # bevel: station of the cone's apex
    path: list[Point] = field(default_factory=list)  # cavity: (s, r) inwards
    back: float = 1.0  # cavity: direction along the axis that leads away from the contact

    @property
    def middle(self) -> float:
        """Radius of the middle of a ring or rim."""
        return self.r + (_RIM / 2.0 if self.kind == "ring" else -_RIM / 2.0)

    def half(self) -> Polygon:
        """Outline of one half from the axis outwards and back, radii positive."""
        if self.kind == "bevel":
            along = self.s - self.apex
            cut = min(15.0 / max(math.hypot(along, self.r), 1.0), 0.45)
            small = (self.s - cut * along, self.r * (1.0 - cut))
            back = self.s + math.copysign(4.0, along)
            return [(back, 0.0), (back, self.r), (self.s, self.r), small, (small[0], 0.0)]
        if self.kind == "cavity":
            end = self.back * (max(self.back * s for s, _ in self.path) + 8.0)
            outer, inner = self.path[0], self.path[-1]
            return [(end, 0.0), (end, outer[1] + 2.0), (outer[0], outer[1] + 2.0), *self.path, (inner[0], 0.0)]
        a, b = _about(self.s, _DISC)
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
    shafts: list[Point] = field(default_factory=list)

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

    def load(self, polygon: Polygon, most: float = math.inf) -> int:
        """Number of taken cells in `polygon`; what is above `most` is not counted."""
        found = 0
        for cell in _cells(polygon):
            found += cell in self.owners
            if found > most:
                break
        return found


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


def gear_colours(unit: GearSystem) -> dict[str, str]:
    """Colour of each gear in the diagram, for use beside it."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(unit.gears)}


def unit_diagram(unit: GearSystem, theta: float | None = None, values: Mapping[str, float] | None = None) -> str:
    """Draw a unit.

    Parameters
    ----------
    unit : GearSystem
        A gear system.
    theta : float, optional
        The moving variable [rad]; by default its start.
    values : mapping, optional
        Parameters by full name, e.g. ``geometry.r_c`` [SI], that take the place of the unit's own.

    Returns
    -------
    str
        A standalone SVG document on a white ground.
    """
    return _Picture(_Layout(unit, theta, values or {})).svg()


class _Layout:
    """Bodies of all gears, to scale."""

    def __init__(self, unit: GearSystem, theta: float | None, values: Mapping[str, float]):
        self.unit = unit
        moving = unit.variables[unit.moving] if unit.moving else None
        self.theta = theta if theta is not None else moving.start if moving else 0.0
        self.values = {name: values.get(f"geometry.{name}", p.value) for name, p in unit.parameters.items()}
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
        for drawn in self.gears.values():
            if self._carries(drawn):
                self._place_carrier(drawn)
        for drawn in self.gears.values():
            self._place_web(drawn)
            if not drawn.on_axis:  # nothing to reach out to: a hub
                s = sum(drawn.line.of(p)[0] for p in self.points.values()) / max(len(self.points), 1)
                s = self._free_station(drawn, (s, s), (_DISC, -_DISC), s)
                self._body(drawn, drawn.line.box(_about(s, _DISC), (-_DISC, _DISC)))
                drawn.on_axis.append(_about(s, _DISC))

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
        """Pixels per metre for which the contact points, and but for carriers their mirror images, fit at any tilt."""
        carriers = {g.carrier for g in self.unit.gears.values()}
        moving = self.unit.variables[self.unit.moving] if self.unit.moving else None
        points: list[Point] = []
        for name, contact in self.unit.contacts.items():
            for theta in (self.theta, moving.min, moving.max) if moving else (self.theta,):
                p = self.point(name, theta)
                points.append(p)
                for gear in contact.between:
                    for turning in {gear, self.unit.gears[gear].carrier or gear}:
                        line, _ = self.line(turning, theta)
                        s, r = line.of(p)
                        points.append(line.at(s, 0.0 if turning in carriers else -r))
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
                    self._ring(gear, rim.s, rim.r, rim.r + _RIM)
                else:
                    station = 0 if gear.carrier and rim.kind == "spur" else round(rim.s / 2.0)  # planets may be long
                    groups[station, round(rim.r / 2.0)].append(rim)
            discs += [(gear, rims) for rims in groups.values()]
        for gear, rims in sorted(discs, key=lambda d: d[1][0].r):
            rim, line = rims[0], gear.line
            sides = {r.side for r in rims} if self._carries(gear) else {1.0, -1.0}
            if rim.kind == "spur" and any(
                self.grid.others(line.box(_about(rim.s, _DISC), _ordered(side * 3.0, side * (rim.r - 5.0))), gear.name)
                for side in sides
            ):
                for r in rims:
                    r.kind = "rim"
                if not self._carries(gear):
                    self._ring(gear, rim.s, rim.r - _RIM, rim.r)
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
            self._body(gear, gear.line.box(_about(s, _DISC), _ordered(side * inner, side * outer)))

    def _free_station(self, gear: _Gear, edges: Point, reaches: Sequence[float], aim: float) -> float:
        """Station nearest to `edges`, and then to `aim`, where a plate out to each of `reaches` meets no other body."""

        def is_free(s: float) -> bool:
            boxes = [gear.line.box((s - 8.0, s + 8.0), _ordered(0.0, reach)) for reach in reaches]
            return not any(self.grid.others(box, gear.name) for box in boxes)

        tried = [(3.0 * k, s) for k in range(120) for s in (edges[0] - _GAP - 3.0 * k, edges[1] + _GAP + 3.0 * k)]
        free = [(cost + 0.1 * abs(s - aim), s) for cost, s in tried if is_free(s)]
        return min(free)[1] if free else edges[0] - _GAP

    def _place_carrier(self, gear: _Gear) -> None:
        """Link a carrier's axis to the axes that it carries and to its rims, by a plate and, if these cross, a bar."""
        line = gear.line
        for side in (1.0, -1.0):
            carried = [g for g in self.gears.values() if g.carrier == gear.name and g.bodies]
            carried = [g for g in carried if math.copysign(1.0, sum(g.extent(line)[2:])) == side]
            rims = [r for r in gear.rims if r.side == side and r.kind in ("rim", "ring")]
            if not carried and not rims:
                continue
            parallel = [g for g in carried if g.line.is_parallel(line)]
            crossing = [g for g in carried if not g.line.is_parallel(line)]
            pins = {g.name: line.of((g.line.x, g.line.y))[1] for g in parallel}
            bar = max((max(abs(r) for r in g.extent(line)[2:]) + 10.0 for g in crossing), default=0.0)
            on_bar = bool(crossing) and all(r.r > bar + 8.0 for r in rims)  # the rims grow out of the bar
            reach = max([bar, *(abs(r) for r in pins.values()), *(r.middle for r in rims if not on_bar)])
            spans = [g.extent(line)[:2] for g in carried] or [(r.s, r.s) for r in rims]
            span = min(a for a, _ in spans), max(b for _, b in spans)
            s = self._free_station(gear, span, [side * reach], rims[0].s if rims else span[0])
            self._link(gear, line.box(_about(s, _WEB), _ordered(0.0, side * (reach + _WEB / 2.0))))
            gear.on_axis.append(_about(s, _WEB))
            for g in parallel:
                low, high, *_ = g.extent(line)
                self._link(gear, line.box(_ordered(s, low if s < low else high), _about(pins[g.name], _SHAFT)))
            ends = [s]
            for g in crossing:
                pin, _ = g.line.crossing(_Line(*line.at(0.0, side * bar), line.dx, line.dy))
                low, high, *_ = g.extent(g.line)
                pin = min(max(pin, low - 120.0), high + 120.0)
                self._link(g, g.line.box(_ordered(pin, low if pin < low else high), _about(0.0, _SHAFT)))
                ends.append(line.of(g.line.at(pin, 0.0))[0])
            for rim in rims:
                if rim.kind == "rim":
                    inner = bar if on_bar else rim.r - _RIM
                    self._body(gear, line.box(_about(rim.s, _DISC), _ordered(side * inner, side * rim.r)))
                if on_bar:
                    ends.append(rim.s)
                else:
                    self._link(gear, line.box(_ordered(s, rim.s), _about(side * rim.middle, _WEB)))
            if crossing:
                across = (min(ends) - _WEB / 2.0, max(ends) + _WEB / 2.0)
                self._link(gear, line.box(across, _about(side * bar, _WEB)))

    def _place_web(self, gear: _Gear) -> None:
        """Hang rims that carry nothing on a disc of their gear or on a web."""
        rims = [r for r in gear.rims if r.kind in ("ring", "rim")]
        if not rims or self._carries(gear):
            return
        line = gear.line
        reach = max(r.middle for r in rims)
        if gear.on_axis:
            s = min((sum(span) / 2.0 for span in gear.on_axis), key=lambda s: abs(s - rims[0].s))
        else:
            edges = (min(r.s for r in rims) - _DISC / 2.0, max(r.s for r in rims) + _DISC / 2.0)
            s = self._free_station(gear, edges, (reach, -reach), edges[1])
            gear.on_axis.append(_about(s, _WEB))
        self._link(gear, line.box(_about(s, _WEB), _about(0.0, 2.0 * reach + _WEB)))
        for rim in rims:
            for side in (1.0, -1.0):
                self._link(gear, line.box(_ordered(s, rim.s), _about(side * rim.middle, _WEB)))


def _ordered(a: float, b: float) -> Point:
    return (a, b) if a <= b else (b, a)


def _about(centre: float, width: float) -> Point:
    return centre - width / 2.0, centre + width / 2.0


class _Picture:
    """Marks, labels and the SVG text of a layout."""

    _LAYERS = ("links", "sleeves", "bodies", "shafts", "axes", "arrows", "contacts", "ports", "labels")

    def __init__(self, layout: _Layout):
        self.layout = layout
        self.grid = layout.grid
        self.layers: dict[str, list[str]] = {name: [] for name in self._LAYERS}
        self.reach: list[Point] = []  # everything drawn, for the frame
        for gear in layout.gears.values():
            for polygon in gear.links:
                self._polygon("links", polygon, _tint(gear.colour, 0.45), gear.colour, 1.0)
        sized = [(g, polygon) for g in layout.gears.values() for polygon in g.bodies]
        for gear, polygon in sorted(sized, key=lambda item: -_area(item[1])):
            self._polygon("bodies", polygon, _tint(gear.colour, 0.22), gear.colour, 1.6)
        self._shafts()
        self._ports()
        self._axes()
        self._contacts()
        self._arrows()
        self._tilt()
        self._letters()

    # --- shafts and ports

    def _shafts(self) -> None:
        for gear in self.layout.gears.values():
            spans = sorted(gear.on_axis)
            for (_, a), (b, _) in pairwise(spans):
                if b > a:
                    self._shaft(gear, a, b, 0)

    def _shaft(self, gear: _Gear, a: float, b: float, level: int) -> None:
        """A solid shaft, or, from level 1 on, a hollow one around those of lower level."""
        box = gear.line.box(_ordered(a, b), _about(0.0, _shaft_width(level)))
        if level == 0:
            bore = gear.line.box(_ordered(a, b), _about(0.0, _SHAFT + 4.0))
            self._polygon("shafts", bore, "#ffffff", "none", 0.0)
            self._polygon("shafts", box, gear.colour, "none", 0.0)
        else:
            self._polygon("sleeves", box, _tint(gear.colour, 0.22), gear.colour, 1.2)
        self.grid.take(gear.name, box)
        gear.shafts.append(_ordered(a, b))

    def _ports(self) -> None:
        """Lead each port's shaft out of the unit, the shafts of coaxial gears inside one another."""
        exits: list[tuple[str, _Gear, float]] = []
        ported = {p.gear for p in self.layout.unit.ports.values()}
        waiting = {name: self.layout.gears[p.gear] for name, p in self.layout.unit.ports.items()}
        cost = {}
        for name, gear in waiting.items():
            for side in (-1.0, 1.0):
                way = gear.line.box(_ordered(_face(gear, side), side * 3e3), (-3.0, 3.0))
                crossed = self.grid.others(way, gear.name)
                cost[name, side] = sum(3 if other in ported else 1 for other in crossed)
        for name in sorted(waiting, key=lambda n: -abs(cost[n, 1.0] - cost[n, -1.0])):
            gear = waiting[name]
            taken = [s for _, g, s in exits if g.line.is_same(gear.line)]
            exits.append((name, gear, min((-1.0, 1.0), key=lambda s: cost[name, s] + taken.count(s))))
        for place, (name, gear, side) in enumerate(exits):
            together = [(g, k) for k, (_, g, s) in enumerate(exits) if s == side and g.line.is_same(gear.line)]
            inner = [g for g, k in together if (side * (_face(g, side) - _face(gear, side)), k) < (0.0, place)]
            level, outer = len(inner), len(together) - 1 - len(inner)
            end = self._outermost(gear.line, side) + side * (34.0 + 46.0 * outer)
            self._shaft(gear, _face(gear, side), end, level)
            self._port(name, gear, end, side, level)

    def _outermost(self, line: _Line, side: float) -> float:
        """Station of the last body on an axis."""
        near = [line.of(p) for g in self.layout.gears.values() for polygon in (*g.bodies, *g.links) for p in polygon]
        spans = [s for g in self.layout.gears.values() if g.line.is_same(line) for span in g.on_axis for s in span]
        return max([s for s, r in near if abs(r) < 20.0] + spans, key=lambda s: side * s)

    def _port(self, name: str, gear: _Gear, end: float, side: float, level: int) -> None:
        """Flange, arrow into the unit and name."""
        half = _shaft_width(level) / 2.0
        line = gear.line
        flange = line.box(_about(end, 3.0), (-half - 5.0, half + 5.0))
        self._polygon("ports", flange, _INK, _INK, 0.5)
        self.grid.take("port", flange)
        turns = (0.0, 0.9, -0.9, 1.57, -1.57) if level == 0 else (0.9, -0.9, 1.4, -1.4)
        width, height = 7.0 * len(name) + 14.0, 20.0
        best = None
        for turn in turns:
            ux, uy = side * line.dx, side * line.dy
            vx, vy = ux * math.cos(turn) - uy * math.sin(turn), ux * math.sin(turn) + uy * math.cos(turn)
            r = math.copysign(half + 5.0, side * turn) if turn else 0.0
            tip = line.at(end + side * 3.0, r)
            tail = tip[0] + 34.0 * vx, tip[1] + 34.0 * vy
            room = min(width / 2.0 / max(abs(vx), 1e-9), height / 2.0 / max(abs(vy), 1e-9))
            centre = tail[0] + room * vx, tail[1] + room * vy
            load = self.grid.load(_rectangle(centre, width + 4.0, height + 4.0)) + 10.0 * abs(turn)
            load += self.grid.load(_strip(tip, tail, 8.0))
            if best is None or load < best[0]:
                best = load, tip, tail, centre
        assert best is not None
        _, tip, tail, centre = best
        if self.layout.unit.ports[name].speed_in:
            mid = _between(tip, tail, 0.55)
            self._zigzag("ports", tip, mid, _INK, 4.0)
            tip = mid
        self._arrow("ports", tail, tip, _INK, 2.2)
        x, y = centre
        box = _rectangle(centre, width, height)
        self.grid.take("port", box)
        self.grid.take("port", _strip(tip, tail, 10.0))
        self._rounded("ports", box, 10.0, _INK)
        self._text("ports", (x, y), name, 12.0, "#ffffff", weight="600")

    # --- axes and directions

    def _axes(self) -> None:
        """Centre lines, one for coaxial gears."""
        drawn: list[_Line] = []
        for gear in self.layout.gears.values():
            line = gear.line
            if any(line.is_same(other) for other in drawn):
                continue
            drawn.append(line)
            coaxial = [g for g in self.layout.gears.values() if g.line.is_same(line)]
            spans = [s for g in coaxial for span in g.on_axis for s in span]
            spans += [s for g in coaxial if g.bodies for s in g.extent(line)[:2]]
            a, b = line.at(min(spans) - 26.0, 0.0), line.at(max(spans) + 26.0, 0.0)
            self._line("axes", a, b, _FAINT, 0.9, 'stroke-dasharray="12 3 2 3"')

    def _arrows(self) -> None:
        """One arrow per gear in its positive direction, on its axis or beside its shaft."""
        for gear in self.layout.gears.values():
            best = None
            length = 28.0
            spans = gear.on_axis + gear.shafts
            low, high = min(s for s, _ in spans) - 70.0, max(s for _, s in spans) + 70.0 - length
            for s in (low + 3.0 * k for k in range(round((high - low) / 3.0))):
                away = min(max(a - s - length, s - b, 0.0) for a, b in spans)
                for r in (0.0, 8.0, -8.0, 11.0, -11.0, 15.0, -15.0):
                    box = gear.line.box((s - 3.0, s + length + 3.0), (r - 5.0, r + 5.0))
                    cost = 3.0 * self.grid.load(box) + 0.5 * away + 0.5 * abs(r)
                    if best is None or cost < best[0]:
                        best = cost, s, r, box
            assert best is not None
            _, s, r, box = best
            ends = gear.line.at(s, r), gear.line.at(s + length, r)
            a, b = ends if gear.sign > 0.0 else ends[::-1]
            self._arrow("arrows", a, b, gear.colour, 2.8, halo=True)
            self.grid.take("arrow", box)

    def _tilt(self) -> None:
        """An arc with two heads beside each axis that the moving variable turns."""
        for gear in self.layout.gears.values():
            if not self.layout.is_moving(gear.name) or not gear.rims:
                continue
            centre = sum(r.s for r in gear.rims) / len(gear.rims)
            cx, cy = gear.line.at(centre, 0.0)
            best = None
            for side in (1.0, -1.0):
                for radius in (34.0, 42.0, 50.0, 60.0, 70.0, 80.0):
                    angle = math.atan2(side * gear.line.dy, side * gear.line.dx)
                    arc = [
                        (cx + radius * math.cos(angle + t), cy + radius * math.sin(angle + t))
                        for t in (-18.0 / radius, -9.0 / radius, 0.0, 9.0 / radius, 18.0 / radius)
                    ]
                    cost = self.grid.load(_strip(arc[0], arc[-1], 14.0)) + 0.2 * radius
                    if best is None or cost < best[0]:
                        best = cost, arc, radius
            assert best is not None
            _, arc, radius = best
            self._arrow("arrows", arc[1], arc[0], _INK, 1.4)
            self._arrow("arrows", arc[3], arc[4], _INK, 1.4)
            (x1, y1), (x2, y2) = arc[1], arc[3]
            self.layers["arrows"].append(
                f'<path d="M{x1:.1f} {-y1:.1f}A{radius:.1f} {radius:.1f} 0 0 0 {x2:.1f} {-y2:.1f}" '
                f'fill="none" stroke="{_INK}" stroke-width="1.4"/>'
            )
            self.grid.take("tilt", _strip(arc[0], arc[-1], 12.0))
            moving = self.layout.unit.moving or ""
            self._label(arc[2], _greek(moving), 14.0, _INK, "normal", italic=True)

    # --- contacts and labels

    def _contacts(self) -> None:
        where = []
        for name, contact in self.layout.unit.contacts.items():
            p = self.layout.points[name]
            i, j = (self.layout.gears[g] for g in contact.between)
            moving = [g for g in (i, j) if self.layout.is_moving(g.name)]
            if i.line.is_parallel(j.line) or moving:
                line = moving[0].line if moving else i.line
                u = (line.dx, line.dy)
            else:
                x, y = i.line.at(*i.line.crossing(j.line))
                length = math.dist(p, (x, y)) or 1.0
                u = ((p[0] - x) / length, (p[1] - y) / length)
            a, b = (p[0] - 9.0 * u[0], p[1] - 9.0 * u[1]), (p[0] + 9.0 * u[0], p[1] + 9.0 * u[1])
            self._zigzag("contacts", a, b, _SPRING, 4.0)
            self.grid.take("spring", _strip(a, b, 10.0))
            where.append((p, name))
        for p, name in where:
            self._label(p, name, 12.0, _SPRING, "600")

    def _letters(self) -> None:
        for gear in self.layout.gears.values():
            corners = [p for polygon in gear.bodies or gear.links for p in polygon]
            middles = [
                _between(a, b, 0.5)
                for polygon in gear.bodies or gear.links
                for a, b in zip(polygon, [*polygon[1:], polygon[0]], strict=True)
            ]
            self._label_near([*middles, *corners], gear.name, 17.0, gear.colour, "bold", gear.name)

    def _label(self, p: Point, text: str, size: float, colour: str, weight: str, italic: bool = False) -> None:
        self._label_near([p], text, size, colour, weight, "", (13.0, 17.0, 22.0, 28.0), italic)

    def _label_near(
        self,
        anchors: Sequence[Point],
        text: str,
        size: float,
        colour: str,
        weight: str,
        owner: str,
        distances: Sequence[float] = (5.0, 9.0, 14.0),
        italic: bool = False,
    ) -> None:
        """Write `text` beside one of `anchors`, where there is most room."""
        width, height = 0.6 * size * len(text) + 4.0, size * 1.0
        near, alone = (0.3, 6.0) if owner else (0.8, 2.0)
        best = math.inf, anchors[0]
        for anchor in anchors:
            for distance in distances:
                for k in range(16):
                    if near * distance >= best[0]:
                        break
                    angle = math.tau * k / 16.0
                    ux, uy = math.cos(angle), math.sin(angle)
                    room = min(width / 2.0 / max(abs(ux), 1e-9), height / 2.0 / max(abs(uy), 1e-9))
                    centre = anchor[0] + (distance + room - 4.0) * ux, anchor[1] + (distance + room - 4.0) * uy
                    cost = 4.0 * self.grid.load(_rectangle(centre, width, height), 0.25 * best[0])
                    if cost >= best[0]:
                        continue
                    around = self.grid.others(_rectangle(centre, width + 10.0, height + 10.0), owner)
                    cost += alone * len(around) + near * distance
                    if cost < best[0]:
                        best = cost, centre
        centre = best[1]
        self.grid.take("label", _rectangle(centre, width, height))
        self._text("labels", centre, text, size, colour, weight, halo=True, italic=italic)

    # --- SVG

    def _polygon(self, layer: str, polygon: Polygon, fill: str, stroke: str, width: float) -> None:
        self.reach += polygon
        points = " ".join(f"{x:.1f},{-y:.1f}" for x, y in polygon)
        self.layers[layer].append(
            f'<polygon points="{points}" fill="{fill}" stroke="{stroke}" stroke-width="{width:g}"/>'
        )

    def _rounded(self, layer: str, box: Polygon, radius: float, fill: str) -> None:
        self.reach += box
        (x, y), (x2, y2) = box[0], box[2]
        self.layers[layer].append(
            f'<rect x="{x:.1f}" y="{-y2:.1f}" width="{x2 - x:.1f}" height="{y2 - y:.1f}" rx="{radius:g}" '
            f'fill="{fill}"/>'
        )

    def _line(self, layer: str, a: Point, b: Point, stroke: str, width: float, more: str = "") -> None:
        self.reach += [a, b]
        self.layers[layer].append(
            f'<line x1="{a[0]:.1f}" y1="{-a[1]:.1f}" x2="{b[0]:.1f}" y2="{-b[1]:.1f}" '
            f'stroke="{stroke}" stroke-width="{width:g}" {more}/>'
        )

    def _arrow(self, layer: str, a: Point, b: Point, colour: str, width: float, halo: bool = False) -> None:
        length = math.dist(a, b) or 1.0
        ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
        head = min(4.0 * width, 0.7 * length)
        neck = b[0] - head * ux, b[1] - head * uy
        wings = [(neck[0] - side * 0.45 * head * uy, neck[1] + side * 0.45 * head * ux) for side in (1.0, -1.0)]
        if halo:
            self._line(layer, a, b, "#ffffff", width + 4.0, 'stroke-linecap="round"')
        self._line(layer, a, _between(a, neck, 1.0), colour, width)
        self._polygon(layer, [b, *wings], colour, "#ffffff" if halo else colour, 0.5)

    def _zigzag(self, layer: str, a: Point, b: Point, colour: str, height: float) -> None:
        """A spring from a to b."""
        length = math.dist(a, b) or 1.0
        nx, ny = -(b[1] - a[1]) / length * height, (b[0] - a[0]) / length * height
        places = [(0.0, 0.0), (0.12, 0.0)]
        places += [(0.2 + 0.12 * k, 1.0 if k % 2 else -1.0) for k in range(6)]
        places += [(0.88, 0.0), (1.0, 0.0)]
        points = [(a[0] + t * (b[0] - a[0]) + v * nx, a[1] + t * (b[1] - a[1]) + v * ny) for t, v in places]
        self.reach += points
        text = " ".join(f"{x:.1f},{-y:.1f}" for x, y in points)
        for stroke, width in (("#ffffff", 4.5), (colour, 1.8)):
            self.layers[layer].append(
                f'<polyline points="{text}" fill="none" stroke="{stroke}" stroke-width="{width}"/>'
            )

    def _text(
        self,
        layer: str,
        p: Point,
        text: str,
        size: float,
        fill: str,
        weight: str = "normal",
        anchor: str = "middle",
        halo: bool = False,
        italic: bool = False,
    ) -> None:
        half = 0.3 * size * len(text) + 2.0
        self.reach += _rectangle(p, 2.0 * half, size)
        around = ' paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round"' if halo else ""
        style = ' font-style="italic"' if italic else ""
        self.layers[layer].append(
            f'<text x="{p[0]:.1f}" y="{-p[1] + 0.36 * size:.1f}" font-size="{size:g}" font-weight="{weight}"{style} '
            f'fill="{fill}" text-anchor="{anchor}"{around}>{html.text(text)}</text>'
        )

    def svg(self) -> str:
        """The document."""
        unit = self.layout.unit
        left, right = min(p[0] for p in self.reach) - 18.0, max(p[0] for p in self.reach) + 18.0
        bottom, top = min(p[1] for p in self.reach) - 16.0, max(p[1] for p in self.reach) + 16.0
        legend, needed = self._legend(left + 4.0, bottom - 16.0)
        right = max(right, left + needed)
        width, height = right - left, top - bottom + 36.0
        body = "\n".join(f'<g class="{n}">\n' + "\n".join(self.layers[n]) + "\n</g>" for n in self._LAYERS)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.1f} {-top:.1f} {width:.1f} {height:.1f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" '
            'stroke-linejoin="round" '
            "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n"
            f"<title>{html.text(unit.name)}</title>\n<desc>{html.text(unit.description)}</desc>\n"
            f'<rect x="{left:.1f}" y="{-top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="#ffffff"/>\n'
            f"{body}\n{legend}\n</svg>\n"
        )

    def _legend(self, x: float, y: float) -> tuple[str, float]:
        """Scale bar and key below the drawing, and the width they need."""
        self.layers["legend"] = []
        start = x
        length = next(
            v * 10.0**e for e in range(-6, 4) for v in (1.0, 2.0, 5.0) if v * 10.0**e * self.layout.scale >= 55.0
        )
        bar = length * self.layout.scale
        self._line("legend", (x, y), (x + bar, y), _INK, 1.6)
        for end in (x, x + bar):
            self._line("legend", (end, y - 4.0), (end, y + 4.0), _INK, 1.6)
        x = self._key(x + bar + 6.0, y, f"{length * 1e3:g} mm")
        self._arrow("legend", (x, y), (x + 26.0, y), _FAINT, 2.8)
        x = self._key(x + 32.0, y, "positive rotation")
        if self.layout.unit.contacts:
            self._zigzag("legend", (x, y), (x + 18.0, y), _SPRING, 4.0)
            x = self._key(x + 24.0, y, "contact")
        self._arrow("legend", (x, y), (x + 22.0, y), _INK, 2.2)
        x = self._key(x + 28.0, y, "port")
        if self.layout.unit.moving:
            x = self._key(x, y, f"{_greek(self.layout.unit.moving)} = {self.layout.theta:.3g} rad")
        return "<g>\n" + "\n".join(self.layers["legend"]) + "\n</g>", x - start

    def _key(self, x: float, y: float, text: str) -> float:
        self._text("legend", (x, y), text, 12.0, _INK, anchor="start")
        return x + 6.0 * len(text) + 22.0


def _face(gear: _Gear, side: float) -> float:
    """Station where a gear's outermost body on its axis ends, on one side."""
    return max((s for span in gear.on_axis for s in span), key=lambda s: side * s)


def _shaft_width(level: int) -> float:
    return _SHAFT + 10.0 * level


def _between(a: Point, b: Point, t: float) -> Point:
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])


def _rectangle(centre: Point, width: float, height: float) -> Polygon:
    (x, y), w, h = centre, width / 2.0, height / 2.0
    return [(x - w, y - h), (x + w, y - h), (x + w, y + h), (x - w, y + h)]


def _strip(a: Point, b: Point, width: float) -> Polygon:
    length = math.dist(a, b) or 1.0
    nx, ny = -(b[1] - a[1]) / length * width / 2.0, (b[0] - a[0]) / length * width / 2.0
    return [(a[0] + nx, a[1] + ny), (b[0] + nx, b[1] + ny), (b[0] - nx, b[1] - ny), (a[0] - nx, a[1] - ny)]


def _area(polygon: Polygon) -> float:
    pairs = zip(polygon, [*polygon[1:], polygon[0]], strict=True)
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs)) / 2.0


def _tint(colour: str, strength: float) -> str:
    """`colour` mixed with white."""
    mixed = (round(255.0 - strength * (255 - int(colour[i : i + 2], 16))) for i in (1, 3, 5))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def _greek(name: str) -> str:
    return {"theta": "θ", "alpha": "α", "beta": "β", "gamma": "γ", "phi": "φ", "psi": "ψ"}.get(name, name)
