"""The stiff coupling of a flange whose speed is prescribed.

A gear or a pulley is an inertia: its input is a torque. A flange whose speed ``w`` is prescribed therefore turns it
through a stiff coupling, a spring ``c`` parallel to an equal spring with a damper ``d`` in series (standard linear
solid)::

    tau = tau_1 + tau_2,    tau_1' = c (w - omega),    tau_2' = c (w - omega) - (c/d) tau_2

``tau`` is the torque at the flange, counted into the unit, and the torque on the inertia. Power is balanced exactly::

    tau w = tau omega + d/dt (tau_1^2 + tau_2^2)/(2 c) + tau_2^2/d

Inputs are constant over a communication step ``h``, so ``w`` is a staircase. A damper alone parallel to the spring
would answer its jumps: where outputs are read, at the end of a step, the torque would have an error of ``zeta omega_c
h`` times the torque that accelerates the inertia. In series with a spring its torque has no jumps, and the error is
``(omega_c h)^2/12`` for each spring, 1 % in all. The compliance of the coupling costs ``(omega/omega_c)^2`` at a
frequency ``omega``. The compromise between the two is

    omega_c = 1/(4 h),    c = J omega_c^2,    d = sqrt(3/8) J omega_c,

40 Hz at 1 ms, where ``J`` is the least inertia at the flange in the rigid model; this ``d`` damps most, 21 % of
critical. Both are parameters. ``tau_1`` and ``tau_2`` are neighbours in the state vector.
"""

import math

from rtcvt.kernel import kernel

SOFTEST = 1e-6  # least stiffness and damping, as a share of their defaults
_RATE = 0.25  # omega_c h


def coupling(inertia: float, step: float) -> tuple[float, float]:
    """Stiffness [N.m/rad] and damping [N.m.s/rad] for an inertia [kg.m2] and a communication step [s]."""
    omega_c = _RATE / step
    return inertia * omega_c * omega_c, math.sqrt(3.0 / 8.0) * inertia * omega_c


@kernel
def coupling_torque(at, x):
    """tau [N.m] of the coupling whose two torques begin at ``x[at]``."""
    return x[at] + x[at + 1]


@kernel
def coupling_rates(w, omega, c, d, at, x, dx):
    """Rates of the torques ``tau_1`` and ``tau_2`` where the flange has the speed `w` and the inertia `omega`
    [rad/s]."""
    dx[at] = c * (w - omega)
    dx[at + 1] = dx[at] - c / d * x[at + 1]


@kernel
def spring_energy(c, tau):
    """Energy [J] that one of the springs stores at a torque [N.m]."""
    return 0.5 * tau * tau / c


@kernel
def coupling_energy(c, at, x):
    """Stored energy [J]."""
    return 0.5 * (x[at] * x[at] + x[at + 1] * x[at + 1]) / c


@kernel
def coupling_loss(d, at, x):
    """Lost power [W]."""
    return x[at + 1] * x[at + 1] / d


@kernel
def coupling_jacobian(n, speed, at, c, d, share, by_torque, jac):
    """Entries of a coupling in ``df/dx`` of `n` states.

    State `speed` moves the inertia by `share`, and a torque on it moves the rate of that state by `by_torque`.
    """
    for s in range(at, at + 2):
        jac[speed * n + s] += by_torque
        jac[s * n + speed] = -c * share
    jac[(at + 1) * n + at + 1] = -c / d
