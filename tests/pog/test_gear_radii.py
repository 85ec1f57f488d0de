"""Gears whose geometry cannot be are refused; radii that the file declares hold."""

import logging

import pytest

from rtcvt.errors import InputError
from rtcvt.files.unitfile import parse_unit_file
from rtcvt.pog.reading import read_gear_system

PAIR = """
name = "pair"
kind = "gear_system"

[parameters]
r_a = { value = "40 mm" }
r_b = { value = "60 mm" }
y = { value = "40 mm" }

[gears]
a = { inertia = 1e-3, axis = { through = [0, 0], direction = [1, 0] } }
b = { inertia = 5e-3, axis = { through = [0, "r_a + r_b"], angle = "180 deg" } }

[contacts]
ab = { between = ["a", "b"], point = [0, "y"], stiffness = "50 MN/m" }

[rigid]
independent = ["a"]

[ports]
input = "a"
"""
THIRD = PAIR.replace(
    "[contacts]",
    'c = { inertia = 1e-3, axis = { through = [0, "-30 mm"], angle = "180 deg" } }\n\n[contacts]\n'
    'ac = { between = ["a", "c"], point = [0, "-20 mm"], stiffness = "50 MN/m" }',
)


def read(text):
    return read_gear_system(parse_unit_file(text, "pair.toml"))


def test_a_pair_is_accepted_without_a_word(caplog):
    read(PAIR)
    assert not caplog.records


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('y = { value = "40 mm" }', "y = { value = 0.0 }", r"contacts.ab.point .*off the axis of gear 'a'.* is 0"),
        ('y = { value = "40 mm" }', 'y = { value = "100 mm" }', r"off the axis of gear 'b'"),
        ('r_a = { value = "40 mm" }', 'r_a = { value = "-40 mm" }', r"parameters.r_a = -0.04: a radius above 0 m"),
        ('r_a = { value = "40 mm" }', "r_a = { value = 0.0 }", r"parameters.r_a = 0.0: a radius above 0 m"),
        (
            "inertia = 1e-3",
            'inertia = 1e-3, radius = "41 mm"',
            r"gears.a.radius = '41 mm': 40 mm, the distance of .*'ab'",
        ),
        ("inertia = 1e-3", 'inertia = 1e-3, radius = "-40 mm"', r"gears.a.radius = '-40 mm': a radius above 0"),
        ("inertia = 5e-3", 'inertia = 5e-3, teeth = 47, module = "2.5 mm"', r"gears.b.teeth = 47: 60 mm, .*not 58.75"),
        ("inertia = 5e-3", "inertia = 5e-3, teeth = 48", r"teeth and module: both or neither"),
        ("inertia = 1e-3", 'inertia = 1e-3, radius = "r_a", stepped = true', r"one of radius, teeth with module, and"),
    ],
)
def test_what_cannot_be_is_refused(old, new, message):
    assert old in PAIR
    with pytest.raises(InputError, match=message):
        read(PAIR.replace(old, new))


@pytest.mark.parametrize("declared", ['radius = "40 mm"', 'radius = "r_a"', 'teeth = 32, module = "2.5 mm"'])
def test_what_is_declared_and_holds_is_accepted(declared):
    read(PAIR.replace("inertia = 1e-3", f"inertia = 1e-3, {declared}"))


def test_two_radii_of_one_gear_are_warned_of(caplog):
    with caplog.at_level(logging.WARNING, "rtcvt"):
        read(THIRD)
    assert "gears.a: touches at two radii, 20 mm at 'ac', 40 mm at 'ab'; stepped = true" in caplog.text
    caplog.clear()
    read(THIRD.replace("inertia = 1e-3", "inertia = 1e-3, stepped = true", 1))
    assert not caplog.records


def test_a_radius_that_passes_zero_while_the_variable_moves_is_refused():
    moving = PAIR.replace(
        "[gears]", "[variables]\ntheta = { min = -0.5, max = 0.5, rate_max = 1.0 }\n\n[gears]"
    ).replace('[0, "y"]', '[0, "y*sin(4*(theta + 0.45))"]')
    moving += '\n[controller.position]\nacts_on = "theta"\ntime_constant = "50 ms"\n'
    with pytest.raises(InputError, match="whose radius here is 0 at some theta of its range"):
        read(moving)
