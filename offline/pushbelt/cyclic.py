"""Direct solver for closed chains: symmetric positive definite systems whose bodies meet their neighbours only.

Block cyclic tridiagonal, 3x3 blocks D_k on the diagonal, U_k between k and k + 1 (mod n):

    U_{k-1}' x_{k-1} + D_k x_k + U_k x_{k+1} = b_k

by block LDL' without pivoting. The last body is kept to the end; eliminating 0 ... n - 2 fills its column with C_k.
"""

from typing import Any

from offline.pushbelt.compiled import compiled, inlined

__all__ = ["solve_cyclic"]


@inlined
def _inverse(D: Any, k: int) -> Any:
    """Lower triangle, by rows, of D[k]^-1, symmetric 3x3."""
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
    return A * r, B * r, (a * f - c * c) * r, C * r, (b * c - a * e) * r, (a * d - b * b) * r


@compiled
def solve_cyclic(D: Any, U: Any, b: Any, C: Any, W: Any, X: Any) -> None:
    """Replace `b` by the solution.

    Parameters
    ----------
    D, U : (n, 3, 3), n >= 3: diagonal blocks (lower triangles are read), and blocks (k, k + 1), the last one
        (n - 1, 0). D is overwritten.
    b : (n, 3) right-hand side; becomes x
    C : (3, 3); W, X : (n, 3, 3) scratch
    """
    n = b.shape[0]
    last = n - 1
    for i in range(3):
        for j in range(3):
            C[i, j] = U[last, j, i]
    for k in range(last):
        if k == last - 1:
            for i in range(3):
                for j in range(3):
                    C[i, j] += U[k, i, j]
        E_0, E_1, E_2, E_3, E_4, E_5 = _inverse(D, k)
        b_0 = b[k, 0]
        b_1 = b[k, 1]
        b_2 = b[k, 2]
        z_0 = E_0 * b_0 + E_1 * b_1 + E_3 * b_2
        z_1 = E_1 * b_0 + E_2 * b_1 + E_4 * b_2
        z_2 = E_3 * b_0 + E_4 * b_1 + E_5 * b_2
        b[k, 0] = z_0
        b[k, 1] = z_1
        b[k, 2] = z_2
        for j in range(3):
            c_0 = C[0, j]
            c_1 = C[1, j]
            c_2 = C[2, j]
            x_0 = E_0 * c_0 + E_1 * c_1 + E_3 * c_2
            x_1 = E_1 * c_0 + E_2 * c_1 + E_4 * c_2
            x_2 = E_3 * c_0 + E_4 * c_1 + E_5 * c_2
            X[k, 0, j] = x_0
            X[k, 1, j] = x_1
            X[k, 2, j] = x_2
            for i in range(j, 3):
                D[last, i, j] -= C[0, i] * x_0 + C[1, i] * x_1 + C[2, i] * x_2
            b[last, j] -= c_0 * z_0 + c_1 * z_1 + c_2 * z_2
            if k < last - 1:
                for i in range(3):
                    C[i, j] = -(U[k, 0, i] * x_0 + U[k, 1, i] * x_1 + U[k, 2, i] * x_2)
                u_0 = U[k, 0, j]
                u_1 = U[k, 1, j]
                u_2 = U[k, 2, j]
                x_0 = E_0 * u_0 + E_1 * u_1 + E_3 * u_2
                x_1 = E_1 * u_0 + E_2 * u_1 + E_4 * u_2
                x_2 = E_3 * u_0 + E_4 * u_1 + E_5 * u_2
                W[k, 0, j] = x_0
                W[k, 1, j] = x_1
                W[k, 2, j] = x_2
                for i in range(j, 3):
                    D[k + 1, i, j] -= U[k, 0, i] * x_0 + U[k, 1, i] * x_1 + U[k, 2, i] * x_2
                b[k + 1, j] -= u_0 * z_0 + u_1 * z_1 + u_2 * z_2
    E_0, E_1, E_2, E_3, E_4, E_5 = _inverse(D, last)
    b_0 = b[last, 0]
    b_1 = b[last, 1]
    b_2 = b[last, 2]
    z_0 = E_0 * b_0 + E_1 * b_1 + E_3 * b_2
    z_1 = E_1 * b_0 + E_2 * b_1 + E_4 * b_2
    z_2 = E_3 * b_0 + E_4 * b_1 + E_5 * b_2
    b[last, 0] = z_0
    b[last, 1] = z_1
    b[last, 2] = z_2
    x_0 = 0.0
    x_1 = 0.0
    x_2 = 0.0
    for k in range(last - 1, -1, -1):
        w = W[k]
        v = X[k]
        b_0 = b[k, 0] - (v[0, 0] * z_0 + v[0, 1] * z_1 + v[0, 2] * z_2)
        b_1 = b[k, 1] - (v[1, 0] * z_0 + v[1, 1] * z_1 + v[1, 2] * z_2)
        b_2 = b[k, 2] - (v[2, 0] * z_0 + v[2, 1] * z_1 + v[2, 2] * z_2)
        if k < last - 1:
            b_0 -= w[0, 0] * x_0 + w[0, 1] * x_1 + w[0, 2] * x_2
            b_1 -= w[1, 0] * x_0 + w[1, 1] * x_1 + w[1, 2] * x_2
            b_2 -= w[2, 0] * x_0 + w[2, 1] * x_1 + w[2, 2] * x_2
        b[k, 0] = b_0
        b[k, 1] = b_1
        b[k, 2] = b_2
        x_0 = b_0
        x_1 = b_1
        x_2 = b_2
