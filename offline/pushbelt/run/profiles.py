"""Profiles over the belt: signals of a sensor in one element, averaged over the elements, in the windows of a run.

Place. The belt coordinate c of an element is 0..1 on the primary arc, 1..2 in the push span, 2..3 on the secondary arc,
3..4 in the slack span, in the direction of travel, between the tangent points that the ring has at the start. A profile
is the mean over a window of all elements that are in a bin of c. The path of element 0 through the last window is
stored.

Balance. The residual of axial force, torque and tilting moments of the belt on a sheave after clamping, shaft, inertia,
damper and guide, relative to those of the belt; its tilts, which vibrate, are known at frames only.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.contact.element_element import Joint
from rtcvt.offline.pushbelt.planar.model import Frames, Model
from rtcvt.offline.pushbelt.run.windows import BEFORE, LOSS_COLUMNS, STEADY, frames_of, summary
from rtcvt.offline.pushbelt.unit.kinematics import Closure
from rtcvt.offline.pushbelt.unit.parameters import Belt, Sheaves

Array = NDArray[np.float64]

BINS = 60  # of each of the four sections
FIELDS = {
    "normal": "N",
    "longitudinal": "N",
    "radial": "N",
    "rocking": "N",
    "top": "N",
    "bottom": "N",
    "saddle": "N",
    "ear": "N",
    "ring_friction": "N",
    "ring_height": "m",
    "tension": "N",
}
FORCES: dict[str, dict[str, int]] = {  # on an element: fields that add up, with their signs
    "element-pulley, normal": {"normal": 1},
    "element-pulley, longitudinal friction": {"longitudinal": -1},  # on the pulley, as in the source
    "element-pulley, radial friction": {"radial": 1},
    "element-element, normal": {"rocking": 1, "top": 1, "bottom": 1},
    "element-ring, normal": {"saddle": 1, "ear": -1},
    "element-ring, longitudinal friction": {"ring_friction": 1},
}
_BY_WINDOW = {  # unit and description
    "profile": ("SI", "mean in each bin of the belt coordinate; rows: fields"),
    "ripple": ("SI", "standard deviation in each bin"),
    "endplay": ("m", "sum of the open gaps at rocking edge and top"),
    "balance": ("1", "unaccounted part of axial force, torque and moments about x and y, by pulley"),
}


def force(name: str, fields: Array) -> Array:
    """One of `FORCES` (n,) [N] from the rows `FIELDS` (11, n)."""
    rows = list(FIELDS)
    return np.asarray(sum(sign * fields[rows.index(field)] for field, sign in FORCES[name].items()))


class Window(NamedTuple):
    """Means over a window, `t0` to `t1` [s].

    thrust F_CI/F_CO; torque M_O [N m] of the belt and omega [rad/s] (2,); slip; endplay (2,) sum of open gaps at
    rocking edge and top [m]; profile, ripple (11, 4 BINS): mean and standard deviation in each bin of c, NaN where no
    element was; energy (3,): unaccounted, lost, throughput [J]; losses (n,) of `planar.model.LOSSES` [J]; balance (2,
    4): of axial force, torque and the moments about x and y of each pulley, unaccounted part.
    """

    t0: float
    t1: float
    thrust: float
    torque: float
    omega: Array
    slip: float
    endplay: Array
    profile: Array
    ripple: Array
    energy: Array
    losses: Array
    balance: Array


class Steady(NamedTuple):
    """The two windows of a run; wrap (2,) [rad] at the start; element (k, 12): c and `FIELDS` of element 0 in the last
    window; step_us: processor time of a step [us]."""

    before: Window
    last: Window
    wrap: Array
    element: Array
    step_us: float

    @property
    def drift(self) -> float:
        """Relative change of the thrust ratio between the windows."""
        return abs(self.last.thrust / self.before.thrust - 1.0)


def belt_coordinate(x: Array, y: Array, geometry: Closure, d_A: float) -> Array:
    """Belt coordinate c, 0 to 4, of points at `x`, `y` [m]: section and share of it that is passed."""
    half_I, half_O = np.pi - geometry.phi, geometry.phi
    a_I = np.arctan2(y, x - d_A)
    a_O = np.mod(np.arctan2(y, x), 2.0 * np.pi) - np.pi
    # along the strands, from O to I
    e = np.array([np.sin(geometry.phi), np.cos(geometry.phi)])
    foot = -geometry.r_O * np.cos(geometry.phi), geometry.r_O * np.sin(geometry.phi)
    along = ((x - foot[0]) * e[0] + (np.abs(y) - foot[1]) * (geometry.r_I - geometry.r_O) / d_A) / geometry.t_L
    along = np.clip(along, 0.0, 1.0 - 1e-12)
    c = np.where(y < 0.0, 2.0 - along - 1e-12, 3.0 + along)
    c = np.where(np.abs(a_I) < half_I, (half_I - a_I) / (2.0 * half_I), c)
    return np.asarray(np.where(np.abs(a_O) < half_O, 2.0 + (half_O - a_O) / (2.0 * half_O), c))


def observe(m: Model, geometry: Closure, x: Frames) -> dict[str, NDArray[Any]]:
    """Coordinate (n, N_E), `FIELDS` (n, N_E, 11) of the elements and endplay (n, 2) at frames."""
    b = m.belt
    height = _ring_height(x.q_R, geometry, b)
    node = np.mod(x.s_R, b.N_B)
    e = np.minimum(node.astype(np.int64), b.N_B - 1)
    rows, share = np.arange(len(e))[:, None], node - e
    at_ring = (1.0 - share) * height[rows, e] + share * height[rows, (e + 1) % b.N_B]
    fields = np.concatenate(
        [x.flank, x.joint[:, :, :3], x.saddle, at_ring[..., None], x.tension[rows, e][..., None]], axis=2
    )
    c = belt_coordinate(x.q[:, :, 0], x.q[:, :, 1], geometry, b.d_A)
    return {"c": c, "fields": fields.astype(np.float32), "endplay": _open_gaps(m.joint, x.q)}


def _ring_height(q_R: Array, geometry: Closure, b: Belt) -> Array:
    """Distance [m] of the ring's top from the axis of the nearer pulley, at the nodes."""
    x, y = q_R[:, :, 0], q_R[:, :, 1]
    c = belt_coordinate(x, y, geometry, b.d_A)
    primary = (c < 1.5) | (c >= 3.5)
    return np.asarray(np.hypot(x - np.where(primary, b.d_A, 0.0), y) + 0.5 * b.h_ring)


def _open_gaps(J: Joint, q: Array) -> Array:
    """Sums of the open gaps at rocking edge and top [m], (n, 2); `element_element.gaps` for all joints at once."""
    ahead = np.roll(q, -1, axis=1)
    c_j, s_j = np.cos(ahead[:, :, 2]), np.sin(ahead[:, :, 2])
    c, s = np.cos(q[:, :, 2] - ahead[:, :, 2]), np.sin(q[:, :, 2] - ahead[:, :, 2])
    d = c_j * (q[:, :, 0] - ahead[:, :, 0]) + s_j * (q[:, :, 1] - ahead[:, :, 1])
    arc = np.where(s >= 0.0, J.r_R, 0.0)
    g_R = J.x_rear - (d + c * (J.x_R - arc) - s * J.y_R + arc)
    g_T = J.x_rear - (d + c * J.x_T - s * J.y_T)
    return np.stack([np.maximum(g, 0.0).sum(axis=1) for g in (g_R, g_T)], axis=1)


def write_profiles(
    file: h5py.File, write: Callable[..., None], seen: Mapping[str, NDArray[Any]], sheaves: Sheaves, geometry: Closure
) -> None:
    """Write the profiles of the windows `BEFORE` and `STEADY` from the sums `seen` (`observe`) of the settling."""
    rows = [frames_of(file, k) for k in (BEFORE, STEADY)]
    if not np.isfinite(summary(file)["duration"]).all():  # too short
        return
    r_O = float(file["grid/radius"][0, 1])
    found = [
        (*_binned(seen["c"][r], seen["fields"][r]), seen["endplay"][r].mean(axis=0), _balance(file, r, sheaves, r_O))
        for r in rows
    ]
    for (name, about), values in zip(_BY_WINDOW.items(), zip(*found, strict=True), strict=True):
        write(f"profiles/{name}", np.array(values), *about)
    last = rows[STEADY]
    path = np.column_stack([seen["c"][last, 0], seen["fields"][last, 0]]).astype(float)
    write("profiles/element", path, "SI", "belt coordinate and fields of element 0 in the last window")
    write(
        "profiles/wrap",
        np.array([geometry.wrap_I, geometry.wrap_O]),
        "rad",
        "wrapped angle of each pulley at the start",
    )


def _binned(c: Array, fields: NDArray[Any]) -> tuple[Array, Array]:
    """Mean and standard deviation (11, 4 BINS) of fields (n, N_E, 11) over the bins of c (n, N_E)."""
    index = np.minimum((c * BINS).astype(np.int64), 4 * BINS - 1).ravel()
    values = fields.reshape(-1, len(FIELDS)).astype(float).T
    number = np.bincount(index, minlength=4 * BINS)

    def mean(v: Array) -> Array:
        return np.bincount(index, v, 4 * BINS) / number

    with np.errstate(invalid="ignore", divide="ignore"):
        profile = np.stack([mean(v) for v in values])
        ripple = np.sqrt(np.stack([mean((v - p[index]) ** 2) for v, p in zip(values, profile, strict=True)]))
    return profile, ripple


def _balance(file: h5py.File, rows: slice, sh: Sheaves, r_O: float) -> Array:
    """Unaccounted parts (2, 4) over frames."""
    before, end = rows.start - 1, rows.stop - 1
    dt = float(file.attrs["plot_step"])
    span = (rows.stop - rows.start) * dt

    def mean(name: str) -> Any:
        return file[f"pulleys/{name}"][rows].mean(axis=0)

    def change(name: str) -> Any:
        return (file[f"sheaves/{name}"][end] - file[f"sheaves/{name}"][before]) / span

    contact, torque, moment = mean("contact_force"), mean("belt_torque"), mean("tilt_moment")
    axial = contact - mean("clamping_force") - sh.m * change("axial_velocity") - sh.d_z * change("apex")
    turning = torque + mean("shaft_torque") - sh.J * change("speed")
    held = np.trapezoid(file["sheaves/tilt"][before : end + 1], dx=dt, axis=0) / span
    speed = file["sheaves/speed"][before : end + 1].mean(axis=0)
    tilting = change("tilt")
    spin = 0.5 * sh.J * speed[:, None] * tilting[:, ::-1] * (1.0, -1.0)
    tilt = moment - sh.Theta_t * change("tilt_rate") - sh.d_t * tilting - sh.c_t * held + spin
    tilt /= np.linalg.norm(moment, axis=1, keepdims=True)
    return np.column_stack([axial / contact, turning / np.maximum(np.abs(torque), 1e-3 * contact * r_O), tilt])


def steady_of(file: h5py.File) -> Steady:
    """The two windows of a run that observed profiles."""
    s, time = summary(file), file["time"]
    windows = []
    for k in (BEFORE, STEADY):
        row, rows = {name: float(v[k]) for name, v in s.items()}, frames_of(file, k)
        losses = np.array([row[name] for name in LOSS_COLUMNS])
        energy = np.array([row["unaccounted"], row["loss"], max(abs(row["P_I"]), abs(row["P_O"]))])
        windows.append(
            Window(
                t0=float(time[rows.start - 1]),
                t1=float(time[rows.stop - 1]),
                thrust=row["thrust_ratio"],
                torque=row["M_O"],
                omega=np.array([row["omega_I"], row["omega_O"]]),
                slip=row["slip"],
                energy=energy * row["duration"],
                losses=losses * row["duration"],
                **{name: file[f"profiles/{name}"][k] for name in _BY_WINDOW},
            )
        )
    wrap, element = file["profiles/wrap"][()], file["profiles/element"][()]
    return Steady(windows[0], windows[1], wrap, element, 1e6 * float(file.attrs["step_cost"]))
