"""Control of an engine with an automatic gearbox as real-time kernels: pedal, gears, elements, lock-up.

The driver demands a torque at the wheels, ``tau_drive``; with the final drive i_f, the ratio R of the gear and the
torque ratio mu of the converter that is ``t = tau_drive/(i_f R mu)`` at the engine, for which the pedal is found as in
`rtcvt.engine.control`.

**Gears.** A map over gear and ``a = clip(tau_drive/tau_full, 0, 1)`` gives the speeds of the vehicle above which the
next gear is chosen, and below which the previous one is. Ratios, the closed elements, and the torque of each for 1 N.m
at the input come from the shift table of the box. Shifts go one gear at a time, at least T_min after the previous
shift.

**Overlap.** Over T_on the oncoming element is raised to the torque that it will carry, times S, plus tau_s at the input
to accelerate the input to its new speed; the offgoing one is released over T_off. C is an element's capacity, k its
torque for 1 N.m::

    u_on  = min(1, k_on (S |tau| + tau_s)/C_on) min(1, s/T_on)
    u_off = min(1, k_off S |tau|/C_off) max(0, 1 - s/T_off)

with s the time since the shift began and tau the torque of converter and lock-up into the box. When the input is within
w_sync of its new speed, or after T_max, the oncoming element closes over T_c; then the gear is the new one.

**Lock-up.** The clutch parallel to the converter closes over T_l above the speed w_lock of the turbine, in gears from
g_lock on. It opens in shifts and below w_open.
"""

from rtcvt.engine.control import pedal_for, within
from rtcvt.engine.grid import lookup
from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.model.places import entry
from rtcvt.table import TINY, Places, Row, Rows

ELEMENT = Row("{element}.u", "1", "actuation of element {element}", 0.0, 1.0, 1.0)


class P(Rows):
    """Parameters."""

    I_F = Row("control.i_f", "1", "ratio of the final drive", TINY)
    R_W = Row("control.r_w", "m", "radius of the wheels", TINY)
    TAU_FULL = Row("control.tau_full", "N.m", "torque at the wheels that counts as the full demand", TINY, tunable=True)
    T_MIN = Row("control.T_min", "s", "least time between shifts", 0.0, tunable=True)
    T_ON = Row("control.T_on", "s", "time in which the oncoming element comes up", 1e-3, tunable=True)
    T_OFF = Row("control.T_off", "s", "time in which the offgoing element is released", 1e-3, tunable=True)
    T_MAX = Row("control.T_max", "s", "longest time of a shift before the element closes", 1e-3, tunable=True)
    T_C = Row("control.T_c", "s", "time in which it closes", 1e-3, tunable=True)
    S = Row("control.S", "1", "safety factor of elements that slip", TINY, tunable=True)
    TAU_S = Row("control.tau_s", "N.m", "torque at the input that changes its speed", 0.0, tunable=True)
    W_SYNC = Row("control.w_sync", "rad/s", "speed difference that counts as none", TINY, display="rpm", tunable=True)
    G_LOCK = Row("control.g_lock", "1", "first gear in which the converter is locked", 1.0, tunable=True)
    W_LOCK = Row("control.w_lock", "rad/s", "turbine speed above which the lock-up closes", TINY, display="rpm",
                 tunable=True, floor="control.w_open")  # fmt: skip
    W_OPEN = Row("control.w_open", "rad/s", "turbine speed below which it opens", 0.0, display="rpm", tunable=True)
    T_L = Row("control.T_l", "s", "time in which the lock-up closes", 1e-3, tunable=True)


class U(Rows):
    """Inputs."""

    DRIVE = Row("control.tau_drive", "N.m", "torque that the driver asks for at the wheels", nominal=1e3)
    W_E = Row.speed("control.w_engine", "speed of the engine")
    W_IN = Row.speed("control.w_in", "speed of the input of the box")
    W_OUT = Row.speed("control.w_out", "speed of its output")
    TAU = Row("control.tau", "N.m", "torque of the converter into the box, as measured or estimated", nominal=100.0)
    TAU_L = Row("control.tau_lock", "N.m", "the same of the lock-up clutch", nominal=100.0)
    MU = Row("control.mu", "1", "torque ratio of the converter", nominal=1.0)


class X(Rows):
    """States."""

    FROM = Row("control.from", "1", "gear that is left", nominal=1.0)
    TO = Row("control.to", "1", "gear that is engaged next", nominal=1.0)
    S = Row("control.s", "s", "time since the shift began", nominal=1.0)
    F = Row("control.f", "1", "how far the oncoming element has closed", nominal=1.0)
    L = Row("lockup.l", "1", "actuation of the lock-up clutch", nominal=1.0)


class Y(Rows):
    """Outputs, before those of the elements."""

    PEDAL = Row("engine.pedal", "1", "position of the accelerator pedal", 0.0, 1.0, 1.0)
    TAU_DES = Row("control.tau_des", "N.m", "torque that the engine is to give", nominal=100.0)
    GEAR = Row("control.gear", "1", "gear that is engaged next, from 1", nominal=1.0)
    SHIFTING = Row.flag("control.shifting", "a shift is going on")
    LOCK = Row("lockup.u", "1", "actuation of the lock-up clutch", 0.0, 1.0, 1.0)


N_Y = len(Y)


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    TORQUE = "table: torque of the engine over speed and pedal [N.m]"
    UP = "table: speed of the vehicle over gear and demand above which it shifts to the next gear [m/s]"
    DOWN = "table: the same below which it shifts to the previous gear"
    N_G = "gears"
    N_E = "elements"
    RATIO = "table: ratio of each gear"
    HOLDS = "table: torque of each element for 1 N.m at the input, gear by gear; below 0: it does not hold"
    CAPACITY = "table: capacity of each element [N.m]"


@kernel
def index_of(gear, data):
    """Place of a gear, from 0; any value of the state gives a valid place."""
    return int(within(gear, 1.0, data[D.N_G])) - 1


@kernel
def ratio_of(gear, data):
    """R of a gear."""
    return data[entry(D.RATIO, data) + index_of(gear, data)]


@kernel
def held(gear, e, data):
    """Torque of an element [N.m] for 1 N.m at the input in a gear; below zero if it does not hold there."""
    return data[entry(D.HOLDS, data) + index_of(gear, data) * entry(D.N_E, data) + e]


@kernel
def actuation(e, x, u, p, data):
    """u of an element."""
    off = held(x[X.FROM], e, data)
    on = held(x[X.TO], e, data)
    if on >= 0.0 and off >= 0.0:
        return 1.0
    C = data[entry(D.CAPACITY, data) + e]
    tau = p[P.S] * abs(u[U.TAU] + u[U.TAU_L])
    if on >= 0.0:
        share = within(on * (tau + p[P.TAU_S]) / C, 0.0, 1.0) * within(x[X.S] / p[P.T_ON], 0.0, 1.0)
        return share + (1.0 - share) * x[X.F]
    if off >= 0.0:
        return within(off * tau / C, 0.0, 1.0) * within(1.0 - x[X.S] / p[P.T_OFF], 0.0, 1.0)
    return 0.0


@kernel
def wanted_gear(x, u, p, data):
    """The gear to choose: the present one or a neighbour."""
    gear = x[X.TO]
    a = within(u[U.DRIVE] / p[P.TAU_FULL], 0.0, 1.0)
    v = u[U.W_OUT] / p[P.I_F] * p[P.R_W]
    if gear < data[D.N_G] and v > lookup(data, entry(D.UP, data), gear, a):
        return gear + 1.0
    if gear > 1.0 and v < lookup(data, entry(D.DOWN, data), gear, a):
        return gear - 1.0
    return gear


@kernel
def advance(t, h, x, u, p, data, work):
    """One internal step in place."""
    x[X.S] += h
    if x[X.FROM] != x[X.TO]:
        new = ratio_of(x[X.TO], data) * u[U.W_OUT]
        if x[X.F] > 0.0 or x[X.S] > p[P.T_MAX] or (x[X.S] > p[P.T_ON] and abs(u[U.W_IN] - new) < p[P.W_SYNC]):
            x[X.F] += h / p[P.T_C]
        if x[X.F] >= 1.0:
            x[X.FROM] = x[X.TO]
            x[X.F] = 0.0
            x[X.S] = 0.0
    elif x[X.S] > p[P.T_MIN]:
        x[X.S] = p[P.T_MIN]
        gear = wanted_gear(x, u, p, data)
        if gear != x[X.TO]:
            x[X.TO] = gear
            x[X.S] = 0.0
    closed = x[X.FROM] == x[X.TO] and x[X.TO] >= p[P.G_LOCK]
    closed = closed and u[U.W_IN] > (p[P.W_OPEN] if x[X.L] > 0.0 else p[P.W_LOCK])
    x[X.L] = within(x[X.L] + (h if closed else -h) / p[P.T_L], 0.0, 1.0)


@kernel
def start(p, data, u, x):
    """Start in the first gear with the lock-up open."""
    if not p[P.W_LOCK] >= p[P.W_OPEN]:
        return False
    x[X.FROM] = 1.0
    x[X.TO] = 1.0
    x[X.S] = p[P.T_MIN]
    x[X.F] = 0.0
    x[X.L] = 0.0
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rates between the moments at which something is switched."""
    shifting = x[X.FROM] != x[X.TO]
    dx[X.FROM] = 0.0
    dx[X.TO] = 0.0
    dx[X.S] = 1.0 if shifting or x[X.S] < p[P.T_MIN] else 0.0
    dx[X.F] = 1.0 / p[P.T_C] if x[X.F] > 0.0 else 0.0
    dx[X.L] = 0.0


@kernel
def output(t, x, u, p, data, y, work):
    """Pedal, gear, and actuations of lock-up and elements."""
    gear = x[X.TO] if x[X.F] > 0.0 else x[X.FROM]
    mu = u[U.MU] if u[U.MU] > 1.0 else 1.0
    t_engine = u[U.DRIVE] / (p[P.I_F] * ratio_of(gear, data) * mu)
    drag = -lookup(data, entry(D.TORQUE, data), u[U.W_E], 0.0)
    y[Y.TAU_DES] = 2.0 * t_engine - drag if t_engine < drag else t_engine
    y[Y.PEDAL] = pedal_for(y[Y.TAU_DES], u[U.W_E], data, entry(D.TORQUE, data))
    y[Y.GEAR] = x[X.TO]
    y[Y.SHIFTING] = 1.0 if x[X.FROM] != x[X.TO] else 0.0
    y[Y.LOCK] = x[X.L]
    for e in range(entry(D.N_E, data)):
        y[N_Y + e] = actuation(e, x, u, p, data)


@kernel
def n_outputs(data):
    """Number of outputs, those of the elements last."""
    return N_Y + entry(D.N_E, data)


framed(vars())
