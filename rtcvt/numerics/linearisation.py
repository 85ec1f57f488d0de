"""A model linearised at a state: matrices, modes and frequency responses.

For small changes of states x, inputs u and outputs y::

    x' = A x + B u,    y = C x + D u

Derivatives are central differences of right-hand side and outputs; A is the model's own Jacobian where it has one.
Booleans and enumerations have no derivative and are left out.

In a network (`rtcvt.network`) some unknowns v are no states, ``M z' = F(z, u)`` with z = (x, v). The singular value
decomposition of dF_v/dv gives the unknowns that can be eliminated; the others are constraints ``G x = 0`` (equal
speeds) and their multipliers lambda, which keep ``G x' = 0``::

    x' = A x + B u + E lambda,    lambda = -(G E)^-1 G (A x + B u)

The remaining states are chosen among those of the model; their number is that of the free ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtcvt.errors import InputError, near
from rtcvt.model import Instance, Variable

Array = NDArray[np.float64]
SINGULAR_RTOL = 1e-9  # share below which a singular value counts as zero
DIFFERENCE_STEP = 1e-6  # of a difference, relative to 1 plus the value


class Mode(NamedTuple):
    """A mode: ``exp(eigenvalue t)``."""

    eigenvalue: complex  # [1/s]
    frequency: float  # [Hz], undamped: its absolute value divided by 2 pi
    damping: float  # share of the critical one; below zero it grows
    shares: dict[str, float]  # of the states in it, the largest first: participation factors, which sum up to 1


@dataclass(frozen=True)
class Linear:
    """A linearised model.

    Attributes
    ----------
    A, B, C, D : arrays (n, n), (n, m), (p, n), (p, m)
        In SI units.
    states, inputs, outputs : tuple of str
        Names of rows and columns.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def state_space(self) -> Any:
        """The same as a ``scipy.signal.StateSpace``."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

    def frequency_response(self, output: str, input: str, w: ArrayLike) -> NDArray[np.complex128]:
        """``C (i w - A)^-1 B + D`` of one output to one input, at each angular frequency `w` [rad/s].

        Raises
        ------
        InputError
            There is no such output or input.
        """
        k, j = _place(output, self.outputs, "output"), _place(input, self.inputs, "input")
        at = np.asarray(w, dtype=float)
        shifted = 1j * at[..., None, None] * np.eye(len(self.A)) - self.A
        x = np.linalg.solve(shifted, np.broadcast_to(self.B[:, j : j + 1], (*at.shape, len(self.A), 1)))
        response: NDArray[np.complex128] = x[..., 0] @ self.C[k] + self.D[k, j]
        return response

    def modes(self) -> list[Mode]:
        """All modes, the slowest first; of a complex pair the one with positive imaginary part."""
        values, right = np.linalg.eig(self.A)
        left = np.linalg.pinv(right)
        found = []
        for k in np.argsort(np.abs(values)):
            if values[k].imag < 0.0:
                continue
            size = abs(values[k])
            share = np.abs(right[:, k] * left[k])
            share = share / (share.sum() or 1.0)
            shares = {self.states[i]: float(share[i]) for i in np.argsort(-share)}
            damping = -values[k].real / size if size else 1.0
            found.append(Mode(complex(values[k]), float(size / (2.0 * np.pi)), float(damping), shares))
        return found


def linearise(instance: Instance) -> Linear:
    """A running model at its present state, inputs and parameters; it stays as it is.

    Raises
    ------
    InputError
        An input acts on constrained speeds, so that its derivative enters; or the speed of a node is free.
    """
    model = instance.model
    inputs = [v for v in model.select("input") if not (v.boolean or v.choices)]
    outputs = [v for v in model.select("output") if not (v.boolean or v.choices)]
    own = instance.copy()
    own.outputs()

    def both() -> Array:
        return np.concatenate([own.derivative(), own.outputs()[[v.index for v in outputs]]])

    def slopes(buffer: Array, places: Sequence[int]) -> Array:
        columns = []
        for j in places:
            value, d = buffer[j], DIFFERENCE_STEP * (1.0 + abs(buffer[j]))
            sides = []
            for side in (value + d, value - d):
                buffer[j] = side
                sides.append(both())
            columns.append((sides[0] - sides[1]) / (2.0 * d))
            buffer[j] = value
        return np.column_stack(columns) if columns else np.empty((len(both()), 0))

    n = len(own.x)
    by_x, by_u = slopes(own.x, range(n)), slopes(own.u, [v.index for v in inputs])
    A, C, B, D = by_x[:n], by_x[n:], by_u[:n], by_u[n:]
    if model.jacobian is not None:
        A = own.jacobian()
    kept: Sequence[Variable] = model.states
    if model.algebraic:
        A, B, C, D, places = _without(np.array(model.algebraic), A, B, C, D, model.states, model.name)
        kept = [model.states[k] for k in places]
    names = (tuple(v.name for v in some) for some in (kept, inputs, outputs))
    return Linear(A, B, C, D, *names)


def _without(
    unknowns: NDArray[np.int64], A: Array, B: Array, C: Array, D: Array, states: Sequence[Variable], name: str
) -> tuple[Array, Array, Array, Array, list[int]]:
    """Matrices without the unknowns of constraints, and which states are left."""
    scale = np.array([s.nominal or 1.0 for s in states])
    kept = np.setdiff1d(np.arange(len(A)), unknowns)
    v, x = np.ix_(unknowns, unknowns), np.ix_(kept, kept)
    left, sizes, right = np.linalg.svd(A[v] * scale[unknowns])
    rank = int(np.sum(sizes > SINGULAR_RTOL * sizes[0]))
    determined = (scale[unknowns, None] * right[:rank].T / sizes[:rank]) @ left[:, :rank].T
    E = A[np.ix_(kept, unknowns)] @ (scale[unknowns, None] * right[rank:].T)  # of the multipliers
    L = C[:, unknowns] @ (scale[unknowns, None] * right[rank:].T)
    by_x, by_u = -determined @ A[np.ix_(unknowns, kept)], -determined @ B[unknowns]
    G = left[:, rank:].T @ A[np.ix_(unknowns, kept)]
    tied = left[:, rank:].T @ B[unknowns]
    to_x, to_y = A[np.ix_(kept, unknowns)], C[:, unknowns]
    A, B, C, D = A[x] + to_x @ by_x, B[kept] + to_x @ by_u, C[:, kept] + to_y @ by_x, D + to_y @ by_u
    if len(G) == 0:
        return A, B, C, D, kept.tolist()
    if np.abs(tied).max(initial=0.0) > SINGULAR_RTOL:
        raise InputError(name, "linearise", None, "inputs that do not act on constrained speeds")
    if np.linalg.matrix_rank(G @ E) < len(G):
        raise InputError(name, "linearise", None, "a state in which every node has a flange that does not slip")
    multipliers = -np.linalg.solve(G @ E, G)
    forces = multipliers @ A, multipliers @ B
    A, B, C, D = A + E @ forces[0], B + E @ forces[1], C + L @ forces[0], D + L @ forces[1]
    _, sizes, right = np.linalg.svd(G * scale[kept])
    free = right[int(np.sum(sizes > SINGULAR_RTOL * sizes[0])) :].T  # (kept, m), of the scaled states
    chosen = _independent(free)
    T = scale[kept, None] * free @ np.linalg.inv(scale[kept[chosen], None] * free[chosen])
    return A[chosen] @ T, B[chosen], C @ T, D, kept[chosen].tolist()


def _independent(rows: Array) -> list[int]:
    """As many rows as there are columns, as independent as can be, in their order."""
    rest, chosen = rows.copy(), []
    for _ in range(rows.shape[1]):
        k = int(np.argmax(np.linalg.norm(rest, axis=1)))
        chosen.append(k)
        along = rest[k] / np.linalg.norm(rest[k])
        rest -= np.outer(rest @ along, along)
    return sorted(chosen)


def _place(name: str, names: Sequence[str], what: str) -> int:
    if name not in names:
        raise InputError("linearised model", name, None, f"not one of its {what}s{near(name, names)}")
    return names.index(name)
