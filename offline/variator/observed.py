"""The check of an observer of a variator: it follows recordings of the full model, whose friction may be another one.

Recordings are drives, runs of a case of the full model's unit file, and transients of held-out runs. Measured outputs
and noisy inputs get white noise with the standard deviations of `SENSORS`; measured values are those at the end of each
step. The observer starts at the right ratio and speed, without the load, and with a friction (`start_of`) that is as
wrong as its deviation says: quantiles of the normal distribution, spread evenly over the recordings. The pulleys have
the full model's inertia and neither bearings nor seals nor oil.

Errors are estimate - truth: friction is that of the recording's flanks over that of the laws; slip is 1 - i omega_O/
omega_I; the flank's peak is the largest value of the mean field over a passage, against the mean estimate over it.
Friction is known where its standard deviation is below `KNOWN`. A band of 90 % has +- 1.645 deviations.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.html import page, table, text
from rtcvt.kind import Checked, Progress
from rtcvt.observer.build import Observer, unit_of
from rtcvt.offline.variator.check_task import matching, tables_of
from rtcvt.offline.variator.heldout import HeldRun, condense, read_heldout, write_heldout
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.unit import Variator

Array = NDArray[np.float64]

SENSORS = {  # of inputs: column of a recording and standard deviation of the noise, in each step
    "primary.tau": ("tau_I", 2.0), "clamp.primary.F": ("F_I", 100.0), "clamp.secondary.F": ("F_O", 100.0),
    "measured.primary.w": ("omega_I", 0.1), "measured.secondary.w": ("omega_O", 0.1),
    "measured.ratio.i": ("ratio", 5e-3),
}  # fmt: skip
KNOWN = 0.05  # largest standard deviation of friction that claims to know it
QUANTITIES = {"friction": "belt.friction", "slip": "belt.slip", "ratio": "ratio.i", "flank force": "peak.flank_normal"}
LIMITS = {  # of figures, from and to
    "error of known friction, 90 %": (0.0, 0.05),
    "error of flank force, 95 %": (0.0, 0.1),
    "error of flank force, largest": (0.0, 0.1),
    **{f"{name} in band": (0.85, 0.95) for name in ("friction", "slip", "ratio", "flank force")},
    "step, us": (0.0, 40.0),
}
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
LEAD = 0.3  # [s] that a transient's first values last before it
SKIPPED = 0.35  # [s] of the start that does not count
SHORTEST = 0.1  # [s] of a transient that is followed
BAND = 1.645


class Followed(NamedTuple):
    """A recording that was followed; errors and standard deviations by name of `QUANTITIES`, of forces relative.

    time [s] of friction, slip and ratio; chi2: mean squares of innovations; step: time of a step [s].
    """

    name: str
    belt: str
    friction: float
    time: Array
    errors: dict[str, Array]
    deviations: dict[str, Array]
    chi2: Array
    step: float

    def as_numbers(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {"name": self.name, "belt": self.belt, "true_friction": self.friction}
        found |= {"time_s": float(self.time[-1]), "chi2": float(np.median(self.chi2)), "step_us": 1e6 * self.step}
        for name, e in self.errors.items():
            s = self.deviations[name]
            if len(e):
                found[name] = {
                    "rms": float(np.sqrt(np.mean(e**2))), "median": float(np.median(abs(e))),
                    "largest": float(abs(e).max()), "within": float(np.mean(abs(e) < BAND * s)),
                    "last": float(e[-1]), "last_deviation": float(s[-1]), "least_deviation": float(s.min()),
                }  # fmt: skip
        return found


def follow(unit: Observer, held: HeldRun, friction: float, start: float, J: float, seed: int = 1) -> Followed:
    """Let the observer follow the first branch of a run.

    Parameters
    ----------
    unit, held : Observer, HeldRun
        The observer and the recording.
    friction, start : float
        That of the recording by that of the laws, and the estimate at the start by that.
    J : float
        Moment of inertia of a pulley [kg m2].
    seed : int
        Of the noise.

    Raises
    ------
    InputError
        The observer has not the inputs and outputs of `SENSORS` and `QUANTITIES`.
    """
    series, model, h = held.branches[0], unit.build(), unit.solver.step
    lead = 0.0 if held.drive else LEAD
    n = math.floor((series["time"][-1] + lead) / h)
    time: Array = np.arange(n + 1.0) * h - lead
    rng, u = np.random.default_rng(seed), {}
    for name, (column, noise) in SENSORS.items():
        at = time + h * name.startswith("measured.")  # inputs act from a step's start, its end is measured
        u[name] = np.interp(at, series["time"], series[column]) + noise * rng.standard_normal(n + 1)
    dry = {f"{side}.{name}": 0.0 for side in ("primary", "secondary")
           for name in ("b", "bearing.f_0", "bearing.f_1", "seal.d", "sheave.dip")}  # fmt: skip
    begin = {"belt.friction": friction * start, "ratio.start": series["ratio"][0], "primary.J": J, "secondary.J": J,
             "primary.w_start": series["omega_I"][0]}  # fmt: skip
    scenario = Scenario(name=held.run.name, duration=n * h)
    run = simulate(model, scenario, parameters={k: float(v) for k, v in (dry | begin).items()}, inputs=u)
    rows = time > SKIPPED - lead
    ratio, omega_I, omega_O = (np.interp(time, series["time"], series[k]) for k in ("ratio", "omega_I", "omega_O"))
    true: dict[str, Any] = {"friction": friction, "slip": 1.0 - ratio * omega_O / omega_I, "ratio": ratio}
    errors = {name: (run[f"estimate.{QUANTITIES[name]}"] - value)[rows] for name, value in true.items()}
    deviations = {name: run[f"deviation.{QUANTITIES[name]}"][rows] for name in true}
    peak = QUANTITIES["flank force"]
    found = []
    for p in held.passages:
        there = (time > p.start) & (time <= p.stop) & rows
        if p.phase == 1 and there.any():
            found.append([run[f"{what}.{peak}"][there].mean() for what in ("estimate", "deviation")])
            found[-1] = [value / p.fields["flank_normal"].max() for value in found[-1]]
    of_truth, deviations["flank force"] = np.array(found).reshape(-1, 2).T
    errors["flank force"] = of_truth - 1.0
    chi2, step = run["innovation.chi2"][rows], float(np.median(run.step_cost))
    return Followed(held.run.name, held.run.settings.model, friction, time[rows], errors, deviations, chi2, step)


def start_of(unit: Observer, k: int) -> float:
    """Friction, by the truth, that the observer starts recording `k` with."""
    return 1.0 + float(unit.drift["belt.friction"].deviation) * NormalDist().inv_cdf((k + 1) * GOLDEN % 1.0)


def figures(found: Sequence[Followed]) -> dict[str, float | None]:
    """`LIMITS` by name, over all recordings; a band's share is the mean over recordings. None: friction is unknown."""
    known = abs(np.concatenate([f.errors["friction"][f.deviations["friction"] < KNOWN] for f in found]))
    flank = abs(np.concatenate([f.errors["flank force"] for f in found]))
    shares = {
        name: np.mean([np.mean(abs(f.errors[name]) < BAND * f.deviations[name]) for f in found if len(f.errors[name])])
        for name in QUANTITIES
    }
    claimed = float(np.quantile(known, 0.9)) if len(known) else None
    step = 1e6 * np.median([f.step for f in found])
    values = [claimed, np.quantile(flank, 0.95), flank.max(), *shares.values(), step]
    return {name: None if v is None else float(v) for name, v in zip(LIMITS, values, strict=True)}


def check(unit: Observer, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Follow the recordings that ship with the reduced model of the variator, or those that match ``runs``."""
    inside = unit_of(unit)
    if not isinstance(inside, Variator) or inside.controller is not None:
        raise InputError(unit.source, "of", unit.of, "a variator: only its full model is on record")
    path, tables = reduced_path(inside), []
    if given["runs"] is None:
        there = (*tables_of(path).values(), *sorted(path.parent.glob(f"{path.stem}_drive*.h5")))
        tables = [read_heldout(file) for file in there if file.exists()]
    for file in () if given["runs"] is None else matching(given["runs"]):
        tables += condense([file]).values()
        write_heldout(tables[-1], given["report"].with_name(f"{given['report'].stem}_{file.stem}.h5"))
    mu, low, high = read_reduced(path).constants["mu"], inside.ratio.min, inside.ratio.max
    runs = [(t, r, r.branches[0]) for t in tables for r in t.runs if r.branches and (r.drive or r.transient)]
    fits = [low <= b["ratio"][0] <= high and b["time"][-1] > SHORTEST for *_, b in runs]
    left_out = [r.run.name for (_, r, _), one in zip(runs, fits, strict=True) if not one]
    runs = [run for run, one in zip(runs, fits, strict=True) if one]
    found = []
    for k, (t, r, _) in enumerate(runs):
        progress(f"following {r.run.name}", k, len(runs))
        sheaves, belt = t.parameters["sheaves"], t.parameters["belt"]
        found.append(follow(unit, r, belt["mu"] / mu, start_of(unit, k), float(sheaves["J"]), k))
    if not found:
        raise InputError("--runs", "", given["runs"], f"drives or transients of more than {SHORTEST:g} s")
    known, numbers = figures(found), [f.as_numbers() for f in found]
    total, missed = [], []
    for name, (low, high) in LIMITS.items():
        value = known[name]
        total.append((name, "none" if value is None else f"{value:.3g}", f"{low:g} to {high:g}"))
        if value is None or not low <= value <= high:
            missed.append("{}: {}, {} is allowed".format(*total[-1]))
    others = list(QUANTITIES)[1:]
    each = []
    for f in numbers:
        last = f"{f['friction']['last']:+.1%} +- {f['friction']['last_deviation']:.1%}"
        shares = (f"{f[q]['rms']:.2%}, {f[q]['within']:.0%}" if q in f else "" for q in others)
        each.append((f["name"], f["belt"], f"{f['time_s']:.1f}", f"{f['true_friction']:.3f}", last, *shares))
    head = ("recording", "belt", "s", "friction", "error at the end", *(f"{q}: error, in band" for q in others))
    lines: list[Any] = []
    body = ""
    for columns, rows in (((f"{len(found)} recordings", "value", "allowed"), total), (head, each)):
        lines.append(Table(*columns))
        for row in rows:
            lines[-1].add_row(*row)
        body += table(columns, [[text(cell) for cell in row] for row in rows])
    if left_out:
        lines.append(escape(f"left out, below {SHORTEST:g} s or outside of the unit's ratios: {', '.join(left_out)}"))
    data = {"unit": unit.name, "failures": missed, "figures": known, "recordings": numbers, "left_out": left_out}
    title = f"{unit.name}: errors next to the full model with noise"
    verdict = f"Missed: {'; '.join(missed)}." if missed else "All limits are kept."
    shown = f"<main><h1>{text(title)}</h1><p>{text(verdict)}</p>{body}</main>"
    return Checked(page(title, shown), data, lines, missed, "missed")
