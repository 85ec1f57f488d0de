"""Natural frequencies and damping of a belt drive at rest: of the ANCF belt, and of the hybrid model.

The ANCF belt's equations are linearised about rest, where all segments that touch stick::

    M x'' + D x' + K x = 0,    x = exp(lambda t),    f = |lambda|/(2 pi),    zeta = -Re lambda/|lambda|

Pulleys whose speed is given stand still. Of its modes those count in which the pulleys and arms turn: they have more
than a third of the kinetic energy; the rest is vibration of spans across themselves. Those of the hybrid model are the
eigenvalues of its Jacobian, without the speeds that are given.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigs

from rtcvt.belt.model import build_belt
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.offline.beltdrive.drive import build
from rtcvt.offline.beltdrive.motion import newton_matrix, work
from rtcvt.offline.beltdrive.sheave import touching

__all__ = ["Mode", "ancf_modes", "hybrid_modes"]

Array = NDArray[np.float64]

_TURNING = 1.0 / 3.0  # share of the kinetic energy
_EACH = 12  # modes about each frequency that is looked at


class Mode(NamedTuple):
    """A natural mode."""

    frequency: float  # [Hz]
    damping: float  # share of critical


def hybrid_modes(unit: BeltUnit) -> list[Mode]:
    """Modes of the hybrid model at rest, by frequency."""
    model = build_belt(unit, "hybrid")
    instance = model.instantiate()
    instance.initialise()
    given = [f"{name}." for name, p in unit.pulleys.items() if p.flange == "speed"]
    held = {f"{g}{key}" for g in given for key in ("w", "w_in", "slope", "a")}
    free = [k for k, v in enumerate(model.states) if v.name not in held]
    return _modes(np.linalg.eigvals(instance.jacobian()[np.ix_(free, free)]).astype(np.complex128))


def ancf_modes(unit: BeltUnit, about: list[float], elements: int | None = None) -> list[Mode]:
    """Modes of the ANCF belt in which pulleys turn, by frequency.

    Parameters
    ----------
    unit : BeltUnit
        With an ``ancf`` table.
    about : list of float
        Frequencies [Hz] near which modes are looked for.
    elements : int, optional
        Instead of the unit's.

    Raises
    ------
    InputError
        A pulley has a decoupler.
    """
    if unit.decouplers:
        key = f"pulleys.{list(unit.pulleys)[next(iter(unit.decouplers))]}.decoupler"
        raise InputError(unit.source, key, None, "no decoupler: its shaft has no row in the ANCF belt's matrix")
    drive = build(unit, elements=elements)
    s, x = drive.sheaves, drive.rest
    m, n, n_s, _ = x.contact.shape
    W = work(n, m, int(np.sum(s.free >= 0)), n_s, x.arms.shape[0])
    pairs = touching(x.contact, W.pairs)
    sums = []
    for rate, acceleration in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
        newton_matrix(drive.cable, drive.contact, s, x, pairs, rate, acceleration, W)
        sums.append(_sparse(W.D, W.G, W.N, W.F, W.S))
    K = sums[0]
    D, M = sums[1] - K, sums[2] - K
    one = sparse.identity(K.shape[0])
    A, B = sparse.bmat([[None, one], [-K, -D]], "csc"), sparse.bmat([[one, None], [None, M]], "csc")
    inertia = np.concatenate([s.I[s.free >= 0], s.arms.J])
    found: list[complex] = []
    for frequency in about:
        values, vectors = eigs(A, _EACH, B, sigma=2j * np.pi * frequency)
        for value, vector in zip(values, vectors.T, strict=True):
            shape = vector[: K.shape[0]]
            turning = float(np.sum(inertia * abs(shape[4 * n :]) ** 2))
            if turning > _TURNING * float(np.real(np.vdot(shape, M @ shape))):
                found.append(complex(value))
    return _modes(np.array(found))


def _modes(values: NDArray[np.complex128]) -> list[Mode]:
    modes: list[Mode] = []
    for value in sorted((v for v in values if v.imag > 1e-3), key=abs):
        mode = Mode(float(abs(value)) / (2.0 * np.pi), float(-value.real / abs(value)))
        if not modes or mode.frequency > 1.0001 * modes[-1].frequency:
            modes.append(mode)
    return modes


def _sparse(D: Array, G: Array, N: Array, F: Array, S: Array) -> sparse.csc_matrix:
    """The bordered ring of `ring_solver` as one matrix."""
    n, border = D.shape[0], S.shape[1] - 4
    A = sparse.lil_matrix((4 * n + border, 4 * n + border))
    for e in range(n):
        here, after = slice(4 * e, 4 * e + 4), slice(4 * ((e + 1) % n), 4 * ((e + 1) % n) + 4)
        A[here, here] = D[e]
        A[here, after] = G[e, :, :4]
        A[after, here] = N[e]
        A[here, 4 * n :] = G[e, :, 8:]
        A[4 * n :, here] = F[e, 4:]
    A[4 * n :, 4 * n :] = S[4 : 4 + border, 4:]
    return A.tocsc()
