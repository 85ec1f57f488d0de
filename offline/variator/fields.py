"""Belt fields over the operating point: modes of each field, and small networks for the coefficients of all of them.

The border between the idle and the active part of an arc moves along the belt with the operating point. The
coefficients of modes, which are fixed in space, change steeply where this front passes. Polynomials need high degrees
for that. A network of two hidden layers with ``s(a) = a/sqrt(1 + a^2)`` learns where these changes are::

    g = s(W_1 t + b_1),    h = s(W_2 g + b_2),    coefficients = W_3 h + b_3

over the scaled coordinates t of the operating point. All fields share the hidden layers, since a front passes through
all of them at the same place. Training is a separable least-squares problem (Golub and Pereyra 1973). For given hidden
layers the output weights W_3, b_3 are those of a ridge regression. They are at their minimum, so the gradient of the
reduced problem with respect to the other weights is that with constant W_3, b_3. L-BFGS minimises from a random start::

    min over W_1, b_1, W_2, b_2 of   |h W_3' + b_3 - Z|^2/(2 n) + DECAY (|W_1|^2 + |W_2|^2)/2 + RIDGE |W_3|^2/2

Z are the coefficients of all fields in the principal directions of the data. Each field is divided by the root mean
square of its snapshots and by the root of the number of fields, and multiplied by its `SHARE`. `NETWORKS` networks from
different starts are averaged, so that the start matters less. Of the modes with 99.99 % of the energy those are
kept that the operating point predicts.

Errors are those of runs that had no part in the training: cross-validation leaves out a fifth of the runs at a time.
Trainings run in parallel, one on each processor: matrices of these sizes need longer on two than on one. They are in
single precision, which needs less than half the time, and another start changes errors as much. The output weights are
solved in double precision.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS
from rtcvt.offline.variator.pod import Basis, coefficients, pod
from rtcvt.variator.reduced.model import ReducedField
from rtcvt.variator.reduced.networks import Networks

Array = NDArray[np.float64]

KEPT = (
    "flank_normal", "flank_longitudinal", "flank_radial", "push", "ring_normal", "ring_friction", "tension",
    "element_offset",
)  # fmt: skip
POSITIVE = ("flank_normal",)  # one-sided contacts
ENERGY = 0.9999  # share of the energy of a field's snapshots
GAIN = 1.01  # modes are kept until their cross-validated error is within this factor of the least
SHARE = {"flank_normal": 2.0}  # weight of a field in the training, 1 by default; its limits are the closest ones
TARGETS = 96  # principal directions in the training
UNITS = (160, 96)  # of the two layers of a network
NETWORKS = 2
FOLDS = 5
TRAININGS = (FOLDS + 1) * NETWORKS
DECAY, RIDGE = 1e-6, 1e-4
SPREAD = 1.5  # of the first layer's random start, by 1/sqrt(number of coordinates)
ITERATIONS = 400


class FieldReduction(NamedTuple):
    """Networks, fields and bases of all modes for the energy; crossed: each field (n, cells) by the other runs."""

    networks: Networks
    fields: tuple[ReducedField, ...]
    bases: dict[str, Basis]
    crossed: dict[str, Array]


def reduce_fields(
    fields: Mapping[str, Array],
    t: Array,
    run: NDArray[np.int64],
    units: tuple[int, int] = UNITS,
    progress: Callable[[int, int], None] | None = None,
) -> FieldReduction:
    """Modes, networks and weights of all of `KEPT`.

    Parameters
    ----------
    fields : mapping
        Snapshots (n, 4 CELLS) by name, dimensionless.
    t : (n, 5) array
        Scaled coordinates of the operating points.
    run : (n,) array
        Number of the run that a snapshot is from: cross-validation leaves out whole runs.
    units : (int, int)
        Of the two layers of a network.
    progress : callable, optional
        Called with trainings done and trainings in all.
    """
    bases = {name: pod(fields[name], np.full(4 * CELLS, 1.0 / CELLS), ENERGY) for name in KEPT}
    a = {name: coefficients(b, fields[name]) for name, b in bases.items()}
    size = {
        name: float(np.sqrt(len(KEPT) * np.mean(np.sum(x**2, axis=1)))) / SHARE.get(name, 1.0) or 1.0
        for name, x in a.items()
    }
    everything = np.hstack([a[name] / size[name] for name in KEPT])
    rotation = np.linalg.svd(everything, full_matrices=False)[2][:TARGETS]
    target = everything @ rotation.T
    fold = np.random.default_rng(0).permutation(run.max() + 1)[run] % FOLDS
    done = 0

    def tell() -> None:
        nonlocal done
        if progress is not None:
            progress(done, TRAININGS)
        done += 1

    def last(networks: Networks, rows: NDArray[np.bool_]) -> dict[str, Array]:
        return {name: averaged(networks, t[rows], a[name][rows] / size[name]) * size[name] for name in KEPT}

    every = np.ones(len(t), dtype=bool)
    networks, *others = trained(t, target, [every, *(fold != k for k in range(FOLDS))], units, tell)
    weights = last(networks, every)
    crossed = {name: np.empty_like(x) for name, x in a.items()}
    for k, by_others in enumerate(others):
        out = fold == k
        h = by_others.hidden(t[out])
        for name, w in last(by_others, ~out).items():
            crossed[name][out] = h @ w.T
    kept, predicted = [], {}
    for name, basis in bases.items():
        K = kept_modes(fields[name], basis, crossed[name])
        values = crossed[name][:, :K] @ basis.modes[:K]
        positive = name in POSITIVE
        predicted[name] = np.maximum(values, 0.0) if positive else values
        kept.append(ReducedField(name, *FIELDS[name], basis.modes[:K], weights[name][:K], basis.sigma, positive))
    return FieldReduction(networks, tuple(kept), bases, predicted)


def kept_modes(X: Array, basis: Basis, crossed: Array) -> int:
    """Number of modes beyond which the cross-validated error of a field (n, M) does not fall by more than `GAIN`."""
    rest, errors = X.copy(), []
    for mode, a in zip(basis.modes, crossed.T, strict=True):
        rest -= a[:, None] * mode
        errors.append(float(np.sum(rest**2 * basis.weights)))
    return int(np.argmax(np.array(errors) <= GAIN**2 * min(errors))) + 1


def trained(
    t: Array,
    z: Array,
    rows: Sequence[NDArray[np.bool_]],
    units: tuple[int, int],
    tell: Callable[[], None] = lambda: None,
) -> list[Networks]:
    """For each of the masks `rows` (n,) `NETWORKS` networks from different starts; `tell` is called before each."""
    stop = Event()

    def one(which: NDArray[np.bool_], seed: int) -> tuple[Array, Array]:
        tell()
        return train(t[which], z[which], seed, units, stop)

    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            seeds = range(NETWORKS)
            found = list(pool.map(one, [which for which in rows for _ in seeds], [*seeds] * len(rows)))
        except BaseException:
            stop.set()
            raise
    each = zip(*[iter(found)] * NETWORKS, strict=True)
    return [Networks(*(np.stack(layers) for layers in zip(*networks, strict=True))) for networks in each]


def train(t: Array, z: Array, seed: int, units: tuple[int, int], stop: Event | None = None) -> tuple[Array, Array]:
    """Both hidden layers of a network, (n_1, d + 1) and (n_2, n_1 + 1) with the constant last, for targets z (n, K).

    It ends early once `stop` is set.
    """

    def ends(intermediate_result: Any) -> None:
        if stop is not None and stop.is_set():
            raise StopIteration

    rng = np.random.default_rng(seed)
    sizes = ((units[0], t.shape[1]), (units[1], units[0]))
    layers = [
        np.column_stack([rng.normal(0.0, spread / np.sqrt(b), (a, b)), rng.uniform(-bias, bias, a)])
        for (a, b), spread, bias in zip(sizes, (SPREAD, 1.0), (1.0, 0.5), strict=True)
    ]
    start = np.concatenate([w.ravel() for w in layers])
    options = {"maxiter": ITERATIONS, "maxcor": 30, "maxfun": 10 * ITERATIONS, "ftol": 1e-12, "gtol": 1e-9}
    single = t.astype(np.float32), z.astype(np.float32)
    end = minimize(loss, start, args=(*single, units), jac=True, method="L-BFGS-B", options=options, callback=ends)
    return _split(end.x, t.shape[1], units)


def loss(x: Array, t: Array, z: Array, units: tuple[int, int]) -> tuple[float, Array]:
    """Residual of the ridge regression on the units, with the penalties, and its gradient in both hidden layers x.

    Sums over the data are in the precision of `t` and `z`.
    """
    n = len(t)
    first, second = _split(x.astype(t.dtype), t.shape[1], units)
    g, slope_1 = _layer(first, t)
    h, slope_2 = _layer(second, g)
    w = _ridge(h, z)
    rest = h @ w[:, :-1].T + w[:, -1] - z
    squares = np.sum(rest**2) / n + RIDGE * np.sum(w[:, :-1] ** 2)
    squares += DECAY * (np.sum(first[:, :-1] ** 2) + np.sum(second[:, :-1] ** 2))
    back_2 = (rest @ w[:, :-1]) * slope_2 / n
    back_1 = (back_2 @ second[:, :-1]) * slope_1
    parts = []
    for layer, back, before in ((first, back_1, t), (second, back_2, g)):
        parts.append(np.column_stack([back.T @ before + DECAY * layer[:, :-1], back.sum(axis=0)]).ravel())
    return 0.5 * float(squares), np.concatenate(parts).astype(float)


def _split(x: Array, d: int, units: tuple[int, int]) -> tuple[Array, Array]:
    first = units[0] * (d + 1)
    return x[:first].reshape(units[0], d + 1), x[first:].reshape(units[1], units[0] + 1)


def _layer(weights: Array, x: Array) -> tuple[Array, Array]:
    """Units of a layer and their slopes."""
    a = x @ weights[:, :-1].T + weights[:, -1]
    r = 1.0 / np.sqrt(1.0 + a * a)
    return a * r, r**3


def _ridge(h: Array, z: Array) -> Array:
    """Weights (K, N + 1) of units (n, N) and of 1 for targets (n, K); the constant has no penalty."""
    n, mean, middle = len(h), h.mean(axis=0), z.mean(axis=0)
    centred = h - mean
    gram = centred.T @ centred / n
    gram[np.diag_indices_from(gram)] += RIDGE
    w = cho_solve(cho_factor(gram.astype(float)), centred.T @ (z - middle) / n).T.astype(z.dtype)
    return np.column_stack([w, middle - w @ mean])


def averaged(networks: Networks, t: Array, z: Array) -> Array:
    """Weights (K, units) of the mean of the networks' own predictions of targets (n, K)."""
    h = networks.hidden(t)[:, :-1]
    each = [_ridge(part, z) / len(networks.first) for part in np.split(h, len(networks.first), axis=1)]
    return np.column_stack([*(w[:, :-1] for w in each), sum(w[:, -1] for w in each)])
