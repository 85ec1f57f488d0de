"""Ports: torques on the gears and springs in front of gears, as real-time kernels.

A shaft of the unit file is a spring c between flange and gear: ``tau' = c (w - omega)``. A flange whose speed is
prescribed has the two springs of `rtcvt.model.coupling`, the second with a damper in series. See `rtcvt.model.Coupling`
for the requirements of a system of several machines on a port.
"""

from rtcvt.kernel import kernel
from rtcvt.model.coupling import coupling_rates
from rtcvt.pog import places
from rtcvt.pog.controller import add_own_speed
from rtcvt.pog.layout import Control, D, GearVector, SpringD
from rtcvt.pog.rigid import solve_inertia
from rtcvt.pog.rigid_losses import add_losses_of_torque, clear
from rtcvt.pog.speeds import gear_speed


@kernel
def spring_torque(k, x, data):
    """Torque of the springs at a port [N.m]."""
    tau = 0.0
    for s in range(places.first_spring(k, data), places.first_spring(k, data) + places.port_springs(k, data)):
        tau += x[places.x_spring(s, data)]
    return tau


@kernel
def series_damping(s, p, data):
    """Damping [N.m.s/rad] of the damper in series with spring s."""
    return p[places.number(places.spring(s, data) + SpringD.P_D, data)]


@kernel
def port_torques(x, u, data, work):
    """Torques on the gears from inputs and springs at the ports [N.m]."""
    tau = places.gear_vector(GearVector.TAU, data)
    clear(tau, places.gears(data), work)
    for k in range(places.ports(data)):
        torque = spring_torque(k, x, data)
        if places.port_springs(k, data) == 0:
            torque = u[k]
        work[tau + places.port_gear(k, data)] += torque


@kernel
def spring_rates(x, u, p, data, dx, work):
    """Rates of the springs at the ports."""
    for k in range(places.ports(data)):
        if places.port_springs(k, data) > 0:
            omega = gear_speed(0, places.port_gear(k, data), x, data, work)
            first = places.first_spring(k, data)
            at = places.x_spring(first, data)
            c = places.spring_stiffness(first, p, data)
            if places.port_springs(k, data) == 1:
                dx[at] = c * (u[k] - omega)
            else:
                coupling_rates(u[k], omega, c, series_damping(first + 1, p, data), at, x, dx)


@kernel
def spring_jacobian(x, p, data, jac, work):
    """Rows of the springs at the ports."""
    n = places.states(data)
    for s in range(places.springs(data)):
        gear = places.spring_gear(s, data)
        c = places.spring_stiffness(s, p, data)
        at = places.x_spring(s, data)
        if data[D.FULL] != 0.0:
            jac[at * n + gear] = -c
        else:
            for i in range(places.independents(data)):
                jac[at * n + i] = -c * work[places.gear_row(0, gear, data) + i]
        if data[D.MOVING] != 0.0:
            jac[at * n + places.x_theta(data)] = -c * gear_speed(1, gear, x, data, work)
        if data[places.spring(s, data) + SpringD.P_D] >= 0.0:
            jac[at * n + at] = -c / series_damping(s, p, data)


@kernel
def flange(k, x, data, work):
    """Speed of a gear, or torque of the spring in front of it."""
    if places.port_springs(k, data) == 0:
        return gear_speed(0, places.port_gear(k, data), x, data, work)
    return spring_torque(k, x, data)


@kernel
def flange_gradients(k, x, p, data, row, column, work):
    """Gradient of `flange` into `row`, and of the rates to the input of the port into `column`.

    Call `linearise` first.
    """
    for i in range(places.states(data)):
        row[i] = 0.0
        column[i] = 0.0
    gear = places.port_gear(k, data)
    first = places.first_spring(k, data)
    for s in range(first, first + places.port_springs(k, data)):
        row[places.x_spring(s, data)] = 1.0
        column[places.x_spring(s, data)] = places.spring_stiffness(first, p, data)
    if places.port_springs(k, data) == 0:
        if data[D.FULL] != 0.0:
            row[gear] = 1.0
            column[gear] = 1.0 / places.inertia(gear, p, data)
        else:
            b = places.gear_vector(GearVector.SCRATCH, data)
            for c in range(places.independents(data)):
                row[c] = work[places.gear_row(0, gear, data) + c]
                work[b + c] = row[c]
            solve_inertia(data, work, b)
            for c in range(places.independents(data)):
                column[c] = work[b + c]
            if data[D.MOVING] != 0.0:
                row[places.x_theta(data)] = gear_speed(1, gear, x, data, work)
            add_losses_of_torque(gear, x, p, data, column, work)
    elif places.number(D.CONTROL, data) == Control.KERS and k == places.own_port(data):
        add_own_speed(x, data, column, work)
