"""Coupled normal contact of the elements with an elastic sheave: Maxwell's influence numbers in Fourier space.

    g = C lambda + g~,   0 <= g _|_ lambda >= 0                                 Cebulla 2014, eqs. (5.18)-(5.23)
    C = C_sh + 1/c E,    C_sh_ij = sum_k a_k cos k (phi_i - phi_j)              eqs. (5.54), (5.56), (5.57)
    a_k = c_rad(r) A_k,  c_rad(r) = a_0 + a_1 r + a_2 r^2                       eqs. (5.51)-(5.53)

Everything is counted along the pulley's axis: lambda is the axial force N cos(delta_0), g~ = -p the rigid gap, p the
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
positive semi-definite for non-negative a_m and A_k, of rank (number of radial terms)(2 n_k + 1). The source takes the
mean radius of the arc, eq. (5.53), which brings the rank back to 2 n_k + 1; the mean here is weighted by the forces of
the step before. A relative spread e of the radii around it changes C_sh by no more than about 2 e.

Tilt. The influence numbers contain the tilting of the loose sheave on its hub. In the hybrid model the tilt is a
freedom of the sheave with the stiffness c_t, and its share r^2 / (c_t cos(delta_0)^4) is taken out of a_1.
The two mirrored sheaves of the hybrid model stand for one loose and one fixed sheave: `multiplier` is the mean.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offline.pushbelt.compiled import compiled

__all__ = ["Maxwell", "energy", "influence_matrix", "maxwell", "newton"]


class Maxwell(NamedTuple):
    """Memory of the coupled law for both pulleys (index 0: primary I, 1: secondary O).

    z (2, 2 n_k + 1): Fourier coefficients of the deflection [m]; a (2, n_k + 1): compliances [m/N];
    r (2,): mean radius of the contacts [m], 0 before the first call; the rest is scratch.
    """

    z: NDArray[np.float64]
    a: NDArray[np.float64]
    r: NDArray[np.float64]
    H: NDArray[np.float64]
    y: NDArray[np.float64]
    root: NDArray[np.float64]
    sum_c: NDArray[np.float64]
    sum_s: NDArray[np.float64]


def maxwell(n_k: int) -> Maxwell:
    """Memory for harmonics 0 ... `n_k`, undeflected."""
    n = 2 * n_k + 1
    return Maxwell(
        z=np.zeros((2, n)),
        a=np.zeros((2, n_k + 1)),
        r=np.zeros(2),
        H=np.zeros((n, n)),
        y=np.zeros(n),
        root=np.zeros(n_k + 1),
        sum_c=np.zeros(n),
        sum_s=np.zeros(n),
    )


def influence_matrix(phi: ArrayLike, a: ArrayLike) -> NDArray[np.float64]:
    """Influence matrix C_sh of one sheave, Cebulla 2014, eq. (5.54).

    Parameters
    ----------
    phi : array_like, shape (n,)
        Angles of the contacts [rad].
    a : array_like, shape (n_k + 1,)
        Compliances of the harmonics, ``c_rad(r) A_k`` [m/N].

    Returns
    -------
    ndarray, shape (n, n)
        Axial deflection at contact i per axial force at contact j [m/N].
    """
    angle = np.asarray(phi, dtype=float)
    weight = np.asarray(a, dtype=float)
    harmonics = np.arange(weight.size)
    return np.cos((angle[:, None] - angle[None, :])[..., None] * harmonics) @ weight


@compiled
def compliances(r, sheaves, cos_d, a):
    """Compliances a_k of all harmonics at the mean radius `r`, less the tilt that the sheave does as a body."""
    c_rad = sheaves.multiplier * (sheaves.a_0 + r * (sheaves.a_1 + r * sheaves.a_2))
    for k in range(a.size):
        a[k] = c_rad * sheaves.A[k]
    if a.size > 1:
        a[1] = max(0.0, a[1] - r * r / (sheaves.c_t * cos_d**4))


@compiled
def deflection(z, c, s):
    """Deflection sum_k z_k Phi_k at the angle with cosine `c` and sine `s`."""
    w = z[0]
    ck = c
    sk = s
    for k in range(1, (z.size + 1) // 2):
        w += z[2 * k - 1] * ck + z[2 * k] * sk
        ck, sk = ck * c - sk * s, sk * c + ck * s
    return w


@compiled
def solve_spd(H, y):
    """Replace y by H^-1 y and H by its Cholesky factor; H symmetric positive definite, lower triangle read."""
    n = y.size
    for i in range(n):
        for j in range(i):
            t = H[i, j]
            for k in range(j):
                t -= H[i, k] * H[j, k]
            H[i, j] = t / H[j, j]
        t = H[i, i]
        for k in range(i):
            t -= H[i, k] * H[i, k]
        H[i, i] = np.sqrt(t)
        t = y[i]
        for k in range(i):
            t -= H[i, k] * y[k]
        y[i] = t / H[i, i]
    for i in range(n - 1, -1, -1):
        t = y[i]
        for k in range(i + 1, n):
            t -= H[k, i] * y[k]
        y[i] = t / H[i, i]


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


@compiled
def newton(belt, sheaves, fl, mx, n_iter):
    """Solve the coupled law of both pulleys by at most `n_iter` Newton steps, starting from `mx.z`.

    Parameters
    ----------
    belt, sheaves : Belt, Sheaves
        c_el is the axial stiffness of one flank [N/m]; each of its points has an equal part, eq. (5.56).
    fl : Flanks
        Read: pulley, pen, phi, r. Written: w, the deflection of the sheave at each point [m].
    mx : Maxwell
        z is warm start and result; a and r are renewed.
    n_iter : int

    Returns
    -------
    int
        Contacts that opened or closed in the last Newton step, both pulleys: 0 means that z is the exact solution.
    """
    n_E, n_p = fl.pen.shape
    c = belt.c_el / n_p
    n = mx.y.size
    n_k = (n - 1) // 2
    y = mx.y
    root = mx.root
    flips = 0
    for pulley in range(2):
        z = mx.z[pulley]
        if not mx.r[pulley] > 0.0:
            total = 0.0
            r = 0.0
            for i in range(n_E):
                if fl.pulley[i] == pulley:
                    for p in range(n_p):
                        if fl.pen[i, p] > 0.0:
                            total += 1.0
                            r += fl.r[i, p]
            if total == 0.0:
                continue
            mx.r[pulley] = r / total
        compliances(mx.r[pulley], sheaves, belt.cos_d, mx.a[pulley])
        for k in range(n_k + 1):
            root[k] = np.sqrt(mx.a[pulley, k])
        changed = 0
        for it in range(n_iter + 1):
            # one pass: deflections of the present z, the contacts that it closes, and their sums
            for m in range(n):
                mx.sum_c[m] = 0.0
                mx.sum_s[m] = 0.0
                y[m] = 0.0
            changed = 0
            force = 0.0
            moment = 0.0
            for i in range(n_E):
                if fl.pulley[i] != pulley:
                    continue
                for p in range(n_p):
                    cosine = fl.phi[i, p, 0]
                    sine = fl.phi[i, p, 1]
                    pen = fl.pen[i, p]
                    closed = pen > fl.w[i, p]
                    w = deflection(z, cosine, sine)
                    fl.w[i, p] = w
                    if (pen > w) != closed:
                        changed += 1
                    if not pen > w:
                        continue
                    force += pen - w
                    moment += (pen - w) * fl.r[i, p]
                    if it == n_iter:
                        continue
                    mx.sum_c[0] += 1.0
                    y[0] += pen
                    ck = cosine
                    sk = sine
                    for m in range(1, n):
                        mx.sum_c[m] += ck
                        mx.sum_s[m] += sk
                        if m <= n_k:
                            y[2 * m - 1] += pen * ck
                            y[2 * m] += pen * sk
                        ck, sk = ck * cosine - sk * sine, sk * cosine + ck * sine
            if it == n_iter or (it > 0 and changed == 0):
                if force > 0.0:
                    mx.r[pulley] = moment / force
                break
            system(c, mx)
            for m in range(n):
                y[m] *= c * root[(m + 1) // 2]
            solve_spd(mx.H, y)
            for m in range(n):
                z[m] = root[(m + 1) // 2] * y[m]
        flips += changed
    return flips


@compiled
def energy(mx):
    """Energy stored in the deflected sheaves [J]: lambda' C_sh lambda / 2 for each of the four."""
    total = 0.0
    for pulley in range(2):
        for m in range(mx.y.size):
            a = mx.a[pulley, (m + 1) // 2]
            if a > 0.0:
                total += mx.z[pulley, m] ** 2 / a
    return total
