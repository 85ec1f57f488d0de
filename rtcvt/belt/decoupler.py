"""Kernels of decouplers: a one-way clutch and a spring between a pulley and its shaft.

The pulley turns with omega, the shaft with w; s is the sense in which the pulley drives it. The spring, parallel to the
damper c, is wound up by delta and carries the torque M. The clutch transmits M in one sense only: if the shaft
overruns, it slips by eta and has the drag torque M_D. With ``nu = s (omega - w)``::

    delta' = nu + eta,    M = k delta + c delta',    0 <= eta  orthogonal to  M + M_D >= 0

This is solved by ::

    locked  k delta + c nu >= -M_D:    delta' = nu,                       M = k delta + c nu
    free    else:                      delta' = -(k delta + M_D)/c,       M = -M_D

    J_s w' = tau + tau_load(w) - b w + s M,    and -s M acts on the pulley

The two cases agree at the switch, and the relation of (delta', M) to (delta, nu) is monotone: the implicit Euler method
is stable with any step, and loses power. Energy is ``J_s w^2/2 + k delta^2/2``, and the loss is never negative::

    M nu - k delta delta' = c delta'^2 + M_D eta

The clutch stays locked or free over an internal step (as faces of the belt stick or slide), and is updated before the
next one: its opening and closing are late by less than a step. An overrunning pulley without a spring has the stiffness
of its clutch. Machine and bearing are on the shaft; the pulley has only its inertia.
"""

from rtcvt.belt import places
from rtcvt.belt.layout import N_DECOUPLER_Y, D, DecouplerD, DecouplerP, DecouplerX, DecouplerY
from rtcvt.kernel import kernel
from rtcvt.model.places import entry


@kernel
def ahead(m, omega, x, data):
    """nu: speed by which pulley m, turning with omega, winds up its spring [rad/s]."""
    sense = data[places.decoupler_row(m, data) + DecouplerD.SENSE]
    return sense * (omega - x[places.x_decoupler(m, data) + DecouplerX.W])


@kernel
def switch_clutches(x, p, data, work):
    """Which clutches are locked (1) or free (0) at `x`, into W_CLUTCH."""
    for m in range(places.decouplers(data)):
        a = places.p_decoupler(m, data)
        i = places.decoupler_pulley(m, data)
        M = p[a + DecouplerP.K] * x[places.x_decoupler(m, data) + DecouplerX.TWIST]
        M += p[a + DecouplerP.C] * ahead(m, places.speed(i, x, data), x, data)
        work[places.clutch(m, data)] = 1.0 if M + p[a + DecouplerP.M_D] >= 0.0 else 0.0


@kernel
def twist_rate(m, omega, x, p, data, work):
    """delta' [rad/s] of decoupler m, whose pulley turns with omega."""
    if work[places.clutch(m, data)] != 0.0:
        return ahead(m, omega, x, data)
    a = places.p_decoupler(m, data)
    spring = p[a + DecouplerP.K] * x[places.x_decoupler(m, data) + DecouplerX.TWIST]
    return -(spring + p[a + DecouplerP.M_D]) / p[a + DecouplerP.C]


@kernel
def clutch_torque(m, omega, x, p, data, work):
    """``s M`` [N.m], by which the pulley drives its shaft, anticlockwise."""
    a = places.p_decoupler(m, data)
    sense = data[places.decoupler_row(m, data) + DecouplerD.SENSE]
    if work[places.clutch(m, data)] == 0.0:
        return -sense * p[a + DecouplerP.M_D]
    M = p[a + DecouplerP.K] * x[places.x_decoupler(m, data) + DecouplerX.TWIST]
    return sense * (M + p[a + DecouplerP.C] * ahead(m, omega, x, data))


@kernel
def decoupler_rates(m, torque, omega, x, p, data, dx, work):
    """Rates of a shaft on which machine and bearing act by a torque [N.m], and of its spring."""
    at = places.x_decoupler(m, data)
    driven = torque + clutch_torque(m, omega, x, p, data, work)
    dx[at + DecouplerX.W] = driven / p[places.p_decoupler(m, data) + DecouplerP.J]
    dx[at + DecouplerX.TWIST] = twist_rate(m, omega, x, p, data, work)


@kernel
def decoupler_columns(m, i, row, scale, p, data, jac, work):
    """Add `scale` times the derivative of ``s M`` of decoupler m, of pulley i, to a row."""
    if work[places.clutch(m, data)] == 0.0:
        return
    a = places.p_decoupler(m, data)
    sense = data[places.decoupler_row(m, data) + DecouplerD.SENSE]
    at = row * places.states(data)
    state = places.x_decoupler(m, data)
    jac[at + state + DecouplerX.TWIST] += scale * sense * p[a + DecouplerP.K]
    jac[at + places.x_speed(i, data)] += scale * p[a + DecouplerP.C]
    jac[at + state + DecouplerX.W] -= scale * p[a + DecouplerP.C]


@kernel
def decoupler_rows(m, slope, p, data, jac, work):
    """The rows of a decoupler; `slope` is that of the torque of machine and bearing over the shaft's speed."""
    a = places.p_decoupler(m, data)
    row = places.decoupler_row(m, data)
    i = places.decoupler_pulley(m, data)
    n_x = places.states(data)
    at = places.x_decoupler(m, data)
    inverse = 1.0 / p[a + DecouplerP.J]
    jac[(at + DecouplerX.W) * n_x + at + DecouplerX.W] += slope * inverse
    decoupler_columns(m, i, at + DecouplerX.W, inverse, p, data, jac, work)
    twist = (at + DecouplerX.TWIST) * n_x
    if work[places.clutch(m, data)] != 0.0:
        jac[twist + places.x_speed(i, data)] += data[row + DecouplerD.SENSE]
        jac[twist + at + DecouplerX.W] -= data[row + DecouplerD.SENSE]
    else:
        jac[twist + at + DecouplerX.TWIST] -= p[a + DecouplerP.K] / p[a + DecouplerP.C]


@kernel
def decoupler_energy(x, p, data):
    """Energy of all shafts and springs [J]."""
    energy = 0.0
    for m in range(places.decouplers(data)):
        a = places.p_decoupler(m, data)
        w = x[places.x_decoupler(m, data) + DecouplerX.W]
        twist = x[places.x_decoupler(m, data) + DecouplerX.TWIST]
        energy += 0.5 * p[a + DecouplerP.J] * w * w + 0.5 * p[a + DecouplerP.K] * twist * twist
    return energy


@kernel
def decoupler_loss(x, p, data, work):
    """Power that all dampers and clutches lose [W]."""
    loss = 0.0
    for m in range(places.decouplers(data)):
        a = places.p_decoupler(m, data)
        omega = places.speed(places.decoupler_pulley(m, data), x, data)
        rate = twist_rate(m, omega, x, p, data, work)
        loss += p[a + DecouplerP.C] * rate * rate + p[a + DecouplerP.M_D] * (rate - ahead(m, omega, x, data))
    return loss


@kernel
def decoupler_outputs(x, p, data, y, work):
    """Outputs of the decouplers."""
    at = entry(D.Y_DECOUPLER, data)
    for m in range(places.decouplers(data)):
        row = places.decoupler_row(m, data)
        omega = places.speed(places.decoupler_pulley(m, data), x, data)
        y[at + DecouplerY.W] = omega
        y[at + DecouplerY.TWIST] = x[places.x_decoupler(m, data) + DecouplerX.TWIST]
        y[at + DecouplerY.M] = data[row + DecouplerD.SENSE] * clutch_torque(m, omega, x, p, data, work)
        at += N_DECOUPLER_Y
    y[at] = decoupler_loss(x, p, data, work)
