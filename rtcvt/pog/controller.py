"""The unit's controller in the state of the machine, as real-time kernels.

`rtcvt.control.position` or `rtcvt.control.kers` gives theta', within the limits of `rtcvt.control.limits`. For the KERS
law the power stored by the machine is filtered, ``P' = (dE/dt - P)/T`` with
``dE/dt = omega (L1 omega' + M omega theta')`` of the controlled port's gear; n_1 is 1 there.
"""

from rtcvt.control.kers import K_THETA, K_W, KERS_SIZE, OMEGA_0, TAU_FILTER, kers_law
from rtcvt.control.limits import CONTROL_SIZE, D_OMEGA, D_POWER, D_THETA, LIMITED, RATE, apply_limits
from rtcvt.control.position import position_law
from rtcvt.kernel import kernel
from rtcvt.pog import places
from rtcvt.pog.layout import Control, D, Reduced


@kernel
def control(mode, held, x, u, data, work):
    """``theta'`` from the unit's controller within its limits; 0 if nothing moves. Call `kinematics` first."""
    o = places.controller(data)
    numbers = work[places.law(data) : places.law(data) + KERS_SIZE]
    theta = places.theta_of(x, data)
    if places.number(D.CONTROL, data) == Control.NONE:
        for i in range(CONTROL_SIZE):
            work[o + i] = 0.0
    elif places.number(D.CONTROL, data) == Control.POSITION:
        position_law(numbers, theta, u[places.number(D.U_CONTROL, data)], work, o)
    elif places.number(D.CONTROL, data) == Control.KERS:
        storage = places.number(D.STORAGE, data)
        kers_law(
            numbers, x[places.x_own(data)], theta, x[places.x_power(data)], u[places.own_port(data)],
            u[places.number(D.U_CONTROL, data)], work[places.reduced(Reduced.A1, data)],
            work[places.reduced(Reduced.A1_BY_THETA, data)], work[places.gear_row(0, storage, data)],
            work[places.gear_row(1, storage, data)], work[places.gear_row(2, storage, data)], work, o,
        )  # fmt: skip
    if places.number(D.CONTROL, data) != Control.NONE:
        apply_limits(mode, held, work, o)


@kernel
def control_rates(x, data, dx, work):
    """Rates of theta and the filtered power. Call `control` first, and write the speeds' rates."""
    if data[D.MOVING] != 0.0:
        dx[places.x_theta(data)] = work[places.controller(data) + RATE]
    if places.number(D.CONTROL, data) == Control.KERS:
        own = places.x_own(data)
        at = places.x_power(data)
        L1 = work[places.reduced(Reduced.L1, data)]
        M = work[places.reduced(Reduced.M, data)]
        power = x[own] * (L1 * dx[own] + M * x[own] * dx[places.x_theta(data)])  # dE/dt
        dx[at] = (power - x[at]) / work[places.law(data) + TAU_FILTER]


@kernel
def control_jacobian(x, data, dx, jac, work):
    """Rows of theta and the filtered power. Call `control` first, and write the rates `dx` and the speeds' rows."""
    n = places.states(data)
    theta = places.x_theta(data)
    o = places.controller(data)
    if data[D.MOVING] != 0.0:
        jac[theta * n + theta] = work[o + D_THETA]
    if places.number(D.CONTROL, data) == Control.KERS:
        own = places.x_own(data)
        at = places.x_power(data)
        omega = x[own]
        rate = work[o + RATE]
        L1 = work[places.reduced(Reduced.L1, data)]
        M = work[places.reduced(Reduced.M, data)]
        dM = work[places.reduced(Reduced.M_BY_THETA, data)]
        inverse = 1.0 / work[places.law(data) + TAU_FILTER]
        jac[theta * n + own] = work[o + D_OMEGA]
        jac[theta * n + at] = work[o + D_POWER]
        for j in range(n):
            jac[at * n + j] = omega * (L1 * jac[own * n + j] + M * omega * jac[theta * n + j]) * inverse
        jac[at * n + own] += (L1 * dx[own] + 2.0 * M * omega * rate) * inverse
        jac[at * n + theta] += omega * (2.0 * M * dx[own] + dM * omega * rate) * inverse
        jac[at * n + at] -= inverse


@kernel
def add_own_speed(x, data, column, work):
    """Add to the column of the controlled port's flange speed how theta' follows from it. Call `control` first."""
    if work[places.controller(data) + LIMITED] != 0.0:
        return
    own = x[places.x_own(data)]
    numbers = places.law(data)
    w_0 = work[numbers + OMEGA_0]
    sign = own / w_0
    if abs(own) > w_0:
        sign = 1.0 if own > 0.0 else -1.0
    by_speed = -sign * work[numbers + K_THETA] * work[numbers + K_W]
    column[places.x_theta(data)] = by_speed
    if data[D.FULL] == 0.0:
        column[0] = -work[places.reduced(Reduced.M, data)] * own * by_speed / work[places.reduced(Reduced.L1, data)]
