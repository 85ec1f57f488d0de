"""The laws of a reduced variator from the windows of a campaign: thrust ratio, shifting, speed loss and losses.

Each law is found by a Gaussian process (`process`) and stored as a table of its mean: coefficients of quadratic splines
and of polynomials in y (`rtcvt.variator.regression`). So the regression may use any coordinates that explain the data.
Its places are the scaled coordinates and

    h         q/sqrt(q^2 + b^2), q = (i - 1)/(i + 1): the rings' friction changes direction at i = 1
    sigma     the torque ratio from its zero on a fine scale
    ln kappa
    u         share of the wrapped arcs that is active by the belt's velocity model (`steady_belt`)
    fronts    jumps of zeta, found with the data (`fronts`), for zeta; only from `MIN_FRONT_STATES` settled states on
    U         -ln(1 - share of a pulley's capacity), |xi|/(zeta y) and |xi|, for the others: near macroscopic slip they
              change several times

Data. The signs required by mechanics are those of exponentials: ln of zeta, k, c and lambda is regressed.

    zeta     F_I/F_O of settled states over that of the velocity model, which is the law where there are no data; or
             over that of the reduced model of another belt, whose other laws are then the reference as well
    y        of a window: F_I/(F_O zeta), zeta that of the run's settled state, moved to the window's point by the law
    k        x/(f (y - 1)); its scatter grows as 1/|y - 1|, and its weight falls
    c        P_slide/(F_O v) cos(delta_0)/(2 mu (xi^2 + xi_0^2)), from the sliding power of the flanks: it is the creep
             that loses this power, limited at low torque, where the flanks slide for other reasons
    e        the whole speed loss: asinh of it by a small one is regressed and stored; e is the rest without c xi
    lambda   loss/(F_O v) less that of shifting, 2 tan(delta_0) (F_I - F_eq) dr_I/dt/(F_O v), and of creep,
             2 mu c xi^2/cos(delta_0); its logarithm is regressed with that of creep, which is then subtracted

Shift rates of the wrong sign, which are small, are left out.

Weights. The weight of a settled state for zeta is the number of revolutions of its mean, since where zeta jumps the
belt changes sides every few revolutions. It is less the more the secondary's speed vibrates and the more the thrust
ratio has changed since the window before. For c, e and lambda it is `SETTLED_WEIGHT` times that of a shifting window,
which is shorter.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.variator.alignment import Samples
from rtcvt.offline.variator.exchange import exchanged, within_range
from rtcvt.offline.variator.fronts import find, fronts_at
from rtcvt.offline.variator.process import fit, side_by_side
from rtcvt.offline.variator.steady_belt import steady_belt
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.coordinates import COORDINATES, Coordinate, counted, grid_of, nodes, scaled
from rtcvt.variator.reduced.model import LAWS, ReducedModel
from rtcvt.variator.reduced.splines import splines_through
from rtcvt.variator.regression import SMALL_SPEED_LOSS

Array = NDArray[np.float64]

FOLDS = 10
SHIFT = (0.11, 0.05)  # a, b of the torque ratio's zero
SPLINES = (24, 60, 30, 6), (12, 48, 16, 4)  # of zeta and of the other laws, along i, xi, kappa, f
IN_Y = 6  # polynomials in y
FINE_XI = 0.06  # scale of sigma
MAX_CAPACITY_SHARE = 0.99  # share of a pulley's capacity above which U is clamped
XI_0 = 0.3  # below this torque ratio sliding does not count as creep
NEAR = 0.05  # |y - 1| below which a shift rate is mostly scatter
MAX_SLIP = 0.02  # speed loss above which a window counts less for the losses: macroscopic slip begins
MAX_VIBRATION = 0.003  # of the secondary's speed, over its mean, above which a settled state counts less for zeta
MAX_DRIFT = 0.01  # of the thrust ratio since the window before, above which a settled state counts less for zeta
FULL_WEIGHT_TURNS = 4.0  # revolutions of a settled state that counts in full
SETTLED_WEIGHT = 4.0  # weight of settled states for c, e and lambda
MIN_FRONT_STATES = 960  # twenty for each number of the fronts: fewer are followed, not explained
MIN_LOSS = 0.1  # lambda is at least this share of the loss
_MAPS = {"i": ("bilinear", 1.0), "xi": ("sigmoid", 1.5), "kappa": ("bilinear", 0.01), "f": ("bilinear", 0.5),
         "y": ("bilinear", 1.0)}  # fmt: skip


@dataclass(frozen=True)
class Law:
    """A law: data (n,) of the windows `rows`, whether as logarithm, and predictions of each run by others.

    crossed: of the logarithm where it is one; noise: of the fit; mean (n,): of the process, as `crossed`, which the
    table follows. lambda with the loss of creep.
    """

    rows: NDArray[np.int64]
    data: Array
    log: bool
    crossed: Array
    noise: float
    mean: Array


class Identified(NamedTuple):
    """coordinates; thrust, table: coefficients of the splines of ln zeta and of the other laws; y (n,) of the windows;
    laws by name; dropped: data not used."""

    coordinates: tuple[Coordinate, ...]
    thrust: Array
    table: Array
    y: Array
    laws: dict[str, Law]
    dropped: dict[str, int]


def usable(samples: Samples) -> NDArray[np.bool_]:
    """Windows (n,) without macroscopic slip, of runs whose settled state has none either."""
    good = ~samples.slipping & np.all(np.isfinite(samples.point), axis=1)
    settles = np.zeros(int(samples.run.max()) + 1, dtype=bool)
    settles[samples.run[good & (samples.phase == 0)]] = True
    return np.asarray(good & settles[samples.run])


def shift_factor(samples: Samples, zeta: Array) -> Array:
    """y of all windows, from the law's thrust ratio `zeta` (n,) at them; 1 for settled states."""
    settled = np.full(samples.run.max() + 1, -1)
    rows = np.flatnonzero(samples.phase == 0)
    settled[samples.run[rows]] = rows
    own = settled[samples.run]
    thrust = samples.values["thrust"]
    return np.where(samples.phase == 0, 1.0, thrust / (thrust[own] * zeta / zeta[own]))


def certainty(s: Samples, settled: NDArray[np.int64]) -> Array:
    """Weights for zeta of the settled states in the rows `settled` (m,), shape (m,)."""
    v = {k: s.values[k][settled] for k in ("thrust", "turns", "vibration")}
    drift = v["thrust"] / s.before[0]["thrust"][s.run[settled]] - 1.0
    calm = (1.0 + (v["vibration"] / MAX_VIBRATION) ** 2) * (1.0 + (drift / MAX_DRIFT) ** 2)
    return np.asarray(np.minimum(v["turns"] / FULL_WEIGHT_TURNS, 1.0) / calm)


def folds(s: Samples) -> NDArray[np.int64]:
    """Fold of each run."""
    return np.random.default_rng(0).permutation(len(s.names)) % FOLDS


def identify(
    s: Samples,
    tell: Callable[[int], None],
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = SPLINES,
    prior: ReducedModel | None = None,
) -> Identified:
    """Laws of windows that are all `usable`; `tell` is called with the number of laws done; `shapes` of the splines.

    With the model `prior` of another belt the processes are those of the differences from it.

    Raises
    ------
    InputError
        Too few settled states, or none that shifts.
    """
    settled = np.flatnonzero(s.phase == 0)
    if len(settled) < 20:
        raise InputError("campaign", "runs", len(settled), "at least 20 that settle without slipping")
    group = folds(s)[s.run]
    coordinates = ranges_of(s.point)
    length = float(s.values["loop"][settled].mean())

    tell(0)
    turned = exchanged(s)
    inside = within_range(coordinates, SHIFT, turned.point)
    other = settled[inside[settled]]
    both = np.concatenate([settled, other])
    z = np.vstack([s.point[settled], turned.point[other]])
    thrust = np.log(np.concatenate([s.values["thrust"][settled], turned.values["thrust"][other]]))
    places, expected = _expected_thrust(coordinates, z, length, s.belt, prior)
    fronts = np.empty((0, 0))
    if len(z) >= MIN_FRONT_STATES:
        fronts = find(places, z, thrust - expected, certainty(s, both))

    def known(z: Array) -> tuple[Array, Array]:
        places, expected = _expected_thrust(coordinates, z, length, s.belt, prior)
        return np.column_stack([places, fronts_at(fronts, z)]), expected

    process, crossed = fit(known(z)[0], thrust - expected, group[both], certainty(s, both))

    def ln_zeta(z: Array) -> Array:
        places, expected = known(z)
        return np.asarray(expected + process.mean(places))

    law = ln_zeta(s.point)
    y = shift_factor(s, np.exp(law))
    low, high = float(y.min()), float(y.max())
    if not (low < 1.0 - NEAR and high > 1.0 + NEAR):
        raise InputError("campaign", "branches", f"y = {low:.3g} to {high:.3g}", "branches with y on both sides of 1")
    coordinates.append(Coordinate("y", *_MAPS["y"], low, high))
    law_turned = ln_zeta(np.where(inside[:, None], turned.point, s.point))  # of others there is no exchanged point
    y_turned = shift_factor(turned, np.exp(law_turned))
    inside &= np.isin(s.run, s.run[other]) & within_range(coordinates, SHIFT, np.column_stack([turned.point, y_turned]))
    n, group = len(y), np.concatenate([group, group[inside]])
    data, dropped = data_of(s, y)
    for name, d in data_of(turned.of(inside), y_turned[inside])[0].items():
        own = data[name]
        data[name] = Data(*(np.concatenate(p) for p in zip(own, d._replace(rows=n + d.rows), strict=True)))
    z = np.column_stack([np.vstack([s.point, turned.point[inside]]), np.concatenate([y, y_turned[inside]])])
    places = moving_places(coordinates, z, np.concatenate([law, law_turned[inside]]), length, s.belt)
    by_others = (expected + crossed)[: len(settled)]
    laws = {"zeta": Law(settled, s.values["thrust"][settled], True, by_others, process.noise, law[settled])}
    carried = capacity(s.belt["mu"], s.belt["cos_d"])  # traction over F_O at xi = 1
    tell(1)
    at = _expected(prior, z, s.belt)
    with side_by_side() as each:
        ended = each(
            lambda q: fit(places[q[1].rows], q[1].values - at[q[0]][q[1].rows], group[q[1].rows], q[1].weights),
            data.items(),
        )
        fits = dict(zip(data, ended, strict=True))
    found = {name: process for name, (process, _) in fits.items()}
    tell(4)
    creep = np.exp(at["c"][:n] + found["c"].mean(places[:n])) * s.point[:, 1]  # c xi
    for name, d in data.items():
        rows = d.rows[d.rows < n]
        values, crossed = np.exp(d.values[: len(rows)]), (at[name][d.rows] + fits[name][1])[: len(rows)]
        mean = at[name][rows] + found[name].mean(places[rows])
        if name == "e":
            values = SMALL_SPEED_LOSS * np.sinh(d.values[: len(rows)]) - creep
            crossed, mean = (SMALL_SPEED_LOSS * np.sinh(a) - creep for a in (crossed, mean))
        laws[name] = Law(rows, values, name != "e", crossed, found[name].noise, mean)

    grid = grid_of(coordinates, SHIFT, shapes[1])
    t_y = nodes(coordinates[4], IN_Y)
    thrust = np.repeat(ln_zeta(grid), IN_Y)
    grid = np.column_stack([np.repeat(grid, IN_Y, axis=0), np.tile(coordinates[4].unscaled(t_y), len(grid))])
    places = moving_places(coordinates, grid, thrust, length, s.belt)
    with side_by_side() as each:
        means = dict(zip(found, each(lambda p: p.mean(places), found.values()), strict=True))
    at = _expected(prior, grid, s.belt)
    means = {name: mean + at[name] for name, mean in means.items()}
    creep = np.exp(means["c"]) * grid[:, 1]
    loss = np.exp(means["lambda"])
    means["lambda"] = np.log(np.maximum(loss - carried * creep * grid[:, 1], MIN_LOSS * loss))
    polynomials = np.linalg.inv(np.polynomial.chebyshev.chebvander(t_y, IN_Y - 1)).T
    table = np.concatenate([means[name].reshape(*shapes[1], IN_Y) @ polynomials for name in LAWS], axis=4)
    return Identified(
        tuple(coordinates), splines_through(ln_zeta(grid_of(coordinates, SHIFT, shapes[0])).reshape(shapes[0])),
        splines_through(table), y, laws, dropped,
    )  # fmt: skip


def _expected_thrust(
    coordinates: list[Coordinate], z: Array, length: float, belt: Mapping[str, float], prior: ReducedModel | None
) -> tuple[Array, Array]:
    """Places of `places_of`, and the logarithm of the thrust ratio that is expected without data."""
    places, model = places_of(coordinates, z, length, belt)
    if prior is None:
        return places, model
    return places, np.log(prior.evaluate(np.column_stack([z, np.ones(len(z))]))["zeta"])


def _expected(prior: ReducedModel | None, z: Array, belt: Mapping[str, float]) -> dict[str, Array]:
    """Reference of the data of `_data` at operating points (n, 5)."""
    if prior is None:
        return dict.fromkeys(LAWS, np.zeros(len(z)))
    found = replace(prior, peaks=()).evaluate(z)
    creep = found["c"] * z[:, 1]
    loss = found["lambda"] + capacity(belt["mu"], belt["cos_d"]) * creep * z[:, 1]
    return {
        "k": np.log(found["k"]),
        "c": np.log(found["c"]),
        "e": np.arcsinh((found["e"] + creep) / SMALL_SPEED_LOSS),
        "lambda": np.log(loss),
    }


def ranges_of(points: Array) -> list[Coordinate]:
    """Coordinates i, xi, kappa and f over the range of operating points (n, 4)."""
    ranges = [(float(a.min()), float(a.max())) for a in counted(SHIFT, points)[:, :4].T]
    return [Coordinate(c, *_MAPS[c], *r) for c, r in zip(COORDINATES[:4], ranges, strict=True)]


class Data(NamedTuple):
    """Values (m,) of a law, logarithms or asinh, at the windows `rows`, and their weights."""

    rows: NDArray[np.int64]
    values: Array
    weights: Array


def data_of(s: Samples, y: Array) -> tuple[dict[str, Data], dict[str, int]]:
    """Data of the regression; those of lambda contain the loss of creep."""
    belt, v = s.belt, s.values
    xi, f = s.point[:, 1], s.point[:, 3]
    every = np.arange(len(y))
    away = np.abs(y - 1.0)
    ratio = v["x"] / (f * np.where(y == 1.0, np.inf, y - 1.0))
    moving = np.flatnonzero((s.phase > 0) & (away > 0.4 * NEAR))
    rows = moving[ratio[moving] > 0.0]
    # the logarithm is scatter for a belt that hardly shifts, whose torque swings against its load
    moved = np.minimum(away[rows], np.abs(v["x"][rows]) / (f[rows] * np.median(ratio[rows])))
    share = moved**2 / (moved**2 + NEAR**2)
    creep = v["sliding"] / (capacity(belt["mu"], belt["cos_d"]) * (xi**2 + XI_0**2))
    known = np.where(s.phase == 0, SETTLED_WEIGHT, 1.0)
    firm = known / (1.0 + (v["slip"] / MAX_SLIP) ** 2)
    # dr_I/dt over v = x r_I omega_I/(r'_I omega_I)
    shifting = 2.0 * belt["tan_d"] * v["thrust"] * (1.0 - 1.0 / y) * v["x"] * v["radius"]
    return {
        "k": Data(rows, np.log(ratio[rows]), share),
        "c": Data(every, np.log(creep), firm),
        "e": Data(every, np.arcsinh(v["slip"] / SMALL_SPEED_LOSS), known),
        "lambda": Data(every, np.log(np.maximum(v["loss"] - np.maximum(shifting, 0.0), MIN_LOSS * v["loss"])), firm),
    }, {"shift rates of the wrong sign": int(len(moving) - len(rows))}


def places_of(coordinates: list[Coordinate], z: Array, length: float, belt: Mapping[str, float]) -> tuple[Array, Array]:
    """Places (n, 8) for zeta at operating points (n, 4), and the logarithm of the velocity model's thrust ratio."""
    t = scaled(coordinates[:4], SHIFT, z)
    x = counted(SHIFT, z)[:, 1]
    model = steady_belt(z[:, 0], z[:, 1], length, belt)
    active = np.minimum(np.maximum(model.share_I, model.share_O), 1.0) ** 4
    q = (z[:, 0] - 1.0) / (z[:, 0] + 1.0)
    turn = q / np.sqrt(q**2 + SHIFT[1] ** 2)
    more = (turn, x / np.sqrt(x**2 + FINE_XI**2), np.log(np.maximum(z[:, 2], coordinates[2].low)) / 3.0, 2.0 * active)
    return np.column_stack([t, *more]), np.log(model.zeta)


def moving_places(
    coordinates: list[Coordinate], z: Array, ln_zeta: Array, length: float, belt: Mapping[str, float]
) -> Array:
    """Places (n, 11) for the other laws at operating points (n, 5)."""
    places, _ = places_of(coordinates, z[:, :4], length, belt)
    xi = np.abs(z[:, 1])
    shares = (xi / (np.exp(ln_zeta) * z[:, 4]), xi)
    near = (-np.log1p(-np.minimum(a, MAX_CAPACITY_SHARE)) / 3.0 for a in shares)
    return np.column_stack([places, coordinates[4].scaled(z[:, 4]), *near])
