"""Kinematic scheme of a gear system, drawn from the unit's own geometry: an SVG.

It is the stick schematic of gear trains. An axis is a dash-dotted line. A gear is a stick from its shaft to each
contact point, with a short bar along the teeth; a planet is a rectangle about its axis. A stick that would cut another
gear, as a ring's, is led around it. A carrier is a bar to the axes of its planets. Coaxial shafts are parallel lines at
a small distance. A clutch is two bars between two shafts, a brake two bars between a shaft and the housing.

Gears with parallel axes are drawn with radii to scale and in columns along the axis: by station, then as in the file;
contacts whose gears do not cover each other share one. Coaxial gears are drawn above their axis only. Other systems are
drawn at their places, to scale. Where the tilt moves the contact point, a disc follows its path (a toroid's cavity).

Points are complex numbers [pixels]: x + iy in the plane, y pointing up, and s + ir along an axis and to its left.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from rtcvt.files.expression import Expression
from rtcvt.html.svg import Drawing, samples
from rtcvt.look import COLOURS, GREY, INK, PAPER, RIGID
from rtcvt.pog.radii import direction
from rtcvt.pog.unit import GearSystem

_INK, _CONTACT, _FAINT = INK, RIGID, GREY
_WIDTH, _HEIGHT = 520.0, 380.0  # [pixels] area that the contact points fill
_BAR = 8.0  # half length of a bar along teeth, half width of a planet
_OFF = 2.5  # distance of that bar from the contact point, and of an element's bars from its middle
_GREEK = {"theta": "θ", "alpha": "α", "beta": "β", "gamma": "γ", "phi": "φ", "psi": "ψ"}


@dataclass(eq=False)
class _Gear:
    """A gear and the elements of its drawing, in coordinates of its axis."""

    colour: str
    carrier: str | None
    moving: bool  # whether its axis turns with the moving variable
    through: complex  # a point on the axis
    along: complex  # of length 1, to the right or up for either positive direction of rotation
    sign: float  # of the positive direction of rotation
    mirrored: bool = False  # whether it is drawn on both sides of its axis
    level: int = 0  # of its shaft among coaxial ones
    sticks: list[complex] = field(default_factory=list)  # points that a straight stick from its shaft reaches
    blocked: list[complex] = field(default_factory=list)  # other points
    stops: list[float] = field(default_factory=list)  # other stations that the shaft reaches
    lines: list[list[complex]] = field(default_factory=list)

    def at(self, z: complex) -> complex:
        return self.through + z * self.along

    def of(self, p: complex) -> complex:
        return (p - self.through) * self.along.conjugate()

    def is_parallel(self, other: "_Gear") -> bool:
        return abs((other.along * self.along.conjugate()).imag) < 1e-6

    def span(self, more: float = 0.0) -> tuple[float, float]:
        places = [z.real for z in self.sticks] + self.stops
        return min(places) - more, max(places) + more


def gear_colours(unit: GearSystem) -> dict[str, str]:
    """Colour of each gear in the diagram, for use in tables and plots."""
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
        Parameters by full name, e.g. ``geometry.r_c`` [SI], instead of the unit's own.

    Returns
    -------
    str
        A standalone SVG document on a white ground.
    """
    start = unit.variables[unit.moving].start if unit.moving else 0.0
    given = {name: (values or {}).get(f"geometry.{name}", p.value) for name, p in unit.parameters.items()}
    return _Scheme(unit, {**given, unit.moving or "": start if theta is None else theta}).picture()


class _Scheme:
    """Elements of the drawing and their places."""

    def __init__(self, unit: GearSystem, values: Mapping[str, float]):
        self.unit, self.values, self.paths, self.pairs = unit, values, {}, {}
        self.pitch = 16.0j if unit.clutches or unit.brakes else 10.0j  # of coaxial shafts
        self.gears = {name: self._gear(name, colour) for name, colour in gear_colours(unit).items()}
        self.all = list(self.gears.values())
        self.base, carriers = self.all[0], {g.carrier for g in self.all}
        self.columns = not unit.variables and all(g.is_parallel(self.base) for g in self.all)
        axes = [[h for h in self.all if h.is_parallel(g) and abs(h.of(g.through).imag) < 1e-6] for g in self.all]
        self.coaxial = [shafts for k, shafts in enumerate(axes) if shafts not in axes[:k]]
        for name, g in self.gears.items():
            g.mirrored = name not in carriers and (not self.columns or g.carrier is not None or [g] in axes)
        for name, contact in unit.contacts.items():  # where it is, and over the tilt
            tilts = [{v: x.min + (x.max - x.min) * k / 32.0} for v, x in unit.variables.items() for k in range(33)]
            self.paths[name] = [self._point(f"contacts.{name}.point", contact.point, tilt) for tilt in ({}, *tilts)]
            self.pairs[name] = [self.gears[g] for g in contact.between]
        self.ink: list[tuple[_Gear, complex]] = []  # points of bodies, which sticks keep away from
        self.elements: list[tuple[str, list[_Gear], float]] = []  # clutches and brakes: name, gears, station
        self.ports: list[tuple[str, _Gear, float, float]] = []  # name, gear, station, side
        self._scale_to_fit()
        if self.columns:
            self._stand_in_columns()
        self._place_bodies()
        for name, g in self.gears.items():
            self._carry(g, [h for h in self.all if h.carrier == name])
        for g in self.all:
            for side in (1.0, -1.0):
                self._go_past(g, side, [z for z in g.blocked if side * z.imag > 0.0])
            g.sticks = g.sticks or [complex(self._middle(g), 14.0)]
        for shafts in self.coaxial:
            self._join(shafts)
            order: list[_Gear] = []
            for g in shafts:  # each in turn where that makes the fewest lines cross
                places = range(max(0, len(order) - 12), len(order) + 1)  # enough for a machine that can be built
                order = min(([*order[:k], g, *order[k:]] for k in places), key=self._crossings)
            self._crossings(order)

    # --- geometry

    def _gear(self, name: str, colour: str) -> _Gear:
        gear, along = self.unit.gears[name], direction(self.unit, name)
        d = self._at(along)
        sign = 1.0 if d.real > 1e-6 or (abs(d.real) <= 1e-6 and d.imag > 0.0) else -1.0
        moving = any(self.unit.moving in c.names for c in along)
        return _Gear(colour, gear.carrier, moving, self._point(f"gears.{name}.axis", gear.axis.through), sign * d, sign)

    def _at(self, pair: Iterable[Expression], tilt: Mapping[str, float] | None = None) -> complex:
        return complex(*(float(c.evaluate({**self.values, **(tilt or {})})) for c in pair))

    def _point(self, key: str, pair: Sequence[str | float], tilt: Mapping[str, float] | None = None) -> complex:
        return self._at((self.unit.coordinate(key, c) for c in pair), tilt)

    def _scale_to_fit(self) -> None:
        """From metres to pixels; in columns only the radii have to fit."""
        reach = [g.through for g in self.all] if self.columns or not self.paths else []
        for name, path in self.paths.items():
            mirrors = [g for g in self.pairs[name] if g.mirrored and not g.moving]
            reach += path + [g.at(g.of(p).conjugate()) for p in path for g in mirrors]
            reach += [g.at(g.of(path[0]).real) for g in self.all]
        reach = [1j * self.base.of(p).imag for p in reach] if self.columns else reach
        width, height = (max(x) - min(x) for x in ([p.real for p in reach], [p.imag for p in reach]))
        self.scale = min(_WIDTH / max(width, 1e-6), _HEIGHT / max(height, 1e-6))
        for g in self.all:
            g.through *= self.scale
        self.paths = {name: [self.scale * p for p in path] for name, path in self.paths.items()}
        self.points = {name: path[0] for name, path in self.paths.items()}

    def _stand_in_columns(self) -> None:
        """Give each contact the station of the first column in which its gears cover no others."""
        columns: list[list[tuple[_Gear, float, float, float]]] = []  # gears, from and to r, station
        places = {name: self.base.of(p) for name, p in self.points.items()}
        pitch = 70.0 + 60.0 * (len(self.unit.clutches) + len(self.unit.brakes)) / max(len(places), 1)
        for name, z in sorted(places.items(), key=lambda item: round(item[1].real, 1)):
            bodies = []
            for g in self.pairs[name]:
                r = self.base.of(g.through).imag
                end = z.imag if self._is_ring(g, name) else 2.0 * r - z.imag if g.mirrored else r
                bodies.append((g, min(z.imag, end), max(z.imag, end), z.real))
            for k, column in enumerate([*columns, []]):  # noqa: B007
                pairs = product(bodies, column)
                if all(s - t < 0.2 and (g is h or a > d - 0.5 or b < c + 0.5) for (g, a, b, s), (h, c, d, t) in pairs):
                    break
            columns[k:] = [column + bodies, *columns[k + 1 :]]
            self.points[name] = self.base.at(complex(pitch * k, z.imag))

    def _is_ring(self, g: _Gear, contact: str) -> bool:
        """Whether both gears touch from the same side and this is the larger."""
        radii = [h.of(self.points[contact]).imag for h in self.pairs[contact]]
        larger = abs(g.of(self.points[contact]).imag) > min(map(abs, radii)) + 1e-6
        return larger and radii[0] * radii[1] > 0.0 and self.pairs[contact][0].is_parallel(self.pairs[contact][1])

    def _bar(self, g: _Gear, contact: str) -> tuple[list[complex], complex]:
        """The line along a gear's teeth, and where its stick ends on it."""
        other, z = next(h for h in self.pairs[contact] if h is not g), g.of(self.points[contact])
        path = sorted((g.of(p) for p in self.paths[contact]), key=lambda p: -abs(p.imag))
        if not g.moving and max(abs(p - path[0]) for p in path) > 1.0:  # a cavity, closed at its back
            back = math.copysign(1.0, z.real - g.of(other.through).real)
            end = back * (max(back * p.real for p in path) + _BAR)
            outer, inner = complex(end, path[0].imag), complex(end, path[-1].imag)
            return [outer, *path, inner, outer], outer
        along = (other if other.moving else g).along * g.along.conjugate()
        if not (g.moving or other.moving or g.is_parallel(other)):  # the pitch cone: its apex is where the axes cross
            axis, through = other.along * g.along.conjugate(), g.of(other.through)
            along = through - through.imag / axis.imag * axis - z
            along /= abs(along) or 1.0
        inwards = -1j * along * math.copysign(_OFF, z.imag * along.real * (-1.0 if self._is_ring(g, contact) else 1.0))
        return [z + inwards - _BAR * along, z + inwards + _BAR * along], z + inwards

    # --- bodies

    def _draw(self, g: _Gear, *lines: list[complex], shown: bool = True) -> None:
        g.lines += lines if shown else []
        self.ink += [(g, g.at(z)) for line in lines for z in samples(line)]

    def _top(self, g: _Gear, z: complex, near: float = 5.0) -> float:
        """How far other bodies reach between a gear's axis and a point; 0 if there are none."""
        side = math.copysign(1.0, z.imag)
        tops = [side * w.imag for h, p in self.ink if h is not g and abs((w := g.of(p) - z.real).real) < near]
        return max((r for r in tops if 0.0 < r < abs(z.imag) - 1.0), default=0.0)

    def _middle(self, g: _Gear, points: Sequence[complex] = ()) -> float:
        places = [g.of(p).real for p in points or self.points.values()] or [0.0]
        return 0.5 * (min(places) + max(places))

    def _place_bodies(self) -> None:
        """Planets, then other gears from the smallest to the largest."""
        ends, planets = [], defaultdict(list)
        for name, pair in self.pairs.items():
            for g in pair:
                z = g.of(self.points[name])
                if g.carrier and pair[0].is_parallel(pair[1]):
                    planets[g, round(abs(z.imag), 1)].append(z.real)
                else:
                    ends.append((not g.carrier and not g.moving, abs(z.imag), g, name))
        for (g, radius), places in planets.items():
            a, b, r = min(places) - _BAR, max(places) + _BAR, 1j * max(radius - _OFF, 1.0)
            self._draw(g, [a - r, b - r, b + r, a + r, a - r])
            g.sticks.append(complex(0.5 * (a + b)))
        for fixed, _, g, name in sorted(ends, key=lambda end: end[:2]):
            bar, z = self._bar(g, name)
            blocked = fixed and self._top(g, z) > 0.0
            (g.blocked if blocked else g.sticks).append(z)
            self._draw(g, bar)
            if not blocked:
                self._draw(g, [complex(z.real), z], shown=False)
                self._draw(g, *([[w.conjugate() for w in bar], [z, z.conjugate()]] if g.mirrored else []))

    def _carry(self, g: _Gear, planets: Sequence[_Gear]) -> None:
        """Join a carrier to the axes that it carries: parallel ones towards the middle, others at their outer end."""
        bodies = [p for h, p in self.ink if h in planets]
        inwards = self._middle(g, bodies) < self._middle(g) - 1.0
        for h in planets:
            places = [h.of(p).real for owner, p in self.ink if owner is h] or [self._middle(h)]
            ends = [(min(places), min(places) - 10.0), (max(places), max(places) + 10.0)]
            outer = max(ends, key=lambda end: abs(g.of(h.at(end[1])).imag))
            pin = [g.of(h.at(s)) for s in (ends[inwards] if h.is_parallel(g) else outer)]
            self._draw(g, pin)
            (g.blocked if self._top(g, pin[1]) else g.sticks).append(pin[1])

    def _go_past(self, g: _Gear, side: float, places: Sequence[complex]) -> None:
        """Join points on one side of the axis, which no straight stick reaches, to a stick farther out."""
        if places:
            out = -1.0 if self._middle(g, [g.at(z) for z in places]) < self._middle(g) - 1.0 else 1.0
            top = 1j * side * (max(self._top(g, z) for z in places) + 2.0 * _OFF)
            web = out * max(out * z.real for z in places) + 14.0 * out
            while self._top(g, web + 1.05 * top, 9.0):
                web += 4.0 * out
            self._draw(g, *([z, z.real + top, web + top] for z in places))
            self._draw(g, [complex(web), web + top], shown=False)
            g.sticks.append(web + top)

    # --- shafts

    def _join(self, shafts: list[_Gear]) -> None:
        """Place clutches and brakes where they lengthen the shafts least, and ports at the ends."""
        taken = [(z.real, 15.0) for g in shafts for z in g.sticks]
        low, high = min(taken)[0], max(taken)[0]
        wanted = [(name, [self.gears[g] for g in c.between]) for name, c in self.unit.clutches.items()]
        wanted += [(name, [self.gears[b.gear]]) for name, b in self.unit.brakes.items()]
        for name, pair in (w for w in wanted if w[1][0] in shafts):
            ways = range(-30, round(high - low) + 30 * len(wanted) + 32, 2)
            free = [low + k for k in ways if all(abs(low + k - t) >= away for t, away in taken)]
            s = min(free, key=lambda s: sum(max(g.span()[0] - s, s - g.span()[1], 0.0) for g in pair))
            taken.append((s, 30.0))
            self.elements.append((name, pair, s))
            for g in pair:
                g.stops.append(s)
        ends = [s for s, _ in taken] + [shafts[0].of(p).real for h, p in self.ink if h in shafts]
        for name, port in self.unit.ports.items():
            if (g := self.gears[port.gear]) in shafts:
                side = 1.0 if sum(z.real for z in g.sticks) / len(g.sticks) > 0.5 * (low + high) + 1.0 else -1.0
                g.stops.append(side * (max(side * s for s in ends) + 22.0))
                self.ports.append((name, g, g.stops[-1], side))

    def _crossings(self, order: Sequence[_Gear]) -> int:
        """Lay coaxial shafts from the inside to the outside; how many lines cross."""
        for k, g in enumerate(order):
            low, high = g.span(8.0)
            g.level = min({*range(k + 1)} - {h.level for h in order[:k] if h.span()[0] < high and low < h.span()[1]})
        lines = [(float(g.level), math.inf, z.real) for g in order for z in g.sticks if z.imag > 0.0]
        joined = [(*(g.level for g in pair if g in order), math.inf, s) for _, pair, s in self.elements]
        lines += [(way[0], way[1], way[-1]) for way in joined if len(way) > 2]
        spans = [(g.level, *g.span(1.0)) for g in order]
        return sum(low < s < high and min(a, b) < n < max(a, b) for a, b, s in lines for n, low, high in spans)

    # --- the picture

    def picture(self) -> str:
        """The document."""
        self.drawing = draw = Drawing()
        for shafts in self.coaxial:
            ends = [s for g in shafts for s in g.span()] + [shafts[0].of(p).real for g, p in self.ink if g in shafts]
            axis = [shafts[0].at(min(ends) - 20.0), shafts[0].at(max(ends) + 20.0)]
            draw.line(axis, _FAINT, 0.9, 'fill="none" stroke-dasharray="12 3 2 3"')
        for g in sorted(self.all, key=lambda g: -g.level):
            low, high = g.span(7.0 if g.level and g.span()[1] - g.span()[0] < 7.0 else 0.0)
            g.lines.append([low + self.pitch * g.level, high + self.pitch * g.level])
            g.lines += [[z.real + self.pitch * g.level, z] for z in g.sticks]
            for colour, width in ((PAPER, 7.0), (g.colour, 3.0)):  # a gap where another line is crossed
                for points in g.lines:
                    draw.line([g.at(z) for z in points], colour, width)
        for element in self.elements:
            self._element(*element)
        for name, p in self.points.items():
            draw.circle(p, 3.2, _CONTACT)
            draw.label([p], name, 11.0, _CONTACT)
        for port in self.ports:
            self._port(*port)
        for name, g in self.gears.items():
            sides = [(g.at(a), g.at(b)) for points in g.lines for a, b in pairwise(points)]
            anchors = [a + t * (b - a) for a, b in sides for t in (0.3, 0.6)]
            right = draw.label(anchors, name, 16.0, g.colour, 22.0) + 11.0
            draw.arrow(right - 9.0 * g.sign * g.along, right + 9.0 * g.sign * g.along, g.colour)
        p = draw.scale_bar(draw.corners()[0] - 20.0j, self.scale, "radii: " * self.columns)
        p = draw.text(p, "→ positive rotation", 12.0, _FAINT, "start")
        p = draw.text(p, "● contact", 12.0, _CONTACT, "start")
        for name in self.unit.variables:
            draw.text(p, f"{_GREEK.get(name, name)} = {self.values[name]:.3g} rad", 12.0, _INK, "start")
        return draw.document(self.unit.name, self.unit.description)

    def _element(self, name: str, pair: Sequence[_Gear], s: float) -> None:
        """A clutch or brake: two bars across a line to another shaft or to the housing."""
        draw, a = self.drawing, pair[0].at(s + self.pitch * pair[0].level)
        b = pair[0].at(s + 18.0j + self.pitch * max(h.level for h in self.all))
        for other in pair[1:]:
            b = other.at(other.of(a).real + self.pitch * other.level)
        along = (b - a) / (abs(b - a) or 1.0)
        middle = a + 8.0 * along if pair[1:] else b
        draw.line([a + 4.0 * along, b - 4.0 * along], PAPER, 7.0)
        draw.line([a, middle - _OFF * along], pair[0].colour)
        draw.line([middle + _OFF * along, b], pair[-1].colour if pair[1:] else _INK)
        for off in (-_OFF, _OFF):
            draw.line([middle + (off - 7.0j) * along, middle + (off + 7.0j) * along], _INK, 2.0)
        for k in () if pair[1:] else (-6.0j, 0.0j, 6.0j):
            draw.line([middle + (_OFF + k) * along, middle + (8.0 + 4.0j + k) * along], _INK, 1.2)
        draw.label([middle], name, 12.0, _INK, gap=9.0)

    def _port(self, name: str, g: _Gear, s: float, side: float) -> None:
        """A pill with an arrow to the end of its shaft; with a spring if its input is a speed."""
        draw, tip, half = self.drawing, g.at(s + self.pitch * g.level), 4.1 * len(name) + 10.0
        p = draw.place([tip], 2.0 * half, 20.0, 26.0, side * g.along)
        u = (tip - p) / (abs(tip - p) or 1.0)
        if self.unit.ports[name].speed_in:
            draw.line([tip - u * (2.5 * k + 4.0j * (k % 2) * (-1) ** (k // 2)) for k in range(9)], _INK, 1.6)
            tip -= 20.0 * u
        draw.arrow(p, tip, _INK)
        draw.line([p - half + 10.0, p + half - 10.0], _INK, 20.0)
        draw.text(p, name, 12.0, PAPER, more='font-weight="600"')
