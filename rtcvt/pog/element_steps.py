"""Steps of a unit with clutches, brakes, dry bearings, lossy meshes or play, as real-time kernels.

A step whose elements all end on the pieces on which they start is smooth, and of the unit's method. One that is not is
cut: smooth parts up to where faces come to stick, or where teeth touch, and between these parts of the implicit Euler
method (`rtcvt.pog.implicit_step`).
"""

from rtcvt.control.limits import FREE
from rtcvt.kernel import kernel
from rtcvt.model.stepping import HUGE, Block
from rtcvt.numerics.integrators import rosenbrock_integral
from rtcvt.pog import places
from rtcvt.pog.elements import carried, element_energy, side, stuck_torque
from rtcvt.pog.equations import right_hand_side, torques
from rtcvt.pog.implicit_step import book_heat, implicit_step
from rtcvt.pog.layout import Element, ElementW
from rtcvt.pog.mesh_losses import bound
from rtcvt.pog.method import advance
from rtcvt.pog.play import damper_spring, half_play
from rtcvt.pog.speeds import across

MAX_TOUCHES = 2  # changes of pieces within a step that are looked for
MAX_BISECTIONS = 4  # for each of these
MAX_STICKS = 6  # parts of a step in which the moments are looked for at which faces stick
MIN_PART = 1e-3  # share of a step in which they are looked for
APPROACH = 0.99  # share of the time up to there that is gone at once
MAX_HEAT = 1e11  # of an element [J]


@kernel
def book_play(e, h, x, p, data, work):
    """Heat of pressed teeth over a smooth step: their work, by the impulse on the gears, less their stored energy.

    So power is balanced to rounding where the step damps unresolved vibrations.
    """
    n = places.states(data)
    before = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    k = work[places.step_block(Block.STAGES, data) : places.step_block(Block.SOLUTION, data)]
    K = places.contact_stiffness(places.contact_of(e, data), p, data)
    K_2 = damper_spring(e, p, data)
    impulse = 0.0
    own = side(e, x, p, data, work)
    if own != 0.0:
        s = rosenbrock_integral(places.x_force(places.contact_of(e, data), data), n, h, before, k) / K
        impulse = (K + K_2) * (s - h * own * half_play(e, p, data))
        impulse -= K_2 * rosenbrock_integral(places.x_twist(e, data), n, h, before, k)
    v = 0.5 * (across(e, before, data, work) + across(e, x, data, work))
    made = element_energy(e, x, p, data) - element_energy(e, before, p, data)
    x[places.x_heat(e, data)] = before[places.x_heat(e, data)] + impulse * v - made


@kernel
def book_heats(h, x, p, data, work):
    """Heats over a smooth step."""
    before = work[places.step_block(Block.START, data) : places.step_block(Block.STAGE, data)]
    for e in range(places.elements(data)):
        heat = places.x_heat(e, data)
        at = places.element_work(e, data)
        if places.is_play(e, data):
            book_play(e, h, x, p, data, work)
        elif e < places.friction_elements(data) and work[at + ElementW.START_SIDE] != 0.0:
            done = 0.5 * h * work[at + ElementW.TAU]
            done *= across(e, before, data, work) + work[at + ElementW.DW]
            x[heat] = before[heat]
            book_heat(e, done + element_energy(e, before, p, data), x, p, data)
        elif not x[heat] > before[heat]:
            x[heat] = before[heat]


@kernel
def smooth_step(h, x, u, p, data, work):
    """One step of the unit's method in place; whether all elements end on their pieces. If not, `x` is as it was.

    Bounds and torques are those of `x` after it.
    """
    n = places.states(data)
    start = places.step_block(Block.START, data)
    for i in range(n):
        work[start + i] = x[i]
    advance(FREE, 0.0, h, x, u, p, data, work)
    torques(FREE, 0.0, x, u, p, data, work)
    same = True
    for e in range(places.elements(data)):
        at = places.element_work(e, data)
        if work[at + ElementW.SIDE] != work[at + ElementW.START_SIDE]:
            same = False
    for i in range(n):
        if not abs(x[i]) < HUGE:
            same = False
    if same:
        book_heats(h, x, p, data, work)
    else:
        for i in range(n):
            x[i] = work[start + i]
        torques(FREE, 0.0, x, u, p, data, work)
    return same


@kernel
def step_with_touches(h, x, u, p, data, work):
    """A step that is not smooth, of a unit with play: the first changes are found by bisection.

    The rest of a step after the last change is made by the implicit Euler method. Returns whether all torques were
    found."""
    found = True
    done = 0.0
    for _ in range(MAX_TOUCHES):
        if done < 1.0:
            part = 1.0 - done
            for _again in range(MAX_BISECTIONS):
                part *= 0.5
                if smooth_step(part * h, x, u, p, data, work):
                    done += part
            found = implicit_step(part * h, x, u, p, data, work) and found
            done += part
            if done < 1.0 and smooth_step((1.0 - done) * h, x, u, p, data, work):
                done = 1.0
    return found if done == 1.0 else implicit_step((1.0 - done) * h, x, u, p, data, work) and found


@kernel
def next_stick(h, x, u, p, data, work):
    """Share of a step after which the first faces come to stick, to first order, 1 if none. Call `torques` first.

    There their sticking torque falls to its bound.
    """
    f = work[places.step_block(Block.STAGE, data) : places.step_block(Block.RATES, data)]
    right_hand_side(FREE, 0.0, x, u, p, data, f, work)
    share = 1.0
    for e in range(places.friction_elements(data)):
        own = side(e, x, p, data, work)
        if own != 0.0 and bound(e, -1.0, data, work) < bound(e, 1.0, data, work):
            above = own * (stuck_torque(e, x, p, data, work) - carried(e, x, p, data, work))
            falls = -own * stuck_torque(e, f, p, data, work)
            if above < share * h * falls:
                share = above / (h * falls)
    return share


@kernel
def step_with_sticks(h, x, u, p, data, work):
    """A step that is not smooth: smooth up to where faces come to stick, then of the implicit Euler method.

    The work of faces that stick over a whole step is computed with the speed at its start. Returns whether all torques
    were found."""
    left = h
    found = True
    for _ in range(MAX_STICKS):
        share = next_stick(left, x, u, p, data, work)
        if share < 1.0:
            part = APPROACH * share * left
            if not (part > MIN_PART * h and smooth_step(part, x, u, p, data, work)):
                part = 2.0 * part + MIN_PART * h
                part = part if part < left else left
                found = implicit_step(part, x, u, p, data, work) and found
                torques(FREE, 0.0, x, u, p, data, work)
            left -= part
    if not left > 0.0 or smooth_step(left, x, u, p, data, work):
        return found
    return implicit_step(left, x, u, p, data, work) and found


@kernel
def element_step(h, x, u, p, data, work):
    """One internal step of a unit with elements in place; 1 if a limit is active."""
    limited = 0
    if not smooth_step(h, x, u, p, data, work):
        if places.first_play(data) < places.elements(data):
            found = step_with_touches(h, x, u, p, data, work)
        else:
            found = step_with_sticks(h, x, u, p, data, work)
        torques(FREE, 0.0, x, u, p, data, work)
        if not found:
            limited = 1
    for e in range(places.elements(data)):
        if data[places.element(e, data) + Element.U] >= 0.0:
            share = places.actuation(e, u, data)
            if share < 0.0 or share > 1.0:
                limited = 1
        if x[places.x_heat(e, data)] > MAX_HEAT:
            x[places.x_heat(e, data)] = MAX_HEAT
            limited = 1
    return limited
