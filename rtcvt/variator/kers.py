"""KERS torque controller of a pushbelt variator between a shaft and a flywheel, as kernels around `kernels`.

The law is that of Tebaldi and Zanasi 2022, section 6.2 (`rtcvt.control.kers`), transferred from the tilt of a toroidal
variator to that of the belt: ``theta = pi/2 - phi`` is the angle between the taut spans and the line of the centres,
``sin(theta) = (r_I - r_O)/d_A``. It is zero at equal radii, and with it grows the speed of the flywheel::

    omega_d = omega_I/n_I,    omega_F = n_F omega_O,    omega_F/omega_d = n_I n_F/i(theta)

n_I, n_F are fixed gears; omega_t is the speed of the shaft, to which the primary is coupled by a spring (stiffness K_d)
parallel to an equal one with a damper in series, as in `rtcvt.model.coupling`. The flywheel with its gear is part of
the secondary, ``J_O = J_S + n_F^2 J_F``, ``b_O = b_S + n_F^2 b_F``: the gears are rigid.

**Torque estimate**, eq. (23) with the energy of pulleys, belt and flywheel ``E = (J_I omega_I^2 + m v^2 +
J_O omega_O^2)/2``, its derivative through ``1/(T s + 1)``, and the losses of shafts (`rtcvt.variator.shafts`) and drag
less the reversible part of the power of the sheaves::

    tau_l = n_I (M_I + M_O/i + r'_I lambda F_CO sigma(v) - tau_rev)
    P' = (dE/dt - P)/T,    tau_est = P/omega_d + tau_l

**Rate of the tilt.** With ``L_1`` the inertia of the rigid model at the primary and ``M = (dL_1/dtheta)/2``, N_1 per
theta', the torque is ``n_I^2 L_1 omega_d' + n_I^2 M omega_d theta' + tau_l``. Solved for theta', it is added to the law
of the paper as feed-forward: braking a vehicle needs a torque ``n_I^2 L_1 omega_d'`` that is no small error::

    theta'_c = K_theta (D_tau - K_w D_omega) + (tau_d - tau_l - n_I^2 L_1 a)/(n_I^2 M omega_d)
    D_tau = tau_d - tau_est,    D_omega = omega_t - omega_d - b/K_d
    z' = a = (omega_t - z)/T_d,    g' = b = (tau_d - g)/T_a

(b is the rate of the demand, at which the spring winds up; ``K_w b/K_d`` is included up to a tenth of tau_max below, so
that a step does not kick). T_d has to be long compared with the oscillations of the driveline: the shaft's speed
follows those of omega_d, so that a faster feed-forward would amplify them.

It is clipped to the limits of `rtcvt.control.limits`, those of the ratio and of the flywheel's speed among them, and
to rates at which the estimated torque stays within +-tau_max below, ``rho + (+-tau_max - tau_est)/(n_I^2 M omega_d)``.

**Clamping.** Valves and cylinders follow within T_a. The rate becomes a force on the primary by the law of shifting,
solved for it (`kernels.force_of_rate`), within y_min to y_max times that of balance and below F_max. The secondary
presses so that the weaker pulley carries S times the demanded or the estimated torque::

    rho' = (clip(theta'_c) - rho)/T_a,    x = k F_CO (y - 1) such that theta' = rho
    F_CO' = (clip(S max(|tau_d|, |tau_est|) cos(delta_0)/(n_I r'_I 2 mu xi_max) max(1, F_CO/F_CI)) - F_CO)/T_a

between F_low and F_most, at which the primary has F_max with a reserve Y for shifting. The demand is limited to the
capacity of this force::

    F_most = F_max min(1, 1/(Y zeta))
    tau_d = clip(tau_des, +-tau_max),    tau_max = n_I r'_I 2 mu xi_max/cos(delta_0) F_most min(1, zeta)/S

**Anti-windup.** The memory of the controller is theta itself, which stays within its stops, and lags of clipped values.
``control.saturated`` is true if a limit overrides the law, ``control.limited.NAME`` names it: the torque that the
clamping forces carry, the largest rate, an end of the ratio, or the flywheel's speed; so do ``status.end_stop`` and
``status.force_limited`` of the variator.

**Balance.** The controller stores nothing: ``tau omega_t + P_ax = E' + sum of losses`` is that of `kernels`, with P_ax
the power of the clamping forces.

State vector: that of the variator with the primary's coupling, then ``[rho, F_CO, P, z, g]``. The integrator is that
of the variator; these five, which are slow compared with it, enter its matrix by their own time constants alone.
"""

import math

from rtcvt.control.kers import K_W, KERS_SIZE, OMEGA_0, TAU_FILTER, kers_law
from rtcvt.control.limits import (
    CLIPPED,
    CONTROL_SIZE,
    HIGH,
    LIMIT_TIME,
    LIMITED,
    LOW,
    RATE,
    RATE_MAX,
    TAU_EST,
    THETA_MAX,
    THETA_MIN,
    apply_limits,
    gather,
)
from rtcvt.kernel import FAILED, OK, SATURATED, kernel
from rtcvt.model.stepping import MAX_TRIALS, MIN_PART, REFINEMENT, enter, leave, rough, start_status
from rtcvt.numerics.integrators import ROS2_GAMMA, implicit_matrix, ros2_error, ros2_new, ros2_side, ros2_stage
from rtcvt.numerics.linalg import lu_solve
from rtcvt.variator.kernels import (
    ERROR_BOUND,
    contact_outputs,
    fast_jacobian,
    geometry,
    inertia,
    keep_piece,
    piece,
    rates,
    start,
    state_outputs,
)
from rtcvt.variator.layout import (
    N_HYBRID,
    N_KERS_U,
    N_KERS_X,
    N_P,
    N_U,
    D,
    KersD,
    KersP,
    KersU,
    KersX,
    KersY,
    P,
    Q,
    U,
    X,
    Y,
)
from rtcvt.variator.places import angle, kers_entry, kers_states, outputs_of_variator, states, w_kers, x_coupling
from rtcvt.variator.shafts import shaft_torque

# work, after the variator's: its parameters and inputs, numbers and result of the law, quantities of the controller,
# vectors of the step
W_P = 0
W_NUMBERS = W_P + N_P
W_U = W_NUMBERS + KERS_SIZE
W_LAW = W_U + N_U
TAU_L, TAU_MAX, TAU_D, NEED, OVER, BOUND = range(W_LAW + CONTROL_SIZE, W_LAW + CONTROL_SIZE + 6)
MOST_ALL = N_HYBRID + 2 + N_KERS_X
N_BOUNDS = KersY.W_F - KersY.RATE_LIMITED
W_K_1 = BOUND + 1
W_K_2 = W_K_1 + MOST_ALL
W_X_1 = W_K_2 + MOST_ALL
W_OLD = W_X_1 + MOST_ALL
W_MATRIX = W_OLD + MOST_ALL
W_NEW_Y = W_MATRIX + MOST_ALL * MOST_ALL + MOST_ALL  # new outputs


@kernel
def prepare(p, data, w):
    """The variator's parameters, with inertia and friction after the gears lumped, and the numbers of the law."""
    k = w_kers(data)
    inner = w[k + W_P : k + W_P + N_P]
    gather(kers_entry(KersD.OF_VARIATOR, data), N_P, p, data, inner)
    gather(kers_entry(KersD.OF_LAW, data), KERS_SIZE, p, data, w[k + W_NUMBERS : k + W_NUMBERS + KERS_SIZE])
    inner[P.J_O] = p[KersP.J_S] + p[KersP.N_F] * p[KersP.N_F] * p[KersP.J_F]
    inner[P.B_O] = p[KersP.B_S] + p[KersP.N_F] * p[KersP.N_F] * p[KersP.B_F]
    inner[P.C_I] = p[KersP.K_D] / (p[KersP.N_I] * p[KersP.N_I])
    inner[P.D_I] = p[KersP.D_D] / (p[KersP.N_I] * p[KersP.N_I])
    inner[P.W_START] = p[KersP.N_I] * p[KersP.W_T_START]


@kernel
def inner_inputs(x, u, p, data, w):
    """Inputs of the variator: shaft's speed at the primary, force, and the ratio that makes the rate rho."""
    k = w_kers(data)
    n = states(data)
    geometry(angle(x, data), data, w)
    for i in range(N_U):
        w[k + W_U + i] = 0.0
    w[k + W_U + U.I] = p[KersP.N_I] * u[KersU.W]
    w[k + W_U + U.F_O] = x[n + KersX.FORCE_O]
    w[k + W_U + U.RATIO] = w[Q.I_G] - w[k + W_P + P.T_RATIO] * w[Q.DI_G] * x[n + KersX.RHO]


@kernel
def half_slope(inner, data, w):
    """M, half the derivative of L_1 to theta [kg.m2/rad]."""
    q = w[Q.RP_I] / w[Q.RP_O]
    dq = (w[Q.DR_I] - q * w[Q.DR_O]) / w[Q.RP_O]
    return -(data[D.M_B] * w[Q.RP_I] * w[Q.DR_I] + inner[P.J_O] * q * dq)


@kernel
def bound_of(numbers, theta, w, law):
    """Active bound of the rate after `apply_limits`: 0 none, then in the order of `KersY` from RATE_LIMITED on."""
    if w[law + LIMITED] == 0.0:
        return 0.0
    low = (numbers[THETA_MIN] - theta) / numbers[LIMIT_TIME]
    high = (numbers[THETA_MAX] - theta) / numbers[LIMIT_TIME]
    if w[law + LOW] == w[law + HIGH]:  # a flywheel beyond its speed
        return 3.0
    if abs(w[law + RATE]) == numbers[RATE_MAX]:
        return 1.0
    return 2.0 if w[law + RATE] == low or w[law + RATE] == high else 3.0


@kernel
def controller(x, u, p, data, w):
    """Law, limits, clamping force and torque estimate after the variator's rates, into ``w``."""
    k = w_kers(data)
    n = states(data)
    inner = w[k + W_P : k + W_P + N_P]
    numbers = w[k + W_NUMBERS : k + W_NUMBERS + KERS_SIZE]
    n_I = p[KersP.N_I]
    phi = angle(x, data)
    omega_d = w[Q.W_I] / n_I
    i = w[Q.I_G]
    w[k + TAU_L] = n_I * (shaft_torque(0, w) + shaft_torque(1, w) / i + w[Q.RP_I] * w[Q.DRAG] - w[Q.TAU_REV])
    balance = w[Q.F_EQ] / w[Q.F_CO]
    most = inner[P.F_MAX]  # of the secondary
    if p[KersP.RESERVE] * balance > 1.0:
        most /= p[KersP.RESERVE] * balance
    # torque by clamping force
    share = n_I * w[Q.RP_I] * 2.0 * data[D.MU] * data[D.XI_MAX] / data[D.COS_D] / p[KersP.SAFETY]
    w[k + TAU_MAX] = share * most
    if balance < 1.0:
        w[k + TAU_MAX] *= balance
    tau_d = u[KersU.TAU]
    w[k + OVER] = 0.0
    if tau_d > w[k + TAU_MAX]:
        tau_d = w[k + TAU_MAX]
        w[k + OVER] = 1.0
    elif tau_d < -w[k + TAU_MAX]:
        tau_d = -w[k + TAU_MAX]
        w[k + OVER] = 1.0
    w[k + TAU_D] = tau_d
    q = n_I * p[KersP.N_F] / i
    dq = q / i * w[Q.DI_G]
    law = k + W_LAW
    demand = tau_d - w[k + TAU_L]
    winding = numbers[K_W] * (tau_d - x[n + KersX.DEMAND]) / p[KersP.T_A] / p[KersP.K_D]
    if winding > 0.1 * w[k + TAU_MAX]:
        winding = 0.1 * w[k + TAU_MAX]
    elif winding < -0.1 * w[k + TAU_MAX]:
        winding = -0.1 * w[k + TAU_MAX]
    kers_law(
        numbers, omega_d, 0.5 * math.pi - phi, x[n + KersX.POWER], u[KersU.W], demand + winding, 0.0, 0.0, q, dq,
        0.0, w, law,
    )  # fmt: skip
    w[law + TAU_EST] += w[k + TAU_L]
    w_0 = numbers[OMEGA_0]
    inverse = omega_d / (w_0 * w_0)
    if abs(omega_d) > w_0:
        inverse = 1.0 / omega_d
    a = (u[KersU.W] - x[n + KersX.SHAFT]) / p[KersP.T_D]
    inertial = w[k + TAU_L] + n_I * n_I * inertia(inner, data, w) * a  # torque that shifting does not make
    inverse /= n_I * n_I * half_slope(inner, data, w)
    w[law + RATE] += (tau_d - inertial) * inverse
    apply_limits(CLIPPED, 0.0, w, law)
    w[k + BOUND] = bound_of(numbers, 0.5 * math.pi - phi, w, law)
    most_rate = x[n + KersX.RHO] + (w[k + TAU_MAX] - w[law + TAU_EST]) * inverse
    least_rate = x[n + KersX.RHO] - (w[k + TAU_MAX] + w[law + TAU_EST]) * inverse
    if inverse < 0.0:
        most_rate = x[n + KersX.RHO] - (w[k + TAU_MAX] + w[law + TAU_EST]) * inverse
        least_rate = x[n + KersX.RHO] + (w[k + TAU_MAX] - w[law + TAU_EST]) * inverse
    if abs(omega_d) > w_0:
        if w[law + RATE] > most_rate:
            w[law + RATE] = most_rate
            w[k + OVER] = 1.0
        elif w[law + RATE] < least_rate:
            w[law + RATE] = least_rate
            w[k + OVER] = 1.0
    need = abs(tau_d)
    if abs(w[law + TAU_EST]) > need:
        need = abs(w[law + TAU_EST])
    force = need / share
    if w[Q.F_CI] < w[Q.F_CO]:
        force *= w[Q.F_CO] / w[Q.F_CI]
    if force > most:
        force = most
        w[k + OVER] = 1.0
    if force < p[KersP.F_LOW]:
        force = p[KersP.F_LOW]
    w[k + NEED] = force


@kernel
def all_rates(x, u, p, data, dx, w):
    """Rates of the variator and of the controller."""
    k = w_kers(data)
    n = states(data)
    inner = w[k + W_P : k + W_P + N_P]
    inner_inputs(x, u, p, data, w)
    rates(x, w[k + W_U : k + W_U + N_U], inner, data, dx, w)
    controller(x, u, p, data, w)
    if data[D.HYBRID] != 0.0:
        power = (
            inner[P.J_I] * x[X.OMEGA_I] * dx[X.OMEGA_I]
            + data[D.M_B] * x[X.V] * dx[X.V]
            + inner[P.J_O] * x[X.OMEGA_O] * dx[X.OMEGA_O]
        )
    else:
        power = x[X.OMEGA_I] * (
            inertia(inner, data, w) * dx[X.OMEGA_I] - half_slope(inner, data, w) * w[Q.PHI_RATE] * x[X.OMEGA_I]
        )
    dx[n + KersX.RHO] = (w[k + W_LAW + RATE] - x[n + KersX.RHO]) / p[KersP.T_A]
    dx[n + KersX.FORCE_O] = (w[k + NEED] - x[n + KersX.FORCE_O]) / p[KersP.T_A]
    dx[n + KersX.POWER] = (power - x[n + KersX.POWER]) / w[k + W_NUMBERS + TAU_FILTER]
    dx[n + KersX.SHAFT] = (u[KersU.W] - x[n + KersX.SHAFT]) / p[KersP.T_D]
    dx[n + KersX.DEMAND] = (w[k + TAU_D] - x[n + KersX.DEMAND]) / p[KersP.T_A]


@kernel
def all_outputs(whole, x, u, p, data, y, w):
    """Outputs of the variator, those of `contact_outputs` only if `whole`, then those of the unit."""
    k = w_kers(data)
    n = outputs_of_variator(data)
    inner_inputs(x, u, p, data, w)
    state_outputs(x, w[k + W_U : k + W_U + N_U], w[k + W_P : k + W_P + N_P], data, y, w)
    if whole:
        contact_outputs(angle(x, data), data, y, w)
    controller(x, u, p, data, w)
    y[n + KersY.TAU] = p[KersP.N_I] * y[Y.I]
    y[n + KersY.TAU_EST] = w[k + W_LAW + TAU_EST]
    y[n + KersY.TAU_MAX] = w[k + TAU_MAX]
    y[n + KersY.THETA] = 0.5 * math.pi - angle(x, data)
    y[n + KersY.TORQUE_LIMITED] = w[k + OVER]
    for i in range(N_BOUNDS):
        y[n + KersY.RATE_LIMITED + i] = 1.0 if w[k + BOUND] == i + 1 else 0.0
    limited = w[k + W_LAW + LIMITED] + w[k + OVER] + w[Q.AT_STOP] + w[Q.AT_FORCE] != 0.0
    y[n + KersY.SATURATED] = 1.0 if limited else 0.0
    y[n + KersY.W_F] = p[KersP.N_F] * w[Q.W_O]


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def kers_initialise(p, data, u, x, work):
    """Start at the start ratio and speed without torque; clamped as the demand needs."""
    prepare(p, data, work)
    k = w_kers(data)
    n = states(data)
    for i in range(N_U):
        work[k + W_U + i] = 0.0
    work[k + W_U + U.I] = p[KersP.N_I] * u[KersU.W]
    work[k + W_U + U.F_O] = p[KersP.F_LOW]
    work[k + W_U + U.RATIO] = 1.0
    status = start(work[k + W_P : k + W_P + N_P], data, work[k + W_U : k + W_U + N_U], x, work)
    if status != OK:
        return status
    x[n + KersX.RHO] = 0.0
    x[n + KersX.FORCE_O] = p[KersP.F_LOW]
    x[n + KersX.POWER] = 0.0
    x[n + KersX.SHAFT] = u[KersU.W]
    x[n + KersX.DEMAND] = 0.0
    m = kers_states(data)
    dx = work[k + W_K_1 : k + W_K_1 + m]
    all_rates(x, u, p, data, dx, work)
    x[n + KersX.FORCE_O] = work[k + NEED]
    return start_status(m, x, dx)


@kernel
def kers_derivative(t, x, u, p, data, dx, work):
    """Right-hand side."""
    all_rates(x, u, p, data, dx, work)


@kernel
def kers_linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and ``df/dx``, of the controller by its own time constants, see `rtcvt.model.Coupling`."""
    k = w_kers(data)
    n = states(data)
    m = kers_states(data)
    all_rates(x, u, p, data, f, work)
    fast_jacobian(x, work[k + W_P : k + W_P + N_P], data, work, work[k + W_MATRIX : k + W_MATRIX + n * n])
    for i in range(m * m):
        jac[i] = 0.0
    for i in range(n):
        for j in range(n):
            jac[i * m + j] = work[k + W_MATRIX + i * n + j]
    for i in range(n, m):
        jac[i * m + i] = -1.0 / p[KersP.T_A]
    at = n + KersX.POWER
    jac[at * m + at] = -1.0 / work[k + W_NUMBERS + TAU_FILTER]
    at = n + KersX.SHAFT
    jac[at * m + at] = -1.0 / p[KersP.T_D]


@kernel
def kers_flange(k, x, u, p, data, work):
    """Torque at the shaft, see `rtcvt.model.Coupling`."""
    return p[KersP.N_I] * work[Q.TAU_I]


@kernel
def kers_port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`: the coupling between shaft and primary."""
    for i in range(kers_states(data)):
        row[i] = 0.0
        column[i] = 0.0
    at = x_coupling(U.I, data)
    inner = w_kers(data) + W_P
    for i in range(at, at + 2):
        row[i] = p[KersP.N_I]
        column[i] = p[KersP.N_I] * work[inner + P.C_I]
    column[states(data) + KersX.SHAFT] = 1.0 / p[KersP.T_D]
    return 0.0


@kernel
def kers_output(t, x, u, p, data, y, work):
    """Outputs."""
    all_outputs(True, x, u, p, data, y, work)


@kernel
def kers_brief(t, x, u, p, data, y, work):
    """Those that the controller's are among, see `rtcvt.model.Coupling`."""
    all_outputs(False, x, u, p, data, y, work)


@kernel
def own_solve(h, k, p, tau_filter):
    """The controller's part of ``(I - gamma h A) k = k`` in ``k[0:]``, with its time constants in A."""
    k[KersX.RHO] /= 1.0 + ROS2_GAMMA * h / p[KersP.T_A]
    k[KersX.FORCE_O] /= 1.0 + ROS2_GAMMA * h / p[KersP.T_A]
    k[KersX.POWER] /= 1.0 + ROS2_GAMMA * h / tau_filter
    k[KersX.SHAFT] /= 1.0 + ROS2_GAMMA * h / p[KersP.T_D]
    k[KersX.DEMAND] /= 1.0 + ROS2_GAMMA * h / p[KersP.T_A]


@kernel
def kers_trial(h, x, x_1, u, p, data, work):
    """A step from `x` into `x_1`, and whether it is `rough`, as in `kernels.trial`."""
    k = w_kers(data)
    n = states(data)
    m = kers_states(data)
    k_1 = work[k + W_K_1 : k + W_K_1 + m]
    k_2 = work[k + W_K_2 : k + W_K_2 + m]
    sizes = kers_entry(KersD.SIZES, data)
    matrix = k + W_MATRIX
    pivot = matrix + n * n
    inner = work[k + W_P : k + W_P + N_P]
    tau_filter = work[k + W_NUMBERS + TAU_FILTER]
    all_rates(x, u, p, data, k_1, work)
    first = piece(work)
    fast_jacobian(x, inner, data, work, work[matrix : matrix + n * n])
    implicit_matrix(n, ROS2_GAMMA * h, work, matrix, pivot)
    lu_solve(n, work, matrix, pivot, k + W_K_1)
    own_solve(h, k_1[n:m], p, tau_filter)
    ros2_stage(m, h, x, k_1, x_1)
    all_rates(x_1, u, p, data, k_2, work)
    ros2_side(m, k_1, k_2)
    lu_solve(n, work, matrix, pivot, k + W_K_2)
    own_solve(h, k_2[n:m], p, tau_filter)
    ros2_new(m, h, x, k_1, k_2, x_1)
    if data[D.HYBRID] != 0.0:
        keep_piece(first, h, x, x_1, work[k + W_U : k + W_U + N_U], inner, data, work)
    ros2_error(m, h, k_1, k_2)
    return rough(ERROR_BOUND, m, k_1, data[sizes : sizes + m], x)


@kernel
def kers_advance(h, x, u, p, data, work):
    """One internal step in place, refined as in `kernels.advance`."""
    k = w_kers(data)
    m = kers_states(data)
    x_1 = work[k + W_X_1 : k + W_X_1 + m]
    part = 1.0
    left = 1.0
    coarse = 0.0
    for _ in range(MAX_TRIALS):
        again = kers_trial(h * part, x, x_1, u, p, data, work)
        if again and part > MIN_PART:
            part *= REFINEMENT
        else:
            if again:
                coarse = 1.0
            left -= part
            for i in range(m):
                x[i] = x_1[i]
            if left == 0.0:
                break
    return coarse


@kernel
def kers_step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own."""
    k = w_kers(data)
    m = kers_states(data)
    n_y = kers_entry(KersD.N_Y_ALL, data)
    saved = work[k + W_OLD : k + W_OLD + m]
    steps = enter(t, h, data[D.INTERNAL_STEP], N_KERS_U, u, m, x, saved)
    if steps == 0:
        return FAILED
    coarse = 0.0
    for _ in range(steps):
        if kers_advance(h / steps, x, u, p, data, work) == 1.0:
            coarse = 1.0
    y_new = work[k + W_NEW_Y : k + W_NEW_Y + n_y]
    all_outputs(True, x, u, p, data, y_new, work)
    y_new[Y.COARSE] = coarse
    status = leave(True, m, x, saved, n_y, y_new, y)
    limited = status != FAILED and y[Y.OUTSIDE] + y[Y.COARSE] + y[outputs_of_variator(data) + KersY.SATURATED] != 0.0
    return SATURATED if limited else status
