"""Hybrid and rigid model of any belt drive as real-time kernels.

Pulley i turns with omega_i; its rim has the speed ``V = sigma r omega`` along the belt, whose sense is the order of the
pulleys. A cell of the belt, a span or a part of a wrap, has the fixed length L; its content is the length l without
load::

    lambda = L/l,    T = max(EA (lambda - 1), 0),    e = T^2/(2 EA),    h = lambda T - e

Cells meet in faces, F on each wrap. Through a face flows the unloaded length q per time, and the belt has the mass m
per such length. The difference of inflow and outflow changes the content of a cell::

    l' = q_in - q_out,    q = (V + s)/lambda_up

The belt sticks to the rim on its upstream side (up), and slides with the speed s once friction is exceeded. As the mass
flow ``G = m q`` is constant along the belt, ``T - G v`` grows at most as exp(mu phi) (Euler; with inertia Bechtel,
Vohra, Jacob and Carlson 2000); the tension ratio of a wrap with bending stiffness is at most exp(Lambda)
(`rtcvt.belt.friction`), here in equal shares of its faces::

    T_hat = T - m q_m^2 (1 + T/EA),    kappa = exp(Lambda/F) - 1
    P = kappa (max(min(T_hat_u, T_hat_d), 0) + 1e-3 T_0)
    s = v_1 (T_hat_d - T_hat_u -+ P)/P_0 where |T_hat_d - T_hat_u| > P, else 0;    P_0 = P at T_hat = T_0

(u, d: the cells before and after the face; v_1 = 1000 m/s, so that sliding at 1 m/s adds 0.1 % of P_0.) In a steady
state this is creep theory (Reynolds 1874; Johnson, *Contact Mechanics*, 1985, section 8.4) with its integral along the
wrap replaced by a sum: the faces at the entry stick and tension is constant there, those at the exit slide at the
limit. If all slide the wrap slips.

**The radius falls with tension**, as ribs yield and their shear acts on the belt (`rtcvt.belt.span_ends`), by the share
sigma. So a sticking belt has ``1/Lambda`` of unloaded length per length of rim, not 1/lambda, and pulls the pulley with
N, such that belt running on or off creates or loses no power ::

    sigma = g (T - T_0) - c (T - T_0)^2, constant above its maximum
    Lambda = lambda/(1 - sigma),    dN = (1 - sigma) dT,    Lambda dN = lambda dT = dh

In flows through faces, in wraps (L = Lambda l, ``e = Lambda N - h``), their limits, and at rims Lambda and N replace
lambda and T. Creep grows by it: about T_0 ``1/EA + g`` of a difference of tensions, some two to three times 1/EA on
small pulleys, and more where a belt is loose.

The mean flow q_m follows those of the faces, ``q_m' = (mean(q) - q_m)/T_q``,
T_q = 5 ms.

The ends of a span contain more belt the looser it is: its way is L + R(T), and its T, by Newton's method, has ::

    l (1 + T/EA) = L + R(T),    E_R = integral of R dT - R T,    x = T/T_rest
    R = a (x^(-3/2) - 5/2 + 3 x/2) + b (x^(-1/2) - 3/2 + x/2)

so that a and b change neither tension nor stiffness at rest. E_R is added to its energy l e; h stays.

**Inertia lifts the belt** off its ribs. ``T - phi``, ``phi = m V^2`` with V of the rim, presses on a pulley, and bends
the belt at a span's ends (phi: the mean of the two rims). So the ways of a span and of a wrap are ::

    L + R(T - phi),    L + A phi

where A is the compliance of the length of a wrap: the faster a belt runs, the more tension it has. W is the length by
which each way exceeds that with T_0 at rest::

    W = R(T - phi) or -A (T - phi - T_0),    U = l e + E_R(T - phi) - phi R(T - phi) or l e - A phi (T_0 + phi/2)
    dU = -h dl - W dphi

Power is balanced with U in place of the energy of a cell if the rims have the load ``W phi'``, which is inertia::

    J -> J - m r^2 (2 W of the wrap + W of its two spans)

(less than 1e-4 of J; the smaller change of the belt's momentum with its way is neglected).

Lengths L, radii r, a, b, A and the spans' damping d are those of `rtcvt.belt.span_ends`: spans are effectively longer
than drawn, as the belt's bending and its ribs yield at their ends. A span damps with a force in addition to its
tension. Belt that enters it at a speed V sticks somewhere on the wrap before, with the stretch lambda_a there, so that
(in a steady state nothing is damped) ::

    F_d = g d (rho_e V_e - rho_s V_s),    rho = lambda/lambda_a where belt comes in, 1 where it leaves

pulls on the rims by ``rho_s F_d`` and ``-rho_e F_d``. g falls from 1 to 0 while the load of a wrap at one of its ends
rises from 90 % to all of its limit, since a sliding wrap transmits no more. For pulley i, with span i after it and the
mass of the belt on it and on half of its two spans in J::

    J omega' = tau + tau_load(omega) - b omega + sigma r (T_i - T_(i-1) + rho_s F_d,i - rho_e F_d,i-1)

This is the power-oriented form of Tebaldi and Zanasi 2022, with the rows of R that have -sigma r and sigma r of the
pulleys at the ends of a span, and the springs between them fed with belt. Power is balanced exactly: the sum of
``tau omega`` is the rate of ``E = sum U + sum J omega^2/2`` plus losses, each of which is never negative::

    face      integral of (q Lambda - V) dN from u to d  =  q (h_d - h_u) - V (N_d - N_u)
    span      g d (rho_e V_e - rho_s V_s)^2
    bearing   b omega^2

and the power of the loads. Neglected: momentum of the belt that changes along a wrap, ``m q^2/EA`` of the force there.

**Steps.** The set of sliding faces is fixed over an internal step, which is then smooth (`rtcvt.numerics.integrators`).
The step is repeated if it ends with a sticking face beyond its limit, or if the mean of a sliding speed is against
friction. These means, integrated with the state, are the slip and loss after a step. If the faces do not settle, a cell
becomes empty, or the energy exceeds that put in, the step is made by the implicit Euler method instead, with the faces
at its end: ``x = x_0 + h f(x)``, by Newton's method with a line search. As the energy is convex in l and omega, and no
loss is negative, it creates no energy. If Newton's method fails, the step is made in 4, 16, ... parts. A communication
step has a budget of iterations, by its internal steps; when it is used up, the belt is frozen for the rest of the step:
cells keep their content, and torques may only brake. In all these cases the status is 1.

**Start.** At rest a wrap contains more or less of the belt than when it runs (`rtcvt.belt.span_ends`), within friction;
the tension of the spans is that by which the belt's content stays the same. A belt that starts with a speed has run
before, at T_0.

**Rigid model.** All rims have the speed v of the belt; the balances of the pulleys give the differences of tension, and
the belt's length gives their mean::

    v' sum J/r^2 = sum sigma/r (tau + tau_load - b omega),    sum T_i (L_i + half of its two wraps) = T_0 sum(...)

Arms are at their drawn angle, and their springs determine the mean: ``sum (T_i - G v) P_i' = T_0 sum P_i'`` over the
neighbouring spans (`rtcvt.belt.arm_geometry`). Decouplers are locked.

**Given speeds** are constraints: the pulley's acceleration a is known, and the flange's torque closes its balance. A
speed is known at the start of a step; over the step the pulley follows a parabola through three samples. The slope s
after the step is that of the last slope or the last bend, at most twice the larger of the two, so that there is no
overshoot after a jump::

    a = (w_k - omega_k)/h + s,   s = minmod(2 s_k - s_(k-1), 2 max(s_(k-1), b)),   s_k = (w_k - w_(k-1))/h

where b is a at the end of the last step (with which the torque there was computed) less s_(k-1).
The torque is that at the end of the step, where the acceleration is ``s_k + 3/2 (s_k - s_(k-1))``, the second
term at most as large as the sum of the sizes of the two slopes.
"""

from rtcvt.belt import places
from rtcvt.belt.arms import place_arms, start_arms
from rtcvt.belt.cells import cells, extra_way, over_rest, prepare, sink
from rtcvt.belt.decoupler import switch_clutches
from rtcvt.belt.flow import flows, mean_flows, sliding
from rtcvt.belt.forces import follow, limits, shaft_speed
from rtcvt.belt.friction import friction, held_by, note_sliding, set_limits
from rtcvt.belt.lateral import lateral_outputs, swing_spans
from rtcvt.belt.layout import Arc, BeltP, Cell, D, DecouplerP, DecouplerX, Face, Flange, GivenX, PulleyY, Wrap
from rtcvt.belt.outputs import hybrid_output, rigid_output
from rtcvt.belt.patches import move_patches
from rtcvt.belt.rigid import rigid_mass
from rtcvt.belt.steps import linearise, right_hand_side, substep
from rtcvt.kernel import FAILED, OK, SATURATED, kernel
from rtcvt.model.places import entry
from rtcvt.model.stepping import Block, enter, leave, start_status
from rtcvt.numerics.elementary import exp

REST_FRICTION_SHARE = 0.9  # share of friction that is used by a belt at rest at the start
MAX_ITERATIONS = 80  # of a communication step, for each of its internal steps


@kernel
def place_belt(T, rests, p, data, x, work):
    """Write arms and contents of all cells for a tension of the spans [N]; returns the sum of the contents [m].

    On a wrap tension changes from face to face in equal steps. `rests` 1: wraps have the content of a belt at rest, as
    far as friction allows.
    """
    F = places.faces(data)
    if data[D.ARMS] > 0.0:
        start_arms(T, p, data, x)
        place_arms(x, p, data, work)
    total = 0.0
    for j in range(places.pulleys(data)):
        i = places.after(j, data)
        row = places.arc(i, data)
        c = places.span_cell(j, data)
        x[c] = (work[places.cell(c, data) + Cell.LENGTH] + extra_way(T, j, data, work)) / (1.0 + T / p[BeltP.EA])
        step = 0.0
        if rests == 1:
            over = over_rest(T, i, p, data)
            own = data[row + Arc.OWN]
            more = data[row + Arc.RESTS] + own / (1.0 + p[BeltP.T_0] / p[BeltP.EA])
            more -= own * (1.0 - sink(0, over, i, data)) / (1.0 + T / p[BeltP.EA])
            parts = 0.0
            for k in range(1, F):
                parts += (k if 2 * k < F else F - k) / (F - 1.0)
            step = -more / (own * parts * (1.0 / p[BeltP.EA] + sink(1, over, i, data)))
            held = exp(REST_FRICTION_SHARE * held_by(i, T, friction(i, x, p, data), data) / F) - 1.0
            most = held * T
            least = -most / (1.0 + 0.5 * F * held)
            step = least if step < least else (most if step > most else step)
        for k in range(1, F):
            own = T + step * (k if 2 * k < F else F - k)
            share = 1.0 - sink(0, over_rest(own, i, p, data), i, data)
            x[c + k] = work[places.cell(c + k, data) + Cell.LENGTH] * share / (1.0 + own / p[BeltP.EA])
        for k in range(F):
            total += x[c + k]
    return total


@kernel
def start_belt(p, data, x, work):
    """Write the start of the belt: at rest without speed, else running without load, with the same total content."""
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
    """Start with the same belt speed on all pulleys; see `start_belt`."""
    prepare(p, data, work)
    n_x = places.states(data)
    stretch = 1.0 + p[BeltP.T_0] / p[BeltP.EA]
    v = p[BeltP.V_START]
    for i in range(n_x):
        x[i] = 0.0
    if data[D.RIGID] != 0.0:
        set_limits(x, p, data, work)
        x[0] = v
    else:
        for i in range(places.pulleys(data)):
            x[places.x_speed(i, data)] = v / places.rim_radius(i, data)
        for m in range(places.decouplers(data)):
            R = places.rim_radius(places.decoupler_pulley(m, data), data)
            x[places.x_decoupler(m, data) + DecouplerX.W] = v / R
        start_belt(p, data, x, work)
        x[places.x_flow(data)] = v / stretch
    for i in range(places.pulleys(data)):
        at = places.given_state(i, data)
        if at >= 0:
            x[at + GivenX.W] = u[places.flange_input(i, data)]
    dx = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    derivative(0.0, x, u, p, data, dx, work)
    return start_status(n_x, x, dx)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Right-hand side of the hybrid or the rigid model."""
    right_hand_side(2, x, u, p, data, dx, work)


@kernel
def jacobian(t, x, u, p, data, jac, work):
    """``df/dx``, row-major, inputs held."""
    f = work[places.step_block(Block.STAGE, data) : places.step_block(Block.RATES, data)]
    linearise(2, x, u, p, data, f, jac, work)


@kernel
def coupled_linearise(t, x, u, p, data, f, jac, work):
    """Right-hand side and ``df/dx``, see `rtcvt.model.Coupling`."""
    linearise(2, x, u, p, data, f, jac, work)


@kernel
def flanged(k, data):
    """The pulley whose torque is input `k`."""
    pulley = 0
    for i in range(places.pulleys(data)):
        if places.flange_kind(i, data) == Flange.TORQUE and places.flange_input(i, data) == k:
            pulley = i
    return pulley


@kernel
def flange(k, x, u, p, data, work):
    """Speed of the shaft on which a torque acts, see `rtcvt.model.Coupling`."""
    pulley = flanged(k, data)
    if data[D.RIGID] != 0.0:
        return x[0] / places.rim_radius(pulley, data)
    return shaft_speed(pulley, x, data)


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`: a pulley on which a torque acts, or its shaft after a decoupler."""
    for i in range(places.states(data)):
        row[i] = 0.0
        column[i] = 0.0
    pulley = flanged(k, data)
    if data[D.RIGID] != 0.0:
        row[0] = 1.0 / places.rim_radius(pulley, data)
        column[0] = row[0] / rigid_mass(data, work)
        return 0.0
    own = places.decoupler_of(pulley, data)
    state = places.x_speed(pulley, data)
    column[state] = 1.0 / work[places.wrap(pulley, data) + Wrap.LIFTED]
    if own >= 0:
        column[state] = 0.0
        state = places.x_decoupler(own, data) + DecouplerX.W
        column[state] = 1.0 / p[places.p_decoupler(own, data) + DecouplerP.J]
    row[state] = 1.0
    return 0.0


@kernel
def piece(x, u, p, data, work):
    """A number that differs for each set of sliding faces and of free decouplers."""
    number = 0.0
    if data[D.RIGID] == 0.0:
        for u_ in range(places.cell_count(data)):
            number = 1.618 * number + work[places.face(u_, data) + Face.SLIDE]
        for m in range(places.decouplers(data)):
            number = 1.618 * number + work[places.clutch(m, data)]
    return number


@kernel
def output(t, x, u, p, data, y, work):
    """Flanges, tensions, slip, forces, energy and losses."""
    write_outputs(1, x, u, p, data, y, work)


@kernel
def write_outputs(fresh, x, u, p, data, y, work):
    """Write outputs; `fresh` 1: sliding of the faces is that at `x`; 0: its mean over a step, call `cells` first."""
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
        if data[D.MODES] > 0.0:
            lateral_outputs(x, p, data, y, work)


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the unit's own.

    The status is 1 if a wrap slips (beyond that the rigid model extrapolates), a span swings too far, or the step
    needed a fallback.
    """
    n = places.states(data)
    n_y = entry(D.N_Y, data)
    at = entry(D.W_SAVED, data)
    saved = work[at : at + n]
    steps = enter(t, h, data[D.INTERNAL_STEP], entry(D.N_U, data), u, n, x, saved)
    if steps == 0:
        return FAILED
    follow(0, h, x, u, data)
    if data[D.RIGID] == 0.0:
        cells(x, p, data, work)
    budget = MAX_ITERATIONS * steps
    for _ in range(steps):
        budget = substep(h / steps, budget, x, u, p, data, work)
        if data[D.N_SLIDING] > 0.0 and data[D.RIGID] == 0.0:
            note_sliding(h / steps, x, data, work)
        move_patches(h / steps, x, p, data)
    follow(1, h, x, u, data)
    y_new = work[at + n : at + n + n_y]
    write_outputs(0, x, u, p, data, y_new, work)
    far = 0
    if data[D.MODES] > 0.0:
        far = swing_spans(h, x, p, data, work)
        lateral_outputs(x, p, data, y_new, work)
    if leave(True, n, x, saved, n_y, y_new, y) == FAILED:
        return FAILED
    if far == 1 or budget < MAX_ITERATIONS * steps:
        return SATURATED
    for i in range(places.pulleys(data)):
        if y[places.y_pulley(i, data) + PulleyY.USE] >= 1.0:
            return SATURATED
    return OK
