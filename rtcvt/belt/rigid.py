"""Kernels of the rigid model of a belt drive: one speed of the whole belt, see `rtcvt.belt.kernels`."""

from rtcvt.belt import places
from rtcvt.belt.forces import other_slope, other_torque
from rtcvt.belt.layout import N_GIVEN, Arc, BeltP, D, GivenX, Span, Wrap
from rtcvt.kernel import kernel


@kernel
def rigid_mass(data, work):
    """sum J/r^2 [kg]."""
    mass = 0.0
    for i in range(places.pulleys(data)):
        R = places.rim_radius(i, data)
        mass += work[places.wrap(i, data) + Wrap.INERTIA] / (R * R)
    return mass


@kernel
def driven(data):
    """The pulley whose speed is given, or -1."""
    found = -1
    for i in range(places.pulleys(data)):
        if places.given_state(i, data) >= 0:
            found = i
    return found


@kernel
def rigid_derivative(x, u, p, data, dx, work):
    """Rates of the rigid model, and the torques of all but the belt on its pulleys."""
    force = 0.0
    mass = rigid_mass(data, work)
    for i in range(places.pulleys(data)):
        R = places.rim_radius(i, data)
        tau = other_torque(i, x[0] / R, u, p, data)
        work[places.wrap(i, data) + Wrap.TORQUE] = tau
        force += tau / R
    dx[0] = force / mass
    given = driven(data)
    if given >= 0:
        at = places.given_state(given, data)
        R = places.rim_radius(given, data)
        for k in range(N_GIVEN):
            dx[at + k] = 0.0
        dx[0] = R * x[at + GivenX.A]
        work[places.wrap(given, data) + Wrap.TORQUE] += R * (mass * dx[0] - force)


@kernel
def rigid_jacobian(x, p, data, jac, work):
    """``df/dx`` of the rigid model."""
    for k in range(places.states(data) * places.states(data)):
        jac[k] = 0.0
    mass = rigid_mass(data, work)
    given = driven(data)
    if given >= 0:
        jac[places.given_state(given, data) + GivenX.A] = places.rim_radius(given, data)
    else:
        for i in range(places.pulleys(data)):
            R = places.rim_radius(i, data)
            jac[0] += other_slope(i, x[0] / R, p, data) / (R * R * mass)


@kernel
def rigid_tensions(acceleration, flux, p, data, work):
    """Write the tensions of the spans [N] from the torques on the pulleys and the length of the belt, or arms.

    `flux` is G v [N]. Call `rigid_derivative` first.
    """
    T = 0.0
    total = 0.0
    weight = 0.0
    for i in range(places.pulleys(data)):
        row = places.arc(i, data)
        R = places.rim_radius(i, data)
        if i > 0:
            own = places.wrap(i, data)
            T += (work[own + Wrap.INERTIA] * acceleration / R - work[own + Wrap.TORQUE]) / R
        work[places.span(i, data) + Span.TENSION] = T
        total += data[row + Arc.WEIGHT] * T
        weight += data[row + Arc.WEIGHT]
    level = p[BeltP.T_0] - total / weight
    if data[D.STANDS] != 0.0:
        level += flux
    for i in range(places.pulleys(data)):
        work[places.span(i, data) + Span.TENSION] += level
