"""Kernels of the friction between belt and pulleys: tension ratio of a wrap, and a coefficient that may depend on the
sliding speed.

**Bent belt.** On a wrap beta friction acts at the belt's surface, at the distance ``o = u r`` from its line. If the
wrap slides everywhere, the ratio of its tensions is ``T_1 = exp(Lambda) T_2``. With shear Q, moment M and curvature
kappa the beam on a rigid pulley, its tension growing along s, has ::

    T' = kappa Q + mu p,    Q' = p - kappa T,    M' = -Q - o mu p,    kappa = 1/r, so Q = -o mu p
    T ~ exp(mu x phi),    x + u mu^2 x^2 = 1 - u

The elastica of each span turns by a before it touches, ``1 - cos a = EI kappa_0^2/(2 T)``. On the slack side the moment
of friction makes a layer of pressure, of the length o mu, that supports the shear and leaves ``kappa_0 = 1/r``. On the
tight side a force remains at the edge, whose friction turns the belt: ``kappa_0 = k/r``, ``k = 1 - o mu sqrt(T_1/EI)``,
or 0. With ``eta = mu^2 u x`` ::

    Lambda = mu x (beta - a_1 - a_2) + ln((cos a_2 + mu (1 - u) sin a_2)/(1 + eta))
                                     - ln((cos a_1 - mu sin a_1)/(1 + eta/(1 - u)))

solved for T_1, k from the last of three passes. Where a_1 + a_2 exceed beta, the belt touches in one point, the two
share beta, and ``Lambda = mu x beta - (1 + mu^2) (a_2^2 - a_1^2)/2``. Below ``T_2 = EI/r^2`` Lambda is constant.
Without EI and o it is Euler's mu beta. Yielding ribs add 0.01 to 0.04 (`studies/wrap_ends.md`). T is reduced by
inertia, and Lambda is constant over an internal step.

**Sliding.** The unit file gives mu of the ribs, of the back, and of single pulleys, which may depend on the speed::

    mu_i = mu_0,i S(v_i),    v_i' = (|s_i| - v_i)/T_s,    T_s = 5 ms

with S linear between its points and constant beyond, and s_i the speed of the belt where it runs off less that of the
rim, the largest of the wrap. Friction that falls with speed has no unique solution at an instant. So mu follows sliding
with a delay, as friction with a memory does (Dieterich 1979; Ruina 1983), and is constant over an internal step, in
which the laws of `rtcvt.belt.kernels` remain valid: losses are not negative, and the implicit step creates no energy.
Rates and their Jacobian (model exchange) use a constant v_i.
"""

import math

from rtcvt.belt import places
from rtcvt.belt.layout import Arc, BeltP, Cell, D, Face, Rim, Wrap
from rtcvt.belt.patches import film
from rtcvt.kernel import kernel
from rtcvt.model.places import entry
from rtcvt.numerics.elementary import exp, log

T_S = 5e-3  # [s]
MIN_HELD_SHARE = 0.1  # least Lambda of a wrap, as a share of mu x beta
PASSES = 3  # for T_1 from T_2
MIN_SLACK = 2.0  # least slack tension in the formulas, in EI/(2 r^2)
TENSION_STEP = 1e-4  # share of a tension over which Lambda is differentiated


@kernel
def at_face(side, j, k, of_rim, of_cell, data):
    """Place in work of a quantity of the cell before (0) or after (1) face k of the wrap after span j.

    A span has one for each of its pulleys, a member of `Rim`; a cell on a wrap has a member of `Cell`.
    """
    if side == 0 and k == 0:
        return places.rim(1, j, data) + of_rim
    if side == 1 and k == places.faces(data) - 1:
        return places.rim(0, places.after(j, data), data) + of_rim
    return places.cell(places.span_cell(j, data) + k + side, data) + of_cell


@kernel
def rim_hat(side, j, k, data, work):
    """T_hat of that cell, by N."""
    return work[at_face(side, j, k, Rim.HAT, Cell.HAT, data)]


@kernel
def rim_stretch(side, j, k, data, work):
    """Lambda of that cell."""
    return work[at_face(side, j, k, Rim.STRETCH, Cell.STRETCH, data)]


@kernel
def share_at(v, data):
    """S at a sliding speed [m/s]."""
    at = entry(D.SLIDING, data)
    points = entry(D.N_SLIDING, data)
    last = at + 2 * (points - 1)
    if v >= data[last]:
        return data[last + 1]
    a = at
    for k in range(1, points - 1):
        if v > data[at + 2 * k]:
            a = at + 2 * k
    return data[a + 1] + (data[a + 3] - data[a + 1]) / (data[a + 2] - data[a]) * (v - data[a])


@kernel
def friction(i, x, p, data):
    """Coefficient mu of pulley i."""
    mu = p[places.p_friction(i, data)]
    if data[D.N_SLIDING] > 0.0 and data[D.RIGID] == 0.0:
        mu = mu * share_at(x[places.x_sliding(i, data)], data)
    if data[D.PATCHES] > 0.0:
        mu = mu * film(i, x, data)
    return mu


@kernel
def growth(mu, u):
    """x: growth of the tension over the angle by that of a belt without height."""
    return 2.0 * (1.0 - u) / (1.0 + math.sqrt(1.0 + 4.0 * u * mu * mu * (1.0 - u)))


@kernel
def turned(z):
    """``arccos(1 - z)`` for z from 0 to 1, within 1 % at 1; beyond, more."""
    return math.sqrt(2.0 * z) * (1.0 + z * (1.0 / 12.0 + z * (3.0 / 160.0 + z * (5.0 / 896.0 + z * 35.0 / 18432.0))))


@kernel
def held_ratio(mu, beta, u, r, EI, T):
    """Lambda of a wrap whose slack side has the tension T less inertia [N].

    Parameters
    ----------
    mu, beta, u, r, EI
        Friction, wrap [rad], distance of the surface by r, radius of the line [m], bending stiffness [N.m2].
    """
    x = growth(mu, u)
    B = 0.5 * EI / (r * r)
    eta = mu * mu * u * x
    T_2 = T if T > MIN_SLACK * B else MIN_SLACK * B
    if not T_2 > 0.0:
        T_2 = 1.0
    z = B / T_2
    slack = turned(z)
    held = T_2 * (1.0 - z + mu * (1.0 - u) * math.sqrt(z * (2.0 - z))) * (1.0 + eta / (1.0 - u)) / (1.0 + eta)
    tight = 0.0
    T_1 = T_2 * exp(mu * x * beta)
    for _ in range(PASSES):
        k = 1.0
        if EI > 0.0:
            k -= u * r * mu * math.sqrt(T_1 / EI)
        b = k * k * B if k > 0.0 else 0.0
        wrapped = beta - slack - tight
        half = held * exp(mu * x * (wrapped if wrapped > 0.0 else 0.0)) + b * (1.0 + mu * mu)
        T_1 = half + mu * math.sqrt(b * (2.0 * half - b * (1.0 + mu * mu)))
        tight = turned(b / T_1)
    found = log(T_1 / T_2)
    if slack + tight > beta:
        found = mu * x * beta - 0.5 * (1.0 + mu * mu) * (slack - tight) / (slack + tight) * beta * beta
    least = MIN_HELD_SHARE * mu * x * beta
    return found if found > least else least


@kernel
def slack_cell(i, data, work):
    """The neighbouring span of pulley i with less tension, as a cell; call `cells` first."""
    first = places.span_cell(places.before(i, data), data)
    second = places.span_cell(i, data)
    return first if work[places.cell(first, data) + Cell.HAT] < work[places.cell(second, data) + Cell.HAT] else second


@kernel
def held_by(i, T, mu, data):
    """Lambda of pulley i's wrap as it is drawn, at a slack tension less inertia [N]."""
    row = places.arc(i, data)
    return held_ratio(mu, data[row + Arc.BETA], data[row + Arc.OFFSET], data[row + Arc.RADIUS], data[D.EI], T)


@kernel
def set_limits(x, p, data, work):
    """Write Lambda of all wraps, by the tensions of their spans, and the limits by that.

    Call `cells` of the hybrid model first.
    """
    for i in range(places.pulleys(data)):
        T = p[BeltP.T_0]
        if data[D.RIGID] == 0.0:
            T = work[places.cell(slack_cell(i, data, work), data) + Cell.HAT]
        work[places.wrap(i, data) + Wrap.HELD] = held_by(i, T, friction(i, x, p, data), data)
        work[places.wrap(i, data) + Wrap.HELD_BY_T] = 0.0
        place_limits(i, 0.0, x, p, data, work)


@kernel
def place_limits(i, turn, x, p, data, work):
    """Write the limits exp(Lambda) - 1 of pulley i's wrap, which arms turn by `turn` [rad]; returns dLambda/dbeta."""
    row = places.arc(i, data)
    at = places.wrap(i, data)
    mu = friction(i, x, p, data)
    by_angle = mu * growth(mu, data[row + Arc.OFFSET])
    held = work[at + Wrap.HELD] + by_angle * turn
    least = MIN_HELD_SHARE * by_angle * data[row + Arc.BETA]
    if held < least:
        held = least
        by_angle = 0.0
    share = exp(held / data[D.FACES])
    whole = share
    for _ in range(1, places.faces(data)):
        whole *= share
    work[at + Wrap.KAPPA] = whole - 1.0
    work[at + Wrap.FACE_KAPPA] = share - 1.0
    return by_angle


@kernel
def limits_by_tension(x, p, data, work):
    """Write dLambda/dT of all wraps, by the slack span's T less inertia [1/N]; call `set_limits` first."""
    for i in range(places.pulleys(data)):
        T = work[places.cell(slack_cell(i, data, work), data) + Cell.HAT]
        by = 0.0
        if T > 0.0:
            d = TENSION_STEP * T
            mu = friction(i, x, p, data)
            by = (held_by(i, T + d, mu, data) - held_by(i, T - d, mu, data)) / (2.0 * d)
        work[places.wrap(i, data) + Wrap.HELD_BY_T] = by


@kernel
def note_sliding(h, x, data, work):
    """Let the speeds v_i follow an internal step of h [s]; call `cells` at its end first."""
    keeps = exp(-h / T_S)
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        V = places.rim_radius(i, data) * places.speed(i, x, data)
        k = places.faces(data) - 1 if V >= 0.0 else 0
        last = places.face(places.span_cell(j, data) + k, data)
        s = work[last + Face.MEAN]
        if work[last + Face.SLIDE] * s <= 0.0:
            s = 0.0
        away = rim_stretch(1 if V >= 0.0 else 0, j, k, data, work)
        slides = abs((V + s) / rim_stretch(0 if V + s >= 0.0 else 1, j, k, data, work) * away - V)
        at = places.x_sliding(i, data)
        x[at] = slides + (x[at] - slides) * keeps
