"""A belt in three dimensions, over time: one HTML page that loads nothing.

A `Scene` has tracks of the moving parts and values that are shown as colour, height and curve (`Channel`). `view_page`
packs it with the library three.js (MIT licence, ``three/LICENSE``) into a page that loads nothing. Numbers are
quantised: of each array a = low + step q with q = 0 ... 65534 and 65535 for none, so that an error is at most half a
step, 8e-6 of the range. All of them are one binary block in base64.

Frame of the scenes: secondary pulley at (0, 0), primary at (d_A, 0), shafts along z; the belt runs clockwise.
"""

import base64
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.errors import InputError
from rtcvt.look import dark_variables

LIMIT = 25_000_000  # [bytes] of a page
_NONE = 65535
_PARTS = ("style.css", "view.js", "three/three.module.min.js", "three/OrbitControls.js")


@dataclass(frozen=True)
class Channel:
    """A quantity over time, of every element, of the ring or of every cell of the belt."""

    name: str
    label: str
    unit: str
    values: NDArray[Any]  # (n, m); NaN: none
    on: Literal["element", "ring", "cell"]
    group: str = "Forces"
    charted: bool = False  # among the curves of the element that was clicked


@dataclass(frozen=True)
class Scene:
    """A belt over `time` (n,) [s].

    Parameters
    ----------
    mode : str
        ``elements``: tracks ``x``, ``y`` [m], ``phi`` [rad], ``place`` (n, N_E), ``ring_x``, ``ring_y`` (n, N_B) [m],
        ``rotation`` [rad], ``apex`` [m] (n, 2). ``fields``: ``radius`` (n, 2) [m], ``rotation`` (n, 2) [rad],
        ``way`` (n, 1) [m] of the belt, ``apex`` (n, 2) [m]. Elements out of line also have ``z`` [m], ``roll``, ``yaw``
        [rad], ``ring_left``, ``ring_right`` and ``shift`` of the pulleys [m]. ``drive``, a belt drive: ``line_x``,
        ``line_y`` (n, m), ``centre`` (n, 2 k) of the pulleys, ``way`` [m], ``rotation`` (n, k) [rad].
    geometry : dict
        Lengths [m] and angles [rad] by the names that `view.js` reads.
    facts : list
        Pairs of text above the picture.
    note : str
        Remark for the reader, one sentence.
    """

    mode: Literal["elements", "fields", "drive"]
    title: str
    time: NDArray[np.float64]
    geometry: dict[str, Any]
    tracks: dict[str, NDArray[Any]]
    channels: list[Channel]
    facts: list[tuple[str, str]]
    note: str = ""


def chosen_frames(time: NDArray[np.float64], start: float | None, stop: float | None, most: int) -> slice:
    """The frames from `start` to `stop` [s], every k-th so that there are `most` of them at the most.

    Raises
    ------
    InputError
        There are less than two.
    """
    first = 0 if start is None else int(np.searchsorted(time, start - 1e-12))
    end = len(time) if stop is None else int(np.searchsorted(time, stop + 1e-12, side="right"))
    if end - first < 2:
        span = f"{time[0]:g} to {time[-1]:g} s" if len(time) else "none"
        raise InputError("--from, --to", "", f"{start}, {stop}", f"a time with two frames or more; the file has {span}")
    return slice(first, end, -(-(end - first) // most))


def view_page(scene: Scene) -> str:
    """The page of a scene.

    Raises
    ------
    InputError
        It would be larger than `LIMIT`.
    """
    packed = bytearray()

    def pack(values: NDArray[Any], period: float = 0.0) -> dict[str, Any]:
        a = np.asarray(values, dtype=float)
        a = np.mod(a, period) if period else a
        known = a[np.isfinite(a)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
        step = (high - low) / (_NONE - 1) or 1.0
        q = np.where(np.isfinite(a), np.round((np.nan_to_num(a) - low) / step), _NONE).astype("<u2")
        about = {"at": len(packed) // 2, "width": int(a[0].size), "low": low, "step": step, "period": period}
        packed.extend(q.tobytes())
        return about

    angles = {} if scene.mode == "drive" else {"phi": 2.0 * np.pi, "rotation": 2.0 * np.pi, "place": 4.0}
    channels = []
    for c in scene.channels:
        known = c.values[np.isfinite(c.values)]
        low, high = (float(v) for v in np.percentile(known, (0.1, 99.9))) if known.size else (0.0, 0.0)
        channels.append(
            {k: getattr(c, k) for k in ("name", "label", "unit", "on", "group", "charted")}
            | {"low": low, "high": high, "track": pack(c.values)}
        )
    head = {
        "mode": scene.mode, "title": scene.title, "facts": scene.facts, "note": scene.note, "version": __version__,
        "n": len(scene.time), "time": [float(t) for t in scene.time], "geometry": scene.geometry,
        "tracks": {name: pack(values, angles.get(name, 0.0)) for name, values in scene.tracks.items()},
        "channels": channels,
    }  # fmt: skip
    folder = resources.files("rtcvt.view")
    text = folder.joinpath("page.html").read_text(encoding="utf-8")
    parts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in _PARTS}
    parts |= {
        "title": scene.title.replace("&", "&amp;").replace("<", "&lt;"),
        "head": json.dumps(head).replace("<", "\\u003c"),
        "data": base64.b64encode(packed).decode(),
    }
    size = len(text) + sum(map(len, parts.values()))
    if size > LIMIT:
        allowed = f"so many that the page has {LIMIT / 1e6:g} MB at most, not {size / 1e6:.0f}"
        raise InputError("--frames", "", len(scene.time), allowed)
    parts["style.css"] = parts["style.css"].replace("{{look}}", dark_variables())
    return re.sub(r"{{([\w./]+)}}", lambda found: parts[found[1]], text)
