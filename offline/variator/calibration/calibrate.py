"""Calibration: an ensemble of units, the full model of each, Kalman steps, and what the result predicts.

    prior -> runs of all members -> assimilate -> ... -> posterior -> runs, held-out ones too -> figures

A folder holds ``runs.jsonl``, a line for each run that has ended, and ``calibration.json`` with the figures at the end.
The members follow from seed and results, so that a calibration that was stopped goes on with the lines that are there.
A run in which the belt leaves its place counts as failed, and its member is left out of the step.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files import read_text
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import prepare, stepped
from rtcvt.offline.pushbelt.run.schedule import Point, Run
from rtcvt.offline.pushbelt.run.snapshots import snapshots
from rtcvt.offline.pushbelt.run.windows import edge_ratio
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.offline.variator.calibration.inversion import assimilate, directions
from rtcvt.offline.variator.calibration.plan import CalibrationPlan, Observable, changed
from rtcvt.offline.variator.campaign import cluster_of
from rtcvt.recording import replaced_on_success

__all__ = ["FIGURES", "JOURNAL", "calibrate", "forward"]

Array = NDArray[np.float64]
Found = dict[str, float] | None  # results of a run, see `forward`; None: the belt left its place
Forward = Callable[[Parameters, CalibrationPlan, str, Any], Found]
JOURNAL, FIGURES = "runs.jsonl", "calibration.json"
POINT = ("thrust ratio", "slip", "efficiency")  # at operating points
BAND = (5.0, 50.0, 95.0)  # percentiles


def forward(parameters: Parameters, plan: CalibrationPlan, name: str, z: Any) -> Found:
    """Thrust ratio F_CI/F_CO, speed ratio omega_I/omega_O and torque M_O [N m] of a run with the parameters z (d,).

    Of an operating point slip 1 - i omega_O/omega_I and efficiency as well.
    """
    unit = changed(parameters, plan, z)
    point = next((p for p in plan.point if p.name == name), None)
    if point is None:
        mean = plan.mean
        whole = next(r for r in plan.run if r.name == name).run(plan.settle + mean)
    else:
        mean, xi = plan.point_mean, point.xi * parameters.contacts.mu / unit.contacts.mu
        whole = Run(name, Point(point.ratio, point.omega_I, xi, point.F_O), settle=plan.point_settle + mean)
    s = whole.settings
    s = replace(s, scheme=plan.scheme, step=plan.step, N_E=s.N_E or plan.N_E, N_B=s.N_B or plan.N_B)
    run = replace(whole, settings=s, plot_step=None)
    try:
        made = prepare(unit, run)
    except InputError:
        return None
    ticks = made.clock
    go = stepped(s.scheme, made.model.ring, ticks.step)
    n = len(made.inputs) - 1 - ticks.frames(mean)
    for part in (made.inputs[: n + 1], made.inputs[n:]):
        out, done = go(made.model, made.state, part, ticks.steps, ticks.step, s.flank_points)
        if done < len(part) - 1:
            return None
    force, torque = out.pulley[:, :, 1].mean(axis=0), float(out.pulley[:, 1, 2].mean())
    speed = out.sd[:, :, 3].mean(axis=0)
    found = {"thrust ratio": force[0] / force[1], "speed ratio": speed[0] / speed[1], "torque": abs(torque)}
    if point is not None:
        i = edge_ratio(snapshots(made.model, out, ticks.step).radius, made.model.belt._asdict()).mean()
        _, lost, through = hybrid.residual(out)
        found |= {"slip": 1.0 - i * speed[1] / speed[0], "efficiency": 1.0 - lost / through}
    return {k: float(v) for k, v in found.items()} if np.isfinite(list(found.values())).all() else None


def calibrate(
    parameters: Parameters,
    plan: CalibrationPlan,
    plan_text: str,
    folder: Path,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    model: Forward = forward,
) -> dict[str, Any]:
    """Identify the parameters of a plan, from where it was stopped.

    Parameters
    ----------
    parameters : Parameters
        The unit.
    plan, plan_text : CalibrationPlan, str
        The plan and the text of its file.
    folder : Path
        Made if it is not there.
    scheduler : str, optional
        Address of a dask scheduler; by default `workers` processes are started here, one for each processor.
    workers : int, optional
        Number of local processes; 0: runs are made in this one.
    progress : callable, optional
        Called with a text, runs done and runs in all.
    model : callable, optional
        Instead of `forward`.

    Returns
    -------
    dict
        Figures, see the command's help.

    Raises
    ------
    InputError
        The folder holds another calibration, or too few members are left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal = _Journal(folder / JOURNAL, hashlib.sha256(f"{parameters.text}\n{plan_text}".encode()).hexdigest()[:16])
    rng = np.random.default_rng(plan.seed)
    z: Array = rng.standard_normal((len(plan.parameter), plan.members))
    prior = z.copy()
    y = np.array([o.value for o in plan.observable], dtype=float)
    sigma = np.abs(y) * [o.error for o in plan.observable]
    everything = [r.name for r in plan.run if any(r.name in o.runs for o in (*plan.observable, *plan.heldout))]
    everything += [p.name for p in plan.point]
    total = plan.members * plan.steps * len(plan.fitted) + (plan.predict or plan.members) * len(everything)
    first: tuple[Array, Array] | None = None
    last = plan.members

    def evaluate(step: int, names: Iterable[str]) -> list[dict[str, Found]]:
        jobs = [(step, j, name) for j in range(last if step == plan.steps else z.shape[1]) for name in names]
        missing = [job for job in jobs if job not in journal.found]

        def keep(job: tuple[int, int, str], found: Found) -> None:
            journal.add(job, found)
            if progress is not None:
                progress(f"{plan.name}, step {step + 1} of {plan.steps + 1}", len(journal.found), total)

        _run(partial(model, parameters, plan), z, missing, keep, scheduler, workers)
        done = dict.fromkeys(j for _, j, _ in jobs)
        return [{name: journal.found[step, j, name] for name in names} for j in done]

    for step in range(plan.steps):
        found = evaluate(step, plan.fitted)
        good = [j for j, runs in enumerate(found) if None not in runs.values()]
        if len(good) <= len(plan.parameter):
            raise InputError(plan.source, "members", plan.members, f"more: in {z.shape[1] - len(good)} the belt failed")
        G = _table(plan.observable, [found[j] for j in good])
        z = z[:, good]
        first = (z, G) if first is None else first
        z = assimilate(z, G, y, sigma, float(plan.steps), rng)
    last = min(plan.predict or plan.members, z.shape[1])
    found = evaluate(plan.steps, everything)
    assert first is not None
    figures = _figures(plan, prior, z, found, first, sigma)
    with replaced_on_success(folder / FIGURES) as temporary:
        temporary.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return figures


def _run(
    model: Callable[[str, Any], Found],
    z: Array,
    jobs: list[tuple[int, int, str]],
    keep: Callable[[tuple[int, int, str], Found], None],
    scheduler: str | None,
    workers: int | None,
) -> None:
    """Make the runs that are missing."""
    if not jobs:
        return
    if workers == 0:
        for job in jobs:
            keep(job, model(job[2], z[:, job[1]]))
        return
    from distributed import as_completed

    with cluster_of(scheduler, workers) as client:
        futures = {client.submit(model, job[2], z[:, job[1]], pure=False): job for job in jobs}
        for future in as_completed(list(futures)):
            keep(futures[future], future.result())


class _Journal:
    """Results by step, member and run, in a file that grows by lines; its first line names unit and plan."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.found: dict[tuple[int, int, str], Found] = {}
        whole = read_text(path).rpartition("\n")[0] if path.exists() else ""
        head, *lines = whole.splitlines() or [json.dumps({"key": key})]
        try:
            if json.loads(head)["key"] != key:
                raise InputError(path, "key", None, "a calibration of this unit and plan, or another folder")
            for line in lines:
                step, member, run, values = json.loads(line)
                self.found[step, member, run] = values
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(path, "", None, f"lines that rtcvt calibrate writes ({error})") from None
        path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")  # without a line that was cut off

    def add(self, job: tuple[int, int, str], values: Found) -> None:
        self.found[job] = values
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*job, values]) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _table(observables: Iterable[Observable], found: Iterable[Mapping[str, Any]]) -> Array:
    """Observables (m, n) of the members."""
    return np.array([[o.of(runs) for runs in found] for o in observables], dtype=float)


def _band(values: Any) -> list[float]:
    return [float(v) for v in np.percentile(values, BAND)]


def _figures(
    plan: CalibrationPlan,
    prior: Array,
    z: Array,
    found: list[dict[str, Found]],
    first: tuple[Array, Array],
    sigma: Array,
) -> dict[str, Any]:
    known = directions(*first, sigma)

    def row(o: Observable) -> dict[str, Any]:
        values = [o.of(runs) for runs in found if all(runs[r] is not None for r in o.runs)]  # type: ignore[arg-type]
        said = {"about": o.about, "printed": o.value if o.sign is None else o.sign, "posterior": _band(values)}
        if o.sign is not None:
            return said | {"right": float(np.mean((np.array(values) > 0.0) == (o.sign == "positive")))}
        return said

    return {
        "plan": plan.name,
        "members": [prior.shape[1], z.shape[1]],
        "parameters": {
            p.name: {
                "prior": _band(p.value(prior[k])),
                "posterior": _band(p.value(z[k])),
                "gained": float(1.0 - z[k].var(ddof=1)),
            }
            for k, p in enumerate(plan.parameter)
        },
        "directions": [
            {"gain": float(g), "parameters": dict(zip([p.name for p in plan.parameter], v.tolist(), strict=True))}
            for g, v in zip(known.gain, known.vectors.T, strict=True)
        ],
        "observables": [row(o) | {"prior": _band(b)} for o, b in zip(plan.observable, first[1], strict=True)],
        "heldout": [row(o) for o in plan.heldout],
        "points": {
            p.name: p.model_dump(exclude={"name"}) | {key: _band([v[key] for v in _of(found, p.name)]) for key in POINT}
            for p in plan.point
        },
    }


def _of(found: list[dict[str, Found]], name: str) -> list[dict[str, float]]:
    """Results of a run, without those in which the belt failed."""
    return [values for runs in found if (values := runs[name]) is not None]
