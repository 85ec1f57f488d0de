"""Runs that a campaign chooses: what tells most, half of the runs for the same error, a loop that ends and goes on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusals import refused
from scipy.stats import qmc

from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters
from rtcvt.offline.variator import choice
from rtcvt.offline.variator.campaign import Campaign
from rtcvt.offline.variator.plan import load_plan
from rtcvt.offline.variator.process import Process, fit, posterior
from rtcvt.offline.variator.spread import spread
from rtcvt.simulate import simulate

PLAN, TEXT = load_plan("quick")


def test_a_target_is_a_quantity_and_a_percentage():
    assert choice.target_of("thrust ratio 2 %") == ("thrust ratio", 0.02)
    assert choice.target_of(" slip 0.15 points") == ("slip", pytest.approx(0.0015))
    for text in ("thrust ratio", "thrust ratio 2", "torque 2 %", "slip 0 %", "slip -1 %", "slip nan %"):
        refused("--until", choice.target_of, text)


def test_covariance_given_data_is_that_of_the_normal_distribution():
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-1.0, 1.0, (12, 2)), rng.uniform(-1.0, 1.0, (5, 2))
    lengths, a, s = np.array([0.7, 1.3]), 1.4, 0.2
    r = np.sqrt(5.0) * np.linalg.norm((np.vstack([x, z])[:, None] - np.vstack([x, z])) / lengths, axis=2)
    K = a**2 * (1.0 + r + r**2 / 3.0) * np.exp(-r)
    exact = K[12:, 12:] - K[12:, :12] @ np.linalg.solve(K[:12, :12] + s**2 * np.eye(12), K[:12, 12:])
    assert_allclose(posterior(Process(x, lengths, a, s, 0.0, np.zeros(12)), z), exact, atol=1e-12)


def test_steep_places_get_the_runs():
    """Laws with a front: chosen runs miss clearly less of them than as many that fill the space evenly."""
    ratios = []
    for seed, slope in ((1, 0.3), (3, -0.7), (5, 0.5), (7, 0.0), (9, -0.3), (11, 0.8)):
        pool = 2.0 * qmc.Sobol(2, seed=seed).random(512) - 1.0
        test = 2.0 * qmc.Sobol(2, seed=seed + 1).random(256) - 1.0

        def law(x, slope=slope):
            return 0.1 * x[:, 1] + 0.2 * np.tanh((x[:, 0] - slope * x[:, 1]) / 0.12)

        def error(rows, pool=pool, test=test, law=law):
            found, crossed = fit(pool[rows], law(pool[rows]), np.arange(len(rows)) % 10)
            return np.sqrt(np.mean((found.mean(test) - law(test)) ** 2)), found, crossed

        chosen = list(range(32))
        while len(chosen) < 72:
            _, found, crossed = error(chosen)
            left = np.setdiff1d(np.arange(512), chosen)
            size = spread(pool[chosen], crossed - law(pool[chosen]), np.arange(len(chosen)) % 10)[0].at(pool[left])
            chosen += left[choice.choose(found, (pool[left], size), None, 10)].tolist()
        assert len(set(chosen)) == 72
        ratios.append(error(chosen)[0] / error(list(range(72)))[0])
    assert np.prod(ratios) ** (1.0 / 6.0) < 0.85


def test_a_wanted_use_gets_the_runs():
    """Of one corner: runs chosen for it tell as much of it as four times as many that fill the space evenly."""
    pool = 2.0 * qmc.Sobol(2, seed=1).random(256) - 1.0
    use = 0.5 * qmc.Sobol(2, seed=2).random(64) + 0.5
    process = Process(np.array([[0.0, 0.0]]), np.full(2, 0.7), 1.0, 0.05, 0.0, np.zeros(1))
    rows = choice.choose(process, (pool, np.ones(256)), (use, np.ones(64)), 10)

    def left(rows):
        known = Process(pool[rows], process.lengths, 1.0, 0.05, 0.0, np.zeros(len(rows)))
        return np.trace(posterior(known, use))

    assert len(set(rows)) == 10
    assert left(rows) < left(list(range(40)))
    assert np.mean(pool[rows] > 0.2) > 0.8


def test_operating_points_come_from_a_recording(tmp_path):
    one = load_unit("pushbelt_cvt")
    path, parameters = tmp_path / "run.h5", load_parameters("pushbelt_24mm")
    result = simulate(one.build("hybrid"), one.scenario[0])
    result.recording().save(path)
    found = choice.points_of(path, parameters, PLAN.space)
    assert len(found) == choice.MAX_POINTS
    rows = [int(np.argmin(np.abs(result["ratio.i"] - i))) for i in found[:, 0]]
    assert_allclose(found[:, 3], result["thrust.secondary"][rows] / 1e4, rtol=0.05)
    power = result["belt.T_O"] * np.cos(belt(parameters).delta_0)
    low, high = np.quantile(power / (2.0 * belt(parameters).mu * result["thrust.secondary"]), (0.0, 1.0))
    assert low <= found[:, 1].min() <= found[:, 1].max() <= high
    with pytest.raises(InputError, match="within the plan's space"):
        choice.points_of(path, parameters, PLAN.space.model_copy(update={"clamping_force": (1e6, 2e6)}))


def test_the_expected_error_counts_large_errors_by_runs_that_nobody_chose():
    assert choice.calibration(np.array([3.0, 4.0]), np.ones(2)) == pytest.approx(np.sqrt(12.5))
    assert choice.calibration(np.empty(0), np.empty(0)) == 1.0
    # shares of the errors are right while the mean square is off: one of fifty is ten times as large
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 1.0, (300, 2))
    e = rng.standard_normal(300) * np.where(np.arange(300) % 50 == 0, 10.0, 1.0)
    found, by_others = spread(x, e, np.arange(300) % 10)
    size = np.sqrt(np.mean(found.at(x) ** 2))
    assert size < 0.75 * np.sqrt(np.mean(e**2))
    evenly = np.arange(300) // 50 % 2 == 0
    assert size * choice.calibration(e[evenly], by_others[evenly]) == pytest.approx(np.sqrt(np.mean(e**2)), rel=0.25)
    assert choice._drawn_evenly("point-004", ("point",))
    assert [choice._drawn_evenly(f"chosen-{k:03}", ()) for k in range(4)] == [False, False, False, True]


def test_a_campaign_goes_on_until_it_is_good_enough(monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "CANDIDATES", 6)
    monkeypatch.setattr(choice, "BATCH", 2)
    asked, errors = [], iter([0.05, 0.03, 0.01])

    def run_campaign(parameters, unit, plan, text, folder, *, runs):
        names = [run.name for run in runs]
        asked.append(names)
        bad = {"chosen-001": "why"} if "chosen-001" in names else {}
        return Campaign(tuple(n for n in names if n not in bad), bad, ())

    def following(samples, points, use, left, number, quantity, even):
        assert points.shape == (6, 4)
        assert use is None
        return next(errors), np.flatnonzero(left)[:number].tolist()

    monkeypatch.setattr(choice, "run_campaign", run_campaign)
    monkeypatch.setattr(choice, "load_samples", lambda files, slip: None)
    monkeypatch.setattr(choice, "_next", following)
    (tmp_path / "chosen-004.h5.partial").touch()
    plan = PLAN.model_copy(
        update={"points": PLAN.points.model_copy(update={"number": 1}), "transient": (), "refine": ()}
    )
    unit = load_parameters("pushbelt_24mm")
    state, error = choice.run_until(unit, plan, TEXT, tmp_path, choice.Target("slip", 0.02))
    # what was stopped goes on; what failed is not tried again
    assert asked == [["point-000", *(f"chosen-00{k}" for k in each)] for each in ((4,), (0, 1, 4), (0, 2, 3, 4))]
    assert error == 0.01
    assert state.failed == {"chosen-001": "why"}


def test_plans_with_twins_choose_nothing():
    refused("a plan without twins", lambda: choice.with_candidates(load_plan("spatial_24mm")[0]))
