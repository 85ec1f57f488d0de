"""Stored results of a full-model run for studies and checks: series over time, fields of the belt at some instants.

A result is a small HDF5 file, named after all its dependencies: unit, scenario, stored quantities, and the sources of
the model. While it is made, the whole run is in the same folder (see `runs`), so that an interrupted study continues
there.

Fields are over the arc length s of the taut belt, to which points of the belt are projected.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from rtcvt.belt.geometry import BeltPath
from rtcvt.belt.unit import BeltUnit
from rtcvt.offline.belt import audit, drive, rigid_elements
from rtcvt.offline.belt.ancf import axial_force, shape
from rtcvt.offline.belt.runs import AnyRun, full_model, simulate_full
from rtcvt.recording import Recording, Signal, read_recording, write_recording
from rtcvt.scenario import Scenario

Array = NDArray[np.float64]
Progress = Callable[[str, int, int], None]

SHARED = ("compiled", "friction", "ring_solver", "run_input", "shafts")  # sources of the two models
SOURCES = {
    "ancf": ("ancf", "audit", "drive", "motion", "sheave", "tensioner"),
    "elements": ("element_forces", "rigid_elements", "rosenbrock"),
}


@dataclass(frozen=True)
class Case:
    """A run of a full model and its stored results.

    Attributes
    ----------
    name : str
        Title, and the beginning of the file's name.
    unit, scenario : BeltUnit, Scenario
    instants : tuple of float
        Times [s] at which fields are stored.
    trace : (str, float), optional
        Pulley and time [s]: the element (of rigid elements) that comes to this pulley about this time is followed.
    """

    name: str
    unit: BeltUnit
    scenario: Scenario
    instants: tuple[float, ...] = ()
    trace: tuple[str, float] | None = None

    @property
    def key(self) -> str:
        """Digest of the result's dependencies, eight digits."""
        model = full_model(self.unit)
        unit = self.unit.model_dump(mode="json", exclude={"scenario", "description", "hybrid", "step"})
        scenario = self.scenario.model_dump(mode="json", exclude={"description"})
        hybrid = self.unit.hybrid
        friction = hybrid.model_dump(mode="json", include={"mu_back", "sliding"}) if hybrid else {}
        given = json.dumps([unit, scenario, self.instants, self.trace, friction])
        found = hashlib.sha256(given.encode())
        for name in (*SHARED, *SOURCES[model]):
            found.update(Path(__file__).with_name(f"{name}.py").read_bytes())
        return found.hexdigest()[:8]


@dataclass(frozen=True)
class Result:
    """Stored results.

    Attributes
    ----------
    time : (m,) array
        [s]
    series : dict
        ``NAME.w`` [rad/s], ``NAME.M`` [N m], ``A_B.F`` [N]; of the ANCF belt ``NAME.tau`` [N m], ``A_B.v`` [m/s] and
        ``energy.*`` [J] of `audit.columns`; of
        rigid elements ``NAME.peak`` [N], the largest normal force on one of them, ``energy.*`` [J] and, of the followed
        element, ``trace.F`` (joint before it), ``trace.NAME.N`` and ``trace.NAME.T`` [N]. (m,) arrays.
    fields : dict
        ``belt.s`` [m], ``belt.F`` [N]; of the ANCF belt ``belt.v_s``, ``belt.v`` [m/s], ``contact.s``, ``contact.q_t``,
        ``contact.q_n`` [N/m^2]. (instants, points) arrays, each instant in the order of its s.
    cost : float
        Wall-clock time [s].
    """

    case: Case
    time: Array
    series: dict[str, Array]
    fields: dict[str, Array]
    cost: float

    @property
    def strayed(self) -> float | None:
        """Unaccounted energy of an ANCF run relative to the work put in; None if it was not recorded."""
        if not all(key in self.series for key in audit.columns()):
            return None
        return audit.strayed(np.stack([self.series[key] for key in audit.columns()], axis=-1))


def result_file(case: Case, folder: Path) -> Path:
    """The file of a case's result."""
    stem = f"{case.unit.name}-{case.name}-{case.key}".replace(" ", "_").replace("/", "_")
    return folder / f"{stem}.h5"


def result(case: Case, folder: Path, progress: Progress | None = None) -> Result:
    """The result of a case: from `folder`, or computed and stored there.

    Raises
    ------
    KeyboardInterrupt
        Interrupted; the run until then stays in `folder`.
    InputError, ArithmeticError
        See `runs.simulate_full`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = result_file(case, folder)
    whole = file.with_suffix(".run.h5")
    if not file.exists():
        last = round(1e3 * case.scenario.duration)

        def note(t: float, _: float) -> None:
            if progress is not None:
                progress(case.name, round(1e3 * t), last)

        outcome = simulate_full(case.unit, case.scenario, whole, resume=True, progress=note)
        if not outcome.run.complete:
            raise KeyboardInterrupt
        series, fields = condense(case, outcome.run)
        kept = series | {f"field.{name}": s for name, s in fields.items()}
        about = {"case": case.name, "scenario": case.scenario.name, "wall_s": outcome.wall}
        text = case.unit.text
        write_recording(file, Recording(outcome.run.time, kept, about, text), "belt drive, result of a full model")
        whole.unlink()
    held = read_recording(file)
    values = {name: signal.values for name, signal in held.signals.items()}
    of_fields = {name.removeprefix("field."): values.pop(name) for name in list(values) if name.startswith("field.")}
    return Result(case, held.time, values, of_fields, float(held.attributes["wall_s"]))


def condense(case: Case, run: AnyRun) -> tuple[dict[str, Signal], dict[str, Signal]]:
    """Series and fields of a run, see `Result`."""
    at = [int(np.argmin(abs(run.time - t))) for t in case.instants]
    if isinstance(run, drive.Run):
        series = {k: s for k, s in drive.signals(run).items() if s.values.ndim == 1}
        return series, _sorted([_ancf_fields(run, i) for i in at])
    found = rigid_elements.signals(run, case.unit)
    series = {k: s for k, s in found.items() if s.values.ndim == 1}
    N = {name: found[f"contact.{name}.N"].values for name in case.unit.pulleys}
    for name, values in N.items():
        series[f"{name}.peak"] = Signal(values.max(axis=1), "N", "largest normal force on an element")
    if case.trace is not None:
        pulley, when = case.trace
        touch = N[pulley] > 0.0
        comes = ~touch[0] & touch.any(axis=0)
        e = int(np.argmin(np.where(comes, abs(run.time[touch.argmax(axis=0)] - when), np.inf)))
        series["trace.F"] = Signal(found["belt.F"].values[:, e], "N", "joint before the followed element")
        for name in case.unit.pulleys:
            for key, text in (("N", "normal force"), ("T", "friction, anticlockwise about the pulley")):
                series[f"trace.{name}.{key}"] = Signal(found[f"contact.{name}.{key}"].values[:, e], "N", text)
    path = case.unit.path()
    rows = []
    for i in at:
        x, y = found["belt.x"].values[i], found["belt.y"].values[i]
        joint = 0.5 * np.stack([x + np.roll(x, 1), y + np.roll(y, 1)], axis=-1)
        rows.append({"belt": (("s", "m", arc_length(path, joint)), ("F", "N", found["belt.F"].values[i]))})
    return series, _sorted(rows)


def _ancf_fields(run: drive.Run, i: int) -> dict[str, Any]:
    c, path = run.drive.cable, run.drive.path
    start, middle = (axial_force(c, run.q[i], run.v[i], xi) for xi in (0.0, 0.5))
    n_s = run.stress.shape[2]
    S = shape((np.arange(n_s) + 0.5) * c.L / n_s, c.L)[0]
    q = np.concatenate([run.q[i], np.roll(run.q[i], -1, axis=0)], axis=1).reshape(-1, 4, 2)
    middles = np.einsum("ja,eab->ejb", S, q).reshape(-1, 2)
    r = np.concatenate([start[2], middle[2]])
    return {
        "belt": (("s", "m", arc_length(path, r)), ("F", "N", np.concatenate([start[0], middle[0]]))),
        "belt.v_s": (("", "m", arc_length(path, middle[2])), ("", "m/s", middle[1])),
        "contact": (
            ("s", "m", arc_length(path, middles)),
            ("q_t", "N/m2", run.stress[i, ..., 0].ravel().astype(np.float64)),
            ("q_n", "N/m2", run.stress[i, ..., 1].ravel().astype(np.float64)),
        ),
    }


def _sorted(rows: list[dict[str, Any]]) -> dict[str, Signal]:
    """Stack instants, each in the order of its first column."""
    if not rows:
        return {}
    found = {}
    for group in rows[0]:
        names = ("belt.v_s", "belt.v") if group == "belt.v_s" else tuple(f"{group}.{k}" for k, *_ in rows[0][group])
        order = [np.argsort(row[group][0][2]) for row in rows]
        for j, name in enumerate(names):
            values = np.stack([row[group][j][2][o] for row, o in zip(rows, order, strict=True)])
            found[name] = Signal(values, rows[0][group][j][1])
    return found


def arc_length(path: BeltPath, point: Array) -> Array:
    """Arc length (...) [m] of the place on the taut belt that is nearest to each point (..., 2)."""
    s = np.linspace(0.0, path.length, 20001)[:-1]
    return np.asarray(s[cKDTree(path.at(s)[0]).query(point)[1]], dtype=np.float64)
