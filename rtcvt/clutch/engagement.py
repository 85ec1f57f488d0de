"""Controller of a clutch between a driveline and a KERS, as real-time kernels.

No ratio of a variator lets the shaft stand still while the flywheel turns. So the clutch opens where the ratio
reaches its end while the demand would move it further, and where the vehicle is too slow. It closes while the vehicle
is fast enough, at equal speeds, when the driver demands a torque that the range of the ratio allows::

    open:   v < v_min,  or  theta > theta_high - d_open and tau > tau_min,
                        or  theta < theta_low + d_open and tau < -tau_min,  or  c > 1/2
    close:  v > v_min,  |w_a - w_b| < w_sync,  and
            theta < theta_high - d_close and tau > tau_min,  or  theta > theta_low + d_close and tau < -tau_min

A slow vehicle that brakes or pulls away needs a rate of the ratio that no belt reaches: the KERS, at its limit, then
has a torque of the wrong sign, or more than twice the demanded torque. The share c measures how long this lasts. With
less than 2 E_low the demand to give is reduced, with less than E_low it is zero: an empty KERS turns with the vehicle::

    c' = (o - c)/T_c,    o = 1 if saturated, |tau_K| > tau_min, and
                             |tau_des| > tau_min, tau_des tau_K < 0,  or  E > E_low, tau_K < 2 tau_des - tau_min,
                         otherwise 0
    e = clip(E/E_low - 1, 0, 1) if tau < 0, otherwise 1

The actuation s is its own memory: above one half it stays until there is a reason to open, below it until there is a
reason to close. The share r of the transmitted torque then rises over T_r; after opening, the clutch rests until r has
fallen over T_o::

    s' = (s_des - s)/T_s,    s_des = 1 if s > 1/2 and not open, or s <= 1/2, r = 0 and close, otherwise 0
    r' = 1/T_r if s > 1/2 and r < 1,  -1/T_o if s <= 1/2 and r > 0,  otherwise 0
    tau_des = r e tau if s > 1/2, otherwise clip(K_s (w_b - w_a), +-tau_s)

While open, the KERS brings the hub to the speed of the shaft. A reason to close must last ``T_s log 2``. It is never at
once a reason to open, since d_close is above d_open.
"""

from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.numerics.elementary import snapped
from rtcvt.table import TINY, Row, Rows


class P(Rows):
    """Parameters."""

    V_MIN = Row("control.v_min", "m/s", "speed of the vehicle below which the clutch is open", display="km/h",
                tunable=True)  # fmt: skip
    W_SYNC = Row("control.w_sync", "rad/s", "speed difference below which the clutch may close", TINY, tunable=True)
    TAU_MIN = Row("control.tau_min", "N.m", "least torque that counts as a demand", 0.0, tunable=True)
    THETA_LOW = Row("control.theta_low", "rad", "end of the tilt at which the KERS is empty", tunable=True)
    THETA_HIGH = Row("control.theta_high", "rad", "end of the tilt at which the KERS is full", tunable=True)
    D_OPEN = Row("control.d_open", "rad", "distance of the tilt from an end at which the clutch opens", 0.0,
                 tunable=True)  # fmt: skip
    D_CLOSE = Row("control.d_close", "rad", "distance of the tilt from an end above which it may close, above d_open",
                  0.0, tunable=True)  # fmt: skip
    T_S = Row("control.T_s", "s", "time constant of the actuation", 1e-3, tunable=True)
    T_R = Row("control.T_r", "s", "rise time of the torque after the clutch has closed", 1e-3, tunable=True)
    T_O = Row("control.T_o", "s", "least time that the clutch stays open", 1e-3, tunable=True)
    T_C = Row("control.T_c", "s", "time constant of the share of time in which the KERS opposes", 1e-3, tunable=True)
    K_S = Row("control.K_s", "N.m.s/rad", "demanded torque of the KERS per speed difference while open", 0.0,
              tunable=True)  # fmt: skip
    TAU_S = Row("control.tau_s", "N.m", "greatest of these torques", 0.0, tunable=True)
    E_LOW = Row("control.E_low", "J", "energy below which the KERS is not asked to give", 0.0, tunable=True)
    START = Row("control.start", "1", "1: closed at the start; 0: open", 0.0, 1.0, 1.0)


class U(Rows):
    """Inputs."""

    V = Row("control.v", "m/s", "speed of the vehicle", nominal=30.0, display="km/h")
    THETA = Row("control.theta", "rad", "tilt of the KERS", nominal=1.0, display="deg")
    TAU = Row("control.tau", "N.m", "torque into the KERS that the driver asks for", nominal=100.0)
    A_W = Row.speed("a.w", "speed of the shaft that drives")
    B_W = Row.speed("b.w", "speed of the hub")
    TAU_K = Row("control.tau_kers", "N.m", "torque into the KERS at its shaft", nominal=100.0)
    SATURATED = Row.flag("control.saturated", "the KERS is at a limit")
    E = Row("control.E", "J", "energy stored in the KERS", nominal=1e5)


class X(Rows):
    """States."""

    S = Row("control.s", "1", "actuation", nominal=1.0)
    R = Row("control.r", "1", "share of the torque that is passed on", nominal=1.0)
    C = Row("control.c", "1", "share of time in which the KERS opposes", nominal=1.0)


class Y(Rows):
    """Outputs."""

    ACTUATION = Row("clutch.u", "1", "actuation of the clutch", 0.0, 1.0, 1.0)
    TAU_DES = Row("control.tau_des", "N.m", "demanded torque of the KERS", nominal=100.0)
    CLOSED = Row.flag("control.closed", "the clutch is to be closed")


ENGAGED_RTOL = 1e-9  # of the actuation


@kernel
def passed_on(x, u, p):
    """tau_des [N.m]."""
    tau = x[X.R] * u[U.TAU]
    if x[X.S] <= 0.5:
        tau = p[P.K_S] * (u[U.B_W] - u[U.A_W])
        if tau > p[P.TAU_S]:
            tau = p[P.TAU_S]
        elif tau < -p[P.TAU_S]:
            tau = -p[P.TAU_S]
    elif tau < 0.0 and u[U.E] < 2.0 * p[P.E_LOW]:
        tau *= u[U.E] / p[P.E_LOW] - 1.0 if u[U.E] > p[P.E_LOW] else 0.0
    return tau


@kernel
def opposes(x, u, p):
    """o: 1 if the KERS, at its limit, has a torque of the wrong sign, or far more than the demanded torque."""
    tau = passed_on(x, u, p)
    if x[X.S] <= 0.5 or u[U.SATURATED] == 0.0 or abs(u[U.TAU_K]) <= p[P.TAU_MIN]:
        return 0.0
    if u[U.E] > p[P.E_LOW] and u[U.TAU_K] < 2.0 * tau - p[P.TAU_MIN]:
        return 1.0
    return 1.0 if abs(tau) > p[P.TAU_MIN] and tau * u[U.TAU_K] < 0.0 else 0.0


@kernel
def must_open(x, u, p):
    """Whether there is a reason to open."""
    if u[U.V] < p[P.V_MIN] or x[X.C] > 0.5:
        return True
    if u[U.TAU] > p[P.TAU_MIN]:
        return u[U.THETA] > p[P.THETA_HIGH] - p[P.D_OPEN]
    return u[U.TAU] < -p[P.TAU_MIN] and u[U.THETA] < p[P.THETA_LOW] + p[P.D_OPEN]


@kernel
def may_close(u, p):
    """Whether there is a reason to close."""
    if not (u[U.V] > p[P.V_MIN] and abs(u[U.A_W] - u[U.B_W]) < p[P.W_SYNC]):
        return False
    if u[U.TAU] > p[P.TAU_MIN]:
        return u[U.THETA] < p[P.THETA_HIGH] - p[P.D_CLOSE]
    return u[U.TAU] < -p[P.TAU_MIN] and u[U.THETA] > p[P.THETA_LOW] + p[P.D_CLOSE]


@kernel
def wanted(x, u, p):
    """s_des: 1 to close, 0 to open."""
    closed = not must_open(x, u, p) if x[X.S] > 0.5 else x[X.R] <= 0.0 and may_close(u, p)
    return 1.0 if closed else 0.0


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of s, r and c."""
    dx[X.C] = (opposes(x, u, p) - x[X.C]) / p[P.T_C]
    dx[X.S] = (wanted(x, u, p) - x[X.S]) / p[P.T_S]
    if x[X.S] > 0.5:
        dx[X.R] = 1.0 / p[P.T_R] if x[X.R] < 1.0 else 0.0
    else:
        dx[X.R] = -1.0 / p[P.T_O] if x[X.R] > 0.0 else 0.0


@kernel
def advance(t, h, x, u, p, data, work):
    """One internal step in place, s and c by the implicit Euler scheme, r exactly; s and r arrive and go no further."""
    s_des = wanted(x, u, p)
    x[X.C] += (opposes(x, u, p) - x[X.C]) * h / (p[P.T_C] + h)
    if x[X.S] > 0.5:
        x[X.R] = x[X.R] + h / p[P.T_R] if x[X.R] + h / p[P.T_R] < 1.0 else 1.0
    else:
        x[X.R] = x[X.R] - h / p[P.T_O] if x[X.R] - h / p[P.T_O] > 0.0 else 0.0
    x[X.S] += (s_des - x[X.S]) * h / (p[P.T_S] + h)
    if abs(x[X.S] - s_des) < ENGAGED_RTOL:
        x[X.S] = snapped(x[X.S], s_des)


@kernel
def start(p, data, u, x):
    """Start open or closed, with the full torque if closed."""
    x[X.S] = p[P.START]
    x[X.R] = p[P.START]
    x[X.C] = 0.0
    return True


@kernel
def output(t, x, u, p, data, y, work):
    """Actuation, demand on the KERS, and whether the clutch counts as closed."""
    y[Y.ACTUATION] = x[X.S]
    y[Y.TAU_DES] = passed_on(x, u, p)
    y[Y.CLOSED] = 1.0 if x[X.S] > 0.5 else 0.0


framed(vars())
