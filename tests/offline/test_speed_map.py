"""Map of a belt drive over its speed."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from typer.testing import CliRunner

from rtcvt.belt.unit import Resonance
from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.offline.orders import order_amplitude
from rtcvt.offline.speed_map import speed_map

SERPENTINE = Path(__file__).parents[1] / "data" / "belt" / "serpentine.toml"


def test_the_amplitude_of_an_order_is_found_as_the_shaft_runs_up():
    """Of a sum of orders with a mean and a slope, each to 1 %."""
    t = np.linspace(0.0, 0.6, 601)
    angle = 120.0 * t + 0.5 * 40.0 * t * t
    values = 300.0 + 20.0 * t + 5.0 * np.cos(2.0 * angle + 0.7) + 2.0 * np.sin(4.0 * angle)
    assert order_amplitude(values, angle, 2.0) == pytest.approx(5.0 * np.exp(0.7j), rel=0.01)
    assert order_amplitude(values, angle, 4.0) == pytest.approx(-2.0j, rel=0.01)
    assert abs(order_amplitude(values, angle, 3.0)) < 0.05


@pytest.fixture(scope="module")
def found():
    unit = load_unit(SERPENTINE)
    unit = unit.model_copy(update={"resonance": Resonance(orders=(4.0,), damping=0.01)})
    return speed_map(unit, 120.0, 300.0, duration=4.0, windows=20, share=0.001)


def test_orders_meet_frequencies_where_both_are_equal(found):
    assert {m.span for m in found.meetings} >= {"alternator_pump", "pump_ac", "ac_crank"}
    for m in found.meetings:
        assert m.frequency == pytest.approx(m.order * m.speed / (2.0 * math.pi))
        assert m.frequency == pytest.approx(np.interp(m.speed, found.speed, found.frequency[m.span]), rel=1e-6)
        swings, near = found.swing[m.span][0], abs(found.speed - m.speed) < 0.1 * m.speed
        assert swings[near].max() > 3.0 * np.median(swings)


def test_a_drive_that_runs_up_has_its_means(found):
    """Bearings lose b w^2, hub loads and tension are those of the spans."""
    unit, path = found.unit, found.unit.path()
    ratio = path.radius[0] / path.radius
    b = np.array([p.friction for p in unit.pulleys.values()])
    expected = np.sum(b * ratio**2) * found.speed**2
    np.testing.assert_allclose(found.loss["friction"], expected, rtol=0.03)
    assert (np.diff(found.speed) > 0.0).all()
    assert found.speed[[0, -1]] == pytest.approx([120.0, 300.0], rel=1e-9)  # its pulsation has no share in it
    assert all((hub > 0.0).all() for hub in found.hub.values())
    assert max(abs(slip).max() for slip in found.slip.values()) < 0.01
    assert max(use.max() for use in found.use.values()) < 1.0


def test_the_command_writes_page_and_figures(tmp_path):
    page, figures = tmp_path / "map.html", tmp_path / "map.json"
    options = ["--low", "120 rad/s", "--high", "200 rad/s", "--time", "5 s", "-o", str(page), "--json", str(figures)]
    done = CliRunner().invoke(app, ["map", str(SERPENTINE), *options])
    assert done.exit_code == 0, done.output
    assert page.read_text().count("<svg") == 7
    assert "pulsates by 2 % at order" in page.read_text()
    numbers = json.loads(figures.read_text())
    assert numbers["driver"] == "crank"
    assert len(numbers["f_1_Hz"]["pump_ac"]) == len(numbers["speed_rad_s"])


def test_bad_speeds_are_refused(tmp_path):
    unit = load_unit(SERPENTINE)
    refused("--low", speed_map, unit, 200.0, 100.0)
    refused(r"--time.*four periods", speed_map, unit, 10.0, 100.0, duration=1.0)
    done = CliRunner().invoke(app, ["map", "clutch", "-o", str(tmp_path / "map.html")])
    assert isinstance(done.exception, InputError)
    assert "a kind with a map: gear_system, belt" in str(done.exception)
