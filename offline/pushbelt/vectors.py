"""Vectors of three numbers as tuples, for kernels: they stay in registers.

`R` (N_E, 9) has the rows of the rotation from an element's frame to the inertial one. Velocities and forces of the
elements of a spatial belt have the columns x, y, z-turn, z, x-turn, y-turn, turns in the element's frame.
"""

from typing import Any

from rtcvt.offline.pushbelt.compiled import compiled, inlined


@inlined
def load(a, i, p):
    """The vector ``a[i, p]``."""
    return a[i, p, 0], a[i, p, 1], a[i, p, 2]


@inlined
def store(v, a, i, p):
    """Write a vector to ``a[i, p]``."""
    a[i, p, 0] = v[0]
    a[i, p, 1] = v[1]
    a[i, p, 2] = v[2]


@inlined
def columns(a, i, c):
    """The vector in the columns `c` to c + 2 of row i."""
    return a[i, c], a[i, c + 1], a[i, c + 2]


@inlined
def set_columns(v, a, i, c):
    """Write a vector to the columns `c` to c + 2 of row i."""
    a[i, c] = v[0]
    a[i, c + 1] = v[1]
    a[i, c + 2] = v[2]


@inlined
def add_columns(v, a, i, c):
    """Add a vector to the columns `c` to c + 2 of row i."""
    a[i, c] += v[0]
    a[i, c + 1] += v[1]
    a[i, c + 2] += v[2]


@inlined
def plus(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def minus(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def times(k, a):
    """k a."""
    return k * a[0], k * a[1], k * a[2]


@inlined
def moved(a, k, b):
    """a + k b."""
    return a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]


@inlined
def scaled(k, a):
    """Each component of a by its own of k."""
    return k[0] * a[0], k[1] * a[1], k[2] * a[2]


@inlined
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def across(a, n):
    """The part of a normal to the unit vector n."""
    return moved(a, -dot(a, n), n)


@inlined
def mirrored(sigma, a):
    """The vector seen from side `sigma`: its z component changes its sign with it."""
    return a[0], a[1], sigma * a[2]


@inlined
def seen(A, a):
    """Components of a along three vectors."""
    return dot(A[0], a), dot(A[1], a), dot(A[2], a)


@inlined
def image(A, a):
    """The vector whose components along three vectors are a."""
    return moved(moved(times(a[0], A[0]), a[1], A[1]), a[2], A[2])


@inlined
def to_inertial(R, i, a):
    """R a of element i."""
    return (
        R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2],
        R[i, 3] * a[0] + R[i, 4] * a[1] + R[i, 5] * a[2],
        R[i, 6] * a[0] + R[i, 7] * a[1] + R[i, 8] * a[2],
    )


@inlined
def to_body(R, i, a):
    """R' a of element i."""
    return (
        R[i, 0] * a[0] + R[i, 3] * a[1] + R[i, 6] * a[2],
        R[i, 1] * a[0] + R[i, 4] * a[1] + R[i, 7] * a[2],
        R[i, 2] * a[0] + R[i, 5] * a[1] + R[i, 8] * a[2],
    )


@inlined
def straight(u, i):
    """Velocity or force of element i."""
    return u[i, 0], u[i, 1], u[i, 3]


@inlined
def turning(u, i):
    """Angular velocity or moment of element i, in its frame."""
    return u[i, 4], u[i, 5], u[i, 2]


@inlined
def store_motion(v, o, u, i):
    """Write `straight` and `turning` of element i."""
    u[i, 0] = v[0]
    u[i, 1] = v[1]
    u[i, 3] = v[2]
    u[i, 4] = o[0]
    u[i, 5] = o[1]
    u[i, 2] = o[2]


@inlined
def turned(body, k, o, M):
    """o + k Theta^-1 M, Theta diagonal."""
    return o[0] + k / body.Theta_x * M[0], o[1] + k / body.Theta_y * M[1], o[2] + k / body.Theta_z * M[2]


# Symmetric matrices have the entries 00, 01, 02, 11, 12, 22.


@inlined
def summed(A, B):
    """A + B of symmetric matrices."""
    return A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5]


@inlined
def applied(A, b):
    """A b of a symmetric matrix."""
    return dot((A[0], A[1], A[2]), b), dot((A[1], A[3], A[4]), b), dot((A[2], A[4], A[5]), b)


@inlined
def inverse_of(A):
    """A^-1 of a symmetric matrix."""
    C_00 = A[3] * A[5] - A[4] * A[4]
    C_01 = A[2] * A[4] - A[1] * A[5]
    C_02 = A[1] * A[4] - A[2] * A[3]
    k = 1.0 / (A[0] * C_00 + A[1] * C_01 + A[2] * C_02)
    C_12 = A[1] * A[2] - A[0] * A[4]
    return k * C_00, k * C_01, k * C_02, k * (A[0] * A[5] - A[2] * A[2]), k * C_12, k * (A[0] * A[3] - A[1] * A[1])


@compiled
def zero(a):
    """a = 0."""
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = 0.0


@compiled
def add(a, b):
    """b += a."""
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            b[i, j] += a[i, j]


@compiled
def add_times(k, a, b):
    """b += k a, as many columns as b has."""
    for j in range(b.shape[1]):
        for i in range(b.shape[0]):
            b[i, j] += k * a[i, j]


@compiled
def copy(a, b):
    """b = a, as many columns as b has."""
    for j in range(b.shape[1]):
        for i in range(b.shape[0]):
            b[i, j] = a[i, j]


# --- motion of bodies or pieces: rows of coordinates q, velocities u and forces F; masses (m_0, ...), by column


@inlined
def rotated(c: float, s: float, angle: float) -> Any:
    """Cosine and sine after a further rotation by a small `angle` [rad] (|angle| < 0.01: exact to rounding).

    The pair is brought back to length one to first order, so that rounding does not add up over a run.
    """
    a2 = angle * angle
    sa = angle * (1.0 - a2 * (1.0 / 6.0 - a2 * (1.0 / 120.0)))
    ca = 1.0 - a2 * (0.5 - a2 * (1.0 / 24.0 - a2 * (1.0 / 720.0)))
    cn = c * ca - s * sa
    sn = s * ca + c * sa
    scale = 1.5 - 0.5 * (cn * cn + sn * sn)
    return cn * scale, sn * scale


@compiled
def move(n: int, q: Any, u: Any, cs: Any, sn: Any, dt: float) -> None:
    """q += dt u in `n` columns, of which the third is an angle, with its cosine and sine."""
    for a in range(n):
        for i in range(cs.size):
            q[i, a] += dt * u[i, a]
    for i in range(cs.size):
        cs[i], sn[i] = rotated(cs[i], sn[i], dt * u[i, 2])


@compiled
def accelerate(masses: Any, F: Any, u: Any, dt: float) -> None:
    """u += dt M^-1 F."""
    for a in range(len(masses)):
        k = dt / masses[a]
        for i in range(u.shape[0]):
            u[i, a] += k * F[i, a]


@compiled
def kinetic(masses: Any, u: Any) -> float:
    """Kinetic energy u'M u/2 [J]."""
    total = 0.0
    for a in range(len(masses)):
        for i in range(u.shape[0]):
            total += masses[a] * u[i, a] ** 2
    return 0.5 * total
