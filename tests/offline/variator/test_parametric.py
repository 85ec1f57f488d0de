"""Uncertainty from the belt's unknown parameters: members of a posterior, their spread, those of the full model."""

import json
from importlib import resources
from types import SimpleNamespace

import h5py
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from rtcvt.offline.variator import parametric, tasks
from rtcvt.offline.variator.calibration.plan import load_calibration
from rtcvt.variator.diagram import radii_at
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.reduced.model import UNCERTAIN

SHIPPED = resources.files("rtcvt") / "reduced/pushbelt_24mm_belief.h5"
CALIBRATION = SHIPPED.with_name(f"{SHIPPED.stem}_calibration.json")
FOUND = json.loads(CALIBRATION.read_text())
BAND = 2.64  # standard deviations from 5 to 95 % of eleven draws of a normal distribution, expected


def test_members_have_mean_and_covariance_of_the_posterior(monkeypatch):
    monkeypatch.setattr(parametric, "changed", lambda _, plan, z: SimpleNamespace(z=z, element=SimpleNamespace(N_E0=1)))
    monkeypatch.setattr(parametric, "belt", lambda unit, **_: unit.z)
    monkeypatch.setattr(parametric, "sheaves", lambda unit: None)
    z = np.array([member for member, _ in parametric.members(None, CALIBRATION)])
    for k, p in enumerate(load_calibration("belief")[0].parameter):
        found, of_mean = FOUND["parameters"][p.name], [p.value(z[0, k]), parametric.standard_deviations(z)[k] ** 2]
        assert_allclose(of_mean, [found["set"], 1.0 - found["gained"]], rtol=1e-9)
    # a member without a state is the mirror image of the other of its pair
    pairs = np.array([[0.0], [3.0], [-5.0], [np.nan], [-12.0], [np.nan], [np.nan]])
    assert parametric.standard_deviations(pairs) == np.hypot(4.0, 12.0)


def test_a_model_gets_the_band_of_its_parameters_and_keeps_all_else(monkeypatch, tmp_path):
    def size(z):
        return np.exp(0.4 * np.log(z[..., :1]) + 0.3 * z[..., 1:2]) * [0.05, 1e-3, 4e-3, 0.2]

    pairs, output = np.array([[0.0], [0.6], [-0.6], [0.8], [-0.8]]), tmp_path / "new.h5"
    monkeypatch.setattr(parametric, "outputs_at", lambda _, z, __: pairs * size(z) * (1.0 if z[1] < 0.8 else np.nan))
    monkeypatch.setattr(parametric, "members", lambda *_: [])
    tasks.reduce([SHIPPED], {"output": output, "calibration": CALIBRATION}, lambda *_: None)
    z = parametric.points_of(read_reduced(SHIPPED))[::5]  # of the campaign: the band does not grow
    found = read_reduced(output).evaluate(np.column_stack([z, np.ones(len(z))]))
    assert_allclose(np.transpose([found[f"uncertainty.parameters.{n}"] for n in UNCERTAIN]), size(z), rtol=0.05)
    with h5py.File(SHIPPED) as old, h5py.File(output) as new:
        for name in ("thrust", "laws", "uncertainty", "correction", "deviation", "peaks/second", "fields/push/modes"):
            assert_array_equal(old[name], new[name])


def test_the_band_is_that_of_the_full_models_members_of_the_posterior():
    """At the calibration's operating points, by the geometric mean of quantities that it knows."""
    model = read_reduced(SHIPPED)
    c, off = model.constants, []
    for at in FOUND["points"].values():
        v = at["omega_I"] * (radii_at(at["ratio"], c["length"], c["d_A"], c["h_off"])[0] - c["h_off"])
        z = [at["ratio"], at["xi"], c["m_star"] * v**2 / at["F_O"], at["F_O"] / c["F_ref"], 1.0]
        known = model.evaluate(np.array([z]))
        full = [np.log(at["thrust ratio"][2] / at["thrust ratio"][0]), np.ptp(at["slip"]), np.ptp(at["efficiency"])]
        off.append(np.log([BAND * known[f"uncertainty.parameters.{n}"][0] for n in UNCERTAIN[:3]]) - np.log(full))
    assert np.abs(np.mean(off, axis=0)).max() < np.log(1.5)
