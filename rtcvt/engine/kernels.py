"""Combustion engine as real-time kernels: torque, fuel and drag from tables, idle speed control, fuel cut-off.

``T(w, pedal)`` is the table of the torque at the crank at constant speed: the drag is ``D = -T(w, 0)``, full load
``T(w, 1)``. Combustion gives the torque q on top of the drag, with the delay of the intake; a PI controller with
anti-windup adds a torque that keeps the idle speed::

    J w' = q - D - tau_load,          q' = (q_des - q)/T_q,      q_des = clip(T + D + c, 0, T(w, 1) + D)
    e = K_p (w_idle - w) + z,          z' = (c - z)/T_i,          c = clip(e, 0, tau_idle)

With the pedal at 0 above the idle speed q_des is zero: the fuel is cut off. The fuel flow follows a table over speed
and torque at the crank, ``tau = q - D``. Below its first torque, zero, it falls linearly to nothing at -D::

    m' = F(w, tau)   if tau >= 0,      m' = F(w, 0) q/D   else,      eta = tau w/(H m')

Below the lowest speed w_1 of a table torques and fuel are proportional to w, above its highest speed fuel is. Nothing
burns at a crank that stands still or turns backwards; its drag is then that of ``|w|``, in the opposite direction.
Where the table has ``H F > tau w`` at its points, which is checked, this is true at all speeds and torques, since both
are bilinear; power is balanced with a loss that is not negative::

    H m' = tau_load w + d/dt (J w^2)/2 + P_loss

Fuel is counted from the start of the run.
"""

from rtcvt.engine.grid import cell, lookup, lookup_in, share, slope
from rtcvt.kernel import kernel
from rtcvt.model.frame import Shaft, framed
from rtcvt.numerics.elementary import clip
from rtcvt.table import LOSS, STORED, SUPPLY, TINY, Places, Row, Rows


class P(Rows):
    """Parameters."""

    J = Row("engine.J", "kg.m2", "moment of inertia of crank and flywheel", TINY)
    T_Q = Row("engine.T_q", "s", "time constant of the torque of burning", 1e-3, tunable=True)
    W_IDLE = Row("engine.w_idle", "rad/s", "idle speed", TINY, display="rpm", tunable=True)
    K_P = Row("engine.K_p", "N.m.s/rad", "proportional gain of the idle speed control", TINY, tunable=True)
    T_I = Row("engine.T_i", "s", "integral time of the idle speed control", 1e-3, tunable=True)
    TAU_IDLE = Row("engine.tau_idle", "N.m", "largest torque of the idle speed control", 0.0, tunable=True)
    H = Row("fuel.H", "J/kg", "lower heating value of the fuel", 1e3)
    RHO = Row("fuel.rho", "kg/m3", "density of the fuel", TINY)
    W_START = Row("engine.w_start", "rad/s", "speed at the start", nominal=100.0, display="rpm")


class U(Rows):
    """Inputs."""

    LOAD = Row("crank.load", "N.m", "torque into the unit at the crank", nominal=100.0)
    PEDAL = Row("engine.pedal", "1", "position of the accelerator pedal", 0.0, 1.0, 1.0)


class X(Rows):
    """States."""

    W = Row("engine.w", "rad/s", "speed of the crank", nominal=100.0)
    Q = Row("engine.q", "N.m", "torque of burning, on top of the drag", nominal=100.0)
    Z = Row("engine.z", "N.m", "integral part of the idle speed control", nominal=10.0)
    M = Row("fuel.m", "kg", "fuel burnt since the start", nominal=1.0)


class Y(Rows):
    """Outputs."""

    W = Row("crank.w", "rad/s", "speed of the crank", nominal=100.0, display="rpm")
    TAU = Row("engine.tau", "N.m", "torque of the engine at the crank, less that of its inertia", nominal=100.0)
    DRAG = Row("engine.drag", "N.m", "drag torque", nominal=10.0)
    FLOW = Row("fuel.flow", "kg/s", "fuel flow", 0.0, nominal=1e-3)
    M = Row("fuel.m", "kg", "fuel burnt since the start", 0.0, nominal=1.0, books=SUPPLY)
    VOLUME = Row("fuel.V", "m3", "its volume", 0.0, nominal=1e-3)
    POWER = Row("fuel.P", "W", "power of the fuel", 0.0, nominal=1e4, display="kW")
    ETA = Row("engine.eta", "1", "efficiency; zero where the engine gives no power", 0.0, 1.0, 1.0)
    E = Row("storage.E", "J", "kinetic energy", 0.0, nominal=1e3, display="kJ", books=STORED)
    LOST = Row("loss.engine", "W", "heat of combustion and drag", 0.0, nominal=1e4, display="kW", books=LOSS)


N_X = len(X)


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    TORQUE = "table: torque over speed and pedal [N.m]"
    FUEL = "table: fuel flow over speed and torque [kg/s]"


@kernel
def lowest(data, table):
    """First speed of a table [rad/s]."""
    return data[table + 2]


@kernel
def highest(data, table):
    """Last speed of a table [rad/s]."""
    return data[table + 1 + int(data[table])]


@kernel
def place(w, data):
    """Interval of the table of torque in which a speed is."""
    return cell(data, int(data[D.TORQUE]) + 2, int(data[int(data[D.TORQUE])]), abs(w))


@kernel
def torque(w, i, pedal, data):
    """T [N.m]; odd in w; `i` is the `place` of w."""
    table = int(data[D.TORQUE])
    s = share(data, table + 2 + i, abs(w))
    return lookup_in(data, table, i, s, pedal) * clip(w / lowest(data, table), -1.0, 1.0)


@kernel
def torque_slope(w, pedal, data):
    """dT/dw [N.m.s/rad]."""
    table = int(data[D.TORQUE])
    first = lowest(data, table)
    if abs(w) < first:
        return lookup(data, table, first, pedal) / first
    return slope(data, table, abs(w), pedal, 0)


@kernel
def idle(x, p):
    """c: torque that the idle speed control adds [N.m]."""
    return clip(p[P.K_P] * (p[P.W_IDLE] - x[X.W]) + x[X.Z], 0.0, p[P.TAU_IDLE])


@kernel
def demand(x, u, p, i, drag, data):
    """q_des before it is limited [N.m]."""
    return torque(x[X.W], i, clip(u[U.PEDAL], 0.0, 1.0), data) + drag + idle(x, p)


@kernel
def most(w, i, drag, data):
    """Largest torque of burning [N.m]."""
    if not w > 0.0:
        return 0.0
    return torque(w, i, 1.0, data) + drag


@kernel
def scale(w, data):
    """Factor on the table of fuel beyond its ends of speed."""
    table = int(data[D.FUEL])
    if w < lowest(data, table):
        return w / lowest(data, table)
    return w / highest(data, table) if w > highest(data, table) else 1.0


@kernel
def flow(w, q, drag, data):
    """m' [kg/s]."""
    if not (w > 0.0 and q > 0.0):
        return 0.0
    table = int(data[D.FUEL])
    tau = q - drag
    if tau < 0.0:
        return scale(w, data) * lookup(data, table, w, 0.0) * (q / drag)
    last = data[table + 1 + int(data[table]) + int(data[table + 1])]
    beyond = tau / last if tau > last else 1.0
    return scale(w, data) * lookup(data, table, w, tau) * beyond


@kernel
def flow_slopes(w, q, drag, drag_w, data, row):
    """Derivatives of the fuel flow along w and q, to their places in `row`; `drag_w` is that of the drag, dD/dw."""
    if not (w > 0.0 and q > 0.0):
        return
    table = int(data[D.FUEL])
    tau = q - drag
    last = data[table + 1 + int(data[table]) + int(data[table + 1])]
    at = clip(tau, 0.0, last)
    factor = q / drag if tau < 0.0 else (tau / last if tau > last else 1.0)
    factor_q = 1.0 / drag if tau < 0.0 else (1.0 / last if tau > last else 0.0)
    factor_w = -q / (drag * drag) * drag_w if tau < 0.0 else -factor_q * drag_w
    by_tau = 0.0  # of the table
    if at == tau:
        by_tau = slope(data, table, w, tau, 1)
    by_w = slope(data, table, w, at, 0) - by_tau * drag_w
    value = lookup(data, table, w, at)
    scale_w = 0.0
    if w < lowest(data, table):
        scale_w = 1.0 / lowest(data, table)
    elif w > highest(data, table):
        scale_w = 1.0 / highest(data, table)
    row[X.W] = scale_w * value * factor + scale(w, data) * (by_w * factor + value * factor_w)
    row[X.Q] = scale(w, data) * (by_tau * factor + value * factor_q)


@kernel
def is_efficient(p, data):
    """Whether the power of the fuel is above the power at the crank at each point of its table."""
    table = int(data[D.FUEL])
    n = int(data[table])
    m = int(data[table + 1])
    for i in range(n):
        for j in range(m):
            k = table + 2 + n + m + i * m + j
            if not p[P.H] * data[k] > data[table + 2 + i] * data[table + 2 + n + j]:
                return False
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of w, q, z and m."""
    w = x[X.W]
    i = place(w, data)
    drag = -torque(w, i, 0.0, data)
    dx[X.W] = (x[X.Q] - drag - u[U.LOAD]) / p[P.J]
    dx[X.Q] = (clip(demand(x, u, p, i, drag, data), 0.0, most(w, i, drag, data)) - x[X.Q]) / p[P.T_Q]
    dx[X.Z] = (idle(x, p) - x[X.Z]) / p[P.T_I]
    dx[X.M] = flow(w, x[X.Q], drag, data)


@kernel
def start(p, data, u, x):
    """Start at the start speed, with the torque that keeps it, or that of the pedal if it is more."""
    if not is_efficient(p, data):
        return False
    w = p[P.W_START]
    i = place(w, data)
    drag = -torque(w, i, 0.0, data)
    x[X.W] = w
    x[X.Q] = 0.0
    x[X.Z] = 0.0
    if w <= p[P.W_IDLE]:
        x[X.Z] = clip(drag, 0.0, p[P.TAU_IDLE])
    x[X.Q] = clip(demand(x, u, p, i, drag, data), 0.0, most(w, i, drag, data))
    x[X.M] = 0.0
    return True


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    w = x[X.W]
    pedal = clip(u[U.PEDAL], 0.0, 1.0)
    drag_w = torque_slope(w, 0.0, data)
    e = p[P.K_P] * (p[P.W_IDLE] - w) + x[X.Z]
    active = 1.0 if e > 0.0 and e < p[P.TAU_IDLE] else 0.0
    k = place(w, data)
    drag = -torque(w, k, 0.0, data)
    q_des = demand(x, u, p, k, drag, data)
    jac[X.W * N_X + X.W] = drag_w / p[P.J]
    jac[X.W * N_X + X.Q] = 1.0 / p[P.J]
    if q_des > most(w, k, drag, data):
        if w > 0.0:
            jac[X.Q * N_X + X.W] = (torque_slope(w, 1.0, data) - drag_w) / p[P.T_Q]
    elif q_des > 0.0:
        jac[X.Q * N_X + X.W] = (torque_slope(w, pedal, data) - drag_w - active * p[P.K_P]) / p[P.T_Q]
        jac[X.Q * N_X + X.Z] = active / p[P.T_Q]
    jac[X.Q * N_X + X.Q] = -1.0 / p[P.T_Q]
    jac[X.Z * N_X + X.W] = -active * p[P.K_P] / p[P.T_I]
    jac[X.Z * N_X + X.Z] = (active - 1.0) / p[P.T_I]
    flow_slopes(w, x[X.Q], drag, -drag_w, data, jac[X.M * N_X : (X.M + 1) * N_X])


@kernel
def output(t, x, u, p, data, y, work):
    """Speed, torques, fuel, efficiency, energy and loss."""
    w = x[X.W]
    drag = -torque(w, place(w, data), 0.0, data)
    tau = x[X.Q] - drag
    y[Y.W] = w
    y[Y.TAU] = tau
    y[Y.DRAG] = drag
    y[Y.FLOW] = flow(w, x[X.Q], drag, data)
    y[Y.M] = x[X.M]
    y[Y.VOLUME] = x[X.M] / p[P.RHO]
    y[Y.POWER] = p[P.H] * y[Y.FLOW]
    y[Y.ETA] = tau * w / y[Y.POWER] if tau * w > 0.0 and y[Y.POWER] > 0.0 else 0.0
    y[Y.E] = 0.5 * p[P.J] * w * w
    y[Y.LOST] = y[Y.POWER] - tau * w


@kernel
def after_step(h, old, x, u, p, data, smooth):
    """No fuel comes back."""
    if x[X.M] < old[X.M]:
        x[X.M] = old[X.M]


@kernel
def limited(x, u, p, data):
    """Whether the pedal is out of range, or the speed beyond the table."""
    return u[U.PEDAL] < 0.0 or u[U.PEDAL] > 1.0 or x[X.W] > highest(data, int(data[D.TORQUE]))


framed(vars(), flanges={U.LOAD: Shaft(X.W, P.J, sign=-1.0)})
