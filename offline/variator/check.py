"""Hybrid and rigid model of a variator against held-out runs of the full model, and the parts of their errors.

All models run with the boundary values of the full model: omega_I, F_O and the load torque as functions of time; while
it settles the ratio at its end stop, from the release on its F_I. The reduced models settle with their ratio control,
whose force is the F_I of a constant ratio.

Settled states are compared by their means over the last window of the full model. The loss of the full model is the
power supplied and not stored: P_I + P_O + P_ax - E'; efficiency is that of the power at the secondary with this loss.
Each error is split:

    full        the window before against the last one: scatter of the full model
    laws        the identified laws at the full model's own operating point (i, xi, kappa, F_O, y): the regression
    structure   the hybrid model against the laws: the share of operating point and structure of the model

Transients are compared over time, by RMS(model - full)/RMS(full) of each run. The reference is the RMS of the signal
itself: a torque may cross zero, and its mean level is no error. This norm hides small changes of the ratio: `ratio, of
its change` divides by RMS(i - i(0)) instead, or by a hundredth of i(0) where that is larger. It is meaningless for a
torque near zero: `primary torque, of the capacity` divides by the RMS of 2 mu F_O r'_I/cos(delta_0), the capacity by
the clamping of the secondary. Parts of the ratio's error, RMS over the same:

    full        scatter of the full model around its means over a revolution
    laws        x of the laws along the full model's own path, integrated: no feedback by the model's own ratio
    inserted    the hybrid model with F_I scaled such that its ratio is constant at the full model's own thrust ratio

of torque and speed:

    full          as above: belt and pulleys of the full model may vibrate by themselves
    at its ratio  the hybrid model's values brought to ratio i and shift rate of the full model, without the error of
                  the ratio: speeds and torques are proportional to 1/i, J omega_I (1/i)'/i accelerates the secondary

Since such a vibration is no error of a mean, torque and speed are also compared by their means over a revolution.

The flank normal force is compared over its cells, as RMS(model - full)/RMS(full) and by its largest value, in settled
states, in force steps and in passages of transients:

    full        as above
    projection  the full model's field less its projection on the modes of the reduced model
    laws        the regression of the coefficients at the full model's own operating point

Over several runs a figure is the quadratic mean of the runs' errors, the largest, or the limit of 95 % of them. No
limit is below `SCATTER` times the scatter of the full model in the same figure. A state in which the full model slips
macroscopically (|speed loss| > `SLIPPING`) has no thrust ratio or slip to compare: such states are only listed, with
the outputs of the reduced models. y during a passage follows from the run's own F_I,eq, moved from the settled state to
the passage by the law.

The shipped model, the laws with their corrections, is checked against runs of the spatial belt, the planar laws against
runs of the planar one; limits are those of `LIMITS` by the belt. Errors of earlier runs may be pooled with new ones.
Runs and laws must have the same load on the secondary (`protocol`), or their errors are meaningless.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.run.windows import BEFORE, SLIPPING, STEADY
from rtcvt.offline.variator.heldout import HeldOut, HeldRun, Passage, Series
from rtcvt.offline.variator.spread import within
from rtcvt.offline.variator.uncertainty import LOADED, scaled_errors
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.model import UNCERTAIN

Array = NDArray[np.float64]

STILL = 0.01  # of the ratio at the start: a smaller change is measured against this
MODELS = ("hybrid", "rigid")
SCATTER = 1.3  # allowed error as a multiple of the full model's scatter, if above a limit
_BOTH = {
    ("primary torque, mean over a revolution", "quadratic mean"): 0.05,
    ("secondary speed", "quadratic mean"): 0.03,
    ("ratio", "quadratic mean"): 0.03,
    ("flank normal force", "quadratic mean"): 0.08,
    ("thrust ratio", "largest"): 0.06,
}
LIMITS = {  # of figures, by the belt that ran
    "spatial": {
        **_BOTH,
        ("thrust ratio", "quadratic mean"): 0.02,
        ("slip", "quadratic mean"): 0.0025,
        ("slip", "largest"): 0.01,
        ("efficiency", "largest"): 0.01,
        ("peak of the flank normal force", "95 %"): 0.15,
        ("peak of the flank normal force", "largest"): 0.25,
    },
    "hybrid": {
        **_BOTH,
        ("thrust ratio", "quadratic mean"): 0.015,
        ("slip", "quadratic mean"): 0.0012,
        ("efficiency", "largest"): 0.008,
        ("peak of the flank normal force", "largest"): 0.15,
    },
}
SHARES = ((0.68, 0.08), (0.95, 0.04))  # of errors within one and two standard deviations, and how far they may be off


class Driven(Protocol):
    """A reduced model under the boundary values of the full one."""

    def settle(self, run: HeldRun) -> dict[str, float]:
        """Settle at the run's ratio: thrust_ratio, slip, tau_I, omega_O, P_I, P_O, macro_slip, outside, and outputs
        ``uncertainty.NAME`` if there are any."""

    def play(self, series: Series, factor: float = 1.0) -> dict[str, Array]:
        """Play a branch from the last settled state, F_I times `factor`: at ``series["time"]`` omega_O, ratio, outside,
        1 where the operating point is outside the data, and tau_I, the mean since the time before."""

    def flank_normal(self, start: float, stop: float) -> Array:
        """Mean field [N/m] between two times [s] of the last run; before 0: of the settled state."""

    def peak(self, start: float, stop: float) -> float:
        """The same of the output that gives the field's peak [N/m]."""


class Laws(Protocol):
    """The identified laws at given operating points, arrays of the same shape; F_O in [N]."""

    def steady(self, ratio: Array, xi: Array, kappa: Array, F_O: Array) -> dict[str, Array]:
        """Without shifting: thrust_ratio, slip, loss: lost power over the speed of the belt, over F_O."""

    def k(self, ratio: Array, xi: Array, kappa: Array, F_O: Array, y: Array) -> Array:
        """Coefficient of shifting [1/N]."""

    def flank_normal(self, ratio: float, xi: float, kappa: float, F_O: float, y: float) -> Array:
        """Field [N/m] on the cells."""

    def projected(self, flank_normal: Array, ratio: float, F_O: float) -> Array:
        """Projection of a field on the modes."""

    def ratio_at(self, r_I: Array) -> Array:
        """Ratio at the rocking edges of the closed belt at these radii of the neutral fibre on the primary [m]."""


# --- compared quantities


class Settled(NamedTuple):
    """A settled state: source (full, before, hybrid, rigid, laws) -> quantity -> value."""

    held: HeldRun
    values: dict[str, dict[str, float]]


class Branched(NamedTuple):
    """A branch: source (hybrid, rigid, inserted, laws) -> tau_I, omega_O, ratio over the full model's time.

    capacity [N m]: of the secondary's clamping, at the primary, over time.
    """

    held: HeldRun
    number: int
    full: Series
    capacity: Array
    traces: dict[str, dict[str, Array]]

    @property
    def slipping(self) -> bool:
        """Whether the full model slips macroscopically."""
        return _slips(self.held, 2 + self.number)


class Field(NamedTuple):
    """Flank normal force of a passage: source (full, before, hybrid, rigid, projection, laws) -> (cells,).

    peaks: its largest value as output of the models, by model.
    """

    held: HeldRun
    passage: Passage
    fields: dict[str, Array]
    peaks: dict[str, float]
    slipping: bool


@dataclass(frozen=True)
class Figure:
    """One compared quantity over all runs.

    value: by model; parts: by part of the split, of the hybrid model; worst: by model, the run and its error; within:
    runs of the hybrid model that keep the limit by themselves, of how many. Shares and speed losses as fractions.
    """

    name: str
    statistic: str  # of `_STATISTICS`
    limit: float | None
    points: bool  # the value is a difference of percentages
    value: dict[str, float]
    parts: dict[str, float]
    worst: dict[str, tuple[str, float]]
    within: tuple[int, int]

    @property
    def reached(self) -> bool | None:
        """Whether the hybrid model keeps the limit; None without a limit or without runs."""
        return None if self.limit is None or self.within[1] == 0 else bool(self.value["hybrid"] <= self.limit)

    def show(self, value: float) -> str:
        """A value as a percentage, or in points."""
        return f"{100.0 * value:.3g} {'points' if self.points else '%'}"

    @property
    def cause(self) -> str:
        """The largest cause of the hybrid model's error.

        Errors of causes add up in their squares. The share of one cause is ``sqrt(e^2 - r^2)``, with the error e of the
        model and the error r without this cause.
        """
        whole = self.value["hybrid"]
        known = {k: v for k, v in self.parts.items() if np.isfinite(v)}
        rest = {k: known.pop(k) for k in ("inserted", "at its ratio") if k in known}
        for k, v in rest.items():
            known.pop("laws", None)
            known[f"not {k}"] = float(np.sqrt(max(whole**2 - v**2, 0.0)))
            others = v**2 - known.get("full", 0.0) ** 2
            known[f"{k}, too"] = float(np.sqrt(max(others, 0.0)))
        return CAUSES[max(known, key=lambda k: known[k])] if known else ""


CAUSES = {
    "full": "the full model itself scatters or vibrates", "laws": "regression of the laws",
    "structure": "structure of the model", "projection": "modes that were left out",
    "not inserted": "regression of the thrust ratio", "inserted, too": "shift rate of the law",
    "not at its ratio": "the ratio is off", "at its ratio, too": "traction and elasticity of the belt",
}  # fmt: skip


Errors = dict[str, dict[str, float]]  # source -> run -> error


class Compared(NamedTuple):
    """Errors of a quantity: of the two models, and of the parts of the hybrid one's split."""

    name: str
    errors: Errors
    parts: Errors
    points: bool = False  # differences of percentages
    statistics: tuple[str, ...] = ("quadratic mean",)


@dataclass(frozen=True)
class Check:
    """All comparisons with runs of one belt, "spatial" or "hybrid"; more: `record` of other runs, pooled with these."""

    heldout: HeldOut
    settled: tuple[Settled, ...]
    branched: tuple[Branched, ...]
    fields: tuple[Field, ...]
    step: float  # of the reduced models [s]
    about: Mapping[str, Any] = field(default_factory=dict)  # of the reduced model
    unsettled: tuple[str, ...] = ()  # runs of the full model without a settled state: nothing to compare
    belt: str = "hybrid"
    more: Mapping[str, tuple[Errors, Errors]] = field(default_factory=dict)

    @cached_property
    def compared(self) -> tuple[Compared, ...]:
        """Errors by quantity with those of other runs; names of runs begin with that of their plan."""
        label = self.heldout.label

        def joined(own: Errors, more: Errors) -> Errors:
            named = {k: {f"{label} {run}".strip(): e for run, e in v.items()} for k, v in own.items()}
            return {k: more.get(k, {}) | named.get(k, {}) for k in {**named, **more}}

        own = compared_of(self.settled, self.branched, self.fields)
        more = (self.more.get(c.name, ({}, {})) for c in own)
        return tuple(
            c._replace(errors=joined(c.errors, errors), parts=joined(c.parts, parts))
            for c, (errors, parts) in zip(own, more, strict=True)
        )

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """All compared quantities."""
        return tuple(
            _figure(c, statistic, LIMITS[self.belt].get((c.name, statistic)))
            for c in self.compared
            for statistic in c.statistics
        )

    @property
    def runs(self) -> int:
        """Runs whose settled states are compared, with the other ones."""
        return len(next(c for c in self.compared if c.name == "thrust ratio").errors["hybrid"])

    @property
    def coverage(self) -> dict[str, tuple[int, float, float]]:
        """For outputs with an uncertainty: number of settled states, shares of errors within once and twice it."""
        found = (
            (c.name.removeprefix("uncertainty."), np.array([*c.errors["hybrid"].values()]))
            for c in self.compared
            if not c.statistics
        )
        counted = {name: e[np.isfinite(e)] for name, e in found}
        return {name: (len(e), *within(e, 1.0)) for name, e in counted.items() if len(e)}

    @property
    def strata(self) -> dict[str, dict[str, float]]:
        """By the beginning of the runs' names, which is their part of the plan: figures of the settled states."""
        found: dict[str, dict[str, float]] = {}
        for c in self.compared:
            of: dict[str, list[float]] = {}
            for run, e in c.errors["hybrid"].items() if c.name in _OF_STATES else ():
                of.setdefault(run.split()[-1].split("-")[0], []).append(e)
            for part, errors in of.items():
                row = found.setdefault(part, {"states": len(errors)})
                row |= {f"{c.name}, {statistic}": _STATISTICS[statistic](errors) for statistic in c.statistics}
        return found

    @property
    def failures(self) -> tuple[str, ...]:
        """Limits that the hybrid model exceeds, in words."""
        found = [
            f"{f.name}, {f.statistic}: {f.show(f.value['hybrid'])}, allowed {f.show(f.limit)}; "
            f"mostly {f.cause or 'unknown'}; worst: {f.worst['hybrid'][0]}"
            for f in self.figures
            if f.reached is False and f.limit is not None
        ]
        for name, (states, *shares) in self.coverage.items() if self.belt == "spatial" else ():
            for share, (aim, off), n in zip(shares, SHARES, ("one", "two"), strict=True):
                if abs(share - aim) > off > np.sqrt(aim * (1.0 - aim) / states):  # the chance of so many states
                    found.append(f"errors within {n} of {name}: {share:.0%}, allowed {aim:.0%} +- {off:.0%}")
        load, own = self.about.get("load"), protocol(self.heldout.plan, self.heldout.unit_file)
        if "load" in self.about and self.settled and load != own:
            found.append(f"load of the secondary: {own or 'nothing'} in these runs, in the laws' {load or 'nothing'}")
        return tuple(found)

    @property
    def record(self) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
        """Errors and their parts by quantity, ready for JSON: `more` of a later check, as `record_of` reads them."""
        both = ((c.name, (c.errors, c.parts)) for c in self.compared)
        return {name: tuple({k: _known(v) for k, v in part.items()} for part in parts) for name, parts in both}  # type: ignore[misc]

    def as_numbers(self) -> dict[str, Any]:
        """Everything in numbers, ready for JSON: see the command's help for the keys."""
        return {
            "unit": self.about.get("unit", self.heldout.unit),
            "belt": self.belt,
            "runs": self.runs,
            "unsettled": list(self.unsettled),
            "failures": list(self.failures),
            "strata": {name: _known(row) for name, row in self.strata.items()},
            "figures": [
                {
                    "name": f.name,
                    "statistic": f.statistic,
                    "limit": f.limit,
                    "value": _known(f.value),
                    "parts": _known(f.parts),
                    "worst": {k: {"run": run} | _known({"value": value}) for k, (run, value) in f.worst.items()},
                    "within": list(f.within),
                    "reached": f.reached,
                    "cause": f.cause,
                }
                for f in self.figures
            ],
            "coverage": {k: {"states": n, "one": a, "two": b} for k, (n, a, b) in self.coverage.items()},
            "settled": {s.held.run.name: {k: _known(v) for k, v in s.values.items()} for s in self.settled},
        }


def record_of(errors: Mapping[str, Mapping[str, Any]], parts: Mapping[str, Mapping[str, Any]]) -> tuple[Errors, Errors]:
    """Errors and parts of a quantity from `Check.record`."""

    def numbers(of: Mapping[str, Mapping[str, Any]]) -> Errors:
        return {k: {run: float("nan") if e is None else float(e) for run, e in v.items()} for k, v in of.items()}

    return numbers(errors), numbers(parts)


def _known(values: Mapping[str, float]) -> dict[str, float | None]:
    """Values for JSON, which has no NaN."""
    return {k: v if np.isfinite(v) else None for k, v in values.items()}


# --- runs


def check_heldout(
    heldout: HeldOut,
    models: Mapping[str, Driven],
    laws: Laws,
    step: float,
    about: Mapping[str, Any] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Check:
    """Run the reduced models through all held-out runs.

    Parameters
    ----------
    heldout : HeldOut
        Runs of the full model.
    models : mapping
        ``hybrid`` and ``rigid``.
    laws : Laws
        The laws of the models.
    step : float
        Step of the reduced models [s].
    progress : callable, optional
        Called with (run, runs done, runs in all).
    """
    settled, branched, fields, unsettled = [], [], [], []
    J, belt = float(heldout.parameters["sheaves"]["J"]), heldout.parameters["belt"]
    for n, held in enumerate(heldout.runs):
        if progress is not None:
            progress(held.run.name, n, len(heldout.runs))
        if not all(np.isfinite(v[STEADY]) for v in held.summary.values()):
            unsettled.append(held.run.name)
            continue
        state, own = _settled(held, models, laws)
        settled.append(state)
        peaks = {name: model.peak(-1.0, 0.0) for name, model in models.items()}
        fields.append(_field(held, held.passages[STEADY], own, peaks, laws, 1.0))
        known = {k: v["thrust_ratio"] for k, v in state.values.items()}
        for j, series in enumerate(held.branches):
            if len(series["time"]) < 2:
                continue
            traces = {}
            passages = [p for p in held.passages if p.phase == j + 1]
            flanks: list[dict[str, Array]] = [{} for _ in passages]
            highest: list[dict[str, float]] = [{} for _ in passages]
            for name, model in models.items():
                traces[name] = model.play(series)
                for row, p in enumerate(passages):
                    flanks[row][name] = model.flank_normal(p.start, p.stop)
                    highest[row][name] = model.peak(p.start, p.stop)
            traces["inserted"] = models["hybrid"].play(series, known["hybrid"] / known["full"])
            traces["laws"] = {"ratio": _along(series, laws)}
            turning = J if held.run.settings.load is None else J + held.run.settings.load.J
            traces["at its ratio"] = _at_ratio(series, traces["hybrid"], held.revolution, turning)
            most = capacity(belt["mu"], belt["cos_d"], series["F_O"]) * (series["r_I"] - belt["h_off"])
            branched.append(Branched(held, j, series, most, traces))
            for p, flank, top in zip(passages, flanks, highest, strict=True):
                balance = float(laws.steady(*_point(p.point))["thrust_ratio"]) * known["full"] / known["laws"]
                y = p.point["F_I"] / (p.point["F_O"] * balance)
                fields.append(_field(held, p, flank, top, laws, y))
    found = (tuple(settled), tuple(branched), tuple(fields))
    return Check(heldout, *found, step, dict(about or {}), tuple(unsettled))


def _point(p: Mapping[str, Any]) -> tuple[Array, Array, Array, Array]:
    ratio, xi, kappa, F_O = (np.asarray(p[k], dtype=float) for k in ("ratio", "xi", "kappa", "F_O"))
    return ratio, xi, kappa, F_O


def protocol(plan: str, unit_file: str) -> dict[str, Any] | None:
    """The load on the secondary by the texts of a plan and of a belt: the plan's load, else the belt's."""
    found: dict[str, Any] | None = tomllib.loads(plan).get("model", {}).get("load")
    return found or tomllib.loads(unit_file).get("load")


def _efficiency(P_O: float, loss: float) -> float:
    """Efficiency of power from one shaft to the other, with `P_O` into the secondary and the loss."""
    return -P_O / (loss - P_O) if P_O < 0.0 else 1.0 - loss / P_O


def _settled(held: HeldRun, models: Mapping[str, Driven], laws: Laws) -> tuple[Settled, dict[str, Array]]:
    values: dict[str, dict[str, float]] = {}
    for name, row in (("full", STEADY), ("before", BEFORE)):
        s = {k: float(v[row]) for k, v in held.summary.items()}
        lost = s["P_I"] + s["P_O"] + s["P_axial_I"] + s["P_axial_O"] - s["P_stored"]
        kept = {k: s[k] for k in ("thrust_ratio", "slip", "xi", "ratio", "omega_O")}
        values[name] = kept | {"efficiency": _efficiency(s["P_O"], lost), "loss": lost}
    flanks = {}
    for name, model in models.items():
        found = model.settle(held)
        lost = found["P_I"] + found["P_O"]
        values[name] = found | {"efficiency": _efficiency(found["P_O"], lost), "loss": lost}
        flanks[name] = model.flank_normal(-1.0, 0.0)
    s = {k: float(v[STEADY]) for k, v in held.summary.items()}
    law = {k: float(v) for k, v in laws.steady(*_point(s)).items()}
    lost = law["loss"] * s["F_O"] * s["v"]
    kept = {k: law[k] for k in ("thrust_ratio", "slip")}
    values["laws"] = kept | {"efficiency": _efficiency(s["P_O"], lost), "loss": lost}
    return Settled(held, values), flanks


def _along(series: Series, laws: Laws) -> Array:
    """Ratio that the laws' shift rate gives along the full model's own path."""
    c = series.columns
    ratio, xi, kappa, F_O = (c[k] for k in ("ratio", "xi", "kappa", "F_O"))
    y = c["F_I"] / (F_O * laws.steady(ratio, xi, kappa, F_O)["thrust_ratio"])
    rate = np.abs(c["omega_I"]) * laws.k(ratio, xi, kappa, F_O, y) * F_O * (y - 1.0)
    grown = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(c["time"]))])
    here = laws.ratio_at(c["r_I"][:1])
    found = laws.ratio_at(c["r_I"][0] * np.exp(grown))
    return np.asarray(found * ratio[0] / here[0])


def _at_ratio(series: Series, own: Mapping[str, Array], revolution: float, J: float) -> dict[str, Array]:
    """Values of a model at the ratio and shift rate of the full model; `J` of the secondary and its damper [kg m2]."""

    def accelerating(ratio: Array) -> Array:
        rate = np.gradient(smooth(series["time"], 1.0 / ratio, revolution), series["time"])
        return np.asarray(J * series["omega_I"] * rate / ratio)

    part = own["ratio"] / series["ratio"]
    torque = (own["tau_I"] - accelerating(own["ratio"])) * part + accelerating(series["ratio"])
    return {"tau_I": torque, "omega_O": own["omega_O"] * part}


def _field(held: HeldRun, p: Passage, own: Mapping[str, Array], peaks: dict[str, float], laws: Laws, y: float) -> Field:
    full = p.fields["flank_normal"]
    at = (p.point["ratio"], p.point["xi"], p.point["kappa"], p.point["F_O"])
    fields = {
        "full": full,
        "projection": laws.projected(full, p.point["ratio"], p.point["F_O"]),
        "laws": laws.flank_normal(*at, y),
        **own,
    }
    if p.phase == 0:
        fields["before"] = held.passages[BEFORE].fields["flank_normal"]
    return Field(held, p, fields, peaks, _slips(held, STEADY if p.phase == 0 else 1 + p.phase))


def _slips(held: HeldRun, window: int) -> bool:
    """Whether the full model slips macroscopically in a window."""
    return bool(abs(held.summary["slip"][window]) > SLIPPING)


# --- figures


def quadratic(errors: Iterable[float]) -> float:
    """Root mean square; NaN without values."""
    values = np.asarray(errors if isinstance(errors, np.ndarray) else list(errors))
    values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


def largest(errors: Iterable[float]) -> float:
    """Largest magnitude; NaN without values."""
    values = np.abs([e for e in errors if np.isfinite(e)])
    return float(values.max()) if len(values) else float("nan")


def most(errors: Iterable[float]) -> float:
    """Magnitude that 95 % do not exceed; NaN without values."""
    values = np.abs([e for e in errors if np.isfinite(e)])
    return float(np.quantile(values, 0.95)) if len(values) else float("nan")


_STATISTICS: dict[str, Callable[[Iterable[float]], float]] = {
    "quadratic mean": quadratic,
    "95 %": most,
    "largest": largest,
}
_EACH = ("quadratic mean", "largest")


def _figure(c: Compared, statistic: str, limit: float | None) -> Figure:
    of, errors, parts = _STATISTICS[statistic], c.errors, c.parts
    repeats = of(parts.get("full", {}).values())
    if limit is not None and np.isfinite(repeats):
        limit = max(limit, SCATTER * repeats)
    worst = {}
    for model, by_run in errors.items():
        if by_run:
            size = {k: abs(e) if np.isfinite(e) else np.inf for k, e in by_run.items()}
            run = max(size, key=lambda k: size[k])
            worst[model] = (run, by_run[run])
    hybrid = [abs(e) for e in errors.get("hybrid", {}).values()]
    within = sum(e <= limit for e in hybrid) if limit is not None else len(hybrid)
    return Figure(
        c.name, statistic, limit, c.points,
        {model: of(by_run.values()) if _finite(by_run) else float("nan") for model, by_run in errors.items()},
        {part: of(by_run.values()) for part, by_run in parts.items()}, worst, (within, len(hybrid)),
    )  # fmt: skip


def _finite(errors: Mapping[str, float]) -> bool:
    return bool(np.all(np.isfinite(list(errors.values()))))


_OF_STATES = ("thrust ratio", "slip", "efficiency")


def compared_of(
    settled: Iterable[Settled], branched: Iterable[Branched], fields: Iterable[Field]
) -> tuple[Compared, ...]:
    """All compared quantities."""
    found: list[Compared] = []
    states = [s for s in settled if not _slips(s.held, STEADY)]
    for name in _OF_STATES:
        key, relative = name.replace(" ", "_"), name == "thrust ratio"
        used = [s for s in states if key != "efficiency" or abs(s.values["full"]["xi"]) >= LOADED]
        found.append(Compared(name, *_state_errors(used, key, relative), not relative, _EACH))
    found += _transients_compared([b for b in branched if b.held.transient and not b.slipping])
    whole = [f for f in fields if not f.slipping]
    found += _fields_compared(whole, "", ("quadratic mean", "95 %", "largest"))
    tops = [f for f in whole if f.passage.phase == 0]
    found += _fields_compared(tops, ", settled", ("quadratic mean",))
    return (*found, *_scaled(states, {f.held.run.name: f for f in tops}))


def _scaled(states: list[Settled], tops: Mapping[str, Field]) -> list[Compared]:
    """Errors of settled states over the standard deviations of the hybrid model."""
    full: dict[str, list[float]] = {}
    own: dict[str, list[float]] = {}
    for s in states:
        top = tops[s.held.run.name]
        for of, peak, values in (
            (full, float(top.fields["full"].max()), s.values["full"]),
            (own, top.peaks["hybrid"], s.values["hybrid"]),
        ):
            for name, value in (values | {"flank_peak": peak}).items():
                of.setdefault(name, []).append(value)
    found = scaled_errors({k: np.array(v) for k, v in full.items()}, {k: np.array(v) for k, v in own.items()})
    runs = [s.held.run.name for s in states]
    errors = {name: {"hybrid": dict(zip(runs, e.tolist(), strict=True))} for name, e in found.items()}
    return [Compared(f"uncertainty.{name}", errors.get(name, {"hybrid": {}}), {}, False, ()) for name in UNCERTAIN]


def _state_errors(states: Iterable[Settled], key: str, relative: bool) -> tuple[Errors, Errors]:
    errors: Errors = {m: {} for m in MODELS}
    parts: Errors = {"full": {}, "laws": {}, "structure": {}}
    for s in states:
        v, run = {k: a[key] for k, a in s.values.items() if key in a}, s.held.run.name

        def off(a: str, b: str, v: dict[str, float] = v) -> float:
            return v[a] / v[b] - 1.0 if relative else v[a] - v[b]

        for m in MODELS:
            errors[m][run] = off(m, "full")
        parts["full"][run] = off("before", "full")
        parts["laws"][run] = off("laws", "full")
        parts["structure"][run] = off("hybrid", "laws")
    return errors, parts


def nrmse(model: Array, full: Array, by: Array | None = None, least: float = 0.0) -> float:
    """RMS(model - full)/RMS(full), or over the RMS of `by`; the divisor is at least `least`."""
    scale = max(quadratic(full if by is None else by), least)
    return quadratic(model - full) / scale if scale > 0.0 else float("nan")


def smooth(time: Array, values: Array, width: float) -> Array:
    """Means over `width` [s] around each time, over less at the ends, where the interval stays centred."""
    total = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(time))])
    half = np.minimum(0.5 * width, np.minimum(time - time[0], time[-1] - time))
    means = np.interp(time + half, time, total) - np.interp(time - half, time, total)
    return np.where(half > 0.0, means / np.maximum(2.0 * half, 1e-12), values)


def _transients_compared(branches: list[Branched]) -> list[Compared]:
    found = []
    for name, key, of in (
        ("primary torque", "tau_I", "signal"),
        ("primary torque, mean over a revolution", "tau_I", "mean"),
        ("primary torque, of the capacity", "tau_I", "capacity"),
        ("secondary speed", "omega_O", "signal"),
        ("secondary speed, mean over a revolution", "omega_O", "mean"),
        ("ratio", "ratio", "signal"),
        ("ratio, of its change", "ratio", "change"),
    ):
        all_errors: Errors = {}
        for b in branches:
            for source, e in _branch_errors(b, key, of).items():
                all_errors.setdefault(source, {})[b.held.run.name] = e
        errors = {m: all_errors.pop(m, {}) for m in MODELS}
        found.append(Compared(name, errors, all_errors))
    return found


def _branch_errors(b: Branched, key: str, of: str) -> dict[str, float]:
    """NRMSE of a signal's mean over a revolution, relative to its change or the capacity: models, then parts."""
    time, full, width = b.full["time"], b.full[key], b.held.revolution
    mean = smooth(time, full, width)
    traces = {m: b.traces[m][key] for m in MODELS}
    if key == "ratio":
        traces |= {part: b.traces[part][key] for part in ("laws", "inserted")}
    else:
        traces["at its ratio"] = b.traces["at its ratio"][key]
    if of == "mean":
        return {source: nrmse(smooth(time, values, width), mean) for source, values in traces.items()}
    by = {"change": full - full[0], "capacity": b.capacity}.get(of, full)
    least = STILL * full[0] if of == "change" else 0.0
    found = {source: nrmse(values, full, by, least) for source, values in traces.items()}
    later = time > width  # the first revolution has the answer to the step
    if later.any():
        found["full"] = quadratic((full - mean)[later]) / max(quadratic(by), least)
    return found


def _fields_compared(fields: list[Field], of: str, statistics: tuple[str, ...]) -> list[Compared]:
    """Errors of the shape, of the peak, and of the peak that is an output of its own."""
    shape: Errors = {m: {} for m in MODELS}
    peak: Errors = {m: {} for m in MODELS}
    output: Errors = {m: {} for m in MODELS}
    shape_parts: Errors = {"full": {}, "projection": {}, "laws": {}}
    peak_parts: Errors = {"full": {}, "projection": {}, "laws": {}}
    for f in fields:
        full, run = f.fields["full"], f"{f.held.run.name}, phase {f.passage.phase}, {1e3 * f.passage.stop:.0f} ms"
        highest = float(full.max())
        for source, a in f.fields.items():
            name = "full" if source == "before" else source
            if source == "full":
                continue
            by_shape, by_peak = (shape, peak) if name in MODELS else (shape_parts, peak_parts)
            by_shape[name][run] = nrmse(a, full)
            by_peak[name][run] = float(a.max()) / highest - 1.0
        for name, value in f.peaks.items():
            output[name][run] = value / highest - 1.0
    both = tuple(statistic for statistic in statistics if statistic in _EACH)
    return [
        Compared(f"flank normal force{of}", shape, shape_parts, False, both),
        Compared(f"peak of the flank normal force{of}", peak, peak_parts, False, statistics),
        Compared(f"output peak.flank_normal{of}", output, {}, False, both),
    ]
