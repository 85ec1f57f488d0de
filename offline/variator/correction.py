"""Corrections of a reduced model: effects of the spatial belt on the laws of the hybrid one.

The errors of the laws at runs of the spatial belt, which also has another contact of the flanks, are a Gaussian process
over the operating point (ln i, xi, ln kappa, f; `process`), stored as splines (`rtcvt.variator.reduced`): for thrust
ratio, losses, k and peaks the difference of the logarithms; for the speed loss that of asinh(s/0.002); for exit forces
over F_O and the margin the difference itself. The losses, which contacts across the belt raise everywhere, differ by a
constant too; the other differences are zero far from all points, where the laws stay those of the hybrid belt. No
length of a process is below half the standard deviation of the places, since some hundred points contain nothing about
faster changes. Processes of nine tenths of the points, each with its own lengths, predict the others: if their squared
errors are not less than those of the differences, by Student's t test of the pairs, there is no correction. States next
to macro-slip have less weight for slip. k is corrected by windows that shift.

Coefficients of fields, of the planar belt's modes and of more modes across them, differ by other weights of the
networks' units (`fields`), which bend where fronts move along the belt: ridge regression of all windows, with the
penalty of `PENALTIES` that predicts left-out runs best.

Errors are those of every tenth point in turn, with the corrections from the others; their spread (`spread`) is the
uncertainty of the model with its corrections.

Runs that slip macroscopically, have not settled, or whose thrust ratio still drifts by more than `windows.DRIFTING` are
left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.stats import ttest_1samp

from rtcvt.errors import InputError
from rtcvt.kind import Progress
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.windows import drifts
from rtcvt.offline.variator.alignment import Samples, load_samples
from rtcvt.offline.variator.laws import MAX_SLIP, NEAR, Data, data_of, moving_places, shift_factor, usable
from rtcvt.offline.variator.pod import Basis
from rtcvt.offline.variator.pod import coefficients as pod_coefficients
from rtcvt.offline.variator.process import Process, fit
from rtcvt.offline.variator.spread import spread
from rtcvt.offline.variator.twins import MIN_POINTS, across_of, rms, values_of
from rtcvt.offline.variator.uncertainty import LOADED, SPLINES
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.coordinates import grid_of, scaled
from rtcvt.variator.reduced.model import CORRECTIONS, OF_LAWS, ReducedField, ReducedModel
from rtcvt.variator.reduced.splines import splines_through
from rtcvt.variator.regression import SMALL_SPEED_LOSS

Array = NDArray[np.float64]

OF_UNCERTAIN = ("thrust", "slip", "efficiency", "peak.flank_normal")  # errors in the order of `UNCERTAIN`
FOLDS = 10  # of the points, to decide on a correction and to measure its errors
SHORTEST = 0.5  # length of a process, by the standard deviation of the places
MORE_MODES, LEFT_OUT = 10, 0.03  # modes of a spatial field at most, until so much of its norm is left out
PENALTIES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # of the ridge regression, by the mean square of the units
SIGNIFICANCE = 0.05  # probability of such a gain by a correction that is of no use, below which there is one


class Spatial(NamedTuple):
    """n settled runs of a spatial belt: point (n, 4) i, xi, kappa, f; values (n,) by `twins.values_of`; across (n,)
    by `twins.ACROSS`; windows: m windows of these runs; of (m,): which run each is of."""

    point: Array
    values: Mapping[str, Array]
    across: Mapping[str, Array]
    windows: Samples
    of: NDArray[np.int64]


class Correction(NamedTuple):
    """coefficients (*`uncertainty.SPLINES`, 7 + peaks) by `CORRECTIONS` and peaks; fields with `ReducedField.across`;
    deviation (*`uncertainty.SPLINES`, 4): coefficients of the logarithms of standard deviations by `UNCERTAIN`; errors:
    of held-out spatial runs."""

    coefficients: Array
    fields: tuple[ReducedField, ...]
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
    rows = np.zeros(0, dtype=int) if s is None else _settled(s)
    if s is None or len(rows) < MIN_POINTS:
        raise InputError("--spatial", "", len(rows), f"at least {MIN_POINTS} runs of a spatial belt that settled")
    if s.belt != belt:
        raise InputError(next(iter(paths.values())), "parameters", None, "the belt of the campaign")
    settled = s.of(rows)
    windows = s.of(usable(s) & np.isin(s.run, settled.run))
    across = across_of([paths[s.names[k]] for k in settled.run])
    of = np.searchsorted(settled.run, windows.run)
    return Spatial(settled.point, values_of(settled), across, windows, of)


def _settled(s: Samples) -> NDArray[np.int64]:
    """Rows of the settled states without macro-slip whose thrust ratio does not drift."""
    drifting = drifts(s.before[0]["thrust"][s.run], s.values["thrust"])
    return np.flatnonzero((s.phase == 0) & ~s.slipping & ~drifting)


def correct(t: Spatial, model: ReducedModel) -> Correction:
    """Correction of the planar `model` from all points; errors of held-out points by the correction from the others."""
    n = len(t.point)
    every = np.ones(n, dtype=bool)
    errors = {"spatial.points": float(n)}
    parts: dict[str, list[dict[str, Array]]] = {"": [], ".planar": []}
    for k in range(FOLDS):
        held = np.arange(n) % FOLDS == k
        corrected = replace(model, correction=_coefficients(t, model, ~held), fields=_fields(t, model, ~held))
        parts[""].append(_missed(t, corrected, held))
        parts[".planar"].append(_missed(t, model.planar, held))
    for key, by in parts.items():
        for name in by[0]:
            e = np.concatenate([p[name] for p in by])
            e = e[np.isfinite(e)]
            if len(e):
                errors |= {f"spatial.{name}{key}.{k}": v for k, v in (("rms", rms(e)), ("max", float(np.abs(e).max())))}
    order = np.argsort(np.concatenate([np.flatnonzero(np.arange(n) % FOLDS == k) for k in range(FOLDS)]))
    settled = {name: np.concatenate([p[name] for p in parts[""]])[order] for name in OF_UNCERTAIN}
    return Correction(_coefficients(t, model, every), _fields(t, model, every), _deviation(t, model, settled), errors)


def _deviation(t: Spatial, model: ReducedModel, errors: Mapping[str, Array]) -> Array:
    """Coefficients of the logarithms of standard deviations from errors (n,) at all points, NaN: not evaluated."""

    def places(z: Array) -> Array:
        zeta, length = model.planar.evaluate(z)["zeta"], model.constants["length"]
        return moving_places(list(model.coordinates), z, np.log(zeta), length, t.windows.belt)

    grid = grid_of(model.coordinates, model.shift, SPLINES)
    x, at = places(_operating(t)), places(np.column_stack([grid, np.ones(len(grid))]))
    values = []
    for e in errors.values():
        rows = np.flatnonzero(np.isfinite(e))
        values.append(np.log(spread(x[rows], e[rows], rows)[0].at(at)))
    return splines_through(np.stack(values, axis=1).reshape(*SPLINES, len(values)))


SPATIAL = ("spatial runs held out", "RMS, planar laws", "corrected", "largest")  # head of `spatial_rows`


def spatial_rows(errors: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Errors of a reduced model at held-out spatial runs, without the correction and with it; none of a planar one."""
    rows = []
    for key, name, unit in (
        ("thrust", "thrust ratio", "%"),
        ("slip", "slip", "points"),
        ("loss", "losses", "%"),
        ("efficiency", "efficiency", "points"),
        ("shift", "shift rate (by the RMS of all)", "%"),
        ("peak.flank_normal", "peak of the flank normal force", "%"),
        ("field.flank_normal", "flank normal force along the belt", "%"),
    ):
        if f"spatial.{key}.rms" in errors:
            cells = (f"{100.0 * errors[f'spatial.{key}.{k}']:.3g} {unit}" for k in ("planar.rms", "rms", "max"))
            rows.append((name, *cells))
    return rows


def _operating(t: Spatial) -> Array:
    return np.column_stack([t.point, np.ones(len(t.point))])


def _carried(model: ReducedModel) -> float:
    return float(capacity(model.constants["mu"], np.cos(model.constants["delta_0"])))


def _scaled_for(model: ReducedModel, t: Spatial) -> Callable[[Array], Array]:
    """Places (m, 4) of operating points, over the standard deviation of those of the settled runs."""
    size = scaled(model.coordinates[:4], model.shift, t.point).std(axis=0)
    return lambda z: scaled(model.coordinates[:4], model.shift, z[:, :4]) / size


def _coefficients(t: Spatial, model: ReducedModel, used: NDArray[np.bool_]) -> Array:
    """Coefficients of the splines from the points `used`."""
    places = _scaled_for(model, t)
    x, at = places(t.point), places(grid_of(model.coordinates, model.shift, SPLINES))
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
    values = {}
    for name, y in data.items():
        weights = 1.0 / (1.0 + (spatial["speed loss"] / MAX_SLIP) ** 2) if name == "slip" else np.ones(len(y))
        offset, own = name in CORRECTIONS[2:], name in CORRECTIONS[OF_LAWS:]
        values[name] = _difference(x[used], y[used], weights[used], np.flatnonzero(used), offset, own)(at)
    z, k = _shifting(t, model, used)
    values["shift"] = np.zeros(len(at))
    if len(k.rows) >= MIN_POINTS:
        y = k.values - np.log(model.planar.evaluate(z)["k"])
        values["shift"] = _difference(places(z), y, k.weights, t.of[k.rows], False, False)(at)
    names = (*CORRECTIONS, *(p.name for p in model.peaks))
    return splines_through(np.stack([values[k] for k in names], axis=1).reshape(*SPLINES, len(names)))


def _shifting(t: Spatial, model: ReducedModel, used: NDArray[np.bool_]) -> tuple[Array, Data]:
    """Operating points (m, 5) and ln k of the windows that shift of the runs `used`."""
    z = _windows_at(t, model)
    k = data_of(t.windows, z[:, 4])[0]["k"]
    kept = used[t.of[k.rows]]
    return z[k.rows[kept]], Data(k.rows[kept], k.values[kept], k.weights[kept])


def _windows_at(t: Spatial, model: ReducedModel) -> Array:
    """Operating points (m, 5) of all windows."""
    s = t.windows
    zeta = model.planar.evaluate(np.column_stack([s.point, np.ones(len(s.run))]))["zeta"]
    return np.column_stack([s.point, shift_factor(s, zeta)])


def _difference(
    x: Array, y: Array, weights: Array, runs: NDArray[np.int64], offset: bool, own: bool
) -> Callable[[Array], Array]:
    """The mean of the process of differences y, or zero if it does not gain on left-out data; own: the planar belt has
    no such quantity."""
    process = _smooth(x, y, weights, offset)
    error = y - _crossed(x, y, weights, runs, offset)
    gain = weights * (y**2 - error**2)
    if own or ttest_1samp(gain, 0.0, alternative="greater").pvalue < SIGNIFICANCE:
        return process.mean
    return lambda at: np.zeros(len(at))


def _fields(t: Spatial, model: ReducedModel, used: NDArray[np.bool_]) -> tuple[ReducedField, ...]:
    """Fields with weights of their differences at the windows of the runs `used`, where these gain on left-out runs."""
    z, rows = _windows_at(t, model), used[t.of]
    units = model.networks.hidden(scaled(model.coordinates, model.shift, z))[rows]
    fold, found = t.of[rows] % FOLDS, []
    for planar in model.fields:
        f = _with_modes(planar, t.windows.fields[planar.name][rows])
        y = pod_coefficients(_basis(f), t.windows.fields[f.name][rows]) - units @ f.weights.T
        crossed = [_crossed_ridge(units, y, fold, penalty) for penalty in PENALTIES]
        best = int(np.argmin([np.sum((y - c) ** 2) for c in crossed]))
        gain = np.bincount(t.of[rows], np.sum(y**2 - (y - crossed[best]) ** 2, axis=1))
        better = ttest_1samp(gain[gain != 0.0], 0.0, alternative="greater").pvalue < SIGNIFICANCE
        found.append(replace(f, across=_ridge(units, y, PENALTIES[best])) if better else planar)
    return tuple(found)


def _basis(f: ReducedField) -> Basis:
    return Basis(f.modes, np.full(f.modes.shape[1], 4.0 / f.modes.shape[1]), f.sigma)


def _with_modes(f: ReducedField, fields: Array) -> ReducedField:
    """The field with up to `MORE_MODES` of what its own modes leave out of spatial `fields` (n, cells)."""
    _, sigma, modes = np.linalg.svd(fields - pod_coefficients(_basis(f), fields) @ f.modes, full_matrices=False)
    left_out = np.sqrt(np.cumsum(sigma[::-1] ** 2)[::-1])
    number = min(MORE_MODES, int(np.sum(left_out > LEFT_OUT * np.linalg.norm(fields))))
    more = modes[:number] * np.sqrt(0.25 * fields.shape[1])
    weights = np.vstack([f.weights, np.zeros((len(more), f.weights.shape[1]))])
    return replace(f, modes=np.vstack([f.modes, more]), weights=weights)


def _ridge(units: Array, y: Array, penalty: float) -> Array:
    """Weights (K, units) of the data y (n, K)."""
    K = units @ units.T
    K[np.diag_indices(len(K))] += penalty * units.shape[1]
    return np.asarray(solve(K, y, assume_a="pos").T @ units)


def _crossed_ridge(units: Array, y: Array, fold: NDArray[np.int64], penalty: float) -> Array:
    found = np.empty_like(y)
    for k in np.unique(fold):
        found[fold == k] = units[fold == k] @ _ridge(units[fold != k], y[fold != k], penalty).T
    return found


def _smooth(x: Array, y: Array, weights: Array, offset: bool) -> Process:
    return fit(x, y, np.arange(len(y)), weights, shortest=SHORTEST, offset=offset)[0]


def _crossed(x: Array, y: Array, weights: Array, runs: NDArray[np.int64], offset: bool) -> Array:
    """Prediction of the data of each tenth of the runs by a process of the others."""
    found, fold = np.empty(len(y)), runs % FOLDS
    for k in np.unique(fold):
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
    loaded = np.abs(xi) > LOADED
    at, k = _shifting(t, model, held)
    at, x = (a[np.abs(at[:, 4] - 1.0) > NEAR] for a in (at, t.windows.values["x"][k.rows]))
    rate = model.evaluate(at)["k"] * at[:, 3] * (at[:, 4] - 1.0)
    settled = held[t.of] & (t.windows.phase == 0)
    field = t.windows.fields["flank_normal"][settled]
    apart = model.field("flank_normal", z[held]) - field
    return {
        "thrust": (found["zeta"] / np.exp(t.values["thrust ratio"]) - 1.0)[held],
        "slip": (found["e"] + found["c"] * xi - t.values["speed loss"])[held],
        "loss": (loss / true - 1.0)[held],
        "efficiency": np.where(loaded, out / (out + loss) - out / (out + true), np.nan)[held],
        "shift": (rate - x) / rms(x) if len(x) else np.zeros(0),
        "field.flank_normal": np.sqrt(np.mean(apart**2, axis=1)) / np.abs(field).max(axis=1),
        "peak.flank_normal": (found["peak.flank_normal"] / np.exp(t.values["peak of flank_normal"]) - 1.0)[held],
    }
