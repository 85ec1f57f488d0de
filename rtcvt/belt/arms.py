"""Kernels of tensioner arms: the length of the spans over the arm's angle, spring, friction and end stops.

An arm at the angle theta from its drawn position has the speed W and (`rtcvt.belt.arm_geometry`: P, P'; span j with
the tension T and damping force F_d) ::

    J W' = M_0 + M_b - K theta - C W - M - M_s - sum P_j' (T_j + F_d,j - m q (V_s + V_e)/2) + b (omega - W)
    M' = K_F (1 - sign(W) M/M_F) W                            dry friction (Dahl 1968, exponent 1)
    M_s = +-K_S z (1 +- C_S W), at least 0                    a stop that is passed by the angle z (Hunt, Crossley 1975)

with M_b of the belt's bending on pulleys as drawn (`arm_geometry.bending`).

Belt tensioners show a friction torque that yields elastically before it slides (Bastien, Michon, Manin and Dufour
2007); it does not creep under a constant load, and its loss ``M^2 |W|/M_F`` is never negative. The belt's momentum
changes with its length: the rims at the two ends of a span are each loaded by ``m q P_j' W/2``, which is the power that
the arm gains, as for the circulation of a growing ring. Energy: ``J W^2/2 + (M_0 + M_b - K theta)^2/(2 K) + M^2/(2 K_F)
+ K_S z^2/2``.

P, P', the turn of the spans and its derivative come from cubic Hermite interpolation of tables; P' is the derivative of
the interpolated P, so that the energy balance is exact. Beyond the tables, a little after the stops, P is constant.
"""

from rtcvt.belt import places
from rtcvt.belt.friction import place_limits
from rtcvt.belt.layout import Arc, ArmD, ArmP, ArmX, BeltP, Cell, Span, Wrap
from rtcvt.kernel import kernel
from rtcvt.model.places import entry


@kernel
def arm_inertia(m, p, data):
    """Moment of inertia of an arm about its pivot with its share of the belt [kg.m2]."""
    belt = data[places.arm_row(m, data) + ArmD.BELT] * p[BeltP.M] / (1.0 + p[BeltP.T_0] / p[BeltP.EA])
    return p[places.p_arm(m, data) + ArmP.J] + belt


@kernel
def way_lever(j, data, work):
    """P' of span j [m]; call `place_arms` first."""
    return work[places.span(j, data) + Span.LEVER]


@kernel
def lever_by_angle(j, data, work):
    """P'' of span j [m]."""
    return work[places.span(j, data) + Span.LEVER_BY_ANGLE]


@kernel
def way_rate(j, x, data, work):
    """Rate of P of span j [m/s]."""
    m = places.arm_of_span(j, data)
    if m < 0:
        return 0.0
    return way_lever(j, data, work) * x[places.x_arm(m, data) + ArmX.W]


@kernel
def interpolate(what, derivative, m, j, theta, data):
    """P (`what` 0) or turn (2) of span j at an angle of arm m, or `derivative` 1 or 2 of it; constant outside."""
    row = places.arm_row(m, data)
    width = data[row + ArmD.WIDTH]
    count = entry(row + ArmD.INTERVALS, data)
    along = (theta - data[row + ArmD.FIRST]) / width
    inside = 1.0
    if not along > 0.0:
        along = 0.0
        inside = 0.0
    if along > count:
        along = 1.0 * count
        inside = 0.0
    k = int(along)
    k = count - 1 if k >= count else k
    s = along - k
    at = places.arm_table(j, data) + 4 * k + what
    a = data[at]
    b = data[at + 4]
    da = width * data[at + 1]
    db = width * data[at + 5]
    c_2 = 3.0 * (b - a) - 2.0 * da - db
    c_3 = 2.0 * (a - b) + da + db
    if derivative == 0:
        return a + s * (da + s * (c_2 + s * c_3))
    if derivative == 1:
        return inside * (da + s * (2.0 * c_2 + 3.0 * s * c_3)) / width
    return inside * (2.0 * c_2 + 6.0 * s * c_3) / (width * width)


@kernel
def place_arms(x, p, data, work):
    """Write lengths of the spans, their levers and turns, and the limits of the wraps at the angles of the arms."""
    for j in range(places.pulleys(data)):
        m = places.arm_of_span(j, data)
        if m >= 0:
            at = places.span(j, data)
            theta = x[places.x_arm(m, data) + ArmX.THETA]
            reach = data[places.arc(j, data) + Arc.REACH]
            own = places.cell(places.span_cell(j, data), data)
            work[own + Cell.LENGTH] = reach + interpolate(0, 0, m, j, theta, data)
            work[at + Span.LEVER] = interpolate(0, 1, m, j, theta, data)
            work[at + Span.LEVER_BY_ANGLE] = interpolate(0, 2, m, j, theta, data)
            work[at + Span.TURN] = interpolate(2, 0, m, j, theta, data)
            work[at + Span.TURN_BY_ANGLE] = interpolate(2, 1, m, j, theta, data)
    limits_by_arms(x, p, data, work)


@kernel
def limits_by_arms(x, p, data, work):
    """Write the limits of the wraps that arms turn; call `set_limits` first."""
    for i in range(places.pulleys(data)):
        j = places.before(i, data)
        if places.arm_of_span(i, data) >= 0 or places.arm_of_span(j, data) >= 0:
            at = places.wrap(i, data)
            sigma = data[places.arc(i, data) + Arc.SIGMA]
            turn = sigma * (work[places.span(i, data) + Span.TURN] - work[places.span(j, data) + Span.TURN])
            by_angle = place_limits(i, turn, x, p, data, work)
            work[at + Wrap.KAPPA_BY_TURN] = by_angle * (work[at + Wrap.KAPPA] + 1.0)
            work[at + Wrap.FACE_KAPPA_BY_TURN] = by_angle / places.faces(data) * (work[at + Wrap.FACE_KAPPA] + 1.0)


@kernel
def kappa_by_angle(face, i, m, data, work):
    """Derivative of the limit kappa of pulley i's wrap, or of each of its faces (`face` 1), to the angle of arm m."""
    j = places.before(i, data)
    turn = 0.0
    if places.arm_of_span(i, data) == m:
        turn += work[places.span(i, data) + Span.TURN_BY_ANGLE]
    if places.arm_of_span(j, data) == m:
        turn -= work[places.span(j, data) + Span.TURN_BY_ANGLE]
    sigma = data[places.arc(i, data) + Arc.SIGMA]
    return sigma * turn * work[places.wrap(i, data) + (Wrap.FACE_KAPPA_BY_TURN if face == 1 else Wrap.KAPPA_BY_TURN)]


@kernel
def stop_torque(what, m, theta, W, p, data):
    """Torque of an arm's stops [N.m]; `what` 1, 2: its derivative to angle or speed, 3: energy [J], 4: loss [W]."""
    row = places.arm_row(m, data)
    a = places.p_arm(m, data)
    side = 0.0
    z = 0.0
    if theta > data[row + ArmD.HIGH]:
        side = 1.0
        z = theta - data[row + ArmD.HIGH]
    elif theta < data[row + ArmD.LOW]:
        side = -1.0
        z = data[row + ArmD.LOW] - theta
    K = p[a + ArmP.K_S]
    more = 1.0 + p[a + ArmP.C_S] * side * W
    if what == 3:
        return 0.5 * K * z * z
    if what == 4:
        return K * z * ((more if more > 0.0 else 0.0) - 1.0) * side * W
    if side == 0.0 or not more > 0.0:
        return 0.0
    if what == 0:
        return -side * K * z * more
    return -K * more if what == 1 else -K * z * p[a + ArmP.C_S]


@kernel
def arm_spring(m, theta, p, data):
    """Torque of an arm's spring and of the belt's bending [N.m]."""
    a = places.p_arm(m, data)
    return p[a + ArmP.M_0] + data[places.arm_row(m, data) + ArmD.BENDS] - p[a + ArmP.K] * theta


@kernel
def arm_rates(m, torque, x, p, data, dx):
    """Write the rates of an arm, on which belt and pulley act with `torque` [N.m]."""
    at = places.x_arm(m, data)
    a = places.p_arm(m, data)
    theta = x[at + ArmX.THETA]
    W = x[at + ArmX.W]
    M = x[at + ArmX.M]
    spring = arm_spring(m, theta, p, data) - p[a + ArmP.C] * W - M
    dx[at + ArmX.THETA] = W
    dx[at + ArmX.W] = (torque + spring + stop_torque(0, m, theta, W, p, data)) / arm_inertia(m, p, data)
    dx[at + ArmX.M] = 0.0
    if p[a + ArmP.M_F] > 0.0:
        dx[at + ArmX.M] = p[a + ArmP.K_F] * (W - abs(W) * M / p[a + ArmP.M_F])


@kernel
def arm_tangent(m, x, p, data, jac):
    """Add the derivatives of `arm_rates`, torque held, to the rows of an arm."""
    n_x = places.states(data)
    at = places.x_arm(m, data)
    a = places.p_arm(m, data)
    theta = x[at + ArmX.THETA]
    W = x[at + ArmX.W]
    inverse = 1.0 / arm_inertia(m, p, data)
    jac[(at + ArmX.THETA) * n_x + at + ArmX.W] += 1.0
    row = (at + ArmX.W) * n_x
    jac[row + at + ArmX.THETA] += (stop_torque(1, m, theta, W, p, data) - p[a + ArmP.K]) * inverse
    jac[row + at + ArmX.W] += (stop_torque(2, m, theta, W, p, data) - p[a + ArmP.C]) * inverse
    jac[row + at + ArmX.M] -= inverse
    if p[a + ArmP.M_F] > 0.0:
        row = (at + ArmX.M) * n_x
        sign = 1.0 if W > 0.0 else (-1.0 if W < 0.0 else 0.0)
        jac[row + at + ArmX.W] += p[a + ArmP.K_F] * (1.0 - sign * x[at + ArmX.M] / p[a + ArmP.M_F])
        jac[row + at + ArmX.M] -= p[a + ArmP.K_F] * abs(W) / p[a + ArmP.M_F]


@kernel
def arm_energy(x, p, data):
    """Energy of all arms [J]."""
    energy = 0.0
    for m in range(places.arms(data)):
        at = places.x_arm(m, data)
        a = places.p_arm(m, data)
        W = x[at + ArmX.W]
        spring = arm_spring(m, x[at + ArmX.THETA], p, data)
        energy += 0.5 * arm_inertia(m, p, data) * W * W + 0.5 * spring * spring / p[a + ArmP.K]
        energy += 0.5 * x[at + ArmX.M] * x[at + ArmX.M] / p[a + ArmP.K_F]
        energy += stop_torque(3, m, x[at + ArmX.THETA], W, p, data)
    return energy


@kernel
def arm_loss(x, p, data):
    """Power that all arms lose in damping, dry friction and stops [W]."""
    loss = 0.0
    for m in range(places.arms(data)):
        at = places.x_arm(m, data)
        a = places.p_arm(m, data)
        W = x[at + ArmX.W]
        loss += p[a + ArmP.C] * W * W + stop_torque(4, m, x[at + ArmX.THETA], W, p, data)
        if p[a + ArmP.M_F] > 0.0:
            loss += x[at + ArmX.M] * x[at + ArmX.M] * abs(W) / p[a + ArmP.M_F]
    return loss


@kernel
def start_arms(T, p, data, x):
    """Write the angles at which the springs balance a tension of the belt [N]."""
    for m in range(places.arms(data)):
        at = places.x_arm(m, data)
        a = places.p_arm(m, data)
        theta = 0.0
        for _ in range(50):
            pull = 0.0
            bend = 0.0
            for j in range(places.pulleys(data)):
                if places.arm_of_span(j, data) == m:
                    pull += interpolate(0, 1, m, j, theta, data)
                    bend += interpolate(0, 2, m, j, theta, data)
            missing = arm_spring(m, theta, p, data) - T * pull
            missing += stop_torque(0, m, theta, 0.0, p, data)
            slope = p[a + ArmP.K] + T * bend - stop_torque(1, m, theta, 0.0, p, data)
            if slope < p[a + ArmP.K]:
                slope = 0.5 * (slope + p[a + ArmP.K]) if slope > 0.0 else p[a + ArmP.K]
            theta += missing / slope
        x[at + ArmX.THETA] = theta
