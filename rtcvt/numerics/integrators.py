"""Fixed-step integrators for ``x' = f(x)``, as stage kernels between which a model evaluates its own ``f``.

Both methods hold the inputs constant over a step, so the systems are autonomous.

**Explicit Runge-Kutta of order 4** (Kutta 1901), for problems that are not stiff::

    x_s = x + h a_s k_{s-1},    k_s = f(x_s),    x_new = x + h/6 (k_1 + 2 k_2 + 2 k_3 + k_4)

**RODAS3** (Sandu, Verwer, Blom, Spee, Carmichael and Potra 1997), linearly implicit, order 3, L-stable, stiffly
accurate, with the exact Jacobian ``A = df/dx`` at the start of the step and gamma = 1/2::

    (I/(h gamma) - A) k_s = f(x + sum_j a_sj k_j) + sum_j c_sj k_j / h,    x_new = x + sum_s m_s k_s

Its first two stages are evaluated at the start of the step, so a step costs three evaluations of ``f``, one
Jacobian and one factorisation. Being L-stable it damps modes that the step cannot resolve.

**ROS2** (Verwer, Spee, Blom and Hundsdorfer 1999), of order 2 with any A, L-stable if A is df/dx, with
``gamma = 1 - 1/sqrt(2)`` and the embedded method ``x + h k_1`` of order 1::

    (I - gamma h A) k_1 = f(x),    (I - gamma h A) k_2 = f(x + h k_1) - 2 k_1,    x_new = x + 3/2 h k_1 + 1/2 h k_2

**ROS3** for ``M z' = F(z)`` with ``M = diag(1, 0)``, of order 3, and 2 where some of df/dx is left out; its conditions
are in `rtcvt.network`. For increments k, with F at the start for stage 0, at ``z + alpha k_0`` for 1 and 2::

    (M - gamma h A) k_s = gamma h F_s + M sum_j c_sj k_j,    z_new = z + sum_s m_s k_s
"""

import math

from rtcvt.kernel import kernel
from rtcvt.numerics.linalg import lu, lu_solve

RK4 = 0
ROSENBROCK = 1
STAGES = 4  # of either method

ROS2_GAMMA = 1.0 - math.sqrt(0.5)

ROS3_GAMMA = 0.43586652150845917  # root of gamma^3 - 3 gamma^2 + 3/2 gamma = 1/6
ROS3_STAGES = 3
ROS3_AT = 1.529520240186027  # alpha: where the second and third stage are, 2/(3 gamma)
ROS3_C_21, ROS3_C_31, ROS3_C_32 = 0.2779955322346778, -0.9402224641525682, -0.30759956452537734
ROS3_M_1, ROS3_M_2, ROS3_M_3 = 2.1914205404185614, 0.529289729790719, 1.7207102702092802
ROS3_E_1, ROS3_E_2 = 0.13582510915664, 0.34252465388476  # the error is E_1 k_0 + E_2 k_1 + M_3 k_2: without it, order 2


@kernel
def rk4_stage(stage, n, h, x, k, x_stage):
    """State at which stage 0 to 3 evaluates ``f``; the rows of ``k`` are the derivatives of the earlier stages."""
    a = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
    last = (stage - 1) * n if stage > 0 else 0
    for i in range(n):
        x_stage[i] = x[i] + h * a * k[last + i]


@kernel
def rk4_new(n, h, x, k):
    """Advance `x` in place from the four stage derivatives."""
    for i in range(n):
        x[i] += h / 6.0 * (k[i] + 2.0 * k[n + i] + 2.0 * k[2 * n + i] + k[3 * n + i])


@kernel
def rosenbrock_matrix(n, h, jac, w, a, pivot):
    """Factor ``2 I/h - jac`` (row-major, 1/s) into ``w[a]``."""
    for i in range(n):
        for j in range(n):
            w[a + i * n + j] = -jac[i * n + j]
        w[a + i * n + i] += 2.0 / h
    lu(n, w, a, pivot)


@kernel
def rosenbrock_stage(stage, n, x, k, x_stage):
    """State at which stage 2 or 3 evaluates ``f``; stages 0 and 1 do so at `x`."""
    for i in range(n):
        x_stage[i] = x[i] + 2.0 * k[i]
        if stage == 3:
            x_stage[i] += k[2 * n + i]


@kernel
def rosenbrock_solve(stage, n, h, f, k, w, a, pivot, b):
    """Increment of one stage from ``f`` at its state; ``w[b : b + n]`` is scratch."""
    rosenbrock_side(stage, n, h, f, k, w, b)
    lu_solve(n, w, a, pivot, b)
    for i in range(n):
        k[stage * n + i] = w[b + i]


@kernel
def rosenbrock_earlier(stage, k_0, k_1, k_2):
    """``sum_j c_sj k_j`` of a stage: the contribution of the increments of earlier stages."""
    if stage == 1:
        return 4.0 * k_0
    if stage == 2:
        return k_0 - k_1
    if stage == 3:
        return k_0 - k_1 - 8.0 / 3.0 * k_2
    return 0.0


@kernel
def rosenbrock_side(stage, n, h, f, k, w, b):
    """Right-hand side of a stage, into ``w[b]``."""
    for i in range(n):
        w[b + i] = f[i] + rosenbrock_earlier(stage, k[i], k[n + i], k[2 * n + i]) / h


@kernel
def rosenbrock_new(n, x, k):
    """Advance `x` in place from the four stage increments."""
    for i in range(n):
        x[i] += 2.0 * k[i] + k[2 * n + i] + k[3 * n + i]


@kernel
def rosenbrock_integral(i, n, h, x, k):
    """Integral of state `i` over the step from `x`: the result of RODAS3 for a further state q with ``q' = x_i``.

    Where the system is linear and conserves energy, and inputs are constant, the work of the inputs by such integrals
    is at least the change of the energy: an A-stable method creates no energy.
    """
    q_0 = 0.5 * h * (x[i] + k[i])
    q_1 = 0.5 * h * (x[i] + k[n + i]) + 2.0 * q_0
    q_2 = 0.5 * (h * (x[i] + 2.0 * k[i] + k[2 * n + i]) + q_0 - q_1)
    q_3 = 0.5 * (h * (x[i] + 2.0 * k[i] + k[2 * n + i] + k[3 * n + i]) + q_0 - q_1 - 8.0 / 3.0 * q_2)
    return 2.0 * q_0 + q_2 + q_3


@kernel
def implicit_matrix(n, h, w, a, pivot):
    """Factor ``I - h A`` in ``w[a]``, in place of the row-major A; `h` includes the factor gamma."""
    for k in range(a, a + n * n):
        w[k] *= -h
    for k in range(n):
        w[a + k * n + k] += 1.0
    lu(n, w, a, pivot)


@kernel
def ros2_stage(n, h, x, k_1, x_1):
    """State `x_1` at which the second stage evaluates ``f``."""
    for i in range(n):
        x_1[i] = x[i] + h * k_1[i]


@kernel
def ros2_side(n, k_1, k_2):
    """Right-hand side of the second stage from ``f`` in `k_2`, in place."""
    for i in range(n):
        k_2[i] -= 2.0 * k_1[i]


@kernel
def ros2_new(n, h, x, k_1, k_2, x_1):
    """State `x_1` at the end of the step."""
    for i in range(n):
        x_1[i] = x[i] + 1.5 * h * k_1[i] + 0.5 * h * k_2[i]


@kernel
def ros2_error(n, h, k_1, k_2):
    """Difference of the state from that of the embedded method, into `k_1`."""
    for i in range(n):
        k_1[i] = 0.5 * h * (k_1[i] + k_2[i])


@kernel
def ros3_stage(n, x, k, x_stage):
    """State at which stages 1 and 2 evaluate ``F``; stage 0 does so at `x`. `k` has the stages row by row."""
    for i in range(n):
        x_stage[i] = x[i] + ROS3_AT * k[i]


@kernel
def ros3_side(stage, n, n_d, h, f, k):
    """Right-hand side of a stage into its row of `k`; from `n_d` on `f` is the residual of a constraint."""
    at = stage * n
    step = ROS3_GAMMA * h
    for i in range(n_d):
        side = step * f[i]
        if stage == 1:
            side += ROS3_C_21 * k[i]
        elif stage == 2:
            side = side + ROS3_C_31 * k[i] + ROS3_C_32 * k[n + i]
        k[at + i] = side
    for i in range(n_d, n):
        k[at + i] = -f[i]


@kernel
def ros3_new(n, x, k, x_new):
    """State `x_new` at the end of the step."""
    for i in range(n):
        x_new[i] = x[i] + ROS3_M_1 * k[i] + ROS3_M_2 * k[n + i] + ROS3_M_3 * k[2 * n + i]


@kernel
def ros3_error(n_d, n, k):
    """Difference of the first `n_d` states from those of the method without the third stage, into ``k[:n_d]``."""
    for i in range(n_d):
        k[i] = ROS3_E_1 * k[i] + ROS3_E_2 * k[n + i] + ROS3_M_3 * k[2 * n + i]
