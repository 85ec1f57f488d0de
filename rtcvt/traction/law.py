"""Traction of one contact in real time: force and moment from speeds, radius and normal force, with their derivatives.

With v the speed of creep, sigma the spin, u the rolling speed, r the disc's radius and N the normal force of one roller
(symbols as in `rtcvt.traction.contact`; w = N^(1/3), fields of r for 1 N with an index 1)::

    u_r = sqrt(u^2 + u_min^2),   f = (u_r/u_0)^(2/3),   c_1 = L_11 w + H f,   c_3 = L_31 w + H f,   m = m_1 w
    J_1 = A v/(u_r Lambda c_1),   J_3 = A m sigma/(u_r Lambda c_3),   A = a/p_0
    F = Lambda N G(J_1, J_3, k),   M = Lambda N m H(J_1, J_3, k)                             (`rtcvt.traction.table`)

The film is as warm as if all of it slid: ``q = Lambda N w_s/(pi a b)`` with ``w_s^2 = v^2 + (m sigma)^2 + w_min^2``, so
that Lambda follows in closed form,

    g Lambda^2 + Lambda = Lambda_0,    g = (2/3) beta p_0 w_s Theta.

Below u_min the creep is over u_min: at standstill the contact is a damper.
"""

import math

import numpy as np

from rtcvt.kernel import kernel
from rtcvt.numerics.elementary import cube_root
from rtcvt.table import Places
from rtcvt.traction.contact import CHI_STEEL, K_STEEL, Drawing, Fluid
from rtcvt.traction.hertz import compliances
from rtcvt.traction.size import N_FIELD, SCRATCH
from rtcvt.traction.table import from_table, read_table, three
from rtcvt.variator.reduced.splines import sites, splines_through

N_R = 16  # splines along the radius of the disc
U_MIN = 0.02  # [m/s]
W_MIN = 1e-4  # [m/s]
N_MIN = 1.0  # least normal force [N]


class Of(Places):
    """Numbers of a drawing and its fluid in ``data``."""

    BETA = "of the softening [1/K]"
    H = "compliance of the film at u_0 [m/Pa]"
    PER_U2 = "1/u_0^2 [s2/m2]"
    THETA = "warming of the film at u_0 [K.m2/W]"
    R_MIN = "radius at the first end of the fields [m]"
    PER_R = "their cells by its change [1/m]"
    FIELDS = "`Field` by splines; the coefficients of the ellipse follow"


class Field(Places):
    """Fields over the disc's radius, for a normal force of 1 N."""

    A = "a/p_0 [m/Pa]"
    L_1 = "compliance of steel for creep [m/Pa]"
    L_3 = "compliance of steel for spin [m/Pa]"
    ARM = "m [m]"
    P_0 = "largest pressure [Pa]"
    WARMING = "of the surfaces at 1 m/s [K.m2/W]"
    LN_K = "ln k"


ELLIPSE = Of.FIELDS + N_FIELD * N_R


class Argument(Places):
    """What `law_arguments` leaves for the others, with symbols as above."""

    J_1 = "J_1"
    J_3 = "J_3"
    BY_V = "A/(u_r Lambda c_1), J_1 by v"
    BY_SLID = "A/(u_r Lambda c_3), J_3 by m sigma"
    ARM = "m"
    W = "w"
    FILM = "H f"
    PER_C_1 = "1/c_1"
    PER_C_3 = "1/c_3"
    PER_U = "u/u_r^2"
    SURFACES = "share of the surfaces in Theta"
    PER_SQUARE = "1/w_s^2"
    SOFTENING = "g/sqrt(1 + 4 g Lambda_0)"


# in `out`: F [N], M [N.m] and Lambda, each with its derivatives by v, sigma, u, r and N after it; p_0 [Pa]; scratch
F, M, LAMBDA, P_0 = 0, 6, 12, 18
FIELDS = SCRATCH + 8 + 18
ARGUMENTS = FIELDS + 2 * N_FIELD


def law_numbers(drawing: Drawing, fluid: Fluid, r_min: float, r_max: float) -> list[float]:
    """The numbers of `Of` with the coefficients after them, for radii of the disc from r_min to r_max [m]."""
    radii = r_min + 0.5 * (sites(N_R) + 1.0) * (r_max - r_min)
    rows = []
    for r in radii:
        e = drawing.ellipse(float(r))
        one, _, three_ = compliances(e.a, e.b)
        surfaces = 2.0 / 3.0 * math.sqrt(2.0 * e.a * CHI_STEEL / math.pi) / K_STEEL
        rows.append(
            [e.a / e.p_0, one, three_, math.sqrt((e.a**2 + e.b**2) / 5.0), e.p_0, surfaces, math.log(e.a / e.b)]
        )
    fields = splines_through(np.array(rows), 1)
    per_r = (N_R - 2) / (r_max - r_min)
    head = [fluid.beta, fluid.H, 1.0 / fluid.u_0**2, fluid.h / (8.0 * fluid.k_f), r_min, per_r]
    return [*head, *fields.ravel().tolist(), *read_table()]


@kernel
def fields_at(derivatives, r, at, data, out):
    """`Field` at a radius, with `derivatives` these behind them, into ``out[SCRATCH:]``."""
    first = SCRATCH + 8
    cell = three(N_R - 2, (r - data[at + Of.R_MIN]) * data[at + Of.PER_R], out[first : first + 6])
    for d in range(derivatives + 1):
        scale = 1.0 if d == 0 else data[at + Of.PER_R]
        one = scale * out[first + 3 * d]
        two = scale * out[first + 3 * d + 1]
        last = scale * out[first + 3 * d + 2]
        for i in range(N_FIELD):
            c = at + Of.FIELDS + cell * N_FIELD + i
            out[FIELDS + d * N_FIELD + i] = one * data[c] + two * data[c + N_FIELD] + last * data[c + 2 * N_FIELD]


@kernel
def law_arguments(derivatives, v, sigma, u, r, N, Lambda_0, at, data, out):
    """`Lambda`, p_0 and `Argument` of a contact; `at` is the place of `law_numbers` in `data`. See `contact_law`."""
    fields_at(derivatives, r, at, data, out)
    w = cube_root(N)
    square = u * u + U_MIN * U_MIN
    f = cube_root(square * data[at + Of.PER_U2])
    per_u_r = 1.0 / math.sqrt(square)
    film = data[at + Of.H] * f
    c_1 = out[FIELDS + Field.L_1] * w + film
    c_3 = out[FIELDS + Field.L_3] * w + film
    m = out[FIELDS + Field.ARM] * w
    p_0 = out[FIELDS + Field.P_0] * w
    surfaces = out[FIELDS + Field.WARMING] * math.sqrt(w * per_u_r)
    Theta = data[at + Of.THETA] * f + surfaces
    slid = m * sigma
    w_s = math.sqrt(v * v + slid * slid + W_MIN * W_MIN)
    g = 2.0 / 3.0 * data[at + Of.BETA] * Theta * p_0 * w_s
    root = math.sqrt(1.0 + 4.0 * g * Lambda_0)
    both = out[FIELDS + Field.A] * per_u_r * (1.0 + root) / (2.0 * Lambda_0 * c_1 * c_3)
    out[LAMBDA] = 2.0 * Lambda_0 / (1.0 + root)
    out[P_0] = p_0
    out[ARGUMENTS + Argument.J_1] = both * c_3 * v
    out[ARGUMENTS + Argument.J_3] = both * c_1 * slid
    out[ARGUMENTS + Argument.BY_V] = both * c_3
    out[ARGUMENTS + Argument.BY_SLID] = both * c_1
    out[ARGUMENTS + Argument.ARM] = m
    out[ARGUMENTS + Argument.W] = w
    out[ARGUMENTS + Argument.FILM] = film
    out[ARGUMENTS + Argument.PER_C_1] = 1.0 / c_1
    out[ARGUMENTS + Argument.PER_C_3] = 1.0 / c_3
    out[ARGUMENTS + Argument.PER_U] = u * per_u_r * per_u_r
    out[ARGUMENTS + Argument.SURFACES] = surfaces / Theta
    out[ARGUMENTS + Argument.PER_SQUARE] = 1.0 / (w_s * w_s)
    out[ARGUMENTS + Argument.SOFTENING] = g / root


@kernel
def law_forces(derivatives, N, at, data, out):
    """Force and moment from `law_arguments`, with `derivatives` also the table's."""
    J_1 = out[ARGUMENTS + Argument.J_1]
    J_3 = out[ARGUMENTS + Argument.J_3]
    table = out[SCRATCH : SCRATCH + 8]
    from_table(derivatives, J_1, J_3, out[FIELDS + Field.LN_K], at + ELLIPSE, data, table, out[SCRATCH + 8 :])
    out[F] = out[LAMBDA] * N * out[SCRATCH]
    out[M] = out[LAMBDA] * N * out[ARGUMENTS + Argument.ARM] * out[SCRATCH + 4]


@kernel
def law_derivatives(v, sigma, N, out):
    """Derivatives of F, M and Lambda, from `law_arguments` and `law_forces` with theirs."""
    by = FIELDS + N_FIELD
    G = out[SCRATCH]
    H = out[SCRATCH + 4]
    Lambda = out[LAMBDA]
    J_1 = out[ARGUMENTS + Argument.J_1]
    J_3 = out[ARGUMENTS + Argument.J_3]
    m = out[ARGUMENTS + Argument.ARM]
    per_u = out[ARGUMENTS + Argument.PER_U]
    per_square = out[ARGUMENTS + Argument.PER_SQUARE]
    per_c_1 = out[ARGUMENTS + Argument.PER_C_1]
    per_c_3 = out[ARGUMENTS + Argument.PER_C_3]
    film = out[ARGUMENTS + Argument.FILM]
    w = out[ARGUMENTS + Argument.W]
    slid = m * sigma
    surfaces = out[ARGUMENTS + Argument.SURFACES]
    per_r = 0.5 * surfaces  # of half of the logarithm of the surfaces' share
    third = 1.0 / (3.0 * N)
    for i in range(5):  # logarithmic derivatives of A, m, c_1, c_3, g and u_r
        A_i = 0.0
        m_i = 0.0
        c_1_i = 0.0
        c_3_i = 0.0
        g_i = 0.0
        u_i = 0.0
        k_i = 0.0
        if i == 0:
            g_i = v * per_square
        elif i == 1:
            g_i = slid * m * per_square
        elif i == 2:
            u_i = per_u
            f_i = 2.0 / 3.0 * per_u
            c_1_i = film * f_i * per_c_1
            c_3_i = film * f_i * per_c_3
            g_i = (1.0 - surfaces) * f_i - per_r * per_u
        elif i == 3:
            A_i = out[by + Field.A] / out[FIELDS + Field.A]
            m_i = out[by + Field.ARM] / out[FIELDS + Field.ARM]
            c_1_i = out[by + Field.L_1] * w * per_c_1
            c_3_i = out[by + Field.L_3] * w * per_c_3
            k_i = out[by + Field.LN_K]
            g_i = out[by + Field.P_0] / out[FIELDS + Field.P_0] + slid * slid * m_i * per_square
            g_i += 2.0 * per_r * out[by + Field.WARMING] / out[FIELDS + Field.WARMING]
        else:
            m_i = third
            c_1_i = third * out[FIELDS + Field.L_1] * w * per_c_1
            c_3_i = third * out[FIELDS + Field.L_3] * w * per_c_3
            g_i = third * (1.0 + per_r + slid * slid * per_square)
        Lambda_i = -Lambda * out[ARGUMENTS + Argument.SOFTENING] * g_i
        common = A_i - u_i - Lambda_i
        by_1 = J_1 * (common - c_1_i)
        by_3 = J_3 * (common + m_i - c_3_i)
        if i == 0:
            by_1 = by_1 + out[ARGUMENTS + Argument.BY_V]
        elif i == 1:
            by_3 = by_3 + out[ARGUMENTS + Argument.BY_SLID] * m
        out[LAMBDA + 1 + i] = Lambda * Lambda_i
        if i == 4:
            Lambda_i = Lambda_i + 3.0 * third
        G_i = out[SCRATCH + 1] * by_1 + out[SCRATCH + 2] * by_3 + out[SCRATCH + 3] * k_i
        H_i = out[SCRATCH + 5] * by_1 + out[SCRATCH + 6] * by_3 + out[SCRATCH + 7] * k_i
        out[F + 1 + i] = Lambda * N * (G_i + G * Lambda_i)
        out[M + 1 + i] = Lambda * N * m * (H_i + H * (Lambda_i + m_i))


@kernel
def contact_law(derivatives, v, sigma, u, r, N, Lambda_0, at, data, out):
    """Write force, moment and further results of a contact into `out` (`LAW_SIZE` numbers); with `derivatives` 1 or 0.

    `at` is the place of `law_numbers` in `data`. Its parts are kernels of their own: those of several contacts do not
    wait for each other.
    """
    law_arguments(derivatives, v, sigma, u, r, N, Lambda_0, at, data, out)
    law_forces(derivatives, N, at, data, out)
    if derivatives != 0:
        law_derivatives(v, sigma, N, out)
