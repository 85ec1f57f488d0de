"""Contacts that transmit by traction in the hybrid model, as real-time kernels.

A force F along R and a moment M along S (`rtcvt.pog.spin`) follow from the speeds by the law of `rtcvt.traction.law`,
with n rollers in all, n_c in a cavity with the end load F_e::

    v = R omega,   sigma = S omega,   u = (R_d omega_d - R_r omega_r)/2,   r = |R_d|,   N = F_e/(n_c |S_d|)
    tau = -n (R' F + S' M),    tau_d -= c_d omega_d |omega_d|,    tau_r -= n mu_B r_B (N |S_r| + |F|) sgn(omega_r)

d is the disc, r the roller; the last two are the drag of oil on a disc and the bearing of a roller by its load. The end
load follows with a lag the largest of these: the load at the input or of the pressure there on the end load's piston of
area A_e, the preload, the demand of a margin, and the load of that piston where it has the pressure of the pistons, of
area A_r, which hold the rollers against the tractions of their contacts; the last two of the contact where they are
largest::

    T F_e' = min(max(F_in, F_min, margin n_c |S_d| |F|/Lambda, (A_e/A_r) |sum F|), F_max) - F_e
"""

import math

from rtcvt.kernel import kernel
from rtcvt.pog import places
from rtcvt.pog.layout import D, GearVector, TractionD, TractionP, TractionsY, TractionW, TractionY
from rtcvt.pog.reduction import kinematics
from rtcvt.pog.speeds import contact_speed
from rtcvt.traction.law import LAMBDA, N_MIN, P_0, U_MIN, F, M, law_arguments, law_derivatives, law_forces
from rtcvt.traction.size import LAW_SIZE

W_BEARING = 1.0  # roller's speed below which its bearing's drag falls to zero [rad/s]
SLIPS_FROM = 0.95  # share of the largest traction


@kernel
def disc(t, data):
    """The disc of traction t."""
    return places.number(places.traction(t, data) + TractionD.DISC, data)


@kernel
def roller(t, data):
    """The roller of traction t."""
    return places.number(places.traction(t, data) + TractionD.ROLLER, data)


@kernel
def parameter(which, p, data):
    """A member of `TractionP`."""
    return p[places.number(D.P_TRACTION, data) + which]


@kernel
def traction_force(t, data, work):
    """Force of traction t, of all rollers [N]."""
    return data[D.ALL_ROLLERS] * work[places.law_work(t, data) + F]


@kernel
def rolling_speed(d, t, x, data, work):
    """u (d = 0) or its derivative to theta (d = 1) [m/s]."""
    R = places.contact_row(d, places.traction_contact(t, data), data)
    i = disc(t, data)
    j = roller(t, data)
    return 0.5 * (work[R + i] * x[i] - work[R + j] * x[j])


@kernel
def with_derivatives(x, p, data, work):
    """`kinematics` for a Jacobian; the law's derivatives are computed when it is evaluated next."""
    kinematics(2, places.theta_of(x, data), p, data, work)
    work[places.number(D.W_LOADING, data) + 1] = 1.0


@kernel
def contact_laws(x, p, data, work):
    """The laws of all contacts with traction at a state, but those that are there: a step begins where one ended."""
    wanted = places.number(D.W_LOADING, data) + 1
    derivatives = int(work[wanted])
    work[wanted] = 0.0
    Lambda_0 = parameter(TractionP.LAMBDA, p, data)
    for t in range(places.tractions(data)):
        at = places.traction_work(t, data)
        law = places.law_work(t, data)
        i = disc(t, data)
        j = roller(t, data)
        S = places.spin_row(0, t, data)
        r = abs(work[places.contact_row(0, places.traction_contact(t, data), data) + i])
        N = x[places.x_load(data)] / (data[D.ROLLERS] * abs(work[S + i]))
        if not N > N_MIN:
            N = N_MIN
        v = contact_speed(0, places.traction_contact(t, data), x, data, work)
        sigma = work[S + i] * x[i] + work[S + j] * x[j]
        u = rolling_speed(0, t, x, data, work)
        same = work[at + TractionW.V] == v and work[at + TractionW.SIGMA] == sigma and work[at + TractionW.U] == u
        same = same and work[at + TractionW.N] == N and work[at + TractionW.R] == r
        same = same and work[at + TractionW.LIMIT] == Lambda_0 and work[at + TractionW.DERIVATIVES] >= derivatives
        work[at + TractionW.THERE] = 1.0 if same else 0.0
        if not same:
            work[at + TractionW.V] = v
            work[at + TractionW.SIGMA] = sigma
            work[at + TractionW.U] = u
            work[at + TractionW.N] = N
            work[at + TractionW.R] = r
            work[at + TractionW.LIMIT] = Lambda_0
            work[at + TractionW.DERIVATIVES] = derivatives
            at_numbers = places.number(places.traction(t, data) + TractionD.NUMBERS, data)
            law_arguments(derivatives, v, sigma, u, r, N, Lambda_0, at_numbers, data, work[law : law + LAW_SIZE])
    for t in range(places.tractions(data)):
        at = places.traction_work(t, data)
        law = places.law_work(t, data)
        if work[at + TractionW.THERE] == 0.0:
            at_numbers = places.number(places.traction(t, data) + TractionD.NUMBERS, data)
            law_forces(derivatives, work[at + TractionW.N], at_numbers, data, work[law : law + LAW_SIZE])
            if derivatives != 0:
                v = work[at + TractionW.V]
                law_derivatives(v, work[at + TractionW.SIGMA], work[at + TractionW.N], work[law : law + LAW_SIZE])


@kernel
def traction_torques(x, p, data, work):
    """Add the torques of all contacts with traction to those on the gears. Call `kinematics` first."""
    tau = places.gear_vector(GearVector.TAU, data)
    n = data[D.ALL_ROLLERS]
    contact_laws(x, p, data, work)
    for t in range(places.tractions(data)):
        at = places.traction_work(t, data)
        law = places.law_work(t, data)
        i = disc(t, data)
        j = roller(t, data)
        R = places.contact_row(0, places.traction_contact(t, data), data)
        S = places.spin_row(0, t, data)
        load = work[at + TractionW.N] * abs(work[S + j]) + abs(work[law + F])
        turns = x[j] / math.sqrt(x[j] * x[j] + W_BEARING * W_BEARING)
        work[at + TractionW.BEARING] = n * data[D.BEARING] * load * turns
        work[tau + i] -= n * (work[R + i] * work[law + F] + work[S + i] * work[law + M])
        work[tau + i] -= data[D.CHURNING] * x[i] * abs(x[i])
        work[tau + j] -= n * (work[R + j] * work[law + F] + work[S + j] * work[law + M]) + work[at + TractionW.BEARING]


@kernel
def asked_load(t, p, data, work):
    """End load [N] that the margin of traction t asks for."""
    law = places.law_work(t, data)
    S = places.spin_row(0, t, data) + disc(t, data)
    by = parameter(TractionP.MARGIN, p, data) * data[D.ROLLERS] * abs(work[S])
    return by * abs(work[law + F]) / work[law + LAMBDA]


@kernel
def reaction(t, data, work):
    """Force that holds the roller of traction t [N]: the tractions of its contacts."""
    total = 0.0
    for k in range(places.tractions(data)):
        if roller(k, data) == roller(t, data):
            total += work[places.law_work(k, data) + F]
    return total


@kernel
def end_load_rate(x, u, p, data, dx, work):
    """Rate of the end load. Call `traction_torques` first."""
    asked = u[places.number(D.U_LOAD, data)] * data[D.PER_INPUT]
    least = parameter(TractionP.LEAST, p, data)
    most = parameter(TractionP.MOST, p, data)
    follows = -1.0
    if not asked > least:
        asked = least
    for t in range(places.tractions(data)):
        wanted = asked_load(t, p, data, work)
        if wanted > asked:
            asked = wanted
            follows = 1.0 * t
        if data[D.BY_REACTION] > 0.0:
            wanted = data[D.BY_REACTION] * abs(reaction(t, data, work))
            if wanted > asked:
                asked = wanted
                follows = 1.0 * (places.tractions(data) + t)
    if asked > most:
        asked = most
        follows = -1.0
    work[places.number(D.W_LOADING, data)] = follows
    dx[places.x_load(data)] = (asked - x[places.x_load(data)]) / parameter(TractionP.LAG, p, data)


@kernel
def by_column(value, by_v, by_sigma, by_u, by_r, by_N, work):
    """Derivative of F, M or Lambda at ``work[value]`` by its arguments."""
    s = work[value + 1] * by_v + work[value + 2] * by_sigma + work[value + 3] * by_u
    return s + work[value + 4] * by_r + work[value + 5] * by_N


@kernel
def traction_jacobian(x, p, data, jac, work):
    """Add to the rows of speeds, and write that of the end load. Call `right_hand_side` first."""
    n_x = places.states(data)
    load = places.x_load(data)
    rate = 1.0 / parameter(TractionP.LAG, p, data)
    n = data[D.ALL_ROLLERS]
    for t in range(places.tractions(data)):
        k = places.traction_contact(t, data)
        at = places.traction_work(t, data)
        law = places.law_work(t, data)
        i = disc(t, data)
        j = roller(t, data)
        R = places.contact_row(0, k, data)
        S = places.spin_row(0, t, data)
        dR = places.contact_row(1, k, data)
        dS = places.spin_row(1, t, data)
        N = work[at + TractionW.N]
        free = 1.0 if N > N_MIN else 0.0
        per_J_i = 1.0 / places.inertia(i, p, data)
        per_J_j = 1.0 / places.inertia(j, p, data)
        root = math.sqrt(x[j] * x[j] + W_BEARING * W_BEARING)
        drag = n * data[D.BEARING] * x[j] / root
        side = 1.0 if work[law + F] > 0.0 else -1.0
        holds = places.number(D.W_LOADING, data)
        follows = work[holds] == t
        holder = int(work[holds]) - places.tractions(data)
        if holder >= 0 and roller(holder, data) == j:
            by_reaction = data[D.BY_REACTION] * rate * (1.0 if reaction(holder, data, work) > 0.0 else -1.0)
        else:
            by_reaction = 0.0
        for which in range(4):  # columns: disc, roller, theta, end load
            column = i
            by_v = work[R + i]
            by_sigma = work[S + i]
            by_u = 0.5 * work[R + i]
            by_r = 0.0
            by_N = 0.0
            if which == 1:
                column = j
                by_v = work[R + j]
                by_sigma = work[S + j]
                by_u = -0.5 * work[R + j]
            elif which == 2:
                column = places.x_theta(data)
                by_v = contact_speed(1, k, x, data, work)
                by_sigma = work[dS + i] * x[i] + work[dS + j] * x[j]
                by_u = rolling_speed(1, t, x, data, work)
                by_r = work[dR + i] if work[R + i] > 0.0 else -work[dR + i]
                by_N = -free * N * work[dS + i] / work[S + i]
            elif which == 3:
                column = load
                by_v = 0.0
                by_sigma = 0.0
                by_u = 0.0
                by_N = free * N / x[load]
            if which != 2 or data[D.MOVING] != 0.0:
                by_F = by_column(law + F, by_v, by_sigma, by_u, by_r, by_N, work)
                by_M = by_column(law + M, by_v, by_sigma, by_u, by_r, by_N, work)
                bearing = drag * (by_N * abs(work[S + j]) + side * by_F)
                tau_i = -n * (work[R + i] * by_F + work[S + i] * by_M)
                tau_j = -n * (work[R + j] * by_F + work[S + j] * by_M)
                if which == 0:
                    tau_i -= 2.0 * data[D.CHURNING] * abs(x[i])
                elif which == 1:
                    turning = W_BEARING * W_BEARING / (root * root * root)
                    bearing += n * data[D.BEARING] * (N * abs(work[S + j]) + abs(work[law + F])) * turning
                elif which == 2:
                    tau_i -= n * (work[dR + i] * work[law + F] + work[dS + i] * work[law + M])
                    tau_j -= n * (work[dR + j] * work[law + F] + work[dS + j] * work[law + M])
                    bearing += drag * N * (work[dS + j] if work[S + j] > 0.0 else -work[dS + j])
                jac[i * n_x + column] += tau_i * per_J_i
                jac[j * n_x + column] += (tau_j - bearing) * per_J_j
                if follows:
                    asked = asked_load(t, p, data, work) * rate
                    by_Lambda = by_column(law + LAMBDA, by_v, by_sigma, by_u, by_r, by_N, work)
                    change = by_F / work[law + F] - by_Lambda / work[law + LAMBDA]
                    if which == 2:
                        change += work[dS + i] / work[S + i]
                    jac[load * n_x + column] += asked * change
                elif by_reaction != 0.0:
                    jac[load * n_x + column] += by_reaction * by_F
    jac[load * n_x + load] -= rate


@kernel
def secant(value, by, at, work):
    """The quotient of F or M at ``work[value]`` and its slip `at`, its derivative `by` at zero; not negative."""
    quotient = work[value] / at if at != 0.0 else work[value + by]
    return quotient if quotient > 0.0 else 0.0


@kernel
def traction_damping(x, p, data, jac, work):
    """Add to the rows of speeds, with secants in place of derivatives, and write that of the end load.

    Call `with_derivatives`, and `right_hand_side` first. See `rtcvt.pog.secant_step`.
    """
    n_x = places.states(data)
    load = places.x_load(data)
    n = data[D.ALL_ROLLERS]
    for t in range(places.tractions(data)):
        at = places.traction_work(t, data)
        law = places.law_work(t, data)
        i = disc(t, data)
        j = roller(t, data)
        R = places.contact_row(0, places.traction_contact(t, data), data)
        S = places.spin_row(0, t, data)
        c_F = n * secant(law + F, 1, work[at + TractionW.V], work)
        c_M = n * secant(law + M, 2, work[at + TractionW.SIGMA], work)
        per_J_i = 1.0 / places.inertia(i, p, data)
        per_J_j = 1.0 / places.inertia(j, p, data)
        across_ij = c_F * work[R + i] * work[R + j] + c_M * work[S + i] * work[S + j]
        jac[i * n_x + i] -= (c_F * work[R + i] * work[R + i] + c_M * work[S + i] * work[S + i]) * per_J_i
        jac[i * n_x + i] -= data[D.CHURNING] * abs(x[i]) * per_J_i
        jac[i * n_x + j] -= across_ij * per_J_i
        jac[j * n_x + i] -= across_ij * per_J_j
        jac[j * n_x + j] -= (c_F * work[R + j] * work[R + j] + c_M * work[S + j] * work[S + j]) * per_J_j
        jac[j * n_x + j] -= work[at + TractionW.BEARING] / x[j] * per_J_j if x[j] != 0.0 else 0.0
    jac[load * n_x + load] -= 1.0 / parameter(TractionP.LAG, p, data)


@kernel
def traction_outputs(x, p, data, y, work):
    """`TractionsY` and `TractionY` of each; returns the power that is lost [W]. Call `traction_torques` first."""
    all_of = places.number(D.Y_TRACTION, data)
    n = data[D.ALL_ROLLERS]
    into = 0.0
    out = 0.0
    for i in range(TractionsY.CREEP, TractionsY.PRESSED + 1):
        y[all_of + i] = 0.0
    for t in range(places.tractions(data)):
        at = places.traction_work(t, data)
        law = places.law_work(t, data)
        own = places.y_traction(t, data)
        i = disc(t, data)
        R = places.contact_row(0, places.traction_contact(t, data), data)
        S = places.spin_row(0, t, data)
        v = work[at + TractionW.V]
        u = work[at + TractionW.U]
        force = work[law + F]
        moment = work[law + M]
        share = abs(force) / (work[law + LAMBDA] * work[at + TractionW.N])
        power = n * x[i] * (work[R + i] * force + work[S + i] * moment)
        if power > 0.0:
            into += power
        else:
            out -= power
        y[all_of + TractionsY.CREEP] += n * force * v
        y[all_of + TractionsY.SPIN] += n * moment * work[at + TractionW.SIGMA]
        y[all_of + TractionsY.BEARING] += work[at + TractionW.BEARING] * x[roller(t, data)]
        y[all_of + TractionsY.CHURNING] += data[D.CHURNING] * abs(x[i]) * x[i] * x[i]
        if share > SLIPS_FROM or work[law + F + 1] < 0.0:
            y[all_of + TractionsY.SLIPS] = 1.0
        if work[law + P_0] > parameter(TractionP.P_MAX, p, data):
            y[all_of + TractionsY.PRESSED] = 1.0
        y[own + TractionY.CREEP] = v / math.sqrt(u * u + U_MIN * U_MIN)
        y[own + TractionY.SPIN] = work[at + TractionW.SIGMA]
        y[own + TractionY.MU] = force / work[at + TractionW.N]
        y[own + TractionY.MARGIN] = 1.0 - share
        y[own + TractionY.DEVIATION] = share * data[D.DEVIATION]
        y[own + TractionY.PRESSURE] = work[law + P_0]
    y[all_of + TractionsY.END_LOAD] = x[places.x_load(data)]
    if data[D.Y_PRESSURE] > 0.0:
        y[places.number(D.Y_PRESSURE, data)] = x[places.x_load(data)] / data[D.PER_INPUT]
    y[all_of + TractionsY.EFFICIENCY] = out / into if into > 1e-6 else 1.0
    lost = 0.0
    for i in range(TractionsY.CREEP, TractionsY.SLIPS):
        lost += y[all_of + i]
    return lost
