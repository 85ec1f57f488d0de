"""Full and rigid model of any gear system as real-time kernels; equations and symbols as in `rtcvt.pog`.

Everything that depends on theta carries its first and, where a Jacobian is needed, its second derivative to theta along
(a jet), so that the rate ``dQ1/dt = Q1' theta'`` and the Jacobian are exact. With the dependent speeds (D) and the
independent ones (I) told apart::

    R_D Q_D = -R_I,    R_D Q_D' = -R' Q1,    R_D Q_D'' = -(R'' Q1 + 2 R' Q1')

the first being eq. (7), the others its derivatives (``dR/dt Q1 + R dQ1/dt = 0``). The contact forces of the rigid
model solve ``R' F = tau - J d(omega)/dt - B_J omega``, eq. (B.1) with ``R omega = 0``, in the dependent rows.
That is eq. (11) without its inverse of J, so gears without inertia are allowed there.
"""

import math

from rtcvt.control.kers import K_THETA, K_W, KERS_SIZE, OMEGA_0, TAU_FILTER, kers_law
from rtcvt.control.limits import (
    CLIPPED,
    CONTROL_SIZE,
    D_OMEGA,
    D_POWER,
    D_THETA,
    FREE,
    HELD,
    HIGH,
    LIMITED,
    LOW,
    RATE,
    TAU_EST,
    apply_limits,
    gather,
)
from rtcvt.control.position import position_law
from rtcvt.kernel import FAILED, SATURATED, kernel
from rtcvt.model.coupling import coupling_loss, coupling_rates, spring_energy
from rtcvt.model.stepping import FINER, HUGE, LEAST_PART, MOST_TRIALS, enter, leave, rough, start_status
from rtcvt.numerics.complementarity import boxed
from rtcvt.numerics.elementary import cos, sin
from rtcvt.numerics.integrators import (
    ROSENBROCK,
    STAGES,
    rk4_new,
    rk4_stage,
    rosenbrock_integral,
    rosenbrock_matrix,
    rosenbrock_new,
    rosenbrock_side,
    rosenbrock_solve,
    rosenbrock_stage,
)
from rtcvt.numerics.linalg import lu, lu_solve, lu_solve_transposed
from rtcvt.pog.elements import (
    across,
    across_by,
    bound,
    carried,
    contact_of,
    element_energy,
    element_jacobian,
    element_rates,
    element_responses,
    element_torques,
    friction_elements,
    gear_speed,
    is_play,
    load_meshes,
    loss_column,
    loss_of,
    mesh_losses,
    mesh_share,
    mesh_slowing,
    piece,
    place,
    play_lead,
    play_load,
    play_of,
    play_row,
    play_spring,
    response_of,
    set_bounds,
    side_at,
    stuck_torque,
    travel,
    twist_rate,
)
from rtcvt.pog.layout import N_COUPLING, N_ELEMENT, N_PLAY, Control, CouplingY, D, Element, ElementY, Op, PlayY

SINGULAR = 1e-12  # smallest ratio of pivots of R_D
OPEN = 3  # mode beside those of `rtcvt.control.limits`: elements carry nothing
LOADINGS = 8  # systems that are solved for the losses of the rigid model
FLIPS = 4  # in which forces may change their sign
SAME = 1e-12  # share by which a loss of 1 N may still change
TOUCHES = 2  # changes of pieces within a step that are looked for
BISECTIONS = 4  # for each of these
STICKS = 6  # parts of a step in which the moments are looked for at which faces stick
BRIEF = 1e-3  # share of a step in which they do
NEARLY = 0.99  # of the time to there that is gone at once
SIDES = 4  # times that teeth are looked for on the other side of their play
MOST_HEAT = 1e11  # of an element [J]
COARSE = 2  # beside 1 of an active limit
ROUGH = 2e-4  # bound of the estimate of the linearly implicit method, which is that of its order 2
MOST_MADE = 0.1  # share of the stored energy that a step may have made and is taken out again


# --- geometry: R and Q1 with their derivatives to theta ---------------------------------------------------------------


@kernel
def run_tape(first, last, theta, p, data, work):
    """Compute registers `first` to `last` - 1, each with its two derivatives to theta."""
    tape = int(data[D.TAPE])
    registers = int(data[D.W_REGISTER])
    for k in range(first, last):
        op = int(data[tape + 3 * k])
        one = int(data[tape + 3 * k + 1])
        a = registers + 3 * one
        b = registers + 3 * int(data[tape + 3 * k + 2])
        o = registers + 3 * k
        if op == Op.PARAMETER:
            work[o] = p[one]
            work[o + 1] = 0.0
            work[o + 2] = 0.0
        elif op == Op.CONSTANT:
            work[o] = data[one]
            work[o + 1] = 0.0
            work[o + 2] = 0.0
        elif op == Op.THETA:
            work[o] = theta
            work[o + 1] = 1.0
            work[o + 2] = 0.0
        elif op == Op.ADD:
            for i in range(3):
                work[o + i] = work[a + i] + work[b + i]
        elif op == Op.SUB:
            for i in range(3):
                work[o + i] = work[a + i] - work[b + i]
        elif op == Op.MUL:
            work[o] = work[a] * work[b]
            work[o + 1] = work[a + 1] * work[b] + work[a] * work[b + 1]
            work[o + 2] = work[a + 2] * work[b] + 2.0 * work[a + 1] * work[b + 1] + work[a] * work[b + 2]
        elif op == Op.DIV:
            work[o] = work[a] / work[b]
            work[o + 1] = (work[a + 1] - work[o] * work[b + 1]) / work[b]
            work[o + 2] = (work[a + 2] - 2.0 * work[o + 1] * work[b + 1] - work[o] * work[b + 2]) / work[b]
        elif op == Op.NEG:
            for i in range(3):
                work[o + i] = -work[a + i]
        elif op == Op.SIN or op == Op.COS:
            s = sin(work[a])
            c = cos(work[a])
            f = s if op == Op.SIN else c
            df = c if op == Op.SIN else -s
            work[o] = f
            work[o + 1] = df * work[a + 1]
            work[o + 2] = df * work[a + 2] - f * work[a + 1] * work[a + 1]
        elif op == Op.SQRT:
            work[o] = math.sqrt(work[a])
            work[o + 1] = 0.5 * work[a + 1] / work[o]
            work[o + 2] = (0.5 * work[a + 2] - work[o + 1] * work[o + 1]) / work[o]


@kernel
def load_entries(first, last, data, work):
    """Copy registers into R and R'."""
    entry = int(data[D.ENTRY])
    n_J = int(data[D.N_J])
    size = int(data[D.N_K]) * n_J
    for k in range(first, last):
        place = int(data[D.W_R]) + int(data[entry + 3 * k]) * n_J + int(data[entry + 3 * k + 1])
        register = int(data[D.W_REGISTER]) + 3 * int(data[entry + 3 * k + 2])
        work[place] = work[register]
        work[place + size] = work[register + 1]


@kernel
def friction_torques(omega, stride, p, data, tau):
    """``B_J omega`` (Algorithm 2) of the speeds at ``omega[0], omega[stride], ...``, into `tau`."""
    for i in range(int(data[D.N_J])):
        tau[i] = p[int(data[D.P_B]) + i] * omega[i * stride]
    for k in range(int(data[D.N_FRICTION])):
        row = int(data[D.FRICTION]) + 4 * k
        i = int(data[row])
        j = int(data[row + 1])
        tau_ij = p[int(data[row + 3])] * (omega[i * stride] + data[row + 2] * omega[j * stride])
        tau[i] += tau_ij
        tau[j] += data[row + 2] * tau_ij


@kernel
def solve_speeds(derivatives, data, work):
    """Q1 and its first `derivatives` derivatives from those of R; leaves the LU of R_D behind."""
    n_J = int(data[D.N_J])
    n_K = int(data[D.N_K])
    n_1 = int(data[D.N_1])
    order = int(data[D.ORDER])
    entry = int(data[D.ENTRY])
    register = int(data[D.W_REGISTER])
    R = int(data[D.W_R])
    Q = int(data[D.W_Q])
    RD = int(data[D.W_RD])
    pivot = int(data[D.W_RD_PIVOT])
    v = int(data[D.W_V])
    for k in range(n_K):
        for j in range(n_K):
            work[RD + k * n_K + j] = work[R + k * n_J + int(data[order + j])]
    lu(n_K, work, RD, pivot)
    for c in range(n_1):
        own = int(data[order + n_K + c])
        for d in range(derivatives + 1):
            Q_d = Q + d * n_J * n_1 + c
            if d == 0:
                for k in range(n_K):
                    work[v + k] = -work[R + k * n_J + own]
            else:
                for k in range(n_K):
                    work[v + k] = 0.0
                for k in range(int(data[D.ENTRY_FIXED]), int(data[D.ENTRY_END])):  # no other entry has derivatives
                    column = int(data[entry + 3 * k + 1]) * n_1
                    dR = register + 3 * int(data[entry + 3 * k + 2]) + 1
                    s = d * work[dR] * work[Q_d - n_J * n_1 + column]
                    if d == 2:
                        s += work[dR + 1] * work[Q + c + column]
                    work[v + int(data[entry + 3 * k])] -= s
            lu_solve(n_K, work, RD, pivot, v)
            for j in range(n_K):
                work[Q_d + int(data[order + j]) * n_1] = work[v + j]


@kernel
def reduced_matrices(derivatives, p, data, work):
    """L1, Q1' J Q1' and A1, eq. (10), if `derivatives` is 2 also the derivatives of the latter two to theta.

    Leaves the LU of L1 behind.
    """
    n_J = int(data[D.N_J])
    n_1 = int(data[D.N_1])
    size = n_J * n_1
    square = n_1 * n_1
    J = int(data[D.P_J])
    Q = int(data[D.W_Q])
    L1 = int(data[D.W_L])
    M = int(data[D.W_M])
    A = int(data[D.W_A])
    B_q = int(data[D.W_V])
    B_dq = int(data[D.W_C])
    for c in range(n_1):
        friction_torques(work[Q + c : Q + size], n_1, p, data, work[B_q : B_q + n_J])
        if derivatives == 2:
            friction_torques(work[Q + size + c : Q + 2 * size], n_1, p, data, work[B_dq : B_dq + n_J])
        for r in range(n_1):
            l_rc = 0.0
            m_rc = 0.0
            a_rc = 0.0
            for i in range(n_J):
                q_r = work[Q + i * n_1 + r]
                l_rc += q_r * p[J + i] * work[Q + i * n_1 + c]
                m_rc += q_r * p[J + i] * work[Q + size + i * n_1 + c]
                a_rc -= q_r * work[B_q + i]
            at = r * n_1 + c
            work[L1 + at] = l_rc
            work[L1 + square + at] = l_rc
            work[M + at] = m_rc
            work[A + at] = a_rc
            if derivatives == 2:
                dm_rc = 0.0
                da_rc = 0.0
                for i in range(n_J):
                    q_r = work[Q + i * n_1 + r]
                    dq_r = work[Q + size + i * n_1 + r]
                    dm_rc += p[J + i] * (dq_r * work[Q + size + i * n_1 + c] + q_r * work[Q + 2 * size + i * n_1 + c])
                    da_rc -= dq_r * work[B_q + i] + q_r * work[B_dq + i]
                work[M + square + at] = dm_rc
                work[A + square + at] = da_rc
    lu(n_1, work, L1 + square, int(data[D.W_L_PIVOT]))


@kernel
def kinematics(derivatives, theta, p, data, work):
    """Bring R, Q1 and the reduced matrices to `theta` [rad], if they are not there yet.

    One of the `derivatives` gives the rates, a second the Jacobian.
    """
    at = int(data[D.W_THETA])
    if work[at] == theta and work[at + 1] >= derivatives:
        return
    run_tape(int(data[D.TAPE_FIXED]), int(data[D.TAPE_END]), theta, p, data, work)
    load_entries(int(data[D.ENTRY_FIXED]), int(data[D.ENTRY_END]), data, work)
    solve_speeds(derivatives, data, work)
    reduced_matrices(derivatives, p, data, work)
    work[at] = theta
    work[at + 1] = derivatives


@kernel
def prepare(p, data, work):
    """What depends on parameters alone: the fixed part of R, and the rows of Q1 of independent speeds."""
    for i in range(int(data[D.W_STEP])):
        work[i] = 0.0
    gather(int(data[D.LAW]), int(data[D.N_LAW]), p, data, work[int(data[D.W_LAW]) : int(data[D.W_STEP])])
    run_tape(0, int(data[D.TAPE_FIXED]), 0.0, p, data, work)
    load_entries(0, int(data[D.ENTRY_FIXED]), data, work)
    n_1 = int(data[D.N_1])
    for c in range(n_1):
        work[int(data[D.W_Q]) + int(data[int(data[D.ORDER]) + int(data[D.N_K]) + c]) * n_1 + c] = 1.0
    work[int(data[D.W_THETA])] = HUGE  # nowhere yet


# --- parts that both models share ------------------------------------------------------------------------------------


@kernel
def tilt(x, data):
    """The moving variable theta [rad], 0 if nothing moves."""
    return x[int(data[D.X_THETA])] if data[D.MOVING] != 0.0 else 0.0


@kernel
def torques(x, u, data, work):
    """Torques on the gears from inputs and springs at the ports [N.m], into W_TAU."""
    tau = int(data[D.W_TAU])
    for i in range(int(data[D.N_J])):
        work[tau + i] = 0.0
    for k in range(int(data[D.N_PORT])):
        row = int(data[D.PORT]) + 3 * k
        first = int(data[D.X_SPRING]) + int(data[row + 1])
        springs = int(data[row + 2])
        s = u[k] if springs == 0 else 0.0
        for i in range(first, first + springs):
            s += x[i]
        work[tau + int(data[row])] += s


@kernel
def control(mode, held, x, u, data, work):
    """``theta'`` from the unit's controller within its limits, into W_CONTROL; 0 if nothing moves."""
    o = int(data[D.W_CONTROL])
    law = work[int(data[D.W_LAW]) : int(data[D.W_LAW]) + KERS_SIZE]
    kind = int(data[D.CONTROL])
    theta = tilt(x, data)
    if kind == Control.NONE:
        for i in range(CONTROL_SIZE):
            work[o + i] = 0.0
    elif kind == Control.POSITION:
        position_law(law, theta, u[int(data[D.U_CONTROL])], work, o)
    elif kind == Control.KERS:
        size = int(data[D.N_J])  # n_1 is 1
        q = int(data[D.W_Q]) + int(data[D.STORAGE])
        A = int(data[D.W_A])
        kers_law(
            law,
            x[int(data[D.X_OWN])],
            theta,
            x[int(data[D.X_POWER])],
            u[int(data[D.OWN_PORT])],
            u[int(data[D.U_CONTROL])],
            work[A],
            work[A + 1],
            work[q],
            work[q + size],
            work[q + 2 * size],
            work,
            o,
        )
    if kind != Control.NONE:
        apply_limits(mode, held, work, o)


@kernel
def shared_derivative(x, u, p, data, dx, work):
    """Rates of the springs at the ports, theta and the filtered power; expects `control` and the speeds' rates.

    A shaft of the unit file is a spring c between flange and gear: ``tau' = c (w - omega)``.
    """
    for k in range(int(data[D.N_PORT])):
        row = int(data[D.PORT]) + 3 * k
        springs = int(data[row + 2])
        if springs > 0:
            omega = gear_speed(0, int(data[row]), x, data, work)
            first = int(data[row + 1])
            at = int(data[D.X_SPRING]) + first
            spring = int(data[D.SPRING]) + 3 * first
            c = p[int(data[spring + 1])]
            if springs == 1:
                dx[at] = c * (u[k] - omega)
            else:
                coupling_rates(u[k], omega, c, p[int(data[spring + 5])], at, x, dx)
    if data[D.MOVING] != 0.0:
        dx[int(data[D.X_THETA])] = work[int(data[D.W_CONTROL]) + RATE]
    if int(data[D.CONTROL]) == Control.KERS:
        own = int(data[D.X_OWN])
        at = int(data[D.X_POWER])
        omega = x[own]
        power = omega * (
            work[int(data[D.W_L])] * dx[own] + work[int(data[D.W_M])] * omega * dx[int(data[D.X_THETA])]
        )  # dE/dt
        dx[at] = (power - x[at]) / work[int(data[D.W_LAW]) + TAU_FILTER]


@kernel
def shared_jacobian(x, p, data, dx, jac, work):
    """Rows of the springs at the ports, theta and the filtered power; expects `control`, `dx` and the speeds' rows."""
    n = int(data[D.N_X])
    n_1 = int(data[D.N_1])
    theta = int(data[D.X_THETA])
    for k in range(int(data[D.N_S])):
        row = int(data[D.SPRING]) + 3 * k
        gear = int(data[int(data[D.PORT]) + 3 * int(data[row])])
        c = p[int(data[row + 1])]
        at = int(data[D.X_SPRING]) + k
        if data[D.FULL] != 0.0:
            jac[at * n + gear] = -c
        else:
            for i in range(n_1):
                jac[at * n + i] = -c * work[int(data[D.W_Q]) + gear * n_1 + i]
        if data[D.MOVING] != 0.0:
            jac[at * n + theta] = -c * gear_speed(1, gear, x, data, work)
        if data[row + 2] >= 0.0:
            jac[at * n + at] = -c / p[int(data[row + 2])]
    if data[D.MOVING] != 0.0:
        jac[theta * n + theta] = work[int(data[D.W_CONTROL]) + D_THETA]
    if int(data[D.CONTROL]) == Control.KERS:
        own = int(data[D.X_OWN])
        at = int(data[D.X_POWER])
        omega = x[own]
        rate = work[int(data[D.W_CONTROL]) + RATE]
        L1 = work[int(data[D.W_L])]
        M = work[int(data[D.W_M])]
        inverse = 1.0 / work[int(data[D.W_LAW]) + TAU_FILTER]
        jac[theta * n + own] = work[int(data[D.W_CONTROL]) + D_OMEGA]
        jac[theta * n + at] = work[int(data[D.W_CONTROL]) + D_POWER]
        for j in range(n):
            jac[at * n + j] = omega * (L1 * jac[own * n + j] + M * omega * jac[theta * n + j]) * inverse
        jac[at * n + own] += (L1 * dx[own] + 2.0 * M * omega * rate) * inverse
        jac[at * n + theta] += omega * (2.0 * M * dx[own] + work[int(data[D.W_M]) + 1] * omega * rate) * inverse
        jac[at * n + at] -= inverse


# --- full elastic model, eq. (2) --------------------------------------------------------------------------------------


@kernel
def contact_speeds(d, x, data, work, v):
    """``R omega`` (d = 0) or ``R' omega`` (d = 1) of the full model [m/s], into ``work[v:]``."""
    n_J = int(data[D.N_J])
    n_K = int(data[D.N_K])
    R = int(data[D.W_R]) + d * n_K * n_J
    for k in range(n_K):
        s = 0.0
        for i in range(n_J):
            s += work[R + k * n_J + i] * x[i]
        work[v + k] = s


@kernel
def full_derivative(x, u, p, data, dx, work):
    """Eq. (2): ``J omega' = tau - B_J omega - R'(F + B_K R omega)``, ``F' = K R omega``."""
    n_J = int(data[D.N_J])
    n_K = int(data[D.N_K])
    R = int(data[D.W_R])
    B_omega = int(data[D.W_C])
    v = int(data[D.W_V])
    contact_speeds(0, x, data, work, v)
    friction_torques(x, 1, p, data, work[B_omega : B_omega + n_J])
    for i in range(n_J):
        s = work[int(data[D.W_TAU]) + i] - work[B_omega + i]
        for k in range(n_K):
            if play_of(k, data) < 0:
                s -= work[R + k * n_J + i] * (x[n_J + k] + p[int(data[D.P_D]) + k] * work[v + k])
        dx[i] = s / p[int(data[D.P_J]) + i]
    for k in range(n_K):
        dx[n_J + k] = p[int(data[D.P_K]) + k] * work[v + k]


@kernel
def full_jacobian(x, p, data, jac, work):
    """Rows of omega and F of the full model."""
    n = int(data[D.N_X])
    n_J = int(data[D.N_J])
    n_K = int(data[D.N_K])
    R = int(data[D.W_R])
    dR = R + n_K * n_J
    d = int(data[D.P_D])
    v = int(data[D.W_V])
    dv = int(data[D.W_C])
    theta = int(data[D.X_THETA])
    contact_speeds(0, x, data, work, v)
    contact_speeds(1, x, data, work, dv)
    for i in range(n_J):
        J_i = p[int(data[D.P_J]) + i]
        for j in range(n_J):
            s = 0.0
            for k in range(n_K):
                if play_of(k, data) < 0:
                    s += work[R + k * n_J + i] * p[d + k] * work[R + k * n_J + j]
            jac[i * n + j] = -s / J_i
        jac[i * n + i] -= p[int(data[D.P_B]) + i] / J_i
        s = 0.0
        for k in range(n_K):
            if play_of(k, data) < 0:
                jac[i * n + n_J + k] = -work[R + k * n_J + i] / J_i
            s += work[dR + k * n_J + i] * (x[n_J + k] + p[d + k] * work[v + k])
            s += work[R + k * n_J + i] * p[d + k] * work[dv + k]
        if data[D.MOVING] != 0.0:
            jac[i * n + theta] = -s / J_i
    for k in range(int(data[D.N_FRICTION])):
        row = int(data[D.FRICTION]) + 4 * k
        i = int(data[row])
        j = int(data[row + 1])
        b_i = p[int(data[row + 3])] / p[int(data[D.P_J]) + i]
        b_j = p[int(data[row + 3])] / p[int(data[D.P_J]) + j]
        jac[i * n + i] -= b_i
        jac[i * n + j] -= data[row + 2] * b_i
        jac[j * n + i] -= data[row + 2] * b_j
        jac[j * n + j] -= b_j
    for k in range(int(data[D.N_S])):
        gear = int(data[int(data[D.PORT]) + 3 * int(data[int(data[D.SPRING]) + 3 * k])])
        jac[gear * n + int(data[D.X_SPRING]) + k] = 1.0 / p[int(data[D.P_J]) + gear]
    for k in range(n_K):
        K_k = p[int(data[D.P_K]) + k]
        for j in range(n_J):
            jac[(n_J + k) * n + j] = K_k * work[R + k * n_J + j]
        if data[D.MOVING] != 0.0:
            jac[(n_J + k) * n + theta] = K_k * work[dv + k]


# --- rigid model, eqs. (9) and (10) -----------------------------------------------------------------------------------


@kernel
def rigid_derivative(x, u, data, dx, work):
    """Eq. (9): ``L1 x1' = B1 tau + (A1 - N1) x1`` with ``N1 = M theta'``."""
    n_J = int(data[D.N_J])
    n_1 = int(data[D.N_1])
    Q = int(data[D.W_Q])
    M = int(data[D.W_M])
    A = int(data[D.W_A])
    L1 = int(data[D.W_L])
    b = int(data[D.W_V])
    rate = work[int(data[D.W_CONTROL]) + RATE]
    for r in range(n_1):
        s = 0.0
        for i in range(n_J):
            s += work[Q + i * n_1 + r] * work[int(data[D.W_TAU]) + i]
        for c in range(n_1):
            s += (work[A + r * n_1 + c] - rate * work[M + r * n_1 + c]) * x[c]
        work[b + r] = s
    lu_solve(n_1, work, L1 + n_1 * n_1, int(data[D.W_L_PIVOT]), b)
    for r in range(n_1):
        dx[r] = work[b + r]


@kernel
def store_column(column, n, n_1, data, jac, work, b):
    """``L1^-1`` times the vector at ``work[b]`` becomes a column of the Jacobian."""
    lu_solve(n_1, work, int(data[D.W_L]) + n_1 * n_1, int(data[D.W_L_PIVOT]), b)
    for r in range(n_1):
        jac[r * n + column] = work[b + r]


@kernel
def rigid_jacobian(x, data, dx, jac, work):
    """Rows of x1 of the rigid model; expects `control`, `torques` and the rates `dx`."""
    n = int(data[D.N_X])
    n_J = int(data[D.N_J])
    n_1 = int(data[D.N_1])
    Q = int(data[D.W_Q])
    M = int(data[D.W_M])
    A = int(data[D.W_A])
    b = int(data[D.W_V])
    o = int(data[D.W_CONTROL])
    Mx = int(data[D.W_C])
    rate = work[o + RATE]
    theta = int(data[D.X_THETA])
    for r in range(n_1):
        s = 0.0
        for c in range(n_1):
            s += work[M + r * n_1 + c] * x[c]
        work[Mx + r] = s
    for c in range(n_1):
        for r in range(n_1):
            work[b + r] = work[A + r * n_1 + c] - rate * work[M + r * n_1 + c]
            if int(data[D.CONTROL]) == Control.KERS:
                work[b + r] -= work[Mx + r] * work[o + D_OMEGA]
        store_column(c, n, n_1, data, jac, work, b)
    for k in range(int(data[D.N_S])):
        gear = int(data[int(data[D.PORT]) + 3 * int(data[int(data[D.SPRING]) + 3 * k])])
        for r in range(n_1):
            work[b + r] = work[Q + gear * n_1 + r]
        store_column(int(data[D.X_SPRING]) + k, n, n_1, data, jac, work, b)
    if data[D.MOVING] != 0.0:
        square = n_1 * n_1
        for r in range(n_1):
            s = -work[Mx + r] * work[o + D_THETA]
            for i in range(n_J):
                s += work[Q + n_J * n_1 + i * n_1 + r] * work[int(data[D.W_TAU]) + i]
            for c in range(n_1):
                at_rc = r * n_1 + c
                s += (work[A + square + at_rc] - rate * work[M + square + at_rc]) * x[c]
                s -= (work[M + at_rc] + work[M + c * n_1 + r]) * dx[c]
            work[b + r] = s
        store_column(theta, n, n_1, data, jac, work, b)
    if int(data[D.CONTROL]) == Control.KERS:
        for r in range(n_1):
            work[b + r] = -work[Mx + r] * work[o + D_POWER]
        store_column(int(data[D.X_POWER]), n, n_1, data, jac, work, b)


@kernel
def rigid_speeds(x, data, work, omega):
    """``omega = Q1 x1`` [rad/s], eq. (8), into ``work[omega:]``."""
    n_1 = int(data[D.N_1])
    for i in range(int(data[D.N_J])):
        s = 0.0
        for c in range(n_1):
            s += work[int(data[D.W_Q]) + i * n_1 + c] * x[c]
        work[omega + i] = s


@kernel
def rigid_forces(x, u, p, data, dx, work, F):
    """Contact forces of the rigid model [N], eq. (11), into ``work[F:]``; expects `rigid_speeds` in W_OMEGA."""
    n_J = int(data[D.N_J])
    n_K = int(data[D.N_K])
    n_1 = int(data[D.N_1])
    Q = int(data[D.W_Q])
    omega = int(data[D.W_OMEGA])
    B_omega = int(data[D.W_V])
    rate = work[int(data[D.W_CONTROL]) + RATE]
    rigid_derivative(x, u, data, dx, work)
    friction_torques(work[omega : omega + n_J], 1, p, data, work[B_omega : B_omega + n_J])
    for k in range(n_K):
        i = int(data[int(data[D.ORDER]) + k])
        acceleration = 0.0
        for c in range(n_1):
            acceleration += work[Q + i * n_1 + c] * dx[c] + rate * work[Q + n_J * n_1 + i * n_1 + c] * x[c]
        work[F + k] = work[int(data[D.W_TAU]) + i] - p[int(data[D.P_J]) + i] * acceleration - work[B_omega + i]
    lu_solve_transposed(n_K, work, int(data[D.W_RD]), int(data[D.W_RD_PIVOT]), F)


@kernel
def contact_force(k, x, p, data, work):
    """Force of a contact of the full model [N], without its damper unless it has play."""
    e = play_of(k, data)
    if e < 0:
        return x[int(data[D.N_J]) + k]
    return carried(e, x, p, data, work)


@kernel
def clear(first, n, work):
    """Zeros at ``work[first:]``."""
    for i in range(first, first + n):
        work[i] = 0.0


@kernel
def forces_by_losses(u, p, data, work):
    """Changes of the rigid model's forces in lossy meshes by torques on gears, by x1 and by torques of elements."""
    n_J = int(data[D.N_J])
    n_1 = int(data[D.N_1])
    m = int(data[D.N_LOSS])
    n_E = int(data[D.N_E])
    load = int(data[D.W_LOAD])
    scratch = int(data[D.W_STEP])
    one = work[scratch : scratch + n_1]
    for i in range(n_J + n_1):
        clear(int(data[D.W_TAU]), n_J, work)
        clear(scratch, n_1, work)
        if i < n_J:
            work[int(data[D.W_TAU]) + i] = 1.0
        else:
            work[scratch + i - n_J] = 1.0
        rigid_speeds(one, data, work, int(data[D.W_OMEGA]))
        rigid_forces(one, u, p, data, work[scratch + n_1 : scratch + 2 * n_1], work, load)
        for a in range(m):
            work[int(data[D.W_BY_TORQUE]) + a * (n_J + n_1) + i] = work[load + loaded(a, data)]
    for a in range(m):
        force = int(data[D.W_BY_TORQUE]) + a * (n_J + n_1)
        for e in range(n_E):
            row = place(e, data)
            G = -work[force + int(data[row + Element.A])]
            G += data[row + Element.SIGN] * work[force + int(data[row + Element.B])]
            work[int(data[D.W_BY_ELEMENT]) + a * n_E + e] = G
        work[int(data[D.W_LOSS]) + m * m + m + a] = HUGE  # no factors yet


@kernel
def loaded(a, data):
    """The contact of loss `a`."""
    return contact_of(friction_elements(data) + a, data)


@kernel
def factor_losses(data, work):
    """Factor ``1 - c G``, if it is not the one that is factored."""
    m = int(data[D.N_LOSS])
    n_E = int(data[D.N_E])
    A = int(data[D.W_LOSS])
    kept = A + m * m + m
    c = kept + m
    G = int(data[D.W_BY_ELEMENT]) + friction_elements(data)
    same = True
    for a in range(m):
        same = same and work[kept + a] == work[c + a]
    if not same:
        for a in range(m):
            work[kept + a] = work[c + a]
            for b in range(m):
                work[A + a * m + b] = -work[c + a] * work[G + a * n_E + b]
            work[A + a * m + a] += 1.0
        lu(m, work, A, A + m * m)


@kernel
def solve_losses(x, p, data, work):
    """The rigid model's forces in lossy meshes, into W_LOAD, and the bounds there; expects W_TAU without losses."""
    n_J = int(data[D.N_J])
    n_1 = int(data[D.N_1])
    n_E = int(data[D.N_E])
    m = int(data[D.N_LOSS])
    first = friction_elements(data)
    load = int(data[D.W_LOAD])
    G = int(data[D.W_BY_ELEMENT]) + first
    A = int(data[D.W_LOSS])
    c = A + m * m + 2 * m
    F_0 = c + m
    tau = F_0 + m
    stuck = tau + m
    for a in range(m):
        force = int(data[D.W_BY_TORQUE]) + a * (n_J + n_1)
        F = 0.0
        for i in range(n_J):
            F += work[force + i] * work[int(data[D.W_TAU]) + i]
        for i in range(n_1):
            F += work[force + n_J + i] * x[i]
        work[F_0 + a] = F
        work[load + loaded(a, data)] = F
        work[c + a] = HUGE
        work[tau + a] = 0.0
        work[stuck + a] = stuck_torque(first + a, x, p, data, work)
    same = False
    for turn in range(LOADINGS):
        if not same:
            load_meshes(x, p, data, work)
            same = True
            for a in range(m):
                e = first + a
                torque = work[stuck + a]
                side = 0.0
                if turn < FLIPS or work[tau + a] * torque >= 0.0:  # else it locks
                    if torque > bound(e, 1.0, data, work):
                        side = 1.0
                    elif torque < bound(e, -1.0, data, work):
                        side = -1.0
                share = 0.0
                if side != 0.0:
                    share = loss_of(e, side, data, work)
                same = same and abs(share - work[c + a]) <= SAME * abs(share)
                work[c + a] = share
                work[tau + a] = share * work[F_0 + a] if side != 0.0 else torque
            if not same:
                factor_losses(data, work)
                lu_solve(m, work, A, A + m * m, tau)
                for a in range(m):
                    F = work[F_0 + a]
                    for b in range(m):
                        F += work[G + a * n_E + b] * work[tau + b]
                    work[load + loaded(a, data)] = F
    if not same:
        load_meshes(x, p, data, work)


@kernel
def hold(x, u, p, data, work):
    """Bounds of the elements, and their torques beside those of the ports; expects `torques`."""
    first = friction_elements(data)
    set_bounds(u, p, data, work)
    element_torques(0, first, x, p, data, work)
    if data[D.N_LOSS] > 0.0:
        if data[D.FULL] != 0.0:
            for k in range(int(data[D.N_K])):
                work[int(data[D.W_LOAD]) + k] = contact_force(k, x, p, data, work)
            load_meshes(x, p, data, work)
        else:
            solve_losses(x, p, data, work)
    element_torques(first, int(data[D.N_E]), x, p, data, work)


@kernel
def losses_by_forces(at, stride, x, p, data, jac, work):
    """Add to a column of the Jacobian, or of an input, how the rigid model's losses follow from it.

    What moves changes the forces without losses by what is in W_LOSS in place of these, each times its c.
    """
    m = int(data[D.N_LOSS])
    A = int(data[D.W_LOSS])
    c = A + m * m + 2 * m
    tau = c + 2 * m
    lu_solve(m, work, A, A + m * m, tau)
    for a in range(m):
        if work[c + a] != 0.0:
            loss_column(friction_elements(data) + a, at, stride, work[tau + a], x, p, data, jac, work)


@kernel
def loss_jacobian(x, p, data, jac, work):
    """Add to the Jacobian how the rigid model's losses follow from the state; expects the rows of stuck twists."""
    n = int(data[D.N_X])
    n_J = int(data[D.N_J])
    n_1 = int(data[D.N_1])
    n_E = int(data[D.N_E])
    m = int(data[D.N_LOSS])
    first = friction_elements(data)
    phi = int(data[D.X_PHI])
    c = int(data[D.W_LOSS]) + m * m + 2 * m
    tau = c + 2 * m
    change = int(data[D.W_Z])  # of the torques of elements that stick
    for a in range(m):
        work[c + a] = mesh_share(first + a, x, p, data, work)
    factor_losses(data, work)
    for j in range(phi + n_E):
        if j < phi or jac[j * n + j] == 0.0:  # what slips follows from its twist no more
            for e in range(n_E):
                at = int(data[place(e, data) + Element.P])
                work[change + e] = 0.0
                if jac[(phi + e) * n + phi + e] == 0.0:
                    work[change + e] = p[at + 1] if j == phi + e else p[at + 2] * jac[(phi + e) * n + j]
            for a in range(m):
                force = int(data[D.W_BY_TORQUE]) + a * (n_J + n_1)
                F = 0.0
                by_speed = 0.0
                if j < n_1:
                    F = work[force + n_J + j]
                    by_speed = mesh_slowing(first + a, x, p, data, work) * across_by(first + a, j, data, work)
                elif j < phi:
                    spring = int(data[D.SPRING]) + 3 * (j - int(data[D.X_SPRING]))
                    F = work[force + int(data[int(data[D.PORT]) + 3 * int(data[spring])])]
                for e in range(n_E):
                    F += work[int(data[D.W_BY_ELEMENT]) + a * n_E + e] * work[change + e]
                work[tau + a] = work[c + a] * F + by_speed
            losses_by_forces(j, n, x, p, data, jac, work)


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def initialise(p, data, u, x, work):
    """Start from the independent speeds, all springs unloaded, the stored energy taken as constant."""
    prepare(p, data, work)
    theta = p[int(data[D.P_THETA_START])] if data[D.MOVING] != 0.0 else 0.0
    kinematics(2, theta, p, data, work)
    n_K = int(data[D.N_K])
    n_1 = int(data[D.N_1])
    smallest = HUGE
    largest = 0.0
    for k in range(n_K):
        pivot = abs(work[int(data[D.W_RD]) + k * n_K + k])
        smallest = pivot if pivot < smallest else smallest
        largest = pivot if pivot > largest else largest
    if n_K > 0 and not smallest > SINGULAR * largest:
        return FAILED
    n = int(data[D.N_X])
    for i in range(n):
        x[i] = 0.0
    start = int(data[D.START])
    if data[D.FULL] != 0.0:
        for i in range(int(data[D.N_J])):
            for c in range(n_1):
                x[i] += work[int(data[D.W_Q]) + i * n_1 + c] * p[int(data[start + c])]
    else:
        for c in range(n_1):
            x[c] = p[int(data[start + c])]
    if data[D.MOVING] != 0.0:
        x[int(data[D.X_THETA])] = theta
    dx = work[int(data[D.W_STEP]) : int(data[D.W_STEP]) + n]
    element_responses(p, data, work)
    if data[D.N_LOSS] > 0.0 and data[D.FULL] == 0.0:
        forces_by_losses(u, p, data, work)
    for e in range(friction_elements(data), int(data[D.N_E] - data[D.N_PLAY])):
        mesh_losses(e, x, p, data, work)
    work[int(data[D.W_KEY])] = 0.0
    derivative(0.0, x, u, p, data, dx, work)
    return start_status(n, x, dx)


@kernel
def right_hand_side(mode, held, x, u, p, data, dx, work):
    """``f(x, u)`` with the limits of theta applied by `mode`, see `rtcvt.control.limits`."""
    kinematics(1, tilt(x, data), p, data, work)
    control(mode, held, x, u, data, work)
    torques(x, u, data, work)
    if mode != OPEN:
        hold(x, u, p, data, work)
    if data[D.FULL] != 0.0:
        full_derivative(x, u, p, data, dx, work)
    else:
        rigid_derivative(x, u, data, dx, work)
    shared_derivative(x, u, p, data, dx, work)
    for i in range(int(data[D.X_PHI]), int(data[D.N_X])):
        dx[i] = 0.0
    if mode != OPEN:
        element_rates(x, p, data, dx, work)


@kernel
def linearise(mode, held, x, u, p, data, f, jac, work):
    """`right_hand_side` into `f` and its ``df/dx``, row-major."""
    kinematics(2, tilt(x, data), p, data, work)
    right_hand_side(mode, held, x, u, p, data, f, work)
    slopes(mode, x, p, data, f, jac, work)


@kernel
def slopes(mode, x, p, data, f, jac, work):
    """``df/dx``, row-major; expects `kinematics` with two derivatives and `right_hand_side` in `f`."""
    n = int(data[D.N_X])
    for i in range(n * n):
        jac[i] = 0.0
    if data[D.FULL] != 0.0:
        full_jacobian(x, p, data, jac, work)
    else:
        rigid_jacobian(x, data, f, jac, work)
    if mode != OPEN:
        element_jacobian(x, p, data, jac, work)
        if data[D.N_LOSS] > 0.0 and data[D.FULL] == 0.0:
            loss_jacobian(x, p, data, jac, work)
    shared_jacobian(x, p, data, f, jac, work)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Right-hand side of the full or the rigid model with its controller."""
    right_hand_side(CLIPPED, 0.0, x, u, p, data, dx, work)


@kernel
def jacobian(t, x, u, p, data, jac, work):
    """Exact ``df/dx``, row-major, inputs held."""
    n = int(data[D.N_X])
    f = work[int(data[D.W_STEP]) + 2 * n : int(data[D.W_STEP]) + 3 * n]
    linearise(CLIPPED, 0.0, x, u, p, data, f, jac, work)


@kernel
def coupled_linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and ``df/dx``, see `rtcvt.model.Coupling`."""
    linearise(CLIPPED, 0.0, x, u, p, data, f, jac, work)


@kernel
def coupled_flange(k, x, u, p, data, work):
    """Speed of a gear, or torque of the spring before it, see `rtcvt.model.Coupling`."""
    place = int(data[D.PORT]) + 3 * k
    if data[place + 2] == 0.0:
        return gear_speed(0, int(data[place]), x, data, work)
    tau = 0.0
    first = int(data[D.X_SPRING]) + int(data[place + 1])
    for i in range(first, first + int(data[place + 2])):
        tau += x[i]
    return tau


@kernel
def coupled_port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`: a gear, or the spring before it."""
    n = int(data[D.N_X])
    n_1 = int(data[D.N_1])
    for i in range(n):
        row[i] = 0.0
        column[i] = 0.0
    place = int(data[D.PORT]) + 3 * k
    gear = int(data[place])
    first = int(data[D.X_SPRING]) + int(data[place + 1])
    for i in range(first, first + int(data[place + 2])):
        row[i] = 1.0
        column[i] = p[int(data[int(data[D.SPRING]) + 3 * int(data[place + 1]) + 1])]
    if data[place + 2] == 0.0:
        if data[D.FULL] != 0.0:
            row[gear] = 1.0
            column[gear] = 1.0 / p[int(data[D.P_J]) + gear]
        else:
            b = int(data[D.W_V])
            for c in range(n_1):
                row[c] = work[int(data[D.W_Q]) + gear * n_1 + c]
                work[b + c] = row[c]
            lu_solve(n_1, work, int(data[D.W_L]) + n_1 * n_1, int(data[D.W_L_PIVOT]), b)
            for c in range(n_1):
                column[c] = work[b + c]
            if data[D.MOVING] != 0.0:
                row[int(data[D.X_THETA])] = gear_speed(1, gear, x, data, work)
            if data[D.N_LOSS] > 0.0:
                m = int(data[D.N_LOSS])
                c = int(data[D.W_LOSS]) + m * m + 2 * m
                for a in range(m):
                    force = int(data[D.W_BY_TORQUE]) + a * (int(data[D.N_J]) + n_1)
                    work[c + 2 * m + a] = work[c + a] * work[force + gear]
                losses_by_forces(0, 1, x, p, data, column, work)
    elif int(data[D.CONTROL]) == Control.KERS and k == int(data[D.OWN_PORT]):
        by_speed = work[int(data[D.W_CONTROL]) + LIMITED]  # of theta', by the speed outside the spring
        if by_speed == 0.0:
            own = x[int(data[D.X_OWN])]
            w_0 = work[int(data[D.W_LAW]) + OMEGA_0]
            sign = own / w_0
            if abs(own) > w_0:
                sign = 1.0 if own > 0.0 else -1.0
            by_speed = -sign * work[int(data[D.W_LAW]) + K_THETA] * work[int(data[D.W_LAW]) + K_W]
            column[int(data[D.X_THETA])] = by_speed
            if data[D.FULL] == 0.0:
                column[0] = -work[int(data[D.W_M])] * own * by_speed / work[int(data[D.W_L])]
    return 0.0


@kernel
def coupled_piece(x, u, p, data, work):
    """0 if no limit of theta is active, 1 or 2 at the lower or upper one; pieces of the elements, to base 3."""
    pieces = 0.0
    for e in range(int(data[D.N_E])):
        pieces = 3.0 * pieces + 1.0 + side_at(e, data, work)
    if data[D.N_E] > 0.0:
        return pieces
    o = int(data[D.W_CONTROL])
    if data[D.MOVING] == 0.0 or work[o + LIMITED] == 0.0:
        return 0.0
    return 1.0 if work[o + RATE] == work[o + LOW] else 2.0


@kernel
def lost_power(omega, x, p, data, work):
    """What friction of gears and dampers of contacts lose [W]; speeds are at ``work[omega:]``."""
    P = 0.0
    for i in range(int(data[D.N_J])):
        P += p[int(data[D.P_B]) + i] * work[omega + i] * work[omega + i]
    for k in range(int(data[D.N_FRICTION])):
        row = int(data[D.FRICTION]) + 4 * k
        dw = work[omega + int(data[row])] + data[row + 2] * work[omega + int(data[row + 1])]
        P += p[int(data[row + 3])] * dw * dw
    if data[D.FULL] != 0.0:
        v = int(data[D.W_V])
        contact_speeds(0, x, data, work, v)
        for k in range(int(data[D.N_K])):
            if play_of(k, data) >= 0:
                work[v + k] = 0.0  # counted as heat
            P += p[int(data[D.P_D]) + k] * work[v + k] * work[v + k]
    return P


@kernel
def write_outputs(loaded, mode, held, x, u, p, data, y, work):
    """Ports, controller, stored energy, speeds and contact forces; `loaded` not 0 behind `load_elements`."""
    n = int(data[D.N_X])
    n_J = int(data[D.N_J])
    n_K = int(data[D.N_K])
    omega = int(data[D.W_OMEGA])
    F = int(data[D.W_C])
    kinematics(2, tilt(x, data), p, data, work)  # the next step's Jacobian is here
    if loaded == 0.0:
        control(mode, held, x, u, data, work)
        torques(x, u, data, work)
        hold(x, u, p, data, work)
    energy = 0.0
    for e in range(int(data[D.N_E])):
        energy += element_energy(e, x, p, data)
    if data[D.FULL] != 0.0:
        for i in range(n_J):
            work[omega + i] = x[i]
        for k in range(n_K):
            work[F + k] = contact_force(k, x, p, data, work)
            if play_of(k, data) < 0:
                energy += spring_energy(p[int(data[D.P_K]) + k], x[n_J + k])
    else:
        dx = work[int(data[D.W_STEP]) + 2 * n : int(data[D.W_STEP]) + 3 * n]
        rigid_speeds(x, data, work, omega)
        rigid_forces(x, u, p, data, dx, work, F)
    for i in range(n_J):
        energy += 0.5 * p[int(data[D.P_J]) + i] * work[omega + i] * work[omega + i]
    at = int(data[D.Y_COUPLING])
    for k in range(int(data[D.N_PORT])):
        row = int(data[D.PORT]) + 3 * k
        gear = int(data[row])
        springs = int(data[row + 2])
        if springs == 0:
            y[k] = work[omega + gear]
        else:
            y[k] = coupled_flange(k, x, u, p, data, work)
        if springs == 2:
            first = int(data[row + 1])
            spring = int(data[D.SPRING]) + 3 * first
            c = p[int(data[spring + 1])]
            first += int(data[D.X_SPRING])
            y[at + CouplingY.E] = spring_energy(c, x[first]) + spring_energy(c, x[first + 1])
            y[at + CouplingY.LOSS] = coupling_loss(p[int(data[spring + 5])], first, x)
            at += N_COUPLING
    if int(data[D.CONTROL]) == Control.KERS:
        y[int(data[D.Y_TAU_EST])] = work[int(data[D.W_CONTROL]) + TAU_EST]
    if data[D.MOVING] != 0.0:
        y[int(data[D.Y_THETA])] = tilt(x, data)
        y[int(data[D.Y_LIMITED])] = work[int(data[D.W_CONTROL]) + LIMITED]
        y[int(data[D.Y_LIMITED]) + 1] = 0.0
    y[int(data[D.Y_E])] = energy
    y[int(data[D.Y_E]) + 1] = lost_power(omega, x, p, data, work)
    for i in range(n_J):
        y[int(data[D.Y_GEAR]) + i] = work[omega + i]
    for k in range(n_K):
        y[int(data[D.Y_CONTACT]) + k] = work[F + k]
    plays = int(data[D.N_E] - data[D.N_PLAY])
    for e in range(plays, int(data[D.N_E])):
        at = int(data[D.Y_PLAY]) + (e - plays) * N_PLAY
        y[at + PlayY.S] = travel(e, x, p, data)
        y[at + PlayY.HEAT] = x[int(data[D.X_HEAT]) + e]
    for e in range(plays):
        at = int(data[D.Y_ELEMENT]) + e * N_ELEMENT
        face = int(data[D.W_FACE]) + 3 * e
        stuck = work[face + 2] == 0.0
        y[at + ElementY.TAU] = work[face + 1]
        slip = work[face] - twist_rate(e, x, p, data, work)
        y[at + ElementY.SLIP] = 0.0 if stuck else slip
        y[at + ElementY.STUCK] = 1.0 if stuck else 0.0
        y[at + ElementY.HEAT] = x[int(data[D.X_HEAT]) + e]


@kernel
def output(t, x, u, p, data, y, work):
    """Ports, controller, stored energy, speeds and contact forces."""
    write_outputs(0.0, CLIPPED, 0.0, x, u, p, data, y, work)


@kernel
def stay_on_sides(data, work):
    """Note in the pieces that are compared behind a step where teeth touch or part at a stage of it."""
    m = int(data[D.N_E])
    pieces = int(data[D.W_BOX_Q]) + 5 * m
    for e in range(m - int(data[D.N_PLAY]), m):
        if side_at(e, data, work) != work[pieces + e]:
            work[pieces + e] = HUGE


@kernel
def is_factored(h, x, p, data, work):
    """Whether the factors in W_STEP are those of this step: the machine is linear piece by piece; expects `hold`."""
    m = int(data[D.N_LOSS])
    n_E = int(data[D.N_E])
    first = friction_elements(data)
    key = int(data[D.W_KEY])
    same = work[key] == h
    work[key] = h
    for e in range(n_E):
        same = same and work[key + 1 + e] == side_at(e, data, work)
        work[key + 1 + e] = side_at(e, data, work)
    for a in range(m):
        slope = mesh_share(first + a, x, p, data, work)
        slowing = mesh_slowing(first + a, x, p, data, work)
        at = key + 1 + n_E + 2 * a
        same = same and work[at] == slope and work[at + 1] == slowing
        work[at] = slope
        work[at + 1] = slowing
    return same


@kernel
def heating(x, p, data, work):
    """Coefficients of the change of each heat's rate, into W_HEATING; expects `hold`.

    ``Q' = d phi'^2`` where faces stick or teeth are pressed, else ``Q' = tau dw - K phi phi'`` with
    ``d phi' = tau - K phi``.
    """
    n_E = int(data[D.N_E])
    for e in range(n_E):
        at = int(data[D.W_HEATING]) + e
        face = int(data[D.W_FACE]) + 3 * e
        rate = twist_rate(e, x, p, data, work)
        work[at + n_E] = 0.0
        work[at + 2 * n_E] = 0.0
        if is_play(e, data):
            work[at] = 2.0 * p[int(data[D.P_D]) + contact_of(e, data)] * rate
        else:
            own = int(data[place(e, data) + Element.P])
            K = p[own + 1]
            d = p[own + 2]
            work[at] = 2.0 * d * rate
            if work[face + 2] != 0.0:
                work[at] = d * work[face] - K * x[int(data[D.X_PHI]) + e]
                work[at + n_E] = K * (work[face] - rate)
                work[at + 2 * n_E] = work[face + 1]


@kernel
def factor_without_twists(h, jac, data, work, matrix, pivot):
    """`rosenbrock_matrix` of the states before twists and heats, the others eliminated.

    No rate follows from a heat, and none but its own from the twist of faces that slip; the rate of another twist
    follows from the states before and itself alone. So a unit with many meshes that lose costs little more.
    """
    n = int(data[D.N_X])
    c = int(data[D.X_PHI])
    for i in range(c):
        for j in range(c):
            work[matrix + i * c + j] = -jac[i * n + j]
        work[matrix + i * c + i] += 2.0 / h
    for e in range(int(data[D.N_E])):
        phi = (c + e) * n
        inverse = 1.0 / (2.0 / h - jac[phi + c + e])
        work[int(data[D.W_TWIST]) + e] = -inverse
        for i in range(c):
            if jac[i * n + c + e] != 0.0:
                work[int(data[D.W_TWIST]) + e] = inverse
                by = jac[i * n + c + e] * inverse
                for j in range(c):
                    work[matrix + i * c + j] -= by * jac[phi + j]
    lu(c, work, matrix, pivot)


@kernel
def solve_with_twists(h, jac, data, work, matrix, pivot, b):
    """Replace the vector at ``work[b]`` by ``(2 I/h - df/dx)^-1`` times it.

    Expects `factor_without_twists`, and `heating` instead of the heats' rows.
    """
    n = int(data[D.N_X])
    a = int(data[D.W_Z])
    c = int(data[D.X_PHI])
    m = int(data[D.N_E])
    for e in range(m):
        by = work[int(data[D.W_TWIST]) + e] * work[b + c + e]
        if work[int(data[D.W_TWIST]) + e] > 0.0:
            for i in range(c):
                work[b + i] += jac[i * n + c + e] * by
    lu_solve(c, work, matrix, pivot, b)
    for e in range(m):
        s = 0.0
        for j in range(c):
            s += jac[(c + e) * n + j] * work[b + j]
        work[a + e] = work[b + c + e]
        work[b + c + e] = (s + work[b + c + e]) * abs(work[int(data[D.W_TWIST]) + e])
    for e in range(friction_elements(data), m - int(data[D.N_PLAY])):
        if not work[int(data[D.W_TWIST]) + e] > 0.0:  # a loss follows from twists that act
            s = 0.0
            for j in range(m):
                if work[int(data[D.W_TWIST]) + j] > 0.0:
                    s += jac[(c + e) * n + c + j] * work[b + c + j]
            work[b + c + e] -= s * work[int(data[D.W_TWIST]) + e]
    for e in range(m):
        at = int(data[D.W_HEATING]) + e
        change = work[at] * (2.0 / h * work[b + c + e] - work[a + e]) + work[at + m] * work[b + c + e]
        if work[at + 2 * m] != 0.0:
            change += work[at + 2 * m] * across(e, work[b : b + n], data, work)
        work[b + c + m + e] = 0.5 * h * (work[b + c + m + e] + change)


@kernel
def advance(mode, held, h, x, u, p, data, work):
    """One step of the unit's method in place; the start state is kept in the first block of W_STEP."""
    n = int(data[D.N_X])
    a = int(data[D.W_STEP]) + n
    x_stage = work[a : a + n]
    f = work[a + 2 * n : a + 3 * n]
    k = work[a + 3 * n : a + 7 * n]
    b = a + 7 * n
    pivot = b + n
    jac = work[pivot + n : pivot + n + n * n]
    matrix = pivot + n + n * n
    if int(data[D.METHOD]) == ROSENBROCK:
        if data[D.N_LOSS] > 0.0:
            kinematics(2, tilt(x, data), p, data, work)
            right_hand_side(mode, held, x, u, p, data, f, work)
            heating(x, p, data, work)
            if not is_factored(h, x, p, data, work):
                slopes(mode, x, p, data, f, jac, work)
                factor_without_twists(h, jac, data, work, matrix, pivot)
        else:
            linearise(mode, held, x, u, p, data, f, jac, work)
            rosenbrock_matrix(n, h, jac, work, matrix, pivot)
        pieces = int(data[D.W_BOX_Q]) + 5 * int(data[D.N_E])
        for e in range(int(data[D.N_E])):
            work[pieces + e] = side_at(e, data, work)
        for s in range(STAGES):
            if s >= 2:  # the first two stages are at x
                rosenbrock_stage(s, n, x, k, x_stage)
                right_hand_side(mode, held, x_stage, u, p, data, f, work)
                stay_on_sides(data, work)
            if data[D.N_LOSS] > 0.0:
                rosenbrock_side(s, n, h, f, k, work, b)
                solve_with_twists(h, jac, data, work, matrix, pivot, b)
                for i in range(n):
                    k[s * n + i] = work[b + i]
            else:
                rosenbrock_solve(s, n, h, f, k, work, matrix, pivot, b)
        rosenbrock_new(n, x, k)
    else:
        for s in range(STAGES):
            rk4_stage(s, n, h, x, k, x_stage)
            right_hand_side(mode, held, x_stage, u, p, data, f, work)
            for i in range(n):
                k[s * n + i] = f[i]
        rk4_new(n, h, x, k)


@kernel
def stored(x, p, data, work):
    """Energy [J] of gears, contacts and springs at the ports; expects `kinematics`."""
    n_J = int(data[D.N_J])
    E = 0.0
    if data[D.FULL] != 0.0:
        for i in range(n_J):
            E += 0.5 * p[int(data[D.P_J]) + i] * x[i] * x[i]
        for k in range(int(data[D.N_K])):
            E += spring_energy(p[int(data[D.P_K]) + k], x[n_J + k])
    else:
        n_1 = int(data[D.N_1])
        for r in range(n_1):
            for c in range(n_1):
                E += 0.5 * x[r] * work[int(data[D.W_L]) + r * n_1 + c] * x[c]
    for k in range(int(data[D.N_S])):
        E += spring_energy(p[int(data[int(data[D.SPRING]) + 3 * k + 1])], x[int(data[D.X_SPRING]) + k])
    return E


@kernel
def power_of_torques(x, u, data, work):
    """Power [W] into the unit at the ports that take a torque; expects `kinematics`."""
    P = 0.0
    for k in range(int(data[D.N_PORT])):
        row = int(data[D.PORT]) + 3 * k
        if data[row + 2] == 0.0:
            P += u[k] * gear_speed(0, int(data[row]), x, data, work)
    return P


@kernel
def excess(h, E, P, x, u, p, data, work):
    """Energy [J] above what there was and went in after the linearly implicit step that has just ended at `x`, or 0.

    At its start there were the energy `E` [J] and `power_of_torques` `P`; losses count as zero.
    """
    n = int(data[D.N_X])
    start = int(data[D.W_STEP])
    before = work[start : start + n]
    k = work[start + 4 * n : start + 8 * n]
    kinematics(2, tilt(x, data), p, data, work)
    W = 0.5 * h * (P + power_of_torques(x, u, data, work))
    through = abs(W)
    for i in range(int(data[D.N_S])):
        w = u[int(data[int(data[D.SPRING]) + 3 * i])]
        part = w * rosenbrock_integral(int(data[D.X_SPRING]) + i, n, h, before, k)
        W += part
        through += abs(part)
    made = stored(x, p, data, work) - E - W
    return 0.0 if made <= 1e-12 * E + 1e-7 * through else made


@kernel
def keeps_balance(h, E, P, x, u, p, data, work):
    """Take from speeds and forces in `x` what the step has made of energy, see `excess`; False if that is too much.

    Where the torque controller is far from its demand, a step can end far from what its linearisation holds for.
    """
    made = excess(h, E, P, x, u, p, data, work)
    if made == 0.0:
        return True
    share = made / stored(x, p, data, work)
    if not share < MOST_MADE:
        return False
    scale = math.sqrt(1.0 - share)
    speeds = int(data[D.N_J]) + int(data[D.N_K]) if data[D.FULL] != 0.0 else int(data[D.N_1])
    for i in range(speeds):
        x[i] *= scale
    for i in range(int(data[D.N_S])):
        x[int(data[D.X_SPRING]) + i] *= scale
    return True


@kernel
def load_elements(x, u, p, data, work):
    """Bounds of the elements at a state."""
    kinematics(1, tilt(x, data), p, data, work)
    control(FREE, 0.0, x, u, data, work)
    torques(x, u, data, work)
    hold(x, u, p, data, work)


@kernel
def reload_meshes(end, tau, x, p, data, work):
    """Bounds of losses by what their contacts carry at the state `end`, with torques of the elements at ``work[tau:]``.

    Expects W_TAU without elements.
    """
    n_J = int(data[D.N_J])
    n_1 = int(data[D.N_1])
    n_E = int(data[D.N_E])
    for a in range(int(data[D.N_LOSS])):
        k = loaded(a, data)
        F = 0.0
        if data[D.FULL] != 0.0:
            play = play_of(k, data)
            F = end[n_J + k] if play < 0 else work[tau + play]
        else:
            force = int(data[D.W_BY_TORQUE]) + a * (n_J + n_1)
            for i in range(n_J):
                F += work[force + i] * work[int(data[D.W_TAU]) + i]
            for i in range(n_1):
                F += work[force + n_J + i] * end[i]
            for e in range(n_E):
                F += work[int(data[D.W_BY_ELEMENT]) + a * n_E + e] * work[tau + e]
        work[int(data[D.W_LOAD]) + k] = F
    load_meshes(x, p, data, work)


@kernel
def stick_or_slip(h, x, u, p, data, work):
    """One step of the implicit Euler method in place, with all elements' torques; whether these were found."""
    n = int(data[D.N_X])
    m = int(data[D.N_E])
    a = int(data[D.W_STEP]) + n
    f = work[a + 2 * n : a + 3 * n]
    change = a + 7 * n
    pivot = change + n
    jac = work[pivot + n : pivot + n + n * n]
    matrix = pivot + n + n * n
    Z = int(data[D.W_Z])
    A = int(data[D.W_BOX])
    q = int(data[D.W_BOX_Q])
    tau = q + 3 * m
    side = q + 4 * m
    scratch = int(data[D.W_BOX_SCRATCH])
    linearise(OPEN, 0.0, x, u, p, data, f, jac, work)
    rosenbrock_matrix(n, 2.0 * h, jac, work, matrix, pivot)
    work[int(data[D.W_KEY])] = 0.0
    for i in range(n):
        work[change + i] = f[i]
    lu_solve(n, work, matrix, pivot, change)
    for e in range(m):
        clear(Z + e * n, n, work)
        for i in range(int(data[D.N_J]) if data[D.FULL] != 0.0 else int(data[D.N_1])):
            work[Z + e * n + i] = work[response_of(e, data) + i]
        lu_solve(n, work, matrix, pivot, Z + e * n)
        for c in range(m):
            work[A + c * m + e] = across(c, work[Z + e * n : Z + e * n + n], data, work)
    for e in range(m):
        row = place(e, data)
        at = int(data[row + Element.P])
        dw = across(e, x, data, work)
        free = dw + across(e, work[change : change + n], data, work)
        work[q + 5 * m + e] = dw
        if is_play(e, data):
            x[int(data[D.X_HEAT]) + e] += element_energy(e, x, p, data)
            work[q + 6 * m + e] = free
            far = travel(e, x, p, data) + h * free
            one = 1.0 if play_load(e, 1.0, far, h, x, p, data) > 0.0 else -1.0
            S = play_row(e, one, h, x, p, data, work)
        else:
            S = 1.0 / (h * p[at + 1] + p[at + 2])
            work[q + e] = free + S * p[at + 1] * x[int(data[D.X_PHI]) + e]
            work[q + m + e] = bound(e, -1.0, data, work)
            work[q + 2 * m + e] = bound(e, 1.0, data, work)
            work[side + e] = piece(e, x, p, data, work)
        work[A + e * m + e] += S
    found = False
    for turn in range(LOADINGS):
        if not found and (turn < SIDES or data[D.N_LOSS] > 0.0):
            found = boxed(m, work, A, q, q + m, q + 2 * m, tau, side, scratch, scratch + m * m + m)
            for e in range(m - int(data[D.N_PLAY]), m):
                other = -1.0 if work[q + m + e] == 0.0 else 1.0
                v = work[q + 6 * m + e]
                for c in range(m):
                    v -= across(e, work[Z + c * n : Z + c * n + n], data, work) * work[tau + c]
                if play_load(e, other, travel(e, x, p, data) + h * v, h, x, p, data) > 0.0:
                    play_row(e, other, h, x, p, data, work)
                    found = False
            for i in range(int(data[D.X_PHI])):
                work[a + i] = x[i] + work[change + i]
                for e in range(m):
                    work[a + i] -= work[Z + e * n + i] * work[tau + e]
            if data[D.N_LOSS] > 0.0 and turn + 1 < LOADINGS:
                reload_meshes(work[a : a + n], tau, x, p, data, work)
                share = 1.0 if turn < SIDES else 0.5  # where the loss of a mesh relieves it much, bounds go to and fro
                for e in range(friction_elements(data), m - int(data[D.N_PLAY])):
                    for i in range(2):
                        bounds = q + (2 - i) * m + e
                        by = bound(e, 1.0 - 2.0 * i, data, work) - work[bounds]
                        if abs(by) > SAME * abs(work[bounds]):
                            work[bounds] += share * by
                            found = False
    for i in range(int(data[D.X_PHI])):
        x[i] = work[a + i]
    for e in range(m):
        dw = across(e, x, data, work)
        done = 0.5 * h * work[tau + e] * (work[q + 5 * m + e] + dw)
        if is_play(e, data):
            x[int(data[D.X_PHI]) + e] = play_lead(e, work[tau + e], h, x, p, data)
            x[int(data[D.X_HEAT]) + e] += done - element_energy(e, x, p, data)
        else:
            at = int(data[place(e, data) + Element.P])
            old = x[int(data[D.X_PHI]) + e]
            slips = (p[at + 2] * old + h * work[tau + e]) / (p[at + 2] + h * p[at + 1])
            x[int(data[D.X_PHI]) + e] = old + h * dw if work[side + e] == 0.0 else slips
            book_heat(e, done + 0.5 * p[at + 1] * old * old, x, p, data)
    return found


@kernel
def book_heat(e, energy, x, p, data):
    """Add to the heat of an element what its twist does not store of an energy [J]; heat never becomes less.

    It would where faces come to rest within a step: by what they took while they still turned the other way.
    """
    heat = energy - element_energy(e, x, p, data)
    if heat > 0.0:
        x[int(data[D.X_HEAT]) + e] += heat


@kernel
def book_play(e, h, x, p, data, work):
    """Heat of pressed teeth over a smooth step: their work, by the impulse on the gears, less what they store.

    So power is balanced to rounding where the step damps what it does not resolve.
    """
    n = int(data[D.N_X])
    before = work[int(data[D.W_STEP]) : int(data[D.W_STEP]) + n]
    k = work[int(data[D.W_STEP]) + 4 * n : int(data[D.W_STEP]) + 8 * n]
    K = p[int(data[D.P_K]) + contact_of(e, data)]
    K_2 = play_spring(e, p, data)
    impulse = 0.0
    side = piece(e, x, p, data, work)
    if side != 0.0:
        s = rosenbrock_integral(int(data[D.N_J]) + contact_of(e, data), n, h, before, k) / K
        impulse = (K + K_2) * (s - h * side * 0.5 * p[int(data[place(e, data) + Element.P])])
        impulse -= K_2 * rosenbrock_integral(int(data[D.X_PHI]) + e, n, h, before, k)
    v = 0.5 * (across(e, before, data, work) + across(e, x, data, work))
    made = element_energy(e, x, p, data) - element_energy(e, before, p, data)
    x[int(data[D.X_HEAT]) + e] = before[int(data[D.X_HEAT]) + e] + impulse * v - made


@kernel
def smooth(h, x, u, p, data, work):
    """One step of the unit's method in place; whether all elements end on their pieces. If not, `x` is as it was.

    Bounds and torques are those of `x` behind it.
    """
    n = int(data[D.N_X])
    m = int(data[D.N_E])
    start = int(data[D.W_STEP])
    pieces = int(data[D.W_BOX_Q]) + 5 * m
    for i in range(n):
        work[start + i] = x[i]
    advance(FREE, 0.0, h, x, u, p, data, work)
    load_elements(x, u, p, data, work)
    same = True
    for e in range(m):
        if side_at(e, data, work) != work[pieces + e]:
            same = False
    for i in range(n):
        if not abs(x[i]) < HUGE:
            same = False
    if same:
        before = work[start : start + n]
        for e in range(m):
            heat = int(data[D.X_HEAT]) + e
            if is_play(e, data):
                book_play(e, h, x, p, data, work)
            elif e < friction_elements(data) and work[pieces + e] != 0.0:
                done = 0.5 * h * work[int(data[D.W_FACE]) + 3 * e + 1]
                done *= across(e, before, data, work) + work[int(data[D.W_FACE]) + 3 * e]
                x[heat] = before[heat]
                book_heat(e, done + element_energy(e, before, p, data), x, p, data)
            elif not x[heat] > before[heat]:
                x[heat] = before[heat]
    else:
        for i in range(n):
            x[i] = work[start + i]
        load_elements(x, u, p, data, work)
    return same


@kernel
def around_touches(h, x, u, p, data, work):
    """A step that is not smooth, of a unit with play: the first changes are looked for by bisection.

    What is left of a step behind the last one is of the implicit Euler method. Returns whether all torques were found.
    """
    found = True
    done = 0.0
    for _ in range(TOUCHES):
        if done < 1.0:
            part = 1.0 - done
            for _again in range(BISECTIONS):
                part *= 0.5
                if smooth(part * h, x, u, p, data, work):
                    done += part
            found = stick_or_slip(part * h, x, u, p, data, work) and found
            done += part
            if done < 1.0 and smooth((1.0 - done) * h, x, u, p, data, work):
                done = 1.0
    return found if done == 1.0 else stick_or_slip((1.0 - done) * h, x, u, p, data, work) and found


@kernel
def next_stick(h, x, u, p, data, work):
    """Share of a step behind which the first faces come to stick, to first order, 1 if none; expects `load_elements`.

    What they would carry if they stuck comes down to their bound there.
    """
    a = int(data[D.W_STEP]) + int(data[D.N_X])
    f = work[a : a + int(data[D.N_X])]
    right_hand_side(FREE, 0.0, x, u, p, data, f, work)
    share = 1.0
    for e in range(friction_elements(data)):
        side = piece(e, x, p, data, work)
        if side != 0.0 and bound(e, -1.0, data, work) < bound(e, 1.0, data, work):
            above = side * (stuck_torque(e, x, p, data, work) - carried(e, x, p, data, work))
            falls = -side * stuck_torque(e, f, p, data, work)
            if above < share * h * falls:
                share = above / (h * falls)
    return share


@kernel
def around_sticks(h, x, u, p, data, work):
    """A step that is not smooth: smooth up to where faces come to stick, then of the implicit Euler method.

    Faces that stick over a whole step take work at the speed of its start. Returns whether all torques were found.
    """
    left = h
    found = True
    for _ in range(STICKS):
        share = next_stick(left, x, u, p, data, work)
        if share < 1.0:
            part = NEARLY * share * left
            if not (part > BRIEF * h and smooth(part, x, u, p, data, work)):
                part = 2.0 * part + BRIEF * h
                part = part if part < left else left
                found = stick_or_slip(part, x, u, p, data, work) and found
                load_elements(x, u, p, data, work)
            left -= part
    if not left > 0.0 or smooth(left, x, u, p, data, work):
        return found
    return stick_or_slip(left, x, u, p, data, work) and found


@kernel
def step_of_elements(h, x, u, p, data, work):
    """One internal step of a unit with elements in place; 1 if a limit is active."""
    limited = 0
    if not smooth(h, x, u, p, data, work):
        if data[D.N_PLAY] > 0.0:
            found = around_touches(h, x, u, p, data, work)
        else:
            found = around_sticks(h, x, u, p, data, work)
        load_elements(x, u, p, data, work)
        if not found:
            limited = 1
    for e in range(int(data[D.N_E])):
        row = place(e, data)
        if data[row + Element.U] >= 0.0:
            share = u[int(data[row + Element.U])]
            if share < 0.0 or share > 1.0:
                limited = 1
        if x[int(data[D.X_HEAT]) + e] > MOST_HEAT:
            x[int(data[D.X_HEAT]) + e] = MOST_HEAT
            limited = 1
    return limited


@kernel
def tilted(h, x, u, p, data, work):
    """A step of a unit that moves, from the state at W_STEP; 1 if a limit held the rate, see `rtcvt.control.limits`."""
    n = int(data[D.N_X])
    start = int(data[D.W_STEP])
    o = int(data[D.W_CONTROL])
    theta = tilt(x, data)
    kinematics(2, theta, p, data, work)
    control(FREE, 0.0, x, u, data, work)
    law = work[o + RATE]
    low = work[o + LOW]
    high = work[o + HIGH]
    guarded = int(data[D.CONTROL]) == Control.KERS and int(data[D.METHOD]) == ROSENBROCK
    E = stored(x, p, data, work) if guarded else 0.0
    P = power_of_torques(x, u, data, work) if guarded else 0.0
    advance(FREE, 0.0, h, x, u, p, data, work)
    rate = (tilt(x, data) - theta) / h
    if rate >= low and rate <= high and (not guarded or keeps_balance(h, E, P, x, u, p, data, work)):
        return 0
    if not abs(rate) < HUGE or (rate >= low and rate <= high):  # too far from equilibrium for a linearly implicit step
        rate = law
    if (law < low and rate > high) or (law > high and rate < low):
        # linearised at a rate that cannot be, the step went the wrong way if the law insists after a step at its bound
        held = low if law < low else high
        for i in range(n):
            x[i] = work[start + i]
        advance(HELD, held, h, x, u, p, data, work)
        kinematics(2, tilt(x, data), p, data, work)
        control(FREE, 0.0, x, u, data, work)
        insists = work[o + RATE] < work[o + LOW] if law < low else work[o + RATE] > work[o + HIGH]
        work[o + RATE] = held
        if insists:
            return 1
    for i in range(n):
        x[i] = work[start + i]
    held = rate
    if rate < low:
        held = low
    elif rate > high:
        held = high
    advance(HELD, held, h, x, u, p, data, work)
    return 1


@kernel
def substep(h, x, u, p, data, work):
    """Advance by one internal step; returns 1 if a limit is active, plus `COARSE` if it is too coarse.

    The last stage of the linearly implicit method is its error: without it, it is of order 2.
    """
    n = int(data[D.N_X])
    start = int(data[D.W_STEP])
    sizes = int(data[D.SIZES])
    error = start + 7 * n
    for i in range(n):
        work[start + i] = x[i]
    if data[D.N_E] > 0.0:
        return step_of_elements(h, x, u, p, data, work)
    if data[D.MOVING] == 0.0:
        advance(FREE, 0.0, h, x, u, p, data, work)
        return 0
    before = work[start : start + n]
    limited = 0
    coarse = 0
    part = 1.0
    left = 1.0
    for _ in range(MOST_TRIALS):
        limited = tilted(h * part, x, u, p, data, work)
        again = rough(ROUGH, n, work[error : error + n], data[sizes : sizes + n], before)
        again = again and int(data[D.METHOD]) == ROSENBROCK
        if again and part > LEAST_PART:
            part *= FINER
            for i in range(n):
                x[i] = before[i]
        else:
            if again:
                coarse = COARSE
            left -= part
            if left == 0.0:
                break
            for i in range(n):
                before[i] = x[i]
    return limited + coarse


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own."""
    n = int(data[D.N_X])
    n_y = int(data[D.N_Y])
    at = int(data[D.W_SAVED])
    saved = work[at : at + n]
    steps = enter(t, h, data[D.INTERNAL_STEP], int(data[D.N_U]), u, n, x, saved)
    if steps == 0:
        return FAILED
    limited = 0
    saturated = 0
    coarse = 0
    for _ in range(steps):
        limited = substep(h / steps, x, u, p, data, work)
        if limited >= COARSE:
            limited -= COARSE
            coarse = 1
        saturated = limited if data[D.N_E] == 0.0 or limited == 1 else saturated
    y_new = work[at + n : at + n + n_y]
    mode = HELD if limited == 1 else FREE
    write_outputs(data[D.N_E], mode, work[int(data[D.W_CONTROL]) + RATE], x, u, p, data, y_new, work)
    if coarse == 1:
        y_new[int(data[D.Y_LIMITED]) + 1] = 1.0
    status = leave(True, n, x, saved, n_y, y_new, y)
    return SATURATED if status != FAILED and saturated + coarse > 0 else status
