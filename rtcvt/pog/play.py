"""Play of a contact of the full model, as real-time kernels.

A contact with play b is an element of the elastic model. Its teeth move by s, from the middle of the play, at
``v = R omega``. A side is pressed by u; its damper d is in series with a spring K_2 = 10 K, which z leads::

    u = min(max(K_2 z/(K + K_2), s - b/2), s + b/2),    F = K u + K_2 (u - z),    d z' = K_2 (u - z)

F is zero in the gap, where the teeth spring back; it has no jump where they meet, and never pulls. At a kink, with
``s = s_0 + h v`` over a step, this is a row of the problem of `rtcvt.pog.elements`, with F of one sign. Power is
balanced: ``F v = d/dt (K u^2 + K_2 (u - z)^2)/2 + d z'^2``.
"""

from rtcvt.kernel import kernel
from rtcvt.model.stepping import HUGE
from rtcvt.pog import places
from rtcvt.pog.layout import Box, ElementP, ElementW

DAMPER_SPRING_RATIO = 10.0  # K_2/K


@kernel
def damper_spring(e, p, data):
    """K_2 [N/m] of a contact with play, 0 without a damper."""
    k = places.contact_of(e, data)
    K_2 = DAMPER_SPRING_RATIO * places.contact_stiffness(k, p, data)
    return K_2 if places.contact_damping(k, p, data) > 0.0 else 0.0


@kernel
def damper_rate(e, p, data):
    """K_2/d [1/s], 0 without a damper."""
    K_2 = damper_spring(e, p, data)
    return K_2 / places.contact_damping(places.contact_of(e, data), p, data) if K_2 > 0.0 else 0.0


@kernel
def half_play(e, p, data):
    """b/2 [m]."""
    return 0.5 * p[places.p_element(e, data) + ElementP.CAPACITY]


@kernel
def travel(e, x, p, data):
    """s [m]."""
    k = places.contact_of(e, data)
    return x[places.x_force(k, data)] / places.contact_stiffness(k, p, data)


@kernel
def pressed(e, x, p, data):
    """u [m]."""
    K_2 = damper_spring(e, p, data)
    u = K_2 / (places.contact_stiffness(places.contact_of(e, data), p, data) + K_2) * x[places.x_twist(e, data)]
    half = half_play(e, p, data)
    s = travel(e, x, p, data)
    if u < s - half:
        return s - half
    return s + half if u > s + half else u


@kernel
def pressed_side(e, x, p, data):
    """The side whose teeth are pressed: 1 or -1, 0 if neither is."""
    s = travel(e, x, p, data)
    u = pressed(e, x, p, data)
    half = half_play(e, p, data)
    if u == s - half:
        return 1.0
    return -1.0 if u == s + half else 0.0


@kernel
def play_force(e, x, p, data):
    """F [N]."""
    if pressed_side(e, x, p, data) == 0.0:
        return 0.0
    u = pressed(e, x, p, data)
    K = places.contact_stiffness(places.contact_of(e, data), p, data)
    return K * u + damper_spring(e, p, data) * (u - x[places.x_twist(e, data)])


@kernel
def lead_rate(e, x, p, data):
    """z' [m/s]."""
    return damper_rate(e, p, data) * (pressed(e, x, p, data) - x[places.x_twist(e, data)])


@kernel
def play_energy(e, x, p, data):
    """Energy [J] in the teeth."""
    u = pressed(e, x, p, data)
    left = u - x[places.x_twist(e, data)]
    K = places.contact_stiffness(places.contact_of(e, data), p, data)
    return 0.5 * (K * u * u + damper_spring(e, p, data) * left * left)


@kernel
def play_jacobian(e, x, p, data, jac, work):
    """Add to the rows of the speeds, and write those of z and the heat. Call `element_responses` first."""
    n = places.states(data)
    k = places.contact_of(e, data)
    a = places.response_of(e, data)
    K = places.contact_stiffness(k, p, data)
    K_2 = damper_spring(e, p, data)
    lag = damper_rate(e, p, data)
    F = places.x_force(k, data)
    z = places.x_twist(e, data)
    by_s = 0.0
    by_z = -lag * K / (K + K_2)
    if pressed_side(e, x, p, data) != 0.0:
        by_s = lag / K
        by_z = -lag
        for i in range(places.gears(data)):
            jac[i * n + F] -= (1.0 + K_2 / K) * work[a + i]
            jac[i * n + z] += K_2 * work[a + i]
    loss = 2.0 * places.contact_damping(k, p, data) * lead_rate(e, x, p, data)
    jac[z * n + F] = by_s
    jac[z * n + z] = by_z
    jac[places.x_heat(e, data) * n + F] = loss * by_s
    jac[places.x_heat(e, data) * n + z] = loss * by_z


@kernel
def eased_spring(e, h, p, data):
    """K_2 over the change of u - z that z follows in a step of the implicit Euler method [N/m]."""
    return damper_spring(e, p, data) / (1.0 + h * damper_rate(e, p, data))


@kernel
def play_stiffness(e, h, p, data):
    """F at the end of a step of the implicit Euler method for 1 m more of s [N/m]."""
    return places.contact_stiffness(places.contact_of(e, data), p, data) + eased_spring(e, h, p, data)


@kernel
def play_load(e, side, s, h, x, p, data):
    """F [N] at the end of such a step with the travel `s`, on one side of the play, below zero where it would pull."""
    depth = s - side * half_play(e, p, data)
    eased = eased_spring(e, h, p, data) * x[places.x_twist(e, data)]
    return side * (play_stiffness(e, h, p, data) * depth - eased)


@kernel
def play_row(e, side, h, x, p, data, work):
    """Write the row of a contact that is pressed on one side or on none into `Box`; returns S [m/(N.s)]."""
    S = 1.0 / (h * play_stiffness(e, h, p, data))
    load = play_load(e, side, travel(e, x, p, data), h, x, p, data)
    work[places.box(Box.Q, data) + e] = work[places.element_work(e, data) + ElementW.FREE_DW] + S * side * load
    work[places.box(Box.LOW, data) + e] = 0.0 if side > 0.0 else -HUGE
    work[places.box(Box.HIGH, data) + e] = HUGE if side > 0.0 else 0.0
    work[places.box(Box.SIDE, data) + e] = 0.0 if load > 0.0 else -side
    return S


@kernel
def play_lead(e, F, h, x, p, data):
    """z [m] at the end of a step of the implicit Euler method with the force `F`."""
    K = places.contact_stiffness(places.contact_of(e, data), p, data)
    a = h * damper_rate(e, p, data) / (K + damper_spring(e, p, data))
    return (x[places.x_twist(e, data)] + a * F) / (1.0 + a * K)
