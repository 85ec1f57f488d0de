"""Expressions: arithmetic as Python's, nothing but arithmetic, and no code."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rows import mistakes

from rtcvt.files.expression import parse, parse_signal

NAMES = {"x": 0.7, "y": -1.3, "r_b1": 0.05}
leaf = st.one_of(
    st.sampled_from(sorted(NAMES)), st.integers(-9, 9).map(str), st.floats(-5, 5).map(lambda v: f"({v!r})")
)
tree = st.recursive(
    leaf,
    lambda e: st.one_of(
        st.tuples(e, st.sampled_from("+-*"), e).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        e.map(lambda t: f"-{t}"),
        e.map(lambda t: f"sin({t})"),
        e.map(lambda t: f"cos({t})"),
        e.map(lambda t: f"({t})**2"),
    ),
    max_leaves=12,
)


@given(tree)
def test_evaluates_as_python_does(text):
    expected = eval(text, {"__builtins__": {}}, {**NAMES, "sin": math.sin, "cos": math.cos})
    assume(len(text) <= 500)
    expression = parse(text, NAMES)
    assert expression.evaluate(NAMES) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert parse(str(expression), NAMES).evaluate(NAMES) == pytest.approx(expected, rel=1e-9, abs=1e-9)


REFUSED = """__import__('os')|x.real|x[0]|lambda: 1|x if y else 1|sin|exp(x)|sin(x, y)|sin(x=1)|x = 1|'a'|True|x and y
x < y|2**9|x**y|2**0.5|f'{x}'|(1, 2)|x; y||z|1e999|[x for x in y]|x // y|x % y|~1|x @ y|x := 2|print(x)|1j"""


@pytest.mark.parametrize("text", [*REFUSED.replace("\n", "|").split("|"), "(" * 300, "9" * 600])
def test_refuses_everything_else(text):
    with pytest.raises(ValueError, match=r"allowed|an expression of|power|characters|not known"):
        parse(text, NAMES)


def test_folds_constants():
    assert parse("0*x + 1*y - 0", NAMES) == parse("y", NAMES)
    assert parse("2*3 + sin(0)", NAMES).value == 6.0
    assert parse("x - x*0", NAMES).names == {"x"}
    assert parse("-(-x)", NAMES) == parse("x", NAMES)


@pytest.mark.parametrize("text", ["(" * 20 + "x" + ")**8" * 20, "tan(" * 60 + "x" + ")" * 60])
def test_what_expands_has_a_limit(text):
    with pytest.raises(ValueError, match="at most 2000 terms"):
        parse(text, NAMES)


def test_signals_may_be_bounded():
    t = np.linspace(0.0, 2.0, 41)
    found = parse_signal("max(clip(20*sin(2*pi*t), -5, 8), 3*t - 5)").evaluate({"t": t}, np)
    assert np.array_equal(found, np.maximum(np.clip(20 * np.sin(2 * np.pi * t), -5, 8), 3 * t - 5))
    assert parse_signal("min(2, 3) + t").evaluate({"t": 1.0}) == 3.0
    assert str(parse_signal("min(t, 2)")) == "min(t, 2)"


@pytest.mark.parametrize("text", ["min(t)", "clip(t, 1)", "max(t, 1, 2)", "min(t, x)"])
def test_signals_refuse_other_bounds(text):
    with pytest.raises(ValueError, match=r"min, max, clip|not known"):
        parse_signal(text)


@pytest.mark.parametrize("text", ["min(x, y)", "clip(x, 0, 1)"])
def test_geometry_has_no_bounds(text):
    with pytest.raises(ValueError, match="not allowed"):
        parse(text, NAMES)


ORDER = 2.0
SHARE = 0.05


@pytest.mark.parametrize(("mean", "speed", "turned"), [
    ("200", lambda t: 200.0 + 0.0 * t, lambda t: 200.0 * t),
    ("-40 + 90*t", lambda t: -40.0 + 90.0 * t, lambda t: -40.0 * t + 45.0 * t**2),
    ("300*(1 - cos(2*t))", lambda t: 300.0 * (1.0 - np.cos(2.0 * t)), lambda t: 300.0 * t - 150.0 * np.sin(2.0 * t)),
])  # fmt: skip
def test_an_engine_order_follows_the_angle(mean, speed, turned):
    t = np.linspace(0.0, 5.0, 1237)
    found = parse_signal(f"engine_order({mean}, 2, 5/100)", "rad/s").evaluate({"t": t}, np)
    assert np.allclose(found, speed(t) * (1.0 + SHARE * np.sin(ORDER * turned(t))), rtol=0.0, atol=1e-8)


def test_an_engine_order_past_a_kink_keeps_its_phase():
    t = np.linspace(0.5001, 3.0, 500)  # the run-up ends in the middle of a cell
    found = parse_signal("engine_order(clip(400*t, 0, 200.2), 4, 0.1)", "rad/s").evaluate({"t": t}, np)
    turned = 200.2 * t - 0.5 * 200.2**2 / 400.0
    exact = 200.2 * (1.0 + 0.1 * np.sin(4.0 * turned))
    assert np.allclose(found[t > 0.501], exact[t > 0.501], rtol=0.0, atol=2e-3)


def test_an_engine_order_is_the_same_in_parts():
    parsed = parse_signal("-engine_order(clip(400*t, 0, 200) + 3*sin(t), 1.5, 0.1)", "rad/s")
    t = np.arange(20001) * 1e-4
    whole = parsed.evaluate({"t": t}, np)
    for size in (1, 7, 1000):
        some = range(0, len(t), 997 if size == 1 else size)
        parts = [parsed.evaluate({"t": t[k : k + size]}, np) for k in some]
        assert np.array_equal(np.concatenate(parts), np.concatenate([whole[k : k + size] for k in some]))
    assert float(parsed.evaluate({"t": 1.234}, np)) == float(parsed.evaluate({"t": np.array([1.234])}, np)[0])


@mistakes
def test_engine_orders_that_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_signal(text, "rad/s")


def test_only_speeds_have_engine_orders():
    with pytest.raises(ValueError, match="for speeds engine_order"):
        parse_signal("engine_order(200, 2, 0.05)", "N.m")
    late = parse_signal("engine_order(200, 2, 0.05)", "rad/s")
    with pytest.raises(ValueError, match="up to t = 3600 s"):
        late.evaluate({"t": np.array([0.0, 4000.0])}, np)


@pytest.mark.parametrize("text", ["0/0", "1/0", "0/(1-1)", "0**-1"])
def test_division_by_zero_is_refused(text):
    with pytest.raises(ValueError, match="zero"):
        parse_signal(text)


@pytest.mark.parametrize("text", ["0/t", "0*(1/t)", "(t/t)*0", "0*sqrt(t-1)"])
def test_what_is_no_number_at_a_time_is_not_folded_away(text):
    with np.errstate(all="ignore"):
        assert np.isnan(parse_signal(text).evaluate({"t": np.zeros(1)}, np)).all()
