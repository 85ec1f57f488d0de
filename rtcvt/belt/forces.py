"""Kernels of what acts on pulleys and arms, and the right-hand side of the hybrid model.

Equations in `rtcvt.belt.kernels`: loads, dampers of the spans, balances of the pulleys, given speeds.
"""

from rtcvt.belt.arms import arm_rates, limits_by_arms, way_lever, way_rate
from rtcvt.belt.decoupler import clutch_torque, decoupler_rates
from rtcvt.belt.flow import end_source, flows, gates, ratio, start_source
from rtcvt.belt.friction import set_limits
from rtcvt.belt.layout import (
    N_GIVEN,
    Arc,
    ArmX,
    BeltP,
    Cell,
    D,
    DecouplerX,
    Face,
    Flange,
    GivenX,
    Rim,
    Span,
    Wrap,
)
from rtcvt.belt.places import (
    after,
    arc,
    arm_of_pulley,
    arm_of_span,
    arm_pulley,
    arms,
    before,
    cell,
    cell_before,
    cell_count,
    decoupler_of,
    decoupler_pulley,
    decouplers,
    face,
    flange_input,
    flange_kind,
    given_state,
    load_points,
    load_size,
    p_bearing,
    pulleys,
    rim,
    rim_radius,
    span,
    span_cell,
    speed,
    wrap,
    x_arm,
    x_decoupler,
    x_flow,
    x_sliding,
    x_speed,
)
from rtcvt.kernel import kernel

T_Q = 5e-3  # [s]


@kernel
def load_torque(i, slope, omega, data):
    """Torque of a pulley's load at a speed [N.m], or its slope [N.m.s/rad]."""
    first = load_points(i, data)
    points = load_size(i, data)
    if points == 0:
        return 0.0
    a = first
    for k in range(1, points - 1):
        if omega > data[first + 2 * k]:
            a = first + 2 * k
    gradient = (data[a + 3] - data[a + 1]) / (data[a + 2] - data[a])
    return gradient if slope == 1 else data[a + 1] + gradient * (omega - data[a])


@kernel
def other_torque(i, omega, u, p, data):
    """Torque on a pulley of all but the belt and a given speed [N.m]."""
    tau = load_torque(i, 0, omega, data) - p[p_bearing(i, data)] * omega
    return tau + u[flange_input(i, data)] if flange_kind(i, data) == Flange.TORQUE else tau


@kernel
def other_slope(i, omega, p, data):
    """Derivative of `other_torque` to the speed [N.m.s/rad]."""
    return load_torque(i, 1, omega, data) - p[p_bearing(i, data)]


@kernel
def shaft_speed(i, x, data):
    """Speed of the shaft of pulley i, that of the pulley unless a decoupler is between them [rad/s]."""
    m = decoupler_of(i, data)
    if m >= 0:
        return x[x_decoupler(m, data) + DecouplerX.W]
    return speed(i, x, data)


@kernel
def carrier_speed(i, x, data):
    """Speed of what carries pulley i, an arm or nothing that moves [rad/s]."""
    m = arm_of_pulley(i, data)
    return x[x_arm(m, data) + ArmX.W] if m >= 0 else 0.0


@kernel
def follow(end, h, x, u, data):
    """Given speeds over a communication step: accelerations of their pulleys, in the mean or (`end` 1) at its end."""
    for i in range(pulleys(data)):
        at = given_state(i, data)
        if at >= 0:
            w = u[flange_input(i, data)]
            slope = (w - x[at + GivenX.W]) / h
            last = x[at + GivenX.S]
            if end == 0:
                omega = x[0] / rim_radius(i, data)
                if data[D.RIGID] == 0.0:
                    omega = speed(i, x, data)
                ahead = 2.0 * slope - last
                bend = x[at + GivenX.A] - last
                largest = last if ahead * last > 0.0 else 0.0
                if ahead * bend > 0.0 and abs(bend) > abs(largest):
                    largest = bend
                if abs(ahead) > 2.0 * abs(largest):
                    ahead = 2.0 * largest
                x[at + GivenX.A] = (w - omega) / h + ahead
            else:
                more = 1.5 * (slope - last)
                largest = abs(slope) + abs(last)
                more = -largest if more < -largest else (largest if more > largest else more)
                x[at + GivenX.A] = slope + more
                x[at + GivenX.S] = slope
                x[at + GivenX.W] = w


@kernel
def limits(x, p, data, work):
    """Write the limits of all wraps by the tensions of this instant; call `cells` first."""
    set_limits(x, p, data, work)
    if data[D.ARMS] > 0.0:
        limits_by_arms(x, p, data, work)


@kernel
def whole_damping(j, p, data):
    """d of span j [N.s/m]."""
    row = arc(j, data)
    return data[row + Arc.BY_D] * p[BeltP.D] + data[row + Arc.RIBS]


@kernel
def span_damping(j, p, data, work):
    """``g d`` of span j [N.s/m]."""
    g = work[wrap(j, data) + Wrap.GATE] * work[wrap(after(j, data), data) + Wrap.GATE]
    return g * whole_damping(j, p, data)


@kernel
def span_dampers(x, p, data, work):
    """Write what the spans' dampers do; call `gates` first."""
    for j in range(pulleys(data)):
        i = after(j, data)
        at = span(j, data)
        c = span_cell(j, data)
        rho_s = ratio(c, start_source(j, x, data, work), data, work)
        rho_e = ratio(c, end_source(j, x, data, work), data, work)
        rate = rho_e * rim_radius(i, data) * speed(i, x, data) - rho_s * rim_radius(j, data) * speed(j, x, data)
        if arm_of_span(j, data) >= 0:
            rate += way_rate(j, x, data, work)
        work[at + Span.RHO_START] = rho_s
        work[at + Span.RHO_END] = rho_e
        work[at + Span.RATE] = rate
        work[at + Span.F_D] = span_damping(j, p, data, work) * rate


@kernel
def flange_torques(x, u, p, data, work):
    """Write what each pulley is left with, ``J omega'``; where the speed is given, what its flange adds.

    Call `gates` first.
    """
    span_dampers(x, p, data, work)
    for i in range(pulleys(data)):
        j = before(i, data)
        force = work[rim(0, i, data) + Rim.N] - work[rim(1, j, data) + Rim.N]
        force += work[span(i, data) + Span.RHO_START] * work[span(i, data) + Span.F_D]
        force -= work[span(j, data) + Span.RHO_END] * work[span(j, data) + Span.F_D]
        own = decoupler_of(i, data)
        if own >= 0:
            tau = rim_radius(i, data) * force
            tau -= clutch_torque(own, speed(i, x, data), x, p, data, work)
        else:
            tau = other_torque(i, speed(i, x, data), u, p, data) + rim_radius(i, data) * force
        if data[D.ARMS] > 0.0:
            way = way_rate(i, x, data, work) + way_rate(j, x, data, work)
            tau -= 0.5 * rim_radius(i, data) * p[BeltP.M] * x[x_flow(data)] * way
            tau += p[p_bearing(i, data)] * carrier_speed(i, x, data)
        at = given_state(i, data)
        if at >= 0:
            tau = work[wrap(i, data) + Wrap.LIFTED] * x[at + GivenX.A] - tau
        work[wrap(i, data) + Wrap.TORQUE] = tau


@kernel
def inertia_force(j, x, p, data):
    """``m q (V_s + V_e)/2`` of span j [N]."""
    i = after(j, data)
    V = rim_radius(j, data) * speed(j, x, data) + rim_radius(i, data) * speed(i, x, data)
    return 0.5 * p[BeltP.M] * x[x_flow(data)] * V


@kernel
def arm_torque(m, x, p, data, work):
    """Torque [N.m] of belt and bearing on an arm; call `span_dampers` first."""
    i = arm_pulley(m, data)
    torque = p[p_bearing(i, data)] * (speed(i, x, data) - carrier_speed(i, x, data))
    for j in range(pulleys(data)):
        if arm_of_span(j, data) == m:
            force = work[cell(span_cell(j, data), data) + Cell.N] + work[span(j, data) + Span.F_D]
            torque -= way_lever(j, data, work) * (force - inertia_force(j, x, p, data))
    return torque


@kernel
def hybrid_derivative(x, u, p, data, dx, work):
    """Rates of the hybrid model, faces sliding as they are marked; call `cells` first."""
    flows(x, p, data, work)
    gates(x, p, data, work)
    flange_torques(x, u, p, data, work)
    for i in range(pulleys(data)):
        at = given_state(i, data)
        if at >= 0:
            dx[x_speed(i, data)] = x[at + GivenX.A]
            for k in range(N_GIVEN):
                dx[at + k] = 0.0
        else:
            dx[x_speed(i, data)] = work[wrap(i, data) + Wrap.TORQUE] / work[wrap(i, data) + Wrap.LIFTED]
    for m in range(arms(data)):
        arm_rates(m, arm_torque(m, x, p, data, work), x, p, data, dx)
    for m in range(decouplers(data)):
        i = decoupler_pulley(m, data)
        torque = other_torque(i, shaft_speed(i, x, data), u, p, data)
        decoupler_rates(m, torque, speed(i, x, data), x, p, data, dx, work)
    if data[D.N_SLIDING] > 0.0:
        for i in range(pulleys(data)):
            dx[x_sliding(i, data)] = 0.0
    mean = 0.0
    for c in range(cell_count(data)):
        dx[c] = work[face(cell_before(c, data), data) + Face.Q] - work[face(c, data) + Face.Q]
        mean += work[face(c, data) + Face.Q]
    dx[x_flow(data)] = (mean / cell_count(data) - x[x_flow(data)]) / T_Q
