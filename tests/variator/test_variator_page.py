"""What the page and the build of a variator say: range of the data, errors in words, the picture."""

import html
import logging
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

import rtcvt
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.unitfile import find_unit
from rtcvt.variator.build import reduced_path
from rtcvt.variator.diagram import radii_at, variator_diagram
from rtcvt.variator.page import variator_page
from rtcvt.variator.reduced.file import read_reduced


@pytest.fixture(scope="module")
def unit():
    return load_unit("pushbelt_cvt")


@pytest.fixture
def wide(tmp_path):
    """The shipped variator with end stops that no run has seen."""
    path = tmp_path / "wide.toml"
    path.write_text(find_unit("pushbelt_cvt").read_text().replace("max = 2.4", "max = 2.6"))
    return load_unit(path)


def test_end_stops_outside_of_the_data_are_told(unit, wide, caplog):
    with caplog.at_level(logging.WARNING, "rtcvt"):
        unit.build()
        assert not caplog.records
        model = wide.build()
        wide.build()
    (record,) = caplog.records  # once
    told = "end stops 0.45 to 2.6 lie outside of the reduced model's data, 0.407 to 2.48"
    assert f"wide.toml: ratio: {told}" in record.getMessage()
    assert told in html.unescape(variator_page(model, wide))
    assert "lie outside" not in variator_page(unit.build(), unit)


def test_errors_are_few_and_in_words(unit):
    page = variator_page(unit.build(), unit)
    accuracy = page[page.index("<h2>Accuracy</h2>") : page.index("<h2>Unit file</h2>")]
    assert "heldout." not in accuracy
    assert accuracy.count("<tr>") < 31
    assert re.search(r"thrust ratio</td><td[^>]*>2.14 %</td>", accuracy)
    assert "three thrust ratios" in accuracy
    assert "estimates" in accuracy


def test_bands_of_the_laws_and_of_the_parameters(unit):
    laws = read_reduced(reduced_path(unit))
    both = laws.evaluate(np.array([[1.0, 0.5, *(c.unscaled(0.0) for c in laws.coordinates[2:4]), 1.0]]))
    cell = "; ".join(f"± {100.0 * both[name][0]:.2g}" for name in ("uncertainty.slip", "uncertainty.parameters.slip"))
    assert cell in variator_page(unit.build(), unit)
    assert "±" not in variator_page(unit.build(), unit, reduced=replace(laws, parametric=laws.parametric[:0]))


@pytest.mark.parametrize("ratio", [0.45, 1.0, 2.4])
def test_radii_of_the_picture_close_the_belt(unit, ratio):
    c = read_reduced(reduced_path(unit)).constants
    r_I, r_O, phi = radii_at(ratio, c["length"], c["d_A"], c["h_off"])
    assert (r_O - c["h_off"]) / (r_I - c["h_off"]) == pytest.approx(ratio)
    length = 2 * (math.pi - phi) * r_I + 2 * phi * r_O + 2 * c["d_A"] * math.sin(phi)
    assert length == pytest.approx(c["length"])
    assert f"r = {1e3 * r_I:.1f} mm" in variator_diagram(unit, {"ratio.start": ratio})


@pytest.mark.parametrize("model", ["hybrid", "rigid"])
def test_start_values_hold_the_torque_that_the_page_names(unit, model):
    variator = rtcvt.load("pushbelt_cvt")
    assert "−95 N·m" in variator_page(unit.build(), unit)
    for ratio in (0.6, 1.0, 1.5):
        start = {"ratio.start": ratio, "primary.w_start": "2000 rpm"}
        torque = {"primary.tau": 100.0, "secondary.tau": -95.0 * ratio, "ratio.des": ratio}
        result = variator.simulate(inputs=torque, duration=3.0, parameters=start, model=model)
        assert np.abs(result["ratio.i"] / ratio - 1.0).max() < 1e-3
        assert not result["status.macro_slip"].any()
        assert not result["status.extrapolating"].any()
        assert result["belt.margin"].min() > 0.3
        gained = np.ptp(result["primary.w"]) * (1.26e-2 + 1.26e-2 / ratio**2)  # by 5 N.m at most
        assert gained < 5.0 * 3.0


@pytest.mark.parametrize(("given", "number"), [("forces", 0), ("pressures", 1), ("ratio", 2), (2, 2), ("1", 1)])
def test_clamp_control_is_an_enumeration(given, number):
    assert rtcvt.load("pushbelt_cvt").instance(parameters={"clamp.control": given}).get("clamp.control") == number


@pytest.mark.parametrize("given", [1.5, 3, -1, "1.5", "force"])
def test_what_is_no_choice_is_refused(given, tmp_path):
    with pytest.raises(InputError, match=r"clamp.control = .*one of forces \(0\), pressures \(1\), ratio \(2\)"):
        rtcvt.load("pushbelt_cvt").instance(parameters={"clamp.control": given})
    path = tmp_path / "mine.toml"
    value = f'"{given}"' if isinstance(given, str) else given
    path.write_text(
        find_unit("pushbelt_cvt").read_text().replace('clamp.control = "ratio"', f"clamp.control = {value}")
    )
    refused(r"parameters.clamp.control = .*one of forces \(0\)", rtcvt.load, path)
