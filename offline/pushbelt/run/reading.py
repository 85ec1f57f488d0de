"""Reading of runs: a file, or the journal of one that has not ended; its figures, histories of its elements."""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files.hdf5 import open_sealed, refused
from rtcvt.offline.pushbelt.bearings import bearing_figures
from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.run.marks import FILE, is_journal
from rtcvt.offline.pushbelt.run.progress import Progress, joined
from rtcvt.offline.pushbelt.run.runfile import KIND, SCHEMA, Journal, recording_of
from rtcvt.offline.pushbelt.run.schedule import LEFT, Run, from_json
from rtcvt.offline.pushbelt.run.snapshots import push_force, revolutions
from rtcvt.offline.pushbelt.run.windows import STEADY, frames_of, summary
from rtcvt.recording import Recording, Signal

Array = NDArray[np.float64]
HISTORY = ("flank normal", "flank longitudinal", "flank radial", "push", "ring normal", "ring friction")


class History(NamedTuple):
    """One element over one revolution: time (m,) [s], place sigma in [0, 4] (m,), forces (m, 6) [N] by `HISTORY`."""

    time: Array
    sigma: Array
    forces: Array


def partial_path(path: Path) -> Path:
    """Name of the journal of a run that has not ended."""
    return path.with_name(f"{path.name}.partial")


@contextmanager
def open_run(path: Path) -> Iterator[h5py.File]:
    """Open the file of a run, or the journal of an unfinished one.

    Raises
    ------
    InputError
        Damaged, or not a run of a schema version that this release knows.
    """
    if is_journal(path):
        with refused(path, f"an unfinished {KIND}"), _grown(path) as file:
            yield file
        return
    with open_sealed(path, FILE, KIND, SCHEMA) as file:
        yield file


def _grown(path: Path) -> h5py.File:
    """Contents of a journal as a file in memory; -1: a phase that has not ended."""
    with Journal(path, write=False) as journal:
        about = journal.head()["attributes"]
        run, there = from_json(about["run"]), Progress()
        for record in journal.blocks():
            there.take(record)
        file = h5py.File(io.BytesIO(), "w")
        ended = there.all_ended(run)
        joined(file, journal, run, ended + [-1] * (1 + len(run.branches) - len(ended)), about["F_I"])
        return file


class Tables(Mapping[str, Signal]):
    """Fields, elements and ring of a run by the names of their datasets with dots, read when they are asked for."""

    def __init__(self, path: Path, file: h5py.File) -> None:
        self._path = path
        frames = len(file["time"])
        self._names = {
            f"{group}.{name}": f"{group}/{name}"
            for group in ("fields", "elements", "ring", "spatial")
            for name, data in file.get(group, {}).items()
            if data.ndim > 1 and len(data) == frames
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> Signal:
        place = self._names[name]
        with open_run(self._path) as file:
            data = file[place]
            return Signal(data[()].astype(float), str(data.attrs["units"]), str(data.attrs["description"]))


def recording(path: Path) -> Recording:
    """Signals over time in a run's file, also of a growing one."""
    with open_run(path) as file:
        return replace(recording_of(file), tables=Tables(path, file))


def run_of(file: h5py.File) -> Run:
    """The definition of the run."""
    return from_json(str(file.attrs["run"]))


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
    N_E = file["elements/sigma"].shape[1]
    if not 0 <= element < N_E:
        raise InputError(file.filename, "element", element, f"0 to {N_E - 1}")
    sigma = file["elements/sigma"][:, element]
    whole = revolutions(sigma)
    if not -len(whole) <= revolution < len(whole):
        raise InputError(
            file.filename, "revolution", revolution, f"one of the {len(whole)} whole ones of element {element}"
        )
    rows = whole[revolution]
    return History(file["time"][rows], sigma[rows], element_forces(file, element, rows))


def element_forces(file: h5py.File, element: int, rows: slice = slice(None)) -> Array:
    """The six forces on one element by `HISTORY`, (m, 6) [N], over frames."""
    flank, saddle = file["elements/flank"][rows, element], file["elements/saddle"][rows, element]
    push = push_force(file["elements/joint"][rows, element])
    return np.column_stack([flank, push, saddle[:, 0] - saddle[:, 1], saddle[:, 2]])


def figures(file: h5py.File) -> dict[str, Any]:
    """Figures of a run: its definition, means over its window `steady`, and its energy balance.

    The keys have their units. The residual of the balance is inputs less losses and stored energies, relative to the
    losses and to the power through the shafts.
    """
    run, a, n = run_of(file), file.attrs, len(file["time"])
    scaled, ended = json.loads(a["parameters"])["belt"], set(file["ended"][()].tolist())
    dt = float(a["plot_step"])
    found: dict[str, Any] = {"unit": str(a["unit"]), **asdict(run.start), "duration": run.duration}
    found |= asdict(run.settings) | {k: scaled[k] for k in ("N_E", "N_B")}
    found |= {"step": float(a["step"]), "plot_step": dt, "M_O": float(a["M_O"]), "frames": n, "time_s": n * dt}
    found["status"] = "unfinished" if -1 in ended else "failed" if LEFT in ended else "complete"
    last, means = frames_of(file, STEADY), {k: float(v[STEADY]) for k, v in summary(file).items()}
    if not np.isfinite(means["duration"]):
        return found

    def mean(name: str) -> Any:
        return file[name][last].mean(axis=0)

    rest, losses, throughput = ledger.residual(file["energy/work"][()], file["energy/stored"][()])
    if "spatial/margin" in file:
        margin, z = file["spatial/margin"][last].min(axis=(0, 1)), file["spatial/place"][last].mean(axis=0)
        found |= {"misalignment_m": float(z[0] - z[1]), "ring_to_pillar_m": margin[0], "ring_to_sheave_m": margin[1]}
        found["fixed_sheave_N"] = mean("spatial/fixed_force").tolist()
        found["exit_force_N"] = mean("spatial/exit_force").tolist()
    return found | {
        "mean_over_s": means["duration"],
        "ratio": means["ratio"],
        "torque_ratio": means["xi"],
        "kappa": means["kappa"],
        "slip": means["slip"],
        "belt_speed_m_s": means["v"],
        "thrust_ratio": means["thrust_ratio"],
        "clamping_force_N": [means["F_I"], means["F_O"]],
        "speed_rad_s": [means["omega_I"], means["omega_O"]],
        "shaft_torque_Nm": mean("pulleys/shaft_torque").tolist(),
        "speed_ratio": means["omega_I"] / means["omega_O"],
        "radius_m": [means["r_I"], means["r_O"]],
        "tension_N": [float(mean("fields/tension").min()), float(mean("fields/tension").max())],
        "push_N": float(mean("fields/push").max()),
        **bearing_figures(file, last),
        "residual_of_losses": rest / losses,
        "residual_of_throughput": rest / throughput,
    }
