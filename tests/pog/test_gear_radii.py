"""Gears whose geometry cannot be are refused; radii that the file declares hold."""

import logging

import pytest
from refusals import refused
from rows import text_of

from rtcvt.pog.reading import read_gear_system
from rtcvt.unitfile import parse_unit_file

PAIR = text_of("units/pair.toml")
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
    refused("whose radius here is 0 at some theta of its range", read, moving)
