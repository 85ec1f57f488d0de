"""Direct solver for closed chains: symmetric positive definite systems whose bodies meet their neighbours only.

Block cyclic tridiagonal, 3x3 blocks D_k on the diagonal, U_k between k and k + 1 (mod n):

    U_{k-1}' x_{k-1} + D_k x_k + U_k x_{k+1} = b_k

by block LDL' without pivoting. The last body is kept to the end; eliminating 0 ... n - 2 fills its column with C_k.
"""

from typing import Any

from offline.pushbelt.compiled import compiled, inlined

__all__ = ["solve_cyclic"]


@inlined
def _invert(D: Any, k: int, E: Any) -> None:
    """E = D[k]^-1, symmetric 3x3."""
    a = D[k, 0, 0]
    b = D[k, 1, 0]
    c = D[k, 2, 0]
    d = D[k, 1, 1]
    e = D[k, 2, 1]
    f = D[k, 2, 2]
    A = d * f - e * e
    B = c * e - b * f
    C = b * e - c * d
    r = 1.0 / (a * A + b * B + c * C)
    E[0, 0] = A * r
    E[0, 1] = B * r
    E[1, 0] = E[0, 1]
    E[0, 2] = C * r
    E[2, 0] = E[0, 2]
    E[1, 1] = (a * f - c * c) * r
    E[1, 2] = (b * c - a * e) * r
    E[2, 1] = E[1, 2]
    E[2, 2] = (a * d - b * b) * r


@compiled
def solve_cyclic(D: Any, U: Any, b: Any, C: Any, W: Any, X: Any, E: Any) -> None:
    """Replace `b` by the solution.

    Parameters
    ----------
    D, U : (n, 3, 3), n >= 3: diagonal blocks (lower triangles are read), and blocks (k, k + 1), the last one
        (n - 1, 0). D is overwritten.
    b : (n, 3) right-hand side; becomes x
    C, E : (3, 3); W, X : (n, 3, 3) scratch
    """
    n = b.shape[0]
    last = n - 1
    for i in range(3):
        for j in range(3):
            C[i, j] = U[last, j, i]
    for k in range(last):
        _invert(D, k, E)
        if k == last - 1:
            for i in range(3):
                for j in range(3):
                    C[i, j] += U[k, i, j]
        for i in range(3):
            for j in range(3):
                X[k, i, j] = E[i, 0] * C[0, j] + E[i, 1] * C[1, j] + E[i, 2] * C[2, j]
                W[k, i, j] = E[i, 0] * U[k, 0, j] + E[i, 1] * U[k, 1, j] + E[i, 2] * U[k, 2, j]
        b0 = b[k, 0]
        b1 = b[k, 1]
        b2 = b[k, 2]
        for i in range(3):
            for j in range(i + 1):
                D[last, i, j] -= C[0, i] * X[k, 0, j] + C[1, i] * X[k, 1, j] + C[2, i] * X[k, 2, j]
            b[last, i] -= X[k, 0, i] * b0 + X[k, 1, i] * b1 + X[k, 2, i] * b2
            b[k, i] = E[i, 0] * b0 + E[i, 1] * b1 + E[i, 2] * b2
        if k < last - 1:
            for i in range(3):
                for j in range(i + 1):
                    D[k + 1, i, j] -= U[k, 0, i] * W[k, 0, j] + U[k, 1, i] * W[k, 1, j] + U[k, 2, i] * W[k, 2, j]
                b[k + 1, i] -= W[k, 0, i] * b0 + W[k, 1, i] * b1 + W[k, 2, i] * b2
                for j in range(3):
                    C[i, j] = -(U[k, 0, i] * X[k, 0, j] + U[k, 1, i] * X[k, 1, j] + U[k, 2, i] * X[k, 2, j])
    _invert(D, last, E)
    b0 = b[last, 0]
    b1 = b[last, 1]
    b2 = b[last, 2]
    z0 = E[0, 0] * b0 + E[0, 1] * b1 + E[0, 2] * b2
    z1 = E[1, 0] * b0 + E[1, 1] * b1 + E[1, 2] * b2
    z2 = E[2, 0] * b0 + E[2, 1] * b1 + E[2, 2] * b2
    b[last, 0] = z0
    b[last, 1] = z1
    b[last, 2] = z2
    for k in range(last - 1, -1, -1):
        for i in range(3):
            t = b[k, i] - (X[k, i, 0] * z0 + X[k, i, 1] * z1 + X[k, i, 2] * z2)
            if k < last - 1:
                t -= W[k, i, 0] * b[k + 1, 0] + W[k, i, 1] * b[k + 1, 1] + W[k, i, 2] * b[k + 1, 2]
            b[k, i] = t
