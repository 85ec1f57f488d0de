"""Alignment of runs of a campaign: operating points, laws and belt fields of all runs in the same dimensionless terms.

Windows. Means are over a window of a run (`windows`): the settled state, each branch after its lead, and of a long
branch, a transient, each single revolution.

Operating point. i, xi, kappa and f of the same window (`windows`), and the thrust ratio F_I/F_O, which decides whether
and how fast the ratio shifts.

Fields. The four sections of the belt have `CELLS` cells each in every run (`snapshots`), for any lengths: arcs and
spans keep their places when the ratio differs. Values are made dimensionless by their scale:

    N/m   force per length    times length of the section, over F_O: its mean over the section is the force over F_O
    N     force               over F_O
    m     offset              over the elongation of the ring under F_O, l_R F_O/EA
    m/s   slip                over v

Powers are over F_O v.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact.ledger import ELASTIC
from rtcvt.offline.pushbelt.run.reading import open_run, run_of
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, LIMIT
from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS
from rtcvt.offline.pushbelt.run.windows import BEFORE, SLIPPING, STEADY, frames_of, measure, point_of
from rtcvt.offline.pushbelt.unit.parameters import Belt

Array = NDArray[np.float64]

MAX_SPEED_LOSS = 0.12  # of windows for the laws, above SLIPPING so that they do not extrapolate below it
MAX_BRANCH = 3.0  # revolutions; a longer branch is cut into single ones

VALUES = {
    "thrust": "thrust ratio F_I/F_O", "x": "shift rate (dr_I/dt)/(omega_I r_I)",
    "slip": "speed loss 1 - i omega_O/omega_I",
    "vibration": "root mean square of the secondary's speed about its trend, over its mean",
    "loss": "all losses over F_O v", "sliding": "loss of longitudinal sliding on the flanks over F_O v",
    "transmitted": "power given off at the secondary shaft over F_O v",
    "received": "power into the primary shaft over F_O v", "loop": "length of the taut path [m]",
    "elastic": "energy stored in joints, ring and flanks over F_O [m]", "radius": "r_I/r'_I",
    "xi_I": "torque ratio of the primary, by F_I", "turns": "revolutions of the belt in the window",
}  # fmt: skip


class Samples(NamedTuple):
    """n windows of all runs.

    run, phase (n,): number of the run, and 0 settled, 1 + k branch k; point (n, 4): i, xi, kappa, f; values: (n,) by
    `VALUES`; length (n, 4): of the sections [m]; fields: (n, 4 CELLS) by `FIELDS`, dimensionless; names of the runs;
    unsettled: of those left out because they did not settle; before: the window before the settled one, a row for each
    run, values and fields; slipping (n,): windows that slip as a whole; belt: the scaled belt; texts: unit_file, plan,
    revision.
    """

    run: NDArray[np.int64]
    phase: NDArray[np.int64]
    point: Array
    values: dict[str, Array]
    length: Array
    fields: dict[str, Array]
    names: tuple[str, ...]
    unsettled: tuple[str, ...]
    before: tuple[dict[str, Array], dict[str, Array]]
    slipping: NDArray[np.bool_]
    belt: dict[str, float]
    texts: dict[str, str]

    def of(self, rows: Any) -> "Samples":
        """Some of the windows; data of runs stay."""
        return self._replace(
            run=self.run[rows], phase=self.phase[rows], point=self.point[rows],
            values={k: a[rows] for k, a in self.values.items()}, length=self.length[rows],
            fields={k: a[rows] for k, a in self.fields.items()}, slipping=self.slipping[rows],
        )  # fmt: skip


def load_samples(
    files: Iterable[Path], progress: Callable[[str, int, int], None] | None = None, slip: float = SLIPPING
) -> Samples:
    """All windows of the runs in `files`.

    Parameters
    ----------
    files : iterable of Path
        Files of runs, in any order.
    progress : callable, optional
        Called with a name, runs done and runs in all.
    slip : float
        Speed loss from which a window counts as slipping; `MAX_SPEED_LOSS` for windows that laws are made from.

    Raises
    ------
    InputError
        No file, not files of runs, or runs of different belts.
    """
    paths = sorted(files)
    if not paths:
        raise InputError("campaign", "", None, "at least one file of a run")
    rows: list[_Window] = []
    before: list[_Window] = []
    names: list[str] = []
    unsettled: list[str] = []
    about: dict[str, Any] = {}
    latest = ""
    for done, path in enumerate(paths):
        if progress is not None:
            progress("reading runs", done, len(paths))
        with open_run(path) as file:
            parameters = json.loads(file.attrs["parameters"])
            found = {k: _text(file[k]) for k in ("unit_file", "plan")}
            belt = _belt_of(parameters)
            about = about or {"belt": belt, "revisions": set(), **found}
            if belt != about["belt"]:
                raise InputError(path, "parameters", None, f"the belt of {paths[0].name}")
            about["revisions"].add(str(file.attrs["revision"]))
            if str(file.attrs["created"]) >= latest:  # of a campaign that was extended
                latest, about["plan"] = str(file.attrs["created"]), found["plan"]
            name, n = run_of(file).name, len(names)
            if file["ended"][0] != COMPLETE:
                unsettled.append(name)
                continue
            names.append(name)
            opened = _Opened(file)
            before.append(_window(opened, frames_of(opened, BEFORE), belt, n, 0, BEFORE))
            rows.append(_window(opened, frames_of(opened, STEADY), belt, n, 0, STEADY))
            rows += _branches(opened, belt, n)
    if not names:
        raise InputError(paths[0].parent, "", None, "at least one run that settles")
    slipped = np.abs([w.values["slip"] for w in rows]) > slip

    def series(windows: Sequence[_Window]) -> tuple[dict[str, Array], dict[str, Array]]:
        return ({k: np.array([w.values[k] for w in windows]) for k in VALUES},
                {k: np.array([w.fields[k] for w in windows]) for k in FIELDS})  # fmt: skip

    run, phase, point, length = (np.array([getattr(w, k) for w in rows]) for k in ("run", "phase", "point", "length"))
    values, fields = series(rows)
    told = {"unit_file": about["unit_file"], "plan": about["plan"], "revision": ", ".join(sorted(about["revisions"]))}
    return Samples(run, phase, point, values, length, fields, tuple(names), tuple(unsettled), series(before), slipped,
                   about["belt"], told)  # fmt: skip


def dimensionless(unit: str, values: Array, length: Array, F_O: float, v: float, belt: Mapping[str, float]) -> Array:
    """Values of a field (..., 4 CELLS) of this `unit`; `length` (..., 4) of the sections [m]."""
    if unit == "N/m":
        return np.asarray(values * np.repeat(length, CELLS, axis=-1) / F_O)
    scale = {"N": F_O, "m": belt["l_R"] * F_O / belt["EA"], "m/s": v}
    return np.asarray(values / scale[unit])


class _Window(NamedTuple):
    run: int
    phase: int
    point: tuple[float, ...]
    values: dict[str, float]
    length: Array
    fields: dict[str, Array]


class _Opened(dict[str, h5py.Dataset]):
    """Attributes and datasets of a file, each looked up once: that took a third of the time of reading."""

    def __init__(self, file: h5py.File) -> None:
        self._file = file
        self.attrs = dict(file.attrs)

    def __missing__(self, name: str) -> h5py.Dataset:
        self[name] = self._file[name]
        return self[name]


def _branches(file: Any, belt: Mapping[str, float], n: int) -> list[_Window]:
    """Windows of the branches, if long enough; none of a branch whose belt ran away."""
    run = run_of(file)
    phase = file["phase"][()]
    found = []
    for k, branch in enumerate(run.branches):
        if file["ended"][1 + k] not in (COMPLETE, LIMIT):
            continue
        frames = np.flatnonzero(phase == 1 + k)
        if branch.duration < MAX_BRANCH:
            part = frames_of(file, 2 + k)
            if part.stop - part.start >= run.frames // 4:
                whole = file["ended"][1 + k] == COMPLETE
                found.append(_window(file, part, belt, n, 1 + k, 2 + k if whole else None))
            continue
        lead = round(branch.lead * run.frames)
        for first in range(lead, len(frames) - run.frames + 1, run.frames):
            part = slice(int(frames[0]) + first, int(frames[0]) + first + run.frames)
            found.append(_window(file, part, belt, n, 1 + k, None))
    return found


def _window(file: Any, rows: slice, belt: Mapping[str, float], run: int, phase: int, mean: int | None) -> _Window:
    """A window over the frames `rows`; `mean`: its number in the file, if the file has means of its fields."""
    s, length = measure(file, rows), file["grid/length"][rows].mean(axis=0)
    time: Array = np.arange(rows.stop - rows.start) * float(file.attrs["plot_step"])
    speed = file["sheaves/speed"][rows, 1]
    trend = np.polyval(np.polyfit(time, speed, 1), time)
    F_O, v, unit = s["F_O"], s["v"], s["F_O"] * s["v"]
    values = {
        "thrust": s["thrust_ratio"], "x": s["x"], "slip": s["slip"],
        "vibration": float(np.std(speed - trend)) / max(abs(s["omega_O"]), 1e-9), "loss": s["loss"] / unit,
        "sliding": s["loss_flank_longitudinal"] / unit, "transmitted": s["M_O"] * s["omega_O"] / unit,
        "received": -s["M_I"] * s["omega_I"] / unit, "loop": float(length.sum()),
        "elastic": float(file["energy/stored"][rows].mean(axis=0)[ELASTIC].sum()) / F_O,
        "radius": s["r_I"] / (s["r_I"] - belt["h_off"]), "xi_I": s["xi_I"],
        "turns": s["duration"] * v / (belt["N_E"] * belt["t_R"]),
    }  # fmt: skip
    fields = {}
    for name, (of, _) in FIELDS.items():
        if mean is not None:
            a = file[f"mean/{name}"][mean].astype(float)
        else:
            a = file[f"fields/{name}"][rows].mean(axis=0, dtype=np.float64)
        fields[name] = dimensionless(of, a, length, F_O, v, belt)
    return _Window(run, phase, point_of(s), values, length, fields)


def _belt_of(parameters: Mapping[str, Any]) -> dict[str, float]:
    """Numbers of a run's belt and of its friction laws, which older files have among those of the belt, 0: no law."""
    belt = parameters["belt"]
    numbers = {k: v for k, v in belt.items() if k in Belt._fields}
    for switch, speed in (("rise", "v_S"), ("mu_L", "v_muL")):
        if belt.get(switch):
            numbers |= {switch: belt[switch], speed: belt[speed]}
    return numbers | {f"{law}.{k}": v for law in ("friction", "layers") for k, v in parameters.get(law, {}).items()}


def _text(data: h5py.Dataset) -> str:
    value = data[()]
    return value.decode() if isinstance(value, bytes) else str(value)
