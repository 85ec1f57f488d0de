"""Plan of a campaign: operating points and transients of the full model.

A plan is a TOML file. ``[space]`` bounds the operating points: ratio of the radii at the rocking edges, speed of the
primary, torque ratio and clamping force of the secondary (`schedule`). They are drawn from a scrambled Halton
sequence (`scipy.stats.qmc`), evenly in ln i, ln omega_I, xi and ln F_O. ``[points]`` requests operating points with a
branch for each range of force factors y_I, drawn within; each ``[[transient]]`` runs with one branch, whose y_I,
clamping factor y_O (of the two forces) and torque ratio afterwards are also drawn, where they are given; each
``[[refine]]`` more operating points, within its own ranges.

An impossible point is drawn again: where the velocity model (`velocity_model`) finds no belt or one that slips, where
the torque ratio is above `capacity` of the pulleys' capacity, 1 on the secondary and the model's F_I/F_O on the
primary, or where the belt is faster than `belt_speed` or kappa = m* v^2/F_O above `kappa`. The same applies to loads
and forces at the end of a branch, and F_O stays within its range. A primary with less force carries less torque: where
the lowest y_I would exceed `capacity`, all y_I below 1 are drawn nearer to 1, in proportion. Runs that slip
nevertheless are results. Points with a `least_load` have at least this share of the capacity.

The belt may have two settled states, where the push force changes strands and, with and without vibrations, next to the
capacity. With `approach` a run begins (`schedule`) at a torque ratio whose magnitude is larger by this much, but at
most `MAX_FIRST_SHARE` of the capacity, above which the load rises to its own.

A model `spatial` starts after `before` revolutions of the hybrid model, which are part of the settling. A `[[twin]]`
has the same points once more with another model or step: the results of two models are compared (`twins`), and, where
only the step differs, the scatter by the start of one model.

The load on the secondary is the plan's `load` (`pushbelt.unit.load`), else the unit's, else its load torque alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator
from scipy.stats import qmc

from rtcvt.errors import InputError, near
from rtcvt.offline.pushbelt.run.prepare import geometry_of, largest_step, load_torque
from rtcvt.offline.pushbelt.run.schedule import APPROACH, Branch, Point, Run, Scheme, Settings
from rtcvt.offline.pushbelt.run.schedule import Model as Fidelity
from rtcvt.offline.pushbelt.unit.load import Loads
from rtcvt.offline.pushbelt.unit.parameters import (
    FORCE,
    RATE,
    TORQUE,
    Belt,
    Boundary,
    Parameters,
    Sheaves,
    belt,
    sheaves,
)
from rtcvt.offline.pushbelt.unit.velocity_model import belt_velocity
from rtcvt.unitfile import AnyRecord, Record, quantity_in, read_record

Array = NDArray[np.float64]

RANGES = ("ratio", "speed", "torque_ratio", "clamping_force")
MAX_FIRST_SHARE = 0.8  # share of the capacity that an approach begins with at most
_DRAWS = 200  # times the number of runs: a space with less in it than one point in 200 is refused


def _range_of(unit: str, above: float | None = None) -> BeforeValidator:
    convert = quantity_in(unit, above=above).func

    def both(value: Any) -> tuple[float, float]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueError(f"[lower, upper] in {unit}")
        lower, upper = (convert(v) for v in value)  # type: ignore[call-arg]
        if not lower <= upper:
            raise ValueError("[lower, upper], in this order")
        return lower, upper

    return BeforeValidator(both)


Factor = Annotated[tuple[float, float], _range_of("1", above=0.0)]
TorqueRatio = Annotated[tuple[float, float], _range_of("1")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
Count = Annotated[int, Field(ge=0, le=100_000)]
Turns = Annotated[float, Field(gt=0.0, le=1000.0)]


class Model(Record):
    """How the full model runs; None: the unit's number of elements and ring nodes, the step that suits the scheme."""

    scheme: Scheme = "multirate"
    step: Annotated[float, quantity_in("s", above=0.0)] | None = None  # at most
    frames: Annotated[int, Field(ge=8, le=1000)] = 48  # per revolution
    load: Loads | None = None  # None: the unit's
    N_E: Annotated[int, Field(ge=20, le=2000)] | None = None
    N_B: Annotated[int, Field(ge=12, le=1000)] | None = None
    belt: Fidelity = "hybrid"
    before: Annotated[float, Field(ge=0.0, le=20.0)] = 0.0  # revolutions of the hybrid model, of a spatial belt
    flank_points: Literal[1, 2] = 1


class Twin(Record):
    """The points once more, with another belt or step."""

    name: Name
    belt: Fidelity
    step: Annotated[float, quantity_in("s", above=0.0)] | None = None  # as in `Model`
    settle: Turns | None = None  # revolutions, by default those of the points


class Space(Record):
    """Bounds of the operating points."""

    ratio: Factor
    speed: Annotated[tuple[float, float], _range_of("rad/s", above=0.0)]
    torque_ratio: TorqueRatio
    clamping_force: Annotated[tuple[float, float], _range_of("N", above=0.0)]
    belt_speed: Annotated[float, quantity_in("m/s", above=0.0)] = 50.0
    kappa: Annotated[float, Field(gt=0.0)] = 1.0
    capacity: Annotated[float, Field(gt=0.0)] = 0.97
    limits: Factor = (0.43, 2.5)  # of the ratio: where a branch ends

    @model_validator(mode="after")
    def _inside(self) -> "Space":
        if not self.limits[0] < self.ratio[0] <= self.ratio[1] < self.limits[1]:
            raise ValueError("limits: below and above the range of the ratio")
        return self


POINT = "[ratio, speed, torque ratio, clamping force]"


def _four(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise ValueError(f"{POINT}, as in [1.0, '1000 rpm', 0.1, '20 kN']")
    return value


Chosen = Annotated[tuple[Annotated[float, Field(gt=0.0)], Annotated[float, quantity_in("rad/s", above=0.0)], float,
                         Annotated[float, quantity_in("N", above=0.0)]], BeforeValidator(_four)]  # fmt: skip


class Points(Record):
    """Operating points: settled states with a branch for each range of force factors. Times in revolutions.

    ratio, speed, torque_ratio, clamping_force: ranges of these points; by default those of the space. at: points that
    are not drawn, [ratio, speed, torque ratio, clamping force], with the middles of the force factors.
    """

    name: Name = "point"
    number: Count = 0
    at: tuple[Chosen, ...] = ()
    ratio: Factor | None = None
    speed: Annotated[tuple[float, float], _range_of("rad/s", above=0.0)] | None = None
    torque_ratio: TorqueRatio | None = None
    clamping_force: Annotated[tuple[float, float], _range_of("N", above=0.0)] | None = None
    force_factors: tuple[Factor, ...] = Field(default=(), max_length=12)
    settle: Turns = 4.0
    mean: Turns = 1.5
    settle_at_most: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0  # of a belt that drifts, see `Run`
    duration: Turns = 1.2  # of a branch
    lead: Turns = 0.4  # at its start, in no mean
    elements: Count = 0  # in every so many runs elements and ring are kept; 0: in none
    least_load: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    approach: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0

    @model_validator(mode="after")
    def _fits(self) -> "Points":
        _settles(self)
        if not self.lead < self.duration:
            raise ValueError("lead: below duration")
        if self.number > 0 and self.at:
            raise ValueError("number or at, not both")
        return self

    @property
    def count(self) -> int:
        """How many."""
        return self.number or len(self.at)


class Transient(Record):
    """Runs with one long branch. A range that is not given leaves its quantity as it is."""

    name: Name
    number: Count
    force_factor: Factor | None = None
    clamping_factor: Factor | None = None
    torque_ratio: TorqueRatio | None = None
    settle: Turns = 4.0
    mean: Turns = 1.5
    settle_at_most: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0  # of a belt that drifts, see `Run`
    ramp: Annotated[float, Field(ge=0.0)] = 0.2  # revolutions
    duration: Turns = 10.0
    longest: Annotated[float, quantity_in("s", above=0.0)] = 1.0
    approach: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0

    @model_validator(mode="after")
    def _fits(self) -> "Transient":
        _settles(self)
        if self.force_factor is None and self.clamping_factor is None and self.torque_ratio is None:
            raise ValueError("one of force_factor, clamping_factor, torque_ratio")
        return self


def _settles(p: Points | Transient) -> None:
    if 0.0 < p.settle_at_most < p.settle:
        raise ValueError("settle_at_most: at least settle, or 0")
    if 2.0 * p.mean + (APPROACH if p.approach > 0.0 else 0.0) > p.settle:
        raise ValueError(f"settle: at least twice mean, and {APPROACH:g} more with an approach")


class Plan(Record):
    """A plan."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
    description: str = ""
    seed: Annotated[int, Field(ge=0)] = 0
    model: Model = Model()
    space: Space
    points: Points
    transient: tuple[Transient, ...] = ()
    refine: tuple[Points, ...] = ()
    twin: tuple[Twin, ...] = ()

    source: Annotated[str, Field(exclude=True)] = ""

    @model_validator(mode="after")
    def _names_once(self) -> "Plan":
        names = [self.points.name, *(t.name for t in self.transient), *(p.name for p in self.refine)]
        if len(names) != len(set(names)):
            raise ValueError("names of points, transient and refine that are used once")
        if len({t.name for t in self.twin}) != len(self.twin):
            raise ValueError("twin: names that are used once")
        m, belts = self.model, {self.model.belt, *(t.belt for t in self.twin)}
        if "spatial" in belts and m.flank_points != 2:
            raise ValueError("model: a spatial belt needs flank_points = 2")
        if m.before > 0.0 and "spatial" not in belts:
            raise ValueError("model: before is for a spatial belt")
        each: list[Points | Transient] = [self.points, *self.transient, *self.refine]
        for p in each:
            least = min((p.settle, *(t.settle for t in self.twin if t.settle is not None)))
            if m.before > 0.0 and (p.approach > 0.0 or 2.0 * p.mean + m.before > least):
                raise ValueError("model: with before, points without approach and settle >= 2 mean + before")
            if 2.0 * p.mean > least:
                raise ValueError("twin: settle at least twice mean")
        return self


def shipped_plans() -> dict[str, Path]:
    """Names and files of the plans that come with the package."""
    return shipped_in("variator")


def shipped_in(folder: str) -> dict[str, Path]:
    """Names and files of the plans in a folder of the package."""
    return {f.stem: f for f in sorted((Path(str(resources.files("rtcvt.offline"))) / folder).glob("*.toml"))}


def planned(record: type[AnyRecord], name: str | Path, shipped: Mapping[str, Path]) -> tuple[AnyRecord, str]:
    """A plan from a file, or one of the `shipped` by name, and its text; errors as of `load_plan`."""
    path = Path(name)
    if not path.is_file():
        if str(name) not in shipped:
            allowed = f"a TOML file, or one of the shipped plans{near(str(name), shipped)}"
            raise InputError("--plan", "", str(name), allowed)
        path = shipped[str(name)]
    return read_record(record, path, {}, source=path.name)


def load_plan(name: str | Path) -> tuple[Plan, str]:
    """A plan from a file, or a shipped one by name, and its text.

    Raises
    ------
    InputError
        Missing file, not TOML, or not a valid plan; names file, key, value and what is allowed.
    """
    return planned(Plan, name, shipped_plans())


def names_of(plan: Plan) -> list[str]:
    """Names of the runs of a plan."""
    groups: list[Points | Transient] = [plan.points, *plan.transient, *plan.refine]
    ends = ("", *(f"-{t.name}" for t in plan.twin))
    counts = [(p.name, p.count if isinstance(p, Points) else p.number) for p in groups]
    return [f"{name}-{k:03}{end}" for name, count in counts for k in range(count) for end in ends]


def runs_of(plan: Plan, parameters: Parameters) -> Iterator[Run]:
    """The runs of a plan, the same ones at each call, each followed by its twins; the first ones fill the space as
    evenly as all do.

    Raises
    ------
    InputError
        Hardly any point of the space can be.
    """
    for run in _points_of(plan, parameters):
        yield _with(run, plan.model.belt, plan.model.before, plan.model.step)
        for t in plan.twin:
            settings = replace(run.settings, step=run.settings.step if t.step is None else t.step)
            settle = run.settle if t.settle is None else t.settle
            twin = replace(run, name=f"{run.name}-{t.name}", settings=settings, settle=settle)
            yield _with(twin, t.belt, plan.model.before, plan.model.step if t.step is None else t.step)


def _with(run: Run, belt: Fidelity, before: float, step: float | None) -> Run:
    """The run with a belt; a spatial one without a given step gets its default step."""
    if belt == "hybrid":
        return run
    settings = replace(run.settings, model=belt, before=before, step=step)
    longest = max(0.0, run.settle_at_most - before)
    return replace(run, settings=settings, settle=run.settle - before, settle_at_most=longest)


def _points_of(plan: Plan, parameters: Parameters) -> Iterator[Run]:
    """The runs of a plan with the hybrid belt."""
    b, s = belt(parameters, N_E=plan.model.N_E, N_B=plan.model.N_B), sheaves(parameters)
    if plan.model.load is None:
        plan = plan.model_copy(update={"model": plan.model.model_copy(update={"load": parameters.load})})
    rng = np.random.default_rng(plan.seed)

    def points(p: Points) -> Iterator[Run]:
        if p.at:
            return _chosen(plan, b, s, p)
        part = {k: v for k in RANGES if (v := getattr(p, k)) is not None}
        within = plan.model_copy(update={"space": plan.space.model_copy(update=part)})
        return _drawn(within, b, s, partial(_point, b=b, p=p), p, 4 + len(p.force_factors), rng)

    yield from points(plan.points)
    for t in plan.transient:
        yield from _drawn(plan, b, s, partial(_transient, b=b, t=t), t, 7, rng)
    for p in plan.refine:
        yield from points(p)


def _chosen(plan: Plan, b: Belt, s: Sheaves, p: Points) -> Iterator[Run]:
    """The runs at given points."""
    for k, at in enumerate(p.at):
        space = plan.space.model_copy(update={name: (x, x) for name, x in zip(RANGES, at, strict=True)})
        there = _point(plan.model_copy(update={"space": space}), np.full(4 + len(p.force_factors), 0.5), k, b, p)
        run = _possible(space, b, s, plan.model, there, p.least_load, p.approach)
        if run is None:
            key = "points" if p is plan.points else f"refine.{plan.refine.index(p)}"
            allowed = f"{POINT} of a belt in its place that carries the torque, within capacity, belt_speed and kappa"
            raise InputError(plan.source, f"{key}.at.{k}", list(at), f"{allowed} of the space")
        yield run


def _linear(bounds: tuple[float, float], u: float) -> float:
    return bounds[0] + u * (bounds[1] - bounds[0])


def _geometric(bounds: tuple[float, float], u: float) -> float:
    return bounds[0] * (bounds[1] / bounds[0]) ** u


def _point(plan: Plan, u: Array, k: int, b: Belt, p: Points) -> Run:
    xi = _linear(plan.space.torque_ratio, u[2])
    factors = [_geometric(r, a) for r, a in zip(p.force_factors, u[4:], strict=True)]
    branches = tuple(Branch(y_I, 1.0, xi, 0.0, p.lead, p.duration) for y_I in factors)
    kept = p.elements > 0 and k % p.elements == 0
    return _run(plan, b, p, k, u, xi, branches, kept)


def _transient(plan: Plan, u: Array, k: int, b: Belt, t: Transient) -> Run:
    y_O = 1.0 if t.clamping_factor is None else _geometric(t.clamping_factor, u[4])
    y_I = 1.0 if t.force_factor is None else _geometric(t.force_factor, u[5])
    xi = _linear(plan.space.torque_ratio, u[2]) if t.torque_ratio is None else _linear(t.torque_ratio, u[6])
    branch = Branch(y_I * y_O, y_O, xi, t.ramp, 0.0, t.duration)
    begin = _linear(plan.space.torque_ratio, u[2])
    return _run(plan, b, t, k, u, begin, (branch,), False, t.longest)


def _run(
    plan: Plan,
    b: Belt,
    p: Points | Transient,
    k: int,
    u: Array,
    xi: float,
    branches: tuple[Branch, ...],
    elements: bool,
    longest: float | None = None,
) -> Run:
    """The run at the point `u` of the unit cube; branches not longer than `longest` [s]."""
    a, m = plan.space, plan.model
    start = Point(_geometric(a.ratio, u[0]), _geometric(a.speed, u[1]), xi, _geometric(a.clamping_force, u[3]))
    step = largest_step(m.scheme, b) if m.step is None else m.step
    return Run(
        name=f"{p.name}-{k:03}", start=start,
        settings=Settings(N_E=m.N_E, N_B=m.N_B, flank_points=m.flank_points, scheme=m.scheme, step=step),
        settle=p.settle, mean=p.mean, settle_at_most=p.settle_at_most, branches=branches, longest=longest,
        limits=a.limits, frames=m.frames, observe=("elements", "fields") if elements else ("fields",),
    )  # fmt: skip


def _drawn(
    plan: Plan,
    b: Belt,
    s: Sheaves,
    make: Callable[[Plan, Array, int], Run],
    p: Points | Transient,
    dimensions: int,
    rng: np.random.Generator,
) -> Iterator[Run]:
    """Runs of `p` at those points of the unit cube that the belt can hold."""
    found, number = 0, p.number
    least = p.least_load if isinstance(p, Points) else 0.0
    sequence = qmc.Halton(dimensions, scramble=True, rng=rng)
    for u in sequence.random(_DRAWS * number):
        if found == number:
            return
        run = _possible(plan.space, b, s, plan.model, make(plan, u, found), least, p.approach)
        if run is not None:
            found += 1
            yield run
    if found < number:
        raise InputError(plan.source, "space", None, f"more than one point in {_DRAWS} possible for the belt")


def _possible(space: Space, b: Belt, s: Sheaves, m: Model, run: Run, least: float, approach: float) -> Run | None:
    """The run with force factors that hold, where it begins and its load, or None if it cannot be or has less than
    the `least` share of the capacity."""
    at = run.start
    assert isinstance(at, Point)
    if max(abs(at.xi), *(abs(k.xi / k.y_O) for k in run.branches), 0.0) > space.capacity:
        return None
    try:
        geometry = geometry_of(b, s, at)
    except InputError:
        return None
    v = at.omega_I * (geometry.r_I - b.h_off)
    if v > space.belt_speed or b.m_star * v**2 / at.F_O > space.kappa:
        return None
    if not all(space.clamping_force[0] <= k.y_O * at.F_O <= space.clamping_force[1] for k in run.branches):
        return None
    held = 1.0  # lowest y_I/y_O
    limits = []  # of |xi|
    for F_O, xi in ((at.F_O, at.xi), *((k.y_O * at.F_O, k.xi / k.y_O) for k in run.branches)):
        M_O = load_torque(b, xi, F_O, geometry.r_O)
        steady = belt_velocity(b, Boundary(RATE, 0.0, FORCE, F_O, at.omega_I, TORQUE, M_O), geometry, b.h_off)
        needed = abs(xi) / space.capacity
        limits.append(min(1.0, steady.F_CI / F_O))
        if not steady.converged or steady.slips or needed > limits[-1]:
            return None
        held = min(held, 1.0 - needed * F_O / steady.F_CI)
    if abs(at.xi) < least * limits[0]:
        return None
    begin = min(abs(at.xi) + approach, MAX_FIRST_SHARE * limits[0]) if approach > 0.0 and at.xi != 0.0 else None
    lowest = min([1.0, *(k.y_I / k.y_O for k in run.branches)])
    share = min(1.0, held / (1.0 - lowest)) if lowest < 1.0 else 1.0
    branches = (
        replace(k, y_I=k.y_O * (1.0 - share * (1.0 - k.y_I / k.y_O))) if k.y_I < k.y_O else k for k in run.branches
    )
    load = None
    if m.load is not None:
        load = m.load.at(s.J, load_torque(b, 1.0, at.F_O, geometry.r_O), at.omega_I / at.ratio)
    return replace(
        run,
        start=replace(at, begin=None if begin is None else float(np.copysign(begin, at.xi))),
        settings=replace(run.settings, load=load),
        branches=tuple(branches),
    )
