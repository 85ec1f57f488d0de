"""Kernels of an internal step of a belt drive: Rodas3 with faces that stay, else parts by the implicit Euler method.

See "Steps" in `rtcvt.belt.kernels`.
"""

from rtcvt.belt import places
from rtcvt.belt.arms import arm_loss
from rtcvt.belt.cells import cells
from rtcvt.belt.decoupler import decoupler_loss, switch_clutches
from rtcvt.belt.flow import contradictions, gates, sliding
from rtcvt.belt.forces import (
    carrier_speed,
    flange_torques,
    hybrid_derivative,
    limits,
    load_torque,
    other_torque,
    shaft_speed,
)
from rtcvt.belt.layout import ArmX, Cell, D, DecouplerP, DecouplerX, Face, Flange, GivenX, Wrap
from rtcvt.belt.outputs import stored_energy
from rtcvt.belt.rigid import rigid_derivative, rigid_jacobian
from rtcvt.belt.tangents import hybrid_jacobian, slides_by_angle
from rtcvt.kernel import kernel
from rtcvt.model.stepping import HUGE, Block
from rtcvt.numerics.integrators import (
    STAGES,
    rosenbrock_earlier,
    rosenbrock_integral,
    rosenbrock_new,
    rosenbrock_side,
    rosenbrock_stage,
)
from rtcvt.numerics.linalg import ring_lu, ring_solve

SLIDE_MARGIN = 1e-4  # share of a face's limit within which it may slide
MAX_CORRECTIONS = 3  # passes of one internal step with other faces that slide
POWER_TOLERANCE = 0.05  # share of the power that a step may seem to make
ENERGY_RTOL = 1e-9  # share of the energy that a step may seem to make
MAX_NEWTON_ITERATIONS = 16  # of a step of the implicit Euler method, or a part of it
PARTS = 4  # of an internal step that cannot be made at once
MAX_HALVINGS = 6  # of a Newton step in its line search
NEWTON_RTOL = 1e-8
SPEED_SCALE = 1e-4  # change of a speed [rad/s] that counts as one of a share of a length
MAX_STRETCH = 1e6


@kernel
def right_hand_side(fresh, x, u, p, data, dx, work):
    """``f(x, u)`` of either model.

    Faces slide as at `x` with its limits (`fresh` 2), as at `x` (1), or as they are marked (0; -1: call `cells` first).
    """
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
def linearise_step(fresh, x, u, p, data, work):
    """`linearise` into the blocks of a step."""
    f = work[places.step_block(Block.RATES, data) : places.step_block(Block.STAGES, data)]
    jac = work[places.step_block(Block.JACOBIAN, data) : places.step_matrix(data)]
    linearise(fresh, x, u, p, data, f, jac, work)


@kernel
def ring(data):
    """Number of cells at the begin of the step's matrix, see `rtcvt.numerics.linalg`.

    The more belt a cell contains, the more flows out and the less in: so its column is dominant.
    """
    return 1 if data[D.RIGID] != 0.0 else places.cell_count(data)


@kernel
def step_matrix(rate, jac, data, work):
    """Factor ``rate I - jac`` of the states that move within a step."""
    matrix = places.step_matrix(data)
    n_x = places.states(data)
    n = places.moving_states(data)
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
    ring_lu(last + 1, n, work, matrix, places.step_block(Block.PIVOTS, data))


@kernel
def step_solve(data, work):
    """Replace `Block.SOLUTION` by the solution with the matrix that `step_matrix` factored."""
    pivot = places.step_block(Block.PIVOTS, data)
    b = places.step_block(Block.SOLUTION, data)
    ring_solve(ring(data), places.moving_states(data), work, places.step_matrix(data), pivot, b)


@kernel
def start_distances(data, work):
    """Store the data of the start of an internal step for `slide_stage`. Call `flows` first."""
    for c in range(places.cell_count(data)):
        at = places.face(c, data)
        work[at + Face.START_BY_UP] = work[at + Face.S_BY_UP]
        work[at + Face.START_BY_DOWN] = work[at + Face.S_BY_DOWN]
        work[at + Face.START_BY_FLOW] = work[at + Face.S_BY_FLOW]
        at = places.cell(c, data)
        work[at + Cell.STRETCH_BY_BEFORE] = work[at + Cell.LONGER_BY_BEFORE] / work[at + Cell.STRETCH]
        work[at + Cell.STRETCH_BY_AFTER] = work[at + Cell.LONGER_BY_AFTER] / work[at + Cell.STRETCH]


@kernel
def slide_stage(stage, h, k, data, work):
    """A stage of the distances that the belt slides in the faces, with those of the state; call `flows` there first."""
    if stage == 0:
        start_distances(data, work)
    at_l = stage * places.states(data)
    for u in range(places.cell_count(data)):
        at = places.face(u, data)
        if work[at + Face.SLIDE] == 0.0:
            work[at + Face.MEAN] = 0.0
            continue
        up_by = work[at + Face.START_BY_UP]
        down_by = work[at + Face.START_BY_DOWN]
        s = work[at + Face.S] + up_by * k[at_l + u] + down_by * k[at_l + places.cell_after(u, data)]
        for end in range(2):
            c = u if end == 0 else places.cell_after(u, data)
            j = places.span_of(c, data)
            own = places.cell(c, data)
            longer = work[own + Cell.STRETCH_BY_BEFORE] * k[at_l + places.x_speed(j, data)]
            longer += work[own + Cell.STRETCH_BY_AFTER] * k[at_l + places.x_speed(places.after(j, data), data)]
            s -= (up_by if end == 0 else down_by) * longer
        s += work[at + Face.START_BY_FLOW] * k[at_l + places.x_flow(data)]
        for m in range(places.arms(data)):
            s += work[places.slide_by_angle(m, u, data)] * k[at_l + places.x_arm(m, data) + ArmX.THETA]
        way = at + Face.WAY_1
        earlier = rosenbrock_earlier(stage, work[way], work[way + 1], work[way + 2])
        work[way + stage] = 0.5 * h * s + 0.5 * earlier
        if stage == 3:
            work[at + Face.MEAN] = (2.0 * work[way] + work[way + 2] + work[way + 3]) / h


@kernel
def advance(h, x, u, p, data, work):
    """One internal step of Rodas3 in place, faces sliding as they are marked; call `linearise_step` first."""
    n = places.states(data)
    x_stage = work[places.step_block(Block.STAGE, data) : places.step_block(Block.RATES, data)]
    f = work[places.step_block(Block.RATES, data) : places.step_block(Block.STAGES, data)]
    k = work[places.step_block(Block.STAGES, data) : places.step_block(Block.SOLUTION, data)]
    b = places.step_block(Block.SOLUTION, data)
    for m in range(places.arms(data)):
        slides_by_angle(m, data, work)
    jac = work[places.step_block(Block.JACOBIAN, data) : places.step_matrix(data)]
    step_matrix(2.0 / h, jac, data, work)
    for s in range(STAGES):
        if s >= 2:  # the first two stages are at x
            rosenbrock_stage(s, n, x, k, x_stage)
            right_hand_side(0, x_stage, u, p, data, f, work)
        rosenbrock_side(s, n, h, f, k, work, b)
        step_solve(data, work)
        for i in range(n):
            k[s * n + i] = work[b + i]
        if data[D.RIGID] == 0.0:
            slide_stage(s, h, k, data, work)
    rosenbrock_new(n, x, k)


@kernel
def power_in(x, u, p, data, work):
    """Power [W] of torques, loads and given speeds, less that of bearings; call `flange_torques` for given speeds."""
    power = 0.0
    for i in range(places.pulleys(data)):
        omega = places.speed(i, x, data)
        if data[D.DECOUPLERS] > 0.0:
            omega = shaft_speed(i, x, data)
        tau = other_torque(i, omega, u, p, data)
        power += (tau + work[places.wrap(i, data) + Wrap.TORQUE] if places.given_state(i, data) >= 0 else tau) * omega
        if data[D.ARMS] > 0.0:
            carrier = carrier_speed(i, x, data)
            power += p[places.p_bearing(i, data)] * carrier * (2.0 * omega - carrier)
    if data[D.DECOUPLERS] > 0.0:
        power -= decoupler_loss(x, p, data, work)
    return power - arm_loss(x, p, data) if data[D.ARMS] > 0.0 else power


@kernel
def largest_work(h, x, u, data, work):
    """Work [J] of torques in a step of Rodas3 that ends at `x`, by its own quadrature; loads that drive added."""
    n = places.states(data)
    start = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    k = work[places.step_block(Block.STAGES, data) : places.step_block(Block.SOLUTION, data)]
    done = 0.0
    for i in range(places.pulleys(data)):
        own = places.decoupler_of(i, data)
        at = places.x_speed(i, data) if own < 0 else places.x_decoupler(own, data) + DecouplerX.W
        if places.flange_kind(i, data) == Flange.TORQUE:
            done += u[places.flange_input(i, data)] * rosenbrock_integral(at, n, h, start, k)
        power = load_torque(i, 0, start[at], data) * start[at]
        done += h * power if power > 0.0 else 0.0
        power = load_torque(i, 0, x[at], data) * x[at]
        done += h * power if power > 0.0 else 0.0
    return done


@kernel
def given_power(x, data, work):
    """Power [W] that the spans at pulleys of given speeds carry; call `cells` first."""
    power = 0.0
    for i in range(places.pulleys(data)):
        if places.given_state(i, data) >= 0:
            after_it = work[places.cell(places.span_cell(i, data), data) + Cell.N]
            before_it = work[places.cell(places.span_cell(places.before(i, data), data), data) + Cell.N]
            power += (after_it + before_it) * abs(places.rim_radius(i, data) * places.speed(i, x, data))
    return power


@kernel
def is_possible(x, data, work):
    """Whether all cells hold belt, stretched less than `MAX_STRETCH` times, and all states are numbers."""
    for c in range(places.cell_count(data)):
        if not MAX_STRETCH * x[c] > work[places.cell(c, data) + Cell.LENGTH]:
            return False
    good = True
    for i in range(places.states(data)):
        if not abs(x[i]) < HUGE:
            good = False
    return good


@kernel
def explicit_faces(h, x, u, p, data, work):
    """One step whose faces slide as they do at its start, corrected a few times; returns whether it is accepted.

    Call `cells` and `limits` of its start first. It is accepted if no face contradicts friction at its end, and no
    energy was created.
    """
    n = places.states(data)
    start = places.step_block(Block.START, data)
    sliding(SLIDE_MARGIN, x, p, data, work)
    switch_clutches(x, p, data, work)
    energy = stored_energy(x, p, data, work)
    power = 0.0
    for k in range(MAX_CORRECTIONS):
        for i in range(n):
            x[i] = work[start + i]
        linearise_step(-1 if k == 0 else 0, x, u, p, data, work)
        if k == 0:
            power = power_in(x, u, p, data, work)
        advance(h, x, u, p, data, work)
        if not is_possible(x, data, work):
            return False
        cells(x, p, data, work)
        if contradictions(p, data, work) == 0:
            if places.moving_states(data) < n:
                gates(x, p, data, work)
                flange_torques(x, u, p, data, work)
            power_after = power_in(x, u, p, data, work)
            gained = stored_energy(x, p, data, work) - energy
            size = abs(power) + abs(power_after) + given_power(x, data, work)
            if gained - 0.5 * h * (power + power_after) > POWER_TOLERANCE * h * size + ENERGY_RTOL * energy:
                return False
            done = largest_work(h, x, u, data, work)
            return places.moving_states(data) < n or gained <= done + ENERGY_RTOL * (energy + abs(done))
    return False


@kernel
def joint_size(b, data, work):
    """Size of a change of the states of arms and decouplers, which is at `b`, speeds relative to `SPEED_SCALE` [-]."""
    size = 0.0
    for m in range(places.arms(data)):
        at = b + places.x_arm(m, data)
        size += abs(work[at + ArmX.THETA]) + SPEED_SCALE * abs(work[at + ArmX.W])
    for m in range(places.decouplers(data)):
        at = b + places.x_decoupler(m, data)
        size += abs(work[at + DecouplerX.TWIST]) + SPEED_SCALE * abs(work[at + DecouplerX.W])
    return size


@kernel
def residual(h, x, u, p, data, work):
    """``h f(x) - (x - x_0)`` into the block of solutions, faces as friction has them at `x`; returns its size [-].

    Lengths count by themselves, speeds by `SPEED_SCALE` of a length for each [rad/s].
    """
    n = places.states(data)
    count = places.cell_count(data)
    start = places.step_block(Block.START, data)
    f = work[places.step_block(Block.RATES, data) : places.step_block(Block.STAGES, data)]
    b = places.step_block(Block.SOLUTION, data)
    right_hand_side(1, x, u, p, data, f, work)
    size = 0.0
    for i in range(n):
        work[b + i] = h * f[i] - (x[i] - work[start + i])
        if i < count:
            size += abs(work[b + i]) / x[i]
        elif i < count + places.pulleys(data):
            size += SPEED_SCALE * abs(work[b + i])
    return size + joint_size(b, data, work)


@kernel
def implicit_faces(h, budget, x, u, p, data, work):
    """One step of the implicit Euler method, by Newton's method; iterations it took, or -1 if it did not converge.

    ``x = x_0 + h f(x)`` makes no energy, as energy is convex and the losses at x are none of them negative.
    """
    n = places.states(data)
    count = places.cell_count(data)
    last = work[places.step_block(Block.STAGE, data) : places.step_block(Block.RATES, data)]
    direction = work[places.step_block(Block.STAGES, data) : places.step_block(Block.SOLUTION, data)]
    b = places.step_block(Block.SOLUTION, data)
    jac = work[places.step_block(Block.JACOBIAN, data) : places.step_matrix(data)]
    size = residual(h, x, u, p, data, work)
    for k in range(budget):
        hybrid_jacobian(0, x, p, data, jac, work)
        step_matrix(1.0 / h, jac, data, work)
        for i in range(n):
            work[b + i] = work[b + i] / h
        step_solve(data, work)
        share = 1.0
        change = 0.0
        for i in range(n):
            last[i] = x[i]
            direction[i] = work[b + i]
            if i < count:
                change = abs(work[b + i]) / x[i] if abs(work[b + i]) / x[i] > change else change
                if work[b + i] * share < -0.5 * x[i]:
                    share = -0.5 * x[i] / work[b + i]
            elif i < count + places.pulleys(data):
                change = SPEED_SCALE * abs(work[b + i]) if SPEED_SCALE * abs(work[b + i]) > change else change
        joints = joint_size(b, data, work)
        change = joints if joints > change else change
        if not change < HUGE:
            return -1
        size_before = size
        for _ in range(MAX_HALVINGS):
            for i in range(n):
                x[i] = last[i] + share * direction[i]
            size = residual(h, x, u, p, data, work)
            if size < size_before or change < NEWTON_RTOL:
                break
            share = 0.5 * share
        if change < NEWTON_RTOL:
            for c in range(count):
                work[places.face(c, data) + Face.MEAN] = work[places.face(c, data) + Face.S]
            return k + 1 if is_possible(x, data, work) else -1
    return -1


@kernel
def hold(h, x, u, p, data, work):
    """Freeze the belt's contents for a step; given speeds continue, torques may brake. Calls `cells` and `limits`."""
    cells(x, p, data, work)  # an abandoned step has left data of another state
    for m in range(places.decouplers(data)):
        at = places.x_decoupler(m, data) + DecouplerX.W
        torque = other_torque(places.decoupler_pulley(m, data), x[at], u, p, data)
        change = h * torque / p[places.p_decoupler(m, data) + DecouplerP.J]
        if change * x[at] < 0.0:
            x[at] = x[at] + change if abs(change) < abs(x[at]) else 0.0
    for i in range(places.pulleys(data)):
        omega = places.speed(i, x, data)
        at = places.given_state(i, data)
        own = places.decoupler_of(i, data)
        if at >= 0:
            x[places.x_speed(i, data)] = omega + h * x[at + GivenX.A]
        elif own < 0:
            change = h * other_torque(i, omega, u, p, data) / work[places.wrap(i, data) + Wrap.INERTIA]
            if change * omega < 0.0:
                x[places.x_speed(i, data)] = omega + change if abs(change) < abs(omega) else 0.0
    for m in range(places.arms(data)):
        x[places.x_arm(m, data) + ArmX.W] = 0.0
    for c in range(places.cell_count(data)):
        work[places.face(c, data) + Face.SLIDE] = 0.0
        work[places.face(c, data) + Face.MEAN] = 0.0
    cells(x, p, data, work)
    limits(x, p, data, work)


@kernel
def substep(h, budget, x, u, p, data, work):
    """One internal step whose faces slide only where friction is at its limit, and stick elsewhere.

    Call `cells` first; afterwards they are those of its end. If a step of Rodas3 fails, it is repeated in `PARTS`; a
    part that fails is made by the implicit Euler method. Returns the rest of a budget of iterations.
    """
    if data[D.RIGID] != 0.0:
        linearise_step(0, x, u, p, data, work)
        advance(h, x, u, p, data, work)
        return budget
    n = places.states(data)
    start = places.step_block(Block.START, data)
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
    n = places.states(data)
    start = places.step_block(Block.START, data)
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
        most = MAX_NEWTON_ITERATIONS if budget > MAX_NEWTON_ITERATIONS else budget
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
