"""A network of parts as real-time kernels; equations in `rtcvt.network`.

This file is a pattern. `rtcvt.network.generate` replaces the text between the two rules below for each set of kernels
that the parts of a network have.
"""

from rtcvt.kernel import FAILED, OK, SATURATED, inlined, kernel
from rtcvt.model.places import entry
from rtcvt.model.stepping import HUGE, MAX_TRIALS, MIN_PART, REFINEMENT, enter, leave, rough, start_status
from rtcvt.network import places
from rtcvt.network.layout import N_SHAFT_Y, D, Op, ShaftP, ShaftY
from rtcvt.numerics.integrators import ROS3_GAMMA, ROS3_STAGES, ros3_error, ros3_new, ros3_side, ros3_stage
from rtcvt.numerics.linalg import core_lu, core_solve, lu, lu_solve

ERROR_BOUND = 1e-3  # of a step, relative to a state's typical value plus its own
LARGEST_ERROR = 0.05  # the same of a step that is not repeated by the implicit Euler method
MAX_NEWTON_ITERATIONS = 30  # of Newton's method in an implicit step
LEAST_CHANGE_SHARE = 0.05  # smallest accepted share of a change of Newton's method
NEWTON_RTOL = 1e-10  # share of typical values
MAX_IMPLICIT_PARTS = 16  # number of parts of an implicit step
MAX_SEARCH_STEPS = 200  # evaluations for the speed of a node with speed inputs only
TORQUE_RTOL = 1e-10  # largest sum of a balanced node's torques, relative to torques above 1 N.m
START_STEP_SHARE = 1e-6  # length of the step that makes the start consistent, relative to an internal step

# --- parts ------------------------------------------------------------------------------------------------------------
# of the part at i; `x`, `p`, `data`, `dx`, `y` and `work` are those of the whole network


@kernel
def part_initialise(i, p, data, x, work):
    """Start state."""
    return OK


@kernel
def part_derivative(i, t, x, p, data, dx, work):
    """Right-hand side."""


@kernel
def part_output(i, t, x, p, data, y, work):
    """Outputs."""


@kernel
def part_cheap_output(i, t, x, p, data, y, work):
    """Outputs that are not costly."""


@kernel
def part_step(i, t, h, x, p, data, y, work):
    """A step of a part without connected flanges."""
    return OK


@kernel
def part_linearise(i, t, x, p, data, dx, work):
    """Right-hand side and its derivative."""


@kernel
def part_again(i, t, x, p, data, dx, work):
    """The same where the outputs were computed last."""


@kernel
def part_port(i, k, x, p, data, row, column, work):
    """Derivatives at a flange."""
    return 0.0


@kernel
def part_flange(i, k, x, p, data, work):
    """Output of a flange."""
    return 0.0


@kernel
def part_piece(i, x, p, data, work):
    """Smooth piece that a part is on."""
    return 0.0


# --- nodes ------------------------------------------------------------------------------------------------------------


@inlined
def close(x, data, work):
    """Inputs at the connected flanges, from the torques and speeds of the nodes in `x`."""
    for e in range(places.ends(data)):
        f = places.end(e, data)
        at = places.x_input(f, data)
        if places.torque_sign(f, data) != 0.0:
            work[places.end_input(f, data)] = places.torque_sign(f, data) * x[at]
        else:
            work[places.end_input(f, data)] = x[at] if at >= 0 else 0.0


@inlined
def flange(f, x, p, data, work):
    """Output of a connected flange; expects the rates of its part."""
    return part_flange(places.end_part(f, data), places.end_number(f, data), x, p, data, work)


@kernel
def at_nodes(x, p, data, r, work):
    """Write the residuals at the nodes to `r`: differences of the speeds of flanges and nodes, sums of torques.

    Torques of shafts are included; the rates of twists are written too. Call `rates` of the parts first.
    """
    for i in range(places.block_states(data), places.block_size(data)):
        r[i] = 0.0
    for e in range(places.ends(data)):
        f = places.end(e, data)
        y = flange(f, x, p, data, work)
        w = places.x_speed(f, data)
        if places.torque_sign(f, data) != 0.0:
            z = places.x_torque(f, data)
            r[z] = y - x[w] if w >= 0 else y
            if w >= 0:
                r[w] += x[z]
        elif w >= 0:
            r[w] += y
    for s in range(places.shafts(data)):
        a = places.x_shaft_end(0, s, data)
        b = places.x_shaft_end(1, s, data)
        tau = shaft_torque(s, x, p, data)
        r[places.x_twist(s, data)] = twist_rate(s, x, data)
        if a >= 0:
            r[a] += tau
        if b >= 0:
            r[b] -= tau


@kernel
def imbalance(k, x, p, data, work):
    """Sum of the torques at a node with speed inputs only; writes their size to W_SIZE."""
    w = places.x_massless(k, data)
    total = 0.0
    size = 1.0
    for e in range(places.ends(data)):
        f = places.end(e, data)
        if places.torque_sign(f, data) == 0.0 and places.x_speed(f, data) == w:
            work[places.end_input(f, data)] = x[w]
            tau = flange(f, x, p, data, work)
            total += tau
            size += abs(tau)
    for s in range(places.shafts(data)):
        a = places.x_shaft_end(0, s, data)
        b = places.x_shaft_end(1, s, data)
        if a == w or b == w:
            tau = shaft_torque(s, x, p, data)
            total += tau if a == w else -tau
            size += abs(tau)
    work[entry(D.W_SIZE, data)] = size
    return total


@kernel
def settle(free, x, p, data, work):
    """Find speeds that balance the nodes with speed inputs only; returns whether all nodes were balanced before.

    With `free`: only of nodes whose flanges all slipped. The sum of torques grows with the speed, so that a zero is
    bracketed; it may be at a jump.
    """
    balanced = True
    for k in range(entry(D.N_MASSLESS, data)):
        if free and work[entry(D.W_FREE, data) + k] == 0.0:
            continue
        w = places.x_massless(k, data)
        start = x[w]
        total = imbalance(k, x, p, data, work)
        direction = -1.0 if total > 0.0 else 1.0
        lower = 0.0  # distances from the start, and residuals there
        left = total
        upper = -1.0
        right = 0.0
        move = 1e-6 * (1.0 + abs(start))
        secant = 1  # and half, in turn
        for _ in range(MAX_SEARCH_STEPS):
            if not abs(total) > TORQUE_RTOL * work[entry(D.W_SIZE, data)]:
                break
            balanced = False
            if upper >= 0.0:
                move = lower + (upper - lower) * (left / (left - right) if secant == 1 else 0.5)
                secant = 1 - secant
                if not (lower < move and move < upper):
                    break
            elif not move < HUGE:
                x[w] = start
                break
            x[w] = start + direction * move
            total = imbalance(k, x, p, data, work)
            if direction * total > 0.0:
                upper = move
                right = total
            else:
                lower = move
                left = total
            if upper < 0.0:
                move *= 4.0
    return balanced


@kernel
def twist_rate(s, x, data):
    """Rate of the twist of a shaft [rad/s]."""
    a = places.x_shaft_end(0, s, data)
    b = places.x_shaft_end(1, s, data)
    rate = x[a] if a >= 0 else 0.0
    if b >= 0:
        rate -= x[b]
    return rate


@kernel
def shaft_torque(s, x, p, data):
    """Torque of a shaft [N.m], into it at its first end."""
    at = places.p_shaft(s, data)
    return p[at + ShaftP.K] * x[places.x_twist(s, data)] + p[at + ShaftP.D] * twist_rate(s, x, data)


@inlined
def shaft_entries(s, p, data, work):
    """Derivatives of a shaft, into the border."""
    n = places.border_size(data)
    first = places.border_start(data)
    border = places.w_border(data)
    phi = places.x_twist(s, data) - first
    K = p[places.p_shaft(s, data) + ShaftP.K]
    d = p[places.p_shaft(s, data) + ShaftP.D]
    for side in range(2):
        own = places.x_shaft_end(side, s, data) - first
        other = places.x_shaft_end(1 - side, s, data) - first
        sign = 1.0 if side == 0 else -1.0
        if own >= 0:
            work[border + phi * n + own] += sign
            work[border + own * n + phi] += sign * K
            work[border + own * n + own] += d
            if other >= 0:
                work[border + own * n + other] -= d


@kernel
def rates(t, x, p, data, dx, work):
    """Rates of the parts with connected flanges, and residuals at the nodes."""
    close(x, data, work)
    for c in range(places.coupled_parts(data)):
        part_derivative(places.part(c, data), t, x, p, data, dx, work)
    at_nodes(x, p, data, dx, work)


@kernel
def same_pieces(x, p, data, work):
    """Whether all parts are on the pieces that they were on at the start of the step; expects rates or outputs."""
    same = True
    for c in range(places.coupled_parts(data)):
        if part_piece(places.part(c, data), x, p, data, work) != work[entry(D.W_PIECE, data) + c]:
            same = False
    return same


@kernel
def linearise(again, t, x, p, data, dx, work):
    """`rates`, their derivatives, and the pieces; `again` where `all_outputs` was the last computation, at this point.

    The derivative of all rates and residuals is bordered: df/dx of each part, rows and columns of its flanges, and the
    border, of twists and unknowns. These are kept apart, in W_JAC, W_ENDS and W_BORDER.
    """
    close(x, data, work)
    for i in range(places.border_size(data) * places.border_size(data)):
        work[places.w_border(data) + i] = 0.0
    for c in range(places.coupled_parts(data)):
        if again:
            part_again(places.part(c, data), t, x, p, data, dx, work)
        else:
            part_linearise(places.part(c, data), t, x, p, data, dx, work)
        work[entry(D.W_PIECE, data) + c] = part_piece(places.part(c, data), x, p, data, work)
    for e in range(places.ends(data)):
        f = places.end(e, data)
        join(f, x, p, data, work)
    for s in range(places.shafts(data)):
        shaft_entries(s, p, data, work)
    at_nodes(x, p, data, dx, work)


@inlined
def join(f, x, p, data, work):
    """Derivatives at a connected flange."""
    n = places.border_size(data)
    border = places.w_border(data)
    size = places.part_states(places.end_part(f, data), data)
    row = places.end_row(f, data)
    column = row + size
    rows = work[row:column]
    columns = work[column : column + size]
    d = part_port(places.end_part(f, data), places.end_number(f, data), x, p, data, rows, columns, work)
    at = places.unknown(f, data)
    w = places.x_speed(f, data) - places.border_start(data)
    if places.torque_sign(f, data) == 0.0:
        if at >= 0:
            work[border + at * n + at] += d
    else:
        sign = places.torque_sign(f, data)
        for s in range(column, column + size):
            work[s] *= sign
        if w >= 0:
            work[border + at * n + w] = -1.0
            work[border + w * n + at] = 1.0


# --- a step of the block ----------------------------------------------------------------------------------------------


@inlined
def factor(h, data, work):
    """Factor the matrix of an implicit step: ``1 - h A`` of the states, the residuals' derivative as it is.

    Each part's block is factored and solved for the columns of its flanges; then the rest of the border.
    """
    n = places.border_size(data)
    border = places.w_border(data)
    for c in range(places.coupled_parts(data)):
        i = places.part(c, data)
        core_lu(places.part_states(i, data), h, work, places.jacobian(i, data), places.factors(i, data))
    for s in range(places.shafts(data)):
        for j in range(n):
            work[border + s * n + j] *= -h
        work[border + s * n + s] += 1.0
    for e in range(places.ends(data)):
        f = places.end(e, data)
        i = places.end_part(f, data)
        size = places.part_states(i, data)
        column = places.end_row(f, data) + size
        at = places.unknown(f, data)
        if at >= 0:
            for k in range(column, column + size):
                work[k] *= h
            core_solve(size, work, places.factors(i, data), column)
            for other in range(places.ends(data)):
                g = places.end(other, data)
                below = places.unknown(g, data)
                if places.end_part(g, data) == i and below >= 0:
                    row = places.end_row(g, data)
                    for k in range(size):
                        work[border + below * n + at] += work[row + k] * work[column + k]
    for k in range(entry(D.N_MASSLESS, data)):  # one whose flanges all slip keeps its speed
        w = places.x_massless(k, data) - places.border_start(data)
        work[entry(D.W_FREE, data) + k] = 1.0
        for j in range(n):
            if work[border + w * n + j] != 0.0:
                work[entry(D.W_FREE, data) + k] = 0.0
        if work[entry(D.W_FREE, data) + k] == 1.0:
            work[border + w * n + w] = 1.0
    lu(n, work, border, places.w_pivots(data))


@kernel
def solve(b, data, work):
    """Replace the vector at ``work[b]`` by the solution with the matrix that `factor` left."""
    first = places.border_start(data)
    for c in range(places.coupled_parts(data)):
        i = places.part(c, data)
        core_solve(places.part_states(i, data), work, places.factors(i, data), b + places.part_x(i, data))
    for back in range(2):
        for e in range(places.ends(data)):
            f = places.end(e, data)
            i = places.end_part(f, data)
            size = places.part_states(i, data)
            row = places.end_row(f, data)
            own = b + places.part_x(i, data)
            at = b + first + places.unknown(f, data)
            if at >= b + first:
                for k in range(size):
                    if back == 0:
                        work[at] -= work[row + k] * work[own + k]
                    else:
                        work[own + k] += work[row + size + k] * work[at]
        if back == 0:
            lu_solve(places.border_size(data), work, places.w_border(data), places.w_pivots(data), b + first)


@kernel
def keep(x, data, work):
    """Keep the states of the block at the start of a step."""
    start = places.w_start(data)
    for i in range(places.block_size(data)):
        work[start + i] = x[i]


@kernel
def go_back(x, data, work):
    """Restore the states of the block that `keep` saved."""
    start = places.w_start(data)
    for i in range(places.block_size(data)):
        x[i] = work[start + i]


@kernel
def rosenbrock(t, h, x, p, data, work):
    """One step of the Rosenbrock method in place; returns whether all parts stayed on their pieces, with finite states.

    Call `linearise` at `x` first.
    """
    n = places.block_size(data)
    n_d = places.block_states(data)
    dx = work[places.w_rates(data) : places.w_rates(data) + n]
    k = work[places.w_stages(data) : places.w_stages(data) + ROS3_STAGES * n]
    start = work[places.w_start(data) : places.w_start(data) + n]
    same = True
    factor(ROS3_GAMMA * h, data, work)
    for stage in range(ROS3_STAGES):
        if stage == 1:
            ros3_stage(n, start, k, x)
            rates(t, x, p, data, dx, work)
            same = same_pieces(x, p, data, work)
        ros3_side(stage, n, n_d, h, dx, k)
        solve(places.w_stages(data) + stage * n, data, work)
    ros3_new(n, start, k, x)
    for i in range(n):
        if not abs(x[i]) < HUGE:
            same = False
    if not settle(True, x, p, data, work):
        same = False
    return same


@inlined
def error_above(bound, data, work):
    """Whether the error that `too_rough` found is above this bound in a state."""
    n = places.block_states(data)
    k = places.w_stages(data)
    sizes = entry(D.SCALE, data)
    start = places.w_start(data)
    return rough(bound, n, work[k : k + n], data[sizes : sizes + n], work[start : start + n])


@inlined
def too_rough(data, work):
    """Whether the step that `rosenbrock` made last has too large an error in a state; its stages are lost."""
    n = places.block_size(data)
    k = places.w_stages(data)
    ros3_error(places.block_states(data), n, work[k : k + ROS3_STAGES * n])
    return error_above(ERROR_BOUND, data, work)


@inlined
def find_torques(t, x, p, data, work):
    """Torques at the nodes with which speeds that are one stay so, into `x`: ``row f(x, tau) = w'`` at each flange.

    The states decide these, so that they have their order, also where some of df/dx is left out.
    """
    n = places.border_size(data)
    first = places.border_start(data)
    border = places.w_border(data)
    b = places.w_stages(data)
    dx = work[places.w_rates(data) : places.w_rates(data) + places.block_size(data)]
    rates(t, x, p, data, dx, work)
    for k in range(border, border + n * n):
        work[k] = 0.0
    for e in range(places.ends(data)):
        f = places.end(e, data)
        join(f, x, p, data, work)
    for k in range(n):
        work[b + k] = 0.0
        work[border + k * n + k] = 1.0 if k < places.shafts(data) else 0.0
    for k in range(entry(D.N_MASSLESS, data)):
        w = places.x_massless(k, data) - first
        work[border + w * n + w] = 1.0
    for e in range(places.ends(data)):
        f = places.end(e, data)
        i = places.end_part(f, data)
        size = places.part_states(i, data)
        w = places.x_speed(f, data) - first
        z = places.unknown(f, data)
        if places.torque_sign(f, data) != 0.0:
            row = places.end_row(f, data)
            for k in range(size):
                work[b + z] -= work[row + k] * dx[places.part_x(i, data) + k]
            for other in range(places.ends(data)):
                g = places.end(other, data)
                if places.end_part(g, data) == i and places.torque_sign(g, data) != 0.0:
                    column = places.end_row(g, data) + size
                    for k in range(size):
                        work[border + z * n + places.unknown(g, data)] += work[row + k] * work[column + k]
            if w >= 0:
                work[b + w] = -dx[w + first]
    lu(n, work, border, places.w_pivots(data))
    lu_solve(n, work, border, places.w_pivots(data), b)
    for e in range(places.ends(data)):
        f = places.end(e, data)
        z = places.x_torque(f, data)
        if places.torque_sign(f, data) != 0.0 and abs(x[z] + work[b + z - first]) < HUGE:
            x[z] += work[b + z - first]


@inlined
def defect(h, x, data, dx, work):
    """Residual at `x` of an implicit Euler step from W_START, written over the rates `dx`; returns its size [-]."""
    n_d = places.block_states(data)
    n = places.block_size(data)
    scale = entry(D.SCALE, data) + n
    size = 0.0
    for i in range(n):
        if i < n_d:
            dx[i] = x[i] - work[places.w_start(data) + i] - h * dx[i]
        size += abs(dx[i]) / data[scale + i]
    return size


@inlined
def newton(t, h, x, p, data, work, once):
    """One step of the implicit Euler method from W_START in place, by Newton's method; whether it converged.

    With `once`: of the linearly implicit Euler method, which is one whole change; whether that is finite.
    """
    n = places.block_size(data)
    dx = work[places.w_rates(data) : places.w_rates(data) + n]
    last = places.w_stages(data)
    change = last + n
    size = 0.0
    moved = 0.0
    part = 0.0  # share of the last change, 0 before the first
    for _ in range(MAX_NEWTON_ITERATIONS):
        before = size
        settle(False, x, p, data, work)
        linearise(False, t, x, p, data, dx, work)
        size = defect(h, x, data, dx, work)
        if part > LEAST_CHANGE_SHARE and moved >= NEWTON_RTOL and not size < before:
            part *= 0.5
            size = before
        else:
            if part == 1.0 and moved < NEWTON_RTOL:
                return True
            part = 1.0
            factor(h, data, work)
            for i in range(n):
                work[change + i] = -dx[i]
                work[last + i] = x[i]
            solve(change, data, work)
            moved = 0.0
            for i in range(n):
                share = abs(work[change + i]) / (data[entry(D.SCALE, data) + i] + abs(x[i]))
                if not share < HUGE:
                    return False
                moved = share if share > moved else moved
        for i in range(n):
            x[i] = work[last + i] + part * work[change + i]
        if once:
            return True
    return False


@inlined
def implicit(t, h, x, p, data, work):
    """An internal step by the implicit Euler method, in parts if needed; returns 1 if not all of these converged.

    The shortest parts that do not converge are linearly implicit, so that the step continues.
    """
    parts = 1
    done = 0
    once = False
    missed = 0
    for _ in range(4 * MAX_IMPLICIT_PARTS):
        if newton(t, h / parts, x, p, data, work, once):
            done += 1
            if once:
                missed = 1
                once = False
            if done == parts:
                return missed
            keep(x, data, work)
        else:
            go_back(x, data, work)
            if once:
                return 1
            if parts < MAX_IMPLICIT_PARTS:
                parts *= 4
                done *= 4
            else:
                once = True
    return 1


@inlined
def in_parts(t, h, x, p, data, work):
    """An internal step in quarters or sixteenths; those with a kink or a very large error by the implicit Euler method.

    Returns 1 if an implicit one did not converge, or the least parts are too coarse.
    """
    dx = work[places.w_rates(data) : places.w_rates(data) + places.block_size(data)]
    part = REFINEMENT
    left = 1.0
    missed = 0
    for _ in range(MAX_TRIALS):
        at = t + (1.0 - left) * h
        keep(x, data, work)
        linearise(False, at, x, p, data, dx, work)
        smooth = rosenbrock(at, part * h, x, p, data, work)
        again = smooth and too_rough(data, work)
        if again and part > MIN_PART:
            part *= REFINEMENT
            go_back(x, data, work)
        else:
            if again:
                missed = 1
            if smooth and error_above(LARGEST_ERROR, data, work):
                smooth = False
            if smooth:
                rates(at + part * h, x, p, data, dx, work)
                smooth = same_pieces(x, p, data, work)
            if not smooth:
                go_back(x, data, work)
                if implicit(at, part * h, x, p, data, work) == 1:
                    missed = 1
            left -= part
            if left == 0.0:
                break
    return missed


# --- signals ----------------------------------------------------------------------------------------------------------


@kernel
def carry(t, x, p, data, y, work):
    """Carry signals to their inputs, computing only the outputs that this needs."""
    close(x, data, work)
    for o in range(entry(D.OPS, data)):
        what = entry(places.operation(o, data), data)
        c = entry(places.operation(o, data) + 1, data)
        if what == Op.COPY:
            work[entry(places.operation(o, data) + 2, data)] = y[c]
        elif what == Op.CHEAP_OUTPUT:
            part_cheap_output(places.part(c, data), t, x, p, data, y, work)
        elif what == Op.OUTPUT:
            part_output(places.part(c, data), t, x, p, data, y, work)


@kernel
def all_outputs(t, x, p, data, y, work):
    """Outputs of all parts in the order of their signals, which are carried on; then those at the flanges."""
    close(x, data, work)
    for o in range(entry(D.OPS, data)):
        c = entry(places.operation(o, data) + 1, data)
        last = entry(places.operation(o, data) + 2, data)
        if entry(places.operation(o, data), data) == Op.COPY:
            work[last] = y[c]
        elif last == 1:
            part_cheap_output(places.part(c, data), t, x, p, data, y, work)
        else:
            part_output(places.part(c, data), t, x, p, data, y, work)
    at = entry(D.N_Y_PARTS, data)
    for s in range(places.shafts(data)):
        phi = x[places.x_twist(s, data)]
        y[at + ShaftY.TAU] = shaft_torque(s, x, p, data)
        y[at + ShaftY.PHI] = phi
        y[at + ShaftY.E] = 0.5 * p[places.p_shaft(s, data) + ShaftP.K] * phi * phi
        y[at + ShaftY.LOSS] = p[places.p_shaft(s, data) + ShaftP.D] * twist_rate(s, x, data) * twist_rate(s, x, data)
        at += N_SHAFT_Y
    for e in range(places.ends(data)):
        f = places.end(e, data)
        place = places.x_input(f, data)
        y[at + e] = x[place] if place >= 0 else 0.0
    y[at + places.ends(data)] = 0.0  # a part reports a coarse step itself


@kernel
def take_inputs(u, data, work):
    """Inputs of the network to those of its parts, whose signals then are not `known`."""
    work[entry(D.W_KNOWN, data)] = HUGE * HUGE
    for k in range(entry(D.N_U, data)):
        work[entry(entry(D.INPUT, data) + k, data)] = u[k]


@kernel
def know(t, x, u, data, work):
    """Keep at which time, states and inputs the signals are carried."""
    at = entry(D.W_KNOWN, data)
    n = entry(D.N_X, data)
    work[at] = t
    for i in range(n):
        work[at + 1 + i] = x[i]
    for k in range(entry(D.N_U, data)):
        work[at + 1 + n + k] = u[k]


@kernel
def known(t, x, u, data, work):
    """Whether the signals are carried at this time, these states and inputs."""
    at = entry(D.W_KNOWN, data)
    n = entry(D.N_X, data)
    same = work[at] == t
    for i in range(n):
        if work[at + 1 + i] != x[i]:
            same = False
    for k in range(entry(D.N_U, data)):
        if work[at + 1 + n + k] != u[k]:
            same = False
    return same


# --- the model's functions, see rtcvt.model ---------------------------------------------------------------------------


@kernel
def initialise(p, data, u, x, work):
    """Start of all parts, signals carried on; speeds at a node are made one by the torques of an impact."""
    n = places.block_size(data)
    n_d = places.block_states(data)
    dx = work[places.w_rates(data) : places.w_rates(data) + entry(D.N_X, data)]
    y = work[places.w_outputs(data) : places.w_outputs(data) + entry(D.N_Y, data)]
    start = places.w_start(data)
    for i in range(entry(D.W_IN, data), entry(D.W_IN, data) + entry(D.N_IN, data)):
        work[i] = 0.0
    take_inputs(u, data, work)
    for i in range(entry(D.N_X, data)):
        x[i] = 0.0
    for _ in range(entry(D.PARTS, data)):  # a start value may pass through all of them
        for c in range(entry(D.PARTS, data)):
            if part_initialise(places.part(c, data), p, data, x, work) == FAILED:
                return FAILED
        if n > 0:
            rates(0.0, x, p, data, dx, work)
            keep(x, data, work)
            for e in range(places.ends(data)):
                f = places.end(e, data)
                w = places.x_speed(f, data)
                if places.torque_sign(f, data) != 0.0 and w >= 0:
                    x[w] = work[start + w] + dx[places.x_torque(f, data)]
        all_outputs(0.0, x, p, data, y, work)
    if n > 0:
        rates(0.0, x, p, data, dx, work)
        apart = 0.0
        for e in range(places.ends(data)):
            f = places.end(e, data)
            z = places.x_torque(f, data)
            if places.torque_sign(f, data) != 0.0:
                apart += abs(dx[z]) / data[entry(D.SCALE, data) + n + z]
        for again in range(2):
            keep(x, data, work)
            newton(0.0, START_STEP_SHARE * data[D.INTERNAL_STEP], x, p, data, work, False)
            if again == 1 or apart < NEWTON_RTOL:  # states and speeds as they were
                for i in range(n_d):
                    x[i] = work[start + i]
                for e in range(places.ends(data)):
                    f = places.end(e, data)
                    w = places.x_speed(f, data)
                    if places.torque_sign(f, data) != 0.0 and w >= 0:
                        x[w] = work[start + w]
        find_torques(0.0, x, p, data, work)
        all_outputs(0.0, x, p, data, y, work)
    derivative(0.0, x, u, p, data, dx, work)
    return start_status(entry(D.N_X, data), x, dx)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Rates of all parts with the torques and speeds of the nodes in `x`, and the residuals at the nodes."""
    y = work[places.w_outputs(data) : places.w_outputs(data) + entry(D.N_Y, data)]
    take_inputs(u, data, work)
    all_outputs(t, x, p, data, y, work)
    rates(t, x, p, data, dx, work)
    for c in range(places.coupled_parts(data), entry(D.PARTS, data)):
        part_derivative(places.part(c, data), t, x, p, data, dx, work)


@kernel
def output(t, x, u, p, data, y, work):
    """Outputs of all parts, and torques or speeds of their connected flanges."""
    take_inputs(u, data, work)
    all_outputs(t, x, p, data, y, work)


@inlined
def step_others(t, h, x, p, data, y, work):
    """A step of the parts without connected flanges, with their signals held; the worst status of these."""
    worst = OK
    for c in range(places.coupled_parts(data), entry(D.PARTS, data)):
        status = part_step(places.part(c, data), t, h, x, p, data, y, work)
        worst = status if status > worst else worst
    return worst


@kernel
def behind(last, t, x, p, data, y, work):
    """All outputs after an internal step, or only those that the next step needs."""
    if last:
        all_outputs(t, x, p, data, y, work)
        return
    carry(t, x, p, data, y, work)
    rates(t, x, p, data, work[places.w_rates(data) : places.w_rates(data) + places.block_size(data)], work)


@inlined
def substep(again, last, t, h, x, p, data, y, work):
    """One internal step of all parts and outputs after it, all of them if it is the `last`; returns its status.

    `again` as of `linearise`.
    """
    n = places.block_size(data)
    n_in = entry(D.N_IN, data)
    held = entry(D.W_HELD, data)
    start = places.w_start(data)
    status = step_others(t, h, x, p, data, y, work)
    smooth = True
    if n > 0:
        for i in range(n):
            work[start + i] = x[i]
        for i in range(n_in):
            work[held + i] = work[entry(D.W_IN, data) + i]
        linearise(again, t, x, p, data, work[places.w_rates(data) : places.w_rates(data) + n], work)
        smooth = rosenbrock(t, h, x, p, data, work) and not too_rough(data, work)
    if smooth:
        if last and n > 0:
            find_torques(t + h, x, p, data, work)
        behind(last, t + h, x, p, data, y, work)
        if same_pieces(x, p, data, work):
            return status
    for i in range(n):
        x[i] = work[start + i]
    for i in range(n_in):
        work[entry(D.W_IN, data) + i] = work[held + i]
    if in_parts(t, h, x, p, data, work) == 1:
        work[entry(D.W_COARSE, data)] = 1.0
    behind(last, t + h, x, p, data, y, work)
    return status


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the network's own."""
    n_x = entry(D.N_X, data)
    n_y = entry(D.N_Y, data)
    saved = work[entry(D.W_SAVED, data) : entry(D.W_SAVED, data) + n_x]
    y_new = work[places.w_outputs(data) : places.w_outputs(data) + n_y]
    steps = enter(t, h, data[D.INTERNAL_STEP], entry(D.N_U, data), u, n_x, x, saved)
    if steps == 0:
        return FAILED
    again = known(t, x, u, data, work)
    if not again:
        take_inputs(u, data, work)
        carry(t, x, p, data, y_new, work)
    work[entry(D.W_KNOWN, data)] = HUGE * HUGE
    work[entry(D.W_COARSE, data)] = 0.0
    worst = OK
    for s in range(steps):
        status = substep(again and s == 0, s == steps - 1, t + s * (h / steps), h / steps, x, p, data, y_new, work)
        worst = status if status > worst else worst
        if worst == FAILED:
            break
    for k in range(entry(D.COARSES, data)):
        y_new[entry(entry(D.COARSE, data) + k, data)] = work[entry(D.W_COARSE, data)]
    status = leave(worst != FAILED, n_x, x, saved, n_y, y_new, y)
    if status == FAILED:
        return FAILED
    know(t + h, x, u, data, work)
    for k in range(entry(D.LIMITS, data)):
        if y[entry(entry(D.LIMIT, data) + k, data)] != 0.0:
            worst = SATURATED
    if work[entry(D.W_COARSE, data)] != 0.0:
        worst = SATURATED
    return worst
