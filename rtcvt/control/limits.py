"""Limits of an actuated angle theta, as bounds on its rate.

The rate is bounded by the actuator, ``|theta'| <= rate_max``, and by the distance to the end stops,

    (theta_min - theta)/T_l <= theta' <= (theta_max - theta)/T_l,

so the angle runs into a stop with time constant ``T_l`` and never through it. A controller whose only memory is
the angle itself cannot wind up: the angle stays within the stops and leaves them at once when the command turns.

A control law is far faster than its limits, and a fixed step that evaluates the clipped law point by point would
A step therefore uses the law without limits (`FREE`) and, if the mean rate over the step breaks a bound, is repeated
with the rate at that bound (`HELD`). `CLIPPED` is the limit of this for small steps.

The numbers of a controller, some of them parameters and some constants, are in one block that `gather` fills at the
start. A law with its gradient, the bounds with their gradients and the result are in `CONTROL_SIZE` entries of a work
array.
"""

from rtcvt.kernel import kernel
from rtcvt.model.places import entry

# in the work array: theta' [rad/s] and its gradient to the port's speed, the angle and the filtered power
RATE = 0
D_OMEGA = 1
D_THETA = 2
D_POWER = 3
# each bound with its gradient in the same order
LOW = 4
HIGH = 8
# 1 if a limit overrides the law; estimated torque [N.m]
LIMITED = 12
TAU_EST = 13
CONTROL_SIZE = 14

# every controller's numbers begin with
THETA_MIN = 0  # [rad]
THETA_MAX = 1  # [rad]
RATE_MAX = 2  # [rad/s]
LIMIT_TIME = 3  # T_l [s]

# ways to apply the limits
CLIPPED, FREE, HELD = range(3)


@kernel
def gather(at, n, p, data, block):
    """Write `n` numbers to `block`: each is a parameter, or a constant.

    ``data[at:]`` has a pair for each of them: its place in `p`, or -1 and the constant.
    """
    for i in range(n):
        place = entry(at + 2 * i, data)
        block[i] = data[at + 2 * i + 1] if place < 0 else p[place]


@kernel
def set_limits(law, theta, work, o):
    """Write both bounds that the controller's numbers `law` set at `theta` [rad]."""
    for i in range(LOW, LIMITED):
        work[o + i] = 0.0
    T_l = law[LIMIT_TIME]
    work[o + LOW] = -law[RATE_MAX]
    work[o + HIGH] = law[RATE_MAX]
    stop = (law[THETA_MIN] - theta) / T_l
    if stop > work[o + LOW]:
        work[o + LOW] = stop
        work[o + LOW + D_THETA] = -1.0 / T_l
    stop = (law[THETA_MAX] - theta) / T_l
    if stop < work[o + HIGH]:
        work[o + HIGH] = stop
        work[o + HIGH + D_THETA] = -1.0 / T_l


@kernel
def apply_limits(mode, held, work, o):
    """Turn law and bounds into the rate and gradient that hold, by `mode`; `held` [rad/s] is the rate for `HELD`."""
    work[o + LIMITED] = 0.0
    if mode == HELD:
        work[o + RATE] = held
        for i in range(1, 4):
            work[o + i] = 0.0
        work[o + LIMITED] = 1.0
    elif mode == CLIPPED:
        bound = LOW if work[o + RATE] < work[o + LOW] else HIGH
        if work[o + RATE] < work[o + LOW] or work[o + RATE] > work[o + HIGH]:
            for i in range(4):
                work[o + i] = work[o + bound + i]
            work[o + LIMITED] = 1.0
