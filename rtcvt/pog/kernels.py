"""Full and rigid model of any gear system: the functions of a real-time model, see `rtcvt.model`.

Equations and symbols are those of `rtcvt.pog`. Each part is a module: `places`; `geometry`, `reduction` and `speeds`
(R, Q1, eqs. (7), (8) and (10)); `elastic` (eq. (2)); `rigid` (eqs. (9) and (11)); `elements`, `mesh_losses`,
`rigid_losses` and `play`; `controller` and `port`; `equations` puts them together; `method`, `lossy_step`,
`implicit_step`, `element_steps` and `steps` advance; `outputs`.
"""

from rtcvt.control.limits import CLIPPED, FREE, HELD, LIMITED, LOW, RATE, gather
from rtcvt.kernel import FAILED, SATURATED, kernel
from rtcvt.model.stepping import HUGE, Block, enter, leave, start_status
from rtcvt.pog import places
from rtcvt.pog.elements import element_responses
from rtcvt.pog.equations import linearise, right_hand_side
from rtcvt.pog.geometry import fixed_radii
from rtcvt.pog.layout import D, TractionP
from rtcvt.pog.lossy_step import forget_factors
from rtcvt.pog.mesh_losses import mesh_losses, side_at
from rtcvt.pog.outputs import port_outputs, write_outputs
from rtcvt.pog.port import flange, flange_gradients
from rtcvt.pog.reduction import kinematics
from rtcvt.pog.rigid_losses import clear, force_responses
from rtcvt.pog.steps import STEP_TOO_COARSE, substep
from rtcvt.pog.traction import parameter

MIN_PIVOT_RATIO = 1e-12  # of R_D


@kernel
def prepare(p, data, work):
    """Write the quantities that depend on parameters alone: the fixed part of R, and the rows of Q1 of independent
    speeds."""
    clear(0, places.step_block(Block.START, data), work)
    numbers = work[places.law(data) : places.controller(data)]
    gather(places.number(D.LAW, data), places.number(D.N_LAW, data), p, data, numbers)
    fixed_radii(p, data, work)
    for c in range(places.independents(data)):
        work[places.gear_row(0, places.ordered(places.contacts(data) + c, data), data) + c] = 1.0
    work[places.number(D.W_THETA, data)] = HUGE  # nowhere yet


@kernel
def is_singular(data, work):
    """Whether R_D is, by the pivots of its LU."""
    n_K = places.contacts(data)
    smallest = HUGE
    largest = 0.0
    for k in range(n_K):
        pivot = abs(work[places.dependent(data) + k * n_K + k])
        smallest = pivot if pivot < smallest else smallest
        largest = pivot if pivot > largest else largest
    return n_K > 0 and not smallest > MIN_PIVOT_RATIO * largest


@kernel
def initialise(p, data, u, x, work):
    """Start from the independent speeds, all springs unloaded, with constant stored energy."""
    prepare(p, data, work)
    theta = p[places.number(D.P_THETA_START, data)] if data[D.MOVING] != 0.0 else 0.0
    kinematics(2, theta, p, data, work)
    if is_singular(data, work):
        return FAILED
    for i in range(places.states(data)):
        x[i] = 0.0
    for c in range(places.independents(data)):
        if data[D.FULL] == 0.0:
            x[c] = places.start_speed(c, p, data)
        else:
            for i in range(places.gears(data)):
                x[i] += work[places.gear_row(0, i, data) + c] * places.start_speed(c, p, data)
    if data[D.MOVING] != 0.0:
        x[places.x_theta(data)] = theta
    if places.tractions(data) > 0:
        x[places.x_load(data)] = parameter(TractionP.LEAST, p, data)
    element_responses(p, data, work)
    if places.losses(data) > 0 and data[D.FULL] == 0.0:
        force_responses(p, data, work)
    for e in range(places.friction_elements(data), places.first_play(data)):
        mesh_losses(e, x, p, data, work)
    forget_factors(data, work)
    dx = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    derivative(0.0, x, u, p, data, dx, work)
    return start_status(places.states(data), x, dx)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Right-hand side of the full or the rigid model with its controller."""
    right_hand_side(CLIPPED, 0.0, x, u, p, data, dx, work)


@kernel
def jacobian(t, x, u, p, data, jac, work):
    """Exact ``df/dx``, row-major, inputs held."""
    f = work[places.step_block(Block.RATES, data) : places.step_block(Block.STAGES, data)]
    linearise(CLIPPED, 0.0, x, u, p, data, f, jac, work)


@kernel
def coupled_linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and ``df/dx``, see `rtcvt.model.Coupling`."""
    linearise(CLIPPED, 0.0, x, u, p, data, f, jac, work)


@kernel
def coupled_flange(k, x, u, p, data, work):
    """Speed of a gear, or torque of the spring in front of it, see `rtcvt.model.Coupling`."""
    return flange(k, x, data, work)


@kernel
def coupled_port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`: a gear, or the spring in front of it."""
    flange_gradients(k, x, p, data, row, column, work)
    return 0.0


@kernel
def coupled_piece(x, u, p, data, work):
    """0 if no limit of theta is active, 1 or 2 at the lower or upper one; pieces of the elements, to base 3."""
    pieces = 0.0
    for e in range(places.elements(data)):
        pieces = 3.0 * pieces + 1.0 + side_at(e, data, work)
    if places.elements(data) > 0:
        return pieces
    o = places.controller(data)
    if data[D.MOVING] == 0.0 or work[o + LIMITED] == 0.0:
        return 0.0
    return 1.0 if work[o + RATE] == work[o + LOW] else 2.0


@kernel
def cheap_output(t, x, u, p, data, y, work):
    """Ports, see `rtcvt.model.Coupling`."""
    kinematics(2, places.theta_of(x, data), p, data, work)
    port_outputs(x, p, data, y, work)


@kernel
def output(t, x, u, p, data, y, work):
    """Ports, controller, stored energy, speeds and contact forces."""
    write_outputs(0, CLIPPED, 0.0, x, u, p, data, y, work)


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own."""
    n = places.states(data)
    n_y = places.number(D.N_Y, data)
    at = places.number(D.W_SAVED, data)
    saved = work[at : at + n]
    y_new = work[at + n : at + n + n_y]
    steps = enter(t, h, data[D.INTERNAL_STEP], places.number(D.N_U, data), u, n, x, saved)
    if steps == 0:
        return FAILED
    limited = 0
    saturated = 0
    coarse = 0
    for _ in range(steps):
        limited = substep(h / steps, x, u, p, data, work)
        if limited >= STEP_TOO_COARSE:
            limited -= STEP_TOO_COARSE
            coarse = 1
        saturated = limited if places.elements(data) == 0 or limited == 1 else saturated
    mode = HELD if limited == 1 else FREE
    write_outputs(places.elements(data), mode, work[places.controller(data) + RATE], x, u, p, data, y_new, work)
    if coarse == 1:
        y_new[places.y_limited(data) + 1] = 1.0
    status = leave(True, n, x, saved, n_y, y_new, y)
    return SATURATED if status != FAILED and saturated + coarse > 0 else status
