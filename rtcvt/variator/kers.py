"""KERS torque controller of a pushbelt variator between a shaft and a flywheel, as kernels around `kernels`.

The law is that of Tebaldi and Zanasi 2022, section 6.2 (`rtcvt.control.kers`), carried over from the tilt of a toroidal
variator to that of the belt: ``theta = pi/2 - phi`` is the angle between the taut spans and the line of the centres,
``sin(theta) = (r_I - r_O)/d_A``. It is zero at equal radii, and with it grows the speed of the flywheel::

    omega_d = omega_I/n_I,    omega_F = n_F omega_O,    omega_F/omega_d = n_I n_F/i(theta)

n_I, n_F are fixed gears; omega_t is the speed of the shaft, to which the primary is coupled by a spring (stiffness K_d)
beside an equal one with a damper in series, as in `rtcvt.pog.flange`. The flywheel with its gear counts into the
secondary, ``J_O = J_S + n_F^2 J_F``, ``b_O = b_S + n_F^2 b_F``: the gears are rigid.

**Torque estimate**, eq. (23) with the energy of pulleys, belt and flywheel ``E = (J_I omega_I^2 + m v^2 +
J_O omega_O^2)/2``, its derivative through ``1/(T s + 1)``, and what bearings and drag take less the reversible part of
the power of the sheaves::

    tau_l = n_I (b_I omega_I + b_O omega_O/i + r'_I lambda F_CO sigma(v) - tau_rev)
    P' = (dE/dt - P)/T,    tau_est = P/omega_d + tau_l

**Rate of the tilt.** With ``L_1`` the inertia of the rigid model at the primary and ``M = (dL_1/dtheta)/2``, N_1 per
theta', the torque is ``n_I^2 L_1 omega_d' + n_I^2 M omega_d theta' + tau_l``. To the law of the paper comes this,
solved for theta', as feed-forward: braking a vehicle takes a torque ``n_I^2 L_1 omega_d'`` that is no small error::

    theta'_c = K_theta (D_tau - K_w D_omega) + (tau_d - tau_l - n_I^2 L_1 a)/(n_I^2 M omega_d)
    D_tau = tau_d - tau_est,    D_omega = omega_t - omega_d - b/K_d
    z' = a = (omega_t - z)/T_d,    g' = b = (tau_d - g)/T_a

(b is the rate of the demand, at which the spring winds up; ``K_w b/K_d`` counts up to a tenth of tau_max below, so that
a step does not kick). T_d has to be long beside the oscillations of the driveline: the shaft's speed follows those
of omega_d, so that a faster feed-forward would feed them.

It is clipped to the limits of `rtcvt.control.limits`, those of the ratio and of the flywheel's speed among them, and
to rates at which the estimated torque stays within +-tau_max below, ``rho + (+-tau_max - tau_est)/(n_I^2 M omega_d)``.

**Clamping.** Valves and cylinders follow within T_a. The rate becomes a force on the primary by the law of shifting,
solved for it (`kernels.force_of_rate`), within y_min to y_max times that of balance and below F_max. The secondary
presses so hard that the weaker pulley carries S times the demanded or the estimated torque::

    rho' = (clip(theta'_c) - rho)/T_a,    x = k F_CO (y - 1) such that theta' = rho
    F_CO' = (clip(S max(|tau_d|, |tau_est|) cos(delta_0)/(n_I r'_I 2 mu xi_max) max(1, F_CO/F_CI)) - F_CO)/T_a

between F_low and F_most, at which the primary has F_max with a reserve Y for shifting. The demand is what this force
carries at most::

    F_most = F_max min(1, 1/(Y zeta))
    tau_d = clip(tau_des, +-tau_max),    tau_max = n_I r'_I 2 mu xi_max/cos(delta_0) F_most min(1, zeta)/S

**Anti-windup.** The memory of the controller is theta itself, which stays within its stops, and lags of clipped values.
``control.saturated`` says that a limit overrides the law: stops, rate, flywheel, clamping force, capacity.

**Balance.** The controller stores nothing: ``tau omega_t + P_ax = E' + sum of losses`` is that of `kernels`, with P_ax
the power of the clamping forces.

State vector: that of the variator with the primary's coupling, then ``[rho, F_CO, P, z, g]``. The integrator is that
of the variator; these five, which are slow beside it, enter its matrix by their own time constants alone.
"""

import math

from rtcvt.control.kers import K_W, OMEGA_0, TAU_FILTER, kers_law
from rtcvt.control.limits import CLIPPED, CONTROL_SIZE, LIMITED, RATE, TAU_EST, apply_limits
from rtcvt.kernel import FAILED, OK, SATURATED, kernel
from rtcvt.linalg import lu, lu_solve
from rtcvt.variator.kernels import (
    GAMMA,
    HUGE,
    MOST_STEPS,
    fast_jacobian,
    geometry,
    outputs,
    piece,
    rates,
    start,
    step_across,
    tractions,
)
from rtcvt.variator.layout import (
    ANGLE,
    ANGLE_RIGID,
    AT_LIMIT,
    B_I,
    B_O,
    C_I,
    COS_D,
    D_I,
    DI_G,
    DR_I,
    DR_O,
    DRAG,
    F_CI,
    F_CO,
    F_EQ,
    F_MAX,
    HYBRID,
    I_G,
    INTERNAL_STEP,
    J_I,
    J_O,
    KERS,
    M_B,
    MU,
    N_HYBRID,
    N_U,
    N_X,
    N_Y,
    OMEGA_I,
    OMEGA_O,
    PHI_RATE,
    RP_I,
    RP_O,
    T_RATIO,
    TAU_REV,
    U_F_O,
    U_I,
    U_RATIO,
    W_I,
    W_O,
    W_START,
    XI_MAX,
    Y_I,
    Y_OUTSIDE,
    V,
)

__all__ = ["kers_derivative", "kers_initialise", "kers_jacobian", "kers_output", "kers_step"]

# the controller's block in p: its size and place in work, the block of `kers_law`, its own parameters
N_ALL = 0  # states
N_Y_ALL = 1  # outputs
AT_WORK = 2
LAW = 3
N_I, N_F, J_S, B_S, J_F, B_F, K_D, D_D, W_T_START = range(13, 22)
SAFETY, RESERVE, F_LOW, T_A, T_D = range(22, 27)
KERS_BLOCK = 27

# u
U_W, U_TAU = range(2)
# x, behind the variator's
RHO, FORCE_O, POWER, SHAFT, DEMAND = range(5)
N_OWN = 5
# y, behind the variator's
Y_TAU, Y_TAU_EST, Y_TAU_MAX, Y_THETA, Y_SATURATED, Y_W_F = range(6)
N_Y_OWN = 6

# work, behind the variator's: its inputs, the law, quantities of the controller, vectors of the step
W_U = 0
W_LAW = W_U + N_U
TAU_L, TAU_MAX, TAU_D, NEED, OVER = range(W_LAW + CONTROL_SIZE, W_LAW + CONTROL_SIZE + 5)
MOST_ALL = N_HYBRID + 2 + N_OWN
W_K_1 = OVER + 1
W_K_2 = W_K_1 + MOST_ALL
W_X_1 = W_K_2 + MOST_ALL
W_OLD = W_X_1 + MOST_ALL
W_MATRIX = W_OLD + MOST_ALL
W_NEW_Y = W_MATRIX + MOST_ALL * MOST_ALL + MOST_ALL  # new outputs


@kernel
def lumped(p):
    """Write the inertia and friction behind the gears, the coupling and the flywheel's limit to the variator's p."""
    c = int(p[KERS])
    n_I = p[c + N_I]
    n_F = p[c + N_F]
    p[J_O] = p[c + J_S] + n_F * n_F * p[c + J_F]
    p[B_O] = p[c + B_S] + n_F * n_F * p[c + B_F]
    p[C_I] = p[c + K_D] / (n_I * n_I)
    p[D_I] = p[c + D_D] / (n_I * n_I)
    p[W_START] = n_I * p[c + W_T_START]


@kernel
def inner_inputs(x, u, p, w):
    """Inputs of the variator: shaft's speed at the primary, force, and the ratio that makes the rate rho."""
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    n = int(p[N_X])
    geometry(x[ANGLE] if p[HYBRID] != 0.0 else x[ANGLE_RIGID], p, w)
    for i in range(N_U):
        w[k + W_U + i] = 0.0
    w[k + W_U + U_I] = p[c + N_I] * u[U_W]
    w[k + W_U + U_F_O] = x[n + FORCE_O]
    w[k + W_U + U_RATIO] = w[I_G] - p[T_RATIO] * w[DI_G] * x[n + RHO]


@kernel
def rigid_inertia(p, w):
    """L_1 of the rigid model at the primary [kg.m2]."""
    q = w[RP_I] / w[RP_O]
    return p[J_I] + p[M_B] * w[RP_I] * w[RP_I] + p[J_O] * q * q


@kernel
def half_slope(p, w):
    """M, half the derivative of L_1 to theta [kg.m2/rad]."""
    q = w[RP_I] / w[RP_O]
    dq = (w[DR_I] - q * w[DR_O]) / w[RP_O]
    return -(p[M_B] * w[RP_I] * w[DR_I] + p[J_O] * q * dq)


@kernel
def controller(x, u, p, w):
    """Law, limits, clamping force and torque estimate behind the variator's rates, into ``w``."""
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    n = int(p[N_X])
    n_I = p[c + N_I]
    phi = x[ANGLE] if p[HYBRID] != 0.0 else x[ANGLE_RIGID]
    omega_d = w[W_I] / n_I
    i = w[I_G]
    w[k + TAU_L] = n_I * (p[B_I] * w[W_I] + p[B_O] * w[W_O] / i + w[RP_I] * w[DRAG] - w[TAU_REV])
    balance = w[F_EQ] / w[F_CO]
    most = p[F_MAX]  # of the secondary
    if p[c + RESERVE] * balance > 1.0:
        most /= p[c + RESERVE] * balance
    share = n_I * w[RP_I] * 2.0 * p[MU] * p[XI_MAX] / p[COS_D] / p[c + SAFETY]  # torque by clamping force
    w[k + TAU_MAX] = share * most
    if balance < 1.0:
        w[k + TAU_MAX] *= balance
    tau_d = u[U_TAU]
    w[k + OVER] = 0.0
    if tau_d > w[k + TAU_MAX]:
        tau_d = w[k + TAU_MAX]
        w[k + OVER] = 1.0
    elif tau_d < -w[k + TAU_MAX]:
        tau_d = -w[k + TAU_MAX]
        w[k + OVER] = 1.0
    w[k + TAU_D] = tau_d
    q = n_I * p[c + N_F] / i
    dq = q / i * w[DI_G]
    law = k + W_LAW
    demand = tau_d - w[k + TAU_L]
    winding = p[c + LAW + K_W] * (tau_d - x[n + DEMAND]) / p[c + T_A] / p[c + K_D]
    if winding > 0.1 * w[k + TAU_MAX]:
        winding = 0.1 * w[k + TAU_MAX]
    elif winding < -0.1 * w[k + TAU_MAX]:
        winding = -0.1 * w[k + TAU_MAX]
    kers_law(
        p,
        c + LAW,
        omega_d,
        0.5 * math.pi - phi,
        x[n + POWER],
        u[U_W],
        demand + winding,
        0.0,
        0.0,
        q,
        dq,
        0.0,
        w,
        law,
    )
    w[law + TAU_EST] += w[k + TAU_L]
    w_0 = p[c + LAW + OMEGA_0]
    inverse = omega_d / (w_0 * w_0)
    if abs(omega_d) > w_0:
        inverse = 1.0 / omega_d
    a = (u[U_W] - x[n + SHAFT]) / p[c + T_D]
    inertial = w[k + TAU_L] + n_I * n_I * rigid_inertia(p, w) * a  # torque that shifting does not make
    inverse /= n_I * n_I * half_slope(p, w)
    w[law + RATE] += (tau_d - inertial) * inverse
    apply_limits(CLIPPED, 0.0, w, law)
    most_rate = x[n + RHO] + (w[k + TAU_MAX] - w[law + TAU_EST]) * inverse
    least_rate = x[n + RHO] - (w[k + TAU_MAX] + w[law + TAU_EST]) * inverse
    if inverse < 0.0:
        most_rate = x[n + RHO] - (w[k + TAU_MAX] + w[law + TAU_EST]) * inverse
        least_rate = x[n + RHO] + (w[k + TAU_MAX] - w[law + TAU_EST]) * inverse
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
    if w[F_CI] < w[F_CO]:
        force *= w[F_CO] / w[F_CI]
    if force > most:
        force = most
        w[k + OVER] = 1.0
    if force < p[c + F_LOW]:
        force = p[c + F_LOW]
    w[k + NEED] = force


@kernel
def all_rates(x, u, p, dx, w):
    """Rates of the variator and of the controller."""
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    n = int(p[N_X])
    inner_inputs(x, u, p, w)
    rates(x, w[k + W_U : k + W_U + N_U], p, dx, w)
    controller(x, u, p, w)
    if p[HYBRID] != 0.0:
        power = p[J_I] * x[OMEGA_I] * dx[OMEGA_I] + p[M_B] * x[V] * dx[V] + p[J_O] * x[OMEGA_O] * dx[OMEGA_O]
    else:
        power = x[OMEGA_I] * (rigid_inertia(p, w) * dx[OMEGA_I] - half_slope(p, w) * w[PHI_RATE] * x[OMEGA_I])
    dx[n + RHO] = (w[k + W_LAW + RATE] - x[n + RHO]) / p[c + T_A]
    dx[n + FORCE_O] = (w[k + NEED] - x[n + FORCE_O]) / p[c + T_A]
    dx[n + POWER] = (power - x[n + POWER]) / p[c + LAW + TAU_FILTER]
    dx[n + SHAFT] = (u[U_W] - x[n + SHAFT]) / p[c + T_D]
    dx[n + DEMAND] = (w[k + TAU_D] - x[n + DEMAND]) / p[c + T_A]


@kernel
def all_outputs(x, u, p, y, w):
    """Outputs of the variator, then those of the unit."""
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    n = int(p[N_Y])
    inner_inputs(x, u, p, w)
    outputs(x, w[k + W_U : k + W_U + N_U], p, y, w)
    controller(x, u, p, w)
    y[n + Y_TAU] = p[c + N_I] * y[Y_I]
    y[n + Y_TAU_EST] = w[k + W_LAW + TAU_EST]
    y[n + Y_TAU_MAX] = w[k + TAU_MAX]
    y[n + Y_THETA] = 0.5 * math.pi - (x[ANGLE] if p[HYBRID] != 0.0 else x[ANGLE_RIGID])
    limited = w[k + W_LAW + LIMITED] != 0.0 or w[AT_LIMIT] != 0.0 or w[k + OVER] != 0.0
    y[n + Y_SATURATED] = 1.0 if limited else 0.0
    y[n + Y_W_F] = p[c + N_F] * w[W_O]


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def kers_initialise(p, u, x, work):
    """Start at the start ratio and speed without torque; clamped as the demand needs."""
    lumped(p)
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    n = int(p[N_X])
    for i in range(N_U):
        work[k + W_U + i] = 0.0
    work[k + W_U + U_I] = p[c + N_I] * u[U_W]
    work[k + W_U + U_F_O] = p[c + F_LOW]
    work[k + W_U + U_RATIO] = 1.0
    status = start(p, work[k + W_U : k + W_U + N_U], x, work)
    if status != OK:
        return status
    x[n + RHO] = 0.0
    x[n + FORCE_O] = p[c + F_LOW]
    x[n + POWER] = 0.0
    x[n + SHAFT] = u[U_W]
    x[n + DEMAND] = 0.0
    m = int(p[c + N_ALL])
    dx = work[k + W_K_1 : k + W_K_1 + m]
    all_rates(x, u, p, dx, work)
    x[n + FORCE_O] = work[k + NEED]
    for i in range(m):
        if not (abs(x[i]) < HUGE and abs(dx[i]) < HUGE):
            return FAILED
    return OK


@kernel
def kers_derivative(t, x, u, p, dx, work):
    """Right-hand side."""
    all_rates(x, u, p, dx, work)


@kernel
def kers_jacobian(t, x, u, p, jac, work):
    """``df/dx``, row-major, by central differences."""
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    m = int(p[c + N_ALL])
    moved = work[k + W_X_1 : k + W_X_1 + m]
    above = work[k + W_K_1 : k + W_K_1 + m]
    below = work[k + W_K_2 : k + W_K_2 + m]
    for i in range(m):
        moved[i] = x[i]
    for j in range(m):
        d = 1e-6 * (1.0 + abs(x[j]))
        moved[j] = x[j] + d
        all_rates(moved, u, p, above, work)
        moved[j] = x[j] - d
        all_rates(moved, u, p, below, work)
        moved[j] = x[j]
        for i in range(m):
            jac[i * m + j] = (above[i] - below[i]) / (2.0 * d)


@kernel
def kers_output(t, x, u, p, y, work):
    """Outputs."""
    all_outputs(x, u, p, y, work)


@kernel
def own_solve(h, k, p):
    """The controller's part of ``(I - gamma h A) k = k`` in ``k[0:]``, with its time constants in A."""
    c = int(p[KERS])
    k[RHO] /= 1.0 + GAMMA * h / p[c + T_A]
    k[FORCE_O] /= 1.0 + GAMMA * h / p[c + T_A]
    k[POWER] /= 1.0 + GAMMA * h / p[c + LAW + TAU_FILTER]
    k[SHAFT] /= 1.0 + GAMMA * h / p[c + T_D]
    k[DEMAND] /= 1.0 + GAMMA * h / p[c + T_A]


@kernel
def kers_advance(h, x, u, p, work):
    """One internal step in place, as in `kernels.advance`."""
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    n = int(p[N_X])
    m = int(p[c + N_ALL])
    k_1 = work[k + W_K_1 : k + W_K_1 + m]
    k_2 = work[k + W_K_2 : k + W_K_2 + m]
    x_1 = work[k + W_X_1 : k + W_X_1 + m]
    matrix = k + W_MATRIX
    pivot = matrix + n * n
    all_rates(x, u, p, k_1, work)
    first = piece(work)
    fast_jacobian(x, p, work, work[matrix : matrix + n * n])
    for i in range(n * n):
        work[matrix + i] *= -GAMMA * h
    for i in range(n):
        work[matrix + i * n + i] += 1.0
    lu(n, work, matrix, pivot)
    lu_solve(n, work, matrix, pivot, k + W_K_1)
    own_solve(h, k_1[n:m], p)
    for i in range(m):
        x_1[i] = x[i] + h * k_1[i]
    all_rates(x_1, u, p, k_2, work)
    for i in range(m):
        k_2[i] -= 2.0 * k_1[i]
    lu_solve(n, work, matrix, pivot, k + W_K_2)
    own_solve(h, k_2[n:m], p)
    for i in range(m):
        x_1[i] = x[i] + 1.5 * h * k_1[i] + 0.5 * h * k_2[i]
    if p[HYBRID] != 0.0:
        second = piece(work)
        tractions(x_1, p, work)
        if first != second or piece(work) != second:
            step_across(h, x, x_1, work[k + W_U : k + W_U + N_U], p, work)
    for i in range(m):
        x[i] = x_1[i]


@kernel
def kers_step(t, h, x, u, p, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own."""
    c = int(p[KERS])
    k = int(p[c + AT_WORK])
    m = int(p[c + N_ALL])
    n_y = int(p[c + N_Y_ALL])
    if not (abs(u[U_W]) < HUGE and abs(u[U_TAU]) < HUGE):
        return FAILED
    for i in range(m):
        if not abs(x[i]) < HUGE:
            return FAILED
    if not (h > 0.0 and h < MOST_STEPS * p[INTERNAL_STEP] and abs(t) < HUGE):
        return FAILED
    for i in range(m):
        work[k + W_OLD + i] = x[i]
    steps = math.ceil(h / p[INTERNAL_STEP] * (1.0 - 1e-9))
    for _ in range(steps):
        kers_advance(h / steps, x, u, p, work)
    y_new = work[k + W_NEW_Y : k + W_NEW_Y + n_y]
    all_outputs(x, u, p, y_new, work)
    good = True
    for i in range(m):
        if not abs(x[i]) < HUGE:
            good = False
    for i in range(n_y):
        if not abs(y_new[i]) < HUGE * HUGE:
            good = False
    if not good:
        for i in range(m):
            x[i] = work[k + W_OLD + i]
        return FAILED
    for i in range(n_y):
        y[i] = y_new[i]
    return SATURATED if y[Y_OUTSIDE] != 0.0 or y[int(p[N_Y]) + Y_SATURATED] != 0.0 else OK
