"""Units of unit files and of FMI descriptions."""

import math

import pytest
from rows import cases

from rtcvt.quantity import base_exponents, base_unit, conversion, defined, is_quantity, is_torque, si_unit, to_si


@cases
def test_conversion(text, unit, value):
    assert to_si(text, unit) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    "text", ["20 N.m/s", "5 Tr", "nan", "inf m", "1e999 m", "m", "", "3 parsnip", "5 m; import os", float("nan")]
)
def test_refusal(text):
    with pytest.raises(ValueError, match=r"in m"):
        to_si(text, "m")


@pytest.mark.parametrize("text", ["30 deg", "0.5 rad", "1 rev", "3 °", "10 mrad"])
def test_an_angle_is_no_ratio(text):
    """A slope of 30 deg was 0.5236."""
    with pytest.raises(ValueError, match="without unit or in %, not an angle"):
        to_si(text, "1")
    with pytest.raises(ValueError, match="not an angle"):
        conversion(text.split()[1], "1")


@pytest.mark.parametrize("text", ["5 %", "3 ‰", "2 percent"])
def test_a_share_is_no_angle(text):
    with pytest.raises(ValueError, match="an angle in rad, or in a unit of that kind such as deg"):
        to_si(text, "rad")
    with pytest.raises(ValueError, match="an angle in rad"):
        conversion(text.split()[1], "rad")
    with pytest.raises(ValueError, match="without unit"):
        to_si("1:20", "1")


@pytest.mark.parametrize(("text", "unit"), [("5 dB", "1"), ("5 dBm", "W"), ("2 Np", "1")])
def test_logarithms_are_no_units_of_what_they_measure(text, unit):
    with pytest.raises(ValueError, match=r"without unit|a power"):
        to_si(text, unit)
    with pytest.raises(ValueError, match="without logarithm"):
        conversion(text.split()[1], unit)


@pytest.mark.parametrize("text", ["0,04 m", "３ m", "٣ m", "3 ٣", "1'000 m", "1 000 m", "1\u202f000 m"])
def test_other_digits_and_decimal_commas_are_refused_as_such(text):
    assert is_quantity(text)
    with pytest.raises(ValueError, match="digits 0 to 9 with a decimal point"):
        to_si(text, "m")


def test_units_are_converted_with_their_offset_both_ways():
    for one, other, factor, offset in (("degC", "K", 1.0, 273.15), ("rpm", "rad/s", math.pi / 30, 0.0),
                                       ("1/min", "rad/s", math.pi / 30, 0.0), ("°C", "degF", 1.8, 32.0)):  # fmt: skip
        assert conversion(one, other) == pytest.approx((factor, offset))
        f, o = conversion(other, one)
        assert (f, o) == pytest.approx((1 / factor, -offset / factor))
    for one, other in (("bar", "rad/s"), ("Umin", "rad/s"), ("m", "N.m")):
        with pytest.raises(ValueError, match="unit"):
            conversion(one, other)


@cases
def test_a_defined_unit_counts_turns_or_radians(name, exponents, factor, turns):
    unit = defined(name, exponents, factor, 0.0)
    assert unit.turns is turns
    assert to_si("3000 rpm", unit) == pytest.approx(100 * math.pi if name == "rad/s" else 3000.0)


def test_base_units_have_factor_and_offset():
    assert base_unit("degC") == {"K": "1", "offset": "273.15"}
    assert base_unit("km") == {"m": "1", "factor": "1000.0"}
    assert base_unit("N.m") == {"kg": "1", "m": "2", "s": "-2"}


def test_recognition():
    assert all(is_quantity(t) for t in ("20 N.m", "-3", "1e3 rpm", "5 1/s"))
    assert not any(is_quantity(t) for t in ("r_c", "2*t", "20*sin(t)", "r_a + r_b", "-r_c"))
    assert [si_unit(t) for t in ("60 deg", "36 mm", "5")] == ["rad", "m", "1"]
    assert si_unit("5 %") == "1"
    for text in ("3 N", "20 Nmm", "0,04 m"):
        with pytest.raises(ValueError, match=r"a length in m|decimal point"):
            si_unit(text)


def test_torques_are_told_from_energies():
    assert all(is_torque(unit) for unit in ("N.m", "Nm", "kNm", "N·m", "N*m", "Nmm", "lbf.ft"))
    assert not any(is_torque(unit) for unit in ("J", "N", "N/m", "1", "W", "mm", "N.m.s"))


def test_base_units_for_fmi():
    assert base_exponents("N.m.s/rad") == {"kg": 1, "m": 2, "s": -1, "rad": -1}
    assert base_exponents("rad/(s.N.m)") == {"kg": -1, "m": -2, "s": 1, "rad": 1}
    assert base_exponents("kg.m2") == {"kg": 1, "m": 2}
    assert base_exponents("1") == {}
