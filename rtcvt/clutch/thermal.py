"""A friction clutch that gets warm, as real-time kernels: `rtcvt.clutch.kernels` with temperatures.

Two lumped masses, the plates with their faces and the housing, take the heat of the faces and give it to oil and air
(Incropera et al., *Fundamentals of Heat and Mass Transfer*, ch. 5)::

    C_p T_p' = tau w_slip - G (T_p - T_h) - G_oil (T_p - T_oil),    C_h T_h' = G (T_p - T_h) - G_air (T_h - T_air)
    mu = mu_0 f(T_p)

f is a table over the temperature [K], by default 1. All friction work becomes heat of the plates::

    Q = C_p (T_p - T_start) + C_h (T_h - T_start) + integral of G_oil (T_p - T_oil) + G_air (T_h - T_air)

Above T_max the status of a step is 1.
"""

from rtcvt.clutch import kernels as base
from rtcvt.clutch.kernels import capacity, direction, stuck_torque
from rtcvt.clutch.kernels import df_dx as base_df_dx
from rtcvt.clutch.kernels import limited as base_limited
from rtcvt.clutch.kernels import output as base_output
from rtcvt.clutch.kernels import port as base_port
from rtcvt.clutch.kernels import rates as base_rates
from rtcvt.clutch.kernels import start as base_start
from rtcvt.engine.grid import lookup, slope
from rtcvt.kernel import kernel
from rtcvt.model.frame import derived, extended, framed
from rtcvt.model.places import entry
from rtcvt.table import TINY, Places, Row

U = base.U
P = extended(
    base.P,
    __name__,
    C_P=Row("clutch.C_p", "J/K", "heat capacity of the plates", TINY),
    C_H=Row("clutch.C_h", "J/K", "heat capacity of the housing", TINY),
    G=Row("clutch.G", "W/K", "conductance between plates and housing", 0.0, nominal=1.0, tunable=True),
    G_OIL=Row("clutch.G_oil", "W/K", "conductance between plates and oil", 0.0, nominal=1.0, tunable=True),
    G_AIR=Row("clutch.G_air", "W/K", "conductance between housing and air", 0.0, nominal=1.0, tunable=True),
    T_OIL=Row("clutch.T_oil", "K", "temperature of the oil", 0.0, display="degC", tunable=True),
    T_AIR=Row("clutch.T_air", "K", "temperature of the air", 0.0, display="degC", tunable=True),
    T_START=Row("clutch.T_start", "K", "temperature of the two masses at the start", 0.0, display="degC"),
    T_MAX=Row("clutch.T_max", "K", "temperature of the plates above which the status is 1", 0.0, display="degC"),
)
X = extended(
    base.X,
    __name__,
    T_P=Row("clutch.T_plates", "K", "temperature of the plates", nominal=300.0),
    T_H=Row("clutch.T_housing", "K", "temperature of the housing", nominal=300.0),
)
Y = extended(
    base.Y,
    __name__,
    T_P=Row("clutch.T_plates", "K", "temperature of the plates", nominal=300.0, display="degC"),
    T_H=Row("clutch.T_housing", "K", "temperature of the housing", nominal=300.0, display="degC"),
    E=Row("heat.stored", "J", "heat of plates and housing since the start", nominal=1e4, display="kJ"),
    OIL=Row("heat.oil", "W", "heat to the oil", nominal=1e3, display="kW"),
    AIR=Row("heat.air", "W", "heat to the air", nominal=1e3, display="kW"),
    HOT=Row.flag("status.hot", "the plates are too hot"),
)
N_X = len(X)


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    FRICTION = "table: factor on the coefficient of friction over the temperature of the plates [K]"


@kernel
def friction(x, p, data):
    """mu."""
    return p[P.MU] * lookup(data, entry(D.FRICTION, data), x[X.T_P], 0.0)


@kernel
def capacity_slope(x, p, data):
    """Derivative of the capacity with respect to the temperature of the plates [N.m/K]."""
    table = entry(D.FRICTION, data)
    factor = lookup(data, table, x[X.T_P], 0.0)
    return capacity(x, p, data) * slope(data, table, x[X.T_P], 0.0, 0) / factor


@kernel
def to_housing(x, p):
    """Heat from the plates to the housing [W]."""
    return p[P.G] * (x[X.T_P] - x[X.T_H])


@kernel
def to_oil(x, p):
    """Heat to the oil [W]."""
    return p[P.G_OIL] * (x[X.T_P] - p[P.T_OIL])


@kernel
def to_air(x, p):
    """Heat to the air [W]."""
    return p[P.G_AIR] * (x[X.T_H] - p[P.T_AIR])


@kernel
def start(p, data, u, x):
    """Start with all masses at the same temperature."""
    x[X.T_P] = p[P.T_START]
    x[X.T_H] = p[P.T_START]
    return base_start(p, data, u, x)


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of phi, w, F, Q and both temperatures."""
    base_rates(t, x, u, p, data, dx)
    dx[X.T_P] = (dx[X.Q] - to_housing(x, p) - to_oil(x, p)) / p[P.C_P]
    dx[X.T_H] = (to_housing(x, p) - to_air(x, p)) / p[P.C_H]


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    base_df_dx(x, u, p, data, jac)
    e = stuck_torque(x, u, p)
    C = capacity(x, p, data)
    if abs(e) >= C:
        by_T = capacity_slope(x, p, data) * direction(e)
        phi_rate = (direction(e) * C - p[P.K] * x[X.PHI]) / p[P.D]
        jac[X.PHI * N_X + X.T_P] = by_T / p[P.D]
        jac[X.W * N_X + X.T_P] = by_T / p[P.J]
        jac[X.Q * N_X + X.T_P] = by_T * (u[U.A_W] - x[X.W] - phi_rate) - direction(e) * C * by_T / p[P.D]
    for i in range(N_X):
        jac[X.T_P * N_X + i] = jac[X.Q * N_X + i] / p[P.C_P]
    jac[X.T_P * N_X + X.T_P] -= (p[P.G] + p[P.G_OIL]) / p[P.C_P]
    jac[X.T_P * N_X + X.T_H] += p[P.G] / p[P.C_P]
    jac[X.T_H * N_X + X.T_P] = p[P.G] / p[P.C_H]
    jac[X.T_H * N_X + X.T_H] = -(p[P.G] + p[P.G_AIR]) / p[P.C_H]


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`."""
    direct = base_port(k, x, u, p, data, row, column, work)
    column[X.T_P] = column[X.Q] / p[P.C_P]
    if k == U.A_W and abs(stuck_torque(x, u, p)) >= capacity(x, p, data):
        row[X.T_P] = capacity_slope(x, p, data) * direction(stuck_torque(x, u, p))
    return direct


@kernel
def output(t, x, u, p, data, y, work):
    """Outputs of the clutch, temperatures and heat."""
    base_output(t, x, u, p, data, y, work)
    y[Y.T_P] = x[X.T_P]
    y[Y.T_H] = x[X.T_H]
    y[Y.E] = p[P.C_P] * (x[X.T_P] - p[P.T_START]) + p[P.C_H] * (x[X.T_H] - p[P.T_START])
    y[Y.OIL] = to_oil(x, p)
    y[Y.AIR] = to_air(x, p)
    y[Y.HOT] = 1.0 if x[X.T_P] > p[P.T_MAX] else 0.0


@kernel
def limited(x, u, p, data):
    """Whether the clutch is at a limit, or the plates too hot."""
    return base_limited(x, u, p, data) or x[X.T_P] > p[P.T_MAX]


derived(vars(), base)
framed(vars(), needs="clutch.r_o above clutch.r_i")
