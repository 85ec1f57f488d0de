"""Kernels of the faces: which slide, how much belt flows through them, and how near a wrap is to its limit.

Equations in `rtcvt.belt.kernels`: q, s and P of a face, and the gate g of the spans' damping.
"""

from rtcvt.belt import places
from rtcvt.belt.friction import rim_hat, rim_stretch
from rtcvt.belt.layout import BeltP, Cell, Face, Rim, Wrap
from rtcvt.kernel import kernel

V_1 = 1000.0  # [m/s]
MIN_TENSION_SHARE = 1e-3  # share of T_0 that a belt without tension counts as
DAMPING_FADE = 0.1  # share of a wrap's limit over which a span's damping fades out
SLIDE_RTOL = 1e-9  # share of a face's limit by which it may stick beyond it


@kernel
def grown(T_hat, p):
    """The tension [N] that grows along a wrap."""
    return (T_hat if T_hat > 0.0 else 0.0) + MIN_TENSION_SHARE * p[BeltP.T_0]


@kernel
def limit(kappa, T_hat, p):
    """Largest jump P of T_hat [N] above the smaller of the two sides, of a face or of its whole wrap."""
    return kappa * grown(T_hat, p)


@kernel
def beyond(share, j, k, p, data, work):
    """Sense in which the jump of T_hat at face k of the wrap after span j exceeds a share of its limit, or 0."""
    up = rim_hat(0, j, k, data, work)
    down = rim_hat(1, j, k, data, work)
    jump = down - up
    low = down if jump < 0.0 else up
    if abs(jump) > share * limit(work[places.wrap(places.after(j, data), data) + Wrap.FACE_KAPPA], low, p):
        return -1.0 if jump < 0.0 else 1.0
    return 0.0


@kernel
def sliding(margin, x, p, data, work):
    """Write which faces slide, and which way; from ``1 - margin`` of the limit on. Call `cells` first."""
    for j in range(places.pulleys(data)):
        for k in range(places.faces(data)):
            slide = beyond(1.0 - margin, j, k, p, data, work)
            work[places.face(places.span_cell(j, data) + k, data) + Face.SLIDE] = slide


@kernel
def contradictions(p, data, work):
    """Correct which faces slide after a step, and count those that stuck beyond their limit or slid against friction.

    Call `cells` first.
    """
    found = 0
    for j in range(places.pulleys(data)):
        for k in range(places.faces(data)):
            at = places.face(places.span_cell(j, data) + k, data)
            if work[at + Face.SLIDE] == 0.0:
                work[at + Face.SLIDE] = beyond(1.0 + SLIDE_RTOL, j, k, p, data, work)
                if work[at + Face.SLIDE] != 0.0:
                    found += 1
            elif work[at + Face.SLIDE] * work[at + Face.MEAN] < 0.0:
                work[at + Face.SLIDE] = 0.0
                found += 1
    return found


@kernel
def flows(x, p, data, work):
    """Write the flow through all faces with its derivatives; call `cells` and `sliding` first."""
    q_m = x[places.x_flow(data)]
    along = 1.0 - p[BeltP.M] * q_m * q_m / p[BeltP.EA]
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        V = places.rim_radius(i, data) * places.speed(i, x, data)
        kappa = work[places.wrap(i, data) + Wrap.FACE_KAPPA]
        rate = V_1 / limit(kappa, p[BeltP.T_0], p)
        for k in range(places.faces(data)):
            u = places.span_cell(j, data) + k
            at = places.face(u, data)
            up = places.cell(u, data)
            down = places.cell(places.cell_after(u, data), data)
            slide = work[at + Face.SLIDE]
            N_up = work[up + Cell.N]
            N_down = work[down + Cell.N]
            up_by_l = work[up + Cell.N_BY_L]
            down_by_l = work[down + Cell.N_BY_L]
            Lambda_up = work[up + Cell.STRETCH]
            Lambda_down = work[down + Cell.STRETCH]
            rate_up = work[up + Cell.RATE]
            rate_down = work[down + Cell.RATE]
            if k == 0:
                there = places.rim(1, j, data)
                N_up = work[there + Rim.N]
                up_by_l = work[there + Rim.BY_L]
                Lambda_up = work[there + Rim.STRETCH]
                rate_up = work[there + Rim.RATE]
            if k == places.faces(data) - 1:
                there = places.rim(0, i, data)
                N_down = work[there + Rim.N]
                down_by_l = work[there + Rim.BY_L]
                Lambda_down = work[there + Rim.STRETCH]
                rate_down = work[there + Rim.RATE]
            s = 0.0
            s_by_up = 0.0
            s_by_down = 0.0
            s_by_flow = 0.0
            if slide != 0.0:
                hat_up = rim_hat(0, j, k, data, work)
                hat_down = rim_hat(1, j, k, data, work)
                low = hat_down if slide < 0.0 else hat_up
                s = rate * (hat_down - hat_up - slide * limit(kappa, low, p))
                by_low = -slide * rate * kappa if low > 0.0 else 0.0
                by_up = -rate + (by_low if slide > 0.0 else 0.0)
                by_down = rate + (by_low if slide < 0.0 else 0.0)
                s_by_up = by_up * up_by_l * along
                s_by_down = by_down * down_by_l * along
                s_by_flow = by_up * (1.0 + N_up / p[BeltP.EA]) + by_down * (1.0 + N_down / p[BeltP.EA])
                s_by_flow *= -2.0 * p[BeltP.M] * q_m
            forwards = V + s >= 0.0
            w = 1.0 / (Lambda_up if forwards else Lambda_down)
            q_by_l = (V + s) * w * (rate_up if forwards else rate_down)
            work[at + Face.Q] = (V + s) * w
            work[at + Face.S] = s
            work[at + Face.Q_BY_V] = w
            work[at + Face.Q_BY_UP] = s_by_up * w + (q_by_l if forwards else 0.0)
            work[at + Face.Q_BY_DOWN] = s_by_down * w + (0.0 if forwards else q_by_l)
            work[at + Face.Q_BY_FLOW] = s_by_flow * w
            work[at + Face.S_BY_UP] = s_by_up
            work[at + Face.S_BY_DOWN] = s_by_down
            work[at + Face.S_BY_FLOW] = s_by_flow


@kernel
def mean_flows(x, data, work):
    """Replace sliding speeds by their means over the last internal step, and flows to match; call `flows` first."""
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        V = places.rim_radius(i, data) * places.speed(i, x, data)
        for k in range(places.faces(data)):
            at = places.face(places.span_cell(j, data) + k, data)
            s = work[at + Face.MEAN]
            if work[at + Face.SLIDE] * s <= 0.0:
                s = 0.0
            work[at + Face.S] = s
            work[at + Face.Q] = (V + s) / rim_stretch(0 if V + s >= 0.0 else 1, j, k, data, work)


@kernel
def flows_by_kappa(p, data, work):
    """Write ds/dkappa of the faces."""
    for j in range(places.pulleys(data)):
        kappa = work[places.wrap(places.after(j, data), data) + Wrap.FACE_KAPPA]
        P_0 = limit(kappa, p[BeltP.T_0], p)
        for k in range(places.faces(data)):
            at = places.face(places.span_cell(j, data) + k, data)
            slide = work[at + Face.SLIDE]
            low = rim_hat(1 if slide < 0.0 else 0, j, k, data, work)
            by = -slide * V_1 * grown(low, p) / P_0
            by -= work[at + Face.S] / kappa
            work[at + Face.S_BY_KAPPA] = by


@kernel
def gates(x, p, data, work):
    """Write the used share of each wrap's limit and the factor of the damping, with derivatives. Call `cells` first."""
    q_m = x[places.x_flow(data)]
    by_flux = 1.0 - p[BeltP.M] * q_m * q_m / p[BeltP.EA]
    for i in range(places.pulleys(data)):
        at = places.wrap(i, data)
        up = places.rim(1, places.before(i, data), data)
        down = places.rim(0, i, data)
        kappa = work[at + Wrap.KAPPA]
        jump = work[down + Rim.HAT] - work[up + Rim.HAT]
        low = work[down + Rim.HAT] if jump < 0.0 else work[up + Rim.HAT]
        P = limit(kappa, low, p)
        use = abs(jump) / P
        g = (1.0 - use) / DAMPING_FADE
        work[at + Wrap.USE] = use
        work[at + Wrap.GATE] = 0.0 if g < 0.0 else (1.0 if g > 1.0 else g)
        work[at + Wrap.GATE_BY_IN] = 0.0
        work[at + Wrap.GATE_BY_OUT] = 0.0
        work[at + Wrap.GATE_BY_FLOW] = 0.0
        work[at + Wrap.GATE_BY_KAPPA] = 0.0
        if g > 0.0 and g < 1.0:
            by_jump = (1.0 if jump < 0.0 else -1.0) / (P * DAMPING_FADE)
            by_low = use * kappa / (P * DAMPING_FADE) if low > 0.0 else 0.0
            by_up = -by_jump + (by_low if jump >= 0.0 else 0.0)
            by_down = by_jump + (by_low if jump < 0.0 else 0.0)
            work[at + Wrap.GATE_BY_IN] = by_up * work[up + Rim.BY_L] * by_flux
            work[at + Wrap.GATE_BY_OUT] = by_down * work[down + Rim.BY_L] * by_flux
            along = by_up + by_down + (by_up * work[up + Rim.N] + by_down * work[down + Rim.N]) / p[BeltP.EA]
            work[at + Wrap.GATE_BY_FLOW] = -2.0 * p[BeltP.M] * q_m * along
            work[at + Wrap.GATE_BY_KAPPA] = use / (kappa * DAMPING_FADE)


@kernel
def start_source(j, x, data, work):
    """Cell whose stretch the belt has when it leaves span j's first pulley: the span, if that turns backwards."""
    c = places.span_cell(j, data)
    if places.rim_radius(j, data) * places.speed(j, x, data) < 0.0:
        return c
    last = places.cell_before(c, data)
    for k in range(places.faces(data)):
        if work[places.face(last - k, data) + Face.SLIDE] == 0.0:
            return last - k
    return last


@kernel
def end_source(j, x, data, work):
    """The same where span j comes to its second pulley, which sends belt into it if it turns backwards."""
    i = places.after(j, data)
    c = places.span_cell(j, data)
    if places.rim_radius(i, data) * places.speed(i, x, data) >= 0.0:
        return c
    for k in range(places.faces(data)):
        if work[places.face(c + k, data) + Face.SLIDE] == 0.0:
            return places.cell_after(c + k, data)
    return c + 1


@kernel
def ratio(c, source, data, work):
    """rho: stretch of the cell c over that of the belt that comes from the cell `source`."""
    return work[places.cell(c, data) + Cell.STRETCH] / work[places.cell(source, data) + Cell.STRETCH]
