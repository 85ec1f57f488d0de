"""From the windows of a campaign to a reduced model: laws, peaks and fields over the operating point.

Laws. See `laws`: Gaussian processes, tabulated.

Peaks. The logarithm of a force's largest magnitude over the belt is ``w . phi`` with the Chebyshev features of
`rtcvt.variator.regression`. The coefficients of an analytic function in these fall geometrically with the degree in
each coordinate, faster the smoother it is along it (Trefethen 2013, theorem 8.2), and many a coordinate matters little,
but not smoothly. That is the prior: but for the constant, w_m is normal with the standard deviation
``a prod_j alpha_j rho_j^(m_j - 1)`` over the j with m_j > 0; the data have the noise s. Those a, alpha_j, rho_j, s are
taken, for each output by itself, that make the evidence of the data largest (Bishop 2006, section 3.5): degrees that
the data do not support get small weights. With P = diag(prior variance) and weights omega of the data

    A = I + P^1/2 Phi' Omega Phi P^1/2/s^2,   w = P^1/2 A^-1 P^1/2 Phi' Omega y/s^2,   Sigma = P^1/2 A^-1 P^1/2
    -ln p(y) = n ln s + ln det(A)/2 + (y' Omega y - y' Omega Phi w)/(2 s^2) + const

Fields. See `fields`: networks over the same scaled coordinates.

Windows that slip as a whole (`alignment`) are left out, as are those of runs whose settled state does.

Errors are those of runs that had no part in the weights: cross-validation leaves out a tenth of the runs at a time.
What the full model itself scatters is the change from the window before the settled one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from offline.pushbelt.snapshots import CELLS, FIELDS
from offline.variator.alignment import F_REF, Samples
from offline.variator.fields import KEPT, TRAININGS, UNITS, FieldReduction, reduce_fields
from offline.variator.laws import FOLDS, NEAR, SHIFT, SPLINES, Law, folds, identify, shift_factor, usable
from offline.variator.pod import Basis, projection_error
from rtcvt.variator.reduced_model import LAWS, Coordinate, Peak, ReducedModel, counted, scaled

__all__ = [
    "DEGREES",
    "PEAKS",
    "Fit",
    "Reduction",
    "errors_on",
    "figures_of",
    "multi_indices",
    "reduce",
    "regress",
    "shift_factor",
]

Array = NDArray[np.float64]

DEGREES = (7, 11, 4, 3, 5)  # largest degree in i, xi, kappa, f, y alone; of products the shares add up to at most 1
D_BELT = 2000.0  # N s/m; from the torque in the campaign's transients; with 2500, 1 ms steps can hang at capacity
STARTS = (-0.5, -1.5)  # of ln rho and ln alpha
PEAKS = KEPT[:6]


class Fit(NamedTuple):
    """A regression: weights (N,), noise s, rho, alpha (d,) and a of the prior, minus the logarithm of the evidence."""

    weights: Array
    noise: float
    rho: Array
    alpha: Array
    amplitude: float
    evidence: float


def multi_indices(degrees: tuple[int, ...]) -> NDArray[np.int64]:
    """Rows m with sum_j m_j/degrees_j <= 1, by number of factors."""
    rows = [
        m
        for m in product(*(range(d + 1) for d in degrees))
        if sum(a / d for a, d in zip(m, degrees, strict=True)) < 1.0 + 1e-9
    ]
    rows.sort(key=lambda m: (sum(a > 0 for a in m), m))
    return np.array(rows)


def regress(
    phi: Array, y: Array, index: NDArray[np.int64], weights: Array | None = None, fixed: Fit | None = None
) -> Fit:
    """Weights of the features by the largest evidence.

    Parameters
    ----------
    phi : (n, N) array
        Features of the data.
    y : (n,) array
        Data.
    index : (N, d) array
        Multi-indices of the features, the constant first.
    weights : (n,) array, optional
        Of the data: their noise is s/sqrt(weight).
    fixed : Fit, optional
        Take over its noise and prior.
    """
    omega = np.ones(len(y)) if weights is None else weights
    mean = float(np.sum(omega * y) / np.sum(omega))
    scale = float(np.sqrt(np.sum(omega * (y - mean) ** 2) / np.sum(omega))) or 1.0
    z = (y - mean) / scale
    G, b, zz = phi.T @ (phi * omega[:, None]), phi.T @ (omega * z), float(z @ (omega * z))
    powers = np.hstack([np.maximum(index - 1, 0), index > 0])  # of rho and alpha
    d = powers.shape[1]

    def posterior(t: Array) -> tuple[float, Array, Array]:
        log_p = powers @ t[:d] + t[d]
        log_p[0] = np.log(10.0)
        p, s2 = np.exp(log_p), np.exp(2.0 * t[d + 1])
        A = G * np.outer(p, p) / s2
        A[np.diag_indices_from(A)] += 1.0
        L = cholesky(A, lower=True, check_finite=False)
        root = solve_triangular(L, np.diag(p), lower=True, check_finite=False)  # Sigma = root' root
        w = root.T @ (root @ b) / s2
        value = len(z) * t[d + 1] + float(np.log(np.diag(L)).sum()) + 0.5 * (zz - float(w @ b)) / s2
        kept = np.einsum("ij,ij->j", root, root) / p**2  # share of the prior's variance that is left
        slope = 1.0 - kept - (w / p) ** 2
        slope[0] = 0.0
        rest = zz - 2.0 * float(w @ b) + float(w @ G @ w)
        gradient = np.concatenate([powers.T @ slope, [slope.sum()], [len(z) - float((1.0 - kept).sum()) - rest / s2]])
        return value, gradient, w

    if fixed is None:
        bounds = [(-5.0, -0.02)] * d + [(-4.0, 3.0), (-8.0, 1.0)]
        starts = [np.concatenate([np.full(d, r), [0.0, np.log(0.1)]]) for r in STARTS]
        ends = [minimize(lambda t: posterior(t)[:2], a, jac=True, method="L-BFGS-B", bounds=bounds) for a in starts]
        t = min(ends, key=lambda end: float(end.fun)).x
    else:
        t = np.concatenate(
            [np.log(fixed.rho), np.log(fixed.alpha), [np.log(fixed.amplitude / scale), np.log(fixed.noise / scale)]]
        )
    value, _, w = posterior(t)
    w = w * scale
    w[0] += mean
    rho, alpha = np.exp(t[:d]).reshape(2, -1)
    noise, amplitude = scale * np.exp(t[d + 1]), scale * np.exp(t[d])
    return Fit(w, float(noise), rho, alpha, float(amplitude), value + len(z) * np.log(scale))


@dataclass(frozen=True)
class Reduction:
    """A reduced model and how it came to be.

    samples and y (n,): of the windows used; laws: by name, `zeta` among them; fields: bases, what was kept of them and
    cross-validated fields; dropped: how many data were not used, and why.
    """

    model: ReducedModel
    samples: Samples
    y: Array
    laws: Mapping[str, Law]
    fields: FieldReduction
    dropped: Mapping[str, int]


def reduce(
    samples: Samples,
    name: str,
    degrees: tuple[int, ...] = DEGREES,
    units: tuple[int, int] = UNITS,
    splines: tuple[tuple[int, ...], tuple[int, ...]] = SPLINES,
    progress: Callable[[str, int, int], None] | None = None,
) -> Reduction:
    """Reduce a campaign.

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
    work = 1 + len(LAWS) + len(PEAKS) + TRAININGS
    found = identify(s, lambda k: tell("regression", k, work), splines)
    coordinates, y = list(found.coordinates), found.y
    point = np.column_stack([s.point, y])
    index = multi_indices(degrees)
    phi = _features(coordinates, index, point)
    dropped = found.dropped | {
        "windows that slip": int(np.sum(samples.slipping)),
        "runs that did not settle": len(samples.unsettled),
    }
    laws, peaks = dict(found.laws), []
    for n, field in enumerate(PEAKS):
        tell("regression", 1 + len(LAWS) + n, work)
        law = f"peak.{field}"
        laws[law], weights = _peak(s, peak(s, field), phi, index)
        peaks.append(Peak(law, weights))

    fields = reduce_fields(
        {k: s.fields[k] for k in KEPT},
        scaled(coordinates, SHIFT, point),
        s.run,
        units,
        lambda k, _: tell("regression", 1 + len(LAWS) + len(PEAKS) + k, work),
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
        index,
        tuple(peaks),
        fields.fields,
        points,
        float(np.quantile(apart.min(axis=1), 0.95)),
        fields.networks,
        unit_file=s.texts["unit_file"],
        plan=s.texts["plan"],
        attributes={"campaign_revision": s.texts["revision"], "runs": len(s.names), "windows": len(y)},
    )  # fmt: skip
    return Reduction(model, s, y, laws, fields, dropped)


def peak(s: Samples, field: str) -> Array:
    """Largest magnitude of a force over the belt (n,): a force by F_O, a force per length times the loop's by F_O."""
    a = np.abs(s.fields[field])
    if FIELDS[field][0] == "N/m":
        a = a * np.repeat(s.length.sum(axis=1, keepdims=True) / s.length, CELLS, axis=1)
    return np.asarray(a.max(axis=1))


def _features(coordinates: list[Coordinate], index: NDArray[np.int64], point: Array) -> Array:
    phi = np.ones((len(point), len(index)))
    for j, t in enumerate(scaled(coordinates, SHIFT, point).T):
        phi *= np.polynomial.chebyshev.chebvander(t, max(1, int(index[:, j].max())))[:, index[:, j]]
    return phi


def _peak(s: Samples, data: Array, phi: Array, index: NDArray[np.int64]) -> tuple[Law, Array]:
    """Fit, with the predictions for each run by the others, and weights."""
    values = np.log(data)
    fit = regress(phi, values, index)
    crossed = np.empty(len(values))
    fold = folds(s)[s.run]
    for k in range(FOLDS):
        out = fold == k
        if out.any():
            crossed[out] = phi[out] @ regress(phi[~out], values[~out], index, None, fit).weights
    return Law(np.arange(len(values)), data, True, crossed, fit.noise), fit.weights


def _constants(s: Samples, settled: NDArray[np.int64]) -> dict[str, float]:
    belt = s.belt
    # U = U_0 + T^2/(2 K) of the settled states, both by F_O: U/F_O = U_0 + F_O (T/F_O)^2/(2 K)
    xi, F_O = s.point[settled, 1], s.point[settled, 3] * F_REF
    carried = (2.0 * belt["mu"] / belt["cos_d"] * xi) ** 2 * F_O
    others = np.column_stack([F_O, s.point[settled, 2] ** 2 * F_O, np.log(s.point[settled, 0]) * F_O, 0.5 * carried])
    compliance = float(np.linalg.lstsq(others, s.values["elastic"][settled], rcond=None)[0][-1])
    return {
        "d_A": belt["d_A"],
        "length": float(s.values["loop"][settled].mean()),
        "h_off": belt["h_off"],
        "delta_0": belt["delta_0"],
        "mu": belt["mu"],
        "m_star": belt["m_star"],
        "m_belt": belt["m_star"] * belt["l_R"],
        "F_ref": F_REF,
        "K_belt": 1.0 / compliance,
        "d_belt": D_BELT,
        "xi_max": float(np.abs(s.point[:, 1]).max()),
        "ring_stretch": belt["l_R"] / belt["EA"],
    }


def errors_on(model: ReducedModel, samples: Samples) -> dict[str, float]:
    """Errors of a reduced model on runs, and what of the same kind their full model scatters by itself.

    Windows that slip as a whole have no part. The largest, the root mean square and the median of: the thrust ratio of
    settled states (relative); their speed loss and efficiency (absolute, efficiency above a torque ratio of 0.1);
    the shift rate (relative to the root mean square of all); of each field the root mean square error by its largest
    magnitude, ``field.NAME``, and the error of that magnitude (relative), ``peak.NAME``, over all windows.
    ``projection.NAME`` is what the field's modes miss, relative to the norm of all snapshots.
    ``repeat.*`` are changes from the window before the settled one, divided by sqrt(2). ``inside`` is the share of
    windows within the range of the model's data.
    """
    s = samples.of(usable(samples))
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
    carried = 2.0 * model.constants["mu"] / np.cos(model.constants["delta_0"])
    loss = found["lambda"] + carried * found["c"] * s.point[:, 1] ** 2
    out = np.where(s.point[:, 1] > 0.0, v["transmitted"], -v["received"])
    pulls = settled & (np.abs(s.point[:, 1]) > 0.1) & (out > 0.0)
    add("efficiency", (out / (out + loss) - out / (out + v["loss"]))[pulls])
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
    return errors


def figures_of(reduction: Reduction) -> dict[str, Any]:
    """Figures of a reduction: counts, cross-validated errors of the laws and fields."""
    laws = {}
    for name, q in reduction.laws.items():
        e = np.abs(q.crossed - (np.log(q.data) if q.log else q.data))
        laws[name] = {
            "data": len(e),
            "rms": float(np.sqrt(np.mean(e**2))),
            "median": float(np.median(e)),
            "max": float(e.max()),
            "noise": q.noise,
        }
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
    return {
        "runs": len(reduction.samples.names),
        "windows": len(reduction.y),
        "features": len(reduction.model.index),
        "dropped": dict(reduction.dropped),
        "laws": laws,
        "fields": fields,
    }
