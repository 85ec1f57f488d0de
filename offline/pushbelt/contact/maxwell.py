"""Coupled normal contact of the elements with an elastic sheave: Maxwell's influence numbers in Fourier space.

    g = C lambda + g~,   0 <= g _|_ lambda >= 0                                 Cebulla 2014, eqs. (5.18)-(5.23)
    C = C_sh + 1/c E,    C_sh_ij = sum_k a_k cos k (phi_i - phi_j)              eqs. (5.54), (5.56), (5.57)
    a_k = c_rad(r) A_k,  c_rad(r) = a_0 + a_1 r + ... + a_m r^m                 eqs. (5.51)-(5.53)

or its own polynomial for each harmonic, from the finite elements of a sheave (`rtcvt.offline.sheave`).

All quantities are along the pulley's axis: lambda is the axial force N cos(delta_0), g~ = -p the rigid gap, p the
penetration of the rigid contours, and w = C_sh lambda the deflection of the sheave, eq. (5.49). The product of axial
force and axial gap is the product of normal force and normal gap, so the law is conservative.

Fourier space. With Phi_i = (1, cos phi_i, sin phi_i, cos 2 phi_i, ...) and D = diag(a_0, a_1, a_1, a_2, a_2, ...), the
influence matrix is C_sh = Phi D Phi'. Eliminating g gives lambda_i = c max(0, p_i - w_i), w = Phi z, and the
2 n_k + 1 unknowns z = D Phi' lambda. They minimise the convex, once differentiable function

    y'y / 2 + c / 2 sum_i max(0, p_i - Phi_i D^1/2 y)^2,   z = D^1/2 y,

whose Newton step on the contacts that are closed at the present z solves

    (I + c D^1/2 Phi_A' Phi_A D^1/2) y = c D^1/2 Phi_A' p_A.

Its matrix has no eigenvalue below one, vanishing weights included. By the addition theorems it needs only the sums
of cos m phi and sin m phi over the closed contacts, m <= 2 n_k. A step that leaves the set of closed contacts
unchanged has found the solution; in time stepping the set of the step before is nearly always right.

Radius. A reciprocal law with the polynomial in both radii is sum_m a_m (r_i r_j)^(m/2) sum_k A_k cos k(phi_i - phi_j):
positive semi-definite for non-negative a_m and A_k, of rank (number of radial terms)(2 n_k + 1). The source uses the
mean radius of the arc, eq. (5.53), which reduces the rank to 2 n_k + 1; the mean here is weighted by the forces of
the step before. A relative spread e of the radii around it changes C_sh by no more than about 2 e.

Tilt. The influence numbers contain the tilting of the loose sheave on its hub. In the hybrid model the tilt is a
freedom of the sheave with the stiffness c_t, and its share r^2 / (c_t cos(delta_0)^4) is subtracted from a_1.
The two mirrored sheaves of the hybrid model represent one loose and one fixed sheave: `multiplier` is the mean. A fixed
sheave does not tilt on a guide; its influence numbers are whole.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.compiled import Contract, by_law, compiled
from rtcvt.offline.pushbelt.record import declared, zeros
from rtcvt.offline.pushbelt.unit.parameters import Sheaves

Array = NDArray[np.float64]


class Coupled(NamedTuple):
    """Law of sheaves that deflect under all elements; by pulley: compliance over the mean, and whether it can tilt."""

    sheaves: Sheaves
    share: tuple[float, float] = (1.0, 1.0)
    tilting: tuple[float, float] = (1.0, 1.0)


class Decoupled(NamedTuple):
    """Law of rigid sheaves: each element feels its own stiffness only."""

    sheaves: Sheaves


@declared
class Maxwell(NamedTuple):
    """Memory of the coupled law, z and r, and its scratch; axes of 2 are the pulleys I and O, n_z = 2 n_k + 1."""

    z: Annotated[Array, (2, "n_z"), "m", "deflection, Fourier coefficients"]
    a: Annotated[Array, (2, "n_a"), "m/N", "compliances of the harmonics 0 to n_k"]
    r: Annotated[Array, (2,), "m", "mean radius of the contacts, 0 before the first call"]
    H: Annotated[Array, ("n_z", "n_z"), "1", "matrix of a Newton step"]
    y: Annotated[Array, ("n_z",), "m N^1/2", "its unknowns"]
    root: Annotated[Array, ("n_a",), "(m/N)^1/2", "D^1/2"]
    sum_c: Annotated[Array, ("n_z",), "1", "sums of cosines over the closed contacts"]
    sum_s: Annotated[Array, ("n_z",), "1", "sums of sines"]
    cos: Annotated[Array, ("n_z", "contacts"), "1", "cosine of the multiples of the contacts' angles"]
    sin: Annotated[Array, ("n_z", "contacts"), "1", "sine"]
    pen: Annotated[Array, ("contacts",), "m", "penetration of the rigid contours"]
    radius: Annotated[Array, ("contacts",), "m", "radius on the cone"]
    w: Annotated[Array, ("contacts",), "m", "deflection of the sheave"]
    closed: Annotated[Array, ("contacts",), "1", "1 where a contact is closed"]
    sunk: Annotated[Array, ("contacts",), "m", "how far it is"]


def maxwell(n_k: int, contacts: int) -> Maxwell:
    """Memory for harmonics 0 ... `n_k` and at most so many contacts, undeflected."""
    return zeros(Maxwell, {"n_z": 2 * n_k + 1, "n_a": n_k + 1, "contacts": contacts})


@compiled
def compliances(r, sheaves, share, tilting, cos_d, a):
    """Compliances a_k of all harmonics at the mean radius `r`, less the tilt that the sheave does as a body."""
    for k in range(a.size):
        row = sheaves.a[k]
        c_rad = row[len(row) - 1]
        for m in range(len(row) - 1, 0, -1):
            c_rad = row[m - 1] + r * c_rad
        a[k] = share * sheaves.multiplier * c_rad * sheaves.A[k]
    if a.size > 1:
        a[1] = max(0.0, a[1] - tilting * r * r / (sheaves.c_t * cos_d**4))


@compiled
def solve_spd(H, y):
    """Replace y by H^-1 y and H by its factors L D L'; H symmetric positive definite, lower triangle read."""
    n = y.size
    for i in range(n):
        d = H[i, i]
        t = y[i]
        for j in range(i):
            v = H[i, j]
            for k in range(j):
                v -= H[i, k] * H[j, k]
            H[i, j] = v
        for j in range(i):
            v = H[i, j]
            L = v * H[j, j]
            d -= v * L
            t -= L * y[j]
            H[i, j] = L
        H[i, i] = 1.0 / d  # the factor's diagonal is D^-1
        y[i] = t
    for i in range(n):
        y[i] *= H[i, i]
    for i in range(n - 1, -1, -1):
        t = y[i]
        for k in range(i):
            y[k] -= H[i, k] * t


@compiled
def gather(fl, pulley, mx):
    """Contacts near a pulley into the arrays of `mx`, with the multiples of their angles; returns their number."""
    cosine = mx.cos[1]
    sine = mx.sin[1]
    n = np.uint64(0)
    for p in range(fl.pen.shape[1]):
        for k in range(fl.n_stretch[0]):
            if fl.at[k] != pulley:
                continue
            first, behind = fl.stretch[k, 0], fl.stretch[k, 1]
            for i in range(first, behind):
                a = n + i - first
                cosine[a] = fl.phi[i, p, 0]
                sine[a] = fl.phi[i, p, 1]
                mx.pen[a] = fl.pen[i, p]
                mx.radius[a] = fl.r[i, p]
                mx.w[a] = fl.w[i, p]
            n += behind - first
    for m in range(2, mx.cos.shape[0]):
        c = mx.cos[m - 1]
        s = mx.sin[m - 1]
        next_c = mx.cos[m]
        next_s = mx.sin[m]
        for a in range(n):
            next_c[a] = c[a] * cosine[a] - s[a] * sine[a]
            next_s[a] = s[a] * cosine[a] + c[a] * sine[a]
    return n


@compiled
def deflect(mx, z, n):
    """Deflections w of `n` contacts from z, which of them are closed, and how far; returns how many have changed."""
    w = mx.w
    pen = mx.pen
    closed = mx.closed
    sunk = mx.sunk
    for a in range(n):
        closed[a] = 1.0 if pen[a] > w[a] else 0.0
        w[a] = z[0]
    for k in range(1, (z.size + 1) // 2):
        c = mx.cos[k]
        s = mx.sin[k]
        z_c = z[2 * k - 1]
        z_s = z[2 * k]
        for a in range(n):
            w[a] += z_c * c[a] + z_s * s[a]
    changed = 0.0
    for a in range(n):
        here = 1.0 if pen[a] > w[a] else 0.0
        changed += abs(here - closed[a])
        closed[a] = here
        sunk[a] = pen[a] - w[a] if pen[a] > w[a] else 0.0
    return changed


@compiled
def sums(mx, n, n_k):
    """Sums over the closed ones of `n` contacts: of the multiples of their angles, and the right-hand side y."""
    closed = mx.closed
    pen = mx.pen
    y = mx.y
    count = 0.0
    total = 0.0
    for a in range(n):
        count += closed[a]
        total += pen[a] if closed[a] > 0.0 else 0.0
    mx.sum_c[0] = count
    mx.sum_s[0] = 0.0
    y[0] = total
    for m in range(1, 2 * n_k + 1):
        c = mx.cos[m]
        s = mx.sin[m]
        sum_c = 0.0
        sum_s = 0.0
        for a in range(n):
            sum_c += closed[a] * c[a]
            sum_s += closed[a] * s[a]
        mx.sum_c[m] = sum_c
        mx.sum_s[m] = sum_s
    for k in range(1, n_k + 1):
        c = mx.cos[k]
        s = mx.sin[k]
        y_c = 0.0
        y_s = 0.0
        for a in range(n):
            p = pen[a] if closed[a] > 0.0 else 0.0
            y_c += p * c[a]
            y_s += p * s[a]
        y[2 * k - 1] = y_c
        y[2 * k] = y_s


@compiled
def system(c, mx):
    """Matrix I + c D^1/2 Phi' Phi D^1/2 from the sums of cos m phi and sin m phi; `root` is the diagonal of D^1/2."""
    H = mx.H
    root = mx.root
    sum_c = mx.sum_c
    sum_s = mx.sum_s
    n = H.shape[0]
    for i in range(n):
        k = (i + 1) // 2
        for j in range(i + 1):
            m = (j + 1) // 2
            if i == 0:
                t = sum_c[0]
            elif j == 0:
                t = sum_c[k] if i % 2 == 1 else sum_s[k]
            elif i % 2 == 1 and j % 2 == 1:
                t = 0.5 * (sum_c[k - m] + sum_c[k + m])
            elif i % 2 == 0 and j % 2 == 0:
                t = 0.5 * (sum_c[k - m] - sum_c[k + m])
            elif i % 2 == 0:
                t = 0.5 * (sum_s[k + m] + sum_s[k - m])
            else:
                t = 0.5 * (sum_s[k + m] - sum_s[k - m])
            H[i, j] = c * root[k] * t * root[m]
        H[i, i] += 1.0


@by_law
def newton(law: Any, belt: Any, fl: Any, mx: Any, n_iter: int) -> Any:
    """Solve the law of the two pulleys by at most `n_iter` Newton steps, starting from `mx.z`.

    Parameters
    ----------
    law : Coupled or Decoupled
    belt : Belt
        c_el is the axial stiffness of one flank [N/m]; each of its points has an equal part, eq. (5.56).
    fl : Flanks
        Read: stretches, pen, phi, r. Written: w, the deflection of the sheave at each point [m].
    mx : Maxwell
        z is warm start and result; a and r are renewed.
    n_iter : int

    Returns
    -------
    int
        Contacts that opened or closed in the last Newton step, both pulleys: 0 means that z is the exact solution.
    """


@newton.of(Decoupled)
@compiled
def _undeflected(law, belt, fl, mx, n_iter):
    return 0


@newton.of(Coupled)
@compiled
def _deflected(law, belt, fl, mx, n_iter):
    sheaves = law.sheaves
    n_p = fl.pen.shape[1]
    c = belt.c_el / n_p
    size = mx.y.size
    n_k = (size - 1) // 2
    y = mx.y
    root = mx.root
    flips = 0.0
    for pulley in range(2):
        z = mx.z[pulley]
        n = gather(fl, pulley, mx)
        if not mx.r[pulley] > 0.0:
            total = 0.0
            r = 0.0
            for a in range(n):
                if mx.pen[a] > 0.0:
                    total += 1.0
                    r += mx.radius[a]
            if total == 0.0:
                continue
            mx.r[pulley] = r / total
        compliances(mx.r[pulley], sheaves, law.share[pulley], law.tilting[pulley], belt.cos_d, mx.a[pulley])
        for k in range(n_k + 1):
            root[k] = np.sqrt(mx.a[pulley, k])
        changed = deflect(mx, z, n)
        for it in range(n_iter):
            if it > 0 and changed == 0.0:
                break
            sums(mx, n, n_k)
            system(c, mx)
            for m in range(size):
                y[m] *= c * root[(m + 1) // 2]
            solve_spd(mx.H, y)
            for m in range(size):
                z[m] = root[(m + 1) // 2] * y[m]
            changed = deflect(mx, z, n)
        force = 0.0
        moment = 0.0
        for a in range(n):
            force += mx.sunk[a]
            moment += mx.sunk[a] * mx.radius[a]
        if force > 0.0:
            mx.r[pulley] = moment / force
        at = np.uint64(0)
        for p in range(n_p):
            for k in range(fl.n_stretch[0]):
                if fl.at[k] != pulley:
                    continue
                first, behind = fl.stretch[k, 0], fl.stretch[k, 1]
                for i in range(first, behind):
                    fl.w[i, p] = mx.w[at + i - first]
                at += behind - first
        flips += changed
    return int(flips)


@by_law
def energy(law: Any, mx: Any) -> Any:
    """Energy stored in the deflected sheaves [J]: lambda' C_sh lambda / 2 for each of the four."""


@energy.of(Decoupled)
@compiled
def _no_energy(law, mx):
    return 0.0


@energy.of(Coupled)
@compiled
def _energy(law, mx):
    total = 0.0
    for pulley in range(2):
        for m in range(mx.y.size):
            a = mx.a[pulley, (m + 1) // 2]
            if a > 0.0:
                total += mx.z[pulley, m] ** 2 / a
    return total


DEFLECTION = Contract(newton, energy)
DEFLECTION.register(Coupled, Decoupled)
