"""Check of a variator: the table of held-out runs, the figures and their parts, the report."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest
from refusals import refused

from rtcvt.offline.pushbelt.run.marks import FILE
from rtcvt.offline.pushbelt.run.runfile import KIND, SCHEMA_VERSION
from rtcvt.offline.pushbelt.run.schedule import Branch, Point, Run, Settings, as_json
from rtcvt.offline.pushbelt.run.snapshots import CELLS
from rtcvt.offline.pushbelt.run.windows import SUMMARY
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters
from rtcvt.offline.variator import heldout as ho
from rtcvt.offline.variator.check import Check, _at_ratio, check_heldout, nrmse, quadratic, record_of, smooth
from rtcvt.offline.variator.report import report_page
from rtcvt.recording import new_hdf5

PLAN, UNIT = "seed = 3", 'name = "belt"'
BELT = {"h_off": 0.004, "t_R": 0.003, "cos_d": 0.98, "tan_d": 0.2, "mu": 0.1, "m_star": 1.2}


def run(name, branches, xi=0.4, ratio=1.2, model="hybrid"):
    start = Point(ratio, 200.0, xi, 1e4)
    return Run(
        name, start, Settings(step=1e-5, model=model), 3.0, mean=1.0, branches=branches, limits=(0.4, 2.6), frames=48
    )


def other_radius(r_I):
    """A made-up closed belt: r_O falls as r_I grows."""
    return 0.12 - r_I


def series(n, duration, k, y, start=0.055):
    """A branch in which the shift rate is exactly k F_O (y - 1)."""
    time = np.linspace(0.0, duration, n)
    x = k * 1e4 * (y - 1.0)
    r_I = start * np.exp(200.0 * x * time)
    ratio = (other_radius(r_I) - BELT["h_off"]) / (r_I - BELT["h_off"])
    values = dict.fromkeys(ho.COLUMNS, np.full(n, 1.0)) | {
        "time": time, "F_I": np.full(n, y * 1.5e4), "F_O": np.full(n, 1e4), "omega_I": np.full(n, 200.0),
        "tau_O": np.full(n, 50.0), "tau_I": 50.0 / ratio, "omega_O": 200.0 / ratio, "ratio": ratio,
        "xi": np.full(n, 0.4), "kappa": np.full(n, 0.1), "r_I": r_I,
    }  # fmt: skip
    return ho.Series(values, 0)


def hump(scale):
    return (
        scale * np.sin(np.pi * (np.arange(4 * CELLS) % CELLS + 0.5) / CELLS) * (np.arange(4 * CELLS) // CELLS % 2 == 0)
    )


def held(name, slip=0.01, xi=0.4, transient=False, thrust=1.5):
    duration, y = (8.0, 1.2) if transient else (1.2, 1.3)
    branch = Branch(y, 1.0, xi, 0.0, 0.4, duration)
    s = series(50, 0.03 * duration, 3e-7, y)
    ratio = s["ratio"][0]
    means = {k: np.array([1.0, 1.0, 1.0]) for k in SUMMARY}
    means |= {
        "ratio": np.full(3, ratio), "omega_I": np.full(3, 200.0), "omega_O": np.full(3, 200.0 * (1.0 - slip) / ratio),
        "slip": np.array([1.1 * slip, slip, slip]), "thrust_ratio": np.array([1.01 * thrust, thrust, 1.3 * thrust]),
        "xi": np.full(3, xi), "kappa": np.full(3, 0.1), "F_O": np.full(3, 1e4), "M_O": np.full(3, 50.0),
        "v": np.full(3, 10.0), "P_I": np.full(3, 1e4), "P_O": np.full(3, -9.6e3),
        "P_axial_I": np.zeros(3), "P_axial_O": np.zeros(3), "P_stored": np.array([100.0, 0.0, 0.0]),
    }  # fmt: skip
    point = {"ratio": float(ratio), "xi": xi, "kappa": 0.1, "F_O": 1e4, "F_I": 1.5e4}
    fields = dict.fromkeys(ho.KEPT, hump(2e4))
    passages = (
        ho.Passage(0, -0.2, -0.1, point, {k: 1.02 * v for k, v in fields.items()}),
        ho.Passage(0, -0.1, 0.0, point, fields),
        ho.Passage(1, 0.01, 0.03, point | {"F_I": y * 1.5e4}, fields),
    )
    return ho.HeldRun(
        run=run(name, (branch,), xi), slipping=slip > 0.05, revolution=0.03, summary=means,
        branches=(s,), passages=passages,
    )  # fmt: skip


def heldout(*runs):
    return ho.HeldOut("belt", runs, PLAN, UNIT, {"belt": BELT, "sheaves": {"J": 0.0}}, {"revision": "abc"})


class Exact:
    """Reduced model that repeats the full one, with thrust ratio, ratio and field off by given shares."""

    def __init__(self, thrust=1.0, ratio=0.0, field=1.0, slip=0.0, known=None):
        self.thrust, self.ratio, self.field, self.slip, self.known = thrust, ratio, field, slip, known or {}

    def settle(self, run):
        s = {k: float(v[1]) for k, v in run.summary.items()}
        kept = {k: s[k] for k in ("omega_O", "P_I", "P_O")} | self.known
        return kept | {
            "thrust_ratio": self.thrust * s["thrust_ratio"], "slip": s["slip"] + self.slip, "tau_I": 50.0,
            "macro_slip": 0.0, "outside": 0.0,
        }  # fmt: skip

    def play(self, series, factor=1.0):
        ratio = series["ratio"][0] + (1.0 + self.ratio) * (series["ratio"] - series["ratio"][0])
        return {"ratio": ratio, "tau_I": 50.0 / ratio, "omega_O": 200.0 / ratio, "outside": np.zeros_like(ratio)}

    def flank_normal(self, start, stop):
        return hump(2e4 * self.field)

    def peak(self, start, stop):
        return self.field**2 * hump(2e4).max()


class ExactLaws:
    """Laws of the made-up full model."""

    def __init__(self, thrust=1.0):
        self.thrust = thrust

    def steady(self, ratio, xi, kappa, F_O):
        one = np.ones_like(np.asarray(ratio, dtype=float))
        return {"thrust_ratio": 1.5 * self.thrust * one, "slip": 0.01 * one, "loss": 400.0 / (1e4 * 10.0) * one}

    def k(self, ratio, xi, kappa, F_O, y):
        return 3e-7 * np.ones_like(ratio)

    def flank_normal(self, ratio, xi, kappa, F_O, y):
        return hump(2e4)

    def projected(self, flank_normal, ratio, F_O):
        return 0.99 * flank_normal

    def ratio_at(self, r_I):
        r_O = other_radius(r_I)
        return (r_O - BELT["h_off"]) / (r_I - BELT["h_off"])


def named(check, name, statistic="quadratic mean"):
    return next(f for f in check.figures if (f.name, f.statistic) == (name, statistic))


def checked(runs, hybrid=None, rigid=None, laws=None) -> Check:
    models = {"hybrid": hybrid or Exact(), "rigid": rigid or Exact()}
    return check_heldout(heldout(*runs), models, laws or ExactLaws(), 5e-4)


# --- figures


def test_a_model_that_repeats_the_full_one_has_no_error():
    check = checked([held("a"), held("b", transient=True)])
    for f in check.figures:
        assert f.value["hybrid"] == pytest.approx(0.0, abs=1e-12), f.name
    assert not check.failures


def test_laws_along_the_path_of_the_full_model_give_its_ratio_to_second_order_in_time():
    check = checked([held("b", transient=True)])
    assert named(check, "ratio, of its change").parts["laws"] < 1e-6


def test_error_of_the_thrust_ratio_is_split_into_regression_structure_and_scatter():
    check = checked([held("a"), held("c")], hybrid=Exact(thrust=1.03), laws=ExactLaws(thrust=1.01))
    f = named(check, "thrust ratio")
    assert f.value["hybrid"] == pytest.approx(0.03)
    assert f.parts == pytest.approx({"full": 0.01, "laws": 0.01, "structure": 1.03 / 1.01 - 1.0})
    assert f.reached is False
    assert f.within == (0, 2)
    assert named(check, "thrust ratio", "largest").reached is True
    told = "thrust ratio, quadratic mean: 3 %, allowed 1.5 %; mostly structure of the model"
    assert check.failures[0].startswith(told)
    assert f.limit == 0.015
    assert named(checked([held("a", thrust=1.6)]), "slip").limit == pytest.approx(1.3e-3)


def test_slip_is_compared_in_points_and_only_where_the_full_model_does_not_slip_as_a_whole():
    check = checked([held("a"), held("gross", slip=0.3)], hybrid=Exact(slip=0.0005))
    f = named(check, "slip")
    assert f.value["hybrid"] == pytest.approx(0.0005)
    assert f.within == (1, 1)
    assert f.parts["full"] == pytest.approx(0.001)


def test_errors_lie_within_what_the_model_says_of_itself_or_not():
    assert checked([held("a")]).coverage == {}
    known = {"uncertainty.thrust_ratio": 0.03, "uncertainty.slip": 4e-4, "uncertainty.flank_peak": 1e3}
    check = checked([held("a"), held("gross", slip=0.3)], hybrid=Exact(thrust=1.03, slip=5e-4, field=1.1, known=known))
    assert check.coverage == {"thrust_ratio": (1, 0.0, 1.0), "slip": (1, 0.0, 1.0), "flank_peak": (1, 0.0, 0.0)}
    assert check.as_numbers()["coverage"]["slip"] == {"states": 1, "one": 0.0, "two": 1.0}


def test_limits_are_those_of_the_belt_that_ran():
    planar = checked([held("launch-000"), held("cruise-000")], hybrid=Exact(thrust=1.018, slip=2e-3))
    spatial = replace(planar, belt="spatial")
    assert [named(c, "slip").reached for c in (planar, spatial)] == [False, True]
    assert [named(c, "thrust ratio").reached for c in (planar, spatial)] == [False, True]
    assert named(replace(planar, belt="spatial"), "slip", "largest").limit == 0.01
    assert named(spatial, "peak of the flank normal force", "95 %").limit == 0.15
    assert list(spatial.strata) == ["launch", "cruise"]
    assert spatial.strata["launch"]["slip, largest"] == pytest.approx(2e-3)


def test_coverage_has_limits_where_chance_alone_does_not_miss_them():
    known = {f"uncertainty.{name}": s for name, s in (("thrust_ratio", 0.1), ("slip", 1.0), ("flank_peak", 1e9))}
    for n, told in ((10, 0), (40, 6)):
        check = replace(
            checked([held(f"a-{k}") for k in range(n)], hybrid=Exact(thrust=1.01, known=known)), belt="spatial"
        )
        assert sum("errors within" in f for f in check.failures) == told
    assert not any("errors within" in f for f in replace(check, belt="hybrid").failures)


def test_errors_of_other_runs_are_pooled_and_no_run_counts_twice():
    exact = Exact(thrust=1.03, slip=2e-3, known={"uncertainty.slip": 1e-3})  # slip and its uncertainty are two records
    one = checked([held("a"), held("b", transient=True)], hybrid=exact)
    record = json.loads(json.dumps(one.record))
    other = checked([held("c")], hybrid=Exact(thrust=0.99))
    more = {name: record_of(*both) for name, both in record.items()}
    assert replace(one, more=more).figures == one.figures
    both = replace(other, more=more, heldout=replace(other.heldout, plan='name = "p"\nseed = 4'))
    assert both.runs == 3
    assert named(both, "thrust ratio").value["hybrid"] == pytest.approx(np.sqrt((2 * 0.03**2 + 0.01**2) / 3.0))
    assert named(both, "primary torque").value == named(one, "primary torque").value
    assert "p 4 c" in both.compared[0].errors["hybrid"]


def test_runs_with_another_load_than_that_of_the_laws_are_told():
    check = checked([held("a")])
    for load, plan in ((None, PLAN), ({"kind": "bench"}, '[model]\nload = { kind = "bench" }')):
        about = {"load": load, "unit": "v"}
        assert not replace(check, about=about, heldout=replace(check.heldout, plan=plan)).failures
    damper = replace(check, about=about, heldout=replace(check.heldout, unit_file='load = { kind = "damper" }'))
    assert "load of the secondary: {'kind': 'damper'}" in damper.failures[0]


def test_efficiency_needs_a_load():
    check = checked([held("a"), held("idle", xi=0.05)])
    assert named(check, "efficiency", "largest").within == (1, 1)
    parts = named(check, "efficiency").parts
    assert parts["laws"] == pytest.approx(0.0, abs=1e-12)
    assert parts["full"] == pytest.approx(9.6 / 9.9 - 0.96)


def test_ratio_error_is_relative_to_the_signal_and_to_how_far_it_moved():
    check = checked([held("b", transient=True)], hybrid=Exact(ratio=0.1))
    assert named(check, "ratio, of its change").value["hybrid"] == pytest.approx(0.1)
    assert named(check, "ratio").value["hybrid"] < 0.03
    assert named(check, "secondary speed").parts["at its ratio"] == pytest.approx(0.0, abs=1e-12)


def test_a_vibration_of_the_full_model_is_its_own_part():
    run = held("b", transient=True)
    s = run.branches[0]
    shake = 5.0 * np.sin(2.0 * np.pi * 4.0 * s["time"] / run.revolution)
    fine = np.linspace(0.0, s["time"][-1], 4000)
    columns = {k: np.interp(fine, s["time"], v) for k, v in s.columns.items()}
    columns["tau_I"] = columns["tau_I"] + np.interp(fine, s["time"], shake)
    check = checked([replace(run, branches=(ho.Series(columns, 0),))])
    raw, mean = (named(check, f"primary torque{of}") for of in ("", ", mean over a revolution"))
    assert raw.value["hybrid"] == pytest.approx(raw.parts["full"], rel=0.15)
    assert raw.value["hybrid"] > 0.05
    assert mean.value["hybrid"] < 0.2 * raw.value["hybrid"]


def test_a_torque_near_zero_is_also_measured_by_the_capacity():
    run = held("b", transient=True)
    s = run.branches[0]
    columns = {**s.columns, "tau_I": s["tau_I"] - 49.9 / s["ratio"]}
    check = checked([replace(run, branches=(ho.Series(columns, 0),))])
    raw, by = (named(check, f"primary torque{of}").value["hybrid"] for of in ("", ", of the capacity"))
    assert raw == pytest.approx(499.0)
    capacity = 2.0 * BELT["mu"] / BELT["cos_d"] * 1e4 * (s["r_I"] - BELT["h_off"])
    off = 49.9 / s["ratio"]
    assert by == pytest.approx(np.sqrt(np.mean(off**2) / np.mean(capacity**2)))


def test_smoothing_keeps_a_line_and_takes_out_whole_periods():
    time = np.linspace(0.0, 1.0, 1001)
    np.testing.assert_allclose(smooth(time, 2.0 + 3.0 * time, 0.2), 2.0 + 3.0 * time, atol=1e-5)
    inside = (time > 0.1) & (time < 0.9)
    np.testing.assert_allclose(smooth(time, np.sin(2.0 * np.pi * time / 0.1), 0.2)[inside], 0.0, atol=1e-3)


def test_a_run_that_does_not_settle_is_named_and_a_model_without_a_number_fails():
    lost = held("lost")
    lost.summary["thrust_ratio"][1] = np.nan
    check = checked([held("a"), lost])
    assert check.unsettled == ("lost",)
    assert named(check, "thrust ratio").within == (1, 1)
    assert "do not settle, with nothing to compare: lost" in report_page(check)
    nothing = checked([held("a")], hybrid=Exact(thrust=np.nan))
    assert named(nothing, "thrust ratio").reached is False
    assert "FAILED" in report_page(nothing)
    assert "NaN" not in json.dumps(nothing.as_numbers())


def test_cause_of_an_error_of_the_ratio():
    run = held("b", transient=True)
    shifts = checked([run], hybrid=Exact(ratio=0.1))  # inserting the thrust ratio changes nothing
    assert named(shifts, "ratio, of its change").cause == "shift rate of the law"

    class Balanced(Exact):
        def play(self, series, factor=1.0):
            self.ratio = 0.0 if factor != 1.0 else 0.1
            return super().play(series, factor)

    balance = checked([run], hybrid=Balanced(thrust=1.03))
    assert named(balance, "ratio, of its change").cause == "regression of the thrust ratio"
    assert named(balance, "secondary speed").cause == "the ratio is off"


def test_torque_at_the_full_models_ratio_has_its_acceleration_too():
    s = held("b", transient=True).branches[0]
    J = 0.02

    def torque(ratio):
        return 50.0 / ratio + J * 200.0 * np.gradient(1.0 / ratio, s["time"]) / ratio

    off = s["ratio"] * (1.0 + 0.5 * s["time"])
    own = {"ratio": off, "tau_I": torque(off), "omega_O": 200.0 / off}
    found = _at_ratio(s, own, 1e-9, J)
    np.testing.assert_allclose(found["tau_I"], torque(s["ratio"]), rtol=1e-4)
    np.testing.assert_allclose(found["omega_O"], 200.0 / s["ratio"])


def test_fields_by_shape_and_by_peak():
    check = checked([held("a")], hybrid=Exact(field=1.05))
    assert named(check, "flank normal force").value["hybrid"] == pytest.approx(0.05)
    assert named(check, "flank normal force").parts == pytest.approx({"full": 0.02, "projection": 0.01, "laws": 0.0})
    assert named(check, "peak of the flank normal force", "largest").value["hybrid"] == pytest.approx(0.05)
    assert named(check, "output peak.flank_normal", "largest").value["hybrid"] == pytest.approx(0.1025)


def test_nrmse_divides_by_the_rms_of_the_signal():
    full = np.array([3.0, -4.0])
    assert nrmse(full + 1.0, full) == pytest.approx(1.0 / np.sqrt(12.5))
    assert nrmse(full + 1.0, full, full - 3.0, least=10.0) == pytest.approx(0.1)
    assert np.isnan(quadratic([np.nan]))


# --- table


def test_table_comes_back(tmp_path):
    table = heldout(held("a"), held("b", transient=True))
    path = tmp_path / "h.h5"
    ho.write_heldout(table, path)
    again = ho.read_heldout(path)
    assert (again.unit, again.plan, again.unit_file, again.parameters) == (
        "belt",
        PLAN,
        UNIT,
        {"belt": BELT, "sheaves": {"J": 0.0}},
    )
    for a, b in zip(table.runs, again.runs, strict=True):
        assert (a.run, a.slipping, a.revolution) == (b.run, b.slipping, b.revolution)
        for k in SUMMARY:
            np.testing.assert_array_equal(a.summary[k], b.summary[k])
        for p, q in zip(a.branches, b.branches, strict=True):
            for k in ho.COLUMNS:
                np.testing.assert_allclose(p[k], q[k], rtol=1e-6)
        for p, q in zip(a.passages, b.passages, strict=True):
            assert p[:4] == q[:4]
            for k in ho.KEPT:
                np.testing.assert_allclose(p.fields[k], q.fields[k], rtol=2.5e-4)


def test_other_files_are_refused(tmp_path):
    refused("cannot be read", ho.read_heldout, tmp_path / "none.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.attrs["kind"] = "recording"
    refused("undamaged", ho.read_heldout, tmp_path / "other.h5")
    refused("at least one file", ho.condense, [])


def campaign_file(path: Path, branches, unit="belt", model="hybrid", load=0.0, plan=PLAN):
    """A run of a campaign with what the table takes from it; values count the frames."""
    n = [144, *(round(48 * b.duration) for b in branches)]
    frames, dt = sum(n), 1e-3
    phase = np.repeat(np.arange(len(n)), n)
    time = np.concatenate([np.arange(1.0, k + 1.0) + (144 if j else 0) for j, k in enumerate(n)]) * dt
    first = np.cumsum([0, *n])
    windows = [(0, 48, 96), (0, 96, 144), *((j + 1, first[j + 1] + 19, first[j + 2]) for j in range(len(branches)))]
    count = np.arange(frames, dtype=float)
    with new_hdf5(path, FILE) as file:
        file.attrs.update(
            kind=KIND, schema_version=SCHEMA_VERSION, unit=unit, revision="abc", slipping=False,
            revolution=48 * dt, plot_step=dt, run=as_json(run(path.stem, tuple(branches), model=model)),
            parameters=json.dumps({"belt": BELT, "load": {"d": load}}),
        )  # fmt: skip
        file["unit_file"], file["plan"] = UNIT, plan
        file["time"], file["phase"], file["ended"] = time, phase, np.zeros(len(n), dtype=int)
        file["inputs"] = np.column_stack(
            [count * 0, 2e4 + count, count * 0, 1e4 + count, count * 0 + 200.0, count * 0, count * 0 + 50.0]
        )
        file["crossings"] = np.concatenate([np.arange(k, dtype=float) for k in n])
        file["grid/radius"] = np.column_stack([0.05 + 1e-6 * count, 0.06 - 1e-6 * count])
        file["sheaves/apex"] = np.zeros((frames, 2))
        file["energy/work"], file["energy/stored"] = np.ones((frames, 14)), np.ones((frames, 9))
        file["sheaves/speed"] = np.column_stack([count * 0 + 200.0, count * 0 + 170.0])
        file["pulleys/clamping_force"] = np.column_stack([2e4 + count, 1e4 + count * 0])
        file["pulleys/belt_torque"] = np.column_stack([-60.0 + 0 * count, 50.0 + 0 * count])
        file["pulleys/shaft_torque"] = np.column_stack([60.0 + 0 * count, -50.0 + 0 * count])
        for k in ho.KEPT:
            file[f"fields/{k}"] = np.outer(count, np.ones(4 * CELLS))
            file[f"mean/{k}"] = np.array([np.full(4 * CELLS, 0.5 * (a + b - 1)) for _, a, b in windows])
        for key, column in (("phase", 0), ("first", 1), ("behind", 2)):
            file[f"window/{key}"] = [w[column] for w in windows]
        file["summary"] = np.array([[float(a)] * len(SUMMARY) for _, a, _ in windows])
        file["summary"].attrs["columns"] = list(SUMMARY)


def test_table_keeps_what_the_files_say(tmp_path):
    short, long = (Branch(1.3, 1.0, 0.4, 0.0, 0.4, d) for d in (1.2, 8.0))
    campaign_file(tmp_path / "p.h5", (short, replace(short, y_I=0.8)))
    campaign_file(tmp_path / "t.h5", (long,))
    p, t = ho.condense(tmp_path.glob("*.h5"))["hybrid"].runs
    assert (p.transient, t.transient) == (False, True)
    assert [len(s["time"]) for s in p.branches] == [59, 59]
    s = p.branches[1]
    np.testing.assert_allclose(s["time"], np.arange(59) * 1e-3, atol=1e-12)
    np.testing.assert_allclose(s["F_I"], [96.0, *(2e4 + 144 + 58 + np.arange(58))])  # held at the mean of `steady`
    np.testing.assert_allclose(s["tau_O"], 50.0)
    r_O = 0.06 - 1e-6 * (144 + 58 + np.arange(58))
    np.testing.assert_allclose(s["xi"][1:], 50.0 * 0.98 / (2 * 0.1 * 1e4 * (r_O - 0.004)))
    assert [(x.phase, x.fields["flank_normal"][0]) for x in p.passages] == [
        (0, 71.5),
        (0, 119.5),
        (1, 182.0),
        (2, 240.0),
    ]
    passages = t.passages[2:]
    assert len(passages) == 8
    assert [round(x.stop - x.start, 6) for x in passages] == [0.048] * 8
    assert passages[-1].stop == pytest.approx(0.384)
    assert passages[-1].fields["flank_normal"][0] == pytest.approx(144 + 384 - 48 + 23.5)
    assert passages[-1].point["kappa"] == pytest.approx(1.2 * (0.003 / 1e-3) ** 2 / 1e4)
    assert set(passages[0].point) == set(ho.POINT)


def test_a_branch_that_was_not_run_is_its_start_alone(tmp_path):
    campaign_file(tmp_path / "a.h5", (Branch(1.3, 1.0, 0.4, 0.0, 0.4, 1e-3),))
    (held,) = ho.condense(tmp_path.glob("*.h5"))["hybrid"].runs
    assert [len(s["time"]) for s in held.branches] == [1]
    assert [p.phase for p in held.passages] == [0, 0]


def test_runs_of_two_units_do_not_mix(tmp_path):
    branch = (Branch(1.3, 1.0, 0.4, 0.0, 0.4, 1.2),)
    campaign_file(tmp_path / "a.h5", branch)
    campaign_file(tmp_path / "b.h5", branch, unit="another")
    refused("one unit", lambda: ho.condense(tmp_path.glob("*.h5")))


def test_runs_of_both_belts_are_two_tables_each_of_one_plan(tmp_path):
    branch = (Branch(1.3, 1.0, 0.4, 0.0, 0.4, 1.2),)
    for name, model, load in (("a", "hybrid", 1.0), ("b", "spatial", 2.0), ("c", "spatial", 3.0)):
        campaign_file(tmp_path / f"{name}.h5", branch, model=model, load=load, plan=f'name = "{model}"')
    tables = ho.condense(tmp_path.glob("*.h5"))
    assert {belt: [h.run.name for h in t.runs] for belt, t in tables.items()} == {
        "hybrid": ["a"],
        "spatial": ["b", "c"],
    }
    assert tables["spatial"].label == "spatial 0"
    assert tables["hybrid"].parameters == {"belt": BELT}
    campaign_file(tmp_path / "d.h5", branch)
    refused("one plan", lambda: ho.condense(tmp_path.glob("*.h5")))


# --- report


def test_report_is_complete_and_says_what_is_missed(tmp_path):
    runs = [held("a"), held("gross", slip=0.3), held("b", transient=True)]
    page = report_page(checked(runs, hybrid=Exact(thrust=1.1, field=1.3, ratio=0.2)))
    ElementTree.fromstring(page[page.index("<html") :])
    assert "misses 4 of" in page
    assert "thrust ratio, quadratic mean: 10 %, allowed 1.5 %" in page
    assert page.count("<svg") == 4


def test_report_of_a_model_within_all_limits():
    check = checked([held("a")])
    page = report_page(check)
    assert "PASSED" in page
    assert "Stiffnesses, dampings and frictions of belt that were not measured are estimates" in page
    known = {"belt": belt(load_parameters("pushbelt_24mm"))._asdict()}
    for parameters, said in ((known, True), ({"belt": BELT}, False)):  # the shipped belt, a copy with its name
        of = replace(check.heldout, unit="pushbelt_24mm", parameters=parameters)
        page = report_page(replace(check, heldout=of))
        assert ("Most stiffnesses, dampings and frictions of pushbelt_24mm are estimates" in page) == said
