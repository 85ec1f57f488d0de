"""Picture of a belt drive: pulleys and the taut belt, to scale, y pointing up."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.unit import BeltUnit
from rtcvt.html import text

WIDTH, MARGIN = 560.0, 40.0
BELT, PULLEY = "#1f2933", "#1d4ed8"


def belt_diagram(drive: BeltUnit, values: Mapping[str, float]) -> str:
    """Picture (SVG) of the layout of the file, which parameters do not change."""
    del values
    path = drive.path()
    curve = path.at(np.linspace(0.0, path.length, 721))[0]
    low = np.minimum(curve.min(axis=0), (path.center - path.radius[:, None]).min(axis=0))
    high = np.maximum(curve.max(axis=0), (path.center + path.radius[:, None]).max(axis=0))
    scale = (WIDTH - 2.0 * MARGIN) / max(high - low)
    width, height = (round(2.0 * MARGIN + scale * side) for side in high - low)

    def at(point: NDArray[np.float64]) -> tuple[float, float]:
        x, y = scale * (point - low) + MARGIN
        return x, height - y

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             f'font-size="13" fill="{BELT}">', f'<rect width="{width}" height="{height}" fill="#fff"/>']  # fmt: skip
    for name, centre, r in zip(drive.pulleys, path.center, path.radius, strict=True):
        x, y = at(centre)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{scale * r:.1f}" fill="{PULLEY}" fill-opacity="0.15" '
                     f'stroke="{PULLEY}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{PULLEY}"/>'
                     f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{text(name)}</text>')  # fmt: skip
    points = " ".join("{:.1f},{:.1f}".format(*at(point)) for point in curve)
    return "\n".join([*parts, f'<polygon points="{points}" fill="none" stroke="{BELT}" stroke-width="3"/>', "</svg>"])
