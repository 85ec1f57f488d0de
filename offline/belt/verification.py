"""Check of a belt drive: the real-time model against a full one, and the full model against its source.

Comparison. Both models run over the unit's scenarios and, with the first one, over a belt of twice the friction and one
of five quarters of the pretension. No parameter of the real-time model is fitted to them. Of every signal

    e = RMS(real-time - full)/max|full|

over all samples of 1 ms, max|full| at least a hundredth of the largest of its kind. Signals are speeds of pulleys that
torques or the belt move, tensions of spans, and torques: of the shaft where the speed is given, else of the belt on the
pulley, by the pulley's balance. With a decoupler there are the speeds of pulley and shaft.

Rigid elements run onto a pulley like a chain's links. They slide as they do so, and make speeds and tensions ripple,
and torques the more. Both are no properties of the belt and fall with the square of the elements' length: full runs for
the comparison use half the unit's length, with contact constants, which are per element, halved too. Signals are judged
by their means over the passage of an element (`smooth`); the error with the ripple (`nrms`) and the ripple's size are
listed in addition, and the change by half the length in the first run.

Drawn drives. An ANCF belt is also run on layouts and load cases that are drawn around the unit by seed (`drawn`), with
their own limits.

Sources: what Ntarladima, Pieber and Gerstmayr (2023, section 4) and Kubas (2017, sections 4 and 5) print as numbers,
with ours, for the shipped drives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.model import build_belt
from rtcvt.belt.reading import read_belt_unit
from rtcvt.belt.unit import BeltUnit, Load, Pulley
from rtcvt.errors import InputError
from rtcvt.limits import Limited
from rtcvt.offline.belt import drawn, mass_on_friction, sheave_on_cable, studies
from rtcvt.offline.belt.audit import ALLOWED
from rtcvt.offline.belt.results import Case, Progress, Result, result
from rtcvt.offline.belt.runs import changed, full_model
from rtcvt.recording import revision
from rtcvt.scenario import Scenario
from rtcvt.simulate import Result as Run
from rtcvt.simulate import require_fitting, simulate
from rtcvt.unitfile import read_unit_file

Array = NDArray[np.float64]

LIMITS = {"speed": 0.01, "tension": 0.03, "torque": 0.03}
FLOOR = 0.01  # of the largest signal of a kind
UNITS = {"speed": "rad/s", "tension": "N", "torque": "N.m"}
SOURCE = {
    "two_pulley_belt": "Ntarladima, Pieber and Gerstmayr 2023",
    "two_pulley_5pk": "Kubas 2017",
    "accessory_5pk": "Kubas 2017",
    "verification_belt": "Kubas 2017",
}


@dataclass(frozen=True)
class SignalError:
    """Error of one signal of the real-time model."""

    name: str
    kind: str  # "speed", "tension" or "torque"
    nrms: float
    smooth: float  # the same of the means over the passage of an element; nrms for the ANCF belt
    ripple: float  # RMS of the full model less its mean, by the same scale; 0 for the ANCF belt
    scale: float
    limit: float


@dataclass(frozen=True)
class Comparison:
    """A load case: the two runs and their results."""

    title: str
    full: Result
    pairs: Mapping[str, tuple[Array, Array]]  # by signal: full, real-time, over full.time
    errors: tuple[SignalError, ...]
    real_time_us: float  # median of a step


@dataclass(frozen=True)
class Quote(Limited):
    """A printed number or statement and ours: `scenario` is the section, `value` how far ours is from the printed."""

    printed: str = ""
    ours: str = ""


@dataclass(frozen=True)
class Verification:
    """All runs of a check."""

    unit: BeltUnit
    comparisons: tuple[Comparison, ...]
    discretisation: Mapping[str, float]  # RMS by which half the element length changes a signal; of rigid elements
    runs: Mapping[str, Result]  # full runs that the figures show: "run-up" of rigid elements by unit, "nominal"
    studies: Mapping[str, Mapping[str, Result]]
    quotes: tuple[Quote, ...]
    drawn: tuple[Comparison, ...] = ()  # of layouts and load cases drawn by `seed`
    seed: int = 0

    @property
    def failures(self) -> tuple[str, ...]:
        """Every bound that is exceeded, in words."""
        every = (*self.comparisons, *self.drawn)
        astray = tuple(
            f"{c.title}: {c.full.strayed:.2%} of the full model's work is unaccounted for, allowed "
            f"{ALLOWED:.1%}; use smaller steps"
            for c in every
            if c.full.strayed is not None and not c.full.strayed <= ALLOWED
        )
        return astray + tuple(
            f"{c.title}: {e.name} is off by {e.smooth:.3g}, allowed {e.limit:.3g}"
            for c in every
            for e in c.errors
            if not e.smooth <= e.limit
        )

    def figures(self) -> dict[str, Any]:
        """Everything in numbers, ready for JSON: see the command's help for the keys."""
        return {
            "unit": self.unit.name,
            "revision": revision(),
            "full_model": full_model(self.unit),
            "passed": not self.failures,
            "failures": list(self.failures),
            "load_cases": [_figures(c) for c in self.comparisons],
            "seed": self.seed,
            "drawn_cases": [_figures(c) for c in self.drawn],
            "discretisation": dict(self.discretisation),
            "studies": {k: {label: studies.figures(r) for label, r in v.items()} for k, v in self.studies.items()},
            "source": [
                {"section": q.scenario, "about": q.name, "printed": q.printed, "ours": q.ours, "agrees": q.holds}
                for q in self.quotes
            ],
        }


def _figures(c: Comparison) -> dict[str, Any]:
    return {
        "name": c.title,
        "about": c.full.case.scenario.description,
        "duration_s": float(c.full.time[-1]),
        "full_wall_s": c.full.cost,
        "step_us": c.real_time_us,
        "strayed": c.full.strayed,
        "errors": [
            {"signal": e.name, "kind": e.kind, "nrms": e.nrms, "smooth": e.smooth, "ripple": e.ripple,
             "scale": e.scale, "limit": e.limit}
            for e in c.errors
        ],
    }  # fmt: skip


def load_cases(unit: BeltUnit) -> list[Case]:
    """Scenarios of the unit, and its first one with another belt.

    Raises
    ------
    InputError
        The unit has no scenario, one that does not fit it, no full model or no table for the real-time model.
    """
    full_model(unit)
    if not unit.scenario:
        raise InputError(unit.source, "scenario", None, "at least one [[scenario]] to check")
    if unit.hybrid is None:
        raise InputError(unit.source, "hybrid", None, "a table with the friction coefficient mu of the real-time model")
    require_fitting(build_belt(unit, "hybrid"), unit.scenario)
    unit = refined(unit)
    first = unit.scenario[0]
    found = [_case(s.name, unit, s) for s in unit.scenario]
    found.append(_case("twice the friction", _rough(unit), first))
    tight = unit.belt.model_copy(update={"pretension": 1.25 * unit.belt.pretension})
    found.append(_case("five quarters of the pretension", unit.model_copy(update={"belt": tight}), first))
    return found


def _rough(unit: BeltUnit) -> BeltUnit:
    """The unit with twice the friction, on the two sides and all pulleys."""

    def twice(table: Any, *keys: str) -> Any:
        given = {key: getattr(table, key, None) for key in keys}
        return table and table.model_copy(update={k: 2.0 * mu for k, mu in given.items() if mu is not None})

    tables = {key: twice(getattr(unit, key), "mu", "mu_back") for key in ("hybrid", "ancf", "elements")}
    pulleys = {name: twice(p, "mu") for name, p in unit.pulleys.items()}
    return unit.model_copy(update=tables | {"pulleys": pulleys})


def refined(unit: BeltUnit) -> BeltUnit:
    """The unit with rigid elements of half the length; with an ANCF belt, itself."""
    e = unit.elements
    if e is None or full_model(unit) == "ancf":
        return unit
    return changed(unit, elements=2 * e.elements, c_1=0.5 * e.c_1, c_2=0.5 * e.c_2, b=0.5 * e.b)


def _case(name: str, unit: BeltUnit, scenario: Scenario) -> Case:
    if full_model(unit) == "ancf":
        same = scenario is unit.scenario[0] and name == scenario.name
        instants = tuple(t for t in studies.INSTANTS if t <= scenario.duration)
        return Case("nominal" if same else name, unit, scenario, instants)
    trace = {"two_pulley_5pk": ("driven", 0.75), "accessory_5pk": ("alternator", 0.4)}.get(unit.name)
    return Case(name, unit, scenario, (), trace)


def _mirrored(unit: BeltUnit) -> list[Case]:
    """Section 5 of Kubas 2017 with its layout, a drawing without dimensions, the other way round.

    Turning the crankshaft the other way is the same as mirroring the layout: the alternator then lies before the
    crankshaft, in the tight part of the belt. The second case has elements of 14 mm instead of 11 mm.
    """
    scenario = next(s for s in unit.scenario if s.name == "mirrored layout")
    given = (("mirrored", unit), ("mirrored, 120 elements", changed(unit, elements=120)))
    return [Case(name, u, scenario, (), ("alternator", 0.4)) for name, u in given]


def compare(
    case: Case, full: Result, title: str, limits: Mapping[str, float] = LIMITS, fast: Run | None = None
) -> Comparison:
    """Run the real-time model over a case, or use `fast`, and compare it with the full one."""
    unit = case.unit
    fast = fast or simulate(build_belt(unit, "hybrid"), case.scenario, unit.step)
    at = np.round(full.time / fast.step).astype(int)
    used = (at < fast.time.size) & (abs(at * fast.step - full.time) < 1e-6)
    at = at[used]
    pairs: dict[str, tuple[Array, Array]] = {}
    kinds: dict[str, str] = {}
    for name, pulley in unit.pulleys.items():
        if pulley.decoupler is not None:
            shaft, sheave, spring = f"{name}.w", f"{name}.w_pulley", f"{name}.M_decoupler"
            sense = 1.0 if pulley.decoupler.direction == "anticlockwise" else -1.0
            pairs[shaft], kinds[shaft] = (full.series[f"{name}.w_shaft"][used], fast[shaft][at]), "speed"
            pairs[sheave], kinds[sheave] = (full.series[f"{name}.w"][used], fast[sheave][at]), "speed"
            M, own = (
                pulley.inertia * np.gradient(w, full.time[used]) + sense * passed
                for w, passed in zip(pairs[sheave], (full.series[spring][used], fast[spring][at]), strict=True)
            )
            pairs[f"{name}.M"], kinds[f"{name}.M"] = (M, own), "torque"
        elif pulley.flange != "speed":
            pairs[f"{name}.w"], kinds[f"{name}.w"] = (full.series[f"{name}.w"][used], fast[f"{name}.w"][at]), "speed"
            given = fast[f"{name}.tau"][at] if pulley.flange == "torque" else 0.0
            M, own = (_belt_torque(pulley, w, given, full.time[used]) for w in pairs[f"{name}.w"])
            pairs[f"{name}.M"], kinds[f"{name}.M"] = (M, own), "torque"
        else:
            w, M = full.series[f"{name}.w"][used], full.series[f"{name}.M"][used]
            tau = _belt_torque(pulley, w, 0.0, full.time[used]) - M
            pairs[f"{name}.tau"], kinds[f"{name}.tau"] = (tau, fast[f"{name}.tau"][at]), "torque"
    for span in (f"{name}.F" for name in unit.spans):
        pairs[span], kinds[span] = (full.series[span][used], fast[span][at]), "tension"
    largest = {k: max(float(np.max(abs(pairs[n][0]))) for n in pairs if kinds[n] == k) for k in set(kinds.values())}
    errors = []
    for name, (a, b) in pairs.items():
        kind = kinds[name]
        scale = max(float(np.max(abs(a))), FLOOR * largest[kind], 1e-12)
        mean_a, mean_b = passage_mean(case, full, a), passage_mean(case, full, b)
        nrms, smooth, size = (
            float(np.sqrt(np.nanmean(x[1:] ** 2))) / scale for x in (a - b, mean_a - mean_b, a - mean_a)
        )
        errors.append(SignalError(name, kind, nrms, smooth, size, scale, limits[kind]))
    cost = float(np.median(fast.step_cost) * 1e6)
    return Comparison(title, full, pairs, tuple(errors), cost)


def _belt_torque(pulley: Pulley, w: Array, tau: Array | float, time: Array) -> Array:
    """Torque [N m] of the belt on a pulley, by the pulley's balance, from its speed and the torque of its shaft.

    Samples of the contact forces' torque alias the impacts of rigid elements, and the ANCF model's multiplier of a
    given speed alternates from step to step after a kink (see `motion`); the speed does neither.
    """
    load = 0.0 if pulley.load is None else _load(pulley.load, w)
    return np.asarray(pulley.inertia * np.gradient(w, time) + pulley.friction * w - load - tau)


def _load(load: Load, w: Array) -> Array:
    """Torque over speed, linear between its points and beyond them."""
    x, y = np.array(load.w), np.array(load.tau)
    i = np.clip(np.searchsorted(x, w) - 1, 0, x.size - 2)
    return np.asarray(y[i] + (y[i + 1] - y[i]) / (x[i + 1] - x[i]) * (w - x[i]))


def passage_mean(case: Case, full: Result, values: Array) -> Array:
    """Mean of a signal over the passage of an element, not a number near the ends; of the ANCF belt the signal itself.

    The window at a time is the duration of the passage of one element at the belt's speed then.

    Raises
    ------
    InputError
        The belt hardly moves.
    """
    unit = case.unit
    if unit.elements is None or full_model(unit) == "ancf":
        return values
    name, radius = next(iter(unit.pulleys)), unit.line_radius[0]
    length = unit.path().length / unit.elements.elements
    travel = np.concatenate([[0.0], np.cumsum(abs(full.series[f"{name}.w"][1:]) * radius * np.diff(full.time))])
    travel += 1e-12 * np.arange(travel.size)
    total = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(travel))])
    low, high = travel - 0.5 * length, travel + 0.5 * length
    inside = (low >= 0.0) & (high <= travel[-1])
    if not inside.any():
        allowed = "time in which the belt travels by more than two elements"
        raise InputError(f"scenario '{case.scenario.name}'", "duration", case.scenario.duration, allowed)
    mean = (np.interp(high, travel, total) - np.interp(low, travel, total)) / length
    return np.where(inside, mean, np.nan)


def discretisation(coarse: Result, fine: Result) -> dict[str, float]:
    """RMS of the difference of two full runs, both as means over the passage of the coarse one's element."""
    found = {}
    for name, a in fine.series.items():
        if name.endswith((".w", ".M")) or (name.endswith(".F") and "_" in name):
            x, y = (passage_mean(coarse.case, coarse, v) for v in (a, coarse.series[name]))
            found[name] = float(np.sqrt(np.nanmean((x - y)[1:] ** 2))) / max(float(np.nanmax(abs(x))), 1e-12)
    return found


def verify(unit: BeltUnit, folder: Path, progress: Progress | None = None, seed: int = 1) -> Verification:
    """Make the full runs that are missing in `folder`, and compare; `seed` draws further ones around an ANCF unit.

    Raises
    ------
    InputError
        See `load_cases`.
    ArithmeticError
        A full model's step fails, of an ANCF belt also with a quarter of its length.
    KeyboardInterrupt
        Interrupted; the next call continues.
    """
    own, ancf = load_cases(unit), full_model(unit) == "ancf"
    around = drawn.cases(unit, seed) if ancf else []
    full, count = drawn.run if ancf else result, len(own) + len(around)

    def of_all(k: int) -> Progress | None:
        return progress and (lambda text, done, last: progress(f"{text}, run {k} of {count}", done, last))

    comparisons = []
    for k, case in enumerate(own, 1):
        title = unit.scenario[0].name if case.name == "nominal" else case.name
        comparisons.append(compare(case, full(case, folder, of_all(k)), title))
    runs: dict[str, Result] = {}
    found: dict[str, Mapping[str, Result]] = {}
    quotes: list[Quote] = []
    changes: dict[str, float] = {}
    if ancf:
        runs[unit.name] = comparisons[0].full
        if unit.name in SOURCE:
            found = {study: studies.run_study(unit, study, folder, progress) for study in studies.STUDIES}
            quotes += [*_contact(), *_section_4_ancf(runs[unit.name], found)]
        others = tuple(
            compare(d.case, full(d.case, folder, of_all(k)), d.case.name, d.limits)
            for k, d in enumerate(around, len(own) + 1)
        )
        return Verification(unit, tuple(comparisons), changes, runs, found, tuple(quotes), others, seed)
    for name in {unit.name, "two_pulley_5pk"} if unit.name == "accessory_5pk" else {unit.name}:
        drive = unit if name == unit.name else read_belt_unit(read_unit_file(name))
        runs[name] = result(_case("own mesh", drive, drive.scenario[0]), folder, progress)
    changes = discretisation(runs[unit.name], comparisons[0].full)
    if "verification_belt" in runs:
        quotes += _section_3(runs["verification_belt"])
    if "two_pulley_5pk" in runs:
        quotes += _section_4(runs["two_pulley_5pk"])
    if unit.name == "accessory_5pk":
        quotes += _section_5(runs[unit.name], "")
        for case in _mirrored(unit):
            runs[case.name] = result(case, folder, progress)
            quotes += _section_5(runs[case.name], f", {case.name}")[2:]
    return Verification(unit, tuple(comparisons), changes, runs, found, tuple(quotes))


# --- printed results of the sources


def _late(r: Result, name: str) -> float:
    """Mean of the last tenth of a run."""
    return float(np.mean(r.series[name][r.time >= 0.9 * r.time[-1]]))


def _near(section: str, about: str, printed: float, value: float, unit: str, within: float) -> Quote:
    """A printed value that ours should meet within a share of it."""
    off, ours = abs(value - printed), f"{value:.4g} {unit}"
    return Quote(section, about, unit, off, within * abs(printed), printed=f"about {printed:g} {unit}", ours=ours)


def _below(section: str, about: str, printed: float, value: float, unit: str, most: float) -> Quote:
    """A printed error, or agreement; ours should not be larger than `most`."""
    ours = f"{value:.3g} {unit}"
    return Quote(section, about, unit, abs(value), most, printed=f"{printed:g} {unit}", ours=ours)


def _said(section: str, about: str, printed: str, ours: str, value: float, most: float = 0.0) -> Quote:
    """A statement in words, as a number that should not be larger than `most`."""
    return Quote(section, about, "1", value, most, printed=printed, ours=ours)


def _contact() -> list[Quote]:
    """Sections 2.4 and 3: a mass on bristles and on LuGre's model, a sheave pressed against a cable."""
    ours, *lugre = (float(friction.max()) for _, _, friction in mass_on_friction.compared()[1].values())
    level = mass_on_friction.F_S
    by_segments, reference = sheave_on_cable.convergence()
    growth = max(
        abs(getattr(b, key) - getattr(reference, key)) / abs(getattr(a, key) - getattr(reference, key))
        for found in by_segments.values() for a, b in pairwise(found) for key in ("y", "N")
    )  # fmt: skip
    shown = ", ".join(f"{x:.4g}" for x in lugre)
    away = (level - lugre[1]) / (level - lugre[0])
    return [
        _near("2.4, Fig. 7", "friction at which the mass on bristles breaks away", level, ours, "N", 0.01),
        _said("2.4, Fig. 7", "LuGre's, sigma_0 = 1e5 and 1e6 N/m", "converges to 1.5 N", f"{shown} N", away, 0.5),
        _said("3, Fig. 10", "errors of place and force by twice the elements", "convergence",
              f"at most {growth:.2f} of the error before", growth, 0.75),
    ]  # fmt: skip


def _section_4_ancf(r: Result, found: Mapping[str, Mapping[str, Result]]) -> list[Quote]:
    """Comparison with analytical solutions at 2.45 s, on the finest mesh, and statements of the text on the studies."""
    label, fine = list(found["elements"].items())[-1]
    unit = fine.case.unit
    tight, slack = (float(fine.series[f"{s}.F"][-1]) for s in ("P1_P2", "P2_P1"))
    tau, w_2 = float(fine.series["P1.tau"][-1]), float(fine.series["P2.w"][-1])
    f = studies.figures(fine)
    drop = unit.line_radius[0] * (tight - slack) / tau - 1.0
    load = (25.0 + 2.0 * w_2) / tau - 1.0
    assert unit.ancf is not None
    assert r.case.unit.ancf is not None
    mu, elements = unit.ancf.mu, r.case.unit.ancf.elements
    error, relative = capstan(fine, mu)
    coarse, of = capstan(r, mu)[0], f"largest error, {label}"
    less = 1.0 - f["creep"] / f["from tension"]
    quotes = [
        _near("4", f"r (F_1 - F_2) against the torque of P1, {label}", 0.37, 100.0 * drop, "%", 0.1),
        _below("4", "25 N m + d_P2 omega_P2 against the torque of P1", 0.0, 100.0 * load, "%", 1.0),
        _near("4", "creep from speeds against (F_1 - F_2)/EA", 3.3, 100.0 * less, "%", 0.1),
        _below("4, Fig. 24", f"axial force on P1 against Euler-Eytelwein, {of}", 13.6, error, "N", 13.6),
        _below("4, Fig. 24", f"the same, the unit's {elements} elements", 13.6, coarse, "N", 13.6),
        _below("4, Fig. 24", f"the same, relative, {label}", 2.5, 100.0 * relative, "%", 2.5),
    ]

    def spread(study: str, labels: list[str], name: str) -> float:
        values = [studies.figures(found[study][label])[name] for label in labels]
        return (max(values) - min(values)) / max(abs(v) for v in values)

    nothing = "almost no effect"
    change = spread("elements", list(found["elements"]), "P2.w [rad/s]")
    quotes.append(_said("4, Fig. 12", "speed of P2 by the number of elements", nothing, _percent(change), change, 0.01))
    change = spread("segments", ["segments 4", "segments 8"], "creep")
    quotes.append(_said("4, Figs. 18-21", "creep with 4 or 8 segments", nothing, _percent(change), change, 0.03))
    for place in ("spans", "wraps"):
        a, b, c = (roughness(found["scheme"][f"scheme {k}"], place) for k in "abc")
        about = f"oscillation of the axial force from point to point at 1 s, schemes a, b, c, on the {place}"
        shown = f"{a:.2g}, {b:.2g}, {c:.2g} N"
        quotes.append(_said("4, Fig. 22", about, "c much smoother", shown, c / min(a, b), 0.5))
    return quotes


def capstan(r: Result, mu: float) -> tuple[float, float]:
    """Largest error [N] and relative error of the axial force on the first pulley against Euler and Eytelwein.

    The belt sticks where it runs on and slips over the last part of the wrap: T = T_slack exp(mu phi), phi from where
    it runs off, up to T_tight.
    """
    _, T, theory = capstan_curve(r, mu)
    error = abs(T - theory)
    return float(np.max(error)), float(np.max(error / theory))


def capstan_curve(r: Result, mu: float) -> tuple[Array, Array, Array]:
    """Arc length on the first pulley, axial force there at the end, and Euler and Eytelwein's."""
    path = r.case.unit.path()
    low, high = path.arc(0)
    s, F = r.fields["belt.s"][-1], r.fields["belt.F"][-1]
    on = (s >= low) & (s <= high)
    spans = r.case.unit.spans
    before, after = (float(r.series[f"{span}.F"][-1]) for span in (spans[-1], spans[0]))
    if before < after:  # the slack span ends here: it runs against the order of the pulleys
        phi = (s[on] - low) / path.radius[0]
        slack, tight = before, after
    else:
        phi = (high - s[on]) / path.radius[0]
        slack, tight = after, before
    return s[on], F[on], slack * np.exp(mu * np.minimum(phi, np.log(tight / slack) / mu))


def roughness(r: Result, place: str) -> float:
    """Amplitude [N] by which the axial force alternates from point to point at the first instant, RMS.

    It is a sixteenth of the fourth difference. `place` is "spans" or "wraps"; points nearer than 20 mm to the end of
    one are left out, where the belt bends.
    """
    path, s, F = r.case.unit.path(), r.fields["belt.s"][0], r.fields["belt.F"][0]
    alternating = sum(c * np.roll(F, k) for k, c in zip(range(-2, 3), (1, -4, 6, -4, 1), strict=True)) / 16.0
    section = np.searchsorted(path.knots, s, side="right") - 1
    inner = np.min(abs(s[:, None] - path.knots), axis=1) > 0.02
    chosen = inner & (section % 2 == (0 if place == "spans" else 1))
    return float(np.sqrt(np.mean(alternating[chosen] ** 2)))


def _section_3(r: Result) -> list[Quote]:
    """Kubas 2017, section 3, whose geometry and inputs are not printed: slip is creep, and the driven pulley rings."""
    slip = 1.0 - _late(r, "driven.w") / _late(r, "driving.w")
    slack, tight = sorted((_late(r, "driving_driven.F"), _late(r, "driven_driving.F")))
    creep = (tight - slack) / (r.case.unit.belt.EA + tight)
    rings = r.series["driven.w"][(r.time > 0.3) & (r.time < 0.5)]
    swing, left = float(np.ptp(rings)), float(np.ptp(r.series["driven.w"][r.time > r.time[-1] - 0.2]))
    return [
        _said("3, Fig. 7", "slip, and creep by the tensions", "as measured", f"{_percent(slip)}, {_percent(creep)}",
              abs(slip / creep - 1.0), 0.15),
        _said("3, Fig. 7", "swing of the driven speed after 0.3 s, and at the end", "is damped",
              f"{swing:.2g}, {left:.2g} rad/s", left / swing, 0.5),
    ]  # fmt: skip


def _section_4(r: Result) -> list[Quote]:
    """Kubas 2017, section 4."""
    speed, driven = _late(r, "driving.w"), _late(r, "driven.w")
    slack, tight = _late(r, "driven_driving.F"), _late(r, "driving_driven.F")
    slip = 1.0 - driven / speed
    found = [
        _near("4, Fig. 10", "speed of the transmission", -22.0, speed, "rad/s", 0.03),
        _said("4", "slip", "below 1.5 %", _percent(slip), slip if slip > 0.0 else np.inf, 0.015),
        _near("4, Fig. 11", "tension of the slack span", 250.0, slack, "N", 0.05),
        _near("4, Fig. 11", "tension of the tight span", 780.0, tight, "N", 0.05),
        _near("4, Fig. 11", "their difference", 530.0, tight - slack, "N", 0.05),
    ]
    if "trace.F" in r.series:
        F, middle = r.series["trace.F"], 0.5 * (slack + tight)
        above = np.flatnonzero((r.time > 0.5) & (middle < F))
        if above.size:
            gap = np.flatnonzero(np.diff(above) > 20)
            last = above[gap[0]] if gap.size else above[-1]
            span = float(r.time[last] - r.time[above[0]])
            found.append(_near("4, Fig. 11", "time of a joint on the tight side", 0.9, span, "s", 0.1))
        for name, sign, text in (("driven", 1.0, "grows"), ("driving", -1.0, "falls")):
            N = r.series[f"trace.{name}.N"]
            touch = np.flatnonzero(N > 0.0)
            touch = touch[r.time[touch] > 0.5]
            if touch.size < 20:
                continue
            first = touch[: int(np.argmax(np.append(np.diff(touch), 99) > 20)) + 1]
            inner = first[first.size // 5 : first.size - first.size // 5]
            slope = float(np.polyfit(r.time[inner], N[inner], 1)[0])
            about = f"normal force of an element along the {name} pulley"
            found.append(_said("4, Fig. 12", about, text, f"{slope:+.0f} N/s", -sign * slope))
    return found


def _section_5(r: Result, which: str) -> list[Quote]:
    """Kubas 2017, section 5; `which` names the variant."""
    half = int(np.argmin(abs(r.time - 0.5)))
    crank = float(np.mean(r.series["crankshaft.w"][half - 25 : half + 26]))
    signs = {name: float(np.sign(r.series[f"{name}.w"][half])) for name in r.case.unit.pulleys}
    wanted = dict.fromkeys(signs, -1.0) | {"tensioner": 1.0}
    peak = {name: float(np.max(r.series[f"{name}.peak"])) for name in r.case.unit.pulleys}
    order = sorted(peak, key=lambda name: -peak[name])
    wanted_order = ["alternator", "tensioner"]
    shown = ", ".join("+" if s > 0 else "-" for s in signs.values())
    return [
        _near("5, Fig. 15", "speed of the crankshaft at 0.5 s", -20.0, crank, "rad/s", 0.03),
        _said("5, Fig. 15", "signs of all speeds", "-, -, -, tensioner +", shown, float(signs != wanted)),
        _said("5, Fig. 16", f"largest normal forces on an element{which}", ", then ".join(wanted_order),
              ", then ".join(order[:2]), float(order[:2] != wanted_order)),
        _near("5, Fig. 16", f"at the alternator{which}", 600.0, peak["alternator"], "N", 0.1),
        _near("5, Fig. 16", f"at the tensioner{which}", 450.0, peak["tensioner"], "N", 0.1),
    ]  # fmt: skip


def _percent(x: float) -> str:
    return f"{100.0 * x:.2f} %"
