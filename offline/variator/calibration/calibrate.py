"""Calibration: an ensemble of the prior, steps from its mean, and predictions of the result; all by the full model.

    prior -> runs of all members -> derivatives -> (runs at z -> Gauss-Newton step, halved where it fits worse) ... ->
    the best z as mean of the posterior -> its unit -> runs that were held out, members of the posterior -> figures

A folder contains ``runs.jsonl``, a line for each finished run, ``set.toml``, the unit with the mean of the posterior,
and ``calibration.json`` with the figures, including those of members of the posterior when these have been run. The
members follow from seed and results, so that an interrupted calibration continues with the existing lines.
Members whose belt leaves its place are left out.
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

from rtcvt.errors import AsInputError, InputError
from rtcvt.files import goes_on_with, read_text
from rtcvt.files.toml_edit import edited
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import prepare, stepped
from rtcvt.offline.pushbelt.run.schedule import Point, Run
from rtcvt.offline.pushbelt.run.snapshots import snapshots
from rtcvt.offline.pushbelt.run.windows import edge_ratio
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.offline.variator.calibration.inversion import covariance, directions, jacobian, step
from rtcvt.offline.variator.calibration.plan import CalibrationPlan, Observable, changed
from rtcvt.processes import computed
from rtcvt.recording import require_writable, write_text, written

Array = NDArray[np.float64]
Found = dict[str, float] | None  # results of a run, see `forward`; None: the belt left its place
Forward = Callable[[Parameters, CalibrationPlan, str, Any], Found]
JOURNAL, FIGURES, SET = "runs.jsonl", "calibration.json", "set.toml"
POINT = ("thrust ratio", "slip", "efficiency")  # at operating points
BAND = (5.0, 50.0, 95.0)  # percentiles


def forward(parameters: Parameters, plan: CalibrationPlan, name: str, z: Any) -> Found:
    """Results of a run with the parameters z (d,).

    Thrust ratio F_CI/F_CO, speed ratio omega_I/omega_O, torque M_O [N m], slip 1 - i omega_O/omega_I, efficiency, and
    loss, 1 less the efficiency.
    """
    unit = changed(parameters, plan, z)
    point = next((p for p in plan.point if p.name == name), None)
    if point is None:
        mean = plan.mean
        whole = next(r for r in plan.run if r.name == name).run(plan.settle + mean)
    else:
        mean, xi = plan.point_mean, point.xi * parameters.contacts.friction.mu / unit.contacts.friction.mu
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
    i = edge_ratio(snapshots(made.model, out, ticks.step).radius, made.model.belt._asdict()).mean()
    _, lost, through = hybrid.residual(out)
    found = {"thrust ratio": force[0] / force[1], "speed ratio": speed[0] / speed[1], "torque": abs(torque)}
    found |= {"slip": 1.0 - i * speed[1] / speed[0], "efficiency": 1.0 - lost / through, "loss": lost / through}
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
    """Identify the parameters of a plan, or continue an interrupted calibration.

    Parameters
    ----------
    parameters : Parameters
        The unit.
    plan, plan_text : CalibrationPlan, str
        The plan and the text of its file.
    folder : Path
        Folder of the calibration; created if missing.
    scheduler : str, optional
        Address of a dask scheduler; by default `workers` processes are started here, one for each processor.
    workers : int, optional
        Number of local processes; 0: runs are made in this one.
    progress : callable, optional
        Called with a text, runs done and runs in all.
    model : callable, optional
        Model instead of `forward`.

    Returns
    -------
    dict
        Figures, see the command's help.

    Raises
    ------
    InputError
        The folder has another calibration, or the belt leaves its place at the mean, or in too many members.
    """
    folder.mkdir(parents=True, exist_ok=True)
    require_writable(*(folder / name for name in (JOURNAL, SET, FIGURES)))
    journal = _Journal(folder / JOURNAL, hashlib.sha256(f"{parameters.text}\n{plan_text}".encode()).hexdigest()[:16])
    rng = np.random.default_rng(plan.seed)
    prior: Array = rng.standard_normal((len(plan.parameter), plan.members))
    y = np.array([o.value for o in plan.observable], dtype=float)
    sigma = np.abs(y) * [o.error for o in plan.observable]
    everything = [r.name for r in plan.run if any(r.name in o.runs for o in (*plan.observable, *plan.heldout))]
    everything += [p.name for p in plan.point]
    total = (plan.members + plan.steps) * len(plan.fitted) + len(everything) - len(plan.fitted)
    total += plan.predict * len(everything)

    def evaluate(stage: int, z: Array, names: Iterable[str]) -> list[dict[str, Found]]:
        jobs = [(stage, j, name) for j in range(z.shape[1]) for name in names]
        missing = [job for job in jobs if job not in journal.found]

        def keep(job: tuple[int, int, str], found: Found) -> None:
            journal.add(job, found)
            if progress is not None:
                progress(f"{plan.name}, {'prior' if stage < 0 else 'step'}", len(journal.found), total)

        _run(partial(model, parameters, plan), z, missing, keep, scheduler, workers)
        return [{name: journal.found[stage, j, name] for name in names} for j in range(z.shape[1])]

    found = evaluate(-1, prior, plan.fitted)
    ended = [j for j, runs in enumerate(found) if None not in runs.values()]
    if len(ended) <= len(plan.parameter):
        raise InputError(plan.source, "members", plan.members, f"more: in {len(found) - len(ended)} the belt fails")
    J = jacobian(prior[:, ended], _table(plan.observable, [found[j] for j in ended]))
    z, best, misfit = np.zeros(len(plan.parameter)), (np.inf, 0, np.zeros(len(plan.parameter))), []
    for k in range(plan.steps):
        (runs,) = evaluate(k, z[:, None], plan.fitted)
        here = None if None in runs.values() else _table(plan.observable, [runs])[:, 0]
        if k == 0 and here is None:
            raise InputError(plan.source, "parameter", None, "priors about a mean at which the belt keeps its place")
        off = np.inf if here is None else float(np.sum(((y - here) / sigma) ** 2))
        misfit.append(None if here is None else off)
        if here is not None and (cost := off + float(z @ z)) < best[0]:
            best = (cost, k, z)
            z = step(z, here, J, y, sigma)
        else:
            z = 0.5 * (z + best[2])
    _, k, z = best
    write_text(folder / SET, unit_text(parameters, changed(parameters, plan, z), plan.name))
    C = covariance(J, sigma)
    posterior = z[:, None] + np.linalg.cholesky(C) @ rng.standard_normal((len(z), plan.members))
    posterior = np.column_stack([z, posterior])
    more = [name for name in everything if name not in plan.fitted]
    found = [{name: journal.found[k, 0, name] for name in plan.fitted} | evaluate(plan.steps, z[:, None], more)[0]]

    def write() -> dict[str, Any]:
        figures = _figures(plan, prior, posterior, found, J, sigma) | {"misfit": misfit}
        write_text(folder / FIGURES, json.dumps(figures, indent=1))
        return figures

    figures = write()
    if plan.predict:
        found += evaluate(plan.steps + 1, posterior[:, 1 : 1 + plan.predict], everything)
        figures = write()
    return figures


def unit_text(parameters: Parameters, chosen: Parameters, name: str) -> str:
    """The file of a unit with the numbers of another in place: ``NAME_name``, and which numbers are so."""
    new: dict[tuple[str, str], Any] = {}
    for table in ("element", "ring", "pulleys", "contacts"):
        was, now = (getattr(p, table).model_dump() for p in (parameters, chosen))
        new |= _changed(table, was, now)
    if ("pulleys", "a") in new:
        new["pulleys", "A"] = chosen.pulleys.A
    values = {"name": f'"{parameters.name}_{name}"', "description": f'"Parameter set {name}: {parameters.description}"'}
    values |= {".".join(key): f"{_toml(value)}  # by calibration, {name}; before:" for key, value in new.items()}
    return edited(parameters.text, values, parameters.source)


def _changed(table: str, was: dict[str, Any], now: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Values of a table and of those within it that differ, by table and key."""
    found: dict[tuple[str, str], Any] = {}
    for key, value in now.items():
        if isinstance(value, dict):
            found |= _changed(f"{table}.{key}", was[key], value)
        elif value != was[key]:
            found[table, key] = value
    return found


def _toml(value: Any) -> str:
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, tuple) else f"{value:.6g}"


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
    for job, found, error in computed({job: (model, job[2], z[:, job[1]]) for job in jobs}, scheduler, workers):
        if error is not None:
            raise InputError("calibrate", f"{job[2]}", f"{type(error).__name__}: {error}", "a run that ends")
        keep(job, found)


class _Journal:
    """Results by step, member and run, in a file that grows by lines; its first line names unit and plan."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.found: dict[tuple[int, int, str], Found] = {}
        whole = read_text(goes_on_with(path)).rpartition("\n")[0] if path.exists() else ""
        head, *lines = whole.splitlines() or [json.dumps({"key": key})]
        allowed = lambda e: f"lines that rtcvt calibrate writes ({e})"  # noqa: E731
        with AsInputError((ValueError, KeyError, TypeError), path, "", None, allowed, passing=InputError):
            if json.loads(head)["key"] != key:
                raise InputError(path, "key", None, "a calibration of this unit and plan, or another folder")
            for line in lines:
                step, member, run, values = json.loads(line)
                self.found[step, member, run] = values
        write_text(path, "\n".join([head, *lines]) + "\n")  # without a line that was cut off

    def add(self, job: tuple[int, int, str], values: Found) -> None:
        self.found[job] = values
        with written(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*job, values]) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _table(observables: Iterable[Observable], found: Iterable[Mapping[str, Any]]) -> Array:
    """Observables (m, n) of the members."""
    return np.array([[o.of(runs) for runs in found] for o in observables], dtype=float)


def _band(values: Any) -> list[float]:
    return [float(v) for v in np.percentile(values, BAND)]


def _figures(
    plan: CalibrationPlan, prior: Array, z: Array, found: list[dict[str, Found]], J: Array, sigma: Array
) -> dict[str, Any]:
    """Figures of a calibration; the first of `z` and `found` is the mean of the posterior, the others its members.

    Bands of fitted observables are those of the members by the derivatives about the run of the mean; bands of held-out
    observables those of the members that were run.
    """
    known = directions(J, sigma)
    mean, members = found[0], found[1:]
    spread = J @ (z[:, 1:] - z[:, :1])

    def row(o: Observable) -> dict[str, Any]:
        whole = all(mean[r] is not None for r in o.runs)
        said: dict[str, Any] = {"about": o.about, "printed": o.value if o.sign is None else o.sign}
        return said | {"set": o.of(mean) if whole else None}  # type: ignore[arg-type]

    def heldout(o: Observable) -> dict[str, Any]:
        values = [o.of(runs) for runs in members if all(runs[r] is not None for r in o.runs)]  # type: ignore[arg-type]
        said = row(o) | ({"posterior": _band(values)} if values else {})
        if o.sign is None or said["set"] is None:
            return said
        signs = np.array([said["set"], *values]) > 0.0
        return said | {"right": float(np.mean(signs == (o.sign == "positive")))}

    return {
        "plan": plan.name,
        "members": [prior.shape[1], len(members)],
        "parameters": {
            p.name: {
                "prior": _band(p.value(prior[k])),
                "posterior": _band(p.value(z[k, 1:])),
                "set": float(p.value(z[k, 0])),
                "gained": float(1.0 - covariance(J, sigma)[k, k]),
            }
            for k, p in enumerate(plan.parameter)
        },
        "directions": [
            {"gain": float(g), "parameters": dict(zip([p.name for p in plan.parameter], v.tolist(), strict=True))}
            for g, v in zip(known.gain, known.vectors.T, strict=True)
        ],
        "observables": [
            (said := row(o)) | ({"posterior": _band(said["set"] + d)} if said["set"] is not None else {})
            for o, d in zip(plan.observable, spread, strict=True)
        ],
        "heldout": [heldout(o) for o in plan.heldout],
        "points": {
            p.name: p.model_dump(exclude={"name"}) | {k: _band([v[k] for v in _of(found, p.name)]) for k in POINT}
            for p in plan.point
        },
    }


def _of(found: list[dict[str, Found]], name: str) -> list[dict[str, float]]:
    """Results of a run, without those in which the belt failed."""
    return [values for runs in found if (values := runs[name]) is not None]
