"""Fixed-step integrators for ``x' = f(x)``, as stage kernels between which a model evaluates its own ``f``.

Both methods hold the inputs constant over a step, so the systems are autonomous.

**Explicit Runge-Kutta of order 4** (Kutta 1901), for problems that are not stiff::

    x_s = x + h a_s k_{s-1},    k_s = f(x_s),    x_new = x + h/6 (k_1 + 2 k_2 + 2 k_3 + k_4)

**RODAS3** (Sandu, Verwer, Blom, Spee, Carmichael and Potra 1997), linearly implicit, order 3, L-stable, stiffly
accurate, with the exact Jacobian ``A = df/dx`` at the start of the step and gamma = 1/2::

    (I/(h gamma) - A) k_s = f(x + sum_j a_sj k_j) + sum_j c_sj k_j / h,    x_new = x + sum_s m_s k_s

Its first two stages are evaluated at the start of the step, so a step costs three evaluations of ``f``, one
Jacobian and one factorisation. Being L-stable it damps whatever the step cannot resolve instead of exciting it.
"""

from rtcvt.kernel import kernel
from rtcvt.numerics.linalg import lu, lu_solve

RK4 = 0
ROSENBROCK = 1
STAGES = 4  # of either method


@kernel
def rk4_stage(stage, n, h, x, k, x_stage):
    """State at which stage 0 to 3 evaluates ``f``; ``k`` holds the derivatives of the earlier stages, row by row."""
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
def rosenbrock_side(stage, n, h, f, k, w, b):
    """Right-hand side of a stage, into ``w[b]``."""
    for i in range(n):
        c = 0.0
        if stage == 1:
            c = 4.0 * k[i]
        elif stage == 2:
            c = k[i] - k[n + i]
        elif stage == 3:
            c = k[i] - k[n + i] - 8.0 / 3.0 * k[2 * n + i]
        w[b + i] = f[i] + c / h


@kernel
def rosenbrock_new(n, x, k):
    """Advance `x` in place from the four stage increments."""
    for i in range(n):
        x[i] += 2.0 * k[i] + k[2 * n + i] + k[3 * n + i]


@kernel
def rosenbrock_integral(i, n, h, x, k):
    """Integral of state `i` over the step from `x`: what RODAS3 gives for a further state q with ``q' = x_i``.

    Where the system is linear and conserves energy, and inputs are constant, the work of these by such integrals is at
    least the change of the energy: an A-stable method makes none.
    """
    q_0 = 0.5 * h * (x[i] + k[i])
    q_1 = 0.5 * h * (x[i] + k[n + i]) + 2.0 * q_0
    q_2 = 0.5 * (h * (x[i] + 2.0 * k[i] + k[2 * n + i]) + q_0 - q_1)
    q_3 = 0.5 * (h * (x[i] + 2.0 * k[i] + k[2 * n + i] + k[3 * n + i]) + q_0 - q_1 - 8.0 / 3.0 * q_2)
    return 2.0 * q_0 + q_2 + q_3
