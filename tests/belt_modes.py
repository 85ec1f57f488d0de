"""Natural frequencies and damping of a belt drive at rest: of the ANCF belt, and of the hybrid model.

The ANCF belt's equations are linearised about rest, where all segments that touch stick::

    M x'' + D x' + K x = 0,    x = exp(lambda t),    f = |lambda|/(2 pi),    zeta = -Re lambda/|lambda|

Pulleys whose speed is given stand still, and clutches of decouplers are locked. Of its modes those count in which
pulleys, arms and shafts turn: they have more than a third of the kinetic energy; the rest is vibration of spans across
themselves. Those of the hybrid model are the eigenvalues of its Jacobian, without the speeds that are given.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from instances import started
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigs

from rtcvt.belt.model import build_belt
from rtcvt.belt.resonance import coriolis_share
from rtcvt.belt.span_ends import spans
from rtcvt.belt.unit import BeltUnit
from rtcvt.offline.belt.drive import Drive, build
from rtcvt.offline.belt.motion import Sheaves, newton_matrix, work
from rtcvt.offline.belt.shafts import load_torque
from rtcvt.offline.belt.sheave import touching

__all__ = ["Mode", "ancf_modes", "ancf_spans", "assert_same_modes", "hybrid_modes", "span_frequencies_rolling"]

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
    instance = started(model)
    given = [f"{name}." for name, p in unit.pulleys.items() if p.flange == "speed"]
    held = {f"{g}{key}" for g in given for key in ("w", "w_in", "slope", "a")}
    free = [k for k, v in enumerate(model.states) if v.name not in held]
    return _modes(np.linalg.eigvals(instance.jacobian()[np.ix_(free, free)]).astype(np.complex128))


def assert_same_modes(unit: BeltUnit, frequency: float, damping: float, elements: int | None = None) -> list[Mode]:
    """All modes below 200 Hz, by share of the frequency and by difference of damping; those of the hybrid model."""
    own = [m for m in hybrid_modes(unit) if m.frequency < 200.0]
    full = [m for m in ancf_modes(unit, [m.frequency for m in own], elements) if m.frequency < 200.0]
    assert len(own) == len(full)
    for a, b in zip(own, full, strict=True):
        assert a.frequency == pytest.approx(b.frequency, rel=frequency)
        assert a.damping == pytest.approx(b.damping, abs=damping)
    return own


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
    """
    drive = build(unit, elements=elements)
    K, D, M = linear(drive)
    s, n = drive.sheaves, drive.rest.contact.shape[1]
    inertia = np.concatenate([s.I[s.free >= 0], s.arms.J, s.shafts.J])
    found: list[complex] = []
    for value, shape in _vectors(K, D, M, about):
        turning = float(np.sum(inertia * abs(shape[4 * n :]) ** 2))
        if turning > _TURNING * float(np.real(np.vdot(shape, M @ shape))):
            found.append(value)
    return _modes(np.array(found))


def ancf_spans(unit: BeltUnit, about: list[float]) -> list[Mode]:
    """Of each span of an ANCF belt the mode, of those about a frequency [Hz], in which its nodes move most across."""
    drive = build(unit)
    matrices = linear(drive)
    path, at = drive.path, drive.rest.q[:, :2]
    modes = []
    for j, frequency in enumerate(about):
        t = path.direction[j]
        n = np.array([-t[1], t[0]])
        away = at - path.leaving(j)
        inside = (away @ t > 0.0) & (away @ t < path.span[j]) & (abs(away @ n) < 0.1 * path.span[j])
        shares = []
        for value, shape in _vectors(*matrices, [frequency]):
            moved = shape[: 4 * len(at)].reshape(-1, 4)[:, :2]
            shares.append((float(np.sum(abs(moved[inside] @ n) ** 2) / np.sum(abs(moved) ** 2)), value))
        modes += _modes(np.array([max(s for s in shares if s[1].imag > 0.0)[1]]))
    return modes


def span_frequencies_rolling(unit: BeltUnit, T: Array, v: float = 0.0) -> Array:
    """First frequencies of the spans [Hz] under tensions T, stretched as their ends roll on their pulleys.

    A of its first shape stretches a span by ``T (sigma_s b_s + sigma_e b_e) k A``, T b that of `Spans` at its tension,
    as far as pulleys do not follow: the mode of all spans and pulleys in which it moves most. The belt runs at v [m/s].
    Two rows, the first those of hinges, L + delta apart, and these.
    """
    path, belt, n, given = unit.path(), unit.belt, len(unit.pulleys), spans(unit)
    L = path.span + given.longer
    k, m = np.pi / L, belt.mass / (1.0 + T / belt.EA)
    force = T + belt.EI * k**2
    nu, share = v * v * m / force, np.array([coriolis_share(x) for x in 1.0 - T / force])
    hinged = k * np.sqrt(force / m * (1.0 - nu) * (1.0 - share * nu))
    by = given.tension * (path.sigma * given.outwards[:, 0] + np.roll(path.sigma, -1) * given.outwards[:, 1])
    R, pulleys = path.sigma * path.radius, list(unit.pulleys.values())
    share = path.radius * path.wrap + 0.5 * (path.span + np.roll(path.span, 1))
    J = np.array([p.inertia for p in pulleys]) + belt.mass * path.radius**2 * share
    moved = [i for i, p in enumerate(pulleys) if p.flange != "speed"]
    turned = (np.roll(np.diag(R), -1, axis=0) - np.diag(R))[:, moved] / np.sqrt(J[moved])
    stretch = np.hstack([np.diag(by * k / np.sqrt(0.5 * m * L)), turned])
    K = stretch.T @ (stretch * (belt.EA / given.length)[:, None])
    K[:n, :n] += np.diag(hinged**2)
    values, vectors = np.linalg.eigh(K)
    return np.stack([hinged, np.sqrt(values[np.argmax(vectors[:n] ** 2, axis=1)])]) / (2.0 * np.pi)


def _vectors(
    K: sparse.csc_matrix, D: sparse.csc_matrix, M: sparse.csc_matrix, about: list[float]
) -> Iterator[tuple[complex, NDArray[np.complex128]]]:
    """Eigenvalues and vectors about frequencies [Hz]."""
    one = sparse.identity(K.shape[0])
    A, B = sparse.bmat([[None, one], [-K, -D]], "csc"), sparse.bmat([[one, None], [None, M]], "csc")
    for frequency in about:
        values, vectors = eigs(A, _EACH, B, sigma=2j * np.pi * frequency)
        for value, vector in zip(values, vectors.T, strict=True):
            yield complex(value), vector[: K.shape[0]]


def linear(drive: Drive) -> tuple[sparse.csc_matrix, ...]:
    """K, D, M of an ANCF drive at rest."""
    s, x = drive.sheaves, drive.rest
    m, n, n_s, _ = x.contact.shape
    W = work(n, m, int(np.sum(s.free >= 0)), n_s, x.arms.shape[0], x.shafts.shape[0])
    pairs = touching(x.contact, W.pairs)
    sums = []
    for rate, acceleration in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
        newton_matrix(drive.cable, drive.contact, s, x, pairs, rate, acceleration, W)
        sums.append(_sparse(W.D, W.G, W.N, W.F, W.S))
    return _with_shafts(s, 4 * n, sums[0], sums[1] - sums[0], sums[2] - sums[0])


def _with_shafts(s: Sheaves, first: int, *sums: sparse.csc_matrix) -> tuple[sparse.csc_matrix, ...]:
    """K, D, M with rows of the shafts behind decouplers, whose clutches are locked at rest.

    Newton's matrix holds these shafts: of K and D it has the damper at the sheave alone. `first` is the sheaves' place.
    """
    k, size = s.shafts.J.size, sums[0].shape[0]
    K, D, M = (sparse.block_diag([A, sparse.csc_matrix((k, k))], "lil") for A in sums)
    for b, i in enumerate(s.shafts.sheave):
        shaft, sheave = size + b, first + s.free[i]
        K[sheave, sheave] += s.shafts.K[b]
        K[shaft, shaft] = s.shafts.K[b]
        D[shaft, shaft] = s.shafts.C[b] + s.d[i] - load_torque(s, i, 0.0)[1]
        M[shaft, shaft] = s.shafts.J[b]
        for A, joint in ((K, s.shafts.K[b]), (D, s.shafts.C[b])):
            A[sheave, shaft] = A[shaft, sheave] = -joint
    return K.tocsc(), D.tocsc(), M.tocsc()


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
