"""Full-model runs of belt drives, stored in files: one entry to the ANCF belt and to the belt of rigid elements.

A unit with a table [ancf] runs as `drive`, one with [elements] as `rigid_elements`. Runs advance in pieces of 0.1 s;
the file is written at the end, one minute after the last time, and when an interrupt (Ctrl-C) ends the run. A run that
continues from its file gives the same bits as an uninterrupted one.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rtcvt.belt.unit import AncfModel, BeltUnit
from rtcvt.errors import InputError
from rtcvt.files import goes_on_with
from rtcvt.offline.belt import drive, rigid_elements
from rtcvt.offline.belt.audit import strayed, unaccounted
from rtcvt.recording import Signal
from rtcvt.scenario import Scenario
from rtcvt.simulate import number_of_steps
from rtcvt.unitfile import parse_table

SAMPLE = 1e-3  # [s]
PIECE_DURATION = 0.1  # [s]
WRITE_INTERVAL = 60.0  # of wall-clock time between two writings of the file [s]

CONTACT = {  # estimates: normal and shear stiffness by area [N/m3]
    "ribbed": (5e9, 5e9),  # Kubas 2017: c_2 of an element of 5PK belt, 6.5e5 N/m, on 8 mm by 17.8 mm
    "flat": (4e9, 5e9),  # Ntarladima, Pieber and Gerstmayr 2023: data files
}

AnyRun = drive.Run | rigid_elements.Run


@dataclass(frozen=True)
class Outcome:
    """A run and its cost; `wall` [s] is for the `computed` [s] of machine time of this call."""

    unit: BeltUnit
    scenario: Scenario
    run: AnyRun
    computed: float
    wall: float


def full_model(unit: BeltUnit) -> Literal["ancf", "elements"]:
    """Which full model a unit runs.

    Raises
    ------
    InputError
        It has the table of neither.
    """
    if unit.ancf is not None:
        return "ancf"
    if unit.elements is not None:
        return "elements"
    raise InputError(unit.source, "ancf", None, "a table [ancf] or [elements] with contact and mesh of a full model")


def estimated(unit: BeltUnit) -> tuple[BeltUnit, str]:
    """The unit, and if it has no full model's table the table [ancf] that it gets: text for its file, else nothing.

    Contact stiffness is that of `CONTACT`, friction that of [hybrid]. Damping of the belt on its ribs is a quarter of
    the critical one across and critical along; elements are a fifth of the smallest pulley's radius long.

    Raises
    ------
    InputError
        The belt has no width.
    """
    if unit.ancf is not None or unit.elements is not None or unit.hybrid is None:
        return unit, ""
    if "width" not in unit.belt.model_fields_set:
        allowed = "the belt's width, by which contact constants are estimated; or a table [ancf] or [elements]"
        raise InputError(unit.source, "belt.width", None, allowed)
    belt, path = unit.belt, unit.path()
    k_c, mu_k = CONTACT[belt.type]
    by_area = belt.mass / belt.width
    elements = int(np.clip(np.ceil(path.length / (0.2 * path.radius.min())), 60, 1000))
    values: dict[str, Any] = {
        "k_c": k_c, "d_c": 0.5 * float(np.sqrt(k_c * by_area)), "mu": unit.hybrid.mu, "mu_k": mu_k,
        "mu_v": 2.0 * float(np.sqrt(mu_k * by_area)), "elements": elements,
    }  # fmt: skip
    units = {"k_c": "N/m3", "d_c": "N.s/m3", "mu_k": "N/m3", "mu_v": "N.s/m3"}
    lines = [f'{k} = "{v:.3g} {units[k]}"' if k in units else f"{k} = {v:g}" for k, v in values.items()]
    return unit.model_copy(update={"ancf": AncfModel(**values)}), "\n".join(["[ancf]   # estimated", *lines])


def changed(unit: BeltUnit, **values: Any) -> BeltUnit:
    """The unit with other values in the table of its full model, validated; None leaves a value as it is.

    Raises
    ------
    InputError
        A value that is not allowed.
    """
    key = full_model(unit)
    table = getattr(unit, key)
    given = {k: v for k, v in values.items() if v is not None}
    for k in given:
        if k not in type(table).model_fields:
            raise InputError(unit.source, f"{key}.{k}", given[k], f"not with the model of table [{key}]")
    parsed = parse_table(type(table), table.model_dump() | given, f"{unit.source}: {key}")
    return unit.model_copy(update={key: parsed})


def simulate_full(
    unit: BeltUnit,
    scenario: Scenario,
    path: Path,
    *,
    resume: bool = False,
    progress: Callable[[float, float], None] = lambda t, end: None,
) -> Outcome:
    """Run the full model of a unit over a scenario and store the run in a file.

    A duration that is no multiple of `SAMPLE` is extended to the next multiple.

    Parameters
    ----------
    path : Path
        HDF5 file; after an interrupt it has the run until then.
    resume : bool
        Continue the run in `path`, if there is one; also to a longer duration.
    progress : callable
        Called with the time reached and the end [s].

    Raises
    ------
    InputError
        The unit has no full model, the scenario does not fit it, or `path` is another file.
    ArithmeticError
        No equilibrium at the start, or no step that is small enough.
    """
    begun = saved = time.perf_counter()
    samples = number_of_steps(max(scenario.duration, SAMPLE), SAMPLE, f"scenario '{scenario.name}'")
    scenario = scenario.model_copy(update={"duration": samples * SAMPLE})
    built = drive.build(unit) if full_model(unit) == "ancf" else None
    run: AnyRun | None = None
    if resume and goes_on_with(path).exists():
        held = drive.read_run(path, built, scenario) if built else rigid_elements.read_run(path, unit, scenario)
        run = held
    first = 0.0 if run is None else float(run.time[-1])

    def report(t: float, _: float = 0.0) -> None:
        progress(t, scenario.duration)

    while run is None or run.time[-1] < scenario.duration - 0.5 * SAMPLE:
        done = 0.0 if run is None else float(run.time[-1])
        end = min(PIECE_DURATION * (np.floor(done / PIECE_DURATION + 1e-6) + 1.0), scenario.duration)
        if end > scenario.duration - 2.0 * SAMPLE:
            end = scenario.duration
        piece = scenario.model_copy(update={"duration": end})
        if built is not None:
            assert run is None or isinstance(run, drive.Run)
            run = drive.simulate(built, piece, sample=SAMPLE, start=run, report=report)
        else:
            assert run is None or isinstance(run, rigid_elements.Run)
            run = rigid_elements.simulate(unit, piece, SAMPLE, start=run, progress=report)
        stopped = not run.complete
        run = replace(run, complete=bool(run.time[-1] >= scenario.duration - 0.5 * SAMPLE))
        if stopped or run.complete or time.perf_counter() > saved + WRITE_INTERVAL:
            _write(path, run, unit, scenario)
            saved = time.perf_counter()
        if stopped:
            break
    return Outcome(unit, scenario, run, float(run.time[-1]) - first, time.perf_counter() - begun)


def _write(path: Path, run: AnyRun, unit: BeltUnit, scenario: Scenario) -> None:
    if isinstance(run, drive.Run):
        drive.record(run, path, scenario)
    else:
        rigid_elements.write_run(path, run, unit, scenario)


def signals(run: AnyRun, unit: BeltUnit) -> dict[str, Signal]:
    """All results over time: ``NAME.w``, ``.M`` (torque of the belt), ``A_B.F`` (tension of a span), and fields."""
    return drive.signals(run) if isinstance(run, drive.Run) else rigid_elements.signals(run, unit)


def figures(outcome: Outcome) -> dict[str, Any]:
    """The run in numbers, ready for JSON: see the help of ``rtcvt simulate`` for the keys.

    Means are over the last fifth of the run.
    """
    run, unit = outcome.run, outcome.unit
    found = signals(run, unit)
    late = run.time >= 0.8 * run.time[-1]

    def mean(key: str, names: Iterable[str]) -> dict[str, float]:
        return {name: float(found[f"{name}.{key}"].values[late].mean()) for name in names}

    values: dict[str, Any] = {
        "unit": unit.name, "model": full_model(unit), "scenario": outcome.scenario.name,
        "status": "complete" if run.complete else "partial", "time_s": float(run.time[-1]),
        "frames": int(run.time.size), "speed_rad_s": mean("w", unit.pulleys),
        "belt_torque_Nm": mean("M", unit.pulleys), "tension_N": mean("F", unit.spans),
    }  # fmt: skip
    if isinstance(run, drive.Run):
        rest, put_in = float(unaccounted(run.energy)[-1]), float(found["energy.input"].values[-1])
        values |= {"elements": run.q.shape[1], "steps": run.counts["steps"]}
        values |= {"unaccounted_J": rest, "input_J": put_in, "strayed": strayed(run.energy)}
        values |= {"unsettled": run.counts["not switched out"], "in_parts": run.counts["in parts"]}
        values |= {"warnings": drive.warnings(run)}
    else:
        work, *lost = (float(x) for x in run.state[-1, -len(rigid_elements.ENERGIES) :])
        stored = np.sum([found[f"energy.{k}"].values for k in rigid_elements.STORED], axis=0)
        rest = float(stored[-1] - stored[0]) - work + sum(lost)
        values |= {"elements": run.drive.n, "steps": run.accepted}
        values |= {"unaccounted_J": rest, "input_J": work, "rejected": run.rejected}
    return values | {"computed_s": outcome.computed, "wall_s": outcome.wall}
