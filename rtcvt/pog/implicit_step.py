"""A step of the implicit Euler method with the torques of all elements at its end, as real-time kernels.

With K -> inf Coulomb's law is set-valued, and it is so at a kink too: over a step h tau is within the bounds, and in
addition ``e = K phi_0 + (h K + d) dw`` at the end of the step, or ::

    r = q - (G + S) tau,    S = 1/(h K + d),    q = dw_0 + S K phi_0,    dw = dw_0 - G tau

with r zero between the bounds: the problem of `rtcvt.numerics.complementarity`, solved for all elements at once. dw_0
is that at the end of the step without torques of elements, G how these change it. Bounds of losses follow the forces of
their contacts, by iteration.
"""

from rtcvt.kernel import kernel
from rtcvt.model.stepping import Block
from rtcvt.numerics.complementarity import boxed
from rtcvt.numerics.integrators import rosenbrock_matrix
from rtcvt.numerics.linalg import lu_solve
from rtcvt.pog import places
from rtcvt.pog.elements import element_energy, side
from rtcvt.pog.equations import WITHOUT_ELEMENTS, linearise
from rtcvt.pog.layout import Box, D, ElementP, ElementW
from rtcvt.pog.lossy_step import forget_factors
from rtcvt.pog.mesh_losses import bound, load_meshes
from rtcvt.pog.play import play_lead, play_load, play_row, travel
from rtcvt.pog.rigid_losses import LOSS_RTOL, MAX_ITERATIONS, clear, force_without_losses
from rtcvt.pog.speeds import across

MAX_SIDE_CHANGES = 4  # times that teeth are looked for on the other side of their play


@kernel
def reload_meshes(end, x, p, data, work):
    """Bounds of losses by the forces of their contacts at the state `end`, with the torques of `Box`.

    Call `port_torques` first.
    """
    tau = places.box(Box.TAU, data)
    for a in range(places.losses(data)):
        k = places.lossy_contact(a, data)
        F = 0.0
        if data[D.FULL] != 0.0:
            play = places.play_of(k, data)
            F = end[places.x_force(k, data)] if play < 0 else work[tau + play]
        else:
            F = force_without_losses(a, end, data, work)
            for e in range(places.elements(data)):
                F += work[places.force_by_elements(a, data) + e] * work[tau + e]
        work[places.w_load(k, data)] = F
    load_meshes(x, p, data, work)


@kernel
def book_heat(e, energy, x, p, data):
    """Add an energy [J] less the part stored by its twist to the heat of an element; heat never decreases.

    It would where faces come to rest within a step, by the work before the reversal.
    """
    heat = energy - element_energy(e, x, p, data)
    if heat > 0.0:
        x[places.x_heat(e, data)] += heat


@kernel
def change_by_elements(h, x, u, p, data, work):
    """Change of the state over a step without elements, into `Block.SOLUTION`, and by each of these; G into `Box`."""
    n = places.states(data)
    m = places.elements(data)
    f = work[places.step_block(Block.RATES, data) : places.step_block(Block.STAGES, data)]
    jac = work[places.step_block(Block.JACOBIAN, data) : places.step_matrix(data)]
    change = places.step_block(Block.SOLUTION, data)
    matrix = places.step_matrix(data)
    pivot = places.step_pivots(data)
    linearise(WITHOUT_ELEMENTS, 0.0, x, u, p, data, f, jac, work)
    rosenbrock_matrix(n, 2.0 * h, jac, work, matrix, pivot)
    forget_factors(data, work)
    for i in range(n):
        work[change + i] = f[i]
    lu_solve(n, work, matrix, pivot, change)
    for e in range(m):
        Z = places.change_by(e, data)
        clear(Z, n, work)
        for i in range(places.speeds(data)):
            work[Z + i] = work[places.response_of(e, data) + i]
        lu_solve(n, work, matrix, pivot, Z)
        for c in range(m):
            work[places.box(Box.MATRIX, data) + c * m + e] = across(c, work[Z : Z + n], data, work)


@kernel
def write_rows(h, x, p, data, work):
    """The problem's rows, with S. Heat of plays is reduced by their stored energy. Call `change_by_elements` first."""
    m = places.elements(data)
    change = places.step_block(Block.SOLUTION, data)
    for e in range(m):
        at = places.element_work(e, data)
        dw = across(e, x, data, work)
        free = dw + across(e, work[change : change + places.states(data)], data, work)
        work[at + ElementW.START_DW] = dw
        if places.is_play(e, data):
            x[places.x_heat(e, data)] += element_energy(e, x, p, data)
            work[at + ElementW.FREE_DW] = free
            far = travel(e, x, p, data) + h * free
            one = 1.0 if play_load(e, 1.0, far, h, x, p, data) > 0.0 else -1.0
            S = play_row(e, one, h, x, p, data, work)
        else:
            K = p[places.p_element(e, data) + ElementP.K]
            S = 1.0 / (h * K + p[places.p_element(e, data) + ElementP.D])
            work[places.box(Box.Q, data) + e] = free + S * K * x[places.x_twist(e, data)]
            work[places.box(Box.LOW, data) + e] = bound(e, -1.0, data, work)
            work[places.box(Box.HIGH, data) + e] = bound(e, 1.0, data, work)
            work[places.box(Box.SIDE, data) + e] = side(e, x, p, data, work)
        work[places.box(Box.MATRIX, data) + e * m + e] += S


@kernel
def solve_rows(data, work):
    """Torques of all elements; whether they were found."""
    m = places.elements(data)
    q = places.box(Box.Q, data)
    low = places.box(Box.LOW, data)
    high = places.box(Box.HIGH, data)
    tau = places.box(Box.TAU, data)
    A = places.box(Box.MATRIX, data)
    scratch = A + m * m
    return boxed(m, work, A, q, low, high, tau, places.box(Box.SIDE, data), scratch, scratch + m * m + m)


@kernel
def turn_plays(h, x, p, data, work):
    """Give a row of its own to teeth that would press on the other side of their play; whether there are none."""
    stay = True
    for e in range(places.first_play(data), places.elements(data)):
        other = -1.0 if work[places.box(Box.LOW, data) + e] == 0.0 else 1.0
        v = work[places.element_work(e, data) + ElementW.FREE_DW]
        for c in range(places.elements(data)):
            Z = places.change_by(c, data)
            v -= across(e, work[Z : Z + places.states(data)], data, work) * work[places.box(Box.TAU, data) + c]
        if play_load(e, other, travel(e, x, p, data) + h * v, h, x, p, data) > 0.0:
            play_row(e, other, h, x, p, data, work)
            stay = False
    return stay


@kernel
def change_bounds(share, data, work):
    """Change the bounds of losses by a share of their errors; returns whether there is no error."""
    same = True
    for e in range(places.friction_elements(data), places.first_play(data)):
        for i in range(2):
            at = places.box(Box.HIGH - i, data) + e  # the upper one, the lower one
            by = bound(e, 1.0 - 2.0 * i, data, work) - work[at]
            if abs(by) > LOSS_RTOL * abs(work[at]):
                work[at] += share * by
                same = False
    return same


@kernel
def end_speeds(x, data, work):
    """State of the end of the step but twists and heats, by the torques of all elements, into `Block.STAGE`."""
    end = places.step_block(Block.STAGE, data)
    change = places.step_block(Block.SOLUTION, data)
    for i in range(places.x_twist(0, data)):
        work[end + i] = x[i] + work[change + i]
        for e in range(places.elements(data)):
            work[end + i] -= work[places.change_by(e, data) + i] * work[places.box(Box.TAU, data) + e]


@kernel
def end_twists(h, x, p, data, work):
    """Twists and heats of the end of the step in place, by the torques of all elements and the speeds in `x`."""
    for e in range(places.elements(data)):
        phi = places.x_twist(e, data)
        tau = work[places.box(Box.TAU, data) + e]
        dw = across(e, x, data, work)
        done = 0.5 * h * tau * (work[places.element_work(e, data) + ElementW.START_DW] + dw)
        if places.is_play(e, data):
            x[phi] = play_lead(e, tau, h, x, p, data)
            x[places.x_heat(e, data)] += done - element_energy(e, x, p, data)
        else:
            K = p[places.p_element(e, data) + ElementP.K]
            d = p[places.p_element(e, data) + ElementP.D]
            old = x[phi]
            slips = (d * old + h * tau) / (d + h * K)
            x[phi] = old + h * dw if work[places.box(Box.SIDE, data) + e] == 0.0 else slips
            book_heat(e, done + 0.5 * K * old * old, x, p, data)


@kernel
def implicit_step(h, x, u, p, data, work):
    """One step in place; whether all torques were found."""
    end = places.step_block(Block.STAGE, data)
    change_by_elements(h, x, u, p, data, work)
    write_rows(h, x, p, data, work)
    found = False
    for turn in range(MAX_ITERATIONS):
        if not found and (turn < MAX_SIDE_CHANGES or places.losses(data) > 0):
            found = solve_rows(data, work)
            found = turn_plays(h, x, p, data, work) and found
            end_speeds(x, data, work)
            if places.losses(data) > 0 and turn + 1 < MAX_ITERATIONS:
                reload_meshes(work[end : end + places.states(data)], x, p, data, work)
                # where the loss of a mesh relieves it much, bounds go to and fro
                found = change_bounds(1.0 if turn < MAX_SIDE_CHANGES else 0.5, data, work) and found
    for i in range(places.x_twist(0, data)):
        x[i] = work[end + i]
    end_twists(h, x, p, data, work)
    return found
