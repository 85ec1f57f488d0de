"""KERS torque controller of a variator: Tebaldi and Zanasi 2022, section 6.2, Fig. 9.

Integral control of the tilt angle makes the torque ``tau_d`` at the port follow ``tau_des``::

    theta' = K_theta (D_tau - K_w D_omega),    D_tau = tau_des - tau_est,    D_omega = omega_t - omega_d

with ``omega_t`` the speed of the shaft outside the port's spring and ``omega_d`` that of the gear inside it. The
torque is estimated from the energy ``E = J(theta) omega_d^2 / 2`` of the rigid model and its dissipation
``A(theta) omega_d^2 < 0``::

    tau_est = E'/omega_d - A(theta) omega_d                                                                (23)

where ``E'`` is the response of ``s/(T s + 1)`` to ``E``. Its state is that response ``P`` itself [W]::

    P' = (dE/dt - P)/T,    dE/dt = J omega_d d(omega_d)/dt + dJ/dt omega_d^2 / 2

so that no large gains cancel: tilting does no work, and in the rigid model ``dE/dt`` does not depend on ``theta'``.

Additions for a real unit, all inactive in the range of the paper:

- *Standstill and reversal.* For ``|omega_d| > omega_0`` the division by ``omega_d`` and the sign of the loop gain,
  which is that of ``omega_d``, are the paper's; below, both are continued linearly through zero, so the loop rests at
  standstill and is mirrored in reverse.
- *Limits* of tilt and tilt rate as in `limits`, where anti-windup is explained.
- *Full store.* The speed ``omega_s = q(theta) omega_t`` of the storage gear stays below ``w_max``: the rate is
  bounded by

      theta' d|omega_s|/dtheta <= (w_max - |omega_s|)/T_l.

  It is computed with the speed outside the spring: with ``omega_d`` the bound would feed back on the oscillation of
  the spring, with the wrong sign.
- *Empty store.* Towards the lower end stop ``dJ/dtheta`` fades and the loop runs into the stop; the torque is then that
  of friction.

Whenever a limit overrides the law, an output of the unit is true; the law is active again as soon as the demand is
feasible.
"""

from rtcvt.control.limits import D_OMEGA, D_POWER, D_THETA, HIGH, LIMIT_TIME, LOW, RATE, TAU_EST, set_limits
from rtcvt.kernel import kernel

# after those of the limits
K_THETA = 4  # [rad/(s.N.m)]
K_W = 5  # [N.m.s/rad]
TAU_FILTER = 6  # T [s]
W_MAX = 7  # largest speed of the storage gear [rad/s]
OMEGA_0 = 8  # speed below which the law is continued linearly [rad/s]
KERS_SIZE = 9  # numbers of the controller


@kernel
def kers_law(law, omega, theta, power, omega_t, tau_des, damping, d_damping, q, dq, ddq, work, o):
    """Write ``theta'``, its gradient, its bounds and the torque estimate to ``work[o:]``.

    Parameters
    ----------
    law : array of float
        The controller's numbers.
    omega, theta, power : float
        Speed of the port's gear [rad/s], tilt [rad], filtered derivative of the energy [W].
    omega_t, tau_des : float
        Inputs: shaft speed [rad/s], demanded torque [N.m].
    damping, d_damping : float
        ``A(theta)`` [N.m.s/rad] and its derivative to theta.
    q, dq, ddq : float
        Ratio of the storage gear's speed to omega and its derivatives to theta.
    work, o : array of float, int
        Where to write, see `rtcvt.control.limits`.
    """
    w_0 = law[OMEGA_0]
    if abs(omega) > w_0:
        inverse = 1.0 / omega
        d_inverse = -inverse * inverse
        sign = 1.0 if omega > 0.0 else -1.0
        d_sign = 0.0
    else:
        inverse = omega / (w_0 * w_0)
        d_inverse = 1.0 / (w_0 * w_0)
        sign = omega / w_0
        d_sign = 1.0 / w_0
    tau_est = power * inverse - damping * omega
    error = tau_des - tau_est - law[K_W] * (omega_t - omega)
    gain = sign * law[K_THETA]
    work[o + RATE] = gain * error
    work[o + TAU_EST] = tau_est
    d_tau_omega = power * d_inverse - damping
    work[o + D_OMEGA] = gain * (law[K_W] - d_tau_omega) + d_sign * law[K_THETA] * error
    work[o + D_THETA] = gain * d_damping * omega
    work[o + D_POWER] = -gain * inverse
    set_limits(law, theta, work, o)
    side = 1.0 if q * omega_t > 0.0 else -1.0
    margin = law[W_MAX] - side * q * omega_t
    closing = side * dq * omega_t
    if closing != 0.0:
        scale = 1.0 / (law[LIMIT_TIME] * closing)
        bound = margin * scale
        if bound > work[o + LOW] and bound < work[o + HIGH]:
            at = o + (HIGH if closing > 0.0 else LOW)
            work[at + RATE] = bound
            work[at + D_THETA] = (-closing - margin * side * ddq * omega_t / closing) * scale
        elif (closing > 0.0 and bound <= work[o + LOW]) or (closing < 0.0 and bound >= work[o + HIGH]):
            near = o + (LOW if closing > 0.0 else HIGH)  # too fast: the largest rate of the actuator
            far = o + (HIGH if closing > 0.0 else LOW)
            for i in range(4):
                work[far + i] = work[near + i]
