"""A step of a gear system with traction that makes no energy at any length, as real-time kernels.

Between sticking and macro-slip, and where rolling speeds are near zero, a traction changes by far more within a step
than its derivatives at the start of the step tell: a linearly implicit step then makes energy, and the next ones more.
Here the implicit Euler method gets the tractions as dampers, with secants of the start (0) in place of tangents::

    F = (F_0/v_0) v,   M = (M_0/sigma_0) sigma,   R and S at the start

Their power at the end of the step, ``(F_0/v_0) v^2 + (M_0/sigma_0) sigma^2``, is never negative, whatever theta does:
this moves by the controller's law, linearised, within its limits. The step is of order 1.
"""

from rtcvt.control.limits import FREE, HELD, HIGH, LOW, RATE
from rtcvt.kernel import kernel
from rtcvt.model.stepping import Block
from rtcvt.numerics.integrators import rosenbrock_matrix
from rtcvt.numerics.linalg import lu_solve
from rtcvt.pog import places
from rtcvt.pog.controller import control_jacobian
from rtcvt.pog.elastic import elastic_jacobian
from rtcvt.pog.equations import right_hand_side
from rtcvt.pog.layout import D
from rtcvt.pog.port import spring_jacobian
from rtcvt.pog.traction import traction_damping, with_derivatives


@kernel
def secant_step(mode, held, h, x, u, p, data, work):
    """One such step in place, in one mode of the limits of theta (`rtcvt.control.limits`)."""
    n = places.states(data)
    theta = places.x_theta(data)
    f = work[places.step_block(Block.RATES, data) : places.step_block(Block.STAGES, data)]
    jac = work[places.step_block(Block.JACOBIAN, data) : places.step_matrix(data)]
    change = places.step_block(Block.SOLUTION, data)
    with_derivatives(x, p, data, work)
    right_hand_side(mode, held, x, u, p, data, f, work)
    for i in range(n * n):
        jac[i] = 0.0
    elastic_jacobian(x, p, data, jac, work)
    traction_damping(x, p, data, jac, work)
    spring_jacobian(x, p, data, jac, work)
    if data[D.MOVING] != 0.0:
        for i in range(n):
            jac[i * n + theta] = 0.0
    control_jacobian(x, data, f, jac, work)
    rosenbrock_matrix(n, 2.0 * h, jac, work, places.step_matrix(data), places.step_pivots(data))
    for i in range(n):
        work[change + i] = f[i]
    lu_solve(n, work, places.step_matrix(data), places.step_pivots(data), change)
    for i in range(n):
        x[i] += work[change + i]


@kernel
def limited_secant_step(h, x, u, p, data, work):
    """A secant step from `x`, which is in `Block.START`; 1 if a limit held the rate of theta."""
    start = places.step_block(Block.START, data)
    theta = places.theta_of(x, data)
    secant_step(FREE, 0.0, h, x, u, p, data, work)
    o = places.controller(data)
    low = work[o + LOW]
    high = work[o + HIGH]
    wanted = work[o + RATE]
    rate = (places.theta_of(x, data) - theta) / h
    if rate >= low and rate <= high:
        return 0
    for i in range(places.states(data)):
        x[i] = work[start + i]
    held = low if rate < low or not (rate > high or wanted > high) else high
    secant_step(HELD, held, h, x, u, p, data, work)
    return 1
