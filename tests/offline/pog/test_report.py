"""The report says what the check found, in one file that needs nothing else."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtcvt.html import ErrorRow, number, percent, prose, quantity
from rtcvt.kind import load_unit
from rtcvt.offline.pictures import drawing, names_beside, thin
from rtcvt.offline.pog.check import check_unit
from rtcvt.offline.pog.report import report_page
from rtcvt.pog.page import gear_page
from rtcvt.pog.system import build_model
from rtcvt.scenario import Scenario

HOSTILE = "</td><script>alert('x')</script> & \"$\\frac\""


def test_a_legend_of_a_report_says_names_as_they_are_and_scales_hold_no_tex():
    with drawing(1, 1, 2.0, "x") as (grid, shown):
        for name in ("_y", "a$b$", "_x", r"$\frac{$"):
            grid[0, 0].plot([1.0, 2.0], [1.0, 2.0], label=name)
        grid[0, 0].plot([1.0, 2.0], [1.0, 2.0])
        grid[0, 0].barh([1.0], [1.0], label="_bar")
        names_beside(grid[0, 0])
    told = [text for text in re.findall(r"<text[^>]*>([^<]*)", shown()) if not re.match("[0-9]", text)]
    assert told == ["_y", "a$b$", "_x", r"$\frac{$", "_bar"]


def scenario(**changes):
    loose = {"speed": 1.0, "force": 1.0}
    given = {"name": "short", "duration": 1.0, "settle": 0.3, "inputs": {"control.tau_des": 60.0}, "limits": loose}
    return Scenario.model_validate(given | changes)


@pytest.fixture(scope="module")
def check():
    """A second of charging the KERS unit, in which the tilt reaches its stop."""
    return check_unit(load_unit("toroidal_kers"), scenarios=(scenario(), scenario(name="idle", inputs={})))


@pytest.fixture(scope="module")
def failed(check):
    first = check.scenarios[0]
    errors = (replace(first.errors[0], limit=first.errors[0].value / 2.0), *first.errors[1:])
    return replace(check, scenarios=(replace(first, errors=errors), *check.scenarios[1:]))


@pytest.fixture(scope="module")
def page(failed):
    return report_page(failed)


def read(page):
    return "".join(ElementTree.fromstring(page.partition("\n")[2]).itertext())


def is_self_contained(page):
    loads = re.findall(r'(?:src|href)\s*=\s*"(?!#)([^"]*)"|url\((?!#)([^)]*)\)|@import', page)
    return not loads and "<script" not in without_own_scripts(page)


def without_own_scripts(page):
    """The page without the library of charts and without their data, which is JSON."""
    data = r'<script type="application/json" class="chart">([^<>&]*)</script>'
    assert all(json.loads(found)["panels"] for found in re.findall(data, page))
    return re.sub(rf"{data}|<script>//<!\[CDATA\[.*?//\]\]></script>", "", page, flags=re.DOTALL)


def test_names_every_error_and_the_verdict(failed, page):
    text = read(page)
    assert "FAILED" in text
    assert failed.failures[0] in text
    for s in failed.scenarios:
        assert s.scenario.name in text
        for e in s.errors:
            assert e.name in text
            assert number(e.peak, 3) in text
    assert "a limit is active" in text


def test_the_banner_names_the_largest_transient_that_does_not_count(check, page):
    share, name = max((e.transient / e.scale, e.name) for s in check.scenarios for e in s.errors)
    banner = page[page.index('<div class="verdict') :].partition("</div>")[0]
    assert ("Elastic transients do not count; the largest is" in banner) == (share > 0.0)
    assert name in banner or share == 0.0
    assert "backlash" in banner


def test_holds_the_machine(check, page):
    text = read(page)
    unit = check.unit
    for name, gear in unit.gears.items():
        assert name in text
        assert gear.description in text
    for part in (*unit.contacts, *unit.ports, *unit.parameters, "34.3 mm", "400 kN/m", "30000 N·m/rad", "µs", "Hz"):
        assert part in text


def test_is_one_page_of_sane_size(page):
    assert is_self_contained(page)
    assert len(page) < 2e6
    assert "/home/" not in page
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_hostile_text_stays_text():
    unit = load_unit("differential")
    gears = {k: g.model_copy(update={"description": HOSTILE}) for k, g in unit.gears.items()}
    unit = unit.model_copy(update={"description": HOSTILE, "gears": gears, "text": HOSTILE})
    hostile = Scenario.model_validate(
        {"name": HOSTILE, "description": HOSTILE, "duration": 0.1, "inputs": {"left.tau": 1.0}}
    )
    found = check_unit(unit, scenarios=(hostile,))
    page = report_page(found)
    assert ("PASSED" if found.passed else "FAILED") in page
    model = build_model(unit, "rigid")
    docs = gear_page(model, unit, [ErrorRow(HOSTILE, HOSTILE, HOSTILE, 1.0, 0.5, 1.0)])
    for text in (page, docs):
        assert "<script" not in without_own_scripts(text)
        assert read(text).count(HOSTILE) >= 2


@given(n=st.integers(1, 5000), intervals=st.integers(1, 300), seed=st.integers(0, 99))
def test_thinning_keeps_order_ends_and_extremes(n, intervals, seed):
    time = np.arange(float(n))
    values = np.random.default_rng(seed).normal(size=n)
    t, v = thin(time, values, intervals)
    assert len(t) <= 2 * intervals + 2
    assert np.all(np.diff(t) > 0)
    assert np.array_equal(values[t.astype(int)], v)
    assert (v[0], v[-1], v.min(), v.max()) == (values[0], values[-1], values.min(), values.max())


@pytest.mark.parametrize("unit", ["toroidal_kers", "automatic_6"], indirect=True)
def test_documentation_holds_every_variable(model, unit):
    page = gear_page(model, unit)
    text = read(page)
    assert is_self_contained(page)
    assert "was not checked" in text
    for v in model.variables:
        assert v.name in text
        assert v.description in text
    for tag in ("(9)", "(11)") if model.fidelity == "rigid" else ("(2)",):
        assert tag in text


def test_documentation_shows_the_errors_it_is_given():
    unit = load_unit("differential")
    row = ErrorRow("a drive", "contact.cb.F", "N", 0.0123, 0.02, 4.5)
    good = read(gear_page(build_model(unit, "rigid"), unit, [row]))
    bad = read(gear_page(build_model(unit, "rigid"), unit, [replace(row, value=0.03)]))
    assert "1.23 %" in good
    assert "within their limits" in good
    assert "exceed their limits" in bad


def test_numbers_read_as_engineers_write_them():
    assert number(0.0) == "0"
    assert number(-1234.56) == "−1235"
    assert number(2e-4) == "2·10⁻⁴"
    assert number(50e6) == "5·10⁷"
    assert number(float("nan")) == "nan"
    assert percent(0.0123) == "1.23 %"
    assert percent(1e-7) == "&lt; 0.001 %"
    assert quantity(0.036, "m", "mm") == "36 mm"
    assert quantity(104.71975511965977, "rad/s", "rpm") == "1000 rpm"
    assert quantity(0.2, "N.m.s/rad") == "0.2 N·m·s/rad"
    assert quantity(0.5, "1") == "0.5"


def test_docstrings_become_prose():
    found = prose("With **bold** & ``a < b``.\n\n    Its law, see `module`::\n\n        x = y\n          + z\n    ")
    assert found == (
        "<p>With <b>bold</b> &amp; <code>a &lt; b</code>.</p>\n"
        "<p>Its law, see <code>module</code>:</p>\n<pre>x = y\n  + z</pre>\n"
    )


def test_traction_has_a_table_and_counts_in_the_verdict(check, page):
    assert "integrated over the ellipse" not in read(page)
    bad = ErrorRow("", "creep at a torque", "1", 0.06, 0.05, 0.1)
    with_traction = replace(check, traction=(bad,))
    text = read(report_page(with_traction))
    assert "integrated over the ellipse" in text
    assert f"1 of {sum(len(s.errors) for s in check.scenarios) + 1} errors" in text
    assert with_traction.failures[0] in text
