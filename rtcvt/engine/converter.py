"""Hydrodynamic torque converter as real-time kernels: pump and turbine as inertias, a fluid between them.

With the speed ratio ``nu = w_t/w_p`` the torque on the pump is ``T_p = C(nu) w_p^2``, on the turbine ``T_t = mu(nu)
T_p``: the capacity ``C = 1/K^2``, of the factor ``K = w_p/sqrt(T_p)``, and the torque ratio mu come from a table from
nu = 0 to 1, with C = 0 and mu = 1 at its end (Mitschke and Wallentowitz, *Dynamik der Kraftfahrzeuge*, 2014, ch. 4)::

    J_p w_p' = tau_pump - T_p,        J_t w_t' = tau_turbine + T_t

Where the turbine is faster, it drives, and torque is not multiplied: ``T_p = T_t = -C(w_p/w_t) w_t^2``. Where they turn
in opposite directions C is that at nu = 0, and mu falls to 1 at nu = -1. All of this is odd in the speeds. Power is
balanced, and the loss is not negative since ``mu nu <= 1``, which is checked::

    tau_pump w_p + tau_turbine w_t = d/dt (J_p w_p^2 + J_t w_t^2)/2 + T_p w_p - T_t w_t

A lock-up clutch is a separate unit in parallel: ``"converter.pump - lockup.a"``.
"""

from rtcvt.engine.grid import lookup, slope
from rtcvt.kernel import kernel
from rtcvt.model.frame import Shaft, framed
from rtcvt.model.places import entry
from rtcvt.table import LOSS, STORED, TINY, Places, Row, Rows


class P(Rows):
    """Parameters."""

    J_P = Row("converter.J_p", "kg.m2", "moment of inertia of the pump with its shell", TINY)
    J_T = Row("converter.J_t", "kg.m2", "moment of inertia of the turbine with its shaft", TINY)
    W_P_START = Row.speed("converter.w_p_start", "speed of the pump at the start")
    W_T_START = Row.speed("converter.w_t_start", "speed of the turbine at the start")


class U(Rows):
    """Inputs."""

    PUMP = Row("pump.tau", "N.m", "torque into the pump at its flange", nominal=100.0)
    TURBINE = Row("turbine.tau", "N.m", "torque into the turbine at its flange", nominal=100.0)


class X(Rows):
    """States."""

    W_P = Row("converter.w_p", "rad/s", "speed of the pump", nominal=100.0)
    W_T = Row("converter.w_t", "rad/s", "speed of the turbine", nominal=100.0)


class Y(Rows):
    """Outputs."""

    W_P = Row.speed("pump.w", "speed of the pump")
    W_T = Row.speed("turbine.w", "speed of the turbine")
    TAU_P = Row("converter.tau_p", "N.m", "torque of the fluid on the pump", nominal=100.0)
    TAU_T = Row("converter.tau_t", "N.m", "torque that the fluid gives to the turbine", nominal=100.0)
    RATIO = Row("converter.mu", "1", "torque ratio at these speeds", 1.0, nominal=1.0)
    E = Row("storage.E", "J", "kinetic energy", 0.0, nominal=1e3, display="kJ", books=STORED)
    LOST = Row("loss.fluid", "W", "power lost in the fluid", nominal=1e3, display="kW", books=LOSS)


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    CAPACITY = "table: capacity over speed ratio [N.m.s2/rad2], twice"
    RATIO = "table: torque ratio over speed ratio, twice"


@kernel
def torque_ratio(d, nu, data):
    """mu (d = 0) or its derivative, where the pump drives."""
    table = entry(D.RATIO, data)
    if nu >= 0.0:
        if d == 0:
            return lookup(data, table, nu, 0.0)
        return slope(data, table, nu, 0.0, 0)
    most = lookup(data, table, 0.0, 0.0) - 1.0
    return 1.0 + most * (1.0 + nu) if d == 0 else most


@kernel
def capacity(d, nu, data):
    """C [N.m.s2/rad2] (d = 0) or its derivative."""
    if d == 0:
        return lookup(data, entry(D.CAPACITY, data), nu, 0.0)
    return slope(data, entry(D.CAPACITY, data), nu, 0.0, 0)


@kernel
def pump_drives(x):
    """Whether the pump is the faster one."""
    return abs(x[X.W_P]) >= abs(x[X.W_T])


@kernel
def fluid(x, data):
    """T_p [N.m]."""
    if pump_drives(x):
        w = x[X.W_P]
        if w == 0.0:
            return 0.0
        return capacity(0, x[X.W_T] / w, data) * w * abs(w)
    w = x[X.W_T]
    return -capacity(0, x[X.W_P] / w, data) * w * abs(w)


@kernel
def multiplied(x, data):
    """mu at the present speeds."""
    if not pump_drives(x) or x[X.W_P] == 0.0:
        return 1.0
    return torque_ratio(0, x[X.W_T] / x[X.W_P], data)


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of the speeds of pump and turbine."""
    tau = fluid(x, data)
    dx[X.W_P] = (u[U.PUMP] - tau) / p[P.J_P]
    dx[X.W_T] = (u[U.TURBINE] + multiplied(x, data) * tau) / p[P.J_T]


@kernel
def start(p, data, u, x):
    """Start at the start speeds."""
    x[X.W_P] = p[P.W_P_START]
    x[X.W_T] = p[P.W_T_START]
    return True


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    by_p = 0.0  # derivatives of T_p
    by_t = 0.0
    mu = multiplied(x, data)
    mu_p = 0.0  # those of mu
    mu_t = 0.0
    if pump_drives(x):
        w = x[X.W_P]
        if w != 0.0:
            nu = x[X.W_T] / w
            by_t = capacity(1, nu, data) * abs(w)
            by_p = 2.0 * capacity(0, nu, data) * abs(w) - nu * by_t
            mu_t = torque_ratio(1, nu, data) / w
            mu_p = -nu * mu_t
    else:
        w = x[X.W_T]
        nu = x[X.W_P] / w
        by_p = -capacity(1, nu, data) * abs(w)
        by_t = -2.0 * capacity(0, nu, data) * abs(w) - nu * by_p
    tau = fluid(x, data)
    jac[0] = -by_p / p[P.J_P]
    jac[1] = -by_t / p[P.J_P]
    jac[2] = (mu * by_p + mu_p * tau) / p[P.J_T]
    jac[3] = (mu * by_t + mu_t * tau) / p[P.J_T]


@kernel
def output(t, x, u, p, data, y, work):
    """Speeds, torques of the fluid, energy and loss."""
    tau = fluid(x, data)
    y[Y.W_P] = x[X.W_P]
    y[Y.W_T] = x[X.W_T]
    y[Y.TAU_P] = tau
    y[Y.RATIO] = multiplied(x, data)
    y[Y.TAU_T] = y[Y.RATIO] * tau
    y[Y.E] = 0.5 * p[P.J_P] * x[X.W_P] * x[X.W_P] + 0.5 * p[P.J_T] * x[X.W_T] * x[X.W_T]
    y[Y.LOST] = tau * x[X.W_P] - y[Y.TAU_T] * x[X.W_T]


framed(vars(), flanges={U.PUMP: Shaft(X.W_P, P.J_P), U.TURBINE: Shaft(X.W_T, P.J_T)})
