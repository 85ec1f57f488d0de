"""The run loop of a full model: the same for the planar and the spatial belt, around their steps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.contact import ledger

Array = NDArray[np.float64]


def run_loop(settle: Any, begin: Any, step: Any, frame: Any) -> Any:
    """Compile the loop over plot steps around the parts of a model, which are spliced into it or called by it.

    Parameters
    ----------
    settle : kernel (m, x, w)
        Completes a new state, for instance by the deflections that belong to it; does nothing to any other state.
    begin : kernel (m, x, w)
        Computes at a plot step what the steps only update.
    step : kernel (m, x, w, b, dt, n_R, book, rest)
        One step under the boundary values b.
    frame : kernel (m, x, w, n, out, stock) -> bool
        Writes frame n; whether the belt is where it should be.
    """

    @compiled
    def loop(
        m: Any, x: Any, w: Any, inputs: Any, b: Any, steps: int, dt: float, n_R: int, out: Any, books: Any,
        stocks: Any, rests: Any,
    ) -> int:  # fmt: skip
        settle(m, x, w)
        share = 1.0 / steps
        mean = out.pulley
        pulley = w.sheaves.out
        for n in range(inputs.shape[0] - 1):
            begin(m, x, w)
            book = books[n]
            rest = rests[n]
            for i in range(steps):
                part = (i + 1.0) * share
                for a in range(7):
                    b[a] = inputs[n, a] + part * (inputs[n + 1, a] - inputs[n, a])
                step(m, x, w, b, dt, n_R, book, rest)
                for p in range(2):
                    for a in range(mean.shape[2]):
                        mean[n, p, a] += pulley[p, a] * share
            if not frame(m, x, w, n, out, stocks[n]):
                return n
        return inputs.shape[0] - 1

    return loop


def advance(
    loop: Any, m: Any, x: Any, w: Any, inputs: Array, steps: int, dt: float, n_R: int, out: Any, planar: Any
) -> int:
    """Run a `run_loop` from the state x; how many frames of `out` are valid. `planar`: the part of `out` with the
    ledger; other arguments as for `planar.model.run`."""
    inputs = np.ascontiguousarray(inputs, dtype=float)
    books, stocks = ledger.books(planar.work), ledger.stocks(planar.stored)
    return int(loop(m, x, w, inputs, np.empty(7), steps, dt, n_R, out, books, stocks, planar.rest))
