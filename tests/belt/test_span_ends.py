"""What a belt gives at the ends of its spans: limits with a solution, and a belt that gives nothing."""

import math

import numpy as np
import pytest

from rtcvt.belt.span_ends import Line, Ribs, compliance, running, span_end, spans, whole_wrap
from rtcvt.kind import load_unit

EA, EI, T, R, WRAP = 1.2e5, 0.03, 500.0, 0.2, 0.6
STIFF = Ribs(0.0, 1e12)


def test_a_stiff_pulley_lifts_the_belt_off_as_the_elastica():
    """The way round its end is longer by a^3/(12 r^2), a = sqrt(EI/T)."""
    end = span_end(Line(EA, EI), STIFF, R, WRAP, T, 300.0)
    a = math.sqrt(EI / T)
    assert end.longer == pytest.approx(a**3 / (12.0 * R**2), rel=0.02)


def test_a_loose_span_takes_up_belt_as_the_elastica():
    """Longer by a^3/(12 r^2) at each end of stiff pulleys, which is T^(-3/2), compared with a line through rest."""
    unit = load_unit("two_pulley_5pk").model_copy(update={"elements": None})
    belt = unit.belt.model_copy(update={"EI": EI})
    found = spans(unit.model_copy(update={"belt": belt}))
    a = math.sqrt(EI / found.tension)
    expected = sum(a**3 / (12.0 * r**2) for r in unit.path().radius)
    for x in (0.05, 0.1, 0.3):
        curved = x**-1.5 - 2.5 + 1.5 * x
        way = found.way @ [curved, x**-0.5 - 1.5 + 0.5 * x]
        np.testing.assert_allclose(way, expected * curved, rtol=0.05)


def test_ribs_that_do_not_shear_leave_bending_alone():
    """What touches is held: the span is longer by a, and softer by what the end straightens, 3/2 E/T."""
    a = math.sqrt(EI / T)
    c, c_b = compliance(span_end(Line(EA, EI), STIFF._replace(k_t=1e12), R, WRAP, T, 300.0), 0.0, 300.0)
    assert c.real == pytest.approx(a / EA + 1.5 * a**3 / (12.0 * R**2) / T, rel=0.06)
    assert abs(c_b) < 1e-3 * abs(c)


def test_ribs_that_shear_hold_over_a_length():
    """Without bending: u(0) = sqrt(C/k_t) coth(k A) or tanh, k = sqrt(k_t C), A half of the wrap."""
    line, k_t, f = Line(EA, 0.0), 1e8, 1e8
    C = 1.0 / EA + 1.0 / (R**2 * f)
    k = math.sqrt(k_t * C)
    for wrap in (0.6, 0.05):
        c, c_b = compliance(span_end(line, Ribs(0.0, f, k_t=k_t), R, wrap, T, 300.0), 0.0, 300.0)
        held = math.sqrt(C / k_t) * math.tanh(0.5 * k * wrap)
        free = math.sqrt(C / k_t) / math.tanh(0.5 * k * wrap)
        assert c.real == pytest.approx(held, rel=0.02)
        assert (c + 2.0 * c_b).real == pytest.approx(free, rel=0.02)


def test_a_whole_wrap_gives_as_its_length():
    """Without bending: half a wrap of compliance C."""
    end = span_end(Line(EA, 0.0), Ribs(0.0, 1e7, k_t=1e8), R, WRAP, T, 300.0)
    assert whole_wrap(end) == pytest.approx(0.5 * WRAP * (1.0 / EA + 1.0 / (R**2 * 1e7)), rel=0.02)


def test_a_belt_that_runs_onto_stiff_ribs_keeps_its_strain():
    drop, content = running(span_end(Line(EA, EI), Ribs(0.0, 1e12, k_t=1e8, mu=0.5), R, WRAP, T, 300.0))
    assert abs(drop) < 2e-5
    assert abs(content) < 2e-5 * WRAP
    drop, content = running(span_end(Line(EA, EI, o=0.002), Ribs(0.0, 1e8, k_t=1e8, mu=0.5), R, WRAP, T, 300.0))
    assert drop < -1e-4  # as of a smaller pulley
    assert content > 0.0


def test_damping_of_a_span_is_that_of_its_belt():
    """A belt that gives nothing at its ends: D/L, and the taut line."""
    unit = load_unit("two_pulley_5pk")
    belt = unit.belt.model_copy(update={"EI": 0.0})
    found = spans(unit.model_copy(update={"belt": belt, "elements": None}))
    path = unit.path()
    np.testing.assert_allclose(found.length, path.span, rtol=1e-3)
    np.testing.assert_allclose(found.wrap, path.radius * path.wrap, rtol=5e-3)
    np.testing.assert_allclose(found.by_damping, 1.0 / path.span, rtol=2e-3)
    np.testing.assert_allclose(found.damping, 0.0, atol=1e-6)
    np.testing.assert_allclose(found.radius, path.radius, rtol=1e-5)
    assert found.tension == unit.belt.pretension
