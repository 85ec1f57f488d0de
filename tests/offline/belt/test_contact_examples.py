"""A sheave pressed against a cable, and a mass on friction."""

import numpy as np
import pytest

from rtcvt.offline.belt.mass_on_friction import bristles, lugre
from rtcvt.offline.belt.sheave_on_cable import press


@pytest.mark.slow
def test_static_sheave_converges_with_elements_and_segments():
    """Section 3: error of the sheave's place and of the tension; the reference is finer."""
    reference = press(32, 12)
    coarse = [press(n, 4) for n in (4, 8, 16)]
    for value in ("y", "N"):
        errors = [abs(getattr(r, value) - getattr(reference, value)) for r in coarse]
        assert errors[0] > errors[1] > errors[2]
    assert abs(coarse[2].y - reference.y) < 5e-4
    by_segments = [abs(press(16, n_s).y - press(16, 12).y) for n_s in (1, 2, 4)]
    assert by_segments[0] > 2 * by_segments[1] > 4 * by_segments[2]


def test_lugre_tends_to_the_bristles_as_it_stiffens():
    """Figs. 6 and 7: displacement, velocity and force; LuGre breaks away ever closer to the static level of 1.5 N."""
    h, end = 1e-3, 20.0
    times = np.linspace(0.0, end, round(end / h) + 1)
    x, v, F = bristles(1e5, end, h)
    assert F.max() == pytest.approx(1.5, abs=1e-4)
    assert times[np.argmax(F)] == pytest.approx(7.5, abs=2e-3)  # 2 N/m * 0.1 m/s * 7.5 s
    breakaway = []
    for sigma_0, most_x, most_v in ((1e5, 0.025, 0.1), (1e6, 0.005, 0.02)):
        X, V, G = lugre(sigma_0, times)
        assert np.sqrt(np.mean((x - X) ** 2)) < most_x * X.max()
        assert np.sqrt(np.mean((v - V) ** 2)) < most_v * V.max()
        breakaway.append(G.max())
    assert 1.47 < breakaway[0] < breakaway[1] < 1.5
