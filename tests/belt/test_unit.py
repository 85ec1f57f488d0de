"""Belt drives in unit files: what is read, and what is refused with file, key, value and what is allowed."""

import tomllib

import pytest
from rows import mistakes

from rtcvt.belt.reading import read_belt_unit
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.unitfile import UnitFile, find_unit


def test_shipped_drive_closes_at_its_pretension():
    """Kubas 2017, section 4: a belt of 1.2 m on two pulleys of 27 mm at 515 mm."""
    unit = load_unit("two_pulley_5pk")
    assert unit.path().length == pytest.approx(1.2, rel=5e-4)
    strain = unit.path().length / unit.rest_length() - 1.0
    assert strain * unit.belt.EA == pytest.approx(550.0, rel=1e-12)
    load = unit.pulleys["driven"].load
    assert load.tau[1] / load.w[1] == pytest.approx(-15.0 / 25.1327, rel=1e-5)


def test_untouched_pulley_and_unknown_input_are_named():
    data = tomllib.loads(find_unit("two_pulley_5pk").read_text())
    idler = {"center": ["250 mm", "0 m"], "radius": "10 mm", "inertia": "1e-4 kg.m2"}
    with pytest.raises(InputError, match="would not touch pulley idler"):
        read_belt_unit(UnitFile({**data, "pulleys": {**data["pulleys"], "idler": idler}}, "", "drive.toml"))
    data["scenario"][0]["inputs"]["driven.w"] = "3 rad/s"
    with pytest.raises(InputError, match=r"scenario.inputs.driven.w = 'driven.w': one of driven.tau, driving.tau"):
        read_belt_unit(UnitFile(data, "", "drive.toml"))


def test_length_without_load_stands_for_the_pretension():
    data = tomllib.loads(find_unit("two_pulley_5pk").read_text())
    del data["belt"]["pretension"]
    taut = load_unit("two_pulley_5pk").path().length
    unit = read_belt_unit(UnitFile({**data, "belt": {**data["belt"], "length": "1190 mm"}}, "", "drive.toml"))
    assert unit.belt.pretension == pytest.approx(1.52e5 * (taut / 1.19 - 1.0), rel=1e-12)
    assert unit.rest_length() == pytest.approx(1.19, rel=1e-12)
    for length in ("0.99 m", "1.2 m"):
        with pytest.raises(
            InputError, match=r"drive.toml: belt.length = .*stretched by less than a fifth: 0.9997.* m to"
        ):
            read_belt_unit(UnitFile({**data, "belt": {**data["belt"], "length": length}}, "", "drive.toml"))


@mistakes
def test_layouts_that_no_belt_fits_are_named(layout, message):
    data = tomllib.loads(find_unit("two_pulley_5pk").read_text())
    pulleys = {n: {"center": list(map(float, c)), "radius": 0.1, "inertia": 1e-3} for n, c in layout.items()}
    with pytest.raises(InputError, match=f"drive.toml: pulleys = .*: a belt that fits: .*({message})"):
        read_belt_unit(UnitFile({**data, "pulleys": pulleys, "scenario": []}, "", "drive.toml"))


def test_accessory_drive():
    """Kubas 2017, section 5: radii, pretension, and the tensioner alone turns the other way."""
    unit = load_unit("accessory_5pk")
    assert [p.radius for p in unit.pulleys.values()] == [0.08, 0.027, 0.056, 0.031]
    assert unit.belt.pretension == 550.0
    assert list(unit.path().sigma) == [-1.0, -1.0, -1.0, 1.0]


@pytest.mark.parametrize("name", ["two_pulley_5pk", "accessory_5pk"])
def test_friction_of_the_pulleys_gives_the_printed_speeds(name):
    """Without slip, 15 N.m hold the drive near 22 rad/s (section 4) and 20 rad/s (section 5)."""
    unit = load_unit(name)
    first = next(iter(unit.pulleys.values()))
    ratio = [first.radius / p.radius for p in unit.pulleys.values()]
    drag = sum(p.friction * i**2 for p, i in zip(unit.pulleys.values(), ratio, strict=True))
    drag += sum(
        -p.load.tau[1] / p.load.w[1] * i**2 for p, i in zip(unit.pulleys.values(), ratio, strict=True) if p.load
    )
    assert 15.0 / drag == pytest.approx({"two_pulley_5pk": 22.0, "accessory_5pk": 20.0}[name], rel=0.02)
