"""Hybrid and rigid model of any belt drive as real-time kernels.

Pulley i turns with omega_i; its rim has the speed ``V = sigma r omega`` along the belt, whose sense is the order of the
pulleys. A cell of the belt, a span or a part of a wrap, has the fixed length L and holds the length l without load::

    lambda = L/l,    T = max(EA (lambda - 1), 0),    e = T^2/(2 EA),    h = lambda T - e

Cells meet in faces, F on each wrap. Through a face flows the length without load q per time, and the belt has the mass
m per such length. What flows in and does not flow out stretches a cell less::

    l' = q_in - q_out,    q = (V + s)/lambda_up

The belt sticks to the rim where it comes from (up: upstream), and slides with the speed s once friction does not hold
it. As the mass flow ``G = m q`` is constant along the belt, ``T - G v`` grows at most as exp(mu phi) (Euler; with
inertia Bechtel, Vohra, Jacob and Carlson 2000), here on each face's share of the wrap angle beta::

    T_hat = T - m q_m^2 (1 + T/EA),    kappa = exp(mu beta/F) - 1,    P = kappa max(min(T_hat_u, T_hat_d), 0) + 1e-3 T_0
    s = v_1 (T_hat_d - T_hat_u -+ P)/P_0 where |T_hat_d - T_hat_u| > P, else 0;    P_0 = P at T_hat = T_0

(u, d: the cells before and behind the face; v_1 = 1000 m/s, so that sliding at 1 m/s adds 0.1 % of P_0.) In a steady
state this is creep theory (Reynolds 1874; Johnson, *Contact Mechanics*, 1985, section 8.4) with its integral along the
wrap replaced by a sum: the faces at the entry stick and tension is constant there, those at the exit slide at the
limit. If all slide the wrap slips. The mean flow q_m follows those of the faces, ``q_m' = (mean(q) - q_m)/T_q``,
T_q = 5 ms.

A span damps with a force beside its tension. What comes into it at a speed V sticks somewhere on the wrap before, with
the stretch lambda_a there, so that (in a steady state nothing is damped) ::

    F_d = g D/L (rho_e V_e - rho_s V_s),    rho = lambda/lambda_a where belt comes in, 1 where it goes out

pulls on the rims by ``rho_s F_d`` and ``-rho_e F_d``. g goes from 1 to 0 where a wrap at one of its ends goes from 90 %
to all of its limit, as it holds no more. For pulley i, with span i behind it and the share of the belt that lies on it
and on half of both spans in J::

    J omega' = tau + tau_load(omega) - b omega + sigma r (T_i - T_(i-1) + rho_s F_d,i - rho_e F_d,i-1)

This is the power-oriented form of Tebaldi and Zanasi 2022, with the rows of R that have -sigma r and sigma r of the
pulleys at the ends of a span, and the springs between them fed with belt. Power is balanced exactly: the sum of
``tau omega`` is the rate of ``E = sum l e + sum J omega^2/2`` plus losses, each of which is never negative::

    face      integral of (q lambda - V) dT from u to d  =  q (h_d - h_u) - V (T_d - T_u)
    span      g D/L (rho_e V_e - rho_s V_s)^2
    bearing   b omega^2

and what the loads take. Neglected: that momentum of the belt changes along a wrap, ``m q^2/EA`` of the force there.

**Steps.** Which faces slide is fixed over an internal step, which is then smooth (`rtcvt.integrators`), and the step is
made again if it ends with a face that sticks beyond its limit, or if the mean of a sliding speed is against friction.
These means, integrated with the state, are what is given as slip and loss after a step.

**Rigid model.** All rims have the speed v of the belt; the balances of the pulleys give the differences of tension, and
the belt's length gives their mean::

    v' sum J/r^2 = sum sigma/r (tau + tau_load - b omega),    sum T_i (L_i + half of both wraps) = T_0 sum(...)

A flange with a given speed turns its pulley through the coupling of `rtcvt.pog.flange`.
"""

import math

from rtcvt.belt.layout import (
    BETA,
    EA,
    FACES,
    FLANGE,
    GEOMETRY,
    INTERNAL_STEP,
    LOAD,
    N_U,
    N_X,
    N_Y,
    P_B,
    P_BELT,
    P_COUPLING,
    P_J,
    P_MU,
    RADIUS,
    RIGID,
    ROW,
    SIGMA,
    SPAN,
    SPEED,
    T_0,
    T_X,
    T_Y,
    TORQUE,
    V_START,
    W_CELL,
    W_FACE,
    W_GATE,
    W_INERTIA,
    W_KAPPA,
    W_LENGTH,
    W_MEAN,
    W_SAVED,
    W_SLIDE,
    W_STEP,
    W_TENSION,
    X_COUPLING,
    Y_COUPLING,
    Y_COUPLING_E,
    Y_COUPLING_LOSS,
    Y_CREEP,
    Y_E,
    Y_F_X,
    Y_F_Y,
    Y_FRICTION,
    Y_LOAD,
    Y_N,
    Y_PULLEY,
    Y_SLIP,
    Y_SPAN,
    Y_TENSION,
    Y_USE,
    Y_V,
    Y_W,
    D,
    M,
    N,
)
from rtcvt.elementary import exp
from rtcvt.integrators import STAGES, rosenbrock_matrix, rosenbrock_new, rosenbrock_solve, rosenbrock_stage
from rtcvt.kernel import FAILED, OK, SATURATED, kernel

__all__ = ["derivative", "initialise", "jacobian", "output", "step"]

HUGE = 1e12  # beyond this [SI], as for Inf and NaN, a number is no state or input
MOST_STEPS = 1e6  # internal steps in one communication step
V_1 = 1000.0  # [m/s]
T_Q = 5e-3  # [s]
MARGIN = 1e-4  # share of a face's limit within which it may slide
PASSES = 3  # of one internal step
FADE = 0.1  # share of a wrap's limit over which a span's damping fades out
LEAST = 1e-3  # share of T_0 that a face holds without tension


@kernel
def rim_radius(i, p):
    """``sigma r`` of a pulley [m]."""
    row = int(p[GEOMETRY]) + ROW * i
    return p[row + SIGMA] * p[row + RADIUS]


@kernel
def speed(i, x, p):
    """Speed of a pulley in the hybrid model [rad/s]."""
    return x[int(p[N]) * int(p[FACES]) + i]


@kernel
def load_torque(i, slope, omega, p):
    """Torque of a pulley's load at a speed [N.m], or its slope [N.m.s/rad]."""
    row = int(p[LOAD]) + 2 * i
    first = int(p[row])
    points = int(p[row + 1])
    if points == 0:
        return 0.0
    a = first
    for k in range(1, points - 1):
        if omega > p[first + 2 * k]:
            a = first + 2 * k
    gradient = (p[a + 3] - p[a + 1]) / (p[a + 2] - p[a])
    return gradient if slope == 1 else p[a + 1] + gradient * (omega - p[a])


@kernel
def flange_torque(i, x, u, p):
    """Torque at a pulley's flange [N.m]."""
    row = int(p[FLANGE]) + 3 * i
    kind = int(p[row])
    if kind == TORQUE:
        return u[int(p[row + 1])]
    if kind == SPEED:
        at = int(p[X_COUPLING]) + 2 * int(p[row + 2])
        return x[at] + x[at + 1]
    return 0.0


@kernel
def coupling_rates(i, omega, x, u, p, dx):
    """Rates of the two springs of a flange with a given speed, see `rtcvt.pog.flange`."""
    row = int(p[FLANGE]) + 3 * i
    if int(p[row]) == SPEED:
        k = int(p[row + 2])
        at = int(p[X_COUPLING]) + 2 * k
        c = p[int(p[P_COUPLING]) + 2 * k]
        d = p[int(p[P_COUPLING]) + 2 * k + 1]
        dx[at] = c * (u[int(p[row + 1])] - omega)
        dx[at + 1] = dx[at] - c / d * x[at + 1]


@kernel
def prepare(p, work):
    """What depends on parameters alone: lengths of the cells, inertias, limits of the wraps."""
    n = int(p[N])
    F = int(p[FACES])
    belt = int(p[P_BELT])
    stretch = 1.0 + p[belt + T_0] / p[belt + EA]
    length = int(p[W_LENGTH])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        span = int(p[GEOMETRY]) + ROW * j
        row = int(p[GEOMETRY]) + ROW * i
        work[length + j * F] = p[span + SPAN]
        for k in range(1, F):
            work[length + j * F + k] = p[row + RADIUS] * p[row + BETA] / (F - 1)
        after = int(p[GEOMETRY]) + ROW * i
        share = p[row + RADIUS] * p[row + BETA] + 0.5 * (p[span + SPAN] + p[after + SPAN])
        inertia = p[belt + M] * share / stretch * p[row + RADIUS] * p[row + RADIUS]
        work[int(p[W_INERTIA]) + i] = p[int(p[P_J]) + i] + inertia
        angle = p[int(p[P_MU]) + i] * p[row + BETA]
        work[int(p[W_KAPPA]) + i] = exp(angle) - 1.0
        work[int(p[W_KAPPA]) + n + i] = exp(angle / F) - 1.0


# --- hybrid model -----------------------------------------------------------------------------------------------------


@kernel
def cells(x, p, work):
    """Stretch and tension of all cells, with their derivatives to l."""
    n = int(p[N])
    count = n * int(p[FACES])
    belt = int(p[P_BELT])
    stiffness = p[belt + EA]
    q_m = x[n + count]
    flux = p[belt + M] * q_m * q_m
    a = int(p[W_CELL])
    for c in range(count):
        l = x[c]  # noqa: E741
        lam = work[int(p[W_LENGTH]) + c] / l
        T = stiffness * (lam - 1.0)
        dT = -stiffness * lam / l
        if T < 0.0:
            T = 0.0
            dT = 0.0
        work[a + c] = lam
        work[a + count + c] = T
        work[a + 2 * count + c] = dT
        work[a + 3 * count + c] = T - flux * (1.0 + T / stiffness)
        work[a + 4 * count + c] = dT * (1.0 - flux / stiffness)


@kernel
def limit(kappa, T_hat, p):
    """Largest jump P of T_hat [N] above the smaller of both sides."""
    least = LEAST * p[int(p[P_BELT]) + T_0]
    return least + kappa * T_hat if T_hat > 0.0 else least


@kernel
def sliding(margin, x, p, work):
    """Which faces slide, and which way (1: the belt is faster than the rim, -1, or 0), into W_SLIDE; expects `cells`.

    They do from ``1 - margin`` of the limit on.
    """
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    hat = int(p[W_CELL]) + 3 * count
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        kappa = work[int(p[W_KAPPA]) + n + i]
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            jump = work[hat + d] - work[hat + u]
            low = work[hat + d] if jump < 0.0 else work[hat + u]
            slide = 0.0
            if abs(jump) > (1.0 - margin) * limit(kappa, low, p):
                slide = -1.0 if jump < 0.0 else 1.0
            work[int(p[W_SLIDE]) + u] = slide


@kernel
def flows(x, p, work):
    """Flow through all faces with its derivatives; expects `cells` and `sliding`."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    belt = int(p[P_BELT])
    q_m = x[n + count]
    cell = int(p[W_CELL])
    tension = cell + count
    hat = cell + 3 * count
    slope = cell + 4 * count
    face = int(p[W_FACE])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        V = rim_radius(i, p) * speed(i, x, p)
        kappa = work[int(p[W_KAPPA]) + n + i]
        rate = V_1 / limit(kappa, p[belt + T_0], p)
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            slide = work[int(p[W_SLIDE]) + u]
            s = 0.0
            s_u = 0.0
            s_d = 0.0
            s_q = 0.0
            if slide != 0.0:
                low = d if slide < 0.0 else u
                P = limit(kappa, work[hat + low], p)
                s = rate * (work[hat + d] - work[hat + u] - slide * P)
                by_low = -slide * rate * kappa if work[hat + low] > 0.0 else 0.0
                by_u = -rate + (by_low if low == u else 0.0)
                by_d = rate + (by_low if low == d else 0.0)
                s_u = by_u * work[slope + u]
                s_d = by_d * work[slope + d]
                along = by_u * (1.0 + work[tension + u] / p[belt + EA]) + by_d * (
                    1.0 + work[tension + d] / p[belt + EA]
                )
                s_q = -2.0 * p[belt + M] * q_m * along
            up = u if V + s >= 0.0 else d
            w = 1.0 / work[cell + up]
            q_up = (V + s) / work[int(p[W_LENGTH]) + up]
            work[face + u] = (V + s) * w
            work[face + count + u] = s
            work[face + 2 * count + u] = w
            work[face + 3 * count + u] = s_u * w + (q_up if up == u else 0.0)
            work[face + 4 * count + u] = s_d * w + (q_up if up == d else 0.0)
            work[face + 5 * count + u] = s_q * w
            work[face + 6 * count + u] = s_u
            work[face + 7 * count + u] = s_d
            work[face + 8 * count + u] = s_q


@kernel
def gates(x, p, work):
    """Use of each wrap's limit and what it leaves of the damping, with its derivatives; expects `cells`."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    m = p[int(p[P_BELT]) + M]
    stiffness = p[int(p[P_BELT]) + EA]
    q_m = x[n + count]
    cell = int(p[W_CELL])
    tension = cell + count
    hat = cell + 3 * count
    slope = cell + 4 * count
    gate = int(p[W_GATE])
    for i in range(n):
        u = (i - 1) * F if i > 0 else count - F
        d = i * F
        kappa = work[int(p[W_KAPPA]) + i]
        jump = work[hat + d] - work[hat + u]
        low = d if jump < 0.0 else u
        P = limit(kappa, work[hat + low], p)
        use = abs(jump) / P
        g = (1.0 - use) / FADE
        work[gate + i] = use
        work[gate + n + i] = 0.0 if g < 0.0 else (1.0 if g > 1.0 else g)
        work[gate + 2 * n + i] = 0.0
        work[gate + 3 * n + i] = 0.0
        work[gate + 4 * n + i] = 0.0
        if g > 0.0 and g < 1.0:
            by_jump = (1.0 if jump < 0.0 else -1.0) / (P * FADE)
            by_low = use * kappa / (P * FADE) if work[hat + low] > 0.0 else 0.0
            by_u = -by_jump + (by_low if low == u else 0.0)
            by_d = by_jump + (by_low if low == d else 0.0)
            work[gate + 2 * n + i] = by_u * work[slope + u]
            work[gate + 3 * n + i] = by_d * work[slope + d]
            along = by_u + by_d + (by_u * work[tension + u] + by_d * work[tension + d]) / stiffness
            work[gate + 4 * n + i] = -2.0 * m * q_m * along


@kernel
def start_source(j, x, p, work):
    """Cell whose stretch the belt has when it leaves span j's first pulley: the span, if that turns backwards."""
    F = int(p[FACES])
    count = int(p[N]) * F
    c = j * F
    if rim_radius(j, p) * speed(j, x, p) < 0.0:
        return c
    last = c - 1 if c > 0 else count - 1
    for k in range(F):
        if work[int(p[W_SLIDE]) + last - k] == 0.0:
            return last - k
    return last


@kernel
def end_source(j, i, x, p, work):
    """The same where span j comes to pulley i, which sends belt into it if it turns backwards."""
    F = int(p[FACES])
    count = int(p[N]) * F
    c = j * F
    if rim_radius(i, p) * speed(i, x, p) >= 0.0:
        return c
    for k in range(F):
        if work[int(p[W_SLIDE]) + c + k] == 0.0:
            return c + k + 1 if c + k + 1 < count else 0
    return c + 1


@kernel
def ratio(cell, source, p, work):
    """rho: stretch of a span by that of the belt that comes from `source`."""
    return work[int(p[W_CELL]) + cell] / work[int(p[W_CELL]) + source]


@kernel
def start_ratio(j, x, p, work):
    """rho_s of span j."""
    return ratio(j * int(p[FACES]), start_source(j, x, p, work), p, work)


@kernel
def end_ratio(j, i, x, p, work):
    """rho_e of span j, which comes to pulley i."""
    return ratio(j * int(p[FACES]), end_source(j, i, x, p, work), p, work)


@kernel
def stretch_rate(j, i, x, p, work):
    """``rho_e V_e - rho_s V_s`` of the span from pulley j to pulley i [m/s]."""
    V_s = rim_radius(j, p) * speed(j, x, p)
    V_e = rim_radius(i, p) * speed(i, x, p)
    return end_ratio(j, i, x, p, work) * V_e - start_ratio(j, x, p, work) * V_s


@kernel
def span_damping(j, i, p, work):
    """``g D/L`` of the span from pulley j to pulley i [N.s/m]."""
    gate = int(p[W_GATE]) + int(p[N])
    return work[gate + j] * work[gate + i] * p[int(p[P_BELT]) + D] / p[int(p[GEOMETRY]) + ROW * j + SPAN]


@kernel
def hybrid_derivative(x, u, p, dx, work):
    """Rates of the hybrid model, faces sliding as in W_SLIDE; expects `cells`."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    flows(x, p, work)
    gates(x, p, work)
    tension = int(p[W_CELL]) + count
    face = int(p[W_FACE])
    for i in range(n):
        j = i - 1 if i > 0 else n - 1
        omega = speed(i, x, p)
        force = work[tension + i * F] - work[tension + j * F]
        after = i + 1 if i + 1 < n else 0
        force += start_ratio(i, x, p, work) * span_damping(i, after, p, work) * stretch_rate(i, after, x, p, work)
        force -= end_ratio(j, i, x, p, work) * span_damping(j, i, p, work) * stretch_rate(j, i, x, p, work)
        tau = flange_torque(i, x, u, p) + load_torque(i, 0, omega, p) - p[int(p[P_B]) + i] * omega
        dx[count + i] = (tau + rim_radius(i, p) * force) / work[int(p[W_INERTIA]) + i]
        coupling_rates(i, omega, x, u, p, dx)
    mean = 0.0
    for c in range(count):
        before = c - 1 if c > 0 else count - 1
        dx[c] = work[face + before] - work[face + c]
        mean += work[face + c]
    dx[n + count] = (mean / count - x[n + count]) / T_Q


@kernel
def damping_row(row, scale, rho, j, i, x, p, jac, work):
    """Add ``scale`` times the derivative of ``rho F_d``, rho held, to a row; F_d is that of the span from j to i."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    n_x = int(p[N_X])
    a = row * n_x
    c = j * F
    source_s = start_source(j, x, p, work)
    source_e = end_source(j, i, x, p, work)
    gate = int(p[W_GATE])
    V_s = rim_radius(j, p) * speed(j, x, p)
    V_e = rim_radius(i, p) * speed(i, x, p)
    rho_s = ratio(c, source_s, p, work)
    rho_e = ratio(c, source_e, p, work)
    damping = scale * rho * span_damping(j, i, p, work)
    jac[a + count + j] -= damping * rho_s * rim_radius(j, p)
    jac[a + count + i] += damping * rho_e * rim_radius(i, p)
    jac[a + c] += damping * V_s * rho_s / x[c]
    jac[a + source_s] -= damping * V_s * rho_s / x[source_s]
    jac[a + c] -= damping * V_e * rho_e / x[c]
    jac[a + source_e] += damping * V_e * rho_e / x[source_e]
    whole = scale * rho * (rho_e * V_e - rho_s * V_s) * p[int(p[P_BELT]) + D] / p[int(p[GEOMETRY]) + ROW * j + SPAN]
    for end in range(2):
        k = j if end == 0 else i
        other = work[gate + n + (i if end == 0 else j)]
        up = (k - 1) * F if k > 0 else count - F
        jac[a + up] += whole * other * work[gate + 2 * n + k]
        jac[a + k * F] += whole * other * work[gate + 3 * n + k]
        jac[a + count + n] += whole * other * work[gate + 4 * n + k]


@kernel
def hybrid_jacobian(x, p, jac, work):
    """``df/dx`` of the hybrid model; expects the blocks that its derivative leaves."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    n_x = int(p[N_X])
    slope = int(p[W_CELL]) + 2 * count
    face = int(p[W_FACE])
    for k in range(n_x * n_x):
        jac[k] = 0.0
    for i in range(n):
        a = (count + i) * n_x
        j = i - 1 if i > 0 else n - 1
        after = i + 1 if i + 1 < n else 0
        inverse = 1.0 / work[int(p[W_INERTIA]) + i]
        by_force = rim_radius(i, p) * inverse
        jac[a + count + i] += (load_torque(i, 1, speed(i, x, p), p) - p[int(p[P_B]) + i]) * inverse
        jac[a + i * F] += by_force * work[slope + i * F]
        jac[a + j * F] -= by_force * work[slope + j * F]
        rho_s = start_ratio(i, x, p, work)
        rho_e = end_ratio(j, i, x, p, work)
        damping_row(count + i, by_force, rho_s, i, after, x, p, jac, work)
        damping_row(count + i, -by_force, rho_e, j, i, x, p, jac, work)
        F_d = span_damping(i, after, p, work) * stretch_rate(i, after, x, p, work)
        source = start_source(i, x, p, work)
        jac[a + i * F] -= by_force * F_d * rho_s / x[i * F]
        jac[a + source] += by_force * F_d * rho_s / x[source]
        F_d = span_damping(j, i, p, work) * stretch_rate(j, i, x, p, work)
        source = end_source(j, i, x, p, work)
        jac[a + j * F] += by_force * F_d * rho_e / x[j * F]
        jac[a + source] -= by_force * F_d * rho_e / x[source]
        coupling_jacobian(i, count + i, inverse, 1.0, p, jac)
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            by_omega = work[face + 2 * count + u] * rim_radius(i, p)
            for side in range(3):
                row = u * n_x if side == 0 else (d * n_x if side == 1 else (n + count) * n_x)
                sign = -1.0 if side == 0 else (1.0 if side == 1 else 1.0 / (count * T_Q))
                jac[row + count + i] += sign * by_omega
                jac[row + u] += sign * work[face + 3 * count + u]
                jac[row + d] += sign * work[face + 4 * count + u]
                jac[row + n + count] += sign * work[face + 5 * count + u]
    jac[(n + count) * n_x + n + count] -= 1.0 / T_Q


@kernel
def coupling_jacobian(i, row, by_torque, omega, p, jac):
    """What the springs of a flange with a given speed do to state `row`, which moves the pulley by `omega`."""
    flange = int(p[FLANGE]) + 3 * i
    if int(p[flange]) == SPEED:
        n_x = int(p[N_X])
        k = int(p[flange + 2])
        at = int(p[X_COUPLING]) + 2 * k
        c = p[int(p[P_COUPLING]) + 2 * k]
        for s in range(at, at + 2):
            jac[row * n_x + s] += by_torque
            jac[s * n_x + row] = -c * omega
        jac[(at + 1) * n_x + at + 1] = -c / p[int(p[P_COUPLING]) + 2 * k + 1]


# --- rigid model ------------------------------------------------------------------------------------------------------


@kernel
def rigid_derivative(x, u, p, dx, work):
    """Rates of the rigid model."""
    force = 0.0
    mass = 0.0
    for i in range(int(p[N])):
        R = rim_radius(i, p)
        omega = x[0] / R
        tau = flange_torque(i, x, u, p) + load_torque(i, 0, omega, p) - p[int(p[P_B]) + i] * omega
        force += tau / R
        mass += work[int(p[W_INERTIA]) + i] / (R * R)
        coupling_rates(i, omega, x, u, p, dx)
    dx[0] = force / mass


@kernel
def rigid_jacobian(x, p, jac, work):
    """``df/dx`` of the rigid model."""
    n_x = int(p[N_X])
    for k in range(n_x * n_x):
        jac[k] = 0.0
    mass = 0.0
    for i in range(int(p[N])):
        R = rim_radius(i, p)
        mass += work[int(p[W_INERTIA]) + i] / (R * R)
    for i in range(int(p[N])):
        R = rim_radius(i, p)
        jac[0] += (load_torque(i, 1, x[0] / R, p) - p[int(p[P_B]) + i]) / (R * R * mass)
        coupling_jacobian(i, 0, 1.0 / (R * mass), 1.0 / R, p, jac)


@kernel
def rigid_tensions(acceleration, x, u, p, work):
    """Tensions of the spans [N] from the balances of the pulleys and the length of the belt."""
    n = int(p[N])
    at = int(p[W_TENSION])
    T = 0.0
    total = 0.0
    weight = 0.0
    for i in range(n):
        row = int(p[GEOMETRY]) + ROW * i
        after = int(p[GEOMETRY]) + ROW * (i + 1 if i + 1 < n else 0)
        R = rim_radius(i, p)
        omega = x[0] / R
        if i > 0:
            tau = flange_torque(i, x, u, p) + load_torque(i, 0, omega, p) - p[int(p[P_B]) + i] * omega
            T += (work[int(p[W_INERTIA]) + i] * acceleration / R - tau) / R
        work[at + i] = T
        length = p[row + SPAN] + 0.5 * (p[row + RADIUS] * p[row + BETA] + p[after + RADIUS] * p[after + BETA])
        total += length * T
        weight += length
    for i in range(n):
        work[at + i] += p[int(p[P_BELT]) + T_0] - total / weight


# --- outputs ----------------------------------------------------------------------------------------------------------


@kernel
def shared_outputs(v, flux, x, u, p, y, work):
    """Flanges, bearings, wraps and couplings; expects tensions in W_TENSION and the rest of `y`.

    `v` is the speed of the rims in the rigid model, `flux` is G v per stretch.
    """
    n = int(p[N])
    tension = int(p[W_TENSION])
    rigid = p[RIGID] != 0.0
    friction = 0.0
    load = 0.0
    after_pulleys = n + Y_TENSION + n + Y_PULLEY * n
    for i in range(n):
        j = i - 1 if i > 0 else n - 1
        row = int(p[GEOMETRY]) + ROW * i
        before = int(p[GEOMETRY]) + ROW * j
        flange = int(p[FLANGE]) + 3 * i
        omega = v / rim_radius(i, p)
        if not rigid:
            omega = speed(i, x, p)
        friction += p[int(p[P_B]) + i] * omega * omega
        load -= load_torque(i, 0, omega, p) * omega
        y[i] = omega
        if int(p[flange]) == SPEED:
            k = int(p[flange + 2])
            at = after_pulleys + Y_COUPLING * k
            first = x[int(p[X_COUPLING]) + 2 * k]
            second = x[int(p[X_COUPLING]) + 2 * k + 1]
            y[i] = first + second
            y[at + Y_W] = omega
            c = p[int(p[P_COUPLING]) + 2 * k]
            y[at + Y_COUPLING_E] = 0.5 * (first * first + second * second) / c
            y[at + Y_COUPLING_LOSS] = second * second / p[int(p[P_COUPLING]) + 2 * k + 1]
        stiffness = p[int(p[P_BELT]) + EA]
        T_in = work[tension + j] - flux * (1.0 + work[tension + j] / stiffness)
        T_out = work[tension + i] - flux * (1.0 + work[tension + i] / stiffness)
        low = T_in if T_in < T_out else T_out
        at = n + Y_TENSION + n + Y_PULLEY * i
        y[n + Y_TENSION + i] = work[tension + i]
        y[at + Y_USE] = abs(T_out - T_in) / limit(work[int(p[W_KAPPA]) + i], low, p)
        y[at + Y_F_X] = T_out * p[row + T_X] - T_in * p[before + T_X]
        y[at + Y_F_Y] = T_out * p[row + T_Y] - T_in * p[before + T_Y]
        if rigid:
            y[at + Y_SLIP] = 0.0
            y[at + Y_N] = 0.5 * (T_in + T_out) * p[row + BETA]
    y[n + Y_FRICTION] = friction
    y[n + Y_LOAD] = load


@kernel
def hybrid_output(x, u, p, y, work):
    """Outputs of the hybrid model; expects `cells` and flows."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    gates(x, p, work)
    cell = int(p[W_CELL])
    tension = cell + count
    hat = cell + 3 * count
    face = int(p[W_FACE])
    stiffness = p[int(p[P_BELT]) + EA]
    energy = 0.0
    creep = 0.0
    span = 0.0
    length = 0.0
    unloaded = 0.0
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        V = rim_radius(i, p) * speed(i, x, p)
        beta = p[int(p[GEOMETRY]) + ROW * i + BETA]
        normal = 0.0
        for k in range(F):
            u_ = j * F + k
            d = u_ + 1 if u_ + 1 < count else 0
            T_u = work[tension + u_]
            T_d = work[tension + d]
            s = work[face + count + u_]
            up = u_ if V + s >= 0.0 else d
            T_up = T_u if up == u_ else T_d
            beyond = 0.5 * (T_u + T_d - 2.0 * T_up) / stiffness  # mean stretch less that of the cell upstream
            if T_up == 0.0:
                beyond += 1.0 - work[cell + up]
            creep += (T_d - T_u) * ((V + s) * beyond / work[cell + up] + s)
            energy += 0.5 * x[u_] * T_u * T_u / stiffness
            length += work[int(p[W_LENGTH]) + u_]
            unloaded += x[u_]
            normal += 0.5 * (work[hat + u_] + work[hat + d]) * beta / F
        rate = stretch_rate(j, i, x, p, work)
        span += span_damping(j, i, p, work) * rate * rate
        energy += 0.5 * work[int(p[W_INERTIA]) + i] * speed(i, x, p) * speed(i, x, p)
        work[int(p[W_TENSION]) + j] = work[tension + j * F]
        at = n + Y_TENSION + n + Y_PULLEY * i
        last = j * F + F - 1
        exit_face = last if V >= 0.0 else j * F
        exit_span = i * F if V >= 0.0 else j * F
        y[at + Y_SLIP] = work[face + exit_face] * work[cell + exit_span] - V
        y[at + Y_N] = normal
    y[n + Y_V] = x[n + count] * length / unloaded
    y[n + Y_E] = energy
    y[n + Y_CREEP] = creep
    y[n + Y_SPAN] = span
    shared_outputs(0.0, p[int(p[P_BELT]) + M] * x[n + count] * x[n + count], x, u, p, y, work)


@kernel
def rigid_output(x, u, p, y, work):
    """Outputs of the rigid model."""
    n = int(p[N])
    dx = work[int(p[W_STEP]) : int(p[W_STEP]) + int(p[N_X])]
    rigid_derivative(x, u, p, dx, work)
    rigid_tensions(dx[0], x, u, p, work)
    energy = 0.0
    for i in range(n):
        omega = x[0] / rim_radius(i, p)
        energy += 0.5 * work[int(p[W_INERTIA]) + i] * omega * omega
    belt = int(p[P_BELT])
    q = x[0] / (1.0 + p[belt + T_0] / p[belt + EA])
    y[n + Y_V] = x[0]
    y[n + Y_E] = energy
    y[n + Y_CREEP] = 0.0
    y[n + Y_SPAN] = 0.0
    shared_outputs(x[0], p[belt + M] * q * q, x, u, p, y, work)


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def initialise(p, u, x, work):
    """Start with one belt speed on all pulleys, the pretension everywhere."""
    prepare(p, work)
    n = int(p[N])
    n_x = int(p[N_X])
    belt = int(p[P_BELT])
    stretch = 1.0 + p[belt + T_0] / p[belt + EA]
    v = p[belt + V_START]
    for i in range(n_x):
        x[i] = 0.0
    if p[RIGID] != 0.0:
        x[0] = v
    else:
        count = n * int(p[FACES])
        for i in range(n):
            x[count + i] = v / rim_radius(i, p)
        for c in range(count):
            x[c] = work[int(p[W_LENGTH]) + c] / stretch
        x[n + count] = v / stretch
    dx = work[int(p[W_STEP]) : int(p[W_STEP]) + n_x]
    derivative(0.0, x, u, p, dx, work)
    for i in range(n_x):
        if not (abs(x[i]) < HUGE and abs(dx[i]) < HUGE):
            return FAILED
    return OK


@kernel
def derivative(t, x, u, p, dx, work):
    """Right-hand side of the hybrid or the rigid model."""
    right_hand_side(1, x, u, p, dx, work)


@kernel
def right_hand_side(fresh, x, u, p, dx, work):
    """``f(x, u)``; faces slide as they do at `x` (`fresh` 1), or as they did (0)."""
    if p[RIGID] != 0.0:
        rigid_derivative(x, u, p, dx, work)
    else:
        cells(x, p, work)
        if fresh == 1:
            sliding(0.0, x, p, work)
        hybrid_derivative(x, u, p, dx, work)


@kernel
def linearise(fresh, x, u, p, f, jac, work):
    """`right_hand_side` into `f` and its ``df/dx``, row-major."""
    right_hand_side(fresh, x, u, p, f, work)
    if p[RIGID] != 0.0:
        rigid_jacobian(x, p, jac, work)
    else:
        hybrid_jacobian(x, p, jac, work)


@kernel
def jacobian(t, x, u, p, jac, work):
    """``df/dx``, row-major, inputs held."""
    n = int(p[N_X])
    f = work[int(p[W_STEP]) + n : int(p[W_STEP]) + 2 * n]
    linearise(1, x, u, p, f, jac, work)


@kernel
def output(t, x, u, p, y, work):
    """Flanges, tensions, slip, forces, energy and losses."""
    write_outputs(1, x, u, p, y, work)


@kernel
def write_outputs(fresh, x, u, p, y, work):
    """Outputs; `fresh` as of `right_hand_side`."""
    if p[RIGID] != 0.0:
        rigid_output(x, u, p, y, work)
    else:
        cells(x, p, work)
        if fresh == 1:
            sliding(0.0, x, p, work)
            flows(x, p, work)
        else:
            flows(x, p, work)
            mean_flows(x, p, work)
        hybrid_output(x, u, p, y, work)


@kernel
def slide_stage(stage, h, k, p, work):
    """Stage of the distances that the belt slides in the faces, integrated beside the state; expects `flows` there."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    face = int(p[W_FACE])
    slope = int(p[W_MEAN]) + count
    a = slope + 3 * count
    at_l = stage * int(p[N_X])
    for u in range(count):
        d = u + 1 if u + 1 < count else 0
        if stage == 0:
            for i in range(3):
                work[slope + i * count + u] = work[face + (6 + i) * count + u]
        s = work[face + count + u] + work[slope + u] * k[at_l + u] + work[slope + count + u] * k[at_l + d]
        s += work[slope + 2 * count + u] * k[at_l + count + n]
        c = 0.0
        if stage == 1:
            c = 4.0 * work[a + u]
        elif stage == 2:
            c = work[a + u] - work[a + count + u]
        elif stage == 3:
            c = work[a + u] - work[a + count + u] - 8.0 / 3.0 * work[a + 2 * count + u]
        work[a + stage * count + u] = 0.5 * h * s + 0.5 * c
        if stage == 3:
            distance = 2.0 * work[a + u] + work[a + 2 * count + u] + work[a + 3 * count + u]
            work[int(p[W_MEAN]) + u] = distance / h


@kernel
def advance(h, x, u, p, work):
    """One internal step in place, see `rtcvt.integrators`; the faces slide as in W_SLIDE."""
    n = int(p[N_X])
    a = int(p[W_STEP]) + n
    x_stage = work[a : a + n]
    f = work[a + n : a + 2 * n]
    k = work[a + 2 * n : a + 6 * n]
    b = a + 6 * n
    pivot = b + n
    jac = work[pivot + n : pivot + n + n * n]
    matrix = pivot + n + n * n
    linearise(0, x, u, p, f, jac, work)
    rosenbrock_matrix(n, h, jac, work, matrix, pivot)
    for s in range(STAGES):
        if s >= 2:  # the first two stages are at x
            rosenbrock_stage(s, n, x, k, x_stage)
            right_hand_side(0, x_stage, u, p, f, work)
        rosenbrock_solve(s, n, h, f, k, work, matrix, pivot, b)
        if p[RIGID] == 0.0:
            slide_stage(s, h, k, p, work)
    rosenbrock_new(n, x, k)


@kernel
def contradictions(x, p, work):
    """Correct W_SLIDE after a step; returns how many faces stuck beyond their limit or were slid against friction."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    hat = int(p[W_CELL]) + 3 * count
    found = 0
    cells(x, p, work)
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        kappa = work[int(p[W_KAPPA]) + n + i]
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            slide = work[int(p[W_SLIDE]) + u]
            jump = work[hat + d] - work[hat + u]
            low = work[hat + d] if jump < 0.0 else work[hat + u]
            if slide == 0.0:
                if abs(jump) > limit(kappa, low, p):
                    work[int(p[W_SLIDE]) + u] = -1.0 if jump < 0.0 else 1.0
                    found += 1
            elif slide * work[int(p[W_MEAN]) + u] < 0.0:
                work[int(p[W_SLIDE]) + u] = 0.0
                found += 1
    return found


@kernel
def substep(h, x, u, p, work):
    """One internal step whose faces slide only where friction is at its limit, and stick elsewhere."""
    if p[RIGID] != 0.0:
        advance(h, x, u, p, work)
        return
    n = int(p[N_X])
    start = int(p[W_STEP])
    for i in range(n):
        work[start + i] = x[i]
    cells(x, p, work)
    sliding(MARGIN, x, p, work)
    advance(h, x, u, p, work)
    for _ in range(PASSES - 1):
        if contradictions(x, p, work) == 0:
            return
        for i in range(n):
            x[i] = work[start + i]
        advance(h, x, u, p, work)


@kernel
def mean_flows(x, p, work):
    """Replace sliding speeds by their means over the last internal step, and flows to match; expects `flows`."""
    n = int(p[N])
    F = int(p[FACES])
    count = n * F
    face = int(p[W_FACE])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        V = rim_radius(i, p) * speed(i, x, p)
        for k in range(F):
            u = j * F + k
            s = work[int(p[W_MEAN]) + u]
            if work[int(p[W_SLIDE]) + u] * s <= 0.0:
                s = 0.0
            up = u if V + s >= 0.0 else (u + 1 if u + 1 < count else 0)
            work[face + count + u] = s
            work[face + u] = (V + s) / work[int(p[W_CELL]) + up]


@kernel
def step(t, h, x, u, p, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own.

    Saturated: a wrap is at its limit, it slips; the rigid model extrapolates then.
    """
    n = int(p[N_X])
    n_y = int(p[N_Y])
    for i in range(int(p[N_U])):
        if not abs(u[i]) < HUGE:
            return FAILED
    for i in range(n):
        if not abs(x[i]) < HUGE:
            return FAILED
    if not (h > 0.0 and h < MOST_STEPS * p[INTERNAL_STEP]):
        return FAILED
    saved = int(p[W_SAVED])
    for i in range(n):
        work[saved + i] = x[i]
    steps = math.ceil(h / p[INTERNAL_STEP] * (1.0 - 1e-9))
    for _ in range(steps):
        substep(h / steps, x, u, p, work)
    y_new = work[saved + n : saved + n + n_y]
    write_outputs(0, x, u, p, y_new, work)
    good = True
    for i in range(n):
        if not abs(x[i]) < HUGE:
            good = False
    if p[RIGID] == 0.0:
        for c in range(int(p[N]) * int(p[FACES])):
            if not x[c] > 0.0:
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
    first = 2 * int(p[N]) + Y_TENSION + Y_USE
    for i in range(int(p[N])):
        if y[first + Y_PULLEY * i] >= 1.0:
            return SATURATED
    return OK
