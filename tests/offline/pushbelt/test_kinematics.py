"""Closure against printed radii and its own equations; path against circles, lines and quadrature."""

import numpy as np
import pytest
from rows import cases

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit import kinematics

LENGTH, D_A = 0.66092, 0.155
TAN_D = np.tan(np.radians(11.0))


@cases
def test_radii_of_the_unit(ratio, r_I, r_O, wrap_I):
    c = kinematics.closure(LENGTH, D_A, ratio)
    assert c.r_I * 1e3 == pytest.approx(r_I, abs=6e-3)
    assert c.r_O * 1e3 == pytest.approx(r_O, abs=6e-3)
    assert np.degrees(c.wrap_I) == pytest.approx(wrap_I, abs=0.06)
    assert c.wrap_I + c.wrap_O == pytest.approx(2 * np.pi, abs=1e-14)


@pytest.mark.parametrize("ratio", [0.42, 0.5, 0.999999, 1.0, 1.9, 2.4])
@pytest.mark.parametrize("offset", [0.0, 1.925e-3])
def test_closure_satisfies_the_equations(ratio, offset):
    c = kinematics.closure(LENGTH, D_A, ratio, offset)
    assert c.length == pytest.approx(LENGTH, abs=1e-15)
    assert c.r_I == pytest.approx(c.r_O + np.cos(c.phi) * D_A, abs=1e-15)
    assert (c.r_O - offset) / (c.r_I - offset) == pytest.approx(ratio, rel=1e-12)
    # (4.39)
    assert 2 * (np.sin(c.phi) * D_A + c.r_O * np.pi + np.cos(c.phi) * D_A * (np.pi - c.phi)) == pytest.approx(
        LENGTH, abs=1e-14
    )


def test_misalignment_of_the_unit():
    r_1 = kinematics.radius_at_one(LENGTH, D_A)
    assert kinematics.closure(LENGTH, D_A, 1.0).r_O == pytest.approx(r_1, abs=1e-15)
    for ratio, expected in ((0.5, 0.53e-3), (1.0, 0.0), (2.4, 0.79e-3)):
        c = kinematics.closure(LENGTH, D_A, ratio)
        assert kinematics.misalignment(c.r_I, c.r_O, r_1, TAN_D) == pytest.approx(expected, abs=6e-6)
    # an offset of -0.39 mm centres it
    ends = [
        kinematics.misalignment(c.r_I, c.r_O, r_1, TAN_D, -0.39e-3)
        for c in (kinematics.closure(LENGTH, D_A, i) for i in (1.0, 2.4))
    ]
    assert ends == pytest.approx([-0.39e-3, 0.40e-3], abs=6e-6)


def test_a_belt_that_is_too_short_is_refused():
    with pytest.raises(InputError, match=r"i_r = 1.0: .*closes"):
        kinematics.closure(0.3, D_A, 1.0)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.4])
def test_path_lies_on_circles_and_common_tangents(ratio):
    c = kinematics.closure(LENGTH, D_A, ratio)
    path = kinematics.belt_path(c, D_A)
    assert path.length == pytest.approx(LENGTH, abs=1e-14)
    assert path.point[-1] == pytest.approx(path.point[0], abs=1e-15)
    assert path.psi[-1] == pytest.approx(path.psi[0] - 2 * np.pi, abs=1e-13)
    p = kinematics.evaluate(path, np.linspace(0.0, path.length, 1001)[:-1])
    on_I, on_O = p.section == kinematics.PRIMARY, p.section == kinematics.SECONDARY
    assert np.hypot(p.x[on_I] - D_A, p.y[on_I]) == pytest.approx(c.r_I, abs=1e-14)
    assert np.hypot(p.x[on_O], p.y[on_O]) == pytest.approx(c.r_O, abs=1e-14)
    # clockwise: outward normal (cos th, sin th), tangent (sin th, -cos th)
    th = np.arctan2(p.y[on_I], p.x[on_I] - D_A)
    assert np.cos(p.psi[on_I]) == pytest.approx(np.sin(th), abs=1e-13)
    assert np.sin(p.psi[on_I]) == pytest.approx(-np.cos(th), abs=1e-13)
    # the upper strand runs from O to I, the lower one back, each r_O from O on the left of the direction of travel
    for section, sign in ((kinematics.UPPER, 1.0), (kinematics.LOWER, -1.0)):
        k = p.section == section
        assert np.all(np.sign(np.cos(p.psi[k])) == sign)
        assert -np.sin(p.psi[k]) * p.x[k] + np.cos(p.psi[k]) * p.y[k] == pytest.approx(c.r_O, abs=1e-14)
        assert np.all(p.kappa[k] == 0.0)


def test_points_follow_the_tangent_and_a_second_turn_repeats_the_first():
    path = kinematics.belt_path(kinematics.closure(LENGTH, D_A, 1.9), D_A)
    s = np.linspace(1e-3, path.length, 40, endpoint=False)
    h = 1e-6
    a, b, m = kinematics.evaluate(path, s - h), kinematics.evaluate(path, s + h), kinematics.evaluate(path, s)
    assert (b.x - a.x) / (2 * h) == pytest.approx(np.cos(m.psi), abs=2e-5)
    assert (b.y - a.y) / (2 * h) == pytest.approx(np.sin(m.psi), abs=2e-5)
    again = kinematics.evaluate(path, s + path.length)
    assert again.x == pytest.approx(m.x, abs=1e-14)
    assert again.psi == pytest.approx(m.psi - 2 * np.pi, abs=1e-12)


def test_chain_of_a_circle_and_of_a_line():
    circle = kinematics.chain((0.0, 1.0), 0.0, (np.pi, np.pi), (-1.0, -1.0), (0, 0))
    p = kinematics.evaluate(circle, np.linspace(0.0, 6.0, 13))
    assert np.hypot(p.x, p.y) == pytest.approx(1.0, abs=1e-15)
    line = kinematics.chain((1.0, 2.0), np.pi / 6, (3.0,), (0.0,), (0,))
    assert line.point[1] == pytest.approx((1.0 + 3.0 * np.cos(np.pi / 6), 3.5), abs=1e-15)
