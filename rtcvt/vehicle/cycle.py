"""Driving cycle as real-time kernels.

A table of speeds over time, linear in between; the distance is its exact integral.
"""

from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.numerics.elementary import clip
from rtcvt.table import Places, Row, Rows

MAX_BISECTIONS = 30  # of a table with at most 1e9 points


class X(Rows):
    """States."""

    S = Row("cycle.s", "m", "distance", nominal=1e3)


class Y(Rows):
    """Outputs."""

    V = Row("cycle.v", "m/s", "speed", 0.0, nominal=30.0, display="km/h")
    S = Row("cycle.s", "m", "distance", 0.0, nominal=1e3, display="km")


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    POINTS = "points of the cycle"
    TIMES = "table: their times [s]"
    SPEEDS = "table: their speeds [m/s]"
    WAYS = "table: the way to each [m]"


@kernel
def interval(t, data):
    """Which interval of the cycle's table a time is in, the first or last one beyond it.

    That where it would be among equal ones is looked at before.
    """
    times = int(data[D.TIMES])
    low = 0
    high = int(data[D.POINTS]) - 1
    share = (t - data[times]) / (data[times + high] - data[times])
    if share >= 0.0 and share < 1.0:
        guess = int(share * high)
        if guess < high and data[times + guess] <= t and t < data[times + guess + 1]:
            return guess
    for _ in range(MAX_BISECTIONS):
        if high - low < 2:
            break
        middle = int(0.5 * (low + high))
        if data[times + middle] <= t:
            low = middle
        else:
            high = middle
    return low


@kernel
def cycle_speed(t, data):
    """v_des [m/s] at time t [s]."""
    k = interval(t, data)
    at = int(data[D.TIMES]) + k
    v = int(data[D.SPEEDS]) + k
    return data[v] + clip((t - data[at]) / (data[at + 1] - data[at]), 0.0, 1.0) * (data[v + 1] - data[v])


@kernel
def cycle_way(t, data):
    """Integral of v_des [m] from time 0 to t [s]; beyond the table the speeds of its ends are kept."""
    k = interval(t, data)
    at = int(data[D.TIMES]) + k
    v = cycle_speed(t, data)
    within = clip(t, data[at], data[at + 1])
    way = data[int(data[D.WAYS]) + k] + 0.5 * (within - data[at]) * (data[int(data[D.SPEEDS]) + k] + v)
    return way + (t - within) * v


@kernel
def start(p, data, u, x):
    """Start at distance zero."""
    x[X.S] = 0.0
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rate of the distance."""
    dx[X.S] = cycle_speed(t, data)


@kernel
def df_dx(x, u, p, data, jac):
    """No entries."""


@kernel
def output(t, x, u, p, data, y, work):
    """Speed and distance."""
    y[Y.V] = cycle_speed(t, data)
    y[Y.S] = x[X.S]


@kernel
def advance(t, h, x, u, p, data, work):
    """One internal step in place, exact."""
    x[X.S] += cycle_way(t + h, data) - cycle_way(t, data)


framed(vars())
