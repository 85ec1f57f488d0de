"""A network of parts as real-time kernels; equations in `rtcvt.network`.

This file is a pattern. What stands between the two rules below is written anew for each set of kernels that the parts
of a network have (`rtcvt.network.generate`).
"""

from rtcvt.kernel import FAILED, OK, SATURATED, inlined, kernel
from rtcvt.model.stepping import FINER, HUGE, LEAST_PART, MOST_TRIALS, enter, leave, start_status
from rtcvt.network.layout import D, End, Op, Part, Shaft, ShaftP, ShaftY
from rtcvt.numerics.linalg import lu, lu_solve

GAMMA = 0.43586652150845917  # root of gamma^3 - 3 gamma^2 + 3/2 gamma = 1/6
AT = 1.529520240186027  # where the second and third stage are: 2/(3 gamma)
C_21, C_31, C_32 = 0.2779955322346778, -0.9402224641525682, -0.30759956452537734
M_1, M_2, M_3 = 2.1914205404185614, 0.529289729790719, 1.7207102702092802
E_1, E_2 = 0.13582510915664, 0.34252465388476  # the error is E_1 k_1 + E_2 k_2 + M_3 k_3: without it, order 2
ROUGH = 1e-3  # bound of the error, as a share of a state's typical value and its own
NEWTON = 30  # evaluations in an implicit step
LEAST_CHANGE = 0.05  # of a change of Newton's method
CONVERGED = 1e-10  # share of typical values
MOST_PARTS = 16  # into which an implicit step is cut
SEARCH = 200  # speeds that are tried for a node of which no flange gives one
BALANCED = 1e-10  # share of its torques, of those above 1 N.m
BRIEF = 1e-6  # share of an internal step, in which the start is made consistent

# --- parts ------------------------------------------------------------------------------------------------------------


@kernel
def part_initialise(kernels, p, data, u, x, work):
    """Start state of a part."""
    return OK


@kernel
def part_derivative(kernels, t, x, u, p, data, dx, work):
    """Right-hand side of a part."""


@kernel
def part_output(kernels, t, x, u, p, data, y, work):
    """Outputs of a part; of the kernels -1 - k, those that are not costly of a part with the kernels k."""


@kernel
def part_step(kernels, t, h, x, u, p, data, y, work):
    """A step of a part without connected flanges."""
    return OK


@kernel
def part_linearise(kernels, t, x, u, p, data, f, jac, work):
    """Right-hand side of a part and its derivative."""


@kernel
def part_port(kernels, k, x, u, p, data, row, column, work):
    """Derivatives at a flange of a part."""
    return 0.0


@kernel
def part_flange(kernels, k, x, u, p, data, work):
    """Output of a flange of a part."""
    return 0.0


@kernel
def part_piece(kernels, x, u, p, data, work):
    """Smooth piece that a part is on."""
    return 0.0


# --- nodes ------------------------------------------------------------------------------------------------------------


@inlined
def close(x, data, work):
    """Inputs at the connected flanges, from the torques and speeds of the nodes in `x`."""
    for e in range(int(data[D.ENDS])):
        end = int(data[D.END]) + e * len_end()
        part = int(data[D.PART]) + int(data[end + End.PART]) * len_part()
        place = int(data[D.W_IN]) + int(data[part + Part.IN]) + int(data[end + End.K])
        w = int(data[end + End.W])
        if data[end + End.SIGN] != 0.0:
            work[place] = data[end + End.SIGN] * x[int(data[end + End.Z])]
        elif w >= 0:
            work[place] = x[w]
        else:
            work[place] = 0.0


@kernel
def len_part():
    """Entries of `Part`."""
    return Part.JAC + 1


@kernel
def len_end():
    """Entries of `End`."""
    return End.ROW + 1


@kernel
def len_shaft():
    """Entries of `Shaft`."""
    return Shaft.P + 1


@inlined
def flange(e, x, p, data, work):
    """Output of a connected flange; expects the rates of its part."""
    end = int(data[D.END]) + e * len_end()
    i = int(data[D.PART]) + int(data[end + End.PART]) * len_part()
    return part_flange(
        int(data[i + Part.KERNELS]),
        int(data[end + End.K]),
        x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
        work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
        p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
        data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
        work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
    )


@kernel
def at_nodes(x, p, data, r, work):
    """Residuals at the nodes into `r`: by what speeds of flanges and nodes differ, to what torques sum up.

    Those of shafts count; rates of their twists are written too. Expects the rates of the parts.
    """
    for i in range(int(data[D.N_D]), int(data[D.N_Z])):
        r[i] = 0.0
    for e in range(int(data[D.ENDS])):
        end = int(data[D.END]) + e * len_end()
        y = flange(e, x, p, data, work)
        z = int(data[end + End.Z])
        w = int(data[end + End.W])
        if data[end + End.SIGN] != 0.0:
            r[z] = y - x[w] if w >= 0 else y
            if w >= 0:
                r[w] += x[z]
        elif w >= 0:
            r[w] += y
    for s in range(int(data[D.SHAFTS])):
        a = int(data[int(data[D.SHAFT]) + s * len_shaft() + Shaft.A])
        b = int(data[int(data[D.SHAFT]) + s * len_shaft() + Shaft.B])
        tau = shaft_torque(s, x, p, data)
        r[int(data[int(data[D.SHAFT]) + s * len_shaft() + Shaft.X])] = twist_rate(s, x, data)
        if a >= 0:
            r[a] += tau
        if b >= 0:
            r[b] -= tau


@kernel
def imbalance(k, x, p, data, work):
    """What the torques sum up to at a node whose flanges all take its speed; keeps their size in W_SIZE."""
    w = int(data[int(data[D.MASSLESS]) + k])
    total = 0.0
    size = 1.0
    for e in range(int(data[D.ENDS])):
        end = int(data[D.END]) + e * len_end()
        if data[end + End.SIGN] == 0.0 and int(data[end + End.W]) == w:
            i = int(data[D.PART]) + int(data[end + End.PART]) * len_part()
            work[int(data[D.W_IN] + data[i + Part.IN]) + int(data[end + End.K])] = x[w]
            tau = flange(e, x, p, data, work)
            total += tau
            size += abs(tau)
    for s in range(int(data[D.SHAFTS])):
        a = int(data[int(data[D.SHAFT]) + s * len_shaft() + Shaft.A])
        b = int(data[int(data[D.SHAFT]) + s * len_shaft() + Shaft.B])
        if a == w or b == w:
            tau = shaft_torque(s, x, p, data)
            total += tau if a == w else -tau
            size += abs(tau)
    work[int(data[D.W_SIZE])] = size
    return total


@kernel
def settle(free, x, p, data, work):
    """Speeds of the nodes whose flanges all take it, where the torques do not balance; whether they did everywhere.

    With `free`: of those alone whose flanges all slipped. What the flanges take grows with the speed, so that a zero is
    bracketed; it may be a jump away.
    """
    balanced = True
    for k in range(int(data[D.N_MASSLESS])):
        if free and work[int(data[D.W_FREE]) + k] == 0.0:
            continue
        w = int(data[int(data[D.MASSLESS]) + k])
        start = x[w]
        total = imbalance(k, x, p, data, work)
        direction = -1.0 if total > 0.0 else 1.0
        lower = 0.0  # distances from the start, and what is left there
        left = total
        upper = -1.0
        right = 0.0
        move = 1e-6 * (1.0 + abs(start))
        secant = 1  # and half, in turn
        for _ in range(SEARCH):
            if not abs(total) > BALANCED * work[int(data[D.W_SIZE])]:
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
    a = int(data[int(data[D.SHAFT]) + s * len_shaft() + Shaft.A])
    b = int(data[int(data[D.SHAFT]) + s * len_shaft() + Shaft.B])
    rate = x[a] if a >= 0 else 0.0
    if b >= 0:
        rate -= x[b]
    return rate


@kernel
def shaft_torque(s, x, p, data):
    """Torque of a shaft [N.m], into it at its first end."""
    shaft = int(data[D.SHAFT]) + s * len_shaft()
    at = int(data[shaft + Shaft.P])
    return p[at + ShaftP.K] * x[int(data[shaft + Shaft.X])] + p[at + ShaftP.D] * twist_rate(s, x, data)


@inlined
def shaft_entries(s, p, data, work):
    """Derivatives of a shaft, into the border."""
    n = int(data[D.N_B])
    first = int(data[D.N_D] - data[D.SHAFTS])
    border = int(data[D.W_BORDER])
    shaft = int(data[D.SHAFT]) + s * len_shaft()
    phi = int(data[shaft + Shaft.X]) - first
    K = p[int(data[shaft + Shaft.P]) + ShaftP.K]
    d = p[int(data[shaft + Shaft.P]) + ShaftP.D]
    for end in range(2):
        own = (int(data[shaft + Shaft.A]) if end == 0 else int(data[shaft + Shaft.B])) - first
        other = (int(data[shaft + Shaft.B]) if end == 0 else int(data[shaft + Shaft.A])) - first
        sign = 1.0 if end == 0 else -1.0
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
    for c in range(int(data[D.COUPLED])):
        i = int(data[D.PART]) + c * len_part()
        part_derivative(
            int(data[i + Part.KERNELS]),
            t,
            x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
            work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
            p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
            data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
            dx[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
            work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
        )
    at_nodes(x, p, data, dx, work)


@inlined
def piece_of(c, x, p, data, work):
    """Smooth piece that a part is on, behind its rates or outputs."""
    i = int(data[D.PART]) + c * len_part()
    return part_piece(
        int(data[i + Part.KERNELS]),
        x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
        work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
        p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
        data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
        work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
    )


@kernel
def same_pieces(x, p, data, work):
    """Whether all parts are on the pieces that they were on at the start of the step; expects rates or outputs."""
    same = True
    for c in range(int(data[D.COUPLED])):
        if piece_of(c, x, p, data, work) != work[int(data[D.W_PIECE]) + c]:
            same = False
    return same


@kernel
def linearise(t, x, p, data, dx, work):
    """`rates`, their derivatives, and the pieces.

    The derivative of all rates and residuals is bordered: df/dx of each part, rows and columns of its flanges, and the
    border, of twists and unknowns. These are kept apart, in W_JAC, W_ENDS and W_BORDER.
    """
    close(x, data, work)
    for i in range(int(data[D.N_B] * data[D.N_B])):
        work[int(data[D.W_BORDER]) + i] = 0.0
    for c in range(int(data[D.COUPLED])):
        i = int(data[D.PART]) + c * len_part()
        part_linearise(
            int(data[i + Part.KERNELS]),
            t,
            x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
            work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
            p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
            data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
            dx[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
            work[int(data[i + Part.JAC]) : int(data[i + Part.JAC] + data[i + Part.N_X] * data[i + Part.N_X])],
            work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
        )
        work[int(data[D.W_PIECE]) + c] = piece_of(c, x, p, data, work)
    for e in range(int(data[D.ENDS])):
        join(e, x, p, data, work)
    for s in range(int(data[D.SHAFTS])):
        shaft_entries(s, p, data, work)
    at_nodes(x, p, data, dx, work)


@inlined
def unknown(e, data):
    """Place in the border of the unknown that is the input at a connected flange, below zero for none."""
    end = int(data[D.END]) + e * len_end()
    place = data[end + End.Z] if data[end + End.SIGN] != 0.0 else data[end + End.W]
    return int(place - data[D.N_D] + data[D.SHAFTS])


@inlined
def join(e, x, p, data, work):
    """Derivatives at a connected flange."""
    n = int(data[D.N_B])
    border = int(data[D.W_BORDER])
    end = int(data[D.END]) + e * len_end()
    i = int(data[D.PART]) + int(data[end + End.PART]) * len_part()
    size = int(data[i + Part.N_X])
    row = int(data[end + End.ROW])
    d = part_port(
        int(data[i + Part.KERNELS]),
        int(data[end + End.K]),
        x[int(data[i + Part.X]) : int(data[i + Part.X]) + size],
        work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
        p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
        data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
        work[row : row + size],
        work[row + size : row + 2 * size],
        work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
    )
    at = unknown(e, data)
    w = int(data[end + End.W] - data[D.N_D] + data[D.SHAFTS])
    if data[end + End.SIGN] == 0.0:
        if at >= 0:
            work[border + at * n + at] += d
    else:
        for s in range(row + size, row + 2 * size):
            work[s] *= data[end + End.SIGN]
        if w >= 0:
            work[border + at * n + w] = -1.0
            work[border + w * n + at] = 1.0


# --- a step of the block ----------------------------------------------------------------------------------------------


@inlined
def factor(h, data, work):
    """Factor the matrix of an implicit step: ``1 - h A`` of the states, the residuals' derivative as it is.

    Each part's block by itself, with which the columns of its flanges are solved; then what is left of the border.
    """
    n = int(data[D.N_B])
    border = int(data[D.W_BORDER])
    pivot = int(data[D.W_PIVOT])
    shafts = int(data[D.SHAFTS])
    for c in range(int(data[D.COUPLED])):
        i = int(data[D.PART]) + c * len_part()
        size = int(data[i + Part.N_X])
        jac = int(data[i + Part.JAC])
        for k in range(jac, jac + size * size):
            work[k] *= -h
        for k in range(size):
            work[jac + k * size + k] += 1.0
        lu(size, work, jac, pivot + int(data[i + Part.X]))
    for s in range(shafts):
        for j in range(n):
            work[border + s * n + j] *= -h
        work[border + s * n + s] += 1.0
    for e in range(int(data[D.ENDS])):
        end = int(data[D.END]) + e * len_end()
        i = int(data[D.PART]) + int(data[end + End.PART]) * len_part()
        size = int(data[i + Part.N_X])
        column = int(data[end + End.ROW]) + size
        at = unknown(e, data)
        if at >= 0:
            for k in range(column, column + size):
                work[k] *= h
            lu_solve(size, work, int(data[i + Part.JAC]), pivot + int(data[i + Part.X]), column)
            for other in range(int(data[D.ENDS])):
                end_2 = int(data[D.END]) + other * len_end()
                below = unknown(other, data)
                if data[end_2 + End.PART] == data[end + End.PART] and below >= 0:
                    row = int(data[end_2 + End.ROW])
                    for k in range(size):
                        work[border + below * n + at] += work[row + k] * work[column + k]
    for k in range(int(data[D.N_MASSLESS])):  # one whose flanges all slip keeps its speed
        w = int(data[int(data[D.MASSLESS]) + k] - data[D.N_D]) + shafts
        work[int(data[D.W_FREE]) + k] = 1.0
        for j in range(n):
            if work[border + w * n + j] != 0.0:
                work[int(data[D.W_FREE]) + k] = 0.0
        if work[int(data[D.W_FREE]) + k] == 1.0:
            work[border + w * n + w] = 1.0
    lu(n, work, border, pivot + int(data[D.N_D]) - shafts)


@kernel
def solve(b, data, work):
    """Replace the vector at ``work[b]`` by the solution with the matrix that `factor` left."""
    pivot = int(data[D.W_PIVOT])
    first = int(data[D.N_D] - data[D.SHAFTS])
    for c in range(int(data[D.COUPLED])):
        i = int(data[D.PART]) + c * len_part()
        at = int(data[i + Part.X])
        lu_solve(int(data[i + Part.N_X]), work, int(data[i + Part.JAC]), pivot + at, b + at)
    for back in range(2):
        for e in range(int(data[D.ENDS])):
            end = int(data[D.END]) + e * len_end()
            i = int(data[D.PART]) + int(data[end + End.PART]) * len_part()
            size = int(data[i + Part.N_X])
            row = int(data[end + End.ROW])
            own = b + int(data[i + Part.X])
            at = b + first + unknown(e, data)
            if at >= b + first:
                for k in range(size):
                    if back == 0:
                        work[at] -= work[row + k] * work[own + k]
                    else:
                        work[own + k] += work[row + size + k] * work[at]
        if back == 0:
            lu_solve(int(data[D.N_B]), work, int(data[D.W_BORDER]), pivot + first, b + first)


@kernel
def rosenbrock(t, h, x, p, data, work):
    """One step of the Rosenbrock method in place; whether all parts stayed on their pieces, with finite states.

    Expects `linearise` at `x` behind it.
    """
    n = int(data[D.N_Z])
    n_d = int(data[D.N_D])
    dx = work[int(data[D.W_DX]) : int(data[D.W_DX]) + n]
    k_1 = int(data[D.W_K])
    k_2 = k_1 + n
    k_3 = k_2 + n
    start = int(data[D.W_START])
    step_gamma = GAMMA * h
    factor(step_gamma, data, work)
    for i in range(n):
        work[k_1 + i] = step_gamma * dx[i] if i < n_d else -dx[i]
    solve(k_1, data, work)
    for i in range(n):
        x[i] = work[start + i] + AT * work[k_1 + i]
    rates(t, x, p, data, dx, work)
    same = same_pieces(x, p, data, work)
    for i in range(n):
        work[k_2 + i] = step_gamma * dx[i] + C_21 * work[k_1 + i] if i < n_d else -dx[i]
    solve(k_2, data, work)
    for i in range(n):
        work[k_3 + i] = step_gamma * dx[i] + C_31 * work[k_1 + i] + C_32 * work[k_2 + i] if i < n_d else -dx[i]
    solve(k_3, data, work)
    for i in range(n):
        x[i] = work[start + i] + M_1 * work[k_1 + i] + M_2 * work[k_2 + i] + M_3 * work[k_3 + i]
        if not abs(x[i]) < HUGE:
            same = False
    if not settle(True, x, p, data, work):
        same = False
    return same


@inlined
def rough(data, work):
    """Whether the step of `rosenbrock` that has just been made has too large an error in a state."""
    n = int(data[D.N_Z])
    k_1 = int(data[D.W_K])
    above = False
    for i in range(int(data[D.N_D])):
        error = E_1 * work[k_1 + i] + E_2 * work[k_1 + n + i] + M_3 * work[k_1 + 2 * n + i]
        if abs(error) > ROUGH * (data[int(data[D.SCALE]) + i] + abs(work[int(data[D.W_START]) + i])):
            above = True
    return above


@inlined
def find_torques(t, x, p, data, work):
    """Torques at the nodes with which speeds that are one stay so, into `x`: ``row f(x, tau) = w'`` at each flange.

    The states decide these, so that they have their order, also where some of df/dx is left out.
    """
    n = int(data[D.N_B])
    first = int(data[D.N_D] - data[D.SHAFTS])
    border = int(data[D.W_BORDER])
    b = int(data[D.W_K])
    dx = work[int(data[D.W_DX]) : int(data[D.W_DX]) + int(data[D.N_Z])]
    rates(t, x, p, data, dx, work)
    for i in range(border, border + n * n):
        work[i] = 0.0
    for e in range(int(data[D.ENDS])):
        join(e, x, p, data, work)
    for i in range(n):
        work[b + i] = 0.0
        work[border + i * n + i] = 1.0 if i < int(data[D.SHAFTS]) else 0.0
    for k in range(int(data[D.N_MASSLESS])):
        w = int(data[int(data[D.MASSLESS]) + k]) - first
        work[border + w * n + w] = 1.0
    for e in range(int(data[D.ENDS])):
        end = int(data[D.END]) + e * len_end()
        i = int(data[D.PART]) + int(data[end + End.PART]) * len_part()
        w = int(data[end + End.W]) - first
        z = unknown(e, data)
        if data[end + End.SIGN] != 0.0:
            row = int(data[end + End.ROW])
            for k in range(int(data[i + Part.N_X])):
                work[b + z] -= work[row + k] * dx[int(data[i + Part.X]) + k]
            for other in range(int(data[D.ENDS])):
                end_2 = int(data[D.END]) + other * len_end()
                if data[end_2 + End.PART] == data[end + End.PART] and data[end_2 + End.SIGN] != 0.0:
                    column = int(data[end_2 + End.ROW] + data[i + Part.N_X])
                    for k in range(int(data[i + Part.N_X])):
                        work[border + z * n + unknown(other, data)] += work[row + k] * work[column + k]
            if w >= 0:
                work[b + w] = -dx[w + first]
    lu(n, work, border, int(data[D.W_PIVOT]) + first)
    lu_solve(n, work, border, int(data[D.W_PIVOT]) + first, b)
    for e in range(int(data[D.ENDS])):
        end = int(data[D.END]) + e * len_end()
        z = int(data[end + End.Z])
        if data[end + End.SIGN] != 0.0 and abs(x[z] + work[b + z - first]) < HUGE:
            x[z] += work[b + z - first]


@inlined
def defect(h, x, data, dx, work):
    """What an implicit Euler step from W_START misses at `x`, in place of the rates `dx`; returns its size [-]."""
    n_d = int(data[D.N_D])
    n = int(data[D.N_Z])
    scale = int(data[D.SCALE]) + n
    size = 0.0
    for i in range(n):
        if i < n_d:
            dx[i] = x[i] - work[int(data[D.W_START]) + i] - h * dx[i]
        size += abs(dx[i]) / data[scale + i]
    return size


@inlined
def newton(t, h, x, p, data, work, once):
    """One step of the implicit Euler method from W_START in place, by Newton's method; whether it converged.

    With `once`: of the linearly implicit Euler method, which is one whole change; whether that is finite.
    """
    n = int(data[D.N_Z])
    dx = work[int(data[D.W_DX]) : int(data[D.W_DX]) + n]
    last = int(data[D.W_K])
    change = last + n
    size = 0.0
    moved = 0.0
    part = 0.0  # of the change that is taken, 0 before the first
    for _ in range(NEWTON):
        before = size
        settle(False, x, p, data, work)
        linearise(t, x, p, data, dx, work)
        size = defect(h, x, data, dx, work)
        if part > LEAST_CHANGE and moved >= CONVERGED and not size < before:
            part *= 0.5
            size = before
        else:
            if part == 1.0 and moved < CONVERGED:
                return True
            part = 1.0
            factor(h, data, work)
            for i in range(n):
                work[change + i] = -dx[i]
                work[last + i] = x[i]
            solve(change, data, work)
            moved = 0.0
            for i in range(n):
                share = abs(work[change + i]) / (data[int(data[D.SCALE]) + i] + abs(x[i]))
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
    """An internal step by the implicit Euler method, in parts if need be; 1 if not all of these converged.

    Of the shortest parts those that do not converge are linearly implicit, so that the block goes on.
    """
    n = int(data[D.N_Z])
    start = int(data[D.W_START])
    parts = 1
    done = 0
    once = False
    missed = 0
    for _ in range(4 * MOST_PARTS):
        if newton(t, h / parts, x, p, data, work, once):
            done += 1
            if once:
                missed = 1
                once = False
            if done == parts:
                return missed
            for i in range(n):
                work[start + i] = x[i]
        else:
            for i in range(n):
                x[i] = work[start + i]
            if once:
                return 1
            if parts < MOST_PARTS:
                parts *= 4
                done *= 4
            else:
                once = True
    return 1


@inlined
def in_parts(t, h, x, p, data, work):
    """An internal step in quarters or sixteenths, those with a kink by the implicit Euler method.

    Returns 1 if an implicit one did not converge, or the least parts are too coarse.
    """
    n = int(data[D.N_Z])
    start = int(data[D.W_START])
    dx = work[int(data[D.W_DX]) : int(data[D.W_DX]) + n]
    part = FINER
    left = 1.0
    missed = 0
    for _ in range(MOST_TRIALS):
        at = t + (1.0 - left) * h
        for i in range(n):
            work[start + i] = x[i]
        linearise(at, x, p, data, dx, work)
        smooth = rosenbrock(at, part * h, x, p, data, work)
        again = smooth and rough(data, work)
        if again and part > LEAST_PART:
            part *= FINER
            for i in range(n):
                x[i] = work[start + i]
        else:
            if smooth:
                rates(at + part * h, x, p, data, dx, work)
                smooth = same_pieces(x, p, data, work)
            if not smooth:
                for i in range(n):
                    x[i] = work[start + i]
                again = implicit(at, part * h, x, p, data, work) == 1
            if again:
                missed = 1
            left -= part
            if left == 0.0:
                break
    return missed


# --- signals ----------------------------------------------------------------------------------------------------------


@inlined
def outputs_of(c, brief, t, x, p, data, y, work):
    """Outputs of a part, at their places in `y`; if `brief`, without those that are costly."""
    i = int(data[D.PART]) + c * len_part()
    kernels = int(data[i + Part.KERNELS])
    part_output(
        -1 - kernels if brief else kernels,
        t,
        x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
        work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
        p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
        data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
        y[int(data[i + Part.Y]) : int(data[i + Part.Y] + data[i + Part.N_Y])],
        work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
    )


@kernel
def carry(t, x, p, data, y, work):
    """Signals to where they end, and no more outputs than this takes."""
    close(x, data, work)
    for o in range(int(data[D.OPS])):
        op = int(data[D.OP]) + 3 * o
        what = int(data[op])
        if what == Op.COPY:
            work[int(data[D.W_IN]) + int(data[op + 2])] = y[int(data[op + 1])]
        elif what != Op.LAST:
            outputs_of(int(data[op + 1]), what == Op.BRIEF, t, x, p, data, y, work)


@kernel
def all_outputs(t, x, p, data, y, work):
    """Outputs of all parts in the order of their signals, which are carried on; then those at the flanges."""
    close(x, data, work)
    for o in range(int(data[D.OPS])):
        op = int(data[D.OP]) + 3 * o
        if int(data[op]) == Op.COPY:
            work[int(data[D.W_IN]) + int(data[op + 2])] = y[int(data[op + 1])]
        else:
            outputs_of(int(data[op + 1]), data[op + 2] == 1.0, t, x, p, data, y, work)
    at = int(data[D.N_Y_PARTS])
    for s in range(int(data[D.SHAFTS])):
        shaft = int(data[D.SHAFT]) + s * len_shaft()
        phi = x[int(data[shaft + Shaft.X])]
        parameters = int(data[shaft + Shaft.P])
        y[at + ShaftY.TAU] = shaft_torque(s, x, p, data)
        y[at + ShaftY.PHI] = phi
        y[at + ShaftY.E] = 0.5 * p[parameters + ShaftP.K] * phi * phi
        y[at + ShaftY.LOSS] = p[parameters + ShaftP.D] * twist_rate(s, x, data) * twist_rate(s, x, data)
        at += ShaftY.LOSS + 1
    for e in range(int(data[D.ENDS])):
        end = int(data[D.END]) + e * len_end()
        place = int(data[end + End.W])
        if data[end + End.SIGN] != 0.0:
            place = int(data[end + End.Z])
        y[at + e] = x[place] if place >= 0 else 0.0
    y[at + int(data[D.ENDS])] = 0.0  # whether a step is too coarse, it says itself


@kernel
def take_inputs(u, data, work):
    """Inputs of the network to those of its parts, whose signals then are not `known`."""
    work[int(data[D.W_KNOWN])] = HUGE * HUGE
    for k in range(int(data[D.N_U])):
        work[int(data[D.W_IN]) + int(data[int(data[D.INPUT]) + k])] = u[k]


@kernel
def know(t, x, u, data, work):
    """Keep at which time, states and inputs the signals are carried."""
    at = int(data[D.W_KNOWN])
    n = int(data[D.N_X])
    work[at] = t
    for i in range(n):
        work[at + 1 + i] = x[i]
    for k in range(int(data[D.N_U])):
        work[at + 1 + n + k] = u[k]


@kernel
def known(t, x, u, data, work):
    """Whether the signals are carried at this time, these states and inputs."""
    at = int(data[D.W_KNOWN])
    n = int(data[D.N_X])
    same = work[at] == t
    for i in range(n):
        if work[at + 1 + i] != x[i]:
            same = False
    for k in range(int(data[D.N_U])):
        if work[at + 1 + n + k] != u[k]:
            same = False
    return same


# --- the model's functions, see rtcvt.model ---------------------------------------------------------------------------


@kernel
def initialise(p, data, u, x, work):
    """Start of all parts, signals carried on; speeds at a node are made one by the torques of an impact."""
    n = int(data[D.N_Z])
    n_d = int(data[D.N_D])
    dx = work[int(data[D.W_DX]) : int(data[D.W_DX]) + int(data[D.N_X])]
    y = work[int(data[D.W_Y]) : int(data[D.W_Y]) + int(data[D.N_Y])]
    start = int(data[D.W_START])
    for i in range(int(data[D.W_IN]), int(data[D.W_IN]) + int(data[D.N_IN])):
        work[i] = 0.0
    take_inputs(u, data, work)
    for i in range(int(data[D.N_X])):
        x[i] = 0.0
    for _ in range(int(data[D.PARTS])):  # a start value may pass through all of them
        for c in range(int(data[D.PARTS])):
            i = int(data[D.PART]) + c * len_part()
            status = part_initialise(
                int(data[i + Part.KERNELS]),
                p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
                data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
                work[
                    int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])
                ],
                x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
                work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
            )
            if status == FAILED:
                return FAILED
        if n > 0:
            rates(0.0, x, p, data, dx, work)
            for i in range(n):
                work[start + i] = x[i]
            for e in range(int(data[D.ENDS])):
                end = int(data[D.END]) + e * len_end()
                w = int(data[end + End.W])
                if data[end + End.SIGN] != 0.0 and w >= 0:
                    x[w] = work[start + w] + dx[int(data[end + End.Z])]
        all_outputs(0.0, x, p, data, y, work)
    if n > 0:
        rates(0.0, x, p, data, dx, work)
        apart = 0.0
        for e in range(int(data[D.ENDS])):
            end = int(data[D.END]) + e * len_end()
            if data[end + End.SIGN] != 0.0:
                z = int(data[end + End.Z])
                apart += abs(dx[z]) / data[int(data[D.SCALE]) + n + z]
        for again in range(2):
            for i in range(n):
                work[start + i] = x[i]
            newton(0.0, BRIEF * data[D.INTERNAL_STEP], x, p, data, work, False)
            if again == 1 or apart < CONVERGED:  # states and speeds as they were
                for i in range(n_d):
                    x[i] = work[start + i]
                for e in range(int(data[D.ENDS])):
                    w = int(data[int(data[D.END]) + e * len_end() + End.W])
                    if data[int(data[D.END]) + e * len_end() + End.SIGN] != 0.0 and w >= 0:
                        x[w] = work[start + w]
        find_torques(0.0, x, p, data, work)
        all_outputs(0.0, x, p, data, y, work)
    derivative(0.0, x, u, p, data, dx, work)
    return start_status(int(data[D.N_X]), x, dx)


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Rates of all parts with the torques and speeds of the nodes in `x`, and the residuals at the nodes."""
    y = work[int(data[D.W_Y]) : int(data[D.W_Y]) + int(data[D.N_Y])]
    take_inputs(u, data, work)
    all_outputs(t, x, p, data, y, work)
    rates(t, x, p, data, dx, work)
    for c in range(int(data[D.COUPLED]), int(data[D.PARTS])):
        i = int(data[D.PART]) + c * len_part()
        part_derivative(
            int(data[i + Part.KERNELS]),
            t,
            x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
            work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
            p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
            data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
            dx[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
            work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
        )


@kernel
def output(t, x, u, p, data, y, work):
    """Outputs of all parts, and torques or speeds of their connected flanges."""
    take_inputs(u, data, work)
    all_outputs(t, x, p, data, y, work)


@inlined
def step_others(t, h, x, p, data, y, work):
    """A step of the parts without connected flanges, with their signals held; the worst status of these."""
    worst = OK
    for c in range(int(data[D.COUPLED]), int(data[D.PARTS])):
        i = int(data[D.PART]) + c * len_part()
        status = part_step(
            int(data[i + Part.KERNELS]),
            t,
            h,
            x[int(data[i + Part.X]) : int(data[i + Part.X] + data[i + Part.N_X])],
            work[int(data[D.W_IN] + data[i + Part.IN]) : int(data[D.W_IN] + data[i + Part.IN] + data[i + Part.N_IN])],
            p[int(data[i + Part.P]) : int(data[i + Part.P] + data[i + Part.N_P])],
            data[int(data[i + Part.DATA]) : int(data[i + Part.DATA] + data[i + Part.N_DATA])],
            y[int(data[i + Part.Y]) : int(data[i + Part.Y] + data[i + Part.N_Y])],
            work[int(data[i + Part.WORK]) : int(data[i + Part.WORK] + data[i + Part.N_WORK])],
        )
        worst = status if status > worst else worst
    return worst


@kernel
def behind(last, t, x, p, data, y, work):
    """All outputs behind an internal step, or no more than the next one needs."""
    if last:
        all_outputs(t, x, p, data, y, work)
        return
    carry(t, x, p, data, y, work)
    rates(t, x, p, data, work[int(data[D.W_DX]) : int(data[D.W_DX]) + int(data[D.N_Z])], work)


@inlined
def substep(last, t, h, x, p, data, y, work):
    """One internal step of all parts, and what is behind it, all outputs if it is the `last`; its status."""
    n = int(data[D.N_Z])
    n_in = int(data[D.N_IN])
    held = int(data[D.W_HELD])
    start = int(data[D.W_START])
    status = step_others(t, h, x, p, data, y, work)
    smooth = True
    if n > 0:
        for i in range(n):
            work[start + i] = x[i]
        for i in range(n_in):
            work[held + i] = work[int(data[D.W_IN]) + i]
        linearise(t, x, p, data, work[int(data[D.W_DX]) : int(data[D.W_DX]) + n], work)
        smooth = rosenbrock(t, h, x, p, data, work) and not rough(data, work)
    if smooth:
        if last and n > 0:
            find_torques(t + h, x, p, data, work)
        behind(last, t + h, x, p, data, y, work)
        if same_pieces(x, p, data, work):
            return status
    for i in range(n):
        x[i] = work[start + i]
    for i in range(n_in):
        work[int(data[D.W_IN]) + i] = work[held + i]
    if in_parts(t, h, x, p, data, work) == 1:
        work[int(data[D.W_COARSE])] = 1.0
    behind(last, t + h, x, p, data, y, work)
    return status


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the network's own."""
    n_x = int(data[D.N_X])
    n_y = int(data[D.N_Y])
    saved = work[int(data[D.W_SAVED]) : int(data[D.W_SAVED]) + n_x]
    y_new = work[int(data[D.W_Y]) : int(data[D.W_Y]) + n_y]
    steps = enter(t, h, data[D.INTERNAL_STEP], int(data[D.N_U]), u, n_x, x, saved)
    if steps == 0:
        return FAILED
    if not known(t, x, u, data, work):
        take_inputs(u, data, work)
        carry(t, x, p, data, y_new, work)
    work[int(data[D.W_KNOWN])] = HUGE * HUGE
    work[int(data[D.W_COARSE])] = 0.0
    worst = OK
    for s in range(steps):
        status = substep(s == steps - 1, t + s * (h / steps), h / steps, x, p, data, y_new, work)
        worst = status if status > worst else worst
        if worst == FAILED:
            break
    for k in range(int(data[D.COARSES])):
        y_new[int(data[int(data[D.COARSE]) + k])] = work[int(data[D.W_COARSE])]
    status = leave(worst != FAILED, n_x, x, saved, n_y, y_new, y)
    if status == FAILED:
        return FAILED
    know(t + h, x, u, data, work)
    for k in range(int(data[D.LIMITS])):
        if y[int(data[int(data[D.LIMIT]) + k])] != 0.0:
            worst = SATURATED
    if work[int(data[D.W_COARSE])] != 0.0:
        worst = SATURATED
    return worst
