"""Table of the traction of a contact ellipse: quadratic splines along three coordinates, as a real-time kernel.

In units of Lambda N the force along the rolling direction, and in Lambda N m the moment about the normal, follow from
dimensionless creep J_1, spin J_3 and the ratio k = a/b of the half axes (`rtcvt.offline.toroidal.ellipse`), J_3 being
by the arm ``m = sqrt((a^2 + b^2)/5)`` in place of b. With ``J^2 = J_1^2 + J_3^2``::

    F = J_1/S G(q, d, ln k),    M = J_3/S H(q, d, ln k),    S = sqrt(J^2 + c^2),    q = J^2/S^2,    d = (J_1/J)^2

so that both are total, have the symmetry of the ellipse, and are as smooth where creep or spin change their signs. Far
from zero they depend on the direction alone, as those of a fluid that is plastic all over.
"""

import math
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files.hdf5 import open_sealed
from rtcvt.kernel import kernel
from rtcvt.recording import new_hdf5

Array = NDArray[np.float64]

SEAL = b"rtcvt traction 1"
SHAPE = (7, 20, 20)  # splines along ln k, d and q
RATIOS = (0.08, 2.5)  # least and largest k; beyond as there
HALF = 3.0  # c
SHIPPED = Path(__file__).with_name("ellipse.h5")


def write_table(coefficients: Array, path: Path) -> None:
    """Write coefficients (*SHAPE, 2).

    Raises
    ------
    InputError
        The file cannot be written.
    """
    with new_hdf5(path, SEAL) as file:
        file.attrs.update(schema_version=1, kind="traction of a contact ellipse")
        data = file.create_dataset("coefficients", data=coefficients.astype(np.float32), compression="gzip")
        data.attrs["units"] = "1"
        data.attrs["description"] = "splines along ln k, d and q, of G and H"


@cache
def read_table(path: Path = SHIPPED) -> tuple[float, ...]:
    """Coefficients in one row.

    Raises
    ------
    InputError
        Not such a file, or of another shape.
    """
    with open_sealed(path, SEAL, "table of traction") as file:
        found = np.asarray(file["coefficients"], dtype=float)
    if found.shape != (*SHAPE, 2) or not np.isfinite(found).all():
        raise InputError(str(path), "coefficients", found.shape, f"finite numbers of shape {(*SHAPE, 2)}")
    return tuple(found.ravel().tolist())


N_K, N_D, N_Q = SHAPE
LN_K_0 = math.log(RATIOS[0])
PER_LN_K = (N_K - 2) / math.log(RATIOS[1] / RATIOS[0])


@kernel
def three(cells, x, out):
    """Weights of the three quadratic splines at x of `cells` cells, then their derivatives; returns the first one."""
    at = 0
    if x >= cells:
        at = cells - 1
        x = 1.0 * cells
    elif x > 0.0:
        at = int(x)
        if at > cells - 1:
            at = cells - 1
    else:
        x = 0.0
    r = x - at
    s = 1.0 - r
    out[0] = 0.5 * s * s
    out[1] = 0.5 + r * s
    out[2] = 0.5 * r * r
    out[3] = -s
    out[4] = s - r
    out[5] = r
    return at


@kernel
def from_table(derivatives, J_1, J_3, ln_k, first, data, out, work):
    """Force and its derivatives to J_1, J_3 and ln k, then the moment and its, into `out` (8 numbers).

    With `derivatives` 0 force and moment alone, of the same bits. `first` is the place of the coefficients in `data`;
    `work` has 18 numbers of scratch.
    """
    square = J_1 * J_1 + J_3 * J_3
    inverse = 1.0 / (square + HALF * HALF)
    by = math.sqrt(inverse)
    per_square = 0.0  # both functions are constant around zero
    d = 1.0
    if square > 1e-30:
        per_square = 1.0 / square
        d = J_1 * J_1 * per_square
    i_k = three(N_K - 2, (ln_k - LN_K_0) * PER_LN_K, work[0:6])
    i_d = three(N_D - 2, d * (N_D - 2), work[6:12])
    i_q = three(N_Q - 2, square * inverse * (N_Q - 2), work[12:18])
    q_0 = work[12]
    q_1 = work[13]
    q_2 = work[14]
    G = 0.0
    G_q = 0.0
    G_d = 0.0
    G_k = 0.0
    H = 0.0
    H_q = 0.0
    H_d = 0.0
    H_k = 0.0
    for a in range(3):
        for b in range(3):
            c = first + 2 * (((i_k + a) * N_D + i_d + b) * N_Q + i_q)
            weight = work[a] * work[6 + b]
            g = q_0 * data[c] + q_1 * data[c + 2] + q_2 * data[c + 4]
            h = q_0 * data[c + 1] + q_1 * data[c + 3] + q_2 * data[c + 5]
            G += weight * g
            H += weight * h
            if derivatives != 0:
                G_q += weight * (work[15] * data[c] + work[16] * data[c + 2] + work[17] * data[c + 4])
                H_q += weight * (work[15] * data[c + 1] + work[16] * data[c + 3] + work[17] * data[c + 5])
                by_d = work[a] * work[9 + b]
                G_d += by_d * g
                H_d += by_d * h
                by_k = work[3 + a] * work[6 + b]
                G_k += by_k * g
                H_k += by_k * h
    out[0] = by * J_1 * G
    out[4] = by * J_3 * H
    if derivatives == 0:
        return
    q_by = 2.0 * HALF * HALF * inverse * inverse * (N_Q - 2)  # over J_1 or J_3
    d_by = 2.0 * J_1 * J_3 * per_square * per_square * (N_D - 2)  # over J_3, or over -J_1
    out[1] = by * (J_1 * (G_q * q_by * J_1 + G_d * d_by * J_3 - G * inverse * J_1) + G)
    out[2] = by * J_1 * (G_q * q_by * J_3 - G_d * d_by * J_1 - G * inverse * J_3)
    out[3] = by * J_1 * G_k * PER_LN_K
    out[5] = by * J_3 * (H_q * q_by * J_1 + H_d * d_by * J_3 - H * inverse * J_1)
    out[6] = by * (J_3 * (H_q * q_by * J_3 - H_d * d_by * J_1 - H * inverse * J_3) + H)
    out[7] = by * J_3 * H_k * PER_LN_K
