"""The check of the spatial belt: what it runs, how it judges, that it goes on where it was, what its report has."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from rtcvt.errors import InputError
from rtcvt.kind import Checked
from rtcvt.offline.pushbelt.checks import spatial as check
from rtcvt.offline.pushbelt.checks.spatial_report import report_page
from rtcvt.offline.pushbelt.kind import KIND
from rtcvt.offline.pushbelt.run.prepare import prepare
from rtcvt.offline.pushbelt.unit.parameters import load_parameters

UNIT = load_parameters("pushbelt_24mm")


def test_each_case_has_a_hybrid_pair_and_each_ratio_all_offsets() -> None:
    found = {t.name: t for t in check.trials(UNIT)}
    for name in check.PLANAR:
        one, two, wide = (found[f"{name}-{s}"].run for s in ("hybrid", "kicked", "spatial"))
        assert one.start == two.start == wide.start
        assert one.settings.step != two.settings.step
        assert {one.settings.model, two.settings.model, wide.settings.model} == {"hybrid", "spatial"}
        assert {r.settings.flank_points for r in (one, two, wide)} == {2}
        assert one.settle == wide.settle + wide.settings.before
    for ratio in check.RATIOS:
        assert {t.offset for t in found.values() if t.name.startswith(f"{ratio:g}-") and t.tracked} >= {*check.OFFSETS}
        assert any(t.name.startswith(f"{ratio:g}-") and not t.tracked for t in found.values())
    assert not any(t.name.startswith("OD") for t in check.trials(UNIT.model_copy(update={"case": ()})))


@pytest.mark.parametrize("name", ["LOW-spatial", "2.3-+1.50mm"])
def test_its_steps_are_stable(name: str) -> None:
    run = next(t.run for t in check.trials(UNIT) if t.name == name)
    made = prepare(UNIT, replace(run, settings=replace(run.settings, before=0.0)))
    assert made.clock.step <= run.settings.step


def test_a_quantity_agrees_within_the_scatter_of_the_hybrid_belt() -> None:
    row = check.Phenomenon("OD-spatial", "thrust ratio", "1", 1.40, 1.41, 0.02)
    assert row.verdict == "agrees"
    assert row._replace(spatial=1.43).verdict == "differs"
    assert row._replace(spatial=np.nan).verdict == "not resolved"


@pytest.mark.slow
def test_short_runs_are_kept_judged_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"BEFORE": 0.03, "TURNS": 0.08, "SETTLE": 0.3, "MEAN": 0.14}.items():
        monkeypatch.setattr(check, name, value)
    names = {"LOW-hybrid", "LOW-kicked", "LOW-mirrored", "LOW-spatial", "1-+1.50mm", "1-+1.50mm-free"}
    monkeypatch.setattr(check, "IN_LINE", ("LOW",))
    told: list[tuple[str, int, int]] = []
    result = check.verify(
        UNIT, tmp_path / "runs", lambda t: t.name in names, processes=1, progress=lambda *a: told.append(a)
    )
    assert {t[0] for t in told} == {*names, "short runs"}
    assert set(result.energy) == names
    assert not result.failures
    # positions of 0.2 m and angles of 7 rad after 300 steps
    assert 0.0 < result.equal["LOW"] < check.POSITION_ATOL
    assert result.growth["yaw"][-1] > result.growth["yaw"][0]
    a, free = result.across["1-+1.50mm"], result.across["1-+1.50mm-free"]
    assert a.place == pytest.approx(1.5e-3, abs=1e-4)
    assert a.hold.max() > 1.0
    assert free.hold.max() == 0.0
    assert {p.group for p in result.phenomena} == {"LOW-mirrored", "LOW-spatial"}
    apart = result.profiles("LOW", "mirrored")
    assert all(0.0 < difference < 1.0 for difference, _ in apart.values())
    # a belt that takes energy from nowhere fails the check
    bad = check.Result(**{**vars(result), "energy": {**result.energy, "LOW-spatial": (2e-3, True)}})
    assert bad.failures == ("energy: LOW-spatial: 0.002 of the throughput, allowed 0.001",)

    files = {f: f.stat().st_mtime_ns for f in (tmp_path / "runs").iterdir()}
    again = check.verify(UNIT, tmp_path / "runs", lambda t: t.name in names, processes=1)
    assert {f: f.stat().st_mtime_ns for f in (tmp_path / "runs").iterdir()} == files
    assert json.loads(json.dumps(again.figures())) == json.loads(json.dumps(result.figures()))
    page = report_page(result)
    assert "PASSED" in page
    assert page.count("<svg") == 2
    ElementTree.fromstring(page[page.index("<html") :])
    assert "FAILED" in report_page(bad)


def test_the_task_takes_the_belt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "trials", lambda parameters: iter(()))
    found = KIND.check.run(UNIT, {"belt": "spatial", "report": tmp_path / "r.html"}, lambda *a: None)
    assert isinstance(found, Checked)
    assert found.passed
    assert (tmp_path / "r_runs").is_dir()
    with pytest.raises(InputError, match="hybrid or spatial"):
        KIND.check.run(UNIT, {"belt": "flat", "report": tmp_path / "r.html"}, lambda *a: None)
    with pytest.raises(InputError, match="spatial"):
        check.verify(UNIT.model_copy(update={"spatial": None}), tmp_path / "none")
