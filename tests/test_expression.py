"""Expressions: arithmetic as Python's, nothing but arithmetic, and no code."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rtcvt.expression import parse

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
