"""A Cosserat ring of the belt with selective mass scaling, or its linear part implicit: one and the same scheme.

An implicit trapezoidal step of the forces -K q, explicit in all others, is u+ = u + dt (M + dt^2/4 K)^-1 F: the
explicit step with the inertia M + alpha K, alpha = dt^2/4. That is selective mass scaling (Olovsson, Simonsson and
Unosson 2005): a mode of frequency omega gets omega/sqrt(1 + alpha omega^2) < 1/sqrt(alpha), slow modes keep theirs.

K is here the stiffness of extension and of shear, with the directions t and n of the chords: one strain rate a piece,

    B u = t.(u_k+1 - u_k),     b u = n.(u_k+1 - u_k) - l gamma_k'

    W   = (M + a B' B)^-1 = M^-1 - M^-1 B' (1/a + B M^-1 B')^-1 B M^-1,      a = alpha EA/l
    W_s = W - W b' (1/a_s + b M^-1 b')^-1 b W,                               a_s = alpha GA/l

Both inner matrices couple a piece with its two neighbours only: 2/m, and l^2/J for shear, on the diagonal, -t_k.t_k+1/m
next to it. The second has M^-1 for W, which changes it by the squared sine of the angle between chords; W_s stays
symmetric and positive. Its impulses act between neighbours: momentum is kept, angular momentum but for the strain. The
layer's own rotatory inertia need not be raised.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.ring import cosserat as rod
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.ring.ring import NX, NY
from rtcvt.offline.pushbelt.unit.parameters import Belt

Array = NDArray[np.float64]


class Scaled(NamedTuple):
    """A Cosserat ring whose pieces add `extension` and `shear` [kg] against these strains; the fields of a ring for the
    belt (N_B, l, h2), the rod, and scratch: t (N_B, 2) directions, x, c, e (N_B,), w (N_B, 3)."""

    N_B: int
    l: float  # noqa: E741
    h2: float
    rod: Cosserat
    extension: float
    shear: float
    t: Array
    x: Array
    c: Array
    e: Array
    w: Array


def scaled(belt: Belt, dt: float) -> Scaled:
    """The ring set of a belt for steps of `dt` [s], whose extension and shear are implicit."""
    R = rod.cosserat(belt)
    alpha = 0.25 * dt * dt
    x, c, e = (np.zeros(R.N_B) for _ in range(3))
    more = alpha * R.EA / R.l, alpha * R.GA / R.l
    return Scaled(R.N_B, R.l, R.h2, R, *more, np.zeros((R.N_B, 2)), x, c, e, np.zeros((R.N_B, 3)))


@ring_set.mass.of(Scaled)
def _mass(P: Scaled) -> Array:
    return np.array([P.rod.m, P.rod.m, P.rod.J])


@ring_set.move.of(Scaled)
@compiled
def move(P: Scaled, q: Any, u: Any, cs: Any, sn: Any, dt: float) -> None:
    rod.move(P.rod, q, u, cs, sn, dt)


@ring_set.shape_of.of(Scaled)
@compiled
def shape_of(P: Scaled, q: Any, cs: Any, sn: Any, shape: Any) -> None:
    """As `cosserat.shape_of`; keeps the directions of the chords."""
    rod.shape_of(P.rod, q, cs, sn, shape)
    for k in range(P.N_B):
        P.t[k, 0] = shape[k, NY]
        P.t[k, 1] = -shape[k, NX]


@ring_set.rate_of.of(Scaled)
@compiled
def rate_of(P: Scaled, u: Any, shape: Any, rate: Any) -> None:
    rod.rate_of(P.rod, u, shape, rate)


@ring_set.forces.of(Scaled)
@compiled
def forces(P: Scaled, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, load: Any, F: Any, S: Any) -> Any:
    return rod.forces(P.rod, q, u, cs, sn, shape, rate, load, F, S)


@ring_set.nodal.of(Scaled)
@compiled
def nodal(P: Scaled, shape: Any, load: Any, F: Any) -> None:
    rod.nodal(P.rod, shape, load, F)


@compiled
def _cyclic(P: Scaled, on: float) -> None:
    """Solve for P.x in place: `on` on the diagonal, -t_k.t_k+1 next to it; closed by Sherman and Morrison."""
    N, t = P.N_B, P.t
    corner = -(t[N - 1, 0] * t[0, 0] + t[N - 1, 1] * t[0, 1])
    gamma = -on  # the cyclic matrix is a banded one plus gamma v v', v = (1, 0, .., corner/gamma)
    below = 0.0
    for k in range(N):
        diagonal = on - (gamma if k == 0 else below * P.c[k - 1]) - (corner * corner / gamma if k == N - 1 else 0.0)
        above = -(t[k, 0] * t[k + 1, 0] + t[k, 1] * t[k + 1, 1]) if k + 1 < N else 0.0
        inv = 1.0 / diagonal
        e = gamma if k == 0 else (corner if k == N - 1 else 0.0)
        if k > 0:
            P.x[k] -= below * P.x[k - 1]
            e -= below * P.e[k - 1]
        P.x[k] *= inv
        P.e[k] = e * inv
        P.c[k] = above * inv
        below = above
    for k in range(N - 2, -1, -1):
        P.x[k] -= P.c[k] * P.x[k + 1]
        P.e[k] -= P.c[k] * P.e[k + 1]
    ratio = corner / gamma
    share = (P.x[0] + ratio * P.x[N - 1]) / (1.0 + P.e[0] + ratio * P.e[N - 1])
    for k in range(N):
        P.x[k] -= share * P.e[k]


@compiled
def _stretch(P: Scaled, w: Any) -> None:
    """w (N_B, 3), velocities M^-1 F on entry, W F on return."""
    m = P.rod.m
    for k in range(P.N_B):
        j = k + 1 if k + 1 < P.N_B else 0
        P.x[k] = P.t[k, 0] * (w[j, 0] - w[k, 0]) + P.t[k, 1] * (w[j, 1] - w[k, 1])
    _cyclic(P, m / P.extension + 2.0)
    for k in range(P.N_B):
        j = k + 1 if k + 1 < P.N_B else 0
        for i in range(2):
            x = P.x[k] * P.t[k, i]
            w[k, i] += x
            w[j, i] -= x


@ring_set.advance.of(Scaled)
@compiled
def advance(P: Scaled, F: Any, u: Any, dt: float) -> None:
    """Velocity step u += dt W_s F; both arrays (N_B, 3)."""
    m, J, w, t = P.rod.m, P.rod.J, P.w, P.t
    for k in range(P.N_B):
        w[k, 0] = F[k, 0] / m
        w[k, 1] = F[k, 1] / m
        w[k, 2] = F[k, 2] / J
    _stretch(P, w)
    for k in range(P.N_B):
        j = k + 1 if k + 1 < P.N_B else 0
        P.x[k] = t[k, 0] * (w[j, 1] - w[k, 1]) - t[k, 1] * (w[j, 0] - w[k, 0]) - P.l * w[k, 2]
        for i in range(3):
            u[k, i] += dt * w[k, i]
    _cyclic(P, m / P.shear + 2.0 + P.l * P.l * m / J)
    for k in range(P.N_B):
        i = k - 1 if k > 0 else P.N_B - 1
        w[k, 0] = t[k, 1] * P.x[k] - t[i, 1] * P.x[i]
        w[k, 1] = -t[k, 0] * P.x[k] + t[i, 0] * P.x[i]
        w[k, 2] = -P.l * m / J * P.x[k]
    _stretch(P, w)
    for k in range(P.N_B):
        for i in range(3):
            u[k, i] -= dt * w[k, i]


@ring_set.elastic_energy.of(Scaled)
@compiled
def elastic_energy(P: Scaled, q: Any, cs: Any, sn: Any, shape: Any) -> Any:
    return rod.elastic_energy(P.rod, q, cs, sn, shape)


@ring_set.kinetic_energy.of(Scaled)
@compiled
def kinetic_energy(P: Scaled, u: Any) -> Any:
    """Kinetic energy [J] with that of the added mass."""
    energy = 0.0
    for k in range(P.N_B):
        j = k + 1 if k + 1 < P.N_B else 0
        x = u[j, 0] - u[k, 0]
        y = u[j, 1] - u[k, 1]
        energy += P.extension * (P.t[k, 0] * x + P.t[k, 1] * y) ** 2
        energy += P.shear * (P.t[k, 0] * y - P.t[k, 1] * x - P.l * u[k, 2]) ** 2
    return rod.kinetic_energy(P.rod, u) + 0.5 * energy


@ring_set.nodes.of(Scaled)
@compiled
def nodes(P: Scaled, q: Any, u: Any, cs: Any, sn: Any, shape: Any, rate: Any, q_R: Any, u_R: Any) -> None:
    rod.nodes(P.rod, q, u, cs, sn, shape, rate, q_R, u_R)
