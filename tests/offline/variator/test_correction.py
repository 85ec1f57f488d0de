"""Corrections of a reduced model by runs of the spatial belt: how they are found, told and read."""

import re
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import variator_laws
from numpy.testing import assert_allclose
from refusals import refused
from synthetic_campaign import synthetic
from typer.testing import CliRunner

from rtcvt.cli import app
from rtcvt.offline.variator import correction
from rtcvt.offline.variator.correction import Spatial, _coefficients, _fields, correct, load_spatial, spatial_rows
from rtcvt.offline.variator.twins import ACROSS
from rtcvt.offline.variator.uncertainty import SPLINES
from rtcvt.variator.reduced.coordinates import scaled
from rtcvt.variator.reduced.model import OF_LAWS
from rtcvt.variator.regression import SMALL_SPEED_LOSS


def test_a_correction_is_found_and_told_by_points_that_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences linear in the scaled coordinates, of slip in its asinh, and scatter: all laws of the model move to
    the runs, k and the fields by windows that shift, too. A fifth is held out at a time, in place of a tenth."""
    monkeypatch.setattr(correction, "FOLDS", 5)
    model = variator_laws.laws()
    ranges = tuple(replace(c, low=1e-3) if c.name == "kappa" else c for c in model.coordinates)
    model = replace(model, uncertainty=np.full((*SPLINES, 4), -4.0), coordinates=ranges)
    model = replace(model, fields=tuple(replace(f, modes=0.5 * f.modes, weights=2.0 * f.weights) for f in model.fields))
    rng = np.random.default_rng(8)
    windows, every = synthetic(60)
    point = windows.point[windows.phase == 0]
    z = np.column_stack([point, np.ones(60)])
    x = scaled(model.coordinates, model.shift, z)
    carried = 2.0 * variator_laws.CONSTANTS["mu"] / np.cos(variator_laws.CONSTANTS["delta_0"])
    f = model.evaluate(z)
    base = {
        "thrust ratio": np.log(f["zeta"]),
        "speed loss": f["e"] + f["c"] * z[:, 1],
        "losses": np.log(f["lambda"] + carried * f["c"] * z[:, 1] ** 2),
        "peak of flank_normal": np.log(f["peak.flank_normal"]),
        "peak of push": np.log(f["peak.push"]),
    }
    apart = {k: (4.0 if k == "speed loss" else 1.0) * (0.04 + 0.05 * x[:, 0] - 0.04 * x[:, 1]) for k in base}
    size = {k: 1e-4 if k == "speed loss" else 5e-3 for k in base}
    regressed = base | {"speed loss": np.arcsinh(base["speed loss"] / SMALL_SPEED_LOSS)}
    values = {k: v + apart[k] + 5e-3 * rng.normal(size=60) for k, v in regressed.items()}
    values["speed loss"] = SMALL_SPEED_LOSS * np.sinh(values["speed loss"])
    apart["speed loss"] = SMALL_SPEED_LOSS * np.sinh(regressed["speed loss"] + apart["speed loss"]) - base["speed loss"]
    across = {
        k: (1e-3 if k in ("misalignment", "ring_to_pillar") else 30.0 * point[:, 3]) * (2.0 + x[:, 0]) for k in ACROSS
    }
    laws = model.evaluate(every)
    windows.values["thrust"][:] = laws["zeta"] * every[:, 4]
    windows.values["x"][:] = laws["k"] * every[:, 3] * (every[:, 4] - 1.0) * np.exp(0.1 + 0.02 * rng.normal(size=300))
    cells = next(iter(windows.fields.values())).shape[1]
    shape = 0.7 + np.where(np.arange(cells) < cells // 2, 0.2, -0.2)  # the planar belt has no such mode
    for field in windows.fields.values():
        field[:] = shape + 0.01 * rng.normal(size=(300, 1))
    t = Spatial(point, values, across, windows, windows.run)
    found = correct(t, model)
    errors = found.errors
    for key, planar, corrected in (
        ("thrust", 0.04, 0.01),
        ("loss", 0.04, 0.01),
        ("slip", 8e-4, 4e-4),
        ("peak.flank_normal", 0.04, 0.01),
        ("shift", 0.08, 0.03),
        ("field.flank_normal", 0.25, 0.02),
    ):
        assert errors[f"spatial.{key}.planar.rms"] > planar
        assert errors[f"spatial.{key}.rms"] < corrected
    assert spatial_rows(errors)[0][0] == "thrust ratio"
    assert spatial_rows({}) == []
    whole = replace(model, correction=found.coefficients, deviation=found.deviation, fields=found.fields)
    assert_allclose(whole.field("push", z), np.tile(shape, (60, 1)), rtol=0.03)
    assert len(whole.fields[0].modes) == len(model.fields[0].modes) + 1
    assert_allclose(whole.planar.field("push", z), 0.5)
    after = whole.evaluate(z)
    assert np.median(after["uncertainty.thrust_ratio"]) == pytest.approx(6e-3, rel=0.4)
    slip = after["e"] + after["c"] * z[:, 1] - base["speed loss"]
    exits = after["exit_force.primary"] - 30.0 * (2.0 + x[:, 0]) / 1e4
    for e, most in (
        (np.log(after["zeta"] / f["zeta"]) - apart["thrust ratio"], 5e-3),
        (np.log(after["peak.push"] / f["peak.push"]) - apart["peak of push"], 5e-3),
        (slip - apart["speed loss"], 5e-4),
        (exits, 1e-4),
        (np.log(after["k"] / f["k"]) - 0.1, 0.02),
    ):
        assert np.sqrt(np.mean(e**2)) < most
    # chance alone gives no correction
    chance = {k: v + size[k] * rng.normal(size=60) for k, v in base.items()}
    windows.values["x"][:] *= np.exp(-0.1)
    for field in windows.fields.values():
        field[:] = 0.5 + 0.2 * rng.normal(size=(300, 1))
    none = _coefficients(t._replace(values=chance), model, np.ones(60, dtype=bool))
    assert np.abs(none[..., :OF_LAWS]).max() < 0.01
    assert [f.across.size for f in _fields(t, model, np.ones(60, dtype=bool))] == [0, 0, 0]


def test_runs_that_are_not_spatial_or_too_few_or_of_another_belt_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Runs that did not settle have no windows: nothing of them is read but whether they are spatial."""
    files = [tmp_path / f"point-{k:03}.h5" for k in range(20)]
    thrust = np.linspace(1.0, 1.5, 14)
    samples = SimpleNamespace(
        phase=np.array([0] * 13 + [1]), slipping=np.zeros(14, dtype=bool), belt={"N_E": 220.0}, run=np.arange(14),
        values={"thrust": thrust}, before=({"thrust": 0.99 * thrust},),
    )  # fmt: skip
    name = "rtcvt.offline.variator.correction"
    monkeypatch.setattr(f"{name}.open_run", lambda path: nullcontext({"spatial/margin": 0} if spatial(path) else {}))
    monkeypatch.setattr(f"{name}.load_samples", lambda paths, progress: samples if len(list(paths)) == 15 else None)
    spatial = lambda path: False  # noqa: E731
    refused("at least 12 runs of a spatial belt that settled", load_spatial, files, samples.belt)
    spatial = lambda path: path in files[:15]  # noqa: E731
    refused("the belt of the campaign", load_spatial, files, {"N_E": 200.0})
    for given in (samples.slipping, samples.before[0]["thrust"]):  # macro-slip; a thrust ratio that drifts
        kept = given.copy()
        given[:2] = 2.0
        refused("at least 12 runs", load_spatial, files, samples.belt)
        given[:] = kept


def test_folders_of_spatial_runs_are_there_and_have_other_names(tmp_path: Any) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "point-000.h5").touch()
    for others, said in ((("b", "d"), "--spatial = .*d': a folder of runs"), ("bc", "--spatial = .*another name than")):
        given = [word for name in others for word in ("--spatial", str(tmp_path / name))]
        done = CliRunner().invoke(app, ["reduce", str(tmp_path / "a"), *given, "-o", str(tmp_path / "x.h5")])
        assert re.search(said, str(done.exception))
