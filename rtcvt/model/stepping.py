"""Checks at the start and the end of a communication step, refinement of internal steps, and the check of a start.

A step is made in the fewest equal internal steps that are not longer than the model's own. It is refused, and the state
is restored, if time, step, inputs or state are not finite, or if the new state or the outputs are not.

Methods that estimate their error refine an internal step: if its error is above a bound, the rest of the step is made
in quarters, then in sixteenths. If sixteenths are too coarse as well, they are accepted, and an output reports it.
"""

import math

from rtcvt.kernel import FAILED, OK, kernel
from rtcvt.table import Places

HUGE = 1e12  # beyond this [SI], as for Inf and NaN, a number is no state or input
MAX_INTERNAL_STEPS = 1e6  # internal steps in one communication step
REFINEMENT = 0.25  # a part of an internal step as a share of the next larger one
MIN_PART = 1.0 / 16.0  # of an internal step
MAX_TRIALS = 18  # in an internal step: the whole, a quarter, all of the least parts


class Block(Places):
    """Scratch of an internal step with n states: vectors of n numbers each, then two matrices."""

    START = "state before the step"
    STAGE = "state of a stage"
    RATES = "right-hand side f"
    STAGES = "the first of the four stages of `rtcvt.numerics.integrators`"
    STAGE_2 = "the second"
    STAGE_3 = "the third"
    STAGE_4 = "the fourth"
    SOLUTION = "of a linear system"
    PIVOTS = "of the factored matrix"
    JACOBIAN = "n x n; the factored matrix follows"


@kernel
def enter(t, h, longest, n_u, u, n, x, saved):
    """Keep the state `x` in `saved`; returns the number of internal steps [-], 0 if the step is refused.

    `longest` is the largest internal step [s], `n_u` and `n` the numbers of inputs and states.
    """
    for i in range(n_u):
        if not abs(u[i]) < HUGE:
            return 0
    for i in range(n):
        if not abs(x[i]) < HUGE:
            return 0
    if not (h > 0.0 and h < MAX_INTERNAL_STEPS * longest and abs(t) < HUGE):
        return 0
    for i in range(n):
        saved[i] = x[i]
    return math.ceil(h / longest * (1.0 - 1e-9))


@kernel
def leave(good, n, x, saved, n_y, new, y):
    """Copy the `new` outputs to `y`; if the step is not `good` or a number is not finite, restore the `saved` state."""
    for i in range(n):
        if not abs(x[i]) < HUGE:
            good = False
    for i in range(n_y):
        if not abs(new[i]) < HUGE * HUGE:
            good = False
    if not good:
        for i in range(n):
            x[i] = saved[i]
        return FAILED
    for i in range(n_y):
        y[i] = new[i]
    return OK


@kernel
def rough(bound, n, error, size, x):
    """Whether an `error` of a step from `x` is above its `bound`, a share of the state's typical `size` and `x`."""
    above = False
    for i in range(n):
        if abs(error[i]) > bound * (size[i] + abs(x[i])):
            above = True
    return above


@kernel
def start_status(n, x, dx):
    """Whether a start state `x` and its rates `dx` are numbers."""
    for i in range(n):
        if not (abs(x[i]) < HUGE and abs(dx[i]) < HUGE):
            return FAILED
    return OK
