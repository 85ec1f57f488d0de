"""Picture of a variator: pulleys, running radii and belt at a ratio, to scale.

With the depth h of the rocking edges below the neutral fibre, i = (r_O - h)/(r_I - h); the belt's length gives r_I::

    l = 2 (pi - phi) r_I + 2 phi r_O + 2 d_A sin(phi),   cos(phi) = (r_I - r_O)/d_A
"""

import math
from collections.abc import Mapping

from rtcvt.html.svg import Drawing, arc
from rtcvt.look import COLOURS, INK
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.unit import Variator

WIDTH, HEIGHT = 420.0, 250.0  # [px] of the box that contains both pulleys
PRIMARY, SECONDARY, BELT = *COLOURS[:2], INK


def radii_at(ratio: float, length: float, d_A: float, h: float) -> tuple[float, float, float]:
    """Radii r_I and r_O of the neutral fibre [m] and angle phi [rad]; `length`, distance `d_A` and depth `h` in m."""

    def at(r_I: float) -> tuple[float, float, float]:
        r_O = h + ratio * (r_I - h)
        return r_I, r_O, math.acos(min(max((r_I - r_O) / d_A, -1.0), 1.0))

    low, high = h, length
    for _ in range(200):
        r_I, r_O, phi = at(0.5 * (low + high))
        too_long = 2.0 * (math.pi - phi) * r_I + 2.0 * phi * r_O + 2.0 * d_A * math.sin(phi) > length
        low, high = (low, r_I) if too_long else (r_I, high)
    return at(0.5 * (low + high))


def variator_diagram(unit: Variator, values: Mapping[str, float]) -> str:
    """Picture (SVG) at the start ratio, with parameters by name [SI] instead of the unit's own.

    The dashed circles are the running radii at the end stops.

    Raises
    ------
    InputError
        The reduced model of the unit cannot be read.
    """
    laws = read_reduced(reduced_path(unit))
    c = laws.constants
    belt = c["length"], c["d_A"], c["h_off"]
    ratio = values.get("ratio.start", unit.values().get("ratio.start", 1.0))
    r_I, r_O, phi = radii_at(ratio, *belt)
    stops = [radii_at(i, *belt) for i in (unit.ratio.min, unit.ratio.max)]
    most = [max(r[k] for r in (*stops, (r_I, r_O))) for k in (0, 1)]
    scale = min(WIDTH / (c["d_A"] + sum(most)), HEIGHT / (2.0 * max(most)))
    drawing, R_I, R_O, x_O = Drawing(), scale * r_I, scale * r_O, scale * c["d_A"]
    names = ("primary", "secondary") if unit.controller is None else ("primary, shaft", "secondary, flywheel")
    for k, (x, colour, name, r) in enumerate(
        zip((0.0j, x_O + 0.0j), (PRIMARY, SECONDARY), names, (r_I, r_O), strict=True)
    ):
        drawing.circle(x, scale * r, colour, 'fill-opacity="0.08"')
        for stop in stops:
            drawing.circle(x, scale * stop[k], "none", f'stroke="{colour}" stroke-dasharray="4 4" stroke-opacity="0.6"')
        drawing.circle(x, 7.0, colour)
        drawing.text(x - 1j * (scale * max(most) + 16.0), name, 13.0, BELT)
        drawing.text(x - 22.0j, f"r = {1e3 * r:.1f} mm", 13.0, colour)
    # the belt leaves a pulley where the radius makes the angle phi with the line of the axes
    ends = arc(0.0j, R_I, phi, 2.0 * math.pi - phi), arc(x_O + 0.0j, R_O, -phi, phi)
    drawing.line([*ends[0], *ends[1], ends[0][0]], BELT, 5.0)
    about = f"ratio {ratio:.3g}, end stops {unit.ratio.min:.3g} and {unit.ratio.max:.3g}"
    drawing.text(0.5 * x_O + 1j * (scale * max(most) + 16.0), about, 13.0, BELT)
    drawing.scale_bar(drawing.corners()[0] - 12.0j, scale)
    return drawing.document(unit.name, unit.description)
