"""Friction clutch with the torsion damper of its disc, as real-time kernels.

The shaft a turns the friction faces through a spring K parallel to a damper d; the hub with the shaft b is an inertia
J. With the twist phi, the torque e of spring and damper for sticking faces, and Coulomb's law with the capacity C
(Karnopp 1985; faces with uniform pressure, Shigley, *Mechanical Engineering Design*, ch. 16)::

    e = K phi + d (w_a - w),          tau = min(max(e, -C), C),         phi' = (tau - K phi)/d
    C = mu z r_m F,                   r_m = 2/3 (r_o^3 - r_i^3)/(r_o^2 - r_i^2),    F' = (u F_max - F)/T_a
    J w' = tau - b w - tau_load,      w_slip = w_a - w - phi',          Q' = tau w_slip

The faces stick where ``|e| < C``: then phi' = w_a - w and w_slip is zero, not small. Where they slip, tau = C sign(e),
and ``tau w_slip >= 0`` since e lies beyond C. There is one coefficient of friction, for sticking and slipping; the
right-hand side is continuous, so nothing chatters and no speed regularises the sign. Power is balanced::

    tau w_a = tau_load w + d/dt (J w^2 + K phi^2)/2 + tau w_slip + d phi'^2 + b w^2

Q is the friction work, that is the heat of the faces, counted up to 1e11 J. The actuation u is from 0 to 1. Values
beyond these limits are clipped, and the status of the step is 1.
"""

from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.numerics.elementary import snapped
from rtcvt.table import LOSS, STORED, TINY, Row, Rows

MAX_HEAT = 1e11  # [J]


class P(Rows):
    """Parameters."""

    MU = Row("clutch.mu", "1", "coefficient of friction of the faces", TINY, tunable=True, usual=0.6)
    Z = Row("clutch.z", "1", "number of friction faces", 1.0)
    R_O = Row("clutch.r_o", "m", "outer radius of the faces", TINY)
    R_I = Row("clutch.r_i", "m", "inner radius of the faces, below the outer one", 0.0)
    F_MAX = Row("clutch.F_max", "N", "normal force on the faces at full actuation", TINY, tunable=True)
    T_A = Row("clutch.T_a", "s", "time constant of the actuator", 1e-4, tunable=True)
    K = Row("clutch.K", "N.m/rad", "stiffness of the torsion damper", TINY)
    D = Row("clutch.d", "N.m.s/rad", "damping of the torsion damper", TINY)
    J = Row("clutch.J", "kg.m2", "moment of inertia of the hub with its shaft", TINY)
    B = Row("clutch.b", "N.m.s/rad", "viscous friction of the hub", 0.0, tunable=True)
    W_START = Row.speed("clutch.w_start", "speed of the hub at the start")


class U(Rows):
    """Inputs."""

    A_W = Row.speed("a.w", "speed of the shaft that drives")
    LOAD = Row("b.load", "N.m", "torque into the unit after the hub", nominal=100.0)
    ACTUATION = Row("clutch.u", "1", "actuation: open at 0, full normal force at 1", 0.0, 1.0, 1.0)


class X(Rows):
    """States."""

    PHI = Row("clutch.phi", "rad", "twist of the torsion damper", nominal=0.01)
    W = Row("clutch.w", "rad/s", "speed of the hub", nominal=100.0)
    F = Row("clutch.F", "N", "normal force on the faces", nominal=1e3)
    Q = Row("clutch.Q", "J", "heat of the faces since the start", nominal=1e4)


class Y(Rows):
    """Outputs."""

    A_TAU = Row("a.tau", "N.m", "torque into the clutch, and through it", nominal=100.0)
    B_W = Row.speed("b.w", "speed of the hub")
    SLIP = Row.speed("clutch.w_slip", "slip of the faces; exactly zero while they stick")
    CAPACITY = Row("clutch.C", "N.m", "torque capacity", 0.0, nominal=100.0)
    STUCK = Row.flag("clutch.stuck", "the faces are pressed and stick")
    HEAT = Row("clutch.Q", "J", "heat of the faces since the start", nominal=1e4, display="kJ")
    ENERGY = Row("storage.E", "J", "energy of hub and torsion damper", 0.0, nominal=1e3, display="kJ", books=STORED)
    FRICTION = Row("loss.friction", "W", "power lost at the faces", nominal=1e3, display="kW", books=LOSS)
    DAMPER = Row("loss.damper", "W", "power lost in the torsion damper", 0.0, nominal=1e3, display="kW", books=LOSS)
    BEARING = Row("loss.bearing", "W", "power lost in the hub's bearing", 0.0, nominal=1e3, display="kW", books=LOSS)


N_X = len(X)
ENGAGED_RTOL = 1e-9  # share of the normal force


@kernel
def friction(x, p, data):
    """mu."""
    return p[P.MU]


@kernel
def torque_per_force(x, p, data):
    """Capacity over normal force, C/F [m]."""
    r_o = p[P.R_O]
    r_i = p[P.R_I]
    r_m = 2.0 / 3.0 * (r_o * r_o + r_o * r_i + r_i * r_i) / (r_o + r_i)
    return friction(x, p, data) * p[P.Z] * r_m


@kernel
def capacity(x, p, data):
    """C: torque capacity [N.m]."""
    if x[X.F] > ENGAGED_RTOL * p[P.F_MAX]:
        return torque_per_force(x, p, data) * x[X.F]
    return 0.0


@kernel
def normal_force(u, p):
    """Target of the normal force [N]."""
    if u[U.ACTUATION] < 0.0:
        return 0.0
    return p[P.F_MAX] if u[U.ACTUATION] > 1.0 else u[U.ACTUATION] * p[P.F_MAX]


@kernel
def stuck_torque(x, u, p):
    """e: torque of spring and damper for sticking faces [N.m]."""
    return p[P.K] * x[X.PHI] + p[P.D] * (u[U.A_W] - x[X.W])


@kernel
def direction(e):
    """Sign of a torque, 0 for none."""
    if e > 0.0:
        return 1.0
    return -1.0 if e < 0.0 else 0.0


@kernel
def transmitted(x, u, p, data):
    """tau: torque through the clutch [N.m]."""
    e = stuck_torque(x, u, p)
    C = capacity(x, p, data)
    if e >= C:  # an open clutch, too, whose tangents are then those of slipping
        return C
    return -C if e <= -C else e


@kernel
def twist_rate(x, u, p, data):
    """phi' [rad/s]; the difference of the speeds itself where the faces stick."""
    if abs(stuck_torque(x, u, p)) < capacity(x, p, data):
        return u[U.A_W] - x[X.W]
    return (transmitted(x, u, p, data) - p[P.K] * x[X.PHI]) / p[P.D]


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of phi, w, F and Q."""
    tau = transmitted(x, u, p, data)
    dx[X.PHI] = twist_rate(x, u, p, data)
    dx[X.W] = (tau - p[P.B] * x[X.W] - u[U.LOAD]) / p[P.J]
    dx[X.F] = (normal_force(u, p) - x[X.F]) / p[P.T_A]
    dx[X.Q] = tau * (u[U.A_W] - x[X.W] - dx[X.PHI])


@kernel
def start(p, data, u, x):
    """Start at the start speed, nothing twisted, with the normal force of the actuation."""
    if not p[P.R_O] > p[P.R_I]:
        return False
    x[X.PHI] = 0.0
    x[X.W] = p[P.W_START]
    x[X.F] = normal_force(u, p)
    x[X.Q] = 0.0
    return True


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    e = stuck_torque(x, u, p)
    tau = transmitted(x, u, p, data)
    per_force = torque_per_force(x, p, data)
    if abs(e) < capacity(x, p, data):
        jac[X.PHI * N_X + X.W] = -1.0
        jac[X.W * N_X + X.PHI] = p[P.K] / p[P.J]
        jac[X.W * N_X + X.W] = -(p[P.D] + p[P.B]) / p[P.J]
    else:
        tau_F = per_force * direction(e)
        slip = u[U.A_W] - x[X.W] - twist_rate(x, u, p, data)
        jac[X.PHI * N_X + X.PHI] = -p[P.K] / p[P.D]
        jac[X.PHI * N_X + X.F] = tau_F / p[P.D]
        jac[X.W * N_X + X.W] = -p[P.B] / p[P.J]
        jac[X.W * N_X + X.F] = tau_F / p[P.J]
        jac[X.Q * N_X + X.PHI] = tau * p[P.K] / p[P.D]
        jac[X.Q * N_X + X.W] = -tau
        jac[X.Q * N_X + X.F] = tau_F * slip - tau * tau_F / p[P.D]
    jac[X.F * N_X + X.F] = -1.0 / p[P.T_A]


@kernel
def flange(k, x, u, p, data, work):
    """Speed of a flange with a torque as input, torque of one with a speed as input."""
    if k == U.LOAD:
        return x[X.W]
    return transmitted(x, u, p, data)


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`."""
    for i in range(N_X):
        row[i] = 0.0
        column[i] = 0.0
    if k == U.LOAD:
        row[X.W] = 1.0
        column[X.W] = -1.0 / p[P.J]
        return 0.0
    tau = transmitted(x, u, p, data)
    if piece(x, u, p, data, work) == 0.0:
        row[X.PHI] = p[P.K]
        row[X.W] = -p[P.D]
        column[X.PHI] = 1.0
        column[X.W] = p[P.D] / p[P.J]
        return p[P.D]
    per_force = torque_per_force(x, p, data)
    row[X.F] = per_force * direction(stuck_torque(x, u, p))
    column[X.Q] = tau
    return 0.0


@kernel
def piece(x, u, p, data, work):
    """0 if the faces stick, else the sign of their torque."""
    e = stuck_torque(x, u, p)
    if abs(e) < capacity(x, p, data):
        return 0.0
    return 1.0 if e > 0.0 else -1.0


@kernel
def output(t, x, u, p, data, y, work):
    """Torque, speeds, capacity, heat, stored energy and losses."""
    tau = transmitted(x, u, p, data)
    rate = twist_rate(x, u, p, data)
    slip = u[U.A_W] - x[X.W] - rate
    y[Y.A_TAU] = tau
    y[Y.B_W] = x[X.W]
    y[Y.SLIP] = slip
    y[Y.CAPACITY] = capacity(x, p, data)
    y[Y.STUCK] = 1.0 if abs(stuck_torque(x, u, p)) < y[Y.CAPACITY] else 0.0
    y[Y.HEAT] = x[X.Q]
    y[Y.ENERGY] = 0.5 * p[P.J] * x[X.W] * x[X.W] + 0.5 * p[P.K] * x[X.PHI] * x[X.PHI]
    y[Y.FRICTION] = tau * slip
    y[Y.DAMPER] = p[P.D] * rate * rate
    y[Y.BEARING] = p[P.B] * x[X.W] * x[X.W]


@kernel
def after_step(h, old, x, u, p, data, smooth):
    """The normal force reaches its target exactly; heat is counted up to `MAX_HEAT`."""
    F_des = normal_force(u, p)
    if abs(x[X.F] - F_des) < ENGAGED_RTOL * p[P.F_MAX]:
        x[X.F] = snapped(x[X.F], F_des)
    if x[X.Q] > MAX_HEAT:
        x[X.Q] = MAX_HEAT


@kernel
def limited(x, u, p, data):
    """Whether the actuation is out of range, or the heat is no longer counted."""
    return u[U.ACTUATION] < 0.0 or u[U.ACTUATION] > 1.0 or x[X.Q] >= MAX_HEAT


framed(vars(), needs="clutch.r_o above clutch.r_i")
