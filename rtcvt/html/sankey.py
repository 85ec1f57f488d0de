"""A Sankey diagram: flows of energy or power as bands whose width is their size.

A node stands one column to the right of the last of its sources; its height is the larger of what enters and what
leaves. So a node that does not balance shows by a part of its side without a band.
"""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from rtcvt.html import COLOURS, number
from rtcvt.html.svg import Drawing
from rtcvt.look import INK

_BAR, _GAP, _TEXT = 12.0, 10.0, 12.0  # width of a node, room between nodes, size of the text [pixels]
_WIDTH, _HEIGHT = 900.0, 320.0  # of the picture without its margins [pixels]; it is wider if labels need that


def sankey(flows: Iterable[tuple[str, str, float]], unit: str = "J", title: str = "Energy") -> str:
    """Flows as an SVG picture; a band has the colour of the node that it leaves.

    Parameters
    ----------
    flows : iterable of (str, str, float)
        From, to and size [`unit`]; a negative flow goes the other way, several of the same pair add up, zeros are
        left out. The first of a node's flows is drawn on top.
    unit : str
        Unit of the sizes, shown behind them.
    title : str
        Title of the picture, with the flows also its text for readers who do not see it.

    Raises
    ------
    ValueError
        Flows in a circle, without any order from left to right, or none.
    """
    total: dict[tuple[str, str], float] = {}
    for a, b, value in flows:
        pair, flow = ((b, a), -value) if value < 0.0 else ((a, b), value)
        if flow > 0.0:
            total[pair] = total.get(pair, 0.0) + flow
    names = list(dict.fromkeys(name for pair in total for name in pair))
    if not names:
        raise ValueError("flows of a Sankey diagram: expected one that is not zero")
    sources = {name: [a for a, b in total if b == name] for name in names}
    try:
        order = list(TopologicalSorter(sources).static_order())
    except CycleError as error:
        raise ValueError(f"flows of a Sankey diagram: expected no circle, found {' to '.join(error.args[1])}") from None
    column: dict[str, int] = {}
    for name in order:
        column[name] = max((column[a] + 1 for a in sources[name]), default=0)
    amount = {n: max(sum(v for (a, _), v in total.items() if a == n),
                     sum(v for (_, b), v in total.items() if b == n)) for n in names}  # fmt: skip
    last = max(column.values())
    stacks = [[n for n in names if column[n] == k] for k in range(last + 1)]
    scale = min((_HEIGHT - (_TEXT + _GAP) * len(s)) / sum(amount[n] for n in s) for s in stacks)
    scale = max(scale, 0.2 * _HEIGHT / max(sum(amount[n] for n in s) for s in stacks))
    colour = dict(zip(names, COLOURS * len(names), strict=False))
    labels = {name: f"{name}, {number(amount[name], 3)} {unit}" for name in names}
    longest = {k: 0.6 * _TEXT * max(len(labels[n]) for n in stack) + 3.0 * _BAR for k, stack in enumerate(stacks)}
    step = max((_WIDTH - longest.pop(last)) / last, *longest.values())
    top: dict[str, complex] = {}
    for k, stack in enumerate(stacks):
        y = 0.0
        for name in stack:
            top[name] = complex(k * step, -y)
            y += max(scale * amount[name], _TEXT) + _GAP
    drawn = Drawing()
    leaving, entering = dict(top), dict(top)
    for (a, b), value in total.items():
        wide = 1j * scale * value
        p, q = leaving[a] + _BAR, entering[b]
        drawn.line([*_curve(p, q), *_curve(q - wide, p - wide)], colour[a], 0.0, f'fill="{colour[a]}" opacity="0.4"')
        leaving[a] -= wide
        entering[b] -= wide
    for name, p in top.items():
        high = max(scale * amount[name], 1.0)
        drawn.line([p, p + _BAR, p + _BAR - 1j * high, p - 1j * high], colour[name], 0.0, f'fill="{colour[name]}"')
        drawn.text(p + _BAR + 6.0 - 0.5j * max(high, _TEXT), labels[name], _TEXT, INK, "start")
    about = "; ".join(f"{a} to {b}: {number(value, 3)} {unit}" for (a, b), value in total.items())
    return drawn.document(title, about)


def _curve(p: complex, q: complex) -> list[complex]:
    """Points from p to q, level at both ends."""
    shares = [k / 24.0 for k in range(25)]
    return [complex(p.real + s * (q - p).real, p.imag + s * s * (3.0 - 2.0 * s) * (q - p).imag) for s in shares]
