"""Kernels of the exact Jacobian ``df/dx`` of the hybrid model, term by term of `rtcvt.belt.forces` and `flow`.

The rows of pulleys, arms and faces are written for constant ways of the cells; `speed_columns` and `angle_columns` add
the effects of speeds and angles on these ways.
"""

from rtcvt.belt import places
from rtcvt.belt.arms import arm_inertia, arm_tangent, kappa_by_angle, lever_by_angle, way_lever, way_rate
from rtcvt.belt.decoupler import decoupler_columns, decoupler_rows
from rtcvt.belt.flow import end_source, flows_by_kappa, start_source
from rtcvt.belt.forces import T_Q, inertia_force, other_slope, shaft_speed, span_damping, whole_damping
from rtcvt.belt.friction import limits_by_tension, slack_cell
from rtcvt.belt.layout import ArmX, BeltP, Cell, D, Face, GivenX, Rim, Span, Wrap
from rtcvt.kernel import kernel


@kernel
def damping_row(row, scale, rho, j, x, p, data, jac, work):
    """Add ``scale`` times the derivative of ``rho F_d``, rho held, to a row; F_d is that of span j."""
    i = places.after(j, data)
    a = row * places.states(data)
    c = places.span_cell(j, data)
    source_s = start_source(j, x, data, work)
    source_e = end_source(j, x, data, work)
    V_s = places.rim_radius(j, data) * places.speed(j, x, data)
    V_e = places.rim_radius(i, data) * places.speed(i, x, data)
    rho_s = work[places.span(j, data) + Span.RHO_START]
    rho_e = work[places.span(j, data) + Span.RHO_END]
    damping = scale * rho * span_damping(j, p, data, work)
    jac[a + places.x_speed(j, data)] -= damping * rho_s * places.rim_radius(j, data)
    jac[a + places.x_speed(i, data)] += damping * rho_e * places.rim_radius(i, data)
    jac[a + c] += damping * V_s * rho_s * work[places.cell(c, data) + Cell.RATE]
    jac[a + source_s] -= damping * V_s * rho_s * work[places.cell(source_s, data) + Cell.RATE]
    jac[a + c] -= damping * V_e * rho_e * work[places.cell(c, data) + Cell.RATE]
    jac[a + source_e] += damping * V_e * rho_e * work[places.cell(source_e, data) + Cell.RATE]
    if places.arm_of_span(j, data) >= 0:
        at = places.x_arm(places.arm_of_span(j, data), data)
        jac[a + at + ArmX.W] += damping * way_lever(j, data, work)
        jac[a + at + ArmX.THETA] += damping * lever_by_angle(j, data, work) * x[at + ArmX.W]
    whole = scale * rho * work[places.span(j, data) + Span.RATE] * whole_damping(j, p, data)
    for end in range(2):
        k = j if end == 0 else i
        at = places.wrap(k, data)
        other = work[places.wrap(i if end == 0 else j, data) + Wrap.GATE]
        jac[a + places.span_cell(places.before(k, data), data)] += whole * other * work[at + Wrap.GATE_BY_IN]
        jac[a + places.span_cell(k, data)] += whole * other * work[at + Wrap.GATE_BY_OUT]
        jac[a + places.x_flow(data)] += whole * other * work[at + Wrap.GATE_BY_FLOW]
        for m in range(places.arms(data)):
            by_kappa = work[at + Wrap.GATE_BY_KAPPA] * kappa_by_angle(0, k, m, data, work)
            jac[a + places.x_arm(m, data) + ArmX.THETA] += whole * other * by_kappa


@kernel
def pulley_row(i, x, p, data, jac, work):
    """Write the row of a pulley that torques move."""
    j = places.before(i, data)
    row = places.x_speed(i, data)
    a = row * places.states(data)
    inverse = 1.0 / work[places.wrap(i, data) + Wrap.LIFTED]
    by_force = places.rim_radius(i, data) * inverse
    own = places.decoupler_of(i, data)
    if own >= 0:
        decoupler_columns(own, i, row, -inverse, p, data, jac, work)
    else:
        jac[a + row] += other_slope(i, places.speed(i, x, data), p, data) * inverse
    jac[a + places.span_cell(i, data)] += by_force * work[places.rim(0, i, data) + Rim.BY_L]
    jac[a + places.span_cell(j, data)] -= by_force * work[places.rim(1, j, data) + Rim.BY_L]
    rho_s = work[places.span(i, data) + Span.RHO_START]
    rho_e = work[places.span(j, data) + Span.RHO_END]
    damping_row(row, by_force, rho_s, i, x, p, data, jac, work)
    damping_row(row, -by_force, rho_e, j, x, p, data, jac, work)
    pull = by_force * work[places.span(i, data) + Span.F_D] * rho_s
    source_columns(a, pull, i, start_source(i, x, data, work), data, jac, work)
    pull = -by_force * work[places.span(j, data) + Span.F_D] * rho_e
    source_columns(a, pull, j, end_source(j, x, data, work), data, jac, work)
    radius = places.rim_radius(i, data)
    by_way = work[places.wrap(i, data) + Wrap.TORQUE] * inverse * inverse * p[BeltP.M] * radius * radius
    way_columns(a, by_way, places.span_cell(i, data), data, jac, work)
    way_columns(a, by_way, places.span_cell(j, data), data, jac, work)
    for k in range(1, places.faces(data)):
        way_columns(a, 2.0 * by_way, places.span_cell(j, data) + k, data, jac, work)
    if data[D.ARMS] > 0.0:
        pulley_row_of_arms(i, j, by_force, inverse, x, p, data, jac, work)


@kernel
def source_columns(a, scale, j, source, data, jac, work):
    """Add `scale` times the derivative of ln rho, of span j and the cell `source`, to a row that begins at `a`."""
    c = places.span_cell(j, data)
    jac[a + c] -= scale * work[places.cell(c, data) + Cell.RATE]
    jac[a + source] += scale * work[places.cell(source, data) + Cell.RATE]


@kernel
def way_columns(a, scale, c, data, jac, work):
    """Add `scale` times the derivative of W of cell c, its tension held, to a row that begins at `a`."""
    at = places.cell(c, data)
    j = places.span_of(c, data)
    jac[a + c] -= scale * work[at + Cell.LONGER_BY_T] * work[at + Cell.N_BY_L]
    jac[a + places.x_speed(j, data)] += scale * work[at + Cell.LONGER_BY_BEFORE]
    jac[a + places.x_speed(places.after(j, data), data)] += scale * work[at + Cell.LONGER_BY_AFTER]


@kernel
def speed_columns(moving, data, jac, work):
    """Add the effect of the cells' ways to the columns of the speeds, as `angle_columns` does for angles.

    With constant limits (`moving` 0) a cell is only in its own row, those of its neighbours and those after the ring.
    """
    count = places.cell_count(data)
    n_x = places.states(data)
    for c in range(count):
        at = places.cell(c, data)
        j = places.x_speed(places.span_of(c, data), data)
        i = places.x_speed(places.after(places.span_of(c, data), data), data)
        inverse = 1.0 / work[at + Cell.STRETCH]
        by_before = work[at + Cell.LONGER_BY_BEFORE] * inverse
        by_after = work[at + Cell.LONGER_BY_AFTER] * inverse
        for k in range(0 if moving == 1 else count - 3, count):
            row = k
            if moving == 0:
                row = c + k - count + 2
                row += count if row < 0 else (-count if row >= count else 0)
            jac[row * n_x + j] -= by_before * jac[row * n_x + c]
            jac[row * n_x + i] -= by_after * jac[row * n_x + c]
        for row in range(count, n_x):
            value = jac[row * n_x + c]
            if value != 0.0:
                jac[row * n_x + j] -= by_before * value
                jac[row * n_x + i] -= by_after * value


@kernel
def pulley_row_of_arms(i, j, by_force, inverse, x, p, data, jac, work):
    """Add the effect of arms to the row of pulley i, at the end of span j."""
    a = places.x_speed(i, data) * places.states(data)
    m = places.arm_of_pulley(i, data)
    if m >= 0:
        jac[a + places.x_arm(m, data) + ArmX.W] += p[places.p_bearing(i, data)] * inverse
    for end in range(2):
        near = i if end == 0 else j
        m = places.arm_of_span(near, data)
        if m >= 0:
            at = places.x_arm(m, data)
            by_way = -0.5 * by_force * p[BeltP.M]
            jac[a + places.x_flow(data)] += by_way * way_rate(near, x, data, work)
            by_way *= x[places.x_flow(data)]
            jac[a + at + ArmX.W] += by_way * way_lever(near, data, work)
            jac[a + at + ArmX.THETA] += by_way * lever_by_angle(near, data, work) * x[at + ArmX.W]


@kernel
def arm_rows(m, x, p, data, jac, work):
    """Write the rows of an arm, the way of the cells held."""
    at = places.x_arm(m, data)
    row = at + ArmX.W
    a = row * places.states(data)
    inverse = 1.0 / arm_inertia(m, p, data)
    arm_tangent(m, x, p, data, jac)
    i = places.arm_pulley(m, data)
    bearing = p[places.p_bearing(i, data)] * inverse
    jac[a + places.x_speed(i, data)] += bearing
    jac[a + row] -= bearing
    for j in range(places.pulleys(data)):
        if places.arm_of_span(j, data) == m:
            i = places.after(j, data)
            c = places.span_cell(j, data)
            lever = way_lever(j, data, work) * inverse
            force = work[places.cell(c, data) + Cell.N] - inertia_force(j, x, p, data)
            force += work[places.span(j, data) + Span.F_D]
            jac[a + at + ArmX.THETA] -= lever_by_angle(j, data, work) * inverse * force
            jac[a + c] -= lever * work[places.cell(c, data) + Cell.N_BY_L]
            R_j = places.rim_radius(j, data)
            R_i = places.rim_radius(i, data)
            flow = places.x_flow(data)
            jac[a + flow] += (
                0.5 * lever * p[BeltP.M] * (R_j * places.speed(j, x, data) + R_i * places.speed(i, x, data))
            )
            jac[a + places.x_speed(j, data)] += 0.5 * lever * p[BeltP.M] * x[flow] * R_j
            jac[a + places.x_speed(i, data)] += 0.5 * lever * p[BeltP.M] * x[flow] * R_i
            damping_row(row, -lever, 1.0, j, x, p, data, jac, work)


@kernel
def angle_columns(m, data, jac, work):
    """Add the effect of the spans' lengths and the wraps' limits to the column of an arm's angle; call this last.

    A change of a cell's length L has the effect of -L/lambda times a change of its content.
    """
    n_x = places.states(data)
    theta = places.x_arm(m, data) + ArmX.THETA
    for j in range(places.pulleys(data)):
        if places.arm_of_span(j, data) == m:
            c = places.span_cell(j, data)
            by_length = -way_lever(j, data, work) / work[places.cell(c, data) + Cell.STRETCH]
            for row in range(n_x):
                jac[row * n_x + theta] += by_length * jac[row * n_x + c]
    for j in range(places.pulleys(data)):
        by_kappa = kappa_by_angle(1, places.after(j, data), m, data, work)
        for k in range(places.faces(data)):
            u = places.span_cell(j, data) + k
            q = work[places.face(u, data) + Face.Q_BY_V] * work[places.face(u, data) + Face.S_BY_KAPPA] * by_kappa
            jac[u * n_x + theta] -= q
            jac[places.cell_after(u, data) * n_x + theta] += q
            jac[places.x_flow(data) * n_x + theta] += q / (places.cell_count(data) * T_Q)


@kernel
def slides_by_angle(m, data, work):
    """Write ds/dtheta of all faces, of the angle of an arm; call `flows` and `flows_by_kappa` first."""
    for j in range(places.pulleys(data)):
        by_kappa = kappa_by_angle(1, places.after(j, data), m, data, work)
        for k in range(places.faces(data)):
            u = places.span_cell(j, data) + k
            by = work[places.face(u, data) + Face.S_BY_KAPPA] * by_kappa
            for end in range(2):
                c = u if end == 0 else places.cell_after(u, data)
                near = places.span_of(c, data)
                if c == places.span_cell(near, data) and places.arm_of_span(near, data) == m:
                    by_length = -way_lever(near, data, work) / work[places.cell(c, data) + Cell.STRETCH]
                    by += by_length * work[places.face(u, data) + (Face.S_BY_UP if end == 0 else Face.S_BY_DOWN)]
            work[places.slide_by_angle(m, u, data)] = by


@kernel
def limit_columns(x, p, data, jac, work):
    """Add the effect of faces' limits that depend on the tension of the slack span; gates: to their derivatives."""
    limits_by_tension(x, p, data, work)
    for i in range(places.pulleys(data)):
        at = places.wrap(i, data)
        low = slack_cell(i, data, work)
        by_l = work[places.cell(low, data) + Cell.HAT_BY_L]
        by_q = -2.0 * p[BeltP.M] * x[places.x_flow(data)] * (1.0 + work[places.cell(low, data) + Cell.N] / p[BeltP.EA])
        by_T = work[at + Wrap.HELD_BY_T]
        by_gate = by_T * (work[at + Wrap.KAPPA] + 1.0) * work[at + Wrap.GATE_BY_KAPPA]
        work[at + (Wrap.GATE_BY_OUT if low == places.span_cell(i, data) else Wrap.GATE_BY_IN)] += by_gate * by_l
        work[at + Wrap.GATE_BY_FLOW] += by_gate * by_q
        by_face = by_T / places.faces(data) * (work[at + Wrap.FACE_KAPPA] + 1.0)
        for k in range(places.faces(data)):
            u = places.span_cell(places.before(i, data), data) + k
            q = work[places.face(u, data) + Face.Q_BY_V] * work[places.face(u, data) + Face.S_BY_KAPPA] * by_face
            for side in range(3):
                row = flow_row(side, u, data)
                share = flow_share(side, data)
                jac[row + low] += share * q * by_l
                jac[row + places.x_flow(data)] += share * q * by_q


@kernel
def flow_row(side, u, data):
    """Start of a row with the flow through face u: of the cell before (0), after (1), or of q_m (2)."""
    row = places.x_flow(data)
    if side == 0:
        row = u
    elif side == 1:
        row = places.cell_after(u, data)
    return row * places.states(data)


@kernel
def flow_share(side, data):
    """How the flow through a face enters that row [1, 1/s]."""
    if side == 0:
        return -1.0
    return 1.0 if side == 1 else 1.0 / (places.cell_count(data) * T_Q)


@kernel
def hybrid_jacobian(moving, x, p, data, jac, work):
    """``df/dx`` of the hybrid model; call `hybrid_derivative` first. `moving` 1: limits are not held."""
    n_x = places.states(data)
    for k in range(n_x * n_x):
        jac[k] = 0.0
    if moving == 1 or data[D.ARMS] > 0.0:
        flows_by_kappa(p, data, work)
    if moving == 1:
        limit_columns(x, p, data, jac, work)
    for i in range(places.pulleys(data)):
        at = places.given_state(i, data)
        if at >= 0:
            jac[places.x_speed(i, data) * n_x + at + GivenX.A] = 1.0
        else:
            pulley_row(i, x, p, data, jac, work)
    for u in range(places.cell_count(data)):
        at = places.face(u, data)
        pulley = places.after(places.span_of(u, data), data)
        by_omega = work[at + Face.Q_BY_V] * places.rim_radius(pulley, data)
        for side in range(3):
            row = flow_row(side, u, data)
            share = flow_share(side, data)
            jac[row + places.x_speed(pulley, data)] += share * by_omega
            jac[row + u] += share * work[at + Face.Q_BY_UP]
            jac[row + places.cell_after(u, data)] += share * work[at + Face.Q_BY_DOWN]
            jac[row + places.x_flow(data)] += share * work[at + Face.Q_BY_FLOW]
    jac[places.x_flow(data) * n_x + places.x_flow(data)] -= 1.0 / T_Q
    for m in range(places.arms(data)):
        arm_rows(m, x, p, data, jac, work)
    for m in range(places.decouplers(data)):
        own = places.decoupler_pulley(m, data)
        decoupler_rows(m, other_slope(own, shaft_speed(own, x, data), p, data), p, data, jac, work)
    speed_columns(moving, data, jac, work)
    for m in range(places.arms(data)):
        angle_columns(m, data, jac, work)
