"""Direct solver for a ring of 4x4 blocks with a border.

Unknowns x_k of node k couple to the next node of the ring and to a border z of m scalars:

    N_{k-1} x_{k-1} + D_k x_k + M_k x_{k+1} + B_k z = b_k        (indices mod n)
    sum_k C_k x_k + S z = c

M_k is block (k, k + 1), N_k block (k + 1, k). Nodes 0 ... n - 2 are eliminated in order by block LU; the last node
joins the border, which so has p = 4 + m rows. With E_k the blocks of row k in the border's columns, F_k those of the
border's rows in column k, eliminating node k is

    X = D_k^-1 [M_k E_k],   [D_{k+1} E_{k+1}] -= N_k X,   [F_{k+1} S] -= F_k X

No pivots are sought outside the border: D_k contains the mass times 4/h^2, or a stiffness. The work is linear in n.
"""

from typing import Any

from rtcvt.numerics.linalg import lu, lu_solve
from rtcvt.offline.belt.compiled import compiled


@compiled
def _invert(D: Any, k: int) -> None:
    """D[k] becomes its inverse, by halves: [[P, Q], [R, T]] with the Schur complement T - R P^-1 Q."""
    d = 1.0 / (D[k, 0, 0] * D[k, 1, 1] - D[k, 0, 1] * D[k, 1, 0])
    p00 = D[k, 1, 1] * d
    p01 = -D[k, 0, 1] * d
    p10 = -D[k, 1, 0] * d
    p11 = D[k, 0, 0] * d
    a00 = p00 * D[k, 0, 2] + p01 * D[k, 1, 2]
    a01 = p00 * D[k, 0, 3] + p01 * D[k, 1, 3]
    a10 = p10 * D[k, 0, 2] + p11 * D[k, 1, 2]
    a11 = p10 * D[k, 0, 3] + p11 * D[k, 1, 3]
    b00 = D[k, 2, 0] * p00 + D[k, 2, 1] * p10
    b01 = D[k, 2, 0] * p01 + D[k, 2, 1] * p11
    b10 = D[k, 3, 0] * p00 + D[k, 3, 1] * p10
    b11 = D[k, 3, 0] * p01 + D[k, 3, 1] * p11
    t00 = D[k, 2, 2] - D[k, 2, 0] * a00 - D[k, 2, 1] * a10
    t01 = D[k, 2, 3] - D[k, 2, 0] * a01 - D[k, 2, 1] * a11
    t10 = D[k, 3, 2] - D[k, 3, 0] * a00 - D[k, 3, 1] * a10
    t11 = D[k, 3, 3] - D[k, 3, 0] * a01 - D[k, 3, 1] * a11
    d = 1.0 / (t00 * t11 - t01 * t10)
    s00 = t11 * d
    s01 = -t01 * d
    s10 = -t10 * d
    s11 = t00 * d
    r00 = -(s00 * b00 + s01 * b10)
    r01 = -(s00 * b01 + s01 * b11)
    r10 = -(s10 * b00 + s11 * b10)
    r11 = -(s10 * b01 + s11 * b11)
    D[k, 0, 0] = p00 - a00 * r00 - a01 * r10
    D[k, 0, 1] = p01 - a00 * r01 - a01 * r11
    D[k, 1, 0] = p10 - a10 * r00 - a11 * r10
    D[k, 1, 1] = p11 - a10 * r01 - a11 * r11
    D[k, 0, 2] = -(a00 * s00 + a01 * s10)
    D[k, 0, 3] = -(a00 * s01 + a01 * s11)
    D[k, 1, 2] = -(a10 * s00 + a11 * s10)
    D[k, 1, 3] = -(a10 * s01 + a11 * s11)
    D[k, 2, 0] = r00
    D[k, 2, 1] = r01
    D[k, 3, 0] = r10
    D[k, 3, 1] = r11
    D[k, 2, 2] = s00
    D[k, 2, 3] = s01
    D[k, 3, 2] = s10
    D[k, 3, 3] = s11


@compiled
def _entry(A: Any, k: int, a: int, B: Any, j: int, b: int) -> float:
    """Entry (a, b) of the product of the blocks A[k] and B[j]."""
    return A[k, a, 0] * B[j, 0, b] + A[k, a, 1] * B[j, 1, b] + A[k, a, 2] * B[j, 2, b] + A[k, a, 3] * B[j, 3, b]


@compiled
def _times(A: Any, k: int, a: int, x: Any, j: int) -> float:
    """Entry a of the block A[k] times the vector x[j]."""
    return A[k, a, 0] * x[j, 0] + A[k, a, 1] * x[j, 1] + A[k, a, 2] * x[j, 2] + A[k, a, 3] * x[j, 3]


@compiled
def factorise(D: Any, G: Any, N: Any, F: Any, S: Any) -> None:
    """Factorise in place.

    Parameters
    ----------
    D : (n, 4, 4), n >= 3
    G : (n, 4, 8 + m): M_k in columns 0-3, B_k in columns from 8 on; the rest is overwritten
    N : (n, 4, 4)
    F : (n, 4 + m, 4): C_k in rows from 4 on; the rest is overwritten
    S : (6 + m, 4 + m): S in rows and columns 4 ... 3 + m, c in the last row from 4 on; the rest is overwritten
    """
    n = D.shape[0]
    last = n - 1
    width = G.shape[2]
    p = width - 4
    S[:4, :4] = D[last]
    S[:4, 4:] = G[last, :, 8:]
    S[4:p, :4] = F[last, 4:]
    G[:last, :, 4:8] = 0.0
    F[:last, :4] = 0.0
    for a in range(4):
        for b in range(4):
            G[0, a, 4 + b] = N[last, a, b]
            F[0, a, b] = G[last, a, b]
            G[n - 2, a, 4 + b] += G[n - 2, a, b]
            F[n - 2, a, b] += N[n - 2, a, b]
            G[n - 2, a, b] = 0.0
    for k in range(last):
        _invert(D, k)
        for b in range(width):
            x = (
                _entry(D, k, 0, G, k, b), _entry(D, k, 1, G, k, b), _entry(D, k, 2, G, k, b), _entry(D, k, 3, G, k, b)
            )  # fmt: skip
            for a in range(4):
                G[k, a, b] = x[a]
        for a in range(4):
            if k < n - 2:
                for b in range(4):
                    D[k + 1, a, b] -= _entry(N, k, a, G, k, b)
                for b in range(4, width):
                    G[k + 1, a, b] -= _entry(N, k, a, G, k, b)
        for a in range(p):
            if k < n - 2:
                for b in range(4):
                    F[k + 1, a, b] -= _entry(F, k, a, G, k, b)
            for b in range(p):
                S[a, b] -= _entry(F, k, a, G, k, 4 + b)
    lu(p, S.ravel(), 0, p * p)


@compiled
def solve(D: Any, G: Any, N: Any, F: Any, S: Any, b: Any) -> None:
    """Replace `b` (n, 4) by the solution x, and the last row of `S`, c from entry 4 on, by the border's with z."""
    n = D.shape[0]
    last = n - 1
    p = S.shape[1]
    c = S[p + 1]
    c[:4] = b[last]
    for k in range(last):
        x = _times(D, k, 0, b, k), _times(D, k, 1, b, k), _times(D, k, 2, b, k), _times(D, k, 3, b, k)
        for a in range(4):
            b[k, a] = x[a]
        if k < n - 2:
            for a in range(4):
                b[k + 1, a] -= _times(N, k, a, b, k)
        for a in range(p):
            c[a] -= _times(F, k, a, b, k)
    lu_solve(p, S.ravel(), 0, p * p, p * (p + 1))
    b[last] = c[:4]
    for k in range(n - 2, -1, -1):
        for a in range(4):
            y = b[k, a]
            for j in range(p):
                y -= G[k, a, 4 + j] * c[j]
            if k < n - 2:
                y -= _times(G, k, a, b, k + 1)
            b[k, a] = y
