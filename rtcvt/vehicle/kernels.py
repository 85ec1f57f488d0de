"""Longitudinal vehicle, driveline, driver and driving cycle as real-time kernels.

**Vehicle** (Mitschke and Wallentowitz, *Dynamik der Kraftfahrzeuge*, 2014, ch. 4): wheels of radius r_w roll without
slip, so ``v = r_w w``, and ::

    (m + J_w/r_w^2) v' = (tau_drive - tau_load)/r_w - F_brake - F_aero - F_roll - F_grade,    s' = v
    F_brake = tau_brake/r_w sigma(v)          F_aero  = rho c_w A/2 v |v|
    F_roll  = f_R m g cos(alpha) sigma(v)     F_grade = m g sin(alpha)

with the slope ``tan(alpha)`` as input. ``sigma(v) = v/sqrt(v^2 + v_0^2)`` is a smooth sign: at standstill the friction
forces balance what acts on the vehicle at a creeping speed of at most some v_0.

**Driveline**: a half-shaft, a spring with a damper, and a final drive with ``w = i w_axle`` when nothing twists::

    phi' = w_axle - w/i,   tau_axle = K phi + d phi',   J w' = tau_axle/i - mu |tau_axle|/i sigma(w) - b w - tau_load

The loss of the teeth is proportional to what they carry, and takes power out whichever way this flows.

**Driver**: a PI controller of speed demands a torque at the wheels; the KERS takes its share, and drive or brake make
up for what it does not deliver, from its measured torque through a filter::

    tau = K_p (v_des - v) + z,    z' = K_i (v_des - v) + (sat(tau) - tau)/T_t - h z/T_h
    a'  = (tau_axle - a)/T_f,     tau_drive = max(tau_1, 0),    tau_brake = max(-tau_1, 0) + h tau_hold
    tau_kers = -clip(tau, tau_kers_max) q (1 - h)/i,   tau_1 = sat(tau) + a,   h = v_h^2/(v_h^2 + v_des^2 + v^2)

``T_t`` ends the wind-up of z at a limit, ``h`` is 1 while the vehicle stands and is to stand: the driver then lets go
of the integrator and holds the brake. The demand on the KERS fades out by q where it cannot be met: charging with the
tilt between theta_high - theta_band and theta_high and the energy between E_full - E_band and E_full, discharging with
the tilt between theta_low + theta_band and theta_low. Where the tilt goes beyond theta_high, because the vehicle slows
down with a flywheel that turns too fast for what is to come, q is negative: the KERS gives back what the brakes take.

**Cycle**: a table of speeds at equal spacing, linear in between; the distance is its exact integral.

Torques count into the part, except those named ``load``: a load is what the neighbour takes, that is the neighbour's
``NAME.tau``. Two flanges can then be connected without a change of sign.
"""

import math

from rtcvt.integrators import STAGES, rosenbrock_matrix, rosenbrock_new, rosenbrock_solve, rosenbrock_stage
from rtcvt.kernel import FAILED, OK, kernel
from rtcvt.vehicle.layout import (
    A_F,
    AXLE_TAU,
    AXLE_W,
    BRAKE,
    CYCLE,
    DISTANCE,
    DRIVE,
    DRIVELINE,
    DRIVER,
    E_BAND,
    E_FULL,
    E_KERS,
    F_R,
    I_KERS,
    INTERNAL_STEP,
    J_W,
    K_I,
    K_P,
    KIND,
    LOAD,
    MU,
    N_U,
    N_X,
    N_Y,
    PHI,
    POINTS,
    R_W,
    RATIO,
    RHO_CW_A,
    SHAFT_LOAD,
    SLOPE,
    SPACING,
    T_F,
    T_H,
    T_T,
    TAU_BRAKE,
    TAU_DRIVE,
    TAU_HOLD,
    TAU_KERS,
    THETA,
    THETA_BAND,
    THETA_HIGH,
    THETA_LOW,
    V_0,
    V_DES,
    V_H,
    V_IS,
    V_START,
    VEHICLE,
    W_0,
    W_B,
    W_F,
    W_JAC,
    W_K,
    W_MATRIX,
    W_PIVOT,
    W_SAVED,
    W_STAGE,
    W_START,
    W_Y,
    Y_A,
    Y_AXLE_TAU,
    Y_BRAKE,
    Y_DRIVE,
    Y_E,
    Y_F_AERO,
    Y_F_BRAKE,
    Y_F_GRADE,
    Y_F_ROLL,
    Y_KERS,
    Y_LOSS,
    Y_S,
    Y_S_DES,
    Y_SHAFT_E,
    Y_SHAFT_W,
    Y_V,
    Y_V_DES,
    Y_W,
    B,
    D,
    G,
    J,
    K,
    M,
    P,
    S,
    V,
    W,
    Z,
)

__all__ = ["derivative", "initialise", "jacobian", "output", "step"]

HUGE = 1e12  # beyond this [SI], as for Inf and NaN, a number is no state or input
MOST_STEPS = 1e6  # internal steps in one communication step


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
def friction_force(u, p):
    """Brakes and rolling resistance at full speed, without their sign [N]."""
    return u[BRAKE] / p[R_W] + p[F_R] * p[M] * p[G] / math.sqrt(1.0 + u[SLOPE] * u[SLOPE])


@kernel
def acceleration(x, u, p):
    """v' [m/s2]."""
    v = x[V]
    slope = u[SLOPE]
    F = (u[DRIVE] - u[LOAD]) / p[R_W] - friction_force(u, p) * smooth_sign(v, p[V_0])
    F -= 0.5 * p[RHO_CW_A] * v * abs(v) + p[M] * p[G] * slope / math.sqrt(1.0 + slope * slope)
    return F / (p[M] + p[J_W] / (p[R_W] * p[R_W]))


@kernel
def vehicle_derivative(x, u, p, dx):
    """Rates of v and s."""
    dx[V] = acceleration(x, u, p)
    dx[S] = x[V]


@kernel
def vehicle_jacobian(x, u, p, jac):
    """``df/dx``."""
    v = x[V]
    F_v = -friction_force(u, p) * smooth_sign_slope(v, p[V_0]) - p[RHO_CW_A] * abs(v)
    jac[0] = F_v / (p[M] + p[J_W] / (p[R_W] * p[R_W]))
    jac[1] = 0.0
    jac[2] = 1.0
    jac[3] = 0.0


@kernel
def vehicle_output(x, u, p, y):
    """Speeds, distance, acceleration, kinetic energy and resistances."""
    v = x[V]
    sigma = smooth_sign(v, p[V_0])
    slope = u[SLOPE]
    cosine = 1.0 / math.sqrt(1.0 + slope * slope)
    y[Y_W] = v / p[R_W]
    y[Y_V] = v
    y[Y_S] = x[S]
    y[Y_A] = acceleration(x, u, p)
    y[Y_E] = 0.5 * (p[M] + p[J_W] / (p[R_W] * p[R_W])) * v * v
    y[Y_F_AERO] = 0.5 * p[RHO_CW_A] * v * abs(v)
    y[Y_F_ROLL] = p[F_R] * p[M] * p[G] * cosine * sigma
    y[Y_F_GRADE] = p[M] * p[G] * slope * cosine
    y[Y_F_BRAKE] = u[BRAKE] / p[R_W] * sigma


# --- driveline --------------------------------------------------------------------------------------------------------


@kernel
def axle_torque(x, u, p):
    """Torque of the half-shaft [N.m]."""
    return p[K] * x[PHI] + p[D] * (u[AXLE_W] - x[W] / p[RATIO])


@kernel
def driveline_derivative(x, u, p, dx):
    """Rates of phi and w."""
    tau = axle_torque(x, u, p)
    carried = (tau - p[MU] * abs(tau) * smooth_sign(x[W], p[W_0])) / p[RATIO]
    dx[PHI] = u[AXLE_W] - x[W] / p[RATIO]
    dx[W] = (carried - p[B] * x[W] - u[SHAFT_LOAD]) / p[J]


@kernel
def driveline_jacobian(x, u, p, jac):
    """``df/dx``."""
    tau = axle_torque(x, u, p)
    sign = 1.0 if tau > 0.0 else -1.0
    carried = (1.0 - p[MU] * sign * smooth_sign(x[W], p[W_0])) / p[RATIO]  # per N.m at the axle
    jac[0] = 0.0
    jac[1] = -1.0 / p[RATIO]
    jac[2] = carried * p[K] / p[J]
    jac[3] = -carried * p[D] / p[RATIO] - p[MU] * abs(tau) * smooth_sign_slope(x[W], p[W_0]) / p[RATIO] - p[B]
    jac[3] /= p[J]


@kernel
def driveline_output(x, u, p, y):
    """Torque at the axle, speed of the shaft, stored energy and lost power."""
    tau = axle_torque(x, u, p)
    twist = u[AXLE_W] - x[W] / p[RATIO]
    w = x[W]
    y[Y_AXLE_TAU] = tau
    y[Y_SHAFT_W] = w
    y[Y_SHAFT_E] = 0.5 * p[K] * x[PHI] * x[PHI] + 0.5 * p[J] * w * w
    y[Y_LOSS] = p[D] * twist * twist + (p[MU] * abs(tau) / p[RATIO] * smooth_sign(w, p[W_0]) + p[B] * w) * w


# --- driver -----------------------------------------------------------------------------------------------------------


@kernel
def standing(u, p):
    """h: 1 while the vehicle stands and is to stand."""
    v_h2 = p[V_H] * p[V_H]
    return v_h2 / (v_h2 + u[V_DES] * u[V_DES] + u[V_IS] * u[V_IS])


@kernel
def demand(x, u, p):
    """Torque that the driver wants at the wheels [N.m], without limits."""
    return p[K_P] * (u[V_DES] - u[V_IS]) + x[Z]


@kernel
def driver_derivative(x, u, p, dx):
    """Rates of z and a."""
    tau = demand(x, u, p)
    dx[Z] = p[K_I] * (u[V_DES] - u[V_IS]) + (clip(tau, -p[TAU_BRAKE], p[TAU_DRIVE]) - tau) / p[T_T]
    dx[Z] -= standing(u, p) * x[Z] / p[T_H]
    dx[A_F] = (u[AXLE_TAU] - x[A_F]) / p[T_F]


@kernel
def driver_jacobian(x, u, p, jac):
    """``df/dx``."""
    tau = demand(x, u, p)
    jac[0] = -standing(u, p) / p[T_H]
    if tau < -p[TAU_BRAKE] or tau > p[TAU_DRIVE]:
        jac[0] -= 1.0 / p[T_T]
    jac[1] = 0.0
    jac[2] = 0.0
    jac[3] = -1.0 / p[T_F]


@kernel
def availability(tau, u, p):
    """q: share of a demand `tau` [N.m] at the wheels that is passed on to the KERS."""
    if tau > 0.0:
        return clip((u[THETA] - p[THETA_LOW]) / p[THETA_BAND], 0.0, 1.0)
    by_tilt = clip((p[THETA_HIGH] - u[THETA]) / p[THETA_BAND], -1.0, 1.0)
    by_energy = clip((p[E_FULL] - u[E_KERS]) / p[E_BAND], 0.0, 1.0)
    return by_tilt if by_tilt < by_energy else by_energy


@kernel
def driver_output(x, u, p, y):
    """Demands on drive, brake and KERS."""
    h = standing(u, p)
    tau = clip(demand(x, u, p), -p[TAU_BRAKE], p[TAU_DRIVE])
    rest = tau + x[A_F]
    y[Y_DRIVE] = clip(rest, 0.0, p[TAU_DRIVE])
    y[Y_BRAKE] = clip(-rest, 0.0, p[TAU_BRAKE]) + h * p[TAU_HOLD]
    share = (1.0 - h) * availability(tau, u, p)
    y[Y_KERS] = -share * clip(tau, -p[TAU_KERS], p[TAU_KERS]) / p[I_KERS]


# --- cycle ------------------------------------------------------------------------------------------------------------


@kernel
def place_in_cycle(t, p):
    """Time as a number of spacings, within the table."""
    n = p[POINTS] - 1.0
    position = t / p[SPACING]
    if not position > 0.0:
        return 0.0
    return n if position > n else position


@kernel
def cycle_speed(t, p):
    """v_des [m/s] at time t [s]."""
    position = place_in_cycle(t, p)
    k = math.floor(position)
    v = p[P + k]
    if k < int(p[POINTS]) - 1:
        v += (position - k) * (p[P + k + 1] - v)
    return v


@kernel
def cycle_distance(start, end, p):
    """Integral of v_des [m] from time `start` to `end` [s]; beyond the table the speeds of its ends are kept."""
    first = place_in_cycle(start, p)
    last = place_in_cycle(end, p)
    s = 0.0
    for k in range(math.floor(first), math.ceil(last)):
        a = first if first > k else float(k)
        b = last if last < k + 1.0 else k + 1.0
        s += (b - a) * 0.5 * (cycle_speed(a * p[SPACING], p) + cycle_speed(b * p[SPACING], p))
    s *= p[SPACING]
    duration = (p[POINTS] - 1.0) * p[SPACING]
    if start < 0.0:
        s += ((end if end < 0.0 else 0.0) - start) * p[P]
    if end > duration:
        s += (end - (start if start > duration else duration)) * p[P + int(p[POINTS]) - 1]
    return s


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def initialise(p, u, x, work):
    """Start at the start speed, nothing twisted, at time zero of the cycle."""
    for i in range(int(p[N_X])):
        x[i] = 0.0
    if int(p[KIND]) == VEHICLE:
        x[V] = p[V_START]
    elif int(p[KIND]) == DRIVELINE:
        x[W] = p[W_START]
    n = int(p[N_X])
    dx = work[W_F : W_F + n]
    derivative(0.0, x, u, p, dx, work)
    for i in range(n):
        if not (abs(x[i]) < HUGE and abs(dx[i]) < HUGE):
            return FAILED
    return OK


@kernel
def derivative(t, x, u, p, dx, work):
    """Right-hand side of the part."""
    kind = int(p[KIND])
    if kind == VEHICLE:
        vehicle_derivative(x, u, p, dx)
    elif kind == DRIVELINE:
        driveline_derivative(x, u, p, dx)
    elif kind == DRIVER:
        driver_derivative(x, u, p, dx)
    elif kind == CYCLE:
        dx[DISTANCE] = cycle_speed(t, p)


@kernel
def jacobian(t, x, u, p, jac, work):
    """Exact ``df/dx``, row-major, inputs held."""
    kind = int(p[KIND])
    if kind == VEHICLE:
        vehicle_jacobian(x, u, p, jac)
    elif kind == DRIVELINE:
        driveline_jacobian(x, u, p, jac)
    elif kind == DRIVER:
        driver_jacobian(x, u, p, jac)
    elif kind == CYCLE:
        jac[0] = 0.0


@kernel
def output(t, x, u, p, y, work):
    """Outputs of the part."""
    kind = int(p[KIND])
    if kind == VEHICLE:
        vehicle_output(x, u, p, y)
    elif kind == DRIVELINE:
        driveline_output(x, u, p, y)
    elif kind == DRIVER:
        driver_output(x, u, p, y)
    elif kind == CYCLE:
        y[Y_V_DES] = cycle_speed(t, p)
        y[Y_S_DES] = x[DISTANCE]


@kernel
def advance(t, h, x, u, p, work):
    """One internal step in place, see `rtcvt.integrators`; exact for a cycle."""
    if int(p[KIND]) == CYCLE:
        x[DISTANCE] += cycle_distance(t, t + h, p)
        return
    n = int(p[N_X])
    f = work[W_F : W_F + n]
    x_stage = work[W_STAGE : W_STAGE + n]
    k = work[W_K : W_K + 4 * n]
    jac = work[W_JAC : W_JAC + n * n]
    derivative(t, x, u, p, f, work)
    jacobian(t, x, u, p, jac, work)
    rosenbrock_matrix(n, h, jac, work, W_MATRIX, W_PIVOT)
    for s in range(STAGES):
        if s >= 2:  # the first two stages are at x
            rosenbrock_stage(s, n, x, k, x_stage)
            derivative(t, x_stage, u, p, f, work)
        rosenbrock_solve(s, n, h, f, k, work, W_MATRIX, W_PIVOT, W_B)
    rosenbrock_new(n, x, k)


@kernel
def step(t, h, x, u, p, y, work):
    """One communication step in the fewest equal internal steps that are not above the part's own."""
    n = int(p[N_X])
    n_y = int(p[N_Y])
    for i in range(int(p[N_U])):
        if not abs(u[i]) < HUGE:
            return FAILED
    for i in range(n):
        if not abs(x[i]) < HUGE:
            return FAILED
    if not (h > 0.0 and h < MOST_STEPS * p[INTERNAL_STEP] and abs(t) < HUGE):
        return FAILED
    for i in range(n):
        work[W_SAVED + i] = x[i]
    steps = math.ceil(h / p[INTERNAL_STEP] * (1.0 - 1e-9))
    for k in range(steps):
        advance(t + k * (h / steps), h / steps, x, u, p, work)
    y_new = work[W_Y : W_Y + n_y]
    output(t + h, x, u, p, y_new, work)
    good = True
    for i in range(n):
        if not abs(x[i]) < HUGE:
            good = False
    for i in range(n_y):
        if not abs(y_new[i]) < HUGE * HUGE:
            good = False
    if not good:
        for i in range(n):
            x[i] = work[W_SAVED + i]
        return FAILED
    for i in range(n_y):
        y[i] = y_new[i]
    return OK
