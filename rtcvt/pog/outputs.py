"""Outputs of a gear system, as real-time kernels: ports, controller, energy and lost power, speeds, forces, elements.

The stored energy is that of gears, contacts and twists; springs at ports have outputs of their own. The power that
friction of gears and dampers of contacts lose is ``omega' B_J omega + (R omega)' B_K R omega``; elements give heat.
"""

from rtcvt.control.limits import LIMITED, TAU_EST
from rtcvt.kernel import kernel
from rtcvt.model.coupling import coupling_loss, spring_energy
from rtcvt.model.stepping import Block
from rtcvt.pog import places
from rtcvt.pog.elements import element_energy, twist_rate
from rtcvt.pog.equations import contact_force, torques
from rtcvt.pog.layout import N_COUPLING, Control, CouplingY, D, ElementW, ElementY, FrictionD, GearVector, PlayY
from rtcvt.pog.play import travel
from rtcvt.pog.port import flange, series_damping
from rtcvt.pog.rigid import rigid_forces
from rtcvt.pog.speeds import contact_speed, gear_speeds
from rtcvt.pog.traction import traction_outputs, with_derivatives


@kernel
def lost_power(x, p, data, work):
    """Losses by friction of gears and dampers of contacts [W]. Write the speeds of the gears first."""
    omega = places.gear_vector(GearVector.OMEGA, data)
    P = 0.0
    for i in range(places.gears(data)):
        P += places.bearing(i, p, data) * work[omega + i] * work[omega + i]
    for k in range(places.frictions(data)):
        row = places.relative_friction(k, data)
        other = work[omega + places.number(row + FrictionD.OTHER, data)]
        dw = work[omega + places.number(row + FrictionD.GEAR, data)] + data[row + FrictionD.SIGN] * other
        P += p[places.number(row + FrictionD.P, data)] * dw * dw
    if data[D.FULL] != 0.0:
        for k in range(places.contacts(data)):
            if places.is_spring(k, data):  # that of a play is counted as heat
                v = contact_speed(0, k, x, data, work)
                P += places.contact_damping(k, p, data) * v * v
    return P


@kernel
def port_outputs(x, p, data, y, work):
    """Speed or torque of each port, `CouplingY` of each coupling."""
    at = places.number(D.Y_COUPLING, data)
    for k in range(places.ports(data)):
        y[k] = flange(k, x, data, work)
        if places.port_springs(k, data) == 2:
            s = places.first_spring(k, data)
            c = places.spring_stiffness(s, p, data)
            tau = places.x_spring(s, data)
            y[at + CouplingY.E] = spring_energy(c, x[tau]) + spring_energy(c, x[tau + 1])
            y[at + CouplingY.LOSS] = coupling_loss(series_damping(s + 1, p, data), tau, x)
            at += N_COUPLING


@kernel
def element_outputs(x, p, data, y, work):
    """`ElementY` or `PlayY` of each element."""
    for e in range(places.elements(data)):
        if e >= places.first_play(data):
            y[places.y_play(e, data) + PlayY.S] = travel(e, x, p, data)
            y[places.y_play(e, data) + PlayY.HEAT] = x[places.x_heat(e, data)]
        else:
            at = places.y_element(e, data)
            own = places.element_work(e, data)
            stuck = work[own + ElementW.SIDE] == 0.0
            slip = work[own + ElementW.DW] - twist_rate(e, x, p, data, work)
            y[at + ElementY.TAU] = work[own + ElementW.TAU]
            y[at + ElementY.SLIP] = 0.0 if stuck else slip
            y[at + ElementY.STUCK] = 1.0 if stuck else 0.0
            y[at + ElementY.HEAT] = x[places.x_heat(e, data)]


@kernel
def write_outputs(loaded, mode, held, x, u, p, data, y, work):
    """All outputs; `loaded` is 1 if the torques of `x` are known, see `rtcvt.pog.equations.torques`."""
    omega = places.gear_vector(GearVector.OMEGA, data)
    F = places.gear_vector(GearVector.SCRATCH_2, data)
    with_derivatives(x, p, data, work)  # the next step's Jacobian is here
    if loaded == 0:
        torques(mode, held, x, u, p, data, work)
    energy = 0.0
    for e in range(places.elements(data)):
        energy += element_energy(e, x, p, data)
    gear_speeds(x, data, work, omega)
    if data[D.FULL] != 0.0:
        for k in range(places.contacts(data)):
            work[F + k] = contact_force(k, x, p, data, work)
            if places.is_spring(k, data):
                energy += spring_energy(places.contact_stiffness(k, p, data), x[places.x_force(k, data)])
    else:
        f = places.step_block(Block.RATES, data)
        rigid_forces(x, p, data, work[f : places.step_block(Block.STAGES, data)], work, F)
    for i in range(places.gears(data)):
        energy += 0.5 * places.inertia(i, p, data) * work[omega + i] * work[omega + i]
        y[places.y_gear(i, data)] = work[omega + i]
    for k in range(places.contacts(data)):
        y[places.y_contact(k, data)] = work[F + k]
    y[places.y_energy(data)] = energy
    y[places.y_energy(data) + 1] = lost_power(x, p, data, work)
    if places.tractions(data) > 0:
        y[places.y_energy(data) + 1] += traction_outputs(x, p, data, y, work)
    if places.number(D.CONTROL, data) == Control.KERS:
        y[places.number(D.Y_TAU_EST, data)] = work[places.controller(data) + TAU_EST]
    if data[D.MOVING] != 0.0:
        y[places.number(D.Y_THETA, data)] = places.theta_of(x, data)
        y[places.y_limited(data)] = work[places.controller(data) + LIMITED]
        y[places.y_limited(data) + 1] = 0.0
    port_outputs(x, p, data, y, work)
    element_outputs(x, p, data, y, work)
