"""Direct solver for a ring of 4x4 blocks with a border.

Unknowns x_k of node k couple to the next node of the ring and to a border z of m scalars:

    N_{k-1} x_{k-1} + D_k x_k + M_k x_{k+1} + B_k z = b_k        (indices mod n)
    sum_k C_k x_k + S z = c

M_k is block (k, k + 1), N_k block (k + 1, k). Nodes 0 ... n - 2 are eliminated in order by block LU; the last node
joins the border, which so has p = 4 + m rows. With E_k the blocks of row k in the border's columns, F_k those of the
border's rows in column k, eliminating node k is

    X = D_k^-1 [M_k E_k],   [D_{k+1} E_{k+1}] -= N_k X,   [F_{k+1} S] -= F_k X

No pivots are sought outside the border: D_k holds the mass times 4/h^2, or a stiffness. The work is linear in n.
"""

from typing import Any

from rtcvt.offline.beltdrive.compiled import compiled


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
def _factorise_border(S: Any) -> None:
    """LU of `S` in place; rows are exchanged by the largest pivot, their order stands below it."""
    p = S.shape[1]
    for c in range(p):
        best = c
        for r in range(c + 1, p):
            if abs(S[r, c]) > abs(S[best, c]):
                best = r
        S[p, c] = float(best)
        for k in range(p):
            x = S[c, k]
            S[c, k] = S[best, k]
            S[best, k] = x
        for r in range(c + 1, p):
            S[r, c] /= S[c, c]
            for k in range(c + 1, p):
                S[r, k] -= S[r, c] * S[c, k]


@compiled
def factorise(D: Any, G: Any, N: Any, F: Any, S: Any) -> None:
    """Factorise in place.

    Parameters
    ----------
    D : (n, 4, 4), n >= 3
    G : (n, 4, 8 + m): M_k in columns 0-3, B_k in columns from 8 on; the rest is overwritten
    N : (n, 4, 4)
    F : (n, 4 + m, 4): C_k in rows from 4 on; the rest is overwritten
    S : (5 + m, 4 + m): S in rows and columns 4 ... 3 + m; the rest is overwritten
    """
    n = D.shape[0]
    last = n - 1
    width = G.shape[2]
    p = width - 4
    for a in range(4):
        for b in range(4):
            S[a, b] = D[last, a, b]
        for b in range(8, width):
            S[a, b - 4] = G[last, a, b]
            S[b - 4, a] = F[last, b - 4, a]
    for k in range(last):
        for a in range(4):
            for b in range(4):
                G[k, a, 4 + b] = 0.0
                F[k, a, b] = 0.0
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
            g0 = G[k, 0, b]
            g1 = G[k, 1, b]
            g2 = G[k, 2, b]
            g3 = G[k, 3, b]
            for a in range(4):
                G[k, a, b] = D[k, a, 0] * g0 + D[k, a, 1] * g1 + D[k, a, 2] * g2 + D[k, a, 3] * g3
        if k < n - 2:
            for a in range(4):
                n0 = N[k, a, 0]
                n1 = N[k, a, 1]
                n2 = N[k, a, 2]
                n3 = N[k, a, 3]
                for b in range(4):
                    D[k + 1, a, b] -= n0 * G[k, 0, b] + n1 * G[k, 1, b] + n2 * G[k, 2, b] + n3 * G[k, 3, b]
                for b in range(4, width):
                    G[k + 1, a, b] -= n0 * G[k, 0, b] + n1 * G[k, 1, b] + n2 * G[k, 2, b] + n3 * G[k, 3, b]
            for a in range(p):
                f0 = F[k, a, 0]
                f1 = F[k, a, 1]
                f2 = F[k, a, 2]
                f3 = F[k, a, 3]
                for b in range(4):
                    F[k + 1, a, b] -= f0 * G[k, 0, b] + f1 * G[k, 1, b] + f2 * G[k, 2, b] + f3 * G[k, 3, b]
        for a in range(p):
            f0 = F[k, a, 0]
            f1 = F[k, a, 1]
            f2 = F[k, a, 2]
            f3 = F[k, a, 3]
            for b in range(p):
                S[a, b] -= f0 * G[k, 0, 4 + b] + f1 * G[k, 1, 4 + b] + f2 * G[k, 2, 4 + b] + f3 * G[k, 3, 4 + b]
    _factorise_border(S)


@compiled
def solve(D: Any, G: Any, N: Any, F: Any, S: Any, b: Any, c: Any) -> None:
    """Replace `b` (n, 4) and `c` (4 + m,), whose first four are scratch, by the solution x and z = c[4:]."""
    n = D.shape[0]
    last = n - 1
    p = S.shape[1]
    for a in range(4):
        c[a] = b[last, a]
    for k in range(last):
        b0 = b[k, 0]
        b1 = b[k, 1]
        b2 = b[k, 2]
        b3 = b[k, 3]
        for a in range(4):
            b[k, a] = D[k, a, 0] * b0 + D[k, a, 1] * b1 + D[k, a, 2] * b2 + D[k, a, 3] * b3
        b0 = b[k, 0]
        b1 = b[k, 1]
        b2 = b[k, 2]
        b3 = b[k, 3]
        if k < n - 2:
            for a in range(4):
                b[k + 1, a] -= N[k, a, 0] * b0 + N[k, a, 1] * b1 + N[k, a, 2] * b2 + N[k, a, 3] * b3
        for a in range(p):
            c[a] -= F[k, a, 0] * b0 + F[k, a, 1] * b1 + F[k, a, 2] * b2 + F[k, a, 3] * b3
    for r in range(p):
        best = int(S[p, r])
        x = c[r]
        c[r] = c[best]
        c[best] = x
    for r in range(p):
        for k in range(r):
            c[r] -= S[r, k] * c[k]
    for r in range(p - 1, -1, -1):
        for k in range(r + 1, p):
            c[r] -= S[r, k] * c[k]
        c[r] /= S[r, r]
    for a in range(4):
        b[last, a] = c[a]
    for k in range(n - 2, -1, -1):
        for a in range(4):
            x = b[k, a]
            for j in range(p):
                x -= G[k, a, 4 + j] * c[j]
            if k < n - 2:
                x -= G[k, a, 0] * b[k + 1, 0] + G[k, a, 1] * b[k + 1, 1]
                x -= G[k, a, 2] * b[k + 1, 2] + G[k, a, 3] * b[k + 1, 3]
            b[k, a] = x
