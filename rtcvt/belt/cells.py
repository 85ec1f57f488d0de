"""Kernels of the cells of the belt: their ways, tensions and energies, and the inertia that lifts the belt.

Equations in `rtcvt.belt.kernels`: extra length R of a span's ends, the radius that falls with tension, W and phi.
"""

import math

from rtcvt.belt import places
from rtcvt.belt.arms import place_arms
from rtcvt.belt.layout import Arc, BeltP, Cell, D, Rim, Span, Wrap
from rtcvt.kernel import kernel

LINEAR_BELOW = 0.02  # share of the tension at rest below which R is linear
MAX_ITERATIONS = 60  # for a tension, of which a few are needed
TENSION_RTOL = 1e-8  # share of the tension at rest; the error of an iteration is the square of its change


@kernel
def prepare(p, data, work):
    """Write the quantities that depend on parameters alone: lengths of the cells, inertias, the spans' share of R."""
    F = places.faces(data)
    stretch = 1.0 + p[BeltP.T_0] / p[BeltP.EA]
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        there = places.arc(j, data)
        here = places.arc(i, data)
        c = places.span_cell(j, data)
        work[places.cell(c, data) + Cell.LENGTH] = data[there + Arc.REACH]
        for k in range(1, F):
            work[places.cell(c + k, data) + Cell.LENGTH] = data[here + Arc.OWN] / (F - 1)
        share = data[here + Arc.RADIUS] * data[here + Arc.BETA] + 0.5 * (data[there + Arc.SPAN] + data[here + Arc.SPAN])
        inertia = p[BeltP.M] * share / stretch * data[here + Arc.RADIUS] * data[here + Arc.RADIUS]
        work[places.wrap(i, data) + Wrap.INERTIA] = p[places.p_inertia(i, data)] + inertia
        steepest = (1.5 * data[there + Arc.WAY_3] + 0.5 * data[there + Arc.WAY_1]) / data[D.T_REST]
        largest = 0.5 * data[there + Arc.REACH] / p[BeltP.EA]
        work[places.span(j, data) + Span.WAY] = largest / steepest if steepest > largest else 1.0


@kernel
def extra_way(T, j, data, work):
    """R of span j [m] at a tension, linear below `LINEAR_BELOW`; `way_slope` then has its slope."""
    row = places.arc(j, data)
    a = data[row + Arc.WAY_3] * work[places.span(j, data) + Span.WAY]
    b = data[row + Arc.WAY_1] * work[places.span(j, data) + Span.WAY]
    T_rest = data[D.T_REST]
    x = T / T_rest
    z = x if x > LINEAR_BELOW else LINEAR_BELOW
    inverse = 1.0 / z
    root = math.sqrt(inverse)
    slope = (1.5 * a * (1.0 - inverse * inverse * root) + 0.5 * b * (1.0 - inverse * root)) / T_rest
    work[places.w_slope(data)] = slope
    way = a * (inverse * root - 2.5 + 1.5 * z) + b * (root - 1.5 + 0.5 * z)
    return way + slope * (x - z) * T_rest


@kernel
def way_slope(data, work):
    """Slope of R [m/N] where `extra_way` was called last."""
    return work[places.w_slope(data)]


@kernel
def way_energy(T, j, data, work):
    """E_R of span j [J]; call `extra_way` at that tension first."""
    row = places.arc(j, data)
    a = data[row + Arc.WAY_3] * work[places.span(j, data) + Span.WAY]
    b = data[row + Arc.WAY_1] * work[places.span(j, data) + Span.WAY]
    T_rest = data[D.T_REST]
    x = T / T_rest
    if x < LINEAR_BELOW:
        return -0.5 * way_slope(data, work) * T * T
    root = 1.0 / math.sqrt(x)
    low = 1.0 / math.sqrt(LINEAR_BELOW)
    steep = 1.5 * a * (1.0 - low * low * low / LINEAR_BELOW) + 0.5 * b * (1.0 - low / LINEAR_BELOW)
    energy = -0.5 * steep * LINEAR_BELOW * LINEAR_BELOW
    energy -= a * (3.0 * (root - low) + 0.75 * (x * x - LINEAR_BELOW * LINEAR_BELOW))
    energy -= b * (1.0 / low - 1.0 / root + 0.25 * (x * x - LINEAR_BELOW * LINEAR_BELOW))
    return T_rest * energy


@kernel
def span_lift(j, data, work):
    """phi of span j [N], from those of the rims at its ends."""
    return 0.5 * (work[places.wrap(j, data) + Wrap.LIFT] + work[places.wrap(places.after(j, data), data) + Wrap.LIFT])


@kernel
def span_tensions(x, p, data, work):
    """Write the tensions of all spans that hold their lengths [N]; 0 for a span that needs no tension.

    An iteration is made for all spans, one after the other: they do not wait for one another.
    """
    for j in range(places.pulleys(data)):
        c = places.span_cell(j, data)
        T = p[BeltP.EA] * (work[places.cell(c, data) + Cell.LENGTH] / x[c] - 1.0)
        work[places.span(j, data) + Span.ITERATE] = 0.0 if T < 0.0 else T
        work[places.span(j, data) + Span.OPEN] = 1.0
    for _ in range(MAX_ITERATIONS):
        left = 0
        for j in range(places.pulleys(data)):
            at = places.span(j, data)
            if work[at + Span.OPEN] == 0.0:
                continue
            c = places.span_cell(j, data)
            T = work[at + Span.ITERATE]
            l = x[c]  # noqa: E741
            way = extra_way(T - span_lift(j, data, work), j, data, work)
            missing = (work[places.cell(c, data) + Cell.LENGTH] + way - l) * p[BeltP.EA] - l * T
            change = missing / (l - p[BeltP.EA] * way_slope(data, work))
            T += change
            if not T > 0.0:
                work[at + Span.ITERATE] = 0.0
                work[at + Span.OPEN] = 0.0
                continue
            work[at + Span.ITERATE] = T
            if abs(change) < TENSION_RTOL * data[D.T_REST]:
                work[at + Span.OPEN] = 0.0
            else:
                left += 1
        if left == 0:
            break


@kernel
def cells(x, p, data, work):
    """Write stretch and tension of all cells, with their derivatives by the contents l, and the state at the rims."""
    if data[D.ARMS] > 0.0:
        place_arms(x, p, data, work)
    q_m = x[places.x_flow(data)]
    flux = p[BeltP.M] * q_m * q_m
    for i in range(places.pulleys(data)):
        V = places.rim_radius(i, data) * places.speed(i, x, data)
        work[places.wrap(i, data) + Wrap.LIFT] = p[BeltP.M] * V * V
    span_tensions(x, p, data, work)
    for j in range(places.pulleys(data)):
        place_span(j, x, p, data, work)
        place_wrap(j, x, p, data, work)
        c = places.span_cell(j, data)
        for k in range(places.faces(data)):
            at = places.cell(c + k, data)
            work[at + Cell.HAT] = work[at + Cell.N] - flux * (1.0 + work[at + Cell.N] / p[BeltP.EA])
            work[at + Cell.HAT_BY_L] = work[at + Cell.N_BY_L] * (1.0 - flux / p[BeltP.EA])
        rims(j, flux, p, data, work)
    lifted_inertias(x, p, data, work)


@kernel
def place_span(j, x, p, data, work):
    """Write the cell of span j; call `span_tensions` first."""
    i = places.after(j, data)
    c = places.span_cell(j, data)
    at = places.cell(c, data)
    l = x[c]  # noqa: E741
    T = work[places.span(j, data) + Span.ITERATE]
    length = work[at + Cell.LENGTH] + extra_way(T - span_lift(j, data, work), j, data, work)
    by_T = way_slope(data, work)
    stretch = length / l
    T_by_l = -stretch / (l / p[BeltP.EA] - by_T)
    rate = -T_by_l / (p[BeltP.EA] * stretch)
    if not T > 0.0:
        T_by_l = 0.0
        rate = 1.0 / l
    by_m = -by_T * p[BeltP.M]
    R_j = places.rim_radius(j, data)
    R_i = places.rim_radius(i, data)
    work[at + Cell.LONGER_BY_BEFORE] = by_m * R_j * R_j * places.speed(j, x, data)
    work[at + Cell.LONGER_BY_AFTER] = by_m * R_i * R_i * places.speed(i, x, data)
    work[at + Cell.LONGER_BY_T] = -by_T
    work[at + Cell.STRETCH] = stretch
    work[at + Cell.N] = T
    work[at + Cell.N_BY_L] = T_by_l
    work[at + Cell.RATE] = rate
    work[at + Cell.T] = T


@kernel
def place_wrap(j, x, p, data, work):
    """Write the cells of the wrap after span j."""
    i = places.after(j, data)
    by_lift = cell_lift(i, data)
    longer = by_lift * work[places.wrap(i, data) + Wrap.LIFT]
    R = places.rim_radius(i, data)
    by_speed = 2.0 * by_lift * p[BeltP.M] * R * R * places.speed(i, x, data)
    for k in range(1, places.faces(data)):
        c = places.span_cell(j, data) + k
        at = places.cell(c, data)
        stretch = (work[at + Cell.LENGTH] + longer) / x[c]
        T = wrap_tension(stretch, i, p, data)
        over = over_rest(T, i, p, data)
        rate = 1.0 / x[c]
        work[at + Cell.LONGER_BY_BEFORE] = 0.0
        work[at + Cell.LONGER_BY_AFTER] = by_speed
        work[at + Cell.LONGER_BY_T] = by_lift
        work[at + Cell.STRETCH] = stretch
        work[at + Cell.N] = rim_tension(T, over, i, p, data)
        work[at + Cell.N_BY_L] = -stretch * rate * by_stretch(stretch, T, over, i, p, data)
        work[at + Cell.RATE] = rate
        work[at + Cell.T] = T


@kernel
def over_rest(T, i, p, data):
    """``T - T_0`` [N], at most that from which on the radius of pulley i falls no more."""
    last = data[places.arc(i, data) + Arc.LAST]
    over = T - p[BeltP.T_0]
    return last if over > last else over


@kernel
def sink(slope, over, i, data):
    """sigma of pulley i at an `over_rest` [-], or its slope [1/N]."""
    row = places.arc(i, data)
    if slope == 1:
        return data[row + Arc.SINK] - 2.0 * data[row + Arc.LESS] * over
    return (data[row + Arc.SINK] - data[row + Arc.LESS] * over) * over


@kernel
def rim_tension(T, over, i, p, data):
    """N of a tension on pulley i [N]; `over`: its `over_rest`."""
    row = places.arc(i, data)
    N = T - (0.5 * data[row + Arc.SINK] - data[row + Arc.LESS] / 3.0 * over) * over * over
    return N - (T - p[BeltP.T_0] - over) * sink(0, over, i, data)


@kernel
def wrap_tension(stretch, i, p, data):
    """T [N] of belt that lies on pulley i with a Lambda."""
    row = places.arc(i, data)
    g = data[row + Arc.SINK]
    c = data[row + Arc.LESS]
    a = g * stretch + 1.0 / p[BeltP.EA]
    b = stretch - 1.0 - p[BeltP.T_0] / p[BeltP.EA]
    root = a * a - 4.0 * c * stretch * b
    T = p[BeltP.T_0]
    if root * p[BeltP.EA] * p[BeltP.EA] > 1.0:
        T += 2.0 * b / (a + math.sqrt(root))
    elif c > 0.0:
        T = p[BeltP.EA] * (stretch * (1.0 - 0.5 * g * data[row + Arc.LAST]) - 1.0)
    else:
        T += b / a
    return T if T > 0.0 else 0.0


@kernel
def by_stretch(stretch, T, over, i, p, data):
    """dN/dLambda [N] there."""
    if not T > 0.0:
        return 0.0
    by = 1.0 - sink(0, over, i, data)
    return by * by * p[BeltP.EA] / (1.0 + stretch * p[BeltP.EA] * sink(1, over, i, data))


@kernel
def rims(j, flux, p, data, work):
    """Write the state of span j at both rims that it touches; call `place_span` first."""
    at = places.cell(places.span_cell(j, data), data)
    T = work[at + Cell.T]
    for end in range(2):
        i = j if end == 0 else places.after(j, data)
        there = places.rim(end, j, data)
        over = over_rest(T, i, p, data)
        by = 1.0 - sink(0, over, i, data)
        N = rim_tension(T, over, i, p, data)
        work[there + Rim.N] = N
        work[there + Rim.BY_L] = by * work[at + Cell.N_BY_L]
        work[there + Rim.HAT] = N - flux * (1.0 + N / p[BeltP.EA])
        work[there + Rim.STRETCH] = work[at + Cell.STRETCH] / by
        work[there + Rim.RATE] = work[at + Cell.RATE] - sink(1, over, i, data) * work[at + Cell.N_BY_L] / by


@kernel
def cell_lift(i, data):
    """A of each cell on pulley i [m/N]."""
    return data[places.arc(i, data) + Arc.LIFT] / (data[D.FACES] - 1.0)


@kernel
def lifted_inertias(x, p, data, work):
    """Write the inertias of the pulleys less the part of the belt's way [kg.m2]."""
    for i in range(places.pulleys(data)):
        work[places.wrap(i, data) + Wrap.LIFTED] = work[places.wrap(i, data) + Wrap.INERTIA]
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        here = places.wrap(i, data)
        c = places.span_cell(j, data)
        mass = p[BeltP.M] * places.rim_radius(i, data) * places.rim_radius(i, data)
        for k in range(1, places.faces(data)):
            hat = work[places.cell(c + k, data) + Cell.N] - work[here + Wrap.LIFT] - p[BeltP.T_0]
            work[here + Wrap.LIFTED] += 2.0 * mass * cell_lift(i, data) * hat
        way = work[places.cell(c, data) + Cell.STRETCH] * x[c] - work[places.cell(c, data) + Cell.LENGTH]
        work[here + Wrap.LIFTED] -= mass * way
        R = places.rim_radius(j, data)
        work[places.wrap(j, data) + Wrap.LIFTED] -= p[BeltP.M] * R * R * way


@kernel
def cell_energy(c, p, data, work):
    """e of a cell [J/m]; call `cells` first."""
    at = places.cell(c, data)
    T = work[at + Cell.T]
    if c == int(c / places.faces(data)) * places.faces(data):
        return 0.5 * T * T / p[BeltP.EA]
    return work[at + Cell.STRETCH] * work[at + Cell.N] - T * (1.0 + 0.5 * T / p[BeltP.EA])


@kernel
def ends_energy(j, p, data, work):
    """``U - l e`` of span j and of the wrap after it [J]; call `cells` first."""
    i = places.after(j, data)
    phi = span_lift(j, data, work)
    lift = work[places.wrap(i, data) + Wrap.LIFT]
    hat = work[places.cell(places.span_cell(j, data), data) + Cell.N] - phi
    way = extra_way(hat, j, data, work)
    energy = way_energy(hat, j, data, work) - phi * way
    return energy - cell_lift(i, data) * (data[D.FACES] - 1.0) * lift * (p[BeltP.T_0] + 0.5 * lift)
