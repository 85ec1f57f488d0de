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
forces on an arc build up again as the belt runs through it, so T_f and y_f follow the traction and the balance of
forces ``y = F_CI/F_eq`` within a way l_point of the belt, ``T_f' = (|v|_0 + v_0)/l_point (T_O - T_f)``, and the same
for y_f::

    zeta > 0      thrust ratio without shifting, F_eq = zeta F_CO
    e             speed loss by change of the running radii under load, without loss of power
    c > 0         creep: speed loss c xi by sliding
    lambda > 0    remaining loss as a drag of the belt, lambda F_CO
    k > 0         coefficient of shifting

mu is that of the reduced model times ``belt.friction``; ``belt.thrust`` is a factor of zeta, ``belt.e`` a summand of e.
They are 1, 1 and 0 but for a belt that is not like its reduced model.

**Shifting.** The running radius creeps like a Maxwell element: ``r_I'/(|omega_I|_0 r_I) = x = k F_CO (y - 1)``, within
the end stops, which let phi approach them with the time constant T_stop and never push back. A belt that drives the
primary and slides on it as a whole, by the speed u beyond creep, shifts faster: where it slides, there is hardly any
radial friction. Then ``x = (k F_CO + A u/(u + |omega_I|_0 r'_I)) (y - 1)``.

**Hybrid model.** Traction is a spring K with a damper d in parallel, in series with creep and dry friction, on each
pulley P. e_P is the rate of the spring's length, the rest of s_P slides::

    J_I omega_I' = tau_I - M_I - r_eI T_I + tau_rev              s_I = r_eI omega_I - v,  r_eI = r'_I (1 - e)
    m v'         = T_I - T_O - lambda F_CO sigma(v)
    J_O omega_O' = tau_O - M_O + r'_O T_O                         s_O = v - r'_O omega_O
    S_P' = K e_P,    e_P = (T_P - S_P)/d
    T_P = (S_P + d s_P)/(1 + d a) within +-T_max,P,   so that s_P - e_P = a T_P within
    a = c |v|_0 cos(delta_0)/(4 mu F_CO),    T_max,P = xi_max 2 mu F_CP/cos(delta_0)

Below the capacity the belt creeps, and does not move at standstill; at the capacity it slides as a whole (macro-slip),
and the spring approaches T_max,P with the time constant d/K. M_I, M_O are the torques of bearings, seals and oil
(`rtcvt.variator.shafts`). Before that creep grows steeply: macro-slip begins where the speed loss ``|e + c xi|`` is 5
%, and the margin is the distance to this point or to the capacity, whichever is less.

**Misalignment.** The fixed sheaves are on opposite sides: with r_1, both radii at i = 1, and the assembly offset a, the
belt on the primary is ``a + tan(delta_0) (2 r_1 - r_I - r_O) - c (F_CI + F_CO)`` out of line with that on the
secondary: by geometry (Cebulla 2014, section 4.2.2), less the axial compliance c of belt and fixed sheaves.

**Balance.** Power enters at the shafts and with the sheaves, ``P_ax = 2 tan(delta_0) (F_CI r_I' + F_CO r_O')``. With
``q`` the part of the law's rate that the stops let through, ``0 <= q <= 1``, and ``r_O' = -(pi - phi)/phi r_I'``::

    P_shift = q     2 tan(delta_0) (F_CI - F_eq) r_I'
    P_stop  = (1-q) 2 tan(delta_0) (F_CI - F_eq) r_I'
    tau_rev omega_I = 2 tan(delta_0) (F_eq r_I' + F_CO r_O'),  finite at standstill since r_I' has the factor omega_I^2
    E = (J_I omega_I^2 + m v^2 + J_O omega_O^2 + (S_I^2 + S_O^2)/K)/2
    tau_I omega_I + tau_O omega_O + P_ax = E' + sum of losses:
        M omega,  lambda F_CO |v|_0,  P_shift,  P_stop,  and per pulley  s T - S e = (s - e) T + e (T - S)

No loss is ever negative. r_I' has the sign of F_CI - F_eq, so P_shift and P_stop are not. Damping loses
``e (T - S) = d e^2``. Let G be T before its limit, ``G = S + d (s - a G)``. If T = G, then ``s - e = a T``; if
``G > T = T_max``, then ``s - e = (G - T_max)/d + a G > 0``; and the same below: ``(s - e) T`` is not negative.

**Rigid model.** No creep, no change of radii under load: ``R omega = 0`` with
``R = [r'_I, -1, 0; 0, 1, -r'_O]``, so ``Q1 = [1, r'_I, r'_I/r'_O]'`` of ``x1 = omega_I`` and, eq. (10)::

    L1 = J_I + m r'_I^2 + J_O/i^2,    N1 = m r'_I dr'_I/dt + J_O (1/i) d(1/i)/dt
    L1 omega_I' + N1 omega_I = tau_I - M_I + tau_rev + (tau_O - M_O)/i - r'_I lambda F_CO sigma(v)

Its contact forces T_I, T_O are those of eq. (11). Where the ratio shifts faster than a step resolves, the energy after
a step may exceed the energy before plus the supplied work; that excess is removed from the speed (`keep_balance`).
"""

import math

from rtcvt.kernel import FAILED, SATURATED, kernel
from rtcvt.model.coupling import coupling_energy, coupling_jacobian, coupling_loss, coupling_rates, coupling_torque
from rtcvt.model.places import end_of, entry
from rtcvt.model.stepping import HUGE, MAX_TRIALS, MIN_PART, REFINEMENT, enter, leave, rough, start_status
from rtcvt.numerics.elementary import clip, cos, exp, sin, snapped
from rtcvt.numerics.integrators import ROS2_GAMMA, implicit_matrix, ros2_error, ros2_new, ros2_side, ros2_stage
from rtcvt.numerics.linalg import lu_solve
from rtcvt.variator.layout import (
    MOST_X,
    N_SECTIONS,
    N_SHAFT_LOSSES,
    N_U,
    OTHER,
    OTHER_CYLINDER,
    W_ACROSS,
    W_SAVED,
    W_SHAFTS,
    W_STEP,
    W_Y,
    Y_PEAKS,
    D,
    Given,
    P,
    Q,
    RigidX,
    Term,
    U,
    X,
    Y,
)
from rtcvt.variator.places import angle, states, x_coupling
from rtcvt.variator.regression import (
    CELLS,
    FIELD_NETWORKS,
    N_ACROSS,
    N_UNCERTAIN,
    OUTSIDE_GROWTH,
    PEAKS,
    aside,
    distance,
    laws,
    network,
    reconstruct,
    stage_1,
    stage_2,
    thrust_ratio,
)
from rtcvt.variator.shafts import belt_pull, shaft_friction, shaft_torque

MACRO_SLIP_LOSS = 0.05  # speed loss of the laws from which on the whole belt is regarded as sliding
OUTSIDE_SHARE = 1e-3  # of a coordinate's range, tolerated outside of the data; a slow belt's kappa is 4e-4 below it
ERROR_BOUND = 0.01  # of a step, as a share of a state's typical value and its own


# --- geometry and operating point -------------------------------------------------------------------------------------


@kernel
def geometry(phi, data, w):
    """Radii of the taut path and of the rocking edges, the ratio, and their derivatives to phi."""
    s = sin(phi)
    c = cos(phi)
    d = data[D.D_A]
    w[Q.SIN] = s
    w[Q.R_O] = data[D.LENGTH] / (2.0 * math.pi) - d / math.pi * (s + (math.pi - phi) * c)
    w[Q.R_I] = w[Q.R_O] + d * c
    w[Q.DR_I] = -d / math.pi * phi * s
    w[Q.DR_O] = d / math.pi * (math.pi - phi) * s
    w[Q.RP_I] = w[Q.R_I] - data[D.H_OFF]
    w[Q.RP_O] = w[Q.R_O] - data[D.H_OFF]
    w[Q.I_G] = w[Q.RP_O] / w[Q.RP_I]
    w[Q.DI_G] = (w[Q.DR_O] - w[Q.I_G] * w[Q.DR_I]) / w[Q.RP_I]


@kernel
def smooth_sign(v, v_0):
    """sigma(v)."""
    return v / math.sqrt(v * v + v_0 * v_0)


@kernel
def above_zero(F, F_smooth):
    """`F` if it is large, at least half of `F_smooth` where it is not: a clamping force that presses."""
    return 0.5 * (F + math.sqrt(F * F + F_smooth * F_smooth))


@kernel
def cylinder(u_p, omega, closing, side, p):
    """Clamping force [N] of a cylinder, `side` 0 or OTHER_CYLINDER; `closing` is the way of the sheave [m]."""
    force = p[P.A_I + side] * u_p + p[P.C_W_I + side] * omega * omega
    return force + p[P.F_SPRING_I + side] - p[P.K_SPRING_I + side] * closing


@kernel
def radius_at_one(data):
    """Running radius [m] of either pulley at i = 1."""
    return data[D.LENGTH] / (2.0 * math.pi) - data[D.D_A] / math.pi


@kernel
def clamping(omega_I, omega_O, u, p, data, w):
    """Clamping forces [N] from forces or pressures; the primary's is left to `shifting` if the ratio is given."""
    control = int(p[P.CONTROL])
    if control == Given.PRESSURE:
        r_1 = radius_at_one(data)
        F_I = cylinder(u[U.P_I], omega_I, 2.0 * data[D.TAN_D] * (w[Q.R_I] - r_1), 0, p)
        F_O = cylinder(u[U.P_O], omega_O, 2.0 * data[D.TAN_D] * (w[Q.R_O] - r_1), OTHER_CYLINDER, p)
    else:
        F_I = u[U.F_I]
        F_O = u[U.F_O]
    w[Q.F_CI] = above_zero(F_I, p[P.F_SMOOTH])
    w[Q.F_CO] = above_zero(F_O, p[P.F_SMOOTH])


@kernel
def thrust_law(v, T, p, data, w):
    """F_eq [N] at the operating point of the belt's speed `v` [m/s] and traction `T` [N] at the secondary."""
    at = entry(D.LAWS, data)
    phi = w[entry(D.PHI, data) : end_of(D.PHI, data)]
    w[Q.XI] = T * data[D.COS_D] / (2.0 * data[D.MU] * p[P.FRICTION] * w[Q.F_CO]) * smooth_sign(v, p[P.V_0])
    w[Q.OUTSIDE] = stage_1(
        data, at, w[Q.I_G], w[Q.XI], data[D.M_STAR] * v * v / w[Q.F_CO], w[Q.F_CO] / data[D.F_REF], phi
    )
    w[Q.F_EQ] = p[P.THRUST] * thrust_ratio(phi) * w[Q.F_CO]


@kernel
def laws_at(y, data, w):
    """k [1/N], e, c and lambda where the forces on the arcs are those of F_CI/F_eq = `y`; expects `thrust_law`."""
    at = entry(D.LAWS, data)
    phi = w[entry(D.PHI, data) : end_of(D.PHI, data)]
    outside = stage_2(data, at, y, phi)
    if outside > w[Q.OUTSIDE]:
        w[Q.OUTSIDE] = outside
    laws(data, at, phi, w[Q.LAW_K : Q.LAW_K + 4])
    w[Q.LAW_K] /= data[D.F_REF]


# --- shifting ---------------------------------------------------------------------------------------------------------


@kernel
def force_of_rate(growth, turning, p, w):
    """F_CI [N] at which ``r_I'/r_I`` is `growth` [1/s], within its limits; `turning` is |omega_I|_0. Sets AT_FORCE."""
    least = p[P.Y_LEAST]
    most = p[P.F_MAX] / w[Q.F_EQ]
    if most > p[P.Y_MOST]:
        most = p[P.Y_MOST]
    span = w[Q.LAW_K] * w[Q.F_CO] * turning
    if span * (most - 1.0) < growth:
        y = most
    elif span * (least - 1.0) > growth:
        y = least
    elif span > 0.0:
        y = 1.0 + growth / span
    else:
        y = 1.0
    w[Q.AT_FORCE] = 1.0 if y == most or y == least else 0.0
    w[Q.F_CI] = y * w[Q.F_EQ]


@kernel
def given_ratio(omega_I, u, p, w):
    """The primary's clamping force where the ratio is given."""
    w[Q.AT_FORCE] = 0.0
    if int(p[P.CONTROL]) == Given.RATIO:
        rate = (u[U.RATIO] - w[Q.I_G]) / (p[P.T_RATIO] * w[Q.DI_G])  # of phi
        force_of_rate(rate * w[Q.DR_I] / w[Q.R_I], omega_I * smooth_sign(omega_I, p[P.V_0] / w[Q.R_I]), p, w)
    w[Q.BALANCE] = w[Q.F_CI] / w[Q.F_EQ]


@kernel
def sliding_share(omega_I, turning, v, data, w):
    """u/(u + |omega_I|_0 r'_I) of a belt that slides on the primary and drives it, else 0; expects `tractions`."""
    if data[D.HYBRID] == 0.0 or w[Q.SLIP_I] * omega_I >= 0.0:
        return 0.0
    u = abs(w[Q.RE_I] * omega_I - v - w[Q.E_I] - w[Q.CREEP] * w[Q.T_I])
    return u / (u + turning * w[Q.RP_I]) if u > 0.0 else 0.0


@kernel
def shifting(omega_I, v, phi, p, data, w):
    """Rate of phi, torque of the reversible power on the primary, losses of shifting; expects `given_ratio`."""
    omega_0 = p[P.V_0] / w[Q.R_I]
    sign = smooth_sign(omega_I, omega_0)
    turning = omega_I * sign  # |omega_I|_0
    w[Q.AT_STOP] = 0.0
    x = w[Q.LAW_K] * w[Q.F_CO] + data[D.SLIDE] * sliding_share(omega_I, turning, v, data, w)
    x *= w[Q.BALANCE] - 1.0
    law = turning * w[Q.R_I] * x / w[Q.DR_I]
    low = (data[D.PHI_MIN] - phi) / p[P.T_STOP]
    high = (data[D.PHI_MAX] - phi) / p[P.T_STOP]
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
        w[Q.AT_STOP] = 1.0
    w[Q.PHI_RATE] = rate
    w[Q.RR_I] = w[Q.DR_I] * rate
    opening = 2.0 * data[D.TAN_D] * (w[Q.F_CI] - w[Q.F_EQ]) * w[Q.RR_I]
    w[Q.P_SHIFT] = q * opening
    w[Q.P_STOP] = (1.0 - q) * opening
    w[Q.TAU_REV] = 2.0 * data[D.TAN_D] * (w[Q.F_EQ] + w[Q.F_CO] * w[Q.DR_O] / w[Q.DR_I]) * w[Q.R_I] * x * q * sign


# --- traction ---------------------------------------------------------------------------------------------------------


@kernel
def given_traction(side, p, w):
    """Slopes of a traction that is given: the spring alone answers, to its own force."""
    w[Q.TT_I + side] = 0.0
    w[Q.TS_I + side] = 0.0
    w[Q.EF_I + side] = -1.0 / p[P.D_BELT]
    w[Q.ES_I + side] = 0.0


@kernel
def traction(side, S, s, a, p, w):
    """Traction of a pulley, `side` 0 or OTHER, from spring force `S` [N], speed difference `s` and creep `a`.

    Expects the capacity; gives T, e, their slopes, and the way in which the belt slides as a whole.
    """
    T_max = w[Q.CAP_I + side]
    d = p[P.D_BELT]
    part = 1.0 / (1.0 + d * a)
    T = (S + d * s) * part
    w[Q.TT_I + side] = part
    w[Q.TS_I + side] = d * part
    w[Q.SLIP_I + side] = 0.0
    if T_max < T:
        T = T_max
        w[Q.SLIP_I + side] = 1.0
    elif -T_max > T:
        T = -T_max
        w[Q.SLIP_I + side] = -1.0
    w[Q.T_I + side] = T
    w[Q.E_I + side] = s - a * T
    w[Q.EF_I + side] = -a * part
    w[Q.ES_I + side] = part
    if w[Q.SLIP_I + side] != 0.0:
        w[Q.E_I + side] = (T - S) / d
        given_traction(side, p, w)


@kernel
def tractions(x, p, w):
    """Tractions of the two pulleys of the hybrid model at the radii, creep and capacities of `evaluate`."""
    s_I = w[Q.RE_I] * x[X.OMEGA_I] - x[X.V]
    s_O = x[X.V] - w[Q.RP_O] * x[X.OMEGA_O]
    traction(0, x[X.S_I], s_I, w[Q.CREEP], p, w)
    traction(OTHER, x[X.S_O], s_O, w[Q.CREEP], p, w)


# --- both models ------------------------------------------------------------------------------------------------------


@kernel
def flange_torques(x, u, data, w):
    """Torques into the variator at the flanges [N.m]: inputs, or sums of the couplings'."""
    w[Q.TAU_I] = u[U.I]
    w[Q.TAU_O] = u[U.O]
    if data[D.SPEED_I] != 0.0:
        w[Q.TAU_I] = coupling_torque(x_coupling(U.I, data), x)
    if data[D.SPEED_O] != 0.0:
        w[Q.TAU_O] = coupling_torque(x_coupling(U.O, data), x)


@kernel
def evaluate(x, u, p, data, w):
    """All quantities at a state, into ``w[:W_STEP]``, except those that depend on the rigid model's rates."""
    hybrid = data[D.HYBRID] != 0.0
    phi = angle(x, data)
    omega_I = x[X.OMEGA_I]
    geometry(phi, data, w)
    if hybrid:
        v = x[X.V]
        omega_O = x[X.OMEGA_O]
        T = x[X.T_F]
        y = x[X.BALANCE_F]
    else:
        v = w[Q.RP_I] * omega_I
        omega_O = omega_I * w[Q.RP_I] / w[Q.RP_O]
        T = x[RigidX.T_F]
        y = x[RigidX.BALANCE_F]
    w[Q.W_I] = omega_I
    w[Q.W_V] = v
    w[Q.W_O] = omega_O
    flange_torques(x, u, data, w)
    clamping(omega_I, omega_O, u, p, data, w)
    thrust_law(v, T, p, data, w)
    laws_at(y, data, w)
    w[Q.LAW_E] += p[P.SPEED_LOSS]
    given_ratio(omega_I, u, p, w)
    sign = smooth_sign(v, p[P.V_0])
    w[Q.FOLLOWING] = (v * sign + p[P.V_0]) / p[P.L_POINT]
    w[Q.DRAG] = w[Q.LAW_LAMBDA] * w[Q.F_CO] * sign
    w[Q.D_DRAG] = (
        w[Q.LAW_LAMBDA]
        * w[Q.F_CO]
        * p[P.V_0]
        * p[P.V_0]
        / ((v * v + p[P.V_0] * p[P.V_0]) * math.sqrt(v * v + p[P.V_0] * p[P.V_0]))
    )
    capacity = data[D.XI_MAX] * 2.0 * data[D.MU] * p[P.FRICTION] / data[D.COS_D]
    w[Q.CAP_I] = capacity * w[Q.F_CI]
    w[Q.CAP_O] = capacity * w[Q.F_CO]
    w[Q.PULL] = belt_pull(phi, data, w)
    friction_of_shafts(p, w)
    if hybrid:
        w[Q.RE_I] = w[Q.RP_I] * (1.0 - w[Q.LAW_E])
        w[Q.CREEP] = 0.25 * w[Q.LAW_C] * v * sign * data[D.COS_D] / (data[D.MU] * p[P.FRICTION] * w[Q.F_CO])
        tractions(x, p, w)
    shifting(omega_I, v, phi, p, data, w)


@kernel
def friction_of_shafts(p, w):
    """Torques of bearings, seals and oil at the speeds and radii of `evaluate`."""
    shaft_friction(0, w[Q.W_I], p[P.B_I], p[P.V_0] / w[Q.R_I], p, w)
    shaft_friction(1, w[Q.W_O], p[P.B_O], p[P.V_0] / w[Q.R_O], p, w)


@kernel
def hybrid_rates(x, p, data, w, dx):
    """Rates of speeds, spring forces and phi of the hybrid model; expects `evaluate`."""
    dx[X.OMEGA_I] = (w[Q.TAU_I] + w[Q.TAU_REV] - shaft_torque(0, w) - w[Q.RE_I] * w[Q.T_I]) / p[P.J_I]
    dx[X.V] = (w[Q.T_I] - w[Q.T_O] - w[Q.DRAG]) / data[D.M_B]
    dx[X.OMEGA_O] = (w[Q.TAU_O] - shaft_torque(1, w) + w[Q.RP_O] * w[Q.T_O]) / p[P.J_O]
    dx[X.S_I] = p[P.K_BELT] * w[Q.E_I]
    dx[X.S_O] = p[P.K_BELT] * w[Q.E_O]
    dx[X.ANGLE] = w[Q.PHI_RATE]
    dx[X.T_F] = w[Q.FOLLOWING] * (w[Q.T_O] - x[X.T_F])
    dx[X.BALANCE_F] = w[Q.FOLLOWING] * (w[Q.BALANCE] - x[X.BALANCE_F])


@kernel
def rigid_rates(x, p, data, w, dx):
    """Rates of the rigid model's states, and its contact forces; expects `evaluate`."""
    q = w[Q.RP_I] / w[Q.RP_O]  # 1/i
    dq = w[Q.PHI_RATE] * (w[Q.DR_I] - q * w[Q.DR_O]) / w[Q.RP_O]
    dr_I = w[Q.PHI_RATE] * w[Q.DR_I]
    omega = x[X.OMEGA_I]
    L_1 = inertia(p, data, w)
    N_1 = data[D.M_B] * w[Q.RP_I] * dr_I + p[P.J_O] * q * dq
    tau_I = w[Q.TAU_I] - shaft_torque(0, w)
    tau_O = w[Q.TAU_O] - shaft_torque(1, w)
    torque = tau_I + w[Q.TAU_REV] + q * tau_O - w[Q.RP_I] * w[Q.DRAG]
    acceleration = (torque - N_1 * omega) / L_1
    w[Q.T_I] = (tau_I + w[Q.TAU_REV] - p[P.J_I] * acceleration) / w[Q.RP_I]
    w[Q.T_O] = (p[P.J_O] * (q * acceleration + dq * omega) - tau_O) / w[Q.RP_O]
    dx[X.OMEGA_I] = acceleration
    dx[RigidX.ANGLE] = w[Q.PHI_RATE]
    dx[RigidX.T_F] = w[Q.FOLLOWING] * (w[Q.T_O] - x[RigidX.T_F])
    dx[RigidX.BALANCE_F] = w[Q.FOLLOWING] * (w[Q.BALANCE] - x[RigidX.BALANCE_F])


@kernel
def rates(x, u, p, data, dx, work):
    """Right-hand side."""
    evaluate(x, u, p, data, work)
    rates_of(x, u, p, data, dx, work)


@kernel
def rates_of(x, u, p, data, dx, work):
    """Right-hand side; expects `evaluate`."""
    if data[D.HYBRID] != 0.0:
        hybrid_rates(x, p, data, work, dx)
    else:
        rigid_rates(x, p, data, work, dx)
    if data[D.SPEED_I] != 0.0:
        coupling_rates(u[U.I], work[Q.W_I], p[P.C_I], p[P.D_I], x_coupling(U.I, data), x, dx)
    if data[D.SPEED_O] != 0.0:
        coupling_rates(u[U.O], work[Q.W_O], p[P.C_O], p[P.D_O], x_coupling(U.O, data), x, dx)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Right-hand side."""
    rates(x, u, p, data, dx, work)


@kernel
def output(t, x, u, p, data, y, work):
    """Outputs, see `outputs`."""
    outputs(x, u, p, data, y, work)


@kernel
def outputs(x, u, p, data, y, work):
    """All outputs: those of `state_outputs` and peaks of the contact forces, and fields."""
    state_outputs(x, u, p, data, y, work)
    contact_outputs(angle(x, data), data, y, work)


@kernel
def brief(t, x, u, p, data, y, work):
    """Flanges, ratio, radii and the belt's speed, which the state alone gives; see `rtcvt.model.Coupling`."""
    hybrid = data[D.HYBRID] != 0.0
    geometry(angle(x, data), data, work)
    y[Y.I] = x[X.OMEGA_I]
    y[Y.V] = x[X.V] if hybrid else work[Q.RP_I] * x[X.OMEGA_I]
    y[Y.O] = x[X.OMEGA_O] if hybrid else x[X.OMEGA_I] * work[Q.RP_I] / work[Q.RP_O]
    if data[D.SPEED_I] != 0.0:
        y[Y.I] = coupling_torque(x_coupling(U.I, data), x)
    if data[D.SPEED_O] != 0.0:
        y[Y.O] = coupling_torque(x_coupling(U.O, data), x)
    y[Y.RATIO] = work[Q.I_G]
    y[Y.R_I] = work[Q.R_I]
    y[Y.R_O] = work[Q.R_O]


@kernel
def state_outputs(x, u, p, data, y, work):
    """Flanges, ratio, radii, slip, traction, clamping, energy, losses and status."""
    w = work
    dx = work[W_STEP : W_STEP + MOST_X]
    rates(x, u, p, data, dx, work)
    hybrid = data[D.HYBRID] != 0.0
    omega_I = w[Q.W_I]
    omega_O = w[Q.W_O]
    v = w[Q.W_V]
    E = p[P.J_I] * omega_I * omega_I + data[D.M_B] * v * v + p[P.J_O] * omega_O * omega_O
    if hybrid:
        E += (x[X.S_I] * x[X.S_I] + x[X.S_O] * x[X.S_O]) / p[P.K_BELT]
    y[Y.I] = omega_I
    y[Y.O] = omega_O
    y[Y.COUPLING] = 0.0
    if data[D.SPEED_I] != 0.0:
        y[Y.I] = w[Q.TAU_I]
        E += 2.0 * coupling_energy(p[P.C_I], x_coupling(U.I, data), x)
        y[Y.COUPLING] += coupling_loss(p[P.D_I], x_coupling(U.I, data), x)
    if data[D.SPEED_O] != 0.0:
        y[Y.O] = w[Q.TAU_O]
        E += 2.0 * coupling_energy(p[P.C_O], x_coupling(U.O, data), x)
        y[Y.COUPLING] += coupling_loss(p[P.D_O], x_coupling(U.O, data), x)
    y[Y.RATIO] = w[Q.I_G]
    y[Y.RATE] = w[Q.DI_G] * w[Q.PHI_RATE]
    y[Y.R_I] = w[Q.R_I]
    y[Y.R_O] = w[Q.R_O]
    y[Y.MISALIGNMENT] = p[P.OFFSET] + data[D.TAN_D] * (2.0 * radius_at_one(data) - w[Q.R_I] - w[Q.R_O])
    y[Y.MISALIGNMENT] -= p[P.YIELD] * (w[Q.F_CI] + w[Q.F_CO])
    y[Y.PULL] = w[Q.PULL]
    y[Y.V] = v
    y[Y.T_I] = w[Q.T_I]
    y[Y.T_O] = w[Q.T_O]
    y[Y.F_CI] = w[Q.F_CI]
    y[Y.F_CO] = w[Q.F_CO]
    y[Y.THRUST] = w[Q.F_CI] / w[Q.F_CO]
    y[Y.BALANCE] = w[Q.F_EQ] / w[Q.F_CO]
    y[Y.E] = 0.5 * E
    y[Y.AXIAL] = 2.0 * data[D.TAN_D] * (w[Q.F_CI] + w[Q.F_CO] * w[Q.DR_O] / w[Q.DR_I]) * w[Q.RR_I]
    y[Y.BELT] = w[Q.DRAG] * v
    y[Y.SHIFT] = w[Q.P_SHIFT]
    y[Y.STOP] = w[Q.P_STOP]
    for k in range(N_SHAFT_LOSSES):
        y[Y.BEARING + k] = w[W_SHAFTS + k] * omega_I + w[W_SHAFTS + N_SHAFT_LOSSES + k] * omega_O
    margin_I = 1.0 - abs(w[Q.T_I]) / w[Q.CAP_I]
    margin_O = 1.0 - abs(w[Q.T_O]) / w[Q.CAP_O]
    margin = margin_I if margin_I < margin_O else margin_O
    loss = abs(w[Q.LAW_E] + w[Q.LAW_C] * w[Q.XI]) / MACRO_SLIP_LOSS
    y[Y.MARGIN] = margin if margin < 1.0 - loss else 1.0 - loss
    u_I = w[Q.RP_I] * omega_I
    y[Y.SLIP] = (u_I - w[Q.RP_O] * omega_O) * u_I / (u_I * u_I + p[P.V_0] * p[P.V_0])
    P_I = w[Q.T_I] * u_I
    P_O = w[Q.T_O] * w[Q.RP_O] * omega_O
    y[Y.SLIDING] = 0.0
    y[Y.DAMPING] = 0.0
    y[Y.MACRO] = 1.0 if loss > 1.0 else 0.0
    if hybrid:
        s_I = w[Q.RE_I] * omega_I - v
        s_O = v - w[Q.RP_O] * omega_O
        P_I = w[Q.T_I] * w[Q.RE_I] * omega_I
        y[Y.SLIDING] = (s_I - w[Q.E_I]) * w[Q.T_I] + (s_O - w[Q.E_O]) * w[Q.T_O]
        y[Y.DAMPING] = p[P.D_BELT] * (w[Q.E_I] * w[Q.E_I] + w[Q.E_O] * w[Q.E_O])
        if w[Q.SLIP_I] != 0.0 or w[Q.SLIP_O] != 0.0:
            y[Y.MACRO] = 1.0
    y[Y.EFFICIENCY] = efficiency(P_I, P_O, shaft_torque(0, w) * omega_I, shaft_torque(1, w) * omega_O)
    running = smooth_sign(v, p[P.V_0])  # a belt at standstill has no operating point
    y[Y.OUTSIDE] = 1.0 if w[Q.OUTSIDE] * running * running > OUTSIDE_SHARE else 0.0
    y[Y.END_STOP] = w[Q.AT_STOP]
    y[Y.FORCE_LIMITED] = w[Q.AT_FORCE]
    y[Y.COARSE] = 0.0


@kernel
def term(kind, length, data, w):
    """Unit [SI] of a dimensionless field value where the path has this `length` [m]."""
    if kind == Term.PER_LENGTH:
        return w[Q.F_CO] / length
    if kind == Term.WHOLE:
        return w[Q.F_CO]
    return data[D.STRETCH] * w[Q.F_CO]


@kernel
def section_length(section, phi, data, w):
    """Length [m] of primary arc, push span, secondary arc or slack span."""
    if section == 0:
        return 2.0 * (math.pi - phi) * w[Q.R_I]
    if section == 2:
        return 2.0 * phi * w[Q.R_O]
    return data[D.D_A] * w[Q.SIN]


@kernel
def contact_outputs(angle, data, y, w):
    """Distance from the data, peaks, forces across the belt, uncertainty, fields. Call `laws_at` first."""
    at = entry(D.LAWS, data)
    phi = w[entry(D.PHI, data) : end_of(D.PHI, data)]
    y[Y.DISTANCE] = math.sqrt(distance(data, at, phi))
    n = entry(D.N_PEAKS, data)
    largest = network(data, at + entry(at + PEAKS, data), phi)
    across = entry(D.ACROSS, data)
    bands = entry(D.BANDS, data)
    place = 0
    if across > 0 or bands > 0:
        place = aside(data, at, phi)
    if across > 0:
        y[across] = phi[place] * w[Q.F_CO]
        y[across + 1] = phi[place + 1] * w[Q.F_CO]
        y[across + 2] = phi[place + 2]
        for k in range(n):
            phi[largest + k] += phi[place + N_ACROSS + k]
        place += N_ACROSS + n
    for k in range(n):
        unit = term(entry(entry(D.PEAK_LIST, data) + k, data), data[D.LENGTH], data, w)
        y[Y_PEAKS + k] = exp(phi[largest + k]) * unit
    uncertain = entry(D.UNCERTAIN, data)
    away = (1.0 + OUTSIDE_GROWTH * w[Q.OUTSIDE]) * (y[Y.DISTANCE] if y[Y.DISTANCE] > 1.0 else 1.0)
    sliding = abs(y[Y.SLIP]) - MACRO_SLIP_LOSS  # no law has data of what is above
    for _ in range(bands):
        for k in range(N_UNCERTAIN):
            y[uncertain + k] = away * exp(phi[place + k])
        if sliding > 0.0:
            for k in range(1, N_UNCERTAIN):
                y[uncertain + k] += sliding
        y[uncertain] *= w[Q.F_EQ] / w[Q.F_CO]
        y[uncertain + 3] *= y[entry(D.FLANK_PEAK, data)]
        uncertain += N_UNCERTAIN
        place += N_UNCERTAIN
    if data[D.N_FIELDS] > 0.0:
        field_outputs(angle, data, phi, y, w)


@kernel
def field_outputs(angle, data, phi, y, w):
    """Fields over the cells, after the peaks. Call `laws_at` first."""
    at = entry(D.FIELD_TABLE, data)
    part = int(entry(at + CELLS, data) / N_SECTIONS)
    place = Y_PEAKS + entry(D.N_PEAKS, data)
    coefficients = network(data, at + entry(at + FIELD_NETWORKS, data), phi)
    for k in range(entry(D.N_FIELDS, data)):
        reconstruct(data, at, k, phi, coefficients, y[place:])
        kind = entry(entry(D.FIELD_LIST, data) + k, data)
        for section in range(N_SECTIONS):
            scale = term(kind, section_length(section, angle, data, w), data, w)
            values = y[place : place + part]
            for m in range(part):
                values[m] *= scale
            place += part


@kernel
def efficiency(P_I, P_O, lost_I, lost_O):
    """Power out of one shaft over power into the other, within 0 and 1; 0 if power enters at both.

    P_I is from the primary to the belt, P_O from the belt to the secondary; then the losses of the shafts [W].
    """
    into = 0.0
    out = 0.0
    if P_O > 0.0:
        into = P_I + lost_I
        out = P_O - lost_O
    elif P_I < 0.0:
        into = lost_O - P_O
        out = -P_I - lost_I
    if out <= 0.0:
        return 0.0
    return out / into if out < into else 1.0


# --- start and step ---------------------------------------------------------------------------------------------------


@kernel
def angle_of(ratio, data, w):
    """Angle phi [rad] of a ratio by bisection between the end stops; a step of Newton's method gives its derivative."""
    low = data[D.PHI_MIN]
    high = data[D.PHI_MAX]
    for _ in range(60):
        middle = 0.5 * (low + high)
        geometry(middle, data, w)
        if w[Q.I_G] < ratio:
            low = middle
        else:
            high = middle
    geometry(low, data, w)
    newton = clip(low + (ratio - w[Q.I_G]) / w[Q.DI_G], data[D.PHI_MIN], data[D.PHI_MAX])
    return snapped(newton, 0.5 * (low + high))


@kernel
def initialise(p, data, u, x, work):
    """Start state, see `start`."""
    return start(p, data, u, x, work)


@kernel
def start(p, data, u, x, work):
    """Start at the start ratio and speed, with the traction that a given torque needs without acceleration."""
    n = states(data)
    for i in range(n):
        x[i] = 0.0
    w = work
    phi = angle_of(p[P.I_START], data, w)
    geometry(phi, data, w)
    v = w[Q.RP_I] * p[P.W_START]
    clamping(p[P.W_START], v / w[Q.RP_O], u, p, data, w)
    T = 0.0
    if data[D.SPEED_O] == 0.0:
        T = -u[U.O] / w[Q.RP_O]
    elif data[D.SPEED_I] == 0.0:
        T = u[U.I] / w[Q.RP_I]
    most = data[D.XI_MAX] * 2.0 * data[D.MU] * p[P.FRICTION] / data[D.COS_D] * w[Q.F_CO]
    T = most if most < T else -most if -most > T else T
    x[X.OMEGA_I] = p[P.W_START]
    if data[D.HYBRID] != 0.0:
        x[X.V] = v
        x[X.OMEGA_O] = v / w[Q.RP_O]
        x[X.S_I] = T
        x[X.S_O] = T
        x[X.ANGLE] = phi
        x[X.T_F] = T
        x[X.BALANCE_F] = 1.0
    else:
        x[RigidX.ANGLE] = phi
        x[RigidX.T_F] = T
        x[RigidX.BALANCE_F] = 1.0
    if data[D.SPEED_I] != 0.0:
        x[x_coupling(U.I, data)] = w[Q.RP_I] * T
    if data[D.SPEED_O] != 0.0:
        x[x_coupling(U.O, data)] = -w[Q.RP_O] * T
    dx = work[W_STEP : W_STEP + n]
    rates(x, u, p, data, dx, work)
    return start_status(n, x, dx)


@kernel
def fast_jacobian(x, p, data, w, jac):
    """The stiff part of ``df/dx``: inertias, traction and couplings, with the laws held; expects `derivative`."""
    n = states(data)
    for i in range(n * n):
        jac[i] = 0.0
    secondary = 0
    if data[D.HYBRID] != 0.0:
        secondary = X.OMEGA_O
        traction_jacobian(n, p, data, w, jac)
        jac[X.T_F * n + X.T_F] = -w[Q.FOLLOWING]
        jac[X.BALANCE_F * n + X.BALANCE_F] = -w[Q.FOLLOWING]
        jac[X.T_F * n + X.S_O] = w[Q.FOLLOWING] * w[Q.TT_O]
        jac[X.T_F * n + X.V] = w[Q.FOLLOWING] * w[Q.TS_O]
        jac[X.T_F * n + X.OMEGA_O] = -w[Q.FOLLOWING] * w[Q.TS_O] * w[Q.RP_O]
        jac[X.T_F * n + X.ANGLE] = -w[Q.FOLLOWING] * w[Q.TS_O] * w[Q.DR_O] * w[Q.W_O]
    else:
        q = w[Q.RP_I] / w[Q.RP_O]
        drag = w[Q.RP_I] * w[Q.RP_I] * w[Q.D_DRAG]
        jac[0] = -(w[Q.DM_I] + w[Q.DM_O] * q * q + drag) / inertia(p, data, w)
        jac[RigidX.T_F * n + RigidX.T_F] = -w[Q.FOLLOWING]
        jac[RigidX.BALANCE_F * n + RigidX.BALANCE_F] = -w[Q.FOLLOWING]
    q = w[Q.RP_I] / w[Q.RP_O]
    J = p[P.J_I]
    share = 1.0  # of omega_I in the speed of the flange's gear
    if data[D.HYBRID] == 0.0:
        J += data[D.M_B] * w[Q.RP_I] * w[Q.RP_I] + p[P.J_O] * q * q
    if data[D.SPEED_I] != 0.0:
        coupling_jacobian(n, X.OMEGA_I, x_coupling(U.I, data), p[P.C_I], p[P.D_I], share, share / J, jac)
    if data[D.SPEED_O] != 0.0:
        if data[D.HYBRID] == 0.0:
            share = q
        else:
            J = p[P.J_O]
        coupling_jacobian(n, secondary, x_coupling(U.O, data), p[P.C_O], p[P.D_O], share, share / J, jac)


@kernel
def traction_jacobian(n, p, data, w, jac):
    """Entries of speeds and spring forces of the hybrid model, their dependence on the radii included."""
    r_I = w[Q.RE_I]
    r_O = w[Q.RP_O]
    dr_I = w[Q.DR_I] * (1.0 - w[Q.LAW_E])
    dr_O = w[Q.DR_O]
    jac[X.OMEGA_I * n + X.OMEGA_I] = -(w[Q.DM_I] + r_I * r_I * w[Q.TS_I]) / p[P.J_I]
    jac[X.OMEGA_I * n + X.V] = r_I * w[Q.TS_I] / p[P.J_I]
    jac[X.OMEGA_I * n + X.S_I] = -r_I * w[Q.TT_I] / p[P.J_I]
    jac[X.V * n + X.OMEGA_I] = r_I * w[Q.TS_I] / data[D.M_B]
    jac[X.V * n + X.V] = -(w[Q.TS_I] + w[Q.TS_O] + w[Q.D_DRAG]) / data[D.M_B]
    jac[X.V * n + X.OMEGA_O] = r_O * w[Q.TS_O] / data[D.M_B]
    jac[X.V * n + X.S_I] = w[Q.TT_I] / data[D.M_B]
    jac[X.V * n + X.S_O] = -w[Q.TT_O] / data[D.M_B]
    jac[X.OMEGA_O * n + X.V] = r_O * w[Q.TS_O] / p[P.J_O]
    jac[X.OMEGA_O * n + X.OMEGA_O] = -(w[Q.DM_O] + r_O * r_O * w[Q.TS_O]) / p[P.J_O]
    jac[X.OMEGA_O * n + X.S_O] = r_O * w[Q.TT_O] / p[P.J_O]
    jac[X.OMEGA_I * n + X.ANGLE] = -dr_I * (w[Q.T_I] + r_I * w[Q.TS_I] * w[Q.W_I]) / p[P.J_I]
    jac[X.V * n + X.ANGLE] = (dr_I * w[Q.TS_I] * w[Q.W_I] + dr_O * w[Q.TS_O] * w[Q.W_O]) / data[D.M_B]
    jac[X.OMEGA_O * n + X.ANGLE] = dr_O * (w[Q.T_O] - r_O * w[Q.TS_O] * w[Q.W_O]) / p[P.J_O]
    jac[X.S_I * n + X.ANGLE] = p[P.K_BELT] * w[Q.ES_I] * dr_I * w[Q.W_I]
    jac[X.S_O * n + X.ANGLE] = -p[P.K_BELT] * w[Q.ES_O] * dr_O * w[Q.W_O]
    jac[X.S_I * n + X.OMEGA_I] = p[P.K_BELT] * w[Q.ES_I] * r_I
    jac[X.S_I * n + X.V] = -p[P.K_BELT] * w[Q.ES_I]
    jac[X.S_I * n + X.S_I] = p[P.K_BELT] * w[Q.EF_I]
    jac[X.S_O * n + X.V] = p[P.K_BELT] * w[Q.ES_O]
    jac[X.S_O * n + X.OMEGA_O] = -p[P.K_BELT] * w[Q.ES_O] * r_O
    jac[X.S_O * n + X.S_O] = p[P.K_BELT] * w[Q.EF_O]


@kernel
def piece(w):
    """Which of its nine linear pieces the traction is on: one number for how both pulleys slide."""
    return w[Q.SLIP_I] + 3.0 * w[Q.SLIP_O]


@kernel
def linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and the stiff part of ``df/dx``, see `rtcvt.model.Coupling`."""
    rates(x, u, p, data, f, work)
    fast_jacobian(x, p, data, work, jac)


@kernel
def again(t, x, u, p, data, f, jac, work):
    """`linearise` after `output`, whose quantities are there, see `rtcvt.model.Coupling`."""
    rates_of(x, u, p, data, f, work)
    fast_jacobian(x, p, data, work, jac)


@kernel
def flange(k, x, u, p, data, work):
    """Speed of a pulley, or torque of the coupling before it, see `rtcvt.model.Coupling`."""
    if k == U.I:
        return work[Q.TAU_I] if data[D.SPEED_I] != 0.0 else work[Q.W_I]
    return work[Q.TAU_O] if data[D.SPEED_O] != 0.0 else work[Q.W_O]


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`: a pulley, or the coupling before it."""
    n = states(data)
    for i in range(n):
        row[i] = 0.0
        column[i] = 0.0
    coupled = data[D.SPEED_I] if k == U.I else data[D.SPEED_O]
    if coupled != 0.0:
        for i in range(x_coupling(k, data), x_coupling(k, data) + 2):
            row[i] = 1.0
            column[i] = p[P.C_I] if k == U.I else p[P.C_O]
    elif data[D.HYBRID] != 0.0:
        state = X.OMEGA_I if k == U.I else X.OMEGA_O
        row[state] = 1.0
        column[state] = 1.0 / p[P.J_I] if k == U.I else 1.0 / p[P.J_O]
    else:
        q = work[Q.RP_I] / work[Q.RP_O]
        share = 1.0 if k == U.I else q
        row[X.OMEGA_I] = share
        column[X.OMEGA_I] = share / inertia(p, data, work)
        if k == U.O:
            row[RigidX.ANGLE] = x[X.OMEGA_I] * (work[Q.DR_I] - q * work[Q.DR_O]) / work[Q.RP_O]
    return 0.0


@kernel
def coupled_piece(x, u, p, data, work):
    """`piece` of the hybrid model, see `rtcvt.model.Coupling`."""
    if data[D.HYBRID] == 0.0:
        return 0.0
    return piece(work)


@kernel
def step_across(h, x, x_1, u, p, data, work):
    """A step of the implicit Euler method from `x` into `x_1`, with laws, radii and shift rate as evaluated last.

    All but the limits of the two tractions is linear, so that ``x_1 = z + Z_I t_I + Z_O t_O`` with the changes t of the
    tractions, and ``G = g + N t`` before the limits. Of the nine pieces on which the two may end the self-consistent
    one is selected: there is one, since the traction dissipates at all speeds.
    """
    n = states(data)
    matrix = W_STEP + 4 * MOST_X
    pivot = matrix + MOST_X * MOST_X
    z_I = W_ACROSS + MOST_X
    z_O = z_I + MOST_X
    x_1[X.ANGLE] = x[X.ANGLE] + h * work[Q.PHI_RATE]
    held_rates(x_1, u, p, data, work[W_ACROSS : W_ACROSS + n], work)
    given_traction(0, p, work)
    given_traction(OTHER, p, work)
    fast_jacobian(x_1, p, data, work, work[matrix : matrix + n * n])
    for i in range(n):
        work[W_ACROSS + i] = x[i] + h * work[W_ACROSS + i] - x_1[i]
        work[z_I + i] = 0.0
        work[z_O + i] = 0.0
    work[z_I + X.OMEGA_I] = -h * work[Q.RE_I] / p[P.J_I]
    work[z_I + X.V] = h / data[D.M_B]
    work[z_I + X.S_I] = h * p[P.K_BELT] / p[P.D_BELT]
    work[z_O + X.V] = -h / data[D.M_B]
    work[z_O + X.OMEGA_O] = h * work[Q.RP_O] / p[P.J_O]
    work[z_O + X.S_O] = h * p[P.K_BELT] / p[P.D_BELT]
    work[z_O + X.T_F] = h * work[Q.FOLLOWING]
    implicit_matrix(n, h, work, matrix, pivot)
    lu_solve(n, work, matrix, pivot, W_ACROSS)
    lu_solve(n, work, matrix, pivot, z_I)
    lu_solve(n, work, matrix, pivot, z_O)
    for i in range(n):
        x_1[i] += work[W_ACROSS + i]
    T_I_0 = work[Q.T_I]
    T_O_0 = work[Q.T_O]
    g_I = unlimited(x_1[X.S_I], work[Q.RE_I] * x_1[X.OMEGA_I] - x_1[X.V], p, work)
    g_O = unlimited(x_1[X.S_O], x_1[X.V] - work[Q.RP_O] * x_1[X.OMEGA_O], p, work)
    n_II = unlimited(work[z_I + X.S_I], work[Q.RE_I] * work[z_I + X.OMEGA_I] - work[z_I + X.V], p, work)
    n_IO = unlimited(work[z_O + X.S_I], work[Q.RE_I] * work[z_O + X.OMEGA_I] - work[z_O + X.V], p, work)
    n_OI = unlimited(work[z_I + X.S_O], work[z_I + X.V] - work[Q.RP_O] * work[z_I + X.OMEGA_O], p, work)
    n_OO = unlimited(work[z_O + X.S_O], work[z_O + X.V] - work[Q.RP_O] * work[z_O + X.OMEGA_O], p, work)
    least = HUGE * HUGE
    t_I = 0.0
    t_O = 0.0
    for one in range(-1, 2):
        for other in range(-1, 2):
            a_I = one * work[Q.CAP_I] - T_I_0
            a_O = other * work[Q.CAP_O] - T_O_0
            if one == 0 and other == 0:
                det = (1.0 - n_II) * (1.0 - n_OO) - n_IO * n_OI
                a_I = ((1.0 - n_OO) * (g_I - T_I_0) + n_IO * (g_O - T_O_0)) / det
                a_O = ((1.0 - n_II) * (g_O - T_O_0) + n_OI * (g_I - T_I_0)) / det
            elif one == 0:
                a_I = (g_I - T_I_0 + n_IO * a_O) / (1.0 - n_II)
            elif other == 0:
                a_O = (g_O - T_O_0 + n_OI * a_I) / (1.0 - n_OO)
            off = distance_to_piece(one, g_I + n_II * a_I + n_IO * a_O, work[Q.CAP_I])
            off += distance_to_piece(other, g_O + n_OI * a_I + n_OO * a_O, work[Q.CAP_O])
            if off < least:
                least = off
                t_I = a_I
                t_O = a_O
    for i in range(n):
        x_1[i] += t_I * work[z_I + i] + t_O * work[z_O + i]


@kernel
def keep_piece(first, h, x, x_1, u, p, data, work):
    """Make a step again by `step_across` if the belt left the `first` piece; expects `rates` at the second stage."""
    second = piece(work)
    tractions(x_1, p, work)
    if first != second or piece(work) != second:
        step_across(h, x, x_1, u, p, data, work)


@kernel
def unlimited(S, s, p, w):
    """Traction [N] before its limit, of spring force and speed difference."""
    return (S + p[P.D_BELT] * s) / (1.0 + p[P.D_BELT] * w[Q.CREEP])


@kernel
def distance_to_piece(direction, G, T_max):
    """How far [N] the traction before its limit is from the piece that slides in `direction`, or that does not, 0."""
    off = abs(G) - T_max
    if direction != 0:
        off = T_max - direction * G
    return off if off > 0.0 else 0.0


@kernel
def held_rates(x, u, p, data, dx, w):
    """Right-hand side of the hybrid model with laws, radii and shift rate as they were evaluated last."""
    sign = smooth_sign(x[X.V], p[P.V_0])
    flange_torques(x, u, data, w)
    w[Q.W_I] = x[X.OMEGA_I]
    w[Q.W_O] = x[X.OMEGA_O]
    w[Q.DRAG] = w[Q.LAW_LAMBDA] * w[Q.F_CO] * sign
    friction_of_shafts(p, w)
    tractions(x, p, w)
    rates_of(x, u, p, data, dx, w)


@kernel
def inertia(p, data, w):
    """L1 [kg.m2] of the rigid model at the radii of `geometry`."""
    q = w[Q.RP_I] / w[Q.RP_O]
    return p[P.J_I] + data[D.M_B] * w[Q.RP_I] * w[Q.RP_I] + p[P.J_O] * q * q


@kernel
def keep_balance(h, E, F_I, F_O, r_I, r_O, q, x, x_1, p, data, w):
    """Reduce the speed in `x_1` by the energy that a step of the rigid model from `x` created.

    At `x` the model had the energy `E` [J], clamping forces F [N], radii r [m] and speed ratio `q`; the torques at the
    flanges are constant over the step. Losses are taken as zero, so a step with its right loss is unchanged; else the
    new speed is that at which ``J omega_I^2/2`` is the energy at `x` plus the supplied work.
    """
    geometry(x_1[RigidX.ANGLE], data, w)
    J = inertia(p, data, w)
    before = 0.5 * h * (w[Q.TAU_I] + w[Q.TAU_O] * q) * x[X.OMEGA_I]
    M = 0.5 * h * (w[Q.TAU_I] + w[Q.TAU_O] * w[Q.RP_I] / w[Q.RP_O])  # the work at the end is M omega_I
    way = 2.0 * data[D.TAN_D] * (F_I * (w[Q.R_I] - r_I) + F_O * (w[Q.R_O] - r_O))
    excess = 0.5 * J * x_1[X.OMEGA_I] * x_1[X.OMEGA_I] - E - before - M * x_1[X.OMEGA_I] - way
    if excess > 1e-12 * E + 1e-7 * (abs(before) + abs(M * x_1[X.OMEGA_I]) + abs(way)):
        root = M * M + 2.0 * J * (E + before + way)
        root = math.sqrt(root if root > 0.0 else 0.0)  # a compiler may evaluate the root before the test of the sign
        x_1[X.OMEGA_I] = (M + root if x_1[X.OMEGA_I] > 0.0 else M - root) / J


@kernel
def trial(h, x, x_1, u, p, data, work):
    """A step by ROS2 (`rtcvt.numerics.integrators`) from `x` into `x_1`; returns whether its error is `rough`.

    Where a belt begins or ceases to slide A is not df/dx: such a step is made by `step_across` instead.
    """
    n = states(data)
    sizes = entry(D.SIZES, data)
    k_1 = work[W_STEP : W_STEP + n]
    k_2 = work[W_STEP + MOST_X : W_STEP + MOST_X + n]
    matrix = W_STEP + 4 * MOST_X
    pivot = matrix + MOST_X * MOST_X
    rates(x, u, p, data, k_1, work)
    first = piece(work)
    E = 0.5 * inertia(p, data, work) * x[X.OMEGA_I] * x[X.OMEGA_I]
    F_I = work[Q.F_CI]
    F_O = work[Q.F_CO]
    r_I = work[Q.R_I]
    r_O = work[Q.R_O]
    q = work[Q.RP_I] / work[Q.RP_O]
    fast_jacobian(x, p, data, work, work[matrix : matrix + n * n])
    implicit_matrix(n, ROS2_GAMMA * h, work, matrix, pivot)
    lu_solve(n, work, matrix, pivot, W_STEP)
    ros2_stage(n, h, x, k_1, x_1)
    rates(x_1, u, p, data, k_2, work)
    ros2_side(n, k_1, k_2)
    lu_solve(n, work, matrix, pivot, W_STEP + MOST_X)
    ros2_new(n, h, x, k_1, k_2, x_1)
    if data[D.HYBRID] != 0.0:
        keep_piece(first, h, x, x_1, u, p, data, work)
    elif data[D.SPEED_I] == 0.0 and data[D.SPEED_O] == 0.0:
        keep_balance(h, E, F_I, F_O, r_I, r_O, q, x, x_1, p, data, work)
    ros2_error(n, h, k_1, k_2)
    return rough(ERROR_BOUND, n, k_1, data[sizes : sizes + n], x)


@kernel
def advance(h, x, u, p, data, work):
    """An internal step in place, refined if needed (`rtcvt.model.stepping`); 1 if the smallest parts are too coarse."""
    n = states(data)
    x_1 = work[W_STEP + 2 * MOST_X : W_STEP + 2 * MOST_X + n]
    part = 1.0
    left = 1.0
    coarse = 0.0
    for _ in range(MAX_TRIALS):
        again = trial(h * part, x, x_1, u, p, data, work)
        if again and part > MIN_PART:
            part *= REFINEMENT
        else:
            if again:
                coarse = 1.0
            left -= part
            for i in range(n):
                x[i] = x_1[i]
            if left == 0.0:
                break
    return coarse


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own."""
    n = states(data)
    n_y = entry(D.N_Y, data)
    saved = work[W_SAVED : W_SAVED + n]
    steps = enter(t, h, data[D.INTERNAL_STEP], N_U, u, n, x, saved)
    if steps == 0:
        return FAILED
    coarse = 0.0
    for _ in range(steps):
        if advance(h / steps, x, u, p, data, work) == 1.0:
            coarse = 1.0
    y_new = work[W_Y : W_Y + n_y]
    outputs(x, u, p, data, y_new, work)
    y_new[Y.COARSE] = coarse
    status = leave(True, n, x, saved, n_y, y_new, y)
    limited = y[Y.OUTSIDE] + y[Y.END_STOP] + y[Y.FORCE_LIMITED] + y[Y.COARSE] != 0.0
    return SATURATED if status != FAILED and limited else status
