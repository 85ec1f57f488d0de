"""Held-out runs of the full model as one small table, for the check of the reduced models.

The table has for each run

- the means of `SUMMARY` over its windows,
- of each branch the boundary values and the results, over time, `COLUMNS`; its first row is the settled state: its
  boundary values and the means over the window `steady`,
- the mean of the fields `KEPT` over passages: the windows, and in a branch of several revolutions `PASSAGES` single
  revolutions spread over it, each with the operating point there.

A drive, a run of a case of the unit file with changing inputs, has no branches: the run itself is stored as one, with
`DRIVE_PASSAGES`.

Fields are stored as float32 of which the last 12 bits of 23 are rounded off (2.4e-4 of the value), which packs them to
half the size. Everything else is stored as float32, too; the rounding is far below the scatter of the full model.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.environment import now
from rtcvt.errors import InputError
from rtcvt.files.hdf5 import Schema, open_sealed
from rtcvt.offline.pushbelt.run.reading import open_run, run_of
from rtcvt.offline.pushbelt.run.schedule import Case, Run, as_json
from rtcvt.offline.pushbelt.run.snapshots import FIELDS
from rtcvt.offline.pushbelt.run.windows import BEFORE, STEADY, SUMMARY, along, belt_of, frames_of, measure, summary
from rtcvt.recording import new_hdf5, revision

Array = NDArray[np.float64]

SCHEMA_VERSION = 2
KIND = "held-out runs of a variator"
SEAL = b"rtcvt heldout 2 "
KEPT = ("flank_normal",)  # quantities of the check
PASSAGES = 8  # revolutions of a long branch whose fields are kept
DRIVE_PASSAGES = 32  # of a drive
MIN_TRANSIENT = 3.0  # revolutions: from here on a branch is a transient
_KEPT_BITS = 11  # of the fraction of a field's float32

COLUMNS: dict[str, tuple[str, str]] = {  # unit and description
    "time": ("s", "since the end stop was removed"),
    "F_I": ("N", "clamping force of the primary, given"),
    "F_O": ("N", "clamping force of the secondary, given"),
    "omega_I": ("rad/s", "speed of the primary, given"),
    "tau_O": ("N.m", "load torque of the secondary, given"),
    "tau_I": ("N.m", "torque on the primary shaft from outside, driving +"),
    "omega_O": ("rad/s", "speed of the secondary"),
    "ratio": ("1", "i, of the radii at the rocking edges"),
    "xi": ("1", "torque ratio, of the belt's torque on the secondary and F_O"),
    "kappa": ("1", "m* v^2/F_O, v over a quarter of a revolution"),
    "r_I": ("m", "radius of the neutral fibre, primary"),
}
POINT = {"ratio": "1", "xi": "1", "kappa": "1", "F_O": "N", "F_I": "N"}  # operating point of a passage


class Passage(NamedTuple):
    """Means over a window or a revolution of a branch: its phase and times [s], operating point, fields (cells,)."""

    phase: int  # 0 settling, then the branches
    start: float  # since the phase began; of the settling, from its end backwards
    stop: float
    point: dict[str, float]
    fields: dict[str, Array]


@dataclass(frozen=True)
class Series:
    """A branch over time: name of each of `COLUMNS` -> (n,)."""

    columns: dict[str, Array]
    ended: int

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]


@dataclass(frozen=True)
class HeldRun:
    """One run.

    revolution [s]; summary: name -> (2 + branches,), rows `BEFORE`, `STEADY`, branches; passages: `BEFORE`, `STEADY`,
    then those of the branches.
    """

    run: Run
    slipping: bool
    revolution: float
    summary: Mapping[str, Array]
    branches: tuple[Series, ...]
    passages: tuple[Passage, ...]

    @property
    def drive(self) -> bool:
        """Whether it is a run of a case whose inputs change."""
        return isinstance(self.run.start, Case) and bool(self.branches)

    @property
    def transient(self) -> bool:
        """Whether a branch lasts several revolutions."""
        return any(b.duration >= MIN_TRANSIENT for b in self.run.branches)


@dataclass(frozen=True)
class HeldOut:
    """All runs, and where they are from."""

    unit: str
    runs: tuple[HeldRun, ...]
    plan: str
    unit_file: str
    parameters: Mapping[str, Any]  # belt and sheaves of the full model
    attributes: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Name and seed of the plan."""
        plan = tomllib.loads(self.plan)
        return f"{plan['name']} {plan.get('seed', 0)}" if "name" in plan else ""


_LONGER = re.compile(r"^settle_at_most\b.*\n", re.MULTILINE)  # changes only runs that had not settled


def condense(files: Iterable[Path]) -> dict[str, HeldOut]:
    """The tables of the runs in `files` by belt, "spatial" or "hybrid".

    Raises
    ------
    InputError
        Not runs of one unit, of a belt not those of one plan, or none.
    """
    runs: dict[str, list[HeldRun]] = {}
    plans: dict[str, str] = {}
    about: dict[str, Any] = {}
    for path in sorted(files):
        with open_run(path) as file:
            found: dict[str, Any] = {
                "unit": str(file.attrs["unit"]),
                "unit_file": _text(file["unit_file"]),
                "parameters": {k: v for k, v in json.loads(file.attrs["parameters"]).items() if k != "load"},
            }
            if about and any(about[k] != v for k, v in found.items()):
                raise InputError(path, "unit", found["unit"], f"runs of one unit, {about['unit']}, with one unit file")
            about = about or found | {"revisions": set()}
            about["revisions"].add(str(file.attrs["revision"]))
            held, plan = _condensed(file), _text(file["plan"])
            belt = held.run.settings.model
            if _LONGER.sub("", plans.setdefault(belt, plan)) != _LONGER.sub("", plan):
                raise InputError(path, "plan", None, "for each belt runs of one plan")
            plans[belt] = max(plans[belt], plan, key=len)
            runs.setdefault(belt, []).append(held)
    if not runs:
        raise InputError("held-out runs", "", None, "at least one file of a run")
    attributes = {"revision": ", ".join(sorted(about["revisions"]))}
    of = about["unit_file"], about["parameters"], attributes
    return {belt: HeldOut(about["unit"], tuple(held), plans[belt], *of) for belt, held in runs.items()}


def _text(data: h5py.Dataset) -> str:
    value = data[()]
    return value.decode() if isinstance(value, bytes) else str(value)


def _condensed(file: h5py.File) -> HeldRun:
    run, means = run_of(file), summary(file)
    phase, time = file["phase"][()], file["time"][()]
    steady = frames_of(file, STEADY)
    passages, branches = [], []
    drive = isinstance(run.start, Case) and bool(np.ptp(file["inputs"][:, 3:5], axis=0).any())
    for window in () if drive else (BEFORE, STEADY):
        rows = frames_of(file, window)
        point = {k: float(means[k][window]) for k in POINT}
        end = time[steady.stop - 1]
        fields = {k: file[f"mean/{k}"][window].astype(float) for k in KEPT}
        passages.append(Passage(0, float(time[rows.start] - end), float(time[rows.stop - 1] - end), point, fields))
    for k, branch in enumerate(run.branches):
        frames = np.flatnonzero(phase == 1 + k)
        branches.append(_series(file, frames, steady, float(means["F_I"][STEADY]), int(file["ended"][1 + k])))
        if len(frames) < run.frames // 2:
            continue
        if branch.duration < MIN_TRANSIENT:
            parts = [frames_of(file, 2 + k)]
        else:
            first, last = frames[0] + run.frames, frames[-1] + 1
            stops = np.linspace(min(first + run.frames // 2, last), last, PASSAGES).astype(int)
            parts = [slice(int(max(stop - run.frames, frames[0])), int(stop)) for stop in stops]
        for rows in parts:
            if rows.stop - rows.start > 4:
                passages.append(_passage(file, 1 + k, rows, frames[0]))
    if drive:
        values = _columns(file, slice(0, len(time)))
        branches.append(Series({k: a.astype(float) for k, a in values.items()}, int(file["ended"][0])))
        count = file["crossings"][()] / belt_of(file)["N_E"]  # revolutions
        turns = np.unique(np.linspace(1.0, np.floor(count[-1]), DRIVE_PASSAGES).astype(int))
        ends = np.searchsorted(count, np.stack([turns - 1, turns], axis=1))
        passages += [_passage(file, 1, slice(int(a), int(z)), 0) for a, z in ends]
    return HeldRun(
        run=run, slipping=bool(file.attrs["slipping"]), revolution=float(file.attrs["revolution"]), summary=means,
        branches=tuple(branches), passages=tuple(passages),
    )  # fmt: skip


def _columns(file: h5py.File, rows: slice) -> dict[str, Array]:
    """`COLUMNS` at frames, with the time of the file."""
    given = file["inputs"][rows]
    return {
        "time": file["time"][rows], "F_I": given[:, 1], "F_O": given[:, 3], "omega_I": given[:, 4],
        "tau_O": given[:, 6], "tau_I": file["pulleys/shaft_torque"][rows, 0],
        "omega_O": file["sheaves/speed"][rows, 1], "r_I": file["grid/radius"][rows, 0], **along(file, rows),
    }  # fmt: skip


def _series(file: h5py.File, frames: Any, settled: slice, F_I: float, ended: int) -> Series:
    rows = slice(int(frames[0]), int(frames[-1]) + 1) if len(frames) else slice(0, 0)
    values, held = _columns(file, rows), _columns(file, settled)
    values["time"] = values["time"] - held["time"][-1]
    start = {k: float(a.mean()) for k, a in held.items()} | {"time": 0.0, "F_I": F_I}
    return Series({k: np.concatenate([[start[k]], values[k]]).astype(float) for k in COLUMNS}, ended)


def _passage(file: h5py.File, phase: int, rows: slice, begin: int) -> Passage:
    means, step = measure(file, rows), float(file.attrs["plot_step"])
    fields = {k: file[f"fields/{k}"][rows].mean(axis=0, dtype=np.float64) for k in KEPT}
    point = {k: means[k] for k in POINT}
    return Passage(phase, (rows.start - begin) * step, (rows.stop - begin) * step, point, fields)


def _rounded(values: Array) -> NDArray[np.float32]:
    """Values as float32 whose fraction ends after `_KEPT_BITS` bits, to nearest."""
    drop = 23 - _KEPT_BITS
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << (drop - 1))) & ~np.uint32((1 << drop) - 1)).view(np.float32)


def write_heldout(table: HeldOut, path: Path) -> None:
    """Write the table as one HDF5 file.

    Raises
    ------
    InputError
        The file cannot be written; no partial file remains.
    """
    with new_hdf5(path, SEAL) as file:
        file.attrs.update(table.attributes)
        file.attrs.update(
            schema_version=SCHEMA_VERSION, kind=KIND, rtcvt_version=__version__, written_by=revision(),
            created=now().isoformat(timespec="seconds"), unit=table.unit, parameters=json.dumps(table.parameters),
        )  # fmt: skip

        def write(name: str, values: Any, unit: str, description: str) -> None:
            packed = {"compression": "gzip", "compression_opts": 9, "shuffle": True} if np.size(values) > 500 else {}
            data = file.create_dataset(name, data=values, **packed)
            data.attrs["units"] = unit
            data.attrs["description"] = description

        write("plan", table.plan, "1", "text of the plan")
        write("unit_file", table.unit_file, "1", "text of the unit file")
        for k, r in enumerate(table.runs):
            file.create_group(f"runs/{k:04d}").attrs["run"] = as_json(r.run)
        write("slipping", [r.slipping for r in table.runs], "1", "runs that slip macroscopically")
        write("revolution", [r.revolution for r in table.runs], "s", "time of a revolution at the start")
        rows = np.concatenate([np.column_stack([r.summary[k] for k in SUMMARY]) for r in table.runs])
        write("summary", rows.astype(np.float64), "SI", "means over the windows: before, steady, branches of each run")
        file["summary"].attrs["columns"] = list(SUMMARY)
        series = [(k, j, s) for k, r in enumerate(table.runs) for j, s in enumerate(r.branches)]
        length = [(k, j, len(s["time"]), s.ended) for k, j, s in series]
        write("series/of", length, "1", "run, branch, number of rows, how it ended")
        for name, (unit, about) in COLUMNS.items():
            values = np.concatenate([np.empty(0), *(s[name] for *_, s in series)])  # runs may have no branches
            write(f"series/{name}", values.astype(np.float32), unit, about)
        passages = [(k, p) for k, r in enumerate(table.runs) for p in r.passages]
        write("passages/of", [(k, p.phase) for k, p in passages], "1", "run and phase")
        write("passages/time", [(p.start, p.stop) for _, p in passages], "s", "start and end in the phase")
        for name, unit in POINT.items():
            write(f"passages/point/{name}", [p.point[name] for _, p in passages], unit, SUMMARY[name][1])
        for name in KEPT:
            unit, about = FIELDS[name]
            values = _rounded(np.stack([p.fields[name] for _, p in passages]))
            write(f"passages/fields/{name}", values, unit, f"{about}; mean over the passage")


def read_heldout(path: Path) -> HeldOut:
    """Read a table back.

    Raises
    ------
    InputError
        Damaged, not such a table, or of a schema version that this release does not know.
    """
    with open_sealed(path, SEAL, KIND, Schema(KIND, SCHEMA_VERSION, "rtcvt check UNIT --fresh")) as file:
        return _read(file)


def _read(file: h5py.File) -> HeldOut:
    runs = [run_of(file["runs"][name]) for name in sorted(file["runs"])]
    columns = summary(file)
    series = {name: file[f"series/{name}"][()].astype(float) for name in COLUMNS}
    fields = {name: file[f"passages/fields/{name}"][()].astype(float) for name in KEPT}
    points = {name: file[f"passages/point/{name}"][()] for name in POINT}
    branches: list[list[Series]] = [[] for _ in runs]
    at = 0
    for k, _, n, ended in file["series/of"][()]:
        branches[k].append(Series({name: a[at : at + n] for name, a in series.items()}, int(ended)))
        at += n
    passages: list[list[Passage]] = [[] for _ in runs]
    for row, ((k, phase), (start, stop)) in enumerate(
        zip(file["passages/of"][()], file["passages/time"][()], strict=True)
    ):
        point = {name: float(a[row]) for name, a in points.items()}
        passages[k].append(Passage(int(phase), start, stop, point, {name: a[row] for name, a in fields.items()}))
    found, at = [], 0
    for k, run in enumerate(runs):
        rows = slice(at, at + 2 + len(run.branches))
        at = rows.stop
        means = {name: a[rows] for name, a in columns.items()}
        slips, revolution = bool(file["slipping"][k]), float(file["revolution"][k])
        found.append(HeldRun(run, slips, revolution, means, tuple(branches[k]), tuple(passages[k])))
    attributes = {k: file.attrs[k] for k in ("revision", "created", "rtcvt_version")}
    return HeldOut(
        str(file.attrs["unit"]), tuple(found), file["plan"].asstr()[()], file["unit_file"].asstr()[()],
        json.loads(file.attrs["parameters"]), attributes,
    )  # fmt: skip
