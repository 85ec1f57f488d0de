"""The diagram shows everything the unit has, for every shipped unit and for geometry that nobody would build."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow

from rtcvt.files.unitfile import parse_table, shipped_units
from rtcvt.kind import load_unit
from rtcvt.pog.diagram import unit_diagram
from rtcvt.pog.unit import GearSystem


@pytest.fixture(scope="module", params=["toroidal_kers", "ravigneaux", *map(slow, shipped_units("gear_system"))])
def drawn(request):
    """A unit and its diagram, which takes a second."""
    unit = load_unit(request.param)
    return unit, unit_diagram(unit)


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


def test_shows_every_gear_contact_and_port(drawn):
    unit, svg = drawn
    shown = texts(svg)
    for name in (*unit.gears, *unit.contacts, *unit.ports):
        assert shown.count(name) >= 1, name
    assert any(text.endswith(" mm") for text in shown)


def test_everything_lies_inside_the_frame(drawn):
    root = ElementTree.fromstring(drawn[1])
    left, top, width, height = (float(v) for v in root.attrib["viewBox"].split())
    for element in root.iter():
        if "points" in element.attrib:
            for x, y in (p.split(",") for p in element.attrib["points"].split()):
                assert left <= float(x) <= left + width
                assert top <= float(y) <= top + height


def test_labels_do_not_cover_each_other(drawn):
    boxes = []
    for element in ElementTree.fromstring(drawn[1]).iter():
        if element.tag.endswith("text"):
            size = float(element.attrib["font-size"])
            width = 0.5 * size * len(element.text)
            x = float(element.attrib["x"]) - (width / 2.0 if element.attrib["text-anchor"] == "middle" else 0.0)
            y = float(element.attrib["y"])
            boxes.append((x, x + width, y - 0.7 * size, y, element.text))
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (a[4], b[4])


def test_follows_the_tilt():
    unit = load_unit("toroidal_kers")
    svg = unit_diagram(unit, 0.9)
    assert svg != unit_diagram(unit)
    assert "θ = 0.9 rad" in texts(svg)


def test_follows_the_parameters():
    unit = load_unit("planetary")
    assert unit_diagram(unit, values={"geometry.r_s": 0.06}) != unit_diagram(unit)
    assert unit_diagram(unit, values={"geometry.r_s": 0.03}) == unit_diagram(unit)


def test_is_self_contained_and_repeatable(drawn):
    unit, svg = drawn
    assert svg == unit_diagram(unit)
    assert "href" not in svg
    assert "<script" not in svg
    assert "nan" not in svg


def test_hostile_text_stays_text():
    unit = load_unit("differential").model_copy(update={"description": "</desc><script>alert(1)</script>&\x00"})
    svg = unit_diagram(unit)
    assert "<script" not in svg
    assert "<script>alert(1)</script>&" in "".join(ElementTree.fromstring(svg).itertext())


coordinate = st.sampled_from(["0", "r", "-r", "r*cos(theta)", "r*sin(theta)", "2*r + 1e-3"])
angle = st.sampled_from(["0", "pi/2", "pi", "1.1", "theta"])


@st.composite
def machines(draw):
    names = "abcde"[: draw(st.integers(1, 5))]
    gears = {
        g: {"inertia": 1.0, "axis": {"through": [draw(coordinate), draw(coordinate)], "angle": draw(angle)}}
        for g in names
    }
    for g in names[1:]:
        if draw(st.booleans()):
            gears[g]["carrier"] = "a"
    pairs = draw(st.lists(st.permutations(names), max_size=4)) if len(names) > 1 else []
    contacts = {
        f"k{i}": {"between": pair[:2], "point": [draw(coordinate), draw(coordinate)], "stiffness": 1.0}
        for i, pair in enumerate(pairs)
    }
    return parse_table(
        GearSystem,
        {
            "name": "machine",
            "kind": "gear_system",
            "parameters": {"r": {"value": draw(st.sampled_from([1e-4, 0.05, 3.0]))}},
            "variables": {"theta": {"min": -0.9, "max": 0.9, "rate_max": 1.0}},
            "gears": gears,
            "contacts": contacts,
            "rigid": {"independent": ["a"]},
            "ports": {f"port_{g}": {"gear": g} for g in names},
        },
        "machine",
    )


@settings(max_examples=6)
@given(unit=machines())
def test_draws_any_geometry(unit):
    shown = texts(unit_diagram(unit))
    for name in (*unit.gears, *unit.contacts, *unit.ports):
        assert name in shown
