"""Internal steps of a gear system, as real-time kernels.

A step of a unit with a moving variable first uses the controller's law without limits, and is repeated with the rate at
a bound if it exceeds this (`rtcvt.control.limits`); if its estimated error is too large it is made in parts. Where the
torque controller of a KERS is far from its demand, a linearly implicit step can end outside the range of its
linearisation: the energy that it has created is removed.
"""

import math

from rtcvt.control.limits import FREE, HELD, HIGH, LOW, RATE
from rtcvt.kernel import kernel
from rtcvt.model.coupling import spring_energy
from rtcvt.model.stepping import HUGE, MAX_TRIALS, MIN_PART, REFINEMENT, Block, rough
from rtcvt.numerics.integrators import ROSENBROCK, rosenbrock_integral
from rtcvt.pog import places
from rtcvt.pog.controller import control
from rtcvt.pog.element_steps import element_step
from rtcvt.pog.layout import Control, D, Reduced
from rtcvt.pog.method import advance
from rtcvt.pog.reduction import kinematics
from rtcvt.pog.secant_step import limited_secant_step
from rtcvt.pog.speeds import gear_speed

STEP_TOO_COARSE = 2  # in addition to 1 of an active limit
ERROR_RTOL = 2e-4  # bound of the estimate of the linearly implicit method, which is that of its order 2
LARGEST_ERROR = 0.02  # the same of a step that is not repeated with secants of the traction
MAX_ENERGY_SHARE = 0.1  # of the stored energy: largest created energy that is removed from a step


@kernel
def stored_energy(x, p, data, work):
    """Energy [J] of gears, contacts and springs at the ports. Call `kinematics` first."""
    E = 0.0
    if data[D.FULL] != 0.0:
        for i in range(places.gears(data)):
            E += 0.5 * places.inertia(i, p, data) * x[i] * x[i]
        for k in range(places.contacts(data)):
            if places.x_force(k, data) >= 0:
                E += spring_energy(places.contact_stiffness(k, p, data), x[places.x_force(k, data)])
    else:
        n_1 = places.independents(data)
        L1 = places.reduced(Reduced.L1, data)
        for r in range(n_1):
            for c in range(n_1):
                E += 0.5 * x[r] * work[L1 + r * n_1 + c] * x[c]
    for s in range(places.springs(data)):
        E += spring_energy(places.spring_stiffness(s, p, data), x[places.x_spring(s, data)])
    return E


@kernel
def power_of_torques(x, u, data, work):
    """Power [W] into the unit at the ports with a torque as input. Call `kinematics` first."""
    P = 0.0
    for k in range(places.ports(data)):
        if places.port_springs(k, data) == 0:
            P += u[k] * gear_speed(0, places.port_gear(k, data), x, data, work)
    return P


@kernel
def made_energy(h, E, P, x, u, p, data, work):
    """Energy [J] created by the linearly implicit step that ended at `x`, or 0.

    At its start there were the energy `E` [J] and `power_of_torques` `P`; losses are taken as zero.
    """
    n = places.states(data)
    before = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    k = work[places.step_block(Block.STAGES, data) : places.step_block(Block.SOLUTION, data)]
    kinematics(2, places.theta_of(x, data), p, data, work)
    W = 0.5 * h * (P + power_of_torques(x, u, data, work))
    through = abs(W)
    for s in range(places.springs(data)):
        part = u[places.spring_port(s, data)] * rosenbrock_integral(places.x_spring(s, data), n, h, before, k)
        W += part
        through += abs(part)
    made = stored_energy(x, p, data, work) - E - W
    return 0.0 if made <= 1e-12 * E + 1e-7 * through else made


@kernel
def keeps_balance(h, E, P, x, u, p, data, work):
    """Remove the energy created by the step from speeds and forces in `x`, see `made_energy`; False if it is too
    large."""
    made = made_energy(h, E, P, x, u, p, data, work)
    if made == 0.0:
        return True
    share = made / stored_energy(x, p, data, work)
    if not share < MAX_ENERGY_SHARE:
        return False
    scale = math.sqrt(1.0 - share)
    for i in range(places.number(D.X_SPRING, data)):
        x[i] *= scale
    for s in range(places.springs(data)):
        x[places.x_spring(s, data)] *= scale
    return True


@kernel
def restore(x, data, work):
    """Restore `x` to the start of the step."""
    for i in range(places.states(data)):
        x[i] = work[places.step_block(Block.START, data) + i]


@kernel
def moving_step(h, x, u, p, data, work):
    """A step of a unit that moves, from `Block.START`; 1 if a limit held the rate, see `rtcvt.control.limits`."""
    o = places.controller(data)
    theta = places.theta_of(x, data)
    kinematics(2, theta, p, data, work)
    control(FREE, 0.0, x, u, data, work)
    wanted = work[o + RATE]
    low = work[o + LOW]
    high = work[o + HIGH]
    guarded = places.number(D.CONTROL, data) == Control.KERS and data[D.METHOD] == ROSENBROCK
    E = stored_energy(x, p, data, work) if guarded else 0.0
    P = power_of_torques(x, u, data, work) if guarded else 0.0
    advance(FREE, 0.0, h, x, u, p, data, work)
    rate = (places.theta_of(x, data) - theta) / h
    if rate >= low and rate <= high and (not guarded or keeps_balance(h, E, P, x, u, p, data, work)):
        return 0
    if not abs(rate) < HUGE or (rate >= low and rate <= high):  # too far from equilibrium for a linearly implicit step
        rate = wanted
    if (wanted < low and rate > high) or (wanted > high and rate < low):
        # linearised at a rate that cannot be, the step went the wrong way if the law insists after a step at its bound
        held = low if wanted < low else high
        restore(x, data, work)
        advance(HELD, held, h, x, u, p, data, work)
        kinematics(2, places.theta_of(x, data), p, data, work)
        control(FREE, 0.0, x, u, data, work)
        insists = work[o + RATE] < work[o + LOW] if wanted < low else work[o + RATE] > work[o + HIGH]
        work[o + RATE] = held
        if insists:
            return 1
    restore(x, data, work)
    held = rate
    if rate < low:
        held = low
    elif rate > high:
        held = high
    advance(HELD, held, h, x, u, p, data, work)
    return 1


@kernel
def must_be_secant(h, x, u, p, data, work):
    """Whether a step with traction that ended at `x` has a very large error or made energy."""
    n = places.states(data)
    before = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    error = work[places.step_block(Block.STAGE_4, data) : places.step_block(Block.SOLUTION, data)]
    sizes = places.number(D.SIZES, data)
    if rough(LARGEST_ERROR, n, error, data[sizes : sizes + n], before):
        return True
    E = stored_energy(before, p, data, work)
    return made_energy(h, E, power_of_torques(before, u, data, work), x, u, p, data, work) > 0.0


@kernel
def substep(h, x, u, p, data, work):
    """Advance by one internal step; returns 1 if a limit is active, plus `STEP_TOO_COARSE` if it is too coarse.

    The last stage of the linearly implicit method is its error: without it, it is of order 2.
    """
    n = places.states(data)
    before = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    error = work[places.step_block(Block.STAGE_4, data) : places.step_block(Block.SOLUTION, data)]
    sizes = places.number(D.SIZES, data)
    for i in range(n):
        before[i] = x[i]
    if places.elements(data) > 0:
        return element_step(h, x, u, p, data, work)
    if data[D.MOVING] == 0.0:
        advance(FREE, 0.0, h, x, u, p, data, work)
        return 0
    limited = 0
    coarse = 0
    part = 1.0
    left = 1.0
    for _ in range(MAX_TRIALS):
        limited = moving_step(h * part, x, u, p, data, work)
        again = rough(ERROR_RTOL, n, error, data[sizes : sizes + n], before)
        again = again and data[D.METHOD] == ROSENBROCK
        if again and part > MIN_PART:
            part *= REFINEMENT
            restore(x, data, work)
        else:
            if again:
                coarse = STEP_TOO_COARSE
                if places.tractions(data) > 0 and must_be_secant(h * part, x, u, p, data, work):
                    restore(x, data, work)
                    limited = limited_secant_step(h * part, x, u, p, data, work)
            left -= part
            if left == 0.0:
                break
            for i in range(n):
                before[i] = x[i]
    return limited + coarse
