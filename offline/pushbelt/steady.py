"""Runs of the hybrid model to a steady state, and what is measured there.

Steady state. A belt of N_E elements has passed once when N_E elements have crossed the middle of the push span. The
crossings are counted as a real number, the place of the span's middle between the two elements around it, and a mean is
taken over the time in which this number grows by exactly N_E: whole element-passing periods, and a whole revolution.
Each run has two such windows, one right after the other, at its end. What is reported is the last one; the change from
the window before is the uncertainty of a quantity.

Place. The belt coordinate c of an element is 0..1 on the primary arc, 1..2 in the push span, 2..3 on the secondary arc,
3..4 in the slack span, in the direction of travel, between the tangent points of the ring. A profile is the mean over
a window of all elements that are in a bin of c: what a sensor in one element would show, averaged over the elements.
"""

import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from offline.pushbelt import hybrid
from offline.pushbelt.element_element import Joint
from offline.pushbelt.initial import Start, start_state
from offline.pushbelt.kinematics import Closure
from offline.pushbelt.parameters import SPEED, Belt, Boundary, Parameters, belt, boundary_at, sheaves
from offline.pushbelt.signatures import BINS, FIELDS
from rtcvt.errors import InputError
from rtcvt.recording import replaced_on_success

__all__ = [
    "PLOT",
    "Case",
    "Run",
    "Steady",
    "Window",
    "belt_coordinate",
    "passages",
    "prepare",
    "read_steady",
    "simulate",
    "write_steady",
]

Array = NDArray[np.float64]

PLOT = 1e-4  # s, plot step of the thesis
SCHEMA = 1  # of the files
CHUNK = 200  # plot steps whose fields are held at a time


class Run(BaseModel):
    """One run of the hybrid model with the explicit scheme; what is not given is that of unit and case."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9.-]*$")]
    case: str
    row: Annotated[int, Field(ge=0)] = 0
    unilateral: bool = True
    coupled: bool = True
    taper_um: Annotated[float, Field(ge=0.0)] = 0.0
    N_E: Annotated[int, Field(ge=20)] | None = None
    N_E0: Annotated[int, Field(ge=20)] | None = None
    N_B: Annotated[int, Field(ge=12)] | None = None
    steps: Annotated[int, Field(ge=10)] = 100  # per plot step of 1e-4 s
    points: Literal[1, 2] = 1  # contact points per flank
    rise: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0  # revolutions before, in which the load rises from nothing


class Window(NamedTuple):
    """Means over one revolution of the belt, `t0` to `t1` [s].

    thrust F_CI/F_CO; torque M_O [N m] and omega [rad/s] (2,) as found; slip 1 - i_r omega_O/omega_I with the ratio at
    the rocking edges; endplay (2,) sum of open gaps at rocking edge and top [m]; profile, ripple (11, 4 BINS): mean
    and standard deviation in each bin of c, NaN where no element was; energy (3,): unaccounted, lost, throughput [J];
    losses (10,) of `hybrid.LOSSES` [J]; balance (2, 4): of axial force, torque and the moments about x and y of each
    pulley, unaccounted part.
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
    """A finished run: its two windows, time series and the path of one element.

    radii (2,) of the neutral fibre at the start [m]; wrap (2,) [rad]; series (n, 6): time [s], thrust ratio, torque on
    the secondary shaft [N m], its speed [rad/s], endplay at rocking edge and top [m]; element (k, 12): c and `FIELDS`
    of element 0 in the last window; step_us: processor time of a step [us].
    """

    before: Window
    last: Window
    radii: Array
    wrap: Array
    series: Array
    element: Array
    step_us: float

    @property
    def drift(self) -> float:
        """Relative change of the thrust ratio between the windows."""
        return abs(self.last.thrust / self.before.thrust - 1.0)


class Case(NamedTuple):
    """A run, ready to start."""

    model: hybrid.Model
    state: hybrid.State
    start: Start
    inputs: Array


def prepare(parameters: Parameters, run: Run, revolutions: float) -> Case:
    """Model, start and inputs of a run: its rise and so many revolutions of the belt, at the speed of its start.

    Raises
    ------
    InputError
        A load that rises, where there is none but a speed; or no start, see `start_state`.
    """
    case = parameters.get_case(run.case)
    b = belt(parameters, N_E=run.N_E, N_E0=run.N_E0 or case.N_E0, N_B=run.N_B, taper=1e-6 * run.taper_um)
    s = sheaves(parameters)
    first = Boundary(*boundary_at(case, np.array([0.0]), run.row)[0])
    if run.rise > 0.0:
        if first.mode_load == SPEED:
            raise InputError(f"run '{run.name}'", "rise", run.rise, "0 where the secondary's speed is given")
        first = first._replace(value_load=0.0)
    start = start_state(b, s if run.coupled else s._replace(multiplier=0.0), first, case.i_r)
    speed = float(np.mean(np.hypot(start.u[:, 0], start.u[:, 1])))
    revolution = b.N_E * b.t_R / speed
    grid: Array = PLOT * np.arange(np.ceil((run.rise + revolutions) * revolution / PLOT) + 1.0)
    inputs = boundary_at(case, grid, run.row)
    if run.rise > 0.0:
        inputs[:, Boundary._fields.index("value_load")] *= np.minimum(1.0, grid / (run.rise * revolution))
    state = hybrid.state(start.q, start.u, start.q_R, start.u_R, start.s_R, start.s, start.sd, len(s.A) - 1)
    return Case(hybrid.model(b, s, unilateral=run.unilateral, coupled=run.coupled), state, start, inputs)


def belt_coordinate(x: Array, y: Array, geometry: Closure, d_A: float) -> Array:
    """Belt coordinate c, 0 to 4, of points at `x`, `y` [m]: section and share of it that lies behind."""
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


def passages(c: Array) -> Array:
    """Elements that have crossed the middle of the push span since the first frame, as a real number.

    Parameters
    ----------
    c : (n, N_E) belt coordinates at the frames; between two frames less than half the belt passes
    """
    n, N_E = c.shape
    ahead = np.mod(c - 1.5, 4.0)  # behind the middle in time: small values have just crossed
    first = np.argmin(ahead, axis=1)  # crossed last
    rows = np.arange(n)
    before = np.mod(1.5 - c[rows, (first - 1) % N_E], 4.0)  # the next one's way to go
    past = ahead[rows, first]
    place = first - past / (past + before)  # falls by one per crossing
    return np.asarray(-np.unwrap(place - place[0], period=float(N_E)))


def simulate(parameters: Parameters, run: Run, revolutions: float) -> Steady:
    """Run and evaluate.

    Raises
    ------
    RuntimeError
        The belt left its place.
    """
    case = prepare(parameters, run, revolutions)
    n = len(case.inputs) - 1
    chunks: list[dict[str, Array]] = []
    begin = time.thread_time()
    spent = 0.0
    for first in range(0, n, CHUNK):
        inputs = case.inputs[first : first + CHUNK + 1]
        out, done = hybrid.run(case.model, case.state, inputs, run.steps, PLOT / run.steps, run.points)
        if first:  # the first call may compile
            spent += time.thread_time() - begin
        begin = time.thread_time()
        if done < len(inputs) - 1:
            raise RuntimeError(f"run {run.name}: the belt left its place after {(first + done) * PLOT:.4f} s")
        chunks.append(_reduced(case, out))
        begin = time.thread_time()
    data = {key: np.concatenate([c[key] for c in chunks]) for key in chunks[0]}
    step_us = 1e6 * spent / ((n - CHUNK) * run.steps) if n > CHUNK else float("nan")
    return _steady(case, data, run, step_us)


def _reduced(case: Case, out: hybrid.Frames) -> dict[str, Array]:
    """What a revolution is evaluated from, per frame."""
    geometry, b = case.start.steady.geometry, case.model.belt
    height = _ring_height(out.q_R, geometry, b)
    node = np.mod(out.s_R, b.N_B)
    e = np.minimum(node.astype(np.int64), b.N_B - 1)
    rows = np.arange(len(e))[:, None]
    share = node - e
    at_ring = (1.0 - share) * height[rows, e] + share * height[rows, (e + 1) % b.N_B]
    fields = np.stack(
        [
            *np.moveaxis(out.flank, 2, 0),
            *np.moveaxis(out.joint[:, :, :3], 2, 0),
            *np.moveaxis(out.saddle, 2, 0),
            at_ring,
            out.tension[rows, e],
        ],
        axis=2,
    )
    gaps = _open_gaps(case.model.joint, out.q)
    return {
        "c": belt_coordinate(out.q[:, :, 0], out.q[:, :, 1], geometry, b.d_A),
        "fields": fields.astype(np.float32),
        "endplay": gaps,
        "pulley": out.pulley,
        "s": out.s,
        "sd": out.sd,
        "work": out.work,
        "stored": out.stored.sum(axis=1),
    }


def _ring_height(q_R: Array, geometry: Closure, b: Belt) -> Array:
    """Distance [m] of the ring's top from the axis of the nearer pulley, at the nodes."""
    x, y = q_R[:, :, 0], q_R[:, :, 1]
    c = belt_coordinate(x, y, geometry, b.d_A)
    primary = (c < 1.5) | (c >= 3.5)
    r = np.hypot(x - np.where(primary, b.d_A, 0.0), y)
    return np.asarray(r + 0.5 * b.h_ring)


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


def _steady(case: Case, data: Mapping[str, Array], run: Run, step_us: float) -> Steady:
    geometry, b = case.start.steady.geometry, case.model.belt
    count = passages(data["c"])
    time_axis: Array = PLOT * np.arange(1.0, len(count) + 1.0)
    revolutions = (count[-1] - count[0]) / b.N_E
    if revolutions < 2.0:
        raise RuntimeError(f"run {run.name}: {revolutions:.2f} revolutions, two are needed")
    marks = [float(np.interp(count[-1] - k * b.N_E, count, time_axis)) for k in (2, 1, 0)]
    before, last = (_window(case, data, time_axis, t0, t1) for t0, t1 in pairwise(marks))
    chosen = time_axis >= marks[1]
    element = np.column_stack([data["c"][chosen, 0], data["fields"][chosen, 0]]).astype(float)
    pulley = data["pulley"]
    series = np.column_stack(
        [time_axis, pulley[:, 0, 1] / pulley[:, 1, 1], pulley[:, 1, 2], data["sd"][:, 1, 3], data["endplay"]]
    )
    radii, wrap = np.array([geometry.r_I, geometry.r_O]), np.array([geometry.wrap_I, geometry.wrap_O])
    return Steady(before, last, radii, wrap, series, element, step_us)


def _mean(time_axis: Array, values: Array, t0: float, t1: float) -> Array:
    """Mean from t0 to t1 of what is constant, the mean since the plot step before, from one plot step to the next."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)]) * PLOT
    edges = np.concatenate([[time_axis[0] - PLOT], time_axis])
    flat = total.reshape(len(edges), -1)
    area = [np.interp(t1, edges, v) - np.interp(t0, edges, v) for v in flat.T]
    return np.reshape(area, values.shape[1:]) / (t1 - t0)


def _window(case: Case, data: Mapping[str, Array], time_axis: Array, t0: float, t1: float) -> Window:
    m = case.model
    b, sh = m.belt, m.sheaves
    geometry = case.start.steady.geometry
    pulley = _mean(time_axis, data["pulley"], t0, t1)
    omega = _mean(time_axis, data["sd"][:, :, 3], t0, t1)
    i_r = (geometry.r_O - b.h_off) / (geometry.r_I - b.h_off)

    # whole frames for what is a difference of states
    i0, i1 = (int(np.argmin(np.abs(time_axis - t))) for t in (t0, t1))
    work = data["work"][i0 + 1 : i1 + 1].sum(axis=0)
    n = len(hybrid.INPUTS)
    stored = data["stored"][i1] - data["stored"][i0]
    energy = np.array([work[:n].sum() - work[n:].sum() - stored, work[n:].sum(), np.abs(work[2:n]).max()])
    mean = data["pulley"][i0 + 1 : i1 + 1].mean(axis=0)
    span = time_axis[i1] - time_axis[i0]
    rate = (data["sd"][i1] - data["sd"][i0]) / span
    move = (data["s"][i1] - data["s"][i0]) / span
    axial = mean[:, 0] - mean[:, 1] - sh.m * rate[:, 0] - sh.d_z * move[:, 0]
    torque = mean[:, 2] + mean[:, 3] - sh.J * rate[:, 3]
    scale = np.maximum(np.abs(mean[:, 2]), 1e-3 * mean[:, 0] * case.start.steady.geometry.r_O)
    held = np.trapezoid(data["s"][i0 : i1 + 1, :, 1:3], dx=PLOT, axis=0) / span
    spin = 0.5 * sh.J * data["sd"][i0 : i1 + 1, :, 3].mean(axis=0)[:, None] * move[:, (2, 1)] * (1.0, -1.0)
    tilt = mean[:, 4:6] - sh.Theta_t * rate[:, 1:3] - sh.d_t * move[:, 1:3] - sh.c_t * held + spin
    tilt /= np.linalg.norm(mean[:, 4:6], axis=1, keepdims=True)
    balance = np.column_stack([axial / mean[:, 0], torque / scale, tilt])

    inside = (time_axis > t0) & (time_axis <= t1)
    index = np.minimum((data["c"][inside] * BINS).astype(np.int64), 4 * BINS - 1).ravel()
    values = data["fields"][inside].reshape(-1, len(FIELDS)).astype(float)
    number = np.bincount(index, minlength=4 * BINS)
    with np.errstate(invalid="ignore", divide="ignore"):
        profile = np.stack([np.bincount(index, v, 4 * BINS) / number for v in values.T])
        ripple = np.sqrt(
            np.stack(
                [
                    np.bincount(index, (v - p[index]) ** 2, 4 * BINS) / number
                    for v, p in zip(values.T, profile, strict=True)
                ]
            )
        )
    return Window(
        t0=t0,
        t1=t1,
        thrust=float(pulley[0, 1] / pulley[1, 1]),
        torque=float(pulley[1, 2]),
        omega=omega,
        slip=float(1.0 - i_r * omega[1] / omega[0]),
        endplay=_mean(time_axis, data["endplay"], t0, t1),
        profile=profile,
        ripple=ripple,
        energy=energy,
        losses=work[n:],
        balance=balance,
    )


def write_steady(file: Path, parameters: Parameters, run: Run, steady: Steady) -> None:
    """Write a result, with the run and the unit that it belongs to."""
    with replaced_on_success(file) as temporary, h5py.File(temporary, "w") as h5:
        h5.attrs.update(schema_version=SCHEMA, run=run.model_dump_json(), unit=parameters.model_dump_json())
        for name, value in steady._asdict().items():
            parts = (
                {f"{name}/{k}": v for k, v in value._asdict().items()} if isinstance(value, Window) else {name: value}
            )
            for key, part in parts.items():
                h5[key] = part


def read_steady(file: Path) -> Steady:
    """Read a result back."""
    with h5py.File(file, "r") as h5:
        before, last = (Window(*(h5[f"{name}/{key}"][()] for key in Window._fields)) for name in ("before", "last"))
        return Steady(before, last, *(h5[key][()] for key in Steady._fields[2:]))
