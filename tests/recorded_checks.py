"""Errors that the checks of shipped units had when they were recorded, and whether new ones are worse.

    PYTHONPATH=examples:tests python -m tests.recorded_checks [NAME ...]

runs the checks, all or those whose name contains a NAME, and writes ``tests/data/checks.json``: by unit the value of
each figure. `rtcvt check` prints the same figures; those of the KERS event are those of
``examples/kers_event.py``. Belt drives are checked against the runs of their full models in
``tests/data/belt/full_runs.h5``;

    PYTHONPATH=examples:tests python -m tests.recorded_checks full FOLDER [NAME ...]

makes these runs (minutes), of all drives or of those named, which stay in FOLDER and are taken from there, and writes
that file.

    rtcvt check UNIT --json FIGURES
    PYTHONPATH=examples:tests python -m tests.recorded_checks verdicts FIGURES

writes the verdicts on chapter 7 of the full pushbelt's source, of pushbelt_24mm or one of its sets,

    rtcvt check accessory_6pk -o FOLDER/check.html
    PYTHONPATH=examples:tests python -m tests.recorded_checks drive accessory_6pk FOLDER/check_runs

errors of a drive on its load cases, whose full runs are not kept, and

    pytest benchmarks/test_step_cost.py benchmarks/test_variator.py --benchmark-only --benchmark-json FIGURES
    PYTHONPATH=examples:tests python -m tests.recorded_checks steps FIGURES...

the median time of a step, of several runs the least: the clock of a shared machine changes.

    PYTHONPATH=examples:tests python -m tests.recorded_checks systems [NAME ...]

writes order, energy and cost of the steps of shipped cars. The tables of the pages are made from this record
(`docs/tables.py`).
"""

import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from discs import interpreted
from instances import started
from kers_event import Event, pushbelt, run_event, toroidal

from rtcvt.kind import Unit, load_unit
from rtcvt.model import Instance
from rtcvt.model.balance import balance
from rtcvt.offline.belt.results import Result, result
from rtcvt.offline.belt.verification import Comparison, compare, load_cases
from rtcvt.offline.pog.check import Check as GearCheck
from rtcvt.offline.pog.check import check_unit, with_traction
from rtcvt.offline.variator.cases import cases_of
from rtcvt.offline.variator.check import Check
from rtcvt.offline.variator.check_task import checks, tables_of
from rtcvt.offline.variator.check_task import recorded as on_record
from rtcvt.offline.variator.heldout import HeldOut, read_heldout
from rtcvt.recording import revision
from rtcvt.scenario import sample_inputs
from rtcvt.simulate import simulate
from rtcvt.unitfile import shipped_units
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.reduced.model import ReducedModel

DATA = Path(__file__).parent / "data"
FILE, FULL = DATA / "checks.json", DATA / "belt" / "full_runs.h5"
ALLOWED = 1.1  # of the recorded value
VARIATOR = {"pushbelt_cvt": "spatial", "pushbelt_cvt planar": "hybrid"}  # checks: belt that ran
EVENTS = tuple(f"{unit} {model}" for unit in ("pushbelt_kers", "toroidal_flywheel") for model in ("hybrid", "rigid"))
BELTS = ("accessory_5pk", "two_pulley_belt")
CAR = "kinetic energy of the car at 100 km/h"

Figures = dict[str, float]


def recorded(name: str) -> Figures:
    """The figures of a check as they were."""
    return json.loads(FILE.read_text(encoding="utf-8"))["checks"][name]


def verdict_key(section: str, about: str, quantity: str) -> str:
    """Name of a signature of chapter 7."""
    return f"{section}: {about}, {quantity}"


def recorded_verdicts() -> dict[str, dict[str, dict[str, Any]]]:
    """The verdicts on chapter 7 as they were of each unit: verdict, firm, value and u by `verdict_key`; no cost of a
    step."""
    return json.loads(FILE.read_text(encoding="utf-8"))["verdicts"]


def write_verdicts(figures: Path) -> None:
    """Write those that a check has found."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    found = json.loads(figures.read_text(encoding="utf-8"))
    data["verdicts"][found["unit"]] = {
        verdict_key(s["section"], s["about"], s["quantity"]): {k: s[k] for k in ("verdict", "firm", "value", "u")}
        for s in found["signatures"]
        if s["kind"] != "cost"
    }
    FILE.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_drive(name: str, folder: Path) -> None:
    """Write the errors of a drive whose full runs are in a check's folder."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    cases = load_cases(load_unit(name))
    data["checks"][name] = of_belt(compare_belt([result(case, folder) for case in cases]))
    FILE.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_steps(figures: Iterable[Path]) -> None:
    """Write the least median times of a step of 1 ms [us] by unit, model and, with fields, cells on a section."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    steps: dict[str, float] = {}
    for b in chain.from_iterable(json.loads(f.read_text(encoding="utf-8"))["benchmarks"] for f in figures):
        test, p = b["name"].split("[")[0], b["params"] or {}
        unit = {"test_step": "pushbelt_cvt", "test_step_of_the_kers": "pushbelt_kers"}.get(test, p.get("unit"))
        if unit is not None and not p.get("control"):
            cells = f" {p['cells']}" if p.get("cells") else ""
            key = f"{unit} {p['fidelity']}{cells}"
            steps[key] = min(1e6 * b["stats"]["median"], steps.get(key, np.inf))
    data["step_us"] = steps
    FILE.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def worse(found: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """The errors that have grown by more than a tenth of themselves, that are no numbers, or are gone."""
    return [f"{name}: {found.get(name, np.nan):.4g}, recorded {value:.4g}" for name, value in before.items()
            if not found.get(name, np.nan) <= ALLOWED * value]  # fmt: skip


def moved(found: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Figures of the event that have changed.

    Errors of the torque count as in `worse`; what an efficiency leaves may change by a twentieth of itself, an energy
    by a hundredth of the car's, actuation, creep and margin by a tenth of themselves, in either direction.
    """
    changed = worse(found, {name: value for name, value in before.items() if name.startswith("torque error")})
    for name, value in before.items():
        allowed = 0.01 * before[CAR]
        if "efficiency" in name or "share" in name:
            allowed = 0.05 * (1.0 - value)
        elif name.startswith(("actuation", "creep", "margin")):
            allowed = 0.1 * abs(value)
        if not name.startswith("torque error") and not abs(found.get(name, np.nan) - value) <= allowed:
            changed.append(f"{name}: {found.get(name, np.nan):.6g}, recorded {value:.6g}, may change by {allowed:.2g}")
    return changed


SMALL = (  # held-out runs of the spatial belt for mutants: some of every part of the plan
    "launch-003", "launch-013", "cruise-002", "cruise-009", "overdrive-004", "overrun-003", "overrun-008", "limit-004",
    "sweep-001", "sweep-003",
)  # fmt: skip


def heldout_runs(belt: str = "spatial") -> HeldOut:
    """The held-out runs of a belt that are shipped."""
    return read_heldout(tables_of(reduced_path(load_unit("pushbelt_cvt")))[belt])


def spatial_runs() -> HeldOut:
    """Those of `SMALL`."""
    runs = heldout_runs()
    return replace(runs, runs=tuple(held for held in runs.runs if held.run.name in SMALL))


def check_variator(*runs: HeldOut, reduced: ReducedModel | None = None, unit: Any = None) -> list[Check]:
    """The check of `pushbelt_cvt` on `runs` by belt, the spatial one first, planar ones with the errors of other seeds
    that are shipped; with another reduced model than the shipped one, or of another unit, if given."""
    unit = unit or load_unit("pushbelt_cvt")
    reduced = reduced or read_reduced(reduced_path(unit))
    by_belt = {r.runs[0].run.settings.model: r for r in runs}
    return checks(unit, by_belt, reduced, on_record(unit, reduced), lambda *_: None)


def said(check: Check) -> dict[str, Figures]:
    """What the hybrid model says at each run: settled values, and of sweeps the ratio's growth and the RMS torque."""
    found = {
        s.held.run.name: {k: s.values["hybrid"][k] for k in ("thrust_ratio", "slip", "loss")} for s in check.settled
    }
    for b in check.branched:
        own = b.traces["hybrid"]
        growth, torque = np.log(own["ratio"][-1] / own["ratio"][0]), np.sqrt(np.mean(own["tau_I"] ** 2))
        found[b.held.run.name] |= {"growth": float(growth), "torque": float(torque)}
    return found


def otherwise(found: Mapping[str, Figures], before: Mapping[str, Figures]) -> list[str]:
    """What is no longer said: ratios of forces by 1 %, slip by 0.02 points and 2 %, others by 3 %."""
    allowed = {"thrust_ratio": 0.01, "slip": 0.02}
    return [
        f"{run}, {key}: {found[run][key]:.5g}, recorded {value:.5g}"
        for run, values in before.items()
        for key, value in values.items()
        if not abs(found[run][key] - value) <= allowed.get(key, 0.03) * abs(value) + 2e-4 * (key == "slip")
    ]


def of_variator(check: Check) -> Figures:
    """Every figure of the two models."""
    return {
        f"{f.name}, {f.statistic}, {model}": float(value) for f in check.figures for model, value in f.value.items()
    }


def limits_of_variator(check: Check) -> dict[str, tuple[float, int, int]]:
    """Limits of the hybrid model, and how many runs of how many keep them by themselves."""
    return {f"{f.name}, {f.statistic}": (f.limit, *f.within) for f in check.figures if f.limit is not None}


def of_event(event: Event) -> Figures:
    """Every figure."""
    return event.figures()


def of_gears(check: GearCheck) -> Figures:
    """Every signal of every scenario."""
    return {f"{s.scenario.name}: {e.name}": e.nrms for s in check.scenarios for e in s.errors}


def of_traction(check: GearCheck) -> Figures:
    """Every error of the hybrid model's table and runs."""
    return {f"{e.scenario}: {e.name}": e.nrms for e in check.hybrid}


def full_runs(name: str) -> list[Result]:
    """Results of a drive's full model over its load cases, as the file has them: single precision, no fields."""
    found = []
    with h5py.File(FULL) as file:
        for case in load_cases(load_unit(name)):
            group = file[name][case.name]
            series = {key: group[key][()].astype(float) for key in group if key != "time"}
            found.append(Result(case, group["time"][()], series, {}, 0.0))
    return found


def write_full_runs(folder: Path, names: Iterable[str] = BELTS) -> None:
    """Make and write the runs of some drives: of each series what a comparison needs."""
    runs = {name: [result(case, folder) for case in load_cases(load_unit(name))] for name in names}
    with h5py.File(FULL, "a") as file:
        file.attrs["command"], file.attrs["revision"] = "python -m tests.recorded_checks full FOLDER", revision()
        for name, found in runs.items():
            if name in file:
                del file[name]
            pulleys = list(load_unit(name).pulleys)
            spans = [f"{a}_{b}.F" for a, b in zip(pulleys, pulleys[1:] + pulleys[:1], strict=True)]
            for full in found:
                group = file.create_group(f"{name}/{full.case.name}")
                group["time"] = full.time
                for key in (*spans, *(f"{pulley}.{q}" for pulley in pulleys for q in "wM")):
                    group.create_dataset(key, data=full.series[key], dtype="f4", compression="gzip", shuffle=True)


def compare_belt(runs: Iterable[Result]) -> list[Comparison]:
    """The real-time model compared with full runs."""
    return [compare(full.case, full, full.case.name) for full in runs]


def of_belt(comparisons: Iterable[Comparison]) -> Figures:
    """Every signal of every load case, as it is held against its limit."""
    return {f"{c.title}: {e.name}": e.smooth for c in comparisons for e in c.errors}


def without_signals(unit: Unit, at: Instance) -> Instance:
    """The machines of a system alone, from the state of an instance of it on, all their signals held."""
    flanges = tuple(c for c in unit.connect if "->" not in c)
    joined = {end.strip().partition(".")[0] for c in flanges for end in c.split(" - ")}
    signals = [[end.strip() for end in c.split("->")] for c in unit.connect if "->" in c]
    components = {}
    for name in joined:
        held = {end.partition(".")[2]: at.get(start) for start, end in signals if end.partition(".")[0] == name}
        own = unit.components[name]
        components[name] = own.model_copy(update={"inputs": {**own.inputs, **held}})
    model = unit.model_copy(update={"connect": flanges, "components": components}).build()
    kept = (v.name for v in model.select("input") + model.select("parameter") if v.name in at.model.by_name)
    one = started(model, **{name.replace(".", "__"): at.get(name) for name in kept})
    places = {s.name: s.index for s in at.model.states}
    one.x[:] = [at.x[places[s.name]] for s in model.states]
    return one


def orders_of_system(unit: Unit, at: Instance, duration: float = 0.02) -> tuple[float, float]:
    """Orders in which its machines' internal steps, whole, halved and in quarters, approach each other: of states,
    torques at flanges."""
    found, whole = [], 1e-3 / max(c.substeps or 1 for c in unit.components.values())
    with interpreted():
        for step in (whole, whole / 2, whole / 4):
            one = without_signals(unit, at)
            for _ in range(round(duration / step)):
                one.step(step)
            found.append(one.x / [s.nominal or 1.0 for s in one.model.states])
    torques = np.isin(np.arange(len(one.x)), one.model.algebraic)
    coarse, fine = (a - b for a, b in pairwise(found))
    states, flanges = (np.log2(np.linalg.norm(coarse[k]) / np.linalg.norm(fine[k])) for k in (~torques, torques))
    return float(states), float(flanges)


def of_system(name: str) -> Figures:
    """Orders of the step, share of energy that is not accounted for over the first scenario, if the car has a tank or a
    battery, cost of 1 ms [us]."""
    unit = load_unit(name)
    model, scenario = unit.build(), unit.scenario[0]
    one = started(model)
    cost = np.inf
    for _ in range(14):
        began = time.process_time()
        for _ in range(1000):
            one.step(1e-3)
        cost = min(cost, (time.process_time() - began) * 1e3)
    energy = balance(simulate(model, scenario))
    one.u[:] = sample_inputs(model, scenario, np.array([scenario.duration]))[0]
    for _ in range(100 if scenario.inputs else 0):  # as a car moves off: later the differences are round-off
        one.step(1e-3)
    states, torques = orders_of_system(unit, one)
    return {"states": states, "torques": torques, "cost": cost} | ({"residual": energy.residual} if energy else {})


def write_systems(chosen: Iterable[str]) -> None:
    """Write the figures of shipped cars, all or those whose names contain one of `chosen`."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    for name in shipped_units("system"):
        if not name.startswith("vehicle_") and (not chosen or any(part in name for part in chosen)):
            data["systems"][name] = of_system(name)
    FILE.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


@cache
def _of_belt(name: str) -> Check:
    return check_variator(heldout_runs(VARIATOR[name]))[0]


def run(name: str) -> Figures:
    """The figures of a check as they are."""
    if name in VARIATOR:
        return of_variator(_of_belt(name))
    if name in EVENTS:
        machine, fidelity, *_ = name.split()
        return of_event(run_event(name, {"pushbelt_kers": pushbelt, "toroidal_flywheel": toroidal}[machine](fidelity)))
    if name == "toroidal_kers traction":
        return of_traction(with_traction(check_unit(load_unit("toroidal_kers")), lambda *_: None))
    if name in BELTS:
        return of_belt(compare_belt(full_runs(name)))
    return of_gears(check_unit(load_unit(name)))


def main(chosen: Iterable[str]) -> None:
    """Write the figures of the checks whose names contain one of `chosen`, of all without."""
    data = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"checks": {}, "limits": {}}
    for name in (*sorted(shipped_units("gear_system")), *VARIATOR, *EVENTS, "toroidal_kers traction", *BELTS):
        if not chosen or any(part in name for part in chosen):
            data["checks"][name] = run(name)
            if name.startswith("pushbelt_cvt"):
                data["limits"][name] = limits_of_variator(_of_belt(name))
            if name == "pushbelt_cvt":
                data["said"] = said(*check_variator(spatial_runs()))
                data["cases"] = cases_of(
                    load_unit("pushbelt_cvt"), read_reduced(reduced_path(load_unit("pushbelt_cvt")))
                )
            print(name)
    data |= {"command": "python -m tests.recorded_checks", "revision": revision()}
    FILE.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["full"]:
        write_full_runs(Path(sys.argv[2]), sys.argv[3:] or BELTS)
    elif sys.argv[1:2] == ["verdicts"]:
        write_verdicts(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["drive"]:
        write_drive(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == ["steps"]:
        write_steps(map(Path, sys.argv[2:]))
    elif sys.argv[1:2] == ["systems"]:
        write_systems(sys.argv[2:])
    else:
        main(sys.argv[1:])
