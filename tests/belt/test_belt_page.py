"""The page inside the FMU of a belt drive: how far the unit is from its full model."""

import re

import pytest
from refusals import refused
from rows import tables

from rtcvt.belt.model import build_belt
from rtcvt.belt.page import belt_page
from rtcvt.belt.tasks import errors
from rtcvt.kind import load_unit

FIGURES = tables("cases/belt_page.toml")


def page(rows):
    unit = load_unit("two_pulley_5pk")
    html = belt_page(build_belt(unit), unit, rows)
    return re.sub(r"<[^>]+>|\s+", " ", html[html.index("<h2>Accuracy</h2>") : html.index("<h2>Unit file</h2>")])


def test_figures_of_a_check_stand_on_the_page():
    unit = load_unit("two_pulley_5pk")
    found = page(errors(unit, "hybrid", {}, FIGURES))
    assert re.search(r"P2\.w +0\.4 +%", found)
    assert re.search(r"P1_P2\.F +4\.5 +%", found)
    assert "Some errors exceed their limits" in found


def test_page_without_figures_says_how_to_get_them():
    assert "rtcvt check two_pulley_5pk --json" in page(None)


@pytest.mark.parametrize(("fidelity", "settings"), [("rigid", {}), ("hybrid", {"P1.J": 1.0})])
def test_figures_of_another_model_are_refused(fidelity, settings):
    refused("--figures", lambda: errors(load_unit("two_pulley_5pk"), fidelity, settings, FIGURES))
