"""Losses of meshes by the forces of their contacts, as real-time kernels.

The loss of a mesh is an element between one of its gears and the carrier, or the housing. Its bounds depend on the
contact's force F on the gear's radius r: the torque of the loss is ``|r F| (1 - eta)`` in the direction in which the
gear would be driven, ``|r F| (1/eta - 1)`` in that in which it would drive::

    r F > 0:  C_low = -r F (1 - eta),    C_high = r F (1/eta - 1)
    r F < 0:  C_low = r F (1/eta - 1),   C_high = -r F (1 - eta)

So the share eta of the power through the contact, seen from the carrier, arrives in either direction; and teeth at rest
break away where the torques overcome the loss of the beginning motion. The choice does not depend on a speed. For a
mesh with oil, 1 - eta follows from F and the speed v at the pitch circle (`rtcvt.pog.mesh`). c is torque over force;
where faces slip it is dtau/dF, for a mesh with oil including the change of eta.
"""

from rtcvt.kernel import kernel
from rtcvt.numerics.elementary import power
from rtcvt.pog import places
from rtcvt.pog.layout import Element, ElementP, ElementW, LossW
from rtcvt.pog.mesh import LOAD_EXPONENT, MAX_SPEED, MIN_ETA, MIN_SPEED
from rtcvt.pog.speeds import across


@kernel
def side_at(e, data, work):
    """Side at which an element carries, where elements were loaded last, see `rtcvt.pog.elements.side`."""
    return work[places.element_work(e, data) + ElementW.SIDE]


@kernel
def bound(e, side, data, work):
    """Largest (`side` above 0) or least torque [N.m] of an element."""
    at = places.element_work(e, data)
    return work[at + ElementW.HIGH] if side > 0.0 else work[at + ElementW.LOW]


@kernel
def mesh_radius(e, data, work):
    """Radius of the gear at which a mesh loses [m], with the sign it has in R."""
    return work[places.contact_row(0, places.contact_of(e, data), data) + places.first_gear(e, data)]


@kernel
def mesh_force(e, data, work):
    """Force of the contact that loads a mesh [N]."""
    return work[places.w_load(places.contact_of(e, data), data)]


@kernel
def drives(e, side, data, work):
    """Whether the gear at which a mesh loses drives it if it turns towards `side`, seen from the carrier."""
    return mesh_force(e, data, work) * mesh_radius(e, data, work) * side > 0.0


@kernel
def mesh_losses(e, x, p, data, work):
    """c of a driving and of a driven mesh [m]: torque of the loss over the force of its contact."""
    eta = mesh_efficiency_at(e, x, p, data, work)
    at = places.loss_work(e - places.friction_elements(data), data)
    work[at + LossW.DRIVING] = mesh_radius(e, data, work) * (1.0 - eta) / eta
    work[at + LossW.DRIVEN] = mesh_radius(e, data, work) * (eta - 1.0)


@kernel
def mesh_efficiency_at(e, x, p, data, work):
    """eta of a mesh at its force and the speed of `x`."""
    row = places.element(e, data)
    eta = p[places.p_element(e, data) + ElementP.CAPACITY]
    if data[row + Element.FORCE] == 0.0:
        return eta
    force = abs(mesh_force(e, data, work))
    if not force > data[row + Element.LEAST]:
        force = data[row + Element.LEAST]
    v = abs(mesh_radius(e, data, work) * across(e, x, data, work))
    v = v if v > MIN_SPEED else MIN_SPEED
    v = v if v < MAX_SPEED else MAX_SPEED
    eta = 1.0 - (1.0 - eta) * power(force / data[row + Element.FORCE] * data[row + Element.SPEED] / v, LOAD_EXPONENT)
    return eta if eta > MIN_ETA else MIN_ETA


@kernel
def loss_of(e, side, data, work):
    """c [m] of a mesh that slips towards `side`."""
    at = places.loss_work(e - places.friction_elements(data), data)
    return work[at + LossW.DRIVING] if drives(e, side, data, work) else work[at + LossW.DRIVEN]


@kernel
def load_meshes(x, p, data, work):
    """Bounds of losses [N.m] by the forces of their contacts."""
    for a in range(places.losses(data)):
        e = places.friction_elements(data) + a
        if data[places.element(e, data) + Element.FORCE] != 0.0:
            mesh_losses(e, x, p, data, work)
        F = mesh_force(e, data, work)
        driving = F * work[places.loss_work(a, data) + LossW.DRIVING]
        driven = F * work[places.loss_work(a, data) + LossW.DRIVEN]
        at = places.element_work(e, data)
        work[at + ElementW.HIGH] = driving if driving > driven else driven
        work[at + ElementW.LOW] = driven if driving > driven else driving


@kernel
def loss_slope(e, x, p, data, work):
    """dtau/dF [m] of a mesh that slips, 0 where it sticks."""
    side = side_at(e, data, work)
    if side == 0.0:
        return 0.0
    c = loss_of(e, side, data, work)
    if abs(mesh_force(e, data, work)) > data[places.element(e, data) + Element.LEAST]:
        c *= 1.0 + loss_exponent(e, side, x, p, data, work)
    return c


@kernel
def loss_exponent(e, side, x, p, data, work):
    """d ln(loss of 1 N)/d ln(F), that to the speed below zero: 0 of a mesh whose efficiency is constant."""
    if data[places.element(e, data) + Element.FORCE] == 0.0:
        return 0.0
    eta = mesh_efficiency_at(e, x, p, data, work)
    if eta == MIN_ETA:
        return 0.0
    return LOAD_EXPONENT / eta if drives(e, side, data, work) else LOAD_EXPONENT


@kernel
def loss_slowing(e, x, p, data, work):
    """dtau/dw of a mesh that slips [N.m.s/rad]: the faster, the less friction."""
    if data[places.element(e, data) + Element.FORCE] == 0.0:
        return 0.0
    dw = across(e, x, data, work)
    v = abs(mesh_radius(e, data, work) * dw)
    side = side_at(e, data, work)
    if v <= MIN_SPEED or v >= MAX_SPEED or side == 0.0:
        return 0.0
    return -loss_exponent(e, side, x, p, data, work) * bound(e, side, data, work) / dw
