"""The normal form has the same value, and what cancels is gone."""

import math

import pytest
from rows import cases

from rtcvt.files.expression import parse
from rtcvt.kind import load_unit
from rtcvt.pog.normal_form import normal_form
from rtcvt.pog.radii import radii_matrix

VALUES = {"a": 0.7, "b": -1.3, "c": 2.1, "t": 0.4}


@cases
def test_what_cancels_is_gone(text, expected):
    assert str(normal_form(parse(text, VALUES))) == expected


@cases
def test_the_value_is_the_same(text):
    e = parse(text.replace("^", "**"), VALUES)
    assert normal_form(e).evaluate(VALUES) == pytest.approx(e.evaluate(VALUES), rel=1e-12)


def test_an_expression_that_would_grow_stays():
    e = parse("*".join(f"(a + b*{k} + c*{k + 1} + sin(t)*{k + 2} + 1)**2" for k in range(1, 8)), VALUES)
    assert normal_form(e) is e


def test_infinite_and_undefined_values_stay():
    assert "a" in normal_form(parse("a/(b - b) - c", VALUES)).names
    assert math.isnan(normal_form(parse("a*sqrt(-1)", VALUES)).evaluate(VALUES))


def test_the_radii_of_the_toroidal_variator_are_those_of_eq_20():
    found = {place: str(r) for place, r in radii_matrix(load_unit("toroidal_kers")).items()}
    assert found == {
        ("bc", "b"): "r_b1 + r_c*sin(theta)", ("bc", "c"): "-r_c",
        ("ac", "a"): "r_c*sin(theta) - r_b1", ("ac", "c"): "r_c",
        ("db", "d"): "r_d", ("db", "b"): "-r_b2",
    }  # fmt: skip
