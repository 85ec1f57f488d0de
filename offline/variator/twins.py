"""Two models at the same operating points: their difference, and a law of the difference.

A plan with twins (`plan`) has each point with its own model, with another one, and with the other one once more from
another step. With values a of the first, b and c of the others, which would have the same scatter if the models were
one,

    difference   a - (b + c)/2,    scatter   sqrt(3/4) RMS(c - b)

The difference is above the scatter if the ratio of their squares is larger than it is by chance in one of a hundred
samples (F distribution). Thrust ratio, losses and peaks are compared by their logarithms, slip by itself, fields by the
RMS of the difference along the belt over that of the field.

Law. The difference over the operating point (ln i, xi, ln kappa, f) as a Gaussian process (`process`), two fidelities
of one quantity: its rest at points outside the fit is a measure of the law. Every fourth
point is held out.

Points of which one run slips macroscopically or has not settled are counted and left out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.snapshots import FIELDS
from rtcvt.offline.pushbelt.run.windows import STEADY, frames_of
from rtcvt.offline.variator.alignment import Samples, load_samples
from rtcvt.offline.variator.plan import Plan
from rtcvt.offline.variator.process import fit
from rtcvt.offline.variator.reduction import PEAKS, peak

Array = NDArray[np.float64]

SIGNIFICANCE = 0.01
HELD_OUT = 4  # every so many points
MIN_POINTS = 12  # points of a law
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


def load_twins(folder: Path, plan: Plan) -> Twins:
    """Existing runs of the points of a plan with two twins; the first has its own model, the others share one.

    Raises
    ------
    InputError
        Files that are no runs, or no point with all three runs.
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
    each = [values_of(s) for s in of]
    values = {name: np.column_stack([v[name] for v in each]) for name in each[0]}
    fields = {name: np.stack([s.fields[name] for s in of], axis=1) for name in FIELDS}
    across = across_of([folder / f"{n}.h5" for n in used])
    return Twins(tuple(used), of[0].point, values, fields, across, len(kept) - len(used))


def values_of(s: Samples) -> dict[str, Array]:
    """Compared quantities of windows, (n,) by name: logarithms, but for the speed loss."""
    return {
        "thrust ratio": np.log(s.values["thrust"]),
        "speed loss": s.values["slip"],
        "losses": np.log(s.values["loss"]),
    } | {f"peak of {name}": np.log(peak(s, name)) for name in PEAKS}


def across_of(files: Sequence[Path]) -> dict[str, Array]:
    """Of the settled windows by `ACROSS`, (n,); NaN: the belt is not spatial."""
    found = []
    for path in files:
        with open_run(path) as file:
            if "spatial/margin" not in file:
                found.append((np.nan,) * len(ACROSS))
                continue
            rows = frames_of(file, STEADY)
            place, margin = file["spatial/place"][rows].mean(axis=0), file["spatial/margin"][rows]
            force = file["spatial/exit_force"][rows].mean(axis=0)
            found.append((float(place[0] - place[1]), float(margin[..., 0].min()), *force.tolist()))
    return {name: np.array([a[k] for a in found]) for k, name in enumerate(ACROSS)}


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
    above = bool(rms > scatter * np.sqrt(f_distribution.isf(SIGNIFICANCE, n, n)))
    return Difference(name, float(apart.mean()), rms, float(np.median(np.abs(apart))), scatter, above)


def _places(z: Array) -> Array:
    """Places of points (n, 4), of mean 0 and variance 1."""
    x = np.column_stack([np.log(z[:, 0]), z[:, 1], np.log(z[:, 2]), z[:, 3]])
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))


def laws(t: Twins) -> list[Law]:
    """Laws of the differences of `Twins.values` and of `ACROSS`, whose difference is from their mean; none of fewer
    than `MIN_POINTS` points."""
    n = len(t.names)
    if n < MIN_POINTS:
        return []
    x, held = _places(t.point), np.arange(n) % HELD_OUT == HELD_OUT - 1
    data = {name: _apart(v) for name, v in t.values.items()}
    data |= {name: v - v[~held].mean() for name, v in t.across.items() if np.isfinite(v).all()}
    found = []
    for name, y in data.items():
        law, _ = fit(x[~held], y[~held], np.arange(int((~held).sum())))
        _, crossed = fit(x, y, np.arange(n))
        found.append(Law(name, n, rms(y[held]), rms(y[held] - law.mean(x[held])), rms(y - crossed)))
    return found


def rms(y: Array) -> float:
    """Root mean square."""
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
