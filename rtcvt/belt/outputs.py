"""Kernels of the outputs of a belt drive: flanges, tensions, slip, forces, energy and losses."""

from rtcvt.belt import places
from rtcvt.belt.arms import arm_energy, arm_loss, stop_torque
from rtcvt.belt.cells import cell_energy, ends_energy, over_rest, rim_tension
from rtcvt.belt.decoupler import decoupler_energy, decoupler_outputs
from rtcvt.belt.flow import gates, limit
from rtcvt.belt.forces import carrier_speed, flange_torques, load_torque, other_torque, shaft_speed
from rtcvt.belt.friction import rim_hat, rim_stretch
from rtcvt.belt.layout import N_ARM_Y, Arc, ArmX, ArmY, BeltP, Cell, D, Face, PulleyY, Rim, Span, Wrap, Y
from rtcvt.belt.resonance import span_outputs
from rtcvt.belt.rigid import rigid_derivative, rigid_tensions
from rtcvt.kernel import kernel
from rtcvt.model.places import entry
from rtcvt.model.stepping import Block
from rtcvt.numerics.elementary import cos, sin


@kernel
def stored_energy(x, p, data, work):
    """Energy of belt, pulleys, arms and decouplers in the hybrid model [J]; call `cells` first."""
    energy = 0.0
    for c in range(places.cell_count(data)):
        energy += x[c] * cell_energy(c, p, data, work)
    for i in range(places.pulleys(data)):
        energy += ends_energy(i, p, data, work)
        energy += 0.5 * work[places.wrap(i, data) + Wrap.INERTIA] * places.speed(i, x, data) * places.speed(i, x, data)
    if data[D.DECOUPLERS] > 0.0:
        energy += decoupler_energy(x, p, data)
    return energy + arm_energy(x, p, data) if data[D.ARMS] > 0.0 else energy


@kernel
def shared_outputs(v, flux, x, u, p, data, y, work):
    """Write flanges, bearings and wraps of the two models; write tensions, torques and the rest of `y` first.

    `v` is the speed of the rims in the rigid model, `flux` is G v per stretch.
    """
    rigid = data[D.RIGID] != 0.0
    friction = 0.0
    load = 0.0
    for i in range(places.pulleys(data)):
        j = places.before(i, data)
        omega = v / places.rim_radius(i, data)
        if not rigid:
            omega = places.speed(i, x, data)
        if data[D.DECOUPLERS] > 0.0:
            omega = shaft_speed(i, x, data)
        turning = omega
        if data[D.ARMS] > 0.0:
            turning = omega - carrier_speed(i, x, data)
        friction += p[places.p_bearing(i, data)] * turning * turning
        load -= load_torque(i, 0, omega, data) * omega
        y[i] = omega
        if places.given_state(i, data) >= 0:
            tau = work[places.wrap(i, data) + Wrap.TORQUE]
            if rigid:
                tau -= other_torque(i, omega, u, p, data)
            y[i] = tau
            y[places.y_given(i, data)] = omega
        T_before = work[places.span(j, data) + Span.TENSION]
        T_after = work[places.span(i, data) + Span.TENSION]
        T_in = T_before - flux * (1.0 + T_before / p[BeltP.EA])
        T_out = T_after - flux * (1.0 + T_after / p[BeltP.EA])
        at = places.y_pulley(i, data)
        y[places.y_tension(i, data)] = T_after
        y[at + PulleyY.USE] = work[places.wrap(i, data) + Wrap.USE]
        y[at + PulleyY.F_X] = T_out * data[places.arc(i, data) + Arc.T_X] - T_in * data[places.arc(j, data) + Arc.T_X]
        y[at + PulleyY.F_Y] = T_out * data[places.arc(i, data) + Arc.T_Y] - T_in * data[places.arc(j, data) + Arc.T_Y]
        if rigid:
            low = T_in if T_in < T_out else T_out
            y[at + PulleyY.USE] = abs(T_out - T_in) / limit(work[places.wrap(i, data) + Wrap.KAPPA], low, p)
            y[at + PulleyY.SLIP] = 0.0
            y[at + PulleyY.N] = 0.5 * (T_in + T_out) * data[places.arc(i, data) + Arc.BETA]
        if data[D.ARMS] > 0.0:
            turned_force(i, T_in, T_out, data, y, work)
    y[places.y_belt(data) + Y.FRICTION] = friction
    y[places.y_belt(data) + Y.LOAD] = load


@kernel
def turned_force(i, T_in, T_out, data, y, work):
    """Write the force of the belt on pulley i with the spans as arms turn them."""
    at = places.y_pulley(i, data)
    y[at + PulleyY.F_X] = 0.0
    y[at + PulleyY.F_Y] = 0.0
    for end in range(2):
        j = i if end == 0 else places.before(i, data)
        force = T_out if end == 0 else -T_in
        row = places.arc(j, data)
        c = cos(work[places.span(j, data) + Span.TURN])
        s = sin(work[places.span(j, data) + Span.TURN])
        y[at + PulleyY.F_X] += force * (c * data[row + Arc.T_X] - s * data[row + Arc.T_Y])
        y[at + PulleyY.F_Y] += force * (s * data[row + Arc.T_X] + c * data[row + Arc.T_Y])


@kernel
def wrap_angle(i, data, work):
    """Angle [rad] of pulley i's wrap."""
    beta = data[places.arc(i, data) + Arc.BETA]
    if data[D.ARMS] > 0.0:
        turn = work[places.span(i, data) + Span.TURN] - work[places.span(places.before(i, data), data) + Span.TURN]
        beta += data[places.arc(i, data) + Arc.SIGMA] * turn
    return beta


@kernel
def arm_outputs(x, p, data, y):
    """Write the outputs of the arms."""
    at = entry(D.Y_ARM, data)
    for m in range(places.arms(data)):
        a = places.x_arm(m, data)
        y[at + ArmY.THETA] = x[a + ArmX.THETA]
        y[at + ArmY.W] = x[a + ArmX.W]
        y[at + ArmY.M] = x[a + ArmX.M]
        y[at + ArmY.M_S] = stop_torque(0, m, x[a + ArmX.THETA], x[a + ArmX.W], p, data)
        at += N_ARM_Y
    y[at] = arm_loss(x, p, data)


@kernel
def hybrid_output(x, u, p, data, y, work):
    """Write the outputs of the hybrid model; call `cells` and `flows` first."""
    gates(x, p, data, work)
    flange_torques(x, u, p, data, work)
    energy = 0.0
    creep = 0.0
    damped = 0.0
    length = 0.0
    unloaded = 0.0
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        V = places.rim_radius(i, data) * places.speed(i, x, data)
        beta = wrap_angle(i, data, work)
        normal = 0.0
        for k in range(places.faces(data)):
            c = places.span_cell(j, data) + k
            T_up = work[places.cell(c, data) + Cell.T]
            T_down = work[places.cell(places.cell_after(c, data), data) + Cell.T]
            s = work[places.face(c, data) + Face.S]
            q = (V + s) / rim_stretch(0 if V + s >= 0.0 else 1, j, k, data, work)
            creep += q * (T_down - T_up) * (1.0 + 0.5 * (T_up + T_down) / p[BeltP.EA])
            N_up = rim_tension(T_up, over_rest(T_up, i, p, data), i, p, data)
            creep -= V * (rim_tension(T_down, over_rest(T_down, i, p, data), i, p, data) - N_up)
            energy += x[c] * cell_energy(c, p, data, work)
            length += work[places.cell(c, data) + Cell.STRETCH] * x[c]
            unloaded += x[c]
            normal += 0.5 * (rim_hat(0, j, k, data, work) + rim_hat(1, j, k, data, work)) * beta / places.faces(data)
        energy += ends_energy(j, p, data, work)
        damped += work[places.span(j, data) + Span.F_D] * work[places.span(j, data) + Span.RATE]
        energy += 0.5 * work[places.wrap(i, data) + Wrap.INERTIA] * places.speed(i, x, data) * places.speed(i, x, data)
        work[places.span(j, data) + Span.TENSION] = work[places.cell(places.span_cell(j, data), data) + Cell.N]
        last = places.face(places.span_cell(j, data) + (places.faces(data) - 1 if V >= 0.0 else 0), data)
        away = places.rim(0, i, data) if V >= 0.0 else places.rim(1, j, data)
        y[places.y_pulley(i, data) + PulleyY.SLIP] = work[last + Face.Q] * work[away + Rim.STRETCH] - V
        y[places.y_pulley(i, data) + PulleyY.N] = normal
    at = places.y_belt(data)
    q_m = x[places.x_flow(data)]
    y[at + Y.V] = q_m * length / unloaded
    if data[D.ARMS] > 0.0:
        energy += arm_energy(x, p, data)
        arm_outputs(x, p, data, y)
    if data[D.DECOUPLERS] > 0.0:
        energy += decoupler_energy(x, p, data)
        decoupler_outputs(x, p, data, y, work)
    y[at + Y.E] = energy
    y[at + Y.CREEP] = creep
    y[at + Y.SPAN] = damped
    shared_outputs(0.0, p[BeltP.M] * q_m * q_m, x, u, p, data, y, work)
    span_outputs(q_m, shaft_speed(entry(D.DRIVER, data), x, data), p, data, y, work)


@kernel
def rigid_output(x, u, p, data, y, work):
    """Write the outputs of the rigid model."""
    dx = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    rigid_derivative(x, u, p, data, dx, work)
    q = x[0] / (1.0 + p[BeltP.T_0] / p[BeltP.EA])
    rigid_tensions(dx[0], p[BeltP.M] * q * x[0], p, data, work)
    energy = 0.0
    for i in range(places.pulleys(data)):
        omega = x[0] / places.rim_radius(i, data)
        energy += 0.5 * work[places.wrap(i, data) + Wrap.INERTIA] * omega * omega
    at = places.y_belt(data)
    y[at + Y.V] = x[0]
    y[at + Y.E] = energy
    y[at + Y.CREEP] = 0.0
    y[at + Y.SPAN] = 0.0
    shared_outputs(x[0], p[BeltP.M] * q * q, x, u, p, data, y, work)
    span_outputs(q, x[0] / places.rim_radius(entry(D.DRIVER, data), data), p, data, y, work)
