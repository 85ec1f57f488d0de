"""Spread of a law's errors: known standard deviations are found, and as many errors lie within as should."""

import numpy as np
import pytest

from rtcvt.offline.variator.spread import spread, together, within
from rtcvt.offline.variator.uncertainty import scaled_errors


def test_coverage_counts_settled_states_that_do_not_slip_and_efficiency_under_load():
    full = {"slip": np.array([0.01, 0.01, 0.3]), "xi": np.array([0.5, 0.05, 0.5]), "thrust_ratio": np.ones(3)}
    full |= {"efficiency": np.full(3, 0.9), "flank_peak": np.full(3, 10.0)}
    own = {name: value + 0.02 for name, value in full.items()} | {
        f"uncertainty.{name}": np.full(3, 0.01) for name in full
    }
    found = scaled_errors(full, own)
    np.testing.assert_allclose(found["thrust_ratio"], [2.0, 2.0, np.nan])
    np.testing.assert_allclose(found["efficiency"], [2.0, np.nan, np.nan])
    del own["uncertainty.slip"]
    assert "slip" not in scaled_errors(full, own)


def places(rng, n):
    return rng.uniform(-1.0, 1.0, (n, 2))


def size(x):
    """Small but for a ridge, as where a belt changes sides."""
    return 0.005 + 0.05 * np.exp(-((x[:, 0] / 0.25) ** 2))


@pytest.mark.parametrize("tails", ["normal", "long"])
def test_errors_lie_within_as_often_as_they_should(tails):
    rng = np.random.default_rng(2)
    x, other = places(rng, 500), places(rng, 2000)
    draw = rng.standard_normal if tails == "normal" else lambda n: rng.standard_t(4.0, n)
    e = size(x) * draw(500)
    s, crossed = spread(x, e, np.arange(500) % 10)
    chance = 0.02  # two standard deviations of a share of 500
    for errors, found, more in ((e, crossed, chance), (size(other) * draw(2000), s.at(other), 0.0)):
        one, two = within(errors, found)
        assert 0.60 - more <= one <= 0.76 + more
        assert 0.92 - more <= two <= 0.98 + more
    if tails == "normal":
        assert np.sqrt(np.mean(np.log(s.at(other) / size(other)) ** 2)) < 0.35  # while it changes eleven times


def test_units_and_signs_do_not_matter():
    rng = np.random.default_rng(4)
    x = places(rng, 80)
    e = size(x) * rng.standard_normal(80)
    one, two = spread(x, e, np.arange(80) % 10)[1], spread(x, -1e3 * e, np.arange(80) % 10)[1]
    np.testing.assert_allclose(two, 1e3 * one, rtol=1e-3)


def test_independent_causes_add_in_their_squares():
    np.testing.assert_allclose(together(np.array([3.0, 0.0]), 4.0), [5.0, 4.0])
