"""Right-hand side ``f(x, u)`` of the full or the rigid model with its controller, and df/dx, as real-time kernels.

The parts in their order: `kinematics`, `control`, torques of ports and elements, the rates of the speeds, then those of
springs, theta and filtered power, twists and heats.
"""

from rtcvt.kernel import kernel
from rtcvt.pog import places
from rtcvt.pog.controller import control, control_jacobian, control_rates
from rtcvt.pog.elastic import elastic_derivative, elastic_jacobian
from rtcvt.pog.elements import carried, element_jacobian, element_rates, element_torques, set_bounds
from rtcvt.pog.layout import D
from rtcvt.pog.mesh_losses import load_meshes
from rtcvt.pog.port import port_torques, spring_jacobian, spring_rates
from rtcvt.pog.reduction import kinematics
from rtcvt.pog.rigid import rigid_derivative, rigid_jacobian
from rtcvt.pog.rigid_losses import rigid_loss_jacobian, solve_losses
from rtcvt.pog.traction import end_load_rate, traction_force, traction_jacobian, traction_torques, with_derivatives

WITHOUT_ELEMENTS = 3  # a mode in addition to those of `rtcvt.control.limits`: elements carry nothing


@kernel
def contact_force(k, x, p, data, work):
    """Force of a contact of the full model [N], without its damper unless it has play."""
    if places.x_force(k, data) < 0:
        return traction_force(-1 - places.x_force(k, data), data, work)
    e = places.play_of(k, data)
    if e < 0:
        return x[places.x_force(k, data)]
    return carried(e, x, p, data, work)


@kernel
def add_element_torques(x, u, p, data, work):
    """Bounds of the elements, and their torques in addition to those of the ports. Call `port_torques` first."""
    first = places.friction_elements(data)
    set_bounds(u, p, data, work)
    element_torques(0, first, x, p, data, work)
    if places.losses(data) > 0:
        if data[D.FULL] != 0.0:
            for k in range(places.contacts(data)):
                work[places.w_load(k, data)] = contact_force(k, x, p, data, work)
            load_meshes(x, p, data, work)
        else:
            solve_losses(x, p, data, work)
    element_torques(first, places.elements(data), x, p, data, work)


@kernel
def torques(mode, held, x, u, p, data, work):
    """Kinematics, the controller's command and all torques on the gears at a state."""
    kinematics(1, places.theta_of(x, data), p, data, work)
    control(mode, held, x, u, data, work)
    port_torques(x, u, data, work)
    if mode != WITHOUT_ELEMENTS:
        add_element_torques(x, u, p, data, work)
    if places.tractions(data) > 0:
        traction_torques(x, p, data, work)


@kernel
def right_hand_side(mode, held, x, u, p, data, dx, work):
    """``f(x, u)`` with the limits of theta applied by `mode`, see `rtcvt.control.limits`."""
    torques(mode, held, x, u, p, data, work)
    if data[D.FULL] != 0.0:
        elastic_derivative(x, p, data, dx, work)
    else:
        rigid_derivative(x, data, dx, work)
    spring_rates(x, u, p, data, dx, work)
    control_rates(x, data, dx, work)
    if places.tractions(data) > 0:
        end_load_rate(x, u, p, data, dx, work)
    for i in range(places.x_twist(0, data), places.states(data)):
        dx[i] = 0.0
    if mode != WITHOUT_ELEMENTS:
        element_rates(x, p, data, dx, work)


@kernel
def linearise(mode, held, x, u, p, data, f, jac, work):
    """`right_hand_side` into `f` and its ``df/dx``, row-major."""
    with_derivatives(x, p, data, work)
    right_hand_side(mode, held, x, u, p, data, f, work)
    write_jacobian(mode, x, p, data, f, jac, work)


@kernel
def write_jacobian(mode, x, p, data, f, jac, work):
    """``df/dx``, row-major. Call `with_derivatives`, and `right_hand_side` into `f` first."""
    for i in range(places.states(data) * places.states(data)):
        jac[i] = 0.0
    if data[D.FULL] != 0.0:
        elastic_jacobian(x, p, data, jac, work)
    else:
        rigid_jacobian(x, data, f, jac, work)
    if mode != WITHOUT_ELEMENTS:
        element_jacobian(x, p, data, jac, work)
        if places.losses(data) > 0 and data[D.FULL] == 0.0:
            rigid_loss_jacobian(x, p, data, jac, work)
    if places.tractions(data) > 0:
        traction_jacobian(x, p, data, jac, work)
    spring_jacobian(x, p, data, jac, work)
    control_jacobian(x, data, f, jac, work)
