"""A reduced model: identified laws and belt fields of a pushbelt variator, and the one HDF5 file that holds them.

The laws and fields are those of `rtcvt.variator.regression`: outputs over the operating point
``(i, xi, kappa, f, y)``. In the terms of the full model, with radii r' at the rocking edges, F_CI and F_CO the clamping
forces and T the traction at the secondary::

    i = r'_O/r'_I,   xi = T cos(delta_0)/(2 mu F_CO),   kappa = m* v^2/F_CO,   f = F_CO/F_ref,   y = F_CI/F_eq

    thrust ratio   zeta = F_eq/F_CO, without y
    k              (dr_I/dt)/(omega_I r_I) = k f (y - 1); with slide, a number, of belts that slide (`kernels`)
    e, c           speed loss 1 - i omega_O/omega_I = e + c xi: e elastic, of either sign and without loss; c > 0 creep
    lambda         remaining loss over F_CO v: all losses but 2 tan(delta_0) (F_CI - F_eq) dr_I/dt and those of creep,
                   2 mu c xi^2/cos(delta_0) F_CO v
    peak.NAME      largest magnitude of a force along the belt over F_CO, of a force per length times the path's length

Fields have the same number of cells in each of four sections, of equal length within a section: primary arc, push span,
secondary arc, slack span, in the direction of travel. Their coefficients and the logarithms of the peaks come from the
units of networks. Terms of the fields: a force per length times the length of its section, and a force, over F_CO; an
offset by l_R F_CO/EA.

Two parts may be missing. Corrections: differences d of the spatial belt from the planar one, `CORRECTIONS` and the
peaks, without y. They change laws, not signs: ``zeta exp(d)``, asinh of the speed loss + d, both losses, c and lambda,
by one factor exp(d), peaks by exp(d); three more are outputs of their own, the exit forces over F_CO. Uncertainty: one
standard deviation of `UNCERTAIN`, relative for thrust ratio and peak; those of corrections are constants, which come on
top in their squares. The kernels' tables hold all of it: coefficients such that the splines are right at their sites.

Of the speed loss file and tables hold the whole, asinh((e + c xi)/0.002); e is it less c xi. Along xi the coefficients
of the tables do not fall.

File. Attributes: ``schema_version``, ``kind``, ``rtcvt_version``, ``revision``, ``created``, ``name`` and what the
reduction adds. Groups: ``constants``; ``coordinates``: names, maps, centres, ranges; ``thrust``, ``laws``: coefficients
of the splines; ``uncertainty``, ``correction`` and ``deviation``, if there are any; ``peaks``: names, weights, both
layers of their networks; ``networks``: those of the fields; ``fields/NAME``: weights, modes, singular values;
``campaign``: points of the data in the scaled coordinates; ``errors``; ``unit_file`` and ``plan``: texts. Every dataset
has ``units`` and ``description``. Coefficients are multiples of `GRAIN`; modes and weights are in single precision. The
file is sealed, see `rtcvt.files.hdf5`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.environment import now
from rtcvt.errors import InputError
from rtcvt.files.hdf5 import Schema, open_sealed, refused
from rtcvt.files.quantity import MOST
from rtcvt.files.recording import new_hdf5, revision
from rtcvt.variator import regression

Array = NDArray[np.float64]

SCHEMA_VERSION = 6
KIND = "reduced model of a variator"
SEAL = b"rtcvt reduced 4 "
COORDINATES = ("i", "xi", "kappa", "f", "y")
LAWS = ("k", "e", "c", "lambda")
CONSTANTS = {  # unit and description
    "d_A": ("m", "centre distance"),
    "length": ("m", "length of the taut path of the neutral fibre"),
    "h_off": ("m", "neutral fibre above the rocking edges"),
    "delta_0": ("rad", "half wedge angle"),
    "mu": ("1", "friction of elements on sheaves"),
    "m_star": ("kg/m", "mass of the belt per length"),
    "m_belt": ("kg", "mass of the belt"),
    "F_ref": ("N", "force that f counts"),
    "K_belt": ("N/m", "stiffness of the belt between the pulleys"),
    "d_belt": ("N.s/m", "damping of the belt between the pulleys"),
    "xi_max": ("1", "torque ratio at which the belt slips as a whole"),
    "ring_stretch": ("m/N", "l_R/EA: offsets are by this and F_CO"),
}
UNCERTAIN = ("thrust_ratio", "slip", "efficiency", "flank_peak")
CORRECTIONS = ("thrust_ratio", "slip", "loss", "exit_force.primary", "exit_force.secondary", "ring_to_pillar")
MAPS = ("bilinear", "sigmoid")
MOST_PEAKS, MOST_MODES, MOST_CELLS, MOST_POINTS, MOST_DEGREE = 100, 100, 2048, 10_000, 40
GRAIN = 2.0**-10  # of the splines' coefficients, logarithms: what scatters a hundred times as much packs better
MOST_UNITS, MOST_SPLINES, MOST_COEFFICIENTS = 2000, 100, 2_000_000


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of the operating point: its map and centre (`regression`), and the range of the data."""

    name: str
    map: str  # "bilinear" or "sigmoid"
    centre: float
    low: float
    high: float

    def mapped(self, z: Any) -> Array:
        """g(z), not clamped."""
        z = np.asarray(z, dtype=float)
        if self.map == "bilinear":
            return np.asarray((z - self.centre) / (z + self.centre))
        return np.asarray(z / np.sqrt(z**2 + self.centre**2))

    def scaled(self, z: Any) -> Array:
        """t in [-1, 1], clamped."""
        low, high = self.mapped(self.low), self.mapped(self.high)
        return np.asarray(2.0 * (self.mapped(np.clip(z, self.low, self.high)) - low) / (high - low) - 1.0)

    def unscaled(self, t: Array) -> Array:
        """z at t in [-1, 1]."""
        low, high = float(self.mapped(self.low)), float(self.mapped(self.high))
        g = low + 0.5 * (t + 1.0) * (high - low)
        if self.map == "bilinear":
            return np.asarray(self.centre * (1.0 + g) / (1.0 - g))
        return np.asarray(self.centre * g / np.sqrt(1.0 - g**2))


def counted(shift: tuple[float, float], z: Array) -> Array:
    """Operating points (n, 4 or 5) whose torque ratio counts from where the push force changes strands."""
    z = np.array(z, dtype=float)
    q = (z[:, 0] - 1.0) / (z[:, 0] + 1.0)
    z[:, 1] -= shift[0] * q / np.sqrt(q**2 + shift[1] ** 2)
    return z


def scaled(coordinates: Sequence[Coordinate], shift: tuple[float, float], z: Array) -> Array:
    """Coordinates t of operating points (n, d), as many as there are `coordinates`."""
    z = counted(shift, z)
    return np.column_stack([c.scaled(z[:, j]) for j, c in enumerate(coordinates)])


def sites(n: int) -> Array:
    """The `n` places in [-1, 1] where `splines_through` has its values: the ends, and the middles of the cells."""
    half = 1.0 / (n - 2)
    return np.concatenate([[-1.0], np.linspace(half - 1.0, 1.0 - half, n - 2), [1.0]])


def splines(n: int, t: Array) -> Array:
    """The `n` uniform quadratic B-splines at places t (m,) in [-1, 1], shape (m, n)."""
    cell, weights = _three(n, t)
    found = np.zeros((len(cell), n))
    for k in range(3):
        found[np.arange(len(cell)), cell + k] = weights[k]
    return found


def _three(n: int, t: Array) -> tuple[NDArray[np.int64], Array]:
    """First of the splines that do not vanish at places t (m,), shape (m,), and the three, (3, m)."""
    x = 0.5 * (np.asarray(t) + 1.0) * (n - 2)
    cell = np.clip(x.astype(int), 0, n - 3)
    r = x - cell
    s = 1.0 - r
    return cell, np.array([0.5 * s**2, 0.5 + r * s, 0.5 * r**2])


def splines_through(values: Array, axes: int = 4) -> Array:
    """Coefficients of the splines that have these `values` at the `sites` along the first `axes`; of their shape."""
    c = np.asarray(values, dtype=float)
    for axis in range(axes):
        n = c.shape[axis]
        c = np.moveaxis(np.tensordot(np.linalg.inv(splines(n, sites(n))), c, (1, axis)), 0, axis)
    return np.ascontiguousarray(c)


def _summed(coefficients: Array, t: Array) -> Array:
    """Sums (n, M) of splines along four coordinates with coefficients (n_1, n_2, n_3, n_4, M) at t (n, 4 or 5)."""
    total = np.empty((len(t), coefficients.shape[4]))
    for some in range(0, len(t), 64):  # points at once: each has 81 rows
        found = [_three(n, t[some : some + 64, j]) for j, n in enumerate(coefficients.shape[:4])]
        rows = coefficients[tuple(_along(axis, cell + np.arange(3)[:, None]) for axis, (cell, _) in enumerate(found))]
        weight = reduce(np.multiply, (_along(axis, three) for axis, (_, three) in enumerate(found)))
        total[some : some + 64] = (weight[..., None] * rows).reshape(len(rows), 81, -1).sum(axis=1)
    return total


def _along(axis: int, three: NDArray[Any]) -> NDArray[Any]:
    """Three of each of n points, (3, n), as (n, 3) along one of four axes behind the first."""
    return np.expand_dims(three.T, [k + 1 for k in range(4) if k != axis])


def _at_sites(coefficients: Array, shape: Sequence[int]) -> Array:
    """Sums of splines at all `sites` of as many splines as `shape` has along each axis, (*shape, M)."""
    c = coefficients
    for axis, n in enumerate(shape):
        c = np.moveaxis(np.tensordot(splines(c.shape[axis], sites(n)), c, (1, axis)), 0, axis)
    return c


def grid_of(coordinates: Sequence[Coordinate], shift: tuple[float, float], shape: Sequence[int]) -> Array:
    """Operating points (n, 4) at the sites of splines."""
    axes = [c.unscaled(sites(n)) for c, n in zip(coordinates, shape, strict=False)]
    grid = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    zero = np.column_stack([grid[:, 0], np.zeros((len(grid), 3))])
    grid[:, 1] -= counted(shift, zero)[:, 1]
    return grid


def rising(values: Array) -> Array:
    """The nearest that do not fall along the second axis, by least squares: isotonic regression (Barlow et al. 1972).

    At j it is the largest over a <= j of the smallest over b >= j of the means from a to b.
    """
    v = np.moveaxis(values, 1, -1)
    n = v.shape[-1]
    sums = np.concatenate([np.zeros((*v.shape[:-1], 1)), np.cumsum(v, axis=-1)], axis=-1)
    found = np.full(v.shape, -np.inf)
    for a in range(n):
        means = (sums[..., a + 1 :] - sums[..., a : a + 1]) / np.arange(1, n - a + 1)
        least = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]
        found[..., a:] = np.maximum(found[..., a:], least)
    return np.moveaxis(found, -1, 1)


def nodes(y: Coordinate, n: int) -> Array:
    """`n` places in [-1, 1] for polynomials in y; one is that of y = 1, whose laws are met."""
    t = np.cos(np.pi * np.arange(n) / max(n - 1, 1))[::-1].copy()
    one = float(y.scaled(1.0))
    t[np.argmin(np.abs(t - one))] = one
    return t


def _speed_loss(g: Array) -> Array:
    return regression.SMALL_SPEED_LOSS * np.sinh(g)


_LINKS: dict[str, Callable[[Array], Array]] = {"k": np.exp, "e": _speed_loss, "c": np.exp, "lambda": np.exp}


@dataclass(frozen=True)
class Peak:
    """Largest magnitude of a force over the belt: its logarithm has weights (units,) of the peaks' units."""

    name: str
    weights: Array


@dataclass(frozen=True)
class Networks:
    """The hidden layers of M networks: weights of the coordinates and of 1, then of the first layer and of 1.

    first (M, n_1, 6), second (M, n_2, n_1 + 1).
    """

    first: Array
    second: Array

    @classmethod
    def none(cls) -> "Networks":
        """No network: what comes out is constant."""
        return cls(np.zeros((0, 0, len(COORDINATES) + 1)), np.zeros((0, 0, 1)))

    @property
    def units(self) -> int:
        """Number of units, with the constant 1 behind them."""
        return self.second.shape[0] * self.second.shape[1] + 1

    def hidden(self, t: Array) -> Array:
        """Units (n, `units`) at scaled coordinates (n, 5)."""
        found = []
        for first, second in zip(self.first, self.second, strict=True):
            h = t
            for layer in (first, second):
                a = h @ layer[:, :-1].T + layer[:, -1]
                h = a / np.sqrt(1.0 + a * a)
            found.append(h)
        return np.column_stack([*found, np.ones(len(t))])


@dataclass(frozen=True)
class ReducedField:
    """A field: modes (K, cells), weights (K, units) of their coefficients, singular values of its snapshots.

    positive: values below zero are cut off.
    """

    name: str
    unit: str  # of the field itself
    description: str
    modes: Array
    weights: Array
    sigma: Array
    positive: bool = False


@dataclass(frozen=True)
class ReducedModel:
    """What a reduced model's file holds.

    coordinates in the order of `COORDINATES`; shift: a, b of the torque ratio's zero (`regression`); thrust
    (m_1, m_2, m_3, m_4): coefficients of the splines of ln zeta, along t_1 to t_4; laws (n_1, n_2, n_3, n_4, 4 n):
    those of the n Chebyshev polynomials in t_5 of each of `LAWS`; networks: of the fields, peak_networks: of the peaks;
    points (n, 4): scaled coordinates of the campaign's settled states, spacing: typical distance between them;
    errors: name -> value; texts: unit_file, plan; attributes; uncertainty (m_1, m_2, m_3, m_4, 4): coefficients of the
    splines of ln s by `UNCERTAIN`, empty: unknown; correction, of the same splines: by `CORRECTIONS` and peaks, empty:
    none;
    deviation (4,): standard deviations of the corrections by `UNCERTAIN`; slide: A of the shift rate of a belt that
    slides on the primary.
    """

    name: str
    constants: Mapping[str, float]
    coordinates: tuple[Coordinate, ...]
    shift: tuple[float, float]
    thrust: Array
    laws: Array
    peaks: tuple[Peak, ...]
    fields: tuple[ReducedField, ...]
    points: Array
    spacing: float
    networks: Networks = field(default_factory=Networks.none)
    peak_networks: Networks = field(default_factory=Networks.none)
    errors: Mapping[str, float] = field(default_factory=dict)
    unit_file: str = ""
    plan: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    uncertainty: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 0, len(UNCERTAIN))))
    correction: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 0, 0)))
    deviation: Array = field(default_factory=lambda: np.zeros(len(UNCERTAIN)))
    slide: float = 0.0

    @property
    def scratch(self) -> int:
        """Length of phi."""
        return self._fields_at + _scratch(self.networks, sum(len(f.modes) for f in self.fields))

    @property
    def _in_y(self) -> int:
        """Polynomials in t_5 of a law."""
        return self.laws.shape[4] // len(LAWS)

    @property
    def planar(self) -> "ReducedModel":
        """The model without corrections."""
        return replace(self, correction=self.correction[:0], deviation=np.zeros(len(UNCERTAIN)))

    @cached_property
    def _tables(self) -> tuple[Array, Array, Array]:
        """Coefficients of ln zeta, of the laws, and of what comes out aside, all with the corrections.

        The speed loss does not fall as the torque ratio grows, or the belt would shudder: splines whose coefficients do
        not fall do not fall. So it is where y is one of `nodes`; between them the polynomials may fall a little.
        """
        shape, n = self.laws.shape[:4], self._in_y
        thrust, laws, aside = self.thrust, self.laws.copy(), self.uncertainty
        if self.correction.size:
            d = self.correction
            thrust = _grained(thrust + splines_through(_at_sites(d[..., 0], thrust.shape)))
            more = splines_through(_at_sites(d[..., [1, 2, 2]], shape))  # of slip, c and lambda
            laws[..., n::n] = _grained(laws[..., n::n] + more)
            aside = d[..., 3:]
            if self.uncertainty.size:
                s = np.exp(2.0 * _at_sites(self.uncertainty, d.shape[:4])) + self.deviation**2
                aside = _single(np.concatenate([aside, splines_through(0.5 * np.log(s))], axis=4))
        T = np.polynomial.chebyshev.chebvander(nodes(self.coordinates[4], n), n - 1)
        slip = laws[..., n : 2 * n] @ T.T
        if np.diff(slip, axis=1).min() < 0.0:
            laws[..., n : 2 * n] = _grained(rising(slip) @ np.linalg.inv(T).T)
        return thrust, laws, aside

    @property
    def _peaks_at(self) -> int:
        """Place of the peaks' layers in phi."""
        across = (regression.N_ACROSS + len(self.peaks)) * bool(self.correction.size)
        aside = across + len(UNCERTAIN) * bool(self.uncertainty.size)
        return regression.IN_Y + self._in_y + 1 + regression.ORDER * max(self.laws.shape[4], aside)

    @property
    def _fields_at(self) -> int:
        return self._peaks_at + _scratch(self.peak_networks, len(self.peaks))

    def table(self) -> Array:
        """Laws and peaks as the kernels of `regression` read them."""
        coordinates = []
        for c in self.coordinates:
            low, high = float(c.mapped(c.low)), float(c.mapped(c.high))
            coordinates.append((MAPS.index(c.map), c.centre, c.low, c.high, low, 2.0 / (high - low)))
        blocks = _blocks(self.points, regression.BLOCK)
        weights = np.array([peak.weights for peak in self.peaks]).reshape(-1, self.peak_networks.units)
        thrust, laws, aside = self._tables
        parts = {
            regression.COORDINATE: np.array(coordinates),
            regression.CENTRE: np.array([np.concatenate([b.min(0), b.max(0), b.T.ravel()]) for b in blocks]),
            regression.THRUST: thrust,
            regression.LAW_SPLINES: laws,
            regression.PEAKS: _network_table(self.peak_networks, weights, self._peaks_at),
            regression.ASIDE: aside,
        }
        header = np.zeros(regression.HEADER)
        header[regression.N_LAW], header[regression.N_BLOCKS] = self._in_y, len(blocks)
        header[regression.SPACING] = 1.0 / self.spacing**2
        header[regression.SHIFT : regression.SHIFT + 2] = self.shift
        header[regression.THRUST + 1 : regression.THRUST + 5] = thrust.shape
        header[regression.LAW_SPLINES + 1 : regression.LAW_SPLINES + 5] = laws.shape[:4]
        header[regression.ASIDE + 1 : regression.ASIDE + 6] = aside.shape
        filled = [_filled(part) for part in parts.values()]
        header[list(parts)] = regression.HEADER + np.cumsum([0, *(len(a) for a in filled)])[:-1]
        return np.concatenate([header, *filled])

    def field_table(self) -> Array:
        """Fields as `regression.network` and `regression.reconstruct` read them."""
        header = np.zeros(regression.FIELD)
        header[regression.CELLS] = self.fields[0].modes.shape[1] if self.fields else 0
        at = len(_filled(np.zeros(regression.FIELD + regression.PER_FIELD * len(self.fields))))
        header[regression.FIELD_NETWORKS] = at
        weights = np.concatenate([np.zeros((0, self.networks.units)), *(f.weights for f in self.fields)])
        networks = _network_table(self.networks, weights, self._fields_at)
        at += networks.size
        places: list[float] = []
        before = 0
        for f in self.fields:
            places += [len(f.modes), before, at, f.positive]
            before += len(f.modes)
            at += f.modes.size
        return np.concatenate([_filled(np.append(header, places)), networks, *(f.modes.ravel() for f in self.fields)])

    def beyond(self, low: float, high: float) -> str:
        """What there is to say of end stops of the ratio outside the data, or nothing."""
        data = next(c for c in self.coordinates if c.name == "i")
        if data.low <= low and high <= data.high:
            return ""
        stops, known = f"{low:.3g} to {high:.3g}", f"{data.low:.3g} to {data.high:.3g}"
        return f"end stops {stops} lie outside of the reduced model's data, {known}; beyond it the laws stay constant"

    def evaluate(self, z: Array) -> dict[str, Array]:
        """Thrust ratio ``zeta``, all laws and peaks by their names at operating points (n, 5), each (n,).

        ``uncertainty.NAME`` by `UNCERTAIN`, if it is known; corrections of their own by the names of `CORRECTIONS`.
        """
        z = np.atleast_2d(z)
        t = scaled(self.coordinates, self.shift, z)
        thrust, laws, aside = self._tables
        found = {"zeta": np.exp(_summed(thrust[..., None], t)[:, 0])}
        in_y = np.polynomial.chebyshev.chebvander(t[:, 4], self._in_y - 1)
        found |= {
            name: _LINKS[name](np.einsum("rm,rm->r", part, in_y))
            for name, part in zip(LAWS, np.split(_summed(laws, t), len(LAWS), axis=1), strict=True)
        }
        count, xi = counted(self.shift, z)[:, 1], self.coordinates[1]
        found["e"] -= found["c"] * (np.clip(count, xi.low, xi.high) + z[:, 1] - count)
        units = self.peak_networks.hidden(t)
        found |= {peak.name: np.exp(units @ peak.weights) for peak in self.peaks}
        if aside.size:
            more = _summed(aside, t).T
            if self.correction.size:
                found |= dict(zip(CORRECTIONS[3:], more, strict=False))
                for peak, d in zip(self.peaks, more[regression.N_ACROSS :], strict=False):
                    found[peak.name] = found[peak.name] * np.exp(d)
            if self.uncertainty.size:
                s = np.exp(more[-len(UNCERTAIN) :])
                found |= {f"uncertainty.{name}": part for name, part in zip(UNCERTAIN, s, strict=True)}
        return found

    def field(self, name: str, z: Array) -> Array:
        """A field (n, cells) at operating points (n, 5), dimensionless."""
        f = next(f for f in self.fields if f.name == name)
        t = scaled(self.coordinates, self.shift, np.atleast_2d(z))
        values = self.networks.hidden(t) @ f.weights.T @ f.modes
        return np.maximum(values, 0.0) if f.positive else np.asarray(values)


def _blocks(points: Array, size: int) -> list[Array]:
    """Points (n, d) in blocks (size, d) that lie together, by halves across where they reach farthest.

    What the last block lacks is its last point.
    """
    if len(points) <= size:
        return [points[np.minimum(np.arange(size), len(points) - 1)]]
    along = np.argsort(points[:, np.argmax(np.ptp(points, axis=0))], kind="stable")
    half = max(len(points) // size // 2, 1) * size
    return _blocks(points[along[:half]], size) + _blocks(points[along[half:]], size)


def _scratch(networks: Networks, n_out: int) -> int:
    """What networks need of phi."""
    return networks.first.shape[1] + networks.units - 1 + n_out


def _network_table(networks: Networks, weights: Array, place: int) -> Array:
    """Networks and weights (K, units) of what comes out, as `regression.network` reads them; `place`: in phi."""
    first, second = networks.first, networks.second
    header = _filled(np.array([len(first), first.shape[1], second.shape[1], len(weights), place]))
    layers = (layer for pair in zip(first, second, strict=True) for layer in pair)
    return _filled(np.concatenate([header, *(np.roll(layer.T, 1, axis=0).ravel() for layer in (*layers, weights))]))


def _filled(part: Array) -> Array:
    """Numbers of a table, with zeros up to a multiple of `regression.ALIGNED`."""
    return np.append(part, np.zeros(-part.size % regression.ALIGNED))


def rounded(model: ReducedModel) -> ReducedModel:
    """The model as its file has it: modes and weights in single precision, coefficients of splines by `GRAIN`."""

    def networks(n: Networks) -> Networks:
        return Networks(_single(n.first), _single(n.second))

    return replace(
        model,
        thrust=_grained(model.thrust),
        laws=_grained(model.laws),
        uncertainty=_grained(model.uncertainty),
        correction=_single(model.correction),
        peaks=tuple(replace(a, weights=_single(a.weights)) for a in model.peaks),
        peak_networks=networks(model.peak_networks),
        networks=networks(model.networks),
        fields=tuple(replace(f, modes=_single(f.modes), weights=_single(f.weights)) for f in model.fields),
    )


def _single(values: Array) -> Array:
    return values.astype(np.float32).astype(float)


def _grained(values: Array) -> Array:
    return np.asarray(np.round(values / GRAIN) * GRAIN)


def write_reduced(model: ReducedModel, path: Path) -> None:
    """Write a reduced model.

    Raises
    ------
    InputError
        The file cannot be written; nothing is left behind.
    """
    with new_hdf5(path, SEAL) as file:
        file.attrs.update(
            schema_version=SCHEMA_VERSION,
            kind=KIND,
            rtcvt_version=__version__,
            revision=revision(),
            created=now().isoformat(timespec="seconds"),
            name=model.name,
            **{k: v for k, v in model.attributes.items() if k not in _OWN},
        )

        def write(name: str, values: Any, unit: str, description: str) -> None:
            packed = {"compression": "gzip", "shuffle": True} if np.size(values) > 1000 else {}
            data = file.create_dataset(name, data=values, **packed)
            data.attrs["units"] = unit
            data.attrs["description"] = description

        def single(values: Any) -> NDArray[np.float32]:
            return np.asarray(values, dtype=np.float32)

        for name, value in model.constants.items():
            write(f"constants/{name}", value, *CONSTANTS[name])
        write("slide", model.slide, "1", "A of the shift rate of a belt that slides on the primary")
        c = model.coordinates
        write("coordinates/name", [a.name for a in c], "1", "i, xi, kappa, f, y")
        write("coordinates/map", [a.map for a in c], "1", "bilinear (z - c)/(z + c) or sigmoid z/sqrt(z^2 + c^2)")
        write("coordinates/centre", [a.centre for a in c], "1", "c of the map")
        write("coordinates/range", [(a.low, a.high) for a in c], "1", "range of the data, to which a point is clamped")
        write("coordinates/shift", model.shift, "1", "a, b of the torque ratio's zero, a q/sqrt(q^2 + b^2)")
        about = "coefficients of the splines along i, xi, kappa and f"
        write("thrust", single(model.thrust), "1", f"{about}: ln of F_eq/F_CO")
        of = "ln k, asinh((e + c xi)/0.002), ln c, ln lambda"
        write("laws", single(model.laws), "1", f"{about}: polynomials in y of {of}")
        if model.uncertainty.size:
            write("uncertainty", single(model.uncertainty), "1", f"{about}: ln of standard deviations")
        if model.correction.size:
            of = "thrust ratio, slip, losses, exit forces, ring to pillar, peaks"
            write("correction", single(model.correction), "1", f"{about}: {of}, spatial less planar")
            write("deviation", model.deviation, "1", "standard deviations of the corrections")
        write("peaks/name", [a.name for a in model.peaks], "1", "forces, of which the largest magnitude over the belt")
        weights = single([a.weights for a in model.peaks])
        write("peaks/weights", weights, "1", "of the units and of 1, a row for each logarithm")
        for group, networks in (("peaks", model.peak_networks), ("networks", model.networks)):
            first, second = single(networks.first), single(networks.second)
            write(f"{group}/first", first, "1", "of the scaled coordinates and of 1, by network and unit")
            write(f"{group}/second", second, "1", "of the first layer and of 1, by network and unit")
        for order, f in enumerate(model.fields):
            write(f"fields/{f.name}/modes", single(f.modes), "1", "a row for each mode, on the cells")
            weights = single(f.weights)
            write(f"fields/{f.name}/weights", weights, "1", "of the units and of 1, a row for each coefficient")
            write(f"fields/{f.name}/sigma", f.sigma, "1", "singular values of the snapshots")
            file[f"fields/{f.name}"].attrs.update(
                units=f.unit, description=f.description, order=order, positive=f.positive
            )
        write("campaign/points", model.points, "1", "settled states of the campaign in scaled i, xi, kappa, f")
        write("campaign/spacing", model.spacing, "1", "typical distance between them")
        for name, value in model.errors.items():
            write(f"errors/{name}", value, "1", "see the documentation of the reduction")
        write("unit_file", model.unit_file, "1", "text of the full model's unit file")
        write("plan", model.plan, "1", "text of the campaign's plan")


_OWN = ("schema_version", "kind", "rtcvt_version", "revision", "created", "name")


def read_reduced(path: Path) -> ReducedModel:
    """Read a reduced model back.

    Raises
    ------
    InputError
        Damaged, not a reduced model, of a schema version that this release does not know, or not consistent in itself.
    """
    schema = Schema(KIND, SCHEMA_VERSION, f"rtcvt reduce RUNS -o {path.name}, from the runs of a campaign,")
    with open_sealed(path, SEAL, KIND, schema) as file:
        model = _read(file, path)
    _require_consistent(model, path)
    return model


def _read(file: h5py.File, path: Path) -> ReducedModel:
    def strings(name: str) -> list[str]:
        with refused(path, f"{name}: texts"):
            return [str(a) for a in file[name].asstr()[()]]

    def array(name: str) -> Array:
        with refused(path, f"{name}: numbers"):
            return np.asarray(file[name][()], dtype=float)

    def number(name: str) -> float:
        with refused(path, f"{name}: one number"):
            return float(array(name))

    about = [
        strings("coordinates/name"),
        strings("coordinates/map"),
        array("coordinates/centre"),
        array("coordinates/range"),
    ]
    with refused(path, "coordinates: a name, a map, a centre and a range of each"):
        coordinates = tuple(
            Coordinate(n, m, float(c), float(r[0]), float(r[1])) for n, m, c, r in zip(*about, strict=True)
        )
        shift = float(file["coordinates/shift"][0]), float(file["coordinates/shift"][1])
    peaks = zip(strings("peaks/name"), array("peaks/weights"), strict=True)
    fields = sorted(file["fields"].items(), key=lambda item: int(item[1].attrs["order"])) if "fields" in file else []
    return ReducedModel(
        str(file.attrs["name"]),
        {name: number(f"constants/{name}") for name in CONSTANTS},
        coordinates,
        shift,
        array("thrust"),
        array("laws"),
        tuple(Peak(n, w) for n, w in peaks),
        tuple(
            ReducedField(
                name, str(g.attrs["units"]), str(g.attrs["description"]), array(f"fields/{name}/modes"),
                array(f"fields/{name}/weights"), array(f"fields/{name}/sigma"), bool(g.attrs["positive"]),
            )
            for name, g in fields
        ),
        array("campaign/points"),
        number("campaign/spacing"),
        Networks(array("networks/first"), array("networks/second")),
        Networks(array("peaks/first"), array("peaks/second")),
        {name: number(f"errors/{name}") for name in file["errors"]} if "errors" in file else {},
        str(file["unit_file"].asstr()[()]),
        str(file["plan"].asstr()[()]),
        {k: v for k, v in file.attrs.items() if k not in ("schema_version", "kind", "name")},
        array("uncertainty") if "uncertainty" in file else np.zeros((0, 0, 0, 0, len(UNCERTAIN))),
        array("correction") if "correction" in file else np.zeros((0, 0, 0, 0, 0)),
        array("deviation") if "deviation" in file else np.zeros(len(UNCERTAIN)),
        number("slide") if "slide" in file else 0.0,
    )  # fmt: skip


def _require_consistent(m: ReducedModel, path: Path) -> None:
    """What the kernels rely on: places inside the tables, finite numbers."""

    def require(fits: bool, key: str, allowed: str) -> None:
        if not fits:
            raise InputError(path, key, None, allowed)

    def plain(numbers: Array) -> bool:  # no NaN, and nothing whose square is infinite
        return bool(np.all(np.abs(numbers) <= MOST))

    size = f"a number above 0, at most {MOST:g}"
    for name, value in m.constants.items():
        require(0.0 < value <= MOST, f"constants/{name}", size)
    require(0.0 <= m.slide <= MOST, "slide", f"a number from 0 to {MOST:g}")
    require(tuple(c.name for c in m.coordinates) == COORDINATES, "coordinates/name", ", ".join(COORDINATES))
    for c in m.coordinates:
        key = f"coordinates, {c.name}"
        require(c.map in MAPS, key, f"a map: {' or '.join(MAPS)}")
        numbers = np.array([c.centre, c.low, c.high])
        require(plain(numbers) and c.centre > 0.0 and c.low < c.high, key, "centre > 0, low < high")
        require(c.map == "sigmoid" or c.low > -c.centre, key, "a range above -c")
        require(bool(c.mapped(c.low) < c.mapped(c.high)), key, "a range whose ends are apart when mapped")
    fits = plain(np.array(m.shift)) and m.shift[1] > 0.0
    require(fits, "coordinates/shift", "finite numbers, the second above 0")
    aside = [(key, a, 5) for key, a in (("uncertainty", m.uncertainty), ("correction", m.correction)) if a.size]
    for key, table, d in (("thrust", m.thrust, 4), ("laws", m.laws, 5), *aside):
        shape = table.ndim == d and all(regression.ORDER <= k <= MOST_SPLINES for k in table.shape[:4])
        require(shape and table.size <= MOST_COEFFICIENTS, key, "splines along four coordinates")
        require(plain(table), key, f"numbers of at most {MOST:g}")
    in_y = m.laws.shape[4] % len(LAWS) == 0 and 1 <= m.laws.shape[4] // len(LAWS) <= MOST_DEGREE
    require(in_y, "laws", "as many polynomials of each law")
    require(m.uncertainty.shape[4:] == (len(UNCERTAIN),), "uncertainty", f"{len(UNCERTAIN)} logarithms")
    fits = not m.correction.size or m.correction.shape[4] == len(CORRECTIONS) + len(m.peaks)
    require(fits, "correction", f"{len(CORRECTIONS)} differences and one of each peak")
    both = m.correction.size and m.uncertainty.size
    require(not both or m.correction.shape[:4] == m.uncertainty.shape[:4], "correction", "the splines of uncertainty")
    fits = m.deviation.shape == (len(UNCERTAIN),) and plain(m.deviation) and bool(np.all(m.deviation >= 0.0))
    require(fits, "deviation", "four numbers from 0 on")
    for key, networks in (("peaks", m.peak_networks), ("networks", m.networks)):
        W_1, W_2 = networks.first, networks.second
        fits = W_1.ndim == 3 == W_2.ndim and len(W_1) == len(W_2) and W_1.shape[2] == len(COORDINATES) + 1
        fits = fits and W_2.shape[2] == W_1.shape[1] + 1 and W_1.shape[1] + networks.units <= MOST_UNITS
        require(fits, key, f"both layers of as many networks, at most {MOST_UNITS} units")
        require(plain(W_1) and plain(W_2), key, f"numbers of at most {MOST:g}")
    require(len(m.peaks) <= MOST_PEAKS, "peaks", f"at most {MOST_PEAKS}")
    for peak in m.peaks:
        fits = peak.weights.shape == (m.peak_networks.units,) and plain(peak.weights)
        require(fits, "peaks/weights", "a number for each unit and 1")
    cells = {f.modes.shape[1:] for f in m.fields}
    require(len(cells) <= 1, "fields", "as many cells in all fields")
    for f in m.fields:
        key = f"fields/{f.name}"
        require(f.modes.ndim == 2, key, "modes on cells")
        K = len(f.modes)
        fits = 1 <= K <= MOST_MODES and 4 <= f.modes.shape[1] <= MOST_CELLS
        require(fits and f.modes.shape[1] % 4 == 0, key, "modes on cells, as many in each of four sections")
        require(f.weights.shape == (K, m.networks.units), key, "weights of each mode's coefficient")
        fits = f.sigma.ndim == 1 and plain(f.sigma) and bool(np.all(f.sigma >= 0.0))
        require(fits, f"{key}/sigma", "singular values")
        require(plain(f.modes) and plain(f.weights), key, f"numbers of at most {MOST:g}")
    fits = m.points.ndim == 2 and m.points.shape[1] == 4 and 1 <= len(m.points) <= MOST_POINTS
    require(fits and plain(m.points), "campaign/points", "rows of four finite numbers")
    require(0.0 < m.spacing <= MOST, "campaign/spacing", size)
