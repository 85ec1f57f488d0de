"""Campaigns: what a plan draws, what a run measures, and that no run is lost."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from rows import text_of
from scipy.stats import qmc

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run import windows
from rtcvt.offline.pushbelt.run.prepare import load_torque, prepare, start_of, steps_of
from rtcvt.offline.pushbelt.run.reading import open_run, run_of
from rtcvt.offline.pushbelt.run.runfile import DATASETS
from rtcvt.offline.pushbelt.run.schedule import LIMIT, RUNAWAY, Branch, Point, Run, Settings, as_json, from_json
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.run.snapshots import FIELDS
from rtcvt.offline.pushbelt.run.windows import BEFORE, STEADY, frames_of, summary
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.parameters import FORCE, RATE, TORQUE, Boundary, belt, load_parameters, sheaves
from rtcvt.offline.pushbelt.unit.velocity_model import belt_velocity
from rtcvt.offline.variator import campaign
from rtcvt.offline.variator.campaign import INDEX, index, run_campaign, write_short
from rtcvt.offline.variator.plan import load_plan, names_of, runs_of, shipped_plans
from rtcvt.unitfile import find_unit

SMALL = text_of("units/plan.toml")


@pytest.fixture(scope="module")
def parameters():
    return load_parameters("pushbelt_24mm")


@pytest.fixture(scope="module")
def text():
    return find_unit("pushbelt_24mm").read_text(encoding="utf-8")


def plan_of(folder, text):
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path)


# --- plans


@pytest.fixture(scope="module")
def shipped(parameters):
    return list(runs_of(load_plan("pushbelt_24mm")[0], parameters))


@pytest.fixture(scope="module")
def held_out(parameters):
    return list(runs_of(load_plan("heldout")[0], parameters))


def test_a_plan_draws_runs_that_the_belt_can_hold(parameters):
    plan = load_plan("pushbelt_24mm")[0]
    for run in islice(runs_of(plan, parameters), 0, 40, 4):
        assert_held_within(plan.space, run, parameters)


@pytest.mark.slow
def test_plans_draw_runs_within_their_space_that_the_belt_can_hold(shipped, parameters):
    plan, runs = load_plan("pushbelt_24mm")[0], shipped
    assert len({run.name for run in runs}) == len(runs)
    points = [run for run in runs if run.name.startswith("point-")]
    assert len(points) == plan.points.number >= 90
    assert sum(len(run.branches) for run in points) == 4 * len(points)
    assert sum(len(run.branches) == 1 for run in runs) == sum(group.number for group in plan.transient)
    for group in plan.refine:
        more = [run for run in runs if run.name.startswith(f"{group.name}-")]
        assert len(more) == group.number
        for key, of in (("ratio", "ratio"), ("speed", "omega_I"), ("torque_ratio", "xi"), ("clamping_force", "F_O")):
            lower, upper = getattr(group, key) or getattr(plan.space, key)
            assert all(lower <= getattr(run.start, of) <= upper for run in more)
    for run in runs[::3]:
        assert_held_within(plan.space, run, parameters)


def assert_held_within(space, run, parameters):
    """Within the space, and neither the settled belt nor one of its branches slips."""
    b, s = belt(parameters), sheaves(parameters)
    assert space.ratio[0] <= run.start.ratio <= space.ratio[1]
    assert space.speed[0] <= run.start.omega_I <= space.speed[1]
    assert space.torque_ratio[0] <= run.start.xi <= space.torque_ratio[1]
    assert space.clamping_force[0] <= run.start.F_O <= space.clamping_force[1]
    geometry = start_of(b, s, run.start)[0].steady.geometry
    v = run.start.omega_I * (geometry.r_I - b.h_off)
    assert v <= space.belt_speed
    assert b.m_star * v**2 <= space.kappa * run.start.F_O
    for branch in run.branches:
        F_O = branch.y_O * run.start.F_O
        assert space.clamping_force[0] <= F_O <= space.clamping_force[1]
        M_O = load_torque(b, branch.xi, run.start.F_O, geometry.r_O)
        held = Boundary(RATE, 0.0, FORCE, F_O, run.start.omega_I, TORQUE, M_O)
        steady = belt_velocity(b, held, geometry, b.h_off)
        assert not steady.slips
        # torque ratios of the two pulleys, the primary's at its own force and radius
        M_I = M_O * (geometry.r_I - b.h_off) / (geometry.r_O - b.h_off)
        F_I = branch.y_I / branch.y_O * steady.F_CI
        for M, F, r in ((M_O, F_O, geometry.r_O), (M_I, F_I, geometry.r_I)):
            assert abs(M) * b.cos_d <= 1.0001 * space.capacity * 2.0 * b.mu * F * (r - b.h_off)


@pytest.mark.slow
def test_plans_fill_their_space_more_evenly_than_chance(shipped):
    space = load_plan("pushbelt_24mm")[0].space
    u = np.array(
        [
            (
                np.log(run.start.ratio / space.ratio[0]) / np.log(space.ratio[1] / space.ratio[0]),
                np.log(run.start.omega_I / space.speed[0]) / np.log(space.speed[1] / space.speed[0]),
                (run.start.xi - space.torque_ratio[0]) / (space.torque_ratio[1] - space.torque_ratio[0]),
                np.log(run.start.F_O / space.clamping_force[0])
                / np.log(space.clamping_force[1] / space.clamping_force[0]),
            )
            for run in shipped
            if run.name.startswith("point-")
        ]
    )
    by_chance = [qmc.discrepancy(np.random.default_rng(k).random(u.shape)) for k in range(20)]
    assert qmc.discrepancy(u) < min(by_chance)
    assert qmc.discrepancy(u[: len(u) // 3]) < np.median(by_chance) * 3.0  # part of it serves, too
    y = np.array([b.y_I for run in shipped[: len(u)] for b in run.branches])
    assert y.min() < 0.55
    assert y.max() > 1.75


@pytest.mark.parametrize("kind", ["damper", "bench", "car", "torque"])
def test_load_is_that_of_the_plan_else_of_the_unit(tmp_path, parameters, kind):
    """A damper carries what the secondary can hold at its slip."""
    damper = 'load = { kind = "damper", slip = 0.05 }'
    plan, _ = plan_of(tmp_path, SMALL.replace(damper, f'load = {{ kind = "{kind}" }}'))
    silent, _ = plan_of(tmp_path, SMALL.replace(damper, ""))
    unit = parameters.model_copy(update={"load": plan.model.load})
    b = belt(parameters, N_E=110, N_B=52)
    for run, other, none in zip(
        *(runs_of(*x) for x in ((plan, parameters), (silent, unit), (silent, parameters))), strict=True
    ):
        load = run.settings.load
        assert other == run
        assert none.settings.load is None
        assert from_json(as_json(run)) == run
        made = prepare(unit, none)  # as any command runs a unit that has a load
        assert made.model.load == pytest.approx(load, rel=0.02)
        assert made.state.load[0] == pytest.approx(load.far * made.inputs[0, 6] / max(load.K, 1.0), rel=0.02)
        if kind == "torque":
            assert load == Load()
        elif kind != "damper":
            assert (load.K, load.far) == ({"bench": 2e4, "car": 400.0}[kind], 1.0)
        else:
            r_O = start_of(b, sheaves(parameters), run.start)[0].steady.geometry.r_O
            share = load.d * 0.05 * run.start.omega_I / run.start.ratio
            assert share == pytest.approx(load_torque(b, 1.0, run.start.F_O, r_O))
            assert pytest.approx(10e-3) == load.J / load.d
    assert all(load_plan(name)[0].model.load is None for name in shipped_plans())
    with pytest.raises(InputError, match=r"load.*a table with kind"):
        plan_of(tmp_path, SMALL.replace("damper", "brake"))


@pytest.mark.slow
def test_held_out_runs_are_others_and_the_same_each_time(shipped, held_out, parameters):
    assert sum(r.name.startswith("point-") for r in held_out) >= 20
    assert sum(not r.name.startswith("point-") for r in held_out) >= 10
    assert not {r.start.ratio for r in shipped} & {r.start.ratio for r in held_out}
    assert held_out == list(runs_of(load_plan("heldout")[0], parameters))


@pytest.mark.parametrize("name", sorted(shipped_plans()))
def test_shipped_plans_are_valid_and_named_as_their_file(name):
    assert load_plan(name)[0].name == name


def test_a_longer_plan_contains_the_shorter_one(tmp_path, parameters):
    """A campaign is extended by a larger number: what is there stays."""
    names = ("point-000", "point-001", "torque-000")
    short, long = (
        {
            run.name: run
            for run in runs_of(plan_of(tmp_path, SMALL.replace("number = 2", f"number = {n}"))[0], parameters)
        }
        for n in (2, 5)
    )
    assert len(long) == 6
    assert [short[n] for n in names] == [long[n] for n in names]


def test_unknown_plans_and_impossible_spaces_are_refused(tmp_path, parameters):
    with pytest.raises(InputError, match="pushbelt_24mm, quick, small"):
        load_plan("nosuch")
    plan, _ = plan_of(tmp_path, SMALL.replace("[0.1, 0.4]", "[2.0, 3.0]"))
    with pytest.raises(InputError, match="space"):
        list(runs_of(plan, parameters))


# --- one run


@pytest.fixture(scope="module")
def done(parameters, text, tmp_path_factory):
    """A settled point with a branch at the force that holds it, one up, one down and one until the limit."""
    path = tmp_path_factory.mktemp("run") / "run.h5"
    # the force that holds is the mean of one that fluctuates: it and what follows are averaged over some revolutions
    branches = tuple(Branch(y, 1.0, 0.4, 0.0, 0.4, d) for y, d in ((1.0, 6.4), (1.3, 1.2), (0.75, 1.2)))
    run = Run(
        name="run", start=Point(ratio=1.0, omega_I=320.0, xi=0.4, F_O=12e3),
        settings=Settings(scheme="multirate", step=2.5e-6), settle=9.0, mean=4.0,
        branches=(*branches, Branch(2.5, 1.0, 0.4, 0.0, 0.4, 12.0)), limits=(0.96, 1.05), frames=24,
        observe=("elements", "fields"),
    )  # fmt: skip
    simulate(parameters, run, path, text, plan="the plan")
    assert [p.name for p in path.parent.iterdir()] == ["run.h5"]
    with open_run(path) as file:
        assert run_of(file) == run
        yield file


@pytest.fixture(scope="module")
def short(parameters, text, tmp_path_factory):
    """A few windows of a coarse belt."""
    path = tmp_path_factory.mktemp("short") / "run.h5"
    branches = tuple(Branch(y, 1.0, 0.3, 0.0, 0.1, 0.6) for y in (1.2, 0.9))
    settings, see = Settings(N_E=110, N_B=52, scheme="multirate"), ("elements", "fields")
    run = Run("run", Point(1.0, 300.0, 0.3, 8e3), settings, 1.0, mean=0.4, branches=branches, frames=24, observe=see)
    simulate(parameters, run, path, text, plan="the plan")
    with open_run(path) as file:
        yield file


def test_a_belt_whose_thrust_ratio_drifts_settles_on(parameters, text, tmp_path, monkeypatch):
    settings = Settings(N_E=110, N_B=52, scheme="multirate")
    run = Run("run", Point(1.0, 300.0, 0.3, 8e3), settings, 0.9, mean=0.4, frames=24)
    longer = replace(run, settle_at_most=2.0)

    def made(limit: float, asked: Run, name: str) -> int:
        monkeypatch.setattr(windows, "DRIFTING", limit)
        simulate(parameters, asked, tmp_path / f"{name}.h5", text, resume=True)
        with open_run(tmp_path / f"{name}.h5") as file:
            change = np.divide(*summary(file)["thrust_ratio"][[STEADY, BEFORE]]) - 1.0
            drift.append(abs(float(change)))
            return len(file["time"])

    drift: list[float] = []
    assert made(0.0, run, "plain") == 22
    assert made(0.0, longer, "never") == 48  # as long as may be
    limit = 0.5 * drift[0]
    assert drift[1] < limit  # it does settle
    n = made(limit, longer, "settled")
    assert n in (24, 48)  # with a revolution
    assert drift[2] <= limit
    there = [campaign._is_there(tmp_path / f"{k}.h5", longer, parameters, text) for k in ("plain", "never", "settled")]
    assert there == [False, True, True]
    assert made(limit, longer, "plain") == n  # an existing one goes on


@pytest.mark.slow
def test_means_are_those_of_the_operating_point(done, parameters):
    b, s = belt(parameters), summary(done)
    run = run_of(done)
    assert s["omega_I"] == pytest.approx(run.start.omega_I, rel=1e-12)
    assert s["F_O"] == pytest.approx(run.start.F_O, rel=1e-12)
    assert s["y"][STEADY] == pytest.approx(1.0, rel=1e-12)
    assert s["y"][2:5] == pytest.approx([k.y_I for k in run.branches[:3]], rel=1e-12)
    assert s["ratio"][STEADY] == pytest.approx(run.start.ratio, rel=2e-3)
    assert s["xi"][STEADY] == pytest.approx(run.start.xi, rel=0.01)
    # power of the shafts, from torques and speeds; torque ratio of the primary from its own torque
    assert s["P_I"][STEADY] == pytest.approx(-s["M_I"][STEADY] * run.start.omega_I, rel=1e-6)
    xi_I = -s["M_I"] * b.cos_d / (2.0 * b.mu * s["F_I"] * (s["r_I"] - b.h_off))
    assert s["xi_I"][:-1] == pytest.approx(xi_I[:-1], rel=1e-12)
    # the elements run at the speed of the rocking edges, but for slip and compression
    assert s["v"][STEADY] == pytest.approx(run.start.omega_I * (s["r_I"][STEADY] - b.h_off), rel=5e-3)
    assert s["kappa"][STEADY] == pytest.approx(b.m_star * s["v"][STEADY] ** 2 / run.start.F_O, rel=1e-12)
    assert not done.attrs["slipping"]
    # a revolution at the start is the time in which N_E elements pass
    assert done.attrs["revolution"] == pytest.approx(b.N_E * b.t_R / s["v"][STEADY], rel=0.01)


def test_power_balances_over_every_window(short):
    s = summary(short)
    for k in range(4):
        inputs = s["P_I"][k] + s["P_O"][k] + s["P_axial_I"][k] + s["P_axial_O"][k]
        parts = sum(s[name][k] for name in s if name.startswith("loss_"))
        assert parts == pytest.approx(s["loss"][k], rel=1e-9)
        assert inputs - s["loss"][k] - s["P_stored"][k] == pytest.approx(s["unaccounted"][k], abs=1e-6 * abs(inputs))
        assert s["loss"][k] > 0.0
        assert abs(s["unaccounted"][k]) < 0.03 * s["loss"][k]


@pytest.mark.slow
def test_shift_rate_follows_the_force(done):
    """No dead band: the settled force holds the ratio; up and down are opposite and of the known order."""
    s = summary(done)
    held, up, down = (s["x"][k] for k in (2, 3, 4))
    assert abs(s["x_apex"][STEADY]) < 1e-12  # the end stop
    assert abs(held) < 0.05 * min(up, -down)
    for x, y in ((up, 1.3), (down, 0.75)):
        k = x / (12e3 * (y - 1.0))
        assert 0.5e-7 < k < 6.1e-7  # 2.7e-7 1/N pooled, low to high torque, measured with another program
    assert s["x"][3:5] == pytest.approx(s["x_apex"][3:5], rel=0.1)
    # forces of the pulleys on their way: F z' of the two sheaves, from the slope of the radii
    tan_d = json.loads(done.attrs["parameters"])["belt"]["tan_d"]
    expected = 2.0 * (s["F_I"] * tan_d * s["x_apex"] * s["omega_I"] * s["r_I"])[3:5]
    assert s["P_axial_I"][3:5] == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_radii_keep_the_length_of_the_belt(done):
    """wrap_I dr_I + wrap_O dr_O = 0 for a belt of constant length."""
    s, b = summary(done), json.loads(done.attrs["parameters"])["belt"]
    for k in (3, 4):
        c = closure(b["l_R"], b["d_A"], s["r_O"][k] / s["r_I"][k])
        assert s["x_O"][k] / s["x"][k] == pytest.approx(-c.wrap_I / c.wrap_O, rel=0.1)


@pytest.mark.slow
def test_branches_start_from_the_settled_state_and_end_at_the_limit(done):
    run, phase = run_of(done), done["phase"][()]
    ended = done["ended"][()]
    assert ended.tolist() == [0, 0, 0, 0, LIMIT]
    assert phase.max() == 4
    assert np.all(np.diff(phase) >= 0)
    settled = np.flatnonzero(phase == 0)[-1]
    for k in range(1, 5):
        rows = np.flatnonzero(phase == k)
        assert done["time"][rows[0]] == pytest.approx(done["time"][settled] + done.attrs["plot_step"], rel=1e-9)
        # the radius goes on from where it was: half a per mille in a frame, with 2.5 times the force as in later ones
        radii = done["grid/radius"][[settled, *rows[:5]], 0]
        moved = np.abs(np.diff(radii))
        assert moved[0] < (1e-3 * radii[0] if run.branches[k - 1].y_I < 2.0 else moved[1:].mean())
        F_I = summary(done)["F_I"][STEADY]
        assert done["inputs"][rows[-1]] == pytest.approx(
            [
                FORCE,
                run.branches[k - 1].y_I * F_I,
                FORCE,
                run.start.F_O,
                run.start.omega_I,
                TORQUE,
                done["inputs"][0, 6],
            ],
            rel=1e-9,
        )
    assert done["inputs"][0, 0] == RATE
    b = json.loads(done.attrs["parameters"])["belt"]
    radius = done["grid/radius"][()] - b["h_off"]
    ratio = radius[:, 1] / radius[:, 0]
    assert ratio[-1] < run.limits[0] < ratio[-1 - run.frames]  # looked at once in a revolution


def test_file_holds_everything_that_the_run_needs(short, text):
    assert short["unit_file"].asstr()[()] == text
    assert short["plan"].asstr()[()] == "the plan"
    assert {"revision", "created", "rtcvt_version", "schema_version", "scheme", "step"} <= set(short.attrs)
    assert all(len(short[name]) == len(short["time"]) for name in DATASETS)
    for k in (BEFORE, STEADY, 3):
        rows = frames_of(short, k)
        for name in FIELDS:
            mean = short[f"fields/{name}"][rows].mean(axis=0, dtype=float)
            assert short[f"mean/{name}"][k] == pytest.approx(mean, rel=1e-5, abs=1e-6 * np.abs(mean).max())
    assert frames_of(short, BEFORE).stop == frames_of(short, STEADY).start


@pytest.mark.slow
def test_slip_that_runs_away_ends_the_run_and_is_a_result(parameters, text, tmp_path):
    branches = (Branch(1.2, 1.0, 2.0, 0.0, 0.1, 0.5),)
    settings = Settings(N_E=110, N_B=52, scheme="multirate", step=2.5e-6)
    at = Point(ratio=1.0, omega_I=300.0, xi=2.0, F_O=8e3)
    run = Run("run", at, settings, 20.0, mean=0.5, branches=branches, limits=(0.5, 2.0), frames=16)
    assert simulate(parameters, run, tmp_path / "run.h5", text).ended == RUNAWAY
    with open_run(tmp_path / "run.h5") as file:
        assert file["ended"][()].tolist() == [RUNAWAY, RUNAWAY]
        assert len(file["time"]) < 20 * 16
        assert file.attrs["slipping"]
        s = summary(file)
        assert np.isnan(s["x"][2])
        assert file["time"].shape == file["fields/push"].shape[:1]
    (row,) = (r for r in index(tmp_path) if r.window == "steady")
    assert row.slipping
    assert row.ended == "slip ran away"


def test_branches_multiply_a_force_that_is_given(parameters, text, tmp_path):
    branches = (Branch(1.1, 1.0, 0.3, 0.0, 0.1, 0.5),)
    settings = Settings(N_E=110, N_B=52, scheme="multirate", step=2.5e-6)
    run = Run("run", Point(1.0, 300.0, 0.3, 8e3), settings, 1.0, mean=0.4, branches=branches, frames=16)
    simulate(parameters, run, tmp_path / "run.h5", text, F_I=9e3)
    with open_run(tmp_path / "run.h5") as file:
        s = summary(file)
        assert s["F_I"][2] == pytest.approx(1.1 * 9e3, rel=1e-12)
        assert s["y"][1:] == pytest.approx(s["F_I"][1:] / 9e3, rel=1e-12)


def test_a_run_is_that_of_its_scheme(parameters, text, tmp_path):
    """To the bit: two revolutions later rounding alone changes the torques by a percent."""
    scheme, step = "multirate", 2.5e-6
    settings, see = Settings(N_E=110, N_B=52, scheme=scheme, step=step), ("elements", "fields")
    run = Run("run", Point(1.0, 300.0, 0.5, 8e3), settings, 0.5, mean=0.2, frames=16, observe=see)
    simulate(parameters, run, tmp_path / "run.h5", text)
    b, s = belt(parameters, N_E=110, N_B=52), sheaves(parameters)
    start, _ = start_of(b, s, run.start)
    x = hybrid.state(*start[:7], n_k=len(s.A) - 1)
    with open_run(tmp_path / "run.h5") as file:
        assert file.attrs["scheme"] == run_of(file).settings.scheme == scheme
        assert 0.9 * step < file.attrs["step"] <= step
        inputs, steps = file["inputs"][()], round(file.attrs["plot_step"] / file.attrs["step"])
        inputs = np.vstack([inputs[:1], inputs])
        found, _ = hybrid.run(hybrid.model(b, s), x, inputs, steps, file.attrs["step"], n_R=2)
        for name in ("tension", "flank", "pulley"):
            sources = {k: d for k, d in DATASETS.items() if d.field == name}
            assert sources
            for k, d in sources.items():
                assert np.array_equal(file[k][()], getattr(found, d.field)[(slice(None), *d.part)].astype(d.dtype)), k


def test_plans_take_the_step_that_suits_the_scheme(tmp_path, parameters):
    for text, scheme, step in (
        (SMALL, "multirate", 2.5e-6),
        (SMALL.replace("[model]", '[model]\nscheme = "explicit"'), "explicit", 1e-6),
        (SMALL.replace("[model]", '[model]\nscheme = "explicit"\nstep = "0.5 us"'), "explicit", 5e-7),
    ):
        for run in runs_of(plan_of(tmp_path, text)[0], parameters):
            assert (run.settings.scheme, run.settings.step) == (scheme, pytest.approx(step, rel=1e-12))


def test_steps_are_a_whole_part_of_a_frame(parameters):
    settings = Settings(scheme="multirate", step=2.5e-6)
    for omega in (100.0, 600.0):
        made = prepare(parameters, Run("r", Point(1.0, omega, 0.2, 1e4), settings, 4.0, mean=1.0))
        ticks = made.clock
        assert 0.95 * 2.5e-6 < ticks.step <= 2.5e-6
        assert ticks.steps * ticks.step == pytest.approx(ticks.plot_step, rel=1e-12)
        assert steps_of(made) * ticks.step == pytest.approx(4.0 * ticks.revolution, rel=1e-9)


# --- many runs


@pytest.fixture(scope="module")
def cluster():
    """A scheduler with one worker, both in this process."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def test_campaign_lists_failures_tries_them_again_and_keeps_what_is_there(
    tmp_path, parameters, text, cluster, monkeypatch
):
    plan, plan_text = plan_of(tmp_path, SMALL)
    names = names_of(plan)
    assert names == [run.name for run in runs_of(plan, parameters)] == ["point-000", "point-001", "torque-000"]

    def failing(parameters, run, path, text, **more):
        if run.name == "point-001":
            raise InputError("run", "", None, "another one")
        return simulate(parameters, run, path, text, **more)

    folder, seen = tmp_path / "runs", []
    monkeypatch.setattr(campaign, "simulate", failing)
    result = run_campaign(
        parameters, text, plan, plan_text, folder, scheduler=cluster, progress=lambda *a: seen.append(a)
    )
    assert result.done == ("point-000", "torque-000")
    assert result.failed == {"point-001": "run: another one"}
    assert result.missing == ()
    assert seen[:3] == [("three: drawing operating points", k, 3) for k in (1, 2, 3)]
    steps = seen[3][2]
    assert seen[3] == ("three: 0 of 3 runs", 0, steps)
    assert seen[-1] == ("three: 3 of 3 runs", steps, steps)
    assert sorted(p.name for p in folder.iterdir()) == [INDEX, "point-000.h5", "point-001.failed", "torque-000.h5"]

    monkeypatch.setattr(campaign, "simulate", simulate)
    before = (folder / "point-000.h5").stat().st_mtime_ns
    (folder / ".point-001.h5.abcdefgh.h5").write_text("half")
    result = run_campaign(parameters, text, plan, plan_text, folder, scheduler=cluster)
    assert result.done == tuple(names)
    assert result.failed == {}
    assert (folder / "point-000.h5").stat().st_mtime_ns == before
    assert sorted(p.name for p in folder.iterdir()) == [INDEX, *(f"{n}.h5" for n in names)]

    # the index is made from the files alone; what a killed worker leaves of a file is none
    written = (folder / INDEX).read_text()
    (folder / INDEX).unlink()
    (folder / ".point-000.h5.abc.h5").write_text("half")
    run_campaign(parameters, text, plan, plan_text, folder)
    (folder / ".point-000.h5.abc.h5").unlink()
    assert (folder / INDEX).read_text() == written
    rows = list(index(folder))
    assert [(r.run, r.window) for r in rows[:3]] == [(names[0], w) for w in ("before", "steady", "branch 1")]
    write_short(tmp_path / "short.csv", rows)
    short = list(csv.DictReader((tmp_path / "short.csv").open()))
    assert [r["window"] for r in short[:2]] == ["steady", "branch 1"]
    assert float(short[0]["thrust_ratio [1]"]) == pytest.approx(rows[1].values["thrust_ratio"], rel=1e-3)
    with open_run(folder / "torque-000.h5") as file:
        assert summary(file)["thrust_ratio"].tolist() == [r.values["thrust_ratio"] for r in rows[-3:]]
        # a torque step: the load goes to that of the branch
        run = run_of(file)
        assert file["inputs"][-1, 6] / file["inputs"][0, 6] == pytest.approx(
            run.branches[0].xi / run.start.xi, rel=1e-9
        )

    # another plan, or another unit, is not mixed into it
    other, other_text = plan_of(tmp_path, SMALL.replace("seed = 5", "seed = 6"))
    with pytest.raises(InputError, match=r"point-000\.h5: run"):
        run_campaign(parameters, text, other, other_text, folder)
    with pytest.raises(InputError, match=r"point-000\.h5: unit_file"):
        run_campaign(parameters, text.replace("mu = 0.105", "mu = 0.106"), plan, plan_text, folder)
    assert run_campaign(parameters, text + "# a comment changes no unit\n", plan, plan_text, folder).done == tuple(
        names
    )


def test_a_campaign_removes_only_what_its_workers_left(tmp_path, parameters, text, cluster, monkeypatch):
    plan, plan_text = plan_of(tmp_path, SMALL)
    folder = tmp_path / "runs"
    folder.mkdir()
    halves = [".point-000.h5.ab1_cd2e.h5", ".point-001.h5.partial.abcdefgh.partial"]
    others = [".point-000.notes", ".point-000.h5.backup.h5", ".point-0001.h5.ab1_cd2e.h5"]
    for name in (*halves, *others):
        (folder / name).touch()

    def refused(parameters, run, path, text, **more):
        with pytest.raises(InputError, match="no other campaign writes to"):
            run_campaign(parameters, text, plan, plan_text, folder, scheduler=cluster)
        raise InputError("run", "", None, "another one")

    monkeypatch.setattr(campaign, "simulate", refused)
    result = run_campaign(parameters, text, plan, plan_text, folder, scheduler=cluster)
    assert set(result.failed.values()) == {"run: another one"}
    left = {p.name for p in folder.iterdir()}
    assert left >= set(others)
    assert not left & set(halves)


def test_belt_that_leaves_its_place_is_a_failure_and_not_a_file(tmp_path, parameters, text, cluster):
    plan, plan_text = plan_of(
        tmp_path,
        SMALL.replace("frames = 18", 'frames = 18\nscheme = "explicit"\nstep = "50 us"').split("[[transient]]")[0],
    )
    result = run_campaign(parameters, text, plan, plan_text, tmp_path / "runs", scheduler=cluster)
    assert result.done == ()
    assert set(result.failed) == {"point-000", "point-001"}
    assert all("left its place" in reason for reason in result.failed.values())
    assert sorted(p.suffix for p in (tmp_path / "runs").iterdir()) == [".csv", ".failed", ".failed"]


def test_no_scheduler_at_the_address(tmp_path, parameters, text):
    plan, plan_text = plan_of(tmp_path, SMALL)
    with pytest.raises(InputError, match=r"--scheduler = 'nosuch://1:2'"):
        run_campaign(parameters, text, plan, plan_text, tmp_path / "runs", scheduler="nosuch://1:2")


def rtcvt(*arguments, **options):
    command = [sys.executable, "-m", "rtcvt", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
    )


def test_command_line_teaches_and_refuses(monkeypatch, command, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = command("campaign", "--help")
    assert code == 0
    for word in ("--plan", "--scheduler", "--workers", "small", "heldout", "index.csv", "same command"):
        assert word in out
    code, _, err = command("campaign", "pushbelt_24mm", "--plan", "nosuch", "-o", str(tmp_path / "runs"))
    assert code == 2
    assert "nosuch" in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_quick_plan_has_enough_to_reduce_and_takes_minutes():
    plan, _ = load_plan("quick")
    parameters = load_parameters("pushbelt_24mm")
    runs = list(runs_of(plan, parameters))
    assert len(runs) == 34  # 20 that settle without slipping are needed
    assert sum(steps_of(prepare(parameters, run)) for run in runs) < 6e6


def test_expected_time_is_told():
    told = campaign._expected("quick", 34, 4_963_940, 19e-6, 1)
    assert told.startswith("quick: 34 runs, 4.96 million steps of 19 us, 94 s of processor time: about 2 min on 1 of ")
    assert "4.8 h of processor time: about 2.4 h on 2 of" in campaign._expected("long", 2064, 900_000_000, 19e-6, 2)


@pytest.mark.slow
def test_small_plan_survives_ctrl_c_and_a_kill(tmp_path):
    """Twelve runs in a few minutes, on as many processes as there are processors."""
    folder = tmp_path / "runs"
    command = ("campaign", "pushbelt_24mm", "--plan", "small", "-o", folder)

    def started_until(count):
        process = rtcvt(*command)
        for _ in range(3000):
            if len(list(folder.glob("*.h5"))) >= count or process.poll() is not None:
                return process
            time.sleep(0.1)
        return process

    process = started_until(2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "the same command continues" in err
    assert "Traceback" not in err
    kept = {p.name: p.stat().st_mtime_ns for p in folder.glob("*.h5")}
    assert len(kept) >= 2

    process = started_until(len(kept) + 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

    process = rtcvt(*command)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "12 runs" in out
    assert {n: (folder / n).stat().st_mtime_ns for n in kept} == kept
    assert sorted(p.suffix for p in folder.iterdir()) == [".csv", *[".h5"] * 12]
    rows = [r for r in index(folder) if r.window == "steady"]
    assert len(rows) == 12
    for row in rows:
        assert row.values["thrust_ratio"] > 0.0
        assert row.values["loss"] > 0.0
        assert abs(row.values["unaccounted"]) < 0.05 * row.values["loss"]
    for row in index(folder):
        y, x = row.values["y"], row.values["x"]
        if row.run.startswith("point") and abs(y - 1.0) > 0.05:
            assert np.sign(x) == np.sign(y - 1.0), row
