"""Corrections of a reduced model: effects of the spatial belt on the laws of the hybrid one.

The errors of the laws at runs of the spatial belt, which also has another contact of the flanks, are a Gaussian process
over the operating point (ln i, xi, ln kappa, f; `process`), stored as splines (`rtcvt.variator.reduced`): for thrust
ratio, losses and peaks the difference of the logarithms; for the speed loss that of asinh(s/0.002); for exit forces
over F_O and the margin the difference itself. The losses, which contacts across the belt raise everywhere, differ by a
constant too; the other differences are zero far from all points, where the laws stay those of the hybrid belt. No
length of a process is below the standard deviation of the places, since a few dozen points contain nothing about faster
changes. Processes of nine tenths of the points, each with its own lengths, predict the others: if their squared errors
are not less than those of the differences, by Student's t test of the pairs, there is no correction. States next to
macro-slip have less weight for slip. Errors are those of every fourth point in turn, with the corrections from the
others.

Runs that slip macroscopically or have not settled are left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from rtcvt.errors import InputError
from rtcvt.kind import Progress
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.variator.alignment import load_samples
from rtcvt.offline.variator.laws import MAX_SLIP
from rtcvt.offline.variator.process import Process, fit
from rtcvt.offline.variator.twins import HELD_OUT, MIN_POINTS, across_of, rms, values_of
from rtcvt.offline.variator.uncertainty import LOADED, SPLINES
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.coordinates import grid_of, scaled
from rtcvt.variator.reduced.model import CORRECTIONS, UNCERTAIN, ReducedModel
from rtcvt.variator.reduced.splines import splines_through
from rtcvt.variator.regression import SMALL_SPEED_LOSS

Array = NDArray[np.float64]

FOLDS = 10  # of the points, to decide on a correction
SIGNIFICANCE = 0.05  # probability of such a gain by a correction that is of no use, below which there is one


class Spatial(NamedTuple):
    """n settled runs of a spatial belt: point (n, 4) i, xi, kappa, f; values (n,) by `twins.values_of`; across (n,) by
    `twins.ACROSS`."""

    point: Array
    values: Mapping[str, Array]
    across: Mapping[str, Array]


class Correction(NamedTuple):
    """coefficients (*`uncertainty.SPLINES`, 6 + peaks) by `CORRECTIONS` and peaks; deviation (4,): RMS error at
    held-out points, less the laws' own uncertainty, by `UNCERTAIN`; errors: of held-out spatial runs."""

    coefficients: Array
    deviation: Array
    errors: Mapping[str, float]


def load_spatial(files: Iterable[Path], belt: Mapping[str, float], progress: Progress | None = None) -> Spatial:
    """The runs of a spatial belt among `files`, which may hold runs of the hybrid belt too.

    Raises
    ------
    InputError
        Files that are no runs, runs of another belt than `belt`, or fewer than `MIN_POINTS` that settled.
    """
    paths = {}
    for path in files:
        with open_run(path) as file:
            if "spatial/margin" in file:
                paths[path.stem] = path
    s = load_samples(paths.values(), progress) if paths else None
    rows = np.zeros(0, dtype=int) if s is None else np.flatnonzero((s.phase == 0) & ~s.slipping)
    if s is None or len(rows) < MIN_POINTS:
        raise InputError("--spatial", "", len(rows), f"at least {MIN_POINTS} runs of a spatial belt that settled")
    if s.belt != belt:
        raise InputError(next(iter(paths.values())), "parameters", None, "the belt of the campaign")
    s = s.of(rows)
    return Spatial(s.point, values_of(s), across_of([paths[s.names[k]] for k in s.run]))


def correct(t: Spatial, model: ReducedModel) -> Correction:
    """Correction of the planar `model` from all points; errors of held-out points by the correction from the others."""
    n = len(t.point)
    coefficients, missed = _coefficients(t, model, np.ones(n, dtype=bool))
    errors = {"spatial.points": float(n)}
    parts: dict[str, list[dict[str, Array]]] = {"": [], ".planar": []}
    for k in range(HELD_OUT):
        held = np.arange(n) % HELD_OUT == k
        parts[""].append(_missed(t, replace(model, correction=_coefficients(t, model, ~held)[0]), held))
        parts[".planar"].append(_missed(t, model.planar, held))
    for key, by in parts.items():
        for name in by[0]:
            e = np.concatenate([p[name] for p in by])
            errors |= {f"spatial.{name}{key}.{k}": v for k, v in (("rms", rms(e)), ("max", float(np.abs(e).max())))}
    of_law = model.planar.evaluate(_operating(t))
    out = _carried(model) * np.abs(t.point[:, 1])
    loss = of_law["lambda"] + _carried(model) * of_law["c"] * t.point[:, 1] ** 2
    by_loss = float(np.sqrt(np.mean((out * loss / (out + loss) ** 2)[out > 0.0] ** 2)))
    kept = missed["thrust_ratio"], missed["slip"], by_loss * missed["loss"], missed["peak.flank_normal"]
    own = [np.mean(np.square(of_law.get(f"uncertainty.{name}", 0.0))) for name in UNCERTAIN]
    deviation = np.sqrt(np.maximum(np.square(kept) - own, 0.0))
    return Correction(coefficients, deviation, errors)


SPATIAL = ("spatial runs held out", "RMS, planar laws", "corrected", "largest")  # head of `spatial_rows`


def spatial_rows(errors: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Errors of a reduced model at held-out spatial runs, without the correction and with it; none of a planar one."""
    rows = []
    for key, name, unit in (
        ("thrust", "thrust ratio", "%"),
        ("slip", "slip", "points"),
        ("loss", "losses", "%"),
        ("efficiency", "efficiency", "points"),
        ("peak.flank_normal", "peak of the flank normal force", "%"),
    ):
        if f"spatial.{key}.rms" in errors:
            cells = (f"{100.0 * errors[f'spatial.{key}.{k}']:.3g} {unit}" for k in ("planar.rms", "rms", "max"))
            rows.append((name, *cells))
    return rows


def _operating(t: Spatial) -> Array:
    return np.column_stack([t.point, np.ones(len(t.point))])


def _carried(model: ReducedModel) -> float:
    return float(capacity(model.constants["mu"], np.cos(model.constants["delta_0"])))


def _coefficients(t: Spatial, model: ReducedModel, used: NDArray[np.bool_]) -> tuple[Array, dict[str, float]]:
    """Coefficients of the splines from the points `used`, and cross-validated errors at these, by name."""
    x, at = (
        scaled(model.coordinates[:4], model.shift, z)
        for z in (t.point, grid_of(model.coordinates, model.shift, SPLINES))
    )
    x, at = x / x.std(axis=0), at / x.std(axis=0)
    F_O, spatial = t.point[:, 3] * model.constants["F_ref"], t.values
    slip = np.arcsinh(spatial["speed loss"] / SMALL_SPEED_LOSS)
    laws = model.planar.evaluate(_operating(t))
    creep = laws["c"] * t.point[:, 1]
    data = {
        "thrust_ratio": spatial["thrust ratio"] - np.log(laws["zeta"]),
        "slip": slip - np.arcsinh((laws["e"] + creep) / SMALL_SPEED_LOSS),
        "loss": spatial["losses"] - np.log(laws["lambda"] + _carried(model) * creep * t.point[:, 1]),
        "exit_force.primary": t.across["exit_force_I"] / F_O,
        "exit_force.secondary": t.across["exit_force_O"] / F_O,
        "ring_to_pillar": t.across["ring_to_pillar"],
    } | {p.name: spatial[f"peak of {p.name.removeprefix('peak.')}"] - np.log(laws[p.name]) for p in model.peaks}
    values, missed = {}, {}
    for name, y in data.items():
        weights = 1.0 / (1.0 + (spatial["speed loss"] / MAX_SLIP) ** 2) if name == "slip" else np.ones(len(y))
        own, offset = name in CORRECTIONS[3:], name in CORRECTIONS[2:]  # own: the planar belt has none
        process = _smooth(x[used], y[used], weights[used], offset)
        values[name], error = process.mean(at), y[used] - _crossed(x[used], y[used], weights[used], offset)
        gain = weights[used] * (y[used] ** 2 - error**2)
        if not own and not ttest_1samp(gain, 0.0, alternative="greater").pvalue < SIGNIFICANCE:
            error, values[name] = y[used], np.zeros(len(at))
        if name == "slip":
            error = SMALL_SPEED_LOSS * (np.sinh(slip[used]) - np.sinh(slip[used] - error))
        missed[name] = rms(error)
    names = (*CORRECTIONS, *(p.name for p in model.peaks))
    return splines_through(np.stack([values[k] for k in names], axis=1).reshape(*SPLINES, len(names))), missed


def _smooth(x: Array, y: Array, weights: Array, offset: bool) -> Process:
    return fit(x, y, np.arange(len(y)), weights, shortest=1.0, offset=offset)[0]


def _crossed(x: Array, y: Array, weights: Array, offset: bool) -> Array:
    """Prediction of each tenth of the data by a process of the others."""
    found, fold = np.empty(len(y)), np.arange(len(y)) % FOLDS
    for k in range(FOLDS):
        a, b = fold != k, fold == k
        found[b] = _smooth(x[a], y[a], weights[a], offset).mean(x[b])
    return found


def _missed(t: Spatial, model: ReducedModel, held: NDArray[np.bool_]) -> dict[str, Array]:
    """Errors of a reduced model at the spatial runs of the points `held`."""
    z = _operating(t)
    found, xi = model.evaluate(z), t.point[:, 1]
    carried = _carried(model)
    loss, true = found["lambda"] + carried * found["c"] * xi**2, np.exp(t.values["losses"])
    out = carried * np.abs(xi)
    loaded = held & (np.abs(xi) > LOADED)
    return {
        "thrust": (found["zeta"] / np.exp(t.values["thrust ratio"]) - 1.0)[held],
        "slip": (found["e"] + found["c"] * xi - t.values["speed loss"])[held],
        "loss": (loss / true - 1.0)[held],
        "efficiency": (out / (out + loss) - out / (out + true))[loaded],
        "peak.flank_normal": (found["peak.flank_normal"] / np.exp(t.values["peak of flank_normal"]) - 1.0)[held],
    }
