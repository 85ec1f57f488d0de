"""The check of an observer of a variator: it follows recordings of the full model, whose friction may be another one.

Recordings are drives, runs of a case of the full model's unit file, and transients of held-out runs. Measured outputs
and noisy inputs get white noise with the standard deviations of the observer's file. The observer starts at the right
ratio and speed, without the load, and with friction `STARTS` off by turns; the pulleys have the full model's inertia
and neither bearings nor seals nor oil.

Errors are estimate - truth: friction is that of the recording's flanks over that of the laws; slip is 1 - i omega_O/
omega_I; the flank's peak is the largest value of the mean field over a passage, against the mean estimate over it.
Friction is observable where its own standard deviation is below `OBSERVABLE`. A band of 90 % has +- 1.645 deviations.
"""

import math
from collections.abc import Mapping, Sequence
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
OBSERVABLE = 0.12  # largest standard deviation of friction that claims to know it
QUANTITIES = {"friction": "belt.friction", "slip": "belt.slip", "ratio": "ratio.i", "flank force": "peak.flank_normal"}
LIMITS = {  # of figures, from and to
    "error of known friction, 90 %": (0.0, 0.05),
    "error of flank force, 95 %": (0.0, 0.1),
    "error of flank force, largest": (0.0, 0.1),
    **{f"{name} in band": (0.85, 0.95) for name in ("friction", "slip", "ratio", "flank force")},
    "step [us]": (0.0, 40.0),
}
STARTS = (0.87, 1.15)  # of friction, by the truth
BEFORE = 0.3  # [s] that a transient's first values last before it
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
                    "last": [float(e[-1]), float(s[-1])], "least_deviation": float(s.min()),
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
    lead = 0.0 if held.drive else BEFORE
    n = math.floor((series["time"][-1] + lead) / h)
    time: Array = np.arange(n + 1.0) * h - lead
    rng, u = np.random.default_rng(seed), {}
    for name, (column, noise) in SENSORS.items():
        u[name] = np.interp(time, series["time"], series[column]) + noise * rng.standard_normal(n + 1)
    dry = {f"{side}.{name}": 0.0 for side in ("primary", "secondary")
           for name in ("b", "bearing.f_0", "bearing.f_1", "seal.d", "sheave.dip")}  # fmt: skip
    begin = {"belt.friction": friction * start, "ratio.start": series["ratio"][0], "primary.J": J, "secondary.J": J,
             "primary.w_start": series["omega_I"][0]}  # fmt: skip
    scenario = Scenario(name=held.run.name, duration=n * h)
    run = simulate(model, scenario, parameters={k: float(v) for k, v in (dry | begin).items()}, inputs=u)
    rows = time > SKIPPED - lead
    ratio, omega_I, omega_O = (np.interp(time, series["time"], series[k]) for k in ("ratio", "omega_I", "omega_O"))
    true = {"friction": friction, "slip": 1.0 - ratio * omega_O / omega_I, "ratio": ratio}
    errors = {name: (run[f"estimate.{QUANTITIES[name]}"] - value)[rows] for name, value in true.items()}
    deviations = {name: run[f"deviation.{QUANTITIES[name]}"][rows] for name in true}
    peak = QUANTITIES["flank force"]
    found = []
    for p in held.passages:
        there = (time > p.start) & (time <= p.stop) & rows
        if p.phase == 1 and there.any():
            means = (
                run[f"{what}.{peak}"][there].mean() / p.fields["flank_normal"].max()
                for what in ("estimate", "deviation")
            )
            found.append(tuple(means))
    of_truth, deviations["flank force"] = np.array(found).reshape(-1, 2).T
    errors["flank force"] = of_truth - 1.0
    chi2, step = run["innovation.chi2"][rows], float(np.median(run.step_cost))
    return Followed(held.run.name, held.run.settings.model, friction, time[rows], errors, deviations, chi2, step)


def figures(found: Sequence[Followed]) -> dict[str, float]:
    """`LIMITS` by name, over all recordings; a band's share is the mean over recordings. NaN: nothing is observable."""
    e, s = (
        {name: np.concatenate([getattr(f, of)[name] for f in found]) for name in QUANTITIES}
        for of in ("errors", "deviations")
    )
    known = abs(e["friction"][s["friction"] < OBSERVABLE])
    flank = abs(e["flank force"])
    shares = {
        name: np.mean([np.mean(abs(f.errors[name]) < BAND * f.deviations[name]) for f in found if len(f.errors[name])])
        for name in QUANTITIES
    }
    claimed = np.quantile(known, 0.9) if len(known) else np.nan
    step = 1e6 * np.median([f.step for f in found])
    values = [claimed, np.quantile(flank, 0.95), flank.max(), *shares.values(), step]
    return {name: float(v) for name, v in zip(LIMITS, values, strict=True)}


def check(unit: Observer, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Follow the recordings that ship with the reduced model of the variator, or those that match ``runs``."""
    inside = unit_of(unit)
    if not isinstance(inside, Variator) or inside.controller is not None:
        raise InputError(
            unit.source, "of", unit.of, "a variator: of other units there are no recordings of a full model"
        )
    path, report = reduced_path(inside), given["report"]
    if given["runs"] is None:
        tables = [
            read_heldout(t)
            for t in (*tables_of(path).values(), *sorted(path.parent.glob(f"{path.stem}_drive*.h5")))
            if t.exists()
        ]
    else:
        tables = []
        for file in matching(given["runs"]):
            tables += condense([file]).values()
            write_heldout(tables[-1], report.with_name(f"{report.stem}_{file.stem}.h5"))
    mu, low, high = read_reduced(path).constants["mu"], inside.ratio.min, inside.ratio.max
    runs = [(t, r) for t in tables for r in t.runs if r.branches and (r.drive or r.transient)]
    runs = [
        (t, r) for t, r in runs if low <= r.branches[0]["ratio"][0] <= high and r.branches[0]["time"][-1] > SHORTEST
    ]
    found = []
    for k, (t, r) in enumerate(runs):
        progress(f"following {r.run.name}", k, len(runs))
        sheaves, belt = t.parameters["sheaves"], t.parameters["belt"]
        found.append(follow(unit, r, belt["mu"] / mu, STARTS[k % 2], float(sheaves["J"]), k))
    if not found:
        raise InputError("--runs", "", given["runs"], f"drives or transients of more than {SHORTEST:g} s")
    known, numbers = figures(found), [f.as_numbers() for f in found]
    missed = [f"{name}: {known[name]:.3g}, {low:g} to {high:g} is allowed" for name, (low, high) in LIMITS.items()
              if not low <= known[name] <= high]  # fmt: skip
    total = Table("", "value", "allowed", title=f"{unit.name} on {len(found)} recordings", title_justify="left")
    for name, (low, high) in LIMITS.items():
        total.add_row(escape(name), f"{known[name]:.3g}", f"{low:g} to {high:g}")
    each = Table(
        "recording",
        "belt",
        "s",
        "friction",
        "error at the end",
        *(f"{q}: error, in band" for q in list(QUANTITIES)[1:]),
    )
    for f in numbers:
        last = "{:+.1%} +- {:.1%}".format(*f["friction"]["last"]) if isinstance(f["friction"], dict) else ""
        shares = (f"{f[q]['rms']:.2%}, {f[q]['within']:.0%}" if q in f else "" for q in list(QUANTITIES)[1:])
        each.add_row(f["name"], f["belt"], f"{f['time_s']:.1f}", f"{f['true_friction']:.3f}", last, *shares)
    data = {"unit": unit.name, "failures": missed, "figures": known, "recordings": numbers}
    body = "".join(
        table(
            [str(c.header) for c in t.columns],
            [[text(v) for v in row] for row in zip(*(c.cells for c in t.columns), strict=True)],
        )
        for t in (total, each)
    )
    return Checked(page(f"{unit.name}: errors", f"<main>{body}</main>"), data, [total, each], missed, "missed")
