"""From the windows of a campaign to a reduced model: laws, peaks and fields over the operating point.

Laws. See `laws`: Gaussian processes, tabulated.

Peaks. The logarithms of the forces' largest magnitudes over the belt come from networks of their own, trained like
those of the fields (`fields`) but smaller: they are evaluated in every step, with or without fields. All six share the
units.

Uncertainty. See `uncertainty`: splines of the errors of cross-validation.

Sliding. The shift rate of a belt that slides on the primary, one number (`sliding`), comes from windows without a law.

Fields. See `fields`: networks over the same scaled coordinates.

Windows with more slip than the samples were loaded for (`alignment.MAX_SPEED_LOSS`) are left out, as are those of runs
with such a settled state. Errors are evaluated below `windows.SLIPPING`, so that no law ends where it is measured.

Errors are those of runs that had no part in the weights: cross-validation leaves out a tenth of the runs at a time, of
networks a fifth.
The scatter of the full model is the change from the window before the settled one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS
from rtcvt.offline.pushbelt.run.windows import F_REF, SLIPPING
from rtcvt.offline.variator.alignment import Samples
from rtcvt.offline.variator.fields import (
    FOLDS,
    KEPT,
    TRAININGS,
    UNITS,
    FieldReduction,
    averaged,
    reduce_fields,
    trained,
)
from rtcvt.offline.variator.laws import NEAR, SHIFT, SPLINES, Law, folds, identify, shift_factor, usable
from rtcvt.offline.variator.monotone import monotone_slip
from rtcvt.offline.variator.pod import Basis, pod, projection_error, scales, stacked
from rtcvt.offline.variator.spread import within
from rtcvt.offline.variator.uncertainty import Errors, efficiency, scaled_errors, shares, table_of, tables_miss
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.coordinates import counted, scaled
from rtcvt.variator.reduced.file import rounded
from rtcvt.variator.reduced.model import LAWS, UNCERTAIN, Peak, ReducedModel
from rtcvt.variator.reduced.networks import Networks

Array = NDArray[np.float64]

D_BELT = 3000.0  # N s/m; assumed: the torque in transients hardly depends on it (docs/reduction.md)
PEAKS = KEPT[:6]
PEAK_UNITS = (64, 48)


@dataclass(frozen=True)
class Reduction:
    """A reduced model and the data of its reduction.

    samples and y (n,): of the windows used; laws: by name, including `zeta`; fields: bases, kept modes and
    cross-validated fields; stack: basis of all kept fields together, each over its scale; dropped: numbers of data that
    were not used, by reason; uncertain: cross-validated errors and their standard deviations.
    """

    model: ReducedModel
    samples: Samples
    y: Array
    laws: Mapping[str, Law]
    fields: FieldReduction
    stack: tuple[Basis, Mapping[str, float]]
    dropped: Mapping[str, int]
    uncertain: Mapping[str, Errors]


def reduce(
    samples: Samples,
    name: str,
    units: tuple[int, int] = UNITS,
    peak_units: tuple[int, int] = PEAK_UNITS,
    splines: tuple[tuple[int, ...], tuple[int, ...]] = SPLINES,
    progress: Callable[[str, int, int], None] | None = None,
    prior: ReducedModel | None = None,
) -> Reduction:
    """Reduce a campaign; `prior`: of another belt, from which the laws differ.

    Raises
    ------
    InputError
        Too few settled states, or none that shifts.
    """

    def tell(what: str, done: int, of: int) -> None:
        if progress is not None:
            progress(what, done, of)

    s = samples.of(usable(samples))
    settled = np.flatnonzero(s.phase == 0)
    work = 2 + len(LAWS) + TRAININGS
    found = identify(s, lambda k: tell("regression", k, work), splines, prior)
    coordinates, y = list(found.coordinates), found.y
    t = scaled(coordinates, SHIFT, np.column_stack([s.point, y]))
    dropped = found.dropped | {
        "windows that slip": int(np.sum(samples.slipping)),
        "runs that did not settle": len(samples.unsettled),
    }
    tell("regression", 1 + len(LAWS), work)
    peak_networks, peaks, of_peaks = reduce_peaks(
        {k: peak(s, k) for k in PEAKS}, t, folds(s)[s.run] % FOLDS, peak_units
    )
    fields = reduce_fields(
        {k: s.fields[k] for k in KEPT}, t, s.run, units, lambda k, _: tell("regression", 2 + len(LAWS) + k, work)
    )

    points = scaled(coordinates[:4], SHIFT, s.point[settled])
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.fill_diagonal(apart, np.inf)
    model = ReducedModel(
        name,
        _constants(s, settled),
        tuple(coordinates),
        SHIFT,
        found.thrust,
        found.table,
        peaks,
        fields.fields,
        points,
        float(np.quantile(apart.min(axis=1), 0.95)),
        fields.networks,
        peak_networks,
        unit_file=s.texts["unit_file"],
        plan=s.texts["plan"],
        attributes={"campaign_revision": s.texts["revision"], "runs": len(s.names), "windows": len(y)},
    )  # fmt: skip
    table = found.table.copy()
    table[..., model.in_y] += monotone_slip(model)
    model = replace(model, laws=table)
    laws = dict(found.laws) | of_peaks
    uncertainty, uncertain = table_of(s, y, laws, model)
    v = samples.values
    slide = sliding(samples.point, v["thrust"], v["slip"], v["x"], model)
    model = replace(model, uncertainty=uncertainty, slide=slide)
    scale = scales({k: s.fields[k] for k in KEPT})
    together = pod(stacked(s.fields, scale), np.tile(np.full(4 * CELLS, 1.0 / CELLS), len(KEPT)))
    return Reduction(rounded(model), s, y, laws, fields, (together, scale), dropped, uncertain)


def peak(s: Samples, field: str) -> Array:
    """Largest magnitude of a force along the belt (n,): a force over F_O, one per length times the loop's over F_O."""
    a = np.abs(s.fields[field])
    if FIELDS[field][0] == "N/m":
        a = a * np.repeat(s.length.sum(axis=1, keepdims=True) / s.length, CELLS, axis=1)
    return np.asarray(a.max(axis=1))


def reduce_peaks(
    data: Mapping[str, Array], t: Array, fold: NDArray[np.int64], units: tuple[int, int] = PEAK_UNITS
) -> tuple[Networks, tuple[Peak, ...], dict[str, Law]]:
    """Networks and weights for the logarithms of positive data (n,) by name, and laws with their cross-validation.

    Parameters
    ----------
    data : mapping
        Largest magnitudes by the name of the field.
    t : (n, 5) array
        Scaled coordinates of the operating points.
    fold : (n,) array
        Data of the same number are left out together.
    units : (int, int)
        Of the two layers of a network.
    """
    values = np.log(np.column_stack(list(data.values())))
    mean = values.mean(axis=0)
    size = np.sqrt(values.shape[1]) * np.maximum(values.std(axis=0), np.finfo(float).tiny)
    target = (values - mean) / size

    def last(networks: Networks, rows: NDArray[np.bool_]) -> Array:
        weights = averaged(networks, t[rows], target[rows]) * size[:, None]
        weights[:, -1] += mean
        return weights

    every_row = np.ones(len(t), dtype=bool)
    parts = [fold == k for k in np.unique(fold)]
    networks, *others = trained(t, target, [every_row, *(~out for out in parts)], units)
    weights = last(networks, every_row)
    own, crossed = networks.hidden(t) @ weights.T, np.empty_like(values)
    for out, by_others in zip(parts, others, strict=True):
        crossed[out] = by_others.hidden(t[out]) @ last(by_others, ~out).T
    every = np.arange(len(t))
    laws = {
        f"peak.{name}": Law(every, a, True, crossed[:, j], _rms(own[:, j] - values[:, j]), own[:, j])
        for j, (name, a) in enumerate(data.items())
    }
    return networks, tuple(Peak(name, w) for name, w in zip(laws, weights, strict=True)), laws


def sliding(point: Array, thrust: Array, slip: Array, x: Array, model: ReducedModel) -> float:
    """A of the shift rate of a belt that drives the primary and slides on it (`rtcvt.variator.kernels`); 0 without any.

    Parameters
    ----------
    point : (n, 4) array
        Operating points of windows.
    thrust, slip, x : (n,) arrays
        F_I/F_O, speed loss and shift rate there.
    model : ReducedModel
        The laws, of which the windows that slip by over `SLIPPING` are the data that is left.
    """
    of = (np.abs(slip) > SLIPPING) & (point[:, 1] < 0.0) & (thrust < 1.0) & np.all(np.isfinite(point), axis=1)
    z = np.column_stack([point[of], np.ones(of.sum())])
    z[:, 4] = thrust[of] / model.evaluate(z)["zeta"]
    found = model.evaluate(z)
    beyond = np.maximum(np.abs(slip[of]) - np.abs(found["e"] + found["c"] * z[:, 1]), 0.0)
    by = beyond / (1.0 + beyond) * (z[:, 4] - 1.0)
    left = x[of] - found["k"] * z[:, 3] * (z[:, 4] - 1.0)
    return max(float(by @ left / (by @ by)), 0.0) if by.any() else 0.0


def _constants(s: Samples, settled: NDArray[np.int64]) -> dict[str, float]:
    belt = s.belt
    # U = U_0 + T^2/(2 K) of the settled states, both over F_O: U/F_O = U_0 + F_O (T/F_O)^2/(2 K)
    xi, F_O = s.point[settled, 1], s.point[settled, 3] * F_REF
    carried = (capacity(belt["mu"], belt["cos_d"]) * xi) ** 2 * F_O
    others = np.column_stack([F_O, s.point[settled, 2] ** 2 * F_O, np.log(s.point[settled, 0]) * F_O, 0.5 * carried])
    compliance = float(np.linalg.lstsq(others, s.values["elastic"][settled], rcond=None)[0][-1])
    return {
        "d_A": belt["d_A"], "length": float(s.values["loop"][settled].mean()), "h_off": belt["h_off"],
        "delta_0": belt["delta_0"], "mu": belt["mu"], "m_star": belt["m_star"],
        "m_belt": belt["m_star"] * belt["l_R"], "F_ref": F_REF, "K_belt": 1.0 / compliance, "d_belt": D_BELT,
        "xi_max": float(np.abs(s.point[np.abs(s.values["slip"]) <= SLIPPING, 1]).max()),
        "ring_stretch": belt["l_R"] / belt["EA"],
    }  # fmt: skip


def errors_on(
    model: ReducedModel, samples: Samples, stack: tuple[Basis, Mapping[str, float]] | None = None
) -> dict[str, float]:
    """Errors of a reduced model on runs of the planar belt, and the scatter of their full model in the same figures.

    Windows that slip as a whole have no part. The largest, the root mean square and the median of: the thrust ratio of
    settled states (relative); their speed loss and efficiency (absolute, efficiency above a torque ratio of 0.1);
    the shift rate (relative to the root mean square of all); of each field the root mean square error by its largest
    magnitude, ``field.NAME``, and the error of that magnitude (relative), ``peak.NAME``, over all windows.
    ``projection.NAME`` is the error of the field's modes, relative to the norm of all snapshots, ``projection.stacked``
    that of the basis of all fields together (`Reduction.stack`).
    ``within.NAME.one`` and ``.two`` are shares of the errors within one and two of the model's standard deviations.
    ``repeat.*`` are changes from the window before the settled one, divided by sqrt(2). ``inside`` is the share of
    windows within the range of the model's data.
    """
    s, model = samples.of(usable(samples)), model.planar
    y = shift_factor(s, model.evaluate(np.column_stack([s.point, np.ones(len(s.run))]))["zeta"])
    z = np.column_stack([s.point, y])
    found, v, settled = model.evaluate(z), s.values, s.phase == 0
    errors: dict[str, float] = {"windows": len(y), "settled": int(settled.sum())}
    from_zero = counted(model.shift, z)
    inside = [(from_zero[:, j] >= c.low) & (from_zero[:, j] <= c.high) for j, c in enumerate(model.coordinates)]
    errors["inside"] = float(np.mean(np.all(inside, axis=0)))

    def add(name: str, e: Array) -> None:
        if len(e):
            errors[f"{name}.rms"] = float(np.sqrt(np.mean(e**2)))
            errors[f"{name}.median"] = float(np.median(np.abs(e)))
            errors[f"{name}.max"] = float(np.max(np.abs(e)))

    add("thrust", (found["zeta"] / v["thrust"] - 1.0)[settled])
    add("slip", (found["e"] + found["c"] * s.point[:, 1] - v["slip"])[settled])
    carried = capacity(model.constants["mu"], np.cos(model.constants["delta_0"]))
    loss = found["lambda"] + carried * found["c"] * s.point[:, 1] ** 2
    off = efficiency(s, loss) - efficiency(s, v["loss"])
    add("efficiency", off[settled & np.isfinite(off)])
    if model.uncertainty.size:
        full = {"thrust_ratio": v["thrust"], "slip": v["slip"], "efficiency": efficiency(s, v["loss"])}
        full |= {"flank_peak": peak(s, "flank_normal"), "xi": s.point[:, 1]}
        own = {"thrust_ratio": found["zeta"], "slip": found["e"] + found["c"] * s.point[:, 1]}
        own |= {"efficiency": efficiency(s, loss), "flank_peak": found["peak.flank_normal"]}
        size = {"thrust_ratio": found["zeta"], "flank_peak": found["peak.flank_normal"]}  # these are relative
        own |= {f"uncertainty.{name}": found[f"uncertainty.{name}"] * size.get(name, 1.0) for name in UNCERTAIN}
        for name, e in scaled_errors(full, own).items():
            share = within(e[settled & np.isfinite(e)], 1.0)
            errors |= {f"within.{name}.{k}": v for k, v in zip(("one", "two"), share, strict=True)}
    moving = ~settled & (np.abs(y - 1.0) > NEAR)
    if moving.any():
        x = found["k"] * s.point[:, 3] * (y - 1.0)
        add("shift", (x - v["x"])[moving] / np.sqrt(np.mean(v["x"][moving] ** 2)))
    before, fields_before = samples.before
    runs, rows = s.run[settled], np.flatnonzero(settled)
    half = np.sqrt(0.5)
    add("repeat.thrust", half * (before["thrust"][runs] / v["thrust"][rows] - 1.0))
    add("repeat.slip", half * (before["slip"][runs] - v["slip"][rows]))
    for field in model.fields:
        a, b = s.fields[field.name], model.field(field.name, z)
        largest = np.abs(a).max(axis=1)
        add(f"field.{field.name}", np.sqrt(np.mean((b - a) ** 2, axis=1)) / largest)
        add(f"peak.{field.name}", np.abs(b).max(axis=1) / largest - 1.0)
        basis = Basis(field.modes, np.full(4 * CELLS, 1.0 / CELLS), field.sigma)
        errors[f"projection.{field.name}"] = projection_error(basis, a)
        change = fields_before[field.name][runs] - a[rows]
        add(f"repeat.field.{field.name}", half * np.sqrt(np.mean(change**2, axis=1)) / largest[rows])
    if stack is not None:
        errors["projection.stacked"] = projection_error(stack[0], stacked(s.fields, stack[1]))
    return errors


def figures_of(reduction: Reduction) -> dict[str, Any]:
    """Figures of a reduction: counts, cross-validated errors of the laws and fields, and errors of the tables of
    laws."""
    laws, missed = {}, tables_miss(reduction.samples, reduction.y, reduction.laws, reduction.model)
    for name, q in reduction.laws.items():
        e = np.abs(q.crossed - (np.log(q.data) if q.log else q.data))
        laws[name] = {
            "data": len(e),
            "rms": float(np.sqrt(np.mean(e**2))),
            "median": float(np.median(e)),
            "max": float(e.max()),
            "noise": q.noise,
        }
        if name in missed:  # of the settled states; k has none
            rows = (reduction.samples.phase[q.rows] == 0) | (name == "k")
            laws[name]["table"] = _rms(missed[name][rows])
    fields = {}
    for field in reduction.fields.fields:
        name, X = field.name, reduction.samples.fields[field.name]
        by_largest = np.sqrt(np.mean((reduction.fields.crossed[name] - X) ** 2, axis=1)) / np.abs(X).max(axis=1)
        fields[name] = {
            "modes": len(reduction.fields.bases[name].modes),
            "kept": len(field.modes),
            "projection": projection_error(Basis(field.modes, reduction.fields.bases[name].weights, field.sigma), X),
            "error": float(np.sqrt(np.mean(by_largest**2))),
            "error_median": float(np.median(by_largest)),
        }
    uncertain = {
        name: {"data": len(e.errors), "rms": _rms(e.errors), "said": _rms(e.by_others)}
        | dict(zip(("one", "two"), share, strict=True))
        for (name, e), share in zip(
            reduction.uncertain.items(), shares(reduction.uncertain, reduction.samples).values(), strict=True
        )
    }
    return {
        "runs": len(reduction.samples.names), "windows": len(reduction.y), "dropped": dict(reduction.dropped),
        "laws": laws, "fields": fields, "uncertainty": uncertain,
    }  # fmt: skip


def _rms(e: Array) -> float:
    return float(np.sqrt(np.mean(e**2)))
