"""Geometry: radii matrix R(theta) and the free speeds Q1(theta), as real-time kernels.

Every function of theta has its first and, where a Jacobian is needed, its second derivative to theta along
(a jet), so that the rate ``dQ1/dt = Q1' theta'`` and the Jacobian are exact. With the dependent speeds (D) and the
independent ones (I) separated::

    R_D Q_D = -R_I,    R_D Q_D' = -R' Q1,    R_D Q_D'' = -(R'' Q1 + 2 R' Q1')

the first being eq. (7), the others its derivatives (``dR/dt Q1 + R dQ1/dt = 0``). The entries of R are computed by a
tape of instructions, each of which writes one register.
"""

import math

from rtcvt.kernel import kernel
from rtcvt.numerics.elementary import cos, sin
from rtcvt.numerics.linalg import lu, lu_solve
from rtcvt.pog import places
from rtcvt.pog.layout import D, Entry, GearVector, Instruction, Op


@kernel
def run_tape(first, last, theta, p, data, work):
    """Compute registers `first` to `last` - 1, each with its two derivatives to theta."""
    for k in range(first, last):
        row = places.instruction(k, data)
        op = places.number(row + Instruction.OPERATION, data)
        one = places.number(row + Instruction.FIRST, data)
        a = places.register(one, data)
        b = places.register(places.number(row + Instruction.SECOND, data), data)
        o = places.register(k, data)
        if op == Op.PARAMETER or op == Op.CONSTANT:
            work[o] = p[one] if op == Op.PARAMETER else data[one]
            work[o + 1] = 0.0
            work[o + 2] = 0.0
        elif op == Op.THETA:
            work[o] = theta
            work[o + 1] = 1.0
            work[o + 2] = 0.0
        elif op == Op.ADD:
            for i in range(3):
                work[o + i] = work[a + i] + work[b + i]
        elif op == Op.SUB:
            for i in range(3):
                work[o + i] = work[a + i] - work[b + i]
        elif op == Op.MUL:
            work[o] = work[a] * work[b]
            work[o + 1] = work[a + 1] * work[b] + work[a] * work[b + 1]
            work[o + 2] = work[a + 2] * work[b] + 2.0 * work[a + 1] * work[b + 1] + work[a] * work[b + 2]
        elif op == Op.DIV:
            work[o] = work[a] / work[b]
            work[o + 1] = (work[a + 1] - work[o] * work[b + 1]) / work[b]
            work[o + 2] = (work[a + 2] - 2.0 * work[o + 1] * work[b + 1] - work[o] * work[b + 2]) / work[b]
        elif op == Op.NEG:
            for i in range(3):
                work[o + i] = -work[a + i]
        elif op == Op.SIN or op == Op.COS:
            s = sin(work[a])
            c = cos(work[a])
            f = s if op == Op.SIN else c
            df = c if op == Op.SIN else -s
            work[o] = f
            work[o + 1] = df * work[a + 1]
            work[o + 2] = df * work[a + 2] - f * work[a + 1] * work[a + 1]
        elif op == Op.SQRT:
            work[o] = math.sqrt(work[a])
            work[o + 1] = 0.5 * work[a + 1] / work[o]
            work[o + 2] = (0.5 * work[a + 2] - work[o + 1] * work[o + 1]) / work[o]


@kernel
def load_entries(first, last, data, work):
    """Copy registers into entries `first` to `last` - 1 of R and R'."""
    for k in range(first, last):
        row = places.entry(k, data)
        contact = places.number(row + Entry.CONTACT, data)
        gear = places.number(row + Entry.GEAR, data)
        value = places.register(places.number(row + Entry.REGISTER, data), data)
        work[places.contact_row(0, contact, data) + gear] = work[value]
        work[places.contact_row(1, contact, data) + gear] = work[value + 1]


@kernel
def fixed_radii(p, data, work):
    """R where it depends on parameters alone."""
    run_tape(0, places.number(D.TAPE_FIXED, data), 0.0, p, data, work)
    load_entries(0, places.number(D.ENTRY_FIXED, data), data, work)


@kernel
def moving_radii(theta, p, data, work):
    """R where it depends on `theta` [rad]. Call `fixed_radii` first."""
    run_tape(places.number(D.TAPE_FIXED, data), places.number(D.TAPE_END, data), theta, p, data, work)
    load_entries(places.number(D.ENTRY_FIXED, data), places.number(D.ENTRY_END, data), data, work)


@kernel
def solve_speeds(derivatives, data, work):
    """Q1 and its first `derivatives` derivatives from those of R; the LU of R_D remains in `work`."""
    n_K = places.contacts(data)
    RD = places.dependent(data)
    v = places.gear_vector(GearVector.SCRATCH, data)
    for k in range(n_K):
        R = places.contact_row(0, k, data)
        for j in range(n_K):
            work[RD + k * n_K + j] = work[R + places.ordered(j, data)]
    lu(n_K, work, RD, places.dependent_pivots(data))
    for c in range(places.independents(data)):
        own = places.ordered(n_K + c, data)
        for d in range(derivatives + 1):
            for k in range(n_K):
                work[v + k] = -work[places.contact_row(0, k, data) + own] if d == 0 else 0.0
            if d > 0:
                # entries that do not depend on theta have no derivatives
                for k in range(places.number(D.ENTRY_FIXED, data), places.number(D.ENTRY_END, data)):
                    row = places.entry(k, data)
                    gear = places.number(row + Entry.GEAR, data)
                    dR = places.register(places.number(row + Entry.REGISTER, data), data) + 1
                    s = d * work[dR] * work[places.gear_row(d - 1, gear, data) + c]
                    if d == 2:
                        s += work[dR + 1] * work[places.gear_row(0, gear, data) + c]
                    contact = places.number(row + Entry.CONTACT, data)
                    if contact < n_K:  # not a row of S
                        work[v + contact] -= s
            lu_solve(n_K, work, RD, places.dependent_pivots(data), v)
            for j in range(n_K):
                work[places.gear_row(d, places.ordered(j, data), data) + c] = work[v + j]
