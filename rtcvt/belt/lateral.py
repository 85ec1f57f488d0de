"""Kernels of spans that swing across: a few modes of each, table ``lateral`` of the unit file.

A span is the travelling beam of `rtcvt.belt.resonance`, of length L with what its ends add, whose ends move across by a
and b. Its displacement is ``w = a (1 - s/L) + b s/L + sum z_k sin(k pi s/L)``. With the projections ``y_k = z_k +
alpha_k a + beta_k b`` of all of it on the sines, ``alpha_k = 2/(k pi)``, ``beta_k = -(-1)^k alpha_k`` and ``kappa_k = k
pi/L``, Galerkin's equations need no acceleration of an end::

    y_k'' + c_k z_k' + 4 v/L sum g_kn z_n' + 2 v (b' - a')/L (alpha_k + beta_k)
        + ((T + dT - m' v^2) kappa_k^2 + EI kappa_k^4) z_k/m' = 0,    g_kn = 2 k n/(k^2 - n^2) where k + n is odd

    dT = EA/L_b (L/4 sum kappa_k^2 z_k^2 + (b - a)^2/(2 L))

dT is the tension by which the belt of length L_b, all of it as pulleys roll, resists the stretch of a span that swings
(Kirchhoff 1876; EA/L between pulleys that stand). It bounds resonances, those by a pulsating tension too. ``c_k = 2
zeta omega_1 k^2``. Ends move with the tension (`rtcvt.belt.span_ends`), with arms, and with the run-out of their
pulleys, ``e cos(phi - angle of the normal)``.

The motion has no effect on the rest of the drive. It follows each communication step with the tension of its two ends,
by Runge and Kutta's method of fourth order. In a system of connected units spans do not swing.
"""

import math

from rtcvt.belt import places
from rtcvt.belt.layout import Arc, ArmX, BeltP, D, Lateral, Span
from rtcvt.belt.resonance import span_damping_ratio, span_frequency, wave_number
from rtcvt.kernel import kernel
from rtcvt.model.places import entry
from rtcvt.numerics.elementary import cos, sin

TURN = 0.3  # angle by which the fastest mode turns in a part of a step [rad]
MAX_PARTS = 200  # of a step
LARGE = 0.1  # share of its length from which a span's swing is beyond these equations


@kernel
def odd(n):
    """1 if a number from 0 on is odd, else 0: C's remainder has another sign than Python's, and kernels have none."""
    return n - 2 * int(0.5 * n)


@kernel
def end_motion(rate, end, j, t, h, T_0, T_1, x, p, data):
    """Motion of the start (end = 0) or end (1) of span j [m] at t from the start of a step h; `rate` 1: its rate."""
    i = j if end == 0 else places.after(j, data)
    row = places.lateral(j, data)
    slope = (T_1 - T_0) / h
    by = data[row + Lateral.BY_START + end]
    moved = by * slope if rate == 1 else by * (T_0 + slope * t - p[BeltP.T_0])
    m = places.arm_of_pulley(i, data)
    if m >= 0:
        at = places.x_arm(m, data)
        turned = x[at + ArmX.W] if rate == 1 else x[at + ArmX.THETA] - (h - t) * x[at + ArmX.W]
        moved += data[row + Lateral.ARM_START + end] * turned
    e = data[places.lateral(i, data) + Lateral.RUNOUT]
    if e > 0.0:
        omega = places.speed(i, x, data)
        phi = x[places.x_lateral(i, data)] - (h - t) * omega
        arc = places.arc(j, data)
        if rate == 1:
            moved += e * omega * (sin(phi) * data[arc + Arc.T_Y] + cos(phi) * data[arc + Arc.T_X])
        else:
            moved += e * (sin(phi) * data[arc + Arc.T_X] - cos(phi) * data[arc + Arc.T_Y])
    return moved


@kernel
def lateral_rates(j, t, h, T_0, T_1, state, out, x, p, data, work):
    """Rates of the modes of span j, whose y_k and y_k' start at `state` in work, to `out`."""
    K = places.modes(data)
    k_1 = wave_number(j, data, work)
    L = math.pi / k_1
    T = T_0 + (T_1 - T_0) * t / h
    stretch = 1.0 + T / p[BeltP.EA]
    m = p[BeltP.M] / stretch
    v = x[places.x_flow(data)] * stretch
    a = end_motion(0, 0, j, t, h, T_0, T_1, x, p, data)
    b = end_motion(0, 1, j, t, h, T_0, T_1, x, p, data)
    a_rate = end_motion(1, 0, j, t, h, T_0, T_1, x, p, data)
    b_rate = end_motion(1, 1, j, t, h, T_0, T_1, x, p, data)
    longer = 0.5 * (b - a) * (b - a) / L
    for n in range(1, K + 1):
        share = 2.0 / (n * math.pi)
        sign = 1.0 if odd(n) == 1 else -1.0
        z = work[state + n - 1] - share * (a + sign * b)
        longer += 0.25 * L * n * n * k_1 * k_1 * z * z
    force = T + p[BeltP.EA] * longer / data[D.BELT_LENGTH] - m * v * v
    for k in range(1, K + 1):
        share = 2.0 / (k * math.pi)
        sign = 1.0 if odd(k) == 1 else -1.0
        kappa = k * k_1
        z = work[state + k - 1] - share * (a + sign * b)
        pull = -(force + data[D.EI] * kappa * kappa) * kappa * kappa * z / m
        pull -= (
            work[places.span(j, data) + Span.DECAY]
            * k
            * k
            * (work[state + K + k - 1] - share * (a_rate + sign * b_rate))
        )
        pull -= 2.0 * v / L * (b_rate - a_rate) * share * (1.0 + sign)
        for n in range(1, K + 1):
            if odd(k + n) == 1:
                other = 2.0 / (n * math.pi)
                z_rate = work[state + K + n - 1] - other * (a_rate - sign * b_rate)
                pull -= 8.0 * v / L * k * n / (k * k - n * n) * z_rate
        work[out + k - 1] = work[state + K + k - 1]
        work[out + K + k - 1] = pull


@kernel
def swing_spans(h, x, p, data, work):
    """Advance the lateral motion of all spans over a step that has ended; 1 if one swings too far, else 0."""
    K = places.modes(data)
    scratch = entry(D.W_LATERAL, data)
    beyond = 0
    for i in range(places.pulleys(data)):
        phi = x[places.x_lateral(i, data)] + h * places.speed(i, x, data)
        turns = int(phi / (2.0 * math.pi)) if abs(phi) < 1e6 else 0
        x[places.x_lateral(i, data)] = phi - 2.0 * math.pi * turns
    for j in range(places.pulleys(data)):
        at = places.x_lateral(j, data)
        modes = at + 2
        T_1 = work[places.span(j, data) + Span.TENSION]
        T_0 = x[at + 1]
        if T_0 == 0.0:  # at the start
            T_0 = T_1
            a = end_motion(0, 0, j, 0.0, h, T_0, T_1, x, p, data)
            b = end_motion(0, 1, j, 0.0, h, T_0, T_1, x, p, data)
            for k in range(1, K + 1):
                x[modes + k - 1] = 2.0 / (k * math.pi) * (a + (b if odd(k) == 1 else -b))
        q = x[places.x_flow(data)]
        omega = span_frequency(j, q, T_1, p, data, work)
        decay = 0.0
        if omega > 0.0:
            decay = 2.0 * omega * (span_damping_ratio(j, q, T_1, omega, p, data, work) + data[D.LATERAL_DAMPING])
        work[places.span(j, data) + Span.DECAY] = decay
        k_1 = wave_number(j, data, work)
        high = T_1 if T_1 > T_0 else T_0
        fast = K * k_1 * math.sqrt((high + data[D.EI] * K * K * k_1 * k_1) / p[BeltP.M]) if p[BeltP.M] > 0.0 else 0.0
        parts = h * fast / TURN + 1.0
        count = int(parts) if parts < MAX_PARTS else MAX_PARTS
        dt = h / count
        for i in range(2 * K):
            work[scratch + i] = x[modes + i]
        if p[BeltP.M] > 0.0:
            for part in range(count):
                for i in range(2 * K):
                    work[scratch + 2 * K + i] = work[scratch + i]
                for stage in range(4):
                    late = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
                    rates = scratch + (4 + 2 * stage) * K
                    lateral_rates(j, (part + late) * dt, h, T_0, T_1, scratch + 2 * K, rates, x, p, data, work)
                    following = 0.5 if stage < 2 else 1.0
                    for i in range(2 * K):
                        work[scratch + 2 * K + i] = work[scratch + i] + following * dt * work[rates + i]
                for i in range(2 * K):
                    one = work[scratch + 4 * K + i] + work[scratch + 10 * K + i]
                    two = work[scratch + 6 * K + i] + work[scratch + 8 * K + i]
                    work[scratch + i] += dt / 6.0 * (one + 2.0 * two)
        far = LARGE * math.pi / k_1
        bounded = 1
        for k in range(K):
            if not abs(work[scratch + k]) < far:
                beyond = 1
            if not abs(work[scratch + k]) < 10.0 * far or not abs(work[scratch + K + k]) < 1e6:
                bounded = 0
        for i in range(2 * K):
            x[modes + i] = work[scratch + i] if bounded == 1 else 0.0
        x[at + 1] = T_1
    return beyond


@kernel
def lateral_outputs(x, p, data, y, work):
    """Write the displacement of the middle of each span; write the tensions of the spans first."""
    K = places.modes(data)
    for j in range(places.pulleys(data)):
        at = places.x_lateral(j, data)
        T = work[places.span(j, data) + Span.TENSION]
        a = end_motion(0, 0, j, 1.0, 1.0, T, T, x, p, data)
        b = end_motion(0, 1, j, 1.0, 1.0, T, T, x, p, data)
        found = 0.5 * (a + b)
        sign = 1.0
        for k in range(1, K + 1, 2):
            found += sign * (x[at + 1 + k] - 2.0 / (k * math.pi) * (a + b))
            sign = -sign
        y[entry(D.Y_LATERAL, data) + j] = found
