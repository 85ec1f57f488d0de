"""Runs of the hybrid model: from a case of the unit file to an HDF5 file that grows while the run goes on.

File. Attributes: ``schema_version``, ``kind``, ``rtcvt_version``, ``revision`` (git), ``created`` (UTC), ``unit``,
every entry of `Settings`, the load torque ``M_O`` at the start, ``signals``: the case, and ``parameters``: the scaled
`Belt` and `Sheaves`, both as JSON. ``unit_file`` holds the text of the unit file. For each plot step, the first at
t = plot step: ``time``; the datasets of `DATASETS`, which are `hybrid.Frames`; ``grid/length``, ``grid/radius``,
``elements/sigma`` and ``fields/NAME``, which are `snapshots.Snapshots`. Every dataset has ``units`` and
``description``, one with several columns ``columns``. Results are stored as float32, where differences or sums matter
as float64.

Kill. The file is PATH.partial until the run ends, then it is renamed. It is written block by block, a few seconds of
work at most, in HDF5's single-writer mode: at every moment what was flushed can be read, by other programs too
(``h5py.File(name, "r", swmr=True)``). A block writes its frames, then the state after them into the older of two slots
of ``checkpoint``, and only when both are flushed the number of frames that this state follows. A run that is killed
loses the block it was in.

``status`` is 1 when all frames are there, 2 after Ctrl-C, 3 when the belt left its place, and 0 before.

Resume. The frames up to the last checkpoint are taken over and the run goes on from its state, with the same bits as a
run that was never stopped (`hybrid`, with the same program and machine). A longer duration extends a run.
"""

import json
import os
import signal
import threading
import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import h5py
import numpy as np
from numpy.typing import NDArray

from offline.pushbelt import hybrid
from offline.pushbelt.element_element import CONTACTS
from offline.pushbelt.hybrid import Frames, Model, State
from offline.pushbelt.initial import start_state
from offline.pushbelt.parameters import Boundary, Parameters, belt, boundary_at, sheaves
from offline.pushbelt.snapshots import CELLS, FIELDS, SECTIONS, push_force, revolutions, snapshots
from rtcvt import __version__
from rtcvt.errors import InputError
from rtcvt.recording import replaced_on_success, require_writable, revision

__all__ = [
    "COMPLETE",
    "DATASETS",
    "FAILED",
    "HISTORY",
    "INTERRUPTED",
    "RUNNING",
    "STEPPED",
    "History",
    "Outcome",
    "Scheme",
    "Settings",
    "element_history",
    "figures",
    "frames_in",
    "largest_step",
    "open_run",
    "partial_path",
    "read_frames",
    "simulate",
]

Array = NDArray[np.float64]

SCHEMA_VERSION = 1
KIND = "pushbelt run"
RUNNING, COMPLETE, INTERRUPTED, FAILED = 0, 1, 2, 3
_VERSION = ("v110", "v110")  # of the file format: the first with the single-writer mode
_BLOCK = 50  # frames that are written, and lost, together ...
_BLOCK_STEPS = 50_000  # ... and how many steps they may take
_MAX_STEPS = 1e9

Law = Literal["coupled", "decoupled"]
Contact = Literal["unilateral", "bilateral"]
Scheme = Literal["explicit", "multirate"]
STEPPED: dict[str, Callable[..., tuple[Frames, int]]] = {
    "explicit": hybrid.run,
    "multirate": partial(hybrid.run, n_R=2),
}


@dataclass(frozen=True)
class Settings:
    """What to run. None takes the value of the unit file, and for the step what suits the scheme.

    row: number of the load torque in the case's row; N_E: modelled elements; N_B ring nodes; taper t_T - t_R of a real
    element [m]; law, contact: see `hybrid.Model`; scheme: `Scheme`; step, plot_step [s]; flank_points: 1
    simplified, 2 extended flank contact.
    """

    case: str
    row: int = 0
    duration: float = 0.1
    N_E: int | None = None
    N_B: int | None = None
    taper: float | None = None
    law: Law = "coupled"
    contact: Contact = "unilateral"
    scheme: Scheme = "explicit"
    step: float | None = None
    plot_step: float = 1e-4
    flank_points: int = 1


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its file, status, frames in the file and those of this call, wall-clock time [s] and that of a
    step, the median of the blocks between two writes of the file."""

    path: Path
    status: int
    frames: int
    computed: int
    wall: float
    step: float


class History(NamedTuple):
    """One element over one revolution: time (m,) [s], place sigma in [0, 4] (m,), forces (m, 6) [N] by `HISTORY`."""

    time: Array
    sigma: Array
    forces: Array


class Series(NamedTuple):
    """A dataset with one row per frame: shape of a row, type, unit, description, columns, and where it comes from."""

    shape: tuple[int, ...]
    dtype: str
    unit: str
    description: str
    columns: tuple[str, ...] = ()


class Source(NamedTuple):
    """A part of `Frames`: its field, index behind the frame's, type, unit, description and columns."""

    field: str
    part: tuple[Any, ...]
    dtype: str
    unit: str
    description: str
    columns: tuple[str, ...] = ()


_EACH = slice(None)
_PULLEYS = ("primary", "secondary")
_XY = ("x", "y")
DATASETS = {
    "elements/position": Source("q", (_EACH, slice(2)), "f8", "m", "centres of gravity", _XY),
    "elements/angle": Source("q", (_EACH, 2), "f8", "rad", "angle of the elements"),
    "elements/velocity": Source("u", (_EACH, slice(2)), "f4", "m/s", "of the centres of gravity", _XY),
    "elements/angular_velocity": Source("u", (_EACH, 2), "f4", "rad/s", "of the elements"),
    "elements/place": Source("s_R", (), "f8", "1", "saddle on the ring, in finite elements"),
    "elements/joint": Source("joint", (), "f4", "N", "forces between element i and i + 1", CONTACTS),
    "elements/saddle": Source("saddle", (), "f4", "N", "ring on an element", ("saddle", "ear", "friction")),
    "elements/flank": Source("flank", (), "f4", "N", "on one flank", ("normal", "longitudinal", "radial")),
    "ring/position": Source("q_R", (_EACH, slice(2)), "f8", "m", "nodes on the neutral fibre", _XY),
    "ring/angle": Source("q_R", (_EACH, 2), "f8", "rad", "section at the nodes"),
    "ring/deflection": Source("q_R", (_EACH, slice(3, 5)), "f8", "m", "c_L, c_R of (6.1)", ("c_L", "c_R")),
    "ring/velocity": Source("u_R", (_EACH, slice(2)), "f4", "m/s", "of the nodes", _XY),
    "ring/angular_velocity": Source("u_R", (_EACH, 2), "f4", "rad/s", "of the sections"),
    "ring/deflection_rate": Source("u_R", (_EACH, slice(3, 5)), "f4", "m/s", "rates of c_L, c_R", ("c_L", "c_R")),
    "ring/tension": Source("tension", (), "f4", "N", "of the finite elements"),
    "sheaves/apex": Source("s", (_EACH, 0), "f8", "m", "axial position of the cone's apex", _PULLEYS),
    "sheaves/tilt": Source("s", (_EACH, slice(1, 3)), "f8", "rad", "about x and y, by pulley", _XY),
    "sheaves/rotation": Source("s", (_EACH, 3), "f8", "rad", "in the direction of travel", _PULLEYS),
    "sheaves/axial_velocity": Source("sd", (_EACH, 0), "f8", "m/s", "of one sheave", _PULLEYS),
    "sheaves/tilt_rate": Source("sd", (_EACH, slice(1, 3)), "f8", "rad/s", "about x and y, by pulley", _XY),
    "sheaves/speed": Source("sd", (_EACH, 3), "f8", "rad/s", "in the direction of travel", _PULLEYS),
    "sheaves/deflection": Source("deflection", (), "f8", "m", "Fourier coefficients, by pulley"),
    "pulleys/contact_force": Source("pulley", (_EACH, 0), "f8", "N", "axial, belt on one sheave, mean", _PULLEYS),
    "pulleys/clamping_force": Source("pulley", (_EACH, 1), "f8", "N", "or end stop's reaction, mean", _PULLEYS),
    "pulleys/belt_torque": Source("pulley", (_EACH, 2), "f8", "N.m", "belt on the shaft, mean", _PULLEYS),
    "pulleys/shaft_torque": Source("pulley", (_EACH, 3), "f8", "N.m", "from outside, driving +, mean", _PULLEYS),
    "pulleys/tilt_moment": Source("pulley", (_EACH, slice(4, 6)), "f8", "N.m", "by pulley, mean", _XY),
    "energy/work": Source(
        "work", (), "f8", "J", "inputs and losses since the frame before", hybrid.INPUTS + hybrid.LOSSES
    ),
    "energy/stored": Source("stored", (), "f8", "J", "stored energies", hybrid.STORED),
    "contacts": Source("active", (), "i8", "1", "closed", ("element-element", "element-ring", "flank")),
}

HISTORY = ("flank normal", "flank longitudinal", "flank radial", "push", "ring normal", "ring friction")


class _Prepared(NamedTuple):
    """settings without None; the scheme's run; inputs (frames + 1, 7); steps between frames; attributes of the file."""

    settings: Settings
    advance: Callable[[Model, State, Array, int, float, int], tuple[Frames, int]]
    model: Model
    state: State
    inputs: Array
    frames: int
    steps: int
    attributes: dict[str, Any]

    @property
    def dt(self) -> float:
        """Step [s]."""
        return self.settings.plot_step / self.steps


def partial_path(path: Path) -> Path:
    """Name of the file of a run that has not ended."""
    return path.with_name(f"{path.name}.partial")


def simulate(
    parameters: Parameters,
    settings: Settings,
    path: Path,
    text: str,
    *,
    resume: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Run a case and write it to `path`.

    Ctrl-C ends the run after the block that it is in and keeps it, with the status INTERRUPTED.

    Parameters
    ----------
    parameters : Parameters
        The unit; may differ from its file.
    settings : Settings
        What to run.
    path : Path
        HDF5 file; see the module for how it comes to be.
    text : str
        Text of the unit file.
    resume : bool
        Go on with what is in `path` or its partial file, if there is anything.
    progress : callable, optional
        Called with the name of the case, frames done and frames in all.

    Raises
    ------
    InputError
        Settings that the unit does not have, a path that cannot be written, a partial file in the way, or, to be
        resumed, a file of another run. Nothing is written then.
    """
    run = _prepare(parameters, settings)
    partial = partial_path(path)
    require_writable(path, partial)
    begun = next((p for p in (partial, path) if p.exists()), None) if resume else None
    if begun is None and partial.exists():
        raise InputError("output", "", str(partial), "no unfinished run of this name: resume it, or remove the file")
    done = 0 if begun is None else _resumable(begun, run)
    if begun == path and done == run.frames:
        return Outcome(path, COMPLETE, done, 0, 0.0, np.nan)
    began, first = clock.perf_counter(), done
    with replaced_on_success(partial) as temporary:
        _create(temporary, begun, done, run, text)
    with h5py.File(partial, "r+", libver=_VERSION) as file, _interruptible() as interrupted:
        file.swmr_mode = True
        data = {name: file[name] for name in (*_series(run.model), *_STATE, "status")}
        status, cost = RUNNING if done < run.frames else COMPLETE, []
        while status == RUNNING:
            if progress is not None:
                progress(settings.case, done, run.frames)
            stop = min(done + _block(run.steps), run.frames)
            since = clock.perf_counter()
            found, valid = run.advance(
                run.model, run.state, run.inputs[done : stop + 1], run.steps, run.dt, run.settings.flank_points
            )
            cost.append((clock.perf_counter() - since) / (max(valid, 1) * run.steps))
            kept: Any = [a[:valid] for a in found]
            _append(data, run, done, Frames(*kept))
            if valid < stop - done:
                status = FAILED
            elif stop == run.frames:
                status = COMPLETE
            elif interrupted():
                status = INTERRUPTED
            done += valid
            _checkpoint(data, run.state, done, status)
            file.flush()
    os.replace(partial, path)
    step = float(np.median(cost)) if cost else np.nan
    return Outcome(path, status, done, done - first, clock.perf_counter() - began, step)


@contextmanager
def open_run(path: Path) -> Iterator[h5py.File]:
    """A file of a run, also one that is still growing; frames behind `frames_in` may be incomplete.

    Raises
    ------
    InputError
        Not a run of a schema version that this release knows.
    """
    try:
        file = h5py.File(path, "r", libver=_VERSION, swmr=True)
    except OSError as error:
        raise InputError(path, "", None, f"an HDF5 file of a pushbelt run ({error})") from None
    with file:
        about = (file.attrs.get("kind"), file.attrs.get("schema_version"))
        if about != (KIND, SCHEMA_VERSION):
            raise InputError(path, "kind, schema_version", str(about), f"a {KIND} of schema version {SCHEMA_VERSION}")
        yield file


def frames_in(file: h5py.File) -> int:
    """Number of frames that are complete."""
    return int(file["checkpoint/frames"][()].max())


def read_frames(file: h5py.File, start: int = 0, stop: int | None = None) -> Frames:
    """Frames `start` to `stop` of a run, all of them by default; float32 where the file has it."""
    rows = slice(*slice(start, stop).indices(frames_in(file)))
    parts: dict[str, Any] = {}
    for name, source in DATASETS.items():
        data = file[name][rows]
        if source.part:
            shape = (len(data), data.shape[1], _WIDTH[source.field])
            parts.setdefault(source.field, np.empty(shape))[(_EACH, *source.part)] = data
        else:
            parts[source.field] = data
    return Frames(**parts)


def element_history(file: h5py.File, element: int, revolution: int = -1) -> History:
    """The six forces on one element over a whole revolution (Cebulla 2014, Figs. 7.2-7.4), from primary entry on.

    Parameters
    ----------
    element : int
        From 0; element i + 1 is in front of i.
    revolution : int
        Counts whole revolutions in the run; -1 is the last.

    Raises
    ------
    InputError
        There is no such element or revolution.
    """
    n, N_E = frames_in(file), file["elements/sigma"].shape[1]
    if not 0 <= element < N_E:
        raise InputError(file.filename, "element", element, f"0 to {N_E - 1}")
    sigma = file["elements/sigma"][:n, element]
    whole = revolutions(sigma)
    if not -len(whole) <= revolution < len(whole):
        raise InputError(
            file.filename, "revolution", revolution, f"one of the {len(whole)} whole ones of element {element}"
        )
    rows = whole[revolution]
    flank, saddle = file["elements/flank"][rows, element], file["elements/saddle"][rows, element]
    push = push_force(file["elements/joint"][rows, element])
    forces = np.column_stack([flank, push, saddle[:, 0] - saddle[:, 1], saddle[:, 2]])
    return History(file["time"][rows], sigma[rows], forces)


def figures(file: h5py.File) -> dict[str, Any]:
    """Figures of a run: what it was, means over its last fifth, and its energy balance.

    The keys carry their units. The residual of the balance is what inputs, losses and stored energies leave, relative
    to the losses and to what the shafts carried.
    """
    n = frames_in(file)
    about = {k: _plain(file.attrs[k]) for k in ("unit", *(f.name for f in fields(Settings)), "M_O")}
    found = about | {"frames": n, "time_s": n * about["plot_step"], "status": _STATUS[int(file["status"][()])]}
    if n < 2:
        return found
    last = slice(n - max(1, n // 5), n)

    def mean(name: str) -> Any:
        return file[name][last].mean(axis=0)

    clamping, speed, torque, radius = (
        mean(k) for k in ("pulleys/clamping_force", "sheaves/speed", "pulleys/shaft_torque", "grid/radius")
    )
    none: Any = [np.empty(0)] * len(Frames._fields)
    rest, losses, throughput = hybrid.residual(
        Frames(*none)._replace(work=file["energy/work"][:n], stored=file["energy/stored"][:n])
    )
    return found | {
        "thrust_ratio": float(clamping[0] / clamping[1]),
        "clamping_force_N": clamping.tolist(),
        "speed_rad_s": speed.tolist(),
        "shaft_torque_Nm": torque.tolist(),
        "speed_ratio": float(speed[0] / speed[1]),
        "radius_m": radius.tolist(),
        "tension_N": [float(mean("fields/tension").min()), float(mean("fields/tension").max())],
        "push_N": float(mean("fields/push").max()),
        "residual_of_losses": rest / losses,
        "residual_of_throughput": rest / throughput,
    }


_STATUS = {RUNNING: "unfinished", COMPLETE: "complete", INTERRUPTED: "interrupted", FAILED: "failed"}
_STATE = ("checkpoint/frames", *(f"checkpoint/{name}" for name in State._fields))
_WIDTH = {"q": 3, "u": 3, "q_R": 5, "u_R": 5, "s": 4, "sd": 4, "pulley": 6}


def largest_step(scheme: Scheme, N_E: int, N_B: int) -> float:
    """Step [s] that suits a scheme."""
    return (2.5e-6 if scheme == "multirate" else 1e-6) * min(1.0, 220.0 / N_E, 104.0 / N_B)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _prepare(parameters: Parameters, settings: Settings) -> _Prepared:
    """Everything that can be refused is refused here."""
    case = parameters.get_case(settings.case)
    s = settings
    source = f"case {case.name}"
    limits: Mapping[str, tuple[bool, str]] = {
        "row": (s.row == 0 or bool(case.M_O), "0, the case has one load"),
        "duration": (0.0 < s.duration < np.inf, "a time above 0 s"),
        "plot_step": (0.0 < s.plot_step < np.inf, "a time above 0 s"),
        "step": (s.step is None or 0.0 < s.step < np.inf, "a time above 0 s"),
        "N_E": (s.N_E is None or 20 <= s.N_E <= 2000, "20 to 2000"),
        "N_B": (s.N_B is None or 12 <= s.N_B <= 1000, "12 to 1000"),
        "taper": (s.taper is None or 0.0 <= s.taper <= 1e-4, "0 to 100 um"),
        "law": (s.law in get_args(Law), " or ".join(get_args(Law))),
        "contact": (s.contact in get_args(Contact), " or ".join(get_args(Contact))),
        "scheme": (s.scheme in get_args(Scheme), " or ".join(get_args(Scheme))),
        "flank_points": (s.flank_points in (1, 2), "1 or 2"),
    }
    for key, (fits, allowed) in limits.items():
        if not fits:
            raise InputError(source, key, getattr(s, key), allowed)
    N_E, N_B = s.N_E or parameters.element.N_E, s.N_B or parameters.ring.N_B
    taper = parameters.element.taper if s.taper is None else s.taper
    if s.step is None:
        largest = largest_step(s.scheme, N_E, N_B)
        steps = int(np.ceil(s.plot_step / largest * (1.0 - 1e-9)))
    else:
        steps = _whole(
            s.plot_step / s.step, source, "step", s.step, f"a whole part of the plot step, {s.plot_step:g} s"
        )
    total = steps * s.duration / s.plot_step
    if total > _MAX_STEPS:
        raise InputError(source, "duration", s.duration, f"at most {_MAX_STEPS:g} steps; these are {total:g}")
    frames = _whole(s.duration / s.plot_step, source, "duration", s.duration, f"a multiple of {s.plot_step:g} s")
    inputs = boundary_at(case, np.arange(frames + 1.0) * s.plot_step, s.row)
    b = belt(parameters, N_E=N_E, N_E0=case.N_E0, N_B=N_B, taper=taper)
    stiff = sheaves(parameters)
    coupled = s.law == "coupled"
    boundary = Boundary(*inputs[0].tolist())
    start = start_state(b, stiff if coupled else stiff._replace(multiplier=0.0), boundary, case.i_r)
    complete = replace(s, N_E=N_E, N_B=N_B, taper=taper, step=s.plot_step / steps)
    attributes = {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "unit": parameters.name,
        **asdict(complete),
        "M_O": inputs[0, 6] if inputs[0, 5] == 0 else np.nan,
        "signals": case.model_dump_json(),
        "parameters": json.dumps({"belt": b._asdict(), "sheaves": stiff._asdict()}),
    }
    return _Prepared(
        complete,
        STEPPED[s.scheme],
        hybrid.model(b, stiff, unilateral=s.contact == "unilateral", coupled=coupled),
        hybrid.state(*start[:7], n_k=len(stiff.A) - 1),
        inputs,
        frames,
        steps,
        attributes,
    )


def _whole(ratio: float, source: str, key: str, value: float, allowed: str) -> int:
    n = round(min(ratio, _MAX_STEPS))
    if n < 1 or abs(ratio - n) > 1e-6 * n:
        raise InputError(source, key, value, allowed)
    return n


def _block(steps: int) -> int:
    """Frames of `steps` steps that are written together."""
    return max(1, min(_BLOCK, _BLOCK_STEPS // steps))


def _resumable(path: Path, run: _Prepared) -> int:
    """Number of frames that can be taken over from a file, whose state after them becomes that of the run."""
    with open_run(path) as file:
        for key, value in run.attributes.items():
            if key != "duration" and file.attrs[key] != value and not (value != value and np.isnan(file.attrs[key])):
                shown = key if key in ("signals", "parameters") else f"{file.attrs[key]}"
                raise InputError(path, key, value if shown != key else None, f"that of the run to be resumed, {shown}")
        done = frames_in(file)
        if file["status"][()] == FAILED:
            raise InputError(path, "status", "failed", "a run whose belt has not left its place")
        if done > run.frames:
            raise InputError(
                path, "duration", run.settings.duration, f"at least what is there, {file['time'][done - 1]} s"
            )
        slot = int(file["checkpoint/frames"][()].argmax())
        for name, value in run.state._asdict().items():
            if f"checkpoint/{name}" not in file or file[f"checkpoint/{name}"].shape[1:] != value.shape:
                raise InputError(path, f"checkpoint/{name}", None, "a run begun by this release; begin it anew")
            if done > 0:
                value[...] = file[f"checkpoint/{name}"][slot]
        return done


def _create(path: Path, begun: Path | None, done: int, run: _Prepared, text: str) -> None:
    """Write the file's head, and the first `done` frames of an earlier one with the state behind them."""
    chunk = _block(run.steps)
    with h5py.File(path, "w", libver=_VERSION) as file:
        file.attrs.update(run.attributes)
        file.attrs.update(
            rtcvt_version=__version__, revision=revision(), created=datetime.now(UTC).isoformat(timespec="seconds")
        )
        for name, s in _series(run.model).items():
            data = file.create_dataset(
                name, (0, *s.shape), s.dtype, maxshape=(None, *s.shape), chunks=(chunk, *s.shape)
            )
            _describe(data, s.unit, s.description, s.columns)
        cells = np.arange(4 * CELLS)
        still: dict[str, tuple[Any, str, str, tuple[str, ...]]] = {
            "unit_file": (text, "1", "text of the unit file", ()),
            "status": (np.int8(RUNNING), "1", "; ".join(f"{k} {v}" for k, v in _STATUS.items()), ()),
            "grid/section": (cells // CELLS, "1", "of a cell", SECTIONS),
            "grid/fraction": (
                (cells % CELLS + 0.5) / CELLS,
                "1",
                "of the section that lies behind the cell's middle",
                (),
            ),
            "checkpoint/frames": (np.zeros(2, dtype=np.int64), "1", "frames before the states of the two slots", ()),
        }
        for name, a in run.state._asdict().items():
            still[f"checkpoint/{name}"] = (np.zeros((2, *a.shape)), "SI", f"{name} of hybrid.State", ())
        for name, (value, unit, description, columns) in still.items():
            file[name] = value
            _describe(file[name], unit, description, columns)
        if begun is not None:
            with open_run(begun) as old:
                made = str(old.attrs["revision"])
                file.attrs["revision"] = made if made.endswith(revision()) else f"{made}, {revision()}"
                file.attrs["created"] = old.attrs["created"]
                for name in _series(run.model):
                    file[name].resize(done, axis=0)
                    for k in range(0, done, chunk):
                        rows = slice(k, min(k + chunk, done))
                        file[name][rows] = old[name][rows]
            _checkpoint(file, run.state, done, RUNNING if done < run.frames else COMPLETE)


def _describe(data: h5py.Dataset, unit: str, description: str, columns: tuple[str, ...]) -> None:
    data.attrs["units"] = unit
    data.attrs["description"] = description
    if columns:
        data.attrs["columns"] = list(columns)


def _series(m: Model) -> dict[str, Series]:
    """All datasets that have a row per frame."""
    template = hybrid.frames(m, 1)
    found = {
        "time": Series((), "f8", "s", "time"),
        "elements/sigma": Series((m.belt.N_E,), "f8", "1", "place of the elements on the taut path, 0 to 4"),
        "grid/length": Series((4,), "f8", "m", "of the sections", SECTIONS),
        "grid/radius": Series((2,), "f8", "m", "of the neutral fibre, mean over the arc", _PULLEYS),
    }
    for name, s in DATASETS.items():
        shape = getattr(template, s.field)[(_EACH, *s.part)].shape[1:]
        found[name] = Series(shape, s.dtype, s.unit, s.description, s.columns)
    for name, (unit, description) in FIELDS.items():
        found[f"fields/{name}"] = Series((4 * CELLS,), "f4", unit, description)
    return found


def _append(data: Mapping[str, Any], run: _Prepared, done: int, x: Frames) -> None:
    """Write the frames `x` behind the first `done` ones."""
    n = len(x.q)
    seen = snapshots(run.model, x, run.dt)
    rows: dict[str, Any] = {
        "time": np.arange(done + 1, done + n + 1) * run.settings.plot_step,
        "elements/sigma": seen.sigma,
        "grid/length": seen.length,
        "grid/radius": seen.radius,
    }
    rows |= {name: getattr(x, s.field)[(_EACH, *s.part)] for name, s in DATASETS.items()}
    rows |= {f"fields/{name}": values for name, values in seen.fields.items()}
    for name, values in rows.items():
        data[name].resize(done + n, axis=0)
        data[name][done:] = values


def _checkpoint(data: Mapping[str, Any], state: State, done: int, status: int) -> None:
    """Write the state behind the first `done` frames, flush it and them, and only then write that it is there."""
    counts = data["checkpoint/frames"]
    slot = int(counts[()].argmin())
    for name, value in state._asdict().items():
        data[f"checkpoint/{name}"][slot] = value
    counts.file.flush()
    counts[slot] = done
    data["status"][()] = status


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into the answer True; a second one interrupts at once."""
    seen: list[int] = []

    def note(number: int, frame: Any) -> None:
        del frame
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)
