"""Position actuator: theta follows its set point with a first-order lag, within the limits of `limits`.

theta' = (theta_des - theta)/T_a
"""

from rtcvt.control.limits import D_OMEGA, D_POWER, D_THETA, RATE, TAU_EST, set_limits
from rtcvt.kernel import kernel

TIME_CONSTANT = 4  # T_a [s], after the numbers of the limits


@kernel
def position_law(law, theta, theta_des, work, o):
    """Write ``theta'``, its gradient and its bounds to ``work[o:]``."""
    work[o + RATE] = (theta_des - theta) / law[TIME_CONSTANT]
    work[o + D_OMEGA] = 0.0
    work[o + D_THETA] = -1.0 / law[TIME_CONSTANT]
    work[o + D_POWER] = 0.0
    work[o + TAU_EST] = 0.0
    set_limits(law, theta, work, o)
