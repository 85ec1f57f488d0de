"""Calibration: known parameters recovered, exact posterior of a linear model, resuming, plans that are refused."""

import json

import numpy as np
import pytest
from marks import slow
from refusals import refused
from rows import mistakes, tables

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit.parameters import (
    belt,
    drawn_sheaves,
    endplay,
    influence_numbers,
    load_parameters,
    sheaves,
)
from rtcvt.offline.variator.calibration.calibrate import FIGURES, JOURNAL, SET, calibrate, forward
from rtcvt.offline.variator.calibration.inversion import covariance, directions, jacobian, step
from rtcvt.offline.variator.calibration.plan import PARAMETERS, CalibrationPlan, changed, load_calibration

UNIT = load_parameters("pushbelt_24mm")


def test_a_linear_model_has_its_exact_posterior_after_one_step():
    rng = np.random.default_rng(0)
    A, sigma = rng.normal(size=(3, 4)), np.array([0.3, 0.5, 0.2])
    y = rng.normal(size=3)
    exact = np.linalg.inv(np.eye(4) + A.T @ np.diag(sigma**-2) @ A)
    mean = exact @ A.T @ (y / sigma**2)
    prior = rng.standard_normal((4, 9))
    J = jacobian(prior, A @ prior + 5.0)
    np.testing.assert_allclose(J, A, atol=1e-12)
    np.testing.assert_allclose(covariance(J, sigma), exact, atol=1e-12)
    np.testing.assert_allclose(step(np.zeros(4), np.zeros(3), J, y, sigma, most=np.inf), mean, atol=1e-12)
    # three data identify three directions, and the gains are those of the exact posterior
    known = directions(J, sigma)
    np.testing.assert_allclose(known.gain, 1.0 - np.sort(np.linalg.eigvalsh(exact)), atol=1e-9)
    assert known.gain[3] < 1e-12


def plan_of(**changes):
    return CalibrationPlan.model_validate(tables("units/calibration_plan.toml") | changes)


def emulated(parameters, plan, name, z):
    """A belt whose thrust ratio and slip follow compliance and frictions by power laws, other ones in each run."""
    p = changed(parameters, plan, z)
    a, b = {"OD": (-0.2, 0.3), "MED": (0.1, 0.1), "LOW": (0.4, -0.1)}[name]
    c, mu, mu_R = p.pulleys.multiplier, p.contacts.friction.mu / 0.1, p.contacts.mu_R / 0.05
    return {"thrust ratio": c**a * mu_R**b, "speed ratio": c**b * mu ** (a - b), "torque": 1.0}


def synthetic():
    """A plan whose values are those of known parameters."""
    plan, truth = plan_of(), np.array([0.8, -0.6, 0.9])
    observed = [o.model_dump() | {"value": emulated(UNIT, plan, o.runs[0], truth)[o.quantity]} for o in plan.observable]
    return plan_of(observable=observed), truth


def made_by(plan, folder, model=emulated, text="text"):
    return calibrate(UNIT, plan, text, folder, workers=0, model=model)


def test_known_parameters_are_recovered_and_predict_what_is_held_out(tmp_path):
    plan, truth = synthetic()
    found = made_by(plan, tmp_path)
    for p, z in zip(plan.parameter, truth, strict=True):
        low, _, high = found["parameters"][p.name]["posterior"]
        assert low <= p.value(z) <= high
        assert found["parameters"][p.name]["set"] == pytest.approx(p.value(z), rel=0.05)
        assert found["parameters"][p.name]["gained"] > 0.6
    assert found["heldout"][0]["set"] == pytest.approx(emulated(UNIT, plan, "MED", truth)["thrust ratio"], rel=0.02)
    assert found["misfit"][-1] < 0.01 * found["misfit"][0]
    for row in found["observables"]:
        assert row["posterior"][0] <= row["printed"] <= row["posterior"][2]
    assert json.loads((tmp_path / FIGURES).read_text(encoding="utf-8")) == found
    # the file of the mean is a unit with these values
    unit = load_parameters(tmp_path / SET)
    assert unit.name == "pushbelt_24mm_synthetic"
    for name, table in (("mu", unit.contacts.friction), ("mu_R", unit.contacts)):
        assert getattr(table, name) == pytest.approx(found["parameters"][name]["set"], rel=1e-5)
    assert unit.pulleys.multiplier == pytest.approx(found["parameters"]["compliance"]["set"], rel=1e-5)
    assert unit.element == UNIT.element


@pytest.mark.parametrize("falls", [False, True])
def test_a_step_that_fits_worse_or_has_no_belt_is_halved(tmp_path, falls):
    """A model that is twice as steep as its ensemble said: the first step goes twice as far as it ought to."""
    plan, _ = synthetic()
    made = []

    def steep(parameters, plan, name, z):
        made.append(name)
        step = (len(made) - 1) // 2 - plan.members
        if falls and step == 1:
            return None
        return {key: v ** (1 if step < 0 else 2) for key, v in emulated(parameters, plan, name, z).items()}

    first, second, third, *_ = made_by(plan, tmp_path, model=steep)["misfit"]
    assert second is None if falls else second > 0.5 * first
    assert third < 0.05 * first


def test_a_calibration_that_was_stopped_goes_on_to_the_same_result(tmp_path):
    plan, _ = synthetic()
    whole = made_by(plan, tmp_path / "whole")
    made = []

    def stops(*arguments):
        if len(made) == 7:
            raise KeyboardInterrupt
        made.append(1)
        return emulated(*arguments)

    with pytest.raises(KeyboardInterrupt):
        made_by(plan, tmp_path / "cut", model=stops)
    with (tmp_path / "cut" / JOURNAL).open("a", encoding="utf-8") as file:
        file.write('[1, 3, "O')  # killed while it wrote
    again = []

    def counted(*arguments):
        again.append(1)
        return emulated(*arguments)

    assert made_by(plan, tmp_path / "cut", model=counted) == whole
    assert len(made) + len(again) == (plan.members + plan.steps) * 2 + 1
    refused("a calibration of this unit and plan", made_by, plan, tmp_path / "cut", text="another text")


def test_some_members_predict_operating_points(tmp_path):
    plan, _ = synthetic()
    point = {"name": "one", "ratio": 1.0, "omega_I": 300.0, "xi": 0.5, "F_O": 1e4}
    plan = plan_of(observable=[o.model_dump() for o in plan.observable], point=[point], predict=7)
    made = []

    def at_points(parameters, plan, name, z):
        made.append(name)
        if name != "one":
            return emulated(parameters, plan, name, z)
        return {"thrust ratio": 1.0 + 0.1 * z[0], "slip": 0.01, "efficiency": 0.98}

    found = made_by(plan, tmp_path, model=at_points)
    assert made.count("one") == 7 + 1  # members, and the mean
    assert len(made) == (plan.members + plan.steps) * 2 + 2 + 7 * 4
    low, _, high = found["points"]["one"]["thrust ratio"]
    assert low < high
    low, _, high = found["heldout"][0]["posterior"]
    assert low < found["heldout"][0]["set"] < high
    assert found["points"]["one"]["slip"] == [0.01] * 3
    assert found["points"]["one"].items() >= {"ratio": 1.0, "omega_I": 300.0, "xi": 0.5, "F_O": 1e4}.items()


def test_a_point_has_the_same_torque_for_all_members():
    """A run of the full model, short and coarse: another mu, the same torque at the secondary."""
    point = {"name": "one", "ratio": 1.0, "omega_I": 300.0, "xi": 0.4, "F_O": 1e4}
    sizes = {"N_E": 110, "N_B": 52, "point_settle": 0.3, "point_mean": 0.2}
    plan = plan_of(point=[point], **sizes)
    a, b = (forward(UNIT, plan, "one", np.array([0.0, z, 0.0])) for z in (0.0, 2.0))
    assert a["torque"] == pytest.approx(b["torque"], rel=0.05)
    assert a["thrust ratio"] != b["thrust ratio"]
    for values in (a, b):
        assert -0.02 < values["slip"] < 0.05
        assert 0.9 < values["efficiency"] < 1.0


def test_members_whose_belt_fails_are_left_out(tmp_path):
    plan, _ = synthetic()

    def fails(parameters, plan, name, z):
        return None if z[0] < -1.5 else emulated(parameters, plan, name, z)

    assert made_by(plan, tmp_path / "some", model=fails)["parameters"]["mu"]["gained"] > 0.6
    refused("members = 60: more: in 60 the belt fails", made_by, plan, tmp_path / "all", model=lambda *_: None)
    with pytest.raises(InputError, match="a mean at which the belt keeps its place"):
        made_by(plan, tmp_path / "mean", model=lambda p, plan, n, z: emulated(p, plan, n, z) if z.any() else None)


def test_parameters_change_what_they_say():
    plans = [load_calibration(name)[0] for name in ("reproduction", "belief")]
    assert {p.name for plan in plans for p in plan.parameter} <= set(PARAMETERS)
    put = {name: change for name, (change, _) in PARAMETERS.items()}
    r = np.array([0.03, 0.07])
    flat = np.polyval(put["radial_exponent"](UNIT, 1e-6).pulleys.a[::-1], r)
    assert flat[1] / flat[0] == pytest.approx(1.0, abs=1e-5)
    for n in (0.7, 2.0, 6.3):
        steep = np.polyval(put["radial_exponent"](UNIT, n).pulleys.a[::-1], r)
        assert steep[1] / steep[0] == pytest.approx((7 / 3) ** n, rel=1e-4)
    assert put["v_mu"](UNIT, 1.0).contacts.friction.v_mu == 0.1
    A = put["first_harmonic"](UNIT, 2.0).pulleys.A
    assert sum(A) == pytest.approx(1.0)
    assert A[1] / A[0] == pytest.approx(2.0 * UNIT.pulleys.A[1] / UNIT.pulleys.A[0])
    play = []
    for p in (UNIT, put["saddle_height"](UNIT, 1.3e-3)):
        b = belt(p)
        R = (b.l_R - 2.0 * b.d_A) / (2.0 * np.pi)
        play.append(endplay(b, np.pi, np.pi, R, R))
    assert p.element.h_P - p.element.h_R == pytest.approx(1.3e-3)
    assert play[1] == pytest.approx(play[0], abs=2e-6)


@slow
def test_thickness_and_guide_against_finite_elements():
    """Between the thicknesses that are solved, and with a guide half as stiff."""
    put = {name: change for name, (change, _) in PARAMETERS.items()}
    drawing = UNIT.sheaves
    thick = {
        name: profile.model_copy(update={"disc": tuple((r, 1.2 * t) for r, t in profile.disc)})
        for name, profile in (("loose", drawing.loose), ("fixed", drawing.fixed))
    }
    softer = tuple(s.model_copy(update={"lateral": 0.5 * s.lateral}) for s in drawing.loose.supports)
    soft = {"loose": drawing.loose.model_copy(update={"supports": softer})}
    for changed_by, discs in (
        (put["thickness"](UNIT, 1.2), thick),
        (put["guide"](put["thickness"](UNIT, 1.0), 0.5), soft),
    ):
        exact = drawn_sheaves(UNIT.model_copy(update={"sheaves": drawing.model_copy(update=discs)}))
        s = sheaves(changed_by)
        C = np.array([influence_numbers(s, r) for r in exact.r]).T
        np.testing.assert_allclose(C, exact.mean[: len(C)], rtol=0.02)


@mistakes
def test_plans_that_cannot_be_are_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        plan_of(**changes)
