"""Linear systems of a step of a unit with losses of meshes, as real-time kernels: twists and heats are eliminated.

No rate depends on a heat, and only its own rate on the twist of slipping faces; the rate of another twist depends on
earlier states and itself alone. So a unit with many losses of meshes costs little more. The machine is piecewise
linear, and the factors of the last step are used where h, pieces and losses are the same.
"""

from rtcvt.kernel import kernel
from rtcvt.numerics.linalg import lu, lu_solve
from rtcvt.pog import places
from rtcvt.pog.elements import twist_rate
from rtcvt.pog.layout import D, ElementP, ElementW, LossW
from rtcvt.pog.mesh_losses import loss_slope, loss_slowing
from rtcvt.pog.speeds import across


@kernel
def forget_factors(data, work):
    """Discard the factors, so that the next step factors its matrix."""
    work[places.number(D.W_FACTORED, data)] = 0.0


@kernel
def is_factored(h, x, p, data, work):
    """Whether the factors are those of this step. Call `add_element_torques` first."""
    key = places.number(D.W_FACTORED, data)
    same = work[key] == h
    work[key] = h
    for e in range(places.elements(data)):
        at = places.element_work(e, data)
        same = same and work[at + ElementW.FACTORED_SIDE] == work[at + ElementW.SIDE]
        work[at + ElementW.FACTORED_SIDE] = work[at + ElementW.SIDE]
    for a in range(places.losses(data)):
        at = places.loss_work(a, data)
        slope = loss_slope(places.friction_elements(data) + a, x, p, data, work)
        slowing = loss_slowing(places.friction_elements(data) + a, x, p, data, work)
        same = same and work[at + LossW.SLOPE] == slope and work[at + LossW.SLOWING] == slowing
        work[at + LossW.SLOPE] = slope
        work[at + LossW.SLOWING] = slowing
    return same


@kernel
def heating(x, p, data, work):
    """Coefficients of the change of each heat's rate. Call `add_element_torques` first.

    ``Q' = d phi'^2`` where faces stick or teeth are pressed, else ``Q' = tau dw - K phi phi'`` with
    ``d phi' = tau - K phi``.
    """
    for e in range(places.elements(data)):
        at = places.element_work(e, data)
        rate = twist_rate(e, x, p, data, work)
        work[at + ElementW.HEAT_BY_TWIST] = 0.0
        work[at + ElementW.HEAT_BY_DW] = 0.0
        if places.is_play(e, data):
            work[at + ElementW.HEAT_BY_RATE] = 2.0 * places.contact_damping(places.contact_of(e, data), p, data) * rate
        else:
            K = p[places.p_element(e, data) + ElementP.K]
            d = p[places.p_element(e, data) + ElementP.D]
            work[at + ElementW.HEAT_BY_RATE] = 2.0 * d * rate
            if work[at + ElementW.SIDE] != 0.0:
                work[at + ElementW.HEAT_BY_RATE] = d * work[at + ElementW.DW] - K * x[places.x_twist(e, data)]
                work[at + ElementW.HEAT_BY_TWIST] = K * (work[at + ElementW.DW] - rate)
                work[at + ElementW.HEAT_BY_DW] = work[at + ElementW.TAU]


@kernel
def factor_without_twists(h, jac, data, work):
    """Factor ``2 I/h - df/dx`` of the states before twists and heats, the others eliminated."""
    n = places.states(data)
    c = places.x_twist(0, data)
    matrix = places.step_matrix(data)
    for i in range(c):
        for j in range(c):
            work[matrix + i * c + j] = -jac[i * n + j]
        work[matrix + i * c + i] += 2.0 / h
    for e in range(places.elements(data)):
        phi = (c + e) * n
        twist = places.element_work(e, data) + ElementW.TWIST
        inverse = 1.0 / (2.0 / h - jac[phi + c + e])
        work[twist] = -inverse
        for i in range(c):
            if jac[i * n + c + e] != 0.0:
                work[twist] = inverse
                by = jac[i * n + c + e] * inverse
                for j in range(c):
                    work[matrix + i * c + j] -= by * jac[phi + j]
    lu(c, work, matrix, places.step_pivots(data))


@kernel
def solve_with_twists(h, jac, data, work, b):
    """Replace the vector at ``work[b]`` by ``(2 I/h - df/dx)^-1`` times it.

    Call `factor_without_twists`, and `heating` instead of the heats' rows, first.
    """
    n = places.states(data)
    m = places.elements(data)
    c = places.x_twist(0, data)
    a = places.change_by(0, data)
    for e in range(m):
        twist = work[places.element_work(e, data) + ElementW.TWIST]
        by = twist * work[b + c + e]
        if twist > 0.0:
            for i in range(c):
                work[b + i] += jac[i * n + c + e] * by
    lu_solve(c, work, places.step_matrix(data), places.step_pivots(data), b)
    for e in range(m):
        s = 0.0
        for j in range(c):
            s += jac[(c + e) * n + j] * work[b + j]
        work[a + e] = work[b + c + e]
        work[b + c + e] = (s + work[b + c + e]) * abs(work[places.element_work(e, data) + ElementW.TWIST])
    for e in range(places.friction_elements(data), places.first_play(data)):
        twist = work[places.element_work(e, data) + ElementW.TWIST]
        if not twist > 0.0:  # a loss follows from twists that act
            s = 0.0
            for j in range(m):
                if work[places.element_work(j, data) + ElementW.TWIST] > 0.0:
                    s += jac[(c + e) * n + c + j] * work[b + c + j]
            work[b + c + e] -= s * twist
    for e in range(m):
        at = places.element_work(e, data)
        change = work[at + ElementW.HEAT_BY_RATE] * (2.0 / h * work[b + c + e] - work[a + e])
        change += work[at + ElementW.HEAT_BY_TWIST] * work[b + c + e]
        if work[at + ElementW.HEAT_BY_DW] != 0.0:
            change += work[at + ElementW.HEAT_BY_DW] * across(e, work[b : b + n], data, work)
        work[b + c + m + e] = 0.5 * h * (work[b + c + m + e] + change)
