"""Reduction: evidence against the normal distribution, laws that are known, signs, and the aligned fields of a run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from refusals import refused
from scipy.optimize import approx_fprime, isotonic_regression
from scipy.stats import multivariate_normal
from synthetic_campaign import BELT, CARRIED, laws_at, synthetic
from typer.testing import CliRunner

from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run.prepare import load_torque
from rtcvt.offline.pushbelt.run.snapshots import CELLS
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.parameters import FORCE, RATE, TORQUE, Boundary, belt, load_parameters
from rtcvt.offline.pushbelt.unit.velocity_model import belt_velocity
from rtcvt.offline.variator import fields, monotone, process, tasks
from rtcvt.offline.variator.alignment import dimensionless
from rtcvt.offline.variator.exchange import exchanged
from rtcvt.offline.variator.fields import KEPT
from rtcvt.offline.variator.laws import certainty, data_of, identify, shift_factor, usable
from rtcvt.offline.variator.process import evidence, fit
from rtcvt.offline.variator.reduction import errors_on, figures_of, reduce, reduce_peaks, sliding
from rtcvt.offline.variator.reduction_report import reduction_page
from rtcvt.offline.variator.steady_belt import steady_belt
from rtcvt.offline.variator.uncertainty import shares
from rtcvt.variator.reduced.tables import field_table, law_table

SMALL = {"units": (8, 6), "peak_units": (6, 4), "splines": ((12, 20, 6, 5), (12, 40, 6, 5))}


@pytest.fixture(scope="module")
def reduced():
    samples, z = synthetic()
    with pytest.MonkeyPatch.context() as quick:
        quick.setattr(fields, "ITERATIONS", 150)
        return reduce(samples, "synthetic", **SMALL), z


def test_a_belt_that_hardly_shifts_says_little_of_the_shift_rate():
    """Its torque has swung, so that the ratio stands still with a large imbalance: the logarithm is scatter."""
    samples, z = synthetic(24)
    stalled = (samples.phase == 1) & (samples.run % 6 == 0)
    samples.values["x"][stalled] *= 1e-3
    k = data_of(samples, z[:, 4])[0]["k"]
    assert k.weights[stalled[k.rows]].max() < 1e-3 < 0.1 < np.median(k.weights)


def test_bits_do_not_hang_on_the_number_of_workers(monkeypatch):
    samples, _ = synthetic(24, noise=0.01)
    monkeypatch.setattr(fields, "ITERATIONS", 8)
    monkeypatch.setattr(process, "STEPS", 4)
    found = []
    for workers in (1, 2):
        monkeypatch.setattr("os.cpu_count", lambda workers=workers: workers)
        model = reduce(samples, "again", (4, 3), (4, 3), ((4, 6, 4, 3), (4, 6, 4, 3))).model
        found.append(np.concatenate([law_table(model), field_table(model)]))
    assert np.array_equal(*found)


@pytest.mark.slow
def test_peaks_of_left_out_data_are_told_by_the_others():
    rng = np.random.default_rng(3)
    t = rng.uniform(-1.0, 1.0, (300, 5))
    data = {
        "push": np.exp(0.5 * np.tanh(2.0 * t[:, 0]) + 0.3 * t[:, 1]),
        "flank_normal": 20.0 * np.exp(-0.4 * t[:, 2] * t[:, 4]),
    }
    fold = np.arange(300) // 5 % 3
    networks, peaks, laws = reduce_peaks(data, t, fold, (10, 8))
    assert [p.name for p in peaks] == list(laws) == ["peak.push", "peak.flank_normal"]
    for p, law in zip(peaks, laws.values(), strict=True):
        values = np.log(law.data)
        assert_allclose(networks.hidden(t) @ p.weights, values, atol=0.05)
        assert np.sqrt(np.mean((law.crossed - values) ** 2)) < 0.02
        assert law.noise < 0.01
    # what is left out has no part
    data["push"][fold == 1] *= rng.uniform(0.5, 2.0, np.sum(fold == 1))
    again = reduce_peaks(data, t, fold, (10, 8))[2]["peak.push"]
    same = laws["peak.push"].crossed
    assert np.sqrt(np.mean((again.crossed - same)[fold == 1] ** 2)) < 0.02


def matern(x, z, lengths, amplitude):
    r = np.sqrt(5.0 * np.sum(((x[:, None] - z) / lengths) ** 2, axis=2))
    return amplitude**2 * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def test_a_process_is_a_normal_distribution_given_itsdata_of():
    rng = np.random.default_rng(6)
    x, omega = rng.uniform(-1.0, 1.0, (60, 2)), rng.uniform(0.3, 1.0, 60)
    y = 5.0 + np.sin(3.0 * x[:, 0]) + 0.1 * rng.normal(size=60) / np.sqrt(omega)
    group = np.repeat(np.arange(12), 5)
    process, crossed = fit(x, y, group, omega)
    assert_allclose(process.noise, 0.1, rtol=0.5)
    assert process.lengths[1] > 2.0 * process.lengths[0]  # only the first matters

    def mean(of, at):
        C = matern(x[of], x[of], process.lengths, process.amplitude)
        C += np.diag(process.noise**2 / omega[of] + (1e-5 * process.amplitude) ** 2)
        C += (1e3 * process.amplitude) ** 2  # a constant that nothing is known of
        k = matern(at, x[of], process.lengths, process.amplitude) + (1e3 * process.amplitude) ** 2
        return k @ np.linalg.solve(C, y[of])

    at = rng.uniform(-1.0, 1.0, (9, 2))
    assert_allclose(process.mean(at), mean(np.arange(60), at), rtol=1e-4)
    for g in range(12):
        assert_allclose(crossed[group == g], mean(np.flatnonzero(group != g), x[group == g]), rtol=1e-3)


@pytest.mark.parametrize("offset", [True, False])
def test_evidence_of_a_process_and_its_slope(offset):
    rng = np.random.default_rng(7)
    x, y, omega = rng.uniform(-1.0, 1.0, (20, 3)), rng.normal(size=20), rng.uniform(0.3, 1.0, 20)
    t = np.log([0.5, 1.0, 2.0, 0.8, 0.3])
    cov = matern(x, x, np.exp(t[:3]), 0.8) + np.diag(0.09 / omega + (1e-5 * 0.8) ** 2)
    beta = np.linalg.solve(cov, y).sum() / np.linalg.inv(cov).sum()
    exact = -multivariate_normal(np.full(20, beta * offset), cov).logpdf(y) - 10.0 * np.log(2.0 * np.pi)
    value, slope = evidence(t, x, y, omega, offset)
    assert_allclose(value, exact, rtol=1e-9)
    assert_allclose(slope, approx_fprime(t, lambda a: evidence(a, x, y, omega, offset)[0], 1e-7), rtol=1e-4, atol=1e-4)
    process, _ = fit(x, y + 5.0, np.arange(20), omega, offset=offset)
    far = process.mean(np.full((1, 3), 1e5))
    assert_allclose(far, process.beta, atol=1e-9)
    assert (process.beta == 0.0) != offset


@pytest.mark.parametrize(("i", "xi"), [(0.5, 0.6), (0.5, -0.4), (1.0, 0.0), (1.3, 0.3), (2.2, 0.5), (2.2, -0.5)])
def test_steady_belt_is_the_velocity_model_of_a_belt_that_hardly_stretches(i, xi):
    b = belt(load_parameters("pushbelt_24mm"))
    geometry = closure(b.l_R, b.d_A, i, b.h_off)
    M_O = load_torque(b, xi, 1e3, geometry.r_O)
    held = Boundary(RATE, 0.0, FORCE, 1e3, 200.0, TORQUE, M_O)
    full = belt_velocity(b, held, geometry, b.h_off)
    found = steady_belt(np.array([i]), np.array([xi]), b.l_R, b._asdict())
    assert_allclose(found.zeta, full.F_CI / 1e3, rtol=3e-3)
    assert_allclose(found.share_O * geometry.wrap_O, full.Phi, rtol=0.01)
    assert_allclose(found.share_I * geometry.wrap_I, full.Phi, rtol=0.01)


def test_pulleys_that_are_exchanged_twice_are_as_they_were():
    s = synthetic(8)[0]
    s = s._replace(values=s.values | {"xi_I": s.point[:, 1] / s.values["thrust"] + 0.01})
    once, b = exchanged(s), s.belt
    r_I, r_O = (b["h_off"] * a.values["radius"] / (a.values["radius"] - 1.0) for a in (s, once))
    assert_allclose((r_O - b["h_off"]) / (r_I - b["h_off"]), s.point[:, 0])
    twice = exchanged(once)
    assert_allclose(twice.point, s.point)
    for name, values in s.values.items():
        assert_allclose(twice.values[name], values, atol=1e-15, err_msg=name)


def test_exchanged_pulleys_have_the_thrust_ratio_of_the_velocity_model():
    b = belt(load_parameters("pushbelt_24mm"))
    i, xi = (a.ravel() for a in np.meshgrid([0.5, 0.8, 1.3, 2.2], [-0.4, 0.1, 0.6]))
    found = steady_belt(i, xi, b.l_R, b._asdict())
    other = steady_belt(1.0 / i, -xi / found.zeta, b.l_R, b._asdict())
    assert_allclose(other.zeta, 1.0 / found.zeta, rtol=1e-4)
    assert_allclose(other.share_I, found.share_O, rtol=1e-3, atol=1e-12)


def test_laws_that_are_known_are_found(reduced):
    r, z = reduced
    zeta, k, e, c, rest = laws_at(z)
    found = r.model.evaluate(np.column_stack([z[:, :4], r.y]))
    for name, exact, bound in (("zeta", zeta, 0.01), ("k", k, 0.03), ("c", c, 0.01), ("lambda", rest, 0.03)):
        assert np.sqrt(np.mean(np.log(found[name] / exact) ** 2)) < bound, name
    assert np.sqrt(np.mean((found["e"] - e) ** 2)) < 5e-5
    assert_allclose(r.y, z[:, 4], rtol=0.01)  # though no window says what it is
    for q in r.laws.values():  # cross-validation sees about the same
        assert np.sqrt(np.mean((q.crossed - (np.log(q.data) if q.log else q.data)) ** 2)) < 0.08


def test_a_similar_belt_needs_few_runs(reduced):
    """Laws of a belt that differ by up to a fifth from those of the prior, from 40 runs."""
    few, z = synthetic(40, seed=3)
    i, xi = z[:, 0], z[:, 1]
    other = {"thrust": 1.1 * i**0.1, "x": 1.2 * i**-0.1, "slip": 0.85 + 0.1 * xi, "sliding": 0.85 + 0.1 * xi}
    few = few._replace(values={k: a * other.get(k, 1.0) for k, a in few.values.items()})
    errors = []
    for prior in (None, reduced[0].model):
        laws = identify(few, lambda k: None, SMALL["splines"], prior).laws
        away = [q.crossed - (np.log(q.data) if q.log else q.data) for q in laws.values()]
        errors.append([np.sqrt(np.mean(e**2)) for e in away])
    assert np.all(np.array(errors[1]) < 0.6 * np.array(errors[0])), errors


def test_settled_y_is_one_and_scatter_of_the_thrust_law_does_not_enter():
    samples, z = synthetic(32)
    zeta = laws_at(z)[0]
    assert_allclose(shift_factor(samples, zeta), z[:, 4], rtol=1e-12)
    off = np.random.default_rng(0).uniform(0.9, 1.1, 32)[samples.run]  # a wrong law, by run
    assert_allclose(shift_factor(samples, zeta * off), z[:, 4], rtol=1e-12)


def test_losses_add_up_to_those_of_the_full_model(reduced):
    """lambda + creep + shifting, with the regressed c, is the loss of each window that had its data."""
    r, _ = reduced
    v, xi = r.samples.values, r.samples.point[:, 1]
    shifting = 2.0 * BELT["tan_d"] * v["thrust"] * (1.0 - 1.0 / r.y) * v["x"] * v["radius"]
    assert np.all(shifting >= -1e-12)
    assert np.all((v["slip"] - r.laws["e"].data) * xi >= 0.0)
    assert_allclose(r.laws["lambda"].data + shifting, v["loss"], rtol=1e-9)
    found = r.model.evaluate(np.column_stack([r.samples.point, r.y]))
    assert_allclose(found["lambda"] + CARRIED * found["c"] * xi**2 + shifting, v["loss"], rtol=0.1)


def test_coarse_tables_are_told(reduced, monkeypatch):
    """Of the laws half of the splines miss several times as much, and standard deviations hold it."""
    monkeypatch.setattr(fields, "ITERATIONS", 8)
    r, _ = reduced
    fine = figures_of(r)["laws"]
    coarse = reduce(r.samples, "coarse", **(SMALL | {"splines": (SMALL["splines"][0], (3, 4, 3, 3))}))
    found = figures_of(coarse)["laws"]
    for name in ("e", "lambda"):
        assert found[name]["table"] > 3.0 * fine[name]["table"], name
        assert found[name]["rms"] == fine[name]["rms"]
    assert np.std(coarse.uncertain["slip"].errors) > 1.5 * np.std(r.uncertain["slip"].errors)


def test_signs_hold_everywhere(reduced):
    model = reduced[0].model
    rng = np.random.default_rng(5)
    z = rng.uniform([0.1, -3.0, -1.0, 0.01, 0.0], [5.0, 3.0, 2.0, 20.0, 5.0], (2000, 5))
    found = model.evaluate(z)
    assert all(np.all(found[name] > 0.0) for name in ("zeta", "k", "c", "lambda", "peak.push"))


def test_constants_of_the_belt_are_identified(reduced):
    constants = reduced[0].model.constants
    assert_allclose(constants["K_belt"], 1.5e6, rtol=1e-3)
    assert_allclose(constants["length"], 0.661)


def test_fields_have_as_many_modes_as_the_data_and_are_reconstructed(reduced):
    r, z = reduced
    for name in KEPT:
        assert len(r.fields.bases[name].modes) <= 3
        X = r.samples.fields[name]
        rest = r.model.field(name, np.column_stack([z[:, :4], r.y])) - X
        assert np.sqrt(np.mean(rest**2)) < 0.04 * np.sqrt(np.mean(X**2))


def test_errors_are_those_of_other_runs(reduced):
    r, _ = reduced
    other, _ = synthetic(32, seed=8)
    errors = errors_on(r.model, other, r.stack)
    assert errors["thrust.rms"] < 0.02
    assert errors["slip.rms"] < 2e-4
    assert errors["efficiency.rms"] < 1e-3
    assert errors["shift.rms"] < 0.1
    assert errors["field.push.rms"] < 0.04
    assert errors["projection.stacked"] == pytest.approx(0.0, abs=0.04)  # 99.9 % of the energy
    assert errors["repeat.thrust.max"] == 0.0
    assert errors["settled"] == 32
    worse = other._replace(values={**other.values, "thrust": 1.1 * other.values["thrust"]})
    found = errors_on(r.model, worse)
    assert_allclose(found["thrust.rms"], 0.1 / 1.1, atol=0.01)
    assert found["within.thrust_ratio.two"] < 0.1


@pytest.mark.slow
def test_standard_deviations_that_cross_validation_found_hold_for_other_runs():
    r = reduce(synthetic(128)[0], "synthetic", **SMALL)
    errors = errors_on(r.model, synthetic(32, seed=8)[0])
    for name, (one, two) in shares(r.uncertain, r.samples).items():
        assert 0.45 < errors[f"within.{name}.one"] <= errors[f"within.{name}.two"], name
        assert errors[f"within.{name}.two"] > 0.8, name
        assert 0.58 < one < 0.8, name
        assert 0.9 < two < 1.0, name


@pytest.mark.slow
def test_noise_of_the_data_is_found():
    samples, _ = synthetic(128, noise=0.01)
    laws = identify(samples, lambda _: None, ((4, 4, 4, 4), (4, 4, 4, 4))).laws
    assert_allclose(laws["zeta"].noise, 0.01, rtol=0.5)


def test_a_state_that_is_short_vibrates_or_drifts_counts_less():
    samples, _ = synthetic(8)
    settled = np.flatnonzero(samples.phase == 0)
    values = {k: samples.values[k].copy() for k in ("turns", "vibration", "thrust")}
    values["turns"][:], values["vibration"][:] = 6.0, 0.0
    values["turns"][settled[1]] = 1.0
    values["vibration"][settled[2]] = 0.006
    values["thrust"][settled[3]] *= 0.98  # since the window before
    values["thrust"][settled[3] + 1] *= 0.9  # its branch
    s = samples._replace(values=samples.values | values)
    assert_allclose(certainty(s, settled), [1.0, 0.25, 0.2, 0.2, 1.0, 1.0, 1.0, 1.0])
    assert_allclose(certainty(s, settled[2:4]), [0.2, 0.2])


@pytest.mark.slow
def test_what_slips_as_a_whole_has_no_part(reduced):
    samples, _ = synthetic()
    slipping = samples.slipping.copy()
    slipping[10:15] = True
    values = {k: np.where(slipping, 1e3, a) for k, a in samples.values.items()}
    most = np.argmax(np.abs(samples.point[:, 1]))
    values["slip"][most] *= 0.08 / np.abs(values["slip"][most])
    r = reduce(samples._replace(values=values, slipping=slipping), "slips", **SMALL)
    # macroscopic slip of less than what is left out: in the laws, but not within the capacity
    assert most in r.laws["e"].rows + 5 * (r.laws["e"].rows >= 10)
    assert_allclose(r.model.constants["xi_max"], np.delete(np.abs(samples.point[:, 1]), most).max())
    assert r.dropped["windows that slip"] == 5
    assert len(r.y) == len(samples.run) - 5
    point = np.array([[1.0, 0.3, 0.02, 1.5, 1.0]])
    assert_allclose(r.model.evaluate(point)["zeta"], reduced[0].model.evaluate(point)["zeta"], rtol=5e-3)
    assert not usable(samples._replace(slipping=samples.phase == 0)).any()


def test_too_little_is_refused():
    samples, _ = synthetic(16)
    refused("at least 20", reduce, samples, "few")
    samples, _ = synthetic(32)
    refused("both sides of 1", lambda: reduce(samples.of(samples.phase == 0), "none shifts", **SMALL))


def test_what_sliding_adds_to_the_shift_rate_is_found(reduced):
    model, rng = reduced[0].model, np.random.default_rng(5)
    point = rng.uniform([0.6, -0.8, 0.01, 0.8], [2.0, 0.8, 0.1, 2.5], (40, 4))
    thrust, z = rng.uniform(0.3, 0.9, 40), np.column_stack([point, np.ones(40)])
    z[:, 4] = thrust / model.evaluate(z)["zeta"]
    found = model.evaluate(z)
    slip = np.sign(point[:, 1]) * (np.abs(found["e"] + found["c"] * z[:, 1]) + rng.uniform(0.06, 0.4, 40))
    beyond = np.abs(slip) - np.abs(found["e"] + found["c"] * z[:, 1])
    share = np.where(point[:, 1] < 0.0, beyond / (1.0 + beyond), 0.0)
    x = (found["k"] * z[:, 3] + 0.3 * share) * (z[:, 4] - 1.0)
    assert sliding(point, thrust, slip, x, model) == pytest.approx(0.3, rel=1e-9)
    assert sliding(point, thrust, 0.01 * slip, x, model) == 0.0
    assert model.slide == 0.0  # no window of these samples slides


def test_figures_count_what_was_used(reduced):
    found = figures_of(reduced[0])
    assert found["runs"] == found["laws"]["zeta"]["data"] == 80
    assert set(found["fields"]) == set(KEPT)


def test_report_shows_laws_and_fields(reduced):
    html = reduction_page(reduced[0], {})
    assert html.count("<svg") >= 4
    assert all(f"<code>{name}</code>" in html for name in KEPT)


def test_integral_of_a_force_per_length_is_the_force_by_the_clamping_force():
    rng = np.random.default_rng(0)
    density, length = rng.uniform(1e3, 1e4, 4 * CELLS), np.array([0.2, 0.13, 0.15, 0.13])
    aligned = dimensionless("N/m", density, length, 12e3, 10.0, BELT)
    whole = np.sum(density.reshape(4, CELLS) * length[:, None] / CELLS, axis=1)
    assert_allclose(aligned.reshape(4, CELLS).mean(axis=1) * 12e3, whole)
    assert_allclose(dimensionless("N", density, length, 12e3, 10.0, BELT) * 12e3, density)
    assert_allclose(dimensionless("m", density, length, 12e3, 10.0, BELT) * 0.66 * 12e3 / 6e6, density)
    assert_allclose(dimensionless("m/s", density, length, 12e3, 10.0, BELT) * 10.0, density)


def test_command_refuses_a_folder_without_runs(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        result = CliRunner().invoke(app, ["reduce", str(folder), "-o", str(tmp_path / "out.h5")])
        assert result.exit_code != 0
        assert isinstance(result.exception, InputError)
    assert not list(tmp_path.iterdir())


def test_the_prior_may_be_a_shipped_model(monkeypatch):
    def reduced(files, name, heldout, progress, prior, spatial):
        raise StopIteration(prior.name)

    monkeypatch.setattr(tasks, "reduced", reduced)
    given = dict.fromkeys(("name", "report", "json")) | {"heldout": (), "spatial": ()}
    with pytest.raises(StopIteration, match="pushbelt_24mm_belief"):
        tasks.reduce([], given | {"output": Path("out.h5"), "prior": Path("pushbelt_24mm_belief")}, None)


def test_the_nearest_that_conditions_allow_are_those_of_isotonic_regression():
    """Conditions c_k <= c_k+1, whose nearest numbers are known; SciPy's for 40 of them."""
    rng = np.random.default_rng(3)
    c = np.cumsum(rng.normal(0.1, 1.0, 40))
    falls = sp.csr_array(sp.diags_array([np.ones(39), -np.ones(39)], offsets=[0, 1], shape=(39, 40)) / np.sqrt(2.0))
    assert_allclose(monotone._nearest(falls, c), isotonic_regression(c).x, atol=0.05)
    assert_allclose(monotone._nearest(falls, np.sort(c)), np.sort(c))


def test_slip_of_a_reduced_model_falls_with_the_clamping(reduced):
    """At random places inside, along the clamping; the first law is what a law must not be."""
    model = reduced[0].model
    n = model.in_y
    wrong = model.laws.copy()
    wrong[..., n] += 2.0 * np.linspace(-1.0, 1.0, wrong.shape[3])  # grows with f
    wrong = replace(model, laws=wrong)
    mended = wrong.laws.copy()
    mended[..., n] += monotone.monotone_slip(wrong)
    rng = np.random.default_rng(4)
    z = rng.uniform([0.6, 0.2, 0.01, 0.8, 1.0], [2.0, 0.7, 0.1, 2.0, 1.0], (300, 5))
    more = z * [1.0, 1.0 / 1.2, 1.0 / 1.2, 1.2, 1.0]
    for found, most in ((wrong, None), (replace(wrong, laws=mended), 2e-4)):
        a, b = (f["e"] + f["c"] * p[:, 1] for f, p in ((found.evaluate(p), p) for p in (z, more)))
        assert (b - a).max() > 1e-3 if most is None else (b - a).max() < most
