"""A recording of a belt drive as a `rtcvt.view.Scene`: the taut belt round pulleys and arms, coloured by its tension.

The belt lies on the taut path at the arms' angles. Recordings have a tension for each span; on a wrap the colour goes
from that of the span before to that of the span after as a belt that slips would, F = F_1 (F_2/F_1)^f. Displacements of
spans that swing are drawn as half a wave, `SWING` times as large.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.layout import DISPLACEMENT, TENSION, ArmY, PulleyY
from rtcvt.belt.unit import BeltUnit
from rtcvt.kind import kind_of_file, lazily, load_unit
from rtcvt.offline.pushbelt.run.marks import is_run
from rtcvt.recording import Recording
from rtcvt.unitfile import parse_unit_file
from rtcvt.view import Channel, Scene, chosen_frames

Array = NDArray[np.float64]

POINTS = 360  # of the belt
SWING = 20.0  # how much larger displacements of spans are drawn
RATE, PLAYED = 6.0, 16.0  # [rad/s] of the fastest pulley in the picture, [s] that the page plays


def scene(path: Path, start: float | None, stop: float | None, most: int) -> Scene | None:
    """The scene of a recording, from `start` to `stop` [s] with `most` frames; None: not one of a belt drive.

    Raises
    ------
    InputError
        Less than two frames in this time, or a recording without speeds or tensions.
    """
    recording = None if is_run(path) else lazily("rtcvt.hil.recorder:read")(path)
    if recording is None or not recording.unit_file:
        return None
    file = parse_unit_file(recording.unit_file, str(path))
    if "belt" not in kind_of_file(file).names:
        return None
    unit: Any = load_unit(file)
    names = list(unit.pulleys)
    chosen = chosen_frames(recording.time, start, stop, most)

    def signal(name: str) -> Array | None:
        found = recording.signals.get(name)
        return None if found is None else np.asarray(found.values, dtype=float)[chosen]

    time = recording.time[chosen]
    speed = np.column_stack([_speed(recording, name)[chosen] for name in names])
    spans = [dict(pulley=a, after=b) for a, b in zip(names, names[1:] + names[:1], strict=True)]
    tensions = [TENSION.name.format(**s) for s in spans]
    tension = np.column_stack([recording[f if f in recording.signals else "belt.F"][chosen] for f in tensions])
    swing = [signal(DISPLACEMENT.name.format(**s)) for s in spans]
    angles = {i: signal(ArmY.THETA.row.name.format(pulley=names[i])) for i in unit.arms}
    slower = max(1.0, float(np.abs(speed).max()) * (time[-1] - time[0]) / (PLAYED * RATE))
    step = np.diff(time, prepend=time[:1])[:, None] / slower
    taut = unit.path()
    velocity = np.mean(speed * taut.sigma * taut.radius, axis=1)
    line, centre, along = _lines(unit, angles, swing, tension)
    channels = [Channel("tension", "Tension of the belt", "N", along, "cell", charted=True)]
    for row, label in ((PulleyY.USE.row, "Use of friction on a wrap"), (PulleyY.SLIP.row, "Slip of belt and pulley")):
        values = [signal(row.name.format(pulley=name)) for name in names]
        if all(v is not None for v in values):
            on = _on_wraps(unit, np.column_stack([v for v in values if v is not None]))
            channels.append(Channel(row.name.partition(".")[2], label, row.unit, on, "cell", "Wraps", charted=True))
    magnified = any(v is not None for v in swing)
    return Scene(
        "drive",
        f"{unit.name}, {_scenario(recording) or path.name}",
        time,
        {
            "pulleys": [{"name": name, "radius": p.radius} for name, p in unit.pulleys.items()],
            "pivots": {str(i): list(arm.pivot) for i, arm in unit.arms.items()},
            "height": unit.belt.height,
            "turn": -1.0 if unit.winding == "anticlockwise" else 1.0,
        },
        {
            "line_x": line[..., 0],
            "line_y": line[..., 1],
            "centre": centre.reshape(len(time), -1),
            "rotation": np.cumsum(step * speed, axis=0),
            "way": np.cumsum(step[:, 0] * velocity)[:, None],
        },
        channels,
        [("belt", f"{1e3 * taut.length:.0f} mm"), ("speed", f"up to {np.abs(velocity).max():.3g} m/s")],
        (f"Belt and pulleys turn {slower:.3g} times slower than they do. " if slower > 1.0 else "")
        + (f"Displacements of spans are drawn {SWING:g} times as large." if magnified else ""),
    )


def _scenario(recording: Recording) -> str:
    """Name of the scenario; full models keep all of it."""
    told = str(recording.attributes.get("scenario", ""))
    return str(json.loads(told)["name"]) if told.startswith("{") else told


def _speed(recording: Recording, name: str) -> Array:
    """Speed [rad/s] of a pulley: its own where a decoupler or a given flange has another."""
    own = f"{name}.w_pulley"
    return recording[own if own in recording.signals else f"{name}.w"]


def _lines(
    unit: BeltUnit, angles: dict[int, Array | None], swing: list[Array | None], tension: Array
) -> tuple[Array, Array, Array]:
    """Points of the belt (n, POINTS, 2), centres (n, pulleys, 2) [m] and the tension at the points (n, POINTS) [N]."""
    n, m = len(tension), tension.shape[1]
    line, centre, along = np.empty((n, POINTS, 2)), np.empty((n, m, 2)), np.empty((n, POINTS))
    low = np.maximum(tension, 1e-3)
    for k in range(n):
        path = unit.path({i: float(a[k]) for i, a in angles.items() if a is not None})
        s = path.length * np.arange(POINTS) / POINTS
        section = np.searchsorted(path.knots, s, side="right") - 1
        f = (s - path.knots[section]) / np.diff(path.knots)[section]
        before, after = section // 2, (section + 1) // 2 % m
        points, tangent, _ = path.at(s)
        x = np.array([0.0 if v is None else v[k] for v in swing])[before] * (section % 2 == 0)
        line[k] = points + (SWING * x * np.sin(np.pi * f))[:, None] * np.stack([-tangent[:, 1], tangent[:, 0]], axis=-1)
        centre[k] = path.center
        along[k] = np.where(
            section % 2 == 0, tension[k, before], low[k, before] * (low[k, after] / low[k, before]) ** f
        )
    return line, centre, along


def _on_wraps(unit: BeltUnit, values: Array) -> Array:
    """Values of pulleys (n, pulleys) at the points of their wraps (n, POINTS); NaN on the spans."""
    path = unit.path()
    section = np.searchsorted(path.knots, path.length * np.arange(POINTS) / POINTS, side="right") - 1
    return np.where(section % 2 == 1, values[:, (section + 1) // 2 % values.shape[1]], np.nan)
