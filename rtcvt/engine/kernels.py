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

**Stop and start.** With the input ``engine.stop`` q_des and c are zero. Friction and compression take the part C of the
drag; the crank sticks below it, by a spring and a damper in series with sliding faces (`rtcvt.vehicle.longitudinal`)::

    D = R + F,    R = D(|w|) - C min(|w|/w_1, 1), odd,    F = min(max(e, -C), C),    e = f + d w
    f' = K w where |e| < C,  K/d (F - f) where it slides,    d = C/w_c,    K = d^2/(4 J),    w_c = 1 rad/s

Without the stop and below w_s a starter, a motor of constant field, turns the crank through a freewheel::

    T_s s' = tau_s clip(1 - w/w_s, 0, 1) - s,    P_el = s max(w, w_s)

**Torque over the crank angle** phi, for n firings a turn: burning, the gas
spring of compression, and the masses that oscillate, of order 2 with four cylinders (harmonics: Taylor, *The
Internal-Combustion Engine in Theory and Practice*, vol. 2, 1985, ch. 8)::

    q (1 + a cos(n phi)) - tau_k sin(n phi) in place of q,    J - J_2 cos(2 phi) in place of J, whose energy is kept

The means over a turn are those without it; fuel follows the mean torque. The angle is counted if there is any of these:
an amplitude of zero is an option that is off, and has no derivative there.
"""

from rtcvt.engine.grid import cell, lookup, lookup_in, share, slope
from rtcvt.kernel import kernel
from rtcvt.model import Books
from rtcvt.model.frame import framed
from rtcvt.model.places import entry
from rtcvt.numerics.elementary import clip, cos, sin
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
    W_START = Row.speed("engine.w_start", "speed at the start")
    TAU_C = Row("engine.tau_c", "N.m", "friction and compression that keep the crank at rest, a part of the drag", 0.0)
    TAU_S = Row("engine.tau_starter", "N.m", "torque of the starter at rest", 0.0, nominal=100.0)
    W_S = Row("engine.w_starter", "rad/s", "speed from which the starter gives no torque", TINY, display="rpm")
    T_S = Row("engine.T_starter", "s", "time constant of the torque of the starter", 1e-3)
    N = Row("engine.n", "1", "firings a turn: half the number of cylinders, four-stroke", TINY)
    A = Row("engine.a", "1", "amplitude of the torque of burning over the crank angle, over its mean", 0.0)
    TAU_K = Row("engine.tau_k", "N.m", "amplitude of the torque of compression", 0.0, nominal=10.0)
    J_2 = Row("engine.J_2", "kg.m2", "amplitude of the inertia, of the masses that oscillate", 0.0, nominal=1e-3)


class U(Rows):
    """Inputs."""

    LOAD = Row("crank.load", "N.m", "torque into the unit at the crank", nominal=100.0)
    PEDAL = Row("engine.pedal", "1", "position of the accelerator pedal", 0.0, 1.0, 1.0)
    STOP = Row("engine.stop", "1", "1: fuel is cut off and the engine comes to rest; 0: it runs, or starts", 0.0, 1.0,
               1.0)  # fmt: skip


class X(Rows):
    """States."""

    W = Row("engine.w", "rad/s", "speed of the crank", nominal=100.0)
    Q = Row("engine.q", "N.m", "torque of burning, on top of the drag", nominal=100.0)
    Z = Row("engine.z", "N.m", "integral part of the idle speed control", nominal=10.0)
    M = Row("fuel.m", "kg", "fuel burnt since the start", nominal=1.0)
    F = Row("engine.f", "N.m", "friction of a crank that sticks, in its spring", nominal=10.0)
    S = Row("engine.s", "N.m", "torque of the starter", nominal=100.0)
    PHI = Row("engine.phi", "rad", "crank angle, where torque follows it", nominal=100.0)


class Y(Rows):
    """Outputs."""

    W = Row.speed("crank.w", "speed of the crank")
    TAU = Row("engine.tau", "N.m", "torque of the engine at the crank, less that of its inertia", nominal=100.0)
    DRAG = Row("engine.drag", "N.m", "drag torque", nominal=10.0)
    FLOW = Row("fuel.flow", "kg/s", "fuel flow", 0.0, nominal=1e-3)
    M = Row("fuel.m", "kg", "fuel burnt since the start", 0.0, nominal=1.0, books=SUPPLY)
    VOLUME = Row("fuel.V", "m3", "its volume", 0.0, nominal=1e-3)
    POWER = Row("fuel.P", "W", "power of the fuel", 0.0, nominal=1e4, display="kW")
    ETA = Row("engine.eta", "1", "efficiency; zero where the engine gives no power", 0.0, 1.0, 1.0)
    STARTER = Row("starter.P", "W", "electric power of the starter", 0.0, nominal=1e3, display="kW", books=Books.POWER)
    PHI = Row("engine.phi", "rad", "crank angle, where torque follows it", nominal=100.0)
    E = Row("storage.E", "J", "energy of crank, friction and compression", 0.0, nominal=1e3, display="kJ", books=STORED)
    LOST = Row("loss.engine", "W", "heat of combustion and drag", 0.0, nominal=1e4, display="kW", books=LOSS)


N_X = len(X)
STICK_SPEED = 1.0  # w_c: speed at which the damper of a crank that sticks carries its capacity [rad/s]


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
    return data[table + 1 + entry(table, data)]


@kernel
def place(w, data):
    """Interval of the table of torque in which a speed is."""
    return cell(data, entry(D.TORQUE, data) + 2, entry(entry(D.TORQUE, data), data), abs(w))


@kernel
def torque(w, i, pedal, data):
    """T [N.m]; odd in w; `i` is the `place` of w."""
    table = entry(D.TORQUE, data)
    s = share(data, table + 2 + i, abs(w))
    return lookup_in(data, table, i, s, pedal) * clip(w / lowest(data, table), -1.0, 1.0)


@kernel
def torque_slope(w, pedal, data):
    """dT/dw [N.m.s/rad]."""
    table = entry(D.TORQUE, data)
    first = lowest(data, table)
    if abs(w) < first:
        return lookup(data, table, first, pedal) / first
    return slope(data, table, abs(w), pedal, 0)


@kernel
def sticking_torque(x, p):
    """e: friction of the crank if it sticks [N.m]."""
    return x[X.F] + p[P.TAU_C] / STICK_SPEED * x[X.W]


@kernel
def friction(x, p):
    """F [N.m]."""
    return clip(sticking_torque(x, p), -p[P.TAU_C], p[P.TAU_C])


@kernel
def sticks(x, p):
    """Whether friction and compression hold the crank."""
    return abs(sticking_torque(x, p)) < p[P.TAU_C]


@kernel
def stick_rate(p):
    """K/d [1/s]."""
    return 0.25 * p[P.TAU_C] / (STICK_SPEED * p[P.J])


@kernel
def dragging(x, drag, p, data):
    """R + F [N.m] where the table gives `drag`."""
    C = p[P.TAU_C]
    rest = drag - C * clip(x[X.W] / lowest(data, entry(D.TORQUE, data)), -1.0, 1.0)
    return rest + friction(x, p)


@kernel
def pulsates(p):
    """Whether the torque follows the crank angle."""
    return p[P.A] > 0.0 or p[P.TAU_K] > 0.0 or p[P.J_2] > 0.0


@kernel
def driving(x, p):
    """Torque of burning, compression and starter [N.m]."""
    if not pulsates(p):
        return x[X.Q] + x[X.S]
    angle = p[P.N] * x[X.PHI]
    return x[X.Q] * (1.0 + p[P.A] * cos(angle)) - p[P.TAU_K] * sin(angle) + x[X.S]


@kernel
def inertia(x, p):
    """J - J_2 cos(2 phi) [kg.m2]."""
    return p[P.J] - p[P.J_2] * cos(2.0 * x[X.PHI]) if p[P.J_2] > 0.0 else p[P.J]


@kernel
def acceleration(x, u, p, drag):
    """w' [rad/s2] with the whole drag."""
    tau = driving(x, p) - drag - u[U.LOAD]
    if p[P.J_2] > 0.0:
        tau -= p[P.J_2] * sin(2.0 * x[X.PHI]) * x[X.W] * x[X.W]
    return tau / inertia(x, p)


@kernel
def is_stopped(u):
    """Whether the engine is to stop."""
    return u[U.STOP] >= 0.5


@kernel
def cranking(w, u, p):
    """Torque that the starter approaches [N.m]."""
    return 0.0 if is_stopped(u) else p[P.TAU_S] * clip(1.0 - w / p[P.W_S], 0.0, 1.0)


@kernel
def idle(x, u, p):
    """c: torque that the idle speed control adds [N.m]."""
    if is_stopped(u):
        return 0.0
    return clip(p[P.K_P] * (p[P.W_IDLE] - x[X.W]) + x[X.Z], 0.0, p[P.TAU_IDLE])


@kernel
def demand(x, u, p, i, drag, data):
    """q_des before it is limited [N.m]."""
    if is_stopped(u):
        return 0.0
    return torque(x[X.W], i, clip(u[U.PEDAL], 0.0, 1.0), data) + drag + idle(x, u, p)


@kernel
def most(w, i, drag, data):
    """Largest torque of burning [N.m]."""
    if not w > 0.0:
        return 0.0
    return torque(w, i, 1.0, data) + drag


@kernel
def scale(w, data):
    """Factor on the table of fuel beyond its ends of speed."""
    table = entry(D.FUEL, data)
    if w < lowest(data, table):
        return w / lowest(data, table)
    return w / highest(data, table) if w > highest(data, table) else 1.0


@kernel
def flow(w, q, drag, data):
    """m' [kg/s]."""
    if not (w > 0.0 and q > 0.0):
        return 0.0
    table = entry(D.FUEL, data)
    tau = q - drag
    if tau < 0.0:
        return scale(w, data) * lookup(data, table, w, 0.0) * (q / drag)
    last = data[table + 1 + entry(table, data) + entry(table + 1, data)]
    beyond = tau / last if tau > last else 1.0
    return scale(w, data) * lookup(data, table, w, tau) * beyond


@kernel
def flow_slopes(w, q, drag, drag_w, data, row):
    """Derivatives of the fuel flow along w and q, to their places in `row`; returns that along the drag.

    `drag_w` is that of the drag, dD/dw.
    """
    if not (w > 0.0 and q > 0.0):
        return 0.0
    table = entry(D.FUEL, data)
    tau = q - drag
    last = data[table + 1 + entry(table, data) + entry(table + 1, data)]
    at = clip(tau, 0.0, last)
    value = lookup(data, table, w, at)
    factor = q / drag if tau < 0.0 else (tau / last if tau > last else 1.0)
    by_q = value / drag if tau < 0.0 else value / last
    by_drag = -value * q / (drag * drag) if tau < 0.0 else -value / last
    if at == tau:
        by_q = slope(data, table, w, tau, 1)
        by_drag = -by_q
    scale_w = 0.0
    if w < lowest(data, table):
        scale_w = 1.0 / lowest(data, table)
    elif w > highest(data, table):
        scale_w = 1.0 / highest(data, table)
    row[X.W] = scale_w * value * factor + scale(w, data) * (slope(data, table, w, at, 0) * factor + by_drag * drag_w)
    row[X.Q] = scale(w, data) * by_q
    return scale(w, data) * by_drag


@kernel
def is_efficient(p, data):
    """Whether the power of the fuel is above the power at the crank at each point of its table, at any angle."""
    table = entry(D.FUEL, data)
    n = entry(table, data)
    m = entry(table + 1, data)
    for i in range(n):
        for j in range(m):
            k = table + 2 + n + m + i * m + j
            w = data[table + 2 + i]
            tau = data[table + 2 + n + j]
            tau += p[P.A] * (tau - torque(w, place(w, data), 0.0, data))
            if not p[P.H] * data[k] > w * tau:
                return False
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of the states."""
    w = x[X.W]
    i = place(w, data)
    drag = -torque(w, i, 0.0, data)
    whole = dragging(x, drag, p, data)
    dx[X.W] = acceleration(x, u, p, whole)
    dx[X.Q] = (clip(demand(x, u, p, i, drag, data), 0.0, most(w, i, drag, data)) - x[X.Q]) / p[P.T_Q]
    dx[X.Z] = (idle(x, u, p) - x[X.Z]) / p[P.T_I]
    dx[X.M] = flow(w, x[X.Q], whole, data)
    dx[X.F] = stick_rate(p) * (p[P.TAU_C] / STICK_SPEED * w if sticks(x, p) else friction(x, p) - x[X.F])
    dx[X.S] = (cranking(w, u, p) - x[X.S]) / p[P.T_S]
    dx[X.PHI] = w if pulsates(p) else 0.0


@kernel
def start(p, data, u, x):
    """Start at the start speed, with the torque that keeps it, or that of the pedal if it is more."""
    if not (is_efficient(p, data) and p[P.J] > p[P.J_2]):
        return False
    w = p[P.W_START]
    i = place(w, data)
    drag = -torque(w, i, 0.0, data)
    x[X.W] = w
    x[X.Q] = 0.0
    x[X.Z] = 0.0
    x[X.F] = clip(p[P.TAU_C] / STICK_SPEED * w, -p[P.TAU_C], p[P.TAU_C])
    x[X.S] = 0.0
    x[X.PHI] = 0.0
    if w <= p[P.W_IDLE] and not is_stopped(u):
        x[X.Z] = clip(drag, 0.0, p[P.TAU_IDLE])
    x[X.Q] = clip(demand(x, u, p, i, drag, data), 0.0, most(w, i, drag, data))
    x[X.M] = 0.0
    return True


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    w = x[X.W]
    pedal = clip(u[U.PEDAL], 0.0, 1.0)
    e = p[P.K_P] * (p[P.W_IDLE] - w) + x[X.Z]
    active = 1.0 if e > 0.0 and e < p[P.TAU_IDLE] and not is_stopped(u) else 0.0
    k = place(w, data)
    drag = -torque(w, k, 0.0, data)
    drag_w = -torque_slope(w, 0.0, data)
    whole = dragging(x, drag, p, data)
    held = 1.0 if sticks(x, p) else 0.0
    whole_w = drag_w + held * p[P.TAU_C] / STICK_SPEED
    first = lowest(data, entry(D.TORQUE, data))
    if abs(w) < first:
        whole_w -= p[P.TAU_C] / first
    q_des = demand(x, u, p, k, drag, data)
    J = inertia(x, p)
    jac[X.W * N_X + X.W] = -whole_w / J
    jac[X.W * N_X + X.Q] = 1.0 / J
    jac[X.W * N_X + X.F] = -held / J
    jac[X.W * N_X + X.S] = 1.0 / J
    if pulsates(p):
        along_angle(x, p, acceleration(x, u, p, whole), J, jac)
    if q_des > most(w, k, drag, data):
        if w > 0.0:
            jac[X.Q * N_X + X.W] = (torque_slope(w, 1.0, data) + drag_w) / p[P.T_Q]
    elif q_des > 0.0:
        jac[X.Q * N_X + X.W] = (torque_slope(w, pedal, data) + drag_w - active * p[P.K_P]) / p[P.T_Q]
        jac[X.Q * N_X + X.Z] = active / p[P.T_Q]
    jac[X.Q * N_X + X.Q] = -1.0 / p[P.T_Q]
    jac[X.Z * N_X + X.W] = -active * p[P.K_P] / p[P.T_I]
    jac[X.Z * N_X + X.Z] = (active - 1.0) / p[P.T_I]
    by_drag = flow_slopes(w, x[X.Q], whole, whole_w, data, jac[X.M * N_X : (X.M + 1) * N_X])
    jac[X.M * N_X + X.F] = held * by_drag
    jac[X.F * N_X + X.W] = held * stick_rate(p) * p[P.TAU_C] / STICK_SPEED
    jac[X.F * N_X + X.F] = (held - 1.0) * stick_rate(p)
    if not is_stopped(u) and w > 0.0 and w < p[P.W_S]:
        jac[X.S * N_X + X.W] = -p[P.TAU_S] / (p[P.W_S] * p[P.T_S])
    jac[X.S * N_X + X.S] = -1.0 / p[P.T_S]


@kernel
def along_angle(x, p, a, J, jac):
    """Entries of ``df/dx`` of torques over the crank angle; `a` is w', `J` the inertia."""
    angle = p[P.N] * x[X.PHI]
    w = x[X.W]
    sin_2 = p[P.J_2] * sin(2.0 * x[X.PHI])
    by_angle = -p[P.N] * (p[P.A] * x[X.Q] * sin(angle) + p[P.TAU_K] * cos(angle))
    by_angle -= 2.0 * (p[P.J_2] * cos(2.0 * x[X.PHI]) * w * w + sin_2 * a)
    jac[X.W * N_X + X.W] -= 2.0 * sin_2 * w / J
    jac[X.W * N_X + X.Q] += p[P.A] * cos(angle) / J
    jac[X.W * N_X + X.PHI] = by_angle / J
    jac[X.PHI * N_X + X.W] = 1.0


@kernel
def output(t, x, u, p, data, y, work):
    """Speed, torques, fuel, efficiency, energy and loss."""
    w = x[X.W]
    drag = dragging(x, -torque(w, place(w, data), 0.0, data), p, data)
    tau = driving(x, p) - drag
    stretch = w  # f'/K
    if not sticks(x, p):
        stretch = (friction(x, p) - x[X.F]) * STICK_SPEED / (p[P.TAU_C] if p[P.TAU_C] > 0.0 else 1.0)
    y[Y.W] = w
    y[Y.TAU] = tau
    y[Y.DRAG] = drag
    y[Y.FLOW] = flow(w, x[X.Q], drag, data)
    y[Y.M] = x[X.M]
    y[Y.VOLUME] = x[X.M] / p[P.RHO]
    y[Y.POWER] = p[P.H] * y[Y.FLOW]
    y[Y.ETA] = tau * w / y[Y.POWER] if tau * w > 0.0 and y[Y.POWER] > tau * w else 0.0
    y[Y.STARTER] = x[X.S] * (w if w > p[P.W_S] else p[P.W_S])
    y[Y.PHI] = x[X.PHI]
    y[Y.E] = 0.5 * inertia(x, p) * w * w
    y[Y.LOST] = y[Y.POWER] - tau * w + y[Y.STARTER] - x[X.F] * stretch
    if p[P.TAU_C] > 0.0:
        y[Y.E] += 0.5 * x[X.F] * x[X.F] * STICK_SPEED / (stick_rate(p) * p[P.TAU_C])
    if p[P.TAU_K] > 0.0:
        y[Y.E] += p[P.TAU_K] / p[P.N] * (1.0 - cos(p[P.N] * x[X.PHI]))
        y[Y.LOST] -= p[P.TAU_K] * sin(p[P.N] * x[X.PHI]) * w


@kernel
def after_step(h, old, x, u, p, data, smooth):
    """No fuel comes back."""
    if x[X.M] < old[X.M]:
        x[X.M] = old[X.M]


@kernel
def limited(x, u, p, data):
    """Whether the pedal is out of range, or the speed beyond the table."""
    return u[U.PEDAL] < 0.0 or u[U.PEDAL] > 1.0 or x[X.W] > highest(data, entry(D.TORQUE, data))


@kernel
def piece(x, u, p, data, work):
    """0 if the crank sticks, else the sign of its friction."""
    if sticks(x, p):
        return 0.0
    return 1.0 if sticking_torque(x, p) > 0.0 else -1.0


@kernel
def flange(k, x, u, p, data, work):
    """Speed of the crank."""
    return x[X.W]


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`."""
    for i in range(N_X):
        row[i] = 0.0
        column[i] = 0.0
    row[X.W] = 1.0
    column[X.W] = -1.0 / inertia(x, p)
    return 0.0


framed(vars(), needs="a power of the fuel, by fuel.H, above that at the crank at each point; engine.J above J_2")
