"""Longitudinal vehicle, driveline, driver and driving cycle as real-time kernels.

**Vehicle** (Mitschke and Wallentowitz, *Dynamik der Kraftfahrzeuge*, 2014, ch. 4): wheels of radius r_w roll without
slip, so ``v = r_w w``, and ::

    M v' = (tau_drive - tau_load)/r_w - F - F_aero - F_grade,    s' = v,    M = m + J_w/r_w^2
    F_aero = rho c_w A/2 v |v|,    F_grade = m g sin(alpha)
    C = max(tau_brake, 0)/r_w + f_R m g cos(alpha)

with the slope ``tan(alpha)`` as input. Brakes and tyres carry F up to their capacity C, and stick below it. They are a
spring beside a damper behind the faces that slide, as a clutch is (`rtcvt.clutch.kernels`); with the force f of the
spring::

    F = min(max(e, -C), C),    e = f + d v,    f' = K v where |e| < C,  K/d (F - f) where they slide
    d = M g_n/v_0,    K = d^2/(4 M)

At standstill f balances what acts on the vehicle, and v is zero, not small. The mass on this spring is critically
damped. Under a load as large as the weight it yields by ``4 v_0^2/g_n``, 2.5 um for 2.5 mm/s. The loss is
``F (v - f'/K) + f'^2 d/K^2``, which is never negative, of brakes and tyres as their capacities share C.

**Driveline**: a half-shaft, a spring with a damper, and a final drive with ``w = i w_axle`` when nothing twists::

    phi' = w_axle - w/i,   tau_axle = K phi + d phi',   J w' = tau_axle/i - mu |tau_axle|/i sigma(w) - b w - tau_load

The loss of the teeth is proportional to what they carry, and takes power out whichever way this flows.

**Driver**: a PI controller of speed demands a torque at the wheels; the KERS takes its share, and drive or brake make
up for what it does not deliver, from its measured torque through a filter::

    tau = K_p (v_des - v+) + z,    z' = K_i (v_des - v+) + (sat(tau) - tau)/T_t - h z/T_h,    v+ = max(v, 0)
    a'  = (tau_axle - a)/T_f,      tau_drive = max(tau_1, 0),    tau_1 = sat(tau) + a
    tau_brake = clip(max(h^2 tau_hold - tau_1, min(-v/v_h, 1) tau_brake_max), 0, tau_brake_max)
    tau_kers = -clip(tau, tau_kers_max) q (1 - h)/i,   h = v_h^2/(v_h^2 + v_des^2 + v+^2)

``T_t`` ends the wind-up of z at a limit, ``h`` is 1 while the vehicle stands and is to stand: the driver then lets go
of the integrator and holds the brake, until the drive takes over. Rolling backwards is stopped by the brakes alone. The
demand on the KERS fades out by q where it cannot be met: charging with the tilt between theta_high - theta_band and
theta_high and the energy between E_full - E_band and E_full, discharging with the tilt between theta_low + theta_band
and theta_low. Where the tilt goes beyond theta_high, because the vehicle slows down with a flywheel that turns too fast
for what is to come, q is negative: the KERS gives back what the brakes take.

**Cycle**: a table of speeds over time, linear in between; the distance is its exact integral.

Torques count into the part, except those named ``load``: a load is what the neighbour takes, that is the neighbour's
``NAME.tau``. Two flanges can then be connected without a change of sign.
"""

import math

from rtcvt.kernel import FAILED, kernel
from rtcvt.model.stepping import enter, leave, start_status
from rtcvt.numerics.integrators import STAGES, rosenbrock_matrix, rosenbrock_new, rosenbrock_solve, rosenbrock_stage
from rtcvt.vehicle.layout import (
    CarP,
    CarU,
    CarX,
    CarY,
    CycleX,
    CycleY,
    D,
    DriverP,
    DriverU,
    DriverX,
    DriverY,
    Kind,
    LineP,
    LineU,
    LineX,
    LineY,
)

STANDARD_GRAVITY = 9.80665  # g_n [m/s2]
BISECTIONS = 60
HALVINGS = 30  # of a table with at most 1e9 points


@kernel
def smooth_sign(v, v_0):
    """sigma(v)."""
    return v / math.sqrt(v * v + v_0 * v_0)


@kernel
def smooth_sign_slope(v, v_0):
    """``d sigma/dv``."""
    s = v * v + v_0 * v_0
    return v_0 * v_0 / (s * math.sqrt(s))


@kernel
def clip(value, low, high):
    """`value` within its limits."""
    if value < low:
        return low
    if value > high:
        return high
    return value


# --- longitudinal vehicle ---------------------------------------------------------------------------------------------


@kernel
def inertia(p):
    """M: mass of the vehicle and its wheels [kg]."""
    return p[CarP.M] + p[CarP.J_W] / (p[CarP.R_W] * p[CarP.R_W])


@kernel
def damping(p):
    """d: damping of brakes and tyres that stick [N.s/m]."""
    return inertia(p) * STANDARD_GRAVITY / p[CarP.V_0]


@kernel
def stiffness(p):
    """K: stiffness of brakes and tyres that stick [N/m]."""
    return 0.25 * damping(p) * STANDARD_GRAVITY / p[CarP.V_0]


@kernel
def brake_capacity(u, p):
    """What the brakes carry at most [N]."""
    return u[CarU.BRAKE] / p[CarP.R_W] if u[CarU.BRAKE] > 0.0 else 0.0


@kernel
def capacity(u, p):
    """C: what brakes and rolling resistance carry at most [N]."""
    slope = u[CarU.SLOPE]
    return brake_capacity(u, p) + p[CarP.F_R] * p[CarP.M] * p[CarP.G] / math.sqrt(1.0 + slope * slope)


@kernel
def sticking_force(x, p):
    """e: what brakes and tyres carry if they stick [N]."""
    return x[CarX.F] + damping(p) * x[CarX.V]


@kernel
def friction_force(x, u, p):
    """F [N]."""
    C = capacity(u, p)
    return clip(sticking_force(x, p), -C, C)


@kernel
def yielding(x, u, p):
    """f'/K: speed at which the spring is stretched [m/s]; v itself where brakes and tyres stick."""
    if vehicle_piece(x, u, p) == 0.0:
        return x[CarX.V]
    return (friction_force(x, u, p) - x[CarX.F]) / damping(p)


@kernel
def vehicle_piece(x, u, p):
    """0 if brakes and tyres stick, else the sign of what they carry."""
    e = sticking_force(x, p)
    if abs(e) < capacity(u, p):
        return 0.0
    return 1.0 if e > 0.0 else -1.0


@kernel
def grade_force(u, p):
    """F_grade [N]."""
    slope = u[CarU.SLOPE]
    return p[CarP.M] * p[CarP.G] * slope / math.sqrt(1.0 + slope * slope)


@kernel
def outer_force(u, p):
    """What drives the vehicle, its weight on a slope included [N]."""
    return (u[CarU.DRIVE] - u[CarU.LOAD]) / p[CarP.R_W] - grade_force(u, p)


@kernel
def drag(v, p):
    """F_aero [N]."""
    return 0.5 * p[CarP.RHO_CW_A] * v * abs(v)


@kernel
def acceleration(x, u, p):
    """v' [m/s2]."""
    return (outer_force(u, p) - friction_force(x, u, p) - drag(x[CarX.V], p)) / inertia(p)


@kernel
def implicit_euler(h, v, s, f, x, u, p):
    """A step from `v`, `s` and `f` to `x` by the implicit Euler method, across a kink.

    What brakes and tyres carry grows with the new speed, so there is one, and it makes no energy.
    """
    C = capacity(u, p)
    F = outer_force(u, p)
    K = stiffness(p)
    d = damping(p)
    low = v + h * (F - C) / inertia(p)
    high = v + h * (F + C) / inertia(p)
    low = low if low < 0.0 else 0.0
    high = high if high > 0.0 else 0.0
    for _ in range(BISECTIONS):
        x[CarX.V] = 0.5 * (low + high)
        e = f + (h * K + d) * x[CarX.V]
        if inertia(p) * (x[CarX.V] - v) > h * (F - clip(e, -C, C) - drag(x[CarX.V], p)):
            high = x[CarX.V]
        else:
            low = x[CarX.V]
    e = f + (h * K + d) * x[CarX.V]
    x[CarX.S] = s + h * x[CarX.V]
    if abs(e) < C:
        x[CarX.F] = f + h * K * x[CarX.V]
    else:
        x[CarX.F] = (f + h * K / d * clip(e, -C, C)) / (1.0 + h * K / d)


@kernel
def vehicle_initialise(x, u, p):
    """Start at the start speed, with what brakes and tyres then carry."""
    C = capacity(u, p)
    x[CarX.V] = p[CarP.V_START]
    x[CarX.F] = clip(outer_force(u, p) + damping(p) * x[CarX.V], -C, C)


@kernel
def vehicle_derivative(x, u, p, dx):
    """Rates of v, s and f."""
    dx[CarX.V] = acceleration(x, u, p)
    dx[CarX.S] = x[CarX.V]
    dx[CarX.F] = stiffness(p) * yielding(x, u, p)


@kernel
def vehicle_jacobian(x, u, p, jac):
    """``df/dx``."""
    n = CarX.F + 1
    for i in range(n * n):
        jac[i] = 0.0
    jac[CarX.V * n + CarX.V] = -p[CarP.RHO_CW_A] * abs(x[CarX.V]) / inertia(p)
    jac[CarX.S * n + CarX.V] = 1.0
    if vehicle_piece(x, u, p) == 0.0:
        jac[CarX.V * n + CarX.V] -= damping(p) / inertia(p)
        jac[CarX.V * n + CarX.F] = -1.0 / inertia(p)
        jac[CarX.F * n + CarX.V] = stiffness(p)
    else:
        jac[CarX.F * n + CarX.F] = -stiffness(p) / damping(p)


@kernel
def vehicle_output(x, u, p, y):
    """Speeds, distance, acceleration, stored energy, resistances and what is lost by friction."""
    v = x[CarX.V]
    F = friction_force(x, u, p)
    rate = yielding(x, u, p)
    slip = (sticking_force(x, p) - F) / damping(p)  # v - rate without rounding: 0 where they stick
    loss = F * slip + damping(p) * rate * rate
    C = capacity(u, p)
    share = brake_capacity(u, p) / (C if C > 0.0 else 1.0)
    y[CarY.W] = v / p[CarP.R_W]
    y[CarY.V] = v
    y[CarY.S] = x[CarX.S]
    y[CarY.A] = acceleration(x, u, p)
    y[CarY.E] = 0.5 * inertia(p) * v * v + 0.5 * x[CarX.F] * x[CarX.F] / stiffness(p)
    y[CarY.F_AERO] = drag(v, p)
    y[CarY.F_ROLL] = (1.0 - share) * F
    y[CarY.F_GRADE] = grade_force(u, p)
    y[CarY.F_BRAKE] = share * F
    y[CarY.LOSS_BRAKE] = share * loss
    y[CarY.LOSS_ROLL] = (1.0 - share) * loss


# --- driveline --------------------------------------------------------------------------------------------------------


@kernel
def axle_torque(x, u, p):
    """Torque of the half-shaft [N.m]."""
    return p[LineP.K] * x[LineX.PHI] + p[LineP.D] * (u[LineU.AXLE_W] - x[LineX.W] / p[LineP.RATIO])


@kernel
def driveline_derivative(x, u, p, dx):
    """Rates of phi and w."""
    tau = axle_torque(x, u, p)
    carried = (tau - p[LineP.MU] * abs(tau) * smooth_sign(x[LineX.W], p[LineP.W_0])) / p[LineP.RATIO]
    dx[LineX.PHI] = u[LineU.AXLE_W] - x[LineX.W] / p[LineP.RATIO]
    dx[LineX.W] = (carried - p[LineP.B] * x[LineX.W] - u[LineU.LOAD]) / p[LineP.J]


@kernel
def driveline_jacobian(x, u, p, jac):
    """``df/dx``."""
    tau = axle_torque(x, u, p)
    sign = 1.0 if tau > 0.0 else -1.0
    carried = (1.0 - p[LineP.MU] * sign * smooth_sign(x[LineX.W], p[LineP.W_0])) / p[LineP.RATIO]  # per N.m at the axle
    jac[0] = 0.0
    jac[1] = -1.0 / p[LineP.RATIO]
    jac[2] = carried * p[LineP.K] / p[LineP.J]
    jac[3] = (
        -carried * p[LineP.D] / p[LineP.RATIO]
        - p[LineP.MU] * abs(tau) * smooth_sign_slope(x[LineX.W], p[LineP.W_0]) / p[LineP.RATIO]
        - p[LineP.B]
    )
    jac[3] /= p[LineP.J]


@kernel
def driveline_output(x, u, p, y):
    """Torque at the axle, speed of the shaft, stored energy and lost power."""
    tau = axle_torque(x, u, p)
    twist = u[LineU.AXLE_W] - x[LineX.W] / p[LineP.RATIO]
    w = x[LineX.W]
    y[LineY.AXLE_TAU] = tau
    y[LineY.W] = w
    y[LineY.E] = 0.5 * p[LineP.K] * x[LineX.PHI] * x[LineX.PHI] + 0.5 * p[LineP.J] * w * w
    y[LineY.LOSS] = (
        p[LineP.D] * twist * twist
        + (p[LineP.MU] * abs(tau) / p[LineP.RATIO] * smooth_sign(w, p[LineP.W_0]) + p[LineP.B] * w) * w
    )


# --- driver -----------------------------------------------------------------------------------------------------------


@kernel
def forward_speed(u):
    """v+: speed of the vehicle, 0 if it rolls backwards [m/s]."""
    return u[DriverU.V] if u[DriverU.V] > 0.0 else 0.0


@kernel
def standing(u, p):
    """h: 1 while the vehicle stands, or rolls backwards, and is to stand."""
    v = forward_speed(u)
    v_h2 = p[DriverP.V_H] * p[DriverP.V_H]
    return v_h2 / (v_h2 + u[DriverU.V_DES] * u[DriverU.V_DES] + v * v)


@kernel
def demand(x, u, p):
    """Torque that the driver wants at the wheels [N.m], without limits."""
    return p[DriverP.K_P] * (u[DriverU.V_DES] - forward_speed(u)) + x[DriverX.Z]


@kernel
def driver_derivative(x, u, p, dx):
    """Rates of z and a."""
    tau = demand(x, u, p)
    dx[DriverX.Z] = (
        p[DriverP.K_I] * (u[DriverU.V_DES] - forward_speed(u))
        + (clip(tau, -p[DriverP.TAU_BRAKE], p[DriverP.TAU_DRIVE]) - tau) / p[DriverP.T_T]
    )
    dx[DriverX.Z] -= standing(u, p) * x[DriverX.Z] / p[DriverP.T_H]
    dx[DriverX.A] = (u[DriverU.AXLE_TAU] - x[DriverX.A]) / p[DriverP.T_F]


@kernel
def driver_jacobian(x, u, p, jac):
    """``df/dx``."""
    tau = demand(x, u, p)
    jac[0] = -standing(u, p) / p[DriverP.T_H]
    if tau < -p[DriverP.TAU_BRAKE] or tau > p[DriverP.TAU_DRIVE]:
        jac[0] -= 1.0 / p[DriverP.T_T]
    jac[1] = 0.0
    jac[2] = 0.0
    jac[3] = -1.0 / p[DriverP.T_F]


@kernel
def availability(tau, u, p):
    """q: share of a demand `tau` [N.m] at the wheels that is passed on to the KERS."""
    if tau > 0.0:
        return clip((u[DriverU.THETA] - p[DriverP.THETA_LOW]) / p[DriverP.THETA_BAND], 0.0, 1.0)
    by_tilt = clip((p[DriverP.THETA_HIGH] - u[DriverU.THETA]) / p[DriverP.THETA_BAND], -1.0, 1.0)
    by_energy = clip((p[DriverP.E_FULL] - u[DriverU.E]) / p[DriverP.E_BAND], 0.0, 1.0)
    return by_tilt if by_tilt < by_energy else by_energy


@kernel
def driver_output(x, u, p, y):
    """Demands on drive, brake and KERS."""
    h = standing(u, p)
    tau = clip(demand(x, u, p), -p[DriverP.TAU_BRAKE], p[DriverP.TAU_DRIVE])
    rest = tau + x[DriverX.A]
    y[DriverY.DRIVE] = clip(rest, 0.0, p[DriverP.TAU_DRIVE])
    hold = h * h * p[DriverP.TAU_HOLD] - rest  # more than -rest
    back = clip(-u[DriverU.V] / p[DriverP.V_H], 0.0, 1.0) * p[DriverP.TAU_BRAKE]
    y[DriverY.BRAKE] = clip(hold if hold > back else back, 0.0, p[DriverP.TAU_BRAKE])
    share = (1.0 - h) * availability(tau, u, p)
    y[DriverY.KERS] = -share * clip(tau, -p[DriverP.TAU_KERS], p[DriverP.TAU_KERS]) / p[DriverP.RATIO]


# --- cycle ------------------------------------------------------------------------------------------------------------


@kernel
def interval(t, data):
    """Which interval of the cycle's table a time is in, the first or last one beyond it.

    That where it would be among equal ones is looked at before.
    """
    times = int(data[D.TIMES])
    low = 0
    high = int(data[D.POINTS]) - 1
    share = (t - data[times]) / (data[times + high] - data[times])
    if share >= 0.0 and share < 1.0:
        guess = int(share * high)
        if guess < high and data[times + guess] <= t and t < data[times + guess + 1]:
            return guess
    for _ in range(HALVINGS):
        if high - low < 2:
            break
        middle = int(0.5 * (low + high))
        if data[times + middle] <= t:
            low = middle
        else:
            high = middle
    return low


@kernel
def cycle_speed(t, data):
    """v_des [m/s] at time t [s]."""
    k = interval(t, data)
    at = int(data[D.TIMES]) + k
    v = int(data[D.SPEEDS]) + k
    return data[v] + clip((t - data[at]) / (data[at + 1] - data[at]), 0.0, 1.0) * (data[v + 1] - data[v])


@kernel
def cycle_way(t, data):
    """Integral of v_des [m] from time 0 to t [s]; beyond the table the speeds of its ends are kept."""
    k = interval(t, data)
    at = int(data[D.TIMES]) + k
    v = cycle_speed(t, data)
    within = clip(t, data[at], data[at + 1])
    way = data[int(data[D.WAYS]) + k] + 0.5 * (within - data[at]) * (data[int(data[D.SPEEDS]) + k] + v)
    return way + (t - within) * v


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def initialise(p, data, u, x, work):
    """Start at the start speed, nothing twisted, at time zero of the cycle."""
    for i in range(int(data[D.N_X])):
        x[i] = 0.0
    if int(data[D.KIND]) == Kind.VEHICLE:
        vehicle_initialise(x, u, p)
    elif int(data[D.KIND]) == Kind.DRIVELINE:
        x[LineX.W] = p[LineP.W_START]
    n = int(data[D.N_X])
    dx = work[int(data[D.W_F]) : int(data[D.W_F]) + n]
    derivative(0.0, x, u, p, data, dx, work)
    return start_status(n, x, dx)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Right-hand side of the part."""
    kind = int(data[D.KIND])
    if kind == Kind.VEHICLE:
        vehicle_derivative(x, u, p, dx)
    elif kind == Kind.DRIVELINE:
        driveline_derivative(x, u, p, dx)
    elif kind == Kind.DRIVER:
        driver_derivative(x, u, p, dx)
    elif kind == Kind.CYCLE:
        dx[CycleX.S] = cycle_speed(t, data)


@kernel
def jacobian(t, x, u, p, data, jac, work):
    """Exact ``df/dx``, row-major, inputs held."""
    kind = int(data[D.KIND])
    if kind == Kind.VEHICLE:
        vehicle_jacobian(x, u, p, jac)
    elif kind == Kind.DRIVELINE:
        driveline_jacobian(x, u, p, jac)
    elif kind == Kind.DRIVER:
        driver_jacobian(x, u, p, jac)
    elif kind == Kind.CYCLE:
        jac[0] = 0.0


@kernel
def linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and ``df/dx``."""
    derivative(t, x, u, p, data, f, work)
    jacobian(t, x, u, p, data, jac, work)


@kernel
def flange(k, x, u, p, data, work):
    """Speed of a flange that takes a torque, torque of one that takes a speed."""
    if int(data[D.KIND]) == Kind.VEHICLE:
        return x[CarX.V] / p[CarP.R_W]
    if k == LineU.LOAD:
        return x[LineX.W]
    return axle_torque(x, u, p)


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`; the axle of a vehicle, axle or shaft of a driveline."""
    for i in range(int(data[D.N_X])):
        row[i] = 0.0
        column[i] = 0.0
    if int(data[D.KIND]) == Kind.VEHICLE:
        row[CarX.V] = 1.0 / p[CarP.R_W]
        column[CarX.V] = -1.0 / (p[CarP.M] * p[CarP.R_W] + p[CarP.J_W] / p[CarP.R_W])
    elif k == LineU.LOAD:
        row[LineX.W] = 1.0
        column[LineX.W] = -1.0 / p[LineP.J]
    else:
        row[LineX.PHI] = p[LineP.K]
        row[LineX.W] = -p[LineP.D] / p[LineP.RATIO]
        column[LineX.PHI] = 1.0
        sign = 1.0 if axle_torque(x, u, p) > 0.0 else -1.0
        carried = 1.0 - p[LineP.MU] * sign * smooth_sign(x[LineX.W], p[LineP.W_0])
        column[LineX.W] = carried / p[LineP.RATIO] * p[LineP.D] / p[LineP.J]
        return p[LineP.D]
    return 0.0


@kernel
def piece(x, u, p, data, work):
    """Whether a vehicle sticks; the way in which a driveline carries its torque, on which its loss depends."""
    if int(data[D.KIND]) == Kind.VEHICLE:
        return vehicle_piece(x, u, p)
    if int(data[D.KIND]) == Kind.DRIVELINE:
        return 1.0 if axle_torque(x, u, p) > 0.0 else -1.0
    return 0.0


@kernel
def output(t, x, u, p, data, y, work):
    """Outputs of the part."""
    kind = int(data[D.KIND])
    if kind == Kind.VEHICLE:
        vehicle_output(x, u, p, y)
    elif kind == Kind.DRIVELINE:
        driveline_output(x, u, p, y)
    elif kind == Kind.DRIVER:
        driver_output(x, u, p, y)
    elif kind == Kind.CYCLE:
        y[CycleY.V] = cycle_speed(t, data)
        y[CycleY.S] = x[CycleX.S]


@kernel
def advance(t, h, x, u, p, data, work):
    """One internal step in place, see `rtcvt.numerics.integrators`; exact for a cycle."""
    if int(data[D.KIND]) == Kind.CYCLE:
        x[CycleX.S] += cycle_way(t + h, data) - cycle_way(t, data)
        return
    n = int(data[D.N_X])
    f = work[int(data[D.W_F]) : int(data[D.W_F]) + n]
    x_stage = work[int(data[D.W_STAGE]) : int(data[D.W_STAGE]) + n]
    k = work[int(data[D.W_K]) : int(data[D.W_K]) + 4 * n]
    jac = work[int(data[D.W_JAC]) : int(data[D.W_JAC]) + n * n]
    derivative(t, x, u, p, data, f, work)
    jacobian(t, x, u, p, data, jac, work)
    rosenbrock_matrix(n, h, jac, work, int(data[D.W_MATRIX]), int(data[D.W_PIVOT]))
    start = piece(x, u, p, data, work)
    smooth = True
    for s in range(STAGES):
        if s >= 2:  # the first two stages are at x
            rosenbrock_stage(s, n, x, k, x_stage)
            derivative(t, x_stage, u, p, data, f, work)
            if piece(x_stage, u, p, data, work) != start:
                smooth = False
        rosenbrock_solve(s, n, h, f, k, work, int(data[D.W_MATRIX]), int(data[D.W_PIVOT]), int(data[D.W_B]))
    if int(data[D.KIND]) == Kind.VEHICLE:
        for i in range(n):
            x_stage[i] = x[i]
    rosenbrock_new(n, x, k)
    if piece(x, u, p, data, work) != start:
        smooth = False
    if int(data[D.KIND]) == Kind.VEHICLE and not smooth:
        implicit_euler(h, x_stage[CarX.V], x_stage[CarX.S], x_stage[CarX.F], x, u, p)


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the part's own."""
    n = int(data[D.N_X])
    n_y = int(data[D.N_Y])
    saved = work[int(data[D.W_SAVED]) : int(data[D.W_SAVED]) + n]
    steps = enter(t, h, data[D.INTERNAL_STEP], int(data[D.N_U]), u, n, x, saved)
    if steps == 0:
        return FAILED
    for k in range(steps):
        advance(t + k * (h / steps), h / steps, x, u, p, data, work)
    y_new = work[int(data[D.W_Y]) : int(data[D.W_Y]) + n_y]
    output(t + h, x, u, p, data, y_new, work)
    return leave(True, n, x, saved, n_y, y_new, y)
