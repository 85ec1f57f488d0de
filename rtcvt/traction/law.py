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
from rtcvt.numerics.elementary import exp, log
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
    U_0 = "u_0 [m/s]"
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


# in `out`: F [N], M [N.m] and Lambda, each with its derivatives by v, sigma, u, r and N after it; p_0 [Pa]; scratch
F, M, LAMBDA, P_0 = 0, 6, 12, 18


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
    head = [fluid.beta, fluid.H, fluid.u_0, fluid.h / (8.0 * fluid.k_f), r_min, per_r]
    return [*head, *fields.ravel().tolist(), *read_table()]


@kernel
def fields_at(r, at, data, out):
    """`Field` at a radius, then their derivatives, into ``out[SCRATCH:]``."""
    first = SCRATCH + 8
    values = first + 18
    weights = out[first : first + 6]
    cell = three(N_R - 2, (r - data[at + Of.R_MIN]) * data[at + Of.PER_R], weights)
    for i in range(N_FIELD):
        c = at + Of.FIELDS + cell * N_FIELD + i
        one = data[c]
        two = data[c + N_FIELD]
        last = data[c + 2 * N_FIELD]
        out[values + i] = weights[0] * one + weights[1] * two + weights[2] * last
        by = weights[3] * one + weights[4] * two + weights[5] * last
        out[values + N_FIELD + i] = by * data[at + Of.PER_R]


@kernel
def contact_law(derivatives, v, sigma, u, r, N, Lambda_0, at, data, out):
    """Write force and moment of a contact and further results to `out` (`LAW_SIZE` numbers); with `derivatives` or 0.

    `at` is the place of `law_numbers` in `data`.
    """
    fields_at(r, at, data, out)
    first = SCRATCH + 26
    by = first + N_FIELD
    w = exp(log(N) / 3.0)
    square = u * u + U_MIN * U_MIN
    f = exp((0.5 * log(square) - log(data[at + Of.U_0])) * (2.0 / 3.0))
    u_r = math.sqrt(square)
    film = data[at + Of.H] * f
    c_1 = out[first + Field.L_1] * w + film
    c_3 = out[first + Field.L_3] * w + film
    m = out[first + Field.ARM] * w
    p_0 = out[first + Field.P_0] * w
    surfaces = out[first + Field.WARMING] * math.sqrt(w / u_r)
    Theta = data[at + Of.THETA] * f + surfaces
    slid = m * sigma
    w_s = math.sqrt(v * v + slid * slid + W_MIN * W_MIN)
    g = 2.0 / 3.0 * data[at + Of.BETA] * Theta * p_0 * w_s
    root = math.sqrt(1.0 + 4.0 * g * Lambda_0)
    Lambda = 2.0 * Lambda_0 / (1.0 + root)
    lead = out[first + Field.A] / (u_r * Lambda)
    J_1 = lead * v / c_1
    J_3 = lead * slid / c_3
    from_table(J_1, J_3, out[first + Field.LN_K], at + ELLIPSE, data, out[SCRATCH : SCRATCH + 8], out[SCRATCH + 8 :])
    G = out[SCRATCH]
    H = out[SCRATCH + 4]
    out[F] = Lambda * N * G
    out[M] = Lambda * N * m * H
    out[LAMBDA] = Lambda
    out[P_0] = p_0
    if derivatives == 0:
        return
    per_square = 1.0 / (w_s * w_s)
    per_u = u / square
    per_r = 0.5 * surfaces / Theta  # of half of the logarithm of the surfaces' share
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
            c_1_i = film * f_i / c_1
            c_3_i = film * f_i / c_3
            g_i = (data[at + Of.THETA] * f * f_i) / Theta - per_r * per_u
        elif i == 3:
            A_i = out[by + Field.A] / out[first + Field.A]
            m_i = out[by + Field.ARM] / out[first + Field.ARM]
            c_1_i = out[by + Field.L_1] * w / c_1
            c_3_i = out[by + Field.L_3] * w / c_3
            k_i = out[by + Field.LN_K]
            g_i = out[by + Field.P_0] / out[first + Field.P_0] + slid * slid * m_i * per_square
            g_i += 2.0 * per_r * out[by + Field.WARMING] / out[first + Field.WARMING]
        else:
            m_i = third
            c_1_i = third * out[first + Field.L_1] * w / c_1
            c_3_i = third * out[first + Field.L_3] * w / c_3
            g_i = third * (1.0 + per_r + slid * slid * per_square)
        Lambda_i = -Lambda * g * g_i / root
        common = A_i - u_i - Lambda_i
        by_1 = J_1 * (common - c_1_i)
        by_3 = J_3 * (common + m_i - c_3_i)
        if i == 0:
            by_1 = by_1 + lead / c_1
        elif i == 1:
            by_3 = by_3 + lead * m / c_3
        out[LAMBDA + 1 + i] = Lambda * Lambda_i
        if i == 4:
            Lambda_i = Lambda_i + 1.0 / N
        G_i = out[SCRATCH + 1] * by_1 + out[SCRATCH + 2] * by_3 + out[SCRATCH + 3] * k_i
        H_i = out[SCRATCH + 5] * by_1 + out[SCRATCH + 6] * by_3 + out[SCRATCH + 7] * k_i
        out[F + 1 + i] = Lambda * N * (G_i + G * Lambda_i)
        out[M + 1 + i] = Lambda * N * m * (H_i + H * (Lambda_i + m_i))
