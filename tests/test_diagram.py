"""The scheme shows everything the unit has, for every shipped unit and for geometry that nobody would build."""

from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtcvt.html.sankey import sankey
from rtcvt.kind import load_unit
from rtcvt.pog.diagram import unit_diagram
from rtcvt.pog.unit import GearSystem
from rtcvt.unitfile import parse_table, shipped_units


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


def check(unit, svg):
    """Every name is there, everything lies inside the frame, and no text covers another."""
    names = (*unit.gears, *unit.contacts, *unit.ports, *unit.clutches, *unit.brakes)
    assert {*names} <= {*texts(svg)}
    root, boxes = ElementTree.fromstring(svg), []
    left, top, width, height = (float(v) for v in root.attrib["viewBox"].split())
    for element in root.iter():
        for x, y in (map(float, p.split(",")) for p in element.get("points", "").split()):
            assert left <= x <= left + width
            assert top <= y <= top + height
        if element.tag.endswith("text"):
            size, x, y = (float(element.attrib[key]) for key in ("font-size", "x", "y"))
            room = 0.5 * size * len(element.text)
            x -= room / 2.0 if element.attrib["text-anchor"] == "middle" else 0.0
            boxes.append((x, x + room, y - 0.7 * size, y, element.text))
    for a, b in combinations(boxes, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (a[4], b[4])


@pytest.mark.parametrize("name", shipped_units("gear_system"))
def test_shows_everything_and_is_self_contained_and_repeatable(name):
    unit = load_unit(name)
    svg = unit_diagram(unit)
    check(unit, svg)
    assert any(text.endswith(" mm") for text in texts(svg))
    assert svg == unit_diagram(unit)
    assert not any(word in svg for word in ("href", "<script", "nan"))


def dots(name):
    """Contact points of a unit: pixels by name, from its red dots and their order in the file."""
    unit = load_unit(name)
    circles = [e for e in ElementTree.fromstring(unit_diagram(unit)).iter() if e.tag.endswith("circle")]
    return {n: (float(c.get("cx")), float(c.get("cy"))) for n, c in zip(unit.contacts, circles, strict=True)}


def test_contacts_at_one_station_stand_in_columns_with_radii_to_scale():
    """Lepelletier: the front set in one column; of the rear set the large sun in one of its own."""
    at, r = dots("automatic_6"), {"s0p0": 37, "p0in": 71, "s1p": 31, "pq": 38, "qs2": 38, "qout": 85}
    columns = [["s0p0", "p0in"], ["s1p", "pq", "qout"], ["qs2"]]
    assert [sorted({at[n][0] for n in names}) for names in columns] == [
        [x] for x in sorted({x for x, _ in at.values()})
    ]
    scale = (at["s1p"][1] - at["qout"][1]) / (85 - 31)
    for name, (_, y) in at.items():
        assert at["s1p"][1] - y == pytest.approx(scale * (r[name] - 31), abs=0.2)


def test_axes_that_cross_are_drawn_where_they_stand():
    at = dots("differential")
    assert at["cd"][0] - at["cb"][0] == pytest.approx(60 / 96 * (at["cb"][1] - at["ae"][1]), abs=0.2)


def test_follows_the_tilt():
    unit = load_unit("toroidal_kers")
    svg = unit_diagram(unit, 0.9)
    assert svg != unit_diagram(unit)
    assert "θ = 0.9 rad" in texts(svg)


def test_follows_the_parameters():
    unit = load_unit("planetary")
    assert unit_diagram(unit, values={"geometry.r_s": 0.06}) != unit_diagram(unit)
    assert unit_diagram(unit, values={"geometry.r_s": 0.03}) == unit_diagram(unit)


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


@settings(max_examples=20)
@given(unit=machines())
def test_draws_any_geometry(unit):
    check(unit, unit_diagram(unit))


FLOWS = [
    *(("tank", "engine", 100.0), ("engine", "heat", 65.0), ("engine", "belt", 35.0), ("belt", "slip", 1.0)),
    *(("wheels", "belt", -34.0), ("wheels", "air", 20.0), ("wheels", "tyres", 9.0), ("wheels", "tyres", 5.0)),
]


def test_bands_of_a_sankey_diagram_are_as_wide_as_their_flows():
    root = ElementTree.fromstring(sankey(FLOWS, "kJ"))
    assert {"belt, 35 kJ", "tyres, 14 kJ", "slip, 1 kJ"} <= {*texts(ElementTree.tostring(root))}
    drawn = [[tuple(map(float, p.split(","))) for p in e.get("points").split()] for e in root if e.get("points")]
    bands = [points for points in drawn if len(points) > 4]
    widths = [(points[-1][1] - points[0][1], points[25][1] - points[24][1]) for points in bands]
    sizes = [100.0, 65.0, 35.0, 1.0, 34.0, 20.0, 14.0]
    assert [w for pair in widths for w in pair] == pytest.approx(
        [s * widths[0][0] / 100.0 for s in sizes for _ in "ab"], abs=0.11
    )
    assert "wheels to tyres: 14 kJ" in root.findtext("{*}desc")


@pytest.mark.parametrize("flows", [[], [("a", "b", 0.0)], [("a", "b", 1.0), ("b", "a", 1.0)]])
def test_flows_without_an_order_are_refused(flows):
    with pytest.raises(ValueError, match="Sankey"):
        sankey(flows)
