"""The energy ledger of the full model: inputs, losses and stores by name.

A new loss is one line in `LOSSES` and one line in its kernel: ``book.NAME += ...``. Its column among
the means over windows, ``loss_NAME``, follows. Works are sums
over the steps since the last frame [J], inputs positive into the machine, losses positive; stores are energies at the
time of the frame [J].

Kernels get a record (`books`), files and evaluations the same numbers as columns of a table, in the order of `WORKS`
and `STORES`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import spliced

Array = NDArray[np.float64]

INPUTS = {  # name in a kernel: name in files and reports
    "clamping_I": "clamping_I",
    "clamping_O": "clamping_O",
    "shaft_I": "shaft_I",
    "shaft_O": "shaft_O",
}
LOSSES = {
    "element_element_damping": "element-element damping",
    "element_ring_damping": "element-ring damping",
    "element_ring_friction": "element-ring friction",
    "flank_longitudinal": "flank longitudinal friction",
    "flank_radial": "flank radial friction",
    "flank_damping": "flank damping",
    "ring_axial": "ring axial damping",
    "ring_bending": "ring bending damping",
    "sheave_axial": "sheave axial damping",
    "sheave_tilt": "sheave tilt damping",
    "layer_friction": "ring layer friction",
    "load": "load of the secondary",
}
STORES = {
    "elements": "elements kinetic",
    "ring": "ring kinetic",
    "sheaves": "sheaves kinetic and tilt",
    "ring_axial": "ring axial",
    "ring_bending": "ring bending",
    "joints": "element-element",
    "saddles": "element-ring",
    "flanks": "flank",
    "deflection": "sheave deflection",
    "load": "load of the secondary",
}
ELASTIC = slice(3, 9)  # of the stores
WORKS = (*INPUTS.values(), *LOSSES.values())
_BOOK = np.dtype([(name, np.float64) for name in (*INPUTS, *LOSSES)])
_STOCK = np.dtype([(name, np.float64) for name in STORES])


@spliced
def book_flanks(book: Any, dt: float, loss: Any) -> None:
    """Book a step `dt` [s] of the flanks' losses (2, 3) [W] of `flank.velocities`."""
    book.flank_longitudinal += dt * (loss[0, 0] + loss[1, 0])
    book.flank_radial += dt * (loss[0, 1] + loss[1, 1])
    book.flank_damping += dt * (loss[0, 2] + loss[1, 2])


@spliced
def book_sheaves(book: Any, dt: float, power: Any) -> None:
    """Book a step `dt` [s] of the powers (2, 5) [W] of `sheave.advance`."""
    book.clamping_I += dt * power[0, 0]
    book.clamping_O += dt * power[1, 0]
    book.shaft_I += dt * power[0, 1]
    book.shaft_O += dt * power[1, 1]
    book.sheave_axial += dt * (power[0, 2] + power[1, 2])
    book.sheave_tilt += dt * (power[0, 3] + power[1, 3])
    book.load += dt * power[1, 4]


def books(work: Array) -> NDArray[np.void]:
    """A table (n, len(`WORKS`)) of works as n records; both share their memory."""
    return work.view(_BOOK)[:, 0]


def stocks(stored: Array) -> NDArray[np.void]:
    """A table (n, len(`STORES`)) of stored energies as n records; both share their memory."""
    return stored.view(_STOCK)[:, 0]


def inputs_of(work: Array) -> Array:
    """The inputs' columns of a table of works (..., len(`WORKS`))."""
    return work[..., : len(INPUTS)]


def losses_of(work: Array) -> Array:
    """The losses' columns of a table of works (..., len(`WORKS`))."""
    return work[..., len(INPUTS) :]


def residual(work: Array, stored: Array) -> tuple[float, float, float]:
    """Energy balance over frames, of which there are at least two: it begins at the first.

    Parameters
    ----------
    work, stored : (n, len(`WORKS`)), (n, len(`STORES`)) arrays [J]

    Returns
    -------
    float, float, float : inputs - losses - change of stored energy [J]; losses [J]; throughput [J], the largest of what
        the two shafts and the two clamping forces carry
    """
    total = work[1:].sum(axis=0)
    losses = losses_of(total).sum()
    inputs = inputs_of(total)
    return inputs.sum() - losses - (stored[-1].sum() - stored[0].sum()), losses, np.abs(inputs).max()
