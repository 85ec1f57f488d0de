"""Cost of the parts of a step of the spatial belt: python -m studies.spatial_cost [UNIT]

Case MED at 74.58 N m, multirate scheme. Each kernel is called many times on one state; least processor time of nine
rounds, compared with that of whole steps.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.run.prepare import prepare, ring_steps
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.spatial import flank, model
from rtcvt.offline.pushbelt.spatial.element import Side
from rtcvt.offline.pushbelt.spatial.joint import joint_forces
from rtcvt.offline.pushbelt.unit.parameters import load_parameters

CALLS, ROUNDS = 300, 9


@compiled
def rings(n, m, x, w, h):
    for _ in range(n):
        model._drift(m, x, w, h)


@compiled
def last_ring_step(n, m, x, w, h):
    for _ in range(n):
        model._advance_ring(m, x, w, h)


@compiled
def touch(n, m, x, w, q, u, R, f, dt, n_R):
    for _ in range(n):
        for a in range(6):
            for i in range(f.shape[0]):
                f[i, a] = 0.0
        model._touch(m, m.guides[0], Side(1.0, q, u, R), x, w, f, dt, n_R)


@compiled
def rub(n, m, x, w, q, end, R, f, dt, n_R):
    for _ in range(n):
        model._rub_ring(m, m.guides[0], Side(1.0, q, end, R), x, w, f, dt, n_R)


@compiled
def joints(n, m, x, w, dt):
    for _ in range(n):
        joint_forces(m.joint, x.q, x.u, w.R, w.f, w.N_joint, x.damper, w.pair, w.wrench, w.before, dt)


@compiled
def normal(n, m, q, u, R, s, sd, fl, mx, dt):
    for _ in range(n):
        model._meet_sheaves(m.belt, m.sheaves, m.left, Side(1.0, q, u, R), s, sd, fl, mx, dt)


@compiled
def friction(n, m, x, w, before, dt):
    for _ in range(n):
        for a in range(6):
            for i in range(before.shape[0]):
                x.u[i, a] = before[i, a]
        t = flank.Step(m.body, m.friction, dt, Side(1.0, x.q, x.u, w.R), w.f, w.left.fl, w.right.fl)
        flank.velocities(m.belt, t, x.s, w.find, x.rub, w.reaction, w.flank_power)


def copied(a: Any) -> Any:
    """Arrays of a record copied, in their order."""
    if isinstance(a, tuple):
        return type(a)(*map(copied, a)) if hasattr(a, "_fields") else tuple(map(copied, a))
    return a.copy(order="K") if isinstance(a, np.ndarray) else a


def least(call: Callable[..., Any], *given: Any) -> float:
    """Processor time of one of the calls [us]."""
    given = copied(given)
    call(1, *given)
    found = []
    for _ in range(ROUNDS):
        at = copied(given)
        begin = time.thread_time()
        call(CALLS, *at)
        found.append(1e6 * (time.thread_time() - begin) / CALLS)
    return min(found)


def main(unit: str) -> None:
    """Print the costs."""
    settings = Settings(model="spatial", flank_points=2, scheme="multirate")
    made = prepare(load_parameters(unit), Run("cost", Case("MED", 3), settings, settle=0.5, plot_step=1e-4))
    m, x, dt, steps = made.wide, made.state, made.clock.step, made.clock.steps
    n_R = ring_steps("multirate", made.model.ring, dt)
    model.run(m, x, made.inputs[:41], steps, dt, 2, n_R)
    w = model.scratch(m, x, 2)
    out = model.frames(m, 1)
    books, stocks = model.ledger.books(out.planar.work), model.ledger.stocks(out.planar.stored)
    model._run(m, x, w, made.inputs[40:42], np.empty(7), steps, dt, n_R, out, books, stocks, out.planar.rest)
    side, on = x.left, w.left
    before = x.u.copy(order="F")
    parts = {
        "ring contacts: forces": 2 * least(touch, m, side, on, x.q, x.u, w.R, w.f, 1e-12, n_R),
        "ring contacts: friction": 2 * least(rub, m, side, on, x.q, w.end, w.R, w.f, dt, n_R),
        "rings": 2 * ((n_R - 1) * least(rings, m, side, on, 0.0) + least(last_ring_step, m, side, on, 0.0)),
        "joints": least(joints, m, x, w, dt),
        "flanks: points, deflection, normal forces": 2
        * least(normal, m, x.q, x.u, w.R, x.s[0], x.sd[0], on.fl, on.mx, dt),
        "flanks: friction and new velocities": least(friction, m, x, w, before, dt),
    }
    whole = []
    for _ in range(ROUNDS):
        begin = time.thread_time()
        model.run(m, x, made.inputs[:11], steps, dt, 2, n_R)
        whole.append(1e5 * (time.thread_time() - begin) / steps)
    for name, us in parts.items():
        print(f"{name} | {us:.1f} us | {100.0 * us / sum(parts.values()):.0f} %")
    print(f"sum | {sum(parts.values()):.1f} us; a whole step, output included {min(whole):.1f} us")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["pushbelt_24mm"]))
