"""Units of unit files and of FMI descriptions."""

import math

import pytest

from rtcvt.quantity import base_exponents, is_quantity, si_unit, to_si


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("36 mm", "m", 0.036),
        ("2e-2 N.m/rpm", "N.m.s/rad", 2e-2 * 30 / math.pi),
        ("750 kN/m", "N/m", 750e3),
        ("30e3 N.m/rad", "N.m/rad", 30e3),
        ("0.1 ms", "s", 1e-4),
        ("1000 rpm", "rad/s", 1000 * math.pi / 30),
        ("60 deg", "rad", math.pi / 3),
        ("5", "m", 5.0),
        ("-3 N.m", "N.m", -3.0),
        ("20 N*m", "N.m", 20.0),
        (7, "s", 7.0),
    ],
)
def test_conversion(text, unit, value):
    assert to_si(text, unit) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    "text", ["20 N.m/s", "nan", "inf m", "1e999 m", "m", "", "3 parsnip", "5 m; import os", float("nan")]
)
def test_refusal(text):
    with pytest.raises(ValueError, match=r"in m"):
        to_si(text, "m")


def test_recognition():
    assert all(is_quantity(t) for t in ("20 N.m", "-3", "1e3 rpm", "5 1/s"))
    assert not any(is_quantity(t) for t in ("r_c", "2*t", "20*sin(t)", "r_a + r_b", "-r_c"))
    assert [si_unit(t) for t in ("60 deg", "36 mm", "5", "3 N")] == ["rad", "m", "1", "1"]


def test_base_units_for_fmi():
    assert base_exponents("N.m.s/rad") == {"kg": 1, "m": 2, "s": -1, "rad": -1}
    assert base_exponents("rad/(s.N.m)") == {"kg": -1, "m": -2, "s": 1, "rad": 1}
    assert base_exponents("kg.m2") == {"kg": 1, "m": 2}
    assert base_exponents("1") == {}
