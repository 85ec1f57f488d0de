"""The look of pages and pictures: colours that can be told apart, light and dark, alternative texts, charts."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import resvg_py
from browser import FLAT, Browser
from matplotlib import rc_context
from matplotlib.figure import Figure

from rtcvt.html import figure, page
from rtcvt.html.charts import inline_svg, with_chart
from rtcvt.kind import load_unit
from rtcvt.look import COLOURS, NAMES, RC, SCHEME, css, standalone
from rtcvt.pog.diagram import unit_diagram

ROOT = Path(__file__).resolve().parents[1]
NO_ALT = re.compile(r"<svg(?![^>]*aria-label=\"[^\"]+\")(?![^>]*>\s*(?:<style>[^<]*</style>\s*)?<title>[^<]+)|"
                    r"<img(?![^>]*alt=\"[^\"]+\")|!\[\]\(")  # fmt: skip


def luminance(colour):
    values = np.array([int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize("dark", [False, True])
def test_texts_and_curves_stand_out_from_the_paper(dark):
    """WCAG 2.2: 4.5 for text, 3 for what is drawn; gold is the last of the curves."""
    paper = luminance(SCHEME["paper"][dark])
    ratio = {name: sorted((luminance(pair[dark]) + 0.05, paper + 0.05)) for name, pair in SCHEME.items()}
    ratio = {name: high / low for name, (low, high) in ratio.items()}
    assert min(ratio[name] for name in ("ink", "lead", "soft", "link", "good", "bad")) > 4.5
    assert min(ratio[NAMES[colour]] for colour in COLOURS[:-1]) > 3.0


def test_every_colour_of_the_sheets_is_declared():
    sheets = [
        *ROOT.glob("rtcvt/*/*.css"),
        *ROOT.glob("rtcvt/*/*.html"),
        *ROOT.glob("rtcvt/html/*.js"),
        ROOT / "hil/live.html",
    ]
    used = {name for sheet in sheets for name in re.findall(r"var\(--(\w+)\)", sheet.read_text(encoding="utf-8"))}
    assert {"ink", "paper", "line"} <= used <= {*SCHEME, "columns"}
    assert css().count("{") == css().count("}")


def test_programs_without_rules_for_dark_screens_draw_the_same():
    plain = re.sub(r"\n<style>.*?</style>", "", svg := unit_diagram(load_unit("differential")), flags=re.DOTALL)
    assert standalone(plain) == svg
    assert resvg_py.svg_to_bytes(svg_string=svg) == resvg_py.svg_to_bytes(svg_string=plain)


def test_every_picture_has_an_alternative_text():
    units = [load_unit(name) for name in ("differential", "toroidal_kers", "pushbelt_cvt", "two_pulley_belt")]
    pages = {unit.name: unit.kind_record.page(unit.build(), unit, None) for unit in units}
    pages |= {str(f): f.read_text(encoding="utf-8") for f in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))}
    assert not {name: found for name, text in pages.items() if (found := NO_ALT.findall(text))}
    assert all(NO_ALT.search(bad) for bad in ('<svg width="1">', "![](a.svg)", '<img src="a"/>'))


@pytest.fixture
def drawn():
    with rc_context(RC):
        picture = Figure()
        a, b = picture.subplots(2, 1, sharex=True)
        x = np.linspace(0.0, 2.0, 21)
        a.plot(x, x**2, color=COLOURS[0], label="square </script>")
        a.fill_between(x, x**2 - 1.0, x**2 + 1.0, color=COLOURS[0], alpha=0.2)
        a.axhline(1.0)
        a.axvspan(0.5, 1.0)
        a.set(title="above", ylabel="N", xlim=(0.0, 2.0))
        b.semilogy(x, 10.0 ** (3.0 * x - 8.0))
        b.scatter(x, np.full(21, 1e-5))
        b.set(ylabel="share")
        return picture, inline_svg(picture, "p")


def test_what_is_drawn_is_data_of_a_chart(drawn):
    found = with_chart(*drawn)
    assert not NO_ALT.search(found)
    assert not re.search(r"mathdefault|\$", found)  # TeX of logarithmic axes
    data = json.loads(found.rpartition('class="chart">')[2].removesuffix("</script>"))
    above, below = data["panels"]
    assert above["lines"][0]["n"] == "square </script>"
    np.testing.assert_allclose(above["lines"][0]["y"], np.square(above["lines"][0]["x"]), atol=1e-5)
    assert above["lines"][0]["c"] == "--blue 1"
    assert above["rules"][0]["h"] == 1.0
    band, span = sorted(above["areas"], key=lambda area: area["i"] is not None)
    assert band["c"] == "--blue 0.2"
    assert min(band["y"]) == -1.0
    assert max(band["y"]) == 5.0
    assert span["i"] == [0, 1]
    assert {*span["x"]} == {0.5, 1.0}
    assert below["log"] == [False, True]
    assert len(below["dots"]) == 21
    assert "10⁻⁴" in "".join(below["ticks"][1][1])


@pytest.mark.parametrize("spoil", [lambda ax: ax.contour(np.eye(3)), lambda ax: ax.imshow(np.eye(3))])
def test_contours_and_images_stay_pictures(spoil):
    picture = Figure()
    spoil(picture.subplots())
    assert with_chart(picture, svg := inline_svg(picture, "p")) == svg


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_charts_in_a_browser(drawn, tmp_path):
    (tmp_path / "page.html").write_text(page("charts", figure(with_chart(*drawn), "Caption")), encoding="utf-8")
    browser = Browser(tmp_path / "profile", FLAT)
    try:
        browser.open((tmp_path / "page.html").as_uri())
        while browser.evaluate("document.readyState") != "complete":
            pass
        assert browser.evaluate("document.querySelectorAll('.uplot').length") == 2
        assert browser.evaluate("document.querySelector('.u-label').textContent") == "at"
    finally:
        browser.close()
