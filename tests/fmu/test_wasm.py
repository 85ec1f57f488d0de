"""A unit in a page gives in a browser what the model gives here."""

import time

import numpy as np
import pytest
from browser import FLAT, Browser, keep
from rows import cases

from rtcvt.errors import InputError
from rtcvt.fmu.native.wasm import export_page
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate


def test_another_name_of_the_page_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"ends in \.html"):
        export_page(load_unit("differential").build("rigid"), tmp_path / "a.fmu")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.needs("chromium", "zig")
@cases
def test_a_unit_in_a_browser(tmp_path, name, given):
    model = load_unit(name).build()
    page = export_page(model, tmp_path / "unit.html")
    steps = 200
    run = simulate(model, Scenario(name="t", duration=steps * model.step_size, inputs=given))
    browser = Browser(tmp_path / "profile", FLAT)
    try:
        browser.open(page.as_uri())
        for _ in range(200):
            if browser.evaluate("document.body?.dataset.ready"):
                break
            time.sleep(0.1)
        browser.evaluate(f"Object.assign(unit.values, {given!r}); unit.restart(); unit.advance({steps}); unit.draw()")
        shown = browser.evaluate("Object.fromEntries(outputs.map((v, k) => [v.name, unit.samples[k + 1].at(-1)]))")
        assert browser.evaluate("document.querySelectorAll('.uplot').length") == 3
        keep(browser, tmp_path / "unit.png")
        refused = browser.evaluate("unit.code.set(about.variables.find(v => v.kind === 'input').k, NaN)")
        browser.evaluate("unit.advance(1)")
        assert refused > 1 or "refused" in browser.evaluate("document.getElementById('told').textContent")
    finally:
        browser.close()
    assert {*shown} == {v.name for v in model.select("output")}
    for signal, value in shown.items():
        expected = run[signal]
        np.testing.assert_allclose(value, expected[-1], rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max()))
