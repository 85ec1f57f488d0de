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

from rtcvt.control.kers import STORAGE, TAU_FILTER, kers_law
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
)
from rtcvt.control.position import position_law
from rtcvt.elementary import cos, sin
from rtcvt.integrators import (
    ROSENBROCK,
    STAGES,
    rk4_new,
    rk4_stage,
    rosenbrock_matrix,
    rosenbrock_new,
    rosenbrock_solve,
    rosenbrock_stage,
)
from rtcvt.kernel import FAILED, OK, SATURATED, kernel
from rtcvt.linalg import lu, lu_solve, lu_solve_transposed
from rtcvt.pog.layout import (
    ADD,
    CONSTANT,
    CONTROL,
    COS,
    DIV,
    ENTRY,
    ENTRY_END,
    ENTRY_FIXED,
    FRICTION,
    FULL,
    INTERNAL_STEP,
    KERS,
    METHOD,
    MOVING,
    MUL,
    N_1,
    N_FRICTION,
    N_J,
    N_K,
    N_PORT,
    N_S,
    N_X,
    N_Y,
    NEG,
    NO_CONTROL,
    ORDER,
    OWN_PORT,
    P_B,
    P_CONTROL,
    P_D,
    P_J,
    P_K,
    P_THETA_START,
    PORT,
    POSITION,
    SIN,
    SPRING,
    SQRT,
    START,
    SUB,
    TAPE,
    TAPE_END,
    TAPE_FIXED,
    THETA,
    W_A,
    W_C,
    W_CONTROL,
    W_L,
    W_L_PIVOT,
    W_M,
    W_OMEGA,
    W_Q,
    W_R,
    W_RD,
    W_RD_PIVOT,
    W_REGISTER,
    W_SAVED,
    W_STEP,
    W_TAU,
    W_THETA,
    W_V,
    X_OWN,
    X_POWER,
    X_SPRING,
    X_THETA,
)

__all__ = ["derivative", "friction_torques", "initialise", "jacobian", "kinematics", "output", "prepare", "step"]

HUGE = 1e12  # beyond this [SI], as for Inf and NaN, a number is no state or input
SINGULAR = 1e-12  # smallest ratio of pivots of R_D
MOST_STEPS = 1e6  # internal steps in one communication step


# --- geometry: R and Q1 with their derivatives to theta ---------------------------------------------------------------


@kernel
def run_tape(first, last, theta, p, work):
    """Compute registers `first` to `last` - 1, each with its two derivatives to theta."""
    tape = int(p[TAPE])
    registers = int(p[W_REGISTER])
    for k in range(first, last):
        op = int(p[tape + 3 * k])
        one = int(p[tape + 3 * k + 1])
        a = registers + 3 * one
        b = registers + 3 * int(p[tape + 3 * k + 2])
        o = registers + 3 * k
        if op == CONSTANT:
            work[o] = p[one]
            work[o + 1] = 0.0
            work[o + 2] = 0.0
        elif op == THETA:
            work[o] = theta
            work[o + 1] = 1.0
            work[o + 2] = 0.0
        elif op == ADD:
            for i in range(3):
                work[o + i] = work[a + i] + work[b + i]
        elif op == SUB:
            for i in range(3):
                work[o + i] = work[a + i] - work[b + i]
        elif op == MUL:
            work[o] = work[a] * work[b]
            work[o + 1] = work[a + 1] * work[b] + work[a] * work[b + 1]
            work[o + 2] = work[a + 2] * work[b] + 2.0 * work[a + 1] * work[b + 1] + work[a] * work[b + 2]
        elif op == DIV:
            work[o] = work[a] / work[b]
            work[o + 1] = (work[a + 1] - work[o] * work[b + 1]) / work[b]
            work[o + 2] = (work[a + 2] - 2.0 * work[o + 1] * work[b + 1] - work[o] * work[b + 2]) / work[b]
        elif op == NEG:
            for i in range(3):
                work[o + i] = -work[a + i]
        elif op == SIN or op == COS:
            s = sin(work[a])
            c = cos(work[a])
            f = s if op == SIN else c
            df = c if op == SIN else -s
            work[o] = f
            work[o + 1] = df * work[a + 1]
            work[o + 2] = df * work[a + 2] - f * work[a + 1] * work[a + 1]
        elif op == SQRT:
            work[o] = math.sqrt(work[a])
            work[o + 1] = 0.5 * work[a + 1] / work[o]
            work[o + 2] = (0.5 * work[a + 2] - work[o + 1] * work[o + 1]) / work[o]


@kernel
def load_entries(first, last, p, work):
    """Copy registers into R and R'."""
    entry = int(p[ENTRY])
    n_J = int(p[N_J])
    size = int(p[N_K]) * n_J
    for k in range(first, last):
        place = int(p[W_R]) + int(p[entry + 3 * k]) * n_J + int(p[entry + 3 * k + 1])
        register = int(p[W_REGISTER]) + 3 * int(p[entry + 3 * k + 2])
        work[place] = work[register]
        work[place + size] = work[register + 1]


@kernel
def friction_torques(omega, stride, p, tau):
    """``B_J omega`` (Algorithm 2) of the speeds at ``omega[0], omega[stride], ...``, into `tau`."""
    for i in range(int(p[N_J])):
        tau[i] = p[int(p[P_B]) + i] * omega[i * stride]
    for k in range(int(p[N_FRICTION])):
        row = int(p[FRICTION]) + 4 * k
        i = int(p[row])
        j = int(p[row + 1])
        tau_ij = p[int(p[row + 3])] * (omega[i * stride] + p[row + 2] * omega[j * stride])
        tau[i] += tau_ij
        tau[j] += p[row + 2] * tau_ij


@kernel
def solve_speeds(derivatives, p, work):
    """Q1 and its first `derivatives` derivatives from those of R; leaves the LU of R_D behind."""
    n_J = int(p[N_J])
    n_K = int(p[N_K])
    n_1 = int(p[N_1])
    order = int(p[ORDER])
    entry = int(p[ENTRY])
    register = int(p[W_REGISTER])
    R = int(p[W_R])
    Q = int(p[W_Q])
    RD = int(p[W_RD])
    pivot = int(p[W_RD_PIVOT])
    v = int(p[W_V])
    for k in range(n_K):
        for j in range(n_K):
            work[RD + k * n_K + j] = work[R + k * n_J + int(p[order + j])]
    lu(n_K, work, RD, pivot)
    for c in range(n_1):
        own = int(p[order + n_K + c])
        for d in range(derivatives + 1):
            Q_d = Q + d * n_J * n_1 + c
            if d == 0:
                for k in range(n_K):
                    work[v + k] = -work[R + k * n_J + own]
            else:
                for k in range(n_K):
                    work[v + k] = 0.0
                for k in range(int(p[ENTRY_FIXED]), int(p[ENTRY_END])):  # no other entry has derivatives
                    column = int(p[entry + 3 * k + 1]) * n_1
                    dR = register + 3 * int(p[entry + 3 * k + 2]) + 1
                    s = d * work[dR] * work[Q_d - n_J * n_1 + column]
                    if d == 2:
                        s += work[dR + 1] * work[Q + c + column]
                    work[v + int(p[entry + 3 * k])] -= s
            lu_solve(n_K, work, RD, pivot, v)
            for j in range(n_K):
                work[Q_d + int(p[order + j]) * n_1] = work[v + j]


@kernel
def reduced_matrices(derivatives, p, work):
    """L1, Q1' J Q1' and A1, eq. (10), if `derivatives` is 2 also the derivatives of the latter two to theta.

    Leaves the LU of L1 behind.
    """
    n_J = int(p[N_J])
    n_1 = int(p[N_1])
    size = n_J * n_1
    square = n_1 * n_1
    J = int(p[P_J])
    Q = int(p[W_Q])
    L = int(p[W_L])
    M = int(p[W_M])
    A = int(p[W_A])
    B_q = int(p[W_V])
    B_dq = int(p[W_C])
    for c in range(n_1):
        friction_torques(work[Q + c : Q + size], n_1, p, work[B_q : B_q + n_J])
        if derivatives == 2:
            friction_torques(work[Q + size + c : Q + 2 * size], n_1, p, work[B_dq : B_dq + n_J])
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
            work[L + at] = l_rc
            work[L + square + at] = l_rc
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
    lu(n_1, work, L + square, int(p[W_L_PIVOT]))


@kernel
def kinematics(derivatives, theta, p, work):
    """Bring R, Q1 and the reduced matrices to `theta` [rad], if they are not there yet.

    One of the `derivatives` gives the rates, a second the Jacobian.
    """
    at = int(p[W_THETA])
    if work[at] == theta and work[at + 1] >= derivatives:
        return
    run_tape(int(p[TAPE_FIXED]), int(p[TAPE_END]), theta, p, work)
    load_entries(int(p[ENTRY_FIXED]), int(p[ENTRY_END]), p, work)
    solve_speeds(derivatives, p, work)
    reduced_matrices(derivatives, p, work)
    work[at] = theta
    work[at + 1] = derivatives


@kernel
def prepare(p, work):
    """What depends on parameters alone: the fixed part of R, and the rows of Q1 of independent speeds."""
    for i in range(int(p[W_STEP])):
        work[i] = 0.0
    run_tape(0, int(p[TAPE_FIXED]), 0.0, p, work)
    load_entries(0, int(p[ENTRY_FIXED]), p, work)
    n_1 = int(p[N_1])
    for c in range(n_1):
        work[int(p[W_Q]) + int(p[int(p[ORDER]) + int(p[N_K]) + c]) * n_1 + c] = 1.0
    work[int(p[W_THETA])] = HUGE  # nowhere yet


# --- parts that both models share ------------------------------------------------------------------------------------


@kernel
def tilt(x, p):
    """The moving variable theta [rad], 0 if nothing moves."""
    return x[int(p[X_THETA])] if p[MOVING] != 0.0 else 0.0


@kernel
def gear_speed(d, gear, x, p, work):
    """Speed of a gear [rad/s] (d = 0), or its derivative to theta (d = 1)."""
    if p[FULL] != 0.0:
        return x[gear] if d == 0 else 0.0
    n_1 = int(p[N_1])
    Q = int(p[W_Q]) + (d * int(p[N_J]) + gear) * n_1
    s = 0.0
    for c in range(n_1):
        s += work[Q + c] * x[c]
    return s


@kernel
def torques(x, u, p, work):
    """Torques on the gears from inputs and springs at the ports [N.m], into W_TAU."""
    tau = int(p[W_TAU])
    for i in range(int(p[N_J])):
        work[tau + i] = 0.0
    for k in range(int(p[N_PORT])):
        row = int(p[PORT]) + 3 * k
        first = int(p[X_SPRING]) + int(p[row + 1])
        springs = int(p[row + 2])
        s = u[k] if springs == 0 else 0.0
        for i in range(first, first + springs):
            s += x[i]
        work[tau + int(p[row])] = s


@kernel
def control(mode, held, x, u, p, work):
    """``theta'`` from the unit's controller within its limits, into W_CONTROL; 0 if nothing moves."""
    o = int(p[W_CONTROL])
    c = int(p[P_CONTROL])
    kind = int(p[CONTROL])
    theta = tilt(x, p)
    if kind == NO_CONTROL:
        for i in range(CONTROL_SIZE):
            work[o + i] = 0.0
    elif kind == POSITION:
        position_law(p, c, theta, u[int(p[N_PORT])], work, o)
    elif kind == KERS:
        size = int(p[N_J])  # n_1 is 1
        q = int(p[W_Q]) + int(p[c + STORAGE])
        A = int(p[W_A])
        kers_law(
            p,
            c,
            x[int(p[X_OWN])],
            theta,
            x[int(p[X_POWER])],
            u[int(p[OWN_PORT])],
            u[int(p[N_PORT])],
            work[A],
            work[A + 1],
            work[q],
            work[q + size],
            work[q + 2 * size],
            work,
            o,
        )
    if kind != NO_CONTROL:
        apply_limits(mode, held, work, o)


@kernel
def shared_derivative(x, u, p, dx, work):
    """Rates of the springs at the ports, theta and the filtered power; expects `control` and the speeds' rates.

    A spring c between a flange and a gear: ``tau' = c (w - omega)``; with a damper d in series, ``... - (c/d) tau``.
    """
    for k in range(int(p[N_S])):
        row = int(p[SPRING]) + 3 * k
        port = int(p[row])
        c = p[int(p[row + 1])]
        at = int(p[X_SPRING]) + k
        dx[at] = c * (u[port] - gear_speed(0, int(p[int(p[PORT]) + 3 * port]), x, p, work))
        if p[row + 2] >= 0.0:
            dx[at] -= c / p[int(p[row + 2])] * x[at]
    if p[MOVING] != 0.0:
        dx[int(p[X_THETA])] = work[int(p[W_CONTROL]) + RATE]
    if int(p[CONTROL]) == KERS:
        own = int(p[X_OWN])
        at = int(p[X_POWER])
        omega = x[own]
        power = omega * (work[int(p[W_L])] * dx[own] + work[int(p[W_M])] * omega * dx[int(p[X_THETA])])  # dE/dt
        dx[at] = (power - x[at]) / p[int(p[P_CONTROL]) + TAU_FILTER]


@kernel
def shared_jacobian(x, p, dx, jac, work):
    """Rows of the springs at the ports, theta and the filtered power; expects `control`, `dx` and the speeds' rows."""
    n = int(p[N_X])
    n_1 = int(p[N_1])
    theta = int(p[X_THETA])
    for k in range(int(p[N_S])):
        row = int(p[SPRING]) + 3 * k
        gear = int(p[int(p[PORT]) + 3 * int(p[row])])
        c = p[int(p[row + 1])]
        at = int(p[X_SPRING]) + k
        if p[FULL] != 0.0:
            jac[at * n + gear] = -c
        else:
            for i in range(n_1):
                jac[at * n + i] = -c * work[int(p[W_Q]) + gear * n_1 + i]
        if p[MOVING] != 0.0:
            jac[at * n + theta] = -c * gear_speed(1, gear, x, p, work)
        if p[row + 2] >= 0.0:
            jac[at * n + at] = -c / p[int(p[row + 2])]
    if p[MOVING] != 0.0:
        jac[theta * n + theta] = work[int(p[W_CONTROL]) + D_THETA]
    if int(p[CONTROL]) == KERS:
        own = int(p[X_OWN])
        at = int(p[X_POWER])
        omega = x[own]
        rate = work[int(p[W_CONTROL]) + RATE]
        L = work[int(p[W_L])]
        M = work[int(p[W_M])]
        inverse = 1.0 / p[int(p[P_CONTROL]) + TAU_FILTER]
        jac[theta * n + own] = work[int(p[W_CONTROL]) + D_OMEGA]
        jac[theta * n + at] = work[int(p[W_CONTROL]) + D_POWER]
        for j in range(n):
            jac[at * n + j] = omega * (L * jac[own * n + j] + M * omega * jac[theta * n + j]) * inverse
        jac[at * n + own] += (L * dx[own] + 2.0 * M * omega * rate) * inverse
        jac[at * n + theta] += omega * (2.0 * M * dx[own] + work[int(p[W_M]) + 1] * omega * rate) * inverse
        jac[at * n + at] -= inverse


# --- full elastic model, eq. (2) --------------------------------------------------------------------------------------


@kernel
def contact_speeds(d, x, p, work, v):
    """``R omega`` (d = 0) or ``R' omega`` (d = 1) of the full model [m/s], into ``work[v:]``."""
    n_J = int(p[N_J])
    n_K = int(p[N_K])
    R = int(p[W_R]) + d * n_K * n_J
    for k in range(n_K):
        s = 0.0
        for i in range(n_J):
            s += work[R + k * n_J + i] * x[i]
        work[v + k] = s


@kernel
def full_derivative(x, u, p, dx, work):
    """Eq. (2): ``J omega' = tau - B_J omega - R'(F + B_K R omega)``, ``F' = K R omega``."""
    n_J = int(p[N_J])
    n_K = int(p[N_K])
    R = int(p[W_R])
    B_omega = int(p[W_C])
    v = int(p[W_V])
    contact_speeds(0, x, p, work, v)
    friction_torques(x, 1, p, work[B_omega : B_omega + n_J])
    for i in range(n_J):
        s = work[int(p[W_TAU]) + i] - work[B_omega + i]
        for k in range(n_K):
            s -= work[R + k * n_J + i] * (x[n_J + k] + p[int(p[P_D]) + k] * work[v + k])
        dx[i] = s / p[int(p[P_J]) + i]
    for k in range(n_K):
        dx[n_J + k] = p[int(p[P_K]) + k] * work[v + k]


@kernel
def full_jacobian(x, p, jac, work):
    """Rows of omega and F of the full model."""
    n = int(p[N_X])
    n_J = int(p[N_J])
    n_K = int(p[N_K])
    R = int(p[W_R])
    dR = R + n_K * n_J
    D = int(p[P_D])
    v = int(p[W_V])
    dv = int(p[W_C])
    theta = int(p[X_THETA])
    contact_speeds(0, x, p, work, v)
    contact_speeds(1, x, p, work, dv)
    for i in range(n_J):
        J_i = p[int(p[P_J]) + i]
        for j in range(n_J):
            s = 0.0
            for k in range(n_K):
                s += work[R + k * n_J + i] * p[D + k] * work[R + k * n_J + j]
            jac[i * n + j] = -s / J_i
        jac[i * n + i] -= p[int(p[P_B]) + i] / J_i
        s = 0.0
        for k in range(n_K):
            jac[i * n + n_J + k] = -work[R + k * n_J + i] / J_i
            s += work[dR + k * n_J + i] * (x[n_J + k] + p[D + k] * work[v + k])
            s += work[R + k * n_J + i] * p[D + k] * work[dv + k]
        if p[MOVING] != 0.0:
            jac[i * n + theta] = -s / J_i
    for k in range(int(p[N_FRICTION])):
        row = int(p[FRICTION]) + 4 * k
        i = int(p[row])
        j = int(p[row + 1])
        b_i = p[int(p[row + 3])] / p[int(p[P_J]) + i]
        b_j = p[int(p[row + 3])] / p[int(p[P_J]) + j]
        jac[i * n + i] -= b_i
        jac[i * n + j] -= p[row + 2] * b_i
        jac[j * n + i] -= p[row + 2] * b_j
        jac[j * n + j] -= b_j
    for k in range(int(p[N_S])):
        gear = int(p[int(p[PORT]) + 3 * int(p[int(p[SPRING]) + 3 * k])])
        jac[gear * n + int(p[X_SPRING]) + k] = 1.0 / p[int(p[P_J]) + gear]
    for k in range(n_K):
        K_k = p[int(p[P_K]) + k]
        for j in range(n_J):
            jac[(n_J + k) * n + j] = K_k * work[R + k * n_J + j]
        if p[MOVING] != 0.0:
            jac[(n_J + k) * n + theta] = K_k * work[dv + k]


# --- rigid model, eqs. (9) and (10) -----------------------------------------------------------------------------------


@kernel
def rigid_derivative(x, u, p, dx, work):
    """Eq. (9): ``L1 x1' = B1 tau + (A1 - N1) x1`` with ``N1 = M theta'``."""
    n_J = int(p[N_J])
    n_1 = int(p[N_1])
    Q = int(p[W_Q])
    M = int(p[W_M])
    A = int(p[W_A])
    L = int(p[W_L])
    b = int(p[W_V])
    rate = work[int(p[W_CONTROL]) + RATE]
    for r in range(n_1):
        s = 0.0
        for i in range(n_J):
            s += work[Q + i * n_1 + r] * work[int(p[W_TAU]) + i]
        for c in range(n_1):
            s += (work[A + r * n_1 + c] - rate * work[M + r * n_1 + c]) * x[c]
        work[b + r] = s
    lu_solve(n_1, work, L + n_1 * n_1, int(p[W_L_PIVOT]), b)
    for r in range(n_1):
        dx[r] = work[b + r]


@kernel
def store_column(column, n, n_1, p, jac, work, b):
    """``L1^-1`` times the vector at ``work[b]`` becomes a column of the Jacobian."""
    lu_solve(n_1, work, int(p[W_L]) + n_1 * n_1, int(p[W_L_PIVOT]), b)
    for r in range(n_1):
        jac[r * n + column] = work[b + r]


@kernel
def rigid_jacobian(x, p, dx, jac, work):
    """Rows of x1 of the rigid model; expects `control`, `torques` and the rates `dx`."""
    n = int(p[N_X])
    n_J = int(p[N_J])
    n_1 = int(p[N_1])
    Q = int(p[W_Q])
    M = int(p[W_M])
    A = int(p[W_A])
    b = int(p[W_V])
    o = int(p[W_CONTROL])
    Mx = int(p[W_C])
    rate = work[o + RATE]
    theta = int(p[X_THETA])
    for r in range(n_1):
        s = 0.0
        for c in range(n_1):
            s += work[M + r * n_1 + c] * x[c]
        work[Mx + r] = s
    for c in range(n_1):
        for r in range(n_1):
            work[b + r] = work[A + r * n_1 + c] - rate * work[M + r * n_1 + c]
            if int(p[CONTROL]) == KERS:
                work[b + r] -= work[Mx + r] * work[o + D_OMEGA]
        store_column(c, n, n_1, p, jac, work, b)
    for k in range(int(p[N_S])):
        gear = int(p[int(p[PORT]) + 3 * int(p[int(p[SPRING]) + 3 * k])])
        for r in range(n_1):
            work[b + r] = work[Q + gear * n_1 + r]
        store_column(int(p[X_SPRING]) + k, n, n_1, p, jac, work, b)
    if p[MOVING] != 0.0:
        square = n_1 * n_1
        for r in range(n_1):
            s = -work[Mx + r] * work[o + D_THETA]
            for i in range(n_J):
                s += work[Q + n_J * n_1 + i * n_1 + r] * work[int(p[W_TAU]) + i]
            for c in range(n_1):
                at_rc = r * n_1 + c
                s += (work[A + square + at_rc] - rate * work[M + square + at_rc]) * x[c]
                s -= (work[M + at_rc] + work[M + c * n_1 + r]) * dx[c]
            work[b + r] = s
        store_column(theta, n, n_1, p, jac, work, b)
    if int(p[CONTROL]) == KERS:
        for r in range(n_1):
            work[b + r] = -work[Mx + r] * work[o + D_POWER]
        store_column(int(p[X_POWER]), n, n_1, p, jac, work, b)


@kernel
def rigid_speeds(x, p, work, omega):
    """``omega = Q1 x1`` [rad/s], eq. (8), into ``work[omega:]``."""
    n_1 = int(p[N_1])
    for i in range(int(p[N_J])):
        s = 0.0
        for c in range(n_1):
            s += work[int(p[W_Q]) + i * n_1 + c] * x[c]
        work[omega + i] = s


@kernel
def rigid_forces(x, u, p, dx, work, F):
    """Contact forces of the rigid model [N], eq. (11), into ``work[F:]``; expects `rigid_speeds` in W_OMEGA."""
    n_J = int(p[N_J])
    n_K = int(p[N_K])
    n_1 = int(p[N_1])
    Q = int(p[W_Q])
    omega = int(p[W_OMEGA])
    B_omega = int(p[W_V])
    rate = work[int(p[W_CONTROL]) + RATE]
    rigid_derivative(x, u, p, dx, work)
    friction_torques(work[omega : omega + n_J], 1, p, work[B_omega : B_omega + n_J])
    for k in range(n_K):
        i = int(p[int(p[ORDER]) + k])
        acceleration = 0.0
        for c in range(n_1):
            acceleration += work[Q + i * n_1 + c] * dx[c] + rate * work[Q + n_J * n_1 + i * n_1 + c] * x[c]
        work[F + k] = work[int(p[W_TAU]) + i] - p[int(p[P_J]) + i] * acceleration - work[B_omega + i]
    lu_solve_transposed(n_K, work, int(p[W_RD]), int(p[W_RD_PIVOT]), F)


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def initialise(p, u, x, work):
    """Start from the independent speeds, all springs unloaded, the stored energy taken as constant."""
    prepare(p, work)
    theta = p[int(p[P_THETA_START])] if p[MOVING] != 0.0 else 0.0
    kinematics(2, theta, p, work)
    n_K = int(p[N_K])
    n_1 = int(p[N_1])
    smallest = HUGE
    largest = 0.0
    for k in range(n_K):
        pivot = abs(work[int(p[W_RD]) + k * n_K + k])
        smallest = pivot if pivot < smallest else smallest
        largest = pivot if pivot > largest else largest
    if n_K > 0 and not smallest > SINGULAR * largest:
        return FAILED
    n = int(p[N_X])
    for i in range(n):
        x[i] = 0.0
    start = int(p[START])
    if p[FULL] != 0.0:
        for i in range(int(p[N_J])):
            for c in range(n_1):
                x[i] += work[int(p[W_Q]) + i * n_1 + c] * p[int(p[start + c])]
    else:
        for c in range(n_1):
            x[c] = p[int(p[start + c])]
    if p[MOVING] != 0.0:
        x[int(p[X_THETA])] = theta
    dx = work[int(p[W_STEP]) : int(p[W_STEP]) + n]
    derivative(0.0, x, u, p, dx, work)
    for i in range(n):
        if not (abs(x[i]) < HUGE and abs(dx[i]) < HUGE):
            return FAILED
    return OK


@kernel
def right_hand_side(mode, held, x, u, p, dx, work):
    """``f(x, u)`` with the limits of theta applied by `mode`, see `rtcvt.control.limits`."""
    kinematics(1, tilt(x, p), p, work)
    control(mode, held, x, u, p, work)
    torques(x, u, p, work)
    if p[FULL] != 0.0:
        full_derivative(x, u, p, dx, work)
    else:
        rigid_derivative(x, u, p, dx, work)
    shared_derivative(x, u, p, dx, work)


@kernel
def linearise(mode, held, x, u, p, f, jac, work):
    """`right_hand_side` into `f` and its ``df/dx``, row-major."""
    kinematics(2, tilt(x, p), p, work)
    right_hand_side(mode, held, x, u, p, f, work)
    n = int(p[N_X])
    for i in range(n * n):
        jac[i] = 0.0
    if p[FULL] != 0.0:
        full_jacobian(x, p, jac, work)
    else:
        rigid_jacobian(x, p, f, jac, work)
    shared_jacobian(x, p, f, jac, work)


@kernel
def derivative(t, x, u, p, dx, work):
    """Right-hand side of the full or the rigid model with its controller."""
    right_hand_side(CLIPPED, 0.0, x, u, p, dx, work)


@kernel
def jacobian(t, x, u, p, jac, work):
    """Exact ``df/dx``, row-major, inputs held."""
    n = int(p[N_X])
    f = work[int(p[W_STEP]) + 2 * n : int(p[W_STEP]) + 3 * n]
    linearise(CLIPPED, 0.0, x, u, p, f, jac, work)


@kernel
def coupling_outputs(first, x, p, y, at):
    """Stored energy [J] and loss [W] of the coupling whose two springs begin with `first`, into ``y[at:]``."""
    energy = 0.0
    loss = 0.0
    for k in range(first, first + 2):
        row = int(p[SPRING]) + 3 * k
        tau = x[int(p[X_SPRING]) + k]
        energy += 0.5 * tau * tau / p[int(p[row + 1])]
        if p[row + 2] >= 0.0:
            loss += tau * tau / p[int(p[row + 2])]
    y[at] = energy
    y[at + 1] = loss


@kernel
def write_outputs(mode, held, x, u, p, y, work):
    """Ports, controller, stored energy, speeds and contact forces."""
    n = int(p[N_X])
    n_J = int(p[N_J])
    n_K = int(p[N_K])
    omega = int(p[W_OMEGA])
    F = int(p[W_C])
    kinematics(2, tilt(x, p), p, work)  # the next step's Jacobian is here
    control(mode, held, x, u, p, work)
    torques(x, u, p, work)
    energy = 0.0
    if p[FULL] != 0.0:
        for i in range(n_J):
            work[omega + i] = x[i]
        for k in range(n_K):
            work[F + k] = x[n_J + k]
            energy += 0.5 * x[n_J + k] * x[n_J + k] / p[int(p[P_K]) + k]
    else:
        dx = work[int(p[W_STEP]) + 2 * n : int(p[W_STEP]) + 3 * n]
        rigid_speeds(x, p, work, omega)
        rigid_forces(x, u, p, dx, work, F)
    for i in range(n_J):
        energy += 0.5 * p[int(p[P_J]) + i] * work[omega + i] * work[omega + i]
    at = int(p[N_PORT])
    for k in range(int(p[N_PORT])):
        row = int(p[PORT]) + 3 * k
        gear = int(p[row])
        springs = int(p[row + 2])
        y[k] = work[omega + gear] if springs == 0 else work[int(p[W_TAU]) + gear]
        if springs == 2:
            coupling_outputs(int(p[row + 1]), x, p, y, at)
            at += 2
    if int(p[CONTROL]) == KERS:
        y[at] = work[int(p[W_CONTROL]) + TAU_EST]
        at += 1
    if p[MOVING] != 0.0:
        y[at] = tilt(x, p)
        y[at + 1] = work[int(p[W_CONTROL]) + LIMITED]
        at += 2
    y[at] = energy
    for i in range(n_J):
        y[at + 1 + i] = work[omega + i]
    for k in range(n_K):
        y[at + 1 + n_J + k] = work[F + k]


@kernel
def output(t, x, u, p, y, work):
    """Ports, controller, stored energy, speeds and contact forces."""
    write_outputs(CLIPPED, 0.0, x, u, p, y, work)


@kernel
def advance(mode, held, h, x, u, p, work):
    """One step of the unit's method in place; the start state is kept in the first block of W_STEP."""
    n = int(p[N_X])
    a = int(p[W_STEP]) + n
    x_stage = work[a : a + n]
    f = work[a + 2 * n : a + 3 * n]
    k = work[a + 3 * n : a + 7 * n]
    b = a + 7 * n
    pivot = b + n
    jac = work[pivot + n : pivot + n + n * n]
    matrix = pivot + n + n * n
    if int(p[METHOD]) == ROSENBROCK:
        linearise(mode, held, x, u, p, f, jac, work)
        rosenbrock_matrix(n, h, jac, work, matrix, pivot)
        for s in range(STAGES):
            if s >= 2:  # the first two stages are at x
                rosenbrock_stage(s, n, x, k, x_stage)
                right_hand_side(mode, held, x_stage, u, p, f, work)
            rosenbrock_solve(s, n, h, f, k, work, matrix, pivot, b)
        rosenbrock_new(n, x, k)
    else:
        for s in range(STAGES):
            rk4_stage(s, n, h, x, k, x_stage)
            right_hand_side(mode, held, x_stage, u, p, f, work)
            for i in range(n):
                k[s * n + i] = f[i]
        rk4_new(n, h, x, k)


@kernel
def substep(h, x, u, p, work):
    """Advance by one internal step; returns 1 if a limit held the rate of theta, see `rtcvt.control.limits`."""
    n = int(p[N_X])
    start = int(p[W_STEP])
    o = int(p[W_CONTROL])
    for i in range(n):
        work[start + i] = x[i]
    if p[MOVING] == 0.0:
        advance(FREE, 0.0, h, x, u, p, work)
        return 0
    theta = tilt(x, p)
    kinematics(2, theta, p, work)
    control(FREE, 0.0, x, u, p, work)
    law = work[o + RATE]
    low = work[o + LOW]
    high = work[o + HIGH]
    advance(FREE, 0.0, h, x, u, p, work)
    rate = (tilt(x, p) - theta) / h
    if rate >= low and rate <= high:
        return 0
    if not abs(rate) < HUGE:  # too far from equilibrium for a linearly implicit step
        rate = law
    for i in range(n):
        x[i] = work[start + i]
    held = rate
    if rate < low:
        held = low
    elif rate > high:
        held = high
    advance(HELD, held, h, x, u, p, work)
    return 1


@kernel
def step(t, h, x, u, p, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own."""
    n = int(p[N_X])
    for k in range(int(p[N_PORT]) + (1 if int(p[CONTROL]) != NO_CONTROL else 0)):
        if not abs(u[k]) < HUGE:
            return FAILED
    for i in range(n):
        if not abs(x[i]) < HUGE:
            return FAILED
    if not (h > 0.0 and h < MOST_STEPS * p[INTERNAL_STEP]):
        return FAILED
    steps = math.ceil(h / p[INTERNAL_STEP] * (1.0 - 1e-9))
    saved = int(p[W_SAVED])
    for i in range(n):
        work[saved + i] = x[i]
    limited = 0
    for _ in range(steps):
        limited = substep(h / steps, x, u, p, work)
    n_y = int(p[N_Y])
    y_new = work[saved + n : saved + n + n_y]
    write_outputs(HELD if limited == 1 else FREE, work[int(p[W_CONTROL]) + RATE], x, u, p, y_new, work)
    good = True
    for i in range(n):
        if not abs(x[i]) < HUGE:
            good = False
    for i in range(n_y):
        if not abs(y_new[i]) < HUGE * HUGE:
            good = False
    if not good:
        for i in range(n):
            x[i] = work[saved + i]
        return FAILED
    for i in range(n_y):
        y[i] = y_new[i]
    return SATURATED if limited == 1 else OK
