"""Steps of the hybrid model in Python: what a step calls can be exchanged, and no law has a whole run compiled."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.planar import model as hy


def stepping(
    m: hy.Model, x: hy.State, w: hy.Scratch, inputs: np.ndarray, steps: int, dt: float, n_R: int = 1, rest: Any = None
) -> Iterator[SimpleNamespace]:
    """All steps of all plot steps; after each, the works of its plot step."""
    for n in range(len(inputs) - 1):
        hy.directions(x.q, w.cs, w.sn)
        hy.directions(x.q_R, w.cs_R, w.sn_R)
        book = SimpleNamespace(**dict.fromkeys((*ledger.INPUTS, *ledger.LOSSES), 0.0))
        for i in range(steps):
            b = inputs[n] + (i + 1) / steps * (inputs[n + 1] - inputs[n])
            hy.step.py_func(m, x, w, b, dt, n_R, book, np.zeros(2) if rest is None else rest[n])
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
            out.work[n] = list(vars(book).values())
            assert hy.frame(m, x, w, n, out, stocks[n])
    return out, len(inputs) - 1
