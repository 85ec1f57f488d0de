"""A reduced model: identified laws and belt fields of a pushbelt variator.

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
by one factor exp(d), ``k exp(d)``, peaks by exp(d); three more are outputs of their own, the exit forces over F_CO. The
coefficients of fields differ by other weights of the same units. Uncertainty: one standard deviation of `UNCERTAIN`,
relative for thrust ratio and peak; with the corrections another one; and one from the belt's unknown parameters. They
grow with the distance from the data beyond a typical one, and outside of their range. The
kernels' tables hold all of it: coefficients such that the splines are right at their sites.

Of the speed loss file and tables hold the whole, asinh((e + c xi)/0.002); e is it less c xi. Along xi the coefficients
of the tables do not fall.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.variator import regression
from rtcvt.variator.reduced.coordinates import Coordinate, counted, nodes, scaled
from rtcvt.variator.reduced.networks import Networks
from rtcvt.variator.reduced.splines import GRAINS, at_sites, grained, rising, single_precision, splines_through, summed

Array = NDArray[np.float64]

LAWS = ("k", "e", "c", "lambda")
UNCERTAIN = ("thrust_ratio", "slip", "efficiency", "flank_peak")
BANDS = ("uncertainty", "uncertainty.parameters")  # of the laws, and of the belt's parameters
CORRECTIONS = ("thrust_ratio", "slip", "loss", "shift", "exit_force.primary", "exit_force.secondary", "ring_to_pillar")
OF_LAWS = 4  # the first of them change laws, the others are outputs of their own


def _speed_loss(g: Array) -> Array:
    return regression.SMALL_SPEED_LOSS * np.sinh(g)


_LINKS: dict[str, Callable[[Array], Array]] = {"k": np.exp, "e": _speed_loss, "c": np.exp, "lambda": np.exp}


@dataclass(frozen=True)
class Peak:
    """Largest magnitude of a force over the belt: its logarithm has weights (units,) of the peaks' units."""

    name: str
    weights: Array


@dataclass(frozen=True)
class ReducedField:
    """A field: modes (K, cells), weights (K, units) of their coefficients, singular values of its snapshots.

    positive: values below zero are cut off; across (K, units): weights of the coefficients of the spatial belt less
    those of the planar one, empty: none.
    """

    name: str
    unit: str  # of the field itself
    description: str
    modes: Array
    weights: Array
    sigma: Array
    positive: bool = False
    across: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def corrected(self) -> Array:
        """Weights of the coefficients with the correction."""
        return single_precision(self.weights + self.across) if self.across.size else self.weights


@dataclass(frozen=True)
class ReducedModel:
    """Contents of a reduced model's file.

    coordinates in the order of `COORDINATES`; shift: a, b of the torque ratio's zero (`regression`); thrust
    (m_1, m_2, m_3, m_4): coefficients of the splines of ln zeta, along t_1 to t_4; laws (n_1, n_2, n_3, n_4, 4 n):
    those of the n Chebyshev polynomials in t_5 of each of `LAWS`; networks: of the fields, peak_networks: of the peaks;
    points (n, 4): scaled coordinates of the campaign's settled states, spacing: typical distance between them;
    errors: name -> value; texts: unit_file, plan; attributes; uncertainty (m_1, m_2, m_3, m_4, 4): coefficients of the
    splines of ln s by `UNCERTAIN`, empty: unknown; correction, of the same splines: by `CORRECTIONS` and peaks, empty:
    none;
    deviation: as `uncertainty`, of the model with its corrections; slide: A of the shift rate of a belt that
    slides on the primary; falling (n_1, n_2, n_3, n_4): what makes the corrected slip fall as the clamping grows, added
    to the coefficients of asinh((e + c xi)/0.002), empty: nothing; parametric: as `uncertainty`,
    from the belt's unknown parameters, empty: unknown.
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
    deviation: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 0, len(UNCERTAIN))))
    slide: float = 0.0
    falling: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 0)))
    parametric: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 0, len(UNCERTAIN))))

    @property
    def in_y(self) -> int:
        """Polynomials in t_5 of a law."""
        return self.laws.shape[4] // len(LAWS)

    @property
    def planar(self) -> "ReducedModel":
        """The model without corrections."""
        fields = tuple(replace(f, across=f.across[:0]) for f in self.fields)
        others = {name: getattr(self, name)[:0] for name in ("correction", "deviation", "falling")}
        return replace(self, fields=fields, **others)

    @cached_property
    def tables(self) -> tuple[Array, Array, Array]:
        """Coefficients of ln zeta, of the laws, and of the other outputs ("aside"), all with the corrections.

        The speed loss does not fall as the torque ratio grows, or the belt would shudder: splines with coefficients
        that do not fall do not fall. This is so where y is one of `nodes`; between them the polynomials may fall a
        little.
        """
        shape, n = self.laws.shape[:4], self.in_y
        thrust, laws, aside = self.thrust, self.laws.copy(), self.uncertainty
        if self.correction.size:
            d = self.correction
            thrust = grained(thrust + splines_through(at_sites(d[..., 0], thrust.shape)), GRAINS[0])
            laws[..., ::n] += splines_through(at_sites(d[..., [3, 1, 2, 2]], shape))  # of k, slip, c and lambda
            others = [k for k in range(len(LAWS) * n) if k // n != LAWS.index("e")]
            laws[..., others] = grained(laws[..., others], GRAINS[1])
            laws[..., n : 2 * n] = grained(laws[..., n : 2 * n])
            aside = d[..., OF_LAWS:]
            if self.uncertainty.size:
                aside = np.concatenate([aside, self.deviation if self.deviation.size else self.uncertainty], axis=4)
        if self.parametric.size:
            aside = np.concatenate([aside, self.parametric], axis=4)
        T = np.polynomial.chebyshev.chebvander(nodes(self.coordinates[4], n), n - 1)
        for more in (None, self.falling) if self.falling.size else (None,):
            if more is not None:
                laws[..., n] += more
            slip = laws[..., n : 2 * n] @ T.T
            if np.diff(slip, axis=1).min() < 0.0:
                laws[..., n : 2 * n] = grained(rising(slip) @ np.linalg.inv(T).T)
        return thrust, laws, aside

    def beyond(self, low: float, high: float) -> str:
        """Warning about end stops of the ratio outside the data, or an empty text."""
        data = next(c for c in self.coordinates if c.name == "i")
        if data.low <= low and high <= data.high:
            return ""
        stops, known = f"{low:.3g} to {high:.3g}", f"{data.low:.3g} to {data.high:.3g}"
        return f"end stops {stops} lie outside of the reduced model's data, {known}; beyond it the laws stay constant"

    def evaluate(self, z: Array) -> dict[str, Array]:
        """Thrust ratio ``zeta``, all laws and peaks by their names at operating points (n, 5), each (n,).

        The names of `BANDS` and `UNCERTAIN`, if they are known; corrections of their own by the names of `CORRECTIONS`.
        """
        z = np.atleast_2d(z)
        t = scaled(self.coordinates, self.shift, z)
        thrust, laws, aside = self.tables
        found = {"zeta": np.exp(summed(thrust[..., None], t)[:, 0])}
        in_y = np.polynomial.chebyshev.chebvander(t[:, 4], self.in_y - 1)
        found |= {
            name: _LINKS[name](np.einsum("rm,rm->r", part, in_y))
            for name, part in zip(LAWS, np.split(summed(laws, t), len(LAWS), axis=1), strict=True)
        }
        count, xi = counted(self.shift, z)[:, 1], self.coordinates[1]
        found["e"] -= found["c"] * (np.clip(count, xi.low, xi.high) + z[:, 1] - count)
        units = self.peak_networks.hidden(t)
        found |= {peak.name: np.exp(units @ peak.weights) for peak in self.peaks}
        if aside.size:
            more = summed(aside, t).T
            if self.correction.size:
                found |= dict(zip(CORRECTIONS[OF_LAWS:], more, strict=False))
                for peak, d in zip(self.peaks, more[regression.N_ACROSS :], strict=False):
                    found[peak.name] = found[peak.name] * np.exp(d)
            if self.uncertainty.size:
                names = [f"{of}.{name}" for of in BANDS[: 1 + bool(self.parametric.size)] for name in UNCERTAIN]
                found |= dict(zip(names, np.exp(more[-len(names) :]) * self._away(z, t), strict=True))
        return found

    def _away(self, z: Array, t: Array) -> Array:
        """What uncertainty grows by away from the data (n,): the distance to them, and how far z is outside."""
        near = np.min([((t[:, :4] - p) ** 2).sum(axis=1) for p in self.points], axis=0)
        near = np.minimum(near, regression.MAX_DISTANCE_SQUARED) / self.spacing**2
        count = counted(self.shift, z)
        both = zip(self.coordinates, count.T, strict=True)
        outside = np.max([np.maximum(c.low - a, a - c.high) / (c.high - c.low) for c, a in both], axis=0)
        return np.asarray((1.0 + regression.OUTSIDE_GROWTH * np.maximum(outside, 0.0)) * np.maximum(np.sqrt(near), 1.0))

    def field(self, name: str, z: Array) -> Array:
        """A field (n, cells) at operating points (n, 5), dimensionless."""
        f = next(f for f in self.fields if f.name == name)
        t = scaled(self.coordinates, self.shift, np.atleast_2d(z))
        values = self.networks.hidden(t) @ f.corrected.T @ f.modes
        return np.maximum(values, 0.0) if f.positive else np.asarray(values)
