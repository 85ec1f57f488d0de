"""Fronts of the thrust ratio: the slope they are found by, and a jump that is known."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from rtcvt.offline.variator.fronts import find, fronts_at
from rtcvt.offline.variator.process import evidence_of_places, fit


def test_evidence_by_places_and_its_slope():
    rng = np.random.default_rng(5)
    x, omega = rng.uniform(-1.0, 1.0, (20, 3)), rng.uniform(0.5, 2.0, 20)
    y = np.sin(2.0 * x[:, 0]) + x[:, 1]
    t = np.array([0.1, -0.2, 0.3, 0.2, -1.5])
    slope = evidence_of_places(t, x, y, omega)[2]
    numeric = approx_fprime(x.ravel(), lambda a: evidence_of_places(t, a.reshape(20, 3), y, omega)[0], 1e-6)
    assert_allclose(slope.ravel(), numeric, rtol=1e-3, atol=1e-3)


def test_a_jump_is_found_where_it_is():
    rng = np.random.default_rng(6)

    def drawn(n):
        i, f = np.exp(rng.uniform(-0.7, 0.8, n)), np.exp(rng.uniform(-0.5, 1.2, n))
        z = np.column_stack([i, rng.uniform(-0.9, 0.9, n), np.exp(rng.uniform(-7.0, -1.5, n)), f])
        at = -0.15 + 0.05 * np.log(f) + 0.1 * (i - 1.0) / (i + 1.0)
        return z, 0.1 * z[:, 1] + 0.1 * np.tanh((z[:, 1] - at) / 0.02)

    def places(z):
        return np.column_stack([np.log(z[:, 0]), z[:, 1], np.log(z[:, 2]) / 3.0, np.log(z[:, 3])])

    z, y = drawn(300)
    other, expected = drawn(400)
    fronts = find(places(z), z, y, np.ones(len(y)))
    group = np.arange(len(y)) % 10
    plain, _ = fit(places(z), y, group)
    sharp, _ = fit(np.column_stack([places(z), fronts_at(fronts, z)]), y, group)
    missed = sharp.mean(np.column_stack([places(other), fronts_at(fronts, other)])) - expected
    assert np.sqrt(np.mean(missed**2)) < 0.5 * np.sqrt(np.mean((plain.mean(places(other)) - expected) ** 2))
    assert abs(fronts_at(fronts, other)).max() < 1.0
