"""Longitudinal vehicle as real-time kernels (Mitschke and Wallentowitz, *Dynamik der Kraftfahrzeuge*, 2014, ch. 4).

Wheels of radius r_w roll without slip, so ``v = r_w w``, and::

    M v' = (tau_drive - tau_load)/r_w - F - F_aero - F_grade,    s' = v,    M = m + J_w/r_w^2
    F_aero = F_1 v + rho c_w A/2 v |v|,    F_grade = m g sin(alpha)
    C = max(tau_brake, 0)/r_w + f_R m g cos(alpha)

with the slope ``tan(alpha)`` as input. A road load measured by coasting, ``F_0 + F_1 v + F_2 v^2``, may be given
instead of the coefficients: ``f_R = F_0/(m g)``, ``rho c_w A = 2 F_2``; F_1 is zero by default.

Brakes and tyres carry F up to their capacity C, and stick below it. The model is a spring parallel to a damper, in
series with sliding faces, as in a clutch (`rtcvt.clutch.kernels`); with the force f of the spring::

    F = min(max(e, -C), C),    e = f + d v,    f' = K v where |e| < C,  K/d (F - f) where they slide
    d = M g_n/v_0,    K = d^2/(4 M)

At standstill f balances the forces on the vehicle, and v is exactly zero. The mass on this spring is critically damped.
Under a load equal to the weight it moves by ``4 v_0^2/g_n``, 2.5 um for 2.5 mm/s. The loss ``F (v - f'/K) + f'^2
d/K^2``, which is never negative, is shared by brakes and tyres in proportion to their parts of C.

Torques count into the part, except those named ``load``: a load is the torque into the neighbour, its ``NAME.tau``. Two
flanges can then be connected without a change of sign.
"""

import math

from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.numerics.elementary import clip
from rtcvt.table import HELD_LOSS, LOSS, MOTION, STORED, TINY, Row, Rows

STANDARD_GRAVITY = 9.80665  # g_n [m/s2]
BISECTIONS = 60


class P(Rows):
    """Parameters."""

    M = Row("vehicle.m", "kg", "mass of the vehicle", TINY)
    J_W = Row("vehicle.J_w", "kg.m2", "moment of inertia of all wheels and all masses that turn with them", 0.0)
    R_W = Row("vehicle.r_w", "m", "rolling radius", TINY)
    RHO_CW_A = Row("vehicle.rho_cw_A", "kg/m", "density of air times drag coefficient times frontal area", 0.0,
                   tunable=True)  # fmt: skip
    F_1 = Row("vehicle.F1", "N.s/m", "resistance in proportion to speed", nominal=1.0, tunable=True)
    F_R = Row("vehicle.f_R", "1", "coefficient of rolling resistance", 0.0, tunable=True)
    G = Row("vehicle.g", "m/s2", "acceleration of gravity", 0.0)
    V_0 = Row("vehicle.v_0", "m/s", "speed at which brakes and tyres that stick damp with the weight", 1e-4)
    V_START = Row("vehicle.v_start", "m/s", "speed at the start", nominal=30.0, display="km/h")


class U(Rows):
    """Inputs."""

    LOAD = Row("axle.load", "N.m", "torque into the driveline at the axle", nominal=1e3)
    DRIVE = Row("drive.tau", "N.m", "torque of the drive at the wheels", nominal=1e3)
    BRAKE = Row("brake.tau", "N.m", "torque of the brakes at the wheels, not negative", 0.0, nominal=1e3)
    SLOPE = Row("road.slope", "1", "slope of the road, tan(alpha), uphill positive", nominal=0.1)


class X(Rows):
    """States."""

    V = Row("vehicle.v", "m/s", "speed", nominal=30.0)
    S = Row("vehicle.s", "m", "distance", nominal=1e3)
    F = Row("vehicle.f", "N", "force of brakes and tyres that stick, in their spring", nominal=1e3)


class Y(Rows):
    """Outputs."""

    W = Row.speed("axle.w", "speed of the wheels")
    V = Row("vehicle.v", "m/s", "speed", nominal=30.0, display="km/h", books=MOTION)
    S = Row("vehicle.s", "m", "distance", nominal=1e3, display="km", books=MOTION)
    A = Row("vehicle.a", "m/s2", "acceleration", nominal=1.0)
    E = Row("storage.E", "J", "kinetic energy", 0.0, nominal=1e5, display="kJ", books=STORED)
    F_AERO = Row("force.aero", "N", "aerodynamic drag, with the resistance in proportion to speed", nominal=1e3,
                 books=LOSS)  # fmt: skip
    F_ROLL = Row("force.roll", "N", "rolling resistance", nominal=1e3, books=LOSS)
    F_GRADE = Row("force.grade", "N", "downhill force", nominal=1e3, books=HELD_LOSS)
    F_BRAKE = Row("force.brake", "N", "braking force", nominal=1e3, books=HELD_LOSS)
    HEAT_BRAKE = Row("heat.brake", "W", "heat of the brakes: power lost in them", 0.0, nominal=1e4, display="kW")
    HEAT_ROLL = Row("heat.roll", "W", "power lost by rolling resistance", 0.0, nominal=1e3, display="kW")


N_X = len(X)


@kernel
def inertia(p):
    """M: mass of the vehicle and its wheels [kg]."""
    return p[P.M] + p[P.J_W] / (p[P.R_W] * p[P.R_W])


@kernel
def damping(p):
    """d: damping of brakes and tyres that stick [N.s/m]."""
    return inertia(p) * STANDARD_GRAVITY / p[P.V_0]


@kernel
def stiffness(p):
    """K: stiffness of brakes and tyres that stick [N/m]."""
    return 0.25 * damping(p) * STANDARD_GRAVITY / p[P.V_0]


@kernel
def brake_capacity(u, p):
    """Largest force of the brakes [N]."""
    return u[U.BRAKE] / p[P.R_W] if u[U.BRAKE] > 0.0 else 0.0


@kernel
def capacity(u, p):
    """C: largest force of brakes and rolling resistance [N]."""
    slope = u[U.SLOPE]
    return brake_capacity(u, p) + p[P.F_R] * p[P.M] * p[P.G] / math.sqrt(1.0 + slope * slope)


@kernel
def sticking_force(x, p):
    """e: force of brakes and tyres if they stick [N]."""
    return x[X.F] + damping(p) * x[X.V]


@kernel
def friction_force(x, u, p):
    """F [N]."""
    C = capacity(u, p)
    return clip(sticking_force(x, p), -C, C)


@kernel
def yielding(x, u, p):
    """f'/K: speed at which the spring is stretched [m/s]; v itself where brakes and tyres stick."""
    if abs(sticking_force(x, p)) < capacity(u, p):
        return x[X.V]
    return (friction_force(x, u, p) - x[X.F]) / damping(p)


@kernel
def piece(x, u, p, data, work):
    """0 if brakes and tyres stick, else the sign of their force."""
    e = sticking_force(x, p)
    if abs(e) < capacity(u, p):
        return 0.0
    return 1.0 if e > 0.0 else -1.0


@kernel
def grade_force(u, p):
    """F_grade [N]."""
    slope = u[U.SLOPE]
    return p[P.M] * p[P.G] * slope / math.sqrt(1.0 + slope * slope)


@kernel
def outer_force(u, p):
    """Driving force on the vehicle, including its weight on a slope [N]."""
    return (u[U.DRIVE] - u[U.LOAD]) / p[P.R_W] - grade_force(u, p)


@kernel
def drag(v, p):
    """F_aero [N]."""
    return p[P.F_1] * v + 0.5 * p[P.RHO_CW_A] * v * abs(v)


@kernel
def acceleration(x, u, p):
    """v' [m/s2]."""
    return (outer_force(u, p) - friction_force(x, u, p) - drag(x[X.V], p)) / inertia(p)


@kernel
def start(p, data, u, x):
    """Start state: the start speed, and the force of brakes and tyres at it."""
    C = capacity(u, p)
    x[X.V] = p[P.V_START]
    x[X.S] = 0.0
    x[X.F] = clip(outer_force(u, p) + damping(p) * x[X.V], -C, C)
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of v, s and f."""
    dx[X.V] = acceleration(x, u, p)
    dx[X.S] = x[X.V]
    dx[X.F] = stiffness(p) * yielding(x, u, p)


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    jac[X.V * N_X + X.V] = -(p[P.F_1] + p[P.RHO_CW_A] * abs(x[X.V])) / inertia(p)
    jac[X.S * N_X + X.V] = 1.0
    if abs(sticking_force(x, p)) < capacity(u, p):
        jac[X.V * N_X + X.V] -= damping(p) / inertia(p)
        jac[X.V * N_X + X.F] = -1.0 / inertia(p)
        jac[X.F * N_X + X.V] = stiffness(p)
    else:
        jac[X.F * N_X + X.F] = -stiffness(p) / damping(p)


@kernel
def output(t, x, u, p, data, y, work):
    """Speeds, distance, acceleration, stored energy, resistances and friction losses."""
    v = x[X.V]
    F = friction_force(x, u, p)
    rate = yielding(x, u, p)
    slip = (sticking_force(x, p) - F) / damping(p)  # v - rate without rounding: 0 where they stick
    loss = F * slip + damping(p) * rate * rate
    C = capacity(u, p)
    share = brake_capacity(u, p) / (C if C > 0.0 else 1.0)
    y[Y.W] = v / p[P.R_W]
    y[Y.V] = v
    y[Y.S] = x[X.S]
    y[Y.A] = acceleration(x, u, p)
    y[Y.E] = 0.5 * inertia(p) * v * v + 0.5 * x[X.F] * x[X.F] / stiffness(p)
    y[Y.F_AERO] = drag(v, p)
    y[Y.F_ROLL] = (1.0 - share) * F
    y[Y.F_GRADE] = grade_force(u, p)
    y[Y.F_BRAKE] = share * F
    y[Y.HEAT_BRAKE] = share * loss
    y[Y.HEAT_ROLL] = (1.0 - share) * loss


@kernel
def after_step(h, old, x, u, p, data, smooth):
    """Repeat a step from `old` by the implicit Euler method if it crossed a kink.

    The force of brakes and tyres grows with the new speed, so there is one solution, and it creates no energy.
    """
    if smooth:
        return
    v = old[X.V]
    f = old[X.F]
    C = capacity(u, p)
    F = outer_force(u, p)
    K = stiffness(p)
    d = damping(p)
    low = v + h * (F - C) / inertia(p)
    high = v + h * (F + C) / inertia(p)
    low = low if low < 0.0 else 0.0
    high = high if high > 0.0 else 0.0
    for _ in range(BISECTIONS):
        x[X.V] = 0.5 * (low + high)
        e = f + (h * K + d) * x[X.V]
        if inertia(p) * (x[X.V] - v) > h * (F - clip(e, -C, C) - drag(x[X.V], p)):
            high = x[X.V]
        else:
            low = x[X.V]
    e = f + (h * K + d) * x[X.V]
    x[X.S] = old[X.S] + h * x[X.V]
    if abs(e) < C:
        x[X.F] = f + h * K * x[X.V]
    else:
        x[X.F] = (f + h * K / d * clip(e, -C, C)) / (1.0 + h * K / d)


@kernel
def flange(k, x, u, p, data, work):
    """Speed of the axle."""
    return x[X.V] / p[P.R_W]


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`."""
    for i in range(N_X):
        row[i] = 0.0
        column[i] = 0.0
    row[X.V] = 1.0 / p[P.R_W]
    column[X.V] = -1.0 / (p[P.M] * p[P.R_W] + p[P.J_W] / p[P.R_W])
    return 0.0


framed(vars())
