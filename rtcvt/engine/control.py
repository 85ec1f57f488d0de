"""Control of an engine with a continuously variable transmission as real-time kernels.

The driver demands a torque at the wheels, ``tau_drive``; with the final drive i_f and the ratio R that is ``t =
tau_drive/(i_f R)`` at the engine. The pedal is the one at which the engine's table gives t. Below the drag D, the table
is read for ``2 t - D``: from full drag at t = 0, without a step.

**Ratio.** For the power ``P = tau_drive w_s/i_f`` at the secondary speed w_s, the engine burns least at the speed
``w_line(P)``, which is found in its tables when the unit is built. The desired speed of the engine is w_des::

    R_des = clip(w_des/w_s, i_min, i_max),      R' = (R_des - R)/T_i
    w_des = clip(w_line(P), w_min, w_max)       economy
    w_des = clip(k w_line(P), k w_min, w_max)   sport, lower gears: k > 1
    R_des = i_const                             constant
    w_des = clip(M(w_s, tau_drive), w_min, w_max)    map, a table of the user

**Clamping.** The secondary force is that which the belt needs (the pulleys of a pushbelt are equal, so the smaller
force limits both), with a safety factor S, for the larger of the present torque tau and the torque that the engine can
give of the demand, on the radius r of the primary; alpha is half the wedge angle, given by its tangent::

    F = min(S max(|tau|, min(|t|, T(w, 1))) cos(alpha)/(2 mu r) + F_0 + F_s max(R - i, 0), F_max)

A belt shifts faster with more clamping: F_s brings the ratio down before the car stands still. In the other direction
the primary has to press harder than the secondary, which would keep the ratio.

**Launch.** The clutch before the variator follows the speed of the engine like a centrifugal clutch, open at w_0 and
closed at w_1. Its torque is part of tau, so the belt is clamped for the torque of a slipping clutch.
"""

import math

from rtcvt.engine.grid import cell, lookup, share
from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.model.places import entry
from rtcvt.table import TINY, Places, Row, Rows

STRATEGIES = ("constant", "economy", "sport", "map")  # the last one with a table only
CONSTANT, _, SPORT, MAP = range(len(STRATEGIES))


class P(Rows):
    """Parameters."""

    I_F = Row("control.i_f", "1", "ratio of the final drive", TINY)
    I_MIN = Row("control.i_min", "1", "least ratio, speed of the primary divided by that of the secondary", TINY)
    I_MAX = Row("control.i_max", "1", "greatest ratio", TINY, floor="control.i_min")
    I_CONST = Row("control.i_const", "1", "ratio of the strategy 'constant'", TINY, tunable=True)
    W_MIN = Row("control.w_min", "rad/s", "least speed of the engine", TINY, display="rpm", tunable=True)
    W_MAX = Row("control.w_max", "rad/s", "greatest speed of the engine", TINY, display="rpm", tunable=True)
    K_SPORT = Row("control.k_sport", "1", "factor on the speed of the engine of the strategy 'sport'", 1.0,
                  tunable=True)  # fmt: skip
    T_I = Row("control.T_i", "s", "time constant of the ratio", 1e-3, tunable=True)
    S = Row("control.S", "1", "safety factor of the clamping force", TINY, tunable=True)
    MU = Row("control.mu", "1", "coefficient of friction between belt and pulleys", TINY, tunable=True, usual=0.2)
    SLOPE = Row("control.tan_alpha", "1", "slope of the sheaves: tangent of half the wedge angle", 0.0, 1.0)
    F_0 = Row("control.F_0", "N", "clamping force without a torque", 0.0, tunable=True)
    F_S = Row("control.F_s", "N", "more of it for a ratio that is too small by 1", 0.0, tunable=True)
    F_MAX = Row("control.F_max", "N", "greatest clamping force", 0.0, tunable=True)
    W_0 = Row("control.w_0", "rad/s", "speed of the engine at which the clutch opens", TINY, display="rpm",
              tunable=True)  # fmt: skip
    W_1 = Row("control.w_1", "rad/s", "speed of the engine at which it is closed, above w_0", TINY, display="rpm",
              floor="control.w_0")  # fmt: skip
    STRATEGY = Row("control.strategy", "1", "strategy of the ratio", tunable=True, choices=STRATEGIES)


class U(Rows):
    """Inputs."""

    DRIVE = Row("control.tau_drive", "N.m", "torque that the driver asks for at the wheels", nominal=1e3)
    W_E = Row.speed("control.w_engine", "speed of the engine")
    W_S = Row.speed("control.w_secondary", "speed of the secondary")
    TAU = Row("control.tau", "N.m", "torque into the variator, as measured or estimated", nominal=100.0)
    R = Row("control.r", "m", "radius of the belt on the primary", 0.0, nominal=0.05)
    I = Row("control.i", "1", "ratio, as measured", nominal=1.0)  # noqa: E741


class X(Rows):
    """States."""

    R = Row("ratio.des", "1", "desired ratio", nominal=1.0)


class Y(Rows):
    """Outputs."""

    PEDAL = Row("engine.pedal", "1", "position of the accelerator pedal", 0.0, 1.0, 1.0)
    RATIO = Row("ratio.des", "1", "desired ratio", nominal=1.0)
    FORCE = Row("clamp.secondary.F", "N", "clamping force of the secondary", 0.0, nominal=1e4, display="kN")
    CLUTCH = Row("clutch.u", "1", "actuation of the launch clutch", 0.0, 1.0, 1.0)
    W_DES = Row.speed("control.w_des", "speed at which the engine is to turn")
    TAU_DES = Row("control.tau_des", "N.m", "torque that the engine is to give", nominal=100.0)


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    TORQUE = "table: torque of the engine over speed and pedal [N.m]"
    LINE = "table: speed of least fuel over power [rad/s], twice"
    MAP = "table of one's own: speed of the engine [rad/s] over that of the secondary and the torque asked for"


@kernel
def within(value, low, high):
    """`value` within its limits, the lower one if it is no number."""
    if not value > low:
        return low
    return high if value > high else value


@kernel
def wanted_speed(u, p, data):
    """w_des [rad/s]."""
    if int(p[P.STRATEGY]) == MAP:
        return within(lookup(data, entry(D.MAP, data), u[U.W_S], u[U.DRIVE]), p[P.W_MIN], p[P.W_MAX])
    k = p[P.K_SPORT] if int(p[P.STRATEGY]) == SPORT else 1.0
    power = u[U.DRIVE] * u[U.W_S] / p[P.I_F]
    return within(k * lookup(data, entry(D.LINE, data), power, 0.0), k * p[P.W_MIN], p[P.W_MAX])


@kernel
def wanted_ratio(u, p, data):
    """R_des."""
    if int(p[P.STRATEGY]) == CONSTANT:
        return within(p[P.I_CONST], p[P.I_MIN], p[P.I_MAX])
    w_des = wanted_speed(u, p, data)
    if u[U.W_S] * p[P.I_MAX] <= w_des:
        return p[P.I_MAX]
    return within(w_des / u[U.W_S], p[P.I_MIN], p[P.I_MAX])


@kernel
def pedal_for(tau, w, data, table):
    """Pedal at which the table of torque gives `tau` [N.m] at speed `w`, that of an end beyond."""
    n = entry(table, data)
    m = entry(table + 1, data)
    i = cell(data, table + 2, n, w)
    s = share(data, table + 2 + i, w)
    k = table + 2 + n + m + i * m
    tau_low = (1.0 - s) * data[k] + s * data[k + m]
    for j in range(m - 1):
        low = data[table + 2 + n + j]
        if tau <= tau_low:
            return low
        tau_high = (1.0 - s) * data[k + j + 1] + s * data[k + m + j + 1]
        if tau <= tau_high:
            return low + (data[table + 2 + n + j + 1] - low) * (tau - tau_low) / (tau_high - tau_low)
        tau_low = tau_high
    return 1.0


@kernel
def start(p, data, u, x):
    """Start at the ratio that is wanted."""
    if not (p[P.I_MAX] >= p[P.I_MIN] and p[P.W_1] > p[P.W_0]):
        return False
    x[X.R] = wanted_ratio(u, p, data)
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rate of the ratio."""
    dx[X.R] = (wanted_ratio(u, p, data) - x[X.R]) / p[P.T_I]


@kernel
def output(t, x, u, p, data, y, work):
    """Pedal, ratio, clamping force and actuation of the clutch."""
    t_engine = u[U.DRIVE] / (p[P.I_F] * x[X.R])
    drag = -lookup(data, entry(D.TORQUE, data), u[U.W_E], 0.0)
    y[Y.TAU_DES] = 2.0 * t_engine - drag if t_engine < drag else t_engine
    y[Y.PEDAL] = pedal_for(y[Y.TAU_DES], u[U.W_E], data, entry(D.TORQUE, data))
    y[Y.RATIO] = x[X.R]
    tau = abs(u[U.TAU])
    asked = within(abs(t_engine), 0.0, lookup(data, entry(D.TORQUE, data), u[U.W_E], 1.0))
    if asked > tau:
        tau = asked
    grip = 2.0 * p[P.MU] * u[U.R]  # torque per normal force
    needed = p[P.S] * tau / math.sqrt(1.0 + p[P.SLOPE] * p[P.SLOPE])
    y[Y.FORCE] = p[P.F_MAX]
    least = p[P.F_0]
    if x[X.R] > u[U.I]:
        least += p[P.F_S] * (x[X.R] - u[U.I])
    if least * grip + needed < p[P.F_MAX] * grip:
        y[Y.FORCE] = least + needed / grip
    y[Y.CLUTCH] = within((u[U.W_E] - p[P.W_0]) / (p[P.W_1] - p[P.W_0]), 0.0, 1.0)
    y[Y.W_DES] = wanted_speed(u, p, data)


@kernel
def advance(t, h, x, u, p, data, work):
    """One internal step in place, by the implicit Euler scheme."""
    x[X.R] += (wanted_ratio(u, p, data) - x[X.R]) * h / (p[P.T_I] + h)


framed(vars())
