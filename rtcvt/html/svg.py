"""Line drawings as SVG. A point is a complex number x + iy [pixels], y pointing up.

The frame contains all that was drawn. Labels find places of their own, where they cover no other and few lines.
"""

import cmath
import math
from collections.abc import Iterable, Sequence
from itertools import count, pairwise, product

from rtcvt.html import text as escaped
from rtcvt.look import INK, standalone

_CHARACTER = 0.68  # width of a character over the font size: at least that of usual fonts
_CELL = 6.0  # size of a cell of the grid that keeps labels apart
_LINE = 6.0  # cost of covering a cell with a line, as a distance of the label from its anchor


def arc(centre: complex, radius: float, start: float, end: float) -> list[complex]:
    """Points on an arc from one angle to another [rad]."""
    steps = max(2, round(abs(end - start) / 0.05))
    return [centre + cmath.rect(radius, start + (end - start) * k / steps) for k in range(steps + 1)]


class Drawing:
    """An SVG picture under construction; later elements cover earlier ones."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.reach: list[complex] = []
        self.grid: dict[tuple[int, int], float] = {}  # cost of covering a cell with a label

    def line(self, points: Iterable[complex], colour: str, width: float = 3.0, more: str = 'fill="none"') -> None:
        """A line through points; with a fill in `more` it is an area."""
        points = list(points)
        self.reach += points
        self.grid |= {
            cell: max(_LINE, self.grid.get(cell, 0.0)) for p in samples(points) for cell in _cells(p, 0.0, 0.0)
        }
        places = " ".join(f"{p.real:.1f},{0.0 - p.imag:.1f}" for p in points)
        self.parts.append(f'<polyline points="{places}" stroke="{colour}" stroke-width="{width:g}" {more}/>')

    def circle(self, centre: complex, radius: float, fill: str, more: str = "") -> None:
        """A circle."""
        self.reach += [centre - radius * (1.0 + 1.0j), centre + radius * (1.0 + 1.0j)]
        place = f'cx="{centre.real:.1f}" cy="{0.0 - centre.imag:.1f}" r="{radius:.1f}"'
        self.parts.append(f'<circle {place} fill="{fill}" {more}/>')

    def arrow(self, a: complex, b: complex, colour: str, width: float = 2.0) -> None:
        """An arrow from a to b."""
        along = (b - a) / (abs(b - a) or 1.0) * min(4.0 * width, 0.7 * abs(b - a))
        self.line([a, b - along], colour, width)
        self.line([b, b - along * (1.0 + 0.4j), b - along * (1.0 - 0.4j)], colour, 0.5, f'fill="{colour}"')

    def text(self, p: complex, text: str, size: float, colour: str, anchor: str = "middle", more: str = "") -> complex:
        """Write a text that is centred at p or begins there (``start``); returns where another may begin."""
        width = _CHARACTER * size * len(text)
        left = p - (0.5 * width if anchor == "middle" else 0.0)
        self.reach += [left - 0.6j * size, left + width + 0.6j * size]
        place = f'x="{p.real:.1f}" y="{0.36 * size - p.imag:.1f}" text-anchor="{anchor}"'
        self.parts.append(f'<text {place} font-size="{size:g}" fill="{colour}" {more}>{escaped(text)}</text>')
        return left + width + size

    def scale_bar(self, p: complex, scale: float, before: str = "") -> complex:
        """A bar of a round length, for a scale in pixels per metre; returns where a text may begin."""
        length = next(x for e in count(-9) for v in (1, 2, 5) if (x := v * 10.0**e) * scale >= 55.0)
        end = p + length * scale
        self.line([p + 4.0j, p - 4.0j, p, end, end + 4.0j, end - 4.0j], INK, 1.6)
        return self.text(end + 8.0, f"{before}{length * 1e3:g} mm", 12.0, INK, "start")

    def label(
        self, anchors: Sequence[complex], text: str, size: float, colour: str, room: float = 2.0, gap: float = 4.0
    ) -> complex:
        """Write a text near one of the anchors, with room to its right; returns where that room begins."""
        width = _CHARACTER * size * len(text)
        left = self.place(anchors, width + room, size, gap) - 0.5 * (width + room)
        self.text(left + 0.5 * width, text, size, colour, more='font-weight="bold"')
        return left + width

    def place(
        self, anchors: Sequence[complex], width: float, height: float, gap: float = 4.0, towards: complex = 0.0j
    ) -> complex:
        """Reserve a free box near one of the anchors, in a direction if one is given; returns its centre."""
        best, centre = math.inf, anchors[0]
        for distance in count(gap, 4.0):
            if distance >= best:
                break
            for anchor, k in product(anchors, range(16)):
                u = cmath.rect(1.0, math.tau * k / 16.0)
                room = 0.5 * min(width / max(abs(u.real), 1e-9), height / max(abs(u.imag), 1e-9))
                p, cost = anchor + (distance + room) * u, distance + 20.0 * abs(u - (towards or u))
                if cost < best:
                    cost += sum(self.grid.get(cell, 0.0) for cell in _cells(p, width, height))
                if cost < best:
                    best, centre = cost, p
        self.grid |= dict.fromkeys(_cells(centre, width, height), math.inf)
        return centre

    def corners(self) -> tuple[complex, complex]:
        """Lower left and upper right corner of the picture."""
        xs, ys = [p.real for p in self.reach], [p.imag for p in self.reach]
        return complex(min(xs), min(ys)), complex(max(xs), max(ys))

    def document(self, title: str, description: str = "", margin: float = 16.0) -> str:
        """The standalone document on a white ground."""
        low, high = self.corners()
        x, y, size = low.real - margin, -high.imag - margin, high - low + 2.0 * margin * (1.0 + 1.0j)
        return standalone("\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x:.1f} {y:.1f} {size.real:.1f} {size.imag:.1f}" '
            f'width="{size.real:.0f}" height="{size.imag:.0f}" role="img" stroke-linejoin="round" '
            "stroke-linecap=\"round\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">",
            f"<title>{escaped(title)}</title>\n<desc>{escaped(description)}</desc>",
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{size.real:.1f}" height="{size.imag:.1f}" fill="#ffffff"/>',
            *self.parts,
            "</svg>\n",
        ]))  # fmt: skip


def samples(points: Sequence[complex]) -> Iterable[complex]:
    """Points on a line, at most 4 pixels from each other."""
    for a, b in pairwise(points):
        pieces = max(1, math.ceil(abs(b - a) / 4.0))
        yield from (a + (b - a) * k / pieces for k in range(pieces + 1))


def _cells(centre: complex, width: float, height: float) -> Iterable[tuple[int, int]]:
    """Cells of the grid that a box touches."""
    a, b = (centre + sign * 0.5 * complex(width, height) for sign in (-1.0, 1.0))
    columns, rows = (
        range(math.floor(x / _CELL), math.floor(y / _CELL) + 1) for x, y in ((a.real, b.real), (a.imag, b.imag))
    )
    return product(columns, rows)
