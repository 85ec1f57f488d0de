"""Points with two models: what a plan asks for, how differences are judged, their law, and a campaign that goes on."""

import json
from typing import Any

import numpy as np
import pytest
from refusals import refused
from rows import text_of

from rtcvt.offline.pushbelt.run.reading import open_run, run_of
from rtcvt.offline.pushbelt.unit.parameters import load_parameters
from rtcvt.offline.variator import campaign as engine
from rtcvt.offline.variator import tasks
from rtcvt.offline.variator.plan import load_plan, names_of, runs_of
from rtcvt.offline.variator.twins import ACROSS, MIN_POINTS, Twins, across_of, differences, laws, load_twins

UNIT = load_parameters("pushbelt_24mm")
PLAN = text_of("units/twins.toml")


def plan_of(folder: Any, text: str) -> Any:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path)


def test_a_point_is_followed_by_its_twins() -> None:
    plan, _ = load_plan("spatial_24mm")
    runs = list(runs_of(plan, UNIT))
    assert [r.name for r in runs] == names_of(plan)
    assert len(runs) == 3 * plan.points.count == 450
    for first, two, three in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
        assert first.start == two.start == three.start
        assert (first.settings.model, two.settings.model, three.settings.model) == ("spatial", "hybrid", "hybrid")
        assert (first.settings.before, two.settings.before) == (2.0, 0.0)
        assert first.settle == plan.points.settle - 2.0
        assert two.settle == three.settle == 4.0
        assert three.settings.step == pytest.approx(0.98 * two.settings.step)
        assert {r.settings.flank_points for r in (first, two, three)} == {2}


def some(n: int, apart: Any) -> Twins:
    """Points whose runs scatter by 0.01, the first by `apart` from the others."""
    rng = np.random.default_rng(3)
    point = rng.uniform([0.45, -0.9, 0.01, 0.6], [2.4, 0.9, 0.3, 3.5], (n, 4))
    v = 0.01 * rng.standard_normal((n, 3))
    v[:, 0] += apart(point)
    field = 1.0 + 0.01 * rng.standard_normal((n, 3, 8))
    across = {name: 1e-3 * point[:, 1] for name in ACROSS}
    return Twins(tuple(f"point-{k:03}" for k in range(n)), point, {"thrust ratio": v}, {"push": field}, across, 0)


def test_a_difference_is_told_from_scatter_and_its_law_is_found() -> None:
    none = differences(some(40, lambda z: 0.0 * z[:, 0]))
    assert [d.above for d in none] == [False, False]
    assert none[0].rms == pytest.approx(none[0].scatter, rel=0.35)
    t = some(36, lambda z: 0.1 * np.log(z[:, 0]) + 0.06 * z[:, 1])
    assert differences(t)[0].above
    found = {law.quantity: law for law in laws(t)}
    # what is left is the scatter: sqrt(3/2) of 0.01
    assert found["thrust ratio"].without > 0.04
    assert found["thrust ratio"].heldout < 0.02
    assert found["thrust ratio"].crossed < 0.02
    assert found["misalignment"].heldout < 0.1 * found["misalignment"].without
    assert laws(some(MIN_POINTS - 1, lambda z: z[:, 0])) == []


@pytest.mark.slow
def test_a_campaign_of_twins_is_compared_and_goes_on_when_it_settles_longer(tmp_path, monkeypatch) -> None:
    def here(parameters: Any, text: str, plan: str, folder: Any, runs: Any, *_: Any) -> Any:
        for run in runs:
            made.append(run.name)
            yield run.name, engine._compute(parameters, run, str(folder / f"{run.name}.h5"), text, plan)

    made: list[str] = []
    monkeypatch.setattr(engine, "_computed", here)
    folder = tmp_path / "runs"
    (plan, text), unit_text = plan_of(tmp_path, PLAN), UNIT.text
    state = engine.run_campaign(UNIT, unit_text, plan, text, folder)
    assert not state.failed
    assert made == names_of(plan)
    t = load_twins(folder, plan)
    assert t.names == ("point-000",)
    assert all(np.isfinite(v).all() for v in t.across.values())
    with open_run(folder / "point-000.h5") as file:
        last = file["spatial/exit_force"][-9:].mean(axis=0)  # a quarter of 36 frames
    assert [t.across[f"exit_force_{p}"][0] for p in "IO"] == pytest.approx(last, rel=1e-9)
    assert all(np.isnan(v) for v in across_of([folder / "point-000-hybrid.h5"]).values())
    assert np.abs(t.values["thrust ratio"]).max() < 1.0
    given = {
        "plan": tmp_path / "plan.toml", "output": folder, "summary": None, "scheduler": None, "workers": 1,
        "until": None, "use": None,
    }  # fmt: skip
    found = tasks.campaign(UNIT, given, lambda *a: None)
    assert len(made) == 3  # all were there
    assert len(found.lines) == 3
    kept = json.loads((folder / "twins.json").read_text())
    assert kept["points"] == 1
    assert set(kept["across"]) == set(ACROSS)
    assert {d["quantity"] for d in kept["differences"]} >= {"thrust ratio", "losses", "speed loss", "field push"}

    longer, text = plan_of(tmp_path, PLAN.replace("settle = 0.65", "settle = 0.85"))
    with open_run(folder / "point-000.h5") as file:
        before = file["pulleys/clamping_force"][()]
    engine.run_campaign(UNIT, unit_text, longer, text, folder)
    assert made[3:] == names_of(plan)
    with open_run(folder / "point-000.h5") as file:
        assert run_of(file).settle == pytest.approx(0.8)
        after = file["pulleys/clamping_force"][()]
    assert len(after) > len(before)
    assert np.array_equal(after[: len(before)], before)
    # what is there longer than is asked for is another run
    refused("a run of this plan", engine.run_campaign, UNIT, unit_text, plan, text, folder)
