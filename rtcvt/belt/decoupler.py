"""Kernels of decouplers: a one-way clutch and a spring between a pulley and its shaft.

The pulley turns with omega, the shaft with w; s is the sense in which the pulley drives it. The spring, with the damper
c beside it, is wound up by delta and carries the torque M, which the clutch lets pass in one sense alone: it slips by
eta, if the shaft overruns, and drags with M_D then. With ``nu = s (omega - w)``::

    delta' = nu + eta,    M = k delta + c delta',    0 <= eta  orthogonal to  M + M_D >= 0

This is solved by ::

    locked  k delta + c nu >= -M_D:    delta' = nu,                       M = k delta + c nu
    free    else:                      delta' = -(k delta + M_D)/c,       M = -M_D

    J_s w' = tau + tau_load(w) - b w + s M,    and -s M acts on the pulley

Both sides meet where they switch, and the relation of (delta', M) to (delta, nu) is monotone: the implicit Euler method
is stable with any step, and loses power. Energy is ``J_s w^2/2 + k delta^2/2``, and the loss is never negative::

    M nu - k delta delta' = c delta'^2 + M_D eta

The clutch stays locked or free over an internal step (as faces of the belt stick or slide), and is asked again before
the next one: its opening and closing are late by less than a step. An overrunning pulley without a spring has the
stiffness of its clutch. Machine and bearing are those of the shaft; the pulley has its inertia alone.
"""

from rtcvt.belt.layout import (
    N_DECOUPLER_D,
    N_DECOUPLER_P,
    N_DECOUPLER_X,
    N_DECOUPLER_Y,
    D,
    DecouplerD,
    DecouplerP,
    DecouplerX,
    DecouplerY,
)
from rtcvt.kernel import kernel


@kernel
def decoupler_of(i, data):
    """Number of the decoupler of pulley i, or -1."""
    for m in range(int(data[D.DECOUPLERS])):
        if int(data[int(data[D.DECOUPLER]) + N_DECOUPLER_D * m + DecouplerD.PULLEY]) == i:
            return m
    return -1


@kernel
def decoupler_state(m, data):
    """Place of `DecouplerX` of decoupler m."""
    return int(data[D.X_DECOUPLER]) + N_DECOUPLER_X * m


@kernel
def ahead(m, omega, x, data):
    """nu: speed by which pulley m, turning with omega, winds up its spring [rad/s]."""
    sense = data[int(data[D.DECOUPLER]) + N_DECOUPLER_D * m + DecouplerD.SENSE]
    return sense * (omega - x[decoupler_state(m, data) + DecouplerX.W])


@kernel
def switch_clutches(x, p, data, work):
    """Which clutches are locked (1) or free (0) at `x`, into W_CLUTCH."""
    first = int(data[D.N]) * int(data[D.FACES])
    for m in range(int(data[D.DECOUPLERS])):
        a = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
        i = int(data[int(data[D.DECOUPLER]) + N_DECOUPLER_D * m + DecouplerD.PULLEY])
        M = p[a + DecouplerP.K] * x[decoupler_state(m, data) + DecouplerX.TWIST]
        M += p[a + DecouplerP.C] * ahead(m, x[first + i], x, data)
        work[int(data[D.W_CLUTCH]) + m] = 1.0 if M + p[a + DecouplerP.M_D] >= 0.0 else 0.0


@kernel
def twist_rate(m, omega, x, p, data, work):
    """delta' [rad/s] of decoupler m, whose pulley turns with omega."""
    if work[int(data[D.W_CLUTCH]) + m] != 0.0:
        return ahead(m, omega, x, data)
    a = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
    spring = p[a + DecouplerP.K] * x[decoupler_state(m, data) + DecouplerX.TWIST]
    return -(spring + p[a + DecouplerP.M_D]) / p[a + DecouplerP.C]


@kernel
def clutch_torque(m, omega, x, p, data, work):
    """``s M`` [N.m], by which the pulley drives its shaft, anticlockwise."""
    a = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
    sense = data[int(data[D.DECOUPLER]) + N_DECOUPLER_D * m + DecouplerD.SENSE]
    if work[int(data[D.W_CLUTCH]) + m] == 0.0:
        return -sense * p[a + DecouplerP.M_D]
    M = p[a + DecouplerP.K] * x[decoupler_state(m, data) + DecouplerX.TWIST]
    return sense * (M + p[a + DecouplerP.C] * ahead(m, omega, x, data))


@kernel
def decoupler_rates(m, torque, omega, x, p, data, dx, work):
    """Rates of a shaft on which machine and bearing act by a torque [N.m], and of its spring."""
    at = decoupler_state(m, data)
    driven = torque + clutch_torque(m, omega, x, p, data, work)
    dx[at + DecouplerX.W] = driven / p[int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m + DecouplerP.J]
    dx[at + DecouplerX.TWIST] = twist_rate(m, omega, x, p, data, work)


@kernel
def decoupler_columns(m, i, row, scale, p, data, jac, work):
    """Add `scale` times the derivative of ``s M`` of decoupler m, of pulley i, to a row."""
    if work[int(data[D.W_CLUTCH]) + m] == 0.0:
        return
    a = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
    sense = data[int(data[D.DECOUPLER]) + N_DECOUPLER_D * m + DecouplerD.SENSE]
    at = row * int(data[D.N_X])
    state = decoupler_state(m, data)
    jac[at + state + DecouplerX.TWIST] += scale * sense * p[a + DecouplerP.K]
    jac[at + int(data[D.N]) * int(data[D.FACES]) + i] += scale * p[a + DecouplerP.C]
    jac[at + state + DecouplerX.W] -= scale * p[a + DecouplerP.C]


@kernel
def decoupler_rows(m, slope, p, data, jac, work):
    """The rows of a decoupler; `slope` is that of the torque of machine and bearing over the shaft's speed."""
    a = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
    row = int(data[D.DECOUPLER]) + N_DECOUPLER_D * m
    i = int(data[row + DecouplerD.PULLEY])
    n_x = int(data[D.N_X])
    at = decoupler_state(m, data)
    inverse = 1.0 / p[a + DecouplerP.J]
    jac[(at + DecouplerX.W) * n_x + at + DecouplerX.W] += slope * inverse
    decoupler_columns(m, i, at + DecouplerX.W, inverse, p, data, jac, work)
    twist = (at + DecouplerX.TWIST) * n_x
    if work[int(data[D.W_CLUTCH]) + m] != 0.0:
        jac[twist + int(data[D.N]) * int(data[D.FACES]) + i] += data[row + DecouplerD.SENSE]
        jac[twist + at + DecouplerX.W] -= data[row + DecouplerD.SENSE]
    else:
        jac[twist + at + DecouplerX.TWIST] -= p[a + DecouplerP.K] / p[a + DecouplerP.C]


@kernel
def decoupler_energy(x, p, data):
    """Energy of all shafts and springs [J]."""
    energy = 0.0
    for m in range(int(data[D.DECOUPLERS])):
        a = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
        w = x[decoupler_state(m, data) + DecouplerX.W]
        twist = x[decoupler_state(m, data) + DecouplerX.TWIST]
        energy += 0.5 * p[a + DecouplerP.J] * w * w + 0.5 * p[a + DecouplerP.K] * twist * twist
    return energy


@kernel
def decoupler_loss(x, p, data, work):
    """Power that all dampers and clutches lose [W]."""
    loss = 0.0
    first = int(data[D.N]) * int(data[D.FACES])
    for m in range(int(data[D.DECOUPLERS])):
        a = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
        omega = x[first + int(data[int(data[D.DECOUPLER]) + N_DECOUPLER_D * m + DecouplerD.PULLEY])]
        rate = twist_rate(m, omega, x, p, data, work)
        loss += p[a + DecouplerP.C] * rate * rate + p[a + DecouplerP.M_D] * (rate - ahead(m, omega, x, data))
    return loss


@kernel
def decoupler_outputs(x, p, data, y, work):
    """Outputs of the decouplers."""
    first = int(data[D.N]) * int(data[D.FACES])
    at = int(data[D.Y_DECOUPLER])
    for m in range(int(data[D.DECOUPLERS])):
        row = int(data[D.DECOUPLER]) + N_DECOUPLER_D * m
        omega = x[first + int(data[row + DecouplerD.PULLEY])]
        y[at + DecouplerY.W] = omega
        y[at + DecouplerY.TWIST] = x[decoupler_state(m, data) + DecouplerX.TWIST]
        y[at + DecouplerY.M] = data[row + DecouplerD.SENSE] * clutch_torque(m, omega, x, p, data, work)
        at += N_DECOUPLER_Y
    y[at] = decoupler_loss(x, p, data, work)
