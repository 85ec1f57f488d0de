"""Electric drive whose battery has a table and a voltage that lags, as real-time kernels: `rtcvt.engine.electric` with

U_0 and R over the state of charge s, linear in between, and one pair of R_1 and C_1 (Plett, *Battery Management
Systems* I, 2015, ch. 2: equivalent circuit of first order)::

    U = U_0(s) - U_1 - R(s) I,    U_1 = R_1 I_1,    T_1 I_1' = I - I_1,    T_1 = R_1 C_1
    E_b = C integral of U_0 from 0 to s, + T_1 R_1 I_1^2/2

The loss of the battery is ``R I^2 + R_1 I_1^2``. By default R_1 = 0.
"""

from rtcvt.engine import electric as base
from rtcvt.engine.electric import current
from rtcvt.engine.electric import df_dx as base_df_dx
from rtcvt.engine.electric import rates as base_rates
from rtcvt.engine.electric import start as base_start
from rtcvt.engine.grid import lookup, slope
from rtcvt.kernel import kernel
from rtcvt.model.frame import Shaft, derived, extended, framed
from rtcvt.model.places import entry
from rtcvt.numerics.elementary import clip
from rtcvt.table import Row

U = base.U
Y = base.Y
P = extended(
    base.P,
    __name__,
    without=("U_E", "U_F", "R"),
    R_1=Row("battery.R_1", "ohm", "resistance of the pair that lags", 0.0, nominal=0.01),
    T_1=Row("battery.T_1", "s", "time constant of this pair", 1e-3),
)
X = extended(base.X, __name__, I_1=Row("battery.I_1", "A", "current in the resistance that lags", nominal=100.0))
D = extended(
    base.D,
    __name__,
    VOLTAGE=("table: voltage without a current [V] over the state of charge", None),
    RESISTANCE=("table: resistance [ohm] over the state of charge", None),
)
N_X = len(X)


@kernel
def open_voltage(s, p, data):
    """U_0 [V]."""
    return lookup(data, entry(D.VOLTAGE, data), s, 0.0)


@kernel
def open_voltage_slope(s, p, data):
    """Derivative of the same with respect to s [V]."""
    return slope(data, entry(D.VOLTAGE, data), s, 0.0, 0)


@kernel
def resistance(s, p, data):
    """R [ohm]."""
    return lookup(data, entry(D.RESISTANCE, data), s, 0.0)


@kernel
def resistance_slope(s, p, data):
    """Derivative of the same with respect to s [ohm]."""
    return slope(data, entry(D.RESISTANCE, data), s, 0.0, 0)


@kernel
def source_voltage(x, p, data):
    """U_0 - U_1 [V]."""
    return open_voltage(x[X.S], p, data) - p[P.R_1] * x[X.I_1]


@kernel
def energy(x, p, data):
    """E_b [J]."""
    s = x[X.S]
    axis = entry(D.VOLTAGE, data) + 2
    E = s * open_voltage(0.0, p, data) if s < 0.0 else 0.0
    for i in range(entry(axis - 2, data) - 1):
        end = clip(s, data[axis + i], data[axis + i + 1])
        E += 0.5 * (open_voltage(data[axis + i], p, data) + open_voltage(end, p, data)) * (end - data[axis + i])
    if s > 1.0:
        E += (s - 1.0) * open_voltage(1.0, p, data)
    return p[P.C] * E + 0.5 * p[P.T_1] * p[P.R_1] * x[X.I_1] * x[X.I_1]


@kernel
def battery_loss(x, I, p, data):  # noqa: E741
    """Power lost in the battery at the current I [W]."""
    return resistance(x[X.S], p, data) * I * I + p[P.R_1] * x[X.I_1] * x[X.I_1]


@kernel
def least_power(p, data):
    """The most that the battery can give for long where it can give least [W]."""
    axis = entry(D.VOLTAGE, data) + 2
    least = 1e15
    for i in range(entry(axis - 2, data)):
        U_0 = open_voltage(data[axis + i], p, data)
        power = U_0 * U_0 / (4.0 * (resistance(data[axis + i], p, data) + p[P.R_1]))
        least = power if power < least else least
    return least


@kernel
def is_ordered(p):
    """The table is checked where it is read."""
    return True


@kernel
def start(p, data, u, x):
    """Start without a voltage that lags."""
    x[X.I_1] = 0.0
    return base_start(p, data, u, x)


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of w, tau, s and I_1."""
    base_rates(t, x, u, p, data, dx)
    dx[X.I_1] = (current(x, p, data) - x[X.I_1]) / p[P.T_1]


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    base_df_dx(x, u, p, data, jac)
    I = current(x, p, data)  # noqa: E741
    drop = p[P.C] * (source_voltage(x, p, data) - 2.0 * resistance(x[X.S], p, data) * I)
    jac[X.S * N_X + X.I_1] = -I * p[P.R_1] / drop
    for i in range(N_X):
        jac[X.I_1 * N_X + i] = -p[P.C] * jac[X.S * N_X + i] / p[P.T_1]
    jac[X.I_1 * N_X + X.I_1] -= 1.0 / p[P.T_1]


derived(vars(), base)
framed(vars(), flanges={U.TAU: Shaft(X.W, P.J)}, needs=base.STRONG)
