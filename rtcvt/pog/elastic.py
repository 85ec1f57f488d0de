"""Full model with elastic contacts, eq. (2), as real-time kernels::

    J omega' = tau - B_J omega - R'(F + B_K R omega),    F' = K R omega

A contact with play (`rtcvt.pog.play`) has K s in place of F; its force is among the torques, as is that of a contact
with traction (`rtcvt.pog.traction`).
"""

from rtcvt.kernel import kernel
from rtcvt.pog import places
from rtcvt.pog.layout import D, FrictionD, GearVector
from rtcvt.pog.reduction import friction_torques
from rtcvt.pog.speeds import contact_speeds


@kernel
def elastic_derivative(x, p, data, dx, work):
    """Rates of omega and F. Call `port_torques` first."""
    n_J = places.gears(data)
    tau = places.gear_vector(GearVector.TAU, data)
    B_omega = places.gear_vector(GearVector.SCRATCH_2, data)
    v = places.gear_vector(GearVector.SCRATCH, data)
    contact_speeds(0, x, data, work, v)
    friction_torques(x, 1, p, data, work[B_omega : B_omega + n_J])
    for i in range(n_J):
        dx[i] = work[tau + i] - work[B_omega + i]
    for k in range(places.contacts(data)):
        if places.is_spring(k, data):
            R = places.contact_row(0, k, data)
            force = x[places.x_force(k, data)] + places.contact_damping(k, p, data) * work[v + k]
            for i in range(n_J):
                dx[i] -= work[R + i] * force
    for i in range(n_J):
        dx[i] /= places.inertia(i, p, data)
    for k in range(places.contacts(data)):
        if places.x_force(k, data) >= 0:
            dx[places.x_force(k, data)] = places.contact_stiffness(k, p, data) * work[v + k]


@kernel
def elastic_jacobian(x, p, data, jac, work):
    """Rows of omega and F."""
    n = places.states(data)
    n_J = places.gears(data)
    v = places.gear_vector(GearVector.SCRATCH, data)
    dv = places.gear_vector(GearVector.SCRATCH_2, data)
    contact_speeds(0, x, data, work, v)
    contact_speeds(1, x, data, work, dv)
    for k in range(places.contacts(data)):
        if places.is_spring(k, data):
            R = places.contact_row(0, k, data)
            for i in range(n_J):
                damping = work[R + i] * places.contact_damping(k, p, data)
                for j in range(n_J):
                    jac[i * n + j] -= damping * work[R + j]
    for i in range(n_J):
        J_i = places.inertia(i, p, data)
        for j in range(n_J):
            jac[i * n + j] /= J_i
        jac[i * n + i] -= places.bearing(i, p, data) / J_i
        s = 0.0
        for k in range(places.contacts(data)):
            if places.x_force(k, data) >= 0:
                R_i = work[places.contact_row(0, k, data) + i]
                d = places.contact_damping(k, p, data)
                if places.is_spring(k, data):
                    jac[i * n + places.x_force(k, data)] = -R_i / J_i
                s += work[places.contact_row(1, k, data) + i] * (x[places.x_force(k, data)] + d * work[v + k])
                s += R_i * d * work[dv + k]
        if data[D.MOVING] != 0.0:
            jac[i * n + places.x_theta(data)] = -s / J_i
    for k in range(places.frictions(data)):
        row = places.relative_friction(k, data)
        i = places.number(row + FrictionD.GEAR, data)
        j = places.number(row + FrictionD.OTHER, data)
        sign = data[row + FrictionD.SIGN]
        b_i = p[places.number(row + FrictionD.P, data)] / places.inertia(i, p, data)
        b_j = p[places.number(row + FrictionD.P, data)] / places.inertia(j, p, data)
        jac[i * n + i] -= b_i
        jac[i * n + j] -= sign * b_i
        jac[j * n + i] -= sign * b_j
        jac[j * n + j] -= b_j
    for s_ in range(places.springs(data)):
        gear = places.spring_gear(s_, data)
        jac[gear * n + places.x_spring(s_, data)] = 1.0 / places.inertia(gear, p, data)
    for k in range(places.contacts(data)):
        if places.x_force(k, data) >= 0:
            row = places.x_force(k, data) * n
            R = places.contact_row(0, k, data)
            K_k = places.contact_stiffness(k, p, data)
            for j in range(n_J):
                jac[row + j] = K_k * work[R + j]
            if data[D.MOVING] != 0.0:
                jac[row + places.x_theta(data)] = K_k * work[dv + k]
