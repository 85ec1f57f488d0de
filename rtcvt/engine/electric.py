"""Electric drive as real-time kernels: machine with its inverter, control of torque and brakes, battery.

The driver demands torques at the wheels, ``t = (tau_drive - tau_brake)/i_f`` at the machine. The machine gives them
within its limits, with the delay of its control::

    J w' = tau + tau_shaft,    tau' = (tau_des - tau)/T_q,    tau_des = clip(t, -f lim(w), lim(w))
    lim(w) = g min(tau_max, P_max/|w|)

g fades to zero over the last 5 % below w_max. f rises from standstill to 1 at w_r, so that nothing brakes beyond
standstill; friction brakes give the rest, ``tau_brake - i_f max(-tau, 0)``, not below zero. A full battery is not
charged, an empty one gives nothing to the shaft. The loss L is a table over speed and torque, the same in all
quadrants, and with it the power out of the battery, a voltage behind a resistance::

    P = tau w + L(|w|, |tau|) + P_aux = U I,    U = U_0 - R I,    I = (U_0 - sqrt(U_0^2 - 4 R P))/(2 R)
    U_0 = U_e + (U_f - U_e) s,    s' = -I/C,    E_b = C (U_e s + (U_f - U_e) s^2/2)

s is the state of charge, C the charge of a full battery. U_0 is that of an empty or full one beyond 0 and 1. Power is
balanced, ``E_b' = -U_0 I``::

    tau_shaft w = d/dt (J w^2/2 + E_b) + R I^2 + L + P_aux

The battery can give more than machine, losses and auxiliaries need at most, which is checked. `rtcvt.engine.battery`
has U_0 and R over s, and a voltage that lags behind the current.
"""

import math

from rtcvt.engine.grid import lookup, slope
from rtcvt.kernel import kernel
from rtcvt.model.frame import Shaft, framed
from rtcvt.model.places import entry
from rtcvt.numerics.elementary import clip
from rtcvt.table import LOSS, STORED, SUPPLY, TINY, Places, Row, Rows

FADE = 0.05  # share of the greatest speed over which the torque fades


class P(Rows):
    """Parameters."""

    J = Row("machine.J", "kg.m2", "moment of inertia of the rotor", TINY)
    T_Q = Row("machine.T_q", "s", "time constant of the torque", 1e-4, tunable=True)
    TAU_MAX = Row("machine.tau_max", "N.m", "largest torque", 0.0, tunable=True)
    P_MAX = Row("machine.P_max", "W", "largest power at the shaft", TINY, display="kW")
    W_MAX = Row("machine.w_max", "rad/s", "speed at which the torque has faded to zero", TINY, display="rpm")
    W_R = Row("machine.w_r", "rad/s", "speed below which braking fades", TINY, display="rpm", tunable=True)
    I_F = Row("machine.i_f", "1", "ratio between machine and wheels", TINY)
    U_E = Row("battery.U_e", "V", "voltage without a current, empty", TINY)
    U_F = Row("battery.U_f", "V", "voltage without a current, full; not below U_e", TINY, floor="battery.U_e")
    R = Row("battery.R", "ohm", "internal resistance", TINY)
    C = Row("battery.C", "A.s", "charge of a full battery", TINY)
    S_START = Row("battery.s_start", "1", "state of charge at the start", 0.0, 1.0)
    P_AUX = Row("battery.P_aux", "W", "power of the auxiliaries", 0.0, tunable=True)
    W_START = Row.speed("machine.w_start", "speed at the start")


class U(Rows):
    """Inputs."""

    TAU = Row("shaft.tau", "N.m", "torque into the machine at its shaft", nominal=100.0)
    DRIVE = Row("machine.tau_drive", "N.m", "torque that the driver asks for at the wheels", nominal=1e3)
    BRAKE = Row("machine.tau_brake", "N.m", "braking torque that the driver asks for at the wheels", nominal=1e3)


class X(Rows):
    """States."""

    W = Row("machine.w", "rad/s", "speed of the rotor", nominal=100.0)
    TAU = Row("machine.tau", "N.m", "torque of the machine", nominal=100.0)
    S = Row("battery.s", "1", "state of charge", nominal=1.0)


class Y(Rows):
    """Outputs."""

    W = Row.speed("shaft.w", "speed of the shaft")
    TAU = Row("machine.tau", "N.m", "torque of the machine, less that of its inertia", nominal=100.0)
    LIMIT = Row("machine.tau_lim", "N.m", "largest torque at this speed", 0.0, nominal=100.0)
    BRAKE = Row("brake.tau", "N.m", "braking torque that is left to friction, at the wheels", 0.0, nominal=1e3)
    S = Row("battery.s", "1", "state of charge", nominal=1.0)
    VOLTAGE = Row("battery.U", "V", "voltage", nominal=400.0)
    CURRENT = Row("battery.I", "A", "current out of the battery", nominal=100.0)
    POWER = Row("battery.P", "W", "power out of the battery", nominal=1e4, display="kW")
    CHARGE = Row("battery.E", "J", "energy of the battery above an empty one", nominal=1e8, display="kWh", books=SUPPLY)
    E = Row("storage.E", "J", "kinetic energy", 0.0, nominal=1e3, display="kJ", books=STORED)
    MACHINE = Row("loss.machine", "W", "power lost in machine and inverter", 0.0, nominal=1e3, display="kW", books=LOSS)
    BATTERY = Row("loss.battery", "W", "power lost in the battery", 0.0, nominal=1e3, display="kW", books=LOSS)
    AUXILIARY = Row("loss.auxiliaries", "W", "power of the auxiliaries", 0.0, nominal=1e3, display="kW", books=LOSS)


N_X = len(X)


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    LOSS = "table: loss over speed and torque [W]"


@kernel
def above_corner(w, p):
    """``|w|``, at least the speed from which on the power limits the torque [rad/s]."""
    corner = p[P.P_MAX] / p[P.TAU_MAX]
    return corner if abs(w) < corner else abs(w)


@kernel
def limit(w, p):
    """lim [N.m]."""
    return p[P.P_MAX] / above_corner(w, p) * clip((p[P.W_MAX] - abs(w)) / (FADE * p[P.W_MAX]), 0.0, 1.0)


@kernel
def limit_slope(w, p):
    """Derivative of `limit` [N.m.s/rad]."""
    sign = -1.0 if w < 0.0 else 1.0
    corner = above_corner(w, p)
    most = p[P.P_MAX] / corner
    slope_most = -most / corner if corner == abs(w) else 0.0
    fade = (p[P.W_MAX] - abs(w)) / (FADE * p[P.W_MAX])
    if fade <= 0.0:
        return 0.0
    if fade >= 1.0:
        return sign * slope_most
    return sign * (slope_most * fade - most / (FADE * p[P.W_MAX]))


@kernel
def demand(x, u, p):
    """tau_des [N.m]."""
    t = (u[U.DRIVE] - u[U.BRAKE]) / p[P.I_F]
    lim = limit(x[X.W], p)
    low = -lim * clip(x[X.W] / p[P.W_R], 0.0, 1.0)
    if not x[X.S] < 1.0:
        low = 0.0
    if not x[X.S] > 0.0:
        lim = 0.0
    return clip(t, low, lim)


@kernel
def demand_slope(x, u, p):
    """Derivative of the same with respect to the speed [N.m.s/rad]."""
    w = x[X.W]
    t = (u[U.DRIVE] - u[U.BRAKE]) / p[P.I_F]
    lim = limit(w, p)
    fade = clip(w / p[P.W_R], 0.0, 1.0)
    if t > lim and x[X.S] > 0.0:
        return limit_slope(w, p)
    if t < -lim * fade and x[X.S] < 1.0:
        slope = limit_slope(w, p)
        return -slope * fade - (lim / p[P.W_R] if fade > 0.0 and fade < 1.0 else 0.0)
    return 0.0


@kernel
def loss(x, data):
    """L [W]."""
    return lookup(data, entry(D.LOSS, data), abs(x[X.W]), abs(x[X.TAU]))


@kernel
def open_voltage(s, p, data):
    """U_0 [V]."""
    return p[P.U_E] + (p[P.U_F] - p[P.U_E]) * clip(s, 0.0, 1.0)


@kernel
def open_voltage_slope(s, p, data):
    """Derivative of the same with respect to s [V]."""
    return p[P.U_F] - p[P.U_E] if s > 0.0 and s < 1.0 else 0.0


@kernel
def resistance(s, p, data):
    """R [ohm]."""
    return p[P.R]


@kernel
def resistance_slope(s, p, data):
    """Derivative of the same with respect to s [ohm]."""
    return 0.0


@kernel
def source_voltage(x, p, data):
    """Voltage behind the resistance R [V]."""
    return open_voltage(x[X.S], p, data)


@kernel
def current(x, p, data):
    """I [A]."""
    power = x[X.TAU] * x[X.W] + loss(x, data) + p[P.P_AUX]
    U_0 = source_voltage(x, p, data)
    square = U_0 * U_0 - 4.0 * resistance(x[X.S], p, data) * power
    return 2.0 * power / (U_0 + math.sqrt(square if square > 0.0 else 0.0))


@kernel
def energy(x, p, data):
    """E_b [J]."""
    s = x[X.S]
    within = clip(s, 0.0, 1.0)
    E = p[P.U_E] * s + (p[P.U_F] - p[P.U_E]) * 0.5 * within * within
    if s > 1.0:
        E += (p[P.U_F] - p[P.U_E]) * (s - 1.0)
    return p[P.C] * E


@kernel
def battery_loss(x, I, p, data):  # noqa: E741
    """Power lost in the battery at the current I [W]."""
    return resistance(x[X.S], p, data) * I * I


@kernel
def least_power(p, data):
    """The most that the battery can give where it can give least [W]."""
    return p[P.U_E] * p[P.U_E] / (4.0 * p[P.R])


@kernel
def is_ordered(p):
    """Whether the voltage does not fall with the charge."""
    return p[P.U_F] >= p[P.U_E]


@kernel
def is_strong(p, data):
    """Whether the empty battery can give the most that is asked of it, with a tenth to spare."""
    table = entry(D.LOSS, data)
    n = entry(table, data)
    m = entry(table + 1, data)
    most = 0.0
    for k in range(n * m):
        value = data[table + 2 + n + m + k]
        most = value if value > most else most
    return least_power(p, data) > 1.1 * (p[P.P_MAX] + most + p[P.P_AUX])


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of w, tau and s."""
    dx[X.W] = (x[X.TAU] + u[U.TAU]) / p[P.J]
    dx[X.TAU] = (demand(x, u, p) - x[X.TAU]) / p[P.T_Q]
    dx[X.S] = -current(x, p, data) / p[P.C]


@kernel
def start(p, data, u, x):
    """Start at the start speed with the torque that is asked for."""
    if not (is_strong(p, data) and is_ordered(p)):
        return False
    x[X.W] = p[P.W_START]
    x[X.S] = p[P.S_START]
    x[X.TAU] = demand(x, u, p)
    return True


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    w = x[X.W]
    tau = x[X.TAU]
    table = entry(D.LOSS, data)
    by_w = slope(data, table, abs(w), abs(tau), 0) * (-1.0 if w < 0.0 else 1.0)
    by_tau = slope(data, table, abs(w), abs(tau), 1) * (-1.0 if tau < 0.0 else 1.0)
    I = current(x, p, data)  # noqa: E741
    s = x[X.S]
    drop = p[P.C] * (source_voltage(x, p, data) - 2.0 * resistance(s, p, data) * I)
    jac[X.W * N_X + X.TAU] = 1.0 / p[P.J]
    jac[X.TAU * N_X + X.W] = demand_slope(x, u, p) / p[P.T_Q]
    jac[X.TAU * N_X + X.TAU] = -1.0 / p[P.T_Q]
    jac[X.S * N_X + X.W] = -(tau + by_w) / drop
    jac[X.S * N_X + X.TAU] = -(w + by_tau) / drop
    jac[X.S * N_X + X.S] = I * (open_voltage_slope(s, p, data) - resistance_slope(s, p, data) * I) / drop


@kernel
def output(t, x, u, p, data, y, work):
    """Speed, torques, demand on friction brakes, battery, energies and losses."""
    I = current(x, p, data)  # noqa: E741
    regained = -p[P.I_F] * x[X.TAU] if x[X.TAU] < 0.0 else 0.0
    y[Y.W] = x[X.W]
    y[Y.TAU] = x[X.TAU]
    y[Y.LIMIT] = limit(x[X.W], p)
    y[Y.BRAKE] = u[U.BRAKE] - regained if u[U.BRAKE] > regained else 0.0
    y[Y.S] = x[X.S]
    y[Y.VOLTAGE] = source_voltage(x, p, data) - resistance(x[X.S], p, data) * I
    y[Y.CURRENT] = I
    y[Y.POWER] = y[Y.VOLTAGE] * I
    y[Y.CHARGE] = energy(x, p, data)
    y[Y.E] = 0.5 * p[P.J] * x[X.W] * x[X.W]
    y[Y.MACHINE] = loss(x, data)
    y[Y.BATTERY] = battery_loss(x, I, p, data)
    y[Y.AUXILIARY] = p[P.P_AUX]


@kernel
def limited(x, u, p, data):
    """Whether the machine is too fast, or the battery beyond full or empty."""
    return abs(x[X.W]) > p[P.W_MAX] or x[X.S] < 0.0 or x[X.S] > 1.0


STRONG = "a battery that gives, empty, 1.1 times the sum of machine.P_max, the largest loss and battery.P_aux"
framed(vars(), flanges={U.TAU: Shaft(X.W, P.J)}, needs=STRONG)
