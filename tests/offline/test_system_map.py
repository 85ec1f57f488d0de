"""Map of a system over its engine's speed."""

import numpy as np
import pytest
from refusals import refused
from rows import mistakes, text_of

from rtcvt.kind import load_unit
from rtcvt.offline.system_map import map_system
from rtcvt.unitfile import parse_unit_file

pytestmark = pytest.mark.interpreted

RUN_UP = text_of("units/run_up.toml")


def mapped(**given):
    options = {"scenario": None, "shaft": None, "orders": None, "points": 30} | given
    return map_system(load_unit(parse_unit_file(RUN_UP, "run_up.toml")), options, lambda *_: None)


def test_the_modes_of_an_engine_with_a_dual_mass_flywheel_are_those_of_two_masses():
    found = mapped(orders="0.5")
    w_0 = np.sqrt(4.0 * 180.0 / np.pi * (1.0 / 0.21 + 1.0 / 0.08))
    (mode,) = (m for m in found.figures["modes"].values() if np.nanmin(np.array(m["frequency_Hz"], float)) > 5.0)
    first = np.array(mode["frequency_Hz"], float)[:5]  # in the first stage of the springs
    assert first == pytest.approx(w_0 / (2.0 * np.pi), rel=3e-3)
    w = np.array(found.figures["speed_rad_s"])
    assert w.max() > 2.0 * w_0
    passed = found.figures["meetings"][0]
    assert passed["speed"] == pytest.approx(2.0 * w_0, rel=0.01)
    assert passed["frequency"] == pytest.approx(w_0 / (2.0 * np.pi), rel=0.01)
    assert "Modes and engine orders" in found.page


@mistakes
def test_a_map_of_nothing_is_refused(given, said):
    refused(said, mapped, **given)
