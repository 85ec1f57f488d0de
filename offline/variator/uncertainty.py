"""Uncertainty of a reduced model, as splines of the logarithm of standard deviations.

Errors of the laws of settled states, of the peak in all windows, by cross-validation:

    thrust ratio    relative
    slip            of the speed loss e + c xi
    efficiency      power out by that with the loss of the law, from |xi| = `LOADED` on
    flank peak      relative, of the largest flank normal force

contain the error of the regression, the error of its tables (`tables_miss`) and the scatter of the full model. Their
size over the operating point is found by `spread` and stored at y = 1 (`rtcvt.variator.regression`). The error of a
`correction` is added in its square.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.run.windows import SLIPPING
from rtcvt.offline.variator.alignment import Samples
from rtcvt.offline.variator.laws import Law, folds, moving_places
from rtcvt.offline.variator.process import side_by_side
from rtcvt.offline.variator.spread import Spread, spread, together, within
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.coordinates import grid_of
from rtcvt.variator.reduced.model import UNCERTAIN, ReducedModel
from rtcvt.variator.reduced.splines import splines_through

Array = NDArray[np.float64]

LOADED = 0.1
SPLINES = (8, 20, 6, 4)  # along i, xi, kappa, f


class Errors(NamedTuple):
    """Errors (m,) of the windows `rows`, and their standard deviations by other runs."""

    rows: NDArray[np.int64]
    errors: Array
    by_others: Array


def efficiency(s: Samples, loss: Array) -> Array:
    """Efficiency of all windows (n,) with a loss (n,) over F_O v; NaN without power through the belt."""
    out = np.where(s.point[:, 1] > 0.0, s.values["transmitted"], -s.values["received"])
    loaded = (np.abs(s.point[:, 1]) > LOADED) & (out > 0.0)
    return np.where(loaded, out / np.where(loaded, out + loss, 1.0), np.nan)


def tables_miss(s: Samples, y: Array, laws: Mapping[str, Law], model: ReducedModel) -> dict[str, Array]:
    """Errors of the model's tables against the processes' means at the data of each law; of the logarithm, but of the
    whole speed loss for e."""
    model = model.planar
    found, xi = replace(model, peaks=()).evaluate(np.column_stack([s.point, y])), s.point[:, 1]
    creep = found["c"] * xi
    carried = capacity(model.constants["mu"], np.cos(model.constants["delta_0"]))
    values = {
        "zeta": np.log(found["zeta"]),
        "k": np.log(found["k"]),
        "c": np.log(found["c"]),
        "e": found["e"] + creep - np.exp(laws["c"].mean) * xi,
        "lambda": np.log(found["lambda"] + carried * creep * xi),
    }
    return {name: a[laws[name].rows] - laws[name].mean for name, a in values.items()}


def errors_of(
    s: Samples, laws: Mapping[str, Law], missed: Mapping[str, Array]
) -> dict[str, tuple[NDArray[np.int64], Array]]:
    """Rows and cross-validated errors by `UNCERTAIN`, including the errors `missed` of the tables."""
    settled = np.flatnonzero((s.phase == 0) & (np.abs(s.values["slip"]) <= SLIPPING))
    zeta, e, loss, peak = (laws[k] for k in ("zeta", "e", "lambda", "peak.flank_normal"))
    off = efficiency(s, np.exp(loss.crossed + missed["lambda"])) - efficiency(s, loss.data)
    loaded = settled[np.isfinite(off[settled])]
    return {
        "thrust_ratio": (zeta.rows, zeta.crossed + missed["zeta"] - np.log(zeta.data)),
        "slip": (settled, (e.crossed + missed["e"] - e.data)[settled]),
        "efficiency": (loaded, off[loaded]),
        "flank_peak": (peak.rows, peak.crossed - np.log(peak.data)),
    }


def table_of(
    s: Samples, y: Array, laws: Mapping[str, Law], model: ReducedModel, more: Mapping[str, float] | None = None
) -> tuple[Array, dict[str, Errors]]:
    """Coefficients of the splines of ln s, and the errors; `more`: standard deviations that come on top."""
    length = model.constants["length"]

    def places(z: Array) -> Array:
        return moving_places(list(model.coordinates), z, np.log(model.evaluate(z)["zeta"]), length, s.belt)

    grid = grid_of(model.coordinates, model.shift, SPLINES)
    x, at = places(np.column_stack([s.point, y])), places(np.column_stack([grid, np.ones(len(grid))]))
    found = errors_of(s, laws, tables_miss(s, y, laws, model))
    group = folds(s)[s.run]

    def one(item: tuple[NDArray[np.int64], Array]) -> tuple[Spread, Array]:
        return spread(x[item[0]], item[1], group[item[0]])

    with side_by_side() as each:
        spreads = dict(zip(UNCERTAIN, each(one, (found[name] for name in UNCERTAIN)), strict=True))
    known = {name: Errors(*found[name], by_others) for name, (_, by_others) in spreads.items()}
    values = [np.log(together(spreads[name][0].at(at), (more or {}).get(name, 0.0))) for name in UNCERTAIN]
    return splines_through(np.stack(values, axis=1).reshape(*SPLINES, len(UNCERTAIN))), known


def scaled_errors(full: Mapping[str, Array], own: Mapping[str, Array]) -> dict[str, Array]:
    """Errors of settled states over the standard deviations of a model, (n,) by `UNCERTAIN`; NaN: not evaluated.

    full, own: values (n,) by `UNCERTAIN`; of full `slip` and `xi` as well, of own ``uncertainty.NAME`` in the unit of
    the value. States that slip as a whole are not evaluated, nor is the efficiency below `LOADED`. The coverage in
    `reduce` and `check` is the share of these within one and two.
    """
    counted = np.abs(full["slip"]) <= SLIPPING
    loaded = counted & (np.abs(full["xi"]) >= LOADED)
    return {
        name: np.where(loaded if name == "efficiency" else counted, np.abs(own[name] - full[name]) / own[key], np.nan)
        for name in UNCERTAIN
        if (key := f"uncertainty.{name}") in own
    }


def shares(known: Mapping[str, Errors], s: Samples) -> dict[str, tuple[float, float]]:
    """Shares of the errors within one and two standard deviations by cross-validation, as `scaled_errors` counts
    them."""
    counted = (s.phase == 0) & (np.abs(s.values["slip"]) <= SLIPPING)
    rows = {name: counted[e.rows] for name, e in known.items()}
    return {name: within(e.errors[rows[name]], e.by_others[rows[name]]) for name, e in known.items()}
