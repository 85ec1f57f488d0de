"""Longitudinal vehicle on two axles with tyre slip, as real-time kernels.

The body and the wheels of an axle (front or rear) with speed w, radius r and force F of their tyres::

    m v' = F_f + F_r - F_aero - F_grade,    s' = v,    J w' = -tau_load - r F - T
    F_aero = rho c_w A/2 v |v|,    F_grade = m g sin(alpha)

**Tyres.** The magic formula for longitudinal slip, with the load F_z on the axle's two tyres (Pacejka, *Tire and
Vehicle Dynamics*, 2012, section 4.3.2, without shifts and with a linear slip stiffness), at the slip kappa of a
single contact point, the relaxation length of which falls with the secant stiffness (section 7.2.3, semi-non-linear
model)::

    F = D sin(C atan(B kappa_d - E (B kappa_d - atan(B kappa_d)))),    df = F_z/(2 F_z0) - 1,    -1 <= df <= 2
    D = mu (D_1 + D_2 df) F_z,    B C D = (K_1 + K_2 df) F_z
    kappa' = (V_s - V_t kappa)/(sigma max(F(kappa)/(B C D kappa), s)),    s = 0.01
    kappa_d = kappa + T_d q^2 V_s/sigma,    V_s = r w - v,    V_t = max(|v|, r |w|)

Steady slip is (r w - v)/(r w) of driven and (r w - v)/v of braked wheels, without a division: at rest the tyre is a
spring that carries the car on a slope. The damper T_d fades with ``q = max(1 - V_t/v_low, 0)``.

**Axle loads** follow accelerations and the slope with the delay of the pitching body::

    F_zf = m g cos(alpha) l_r/l - Z,    F_zr = m g cos(alpha) l_f/l + Z
    T_z Z' = h/l (F_f + F_r - F_aero) - Z,    l = l_f + l_r

**Brakes and rolling resistance** carry the torque T of an axle up to their capacity, and stick below it, as in
`rtcvt.vehicle.longitudinal` with wheels in place of the vehicle::

    T = min(max(e, -c), c),    e = f + d w,    f' = K w where |e| < c,  K/d (T - f) where they slide
    c = b max(tau_brake, 0) + f_R F_z r,    d = J g_n/v_0,    K = d^2/(4 J)

b is the share of the axle. Losses are integrated: ``F V_s`` of tyres, which contains what their springs store, and
those of brakes and rolling resistance, ``T w - d/dt f^2/(2 K)``, in proportion to their parts of c.
"""

import math

from rtcvt.kernel import kernel
from rtcvt.model.frame import Shaft, framed
from rtcvt.numerics.elementary import atan, clip, cos, sin
from rtcvt.table import HELD_LOSS, LOSS, MOTION, STORED, TINY, Row, Rows
from rtcvt.vehicle.longitudinal import STANDARD_GRAVITY

AXLES = 2  # front, rear
LEAST_SHARE = 0.01  # s, of the relaxation length at large slip
SMALL = 1e-4  # B kappa below which F is linear


class P(Rows):
    """Parameters."""

    M = Row("vehicle.m", "kg", "mass of the vehicle with its wheels", TINY)
    L_F = Row("vehicle.l_f", "m", "distance of the centre of mass from the front axle", TINY)
    L_R = Row("vehicle.l_r", "m", "distance of the centre of mass from the rear axle", TINY)
    H = Row("vehicle.h", "m", "height of the centre of mass", 0.0)
    T_Z = Row("vehicle.T_z", "s", "time constant of the axle loads", 1e-3, tunable=True)
    RHO_CW_A = Row("vehicle.rho_cw_A", "kg/m", "density of air times drag coefficient times frontal area", 0.0,
                   tunable=True)  # fmt: skip
    G = Row("vehicle.g", "m/s2", "acceleration of gravity", 0.0)
    V_0 = Row("vehicle.v_0", "m/s", "speed at which wheels that stick damp with their weight", 1e-4)
    V_START = Row("vehicle.v_start", "m/s", "speed at the start", nominal=30.0, display="km/h")
    J_W = Row("wheel.J_w", "kg.m2", "moment of inertia of the two wheels of an axle", TINY)
    R_W = Row("wheel.r_w", "m", "rolling radius", TINY)
    B_F = Row("brake.b_f", "1", "share of the braking torque at the front axle", 0.0, 1.0, tunable=True)
    F_R = Row("tyre.f_R", "1", "coefficient of rolling resistance", 0.0, tunable=True)
    F_Z0 = Row("tyre.F_z0", "N", "nominal load of a tyre", TINY)
    C = Row("tyre.C", "1", "shape factor, p_Cx1", 1.0, 2.0)
    D_1 = Row("tyre.D_1", "1", "coefficient of friction at the nominal load, p_Dx1", TINY)
    D_2 = Row("tyre.D_2", "1", "its change with the load, p_Dx2", nominal=0.1)
    E = Row("tyre.E", "1", "curvature factor, p_Ex1", None, 1.0, nominal=1.0)
    K_1 = Row("tyre.K_1", "1", "slip stiffness over the load at the nominal load, p_Kx1", TINY)
    K_2 = Row("tyre.K_2", "1", "its change with the load, p_Kx2", nominal=1.0)
    SIGMA = Row("tyre.sigma", "m", "relaxation length", 1e-3)
    T_D = Row("tyre.T_d", "s", "damping of the deflection at rest over its stiffness", 0.0, tunable=True)
    V_LOW = Row("tyre.v_low", "m/s", "speed at which this damping has faded", 1e-3, tunable=True)
    MU = Row("road.mu", "1", "friction of the road relative to a dry one", 1e-3, tunable=True)


class U(Rows):
    """Inputs."""

    FRONT = Row("front.load", "N.m", "torque into the driveline at the front axle", nominal=1e3)
    REAR = Row("rear.load", "N.m", "torque into the driveline at the rear axle", nominal=1e3)
    BRAKE = Row("brake.tau", "N.m", "torque of the brakes at the wheels, not negative", 0.0, nominal=1e3)
    SLOPE = Row("road.slope", "1", "slope of the road, tan(alpha), uphill positive", nominal=0.1)


class X(Rows):
    """States; those of the rear axle follow those of the front axle."""

    V = Row("vehicle.v", "m/s", "speed", nominal=30.0)
    S = Row("vehicle.s", "m", "distance", nominal=1e3)
    Z = Row("vehicle.Z", "N", "load that the rear axle takes over", nominal=1e3)
    W = Row("front.w", "rad/s", "speed of the front wheels", nominal=100.0)
    W_R = Row("rear.w", "rad/s", "speed of the rear wheels", nominal=100.0)
    SLIP = Row("front.kappa", "1", "slip of the front tyres, without the damper", nominal=0.1)
    SLIP_R = Row("rear.kappa", "1", "slip of the rear tyres, without the damper", nominal=0.1)
    F = Row("front.f", "N.m", "torque of front brakes that stick, in their spring", nominal=1e3)
    F_R = Row("rear.f", "N.m", "torque of rear brakes that stick, in their spring", nominal=1e3)
    Q_TYRES = Row("tyres.Q", "J", "energy lost by slip", nominal=1e5)
    Q_BRAKES = Row("brakes.Q", "J", "energy lost in the brakes", nominal=1e5)
    Q_ROLL = Row("rolling.Q", "J", "energy lost by rolling resistance", nominal=1e5)


class Y(Rows):
    """Outputs; those of the rear axle follow those of the front axle."""

    W = Row.speed("front.w", "speed of the front wheels")
    W_R = Row.speed("rear.w", "speed of the rear wheels")
    V = Row("vehicle.v", "m/s", "speed", nominal=30.0, display="km/h", books=MOTION)
    S = Row("vehicle.s", "m", "distance", nominal=1e3, display="km", books=MOTION)
    A = Row("vehicle.a", "m/s2", "acceleration", nominal=1.0)
    F_Z = Row("front.F_z", "N", "load on the front axle", 0.0, nominal=1e4)
    F_ZR = Row("rear.F_z", "N", "load on the rear axle", 0.0, nominal=1e4)
    FORCE = Row("front.F", "N", "force of the front tyres on the vehicle", nominal=1e3)
    FORCE_R = Row("rear.F", "N", "force of the rear tyres on the vehicle", nominal=1e3)
    SLIP = Row("front.slip", "1", "slip of the front tyres", nominal=0.1)
    SLIP_R = Row("rear.slip", "1", "slip of the rear tyres", nominal=0.1)
    E = Row("storage.E", "J", "kinetic energy, and that of brakes that stick", 0.0, nominal=1e5, display="kJ",
            books=STORED)  # fmt: skip
    F_AERO = Row("force.aero", "N", "aerodynamic drag", nominal=1e3, books=LOSS)
    F_GRADE = Row("force.grade", "N", "downhill force", nominal=1e3, books=HELD_LOSS)
    Q_TYRES = Row("tyres.Q", "J", "energy lost by slip of the tyres", nominal=1e5, display="kJ", books=LOSS)
    Q_BRAKES = Row("brakes.Q", "J", "energy lost in the brakes", nominal=1e5, display="kJ", books=LOSS)
    Q_ROLL = Row("rolling.Q", "J", "energy lost by rolling resistance", nominal=1e5, display="kJ", books=LOSS)
    BRAKES = Row("heat.brake", "W", "heat of the brakes: power lost in them", 0.0, nominal=1e4, display="kW")


N_X = len(X)


# --- tyres ------------------------------------------------------------------------------------------------------------


@kernel
def load(k, x, u, p):
    """F_z of the axle `k`, 0 at the front, 1 at the rear [N]."""
    slope = u[U.SLOPE]
    weight = p[P.M] * p[P.G] / math.sqrt(1.0 + slope * slope) / (p[P.L_F] + p[P.L_R])
    F_z = weight * p[P.L_R] - x[X.Z] if k == 0 else weight * p[P.L_F] + x[X.Z]
    return F_z if F_z > 0.0 else 0.0


@kernel
def sliding(k, x, p):
    """V_s [m/s]."""
    return p[P.R_W] * x[X.W + k] - x[X.V]


@kernel
def travel(k, x, p):
    """V_t [m/s]."""
    v = abs(x[X.V])
    v_w = p[P.R_W] * abs(x[X.W + k])
    return v if v > v_w else v_w


@kernel
def fade(k, x, p):
    """q."""
    q = 1.0 - travel(k, x, p) / p[P.V_LOW]
    return q if q > 0.0 else 0.0


@kernel
def slip(k, x, p):
    """kappa_d."""
    q = fade(k, x, p)
    return x[X.SLIP + k] + p[P.T_D] * q * q * sliding(k, x, p) / p[P.SIGMA]


@kernel
def overload(F_z, p):
    """df."""
    return clip(0.5 * F_z / p[P.F_Z0] - 1.0, -1.0, 2.0)


@kernel
def peak(F_z, p):
    """D/F_z."""
    return p[P.MU] * (p[P.D_1] + p[P.D_2] * overload(F_z, p))


@kernel
def steepness(F_z, p):
    """B."""
    return (p[P.K_1] + p[P.K_2] * overload(F_z, p)) / (p[P.C] * peak(F_z, p))


@kernel
def shape(d, z, p):
    """F/D over ``z = B kappa`` (d = 0), or its derivative."""
    g = z - p[P.E] * (z - atan(z))
    angle = p[P.C] * atan(g)
    if d == 0:
        return sin(angle)
    return cos(angle) * p[P.C] / (1.0 + g * g) * (1.0 - p[P.E] * z * z / (1.0 + z * z))


@kernel
def secant(d, z, p):
    """F/(C D z) over z (d = 0), or its derivative."""
    if abs(z) < SMALL:
        return 1.0 if d == 0 else 0.0
    share = shape(0, z, p) / (p[P.C] * z)
    if d == 0:
        return share
    slope = shape(1, z, p) / p[P.C]
    return (slope - share) / z


@kernel
def relaxation(k, x, u, p):
    """sigma max(F(kappa)/(B C D kappa), s) [m]."""
    share = secant(0, steepness(load(k, x, u, p), p) * x[X.SLIP + k], p)
    return p[P.SIGMA] * (share if share > LEAST_SHARE else LEAST_SHARE)


@kernel
def force(k, x, u, p):
    """F [N]."""
    F_z = load(k, x, u, p)
    return F_z * peak(F_z, p) * shape(0, steepness(F_z, p) * slip(k, x, p), p)


@kernel
def steepness_by_load(F_z, p):
    """dB/dF_z over B [1/N]; 0 of wheels in the air."""
    df = overload(F_z, p)
    if not (F_z > 0.0 and df < 2.0):
        return 0.0
    by_df = p[P.K_2] / (p[P.K_1] + p[P.K_2] * df) - p[P.D_2] / (p[P.D_1] + p[P.D_2] * df)
    return 0.5 * by_df / p[P.F_Z0]


@kernel
def force_by_load(k, x, u, p):
    """dF/dF_z; 0 of wheels in the air."""
    F_z = load(k, x, u, p)
    if not F_z > 0.0:
        return 0.0
    z = steepness(F_z, p) * slip(k, x, p)
    by_df = p[P.MU] * p[P.D_2] if overload(F_z, p) < 2.0 else 0.0
    by_z = F_z * peak(F_z, p) * shape(1, z, p) * z
    return (peak(F_z, p) + 0.5 * F_z / p[P.F_Z0] * by_df) * shape(0, z, p) + by_z * steepness_by_load(F_z, p)


# --- brakes -----------------------------------------------------------------------------------------------------------


@kernel
def damping(p):
    """d [N.m.s/rad]."""
    return p[P.J_W] * STANDARD_GRAVITY / p[P.V_0]


@kernel
def stiffness(p):
    """K [N.m/rad]."""
    return 0.25 * damping(p) * STANDARD_GRAVITY / p[P.V_0]


@kernel
def brake_capacity(k, u, p):
    """Largest torque of the brakes of an axle [N.m]."""
    share = p[P.B_F] if k == 0 else 1.0 - p[P.B_F]
    return share * u[U.BRAKE] if u[U.BRAKE] > 0.0 else 0.0


@kernel
def capacity(k, x, u, p):
    """c [N.m]."""
    return brake_capacity(k, u, p) + p[P.F_R] * load(k, x, u, p) * p[P.R_W]


@kernel
def sticking(k, x, p):
    """e [N.m]."""
    return x[X.F + k] + damping(p) * x[X.W + k]


@kernel
def friction(k, x, u, p):
    """T [N.m]."""
    c = capacity(k, x, u, p)
    return clip(sticking(k, x, p), -c, c)


@kernel
def yielding(k, x, u, p):
    """f'/K [rad/s]."""
    if abs(sticking(k, x, p)) < capacity(k, x, u, p):
        return x[X.W + k]
    return (friction(k, x, u, p) - x[X.F + k]) / damping(p)


@kernel
def heat(k, x, u, p):
    """Power lost by brakes and rolling resistance of an axle [W]."""
    T = friction(k, x, u, p)
    rate = yielding(k, x, u, p)
    return (sticking(k, x, p) - T) / damping(p) * T + damping(p) * rate * rate


@kernel
def braked(k, x, u, p):
    """Share of the brakes in it."""
    c = capacity(k, x, u, p)
    return brake_capacity(k, u, p) / (c if c > 0.0 else 1.0)


@kernel
def piece(x, u, p, data, work):
    """Which axles stick, and where the others slide to."""
    found = 0.0
    for k in range(AXLES):
        e = sticking(k, x, p)
        found *= 3.0
        if abs(e) >= capacity(k, x, u, p):
            found += 1.0 if e > 0.0 else 2.0
    return found


# --- equations --------------------------------------------------------------------------------------------------------


@kernel
def drag(v, p):
    """F_aero [N]."""
    return 0.5 * p[P.RHO_CW_A] * v * abs(v)


@kernel
def grade(u, p):
    """F_grade [N]."""
    slope = u[U.SLOPE]
    return p[P.M] * p[P.G] * slope / math.sqrt(1.0 + slope * slope)


@kernel
def start(p, data, u, x):
    """Start at the start speed, with the axle loads of the slope and without slip; fails if tyres have no friction."""
    for i in range(N_X):
        x[i] = 0.0
    if not (p[P.D_1] > p[P.D_2] and p[P.D_1] > -2.0 * p[P.D_2] and p[P.K_1] > p[P.K_2] and p[P.K_1] > -2.0 * p[P.K_2]):
        return False
    x[X.V] = p[P.V_START]
    x[X.Z] = p[P.H] / (p[P.L_F] + p[P.L_R]) * grade(u, p)
    for k in range(AXLES):
        x[X.W + k] = p[P.V_START] / p[P.R_W]
        c = capacity(k, x, u, p)
        x[X.F + k] = clip(damping(p) * x[X.W + k], -c, c)
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of all states."""
    pull = -drag(x[X.V], p)
    for i in range(X.Q_TYRES, N_X):
        dx[i] = 0.0
    for k in range(AXLES):
        F = force(k, x, u, p)
        lost = heat(k, x, u, p)
        share = braked(k, x, u, p)
        pull += F
        dx[X.Q_TYRES] += F * sliding(k, x, p)
        dx[X.Q_BRAKES] += share * lost
        dx[X.Q_ROLL] += (1.0 - share) * lost
        dx[X.W + k] = (-u[U.FRONT + k] - p[P.R_W] * F - friction(k, x, u, p)) / p[P.J_W]
        dx[X.SLIP + k] = (sliding(k, x, p) - travel(k, x, p) * x[X.SLIP + k]) / relaxation(k, x, u, p)
        dx[X.F + k] = stiffness(p) * yielding(k, x, u, p)
    dx[X.V] = (pull - grade(u, p)) / p[P.M]
    dx[X.S] = x[X.V]
    dx[X.Z] = (p[P.H] / (p[P.L_F] + p[P.L_R]) * pull - x[X.Z]) / p[P.T_Z]


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    v = x[X.V]
    lever = p[P.H] / (p[P.L_F] + p[P.L_R]) / p[P.T_Z]
    jac[X.V * N_X + X.V] = -p[P.RHO_CW_A] * abs(v) / p[P.M]
    jac[X.Z * N_X + X.V] = -p[P.RHO_CW_A] * abs(v) * lever
    jac[X.Z * N_X + X.Z] = -1.0 / p[P.T_Z]
    jac[X.S * N_X + X.V] = 1.0
    for k in range(AXLES):
        w = x[X.W + k]
        F_z = load(k, x, u, p)
        q = fade(k, x, p)
        rolls = p[P.R_W] * abs(w) >= abs(v)  # V_t is r |w|
        t_w = (p[P.R_W] if w > 0.0 else -p[P.R_W]) if rolls else 0.0  # derivatives of V_t
        t_v = 0.0 if rolls else (1.0 if v > 0.0 else -1.0)
        slowed = -2.0 * q / p[P.V_LOW] * sliding(k, x, p)
        B = steepness(F_z, p)
        by_slip = F_z * peak(F_z, p) * shape(1, B * slip(k, x, p), p) * B
        by_w = by_slip * p[P.T_D] / p[P.SIGMA] * (q * q * p[P.R_W] + slowed * t_w)
        by_v = by_slip * p[P.T_D] / p[P.SIGMA] * (slowed * t_v - q * q)
        sign = -1.0 if k == 0 else 1.0
        by_z = sign * force_by_load(k, x, u, p)
        F = force(k, x, u, p)
        jac[X.Q_TYRES * N_X + X.W + k] += F * p[P.R_W]
        jac[X.Q_TYRES * N_X + X.V] -= F
        for i in range(4):
            row = X.W + k
            factor = -p[P.R_W] / p[P.J_W]
            if i == 3:
                row = X.Q_TYRES + 0
                factor = sliding(k, x, p)
            elif i == 0:
                row = X.V + 0
                factor = 1.0 / p[P.M]
            elif i == 1:
                row = X.Z + 0
                factor = lever
            jac[row * N_X + X.SLIP + k] += factor * by_slip
            jac[row * N_X + X.W + k] += factor * by_w
            jac[row * N_X + X.V] += factor * by_v
            jac[row * N_X + X.Z] += factor * by_z
        at = (X.SLIP + k) * N_X
        sigma = relaxation(k, x, u, p)
        jac[at + X.V] = -(1.0 + t_v * x[X.SLIP + k]) / sigma
        jac[at + X.W + k] = (p[P.R_W] - t_w * x[X.SLIP + k]) / sigma
        jac[at + X.SLIP + k] = -travel(k, x, p) / sigma
        if sigma > LEAST_SHARE * p[P.SIGMA]:
            rate = (sliding(k, x, p) - travel(k, x, p) * x[X.SLIP + k]) / sigma
            bend = p[P.SIGMA] * secant(1, B * x[X.SLIP + k], p) * B * rate / sigma
            jac[at + X.SLIP + k] -= bend
            jac[at + X.Z] = -sign * bend * x[X.SLIP + k] * steepness_by_load(F_z, p)
        e = sticking(k, x, p)
        c = capacity(k, x, u, p)
        T = friction(k, x, u, p)
        c_z = sign * p[P.F_R] * p[P.R_W] if F_z > 0.0 else 0.0
        lost_w = T
        lost_f = (2.0 * x[X.F + k] - T) / damping(p)
        T_z = c_z if e > 0.0 else -c_z
        lost_z = T_z * (w - x[X.F + k] / damping(p))
        if abs(e) < c:
            lost_w = 2.0 * damping(p) * w
            lost_f = 0.0
            lost_z = 0.0
            jac[(X.W + k) * N_X + X.W + k] -= damping(p) / p[P.J_W]
            jac[(X.W + k) * N_X + X.F + k] = -1.0 / p[P.J_W]
            jac[(X.F + k) * N_X + X.W + k] = stiffness(p)
        else:
            jac[(X.W + k) * N_X + X.Z] -= T_z / p[P.J_W]
            jac[(X.F + k) * N_X + X.Z] = stiffness(p) / damping(p) * T_z
            jac[(X.F + k) * N_X + X.F + k] = -stiffness(p) / damping(p)
        share = braked(k, x, u, p)
        shifted = share * heat(k, x, u, p) * c_z / (c if c > 0.0 else 1.0)  # from brakes to rolling resistance
        for i in range(2):
            row = (X.Q_BRAKES + i) * N_X
            part = share if i == 0 else 1.0 - share
            jac[row + X.W + k] += part * lost_w
            jac[row + X.F + k] += part * lost_f
            jac[row + X.Z] += part * lost_z + (-shifted if i == 0 else shifted)


@kernel
def output(t, x, u, p, data, y, work):
    """Speeds, loads, forces, slips, energy and losses."""
    v = x[X.V]
    y[Y.V] = v
    y[Y.S] = x[X.S]
    y[Y.F_AERO] = drag(v, p)
    y[Y.F_GRADE] = grade(u, p)
    y[Y.E] = 0.5 * p[P.M] * v * v
    y[Y.BRAKES] = 0.0
    for k in range(AXLES):
        w = x[X.W + k]
        y[Y.W + k] = w
        y[Y.F_Z + k] = load(k, x, u, p)
        y[Y.FORCE + k] = force(k, x, u, p)
        y[Y.SLIP + k] = slip(k, x, p)
        y[Y.E] += 0.5 * p[P.J_W] * w * w + 0.5 * x[X.F + k] * x[X.F + k] / stiffness(p)
        y[Y.Q_TYRES + k] = x[X.Q_TYRES + k]
        y[Y.BRAKES] += braked(k, x, u, p) * heat(k, x, u, p)
    y[Y.Q_ROLL] = x[X.Q_ROLL]
    y[Y.A] = (y[Y.FORCE] + y[Y.FORCE_R] - y[Y.F_AERO] - y[Y.F_GRADE]) / p[P.M]


@kernel
def after_step(h, old, x, u, p, data, smooth):
    """Repeat the step of wheels from `old` by the implicit Euler method if it crossed a kink, as in
    `rtcvt.vehicle.longitudinal`; the forces of their tyres are those at `old`."""
    if smooth:
        return
    d = damping(p)
    K = stiffness(p)
    pull = -drag(old[X.V], p) - grade(u, p)
    for k in range(AXLES):
        F = force(k, old, u, p)
        pull += F
        c = capacity(k, old, u, p)
        outer = -u[U.FRONT + k] - p[P.R_W] * F
        x[X.W + k] = (p[P.J_W] * old[X.W + k] + h * (outer - old[X.F + k])) / (p[P.J_W] + h * (h * K + d))
        e = old[X.F + k] + (h * K + d) * x[X.W + k]  # of an axle that sticks; at its limit, the axle slides
        if abs(e) < c:
            x[X.F + k] = old[X.F + k] + h * K * x[X.W + k]
        else:
            T = c if e > 0.0 else -c
            x[X.W + k] = old[X.W + k] + h * (outer - T) / p[P.J_W]
            x[X.F + k] = (old[X.F + k] + h * K / d * T) / (1.0 + h * K / d)
    x[X.V] = old[X.V] + h * pull / p[P.M]
    x[X.S] = old[X.S] + h * x[X.V]
    for k in range(AXLES):
        rate = h / relaxation(k, old, u, p)
        x[X.SLIP + k] = (old[X.SLIP + k] + rate * sliding(k, x, p)) / (1.0 + rate * travel(k, x, p))
    for i in range(X.Q_TYRES, N_X):
        x[i] = old[i]
    for k in range(AXLES):
        lost = h * heat(k, x, u, p)
        share = braked(k, x, u, p)
        x[X.Q_TYRES] += h * force(k, x, u, p) * sliding(k, x, p)
        x[X.Q_BRAKES] += share * lost
        x[X.Q_ROLL] += (1.0 - share) * lost


framed(
    vars(),
    flanges={U.FRONT: Shaft(X.W, P.J_W, sign=-1.0), U.REAR: Shaft(X.W_R, P.J_W, sign=-1.0)},
    needs="tyre.D_1 above tyre.D_2 and -2 tyre.D_2, tyre.K_1 above tyre.K_2 and -2 tyre.K_2",
)
