"""Clutches, brakes, one-way clutches, dry bearings and losses of meshes in a gear system, as real-time kernels.

An element joins two gears, or a gear and the housing, with the difference of speeds ``dw``. In series with its faces
there is a stiff spring K parallel to a damper d, with the twist phi; the faces follow Coulomb's law with the capacity
C, as in `rtcvt.clutch.kernels`::

    e = K phi + d dw,    tau = min(max(e, C_low), C_high),    phi' = (tau - K phi)/d,    w_slip = dw - phi'

with ``C_low = -C`` and ``C_high = C``; one of them is 0 for a one-way clutch; those of a mesh that loses are of
`rtcvt.pog.mesh_losses`. Where e is between them the faces stick: phi' = dw and w_slip is zero, not small. With K -> inf
this is the set-valued law. Power is balanced:

    tau dw = d/dt (K phi^2)/2 + Q',    Q' = tau w_slip + d phi'^2

A contact with play (`rtcvt.pog.play`) is an element too: its force acts on the gears as the torques of the others.

Defaults of K and d: C twists an element by 0.1 mrad, and phi settles within 0.1 ms. The twist of sticking teeth is
negligible: ``K = J kappa^2``, ``d = 2 J kappa`` with the inertia J of all gears, kappa far above the resolution of a
step, so that at its end their torque balances the other torques.
"""

from rtcvt.kernel import kernel
from rtcvt.pog import places
from rtcvt.pog.layout import D, Element, ElementP, ElementW, GearVector
from rtcvt.pog.mesh_losses import bound, loss_slope, loss_slowing, side_at
from rtcvt.pog.play import damper_spring, lead_rate, play_energy, play_force, play_jacobian, pressed_side
from rtcvt.pog.rigid import solve_inertia
from rtcvt.pog.speeds import across, add_gradient

TWIST_AT_CAPACITY = 1e-4  # [rad]
DAMPING_TIME = 1e-4  # d/K [s]
TOOTH_RATE = 1e6  # kappa [1/s], with which all gears together would come back where the teeth of a mesh stick


@kernel
def set_bounds(u, p, data, work):
    """Bounds [N.m] by the actuations of now; meshes carry no load."""
    for e in range(places.elements(data)):
        row = places.element(e, data)
        C = p[places.p_element(e, data) + ElementP.CAPACITY]
        if data[row + Element.CONTACT] >= 0.0:
            C = 0.0
        elif data[row + Element.U] >= 0.0:
            share = places.actuation(e, u, data)
            if not share > 0.0:
                C = 0.0
            elif share < 1.0:
                C *= share
        work[places.element_work(e, data) + ElementW.HIGH] = data[row + Element.HIGH] * C
        work[places.element_work(e, data) + ElementW.LOW] = data[row + Element.LOW] * C


@kernel
def stuck_torque(e, x, p, data, work):
    """Torque of the element for sticking faces [N.m]."""
    own = places.p_element(e, data)
    return p[own + ElementP.K] * x[places.x_twist(e, data)] + p[own + ElementP.D] * across(e, x, data, work)


@kernel
def side(e, x, p, data, work):
    """0 if the faces stick, else at which bound they carry: 1 or -1; 1 if they are open; `pressed_side` of a play."""
    if places.is_play(e, data):
        return pressed_side(e, x, p, data)
    return side_by(e, stuck_torque(e, x, p, data, work), data, work)


@kernel
def side_by(e, torque, data, work):
    """`side` by the torque of the element for sticking faces [N.m]."""
    high = bound(e, 1.0, data, work)
    low = bound(e, -1.0, data, work)
    if e >= places.friction_elements(data):  # of teeth without load the torque gives the direction of slip
        if torque > high:
            return 1.0
        return -1.0 if torque < low else 0.0
    if torque >= high or not low < high:
        return 1.0
    return -1.0 if torque <= low else 0.0


@kernel
def carried(e, x, p, data, work):
    """tau [N.m]: torque from the first gear to the second, or to the housing; F [N] of a contact with play."""
    if places.is_play(e, data):
        return play_force(e, x, p, data)
    torque = stuck_torque(e, x, p, data, work)
    own = side_by(e, torque, data, work)
    if own == 0.0:
        return torque
    return bound(e, own, data, work)


@kernel
def twist_rate(e, x, p, data, work):
    """phi' [rad/s]; the difference of the speeds itself where the faces stick; z' of a contact with play.

    Call `element_torques` first.
    """
    if places.is_play(e, data):
        return lead_rate(e, x, p, data)
    at = places.element_work(e, data)
    if work[at + ElementW.SIDE] == 0.0:
        return work[at + ElementW.DW]
    own = places.p_element(e, data)
    return (work[at + ElementW.TAU] - p[own + ElementP.K] * x[places.x_twist(e, data)]) / p[own + ElementP.D]


@kernel
def element_torques(first, last, x, p, data, work):
    """Add the torques of elements `first` to `last` - 1 to those on the gears; they are kept in `ElementW`."""
    for e in range(first, last):
        dw = across(e, x, data, work)
        if places.is_play(e, data):
            own = pressed_side(e, x, p, data)
            tau = play_force(e, x, p, data)
        else:
            at_p = places.p_element(e, data)
            tau = p[at_p + ElementP.K] * x[places.x_twist(e, data)] + p[at_p + ElementP.D] * dw
            own = side_by(e, tau, data, work)
            if own != 0.0:
                tau = bound(e, own, data, work)
        at = places.element_work(e, data)
        work[at + ElementW.DW] = dw
        work[at + ElementW.TAU] = tau
        work[at + ElementW.SIDE] = own
        add_gradient(places.gear_vector(GearVector.TAU, data), -tau, e, True, data, work, work)


@kernel
def element_rates(x, p, data, dx, work):
    """Rates of twists and heats. Call `element_torques` first."""
    for e in range(places.elements(data)):
        rate = twist_rate(e, x, p, data, work)
        dx[places.x_twist(e, data)] = rate
        if places.is_play(e, data):
            dx[places.x_heat(e, data)] = places.contact_damping(places.contact_of(e, data), p, data) * rate * rate
        else:
            at = places.element_work(e, data)
            spring_torque = p[places.p_element(e, data) + ElementP.K] * x[places.x_twist(e, data)]
            dx[places.x_heat(e, data)] = work[at + ElementW.TAU] * work[at + ElementW.DW] - spring_torque * rate


@kernel
def element_energy(e, x, p, data):
    """Energy [J] in the twist of an element, or in the teeth of a contact with play."""
    if places.is_play(e, data):
        return play_energy(e, x, p, data)
    phi = x[places.x_twist(e, data)]
    return 0.5 * p[places.p_element(e, data) + ElementP.K] * phi * phi


@kernel
def element_responses(p, data, work):
    """Accelerations by 1 N.m on the first gear of each element and its reaction, by 1 N of a contact with play."""
    for e in range(places.elements(data)):
        a = places.response_of(e, data)
        add_gradient(a, 1.0, e, False, data, work, work)
        if data[D.FULL] != 0.0:
            for i in range(places.speeds(data)):
                work[a + i] /= places.inertia(i, p, data)
        else:
            solve_inertia(data, work, a)


@kernel
def loss_column(e, at, stride, by, x, p, data, jac, work):
    """Add to a column, every `stride` from `at` on: the effect through the torque of the loss `e`, which changes by
    `by`."""
    a = places.response_of(e, data)
    own = places.p_element(e, data)
    K = p[own + ElementP.K]
    d = p[own + ElementP.D]
    for i in range(places.speeds(data)):
        jac[at + i * stride] -= by * work[a + i]
    jac[at + places.x_twist(e, data) * stride] += by / d
    jac[at + places.x_heat(e, data) * stride] += by * (across(e, x, data, work) - K / d * x[places.x_twist(e, data)])


@kernel
def element_jacobian(x, p, data, jac, work):
    """Add to the rows of the speeds, and write those of twists and heats. Call `element_torques` first.

    In the full model with losses that depend on the load.
    """
    n = places.states(data)
    for e in range(places.elements(data)):
        a = places.response_of(e, data)
        if places.is_play(e, data):
            play_jacobian(e, x, p, data, jac, work)
        else:
            K = p[places.p_element(e, data) + ElementP.K]
            d = p[places.p_element(e, data) + ElementP.D]
            phi = places.x_twist(e, data)
            heat = places.x_heat(e, data)
            if side_at(e, data, work) == 0.0:
                for i in range(places.speeds(data)):
                    jac[i * n + phi] -= K * work[a + i]
                    add_gradient(i * n, -d * work[a + i], e, False, data, jac, work)
                add_gradient(phi * n, 1.0, e, False, data, jac, work)
                dw = work[places.element_work(e, data) + ElementW.DW]
                add_gradient(heat * n, 2.0 * d * dw, e, False, data, jac, work)
            else:
                tau = work[places.element_work(e, data) + ElementW.TAU]
                jac[phi * n + phi] = -K / d
                add_gradient(heat * n, tau, e, False, data, jac, work)
                jac[heat * n + phi] = -K / d * (tau - 2.0 * K * x[phi])
                if e >= places.friction_elements(data) and data[D.FULL] != 0.0:
                    elastic_loss_jacobian(e, x, p, data, jac, work)


@kernel
def elastic_loss_jacobian(e, x, p, data, jac, work):
    """Add to the Jacobian of the full model how the loss `e` follows from its contact's force and its speed."""
    n = places.states(data)
    c = loss_slope(e, x, p, data, work)
    k = places.contact_of(e, data)
    play = places.play_of(k, data)
    if play < 0:
        loss_column(e, places.x_force(k, data), n, c, x, p, data, jac, work)
    elif side_at(play, data, work) != 0.0:
        K_2 = damper_spring(play, p, data)
        by_force = c * (1.0 + K_2 / places.contact_stiffness(k, p, data))
        loss_column(e, places.x_force(k, data), n, by_force, x, p, data, jac, work)
        loss_column(e, places.x_twist(play, data), n, -c * K_2, x, p, data, jac, work)
    by_speed = loss_slowing(e, x, p, data, work)
    if by_speed != 0.0:
        loss_column(e, places.first_gear(e, data), n, by_speed, x, p, data, jac, work)
        sign = data[places.element(e, data) + Element.SIGN]
        if sign != 0.0:
            loss_column(e, places.second_gear(e, data), n, by_speed * -sign, x, p, data, jac, work)
