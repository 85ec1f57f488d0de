"""Two models at the same operating points: what they differ by, and a law of the difference.

A plan with twins (`plan`) has each point with its own model, with another one, and with the other one once more from
another step. With values a of the first, b and c of the others, which would scatter alike if the models were one,

    difference   a - (b + c)/2,    scatter   sqrt(3/4) RMS(c - b)

The difference is above the scatter if the ratio of their squares is larger than it is by chance in one of a hundred
samples (F distribution). Thrust ratio, losses and peaks are compared by their logarithms, slip as it is, fields by the
RMS of the difference along the belt over that of the field.

Law. The difference over the operating point (ln i, xi, ln kappa, f) as a Gaussian process (`process`), two fidelities
of one quantity: what is left of it at points that had no part in the fit tells what the law is worth. Every fourth
point is held out.

Correction. What the laws of the hybrid belt miss at the spatial runs, which have another contact of the flanks too, is
such a process, kept as splines over the operating point (`rtcvt.variator.reduced_model`): of thrust ratio, losses and
peaks the difference of the logarithms; of the speed loss that of asinh(s/0.002); exit forces over F_O and the margin as
they are. The losses, which contacts across the belt raise everywhere, differ by a constant too; the others by nothing
away from all points, where the laws stay the planar ones. No length of a process is below the standard deviation of the
places, since a few dozen points say nothing of what changes faster. Processes of nine tenths of the points, each with
lengths of its own, predict the others: where the squares of what they miss are not less than those of the differences,
by Student's t test of the pairs, there is no correction. States next to macro-slip count less for slip. Errors are
those of every fourth point in turn, by the corrections that the others give.

Points of which one run slips macroscopically or has not settled are counted and left out.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution
from scipy.stats import ttest_1samp

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.snapshots import FIELDS
from rtcvt.offline.pushbelt.run.windows import STEADY, frames_of
from rtcvt.offline.variator.alignment import load_samples
from rtcvt.offline.variator.laws import SLIP
from rtcvt.offline.variator.plan import Plan
from rtcvt.offline.variator.process import Process, fit
from rtcvt.offline.variator.reduction import PEAKS, peak
from rtcvt.offline.variator.uncertainty import LOADED, SPLINES
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced_model import CORRECTIONS, UNCERTAIN, ReducedModel, grid_of, scaled, splines_through
from rtcvt.variator.regression import SMALL

Array = NDArray[np.float64]

CHANCE = 0.01
HELD_OUT = 4  # every so many points
LEAST = 12  # points of a law
FOLDS = 10  # of the points, to decide on a correction
BY_CHANCE = 0.05  # probability of such a gain by a correction that is of no use, below which there is one
ACROSS = {"misalignment": "m", "ring_to_pillar": "m", "exit_force_I": "N", "exit_force_O": "N"}


class Twins(NamedTuple):
    """n points with three runs each: point (n, 4) i, xi, kappa, f of the first; values by name (n, 3); fields by name
    (n, 3, cells); across by `ACROSS` (n,); left_out: points that slip or did not settle."""

    names: tuple[str, ...]
    point: Array
    values: Mapping[str, Array]
    fields: Mapping[str, Array]
    across: Mapping[str, Array]
    left_out: int


class Difference(NamedTuple):
    """Of a quantity over all points: mean, RMS and median of the magnitude, scatter, and whether it is above it."""

    quantity: str
    mean: float
    rms: float
    median: float
    scatter: float
    above: bool


class Law(NamedTuple):
    """Law of a quantity's difference: RMS at held-out points without the law and with it; RMS by cross-validation."""

    quantity: str
    points: int
    without: float
    heldout: float
    crossed: float


class Correction(NamedTuple):
    """coefficients (*`uncertainty.SPLINES`, 6 + peaks) by `CORRECTIONS` and peaks; deviation (4,): RMS of what is
    missed at points left out, less the laws' own uncertainty, by `UNCERTAIN`; errors: of held-out spatial runs."""

    coefficients: Array
    deviation: Array
    errors: Mapping[str, float]


def load_twins(folder: Path, plan: Plan) -> Twins:
    """What is there of the points of a plan with two twins; the first has a model of its own, the others share one.

    Raises
    ------
    InputError
        Files that are no runs, or no point of which all three runs are there.
    """
    ends = ("", *(f"-{t.name}" for t in plan.twin[:2]))
    number = plan.points.count
    names = [f"{plan.points.name}-{k:03}" for k in range(number)]
    kept = [n for n in names if all((folder / f"{n}{e}.h5").exists() for e in ends)]
    samples = [load_samples([folder / f"{n}{e}.h5" for n in kept]) for e in ends]
    rows: list[dict[str, int]] = []
    for s, e in zip(samples, ends, strict=True):
        settled = np.flatnonzero((s.phase == 0) & ~s.slipping)
        rows.append({s.names[s.run[k]].removesuffix(e): int(k) for k in settled})
    used = [n for n in kept if all(n in r for r in rows)]
    of = [s.of(np.array([r[n] for n in used], dtype=int)) for s, r in zip(samples, rows, strict=True)]
    values = {
        "thrust ratio": np.column_stack([np.log(s.values["thrust"]) for s in of]),
        "speed loss": np.column_stack([s.values["slip"] for s in of]),
        "losses": np.column_stack([np.log(s.values["loss"]) for s in of]),
    } | {f"peak of {name}": np.column_stack([np.log(peak(s, name)) for s in of]) for name in PEAKS}
    fields = {name: np.stack([s.fields[name] for s in of], axis=1) for name in FIELDS}
    found = [_across(folder / f"{n}.h5") for n in used]
    across = {name: np.array([a[k] for a in found]) for k, name in enumerate(ACROSS)}
    return Twins(tuple(used), of[0].point, values, fields, across, len(kept) - len(used))


def _across(path: Path) -> tuple[float, ...]:
    """Of the last window by `ACROSS`; NaN: not in a file."""
    with open_run(path) as file:
        if "spatial/margin" not in file:
            return (np.nan,) * len(ACROSS)
        rows = frames_of(file, STEADY)
        place, margin = file["spatial/place"][rows].mean(axis=0), file["spatial/margin"][rows]
        force = file["spatial/exit_force"][rows].mean(axis=0)
    return float(place[0] - place[1]), float(margin[..., 0].min()), *force.tolist()


def differences(t: Twins) -> list[Difference]:
    """All quantities and fields."""
    found = [_difference(name, _apart(v), v[:, 2] - v[:, 1]) for name, v in t.values.items()]
    for name, v in t.fields.items():
        size = np.sqrt(np.mean(v[:, 1] ** 2, axis=1))
        a = np.sqrt(np.mean((v[:, 0] - 0.5 * (v[:, 1] + v[:, 2])) ** 2, axis=1)) / size
        b = np.sqrt(np.mean((v[:, 2] - v[:, 1]) ** 2, axis=1)) / size
        found.append(_difference(f"field {name}", a, b))
    return found


def _apart(v: Array) -> Array:
    return np.asarray(v[:, 0] - 0.5 * (v[:, 1] + v[:, 2]))


def _difference(name: str, apart: Array, own: Array) -> Difference:
    n = len(apart)
    rms, scatter = float(np.sqrt(np.mean(apart**2))), float(np.sqrt(0.75 * np.mean(own**2)))
    above = bool(rms > scatter * np.sqrt(f_distribution.isf(CHANCE, n, n)))
    return Difference(name, float(apart.mean()), rms, float(np.median(np.abs(apart))), scatter, above)


def _places(z: Array) -> Array:
    """Places of points (n, 4), of mean 0 and variance 1."""
    x = np.column_stack([np.log(z[:, 0]), z[:, 1], np.log(z[:, 2]), z[:, 3]])
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))


def laws(t: Twins) -> list[Law]:
    """Laws of the differences of `Twins.values` and of `ACROSS`, whose difference is from their mean; none of fewer
    than `LEAST` points."""
    n = len(t.names)
    if n < LEAST:
        return []
    x, held = _places(t.point), np.arange(n) % HELD_OUT == HELD_OUT - 1
    data = {name: _apart(v) for name, v in t.values.items()}
    data |= {name: v - v[~held].mean() for name, v in t.across.items() if np.isfinite(v).all()}
    found = []
    for name, y in data.items():
        law, _ = fit(x[~held], y[~held], np.arange(int((~held).sum())))
        _, crossed = fit(x, y, np.arange(n))
        found.append(Law(name, n, _rms(y[held]), _rms(y[held] - law.mean(x[held])), _rms(y - crossed)))
    return found


def _rms(y: Array) -> float:
    return float(np.sqrt(np.mean(y**2)))


def figures(t: Twins) -> dict[str, Any]:
    """Everything in numbers, ready for JSON."""
    return {
        "points": len(t.names),
        "left_out": t.left_out,
        "differences": [d._asdict() for d in differences(t)],
        "laws": [law._asdict() for law in laws(t)],
        "across": {name: {"mean": float(v.mean()), "least": float(v.min()), "largest": float(v.max())}
                   for name, v in t.across.items() if np.isfinite(v).all()},
    }  # fmt: skip


def correct(t: Twins, model: ReducedModel) -> Correction:
    """What the planar `model` lacks, from all points; errors with what the points that are not held out say.

    Raises
    ------
    InputError
        Fewer than `LEAST` points, or none with forces across the belt.
    """
    n = len(t.names)
    if n < LEAST or not all(np.isfinite(v).all() for v in t.across.values()):
        raise InputError("twins", "points", n, f"at least {LEAST}, the first run of each with a spatial belt")
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
            errors |= {f"spatial.{name}{key}.{k}": v for k, v in (("rms", _rms(e)), ("max", float(np.abs(e).max())))}
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


def _operating(t: Twins) -> Array:
    return np.column_stack([t.point, np.ones(len(t.names))])


def _carried(model: ReducedModel) -> float:
    return float(capacity(model.constants["mu"], np.cos(model.constants["delta_0"])))


def _coefficients(t: Twins, model: ReducedModel, used: NDArray[np.bool_]) -> tuple[Array, dict[str, float]]:
    """Coefficients of the splines from the points `used`, and what others miss at one of them, by name."""
    x, at = (
        scaled(model.coordinates[:4], model.shift, z)
        for z in (t.point, grid_of(model.coordinates, model.shift, SPLINES))
    )
    x, at = x / x.std(axis=0), at / x.std(axis=0)
    F_O, spatial = t.point[:, 3] * model.constants["F_ref"], {name: v[:, 0] for name, v in t.values.items()}
    slip = np.arcsinh(spatial["speed loss"] / SMALL)
    laws = model.planar.evaluate(_operating(t))
    creep = laws["c"] * t.point[:, 1]
    data = {
        "thrust_ratio": spatial["thrust ratio"] - np.log(laws["zeta"]),
        "slip": slip - np.arcsinh((laws["e"] + creep) / SMALL),
        "loss": spatial["losses"] - np.log(laws["lambda"] + _carried(model) * creep * t.point[:, 1]),
        "exit_force.primary": t.across["exit_force_I"] / F_O,
        "exit_force.secondary": t.across["exit_force_O"] / F_O,
        "ring_to_pillar": t.across["ring_to_pillar"],
    } | {p.name: spatial[f"peak of {p.name.removeprefix('peak.')}"] - np.log(laws[p.name]) for p in model.peaks}
    values, missed = {}, {}
    for name, y in data.items():
        weights = 1.0 / (1.0 + (spatial["speed loss"] / SLIP) ** 2) if name == "slip" else np.ones(len(y))
        own, offset = name in CORRECTIONS[3:], name in CORRECTIONS[2:]  # own: the planar belt has none
        process = _smooth(x[used], y[used], weights[used], offset)
        values[name], error = process.mean(at), y[used] - _crossed(x[used], y[used], weights[used], offset)
        gain = weights[used] * (y[used] ** 2 - error**2)
        if not own and not ttest_1samp(gain, 0.0, alternative="greater").pvalue < BY_CHANCE:
            error, values[name] = y[used], np.zeros(len(at))
        if name == "slip":
            error = SMALL * (np.sinh(slip[used]) - np.sinh(slip[used] - error))
        missed[name] = _rms(error)
    names = (*CORRECTIONS, *(p.name for p in model.peaks))
    return splines_through(np.stack([values[k] for k in names], axis=1).reshape(*SPLINES, len(names))), missed


def _smooth(x: Array, y: Array, weights: Array, offset: bool) -> Process:
    return fit(x, y, np.arange(len(y)), weights, shortest=1.0, offset=offset)[0]


def _crossed(x: Array, y: Array, weights: Array, offset: bool) -> Array:
    """What each tenth of the data is predicted to be by a process of the others."""
    found, fold = np.empty(len(y)), np.arange(len(y)) % FOLDS
    for k in range(FOLDS):
        a, b = fold != k, fold == k
        found[b] = _smooth(x[a], y[a], weights[a], offset).mean(x[b])
    return found


def _missed(t: Twins, model: ReducedModel, held: NDArray[np.bool_]) -> dict[str, Array]:
    """Errors of a reduced model at the spatial runs of the points `held`."""
    z = _operating(t)
    found, xi = model.evaluate(z), t.point[:, 1]
    carried = _carried(model)
    loss, true = found["lambda"] + carried * found["c"] * xi**2, np.exp(t.values["losses"][:, 0])
    out = carried * np.abs(xi)
    loaded = held & (np.abs(xi) > LOADED)
    return {
        "thrust": (found["zeta"] / np.exp(t.values["thrust ratio"][:, 0]) - 1.0)[held],
        "slip": (found["e"] + found["c"] * xi - t.values["speed loss"][:, 0])[held],
        "loss": (loss / true - 1.0)[held],
        "efficiency": (out / (out + loss) - out / (out + true))[loaded],
        "peak.flank_normal": (found["peak.flank_normal"] / np.exp(t.values["peak of flank_normal"][:, 0]) - 1.0)[held],
    }
