"""Steps of the hybrid model in Python: what a step calls can be exchanged, and no law has a whole run compiled."""

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.planar import model as hy


def step_in_python() -> Any:
    """`hybrid.step` in Python, with the parts that are spliced into it; what these call is compiled."""
    space = dict(vars(hy))
    for name, part in vars(hy).items():
        if getattr(part, "targetoptions", {}).get("inline") == "always":
            space[name] = FunctionType(part.py_func.__code__, space, name)
    return space["step"]


def stepping(
    m: hy.Model, x: hy.State, w: hy.Scratch, inputs: np.ndarray, steps: int, dt: float, n_R: int = 1, rest: Any = None
) -> Iterator[np.record]:
    """All steps of all plot steps; after each, the works of its plot step."""
    step = step_in_python()
    for n in range(len(inputs) - 1):
        hy.directions(x.q, w.elements.cs, w.elements.sn)
        hy.directions(x.q_R, w.ring.cs, w.ring.sn)
        book = ledger.books(np.zeros((1, len(ledger.WORKS)))).view(np.recarray)[0]
        for i in range(steps):
            b = inputs[n] + (i + 1) / steps * (inputs[n + 1] - inputs[n])
            step(m, x, w, b, dt, n_R, book, np.zeros(2) if rest is None else rest[n])
            yield book


def stepped(
    m: hy.Model, x: hy.State, inputs: np.ndarray, steps: int, dt: float = 1e-6, n_R: int = 1
) -> tuple[hy.Frames, int]:
    """`hybrid.run` from a state that has run."""
    w, out = hy.scratch(m, x, 1), hy.frames(m, len(inputs) - 1)
    stocks = ledger.stocks(out.stored)
    for k, book in enumerate(stepping(m, x, w, inputs, steps, dt, n_R, out.rest)):
        n, i = divmod(k, steps)
        if i == steps - 1:
            out.work[n] = book.tolist()
            assert hy.frame(m, x, w, n, out, stocks[n])
    return out, len(inputs) - 1
