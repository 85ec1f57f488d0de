"""Losses of meshes in the rigid model, where the contacts' forces depend on them, as real-time kernels.

The forces F in lossy meshes follow from the torques of all elements, and the losses from these where faces slip::

    F = F_0 + G tau,    tau = c F

These are solved for together, piece by piece, and df/dx follows from ``(1 - c G) dtau = c dF_0``. Where c G is above 1
the mesh locks: it sticks.
"""

from rtcvt.kernel import kernel
from rtcvt.model.stepping import HUGE, Block
from rtcvt.numerics.linalg import lu, lu_solve
from rtcvt.pog import places
from rtcvt.pog.elements import loss_column, stuck_torque
from rtcvt.pog.layout import Element, ElementP, GearVector, LossW
from rtcvt.pog.mesh_losses import bound, load_meshes, loss_of, loss_slope, loss_slowing
from rtcvt.pog.rigid import rigid_forces
from rtcvt.pog.speeds import across_by, gear_speeds

MAX_ITERATIONS = 8  # systems that are solved for the losses
MAX_SIGN_CHANGES = 4  # iterations in which forces may change their sign
LOSS_RTOL = 1e-12  # share by which a loss of 1 N may still change


@kernel
def clear(first, n, work):
    """Zeros at ``work[first:]``."""
    for i in range(first, first + n):
        work[i] = 0.0


@kernel
def force_responses(p, data, work):
    """Changes of the forces in lossy meshes by torques on gears, by x1 and by torques of elements."""
    n_J = places.gears(data)
    n_1 = places.independents(data)
    tau = places.gear_vector(GearVector.TAU, data)
    x_1 = places.step_block(Block.START, data)
    one = work[x_1 : x_1 + n_1]
    for i in range(n_J + n_1):
        clear(tau, n_J, work)
        clear(x_1, n_1, work)
        if i < n_J:
            work[tau + i] = 1.0
        else:
            work[x_1 + i - n_J] = 1.0
        gear_speeds(one, data, work, places.gear_vector(GearVector.OMEGA, data))
        rigid_forces(one, p, data, work[x_1 + n_1 : x_1 + 2 * n_1], work, places.w_load(0, data))
        for a in range(places.losses(data)):
            work[places.force_by_torques(a, data) + i] = work[places.w_load(places.lossy_contact(a, data), data)]
    for a in range(places.losses(data)):
        force = places.force_by_torques(a, data)
        for e in range(places.elements(data)):
            G = -work[force + places.first_gear(e, data)]
            G += data[places.element(e, data) + Element.SIGN] * work[force + places.second_gear(e, data)]
            work[places.force_by_elements(a, data) + e] = G
        work[places.loss_work(a, data) + LossW.FACTORED] = HUGE  # no factors yet


@kernel
def force_without_losses(a, x, data, work):
    """F of loss a [N] by the torques on the gears and by x1, without torques of losses."""
    n_J = places.gears(data)
    force = places.force_by_torques(a, data)
    tau = places.gear_vector(GearVector.TAU, data)
    F = 0.0
    for i in range(n_J):
        F += work[force + i] * work[tau + i]
    for i in range(places.independents(data)):
        F += work[force + n_J + i] * x[i]
    return F


@kernel
def factor_losses(data, work):
    """Factor ``1 - c G``, if it is not the one that is factored."""
    m = places.losses(data)
    A = places.loss_matrix(data)
    same = True
    for a in range(m):
        same = same and work[places.loss_work(a, data) + LossW.FACTORED] == work[places.loss_work(a, data) + LossW.C]
    if not same:
        for a in range(m):
            c = work[places.loss_work(a, data) + LossW.C]
            work[places.loss_work(a, data) + LossW.FACTORED] = c
            for b in range(m):
                work[A + a * m + b] = -c * work[places.force_by_elements(a, data) + places.friction_elements(data) + b]
            work[A + a * m + a] += 1.0
        lu(m, work, A, places.loss_pivots(data))


@kernel
def slipping_side(a, flips, data, work):
    """Side towards which loss a slips by the torque that its teeth would carry if they stuck, 0 where they stick.

    A mesh whose loss is against that torque locks, unless forces may still change their sign (`flips`).
    """
    e = places.friction_elements(data) + a
    torque = work[places.loss_work(a, data) + LossW.STUCK]
    if flips or work[places.loss_torques(data) + a] * torque >= 0.0:
        if torque > bound(e, 1.0, data, work):
            return 1.0
        if torque < bound(e, -1.0, data, work):
            return -1.0
    return 0.0


@kernel
def solve_losses(x, p, data, work):
    """The forces in lossy meshes and the bounds there. Call `port_torques` and `element_torques` first."""
    m = places.losses(data)
    first = places.friction_elements(data)
    tau = places.loss_torques(data)
    for a in range(m):
        at = places.loss_work(a, data)
        work[at + LossW.F_0] = force_without_losses(a, x, data, work)
        work[places.w_load(places.lossy_contact(a, data), data)] = work[at + LossW.F_0]
        work[at + LossW.C] = HUGE
        work[tau + a] = 0.0
        work[at + LossW.STUCK] = stuck_torque(first + a, x, p, data, work)
    same = False
    for turn in range(MAX_ITERATIONS):
        if not same:
            load_meshes(x, p, data, work)
            same = True
            for a in range(m):
                at = places.loss_work(a, data)
                own = slipping_side(a, turn < MAX_SIGN_CHANGES, data, work)
                share = 0.0
                if own != 0.0:
                    share = loss_of(first + a, own, data, work)
                same = same and abs(share - work[at + LossW.C]) <= LOSS_RTOL * abs(share)
                work[at + LossW.C] = share
                work[tau + a] = share * work[at + LossW.F_0] if own != 0.0 else work[at + LossW.STUCK]
            if not same:
                factor_losses(data, work)
                lu_solve(m, work, places.loss_matrix(data), places.loss_pivots(data), tau)
                for a in range(m):
                    F = work[places.loss_work(a, data) + LossW.F_0]
                    for b in range(m):
                        F += work[places.force_by_elements(a, data) + first + b] * work[tau + b]
                    work[places.w_load(places.lossy_contact(a, data), data)] = F
    if not same:
        load_meshes(x, p, data, work)


@kernel
def add_losses(at, stride, x, p, data, jac, work):
    """Add to a column of the Jacobian, or of an input, the effect of the losses.

    `loss_torques` contains the changes of the forces without losses, each times its c.
    """
    m = places.losses(data)
    tau = places.loss_torques(data)
    lu_solve(m, work, places.loss_matrix(data), places.loss_pivots(data), tau)
    for a in range(m):
        if work[places.loss_work(a, data) + LossW.C] != 0.0:
            loss_column(places.friction_elements(data) + a, at, stride, work[tau + a], x, p, data, jac, work)


@kernel
def add_losses_of_torque(gear, x, p, data, column, work):
    """Add to the column of a torque on a gear how the losses follow from it. Call `rigid_loss_jacobian` first."""
    for a in range(places.losses(data)):
        c = work[places.loss_work(a, data) + LossW.C]
        work[places.loss_torques(data) + a] = c * work[places.force_by_torques(a, data) + gear]
    add_losses(0, 1, x, p, data, column, work)


@kernel
def rigid_loss_jacobian(x, p, data, jac, work):
    """Add to the Jacobian how the losses follow from the state. Call `element_jacobian` first."""
    n = places.states(data)
    n_1 = places.independents(data)
    first = places.friction_elements(data)
    phi = places.x_twist(0, data)
    change = places.change_by(0, data)  # of the torques of elements that stick
    for a in range(places.losses(data)):
        work[places.loss_work(a, data) + LossW.C] = loss_slope(first + a, x, p, data, work)
    factor_losses(data, work)
    for j in range(phi + places.elements(data)):
        if j < phi or jac[j * n + j] == 0.0:  # a slipping element does not depend on its twist
            for e in range(places.elements(data)):
                own = places.p_element(e, data)
                row = (phi + e) * n
                work[change + e] = 0.0
                if jac[row + phi + e] == 0.0:
                    work[change + e] = p[own + ElementP.K] if j == phi + e else p[own + ElementP.D] * jac[row + j]
            for a in range(places.losses(data)):
                force = places.force_by_torques(a, data)
                F = 0.0
                by_speed = 0.0
                if j < n_1:
                    F = work[force + places.gears(data) + j]
                    by_speed = loss_slowing(first + a, x, p, data, work) * across_by(first + a, j, data, work)
                elif j < phi:
                    F = work[force + places.spring_gear(j - places.x_spring(0, data), data)]
                for e in range(places.elements(data)):
                    F += work[places.force_by_elements(a, data) + e] * work[change + e]
                work[places.loss_torques(data) + a] = work[places.loss_work(a, data) + LossW.C] * F + by_speed
            add_losses(j, n, x, p, data, jac, work)
