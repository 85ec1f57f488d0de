"""Compliance of a belt where a span ends on a pulley: bending, ribs that yield and shear, sticking friction.

A belt with bending stiffness leaves its pulley before the taut line's tangent point and joins that line over lengths
of ``sqrt(EI/T)``; on yielding ribs it sinks in there; and the ribs shear over lengths of ``1/sqrt(k_t C)``,
``C = 1/EA + 1/(r^2 f')``. All this makes a span softer than ``EA/L``, though the belt sticks.

**Rest.** s is the place along the taut line: s < 0 on the wrap, with the curvature ``kappa = 1/r``, s > 0 on the span.
The belt is at the distance w outside of this line.
tension T ::

    V = integral of EI/2 (kappa - w'')^2 + T (kappa w + w'^2/2) + F(-w),    F' = f

is least (F = 0 where the belt does not touch), and ``E = dV/dT = integral of kappa w + w'^2/2`` is the length by which
the end makes the belt's way longer than the taut line.

Much of E is proportional to T^(-3/2), as that of the elastica on a stiff pulley, ``a^3/(12 r^2)`` with ``a =
sqrt(EI/T)``. E less a straight line through rest is fitted by ``a_3 x^(-3/2) + a_1 x^(-1/2)``, x = T/T_rest from 0.03
to 2.5.

**Compliance.** Ribs support the belt's surface, at the distance o from its line, with k_t per length. About the state
of rest, for a small force at the end of the span that swings with omega, with u along the line and complex stiffnesses
``EA + i omega D`` and so on, ::

    EA (u' + kappa w + w_0' w')^2 + EI w''^2 + T w'^2 + f' w^2 + k_t ((1 - o/r) u + o w')^2,  integrated, - 2 u(end)

is stationary. u(end) less that of the straight span is c where both spans of the pulley swing in phase: the middle of
the wrap then does not move. It is ``c + 2 c_b`` where they swing in opposite phase: its tension does not change. So
each
span is longer by ``c T_1 + c_b (T_1 - T_2)``. The hybrid model's spans are independent springs: the share y of c_b that
an end adds is chosen so that the drive's natural frequencies below 200 Hz stay,
``sum c_b y (T_1^2 + T_2^2) = sum c_b (T_1 - T_2)^2`` for the tensions of each mode. A span of length L so has, between
its pulleys, ::

    1/(L/(EA + i omega D) + c_1 + y_1 c_b1 + c_2 + y_2 c_b2) = EA/L_s + i omega d

with the length L_s of the same belt and the damping d. The compliance of a whole wrap to a slowly changing tension
without friction gives the length for its own cells and for its ends.

**Lateral motion.** A lateral force at the end of the span turns it there by w'. With u free, w(end) is ``(s + delta)
w'``: the span swings across as one that is longer by delta at this end. As the ribs' damping makes delta complex, the
span loses by ``-Im delta/omega`` (`rtcvt.belt.resonance`). The end moves along by u as it turns; so it moves across,
outwards, by ``u/(T w')`` with each newton of the span's tension.

**Running.** Belt that runs on sticks before it has its final depth and curvature. Its ribs then shear by u_b, and its
strain differs by e from that of the spans, up to the limit of friction::

    u_b' = (1 - o/r) b + (1 - o/r + EA/(r^2 f')) e - ((w + p)/r - o w''),    |u_b| <= mu f(-w)/k_t
    EA e' = (1 - o/r) k_t u_b,    e = 0 at both ends of the wrap of a pulley without torque

which gives b. At rest e is zero: a wrap then has more length by the integral of e, less its compliance times the
difference of tension. The pulley turns as one of the radius ``(r - p)(1 + b)``, p the depth away from the ends. It
falls with tension, by the share ``g tau - c tau^2`` for tau beyond the tension at rest, fitted from a quarter to twice
of that with c not negative. The integral of e is the length by which the spans have more, or less, than at rest.

**Inertia** reduces the tension that bends the belt and presses it on its ribs by ``m v^2``. By each newton of it the
way of a wrap grows by its compliance to a slowly changing tension without friction and without the belt's own strain,
and the integral of e changes by its derivative by that tension.

Elements cubic in w and linear in u, graded from the end of the wrap.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.arm_geometry import bending, lever
from rtcvt.belt.unit import BeltUnit

Array = NDArray[np.float64]

_GROWTH = 1.08  # growth of the elements' length away from the wrap's end
_ELEMENTS_PER_LENGTH = 5.0  # elements in the shortest of the lengths that matter
_RIGID_RIBS = 1e5  # stiffness of ribs that do not yield, by EA/r^2
_MIN_WRAP_SHARE = 0.1  # least share of a wrap for its own cells
_WAY_TENSIONS = np.array([0.03, 0.05, 0.1, 0.2, 0.35, 0.6, 1.5, 2.5])  # relative to that at rest, at which E is fitted
_RADIUS_TENSIONS = np.array([0.25, 0.5, 0.75, 1.25, 1.5, 2.0])  # the same, for the fit of the radius
_MAX_FREQUENCY = 2.0 * np.pi * 200.0  # [rad/s] up to which frequencies are fitted
_X, _WEIGHT = np.polynomial.legendre.leggauss(4)
_X, _WEIGHT = 0.5 * (_X + 1.0), 0.5 * _WEIGHT


class Line(NamedTuple):
    """Belt without its ribs."""

    EA: float  # [N]
    EI: float  # [N.m2]
    D: float = 0.0  # [N.s]
    D_I: float = 0.0  # [N.m2.s]
    o: float = 0.0  # distance of the surface [m]


class Ribs(NamedTuple):
    """Contact of a belt per length: ``f(p) = c_1 p^2 + c_2 p``."""

    c_1: float  # [N/m3]
    c_2: float  # [N/m2]
    d: float = 0.0  # damping across [N.s/m2]
    k_t: float = 0.0  # stiffness along, for a sticking belt [N/m2]
    d_t: float = 0.0  # damping along [N.s/m2]
    mu: float = 0.0
    creep: float = 0.0  # friction per sliding speed and normal force, where it has no stick [s/m]

    def force(self, p: Any) -> Any:
        """f [N/m] at a depth [m]."""
        return (self.c_1 * p + self.c_2) * p

    def slope(self, p: Any) -> Any:
        """f' [N/m2]."""
        return 2.0 * self.c_1 * p + self.c_2

    def depth(self, load: float) -> float:
        """p [m] under a load [N/m]."""
        return 2.0 * load / (self.c_2 + float(np.sqrt(self.c_2**2 + 4.0 * self.c_1 * load)))


@dataclass(frozen=True, eq=False)
class SpanEnd:
    """The end of a span at rest, on its mesh.

    Attributes
    ----------
    line, ribs, r, T, wrap
        See `span_end`.
    s : (n,) array
        Nodes [m].
    w : (2 n,) array
        Displacement [m] and slope of each.
    on, off : float
        Lengths of wrap and of span on the mesh [m].
    longer : float
        E [m].
    """

    line: Line
    ribs: Ribs
    r: float
    wrap: float
    T: float
    rigid: bool
    s: Array
    w: Array
    on: float
    off: float
    longer: float

    @property
    def p(self) -> float:
        """Depth away from the end [m]."""
        return self.ribs.depth(self.T / self.r)

    @property
    def C(self) -> float:
        """Compliance of the wrapped belt [1/N]."""
        return 1.0 / self.line.EA + 1.0 / (self.r**2 * float(self.ribs.slope(self.p)))


@dataclass(frozen=True)
class Spans:
    """Parameters of a drive in the hybrid model; spans and pulleys as in `BeltPath`."""

    tension: float  # of the spans of the drive that runs without load [N]
    length: Array  # L_s of each span [m]
    wrap: Array  # length of each wrap's own cells, by their compliance with 1/EA + g [m]
    by_damping: Array  # damping of each span by that of the belt [1/m]
    damping: Array  # its other damping [N.s/m]
    radius: Array  # radii on which the belt runs [m]
    lift: Array  # length that each wrap's way gains by each newton of m v^2 [m/N]
    rests: Array  # length by which each wrap has more at rest than running [m]
    sink: Array  # g, 0 where the radius would grow [1/N]
    less: Array  # c [1/N2]
    way: Array  # (spans, 2): factors of (T/T_rest)^(-3/2) and (T/T_rest)^(-1/2) in R [m]
    longer: Array  # extra length of each span in lateral vibration [m]
    delay: Array  # -Im delta/omega, sum of its two ends [m s]
    outwards: Array  # (spans, 2): lateral motion of its start and its end, off their pulleys, by tension [m/N]


def ribs(unit: BeltUnit) -> list[Ribs | None]:
    """Contact of the unit's full model on each pulley, per length of the belt; None if it has none: no rib yields."""
    if unit.ancf is not None:
        a, b = unit.ancf, unit.belt.width
        return [Ribs(0.0, a.k_c * b, a.d_c * b, a.mu_k * b, a.mu_v * b, mu) for mu in unit.friction_of(a.mu)]
    if unit.elements is not None:
        e = unit.elements
        per = 1.0 / (unit.rest_length() / e.elements)
        return [Ribs(e.c_1 * per, e.c_2 * per, mu=mu, creep=1.5 * mu / e.dv) for mu in unit.friction_of(e.mu)]
    return [None] * len(unit.pulleys)


def _mesh(wrap: float, span: float, fine: float) -> Array:
    def graded(end: float) -> Array:
        n = max(4, int(np.ceil(np.log1p(end / fine * (_GROWTH - 1.0)) / np.log(_GROWTH))))
        x = np.cumsum(_GROWTH ** np.arange(n))
        return np.asarray(end * x / x[-1])

    return np.concatenate([-graded(wrap)[::-1], [0.0], graded(span)])


def _shapes(h: Array) -> tuple[Array, Array, Array]:
    """Cubic shape functions at the points of all elements, and two derivatives; (elements, points, 4)."""
    x, h = _X[None, :], h[:, None]
    one = np.ones_like(h)
    N = np.stack([(1 - 3 * x**2 + 2 * x**3) * one, h * (x - 2 * x**2 + x**3), (3 * x**2 - 2 * x**3) * one,
                  h * (x**3 - x**2)], axis=-1)  # fmt: skip
    d = np.stack([6 * (x**2 - x) / h, (1 - 4 * x + 3 * x**2) * one, 6 * (x - x**2) / h, (3 * x**2 - 2 * x) * one], -1)
    dd = np.stack([(12 * x - 6) / h**2, (6 * x - 4) / h, (6 - 12 * x) / h**2, (6 * x - 2) / h], axis=-1)
    return N, d, dd


def _points(s: Array, r: float, w: Array) -> tuple[Array, Array, tuple[Array, ...], tuple[Array, ...]]:
    """Weights and curvature of the line at the points of all elements, shapes, and w with two derivatives there."""
    h = np.diff(s)
    shapes = _shapes(h)
    kappa = np.where(s[1:] <= 0.0, 1.0 / r, 0.0)[:, None] * np.ones_like(_X)
    dof = 2 * np.arange(s.size - 1)[:, None] + np.arange(4)
    return h[:, None] * _WEIGHT, kappa, shapes, tuple(np.einsum("epi,ei->ep", a, w[dof]) for a in shapes)


def _matrix(terms: list[tuple[Array, Any]], weight: Array, dof: NDArray[np.int64]) -> NDArray[Any]:
    """Sum over all points of the products of each row with itself, weighted by its stiffness."""
    blocks = sum(np.einsum("epi,ep,epj->eij", a, weight * k, a) for a, k in terms)
    size = int(dof.max()) + 1
    K = np.zeros((size, size), dtype=blocks.dtype)
    np.add.at(K, (dof[:, :, None], dof[:, None, :]), blocks)
    return K


@lru_cache(maxsize=1024)
def span_end(line: Line, ribs: Ribs | None, r: float, wrap: float, T: float, omega: float) -> SpanEnd:
    """Rest of an end.

    Parameters
    ----------
    line : Line
    ribs : Ribs, optional
        Without: they do not yield.
    r, wrap : float
        Radius of the belt's line and length of the wrap [m].
    T : float
        Tension of the span at rest [N].
    omega : float
        For which frequency the mesh should be good [rad/s].
    """
    rigid = ribs is None
    EI = max(line.EI, 1e-8 * T * r * r)
    line = line._replace(EI=EI)
    ribs = ribs or Ribs(0.0, _RIGID_RIBS * line.EA / r**2, k_t=_RIGID_RIBS * T * line.EA / EI)
    p = ribs.depth(T / r)
    along = abs(complex(ribs.k_t, omega * (ribs.d_t + ribs.creep * T / r)))
    C = 1.0 / line.EA + 1.0 / (r * r * ribs.slope(p))
    lengths = [float(np.sqrt(EI / T)), float((4.0 * EI / ribs.slope(p)) ** 0.25)]
    if not rigid:
        lengths.append(float(1.0 / np.sqrt(along * C)) if along > 0.0 else wrap)
    half = 0.5 * wrap
    on, off = min(half, 10.0 * max(lengths)), 10.0 * lengths[0]
    s = _mesh(on, off, min(*lengths, half) / _ELEMENTS_PER_LENGTH)
    dof = 2 * np.arange(s.size - 1)[:, None] + np.arange(4)
    free = np.setdiff1d(np.arange(2 * s.size), [1, 2 * s.size - 1])  # no turn at either end
    w = np.zeros(2 * s.size)
    w[0::2] = np.where(s < (-min(lengths[0], 0.95 * half) if rigid else 0.0), -p, 0.0)  # a rigid pulley is left there
    for _ in range(100):
        weight, kappa, (N, d, dd), (w_0, w_1, w_2) = _points(s, r, w)
        depth = np.where(kappa > 0.0, np.maximum(-w_0, 0.0), 0.0)
        force = np.einsum("epi,ep->ei", dd, weight * EI * (w_2 - kappa))
        force += np.einsum("epi,ep->ei", N, weight * (T * kappa - ribs.force(depth)))
        force += np.einsum("epi,ep->ei", d, weight * T * w_1)
        residual = np.zeros(w.size)
        np.add.at(residual, dof, force)
        K = _matrix([(dd, EI), (d, T), (N, np.where(depth > 0.0, ribs.slope(depth), 0.0))], weight, dof)
        step = np.linalg.solve(K[np.ix_(free, free)], -residual[free])
        w[free] += step
        if np.abs(step).max() < 1e-10:
            break
    _, _, _, (w_0, w_1, _) = _points(s, r, w)
    longer = float(np.sum(weight * (kappa * w_0 + 0.5 * w_1**2))) - (half - on) * p / r
    return SpanEnd(line, ribs, r, wrap, T, rigid, s, w, on, off, longer)


def _linear(end: SpanEnd, D: float, omega: float, held: bool) -> NDArray[np.complex128]:
    """Stiffness of an end about rest: w, its slope and u of each node; `held`: the belt sticks."""
    line, contact, s = end.line, end.ribs, end.s
    weight, kappa, (N, d, dd), (w_0, w_1, _) = _points(s, end.r, end.w)
    touching = (kappa > 0.0) & (w_0 < 0.0)
    depth = np.where(touching, -w_0, 0.0)
    zero = np.zeros((*N.shape[:2], 2))
    linear = np.broadcast_to(np.stack([1.0 - _X, _X], axis=-1), zero.shape)
    gradient = np.stack([-1.0, 1.0]) / np.diff(s)[:, None, None] + zero
    strain = np.concatenate([kappa[..., None] * N + w_1[..., None] * d, gradient], axis=-1)
    turn, bend, across = (np.concatenate([a, zero], axis=-1) for a in (d, dd, N))
    surface = np.concatenate([line.o * d, (1.0 - line.o / end.r) * linear], axis=-1)
    EA = line.EA + 1j * omega * D
    k_n = np.where(touching, contact.slope(depth) + 1j * omega * contact.d, 0.0)
    k_t = np.where(touching, contact.k_t + 1j * omega * (contact.d_t + contact.creep * contact.force(depth)), 0.0)
    terms: list[tuple[Array, Any]] = [(strain, EA), (turn, end.T), (bend, line.EI + 1j * omega * line.D_I)]
    terms += [(across, k_n), (surface, k_t if held else 0.0 * k_t)]
    dof = 3 * np.arange(s.size - 1)[:, None] + np.array([0, 1, 3, 4, 2, 5])
    return _matrix(terms, weight, dof)


def _swing(end: SpanEnd, D: float, omega: float, held: bool, middle: bool) -> complex:
    """u at the end of the span per force there, less that of the span; `middle`: that of the wrap does not move."""
    n = 3 * end.s.size
    keep = np.setdiff1d(np.arange(n), [1, n - 2, *([2] if middle else [])])
    pull = np.zeros(keep.size)
    pull[-1] = 1.0
    moved = complex(np.linalg.solve(_linear(end, D, omega, held)[np.ix_(keep, keep)], pull)[-1])
    return complex(moved - end.off / (end.line.EA + 1j * omega * D))


@lru_cache(maxsize=1024)
def end_correction(end: SpanEnd, omega: float) -> tuple[complex, float]:
    """delta [m] of a span that swings across at omega [rad/s], and the way outwards of its end with tension [m/N]."""
    n = 3 * end.s.size
    keep = np.setdiff1d(np.arange(n), [1, 2])
    push = np.zeros(n)
    push[n - 3] = end.T
    found = np.linalg.solve(_linear(end, 0.0, omega, True)[np.ix_(keep, keep)], push[keep])
    return complex(found[-3] / found[-2] - end.off), float((found[-1] / found[-2]).real / end.T)


@lru_cache(maxsize=1024)
def compliance(end: SpanEnd, D: float, omega: float) -> tuple[complex, complex]:
    """c and c_b [m/N] of a belt with the damping D [N.s] at omega [rad/s]."""
    alike, against = (_swing(end, D, omega, True, middle) for middle in (True, False))
    return alike, 0.5 * (against - alike)


@lru_cache(maxsize=1024)
def whole_wrap(end: SpanEnd) -> float:
    """Compliance [m/N] of half of the wrap and this end, to a tension that changes slowly."""
    return _swing(end, 0.0, 0.0, False, True).real + (0.5 * end.wrap - end.on) * end.C


@lru_cache(maxsize=1024)
def running(end: SpanEnd) -> tuple[float, float]:
    """b, and the integral of e along the wrap [m], of a pulley without torque."""
    line, contact, r = end.line, end.ribs, end.r
    if end.rigid or contact.k_t == 0.0:
        return 0.0, 0.0
    _, kappa, _, (w_0, _, w_2) = _points(end.s, r, end.w)
    touching = (kappa > 0.0) & (w_0 < 0.0)
    if not touching.any():
        raise ValueError("belt.EI: so stiff that the belt does not lie on a pulley")
    x = -(end.s[:-1, None] + np.diff(end.s)[:, None] * _X)[touching][::-1]
    w_0, w_2 = w_0[touching][::-1], w_2[touching][::-1]
    x = np.append(x, 0.5 * end.wrap) - x[0]
    x = np.concatenate([x, 2.0 * x[-1] - x[-2::-1]])  # to the other end, which is equal
    w_0, w_2 = (np.concatenate([a, a[-1:], a[::-1]]) for a in (w_0, w_2))
    w_0, w_2, x = w_0[: x.size], w_2[: x.size], x
    share = 1.0 - line.o / r
    mean = [0.5 * (a[1:] + a[:-1]) for a in ((w_0 + end.p) / r - line.o * w_2, contact.force(np.maximum(-w_0, 0.0)))]
    most = contact.mu * mean[1] / contact.k_t
    by_strain = share + line.EA / (r * r * contact.slope(end.p))
    low, high = -0.2, 0.2
    for _ in range(6):
        b = np.linspace(low, high, 257)
        e, u, content = np.zeros_like(b), np.zeros_like(b), np.zeros_like(b)
        for h, eta, limit in zip(np.diff(x).tolist(), mean[0].tolist(), most.tolist(), strict=True):
            u = np.minimum(np.maximum(u + h * (share * b + by_strain * e - eta), -limit), limit)
            before, e = e, np.minimum(np.maximum(e + h * share * contact.k_t / line.EA * u, -1.0), 1.0)
            content += 0.5 * h * (before + e)
        k = int(np.clip(np.searchsorted(e, 0.0), 1, b.size - 1))
        low, high = b[k - 1], b[k]
    return float(b[k]), float(content[k])


def _runs(found: list[SpanEnd]) -> tuple[Array, Array]:
    """Radii [m] on which the belt runs, and the change of the spans' content by `running` [m]."""
    b, content = np.array([running(e) for e in found]).T
    return np.array([e.r - e.p for e in found]) * (1.0 + b), content


def _falls(over: Array, fall: Array) -> tuple[float, float]:
    """g and c of shares by which a radius falls with tensions beyond that at rest [N]."""
    rows = np.stack([over, -(over**2)], axis=-1)
    g, c = np.linalg.lstsq(rows, fall, rcond=None)[0]
    if c < 0.0:
        g, c = float(over @ fall / (over @ over)), 0.0
    return max(float(g), 0.0), float(c) if g > 0.0 else 0.0


def _way(end: SpanEnd, T: float) -> Array:
    """Factors of (T/T_rest)^(-3/2) and (T/T_rest)^(-1/2), not negative, of E less a line through T = T_rest."""

    def longer(x: float) -> float:
        return span_end(end.line, None if end.rigid else end.ribs, end.r, end.wrap, x * T, _MAX_FREQUENCY).longer

    def curved(x: Array) -> Array:
        return np.stack([x**-1.5 - 2.5 + 1.5 * x, x**-0.5 - 1.5 + 0.5 * x], axis=-1)

    slope = (longer(1.02) - longer(0.98)) / 0.04
    beyond = np.array([longer(float(x)) for x in _WAY_TENSIONS]) - longer(1.0) - slope * (_WAY_TENSIONS - 1.0)
    weight = 1.0 / (abs(beyond) + 1e-3 * abs(beyond).max())
    rows = curved(_WAY_TENSIONS) * weight[:, None]
    for kept in ([0, 1], [0], [1]):
        found = np.zeros(2)
        found[kept] = np.linalg.lstsq(rows[:, kept], beyond * weight, rcond=None)[0]
        if found.min() >= 0.0:
            return found
    return np.zeros(2)


def _modes(unit: BeltUnit, compliance: Array) -> tuple[Array, Array]:
    """Natural frequencies [rad/s] and tensions (spans, modes) of pulleys on spans with this matrix [m/N]."""
    path, n = unit.path(), len(unit.pulleys)
    R = path.sigma * path.radius
    stretch = np.roll(np.diag(R), -1, axis=0) - np.diag(R)
    pulleys = list(unit.pulleys.values())
    share = path.radius * path.wrap + 0.5 * (path.span + np.roll(path.span, 1))
    J = np.array([p.inertia for p in pulleys]) + unit.belt.mass * path.radius**2 * share
    moved = [i for i in range(n) if pulleys[i].flange != "speed"]
    pull = np.linalg.solve(compliance, stretch[:, moved] / np.sqrt(J[moved]))
    values, vectors = np.linalg.eigh((stretch[:, moved] / np.sqrt(J[moved])).T @ pull)
    elastic = values > 1e-6 * values.max(initial=0.0)
    return np.sqrt(values[elastic]), pull @ vectors[:, elastic]


def _first(frequency: Array) -> float:
    return float(frequency.min()) if frequency.size else _MAX_FREQUENCY


def _on_spans(unit: BeltUnit, c: Array, c_b: Array) -> Array:
    """Share of c_b of each end so that a diagonal matrix has the frequencies of the whole one."""
    ends = unit.path().span / unit.belt.EA + c + c_b + np.roll(c + c_b, -1)
    before = np.roll(np.arange(c.size), 1)
    across = np.zeros((c.size, c.size))
    np.add.at(across, (before, np.arange(c.size)), -c_b)
    np.add.at(across, (np.arange(c.size), before), -c_b)
    frequency, T = _modes(unit, np.diag(ends) + across)
    T = T[:, frequency <= max(_MAX_FREQUENCY, frequency.min(initial=_MAX_FREQUENCY))]
    own = (c_b * (T[before] ** 2 + T**2).T)[:, c_b > 0.0]
    both = (c_b * ((T - T[before]) ** 2).T).sum(axis=1)
    share = np.ones(c.size)
    if own.size:
        share[c_b > 0.0] += np.linalg.lstsq(own, both - own.sum(axis=1), rcond=None)[0]
    return np.clip(share, 0.0, 2.0)


def spans(unit: BeltUnit) -> Spans:
    """Lengths and damping of a drive's spans and wraps, the radii on which its belt runs, and its tension.

    Arms, linear about the drawn place, yield to the tension by ``(sum P')^2/(K + T sum P'')`` of length.
    The pretension of the ANCF belt is that of the taut line, of which bending and ribs carry a share; that of rigid
    elements is the free spans' own.
    """
    path, belt = unit.path(), unit.belt
    line, contacts = Line(belt.EA, belt.EI, 0.0, belt.bending_damping, 0.5 * belt.height), ribs(unit)
    wrapped = path.radius * path.wrap

    def ends(T: float, omega: float) -> list[SpanEnd]:
        return [
            span_end(line, contact, float(r), float(a), T, omega)
            for contact, r, a in zip(contacts, path.radius, wrapped, strict=True)
        ]

    def stiffness(D: float, omega: float, share: Array) -> NDArray[np.complex128]:
        alike, more = np.array([compliance(e, D, omega) for e in found]).T
        c = alike + share * more
        return np.asarray(1.0 / (path.span / complex(belt.EA, omega * D) + c + np.roll(c, -1)))

    gives, bends = 0.0, 0.0
    for i, arm in unit.arms.items():
        pull, further = lever(unit, i)
        gives += pull**2 / (arm.stiffness + further * belt.pretension)
        bends += pull * bending(unit, i) / (arm.stiffness + further * belt.pretension)
    T, omega = belt.pretension, _first(_modes(unit, np.diag(path.span / belt.EA))[0])
    if unit.ancf is not None:
        rest = unit.rest_length()
        for _ in range(3):
            found = ends(T, omega)
            way = path.length + 2.0 * sum(e.longer for e in found)
            way += bends - gives * (T - belt.pretension)
            slack = path.span.sum() / belt.EA + 2.0 * sum(map(whole_wrap, found)) + gives
            T += (way - rest * (1.0 + T / belt.EA)) / slack
    found = ends(T, omega)
    for _ in range(2):
        c, c_b = np.array([compliance(e, 0.0, omega) for e in found]).real.T
        share = _on_spans(unit, c, c_b)
        without = stiffness(0.0, omega, share)
        omega = _first(_modes(unit, np.diag(1.0 / without.real))[0])
    some = belt.damping or 1e-3 * belt.EA / omega
    by = (stiffness(some, omega, share) - without).imag / (omega * some)
    slow = np.array([whole_wrap(e) for e in found])
    own = slow - 0.5 * wrapped * np.array([e.C for e in found]) - c - share * c_b
    rests = np.zeros(slow.size)
    if unit.ancf is not None:
        content = _runs(found)[1]
        falls = float(content.sum() / (path.span.sum() / belt.EA + 2.0 * slow.sum() + gives))
        rests = content - 2.0 * (slow - c - share * c_b) * falls
        T -= falls
    radius = _runs(ends(T, omega))[0]
    over = T * (_RADIUS_TENSIONS - 1.0)
    around = [_runs(ends(float(T + more), omega)) for more in over]
    held = np.polyfit(over, [content for _, content in around], 1)[0]
    sink, less = np.transpose(
        [_falls(over, fall) for fall in 1.0 - np.array([r for r, _ in around]).T / radius[:, None]]
    )
    loose = np.array([_way(e, T) for e in found])
    c = np.sqrt(T * (1.0 + T / belt.EA) / belt.mass)
    both, swings = ends(T, omega), np.pi * c / path.span
    corrections = [
        [end_correction(e, float(w)) for e, w in zip(side, swings, strict=True)]
        for side in (both, (*both[1:], both[0]))
    ]
    ahead = np.array([[delta for delta, _ in side] for side in corrections]).sum(axis=0)
    return Spans(
        T, belt.EA / without.real,
        np.maximum(wrapped + 2.0 * own / (1.0 / belt.EA + sink), _MIN_WRAP_SHARE * wrapped), by,
        without.imag / omega, radius,
        np.zeros(radius.size) if contacts[0] is None else 2.0 * slow - wrapped / belt.EA + held, rests, sink, less,
        loose + np.roll(loose, -1, axis=0), ahead.real, -ahead.imag / swings,
        np.array([[by for _, by in side] for side in corrections]).T,
    )  # fmt: skip
