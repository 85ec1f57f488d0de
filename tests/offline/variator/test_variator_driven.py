"""Real-time models of a variator under the full model's boundary values, with laws that are constant; the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused
from variator_laws import CONSTANTS, constant_laws

from rtcvt.interface import error_rows
from rtcvt.kind import load_unit
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.run.schedule import Branch, Point, Run, Settings
from rtcvt.offline.pushbelt.run.snapshots import CELLS
from rtcvt.offline.pushbelt.run.windows import SUMMARY
from rtcvt.offline.variator.driven import STEP, Player, RecordedLaws, _held
from rtcvt.offline.variator.heldout import COLUMNS, KEPT, HeldOut, HeldRun, Passage, Series, read_heldout, write_heldout
from rtcvt.unitfile import find_unit, parse_unit_file
from rtcvt.variator.reduced.file import write_reduced
from rtcvt.variator.reduced.model import CORRECTIONS, ReducedField
from rtcvt.variator.unit import read_variator

ZETA, K, SLIP, C, LAMBDA = 1.3, 5e-3, 0.0026, 0.004, 0.001
F_REF, F_O, OMEGA = CONSTANTS["F_ref"], 1.5e4, 200.0
HUMP = np.sin(np.pi * (np.arange(4 * CELLS) % CELLS + 0.5) / CELLS) * (np.arange(4 * CELLS) // CELLS % 2 == 0)


@pytest.fixture(scope="module")
def reduced():
    field = ReducedField("flank_normal", "N/m", "", HUMP[None, :], np.ones((1, 1)), np.ones(1))
    found = constant_laws(ZETA, k=K / F_REF, e=SLIP, c=C, lam=LAMBDA, slide=0.0)
    return replace(found, name="constant", fields=(field,))


def unit_text():
    """The shipped unit with another name and reduced model."""
    shipped = find_unit("pushbelt_cvt").read_text(encoding="utf-8")
    found = shipped.replace('name = "pushbelt_cvt"', 'name = "v"')
    found = found.replace('reduced = "pushbelt_24mm_belief"', 'reduced = "constant.h5"')
    assert found.count('"v"') == found.count("constant.h5") == 1
    return found


@pytest.fixture(scope="module")
def unit():
    return read_variator(parse_unit_file(unit_text(), "v.toml"))


def held(ratio=0.9, tau_O=60.0, time=0.2, y=1.2, y_O=1.0):
    """A settled state and a branch with steps of the clamping forces at its start."""
    t = np.linspace(0.0, time, 101)
    one = np.ones_like(t)
    values = dict.fromkeys(COLUMNS, one) | {
        "time": t, "F_I": y * y_O * ZETA * F_O * one, "F_O": y_O * F_O * one, "omega_I": OMEGA * one,
        "tau_O": tau_O * one, "ratio": ratio * one,
    }  # fmt: skip
    means = {k: np.full(3, 1.0) for k in SUMMARY}
    means |= {
        "ratio": np.full(3, ratio),
        "omega_I": np.full(3, OMEGA),
        "omega_O": np.full(3, OMEGA / ratio),
        "F_O": np.full(3, F_O),
        "M_O": np.full(3, tau_O),
    }
    branches = (Branch(y, y_O, 0.3, 0.0, 0.4, 8.0),)
    run = Run("r", Point(ratio, OMEGA, 0.3, F_O), Settings(step=1e-5), 3.0, mean=1.0, branches=branches, frames=48)
    return HeldRun(run, False, 0.05, means, (Series(values, 0),), ())


def test_held_inputs_have_the_integral_of_what_is_given():
    time = np.array([0.0, 0.0007, 0.003])
    values = np.array([1.0, 3.0, 2.0])
    grid = np.arange(7) * STEP
    u = _held(grid, time, values)
    assert STEP * u.sum() == pytest.approx(0.5 * 4.0 * 0.0007 + 0.5 * 5.0 * 0.0023)
    assert u[0] == pytest.approx(1.0 + 0.5 * 2.0 * STEP / 0.0007)


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_settled_state_is_that_of_the_laws(unit, reduced, fidelity):
    run = held()
    found = Player(unit, fidelity, reduced, 0.0126).settle(run)
    laws = RecordedLaws(reduced)
    r_O = 0.9 * _r_I(laws, 0.9)
    xi = 60.0 / r_O * np.cos(CONSTANTS["delta_0"]) / (2.0 * CONSTANTS["mu"] * F_O)
    at = laws.steady(*(np.array([a]) for a in (0.9, xi, 0.1, F_O)))
    assert found["thrust_ratio"] == pytest.approx(ZETA, rel=1e-4)
    if fidelity == "hybrid":
        own = reduced.evaluate(np.array([[0.9, xi, 0.1, F_O / F_REF, 1.0]]))
        assert at["slip"][0] == pytest.approx((own["e"] + own["c"] * xi)[0])
        assert at["slip"][0] == pytest.approx(SLIP + C * xi, rel=0.01)  # splines
        drag = LAMBDA * F_O * r_O / 60.0  # the primary's traction is larger by it, and with it half of the creep
        slower = (1.0 - at["slip"][0] + C * xi) / ((1.0 + 0.5 * C * xi * (1.0 + drag)) * (1.0 + 0.5 * C * xi))
        assert found["slip"] == pytest.approx(1.0 - slower, rel=5e-4)
        lost = at["loss"][0] * F_O * found["omega_O"] * r_O
        assert found["P_I"] + found["P_O"] == pytest.approx(lost, rel=0.01)
    else:
        assert found["slip"] == pytest.approx(0.0, abs=1e-9)
    assert found["omega_O"] == pytest.approx(OMEGA / 0.9 * (1.0 - found["slip"]), rel=1e-5)
    assert found["P_O"] == pytest.approx(-60.0 * found["omega_O"])


def _r_I(laws, ratio):
    """Radius of the primary's rocking edges at a ratio."""
    return np.interp(ratio, laws._ratio[::-1], laws._r_I[::-1]) - CONSTANTS["h_off"]


def test_torque_is_the_mean_since_the_time_before_as_in_the_full_model(unit, reduced):
    run = held()
    player = Player(unit, "hybrid", reduced, 0.0126)
    player.settle(run)
    fine = Series({k: np.interp(np.arange(81) * STEP, run.branches[0]["time"], v) for k, v in _ramp(run).items()}, 0)
    coarse = Series({k: fine[k][::4] for k in COLUMNS}, 0)
    found, means = (player.play(series)["tau_I"] for series in (fine, coarse))
    assert np.ptp(found) > 5.0
    np.testing.assert_allclose(means[1:], found[1:].reshape(-1, 4).mean(axis=1), rtol=1e-9)
    assert means[0] == found[0]


def _ramp(run):
    """Values of the run's branch, with a load that grows from the start on."""
    values = {k: run.branches[0][k] for k in COLUMNS}
    return values | {"tau_O": values["tau_O"] * (1.0 + 10.0 * values["time"])}


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_branch_shifts_as_the_law_says(unit, reduced, fidelity):
    run = held()
    player = Player(unit, fidelity, reduced, 0.0126)
    player.settle(run)
    found = player.play(run.branches[0])
    laws = RecordedLaws(reduced)
    t = run.branches[0]["time"]
    r_I = (_r_I(laws, 0.9) + CONSTANTS["h_off"]) * np.exp(OMEGA * K * F_O / F_REF * 0.2 * t)
    expected = laws.ratio_at(r_I)
    moved = 0.9 - expected[-1]
    assert moved > 0.1
    np.testing.assert_allclose(found["ratio"], expected, atol=0.01 * moved)


@pytest.mark.parametrize("load", [None, Load(d=20.0, J=0.2), Load(2e4, 0.6, 0.5, 1.0), Load(400.0, 0.2, 6.0, 1.0)])
def test_branch_starts_from_what_settled_and_stays_there(unit, reduced, load):
    run = held(y=1.0)
    run = replace(run, run=replace(run.run, settings=replace(run.run.settings, load=load)))
    player = Player(unit, "hybrid", reduced, 0.0126)
    settled = player.settle(run)
    found = player.play(run.branches[0])
    np.testing.assert_allclose(found["ratio"], 0.9, rtol=1e-4)
    swings = load is not None and load.far > 0.0  # on its shaft, as the ratio creeps
    np.testing.assert_allclose(found["tau_I"], settled["tau_I"], rtol=1e-2 if swings else 1e-3)
    np.testing.assert_allclose(found["omega_O"], settled["omega_O"], rtol=1e-4)


@pytest.mark.parametrize("load", [Load(d=5.0, J=0.05), Load(2e4, 5.0, 0.05, 1.0)])
def test_load_slows_the_secondary_down_together_with_what_turns_behind_it(unit, reduced, load):
    """Under the least clamping forces the belt slips with a constant force: the rest of the load turns the pulley by
    itself, or with the damper's ring or what is behind the shaft."""
    J_V, J = load.J, 0.0126
    run = held(y=1.0, time=0.02)
    series = Series(run.branches[0].columns | {k: np.full(101, 1e-3) for k in ("F_I", "F_O")}, 0)
    lost = {}
    for of in (None, load):
        player = Player(unit, "hybrid", reduced, J)
        player.settle(replace(run, run=replace(run.run, settings=replace(run.run.settings, load=of))))
        omega = player.play(series)["omega_O"]
        lost[of] = omega[0] - omega[-1]
    torque = lost[None] * J / 0.02
    assert 40.0 < torque < 60.0
    tau = 0.0 if load.far else 1.0 / (load.d * (1.0 / J + 1.0 / J_V))
    slower = torque / (J + J_V) * (0.02 + J_V / J * tau * (1.0 - np.exp(-0.02 / max(tau, 1e-9))))
    assert lost[load] == pytest.approx(slower, rel=0.03)


def test_field_has_its_unit(unit, reduced):
    run = held(y=1.0)
    player = Player(unit, "hybrid", reduced, 0.0126)
    player.settle(run)
    settled = player.flank_normal(-1.0, 0.0)
    laws = RecordedLaws(reduced)
    expected = laws.flank_normal(0.9, 0.3, 0.1, F_O, 1.0)
    assert expected.shape == (4 * CELLS,)
    length = 2.0 * CONSTANTS["length"]  # of the two halves of the hump, whatever the arcs are
    assert 0.0 < expected.max() < 20.0 * F_O / length
    np.testing.assert_allclose(settled, expected, rtol=1e-3, atol=1e-6 * expected.max())
    np.testing.assert_allclose(laws.projected(expected, 0.9, F_O), expected, atol=1e-9 * expected.max())
    assert player.peak(-1.0, 0.0) == pytest.approx(2.0 * F_O / CONSTANTS["length"], rel=1e-3)
    player.play(run.branches[0])
    assert player.peak(0.05, 0.1) == pytest.approx(2.0 * F_O / CONSTANTS["length"], rel=1e-3)
    np.testing.assert_allclose(player.flank_normal(0.05, 0.1), settled, rtol=1e-3, atol=1e-6 * expected.max())


# --- the command


@pytest.fixture
def folder(monkeypatch, tmp_path, reduced):
    """A folder with a unit and its reduced model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.toml").write_text(unit_text(), encoding="utf-8")
    write_reduced(reduced, tmp_path / "constant.h5")
    return tmp_path


@pytest.fixture
def rtcvt(folder, command):
    """Run a command; its exit code and standard error."""
    return lambda *words: command(*words)[::2]


def table_of(run, path, plan=""):
    """A table with this run, whose full model has the thrust ratio, but neither the slip nor the field of the laws."""
    means = dict(run.summary) | {"thrust_ratio": np.full(3, ZETA), "slip": np.full(3, 0.02), "xi": np.full(3, 0.3)}
    point = {"ratio": 0.9, "xi": 0.3, "kappa": 0.1, "F_O": F_O, "F_I": ZETA * F_O}
    passage = Passage(0, -0.1, 0.0, point, dict.fromkeys(KEPT, np.ones(4 * CELLS)))
    full = HeldRun(run.run, False, 0.05, means, run.branches,
                   (passage, passage))  # fmt: skip
    belt = {"mu": CONSTANTS["mu"], "cos_d": np.cos(CONSTANTS["delta_0"]), "h_off": CONSTANTS["h_off"]}
    parameters = {"belt": belt, "sheaves": {"J": 0.0126}}
    write_heldout(HeldOut("belt", (full,), plan, "", parameters, {"revision": "abc"}), path)


def test_check_writes_report_and_figures_and_says_what_is_missed(folder, rtcvt):
    table_of(held(), folder / "constant_heldout.h5")
    code, error = rtcvt("check", "v.toml", "-o", "r.html", "--json", "r.json")
    assert code == 1
    assert "missed: planar: slip, quadratic mean" in " ".join(error.split())
    assert "Settled states" in (folder / "r.html").read_text(encoding="utf-8")
    found = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert (found["unit"], found["runs"]) == ("v", 1)
    by_name = {(f["name"], f["statistic"]): f for f in found["figures"]}
    assert by_name["thrust ratio", "largest"]["reached"] is True
    assert by_name["slip", "quadratic mean"]["reached"] is False
    rows = error_rows(load_unit("v.toml"), "hybrid", {}, folder / "r.json", lambda *_: None)
    assert [r.name for r in rows][:2] == ["thrust ratio, quadratic mean", "thrust ratio, largest"]
    slip = next(r for r in rows if r.name.startswith("slip"))
    assert (slip.nrms, slip.limit) == (by_name["slip", "quadratic mean"]["value"]["hybrid"], 0.0012)


def test_what_ships_is_checked_against_the_spatial_belt_and_the_planar_laws_against_the_planar_one(
    folder, reduced, rtcvt
):
    correction = np.zeros((3, 3, 3, 3, len(CORRECTIONS) + 2))
    correction[..., 0] = 0.03
    write_reduced(replace(reduced, correction=correction), folder / "constant.h5")
    for end in ("heldout", "heldout_spatial"):
        table_of(held(), folder / f"constant_{end}.h5", f'name = "{end}"\nseed = 1')
    code, error = rtcvt("check", "v.toml", "-o", "r.html", "--json", "r.json")
    assert code == 1
    assert "missed: spatial: thrust ratio, quadratic mean: 3." in " ".join(error.split())
    found = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert (found["belt"], found["planar"]["belt"]) == ("spatial", "hybrid")
    for part, factor in ((found, np.exp(0.03)), (found["planar"], 1.0)):
        own = part["settled"]["r"]
        assert own["hybrid"]["thrust_ratio"] == pytest.approx(factor * ZETA, rel=2e-3)
        assert own["laws"]["thrust_ratio"] == pytest.approx(factor * ZETA, rel=1e-3)
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Errors of planar laws against the planar belt, 1 runs" in page

    (folder / "constant_heldout_spatial.h5").unlink()
    table_of(held(), folder / "constant_heldout_spatial.h5", 'name = "heldout_spatial"\nseed = 2')
    rtcvt("check", "v.toml", "-o", "r.html", "--json", "both.json", "--pool", "r.json")
    both = json.loads((folder / "both.json").read_text(encoding="utf-8"))
    assert (both["runs"], both["planar"]["runs"]) == (2, 1)
    (folder / "constant.h5").unlink()
    write_reduced(reduced, folder / "constant.h5")
    code, error = rtcvt("check", "v.toml", "-o", "r.html", "--pool", "both.json")
    assert code == 2
    assert "errors of v with these laws" in " ".join(error.split())
    (folder / "both.json").unlink()
    (folder / "both.json").write_text('{"errors": {"hybrid": 1}, "model": ""}', encoding="utf-8")
    code, error = rtcvt("check", "v.toml", "-o", "r.html", "--pool", "both.json")
    assert code == 2
    assert "as rtcvt check --json writes them" in " ".join(error.split())


def test_a_reduced_model_without_held_out_runs(folder, rtcvt):
    assert error_rows(load_unit("v.toml"), "hybrid", {}, None, lambda *_: None) is None
    code, error = rtcvt("check", "v.toml")
    assert code == 2
    assert "--fresh" in error
    assert not (folder / "report.html").exists()


def test_figures_of_another_unit_are_refused(folder):
    (folder / "f.json").write_text('{"unit": "w", "runs": 1, "figures": []}', encoding="utf-8")
    refused("a check of v", lambda: error_rows(load_unit("v.toml"), "hybrid", {}, folder / "f.json", lambda *_: None))
    (folder / "f.json").write_text("[]", encoding="utf-8")
    refused("check --json", lambda: error_rows(load_unit("v.toml"), "hybrid", {}, folder / "f.json", lambda *_: None))


@pytest.mark.parametrize("option", [("--set", "primary.J=1"), ("--scenario", "x")])
def test_options_that_a_variator_does_not_take(rtcvt, option):
    code, error = rtcvt("check", "v.toml", *option)
    assert code == 2
    assert option[0] in error


@pytest.mark.parametrize("option", [("--fresh",), ("--runs", "*.h5")])
@pytest.mark.parametrize("unit", ["planetary", "two_pulley_belt"])
def test_what_is_for_variators_alone(rtcvt, unit, option):
    code, error = rtcvt("check", unit, *option)
    assert code == 2
    assert "not with" in error


def test_check_against_chosen_runs(folder, rtcvt, monkeypatch):
    for words, said in ((("nothing-*.h5",), "a pattern of files"), (("*.h5", "--fresh"), "not together with --fresh")):
        code, error = rtcvt("check", "v.toml", "--runs", *words)
        assert code == 2
        assert said in error
    table_of(held(), folder / "table.h5")
    (folder / "sweep-000.h5").touch()
    (folder / "point-000.h5").touch()
    asked = []
    monkeypatch.setattr(
        "rtcvt.offline.variator.check_task.condense",
        lambda files: asked.extend(files) or {"hybrid": read_heldout(folder / "table.h5")},
    )
    assert rtcvt("check", "v.toml", "--runs", "sweep-*.h5", "-o", "chosen.html")[0] == 1
    assert [f.name for f in asked] == ["sweep-000.h5"]
    page = (folder / "chosen.html").read_text(encoding="utf-8")
    assert "was not made from" not in page
    assert "sweep-*.h5" in page
