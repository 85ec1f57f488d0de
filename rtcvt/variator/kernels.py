"""Rigid and hybrid model of a pushbelt variator as real-time kernels.

Both are the power-oriented graph of Tebaldi and Zanasi 2022, eq. (2), of primary, belt and secondary with the radii in
``R(t)``. Symbols: omega_I, omega_O speeds; v speed of the belt; tau_I, tau_O torques into the variator; F_CI, F_CO
clamping forces; r_I, r_O radii of the neutral fibre; r'_I, r'_O radii of the rocking edges.

**Geometry.** The taut path of length L around the centre distance d_A is that of the angle phi, the only coordinate of
the ratio; its radii follow in closed form from ``cos(phi) = (r_I - r_O)/d_A`` and the length (Cebulla 2014, (4.36))::

    r_O = L/(2 pi) - d_A/pi (sin(phi) + (pi - phi) cos(phi)),    r_I = r_O + d_A cos(phi)
    dr_I/dphi = -d_A/pi phi sin(phi),    dr_O/dphi = d_A/pi (pi - phi) sin(phi)
    r' = r - h_off,    i = r'_O/r'_I

**Identified laws** at the operating point: i, torque ratio ``xi = T_f cos(delta_0)/(2 mu F_CO) sigma(v)``,
``kappa = m* v^2/F_CO``, ``f = F_CO/F_ref`` and y_f; ``sigma(v) = v/sqrt(v^2 + v_0^2)``, ``|v|_0 = v sigma(v)``. The
forces on an arc form anew as the belt runs through it, so T_f and y_f follow the traction and the balance of forces
``y = F_CI/F_eq`` within a way l_point of the belt, ``T_f' = (|v|_0 + v_0)/l_point (T_O - T_f)``, likewise y_f::

    zeta > 0      thrust ratio without shifting, F_eq = zeta F_CO
    e             speed loss by change of the running radii under load, without loss of power
    c > 0         creep: speed loss c xi by sliding
    lambda > 0    remaining loss as a drag of the belt, lambda F_CO
    k > 0         coefficient of shifting

**Shifting.** The running radius creeps like a Maxwell element: ``r_I'/(|omega_I|_0 r_I) = x = k F_CO (y - 1)``, within
the end stops, which let phi approach them with the time constant T_stop and never push back.

**Hybrid model.** Traction is a spring K with a damper d in parallel, in series with creep and dry friction, on each
pulley P. e_P is the rate of the spring's length, the rest of s_P slides::

    J_I omega_I' = tau_I - b_I omega_I - R_I T_I + tau_rev      s_I = R_I omega_I - v,  R_I = r'_I (1 - e)
    m v'         = T_I - T_O - lambda F_CO sigma(v)
    J_O omega_O' = tau_O - b_O omega_O + R_O T_O                s_O = v - R_O omega_O,  R_O = r'_O
    S_P' = K e_P,    e_P = (T_P - S_P)/d
    T_P = (S_P + d s_P)/(1 + d a) within +-T_max,P,   so that s_P - e_P = a T_P within
    a = c |v|_0 cos(delta_0)/(4 mu F_CO),    T_max,P = xi_max 2 mu F_CP/cos(delta_0)

Below the capacity the belt creeps and holds at standstill; at the capacity it slides as a whole (macro-slip), and the
spring goes to T_max,P with the time constant d/K. Before that creep grows steeply: macro-slip begins where the speed
loss ``|e + c xi|`` is 5 %, and the margin is what is left to there or to the capacity, whichever is less.

**Balance.** Power goes in at the shafts and with the sheaves, ``P_ax = 2 tan(delta_0) (F_CI r_I' + F_CO r_O')``. With
``q`` the part of the law's rate that the stops let through, ``0 <= q <= 1``, and ``r_O' = -(pi - phi)/phi r_I'``::

    P_shift = q     2 tan(delta_0) (F_CI - F_eq) r_I'
    P_stop  = (1-q) 2 tan(delta_0) (F_CI - F_eq) r_I'
    tau_rev omega_I = 2 tan(delta_0) (F_eq r_I' + F_CO r_O'),  finite at standstill since r_I' has the factor omega_I^2
    E = (J_I omega_I^2 + m v^2 + J_O omega_O^2 + (S_I^2 + S_O^2)/K)/2
    tau_I omega_I + tau_O omega_O + P_ax = E' + sum of losses:
        b omega^2,  lambda F_CO |v|_0,  P_shift,  P_stop,  and per pulley  s T - S e = (s - e) T + e (T - S)

No loss is ever negative. r_I' has the sign of F_CI - F_eq, so P_shift and P_stop are not. Damping loses
``e (T - S) = d e^2``. Let G be T before its limit, ``G = S + d (s - a G)``. If T = G, then ``s - e = a T``; if
``G > T = T_max``, then ``s - e = (G - T_max)/d + a G > 0``; likewise below: ``(s - e) T`` is not negative.

**Rigid model.** No creep, no change of radii under load: ``R omega = 0`` with
``R = [r'_I, -1, 0; 0, 1, -r'_O]``, so ``Q1 = [1, r'_I, r'_I/r'_O]'`` of ``x1 = omega_I`` and, eq. (10)::

    L1 = J_I + m r'_I^2 + J_O/i^2,    N1 = m r'_I dr'_I/dt + J_O (1/i) d(1/i)/dt,    A1 = -(b_I + b_O/i^2)
    L1 omega_I' + N1 omega_I = A1 omega_I + tau_I + tau_rev + tau_O/i - r'_I lambda F_CO sigma(v)

Its contact forces T_I, T_O are those of eq. (11).
"""

import math

from rtcvt.elementary import cos, sin
from rtcvt.kernel import FAILED, OK, SATURATED, kernel
from rtcvt.linalg import lu, lu_solve
from rtcvt.variator.layout import (
    A_I,
    A_O,
    ANGLE,
    ANGLE_RIGID,
    AT_LIMIT,
    B_I,
    B_O,
    BALANCE,
    BALANCE_F,
    BALANCE_F_RIGID,
    C_I,
    C_O,
    CAP_I,
    CAP_O,
    CONTROL,
    COS_D,
    CREEP,
    D_A,
    D_BELT,
    D_DRAG,
    D_I,
    D_O,
    DI_G,
    DR_I,
    DR_O,
    DRAG,
    E_I,
    E_O,
    EF_I,
    EF_O,
    ES_I,
    ES_O,
    F_CI,
    F_CO,
    F_EQ,
    F_MAX,
    F_MIN,
    F_REF,
    FIELD_LIST,
    FIELD_TABLE,
    H_OFF,
    HYBRID,
    I_G,
    I_START,
    INTERNAL_STEP,
    J_I,
    J_O,
    K_BELT,
    L_POINT,
    LAW_C,
    LAW_E,
    LAW_K,
    LAW_LAMBDA,
    LAWS,
    LENGTH,
    M_B,
    M_STAR,
    MOST_X,
    MU,
    N_FIELDS,
    N_HYBRID,
    N_PEAKS,
    N_RIGID,
    N_SCRATCH,
    N_U,
    N_X,
    N_Y,
    OMEGA_I,
    OMEGA_O,
    OUTSIDE,
    P_SHIFT,
    P_STOP,
    PEAK_LIST,
    PER_LENGTH,
    PHI,
    PHI_MAX,
    PHI_MIN,
    PHI_RATE,
    PRESSURE,
    R_I,
    R_O,
    RATIO,
    RE_I,
    RP_I,
    RP_O,
    RR_I,
    S_I,
    S_O,
    SECTIONS,
    SLIP_I,
    SLIP_O,
    SPEED_I,
    SPEED_O,
    STRETCH,
    T_F,
    T_F_RIGID,
    T_I,
    T_O,
    T_RATIO,
    T_STOP,
    TAN_D,
    TAU_I,
    TAU_O,
    TAU_REV,
    TS_I,
    TS_O,
    TT_I,
    TT_O,
    U_F_I,
    U_F_O,
    U_I,
    U_O,
    U_P_I,
    U_P_O,
    U_RATIO,
    V_0,
    W_ACROSS,
    W_I,
    W_O,
    W_SAVED,
    W_START,
    W_STEP,
    W_V,
    W_Y,
    WHOLE,
    XI,
    XI_MAX,
    Y_AXIAL,
    Y_BALANCE,
    Y_BEARING,
    Y_BELT,
    Y_COUPLING,
    Y_DAMPING,
    Y_DISTANCE,
    Y_E,
    Y_EFFICIENCY,
    Y_F_CI,
    Y_F_CO,
    Y_I,
    Y_LEAST,
    Y_LIMITED,
    Y_MACRO,
    Y_MARGIN,
    Y_MOST,
    Y_O,
    Y_OUTSIDE,
    Y_PEAKS,
    Y_R_I,
    Y_R_O,
    Y_RATE,
    Y_RATIO,
    Y_SHIFT,
    Y_SLIDING,
    Y_SLIP,
    Y_STOP,
    Y_T_I,
    Y_T_O,
    Y_THRUST,
    Y_V,
    V,
)
from rtcvt.variator.regression import (
    CELLS,
    FIELD_NETWORKS,
    distance,
    laws,
    network,
    peaks,
    reconstruct,
    stage_1,
    stage_2,
    thrust_ratio,
)

__all__ = ["derivative", "evaluate", "initialise", "jacobian", "output", "step"]

HUGE = 1e12  # beyond this [SI], as for Inf and NaN, a number is no state or input
MACRO = 0.05  # speed loss of the laws from which the belt counts as sliding as a whole
MOST_STEPS = 1e6  # internal steps in one communication step
GAMMA = 1.0 - math.sqrt(0.5)  # of the integrator


# --- geometry and operating point -------------------------------------------------------------------------------------


@kernel
def geometry(phi, p, w):
    """Radii of the taut path and of the rocking edges, the ratio, and their derivatives to phi."""
    s = sin(phi)
    c = cos(phi)
    d = p[D_A]
    w[R_O] = p[LENGTH] / (2.0 * math.pi) - d / math.pi * (s + (math.pi - phi) * c)
    w[R_I] = w[R_O] + d * c
    w[DR_I] = -d / math.pi * phi * s
    w[DR_O] = d / math.pi * (math.pi - phi) * s
    w[RP_I] = w[R_I] - p[H_OFF]
    w[RP_O] = w[R_O] - p[H_OFF]
    w[I_G] = w[RP_O] / w[RP_I]
    w[DI_G] = (w[DR_O] - w[I_G] * w[DR_I]) / w[RP_I]


@kernel
def smooth_sign(v, v_0):
    """sigma(v)."""
    return v / math.sqrt(v * v + v_0 * v_0)


@kernel
def above_zero(F, F_min):
    """`F` if it is large, at least half of `F_min` where it is not: a clamping force that presses."""
    return 0.5 * (F + math.sqrt(F * F + F_min * F_min))


@kernel
def cylinder(u_p, omega, closing, a, p):
    """Clamping force [N] of a cylinder: its parameters begin at ``p[a]``, `closing` is the way of the sheave [m]."""
    return p[a] * u_p + p[a + 1] * omega * omega + p[a + 2] - p[a + 3] * closing


@kernel
def clamping(omega_I, omega_O, u, p, w):
    """Clamping forces [N] from forces or pressures; the primary's is left to `shifting` if the ratio is given."""
    control = int(p[CONTROL])
    if control == PRESSURE:
        r_1 = p[LENGTH] / (2.0 * math.pi) - p[D_A] / math.pi  # of both at i = 1
        F_I = cylinder(u[U_P_I], omega_I, 2.0 * p[TAN_D] * (w[R_I] - r_1), A_I, p)
        F_O = cylinder(u[U_P_O], omega_O, 2.0 * p[TAN_D] * (w[R_O] - r_1), A_O, p)
    else:
        F_I = u[U_F_I]
        F_O = u[U_F_O]
    w[F_CI] = above_zero(F_I, p[F_MIN])
    w[F_CO] = above_zero(F_O, p[F_MIN])


@kernel
def thrust_law(v, T, p, w):
    """F_eq [N] at the operating point of the belt's speed `v` [m/s] and traction `T` [N] at the secondary."""
    at = int(p[LAWS])
    phi = w[int(p[PHI]) : int(p[PHI]) + int(p[N_SCRATCH])]
    w[XI] = T * p[COS_D] / (2.0 * p[MU] * w[F_CO]) * smooth_sign(v, p[V_0])
    w[OUTSIDE] = stage_1(p, at, w[I_G], w[XI], p[M_STAR] * v * v / w[F_CO], w[F_CO] / p[F_REF], phi)
    w[F_EQ] = thrust_ratio(phi) * w[F_CO]


@kernel
def laws_at(y, p, w):
    """k [1/N], e, c and lambda where the forces on the arcs are those of F_CI/F_eq = `y`; expects `thrust_law`."""
    at = int(p[LAWS])
    phi = w[int(p[PHI]) : int(p[PHI]) + int(p[N_SCRATCH])]
    outside = stage_2(p, at, y, phi)
    if outside > w[OUTSIDE]:
        w[OUTSIDE] = outside
    laws(p, at, phi, w[LAW_K : LAW_K + 4])
    w[LAW_K] /= p[F_REF]


# --- shifting ---------------------------------------------------------------------------------------------------------


@kernel
def force_of_rate(D, turning, p, w):
    """F_CI [N] at which ``r_I'/r_I`` is `D` [1/s], within its limits; `turning` is |omega_I|_0. Sets AT_LIMIT."""
    least = p[Y_LEAST]
    most = p[F_MAX] / w[F_EQ]
    if most > p[Y_MOST]:
        most = p[Y_MOST]
    span = w[LAW_K] * w[F_CO] * turning
    if span * (most - 1.0) < D:
        y = most
    elif span * (least - 1.0) > D:
        y = least
    elif span > 0.0:
        y = 1.0 + D / span
    else:
        y = 1.0
    w[AT_LIMIT] = 1.0 if y == most or y == least else 0.0
    w[F_CI] = y * w[F_EQ]


@kernel
def shifting(omega_I, phi, u, p, w):
    """Rate of phi, torque of the reversible power on the primary, losses of shifting."""
    omega_0 = p[V_0] / w[R_I]
    sign = smooth_sign(omega_I, omega_0)
    turning = omega_I * sign  # |omega_I|_0
    w[AT_LIMIT] = 0.0
    if int(p[CONTROL]) == RATIO:
        rate = (u[U_RATIO] - w[I_G]) / (p[T_RATIO] * w[DI_G])  # of phi
        force_of_rate(rate * w[DR_I] / w[R_I], turning, p, w)
    w[BALANCE] = w[F_CI] / w[F_EQ]
    x = w[LAW_K] * w[F_CO] * (w[BALANCE] - 1.0)
    law = turning * w[R_I] * x / w[DR_I]
    low = (p[PHI_MIN] - phi) / p[T_STOP]
    high = (p[PHI_MAX] - phi) / p[T_STOP]
    low = low if low < 0.0 else 0.0
    high = high if high > 0.0 else 0.0
    rate = law
    if law < low:
        rate = low
    elif law > high:
        rate = high
    q = 1.0
    if rate != law:
        q = rate / law
        w[AT_LIMIT] = 1.0
    w[PHI_RATE] = rate
    w[RR_I] = w[DR_I] * rate
    opening = 2.0 * p[TAN_D] * (w[F_CI] - w[F_EQ]) * w[RR_I]
    w[P_SHIFT] = q * opening
    w[P_STOP] = (1.0 - q) * opening
    w[TAU_REV] = 2.0 * p[TAN_D] * (w[F_EQ] + w[F_CO] * w[DR_O] / w[DR_I]) * w[R_I] * x * q * sign


# --- traction ---------------------------------------------------------------------------------------------------------


@kernel
def given_traction(o, p, w):
    """Slopes of a traction that is given: the spring alone answers, to its own force."""
    w[o + 3] = 0.0
    w[o + 4] = 0.0
    w[o + 5] = -1.0 / p[D_BELT]
    w[o + 6] = 0.0


@kernel
def traction(o, S, s, a, p, w):
    """Traction of one pulley from the spring force `S` [N], speed difference `s` and creep `a`: into ``w[o:]``.

    The capacity is at ``w[o]``; behind it go T, e, the slopes of T and of e to S and to s, and the direction in which
    the belt slides as a whole, 0 if it does not.
    """
    T_max = w[o]
    d = p[D_BELT]
    part = 1.0 / (1.0 + d * a)
    T = (S + d * s) * part
    w[o + 3] = part
    w[o + 4] = d * part
    w[o + 7] = 0.0
    if T_max < T:
        T = T_max
        w[o + 7] = 1.0
    elif -T_max > T:
        T = -T_max
        w[o + 7] = -1.0
    w[o + 1] = T
    w[o + 2] = s - a * T
    w[o + 5] = -a * part
    w[o + 6] = part
    if w[o + 7] != 0.0:
        w[o + 2] = (T - S) / d
        given_traction(o, p, w)


@kernel
def tractions(x, p, w):
    """Tractions of both pulleys of the hybrid model at the radii, creep and capacities of `evaluate`."""
    s_I = w[RE_I] * x[OMEGA_I] - x[V]
    s_O = x[V] - w[RP_O] * x[OMEGA_O]
    traction(CAP_I, x[S_I], s_I, w[CREEP], p, w)
    traction(CAP_O, x[S_O], s_O, w[CREEP], p, w)


# --- both models ------------------------------------------------------------------------------------------------------


@kernel
def flange_torque(flange, speed_in, at, x, u):
    """Torque into the variator at a flange [N.m]: the input, or the sum of the coupling's at ``x[at]``."""
    if speed_in != 0.0:
        return x[at] + x[at + 1]
    return u[flange]


@kernel
def coupling_rates(u_w, omega, c, at, p, x, dx):
    """Rates of a coupling's two torques; its stiffness stands at ``p[c]``, the damping behind it."""
    rate = p[c] * (u_w - omega)
    dx[at] = rate
    dx[at + 1] = rate - p[c] / p[c + 1] * x[at + 1]


@kernel
def evaluate(x, u, p, w):
    """All quantities at a state, into ``w[:N_Q]``, except for what the rigid model's rates decide."""
    hybrid = p[HYBRID] != 0.0
    n = N_HYBRID if hybrid else N_RIGID
    phi = x[ANGLE] if hybrid else x[ANGLE_RIGID]
    omega_I = x[OMEGA_I]
    geometry(phi, p, w)
    if hybrid:
        v = x[V]
        omega_O = x[OMEGA_O]
        T = x[T_F]
        y = x[BALANCE_F]
    else:
        v = w[RP_I] * omega_I
        omega_O = omega_I * w[RP_I] / w[RP_O]
        T = x[T_F_RIGID]
        y = x[BALANCE_F_RIGID]
    w[W_I] = omega_I
    w[W_V] = v
    w[W_O] = omega_O
    w[TAU_I] = flange_torque(U_I, p[SPEED_I], n, x, u)
    w[TAU_O] = flange_torque(U_O, p[SPEED_O], n + 2 * int(p[SPEED_I]), x, u)
    clamping(omega_I, omega_O, u, p, w)
    thrust_law(v, T, p, w)
    laws_at(y, p, w)
    shifting(omega_I, phi, u, p, w)
    sign = smooth_sign(v, p[V_0])
    w[DRAG] = w[LAW_LAMBDA] * w[F_CO] * sign
    w[D_DRAG] = (
        w[LAW_LAMBDA] * w[F_CO] * p[V_0] * p[V_0] / ((v * v + p[V_0] * p[V_0]) * math.sqrt(v * v + p[V_0] * p[V_0]))
    )
    capacity = p[XI_MAX] * 2.0 * p[MU] / p[COS_D]
    w[CAP_I] = capacity * w[F_CI]
    w[CAP_O] = capacity * w[F_CO]
    if hybrid:
        w[RE_I] = w[RP_I] * (1.0 - w[LAW_E])
        w[CREEP] = 0.25 * w[LAW_C] * v * sign * p[COS_D] / (p[MU] * w[F_CO])
        tractions(x, p, w)


@kernel
def following(p, w):
    """Rate [1/s] at which the operating point follows the traction and the balance of forces."""
    return (w[W_V] * smooth_sign(w[W_V], p[V_0]) + p[V_0]) / p[L_POINT]


@kernel
def hybrid_rates(x, p, w, dx):
    """Rates of speeds, spring forces and phi of the hybrid model; expects `evaluate`."""
    dx[OMEGA_I] = (w[TAU_I] + w[TAU_REV] - p[B_I] * x[OMEGA_I] - w[RE_I] * w[T_I]) / p[J_I]
    dx[V] = (w[T_I] - w[T_O] - w[DRAG]) / p[M_B]
    dx[OMEGA_O] = (w[TAU_O] - p[B_O] * x[OMEGA_O] + w[RP_O] * w[T_O]) / p[J_O]
    dx[S_I] = p[K_BELT] * w[E_I]
    dx[S_O] = p[K_BELT] * w[E_O]
    dx[ANGLE] = w[PHI_RATE]
    dx[T_F] = following(p, w) * (w[T_O] - x[T_F])
    dx[BALANCE_F] = following(p, w) * (w[BALANCE] - x[BALANCE_F])


@kernel
def rigid_rates(x, p, w, dx):
    """Rates of the rigid model's states, and its contact forces; expects `evaluate`."""
    q = w[RP_I] / w[RP_O]  # 1/i
    dq = w[PHI_RATE] * (w[DR_I] - q * w[DR_O]) / w[RP_O]
    dr_I = w[PHI_RATE] * w[DR_I]
    omega = x[OMEGA_I]
    L_1 = p[J_I] + p[M_B] * w[RP_I] * w[RP_I] + p[J_O] * q * q
    N_1 = p[M_B] * w[RP_I] * dr_I + p[J_O] * q * dq
    A_1 = -(p[B_I] + p[B_O] * q * q)
    torque = w[TAU_I] + w[TAU_REV] + q * w[TAU_O] - w[RP_I] * w[DRAG]
    acceleration = ((A_1 - N_1) * omega + torque) / L_1
    w[T_I] = (w[TAU_I] + w[TAU_REV] - p[B_I] * omega - p[J_I] * acceleration) / w[RP_I]
    w[T_O] = (p[J_O] * (q * acceleration + dq * omega) + p[B_O] * q * omega - w[TAU_O]) / w[RP_O]
    dx[OMEGA_I] = acceleration
    dx[ANGLE_RIGID] = w[PHI_RATE]
    dx[T_F_RIGID] = following(p, w) * (w[T_O] - x[T_F_RIGID])
    dx[BALANCE_F_RIGID] = following(p, w) * (w[BALANCE] - x[BALANCE_F_RIGID])


@kernel
def rates(x, u, p, dx, work):
    """Right-hand side."""
    evaluate(x, u, p, work)
    rates_of(x, u, p, dx, work)


@kernel
def rates_of(x, u, p, dx, work):
    """Right-hand side; expects `evaluate`."""
    n = N_RIGID
    if p[HYBRID] != 0.0:
        n = N_HYBRID
        hybrid_rates(x, p, work, dx)
    else:
        rigid_rates(x, p, work, dx)
    if p[SPEED_I] != 0.0:
        coupling_rates(u[U_I], work[W_I], C_I, n, p, x, dx)
        n += 2
    if p[SPEED_O] != 0.0:
        coupling_rates(u[U_O], work[W_O], C_O, n, p, x, dx)


@kernel
def derivative(t, x, u, p, dx, work):
    """Right-hand side."""
    rates(x, u, p, dx, work)


@kernel
def output(t, x, u, p, y, work):
    """Outputs, see `outputs`."""
    outputs(x, u, p, y, work)


@kernel
def outputs(x, u, p, y, work):
    """Flanges, ratio, radii, slip, traction, clamping, energy, losses, status and peaks of the contact forces."""
    w = work
    dx = work[W_STEP : W_STEP + MOST_X]
    rates(x, u, p, dx, work)
    hybrid = p[HYBRID] != 0.0
    n = N_HYBRID if hybrid else N_RIGID
    omega_I = w[W_I]
    omega_O = w[W_O]
    v = w[W_V]
    E = p[J_I] * omega_I * omega_I + p[M_B] * v * v + p[J_O] * omega_O * omega_O
    if hybrid:
        E += (x[S_I] * x[S_I] + x[S_O] * x[S_O]) / p[K_BELT]
    y[Y_I] = omega_I
    y[Y_O] = omega_O
    y[Y_COUPLING] = 0.0
    if p[SPEED_I] != 0.0:
        y[Y_I] = w[TAU_I]
        E += (x[n] * x[n] + x[n + 1] * x[n + 1]) / p[C_I]
        y[Y_COUPLING] += x[n + 1] * x[n + 1] / p[D_I]
        n += 2
    if p[SPEED_O] != 0.0:
        y[Y_O] = w[TAU_O]
        E += (x[n] * x[n] + x[n + 1] * x[n + 1]) / p[C_O]
        y[Y_COUPLING] += x[n + 1] * x[n + 1] / p[D_O]
    y[Y_RATIO] = w[I_G]
    y[Y_RATE] = w[DI_G] * w[PHI_RATE]
    y[Y_R_I] = w[R_I]
    y[Y_R_O] = w[R_O]
    y[Y_V] = v
    y[Y_T_I] = w[T_I]
    y[Y_T_O] = w[T_O]
    y[Y_F_CI] = w[F_CI]
    y[Y_F_CO] = w[F_CO]
    y[Y_THRUST] = w[F_CI] / w[F_CO]
    y[Y_BALANCE] = w[F_EQ] / w[F_CO]
    y[Y_E] = 0.5 * E
    y[Y_AXIAL] = 2.0 * p[TAN_D] * (w[F_CI] + w[F_CO] * w[DR_O] / w[DR_I]) * w[RR_I]
    y[Y_BELT] = w[DRAG] * v
    y[Y_SHIFT] = w[P_SHIFT]
    y[Y_STOP] = w[P_STOP]
    y[Y_BEARING] = p[B_I] * omega_I * omega_I + p[B_O] * omega_O * omega_O
    margin_I = 1.0 - abs(w[T_I]) / w[CAP_I]
    margin_O = 1.0 - abs(w[T_O]) / w[CAP_O]
    margin = margin_I if margin_I < margin_O else margin_O
    loss = abs(w[LAW_E] + w[LAW_C] * w[XI]) / MACRO
    y[Y_MARGIN] = margin if margin < 1.0 - loss else 1.0 - loss
    u_I = w[RP_I] * omega_I
    y[Y_SLIP] = (u_I - w[RP_O] * omega_O) * u_I / (u_I * u_I + p[V_0] * p[V_0])
    P_I = w[T_I] * u_I
    P_O = w[T_O] * w[RP_O] * omega_O
    y[Y_SLIDING] = 0.0
    y[Y_DAMPING] = 0.0
    y[Y_MACRO] = 1.0 if loss > 1.0 else 0.0
    if hybrid:
        s_I = w[RE_I] * omega_I - v
        s_O = v - w[RP_O] * omega_O
        P_I = w[T_I] * w[RE_I] * omega_I
        y[Y_SLIDING] = (s_I - w[E_I]) * w[T_I] + (s_O - w[E_O]) * w[T_O]
        y[Y_DAMPING] = p[D_BELT] * (w[E_I] * w[E_I] + w[E_O] * w[E_O])
        if w[SLIP_I] != 0.0 or w[SLIP_O] != 0.0:
            y[Y_MACRO] = 1.0
    y[Y_EFFICIENCY] = efficiency(P_I, P_O, p[B_I] * omega_I * omega_I, p[B_O] * omega_O * omega_O)
    y[Y_OUTSIDE] = 1.0 if w[OUTSIDE] > 0.0 else 0.0
    y[Y_LIMITED] = w[AT_LIMIT]
    contact_outputs(x[ANGLE] if hybrid else x[ANGLE_RIGID], p, y, w)


@kernel
def term(kind, length, p, w):
    """Unit [SI] of a dimensionless field value where the path has this `length` [m]."""
    if kind == PER_LENGTH:
        return w[F_CO] / length
    if kind == WHOLE:
        return w[F_CO]
    return p[STRETCH] * w[F_CO]


@kernel
def section_length(section, phi, p, w):
    """Length [m] of primary arc, push span, secondary arc or slack span."""
    if section == 0:
        return 2.0 * (math.pi - phi) * w[R_I]
    if section == 2:
        return 2.0 * phi * w[R_O]
    return p[D_A] * sin(phi)


@kernel
def contact_outputs(angle, p, y, w):
    """Distance from the data, peaks of the contact forces, and fields over the cells; expects `laws_at` behind."""
    at = int(p[LAWS])
    phi = w[int(p[PHI]) : int(p[PHI]) + int(p[N_SCRATCH])]
    y[Y_DISTANCE] = math.sqrt(distance(p, at, phi))
    n = int(p[N_PEAKS])
    peaks(p, at, n, phi, y[Y_PEAKS : Y_PEAKS + n])
    for k in range(n):
        y[Y_PEAKS + k] *= term(int(p[int(p[PEAK_LIST]) + k]), p[LENGTH], p, w)
    if p[N_FIELDS] > 0.0:
        field_outputs(angle, p, phi, y, w)


@kernel
def field_outputs(angle, p, phi, y, w):
    """Fields over the cells, behind the peaks; expects `laws_at` behind."""
    at = int(p[FIELD_TABLE])
    cells = int(p[at + CELLS])
    part = int(p[at + CELLS] / SECTIONS)
    place = Y_PEAKS + int(p[N_PEAKS])
    coefficients = network(p, at + int(p[at + FIELD_NETWORKS]), phi)
    for k in range(int(p[N_FIELDS])):
        reconstruct(p, at, k, phi, coefficients, y[place : place + cells])
        kind = int(p[int(p[FIELD_LIST]) + k])
        for section in range(SECTIONS):
            scale = term(kind, section_length(section, angle, p, w), p, w)
            values = y[place : place + part]
            for m in range(part):
                values[m] *= scale
            place += part


@kernel
def efficiency(P_I, P_O, b_I, b_O):
    """Power out of one shaft by power into the other, within 0 and 1; 0 if power goes into both.

    P_I goes from the primary to the belt, P_O from the belt to the secondary; b are the bearings' losses [W].
    """
    into = 0.0
    out = 0.0
    if P_O > 0.0:
        into = P_I + b_I
        out = P_O - b_O
    elif P_I < 0.0:
        into = b_O - P_O
        out = -P_I - b_I
    if out <= 0.0:
        return 0.0
    return out / into if out < into else 1.0


# --- start and step ---------------------------------------------------------------------------------------------------


@kernel
def angle_of(ratio, p, w):
    """Angle phi [rad] of a ratio, by bisection between the end stops."""
    low = p[PHI_MIN]
    high = p[PHI_MAX]
    for _ in range(60):
        middle = 0.5 * (low + high)
        geometry(middle, p, w)
        if w[I_G] < ratio:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def initialise(p, u, x, work):
    """Start state, see `start`."""
    return start(p, u, x, work)


@kernel
def start(p, u, x, work):
    """Start at the start ratio and speed, with the traction that a given torque needs without acceleration."""
    n = int(p[N_X])
    for i in range(n):
        x[i] = 0.0
    w = work
    phi = angle_of(p[I_START], p, w)
    geometry(phi, p, w)
    v = w[RP_I] * p[W_START]
    clamping(p[W_START], v / w[RP_O], u, p, w)
    T = 0.0
    if p[SPEED_O] == 0.0:
        T = -u[U_O] / w[RP_O]
    elif p[SPEED_I] == 0.0:
        T = u[U_I] / w[RP_I]
    most = p[XI_MAX] * 2.0 * p[MU] / p[COS_D] * w[F_CO]
    T = most if most < T else -most if -most > T else T
    x[OMEGA_I] = p[W_START]
    if p[HYBRID] != 0.0:
        x[V] = v
        x[OMEGA_O] = v / w[RP_O]
        x[S_I] = T
        x[S_O] = T
        x[ANGLE] = phi
        x[T_F] = T
        x[BALANCE_F] = 1.0
    else:
        x[ANGLE_RIGID] = phi
        x[T_F_RIGID] = T
        x[BALANCE_F_RIGID] = 1.0
    at = N_HYBRID if p[HYBRID] != 0.0 else N_RIGID
    if p[SPEED_I] != 0.0:
        x[at] = w[RP_I] * T
        at += 2
    if p[SPEED_O] != 0.0:
        x[at] = -w[RP_O] * T
    dx = work[W_STEP : W_STEP + n]
    rates(x, u, p, dx, work)
    for i in range(n):
        if not (abs(x[i]) < HUGE and abs(dx[i]) < HUGE):
            return FAILED
    return OK


@kernel
def jacobian(t, x, u, p, jac, work):
    """``df/dx``, row-major, by central differences."""
    n = int(p[N_X])
    moved = work[W_STEP + MOST_X : W_STEP + MOST_X + n]
    above = work[W_STEP + 2 * MOST_X : W_STEP + 2 * MOST_X + n]
    below = work[W_STEP + 3 * MOST_X : W_STEP + 3 * MOST_X + n]
    for i in range(n):
        moved[i] = x[i]
    for j in range(n):
        d = 1e-6 * (1.0 + abs(x[j]))
        moved[j] = x[j] + d
        derivative(t, moved, u, p, above, work)
        moved[j] = x[j] - d
        derivative(t, moved, u, p, below, work)
        moved[j] = x[j]
        for i in range(n):
            jac[i * n + j] = (above[i] - below[i]) / (2.0 * d)


@kernel
def fast_jacobian(x, p, w, jac):
    """The stiff part of ``df/dx``: inertias, traction and couplings, with the laws held; expects `derivative`."""
    n = int(p[N_X])
    for i in range(n * n):
        jac[i] = 0.0
    first = N_RIGID
    secondary = 0
    if p[HYBRID] != 0.0:
        first = N_HYBRID
        secondary = OMEGA_O
        traction_jacobian(n, p, w, jac)
        jac[T_F * n + T_F] = -following(p, w)
        jac[BALANCE_F * n + BALANCE_F] = -following(p, w)
        jac[T_F * n + S_O] = following(p, w) * w[TT_O]
        jac[T_F * n + V] = following(p, w) * w[TS_O]
        jac[T_F * n + OMEGA_O] = -following(p, w) * w[TS_O] * w[RP_O]
        jac[T_F * n + ANGLE] = -following(p, w) * w[TS_O] * w[DR_O] * w[W_O]
    else:
        q = w[RP_I] / w[RP_O]
        L_1 = p[J_I] + p[M_B] * w[RP_I] * w[RP_I] + p[J_O] * q * q
        jac[0] = -(p[B_I] + p[B_O] * q * q + w[RP_I] * w[RP_I] * w[D_DRAG]) / L_1
        jac[T_F_RIGID * n + T_F_RIGID] = -following(p, w)
        jac[BALANCE_F_RIGID * n + BALANCE_F_RIGID] = -following(p, w)
    q = w[RP_I] / w[RP_O]
    J = p[J_I]
    share = 1.0  # of omega_I in the speed of the flange's gear
    if p[HYBRID] == 0.0:
        J += p[M_B] * w[RP_I] * w[RP_I] + p[J_O] * q * q
    if p[SPEED_I] != 0.0:
        coupling_jacobian(n, OMEGA_I, first, share, J, C_I, p, jac)
        first += 2
    if p[SPEED_O] != 0.0:
        if p[HYBRID] == 0.0:
            share = q
        else:
            J = p[J_O]
        coupling_jacobian(n, secondary, first, share, J, C_O, p, jac)


@kernel
def coupling_jacobian(n, speed, at, share, J, c, p, jac):
    """Entries of a coupling that begins at state `at`, on the inertia `J` of state `speed`."""
    jac[speed * n + at] = share / J
    jac[speed * n + at + 1] = share / J
    jac[at * n + speed] = -p[c] * share
    jac[(at + 1) * n + speed] = -p[c] * share
    jac[(at + 1) * n + at + 1] = -p[c] / p[c + 1]


@kernel
def traction_jacobian(n, p, w, jac):
    """Entries of speeds and spring forces of the hybrid model, their dependence on the radii included."""
    r_I = w[RE_I]
    r_O = w[RP_O]
    dr_I = w[DR_I] * (1.0 - w[LAW_E])
    dr_O = w[DR_O]
    jac[OMEGA_I * n + OMEGA_I] = -(p[B_I] + r_I * r_I * w[TS_I]) / p[J_I]
    jac[OMEGA_I * n + V] = r_I * w[TS_I] / p[J_I]
    jac[OMEGA_I * n + S_I] = -r_I * w[TT_I] / p[J_I]
    jac[V * n + OMEGA_I] = r_I * w[TS_I] / p[M_B]
    jac[V * n + V] = -(w[TS_I] + w[TS_O] + w[D_DRAG]) / p[M_B]
    jac[V * n + OMEGA_O] = r_O * w[TS_O] / p[M_B]
    jac[V * n + S_I] = w[TT_I] / p[M_B]
    jac[V * n + S_O] = -w[TT_O] / p[M_B]
    jac[OMEGA_O * n + V] = r_O * w[TS_O] / p[J_O]
    jac[OMEGA_O * n + OMEGA_O] = -(p[B_O] + r_O * r_O * w[TS_O]) / p[J_O]
    jac[OMEGA_O * n + S_O] = r_O * w[TT_O] / p[J_O]
    jac[OMEGA_I * n + ANGLE] = -dr_I * (w[T_I] + r_I * w[TS_I] * w[W_I]) / p[J_I]
    jac[V * n + ANGLE] = (dr_I * w[TS_I] * w[W_I] + dr_O * w[TS_O] * w[W_O]) / p[M_B]
    jac[OMEGA_O * n + ANGLE] = dr_O * (w[T_O] - r_O * w[TS_O] * w[W_O]) / p[J_O]
    jac[S_I * n + ANGLE] = p[K_BELT] * w[ES_I] * dr_I * w[W_I]
    jac[S_O * n + ANGLE] = -p[K_BELT] * w[ES_O] * dr_O * w[W_O]
    jac[S_I * n + OMEGA_I] = p[K_BELT] * w[ES_I] * r_I
    jac[S_I * n + V] = -p[K_BELT] * w[ES_I]
    jac[S_I * n + S_I] = p[K_BELT] * w[EF_I]
    jac[S_O * n + V] = p[K_BELT] * w[ES_O]
    jac[S_O * n + OMEGA_O] = -p[K_BELT] * w[ES_O] * r_O
    jac[S_O * n + S_O] = p[K_BELT] * w[EF_O]


@kernel
def piece(w):
    """Which of its nine linear pieces the traction is on: one number for how both pulleys slide."""
    return w[SLIP_I] + 3.0 * w[SLIP_O]


@kernel
def step_across(h, x, x_1, u, p, work):
    """A step of the implicit Euler method from `x` into `x_1`, with laws, radii and shift rate as evaluated last.

    All but the limits of the two tractions is linear, so that ``x_1 = z + Z_I t_I + Z_O t_O`` with the changes t of the
    tractions, and ``G = g + N t`` before the limits. Of the nine pieces on which the two may end that one is taken
    which is its own: there is one, since the traction dissipates whatever the speeds are.
    """
    n = int(p[N_X])
    matrix = W_STEP + 4 * MOST_X
    pivot = matrix + MOST_X * MOST_X
    z_I = W_ACROSS + MOST_X
    z_O = z_I + MOST_X
    x_1[ANGLE] = x[ANGLE] + h * work[PHI_RATE]
    held_rates(x_1, u, p, work[W_ACROSS : W_ACROSS + n], work)
    given_traction(CAP_I, p, work)
    given_traction(CAP_O, p, work)
    fast_jacobian(x_1, p, work, work[matrix : matrix + n * n])
    for i in range(n * n):
        work[matrix + i] *= -h
    for i in range(n):
        work[matrix + i * n + i] += 1.0
        work[W_ACROSS + i] = x[i] + h * work[W_ACROSS + i] - x_1[i]
        work[z_I + i] = 0.0
        work[z_O + i] = 0.0
    work[z_I + OMEGA_I] = -h * work[RE_I] / p[J_I]
    work[z_I + V] = h / p[M_B]
    work[z_I + S_I] = h * p[K_BELT] / p[D_BELT]
    work[z_O + V] = -h / p[M_B]
    work[z_O + OMEGA_O] = h * work[RP_O] / p[J_O]
    work[z_O + S_O] = h * p[K_BELT] / p[D_BELT]
    work[z_O + T_F] = h * following(p, work)
    lu(n, work, matrix, pivot)
    lu_solve(n, work, matrix, pivot, W_ACROSS)
    lu_solve(n, work, matrix, pivot, z_I)
    lu_solve(n, work, matrix, pivot, z_O)
    for i in range(n):
        x_1[i] += work[W_ACROSS + i]
    T_I_0 = work[T_I]
    T_O_0 = work[T_O]
    g_I = unlimited(x_1[S_I], work[RE_I] * x_1[OMEGA_I] - x_1[V], p, work)
    g_O = unlimited(x_1[S_O], x_1[V] - work[RP_O] * x_1[OMEGA_O], p, work)
    n_II = unlimited(work[z_I + S_I], work[RE_I] * work[z_I + OMEGA_I] - work[z_I + V], p, work)
    n_IO = unlimited(work[z_O + S_I], work[RE_I] * work[z_O + OMEGA_I] - work[z_O + V], p, work)
    n_OI = unlimited(work[z_I + S_O], work[z_I + V] - work[RP_O] * work[z_I + OMEGA_O], p, work)
    n_OO = unlimited(work[z_O + S_O], work[z_O + V] - work[RP_O] * work[z_O + OMEGA_O], p, work)
    least = HUGE * HUGE
    t_I = 0.0
    t_O = 0.0
    for one in range(-1, 2):
        for other in range(-1, 2):
            a_I = one * work[CAP_I] - T_I_0
            a_O = other * work[CAP_O] - T_O_0
            if one == 0 and other == 0:
                det = (1.0 - n_II) * (1.0 - n_OO) - n_IO * n_OI
                a_I = ((1.0 - n_OO) * (g_I - T_I_0) + n_IO * (g_O - T_O_0)) / det
                a_O = ((1.0 - n_II) * (g_O - T_O_0) + n_OI * (g_I - T_I_0)) / det
            elif one == 0:
                a_I = (g_I - T_I_0 + n_IO * a_O) / (1.0 - n_II)
            elif other == 0:
                a_O = (g_O - T_O_0 + n_OI * a_I) / (1.0 - n_OO)
            off = beside(one, g_I + n_II * a_I + n_IO * a_O, work[CAP_I])
            off += beside(other, g_O + n_OI * a_I + n_OO * a_O, work[CAP_O])
            if off < least:
                least = off
                t_I = a_I
                t_O = a_O
    for i in range(n):
        x_1[i] += t_I * work[z_I + i] + t_O * work[z_O + i]


@kernel
def unlimited(S, s, p, w):
    """Traction [N] before its limit, of spring force and speed difference."""
    return (S + p[D_BELT] * s) / (1.0 + p[D_BELT] * w[CREEP])


@kernel
def beside(direction, G, T_max):
    """How far [N] the traction before its limit is from the piece that slides in `direction`, or that does not, 0."""
    off = abs(G) - T_max
    if direction != 0:
        off = T_max - direction * G
    return off if off > 0.0 else 0.0


@kernel
def held_rates(x, u, p, dx, w):
    """Right-hand side of the hybrid model with laws, radii and shift rate as they were evaluated last."""
    sign = smooth_sign(x[V], p[V_0])
    w[TAU_I] = flange_torque(U_I, p[SPEED_I], N_HYBRID, x, u)
    w[TAU_O] = flange_torque(U_O, p[SPEED_O], N_HYBRID + 2 * int(p[SPEED_I]), x, u)
    w[W_I] = x[OMEGA_I]
    w[W_O] = x[OMEGA_O]
    w[DRAG] = w[LAW_LAMBDA] * w[F_CO] * sign
    tractions(x, p, w)
    rates_of(x, u, p, dx, w)


@kernel
def advance(t, h, x, u, p, work):
    """One internal step in place: ROS2 (Verwer, Spee, Blom and Hundsdorfer 1999), of order 2 with any Jacobian.

    ``(I - gamma h A) k_1 = f(x)``, ``(I - gamma h A) k_2 = f(x + h k_1) - 2 k_1``, ``x + 3/2 h k_1 + 1/2 h k_2``,
    ``gamma = 1 - 1/sqrt(2)``: L-stable if A is df/dx. Where a belt begins or ceases to slide A is not: such a step is
    made anew by `step_across`.
    """
    n = int(p[N_X])
    k_1 = work[W_STEP : W_STEP + n]
    k_2 = work[W_STEP + MOST_X : W_STEP + MOST_X + n]
    x_1 = work[W_STEP + 2 * MOST_X : W_STEP + 2 * MOST_X + n]
    matrix = W_STEP + 4 * MOST_X
    pivot = matrix + MOST_X * MOST_X
    derivative(t, x, u, p, k_1, work)
    first = piece(work)
    fast_jacobian(x, p, work, work[matrix : matrix + n * n])
    for i in range(n * n):
        work[matrix + i] *= -GAMMA * h
    for i in range(n):
        work[matrix + i * n + i] += 1.0
    lu(n, work, matrix, pivot)
    lu_solve(n, work, matrix, pivot, W_STEP)
    for i in range(n):
        x_1[i] = x[i] + h * k_1[i]
    derivative(t + h, x_1, u, p, k_2, work)
    for i in range(n):
        k_2[i] -= 2.0 * k_1[i]
    lu_solve(n, work, matrix, pivot, W_STEP + MOST_X)
    for i in range(n):
        x_1[i] = x[i] + 1.5 * h * k_1[i] + 0.5 * h * k_2[i]
    if p[HYBRID] != 0.0:
        second = piece(work)
        tractions(x_1, p, work)
        if first != second or piece(work) != second:
            step_across(h, x, x_1, u, p, work)
    for i in range(n):
        x[i] = x_1[i]


@kernel
def step(t, h, x, u, p, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own."""
    n = int(p[N_X])
    n_y = int(p[N_Y])
    for i in range(N_U):
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
    bad = 0
    for i in range(n):
        bad += 0 if abs(x[i]) < HUGE else 1
    for i in range(n_y):
        bad += 0 if abs(y_new[i]) < HUGE * HUGE else 1
    if bad > 0:
        for i in range(n):
            x[i] = work[W_SAVED + i]
        return FAILED
    for i in range(n_y):
        y[i] = y_new[i]
    return SATURATED if y[Y_OUTSIDE] != 0.0 or y[Y_LIMITED] != 0.0 else OK
