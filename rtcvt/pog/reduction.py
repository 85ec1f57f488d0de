"""Reduction to the independent speeds, eq. (10), and the kinematics of a state, as real-time kernels::

    L1 = Q1' J Q1,    A1 = -Q1' B_J Q1,    N1 = M theta',    M = Q1' J dQ1/dtheta

each with the derivatives to theta that a Jacobian needs. B_J is that of Algorithm 2: bearings, and relative frictions
of two gears.
"""

from rtcvt.kernel import kernel
from rtcvt.numerics.linalg import lu
from rtcvt.pog import places
from rtcvt.pog.geometry import moving_radii, solve_speeds
from rtcvt.pog.layout import D, FrictionD, GearVector, Reduced


@kernel
def friction_torques(omega, stride, p, data, tau):
    """``B_J omega`` (Algorithm 2) of the speeds at ``omega[0], omega[stride], ...``, into `tau`."""
    for i in range(places.gears(data)):
        tau[i] = places.bearing(i, p, data) * omega[i * stride]
    for k in range(places.frictions(data)):
        row = places.relative_friction(k, data)
        i = places.number(row + FrictionD.GEAR, data)
        j = places.number(row + FrictionD.OTHER, data)
        sign = data[row + FrictionD.SIGN]
        tau_ij = p[places.number(row + FrictionD.P, data)] * (omega[i * stride] + sign * omega[j * stride])
        tau[i] += tau_ij
        tau[j] += sign * tau_ij


@kernel
def reduced_matrices(derivatives, p, data, work):
    """L1, M and A1, eq. (10), if `derivatives` is 2 also the derivatives of the latter two to theta.

    The LU of L1 remains in `work`. Call `solve_speeds` first.
    """
    n_J = places.gears(data)
    n_1 = places.independents(data)
    Q = places.gear_row(0, 0, data)
    dQ = places.gear_row(1, 0, data)
    ddQ = places.gear_row(2, 0, data)
    B_q = places.gear_vector(GearVector.SCRATCH, data)
    B_dq = places.gear_vector(GearVector.SCRATCH_2, data)
    for c in range(n_1):
        friction_torques(work[Q + c : dQ], n_1, p, data, work[B_q : B_q + n_J])
        if derivatives == 2:
            friction_torques(work[dQ + c : ddQ], n_1, p, data, work[B_dq : B_dq + n_J])
        for r in range(n_1):
            l_rc = 0.0
            m_rc = 0.0
            a_rc = 0.0
            for i in range(n_J):
                q_r = work[Q + i * n_1 + r]
                l_rc += q_r * places.inertia(i, p, data) * work[Q + i * n_1 + c]
                m_rc += q_r * places.inertia(i, p, data) * work[dQ + i * n_1 + c]
                a_rc -= q_r * work[B_q + i]
            at = r * n_1 + c
            work[places.reduced(Reduced.L1, data) + at] = l_rc
            work[places.reduced(Reduced.FACTORS, data) + at] = l_rc
            work[places.reduced(Reduced.M, data) + at] = m_rc
            work[places.reduced(Reduced.A1, data) + at] = a_rc
            if derivatives == 2:
                dm_rc = 0.0
                da_rc = 0.0
                for i in range(n_J):
                    q_r = work[Q + i * n_1 + r]
                    dq_r = work[dQ + i * n_1 + r]
                    dm_rc += places.inertia(i, p, data) * (
                        dq_r * work[dQ + i * n_1 + c] + q_r * work[ddQ + i * n_1 + c]
                    )
                    da_rc -= dq_r * work[B_q + i] + q_r * work[B_dq + i]
                work[places.reduced(Reduced.M_BY_THETA, data) + at] = dm_rc
                work[places.reduced(Reduced.A1_BY_THETA, data) + at] = da_rc
    lu(n_1, work, places.reduced(Reduced.FACTORS, data), places.reduced(Reduced.PIVOTS, data))


@kernel
def kinematics(derivatives, theta, p, data, work):
    """Update R, Q1 and the reduced matrices to `theta` [rad], if they belong to another theta. Call `prepare` once
    before.

    The rates need one of the `derivatives`, the Jacobian two.
    """
    at = places.number(D.W_THETA, data)
    if work[at] == theta and work[at + 1] >= derivatives:
        return
    moving_radii(theta, p, data, work)
    solve_speeds(derivatives, data, work)
    reduced_matrices(derivatives, p, data, work)
    work[at] = theta
    work[at + 1] = derivatives
