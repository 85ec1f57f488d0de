"""Picture of a belt drive: pulleys and the taut belt, to scale, y pointing up."""

from collections.abc import Mapping

import numpy as np

from rtcvt.belt.unit import BeltUnit
from rtcvt.html.svg import Drawing
from rtcvt.look import COLOURS, INK

WIDTH = 480.0  # the longer side of the drawing
BELT, PULLEY = INK, COLOURS[0]


def belt_diagram(drive: BeltUnit, values: Mapping[str, float]) -> str:
    """Picture (SVG) of the layout of the file, which parameters do not change."""
    del values
    path, drawing = drive.path(), Drawing()
    curve = path.at(np.linspace(0.0, path.length, 721))[0]
    scale = (
        WIDTH
        / np.ptp(np.vstack([path.center - path.radius[:, None], path.center + path.radius[:, None]]), axis=0).max()
    )
    for name, centre, r in zip(drive.pulleys, scale * path.center, scale * path.radius, strict=True):
        drawing.circle(complex(*centre), r, PULLEY, f'fill-opacity="0.15" stroke="{PULLEY}"')
        drawing.circle(complex(*centre), 3.0, PULLEY)
        drawing.text(complex(*centre) + 13.0j, name, 13.0, BELT)
    drawing.line([complex(*point) for point in scale * curve], BELT)
    drawing.scale_bar(drawing.corners()[0] - 20.0j, scale)
    return drawing.document(drive.name, drive.description)
