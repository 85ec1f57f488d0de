"""Picture of a variator: pulleys, running radii and belt at a ratio, to scale.

With the depth h of the rocking edges below the neutral fibre, i = (r_O - h)/(r_I - h); the belt's length gives r_I::

    l = 2 (pi - phi) r_I + 2 phi r_O + 2 d_A sin(phi),   cos(phi) = (r_I - r_O)/d_A
"""

import math
from collections.abc import Mapping

from rtcvt.html import text
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.unit import Variator

WIDTH, HEIGHT, MARGIN = 560.0, 330.0, 70.0
PRIMARY, SECONDARY, BELT = "#1d4ed8", "#c2410c", "#1f2933"


def radii_at(ratio: float, length: float, d_A: float, h: float) -> tuple[float, float, float]:
    """Radii r_I and r_O of the neutral fibre [m] and the angle phi [rad] of a belt of this length [m]."""

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
    """
    laws = read_reduced(reduced_path(unit))
    c = laws.constants
    belt = c["length"], c["d_A"], c["h_off"]
    ratio = values.get("ratio.start", unit.values().get("ratio.start", 1.0))
    r_I, r_O, phi = radii_at(ratio, *belt)
    stops = [radii_at(i, *belt) for i in (unit.ratio.min, unit.ratio.max)]
    most = [max(r[k] for r in (*stops, (r_I, r_O))) for k in (0, 1)]
    scale = (WIDTH - 2.0 * MARGIN) / (c["d_A"] + sum(most))
    scale = min(scale, (HEIGHT - 2.0 * 40.0) / (2.0 * max(most)))
    x = 0.5 * (WIDTH - scale * (c["d_A"] + sum(most))) + scale * most[0]
    centres, y = (x, x + scale * c["d_A"]), 0.5 * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{HEIGHT:g}" '
        f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" font-family="sans-serif" font-size="13" fill="{BELT}">',
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="#fff"/>',
    ]
    names = ("primary", "secondary") if unit.controller is None else ("primary, shaft", "secondary, flywheel")
    for k, (centre, colour, name, r) in enumerate(zip(centres, (PRIMARY, SECONDARY), names, (r_I, r_O), strict=True)):
        parts.append(f'<circle cx="{centre:.1f}" cy="{y}" r="{scale * r:.1f}" fill="{colour}" fill-opacity="0.08"/>')
        parts += [
            f'<circle cx="{centre:.1f}" cy="{y}" r="{scale * stop[k]:.1f}" fill="none" stroke="{colour}" '
            'stroke-dasharray="4 4" stroke-opacity="0.6"/>'
            for stop in stops
        ]
        parts.append(f'<circle cx="{centre:.1f}" cy="{y}" r="7" fill="{colour}"/>')
        parts.append(f'<text x="{centre:.1f}" y="{HEIGHT - 12:g}" text-anchor="middle">{text(name)}</text>')
        label = f"r = {1e3 * r:.1f} mm"
        parts.append(f'<text x="{centre:.1f}" y="{y + 26:.1f}" text-anchor="middle" fill="{colour}">{label}</text>')
    # tangents touch where the radius makes the angle phi with the line of the axes
    R_I, R_O = scale * r_I, scale * r_O
    x_I, x_O = centres[0] + R_I * math.cos(phi), centres[1] + R_O * math.cos(phi)
    h_I, h_O = R_I * math.sin(phi), R_O * math.sin(phi)
    large_I, large_O = int(phi < 0.5 * math.pi), int(phi > 0.5 * math.pi)
    parts.append(
        f'<path d="M{x_I:.2f} {y - h_I:.2f}L{x_O:.2f} {y - h_O:.2f}A{R_O:.2f} {R_O:.2f} 0 {large_O} 1 {x_O:.2f} '
        f'{y + h_O:.2f}L{x_I:.2f} {y + h_I:.2f}A{R_I:.2f} {R_I:.2f} 0 {large_I} 1 {x_I:.2f} {y - h_I:.2f}Z" '
        f'fill="none" stroke="{BELT}" stroke-width="5"/>'
    )
    about = f"ratio {ratio:.3g}, end stops {unit.ratio.min:.3g} and {unit.ratio.max:.3g}"
    parts.append(f'<text x="{0.5 * WIDTH:g}" y="22" text-anchor="middle">{text(about)}</text>')
    return "".join([*parts, "</svg>"])
