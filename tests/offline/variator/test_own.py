"""From a belt's drawing to its unit: the unit file, the verdict on its errors, and the whole way."""

import shutil
from importlib.resources import files

import numpy as np
import pytest
from rows import cases, text_of

from rtcvt import load
from rtcvt.kind import load_unit
from rtcvt.offline.variator.own import _unit_text, verdict
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import read_reduced

BELT = "pushbelt_24mm_belief"


def test_unit_file_has_the_values_of_the_belt(tmp_path):
    belt = load_unit(BELT)
    belt = belt.model_copy(update={"pulleys": belt.pulleys.model_copy(update={"J": 0.02, "r_max": 0.08})})
    model = tmp_path / "mine.h5"
    shutil.copy(reduced_path(load_unit("pushbelt_cvt")), model)
    path = tmp_path / "mine_cvt.toml"
    path.write_text(_unit_text("mine_cvt", belt, model))
    unit, known = load(path), read_reduced(model).coordinates[0]
    assert unit.name == "mine_cvt"
    assert reduced_path(unit.record) == model
    assert [unit.record.ratio.min, unit.record.ratio.max] == pytest.approx([known.low, known.high], rel=1e-3)
    values = unit.record.values()
    for side in ("primary", "secondary"):
        assert values[f"{side}.J"] == 0.02
        assert values[f"{side}.sheave.R"] == 0.08
    end = unit.simulate("ratio sweep", duration=0.1)
    assert np.isfinite(end["belt.slip"]).all()


@cases
def test_verdict_compares_with_the_chance_of_so_few(shares, states, larger):
    table, told = verdict({"slip": {"states": states, "one": shares[0], "two": shares[1]}})
    assert bool(told) is larger
    assert list(table.columns[-1].cells) == ["larger" if larger else "yes"]


PLAN = text_of("units/few_plan.toml")


@pytest.mark.slow
def test_from_a_belt_to_its_unit(monkeypatch, command, tmp_path):
    """Runs, reduced model, unit, FMU and pages; the second command makes no run and keeps the user's unit file."""
    monkeypatch.chdir(tmp_path)
    text = (files("rtcvt") / "units" / f"{BELT}.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace(f'name = "{BELT}"', 'name = "mine"'))
    for name, number in (("few", 22), ("held", 4)):
        (tmp_path / f"{name}.toml").write_text(PLAN.replace("number = 0", f"number = {number}"))
    words = ("own", "mine.toml", "-o", "made", "--plan", "few.toml", "--held-out", "held.toml")
    code, out, err = command(*words)
    assert code in (0, 1), err
    assert "as stated" in out
    names = {"mine.h5", "mine_cvt.toml", "mine_cvt.fmu", "check.html", "check.json", "reduction.html"}
    assert names <= {path.name for path in (tmp_path / "made").iterdir()}
    unit = tmp_path / "made" / "mine_cvt.toml"
    unit.write_text(unit.read_text().replace("primary.b = 0.0", "primary.b = 0.001"))
    before = {path: path.stat().st_mtime for path in (tmp_path / "made").rglob("*.h5")}
    code, out, err = command(*words)
    assert load(unit).record.values()["primary.b"] == 0.001
    assert all(path.stat().st_mtime == when for path, when in before.items() if path.parent.name != "made")
