"""Properties that define a projection, on arbitrary inputs, rather than pinned values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtcvt.offline.nonsmooth.proximal import prox_bilateral, prox_disc, prox_lower, prox_segment, prox_unilateral

force = st.floats(-1e6, 1e6)
radius = st.floats(0.0, 1e6)


@given(gap=st.floats(0.0, 1e6), lam=st.floats(0.0, 1e6), r=st.floats(1e-6, 1e6), closed=st.booleans())
def test_every_complementary_pair_is_a_fixed_point(gap, lam, r, closed):
    gap, lam = (0.0, lam) if closed else (gap, 0.0)
    assert prox_unilateral(lam - r * gap) == lam


@pytest.mark.slow
@given(gap=st.floats(1e-3, 1e6), lam=st.floats(1e-3, 1e6), r=st.floats(1e-3, 1e3))
def test_pulling_and_penetration_are_not_fixed_points(gap, lam, r):
    assert prox_unilateral(lam - r * gap) < lam
    assert prox_unilateral(lam + r * gap) > lam


@given(x=force)
def test_a_lower_bound_spans_unilateral_and_bilateral(x):
    assert prox_lower(x, 0.0) == prox_unilateral(x)
    assert prox_lower(x, -math.inf) == prox_bilateral(x) == x


@pytest.mark.slow
@given(x=force, lower=force, other=st.floats(0.0, 1e6))
def test_lower_bound_is_the_nearest_point_of_its_set(x, lower, other):
    y = prox_lower(x, lower)
    assert y >= lower
    assert abs(x - y) <= abs(x - (lower + other)) + 1e-9


@pytest.mark.slow
@given(x_1=force, x_2=force, radius=radius)
def test_friction_never_leaves_its_disc_and_never_drives(x_1, x_2, radius):
    y_1, y_2 = prox_disc(x_1, x_2, radius)
    assert math.hypot(y_1, y_2) <= radius * (1.0 + 1e-12) + 1e-12
    assert y_1 * x_1 + y_2 * x_2 >= 0.0


@pytest.mark.slow
@given(a_1=force, a_2=force, b_1=force, b_2=force, radius=radius)
def test_projection_is_non_expansive(a_1, a_2, b_1, b_2, radius):
    p, q = prox_disc(a_1, a_2, radius), prox_disc(b_1, b_2, radius)
    assert math.dist(p, q) <= math.dist((a_1, a_2), (b_1, b_2)) * (1.0 + 1e-9) + 1e-6


@pytest.mark.slow
@given(x=force, radius=radius)
def test_planar_friction_is_the_disc_on_a_line(x, radius):
    y, across = prox_disc(x, 0.0, radius)
    assert math.isclose(prox_segment(x, radius), y, rel_tol=1e-12, abs_tol=1e-12)
    assert across == 0.0


@given(x=force, radius=radius, r=st.floats(1e-3, 1e3), slip=st.floats(1e-3, 1e3))
def test_coulomb_pairs_are_fixed_points(x, radius, r, slip):
    sticking = max(-radius, min(radius, x))
    assert prox_segment(sticking, radius) == sticking
    assert prox_segment(-radius - r * slip, radius) == -radius
    assert prox_segment(radius + r * slip, radius) == radius
