"""Clutches, brakes, one-way clutches, dry bearings, losses and play of meshes in a gear system, as real-time kernels.

An element joins two gears, or a gear and the housing, whose speeds differ by ``dw``. Behind its faces it yields a
little, by a stiff spring K beside a damper d with the twist phi; the faces follow Coulomb's law with the capacity C, as
in `rtcvt.clutch.kernels`::

    e = K phi + d dw,    tau = min(max(e, C_low), C_high),    phi' = (tau - K phi)/d,    w_slip = dw - phi'

with ``C_low = -C`` and ``C_high = C``; one of them is 0 for a one-way clutch. Where e is between them the faces stick:
phi' = dw and w_slip is zero, not small. With K -> inf this is the set-valued law, and it is one at a kink too: over a
step h of the implicit Euler method tau is within the bounds, and beside them ``e = K phi_0 + (h K + d) dw`` at the end
of the step, or

    r = q - (G + S) tau,    S = 1/(h K + d),    q = dw_0 + S K phi_0,    dw = dw_0 - G tau

with r zero between the bounds: the problem of `rtcvt.numerics.complementarity`, solved for all elements at once. Power
is balanced:

    tau dw = d/dt (K phi^2)/2 + Q',    Q' = tau w_slip + d phi'^2

The loss of a mesh is such an element between one of its gears and the carrier, or the housing. Its bounds go with the
contact's force F on the gear's radius r: the mesh takes ``|r F| (1 - eta)`` in the direction in which the gear would be
driven, ``|r F| (1/eta - 1)`` in that in which it would drive::

    r F > 0:  C_low = -r F (1 - eta),    C_high = r F (1/eta - 1)
    r F < 0:  C_low = r F (1/eta - 1),   C_high = -r F (1 - eta)

So of the power that the contact carries, seen from the carrier, the share eta arrives in either direction; and teeth at
rest break away where the torques that act overcome the loss of the motion that begins. No speed decides which it is. In
the rigid model F depends on the losses, ``F = F_0 + G tau`` with ``tau = c F`` where faces slip: these are solved for
together, piece by piece, and df/dx follows from ``(1 - c G) dtau = c dF_0``. Where c G is above 1 the mesh locks: it
sticks.
Of a mesh with oil, 1 - eta follows from F and the speed v at the pitch circle (`rtcvt.pog.mesh`); c is dtau/dF then.

A contact with play b is an element of the elastic model. Its teeth move by s, from the middle of the play, at
``v = R omega``. A side is pressed by u; its damper d is in series with a spring K_2 = 10 K, which z leads::

    u = min(max(K_2 z/(K + K_2), s - b/2), s + b/2),    F = K u + K_2 (u - z),    d z' = K_2 (u - z)

F is zero in the gap, where the teeth spring back; it has no jump where they meet, and never pulls. At a kink, with
``s = s_0 + h v`` over a step, this is a row of the same problem, with F of one sign. Power is balanced:
``F v = d/dt (K u^2 + K_2 (u - z)^2)/2 + d z'^2``.

What the file does not say of K and d: C twists an element by 0.1 mrad, and phi comes to rest within 0.1 ms. Teeth
that stick give way by nothing that counts: ``K = J kappa^2``, ``d = 2 J kappa`` with the inertia J of all gears, kappa
far above what a step resolves, so that at its end what they carry is in balance with the torques that act.
"""

from rtcvt.kernel import kernel
from rtcvt.model.stepping import HUGE
from rtcvt.numerics.elementary import power
from rtcvt.numerics.linalg import lu_solve
from rtcvt.pog.layout import D, Element
from rtcvt.pog.mesh import BY_LOAD, FASTEST, LEAST_ETA, SLOWEST

TWIST = 1e-4  # [rad] at full capacity
DELAY = 1e-4  # d/K [s]
RETURN = 1e6  # [1/s] with which all gears together would come back where the teeth of a mesh stick
STIFFER = 10.0  # K_2/K


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
    return int(data[D.ELEMENT]) + e * (Element.LEAST + 1)


@kernel
def friction_elements(data):
    """How many elements are neither losses of meshes, which follow, nor plays, which come last."""
    return int(data[D.N_E] - data[D.N_LOSS] - data[D.N_PLAY])


@kernel
def is_play(e, data):
    """Whether the element is a contact with play."""
    return e >= int(data[D.N_E] - data[D.N_PLAY])


@kernel
def play_of(k, data):
    """The element that is the play of contact `k`, or -1."""
    return int(data[int(data[D.PLAY]) + k])


@kernel
def contact_of(e, data):
    """The contact of a play or of a mesh's loss."""
    return int(data[place(e, data) + Element.CONTACT])


@kernel
def across(e, x, data, work):
    """dw: by how much the first gear turns faster than the second [rad/s]; v of a contact with play [m/s]."""
    row = place(e, data)
    if is_play(e, data):
        R = int(data[D.W_R]) + contact_of(e, data) * int(data[D.N_J])
        v = 0.0
        for i in range(int(data[D.N_J])):
            v += work[R + i] * x[i]
        return v
    dw = gear_speed(0, int(data[row + Element.A]), x, data, work)
    if data[row + Element.SIGN] != 0.0:
        dw -= data[row + Element.SIGN] * gear_speed(0, int(data[row + Element.B]), x, data, work)
    return dw


@kernel
def across_by(e, c, data, work):
    """Derivative of dw to an independent speed, of an element that is not a play."""
    row = place(e, data)
    Q = int(data[D.W_Q]) + c
    n_1 = int(data[D.N_1])
    dw = work[Q + int(data[row + Element.A]) * n_1]
    return dw - data[row + Element.SIGN] * work[Q + int(data[row + Element.B]) * n_1]


@kernel
def set_bounds(u, p, data, work):
    """Bounds [N.m] by the actuations of now into W_BOUND; meshes carry no load."""
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
        work[int(data[D.W_BOUND]) + e] = data[row + Element.HIGH] * C
        work[int(data[D.W_BOUND] + data[D.N_E]) + e] = data[row + Element.LOW] * C


@kernel
def bound(e, side, data, work):
    """Largest (`side` above 0) or least torque [N.m] of an element."""
    return work[int(data[D.W_BOUND]) + e] if side > 0.0 else work[int(data[D.W_BOUND] + data[D.N_E]) + e]


@kernel
def mesh_radius(e, data, work):
    """Radius of the gear at which a mesh loses [m], with the sign it has in R."""
    row = place(e, data)
    return work[int(data[D.W_R]) + contact_of(e, data) * int(data[D.N_J]) + int(data[row + Element.A])]


@kernel
def drives(e, side, data, work):
    """Whether the gear at which a mesh loses drives it if it turns towards `side`, seen from the carrier."""
    return work[int(data[D.W_LOAD]) + contact_of(e, data)] * mesh_radius(e, data, work) * side > 0.0


@kernel
def mesh_losses(e, x, p, data, work):
    """c of a mesh that drives and of one that is driven [m]: torque that it takes over the force of its contact."""
    eta = mesh_efficiency_at(e, x, p, data, work)
    at = int(data[D.W_MESH]) + e - friction_elements(data)
    work[at] = mesh_radius(e, data, work) * (1.0 - eta) / eta
    work[at + int(data[D.N_LOSS])] = mesh_radius(e, data, work) * (eta - 1.0)


@kernel
def mesh_efficiency_at(e, x, p, data, work):
    """eta of a mesh at the force in W_LOAD and the speed of now."""
    row = place(e, data)
    eta = p[int(data[row + Element.P])]
    if data[row + Element.FORCE] == 0.0:
        return eta
    force = abs(work[int(data[D.W_LOAD]) + contact_of(e, data)])
    if not force > data[row + Element.LEAST]:
        force = data[row + Element.LEAST]
    v = abs(mesh_radius(e, data, work) * across(e, x, data, work))
    v = v if v > SLOWEST else SLOWEST
    v = v if v < FASTEST else FASTEST
    eta = 1.0 - (1.0 - eta) * power(force / data[row + Element.FORCE] * data[row + Element.SPEED] / v, BY_LOAD)
    return eta if eta > LEAST_ETA else LEAST_ETA


@kernel
def loss_of(e, side, data, work):
    """c [m] of a mesh that slips towards `side`."""
    at = int(data[D.W_MESH]) + e - friction_elements(data)
    return work[at] if drives(e, side, data, work) else work[at + int(data[D.N_LOSS])]


@kernel
def load_meshes(x, p, data, work):
    """Bounds of losses [N.m] by the forces in W_LOAD."""
    first = friction_elements(data)
    for e in range(first, first + int(data[D.N_LOSS])):
        if data[place(e, data) + Element.FORCE] != 0.0:
            mesh_losses(e, x, p, data, work)
        F = work[int(data[D.W_LOAD]) + contact_of(e, data)]
        driving = F * work[int(data[D.W_MESH]) + e - first]
        driven = F * work[int(data[D.W_MESH] + data[D.N_LOSS]) + e - first]
        work[int(data[D.W_BOUND]) + e] = driving if driving > driven else driven
        work[int(data[D.W_BOUND] + data[D.N_E]) + e] = driven if driving > driven else driving


@kernel
def mesh_share(e, x, p, data, work):
    """dtau/dF [m] of a mesh that slips, 0 where it sticks."""
    side = side_at(e, data, work)
    if side == 0.0:
        return 0.0
    c = loss_of(e, side, data, work)
    if abs(work[int(data[D.W_LOAD]) + contact_of(e, data)]) > data[place(e, data) + Element.LEAST]:
        c *= 1.0 + mesh_power(e, side, x, p, data, work)
    return c


@kernel
def mesh_power(e, side, x, p, data, work):
    """d ln(loss of 1 N)/d ln(F), that to the speed below zero: 0 of a mesh whose efficiency is constant."""
    if data[place(e, data) + Element.FORCE] == 0.0:
        return 0.0
    eta = mesh_efficiency_at(e, x, p, data, work)
    if eta == LEAST_ETA:
        return 0.0
    return BY_LOAD / eta if drives(e, side, data, work) else BY_LOAD


@kernel
def mesh_slowing(e, x, p, data, work):
    """dtau/dw of a mesh that slips [N.m.s/rad]: the faster, the less friction."""
    if data[place(e, data) + Element.FORCE] == 0.0:
        return 0.0
    dw = across(e, x, data, work)
    v = abs(mesh_radius(e, data, work) * dw)
    side = side_at(e, data, work)
    if v <= SLOWEST or v >= FASTEST or side == 0.0:
        return 0.0
    return -mesh_power(e, side, x, p, data, work) * bound(e, side, data, work) / dw


@kernel
def play_spring(e, p, data):
    """K_2 [N/m] of a contact with play, 0 without a damper."""
    k = contact_of(e, data)
    return STIFFER * p[int(data[D.P_K]) + k] if p[int(data[D.P_D]) + k] > 0.0 else 0.0


@kernel
def play_lag(e, p, data):
    """K_2/d [1/s], 0 without a damper."""
    K_2 = play_spring(e, p, data)
    return K_2 / p[int(data[D.P_D]) + contact_of(e, data)] if K_2 > 0.0 else 0.0


@kernel
def travel(e, x, p, data):
    """s [m]."""
    k = contact_of(e, data)
    return x[int(data[D.N_J]) + k] / p[int(data[D.P_K]) + k]


@kernel
def pressed(e, x, p, data):
    """u [m] of a contact with play."""
    K_2 = play_spring(e, p, data)
    u = K_2 / (p[int(data[D.P_K]) + contact_of(e, data)] + K_2) * x[int(data[D.X_PHI]) + e]
    half = 0.5 * p[int(data[place(e, data) + Element.P])]
    s = travel(e, x, p, data)
    if u < s - half:
        return s - half
    return s + half if u > s + half else u


@kernel
def play_force(e, x, p, data):
    """F [N] of a contact with play."""
    K_2 = play_spring(e, p, data)
    u = pressed(e, x, p, data)
    return p[int(data[D.P_K]) + contact_of(e, data)] * u + K_2 * (u - x[int(data[D.X_PHI]) + e])


@kernel
def stuck_torque(e, x, p, data, work):
    """What the element would carry if the faces stuck [N.m]."""
    at = int(data[place(e, data) + Element.P])
    return p[at + 1] * x[int(data[D.X_PHI]) + e] + p[at + 2] * across(e, x, data, work)


@kernel
def piece(e, x, p, data, work):
    """0 if the faces stick, else at which bound they carry: 1 or -1; 1 if they are open.

    Of a play the side whose teeth are pressed: 1 or -1, 0 if neither is.
    """
    if is_play(e, data):
        s = travel(e, x, p, data)
        u = pressed(e, x, p, data)
        half = 0.5 * p[int(data[place(e, data) + Element.P])]
        if u == s - half:
            return 1.0
        return -1.0 if u == s + half else 0.0
    return side_of(e, stuck_torque(e, x, p, data, work), data, work)


@kernel
def side_of(e, torque, data, work):
    """`piece` by what the element would carry if the faces stuck [N.m]."""
    high = bound(e, 1.0, data, work)
    low = bound(e, -1.0, data, work)
    if e >= friction_elements(data):  # teeth without load are not open: which way they slip, the torque says
        if torque > high:
            return 1.0
        return -1.0 if torque < low else 0.0
    if torque >= high or not low < high:
        return 1.0
    return -1.0 if torque <= low else 0.0


@kernel
def side_at(e, data, work):
    """`piece` where `hold` was last."""
    return work[int(data[D.W_FACE]) + 3 * e + 2]


@kernel
def carried(e, x, p, data, work):
    """tau [N.m]: torque from the first gear to the second, or to the housing; F [N] of a contact with play."""
    if is_play(e, data):
        F = play_force(e, x, p, data)
        return 0.0 if piece(e, x, p, data, work) == 0.0 else F
    side = piece(e, x, p, data, work)
    if side == 0.0:
        return stuck_torque(e, x, p, data, work)
    return bound(e, side, data, work)


@kernel
def twist_rate(e, x, p, data, work):
    """phi' [rad/s]; the difference of the speeds itself where the faces stick; z' of a contact with play.

    Expects `element_torques`.
    """
    if is_play(e, data):
        return play_lag(e, p, data) * (pressed(e, x, p, data) - x[int(data[D.X_PHI]) + e])
    face = int(data[D.W_FACE]) + 3 * e
    if work[face + 2] == 0.0:
        return work[face]
    at = int(data[place(e, data) + Element.P])
    return (work[face + 1] - p[at + 1] * x[int(data[D.X_PHI]) + e]) / p[at + 2]


@kernel
def store_row(at, by, e, gears, data, to, work):
    """Add `by` times the derivative of dw at ``to[at:]``: to the speeds of all gears, or to those that are states."""
    n_1 = int(data[D.N_1])
    row = place(e, data)
    if is_play(e, data):
        R = int(data[D.W_R]) + contact_of(e, data) * int(data[D.N_J])
        for i in range(int(data[D.N_J])):
            to[at + i] += by * work[R + i]
    else:
        for end in range(2):
            share = by if end == 0 else -by * data[row + Element.SIGN]
            gear = int(data[row + Element.A]) if end == 0 else int(data[row + Element.B])
            if gears or data[D.FULL] != 0.0:
                to[at + gear] += share
            else:
                for c in range(n_1):
                    to[at + c] += share * work[int(data[D.W_Q]) + gear * n_1 + c]


@kernel
def element_torques(first, last, x, p, data, work):
    """Add the torques of elements `first` to `last` - 1 to those on the gears, W_TAU; they are kept in W_FACE."""
    for e in range(first, last):
        dw = across(e, x, data, work)
        if is_play(e, data):
            side = piece(e, x, p, data, work)
            tau = carried(e, x, p, data, work)
        else:
            at = int(data[place(e, data) + Element.P])
            tau = p[at + 1] * x[int(data[D.X_PHI]) + e] + p[at + 2] * dw
            side = side_of(e, tau, data, work)
            if side != 0.0:
                tau = bound(e, side, data, work)
        face = int(data[D.W_FACE]) + 3 * e
        work[face] = dw
        work[face + 1] = tau
        work[face + 2] = side
        store_row(int(data[D.W_TAU]), -tau, e, True, data, work, work)


@kernel
def element_rates(x, p, data, dx, work):
    """Rates of twists and heats; expects `element_torques`."""
    for e in range(int(data[D.N_E])):
        phi = int(data[D.X_PHI]) + e
        rate = twist_rate(e, x, p, data, work)
        dx[phi] = rate
        if is_play(e, data):
            dx[int(data[D.X_HEAT]) + e] = p[int(data[D.P_D]) + contact_of(e, data)] * rate * rate
        else:
            face = int(data[D.W_FACE]) + 3 * e
            spring = p[int(data[place(e, data) + Element.P]) + 1] * x[phi]
            dx[int(data[D.X_HEAT]) + e] = work[face + 1] * work[face] - spring * rate


@kernel
def element_energy(e, x, p, data):
    """Energy [J] in the twist of an element, or in the teeth of a contact with play."""
    if is_play(e, data):
        u = pressed(e, x, p, data)
        left = u - x[int(data[D.X_PHI]) + e]
        return 0.5 * (p[int(data[D.P_K]) + contact_of(e, data)] * u * u + play_spring(e, p, data) * left * left)
    phi = x[int(data[D.X_PHI]) + e]
    return 0.5 * p[int(data[place(e, data) + Element.P]) + 1] * phi * phi


@kernel
def element_responses(p, data, work):
    """Accelerations by 1 N.m on the first gear of each element and its reaction, by 1 N of a contact with play."""
    n_1 = int(data[D.N_1])
    for e in range(int(data[D.N_E])):
        a = response_of(e, data)
        store_row(a, 1.0, e, False, data, work, work)
        if data[D.FULL] != 0.0:
            for i in range(int(data[D.N_J])):
                work[a + i] /= p[int(data[D.P_J]) + i]
        else:
            lu_solve(n_1, work, int(data[D.W_L]) + n_1 * n_1, int(data[D.W_L_PIVOT]), a)


@kernel
def response_of(e, data):
    """Place of what `element_responses` has found."""
    return int(data[D.W_RESPONSE]) + e * int(data[D.N_J])


@kernel
def play_jacobian(e, x, p, data, jac, work):
    """Add to the rows of the speeds, and write those of z and the heat, of a contact with play."""
    n = int(data[D.N_X])
    a = response_of(e, data)
    K = p[int(data[D.P_K]) + contact_of(e, data)]
    K_2 = play_spring(e, p, data)
    lag = play_lag(e, p, data)
    F = int(data[D.N_J]) + contact_of(e, data)
    z = int(data[D.X_PHI]) + e
    by_s = 0.0
    by_z = -lag * K / (K + K_2)
    if piece(e, x, p, data, work) != 0.0:
        by_s = lag / K
        by_z = -lag
        for i in range(int(data[D.N_J])):
            jac[i * n + F] -= (1.0 + K_2 / K) * work[a + i]
            jac[i * n + z] += K_2 * work[a + i]
    loss = 2.0 * p[int(data[D.P_D]) + contact_of(e, data)] * twist_rate(e, x, p, data, work)
    jac[z * n + F] = by_s
    jac[z * n + z] = by_z
    jac[(int(data[D.X_HEAT]) + e) * n + F] = loss * by_s
    jac[(int(data[D.X_HEAT]) + e) * n + z] = loss * by_z


@kernel
def loss_column(e, at, stride, by, x, p, data, jac, work):
    """Add to a column, every `stride` from `at` on: what moves there changes the torque of the loss `e` by `by`."""
    a = response_of(e, data)
    own = int(data[place(e, data) + Element.P])
    phi = int(data[D.X_PHI]) + e
    heat = int(data[D.X_HEAT]) + e
    for i in range(int(data[D.N_J]) if data[D.FULL] != 0.0 else int(data[D.N_1])):
        jac[at + i * stride] -= by * work[a + i]
    jac[at + phi * stride] += by / p[own + 2]
    jac[at + heat * stride] += by * (across(e, x, data, work) - p[own + 1] / p[own + 2] * x[phi])


@kernel
def element_jacobian(x, p, data, jac, work):
    """Add to the rows of the speeds, and write those of twists and heats; expects `element_torques`.

    In the full model with losses by what loads them.
    """
    n = int(data[D.N_X])
    n_J = int(data[D.N_J])
    speeds = n_J if data[D.FULL] != 0.0 else int(data[D.N_1])
    for e in range(int(data[D.N_E])):
        a = response_of(e, data)
        if is_play(e, data):
            play_jacobian(e, x, p, data, jac, work)
        else:
            at = int(data[place(e, data) + Element.P])
            K = p[at + 1]
            d = p[at + 2]
            phi = int(data[D.X_PHI]) + e
            heat = int(data[D.X_HEAT]) + e
            dw = work[int(data[D.W_FACE]) + 3 * e]
            if side_at(e, data, work) == 0.0:
                for i in range(speeds):
                    jac[i * n + phi] -= K * work[a + i]
                    store_row(i * n, -d * work[a + i], e, False, data, jac, work)
                store_row(phi * n, 1.0, e, False, data, jac, work)
                store_row(heat * n, 2.0 * d * dw, e, False, data, jac, work)
            else:
                tau = work[int(data[D.W_FACE]) + 3 * e + 1]
                jac[phi * n + phi] = -K / d
                store_row(heat * n, tau, e, False, data, jac, work)
                jac[heat * n + phi] = -K / d * (tau - 2.0 * K * x[phi])
                if e >= friction_elements(data) and data[D.FULL] != 0.0:
                    c = mesh_share(e, x, p, data, work)
                    k = contact_of(e, data)
                    play = play_of(k, data)
                    if play < 0:
                        loss_column(e, n_J + k, n, c, x, p, data, jac, work)
                    elif side_at(play, data, work) != 0.0:
                        K_2 = play_spring(play, p, data)
                        loss_column(e, n_J + k, n, c * (1.0 + K_2 / p[int(data[D.P_K]) + k]), x, p, data, jac, work)
                        loss_column(e, int(data[D.X_PHI]) + play, n, -c * K_2, x, p, data, jac, work)
                    by_speed = mesh_slowing(e, x, p, data, work)
                    row = place(e, data)
                    if by_speed != 0.0:
                        loss_column(e, int(data[row + Element.A]), n, by_speed, x, p, data, jac, work)
                        if data[row + Element.SIGN] != 0.0:
                            by_speed *= -data[row + Element.SIGN]
                            loss_column(e, int(data[row + Element.B]), n, by_speed, x, p, data, jac, work)


@kernel
def play_stiffness(e, h, p, data):
    """F at the end of a step of the implicit Euler method for 1 m more of s [N/m]."""
    return p[int(data[D.P_K]) + contact_of(e, data)] + play_spring(e, p, data) / (1.0 + h * play_lag(e, p, data))


@kernel
def play_load(e, side, s, h, x, p, data):
    """F [N] at the end of such a step with the travel `s`, on one side of the play, below zero where it would pull."""
    depth = s - side * 0.5 * p[int(data[place(e, data) + Element.P])]
    eased = play_spring(e, p, data) / (1.0 + h * play_lag(e, p, data)) * x[int(data[D.X_PHI]) + e]
    return side * (play_stiffness(e, h, p, data) * depth - eased)


@kernel
def play_row(e, side, h, x, p, data, work):
    """Row of a contact with play in the problem of `rtcvt.numerics.complementarity`, pressed on one side or on none."""
    m = int(data[D.N_E])
    q = int(data[D.W_BOX_Q])
    S = 1.0 / (h * play_stiffness(e, h, p, data))
    load = play_load(e, side, travel(e, x, p, data), h, x, p, data)
    work[q + e] = work[q + 6 * m + e] + S * side * load
    work[q + m + e] = 0.0 if side > 0.0 else -HUGE
    work[q + 2 * m + e] = HUGE if side > 0.0 else 0.0
    work[q + 4 * m + e] = 0.0 if load > 0.0 else -side
    return S


@kernel
def play_lead(e, F, h, x, p, data):
    """z [m] at the end of a step of the implicit Euler method with the force `F`."""
    K = p[int(data[D.P_K]) + contact_of(e, data)]
    K_2 = play_spring(e, p, data)
    a = h * play_lag(e, p, data) / (K + K_2)
    return (x[int(data[D.X_PHI]) + e] + a * F) / (1.0 + a * K)
