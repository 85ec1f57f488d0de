"""Sheaves of the shipped pushbelt from their drawing, and units that give profiles in place of numbers."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from rtcvt.cli import app
from rtcvt.offline.pushbelt.unit.parameters import drawn_sheaves, influence_numbers, load_parameters, sheaves
from rtcvt.unitfile import find_unit

UNIT = find_unit("pushbelt_24mm").read_text(encoding="utf-8")
A_LINE = next(line for line in UNIT.splitlines() if line.startswith("A ="))
SMALL_A_LINE = next(line for line in UNIT.splitlines() if line.startswith("a ="))
DRAWN = UNIT.replace(A_LINE + "\n", "").replace(SMALL_A_LINE + "\n", "")


@pytest.fixture(scope="module")
def found():
    return drawn_sheaves(load_parameters("pushbelt_24mm"))


def test_the_groove_opens_as_measured(found):
    """Carbone et al. 2007: 20 kN at ratio 1 tilt the groove by Delta/2 = 0.5 mrad. The drawing is not fitted to it."""
    r = 0.0535  # of the rocking edges at ratio 1
    first = np.polyval(found.a[1][::-1], r) * 20e3 * np.sinc(0.5)
    assert first / r == pytest.approx(5e-4, rel=0.25)


def test_polynomials_give_the_finite_elements_back(found):
    for row, polynomial in zip(found.mean, found.a, strict=False):
        assert np.polyval(polynomial[::-1], found.r) == pytest.approx(row, rel=0.02)


def test_a_unit_may_draw_its_sheaves_in_place_of_numbers(tmp_path, found):
    file = tmp_path / "mine.toml"
    file.write_text(DRAWN, encoding="utf-8")
    s = sheaves(load_parameters(file))
    assert s.a == found.a
    assert influence_numbers(s, float(found.r[3])) == pytest.approx(found.mean[:5, 3], rel=0.02)


def test_any_degree_and_a_polynomial_for_each_harmonic_are_the_same_law(tmp_path):
    a, A = [4e-10, 0.0, 1e-6], [0.25, 0.59, 0.09, 0.04, 0.03]
    file = tmp_path / "mine.toml"
    rows = [[x * w for x in [*a, 0.0, 0.0]] for w in A]
    file.write_text(UNIT.replace(SMALL_A_LINE, f"a = {rows}").replace(A_LINE + "\n", ""), encoding="utf-8")
    for r in (0.03, 0.07):
        own = influence_numbers(sheaves(load_parameters("pushbelt_24mm")), r)
        assert influence_numbers(sheaves(load_parameters(file)), r) == pytest.approx(own, rel=1e-12)


def test_the_command_writes_a_page_and_its_figures(tmp_path):
    page, figures = tmp_path / "page.html", tmp_path / "found.json"
    done = CliRunner().invoke(app, ["sheave", "pushbelt_24mm", "-o", str(page), "--json", str(figures)])
    assert done.exit_code == 0, done.output
    assert all(unit in done.output for unit in ("mass [kg]", "[nm/N]"))
    found = json.loads(figures.read_text())
    assert found["separable"]["left"] < 0.1
    assert page.read_text().count("<svg") >= 2
