"""Chapter 7 of Cebulla 2014 with our model: what is run, how the steady state is judged, and what is compared.

`chapter7.toml` holds the runs and the signatures: a quantity of one or more runs and what the source says of it, a
value, a sign or a range. Nothing in it is computed from our results.

What is reported is the mean over the last of two passages of the belt, see `windows`; u is its change from the one
before. The source regularises friction of the flanks (6.1.2) at a speed that it does not print: here it is
`Chapter.v_mu`, whatever the unit has.

Verdicts. Value: agrees if within 3 % or u, else the difference in percent. Sign: agrees, opposite, or not resolved if
the quantity is smaller than u. Range: agrees, not resolved if its nearer end is closer than u, else the difference to
that end.
"""

import hashlib
import json
import time
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.parameters import Parameters
from rtcvt.offline.pushbelt.profiles import Steady, steady_of
from rtcvt.offline.pushbelt.runs import open_run, prepare, simulate, stepped
from rtcvt.offline.pushbelt.schedule import LEFT, Case, Run, Settings
from rtcvt.offline.pushbelt.signatures import QUANTITIES
from rtcvt.recording import replaced_on_success
from rtcvt.unitfile import parse_table, quantity_in

__all__ = [
    "PLOT",
    "Chapter",
    "ChapterRun",
    "Finding",
    "Signature",
    "Verification",
    "chapter7",
    "discretisation",
    "judge",
    "verify",
]

PLOT = 1e-4  # s, plot step of the thesis

WITHIN = 0.03  # of a value: agrees
STEADY = 0.01  # of the thrust ratio: largest change between the two windows
BALANCE = (1e-3, 1e-3, 1e-2, 1e-2)  # of axial force, torque and moments; the tilts, which vibrate, are sampled
COST_RATIO = "cost ratio"
REFINED = ("dt", "52", "156", "N110", "N432")  # suffixes of the runs with another step, ring, chain
TIMED = ("OD", "OD-bilateral", "OD-decoupled", "OD-extended", "LOW", "LOW-bilateral")  # timed against each other


# --- what is run and compared


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Signature(_Record):
    """What the source says of a quantity of some runs."""

    section: str
    about: str
    quantity: str
    runs: tuple[str, ...] = Field(min_length=1)
    value: float | None = None
    sign: Literal["positive", "negative"] | None = None
    range: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one(self) -> "Signature":
        if sum(x is not None for x in (self.value, self.sign, self.range)) != 1:
            raise ValueError("exactly one of value, sign, range")
        if self.quantity not in {*QUANTITIES, COST_RATIO}:
            raise ValueError(f"quantity: one of {', '.join(QUANTITIES)}, {COST_RATIO}")
        return self


class ChapterRun(_Record):
    """One run with the explicit scheme; what is not given is that of unit and case."""

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
    rise: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0  # revolutions before, in which the load rises from nothing

    def run(self, revolutions: float) -> Run:
        """So many revolutions of it, after the rise, with profiles."""
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
        start = Case(self.case, self.row, self.rise)
        return Run(self.name, start, settings, settle=revolutions, plot_step=PLOT, observe=("profiles",))


class Chapter(_Record):
    """Contents of ``chapter7.toml``."""

    source: str
    revolutions: Annotated[float, Field(ge=2.1)]  # length of a run
    v_mu: Annotated[float, quantity_in("m/s", above=0.0)]  # of the flanks
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
    """A signature beside ours: `value` in the last window, `u` its change from the window before."""

    signature: Signature
    value: float
    u: float
    unit: str
    verdict: str  # "agrees", "differs", "opposite", "not resolved"
    text: str


@dataclass(frozen=True)
class Verification:
    """All runs of `chapter7.toml` and what they say."""

    parameters: Parameters
    chapter: Chapter
    steady: Mapping[str, Steady]
    step_us: Mapping[str, tuple[float, float]]  # processor time of a step: smallest, spread of the three smallest [us]
    failed: Mapping[str, str]  # runs without a result, and why

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All signatures whose runs have a result."""
        return tuple(
            judge(s, *_value(self, s)) for s in self.chapter.signature if not any(r in self.failed for r in s.runs)
        )

    @property
    def failures(self) -> tuple[str, ...]:
        """Runs that do not hold what a run must: energy, momentum, steady state. Not what differs from the source."""
        found = [f"{name}: {why}" for name, why in self.failed.items()]
        for name, s in self.steady.items():
            rest, lost, through = s.last.energy
            if not abs(rest) <= 1e-3 * through:
                found.append(f"{name}: energy of {rest:.3g} J is unaccounted for, throughput {through:.3g} J")
            if not abs(rest) <= 0.05 * lost:
                found.append(f"{name}: energy of {rest:.3g} J is unaccounted for, loss {lost:.3g} J")
            if not np.max(np.abs(s.last.balance) / BALANCE) <= 1.0:
                found.append(f"{name}: momentum of a sheave is off by {np.max(np.abs(s.last.balance)):.2g}")
        return tuple(found)

    @property
    def unsteady(self) -> tuple[str, ...]:
        """Runs whose thrust ratio still changes from one revolution to the next by more than 1 %."""
        return tuple(name for name, s in self.steady.items() if not s.drift <= STEADY)

    def figures(self) -> dict[str, Any]:
        """Everything in numbers, ready for JSON: see the command's help for the keys."""
        return {
            "unit": self.parameters.name,
            "source": self.chapter.source,
            "failures": list(self.failures),
            "unsteady": list(self.unsteady),
            "discretisation": {name: error for name, (_, error) in discretisation(self).items()},
            "signatures": [
                {
                    "section": f.signature.section,
                    "about": f.signature.about,
                    "quantity": f.signature.quantity,
                    "runs": list(f.signature.runs),
                    "expected": next(
                        e for e in (f.signature.value, f.signature.sign, f.signature.range) if e is not None
                    ),
                    "value": f.value,
                    "u": f.u,
                    "unit": f.unit,
                    "verdict": f.verdict,
                }
                for f in self.findings
            ],
            "runs": {
                name: {
                    "thrust_ratio": s.last.thrust,
                    "drift": s.drift,
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
    """Compare a value with what the source says of it; `u` is its uncertainty."""
    if not np.isfinite(value):
        return Finding(signature, value, u, unit, "not resolved", "not a number")
    if signature.value is not None:
        off = value / signature.value - 1.0
        good = abs(value - signature.value) <= max(WITHIN * abs(signature.value), u)
        verdict, text = ("agrees" if good else "differs"), f"differs by {100.0 * off:+.1f} %"
        return Finding(signature, value, u, unit, verdict, f"agrees, {100.0 * off:+.1f} %" if good else text)
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
    values = []
    for of in ("before", "last"):
        each = [function(getattr(v.steady[name], of)) for name in s.runs]
        values.append(each[0] - sum(each[1:]))
    return values[1], abs(values[1] - values[0]), unit


def discretisation(v: Verification) -> dict[str, tuple[dict[str, float], float]]:
    """Thrust ratios of the refined runs, and the error of the default discretisation: by case.

    The error adds up what the finest step, ring and chain change from the default, drift included.
    """
    found = {}
    for name in ("OD", "MED-3", "LOW"):
        runs = {"": name} | {key: f"{name}-{key}" for key in REFINED}
        if all(r in v.steady for r in runs.values()):
            k = {key: v.steady[r].last.thrust for key, r in runs.items()}
            found[name] = (k, sum(abs(k[key] / k[""] - 1.0) for key in ("dt", "156", "N432")))
    return found


def verify(
    parameters: Parameters,
    folder: Path,
    chapter: Chapter | None = None,
    processes: int = 2,
    progress: Callable[[str, int, int], None] | None = None,
) -> Verification:
    """Make all runs that `folder` does not hold yet, and evaluate them.

    Parameters
    ----------
    parameters : Parameters
        A pushbelt unit with the cases of chapter 7.
    folder : Path
        Keeps one HDF5 file per run, named after the run and all that determines it; made if needed.
    chapter : Chapter, optional
        Instead of `chapter7`.
    processes : int
        Runs at a time.
    progress : callable, optional
        Called with (what was run, work done, work in all).
    """
    chapter = chapter or chapter7()
    parameters = parameters.model_copy(
        update={"contacts": parameters.contacts.model_copy(update={"v_mu": chapter.v_mu})}
    )
    folder.mkdir(parents=True, exist_ok=True)
    files = {run.name: folder / f"{run.name}-{_key(parameters, run, chapter.revolutions)}.h5" for run in chapter.run}
    weight = {run.name: _weight(run) for run in chapter.run}
    total, done = sum(weight.values()), 0
    failed: dict[str, str] = {}

    def note(name: str) -> None:
        nonlocal done
        done += weight[name]
        if progress is not None:
            progress(name, done, total)

    missing = [run for run in chapter.run if not files[run.name].exists()]
    for run in chapter.run:
        if run not in missing:
            note(run.name)

    def told(run: ChapterRun, why: str) -> None:
        if why:
            failed[run.name] = why
        note(run.name)

    for run in missing[:1]:
        told(run, _make(parameters, run, chapter.revolutions, files[run.name]))  # compiles, for all
    if len(missing) > 1:
        pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
        try:
            jobs = {
                pool.submit(_make, parameters, run, chapter.revolutions, files[run.name]): run for run in missing[1:]
            }
            for job in as_completed(jobs):
                told(jobs[job], job.result())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    steady = {name: read_steady(file) for name, file in files.items() if name not in failed}
    timed = {run.name: run for run in chapter.run if run.name in TIMED}
    step_us = _timed(parameters, timed, chapter.revolutions, folder, progress)
    return Verification(parameters, chapter, steady, step_us, failed)


def read_steady(file: Path) -> Steady:
    """What a run says.

    Raises
    ------
    InputError
        Damaged, or no run with profiles.
    """
    with open_run(file) as found:
        return steady_of(found)


def _weight(run: ChapterRun) -> int:
    return round((run.N_E or 220) * run.steps / 220 * (1.0 + 0.4 * run.rise))


def _make(parameters: Parameters, run: ChapterRun, revolutions: float, file: Path) -> str:
    """Do a run; why there is no result, if so."""
    try:
        outcome = simulate(parameters, run.run(revolutions), file, "", resume=True)
    except InputError as error:
        return str(error)
    if outcome.done and outcome.ended == LEFT:
        file.unlink()
        return f"the belt left its place after {outcome.frames * PLOT:.4f} s"
    if not outcome.done:
        raise KeyboardInterrupt
    with open_run(file) as found:
        turns = float(np.ptp(found["crossings"][()])) / found.attrs["N_E"]
    return "" if turns >= 2.0 else f"{turns:.2f} revolutions, two are needed"


def _key(parameters: Parameters, run: ChapterRun, revolutions: float) -> str:
    """What a result depends on, in eight digits: unit, run, and the sources of the model."""
    found = hashlib.sha256(f"{revolutions} {run.model_dump_json()} {parameters.model_dump_json()}".encode())
    for name in sorted(_SOURCES):
        found.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return found.hexdigest()[:8]


_SOURCES = (
    "compiled", "element_element", "element_ring", "flank", "hybrid", "initial", "kinematics", "maxwell", "parameters",
    "profiles", "ring", "runs", "sheave", "signatures", "snapshots", "taper", "velocity_model", "windows",
)  # fmt: skip


def _timed(
    parameters: Parameters,
    runs: Mapping[str, ChapterRun],
    revolutions: float,
    folder: Path,
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, tuple[float, float]]:
    """Processor time of a step of the runs, in turn, over a quarter revolution; kept in ``cost.json``."""
    key = hashlib.sha256("".join(_key(parameters, r, revolutions) for r in runs.values()).encode()).hexdigest()[:8]
    file = folder / f"cost-{key}.json"
    if file.exists():
        return {k: (v[0], v[1]) for k, v in json.loads(file.read_text(encoding="utf-8")).items()}
    rounds = 7
    cases = {name: prepare(parameters, run.run(0.1)) for name, run in runs.items()}
    found: dict[str, list[float]] = {name: [] for name in cases}
    for k in range(rounds + 1):
        for name, made in cases.items():
            begin, s, ticks = time.thread_time(), made.run.settings, made.clock
            rest = (made.inputs[:51], ticks.steps, ticks.step, s.flank_points)
            _, done = stepped(s.scheme, made.model.ring, made.clock.step)(made.model, made.state, *rest)
            if k and done:  # the first round warms up
                found[name].append(1e6 * (time.thread_time() - begin) / (done * ticks.steps))
        if progress is not None:
            progress("cost of a step", k + 1, rounds + 1)
    result = {name: (min(us), float(np.ptp(np.sort(us)[:3]))) for name, us in found.items()}
    with replaced_on_success(file) as temporary:
        temporary.write_text(json.dumps(result), encoding="utf-8")
    return result
