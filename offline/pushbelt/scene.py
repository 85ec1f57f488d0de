"""A run of the full model as a `rtcvt.view.Scene`: its elements, or its belt fields where no elements were kept.

Gaps are those of the contact laws, negative where a contact is closed: rocking edge and top of element i against the
element in front of it (`element_element.gaps`), its saddle and ear against the ring (`element_ring`),

    g_S = e_S - h_ring/2,   g_E = -e_E - h_ring/2,   e: distance of the ring's neutral fibre from saddle, ear, outwards

with e = -((x, y) - r(s)).n of `element_ring.project`, and the flanks' axial gap against the rigid cone, of `flank`,

    g_F = z + r tan(delta_0) - z_P,   r: distance of P_R from the shaft, z: apex of the sheave
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.contact.element_element import gaps, joint, relative
from rtcvt.offline.pushbelt.contact.element_ring import Band, foot_of, saddle
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.planar.model import directions
from rtcvt.offline.pushbelt.ring.ring import N_SHAPE, ring, shape_of
from rtcvt.offline.pushbelt.run.reading import figures, open_run, run_of
from rtcvt.offline.pushbelt.run.snapshots import FIELDS, push_force
from rtcvt.offline.pushbelt.spatial.joint import CONTACTS
from rtcvt.offline.pushbelt.unit import parameters as unit
from rtcvt.offline.pushbelt.unit.parameters import Belt, Element, Sheaves
from rtcvt.unitfile import parse_unit_file
from rtcvt.view import Channel, Scene, chosen_frames

Array = NDArray[np.float64]

GAPS = ("rocking", "top", "saddle", "ear")
LABELS = {
    "flank_normal": "Flank, normal force",
    "flank_longitudinal": "Flank, friction along the belt",
    "flank_radial": "Flank, friction outwards",
    "push": "Push force",
    "ring_normal": "Ring on element",
    "ring_friction": "Ring, friction on element",
    "tension": "Tension of the ring",
    "ring_offset": "Ring from the taut path",
    "element_offset": "Elements from the taut path",
    "slip_longitudinal": "Slip along the belt",
    "slip_radial": "Slip outwards",
    "slip_ring": "Slip of element on ring",
}
MOTION = ("offset", "slip")
SIDES = ("left", "right")
FACTORS, MOST_TURN = (50.0, 20.0, 10.0, 5.0, 2.0), 0.4  # of what is out of line, [rad] of an element in the picture
_LENGTHS = ("d_A", "delta_0", "t_B", "t_R", "t_T", "t_S", "h_R", "h_S", "h_T", "h_P", "h_H", "r_P1", "r_P2", "y_P")


def scene(path: Path, start: float | None, stop: float | None, most: int) -> Scene:
    """The scene of a run's file, from `start` to `stop` [s] with `most` frames.

    Raises
    ------
    InputError
        A damaged file, or less than two frames in this time.
    """
    with open_run(path) as file:
        chosen = chosen_frames(file["time"][()], start, stop, most)
        parameters = unit.read_parameters(parse_unit_file(file["unit_file"].asstr()[()], str(path)))
        scaled = json.loads(file.attrs["parameters"])
        s = Sheaves(**scaled["sheaves"])
        b = Belt(**{k: v for k, v in scaled["belt"].items() if k in Belt._fields})  # older files have more
        made = _of_elements if "elements/position" in file else _of_fields
        return made(file, chosen, parameters.element, b, s, parameters.ring.width)


def sheave_geometry(element: Element, b: Belt, s: Sheaves, width: float) -> dict[str, Any]:
    """Lengths [m] and angles [rad] of belt and sheaves, scaled to the modelled elements; `width` of one ring set."""
    pillar = min(half for y, half in element.outline if b.h_P <= y <= b.h_E)
    return {name: getattr(b, name) for name in _LENGTHS} | {
        "outline": element.outline,
        "pin_length": element.pin_length,
        "z_P": b.z_P,
        "pillar": pillar,
        "ring_width": width,
        "ring_height": b.h_ring,
        "r_min": s.r_min,
        "r_max": s.r_max,
    }


def taut_apex(radius: Array, b: Belt) -> Array:
    """Position of the cones' apex [m] at which a belt with these radii of the neutral fibre (n, 2) just fits."""
    depth = b.h_P + 0.5 * b.h_ring - b.y_P
    return b.z_P - (radius - depth) * b.tan_d


def contact_gaps(b: Belt, q: Array, q_R: Array, s_R: Array) -> dict[str, Array]:
    """Gaps of the elements (n, N_E) by `GAPS` [m].

    Parameters
    ----------
    q : (n, N_E, 3); q_R : (n, N_B, 5); s_R : (n, N_E), see `planar.model.State`
    """
    R = ring(b)
    found, angle = np.empty((len(GAPS), *s_R.shape)), np.empty((2, max(R.N_B, s_R.shape[1])))
    _gaps(joint(b), R, saddle(b, R), q, q_R, s_R, *angle, np.empty((R.N_B, N_SHAPE)), found)
    return dict(zip(GAPS, found, strict=True))


@compiled
def _gaps(J, R, p, q, q_R, s_R, cs, sn, shape, out):
    N_E, N_B = q.shape[1], R.N_B
    band = Band(R, shape, shape, shape)
    for n in range(q.shape[0]):
        directions(q_R[n], cs[:N_B], sn[:N_B])
        shape_of(R, q_R[n], cs, sn, shape)
        directions(q[n], cs[:N_E], sn[:N_E])
        el = Elements(q[n], q[n], cs, sn)
        for i in range(N_E):
            dx, dy, c, s = relative(q[n], cs, sn, i, (i + 1) % N_E)
            found = gaps(J, dx, dy, c, s)
            out[0, n, i], out[1, n, i] = found[0], found[1]
            out[2, n, i] = -foot_of(band, el, i, p.x, p.y_S, s_R[n, i]).e_n - R.h2
            out[3, n, i] = foot_of(band, el, i, p.x, p.y_E, s_R[n, i]).e_n - R.h2


def _flank_gap(b: Belt, q: Array, apex: Array) -> Array:
    """Axial gap of the point P_R against the rigid cone of its pulley (n, N_E) [m]; NaN on the spans."""
    x_E, y_E = 0.5 * b.t_R - b.t_S, b.y_P - b.h_S
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    primary = q[..., 0] > 0.5 * b.d_A
    x = q[..., 0] + c * x_E - s * y_E - np.where(primary, b.d_A, 0.0)
    y = q[..., 1] + s * x_E + c * y_E
    gap = np.where(primary, apex[:, :1], apex[:, 1:]) + np.hypot(x, y) * b.tan_d - b.z_P
    return np.where(gap < 3e-4, gap, np.nan)


def _of_elements(file: h5py.File, chosen: slice, element: Element, b: Belt, s: Sheaves, width: float) -> Scene:
    def frames(name: str) -> Array:
        return np.asarray(file[name][chosen], dtype=float)

    q = np.concatenate([frames("elements/position"), frames("elements/angle")[..., None]], axis=-1)
    q_R = np.concatenate([frames("ring/position"), frames("ring/angle")[..., None], frames("ring/deflection")], axis=-1)
    apex, sigma = frames("sheaves/apex"), frames("elements/sigma")
    joint_force, on_saddle, on_flank = (frames(f"elements/{k}") for k in ("joint", "saddle", "flank"))
    gap = contact_gaps(b, q, q_R, frames("elements/place"))
    main = {
        "flank_normal": on_flank[..., 0],
        "push": push_force(joint_force),
        "ring_normal": on_saddle[..., 0] - on_saddle[..., 1],
        "flank_longitudinal": on_flank[..., 1],
        "flank_radial": on_flank[..., 2],
        "ring_friction": on_saddle[..., 2],
    }
    more = {
        "rocking": ("Rocking edge", joint_force[..., 0]),
        "top": ("Top contact", joint_force[..., 1]),
        "bottom": ("Bottom contact", joint_force[..., 2]),
        "pin": ("Pin and hole", joint_force[..., 3:].sum(axis=-1)),
        "saddle": ("Ring on saddle", on_saddle[..., 0]),
        "ear": ("Ring on ear", on_saddle[..., 1]),
    }
    open_gaps = {
        "gap_rocking": ("Gap at the rocking edge", gap["rocking"]),
        "gap_top": ("Gap at the top", gap["top"]),
        "gap_saddle": ("Gap of saddle and ring", gap["saddle"]),
        "gap_ear": ("Gap of ear and ring", gap["ear"]),
        "gap_flank": ("Gap of flank and sheave", _flank_gap(b, q, apex)),
    }
    channels = [Channel(k, LABELS[k], "N", v, "element", "Forces on an element", charted=True) for k, v in main.items()]
    channels += [Channel(k, label, "N", v, "element", "Single contacts") for k, (label, v) in more.items()]
    channels += [Channel(k, label, "m", v, "element", "Gaps") for k, (label, v) in open_gaps.items()]
    channels.append(Channel("tension", LABELS["tension"], "N", frames("ring/tension"), "ring", "Ring"))
    spatial, lateral, across = "spatial/place" in file, dict[str, Array](), 1.0
    if spatial:
        channels += _across(frames)
        lateral, across = _out_of_line(frames, b.z_P)
    flanks = (
        "a sheave represents the fixed and the loose one, forces above are means of left and right; roll, yaw and "
        f"places across are drawn {across:g} times as large"
        if spatial
        else "a sheave represents both of its pulley; the belt is planar, so both flanks carry the same force"
    )
    real = f"{b.N_E} elements represent {b.N_E0}" if b.N_E != b.N_E0 else f"{b.N_E} elements"
    return Scene(
        "elements",
        _title(file),
        np.asarray(file["time"][chosen]),
        sheave_geometry(element, b, s, width) | {"across": across},
        lateral
        | {
            "x": q[..., 0],
            "y": q[..., 1],
            "phi": q[..., 2],
            "place": sigma,
            "ring_x": q_R[..., 0],
            "ring_y": q_R[..., 1],
            "rotation": frames("sheaves/rotation"),
            "apex": apex,
        },
        channels,
        _facts(file),
        f"{real}; {flanks}.",
    )


def _out_of_line(frames: Callable[[str], Array], half_width: float) -> tuple[dict[str, Array], float]:
    """Tracks of what is out of line, ring sets from their mean distance to the middle, and the factor by which it is
    drawn: the largest of `FACTORS` by which nothing moves by more than the half width [m] of the belt or turns by more
    than `MOST_TURN`."""
    ring, angle = frames("spatial/ring")[..., 0], frames("spatial/angle")
    away = ring - ring.mean()
    moved = {"z": frames("spatial/position"), "shift": frames("spatial/place"), "ring_left": away[:, 0],
             "ring_right": -away[:, 1]}  # fmt: skip
    turned = {"roll": angle[..., 0], "yaw": angle[..., 1]}
    most = max(float(np.nanmax(np.abs(v))) / limit
               for group, limit in ((moved, half_width), (turned, MOST_TURN)) for v in group.values())  # fmt: skip
    return moved | turned, next((f for f in FACTORS if f * most <= 1.0), 1.0)


def _across(frames: Callable[[str], Array]) -> list[Channel]:
    """Channels of a spatial run in addition to the planar ones: forces of the left and the right side, and places
    across."""
    flank, saddle, edges = (frames(f"spatial/{name}") for name in ("flank", "saddle", "joint"))
    rocking = [edges[..., CONTACTS.index(f"rocking_{side}")] for side in SIDES]
    found = []
    for k, side in enumerate(SIDES):
        for name, label, value in (
            ("flank_normal", "Flank, normal force", flank[:, k, :, 0]),
            ("flank_axial", "Flank, axial force", flank[:, k, :, 3]),
            ("saddle", "Ring on saddle", saddle[:, k, :, 0]),
            ("pillar", "Ring on pillar", saddle[:, k, :, 4]),
            ("rocking", "Rocking edge", rocking[k]),
        ):
            found.append(Channel(f"{name}_{side}", f"{label}, {side}", "N", value, "element", "Left and right"))
    z, angle = frames("spatial/position"), frames("spatial/angle")
    for name, label, unit_, value in (
        ("z", "Place across the belt", "m", z),
        ("roll", "Roll", "rad", angle[..., 0]),
        ("yaw", "Yaw", "rad", angle[..., 1]),
    ):
        found.append(Channel(name, label, unit_, value, "element", "Out of line"))
    return found


def _of_fields(file: h5py.File, chosen: slice, element: Element, b: Belt, s: Sheaves, width: float) -> Scene:
    def frames(name: str) -> Array:
        return np.asarray(file[name][chosen], dtype=float)

    fields = {name: frames(f"fields/{name}") for name in FIELDS if f"fields/{name}" in file}
    rotation = frames("sheaves/rotation")
    radius = frames("grid/radius")
    way = np.abs(rotation[:, :1] - rotation[:1, :1]) * (radius[:, :1] - b.h_off)
    return Scene(
        "fields",
        _title(file),
        np.asarray(file["time"][chosen]),
        sheave_geometry(element, b, s, width),
        {"radius": radius, "rotation": rotation, "way": way, "apex": frames("sheaves/apex")},
        field_channels(fields),
        _facts(file),
        "This run kept no elements: shown are the belt fields, forces per length of belt, on the taut path.",
    )


def field_channels(fields: Mapping[str, Array]) -> list[Channel]:
    """Belt fields (n, cells) as channels, forces first."""
    units = {name: unit for name, (unit, _) in FIELDS.items()}
    found = [
        Channel(k, LABELS[k], units[k], v, "cell", "Motion" if any(w in k for w in MOTION) else "Forces", charted=True)
        for k, v in fields.items()
    ]
    return sorted(found, key=lambda c: c.group)


def _title(file: h5py.File) -> str:
    return f"{file.attrs['unit']}, {run_of(file).name}"


def _facts(file: h5py.File) -> list[tuple[str, str]]:
    found = figures(file)
    facts = [("scheme", str(found["scheme"]))]
    if "ratio" not in found:
        return facts
    clamping, torque = found["clamping_force_N"], found["shaft_torque_Nm"]
    if "misalignment_m" in found:
        facts = [("out of line", f"{1e3 * found['misalignment_m']:.2f} mm"), *facts]
    return [
        ("ratio", f"{found['ratio']:.3f}"),
        ("thrust ratio", f"{found['thrust_ratio']:.3f}"),
        ("slip", f"{100.0 * found['slip']:.2f} %"),
        ("clamping", f"{clamping[0] / 1e3:.1f} and {clamping[1] / 1e3:.1f} kN"),
        ("torque", f"{torque[0]:.0f} and {torque[1]:.0f} N.m"),
        ("belt", f"{found['belt_speed_m_s']:.1f} m/s"),
        *facts,
    ]
