"""Sweeps: a real-time model over many values of its parameters and inputs, on all processors, into one file.

A sweep is a grid, every value of each parameter with every value of the others, or a sample of `samples` points in the
box of their ranges: Latin hypercube, Sobol or Halton, or points from which SALib finds what results depend on. Each
point is a run as `rtcvt.simulate.simulate` makes it, with the same bits. Threads share the compiled model, or the
workers of a dask cluster build it; a point that fails is named, and the others go on.

The file is netCDF-4, also for xarray and other tools, and grows while the sweep runs: the same sweep continues where it
was interrupted. It has a dimension for each parameter of a grid, or the dimension ``point`` of a sample; then
``statistic`` (`STATISTICS`) or, for series, ``time``.
"""

import json
import math
import os
import time as clock
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import processes, quantity
from rtcvt.errors import AsInputError, InputError, near
from rtcvt.files import goes_on_with, opened
from rtcvt.files.hdf5 import refused, require_bounded
from rtcvt.kernel import FAILED, SATURATED
from rtcvt.lazily import lazily
from rtcvt.model import Instance, Model, Variable
from rtcvt.model.march import tally_rows
from rtcvt.recording import optional, replaced_on_success, require_writable
from rtcvt.scenario import Scenario, apply_parameters, parameter_changes, sample_inputs
from rtcvt.simulate import number_of_steps, stepped

Array = NDArray[np.float64]
Method = Literal["grid", "latin", "sobol", "halton", "morris", "saltelli"]
Values = float | str | Sequence[float | str]
_code_of = lazily("rtcvt.fmu.batch:code_of")
_batch = lazily("rtcvt.fmu.batch:Batch")

STATISTICS = ("final", "min", "max", "mean", "rms")  # of the values at all communication points
SENSITIVITIES = {"morris": ("morris", "mu_star", "sigma"), "saltelli": ("sobol", "S1", "ST")}  # SALib's name, measures
BLOCK = 2_000  # steps in one call
EVERY = 5.0  # s between two versions of the file at the least
MOST_POINTS = 1_000_000
MOST_VALUES = 250_000_000  # in a file
FORM = "values 'a, b, c', or a range 'first:last:number'"
NATIVE_STEPS = 2_000_000  # from which on a compiler of C for this model pays
MOST_CALLS = 1_000  # of workers of a cluster
TOGETHER = 8  # points in one of them at the least, with machine code for so many
MOST_REDONE = 0.5  # of the steps of instances together; with more they step one by one
WAITING, FAILING = -1, FAILED  # status of a point: still to run, failed; else 0, or 1 where a limit was active


@dataclass(frozen=True)
class Axis:
    """Values of a parameter or an input [SI]."""

    variable: Variable
    values: Array


@dataclass(frozen=True)
class Design:
    """Points of a sweep: `axes` of a grid, or one axis of values for each variable along the points of a sample, which
    has these `shares` of the ranges (points, axes)."""

    method: Method
    axes: tuple[Axis, ...]
    shares: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions of the points."""
        return tuple(len(a.values) for a in self.axes) if self.method == "grid" else (len(self.axes[0].values),)

    @property
    def points(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def point(self, k: int) -> dict[str, float]:
        """Values by name at point `k`."""
        places: Sequence[Any] = np.unravel_index(k, self.shape) if self.method == "grid" else (k,) * len(self.axes)
        return {a.variable.name: float(a.values[i]) for a, i in zip(self.axes, places, strict=True)}


def design(
    model: Model, given: Mapping[str, Values], method: Method = "grid", samples: int | None = None, seed: int = 0
) -> Design:
    """The points of a sweep.

    Parameters
    ----------
    model : Model
        Whose parameters and inputs are meant.
    given : mapping
        By name: numbers or quantities, a text of them with commas, a range ``"first:last:number"``, evenly spaced, or
        ``"first:last:number:log"``, evenly in the logarithm. For a sample ``"low:high"`` or two values.
    method : {"grid", "latin", "sobol", "halton", "morris", "saltelli"}
        How they are drawn; the last two for `Sweep.sensitivity`.
    samples : int, optional
        Number of points of a sample; of N parameters Morris takes N + 1 times as many, Saltelli N + 2 times.
    seed : int
        Of the sample.

    Raises
    ------
    InputError
        A name that the model does not have, a value that it may not have, or too many points.
    """
    if not given:
        raise InputError("sweep", "parameters", None, "at least one parameter or input with its values")
    if (method == "grid") == (samples is not None):
        allowed = "a number of points for a method that draws them, none for a grid"
        raise InputError("sweep", "samples", samples, allowed)
    axes, share = [_axis(model, name, values, method != "grid") for name, values in given.items()], None
    if samples is not None:
        if not 1 <= samples <= MOST_POINTS:
            raise InputError("sweep", "samples", samples, f"a number from 1 to {MOST_POINTS}")
        if seed < 0:
            raise InputError("sweep", "seed", seed, "a whole number from 0 on")
        share = _drawn(method, len(axes), samples, seed)
        axes = [Axis(a.variable, a.values[0] + share[:, k] * (a.values[1] - a.values[0])) for k, a in enumerate(axes)]
    found = Design(method, tuple(axes), share)
    if found.points > MOST_POINTS:
        raise InputError("sweep", "parameters", found.points, f"at most {MOST_POINTS} points")
    return found


def _drawn(method: Method, dimensions: int, samples: int, seed: int) -> Array:
    """Points in the unit cube (samples, dimensions)."""
    if method in SENSITIVITIES:
        if method == "saltelli" and samples & (samples - 1):
            raise InputError("sweep", "samples", samples, "a power of 2 for Sobol's indices")
        problem, more = _problem(dimensions), {"calc_second_order": False} if method == "saltelli" else {}
        sample = optional(f"SALib.sample.{SENSITIVITIES[method][0]}").sample
        return np.asarray(sample(problem, samples, seed=seed, **more))
    qmc = optional("scipy.stats.qmc")
    if method == "latin":
        return np.asarray(qmc.LatinHypercube(dimensions, rng=seed).random(samples))
    drawn: Any = {"sobol": qmc.Sobol, "halton": qmc.Halton}[method](dimensions, rng=seed)
    whole = math.ceil(math.log2(samples)) if method == "sobol" else 0
    return np.asarray(drawn.random_base2(whole)[:samples] if method == "sobol" else drawn.random(samples))


def _problem(dimensions: int) -> dict[str, Any]:
    """The unit cube as SALib wants it."""
    return {"num_vars": dimensions, "names": list(map(str, range(dimensions))), "bounds": [[0.0, 1.0]] * dimensions}


def _axis(model: Model, name: str, given: Values, two: bool) -> Axis:
    v = model.variable(name, "parameter", "input")
    if v.causality == "parameter" and v.choices and two:
        raise InputError("sweep", name, str(given), "a grid over its choices")

    def si(value: float | str) -> float:
        with AsInputError(ValueError, "sweep", name, value, str):
            number = v.choice(value) if v.choices else quantity.to_si(value, v.unit)
        given = value if isinstance(value, str) else None
        return v.checked(number, "sweep", given) if v.causality == "parameter" else number

    if isinstance(given, str) and ":" in given:
        parts = [part.strip() for part in given.split(":")]
        logarithmic = parts[3:] == ["log"]
        count = 2 if two else int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else 0
        if len(parts) != (2 if two else 3 + logarithmic) or not 2 <= count <= MOST_POINTS:
            raise InputError("sweep", name, given, "a range 'low:high'" if two else FORM)
        first, last = (si(part) for part in parts[:2])
        if logarithmic and not (first > 0.0 and last > 0.0):
            raise InputError("sweep", name, given, "a range of numbers above 0 for 'log'")
        values = np.geomspace(first, last, count) if logarithmic else np.linspace(first, last, count)
    else:
        each = (
            given.split(",") if isinstance(given, str) else [given] if isinstance(given, int | float) else list(given)
        )
        values = np.array([si(value.strip() if isinstance(value, str) else value) for value in each])
    if two and not (len(values) == 2 and values[0] < values[1]):
        raise InputError("sweep", name, str(given), "a range 'low:high' with low below high")
    if not two and len(set(values.tolist())) < len(values):
        raise InputError("sweep", name, str(given), "each value once")
    return Axis(v, values)


def chosen_signals(model: Model, patterns: Sequence[str]) -> tuple[Variable, ...]:
    """Outputs whose names match one of these patterns, ``"cvt.*"``; all without patterns.

    Raises
    ------
    InputError
        A pattern that matches none.
    """
    outputs = model.select("output")
    for pattern in patterns:
        if not any(fnmatchcase(v.name, pattern) for v in outputs):
            raise InputError("sweep", "signals", pattern, f"an output{near(pattern, [v.name for v in outputs])}")
    return tuple(v for v in outputs if not patterns or any(fnmatchcase(v.name, p) for p in patterns))


@dataclass(frozen=True)
class Recipe:
    """How a worker of a cluster builds the model: the unit and the arguments of its `rtcvt.kind.Unit.build`."""

    unit: Any = field(hash=False)
    fidelity: str | None = None
    substeps: int | None = None


@lru_cache(maxsize=2)
def _built(recipe: Recipe) -> Model:
    model: Model = recipe.unit.build(recipe.fidelity, recipe.substeps)
    return model


# --- the runs ---------------------------------------------------------------------------------------------------------


@dataclass
class Sweep:
    """A sweep: model, scenario and design, and the results so far.

    Attributes
    ----------
    model : Model
        The model.
    scenario : Scenario
        The scenario of each run.
    design : Design
        The points.
    signals : tuple of Variable
        Outputs that are kept.
    step : float
        Communication step [s].
    every : int
        Steps between two kept values; 0: statistics of each run.
    values : array (points, signals, statistics or times)
        Results, NaN where missing.
    status : array (points,)
        0, 1 where a limit was active, 2 where the run failed, -1 where it is missing.
    failures : dict
        Why runs failed, by point.
    """

    model: Model
    scenario: Scenario
    design: Design
    signals: tuple[Variable, ...]
    step: float
    every: int = 0
    values: Array = field(init=False)
    status: NDArray[np.int8] = field(init=False)
    failures: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = number_of_steps(self.scenario.duration, self.step, f"scenario '{self.scenario.name}'")
        kept = len(STATISTICS) if self.every == 0 else self.steps // self.every + 1
        shape = (self.design.points, len(self.signals), kept)
        if math.prod(shape) > MOST_VALUES:
            allowed = f"at most {MOST_VALUES:.3g}: fewer signals"
            raise InputError("sweep", "signals", f"{math.prod(shape):.3g} values", allowed)
        self.values = np.full(shape, np.nan)
        self.status = np.full(self.design.points, WAITING, dtype=np.int8)
        self._code: Any = None  # see `rtcvt.fmu.batch`

    # --- running

    def run(
        self,
        path: Path | None = None,
        threads: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        scheduler: str | None = None,
        recipe: Recipe | None = None,
    ) -> int:
        """Run the points that are missing, and return their number; with a `path` go on with the file that is there.

        They run in threads, or on the dask cluster of a `scheduler`, whose workers follow the `recipe`. Points whose
        workers died are in `failures`, and still missing.

        Raises
        ------
        InputError
            The file is that of another sweep, or cannot be written; the scenario does not fit the model; no scheduler.
        """
        if path is not None:
            for package in ("xarray", "h5netcdf"):
                optional(package)
            require_writable(path)
            if path.exists():
                self._take(path)
        missing = np.nonzero(self.status == WAITING)[0].tolist()
        for k in missing:
            self.failures.pop(k, None)
        shared = self._shared()
        native = len(missing) * self.steps >= NATIVE_STEPS
        saved, took, done = clock.monotonic(), 0.0, self.design.points - len(missing)
        if scheduler is None:
            ended = self._in_threads(missing, shared, native, threads or os.cpu_count() or 1)
        else:
            ended = self._on_cluster(missing, native, scheduler, recipe)
        try:
            with closing(ended):
                for number in ended:
                    done += number
                    if progress is not None:
                        progress(f"{self.model.name}, points", done, self.design.points)
                    if path is not None and clock.monotonic() - saved > max(EVERY, 20.0 * took):
                        began = clock.monotonic()
                        self.save(path)
                        saved = clock.monotonic()
                        took = saved - began
        finally:
            if path is not None and (self.failures or (self.status != WAITING).any()):
                self.save(path)
        return len(missing)

    def _in_threads(
        self, missing: list[int], shared: tuple[Array, Array], native: bool, threads: int
    ) -> Generator[int]:
        """Run points in threads; yields how many have ended."""
        self._code = _code_of(self.model) if native else None
        lanes = self._code.lanes if self._code else 1
        groups = [missing[k : k + lanes] for k in range(0, len(missing), lanes)]
        if groups:
            self._compile(missing[0], shared)
        pool = ThreadPoolExecutor(threads)
        waiting: dict[Future[None], int] = {}
        left = iter(groups)
        try:
            while True:
                while len(waiting) < 4 * threads and (some := next(left, None)) is not None:
                    waiting[pool.submit(self._some, some, shared)] = len(some)
                if not waiting:
                    break
                for future in wait(waiting, return_when=FIRST_COMPLETED)[0]:
                    future.result()
                    yield waiting.pop(future)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _on_cluster(self, missing: list[int], native: bool, scheduler: str, recipe: Recipe | None) -> Generator[int]:
        """Run points by the workers of a dask cluster; yields how many have ended."""
        size = max(TOGETHER if native else 1, -(-len(missing) // MOST_CALLS))
        calls = {}
        for points in (tuple(missing[k : k + size]) for k in range(0, len(missing), size)):
            values = np.array([list(self.design.point(k).values()) for k in points]).T
            axes = tuple(Axis(a.variable, row) for a, row in zip(self.design.axes, values, strict=True))
            calls[points] = (_far, recipe, self.scenario, axes, self.signals, self.step, self.every, native)
        for points, found, error in processes.computed(calls, scheduler, None):
            if error is None:
                self.values[list(points)], self.status[list(points)], failures = found
                self.failures |= {points[k]: text for k, text in failures.items()}
            else:
                self.failures |= dict.fromkeys(points, f"{type(error).__name__}: {error}")
            yield len(points)

    def _shared(self) -> tuple[Array, Array]:
        """Communication points (n,) [s] and inputs (n, n_u) that all points share."""
        time: Array = np.linspace(0.0, self.steps * self.step, self.steps + 1)
        swept = {a.variable.name for a in self.design.axes}
        kept = {name: s for name, s in self.scenario.inputs.items() if name not in swept}
        scenario = self.scenario.model_copy(update={"inputs": kept})
        return time, sample_inputs(self.model, scenario, time)

    def _compile(self, k: int, shared: tuple[Array, Array]) -> None:
        """Compile the model by the first step of a point, before threads run it."""
        with suppress(InputError):  # of a point that fails
            for _ in self._blocks(k, shared, 1):
                break

    def _start(self, k: int, shared: tuple[Array, Array]) -> tuple[Instance, Array]:
        """Instance of a point with its parameters, and its inputs (n, n_u)."""
        u = shared[1]
        point = self.design.point(k)
        inputs = [a.variable for a in self.design.axes if a.variable.causality == "input"]
        instance = self.model.instantiate()
        if inputs:
            u = u.copy()
            for v in inputs:
                u[:, v.index] = point.pop(v.name)
        apply_parameters(instance, {**self.scenario.parameters, **point}, self._source)
        instance.u[:] = u[0]
        return instance, u

    @property
    def _source(self) -> str:
        return f"scenario '{self.scenario.name}'"

    def _blocks(self, k: int, shared: tuple[Array, Array], block: int) -> Iterator[tuple[int, Array, NDArray[np.int8]]]:
        instance, u = self._start(k, shared)
        changes = parameter_changes(self.model, self.scenario, self.step)
        return stepped(instance, shared[0], u, changes, self.step, self._source, block)

    def _none(self) -> Array:
        """What `tally` starts from."""
        found = np.zeros((len(STATISTICS), len(self.signals)))
        found[1], found[2] = np.inf, -np.inf
        return found

    def _keep(self, k: int, tallied: Array, limited: bool) -> None:
        """Store statistics of a point, if no series, and its status."""
        if not self.every:
            n = self.steps + 1
            self.values[k] = np.stack([*tallied[:3], tallied[3] / n, np.sqrt(tallied[4] / n)], axis=1)
        self.status[k] = int(limited)

    def _some(self, points: Sequence[int], shared: tuple[Array, Array]) -> None:
        """Run points together in their machine code; by themselves, with the same bits, without it or if one fails."""
        lanes = self._code.lanes if self._code else 1
        for group in (points[k : k + lanes] for k in range(0, len(points), lanes)):
            if self._code is None or not self._together(group, shared, self._code):
                for k in group:
                    self._one(k, shared)

    def _together(self, points: Sequence[int], shared: tuple[Array, Array], code: Any) -> bool:
        """Run points in machine code for many of them, see `rtcvt.fmu.batch`; False if one fails."""
        places = np.array([v.index for v in self.signals], dtype=np.int64)
        kept = np.stack([self._none()] * len(points))
        try:
            instances = [self._start(k, shared)[0] for k in points]
            for i, found, k in zip(instances, kept, points, strict=True):
                i.initialise()
                if self.every:
                    self.values[k, :, 0] = i.y[places]
                else:
                    tally_rows(i.y, len(i.y), places.astype(float), found.reshape(-1))
            swept = {a.variable.index for a in self.design.axes if a.variable.causality == "input"}
            moving = [v.index for v in self.model.select("input") if v.index not in swept]
            batch = _batch(code, instances, moving, places, kept)
            changes = parameter_changes(self.model, self.scenario, self.step)
            k = 0
            while k < self.steps:
                while changes and changes[0][0] <= k:
                    _, v, value = changes.pop(0)
                    batch.tune(v.name, value, shared[1][max(k - 1, 0)])
                end = min(k + BLOCK, self.steps, changes[0][0] if changes else self.steps)
                rows = batch.steps(k, self.step, shared[1][k:end], self.every)
                if rows is None:
                    return False
                if self.every:
                    first = k // self.every + 1
                    for lane, point in enumerate(points):
                        self.values[point, :, first : first + len(rows)] = rows[:, :, lane].T
                k = end
        except InputError:
            return False
        for lane, point in enumerate(points):
            self._keep(point, batch.kept(lane), bool(batch.worst[lane] & SATURATED))
        if batch.redone > MOST_REDONE * self.steps and self._code is code:
            self._code = _code_of(self.model, 1)
        return True

    def _one(self, k: int, shared: tuple[Array, Array]) -> None:
        """Run a point and store its statistics or series."""
        places = np.array([v.index for v in self.signals], dtype=np.int64)
        kept, limited = self._none(), False
        try:
            for first, rows, status in self._blocks(k, shared, BLOCK):
                limited = limited or bool((status == SATURATED).any())
                if self.every:
                    at = np.arange(-first % self.every, len(rows), self.every)
                    self.values[k][:, (first + at) // self.every] = rows[np.ix_(at, places)].T
                else:
                    tally_rows(rows.reshape(-1), rows.shape[1], places.astype(float), kept.reshape(-1))
        except InputError as error:
            self.values[k] = np.nan
            self.failures[k] = str(error)
            self.status[k] = FAILING
            return
        self._keep(k, kept, limited)

    def sensitivity(self, statistic: str = "final") -> dict[str, dict[str, list[float]]]:
        """What each signal depends on, by the methods of Morris or Sobol.

        Returns
        -------
        dict
            By signal that changes and measure, a number for each parameter: ``S1``, ``ST``, the shares of the variance
            that a parameter has alone and with others; or ``mu_star``, ``sigma``, mean size and spread of the changes
            with a parameter over its range [unit of the signal]. ``..._conf``: half the width of its interval of 95 %.

        Raises
        ------
        InputError
            Points are missing or failed, the points are of another method, or no package SALib.
        """
        design = self.design
        if design.method not in SENSITIVITIES or self.every:
            raise InputError("sweep", "method", design.method, "morris or saltelli, and statistics of the runs")
        if not np.isfinite(self.values).all():
            raise InputError("sweep", "points", len(self.failures), "no failed point, for sensitivities")
        analysis = optional(f"SALib.analyze.{SENSITIVITIES[design.method][0]}").analyze
        more = (design.shares,) if design.method == "morris" else ()
        options = {} if more else {"calc_second_order": False}
        found = {}
        for k, v in enumerate(self.signals):
            y = self.values[:, k, STATISTICS.index(statistic)]
            if np.ptp(y) > 1e-12 * np.abs(y).max():
                made = analysis(_problem(len(design.axes)), *more, y, seed=0, **options)
                found[v.name] = {key: np.asarray(made[key], dtype=float).tolist() for key in made if key != "names"}
        return found

    # --- the file

    def _about(self) -> dict[str, Any]:
        """Attributes by which two sweeps are the same."""
        return {
            "unit": self.model.source, "model": self.model.fidelity, "parameters": self.model.p.tolist(),
            "internal_step": self.model.internal_step, "scenario": self.scenario.model_dump(mode="json"),
            "step": self.step, "every": self.every, "method": self.design.method,
            "axes": {a.variable.name: a.values.tolist() for a in self.design.axes},
            "signals": [v.name for v in self.signals],
        }  # fmt: skip

    def _take(self, path: Path) -> None:
        """Values of a file of this sweep.

        Raises
        ------
        InputError
            It is that of another one, or none.
        """
        found = read_dataset(goes_on_with(path))
        if found.attrs.get("about") != json.dumps(self._about()):
            raise InputError(path, "", None, "a file of the same sweep, or another name: this one is of another sweep")
        for k, v in enumerate(self.signals):
            self.values[:, k] = found[v.name].values.reshape(self.values[:, k].shape)
        self.status[:] = found["status"].values.ravel()
        self.failures = {int(k): text for k, text in json.loads(found.attrs["failures"]).items()}

    def save(self, path: Path) -> None:
        """Write the file; see the module.

        Raises
        ------
        InputError
            The file cannot be written; an existing file stays.
        """
        found = self.dataset()
        packed = {name: {"fletcher32": True} for name in found.data_vars}  # damage is found
        with _without_dask():
            image = found.to_netcdf(engine="h5netcdf", encoding=packed)  # in memory: HDF5 does not survive a full disk
        with replaced_on_success(path) as temporary:
            temporary.write_bytes(image)

    def dataset(self) -> Any:
        """An xarray.Dataset with names, units and labels; the attribute ``failures`` has the cause of each failed run
        by point."""
        grid, shape = self.design.method == "grid", self.design.shape
        coordinates: dict[str, Any] = {}
        for a in self.design.axes:
            v = a.variable
            names = {number: name for name, number in v.items.items()}
            values: Any = [names[int(value)] for value in a.values] if v.choices else a.values
            coordinates[v.name] = (v.name if grid else "point", values, _about(v))
        if self.every:
            last, time = "time", np.arange(self.values.shape[2]) * (self.every * self.step)
            coordinates[last] = (last, time, {"units": "s", "long_name": "time"})
        else:
            last = "statistic"
            coordinates[last] = (last, list(STATISTICS), {"long_name": "of all communication points"})
        points = [a.variable.name for a in self.design.axes] if grid else ["point"]
        found: dict[str, Any] = {
            v.name: ([*points, last], self.values[:, k].reshape(*shape, -1), _about(v))
            for k, v in enumerate(self.signals)
        }
        found["status"] = (points, self.status.reshape(shape), {"long_name": "0 ok, 1 limit, 2 failed, -1 missing"})
        if self.design.method in SENSITIVITIES and not self.every and np.isfinite(self.values).all():
            found["status"][2]["sensitivity"] = json.dumps(self.sensitivity())
        about = {"title": f"sweep of {self.model.name}", "failures": json.dumps(self.failures)}
        return optional("xarray").Dataset(found, coordinates, about | {"about": json.dumps(self._about())})


def _far(
    recipe: Recipe, scenario: Scenario, axes: tuple[Axis, ...], signals: tuple[Variable, ...], h: float, every: int,
    native: bool,
) -> tuple[Array, NDArray[np.int8], dict[int, str]]:  # fmt: skip
    """Points of a sweep by a worker of a cluster: their values and status, and why some failed."""
    sweep = Sweep(_built(recipe), scenario, Design("latin", axes), signals, h, every)
    sweep._code = _code_of(sweep.model) if native else None
    sweep._some(range(sweep.design.points), sweep._shared())
    return sweep.values, sweep.status, sweep.failures


def _without_dask() -> Any:
    """xarray asks dask for a scheduler, which may be a cluster that has ended."""
    try:
        return import_module("dask").config.set(scheduler="synchronous")
    except ModuleNotFoundError:
        return nullcontext()


def _about(v: Variable) -> dict[str, str]:
    return {"units": v.unit, "long_name": v.description}


def read_dataset(path: Path) -> Any:
    """The xarray.Dataset of a file.

    Raises
    ------
    InputError
        Not a file of a sweep.
    """
    xarray = optional("xarray")
    with refused(path, "a file of a sweep"):
        with opened(path, None) as raw, h5py.File(raw) as file:
            require_bounded(file, path)
        with _without_dask(), xarray.open_dataset(path, engine="h5netcdf") as found:
            if "about" not in found.attrs or "status" not in found:
                raise InputError(path, "", None, "a file of a sweep")
            return found.load()
