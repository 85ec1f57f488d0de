"""Chapter 7 of Cebulla 2014 with our model: runs, judgement of the steady state, and comparison.

`chapter7.toml` holds the runs and the signatures: a quantity of one or more runs and the statement of the source about
it, a value, a sign or a range. Nothing in it is computed from our results.

The reported value is the mean over the last of two passages of the belt, see `windows`, and over K starts. The source
regularises friction of the flanks (6.1.2) at a speed that it does not print: here it is the unit's `v_mu`.

Uncertainty. Rounding grows in a belt, so that another machine, which adds in another order, is another start. The
starts of a run differ by a disturbance (`schedule.KICK`); s is the standard deviation between them, and

    u = t_0.975(K - 1) s sqrt(2/K)

is the difference of the mean of K other starts from ours in 19 of 20 cases. A verdict is firm if it is the same for all
values within u: another machine finds it too. One that is not firm may be "not resolved" elsewhere.

Verdicts. Value: agrees if within 3 %; not resolved if that limit is closer than u, else the difference in percent.
Sign: agrees, opposite, or not resolved if the quantity is smaller than u. Range: agrees, not resolved if its nearer end
is closer than u, else the difference to that end.

A run balances energy to a thousandth of the throughput and a hundredth of the loss, and momentum to `BALANCE`.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.stats import t as student

from rtcvt.offline.pushbelt.checks.kept import Job, kept, key, made, make_missing, read_steady, step_times
from rtcvt.offline.pushbelt.checks.signatures import QUANTITIES
from rtcvt.offline.pushbelt.run.profiles import Steady, Window
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.unit.parameters import Parameters, belt, is_belt_of
from rtcvt.unitfile import Record, parse_table

Array = NDArray[np.float64]

PLOT = 1e-4  # s, plot step of the thesis
VERDICTS = ("agrees", "differs", "opposite", "not resolved")

AGREEMENT_RTOL = 0.03  # of a value: agrees
STEADY_RTOL = 0.01  # of the thrust ratio: largest change between the two windows
BALANCE = (1e-3, 1e-3, 1e-2, 1e-2)  # of axial force, torque and moments; the tilts, which vibrate, are sampled
OF_THROUGHPUT, OF_LOSS = 1e-3, 1e-2  # energy that a run leaves unaccounted for, at most
COST_RATIO = "cost ratio"
OTHERS = "The source's belt differs from this unit: only balances and signs can be compared with the printed numbers."
REFINED = ("dt", "52", "156", "N110", "N432")  # suffixes of the runs with another step, ring, chain
TIMED = ("OD", "OD-bilateral", "OD-decoupled", "OD-extended", "LOW", "LOW-bilateral")  # timed against each other


# --- runs and signatures


class Signature(Record):
    """Statement of the source about a quantity of some runs; of: the first less the others, each run, or each less the
    one before it. Of several values the worst is used."""

    section: str
    about: str
    quantity: str
    runs: tuple[str, ...] = Field(min_length=1)
    of: Literal["difference", "each", "steps"] = "difference"
    value: float | None = None
    sign: Literal["positive", "negative"] | None = None
    range: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one(self) -> "Signature":
        if sum(x is not None for x in (self.value, self.sign, self.range)) != 1:
            raise ValueError("exactly one of value, sign, range")
        if self.quantity not in {*QUANTITIES, COST_RATIO}:
            raise ValueError(f"quantity: one of {', '.join(QUANTITIES)}, {COST_RATIO}")
        if self.of != "difference" and (self.sign is None or len(self.runs) < 2):
            raise ValueError(f"of = {self.of}: a sign of several runs")
        return self

    @property
    def kind(self) -> Literal["number", "sign", "cost"]:
        """Printed number, sign or range of a quantity, or cost of a step, which depends on the machine."""
        return "cost" if self.quantity == COST_RATIO else "sign" if self.value is None else "number"

    def of_runs(self, each: Array) -> Array:
        """Values (n, K) from those of `each` run (runs, K)."""
        if self.of == "difference":
            return np.asarray(each[:1] - each[1:].sum(axis=0))
        return each if self.of == "each" else np.diff(each, axis=0)


class ChapterRun(Record):
    """One run with the explicit scheme; other values are those of unit and case."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9.-]*$")]
    case: str
    row: Annotated[int, Field(ge=0)] = 0
    unilateral: bool = True
    coupled: bool = True
    taper_um: Annotated[float, Field(ge=0.0)] = 0.0
    N_E: Annotated[int, Field(ge=20)] | None = None
    N_E0: Annotated[int, Field(ge=20)] | None = None
    N_B: Annotated[int, Field(ge=12)] | None = None
    steps: Annotated[int, Field(ge=10)] = 100  # per plot step of 1e-4 s
    points: Literal[1, 2] = 1  # contact points per flank
    starts: Annotated[int, Field(ge=1)] | None = None
    rise: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0  # revolutions before, in which the load rises from nothing

    def run(self, revolutions: float, seed: int = 0) -> Run:
        """So many revolutions of it, after the rise, with profiles; `seed` of its start."""
        settings = Settings(
            N_E=self.N_E,
            N_E0=self.N_E0,
            N_B=self.N_B,
            taper=1e-6 * self.taper_um,
            law="coupled" if self.coupled else "decoupled",
            contact="unilateral" if self.unilateral else "bilateral",
            flank_points=self.points,
            step=PLOT / self.steps,
        )
        start = Case(self.case, self.row, self.rise, seed)
        return Run(self.name, start, settings, settle=revolutions, plot_step=PLOT, observe=("profiles",))


class Chapter(Record):
    """Contents of ``chapter7.toml``."""

    source: str
    revolutions: Annotated[float, Field(ge=2.1)]  # length of a run
    starts: Annotated[int, Field(ge=1, le=100)]  # default number of starts
    run: tuple[ChapterRun, ...]
    signature: tuple[Signature, ...]

    @model_validator(mode="after")
    def _known(self) -> "Chapter":
        names = [r.name for r in self.run]
        if len(names) != len(set(names)):
            raise ValueError("run: names that are used once")
        for s in self.signature:
            if missing := set(s.runs) - set(names):
                raise ValueError(f"signature '{s.about}': no run '{min(missing)}'")
        return self


def chapter7() -> Chapter:
    """Runs and signatures."""
    path = Path(__file__).with_name("chapter7.toml")
    return parse_table(Chapter, tomllib.loads(path.read_text(encoding="utf-8")), path.name)


# --- all runs


@dataclass(frozen=True)
class Finding:
    """A signature and our `value` +- `u`."""

    signature: Signature
    value: float
    u: float
    unit: str
    verdict: str  # "agrees", "differs", "opposite", "not resolved"
    text: str

    @property
    def firm(self) -> bool:
        """Whether the verdict is the same for all values within u."""
        others = (judge(self.signature, self.value + d, self.u, self.unit) for d in (-self.u, self.u))
        return self.verdict != "not resolved" and all(f.verdict == self.verdict for f in others)


@dataclass(frozen=True)
class Verification:
    """All runs of `chapter7.toml` and their results."""

    parameters: Parameters
    chapter: Chapter
    starts: Mapping[str, tuple[Steady, ...]]  # by run
    step_us: Mapping[str, tuple[float, float]]  # processor time of a step: smallest, spread of the three smallest [us]
    failed: Mapping[str, str]  # runs without a result, and why

    @property
    def of_source(self) -> bool:
        """Whether the unit has the belt whose numbers the source prints."""
        return is_belt_of("pushbelt_24mm", belt(self.parameters)._asdict())

    @property
    def steady(self) -> dict[str, Steady]:
        """The first start of each run."""
        return {name: of[0] for name, of in self.starts.items()}

    def values(self, name: str, function: Callable[[Window], float]) -> Array:
        """Of each start (K,) of a run, in the last window."""
        return np.array([function(s.last) for s in self.starts[name]])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All signatures whose runs have a result: numbers first, then signs, then cost."""
        found = [
            judge(s, *_value(self, s)) for s in self.chapter.signature if not any(r in self.failed for r in s.runs)
        ]
        order = ("number", "sign", "cost")
        return tuple(sorted(found, key=lambda f: order.index(f.signature.kind)))

    def count(self, kind: str) -> dict[str, tuple[int, int]]:
        """How many signatures of a kind have each verdict, and how many of them firmly."""
        found = [f for f in self.findings if f.signature.kind == kind]
        all_of, firm = Counter(f.verdict for f in found), Counter(f.verdict for f in found if f.firm)
        return {verdict: (all_of[verdict], firm[verdict]) for verdict in VERDICTS}

    @property
    def failures(self) -> tuple[str, ...]:
        """Runs that violate energy, momentum or steady state. Differences from the source are not included."""
        found = [f"{name}: {why}" for name, why in self.failed.items()]
        for name, s in ((name, s) for name, of in self.starts.items() for s in of):
            rest, lost, through = s.last.energy
            through = max(through, lost)  # without load the throughput is what vibrations leave, any small number
            if not abs(rest) <= OF_THROUGHPUT * through:
                found.append(f"{name}: energy of {rest:.3g} J is unaccounted for, throughput {through:.3g} J")
            if not abs(rest) <= OF_LOSS * lost:
                found.append(f"{name}: energy of {rest:.3g} J is unaccounted for, loss {lost:.3g} J")
            if not np.max(np.abs(s.last.balance) / BALANCE) <= 1.0:
                found.append(f"{name}: momentum of a sheave is off by {np.max(np.abs(s.last.balance)):.2g}")
        return tuple(found)

    @property
    def unsteady(self) -> tuple[str, ...]:
        """Runs whose thrust ratio still changes from one revolution to the next by more than 1 %, in the mean of the
        starts."""
        return tuple(name for name in self.starts if not abs(self.drift(name)) <= STEADY_RTOL)

    def drift(self, name: str) -> float:
        """Relative change of the thrust ratio between the windows, mean of the starts."""
        return float(np.mean([s.last.thrust / s.before.thrust - 1.0 for s in self.starts[name]]))

    def figures(self) -> dict[str, Any]:
        """Everything in numbers, ready for JSON: see the command's help for the keys."""
        return {
            "unit": self.parameters.name,
            "source": self.chapter.source,
            "failures": list(self.failures),
            "unsteady": list(self.unsteady),
            "discretisation": {name: error for name, (_, error) in discretisation(self).items()},
            "counts": {
                kind: {verdict: {"all": n, "firm": firm} for verdict, (n, firm) in self.count(kind).items()}
                for kind in ("number", "sign", "cost")
            },
            "signatures": [
                {key: getattr(s, key) for key in ("section", "about", "quantity", "runs", "kind")}
                | {"expected": next(e for e in (s.value, s.sign, s.range) if e is not None)}
                | {key: getattr(f, key) for key in ("value", "u", "unit", "verdict", "firm")}
                for f in self.findings
                for s in (f.signature,)
            ],
            "runs": {
                name: {
                    "starts": len(self.starts[name]),
                    "thrust_ratio": self.values(name, lambda w: w.thrust).tolist(),
                    "drift": self.drift(name),
                    "torque_N_m": s.last.torque,
                    "slip": s.last.slip,
                    "endplay_m": s.last.endplay.tolist(),
                    "energy_J": s.last.energy.tolist(),
                    "balance": s.last.balance.tolist(),
                    "step_us": s.step_us,
                }
                for name, s in self.steady.items()
            },
            "step_us": {name: list(us) for name, us in self.step_us.items()},
        }


def judge(signature: Signature, value: float, u: float, unit: str) -> Finding:
    """Compare a value with the statement of the source; `u` is its uncertainty."""
    if not np.isfinite(value):
        return Finding(signature, value, u, unit, "not resolved", "not a number")
    if signature.value is not None:
        off = value / signature.value - 1.0
        beyond = abs(value - signature.value) - AGREEMENT_RTOL * abs(signature.value)
        verdict = "agrees" if beyond <= 0.0 else "not resolved" if beyond <= u else "differs"
        text = f"differs by {100.0 * off:+.1f} %" if verdict == "differs" else f"{verdict}, {100.0 * off:+.1f} %"
        return Finding(signature, value, u, unit, verdict, text)
    if signature.sign is not None:
        towards = value if signature.sign == "positive" else -value
        verdict = "not resolved" if abs(value) <= u else "agrees" if towards > 0.0 else "opposite"
        return Finding(signature, value, u, unit, verdict, verdict)
    assert signature.range is not None
    low, high = signature.range
    off = max(low - value, value - high)
    verdict = "agrees" if off <= 0.0 else "not resolved" if off <= u else "differs"
    end = low if value < low else high
    by = f" by {100.0 * (value / end - 1.0):+.1f} %" if end != 0.0 else f" by {value:+.3g} {unit}"
    return Finding(signature, value, u, unit, verdict, verdict + (by if verdict == "differs" else ""))


def _value(v: Verification, s: Signature) -> tuple[float, float, str]:
    if s.quantity == COST_RATIO:
        (a, da), (b, db) = (v.step_us[name] for name in s.runs)
        return a / b, a / b * (da / a + db / b), "1"
    function, unit = QUANTITIES[s.quantity]
    values = s.of_runs(np.array([v.values(name, function) for name in s.runs]))
    means = values.mean(axis=1)
    least = int(np.argmin(means if s.sign == "positive" else -means))
    return float(means[least]), band(values[least]), unit


def band(values: Array) -> float:
    """u of the mean of K values, infinite for one."""
    K = len(values)
    return float(student.ppf(0.975, K - 1) * values.std(ddof=1) * np.sqrt(2.0 / K)) if K > 1 else np.inf


def discretisation(v: Verification) -> dict[str, tuple[dict[str, float], float]]:
    """Thrust ratios of the refined runs, and the error of the default discretisation: by case.

    The error is the sum of the changes by the finest step, ring and chain, drift included.
    """
    found = {}
    for name in ("OD", "MED-3", "LOW"):
        runs = {"": name} | {key: f"{name}-{key}" for key in REFINED}
        if all(r in v.steady for r in runs.values()):
            k = {key: float(v.values(r, lambda w: w.thrust).mean()) for key, r in runs.items()}
            found[name] = (k, sum(abs(k[key] / k[""] - 1.0) for key in ("dt", "156", "N432")))
    return found


def verify(
    parameters: Parameters,
    folder: Path,
    chapter: Chapter | None = None,
    processes: int = 2,
    progress: Callable[[str, int, int], None] | None = None,
) -> Verification:
    """Make all runs that are missing in `folder`, and evaluate them.

    Parameters
    ----------
    parameters : Parameters
        A pushbelt unit with the cases of chapter 7.
    folder : Path
        Folder with one HDF5 file per run, named after the run and all that determines it; made if needed.
    chapter : Chapter, optional
        Runs and signatures instead of `chapter7`.
    processes : int
        Runs at a time; 1: in this process.
    progress : callable, optional
        Called with (name of the run, work done, work in all).
    """
    chapter = chapter or chapter7()
    folder.mkdir(parents=True, exist_ok=True)
    jobs, files = [], {}
    for run in chapter.run:
        name = _key(parameters, run, chapter.revolutions)
        for seed in range(run.starts or chapter.starts):
            files[run.name, seed] = file = folder / f"{run.name}-{seed}-{name}.h5"
            arguments = parameters, run, chapter.revolutions, file, seed
            jobs.append(Job(run.name, f"{run.name}, start {seed + 1}", file, _weight(run), arguments))
    failed = make_missing(jobs, _make, processes, progress)
    found = {
        run.name: tuple(read_steady(files[run.name, k]) for k in range(run.starts or chapter.starts))
        for run in chapter.run
        if run.name not in failed
    }
    timed = {run.name: run for run in chapter.run if run.name in TIMED}
    if progress is not None:
        progress("cost of a step", 0, 1)
    step_us = _timed(parameters, timed, chapter.revolutions, folder)
    return Verification(parameters, chapter, found, step_us, failed)


def _weight(run: ChapterRun) -> int:
    return round((run.N_E or 220) * run.steps / 220 * (1.0 + 0.4 * run.rise))


def _make(parameters: Parameters, run: ChapterRun, revolutions: float, file: Path, seed: int = 0) -> str:
    """Do a run; why there is no result, if so."""
    if why := made(parameters, run.run(revolutions, seed), file):
        return why
    with open_run(file) as found:
        turns = float(np.ptp(found["crossings"][()])) / found.attrs["N_E"]
    return "" if turns >= 2.0 else f"{turns:.2f} revolutions, two are needed"


def _key(parameters: Parameters, run: ChapterRun, revolutions: float) -> str:
    """Digest of the dependencies of a result, eight digits."""
    return key(revolutions, run.model_dump_json(exclude={"starts"}), parameters.model_dump_json())


def _timed(
    parameters: Parameters, runs: Mapping[str, ChapterRun], revolutions: float, folder: Path
) -> dict[str, tuple[float, float]]:
    """Processor time of a step of the runs; kept in ``cost-KEY.json``."""
    file = folder / f"cost-{key(*(_key(parameters, r, revolutions) for r in runs.values()))}.json"

    def timed() -> dict[str, Any]:
        times = step_times(parameters, {name: run.run(0.1) for name, run in runs.items()}, 50)
        return {name: (min(us), float(np.ptp(np.sort(us)[:3]))) for name, us in times.items()}

    return {name: (us[0], us[1]) for name, us in kept(file, "times of steps", timed).items()}
