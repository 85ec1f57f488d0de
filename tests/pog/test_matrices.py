"""R, Q1 and B_delta_omega of the paper's systems, symbolically, from the geometry in the shipped unit files."""

import sympy as sp

from rtcvt.kind import load_unit
from rtcvt.pog.friction import friction_signs
from rtcvt.pog.radii import radii_matrix


def symbols_of(unit):
    return {k: sp.Symbol(k, positive=True) for k in unit.parameters} | {
        k: sp.Symbol(k, real=True) for k in unit.variables
    }


def symbolic_R(unit, values):
    entries = radii_matrix(unit)
    rows, columns = list(unit.contacts), list(unit.gears)
    R = sp.zeros(len(rows), len(columns))
    for (contact, gear), e in entries.items():
        R[rows.index(contact), columns.index(gear)] = sp.nsimplify(e.evaluate(values, sp))
    return sp.simplify(R)


def symbolic_Q1(R, gears, independent):
    free = [gears.index(g) for g in independent]
    others = [i for i in range(len(gears)) if i not in free]
    solved = -R[:, others].inv() * R[:, free]
    Q1 = sp.zeros(len(gears), len(free))
    for k, i in enumerate(others):
        Q1[i, :] = solved[k, :]
    for k, i in enumerate(free):
        Q1[i, k] = 1
    return sp.simplify(Q1)


def assert_equal(a, b):
    assert sp.simplify(a - b) == sp.zeros(*a.shape)


def test_differential_eqs_17_and_18():
    unit = load_unit("differential")
    s = symbols_of(unit)
    r_a, r_b, r_c, r_e = (s[k] for k in ("r_a", "r_b", "r_c", "r_e"))
    R = symbolic_R(unit, s)
    assert_equal(R, sp.Matrix([[r_a, 0, 0, 0, -r_e], [0, -r_b, -r_c, 0, r_b], [0, 0, r_c, -r_b, r_b]]))
    Q1 = symbolic_Q1(R, list(unit.gears), unit.rigid.independent)
    half = sp.Rational(1, 2)
    ratio, planet = r_e / (2 * r_a), r_b / (2 * r_c)
    assert_equal(Q1, sp.Matrix([[ratio, ratio], [1, 0], [-planet, planet], [0, 1], [half, half]]))


def test_toroidal_variator_eqs_20_and_21():
    unit = load_unit("toroidal_kers")
    s = symbols_of(unit)
    r_b1, r_b2, r_c, r_d, theta = (s[k] for k in ("r_b1", "r_b2", "r_c", "r_d", "theta"))
    R = symbolic_R(unit, s)
    r_bt, r_at = r_b1 + r_c * sp.sin(theta), r_b1 - r_c * sp.sin(theta)
    assert_equal(R, sp.Matrix([[0, r_bt, -r_c, 0], [-r_at, 0, r_c, 0], [0, -r_b2, 0, r_d]]))
    Q1 = symbolic_Q1(R, list(unit.gears), unit.rigid.independent)
    assert_equal(Q1, sp.Matrix([r_d * r_bt / (r_b2 * r_at), r_d / r_b2, r_d * r_bt / (r_b2 * r_c), 1]))


def test_oblique_differential_eqs_13_and_14():
    """The paper's r_g1 has two expressions, equal by its closure, which eliminates r_e here."""
    unit = load_unit("oblique_differential")
    s = symbols_of(unit)
    r_a, r_b, r_c, r_d, r_f, r_g, theta = (s[k] for k in ("r_a", "r_b", "r_c", "r_d", "r_f", "r_g", "theta"))
    cos = sp.cos(theta)
    r_e = (r_b + r_c * cos - r_f) / cos
    R = symbolic_R(unit, s).subs(s["r_e"], r_e)
    r_g1, r_g2 = r_b + r_c * cos, r_b + 2 * r_c * cos
    step = r_g2 - r_g1
    printed = [[-r_a, 0, 0, 0, 0, 0, -r_g], [0, -r_b, -r_c, 0, 0, 0, r_g1], [0, 0, -r_c, -r_d, 0, 0, step],
        [0, 0, 0, r_d, r_e, 0, step], [0, 0, 0, 0, r_e, -r_f, r_g1]]  # fmt: skip
    # the contact de is at the height r_f + 2 r_e cos(theta); the paper's second closure makes it r_g2, so r_b = r_f
    equal = {r_f: r_b}
    assert_equal(R.subs(equal), sp.Matrix(printed).subs(equal))
    Q1 = symbolic_Q1(sp.Matrix(printed), list(unit.gears), unit.rigid.independent)
    n = r_b + r_f
    expected = [
        [-r_b * r_g / (r_a * n), -r_f * r_g / (r_a * n)],
        [1, 0],
        [-r_b * (r_f - r_c * cos) / (r_c * n), r_f * (r_b + r_c * cos) / (r_c * n)],
        [r_b * r_f / (r_d * n), -r_b * r_f / (r_d * n)],
        [-r_b * (r_f + r_c * cos) / (r_e * n), r_f * (r_b - r_c * cos) / (r_e * n)],
        [0, 1],
        [r_b / n, r_f / n],
    ]
    assert_equal(Q1.subs(equal), sp.Matrix(expected).subs(equal))


def test_relative_friction_eq_16():
    signs = friction_signs(load_unit("differential"))
    assert signs == {"eb": -1.0, "ed": -1.0}
