"""Entering, leaving and refusing a communication step, the same for every model; and the check of a start state.

A step is made in the fewest equal internal steps that are not above the model's own. It is refused, with the state as
it was, if time, step, inputs or state are no numbers of a machine, or if state or outputs come out so.
"""

import math

from rtcvt.kernel import FAILED, OK, kernel

HUGE = 1e12  # beyond this [SI], as for Inf and NaN, a number is no state or input
MOST_STEPS = 1e6  # internal steps in one communication step


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
    if not (h > 0.0 and h < MOST_STEPS * longest and abs(t) < HUGE):
        return 0
    for i in range(n):
        saved[i] = x[i]
    return math.ceil(h / longest * (1.0 - 1e-9))


@kernel
def leave(good, n, x, saved, n_y, new, y):
    """Take over the `new` outputs, or go back to the `saved` state if it is not `good` or a number is not finite."""
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
def start_status(n, x, dx):
    """Whether a start state `x` and its rates `dx` are numbers."""
    for i in range(n):
        if not (abs(x[i]) < HUGE and abs(dx[i]) < HUGE):
            return FAILED
    return OK
