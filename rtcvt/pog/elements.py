"""Clutches, brakes, one-way clutches, dry bearings and losses of meshes in a gear system, as real-time kernels.

An element joins two gears, or a gear and the housing, whose speeds differ by ``dw``. Behind its faces it yields a
little, by a stiff spring K beside a damper d with the twist phi; the faces follow Coulomb's law with the capacity C, as
in `rtcvt.clutch.kernels`::

    e = K phi + d dw,    tau = min(max(e, C_low), C_high),    phi' = (tau - K phi)/d,    w_slip = dw - phi'

with ``C_low = -C`` and ``C_high = C``; one of them is 0 for a one-way clutch. Where e is between them the faces stick:
phi' = dw and w_slip is zero, not small. With K -> inf this is the set-valued law, and it is one at a kink too: over a
step h of the implicit Euler method tau is within the bounds, and beside them ``e = K phi_0 + (h K + d) dw`` at the end
of the step, or

    r = q - (G + S) tau,    S = 1/(h K + d),    q = dw_0 + S K phi_0,    dw = dw_0 - G tau

with r zero between the bounds: the problem of `rtcvt.boxed`, solved for all elements at once. Power is balanced:

    tau dw = d/dt (K phi^2)/2 + Q',    Q' = tau w_slip + d phi'^2

The loss of a mesh is such an element between one of its gears and the carrier, or the housing. Its capacity goes with
the contact's force F: ``|r F| (1 - eta)`` where the gear is driven, ``|r F| (1/eta - 1)`` where it drives, so that of
the power that the contact carries, seen from the carrier, the share eta arrives in either direction. In the rigid
model F depends on the losses: it is found by iteration, and df/dx leaves its changes out.

What the file does not say of K and d: C twists an element by 0.1 mrad, and phi comes to rest within 0.1 ms.
"""

from rtcvt.kernel import kernel
from rtcvt.linalg import lu_solve
from rtcvt.pog.layout import D, Element

__all__ = [
    "DELAY",
    "TWIST",
    "across",
    "carried",
    "element_energy",
    "element_jacobian",
    "element_rates",
    "element_response",
    "element_torques",
    "gear_speed",
    "load_meshes",
    "piece",
    "place",
    "set_capacities",
    "twist_rate",
]

TWIST = 1e-4  # [rad] at full capacity
DELAY = 1e-4  # d/K [s]


@kernel
def gear_speed(d, gear, x, data, work):
    """Speed of a gear [rad/s] (d = 0), or its derivative to theta (d = 1)."""
    if data[D.FULL] != 0.0:
        return x[gear] if d == 0 else 0.0
    n_1 = int(data[D.N_1])
    Q = int(data[D.W_Q]) + (d * int(data[D.N_J]) + gear) * n_1
    s = 0.0
    for c in range(n_1):
        s += work[Q + c] * x[c]
    return s


@kernel
def place(e, data):
    """Place of an element's row in the constants."""
    return int(data[D.ELEMENT]) + e * (Element.CONTACT + 1)


@kernel
def across(e, x, data, work):
    """dw: by how much the first gear turns faster than the second [rad/s]."""
    row = place(e, data)
    dw = gear_speed(0, int(data[row + Element.A]), x, data, work)
    if data[row + Element.SIGN] != 0.0:
        dw -= data[row + Element.SIGN] * gear_speed(0, int(data[row + Element.B]), x, data, work)
    return dw


@kernel
def set_capacities(u, p, data, work):
    """Capacities [N.m] by the actuations of now into W_CAPACITY; meshes carry no load."""
    for e in range(int(data[D.N_E])):
        row = place(e, data)
        C = p[int(data[row + Element.P])]
        if data[row + Element.CONTACT] >= 0.0:
            C = 0.0
        elif data[row + Element.U] >= 0.0:
            share = u[int(data[row + Element.U])]
            if not share > 0.0:
                C = 0.0
            elif share < 1.0:
                C *= share
        work[int(data[D.W_CAPACITY]) + e] = C


@kernel
def loss_of(e, x, p, data, work):
    """Torque that is lost at the gear for 1 N in its contact [N.m], by the direction of the power."""
    row = place(e, data)
    k = int(data[row + Element.CONTACT])
    eta = p[int(data[row + Element.P])]
    r = work[int(data[D.W_R]) + k * int(data[D.N_J]) + int(data[row + Element.A])]
    driven = work[int(data[D.W_LOAD]) + k] * r * across(e, x, data, work) < 0.0
    return abs(r) * (1.0 - eta) if driven else abs(r) * (1.0 - eta) / eta


@kernel
def load_meshes(x, p, data, work):
    """Capacities of losses [N.m] by the forces in W_LOAD."""
    for e in range(int(data[D.N_E]) - int(data[D.N_LOSS]), int(data[D.N_E])):
        F = abs(work[int(data[D.W_LOAD]) + int(data[place(e, data) + Element.CONTACT])])
        work[int(data[D.W_CAPACITY]) + e] = loss_of(e, x, p, data, work) * F


@kernel
def stuck_torque(e, x, p, data, work):
    """What the element would carry if the faces stuck [N.m]."""
    at = int(data[place(e, data) + Element.P])
    return p[at + 1] * x[int(data[D.X_PHI]) + e] + p[at + 2] * across(e, x, data, work)


@kernel
def piece(e, x, p, data, work):
    """0 if the faces stick, else at which bound they carry: 1 or -1; 1 if they are open."""
    C = work[int(data[D.W_CAPACITY]) + e]
    torque = stuck_torque(e, x, p, data, work)
    if torque >= data[place(e, data) + Element.HIGH] * C or C == 0.0:
        return 1.0
    return -1.0 if torque <= data[place(e, data) + Element.LOW] * C else 0.0


@kernel
def carried(e, x, p, data, work):
    """tau [N.m]: torque from the first gear to the second, or to the housing."""
    side = piece(e, x, p, data, work)
    if side == 0.0:
        return stuck_torque(e, x, p, data, work)
    row = place(e, data)
    return work[int(data[D.W_CAPACITY]) + e] * (data[row + Element.HIGH] if side > 0.0 else data[row + Element.LOW])


@kernel
def twist_rate(e, x, p, data, work):
    """phi' [rad/s]; the difference of the speeds itself where the faces stick."""
    if piece(e, x, p, data, work) == 0.0:
        return across(e, x, data, work)
    at = int(data[place(e, data) + Element.P])
    return (carried(e, x, p, data, work) - p[at + 1] * x[int(data[D.X_PHI]) + e]) / p[at + 2]


@kernel
def element_torques(x, p, data, work):
    """Add the torques of all elements to those on the gears, W_TAU."""
    for e in range(int(data[D.N_E])):
        row = place(e, data)
        tau = carried(e, x, p, data, work)
        work[int(data[D.W_TAU]) + int(data[row + Element.A])] -= tau
        if data[row + Element.SIGN] != 0.0:
            work[int(data[D.W_TAU]) + int(data[row + Element.B])] += data[row + Element.SIGN] * tau


@kernel
def element_rates(x, p, data, dx, work):
    """Rates of twists and heats."""
    for e in range(int(data[D.N_E])):
        at = int(data[place(e, data) + Element.P])
        phi = x[int(data[D.X_PHI]) + e]
        rate = twist_rate(e, x, p, data, work)
        tau = carried(e, x, p, data, work)
        dx[int(data[D.X_PHI]) + e] = rate
        dx[int(data[D.X_HEAT]) + e] = tau * across(e, x, data, work) - p[at + 1] * phi * rate


@kernel
def element_energy(x, p, data):
    """Energy [J] in the twists of all elements."""
    E = 0.0
    for e in range(int(data[D.N_E])):
        phi = x[int(data[D.X_PHI]) + e]
        E += 0.5 * p[int(data[place(e, data) + Element.P]) + 1] * phi * phi
    return E


@kernel
def element_response(e, p, data, work, a):
    """Accelerations of the states at ``work[a:]`` by 1 N.m on the first gear, and its reaction."""
    n_1 = int(data[D.N_1])
    row = place(e, data)
    gear = int(data[row + Element.A])
    other = int(data[row + Element.B])
    sign = data[row + Element.SIGN]
    for i in range(int(data[D.N_X])):
        work[a + i] = 0.0
    if data[D.FULL] != 0.0:
        work[a + gear] = 1.0 / p[int(data[D.P_J]) + gear]
        if sign != 0.0:
            work[a + other] = -sign / p[int(data[D.P_J]) + other]
    else:
        for c in range(n_1):
            work[a + c] = work[int(data[D.W_Q]) + gear * n_1 + c]
            if sign != 0.0:
                work[a + c] -= sign * work[int(data[D.W_Q]) + other * n_1 + c]
        lu_solve(n_1, work, int(data[D.W_L]) + n_1 * n_1, int(data[D.W_L_PIVOT]), a)


@kernel
def store_row(at, by, e, data, jac, work):
    """Add `by` times the derivative of dw to the row of the Jacobian at `at`."""
    n_1 = int(data[D.N_1])
    row = place(e, data)
    gear = int(data[row + Element.A])
    other = int(data[row + Element.B])
    sign = data[row + Element.SIGN]
    if data[D.FULL] != 0.0:
        jac[at + gear] += by
        if sign != 0.0:
            jac[at + other] -= sign * by
    else:
        for c in range(n_1):
            jac[at + c] += by * work[int(data[D.W_Q]) + gear * n_1 + c]
            if sign != 0.0:
                jac[at + c] -= sign * by * work[int(data[D.W_Q]) + other * n_1 + c]


@kernel
def element_jacobian(x, p, data, jac, work):
    """Add to the rows of the speeds, and write those of twists and heats."""
    n = int(data[D.N_X])
    speeds = int(data[D.N_J]) if data[D.FULL] != 0.0 else int(data[D.N_1])
    a = int(data[D.W_Z])
    for e in range(int(data[D.N_E])):
        at = int(data[place(e, data) + Element.P])
        K = p[at + 1]
        d = p[at + 2]
        phi = int(data[D.X_PHI]) + e
        heat = int(data[D.X_HEAT]) + e
        if piece(e, x, p, data, work) == 0.0:
            element_response(e, p, data, work, a)
            for i in range(speeds):
                jac[i * n + phi] -= K * work[a + i]
                store_row(i * n, -d * work[a + i], e, data, jac, work)
            store_row(phi * n, 1.0, e, data, jac, work)
            store_row(heat * n, 2.0 * d * across(e, x, data, work), e, data, jac, work)
        else:
            tau = carried(e, x, p, data, work)
            jac[phi * n + phi] = -K / d
            store_row(heat * n, tau, e, data, jac, work)
            jac[heat * n + phi] = -K / d * (tau - 2.0 * K * x[phi])
            if data[place(e, data) + Element.CONTACT] >= 0.0 and data[D.FULL] != 0.0:
                load = int(data[D.N_J]) + int(data[place(e, data) + Element.CONTACT])
                by = loss_of(e, x, p, data, work) * piece(e, x, p, data, work)
                if x[load] < 0.0:
                    by = -by
                element_response(e, p, data, work, a)
                for i in range(speeds):
                    jac[i * n + load] -= by * work[a + i]
                jac[phi * n + load] = by / d
                jac[heat * n + load] = by * (across(e, x, data, work) - K / d * x[phi])
