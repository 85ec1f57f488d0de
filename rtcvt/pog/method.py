"""One step of the unit's method (`rtcvt.numerics.integrators`) in one mode of the limits, as real-time kernels."""

from rtcvt.kernel import kernel
from rtcvt.model.stepping import HUGE, Block
from rtcvt.numerics.integrators import (
    ROSENBROCK,
    STAGES,
    rk4_new,
    rk4_stage,
    rosenbrock_matrix,
    rosenbrock_new,
    rosenbrock_side,
    rosenbrock_stage,
)
from rtcvt.numerics.linalg import lu_solve, ring_solve
from rtcvt.pog import places
from rtcvt.pog.equations import linearise, right_hand_side, write_jacobian
from rtcvt.pog.layout import D, ElementW
from rtcvt.pog.lossy_step import factor_without_twists, heating, is_factored, solve_with_twists
from rtcvt.pog.traction import with_derivatives

LARGEST_ANGLE = 1e5  # [rad], of a sine (`rtcvt.numerics.elementary`)


@kernel
def note_sides(data, work):
    """Note the sides at the start of a step."""
    for e in range(places.elements(data)):
        at = places.element_work(e, data)
        work[at + ElementW.START_SIDE] = work[at + ElementW.SIDE]


@kernel
def note_touches(data, work):
    """Note where teeth touch or part at a stage, so that they do not end on the side where they started."""
    for e in range(places.first_play(data), places.elements(data)):
        at = places.element_work(e, data)
        if work[at + ElementW.SIDE] != work[at + ElementW.START_SIDE]:
            work[at + ElementW.START_SIDE] = HUGE


@kernel
def advance(mode, held, h, x, u, p, data, work):
    """One step of the unit's method in place. Write the start state into `Block.START` first.

    A linearly implicit step that leads to an angle without a sine ends there, with an angle that is no state.
    """
    n = places.states(data)
    x_stage = work[places.step_block(Block.STAGE, data) : places.step_block(Block.RATES, data)]
    f = work[places.step_block(Block.RATES, data) : places.step_block(Block.STAGES, data)]
    k = work[places.step_block(Block.STAGES, data) : places.step_block(Block.SOLUTION, data)]
    b = places.step_block(Block.SOLUTION, data)
    jac = work[places.step_block(Block.JACOBIAN, data) : places.step_matrix(data)]
    if data[D.METHOD] == ROSENBROCK:
        if places.losses(data) > 0:
            with_derivatives(x, p, data, work)
            right_hand_side(mode, held, x, u, p, data, f, work)
            heating(x, p, data, work)
            if not is_factored(h, x, p, data, work):
                write_jacobian(mode, x, p, data, f, jac, work)
                factor_without_twists(h, jac, data, work)
        else:
            linearise(mode, held, x, u, p, data, f, jac, work)
            rosenbrock_matrix(n, h, jac, work, places.step_matrix(data), places.step_pivots(data))
        note_sides(data, work)
        for s in range(STAGES):
            if s >= 2:  # the first two stages are at x
                rosenbrock_stage(s, n, x, k, x_stage)
                if not abs(places.theta_of(x_stage, data)) < LARGEST_ANGLE:
                    x[places.x_theta(data)] = HUGE * HUGE
                    return
                right_hand_side(mode, held, x_stage, u, p, data, f, work)
                note_touches(data, work)
            rosenbrock_side(s, n, h, f, k, work, b)
            if places.losses(data) > 0:
                solve_with_twists(h, jac, data, work, b)
            elif places.tractions(data) > 0:  # by columns, whose entries do not wait for each other
                ring_solve(1, n, work, places.step_matrix(data), places.step_pivots(data), b)
            else:
                lu_solve(n, work, places.step_matrix(data), places.step_pivots(data), b)
            for i in range(n):
                k[s * n + i] = work[b + i]
        rosenbrock_new(n, x, k)
    else:
        for s in range(STAGES):
            rk4_stage(s, n, h, x, k, x_stage)
            right_hand_side(mode, held, x_stage, u, p, data, f, work)
            for i in range(n):
                k[s * n + i] = f[i]
        rk4_new(n, h, x, k)
