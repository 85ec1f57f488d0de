"""Properties that define a projection, on arbitrary inputs, rather than pinned values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtcvt.offline.nonsmooth.proximal import prox_bilateral, prox_lower, prox_segment, prox_unilateral

force = st.floats(-1e6, 1e6)
radius = st.floats(0.0, 1e6)


@given(gap=st.floats(0.0, 1e6), lam=st.floats(0.0, 1e6), r=st.floats(1e-6, 1e6), closed=st.booleans())
def test_every_complementary_pair_is_a_fixed_point(gap, lam, r, closed):
    gap, lam = (0.0, lam) if closed else (gap, 0.0)
    assert prox_unilateral(lam - r * gap) == lam


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


@given(x=force, radius=radius, r=st.floats(1e-3, 1e3), slip=st.floats(1e-3, 1e3))
def test_coulomb_pairs_are_fixed_points(x, radius, r, slip):
    sticking = max(-radius, min(radius, x))
    assert prox_segment(sticking, radius) == sticking
    assert prox_segment(-radius - r * slip, radius) == -radius
    assert prox_segment(radius + r * slip, radius) == radius
