"""Pump and line pressure of a variator's hydraulics as real-time kernels.

A pump of displacement D [m3/rad] turns with the engine. The valves ask for the line pressure that the higher cylinder
pressure needs, and the pump gives no more than its flow carries beyond lubrication and leakage::

    p_des = min(max(p_1, p_2, 0) + dp, p_max),    p_cap = max(D w - Q_0, 0)/k_l
    T p' = min(max(p_des, p_min), p_cap) - p
    J w' = tau - D p/eta - b w

Q_0 is the flow of lubrication and cooling, k_l the leakage of pump, valves and seals, eta the hydromechanical
efficiency. The pressure falls with the flow, so a pump that turns backwards, which valves short-circuit, has p_cap = 0.
Below zero speed the remaining pressure has no torque: it is faded in over w_r. The power of the pump
is lost: as heat of the throttled flow, ``D p w``, and in the pump::

    tau w = d/dt (J w^2/2) + D p w + (1/eta - 1) D p w + b w^2

The oil that moves the sheaves, a few percent of the flow, is not separated.
"""

from rtcvt.kernel import kernel
from rtcvt.model.frame import Shaft, framed
from rtcvt.numerics.elementary import clip
from rtcvt.table import LOSS, STORED, TINY, Row, Rows


class P(Rows):
    """Parameters."""

    J = Row("pump.J", "kg.m2", "moment of inertia of the rotor", TINY)
    D = Row("pump.D", "m3/rad", "displacement", TINY, nominal=3e-6)
    ETA = Row("pump.eta", "1", "hydromechanical efficiency", 0.1, 1.0)
    B = Row("pump.b", "N.m.s/rad", "viscous friction", 0.0, nominal=1e-3)
    Q_0 = Row("pump.Q_0", "m3/s", "flow of lubrication and cooling", 0.0, nominal=1e-4, tunable=True)
    LEAK = Row("pump.k_l", "m3/s/Pa", "leakage of pump, valves and seals", 1e-15, nominal=1e-11, tunable=True)
    P_MIN = Row("line.p_min", "Pa", "least line pressure, if the flow allows it", 0.0, nominal=1e5, display="bar")
    P_MAX = Row("line.p_max", "Pa", "pressure of the relief valve", TINY, nominal=1e6, display="bar",
                floor="line.p_min")  # fmt: skip
    MARGIN = Row("line.dp", "Pa", "line above the cylinders", 0.0, nominal=1e5, display="bar", tunable=True)
    T = Row("line.T", "s", "time constant of the line pressure", 1e-4, tunable=True)
    W_R = Row("pump.w_r", "rad/s", "speed over which the torque fades in", TINY, display="rpm")
    W_START = Row.speed("pump.w_start", "speed at the start")


class U(Rows):
    """Inputs."""

    TAU = Row("shaft.tau", "N.m", "torque into the pump at its shaft", nominal=10.0)
    P_1 = Row("line.p_1", "Pa", "pressure that the first cylinder needs", nominal=1e6, display="bar")
    P_2 = Row("line.p_2", "Pa", "pressure that the second cylinder needs", nominal=1e6, display="bar")


class X(Rows):
    """States."""

    W = Row("pump.w", "rad/s", "speed of the rotor", nominal=100.0)
    P = Row("line.p", "Pa", "line pressure", nominal=1e6)


class Y(Rows):
    """Outputs."""

    W = Row.speed("shaft.w", "speed of the shaft")
    P = Row("line.p", "Pa", "line pressure", 0.0, nominal=1e6, display="bar")
    TAU = Row("pump.tau", "N.m", "torque of pressure and friction", nominal=10.0)
    CAP = Row("line.p_cap", "Pa", "line pressure that the flow carries", 0.0, nominal=1e6, display="bar")
    LOW = Row("status.low_pressure", "1", "1: the cylinders need more than the pump gives", 0.0, 1.0)
    E = Row("storage.E", "J", "kinetic energy", 0.0, nominal=10.0, books=STORED)
    FLOW = Row("loss.flow", "W", "power of the throttled flow", 0.0, nominal=1e3, display="kW", books=LOSS)
    PUMP = Row("loss.pump", "W", "power lost in the pump", 0.0, nominal=100.0, books=LOSS)


N_X = len(X)


@kernel
def carried(w, p):
    """p_cap [Pa]."""
    flow = p[P.D] * w - p[P.Q_0]
    return flow / p[P.LEAK] if flow > 0.0 else 0.0


@kernel
def needed(u, p):
    """p_des [Pa]."""
    high = u[U.P_1] if u[U.P_1] > u[U.P_2] else u[U.P_2]
    return clip((high if high > 0.0 else 0.0) + p[P.MARGIN], p[P.P_MIN], p[P.P_MAX])


@kernel
def settled(w, u, p):
    """Pressure that the line approaches [Pa]."""
    cap = carried(w, p)
    wanted = needed(u, p)
    return cap if cap < wanted else wanted


@kernel
def hydraulic(x, p):
    """Torque of the flow without losses, D p faded in [N.m]."""
    return p[P.D] * x[X.P] * clip(x[X.W] / p[P.W_R], 0.0, 1.0)


@kernel
def start(p, data, u, x):
    """Start at the start speed with the pressure that settles."""
    if not p[P.P_MIN] <= p[P.P_MAX]:
        return False
    x[X.W] = p[P.W_START]
    x[X.P] = settled(x[X.W], u, p)
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of speed and pressure."""
    dx[X.W] = (u[U.TAU] - hydraulic(x, p) / p[P.ETA] - p[P.B] * x[X.W]) / p[P.J]
    dx[X.P] = (settled(x[X.W], u, p) - x[X.P]) / p[P.T]


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    w = x[X.W]
    fades = w > 0.0 and w < p[P.W_R]
    by_w = p[P.D] * x[X.P] / p[P.W_R] if fades else 0.0
    by_p = p[P.D] * clip(w / p[P.W_R], 0.0, 1.0)
    jac[X.W * N_X + X.W] = -(by_w / p[P.ETA] + p[P.B]) / p[P.J]
    jac[X.W * N_X + X.P] = -by_p / (p[P.ETA] * p[P.J])
    carries = carried(w, p)
    if carries > 0.0 and carries < needed(u, p):
        jac[X.P * N_X + X.W] = p[P.D] / (p[P.LEAK] * p[P.T])
    jac[X.P * N_X + X.P] = -1.0 / p[P.T]


@kernel
def output(t, x, u, p, data, y, work):
    """Speed, pressures, torque, energy and losses."""
    w = x[X.W]
    tau = hydraulic(x, p)
    y[Y.W] = w
    y[Y.P] = x[X.P]
    y[Y.TAU] = tau / p[P.ETA] + p[P.B] * w
    y[Y.CAP] = carried(w, p)
    high = u[U.P_1] if u[U.P_1] > u[U.P_2] else u[U.P_2]
    y[Y.LOW] = 1.0 if high > x[X.P] + p[P.MARGIN] else 0.0
    y[Y.E] = 0.5 * p[P.J] * w * w
    y[Y.FLOW] = tau * w
    y[Y.PUMP] = (1.0 / p[P.ETA] - 1.0) * tau * w + p[P.B] * w * w


framed(vars(), flanges={U.TAU: Shaft(X.W, P.J)})
