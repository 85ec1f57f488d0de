"""Kernels of the torques on pulleys and arms, and the right-hand side of the hybrid model.

Equations in `rtcvt.belt.kernels`: loads, dampers of the spans, balances of the pulleys, given speeds.
"""

from rtcvt.belt import places
from rtcvt.belt.arms import arm_rates, limits_by_arms, way_lever, way_rate
from rtcvt.belt.decoupler import clutch_torque, decoupler_rates
from rtcvt.belt.flow import end_source, flows, gates, ratio, start_source
from rtcvt.belt.friction import set_limits
from rtcvt.belt.layout import N_GIVEN, Arc, ArmX, BeltP, Cell, D, DecouplerX, Face, Flange, GivenX, Rim, Span, Wrap
from rtcvt.kernel import kernel
from rtcvt.model.places import entry

T_Q = 5e-3  # [s]


@kernel
def load_torque(i, slope, omega, data):
    """Torque of a pulley's load at a speed [N.m], or its slope [N.m.s/rad]."""
    first = places.load_points(i, data)
    points = places.load_size(i, data)
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
    tau = load_torque(i, 0, omega, data) - p[places.p_bearing(i, data)] * omega
    return tau + u[places.flange_input(i, data)] if places.flange_kind(i, data) == Flange.TORQUE else tau


@kernel
def other_slope(i, omega, p, data):
    """Derivative of `other_torque` to the speed [N.m.s/rad]."""
    return load_torque(i, 1, omega, data) - p[places.p_bearing(i, data)]


@kernel
def shaft_speed(i, x, data):
    """Speed of the shaft of pulley i, that of the pulley unless a decoupler is between them [rad/s]."""
    m = places.decoupler_of(i, data)
    if m >= 0:
        return x[places.x_decoupler(m, data) + DecouplerX.W]
    return places.speed(i, x, data)


@kernel
def carrier_speed(i, x, data):
    """Speed of the arm that carries pulley i, 0 without an arm [rad/s]."""
    m = places.arm_of_pulley(i, data)
    return x[places.x_arm(m, data) + ArmX.W] if m >= 0 else 0.0


@kernel
def follow(end, h, x, u, data):
    """Given speeds over a communication step: accelerations of their pulleys, in the mean or (`end` 1) at its end."""
    for i in range(places.pulleys(data)):
        at = places.given_state(i, data)
        if at >= 0:
            w = u[places.flange_input(i, data)]
            slope = (w - x[at + GivenX.W]) / h
            last = x[at + GivenX.S]
            if end == 0:
                omega = x[0] / places.rim_radius(i, data)
                if data[D.RIGID] == 0.0:
                    omega = places.speed(i, x, data)
                ahead = 2.0 * slope - last
                bend = x[at + GivenX.A] - last
                most = last if last > bend else bend
                most = most if most > 0.0 else 0.0
                least = last if last < bend else bend
                least = least if least < 0.0 else 0.0
                ahead = 2.0 * most if ahead > 2.0 * most else (2.0 * least if ahead < 2.0 * least else ahead)
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
    row = places.arc(j, data)
    return data[row + Arc.BY_D] * p[BeltP.D] + data[row + Arc.RIBS]


@kernel
def span_damping(j, p, data, work):
    """``g d`` of span j [N.s/m]."""
    g = work[places.wrap(j, data) + Wrap.GATE] * work[places.wrap(places.after(j, data), data) + Wrap.GATE]
    return g * whole_damping(j, p, data)


@kernel
def span_dampers(x, p, data, work):
    """Write the forces of the spans' dampers. Call `gates` first."""
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        at = places.span(j, data)
        c = places.span_cell(j, data)
        rho_s = ratio(c, start_source(j, x, data, work), data, work)
        rho_e = ratio(c, end_source(j, x, data, work), data, work)
        R_i = places.rim_radius(i, data)
        R_j = places.rim_radius(j, data)
        rate = rho_e * R_i * places.speed(i, x, data) - rho_s * R_j * places.speed(j, x, data)
        if places.arm_of_span(j, data) >= 0:
            rate += way_rate(j, x, data, work)
        work[at + Span.RHO_START] = rho_s
        work[at + Span.RHO_END] = rho_e
        work[at + Span.RATE] = rate
        work[at + Span.F_D] = span_damping(j, p, data, work) * rate


@kernel
def flange_torques(x, u, p, data, work):
    """Write the torque that accelerates each pulley, ``J omega'``; for a given speed the torque of its flange.

    Call `gates` first.
    """
    span_dampers(x, p, data, work)
    for i in range(places.pulleys(data)):
        j = places.before(i, data)
        force = work[places.rim(0, i, data) + Rim.N] - work[places.rim(1, j, data) + Rim.N]
        force += work[places.span(i, data) + Span.RHO_START] * work[places.span(i, data) + Span.F_D]
        force -= work[places.span(j, data) + Span.RHO_END] * work[places.span(j, data) + Span.F_D]
        own = places.decoupler_of(i, data)
        if own >= 0:
            tau = places.rim_radius(i, data) * force
            tau -= clutch_torque(own, places.speed(i, x, data), x, p, data, work)
        else:
            tau = other_torque(i, places.speed(i, x, data), u, p, data) + places.rim_radius(i, data) * force
        if data[D.ARMS] > 0.0:
            way = way_rate(i, x, data, work) + way_rate(j, x, data, work)
            tau -= 0.5 * places.rim_radius(i, data) * p[BeltP.M] * x[places.x_flow(data)] * way
            tau += p[places.p_bearing(i, data)] * carrier_speed(i, x, data)
        at = places.given_state(i, data)
        if at >= 0:
            tau = work[places.wrap(i, data) + Wrap.LIFTED] * x[at + GivenX.A] - tau
        work[places.wrap(i, data) + Wrap.TORQUE] = tau


@kernel
def inertia_force(j, x, p, data):
    """``m q (V_s + V_e)/2`` of span j [N]."""
    i = places.after(j, data)
    V = places.rim_radius(j, data) * places.speed(j, x, data) + places.rim_radius(i, data) * places.speed(i, x, data)
    return 0.5 * p[BeltP.M] * x[places.x_flow(data)] * V


@kernel
def arm_torque(m, x, p, data, work):
    """Torque [N.m] of belt and bearing on an arm; call `span_dampers` first."""
    i = places.arm_pulley(m, data)
    torque = p[places.p_bearing(i, data)] * (places.speed(i, x, data) - carrier_speed(i, x, data))
    for j in range(places.pulleys(data)):
        if places.arm_of_span(j, data) == m:
            force = work[places.cell(places.span_cell(j, data), data) + Cell.N] + work[places.span(j, data) + Span.F_D]
            torque -= way_lever(j, data, work) * (force - inertia_force(j, x, p, data))
    return torque


@kernel
def hybrid_derivative(x, u, p, data, dx, work):
    """Rates of the hybrid model, faces sliding as they are marked; call `cells` first."""
    flows(x, p, data, work)
    gates(x, p, data, work)
    flange_torques(x, u, p, data, work)
    for i in range(places.pulleys(data)):
        at = places.given_state(i, data)
        if at >= 0:
            dx[places.x_speed(i, data)] = x[at + GivenX.A]
            for k in range(N_GIVEN):
                dx[at + k] = 0.0
        else:
            at = places.wrap(i, data)
            dx[places.x_speed(i, data)] = work[at + Wrap.TORQUE] / work[at + Wrap.LIFTED]
    for m in range(places.arms(data)):
        arm_rates(m, arm_torque(m, x, p, data, work), x, p, data, dx)
    for m in range(places.decouplers(data)):
        i = places.decoupler_pulley(m, data)
        torque = other_torque(i, shaft_speed(i, x, data), u, p, data)
        decoupler_rates(m, torque, places.speed(i, x, data), x, p, data, dx, work)
    if data[D.N_SLIDING] > 0.0:
        for i in range(places.pulleys(data)):
            dx[places.x_sliding(i, data)] = 0.0
    if data[D.MODES] > 0.0:
        for i in range(entry(D.X_LATERAL, data), places.states(data)):
            dx[i] = 0.0
    mean = 0.0
    for c in range(places.cell_count(data)):
        dx[c] = work[places.face(places.cell_before(c, data), data) + Face.Q] - work[places.face(c, data) + Face.Q]
        mean += work[places.face(c, data) + Face.Q]
    dx[places.x_flow(data)] = (mean / places.cell_count(data) - x[places.x_flow(data)]) / T_Q
