"""A recording of a real-time variator with belt fields as a `rtcvt.view.Scene`.

The belt lies on the taut path of its radii, the sheaves where a belt with these radii just fits. Sizes of elements and
sheaves are those of the full model, whose unit file is in the reduced model.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.kind import kind_of_file, lazily, load_unit
from rtcvt.offline.pushbelt.run.marks import is_run
from rtcvt.offline.pushbelt.run.snapshots import FIELDS
from rtcvt.offline.pushbelt.scene import field_channels, sheave_geometry, taut_apex
from rtcvt.offline.pushbelt.unit import parameters as full
from rtcvt.recording import Recording
from rtcvt.unitfile import parse_unit_file
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.view import Channel, Scene, chosen_frames

Array = NDArray[np.float64]

SLOWER = 100.0  # how much slower belt and pulleys turn in the picture than they do


def scene(path: Path, start: float | None, stop: float | None, most: int) -> Scene | None:
    """The scene of a recording, from `start` to `stop` [s] with `most` frames; None: not one of a variator.

    Raises
    ------
    InputError
        A recording without belt fields, or less than two frames in this time.
    """
    recording = None if is_run(path) else lazily("rtcvt.hil.recorder:read")(path)
    if recording is None or not recording.unit_file:
        return None
    file = parse_unit_file(recording.unit_file, str(path))
    if "variator" not in kind_of_file(file).names:
        return None
    unit: Any = load_unit(file)
    fields = _fields(recording)
    if not fields:
        allowed = 'a recording with belt fields; put fields = ["flank_normal", "push"] into the unit file'
        raise InputError(path, "fields", None, allowed)
    reduced = read_reduced(reduced_path(unit))
    parameters = full.read_parameters(parse_unit_file(reduced.unit_file, str(path)))
    b, s = full.belt(parameters), full.sheaves(parameters)
    time = recording.time
    chosen = chosen_frames(time, start, stop, most)

    def signal(name: str) -> Array:
        return recording.signals[name].values

    radius = np.column_stack([signal("radius.primary"), signal("radius.secondary")])
    v = signal("belt.v")
    speed = np.column_stack([
        signal(f"{name}.w") if f"{name}.w" in recording.signals else v / (radius[:, k] - b.h_off)
        for k, name in enumerate(("primary", "secondary"))
    ])  # fmt: skip
    step = np.diff(time, prepend=time[:1])[:, None] / SLOWER
    facts = [("ratio", _span(signal("ratio.i"), "")), ("belt", _span(v, " m/s"))]
    if "belt.slip" in recording.signals:
        facts.append(("slip", _span(100.0 * signal("belt.slip"), " %")))
    channels: list[Channel] = field_channels({name: values[chosen] for name, values in fields.items()})
    return Scene(
        "fields",
        f"{unit.name}, {recording.attributes.get('scenario', path.name)}",
        time[chosen],
        sheave_geometry(parameters.element, b, s, parameters.ring.width),
        {
            "radius": radius[chosen],
            "rotation": np.cumsum(step * speed, axis=0)[chosen],
            "way": np.cumsum(step[:, 0] * v)[chosen, None],
            "apex": taut_apex(radius[chosen], b),
        },
        channels,
        facts,
        f"Belt and pulleys turn {SLOWER:g} times slower than they do. The real-time model has no elements: shown are "
        "its belt fields, which are means.",
    )


def _fields(recording: Recording) -> dict[str, Array]:
    """Belt fields (n, cells) by name."""
    found: dict[str, Array] = {}
    for name in FIELDS:
        cells = sum(key.startswith(f"field.{name}[") for key in recording.signals)
        if cells:
            found[name] = np.column_stack([recording.signals[f"field.{name}[{k + 1}]"].values for k in range(cells)])
    return found


def _span(values: Array, unit: str) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.3g} to {high:.3g}{unit}" if high - low > 1e-3 * abs(high) else f"{high:.3g}{unit}"
