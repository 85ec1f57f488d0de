"""Hybrid and rigid model of any belt drive as real-time kernels.

Pulley i turns with omega_i; its rim has the speed ``V = sigma r omega`` along the belt, whose sense is the order of the
pulleys. A cell of the belt, a span or a part of a wrap, has the fixed length L and holds the length l without load::

    lambda = L/l,    T = max(EA (lambda - 1), 0),    e = T^2/(2 EA),    h = lambda T - e

Cells meet in faces, F on each wrap. Through a face flows the length without load q per time, and the belt has the mass
m per such length. What flows in and does not flow out stretches a cell less::

    l' = q_in - q_out,    q = (V + s)/lambda_up

The belt sticks to the rim where it comes from (up: upstream), and slides with the speed s once friction does not hold
it. As the mass flow ``G = m q`` is constant along the belt, ``T - G v`` grows at most as exp(mu phi) (Euler; with
inertia Bechtel, Vohra, Jacob and Carlson 2000); a wrap of a belt that resists bending holds exp(Lambda) in all
(`rtcvt.belt.friction`), here in equal shares of its faces::

    T_hat = T - m q_m^2 (1 + T/EA),    kappa = exp(Lambda/F) - 1
    P = kappa (max(min(T_hat_u, T_hat_d), 0) + 1e-3 T_0)
    s = v_1 (T_hat_d - T_hat_u -+ P)/P_0 where |T_hat_d - T_hat_u| > P, else 0;    P_0 = P at T_hat = T_0

(u, d: the cells before and behind the face; v_1 = 1000 m/s, so that sliding at 1 m/s adds 0.1 % of P_0.) In a steady
state this is creep theory (Reynolds 1874; Johnson, *Contact Mechanics*, 1985, section 8.4) with its integral along the
wrap replaced by a sum: the faces at the entry stick and tension is constant there, those at the exit slide at the
limit. If all slide the wrap slips.

**The radius falls with tension**, as ribs yield and their shear holds the belt (`rtcvt.belt.span_ends`), by the share
sigma. So belt that sticks on a pulley holds ``1/Lambda`` per length of rim, not 1/lambda, and what a tension pulls the
pulley with is N, such that both make or lose no power where a belt runs on or off ::

    sigma = g (T - T_0) - c (T - T_0)^2, from its largest value on constant
    Lambda = lambda/(1 - sigma),    dN = (1 - sigma) dT,    Lambda dN = lambda dT = dh

In flows through faces, in wraps (L = Lambda l, ``e = Lambda N - h``), their limits, and at rims Lambda and N stand for
lambda and T. Creep grows by it: about T_0 ``1/EA + g`` of a difference of tensions, some two to three times 1/EA on
small pulleys, and more where a belt is loose.

The mean flow q_m follows those of the faces, ``q_m' = (mean(q) - q_m)/T_q``,
T_q = 5 ms.

The ends of a span take up more of the belt the looser it is: its way is L + R(T), and its T, by Newton's method, has ::

    l (1 + T/EA) = L + R(T),    E_R = integral of R dT - R T,    x = T/T_rest
    R = a (x^(-3/2) - 5/2 + 3 x/2) + b (x^(-1/2) - 3/2 + x/2)

so that a and b change neither tension nor stiffness at rest. E_R is added to its energy l e; h stays.

**Inertia lifts the belt** off its ribs. ``T - phi``, ``phi = m V^2`` with V of the rim, presses on a pulley, and bends
the belt at a span's ends (phi: the mean of both rims). So the ways of a span and of a wrap are ::

    L + R(T - phi),    L + A phi

where A is the length by which a wrap gives way to a newton: the faster a belt runs, the more tension it has. By W each
way is longer than with T_0 at rest::

    W = R(T - phi) or -A (T - phi - T_0),    U = l e + E_R(T - phi) - phi R(T - phi) or l e - A phi (T_0 + phi/2)
    dU = -h dl - W dphi

Power is balanced with U in place of the energy of a cell if the rims carry ``W phi'``, which is inertia::

    J -> J - m r^2 (2 W of the wrap + W of both spans)

(less than 1e-4 of it; that the belt's momentum changes with its way is neglected beside it).

Lengths L, radii r, a, b, A and the spans' damping d are those of `rtcvt.belt.span_ends`: spans are longer than they
look, as the belt's bending and its ribs give at their ends. A span damps with a force beside its tension. What comes
into it at a speed V sticks somewhere on the wrap before, with the stretch lambda_a there, so that (in a steady state
nothing is damped) ::

    F_d = g d (rho_e V_e - rho_s V_s),    rho = lambda/lambda_a where belt comes in, 1 where it goes out

pulls on the rims by ``rho_s F_d`` and ``-rho_e F_d``. g goes from 1 to 0 where a wrap at one of its ends goes from 90 %
to all of its limit, as it holds no more. For pulley i, with span i behind it and the share of the belt that lies on it
and on half of both spans in J::

    J omega' = tau + tau_load(omega) - b omega + sigma r (T_i - T_(i-1) + rho_s F_d,i - rho_e F_d,i-1)

This is the power-oriented form of Tebaldi and Zanasi 2022, with the rows of R that have -sigma r and sigma r of the
pulleys at the ends of a span, and the springs between them fed with belt. Power is balanced exactly: the sum of
``tau omega`` is the rate of ``E = sum U + sum J omega^2/2`` plus losses, each of which is never negative::

    face      integral of (q Lambda - V) dN from u to d  =  q (h_d - h_u) - V (N_d - N_u)
    span      g d (rho_e V_e - rho_s V_s)^2
    bearing   b omega^2

and what the loads take. Neglected: that momentum of the belt changes along a wrap, ``m q^2/EA`` of the force there.

**Steps.** Which faces slide is fixed over an internal step, which is then smooth (`rtcvt.integrators`), and the step is
made again if it ends with a face that sticks beyond its limit, or if the mean of a sliding speed is against friction.
These means, integrated with the state, are what is given as slip and loss after a step. If the faces do not settle, a
cell loses its belt, or more energy is found than was put in, the step is made by the implicit Euler method instead,
with the faces that friction has at its end: ``x = x_0 + h f(x)``, by Newton's method with a line search. As the energy
is convex in l and omega, and no loss is negative, it makes no energy. Where Newton's method fails it is made in 4, 16,
... parts. A communication step has a budget of iterations, by its internal steps; if that is used up, the belt is
held for the rest of the step: cells keep what they hold, and torques may only brake. The status tells all this as 1.

**Start.** At rest a wrap holds more of the belt than as it runs, or less (`rtcvt.belt.span_ends`), as far as friction
holds that; the spans have the tension by which the belt's content stays. What starts with a speed has run, at T_0.

**Rigid model.** All rims have the speed v of the belt; the balances of the pulleys give the differences of tension, and
the belt's length gives their mean::

    v' sum J/r^2 = sum sigma/r (tau + tau_load - b omega),    sum T_i (L_i + half of both wraps) = T_0 sum(...)

Arms stand in it at their drawn angle, and their springs hold the mean: ``sum (T_i - G v) P_i' = T_0 sum P_i'`` over the
spans beside them (`rtcvt.belt.arm_geometry`). Decouplers are locked.

**Given speeds** are constraints: the pulley's acceleration a is known, and the flange's torque is what its balance
lacks. A speed arrives at the start of a step; over the step the pulley goes to where a parabola through three samples
leads. The slope s taken onward goes the way of the last one or of the last bend, and is at most twice as large as the
larger of these two, so that a jump is met without overshoot::

    a = (w_k - omega_k)/h + s,   s = minmod(2 s_k - s_(k-1), 2 max(s_(k-1), b)),   s_k = (w_k - w_(k-1))/h

where b is a at the end of the last step, by which the torque there was given, less s_(k-1).
The torque is that at the end of the step, where the acceleration is taken as ``s_k + 3/2 (s_k - s_(k-1))``, the second
term at most as large as the sum of both slopes' sizes.
"""

import math

from rtcvt.belt.arms import (
    arm_energy,
    arm_inertia,
    arm_loss,
    arm_of_pulley,
    arm_of_span,
    arm_rates,
    arm_row,
    arm_state,
    kappa_by_angle,
    lever_by_angle,
    limits_by_arms,
    place_arms,
    start_arms,
    stop_torque,
    way_lever,
    way_rate,
)
from rtcvt.belt.decoupler import (
    clutch_torque,
    decoupler_columns,
    decoupler_energy,
    decoupler_loss,
    decoupler_of,
    decoupler_outputs,
    decoupler_rates,
    decoupler_rows,
    decoupler_state,
    switch_clutches,
)
from rtcvt.belt.friction import (
    friction,
    held_by,
    limits_by_tension,
    note_sliding,
    rim_hat,
    rim_of,
    rim_stretch,
    set_limits,
    slack_cell,
)
from rtcvt.belt.layout import (
    N_ARC,
    N_ARM_D,
    N_ARM_Y,
    N_DECOUPLER_D,
    N_DECOUPLER_P,
    N_GIVEN,
    N_PULLEY,
    N_RIM,
    Arc,
    ArmD,
    ArmX,
    ArmY,
    BeltP,
    D,
    DecouplerD,
    DecouplerP,
    DecouplerX,
    Flange,
    GivenX,
    PulleyY,
    Rim,
    Y,
)
from rtcvt.belt.resonance import span_outputs
from rtcvt.elementary import cos, exp, sin
from rtcvt.integrators import STAGES, rosenbrock_integral, rosenbrock_new, rosenbrock_side, rosenbrock_stage
from rtcvt.kernel import FAILED, OK, SATURATED, kernel
from rtcvt.linalg import ring_lu, ring_solve
from rtcvt.stepping import HUGE, enter, leave, start_status

V_1 = 1000.0  # [m/s]
T_Q = 5e-3  # [s]
MARGIN = 1e-4  # share of a face's limit within which it may slide
PASSES = 3  # of one internal step
FADE = 0.1  # share of a wrap's limit over which a span's damping fades out
SURE = 0.9  # share of friction that a belt at rest takes up at the start
LEAST = 1e-3  # share of T_0 that a belt without tension counts as
SPARE = 0.05  # share of the power that a step may seem to make
ROUND_OFF = 1e-9  # share of the energy, likewise, and of a face's limit by which it may stick beyond it
NEWTON = 16  # iterations of a step or a part of it
PARTS = 4  # of an internal step that cannot be made at once
BUDGET = 80  # of a communication step, for each of its internal steps
SEARCH = 6  # times that an iteration is halved
LOOSE = 0.02  # share of the tension at rest below which R is linear
SOLVE = 60  # iterations for a tension, of which a few are needed
CLOSE = 1e-8  # share of the tension at rest; an iteration that changes less leaves the square of it
SMALL = 1e-4  # change of a speed [rad/s] that counts as one of a share of a length
CONVERGED = 1e-8
TORN = 1e6


@kernel
def rim_radius(i, data):
    """``sigma r`` of a pulley [m]."""
    row = int(data[D.GEOMETRY]) + N_ARC * i
    return data[row + Arc.SIGMA] * data[row + Arc.RADIUS]


@kernel
def speed(i, x, data):
    """Speed of a pulley in the hybrid model [rad/s]."""
    return x[int(data[D.N]) * int(data[D.FACES]) + i]


@kernel
def load_torque(i, slope, omega, data):
    """Torque of a pulley's load at a speed [N.m], or its slope [N.m.s/rad]."""
    row = int(data[D.LOAD]) + 2 * i
    first = int(data[row])
    points = int(data[row + 1])
    if points == 0:
        return 0.0
    a = first
    for k in range(1, points - 1):
        if omega > data[first + 2 * k]:
            a = first + 2 * k
    gradient = (data[a + 3] - data[a + 1]) / (data[a + 2] - data[a])
    return gradient if slope == 1 else data[a + 1] + gradient * (omega - data[a])


@kernel
def given_state(i, data):
    """Place of `GivenX` of a pulley whose speed is given, or -1."""
    row = int(data[D.FLANGE]) + 3 * i
    if int(data[row]) != Flange.SPEED:
        return -1
    return int(data[D.X_GIVEN]) + N_GIVEN * int(data[row + 2])


@kernel
def other_torque(i, omega, u, p, data):
    """Torque on a pulley of all but the belt and a given speed [N.m]."""
    row = int(data[D.FLANGE]) + 3 * i
    tau = load_torque(i, 0, omega, data) - p[int(data[D.P_B]) + i] * omega
    return tau + u[int(data[row + 1])] if int(data[row]) == Flange.TORQUE else tau


@kernel
def follow(end, h, x, u, data):
    """Given speeds over a communication step: accelerations of their pulleys, in the mean or (`end` 1) at its end."""
    n = int(data[D.N])
    for i in range(n):
        at = given_state(i, data)
        if at >= 0:
            w = u[int(data[int(data[D.FLANGE]) + 3 * i + 1])]
            slope = (w - x[at + GivenX.W]) / h
            last = x[at + GivenX.S]
            if end == 0:
                omega = x[0] / rim_radius(i, data)
                if data[D.RIGID] == 0.0:
                    omega = speed(i, x, data)
                ahead = 2.0 * slope - last
                bend = x[at + GivenX.A] - last
                most = last if ahead * last > 0.0 else 0.0
                if ahead * bend > 0.0 and abs(bend) > abs(most):
                    most = bend
                if abs(ahead) > 2.0 * abs(most):
                    ahead = 2.0 * most
                x[at + GivenX.A] = (w - omega) / h + ahead
            else:
                more = 1.5 * (slope - last)
                most = abs(slope) + abs(last)
                more = -most if more < -most else (most if more > most else more)
                x[at + GivenX.A] = slope + more
                x[at + GivenX.S] = slope
                x[at + GivenX.W] = w


@kernel
def prepare(p, data, work):
    """What depends on parameters alone: lengths of the cells, inertias, the spans' share of R."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    stretch = 1.0 + p[BeltP.T_0] / p[BeltP.EA]
    length = int(data[D.W_LENGTH])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        span = int(data[D.GEOMETRY]) + N_ARC * j
        row = int(data[D.GEOMETRY]) + N_ARC * i
        work[length + j * F] = data[span + Arc.REACH]
        for k in range(1, F):
            work[length + j * F + k] = data[row + Arc.OWN] / (F - 1)
        after = int(data[D.GEOMETRY]) + N_ARC * i
        share = data[row + Arc.RADIUS] * data[row + Arc.BETA] + 0.5 * (data[span + Arc.SPAN] + data[after + Arc.SPAN])
        inertia = p[BeltP.M] * share / stretch * data[row + Arc.RADIUS] * data[row + Arc.RADIUS]
        work[int(data[D.W_INERTIA]) + i] = p[int(data[D.P_J]) + i] + inertia
        steepest = (1.5 * data[span + Arc.WAY_3] + 0.5 * data[span + Arc.WAY_1]) / data[D.T_REST]
        most = 0.5 * data[span + Arc.REACH] / p[BeltP.EA]
        work[int(data[D.W_WAY]) + j] = most / steepest if steepest > most else 1.0


# --- hybrid model -----------------------------------------------------------------------------------------------------


@kernel
def more_way(T, j, data, work):
    """R of span j [m] at a tension, linear below `LOOSE`; writes its slope [m/N] too, to ``work[data[D.W_SLOPE]]``."""
    row = int(data[D.GEOMETRY]) + N_ARC * j
    a = data[row + Arc.WAY_3] * work[int(data[D.W_WAY]) + j]
    b = data[row + Arc.WAY_1] * work[int(data[D.W_WAY]) + j]
    T_rest = data[D.T_REST]
    x = T / T_rest
    z = x if x > LOOSE else LOOSE
    inverse = 1.0 / z
    root = math.sqrt(inverse)
    slope = (1.5 * a * (1.0 - inverse * inverse * root) + 0.5 * b * (1.0 - inverse * root)) / T_rest
    work[int(data[D.W_SLOPE])] = slope
    way = a * (inverse * root - 2.5 + 1.5 * z) + b * (root - 1.5 + 0.5 * z)
    return way + slope * (x - z) * T_rest


@kernel
def way_energy(T, j, data, work):
    """E_R of span j [J] behind `more_way` at that tension."""
    row = int(data[D.GEOMETRY]) + N_ARC * j
    a = data[row + Arc.WAY_3] * work[int(data[D.W_WAY]) + j]
    b = data[row + Arc.WAY_1] * work[int(data[D.W_WAY]) + j]
    T_rest = data[D.T_REST]
    x = T / T_rest
    if x < LOOSE:
        return -0.5 * work[int(data[D.W_SLOPE])] * T * T
    root = 1.0 / math.sqrt(x)
    low = 1.0 / math.sqrt(LOOSE)
    steep = 1.5 * a * (1.0 - low * low * low / LOOSE) + 0.5 * b * (1.0 - low / LOOSE)
    energy = -0.5 * steep * LOOSE * LOOSE
    energy -= a * (3.0 * (root - low) + 0.75 * (x * x - LOOSE * LOOSE))
    energy -= b * (1.0 / low - 1.0 / root + 0.25 * (x * x - LOOSE * LOOSE))
    return T_rest * energy


@kernel
def span_inertia(j, data, work):
    """phi of span j [N], from the lifts of the rims at its ends."""
    lift = int(data[D.W_LIFT])
    return 0.5 * (work[lift + j] + work[lift + (j + 1 if j + 1 < int(data[D.N]) else 0)])


@kernel
def span_tensions(x, p, data, work):
    """Tensions of all spans that hold their lengths [N], to ``work[data[D.W_SOLVE]:]``; 0 if they need no tension.

    An iteration is made for all spans, one after the other: they do not wait for one another.
    """
    n = int(data[D.N])
    F = int(data[D.FACES])
    at = int(data[D.W_SOLVE])
    length = int(data[D.W_LENGTH])
    for j in range(n):
        T = p[BeltP.EA] * (work[length + j * F] / x[j * F] - 1.0)
        work[at + j] = 0.0 if T < 0.0 else T
        work[at + n + j] = 1.0
    for _ in range(SOLVE):
        left = 0
        for j in range(n):
            if work[at + n + j] == 0.0:
                continue
            T = work[at + j]
            l = x[j * F]  # noqa: E741
            way = more_way(T - span_inertia(j, data, work), j, data, work)
            missing = (work[length + j * F] + way - l) * p[BeltP.EA] - l * T
            change = missing / (l - p[BeltP.EA] * work[int(data[D.W_SLOPE])])
            T += change
            if not T > 0.0:
                work[at + j] = 0.0
                work[at + n + j] = 0.0
                continue
            work[at + j] = T
            if abs(change) < CLOSE * data[D.T_REST]:
                work[at + n + j] = 0.0
            else:
                left += 1
        if left == 0:
            break


@kernel
def cells(x, p, data, work):
    """Stretch and tension of all cells, with their derivatives with respect to the unstretched lengths l."""
    if data[D.ARMS] > 0.0:
        place_arms(x, p, data, work)
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    stiffness = p[BeltP.EA]
    lift = int(data[D.W_LIFT])
    by = lift + 2 * n
    for i in range(n):
        V = rim_radius(i, data) * speed(i, x, data)
        work[lift + i] = p[BeltP.M] * V * V
    q_m = x[n + count]
    flux = p[BeltP.M] * q_m * q_m
    a = int(data[D.W_CELL])
    span_tensions(x, p, data, work)
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        gives = cell_lift(i, data)
        longer = gives * work[lift + i]
        by_speed = 2.0 * gives * p[BeltP.M] * rim_radius(i, data) * rim_radius(i, data) * speed(i, x, data)
        for k in range(F):
            c = j * F + k
            l = x[c]  # noqa: E741
            length = work[int(data[D.W_LENGTH]) + c]
            if k == 0:
                T = work[int(data[D.W_SOLVE]) + j]
                own = T
                length += more_way(T - span_inertia(j, data, work), j, data, work)
                by_T = work[int(data[D.W_SLOPE])]
                lam = length / l
                dT = -lam / (l / stiffness - by_T)
                rate = -dT / (stiffness * lam)
                if not T > 0.0:
                    dT = 0.0
                    rate = 1.0 / l
                by_m = -by_T * p[BeltP.M]
                work[by + c] = by_m * rim_radius(j, data) * rim_radius(j, data) * speed(j, x, data)
                work[by + count + c] = by_m * rim_radius(i, data) * rim_radius(i, data) * speed(i, x, data)
                work[by + 2 * count + c] = -by_T
            else:
                lam = (length + longer) / l
                own = wrap_tension(lam, i, p, data)
                over = over_rest(own, i, p, data)
                rate = 1.0 / l
                dT = -lam * rate * by_stretch(lam, own, over, i, p, data)
                T = rim_tension(own, over, i, p, data)
                work[by + c] = 0.0
                work[by + count + c] = by_speed
                work[by + 2 * count + c] = gives
            work[a + c] = lam
            work[a + count + c] = T
            work[a + 2 * count + c] = dT
            work[a + 3 * count + c] = T - flux * (1.0 + T / stiffness)
            work[a + 4 * count + c] = dT * (1.0 - flux / stiffness)
            work[a + 5 * count + c] = rate
            work[a + 6 * count + c] = own
        rims(j, flux, p, data, work)
    lifted_inertias(x, p, data, work)


@kernel
def over_rest(T, i, p, data):
    """``T - T_0`` [N], at most that from which on the radius of pulley i falls no more."""
    last = data[int(data[D.GEOMETRY]) + N_ARC * i + Arc.LAST]
    over = T - p[BeltP.T_0]
    return last if over > last else over


@kernel
def sink(slope, over, i, data):
    """sigma of pulley i at an `over_rest` [-], or its slope [1/N]."""
    row = int(data[D.GEOMETRY]) + N_ARC * i
    if slope == 1:
        return data[row + Arc.SINK] - 2.0 * data[row + Arc.LESS] * over
    return (data[row + Arc.SINK] - data[row + Arc.LESS] * over) * over


@kernel
def rim_tension(T, over, i, p, data):
    """N of a tension on pulley i [N]; `over`: its `over_rest`."""
    row = int(data[D.GEOMETRY]) + N_ARC * i
    N = T - (0.5 * data[row + Arc.SINK] - data[row + Arc.LESS] / 3.0 * over) * over * over
    return N - (T - p[BeltP.T_0] - over) * sink(0, over, i, data)


@kernel
def wrap_tension(stretch, i, p, data):
    """T [N] of belt that lies on pulley i with a Lambda."""
    row = int(data[D.GEOMETRY]) + N_ARC * i
    g = data[row + Arc.SINK]
    c = data[row + Arc.LESS]
    a = g * stretch + 1.0 / p[BeltP.EA]
    b = stretch - 1.0 - p[BeltP.T_0] / p[BeltP.EA]
    root = a * a - 4.0 * c * stretch * b
    T = p[BeltP.T_0]
    if root * p[BeltP.EA] * p[BeltP.EA] > 1.0:
        T += 2.0 * b / (a + math.sqrt(root))
    elif c > 0.0:
        T = p[BeltP.EA] * (stretch * (1.0 - 0.5 * g * data[row + Arc.LAST]) - 1.0)
    else:
        T += b / a
    return T if T > 0.0 else 0.0


@kernel
def by_stretch(stretch, T, over, i, p, data):
    """dN/dLambda [N] there."""
    if not T > 0.0:
        return 0.0
    by = 1.0 - sink(0, over, i, data)
    return by * by * p[BeltP.EA] / (1.0 + stretch * p[BeltP.EA] * sink(1, over, i, data))


@kernel
def rims(j, flux, p, data, work):
    """What the pulleys at the start and at the end of span j take of it, into W_RIM; expects its cell."""
    n = int(data[D.N])
    count = n * int(data[D.FACES])
    c = int(data[D.W_CELL]) + j * int(data[D.FACES])
    T = work[c + count]
    for end in range(2):
        i = j
        if end == 1:
            i = j + 1 if j + 1 < n else 0
        at = int(data[D.W_RIM]) + N_RIM * (2 * j + end)
        over = over_rest(T, i, p, data)
        by = 1.0 - sink(0, over, i, data)
        N = rim_tension(T, over, i, p, data)
        work[at + Rim.N] = N
        work[at + Rim.BY_L] = by * work[c + 2 * count]
        work[at + Rim.HAT] = N - flux * (1.0 + N / p[BeltP.EA])
        work[at + Rim.STRETCH] = work[c] / by
        work[at + Rim.RATE] = work[c + 5 * count] - sink(1, over, i, data) * work[c + 2 * count] / by


@kernel
def limits(x, p, data, work):
    """Limits of all wraps by the tensions of this instant; expects `cells`."""
    set_limits(x, p, data, work)
    if data[D.ARMS] > 0.0:
        limits_by_arms(x, p, data, work)


@kernel
def cell_lift(i, data):
    """A of each cell on pulley i [m/N]."""
    return data[int(data[D.GEOMETRY]) + N_ARC * i + Arc.LIFT] / (data[D.FACES] - 1.0)


@kernel
def lifted_inertias(x, p, data, work):
    """Inertias of the pulleys less what the belt's way takes [kg.m2]."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    cell = int(data[D.W_CELL])
    tension = cell + n * F
    lift = int(data[D.W_LIFT])
    for i in range(n):
        work[lift + n + i] = work[int(data[D.W_INERTIA]) + i]
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        mass = p[BeltP.M] * rim_radius(i, data) * rim_radius(i, data)
        for k in range(1, F):
            hat = work[tension + j * F + k] - work[lift + i] - p[BeltP.T_0]
            work[lift + n + i] += 2.0 * mass * cell_lift(i, data) * hat
        way = work[cell + j * F] * x[j * F] - work[int(data[D.W_LENGTH]) + j * F]
        work[lift + n + i] -= mass * way
        work[lift + n + j] -= p[BeltP.M] * rim_radius(j, data) * rim_radius(j, data) * way


@kernel
def ends_energy(j, p, data, work):
    """``U - l e`` of span j and of the wrap behind it [J]; expects `cells`."""
    n = int(data[D.N])
    i = j + 1 if j + 1 < n else 0
    at = int(data[D.W_LIFT])
    phi = span_inertia(j, data, work)
    hat = work[int(data[D.W_CELL]) + n * int(data[D.FACES]) + j * int(data[D.FACES])] - phi
    way = more_way(hat, j, data, work)
    energy = way_energy(hat, j, data, work) - phi * way
    return energy - cell_lift(i, data) * (data[D.FACES] - 1.0) * work[at + i] * (p[BeltP.T_0] + 0.5 * work[at + i])


@kernel
def limit(kappa, T_hat, p):
    """Largest jump P of T_hat [N] above the smaller of both sides, of a face or of its whole wrap."""
    return kappa * grown(T_hat, p)


@kernel
def grown(T_hat, p):
    """The tension [N] that grows along a wrap."""
    return (T_hat if T_hat > 0.0 else 0.0) + LEAST * p[BeltP.T_0]


@kernel
def sliding(margin, x, p, data, work):
    """Which faces slide, and which way (1: the belt is faster than the rim, -1, or 0), into W_SLIDE; expects `cells`.

    They do from ``1 - margin`` of the limit on.
    """
    n = int(data[D.N])
    F = int(data[D.FACES])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        kappa = work[int(data[D.W_KAPPA]) + n + i]
        for k in range(F):
            u = j * F + k
            before = rim_hat(0, j, k, data, work)
            behind = rim_hat(1, j, k, data, work)
            jump = behind - before
            low = behind if jump < 0.0 else before
            slide = 0.0
            if abs(jump) > (1.0 - margin) * limit(kappa, low, p):
                slide = -1.0 if jump < 0.0 else 1.0
            work[int(data[D.W_SLIDE]) + u] = slide


@kernel
def flows(x, p, data, work):
    """Flow through all faces with its derivatives; expects `cells` and `sliding`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    q_m = x[n + count]
    cell = int(data[D.W_CELL])
    tension = cell + count
    slope = cell + 2 * count
    along = 1.0 - p[BeltP.M] * q_m * q_m / p[BeltP.EA]
    face = int(data[D.W_FACE])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        V = rim_radius(i, data) * speed(i, x, data)
        kappa = work[int(data[D.W_KAPPA]) + n + i]
        rate = V_1 / limit(kappa, p[BeltP.T_0], p)
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            slide = work[int(data[D.W_SLIDE]) + u]
            N_u = work[tension + u]
            N_d = work[tension + d]
            by_l_u = work[slope + u]
            by_l_d = work[slope + d]
            Lambda_u = work[cell + u]
            Lambda_d = work[cell + d]
            rate_u = work[cell + 5 * count + u]
            rate_d = work[cell + 5 * count + d]
            if k == 0:
                at = rim_of(1, j, data)
                N_u = work[at + Rim.N]
                by_l_u = work[at + Rim.BY_L]
                Lambda_u = work[at + Rim.STRETCH]
                rate_u = work[at + Rim.RATE]
            if k == F - 1:
                at = rim_of(0, i, data)
                N_d = work[at + Rim.N]
                by_l_d = work[at + Rim.BY_L]
                Lambda_d = work[at + Rim.STRETCH]
                rate_d = work[at + Rim.RATE]
            s = 0.0
            s_u = 0.0
            s_d = 0.0
            s_q = 0.0
            if slide != 0.0:
                before = rim_hat(0, j, k, data, work)
                behind = rim_hat(1, j, k, data, work)
                low = behind if slide < 0.0 else before
                s = rate * (behind - before - slide * limit(kappa, low, p))
                by_low = -slide * rate * kappa if low > 0.0 else 0.0
                by_u = -rate + (by_low if slide > 0.0 else 0.0)
                by_d = rate + (by_low if slide < 0.0 else 0.0)
                s_u = by_u * by_l_u * along
                s_d = by_d * by_l_d * along
                s_q = by_u * (1.0 + N_u / p[BeltP.EA]) + by_d * (1.0 + N_d / p[BeltP.EA])
                s_q *= -2.0 * p[BeltP.M] * q_m
            up = u if V + s >= 0.0 else d
            w = 1.0 / (Lambda_u if up == u else Lambda_d)
            q_up = (V + s) * w * (rate_u if up == u else rate_d)
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
def flows_by_kappa(p, data, work):
    """ds/dkappa of the faces."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        P_0 = limit(work[int(data[D.W_KAPPA]) + n + i], p[BeltP.T_0], p)
        for k in range(F):
            u = j * F + k
            slide = work[int(data[D.W_SLIDE]) + u]
            low = rim_hat(1 if slide < 0.0 else 0, j, k, data, work)
            by = -slide * V_1 * grown(low, p) / P_0
            by -= work[int(data[D.W_FACE]) + count + u] / work[int(data[D.W_KAPPA]) + n + i]
            work[int(data[D.W_BY_KAPPA]) + n + u] = by


@kernel
def gates(x, p, data, work):
    """Use of each wrap's limit and what it leaves of the damping, with its derivatives; expects `cells`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    q_m = x[n + n * F]
    by_flux = 1.0 - p[BeltP.M] * q_m * q_m / p[BeltP.EA]
    gate = int(data[D.W_GATE])
    for i in range(n):
        u = rim_of(1, i - 1 if i > 0 else n - 1, data)
        d = rim_of(0, i, data)
        kappa = work[int(data[D.W_KAPPA]) + i]
        jump = work[d + Rim.HAT] - work[u + Rim.HAT]
        low = work[d + Rim.HAT] if jump < 0.0 else work[u + Rim.HAT]
        P = limit(kappa, low, p)
        use = abs(jump) / P
        g = (1.0 - use) / FADE
        work[gate + i] = use
        work[gate + n + i] = 0.0 if g < 0.0 else (1.0 if g > 1.0 else g)
        work[gate + 2 * n + i] = 0.0
        work[gate + 3 * n + i] = 0.0
        work[gate + 4 * n + i] = 0.0
        if g > 0.0 and g < 1.0:
            by_jump = (1.0 if jump < 0.0 else -1.0) / (P * FADE)
            by_low = use * kappa / (P * FADE) if low > 0.0 else 0.0
            by_u = -by_jump + (by_low if jump >= 0.0 else 0.0)
            by_d = by_jump + (by_low if jump < 0.0 else 0.0)
            work[gate + 2 * n + i] = by_u * work[u + Rim.BY_L] * by_flux
            work[gate + 3 * n + i] = by_d * work[d + Rim.BY_L] * by_flux
            along = by_u + by_d + (by_u * work[u + Rim.N] + by_d * work[d + Rim.N]) / p[BeltP.EA]
            work[gate + 4 * n + i] = -2.0 * p[BeltP.M] * q_m * along
        work[int(data[D.W_BY_KAPPA]) + i] = use / (kappa * FADE) if g > 0.0 and g < 1.0 else 0.0


@kernel
def start_source(j, x, data, work):
    """Cell whose stretch the belt has when it leaves span j's first pulley: the span, if that turns backwards."""
    F = int(data[D.FACES])
    count = int(data[D.N]) * F
    c = j * F
    if rim_radius(j, data) * speed(j, x, data) < 0.0:
        return c
    last = c - 1 if c > 0 else count - 1
    for k in range(F):
        if work[int(data[D.W_SLIDE]) + last - k] == 0.0:
            return last - k
    return last


@kernel
def end_source(j, i, x, data, work):
    """The same where span j comes to pulley i, which sends belt into it if it turns backwards."""
    F = int(data[D.FACES])
    count = int(data[D.N]) * F
    c = j * F
    if rim_radius(i, data) * speed(i, x, data) >= 0.0:
        return c
    for k in range(F):
        if work[int(data[D.W_SLIDE]) + c + k] == 0.0:
            return c + k + 1 if c + k + 1 < count else 0
    return c + 1


@kernel
def ratio(cell, source, data, work):
    """rho: stretch of a span over that of the belt that comes from `source`."""
    return work[int(data[D.W_CELL]) + cell] / work[int(data[D.W_CELL]) + source]


@kernel
def span_damping(j, i, p, data, work):
    """``g d`` of the span from pulley j to pulley i [N.s/m]."""
    gate = int(data[D.W_GATE]) + int(data[D.N])
    return work[gate + j] * work[gate + i] * whole_damping(j, p, data)


@kernel
def whole_damping(j, p, data):
    """d of span j [N.s/m]."""
    row = int(data[D.GEOMETRY]) + N_ARC * j
    return data[row + Arc.BY_D] * p[BeltP.D] + data[row + Arc.RIBS]


@kernel
def span_dampers(x, p, data, work):
    """What the spans' dampers do; expects `gates`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    at = int(data[D.W_DAMPER])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        rho_s = ratio(j * F, start_source(j, x, data, work), data, work)
        rho_e = ratio(j * F, end_source(j, i, x, data, work), data, work)
        rate = rho_e * rim_radius(i, data) * speed(i, x, data) - rho_s * rim_radius(j, data) * speed(j, x, data)
        if arm_of_span(j, data) >= 0:
            rate += way_rate(j, x, data, work)
        work[at + j] = rho_s
        work[at + n + j] = rho_e
        work[at + 2 * n + j] = rate
        work[at + 3 * n + j] = span_damping(j, i, p, data, work) * rate


@kernel
def flange_torques(x, u, p, data, work):
    """What each pulley is left with, ``J omega'``; where the speed is given, what the flange adds. Expects `gates`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    damper = int(data[D.W_DAMPER])
    span_dampers(x, p, data, work)
    for i in range(n):
        j = i - 1 if i > 0 else n - 1
        force = work[rim_of(0, i, data) + Rim.N] - work[rim_of(1, j, data) + Rim.N]
        force += work[damper + i] * work[damper + 3 * n + i]
        force -= work[damper + n + j] * work[damper + 3 * n + j]
        own = decoupler_of(i, data)
        if own >= 0:
            tau = rim_radius(i, data) * force
            tau -= clutch_torque(own, speed(i, x, data), x, p, data, work)
        else:
            tau = other_torque(i, speed(i, x, data), u, p, data) + rim_radius(i, data) * force
        if data[D.ARMS] > 0.0:
            way = way_rate(i, x, data, work) + way_rate(j, x, data, work)
            tau -= 0.5 * rim_radius(i, data) * p[BeltP.M] * x[n + n * F] * way
            tau += p[int(data[D.P_B]) + i] * carrier_speed(i, x, data)
        at = given_state(i, data)
        if at >= 0:
            tau = work[int(data[D.W_LIFT]) + n + i] * x[at + GivenX.A] - tau
        work[int(data[D.W_FLANGE]) + i] = tau


@kernel
def shaft_speed(i, x, data):
    """Speed of the shaft of pulley i, that of the pulley unless a decoupler is between them [rad/s]."""
    m = decoupler_of(i, data)
    if m >= 0:
        return x[decoupler_state(m, data) + DecouplerX.W]
    return speed(i, x, data)


@kernel
def decoupled(m, data):
    """Pulley of decoupler m."""
    return int(data[int(data[D.DECOUPLER]) + N_DECOUPLER_D * m + DecouplerD.PULLEY])


@kernel
def carrier_speed(i, x, data):
    """Speed of what carries pulley i, an arm or nothing that moves [rad/s]."""
    m = arm_of_pulley(i, data)
    return x[arm_state(m, data) + ArmX.W] if m >= 0 else 0.0


@kernel
def arm_torque(m, x, p, data, work):
    """Torque [N.m] of belt and bearing on an arm; expects `span_dampers`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    tension = int(data[D.W_CELL]) + n * F
    i = int(data[int(data[D.ARM]) + N_ARM_D * m + ArmD.PULLEY])
    torque = p[int(data[D.P_B]) + i] * (speed(i, x, data) - carrier_speed(i, x, data))
    for j in range(n):
        if arm_of_span(j, data) == m:
            after = j + 1 if j + 1 < n else 0
            force = work[tension + j * F] + work[int(data[D.W_DAMPER]) + 3 * n + j]
            torque -= way_lever(j, data, work) * (force - inertia_force(j, after, x, p, data))
    return torque


@kernel
def inertia_force(j, i, x, p, data):
    """``m q (V_s + V_e)/2`` of the span from pulley j to pulley i [N]."""
    n = int(data[D.N])
    V = rim_radius(j, data) * speed(j, x, data) + rim_radius(i, data) * speed(i, x, data)
    return 0.5 * p[BeltP.M] * x[n + n * int(data[D.FACES])] * V


@kernel
def hybrid_derivative(x, u, p, data, dx, work):
    """Rates of the hybrid model, faces sliding as in W_SLIDE; expects `cells`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    flows(x, p, data, work)
    gates(x, p, data, work)
    flange_torques(x, u, p, data, work)
    face = int(data[D.W_FACE])
    for i in range(n):
        at = given_state(i, data)
        if at >= 0:
            dx[count + i] = x[at + GivenX.A]
            for k in range(N_GIVEN):
                dx[at + k] = 0.0
        else:
            dx[count + i] = work[int(data[D.W_FLANGE]) + i] / work[int(data[D.W_LIFT]) + n + i]
    for m in range(int(data[D.ARMS])):
        arm_rates(m, arm_torque(m, x, p, data, work), x, p, data, dx)
    for m in range(int(data[D.DECOUPLERS])):
        own = decoupled(m, data)
        torque = other_torque(own, shaft_speed(own, x, data), u, p, data)
        decoupler_rates(m, torque, speed(own, x, data), x, p, data, dx, work)
    if data[D.N_SLIDING] > 0.0:
        for i in range(n):
            dx[int(data[D.X_SLIDING]) + i] = 0.0
    mean = 0.0
    for c in range(count):
        before = c - 1 if c > 0 else count - 1
        dx[c] = work[face + before] - work[face + c]
        mean += work[face + c]
    dx[n + count] = (mean / count - x[n + count]) / T_Q


@kernel
def damping_row(row, scale, rho, j, i, x, p, data, jac, work):
    """Add ``scale`` times the derivative of ``rho F_d``, rho held, to a row; F_d is that of the span from j to i."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    n_x = int(data[D.N_X])
    a = row * n_x
    c = j * F
    source_s = start_source(j, x, data, work)
    source_e = end_source(j, i, x, data, work)
    gate = int(data[D.W_GATE])
    rate = int(data[D.W_CELL]) + 5 * count
    V_s = rim_radius(j, data) * speed(j, x, data)
    V_e = rim_radius(i, data) * speed(i, x, data)
    rho_s = work[int(data[D.W_DAMPER]) + j]
    rho_e = work[int(data[D.W_DAMPER]) + n + j]
    damping = scale * rho * span_damping(j, i, p, data, work)
    jac[a + count + j] -= damping * rho_s * rim_radius(j, data)
    jac[a + count + i] += damping * rho_e * rim_radius(i, data)
    jac[a + c] += damping * V_s * rho_s * work[rate + c]
    jac[a + source_s] -= damping * V_s * rho_s * work[rate + source_s]
    jac[a + c] -= damping * V_e * rho_e * work[rate + c]
    jac[a + source_e] += damping * V_e * rho_e * work[rate + source_e]
    if arm_of_span(j, data) >= 0:
        at = arm_state(arm_of_span(j, data), data)
        jac[a + at + ArmX.W] += damping * way_lever(j, data, work)
        jac[a + at + ArmX.THETA] += damping * lever_by_angle(j, data, work) * x[at + ArmX.W]
    whole = scale * rho * work[int(data[D.W_DAMPER]) + 2 * n + j] * whole_damping(j, p, data)
    for end in range(2):
        k = j if end == 0 else i
        other = work[gate + n + (i if end == 0 else j)]
        up = (k - 1) * F if k > 0 else count - F
        jac[a + up] += whole * other * work[gate + 2 * n + k]
        jac[a + k * F] += whole * other * work[gate + 3 * n + k]
        jac[a + count + n] += whole * other * work[gate + 4 * n + k]
        for m in range(int(data[D.ARMS])):
            by_kappa = work[int(data[D.W_BY_KAPPA]) + k] * kappa_by_angle(0, k, m, data, work)
            jac[a + arm_state(m, data) + ArmX.THETA] += whole * other * by_kappa


@kernel
def pulley_row(i, x, p, data, jac, work):
    """The row of a pulley that torques move."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    rate = int(data[D.W_CELL]) + 5 * count
    a = (count + i) * int(data[D.N_X])
    j = i - 1 if i > 0 else n - 1
    after = i + 1 if i + 1 < n else 0
    inverse = 1.0 / work[int(data[D.W_LIFT]) + n + i]
    by_force = rim_radius(i, data) * inverse
    own = decoupler_of(i, data)
    if own >= 0:
        decoupler_columns(own, i, count + i, -inverse, p, data, jac, work)
    else:
        jac[a + count + i] += (load_torque(i, 1, speed(i, x, data), data) - p[int(data[D.P_B]) + i]) * inverse
    jac[a + i * F] += by_force * work[rim_of(0, i, data) + Rim.BY_L]
    jac[a + j * F] -= by_force * work[rim_of(1, j, data) + Rim.BY_L]
    damper = int(data[D.W_DAMPER])
    rho_s = work[damper + i]
    rho_e = work[damper + n + j]
    damping_row(count + i, by_force, rho_s, i, after, x, p, data, jac, work)
    damping_row(count + i, -by_force, rho_e, j, i, x, p, data, jac, work)
    F_d = work[damper + 3 * n + i]
    source = start_source(i, x, data, work)
    jac[a + i * F] -= by_force * F_d * rho_s * work[rate + i * F]
    jac[a + source] += by_force * F_d * rho_s * work[rate + source]
    F_d = work[damper + 3 * n + j]
    source = end_source(j, i, x, data, work)
    jac[a + j * F] += by_force * F_d * rho_e * work[rate + j * F]
    jac[a + source] -= by_force * F_d * rho_e * work[rate + source]
    by_way = (
        work[int(data[D.W_FLANGE]) + i] * inverse * inverse * p[BeltP.M] * rim_radius(i, data) * rim_radius(i, data)
    )
    way_columns(a, by_way, i * F, data, jac, work)
    way_columns(a, by_way, j * F, data, jac, work)
    for k in range(1, F):
        way_columns(a, 2.0 * by_way, j * F + k, data, jac, work)
    if data[D.ARMS] > 0.0:
        pulley_row_of_arms(i, j, by_force, inverse, x, p, data, jac, work)


@kernel
def way_columns(a, scale, c, data, jac, work):
    """Add `scale` times the derivative of W of cell c to a row that begins at `a`; what its tension does not change."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    j = int(c / F)
    by = int(data[D.W_LIFT]) + 2 * n
    jac[a + c] -= scale * work[by + 2 * count + c] * work[int(data[D.W_CELL]) + 2 * count + c]
    jac[a + count + j] += scale * work[by + c]
    jac[a + count + (j + 1 if j + 1 < n else 0)] += scale * work[by + count + c]


@kernel
def speed_columns(moving, data, jac, work):
    """Add what comes of the cells' ways to the columns of the speeds, as `angle_columns` does for angles.

    Limits that are held (`moving` 0) leave a cell in its own row, those of its neighbours and those behind the ring.
    """
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    n_x = int(data[D.N_X])
    by = int(data[D.W_LIFT]) + 2 * n
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        for k in range(F):
            c = j * F + k
            inverse = 1.0 / work[int(data[D.W_CELL]) + c]
            before = work[by + c] * inverse
            after = work[by + count + c] * inverse
            for at in range(0 if moving == 1 else count - 3, count):
                row = at
                if moving == 0:
                    row = c + at - count + 2
                    row += count if row < 0 else (-count if row >= count else 0)
                jac[row * n_x + count + j] -= before * jac[row * n_x + c]
                jac[row * n_x + count + i] -= after * jac[row * n_x + c]
            for row in range(count, n_x):
                value = jac[row * n_x + c]
                if value != 0.0:
                    jac[row * n_x + count + j] -= before * value
                    jac[row * n_x + count + i] -= after * value


@kernel
def pulley_row_of_arms(i, j, by_force, inverse, x, p, data, jac, work):
    """What arms add to the row of pulley i, which span j comes to."""
    n = int(data[D.N])
    count = n * int(data[D.FACES])
    a = (count + i) * int(data[D.N_X])
    m = arm_of_pulley(i, data)
    if m >= 0:
        jac[a + arm_state(m, data) + ArmX.W] += p[int(data[D.P_B]) + i] * inverse
    for end in range(2):
        span = i if end == 0 else j
        m = arm_of_span(span, data)
        if m >= 0:
            at = arm_state(m, data)
            by_way = -0.5 * by_force * p[BeltP.M]
            jac[a + n + count] += by_way * way_rate(span, x, data, work)
            by_way *= x[n + count]
            jac[a + at + ArmX.W] += by_way * way_lever(span, data, work)
            jac[a + at + ArmX.THETA] += by_way * lever_by_angle(span, data, work) * x[at + ArmX.W]


@kernel
def arm_rows(m, x, p, data, jac, work):
    """The rows of an arm, the way of the cells held."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    at = arm_state(m, data)
    row = at + ArmX.W
    a = row * int(data[D.N_X])
    inverse = 1.0 / arm_inertia(m, p, data)
    arm_row(m, x, p, data, jac)
    i = int(data[int(data[D.ARM]) + N_ARM_D * m + ArmD.PULLEY])
    bearing = p[int(data[D.P_B]) + i] * inverse
    jac[a + count + i] += bearing
    jac[a + row] -= bearing
    for j in range(n):
        if arm_of_span(j, data) == m:
            after = j + 1 if j + 1 < n else 0
            lever = way_lever(j, data, work) * inverse
            force = work[int(data[D.W_CELL]) + count + j * F] - inertia_force(j, after, x, p, data)
            force += work[int(data[D.W_DAMPER]) + 3 * n + j]
            jac[a + at + ArmX.THETA] -= lever_by_angle(j, data, work) * inverse * force
            jac[a + j * F] -= lever * work[int(data[D.W_CELL]) + 2 * count + j * F]
            V = rim_radius(j, data) * speed(j, x, data) + rim_radius(after, data) * speed(after, x, data)
            jac[a + n + count] += 0.5 * lever * p[BeltP.M] * V
            jac[a + count + j] += 0.5 * lever * p[BeltP.M] * x[n + count] * rim_radius(j, data)
            jac[a + count + after] += 0.5 * lever * p[BeltP.M] * x[n + count] * rim_radius(after, data)
            damping_row(row, -lever, 1.0, j, after, x, p, data, jac, work)


@kernel
def angle_columns(m, data, jac, work):
    """Add what comes of the spans' lengths and the wraps' limits to the column of an arm's angle; all else stands.

    A cell's stretch changes with its length L as with -L/lambda of what it holds.
    """
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    n_x = int(data[D.N_X])
    face = int(data[D.W_FACE])
    theta = arm_state(m, data) + ArmX.THETA
    for j in range(n):
        if arm_of_span(j, data) == m:
            by_length = -way_lever(j, data, work) / work[int(data[D.W_CELL]) + j * F]
            for row in range(n_x):
                jac[row * n_x + theta] += by_length * jac[row * n_x + j * F]
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        by_kappa = kappa_by_angle(1, i, m, data, work)
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            q = work[face + 2 * count + u] * work[int(data[D.W_BY_KAPPA]) + n + u] * by_kappa
            jac[u * n_x + theta] -= q
            jac[d * n_x + theta] += q
            jac[(n + count) * n_x + theta] += q / (count * T_Q)


@kernel
def slides_by_angle(m, data, work):
    """ds/dtheta of all faces, of the angle of an arm; expects ds/dl and ds/dkappa."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    face = int(data[D.W_FACE])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        by_kappa = kappa_by_angle(1, i, m, data, work)
        for k in range(F):
            u = j * F + k
            by = work[int(data[D.W_BY_KAPPA]) + n + u] * by_kappa
            for end in range(2):
                c = u + end if u + end < count else 0
                span = int(c / F)
                if c == span * F and arm_of_span(span, data) == m:
                    by_length = -way_lever(span, data, work) / work[int(data[D.W_CELL]) + c]
                    by += by_length * work[face + (6 + end) * count + u]
            work[int(data[D.W_BY_ARM]) + m * count + u] = by


@kernel
def limit_columns(x, p, data, jac, work):
    """Add what comes of faces' limits that go with the tension of the slack span; gates: to their derivatives."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    n_x = int(data[D.N_X])
    face = int(data[D.W_FACE])
    gate = int(data[D.W_GATE])
    limits_by_tension(x, p, data, work)
    for i in range(n):
        j = i - 1 if i > 0 else n - 1
        low = slack_cell(i, data, work)
        by_l = work[int(data[D.W_CELL]) + 4 * count + low]
        by_q = -2.0 * p[BeltP.M] * x[n + count] * (1.0 + work[int(data[D.W_CELL]) + count + low] / p[BeltP.EA])
        by_T = work[int(data[D.W_HELD]) + n + i]
        by_gate = by_T * (work[int(data[D.W_KAPPA]) + i] + 1.0) * work[int(data[D.W_BY_KAPPA]) + i]
        work[gate + (3 if low == i * F else 2) * n + i] += by_gate * by_l
        work[gate + 4 * n + i] += by_gate * by_q
        by_face = by_T / F * (work[int(data[D.W_KAPPA]) + n + i] + 1.0)
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            q = work[face + 2 * count + u] * work[int(data[D.W_BY_KAPPA]) + n + u] * by_face
            for side in range(3):
                row = u * n_x if side == 0 else (d * n_x if side == 1 else (n + count) * n_x)
                sign = -1.0 if side == 0 else (1.0 if side == 1 else 1.0 / (count * T_Q))
                jac[row + low] += sign * q * by_l
                jac[row + n + count] += sign * q * by_q


@kernel
def hybrid_jacobian(moving, x, p, data, jac, work):
    """``df/dx`` of the hybrid model; expects the blocks that its derivative leaves. `moving` 1: limits are not held."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    n_x = int(data[D.N_X])
    face = int(data[D.W_FACE])
    for k in range(n_x * n_x):
        jac[k] = 0.0
    if moving == 1 or data[D.ARMS] > 0.0:
        flows_by_kappa(p, data, work)
    if moving == 1:
        limit_columns(x, p, data, jac, work)
    for pulley in range(n):
        at = given_state(pulley, data)
        if at >= 0:
            jac[(count + pulley) * n_x + at + GivenX.A] = 1.0
        else:
            pulley_row(pulley, x, p, data, jac, work)
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        for k in range(F):
            u = j * F + k
            d = u + 1 if u + 1 < count else 0
            by_omega = work[face + 2 * count + u] * rim_radius(i, data)
            for side in range(3):
                row = u * n_x if side == 0 else (d * n_x if side == 1 else (n + count) * n_x)
                sign = -1.0 if side == 0 else (1.0 if side == 1 else 1.0 / (count * T_Q))
                jac[row + count + i] += sign * by_omega
                jac[row + u] += sign * work[face + 3 * count + u]
                jac[row + d] += sign * work[face + 4 * count + u]
                jac[row + n + count] += sign * work[face + 5 * count + u]
    jac[(n + count) * n_x + n + count] -= 1.0 / T_Q
    for m in range(int(data[D.ARMS])):
        arm_rows(m, x, p, data, jac, work)
    for m in range(int(data[D.DECOUPLERS])):
        own = decoupled(m, data)
        slope = load_torque(own, 1, shaft_speed(own, x, data), data) - p[int(data[D.P_B]) + own]
        decoupler_rows(m, slope, p, data, jac, work)
    speed_columns(moving, data, jac, work)
    for m in range(int(data[D.ARMS])):
        angle_columns(m, data, jac, work)


# --- rigid model ------------------------------------------------------------------------------------------------------


@kernel
def rigid_derivative(x, u, p, data, dx, work):
    """Rates of the rigid model, and the torques of all but the belt on its pulleys."""
    force = 0.0
    mass = 0.0
    driven = -1
    for i in range(int(data[D.N])):
        R = rim_radius(i, data)
        tau = other_torque(i, x[0] / R, u, p, data)
        work[int(data[D.W_FLANGE]) + i] = tau
        force += tau / R
        mass += work[int(data[D.W_INERTIA]) + i] / (R * R)
        if given_state(i, data) >= 0:
            driven = i
    dx[0] = force / mass
    if driven >= 0:
        at = given_state(driven, data)
        R = rim_radius(driven, data)
        for k in range(N_GIVEN):
            dx[at + k] = 0.0
        dx[0] = R * x[at + GivenX.A]
        work[int(data[D.W_FLANGE]) + driven] += R * (mass * dx[0] - force)


@kernel
def rigid_jacobian(x, p, data, jac, work):
    """``df/dx`` of the rigid model."""
    n_x = int(data[D.N_X])
    for k in range(n_x * n_x):
        jac[k] = 0.0
    mass = 0.0
    driven = -1
    for i in range(int(data[D.N])):
        R = rim_radius(i, data)
        mass += work[int(data[D.W_INERTIA]) + i] / (R * R)
        if given_state(i, data) >= 0:
            driven = i
    if driven >= 0:
        jac[given_state(driven, data) + GivenX.A] = rim_radius(driven, data)
    else:
        for i in range(int(data[D.N])):
            R = rim_radius(i, data)
            jac[0] += (load_torque(i, 1, x[0] / R, data) - p[int(data[D.P_B]) + i]) / (R * R * mass)


@kernel
def rigid_tensions(acceleration, flux, p, data, work):
    """Tensions of the spans [N] from the torques on the pulleys in W_FLANGE and the length of the belt, or arms.

    `flux` is G v [N].
    """
    n = int(data[D.N])
    at = int(data[D.W_TENSION])
    T = 0.0
    total = 0.0
    weight = 0.0
    for i in range(n):
        row = int(data[D.GEOMETRY]) + N_ARC * i
        R = rim_radius(i, data)
        if i > 0:
            T += (work[int(data[D.W_INERTIA]) + i] * acceleration / R - work[int(data[D.W_FLANGE]) + i]) / R
        work[at + i] = T
        total += data[row + Arc.WEIGHT] * T
        weight += data[row + Arc.WEIGHT]
    level = p[BeltP.T_0] - total / weight
    if data[D.STANDS] != 0.0:
        level += flux
    for i in range(n):
        work[at + i] += level


# --- outputs ----------------------------------------------------------------------------------------------------------


@kernel
def shared_outputs(v, flux, x, u, p, data, y, work):
    """Flanges, bearings and wraps; expects tensions in W_TENSION, torques in W_FLANGE and the rest of `y`.

    `v` is the speed of the rims in the rigid model, `flux` is G v per stretch.
    """
    n = int(data[D.N])
    whole = int(data[D.Y_BELT])
    tension = int(data[D.W_TENSION])
    rigid = data[D.RIGID] != 0.0
    friction = 0.0
    load = 0.0
    for i in range(n):
        j = i - 1 if i > 0 else n - 1
        row = int(data[D.GEOMETRY]) + N_ARC * i
        before = int(data[D.GEOMETRY]) + N_ARC * j
        flange = int(data[D.FLANGE]) + 3 * i
        omega = v / rim_radius(i, data)
        if not rigid:
            omega = speed(i, x, data)
        if data[D.DECOUPLERS] > 0.0:
            omega = shaft_speed(i, x, data)
        turning = omega
        if data[D.ARMS] > 0.0:
            turning = omega - carrier_speed(i, x, data)
        friction += p[int(data[D.P_B]) + i] * turning * turning
        load -= load_torque(i, 0, omega, data) * omega
        y[i] = omega
        if given_state(i, data) >= 0:
            tau = work[int(data[D.W_FLANGE]) + i]
            if rigid:
                tau -= other_torque(i, omega, u, p, data)
            y[i] = tau
            y[int(data[D.Y_GIVEN]) + int(data[flange + 2])] = omega
        stiffness = p[BeltP.EA]
        T_in = work[tension + j] - flux * (1.0 + work[tension + j] / stiffness)
        T_out = work[tension + i] - flux * (1.0 + work[tension + i] / stiffness)
        at = int(data[D.Y_PULLEY]) + N_PULLEY * i
        y[int(data[D.Y_TENSION]) + i] = work[tension + i]
        y[at + PulleyY.USE] = work[int(data[D.W_GATE]) + i]
        y[at + PulleyY.F_X] = T_out * data[row + Arc.T_X] - T_in * data[before + Arc.T_X]
        y[at + PulleyY.F_Y] = T_out * data[row + Arc.T_Y] - T_in * data[before + Arc.T_Y]
        if rigid:
            low = T_in if T_in < T_out else T_out
            y[at + PulleyY.USE] = abs(T_out - T_in) / limit(work[int(data[D.W_KAPPA]) + i], low, p)
            y[at + PulleyY.SLIP] = 0.0
            y[at + PulleyY.N] = 0.5 * (T_in + T_out) * data[row + Arc.BETA]
        if data[D.ARMS] > 0.0:
            turned_force(i, j, T_in, T_out, data, y, work)
    y[whole + Y.FRICTION] = friction
    y[whole + Y.LOAD] = load


@kernel
def turned_force(i, j, T_in, T_out, data, y, work):
    """Force of the belt on pulley i, which span j comes to, with the spans as arms turn them."""
    turn = int(data[D.W_SPAN_ARM]) + 2 * int(data[D.N])
    at = int(data[D.Y_PULLEY]) + N_PULLEY * i
    y[at + PulleyY.F_X] = 0.0
    y[at + PulleyY.F_Y] = 0.0
    for end in range(2):
        span = i if end == 0 else j
        force = T_out if end == 0 else -T_in
        row = int(data[D.GEOMETRY]) + N_ARC * span
        c = cos(work[turn + span])
        s = sin(work[turn + span])
        y[at + PulleyY.F_X] += force * (c * data[row + Arc.T_X] - s * data[row + Arc.T_Y])
        y[at + PulleyY.F_Y] += force * (s * data[row + Arc.T_X] + c * data[row + Arc.T_Y])


@kernel
def wrap_angle(i, data, work):
    """Angle [rad] of pulley i's wrap."""
    beta = data[int(data[D.GEOMETRY]) + N_ARC * i + Arc.BETA]
    if data[D.ARMS] > 0.0:
        turn = int(data[D.W_SPAN_ARM]) + 2 * int(data[D.N])
        j = i - 1 if i > 0 else int(data[D.N]) - 1
        sigma = data[int(data[D.GEOMETRY]) + N_ARC * i + Arc.SIGMA]
        beta += sigma * (work[turn + i] - work[turn + j])
    return beta


@kernel
def arm_outputs(x, p, data, y):
    """Outputs of the arms."""
    at = int(data[D.Y_ARM])
    for m in range(int(data[D.ARMS])):
        a = arm_state(m, data)
        y[at + ArmY.THETA] = x[a + ArmX.THETA]
        y[at + ArmY.W] = x[a + ArmX.W]
        y[at + ArmY.M] = x[a + ArmX.M]
        y[at + ArmY.M_S] = stop_torque(0, m, x[a + ArmX.THETA], x[a + ArmX.W], p, data)
        at += N_ARM_Y
    y[at] = arm_loss(x, p, data)


@kernel
def hybrid_output(x, u, p, data, y, work):
    """Outputs of the hybrid model; expects `cells` and flows."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    gates(x, p, data, work)
    flange_torques(x, u, p, data, work)
    cell = int(data[D.W_CELL])
    tension = cell + count
    face = int(data[D.W_FACE])
    energy = 0.0
    creep = 0.0
    span = 0.0
    length = 0.0
    unloaded = 0.0
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        V = rim_radius(i, data) * speed(i, x, data)
        beta = wrap_angle(i, data, work)
        normal = 0.0
        for k in range(F):
            u_ = j * F + k
            d = u_ + 1 if u_ + 1 < count else 0
            T_u = work[cell + 6 * count + u_]
            T_d = work[cell + 6 * count + d]
            s = work[face + count + u_]
            q = (V + s) / rim_stretch(0 if V + s >= 0.0 else 1, j, k, data, work)
            creep += q * (T_d - T_u) * (1.0 + 0.5 * (T_u + T_d) / p[BeltP.EA])
            N_u = rim_tension(T_u, over_rest(T_u, i, p, data), i, p, data)
            creep -= V * (rim_tension(T_d, over_rest(T_d, i, p, data), i, p, data) - N_u)
            energy += x[u_] * cell_energy(u_, p, data, work)
            length += work[cell + u_] * x[u_]
            unloaded += x[u_]
            normal += 0.5 * (rim_hat(0, j, k, data, work) + rim_hat(1, j, k, data, work)) * beta / F
        energy += ends_energy(j, p, data, work)
        damper = int(data[D.W_DAMPER]) + 2 * n + j
        span += work[damper + n] * work[damper]
        energy += 0.5 * work[int(data[D.W_INERTIA]) + i] * speed(i, x, data) * speed(i, x, data)
        work[int(data[D.W_TENSION]) + j] = work[tension + j * F]
        at = int(data[D.Y_PULLEY]) + N_PULLEY * i
        last = j * F + F - 1
        exit_face = last if V >= 0.0 else j * F
        exit_span = rim_of(0, i, data) if V >= 0.0 else rim_of(1, j, data)
        y[at + PulleyY.SLIP] = work[face + exit_face] * work[exit_span + Rim.STRETCH] - V
        y[at + PulleyY.N] = normal
    whole = int(data[D.Y_BELT])
    y[whole + Y.V] = x[n + count] * length / unloaded
    if data[D.ARMS] > 0.0:
        energy += arm_energy(x, p, data)
        arm_outputs(x, p, data, y)
    if data[D.DECOUPLERS] > 0.0:
        energy += decoupler_energy(x, p, data)
        decoupler_outputs(x, p, data, y, work)
    y[whole + Y.E] = energy
    y[whole + Y.CREEP] = creep
    y[whole + Y.SPAN] = span
    shared_outputs(0.0, p[BeltP.M] * x[n + count] * x[n + count], x, u, p, data, y, work)
    span_outputs(x[n + count], shaft_speed(int(data[D.DRIVER]), x, data), p, data, y, work)


@kernel
def rigid_output(x, u, p, data, y, work):
    """Outputs of the rigid model."""
    n = int(data[D.N])
    dx = work[int(data[D.W_STEP]) : int(data[D.W_STEP]) + int(data[D.N_X])]
    rigid_derivative(x, u, p, data, dx, work)
    q = x[0] / (1.0 + p[BeltP.T_0] / p[BeltP.EA])
    rigid_tensions(dx[0], p[BeltP.M] * q * x[0], p, data, work)
    energy = 0.0
    for i in range(n):
        omega = x[0] / rim_radius(i, data)
        energy += 0.5 * work[int(data[D.W_INERTIA]) + i] * omega * omega
    whole = int(data[D.Y_BELT])
    y[whole + Y.V] = x[0]
    y[whole + Y.E] = energy
    y[whole + Y.CREEP] = 0.0
    y[whole + Y.SPAN] = 0.0
    shared_outputs(x[0], p[BeltP.M] * q * q, x, u, p, data, y, work)
    span_outputs(q, x[0] / rim_radius(int(data[D.DRIVER]), data), p, data, y, work)


# --- the model's five functions, see rtcvt.model ----------------------------------------------------------------------


@kernel
def place_belt(T, rests, p, data, x, work):
    """Arms and contents of all cells, the spans at a tension [N]; the sum of the contents [m].

    On a wrap tension changes from face to face in equal steps. `rests` 1: wraps hold what they do at rest, as far as
    friction lets them.
    """
    n = int(data[D.N])
    F = int(data[D.FACES])
    if data[D.ARMS] > 0.0:
        start_arms(T, p, data, x)
        place_arms(x, p, data, work)
    total = 0.0
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        c = j * F
        x[c] = (work[int(data[D.W_LENGTH]) + c] + more_way(T, j, data, work)) / (1.0 + T / p[BeltP.EA])
        step = 0.0
        if rests == 1:
            over = over_rest(T, i, p, data)
            own = data[int(data[D.GEOMETRY]) + N_ARC * i + Arc.OWN]
            more = data[int(data[D.GEOMETRY]) + N_ARC * i + Arc.RESTS] + own / (1.0 + p[BeltP.T_0] / p[BeltP.EA])
            more -= own * (1.0 - sink(0, over, i, data)) / (1.0 + T / p[BeltP.EA])
            parts = 0.0
            for k in range(1, F):
                parts += (k if 2 * k < F else F - k) / (F - 1.0)
            step = -more / (own * parts * (1.0 / p[BeltP.EA] + sink(1, over, i, data)))
            held = exp(SURE * held_by(i, T, friction(i, x, p, data), data) / F) - 1.0
            most = held * T
            least = -most / (1.0 + 0.5 * F * held)
            step = least if step < least else (most if step > most else step)
        for k in range(1, F):
            own = T + step * (k if 2 * k < F else F - k)
            share = 1.0 - sink(0, over_rest(own, i, p, data), i, data)
            x[c + k] = work[int(data[D.W_LENGTH]) + c + k] * share / (1.0 + own / p[BeltP.EA])
        for k in range(F):
            total += x[c + k]
    return total


@kernel
def start_belt(p, data, x, work):
    """A belt without speed as it rests, else as it runs without load, with the same content in all."""
    last = p[BeltP.T_0]
    total = place_belt(last, 0, p, data, x, work)
    if p[BeltP.V_START] != 0.0:
        return
    before = place_belt(last, 1, p, data, x, work) - total
    T = last * (1.0 + 1e-3)
    for _ in range(20):
        if abs(before) <= 1e-14 * total:
            return
        miss = place_belt(T, 1, p, data, x, work) - total
        if miss == before:
            return
        following = T - miss * (T - last) / (miss - before)
        last = T
        T = following if following > 0.5 * last else 0.5 * last
        before = miss


@kernel
def initialise(p, data, u, x, work):
    """Start with one belt speed on all pulleys; without speed at rest, else as it runs."""
    prepare(p, data, work)
    n = int(data[D.N])
    n_x = int(data[D.N_X])
    stretch = 1.0 + p[BeltP.T_0] / p[BeltP.EA]
    v = p[BeltP.V_START]
    for i in range(n_x):
        x[i] = 0.0
    if data[D.RIGID] != 0.0:
        set_limits(x, p, data, work)
        x[0] = v
    else:
        count = n * int(data[D.FACES])
        for i in range(n):
            x[count + i] = v / rim_radius(i, data)
        for m in range(int(data[D.DECOUPLERS])):
            x[decoupler_state(m, data) + DecouplerX.W] = v / rim_radius(decoupled(m, data), data)
        start_belt(p, data, x, work)
        x[n + count] = v / stretch
    for i in range(n):
        at = given_state(i, data)
        if at >= 0:
            x[at + GivenX.W] = u[int(data[int(data[D.FLANGE]) + 3 * i + 1])]
    dx = work[int(data[D.W_STEP]) : int(data[D.W_STEP]) + n_x]
    derivative(0.0, x, u, p, data, dx, work)
    return start_status(n_x, x, dx)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Right-hand side of the hybrid or the rigid model."""
    right_hand_side(2, x, u, p, data, dx, work)


@kernel
def right_hand_side(fresh, x, u, p, data, dx, work):
    """``f(x, u)``; faces slide as at `x` (`fresh` 1), with its limits (2), or as they did (0; -1: expects `cells`)."""
    if data[D.RIGID] != 0.0:
        rigid_derivative(x, u, p, data, dx, work)
    else:
        if fresh >= 0:
            cells(x, p, data, work)
        if fresh == 2:
            limits(x, p, data, work)
        if fresh >= 1:
            sliding(0.0, x, p, data, work)
            switch_clutches(x, p, data, work)
        hybrid_derivative(x, u, p, data, dx, work)


@kernel
def linearise(fresh, x, u, p, data, f, jac, work):
    """`right_hand_side` into `f` and its ``df/dx``, row-major."""
    right_hand_side(fresh, x, u, p, data, f, work)
    if data[D.RIGID] != 0.0:
        rigid_jacobian(x, p, data, jac, work)
    else:
        hybrid_jacobian(1 if fresh == 2 else 0, x, p, data, jac, work)


@kernel
def jacobian(t, x, u, p, data, jac, work):
    """``df/dx``, row-major, inputs held."""
    n = int(data[D.N_X])
    f = work[int(data[D.W_STEP]) + n : int(data[D.W_STEP]) + 2 * n]
    linearise(2, x, u, p, data, f, jac, work)


@kernel
def coupled_linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and ``df/dx``, see `rtcvt.model.Coupling`."""
    linearise(2, x, u, p, data, f, jac, work)


@kernel
def flanged(k, data):
    """The pulley whose torque is input `k`."""
    pulley = 0
    for i in range(int(data[D.N])):
        at = int(data[D.FLANGE]) + 3 * i
        if int(data[at]) == Flange.TORQUE and int(data[at + 1]) == k:
            pulley = i
    return pulley


@kernel
def flange(k, x, u, p, data, work):
    """Speed of the shaft on which a torque acts, see `rtcvt.model.Coupling`."""
    pulley = flanged(k, data)
    if data[D.RIGID] != 0.0:
        return x[0] / rim_radius(pulley, data)
    return shaft_speed(pulley, x, data)


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`: a pulley on which a torque acts, or its shaft behind a decoupler."""
    n = int(data[D.N])
    for i in range(int(data[D.N_X])):
        row[i] = 0.0
        column[i] = 0.0
    mass = 0.0
    for i in range(n):
        R = rim_radius(i, data)
        mass += work[int(data[D.W_INERTIA]) + i] / (R * R)
    pulley = flanged(k, data)
    if data[D.RIGID] != 0.0:
        row[0] = 1.0 / rim_radius(pulley, data)
        column[0] = row[0] / mass
        return 0.0
    own = decoupler_of(pulley, data)
    state = n * int(data[D.FACES]) + pulley
    column[state] = 1.0 / work[int(data[D.W_LIFT]) + n + pulley]
    if own >= 0:
        column[state] = 0.0
        state = decoupler_state(own, data) + DecouplerX.W
        column[state] = 1.0 / p[int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * own + DecouplerP.J]
    row[state] = 1.0
    return 0.0


@kernel
def piece(x, u, p, data, work):
    """A number of its own for each set of faces that slide, and of decouplers that are free."""
    number = 0.0
    if data[D.RIGID] == 0.0:
        for i in range(int(data[D.N]) * int(data[D.FACES])):
            number = 1.618 * number + work[int(data[D.W_SLIDE]) + i]
        for m in range(int(data[D.DECOUPLERS])):
            number = 1.618 * number + work[int(data[D.W_CLUTCH]) + m]
    return number


@kernel
def output(t, x, u, p, data, y, work):
    """Flanges, tensions, slip, forces, energy and losses."""
    write_outputs(1, x, u, p, data, y, work)


@kernel
def write_outputs(fresh, x, u, p, data, y, work):
    """Outputs; `fresh` 1: of faces as they slide at `x`, 0: of the means of a step and its limits, expects `cells`."""
    if data[D.RIGID] != 0.0:
        rigid_output(x, u, p, data, y, work)
    else:
        if fresh == 1:
            cells(x, p, data, work)
        switch_clutches(x, p, data, work)
        if fresh == 1:
            limits(x, p, data, work)
            sliding(0.0, x, p, data, work)
            flows(x, p, data, work)
        else:
            flows(x, p, data, work)
            mean_flows(x, data, work)
        hybrid_output(x, u, p, data, y, work)


@kernel
def slide_stage(stage, h, k, data, work):
    """Stage of the distances that the belt slides in the faces, integrated beside the state; expects `flows` there."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    face = int(data[D.W_FACE])
    slope = int(data[D.W_MEAN]) + count
    way = slope + 3 * count
    a = way + 2 * count
    at_l = stage * int(data[D.N_X])
    for u in range(count):
        if work[int(data[D.W_SLIDE]) + u] == 0.0:
            work[int(data[D.W_MEAN]) + u] = 0.0
            continue
        d = u + 1 if u + 1 < count else 0
        if stage == 0:
            for i in range(3):
                work[slope + i * count + u] = work[face + (6 + i) * count + u]
        s = work[face + count + u] + work[slope + u] * k[at_l + u] + work[slope + count + u] * k[at_l + d]
        for end in range(2):
            cell = u if end == 0 else d
            j = int(cell / F)
            if stage == 0:
                for i in range(2):
                    by = work[int(data[D.W_LIFT]) + 2 * n + i * count + cell]
                    work[way + i * count + cell] = by / work[int(data[D.W_CELL]) + cell]
            longer = work[way + cell] * k[at_l + count + j]
            longer += work[way + count + cell] * k[at_l + count + (j + 1 if j + 1 < n else 0)]
            s -= work[slope + end * count + u] * longer
        s += work[slope + 2 * count + u] * k[at_l + count + n]
        for m in range(int(data[D.ARMS])):
            by_angle = work[int(data[D.W_BY_ARM]) + m * count + u]
            s += by_angle * k[at_l + arm_state(m, data) + ArmX.THETA]
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
            work[int(data[D.W_MEAN]) + u] = distance / h


@kernel
def ring(data):
    """Cells that the step's matrix begins with, see `rtcvt.linalg`.

    A cell gives away more belt the more it holds, and takes less: so its column is dominant.
    """
    return 1 if data[D.RIGID] != 0.0 else int(data[D.N]) * int(data[D.FACES])


@kernel
def step_matrix(rate, jac, data, work, matrix, pivot):
    """Factor ``rate I - jac`` of the states that move within a step."""
    n_x = int(data[D.N_X])
    n = int(data[D.X_GIVEN])
    last = ring(data) - 1
    for i in range(n):
        row = matrix + i * n
        low = i - 1 if i > 0 and i < last else 0
        high = i + 2 if i + 2 < last else last
        for j in range(low, last if i >= last else high):
            work[row + j] = -jac[i * n_x + j]
        for j in range(last, n):
            work[row + j] = -jac[i * n_x + j]
        work[row + i] += rate
    ring_lu(last + 1, n, work, matrix, pivot)


@kernel
def linearise_step(fresh, x, u, p, data, work):
    """`linearise` into the blocks of a step."""
    n = int(data[D.N_X])
    f = int(data[D.W_STEP]) + 2 * n
    jac = f + 6 * n + n
    linearise(fresh, x, u, p, data, work[f : f + n], work[jac : jac + n * n], work)


@kernel
def advance(h, x, u, p, data, work):
    """One internal step in place, see `rtcvt.integrators`; faces slide as in W_SLIDE; expects `linearise_step`."""
    n = int(data[D.N_X])
    a = int(data[D.W_STEP]) + n
    x_stage = work[a : a + n]
    f = work[a + n : a + 2 * n]
    k = work[a + 2 * n : a + 6 * n]
    b = a + 6 * n
    pivot = b + n
    jac = work[pivot + n : pivot + n + n * n]
    matrix = pivot + n + n * n
    for m in range(int(data[D.ARMS])):
        slides_by_angle(m, data, work)
    step_matrix(2.0 / h, jac, data, work, matrix, pivot)
    for s in range(STAGES):
        if s >= 2:  # the first two stages are at x
            rosenbrock_stage(s, n, x, k, x_stage)
            right_hand_side(0, x_stage, u, p, data, f, work)
        rosenbrock_side(s, n, h, f, k, work, b)
        ring_solve(ring(data), int(data[D.X_GIVEN]), work, matrix, pivot, b)
        for i in range(n):
            k[s * n + i] = work[b + i]
        if data[D.RIGID] == 0.0:
            slide_stage(s, h, k, data, work)
    rosenbrock_new(n, x, k)


@kernel
def contradictions(x, p, data, work):
    """Correct W_SLIDE after a step; returns how many faces stuck beyond their limit or were slid against friction."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    found = 0
    cells(x, p, data, work)
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        kappa = work[int(data[D.W_KAPPA]) + n + i]
        for k in range(F):
            u = j * F + k
            slide = work[int(data[D.W_SLIDE]) + u]
            before = rim_hat(0, j, k, data, work)
            behind = rim_hat(1, j, k, data, work)
            jump = behind - before
            low = behind if jump < 0.0 else before
            if slide == 0.0:
                if abs(jump) > (1.0 + ROUND_OFF) * limit(kappa, low, p):
                    work[int(data[D.W_SLIDE]) + u] = -1.0 if jump < 0.0 else 1.0
                    found += 1
            elif slide * work[int(data[D.W_MEAN]) + u] < 0.0:
                work[int(data[D.W_SLIDE]) + u] = 0.0
                found += 1
    return found


@kernel
def cell_energy(c, p, data, work):
    """e of a cell [J/m]; expects `cells`."""
    F = int(data[D.FACES])
    count = int(data[D.N]) * F
    cell = int(data[D.W_CELL]) + c
    own = work[cell + 6 * count]
    if c == int(c / F) * F:
        return 0.5 * own * own / p[BeltP.EA]
    return work[cell] * work[cell + count] - own * (1.0 + 0.5 * own / p[BeltP.EA])


@kernel
def stored_energy(x, p, data, work):
    """Energy of belt and pulleys [J]; expects `cells`."""
    n = int(data[D.N])
    count = n * int(data[D.FACES])
    energy = 0.0
    for c in range(count):
        energy += x[c] * cell_energy(c, p, data, work)
    for i in range(n):
        energy += ends_energy(i, p, data, work)
        energy += 0.5 * work[int(data[D.W_INERTIA]) + i] * speed(i, x, data) * speed(i, x, data)
    if data[D.DECOUPLERS] > 0.0:
        energy += decoupler_energy(x, p, data)
    return energy + arm_energy(x, p, data) if data[D.ARMS] > 0.0 else energy


@kernel
def power_in(x, u, p, data, work):
    """Power [W] of torques, loads and given speeds, less that of bearings; expects `flange_torques` of the latter."""
    n = int(data[D.N])
    power = 0.0
    for i in range(n):
        omega = speed(i, x, data)
        if data[D.DECOUPLERS] > 0.0:
            omega = shaft_speed(i, x, data)
        tau = other_torque(i, omega, u, p, data)
        power += (tau + work[int(data[D.W_FLANGE]) + i] if given_state(i, data) >= 0 else tau) * omega
        if data[D.ARMS] > 0.0:
            carrier = carrier_speed(i, x, data)
            power += p[int(data[D.P_B]) + i] * carrier * (2.0 * omega - carrier)
    if data[D.DECOUPLERS] > 0.0:
        power -= decoupler_loss(x, p, data, work)
    return power - arm_loss(x, p, data) if data[D.ARMS] > 0.0 else power


@kernel
def most_work(h, x, u, data, work):
    """Work [J] of torques in a step of RODAS3 that ends at `x`, by its own quadrature; loads that drive added."""
    n = int(data[D.N_X])
    count = int(data[D.N]) * int(data[D.FACES])
    start = int(data[D.W_STEP])
    before = work[start : start + n]
    k = work[start + 3 * n : start + 7 * n]
    done = 0.0
    for i in range(int(data[D.N])):
        own = decoupler_of(i, data)
        at = count + i if own < 0 else decoupler_state(own, data) + DecouplerX.W
        row = int(data[D.FLANGE]) + 3 * i
        if int(data[row]) == Flange.TORQUE:
            done += u[int(data[row + 1])] * rosenbrock_integral(at, n, h, before, k)
        power = load_torque(i, 0, before[at], data) * before[at]
        done += h * power if power > 0.0 else 0.0
        power = load_torque(i, 0, x[at], data) * x[at]
        done += h * power if power > 0.0 else 0.0
    return done


@kernel
def given_power(x, data, work):
    """Power [W] that the spans at pulleys of given speeds carry; expects `cells`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    tension = int(data[D.W_CELL]) + n * F
    power = 0.0
    for i in range(n):
        j = i - 1 if i > 0 else n - 1
        if given_state(i, data) >= 0:
            power += (work[tension + i * F] + work[tension + j * F]) * abs(rim_radius(i, data) * speed(i, x, data))
    return power


@kernel
def possible(x, data, work):
    """Whether all cells hold belt, stretched less than `TORN` times, and all states are numbers."""
    for c in range(int(data[D.N]) * int(data[D.FACES])):
        if not TORN * x[c] > work[int(data[D.W_LENGTH]) + c]:
            return False
    good = True
    for i in range(int(data[D.N_X])):
        if not abs(x[i]) < HUGE:
            good = False
    return good


@kernel
def explicit_faces(h, x, u, p, data, work):
    """One step whose faces slide as they do at its start, corrected at most `PASSES` times; whether it can be taken.

    Expects `cells` and limits of its start. It can if no face contradicts friction at its end, and no energy was made.
    """
    n = int(data[D.N_X])
    start = int(data[D.W_STEP])
    sliding(MARGIN, x, p, data, work)
    switch_clutches(x, p, data, work)
    energy = stored_energy(x, p, data, work)
    power = 0.0
    for k in range(PASSES):
        for i in range(n):
            x[i] = work[start + i]
        linearise_step(-1 if k == 0 else 0, x, u, p, data, work)
        if k == 0:
            power = power_in(x, u, p, data, work)
        advance(h, x, u, p, data, work)
        if not possible(x, data, work):
            return False
        if contradictions(x, p, data, work) == 0:
            if int(data[D.X_GIVEN]) < n:
                gates(x, p, data, work)
                flange_torques(x, u, p, data, work)
            after = power_in(x, u, p, data, work)
            gained = stored_energy(x, p, data, work) - energy
            size = abs(power) + abs(after) + given_power(x, data, work)
            if gained - 0.5 * h * (power + after) > SPARE * h * size + ROUND_OFF * energy:
                return False
            most = most_work(h, x, u, data, work)
            return int(data[D.X_GIVEN]) < n or gained <= most + ROUND_OFF * (energy + abs(most))
    return False


@kernel
def residual(h, x, u, p, data, work):
    """``h f(x) - (x - x_0)`` into the block of solutions, faces as friction has them at `x`; returns its size [-].

    Lengths count by themselves, speeds by `SMALL` of a length for each [rad/s].
    """
    n = int(data[D.N_X])
    count = int(data[D.N]) * int(data[D.FACES])
    start = int(data[D.W_STEP])
    f = work[start + 2 * n : start + 3 * n]
    b = start + 7 * n
    right_hand_side(1, x, u, p, data, f, work)
    size = 0.0
    for i in range(n):
        work[b + i] = h * f[i] - (x[i] - work[start + i])
        if i < count:
            size += abs(work[b + i]) / x[i]
        elif i < count + int(data[D.N]):
            size += SMALL * abs(work[b + i])
    for m in range(int(data[D.ARMS])):
        at = arm_state(m, data)
        size += abs(work[b + at + ArmX.THETA]) + SMALL * abs(work[b + at + ArmX.W])
    for m in range(int(data[D.DECOUPLERS])):
        at = decoupler_state(m, data)
        size += abs(work[b + at + DecouplerX.TWIST]) + SMALL * abs(work[b + at + DecouplerX.W])
    return size


@kernel
def implicit_faces(h, budget, x, u, p, data, work):
    """One step of the implicit Euler method, by Newton's method; iterations it took, or -1 if it did not converge.

    ``x = x_0 + h f(x)`` makes no energy, as energy is convex and the losses at x are none of them negative.
    """
    n = int(data[D.N_X])
    count = int(data[D.N]) * int(data[D.FACES])
    start = int(data[D.W_STEP])
    last = work[start + n : start + 2 * n]
    b = start + 7 * n
    pivot = b + n
    jac = work[pivot + n : pivot + n + n * n]
    matrix = pivot + n + n * n
    size = residual(h, x, u, p, data, work)
    for k in range(budget):
        hybrid_jacobian(0, x, p, data, jac, work)
        step_matrix(1.0 / h, jac, data, work, matrix, pivot)
        for i in range(n):
            work[b + i] = work[b + i] / h
        ring_solve(ring(data), int(data[D.X_GIVEN]), work, matrix, pivot, b)
        share = 1.0
        change = 0.0
        for i in range(n):
            last[i] = x[i]
            work[start + 3 * n + i] = work[b + i]
            if i < count:
                change = abs(work[b + i]) / x[i] if abs(work[b + i]) / x[i] > change else change
                if work[b + i] * share < -0.5 * x[i]:
                    share = -0.5 * x[i] / work[b + i]
            elif i < count + int(data[D.N]):
                change = SMALL * abs(work[b + i]) if SMALL * abs(work[b + i]) > change else change
        for m in range(int(data[D.ARMS])):
            at = arm_state(m, data)
            turn = abs(work[b + at + ArmX.THETA]) + SMALL * abs(work[b + at + ArmX.W])
            change = turn if turn > change else change
        for m in range(int(data[D.DECOUPLERS])):
            at = decoupler_state(m, data)
            turn = abs(work[b + at + DecouplerX.TWIST]) + SMALL * abs(work[b + at + DecouplerX.W])
            change = turn if turn > change else change
        if not change < HUGE:
            return -1
        before = size
        for _ in range(SEARCH):
            for i in range(n):
                x[i] = last[i] + share * work[start + 3 * n + i]
            size = residual(h, x, u, p, data, work)
            if size < before or change < CONVERGED:
                break
            share = 0.5 * share
        if change < CONVERGED:
            for u_ in range(count):
                work[int(data[D.W_MEAN]) + u_] = work[int(data[D.W_FACE]) + count + u_]
            return k + 1 if possible(x, data, work) else -1
    return -1


@kernel
def hold(h, x, u, p, data, work):
    """Let the belt hold what it holds for a step; given speeds go on, torques may brake. Leaves `cells`, `limits`."""
    n = int(data[D.N])
    count = n * int(data[D.FACES])
    cells(x, p, data, work)  # what a step that was given up has left is of another state
    for m in range(int(data[D.DECOUPLERS])):
        at = decoupler_state(m, data) + DecouplerX.W
        row = int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m
        change = h * other_torque(decoupled(m, data), x[at], u, p, data) / p[row + DecouplerP.J]
        if change * x[at] < 0.0:
            x[at] = x[at] + change if abs(change) < abs(x[at]) else 0.0
    for i in range(n):
        omega = speed(i, x, data)
        at = given_state(i, data)
        own = decoupler_of(i, data)
        if at >= 0:
            x[count + i] = omega + h * x[at + GivenX.A]
        elif own < 0:
            change = h * other_torque(i, omega, u, p, data) / work[int(data[D.W_INERTIA]) + i]
            if change * omega < 0.0:
                x[count + i] = omega + change if abs(change) < abs(omega) else 0.0
    for m in range(int(data[D.ARMS])):
        x[arm_state(m, data) + ArmX.W] = 0.0
    for u_ in range(count):
        work[int(data[D.W_SLIDE]) + u_] = 0.0
        work[int(data[D.W_MEAN]) + u_] = 0.0
    cells(x, p, data, work)
    limits(x, p, data, work)


@kernel
def substep(h, budget, x, u, p, data, work):
    """One internal step whose faces slide only where friction is at its limit, and stick elsewhere.

    Expects and leaves `cells`. Where Rodas3 cannot make it at once, it is made in `PARTS`, each by what can make it.
    Returns what is left of a budget of iterations.
    """
    if data[D.RIGID] != 0.0:
        linearise_step(0, x, u, p, data, work)
        advance(h, x, u, p, data, work)
        return budget
    n = int(data[D.N_X])
    start = int(data[D.W_STEP])
    length = h
    for part in range(PARTS + 1):
        for i in range(n):
            work[start + i] = x[i]
        limits(x, p, data, work)
        if explicit_faces(length, x, u, p, data, work):
            if part == 0:
                return budget
        else:
            for i in range(n):
                x[i] = work[start + i]
            if part == 0:
                length = h / PARTS
                cells(x, p, data, work)
            else:
                budget = implicit_step(length, budget, x, u, p, data, work)
    return budget


@kernel
def implicit_step(h, budget, x, u, p, data, work):
    """The same by the implicit Euler method, in equal parts if need be; where no iteration is left the belt is held."""
    n = int(data[D.N_X])
    start = int(data[D.W_STEP])
    if budget <= 0:
        hold(h, x, u, p, data, work)
        return 0
    done = 0
    parts = 1
    whole = budget
    for _ in range(whole):
        if done == parts:
            return budget
        for i in range(n):
            work[start + i] = x[i]
        most = NEWTON if budget > NEWTON else budget
        used = implicit_faces(h / parts, most, x, u, p, data, work)
        if used > 0:
            budget -= used
            done += 1
        else:
            for i in range(n):
                x[i] = work[start + i]
            budget -= most
            parts *= 4
            done *= 4
        if budget <= 0 and done < parts:
            hold(h * (parts - done) / parts, x, u, p, data, work)
            return 0
    return budget


@kernel
def mean_flows(x, data, work):
    """Replace sliding speeds by their means over the last internal step, and flows to match; expects `flows`."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    face = int(data[D.W_FACE])
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        V = rim_radius(i, data) * speed(i, x, data)
        for k in range(F):
            u = j * F + k
            s = work[int(data[D.W_MEAN]) + u]
            if work[int(data[D.W_SLIDE]) + u] * s <= 0.0:
                s = 0.0
            work[face + count + u] = s
            work[face + u] = (V + s) / rim_stretch(0 if V + s >= 0.0 else 1, j, k, data, work)


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own.

    Saturated: a wrap is at its limit, it slips; the rigid model extrapolates then.
    """
    n = int(data[D.N_X])
    n_y = int(data[D.N_Y])
    at = int(data[D.W_SAVED])
    saved = work[at : at + n]
    steps = enter(t, h, data[D.INTERNAL_STEP], int(data[D.N_U]), u, n, x, saved)
    if steps == 0:
        return FAILED
    follow(0, h, x, u, data)
    if data[D.RIGID] == 0.0:
        cells(x, p, data, work)
    budget = BUDGET * steps
    for _ in range(steps):
        budget = substep(h / steps, budget, x, u, p, data, work)
        if data[D.N_SLIDING] > 0.0 and data[D.RIGID] == 0.0:
            note_sliding(h / steps, x, data, work)
    follow(1, h, x, u, data)
    y_new = work[at + n : at + n + n_y]
    write_outputs(0, x, u, p, data, y_new, work)
    if leave(True, n, x, saved, n_y, y_new, y) == FAILED:
        return FAILED
    if budget < BUDGET * steps:
        return SATURATED
    first = int(data[D.Y_PULLEY]) + PulleyY.USE
    for i in range(int(data[D.N])):
        if y[first + N_PULLEY * i] >= 1.0:
            return SATURATED
    return OK
