"""Rigid model, eq. (9), and its contact forces, eq. (11), as real-time kernels::

    L1 x1' = Q1' tau + (A1 - N1) x1,    N1 = M theta'
    R' F = tau - J omega' - B_J omega,    omega' = Q1 x1' + Q1' theta' x1

The forces solve the dependent rows of eq. (B.1) with ``R omega = 0``. That is eq. (11) without its inverse of J, so
gears without inertia are allowed.
"""

from rtcvt.control.limits import D_OMEGA, D_POWER, D_THETA, RATE
from rtcvt.kernel import kernel
from rtcvt.numerics.linalg import lu_solve, lu_solve_transposed
from rtcvt.pog import places
from rtcvt.pog.layout import Control, D, GearVector, Reduced
from rtcvt.pog.reduction import friction_torques


@kernel
def solve_inertia(data, work, b):
    """Replace the vector at ``work[b]`` by ``L1^-1`` times it."""
    factors = places.reduced(Reduced.FACTORS, data)
    lu_solve(places.independents(data), work, factors, places.reduced(Reduced.PIVOTS, data), b)


@kernel
def rigid_derivative(x, data, dx, work):
    """Eq. (9): rates of x1. Call `control` and `port_torques` first."""
    n_1 = places.independents(data)
    tau = places.gear_vector(GearVector.TAU, data)
    b = places.gear_vector(GearVector.SCRATCH, data)
    M = places.reduced(Reduced.M, data)
    A = places.reduced(Reduced.A1, data)
    rate = work[places.controller(data) + RATE]
    for r in range(n_1):
        s = 0.0
        for i in range(places.gears(data)):
            s += work[places.gear_row(0, i, data) + r] * work[tau + i]
        for c in range(n_1):
            s += (work[A + r * n_1 + c] - rate * work[M + r * n_1 + c]) * x[c]
        work[b + r] = s
    solve_inertia(data, work, b)
    for r in range(n_1):
        dx[r] = work[b + r]


@kernel
def store_column(column, data, jac, work, b):
    """``L1^-1`` times the vector at ``work[b]`` becomes a column of the Jacobian."""
    solve_inertia(data, work, b)
    for r in range(places.independents(data)):
        jac[r * places.states(data) + column] = work[b + r]


@kernel
def rigid_jacobian(x, data, dx, jac, work):
    """Rows of x1. Call `control`, `port_torques` and `rigid_derivative` into `dx` first."""
    n_1 = places.independents(data)
    tau = places.gear_vector(GearVector.TAU, data)
    b = places.gear_vector(GearVector.SCRATCH, data)
    Mx = places.gear_vector(GearVector.SCRATCH_2, data)
    M = places.reduced(Reduced.M, data)
    A = places.reduced(Reduced.A1, data)
    o = places.controller(data)
    rate = work[o + RATE]
    kers = places.number(D.CONTROL, data) == Control.KERS
    for r in range(n_1):
        s = 0.0
        for c in range(n_1):
            s += work[M + r * n_1 + c] * x[c]
        work[Mx + r] = s
    for c in range(n_1):
        for r in range(n_1):
            work[b + r] = work[A + r * n_1 + c] - rate * work[M + r * n_1 + c]
            if kers:
                work[b + r] -= work[Mx + r] * work[o + D_OMEGA]
        store_column(c, data, jac, work, b)
    for k in range(places.springs(data)):
        for r in range(n_1):
            work[b + r] = work[places.gear_row(0, places.spring_gear(k, data), data) + r]
        store_column(places.x_spring(k, data), data, jac, work, b)
    if data[D.MOVING] != 0.0:
        dM = places.reduced(Reduced.M_BY_THETA, data)
        dA = places.reduced(Reduced.A1_BY_THETA, data)
        for r in range(n_1):
            s = -work[Mx + r] * work[o + D_THETA]
            for i in range(places.gears(data)):
                s += work[places.gear_row(1, i, data) + r] * work[tau + i]
            for c in range(n_1):
                s += (work[dA + r * n_1 + c] - rate * work[dM + r * n_1 + c]) * x[c]
                s -= (work[M + r * n_1 + c] + work[M + c * n_1 + r]) * dx[c]
            work[b + r] = s
        store_column(places.x_theta(data), data, jac, work, b)
    if kers:
        for r in range(n_1):
            work[b + r] = -work[Mx + r] * work[o + D_POWER]
        store_column(places.x_power(data), data, jac, work, b)


@kernel
def rigid_forces(x, p, data, dx, work, F):
    """Contact forces [N], eq. (11), into ``work[F:]``, and the rates `dx`.

    Call `control` and `port_torques` first, and `gear_speeds` into `GearVector.OMEGA`.
    """
    tau = places.gear_vector(GearVector.TAU, data)
    omega = places.gear_vector(GearVector.OMEGA, data)
    B_omega = places.gear_vector(GearVector.SCRATCH, data)
    rate = work[places.controller(data) + RATE]
    rigid_derivative(x, data, dx, work)
    friction_torques(work[omega:], 1, p, data, work[B_omega:])
    for k in range(places.contacts(data)):
        i = places.ordered(k, data)
        Q = places.gear_row(0, i, data)
        dQ = places.gear_row(1, i, data)
        acceleration = 0.0
        for c in range(places.independents(data)):
            acceleration += work[Q + c] * dx[c] + rate * work[dQ + c] * x[c]
        work[F + k] = work[tau + i] - places.inertia(i, p, data) * acceleration - work[B_omega + i]
    lu_solve_transposed(places.contacts(data), work, places.dependent(data), places.dependent_pivots(data), F)
