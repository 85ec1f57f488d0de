"""The taut belt against closed formulas, an independent rubber band, and its own derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import mistakes
from scipy.spatial import ConvexHull

from rtcvt.belt.geometry import belt_path

ACCESSORY = {
    "center": np.array([[0.18, -0.22], [0.0, 0.0], [0.2, 0.05], [0.145, -0.06]]),
    "radius": np.array([0.08, 0.027, 0.056, 0.031]),
    "inside": np.array([True, True, True, False]),
    "winding": -1,
}


def test_two_equal_pulleys_have_half_a_turn_each():
    path = belt_path(np.array([[0.0, 0.0], [0.3, 0.4]]), np.array([0.1, 0.1]), np.array([True, True]))
    assert path.length == pytest.approx(2 * 0.5 + 2 * np.pi * 0.1, rel=1e-14)
    np.testing.assert_allclose(path.wrap, np.pi)


@given(st.floats(0.02, 0.2), st.floats(0.02, 0.2), st.floats(0.01, 1.0), st.sampled_from([-1, 1]))
def test_open_drive_formula(r_1, r_2, gap, winding):
    """L = 2 sqrt(C^2 - (R - r)^2) + pi (R + r) + 2 (R - r) asin((R - r) / C)."""
    distance = r_1 + r_2 + gap
    path = belt_path(np.array([[0.0, 0.0], [distance, 0.0]]), np.array([r_1, r_2]), np.array([True, True]), winding)
    difference = r_1 - r_2
    expected = 2 * np.sqrt(distance**2 - difference**2) + np.pi * (r_1 + r_2)
    expected += 2 * difference * np.arcsin(difference / distance)
    assert path.length == pytest.approx(expected, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 7), st.integers(0, 10**6))
def test_inside_pulleys_are_wrapped_by_their_convex_hull(n, seed):
    """With no back pulley the belt is the hull of the circles; here as the hull of points on them."""
    rng = np.random.default_rng(seed)
    phi = 2 * np.pi * (np.arange(n) + 0.3 * rng.random(n)) / n
    center = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    radius = 0.05 + 0.15 * rng.random(n)
    around = np.linspace(0.0, 2 * np.pi, 4000, endpoint=False)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    hull = ConvexHull(np.concatenate([c + r * circle for c, r in zip(center, radius, strict=True)]))
    path = belt_path(center, radius, np.ones(n, dtype=bool))
    assert path.length == pytest.approx(hull.area, rel=2e-6)  # qhull's area of a plane hull is its perimeter


def test_curve_is_closed_smooth_and_unit_speed():
    path = belt_path(**ACCESSORY)
    s = np.linspace(0.0, path.length, 20001)
    point, tangent, curvature = path.at(s)
    np.testing.assert_allclose(point[0], point[-1], atol=1e-14)
    h = 1e-7
    slope = (path.at(s + h)[0] - path.at(s - h)[0]) / (2 * h)
    np.testing.assert_allclose(slope, tangent, atol=1e-5)
    np.testing.assert_allclose(np.hypot(*tangent.T), 1.0, atol=1e-14)
    assert np.trapezoid(curvature, s) == pytest.approx(-2 * np.pi, rel=1e-3)  # clockwise, one turn


def test_back_pulley_bends_the_other_way_and_belt_touches_every_pulley():
    path = belt_path(**ACCESSORY)
    assert list(path.sigma) == [-1.0, -1.0, -1.0, 1.0]
    for i in range(4):
        a, b = path.arc(i)
        middle = path.at(0.5 * (a + b))[0]
        assert np.hypot(*(middle - path.center[i])) == pytest.approx(path.radius[i], rel=1e-12)
        assert b - a == pytest.approx(path.radius[i] * path.wrap[i], rel=1e-12)
    distance = np.hypot(*(path.at(np.linspace(0, path.length, 5000))[0][:, None] - path.center).transpose(2, 0, 1))
    assert (distance > path.radius - 1e-12).all()  # the line runs through no pulley


def test_length_is_stationary_for_a_taut_belt():
    """d length / d centre of pulley i = t_(i-1) - t_i, the pull of the two spans."""
    path = belt_path(**ACCESSORY)
    h = 1e-6
    for i in range(4):
        for axis in range(2):
            length = []
            for sign in (1, -1):
                moved = ACCESSORY["center"].copy()
                moved[i, axis] += sign * h
                length.append(belt_path(**{**ACCESSORY, "center": moved}).length)
            expected = path.direction[i - 1, axis] - path.direction[i, axis]
            assert (length[0] - length[1]) / (2 * h) == pytest.approx(expected, abs=1e-8)


@mistakes
def test_impossible_layouts_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        belt_path(**{key: np.array(value) for key, value in change.items()})
